"""The finalizers of an object (`pkg/controller/util/protectionutil`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Object = Mapping[str, Any]


def has_finalizer(obj: Object, finalizer: str) -> bool:
    """Whether the object has the finalizer."""
    return finalizer in (obj["metadata"].get("finalizers") or ())


def is_deletion_candidate(obj: Object, finalizer: str) -> bool:
    """Whether the object is being deleted and has the finalizer (protectionutil.IsDeletionCandidate)."""
    return bool(obj["metadata"].get("deletionTimestamp")) and has_finalizer(obj, finalizer)


def with_finalizers(obj: Object, finalizers: Sequence[str]) -> dict[str, Any]:
    """The object with these finalizers instead of its own; without the field if there are none."""
    meta = {name: value for name, value in obj["metadata"].items() if name != "finalizers"}
    return {**obj, "metadata": {**meta, "finalizers": list(finalizers)} if finalizers else meta}
