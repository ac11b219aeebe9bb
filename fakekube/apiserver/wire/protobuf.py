"""Decodes protobuf requests, which typed Go clients and some kubectl commands send.

Kubernetes wraps a message in an envelope of four magic bytes and a `runtime.Unknown` (`serializer/protobuf`).
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import orjson

from fakekube.apiserver.resource import Object
from fakekube.apiserver.wire.messages import Field, message, message_of
from fakekube.apiserver.wire.protowire import Malformed, fields
from fakekube.apiserver.wire.status import unsupported_media_type

#: The first bytes of an encoded object (`protoEncodingPrefix`).
MAGIC = b"k8s\x00"

#: The limit of the nesting of messages (`codec.MAX_DEPTH` for JSON).
MAX_DEPTH = 250

#: Seconds since 1970 of Go's zero time, which means that no time is set.
_ZERO_TIME = -62135596800

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

#: Years and days of a cycle of the Gregorian calendar, by which times before 1970 are shifted for Python's calendar.
_CYCLE, _CYCLE_DAYS = 400, 146_097


_UNKNOWN = {1: Field("", "TypeMeta"), 2: Field("raw", "bytes"), 3: Field("contentEncoding"), 4: Field("contentType")}
_TYPE_META = {1: Field("apiVersion"), 2: Field("kind")}


def decode(body: bytes, default: tuple[str, str] = ("", "")) -> Object:
    """The object in an envelope. `default`: the apiVersion and the kind that are used if the envelope has none.

    Objects of an unknown kind are empty. Raises Malformed, and 415 if the default kind has no message.
    """
    if not body:
        raise Malformed("empty data")
    if not body.startswith(MAGIC):
        raise Malformed("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")
    if len(body) == len(MAGIC):
        raise Malformed("empty body")
    header: Object = {}
    raw = b""
    for number, value in fields("Unknown", _UNKNOWN, body[len(MAGIC) :]):
        if number == 1 and isinstance(value, bytes):
            header |= _read("TypeMeta", _TYPE_META, value, 1)
        elif number == 2 and isinstance(value, bytes):
            raw = value
    api_version, kind = header.get("apiVersion") or default[0], header.get("kind") or default[1]
    return {"apiVersion": api_version, "kind": kind, **_of_kind(api_version, kind, raw, default)}


def _of_kind(api_version: str, kind: str, raw: bytes, default: tuple[str, str]) -> Object:
    name = message_of(api_version, kind)
    if name is None:
        if (api_version, kind) == default:
            raise unsupported_media_type(
                f"fakekube does not read {kind} in protobuf: set the client's content type to application/json"
            )
        return {}
    try:
        return _read(name, message(name), raw, 1)
    except Malformed as problem:
        problem.kind, problem.version = kind, api_version.rpartition("/")[2]
        raise


def _read(name: str, known: Mapping[int, Field], data: bytes, depth: int) -> Object:
    """A message. Fields that occur again are merged: messages by their fields, others by taking the last one."""
    if depth > MAX_DEPTH:
        raise Malformed("exceeded max depth")
    found: Object = {}
    messages: dict[int, bytes] = {}
    for number, value in fields(name.rpartition(".")[2], known, data):
        field = known[number]
        if field.map:
            key, item = _entry(field.type, value, depth)
            found.setdefault(field.name, {})[key] = item
            continue
        if field.repeated:
            found.setdefault(field.name, []).append(_value(field.type, value, depth))
            continue
        if isinstance(value, bytes) and field.type not in _VALUES and field.wire == 2:
            messages[number] = value = messages.get(number, b"") + value
        one = _value(field.type, value, depth)
        if not field.name:
            found.update(one)
        elif one is not None:
            found[field.name] = one
        else:
            found.pop(field.name, None)
    return found


def _entry(type: str, data: bytes | int, depth: int) -> tuple[str, Any]:
    """The key and the value of an entry of a map."""
    assert isinstance(data, bytes), "an entry is a message"
    known = _entry_fields(type)
    key, item = "", _value(type, _EMPTY.get(known[2].wire, b""), depth)
    for number, value in fields("Entry", known, data):
        if number == 1:
            key = _value("string", value, depth)
        else:
            item = _value(type, value, depth)
    return key, item


#: Wire type -> the value of an entry without one.
_EMPTY: Mapping[int, bytes | int] = {0: 0, 1: bytes(8)}


@cache
def _entry_fields(type: str) -> Mapping[int, Field]:
    return {1: Field("key"), 2: Field("value", type)}


def _value(type: str, value: Any, depth: int) -> Any:
    number, text = _NUMBERS.get(type), _VALUES.get(type)
    if number is not None:
        return number(value)
    if text is not None:
        return text(value, depth)
    return _read(type, message(type), value, depth + 1)


# --- numbers


def _int(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value


def _int32(value: int) -> int:
    """The low 32 bits, as Go's conversion leaves them."""
    value &= 0xFFFF_FFFF
    return value - (1 << 32) if value >= 1 << 31 else value


def _double(value: bytes) -> float:
    found: float = struct.unpack("<d", value)[0]
    return int(found) if found.is_integer() else found


_NUMBERS: Mapping[str, Callable[[Any], Any]] = {"int": _int, "int32": _int32, "bool": bool, "double": _double}


# --- bytes


def _string(data: bytes, depth: int) -> str:
    """Text; bytes that are not UTF-8 are replaced, as Go's JSON encoder does it."""
    return data.decode("utf-8", "replace")


def _bytes(data: bytes, depth: int) -> str:
    return base64.b64encode(data).decode()


_RAW = {1: Field("raw", "bytes")}


def _json(data: bytes, depth: int) -> Any:
    """The JSON value in the only field of a message."""
    raw: Any = b""
    for _, raw in fields("RawExtension", _RAW, data):  # noqa: B007 - the last one
        pass
    try:
        return orjson.loads(raw) if raw else None
    except orjson.JSONDecodeError as error:
        raise Malformed(str(error)) from None


def _strings(data: bytes, depth: int) -> list[str]:
    return [_value("string", value, depth) for _, value in fields("Items", {1: Field("items")}, data)]


def _quantity(data: bytes, depth: int) -> str:
    found: str = _read("Quantity", {1: Field("string")}, data, depth).get("string", "0")
    if found != found.strip():  # only those in JSON are trimmed
        raise Malformed("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")
    return found


def _int_or_string(data: bytes, depth: int) -> Any:
    known = {1: Field("type", "int"), 2: Field("int", "int32"), 3: Field("string")}
    found = _read("IntOrString", known, data, depth)
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
    found = _read("Timestamp", {1: Field("seconds", "int"), 2: Field("nanos", "int32")}, data, depth)
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
    known = {1: Field("schema", _SCHEMA), 2: Field("list", _SCHEMA, repeated=True)}
    found = _read("JSONSchemaPropsOrArray", known, data, depth + 1)
    return found.get("list", found.get("schema"))


def _schema_or_bool(data: bytes, depth: int) -> Any:
    known = {1: Field("allows", "bool"), 2: Field("schema", _SCHEMA)}
    found = _read("JSONSchemaPropsOrBool", known, data, depth + 1)
    return found.get("schema", found.get("allows", False))


def _schema_or_strings(data: bytes, depth: int) -> Any:
    known = {1: Field("schema", _SCHEMA), 2: Field("list", repeated=True)}
    found = _read("JSONSchemaPropsOrStringArray", known, data, depth + 1)
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
