"""Thread pools that are older than the cluster: in threads of the bubble they have workers of the bubble."""

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from fakekube.virtualtime import Bubble

HOUR = 3600


def in_own_loop(pool, ticks):
    async def main():
        while True:
            await asyncio.get_running_loop().run_in_executor(pool, ticks.append, time.monotonic())
            await asyncio.sleep(60)

    asyncio.run(main())


def waiting(pool, ticks):
    while True:
        pool.submit(ticks.append, time.monotonic()).result()
        time.sleep(60)


def in_child(pool, ticks):
    threading.Thread(target=waiting, args=(pool, ticks), daemon=True).start()
    time.sleep(HOUR)


def used(pool, operator):
    """When jobs of an operator ran in an hour, in seconds after the first one."""
    ticks = []
    with Bubble() as bubble:
        bubble.thread(lambda: operator(pool, ticks))
        bubble.advance(HOUR - 1)
    return [round(at - ticks[0]) for at in ticks]


@pytest.fixture(params=[1, 4], ids=["one-worker", "workers"])
def pool(request):
    with ThreadPoolExecutor(request.param) as pool:
        yield pool


@pytest.mark.slow
@pytest.mark.parametrize("operator", [in_own_loop, waiting, in_child])
def test_an_older_pool_works_in_each_bubble(pool, operator):
    pool.submit(int).result()  # it has a worker
    for _ in range(3):
        assert used(pool, operator) == list(range(0, HOUR, 60))
    assert pool.submit(threading.current_thread).result() in pool._threads


@pytest.mark.slow
@pytest.mark.parametrize("operator", [in_own_loop, waiting, in_child])
def test_a_pool_that_was_made_in_a_bubble_works_in_the_next_ones_and_afterwards(operator):
    made = []

    def makes(_, ticks):
        made.append(ThreadPoolExecutor())
        operator(made[0], ticks)

    assert used(None, makes) == list(range(0, HOUR, 60))
    for _ in range(3):
        assert used(made[0], operator) == list(range(0, HOUR, 60))
    with made[0] as pool:
        assert pool.submit(int, "7").result(10) == 7
