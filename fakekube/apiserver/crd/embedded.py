"""Decodes and validates apiVersion, kind and metadata of embedded resources
(`apiextensions-apiserver/pkg/apiserver/schema/objectmeta`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fakekube.apiserver import names
from fakekube.apiserver.crd.structural import Structural
from fakekube.apiserver.features import since
from fakekube.apiserver.resource import Object
from fakekube.apiserver.schema import objectmeta
from fakekube.apiserver.schema.decode import decode
from fakekube.apiserver.schema.model import Schema
from fakekube.apiserver.schema.wrongtype import WrongType
from fakekube.apiserver.wire.gojson import type_name
from fakekube.apiserver.wire.goprint import untyped_literal
from fakekube.apiserver.wire.status import FieldError, field_invalid, field_required


class MalformedEmbeddedResource(Exception):
    """An embedded apiVersion, kind or metadata of the wrong type; the message is the decoder's."""


def coerce(value: Any, schema: Structural | None, meta: Schema, unknown: list[str], path: str = "") -> Any:
    """The value with the metadata of embedded resources decoded. Raises MalformedEmbeddedResource."""
    if schema is None or not schema.has_embedded:
        return value
    if isinstance(value, list):
        made = [coerce(item, schema.items, meta, unknown, f"{path}[{i}]") for i, item in enumerate(value)]
        return made if any(a is not b for a, b in zip(made, value, strict=True)) else value
    if not isinstance(value, dict):
        return value
    found: Object = {}
    for key, item in value.items():
        here = _below(schema, path, key)
        if schema.embedded and key in ("apiVersion", "kind") and not isinstance(item, str):
            raise MalformedEmbeddedResource(str(field_invalid(here, item, "must be a string")))
        if schema.embedded and key == "metadata":
            found[key] = _metadata(item, meta, unknown, here)
        else:
            found[key] = coerce(item, schema.field(key), meta, unknown, here)
    return found if any(found[key] is not item for key, item in value.items()) else value


def _below(schema: Structural, path: str, key: str) -> str:
    """The path of a member, which is in brackets if it is an additional property."""
    if key not in schema.properties and schema.additional is not None:
        return f"{path}[{key}]"
    return f"{path}.{key}" if path else key


def _metadata(item: Any, meta: Schema, unknown: list[str], path: str) -> Object:
    if item is None:
        return {}
    lost: list[str] = []
    try:
        if not isinstance(item, dict):
            raise WrongType(f"json: cannot unmarshal {type_name(item)} into Go value of type v1.ObjectMeta")
        found = decode(meta, item, lost)
    except WrongType as problem:
        raise MalformedEmbeddedResource(str(field_invalid(path, untyped_literal(item), str(problem)))) from None
    unknown += [f"{path}.{one}" for one in lost]
    if found.get("creationTimestamp", "") is None:
        del found["creationTimestamp"]
    return objectmeta.strings_without_null(found)


def embedded_errors(value: Any, schema: Structural | None, path: str = "") -> list[FieldError]:
    """Validates the apiVersion, kind and metadata of embedded resources."""
    if schema is None or not schema.has_embedded:
        return []
    errors: list[FieldError] = []
    if isinstance(value, dict):
        if schema.embedded:
            errors += _resource_errors(value, f"{path}." if path else "")
        for key, item in value.items():
            errors += embedded_errors(item, schema.field(key), _below(schema, path, key))
    elif isinstance(value, list):
        for i, item in enumerate(value):
            errors += embedded_errors(item, schema.items, f"{path}[{i}]")
    return errors


def _resource_errors(value: Object, prefix: str) -> list[FieldError]:
    why = "" if since(34) else "must not be empty"
    errors = [field_required(prefix + key, why) for key in ("apiVersion", "kind") if key not in value]
    for key, check in _CHECKS.items():
        if key in value:
            errors += check(value[key], prefix + key)
    return errors


def _api_version_errors(value: Any, path: str) -> list[FieldError]:
    if not isinstance(value, str):
        return [field_invalid(path, value, "must be a string")]
    if not value:
        return [field_invalid(path, value, "must not be empty")]
    if value.count("/") > 1:
        return [field_invalid(path, value, f"unexpected GroupVersion string: {value}")]
    return []


def _kind_errors(value: Any, path: str) -> list[FieldError]:
    if not isinstance(value, str):
        return [field_invalid(path, value, "must be a string")]
    if not value:
        return [field_invalid(path, value, "must not be empty")]
    problems = names.dns1035_label_problems(value.lower())
    if problems:
        return [field_invalid(path, value, "may have mixed case, but should otherwise match: " + ",".join(problems))]
    return []


def _metadata_errors(value: Any, path: str) -> list[FieldError]:
    meta = {**value, "name": value.get("name") or "fakename"} if isinstance(value, dict) else {"name": "fakename"}
    namespace = meta.get("namespace") or ""
    return objectmeta.validate(
        objectmeta.strings_without_null(meta),
        namespaced=bool(namespace),
        namespace=namespace,
        name_check=names.path_segment_problems,
        path=path,
    )


_CHECKS: dict[str, Callable[[Any, str], list[FieldError]]] = {
    "apiVersion": _api_version_errors,
    "kind": _kind_errors,
    "metadata": _metadata_errors,
}
