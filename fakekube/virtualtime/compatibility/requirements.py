"""The private names of Python and of libraries that clusters use, and the refusal of a process that lacks them."""

import asyncio
import concurrent.futures
import ctypes
import selectors
import sys
import threading
import warnings
from collections.abc import Callable
from typing import Any

from fakekube.virtualtime.compatibility.privatename import (
    TESTED,
    CompatibilityWarning,
    IncompatibleVersion,
    PrivateName,
    installed,
    missing,
)

#: The last minor version of Python that the tests run with.
NEWEST_PYTHON = (3, 13)

_NO_LOOP = "fakekube's event loop, whose time is virtual, cannot run"
_NO_WAITS = "threads of a test cannot wait in virtual time"
_NO_POOLS = "a ThreadPoolExecutor that is older than the cluster runs its jobs in real time"
_NO_ENDS = "an event loop that a thread runs is not ended with its cluster"
_NO_STRANDING = "a thread that catches every exception keeps Python from ending"
_NO_CLOCK = "wall_clock=True cannot freeze the time, use wall_clock='time-machine' or False"


def _loop(loop: Any) -> Any:
    return loop


def _condition(_: Any) -> Any:
    return threading.Condition()


def _new(_: Any) -> Any:
    return threading.Thread(name="sample")  # else it would count for the names of others


def _reentrant(_: Any) -> Any:
    return threading._PyRLock()  # type: ignore[attr-defined]


def _pool(_: Any) -> Any:
    return concurrent.futures.ThreadPoolExecutor(1, thread_name_prefix="sample")


def _gathering(loop: Any) -> Any:
    return asyncio.tasks._GatheringFuture([], loop=loop)  # type: ignore[attr-defined]


_LOOP = "asyncio.base_events:BaseEventLoop"
_SELECTOR_LOOP = "asyncio.selector_events:BaseSelectorEventLoop"
_TASK, _HANDLE, _TIMER = "asyncio:Task", "asyncio.events:Handle", "asyncio.events:TimerHandle"
_CONDITION, _POOL = "threading:Condition", "concurrent.futures:ThreadPoolExecutor"
_FREEZER = "freezegun.api"


def _required(where: str, lost: str, *names: str, sample: Callable[[Any], Any] | None = None) -> list[PrivateName]:
    return [PrivateName(where, name, lost, required=True, sample=sample) for name in names]


#: What every cluster uses. `missing` gets a selector event loop for it.
NAMES = (
    *_required(
        _LOOP, _NO_LOOP, "_ready", "_scheduled", "_timer_cancelled_count", "_clock_resolution", "_stopping", "_closed",
        "_default_executor", sample=_loop,
    ),
    *_required(_SELECTOR_LOOP, _NO_LOOP, "_signal_handlers", "_selector", "_transports", "_csock", sample=_loop),
    *_required(
        _SELECTOR_LOOP, _NO_LOOP, "_check_closed", "_check_thread", "_write_to_self", "_start_serving", "_stop_serving",
        "_make_socket_transport", "_make_ssl_transport", "_sock_connect",
    ),
    *_required(_HANDLE, _NO_LOOP, "_callback", "_context", "_cancelled", "_run"),
    *_required(_TIMER, _NO_LOOP, "_scheduled", "_when"),
    *_required("asyncio", _NO_LOOP, "_get_running_loop"),
    *_required(_TASK, _NO_LOOP, "_exception", "_make_cancelled_error"),
    *_required("sys", _NO_LOOP, "_getframe"),
    *_required(_CONDITION, _NO_WAITS, "_waiters", "_is_owned", "_release_save", "_acquire_restore", sample=_condition),
    *_required("threading", _NO_WAITS, "_time"),
    *_required("queue", _NO_WAITS, "time"),
    *_required("concurrent.futures._base", _NO_WAITS, "time"),
    *_required(_POOL, "run_in_executor cannot run in virtual time", "_max_workers", sample=_pool),
    *_required("random", "random numbers differ from run to run", "_urandom"),
    *_required(
        "ctypes", "threads that do not end cannot be ended with the cluster", "PyThreadState_SetAsyncExc",
        sample=lambda _: ctypes.pythonapi,
    ),
    PrivateName("threading", "_PyRLock", "threading.RLock waits in real time"),
    PrivateName("threading:_PyRLock", "_block", "threading.RLock waits in real time", sample=_reentrant),
    *(PrivateName(_POOL, name, _NO_POOLS, sample=_pool) for name in ("_work_queue", "_threads", "_idle_semaphore")),
    PrivateName("threading:Thread", "_args", "a ThreadPoolExecutor of a test runs its jobs in real time", sample=_new),
    PrivateName("threading:Thread", "_target", "findings of leaked threads do not know their function", sample=_new),
    PrivateName("threading", "_active", "findings and why() do not know threads outside of the cluster by name"),
    PrivateName("asyncio", "_unregister_task", "asyncio.all_tasks() of other loops shows tasks of fakekube"),
    PrivateName(_TASK, "_callbacks", _NO_ENDS),
    PrivateName("asyncio.base_events", "_run_until_complete_cb", _NO_ENDS),
    PrivateName(_TASK, "_log_destroy_pending", "asyncio logs a task that does not end a second time"),
    PrivateName(_TASK, "_log_traceback", "the detector failed-task finds nothing"),
    PrivateName("asyncio.tasks", "_GatheringFuture", "a task that only gather() waits for is reported as leaked"),
    PrivateName(
        "asyncio.tasks:_GatheringFuture",
        "_children",
        "a task that only gather() waits for is reported as leaked",
        sample=_gathering,
    ),
    PrivateName(_TASK, "_fut_waiter", "the detector stuck-reconcile finds nothing"),
    PrivateName(
        "concurrent.futures.thread", "_threads_queues", "a thread that catches every exception keeps Python from ending"
    ),
    *(
        (
            PrivateName("threading", "_shutdown_locks", _NO_STRANDING),
            PrivateName("threading:Thread", "_tstate_lock", _NO_STRANDING, sample=_new),
        )
        if sys.version_info < (3, 13)
        else (PrivateName("threading:Thread", "_daemonic", "threads of a test are shown as daemons", sample=_new),)
    ),
    PrivateName("warnings", "_warn_unawaited_coroutine", "the detector unawaited-coroutine finds nothing"),
    PrivateName("kr8s._api:Api", "_instances", "kr8s may use a connection to the cluster of an earlier test"),
    PrivateName("kr8s._async_utils", "Portal", "the synchronous API of kr8s runs in real time"),
    PrivateName("anyio._backends._asyncio", "WorkerThread", "threads of anyio (and of kr8s) run in real time"),
    PrivateName(
        "kubernetes.client.configuration:Configuration", "_default", "a default configuration outlives its cluster"
    ),
)  # fmt: skip

#: What `wall_clock=True` and "freezegun" use.
OF_FREEZEGUN = (
    *_required(f"{_FREEZER}:FakeDatetime", _NO_CLOCK, "_time_to_freeze"),
    *_required(
        _FREEZER, _NO_CLOCK, "FakeDate", "FakeDatetime", "_freeze_time", "_get_cached_module_attributes",
        "_real_time_object_ids", "call_stack_inspection_limit", "fake_gmtime", "fake_localtime", "fake_monotonic",
        "fake_monotonic_ns", "fake_perf_counter", "fake_perf_counter_ns", "fake_strftime", "fake_time", "fake_time_ns",
        "freeze_factories", "ignore_lists", "real_date", "real_datetime", "real_time",
    ),
)  # fmt: skip


def _warn(text: str) -> None:
    warnings.warn_explicit(text, CompatibilityWarning, "fakekube", 1)  # no line of a program is the cause


#: What reports a line. The pytest plugin replaces it: no filter of warnings makes its line an error of a test.
_report: Callable[[str], None] = _warn

#: The tables that this process was checked for.
_checked: set[int] = set()


def report_to(report: Callable[[str], None]) -> None:
    """Pass lines on what does not work to `report`, instead of issuing a CompatibilityWarning."""
    global _report
    _report = report


def check_python() -> None:
    """Called when a cluster is made; does nothing but the first time.

    Raises IncompatibleVersion for an interpreter or a library that lacks what every cluster needs. Reports what else is
    missing, and an interpreter that was not tested.
    """
    if id(NAMES) in _checked:
        return
    loop = asyncio.SelectorEventLoop(selectors.DefaultSelector())
    try:
        check(NAMES, loop)
    finally:
        loop.close()
    if text := untested(sys.version_info[:2]):
        _report(text)


def untested(python: tuple[int, int]) -> str:
    """What to say of a version of Python that the tests do not run with; empty for one that they do."""
    if python <= NEWEST_PYTHON:
        return ""
    return (
        f"fakekube was not tested with Python {python[0]}.{python[1]} (tested: {TESTED['Python']}): if a test behaves "
        "otherwise than with one of these, fakekube is the likely cause"
    )


def check(names: tuple[PrivateName, ...], given: Any = None) -> None:
    """Raises IncompatibleVersion naming a required name that is missing, reports the others; once for each table."""
    if id(names) in _checked:
        return
    found = list(missing(names, given))
    for name in found:
        if name.required:
            raise IncompatibleVersion(f"fakekube does not work with {installed(name.library)}: {name}")
    _checked.add(id(names))
    for name in found:
        _report(str(name))
