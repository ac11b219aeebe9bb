"""`asyncio.as_completed` starts coroutines in an order that does not depend on their addresses."""

import asyncio
import random

import pytest


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
