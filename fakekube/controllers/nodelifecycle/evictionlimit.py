"""How fast the nodes of a zone are tainted NoExecute (`RateLimitedTimedQueue` and its token bucket of one token)."""

from __future__ import annotations

from datetime import datetime, timedelta

from fakekube.struct import Struct, field


class ZoneTainter(Struct):
    """The nodes of a zone that are to be tainted, in order.

    `rate`: nodes a second, 0: none. A node that was tainted is not added again until it is removed.
    """

    rate: float
    waiting: dict[str, None] = field(default_factory=dict)
    done: set[str] = field(default_factory=set)
    _next: datetime | None = None

    def add(self, node: str) -> None:
        if node not in self.done:
            self.waiting.setdefault(node)

    def remove(self, node: str) -> None:
        self.waiting.pop(node, None)
        self.done.discard(node)

    def set_rate(self, rate: float) -> None:
        self.rate = rate

    def take(self, now: datetime) -> str | None:
        """The next node to taint, None if there is none or it is too early."""
        if not self.waiting or self.rate <= 0 or (self._next is not None and now < self._next):
            return None
        node = next(iter(self.waiting))
        del self.waiting[node]
        self.done.add(node)
        self._next = now + timedelta(seconds=1 / self.rate)
        return node

    @property
    def due(self) -> datetime | None:
        """When the next node may be tainted, None if none waits or the zone is stopped."""
        return self._next if self.waiting and self.rate > 0 else None
