"""Leader election: of several candidates one runs, the others wait (client-go: tools/leaderelection)."""

import inspect
import logging
import os
import socket
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

from controllerlib.client import Client
from controllerlib.clock import Chance, Clock, Deadline, SystemChance, SystemClock, sleep
from controllerlib.core.backoff import jitter
from controllerlib.core.lease import LeaseRecord, LeaseState, check_durations
from controllerlib.core.names import Object
from controllerlib.errors import is_conflict, is_not_found
from controllerlib.reflector import ANSWERS
from controllerlib.tasks import Tasks

log = logging.getLogger(__name__)

_JITTER = 1.2
_NAMESPACE_FILE = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"


class Lock(Protocol):
    """Where the record is kept. Raises ApiError or OSError."""

    async def get(self) -> LeaseRecord:
        """The record; NotFound when there is none."""
        ...

    async def create(self, record: LeaseRecord) -> None:
        """Make it; AlreadyExists."""
        ...

    async def update(self, record: LeaseRecord) -> None:
        """Write over what was read or written last; Conflict."""
        ...


class LeaseLock:
    """A record in a Lease object."""

    def __init__(self, client: Client, name: str, namespace: str, *, labels: Mapping[str, str] | None = None) -> None:
        """`labels` are added to those the Lease has."""
        self._client, self._name, self._namespace, self._labels = client, name, namespace, dict(labels or {})
        self._lease: Object | None = None

    def __repr__(self) -> str:
        return f"{self._namespace}/{self._name}"

    async def get(self) -> LeaseRecord:
        """Read the Lease."""
        self._lease = await self._client.get("coordination.k8s.io/v1", "Lease", self._name, self._namespace)
        return LeaseRecord.of(self._lease)

    async def create(self, record: LeaseRecord) -> None:
        """Create the Lease."""
        lease = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {
                "name": self._name,
                "namespace": self._namespace,
                **({"labels": self._labels} if self._labels else {}),
            },
            "spec": record.spec(),
        }
        self._lease = await self._client.create(lease)

    async def update(self, record: LeaseRecord) -> None:
        """Update the Lease read or written last; RuntimeError when there was none."""
        if self._lease is None:
            raise RuntimeError("lease not initialized, call get or create first")
        meta = self._lease["metadata"]
        if self._labels:
            meta = {**meta, "labels": {**(meta.get("labels") or {}), **self._labels}}
        lease = {**self._lease, "metadata": meta, "spec": {**(self._lease.get("spec") or {}), **record.spec()}}
        self._lease = await self._client.update(lease)


def new_lock(
    kind: str, client: Client, name: str, namespace: str, *, labels: Mapping[str, str] | None = None
) -> LeaseLock:
    """A lock of one of the kinds that client-go had; only "leases" is left (ValueError)."""
    if kind == "leases":
        return LeaseLock(client, name, namespace, labels=labels)
    if kind in ("endpoints", "configmaps", "endpointsleases", "configmapsleases"):
        raise ValueError(f"{kind} lock is removed, migrate to leases")
    raise ValueError(f"Invalid lock-type {kind}")


Callback = Callable[[], Awaitable[None] | None]


@dataclass(frozen=True, slots=True)
class LeaderCallbacks:
    """What to do. `started` runs while we lead and is cancelled when that ends; `stopped` is called at every end."""

    started: Callable[[], Awaitable[None]] | None
    stopped: Callback | None
    new_leader: Callable[[str], None] | None = None


class LeaderElector:
    """One candidate. Durations in seconds; ValueError for those that cannot work, or when something is missing."""

    def __init__(
        self,
        lock: Lock | None,
        identity: str,
        callbacks: LeaderCallbacks,
        *,
        lease_duration: float = 15.0,
        renew_deadline: float = 10.0,
        retry_period: float = 2.0,
        release_on_cancel: bool = False,
        coordinated: bool = False,
        name: str = "",
        clock: Clock | None = None,
        chance: Chance | None = None,
        on_event: Callable[[str], None] | None = None,
        on_leading: Callable[[bool], None] | None = None,
    ) -> None:
        """`coordinated`: somebody else decides who leads; this one never makes or takes over a lease.

        `on_event` is told "<identity> became leader" and "... stopped leading", `on_leading` whether we lead.
        """
        check_durations(lease_duration, renew_deadline, retry_period)
        if callbacks.started is None:
            raise ValueError("callback OnStartedLeading must not be nil")
        if callbacks.stopped is None:
            raise ValueError("callback OnStoppedLeading must not be nil")
        if lock is None:
            raise ValueError("lock must not be nil")
        if not identity:
            raise ValueError("lock identity is empty")
        self._lock, self._callbacks, self.name = lock, callbacks, name
        self._lease_duration, self._renew_deadline, self._retry = lease_duration, renew_deadline, retry_period
        self._release, self._coordinated = release_on_cancel, coordinated
        self._clock: Clock = clock or SystemClock()
        self._chance: Chance = chance or SystemChance()
        self._on_event = on_event or (lambda text: None)
        self._on_leading = on_leading or (lambda leading: None)
        self._tries = 0
        self.state = LeaseState(identity, lease_duration)

    def __repr__(self) -> str:
        return f"<LeaderElector {self.state.identity} leader={self.state.record.holder or '-'}>"

    def is_leader(self) -> bool:
        """Whether the last record seen names us."""
        return self.state.is_leader()

    @property
    def leader(self) -> str:
        """Who leads, as last seen."""
        return self.state.record.holder

    def check(self, tolerance: float) -> None:
        """Raise RuntimeError when we lead but have not renewed for the lease's duration and `tolerance` seconds."""
        if not self.state.health(self._clock.monotonic(), self._lease_duration, tolerance):
            raise RuntimeError(f"failed election to renew leadership on lease {self.name}")

    async def run(self) -> None:
        """Wait to be elected, lead, and return when leadership is lost; cancelled, release it if so configured."""
        callbacks = self._callbacks
        assert callbacks.started is not None
        assert callbacks.stopped is not None
        try:
            await self._acquire()
            self._on_event(f"{self.state.identity} became leader")
            self._on_leading(True)
            async with Tasks() as tasks:
                tasks.start(_finished(callbacks.started()), f"leading {self.name}")
                try:
                    await self._renew()
                finally:
                    self._on_leading(False)
                    self._on_event(f"{self.state.identity} stopped leading")
                    if self._release:
                        await self._give_up()
                tasks.cancel()
        finally:
            answer = callbacks.stopped()
            if inspect.isawaitable(answer):
                await answer

    async def _acquire(self) -> None:
        while not await self._try():
            self._tries += 1
            fraction = self._chance.fraction("leader-election", self.state.identity, self._tries)
            await sleep(self._clock, jitter(self._retry, _JITTER, fraction))

    async def _renew(self) -> None:
        """Renew for ever; returns when it did not work for the renew deadline."""
        while True:
            deadline = self._clock.monotonic() + self._renew_deadline
            try:
                async with Deadline(self._clock, deadline):
                    while not await self._try():
                        await sleep(self._clock, self._retry)
            except TimeoutError:
                log.info("failed to renew the lease", extra={"lock": str(self._lock)})
                return
            await sleep(self._clock, self._retry)

    async def _try(self) -> bool:
        """One round: take or renew the lease; what goes wrong fails the round."""
        try:
            led = await (self._follow() if self._coordinated else self._take())
        except ANSWERS as error:
            log.info("leader election round failed", extra={"lock": str(self._lock), "error": str(error)})
            led = False
        leader = self.state.new_leader()
        if leader is not None and self._callbacks.new_leader is not None:
            self._callbacks.new_leader(leader)
        return led

    async def _take(self) -> bool:
        state, wall = self.state, _wall(self._clock.now())
        if state.is_leader() and state.is_valid(self._clock.monotonic()):
            try:
                return await self._write(state.claim(wall))
            except ANSWERS as error:
                log.info("renewing without looking failed, looking", extra={"error": str(error)})
        try:
            record = await self._lock.get()
        except Exception as error:
            if not is_not_found(error):
                raise
            first = state.first(wall)
            await self._lock.create(first)
            state.see(first, self._clock.monotonic())
            return True
        state.see(record, self._clock.monotonic())
        if not state.may_take(self._clock.monotonic()):
            return False
        return await self._write(state.claim(wall))

    async def _follow(self) -> bool:
        """Coordinated: only renew what was given to us, and step back when another one is preferred."""
        state = self.state
        state.see(await self._lock.get(), self._clock.monotonic())
        if not state.is_leader() or not state.is_valid(self._clock.monotonic()) or state.record.preferred_holder:
            return False
        return await self._write(state.claim(_wall(self._clock.now())))

    async def _write(self, record: LeaseRecord) -> bool:
        await self._lock.update(record)
        self.state.see(record, self._clock.monotonic())
        return True

    async def _give_up(self) -> None:
        """Leave the lease to the next one; conflicts are tried again within the renew deadline."""
        try:
            async with Deadline(self._clock, self._clock.monotonic() + self._renew_deadline):
                while not await self._give_up_once():
                    await sleep(self._clock, self._retry)
        except (*ANSWERS, TimeoutError) as error:
            log.error("failed to release the lease", extra={"lock": str(self._lock), "error": str(error)})

    async def _give_up_once(self) -> bool:
        state = self.state
        state.see(await self._lock.get(), self._clock.monotonic())
        if not state.is_leader():
            return True
        record = state.released(_wall(self._clock.now()))
        try:
            await self._lock.update(record)
        except ANSWERS as error:
            if is_conflict(error):
                return False
            raise
        state.see(record, self._clock.monotonic())
        return True


def _wall(moment: datetime) -> str:
    """A MicroTime."""
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


@dataclass(frozen=True, slots=True)
class LeaderElectionOptions:
    """What a manager needs to elect a leader. Durations in seconds.

    `namespace` "": that of the pod, from its service account (ValueError outside a cluster). `identity` "": host name
    and a random part. `lock`: another place than a Lease.
    """

    name: str
    namespace: str = ""
    identity: str = ""
    lease_duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0
    release_on_cancel: bool = False
    labels: Mapping[str, str] = field(default_factory=dict)
    lock: Lock | None = None


class Election(Protocol):
    """Waits for leadership, keeps it, and returns when it is lost."""

    async def run(self, manager: Any, lead: Callable[[], Awaitable[None]]) -> None:
        """Call `lead` once elected; return when leadership is lost. Cancelled, give it up if so configured."""
        ...


class LeaderElection:
    """A manager's election, by a Lease."""

    def __init__(self, options: LeaderElectionOptions) -> None:
        """ValueError without a name."""
        if not options.name:
            raise ValueError("LeaderElectionID must be configured")
        self._options = options
        self.elector: LeaderElector | None = None

    async def run(self, manager: Any, lead: Callable[[], Awaitable[None]]) -> None:
        """See Election."""
        options = self._options
        identity = options.identity or _identity(manager.chance, options.name)
        lock = options.lock or LeaseLock(
            manager.api_reader, options.name, options.namespace or _own_namespace(), labels=options.labels
        )
        gauge = manager.registry.family(
            "leader_election_master_status", "Whether this process leads, by lease", "gauge", ("name",)
        )
        self.elector = LeaderElector(
            lock,
            identity,
            LeaderCallbacks(started=lead, stopped=lambda: None),
            lease_duration=options.lease_duration,
            renew_deadline=options.renew_deadline,
            retry_period=options.retry_period,
            release_on_cancel=options.release_on_cancel,
            name=options.name,
            clock=manager.clock,
            chance=manager.chance,
            on_leading=lambda leading: gauge.set(float(leading), options.name),
        )
        await self.elector.run()


async def _finished(leading: Awaitable[None]) -> None:
    await leading


def _identity(chance: Chance, name: str) -> str:
    part = int(chance.fraction("leader-election-identity", name, os.getpid()) * 2**48)
    return f"{socket.gethostname()}_{part:012x}"


def _own_namespace() -> str:
    try:
        return Path(_NAMESPACE_FILE).read_text().strip()
    except OSError:
        raise ValueError(
            "unable to find leader election namespace: not running in-cluster, please specify LeaderElectionNamespace"
        ) from None
