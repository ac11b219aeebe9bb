"""What the messages of gnostic have in common: fields by JSON name, extensions, values in YAML, named pairs."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import orjson

from fakekube.apiserver.wire.marshal import delimited, varint

Encode = Callable[[int, Any], bytes]
"""Encodes a value as the field with a number."""

Message = tuple[Mapping[str, tuple[int, Encode]], int]
"""The fields of a message by JSON name, and the field number of extensions (0: none)."""


def string(number: int, value: str) -> bytes:
    return delimited(number, value.encode())


def integer(number: int, value: float | bool) -> bytes:
    return varint(number << 3) + varint(int(value))


def double(number: int, value: float) -> bytes:
    return varint(number << 3 | 1) + struct.pack("<d", value)


def any(number: int, value: Any) -> bytes:
    """A value as YAML; JSON is valid YAML."""
    return delimited(number, delimited(2, orjson.dumps(value)))


def each(encode: Encode) -> Encode:
    return lambda number, values: b"".join(encode(number, value) for value in values)


def content(message: Message, value: Mapping[str, Any]) -> bytes:
    """A message without its tag and length."""
    return b"".join(part for _, part in sorted(_parts(*message, value), key=lambda row: row[0]))


def _parts(
    fields: Mapping[str, tuple[int, Encode]], extension: int, value: Mapping[str, Any]
) -> Iterator[tuple[int, bytes]]:
    for key, item in value.items():
        if key in fields:
            number, encode = fields[key]
            yield number, encode(number, item)
        elif key.startswith("x-") and extension:
            yield extension, delimited(extension, string(1, key) + any(2, item))


def named(field: int, encode: Encode) -> Encode:
    """A map as a message with pairs of name and value."""

    def pairs(number: int, value: Mapping[str, Any]) -> bytes:
        return delimited(number, b"".join(pair(field, encode, key, item) for key, item in value.items()))

    return pairs


def pair(field: int, encode: Encode, name: str, value: Any) -> bytes:
    """One pair of name and value of such a map."""
    return delimited(field, string(1, name) + encode(2, value))


def alternative(field: int, encode: Encode) -> Encode:
    """A message in a oneof."""
    return lambda number, value: delimited(number, encode(field, value))
