"""FakeKube: the cluster of a test, with a clock, an API server, operators, and records of what they did."""

from __future__ import annotations

import asyncio
import builtins
import os
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar, Unpack

from controllerlib.client import Writable
from fakekube.apiserver.faults import FaultRule
from fakekube.apiserver.requestlog import RequestRecord
from fakekube.apiserver.user import User
from fakekube.clustersettings import ClusterSettings, built_from
from fakekube.harness import arguments, members, requestqueries
from fakekube.harness.assembly import Assembly
from fakekube.harness.asserting import Assertions
from fakekube.harness.assertions.invariants import Invariant, Predicate
from fakekube.harness.desks import (
    Access,
    Controllers,
    Exploration,
    Faults,
    Findings,
    Nodes,
    Pods,
    Processes,
    State,
    Webhooks,
)
from fakekube.harness.desks.faults import FaultRules
from fakekube.harness.directaddress import DirectAddress
from fakekube.harness.engine import Engine
from fakekube.harness.face import DESKS, Cluster
from fakekube.harness.keywords import DeleteOptions, EventFields, Fault, ManagerOptions, RequestFields
from fakekube.harness.ledger import Ledger
from fakekube.harness.objects import Object, Source
from fakekube.harness.operators.background import Target
from fakekube.harness.operators.managers import Build
from fakekube.harness.operators.operator import Operator
from fakekube.harness.requestqueries import RequestQueries
from fakekube.harness.timeline import Timeline
from fakekube.pythongarbage import collect_seldom, no_collections
from fakekube.virtualtime import VirtualClock
from fakekube.virtualtime.durations import Duration, TimeUnits
from fakekube.virtualtime.processes import ProcessOptions
from fakekube.virtualtime.threads.bubblethread import BubbleThread

T = TypeVar("T")


@members.implements(Cluster)
class FakeKube(Cluster):
    """A Kubernetes cluster under virtual time. A context manager; one at a time is open in a process.

    Its members are documented in `fakekube.Cluster`, its arguments in `fakekube.ClusterSettings`: `FakeKube(seed=7,
    rbac=True, controllers=["*"], nodes=2)`. Raises TypeError, ValueError naming the argument.
    """

    @built_from(ClusterSettings)
    def __init__(self, settings: ClusterSettings) -> None:
        self._parts = parts = Assembly(settings)
        self._timeline, self._ledger, self._objects = parts.timeline, parts.ledger, parts.objects
        self._stepping, self._operators, self._bubble = parts.stepping, parts.operators, parts.bubble
        self._perturbation = parts.perturbation
        self._queries = RequestQueries(parts.server, parts.audit)
        self._rules = FaultRules(
            parts.server, parts.timeline, parts.detection, now=parts.bubble.clock.now, draw=parts.bubble.seed.float,
            failed=parts.background.failed,
        )  # fmt: skip
        self._assertions = Assertions(
            parts.bubble, parts.ledger, parts.audit, self._queries, parts.background, parts.controllers,
            parts.read_only, parts.stepping,
        )  # fmt: skip
        self._engine = Engine(
            settings, parts.bubble, parts.server, parts.objects, parts.stepping, parts.operators, parts.background,
            parts.controllers, parts.disruptions, parts.invariants, parts.detection, parts.state.golden,
            parts.perturbation, parts.transport,
        )  # fmt: skip
        self.faults: Faults = Faults(
            parts.bubble, parts.server, parts.objects, self._rules, parts.disruptions, parts.background, parts.stepping
        )
        self.state: State = State(parts.objects, parts.state, parts.audit, parts.bubble.clock)
        self.nodes: Nodes = Nodes(parts.controllers.scope, parts.stepping)
        self.pods: Pods = Pods(parts.controllers.scope, parts.server, parts.background, parts.controllers.metrics)
        self.controllers: Controllers = Controllers(parts.controllers)
        self.access: Access = Access("fakekube", DirectAddress(parts))
        self.webhooks: Webhooks = Webhooks(parts.webhooks, parts.objects)
        self.findings: Findings = Findings(
            parts.bubble, parts.detection, parts.stepping, parts.background, parts.audit, parts.ledger,
            self._engine.check_findings,
        )  # fmt: skip
        self.processes: Processes = Processes(parts.bubble, parts.server, parts.audit, self._queries, parts.stepping)
        self.exploration: Exploration = Exploration(parts.perturbation)
        self._desks = tuple(getattr(self, name) for name in DESKS)
        members.not_open((self, *self._desks))
        self._collect_as_before: Callable[[], None] = lambda: None

    def __enter__(self) -> Self:
        parts = self._parts
        members.check_can_open(is_open=parts.bubble.closer is not None, is_closed=parts.is_closed())
        with no_collections():  # nearly all that is made here is kept
            parts.open(self.close)
            self._collect_as_before = collect_seldom()
            members.opened((self, *self._desks))
            parts.start_controllers()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None and self._engine.findings_at_exit:
                self._engine.check_findings()
        finally:
            self.close()
        if error is None:
            self._parts.background.raise_failure()
            self._stepping.finish()

    def __repr__(self) -> str:
        server = self._parts.server
        store = server.apiserver.store
        return (
            f"<FakeKube {self._parts.endpoint!r} rev={store.revision} objects={store.size()} "
            f"watches={len(server.watches)} faults={len(server.apiserver.faults.rules)}>"
        )

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Called for names that do not exist. Raises AttributeError that names the desk which has them."""
            raise AttributeError(members.unknown(FakeKube, DESKS, name), name=name, obj=self)

    def close(self) -> None:
        if not self._parts.is_closed():
            members.closed((self, *self._desks))
            self._collect_as_before()
            self._parts.close()

    @property
    def namespace(self) -> str:
        return "default"

    # --- time ------------------------------------------------------------------------------------------------------

    @property
    def clock(self) -> VirtualClock:
        return self._bubble.clock

    def settle(self) -> Awaitable[None]:
        return self._stepping.settle()

    def advance(self, duration: Duration = 0, **units: Unpack[TimeUnits]) -> Awaitable[None]:
        return self._stepping.step(lambda: self._bubble.advance(duration, **units))

    def advance_to(self, moment: datetime | str) -> Awaitable[None]:
        goal = arguments.moment_of(moment)
        return self._stepping.step(lambda: self._bubble.advance_to(goal))

    def advance_until(self, predicate: Callable[[], object], timeout: Duration) -> Awaitable[None]:
        if not callable(predicate):
            raise TypeError(f"advance_until() takes a function, like `lambda: ...`, not {predicate!r}")
        return self._stepping.until(predicate, timeout)

    # --- objects ---------------------------------------------------------------------------------------------------

    def apply(self, *sources: Source) -> builtins.list[Object]:
        return [] if self._perturbation.skips() else self._objects.apply(*sources)

    def create(self, obj: Writable) -> Object:
        if self._perturbation.skips():
            return dict(arguments.written("create", obj))
        return self._objects.create(obj)

    def get(self, api_version: str, kind: str, name: str, namespace: str = "default") -> Object:
        return self._objects.get(api_version, kind, name, namespace)

    def list(
        self, api_version: str, kind: str, namespace: str | None = "default", *,
        label_selector: str | Mapping[str, str] = "", field_selector: str | Mapping[str, str] = "",
    ) -> Sequence[Object]:  # fmt: skip
        return self._objects.list(api_version, kind, namespace, label_selector, field_selector)

    def exists(self, api_version: str, kind: str, name: str, namespace: str = "default") -> bool:
        return self._objects.exists(api_version, kind, name, namespace)

    def update(self, obj: Writable, *, subresource: str = "") -> Object:
        if self._perturbation.skips():
            return dict(arguments.written("update", obj))
        return self._objects.update(obj, subresource)

    def patch(
        self, api_version: str, kind: str, name: str, patch: Any, namespace: str = "default", *, subresource: str = ""
    ) -> Object:
        if self._perturbation.skips():
            return self._objects.get(api_version, kind, name, namespace)
        return self._objects.patch(api_version, kind, name, patch, namespace, subresource)

    def delete(
        self, api_version: str, kind: str, name: str, namespace: str = "default", **options: Unpack[DeleteOptions]
    ) -> Object:
        if self._perturbation.skips():
            return {}
        return self._objects.delete(api_version, kind, name, namespace, options)

    # --- operators -------------------------------------------------------------------------------------------------

    def start(
        self,
        build: Build,
        *,
        name: str = "",
        service_account: str = "",
        user: User | str | None = None,
        **options: Unpack[ManagerOptions],
    ) -> Operator:
        return self._operators.start(build, name, service_account, user, options)

    def stop(self, operator: Operator) -> Awaitable[None]:
        return self._operators.stop(operator)

    def kill(self, operator: Target, *, after_write: int | None = None, at: str | None = None) -> Any:
        return self._operators.kill(operator, after_write, at)

    def restart(self, operator: Operator) -> Operator:
        return self._operators.restart(operator)

    def task(
        self, work: Coroutine[Any, Any, Any] | Callable[[], Coroutine[Any, Any, Any]], *, name: str = ""
    ) -> asyncio.Task[None]:
        return self._operators.task(work, name)

    def thread(
        self,
        function: Callable[..., object],
        *args: object,
        name: str | None = None,
        kwargs: Mapping[str, Any] | None = None,
    ) -> BubbleThread:
        return self._operators.thread(function, args, name, kwargs)

    def run(self, main: Coroutine[Any, Any, T]) -> T:
        return self._bubble.run(main)

    def run_process(self, argv: Sequence[str], **options: Unpack[ProcessOptions]) -> Any:
        if isinstance(argv, str):
            raise TypeError(f"run_process({argv!r}): pass a list, {argv.split()!r}")
        if not argv:
            raise ValueError("run_process([]): the list names a program and its arguments")
        reached = {"KUBECONFIG": str(self.access.kubeconfig), "FAKEKUBE_URL": self.access.url}
        options["env"] = {**os.environ, **(options.get("env") or {}), **reached}
        if self._stepping.in_async_test():
            return self._stepping.awaited(self._bubble.run_process(argv, **options), "run_process")
        return self._bubble.run_process(argv, **options)

    # --- what happened ---------------------------------------------------------------------------------------------

    def requests(self, **wanted: Unpack[RequestFields]) -> Sequence[RequestRecord]:
        return self._queries.requests(wanted)

    def events(self, **wanted: Unpack[EventFields]) -> Sequence[Object]:
        return requestqueries.events(self._objects, None, wanted)

    @property
    def ledger(self) -> Ledger:
        return self._ledger

    @property
    def timeline(self) -> Timeline:
        return self._timeline

    def why(self) -> str:
        parts = self._parts
        return "\n".join([self._bubble.why(), *parts.background.facts(), *parts.disruptions.facts()])

    def log(self) -> str:
        lines = [*self._ledger.lines(self.clock.epoch), *self._parts.audit.lines()]
        return "\n".join(line for _, line in sorted(lines))

    # --- what must hold --------------------------------------------------------------------------------------------

    def assert_reconciled(
        self,
        key: str,
        *,
        controller: str = "",
        times: int | None = None,
        causes: Sequence[str] | None = None,
        results: Sequence[str] | None = None,
        within: Duration | None = None,
    ) -> None:
        self._assertions.reconciled(key, controller, times, causes, results, within)

    def assert_requests(self, times: int | None = None, **wanted: Unpack[RequestFields]) -> None:
        self._assertions.requests(times, wanted)

    def assert_written(
        self,
        api_version: str,
        kind: str,
        name: str,
        fields: Mapping[str, Any],
        namespace: str = "default",
        *,
        by: str = "*",
    ) -> None:
        versions = self.state.versions(api_version, kind, name, namespace)
        self._assertions.written(f"{kind} {namespace}/{name}", versions, fields, by)

    def always(self, predicate: Predicate, text: str) -> Invariant:
        return self._parts.invariants.add(predicate, text, wanted=True)

    def never(self, predicate: Predicate, text: str) -> Invariant:
        return self._parts.invariants.add(predicate, text, wanted=False)

    def eventually(self, predicate: Predicate, text: str = "", *, within: Duration) -> Awaitable[None]:
        return self._assertions.eventually(predicate, text, within, self._story)

    def _story(self) -> str:
        # the pytest plugin, which also checks the findings, adds the timeline to the report
        return f"\n\n{self._timeline.render(30)}" if self._engine.findings_at_exit else ""

    # --- trouble ---------------------------------------------------------------------------------------------------

    def fault(self, **fault: Unpack[Fault]) -> FaultRule:
        return self._rules.of_requests(fault)
