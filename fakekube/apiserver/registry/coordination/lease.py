"""TODO"""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import AGE, NAME, Printer, age_of, columns, get, name_of
from fakekube.apiserver.registry.generic.validation.content import Errors, check_nonnegative, check_qualified_name
from fakekube.apiserver.wire.status import FieldError, field_forbidden, field_invalid, field_not_supported

Object = dict[str, Any]


def prepare_lease(obj: Object) -> Object:
    """Coordinated leader election is switched off: what belongs to it is not taken."""
    spec = obj.get("spec") or {}
    if not spec.keys() & {"strategy", "preferredHolder"}:
        return obj
    return {**obj, "spec": {key: value for key, value in spec.items() if key not in ("strategy", "preferredHolder")}}


def prepare_lease_update(new: Object, old: Object) -> Object:
    return prepare_lease(new)


STRATEGIES = ("OldestEmulationVersion",)


def validate_lease(lease: Object) -> list[FieldError]:
    errors: Errors = []
    spec = lease.get("spec") or {}
    duration = spec.get("leaseDurationSeconds")
    if duration is not None and duration <= 0:
        errors.append(field_invalid("spec.leaseDurationSeconds", duration, "must be greater than 0"))
    check_nonnegative(spec.get("leaseTransitions"), "spec.leaseTransitions", errors)
    strategy = spec.get("strategy")
    if strategy is not None:
        _check_strategy(strategy, "spec.strategy", errors)
    if spec.get("preferredHolder") and not strategy:
        errors.append(field_forbidden("spec.preferredHolder", "may only be specified if `strategy` is defined"))
    return errors


def validate_lease_update(new: Object, old: Object) -> list[FieldError]:
    return validate_lease(new)


def _check_strategy(strategy: str, path: str, errors: Errors) -> None:
    """One of Kubernetes' own, or one with a domain."""
    if "/" in strategy:
        check_qualified_name(strategy, f"{path}.strategy", errors)
    elif strategy not in STRATEGIES:
        errors.append(field_not_supported(f"{path}.strategy", strategy, STRATEGIES))


def _lease(obj: Object, ages: Ages) -> list[Any]:
    return [name_of(obj), get(obj, "spec.holderIdentity", ""), age_of(obj, ages)]


KIND = Kind(
    "leases.coordination.k8s.io",
    Strategy(
        create_on_update=True,
        unconditional_update=False,
        prepare_create=prepare_lease,
        prepare_update=prepare_lease_update,
        validate=validate_lease,
        validate_update=validate_lease_update,
    ),
    printer=Printer(columns(NAME, "Holder", AGE), _lease),
)
