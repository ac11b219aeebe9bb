"""How long ago something was, in the few characters that a table has (apimachinery `util/duration`)."""

from __future__ import annotations

from datetime import UTC, datetime

UNKNOWN = "<unknown>"

MINUTE, HOUR, DAY = 60, 3600, 86400

#: The longest time.Duration of Go, in seconds (some 292 years); longer ones are cut to it.
LONGEST = (2**63 - 1) / 1e9


def human_duration(seconds: float) -> str:
    """Returns a duration with about two figures: `5s`, `2m5s`, `3h`, `12d`, `2y30d`. A time in the future is
    `<invalid>`."""
    seconds = int(max(-LONGEST, min(seconds, LONGEST)))
    if seconds < -1:
        return "<invalid>"
    if seconds < 0:
        return "0s"
    if seconds < 2 * MINUTE:
        return f"{seconds}s"
    for below, large, large_name, small, small_name in _SCALES:
        if seconds < below:
            whole, rest = divmod(seconds, large)
            left = rest // small if small else 0
            return f"{whole}{large_name}{left}{small_name}" if left else f"{whole}{large_name}"
    return f"{seconds // (365 * DAY)}y"


#: For durations below this many seconds: the large unit and its letter, the small one and its letter (0: none is
#: shown).
_SCALES = (
    (10 * MINUTE, MINUTE, "m", 1, "s"),
    (3 * HOUR, MINUTE, "m", 0, ""),
    (8 * HOUR, HOUR, "h", MINUTE, "m"),
    (48 * HOUR, HOUR, "h", 0, ""),
    (8 * DAY, DAY, "d", HOUR, "h"),
    (2 * 365 * DAY, DAY, "d", 0, ""),
    (8 * 365 * DAY, 365 * DAY, "y", DAY, "d"),
)


def moment(text: str) -> datetime:
    """Parses a time of the API. Raises ValueError."""
    found = datetime.fromisoformat(text)
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def between(start: str, end: str) -> str:
    """Returns the duration between two times."""
    return human_duration((_nearest(end) - _nearest(start)).total_seconds())


def _nearest(text: str) -> datetime:
    """Parses a time of the API; a time that the calendar does not have is its first or last one."""
    try:
        return moment(text)
    except ValueError:
        return (datetime.max if text[4:5].isdigit() else datetime.min).replace(tzinfo=UTC)


class Ages:
    """Ages at the moment `now`; the time is None if it is not set."""

    __slots__ = ("_now",)

    def __init__(self, now: str) -> None:
        self._now = moment(now)

    def __call__(self, time: str | None) -> str:
        return human_duration((self._now - _nearest(time)).total_seconds()) if time else UNKNOWN

    def until(self, time: str | None) -> str:
        """Returns the duration until a time in the future."""
        return human_duration((_nearest(time) - self._now).total_seconds()) if time else UNKNOWN
