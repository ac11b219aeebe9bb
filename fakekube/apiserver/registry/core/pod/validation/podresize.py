"""What `/resize` may change of a pod: cpu and memory of its containers (`ValidatePodResize`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fakekube.apiserver.registry.core.pod.validation.pod import check_changed
from fakekube.apiserver.registry.core.pod.validation.podspec import MIRROR
from fakekube.apiserver.registry.generic.validation.content import Errors
from fakekube.apiserver.wire.status import field_forbidden, field_invalid

Object = dict[str, Any]

KINDS = ("initContainers", "containers")
RESIZABLE = ("cpu", "memory")

QosClass = Callable[[Object], str]


def validator(qos_class: QosClass) -> Callable[[Object, Object], Errors]:
    """`qos_class` of a spec: it stays what it is."""

    def validate_resize(new: Object, old: Object) -> Errors:
        errors: Errors = []
        check_changed(new, old, errors)
        after, before = new.get("spec") or {}, old.get("spec") or {}
        if MIRROR in (old["metadata"].get("annotations") or {}):
            return [field_forbidden("", "static pods cannot be resized")]
        if (before.get("os") or {}).get("name") == "windows":
            return [field_forbidden("", "windows pods cannot be resized")]
        status = old.get("status") or {}
        if (status.get("qosClass") or qos_class(before)) != qos_class(after):
            shown = (new.get("status") or {}).get("qosClass") or ""
            errors.append(field_invalid("spec", shown, "Pod QOS Class may not change as a result of resizing"))
        if not _is_supported(status.get("containerStatuses") or ()):
            errors.append(field_forbidden("spec", "Pod running on node without support for resize"))
        if _as_a_whole(before) or _as_a_whole(after):
            why = "resize of pods with pod-level resources is forbidden when "
            why += "InPlacePodLevelResourcesVerticalScalingEnabled feature gate is disabled"
            errors.append(field_forbidden("", why))
            return errors
        if _check_order(after, before, errors):
            _check_containers(after, before, errors)
        return errors

    return validate_resize


def _is_supported(statuses: Sequence[Object]) -> bool:
    """A node that resizes says what a running container has."""
    running = [one for one in statuses if (one.get("state") or {}).get("running") is not None]
    return not running or running[0].get("resources") is not None


def _as_a_whole(spec: Object) -> bool:
    resources = spec.get("resources") or {}
    return bool(resources.get("requests") or resources.get("limits"))


def _check_order(after: Object, before: Object, errors: Errors) -> bool:
    found: Errors = []
    for kind in reversed(KINDS):
        new, old = after.get(kind) or (), before.get(kind) or ()
        if len(new) != len(old):
            found.append(field_forbidden(f"spec.{kind}", f"{kind} may not be added or removed on resize"))
            continue
        for i, (one, was) in enumerate(zip(new, old, strict=True)):
            if one.get("name") != was.get("name"):
                why = f"{kind} may not be renamed or reordered on resize"
                found.append(field_forbidden(f"spec.{kind}[{i}].name", why))
    errors += found
    return not found


def _check_containers(after: Object, before: Object, errors: Errors) -> None:
    pairs = {kind: list(zip(after.get(kind) or (), before.get(kind) or (), strict=True)) for kind in KINDS}
    for kind in KINDS:
        for i, (one, was) in enumerate(pairs[kind]):
            _check_kept(one, was, f"spec.{kind}[{i}].resources", errors)
    rest = dict(after)
    for one, was in pairs["containers"]:
        if _as_before(one, was) != was:
            errors.append(field_forbidden("spec", "only cpu and memory resources are mutable"))
    for i, (one, was) in enumerate(pairs["initContainers"]):
        _check_init(one, was, f"spec.initContainers[{i}]", errors)
    for kind in KINDS:
        if kind in rest:
            rest[kind] = before.get(kind)
    if not errors and rest != before:
        errors.append(field_forbidden("spec", "only cpu and memory resources are mutable"))


def _check_kept(one: Object, was: Object, path: str, errors: Errors) -> None:
    for field in ("requests", "limits"):
        new = (one.get("resources") or {}).get(field) or {}
        old = (was.get("resources") or {}).get(field) or {}
        if not old.keys() <= new.keys():
            errors.append(field_forbidden(f"{path}.{field}", f"resource {field} cannot be removed"))


def _check_init(one: Object, was: Object, path: str, errors: Errors) -> None:
    if _as_before(one, was) != was:
        why = "only cpu and memory resources for init or sidecar containers are mutable"
        errors.append(field_forbidden(path, why))
    if one != was and one.get("restartPolicy") != "Always":
        why = "non-sidecar init containers with a resize policy of RestartContainer cannot be resized"
        errors += [
            field_forbidden(path, why)
            for policy in one.get("resizePolicy") or ()
            if policy.get("restartPolicy") == "RestartContainer"
        ]


def _as_before(one: Object, was: Object) -> Object:
    """The container with the cpu and memory that it had."""
    resources, kept = dict(one.get("resources") or {}), was.get("resources") or {}
    for field in ("requests", "limits"):
        old = kept.get(field) or {}
        made = {name: value for name, value in (resources.get(field) or {}).items() if name not in RESIZABLE}
        made |= {name: old[name] for name in RESIZABLE if name in old}
        if made:
            resources[field] = made
        else:
            resources.pop(field, None)
    return {**one, "resources": resources}
