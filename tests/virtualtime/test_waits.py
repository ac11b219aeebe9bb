"""Events, queues, conditions and futures: threads of the bubble wait for each other in virtual time."""

import queue
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from multiprocessing.pool import ThreadPool

import pytest
import urllib3

from fakekube.virtualtime import Bubble, Deadlock
from tests.virtualtime.server import Server


@pytest.fixture(params=[True, False], ids=["frozen", "not-frozen"])
def bubble(request):
    with Bubble(wall_clock=request.param, patience=5) as bubble:
        yield bubble


def test_the_main_loop_of_an_operator_runs_in_virtual_time(bubble):
    stop, ticks = threading.Event(), []

    def operator():
        while not stop.wait(30):
            ticks.append(bubble.clock.monotonic())

    thread = bubble.thread(operator)
    bubble.advance(100)
    assert ticks == [30, 60, 90]
    stop.set()
    bubble.join(thread)
    assert ticks == [30, 60, 90]
    assert bubble.clock.monotonic() == 100


def test_threads_work_off_a_queue_in_order(bubble):
    work, done = queue.Queue(), []

    def works(name):
        while (item := work.get()) is not None:
            time.sleep(item)
            done.append((bubble.clock.monotonic(), name, item))
            work.task_done()

    workers = [bubble.thread(works, name) for name in "ab"]
    for item in (10, 1, 1, 5, None, None):
        work.put(item)
    for worker in workers:
        bubble.join(worker)
    assert done == [(1, "b", 1), (2, "b", 1), (7, "b", 5), (10, "a", 10)]


def test_the_time_out_of_a_queue_is_virtual(bubble):
    seen = []

    def gets():
        waiting = queue.Queue()
        with pytest.raises(queue.Empty):
            waiting.get(timeout=45)
        seen.append(bubble.clock.monotonic())

    thread = bubble.thread(gets)
    bubble.advance(60)
    assert seen == [45]
    assert thread.error is None


def test_a_condition_and_a_semaphore_time_out_virtually(bubble):
    seen = []

    def waits():
        condition, semaphore = threading.Condition(), threading.Semaphore(0)
        with condition:
            seen.append((condition.wait_for(lambda: False, timeout=10), bubble.clock.monotonic()))
        seen.append((semaphore.acquire(timeout=5), bubble.clock.monotonic()))

    bubble.thread(waits)
    bubble.advance(60)
    assert seen == [(False, 10), (False, 15)]


def test_the_test_waits_for_an_event_of_the_bubble_in_virtual_time(bubble):
    done = threading.Event()

    def works():
        time.sleep(3600)
        done.set()

    bubble.thread(works)
    assert not done.wait(60)
    assert bubble.clock.monotonic() == 60
    assert done.wait(7200)
    assert bubble.clock.monotonic() == 3600


def test_an_event_that_cannot_be_set_is_a_deadlock(bubble):
    with pytest.raises(Deadlock):
        threading.Event().wait()


def test_a_coroutine_wakes_a_thread(bubble):
    answer = Future()
    seen = []
    bubble.thread(lambda: seen.append((answer.result(), bubble.clock.monotonic())))
    bubble.loop.call_later(60, answer.set_result, "yes")
    bubble.advance(60)
    assert seen == [("yes", 60)]


def test_a_thread_asks_a_coroutine(bubble):
    """With run_coroutine_threadsafe."""
    import asyncio

    async def asked():
        await asyncio.sleep(5)
        return "told"

    seen = []
    bubble.thread(lambda: seen.append(asyncio.run_coroutine_threadsafe(asked(), bubble.loop).result()))
    bubble.advance(5)
    assert seen == ["told"]


# --- with threads outside the bubble


def test_jobs_of_a_pool_of_the_test_are_waited_for_in_real_time_and_served(bubble):
    server = Server(bubble)

    def asks(_):
        with urllib3.PoolManager() as http:
            return http.request("PUT", f"{server.url}/n/a").json()

    with ThreadPoolExecutor(max_workers=3) as pool:
        assert sorted(pool.map(asks, range(5))) == [1, 2, 3, 4, 5]
        assert pool.submit(asks, 0).result(timeout=10) == 6
    assert bubble.clock.us == 0


def test_requests_of_the_official_client_in_its_own_pool_are_served(bubble):
    """`async_req=True`."""
    server = Server(bubble)

    def asks():
        with urllib3.PoolManager() as http:
            return http.request("GET", f"{server.url}/now").json()

    with ThreadPool(2) as pool:
        assert pool.apply_async(asks).get(timeout=10) == 0
    assert bubble.clock.us == 0


def test_an_external_thread_may_set_the_event_the_test_waits_for(bubble):
    done = threading.Event()
    bubble.loop.call_later(1, lambda: None)
    go = threading.Lock()
    go.acquire()
    outsider = threading.Thread(target=lambda: go.acquire(timeout=0.05) or done.set())
    outsider.start()
    assert done.wait(10)
    outsider.join()
    assert bubble.clock.us == 0


def test_an_external_thread_may_set_the_event_a_thread_waits_for(bubble):
    done, seen = threading.Event(), []
    bubble.thread(lambda: seen.append(done.wait()))
    bubble.settle()
    outsider = threading.Thread(target=done.set)
    outsider.start()
    outsider.join()
    bubble.settle()
    assert seen == [True]
