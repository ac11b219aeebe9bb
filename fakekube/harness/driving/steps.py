"""Steps of an async test: what it must await. One that was not awaited is an error that names the call."""

from __future__ import annotations

import linecache
import sys
from collections.abc import Coroutine, Generator, Sequence
from types import CodeType
from typing import Any

from fakekube.struct import Struct

#: The package whose frames are between the test and a step.
_PACKAGE = __name__.partition(".")[0]


class NotAwaited(Exception):
    """An async test called what it must await, and did not await it: nothing has happened, or not all of it."""


class Call(Struct, frozen=True):
    """The place of a call in a test."""

    code: CodeType
    instruction: int
    name: str

    def __str__(self) -> str:
        line, end_line, column, end_column = _position(self.code, self.instruction)
        text = self.name
        if line is not None and line == end_line:
            # columns count bytes
            source = linecache.getline(self.code.co_filename, line).encode()
            text = source[column:end_column].decode(errors="replace") or self.name
        return f"{text} was not awaited ({self.code.co_filename}:{line})"


def _position(code: CodeType, instruction: int) -> tuple[int | None, int | None, int | None, int | None]:
    for index, position in enumerate(code.co_positions()):
        if index == instruction // 2:
            return position
    return None, None, None, None


def calling(name: str) -> Call:
    """The present call into this package: the innermost frame of the stack that is not in it."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == _PACKAGE:
        name = frame.f_code.co_name if not frame.f_code.co_name.startswith("_") else name
        frame = frame.f_back
    return Call(frame.f_code, frame.f_lasti, name)


class Steps:
    """The steps of one test that were made and not awaited yet."""

    def __init__(self) -> None:
        self._made: dict[int, Call] = {}
        self._numbers = 0
        self._forgotten: list[Call] = []

    def make(self, work: Coroutine[Any, Any, Any], name: str) -> Step:
        """A step that runs `work` when it is awaited."""
        return Step(work, self, self.expect(calling(name)))

    def expect(self, call: Call) -> int:
        """Note a call that must be awaited; returns its number, for `awaited`."""
        self._numbers += 1
        self._made[self._numbers] = call
        return self._numbers

    def awaited(self, number: int) -> None:
        self._made.pop(number, None)

    def dropped(self, number: int) -> bool:
        """A step was garbage collected; returns whether it was never awaited."""
        call = self._made.pop(number, None)
        if call is not None:
            self._forgotten.append(call)
        return call is not None

    def check(self) -> None:
        """Raises NotAwaited for steps that cannot be awaited any more."""
        if self._forgotten:
            calls, self._forgotten = self._forgotten, []
            raise NotAwaited(_message(calls))

    def finish(self) -> None:
        """Raises NotAwaited at the end of the test, which awaits nothing any more."""
        calls = [*self._forgotten, *self._made.values()]
        self.forget()
        if calls:
            raise NotAwaited(_message(calls))

    def forget(self) -> None:
        self._forgotten, self._made = [], {}


def _message(calls: Sequence[Call]) -> str:
    return "; ".join(map(str, calls)) + ": in an async test, write `await` before it"


class Step(Coroutine[Any, Any, Any]):
    """A coroutine that notes whether it was begun."""

    __slots__ = ("_number", "_steps", "_work")

    def __init__(self, work: Coroutine[Any, Any, Any], steps: Steps, number: int) -> None:
        self._work, self._steps, self._number = work, steps, number

    def send(self, value: Any) -> Any:
        self._steps.awaited(self._number)
        return self._work.send(value)

    def throw(self, *error: Any) -> Any:
        self._steps.awaited(self._number)
        return self._work.throw(*error)

    def close(self) -> None:
        self._work.close()

    def __await__(self) -> Generator[Any, Any, Any]:
        self._steps.awaited(self._number)
        return self._work.__await__()

    def __del__(self) -> None:
        if self._steps.dropped(self._number):
            self._work.close()

    def __repr__(self) -> str:
        return f"<Step {getattr(self._work, '__qualname__', self._work)}>"
