"""Which exceptions that leave the code under test are errors that the test has to raise, because nothing else does."""

from __future__ import annotations

import asyncio
import sys
from bdb import BdbQuit

from controllerlib.controller import RecoveredPanic, is_panic
from controllerlib.tasks import ENDINGS, is_from_outside
from fakekube.virtualtime.errors import BubbleClosed, LoopBlocked
from fakekube.virtualtime.loop import VirtualTimeLoop


def outcomes() -> tuple[type[BaseException], ...]:
    """What ends a test of pytest wherever it is raised, for example by pytest-timeout in a task of an operator."""
    found = sys.modules.get("_pytest.outcomes")
    return (found.OutcomeException, found.Exit) if found is not None else ()


#: What a bubble raises in code that it ends.
_OF_BUBBLE = (BubbleClosed, LoopBlocked)


def is_unhandled(error: BaseException) -> bool:
    """Whether an exception of synchronous code is an error of its own that nothing raises otherwise.

    asyncio raises what ends the process from the event loop, and the bubble the outcome of a test.
    """
    return isinstance(error, Exception) or not isinstance(error, (*ENDINGS, *_OF_BUBBLE, *outcomes()))


def has_failed(error: BaseException, task: asyncio.Task[object] | None) -> bool:
    """The same for what a task has raised, caught in the task itself: it may have been cancelled or closed."""
    return is_unhandled(error) and not is_from_outside(error, task)


def ends_the_operator(error: BaseException) -> bool:
    """Whether the error of a reconcile has ended its manager, whose failure the test raises."""
    return isinstance(error, ENDINGS) or is_panic(error)


def end_if_it_ends_the_test(loop: VirtualTimeLoop, error: BaseException) -> None:
    """Raise from the loop what ends a test, and no reconcile: the debugger was left, or `pytest.exit()` was called."""
    found = _recovered(error)
    if isinstance(found, (*loop.fatal_errors, BdbQuit)):
        loop.fail_with(found)


def raise_if_it_ends_the_code(error: BaseException) -> None:
    """Raise what a bubble has raised in a reconcile, which must not be repeated."""
    found = _recovered(error)
    if isinstance(found, _OF_BUBBLE):
        raise found


def _recovered(error: BaseException) -> BaseException:
    """What a reconciler has raised."""
    return error.__cause__ if isinstance(error, RecoveredPanic) and error.__cause__ is not None else error
