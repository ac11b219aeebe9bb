"""Reads protobuf messages of which only the wire format is known."""

from collections.abc import Iterator


def fields(data: bytes) -> Iterator[tuple[int, bytes | int]]:
    """The number and the value of each field: bytes, or an unsigned integer."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        if tag & 7 == 0:
            value, at = _varint(data, at)
            yield tag >> 3, value
            continue
        size, at = _varint(data, at) if tag & 7 == 2 else ({1: 8, 5: 4}[tag & 7], at)
        yield tag >> 3, data[at : at + size]
        at += size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    end = next(i for i in range(at, len(data)) if data[i] < 0x80) + 1
    return sum((byte & 0x7F) << 7 * i for i, byte in enumerate(data[at:end])), end
