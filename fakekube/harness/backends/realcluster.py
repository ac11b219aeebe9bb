"""RealCluster: what a test holds of a real cluster, in real time."""

from __future__ import annotations

import asyncio
import builtins
import itertools
import os
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from types import TracebackType
from typing import Any, Self, TypeVar, Unpack

from controllerlib import Manager
from controllerlib.client import Writable
from fakekube.apiserver.user import User
from fakekube.harness import arguments
from fakekube.harness.backends import leftovers
from fakekube.harness.backends.activity import Activity, end_of
from fakekube.harness.backends.blockingtransport import BlockingTransport
from fakekube.harness.backends.connection import Connection
from fakekube.harness.backends.discoveredkinds import DiscoveredKinds
from fakekube.harness.backends.reaching import Reaching
from fakekube.harness.backends.realdesks import RealAddress, RealDesks, RealEngine
from fakekube.harness.backends.realloop import RealLoop
from fakekube.harness.connecting.users import acting
from fakekube.harness.face import Cluster
from fakekube.harness.keywords import DeleteOptions, EventFields, ManagerOptions
from fakekube.harness.ledger import Ledger
from fakekube.harness.members import implements, skip_the_rest
from fakekube.harness.objects import TEST_AGENT, Object, Objects, Source, key_in
from fakekube.harness.operators.managers import Build, build_into
from fakekube.harness.operators.operator import Operator
from fakekube.harness.operators.reconcileobserver import ReconcileObserver
from fakekube.harness.requestqueries import events
from fakekube.harness.sharing import namespace_for
from fakekube.harness.timeline import Timeline
from fakekube.harness.unhandled import has_failed
from fakekube.server.direct import Answer
from fakekube.server.systemclock import SystemClock
from fakekube.virtualtime.bubble import Done
from fakekube.virtualtime.processes import ProcessOptions
from fakekube.virtualtime.simulatedprocess import SimulatedProcess

T = TypeVar("T")

#: Real seconds without activity after which operators are quiet, and after which waiting for that is an error.
QUIET, PATIENCE = 0.3, 30.0


@skip_the_rest
@implements(Cluster)
class RealCluster(Cluster):
    """A real cluster, as far as it can do what FakeKube does. A context manager.

    Each has a namespace of its own, which `namespace` names and which is used for objects without one. At the end it is
    removed with all its objects, as are the cluster-scoped objects that the test and its operators have created.
    Operators run while the test settles. What needs the clock, faults or fakekube's own server skips the test.

    name: of the test, from which the namespace is named. quiet, patience: real seconds of `settle`.
    keep_definitions: leave the CustomResourceDefinitions that the test has created.
    """

    def __init__(
        self,
        connection: Connection,
        *,
        name: str,
        quiet: float = QUIET,
        patience: float = PATIENCE,
        keep_definitions: bool = False,
    ) -> None:
        self._backend = backend = connection.backend
        self._connection, self._quiet, self._patience = connection, quiet, patience
        self._keep_definitions = keep_definitions
        self._clock = SystemClock()
        self._activity = Activity(self._clock)
        self._namespace = namespace_for(name, f"{os.getpid()} {self._clock.now().isoformat()}")
        self._loop = asyncio.new_event_loop()
        self._requests = BlockingTransport(partial(connection.transport, **{"User-Agent": TEST_AGENT}))
        self._kinds = DiscoveredKinds(self._requests.request)
        serials = itertools.count(1)
        self._timeline = Timeline(self._clock.now(), serials, partial(key_in, self._kinds.catalog))
        self._ledger = Ledger(self._clock.now, self._timeline, serials)
        self._objects = Objects(self._kinds, self._answered, self._namespace)
        self._reaching = Reaching(connection)
        self._address = RealAddress(connection, self._reaching, self._activity)
        self._engine = RealEngine(RealLoop(self._loop, backend), name)
        desks = RealDesks(backend, self._address, self._objects)
        self.access, self.state, self.findings = desks.access, desks.state, desks.findings
        self.exploration, self.faults, self.webhooks = desks.exploration, desks.faults, desks.webhooks
        self.nodes, self.pods = desks.nodes, desks.pods
        self.controllers, self.processes = desks.controllers, desks.processes
        self._operators: list[Operator] = []
        self._tasks: list[asyncio.Task[Any]] = []
        self._failures: list[BaseException] = []

    def __enter__(self) -> Self:
        try:
            self.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self._namespace}})
        except BaseException:
            self._close_connections()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
        if error is None:
            self._raise_failure()

    def __repr__(self) -> str:
        return f"<RealCluster {self._backend} namespace={self._namespace}>"

    def close(self) -> None:
        """End operators and tasks, and remove what the test has created. May be called again. Raises NotRemoved."""
        if self._loop.is_closed():
            return
        with ExitStack() as steps:  # in reverse order, each even if those before it failed
            steps.callback(self._close_connections)
            steps.callback(lambda: self._loop.run_until_complete(self._end_loop()))
            steps.callback(self._remove)
            steps.callback(lambda: self._loop.run_until_complete(self._end()))

    @contextmanager
    def test(self) -> Iterator[None]:
        """A test that uses the cluster among others: what it starts ends with it, what it creates is removed."""
        created, operators, tasks = len(self._activity.created), len(self._operators), len(self._tasks)
        try:
            yield
        finally:
            self._loop.run_until_complete(self._end(operators, tasks))
            self._remove(created)
        self._raise_failure()

    def _remove(self, since: int = 0) -> None:
        self._kinds.refresh()
        created = self._activity.created[since:]
        del self._activity.created[since:]
        leftovers.remove(
            self._requests.request, created, self._kinds.resources(), keep_definitions=self._keep_definitions
        )

    def _close_connections(self) -> None:
        self._requests.close()
        self._reaching.close()
        self._ledger.retire()
        self._loop.close()

    async def _end(self, operators: int = 0, tasks: int = 0) -> None:
        """End what was started after these numbers of operators and tasks, the latest first."""
        while len(self._operators) > operators:
            await self._operators.pop().end()
        await end_of(self._tasks[tasks:])
        del self._tasks[tasks:]

    async def _end_loop(self) -> None:
        this = asyncio.current_task()
        await end_of([task for task in asyncio.all_tasks() if task is not this])
        for transport in self._address.transports:
            await transport.aclose()
        await self._loop.shutdown_asyncgens()
        await self._loop.shutdown_default_executor()

    def run(self, main: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the loop of the operators."""
        return self._loop.run_until_complete(main)

    @property
    def namespace(self) -> str:
        return self._namespace

    @property
    def ledger(self) -> Ledger:
        return self._ledger

    @property
    def timeline(self) -> Timeline:
        return self._timeline

    # --- waiting ---------------------------------------------------------------------------------------------------

    def settle(self) -> Awaitable[None]:
        """Wait until operators are quiet: no request, watch event or reconcile for a moment. Raises NotQuiescent."""
        return self._do(self._settled())

    async def _settled(self) -> None:
        try:
            await self._activity.quiet(self._quiet, self._patience, self._busy)
        finally:
            self._raise_failure()

    def _busy(self) -> Iterator[str]:
        for operator in self._operators:
            for view in operator.views() if operator.is_alive else ():
                for key in (*view.ready, *view.processing):
                    yield f"controller {view.name} reconciles {key}"

    def _raise_failure(self) -> None:
        if self._failures:
            raise self._failures.pop(0)

    def _do(self, work: Coroutine[Any, Any, None]) -> Awaitable[None]:
        if asyncio._get_running_loop() is self._loop:
            return work
        self._loop.run_until_complete(work)
        return Done()

    def run_process(self, argv: Sequence[str], **options: Unpack[ProcessOptions]) -> Any:
        """Run a command to completion with KUBECONFIG set to this cluster."""
        return self._reaching.run(argv, options, in_coroutine=asyncio._get_running_loop() is not None)

    # --- what runs beside the test -----------------------------------------------------------------------------------

    def start(
        self,
        build: Build,
        *,
        name: str = "",
        service_account: str = "",
        user: User | str | None = None,
        **options: Unpack[ManagerOptions],
    ) -> Operator:
        """Start an operator over HTTP; users are impersonated."""
        operator = self._operator(build, name, acting(service_account, user), options)
        operator.begin(self._engine.bubble)
        if asyncio._get_running_loop() is None:
            self.settle()
            operator.warn_of_unserved()
        return operator

    def _operator(self, build: Build, name: str, user: User | None, options: ManagerOptions) -> Operator:
        observer = ReconcileObserver(self._ledger, self._clock.now)
        settings: dict[str, Any] = {"observer": observer, **options}
        if "sync_period" in options:
            settings["sync_period"] = arguments.seconds_of("sync_period", options["sync_period"])
        if self._backend == "cluster" and not {"namespaces", "cache"} & options.keys():
            settings["namespaces"] = self._own_namespaces()
        manager = Manager(self._address.observed(user), **settings)
        build_into(manager, build, options.get("election") is not None)
        identity = self._ledger.identities.claim(name, next(iter(manager.controllers), "operator"))
        observer.identify(identity, manager.controllers)
        made = Operator(
            manager,
            observer.identity,
            self._ledger,
            self._clock.monotonic,
            self.settle,
            self._failures.append,
            self._kinds,
            SimulatedProcess(str(observer.identity)),
        )
        self._operators.append(made)
        return made

    def _own_namespaces(self) -> tuple[str, ...]:
        """The namespaces of the test. In an existing cluster the cache of an operator has only these by default."""
        return tuple(body["metadata"]["name"] for path, body in self._activity.created if path == leftovers.NAMESPACES)

    def stop(self, operator: Operator) -> Awaitable[None]:
        """Stop an operator as SIGTERM would: reconciles that run are finished first."""
        if not isinstance(operator, Operator):
            raise TypeError(f"stop() takes an operator as start() returns it, not {operator!r}")
        return self._do(self._stopped(operator))

    async def _stopped(self, operator: Operator) -> None:
        await operator.end()
        await self._settled()

    def task(
        self, work: Coroutine[Any, Any, Any] | Callable[[], Coroutine[Any, Any, Any]], *, name: str = ""
    ) -> asyncio.Task[None]:
        """Run a coroutine beside the test, while it settles, until the cluster closes."""
        coroutine = work() if callable(work) else work
        if not asyncio.iscoroutine(coroutine):
            raise TypeError(f"task() takes a coroutine: call the async function, task(work()), not {work!r}")
        self._tasks.append(self._loop.create_task(self._guarded(coroutine), name=name or None))
        return self._tasks[-1]

    async def _guarded(self, work: Coroutine[Any, Any, Any]) -> None:
        task = asyncio.current_task()
        try:
            await work
        except BaseException as error:  # raised by the next step of the test
            if not has_failed(error, task):
                raise
            self._failures.append(error)

    # --- objects ---------------------------------------------------------------------------------------------------

    def _answered(self, method: str, path: str, **more: Any) -> Answer:
        answer = self._requests.request(method, path, **more)
        self._activity.answered(method, path, answer)
        return answer

    def apply(self, *sources: Source) -> builtins.list[Object]:
        """Objects without a namespace are in that of the test."""
        return self._objects.apply(*sources)

    def create(self, obj: Writable) -> Object:
        return self._objects.create(obj)

    def get(self, api_version: str, kind: str, name: str, namespace: str = "") -> Object:
        """Without a namespace, in that of the test."""
        return self._objects.get(api_version, kind, name, namespace)

    def exists(self, api_version: str, kind: str, name: str, namespace: str = "") -> bool:
        return self._objects.exists(api_version, kind, name, namespace)

    def list(
        self, api_version: str, kind: str, namespace: str | None = "", *,
        label_selector: str | Mapping[str, str] = "", field_selector: str | Mapping[str, str] = "",
    ) -> Sequence[Object]:  # fmt: skip
        """Without a namespace, in that of the test."""
        where = self._namespace if namespace == "" else namespace
        return self._objects.list(api_version, kind, where, label_selector, field_selector)

    def update(self, obj: Writable, *, subresource: str = "") -> Object:
        return self._objects.update(obj, subresource)

    def patch(
        self, api_version: str, kind: str, name: str, patch: Any, namespace: str = "", *, subresource: str = ""
    ) -> Object:
        return self._objects.patch(api_version, kind, name, patch, namespace, subresource)

    def delete(
        self, api_version: str, kind: str, name: str, namespace: str = "", **options: Unpack[DeleteOptions]
    ) -> Object:
        return self._objects.delete(api_version, kind, name, namespace, options)

    def events(self, **wanted: Unpack[EventFields]) -> Sequence[Object]:
        """The Events of the test's namespace with these fields, oldest first."""
        return events(self._objects, self._namespace, wanted)
