"""The ConfigMaps, Secrets and volume claims that a pod needs, and what is missing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

Pod = Mapping[str, Any]
Key = tuple[str, str]
"""The kind and the name of an object in the pod's namespace."""


class Objects(Protocol):
    """Reads of objects of one namespace."""

    def get(self, kind: str, name: str) -> Mapping[str, Any] | None:
        """The object of a kind, or None."""


def references(pod: Pod) -> Iterator[Key]:
    """What the pod needs to start, as far as it is not optional."""
    for volume in pod["spec"].get("volumes") or ():
        for kind, name, _ in _of_volume(volume):
            yield kind, name
    for one in (*(pod["spec"].get("initContainers") or ()), *pod["spec"]["containers"]):
        for kind, name, _ in _of_environment(one):
            yield kind, name


def volume_problem(pod: Pod, objects: Objects) -> str:
    """The message about the first volume that cannot be mounted, or ""."""
    for volume in pod["spec"].get("volumes") or ():
        for kind, name, keys in _of_volume(volume):
            found = objects.get(kind, name)
            start = f'MountVolume.SetUp failed for volume "{volume["name"]}" : '
            if kind == "PersistentVolumeClaim":
                if found is None:
                    return f"{start}error processing PVC {pod['metadata']['namespace']}/{name}: not found"
                if (found.get("status") or {}).get("phase") != "Bound":
                    return f"{start}error processing PVC {pod['metadata']['namespace']}/{name}: PVC is not bound"
            elif found is None:
                return f'{start}{kind.lower()} "{name}" not found'
            elif missing := next((key for key in keys if not _has(found, key)), ""):
                return f"{start}references non-existent {kind.lower()} key: {missing}"
    return ""


def config_problem(container: Mapping[str, Any], namespace: str, objects: Objects) -> str:
    """The message about the first ConfigMap, Secret or key that the environment of a container misses, or ""."""
    for kind, name, key in _of_environment(container):
        found = objects.get(kind, name)
        if found is None:
            return f'{kind.lower()} "{name}" not found'
        if key and not _has(found, key):
            return f"couldn't find key {key} in {kind} {namespace}/{name}"
    return ""


def _has(found: Mapping[str, Any], key: str) -> bool:
    return key in (found.get("data") or {}) or key in (found.get("binaryData") or {})


def _of_volume(volume: Mapping[str, Any]) -> Iterator[tuple[str, str, list[str]]]:
    sources = [volume, *((volume.get("projected") or {}).get("sources") or ())]
    for source in sources:
        for field, kind, naming in (("configMap", "ConfigMap", "name"), ("secret", "Secret", "secretName")):
            found = source.get(field)
            if found is not None and not found.get("optional"):
                name = found.get(naming) or found.get("name") or ""
                yield kind, name, [item["key"] for item in found.get("items") or ()]
    claim = volume.get("persistentVolumeClaim")
    if claim is not None:
        yield "PersistentVolumeClaim", claim["claimName"], []


def _of_environment(container: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    for source in container.get("envFrom") or ():
        for field, kind in (("configMapRef", "ConfigMap"), ("secretRef", "Secret")):
            found = source.get(field)
            if found is not None and not found.get("optional"):
                yield kind, found.get("name") or "", ""
    for one in container.get("env") or ():
        value = one.get("valueFrom") or {}
        for field, kind in (("configMapKeyRef", "ConfigMap"), ("secretKeyRef", "Secret")):
            found = value.get(field)
            if found is not None and not found.get("optional"):
                yield kind, found.get("name") or "", found["key"]
