"""Namespace (`ValidateNamespace`)."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver import names
from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import AGE, NAME, Printer, age_of, columns, get, name_of
from fakekube.apiserver.registry.generic.validation.field import Field
from fakekube.apiserver.registry.generic.validation.metadata import validate_metadata, validate_metadata_update
from fakekube.apiserver.registry.generic.validation.rules import update_validator, validator
from fakekube.apiserver.schema import objectmeta

Object = dict[str, Any]

NAMESPACE_NAME_LABEL = "kubernetes.io/metadata.name"

NAMESPACE_FINALIZER = "kubernetes"


def _labelled(obj: Object) -> Object:
    meta = obj["metadata"]
    labels = {**(meta.get("labels") or {}), NAMESPACE_NAME_LABEL: meta.get("name") or ""}
    return {**obj, "metadata": {**meta, "labels": labels}}


def default_namespace(obj: Object) -> None:
    """The label is a default, so that who creates the namespace owns it; a generated name is not known yet."""
    if obj["metadata"].get("name"):
        obj.update(_labelled(obj))
    obj["status"] = {**(obj.get("status") or {})}
    obj["status"]["phase"] = obj["status"].get("phase") or "Active"


def prepare_namespace(obj: Object) -> Object:
    """A new namespace is active and has the label with its name and the finalizer that `/finalize` removes."""
    finalizers = list((obj.get("spec") or {}).get("finalizers") or ())
    if NAMESPACE_FINALIZER not in finalizers:
        finalizers.append(NAMESPACE_FINALIZER)
    return {**_labelled(obj), "spec": {"finalizers": finalizers}, "status": {"phase": "Active"}}


def prepare_namespace_update(new: Object, old: Object) -> Object:
    """Keeps spec and status, which only the server writes."""
    return {**_labelled(new), "spec": old.get("spec") or {}, "status": old.get("status") or {}}


def prepare_namespace_status(new: Object, old: Object) -> Object:
    return {**new, "spec": old.get("spec") or {}}


def _phase(obj: Object) -> str:
    phase: str = (obj.get("status") or {}).get("phase", "")
    return phase


UNDOMAINED = "name is neither a standard finalizer name nor is it fully qualified"


def validate(namespace: Field) -> None:
    finalizers = namespace["spec"]["finalizers"]
    for name in finalizers:
        _validate_finalizer(finalizers.with_value(name.value))


def _validate_finalizer(name: Field) -> None:
    name.qualified_name()
    if "/" not in name.text and name.value not in objectmeta.STANDARD_FINALIZERS:
        name.invalid(UNDOMAINED)


def validate_update(new: Field, old: Field) -> None:
    validate_metadata(new, names.dns_label_problems)
    validate(new)
    validate_metadata_update(new, old)


@update_validator
def validate_finalize(new: Field, old: Field) -> None:
    """Of a write through `/finalize`."""
    new.errors.extend(objectmeta.validate_update(new.value["metadata"], old.value["metadata"]))
    for name in new["spec"]["finalizers"]:
        _validate_finalizer(name)


def validate_status_update(new: Field, old: Field) -> None:
    wanted, which = ("Terminating", "is not") if new["metadata"]["deletionTimestamp"] else ("Active", "is")
    phase = new["status"].at("Phase", new["status"]["phase"].text)
    if phase.text != wanted:
        phase.invalid_go(f"may only be '{wanted}' if `deletionTimestamp` {which} empty")


def _namespace(obj: Object, ages: Ages) -> list[Any]:
    return [name_of(obj), get(obj, "status.phase", ""), age_of(obj, ages)]


KIND = Kind(
    "namespaces",
    Strategy(
        subresource_resets={"finalize": ("status",)},
        name_check=names.dns_label_problems,
        returns_deleted=True,
        fields={"status.phase": _phase},
        fields_message="label",
        repeats_metadata=False,
        default=default_namespace,
        prepare_create=prepare_namespace,
        prepare_update=prepare_namespace_update,
        prepare_status_update=prepare_namespace_status,
        validate=validator(validate),
        validate_update=update_validator(validate_update),
        validate_status_update=update_validator(validate_status_update),
    ),
    printer=Printer(columns(NAME, "Status", AGE), _namespace),
)
