"""Which core/v1 Events are written and how: similar ones combined, equal ones counted, too many left out.

Follows client-go's tools/record/events_cache.go. In this order: aggregate, count, spam filter; an event that the filter
leaves out has been counted. `now` is monotonic seconds, `nanos` the wall time in nanoseconds since 1970.
"""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

from controllerlib.client.names import Object
from controllerlib.record.eventobject import time_text
from controllerlib.record.lru import LRU
from controllerlib.workqueue.tokenbucket import TokenBucket

Event = Mapping[str, Any]

#: One event in 300 s, as a float32 has it: a little more, so that after 300 s there is one.
_QPS = 0.0033333334140479565


def _source_and_object(event: Event, *, field_path: bool) -> tuple[Hashable, ...]:
    source, about = event.get("source") or {}, event.get("involvedObject") or {}
    names = ("kind", "namespace", "name", *(("fieldPath",) if field_path else ()), "uid", "apiVersion")
    return source.get("component"), source.get("host"), *(about.get(name) or "" for name in names), event.get("type")


def event_key(event: Event) -> Hashable:
    """What equal events have in common: all but the time."""
    return (*_source_and_object(event, field_path=True), event.get("reason"), event.get("message"))


def spam_key(event: Event) -> Hashable:
    """What shares an allowance: who tells of which object, Normal or Warning; not the reason."""
    return _source_and_object(event, field_path=False)


def aggregate_by_reason(event: Event) -> tuple[Hashable, Hashable]:
    """(what similar events have in common, what tells them apart): all but the field path, and the message."""
    who = (event.get("reportingComponent"), event.get("reportingInstance"))
    return (*_source_and_object(event, field_path=False), event.get("reason"), *who), event.get("message")


def combined_message(event: Event) -> str:
    """The message of an aggregate."""
    return f"(combined from similar events): {event.get('message', '')}"


@dataclass(frozen=True, slots=True)
class CorrelatorOptions:
    """How many events are too many (client-go: CorrelatorOptions).

    `max_events` different messages, each within `max_interval` seconds of the one before, make an aggregate.
    `burst`, `qps`: events at once and per second for each `spam_key`. `size`: keys remembered, of each sort.
    """

    max_events: int = 10
    max_interval: float = 600.0
    burst: int = 25
    qps: float = _QPS
    size: int = 4096
    spam_key: Callable[[Event], Hashable] = spam_key
    aggregate_key: Callable[[Event], tuple[Hashable, Hashable]] = aggregate_by_reason
    message: Callable[[Event], str] = combined_message


@dataclass(frozen=True, slots=True)
class Correlated:
    """An event to be written: created, or (`patch`, for one that was written before) patched.

    Source: client-go, record.EventCorrelateResult.
    """

    event: Object
    patch: Object | None = None


@dataclass(slots=True)
class _Similar:
    """The different messages of a group, oldest first, and when the last of them came."""

    messages: dict[Hashable, None] = field(default_factory=dict)
    last: float = 0.0


@dataclass(frozen=True, slots=True)
class _Seen:
    count: int
    first: str
    name: str
    resource_version: str


class Correlator:
    """What one sink has been told so far (client-go: record.EventCorrelator)."""

    def __init__(self, options: CorrelatorOptions | None = None) -> None:
        self._options = options or CorrelatorOptions()
        size = self._options.size
        self._similar: LRU[Hashable, _Similar] = LRU(size)
        self._seen: LRU[Hashable, _Seen] = LRU(size)
        self._allowances: LRU[Hashable, TokenBucket] = LRU(size)

    def correlate(self, event: Object, now: float, nanos: int) -> Correlated | None:
        """What is to be written instead of `event`; None: nothing."""
        event, key = self._aggregate(event, now, nanos)
        event, patch = self._observe(event, key)
        return Correlated(event, patch) if self._allow(event, now) else None

    def update(self, event: Event) -> None:
        """Learn how the server stored an event."""
        self._see(event_key(event), event)

    def _aggregate(self, event: Object, now: float, nanos: int) -> tuple[Object, Hashable]:
        key, local = self._options.aggregate_key(event)
        similar = self._similar.get(key)
        if similar is None or now - similar.last > self._options.max_interval:
            similar = _Similar()
        similar.messages[local] = None
        similar.last = now
        self._similar.add(key, similar)
        if len(similar.messages) < self._options.max_events:
            return event, event_key(event)
        # the set grows no further; which one goes, Go leaves to chance
        del similar.messages[next(iter(similar.messages))]
        about, time = event["involvedObject"], time_text(nanos)
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {
                "name": f"{about.get('name', '')}.{nanos:x}",
                "namespace": event["metadata"].get("namespace"),
            },
            "involvedObject": about,
            "reason": event.get("reason"),
            "message": self._options.message(event),
            "source": event.get("source"),
            "firstTimestamp": time,
            "lastTimestamp": time,
            "count": 1,
            "type": event.get("type"),
        }, key

    def _observe(self, event: Object, key: Hashable) -> tuple[Object, Object | None]:
        seen, patch = self._seen.get(key), None
        if seen is not None and seen.count > 0:
            meta = {**event["metadata"], "name": seen.name}
            if seen.resource_version:
                meta["resourceVersion"] = seen.resource_version
            event = {**event, "metadata": meta, "firstTimestamp": seen.first, "count": seen.count + 1}
            patch = {name: event[name] for name in ("count", "lastTimestamp", "message") if event.get(name)}
        self._see(key, event)
        return event, patch

    def _see(self, key: Hashable, event: Event) -> None:
        meta = event.get("metadata") or {}
        seen = _Seen(
            event.get("count") or 0,
            event.get("firstTimestamp") or "",
            meta.get("name") or "",
            meta.get("resourceVersion") or "",
        )
        self._seen.add(key, seen)

    def _allow(self, event: Event, now: float) -> bool:
        key = self._options.spam_key(event)
        allowance = self._allowances.get(key) or TokenBucket(self._options.qps, self._options.burst)
        self._allowances.add(key, allowance)
        return allowance.try_accept(now)
