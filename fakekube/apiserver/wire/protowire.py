"""Reads the fields of protobuf messages, with the errors of Kubernetes' generated code (`generated.pb.go`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fakekube.apiserver.wire.messages import Field


class Malformed(Exception):
    """The bytes are not an object. `kind` and `version` are those of the envelope ("": it could not be read)."""

    kind: str = ""
    version: str = ""


_EOF = "unexpected EOF"


def fields(message: str, known: Mapping[int, Field], data: bytes) -> Iterator[tuple[int, bytes | int]]:
    """The known fields of a message: number, and bytes or an unsigned integer. Raises Malformed.

    `message` is the name of the message. Repeated numbers may be packed.
    """
    at, end = 0, len(data)
    while at < end:
        start = at
        tag, at = _varint(data, at)
        number, wire = (tag >> 3 & 0xFFFFFFFF), tag & 7
        if wire == 4:
            raise Malformed(f"proto: {message}: wiretype end group for non-group")
        if number == 0 or number > 0x7FFFFFFF:
            raise Malformed(f"proto: {message}: illegal tag {_int32(number)} (wire type {tag})")
        field = known.get(number)
        if field is None:
            at = _skip(data, start)
        elif wire == field.wire:
            value, at = _content(data, at, wire)
            yield number, value
        elif wire == 2 and field.repeated:
            packed, at = _content(data, at, 2)
            yield from _packed(number, packed, field.wire)
        else:
            raise Malformed(f"proto: wrong wireType = {wire} for field {field.go_name}")


def _int32(value: int) -> int:
    return value - (1 << 32) if value >= 1 << 31 else value


def _content(data: bytes, at: int, wire: int) -> tuple[bytes | int, int]:
    """What follows a tag, and its end."""
    if wire == 0:
        return _varint(data, at)
    size = 8
    if wire == 2:
        size, at = _varint(data, at)
        if size >= 1 << 63:
            raise Malformed("proto: negative length found during unmarshaling")
    if at + size > len(data):
        raise Malformed(_EOF)
    return data[at : at + size], at + size


def _packed(number: int, data: bytes | int, wire: int) -> Iterator[tuple[int, bytes | int]]:
    assert isinstance(data, bytes), "packed numbers have a length"
    at = 0
    while at < len(data):
        value, at = _content(data, at, wire)
        yield number, value


def _skip(data: bytes, at: int) -> int:
    """The end of an unknown field (`skipGenerated`)."""
    depth = 0
    while at < len(data):
        tag, at = _varint(data, at)
        wire = tag & 7
        if wire in (0, 1, 2):
            _, at = _content(data, at, wire)
        elif wire == 3:
            depth += 1
        elif wire == 4:
            depth -= 1
        elif wire == 5:
            at += 4
        else:
            raise Malformed(f"proto: illegal wireType {wire}")
        if at > len(data):
            break
        if depth == 0:
            return at
    raise Malformed(_EOF)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while shift < 64:
        if at >= len(data):
            raise Malformed(_EOF)
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, at
        shift += 7
    raise Malformed("proto: integer overflow")
