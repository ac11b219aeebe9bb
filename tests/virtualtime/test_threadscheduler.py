"""The threads of a bubble: signals, ends, and what the scheduler knows of them."""

import _thread
import asyncio
import concurrent.futures
import os
import signal
import threading
import time
from time import monotonic

import pytest

from fakekube.virtualtime import Bubble, NotQuiescent, VirtualTimeLoop
from fakekube.virtualtime.errors import BubbleClosed
from fakekube.virtualtime.simulatedprocess import SimulatedProcess, running_in
from fakekube.virtualtime.threads import stacks
from fakekube.virtualtime.threads.bubblethread import BubbleThread, State
from fakekube.virtualtime.threads.interrupts import interrupt, raise_in


def thread_of(handlers=()):
    thread = BubbleThread("t", int)
    thread.handlers.update(handlers)
    return thread


@pytest.mark.parametrize(
    ("number", "handlers", "dies"),
    [
        (signal.SIGTERM, {}, True),
        (signal.SIGTERM, {signal.SIGTERM: signal.SIG_DFL}, True),
        (signal.SIGTERM, {signal.SIGTERM: signal.SIG_IGN}, False),
        (signal.SIGTERM, {signal.SIGTERM: print}, False),
        (signal.SIGINT, {}, False),
        (signal.SIGKILL, {}, True),
        *((number, {}, False) for number in (signal.SIGCHLD, signal.SIGCONT, signal.SIGURG, signal.SIGWINCH)),
    ],
)
def test_a_signal_without_a_handler_ends_a_thread_unless_it_is_ignored(number, handlers, dies):
    thread = thread_of(handlers)
    assert thread.dies_of(number) is dies
    if not dies and not callable(thread.handlers.get(number)):
        thread.signals.append(number)
        thread.handle_signals()
    elif dies:
        thread.signals.extend([number, signal.SIGINT])
        with pytest.raises(SystemExit) as ended:
            thread.handle_signals()
        assert ended.value.code == 128 + number
        assert list(thread.signals) == [signal.SIGINT]


def test_handlers_are_called_in_the_order_of_the_signals_and_wake_the_loop_of_the_thread():
    reader, writer = os.pipe()
    called = []
    thread = thread_of({number: lambda *args: called.append((args[0], args[1].f_code)) for number in (10, 12)})
    thread.signals.extend([12, 10])
    thread.wakeup_fd = writer
    thread.handle_signals()
    code = test_handlers_are_called_in_the_order_of_the_signals_and_wake_the_loop_of_the_thread.__code__
    assert called == [(12, code), (10, code)]
    assert os.read(reader, 10) == bytes([12, 10])
    for end in (reader, writer):
        os.close(end)


@pytest.mark.parametrize(("descriptor", "written"), [(-1, []), (0, [(0, b"\x0a")]), (7, [(7, b"\x0a")])])
def test_any_descriptor_may_wake_the_loop_of_a_thread(monkeypatch, descriptor, written):
    found = []
    monkeypatch.setattr(os, "write", lambda *given: found.append(given))
    thread = thread_of({10: lambda *_: None})
    thread.signals.append(10)
    thread.wakeup_fd = descriptor
    thread.handle_signals()
    assert found == written


def test_a_new_thread_is_alive_and_belongs_to_the_process_that_makes_it():
    process = SimulatedProcess("operator")
    with running_in(process):
        thread = BubbleThread("t", int)
    assert (thread.is_alive(), thread.process, thread.is_main, thread.is_timed) == (True, process, False, False)
    assert (thread.overdue, thread.stranded, thread.was_signalled, thread.wakeup_fd, thread.refusals) == (
        False,
        False,
        False,
        -1,
        0,
    )
    thread.state = State.ENDED
    assert not thread.is_alive()
    with pytest.raises(RuntimeError, match="thread t: its cluster is closed"):
        thread.join()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("after", "patience", "suspended"),
    [(0.0, 1, True), (0.05, 1, True), (0.65, 1, True), (0.2, 0.1, False), (0.7, 0.6, False)],
)
def test_a_thread_that_is_resumed_is_overdue_after_the_patience(after, patience, suspended):
    thread = BubbleThread("t", int)

    def run():
        thread.wait_until_resumed()
        _thread.allocate_lock().acquire()
        end = monotonic() + after
        while monotonic() < end:
            time.sleep(0.01)
        thread.suspend()

    _thread.start_new_thread(run, ())
    begun = monotonic()
    assert thread.resume(patience) is suspended
    took = monotonic() - begun
    assert min(after, patience) - 0.01 <= took < min(after, patience) + 5
    assert (thread.overdue, thread.state) == (not suspended, State.RUNNING)
    while not suspended and not thread.was_suspended():
        pass


def test_an_exception_is_raised_in_a_thread_that_computes_and_withdrawn_from_one_that_does_not():
    ended, release, log = _thread.allocate_lock(), _thread.allocate_lock(), []
    ended.acquire()
    release.acquire()

    def computes():
        try:
            log.append(_thread.get_ident())
            while True:
                pass
        except LookupError:
            log.append("interrupted")
        finally:
            ended.release()

    def waits():
        log.append(_thread.get_ident())
        release.acquire()
        try:
            for _ in range(100):
                pass
        except LookupError:
            log.append("not withdrawn")
        ended.release()

    _thread.start_new_thread(computes, ())
    while not log:
        pass
    assert interrupt(log[0], LookupError, ended, 5)
    log[:] = []
    _thread.start_new_thread(waits, ())
    while not log:
        pass
    assert not interrupt(log[0], LookupError, ended, 0.02)
    release.release()
    assert ended.acquire(timeout=5)
    assert log[1:] == []


def test_an_exception_can_be_raised_in_another_thread():
    log, ended = [], _thread.allocate_lock()
    ended.acquire()

    def computes():
        try:
            log.append(_thread.get_ident())
            while True:
                pass
        except LookupError:
            log.append("raised")
        ended.release()

    _thread.start_new_thread(computes, ())
    while not log:
        pass
    raise_in(log[0], LookupError)
    assert ended.acquire(timeout=5)
    assert log[1:] == ["raised"]


# --- stacks


def test_the_innermost_frames_of_each_thread_are_shown():
    def deep(depth):
        return deep(depth - 1) if depth else stacks.dump()

    def shallow():
        return stacks.dump()

    text = deep(20)
    blocks = text.split("hread 0x")
    (mine,) = (block for block in blocks if "in deep" in block)
    assert mine.count("in deep") == 8 - 2
    assert mine.count("\n  ...") == 1
    found = []
    thread = threading.Thread(target=lambda: found.append(shallow()))
    thread.start()
    thread.join()
    (block,) = (block for block in found[0].split("hread 0x") if "in shallow" in block)
    assert "in _bootstrap\n" in f"{block}\n" or "in run" in block


def test_the_place_of_a_thread_is_outside_of_this_package(bubble):
    def here():
        time.sleep(60)

    thread = bubble.thread(here)
    bubble.settle()
    assert stacks.place_of(thread.real).endswith(
        f'test_threadscheduler.py", line {here.__code__.co_firstlineno + 1} in here'
    )
    assert stacks.place_of(None) == stacks.place_of(threading.Thread()) == "an unknown place"


# --- jobs


def test_jobs_reuse_idle_threads_and_new_ones_are_numbered(bubble):
    async def main():
        first = await asyncio.gather(*(asyncio.to_thread(name) for _ in range(2)))
        again = await asyncio.gather(*(asyncio.to_thread(name) for _ in range(3)))
        return [*first, *again]

    def name():
        time.sleep(1)
        return threading.current_thread().name

    assert bubble.run(main()) == [f"bubble-worker-{number}" for number in (1, 2, 2, 1, 3)]
    assert bubble.thread(int).name == "bubble-thread-4"
    assert bubble.thread(int, name="mine").name == "mine"


def test_an_idle_thread_belongs_to_the_process_of_its_present_job(bubble):
    process, seen = SimulatedProcess("operator"), []

    async def main():
        await asyncio.to_thread(int)
        with running_in(process):
            task = bubble.loop.threads.submit(lambda: seen.append(bubble.loop.threads.of(process)))
        await task

    bubble.run(main())
    assert [len(threads) for threads in seen] == [1]
    assert list(bubble.loop.threads.active()) == []


def test_a_cancelled_job_has_no_result(bubble):
    ran = []

    async def main():
        late = bubble.loop.threads.submit(lambda: ran.append("late"))
        late.cancel()
        slow = bubble.loop.threads.submit(lambda: (time.sleep(5), ran.append("slow")))
        bad = bubble.loop.threads.submit(lambda: (time.sleep(5), int("x")))
        await asyncio.sleep(1)
        slow.cancel()
        bad.cancel()
        await asyncio.sleep(10)

    bubble.run(main())
    assert ran == ["slow"]


def test_nothing_starts_while_a_bubble_closes():
    loop = VirtualTimeLoop()
    loop.threads.close()
    assert loop.threads.submit(int).cancelled()
    with pytest.raises(RuntimeError, match="is closing: it starts no new threads"):
        loop.threads.start(int)
    with pytest.raises(BubbleClosed, match="the bubble of this thread is closed"):
        loop.threads.adopt(threading.Thread(target=int))
    assert loop.threads.is_ending()
    assert loop.threads.is_cancelled()
    loop.close()


@pytest.mark.parametrize(("error", "reported"), [
    (SystemExit, False), (BubbleClosed, False), (ValueError, True), (KeyboardInterrupt, True),
    (asyncio.CancelledError, True), (concurrent.futures.CancelledError, True),
])  # fmt: skip
def test_an_error_of_a_thread_is_reported_unless_it_ends_it(bubble, monkeypatch, error, reported):
    hooked = []
    monkeypatch.setattr(threading, "excepthook", lambda args: hooked.append((args.exc_type, args.thread.name)))

    def fails():
        raise error

    thread = bubble.thread(fails, name="t")
    bubble.join(thread)
    assert hooked == [(error, "t")] * reported
    assert (type(thread.error) is error) is reported


def test_a_cancellation_by_the_end_is_not_reported(bubble, monkeypatch):
    hooked = []
    monkeypatch.setattr(threading, "excepthook", lambda args: hooked.append(args.exc_type))

    def fails():
        raise asyncio.CancelledError

    threads = bubble.loop.threads
    assert not threads.is_cancelled()
    threads.are_cancelled = True
    assert threads.is_cancelled()
    assert not threads.is_ending()
    thread = bubble.thread(fails)
    bubble.join(thread)
    assert (hooked, thread.error) == ([], None)


def test_a_thread_that_is_overdue_keeps_the_bubble_busy_until_it_parks():
    with Bubble(wall_clock=False, patience=0.05) as bubble:
        lock = _thread.allocate_lock()
        lock.acquire()
        bubble.thread(lambda: (lock.acquire(), time.sleep(5)), name="slow")
        with pytest.raises(NotQuiescent, match=r"\Athread slow neither parked nor ended within 0.05 s\. It may be"):
            bubble.settle()
        with pytest.raises(NotQuiescent, match=r"\Abusy for 0.05 s: thread slow has not parked"):
            bubble.settle()
        lock.release()
        bubble.settle()
        assert list(bubble.loop.threads.busy_reasons()) == []
        assert not bubble.loop.threads.is_empty()
        bubble.advance(5)
        assert bubble.loop.threads.is_empty()


def test_a_thread_outside_of_the_bubble_holds_time_and_is_named():
    with Bubble(wall_clock=False, patience=0.05) as bubble:
        release = _thread.allocate_lock()
        release.acquire()
        inside = bubble._blocking
        thread = bubble.thread(lambda: inside.outside("waiting for a file", release.acquire), name="reads")
        with pytest.raises(NotQuiescent, match=r"\Abusy for 0.05 s: thread reads is waiting for a file\n"):
            bubble.settle()
        assert bubble.loop.threads.with_ident(thread.real.ident) is thread
        release.release()
        bubble.join(thread)
        assert thread.error is None
    assert bubble.loop.threads.with_ident(0) is None


def test_what_the_scheduler_finds():
    with Bubble(wall_clock=False) as bubble:
        threads = bubble.loop.threads
        seen = []

        def works():
            seen.append((threads.current(), threads.serves(bubble.loop)))
            time.sleep(1)

        thread = bubble.thread(works)
        bubble.settle()
        assert seen == [(thread, False)]
        assert threads.find(thread.real) is thread
        assert threads.find(threading.current_thread()) is threads.current() is None
        assert list(threads.active()) == [thread]

        async def main():
            return threads.serves(bubble.loop), threads.serves(object())

        assert bubble.run(main()) == (True, False)
        threads.wake(thread)
        threads.wake(thread)  # it is ready
        assert list(threads.ready) == [thread]
        bubble.settle()
        bubble.join(thread)
        threads.signal(thread, signal.SIGTERM)
        assert (thread.was_signalled, list(thread.signals)) == (False, [])


def test_a_signal_that_was_sent_before_a_wait_is_handled_there(bubble):
    log = []

    def works():
        signal.signal(signal.SIGUSR1, lambda *_: log.append(bubble.clock.monotonic()))
        threads.signal(thread, signal.SIGUSR1)
        log.append("sent")
        time.sleep(5)
        log.append(bubble.clock.monotonic())

    threads = bubble.loop.threads
    thread = bubble.thread(works)
    bubble.join(thread)
    assert log == ["sent", 0, 5]
    assert thread.was_signalled
