"""Namespaces: their finalizers and their phase (`ValidateNamespace`)."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.registry.generic.validation.content import Errors, check_qualified_name
from fakekube.apiserver.schema import objectmeta
from fakekube.apiserver.wire.status import FieldError, field_invalid

Object = dict[str, Any]

UNDOMAINED = "name is neither a standard finalizer name nor is it fully qualified"


def _check_finalizer(name: str, path: str, errors: Errors) -> None:
    check_qualified_name(name, path, errors)
    if "/" not in name and name not in objectmeta.STANDARD_FINALIZERS:
        errors.append(field_invalid(path, name, UNDOMAINED))


def validate_namespace(namespace: Object) -> list[FieldError]:
    errors: Errors = []
    for name in (namespace.get("spec") or {}).get("finalizers") or ():
        _check_finalizer(name, "spec.finalizers", errors)
    return errors


def validate_finalize(new: Object, old: Object) -> list[FieldError]:
    """Of a write through /finalize."""
    errors = objectmeta.validate_update(new["metadata"], old["metadata"])
    for i, name in enumerate((new.get("spec") or {}).get("finalizers") or ()):
        _check_finalizer(name, f"spec.finalizers[{i}]", errors)
    return errors


def validate_namespace_status(new: Object, old: Object) -> list[FieldError]:
    deleted = bool(new["metadata"].get("deletionTimestamp"))
    wanted, which = ("Terminating", "is not") if deleted else ("Active", "is")
    phase = (new.get("status") or {}).get("phase") or ""
    if phase == wanted:
        return []
    return [field_invalid("status.Phase", phase, f"may only be '{wanted}' if `deletionTimestamp` {which} empty")]
