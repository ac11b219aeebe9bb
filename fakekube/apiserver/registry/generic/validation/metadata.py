"""metadata, as a kind's own check of an update looks at it once more."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.registry.generic.validation.content import Errors
from fakekube.apiserver.registry.generic.validation.field import Field
from fakekube.apiserver.schema import objectmeta

Object = dict[str, Any]


def check_again(obj: Object, errors: Errors) -> None:
    """What `ValidateObjectMeta` says of a stored object: many kinds check an update also as if it were new."""
    meta = obj["metadata"]
    errors += objectmeta.content_errors(meta)
    if meta.get("finalizers"):
        errors += objectmeta.undomained_finalizer_errors(meta["finalizers"], "metadata.finalizers")


def validate_metadata(root: Field) -> None:
    """Validates metadata as `ValidateObjectMeta` does: many kinds check an update also as if it were a new object."""
    check_again(root.value, root.errors)
