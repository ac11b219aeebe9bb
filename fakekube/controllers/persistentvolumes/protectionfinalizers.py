"""Finalizers that keep objects in use (`pkg/controller/util/protectionutil`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controllerlib import Client

Object = Mapping[str, Any]


def is_deletion_candidate(obj: Object, finalizer: str) -> bool:
    """Whether the object is being deleted and has the finalizer."""
    meta = obj["metadata"]
    return bool(meta.get("deletionTimestamp")) and finalizer in (meta.get("finalizers") or ())


def needs_finalizer(obj: Object, finalizer: str) -> bool:
    """Whether the object is not being deleted and lacks the finalizer."""
    meta = obj["metadata"]
    return not meta.get("deletionTimestamp") and finalizer not in (meta.get("finalizers") or ())


def is_concerned(obj: Object, finalizer: str) -> bool:
    """Whether the finalizer may have to be added or removed."""
    return is_deletion_candidate(obj, finalizer) or needs_finalizer(obj, finalizer)


async def add_finalizer(client: Client, obj: Object, finalizer: str) -> None:
    """Write the object with the finalizer. Raises ApiError."""
    await _write(client, obj, [*(obj["metadata"].get("finalizers") or ()), finalizer])


async def remove_finalizer(client: Client, obj: Object, finalizer: str) -> None:
    """Write the object without the finalizer. Raises ApiError."""
    await _write(client, obj, [name for name in obj["metadata"]["finalizers"] if name != finalizer])


async def _write(client: Client, obj: Object, finalizers: list[str]) -> None:
    meta = {name: value for name, value in obj["metadata"].items() if name != "finalizers"}
    await client.update({**obj, "metadata": {**meta, "finalizers": finalizers} if finalizers else meta})
