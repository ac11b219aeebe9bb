"""Validates a change through `/resize`: cpu and memory of the containers of a pod (`ValidatePodResize`)."""

from __future__ import annotations

from fakekube.apiserver.features import enabled, since
from fakekube.apiserver.registry.core.pod.resources import qos_class
from fakekube.apiserver.registry.core.pod.validation.pod import validate_changed
from fakekube.apiserver.registry.core.pod.validation.podspec import MIRROR
from fakekube.apiserver.registry.core.resourcenames import number_of
from fakekube.apiserver.registry.generic.validation.content import Errors
from fakekube.apiserver.registry.generic.validation.field import Field, Object
from fakekube.apiserver.wire.status import field_forbidden

KINDS = ("initContainers", "containers")
QUANTITIES = ("requests", "limits")
RESIZABLE = ("cpu", "memory")
NOT_MUTABLE = "only cpu and memory resources are mutable"


def validate_resize(new: Object, old: Object) -> Errors:
    root, stored = Field(new), Field(old)
    validate_changed(root, stored)
    spec, old_spec = root["spec"], stored["spec"]
    if MIRROR in stored["metadata"]["annotations"]:
        return [field_forbidden("", "static pods cannot be resized")]
    if old_spec.find("os.name").value == "windows":
        return [field_forbidden("", "windows pods cannot be resized")]
    old_class = stored.find("status.qosClass").value or qos_class(old_spec.value or {})
    if old_class != qos_class(spec.value or {}):
        spec.invalid("Pod QOS Class may not change as a result of resizing", root.find("status.qosClass").text)
    running = [one for one in stored.find("status.containerStatuses") if one.find("state.running").value is not None]
    if running and running[0]["resources"].value is None:
        spec.forbidden("Pod running on node without support for resize")
    pod_level = any(one["resources"][kind] for one in (old_spec, spec) for kind in QUANTITIES)
    if pod_level:
        if not enabled("InPlacePodLevelResourcesVerticalScaling"):
            why = "resize of pods with pod-level resources is forbidden when "
            root.forbidden(why + "InPlacePodLevelResourcesVerticalScalingEnabled feature gate is disabled")
            return root.errors
        _validate_own_resources(spec, old_spec)
    if stored.find("status.nodeAllocatableResourceClaimStatuses"):
        spec.forbidden("pods with node allocatable resource claims cannot be resized")
    if _validate_order(spec, old_spec):
        _validate_containers(spec, old_spec, pod_level=pod_level)
    return root.errors


def _validate_own_resources(spec: Field, old_spec: Field) -> None:
    """The resources of the pod as a whole (`validatePodLevelResourcesResize`)."""
    resources, old = spec["resources"], old_spec["resources"]
    if old.value is not None and resources.value is None:
        resources.forbidden("pod-level resources cannot be removed")
        return
    if old.value is not None:
        _validate_kept(resources, old, "pod-level ")
    if _unresized(spec, old_spec)["resources"] != (old.value or {}):
        spec.forbidden(f"{NOT_MUTABLE} at pod-level")


def _validate_order(spec: Field, old_spec: Field) -> bool:
    before = len(spec.errors)
    for kind in reversed(KINDS):
        new, old = spec[kind], old_spec[kind]
        if len(new) != len(old):
            new.forbidden(f"{kind} may not be added or removed on resize")
            continue
        for container, stored in zip(new, old, strict=True):
            if container["name"].value != stored["name"].value:
                container["name"].forbidden(f"{kind} may not be renamed or reordered on resize")
    return len(spec.errors) == before


def _validate_containers(spec: Field, old_spec: Field, *, pod_level: bool) -> None:
    """`pod_level`: the pod as a whole has resources, which are validated already."""
    pairs = {kind: list(zip(spec[kind], old_spec[kind], strict=True)) for kind in KINDS}
    for container, old in pairs["initContainers"] + pairs["containers"]:
        _validate_kept(container["resources"], old["resources"])
        if not since(34):  # later versions can decrease the limit
            _validate_memory(container, old)
    for container, old in pairs["containers"]:
        if _of_container(container, old) != old.value:
            spec.forbidden(NOT_MUTABLE)
    for container, old in pairs["initContainers"]:
        _validate_init_container(container, old)
    changed = (*KINDS, "resources") if pod_level else KINDS
    rest, old_rest = ({k: v for k, v in one.value.items() if k not in changed} for one in (spec, old_spec))
    if not spec.errors and rest != old_rest:
        spec.forbidden(NOT_MUTABLE)


def _validate_memory(container: Field, old: Field) -> None:
    """The limit of memory of a container that does not restart cannot be decreased (`validateContainerResize`)."""
    found = reversed(list(container["resizePolicy"]))
    policies = {one["resourceName"].value: one["restartPolicy"].value for one in found}
    limit, before = (one["resources"]["limits"].struct.get("memory") for one in (container, old))
    if policies.get("memory") == "RestartContainer" or limit is None:
        return
    if before is None or number_of(limit) < number_of(before):
        what = "added" if before is None else "decreased"
        entry = container["resources"]["limits"].entry("memory")
        entry.forbidden(f"memory limits cannot be {what} unless resizePolicy is RestartContainer")


def _validate_kept(resources: Field, old: Field, which: str = "") -> None:
    for kind in QUANTITIES:
        if not (old[kind].value or {}).keys() <= (resources[kind].value or {}).keys():
            resources[kind].forbidden(f"{which}resource {kind} cannot be removed")


def _validate_init_container(container: Field, old: Field) -> None:
    if _of_container(container, old) != old.value:
        container.forbidden("only cpu and memory resources for init or sidecar containers are mutable")
    if container.value != old.value and container["restartPolicy"].value != "Always":
        for policy in container["resizePolicy"]:
            if policy["restartPolicy"].value == "RestartContainer":
                why = "non-sidecar init containers with a resize policy of RestartContainer cannot be resized"
                container.forbidden(why)


def _of_container(container: Field, old: Field) -> Object:
    """The container with its old cpu and memory; claims are not compared (`dropCPUMemoryResourcesFromContainer`)."""
    found = _unresized(container, old)
    return {**found, "resources": {key: value for key, value in found["resources"].items() if key != "claims"}}


def _unresized(container: Field, old: Field) -> Object:
    """The container, or the specification of the pod, with its old cpu and memory."""
    resources = dict(container["resources"].value or {})
    for kind in QUANTITIES:
        before = old["resources"][kind].value or {}
        kept = {name: value for name, value in (resources.get(kind) or {}).items() if name not in RESIZABLE}
        resources[kind] = kept | {name: before[name] for name in RESIZABLE if name in before}
        if not resources[kind]:
            del resources[kind]
    return {**container.value, "resources": resources}
