"""Decodes scalars, and values of the types that have their own decoders in Go."""

from __future__ import annotations

import base64
from collections.abc import Callable
from functools import partial
from typing import Any

from fakekube.apiserver.schema.gotypes import GO_TYPES
from fakekube.apiserver.schema.model import Schema
from fakekube.apiserver.schema.quantity import InvalidQuantity, as_read
from fakekube.apiserver.schema.times import InvalidTime, microtime_text, time_text
from fakekube.apiserver.schema.wrongtype import WrongType, number_text
from fakekube.apiserver.wire import gojson
from fakekube.apiserver.wire.gobase64 import illegal_byte

INTEGER_LIMITS = {"int32": 2**31, "int64": 2**63, "integer": 2**63}


#: The largest whole number below which a float64 has all of them.
EXACT = 2**53


def scalar(schema: Schema, value: Any, shown: str, struct: str) -> Any:
    kind = schema.type
    if kind == "string":
        if type(value) is not str:
            raise wrong(value, struct, shown, schema)
        return value
    if kind in INTEGER_LIMITS:
        return _integer(schema, value, shown, struct)
    if kind == "boolean":
        if type(value) is not bool:
            raise wrong(value, struct, shown, schema)
        return value
    if kind == "any":
        return value
    if kind == "double":
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise wrong(value, struct, shown, schema)
        return _double(value) if type(value) is int and abs(value) > EXACT else value
    return SPECIAL[kind](schema, value, shown, struct)


def _double(value: int) -> int | float:
    """The float64 next to a number, in the form in which Go writes it."""
    found = float(value)
    return int(found) if abs(found) < 1e16 else found


def _integer(schema: Schema, value: Any, shown: str, struct: str) -> int:
    limit = INTEGER_LIMITS[schema.type]
    if type(value) is not int:
        raise wrong(value, struct, shown, schema)
    if not -limit <= value < limit:
        raise WrongType(f"json: cannot unmarshal number {value} into {place(struct, shown)} of type {schema.go_type}")
    return value


def _bytes(schema: Schema, value: Any, shown: str, struct: str) -> str:
    if type(value) is list:
        return base64.b64encode(bytes(_byte(schema, one, shown, struct) for one in value)).decode()
    if type(value) is not str:
        raise wrong(value, struct, shown, schema)
    position = illegal_byte(value)
    if position is not None:
        text = f"illegal base64 data at input byte {position}"
        raise WrongType(text, f"error decoding from json: {text}")
    text = value.replace("\n", "").replace("\r", "")
    return base64.b64encode(base64.b64decode(text)).decode() if text.endswith("=") else text  # without stray bits


def _byte(schema: Schema, value: Any, shown: str, struct: str) -> int:
    """One item of bytes that are given as a list of numbers."""
    if value is None:
        return 0
    if type(value) is not int:
        raise wrong(value, struct, shown, schema, go_type="uint8")
    if not 0 <= value < 256:
        raise WrongType(f"json: cannot unmarshal number {value} into {place(struct, shown)} of type uint8")
    return value


def _quantity(schema: Schema, value: Any, shown: str, struct: str) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise WrongType(QUANTITY_PROBLEM)
    try:
        return as_read(value.strip(" ") if isinstance(value, str) else repr(value))  # other space is escaped in JSON
    except InvalidQuantity as problem:
        raise WrongType(str(problem)) from None


QUANTITY_PROBLEM = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"


def _time(text_of: Callable[[str], str | None], schema: Schema, value: Any, shown: str, struct: str) -> str | None:
    if type(value) is not str:
        raise wrong(value, struct, shown, schema, go_type="string")
    try:
        return text_of(value)
    except InvalidTime as problem:
        raise WrongType(str(problem)) from None


def _int_or_string(schema: Schema, value: Any, shown: str, struct: str) -> int | str:
    if isinstance(value, str):
        return value
    if type(value) is int and -(2**31) <= value < 2**31:
        return value
    what = gojson.type_name(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        what = f"number {number_text(value)}"
    raise WrongType(
        f"json: cannot unmarshal {what} into {place(struct, shown)} of type int32",
        f"json: cannot unmarshal {what} into Go value of type int32",
    )


SPECIAL: dict[str, Callable[..., Any]] = {
    "bytes": _bytes,
    "quantity": _quantity,
    "time": partial(_time, time_text),
    "microtime": partial(_time, microtime_text),
    "int-or-string": _int_or_string,
}


def wrong(value: Any, struct: str, shown: str, schema: Schema, *, go_type: str = "") -> WrongType:
    what = gojson.type_name(value)
    if isinstance(value, float) and schema.type in INTEGER_LIMITS:
        what = f"number {number_text(value)}"
    go_type = go_type or _go_type(struct, shown, schema)
    return WrongType(f"json: cannot unmarshal {what} into {place(struct, shown)} of type {go_type}")


def _go_type(struct: str, shown: str, schema: Schema) -> str:
    """The Go type of a field, or of the items or entries of the field."""
    named = GO_TYPES.get(f"{struct}.{shown.rpartition('.')[2]}")
    if named is None:
        return schema.go_type
    if schema.type in ("list", "map"):
        return named
    if schema.type == "object":  # an item of a named type of lists
        return schema.go_type
    return named.partition("]")[2] if named.startswith(("[]", "map[")) else named


def place(struct: str, shown: str) -> str:
    return f"Go struct field {struct}.{shown}"
