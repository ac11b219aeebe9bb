"""Correlation of core/v1 Events: similar ones are aggregated, equal ones counted, and excess ones dropped.

Follows client-go's tools/record/events_cache.go: aggregation, counting, spam filter, in this order; dropped events are
counted. `now` is monotonic seconds, `nanos` the wall time in nanoseconds since 1970.
"""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

from controllerlib.client.names import Object
from controllerlib.record.eventobject import time_text
from controllerlib.record.lru import LRU
from controllerlib.workqueue.tokenbucket import TokenBucket

Event = Mapping[str, Any]

#: One event in 300 s as a float32, which is slightly more, so that one is allowed after exactly 300 s.
_QPS = 0.0033333334140479565


def _source_and_object(event: Event, *, field_path: bool) -> tuple[Hashable, ...]:
    source, about = event.get("source") or {}, event.get("involvedObject") or {}
    names = ("kind", "namespace", "name", *(("fieldPath",) if field_path else ()), "uid", "apiVersion")
    return source.get("component"), source.get("host"), *(about.get(name) or "" for name in names), event.get("type")


def event_key(event: Event) -> Hashable:
    """Return the key of equal events: everything but the times."""
    return (*_source_and_object(event, field_path=True), event.get("reason"), event.get("message"))


def spam_key(event: Event) -> Hashable:
    """Return the key of the spam filter: source, object and type, not the reason."""
    return _source_and_object(event, field_path=False)


def aggregate_by_reason(event: Event) -> tuple[Hashable, Hashable]:
    """Return the key of similar events (everything but field path and message), and the message that distinguishes
    them.
    """
    who = (event.get("reportingComponent"), event.get("reportingInstance"))
    return (*_source_and_object(event, field_path=False), event.get("reason"), *who), event.get("message")


def combined_message(event: Event) -> str:
    """Return the message of an aggregate."""
    return f"(combined from similar events): {event.get('message', '')}"


@dataclass(frozen=True, slots=True)
class CorrelatorOptions:
    """Options of a correlator (client-go: CorrelatorOptions).

    `max_events` different messages, each within `max_interval` seconds of the previous one, are aggregated. `burst` and
    `qps`: the token bucket of each `spam_key`. `size`: the number of keys in each cache.
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
    """An event to be created, or to be patched if `patch` is set.

    Source: client-go, record.EventCorrelateResult.
    """

    event: Object
    patch: Object | None = None


@dataclass(slots=True)
class _Similar:
    """The different messages of similar events, oldest first, and the time of the last one."""

    messages: dict[Hashable, None] = field(default_factory=dict)
    last: float = 0.0


@dataclass(frozen=True, slots=True)
class _Seen:
    count: int
    first: str
    name: str
    resource_version: str


class Correlator:
    """The state of one sink's correlation (client-go: record.EventCorrelator)."""

    def __init__(self, options: CorrelatorOptions | None = None) -> None:
        self._options = options or CorrelatorOptions()
        size = self._options.size
        self._similar: LRU[Hashable, _Similar] = LRU(size)
        self._seen: LRU[Hashable, _Seen] = LRU(size)
        self._allowances: LRU[Hashable, TokenBucket] = LRU(size)

    def correlate(self, event: Object, now: float, nanos: int) -> Correlated | None:
        """Return the event to write instead of `event`; None if it is dropped."""
        event, key = self._aggregate(event, now, nanos)
        event, patch = self._observe(event, key)
        return Correlated(event, patch) if self._allow(event, now) else None

    def update(self, event: Event) -> None:
        """Record an event as the server stored it."""
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
        # the size of the set is limited; which message is removed is undefined in Go
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
