"""How tasks end with their bubble: the grace that they have, and those that do not end."""

import asyncio

import pytest

from fakekube.virtualtime import Bubble, NotQuiescent
from fakekube.virtualtime.shutdown import GRACE, end_tasks, left_after_grace
from fakekube.virtualtime.simulatedprocess import HARNESS
from fakekube.virtualtime.taskregistry import MAX_CANCELS


async def idle():
    await asyncio.Event().wait()


async def ended(*tasks):
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)


def stubborn(caught):
    async def catches():
        while True:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                caught.append(1)

    return catches()


@pytest.mark.parametrize(
    ("clean_up", "grace", "ends", "left"),
    [(0, GRACE, 0, 0), (29, GRACE, 29, 0), (31, GRACE, 30, 1), (29, 0, 0, 0), (5, 3, 3, 1)],
)
def test_tasks_have_a_grace_to_clean_up_in(loop, clean_up, grace, ends, left):
    survived = []

    async def works():
        try:
            await idle()
        finally:
            if clean_up:
                await asyncio.sleep(clean_up)

    async def main():
        task = loop.create_task(works())
        await loop.settle()
        await end_tasks(loop, [task], grace=grace, survived=survived.extend)
        assert task.done()
        assert survived == [task] * left

    assert GRACE == 30
    loop.call_later(100, int)
    loop.drive(main())
    assert loop.clock.us == ends * 1_000_000


def test_tasks_that_catch_every_cancellation_are_named(loop):
    caught = []

    async def main():
        task = loop.create_task(stubborn(caught), name="mule")
        await loop.settle()
        with pytest.raises(
            NotQuiescent, match=rf"tasks do not end: mule \(.*they were cancelled {MAX_CANCELS + 1} times"
        ):
            await end_tasks(loop, [task])
        assert loop.tasks.process(task) is HARNESS

    loop.drive(main())
    assert len(caught) == MAX_CANCELS + 1
    assert loop.clock.us == 30_000_000


def test_the_other_tasks_are_cancelled_too_where_some_do_not_end(loop):
    async def main():
        bystander, mule = loop.create_task(idle()), loop.create_task(stubborn([]))
        await loop.settle()
        me = loop.create_own_task(end_tasks(loop, [mule], grace=0))
        with pytest.raises((NotQuiescent, asyncio.CancelledError)):
            await me
        assert bystander.cancelled()

    loop.drive(main())


def test_those_that_are_left_after_the_grace(loop):
    async def main():
        quick, slow = (loop.create_task(asyncio.sleep(seconds)) for seconds in (10, 50))
        await loop.settle()
        assert await left_after_grace(loop, [quick, slow]) == [slow]
        assert loop.clock.us == 30_000_000
        await ended(slow)

    loop.drive(main())


def test_what_a_task_raises_while_it_is_ended_is_reported():
    heard = []

    async def works():
        try:
            await idle()
        finally:
            raise ValueError("in the clean-up")

    with Bubble(wall_clock=False) as bubble:
        task = bubble.loop.create_task(works())
        good = bubble.loop.create_task(idle())
        bubble.loop.set_exception_handler(lambda _, context: heard.append(context))
        bubble.settle()
    assert [(one["message"], str(one["exception"]), one["task"]) for one in heard] == [
        ("exception while a task was ended", "in the clean-up", task)
    ]
    assert good.cancelled()


def test_tasks_that_the_loop_has_not_created_end_in_the_order_of_their_names():
    ended, tasks = [], []

    async def works(name):
        try:
            await idle()
        finally:
            ended.append(name)

    with Bubble(wall_clock=False) as bubble:

        async def start():
            names = ("b-10", "c", "b-9", "b-11")
            tasks.extend(asyncio.Task(works(name), loop=bubble.loop, name=name) for name in names)
            await asyncio.sleep(0)

        bubble.run(start())
    assert ended == ["c", "b-9", "b-10", "b-11"]
