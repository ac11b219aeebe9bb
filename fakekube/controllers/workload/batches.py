"""Creating in batches that grow, so that a denial is met by one request and not by all (`slowStartBatch`)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

#: The size of the first batch; each further one is twice as large (controller.SlowStartInitialBatchSize).
INITIAL_BATCH = 1


async def slow_start(number: int, work: Callable[[int], Awaitable[None]]) -> tuple[int, Exception | None]:
    """Call `work(index)` for `number` indices in batches of 1, 2, 4, ...; the batch with an error is the last one.

    Returns how many calls have succeeded, and the first error.
    """
    succeeded, size = 0, min(number, INITIAL_BATCH)
    index = 0
    while size > 0:
        outcomes = await asyncio.gather(*(work(index + one) for one in range(size)), return_exceptions=True)
        errors = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
        succeeded += size - len(errors)
        for error in errors:
            if not isinstance(error, Exception):
                raise error
            return succeeded, error
        index += size
        size = min(2 * size, number - index)
    return succeeded, None
