"""The private parts of other libraries that fakekube and controllerlib use.

Each test names what is used and by which module, so that an upgrade that removes or changes it fails here, by name.
"""

import ast
import asyncio
import concurrent.futures
import datetime
import dis
import gc
import inspect
import queue
import selectors
import socket
import ssl
import subprocess
import sys
import threading
import warnings
from collections import deque
from importlib import import_module

import aiohttp
import anyio.to_thread
import kr8s  # noqa: F401 - for its modules
import pytest
from aiohttp import web
from aiohttp.web_protocol import RequestHandler
from freezegun import api as freezegun_api
from kubernetes import client as official

from fakekube.pytest_plugin import internals
from fakekube.server.httpconnection import UPGRADED
from fakekube.virtualtime import describe
from fakekube.virtualtime.compatibility import requirements
from fakekube.virtualtime.patches.wallclocks.freezer import Freezer
from tests.trees import modules


@pytest.fixture
def loop():
    made = asyncio.SelectorEventLoop(selectors.DefaultSelector())
    yield made
    made.close()


def parameters(function):
    return list(inspect.signature(function).parameters)


# --- asyncio -----------------------------------------------------------------------------------------------------------


def test_what_a_task_waits_for(loop):
    """harness.detectors.remains.waiting: the future that a task awaits, what it calls at its end, and its coroutines."""

    async def inner():
        await event.wait()

    async def outer():
        await inner()

    event = asyncio.Event()
    task = loop.create_task(outer())
    task.add_done_callback(print)
    loop.call_soon(loop.stop)
    loop.run_forever()
    assert isinstance(task._fut_waiter, asyncio.Future)
    assert [callback for callback, _ in task._callbacks] == [print]
    assert task.get_coro().cr_await.cr_await.cr_frame.f_locals["self"] is event
    task.cancel()
    task.remove_done_callback(print)
    loop.run_until_complete(asyncio.wait([task]))


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


@pytest.mark.slow
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


def test_what_the_interpreter_waits_for_at_its_end():
    """virtualtime.threads.stranding."""
    assert concurrent.futures.thread._threads_queues is not None
    thread = threading.Thread(target=int)
    if sys.version_info < (3, 13):
        thread.start()
        assert isinstance(threading._shutdown_locks, set)
        assert hasattr(thread, "_tstate_lock")
        thread.join()
    else:
        assert callable(thread._handle._set_done)


# --- freezegun ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "FakeDate", "FakeDatetime", "_freeze_time", "_get_cached_module_attributes", "call_stack_inspection_limit",
        "fake_gmtime", "fake_localtime", "fake_monotonic", "fake_monotonic_ns", "fake_perf_counter",
        "fake_perf_counter_ns", "fake_strftime", "fake_time", "fake_time_ns", "freeze_factories", "ignore_lists",
        "real_date", "real_datetime", "real_gmtime", "real_localtime", "real_strftime", "real_time", "real_time_ns",
    ],
)  # fmt: skip
def test_names_of_freezegun(name):
    """virtualtime.patches.wallclocks.freezer and frozentime."""
    assert hasattr(freezegun_api, name)


@pytest.mark.parametrize("name", ["_time_to_freeze", "now", "fromtimestamp", "timestamp", "astimezone"])
def test_methods_of_freezeguns_datetime(name):
    """virtualtime.patches.wallclocks.localzone replaces all but the first, which it calls."""
    assert name in vars(freezegun_api.FakeDatetime)
    assert "today" in vars(freezegun_api.FakeDate)


def test_the_ids_of_what_freezegun_replaces():
    """virtualtime.patches.wallclocks.freezer.time_attributes."""
    assert id(datetime.datetime) in freezegun_api._real_time_object_ids


def test_a_freezer_of_freezegun():
    """virtualtime.patches.wallclocks.freezer."""
    freezer = Freezer()
    freezer.start(datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC))
    try:
        frozen = freezer._freeze
        (factory,) = freezegun_api.freeze_factories
        factory.time_to_freeze = freezegun_api.real_datetime(2030, 1, 1)
        assert freezegun_api.FakeDatetime.now(datetime.UTC).year == 2030
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
    """virtualtime.patches.wallclocks.freezer updates it."""
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


def test_the_thread_of_kopf_runner_is_started_by_its_module():
    """virtualtime.patches.starts: `_RUNNERS`."""
    from kopf.testing import KopfRunner

    from fakekube.virtualtime.patches.starts import _RUNNERS

    assert KopfRunner.__module__ in _RUNNERS
    assert "self._thread.start()" in inspect.getsource(KopfRunner.__enter__)


def test_the_parts_of_a_connection_of_aiohttp(loop):
    """server.httpconnection."""
    for name in ("_request_count", "_messages", UPGRADED, "_waiter", "_loop"):
        assert hasattr(RequestHandler, name), name
    server = web.Server(_nothing, loop=loop)
    assert {"_loop", "_kwargs"} <= set(vars(server))


async def _nothing(request):
    return web.Response()


def test_the_portal_of_kr8s():
    """virtualtime.patches.portals: one for a process, kept by its class; `_portal` is there when its loop runs."""
    source = inspect.getsource(sys.modules["kr8s._async_utils"].Portal)
    assert "cls._instance" in source
    assert "self._portal" in source


def test_signals_of_the_interpreter():
    """virtualtime.patches.signals calls the functions below those of `signal`."""
    import _signal

    assert callable(_signal.signal)


def test_instructions_that_drop_a_coroutine():
    """harness.detectors.remains.coroutines reads which instruction a frame executes."""
    drops = {one.opname for one in dis.get_instructions("f()\nx = f()\ndel x") if one.opname != "RESUME"}
    assert "POP_TOP" in drops
    assert any(name.startswith("STORE_") for name in drops)
    assert any(name.startswith("DELETE_") for name in drops)
    assert dis.opname[test_instructions_that_drop_a_coroutine.__code__.co_code[0]] == "RESUME"


@pytest.mark.slow
def test_the_warning_of_a_coroutine_that_is_not_awaited(monkeypatch):
    """harness.detectors.remains.tasks replaces it: the interpreter looks it up in `warnings`."""
    seen = []
    monkeypatch.setattr(warnings, "_warn_unawaited_coroutine", seen.append)
    coro = _nothing(None)
    name = coro.__qualname__
    del coro
    gc.collect()
    assert [one.__qualname__ for one in seen] == [name]


def test_a_task_that_is_not_registered_is_not_listed(loop):
    """virtualtime.taskregistry."""

    async def listed():
        task = asyncio.current_task()
        before = asyncio.all_tasks()
        asyncio._unregister_task(task)
        return task in before, task in asyncio.all_tasks()

    assert loop.run_until_complete(listed()) == (True, False)


def test_the_task_that_a_loop_runs_has_a_callback_of_asyncio(loop):
    """virtualtime.shutdown cancels the one for which `run_until_complete` waits."""

    async def callbacks():
        return [callback for callback, _ in asyncio.current_task()._callbacks]

    assert asyncio.base_events._run_until_complete_cb in loop.run_until_complete(callbacks())


def test_the_socket_that_wakes_a_loop(loop, monkeypatch):
    """virtualtime.blocking.wakes_loop."""
    sent = []
    monkeypatch.setattr(loop, "_csock", _Recorder(loop._csock, sent))
    loop.call_soon_threadsafe(print)
    assert sent == [b"\0"]


class _Recorder:
    def __init__(self, sock, sent):
        self._sock, self._sent = sock, sent

    def send(self, data):
        self._sent.append(data)
        return self._sock.send(data)

    def __getattr__(self, name):
        return getattr(self._sock, name)


def test_a_thread_pool_takes_its_jobs_from_a_queue_that_its_workers_get():
    """virtualtime.patches.pools and starts."""
    started = []
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        pool.submit(lambda: started.extend(threading.current_thread()._args)).result()
        assert any(argument is pool._work_queue for argument in started)
        assert len(pool._threads) == 1
        assert isinstance(pool._idle_semaphore, threading.Semaphore)


def test_the_lock_of_a_reentrant_lock(monkeypatch):
    """virtualtime.patches.locks.reentrant_lock."""
    lock = threading._PyRLock()
    lock._block = threading.Lock()
    with lock, lock:
        assert lock._block.locked()
    assert not lock._block.locked()


def test_a_task_whose_exception_is_not_retrieved(loop):
    """harness.detectors.remains.tasks, virtualtime.loop."""

    async def fails():
        raise LookupError

    task = loop.create_task(fails())
    loop.run_until_complete(asyncio.wait([task]))
    assert task._log_traceback is True
    assert isinstance(task._exception, LookupError)
    task.exception()
    assert task._log_traceback is False


@pytest.mark.slow
def test_a_task_that_is_freed_before_its_end_is_logged_unless_it_is_told_not_to(loop, caplog):
    """virtualtime.taskregistry.never_log."""
    for logs in (True, False):
        task = loop.create_task(_nothing(None))
        task._log_destroy_pending = logs
        loop._ready.clear()
        task.get_coro().close()
        del task
        gc.collect()
        assert [record.name for record in caplog.records] == ["asyncio"] * logs
        caplog.clear()


# --- every private name ------------------------------------------------------------------------------------------------


def present(name, item, loop):
    import_module(name.where.partition(":")[0])
    return not name.is_missing(item if name in internals.NAMES else loop)


@pytest.mark.parametrize(
    "name",
    [*requirements.NAMES, *requirements.OF_FREEZEGUN, *internals.NAMES],
    ids=lambda name: f"{name.where.rpartition(':')[2]}.{name.name}",
)
def test_a_private_name_that_clusters_use(name, request, loop):
    """virtualtime.compatibility.requirements and pytest_plugin.internals say what is lost without it."""
    assert present(name, request.node, loop), str(name)


#: Private names that have a test of their own above, and no fallback: a bound on the version of their library.
BY_TEST = {
    "_request_count", "_messages", "_upgraded", "_waiter", "_loop", "_kwargs",  # aiohttp.web_protocol
    "_instance", "_portal",  # kr8s
    "_base", "_signal", "_socket", "_thread",  # modules
    "_pytest.runner",
    "_daemonic", "_shutdown_locks", "_tstate_lock",  # threading: those before 3.13, and those since
}  # fmt: skip

#: Public, whatever their first letter says: they are documented.
DOCUMENTED = {"_asdict", "_current_frames", "_exit", "_fields", "_getframe", "_make", "_replace"}


@pytest.mark.slow
def test_every_private_name_of_a_library_has_a_canary():
    """N4: reads the code of both packages. A name that no class or module of ours defines belongs to a library."""
    trees = modules()
    own = set().union(*map(_defined, trees.values()))
    tested = {name.name for name in (*requirements.NAMES, *requirements.OF_FREEZEGUN, *internals.NAMES)} | BY_TEST
    without = [
        f"{path}:{line}: {name}"
        for path, tree in trees.items()
        for name, line, is_foreign in _private(tree)
        if (is_foreign or name not in own) and name not in tested | DOCUMENTED
    ]
    assert without == []


def _defined(tree):
    """The names that a module defines: functions, classes, variables, attributes of `self`, slots."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and _is_self(node.value):
            yield node.attr


def _is_self(node):
    return isinstance(node, ast.Name) and node.id in ("self", "cls", "made")


def _is_private(name):
    return isinstance(name, str) and any(part[:1] == "_" and part[:2] != "__" for part in name.split("."))


def _private(tree):
    """The private names that a module uses: name, line, and whether it is looked up in a module of a library."""
    modules = {
        (each.asname or each.name).partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for each in node.names
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and _is_private(node.attr):
            yield node.attr, node.lineno, isinstance(node.value, ast.Name) and node.value.id in modules
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) > 1:
            name = getattr(node.args[1], "value", None)
            if node.func.id in ("getattr", "hasattr", "setattr", "delattr", "Patch") and _is_private(name):
                yield name, node.lineno, isinstance(node.args[0], ast.Name) and node.args[0].id in modules
        elif isinstance(node, ast.ImportFrom) and _is_private(node.module):
            yield node.module, node.lineno, True
        elif isinstance(node, ast.ImportFrom | ast.Import):
            for each in node.names:
                if _is_private(each.name):
                    is_ours = isinstance(node, ast.ImportFrom) and node.module.startswith(("fakekube", "controllerlib"))
                    yield each.name, node.lineno, not is_ours
