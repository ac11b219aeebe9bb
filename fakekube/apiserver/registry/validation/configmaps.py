"""ConfigMaps and Secrets: their keys, their size, what makes them immutable."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import Any

from fakekube.apiserver.registry.generic.validation.content import (
    CONFIG_KEY,
    Errors,
    check_immutable,
    config_key_problems,
)
from fakekube.apiserver.registry.generic.validation.metadata import check_again
from fakekube.apiserver.wire import codec, gojson
from fakekube.apiserver.wire.status import FieldError, field_forbidden, field_invalid, field_required, field_too_long

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


# --- secrets -------------------------------------------------------------------------------------------------------

SERVICE_ACCOUNT_NAME = "kubernetes.io/service-account.name"

#: Type -> the keys that it requires: each of them; a JSON object in the first.
REQUIRED_KEYS: Mapping[str, tuple[str, ...]] = {"kubernetes.io/tls": ("tls.crt", "tls.key")}
JSON_KEYS: Mapping[str, str] = {
    "kubernetes.io/dockercfg": ".dockercfg",
    "kubernetes.io/dockerconfigjson": ".dockerconfigjson",
}


def validate_secret(obj: Object) -> list[FieldError]:
    errors: Errors = []
    _check_secret(obj, errors)
    return errors


def validate_secret_update(new: Object, old: Object) -> list[FieldError]:
    errors: Errors = []
    check_immutable(new.get("type", ""), old.get("type", ""), "type", errors)
    if old.get("immutable"):
        _check_frozen(new, old, ("data",), errors)
    check_again(new, errors)
    _check_secret(new, errors)
    return errors


def _check_secret(obj: Object, errors: Errors) -> None:
    data = obj.get("data") or {}
    size = 0
    for key, value in data.items():
        if not _plain_key.fullmatch(key):
            _check_key(key, f"data[{key}]", errors)
        size += decoded_size(value or "")
    if size > SIZE_LIMIT:
        errors.append(field_too_long("data", SIZE_LIMIT))
    kind = obj.get("type", "")
    if kind in JSON_KEYS:
        _check_json(data, JSON_KEYS[kind], errors)
    for key in REQUIRED_KEYS.get(kind, ()):
        if key not in data:
            errors.append(field_required(f"data[{key}]"))
    if kind == "kubernetes.io/basic-auth" and not data.keys() & {"username", "password"}:
        errors += [field_required(f"data[{key}]") for key in ("username", "password")]
    elif kind == "kubernetes.io/ssh-auth" and not data.get("ssh-privatekey"):
        errors.append(field_required("data[ssh-privatekey]"))
    elif kind == "kubernetes.io/service-account-token" and not _service_account(obj):
        errors.append(field_required(f"metadata.annotations[{SERVICE_ACCOUNT_NAME}]"))


def _service_account(obj: Object) -> str:
    name: str = (obj["metadata"].get("annotations") or {}).get(SERVICE_ACCOUNT_NAME, "")
    return name


def _check_json(data: Object, key: str, errors: Errors) -> None:
    """It must be an object; the message does not show what it is instead."""
    if key not in data:
        errors.append(field_required(f"data[{key}]"))
        return
    problem = _json_problem(data[key])
    if problem:
        errors.append(field_invalid(f"data[{key}]", "<secret contents redacted>", problem))


def _json_problem(encoded: str) -> str:
    try:
        value, _ = codec.parse(base64.b64decode(encoded or ""), codec.JSON)
    except codec.SyntaxProblem as problem:
        return str(problem)
    if value is None or isinstance(value, dict):
        return ""
    return f"json: cannot unmarshal {gojson.type_name(value)} into Go value of type map[string]interface {{}}"
