"""What happens to the stream of one watch: it ends early, waits, or falls behind the history."""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatchcase

from fakekube.struct import Struct


class WatchFault(Struct):
    """The fault of one watch, and how many events it has delivered.

    The stream ends after `cut_after` events, or before an event that matches `cut_at` ("TYPE NAME", shell patterns);
    with `reset` the connection breaks instead. After `hold_after` events nothing is delivered as long as `holds()`.
    After `gone_after` events the history is compacted when there are further ones, so that the watch gets 410. Each
    event is delayed by `delay` seconds. Bookmarks do not count.
    """

    cut_after: int | None = None
    cut_at: str = ""
    reset: bool = False
    hold_after: int | None = None
    gone_after: int | None = None
    delay: float = 0.0
    holds: Callable[[], bool] = bool
    delivered: int = 0

    def ends_before(self, type: str, name: str) -> bool:
        """Whether the stream ends before this event."""
        wanted, _, pattern = self.cut_at.partition(" ")
        return bool(self.cut_at) and fnmatchcase(type, wanted) and fnmatchcase(name, pattern or "*")

    def ends_now(self) -> bool:
        """Whether the stream ends, after the events that it has delivered."""
        return self.cut_after is not None and self.delivered >= self.cut_after

    def is_held(self) -> bool:
        return self.hold_after is not None and self.delivered >= self.hold_after and self.holds()

    def is_gone(self) -> bool:
        """Whether the history is compacted before the next event is delivered."""
        return self.gone_after is not None and self.delivered >= self.gone_after
