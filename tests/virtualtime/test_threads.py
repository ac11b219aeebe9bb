"""Threads of the bubble run one at a time, and park under virtual time."""

import asyncio
import contextvars
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import pytest
import urllib3

from fakekube.virtualtime import Bubble, BubbleClosed


class Log(list):
    """Entries with their virtual second."""

    def __init__(self, bubble):
        self.bubble = bubble

    def __call__(self, *entry):
        self.append((self.bubble.clock.monotonic(), *entry))


@pytest.fixture
def log(bubble):
    return Log(bubble)


def test_sleeps_of_two_threads_interleave_exactly(bubble, log):
    def naps(seconds):
        for _ in range(3):
            time.sleep(seconds)
            log(seconds)

    for seconds in (45, 60):
        bubble.thread(naps, seconds)
    bubble.advance(minutes=10)
    assert log == [(45, 45), (60, 60), (90, 45), (120, 60), (135, 45), (180, 60)]


@pytest.mark.slow
def test_the_loop_and_its_threads_run_one_at_a_time(bubble, server):
    """Each increments a number in steps that a switch of threads in between would break."""
    inside = []

    def exclusive(who):
        assert not inside, f"{who} runs beside {inside}"
        inside.append(who)
        for _ in range(3_000):
            pass
        inside.remove(who)

    def works(who):
        with urllib3.PoolManager() as http:
            for _ in range(20):
                exclusive(who)
                http.request("PUT", f"{server.url}/n/a")
                exclusive(who)
                time.sleep(0.001)

    async def ticks():
        while True:
            exclusive("loop")
            await asyncio.sleep(0.0005)

    bubble.loop.create_task(ticks())
    threads = [bubble.thread(works, number) for number in range(6)]
    bubble.advance(1)
    assert server.numbers == {"a": 120}
    assert [thread.error for thread in threads] == [None] * 6


def test_a_computing_thread_takes_no_virtual_time(bubble, log):
    def computes():
        sum(range(300_000))
        log("done")

    bubble.thread(computes)
    bubble.loop.call_later(0.001, log, "timer")
    bubble.advance(1)
    assert log == [(0, "done"), (0.001, "timer")]


def test_a_thread_waits_for_an_answer_in_virtual_time(bubble, server, log):
    def asks():
        with urllib3.PoolManager() as http:
            log(http.request("GET", f"{server.url}/slow?after=60").json())
            with pytest.raises(urllib3.exceptions.ReadTimeoutError):
                http.request("GET", f"{server.url}/slow?after=60", timeout=5, retries=False)
            log("timed out")

    bubble.thread(asks)
    bubble.settle()
    assert log == []
    bubble.advance(60)
    assert log == [(60, 60)]
    bubble.advance(60)
    assert log == [(60, 60), (65, "timed out")]


def test_a_watching_thread_gets_its_events_on_settle(bubble, server, log):
    def watches():
        with urllib3.PoolManager() as http:
            for line in http.request("GET", f"{server.url}/watch", preload_content=False).stream():
                log(line)

    bubble.thread(watches)
    bubble.settle()
    with urllib3.PoolManager() as http:
        http.request("PUT", f"{server.url}/n/a")
        bubble.settle()
        assert log == [(0, b"a=1\n")]


def test_a_large_body_from_a_thread_gets_through(bubble, server, log):
    def posts():
        with urllib3.PoolManager() as http:
            log(http.request("POST", f"{server.url}/length", body=b"x" * 30_000_000).json())

    bubble.thread(posts)
    bubble.settle()
    assert log == [(0, 30_000_000)]


# --- executors


def test_to_thread_carries_context_result_and_error(bubble):
    who = contextvars.ContextVar("who")

    def asks():
        time.sleep(5)
        if who.get() == "nobody":
            raise LookupError("nobody")
        return who.get(), threading.current_thread() is not threading.main_thread()

    async def test():
        who.set("somebody")
        assert await asyncio.to_thread(asks) == ("somebody", True)
        who.set("nobody")
        with pytest.raises(LookupError, match="nobody"):
            await asyncio.to_thread(asks)

    bubble.run(test())
    assert bubble.clock.monotonic() == 10


def test_jobs_are_unbounded_and_threads_are_reused(bubble):
    async def test():
        await asyncio.gather(*(asyncio.to_thread(time.sleep, 5) for _ in range(50)))
        threads = threading.active_count()
        await asyncio.gather(*(asyncio.to_thread(time.sleep, 5) for _ in range(50)))
        assert threading.active_count() == threads

    bubble.run(test())
    assert bubble.clock.monotonic() == 10


def test_a_thread_pool_of_the_operator_is_limited_as_it_says(bubble):
    async def test():
        with ThreadPoolExecutor(max_workers=2) as pool:
            loop = asyncio.get_running_loop()
            started = []

            def job(number):
                started.append((bubble.clock.monotonic(), number))
                time.sleep(10)
                return number

            assert await asyncio.gather(*(loop.run_in_executor(pool, job, n) for n in range(5))) == list(range(5))
            return started

    assert bubble.run(test()) == [(0, 0), (0, 1), (10, 2), (10, 3), (20, 4)]


def test_a_job_that_is_cancelled_before_it_started_does_not_run(bubble):
    async def test():
        ran = []
        with ThreadPoolExecutor(max_workers=1) as pool:
            loop = asyncio.get_running_loop()
            first = loop.run_in_executor(pool, time.sleep, 10)
            second = loop.run_in_executor(pool, ran.append, 2)
            await asyncio.sleep(1)
            second.cancel()
            await first
            await loop.run_in_executor(pool, ran.append, 3)
        return ran

    assert bubble.run(test()) == [3]


def test_time_is_held_while_a_process_pool_works(bubble):
    async def test():
        ticking = asyncio.create_task(asyncio.sleep(3600))
        with ProcessPoolExecutor(max_workers=1) as pool:
            answer = await asyncio.get_running_loop().run_in_executor(pool, pow, 2, 10)
        assert not ticking.done()
        return answer

    assert bubble.run(test()) == 1024
    assert bubble.clock.us == 0


# --- threads that start threads


def test_a_thread_that_a_thread_starts_belongs_to_the_bubble(bubble, log):
    def child(seconds):
        time.sleep(seconds)
        log("child", seconds)

    def parent():
        children = [threading.Thread(target=child, args=(seconds,)) for seconds in (20, 10)]
        for each in children:
            each.start()
        for each in children:
            each.join()
        assert not any(each.is_alive() for each in children)
        log("parent")

    bubble.join(bubble.thread(parent))
    assert log == [(10, "child", 10), (20, "child", 20), (20, "parent")]


def test_a_timer_of_a_thread_is_virtual(bubble, log):
    def starts():
        threading.Timer(60, log, ["fired"]).start()
        cancelled = threading.Timer(30, log, ["cancelled"])
        cancelled.start()
        cancelled.cancel()

    bubble.thread(starts)
    bubble.advance(100)
    assert log == [(60, "fired")]


def test_a_pool_of_a_thread_works_in_real_time(bubble, log):
    def asks():
        with ThreadPoolExecutor(max_workers=2) as pool:
            log(sorted(pool.map(lambda n: n * n, range(5))))
            log(pool.submit(pow, 2, 10).result(timeout=10))

    bubble.loop.call_later(0.001, log, "later")
    bubble.join(bubble.thread(asks))
    assert log == [(0, [0, 1, 4, 9, 16]), (0, 1024)]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_the_error_of_an_adopted_thread_goes_where_errors_of_threads_go(bubble, monkeypatch):
    hooked = []
    monkeypatch.setattr(threading, "excepthook", lambda args: hooked.append((args.exc_type, args.thread.name)))
    bubble.thread(lambda: threading.Thread(target=lambda: 1 / 0, name="divider").start())
    bubble.settle()
    assert hooked == [(ZeroDivisionError, "divider")]


# --- joining and ending


def test_join_waits_in_virtual_time(bubble):
    thread = bubble.thread(time.sleep, 60, name="sleepy")
    with pytest.raises(TimeoutError, match="sleepy has not ended after 10 s"):
        bubble.join(thread, timeout=10)
    bubble.join(thread)
    assert bubble.clock.monotonic() == 60


def test_join_is_awaited_in_an_async_test(bubble):
    async def test():
        thread = bubble.thread(time.sleep, 60)
        with pytest.raises(TimeoutError):
            await bubble.join(thread, timeout=10)
        await bubble.join(thread)
        await bubble.join(thread)

    bubble.run(test())
    assert bubble.clock.monotonic() == 60


def test_threads_of_the_test_itself_are_joined_while_the_bubble_is_served(bubble, server):
    answers = []

    def asks():
        with urllib3.PoolManager() as http:
            answers.append(http.request("GET", f"{server.url}/now").json())

    thread = threading.Thread(target=asks)
    thread.start()
    thread.join()
    assert answers == [0]
    assert not thread.is_alive()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_the_error_of_a_thread_goes_where_errors_of_threads_go(bubble, monkeypatch):
    hooked = []
    monkeypatch.setattr(threading, "excepthook", lambda args: hooked.append((args.exc_type, args.thread.name)))
    thread = bubble.thread(lambda: 1 / 0, name="divider")
    bubble.settle()
    assert hooked == [(ZeroDivisionError, "divider")]
    assert isinstance(thread.error, ZeroDivisionError)
    assert not thread.is_alive()


def test_threads_that_are_parked_when_the_bubble_closes_end_there():
    before = set(threading.enumerate())
    ended = []

    def naps_for_ever():
        try:
            while True:
                try:
                    time.sleep(3600)
                except Exception as error:  # an operator's retry loop
                    ended.append(error)
        except BubbleClosed:
            ended.append("closed")
            raise
        finally:
            ended.append("finally")

    with Bubble(wall_clock=False) as bubble:
        bubble.thread(naps_for_ever)
        bubble.thread(naps_for_ever)
        bubble.settle()
        bubble.thread(ended.append, "never started")
    assert ended == ["closed", "finally"] * 2
    assert set(threading.enumerate()) <= before


def test_idle_workers_end_with_the_bubble():
    before = set(threading.enumerate())
    with Bubble(wall_clock=False) as bubble:
        bubble.run(asyncio.to_thread(time.sleep, 1))
    assert set(threading.enumerate()) <= before


def test_why_shows_where_threads_wait(bubble, server):
    bubble.thread(time.sleep, 60, name="sleepy")
    bubble.settle()
    assert "thread: <BubbleThread sleepy parked: sleeping for 60 s>" in bubble.why()
