"""Backoff sequences, retries, the token bucket, and clocks."""

import asyncio
from collections.abc import Sequence

import pytest

from controllerlib.backoff import REFLECTOR, Backoff, DelayWithReset, KeyedBackoff
from controllerlib.client.errors import ApiError
from controllerlib.client.retry import DEFAULT_BACKOFF, retry_on_conflict
from controllerlib.clock import SystemClock, monotonic_reader
from controllerlib.random import FixedRandom
from controllerlib.ticker import Ticker
from controllerlib.wait import TimedOut, exponential_backoff, poll, until
from controllerlib.workqueue.tokenbucket import TokenBucket
from fakekube.virtualtime import VirtualTimeLoop

BASE = [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30, 30, 30]


def loop() -> VirtualTimeLoop:
    running = asyncio.get_running_loop()
    assert isinstance(running, VirtualTimeLoop)
    return running


def conflict() -> ApiError:
    return ApiError(409, "Conflict", "the object has been modified")


@pytest.mark.parametrize(
    ("step", "fires"), [pytest.param(5.0, True, id="CK-01-at-5"), pytest.param(4.999, False, id="CK-01-before")]
)
async def test_a_timer_fires_at_its_deadline_and_not_before(step: float, fires: bool) -> None:
    task = asyncio.create_task(SystemClock().sleep_until(5.0))
    await loop().settle()
    await loop().advance(step)
    assert task.done() is fires


def test_ck_02_ticks_missed_in_one_step_are_merged() -> None:
    ticker = Ticker(10.0, 0.0)
    assert [ticker.tick(35.0), ticker.tick(35.0), ticker.next] == [True, False, 40.0]


async def test_ck_02_run_to_quiescence_every_tick_fires() -> None:
    ticks: list[float] = []
    task = asyncio.create_task(until(lambda: ticks.append(loop().time()), 10.0))
    await loop().settle()
    await loop().advance(35)
    assert ticks == [0.0, 10.0, 20.0, 30.0]
    task.cancel()


async def test_ck_03_simultaneous_timers_fire_in_the_order_of_creation() -> None:
    fired: list[int] = []

    async def sleeper(number: int) -> None:
        await SystemClock().sleep_until(3.0)
        fired.append(number)

    tasks = [asyncio.create_task(sleeper(number)) for number in range(20)]
    await asyncio.gather(*tasks)
    assert fired == list(range(20))


@pytest.mark.parametrize(
    ("backoff", "fraction", "delays"),
    [
        pytest.param(Backoff(0.8, 2, 0, 38, 30), 0.0, BASE, id="BO-01"),
        pytest.param(REFLECTOR, 0.5, [1.5 * delay for delay in BASE], id="BO-02"),
        pytest.param(Backoff(2.0, 0, 0, 3), 0.0, [2.0] * 5, id="BO-05"),
    ],
)
def test_the_sequence_of_delays(backoff: Backoff, fraction: float, delays: Sequence[float]) -> None:
    backoff = backoff.copy()
    assert [backoff.step(fraction) for _ in delays] == pytest.approx(delays)


def test_bo_03_delays_start_over_once_two_minutes_passed() -> None:
    delay, now, delays = DelayWithReset(REFLECTOR, 120.0, 0.0), 0.0, []
    for _ in range(10):
        delays.append(delay.next(now))
        now += delays[-1]
    assert delays == pytest.approx([*BASE, 0.8])


def test_bo_04_exactly_two_minutes_is_not_yet_over() -> None:
    delay = DelayWithReset(REFLECTOR, 120.0, 0.0)
    assert [delay.next(0.0), delay.next(120.0), delay.next(120.001)] == [0.8, 1.6, 0.8]


def test_bo_06_each_id_doubles_up_to_its_longest() -> None:
    backoff, seen = KeyedBackoff(1.0, 50.0), []
    for second in range(10):
        seen.append(backoff.get("a"))
        backoff.next("a", second, second)
    assert seen == [0, 1, 2, 4, 8, 16, 32, 50, 50, 50]


def grown(longest: float) -> KeyedBackoff:
    backoff = KeyedBackoff(1.0, longest)
    for _ in range(4):
        backoff.next("a", 0.0, 0.0)
    return backoff


def test_bo_07_the_high_water_mark_is_kept_for_twice_the_longest() -> None:
    backoff = grown(5.0)
    assert backoff.get("a") == 5.0
    backoff.next("a", 6.0, 6.0)
    assert backoff.get("a") == 5.0
    assert not backoff.is_in_backoff_since("a", 17.1, 17.1)


def test_bo_08_collecting_drops_only_what_expired() -> None:
    backoff = grown(5.0)
    backoff.collect(6.0)
    assert "a" in backoff
    backoff.collect(12.0)
    assert "a" not in backoff


def test_bo_09_reset() -> None:
    backoff = grown(5.0)
    backoff.reset("a")
    assert backoff.get("a") == 0.0


def test_bo_10_polled_each_second() -> None:
    backoff, free, reads = KeyedBackoff(1.0, 10.0), [], []
    for tick in range(35):
        reads.append(backoff.get("a"))
        if not backoff.is_in_backoff_since_update("a", tick):
            free.append(tick)
            backoff.next("a", tick, tick)
    assert free == [0, 1, 3, 7, 15, 25]
    assert reads[:8] == [0, 1, 2, 2, 4, 4, 4, 4]
    assert reads[8:16] == [8] * 8
    assert set(reads[16:]) == {10}


def test_bo_11_jitter_only_lengthens() -> None:
    backoff, before = KeyedBackoff(1.0, 60.0, jitter=0.1, fraction=lambda attempt: (attempt % 10) / 10), 0.0
    backoff.next("a", 0.0, 0.0)
    for _ in range(8):
        before = backoff.get("a")
        backoff.next("a", 0.0, 0.0)
        now = backoff.get("a")
        assert 2 * before <= now <= 2.1 * before or now == 60.0


def test_bo_12_custom_expiry() -> None:
    backoff = KeyedBackoff(1.0, 50.0, expired=lambda event, updated, longest: event - updated >= 8)
    backoff.next("a", 0.0, 0.0)
    backoff.next("a", 5.0, 5.0)
    assert backoff.get("a") == 2.0
    backoff.next("a", 14.0, 14.0)
    assert backoff.get("a") == 1.0


class Attempts:
    """A function that raises scripted errors and records its call times."""

    def __init__(self, *errors: Exception | None) -> None:
        self._errors, self.at = errors, list[float]()

    async def __call__(self) -> str:
        self.at.append(loop().time())
        error = self._errors[min(len(self.at), len(self._errors)) - 1]
        if error is not None:
            raise error
        return "done"


async def test_bo_13_conflicts_are_tried_five_times() -> None:
    attempts = Attempts(conflict())
    with pytest.raises(ApiError, match="modified"):
        await retry_on_conflict(attempts, random=FixedRandom())
    assert attempts.at == pytest.approx([0, 0.01, 0.02, 0.03, 0.04])


async def test_bo_14_other_errors_are_not_retried() -> None:
    attempts = Attempts(conflict(), ValueError("other"))
    with pytest.raises(ValueError, match="other"):
        await retry_on_conflict(attempts, random=FixedRandom())
    assert len(attempts.at) == 2


async def test_bo_15_the_longer_preset() -> None:
    attempts = Attempts(conflict())
    with pytest.raises(ApiError):
        await retry_on_conflict(attempts, DEFAULT_BACKOFF, random=FixedRandom())
    assert attempts.at == pytest.approx([0, 0.01, 0.06, 0.31])


async def test_bo_16_no_steps_no_call() -> None:
    calls: list[int] = []
    with pytest.raises(TimedOut):
        await exponential_backoff(Backoff(1.0, steps=0), lambda: bool(calls.append(1)))
    assert calls == []


def test_bo_17_token_bucket() -> None:
    bucket = TokenBucket(10.0, 100)
    assert [bucket.reserve(0.0) for _ in range(102)] == [0.0] * 100 + [0.1, 0.2]
    assert bucket.level(1.0) == 8.0
    assert TokenBucket(10.0, 0).reserve(0.0) == float("inf")


@pytest.mark.parametrize(
    ("true_at", "immediate", "asked"),
    [(0.0, True, [0.0]), (2.5, True, [0.0, 1.0, 2.0, 3.0]), (0.0, False, [1.0])],
)
async def test_polling_keeps_its_interval(true_at: float, immediate: bool, asked: Sequence[float]) -> None:
    seen: list[float] = []

    def condition() -> bool:
        seen.append(loop().time())
        return loop().time() >= true_at

    await poll(condition, 1.0, 10.0, immediate=immediate)
    assert seen == asked


async def test_polling_at_the_deadline_is_too_late() -> None:
    seen: list[float] = []
    with pytest.raises(TimedOut):
        await poll(lambda: bool(seen.append(loop().time())), 1.0, 3.0)
    assert seen == [0.0, 1.0, 2.0]
    assert loop().time() == 3.0


async def test_a_clock_of_the_user_is_read_instead_of_the_loop() -> None:
    class Fixed(SystemClock):
        def monotonic(self) -> float:
            return 7.0

    assert monotonic_reader(Fixed())() == 7.0
    assert monotonic_reader(SystemClock()) == asyncio.get_running_loop().time
