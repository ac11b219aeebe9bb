"""ResourceClaimTemplate (`ValidateResourceClaimTemplate`)."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.features import since
from fakekube.apiserver.registry.generic.gatedfields import GatedFields
from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.table.columns import NAME_AND_AGE
from fakekube.apiserver.registry.generic.validation.field import Field
from fakekube.apiserver.registry.generic.validation.metadata import validate_metadata, validate_metadata_update
from fakekube.apiserver.registry.generic.validation.rules import update_validator, validator
from fakekube.apiserver.registry.generic.validation.templatemetadata import validate_template_metadata
from fakekube.apiserver.registry.resource.devices import gated_of_claim, validate_devices
from fakekube.apiserver.registry.resource.resourceclaim import default_claim

Object = dict[str, Any]


def default_template(obj: Object) -> None:
    default_claim(obj.get("spec") or {})


def validate(template: Field) -> None:
    validate_template_metadata(template["spec"]["metadata"])
    validate_devices(template["spec"]["spec"]["devices"])


def validate_update(new: Field, old: Field) -> None:
    """The whole template is validated again, though its spec is immutable."""
    validate_metadata(new)
    validate(new)
    validate_metadata_update(new, old)
    new["spec"].immutable_struct(old["spec"], "ResourceClaimTemplateSpec")
    if not since(35):
        validate(new)


_GATED = GatedFields(*gated_of_claim("spec.spec"))

_GATED_BEFORE_35 = GatedFields(*gated_of_claim("spec.spec", before_35=True))


KIND = Kind(
    "resourceclaimtemplates.resource.k8s.io",
    Strategy(
        returns_deleted=True,
        repeats_metadata=False,
        drop_disabled=_GATED.drop_disabled,
        default=default_template,
        validate=validator(validate),
        validate_update=update_validator(validate_update),
    ),
    printer=NAME_AND_AGE,
    before={35: {"drop_disabled": _GATED_BEFORE_35.drop_disabled}},
)
