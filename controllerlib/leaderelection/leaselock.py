"""The lock object of an election: a Lease (client-go: tools/leaderelection/resourcelock)."""

from collections.abc import Awaitable, Mapping
from typing import Any, Protocol

from controllerlib.client.client import Client
from controllerlib.client.names import Object
from controllerlib.clock import Clock, Deadline, SystemClock
from controllerlib.leaderelection.leaserecord import LeaseRecord


class EventRecorder(Protocol):
    """Records core/v1 Events about the lock object (client-go: resourcelock.EventRecorder)."""

    def event(self, obj: Any, event_type: str, reason: str, message: str) -> None:
        """Record `message` about `obj`."""
        ...


class Lock(Protocol):
    """Stores the record of an election; raises ApiError or OSError (client-go: resourcelock.Interface)."""

    async def get(self) -> LeaseRecord:
        """Return the record; raises ApiError with reason NotFound."""
        ...

    async def create(self, record: LeaseRecord) -> None:
        """Create the record; raises ApiError with reason AlreadyExists."""
        ...

    async def update(self, record: LeaseRecord) -> None:
        """Replace the record that was read or written last; raises ApiError with reason Conflict."""
        ...

    def record_event(self, text: str) -> None:
        """Record an event about the lock, such as "<identity> became leader"."""
        ...


class LeaseLock:
    """A lock in a Lease object (client-go: resourcelock.LeaseLock)."""

    def __init__(
        self,
        client: Client,
        name: str,
        namespace: str,
        *,
        labels: Mapping[str, str] | None = None,
        recorder: EventRecorder | None = None,
        timeout: float | None = None,
        clock: Clock | None = None,
    ) -> None:
        """`labels` are added to those of the Lease. `recorder` records events about the Lease, if given.

        `timeout`: seconds after which a request fails with TimeoutError, so that a hanging request does not end
        leadership.
        """
        self._client, self._name, self._namespace, self._labels = client, name, namespace, dict(labels or {})
        self._recorder, self._timeout = recorder, timeout
        self._clock: Clock = clock or SystemClock()
        self._lease: Object | None = None

    def __repr__(self) -> str:
        return f"{self._namespace}/{self._name}"

    async def get(self) -> LeaseRecord:
        """Read the Lease."""
        self._lease = await self._in_time(
            self._client.get("coordination.k8s.io/v1", "Lease", self._name, self._namespace)
        )
        return LeaseRecord.of(self._lease)

    async def create(self, record: LeaseRecord) -> None:
        """Create the Lease."""
        meta = {
            "name": self._name,
            "namespace": self._namespace,
            **({"labels": self._labels} if self._labels else {}),
        }
        lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": meta, "spec": record.spec()}
        self._lease = await self._in_time(self._client.create(lease))

    async def update(self, record: LeaseRecord) -> None:
        """Update the Lease that was read or written last; RuntimeError if there was none."""
        if self._lease is None:
            raise RuntimeError("lease not initialized, call get or create first")
        meta = self._lease["metadata"]
        if self._labels:
            meta = {**meta, "labels": {**(meta.get("labels") or {}), **self._labels}}
        self._lease = await self._in_time(self._client.update({**self._lease, "metadata": meta, "spec": record.spec()}))

    def record_event(self, text: str) -> None:
        """Record an event of type Normal and reason LeaderElection about the Lease."""
        if self._recorder is not None and self._lease is not None:
            self._recorder.event(self._lease, "Normal", "LeaderElection", text)

    async def _in_time(self, request: Awaitable[Object]) -> Object:
        until = None if self._timeout is None else self._clock.monotonic() + self._timeout
        async with Deadline(self._clock, until):
            return await request


def new_lock(kind: str, client: Client, name: str, namespace: str, **options: Any) -> LeaseLock:
    """Return a lock of a kind of client-go; ValueError unless it is "leases". `options` are those of LeaseLock."""
    if kind == "leases":
        return LeaseLock(client, name, namespace, **options)
    if kind in ("endpoints", "configmaps", "endpointsleases", "configmapsleases"):
        raise ValueError(f"{kind} lock is removed, migrate to leases")
    raise ValueError(f"Invalid lock-type {kind}")
