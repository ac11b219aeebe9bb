"""Lease: a lock that expires (`ValidateLease`)."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.registry.generic.gatedfields import GatedFields
from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import AGE, NAME, Printer, age_of, columns, get, name_of
from fakekube.apiserver.registry.generic.validation.field import Field
from fakekube.apiserver.registry.generic.validation.rules import update_validator, validator

Object = dict[str, Any]


#: Field -> its feature gate.
_GATED = GatedFields(
    ("CoordinatedLeaderElection", ("spec.strategy",)), ("CoordinatedLeaderElection", ("spec.preferredHolder",))
)

OLDEST_EMULATION_VERSION = "OldestEmulationVersion"


def validate(lease: Field) -> None:
    spec = lease["spec"]
    spec.get("leaseDurationSeconds").at_least(1, "must be greater than 0")
    spec["leaseTransitions"].non_negative()
    validate_strategy(spec.get("strategy"))
    if spec["preferredHolder"] and not spec["strategy"]:
        spec["preferredHolder"].forbidden("may only be specified if `strategy` is defined")


def validate_strategy(strategy: Field) -> None:
    """One of Kubernetes' own, or one with a domain."""
    name = strategy.at("strategy", strategy.value)
    if "/" in name.text:
        name.qualified_name()
    else:
        name.one_of((OLDEST_EMULATION_VERSION,))


def _lease(obj: Object, ages: Ages) -> list[Any]:
    return [name_of(obj), get(obj, "spec.holderIdentity", ""), age_of(obj, ages)]


KIND = Kind(
    "leases.coordination.k8s.io",
    Strategy(
        qualified_finalizers=False,
        create_on_update=True,
        unconditional_update=False,
        drop_disabled=_GATED.drop_disabled,
        validate=validator(validate),
        validate_update=update_validator(lambda new, old: validate(new)),
    ),
    printer=Printer(columns(NAME, "Holder", AGE), _lease),
)
