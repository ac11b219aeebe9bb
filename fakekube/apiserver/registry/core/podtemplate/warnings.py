"""Warnings about kinds with a pod template."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fakekube.apiserver.registry.core.pod.warnings import Warnings, host_name_warnings, template_warnings
from fakekube.apiserver.resultsbytext import Remembered

Object = dict[str, Any]

POD_NAMES = "Pod names and hostnames"


def of_template(obj: Object) -> Warnings:
    template = (obj.get("spec") or {}).get("template") or {}
    if (template.get("metadata") or {}).get("annotations"):
        return template_warnings(template, "spec.template")
    return list(_of_pod_spec(template.get("spec")))


@Remembered
def _of_pod_spec(spec: Object | None) -> Sequence[str]:
    """The warnings about a template without annotations."""
    return template_warnings({"spec": spec}, "spec.template")


def of_named(obj: Object) -> Warnings:
    """Of kinds whose pods have names that begin with theirs."""
    return host_name_warnings(obj, POD_NAMES) + of_template(obj)


def of_pod_template(obj: Object) -> Warnings:
    return template_warnings(obj.get("template") or {}, "template")


def where_changed(warnings: Callable[[Object], Warnings]) -> Callable[[Object, Object], Warnings]:
    """Warns of an update only if it changes the generation."""

    def of_update(new: Object, old: Object) -> Warnings:
        if new["metadata"].get("generation") == old["metadata"].get("generation"):
            return []
        return warnings(new)

    return of_update
