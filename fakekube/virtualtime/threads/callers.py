"""Finds the module that calls a patched function, below the frames of `threading` and `queue`."""

import threading
from types import FrameType

#: Packages whose workers wait in C, where no patch sees it, and whose own waits are for those workers.
POOLS = ("concurrent.futures", "multiprocessing")

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
