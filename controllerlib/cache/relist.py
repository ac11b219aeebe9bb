"""The choices of a reflector: which resourceVersion counts, when to try again, how long a watch may last."""

from dataclasses import dataclass, field


class VeryShortWatch(Exception):
    """A watch ended within a second and without an event (client-go: VeryShortWatchError)."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"very short watch: {name}: Unexpected watch close - watch lasted less than a second and no items received"
        )


@dataclass(slots=True)
class WatchVersion:
    """The version a watch has come to. From "" or "0" the first events are an unordered list: they do not count."""

    asked: str
    _synthetic: bool = field(init=False)

    def __post_init__(self) -> None:
        self._synthetic = self.asked in ("", "0")

    def after(self, event: str, version: str) -> str | None:
        """The version to remember after an event, as it is; None: none yet."""
        if self._synthetic:
            if event == "ADDED":
                return None
            self._synthetic = False
        return version


@dataclass(slots=True)
class RetryWithDeadline:
    """A window of `longest` seconds from the first error in which retrying is fine; 0: never.

    It closes a minute after the last error, too (client-go: retryWithDeadline).
    """

    longest: float
    idle: float = 60.0
    _first: float | None = None
    _last: float | None = None

    def after(self, retriable: bool, now: float) -> None:
        """An attempt ended with an error; those that are not retriable neither open nor extend the window."""
        if retriable:
            self._first = now if self._first is None else self._first
            self._last = now

    def should_retry(self, now: float) -> bool:
        """Whether the window is open; a closed one is forgotten."""
        if self.longest <= 0 or self._first is None or self._last is None:
            return False
        if now - self._last <= self.idle and now - self._first <= self.longest:
            return True
        self._first = self._last = None
        return False


def watch_timeout(minimum: float, fraction: float) -> int:
    """Whole seconds after which the server should end a watch: from `minimum` (at least 300) to twice that."""
    least = max(minimum, 300.0)
    return int(least + fraction * least)
