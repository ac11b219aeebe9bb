"""TODO"""

from __future__ import annotations

import re
from typing import Any

from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import AGE, NAME, Printer, age_of, columns, name_of
from fakekube.apiserver.registry.generic.validation.content import CONFIG_KEY, Errors, config_key_problems
from fakekube.apiserver.registry.generic.validation.metadata import check_again
from fakekube.apiserver.wire.status import FieldError, field_forbidden, field_invalid, field_too_long

Object = dict[str, Any]

#: Bytes of all values together (`MaxSecretSize`).
SIZE_LIMIT = 1024 * 1024


FROZEN = "field is immutable when `immutable` is set"


#: Keys that need no closer look.
_plain_key = re.compile(rf"(?!\.)(?=.{{1,253}}$){CONFIG_KEY}")


def validate_configmap(obj: Object) -> list[FieldError]:
    errors: Errors = []
    _check_configmap(obj, errors)
    return errors


def validate_configmap_update(new: Object, old: Object) -> list[FieldError]:
    errors: Errors = []
    if old.get("immutable"):
        _check_frozen(new, old, ("data", "binaryData"), errors)
    check_again(new, errors)
    _check_configmap(new, errors)
    return errors


def _check_configmap(obj: Object, errors: Errors) -> None:
    data, binary = obj.get("data") or {}, obj.get("binaryData") or {}
    size = 0
    for key, value in data.items():
        if not _plain_key.fullmatch(key):
            _check_key(key, f"data[{key}]", errors)
        if key in binary:
            errors.append(field_invalid(f"data[{key}]", key, "duplicate of key present in binaryData"))
        size += len(value) if value.isascii() else len(value.encode())
    for key, value in binary.items():
        _check_key(key, f"binaryData[{key}]", errors)
        size += decoded_size(value)
    if size > SIZE_LIMIT:
        errors.append(field_too_long("[]", SIZE_LIMIT))


def _check_key(key: str, path: str, errors: Errors) -> None:
    errors += [field_invalid(path, key, problem) for problem in config_key_problems(key)]


def decoded_size(text: str) -> int:
    """Bytes that the base64 stands for."""
    return len(text) // 4 * 3 - text[-2:].count("=")


def _check_frozen(new: Object, old: Object, fields: tuple[str, ...], errors: Errors) -> None:
    if not new.get("immutable"):
        errors.append(field_forbidden("immutable", FROZEN))
    for field in fields:
        if (new.get(field) or {}) != (old.get(field) or {}):
            errors.append(field_forbidden(field, FROZEN))


def _config_map(obj: Object, ages: Ages) -> list[Any]:
    return [name_of(obj), len(obj.get("data") or ()) + len(obj.get("binaryData") or ()), age_of(obj, ages)]


KIND = Kind(
    "configmaps",
    Strategy(validate=validate_configmap, validate_update=validate_configmap_update),
    printer=Printer(columns(NAME, "Data", AGE), _config_map),
)
