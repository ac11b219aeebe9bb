"""Timers fire at whole microseconds, in the order of their creation, and never early."""

import asyncio
import heapq
import math
import os
import signal
from datetime import timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fakekube.virtualtime import Bubble, VirtualClock, VirtualTimeLoop
from fakekube.virtualtime.timers import GridTimer, grid, grid_later


def test_three_times_a_tenth_is_three_tenths(loop):
    async def main():
        for _ in range(3):
            await asyncio.sleep(0.1)
        return loop.time(), loop.clock.us

    assert loop.run_until_complete(main()) == (0.3, 300_000)


def test_timers_of_one_instant_fire_in_the_order_of_their_creation(loop):
    fired = []

    async def main():
        for number in range(10):
            loop.call_at(5.0 + number * 1e-9, fired.append, number)
        await loop.advance(5)

    loop.run_until_complete(main())
    assert fired == list(range(10))


def test_a_cancelled_timer_neither_fires_nor_stops_time(loop):
    async def main():
        loop.call_later(5, pytest.fail, "cancelled").cancel()
        later = loop.call_later(7, lambda: None)
        await loop.advance(6)
        assert [timer.after for timer in loop.clock.next_timers()] == [timedelta(seconds=1)]
        later.cancel()

    loop.run_until_complete(main())


#: aiohttp's keep-alive once set a timer for 18085.010000000002, which is 18085.010000 in whole microseconds.
@pytest.mark.parametrize("deadline", [18085.010000000002, 0.1 + 0.2, 1.0000004, 3e7 + 1 / 3])
def test_a_loop_that_checks_its_deadline_after_waiting_ends(loop, deadline):
    """If the clock read less than the deadline after the timer has fired, the loop would never end."""
    checks = 0

    def check(done):
        nonlocal checks
        checks += 1
        assert checks < 5
        if loop.time() < deadline:
            loop.call_at(deadline, check, done)
        else:
            done.set_result(None)

    async def main():
        done = loop.create_future()
        loop.call_at(deadline, check, done)
        await done

    loop.run_until_complete(main())
    assert checks <= 2


@pytest.mark.parametrize("clock", ["monotonic", "time"])
def test_a_loop_that_sleeps_for_the_remaining_time_ends(loop, clock):
    """A remainder of 0.2 microseconds must move the clock."""

    async def main():
        read = getattr(loop.clock, clock)
        deadline = read() + 1 / 3
        naps = 0
        while (left := deadline - read()) > 0:
            await asyncio.sleep(left)
            naps += 1
            assert naps < 5

    loop.run_until_complete(main())


def test_sleep_until_wakes_when_the_clock_reads_the_deadline(loop):
    clock = loop.clock
    seen = []

    async def main():
        for deadline in (0.005, 0.015, 0.035, 0.075, 0.01):
            await clock.sleep_until(deadline)
            assert clock.monotonic() >= deadline
            seen.append(clock.us)

    loop.run_until_complete(main())
    assert seen == [5_000, 15_000, 35_000, 75_000, 75_000]


def test_sleep_until_needs_the_loop_of_the_clock(loop):
    with pytest.raises(RuntimeError, match="another event loop"):
        loop.run_until_complete(VirtualClock().sleep_until(1))


def test_an_asyncio_timeout_is_virtual(loop):
    async def main():
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(3600):
                await asyncio.Event().wait()
        return loop.clock.us

    assert loop.run_until_complete(main()) == 3_600_000_000


# --- against a naive model

Script = st.recursive(
    st.just([]),
    lambda children: st.lists(st.tuples(st.integers(0, 5_000), children), max_size=4),
    max_leaves=20,
)


def naive(script):
    """Which timer fires when: a heap of (microsecond, order of creation)."""
    fired, heap, made = [], [], 0

    def make(now, timers):
        nonlocal made
        for delay, then in timers:
            heapq.heappush(heap, (now + delay, made, then))
            made += 1

    make(0, script)
    while heap:
        now, number, then = heapq.heappop(heap)
        fired.append((now, number))
        make(now, then)
    return fired


@given(script=Script, steps=st.lists(st.integers(0, 9_000), max_size=8))
def test_any_timers_fire_as_in_a_naive_model_however_time_is_advanced(script, steps):
    fired, made = [], 0
    with Bubble(wall_clock=False) as bubble:

        def make(timers):
            nonlocal made
            for delay, then in timers:
                bubble.loop.call_later(delay / 1e6, fire, made, then)
                made += 1

        def fire(number, then):
            fired.append((bubble.clock.us, number))
            make(then)

        make(script)
        total = 0
        for step in steps:
            bubble.advance(timedelta(microseconds=step))
            total += step
            assert bubble.clock.us == total
            assert fired == [entry for entry in naive(script) if entry[0] <= total][: len(fired)]
            assert len(fired) == sum(entry[0] <= total for entry in naive(script))
        bubble.advance(60)
    assert fired == naive(script)


@given(whens=st.lists(st.floats(0, 1e5), min_size=1, max_size=20))
def test_no_timer_fires_before_its_deadline_reads(whens):
    early = []
    loop = VirtualTimeLoop()

    def fire(when):
        if loop.time() < when - 0.5e-6 or loop.time() < min(when, (loop.clock.us + 0.5) / 1e6):
            early.append((when, loop.time()))

    for when in whens:
        loop.call_at(when, fire, when)
    loop.run_until_complete(loop.advance(2e5))
    loop.close()
    assert not early


@given(start=st.integers(0, 10**12), delay=st.floats(2e-7, 1e-5))
@example(start=0, delay=5e-7)
@example(start=3, delay=5e-7)
def test_code_1_a_real_delay_lasts_at_least_a_microsecond_and_is_rounded_to_the_nearest(start, delay):
    fires, exact = grid_later(delay, start, start / 1e6)
    assert fires > start
    assert abs(fires - start - delay * 1e6) <= 1
    assert abs(exact - (start / 1e6 + delay)) < 1e-9 + 4 * math.ulp(exact)


def test_a_signal_is_handled_before_time_moves(loop):
    async def main(heard):
        loop.add_signal_handler(signal.SIGUSR1, heard.append, None)
        for _ in range(3):  # not only when the loop happens to poll
            os.kill(os.getpid(), signal.SIGUSR1)
            before = loop.time()
            await asyncio.sleep(3600)
            assert heard.pop() is None
            assert loop.time() == before + 3600
        came = asyncio.Event()
        loop.add_signal_handler(signal.SIGUSR1, came.set)
        os.kill(os.getpid(), signal.SIGUSR1)
        await came.wait()  # no Deadlock: no timer is set
        assert loop.remove_signal_handler(signal.SIGUSR1)

    loop.run_until_complete(main([]))


@pytest.mark.parametrize(
    ("when", "now", "fires"),
    [
        (0.30000000000000004, 0, 300_000),
        (2.0, 1_000_000, 2_000_000),
        (1.0, 1_000_000, 1_000_000),
        (0.5, 1_000_000, 1_000_000),
        (1e-7, 0, 0),
        (1.1e-7, 0, 1),
        (1.0000004, 1_000_000, 1_000_001),
        (1.00000005, 1_000_000, 1_000_000),
        (1.0000016, 1_000_000, 1_000_002),
    ],
)
def test_the_nearest_microsecond_not_in_the_past(when, now, fires):
    assert grid(when, now) == fires


@pytest.mark.parametrize(
    ("delay", "now", "fires", "deadline"),
    [
        (0.1, 200_000, 300_000, 0.3),
        (0.0, 5, 5, 5e-6),
        (-3.0, 5_000_000, 5_000_000, 2.0),
        (5e-7, 0, 1, 5e-7),
        (6e-7, 0, 1, 6e-7),
        (2e-7, 1_000_000, 1_000_001, 1.0000002),
        (1 / 3, 0, 333_333, 1 / 3),
        (1.0 + 5e-10, 0, 1_000_000, 1.0),
        (1.0 + 2e-9, 0, 1_000_000, 1.0 + 2e-9),
    ],
)
def test_a_delay_is_added_in_whole_microseconds_unless_it_is_a_fraction_of_one(delay, now, fires, deadline):
    assert grid_later(delay, now, now / 1e6) == (fires, deadline)


def test_late_in_a_bubble_the_rounding_of_a_sum_is_larger():
    now = 30_000_000_100_000
    for delay in (0.1, 0.2, 0.3, 0.7, 1.1, 2.3):
        fires, deadline = grid_later(delay, now, now / 1e6)
        assert deadline == fires / 1e6


def test_timers_are_ordered_by_microsecond_then_by_creation(loop):
    def timer(us, order):
        return GridTimer(us, us / 1e6, order, loop.clock, print, (), loop, None)

    assert timer(1, 5) < timer(2, 4)
    assert timer(2, 4) < timer(2, 5)
    assert not timer(2, 5) < timer(2, 4)
    assert not timer(2, 4) < timer(1, 5)
    with pytest.raises(TypeError):
        assert timer(1, 1) < 1


@pytest.mark.parametrize(("exact", "reads"), [(7e-6, 5.5e-6), (4.6e-6, 5e-6), (5.2e-6, 5.2e-6)])
def test_a_timer_that_fires_moves_the_reading_by_half_a_microsecond_at_most(loop, exact, reads):
    loop.clock.move_to(5)
    GridTimer(5, exact, 0, loop.clock, int, (), loop, None)._run()
    assert loop.clock.monotonic() == pytest.approx(reads, abs=1e-12)
