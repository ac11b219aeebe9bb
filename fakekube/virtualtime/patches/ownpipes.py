"""Patches `os.pipe` and `os.write`: a thread that waits for a pipe of its own process waits in virtual time.

Event loops wake themselves with one: those of Twisted do.
"""

import os
from collections.abc import Callable, Iterator
from typing import Any

from fakekube.virtualtime.blocking import Blocking
from fakekube.virtualtime.notifier import Notifier
from fakekube.virtualtime.patches.patch import Patch


class OwnPipes:
    """The pipes that code of a bubble has made. `stirred` is notified after each write to a descriptor."""

    def __init__(self, blocking: Blocking, stirred: Notifier) -> None:
        self._blocking, self._stirred = blocking, stirred
        #: the other end of each end
        self._ends: dict[int, int] = {}

    def patches(self) -> Iterator[Patch]:
        for name in ("pipe", "pipe2"):
            if hasattr(os, name):
                yield Patch(os, name, self._pipe(getattr(os, name)))
        yield Patch(os, "write", self._write(os.write))

    def _pipe(self, real: Callable[..., tuple[int, int]]) -> Callable[..., tuple[int, int]]:
        def pipe(*args: Any) -> tuple[int, int]:
            reader, writer = real(*args)
            if self._blocking.concerns():
                self._ends[reader], self._ends[writer] = writer, reader
            return reader, writer

        return pipe

    def _write(self, real: Callable[[int, Any], int]) -> Callable[[int, Any], int]:
        def write(descriptor: int, data: Any, /) -> int:
            written = real(descriptor, data)
            if descriptor in self._ends and self._stirred.is_awaited():
                self._blocking.from_anywhere(self._stirred.notify)
            return written

        return write

    def has(self, descriptor: int) -> bool:
        """Whether both ends of a pipe are open in this process: then only its own code writes to it."""
        other = self._ends.get(descriptor)
        return other is not None and _inode(descriptor) == _inode(other) is not None


def _inode(descriptor: int) -> tuple[int, int] | None:
    try:
        found = os.fstat(descriptor)
    except OSError:
        return None
    return found.st_dev, found.st_ino
