"""Finalizers: who has to agree before an object is gone (controller-runtime: pkg/controller/controllerutil)."""

from collections.abc import Mapping, Sequence
from typing import Any

from controllerlib.client.names import Object


def _finalizers(obj: Mapping[str, Any]) -> Sequence[str]:
    return (obj.get("metadata") or {}).get("finalizers") or ()


def _with_finalizers(obj: Object, finalizers: Sequence[str]) -> Object:
    return {**obj, "metadata": {**(obj.get("metadata") or {}), "finalizers": list(finalizers)}}


def contains_finalizer(obj: Mapping[str, Any], finalizer: str) -> bool:
    """Whether `obj` has it."""
    return finalizer in _finalizers(obj)


def add_finalizer(obj: Object, finalizer: str) -> tuple[Object, bool]:
    """`obj` with it as the last one, and whether that is new (else the object is the one given).

    Returns a changed copy; the argument is not changed: `obj, added = add_finalizer(obj, "example.com/mine")`.
    """
    if contains_finalizer(obj, finalizer):
        return obj, False
    return _with_finalizers(obj, [*_finalizers(obj), finalizer]), True


def remove_finalizer(obj: Object, finalizer: str) -> tuple[Object, bool]:
    """`obj` without it, however often it was there, and whether it was (else the object is the one given).

    Returns a changed copy; the argument is not changed: `obj, removed = remove_finalizer(obj, "example.com/mine")`.
    """
    if not contains_finalizer(obj, finalizer):
        return obj, False
    return _with_finalizers(obj, [name for name in _finalizers(obj) if name != finalizer]), True
