"""ConfigMap (`ValidateConfigMap`)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import AGE, NAME, Printer, age_of, columns, name_of
from fakekube.apiserver.registry.generic.validation.content import CONFIG_KEY, config_key_problems
from fakekube.apiserver.registry.generic.validation.field import Field
from fakekube.apiserver.registry.generic.validation.metadata import validate_metadata
from fakekube.apiserver.registry.generic.validation.rules import update_validator, validator

Object = dict[str, Any]

#: The most bytes of all values together (`MaxSecretSize`).
SIZE_LIMIT = 1024 * 1024

FROZEN = "field is immutable when `immutable` is set"

#: Keys that are valid for certain.
is_plain_key = re.compile(rf"(?!\.)(?=.{{1,253}}$){CONFIG_KEY}").fullmatch


def validate(config_map: Field) -> None:
    data: Mapping[str, str] = config_map.value.get("data") or {}
    binary: Mapping[str, str] = config_map.value.get("binaryData") or {}
    size = 0
    for key, value in data.items():
        if not is_plain_key(key):
            validate_key(config_map["data"], key)
        if key in binary:
            config_map["data"].entry(key).invalid("duplicate of key present in binaryData", key)
        size += len(value) if value.isascii() else len(value.encode())
    for key, value in binary.items():
        validate_key(config_map["binaryData"], key)
        size += decoded_size(value)
    if size > SIZE_LIMIT:
        config_map["[]"].too_long(SIZE_LIMIT)


def validate_update(new: Field, old: Field) -> None:
    validate_frozen(new, old, "data", "binaryData")
    validate_metadata(new)
    validate(new)


def validate_key(data: Field, key: str) -> None:
    data.entry(key).with_value(key).check(config_key_problems)


def decoded_size(text: str) -> int:
    """Returns the number of bytes that the base64 text decodes to."""
    return len(text) // 4 * 3 - text[-2:].count("=")


def validate_frozen(new: Field, old: Field, *fields: str) -> None:
    """An object that is marked as immutable stays as it is."""
    if not old.value.get("immutable"):
        return
    if not new["immutable"]:
        new["immutable"].forbidden(FROZEN)
    for field in fields:
        if new[field].struct != old[field].struct:
            new[field].forbidden(FROZEN)


def _config_map(obj: Object, ages: Ages) -> list[Any]:
    return [name_of(obj), len(obj.get("data") or ()) + len(obj.get("binaryData") or ()), age_of(obj, ages)]


KIND = Kind(
    "configmaps",
    Strategy(validate=validator(validate), validate_update=update_validator(validate_update)),
    printer=Printer(columns(NAME, "Data", AGE), _config_map),
)
