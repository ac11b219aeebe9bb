"""Converts decoded JSON to the types of a kind without a JSON decoder (apimachinery `runtime/converter.go`).

The results of strategic merge patches and of server-side apply are converted so: integers wrap, and whole floats become
integers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fakekube.apiserver.resource import Object
from fakekube.apiserver.schema.decode import decode as decode_json
from fakekube.apiserver.schema.model import Schema
from fakekube.apiserver.schema.wrongtype import WrongType
from fakekube.apiserver.wire import gojson

#: Scalar type -> Go kind, of those that are converted by their kind.
_KINDS = {
    "string": "string", "boolean": "bool", "int32": "int32", "int64": "int64", "integer": "int64", "number": "float64",
    "double": "float64",
}  # fmt: skip

_BITS = {"int32": 32, "int64": 64}

#: Types with a JSON decoder of their own -> the Go type in its errors.
_DECODED = {"time": "string", "microtime": "string", "int-or-string": "int32"}

_HEADER = {"apiVersion": Schema("string"), "kind": Schema("string")}


def converted(schema: Schema, obj: Object) -> Object:
    """The object with the numbers that its kind has. Raises WrongType."""
    header = {key: _value(_HEADER[key], obj[key]) for key in _HEADER if obj.get(key) is not None}
    return {**_value(schema, obj), **header}


def unknown_fields(schema: Schema, obj: Object) -> list[str]:
    """The paths of unknown fields in order; they do not contain the keys of maps."""
    return sorted(_unknown(schema, {key: value for key, value in obj.items() if key not in _HEADER}, ""))


def _unknown(schema: Schema, value: Any, path: str) -> Iterator[str]:
    if schema.type == "object" and isinstance(value, dict):
        for key, item in value.items():
            here = f"{path}.{key}" if path else key
            if key not in schema.fields:
                yield here
            else:
                yield from _unknown(schema.fields[key], item, here)
    elif schema.type == "map" and isinstance(value, dict) and schema.values is not None:
        for item in value.values():
            yield from _unknown(schema.values, item, path)
    elif schema.type == "list" and isinstance(value, list) and schema.items is not None:
        for i, item in enumerate(value):
            yield from _unknown(schema.items, item, f"{path}[{i}]")


def _value(schema: Schema, value: Any) -> Any:
    if value is None or schema.type == "any":
        return value
    if schema.type == "object":
        if not isinstance(value, dict):
            raise WrongType(f"cannot restore struct from: {_kind(value)}")
        fields = schema.fields
        return {key: _value(fields[key], item) if key in fields else item for key, item in value.items()}
    if schema.type == "map":
        if not isinstance(value, dict):
            raise WrongType(f"cannot restore map from {_kind(value)}")
        assert schema.values is not None
        return {key: _value(schema.values, item) for key, item in value.items()}
    if schema.type == "list":
        if not isinstance(value, list):
            raise WrongType(f"cannot restore slice from {_kind(value)}")
        assert schema.items is not None
        return [_value(schema.items, item) for item in value]
    return _simple(schema, value)


def _simple(schema: Schema, value: Any) -> Any:
    wanted = _KINDS.get(schema.type)
    if wanted is None:
        return _decoded(schema, value)
    kind = _kind(value)
    if kind == wanted:
        return value
    if wanted in _BITS and kind in ("int64", "float64"):
        if kind == "float64" and (value == value) and int(value) != value:
            raise WrongType(f"cannot convert float64 to {wanted}")
        return _wrapped(int(value), _BITS[wanted])
    if wanted == "float64" and kind == "int64":
        return value
    if (kind, wanted) == ("int64", "string"):
        raise WrongType("cannot convert int64 to string")
    raise WrongType(f"unrecognized type: {wanted}")


def _wrapped(number: int, bits: int) -> int:
    if not -(2**63) <= number < 2**63:
        number = -(2**63)  # a float that is out of range
    half = 1 << (bits - 1)
    return (number + half) % (2 * half) - half


def _decoded(schema: Schema, value: Any) -> Any:
    """Checks the values of types with their own decoders, whose errors do not name the field."""
    if schema.type == "bytes" and isinstance(value, bool | int | float | dict):
        raise WrongType(f"cannot restore slice from {_kind(value)}")
    go_type = _DECODED.get(schema.type)
    if go_type == "string" and not isinstance(value, str):
        raise WrongType(f"json: cannot unmarshal {gojson.type_name(value)} into Go value of type string")
    try:
        decode_json(Schema("object", make_fields=lambda: {"value": schema}), {"value": value}, [])
    except WrongType as problem:
        raise WrongType(problem.unstructured) from None
    return value


def _kind(value: Any) -> str:
    """The kind of a value in Go's reflection."""
    if isinstance(value, int) and not isinstance(value, bool) and not -(2**63) <= value < 2**63:
        return "float64"
    return {str: "string", bool: "bool", int: "int64", float: "float64", dict: "map", list: "slice"}[type(value)]
