"""When time cannot advance, an error says why."""

import _thread
import asyncio
import subprocess
import sys
from datetime import timedelta

import pytest
import urllib3

from fakekube.virtualtime import Bubble, Deadlock, HotLoop, NotQuiescent
from tests.virtualtime.server import Server


@pytest.fixture
def impatient():
    with Bubble(wall_clock=False, patience=0.1) as bubble:
        yield bubble


def test_an_async_test_that_waits_for_nothing_is_a_deadlock(bubble):
    ended = []

    async def waits_for_godot():
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    with pytest.raises(Deadlock, match=r"no timer is set\n(.*\n)*waiting: test .*waits_for_godot.* at test_errors.py"):
        bubble.run(waits_for_godot())
    assert ended == [True]
    bubble.advance(1)  # and the bubble still works
    assert bubble.clock.us == 1_000_000


def test_a_sync_test_that_waits_for_an_answer_that_never_comes_is_a_deadlock(bubble):
    server = Server(bubble)
    with urllib3.PoolManager() as http, pytest.raises(Deadlock, match="the test is blocked"):
        http.request("GET", f"{server.url}/never")


def test_a_join_that_cannot_end_is_a_deadlock(bubble):
    server = Server(bubble)

    def work():
        with urllib3.PoolManager() as http:
            http.request("GET", f"{server.url}/never")

    thread = bubble.thread(work, name="hopeless")
    with pytest.raises(Deadlock, match="hopeless parked: waiting for the cluster"):
        bubble.join(thread)


def test_a_wait_of_more_than_a_year_is_a_deadlock(bubble):
    async def ticks():
        while True:
            await asyncio.sleep(86_400)

    bubble.loop.create_task(ticks())
    with pytest.raises(Deadlock, match=r"waiting for 367 days.*horizon of 366 days"):
        bubble.run(asyncio.Event().wait())


def test_the_horizon_does_not_limit_advance(bubble):
    bubble.advance(timedelta(days=1000))
    assert bubble.clock.monotonic() == 86_400_000


@pytest.mark.slow
def test_a_thread_that_waits_for_a_lock_is_not_quiescent_and_is_named(impatient):
    lock = _thread.allocate_lock()  # as of a module that was imported before
    lock.acquire()
    thread = impatient.thread(lock.acquire, name="grabby")
    with pytest.raises(NotQuiescent, match=r"thread grabby neither parked nor ended within 0.1 s(.*\n)+.*Thread 0x"):
        impatient.settle()
    lock.release()
    impatient.join(thread)


def test_a_hold_that_is_not_released_is_not_quiescent_and_is_named(impatient):
    with impatient.clock.hold("a forgotten hold"), pytest.raises(NotQuiescent, match="time is held: a forgotten hold"):
        impatient.settle()
    impatient.settle()


def test_an_async_test_gets_the_error_where_it_settles(impatient):
    async def test():
        with impatient.clock.hold("mine"), pytest.raises(NotQuiescent, match="time is held: mine"):
            await impatient.settle()
        await impatient.settle()
        return "well"

    assert impatient.run(test()) == "well"


def test_an_async_test_that_waits_meanwhile_gets_it_too(impatient):
    async def test():
        with impatient.clock.hold("mine"):
            await asyncio.sleep(1)

    with pytest.raises(NotQuiescent, match="time is held: mine"):
        impatient.run(test())


@pytest.mark.parametrize("period", [0, 1e-5])
def test_a_task_that_triggers_itself_is_a_hot_loop_and_is_named(period):
    async def zeno():
        while True:
            await asyncio.sleep(period)

    with Bubble(wall_clock=False, max_turns=5_000) as bubble:
        task = bubble.loop.create_task(zeno(), name="achilles")
        with pytest.raises(HotLoop, match=r"triggers itself.*Busiest.*task achilles \(.*zeno\) \(\d+x\)"):
            bubble.advance(1)
        task.cancel()
        bubble.advance(1)


@pytest.mark.slow
def test_a_hot_loop_that_is_known_is_found_sooner():
    turns = []

    async def zeno():
        while True:
            turns.append(len(turns))
            await asyncio.sleep(0)

    with Bubble(wall_clock=False, max_turns=60_000) as bubble:
        bubble.loop.create_task(zeno())
        for limit in (60_000, 20_000, 20_000):
            before = len(turns)
            with pytest.raises(HotLoop):
                bubble.settle()
            assert limit <= len(turns) - before < limit + 100


def test_a_test_that_spins_is_a_hot_loop():
    async def spins():
        while True:
            await asyncio.sleep(0)

    with Bubble(wall_clock=False, max_turns=5_000) as bubble, pytest.raises(HotLoop, match="task test"):
        bubble.run(spins())


@pytest.mark.slow
def test_a_thread_that_spins_is_a_hot_loop():
    import time

    def spins():
        while True:
            time.sleep(0)

    with Bubble(wall_clock=False, max_turns=5_000) as bubble:
        bubble.thread(spins)
        with pytest.raises(HotLoop):
            bubble.settle()


def test_a_test_that_does_much_at_one_instant_is_no_hot_loop():
    with Bubble(wall_clock=False, max_turns=3_000) as bubble:

        async def busy():
            for _ in range(1_000):
                await asyncio.create_task(yields())

        async def yields():
            for _ in range(8):
                await asyncio.sleep(0)

        bubble.run(busy())


@pytest.mark.slow
def test_work_spread_over_seconds_is_no_hot_loop():
    with Bubble(wall_clock=False, max_turns=3_000) as bubble:

        async def ticks():
            while True:
                await asyncio.sleep(0.01)

        bubble.loop.create_task(ticks())
        bubble.advance(600)


def test_a_blocking_call_in_a_coroutine_is_rejected(bubble):
    server = Server(bubble)
    with urllib3.PoolManager() as http:

        async def connects():
            http.request("GET", f"{server.url}/now", retries=False)

        with pytest.raises(RuntimeError, match=r"blocking call to the cluster inside a coroutine.*asyncio.to_thread"):
            bubble.run(connects())
        http.request("GET", f"{server.url}/now")
        with pytest.raises(RuntimeError, match="inside a coroutine"):
            bubble.run(connects())  # on the connection that is open now


def test_time_sleep_in_a_coroutine_is_rejected(bubble):
    import time

    async def naps():
        time.sleep(1)

    with pytest.raises(RuntimeError, match=r"time.sleep\(\) inside a coroutine.*await asyncio.sleep"):
        bubble.run(naps())


def test_a_client_on_another_event_loop_is_rejected(bubble):
    server = Server(bubble)

    async def dials():
        await asyncio.open_connection(server.host, server.port)

    with pytest.raises(RuntimeError, match="a client on another event loop connects to the cluster"):
        asyncio.run(dials())


def test_a_blocking_call_under_another_event_loop_is_rejected(bubble):
    server = Server(bubble)

    async def calls():
        with urllib3.PoolManager() as http:
            http.request("GET", f"{server.url}/now", retries=False)

    with pytest.raises(RuntimeError, match="coroutine of another event loop"):
        asyncio.run(calls())


def test_p3_after_eventlets_monkey_patch_the_error_names_what_was_replaced():
    """It replaces `socket.socket` and deletes `select.poll` before anything of fakekube is imported."""
    code = """
import asyncio, select, socket, ssl
del select.poll
replaced = type("GreenSocket", (socket.socket,), {"__module__": "eventlet.greenio.base"})
original, socket.socket = socket.socket, replaced
from fakekube.virtualtime import Bubble
try:
    Bubble().open()
except RuntimeError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "socket.socket has been replaced by eventlet.greenio.base" in done.stdout, done.stderr
