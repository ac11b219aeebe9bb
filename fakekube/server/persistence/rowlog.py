"""The newest changes of a data directory, in a file that is mapped into memory until the database has them."""

from __future__ import annotations

import contextlib
import mmap
import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import orjson

#: Bytes of the file. What it holds is written into the database within a few milliseconds.
SIZE = 256 * 1024

#: What the file begins with, then its generation.
MAGIC = b"fakekube"
_GENERATION = struct.Struct("<I")
_FIRST = len(MAGIC) + _GENERATION.size

#: What precedes each row: length and checksum. That begins with the generation, so that rows of one before are invalid.
_HEADER = struct.Struct("<II")


class Row(NamedTuple):
    """A stored change. `value`: the object as JSON; empty if it was deleted."""

    revision: int
    collection: str
    path: str
    deleted: bool
    version: str
    value: bytes


class RowLog:
    """Rows that outlive the process as soon as `add` returns: the pages of a mapped file belong to the system.

    Neither a system call nor a page of the database is needed for one, which is most of what a transaction costs. All
    blocks of the file are written when it is made, so that a full disk cannot fail `add`. Raises OSError, and
    ValueError if the file is another one.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)  # it has keys
        try:
            written = os.fstat(descriptor).st_size
            while written < SIZE:
                written += os.pwrite(descriptor, bytes(SIZE - written), written)
            self._map = mmap.mmap(descriptor, SIZE)
        finally:
            os.close(descriptor)
        if self._map[: len(MAGIC)] not in (MAGIC, bytes(len(MAGIC))):
            self._map.close()
            raise ValueError("not a file of fakekube")
        self._map[: len(MAGIC)] = MAGIC
        (self._generation,) = _GENERATION.unpack_from(self._map, len(MAGIC))
        self._end = _FIRST

    def rows(self) -> Iterator[Row]:
        """The rows since the last `clear`, up to one of which only a part was written."""
        at = _FIRST
        while at + _HEADER.size < SIZE:
            length, checksum = _HEADER.unpack_from(self._map, at)
            at += _HEADER.size
            data = self._map[at : at + length]
            if not length or len(data) < length or zlib.crc32(data, self._generation) != checksum:
                return
            head, _, value = data.partition(b"\n")
            revision, collection, key, deleted, version = orjson.loads(head)
            yield Row(revision, collection, key, deleted, version, value)
            at += length

    def add(self, row: Row) -> bool:
        """Add a row; False if there is no room for it."""
        data = orjson.dumps(row[:-1], option=orjson.OPT_APPEND_NEWLINE) + row.value
        at = self._end + _HEADER.size
        end = at + len(data)
        if end > SIZE:
            return False
        self._map[at:end] = data
        _HEADER.pack_into(self._map, self._end, len(data), zlib.crc32(data, self._generation))
        self._end = end
        return True

    def clear(self) -> None:
        """Forget all rows, at once."""
        self._generation = (self._generation + 1) & 0xFFFFFFFF
        _GENERATION.pack_into(self._map, len(MAGIC), self._generation)
        self._end = _FIRST

    def close(self, *, remove: bool) -> None:
        """Unmap the file. `remove`: nothing in it is needed any more."""
        self._map.close()
        if remove:
            with contextlib.suppress(OSError):
                self._path.unlink()
