"""TODO"""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import AGE, NAME, Printer, age_of, columns, get, name_of
from fakekube.apiserver.registry.generic.validation import content
from fakekube.apiserver.registry.generic.validation.content import Errors, check_nonnegative
from fakekube.apiserver.registry.generic.validation.metadata import check_again
from fakekube.apiserver.resource import qualify
from fakekube.apiserver.wire.status import field_required

Object = dict[str, Any]


def validate_revision(obj: Object) -> Errors:
    errors: Errors = []
    if obj.get("data") is None:
        errors.append(field_required("data", "data is mandatory"))
    check_nonnegative(obj.get("revision"), "revision", errors)
    return errors


def validate_revision_update(new: Object, old: Object) -> Errors:
    errors: Errors = []
    check_again(new, errors)
    errors += validate_revision(new)
    content.check_immutable(new.get("data"), old.get("data"), "data", errors)
    return errors


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
        validate=validate_revision,
        validate_update=validate_revision_update,
    ),
    printer=Printer(columns(NAME, "Controller", "Revision", AGE), _controller_revision),
)
