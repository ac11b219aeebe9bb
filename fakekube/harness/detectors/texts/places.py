"""Places in the code under test: what is neither a library, nor the standard library, nor this package."""

from __future__ import annotations

import sys
import sysconfig
import traceback
from collections.abc import Callable
from pathlib import Path
from types import CodeType
from typing import NamedTuple

import controllerlib
from controllerlib.controller import RecoveredPanic

#: The folders of controllerlib and of this package.
CONTROLLERLIB, FAKEKUBE = str(Path(controllerlib.__file__ or "").parent), str(Path(__file__).parents[3])

#: The folders whose code is not under test.
LIBRARIES = (CONTROLLERLIB, FAKEKUBE, *(sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")))


def is_of_library(file: str) -> bool:
    """Whether a file belongs to a library, the standard library or this package: it is not under test."""
    return file.startswith(LIBRARIES)


class Line(NamedTuple):
    """A line of the code under test, which is formatted only if something is found."""

    code: CodeType
    line: int

    def __str__(self) -> str:
        return f"{Path(self.code.co_filename).name}:{self.line}"


def calling_line() -> Line | None:
    """The innermost line of the code under test that has led to the present call, if any has: not the test's own."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__") != "asyncio.events":  # what the loop runs
        if not frame.f_code.co_filename.startswith(LIBRARIES):
            return Line(frame.f_code, frame.f_lineno)
        frame = frame.f_back  # type: ignore[assignment]
    return None


def raised_at(error: BaseException) -> str:
    """The innermost line of the code under test that has raised an error: " (op.py:30)"; empty if none did."""
    lines = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    tested = [f"{Path(file).name}:{line}" for file, line in lines if not is_of_library(file)]
    return f" ({tested[-1]})" if tested else ""


def defined_at(function: Callable[..., object] | None) -> str:
    """Where a function or a method is defined: " (op.py:12)"; empty if that is not known."""
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    code = code or getattr(type(function).__call__, "__code__", None)
    return f" ({Path(code.co_filename).name}:{code.co_firstlineno})" if isinstance(code, CodeType) else ""


def shown_error(error: BaseException) -> str:
    """The type and the message of what a reconcile has raised, and where: "KeyError: 'x' (op.py:30)"."""
    found = error.__cause__ if isinstance(error, RecoveredPanic) and error.__cause__ is not None else error
    return f"{type(found).__name__}: {found}{raised_at(found)}"
