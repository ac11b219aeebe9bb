"""Fields of pods whose feature is off: writes drop them unless the stored pod uses the feature.

`DropDisabledPodFields` and `DropDisabledTemplateFields` of kubernetes `pkg/api/pod/util.go`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from fakekube.apiserver.features import Features, current, since
from fakekube.apiserver.registry.generic.gatedfields import GatedFields, uses, without

Object = dict[str, Any]

CONTAINERS = ("initContainers", "containers", "ephemeralContainers")


def _each(*paths: str) -> tuple[str, ...]:
    """The paths in the containers of all kinds."""
    return tuple(f"{kind}[].{path}" for kind in CONTAINERS for path in paths)


def _each_status(*paths: str) -> tuple[str, ...]:
    """The paths in the statuses of containers of all kinds."""
    kinds = ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")
    return tuple(f"{kind}[].{path}" for kind in kinds for path in paths)


def _affinity(*fields: str) -> tuple[str, ...]:
    terms = (
        "requiredDuringSchedulingIgnoredDuringExecution[]",
        "preferredDuringSchedulingIgnoredDuringExecution[].podAffinityTerm",
    )
    kinds = ("podAffinity", "podAntiAffinity")
    return tuple(f"affinity.{kind}.{term}.{field}" for kind in kinds for term in terms for field in fields)


_RESIZE_POLICY = _each("resizePolicy")

_READ_ONLY = _each("volumeMounts[].recursiveReadOnly")

_GROUPS_POLICY = "securityContext.supplementalGroupsPolicy"

_SPEC = GatedFields(
    ("PodSchedulingReadiness", ("schedulingGates",)),
    ("UserNamespacesSupport", ("hostUsers",)),
    ("SupplementalGroupsPolicy", (_GROUPS_POLICY,)),
    ("PodLevelResources", ("resources",)),
    ("NodeInclusionPolicyInPodTopologySpread", ("topologySpreadConstraints[].nodeTaintsPolicy",)),
    ("NodeInclusionPolicyInPodTopologySpread", ("topologySpreadConstraints[].nodeAffinityPolicy",)),
    ("MatchLabelKeysInPodTopologySpread", ("topologySpreadConstraints[].matchLabelKeys",)),
    ("MatchLabelKeysInPodAffinity", _affinity("matchLabelKeys", "mismatchLabelKeys")),
    ("DynamicResourceAllocation", ("resourceClaims", *_each("resources.claims"))),
    ("ClusterTrustBundleProjection", ("volumes[].projected.sources[].clusterTrustBundle",)),
    ("PodCertificateRequest", ("volumes[].projected.sources[].podCertificate",)),
    ("GenericWorkload", ("schedulingGroup",)),
    ("InPlacePodVerticalScaling", _RESIZE_POLICY),
    ("SidecarContainers", ("initContainers[].restartPolicy",)),
    ("RecursiveReadOnlyMounts", _READ_ONLY),
    ("HostnameOverride", ("hostnameOverride",)),
    ("EnvFiles", _each("env[].valueFrom.fileKeyRef")),
    ("PodLifecycleSleepAction", _each("lifecycle?.preStop?.sleep", "lifecycle?.postStart?.sleep")),
    ("SELinuxChangePolicy", ("securityContext.seLinuxChangePolicy",)),
    ("ContainerStopSignals", _each("lifecycle?.stopSignal")),
)

_RESTART_RULES = ("initContainers[].restartPolicyRules", "containers[].restartPolicy")

#: Of a status, where the stored status decides.
_STATUS = GatedFields(
    ("InPlacePodLevelResourcesVerticalScaling", ("resources", "allocatedResources")),
    ("DRAExtendedResource", ("extendedResourceClaimStatus",)),
    ("ResourceHealthStatus", _each_status("allocatedResourcesStatus")),
    ("ResourceHealthStatusMessage", _each_status("allocatedResourcesStatus[].resources[].message")),
    ("PodObservedGenerationTracking", ("observedGeneration", "conditions[].observedGeneration")),
    ("ImageVolumeWithDigest", _each_status("volumeMounts[].volumeStatus")),
    ("DRANodeAllocatableResources", ("nodeAllocatableResourceClaimStatuses",)),
)

#: Of a status, where the spec decides: the gate, the paths in the spec, and those in the status.
_STATUS_BY_SPEC = (
    ("InPlacePodVerticalScaling", _RESIZE_POLICY, _each_status("resources", "allocatedResources")),
    ("DynamicResourceAllocation", ("resourceClaims",), ("resourceClaimStatuses",)),
    ("RecursiveReadOnlyMounts", _READ_ONLY, _each_status("volumeMounts")),
    ("SupplementalGroupsPolicy", (_GROUPS_POLICY,), _each_status("user")),
)


def _drop_disabled_of_spec(spec: Object, old: Object | None) -> Object:
    spec = _SPEC.drop_disabled(spec, old)
    for rule in _rules_of(current()):
        spec = rule(spec, old or {})
    return spec


def drop_disabled_of_pod(new: Object, old: Object | None) -> Object:
    new = _dropped(new, old, ("spec",))
    return _with_enabled_status(new, old) if old is not None and since(33) else new


@cache
def _disabled_by_spec(features: Features) -> tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]:
    """The paths in the spec and in the status of the gates that are off."""
    return tuple((in_spec, paths) for gate, in_spec, paths in _STATUS_BY_SPEC if not features.states[gate])


def _with_enabled_status(new: Object, old: Object) -> Object:
    """A pod without the fields of its status whose feature is off (`dropDisabledPodStatusFields`)."""
    status, stored, spec = new.get("status") or {}, old.get("status") or {}, old.get("spec") or {}
    kept = _STATUS.drop_disabled(status, stored)
    for in_spec, paths in _disabled_by_spec(current()):
        if not uses(spec, in_spec):
            kept = without(kept, *paths)
    return new if kept is status else {**new, "status": kept}


def drop_disabled_in(*place: str, gated: GatedFields | None = None) -> Callable[[Object, Object | None], Object]:
    """Returns a function that drops the disabled fields of an object: those of the spec of a pod at a place of it, and
    `gated`."""

    def drop(new: Object, old: Object | None) -> Object:
        new = _dropped(new, old, place)
        return new if gated is None else gated.drop_disabled(new, old)

    return drop


def _dropped(new: Object, old: Object | None, place: tuple[str, ...]) -> Object:
    spec: Any = new
    stored: Any = old
    for name in place:
        spec, stored = spec.get(name), (stored or {}).get(name)
        if not spec or spec is stored:
            return new
    left = _drop_disabled_of_spec(spec, stored)
    return new if left is spec else _with_spec(new, place, left)


def _with_spec(obj: Object, place: tuple[str, ...], spec: Object) -> Object:
    return {**obj, place[0]: _with_spec(obj[place[0]], place[1:], spec)} if place else spec


def _with_containers(spec: Object, change: Callable[[str, Object], Object]) -> Object:
    """The spec with changed containers; `change` takes the field of the container and the container."""
    for kind in CONTAINERS:
        if spec.get(kind):
            changed = [change(kind, one) for one in spec[kind]]
            if any(after is not before for after, before in zip(changed, spec[kind], strict=True)):
                spec = {**spec, kind: changed}
    return spec


def _proc_mount(container: Object) -> Any:
    return (container.get("securityContext") or {}).get("procMount")


def _with_default_proc_mounts(spec: Object, stored: Object) -> Object:
    """Mounts of /proc become Default rather than being dropped, which stored pods had once."""
    if any(_proc_mount(one) not in (None, "Default") for kind in CONTAINERS for one in stored.get(kind) or ()):
        return spec

    def default(kind: str, container: Object) -> Object:
        if _proc_mount(container) in (None, "Default"):
            return container
        return {**container, "securityContext": {**container["securityContext"], "procMount": "Default"}}

    return _with_containers(spec, default)


def _uses_restart_rules(spec: Object) -> bool:
    policies = (one.get("restartPolicy") for one in spec.get("initContainers") or ())
    return uses(spec, _RESTART_RULES) or any(policy not in (None, "Always") for policy in policies)


def _without_restart_rules(spec: Object, stored: Object) -> Object:
    if _uses_restart_rules(stored) or not since(34):  # which did not know the feature, and validate the fields
        return spec

    def drop(kind: str, container: Object) -> Object:
        if kind == "initContainers" and container.get("restartPolicy") == "Always":
            return without(container, "restartPolicyRules")
        return without(container, "restartPolicy", "restartPolicyRules")

    return _with_containers(spec, drop)


def _without_images(spec: Object, stored: Object) -> Object:
    """Without the volumes that are images, and their mounts."""
    if uses(stored, ("volumes[].image",)):
        return spec
    names = {one.get("name") for one in spec.get("volumes") or () if one.get("image") is not None}
    if not names:
        return spec

    def drop(kind: str, container: Object) -> Object:
        mounts = container.get("volumeMounts")
        if not mounts:
            return container
        left = [one for one in mounts if one.get("name") not in names]
        return {**container, "volumeMounts": left} if left else without(container, "volumeMounts")

    volumes = [one for one in spec["volumes"] if one.get("name") not in names or one.get("image") is None]
    spec = {**spec, "volumes": volumes} if volumes else without(spec, "volumes")
    return _with_containers(spec, drop)


#: Gates of fields that are not just dropped, with what happens to them, given a spec and the stored one.
_RULES: tuple[tuple[str, Callable[[Object, Object], Object]], ...] = (
    ("ProcMountType", _with_default_proc_mounts),
    ("ContainerRestartRules", _without_restart_rules),
    ("ImageVolume", _without_images),
)


@cache
def _rules_of(features: Features) -> tuple[Callable[[Object, Object], Object], ...]:
    """The rules of the gates that are off."""
    return tuple(rule for gate, rule in _RULES if not features.states[gate])
