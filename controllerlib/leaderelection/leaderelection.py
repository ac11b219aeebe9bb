"""A manager's leader election (controller-runtime: pkg/leaderelection)."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol
from weakref import WeakKeyDictionary

from controllerlib.leaderelection.elector import LeaderCallbacks, LeaderElector, LeaderHealthz
from controllerlib.leaderelection.leaselock import LeaseLock, Lock, new_lock
from controllerlib.random import Random

_NAMESPACE_FILE = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"


@dataclass(frozen=True, slots=True)
class LeaderElectionOptions:
    """Options of a manager's leader election, in seconds (controller-runtime: manager.Options.LeaderElection*).

    `name`: the name of the Lease (LeaderElectionID). `namespace` "": the pod's namespace, from its service account
    (ValueError outside a cluster). `identity` "": the host name and a random part. `lock`: replaces the Lease. The
    durations and `release_on_cancel` are those of LeaderElector; requests time out after half the renew deadline, at
    least a second. `resource_lock`: only "leases" is supported. `watch_dog`: a health check of the elector.
    `new_leader` is called with the identity of each new leader.
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
    resource_lock: str = "leases"
    watch_dog: LeaderHealthz | None = None
    new_leader: Callable[[str], Awaitable[None] | None] | None = None


class Election(Protocol):
    """Waits for leadership and keeps it until it is lost."""

    def prepare(self, manager: Any) -> None:
        """Called once, before the manager starts anything; raises ValueError if the configuration is invalid."""
        ...

    async def run(self, lead: Callable[[], Awaitable[None]]) -> None:
        """Run `lead` when elected, and return when leadership is lost. When cancelled, release the lease if
        configured.
        """
        ...


class LeaderElection:
    """A manager's leader election on a Lease (controller-runtime: pkg/leaderelection)."""

    def __init__(self, options: LeaderElectionOptions) -> None:
        """ValueError if the name is missing or `resource_lock` is not supported."""
        if not options.name:
            raise ValueError("LeaderElectionID must be configured")
        self.options: LeaderElectionOptions = options
        self._lead: Callable[[], Awaitable[None]] | None = None
        #: Set by `prepare`.
        self.elector: LeaderElector | None = None

    def prepare(self, manager: Any) -> None:
        """See Election."""
        options = self.options
        part = _random_part(manager.random, options.name)
        identity = options.identity or f"{socket.gethostname()}_{part}"
        self.elector = LeaderElector(
            options.lock or self._lease(manager, identity),
            identity,
            LeaderCallbacks(started=self._started, stopped=lambda: None, new_leader=options.new_leader),
            lease_duration=options.lease_duration,
            renew_deadline=options.renew_deadline,
            retry_period=options.retry_period,
            release_on_cancel=options.release_on_cancel,
            name=options.name,
            watch_dog=options.watch_dog,
            clock=manager.clock,
            random=manager.random,
            random_key=options.identity or part,
            registry=manager.registry,
        )

    async def run(self, lead: Callable[[], Awaitable[None]]) -> None:
        """See Election; RuntimeError without `prepare`."""
        if self.elector is None:
            raise RuntimeError("prepare was not called before run")
        self._lead = lead
        await self.elector.run()

    async def _started(self) -> None:
        assert self._lead is not None
        await self._lead()

    def _lease(self, manager: Any, identity: str) -> LeaseLock:
        options = self.options
        return new_lock(
            options.resource_lock,
            manager.api_reader.with_options(user_agent=f"{manager.user_agent}/leader-election"),
            options.name,
            options.namespace or _own_namespace(),
            labels=options.labels,
            recorder=manager.event_recorder_for(identity),
            timeout=max(1.0, options.renew_deadline / 2),
            clock=manager.clock,
        )


#: The number of candidates per event loop, to distinguish those of one process under the same seed.
_candidates: WeakKeyDictionary[asyncio.AbstractEventLoop, int] = WeakKeyDictionary()


def _random_part(random: Random, name: str) -> str:
    """Return the random part of an identity; reproducible under a seed."""
    loop = asyncio.get_running_loop()
    ordinal = _candidates[loop] = _candidates.get(loop, 0) + 1
    return f"{int(random.fraction('leader-election-identity', name, ordinal) * 2**48):012x}"


def _own_namespace() -> str:
    try:
        return Path(_NAMESPACE_FILE).read_text().strip()
    except OSError:
        raise ValueError(
            "unable to find leader election namespace: not running in-cluster, please specify LeaderElectionNamespace"
        ) from None
