"""Who calls a hook: the module beneath the layers of the standard library's threads and queues."""

import threading
from types import FrameType

#: Whose threads are workers that wait where nobody can see it (in C), and whose waits are for those.
POOLS = ("concurrent.futures", "multiprocessing")

_START = threading.Thread.start.__code__


def module_of(frame: FrameType | None) -> str | None:
    """The calling module; None for the parent of a new thread, which waits only until that has come to life."""
    while frame is not None:
        if frame.f_code is _START:
            return None
        module = frame.f_globals.get("__name__", "")
        if module not in ("threading", "queue"):
            return str(module)
        frame = frame.f_back
    return ""
