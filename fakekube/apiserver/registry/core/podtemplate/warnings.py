"""TODO"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fakekube.apiserver.registry.core.pod.warnings import Warnings, host_name_warnings, template_warnings

Object = dict[str, Any]

POD_NAMES = "Pod names and hostnames"


def of_template(obj: Object) -> Warnings:
    return template_warnings((obj.get("spec") or {}).get("template") or {}, "spec.template")


def of_named(obj: Object) -> Warnings:
    """Of what gives its pods its own name."""
    return host_name_warnings(obj, POD_NAMES) + of_template(obj)


def of_pod_template(obj: Object) -> Warnings:
    return template_warnings(obj.get("template") or {}, "template")


def where_changed(warnings: Callable[[Object], Warnings]) -> Callable[[Object, Object], Warnings]:
    """Of an update only where it changes what counts."""

    def of_update(new: Object, old: Object) -> Warnings:
        if new["metadata"].get("generation") == old["metadata"].get("generation"):
            return []
        return warnings(new)

    return of_update
