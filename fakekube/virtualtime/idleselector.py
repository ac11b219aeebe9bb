"""The selector of a virtual-time loop: instead of blocking, it asks what may happen next."""

import selectors
from collections.abc import Callable
from typing import Any, Protocol

Events = list[tuple[selectors.SelectorKey, int]]

#: At every so manyth poll the wake-up pipe is really looked at when there is nothing else.
_GLANCE = 32


class Poll(Protocol):
    """A real look at the file descriptors, for at most `timeout` real seconds."""

    def __call__(self, timeout: float) -> Events: ...


class IdleSelector(selectors.DefaultSelector):
    """Polls while the loop has something to run; calls `idle` when it has not."""

    def __init__(self) -> None:
        super().__init__()
        self._turn: Callable[[], None] = _nothing
        self._idle: Callable[[Poll], Events] | None = None
        self._unlooked = 0
        #: whether more than the loop's own wake-up pipe is registered
        self._has_others = False
        #: whether the loop hears of signals by that pipe
        self.awaits_signals = False

    def attach(self, turn: Callable[[], None], idle: Callable[[Poll], Events]) -> None:
        """`turn` is called on each busy turn of the loop, `idle` where a stock loop would block."""
        self._turn, self._idle = turn, idle

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        key = super().register(fileobj, events, data)
        self._has_others = len(self.get_map()) > 1
        return key

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        key = super().unregister(fileobj)
        self._has_others = len(self.get_map()) > 1
        return key

    def poll(self, timeout: float) -> Events:
        if timeout == 0 and not self._has_others and not self.awaits_signals:
            # only the loop's own wake-up pipe, and what a thread hands over is seen without it
            self._unlooked += 1
            if self._unlooked < _GLANCE:
                return []
            self._unlooked = 0
        return super().select(timeout)

    def select(self, timeout: float | None = None) -> Events:
        if timeout is not None and timeout <= 0:
            self._turn()
            # the loop's own wake-up pipe is always there and needs no look while the loop is awake
            return super().select(0) if self._has_others else []
        if self._idle is None:
            return super().select(timeout)
        return self._idle(self.poll)

    def detach(self) -> None:
        """Forget the loop (it and its selector know each other: a cycle)."""
        self._turn, self._idle = _nothing, None


def _nothing(*_: Any) -> None:
    return None
