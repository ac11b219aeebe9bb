"""Delays that double for each failure of a key, until a long pause (client-go: `flowcontrol.Backoff`)."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from controllerlib.clock import Clock


@dataclass(slots=True)
class KeyBackoff:
    """`first` and `longest`: the delays in seconds after the first failure, and at most."""

    clock: Clock
    first: float
    longest: float
    _entries: dict[Hashable, tuple[float, float]] = field(default_factory=dict, init=False)

    def delay(self, key: Hashable) -> float:
        """The present delay of a key, 0 without a failure."""
        entry = self._entries.get(key)
        return 0.0 if entry is None else entry[0]

    def is_waiting(self, key: Hashable) -> bool:
        """Whether the delay since the last failure is not over."""
        entry = self._entries.get(key)
        return entry is not None and self._since(entry) < entry[0]

    def failed(self, key: Hashable) -> None:
        """Note a failure, which doubles the delay."""
        entry = self._entries.get(key)
        expired = entry is None or self._since(entry) > 2 * self.longest
        delay = self.first if entry is None or expired else min(2 * entry[0], self.longest)
        self._entries[key] = (delay, self.clock.monotonic())

    def _since(self, entry: tuple[float, float]) -> float:
        return self.clock.monotonic() - entry[1]
