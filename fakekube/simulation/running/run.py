"""One run of a test under a plan: connects a cluster with the injection of faults and with the record."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import TYPE_CHECKING, Any

from controllerlib.observer import current_run
from fakekube.apiserver.apiserver import refusal
from fakekube.apiserver.damage import Damage
from fakekube.apiserver.faults import Fault, error_of
from fakekube.apiserver.requestlog import name_in
from fakekube.apiserver.response import Response
from fakekube.apiserver.storage.store import Change, Entry
from fakekube.apiserver.storage.watch import Watch, WatchEvent
from fakekube.apiserver.wire.request import Request, RequestInfo
from fakekube.apiserver.wire.status import StatusError
from fakekube.harness.engine import engine_of
from fakekube.harness.records.identity import CLUSTER, Identity
from fakekube.server.clients import ClientProcess, Interception
from fakekube.simulation.anchor import Anchor, target_of
from fakekube.simulation.atoms import Failure, Fresh, Late, NodeFault, Old, Race, SpecChange, Upgrade
from fakekube.simulation.lastspec import Intents
from fakekube.simulation.observation import CLUSTER as CLUSTER_ACTOR
from fakekube.simulation.observation import OPERATOR, Commit, Observation
from fakekube.simulation.plan import Plan
from fakekube.simulation.realism import Facts
from fakekube.simulation.running.clusterhands import ClusterHands
from fakekube.simulation.running.delays import BESIDE, Delays, Pace
from fakekube.simulation.running.externalwatch import ExternalWatch
from fakekube.simulation.running.foldedrequests import FoldedRequests, Send
from fakekube.simulation.running.injection import Injection, lasts
from fakekube.simulation.running.marks import Marks
from fakekube.simulation.running.meter import Meter
from fakekube.simulation.running.recorder import Actor, Kinds, Recorder
from fakekube.simulation.running.recovery import MOVED, Recovery
from fakekube.simulation.running.runend import finished
from fakekube.simulation.running.streamcheck import StreamCheck
from fakekube.struct import replace
from fakekube.virtualtime import HotLoop

if TYPE_CHECKING:
    from fakekube.harness.cluster import FakeKube
    from fakekube.harness.records.reconciles import Reconcile

Object = dict[str, Any]

#: The verbs of requests that write one object, as verbs of state changes.
_WRITES = {"create": "create", "update": "update", "patch": "update", "delete": "delete"}

#: The delay of a request that a frozen operator makes in the step that it was frozen in: it waits until it runs again.
_INSTANT = 1e-6

#: The part that the names of configurations of webhooks have in common.
_HOOKS = "webhookconfiguration"

#: How often operators that end by themselves are started again in one run.
_RESTARTS = 5

#: For how long the write of an old leader is late: longer than its lease.
_LATE = 1.5


class Run:
    """The run of one plan on one cluster. `attach` before the cluster is opened, `finish` before it is closed.

    Implements `fakekube.server.clients.Interception` and the harness's `Perturbed`.
    """

    def __init__(self, cluster: FakeKube, plan: Plan, *, with_timeline: bool = False) -> None:
        self.plan = plan
        self._cluster, self._engine, self._with_timeline = cluster, engine_of(cluster), with_timeline
        self._server = self._engine.server
        self.recorder: Recorder = Recorder(Kinds(self._server.apiserver.catalog.resources()))
        is_old = any(isinstance(atom, Upgrade | Old) for atom in plan.atoms)
        self.hands: ClusterHands = ClusterHands(cluster, self.recorder, plan.releases, is_old=is_old)
        self.injection: Injection = Injection(plan, self.hands)
        failing = plan.bounds.failing if plan.bounds is not None else frozenset()
        self.recovery: Recovery = Recovery(cluster, self.hands, failing, lambda: self.injection.hits)
        self.injection.operators = self.hands.names
        self.injection.expected = self.recorder.expected
        self.externals: ExternalWatch = ExternalWatch(
            self.recorder, self.injection, self.hands, cluster.clock.monotonic
        )
        self._marks = Marks(cluster, plan)
        self.injection.on_fired, self.injection.on_released = self._fired, self.recovery.released
        self.streams: StreamCheck = StreamCheck()
        self._delays, self._pace = Delays(plan), Pace()
        self.meter: Meter = Meter(plan.bounds, cluster.clock.monotonic)
        self.lost: list[str] = []
        self.steps: list[str] = []
        self.folded: FoldedRequests | None = None
        self._within: tuple[str, ...] = ()
        self._actors: dict[int, Actor] = {}
        self._from_cache: set[str] = set()
        self._losing = ""
        self._is_slow = any(isinstance(atom, Late) for atom in plan.atoms)
        self._held: tuple[RequestInfo, Callable[[], Awaitable[object]]] | None = None
        self._raced: tuple[RequestInfo, ClientProcess | None] | None = None
        self._next: Interception | None = None
        self._restarts = 0
        self._is_over = False

    # --- what the harness asks -------------------------------------------------------------------------------------

    @property
    def calm(self) -> bool:
        """Whether the plan has no faults."""
        return all(isinstance(atom, Old | SpecChange) for atom in self.plan.atoms)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """A step of the test."""
        if name not in self.steps:
            self.steps.append(name)
        outer, self._within = self._within, (*self._within, name)
        try:
            yield
        finally:
            self._within = outer

    def skips(self) -> bool:
        """Whether the step that runs is left out, or one around it."""
        return any(name in self.plan.skipped for name in self._within)

    def external(self, name: str, fake: Iterable[Any], error: Callable[[], BaseException]) -> Any:
        """An outside API, whose items are part of the final state. Their changes are recorded as those of objects.

        Returns what operators call in its place.
        """
        return self.externals.declare(name, fake, error)

    def moves(self) -> None:
        """The test lets the cluster run: what has changed in external APIs by now, it has changed itself."""
        self.externals.test_has_run()

    def awaited(self) -> None:
        """The test waits for an operator: nothing stays down or late."""
        self.injection.end_all()

    def released(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """What is to be started in place of a function of the test."""
        return self.hands.released(function)

    def absorbs(self, error: BaseException) -> bool:
        """Whether an operator has ended because of the plan, and starts again, as the kubelet would have it.

        A leader that has lost its lease ends, and a manager whose caches do not sync in time. A hot loop is a failure.
        """
        if not self.injection.fired or self._restarts == _RESTARTS or isinstance(error, HotLoop):
            return False
        self._restarts += 1
        self.injection.later(self.hands.start_ended)
        return True

    async def recovered(self) -> None:
        """Let time pass while retries are due or an operator has not started, after a fault."""
        if self.injection.fired or self._delays.active:
            await self.recovery.wait()

    # --- operators -------------------------------------------------------------------------------------------------

    def _actor(self, process: ClientProcess | None) -> Actor:
        if process is None:
            return Actor()
        found = self._actors.get(id(process))
        if found is None:
            own = self._engine.controllers.operator
            found = self.hands.actor_of(process)
            if found is None and own is not None and own.process is process:
                found = Actor(CLUSTER_ACTOR)
            if found is None:  # it may be known as an operator later
                return Actor(f"client {process.name}")
            self._actors[id(process)] = found
        return found

    def _fired(self, number: int) -> None:
        """Called when an atom takes effect."""
        self._marks.fired(number)
        atom = self.plan.atoms[number]
        self.recovery.begin(lasts(atom) + MOVED if isinstance(atom, NodeFault) else 0.0)

    @property
    def facts(self) -> Facts:
        """What the rules of legality need to know."""
        has_old, has_nodes = self.plan.releases is not None, self.hands.nodes.has_nodes
        cached, kinds = frozenset(self._from_cache), self.recorder.kinds.by_alias()
        return Facts(cached, self.recovery.lease, self._has_webhooks(), has_old, has_nodes, kinds)

    def _has_webhooks(self) -> bool:
        """Whether a configuration with a webhook was stored; controllers of the cluster list them, too."""
        restored = (entry.object for name, _, entry in self._server.apiserver.store.entries() if _HOOKS in name)
        written = (one.after or {} for one in self.recorder.commits if _HOOKS in one.kind)
        return any(one.get("webhooks") for one in chain(restored, written))

    # --- connecting ------------------------------------------------------------------------------------------------

    def attach(self) -> None:
        """Observe the cluster from now on, and carry out the plan."""
        self._engine.perturbation.run = self
        self._engine.disruptions.supervise(self._supervise)
        self._engine.bubble.loop.at_rest(self._at_rest)
        if any(isinstance(atom, Failure | Race) for atom in self.plan.atoms):  # what happens before a commit
            self._server.apiserver.before_commit = self._before_commit
        self._cluster.ledger.on_started = self._started
        self._cluster.ledger.on_finished = self._finished
        if self.plan.intents is not None and Fresh() in self.plan.atoms:
            self.folded = self._engine.objects.route(self._folding(self.plan.intents))

    def _folding(self, intents: Intents) -> Callable[[Send], FoldedRequests]:
        catalog = self._server.apiserver.catalog

        def collection(group: str, version: str, plural: str) -> str:
            found = catalog.find(group, version, plural)
            return found.collection if found is not None else ""

        return lambda send: FoldedRequests(send, intents, self.recorder.kinds, collection)

    def _at_rest(self, time_moves: bool) -> bool:
        self.recorder.at_rest()
        disturbed = self.externals.at_rest()
        return self.injection.at_rest(time_moves) or disturbed

    def _supervise(self, interceptor: Interception) -> Interception:
        self._next = interceptor
        return self

    def detach(self) -> None:
        """Let the cluster go, so that it is freed when it is closed.

        What detectors find under faults is caused by them: the exploration judges these runs itself.
        """
        if any(not isinstance(atom, Old) for atom in self.plan.atoms):
            self._engine.check_findings(raising=False)
        self._engine.perturbation.run = None
        self._engine.bubble.loop.at_rest(None)
        self._marks.detach()
        self._server.apiserver.before_commit = None

    def _started(self, identity: Identity, controller: str, key: str) -> None:
        if identity.operator == CLUSTER:  # its own controllers are not judged
            return
        actor = Actor(f"{OPERATOR}{identity.operator}", identity.incarnation)
        if self.meter.step(f"{controller} reconciling {key}"):
            self._end()
        self.recorder.reconcile_started(actor, controller, key, self._cluster.clock.monotonic())
        self.injection.reconcile_started()

    def _finished(self, reconcile: Reconcile) -> None:
        if reconcile.operator == CLUSTER:
            return
        actor = Actor(f"{OPERATOR}{reconcile.operator}", reconcile.incarnation)
        after = None if reconcile.after is None else reconcile.after.total_seconds()
        self.recorder.reconcile_ended(
            actor, reconcile.controller, reconcile.key, reconcile.error, after, reconcile.cause
        )
        self.externals.reconciled(actor)
        self.injection.reconcile_ended()

    # --- points of requests and watches ----------------------------------------------------------------------------

    def before_request(self, request: Request, info: RequestInfo, client: ClientProcess | None) -> Fault | None:
        actor = self._actor(client)
        if actor.name.startswith(OPERATOR) and self.meter.request(_what(info, actor)):
            self._end()
            return Fault(reset="before")
        if self.externals.requested(actor) and client is not None and client.fenced:
            return Fault(reset="before")
        if actor.name in self.hands.frozen:
            return Fault(delay=self._late(_INSTANT))
        if info.verb in _WRITES and info.is_resource:
            fault = self._before_write(request, info, client)
            if fault is not None:
                return fault
        if info.verb in ("get", "list") and info.is_resource:
            fault = self._before_read(request, info, client)
            if fault is not None:
                return fault
        fault = self._next.before_request(request, info, client) if self._next is not None else None
        if fault is None and actor.name.startswith(OPERATOR):
            delay = self._delay_of(info, actor)
            return Fault(delay=self._late(delay)) if delay else None
        return fault

    def _delay_of(self, info: RequestInfo, operator: Actor) -> float:
        """The seconds by which a request of an operator is late."""
        if self.injection.fired and info.verb in _WRITES:
            delay = self._pace.of_write(operator.name, self._cluster.clock.monotonic())
            if delay:
                return delay
        if self.injection.is_doubled:  # replicas run at the same time, not one after the other
            return BESIDE
        return self._delays.of_request() if self._delays.active else 0.0

    def _late(self, seconds: float) -> float:
        """Record a delay, so that the test waits until what it delays is done."""
        if seconds:
            self.recovery.until = max(self.recovery.until, self._cluster.clock.monotonic() + seconds)
        return seconds

    def _before_read(self, request: Request, info: RequestInfo, client: ClientProcess | None) -> Fault | None:
        actor = self._actor(client)
        collection = self._collection_of(info)
        if not actor.name.startswith(OPERATOR) or not collection or info.resource == "leases":
            return None
        kind = self.recorder.kinds.name(collection)
        if info.verb == "list" and current_run() is None:
            return self._before_list(request, collection, kind, actor)
        if current_run() is None and not self.hands.programs():
            return None
        anchor = self.recorder.read(info.verb, collection, info.namespace, info.name, actor)
        self._hold_answer(anchor, info)
        code = self.injection.before_read(anchor)
        return Fault(error=code) if code else None

    def _before_write(self, request: Request, info: RequestInfo, client: ClientProcess | None) -> Fault | None:
        """The write of a leader that is frozen before it is sent, for longer than its lease."""
        if client is None or not any(atom.name == "zombie" for atom in self.plan.atoms):
            return None
        actor, collection = self._actor(client), self._collection_of(info)
        name = info.name or name_in(request.body)
        if not actor.name.startswith(OPERATOR) or not collection or info.resource == "leases" or not name:
            return None
        target = target_of(self.recorder.kinds.name(collection), info.namespace, name)
        if not self.injection.before_write(_WRITES[info.verb], target):
            return None
        seconds, leader = _LATE * self.recovery.lease, actor.name
        self.recovery.late += 1
        self.hands.stop(leader)

        def resume() -> None:
            self.recovery.late -= 1
            self.hands.resume(leader)

        self.hands.after(seconds, resume)
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
        answering = self._server.exchange
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
        known = len(self.recorder.commits)
        code = self.injection.before_commit(commit)
        if len(self.recorder.commits) > known:
            self._raced = answering
        if code:
            raise error_of(code, info)

    def committed(self, change: Change, info: RequestInfo | None, client: ClientProcess | None) -> None:
        actor = Actor("server") if info is None else self._actor(client)
        commit = self.recorder.committed(change, actor, self._cluster.clock.monotonic())
        if self._raced is not None and self._server.exchange is self._raced and not self.recorder.racing:
            self.recorder.raced.append(commit.revision)
        self.streams.committed(change)
        if info is not None and commit.by_operator:
            self._hold_answer(commit.anchor, info)
        self._losing = self.injection.committed(commit) or self._losing
        if self._next is not None:
            self._next.committed(change, info, client)

    def answered(
        self, request: Request, info: RequestInfo, client: ClientProcess | None, response: Response
    ) -> Response:
        how, self._losing = self._losing, ""
        held, self._held = self._held, None
        if held is not None and held[0] is info and not response.reset and response.watch is None:
            response = replace(response, damage=Damage(held=held[1]))
        if how == "reset":
            response = Response(reset=True)
        elif how:
            error = error_of(504, info)
            assert isinstance(error, StatusError), "a server answers 504 itself"
            response = refusal(error, request)
        return self._next.answered(request, info, client, response) if self._next is not None else response

    def _hold_answer(self, anchor: Anchor, info: RequestInfo) -> None:
        """Hold the answer of a request if the plan says so."""
        if self._is_slow:
            gate = asyncio.Event()
            if self.injection.holds_answer(anchor, gate.set):
                self._held = info, gate.wait

    def watching(self, watch: Watch, user_agent: str, client: ClientProcess | None) -> None:
        self.recovery.watched.setdefault(id(client), set()).add(watch.collection)
        self.streams.opened(watch)
        if self._next is not None:
            self._next.watching(watch, user_agent, client)

    def before_event(self, watch: Watch, event: WatchEvent) -> float:
        actor = self._actor(watch.client[1])
        if actor.name.startswith(OPERATOR) and event.type == "BOOKMARK":
            self.recorder.reached(watch.collection, event.entry.revision, actor)
        elif actor.name.startswith(OPERATOR):
            if self.meter.step(f"events of {watch.collection} for {actor.name}"):
                self._end()
            now = self._cluster.clock.monotonic()
            self.recorder.delivered(watch.collection, event.entry.revision, actor, now)
        self.streams.delivered(watch, event)
        delay = self._next.before_event(watch, event) if self._next is not None else 0.0
        if self._delays.active and not delay and event.type != "BOOKMARK" and actor.name.startswith(OPERATOR):
            return self._late(self._delays.of_event())
        return delay

    def _end(self) -> None:
        """End the operators of a run that is over its bounds, so that the test ends."""
        for operator in self.hands.names():
            self.hands.kill(operator)
        if not self._is_over:
            self._is_over = True
            self._engine.background.failed(HotLoop(self.meter.exceeded or self.meter.too_long))

    # --- the end ---------------------------------------------------------------------------------------------------

    def finish(self, failure: BaseException | None) -> Observation:
        """Let everything settle, look at the final state, and reconcile everything once more. Before the close."""
        return finished(self, self._cluster, failure, with_timeline=self._with_timeline)


def _what(info: RequestInfo, actor: Actor) -> str:
    """A request in the words of a report: `store reconciling default/a: get vaults/a`."""
    run = current_run()
    who = f"{run.controller} reconciling {run.request}" if run is not None else actor.name
    return f"{who}: {info.verb} {'/'.join(one for one in (info.resource, info.subresource, info.name) if one)}"
