"""FakeKube: the cluster that a test holds. One clock, one API server, any number of operators, and what they did."""

from __future__ import annotations

import asyncio
import builtins
import inspect
import os
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar

from controllerlib.client import Writable
from fakekube.apiserver.auth import serviceaccount
from fakekube.apiserver.auth.authentication import ADMIN, User, authenticated
from fakekube.apiserver.call import Service
from fakekube.apiserver.faults import FaultRule
from fakekube.apiserver.kubelet import ExecHandler, ForwardHandler, LogHandler
from fakekube.apiserver.requestlog import RequestRecord
from fakekube.harness import arguments
from fakekube.harness.audit import Audit
from fakekube.harness.background import Background
from fakekube.harness.driver import Driver
from fakekube.harness.endpoint import Endpoint
from fakekube.harness.idempotence import RestCheck
from fakekube.harness.ledger import Ledger
from fakekube.harness.objects import TEST_AGENT, Object, Objects, Source
from fakekube.harness.operator import Build, Operator, Transport, build_into, manager_for, over_http
from fakekube.harness.timeline import Timeline
from fakekube.harness.webhookserver import CONFIGURATIONS, WebhookServers, trusting
from fakekube.server import bootstrap
from fakekube.server.direct import DirectTransport
from fakekube.server.random import SeededChance
from fakekube.server.runner import ControlPlane
from fakekube.virtualtime import Bubble, Deadlock, HotLoop, NotQuiescent, VirtualClock
from fakekube.virtualtime.durations import Duration
from fakekube.virtualtime.seeds import Seed
from fakekube.virtualtime.threads.scheduler import BubbleThread

if TYPE_CHECKING:
    from controllerlib.client import HttpTransport
    from fakekube.harness.accessreport import AccessReport

F = TypeVar("F")

AUTHORIZATION = {False: "AlwaysAllow", True: "RBAC"}

#: Bearer token of the cluster's administrator, where access is checked.
ADMIN_TOKEN = "admin-token"


class FakeKube:
    """A Kubernetes cluster under virtual time. A context manager; one at a time in a process.

    seed: everything random is drawn from it. rbac: whether access is checked (the bootstrap roles are then there).
    stepped: reconciles run only when the test settles or moves time (None: in sync tests, not in async ones).
    wall_clock: whether `datetime.now()`, `time.time()` and `time.sleep()` of all code are on the cluster's clock.
    transport: how operators that are started here reach the server.
    history_window: how many changes watches can read back.
    version: the Kubernetes minor whose kinds and fields are served, like "1.31".
    patience: real seconds after which something that is busy counts as stuck.
    Raises TypeError, ValueError naming the argument.

    What moves time (`settle`, `advance`, `start`, ...) blocks in a sync test and must be awaited in an async one. What
    asks and writes objects (`get`, `apply`, ...) never waits, in either.
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
        arguments.check_cluster(
            seed=seed,
            rbac=rbac,
            stepped=stepped,
            wall_clock=wall_clock,
            transport=transport,
            history_window=history_window,
            patience=patience,
            version=version,
            controllers=controllers,
        )
        self.seed = seed
        drawn = Seed(seed) if isinstance(seed, int) else Seed.of_name(seed)
        door: Literal["memory", "tcp"] = "tcp" if transport == "tcp" else "memory"
        self._bubble = Bubble(seed=drawn, stepped=stepped, wall_clock=wall_clock, transport=door, patience=patience)
        self._transport: Transport = transport
        chance = SeededChance(drawn)
        core = bootstrap.api_server(
            self.clock.now(),
            chance,
            authorization_mode=AUTHORIZATION[rbac],
            history_window=history_window,
            version=version or bootstrap.KUBERNETES_VERSION,
        )
        tokens = {ADMIN_TOKEN: ADMIN} if rbac else {}
        self._plane = ControlPlane(core, self.clock, chance, tokens=tokens, rounds=self._bubble.gate)
        self._driver = Driver(self._bubble.loop)
        self._endpoint = Endpoint(self._plane, self._driver.now_or_driven, tokens, ADMIN_TOKEN if rbac else "")
        self.timeline = Timeline(self.clock.epoch)
        self.ledger = Ledger(self.clock.now, self.timeline)
        self._audit = Audit(self._plane, self.clock.now, self.timeline, TEST_AGENT)
        self._objects = Objects(self._plane, self._driver.driven)
        self._webhooks = WebhookServers(self._plane, self._driver.now_or_driven)
        self._background = Background(self._bubble)
        self._ways: list[DirectTransport] = []
        self._faults_made = 0

    def __enter__(self) -> Self:
        self._bubble.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
        if error is None:
            self._background.raise_failure()

    def __repr__(self) -> str:
        store = self._plane.core.store
        return (
            f"<FakeKube {self._endpoint!r} rev={store.revision} objects={store.size()} "
            f"watches={len(self._plane.watches)} faults={len(self._plane.core.faults.rules)}>"
        )

    def close(self) -> None:
        """End operators, watches and connections, and give the process its clock back. May be called again.

        What was recorded can still be asked for. It goes with the cluster, at once: nothing else holds it any more.
        """
        if not self._bubble.loop.is_closed():
            try:
                self._bubble.loop.turnstile.close()  # before what they talk to goes
                self._bubble.loop.drive(self._end())
            finally:
                self._endpoint.forget_clients()
                self._bubble.close()
                self._plane.retire()
                self.ledger.retire()
                for way in self._ways:
                    way.retire()

    async def _end(self) -> None:
        await self._background.end()
        self._plane.end_watches()
        await self._endpoint.aclose()
        await self._webhooks.aclose()

    # --- time ------------------------------------------------------------------------------------------------------

    @property
    def clock(self) -> VirtualClock:
        """The cluster's clock: `now()`, `time()`, `monotonic()`, `hold(reason)`, `next_timers()`."""
        return self._bubble.clock

    @property
    def bubble(self) -> Bubble:
        """The virtual time beneath: threads, processes, seeds, and the trace of who came from outside."""
        return self._bubble

    def settle(self) -> Awaitable[None]:
        """Until nothing is left to do at this instant. Raises NotQuiescent, HotLoop, what an operator failed with."""
        return self._step(self._bubble.settle)

    def advance(self, duration: Duration = 0, **units: float) -> Awaitable[None]:
        """Let time pass (`advance(60)`, `advance("1h30m")`, `advance(hours=10)`), stopping at all that is due."""
        return self._step(lambda: self._bubble.advance(duration, **units))

    def advance_to(self, moment: datetime | str) -> Awaitable[None]:
        """Let time pass until `moment`: aware, or an ISO text (`2026-01-01T12:00:00Z`)."""
        goal = arguments.moment_of(moment)
        return self._step(lambda: self._bubble.advance_to(goal))

    def advance_until(self, predicate: Callable[[], object], timeout: Duration) -> Awaitable[None]:
        """Let time pass until `predicate()` is true. Raises TimeoutError where it is not within `timeout`."""
        if not callable(predicate):
            raise TypeError(f"advance_until() takes a function that is asked, like `lambda: ...`, not {predicate!r}")
        return self._step(lambda: self._bubble.advance_until(predicate, timeout))

    def _step(self, move: Callable[[], Awaitable[None]]) -> Awaitable[None]:
        if self._driver.in_async_test():
            return self._checked(move)
        with self._telling():
            return move()

    async def _checked(self, move: Callable[[], Awaitable[None]]) -> None:
        with self._telling():
            await move()

    @contextmanager
    def _telling(self) -> Iterator[None]:
        """What failed in the background is the reason, whatever else came of it; and a hot loop has somebody's name."""
        try:
            try:
                yield
            except (Deadlock, HotLoop, NotQuiescent) as error:
                self._background.raise_failure(error)
                raise
            self._background.raise_failure()
        except HotLoop as error:
            for who in self._audit.busiest():
                error.add_note(f"writes within this virtual second: {who}")
            raise

    def why(self) -> str:
        """What is runnable, what waits where, what is held: one fact a line, queues included."""
        return "\n".join([self._bubble.why(), *self._background.facts()])

    # --- reaching the server ---------------------------------------------------------------------------------------

    @property
    def url(self) -> str:
        """Where the server listens: a free port of 127.0.0.1, from the first question on."""
        return self._endpoint.url

    @property
    def kubeconfig(self) -> Path:
        """A kubeconfig file of this cluster; it goes with the cluster."""
        return self._endpoint.kubeconfig

    def api_client(self, *, user: User | str | None = None) -> Any:
        """An official `kubernetes.client.ApiClient` of this cluster (with `rbac=True` as any user); closed with it."""
        return self._endpoint.api_client(_user(user))

    def transport(self, *, user: User | str = ADMIN) -> DirectTransport:
        """A direct way in, as any user: `controllerlib.Client(fakekube.transport(), user_agent="mine/1.0")`."""
        return DirectTransport(self._plane, user=_user(user) or ADMIN, headers={"User-Agent": TEST_AGENT})

    # --- webhooks ----------------------------------------------------------------------------------------------------

    @property
    def ca_bundle(self) -> str:
        """The `caBundle` of webhooks that are served here: the CA's certificate, PEM in base64."""
        return self._webhooks.ca_bundle

    def serve_webhook(self, handler: Any, *, service: str, namespace: str = "default", port: int = 443) -> str:
        """Serve an aiohttp handler, or a `web.Application`, over HTTPS, as a Service that configurations can name.

        Returns its address, for those that name a URL. Raises ValueError where that Service has one already.
        """
        return self._webhooks.serve(handler, Service(namespace, service, port))

    def inject_ca_bundle(self) -> None:
        """Let webhooks that are Services, and have no caBundle, trust what is served here, as cert-manager does."""
        for api_version, kind in CONFIGURATIONS:
            for obj in self.list(api_version, kind, None):
                changed = trusting(dict(obj), self.ca_bundle)
                if changed is not None:
                    self.update(changed)

    def run_process(self, argv: Sequence[str], **options: Any) -> Any:
        """Run a command that ends (`kubectl apply ...`) against this cluster: KUBECONFIG is set, time stands still.

        Returns its CompletedProcess, with text captured; in an async test it must be awaited.
        """
        if isinstance(argv, str):
            raise TypeError(f"run_process({argv!r}): pass a list, {argv.split()!r}")
        if not argv:
            raise ValueError("run_process([]): the list names a program and its arguments")
        env = {**os.environ, **(options.pop("env", None) or {}), "KUBECONFIG": str(self.kubeconfig)}
        return self._bubble.run_process(argv, env=env, **options)

    # --- what runs beside the test -----------------------------------------------------------------------------------

    def start(
        self, build: Build, *, service_account: str = "", user: User | str | None = None, **options: Any
    ) -> Operator:
        """Start an operator: `build(manager)` adds its controllers. Returns when they have synced and all is quiet.

        It acts as a service account (`namespace/name`) or as a user, where one is given, else as the administrator.
        `options` go to `controllerlib.Manager`. In an async test it must be awaited. Raises what the manager fails
        with, TypeError or ValueError for a `build` that adds nothing; warns of a kind that the cluster does not have.
        """
        operator = self.operator(build, service_account=service_account, user=user, **options)
        operator.begin(self._bubble.loop)
        if not self._driver.in_async_test():
            self.settle()
            operator.warn_of_unserved()
        return operator

    def operator(
        self, build: Build, *, service_account: str = "", user: User | str | None = None, **options: Any
    ) -> Operator:
        """The same without starting it: it can be asked, and never runs."""
        way = self._way_for_operators(_acting(service_account, user))
        manager = manager_for(self._bubble, way, self.ledger.observer, options)
        build_into(manager, build, options.get("election") is not None)
        catalog = self._plane.core.catalog
        operator = Operator(manager, self.ledger, self.clock.monotonic, self.settle, self._background.failed, catalog)
        self._background.add(operator)
        return operator

    def _way_for_operators(self, user: User | None) -> DirectTransport | HttpTransport:
        if self._transport == "direct":
            self._ways.append(DirectTransport(self._plane, user=user or ADMIN))
            return self._ways[-1]
        token = self._endpoint.admin if user is None else self._endpoint.token_of(user)
        return over_http(self.url, self._bubble, token)

    def stop(self, operator: Operator) -> Awaitable[None]:
        """Stop an operator, as its process would end on SIGTERM: what it is doing it finishes first."""
        if not isinstance(operator, Operator):
            raise TypeError(f"stop() takes an operator, as start() returns it, not {operator!r}")
        if self._driver.in_async_test():
            return self._stopped(operator)
        self._bubble.loop.drive(operator.end())
        return self.settle()

    async def _stopped(self, operator: Operator) -> None:
        await operator.end()
        await self.settle()

    def task(self, work: Coroutine[Any, Any, Any], *, name: str = "") -> asyncio.Task[None]:
        """Run a coroutine beside the test until it ends or the cluster closes: a hand-written controller, say.

        What it raises, the test's next step raises.
        """
        if not asyncio.iscoroutine(work):
            raise TypeError(f"task() takes a coroutine: call the async function, task(work()), not {work!r}")
        return self._background.task(work, name)

    def thread(self, function: Callable[..., Any], *args: Any, name: str | None = None) -> BubbleThread:
        """Run sync code beside the test, under the same clock: an operator of the official client, say.

        What it raises, the test's next step raises.
        """
        if not callable(function):
            raise TypeError(f"thread() takes a function that it calls in a thread, not {function!r}")
        if inspect.iscoroutinefunction(function):
            raise TypeError(f"thread() takes a sync function; a coroutine is a task: task({function.__name__}())")
        return self._background.thread(function, args, name)

    # --- objects: what the test itself does ----------------------------------------------------------------------

    def apply(self, *sources: Source) -> builtins.list[Object]:
        """Create objects, or replace those that are there: files, directories, objects.

        Labels, annotations, finalizers and owners that others noted on an object stay, where it does not speak of them
        itself. (Server-side apply is a client's: `controllerlib.Client.apply`, or the official client's.) Raises
        ManifestError naming what is wrong.
        """
        return self._objects.apply(*sources)

    def create(self, obj: Writable) -> Object:
        """Create an object. Raises ApiError, LookupError for a kind that the cluster does not have."""
        return self._objects.create(obj)

    def get(self, api_version: str, kind: str, name: str, namespace: str = "default") -> Object:
        """An object. Raises ApiError (NotFound)."""
        return self._objects.get(api_version, kind, name, namespace)

    def exists(self, api_version: str, kind: str, name: str, namespace: str = "default") -> bool:
        """Whether an object is there."""
        return self._objects.exists(api_version, kind, name, namespace)

    def list(
        self, api_version: str, kind: str, namespace: str | None = "default", *,
        label_selector: str | Mapping[str, str] = "", field_selector: str | Mapping[str, str] = "",
    ) -> Sequence[Object]:  # fmt: skip
        """The objects of a namespace (None: of all), each with its apiVersion and kind.

        A selector is text (`"app=web,tier!=db"`), or a mapping of what is equal.
        """
        return self._objects.list(api_version, kind, namespace, label_selector, field_selector)

    def update(self, obj: Writable, *, subresource: str = "") -> Object:
        """Replace an object, or with `subresource="status"` its status. Raises ApiError."""
        return self._objects.update(obj, subresource)

    def patch(
        self, api_version: str, kind: str, name: str, patch: Any, namespace: str = "default", *, subresource: str = ""
    ) -> Object:
        """Merge `patch` into an object (a list is taken as a JSON Patch). Raises ApiError."""
        return self._objects.patch(api_version, kind, name, patch, namespace, subresource)

    def delete(self, api_version: str, kind: str, name: str, namespace: str = "default", **options: Any) -> Object:
        """Delete an object; `options` as in DeleteOptions (`propagationPolicy="Foreground"`). Raises ApiError."""
        return self._objects.delete(api_version, kind, name, namespace, options)

    # --- what happened ---------------------------------------------------------------------------------------------

    def requests(self, **wanted: Any) -> Sequence[RequestRecord]:
        """The answered requests, oldest first: those whose fields (verb, resource, name, code, ...) are as wanted.

        Text may be a shell pattern: `user_agent="kubectl*"`. What the test itself reads and writes is left out unless
        `user_agent` asks for it. Raises TypeError for a field that a record does not have, and for a value that it
        never has.
        """
        return self._audit.requests(wanted)

    def versions(
        self, api_version: str, kind: str, name: str, namespace: str = "default"
    ) -> Sequence[tuple[datetime, Object | None]]:
        """An object's history: when, and what it then was (None: deleted)."""
        return self._audit.versions(self._objects.resource(api_version, kind), name, namespace)

    def events(self, **wanted: Any) -> Sequence[Object]:
        """The Events that were recorded, those last written last, whose fields are as wanted (`reason="Synced"`).

        Raises TypeError for a field that an Event does not have.
        """
        arguments.check_event_fields(wanted)
        found = sorted(self.list("v1", "Event", None), key=lambda event: int(event["metadata"]["resourceVersion"]))
        return [event for event in found if all(event.get(key) == value for key, value in wanted.items())]

    def log(self) -> str:
        """All that happened, a line each, to the microsecond: reconciles, requests, stored changes.

        The promise is that the same test with the same seed (and the same versions of everything) gives the same log.
        """
        return "\n".join([*self.ledger.lines(self.clock.epoch), *self._audit.lines(self.clock.epoch)])

    def rbac_report(self, *, service_account: str = "", user: User | str | None = None) -> AccessReport:
        """What a service account (`namespace/name`) or a user did, against the roles that are bound to it.

        The report has what was used, missing and unused, and the least roles that would do. Whether access is checked
        (`rbac=True`) does not matter: without it an operator gets on, and all that is missing is told at once.
        """
        from fakekube.harness import accessreport

        found = _acting(service_account, user)
        if found is None:
            raise ValueError("rbac_report() needs service_account= or user=: whose access is it about?")
        return accessreport.report(self._plane.core.store, self._plane.log, found)

    def noop_writes(self) -> Sequence[RequestRecord]:
        """Successful updates and patches that changed nothing: requests that an operator could have spared."""
        return self._audit.noop_writes()

    def assert_no_writes_at_rest(self, *, noops_allowed: bool = False) -> Awaitable[None]:
        """A second later, reconciling everything again must write nothing. AssertionError names what was written.

        `noops_allowed`: writes that change nothing are let be, as those of an operator that applies each time.
        """
        check = RestCheck(self._background.operators, self._audit, self.ledger, noops_allowed)
        if self._driver.in_async_test():
            return self._rest_checked(check)
        self.advance(1)
        check.begin()
        done = self.settle()
        check.end()
        return done

    async def _rest_checked(self, check: RestCheck) -> None:
        await self.advance(1)
        check.begin()
        await self.settle()
        check.end()

    # --- trouble, made to order ------------------------------------------------------------------------------------

    def fault(self, **rule: Any) -> FaultRule:
        """Requests that match fail, wait or break: `fault(verb="update", resource="backups", error=409, times=1)`.

        From now on, until `disarm()`; in a `with`, until its end. `fakekube.FaultRule` says
        what there is; TypeError, ValueError where it makes no sense. What the test itself does is not hit, unless
        `user_agent` says so.
        """
        if unknown := sorted(rule.keys() - inspect.signature(FaultRule).parameters.keys()):
            known = ", ".join(inspect.signature(FaultRule).parameters)
            raise TypeError(f"fault() has no argument {', '.join(unknown)} (it has {known})")
        self._faults_made += 1
        purpose = f"fault {self._faults_made}"
        rule.setdefault("except_agent", TEST_AGENT)
        rule.setdefault("draw", partial(self._bubble.seed.float, purpose))
        made = FaultRule(**rule)
        arguments.check_fault(made, self._plane.core.catalog.resources())
        self._plane.core.faults.arm(made)
        return made

    def compact(self) -> None:
        """Forget the history: watches that resume from before now get 410 Gone."""
        self._plane.core.store.compact()

    def cut_watches(self) -> None:
        """End every open watch, as a restart of the server would; clients may watch again."""
        self._plane.end_watches()

    # --- in the kubelet's place ------------------------------------------------------------------------------------

    def on_logs(self, handler: LogHandler) -> LogHandler:
        """`handler` says what the log of a container has (a LogRequest; text or bytes). Can be used as a decorator."""
        self._plane.core.kubelet.logs = _function(handler)
        return handler

    def on_exec(self, handler: ExecHandler) -> ExecHandler:
        """`handler` runs commands in containers (an ExecRequest; what the command wrote, or an ExecResult)."""
        self._plane.core.kubelet.exec = _function(handler)
        return handler

    def on_attach(self, handler: ExecHandler) -> ExecHandler:
        """`handler` answers who attaches to a container (an ExecRequest without a command)."""
        self._plane.core.kubelet.attach = _function(handler)
        return handler

    def on_port_forward(self, handler: ForwardHandler) -> ForwardHandler:
        """`handler` answers what is sent to a port of a pod (a ForwardRequest; bytes)."""
        self._plane.core.kubelet.forward = _function(handler)
        return handler


def _function(handler: F) -> F:
    if not callable(handler):
        raise TypeError(f"a handler is a function, not {handler!r}")
    return handler


def _user(user: User | str | None) -> User | None:
    """A user with its groups; also one that is only named. Raises TypeError."""
    if isinstance(user, str) and user:
        return serviceaccount.user_named(user)
    if user is None or isinstance(user, User):
        return authenticated(user) if user is not None else None
    raise TypeError(f"user={user!r}: a fakekube.User, or a user's name")


def _acting(service_account: str, user: User | str | None) -> User | None:
    """As whom somebody acts: a service account, a user, or (None) the administrator. Raises ValueError."""
    if not service_account:
        return _user(user)
    if user is not None:
        raise ValueError("service_account= and user=: one of them, not both")
    if not isinstance(service_account, str):
        raise TypeError(f"service_account={service_account!r}: a text, namespace/name")
    namespace, slash, name = service_account.partition("/")
    if not (slash and namespace and name):
        raise ValueError(f"service_account={service_account!r}: that is no namespace/name")
    return serviceaccount.user_named(serviceaccount.user_name(namespace, name))
