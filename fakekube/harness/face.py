"""Cluster: what a test holds. FakeKube implements it, and RealCluster as far as a real cluster can.

Time, objects, operators, what happened, what must hold; and a desk for each special thing. The documentation and the
needs of the members are here; the classes that implement them take both from here (`members.implements`).
"""

from __future__ import annotations

import asyncio
import builtins
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, Self, TypeVar, TypeVarTuple, Unpack, overload

from fakekube.harness.members import Need, changes, reads, steps

if TYPE_CHECKING:
    from controllerlib.client import Writable
    from fakekube.apiserver.faults import FaultRule
    from fakekube.apiserver.requestlog import RequestRecord
    from fakekube.apiserver.user import User
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
    from fakekube.harness.faultinjection.plannedkill import PlannedKill
    from fakekube.harness.keywords import (
        DeleteOptions,
        EventFields,
        Fault,
        ManagerOptions,
        RequestFields,
    )
    from fakekube.harness.ledger import Ledger
    from fakekube.harness.objects import Source
    from fakekube.harness.operators.background import Target
    from fakekube.harness.operators.managers import Build
    from fakekube.harness.operators.operator import Operator
    from fakekube.harness.timeline import Timeline
    from fakekube.virtualtime.clock import VirtualClock
    from fakekube.virtualtime.durations import Duration, TimeUnits
    from fakekube.virtualtime.processes import ProcessOptions
    from fakekube.virtualtime.threads.bubblethread import BubbleThread

T = TypeVar("T")
Args = TypeVarTuple("Args")
Object = dict[str, Any]


def lacking() -> NoReturn:
    """Never called: what a class does not implement skips the test (`members.skip_the_rest`)."""
    raise NotImplementedError


class Cluster(Protocol):
    """A Kubernetes cluster that a test holds. A context manager; one at a time is open in a process.

    Methods that move time or run operators (`settle`, `advance`, `start`, ...) block in a sync test and must be awaited
    in an async one. Methods that read and write objects (`get`, `apply`, ...) do not wait in either.

    Desks: `faults`, `state`, `nodes`, `pods`, `controllers`, `access`, `webhooks`, `findings`, `processes` and
    `exploration`.
    """

    faults: Faults
    state: State
    nodes: Nodes
    pods: Pods
    controllers: Controllers
    access: Access
    webhooks: Webhooks
    findings: Findings
    processes: Processes
    exploration: Exploration

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    @reads()
    def close(self) -> None:
        """End operators, watches and connections, and restore the wall clock; the end of the `with` block calls it.

        Operators and tasks are cancelled, and have 30 seconds of virtual time to clean up. Raises NotQuiescent naming
        those that do not end, after everything else is closed, and FindingError for what detectors find in operators
        that have ended, if the findings before that were checked and none was an error. May be called again. The
        records can still be read; they are freed with the cluster, as nothing else refers to them.
        """
        lacking()

    @property
    @reads()
    def namespace(self) -> str:
        """The namespace of objects that name none: "default". On other backends each test has one of its own."""
        lacking()

    # --- time ------------------------------------------------------------------------------------------------------

    @property
    @reads(Need.CLOCK)
    def clock(self) -> VirtualClock:
        """The cluster's clock: `now()`, `time()`, `monotonic()`, `hold(reason)`, `next_timers()`."""
        lacking()

    @steps()
    def settle(self) -> Awaitable[None]:
        """Wait until the cluster is quiescent. Raises NotQuiescent, HotLoop, or what an operator failed with."""
        lacking()

    @steps(Need.CLOCK)
    def advance(self, duration: Duration = 0, **units: Unpack[TimeUnits]) -> Awaitable[None]:
        """Move time (`advance(60)`, `advance("1h30m")`, `advance(hours=10)`); stops and settles at each timer."""
        lacking()

    @steps(Need.CLOCK)
    def advance_to(self, moment: datetime | str) -> Awaitable[None]:
        """Move time to `moment`, an aware datetime or text in ISO format (`2026-01-01T12:00:00Z`)."""
        lacking()

    @steps(Need.CLOCK)
    def advance_until(self, predicate: Callable[[], object], timeout: Duration) -> Awaitable[None]:
        """Move time until `predicate()` is true. Raises TimeoutError after `timeout`."""
        lacking()

    # --- objects ---------------------------------------------------------------------------------------------------

    @changes()
    def apply(self, *sources: Source) -> builtins.list[Object]:
        """Create objects, or replace existing ones, from files, directories and objects.

        Labels, annotations, finalizers and owner references that others have set are kept unless the new object sets
        them. For server-side apply use a client: `controllerlib.Client.apply`, or the official one. Raises
        ManifestError naming the object and the problem.
        """
        lacking()

    @changes()
    def create(self, obj: Writable) -> Object:
        """Create an object. Raises ApiError, or LookupError for a kind that the cluster does not have."""
        lacking()

    @reads()
    def get(self, api_version: str, kind: str, name: str, namespace: str = "default") -> Object:
        """Get an object, of the namespace "default" if none is given. Raises ApiError (NotFound)."""
        lacking()

    @reads()
    def list(
        self, api_version: str, kind: str, namespace: str | None = "default", *,
        label_selector: str | Mapping[str, str] = "", field_selector: str | Mapping[str, str] = "",
    ) -> Sequence[Object]:  # fmt: skip
        """The objects of a namespace ("default" if none is given), or of all (None), each with its apiVersion and kind.

        A selector is text (`"app=web,tier!=db"`) or a mapping of equal values.
        """
        lacking()

    @reads()
    def exists(self, api_version: str, kind: str, name: str, namespace: str = "default") -> bool:
        """Whether an object exists."""
        lacking()

    @changes()
    def update(self, obj: Writable, *, subresource: str = "") -> Object:
        """Replace an object, or its status with `subresource="status"`. Raises ApiError."""
        lacking()

    @changes()
    def patch(
        self, api_version: str, kind: str, name: str, patch: Any, namespace: str = "default", *, subresource: str = ""
    ) -> Object:
        """Merge `patch` into an object; a list is a JSON Patch. Raises ApiError."""
        lacking()

    @changes()
    def delete(
        self, api_version: str, kind: str, name: str, namespace: str = "default", **options: Unpack[DeleteOptions]
    ) -> Object:
        """Delete an object, with DeleteOptions (`propagationPolicy="Foreground"`). Raises ApiError."""
        lacking()

    # --- operators -------------------------------------------------------------------------------------------------

    @steps()
    def start(
        self,
        build: Build,
        *,
        name: str = "",
        service_account: str = "",
        user: User | str | None = None,
        **options: Unpack[ManagerOptions],
    ) -> Operator:
        """Start an operator: `build(manager)` adds its controllers. Returns when the cluster is quiescent.

        Its controllers have synced then, unless a list fails (denied, a fault) or a watch is held: they retry, and
        reconcile nothing yet. `why()` names what they wait for, and `requests(verb="list")` has the answers. A replica
        that does not lead reconciles nothing either.
        `name`: of the operator in records; by default that of its first controller, made unique ("db", "db-2").
        It acts as a service account (`namespace/name`), as a user, or by default as the administrator. `options` are
        those of `controllerlib.Manager`. In an async test it must be awaited. Raises what the manager fails with, and
        TypeError or ValueError for a `build` that adds nothing, or a replica with the identity of another one; warns
        about a kind that the cluster does not have.
        """
        lacking()

    @steps()
    def stop(self, operator: Operator) -> Awaitable[None]:
        """Stop an operator as SIGTERM would: reconciles that run are finished first."""
        lacking()

    @overload
    def kill(self, operator: Target) -> Awaitable[None]: ...
    @overload
    def kill(self, operator: Target, *, after_write: int) -> PlannedKill: ...
    @overload
    def kill(self, operator: Target, *, at: str) -> PlannedKill: ...

    @steps(Need.FAULTS)
    def kill(
        self, operator: Target, *, after_write: int | None = None, at: str | None = None
    ) -> Awaitable[None] | PlannedKill:
        """Kill an operator, as SIGKILL does: at once, after its nth write from now on, or after the write of an anchor.

        Its connections break first, so that code which runs while its tasks end writes nothing. The last write is
        stored, and its answer is lost. `at`: `verb kind/name{field}#occurrence`, like
        `update statefulset/default/db{spec.replicas}#2`. An operator is what `start`, `task` or `thread` returned.
        """
        lacking()

    @steps(Need.FAULTS)
    def restart(self, operator: Operator) -> Operator:
        """Start an operator again, as a new process with new caches: its `build` is called with a new manager.

        It is killed first if it still runs. Its history remains that of `operator`, which no other method accepts any
        more: pass what this returns. In an async test the result must be awaited. For what `task` or `thread`
        runs, call these again.
        """
        lacking()

    @steps()
    def task(
        self, work: Coroutine[Any, Any, Any] | Callable[[], Coroutine[Any, Any, Any]], *, name: str = ""
    ) -> asyncio.Task[None]:
        """Run a coroutine beside the test, for example a hand-written controller, until the cluster closes.

        It begins at the next call that settles or moves time: `settle()` before what is to happen while it runs.
        `work` may be a function without arguments that returns the coroutine. Where an exploration kills the task, it
        is called again; for a coroutine its function is, with the same arguments. The next call of the test that
        settles or moves time raises what it raises.
        """
        lacking()

    @overload
    def thread(self, function: Callable[[*Args], object], *args: *Args, name: str | None = None) -> BubbleThread: ...
    @overload
    def thread(
        self, function: Callable[..., object], *args: object, name: str | None = None, kwargs: Mapping[str, Any]
    ) -> BubbleThread: ...

    @steps(Need.CLOCK)
    def thread(
        self,
        function: Callable[..., object],
        *args: object,
        name: str | None = None,
        kwargs: Mapping[str, Any] | None = None,
    ) -> BubbleThread:
        """Run sync code beside the test, for example an operator of the official client, under the same clock.

        It begins at the next call that settles or moves time: `settle()` before what is to happen while it runs.
        The function gets `args` and the keyword arguments `kwargs`, as in `threading.Thread`. It may install handlers
        of signals, as in a process of its own (`faults.signal`), and run an event loop. The next call of the test
        that settles or moves time raises what it raises; `join()` of the thread waits for its end.
        """
        lacking()

    @steps()
    def run(self, main: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine to completion in a sync test, in place of `asyncio.run`. Time moves while it waits.

        Returns what it returns, and raises what it raises, or Deadlock.
        """
        lacking()

    @steps()
    def run_process(self, argv: Sequence[str], **options: Unpack[ProcessOptions]) -> Any:
        """Run a command (`kubectl apply ...`) to completion with KUBECONFIG and FAKEKUBE_URL set; time is held.

        An operator, which does not end, is started with `subprocess.Popen(..., env={**os.environ, "KUBECONFIG":
        str(fakekube.access.kubeconfig)})` instead, and `processes.wait_for` waits for what it does.
        `options` are those of `subprocess.run`. Returns a CompletedProcess with the output as text; in an async test it
        must be awaited.
        """
        lacking()

    # --- what happened ---------------------------------------------------------------------------------------------

    @reads(Need.REQUESTS)
    def requests(self, **wanted: Unpack[RequestFields]) -> Sequence[RequestRecord]:
        """The answered requests with these fields (verb, resource, name, code, ...), oldest first.

        Text may be a shell pattern: `user_agent="kubectl*"`. The test's own requests are left out unless `user_agent`
        is given. Raises TypeError for a field that a RequestRecord does not have, or a value of another type, and
        ValueError for a verb or a resource that no request has.
        """
        lacking()

    @reads()
    def events(self, **wanted: Unpack[EventFields]) -> Sequence[Object]:
        """The Events with these fields (`reason="Synced"`), in the order in which they were written.

        Raises TypeError for a field that an Event does not have, or a value of another type.
        """
        lacking()

    @property
    @reads()
    def ledger(self) -> Ledger:
        """All reconciles, with their causes, times, results and writes."""
        lacking()

    @property
    @reads()
    def timeline(self) -> Timeline:
        """Requests, reconciles, Events and changes in the order of time; `timeline.html(path)` writes a page."""
        lacking()

    @reads(Need.CLOCK)
    def why(self) -> str:
        """What is runnable, what waits and where, what holds time, and the work queues: one fact a line."""
        lacking()

    @reads(Need.REQUESTS)
    def log(self) -> str:
        """All reconciles, requests and stored changes, one a line, in the order in which they happened.

        A line begins with the time in microseconds since the cluster's start; a reconcile is where it began.
        The same test with the same seed, and the same versions of all libraries, gives the same log.
        """
        lacking()

    # --- what must hold --------------------------------------------------------------------------------------------

    @reads()
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
        """Assert that a key was reconciled: `times`, for these `causes`, with these `results`; else at least once.

        `within`: only the reconciles that have started in the last so much virtual time count. Raises AssertionError
        with all reconciles, and LookupError if several controllers have reconciled the key and none is named.
        """
        lacking()

    @reads(Need.REQUESTS)
    def assert_requests(self, times: int | None = None, **wanted: Unpack[RequestFields]) -> None:
        """Assert that there were `times` requests with these fields, by default at least one; see `requests`."""
        lacking()

    @reads(Need.STORE)
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
        """Assert that one version of an object had all these fields: `{"spec.replicas": 3, "status.phase": callable}`.

        A field is a path and a value, or a function that returns whether the value is as wanted. `by`: a shell pattern
        for the User-Agent of its writer. Raises AssertionError with these fields in all versions.
        """
        lacking()

    @changes(Need.CLOCK)
    def always(self, predicate: Predicate, text: str) -> Invariant:
        """Check `predicate(cluster)` after each stored change.

        If it was false, the next call of the test that settles or moves time raises AssertionError. `cluster` is a
        ReadOnlyCluster. The predicate is checked until `stop()`, or the end of a `with` block.
        """
        lacking()

    @changes(Need.CLOCK)
    def never(self, predicate: Predicate, text: str) -> Invariant:
        """As `always`, for a predicate that must never be true."""
        lacking()

    @steps(Need.CLOCK)
    def eventually(self, predicate: Predicate, text: str = "", *, within: Duration) -> Awaitable[None]:
        """Move time until `predicate(cluster)` is true. Raises AssertionError with the timeline after `within`."""
        lacking()

    # --- trouble ---------------------------------------------------------------------------------------------------

    @changes(Need.FAULTS)
    def fault(self, **fault: Unpack[Fault]) -> FaultRule:
        """Make matching requests fail, wait or break: `fault(verb="update", resource="backups", error=409, times=1)`.

        Which requests: `verb`, `resource`, `subresource` ("status"; "" for the object itself), `name`, `namespace` and
        `user_agent` are shell patterns; `after`: the first
        so many pass; `times`: so many are affected (None: all); `share`: this fraction of them. The test's own requests
        are affected only if `user_agent` matches them.
        What happens: `error` answers with this HTTP code (with `committed`, after the request was processed); `delay`
        waits first, for seconds, a timedelta or text like "8s"; `reset` breaks the connection "before" or "after" the
        request is processed; `before` is a function that is called before; `stale` answers a read with
        `resourceVersion=0` from the state at this resourceVersion. Watches, bodies of responses and webhooks have
        faults of their own: `faults.disturb_watches`, `faults.damage_bodies` and `faults.fail_webhooks`.

        The fault lasts until `disarm()`, or until the end of a `with` block. `unrealistic=True` admits what no API
        server does. Raises TypeError, ValueError.
        """
        lacking()


#: The names of the desks.
DESKS: tuple[str, ...] = tuple(Cluster.__annotations__)
