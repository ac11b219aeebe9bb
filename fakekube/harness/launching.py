"""Starts, stops, kills and restarts the operators of a test: managers, tasks and threads."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from functools import partial
from typing import Any, Unpack

from controllerlib import LeaderElection, Manager
from controllerlib.observer import Observer
from fakekube.apiserver.user import ADMIN, User
from fakekube.harness.connecting.endpoint import Endpoint
from fakekube.harness.connecting.users import acting
from fakekube.harness.detectors.detection import Detection
from fakekube.harness.driving.again import factory_of
from fakekube.harness.faultinjection.deltaobserver import DeltaObserver
from fakekube.harness.faultinjection.disruptions import Disruptions
from fakekube.harness.faultinjection.plannedkill import PlannedKill
from fakekube.harness.faultinjection.skewedclock import SkewedClock
from fakekube.harness.keywords import ManagerOptions
from fakekube.harness.ledger import Ledger
from fakekube.harness.operators.background import Background
from fakekube.harness.operators.managers import Build, Connection, Transport, build_into, manager_for, over_http
from fakekube.harness.operators.operator import Launch, Operator
from fakekube.harness.operators.reconcileobserver import ReconcileObserver
from fakekube.harness.stepping import Stepping
from fakekube.server.direct import DirectTransport
from fakekube.server.runner import ServerRunner
from fakekube.virtualtime import Bubble
from fakekube.virtualtime.simulatedprocess import SimulatedProcess, running_in
from fakekube.virtualtime.threads.bubblethread import BubbleThread

#: Frames between the test and a warning about an operator that was started.
_STACKLEVEL = 5


class Operators:
    """The operators of a cluster. `transport`: how their managers reach the server.

    `released`: returns what is to be started in place of a function of the test.
    """

    def __init__(
        self,
        bubble: Bubble,
        runner: ServerRunner,
        endpoint: Endpoint,
        ledger: Ledger,
        detection: Detection,
        disruptions: Disruptions,
        background: Background,
        stepping: Stepping,
        transport: Transport,
        released: Callable[[Callable[..., Any]], Callable[..., Any]] = lambda function: function,
    ) -> None:
        self._bubble, self._runner, self._endpoint, self._ledger = bubble, runner, endpoint, ledger
        self._detection, self._disruptions, self._background = detection, disruptions, background
        self._stepping, self._transport, self._released = stepping, transport, released
        self.transports: list[DirectTransport] = []

    # --- managers

    def start(
        self, build: Build, name: str, service_account: str, user: User | str | None, options: ManagerOptions
    ) -> Operator:
        """See `Cluster.start`."""
        operator = self.make(build, name=name, service_account=service_account, user=user, **options)
        return self._begun(operator, "start")

    def _begun(self, operator: Operator, call: str) -> Operator:
        """The operator, which runs, and in a sync test has synced; an async test must await it."""
        operator.begin(self._bubble.loop)
        if self._stepping.in_async_test():
            operator.when_awaited(self._stepping.expect(call))
        else:
            self._stepping.settle()
            operator.warn_of_unserved(_STACKLEVEL)
        return operator

    def make(
        self,
        build: Build,
        *,
        name: str = "",
        service_account: str = "",
        user: User | str | None = None,
        **options: Unpack[ManagerOptions],
    ) -> Operator:
        """An operator that is not started."""
        return self.launched(Launch(build, acting(service_account, user), options, name))

    def launched(self, launch: Launch, restarts: str = "") -> Operator:
        """An operator, or the next incarnation of the one that is named `restarts`."""
        process, clock = SimulatedProcess(launch.name or "operator"), SkewedClock(self._bubble.clock)
        recording = ReconcileObserver(self._ledger, self._bubble.clock.now)
        transport = self._connected(launch.user, recording.trace)
        observed = self._detection.observe(process, recording)
        observer: Observer = recording
        if self._disruptions.injector is not None:
            observer = DeltaObserver(
                observer, self._disruptions.injector, process, clock, partial(self._disruptions.kill, process)
            )
        with running_in(process):
            manager = manager_for(self._bubble, transport, observer, launch.options, process, clock)
            build_into(manager, self._released(launch.build), launch.options.get("election") is not None)
        self._check_candidate(manager)
        identities, default = self._ledger.identities, next(iter(manager.controllers), "operator")
        identity = identities.next_incarnation(restarts) if restarts else identities.claim(launch.name, default)
        recording.identify(identity, manager.controllers)
        self._detection.built(observed, manager, identity.operator)
        operator = self.operated(manager, recording, process, clock)
        operator.launch = launch
        self._background.add(operator)
        return operator

    def _check_candidate(self, manager: Manager) -> None:
        """Raises ValueError if an operator that runs is the same candidate for the same lease: both would lead."""
        if (candidate := _candidate(manager)) is None:
            return
        namespace, lease, identity = candidate
        for one in self._background.operators:
            if one.is_alive and not one.process.fenced and _candidate(one.manager) == candidate:
                raise ValueError(
                    f"identity={identity!r}: operator {one.name!r} runs with it and elects a leader with the lease "
                    f"{namespace}/{lease}, so that both would lead: give each replica an identity of its own"
                )

    def operated(
        self, manager: Manager, observer: ReconcileObserver, process: SimulatedProcess, clock: SkewedClock
    ) -> Operator:
        """The operator of a manager."""
        catalog, monotonic = self._runner.apiserver.catalog, self._bubble.clock.monotonic
        process.name = str(observer.identity)
        return Operator(
            manager, observer.identity, self._ledger, monotonic, self._stepping.settle,
            self._background.operator_failed, catalog, process, clock,
        )  # fmt: skip

    def _connected(self, user: User | None, trace: Callable[[], str]) -> Connection:
        if self._transport == "direct":
            return self.directly_connected(user or ADMIN, trace)
        token = self._endpoint.admin if user is None else self._endpoint.token_of(user)
        return over_http(self._endpoint.url, self._bubble, token, trace)

    def directly_connected(self, user: User, trace: Callable[[], str], *, shared: bool = False) -> DirectTransport:
        """A transport without HTTP, which is retired with the cluster."""
        self.transports.append(DirectTransport(self._runner, user=user, trace=trace, shared=shared))
        return self.transports[-1]

    def stop(self, operator: Operator) -> Awaitable[None]:
        """See `Cluster.stop`."""
        if not isinstance(operator, Operator):
            raise TypeError(f"stop() takes an operator as start() returns it{_other_end(operator)}")
        operator = self._background.present(operator, "stop")
        if self._stepping.in_async_test():
            return self._stepping.awaited(self._stopped(operator), "stop")
        self._bubble.loop.drive(operator.end())
        return self._stepping.settle()

    async def _stopped(self, operator: Operator) -> None:
        await operator.end()
        await self._stepping.settle()

    def kill(self, operator: Any, after_write: int | None, at: str | None) -> Awaitable[None] | PlannedKill:
        """See `Cluster.kill`."""
        process = self._background.process_of(operator, "kill")
        if after_write is not None or at is not None:
            plan = self._detection.planned(self._disruptions.plan_kill(process, after_write, at))
            note = self._detection.scene.note
            plan.on_killed = lambda change: note(process.name, f"killed after {change.anchor}")
            return plan
        self._disruptions.kill(process)
        self._detection.scene.note(process.name, "killed")
        return self._stepping.settle()

    def restart(self, operator: Operator) -> Operator:
        """See `Cluster.restart`."""
        if not isinstance(operator, Operator) or operator.launch is None:
            raise TypeError(f"restart() takes an operator as start() returns it, not {operator!r}")
        operator = self._background.present(operator, "restart")
        started = self.relaunched(operator)
        operator.replaced = True
        return self._begun(started, "restart")

    def relaunched(self, operator: Operator) -> Operator:
        """The next incarnation of an operator, not started; the operator is killed if it still runs."""
        assert operator.launch is not None, "it was started by the test"
        if operator.is_alive:
            self._disruptions.kill(operator.process)
        operator.successor = self.launched(operator.launch, operator.name)
        return operator.successor

    # --- tasks and threads

    def task(
        self, work: Coroutine[Any, Any, Any] | Callable[[], Coroutine[Any, Any, Any]], name: str
    ) -> asyncio.Task[None]:
        """See `Cluster.task`."""
        coroutine = self._released(work)() if callable(work) else work
        if not asyncio.iscoroutine(coroutine):
            raise TypeError(f"task() takes a coroutine: call the async function, task(work()), not {work!r}")
        start = work if callable(work) else factory_of(coroutine)
        if isinstance(start, partial) and self._released(start.func) is not start.func:
            name = name or start.func.__qualname__
            coroutine.close()
            coroutine = self._start(start)
        return self._background.task(coroutine, name, partial(self._start, start) if start is not None else None)

    def _start(self, function: Callable[..., Any]) -> Any:
        """Call a function of the test, or that of another release, with its arguments."""
        if isinstance(function, partial):
            return self._released(function.func)(*function.args, **function.keywords)
        return self._released(function)()

    def thread(
        self,
        function: Callable[..., object],
        args: tuple[object, ...],
        name: str | None,
        kwargs: Mapping[str, Any] | None,
    ) -> BubbleThread:
        """See `Cluster.thread`."""
        if not callable(function):
            raise TypeError(f"thread() takes a function, not {function!r}")
        if inspect.iscoroutinefunction(function):
            raise TypeError(f"thread() takes a sync function: use task({function.__name__}()) for a coroutine")
        work = partial(self._start, partial(function, *args, **(kwargs or {})))
        return self._background.thread(work, name or getattr(function, "__qualname__", None))


def _candidate(manager: Manager) -> tuple[str, str, str] | None:
    """Namespace, lease and identity of an election in which it was given an identity."""
    election = manager.election
    if not isinstance(election, LeaderElection) or not election.options.identity:
        return None
    return election.options.namespace, election.options.name, election.options.identity


def _other_end(target: object) -> str:
    """How the test ends what `stop` does not take."""
    if isinstance(target, asyncio.Task):
        return ": end what task() runs with task.cancel()"
    if isinstance(target, BubbleThread):
        return ": end what thread() runs with faults.signal(thread, signal.SIGTERM)"
    return f", not {target!r}"
