"""Task groups: what ends them, what they raise, and what becomes of cancellations from outside; events that happen once."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from controllerlib.tasks import Futures, OnceEvent, Tasks, ended, is_from_outside


async def turns(count: int = 5) -> None:
    for _ in range(count):
        await asyncio.sleep(0)  # noqa: TID251  turns of the loop, not time


class Body:
    """A task with a group, whose tasks and body tests end."""

    def __init__(self, *, catch: bool = False) -> None:
        self.group, self.log = Tasks(), list[str]()
        self.gates = [asyncio.get_running_loop().create_future() for _ in range(3)]
        self._catch = catch
        self.task = asyncio.create_task(self._run())

    async def _run(self) -> str:
        async with self.group as group:
            for number in (0, 1):
                group.start(self._work(number), f"work {number}")
            try:
                await self.gates[2]
            except asyncio.CancelledError:
                self.log.append("body cancelled")
                if not self._catch:
                    raise
        self.log.append(f"cancelling {self.task.cancelling()}")
        return "done"

    async def _work(self, number: int) -> None:
        try:
            await self.gates[number]
        except asyncio.CancelledError:
            self.log.append(f"{number} cancelled")
            raise
        self.log.append(f"{number} ended")

    async def outcome(self) -> str:
        await turns()
        if not self.task.done():
            return "runs"
        if self.task.cancelled():
            return "cancelled"
        error = self.task.exception()
        return repr(error) if error is not None else self.task.result()


def fails(number: int) -> Callable[[Body], None]:
    return lambda body: body.gates[number].set_exception(ValueError(number))


def ends(number: int) -> Callable[[Body], None]:
    return lambda body: body.gates[number].set_result(None)


def cancel(body: Body) -> None:
    body.task.cancel()


def cancel_group(body: Body) -> None:
    body.group.cancel()


@pytest.mark.parametrize(
    ("acts", "outcome", "log"),
    [
        pytest.param([], "runs", "", id="it-waits"),
        pytest.param([ends(0), ends(1)], "runs", "0 ended, 1 ended", id="the-body-too"),
        pytest.param([ends(2), ends(0)], "runs", "0 ended", id="for-every-task"),
        pytest.param([ends(2), ends(0), ends(1)], "done", "0 ended, 1 ended, cancelling 0", id="all-ended"),
        pytest.param(
            [fails(0)], "ValueError(0)", "1 cancelled, body cancelled", id="a-failure-ends-the-others-and-the-body"
        ),
        pytest.param([ends(2), fails(1)], "ValueError(1)", "0 cancelled", id="a-failure-while-it-waits-for-tasks"),
        pytest.param([fails(2)], "ValueError(2)", "0 cancelled, 1 cancelled", id="a-failure-of-the-body"),
        pytest.param([cancel], "cancelled", "body cancelled, 0 cancelled, 1 cancelled", id="cancelled-from-outside"),
        pytest.param([ends(2), cancel], "cancelled", "0 cancelled, 1 cancelled", id="cancelled-while-it-waits"),
        pytest.param([cancel_group], "runs", "0 cancelled, 1 cancelled", id="cancelled-tasks-are-no-failure"),
        pytest.param(
            [cancel_group, ends(2)], "done", "0 cancelled, 1 cancelled, cancelling 0", id="and-the-group-ends-as-usual"
        ),
    ],
)
async def test_what_ends_a_group(acts: list[Callable[[Body], None]], outcome: str, log: str) -> None:
    body = Body()
    for act in acts:
        await turns()
        act(body)
    assert await body.outcome() == outcome
    assert ", ".join(body.log) == log
    cancel(body)
    await turns()


async def test_a_body_that_hides_its_cancellation_still_gets_the_failure() -> None:
    body = Body(catch=True)
    await turns()
    fails(0)(body)
    assert await body.outcome() == "ValueError(0)"
    assert body.log == ["1 cancelled", "body cancelled"]
    assert body.task.cancelling() == 0, "the group takes its own cancellation back"


async def test_the_first_failure_is_raised() -> None:
    body = Body()
    await turns()
    fails(1)(body)
    fails(0)(body)
    assert await body.outcome() == "ValueError(1)"


async def test_the_failure_of_the_body_comes_before_that_of_a_task() -> None:
    async def failing() -> None:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            raise ValueError("of the task")

    async def body() -> None:
        async with Tasks() as group:
            group.start(failing(), "failing")
            await turns()
            raise ValueError("of the body")

    with pytest.raises(ValueError, match="of the body"):
        await body()


async def test_a_group_that_ends_starts_nothing() -> None:
    async def late(group: Tasks) -> str:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            work = turns()
            try:
                group.start(work, "late")
            except RuntimeError as error:
                refused.append(str(error))
                assert work.cr_frame is None
        return ""

    refused: list[str] = []

    async def body() -> None:
        async with Tasks() as group:
            group.start(late(group), "one")
            await turns()
            raise KeyError

    with pytest.raises(KeyError):
        await body()
    assert refused == ["the task group has ended"]


async def test_the_oldest_task_is_cancelled_first() -> None:
    order: list[int] = []

    async def waiting(number: int) -> None:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            order.append(number)

    async with Tasks() as group:
        for number in range(9):
            group.start(waiting(number), str(number))
        await turns()
        assert len(group) == 9
        group.cancel()
    assert order == list(range(9))


# --- events that happen once


async def test_an_event_releases_its_waiters_in_order() -> None:
    event, order = OnceEvent(), list[Any]()

    async def wait(number: int) -> None:
        await event.wait()
        order.append(number)

    tasks = [asyncio.create_task(wait(number)) for number in range(3)]
    await turns()
    event.add_callback(lambda: order.append("callback"))
    tasks[1].cancel()
    await turns()
    assert (event.is_set(), repr(event)) == (False, "<OnceEvent not set waiters=3>")
    event.set()
    event.set()
    await turns()
    assert order == ["callback", 0, 2]
    assert (event.is_set(), repr(event)) == (True, "<OnceEvent set waiters=0>")
    await event.wait()


def test_a_callback_is_called_once_or_not_at_all() -> None:
    event, calls = OnceEvent(), list[str]()
    event.add_callback(lambda: calls.append("a"))
    remove = event.add_callback(lambda: calls.append("b"))
    event.add_callback(lambda: calls.append("c"))
    remove()
    remove()
    event.set()
    assert calls == ["a", "c"]
    after = event.add_callback(lambda: calls.append("d"))
    after()
    assert calls == ["a", "c", "d"]


@pytest.mark.parametrize("how", ["returns", "raises", "cancelled"])
async def test_the_end_of_a_task_with_any_outcome(how: str) -> None:
    gate = asyncio.get_running_loop().create_future()

    async def work() -> None:
        await gate

    task = asyncio.create_task(work())
    waiting = [asyncio.create_task(ended(task)) for _ in range(2)]
    await turns()
    waiting[0].cancel()
    await turns()
    assert [one.done() for one in (task, *waiting)] == [False, True, False]
    if how == "returns":
        gate.set_result(None)
    elif how == "raises":
        gate.set_exception(ValueError())
    else:
        task.cancel()
    await turns()
    assert waiting[1].done()
    await waiting[1]
    await asyncio.gather(task, return_exceptions=True)


# --- failures from outside


def cancelled() -> "asyncio.Task[None]":
    task = asyncio.create_task(turns())
    task.cancel()
    return task


@pytest.mark.parametrize(
    ("failure", "make", "outside"),
    [
        (asyncio.CancelledError(), cancelled, True),
        (asyncio.CancelledError(), lambda: asyncio.create_task(turns()), False),
        (asyncio.CancelledError(), lambda: None, True),
        (GeneratorExit(), asyncio.current_task, False),
        (GeneratorExit(), lambda: asyncio.create_task(turns()), True),
        (ValueError(), cancelled, False),
        (KeyboardInterrupt(), cancelled, False),
    ],
)
async def test_what_comes_from_outside(failure: BaseException, make: Callable[[], Any], outside: bool) -> None:
    assert is_from_outside(failure, make()) is outside


def test_the_end_of_a_coroutine_without_a_loop_comes_from_outside() -> None:
    assert is_from_outside(GeneratorExit(), None)


def test_futures_are_of_the_loop_that_runs() -> None:
    futures, loops = Futures(), list[asyncio.AbstractEventLoop]()

    async def made() -> Awaitable[None]:
        loops.append(asyncio.get_running_loop())
        assert futures.new().get_loop() is futures.new().get_loop() is loops[-1]
        return futures.new()

    for _ in range(2):
        asyncio.run(made())
    assert loops[0] is not loops[1]
