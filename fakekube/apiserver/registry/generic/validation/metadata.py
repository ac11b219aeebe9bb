"""Validates metadata as part of a kind's own validation of an update."""

from __future__ import annotations

from fakekube.apiserver.registry.generic.validation.field import Field
from fakekube.apiserver.schema import objectmeta


def validate_metadata(root: Field) -> None:
    """Validates metadata as `ValidateObjectMeta` does: many kinds validate an update also as if it were new."""
    meta = root.value["metadata"]
    root.errors.extend(objectmeta.content_errors(meta))
    if meta.get("finalizers"):
        root.errors.extend(objectmeta.undomained_finalizer_errors(meta["finalizers"], "metadata.finalizers"))
