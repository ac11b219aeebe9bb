"""`settle` and `advance` work the same in sync and async tests, and stop at each timer."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from fakekube.virtualtime import Bubble


class Ticker:
    """Ticks every `period` seconds, and needs a few turns of the loop for it."""

    def __init__(self, bubble, period):
        self.bubble, self.period, self.ticks = bubble, period, []

    async def run(self):
        while True:
            await asyncio.sleep(self.period)
            for _ in range(10):
                await asyncio.sleep(0)
            self.ticks.append(self.bubble.clock.monotonic())


@pytest.fixture
def ticker(bubble):
    ticker = Ticker(bubble, 10)
    bubble.loop.create_task(ticker.run())
    return ticker


def test_advance_stops_at_each_timer_and_lands_on_its_target(bubble, ticker):
    bubble.advance(34.5)
    assert ticker.ticks == [10, 20, 30]
    assert bubble.clock.monotonic() == 34.5


def test_advance_settles_at_its_target(bubble, ticker):
    bubble.advance(10)
    assert ticker.ticks == [10]


def test_settle_runs_everything_and_does_not_move_time(bubble):
    done = asyncio.Event()

    async def work():
        for _ in range(1000):
            await asyncio.sleep(0)
        done.set()

    bubble.loop.create_task(work())
    bubble.settle()
    assert done.is_set()
    assert bubble.clock.us == 0


def test_advance_takes_units_and_go_durations(bubble):
    bubble.advance(hours=1, minutes=30)
    bubble.advance("30m")
    bubble.advance(timedelta(hours=1))
    assert bubble.clock.now() == datetime(2026, 1, 1, 3, tzinfo=UTC)


def test_advance_to_a_moment(bubble, ticker):
    bubble.advance_to(datetime(2026, 1, 1, 0, 1, tzinfo=UTC))
    assert len(ticker.ticks) == 6
    with pytest.raises(ValueError, match="has passed"):
        bubble.advance_to(datetime(2026, 1, 1, tzinfo=UTC))
    with pytest.raises(ValueError, match="aware"):
        bubble.advance_to(datetime(2027, 1, 1))


def test_advance_until_stops_where_it_becomes_true(bubble, ticker):
    bubble.advance_until(lambda: len(ticker.ticks) == 3, timeout="1h")
    assert bubble.clock.monotonic() == 30


def test_advance_until_raises_at_exactly_its_timeout(bubble, ticker):
    with pytest.raises(TimeoutError, match="still false after 25"):
        bubble.advance_until(lambda: len(ticker.ticks) == 3, timeout=25)
    assert bubble.clock.monotonic() == 25


def test_advance_until_with_nothing_to_wait_for(bubble):
    with pytest.raises(TimeoutError):
        bubble.advance_until(lambda: False, timeout="24h")
    assert bubble.clock.monotonic() == 86_400


def test_the_same_names_are_awaited_in_an_async_test(bubble, ticker):
    async def test():
        await bubble.settle()
        await bubble.advance(25)
        assert ticker.ticks == [10, 20]
        await bubble.advance_to(datetime(2026, 1, 1, 0, 0, 30, tzinfo=UTC))
        assert ticker.ticks == [10, 20, 30]
        await bubble.advance_until(lambda: len(ticker.ticks) == 5, timeout=60)

        async def sixth():
            return len(ticker.ticks) == 6

        await bubble.advance_until(sixth, timeout=60)

    bubble.run(test())
    assert bubble.clock.monotonic() == 60


def test_time_advances_while_an_async_test_waits(bubble, ticker):
    async def test():
        await asyncio.sleep(3600)
        return len(ticker.ticks)

    assert bubble.run(test()) == 359  # the 360th is due at the same instant, and the test was there first


def test_settle_comes_before_any_jump(bubble, ticker):
    async def test():
        sleeping = asyncio.create_task(asyncio.sleep(1))
        await bubble.settle()
        assert not sleeping.done()
        assert bubble.clock.us == 0

    bubble.run(test())


def test_two_concurrent_advances_share_their_stops(bubble, ticker):
    async def goes(duration):
        await bubble.advance(duration)
        return bubble.clock.monotonic(), len(ticker.ticks)

    async def test():
        return await asyncio.gather(goes(10), goes(25))

    assert bubble.run(test()) == [(10, 1), (25, 2)]


def test_the_error_of_an_async_test_is_its_own(bubble):
    async def test():
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        bubble.run(test())


def test_only_the_test_moves_time(bubble):
    refused = []

    def work():
        try:
            bubble.advance(1)
        except RuntimeError as error:
            refused.append(str(error))

    bubble.thread(work)
    bubble.settle()
    assert refused == ["only the test itself may settle or move time: its thread runs the loop"]


def test_a_hold_stops_time_until_it_is_released(bubble):
    async def test():
        seen = []

        async def job():
            with bubble.clock.hold("a job elsewhere"):
                assert bubble.clock.holds == ("a job elsewhere",)
                await asyncio.get_running_loop().run_in_executor(None, lambda: None)
                seen.append(bubble.clock.us)

        working = asyncio.create_task(job())
        await asyncio.sleep(5)
        await working
        return seen

    assert bubble.run(test()) == [0]


def test_the_clock_calls_its_listeners(bubble):
    moves = []
    end = bubble.clock.on_move(lambda: moves.append(bubble.clock.monotonic()))
    bubble.loop.call_later(3, lambda: None)
    bubble.advance(5)
    end()
    bubble.advance(5)
    assert moves == [3, 5]


def test_why_names_tasks_timers_and_holds(bubble):
    async def waits_for_godot():
        await asyncio.Event().wait()

    bubble.loop.create_task(waits_for_godot(), name="estragon")
    bubble.loop.call_later(60, waits_for_godot)
    bubble.settle()
    why = bubble.why()
    assert (
        "waiting: estragon (test_why_names_tasks_timers_and_holds.<locals>.waits_for_godot) at test_advance.py" in why
    )
    assert "next: 0:01:00 " in why
    with bubble.clock.hold("the door is closed"):
        assert "held: the door is closed" in bubble.why()


@pytest.mark.parametrize("epoch", [datetime(2030, 6, 1, tzinfo=UTC)])
def test_the_epoch_can_be_chosen(epoch):
    with Bubble(wall_clock=False, epoch=epoch) as bubble:
        bubble.advance(1)
        assert bubble.clock.now() == epoch + timedelta(seconds=1)
        assert bubble.clock.time() == epoch.timestamp() + 1
