"""Series of events.k8s.io/v1 Events: the first is created, the second makes it a series, the others only count.

Follows client-go's tools/events/event_broadcaster.go. Times are monotonic seconds.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from controllerlib.client.names import Object

#: Seconds after which a series, or an event that never became one, has ended; also how often that is looked at.
FINISH = 360.0
#: Seconds between writes of a series that goes on.
REFRESH = 1800.0


def isomorphism_key(event: Mapping[str, Any]) -> Hashable:
    """What the events of a series have in common: everything but the note and the time."""
    names = ("type", "action", "reason", "reportingController", "reportingInstance")
    objects = (tuple(sorted((event.get(name) or {}).items())) for name in ("regarding", "related"))
    return (*(event.get(name) or "" for name in names), *objects)


def series_patch(event: Mapping[str, Any]) -> Object:
    """What the patch of a series changes."""
    return {"series": event["series"]}


@dataclass(frozen=True, slots=True)
class CachedEvent:
    """An event in the cache, and when it was last observed. Never changed: the cache puts another in its place."""

    key: Hashable
    event: Object
    at: float

    @property
    def is_series(self) -> bool:
        """Whether it happened more than once."""
        return bool(self.event.get("series"))


class SeriesCache:
    """The events that may still become or continue a series."""

    def __init__(self) -> None:
        self._events: dict[Hashable, CachedEvent] = {}

    def __len__(self) -> int:
        return len(self._events)

    def observe(self, event: Object, now: float, time: str) -> Object | None:
        """Take note of an event; returns what is to be written now: the event, the new series, or nothing.

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
        """Every series: to be written again so that it does not expire."""
        return [cached for cached in self._events.values() if cached.is_series]

    def finished(self, now: float) -> Sequence[CachedEvent]:
        """What was not observed for more than FINISH: a series is to be written a last time, then all is forgotten."""
        return [cached for cached in self._events.values() if cached.at < now - FINISH]

    def recorded(self, cached: CachedEvent, event: Object) -> None:
        """Keep the event as the server stored it, unless it happened again meanwhile."""
        if self._events.get(cached.key) is cached:
            self._events[cached.key] = CachedEvent(cached.key, event, cached.at)

    def forget(self, cached: CachedEvent) -> None:
        """Remove an event, unless it happened again meanwhile."""
        if self._events.get(cached.key) is cached:
            del self._events[cached.key]
