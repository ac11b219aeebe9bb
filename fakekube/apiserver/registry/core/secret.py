"""TODO"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from fakekube.apiserver.registry.core.configmap import SIZE_LIMIT, _check_frozen, _check_key, _plain_key, decoded_size
from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.selectablefields import string_at
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import AGE, NAME, Printer, age_of, columns, name_of
from fakekube.apiserver.registry.generic.validation.content import Errors, check_immutable
from fakekube.apiserver.registry.generic.validation.metadata import check_again
from fakekube.apiserver.wire import codec, gojson
from fakekube.apiserver.wire.status import FieldError, field_invalid, field_required, field_too_long

Object = dict[str, Any]


def default_secret(obj: Object) -> None:
    """stringData goes into data, encoded, and is not kept; the type is Opaque where none is given."""
    text = obj.pop("stringData", None)
    if text:
        encoded = {key: base64.b64encode(value.encode()).decode() for key, value in text.items()}
        obj["data"] = {**(obj.get("data") or {}), **encoded}
    if not obj.get("type"):
        obj["type"] = "Opaque"


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


def _secret(obj: Object, ages: Ages) -> list[Any]:
    return [name_of(obj), obj.get("type") or "", len(obj.get("data") or ()), age_of(obj, ages)]


KIND = Kind(
    "secrets",
    Strategy(
        fields={"type": string_at("type")},
        fields_message="label",
        default=default_secret,
        validate=validate_secret,
        validate_update=validate_secret_update,
    ),
    printer=Printer(columns(NAME, "Type", "Data", AGE), _secret),
)
