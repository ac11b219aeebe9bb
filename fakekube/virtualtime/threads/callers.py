"""Finds the code that calls a patched function: its module, or its place outside of the client libraries."""

import os
import threading
from types import FrameType

from fakekube.struct import Struct

#: Packages whose workers wait in C, where no patch sees it, and whose own waits are for those workers.
POOLS = ("concurrent.futures", "multiprocessing")

#: Packages that are clients, or parts of the standard library that clients call.
_CLIENTS = frozenset(
    {
        *(
            "_socket",
            "anyio",
            "contextlib",
            "functools",
            "io",
            "multiprocessing",
            "queue",
            "socket",
            "ssl",
            "threading",
        ),
        *("concurrent", "subprocess"),
        *("fakekube", "h11", "http", "httpcore", "httpx", "requests", "requests_oauthlib", "urllib", "urllib3"),
        *("kr8s", "kubernetes", "lightkube", "openshift", "pydantic", "pykube", "websocket"),
    }
)


class Place(Struct, frozen=True):
    """A line of code that makes a call."""

    file: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{os.path.basename(self.file)}:{self.line} in {self.function}"


def caller(frame: FrameType | None) -> Place:
    """The innermost place that does not belong to a client library."""
    found = frame
    while frame is not None:
        if frame.f_globals.get("__name__", "").partition(".")[0] not in _CLIENTS:
            found = frame
            break
        frame = frame.f_back
    assert found is not None
    return Place(found.f_code.co_filename, found.f_lineno, found.f_code.co_qualname)


_START = threading.Thread.start.__code__


def module_of(frame: FrameType | None) -> str | None:
    """The name of the calling module; None for `Thread.start`, which waits until the new thread runs."""
    while frame is not None:
        if frame.f_code is _START:
            return None
        module = frame.f_globals.get("__name__", "")
        if module not in ("threading", "queue"):
            return str(module)
        frame = frame.f_back
    return ""
