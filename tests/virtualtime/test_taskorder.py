"""`asyncio.as_completed` starts coroutines in an order that does not depend on their addresses."""

import asyncio
import random

import pytest

from fakekube.virtualtime.patches.taskorder import _description, _ordered


async def started(numbers, note):
    async def one(number):
        note.append(number)

    numbers = list(numbers)
    random.shuffle(numbers)
    for each in asyncio.as_completed({one(number) for number in numbers}):
        await each


async def test_coroutines_of_a_set_start_in_the_order_of_their_arguments(fakekube):
    note = []
    await started(range(100), note)
    assert note == sorted(range(100), key=lambda number: repr([("number", repr(number))]))


async def test_coroutines_of_a_list_start_in_its_order(fakekube):
    note = []

    async def one(number):
        note.append(number)

    numbers = random.sample(range(100), 100)
    for each in asyncio.as_completed([one(number) for number in numbers]):
        await each
    assert note == numbers


async def test_tasks_of_a_set_are_awaited_as_they_end(fakekube):
    async def one(number):
        await asyncio.sleep(number)
        return number

    tasks = {asyncio.ensure_future(one(number)) for number in (3, 1, 2)}
    assert [await each for each in asyncio.as_completed(tasks)] == [1, 2, 3]


async def test_a_timeout_is_in_virtual_time(fakekube):
    (each,) = asyncio.as_completed([asyncio.sleep(3600)], timeout=60)
    with pytest.raises(TimeoutError):
        await each
    assert fakekube.clock.monotonic() == 60


async def test_a_single_coroutine_is_rejected(fakekube):
    work = asyncio.sleep(1)
    with pytest.raises(TypeError):
        list(asyncio.as_completed(work))
    work.close()


def test_coroutines_of_a_set_are_ordered_by_name_and_arguments_and_tasks_by_number():
    async def one(a, b, other=None):
        """Started by nothing."""

    async def another():
        """Started by nothing."""

    made = [another(), one(1, 2), one(1, 3, {}), one(2, 1), one(b=0, a=3)]
    for number in range(5):
        assert list(_ordered(set(made[number:] + made[:number]))) == made
    assert list(_ordered([made[2], made[0], made[2]])) == [made[2], made[0]]
    for coroutine in made:
        coroutine.close()
    assert _description(object()) == (0, " []")
    loop = asyncio.new_event_loop()
    tasks = [loop.create_task(asyncio.sleep(0), name=name) for name in ("Task-10", "Task-9", "x")]
    assert _ordered(set(tasks)) == [tasks[2], tasks[1], tasks[0]]
    loop.run_until_complete(asyncio.gather(*tasks))
    loop.close()
