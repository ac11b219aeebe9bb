"""TODO"""

from __future__ import annotations

import re
from typing import Any

from fakekube.apiserver.registry.coordination.lease import STRATEGIES, _check_strategy
from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import AGE, NAME, Printer, age_of, columns, get, name_of
from fakekube.apiserver.registry.generic.validation.content import Errors, check_immutable
from fakekube.apiserver.wire.status import FieldError, field_invalid, field_required

Object = dict[str, Any]

_semver = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)"
    r"(-(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(\.(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*)?"
    r"(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?"
)


Version = tuple[int, int, int]


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


def _lease_candidate(obj: Object, ages: Ages) -> list[Any]:
    fields = [get(obj, f"spec.{field}", "") for field in ("leaseName", "binaryVersion", "emulationVersion")]
    return [name_of(obj), *fields, age_of(obj, ages)]


KIND = Kind(
    "leasecandidates.coordination.k8s.io",
    Strategy(
        create_on_update=True,
        unconditional_update=False,
        validate=validate_candidate,
        validate_update=validate_candidate_update,
    ),
    printer=Printer(columns(NAME, "LeaseName", "BinaryVersion", "EmulationVersion", AGE), _lease_candidate),
)
