"""LeaseCandidate: a candidate of coordinated leader election (`ValidateLeaseCandidate`)."""

from __future__ import annotations

import re
from typing import Any

from fakekube.apiserver.registry.coordination.lease import OLDEST_EMULATION_VERSION, validate_strategy
from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import AGE, NAME, Printer, age_of, columns, get, name_of
from fakekube.apiserver.registry.generic.validation.field import Field
from fakekube.apiserver.registry.generic.validation.rules import update_validator, validator

Object = dict[str, Any]

_semver = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)"
    r"(-(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(\.(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*)?"
    r"(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?"
)


Version = tuple[int, int, int]


def validate(candidate: Field) -> None:
    spec = candidate["spec"]
    spec["leaseName"].required()
    emulated = _version(spec["emulationVersion"].optional())
    binary = _version(spec["binaryVersion"].required())
    if spec["binaryVersion"] and spec["emulationVersion"] and binary < emulated:
        spec["binaryVersion"].invalid("must be greater than or equal to `emulationVersion`")
    strategy = spec["strategy"].required()
    if not strategy:
        return
    if strategy.value == OLDEST_EMULATION_VERSION and emulated == (0, 0, 0):
        spec["emulationVersion"].missing("must be specified when `strategy` is 'OldestEmulationVersion'")
    validate_strategy(strategy)


def _version(field: Field) -> Version:
    """The version's numbers; zeros if it is not valid."""
    match = _semver.fullmatch(field.text)
    if match is None:
        field.invalid("must be a valid semantic version")
        return (0, 0, 0)
    return int(match[1]), int(match[2]), int(match[3])


def validate_update(new: Field, old: Field) -> None:
    validate(new)
    new["spec"]["leaseName"].immutable_text(old["spec"]["leaseName"])


def _lease_candidate(obj: Object, ages: Ages) -> list[Any]:
    fields = [get(obj, f"spec.{field}", "") for field in ("leaseName", "binaryVersion", "emulationVersion")]
    return [name_of(obj), *fields, age_of(obj, ages)]


KIND = Kind(
    "leasecandidates.coordination.k8s.io",
    Strategy(
        qualified_finalizers=False,
        create_on_update=True,
        unconditional_update=False,
        validate=validator(validate),
        validate_update=update_validator(validate_update),
    ),
    printer=Printer(columns(NAME, "LeaseName", "BinaryVersion", "EmulationVersion", AGE), _lease_candidate),
)
