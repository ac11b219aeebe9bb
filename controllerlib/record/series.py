"""Series of events.k8s.io/v1 Events.

Follows client-go's tools/events/event_broadcaster.go: the first event is created, the second turns it into a series,
further ones are counted. Times are monotonic seconds.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from controllerlib.client.names import Object

#: Seconds without an event after which a series or single event has ended; also the interval of the check.
FINISH = 360.0
#: Seconds between writes of a continuing series.
REFRESH = 1800.0


def isomorphism_key(event: Mapping[str, Any]) -> Hashable:
    """Return the key of the events of a series: everything but the note and the times."""
    names = ("type", "action", "reason", "reportingController", "reportingInstance")
    objects = (frozenset((event.get(name) or {}).items()) for name in ("regarding", "related"))
    return (*(event.get(name) or "" for name in names), *objects)


def series_patch(event: Mapping[str, Any]) -> Object:
    """Return the patch that updates a series."""
    return {"series": event["series"]}


@dataclass(frozen=True, slots=True)
class CachedEvent:
    """A cached event and the time of its last observation; immutable, the cache replaces it."""

    key: Hashable
    event: Object
    at: float

    @property
    def is_series(self) -> bool:
        """Whether it was observed more than once."""
        return bool(self.event.get("series"))


class SeriesCache:
    """The events that may become or continue a series."""

    def __init__(self) -> None:
        self._events: dict[Hashable, CachedEvent] = {}

    def __len__(self) -> int:
        return len(self._events)

    def observe(self, event: Object, now: float, time: str) -> Object | None:
        """Record an event; return the event or series to write now, or None.

        `time` is `now` as a MicroTime.
        """
        key = isomorphism_key(event)
        known = self._events.get(key)
        if known is None:
            self._events[key] = CachedEvent(key, event, now)
            return event
        count = known.event["series"]["count"] + 1 if known.is_series else 2
        grown: Object = {**known.event, "series": {"count": count, "lastObservedTime": time}}
        self._events[key] = CachedEvent(key, grown, now)
        return None if known.is_series else grown

    def series(self) -> Sequence[CachedEvent]:
        """Return all series, which must be written again before they expire."""
        return [cached for cached in self._events.values() if cached.is_series]

    def finished(self, now: float) -> Sequence[CachedEvent]:
        """Return the events that were not observed for more than FINISH seconds."""
        return [cached for cached in self._events.values() if cached.at < now - FINISH]

    def recorded(self, cached: CachedEvent, event: Object) -> None:
        """Store the event as the server returned it, unless it was observed again meanwhile."""
        if self._events.get(cached.key) is cached:
            self._events[cached.key] = CachedEvent(cached.key, event, cached.at)

    def forget(self, cached: CachedEvent) -> None:
        """Remove an event, unless it was observed again meanwhile."""
        if self._events.get(cached.key) is cached:
            del self._events[cached.key]
