"""What a bubble replaces, by the module of its patches."""

import asyncio
import concurrent.futures
import logging
import os
import random
import sched
import select
import signal
import socket
import subprocess
import threading
import time

import pytest

from fakekube.virtualtime.blocking import Blocking
from fakekube.virtualtime.errors import BubbleClosed
from fakekube.virtualtime.patches import (
    accepting,
    endings,
    joins,
    locks,
    pools,
    randomness,
    schedulers,
    selects,
    signals,
    sleep,
    sockets,
    starts,
    tasklists,
    taskorder,
    waits,
)
from fakekube.virtualtime.patches.commands import childprocesses, popens, subprocesses
from fakekube.virtualtime.patches.wallclocks import frozentime, travel
from fakekube.virtualtime.seeds import Seed


@pytest.fixture
def made(loop):
    """Makes the patches of each class for the loop."""
    blocking, children = Blocking(loop), childprocesses.Children(1)
    of_sockets = sockets.SocketPatches(loop.network, blocking)
    return {
        accepting: lambda: accepting.AcceptingPatches(loop.network.thread_servers, of_sockets, loop.threads, blocking),
        endings: lambda: endings.EndingPatches(loop, blocking, print),
        joins: lambda: joins.JoinPatches(blocking, loop.threads),
        locks: lambda: locks.LockPatches(blocking),
        pools: lambda: pools.PoolPatches(loop.threads),
        popens: lambda: popens.PopenPatches(blocking, children),
        randomness: lambda: randomness.RandomnessPatches(Seed(1), blocking),
        schedulers: lambda: schedulers.SchedulerPatches(loop.clock, blocking),
        selects: lambda: selects.SelectPatches(loop, blocking, of_sockets),
        signals: lambda: signals.SignalPatches(loop.threads),
        sleep: lambda: sleep.SleepPatches(blocking),
        sockets: lambda: of_sockets,
        starts: lambda: starts.StartPatches(blocking, loop.threads),
        subprocesses: lambda: subprocesses.SubprocessPatches(loop, children),
        tasklists: lambda: tasklists.TaskListPatches(loop),
        taskorder: lambda: taskorder.TaskOrderPatches(loop),
        waits: lambda: waits.WaitPatches(loop, blocking),
    }


def test_what_a_bubble_replaces(made):
    """Beside these, the names under which other modules have imported some of them."""
    of_sockets = "accept listen shutdown close"
    expected = {
        accepting: [(socket.socket, of_sockets)],
        endings: [(os, "kill killpg _exit abort"), (signal, "raise_signal pthread_kill")],
        joins: [(threading.Thread, "join")],
        locks: [(threading, "Lock RLock"), (locks.queue, "SimpleQueue")],
        pools: [(concurrent.futures.ThreadPoolExecutor, "submit")],
        popens: [(subprocess.Popen, "__init__ wait communicate")],
        schedulers: [(sched.scheduler, "__init__")],
        selects: [(select, "select poll epoll"), (asyncio.base_events.BaseEventLoop, "time")],
        signals: [(signals._signal, "signal getsignal"), (signal, "set_wakeup_fd"), (threading, "main_thread")],
        sleep: [(time, "sleep")],
        sockets: [
            (socket.socket, "connect connect_ex recv recv_into recvfrom recvfrom_into recvmsg send sendall sendmsg"),
            (os, "pipe write"),
        ],
        starts: [(threading.Thread, "start")],
        subprocesses: [(asyncio.subprocess.Process, "wait communicate")],
        tasklists: [(asyncio.tasks, "all_tasks"), (asyncio, "all_tasks")],
        taskorder: [(asyncio.tasks, "as_completed"), (asyncio, "as_completed")],
        waits: [(threading.Condition, "wait"), (waits.queue, "time"), (threading, "_time"), (waits.futures, "time")],
        randomness: [(os, "urandom"), (random.Random, "seed")],
    }
    for module, rows in expected.items():
        found = [(patch.owner, patch.name) for patch in made[module]().patches()]
        wanted = [(owner, name) for owner, names in rows for name in names.split()]
        assert [row for row in wanted if row not in found] == [], module.__name__
        if module in (
            accepting,
            endings,
            joins,
            pools,
            popens,
            schedulers,
            signals,
            starts,
            subprocesses,
            tasklists,
            taskorder,
            waits,
        ):
            assert sorted(found, key=str) == sorted(wanted, key=str), module.__name__


def test_each_replacement_takes_the_place_of_what_is_there(made):
    for module, make in made.items():
        if module is randomness:
            continue
        for owner, name, replacement, original in make().patches():
            assert replacement is not getattr(owner, name), name
            assert callable(replacement) or module is waits, name
            assert original is None or original is getattr(owner, name), name


def test_the_functions_of_the_wall_clock(made):
    names = {patch.name for patch in frozentime.patches() if patch.owner is time}
    assert names == {"asctime", "clock_gettime", "clock_gettime_ns", "ctime"}
    assert {patch.name for patch in travel._patches() if patch.owner is time} == {"asctime", "ctime"}


def test_workers_that_end_with_their_bubble_are_not_logged(made):
    logger, found = logging.getLogger("concurrent.futures"), made[starts]()
    before = logger.filters[:]

    def passes(error):
        record = logging.LogRecord(
            "x", logging.CRITICAL, "x", 1, "x", (), None if error is None else (type(error), error, None)
        )
        return bool(logger.filter(record))

    found.start()
    try:
        assert [passes(error) for error in (None, ValueError(), BubbleClosed())] == [True, True, False]
    finally:
        found.stop()
    assert passes(BubbleClosed())
    assert logger.filters == before
