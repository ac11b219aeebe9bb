"""Retries of requests, mainly after conflicts (client-go: util/retry)."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from controllerlib.backoff import Backoff
from controllerlib.client.errors import is_conflict
from controllerlib.clock import Clock
from controllerlib.random import Random
from controllerlib.wait import TimedOut, exponential_backoff

T = TypeVar("T")

#: Five attempts 10 ms apart (retry.DefaultRetry): for conflicts with occasional writers.
DEFAULT_RETRY = Backoff(duration=0.01, factor=1.0, jitter=0.1, steps=5)
#: Four attempts after 10, 50 and 250 ms (retry.DefaultBackoff): for conflicts with frequent writers.
DEFAULT_BACKOFF = Backoff(duration=0.01, factor=5.0, jitter=0.1, steps=4)


async def retry_on_error(
    func: Callable[[], Awaitable[T]],
    retriable: Callable[[BaseException], bool],
    backoff: Backoff = DEFAULT_RETRY,
    *,
    clock: Clock | None = None,
    random: Random | None = None,
) -> T:
    """Return the result of `func`; `retriable` errors are retried, and the last of them is raised at the end."""
    last: Exception | None = None
    answer: list[T] = []

    async def attempt() -> bool:
        nonlocal last
        try:
            answer.append(await func())
        except Exception as error:  # `retriable` decides; other errors propagate
            if not retriable(error):
                raise
            last = error
            return False
        return True

    try:
        await exponential_backoff(backoff, attempt, clock=clock, random=random)
    except TimedOut:
        if last is not None:
            raise last from None
        raise
    return answer[0]


async def retry_on_conflict(
    func: Callable[[], Awaitable[T]],
    backoff: Backoff = DEFAULT_RETRY,
    *,
    clock: Clock | None = None,
    random: Random | None = None,
) -> T:
    """`retry_on_error` for conflicts; `func` must read, change and write the object."""
    return await retry_on_error(func, is_conflict, backoff, clock=clock, random=random)
