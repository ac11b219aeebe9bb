"""The virtual clock: what it reads, who may move it, and what holds it."""

import asyncio
import math
from datetime import UTC, datetime, timedelta, timezone

import pytest

from fakekube.virtualtime import VirtualClock
from fakekube.virtualtime.clock import EPOCH

YEAR = datetime(2026, 1, 1, tzinfo=UTC)


def test_it_starts_at_the_beginning_of_2026():
    assert VirtualClock().now() == EPOCH == YEAR


def test_its_start_has_a_time_zone_and_is_kept_in_utc():
    with pytest.raises(ValueError, match="is naive"):
        VirtualClock(datetime(2026, 1, 1))
    clock = VirtualClock(datetime(2026, 1, 1, 5, tzinfo=timezone(timedelta(hours=5))))
    assert (clock.epoch, clock.epoch.tzinfo, clock.time()) == (YEAR, UTC, YEAR.timestamp())


@pytest.mark.parametrize("us", [0, 1, 999_999, 1_000_000, 90_061_000_001])
def test_every_reading_follows_from_the_microseconds(us):
    clock = VirtualClock()
    clock.move_to(us)
    assert clock.us == us
    assert clock.now() - YEAR == timedelta(microseconds=us)
    assert clock.time() == YEAR.timestamp() + us / 1e6
    assert clock.monotonic() == us / 1e6
    assert clock.now() == clock.now()


def test_it_moves_forward_only_and_calls_its_listeners_after_each_move():
    clock, seen = VirtualClock(), []
    remove = clock.on_move(lambda: seen.append((clock.us, clock.monotonic())))
    for us in (5_000_000, 5_000_000, 4_000_000, 6_000_000):
        clock.move_to(us)
    remove()
    clock.move_to(7_000_000)
    assert seen == [(5_000_000, 5.0), (6_000_000, 6.0)]


@pytest.mark.parametrize(("reached", "reads"), [(1.0000004, 1.0000004), (1.0, 1.0), (0.5, 1.0)])
def test_it_reads_at_least_the_deadline_of_a_timer_that_has_fired_until_it_moves(reached, reads):
    clock = VirtualClock()
    clock.move_to(1_000_000)
    clock.reach(reached)
    assert (clock.monotonic(), clock.us) == (reads, 1_000_000)
    clock.reach(0.1)
    assert clock.monotonic() == reads
    clock.move_to(1_000_001)
    assert clock.monotonic() == 1.000001


def test_a_clock_without_a_loop_has_no_timers():
    clock = VirtualClock()
    assert clock.next_timers() == ()
    with pytest.raises(RuntimeError, match="has no event loop"):
        clock.call_at(1, print)
    with pytest.raises(RuntimeError, match="another event loop"):
        asyncio.run(clock.sleep_until(1))
    with clock.hold("works without a loop, too"):
        assert clock.is_held()


# --- timers


def test_a_callback_is_called_at_its_deadline(loop):
    called = []
    loop.clock.call_at(2.5, lambda: called.append(loop.clock.us))
    loop.run_until_complete(loop.advance(3))
    assert called == [2_500_000]


def test_a_deadline_that_is_reached_yields_once(loop):
    log = []

    async def other():
        for number in range(3):
            log.append(number)
            await asyncio.sleep(0)

    async def main(deadline):
        task = loop.create_task(other())
        await loop.clock.sleep_until(deadline)
        log.append("here")
        await task

    for deadline in (0, -1):
        loop.run_until_complete(main(deadline))
    assert log == [0, "here", 1, 2] * 2
    assert loop.clock.us == 0


def test_a_sleep_that_is_cancelled_leaves_no_timer(loop):
    async def main():
        task = loop.create_task(loop.clock.sleep_until(10))
        await asyncio.sleep(0)
        assert [timer.after for timer in loop.clock.next_timers()] == [timedelta(seconds=10)]
        task.cancel()
        await asyncio.wait([task])

    loop.run_until_complete(main())
    assert loop.clock.next_timers() == ()
    assert loop.next_timer() is None


def test_the_next_timers_soonest_first(loop):
    timers = [loop.call_at(when, print) for when in (7, 3, 3, *range(11, 23))]
    timers[1].cancel()
    found = loop.clock.next_timers()
    assert [timer.after.seconds for timer in found] == [3, 7, *range(11, 19)]
    assert found[0].at == YEAR + timedelta(seconds=3)
    assert found[0].callback == "builtins.print"
    assert len(loop.clock.next_timers(3)) == 3
    loop.clock.move_to(4_000_000)
    assert [timer.after.seconds for timer in loop.clock.next_timers(2)] == [0, 3]
    for timer in timers:
        timer.cancel()


def test_cancelled_timers_before_the_next_one_are_dropped(loop):
    first, second, third = (loop.call_at(when, print) for when in (1, 2, 3))
    first.cancel()
    second.cancel()
    assert loop.next_timer() == 3_000_000
    assert (loop._timer_cancelled_count, len(loop._scheduled)) == (0, 1)
    third.cancel()
    assert loop.next_timer() is None
    assert (loop._timer_cancelled_count, first._scheduled) == (0, False)


# --- holds


def test_holds_are_listed_while_they_last(loop):
    clock = loop.clock
    assert (clock.is_held(), clock.holds, list(clock.busy_reasons())) == (False, (), [])
    with clock.hold("one"), clock.hold("other"):
        assert clock.is_held()
        assert clock.holds == ("one", "other")
        assert list(clock.busy_reasons()) == ["time is held: one", "time is held: other"]
    assert not clock.is_held()


@pytest.mark.parametrize(
    ("options", "endless"), [({}, False), ({"endless": True}, True), ({"seconds": 50}, True), ({"seconds": 0}, True)]
)
def test_the_patience_counts_for_holds_that_have_no_end_of_their_own(options, endless):
    clock = VirtualClock()
    with clock.hold("reason", **options):
        assert clock.is_held_endlessly() is endless
        with clock.hold("short"):
            assert clock.is_held_endlessly() is endless
    assert not clock.is_held_endlessly()


def test_what_is_overdue_ends_and_the_rest_is_the_shortest():
    clock, ended = VirtualClock(), []
    with clock.hold("endless", endless=True):
        assert clock.expire_holds() == math.inf
        with clock.hold("long", seconds=100, expired=lambda: ended.append("long")), clock.hold("short", seconds=50):
            assert 40 < clock.expire_holds() <= 50
            assert (ended, clock.expired) == ([], [])
            with clock.hold("over", seconds=0, expired=lambda: ended.append("over")), clock.hold("past", seconds=-5):
                assert clock.expire_holds() == 0
    assert (ended, clock.expired) == (["over"], ["over"])


def test_the_end_of_a_hold_wakes_its_loop(loop):
    calls = []
    loop._write_to_self = lambda: calls.append(1)
    with loop.clock.hold("a"):
        assert calls == []
    assert calls == [1]
    del loop._write_to_self
