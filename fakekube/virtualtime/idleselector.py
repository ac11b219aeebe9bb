"""The selector of a virtual-time loop: instead of blocking, it calls back to decide what happens next."""

import selectors
from collections.abc import Callable
from typing import Any, Protocol

Events = list[tuple[selectors.SelectorKey, int]]

#: Poll the wake-up pipe only every so many polls while it is the only descriptor.
_POLL_EVERY = 32

#: A bubble patches the method of the class.
_select = selectors.DefaultSelector.select


class Poll(Protocol):
    """Polls the file descriptors for at most `timeout` real seconds."""

    def __call__(self, timeout: float) -> Events: ...


class IdleSelector(selectors.DefaultSelector):
    """Polls while the loop has something to run; calls `idle` when it has not."""

    def __init__(self) -> None:
        super().__init__()
        self._turn: Callable[[], None] = _nothing
        self._idle: Callable[[Poll], Events] | None = None
        self._skipped = 0
        #: whether more than the loop's own wake-up pipe is registered
        self._has_others = False
        #: whether signal handlers are installed, which asyncio calls through the wake-up pipe
        self.awaits_signals = False
        #: changes each time that callbacks begin and end to run; odd while they run
        self.beat: int = 0

    def attach(self, turn: Callable[[], None], idle: Callable[[Poll], Events]) -> None:
        """`turn` is called after each turn of the loop that ran something, `idle` where a stock loop would block."""
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
            # only the wake-up pipe is registered, and callbacks of other threads are found in `_ready` without it
            self._skipped += 1
            if self._skipped < _POLL_EVERY:
                return []
            self._skipped = 0
        return _select(self, timeout)

    def select(self, timeout: float | None = None) -> Events:
        self.beat = (self.beat | 1) + 1
        try:
            if timeout is not None and timeout <= 0:
                self._turn()
                # the wake-up pipe is always registered, and need not be polled while the loop is awake
                return _select(self, 0) if self._has_others else []
            if self._idle is None:
                return _select(self, timeout)
            return self._idle(self.poll)
        finally:
            self.beat += 1

    def detach(self) -> None:
        """Drop the callbacks, which refer to the loop: breaks a reference cycle."""
        self._turn, self._idle = _nothing, None


def _nothing(*_: Any) -> None:
    return None
