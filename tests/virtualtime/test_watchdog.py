"""What blocks the event loop is interrupted after the patience, and named once."""

import signal
import threading
import time
from time import monotonic

import pytest

from fakekube.virtualtime.errors import LoopBlocked
from fakekube.virtualtime.watchdog import Watchdog

PATIENCE = 0.05


class Loop:
    """What the watchdog sees: callbacks run while the beat is odd."""

    def __init__(self, beat=1, *, cancelled=False):
        self.now, self.cancelled, self.errors = beat, cancelled, []

    def beat(self):
        return self.now

    def fail_with(self, error):
        self.errors.append(error)

    def running(self):
        return "task reconcile"

    def runs_cancelled(self):
        return self.cancelled


def spin(seconds=5.0):
    """Computes until it is interrupted; returns after how many real seconds."""
    begun = monotonic()
    try:
        while monotonic() < begun + seconds:
            pass
    except LoopBlocked:
        return monotonic() - begun
    return None


@pytest.fixture
def watched():
    def watch(loop, function, *args):
        watchdog = Watchdog(loop, PATIENCE)
        watchdog.start()
        watchdog.start()
        try:
            return function(*args)
        finally:
            loop.now = 0  # as of a loop that does not run
            watchdog.stop()
            watchdog.stop()

    before = {number: signal.getsignal(number) for number in signal.valid_signals()}, threading.active_count()
    yield watch
    assert ({number: signal.getsignal(number) for number in signal.valid_signals()}, threading.active_count()) == before


@pytest.mark.slow
@pytest.mark.parametrize("beat", [0, 2])
def test_an_idle_loop_is_not_interrupted(watched, beat):
    loop = Loop(beat)
    assert watched(loop, spin, 4 * PATIENCE) is None
    assert loop.errors == []


@pytest.mark.slow
def test_a_loop_that_turns_is_not_interrupted(watched):
    loop = Loop()

    def turns():
        end = monotonic() + 4 * PATIENCE
        while monotonic() < end:
            loop.now += 2

    watched(loop, turns)
    assert loop.errors == []


@pytest.mark.slow
@pytest.mark.parametrize("module", ["pdb", "IPython.core"])
def test_a_debugger_is_not_interrupted(watched, module):
    namespace = {"__name__": module, "spin": spin}
    exec("def prompt(): return spin(0.2)", namespace)
    loop = Loop()
    assert watched(loop, namespace["prompt"]) is None
    assert loop.errors == []


def test_a_lock_is_interrupted_too(watched):
    lock = threading.Lock()
    lock.acquire()

    def waits():
        with pytest.raises(LoopBlocked, match=r"was blocked for 0.05 s"):
            lock.acquire(timeout=5)

    watched(Loop(), waits)


def test_nothing_is_interrupted_before_the_patience(watched):
    loop = Loop()
    assert watched(loop, time.sleep, PATIENCE / 4) is None
    assert loop.errors == []


def test_the_signal_is_one_that_nothing_else_uses(watched):
    def number():
        installed = [
            one for one in signal.valid_signals() if getattr(signal.getsignal(one), "__self__", None) is not None
        ]
        return [one for one in installed if isinstance(signal.getsignal(one).__self__, Watchdog)]

    assert watched(Loop(0), number) == [signal.SIGRTMIN + 11]
