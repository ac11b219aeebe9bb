"""Signals of operators that run in a thread, as if it were a process of its own."""

import asyncio
import signal
import threading
import time
from signal import getsignal as early_getsignal
from signal import signal as early_signal

import pytest

from fakekube.virtualtime import Bubble


@pytest.fixture
def log():
    return []


def test_f15_a_handler_is_recorded_and_called_where_the_thread_waits(bubble, log):
    stop = threading.Event()

    def operator():
        before = signal.signal(signal.SIGTERM, lambda number, frame: (log.append(number), stop.set()))
        log.append(before)
        while not stop.wait(30):
            log.append("tick")
        log.append("stopped")

    thread = bubble.thread(operator)
    bubble.advance(45)
    bubble.signal(thread, signal.SIGTERM)
    bubble.settle()
    assert log == [signal.SIG_DFL, "tick", signal.SIGTERM, "stopped"]
    assert bubble.clock.monotonic() == 45
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


@pytest.mark.slow
def test_f15_a_sleep_goes_on_after_a_handler(bubble, log):
    def operator():
        signal.signal(signal.SIGUSR1, lambda *_: log.append(bubble.clock.monotonic()))
        time.sleep(60)
        log.append(bubble.clock.monotonic())

    thread = bubble.thread(operator)
    bubble.advance(10)
    bubble.signal(thread, signal.SIGUSR1)
    bubble.join(thread)
    assert log == [10, 60]


def test_f15_without_a_handler_the_thread_ends(bubble, log):
    def operator():
        try:
            time.sleep(3600)
        finally:
            log.append("ended")

    thread = bubble.thread(operator)
    bubble.settle()
    bubble.signal(thread, signal.SIGTERM)
    bubble.settle()
    assert (log, thread.is_alive(), thread.error) == (["ended"], False, None)


def test_f15_ignored_signals_do_nothing(bubble):
    def operator():
        assert signal.signal(signal.SIGTERM, signal.SIG_IGN) is signal.SIG_DFL
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
        time.sleep(60)

    thread = bubble.thread(operator)
    bubble.settle()
    bubble.signal(thread, signal.SIGTERM)
    bubble.join(thread)
    assert bubble.clock.monotonic() == 60


def test_f15_a_handler_may_raise(bubble, log):
    def operator():
        signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            time.sleep(3600)
        except KeyboardInterrupt:
            log.append("interrupted")

    thread = bubble.thread(operator)
    bubble.settle()
    bubble.signal(thread, signal.SIGINT)
    bubble.join(thread)
    assert log == ["interrupted"]


def test_f15_threads_of_an_operator_install_no_handlers(bubble, log):
    def operator():
        def child():
            with pytest.raises(ValueError, match="main thread"):
                signal.signal(signal.SIGTERM, print)
            log.append("refused")

        thread = threading.Thread(target=child)
        thread.start()
        thread.join()

    bubble.join(bubble.thread(operator))
    assert log == ["refused"]


def test_f15_the_loop_of_a_thread_handles_signals(log):
    async def main():
        stop = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
        await stop.wait()
        log.append("stopped")

    with Bubble(patience=3) as bubble:
        thread = bubble.thread(lambda: asyncio.run(main()))
        bubble.advance(60)
        bubble.signal(thread, signal.SIGTERM)
        bubble.join(thread)
    assert log == ["stopped"]


def test_f15_a_thread_takes_keyword_arguments(bubble, log):
    bubble.join(bubble.thread(lambda *args, **named: log.append((args, named)), 1, kwargs={"name": "a", "dry": True}))
    assert log == [((1,), {"name": "a", "dry": True})]


def test_a_handler_is_recorded_for_a_name_that_was_bound_before(bubble, log):
    def operator():
        log.append(early_getsignal(signal.SIGTERM))
        early_signal(signal.SIGTERM, signal.SIG_IGN)
        log.append(early_getsignal(signal.SIGTERM))
        early_signal(signal.SIGTERM, lambda number, frame: log.append(number))
        time.sleep(60)

    thread = bubble.thread(operator)
    bubble.settle()
    bubble.signal(thread, signal.SIGTERM)
    bubble.join(thread)
    assert log == [signal.SIG_DFL, signal.SIG_IGN, signal.SIGTERM]
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
