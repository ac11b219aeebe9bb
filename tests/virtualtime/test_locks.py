"""Locks and queues of a bubble, where nothing has to wait and where one waits outside of it; and how waits are named."""

import _thread
import queue
import sys
import threading
import time
from time import monotonic

import pytest

from fakekube.virtualtime import Bubble, Deadlock
from fakekube.virtualtime.patches.locks import Lock, SimpleQueue, reentrant_lock, simple_queue
from fakekube.virtualtime.patches.threadwaits import ThreadWait, frames_of, wait_of
from fakekube.virtualtime.threads.bubblethread import BubbleThread


def in_real_thread(function, *args):
    """Starts a thread outside of any bubble; returns what joins it and returns its result."""
    done, results = _thread.allocate_lock(), []
    done.acquire()

    def run():
        try:
            results.append(function(*args))
        finally:
            done.release()

    _thread.start_new_thread(run, ())

    def join():
        assert done.acquire(timeout=10)
        return results[0]

    return join


def when(condition):
    """Waits in real time."""
    end = monotonic() + 10
    while not condition():
        assert monotonic() < end


# --- without a bubble


def test_a_lock_knows_its_owner_and_is_a_lock():
    lock, me = Lock(), _thread.get_ident()
    assert (lock.locked(), lock.owner) == (False, 0)
    with lock as got:
        assert (got, lock.locked(), lock.owner) == (True, True, me)
        assert lock.acquire(blocking=False) is lock.acquire(False) is lock.acquire(timeout=0.001) is False
        assert lock.owner == me
    assert (lock.locked(), lock.owner) == (False, 0)
    assert lock.acquire() is True
    lock._at_fork_reinit()
    assert not lock.locked()
    with pytest.raises(RuntimeError):
        lock.release()


def test_threads_outside_wait_for_each_other_in_real_time():
    lock, order = Lock(), []
    lock.acquire()
    join = in_real_thread(lambda: (lock.acquire(), order.append("other"), lock.owner))
    order.append("first")
    lock.release()
    _, _, owner = join()
    assert (order, owner != _thread.get_ident(), lock.owner == owner) == (["first", "other"], True, True)


def test_a_reentrant_lock_is_taken_again_by_its_thread_only():
    lock = reentrant_lock()
    with lock, lock:
        assert in_real_thread(lock.acquire, False)() is False
    assert in_real_thread(lock.acquire, False)() is True


def test_a_queue_has_its_items_in_order():
    items = SimpleQueue()
    assert (items.empty(), items.qsize()) == (True, 0)
    items.put(1)
    items.put_nowait(2)
    assert (items.empty(), items.qsize()) == (False, 2)
    assert (items.get(), items.get_nowait()) == (1, 2)
    for call in (
        items.get_nowait,
        lambda: items.get(False),
        lambda: items.get(timeout=0.001),
        lambda: items.get(timeout=0),
    ):
        with pytest.raises(queue.Empty):
            call()
    with pytest.raises(ValueError, match="non-negative"):
        items.get(timeout=-1)


def test_a_thread_outside_waits_for_an_item():
    items = SimpleQueue()
    joins = [in_real_thread(items.get, True, timeout) for timeout in (None, 5)]
    items.put("one")
    items.put("other")
    assert sorted(join() for join in joins) == ["one", "other"]


def test_queues_of_worker_processes_are_the_original_ones():
    namespace = {"__name__": "multiprocessing.pool", "simple_queue": simple_queue}
    exec("made = simple_queue()", namespace)
    assert isinstance(namespace["made"], queue.SimpleQueue)
    assert isinstance(simple_queue(), SimpleQueue)


# --- in a bubble


@pytest.mark.parametrize("timeout", [-1, 0, 5])
def test_the_time_out_of_a_lock(bubble, timeout):
    lock, got = threading.Lock(), []

    def holds():
        with lock:
            time.sleep(3)

    def waits():
        got.append((lock.acquire(timeout=timeout), bubble.clock.monotonic()))

    bubble.thread(holds)
    bubble.join(bubble.thread(waits))
    assert got == [(timeout != 0, 0 if timeout == 0 else 3)]


def test_a_lock_that_a_thread_outside_holds_is_waited_for_in_real_time(bubble):
    lock, release = threading.Lock(), _thread.allocate_lock()
    release.acquire()
    join = in_real_thread(lambda: (lock.acquire(), release.acquire(timeout=5), lock.release()))
    when(lock.locked)
    holder = lock.owner
    seen = []

    def waits():
        assert lock.acquire(timeout=0.01) is False  # in real time
        seen.append(lock.acquire())

    thread = bubble.thread(waits)
    bubble.loop.call_later(60, release.release)
    in_real_thread(lambda: (time.sleep(0.05), release.release()))
    bubble.join(thread)
    join()
    assert seen == [True]
    assert bubble.clock.us == 0
    assert lock.owner != holder


@pytest.mark.slow
@pytest.mark.parametrize(("timeout", "refused"), [(0, False), (0.01, False), (0.5, False), (0.51, True), (-1, True)])
def test_a_coroutine_waits_for_a_thread_outside_for_a_moment_only(bubble, timeout, refused):
    lock, release = threading.Lock(), _thread.allocate_lock()
    release.acquire()
    join = in_real_thread(lambda: (lock.acquire(), release.acquire(timeout=5), lock.release()))
    when(lock.locked)

    async def main():
        begun = monotonic()
        got = lock.acquire(timeout=timeout)
        assert timeout <= monotonic() - begun < timeout + 5
        return got

    if refused:
        with pytest.raises(RuntimeError, match=r"waiting for a lock that another thread holds"):
            bubble.run(main())
    else:
        assert bubble.run(main()) is False
    release.release()
    join()


def test_a_queue_wakes_those_of_the_bubble_from_outside_too(bubble):
    items, got = queue.SimpleQueue(), []
    thread = bubble.thread(lambda: got.append(items.get()))

    def waits():
        with pytest.raises(queue.Empty):
            items.get(timeout=5)
        got.append("late")

    late = bubble.thread(waits)
    bubble.settle()
    with bubble.clock.hold("the other thread"):
        in_real_thread(items.put, "x")()
        bubble.loop.call_soon(int)
    bubble.join(thread)
    assert (got, bubble.clock.us) == (["x"], 0)
    bubble.join(late)
    assert (got, bubble.clock.us) == (["x", "late"], 5_000_000)


# --- what a thread waits for, for findings and why()


def test_a_wait_for_another_thread_is_described(bubble):
    """Also if the function of the thread is the one that waits: it does not wait for its own end."""
    lock, event, items, done = threading.Lock(), threading.Event(), queue.Queue(), []
    sleeper = bubble.thread(time.sleep, 50, name="sleeper")

    def holds():
        with lock:
            event.wait()

    def joins():
        inner = threading.Thread(target=event.wait, name="inner")
        inner.start()
        inner.join()

    threads = {
        "holds": bubble.thread(holds, name="holds"),
        "lock": bubble.thread(lock.acquire, name="lock"),
        "queue": bubble.thread(items.get, name="queue"),
        "joins": bubble.thread(joins, name="joins"),
        "timed": bubble.thread(event.wait, 60, name="timed"),
        "done": bubble.thread(done.append, 1, name="done"),
    }
    bubble.settle()
    found = {name: wait_of(thread) for name, thread in threads.items()}
    assert wait_of(sleeper) is found["timed"] is found["done"] is None
    assert {name: wait.what for name, wait in found.items() if wait} == {
        "holds": "a threading.Event", "lock": "a lock that thread holds holds", "queue": "a queue.Queue",
        "joins": "the end of inner",
    }  # fmt: skip
    assert {name: wait.is_lock for name, wait in found.items() if wait} == {
        "holds": False, "lock": True, "queue": False, "joins": False,
    }  # fmt: skip
    assert found["lock"].owner == threads["holds"].real.ident
    assert found["holds"].owner == 0
    assert found["holds"].place.startswith("test_locks.py:")
    assert found["holds"].place.endswith(".holds")
    assert event in found["holds"].objects
    frames = frames_of(threads["holds"])
    assert holds.__code__ in [frame.f_code for frame in frames]
    assert frames[0].f_code is not holds.__code__
    assert frames_of(threads["done"]) == frames_of(BubbleThread("new", int)) == []
    event.set()
    items.put(1)
    for thread in threads.values():
        bubble.join(thread)


def test_a_wait_without_a_lock_has_no_owner():
    wait = ThreadWait("x", "here", (threading.Event(),))
    assert (wait.owner, wait.is_lock) == (0, False)
    assert ThreadWait("x", "here", (1, Lock())).is_lock


# --- how threads are named


def test_threads_are_named_by_their_identifiers(bubble):
    blocking = bubble._blocking
    release, ended, waiting = _thread.allocate_lock(), [], []
    release.acquire()
    thread = bubble.thread(time.sleep, 50, name="mine")
    bubble.settle()
    inside, me = thread.real.ident, _thread.get_ident()
    in_real_thread(lambda: ended.append(_thread.get_ident()))()
    when(lambda: ended[0] not in sys._current_frames())
    rows = {me: "the test", inside: "thread mine", ended[0]: "a thread that has ended", 0: "another thread"}
    assert {ident: blocking.name_of(ident) for ident in rows} == rows
    wait = in_real_thread(lambda: (waiting.append(_thread.get_ident()), release.acquire(timeout=5)))
    when(lambda: waiting)
    rows = {me: (True, False), inside: (True, False), waiting[0]: (False, True), 0: (False, True)}
    assert {ident: (blocking.has(ident), blocking.is_outside(ident)) for ident in rows} == rows
    assert blocking.name_of(waiting[0]) == "another thread"

    async def main():
        return blocking.name_of(me), blocking.on_own_loop(), blocking.is_test()

    assert bubble.run(main()) == ("a coroutine", True, True)
    release.release()
    wait()


def test_threads_of_the_test_have_their_own_names():
    release = threading.Event()
    outsider = threading.Thread(target=release.wait, name="theirs")
    outsider.start()
    with Bubble(wall_clock=False) as bubble:
        assert bubble._blocking.name_of(outsider.ident) == "thread theirs"
    release.set()
    outsider.join()


def test_a_wait_that_only_time_could_end_is_a_deadlock(bubble):
    with pytest.raises(Deadlock):
        queue.SimpleQueue().get()
