"""Decodes protobuf requests, which typed Go clients and some kubectl commands send.

Kubernetes wraps a message in an envelope of four magic bytes and a `runtime.Unknown`. Kinds without a message are
rejected with 415.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson

from fakekube.apiserver.resource import Object
from fakekube.apiserver.wire.messages import Field, message, message_of
from fakekube.apiserver.wire.status import StatusError, unsupported_media_type

#: The first bytes of an encoded object (`protoEncodingPrefix`).
MAGIC = b"k8s\x00"

#: The limit of the nesting of messages (`codec.MAX_DEPTH` for JSON).
MAX_DEPTH = 250

#: Seconds since 1970 of Go's zero time, which means that no time is set.
_ZERO_TIME = -62135596800

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

#: Years and days of a cycle of the Gregorian calendar, by which times before 1970 are shifted for Python's calendar.
_CYCLE, _CYCLE_DAYS = 400, 146_097


_TYPE_META = {1: Field("apiVersion"), 2: Field("kind")}


class Malformed(Exception):
    """The bytes are not a message of the kind."""


def decode(body: bytes) -> Object:
    """The object in an envelope. Raises Malformed, and 415 for an unknown kind."""
    if not body.startswith(MAGIC):
        raise Malformed("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")
    api_version, kind, raw = "", "", b""
    for number, value in _fields(body[len(MAGIC) :]):
        if number == 1 and isinstance(value, bytes):
            header = _read(_TYPE_META, value, 1)
            api_version, kind = header.get("apiVersion", ""), header.get("kind", "")
        elif number == 2 and isinstance(value, bytes):
            raw = value
    name = message_of(api_version, kind)
    if name is None:
        raise _unknown_kind(kind)
    return {"apiVersion": api_version, "kind": kind, **_read(message(name), raw, 1)}


def _unknown_kind(kind: str) -> StatusError:
    return unsupported_media_type(
        f"fakekube does not read {kind or 'objects'} in protobuf: set the client's content type to application/json"
    )


def _read(known: Mapping[int, Field], data: bytes, depth: int) -> Object:
    if depth > MAX_DEPTH:
        raise Malformed("exceeded max depth")
    found: Object = {}
    for number, value in _fields(data):
        field = known.get(number)
        if field is None:
            continue
        if field.map:
            key, item = _entry(field.type, value, depth)
            found.setdefault(field.name, {})[key] = item
        elif field.repeated:
            found.setdefault(field.name, []).append(_value(field.type, value, depth))
        elif not field.name:
            found.update(_value(field.type, value, depth))
        else:
            found[field.name] = _value(field.type, value, depth)
    return {key: value for key, value in found.items() if value is not None}


def _entry(type: str, data: bytes | int, depth: int) -> tuple[str, Any]:
    if isinstance(data, int):
        raise Malformed("a map entry is no number")
    key, item = "", _value(type, b"" if type not in _NUMBERS else 0, depth)
    for number, value in _fields(data):
        if number == 1:
            key = _value("string", value, depth)
        elif number == 2:
            item = _value(type, value, depth)
    return key, item


def _value(type: str, value: bytes | int, depth: int) -> Any:
    number, text = _NUMBERS.get(type), _VALUES.get(type)
    if number is not None:
        return number(value)
    if isinstance(value, int):
        raise Malformed(f"a number where {type} was expected")
    if text is not None:
        return text(value, depth)
    return _read(message(type), value, depth + 1)


# --- numbers


def _int(value: bytes | int) -> int:
    if not isinstance(value, int):
        raise Malformed("bytes where int was expected")
    return value - (1 << 64) if value >= 1 << 63 else value


def _bool(value: bytes | int) -> bool:
    return bool(_int(value))


def _double(value: bytes | int) -> float:
    if not isinstance(value, bytes) or len(value) not in (0, 8):
        raise Malformed("no double where one was expected")
    found: float = struct.unpack("<d", value)[0] if value else 0.0
    return int(found) if found.is_integer() else found


_NUMBERS: Mapping[str, Callable[[bytes | int], Any]] = {"int": _int, "bool": _bool, "double": _double}


# --- bytes


def _string(data: bytes, depth: int) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise Malformed("text that is not UTF-8") from None


def _bytes(data: bytes, depth: int) -> str:
    return base64.b64encode(data).decode()


def _json(data: bytes, depth: int) -> Any:
    """The JSON value in the only field of a message."""
    raw = next((value for number, value in _fields(data) if number == 1), b"")
    if not isinstance(raw, bytes):
        raise Malformed("a number where JSON was expected")
    try:
        return orjson.loads(raw) if raw else None
    except orjson.JSONDecodeError as error:
        raise Malformed(str(error)) from None


def _strings(data: bytes, depth: int) -> list[str]:
    return [_value("string", value, depth) for number, value in _fields(data) if number == 1]


def _quantity(data: bytes, depth: int) -> str:
    found: str = _read({1: Field("string")}, data, depth).get("string", "0")
    return found


def _int_or_string(data: bytes, depth: int) -> Any:
    found = _read({1: Field("type", "int"), 2: Field("int", "int"), 3: Field("string")}, data, depth)
    return found.get("string", "") if found.get("type") == 1 else found.get("int", 0)


def _time(data: bytes, depth: int) -> str | None:
    seconds, _ = _timestamp(data, depth)
    return _shown(seconds, 0, "%m-%dT%H:%M:%SZ")


def _micro_time(data: bytes, depth: int) -> str | None:
    seconds, nanos = _timestamp(data, depth)
    return _shown(seconds, nanos // 1000, "%m-%dT%H:%M:%S.%fZ")


def _timestamp(data: bytes, depth: int) -> tuple[int, int]:
    if not data:
        return _ZERO_TIME, 0
    found = _read({1: Field("seconds", "int"), 2: Field("nanos", "int")}, data, depth)
    return found.get("seconds", 0), found.get("nanos", 0)


def _shown(seconds: int, micros: int, layout: str) -> str | None:
    """A time as text; None for the zero time. Raises Malformed outside the years 0 to 9999."""
    if (seconds, micros) == (_ZERO_TIME, 0):
        return None
    shift = _CYCLE if seconds < 0 else 0
    try:
        moment = _EPOCH + timedelta(days=_CYCLE_DAYS if shift else 0, seconds=seconds, microseconds=micros)
    except OverflowError:
        raise Malformed("a time that no calendar has") from None
    if moment.year < shift:
        raise Malformed("a time that no calendar has")
    return f"{moment.year - shift:04}-{moment.strftime(layout)}"


_SCHEMA = "apiextensions.v1.JSONSchemaProps"


def _schema_or_list(data: bytes, depth: int) -> Any:
    found = _read({1: Field("schema", _SCHEMA), 2: Field("list", _SCHEMA, repeated=True)}, data, depth + 1)
    return found.get("list", found.get("schema"))


def _schema_or_bool(data: bytes, depth: int) -> Any:
    found = _read({1: Field("allows", "bool"), 2: Field("schema", _SCHEMA)}, data, depth + 1)
    return found.get("schema", found.get("allows", False))


def _schema_or_strings(data: bytes, depth: int) -> Any:
    found = _read({1: Field("schema", _SCHEMA), 2: Field("list", repeated=True)}, data, depth + 1)
    return found.get("list", found.get("schema"))


_VALUES: Mapping[str, Callable[[bytes, int], Any]] = {
    "string": _string,
    "bytes": _bytes,
    "json": _json,
    "strings": _strings,
    "quantity": _quantity,
    "int-or-string": _int_or_string,
    "time": _time,
    "microtime": _micro_time,
    "schema-or-list": _schema_or_list,
    "schema-or-bool": _schema_or_bool,
    "schema-or-strings": _schema_or_strings,
}


# --- the wire


def _fields(data: bytes) -> Iterator[tuple[int, bytes | int]]:
    """The fields of a message: number, and bytes or an integer."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        number, wire = tag >> 3, tag & 7
        if wire == 0:
            value, at = _varint(data, at)
            yield number, value
        elif wire == 2:
            length, at = _varint(data, at)
            if at + length > len(data):
                raise Malformed("unexpected EOF")
            yield number, data[at : at + length]
            at += length
        elif wire in (1, 5):
            length = 8 if wire == 1 else 4
            if at + length > len(data):
                raise Malformed("unexpected EOF")
            yield number, data[at : at + length]
            at += length
        else:
            raise Malformed(f"wire type {wire}")


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise Malformed("unexpected EOF")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
