"""One run of a test under a plan: connects a cluster with the injection of faults and with the record."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import copy_context
from typing import TYPE_CHECKING, Any

from controllerlib.observer import current_run
from fakekube.apiserver.apiserver import refusal
from fakekube.apiserver.faults import Fault, error_of
from fakekube.apiserver.response import Response
from fakekube.apiserver.storage.store import Change, Entry
from fakekube.apiserver.storage.watch import Watch, WatchEvent
from fakekube.apiserver.wire.request import Request, RequestInfo
from fakekube.apiserver.wire.status import StatusError
from fakekube.harness.records.identity import Identity
from fakekube.server.clients import ClientProcess, Interception
from fakekube.simulation.anchor import target_of
from fakekube.simulation.atoms import Failure, Race
from fakekube.simulation.injection import Injection
from fakekube.simulation.marks import Marks
from fakekube.simulation.observation import OPERATOR, Commit, Observation
from fakekube.simulation.plan import Plan
from fakekube.simulation.realism import Facts
from fakekube.simulation.recorder import Actor, Kinds, Recorder
from fakekube.simulation.runend import finished
from fakekube.virtualtime.simulatedprocess import HARNESS, context_of

if TYPE_CHECKING:
    from fakekube.harness.cluster import FakeKube
    from fakekube.harness.ledger import Reconcile
    from fakekube.harness.operator import Operator
    from fakekube.virtualtime.simulatedprocess import SimulatedProcess

Object = dict[str, Any]

#: At most so many virtual seconds are waited for retries after a fault, at each step of the test.
RECOVERY = 120.0

#: The User-Agent of competing writes, and the annotation that they set.
RACER, MARK = "race", "fakekube.dev/race"

#: The verbs of requests that write one object, as verbs of state changes.
_WRITES = {"create": "create", "update": "update", "patch": "update", "delete": "delete"}

#: The delay of a request that a frozen operator makes in the step that it was frozen in: it waits until it runs again.
_INSTANT = 1e-6

#: For how long the write of an old leader is late: longer than its lease.
_LATE = 1.5


class Run:
    """The run of one plan on one cluster. `attach` before the cluster is opened, `finish` before it is closed.

    Implements `fakekube.server.clients.Interception` and the harness's `Perturbed`.
    """

    def __init__(self, cluster: FakeKube, plan: Plan, *, with_timeline: bool = False) -> None:
        self.plan = plan
        self._cluster, self._server, self._with_timeline = cluster, cluster._runner, with_timeline
        self.recorder: Recorder = Recorder(Kinds(self._server.apiserver.catalog.resources()))
        self.injection: Injection = Injection(plan, self)
        self.injection.operators = self._running
        self.injection.expected = self.recorder.expected
        self._marks = Marks(cluster, plan)
        self.injection.on_fired = self._marks.fired
        self._late: set[str] = set()
        self._frozen: set[str] = set()
        self._context = copy_context()
        self.lost: list[str] = []
        self.externals: dict[str, Iterable[Any]] = {}
        self.steps: list[str] = []
        self._within = ""
        self._actors: dict[int, Actor] = {}
        self._from_cache: set[str] = set()
        self._losing = ""
        self._next: Interception | None = None
        self._webhooks = False
        self._watched: dict[int, set[str]] = {}

    # --- what the harness asks -------------------------------------------------------------------------------------

    @property
    def calm(self) -> bool:
        """Whether the plan has no faults."""
        return not self.plan.atoms

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """A step of the test."""
        if name not in self.steps:
            self.steps.append(name)
        outer, self._within = self._within, name
        try:
            yield
        finally:
            self._within = outer

    def skips(self) -> bool:
        """Whether the step that runs is left out."""
        return self._within in self.plan.skipped

    def external(self, name: str, fake: Iterable[Any]) -> None:
        """An outside API, whose items are part of the final state."""
        self.externals[name] = fake

    def awaited(self) -> None:
        """The test waits for an operator: nothing stays down or late."""
        self.injection.end_all()

    def absorbs(self, error: BaseException) -> bool:
        """Whether an operator has ended because of the plan, as a leader that has lost its lease; it starts again."""
        from controllerlib.manager import LeaderElectionLost

        if not self.injection.fired or not isinstance(error, LeaderElectionLost):
            return False
        self.injection.later(self._start_ended)
        return True

    def _start_ended(self) -> None:
        """Start operators again that have ended because they have lost their lease."""
        latest = {one.name: one for one in self._cluster._background.operators if one.launch is not None}
        for name, one in latest.items():
            if not one.is_running:
                self.start(f"{OPERATOR}{name}")

    async def recovered(self) -> None:
        """Let time pass while retries are due or an operator has not started, after a fault."""
        if not self.injection.fired:
            return
        loop, clock = self._cluster._bubble.loop, self._cluster.clock
        end = clock.monotonic() + RECOVERY
        while clock.monotonic() < end and self._is_recovering():
            timer = loop.next_timer()
            if timer is None:
                return
            await loop.advance(max(0.0, min(timer / 1e6, end) - clock.monotonic()))

    def _is_recovering(self) -> bool:
        operators = self.operators()
        if self._late:
            return True
        for one in operators.values():
            if not one.process.runs:
                continue
            if any(view.failures(key) for view in one.views() for key in [*view.waiting, *view.ready]):
                return True
            watching = {watch.collection for watch in self._server.watches if watch.client[1] is one.process}
            if self._watched.get(id(one.process), set()) - watching:
                return True
            if _election_of(one) is None and not all(c.started.is_set() for c in one.manager.controllers.values()):
                return True
        return self.lease > 0 and not any(_leads(one) for one in operators.values())

    # --- operators -------------------------------------------------------------------------------------------------

    def operators(self) -> Mapping[str, Operator]:
        """The operators that run, the latest incarnation of each."""
        found = [
            one for one in self._cluster._background.operators if one.launch is not None and not one.process.fenced
        ]
        return {one.name: one for one in found if one.is_running}

    def _running(self) -> list[str]:
        return [f"{OPERATOR}{name}" for name in self.operators()]

    def _actor(self, process: ClientProcess | None) -> Actor:
        if process is None:
            return Actor()
        found = self._actors.get(id(process))
        if found is None:
            of = [one for one in self._cluster._background.operators if one.process is process]
            found = Actor(f"{OPERATOR}{of[0].name}", of[0].incarnation) if of else Actor(f"client {process.name}")
            own = self._cluster._controllers
            if not of and own is not None and own.operator.process is process:
                found = Actor("cluster")
            self._actors[id(process)] = found
        return found

    @property
    def lease(self) -> float:
        """The seconds of the longest lease of the operators; 0 without leader election."""
        options = [getattr(_election_of(one), "_options", None) for one in self._cluster._background.operators]
        return max((float(one.lease_duration) for one in options if one is not None), default=0.0)

    @property
    def facts(self) -> Facts:
        """What the rules of legality need to know."""
        return Facts(frozenset(self._from_cache), self.lease, self._webhooks)

    # --- connecting ------------------------------------------------------------------------------------------------

    def attach(self) -> None:
        """Observe the cluster from now on, and carry out the plan."""
        self._context = copy_context()
        self._cluster._perturbed = self
        self._cluster._disruptions.supervise(self._supervise)
        self._cluster._bubble.loop.at_rest(self.injection.at_rest)
        if any(isinstance(atom, Failure | Race) for atom in self.plan.atoms):  # what happens before a commit
            self._server.apiserver.before_commit = self._before_commit
        self._cluster.ledger.on_started = self._started
        self._cluster.ledger.on_finished = self._finished

    def _supervise(self, interceptor: Interception) -> Interception:
        self._next = interceptor
        return self

    def detach(self) -> None:
        """Let the cluster go, so that it is freed when it is closed.

        What detectors find under faults is caused by them: the exploration judges these runs itself.
        """
        if not self.calm:
            self._cluster.check_findings(raising=False)
        self._cluster._perturbed = None
        self._cluster._bubble.loop.at_rest(None)
        self._marks.detach()
        self._server.apiserver.before_commit = None

    def _started(self, identity: Identity, controller: str, key: str) -> None:
        actor = Actor(f"{OPERATOR}{identity.operator}", identity.incarnation)
        self.recorder.reconcile_started(actor, controller, key, self._cluster.clock.monotonic())
        self.injection.reconcile_started()

    def _finished(self, reconcile: Reconcile) -> None:
        actor = Actor(f"{OPERATOR}{reconcile.operator}", reconcile.incarnation)
        after = None if reconcile.after is None else reconcile.after.total_seconds()
        self.recorder.reconcile_ended(actor, reconcile.controller, reconcile.key, reconcile.error, after)
        self.injection.reconcile_ended()

    # --- points of requests and watches ----------------------------------------------------------------------------

    def before_request(self, request: Request, info: RequestInfo, client: ClientProcess | None) -> Fault | None:
        if info.resource.endswith("webhookconfigurations"):
            self._webhooks = True
        if self._frozen and self._actor(client).name in self._frozen:
            return Fault(delay=_INSTANT)
        if info.verb in _WRITES and info.is_resource:
            fault = self._before_write(info, client)
            if fault is not None:
                return fault
        if info.verb in ("get", "list") and info.is_resource:
            fault = self._before_read(request, info, client)
            if fault is not None:
                return fault
        return self._next.before_request(request, info, client) if self._next is not None else None

    def _before_read(self, request: Request, info: RequestInfo, client: ClientProcess | None) -> Fault | None:
        actor = self._actor(client)
        collection = self._collection_of(info)
        if not actor.name.startswith(OPERATOR) or not collection or info.resource == "leases":
            return None
        kind = self.recorder.kinds.name(collection)
        if current_run() is None:
            if info.verb != "list":
                return None
            return self._before_list(request, collection, kind, actor)
        anchor = self.recorder.read(info.verb, collection, info.namespace, info.name, actor)
        code = self.injection.before_read(anchor)
        return Fault(error=code) if code else None

    def _before_write(self, info: RequestInfo, client: ClientProcess | None) -> Fault | None:
        """The write of a leader that is frozen before it is sent, for longer than its lease."""
        if client is None or not any(atom.name == "zombie" for atom in self.plan.atoms):
            return None
        actor, collection = self._actor(client), self._collection_of(info)
        if not actor.name.startswith(OPERATOR) or not collection or info.resource == "leases" or not info.name:
            return None
        target = target_of(self.recorder.kinds.name(collection), info.namespace, info.name)
        if not self.injection.before_write(_WRITES[info.verb], target):
            return None
        seconds, name = _LATE * self.lease, actor.name
        self._late.add(name)
        self.stop(name)

        def resume() -> None:
            self._late.discard(name)
            self.resume(name)

        self._cluster._bubble.loop.call_later(seconds, resume, context=context_of(HARNESS))
        return Fault(delay=seconds)

    def _before_list(self, request: Request, collection: str, kind: str, actor: Actor) -> Fault | None:
        """The list of an informer, which may be stale if it is read from the watch cache."""
        cached = request.option("resourceVersion") == "0"
        if cached:
            self._from_cache.add(kind)
        revision = self.injection.stale.pop((actor.name, kind), None) if cached else None
        self.recorder.listed(collection, revision or self._server.apiserver.store.revision, actor)
        return None if revision is None else Fault(stale=revision)

    def _collection_of(self, info: RequestInfo) -> str:
        found = self._server.apiserver.catalog.find(info.group, info.version, info.resource)
        return found.collection if found is not None else ""

    def _before_commit(self, collection: str, path: str, before: Entry | None, after: Object | None) -> None:
        """A request is about to store an object."""
        answering = self._server._answering
        if answering is None or self.recorder.racing or collection.startswith("leases."):
            return
        info, client = answering
        actor = self._actor(client)
        if not actor.name.startswith(OPERATOR):
            return
        old = before.object if before is not None else None
        anchor = self.recorder.expected(self.recorder.anchor_of(collection, path, old, after))
        namespace, _, name = path.rpartition("/")
        kind = self.recorder.kinds.name(collection)
        commit = Commit(0, 0.0, anchor, kind, namespace, name, actor.name, actor.incarnation, before=old, after=after)
        code = self.injection.before_commit(commit)
        if code:
            raise error_of(code, info)

    def committed(self, change: Change, info: RequestInfo | None, client: ClientProcess | None) -> None:
        actor = Actor("server") if info is None else self._actor(client)
        commit = self.recorder.committed(change, actor, self._cluster.clock.monotonic())
        self._losing = self.injection.committed(commit) or self._losing
        if self._next is not None:
            self._next.committed(change, info, client)

    def answered(
        self, request: Request, info: RequestInfo, client: ClientProcess | None, response: Response
    ) -> Response:
        how, self._losing = self._losing, ""
        if how == "reset":
            response = Response(reset=True)
        elif how:
            error = error_of(504, info)
            assert isinstance(error, StatusError), "a server answers 504 itself"
            response = refusal(error, request)
        return self._next.answered(request, info, client, response) if self._next is not None else response

    def watching(self, watch: Watch, user_agent: str, client: ClientProcess | None) -> None:
        self._watched.setdefault(id(client), set()).add(watch.collection)
        if self._next is not None:
            self._next.watching(watch, user_agent, client)

    def before_event(self, watch: Watch, event: WatchEvent) -> float:
        actor = self._actor(watch.client[1])
        if actor.name.startswith(OPERATOR) and event.type != "BOOKMARK":
            now = self._cluster.clock.monotonic()
            self.recorder.delivered(watch.collection, event.entry.revision, actor, now)
        return self._next.before_event(watch, event) if self._next is not None else 0.0

    # --- what atoms do ---------------------------------------------------------------------------------------------

    def kill(self, operator: str) -> None:
        found = self.operators().get(operator.removeprefix(OPERATOR))
        if found is not None:
            self._cluster._disruptions.kill(found.process)

    def start(self, operator: str) -> None:
        name = operator.removeprefix(OPERATOR)
        found = [one for one in self._cluster._background.operators if one.name == name]
        if found and (not found[-1].is_running or found[-1].process.fenced):
            self._context.copy().run(self._begin, found[-1])

    def _begin(self, operator: Operator) -> None:
        """Start an operator again, outside of the reconcile in which it was killed."""
        self._cluster._relaunched(operator).begin(self._cluster._bubble.loop)

    def hold(self, operator: str, kind: str, revision: int) -> Callable[[], None]:
        resource = self.recorder.kinds.resource(kind)
        plural = kind if resource is None else resource.plural
        names = [operator.removeprefix(OPERATOR)] if operator else list(self.operators())
        processes = [one.process for name, one in self.operators().items() if name in names]
        holds = [self._cluster._disruptions.hold_at(process, plural, revision) for process in processes]

        def release() -> None:
            for one in holds:
                one.release()

        return release

    def compact(self) -> None:
        self._cluster.compact()

    def stop(self, operator: str) -> None:
        found = self.operators().get(operator.removeprefix(OPERATOR))
        if found is not None and found.process.runs:
            self._cluster._disruptions.stop(found.process)
            self._frozen.add(operator)

    def resume(self, operator: str) -> None:
        self._frozen.discard(operator)
        found = self.operators().get(operator.removeprefix(OPERATOR))
        if found is not None and not found.process.runs:
            self._cluster._disruptions.resume(found.process)

    def race(self, how: str, commit: Commit) -> None:
        """Set an annotation or a label of an object that exists, as another client does."""
        path = self._path_of(commit)
        if not path or commit.before is None:
            return
        headers = {"Content-Type": "application/merge-patch+json", "User-Agent": RACER}
        field = "labels" if how == "label" else "annotations"
        self.recorder.racing = True
        try:
            body = json.dumps({"metadata": {field: {MARK: "1"}}}).encode()
            self._cluster.transport().begin("PATCH", path, headers=headers, body=body)
        finally:
            self.recorder.racing = False

    def jump(self, seconds: int) -> None:
        self._cluster._disruptions.jump(None, seconds)

    def time_out_webhooks(self) -> None:
        self._cluster.fault(webhook="*", times=1)

    def _path_of(self, commit: Commit) -> str:
        from fakekube.server.manifests import collection_path

        resource = self.recorder.kinds.resource(commit.kind)
        return "" if resource is None else f"{collection_path(resource, commit.namespace or None)}/{commit.name}"

    # --- the end ---------------------------------------------------------------------------------------------------

    def finish(self, failure: BaseException | None) -> Observation:
        """Let everything settle, look at the final state, and reconcile everything once more. Before the close."""
        return finished(self, self._cluster, failure, with_timeline=self._with_timeline)


def _election_of(operator: Operator) -> Any:
    return operator.launch.options.get("election") if operator.launch is not None else None


def _leads(operator: Operator) -> bool:
    """Whether an operator takes no part in an election, or has been elected."""
    return _election_of(operator) is None or operator.manager.elected.is_set()


def process_of(operator: Operator) -> SimulatedProcess:
    """The process of an operator."""
    return operator.process
