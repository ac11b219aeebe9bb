"""Locks, pools, timers and schedulers of sync operators in threads of the bubble."""

import asyncio
import concurrent.futures
import queue
import sched
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Lock

import pytest

from fakekube.virtualtime import Bubble, Deadlock


@pytest.fixture(params=[True, False], ids=["frozen", "not-frozen"])
def bubble(request):
    with Bubble(wall_clock=request.param, patience=2) as bubble:
        yield bubble


@pytest.fixture
def log(bubble):
    entries = []

    def note(*what):
        entries.append((bubble.clock.monotonic(), *what))

    note.entries = entries
    return note


@pytest.mark.parametrize("make", ["Lock", "RLock", "Semaphore", "Condition"])
def test_threads_wait_for_a_lock_that_a_sleeping_thread_holds(bubble, log, make):
    lock = getattr(threading, make)()

    def works(name):
        with lock:
            log(name, "in")
            time.sleep(10)
        log(name, "out")

    for thread in [bubble.thread(works, name) for name in "abc"]:
        bubble.join(thread)
    assert log.entries == [
        (0, "a", "in"), (10, "a", "out"), (10, "b", "in"), (20, "b", "out"), (20, "c", "in"), (30, "c", "out"),
    ]  # fmt: skip


def test_a_lock_that_was_imported_by_name_is_patched_too(bubble):
    assert Lock is threading.Lock
    assert type(Lock()).__module__.startswith("fakekube.")


def test_the_time_out_of_a_lock_is_virtual(bubble, log):
    lock = threading.Lock()

    def waits():
        log(lock.acquire(timeout=30))
        log(lock.acquire(blocking=False))
        log(lock.acquire(timeout=60))

    lock.acquire()
    bubble.thread(waits)
    bubble.advance(40)
    lock.release()
    bubble.advance(1)
    assert log.entries == [(30, False), (30, False), (40, True)]


def test_two_threads_that_wait_for_each_other_are_named(bubble):
    first, second = threading.Lock(), threading.Lock()

    def works(mine, others):
        with mine:
            time.sleep(1)
            with others:
                pass

    thread = bubble.thread(works, first, second, name="left")
    bubble.thread(works, second, first, name="right")
    with pytest.raises(Deadlock, match="left parked: waiting for a lock that thread right holds"):
        bubble.join(thread)


def test_a_lock_outlives_its_bubble():
    with Bubble(wall_clock=False):
        lock, reentrant, waiting = threading.Lock(), threading.RLock(), queue.SimpleQueue()
    with lock, reentrant, reentrant:
        assert lock.locked()
        assert not lock.acquire(timeout=0.01)
    waiting.put(1)
    assert waiting.get() == 1
    with pytest.raises(queue.Empty):
        waiting.get(timeout=0.01)


def test_jobs_of_a_pool_are_in_virtual_time(bubble, log):
    def operator():
        with ThreadPoolExecutor(max_workers=2) as pool:
            for seconds in pool.map(_slept, [30, 10, 20]):
                log("done", seconds)
        log("end")

    bubble.join(bubble.thread(operator))
    assert log.entries == [(30, "done", 30), (30, "done", 10), (30, "done", 20), (30, "end")]


def _slept(seconds):
    time.sleep(seconds)
    return seconds


def test_as_completed_wait_and_result_time_out_virtually(bubble, log):
    def operator():
        pool = ThreadPoolExecutor(max_workers=3)
        jobs = [pool.submit(_slept, seconds) for seconds in (30, 10, 20)]
        for done in concurrent.futures.as_completed(jobs):
            log("completed", done.result())
        slow = pool.submit(_slept, 100)
        with pytest.raises(concurrent.futures.TimeoutError):
            slow.result(timeout=5)
        log("no result")
        done, rest = concurrent.futures.wait([slow], timeout=15)
        log("waited", len(done), len(rest))
        with pytest.raises(concurrent.futures.TimeoutError):
            list(concurrent.futures.as_completed([slow], timeout=20))
        log("not completed")
        pool.shutdown()
        log("shut down")

    thread = bubble.thread(operator)
    bubble.join(thread)
    assert thread.error is None
    assert log.entries == [
        (10, "completed", 10), (20, "completed", 20), (30, "completed", 30), (35, "no result"), (50, "waited", 0, 1),
        (70, "not completed"), (130, "shut down"),
    ]  # fmt: skip


def test_a_pool_of_the_test_is_in_virtual_time(bubble):
    with ThreadPoolExecutor(max_workers=2) as pool:
        assert list(pool.map(_slept, [60, 60, 60])) == [60, 60, 60]
    assert bubble.clock.monotonic() == 120


def test_a_pool_that_a_coroutine_uses_directly_ends(bubble):
    async def test():
        with ThreadPoolExecutor(max_workers=2) as pool:
            assert await asyncio.wrap_future(pool.submit(_slept, 60)) == 60
            assert pool.submit(int, "7").result() == 7
        return bubble.clock.monotonic()

    assert bubble.run(test()) == 60


def test_a_coroutine_that_waits_for_a_thread_that_needs_time_is_refused(bubble):
    async def test():
        bubble.thread(time.sleep, 60)
        threading.Event().wait()

    with pytest.raises(RuntimeError, match="a coroutine blocks the event loop"):
        bubble.run(test())


def test_a_timer_is_virtual(bubble, log):
    def operator():
        timer = threading.Timer(60, log, ["fired"])
        timer.start()
        timer.join(30)
        log("alive", timer.is_alive())
        timer.join()
        log("ended")

    bubble.join(bubble.thread(operator))
    assert log.entries == [(30, "alive", True), (60, "fired"), (60, "ended")]


def test_sched_is_virtual(bubble, log):
    def operator():
        scheduler = sched.scheduler()
        scheduler.enter(60, 1, log, ("second",))
        scheduler.enter(30, 1, log, ("first",))
        scheduler.run()

    bubble.join(bubble.thread(operator))
    assert log.entries == [(30, "first"), (60, "second")]


@pytest.mark.parametrize("bubble", [True], ids=["frozen"], indirect=True)
def test_a_loop_over_due_jobs_runs_each_at_its_time(bubble, log):
    """As the package `schedule` does: once a second it runs what is due."""

    def operator():
        due = time.monotonic() + 90
        while bubble.clock.monotonic() < 100:
            if time.monotonic() >= due:
                log("job")
                due += 1000
            time.sleep(1)

    bubble.join(bubble.thread(operator))
    assert log.entries == [(90, "job")]


def test_a_scheduler_thread_with_a_pool_runs_jobs_at_their_times(bubble, log):
    """As APScheduler's BackgroundScheduler: a thread that waits for an event, and a pool for the jobs."""

    def operator():
        wakeup, pool = threading.Event(), ThreadPoolExecutor(2)

        def main():
            for _ in range(3):
                wakeup.wait(3600)
                pool.submit(log, "job")

        scheduler = threading.Thread(target=main, daemon=True)
        scheduler.start()
        scheduler.join()
        pool.shutdown()

    bubble.join(bubble.thread(operator))
    assert log.entries == [(3600, "job"), (7200, "job"), (10800, "job")]


def test_producers_and_consumers_of_a_bounded_queue(bubble, log):
    work = queue.Queue(maxsize=1)

    def produces():
        for number in range(3):
            work.put(number)
            log("put", number)
        work.join()
        log("joined")

    def consumes():
        while True:
            number = work.get(timeout=100)
            time.sleep(10)
            log("did", number)
            work.task_done()

    def consumes_all():
        with pytest.raises(queue.Empty):
            consumes()

    consumer = bubble.thread(consumes_all)
    bubble.thread(produces)
    bubble.join(consumer)
    assert log.entries == [
        (0, "put", 0), (0, "put", 1), (10, "did", 0), (10, "put", 2), (20, "did", 1), (30, "did", 2), (30, "joined"),
    ]  # fmt: skip
    assert bubble.clock.monotonic() == 130


def test_a_barrier_is_virtual(bubble, log):
    def operator():
        barrier = threading.Barrier(2)

        def waits(seconds):
            time.sleep(seconds)
            barrier.wait()
            log("passed")

        threads = [threading.Thread(target=waits, args=(seconds,)) for seconds in (10, 20)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()

    bubble.join(bubble.thread(operator))
    assert log.entries == [(20, "passed"), (20, "passed")]
