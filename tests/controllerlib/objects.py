"""Objects for tests, with as little in them as a test needs."""

from typing import Any


def pod(name: str, version: str | int = "1", namespace: str = "default", **meta: Any) -> dict[str, Any]:
    """A Pod; keywords are metadata."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"namespace": namespace, "name": name, "resourceVersion": str(version), **meta},
    }


def node(name: str, version: str | int = "1", **meta: Any) -> dict[str, Any]:
    """A Node: cluster-scoped."""
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "resourceVersion": str(version), **meta}}


def named(told: Any) -> str:
    """`name@version` of an object, `name@version?` of a tombstone."""
    obj = getattr(told, "obj", told)
    mark = "?" if obj is not told else ""
    if obj is None:
        return told.key + mark
    return f"{obj['metadata']['name']}@{obj['metadata'].get('resourceVersion', '')}{mark}"
