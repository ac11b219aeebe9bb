"""FakeKube: the cluster that a test holds. One clock, one API server, any number of operators, and what happened to them."""

from __future__ import annotations

import asyncio
import builtins
import os
import tempfile
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack, contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

from controllerlib import ApiError, Manager
from fakekube import bootstrap, kubeconfig, manifests
from fakekube.chance import SeededChance
from fakekube.controlplane import ControlPlane, WouldWait
from fakekube.core.authentication import ADMIN, User
from fakekube.core.faults import FaultRule
from fakekube.core.requestlog import RequestRecord
from fakekube.core.resource import Resource
from fakekube.core.store import Change
from fakekube.ledger import WRITES, Ledger
from fakekube.operator import Build, Operator
from fakekube.timeline import Timeline
from fakekube.transport import DirectTransport
from fakekube.virtualtime import Bubble, VirtualClock
from fakekube.virtualtime.durations import Duration
from fakekube.virtualtime.seeds import Seed
from fakekube.virtualtime.turnstile import BubbleThread

if TYPE_CHECKING:
    from fakekube.server import HttpServer

Object = dict[str, Any]

Transport = Literal["direct", "memory", "tcp"]

#: The User-Agent of what the test itself writes.
TEST_AGENT = "test"

AUTHORIZATION = {False: "AlwaysAllow", True: "RBAC"}


class FakeKube:
    """A Kubernetes cluster under virtual time. A context manager; one at a time in a process.

    seed: everything random is drawn from it. rbac: whether access is checked (the bootstrap roles are then there).
    stepped: reconciles run only when the test settles or moves time (None: in sync tests, not in async ones).
    wall_clock: whether `datetime.now()`, `time.time()` and `time.sleep()` of all code are on the cluster's clock.
    transport: how operators that are started here reach the server. history_window: how many changes watches can read back.

    What moves time (`settle`, `advance`, ...) blocks in a sync test and must be awaited in an async one. What asks and
    writes objects (`get`, `apply`, ...) never waits, in either.
    """

    def __init__(
        self,
        *,
        seed: int | str = 0,
        rbac: bool = False,
        stepped: bool | None = None,
        wall_clock: bool = True,
        transport: Transport = "direct",
        history_window: int = 20_000,
        patience: float = 30.0,
        version: str | None = None,
        controllers: Sequence[str] = (),
    ) -> None:
        if transport not in ("direct", "memory", "tcp"):
            raise ValueError(f"transport={transport!r}: operators are reached 'direct', over 'memory' or over 'tcp'")
        if history_window < 1:
            raise ValueError(f"history_window={history_window}: watches need at least one change to read")
        if version not in (None, bootstrap.KUBERNETES_VERSION):
            raise ValueError(f"version={version!r}: this release serves Kubernetes {bootstrap.KUBERNETES_VERSION} only")
        if controllers:
            raise ValueError(f"controllers={list(controllers)!r}: this release has no built-in controllers")
        self.seed = seed
        drawn = Seed(seed) if isinstance(seed, int) else Seed.of_name(seed)
        door: Literal["memory", "tcp"] = "tcp" if transport == "tcp" else "memory"
        self._bubble = Bubble(seed=drawn, stepped=stepped, wall_clock=wall_clock, transport=door, patience=patience)
        self._transport: Transport = transport
        chance = SeededChance(drawn)
        core = bootstrap.api_server(
            self.clock.now(), chance, authorization_mode=AUTHORIZATION[rbac], history_window=history_window
        )
        self._plane = ControlPlane(core, self.clock, chance)
        self.timeline = Timeline(self.clock.epoch)
        self.ledger = Ledger(self.clock.now, self.timeline)
        self._changes: list[tuple[datetime, Change]] = []
        self._operators: list[Operator] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._failures: list[BaseException] = []
        self._server: HttpServer | None = None
        self._serving = AsyncExitStack()
        self._leave = ExitStack()
        self._plane.on_write(self._written)
        self._plane.on_request(self._requested)
        self._draws = _Draws(drawn)

    def __enter__(self) -> Self:
        self._bubble.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        where = self._server.url if self._server else "not listening"
        store = self._plane.core.store
        return (
            f"<FakeKube {where} rev={store.revision} objects={store.size()} watches={len(self._plane.watches)} "
            f"faults={len(self._plane.core.faults.rules)}>"
        )

    def close(self) -> None:
        """End operators, watches and connections, and give the process its clock back. May be called again."""
        if not self._bubble.loop.is_closed():
            try:
                self._bubble.loop.turnstile.close()  # before what they talk to goes
                self._bubble.loop.drive(self._end())
            finally:
                self._leave.close()
                self._bubble.close()

    async def _end(self) -> None:
        for operator in reversed(self._operators):
            await operator.end()
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        self._plane.end_watches()
        await self._serving.aclose()

    # --- time ------------------------------------------------------------------------------------------------------

    @property
    def clock(self) -> VirtualClock:
        """The cluster's clock: `now()`, `time()`, `monotonic()`, `hold(reason)`, `next_timers()`."""
        return self._bubble.clock

    @property
    def bubble(self) -> Bubble:
        """The virtual time beneath: threads, processes, seeds."""
        return self._bubble

    def settle(self) -> Awaitable[None]:
        """Until nothing is left to do at this instant. Raises NotQuiescent, HotLoop, and what a manager failed with."""
        return self._step(self._bubble.settle)

    def advance(self, duration: Duration = 0, **units: float) -> Awaitable[None]:
        """Let time pass (`advance(60)`, `advance("1h30m")`, `advance(hours=10)`), stopping at everything that is due."""
        return self._step(lambda: self._bubble.advance(duration, **units))

    def advance_to(self, moment: datetime) -> Awaitable[None]:
        """Let time pass until `moment` (aware)."""
        return self._step(lambda: self._bubble.advance_to(moment))

    def advance_until(self, predicate: Callable[[], object], timeout: Duration) -> Awaitable[None]:
        """Let time pass until `predicate()` is true. Raises TimeoutError where it is not within `timeout`."""
        return self._step(lambda: self._bubble.advance_until(predicate, timeout))

    def _step(self, move: Callable[[], Awaitable[None]]) -> Awaitable[None]:
        if self._bubble.loop.is_running():
            return self._checked(move)
        done = move()
        self._raise_failure()
        return done

    async def _checked(self, move: Callable[[], Awaitable[None]]) -> None:
        await move()
        self._raise_failure()

    def _raise_failure(self) -> None:
        if self._failures:
            raise self._failures.pop(0)

    def why(self) -> str:
        """What is runnable, what waits where, what is held: one fact a line, queues included."""
        lines = [self._bubble.why()]
        for operator in self._operators:
            lines += [
                f"controller {view.name}: ready {view.ready}, processing {view.processing}, waiting {view.waiting}"
                for view in operator.views()
                if operator.manager.controllers[view.name].started.is_set()
            ]
        return "\n".join(lines)

    def run_process(self, argv: Sequence[str], **options: Any) -> Any:
        """Run a command that ends (`kubectl apply ...`) against this cluster: KUBECONFIG is set, time stands still.

        Returns its CompletedProcess, with text captured; in an async test it must be awaited.
        """
        env = {**os.environ, **(options.pop("env", None) or {}), "KUBECONFIG": str(self.kubeconfig)}
        return self._bubble.run_process(argv, env=env, **options)

    # --- reaching the server ---------------------------------------------------------------------------------------

    @property
    def url(self) -> str:
        """Where the server listens; it begins to at the first question. In an async test: `await listen()` before."""
        if self._server is None:
            if self._bubble.loop.is_running():
                raise RuntimeError("the server does not listen yet: `await fakekube.listen()` first")
            self._bubble.loop.drive(self._listen())
        assert self._server is not None
        return self._server.url

    def listen(self) -> Awaitable[None]:
        """Begin to listen on a free port of 127.0.0.1; nothing where it does already."""
        if self._bubble.loop.is_running():
            return self._listen()
        self._bubble.loop.drive(self._listen())
        return self._bubble.settle()

    async def _listen(self) -> None:
        if self._server is None:
            from fakekube.server import listen

            self._server = await self._serving.enter_async_context(listen(self._plane))

    @property
    def kubeconfig(self) -> Path:
        """A kubeconfig file of this cluster; it goes with the cluster."""
        folder = self._leave.enter_context(tempfile.TemporaryDirectory(prefix="fakekube-"))
        path = Path(folder, "kubeconfig")
        kubeconfig.write(path, self.url)
        return path

    def api_client(self) -> Any:
        """An official `kubernetes.client.ApiClient` of this cluster; it is closed with it."""
        from kubernetes import client

        configuration = client.Configuration(host=self.url)
        return self._leave.enter_context(client.ApiClient(configuration))

    def transport(self, *, user: User = ADMIN, user_agent: str = TEST_AGENT) -> DirectTransport:
        """A direct way in, as any user (for `controllerlib.Client`)."""
        return DirectTransport(self._plane, user=user, headers={"User-Agent": user_agent})

    # --- operators -------------------------------------------------------------------------------------------------

    def start(self, build: Build | Manager, **options: Any) -> Operator:
        """Start an operator: `build(manager)` adds its controllers. Returns when they have synced and all is quiet.

        `options` go to `controllerlib.Manager`. In an async test it must be awaited. Raises what the manager fails with.
        """
        if isinstance(build, Manager):
            raise TypeError("start() makes the manager itself: give it the function that adds the controllers")
        operator = self.operator(build, **options)
        operator.begin(self._bubble.loop)
        if not self._bubble.loop.is_running():
            self.settle()
        return operator

    def operator(self, build: Build, **options: Any) -> Operator:
        """The same without starting it."""
        settings: Object = {
            "clock": self.clock,
            "chance": self._draws,
            "gate": self._bubble.gate,
            "observer": self.ledger,
            "sync_period_jitter": 0.0,
            **options,
        }
        for name in ("sync_period",):
            value = settings.get(name)
            if isinstance(value, timedelta):
                settings[name] = value.total_seconds()
        manager = Manager(self._operator_transport(), **settings)
        build(manager)
        operator = Operator(manager, self.ledger, self.clock.monotonic, self.settle, self._failures.append)
        self._operators.append(operator)
        return operator

    def stop(self, operator: Operator) -> Awaitable[None]:
        """Stop an operator, as its process would end on SIGTERM."""
        if self._bubble.loop.is_running():
            return operator.end()
        self._bubble.loop.drive(operator.end())
        return self.settle()

    def task(self, work: Coroutine[Any, Any, Any], *, name: str = "") -> asyncio.Task[None]:
        """Run a coroutine beside the test until it ends or the cluster closes: a hand-written controller, say.

        What it raises, the test's next step raises.
        """
        task = self._bubble.loop.create_task(self._guarded(work), name=name or getattr(work, "__qualname__", "task"))
        self._tasks.append(task)
        return task

    async def _guarded(self, work: Coroutine[Any, Any, Any]) -> None:
        try:
            await work
        except Exception as error:  # handed to the test, which raises it
            self._failures.append(error)

    def thread(self, function: Callable[..., Any], *args: Any, name: str | None = None) -> BubbleThread:
        """Run sync code beside the test, under the same clock: an operator of the official client, say."""
        return self._bubble.thread(function, *args, name=name)

    def _operator_transport(self) -> Any:
        if self._transport == "direct":
            return DirectTransport(self._plane)
        from controllerlib.http import HttpTransport

        return HttpTransport(self.url)

    # --- objects: what the test itself does ----------------------------------------------------------------------

    def apply(self, *sources: str | Path | Mapping[str, Any] | Iterable[Mapping[str, Any]]) -> list[Object]:
        """Create or replace objects: files, directories, objects. Raises ManifestError naming what is wrong."""
        objects: list[Object] = []
        for source in sources:
            if isinstance(source, str | Path):
                objects += manifests.read(source)
            elif isinstance(source, Mapping):
                objects.append(dict(source))
            else:
                objects += [dict(one) for one in source]
        return manifests.apply(self._plane.core, self.transport(), objects)

    def create(self, obj: Mapping[str, Any]) -> Object:
        """Create an object. Raises ApiError."""
        resource = self._resource(obj.get("apiVersion", ""), obj.get("kind", ""))
        namespace = (obj.get("metadata") or {}).get("namespace") or "default"
        return self._call("POST", manifests.collection_path(resource, namespace), body=obj)

    def get(self, api_version: str, kind: str, name: str, namespace: str = "default") -> Object:
        """An object. Raises ApiError (NotFound)."""
        return self._call("GET", self._path(api_version, kind, name, namespace))

    def exists(self, api_version: str, kind: str, name: str, namespace: str = "default") -> bool:
        """Whether an object is there."""
        try:
            self.get(api_version, kind, name, namespace)
        except ApiError as error:
            if error.reason != "NotFound":
                raise
            return False
        return True

    def list(
        self, api_version: str, kind: str, namespace: str | None = "default", *, label_selector: str = "",
        field_selector: str = "",
    ) -> Sequence[Object]:  # fmt: skip
        """The objects of a namespace (None: of all), each with its apiVersion and kind."""
        resource = self._resource(api_version, kind)
        path = _everywhere(resource) if namespace is None else manifests.collection_path(resource, namespace)
        pairs = [("labelSelector", label_selector), ("fieldSelector", field_selector)]
        body = self._call("GET", path, query=[(k, v) for k, v in pairs if v])
        return [{"apiVersion": api_version, "kind": kind, **item} for item in body["items"]]

    def update(self, obj: Mapping[str, Any], *, subresource: str = "") -> Object:
        """Replace an object, or with `subresource="status"` its status. Raises ApiError."""
        meta = obj.get("metadata") or {}
        path = self._path(obj.get("apiVersion", ""), obj.get("kind", ""), meta.get("name", ""), meta.get("namespace"))
        return self._call("PUT", f"{path}/{subresource}" if subresource else path, body=obj)

    def patch(
        self, api_version: str, kind: str, name: str, patch: Any, namespace: str = "default", *, subresource: str = ""
    ) -> Object:
        """Merge `patch` into an object (a list is taken as a JSON Patch). Raises ApiError."""
        path = self._path(api_version, kind, name, namespace)
        media = "application/json-patch+json" if isinstance(patch, builtins.list) else "application/merge-patch+json"
        target = f"{path}/{subresource}" if subresource else path
        return self._call("PATCH", target, headers={"Content-Type": media}, body=patch)

    def delete(self, api_version: str, kind: str, name: str, namespace: str = "default", **options: Any) -> Object:
        """Delete an object; `options` are those of DeleteOptions (`propagationPolicy="Foreground"`). Raises ApiError."""
        body = {"apiVersion": "v1", "kind": "DeleteOptions", **options} if options else None
        return self._call("DELETE", self._path(api_version, kind, name, namespace), body=body)

    def _call(self, method: str, path: str, **more: Any) -> Object:
        try:
            code, _, body = self.transport().request_now(method, path, **more)
        except WouldWait:
            raise WouldWait(
                f"{method} {path} is delayed by a fault: use a client, which can wait for it, or let the fault "
                f"match other user agents than {TEST_AGENT!r}"
            ) from None
        if code >= 400:
            from controllerlib.errors import from_status

            raise from_status(body, code)
        result: Object = body
        return result

    def _resource(self, api_version: str, kind: str) -> Resource:
        found = self._plane.core.catalog.find_kind(api_version, kind)
        if found is None:
            raise LookupError(
                f"the cluster has no kind {kind!r} in {api_version!r}: is its CustomResourceDefinition applied?"
            )
        return found

    def _path(self, api_version: str, kind: str, name: str, namespace: str | None) -> str:
        resource = self._resource(api_version, kind)
        return f"{manifests.collection_path(resource, namespace or 'default')}/{name}"

    # --- what happened ---------------------------------------------------------------------------------------------

    def requests(self, **wanted: Any) -> Sequence[RequestRecord]:
        """The answered requests, oldest first: those whose fields equal `wanted` (verb, resource, name, user_agent, ...).

        Raises TypeError for a field that a record does not have.
        """
        unknown = wanted.keys() - set(RequestRecord.__dataclass_fields__)
        if unknown:
            raise TypeError(f"requests() has no field {', '.join(sorted(unknown))}")
        return [r for r in self._plane.log if all(getattr(r, key) == value for key, value in wanted.items())]

    def versions(
        self, api_version: str, kind: str, name: str, namespace: str = "default"
    ) -> Sequence[tuple[datetime, Object | None]]:
        """An object's history: when, and what it then was (None: deleted)."""
        resource = self._resource(api_version, kind)
        path = f"{namespace}/{name}" if resource.namespaced else name
        view = self._plane.core.view(resource)
        return [
            (at, view.to_object(change.after) if change.after else None)
            for at, change in self._changes
            if change.collection == resource.collection and change.path == path
        ]

    def events(self, **wanted: str) -> Sequence[Object]:
        """The Events that were recorded, oldest first: those whose fields equal `wanted` (`reason="Synced"`)."""
        found = self.list("v1", "Event", None)
        return [event for event in found if all(event.get(key) == value for key, value in wanted.items())]

    def _written(self, change: Change) -> None:
        self._changes.append((self.clock.now(), change))

    def _requested(self, record: RequestRecord) -> None:
        if record.verb in WRITES or record.code >= 400:
            agent = record.user_agent or record.user
            self.timeline.add(self.clock.now(), agent.partition("/")[0], str(record), str(record.revision), "")

    # --- trouble, made to order ------------------------------------------------------------------------------------

    @contextmanager
    def fault(self, **rule: Any) -> Iterator[FaultRule]:
        """Requests that match fail, wait or break (see FaultRule): `fault(verb="update", resource="backups", error=409, times=1)`.

        What the test itself writes is not hit unless `user_agent` says so.
        """
        rule.setdefault("except_agent", TEST_AGENT)
        made = FaultRule(**rule)
        rules = self._plane.core.faults.rules
        rules.append(made)
        try:
            yield made
        finally:
            rules.remove(made)

    def compact(self) -> None:
        """Forget the history: watches that resume from before now get 410 Gone."""
        self._plane.core.store.compact()

    def cut_watches(self) -> None:
        """End every open watch, as a restart of the server would; clients may watch again."""
        self._plane.end_watches()

    # --- assertions ------------------------------------------------------------------------------------------------

    def assert_no_writes_at_rest(self) -> None:
        """Reconciling everything again, a second later, must write nothing. Raises AssertionError naming what was written.

        In an async test use `await check_no_writes_at_rest()`.
        """
        if self._bubble.loop.is_running():
            raise RuntimeError("in an async test: `await fakekube.check_no_writes_at_rest()`")
        before = self._before_rest_check()
        self.advance(1)
        self._reconcile_everything()
        self.settle()
        self._after_rest_check(before)

    async def check_no_writes_at_rest(self) -> None:
        """`assert_no_writes_at_rest` for async tests."""
        before = self._before_rest_check()
        await self.advance(1)
        self._reconcile_everything()
        await self.settle()
        self._after_rest_check(before)

    def _before_rest_check(self) -> int:
        return len(self.ledger)

    def _reconcile_everything(self) -> None:
        for operator in self._operators:
            for view in operator.views():
                view.enqueue(*view.keys())

    def _after_rest_check(self, before: int) -> None:
        written = [(r, w) for r in [*self.ledger][before:] for w in r.writes]
        if written:
            lines = [f"  {r.controller} {r.key} [{r.cause}]: {w.verb} {w.path} -> {w.code}" for r, w in written]
            raise AssertionError("the operator writes although nothing changed:\n" + "\n".join(lines))

    def noop_writes(self) -> Sequence[RequestRecord]:
        """Successful updates and patches that changed nothing: requests that an operator could have spared."""
        found, last = [], 1
        for record in self._plane.log:
            if record.verb in ("update", "patch") and record.code == 200 and record.revision == last:
                found.append(record)
            last = record.revision
        return found


def _everywhere(resource: Resource) -> str:
    root = f"/apis/{resource.api_version}" if resource.group else f"/api/{resource.version}"
    return f"{root}/{resource.plural}"


class _Draws:
    """The seed as controllerlib's Chance."""

    def __init__(self, seed: Seed) -> None:
        self._seed = seed

    def fraction(self, purpose: str, key: str, attempt: int) -> float:
        return self._seed.float(f"controllerlib/{purpose}", key, attempt)
