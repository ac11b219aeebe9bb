"""The rules for hot loops, and how errors name tasks and callbacks."""

import asyncio
from functools import partial

import pytest

from fakekube.virtualtime import HotLoop, describe
from fakekube.virtualtime.hotloop import MAX_TURNS, TURNS_AFTER_ONE, TurnGuard


def reconcile():
    """A callback."""


def turned(guard, times, *handles):
    """The errors of so many turns, as the loop counts them."""
    errors = []
    for _ in range(times):
        guard.turns += 1
        errors += [error for error in [guard.turn(handles) if guard.turns > guard.quiet else None] if error is not None]
    return errors


def handle(loop, function=reconcile, *args):
    return asyncio.Handle(function, args, loop)


def test_a_loop_is_hot_above_its_limit_of_turns(loop):
    guard = TurnGuard(1000)
    assert turned(guard, 1000, handle(loop)) == []
    (error,) = turned(guard, 1, handle(loop))
    assert isinstance(error, HotLoop)
    assert "turned 1001 times" in str(error)
    assert f"Busiest in the last 500 turns: {__name__}.reconcile (501x)" in str(error)
    assert (guard.turns, guard.found) == (0, True)


def test_the_busiest_five_are_named_most_often_first_without_callbacks_of_the_loop(loop):
    guard = TurnGuard(600)
    turned(guard, 300, handle(loop))
    rows = [partial(function) for function in (str, int, list, dict, set)]
    for number, each in enumerate(rows):
        turned(guard, 50, *[handle(loop, each)] * (number + 1))
    (error,) = turned(guard, 100, handle(loop, loop._schedule), handle(loop))
    assert str(error).endswith(
        f"{__name__}.reconcile (251x), builtins.set (250x), builtins.dict (200x), builtins.list (150x), "
        "builtins.int (100x)"
    )
    (error,) = turned(TurnGuard(500), 501)
    assert str(error).endswith("turns: unknown")


def test_samples_end_with_the_second(loop):
    guard = TurnGuard(1000)
    turned(guard, 900, handle(loop, int))
    guard.restart()
    (error,) = turned(guard, 1001, handle(loop))
    assert "int" not in str(error)


@pytest.mark.parametrize(("limit", "later"), [(1000, 1000), (20_000, 20_000), (200_000, 20_000)])
def test_the_limit_after_a_hot_loop(loop, limit, later):
    assert (MAX_TURNS, TURNS_AFTER_ONE) == (200_000, 20_000)
    guard = TurnGuard(limit)
    assert (guard.quiet, guard.found) == (limit - 500, False)
    guard.known()
    assert (guard.quiet, guard.found) == (later - 500, True)
    guard.turns = later - 1
    assert turned(guard, 1) == []
    assert len(turned(guard, 1)) == 1


@pytest.mark.parametrize(("steps", "is_hot"), [(0, True), (1, False), (249, False), (250, True), (501, True)])
def test_turns_between_the_steps_of_the_test_are_its_own(loop, steps, is_hot):
    guard = TurnGuard(1000)
    guard.test = loop.create_task(asyncio.sleep(0))
    step, other = handle(loop, guard.test.cancel), handle(loop)
    turned(guard, 500, other)
    errors = turned(guard, steps, step, other) + turned(guard, 501 - steps, other)
    assert bool(errors) is is_hot
    assert guard.turns == 0
    loop.run_until_complete(guard.test)


def test_callbacks_without_a_test_do_not_count_as_its_steps(loop):
    guard = TurnGuard(600)
    assert len(turned(guard, 601, handle(loop, partial(int)))) == 1


# --- descriptions


class Callable:
    def __call__(self):
        """An instance that is called."""


async def asleep():
    await asyncio.sleep(3600)


async def outer():
    await asleep()


class Unnamed:
    """A coroutine without a name, as Cython makes them."""

    __module__ = ""


def test_a_callback_is_named_by_its_function_or_the_task_that_it_resumes(loop):
    task = loop.create_task(outer(), name="job-7")
    for function, said in (
        (reconcile, f"{__name__}.reconcile"),
        (partial(partial(reconcile)), f"{__name__}.reconcile"),
        (Callable(), f"{__name__}.Callable"),
        (Unnamed(), "Unnamed"),
        (task.cancel, "task job-7 (outer)"),
        ("text".upper, "str.upper"),
    ):
        assert describe.callback(handle(loop, function)) == said
    assert describe.owner(handle(loop, task.cancel)) is task
    assert describe.owner(handle(loop, "text".upper)) is None
    assert describe.running(task) == "task job-7 (outer)"
    assert describe.running(None) == "a callback"
    task.cancel()
    loop.run_until_complete(asyncio.wait([task]))


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("Task-12", (12, "Task-12")),
        ("worker", (0, "worker")),
        ("a-b-3", (3, "a-b-3")),
        ("7", (7, "7")),
        ("x-", (0, "x-")),
    ],
)
def test_tasks_are_sorted_by_the_numbers_of_their_names(loop, name, key):
    task = loop.create_task(asyncio.sleep(0), name=name)
    assert describe.number(task) == key
    loop.run_until_complete(task)


def test_a_task_is_described_with_where_it_waits_outside_of_asyncio(loop):
    async def main():
        task = loop.create_task(outer(), name="t")
        own = loop.create_task(asyncio.sleep(5), name="own")
        await asyncio.sleep(0)
        line = asleep.__code__.co_firstlineno + 1
        assert describe.task(task) == f"t (outer) at test_hot_loops.py:{line} in asleep"
        assert describe.task(own).startswith("own (sleep) at tasks.py:")
        assert describe.task(asyncio.current_task()) == f"{asyncio.current_task().get_name()} ({main.__qualname__})"
        task.cancel()
        own.cancel()
        await asyncio.wait([task, own])
        assert describe.task(task) == "t (outer)"

    loop.run_until_complete(main())
