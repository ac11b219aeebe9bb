"""TODO"""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.registry.generic import names, objectmeta
from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy, metadata_field
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import AGE, NAME, Printer, age_of, columns, get, name_of
from fakekube.apiserver.registry.generic.validation.content import Errors, check_qualified_name
from fakekube.apiserver.wire.status import FieldError, field_invalid

Object = dict[str, Any]

NAMESPACE_NAME_LABEL = "kubernetes.io/metadata.name"


NAMESPACE_FINALIZER = "kubernetes"


def _labelled(obj: Object) -> Object:
    meta = obj["metadata"]
    labels = {**(meta.get("labels") or {}), NAMESPACE_NAME_LABEL: meta.get("name") or ""}
    return {**obj, "metadata": {**meta, "labels": labels}}


def prepare_namespace(obj: Object) -> Object:
    """Active, with the label that says its name and the finalizer that `/finalize` takes away."""
    finalizers = list((obj.get("spec") or {}).get("finalizers") or ())
    if NAMESPACE_FINALIZER not in finalizers:
        finalizers.append(NAMESPACE_FINALIZER)
    return {**_labelled(obj), "spec": {"finalizers": finalizers}, "status": {"phase": "Active"}}


def prepare_namespace_update(new: Object, old: Object) -> Object:
    """Spec and status are the server's."""
    return {**_labelled(new), "spec": old.get("spec") or {}, "status": old.get("status") or {}}


def prepare_namespace_status(new: Object, old: Object) -> Object:
    return {**new, "spec": old.get("spec") or {}}


def _phase(obj: Object) -> str:
    phase: str = (obj.get("status") or {}).get("phase", "")
    return phase


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


def _namespace(obj: Object, ages: Ages) -> list[Any]:
    return [name_of(obj), get(obj, "status.phase", ""), age_of(obj, ages)]


KIND = Kind(
    "namespaces",
    Strategy(
        name_check=names.dns_label_problems,
        fields={"status.phase": _phase, "name": metadata_field("name")},
        fields_message="label",
        prepare_create=prepare_namespace,
        prepare_update=prepare_namespace_update,
        prepare_status_update=prepare_namespace_status,
        validate=validate_namespace,
        validate_status_update=validate_namespace_status,
    ),
    printer=Printer(columns(NAME, "Status", AGE), _namespace),
)
