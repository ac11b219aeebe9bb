"""Small parts of virtual time: their boundaries, their texts, and what happens outside of a bubble."""

import _thread
import asyncio
import concurrent.futures.thread
import queue
import sys
import threading
from datetime import UTC, date, datetime
from types import SimpleNamespace

import pytest

from fakekube.virtualtime import Bubble, NotQuiescent, VirtualTimeLoop
from fakekube.virtualtime.blocking import Blocking
from fakekube.virtualtime.durations import microseconds
from fakekube.virtualtime.errors import BubbleClosed
from fakekube.virtualtime.patches import schedulers
from fakekube.virtualtime.patches.commands.childprocesses import Children
from fakekube.virtualtime.patches.commands.subprocesses import _cancelled_at_the_end
from fakekube.virtualtime.patches.threadwaits import _named
from fakekube.virtualtime.patches.wallclocks import realdatetime
from fakekube.virtualtime.patches.wallclocks.localzone import methods
from fakekube.virtualtime.threads import stranding
from fakekube.virtualtime.watchdog import LoopBlocked, Watchdog


def test_unknown_units_of_time_are_named_in_their_order():
    with pytest.raises(TypeError, match=r"\Aunknown unit of time: fortnights, months, years \(accepted: "):
        microseconds(1, years=1, fortnights=1, months=1)


@pytest.mark.parametrize(("seconds", "how"), [(1.5, "virtual"), (0, "real"), (-1, "real")])
def test_a_scheduler_lets_other_threads_run_in_real_time(monkeypatch, seconds, how):
    slept = []
    monkeypatch.setattr(schedulers, "virtual_sleep", lambda seconds: slept.append(("virtual", seconds)))
    monkeypatch.setattr(schedulers, "real_sleep", lambda seconds: slept.append(("real", seconds)))
    schedulers._delay(seconds)
    assert slept == [(how, seconds)]


@pytest.mark.parametrize(
    ("inside", "seconds", "done"),
    [
        (False, 2.0, ["advance 2.0"]),
        (False, 0, ["advance 1e-06"]),
        (True, 2.0, ["sleeping for 2 s, timeout 2.0"]),
        (True, 1e-9, ["sleeping for 1e-09 s, timeout 1e-06"]),
        (True, 0, ["turn: sleeping for 0 s"]),
    ],
)
def test_how_a_sleep_passes(inside, seconds, done):
    log = []
    loop = SimpleNamespace(
        threads=SimpleNamespace(current=lambda: "a thread" if inside else None),
        drive=log.append,
        advance=lambda seconds: f"advance {seconds}",
    )
    blocking = SimpleNamespace(
        _loop=loop,
        wait=lambda where, is_over, *, timeout: log.append(f"{where}, timeout {timeout}") or is_over(),
        take_turn=lambda where: log.append(f"turn: {where}"),
    )
    Blocking.sleep(blocking, seconds)
    assert log == done


def test_callbacks_are_looked_at_only_while_a_process_is_stopped(loop):
    for active in (True, False, False):
        loop.divert(active)
        assert ("_call_soon" in vars(loop)) is active


# --- waiting in real time


@pytest.mark.parametrize(
    ("left", "expires", "wait"),
    [(30.0, 9.0, 0.25), (0.1, 9.0, 0.1), (0.001, 9.0, 0.01), (30.0, 0.02, 0.02), (30.0, 0.0, 0.0)],
)
def test_one_wait_is_short_and_no_longer_than_the_patience_or_a_hold(loop, left, expires, wait):
    quiescence = loop._quiescence
    quiescence._clock = SimpleNamespace(expire_holds=lambda: expires)
    assert quiescence._poll_timeout(["busy"], left) == wait


@pytest.mark.parametrize("left", [0.0, -1.0])
@pytest.mark.parametrize("endless", [False, True])
def test_when_the_patience_is_used_up_what_waits_fails_unless_time_is_held_endlessly(left, endless):
    loop = VirtualTimeLoop()
    quiescence = loop._quiescence
    quiescence._clock = SimpleNamespace(expire_holds=lambda: 9.0, is_held_endlessly=lambda: endless)
    waiter = loop.create_future()
    quiescence._waiters.append((0, waiter))
    assert quiescence._poll_timeout(["one", "two"], left) == (0.01 if endless else 0)
    assert waiter.done() is not endless
    if not endless:
        assert str(waiter.exception()).startswith("busy for 30 s: one; two\n")
        with pytest.raises(NotQuiescent, match="busy for 30 s"):  # nothing waits any more
            quiescence._poll_timeout(["one"], left)
    loop.close()


# --- threads


def test_objects_that_threads_wait_for_are_named():
    thread = threading.Thread(name="worker")
    found = [_named(one) for one in (thread, queue.Queue(), threading.Event(), concurrent.futures.Future())]
    assert found == ["the end of worker", "a queue.Queue", "a threading.Event", "a concurrent.futures.Future"]


def test_the_end_of_a_thread_is_a_cancellation_in_a_coroutine():
    with pytest.raises(asyncio.CancelledError) as caught, _cancelled_at_the_end():
        raise BubbleClosed("closed")
    assert caught.value.__suppress_context__
    with pytest.raises(ValueError, match="other"), _cancelled_at_the_end():
        raise ValueError("other")


def test_the_process_does_not_wait_for_a_thread_that_is_suspended_for_ever(monkeypatch):
    kept, lock = object(), object()
    for daemon in (False, True):
        locks, queues = {kept, lock}, {}
        monkeypatch.setattr(stranding, "_LOCKS", locks)
        monkeypatch.setattr(concurrent.futures.thread, "_threads_queues", queues)
        real, other = Real(daemon, lock), object()
        queues[real], queues[other] = "its queue", "another"
        stranding._let_go(real)
        assert queues == {other: "another"}
        assert locks == ({kept, lock} if daemon else {kept})
    monkeypatch.setattr(stranding, "_LOCKS", None)  # as in later versions of Python
    stranding._let_go(Real(False, lock))


class Real:
    """A thread of the operating system, as `threading` describes it."""

    def __init__(self, daemon, lock):
        self.daemon, self._tstate_lock = daemon, lock


def test_a_call_from_anywhere_is_made_at_once_or_on_the_loop():
    calls = []
    loop = SimpleNamespace(is_closed=lambda: closed, call_soon_threadsafe=lambda callback: calls.append("on the loop"))
    for closed, concerns, made in (  # noqa: B007
        (False, True, ["at once"]), (False, False, ["on the loop"]), (True, False, []), (True, True, ["at once"]),
    ):  # fmt: skip
        calls.clear()
        blocking = SimpleNamespace(concerns=lambda concerns=concerns: concerns, _loop=loop)
        Blocking.from_anywhere(blocking, lambda: calls.append("at once"))
        assert calls == made


@pytest.mark.parametrize(
    ("closed", "owner", "inside", "concerns"),
    [(False, True, False, True), (False, False, True, True), (False, False, False, False), (True, True, True, False)],
)
def test_a_bubble_concerns_its_threads_until_it_closes(closed, owner, inside, concerns):
    threads = SimpleNamespace(current=lambda: "a thread" if inside else None)
    loop = SimpleNamespace(is_closed=lambda: closed, threads=threads)
    blocking = SimpleNamespace(_loop=loop, _owner=_thread.get_ident() if owner else 0)
    assert Blocking.concerns(blocking) is concerns


# --- processes


class Child:
    args, pid = ("program",), 7

    def __init__(self, returncode=None):
        self.returncode = returncode


def test_only_processes_that_still_run_are_kept():
    children = Children(1.0)
    first, ended, last = Child(), Child(returncode=0), Child()
    for one in (first, ended, last):
        children.add(one)
    assert children._started == [first, last]


@pytest.mark.parametrize(
    ("over", "returncode", "killed"), [(True, None, False), (False, 0, False), (False, None, True)]
)
def test_a_process_that_takes_too_long_is_killed_and_the_reason_says_so(over, returncode, killed, monkeypatch):
    found = []
    monkeypatch.setattr("fakekube.virtualtime.patches.commands.childprocesses.kill_tree", found.append)
    children, process = Children(1.0), Child(returncode)
    waits = []

    def acquire(*, timeout):
        waits.append(timeout)
        return over

    children._watch(process, SimpleNamespace(acquire=acquire, release=lambda: None))
    assert waits == [children._limit]
    assert found == ([process] if killed else [])
    if not killed:
        children._raise_if_killed(process)
    else:
        with pytest.raises(
            NotQuiescent, match=rf"\Aprocess 7 \(program\) has not ended after {children._limit:g} s of"
        ):
            children._raise_if_killed(process)
        children._killed[process] = ""
        with pytest.raises(BubbleClosed, match=r"process 7 \(program\) was killed, because the test has ended"):
            children._raise_if_killed(process)


# --- the wall clock


def test_a_method_of_a_frozen_class_that_is_called_when_time_runs_again_reads_real_time():
    class Fake(datetime):
        _time_to_freeze = classmethod(lambda cls: None)

    api = SimpleNamespace(FakeDatetime=Fake, FakeDate=date)
    now = next(method for _, name, method in methods(api) if name == "now").__func__
    before = datetime.now(UTC)
    found = now(Fake, UTC)
    assert type(found) is Fake
    assert before <= found <= datetime.now(UTC)
    assert now(Fake).tzinfo is None


class Library:
    """`cryptography.x509`, as far as it is loaded."""

    def __init__(self):
        self.loaded = []

    def load_der_x509_certificate(self, certificate):
        self.loaded.append(certificate)
        return SimpleNamespace()


def test_a_library_that_caches_the_class_of_dates_does_so_once_it_is_loaded(monkeypatch):
    monkeypatch.setattr(realdatetime, "_cached", set())
    partly = SimpleNamespace()
    library = Library()
    for module, loaded in ((None, 0), (partly, 0), (library, 1), (library, 1)):
        monkeypatch.setitem(sys.modules, "cryptography.x509", module)
        realdatetime.cache_real_datetime()
        assert len(library.loaded) == loaded


def test_a_library_that_is_imported_while_time_is_frozen_caches_the_real_class(monkeypatch):
    cached, real = [], datetime_class()
    monkeypatch.setattr(
        "fakekube.virtualtime.patches.wallclocks.freezer.cache_real_datetime", lambda: cached.append(datetime_class())
    )
    with Bubble() as bubble:
        cached.clear()
        freezer = bubble._wall
        module = SimpleNamespace(__name__="a_module")
        freezer._unfreeze()
        freezer._unfreeze()
        freezer._refreeze(module)
        assert cached == []  # the import of a module within one: time stays real
        freezer._refreeze(module)
        assert cached == [real]
        assert datetime_class() is not real


def datetime_class():
    import datetime as module

    return module.datetime


# --- the watchdog of a loop in a thread other than the main one


def test_where_no_handler_of_a_signal_runs_the_watchdog_raises_in_the_thread(monkeypatch):
    raised, failed = [], []
    monkeypatch.setattr("fakekube.virtualtime.watchdog.raise_in", lambda *found: raised.append(found))
    loop = SimpleNamespace(fail_with=failed.append, running=lambda: "task a", runs_cancelled=lambda: False)
    watchdog = Watchdog(loop, 2.0)
    watchdog._owner = 5
    for _ in range(2):  # it is reported once
        watchdog._interrupt(3)
    assert raised == [(5, LoopBlocked)] * 2
    [error] = failed
    assert str(error).startswith("task a has blocked the event loop for 2 s: it computes for ever")
