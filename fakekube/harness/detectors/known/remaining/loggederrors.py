"""Detects errors that only a log knows of: handlers of kopf that fail for ever, and exceptions that are swallowed."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping

from controllerlib.controller import Outcome, is_panic
from fakekube.harness.detectors.detector import Doing, Scene, Surroundings
from fakekube.harness.detectors.levels import Level
from fakekube.harness.detectors.texts.places import raised_at
from fakekube.struct import Struct

#: Loggers whose errors other detectors report.
_REPORTED = frozenset({"asyncio", "controllerlib", "fakekube"})

#: Loggers of errors of handlers, also of an operator that is installed like a library.
_HANDLERS = "kopf."

#: Times at which an error is logged that does not repair itself.
TIMES = 3

#: Seconds without a record after which such an error has ended, if it was not logged at longer intervals.
AGAIN = 60.0

#: Characters of a message that a finding shows.
SHOWN = 200

#: How kopf announces a retry.
_RETRY = re.compile(r"will try again in ([0-9.]+) seconds")


class Logged(Struct):
    """An error of one type that was logged at one place.

    text: for the finding. first, last: when, in seconds of monotonic time. times: at how many times. due: until when it
    is tried again, as far as the log says.
    """

    program: str
    text: str
    is_bug: bool
    first: float
    last: float
    times: int = 1
    due: float = 0.0


class LoggedErrors:
    """Records at level ERROR with a traceback: bugs, what is logged again and again, and what was to be tried again.

    Only errors that code of the operator has raised or passed on. Not judged: records that a fault or a stopped server
    has caused, errors that reconciles raise, and errors that were logged once or twice or have not been logged any more
    for as long as one would expect.
    """

    levels: Mapping[str, Level] = {"logged-error": "warn"}

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._logged: dict[tuple[str, str, str, str], Logged] = {}
        #: by the program: its requests that faults had affected at its last record
        self._hits: dict[str, int] = {}
        self._doing: Callable[[], Doing | None] = _nothing
        #: by the identity of the reconcile in progress: what it has logged
        self._in_reconciles: dict[int, list[tuple[logging.LogRecord, str]]] = {}

    def open(self, surroundings: Surroundings) -> None:
        self._doing = surroundings.doing

    def logged(self, record: logging.LogRecord, program: str) -> None:
        if record.levelno < logging.ERROR or not record.exc_info or not isinstance(record.exc_info[1], Exception):
            return
        if record.name.partition(".")[0] in _REPORTED or self._is_excused(program):
            return
        doing = self._doing()
        if doing is None:
            self._note(record, program)
        else:
            self._scene.follow(finished=self._finished)
            self._in_reconciles.setdefault(id(doing), []).append((record, program))

    def _is_excused(self, program: str) -> bool:
        """Whether a fault has affected a request of the program since its last record, or the server is down."""
        before = self._hits.get(program, 0)
        now = self._hits[program] = self._scene.fault_hits_of(program) if self._scene.faults else 0
        return now > before or self._scene.runner.is_down

    def _finished(self, doing: Doing, outcome: Outcome) -> None:
        for record, program in self._in_reconciles.pop(id(doing), ()):
            if outcome.error is None:  # otherwise it has a finding as an error of the reconcile
                self._note(record, program)

    def _note(self, record: logging.LogRecord, program: str) -> None:
        assert record.exc_info is not None
        error, now = record.exc_info[1], self._scene.runner.clock.monotonic()
        assert error is not None
        place, message = raised_at(error), _message(record)
        if not place and not record.name.startswith(_HANDLERS):
            return  # no code of the operator
        retry = _RETRY.search(message)
        key = program, record.name, type(error).__name__, place
        known = self._logged.get(key)
        if known is None:
            said = f"{record.name} logged {message[:SHOWN]!r} with the traceback of {type(error).__name__}{place}"
            known = self._logged[key] = Logged(program, said, is_panic(error), now, now)
        elif now > known.last:
            known.times, known.last = known.times + 1, now
        known.due = now + float(retry[1]) if retry is not None else 0.0

    def finish(self) -> None:
        now = self._scene.runner.clock.monotonic()
        for one in self._logged.values():
            interval = (one.last - one.first) / (one.times - 1) if one.times > 1 else 0.0
            goes_on = one.times >= TIMES and now <= one.last + max(2 * interval, AGAIN)
            times = f" {one.times} times within {one.last - one.first:g} s" if one.times > 1 else ""
            if goes_on:
                verdict = f"{times} and goes on: handle it, or report it where its users look"
            elif one.is_bug:
                verdict = f"{times}, which is a bug"
            elif one.due >= now:
                verdict = f"{times}, and has not succeeded since"
            else:
                continue
            self._scene.report("logged-error", f"{one.text}{verdict}", who=one.program, key=id(one))

    def retire(self) -> None:
        self._doing = _nothing
        self._in_reconciles.clear()


def _message(record: logging.LogRecord) -> str:
    """The first line of a message."""
    try:
        return record.getMessage().partition("\n")[0]
    except (TypeError, ValueError):  # the arguments do not match
        return str(record.msg)


def _nothing() -> Doing | None:
    return None


DETECTORS = (LoggedErrors,)
