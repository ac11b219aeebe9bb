"""TODO"""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.table.columns import NAME_AND_AGE
from fakekube.apiserver.registry.generic.validation.content import Errors
from fakekube.apiserver.registry.resource.devices import _check_claim, validate_claim_update
from fakekube.apiserver.registry.resource.resourceclaim import default_claim
from fakekube.apiserver.wire.status import FieldError

Object = dict[str, Any]


def default_template(obj: Object) -> None:
    default_claim(obj.get("spec") or {})


def validate_template(template: Object) -> list[FieldError]:
    errors: Errors = []
    spec = (template.get("spec") or {}).get("spec") or {}
    _check_claim(spec.get("devices") or {}, "spec.spec.devices", errors)
    return errors


validate_template_update = validate_claim_update


KIND = Kind(
    "resourceclaimtemplates.resource.k8s.io",
    Strategy(
        returns_deleted=True,
        default=default_template,
        validate=validate_template,
        validate_update=validate_template_update,
    ),
    printer=NAME_AND_AGE,
)
