"""Warnings of what makes pods: those of their templates, and some of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fakekube.apiserver.registry.core.pod.warnings import (
    DEPRECATED_LABELS,
    Warnings,
    claim_warnings,
    host_name_warnings,
    template_warnings,
)

Object = dict[str, Any]

POD_NAMES = "Pod names and hostnames"

MANY_COMPLETIONS, MANY_AT_ONCE = 100_000, 10_000


def of_template(obj: Object) -> Warnings:
    return template_warnings((obj.get("spec") or {}).get("template") or {}, "spec.template")


def of_named(obj: Object) -> Warnings:
    """Of what gives its pods its own name."""
    return host_name_warnings(obj, POD_NAMES) + of_template(obj)


def of_pod_template(obj: Object) -> Warnings:
    return template_warnings(obj.get("template") or {}, "template")


def of_stateful_set(obj: Object) -> Warnings:
    found, spec = of_template(obj), obj.get("spec") or {}
    for i, claim in enumerate(spec.get("volumeClaimTemplates") or ()):
        claim_warnings(claim.get("spec") or {}, f"spec.volumeClaimTemplates[{i}]", found)
    if (spec.get("revisionHistoryLimit") or 0) < 0:
        why = "a negative value retains all historical revisions; a value >= 0 is recommended"
        found.append(f"spec.revisionHistoryLimit: {why}")
    return found


def _job_spec(spec: Object, path: str) -> Warnings:
    found: Warnings = []
    many = (spec.get("completions") or 0) > MANY_COMPLETIONS and (spec.get("parallelism") or 0) > MANY_AT_ONCE
    if spec.get("completionMode") == "Indexed" and many:
        what = "In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, "
        why = "Kubernetes might not be able to track completedIndexes when a big number of indexes fail"
        found.append(what + why)
    return found + template_warnings(spec.get("template") or {}, f"{path}.template")


def job_spec(obj: Object) -> Warnings:
    return _job_spec(obj.get("spec") or {}, "spec")


def of_job(obj: Object) -> Warnings:
    return host_name_warnings(obj, POD_NAMES) + job_spec(obj)


def cron_job_spec(obj: Object) -> Warnings:
    job = ((obj.get("spec") or {}).get("jobTemplate") or {}).get("spec") or {}
    return _job_spec(job, "spec.jobTemplate.spec")


def of_cron_job(obj: Object) -> Warnings:
    return host_name_warnings(obj, POD_NAMES) + cron_job_spec(obj)


def of_runtime_class(obj: Object) -> Warnings:
    selector = (obj.get("scheduling") or {}).get("nodeSelector") or {}
    return [
        f"scheduling.nodeSelector: {DEPRECATED_LABELS[key]}" for key in sorted(selector) if key in DEPRECATED_LABELS
    ]


def where_changed(warnings: Callable[[Object], Warnings]) -> Callable[[Object, Object], Warnings]:
    """Of an update only where it changes what counts."""

    def of_update(new: Object, old: Object) -> Warnings:
        if new["metadata"].get("generation") == old["metadata"].get("generation"):
            return []
        return warnings(new)

    return of_update
