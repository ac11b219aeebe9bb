"""Decisions of the reflector: which resourceVersion to use, when to retry, and the timeout of a watch."""

from dataclasses import dataclass, field


class VeryShortWatch(Exception):
    """A watch ended within a second without an event (client-go: VeryShortWatchError)."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"very short watch: {name}: Unexpected watch close - watch lasted less than a second and no items received"
        )


@dataclass(slots=True)
class WatchVersion:
    """The resourceVersion of a watch. From "" or "0" the initial ADDED events are unordered and do not change it."""

    requested: str
    _synthetic: bool = field(init=False)

    def __post_init__(self) -> None:
        self._synthetic = self.requested in ("", "0")

    def after(self, event: str, version: str) -> str | None:
        """Return the resourceVersion after an event; None if it is not known yet."""
        if self._synthetic:
            if event == "ADDED":
                return None
            self._synthetic = False
        return version


@dataclass(slots=True)
class RetryWithDeadline:
    """Allows retries for `longest` seconds after the first error; 0: never (client-go: retryWithDeadline).

    A minute without an error ends the period as well.
    """

    longest: float
    idle: float = 60.0
    _first: float | None = None
    _last: float | None = None

    def after(self, retriable: bool, now: float) -> None:
        """Record an error; one that is not retriable neither starts nor extends the period."""
        if retriable:
            self._first = now if self._first is None else self._first
            self._last = now

    def should_retry(self, now: float) -> bool:
        """Return whether to retry; a period that has ended is reset."""
        if self.longest <= 0 or self._first is None or self._last is None:
            return False
        if now - self._last <= self.idle and now - self._first <= self.longest:
            return True
        self._first = self._last = None
        return False


def watch_timeout(minimum: float, fraction: float) -> int:
    """Return the timeout of a watch in whole seconds, between `minimum` (at least 300) and twice that."""
    least = max(minimum, 300.0)
    return int(least + fraction * least)
