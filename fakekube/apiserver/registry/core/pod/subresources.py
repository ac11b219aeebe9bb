"""The paths that write a part of a pod: ephemeral containers, and the resources of containers."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.features import enabled
from fakekube.apiserver.registry.core.pod.validation.pod import validate_ephemeral_containers
from fakekube.apiserver.registry.core.pod.validation.podresize import validate_resize
from fakekube.apiserver.registry.generic.kind import PartStrategy

Object = dict[str, Any]


def _ephemeral_containers(new: Object, old: Object, now: str) -> Object:
    spec = {key: value for key, value in (old.get("spec") or {}).items() if key != "ephemeralContainers"}
    found = (new.get("spec") or {}).get("ephemeralContainers")
    return {**old, "spec": {**spec, "ephemeralContainers": found} if found else spec}


def _resized(new: list[Object], old: list[Object]) -> list[Object]:
    """The old containers with the new resources; the new containers if they have other names."""
    if [one.get("name") for one in new] != [one.get("name") for one in old[: len(new)]]:
        return new
    taken = ("resources", "resizePolicy")
    found = []
    for container, sent in zip(old, new, strict=False):
        kept = {key: value for key, value in container.items() if key not in taken}
        found.append({**kept, **{key: sent[key] for key in taken if key in sent}})
    return found + old[len(new) :]


def _resources(new: Object, old: Object, now: str) -> Object:
    spec, sent = dict(old.get("spec") or {}), new.get("spec") or {}
    if any(len(sent.get(kind) or ()) != len(spec.get(kind) or ()) for kind in ("initContainers", "containers")):
        return new  # validation rejects it
    for kind in ("initContainers", "containers"):
        wanted = sent.get(kind) or []
        if wanted:
            spec[kind] = _resized(wanted, spec.get(kind) or [])
        elif kind == "containers":
            spec[kind] = wanted
    if enabled("InPlacePodLevelResourcesVerticalScaling"):
        spec.pop("resources", None)
        spec |= {key: sent[key] for key in ("resources",) if key in sent}
    return {**old, "spec": spec}


PARTS = {
    "ephemeralcontainers": PartStrategy(_ephemeral_containers, validate_ephemeral_containers, owned_since=33),
    "resize": PartStrategy(_resources, validate_resize),
}
