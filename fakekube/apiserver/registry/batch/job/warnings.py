"""Warnings about Jobs (`WarningsForJobSpec`)."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.registry.core.pod.warnings import Warnings, host_name_warnings, template_warnings
from fakekube.apiserver.registry.core.podtemplate.warnings import POD_NAMES

Object = dict[str, Any]

MANY_COMPLETIONS, MANY_AT_ONCE = 100_000, 10_000


def job_spec_warnings(spec: Object, path: str) -> Warnings:
    found: Warnings = []
    many = (spec.get("completions") or 0) > MANY_COMPLETIONS and (spec.get("parallelism") or 0) > MANY_AT_ONCE
    if spec.get("completionMode") == "Indexed" and many:
        what = "In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, "
        why = "Kubernetes might not be able to track completedIndexes when a big number of indexes fail"
        found.append(what + why)
    return found + template_warnings(spec.get("template") or {}, f"{path}.template")


def of_spec(obj: Object) -> Warnings:
    return job_spec_warnings(obj.get("spec") or {}, "spec")


def of_job(obj: Object) -> Warnings:
    return host_name_warnings(obj, POD_NAMES) + of_spec(obj)
