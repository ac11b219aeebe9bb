"""Who waits where, and for what: the decisions of the patches, with a loop and threads that are only data."""

import asyncio
import math
import os
import select
import signal
import socket
import ssl
import sys
import threading
import time
from datetime import UTC, datetime, timedelta
from types import ModuleType, SimpleNamespace

import pytest

from fakekube.virtualtime import Deadlock, HotLoop, NotQuiescent, Seed, VirtualTimeLoop
from fakekube.virtualtime.blocking import LONG, Blocking
from fakekube.virtualtime.clock import VirtualClock
from fakekube.virtualtime.durations import _LONGEST, microseconds
from fakekube.virtualtime.errors import BubbleClosed
from fakekube.virtualtime.network.inplace import Exchange, NeedsTime
from fakekube.virtualtime.notifier import Notifier
from fakekube.virtualtime.patches import selects
from fakekube.virtualtime.patches.joins import JoinPatches
from fakekube.virtualtime.patches.ownpipes import OwnPipes
from fakekube.virtualtime.patches.polls import Epoll, Poll
from fakekube.virtualtime.patches.portals import PortalPatches
from fakekube.virtualtime.patches.selects import SelectPatches
from fakekube.virtualtime.patches.sockets import SocketPatches
from fakekube.virtualtime.patches.tls import TlsPatches
from fakekube.virtualtime.patches.waits import WaitPatches, _wait_in
from fakekube.virtualtime.patches.wallclocks import frozentime
from fakekube.virtualtime.seeds import _start
from fakekube.virtualtime.threads import bubblethread
from fakekube.virtualtime.threads.bubblethread import BubbleThread, State, _acquire
from fakekube.virtualtime.threads.scheduler import ThreadScheduler


class Process:
    """A simulated process."""

    def __init__(self, fenced=False):
        self.name, self.fenced = "op", fenced


class Caller:
    """A caller, as `Blocking` describes it; notes what is asked for."""

    def __init__(self, *, concerns=True, test=False, loop=False, ready=True):
        self.log = []
        self.concerns, self.is_test, self.on_own_loop = (lambda: concerns), (lambda: test), (lambda: loop)
        self.ready = ready

    def wait(self, where, ready, *notifiers, timeout=None):
        self.log.append(("wait", len(notifiers), timeout))
        return ready() if self.ready is None else self.ready

    def outside(self, where, call):
        self.log.append(("outside", where))
        return call()

    def timed(self, what, call):
        self.log.append(("timed", what))
        return call()

    def take_turn(self, where):
        self.log.append(("turn", where))

    take_turn_if_due = take_turn

    def note_call(self):
        self.log.append("call")

    def note_waiting(self, what):
        self.log.append(what)

    def refuse_in_coroutine(self, what, instead):
        if self.on_own_loop():
            raise RuntimeError(what)

    def from_anywhere(self, callback):
        callback()

    def wakes_loop(self):
        return None


# --- pipes


@pytest.mark.parametrize("concerns", [True, False])
@pytest.mark.parametrize("awaited", [True, False])
def test_writes_to_pipes_of_the_bubble_wake_what_waits(concerns, awaited):
    noted = []
    pipes = OwnPipes(
        Caller(concerns=concerns), SimpleNamespace(is_awaited=lambda: awaited, notify=lambda: noted.append(1))
    )
    reader, writer = pipes._pipe(os.pipe)()
    try:
        assert (pipes.has(reader), pipes.has(writer), pipes.has(10_000)) == (concerns, concerns, False)
        assert pipes._write(os.write)(writer, b"abc") == 3
        assert len(noted) == (concerns and awaited)
        assert os.read(reader, 9) == b"abc"
        with open(os.devnull, "wb") as other:
            pipes._write(os.write)(other.fileno(), b"abc")
        assert len(noted) == (concerns and awaited)
    finally:
        os.close(reader)
        assert not pipes.has(writer)
        os.close(writer)
    assert not pipes.has(writer)
    assert [patch.name for patch in pipes.patches()] == [
        name for name in ("pipe", "pipe2", "write") if hasattr(os, name)
    ]


# --- frozen time


FROZEN = int(datetime(2026, 7, 1, 12, 30, 15, 250_000, tzinfo=UTC).timestamp() * 1_000_000)
SECONDS, OTHER = FROZEN // 1_000_000, 86_400 * 365


@pytest.fixture
def frozen():
    before = list(frozentime._active)
    api = SimpleNamespace(ignore_lists=[], real_localtime=time.localtime)
    frozentime.freeze(FROZEN, api)
    yield api
    frozentime._active[:] = before


@pytest.mark.parametrize(
    ("name", "arguments", "now"),
    [
        ("time", (), FROZEN / 1_000_000),
        ("time_ns", (), FROZEN * 1000),
        ("localtime", (), time.localtime(SECONDS)),
        ("localtime", (OTHER,), time.localtime(OTHER)),
        ("localtime", (0,), time.localtime(0)),
        ("gmtime", (), time.gmtime(SECONDS)),
        ("gmtime", (OTHER,), time.gmtime(OTHER)),
        ("strftime", ("%Y %S",), "2026 15"),
        ("strftime", ("%Y", time.gmtime(OTHER)), "1971"),
        ("ctime", (), time.ctime(SECONDS)),
        ("ctime", (OTHER,), time.ctime(OTHER)),
        ("asctime", (), time.asctime(time.localtime(SECONDS))),
        ("asctime", (time.gmtime(OTHER),), time.asctime(time.gmtime(OTHER))),
        ("clock_gettime", (time.CLOCK_REALTIME,), FROZEN / 1_000_000),
        ("clock_gettime_ns", (time.CLOCK_REALTIME,), FROZEN * 1000),
    ],
)
def test_functions_of_time_read_the_frozen_clock(frozen, name, arguments, now):
    fake = getattr(frozentime, f"fake_{name}")
    assert fake(*arguments) == now
    frozen.ignore_lists.append(("another.module",))
    assert fake(*arguments) == now
    is_given = (bool(arguments) and not name.startswith(("clock", "strf"))) or len(arguments) > 1
    for real in ("ignored", "running"):
        if real == "ignored":
            frozen.ignore_lists.append((__name__,))
        else:
            frozentime.unfreeze()
        found = fake(*arguments)
        if is_given:
            assert found == now
        elif name.startswith(("time", "clock")):
            assert type(found) is type(now)
            assert abs(found - getattr(time, name)(*arguments)) < 60 * (1e9 if name.endswith("ns") else 1)
            assert found != now
        else:
            assert found != now or name == "strftime"


def test_other_clocks_are_not_frozen(frozen):
    for fake, real in (
        (frozentime.fake_clock_gettime, time.clock_gettime), (frozentime.fake_clock_gettime_ns, time.clock_gettime_ns),
    ):  # fmt: skip
        before = real(time.CLOCK_MONOTONIC)
        assert before <= fake(time.CLOCK_MONOTONIC) <= real(time.CLOCK_MONOTONIC)


# --- joins


@pytest.mark.parametrize(
    ("options", "ours", "alive", "done"),
    [
        ({}, "alive", True, [("wait", 1, 3.0), ("real", None)]),
        ({}, "stranded", True, [("wait", 1, 3.0)]),
        ({"ready": False}, "alive", True, [("wait", 1, 3.0)]),
        ({}, None, True, [("outside", "waiting for thread worker"), ("real", 3.0)]),
        ({}, "alive", False, [("timed", "waits for the end of worker"), ("real", 3.0)]),
        ({"concerns": False}, "alive", True, [("timed", "waits for the end of worker"), ("real", 3.0)]),
        ({"loop": True}, "alive", True, [("wait", 1, 3.0), ("real", None)]),
        ({"loop": True}, None, True, [("timed", "waits for the end of worker"), ("real", 3.0)]),
    ],
)
def test_how_the_end_of_a_thread_is_awaited(options, ours, alive, done):
    caller = Caller(**options)
    thread = SimpleNamespace(stranded=ours == "stranded", ended=None, is_alive=lambda: True)
    threads = SimpleNamespace(find=lambda target: None if ours is None else thread)
    join = JoinPatches(caller, threads)._join(lambda target, timeout=None: caller.log.append(("real", timeout)))
    join(SimpleNamespace(name="worker", is_alive=lambda: alive), 3.0)
    assert caller.log == done


def test_a_thread_does_not_wait_for_itself():
    caller = Caller()
    join = JoinPatches(caller, SimpleNamespace(find=lambda target: None))._join(
        lambda target, timeout: caller.log.append(timeout)
    )
    join(threading.current_thread())
    assert caller.log == [("timed", f"waits for the end of {threading.current_thread().name}"), None]


# --- conditions


POOL, QUEUE, STANDARD = "concurrent.futures._base", "operator_under_test", "logging.handlers"


@pytest.mark.parametrize(
    ("options", "waiting", "others", "timeout", "how"),
    [
        ({}, QUEUE, False, None, "inside"),
        ({}, QUEUE, False, 0.5, "inside"),
        ({}, QUEUE, False, 0, "real"),
        ({}, QUEUE, False, -1, "real"),
        ({"concerns": False}, QUEUE, False, None, "real"),
        ({}, None, False, None, "real"),
        ({}, QUEUE, True, None, "inside"),
        ({"test": True}, QUEUE, True, None, "outside"),
        ({"test": True}, QUEUE, False, None, "inside"),
        ({}, POOL, True, None, "outside"),
        ({}, POOL, False, None, "inside"),
        ({"test": True, "loop": True}, QUEUE, True, None, "timed"),
        ({"test": True, "loop": True}, QUEUE, False, None, "inside"),
        ({"test": True, "loop": True}, STANDARD, False, None, "real"),
        ({"test": True, "loop": True}, STANDARD, True, None, "real"),
        ({"test": True, "loop": True}, POOL, True, None, "real"),
        ({"test": True, "loop": True}, POOL, False, None, "inside"),
    ],
)
def test_how_a_condition_is_awaited(monkeypatch, options, waiting, others, timeout, how):
    monkeypatch.setattr("fakekube.virtualtime.patches.waits.module_of", lambda frame: waiting)
    caller = Caller(**options)
    made = {name: lambda condition, timeout, name=name: (name, timeout) for name in ("inside", "outside")}
    patches = SimpleNamespace(
        _blocking=caller, _has_other_threads=lambda: others, _wait_inside=made["inside"], _wait_outside=made["outside"]
    )
    wait = WaitPatches._wait(patches, lambda condition, timeout: ("real", timeout))
    condition = SimpleNamespace(_is_owned=lambda: True)
    assert wait(condition, timeout) == ("real" if how == "timed" else how, timeout)
    assert [one[0] for one in caller.log if isinstance(one, tuple)] == ["timed"] * (how == "timed")
    noted = [one for one in caller.log if isinstance(one, str)]
    assert noted == ["waits for the result of a thread"] * (waiting == POOL)
    condition = SimpleNamespace(_is_owned=lambda: False)
    assert wait(condition, timeout) == ("real", timeout)


@pytest.mark.parametrize("outcome", [True, False, ValueError])
def test_a_wait_that_was_not_notified_leaves_no_waiter(outcome):
    log = []
    condition = SimpleNamespace(_waiters=[], _release_save=lambda: "state", _acquire_restore=log.append)
    waiter = object()

    def wait():
        assert condition._waiters == [waiter]
        if outcome is ValueError:
            raise ValueError
        return outcome

    if outcome is ValueError:
        with pytest.raises(ValueError, match=r"\A\Z"):
            _wait_in(condition, waiter, wait)
    else:
        assert _wait_in(condition, waiter, wait) is outcome
    assert log == ["state"]
    assert condition._waiters == ([waiter] if outcome is True else [])  # `notify` removes it


@pytest.mark.parametrize(
    ("options", "others", "virtual"),
    [
        ({}, False, True), ({}, True, True), ({"test": True}, False, True), ({"test": True}, True, False),
        ({"concerns": False}, False, False), ({"test": True, "loop": True}, False, False),
    ],
)  # fmt: skip
def test_which_clock_a_wait_reads(options, others, virtual):
    clock = SimpleNamespace(us=5, monotonic=lambda: -7.0)
    patches = WaitPatches(SimpleNamespace(clock=clock), Caller(**options))
    patches._has_other_threads = lambda: others
    assert (patches._now() == -7.0) is virtual
    if virtual:
        assert [patches._later() for _ in range(3)] == [-7.0 + number * 1e-9 for number in (1, 2, 3)]
        clock.us = 6
        assert [patches._later(), patches._later()] == [-7.0 + 1e-9, -7.0 + 2e-9]


# --- threads


@pytest.mark.parametrize(
    ("handler", "number", "dies"),
    [
        (None, signal.SIGTERM, True), (signal.SIG_DFL, signal.SIGTERM, True), (signal.SIG_IGN, signal.SIGTERM, False),
        (lambda *_: None, signal.SIGTERM, False), (None, signal.SIGCHLD, False), (signal.SIG_DFL, signal.SIGURG, False),
    ],
)  # fmt: skip
def test_signals_that_end_a_process(handler, number, dies):
    thread = BubbleThread("main", None)
    if handler is not None:
        thread.handlers[number] = handler
    assert thread.dies_of(number) is dies
    thread.signals.append(number)
    if dies:
        with pytest.raises(SystemExit) as ended:
            thread.handle_signals()
        assert ended.value.code == 128 + number
    else:
        thread.handle_signals()
    assert not thread.signals


@pytest.mark.parametrize("wakes", [True, False])
def test_handlers_of_signals_run_in_order_where_the_thread_waits(wakes):
    thread, log = BubbleThread("main", None), []
    reader, writer = os.pipe()
    try:
        thread.wakeup_fd = writer if wakes else -1
        for number in (signal.SIGTERM, signal.SIGUSR1):
            thread.handlers[number] = lambda number, frame: log.append((number, frame.f_code.co_name))
            thread.signals.append(number)
        thread.handle_signals()
        os.write(writer, b"\xff")
        assert os.read(reader, 9) == (bytes([signal.SIGTERM, signal.SIGUSR1]) if wakes else b"") + b"\xff"
    finally:
        os.close(reader)
        os.close(writer)
    name = sys._getframe().f_code.co_name
    assert log == [(signal.SIGTERM, name), (signal.SIGUSR1, name)]


def test_a_new_thread_has_the_handler_of_ctrl_c_and_no_wakeup():
    thread = BubbleThread("one", None)
    assert thread.handlers == {signal.SIGINT: signal.default_int_handler}
    assert (thread.wakeup_fd, thread.refusals, thread.is_main, thread.stranded) == (-1, 0, False, False)
    assert (thread.is_timed, thread.overdue, thread.was_signalled, thread.is_alive()) == (False, False, False, True)
    assert repr(thread) == "<BubbleThread one ready: not started>"
    with pytest.raises(RuntimeError, match="thread one: its cluster is closed"):
        thread.join()


@pytest.mark.parametrize(("seconds", "released", "waits"), [
    (1.2, None, [0.5, 0.5, 0.2]), (0.5, None, [0.5]), (0.1, None, [0.1]), (1.2, 2, [0.5, 0.5]), (1.2, 1, [0.5]), (1.2, 3, [0.5, 0.5, 0.2]),
])  # fmt: skip
def test_waits_for_a_thread_look_for_signals(seconds, released, waits):
    made = []

    def acquire(timeout):
        made.append(timeout)
        return len(made) == released

    assert _acquire(SimpleNamespace(acquire=acquire), seconds) is (released is not None)
    assert made == pytest.approx(waits)


@pytest.mark.parametrize(
    ("state", "real", "stranded", "joined"),
    [
        (State.ENDED, "real", False, True), (State.ENDED, "real", True, False), (State.ENDED, None, False, False),
        (State.PARKED, "real", False, False),
    ],
)  # fmt: skip
def test_ended_threads_are_joined(monkeypatch, state, real, stranded, joined):
    joins = []
    monkeypatch.setattr(bubblethread, "_join", lambda real, patience: joins.append((real, patience)))
    thread = BubbleThread("one", None)
    thread.state, thread.real, thread.stranded = state, real, stranded
    thread.join_if_ended(3.0)
    assert joins == [("real", 3.0)] * joined


@pytest.mark.parametrize("suspends", [True, False])
def test_a_thread_that_does_not_suspend_is_overdue(suspends):
    thread = BubbleThread("one", None)
    if suspends:
        thread.suspend()
    assert thread.resume(0.001) is suspends
    assert (thread.overdue, thread.state) == (not suspends, State.RUNNING)
    thread.wait_until_resumed()
    assert not thread.was_suspended()
    thread.suspend()
    assert thread.was_suspended()


def scheduler():
    return ThreadScheduler(SimpleNamespace(), lambda: None, 1.0)


def enter(threads, name, process=None, state=None):
    thread = BubbleThread(name, lambda: None)
    thread.process = process
    threads._enter(thread)
    if state is not None:
        threads.ready.remove(thread)
        thread.state = state
    return thread


def test_threads_of_a_stopped_process_are_not_ready():
    threads, process = scheduler(), Process()
    first, second, third = (enter(threads, name, process if name != "b" else None) for name in "abc")
    parked = enter(threads, "d", process, State.PARKED)
    threads.freeze(process)
    assert list(threads.ready) == [second]
    threads.wake(parked)
    assert (parked.state, list(threads.ready)) == (State.READY, [second])
    threads.thaw(process)
    assert list(threads.ready) == [second, first, third, parked]
    threads.thaw(process)
    assert len(threads.ready) == 4
    assert threads.of(process) == [first, third, parked]
    assert threads.main_of(process) is threads.main_of(None) is None
    third.is_main = True
    assert threads.main_of(process) is third


@pytest.mark.parametrize(
    ("state", "woken"),
    [(State.PARKED, True), (State.IDLE, False), (State.OUTSIDE, False), (State.ENDED, False), (State.RUNNING, False)],
)
def test_only_parked_threads_are_woken(state, woken):
    threads = scheduler()
    thread = enter(threads, "a", state=state)
    threads.wake(thread)
    assert list(threads.ready) == [thread] * woken
    assert list(threads.active()) == [thread] * (state is not State.IDLE)
    assert list(threads.busy_reasons()) == ["thread a is not started"] * (state is State.OUTSIDE)
    thread.state = state
    threads.ready.clear()
    threads._closing = True
    threads.wake(thread)
    assert not threads.ready


@pytest.mark.parametrize("alive", [True, False])
def test_a_signal_is_sent_to_a_thread_that_lives(alive):
    threads = scheduler()
    thread = enter(threads, "a", state=State.PARKED if alive else State.ENDED)
    threads.signal(thread, 15)
    assert (list(thread.signals), thread.was_signalled, list(threads.ready)) == (
        ([15], True, [thread]) if alive else ([], False, [])
    )


def test_overdue_threads_are_named_until_they_are_suspended():
    threads = scheduler()
    thread = enter(threads, "a", state=State.RUNNING)
    thread.overdue = True
    threads._overdue.append(thread)
    assert list(threads.busy_reasons()) == ["thread a has not parked"]
    thread.suspend()
    assert list(threads.busy_reasons()) == []
    assert threads._overdue == []
    assert not thread.overdue


def test_event_loops_of_threads_are_announced_once():
    threads, announced, loop = scheduler(), [], object()
    thread = enter(threads, "a")
    threads.runs_loop(thread, loop)
    assert thread.loop is loop
    threads.on_loop = announced.append
    threads.runs_loop(thread, loop)
    threads.runs_loop(thread, None)
    assert (announced, thread.loop) == ([], None)
    threads.runs_loop(thread, loop)
    threads.runs_loop(thread, loop)
    assert announced == [loop]


@pytest.mark.parametrize(
    ("fenced", "closing", "ends"),
    [(None, False, False), (False, False, False), (True, False, True), (None, True, True), (True, True, True)],
)
def test_threads_end_with_their_process_and_the_bubble(fenced, closing, ends):
    threads = scheduler()
    thread = enter(threads, "a", None if fenced is None else Process(fenced))
    threads._closing = closing
    if ends:
        with pytest.raises(
            BubbleClosed, match="bubble of this thread is closed" if closing else "op, the process of this"
        ):
            threads._refuse_if_closing(thread)
        assert thread.refusals == 1
    else:
        threads._refuse_if_closing(thread)
        threads._refuse_if_closing()
    assert threads.is_cancelled() is closing
    threads.are_cancelled = True
    assert threads.is_cancelled()


# --- blocking calls


def blocking(**options):
    made = Blocking.__new__(Blocking)
    threads = SimpleNamespace(
        current=lambda: options.get("thread"),
        ready=options.get("threads", ()),
        with_ident=lambda ident: options.get("known", {}).get(ident),
    )
    made._loop = SimpleNamespace(
        threads=threads,
        is_closed=bool,
        is_running=lambda: options.get("running", False),
        _ready=options.get("ready", ()),
    )
    made._owner = threading.get_ident() if options.get("test", True) else -1
    made._turns = 0
    made.on_waiting = lambda what, place: options["log"].append(what)
    return made


@pytest.mark.parametrize(
    ("test", "running", "other", "said"),
    [
        (False, True, True, None),
        (True, False, False, None),
        (True, True, False, "f inside a coroutine blocks the event loop: await it, or call it in a thread with"),
        (True, False, True, "f inside a coroutine of another event loop (Other), and the cluster's loop cannot run"),
    ],
)
def test_blocking_calls_in_coroutines_are_refused(monkeypatch, test, running, other, said):
    log = []
    monkeypatch.setattr(asyncio, "_get_running_loop", lambda: type("Other", (), {})() if other else None)
    made = blocking(test=test, running=running, log=log)
    if said is None:
        made.refuse_in_coroutine("f", "await it")
    else:
        with pytest.raises(RuntimeError) as error:
            made.refuse_in_coroutine("f", "await it")
        assert str(error.value).startswith(said)
        if running:
            with pytest.raises(RuntimeError):
                made.refuse_in_coroutine("a call", "await it")
    assert log == ["calls f", "makes a call"] * running * test


def test_a_thread_takes_a_turn_now_and_then():
    for options, turns in (
        ({}, [16, 32]),
        ({"ready": [1]}, list(range(1, 33))),
        ({"threads": [1]}, list(range(1, 33))),
    ):
        made, seen = blocking(**options), []
        made.take_turn = seen.append
        taken = []
        for number in range(1, 33):
            made.take_turn_if_due("here")
            if len(seen) > len(taken):
                taken.append(number)
        assert taken == turns
        assert set(seen) == {"here"}


@pytest.mark.parametrize(("lasted", "noted"), [(LONG, []), (LONG + 0.001, ["waits"]), (0.0, [])])
@pytest.mark.parametrize("fails", [True, False])
def test_long_waits_are_noted(monkeypatch, lasted, noted, fails):
    readings = iter([100.0, 100.0 + lasted])
    monkeypatch.setattr("fakekube.virtualtime.blocking.real_monotonic", lambda: next(readings))
    made, log = blocking(), []
    made.note_waiting = log.append
    if fails:
        with pytest.raises(ZeroDivisionError):
            made.timed("waits", lambda: 1 / 0)
    else:
        assert made.timed("waits", lambda: 5) == 5
    assert log == noted


def test_threads_are_named_in_texts():
    own = threading.get_ident()
    known = {7: SimpleNamespace(name="worker")}
    assert blocking().name_of(own) == "the test"
    assert blocking(running=True).name_of(own) == "a coroutine"
    made = blocking(test=False, known=known)
    assert (made.name_of(7), made.name_of(0), made.name_of(-5)) == (
        "thread worker",
        "another thread",
        "a thread that has ended",
    )
    assert made.name_of(own) == f"thread {threading.current_thread().name}"
    assert (made.has(7), made.has(own), blocking().has(own)) == (True, False, True)
    assert [made.is_outside(ident) for ident in (7, 0, own, -5)] == [False, True, True, False]
    assert not blocking().is_outside(own)


@pytest.mark.parametrize(("first", "timeout", "found"), [(True, None, True), (False, None, True), (False, 2.0, False)])
def test_a_wait_ends_when_it_is_ready_or_after_a_time(first, timeout, found):
    log, notifier = [], Notifier()
    thread = SimpleNamespace(is_timed="unknown")
    made = blocking(thread=thread, test=False)
    made._wake_and_wait = lambda thread, where: (
        (lambda: log.append("woken")),
        lambda: log.append(f"waits {notifier.is_awaited()}") or (timers and timers[0]()),
    )
    timers = []

    def call_later(delay, callback):
        timers.append(callback)
        return SimpleNamespace(cancel=lambda: log.append(f"cancelled {delay}"))

    made._loop.call_later = call_later
    state = {"asked": 0}

    def ready():
        state["asked"] += 1
        return first or (timeout is None and state["asked"] > 2)

    assert made.wait("here", ready, notifier, timeout=timeout) is found
    assert not notifier.is_awaited()
    if first:
        assert (log, thread.is_timed) == ([], "unknown")
    elif timeout is None:
        assert (log, thread.is_timed) == (["waits True"], False)
    else:
        assert (log, thread.is_timed) == (["waits True", "woken", "cancelled 2.0"], True)


# --- quiescence


class Source(SimpleNamespace):
    """A loop as `Quiescence` reads it."""

    def __init__(self, timer=None):
        super().__init__(why=lambda: "why", next_timer=lambda: timer, awaited=lambda: ["program"])


@pytest.fixture
def quiescence():
    loop = VirtualTimeLoop()
    yield loop._quiescence
    loop._quiescence._waiters.clear()
    loop.close()


@pytest.mark.parametrize(("timer", "now", "due"), [(None, 5, False), (5, 5, True), (4, 5, True), (6, 5, False)])
def test_timers_that_are_due(quiescence, timer, now, due):
    quiescence._loop = Source(timer)
    quiescence._clock.us = now
    assert quiescence._is_due() is due


@pytest.mark.parametrize(
    ("external", "moved", "rest"), [(False, 100.0, 0), (True, 100.0, 0.1), (True, 99.95, 0.05), (True, 90.0, -9.9)]
)
def test_external_connections_are_quiet_after_some_time(monkeypatch, quiescence, external, moved, rest):
    monkeypatch.setattr("fakekube.virtualtime.quiescence.real_monotonic", lambda: 100.0)
    quiescence._connections = SimpleNamespace(external=external)
    quiescence._external_moved = moved
    assert quiescence._lingering() == pytest.approx(rest)
    quiescence._note_external()
    assert quiescence._external_moved == 100.0


@pytest.mark.parametrize(
    ("threads", "connections", "held", "external", "waiters", "round_due", "reasons"),
    [
        ((), (), (), False, False, False, []),
        (("t",), (), (), False, False, False, ["t"]),
        (("t",), ("c",), ("h",), False, False, False, ["t", "c", "h"]),
        ((), (), ("h",), True, False, False, ["h"]),
        ((), None, (), True, False, False, ["external"]),
        ((), None, (), True, True, False, []),
        ((), None, (), True, False, True, []),
        ((), None, (), False, False, False, []),
    ],
)
def test_why_a_bubble_is_not_quiescent(quiescence, threads, connections, held, external, waiters, round_due, reasons):
    def part(found):
        return SimpleNamespace(
            busy_reasons=lambda: found or (),
            is_empty=lambda: found == (),
            external=external,
            is_held=lambda: bool(found),
        )

    quiescence._threads, quiescence._connections, quiescence._clock = part(threads), part(connections), part(held)
    quiescence._waiters = [1] if waiters else []
    quiescence._round_is_due = lambda: round_due
    found = quiescence._busy_reasons()
    assert [
        one.replace("the test is blocked and an external client is connected: call advance() to move time", "external")
        for one in found
    ] == reasons


@pytest.mark.parametrize(
    ("reasons", "short"), [(["program runs"], True), (["program runs", "a lock"], False), ([], True)]
)
def test_details_of_what_is_busy(quiescence, reasons, short):
    quiescence._loop = Source()
    text = quiescence._details(reasons)
    assert text.startswith(" in real time, while virtual time is held." if short else "\nwhy\n")


def test_what_waits_is_woken_at_its_goal_or_fails(quiescence):
    loop = asyncio.new_event_loop()
    early, now, late, over = (loop.create_future() for _ in range(4))
    over.cancel()
    quiescence._waiters = [(4, early), (5, now), (6, late), (5, over)]
    quiescence._clock.us, quiescence._blocked_since, quiescence._round_done = 5, 1, True
    quiescence._wake()
    assert [one.done() for one in (early, now, late)] == [True, True, False]
    assert [goal for goal, _ in quiescence._waiters] == [6]
    assert (quiescence._blocked_since, quiescence._round_done) == (5, False)
    quiescence._waiters.append((7, over))
    assert quiescence.fail_waiters(HotLoop("hot"))
    assert isinstance(late.exception(), HotLoop)
    assert quiescence._waiters == []
    assert not quiescence.fail_waiters(HotLoop("hot"))
    with pytest.raises(NotQuiescent, match="busy"):
        quiescence._fail(NotQuiescent("busy"))
    loop.close()


@pytest.mark.parametrize(("us", "blocked", "fails"), [(11, True, False), (12, True, True), (12, False, False)])
def test_a_blocked_test_does_not_wait_beyond_the_horizon(quiescence, us, blocked, fails):
    quiescence._loop, quiescence._horizon, quiescence._blocked_since = Source(), 10, 1
    quiescence._round_done = True
    if fails:
        with pytest.raises(
            Deadlock, match=r"waiting for 0:00:00.000011 of virtual time, longer than the horizon of 0:00:00.00001"
        ):
            quiescence._jump(us, blocked=blocked)
    else:
        quiescence._jump(us, blocked=blocked)
        assert (quiescence._clock.us, quiescence._round_done) == (us, False)


@pytest.mark.parametrize(
    ("before", "after", "anew"),
    [(0, 999_999, False), (0, 1_000_000, True), (999_999, 1_000_000, True), (1_000_000, 1_999_999, False)],
)
def test_the_check_for_a_hot_loop_begins_anew_with_each_second(quiescence, before, after, anew):
    quiescence._clock.us, quiescence.guard.turns = before, 5
    quiescence._jump(after, blocked=False)
    assert (quiescence.guard.turns == 0) is anew


@pytest.mark.parametrize(
    ("us", "timer", "reached"), [(5, None, 9), (5, 7, 7), (5, 12, 9), (9, 12, None), (10, None, None)]
)
def test_a_step_goes_to_the_next_timer_or_the_limit(quiescence, us, timer, reached):
    quiescence._loop, quiescence._clock.us, goals = Source(timer), us, []

    async def reach(goal):
        goals.append(goal)

    quiescence.reach = reach
    step = quiescence.step(9, 1.5)
    if reached is None:
        with pytest.raises(TimeoutError, match=r"still false after 1.5 s of virtual time\nwhy"):
            step.send(None)
    else:
        with pytest.raises(StopIteration):
            step.send(None)
        assert goals == [reached]


# --- clocks, durations and chance


def test_a_clock_reads_what_has_been_reached():
    clock = VirtualClock()
    for reading, found in ((1.5, 1.5), (1.5, 1.5), (1.0, 1.5), (2.0, 2.0)):
        clock.reach(reading)
        assert clock.monotonic() == found
    moves = []
    forget = clock.on_move(lambda: moves.append(clock.us))
    for us in (3_000_000, 3_000_000, 2_000_000):
        clock.move_to(us)
    assert (clock.us, clock.monotonic(), moves) == (3_000_000, 3.0, [3_000_000])
    forget()
    clock.move_to(4_000_000)
    assert moves == [3_000_000]
    assert clock.time() == clock.epoch.timestamp() + 4
    assert clock.now() == clock.epoch + timedelta(seconds=4)
    with pytest.raises(ValueError, match="is naive"):
        VirtualClock(datetime(2026, 1, 1))


def test_holds_of_time(monkeypatch):
    monkeypatch.setattr("fakekube.virtualtime.clock.real_monotonic", lambda: now)
    clock, ended, now = VirtualClock(), [], 10.0
    assert (clock.is_held(), clock.is_held_endlessly(), clock.expire_holds()) == (False, False, math.inf)
    with clock.hold("one"):
        assert (clock.holds, clock.is_held(), clock.is_held_endlessly()) == (("one",), True, False)
        assert clock.expire_holds() == math.inf
        with clock.hold("two", endless=True):
            assert clock.is_held_endlessly()
        assert not clock.is_held_endlessly()
        with clock.hold("three", seconds=2.0, expired=lambda: ended.append(1)), clock.hold("four", seconds=5.0):
            assert clock.is_held_endlessly()
            assert list(clock.busy_reasons()) == [f"time is held: {one}" for one in ("one", "three", "four")]
            for now, rest, expired in ((11.5, 0.5, 0), (12.0, 0.0, 1), (16.0, 0.0, 2)):  # noqa: B007
                assert (clock.expire_holds(), len(ended)) == (rest, expired)
            assert clock.expired == ["three", "three"]
    assert not clock.is_held()


def test_the_longest_duration_ends_with_the_year_9999():
    longest = timedelta(microseconds=_LONGEST)
    assert microseconds(longest) == _LONGEST
    with pytest.raises(ValueError, match=r"duration out of range: .* \(times end with the year 9999\)"):
        microseconds(longest + timedelta(microseconds=1))


@pytest.mark.parametrize("value", [True, None, object(), []])
def test_what_is_no_duration(value):
    with pytest.raises(TypeError, match="a duration is a number of seconds, a timedelta or text like"):
        microseconds(value)


def test_floats_of_a_seed_are_those_of_splitmix():
    """The sequence of Steele, Lea and Flood: the state grows by the golden gamma, and is mixed."""
    gamma, mask = 0x9E3779B97F4A7C15, (1 << 64) - 1

    def unmixed(value):
        return int(value * 2**53) << 11  # all but its lowest 11 bits

    def mixed(x):
        x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & mask
        x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & mask
        return x ^ (x >> 31)

    start = _start(7, "jitter", "3")
    for attempt in range(5):
        drawn = Seed(7).float("jitter", 3, attempt)
        assert unmixed(drawn) == mixed((start + attempt * gamma) & mask) & ~0x7FF
    assert Seed(7).float("jitter", "3") == Seed(7).float("jitter", 3)


# --- selectors


class Sockets:
    """The sockets of a bubble: what it knows of descriptors."""

    def __init__(self, known):
        self.stirred, self.known = Notifier(), known

    def of_descriptor(self, descriptor):
        return self.known.get(descriptor)


@pytest.mark.parametrize(
    ("options", "found", "descriptors", "answer", "log"),
    [
        ({}, [1], (3,), [1], []),
        ({}, [], (3,), [], [("wait", 1, 2.0)]),
        ({}, [], (3, 9), ["real"], [("outside", "waiting in a selector for another server or a process")]),
        ({"test": True}, [], (9,), ["real"], []),
        ({"test": True}, [], (3, 9), ["real"], [("outside", "waiting in a selector for another server or a process")]),
        ({"test": True}, [], (3,), [], [("wait", 1, 2.0)]),
        ({"test": True}, [], (), ["real"], []),
        ({}, [], (), [], [("wait", 1, 2.0)]),
    ],
)
def test_where_a_selector_waits(options, found, descriptors, answer, log):
    caller = Caller(**options)
    patches = SelectPatches(SimpleNamespace(), caller, Sockets({3: "a pipe"}))
    assert patches.wait(lambda: found, lambda: ["real"], descriptors, 2.0) == answer
    assert caller.log == log


def test_a_selector_returns_what_it_has_found_while_it_waited():
    caller, answers = Caller(ready=None), iter([[], [7]])
    patches = SelectPatches(SimpleNamespace(), caller, Sockets({3: "a pipe"}))
    assert patches.wait(lambda: next(answers), list, (3,), None) == [7]


@pytest.mark.parametrize(
    ("concerns", "loop", "timeout", "waits"),
    [
        (True, False, 1, True),
        (True, False, None, True),
        (True, False, 0, False),
        (False, False, 0, False),
        (True, True, 0, False),
    ],
)
def test_select_waits_in_virtual_time(concerns, loop, timeout, waits):
    patches = SelectPatches(SimpleNamespace(), Caller(concerns=concerns, loop=loop), Sockets({}))
    made = []

    def wait(probe, real, descriptors, timeout):
        made.append((probe(), list(descriptors), timeout))

    patches.wait = wait
    one, other = socket.socketpair()
    with one, other:
        assert patches._select()([one], [], [other], timeout) == ([], [], [])
        assert made == [(None, [one.fileno(), other.fileno()], timeout)] * waits
        other.send(b"x")
        patches.wait = lambda probe, *_: probe()
        assert patches._select()([one], [], [], timeout) == ([one], [], [])


@pytest.mark.parametrize(("timeout", "waits"), [(None, True), (1, True), (0, False), (-1, False)])
@pytest.mark.parametrize("ends", [None, "goes on", "ends"])
def test_selectors_of_event_loops_wait_in_virtual_time(timeout, waits, ends):
    log = []
    thread = object()
    threads = SimpleNamespace(
        current=lambda: thread,
        runs_loop=lambda *_: log.append("runs a loop"),
        let_others_end=lambda _: log.append("others end"),
    )
    patches = SelectPatches(SimpleNamespace(threads=threads), Caller(), Sockets({}))

    def wait(probe, real, descriptors, timeout):
        log.append((descriptors, timeout))
        if ends:
            raise BubbleClosed("closed")
        return probe()

    patches.wait = wait
    patches._cancel_tasks = lambda: ends == "goes on"
    chosen = patches._selector(lambda selector, timeout: f"real {timeout}")
    selector = SimpleNamespace(get_map=lambda: {3: None})
    if waits and ends == "ends":
        with pytest.raises(BubbleClosed):
            chosen(selector, timeout)
    else:
        assert chosen(selector, timeout) == ("real 0" if waits else f"real {timeout}")
    assert log == (["runs a loop", ((3,), timeout)] + ["others end"] * (ends == "goes on") if waits else [])


@pytest.mark.parametrize(
    ("times", "tasks", "goes_on"),
    [(1, True, True), (1, False, False), (selects.MAX_CANCELS, True, True), (selects.MAX_CANCELS + 1, True, False)],
)
def test_the_tasks_of_a_loop_whose_thread_ends_are_cancelled(monkeypatch, times, tasks, goes_on):
    patches = SelectPatches(SimpleNamespace(), Caller(), Sockets({}))
    assert patches._cancel_tasks() is False  # no loop runs
    task = type("Task", (), {"cancel": lambda self: log.append("cancelled")})()
    log, loop = [], type("Loop", (), {"set_exception_handler": lambda self, handler: None})()
    monkeypatch.setattr(asyncio, "_get_running_loop", lambda: loop)
    monkeypatch.setattr(asyncio, "all_tasks", lambda loop: {task} if tasks else set())
    monkeypatch.setattr(selects, "never_log", lambda task: log.append("not logged"))
    patches._cancels[loop] = times - 1
    assert patches._cancel_tasks() is goes_on
    assert patches._cancels[loop] == times
    assert log == (["cancelled" if times <= selects.MAX_CANCELS else "not logged"] if tasks else [])


@pytest.mark.parametrize("kind", [Poll, Epoll] if hasattr(select, "epoll") else [Poll])
@pytest.mark.parametrize(
    ("concerns", "timeout", "waits"),
    [(True, 1500, 1.5), (True, -1, None), (True, None, None), (True, 0, "real"), (False, 0, "real")],
)
def test_polls_wait_in_virtual_time(kind, concerns, timeout, waits):
    made = []
    virtual = SimpleNamespace(
        concerns=lambda: concerns, wait=lambda probe, real, fds, timeout: made.append((list(fds), timeout)) or probe()
    )
    if timeout == 1500 and kind is Epoll:
        timeout = 1.5
    poll = kind(virtual)
    one, other = socket.socketpair()
    with one, other:
        poll.register(one, select.POLLIN)
        poll.register(other, select.POLLIN)
        poll.unregister(other)
        assert poll.poll(timeout) == []
        other.send(b"x")
        assert poll.poll(timeout) == [(one.fileno(), select.POLLIN)]
        poll.modify(one, select.POLLOUT)
        assert poll.poll(timeout) == [(one.fileno(), select.POLLOUT)]
        assert made == ([] if waits == "real" else [([one.fileno()], waits)] * 3)
        poll.unregister(one)
        assert not poll._descriptors
    if kind is Epoll:
        with poll:
            assert not poll.closed
        assert poll.closed


# --- sockets that are answered in place


class Conversation:
    """A server that answers "ping" with "pong", and needs time for anything else."""

    closes = False

    def feed(self, data):
        if data == b"reset":
            raise ConnectionResetError
        if data == b"slow":
            raise NeedsTime("a watch", streams=True)
        return b"pong" if data.endswith(b"g") else None


def test_requests_and_answers_that_are_exchanged_in_place():
    exchange = Exchange(Conversation)
    assert (exchange.readable, exchange.is_new, exchange.ended) == (False, False, False)
    exchange.send(b"pi")
    assert (exchange.request, exchange.readable) == (b"pi", False)
    exchange.send(b"ng")
    assert (exchange.request, exchange.readable, exchange.is_new, exchange.ended) == (b"", True, True, False)
    assert (exchange.take(2, keep=True), exchange.take(2), exchange.take(9)) == (b"po", b"po", b"ng")
    assert not exchange.readable
    with pytest.raises(NeedsTime, match="a watch"):
        exchange.send(b"slow")
    assert (exchange.streams, exchange.release(), exchange.release()) == (True, b"slow", b"")
    exchange.send(b"reset")
    assert (exchange.ended, exchange.is_new, exchange.readable) == (True, True, True)
    with pytest.raises(ConnectionResetError, match="Connection reset by peer"):
        exchange.take(1)


class Connection(SimpleNamespace):
    """A connection with the server, of which the bytes are counted."""

    def __init__(self, exchange=None, *, idle=True, secure=None):
        self.given = []
        super().__init__(
            exchange=exchange,
            secure=secure,
            is_idle=lambda: idle,
            down=SimpleNamespace(arrived=Notifier(), ended=False),
            up=SimpleNamespace(drained=Notifier(), give=self.given.append),
        )


def sock(timeout=None):
    made = SimpleNamespace(gettimeout=lambda: timeout, closed=False, timeouts=[], context=None, server_hostname="a")
    made.close = lambda: setattr(made, "closed", True)
    made.settimeout = made.timeouts.append
    return made


@pytest.mark.parametrize(
    ("options", "timeout", "idle", "exchange", "in_place"),
    [
        ({}, None, True, {}, True),
        ({}, 1.0, True, {}, True),
        ({}, 0, True, {}, False),
        ({"concerns": False}, None, True, {}, False),
        ({"test": True}, None, True, {}, False),
        ({"test": True, "loop": True}, None, True, {}, True),
        ({}, None, False, {}, False),
        ({}, None, True, {"ended": True}, False),
        ({}, None, True, {"streams": True}, False),
        ({}, None, True, None, False),
    ],
)
def test_which_connections_are_answered_in_place(options, timeout, idle, exchange, in_place):
    found = None if exchange is None else SimpleNamespace(**{"ended": False, "streams": False, **exchange})
    patches = SimpleNamespace(_blocking=Caller(**options))
    assert SocketPatches._answers_in_place(patches, sock(timeout), Connection(found, idle=idle)) is in_place


@pytest.mark.parametrize("loop", [False, True])
def test_what_is_sent_in_place(loop):
    caller, sent = Caller(loop=loop), []
    over = lambda sock, connection, data, flags: sent.append(bytes(data)) or min(len(data), 3)  # noqa: E731
    patches = SimpleNamespace(_blocking=caller, _send_over_network=over)
    connection, client = Connection(Exchange(Conversation)), sock()
    assert SocketPatches._send_in_place(patches, client, connection, b"pi", 0) == 2
    assert caller.log == []
    assert SocketPatches._send_in_place(patches, client, connection, b"ng", 0) == 2
    assert caller.log == ["call"] * loop
    if loop:
        with pytest.raises(RuntimeError, match="a watch is not answered at once"):
            SocketPatches._send_in_place(patches, client, connection, b"slow", 0)
        assert client.closed
    else:
        assert SocketPatches._send_in_place(patches, client, connection, b"slow", 0) == 4
        assert (sent, client.closed) == ([b"slow", b"w"], False)


@pytest.mark.parametrize(
    ("options", "has", "timeout", "result"),
    [
        ({}, True, 2.0, True), ({}, True, None, True), ({}, False, 2.0, False), ({}, True, 0, False),
        ({"concerns": False}, True, 2.0, False), ({"ready": False}, True, 2.0, TimeoutError),
    ],
)  # fmt: skip
def test_waits_for_a_client_or_server_in_a_thread(options, has, timeout, result):
    caller = Caller(**options)
    patches = SimpleNamespace(_blocking=caller, _servers=SimpleNamespace(has=lambda sock: has), stirred=Notifier())
    if result is TimeoutError:
        with pytest.raises(TimeoutError, match="timed out"):
            SocketPatches.wait_for_thread(patches, sock(timeout), 1)
    else:
        assert SocketPatches.wait_for_thread(patches, sock(timeout), 1) is result
    assert caller.log == [("wait", 1, timeout)] * (result is not False)
    assert SocketPatches.is_inside(patches, None) is (has and caller.concerns())


def test_messages_that_are_sent_are_counted():
    one, other = socket.socketpair()
    stirred, connection = [], Connection()
    with one, other:
        for clients, given, stirs in (({}, [], [one]), ({one: connection}, [3], [])):
            patches = SimpleNamespace(_clients=clients, stir=stirred.append)
            assert SocketPatches._sendmsg(patches)(one, [b"ab", b"c"]) == 3
            assert (connection.given, stirred) == (given, stirs)
            stirred.clear()
        assert other.recv(9) == b"abcabc"


# --- TLS


def tls(connection=None, *, inside=True, **options):
    caller = Caller(**options)
    sockets = SimpleNamespace(
        is_inside=lambda sock: inside,
        stir=lambda sock: caller.log.append("stir"),
        wait_for_thread=lambda sock, events: caller.log.append(("thread", events)),
    )
    return TlsPatches(SimpleNamespace(connection_of=lambda sock: connection), caller, sockets), caller


class Sock:
    """A TLS socket."""

    def __init__(self, timeout=None):
        self.timeout, self.timeouts, self.closed = timeout, [], False
        self.context, self.server_hostname = "client", "a"

    def gettimeout(self):
        return self.timeout

    def settimeout(self, timeout):
        self.timeouts.append(timeout)

    def close(self):
        self.closed = True


@pytest.mark.parametrize(
    ("options", "timeout", "secure", "idle", "in_place"),
    [
        ({}, None, True, True, True),
        ({}, 0, True, True, False),
        ({}, None, None, True, False),
        ({}, None, False, True, False),
        ({}, None, True, False, False),
        ({"concerns": False}, None, True, True, False),
        ({"test": True}, None, True, True, False),
        ({"test": True, "loop": True}, None, True, True, True),
    ],
)
def test_handshakes_in_memory(monkeypatch, options, timeout, secure, idle, in_place):
    performed, over = [], []
    monkeypatch.setattr("fakekube.virtualtime.patches.tls.perform", lambda *given: performed.append(given))
    exchange = object()
    connection = None if secure is None else Connection(idle=idle, secure=(exchange, "server") if secure else None)
    patches, _ = tls(connection, **options)
    made = Sock(timeout)
    patches._handshake(lambda sock, *args: over.append(args))(made, "block")
    assert performed == [("client", "server", "a")] * in_place
    assert over == [("block",)] * (not in_place)
    assert (patches._exchanges.get(made) is exchange, made in patches._encrypted) == (in_place, not in_place)


@pytest.mark.parametrize("loop", [False, True])
@pytest.mark.parametrize("encrypted", [False, True])
def test_requests_over_tls_in_place_or_over_the_network(loop, encrypted):
    patches, caller = tls(loop=loop, test=loop)
    made, sent, hands = Sock(), [], []
    send = patches._send(hands.append, lambda sock, data, *args: sent.append(bytes(data)) or min(2, len(data)))
    assert send(made, b"plain") == 2
    assert sent == [b"plain"]
    sent.clear()
    patches._exchanges[made] = exchange = Exchange(Conversation)
    if encrypted:
        patches._encrypted.add(made)
    assert (send(made, b"pi"), caller.log) == (2, [])
    assert (send(made, b"ng"), caller.log) == (2, ["call"] * loop)
    if loop:
        with pytest.raises(RuntimeError, match="a watch is not answered at once"):
            send(made, b"slow")
        assert made.closed
    else:
        assert send(made, b"slow") == 4
        assert (sent, hands) == ([b"slow", b"ow"], [] if encrypted else [made])
        assert made not in patches._exchanges
        assert made in patches._encrypted
        assert exchange.release() == b""


@pytest.mark.parametrize(
    ("encrypted", "loop", "secure", "found"),
    [(True, True, True, True), (False, True, True, False), (True, False, True, False), (True, True, False, False), (True, True, None, False)],
)  # fmt: skip
def test_a_connection_of_a_pool_is_answered_in_place_in_a_coroutine(encrypted, loop, secure, found):
    exchange = object()
    connection = None if secure is None else Connection(secure=(exchange, "server") if secure else None)
    patches, _ = tls(connection, loop=loop)
    made = Sock()
    if encrypted:
        patches._encrypted.add(made)
    assert patches._begun_in_coroutine(made) is (exchange if found else None)
    assert (made in patches._exchanges) is found


def test_answers_over_tls_are_read_in_place_or_over_the_network():
    patches, caller = tls()
    made, hands, over, sent = Sock(), [], [], []
    read = patches._read(
        hands.append,
        lambda sock, *args: over.append(args) or b"net",
        lambda sock, data: sent.append(bytes(data)) or len(data),
    )
    buffer = bytearray(8)
    assert (read(made), read(made, 5, buffer)) == (b"net", b"net")
    assert over == [(1024,), (5, buffer)]
    patches._exchanges[made] = exchange = Exchange(Conversation)
    exchange.send(b"ping")
    assert (read(made, 2), caller.log) == (b"po", [("turn", "waiting for the cluster")])
    assert (read(made, 8, buffer), buffer[:3]) == (2, b"ng\0")
    assert len(caller.log) == 1
    exchange.send(b"pi")
    assert read(made, 8) == b"net"  # there is no answer yet
    assert (sent, hands) == ([b"pi"], [made])
    patches, caller = tls(loop=True)
    patches._exchanges[made] = Exchange(Conversation)
    with pytest.raises(RuntimeError, match="a blocking call to the cluster"):
        patches._read(None, None, None)(made)
    assert made.closed


@pytest.mark.parametrize(
    ("options", "connection", "timeout", "tries", "log"),
    [
        ({}, True, 2.0, ["read", "write"], [("wait", 2, 2.0), ("wait", 2, 2.0)]),
        (
            {},
            False,
            2.0,
            ["read", "write"],
            ["stir", ("thread", select.POLLIN), "stir", ("thread", select.POLLOUT), "stir"],
        ),
        ({"inside": False}, False, 2.0, [], None),
        ({"concerns": False}, True, 2.0, [], None),
        ({}, True, 0, [], None),
    ],
)
def test_tls_over_the_network_waits_in_virtual_time(options, connection, timeout, tries, log):
    patches, caller = tls(Connection() if connection else None, **options)
    errors = {"read": ssl.SSLWantReadError, "write": ssl.SSLWantWriteError}
    ahead, made = list(tries), Sock(timeout)

    def real(sock, *args, **options):
        if ahead:
            raise errors[ahead.pop(0)]
        return args, options

    assert patches._waiting(real, ssl)(made, 1, two=2) == ((1,), {"two": 2})
    assert caller.log == (log or [])
    assert made.timeouts == ([0, timeout] * 3 if log else [])


def test_tls_over_the_network_times_out_and_is_refused_in_a_coroutine():
    def real(sock):
        raise ssl.SSLWantReadError

    patches, _ = tls(Connection(), ready=False)
    with pytest.raises(TimeoutError, match="timed out"):
        patches._waiting(real, ssl)(Sock(1.0))
    patches, _ = tls(Connection(), loop=True)
    made = Sock(1.0)
    with pytest.raises(RuntimeError, match="a blocking call to the cluster"):
        patches._waiting(real, ssl)(made)
    assert made.closed


# --- the portal of kr8s


def kr8s():
    module = ModuleType("kr8s._async_utils")

    class Portal:
        _instance = None

        def __new__(cls):
            if vars(cls).get("_instance") is None:
                cls._instance = object.__new__(cls)
                cls._instance._portal = 1
            return cls._instance

    del Portal._instance
    module.Portal = Portal
    return module


@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize("options", [{}, {"concerns": False}, {"loop": True, "test": True}])
@pytest.mark.parametrize("inside", [True, False])
def test_each_process_has_a_portal_of_its_own(before, options, inside):
    module, caller = kr8s(), Caller(**options)
    first = module.Portal() if before else None
    started = []

    def start(function):
        started.append(1)
        function()
        return SimpleNamespace(is_alive=bool, ended=Notifier())

    threads = SimpleNamespace(current=lambda: object() if inside else None, start=start)
    patches = PortalPatches(caller, threads)
    original = vars(module.Portal)["__new__"]
    patches._patch(ModuleType("kr8s"))
    patches._patch(ModuleType("kr8s._async_utils"))
    assert patches._undo == []
    patches._patch(module)
    one, same = module.Portal(), module.Portal()
    own = not options
    assert one is same
    assert (one is first) is (before and not own)
    assert vars(module.Portal).get("_instance") is (first if before or own else one)
    assert len(started) == (own and not inside)
    assert caller.log == [("wait", 1, None)] * (own and not inside)
    assert len(patches._portals) == own
    patches.stop()
    assert vars(module.Portal)["__new__"] is original
    assert len(patches._portals) == 0


def test_a_portal_is_used_when_its_event_loop_runs():
    module, caller = kr8s(), Caller()
    patches = PortalPatches(caller, SimpleNamespace(current=object))
    made = SimpleNamespace()
    turns = []

    def take_turn(where):
        turns.append(where)
        if len(turns) == 3:
            made._portal = 1

    caller.take_turn = take_turn
    process = Process()
    patches._own(process, module.Portal, lambda kind: made)
    assert turns == ["starting the event loop of kr8s"] * 3
    assert patches._portals[process] is made
