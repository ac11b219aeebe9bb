"""Threads of the bubble that run an event loop of their own, or wait with `select`, are under the same clock."""

import asyncio
import gc
import select
import selectors
import signal
import socket
import threading
from functools import partial

import aiohttp
import kopf
import pytest
import requests

from fakekube.virtualtime import Bubble
from fakekube.virtualtime.errors import ProcessEnded
from tests.virtualtime.server import Server


@pytest.fixture(params=[True, False], ids=["frozen", "not-frozen"])
def bubble(request):
    with Bubble(wall_clock=request.param, patience=3) as bubble:
        yield bubble


def test_f8_the_loop_of_a_thread_is_in_virtual_time(bubble):
    seen = []

    async def main():
        loop = asyncio.get_running_loop()
        started = loop.time()
        await asyncio.sleep(3600)
        seen.append(loop.time() - started)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.Event().wait(), 60)
        seen.append(loop.time() - started)

    bubble.join(bubble.thread(lambda: asyncio.run(main())))
    assert seen == [3600, 3660]
    assert bubble.clock.monotonic() == 3660


def test_f8_an_async_client_on_the_loop_of_a_thread_is_answered(bubble):
    server, seen = Server(bubble), []

    async def main():
        async with aiohttp.ClientSession() as http:
            for _ in range(3):
                async with http.put(f"{server.url}/n/a") as answer:
                    seen.append(await answer.json())
                await asyncio.sleep(60)
            async with http.get(f"{server.url}/slow?after=30") as answer:
                seen.append(await answer.json())

    bubble.join(bubble.thread(lambda: asyncio.run(main())))
    assert seen == [1, 2, 3, 210]


def test_f8_a_watch_wakes_the_loop_of_a_thread(bubble):
    server, seen = Server(bubble), []

    async def main():
        async with aiohttp.ClientSession() as http, http.get(f"{server.url}/watch", timeout=None) as answer:
            async for line in answer.content:
                seen.append((line, bubble.clock.monotonic()))
                if len(seen) == 2:
                    return

    thread = bubble.thread(lambda: asyncio.run(main()))
    for _ in range(2):
        bubble.advance(30)
        requests.put(f"{server.url}/n/a", timeout=5).close()
    bubble.join(thread)
    assert seen == [(b"a=1\n", 30), (b"a=2\n", 60)]


def test_f8_a_blocking_client_on_the_loop_of_a_thread_is_answered(bubble):
    server, seen = Server(bubble), []

    async def main():
        with requests.Session() as http:
            for _ in range(2):
                seen.append((http.get(f"{server.url}/now", timeout=5).json(), bubble.clock.monotonic()))
                await asyncio.sleep(60)

    bubble.join(bubble.thread(lambda: asyncio.run(main())))
    assert seen == [(0, 0), (60, 60)]


def test_f8_the_loop_of_a_thread_uses_its_executor_and_is_called_from_other_threads(bubble):
    seen = []

    async def main(started):
        loop = asyncio.get_running_loop()
        called = asyncio.Event()
        started.append((loop, called))
        await called.wait()
        seen.append(bubble.clock.monotonic())

    started = []

    def caller():
        threading.Event().wait(90)
        loop, called = started[0]
        loop.call_soon_threadsafe(called.set)

    first = bubble.thread(lambda: asyncio.run(main(started)))
    bubble.thread(caller)
    bubble.join(first)
    assert seen == [90]


@pytest.mark.parametrize("how", ["select", "poll", "selectors"])
def test_the_time_out_of_a_selector_is_virtual(bubble, how):
    server, seen = Server(bubble), []

    def waits():
        with socket.create_connection((server.host, server.port)) as sock:
            wait = {"select": _by_select, "poll": _by_poll, "selectors": _by_selectors}[how]
            seen.append((wait(sock, 30), bubble.clock.monotonic()))
            sock.sendall(b"GET /slow?after=20 HTTP/1.0\r\n\r\n")
            seen.append((wait(sock, 30), bubble.clock.monotonic()))

    bubble.join(bubble.thread(waits))
    waits()  # in the test itself
    assert seen == [(False, 30), (True, 50), (False, 80), (True, 100)]


def _by_select(sock, seconds):
    return bool(select.select([sock], [], [], seconds)[0])


def _by_poll(sock, seconds):
    poll = select.poll()
    poll.register(sock, select.POLLIN)
    return bool(poll.poll(seconds * 1000))


def _by_selectors(sock, seconds):
    with selectors.DefaultSelector() as selector:
        selector.register(sock, selectors.EVENT_READ)
        return bool(selector.select(seconds))


def test_a_selector_that_waits_for_another_server_is_in_real_time_and_holds_the_clock(other_server, bubble):
    seen = []

    def waits():
        with socket.create_connection(other_server) as sock:
            seen.append((_by_select(sock, 0.05), bubble.clock.monotonic()))

    bubble.loop.call_later(0.01, seen.append, "later")
    bubble.join(bubble.thread(waits))
    assert seen == [(False, 0)]


async def cleaning(seen, name="task"):
    """A task that cleans up over two turns of its loop when it is cancelled."""
    try:
        await asyncio.sleep(3600)
    finally:
        await asyncio.sleep(0)
        await stopped(seen, name)


async def stopped(seen, name):
    seen.append(name)


@pytest.mark.slow
@pytest.mark.filterwarnings("error")
def test_the_tasks_of_a_thread_are_cancelled_when_the_bubble_closes():
    seen, failed = [], []

    async def main():
        await asyncio.gather(cleaning(seen, "other"), cleaning(seen))

    with Bubble(wall_clock=False) as bubble:
        thread = bubble.thread(lambda: asyncio.run(main()))
        bubble.advance(60)
        bubble.loop.set_exception_handler(lambda loop, context: failed.append(context))
    assert not thread.is_alive()
    gc.collect()
    assert sorted(seen) == ["other", "task"]
    assert failed == []


def test_a_loop_of_a_thread_has_thirty_seconds_to_end():
    ended = []

    async def cleans_up():
        background = asyncio.create_task(cleaning(ended, "background"))
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.to_thread(threading.Event().wait, 20)
            ended.append((bubble.clock.monotonic(), background.done()))

    with Bubble(wall_clock=False) as bubble:
        bubble.thread(lambda: asyncio.run(cleans_up()))
        bubble.advance(60)
    assert ended == [(80, False), "background"]


def test_coroutines_on_the_loop_of_a_thread_start_in_the_same_order_in_each_run(bubble):
    runs = []

    async def one(number):
        runs[-1].append(number)

    async def main():
        for done in asyncio.as_completed([one(number) for number in range(20)]):
            await done

    for _ in range(2):
        runs.append([])
        bubble.join(bubble.thread(lambda: asyncio.run(main())))
    assert runs == [list(range(20))] * 2


@pytest.mark.slow
@pytest.mark.filterwarnings("error")
def test_the_tasks_of_a_killed_thread_are_cancelled(fakekube):
    seen = []
    thread = fakekube.thread(lambda: asyncio.run(cleaning(seen)))
    fakekube.advance(60)
    fakekube.kill(thread)
    fakekube.advance(1)
    gc.collect()
    assert seen == ["task"]


@pytest.mark.slow
def test_a_thread_ends_whose_tasks_catch_every_cancellation(caplog):
    turns = []

    async def stubborn():
        while True:
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                turns.append(1)

    with Bubble(wall_clock=False) as bubble:
        thread = bubble.thread(lambda: asyncio.run(stubborn()))
        bubble.advance(60)
    assert not thread.is_alive()
    gc.collect()
    assert len(turns) == 1 + 20 + 1  # as by Ctrl-C, then again and again, at last by asyncio.run()
    assert caplog.text == ""


@pytest.mark.slow
def test_a_timer_that_kills_the_process_does_not_kill_the_test(fakekube):
    """kopf sets one when it is stopped; asyncio calls it."""

    async def main():
        asyncio.get_running_loop().call_later(600, signal.pthread_kill, threading.get_ident(), signal.SIGKILL)
        await asyncio.sleep(3600)

    fakekube.thread(lambda: asyncio.run(main()))
    with pytest.raises(ProcessEnded, match=r"called signal\.pthread_kill"):
        fakekube.advance(hours=1)


def test_the_thread_of_an_operator_is_its_main_thread(fakekube):
    seen = []

    def operator():
        seen.append(threading.current_thread() is threading.main_thread())
        child = threading.Thread(target=lambda: seen.append(threading.main_thread() is not threading.current_thread()))
        child.start()
        child.join()

    before = threading.main_thread()
    fakekube.thread(operator)
    fakekube.settle()
    assert seen == [True, True]
    assert threading.main_thread() is before


def test_a_signal_to_a_task_is_refused(fakekube):
    task = fakekube.task(asyncio.sleep(60))
    with pytest.raises(TypeError, match=r"cancel a task instead: task\.cancel\(\)"):
        fakekube.faults.signal(task, signal.SIGTERM)


@pytest.mark.slow
def test_kopf_ends_gracefully_by_a_signal(fakekube_configured):
    registry, cleaned = kopf.OperatorRegistry(), []
    kopf.on.login(registry=registry)(kopf.login_with_kubeconfig)
    kopf.on.cleanup(registry=registry)(lambda **_: cleaned.append(fakekube_configured.clock.monotonic()))
    kopf.on.event("v1", "configmaps", registry=registry)(lambda **_: None)
    run = partial(kopf.run, registry=registry, clusterwide=True, standalone=True)
    thread = fakekube_configured.thread(run)
    fakekube_configured.advance(60)
    fakekube_configured.faults.signal(thread, signal.SIGTERM)
    fakekube_configured.advance(1)
    assert cleaned == [60]
    assert not thread.is_alive()
