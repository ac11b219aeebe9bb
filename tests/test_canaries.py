"""The private parts of other libraries that fakekube and controllerlib use.

Each test names what is used and by which module, so that an upgrade that removes or changes it fails here, by name.
"""

import asyncio
import concurrent.futures
import datetime
import inspect
import queue
import selectors
import socket
import ssl
import subprocess
import sys
import threading
from collections import deque

import aiohttp
import anyio.to_thread
import pytest
from aiohttp import web
from freezegun import api as freezegun_api
from kubernetes import client as official

from fakekube.virtualtime import describe
from fakekube.virtualtime.patches.freezer import Freezer


@pytest.fixture
def loop():
    made = asyncio.SelectorEventLoop(selectors.DefaultSelector())
    yield made
    made.close()


def parameters(function):
    return list(inspect.signature(function).parameters)


# --- asyncio -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("_ready", deque),
        ("_scheduled", list),
        ("_timer_cancelled_count", int),
        ("_clock_resolution", float),
        ("_stopping", bool),
        ("_closed", bool),
        ("_default_executor", type(None)),
        ("_signal_handlers", dict),
        ("_selector", selectors.BaseSelector),
    ],
)
def test_attributes_of_an_event_loop(loop, name, kind):
    """virtualtime.loop and virtualtime.quiescence."""
    assert isinstance(getattr(loop, name), kind)


def test_transports_of_an_event_loop_by_descriptor(loop):
    """virtualtime.shutdown aborts them."""
    assert len(loop._transports) == 0
    assert hasattr(loop._transports, "values")


@pytest.mark.parametrize("name", ["_check_closed", "_check_thread", "_write_to_self"])
def test_methods_of_an_event_loop_without_arguments(loop, name):
    """virtualtime.loop."""
    assert parameters(getattr(loop, name)) == []


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("_start_serving", ["protocol_factory", "sock", "sslcontext", "server"]),
        ("_stop_serving", ["sock"]),
        ("_make_socket_transport", ["sock", "protocol", "waiter", "extra", "server"]),
        ("_make_ssl_transport", ["rawsock", "protocol", "sslcontext", "waiter", "server_side", "server_hostname"]),
        ("_sock_connect", ["fut", "sock", "address"]),
    ],
)
def test_methods_with_which_an_event_loop_makes_transports(loop, name, expected):
    """virtualtime.network.transports overrides them."""
    assert parameters(getattr(loop, name))[: len(expected)] == expected


def test_a_loop_puts_timers_into_a_heap_and_marks_them(loop):
    """virtualtime.timers.GridTimer, virtualtime.loop.next_timer."""
    timer = loop.call_later(60, print)
    assert loop._scheduled == [timer]
    assert [timer._scheduled, timer._cancelled] == [True, False]
    assert timer._when == timer.when()
    timer.cancel()
    assert [timer._cancelled, loop._timer_cancelled_count] == [True, 1]


def test_a_cancelled_task_gives_its_exception_away(loop):
    """virtualtime.loop.VirtualTimeLoop, which drops it."""

    async def work():
        await asyncio.Event().wait()

    task = loop.create_task(work())
    loop.call_soon(task.cancel, "why")
    with pytest.raises(asyncio.CancelledError):
        loop.run_until_complete(asyncio.wait_for(asyncio.shield(task), None))
    assert str(task._make_cancelled_error()) == "why"
    assert task._make_cancelled_error().__traceback__ is None
    assert task.cancelled()


def test_a_handle_has_its_callback_and_runs_it(loop):
    """virtualtime.describe, virtualtime.timers.GridTimer."""
    ran = []
    handle = loop.call_soon(ran.append, 1)
    assert handle._callback == ran.append
    handle._run()
    assert ran == [1]


def test_the_handle_of_a_step_leads_to_its_task(loop):
    """virtualtime.describe.owner: which task a hot loop runs."""

    async def nothing():
        return None

    task = loop.create_task(nothing())
    assert [describe.owner(handle) for handle in loop._ready] == [task]
    loop.run_until_complete(task)


def test_the_running_loop_without_an_error(loop):
    """virtualtime.blocking, harness.driver, controllerlib.clock, controllerlib.record, controllerlib.client."""

    async def running():
        return asyncio._get_running_loop()

    assert asyncio._get_running_loop() is None
    assert loop.run_until_complete(running()) is loop


def test_a_suspended_coroutine_shows_where_it_waits(loop):
    """virtualtime.describe.task."""

    async def waits():
        await asyncio.get_running_loop().create_future()

    task = loop.create_task(waits())
    loop.run_until_complete(asyncio.sleep(0))  # noqa: TID251
    assert task.get_coro().cr_await is not None
    assert task.get_coro().cr_frame.f_lineno
    task.cancel()
    loop.run_until_complete(asyncio.wait([task]))


# --- threads -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lock", [threading.Lock, threading.RLock])
def test_waiters_of_a_condition(lock):
    """virtualtime.patches.waits."""
    condition = threading.Condition(lock())
    waiter = threading.Lock()
    waiter.acquire()
    with condition:
        assert condition._is_owned()
        condition._waiters.append(waiter)
        state = condition._release_save()
        assert not condition._is_owned()
        condition._acquire_restore(state)
        condition.notify()
    assert not waiter.locked()
    assert list(condition._waiters) == []


@pytest.mark.parametrize(("module", "name"), [(threading, "_time"), (queue, "time")])
def test_the_clock_of_waits_that_loop(module, name):
    """virtualtime.patches.waits replaces it."""
    assert callable(getattr(module, name))


def test_events_queues_and_futures_wait_in_a_condition(monkeypatch):
    """virtualtime.patches.waits replaces `Condition.wait` only."""
    waited = []
    monkeypatch.setattr(threading.Condition, "wait", lambda self, timeout=None: waited.append(timeout))
    threading.Event().wait(1)
    with pytest.raises(concurrent.futures.TimeoutError):
        concurrent.futures.Future().result(2)
    threading.Semaphore(0).acquire(timeout=0.001)
    with pytest.raises(queue.Empty):
        queue.Queue().get(timeout=0.001)
    assert waited[:2] == [1, 2]
    assert len(waited) >= 4


def test_a_thread_runs_its_run_method_as_it_is_at_the_start():
    """virtualtime.threads.scheduler.adopt replaces it on the instance."""
    ran = []
    thread = threading.Thread(target=ran.append, args=("target",))
    thread.run = lambda: ran.append("replaced")
    thread.start()
    thread.join()
    assert ran == ["replaced"]


def test_the_parent_of_a_new_thread_waits_in_start(monkeypatch):
    """virtualtime.threads.callers knows it by the code of `Thread.start`."""
    callers = []
    real = threading.Condition.wait

    def wait(self, timeout=None):
        frame = sys._getframe(1)
        while frame.f_globals["__name__"] == "threading":
            callers.append(frame.f_code)
            frame = frame.f_back
        return real(self, timeout)

    monkeypatch.setattr(threading.Condition, "wait", wait)
    for _ in range(50):  # it does not wait if the thread is quick
        thread = threading.Thread(target=lambda: None)
        thread.start()
        thread.join()
    assert not callers or threading.Thread.start.__code__ in callers


def test_how_many_workers_a_thread_pool_has():
    """virtualtime.threads.executors."""
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        assert pool._max_workers == 3


def test_workers_of_anyio_know_their_loop_and_wait_in_a_queue():
    """virtualtime.patches.starts."""

    async def worker():
        return await anyio.to_thread.run_sync(threading.current_thread), asyncio.get_running_loop()

    thread, loop = asyncio.run(worker())
    kind = type(thread)
    assert (kind.__module__, kind.__name__) == ("anyio._backends._asyncio", "WorkerThread")
    assert thread.loop is loop
    assert isinstance(thread.queue, queue.Queue)


# --- sockets and processes ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "connect",
        "connect_ex",
        "recv",
        "recv_into",
        "recvfrom",
        "recvfrom_into",
        "recvmsg",
        "send",
        "sendall",
        "sendmsg",
    ],
)
def test_methods_of_a_socket_are_those_of_c(name):
    """virtualtime.patches.sockets replaces them on `socket.socket` and calls those of `_socket.socket`."""
    import _socket

    assert getattr(socket.socket, name) is getattr(_socket.socket, name)


@pytest.mark.parametrize("name", ["do_handshake", "read", "send"])
def test_methods_of_a_tls_socket(name):
    """virtualtime.patches.tls replaces them."""
    assert name in vars(ssl.SSLSocket)


@pytest.mark.parametrize("name", ["wait", "communicate"])
def test_methods_of_a_process(name):
    """virtualtime.patches.joins replaces them."""
    assert name in vars(subprocess.Popen)


# --- freezegun ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "FakeDate", "FakeDatetime", "_freeze_time", "_get_cached_module_attributes", "call_stack_inspection_limit",
        "fake_gmtime", "fake_localtime", "fake_monotonic", "fake_monotonic_ns", "fake_perf_counter",
        "fake_perf_counter_ns", "fake_strftime", "fake_time", "fake_time_ns", "freeze_factories", "ignore_lists",
        "real_date", "real_datetime", "real_time",
    ],
)  # fmt: skip
def test_names_of_freezegun(name):
    """virtualtime.patches.freezer."""
    assert hasattr(freezegun_api, name)


def test_the_ids_of_what_freezegun_replaces():
    """virtualtime.patches.freezer.time_attributes."""
    assert id(datetime.datetime) in freezegun_api._real_time_object_ids


def test_a_freezer_of_freezegun():
    """virtualtime.patches.freezer."""
    freezer = Freezer()
    freezer.start(datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC))
    try:
        frozen = freezer._freeze
        (factory,) = freezegun_api.freeze_factories
        factory.time_to_freeze = freezegun_api.real_datetime(2030, 1, 1)
        assert freezegun_api.FakeDatetime.now().year == 2030
        assert frozen.reals[id(freezegun_api.FakeDatetime)] is freezegun_api.real_datetime
        assert all(len(change) == 3 for change in frozen.undo_changes)
        assert isinstance(frozen.modules_at_start, set)
    finally:
        freezer.stop()
    assert not freezegun_api.freeze_factories


# --- pytest, aiohttp, the official client ------------------------------------------------------------------------------


def test_the_arguments_of_a_test_function(request):
    """pytest_plugin calls async tests with them."""
    assert request.node._fixtureinfo.argnames == ("request",)
    assert request.node.funcargs["request"] is request


def test_the_writer_of_a_request_counts_its_output():
    """server.http writes `100 Continue` with it, and sets the count back."""
    assert isinstance(web.BaseRequest.writer, property)
    assert "output_size" in inspect.getsource(aiohttp.abc.AbstractStreamWriter)


def test_the_table_of_types_of_the_official_client():
    """virtualtime.patches.freezer updates it."""
    table = official.ApiClient.NATIVE_TYPES_MAPPING
    assert [table["date"], table["datetime"]] == [datetime.date, datetime.datetime]


# --- kopf


def test_kopf_has_the_cause_of_a_handler_in_a_context_variable():
    """harness.detectors.known.remaining.handlertasks: the object for which a handler has started a task."""
    import contextvars
    import dataclasses

    from kopf._core.actions import execution
    from kopf._core.intents import causes

    assert isinstance(execution.cause_var, contextvars.ContextVar)
    assert {"body", "resource"} <= {one.name for one in dataclasses.fields(causes.ResourceCause)}
    assert "reason" in {one.name for one in dataclasses.fields(causes.ChangingCause)}
    assert causes.Reason.DELETE.value == "delete"
