"""Finalizers (controller-runtime: pkg/controller/controllerutil)."""

from collections.abc import Mapping, Sequence
from typing import Any

from controllerlib.client.names import Object


def _finalizers(obj: Mapping[str, Any]) -> Sequence[str]:
    return (obj.get("metadata") or {}).get("finalizers") or ()


def _with_finalizers(obj: Object, finalizers: Sequence[str]) -> Object:
    return {**obj, "metadata": {**(obj.get("metadata") or {}), "finalizers": list(finalizers)}}


def contains_finalizer(obj: Mapping[str, Any], finalizer: str) -> bool:
    """Return whether `obj` has the finalizer."""
    return finalizer in _finalizers(obj)


def add_finalizer(obj: Object, finalizer: str) -> tuple[Object, bool]:
    """Return `obj` with the finalizer appended, and whether it was added.

    Returns a changed copy (or `obj` itself if unchanged): `obj, added = add_finalizer(obj, "example.com/mine")`.
    """
    if contains_finalizer(obj, finalizer):
        return obj, False
    return _with_finalizers(obj, [*_finalizers(obj), finalizer]), True


def remove_finalizer(obj: Object, finalizer: str) -> tuple[Object, bool]:
    """Return `obj` without the finalizer, and whether it was removed.

    Returns a changed copy (or `obj` itself if unchanged): `obj, removed = remove_finalizer(obj, "example.com/mine")`.
    """
    if not contains_finalizer(obj, finalizer):
        return obj, False
    return _with_finalizers(obj, [name for name in _finalizers(obj) if name != finalizer]), True
