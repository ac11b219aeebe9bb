"""Periodic work, polling, retries with backoff, and bounded parallelism (apimachinery: util/wait)."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from controllerlib.backoff import Backoff, jitter
from controllerlib.clock import Clock, Deadline, SystemClock, sleep
from controllerlib.random import Random, SystemRandom
from controllerlib.tasks import OnceEvent, Tasks
from controllerlib.ticker import Ticker

__all__ = ["Backoff", "Condition", "Tasks", "TimedOut", "exponential_backoff", "parallelize", "poll", "until"]


T = TypeVar("T")
Condition = Callable[[], Awaitable[bool] | bool]


class TimedOut(TimeoutError):
    """The steps or the time are used up (apimachinery: wait.ErrWaitTimeout)."""

    def __init__(self) -> None:
        super().__init__("timed out waiting for the condition")


async def _is_true(condition: Condition) -> bool:
    answer = condition()
    return bool(await answer if inspect.isawaitable(answer) else answer)


async def until(
    work: Callable[[], Awaitable[None] | None],
    period: float,
    *,
    clock: Clock | None = None,
    random: Random | None = None,
    jitter_factor: float = 0.0,
    sliding: bool = True,
) -> None:
    """Call `work` at once and then every `period` seconds, until cancelled (wait.UntilWithContext).

    With `sliding` the period starts when `work` returns, otherwise when it is called. `jitter_factor` extends each
    period by up to that fraction of it.
    """
    clock, random, attempt = clock or SystemClock(), random or SystemRandom(), 0
    while True:
        attempt += 1
        began = clock.monotonic()
        answer = work()
        if answer is not None:
            await answer
        wait = period
        if jitter_factor > 0:
            wait = jitter(period, jitter_factor, random.fraction("until", "", attempt))
        await clock.sleep_until((clock.monotonic() if sliding else began) + wait)


async def poll(
    condition: Condition, interval: float, timeout: float, *, immediate: bool = True, clock: Clock | None = None
) -> None:
    """Call `condition` every `interval` seconds until it returns true; raise TimedOut after `timeout` seconds.

    The interval does not include the duration of `condition`. A tick that coincides with the timeout is not used.
    """
    clock = clock or SystemClock()
    began = clock.monotonic()
    ticker, end = Ticker(interval, began), began + timeout
    try:
        async with Deadline(clock, end):
            if immediate and await _is_true(condition):
                return
            while True:
                await clock.sleep_until(min(ticker.next, end))
                if clock.monotonic() >= end:
                    raise TimedOut
                if ticker.tick(clock.monotonic()) and await _is_true(condition):
                    return
    except TimeoutError:
        raise TimedOut from None


async def exponential_backoff(
    backoff: Backoff, condition: Condition, *, clock: Clock | None = None, random: Random | None = None
) -> None:
    """Call `condition` at most `backoff.steps` times with growing delays; raise TimedOut if it never returns true."""
    clock, random, backoff, attempt = clock or SystemClock(), random or SystemRandom(), backoff.copy(), 0
    while backoff.steps > 0:
        if await _is_true(condition):
            return
        if backoff.steps == 1:
            break
        attempt += 1
        await sleep(clock, backoff.step(random.fraction("backoff", "", attempt)))
    raise TimedOut


async def parallelize(workers: int, pieces: int, work: Callable[[int], Any], *, chunk: int = 1) -> int:
    """Call `work` with 0..pieces-1, in chunks, in at most `workers` tasks (client-go: workqueue.ParallelizeUntil).

    `work` may be a coroutine function. Returns the number of chunks. After a cancellation or an error no further piece
    is started.
    """
    chunks = [range(start, min(start + chunk, pieces)) for start in range(0, pieces, chunk)]
    waiting = iter(chunks)
    stopped = OnceEvent()

    async def worker() -> None:
        for some in waiting:
            for piece in some:
                if stopped.is_set():
                    return
                answer = work(piece)
                if inspect.isawaitable(answer):
                    await answer

    tasks = [asyncio.get_running_loop().create_task(worker()) for _ in range(min(workers, len(chunks)))]
    try:
        for task in tasks:
            await task
    except BaseException:
        stopped.set()
        for task in tasks:
            task.cancel()
        raise
    return len(chunks)
