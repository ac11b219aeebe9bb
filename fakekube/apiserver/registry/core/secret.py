"""Secret (`ValidateSecret`)."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from fakekube.apiserver.registry.core.configmap import (
    SIZE_LIMIT,
    decoded_size,
    is_plain_key,
    validate_frozen,
    validate_key,
)
from fakekube.apiserver.registry.core.tlspair import pair_problem
from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.selectablefields import string_at
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import AGE, NAME, Printer, age_of, columns, name_of
from fakekube.apiserver.registry.generic.validation.field import Field
from fakekube.apiserver.registry.generic.validation.metadata import validate_metadata
from fakekube.apiserver.registry.generic.validation.rules import update_validator, validator
from fakekube.apiserver.wire import codec, gojson

Object = dict[str, Any]


def default_secret(obj: Object) -> None:
    """Encodes stringData into data and drops it; the type defaults to Opaque."""
    text = obj.pop("stringData", None)
    if text:
        encoded = {key: base64.b64encode(value.encode()).decode() for key, value in text.items()}
        obj["data"] = {**(obj.get("data") or {}), **encoded}
    if not obj.get("type"):
        obj["type"] = "Opaque"


SERVICE_ACCOUNT_NAME = "kubernetes.io/service-account.name"

#: Type -> the keys that it requires; below, type -> the key whose value is a JSON object.
REQUIRED_KEYS: Mapping[str, tuple[str, ...]] = {"kubernetes.io/tls": ("tls.crt", "tls.key")}


JSON_KEYS: Mapping[str, str] = {
    "kubernetes.io/dockercfg": ".dockercfg",
    "kubernetes.io/dockerconfigjson": ".dockerconfigjson",
}


def validate(secret: Field) -> None:
    data, kind = secret["data"], secret["type"].text
    values = data.struct
    size = 0
    for key, value in values.items():
        if not is_plain_key(key):
            validate_key(data, key)
        size += decoded_size(value or "")
    if size > SIZE_LIMIT:
        data.too_long(SIZE_LIMIT)
    if kind in JSON_KEYS:
        _validate_json(data.entry(JSON_KEYS[kind]))
    for key in REQUIRED_KEYS.get(kind, ()):
        data.entry(key).specified()
    if kind == "kubernetes.io/basic-auth" and not values.keys() & {"username", "password"}:
        data.entry("username").missing()
        data.entry("password").missing()
    elif kind == "kubernetes.io/ssh-auth":
        data.entry("ssh-privatekey").required()
    elif kind == "kubernetes.io/service-account-token":
        secret["metadata"]["annotations"].entry(SERVICE_ACCOUNT_NAME).required()


def validate_update(new: Field, old: Field) -> None:
    new["type"].immutable_text(old["type"])
    validate_frozen(new, old, "data")
    validate_metadata(new)
    validate(new)


def _validate_json(value: Field) -> None:
    """A JSON object; the error does not show what it is instead."""
    problem = "" if value.value is None else _json_problem(value.value)
    value.specified()
    if problem:
        value.invalid(problem, "<secret contents redacted>")


def _json_problem(encoded: str) -> str:
    try:
        value, _ = codec.parse(base64.b64decode(encoded or ""), codec.JSON)
    except codec.SyntaxProblem as problem:
        return str(problem)
    if value is None or isinstance(value, dict):
        return ""
    return f"json: cannot unmarshal {gojson.type_name(value)} into Go value of type map[string]interface {{}}"


def warnings(obj: Object) -> list[str]:
    if obj.get("type") != "kubernetes.io/tls":
        return []
    data = obj.get("data") or {}
    problem = pair_problem(data.get("tls.crt") or "", data.get("tls.key") or "")
    return [problem] if problem else []


def _secret(obj: Object, ages: Ages) -> list[Any]:
    return [name_of(obj), obj.get("type") or "", len(obj.get("data") or ()), age_of(obj, ages)]


KIND = Kind(
    "secrets",
    Strategy(
        fields={"type": string_at("type")},
        fields_message="label",
        default=default_secret,
        validate=validator(validate),
        validate_update=update_validator(validate_update),
        warnings=warnings,
    ),
    printer=Printer(columns(NAME, "Type", "Data", AGE), _secret),
)
