"""Patches `asyncio.as_completed`: in the bubble, it starts coroutines in an order that is the same in each run.

asyncio starts them in the order of a set, which is that of their addresses in memory. Here they start in the order in
which they are given; those of a set, whose order is unknown, in that of their names and arguments.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator
from collections.abc import Set as AbstractSet
from typing import Any

from fakekube.virtualtime import describe
from fakekube.virtualtime.loop import VirtualTimeLoop
from fakekube.virtualtime.patches.patch import Patch


class TaskOrderPatches:
    def __init__(self, loop: VirtualTimeLoop) -> None:
        self._loop = loop

    def patches(self) -> Iterator[Patch]:
        replacement = self._as_completed(asyncio.as_completed)
        yield Patch(asyncio.tasks, "as_completed", replacement)
        yield Patch(asyncio, "as_completed", replacement)

    def _as_completed(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def as_completed(fs: Iterable[Any], **options: Any) -> Any:
            in_bubble = asyncio._get_running_loop() is self._loop or self._loop.threads.current() is not None
            if not in_bubble or asyncio.isfuture(fs) or asyncio.iscoroutine(fs):
                return real(fs, **options)
            return real([asyncio.ensure_future(each) for each in _ordered(fs)], **options)

        return as_completed


def _ordered(awaitables: Iterable[Any]) -> Collection[Any]:
    """Each once."""
    if isinstance(awaitables, AbstractSet):
        return sorted(awaitables, key=_description)
    return dict.fromkeys(awaitables)


def _description(awaitable: Any) -> tuple[int, str]:
    """The number of a task, the name and the arguments of a coroutine."""
    if isinstance(awaitable, asyncio.Task):
        return describe.number(awaitable)
    frame = getattr(awaitable, "cr_frame", None)
    arguments = {} if frame is None else frame.f_locals
    plain = sorted((name, repr(value)) for name, value in arguments.items() if isinstance(value, str | int))
    return 0, f"{getattr(awaitable, '__qualname__', '')} {plain}"
