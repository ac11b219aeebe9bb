"""Minimal objects for tests."""

from typing import Any


def pod(name: str, version: str | int = "1", namespace: str = "default", **meta: Any) -> dict[str, Any]:
    """Return a Pod; keywords are metadata."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"namespace": namespace, "name": name, "resourceVersion": str(version), **meta},
    }


def node(name: str, version: str | int = "1", **meta: Any) -> dict[str, Any]:
    """Return a Node, which is cluster-scoped."""
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "resourceVersion": str(version), **meta}}


def named(notified: Any) -> str:
    """Return `name@version` for an object, `name@version?` for a tombstone."""
    obj = getattr(notified, "obj", notified)
    mark = "?" if obj is not notified else ""
    if obj is None:
        return notified.key + mark
    return f"{obj['metadata']['name']}@{obj['metadata'].get('resourceVersion', '')}{mark}"
