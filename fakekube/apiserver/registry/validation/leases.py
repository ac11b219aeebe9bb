"""Leases and what stands for one (kubernetes `pkg/apis/coordination/validation`)."""

from __future__ import annotations

import re
from typing import Any

from fakekube.apiserver.registry.generic.validation.content import (
    Errors,
    check_immutable,
    check_nonnegative,
    check_qualified_name,
)
from fakekube.apiserver.wire.status import (
    FieldError,
    field_forbidden,
    field_invalid,
    field_not_supported,
    field_required,
)

Object = dict[str, Any]

STRATEGIES = ("OldestEmulationVersion",)

_semver = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)"
    r"(-(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(\.(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*)?"
    r"(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?"
)
Version = tuple[int, int, int]


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


def validate_candidate(candidate: Object) -> list[FieldError]:
    errors: Errors = []
    spec = candidate.get("spec") or {}
    if not spec.get("leaseName"):
        errors.append(field_required("spec.leaseName"))
    emulated = _check_version(spec, "emulationVersion", errors, required=False)
    binary = _check_version(spec, "binaryVersion", errors, required=True)
    if spec.get("binaryVersion") and spec.get("emulationVersion") and binary < emulated:
        why = "must be greater than or equal to `emulationVersion`"
        errors.append(field_invalid("spec.binaryVersion", spec["binaryVersion"], why))
    strategy = spec.get("strategy") or ""
    if not strategy:
        errors.append(field_required("spec.strategy"))
        return errors
    if strategy in STRATEGIES and emulated == (0, 0, 0):
        why = "must be specified when `strategy` is 'OldestEmulationVersion'"
        errors.append(field_required("spec.emulationVersion", why))
    _check_strategy(strategy, "spec.strategy", errors)
    return errors


def _check_version(spec: Object, field: str, errors: Errors, *, required: bool) -> Version:
    text = spec.get(field) or ""
    if not text:
        if required:
            errors.append(field_required(f"spec.{field}"))
        return (0, 0, 0)
    match = _semver.fullmatch(text)
    if match is None:
        errors.append(field_invalid(f"spec.{field}", text, "must be a valid semantic version"))
        return (0, 0, 0)
    return int(match[1]), int(match[2]), int(match[3])


def validate_candidate_update(new: Object, old: Object) -> list[FieldError]:
    errors = validate_candidate(new)
    after, before = new.get("spec") or {}, old.get("spec") or {}
    check_immutable(after.get("leaseName", ""), before.get("leaseName", ""), "spec.leaseName", errors)
    return errors
