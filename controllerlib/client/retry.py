"""Retrying requests, above all on conflicts (client-go: util/retry)."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from controllerlib.backoff import Backoff
from controllerlib.client.errors import is_conflict
from controllerlib.clock import Clock
from controllerlib.random import Random
from controllerlib.wait import TimedOut, exponential_backoff

T = TypeVar("T")

#: Five tries 10 ms apart (retry.DefaultRetry): for conflicts that are soon over.
DEFAULT_RETRY = Backoff(duration=0.01, factor=1.0, jitter=0.1, steps=5)
#: Four tries after 10, 50 and 250 ms (retry.DefaultBackoff): for conflicts with busy writers.
DEFAULT_BACKOFF = Backoff(duration=0.01, factor=5.0, jitter=0.1, steps=4)


async def retry_on_error(
    func: Callable[[], Awaitable[T]],
    retriable: Callable[[BaseException], bool],
    backoff: Backoff = DEFAULT_RETRY,
    *,
    clock: Clock | None = None,
    random: Random | None = None,
) -> T:
    """What `func` returns; errors that are `retriable` are tried again, and the last of them is raised in the end."""
    last: Exception | None = None
    answer: list[T] = []

    async def attempt() -> bool:
        nonlocal last
        try:
            answer.append(await func())
        except Exception as error:  # whoever calls says which errors count; the others pass
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
    """`retry_on_error` for conflicts: read, change and write inside `func`."""
    return await retry_on_error(func, is_conflict, backoff, clock=clock, random=random)
