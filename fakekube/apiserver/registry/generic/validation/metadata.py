"""Validates metadata as part of a kind's own validation of an update."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from fakekube.apiserver import names
from fakekube.apiserver.registry.generic.validation.field import Field
from fakekube.apiserver.registry.generic.validation.rules import update_validator
from fakekube.apiserver.schema import objectmeta
from fakekube.apiserver.wire.status import FieldError


def validate_metadata(
    root: Field, name_check: names.NameCheck = names.dns_subdomain_problems, *, qualified: bool = True
) -> None:
    """Validates metadata as `ValidateObjectMeta` does: many kinds validate an update also as if it were new.

    `qualified`: finalizers without a domain are rejected.
    """
    meta = root.value["metadata"]
    root.errors.extend(objectmeta.generate_name_errors(meta, name_check))
    root.errors.extend(objectmeta.content_errors(meta))
    if qualified:
        root.errors.extend(objectmeta.undomained_finalizer_errors(meta.get("finalizers"), "metadata.finalizers"))


def validate_metadata_update(new: Field, old: Field, *, qualified: bool = True) -> None:
    """Validates metadata as `ValidateObjectMetaUpdate` does, for kinds that do so after their other rules."""
    meta = new.value["metadata"]
    new.errors.extend(objectmeta.validate_update(meta, old.value["metadata"]))
    if qualified:
        new.errors.extend(objectmeta.undomained_finalizer_errors(meta.get("finalizers"), "metadata.finalizers"))


def as_new(
    rules: Callable[[Field], object],
    name_check: names.NameCheck = names.dns_subdomain_problems,
    *,
    qualified: bool = True,
) -> Callable[[Mapping[str, Any], Mapping[str, Any]], list[FieldError]]:
    """Returns a function that validates an update as if the object were new."""
    return update_validator(partial(_as_new, rules, name_check, qualified))


def _as_new(
    rules: Callable[[Field], object], name_check: names.NameCheck, qualified: bool, new: Field, old: Field
) -> None:
    validate_metadata(new, name_check, qualified=qualified)
    rules(new)
