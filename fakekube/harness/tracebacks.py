"""What a report of pytest shows of a traceback: the code of the test and of the operator, not that of this package."""

from __future__ import annotations

import sys
from types import TracebackType

#: Raised by code of this package, these are its own defects: the report shows all frames.
_DEFECTS = (AttributeError, NameError, IndexError, ZeroDivisionError)

_OWN = ("fakekube", "controllerlib")


def without_own_frames(error: BaseException) -> TracebackType | None:
    """The traceback of an error without the frames of this package, and of the standard library below them.

    All of it, if nothing else would be left. `pytest --full-trace` shows it.
    """
    entries = []
    entry = error.__traceback__
    while entry is not None:
        entries.append(entry)
        entry = entry.tb_next
    if not entries or (_package(entries[-1]) in _OWN and isinstance(error, _DEFECTS)):
        return error.__traceback__
    kept: TracebackType | None = None
    for entry in reversed(_shown(entries)):
        kept = TracebackType(kept, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return kept if kept is not None else error.__traceback__


def _shown(entries: list[TracebackType]) -> list[TracebackType]:
    found, below_own = [], False
    for entry in entries:
        package = _package(entry)
        below_own = package in _OWN or (below_own and package in sys.stdlib_module_names)
        if not below_own:
            found.append(entry)
    return found


def _package(entry: TracebackType) -> str:
    return str(entry.tb_frame.f_globals.get("__name__", "")).partition(".")[0]
