"""A bubble patches the process while it is open, and restores everything afterwards."""

import asyncio
import concurrent.futures
import functools
import gc
import os
import socket
import ssl
import subprocess
import sys
import threading
import time

import pytest
import urllib3

from fakekube.virtualtime import Bubble, NotQuiescent, VirtualClock, VirtualTimeLoop
from tests.virtualtime.server import Server

#: What the patches or the wall clock replace.
HOOKED = [
    *((socket.socket, name) for name in ("connect", "connect_ex", "recv", "recv_into", "send", "sendall", "sendmsg")),
    *((ssl.SSLSocket, name) for name in ("do_handshake", "read", "send")),
    (time, "sleep"),
    (time, "time"),
    (time, "monotonic"),
    (threading.Thread, "start"),
    (threading.Thread, "join"),
    (concurrent.futures.ThreadPoolExecutor, "submit"),
    (subprocess.Popen, "wait"),
    (subprocess.Popen, "communicate"),
]


def state_of_the_process():
    fds = sorted(os.listdir("/proc/self/fd"))
    hooked = [getattr(owner, name) for owner, name in HOOKED]
    return len(fds), threading.active_count(), hooked, sys.meta_path[:], "recv" in vars(socket.socket)


def uses_everything(bubble):
    server = Server(bubble)
    with urllib3.PoolManager() as http:
        http.request("GET", f"{server.url}/now")
        open_watch = http.request("GET", f"{server.url}/watch", preload_content=False)
        bubble.thread(http.request, "GET", f"{server.url}/never")
        bubble.thread(time.sleep, 3600)
        bubble.advance(60)
        open_watch.close()

    async def leaves_things_behind():
        left.append(await bubble.loop.create_connection(asyncio.Protocol, server.host, server.port))
        await asyncio.to_thread(time.sleep, 1)
        left.append(asyncio.create_task(asyncio.sleep(3600)))

    left = []
    bubble.run(leaves_things_behind())
    return left


@pytest.mark.slow
@pytest.mark.parametrize("wall_clock", [True, False])
@pytest.mark.parametrize("transport", ["memory", "tcp"])
def test_nothing_is_left_behind(wall_clock, transport):
    with Bubble(wall_clock=wall_clock, transport=transport) as bubble:
        uses_everything(bubble)  # imports what is imported lazily
    gc.collect()
    before = state_of_the_process()
    with Bubble(wall_clock=wall_clock, transport=transport) as bubble:
        (transport, _), task = uses_everything(bubble)
    assert state_of_the_process() == before
    assert task.cancelled()
    assert transport.is_closing()
    assert bubble.loop.is_closed()
    gc.collect()  # a transport or a socket that is not closed would warn here, and fail the test


@pytest.mark.slow
def test_many_bubbles_one_after_the_other():
    for number in range(50):
        with Bubble(wall_clock=False) as bubble:
            bubble.run(asyncio.sleep(number))
            assert bubble.clock.monotonic() == number


def test_one_is_open_at_a_time(bubble):
    with pytest.raises(RuntimeError, match="open in this process already"), Bubble(wall_clock=False):
        pass
    bubble.advance(1)
    assert bubble.clock.us == 1_000_000


def test_an_error_in_the_test_closes_it():
    before = state_of_the_process()
    with pytest.raises(LookupError), Bubble(wall_clock=False):
        raise LookupError
    assert state_of_the_process() == before


@pytest.mark.slow
def test_a_task_that_does_not_end_is_named_and_everything_else_ends():
    async def stubborn():
        while True:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                continue

    before = state_of_the_process()
    bubble = Bubble(wall_clock=False)
    bubble.open()
    bubble.loop.create_task(stubborn(), name="mule")
    bubble.settle()
    gc.collect()
    with pytest.raises(NotQuiescent, match=r"tasks do not end: mule .*stubborn"):
        bubble.close()
    assert state_of_the_process()[1:] == before[1:]


@pytest.mark.slow
def test_a_task_without_references_is_not_garbage_collected(bubble):
    async def lonely():
        never = asyncio.Event()  # known to the task only, as the task is to its waiter only: a cycle
        try:
            await asyncio.wait_for(never.wait(), 3600)
        except TimeoutError:
            woken.append(bubble.clock.monotonic())
            await never.wait()

    woken = []
    bubble.loop.create_task(lonely(), name="lonely")
    bubble.advance(3600)
    gc.collect()
    assert "waiting: lonely" in bubble.why()
    assert woken == [3600]


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        pytest.param(time, "sleep", id="time.sleep"),
        pytest.param(socket.socket, "connect", id="socket.connect"),
        pytest.param(threading.Thread, "join", id="Thread.join"),
    ],
)
def test_an_attribute_that_is_patched_already_is_rejected(monkeypatch, owner, name):
    before = state_of_the_process()
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, lambda *_: None)
        with pytest.raises(
            RuntimeError, match=rf"{name} has been replaced by tests.virtualtime.test_bubble, .*disable"
        ):
            Bubble(wall_clock=False).open()
    assert state_of_the_process() == before


def instrument(seen):
    """As Sentry does it."""
    start, submit = threading.Thread.start, concurrent.futures.ThreadPoolExecutor.submit

    @functools.wraps(start)
    def noted_start(thread):
        run = getattr(thread.run, "__func__", thread.run)
        thread.run = functools.wraps(run)(lambda *_: run(thread))
        seen.append("start")
        return start(thread)

    @functools.wraps(submit)
    def noted_submit(pool, *args):
        seen.append("submit")
        return submit(pool, *args)

    threading.Thread.start = noted_start
    concurrent.futures.ThreadPoolExecutor.submit = noted_submit


def works(seen):
    with concurrent.futures.ThreadPoolExecutor() as pool:
        pool.submit(seen.append, "submitted").result()
    thread = threading.Thread(target=seen.append, args=["started"])
    thread.start()
    thread.join()


EACH = ["submit", "start", "submitted", "start", "started"]


def test_functions_that_were_instrumented_before_are_patched():
    before, seen = state_of_the_process(), []
    with pytest.MonkeyPatch.context() as patch:
        for owner, name in ((threading.Thread, "start"), (concurrent.futures.ThreadPoolExecutor, "submit")):
            patch.setattr(owner, name, getattr(owner, name))
        instrument(seen)
        for _ in range(2):
            with Bubble() as bubble:
                bubble.join(bubble.thread(lambda: works(seen)))
    assert seen == EACH * 2
    assert state_of_the_process() == before


def test_what_code_in_a_bubble_instruments_ends_with_it():
    before, seen = state_of_the_process(), []
    for number in (1, 2):
        with Bubble() as bubble:
            bubble.join(bubble.thread(lambda: (instrument(seen), works(seen))))
        assert seen == EACH * number
        assert state_of_the_process() == before


def test_a_replaced_socket_class_is_rejected(monkeypatch):
    class GuardedSocket(socket.socket):
        """As pytest-socket does it."""

    with monkeypatch.context() as patch:
        patch.setattr(socket, "socket", GuardedSocket)
        with pytest.raises(RuntimeError, match=r"socket.socket has been replaced by tests.virtualtime"):
            Bubble(wall_clock=False).open()


def test_a_later_patch_is_kept_and_ours_has_no_effect(monkeypatch):
    with Bubble(wall_clock=False):
        hook = time.sleep
        monkeypatch.setattr(time, "sleep", print)
    assert time.sleep is print
    monkeypatch.undo()
    assert time.sleep is hook  # restored by the other library
    started = time.monotonic()
    time.sleep(0.01)
    assert time.monotonic() - started >= 0.01
    monkeypatch.setattr(time, "sleep", __import__("fakekube.virtualtime.patches.sleep", fromlist=["x"]).real_sleep)
    monkeypatch._setattr.clear()


def test_a_sleep_that_was_imported_by_name_is_virtual(monkeypatch):
    module = type(sys)("operator_of_mine")
    module.sleep = time.sleep
    monkeypatch.setitem(sys.modules, module.__name__, module)
    with Bubble(wall_clock=False) as bubble:
        module.sleep(3600)
        assert bubble.clock.monotonic() == 3600
    assert module.sleep is time.sleep


def test_a_sleep_that_was_imported_between_two_bubbles_is_virtual(monkeypatch):
    with Bubble(wall_clock=False):
        pass
    test_a_sleep_that_was_imported_by_name_is_virtual(monkeypatch)


def test_the_loop_serves_as_a_loop_factory():
    async def main():
        await asyncio.sleep(3600)
        await asyncio.to_thread(lambda: None)
        return asyncio.get_running_loop().time()

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        assert runner.run(main()) == 3600


@pytest.mark.slow
def test_a_clock_has_one_loop():
    clock = VirtualClock()
    loop = VirtualTimeLoop(clock)
    with pytest.raises(RuntimeError, match="already has an event loop"):
        VirtualTimeLoop(clock)
    loop.close()
    gc.collect()


@pytest.mark.parametrize("heavy", ["aiohttp", "kubernetes", "freezegun", "urllib3"])
def test_importing_it_imports_nothing_heavy(heavy):
    code = f"import sys, fakekube.virtualtime; sys.exit({heavy!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
