"""Leader election: one of several candidates leads (client-go: tools/leaderelection)."""

import inspect
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime

from controllerlib.backoff import jitter
from controllerlib.client.errors import REQUEST_ERRORS, is_already_exists, is_conflict, is_not_found
from controllerlib.clock import Clock, Deadline, SystemClock, sleep
from controllerlib.leaderelection.leaselock import Lock
from controllerlib.leaderelection.leaserecord import JITTER, LeaseRecord, LeaseState, check_durations
from controllerlib.metrics.registry import Registry
from controllerlib.random import Random, SystemRandom
from controllerlib.tasks import Tasks, ended
from controllerlib.wait import TimedOut, poll

_log = logging.getLogger(__name__)

#: Seconds between attempts to release the lease after conflicts; the second attempt is made immediately.
_RELEASE_PAUSE = 0.01


@dataclass(frozen=True, slots=True)
class LeaderCallbacks:
    """The callbacks of an elector (client-go: LeaderCallbacks).

    `started` runs while this candidate leads and is cancelled when it ceases to. `stopped` is called when `run` ends,
    even if this candidate never led. `new_leader` is called with the identity of each new leader, including this
    candidate. All may be coroutine functions.
    """

    started: Callable[[], Awaitable[None]] | None
    stopped: Callable[[], Awaitable[None] | None] | None
    new_leader: Callable[[str], Awaitable[None] | None] | None = None


class LeaderHealthz:
    """A health check that fails when this candidate leads but cannot renew its lease (client-go: HealthzAdaptor).

    It can be added to a manager before the elector exists: `manager.add_healthz_check(check.name, check)`.
    """

    name = "leaderElection"

    def __init__(self, tolerance: float = 20.0) -> None:
        """`tolerance`: seconds beyond the lease duration before the check fails."""
        self._tolerance = tolerance
        self._elector: LeaderElector | None = None

    def set_leader_election(self, elector: "LeaderElector") -> None:
        """Set the elector to check."""
        self._elector = elector

    def __call__(self) -> None:
        """Raise RuntimeError when the lease has expired."""
        if self._elector is not None:
            self._elector.check(self._tolerance)


class LeaderElector:
    """One candidate of an election (client-go: LeaderElector). Durations are seconds.

    ValueError if the durations are invalid (lease > renew > 1.2 * retry) or an argument is missing. Differs from
    client-go where that could allow two leaders: with `release_on_cancel` the lease is released only after `started`
    was cancelled and has ended, and a lease that another candidate has acquired meanwhile is not changed.
    """

    name: str
    state: LeaseState

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
        watch_dog: LeaderHealthz | None = None,
        clock: Clock | None = None,
        random: Random | None = None,
        random_key: str = "",
        registry: Registry | None = None,
    ) -> None:
        """`lease_duration`: how long other candidates respect a lease that is not renewed; stored in whole seconds.
        `renew_deadline`: how long a failing renewal is retried before leadership is lost. `retry_period`: the time
        between renewals; candidates retry after 1 to 2.2 times of it.

        `coordinated`: another component assigns the lease; this candidate only renews it. `random_key` identifies its
        random numbers; "" means the identity.
        """
        check_durations(lease_duration, renew_deadline, retry_period)
        if callbacks.started is None:
            raise ValueError("OnStartedLeading callback must not be nil")
        if callbacks.stopped is None:
            raise ValueError("OnStoppedLeading callback must not be nil")
        if lock is None:
            raise ValueError("Lock must not be nil.")
        if not identity:
            raise ValueError("Lock identity is empty")
        self._lock, self._callbacks, self.name = lock, callbacks, name
        self._lease_duration, self._renew_deadline, self._retry = lease_duration, renew_deadline, retry_period
        self._release, self._coordinated = release_on_cancel, coordinated
        self._clock: Clock = clock or SystemClock()
        self._random: Random = random or SystemRandom()
        self._random_key = random_key or identity
        self._metrics = _Metrics(registry or Registry(), name)
        self._tries = 0
        self.state = LeaseState(identity, lease_duration)
        if watch_dog is not None:
            watch_dog.set_leader_election(self)

    def __repr__(self) -> str:
        return f"<LeaderElector {self.state.identity} leader={self.leader or '-'}>"

    def is_leader(self) -> bool:
        """Return whether the last observed record names this candidate."""
        return self.state.is_leader()

    @property
    def leader(self) -> str:
        """The identity of the last observed leader; "" if there was none."""
        return self.state.record.holder

    def check(self, tolerance: float) -> None:
        """Raise RuntimeError if this candidate leads but has not renewed for the lease duration plus `tolerance`
        seconds.
        """
        if not self.state.health(self._clock.monotonic(), self._lease_duration, tolerance):
            raise RuntimeError(f"failed election to renew leadership on lease {self.name}")

    async def run(self) -> None:
        """Wait for leadership, lead, and return when it is lost. When cancelled, release the lease if configured.

        An exception of a callback ends the election and is raised.
        """
        callbacks = self._callbacks
        assert callbacks.started is not None
        assert callbacks.stopped is not None
        try:
            async with Tasks() as tasks:
                await self._acquire(tasks)
                leading = tasks.start(_finished(callbacks.started()), f"leading {self.name}")
                try:
                    await self._renew(tasks)
                finally:
                    self._metrics.leading(False)
                    leading.cancel()
                    if self._release:
                        await ended(leading)
                        await self._release_lease()
                    self._lock.record_event(f"{self.state.identity} stopped leading")
        finally:
            answer = callbacks.stopped()
            if inspect.isawaitable(answer):
                await answer

    async def _acquire(self, tasks: Tasks) -> None:
        _log.info("attempting to acquire leader lease", extra={"lock": str(self._lock)})
        while True:
            led = await self._try()
            self._report(tasks)
            if led:
                break
            self._tries += 1
            fraction = self._random.fraction("leader-election", self._random_key, self._tries)
            await sleep(self._clock, jitter(self._retry, JITTER, fraction))
        self._lock.record_event(f"{self.state.identity} became leader")
        self._metrics.leading(True)
        _log.info("successfully acquired lease", extra={"lock": str(self._lock)})

    async def _renew(self, tasks: Tasks) -> None:
        """Renew until that fails for the renew deadline."""
        while True:
            try:
                await poll(self._try, self._retry, self._renew_deadline, clock=self._clock)
            except TimedOut:
                self._report(tasks)
                _log.info("failed to renew the lease", extra={"lock": str(self._lock)})
                return
            self._report(tasks)
            await sleep(self._clock, self._retry)

    def _report(self, tasks: Tasks) -> None:
        leader, callback = self.state.new_leader(), self._callbacks.new_leader
        if leader is not None and callback is not None:
            tasks.start(_call(callback, leader), f"new leader {leader}")

    async def _try(self) -> bool:
        """Make one attempt to acquire or renew the lease; request errors fail the attempt, and are logged.

        That another candidate was faster is no warning.
        """
        try:
            return await (self._follow() if self._coordinated else self._take())
        except REQUEST_ERRORS as error:
            level = logging.INFO if is_conflict(error) or is_already_exists(error) else logging.WARNING
            _log.log(level, "failed to acquire or renew lease %s: %r", self._lock, error)
            return False

    async def _take(self) -> bool:
        state, now, wall = self.state, self._clock.monotonic(), _wall(self._clock.now())
        if state.is_leader() and state.is_valid(now):
            try:
                return await self._write(state.claim(wall))
            except REQUEST_ERRORS as error:
                _log.info("optimistic renewal failed, reading the lease", extra={"error": str(error)})
        try:
            record = await self._lock.get()
        except Exception as error:
            if not is_not_found(error):
                raise
            first = state.first(wall)
            await self._lock.create(first)
            state.wrote(first, self._clock.monotonic())
            return True
        state.read(record, self._clock.monotonic())
        if not state.may_take(now):
            return False
        if state.is_leader():
            self._metrics.slow_path()
        return await self._write(state.claim(wall))

    async def _follow(self) -> bool:
        """Make one attempt of a coordinated election: renew an assigned lease unless another holder is preferred."""
        state, now, wall = self.state, self._clock.monotonic(), _wall(self._clock.now())
        state.read(await self._lock.get(), self._clock.monotonic())
        record = state.coordinated(now, wall)
        if record is None:
            return False
        self._metrics.slow_path()
        return await self._write(record)

    async def _write(self, record: LeaseRecord) -> bool:
        await self._lock.update(record)
        self.state.wrote(record, self._clock.monotonic())
        return True

    async def _release_lease(self) -> None:
        """Release the lease; conflicts are retried within the renew deadline."""
        pause = 0.0
        try:
            async with Deadline(self._clock, self._clock.monotonic() + self._renew_deadline):
                while not await self._release_once():
                    await sleep(self._clock, pause)
                    pause = _RELEASE_PAUSE
        except (*REQUEST_ERRORS, TimeoutError) as error:
            _log.error("failed to release the lease", extra={"lock": str(self._lock), "error": str(error)})

    async def _release_once(self) -> bool:
        state = self.state
        state.read(await self._lock.get(), self._clock.monotonic())
        if not state.is_leader():
            return True
        try:
            return await self._write(state.released(_wall(self._clock.now())))
        except REQUEST_ERRORS as error:
            if is_conflict(error):
                return False
            raise


class _Metrics:
    """Whether this candidate leads, and the number of renewals that needed a read (upstream does not register the
    latter).
    """

    def __init__(self, registry: Registry, name: str) -> None:
        self._name = name
        self._leader = registry.family(
            "leader_election_master_status",
            "Gauge of if the reporting system is master of the relevant lease, 0 indicates backup, 1 indicates master. "
            "'name' is the string used to identify the lease. Please make sure to group by name.",
            "gauge",
            ("name",),
        )
        self._slow = registry.family(
            "leader_election_slowpath_total",
            "Total number of slow path exercised in renewing leader leases. "
            "'name' is the string used to identify the lease. Please make sure to group by name.",
            "counter",
            ("name",),
        )
        self.leading(False)

    def leading(self, leading: bool) -> None:
        self._leader.set(float(leading), self._name)

    def slow_path(self) -> None:
        self._slow.add(self._name)


async def _finished(leading: Awaitable[None]) -> None:
    await leading


async def _call(callback: Callable[[str], Awaitable[None] | None], leader: str) -> None:
    answer = callback(leader)
    if inspect.isawaitable(answer):
        await answer


def _wall(moment: datetime) -> str:
    """Format a MicroTime."""
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
