"""Copies AppArmor profiles from the older annotations into the fields (`applyAppArmorVersionSkew`)."""

from __future__ import annotations

from fakekube.apiserver.registry.core.pod.validation.podoptions import CONTAINERS
from fakekube.apiserver.registry.core.pod.validation.securitycontext import APPARMOR, validate_apparmor
from fakekube.apiserver.registry.generic.validation.field import Field, Object

PROFILES = {"unconfined": {"type": "Unconfined"}, "runtime/default": {"type": "RuntimeDefault"}}
LOCAL = "localhost/"


def profile_of(annotation: str) -> Object | None:
    """The profile that an annotation names; None if it is invalid."""
    if annotation in PROFILES:
        return dict(PROFILES[annotation])
    local = annotation.removeprefix(LOCAL)
    if not annotation.startswith(LOCAL) or not local:
        return None
    profile = Field({"type": "Localhost", "localhostProfile": local})
    validate_apparmor(profile)
    return None if profile.errors else profile.value


def sync(spec: Object, annotations: Object) -> None:
    """Sets the profiles of containers from the annotations. `spec` is changed in place; its containers are copied."""
    if (spec.get("os") or {}).get("name") == "windows" or not any(key.startswith(APPARMOR) for key in annotations):
        return
    whole = (spec.get("securityContext") or {}).get("appArmorProfile")
    for kind in CONTAINERS:
        if spec.get(kind):
            spec[kind] = [_synced(container, annotations, whole) for container in spec[kind]]


def _synced(container: Object, annotations: Object, whole: Object | None) -> Object:
    annotation = annotations.get(APPARMOR + (container.get("name") or ""))
    context = container.get("securityContext") or {}
    if annotation is None or context.get("appArmorProfile") is not None:
        return container
    profile = profile_of(annotation)
    if profile is None or profile == whole:
        return container
    return {**container, "securityContext": {**context, "appArmorProfile": profile}}
