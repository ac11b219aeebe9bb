"""Names of informers, and their metrics (client-go: tools/cache, identity and informer_metrics)."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from controllerlib.client.resource import Resource, split_api_version
from controllerlib.metrics.registry import Registry

_log = logging.getLogger(__name__)

#: In seconds (component-base: metrics/prometheus/clientgo/fifo).
LATENCY_BUCKETS = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_LABELS = ("name", "group", "version", "resource")

#: The names in use in this process.
_taken: dict[str, "InformerName"] = {}


@dataclass(slots=True)
class Identity:
    """The informer of a kind under an informer name. While it is reserved, its metrics are published."""

    name: str
    api_version: str
    kind: str
    is_reserved: bool


@dataclass(slots=True)
class InformerName:
    """The name of a program's informers, unique in the process until it is released.

    ValueError if it is empty or in use.
    """

    name: str
    _kinds: dict[tuple[str, str], Identity] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        if not self.name:
            raise ValueError("informer name cannot be empty")
        if self.name in _taken:
            raise ValueError(f'informer name "{self.name}" is already registered')
        _taken[self.name] = self

    def of(self, api_version: str, kind: str) -> Identity:
        """Return the identity of a kind's informer. It is reserved the first time, unless the name was released."""
        again = (api_version, kind) in self._kinds
        identity = Identity(self.name, api_version, kind, not again and _taken.get(self.name) is self)
        if identity.is_reserved:
            self._kinds[api_version, kind] = identity
        if again:
            _log.error("duplicate informer, its metrics are not published", extra={"informer": self.name, "kind": kind})
        return identity

    def release(self) -> None:
        """Release the name: metrics of its informers are no longer updated. May be called repeatedly."""
        for identity in self._kinds.values():
            identity.is_reserved = False
        self._kinds.clear()
        if _taken.get(self.name) is self:
            del _taken[self.name]


class InformerMetrics:
    """The metrics `informer_queued_items`, `informer_processing_latency_seconds`, `informer_store_resource_version`."""

    def __init__(self, registry: Registry, identity: Identity, find: Callable[[], Resource | None]) -> None:
        """`find` returns the resource of the kind once it is known; nothing is published before."""
        self._identity, self._find = identity, find
        self._resource = ""
        self._queued = registry.family(
            "informer_queued_items", "Number of items currently queued in the FIFO.", "gauge", _LABELS
        )
        self._latency = registry.family(
            "informer_processing_latency_seconds",
            "Time taken to process events after popping from the queue.",
            "histogram",
            _LABELS,
            LATENCY_BUCKETS,
        )
        self._version = registry.family(
            "informer_store_resource_version",
            "The 15 least significant digits of the resource version of the store.",
            "gauge",
            _LABELS,
        )

    def queued(self, length: int) -> None:
        """Set the number of queued deltas."""
        if labels := self._labels():
            self._queued.set(length, *labels)

    def processed(self, seconds: float) -> None:
        """Add the duration of a step."""
        if labels := self._labels():
            self._latency.observe(seconds, *labels)

    def stored(self, version: str) -> None:
        """Set the resourceVersion of the store."""
        if version.isdigit() and (labels := self._labels()):
            self._version.set(float(version[-15:]), *labels)

    def _labels(self) -> tuple[str, ...]:
        """Return the label values; empty while nothing is published."""
        if not self._identity.is_reserved:
            return ()
        if not self._resource:
            resource = self._find()
            if resource is None:
                return ()
            self._resource = resource.plural
        return (self._identity.name, *split_api_version(self._identity.api_version), self._resource)
