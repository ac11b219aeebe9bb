"""The stacks of all threads, for error messages."""

import faulthandler
import tempfile
import threading
from pathlib import Path

_PACKAGE = str(Path(__file__).parents[1])


#: The innermost frames of each thread that are shown.
FRAMES = 8


def dump() -> str:
    """The innermost frames of every thread, as faulthandler writes them."""
    lines: list[str] = []
    frames = 0
    for line in _dumped().splitlines():
        frames = frames + 1 if line.startswith("  ") else 0
        if frames <= FRAMES:
            lines.append(line)
        elif frames == FRAMES + 1:
            lines.append("  ...")
    return "\n".join(lines)


def _dumped() -> str:
    """Every thread's stack, as faulthandler writes it.

    `traceback` would walk the frames of running threads, which is suspected to crash CPython 3.11.
    """
    with tempfile.TemporaryFile() as file:
        faulthandler.dump_traceback(file=file, all_threads=True)
        file.seek(0)
        return file.read().decode(errors="replace")


def place_of(thread: threading.Thread | None) -> str:
    """Where a thread is: the innermost line of its stack outside of this package, as faulthandler writes it."""
    ident = f"{thread.ident:#018x}" if thread is not None and thread.ident is not None else "none"
    lines = iter(_dumped().splitlines())
    for line in lines:
        if ident in line:
            return next((one.strip() for one in lines if _PACKAGE not in one), "")
    return "an unknown place"
