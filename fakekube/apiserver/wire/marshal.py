"""Encodes objects as protobuf messages, byte for byte as the generated marshalers of the Kubernetes API do.

These (gogo-proto, `generated.pb.go`) write fields in ascending order. Pointers are written if they are set, lists and
maps if they have items, and all other fields always, also with their zero values. Maps are sorted by key.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache
from typing import Any

from fakekube.apiserver.resource import Object
from fakekube.apiserver.wire import gojson
from fakekube.apiserver.wire.messages import Field, message, message_of

Marshal = Callable[[Any], bytes]
"""Encodes a JSON value: as a message, as the content of a field, or as a field with its tag."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

#: Years and seconds of a cycle of the Gregorian calendar, by which early years are shifted for Python's calendar.
_CYCLE, _CYCLE_SECONDS = 400, 146_097 * 86_400


# --- the wire


def _varint_bytes(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


_SMALL = tuple(_varint_bytes(value) for value in range(1024))


def varint(value: int) -> bytes:
    """An integer of 64 bits; negative ones have ten bytes."""
    return _SMALL[value] if 0 <= value < 1024 else _varint_bytes(value & 0xFFFF_FFFF_FFFF_FFFF)


def delimited(number: int, content: bytes) -> bytes:
    """A field with text, bytes or a message."""
    return varint(number << 3 | 2) + varint(len(content)) + content


# --- messages


@cache
def marshaler_of(api_version: str, kind: str) -> Marshal | None:
    """Encodes objects of a kind as its message; None if the kind has none."""
    name = message_of(api_version, kind)
    return None if name is None else marshaler(name)


@cache
def marshaler(name: str) -> Marshal:
    """Encodes JSON objects as a message. Unknown fields are ignored."""
    fields = sorted(message(name).items())
    zeros = [_zero(number, field) for number, field in fields]
    known = {field.name: (i, _written(number, field)) for i, (number, field) in enumerate(fields) if field.name}
    inlined = [(i, _written(number, field)) for i, (number, field) in enumerate(fields) if not field.name]

    def marshal(value: Object) -> bytes:
        parts = zeros.copy()
        for key, item in value.items():
            found = known.get(key)
            if found is not None and item is not None:
                i, write = found
                parts[i] = write(item)
        for i, write in inlined:
            parts[i] = write(value)
        return b"".join(parts)

    return marshal


def _zero(number: int, field: Field) -> bytes:
    """What is written of a field that is not set."""
    if field.repeated or field.map or field.pointer or field.type in ("bytes", "strings"):
        return b""
    if field.type in _NUMBERS:
        return _NUMBERS[field.type](number)(0)
    content = _ZEROS.get(field.type)
    if content is None:
        content = b"" if field.type in _VALUES else marshaler(field.type)({})
    return delimited(number, content)


def _written(number: int, field: Field) -> Marshal:
    """Encodes a field that is set, with its tag."""
    if field.map:
        return _map(number, field.type)
    write = _single(number, field.type)
    if not field.repeated:
        return write
    return lambda values: b"".join([write(value) for value in values])


def _single(number: int, type: str) -> Marshal:
    if type in _NUMBERS:
        return _NUMBERS[type](number)
    content, tag, small = _VALUES.get(type), varint(number << 3 | 2), _SMALL

    def write(value: Any) -> bytes:
        nonlocal content
        if content is None:
            content = marshaler(type)  # looked up late: messages may contain themselves
        found = content(value)
        size = len(found)
        return tag + (small[size] if size < 1024 else _varint_bytes(size)) + found

    return write


def _map(number: int, type: str) -> Marshal:
    key, value = _single(1, "string"), _single(2, type)

    def write(entries: Mapping[str, Any]) -> bytes:
        found = []
        for name in sorted(entries):
            item = entries[name]
            found.append(delimited(number, key(name) + (b"" if item is None else value(item))))
        return b"".join(found)

    return write


# --- numbers


def _integers(number: int) -> Marshal:
    tag = varint(number << 3)
    return lambda value: tag + varint(int(value))


def _doubles(number: int) -> Marshal:
    tag = varint(number << 3 | 1)
    return lambda value: tag + struct.pack("<d", value)


_NUMBERS: Mapping[str, Callable[[int], Marshal]] = {
    "int": _integers,
    "int32": _integers,
    "bool": _integers,
    "double": _doubles,
}


# --- values that are one value in JSON


def _json(value: Any) -> bytes:
    return delimited(1, gojson.encode(value))


def _strings(value: list[str]) -> bytes:
    return b"".join([delimited(1, item.encode()) for item in value])


def _quantity(value: Any) -> bytes:
    return delimited(1, str(value).encode())


def _int_or_string(value: Any) -> bytes:
    if isinstance(value, str):
        return b"\x08\x01\x10\x00" + delimited(3, value.encode())
    return b"\x08\x00\x10" + varint(int(value)) + b"\x1a\x00"


@lru_cache(maxsize=4096)
def _time(text: str) -> bytes:
    return _timestamp(text[:19], "0")


@lru_cache(maxsize=4096)
def _micro_time(text: str) -> bytes:
    return _timestamp(text[:19], text[20:].rstrip("Z"))


def _timestamp(text: str, fraction: str) -> bytes:
    """A time in UTC as `Timestamp`; the zero time is empty."""
    year = int(text[:4])
    shift = 1 if year < 1970 else 0
    moment = datetime.fromisoformat(f"{year + shift * _CYCLE:04}{text[4:]}+00:00")
    seconds = (moment - _EPOCH) // timedelta(seconds=1) - shift * _CYCLE_SECONDS
    nanos = int(f"{fraction:0<6.6}") * 1000
    if text == "0001-01-01T00:00:00" and not nanos:
        return b""
    return b"\x08" + varint(seconds) + b"\x10" + varint(nanos)


_SCHEMA = "apiextensions.v1.JSONSchemaProps"


def _schema(value: Object) -> bytes:
    return delimited(1, marshaler(_SCHEMA)(value))


def _schema_or_list(value: Any) -> bytes:
    if isinstance(value, list):
        return b"".join([delimited(2, marshaler(_SCHEMA)(item)) for item in value])
    return _schema(value)


def _schema_or_bool(value: Any) -> bytes:
    if isinstance(value, bool):
        return b"\x08\x01" if value else b"\x08\x00"
    return b"\x08\x01" + delimited(2, marshaler(_SCHEMA)(value))


def _schema_or_strings(value: Any) -> bytes:
    if isinstance(value, list):
        return b"".join([delimited(2, item.encode()) for item in value])
    return _schema(value)


_VALUES: Mapping[str, Marshal] = {
    "string": str.encode,
    "bytes": base64.b64decode,
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

#: The content of zero values that is not empty.
_ZEROS = {
    "quantity": _quantity("0"),
    "int-or-string": _int_or_string(0),
    "schema-or-bool": b"\x08\x00",
}
