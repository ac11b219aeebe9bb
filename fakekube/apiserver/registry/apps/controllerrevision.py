"""ControllerRevision (`ValidateControllerRevision`)."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import AGE, NAME, Printer, age_of, columns, get, name_of
from fakekube.apiserver.registry.generic.validation.field import Field
from fakekube.apiserver.registry.generic.validation.metadata import validate_metadata
from fakekube.apiserver.registry.generic.validation.rules import update_validator, validator
from fakekube.apiserver.resource import qualify

Object = dict[str, Any]


def validate(revision: Field) -> None:
    revision["revision"].non_negative()
    data = revision["data"]
    if not isinstance(data.specified("data is mandatory").value, dict | None):
        data.missing("data must be a valid JSON object")


def validate_update(new: Field, old: Field) -> None:
    validate_metadata(new)
    new["revision"].non_negative()
    new["data"].immutable(old["data"])


def _controller_revision(obj: Object, ages: Ages) -> list[Any]:
    owner = next((one for one in get(obj, "metadata.ownerReferences", ()) if one.get("controller")), None)
    controller = "<none>"
    if owner is not None:
        group, _, _ = owner.get("apiVersion", "").rpartition("/")
        kind = qualify(owner.get("kind", ""), group)
        controller = f"{kind.lower()}/{owner.get('name', '')}"
    return [name_of(obj), controller, obj.get("revision") or 0, age_of(obj, ages)]


KIND = Kind(
    "controllerrevisions.apps",
    Strategy(
        validate=validator(validate),
        validate_update=update_validator(validate_update),
    ),
    printer=Printer(columns(NAME, "Controller", "Revision", AGE), _controller_revision),
)
