"""One run of a test under a plan: connects a cluster with the injection of faults and with the record."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any

from controllerlib.observer import current_run
from fakekube.apiserver.faults import error_of
from fakekube.apiserver.storage.store import Change, Entry
from fakekube.harness.faultinjection.injector import (
    PROCEED,
    Action,
    AfterCommit,
    BeforeEvent,
    BeforeRequest,
    Error,
    Lose,
    Point,
    Stale,
)
from fakekube.simulation.injection import Injection
from fakekube.simulation.legality import Facts
from fakekube.simulation.observation import OPERATOR, Commit, Observation
from fakekube.simulation.plan import Plan
from fakekube.simulation.recorder import Actor, Kinds, Recorder, text_of
from fakekube.virtualtime import Deadlock, HotLoop, NotQuiescent

if TYPE_CHECKING:
    from fakekube.harness.cluster import FakeKube
    from fakekube.harness.operator import Operator
    from fakekube.virtualtime.simulatedprocess import SimulatedProcess

Object = dict[str, Any]

#: Virtual seconds that pass at the end of each run, so that what failed is retried. Odd, so that it ends between ticks.
GRACE = 37.5

#: At most so many virtual seconds are waited for retries after a fault, at each step of the test.
RECOVERY = 120.0

#: The User-Agent of competing writes, and the annotation that they set.
RACER, MARK = "race", "fakekube.dev/race"


class Run:
    """The run of one plan on one cluster. `attach` before the cluster is opened, `finish` before it is closed."""

    def __init__(self, cluster: FakeKube, plan: Plan, *, with_timeline: bool = False) -> None:
        self.plan = plan
        self._cluster, self._with_timeline = cluster, with_timeline
        self._server = cluster._runner
        self._recorder = Recorder(Kinds(self._server.apiserver.catalog.resources()))
        self._injection = Injection(plan, self)
        self._injection.operators = self._running
        self._last: Commit | None = None
        self._actors: dict[str, Actor] = {}
        self._lost: list[str] = []
        self._violations: list[str] = []
        self._from_cache: set[str] = set()

    @property
    def calm(self) -> bool:
        """Whether the plan has no faults."""
        return not self.plan.atoms

    @property
    def facts(self) -> Facts:
        """What the rules of legality need to know."""
        operators = self._cluster._background.operators
        leases = [
            one.launch.options["election"] for one in operators if one.launch and one.launch.options.get("election")
        ]
        webhooks = any(record.resource.endswith("webhookconfigurations") for record in self._server.log)
        lease = max((float(getattr(one, "lease_duration", 15.0)) for one in leases), default=0.0)
        return Facts(frozenset(self._from_cache), lease, webhooks)

    # --- connecting

    def attach(self) -> None:
        """Observe the cluster from now on, and carry out the plan."""
        self._server.on_write(self._written)
        self._server.apiserver.before_commit = self._before_commit
        self._cluster._disruptions.install(self)
        self._cluster._bubble.loop.at_rest(self._injection.at_rest)
        self._cluster.ledger.on_started.append(self._started)
        self._cluster.ledger.on_finished.append(self._finished)

    def settled(self, move: Callable[[], Awaitable[None]]) -> Callable[[], Coroutine[Any, Any, None]]:
        """A step of the test that also waits until what a fault has broken is mended."""

        async def moved() -> None:
            await move()
            await self._recovered()

        return moved

    async def _recovered(self) -> None:
        """Let time pass while retries are due, watches are missing or nobody leads, after a fault."""
        if not self._injection.fired:
            return
        loop, clock = self._cluster._bubble.loop, self._cluster.clock
        end = clock.monotonic() + RECOVERY
        while clock.monotonic() < end and self._is_recovering():
            timer = loop.next_timer()
            if timer is None:
                return
            await loop.advance(max(0.0, min(timer / 1e6, end) - clock.monotonic()))

    def _is_recovering(self) -> bool:
        operators = self._operators()
        if any(self._has_retries(one) for one in operators.values()):
            return True
        return any(one.launch is not None and not _is_started(one) for one in operators.values())

    def _has_retries(self, operator: Operator) -> bool:
        return any(view.failures(key) for view in operator.views() for key in [*view.waiting, *view.ready])

    def _operators(self) -> dict[str, Operator]:
        """The operators that run, the latest incarnation of each."""
        return {
            one.name: one for one in self._cluster._background.operators if one.is_running and one.launch is not None
        }

    def _running(self) -> list[str]:
        return [f"{OPERATOR}{name}" for name in self._operators()]

    # --- recording

    def _actor(self, process: Any) -> Actor:
        if process is None:
            return Actor()
        found = self._actors.get(process.name)
        if found is None:
            operator = next((one for one in self._cluster._background.operators if one.process is process), None)
            if operator is None:
                made = Actor(f"client {process.name}")
            else:
                made = Actor(f"{OPERATOR}{operator.name}", operator.incarnation)
            found = self._actors[process.name] = made
        return found

    def _written(self, change: Change) -> None:
        answering = self._server._answering
        actor = self._actor(answering[1] if answering is not None else None)
        if answering is None:
            actor = Actor("server")
        self._last = self._recorder.committed(change, actor, self._cluster.clock.monotonic())

    def _started(self, operator: str, incarnation: int, controller: str, key: str) -> None:
        now = self._cluster.clock.monotonic()
        self._recorder.reconcile_started(Actor(f"{OPERATOR}{operator}", incarnation), controller, key, now)

    def _finished(self, reconcile: Any) -> None:
        actor = Actor(f"{OPERATOR}{reconcile.operator}", reconcile.incarnation)
        after = None if reconcile.after is None else reconcile.after.total_seconds()
        self._recorder.reconcile_ended(actor, reconcile.controller, reconcile.key, reconcile.error, after)
        self._injection.reconcile_ended()

    # --- called by the server: the points of requests and watches

    def decide(self, point: Point) -> Action:
        """What happens at a point."""
        match point:
            case AfterCommit():
                assert self._last is not None
                how = self._injection.committed(self._last)
                return Lose() if how == "reset" else Error(504, committed=True) if how else PROCEED
            case BeforeRequest(verb="get" | "list"):
                return self._before_read(point)
            case BeforeEvent():
                self._delivered(point)
        return PROCEED

    def _before_read(self, point: BeforeRequest) -> Action:
        actor = self._actor(point.client)
        if not actor.name.startswith(OPERATOR):
            return PROCEED
        kind = self._recorder.kinds.name(point.collection)
        if current_run() is None:  # a list of an informer
            if point.verb == "list" and point.from_cache:
                self._from_cache.add(kind)
            revision = self._injection.stale.pop((actor.name, kind), None) if point.verb == "list" else None
            self._recorder.listed(point.collection, revision or self._server.apiserver.store.revision, actor)
            return PROCEED if revision is None else Stale(revision)
        anchor = self._recorder.read(point.verb, point.collection, point.namespace, point.name, actor)
        code = self._injection.before_read(anchor)
        return Error(code) if code else PROCEED

    def _delivered(self, point: BeforeEvent) -> None:
        actor = self._actor(point.client)
        if actor.name.startswith(OPERATOR):
            self._recorder.delivered(point.collection, point.revision, actor, self._cluster.clock.monotonic())

    def _before_commit(self, collection: str, path: str, before: Entry | None, after: Object | None) -> None:
        answering = self._server._answering
        if answering is None or answering[1] is None or self._recorder.racing:
            return
        actor = self._actor(answering[1])
        if not actor.name.startswith(OPERATOR):
            return
        old = before.object if before is not None else None
        anchor = self._recorder.expected(self._recorder.anchor_of(collection, path, old, after))
        namespace, _, name = path.rpartition("/")
        kind = self._recorder.kinds.name(collection)
        commit = Commit(0, 0.0, anchor, kind, namespace, name, actor.name, actor.incarnation, before=old, after=after)
        self._collection = collection
        decision = self._injection.before_commit(commit)
        if decision.code:
            raise error_of(decision.code, answering[0])

    # --- what atoms do

    def kill(self, operator: str) -> None:
        self._cluster._disruptions.kill(self._process(operator))

    def start(self, operator: str) -> None:
        name = operator.removeprefix(OPERATOR)
        found = [one for one in self._cluster._background.operators if one.name == name]
        self._cluster._relaunched(found[-1]).begin(self._cluster._bubble.loop)

    def hold(self, operator: str, kind: str, revision: int) -> Callable[[], None]:
        process = self._process(operator) if operator else None
        plural = next(
            (one.plural for one in self._resources() if self._recorder.kinds.name(one.collection) == kind), kind
        )
        return self._cluster._disruptions.hold(process, plural, "*", "*", revision, lenient=True).release

    def compact(self) -> None:
        self._cluster.compact()

    def stop(self, operator: str) -> None:
        self._cluster._disruptions.stop(self._process(operator))

    def resume(self, operator: str) -> None:
        self._cluster._disruptions.resume(self._process(operator))

    def race(self, how: str, commit: Commit) -> None:
        path = self._path_of(commit)
        headers = {"Content-Type": "application/merge-patch+json", "User-Agent": RACER}
        field = "labels" if how == "label" else "annotations"
        self._recorder.racing = True
        try:
            body = json.dumps({"metadata": {field: {MARK: "1"}}}).encode()
            self._cluster.transport().begin("PATCH", path, headers=headers, body=body)
        finally:
            self._recorder.racing = False

    def jump(self, seconds: int) -> None:
        self._cluster._disruptions.jump(None, seconds)

    def time_out_webhooks(self) -> None:
        self._cluster.fault(webhook="*", times=1, delay=3600)

    def _process(self, operator: str) -> SimulatedProcess:
        return self._operators()[operator.removeprefix(OPERATOR)].process

    def _resources(self) -> list[Any]:
        return list(self._server.apiserver.catalog.resources())

    def _path_of(self, commit: Commit) -> str:
        from fakekube.server.manifests import collection_path

        found = next(one for one in self._resources() if one.collection == self._collection)
        return f"{collection_path(found, commit.namespace or None)}/{commit.name}"

    # --- the end

    def finish(self, failure: BaseException | None) -> Observation:
        """Let everything settle, look at the final state, and reconcile everything once more. Before the close."""
        unsettled = text_of(failure) if isinstance(failure, Deadlock | HotLoop | NotQuiescent) else ""
        failed = "" if failure is None or unsettled else text_of(failure)
        if not unsettled:
            try:
                self._end()
            except (Deadlock, HotLoop, NotQuiescent) as error:
                unsettled = text_of(error)
            except Exception as error:
                self._lost.append(text_of(error))
        final = self._final()
        if not unsettled:
            try:
                self._rest()
            except (Deadlock, HotLoop, NotQuiescent) as error:
                unsettled = text_of(error)
            except Exception as error:
                self._lost.append(text_of(error))
        return self._recorder.observation(
            self.plan.seed,
            failure=failed,
            unsettled=unsettled.partition("\n")[0],
            final=final,
            violations=tuple(self._violations),
            lost=tuple(self._lost),
            fired=tuple(self._injection.fired),
            timeline=self._cluster.timeline.render() if self._with_timeline else "",
        )

    def _end(self) -> None:
        self._cluster.settle()
        while self._injection.end_all():
            self._cluster.settle()
        self._cluster.advance(GRACE)

    def _rest(self) -> None:
        self._recorder.resting = True
        for operator in self._operators().values():
            for view in operator.views():
                view.enqueue(*view.keys())
        self._cluster.settle()

    def _final(self) -> dict[str, Object]:
        """The objects at the end by target; those with generated names are numbered."""
        found: dict[str, Object] = {}
        store = self._server.apiserver.store
        for collection in store.sizes():
            for path, entry in store.collection(collection).live.items():
                target = self._recorder.anchor_of(collection, path, None, entry.object).target
                number = 1
                while (unique := f"{target}~{number}" if target.endswith("*") else target) in found:
                    number += 1
                found[unique] = entry.object
        return found


def _is_started(operator: Operator) -> bool:
    """Whether its controllers have started; without leader election only."""
    if operator.launch is None or operator.launch.options.get("election") is not None:
        return True
    return all(controller.started.is_set() for controller in operator.manager.controllers.values())
