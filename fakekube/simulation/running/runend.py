"""The end of a run: everything settles, the final state is taken, and everything is reconciled once more."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, Protocol

from controllerlib import ApiError
from fakekube.apiserver.resource import Resource
from fakekube.harness.assertions.invariants import Violated
from fakekube.harness.engine import engine_of
from fakekube.simulation.atoms import (
    Atom,
    Crash,
    Downgrade,
    Fresh,
    Gap,
    Hold,
    Late,
    NodeFault,
    Pause,
    Rollback,
    SpecChange,
    Stale,
    Upgrade,
)
from fakekube.simulation.intents import carried, intents_of
from fakekube.simulation.lastspec import Step
from fakekube.simulation.observation import Observation
from fakekube.simulation.plan import Plan
from fakekube.simulation.running.clusterhands import ClusterHands
from fakekube.simulation.running.externalwatch import ExternalWatch
from fakekube.simulation.running.foldedrequests import FoldedRequests
from fakekube.simulation.running.injection import Injection
from fakekube.simulation.running.meter import Meter
from fakekube.simulation.running.recorder import Recorder, code_of, place_of, text_of
from fakekube.simulation.running.recovery import LONGEST_RETRY, Recovery
from fakekube.simulation.running.streamcheck import StreamCheck
from fakekube.simulation.workloads import changed, value_of
from fakekube.virtualtime import Deadlock, HotLoop, NotQuiescent

if TYPE_CHECKING:
    from fakekube.harness.cluster import FakeKube

Object = dict[str, Any]


class Run(Protocol):
    """The run that ends."""

    plan: Plan
    recorder: Recorder
    injection: Injection
    hands: ClusterHands
    streams: StreamCheck
    recovery: Recovery
    folded: FoldedRequests | None
    lost: list[str]
    externals: ExternalWatch
    steps: list[str]
    meter: Meter


#: Virtual seconds that pass at the end of each run, so that what failed is retried. Odd, so that it ends between ticks.
GRACE = 37.5

_STUCK = (Deadlock, HotLoop, NotQuiescent)


def finished(run: Run, cluster: FakeKube, failure: BaseException | None, *, with_timeline: bool) -> Observation:
    """The observation of a run whose test has ended, with its failure if it failed."""
    ending = _Ending(run, cluster)
    if failure is None:
        ending.make_changes()
    ended = cluster.clock.monotonic()
    mode = ending.mode()
    unsettled = run.meter.exceeded or ending.stuck or (text_of(failure) if isinstance(failure, _STUCK) else "")
    violated = isinstance(failure, Violated)
    failed = "" if failure is None or unsettled or violated else text_of(failure)
    inconclusive = bool(failed) and (run.injection.is_down or run.injection.is_late or run.recovery.catches_up)
    if violated:
        ending.violations.append(str(failure))
    if mode and not unsettled:
        inconclusive = not ending.changed(mode, bool(failed))
    ending.note_real_time(failure)
    unsettled = unsettled or ending.attempt(ending.settle) or run.meter.exceeded
    final = run.recorder.final_objects(engine_of(cluster).server.apiserver.store)
    cost = run.meter.cost
    if not unsettled:
        unsettled = ending.attempt(ending.rest) or run.meter.exceeded
    ending.collect()
    return run.recorder.observation(
        run.plan.seed,
        failure="" if inconclusive or mode else failed.partition("\n")[0],
        where=place_of(failure),
        code=code_of(failure),
        inconclusive=inconclusive,
        unsettled=unsettled.partition("\n")[0],
        unjudged=(ending.unjudged or run.meter.too_long).partition("\n")[0],
        final=final,
        violations=tuple(text.partition("\n")[0] for text in ending.violations),
        lost=tuple(run.lost),
        external=tuple(run.externals.targets()),
        skipped=any(_skips(run.plan.atoms[number]) for number in run.injection.fired),
        moved=any(isinstance(run.plan.atoms[number], NodeFault) for number in run.injection.fired),
        fired=tuple(run.injection.fired),
        streams=tuple(run.streams.found),
        steps=tuple(run.steps),
        ended=ended,
        mode=mode,
        released=_released(run),
        cost=cost,
        timeline=cluster.timeline.to_json() if with_timeline else "",
    )


def _released(run: Run) -> bool | None:
    """Whether the release has changed; None if the plan does not say so."""
    numbers = [number for number, atom in enumerate(run.plan.atoms) if isinstance(atom, Upgrade | Downgrade)]
    return any(number in run.injection.fired for number in numbers) if numbers else None


def _skips(atom: Atom) -> bool:
    """Whether operators may not see each state because of an atom."""
    return isinstance(atom, Hold | Gap | Stale | Pause | Late) or (isinstance(atom, Crash) and atom.until is not None)


class _Ending:
    """The last moves of a run. `violations`: of predicates that must always hold. `unjudged`: as of an Observation.

    `stuck`: why the cluster did not settle before a generated change.
    """

    def __init__(self, run: Run, cluster: FakeKube) -> None:
        self._run, self._cluster, self._engine = run, cluster, engine_of(cluster)
        self.violations: list[str] = []
        self.unjudged: str = ""
        self.stuck: str = ""

    def note_real_time(self, error: BaseException | None) -> None:
        """The patience and the watchdog are in real time: what they end may be slow only because the machine is."""
        if isinstance(error, NotQuiescent):
            self.unjudged = self.unjudged or text_of(error)

    def mode(self) -> Literal["", "fresh", "rollback"]:
        """What is made of the run, besides a run of the test."""
        if Fresh() in self._run.plan.atoms:
            return "fresh"
        return "rollback" if Rollback() in self._run.plan.atoms else ""

    def attempt(self, move: Callable[[], None]) -> str:
        """Why the cluster does not settle, or nothing. Other failures are those of operators."""
        try:
            move()
        except _STUCK as error:
            self.note_real_time(error)
            return text_of(error)
        except Violated as error:
            self.violations.append(str(error))
        except Exception as error:
            self._run.lost.append(text_of(error))
        return ""

    def make_changes(self) -> None:
        """Make the generated changes, each when the cluster has settled. Those that the server rejects are left out."""
        for number, atom in enumerate(self._run.plan.atoms):
            if isinstance(atom, SpecChange) and not self.stuck:
                self.stuck = self.attempt(lambda: _advance(self._cluster, GRACE))
                if not self.stuck and self._make(atom):
                    self._run.injection.changed(number)

    def _make(self, change: SpecChange) -> bool:
        kind, *namespace, name = change.target.split("/")
        resource = self._run.recorder.kinds.resource(kind)
        if resource is None:
            return False
        where = "".join(namespace) or ("default" if resource.namespaced else "")
        return self._updated(resource, where, name, lambda now: changed(now, change.path, value_of(change.value)))

    def changed(self, mode: str, failed: bool) -> bool:
        """Give the cluster what is left of the last spec, or take the last change back. Whether the run says anything.

        It says nothing if the test failed before it had done what else it does, or if the server refuses the change.
        """
        plan, cluster = self._run.plan, self._cluster
        if mode == "rollback":
            return plan.last_step is not None and not failed and self._taken_back(plan.last_step)
        if plan.intents is None or self._run.folded is None:
            return False
        if failed and self._others() < plan.intents.others:
            return False
        if not self._run.hands.names():
            return False
        self._run.folded.complete()
        left = plan.intents.ended - cluster.clock.monotonic()
        if left > 0:
            self.attempt(lambda: _advance(cluster, left))
        return True

    def _others(self) -> int:
        """How many changes the test has made of what it has not created, or of a status."""
        return intents_of(self._run.recorder.observation(0)).others

    def _taken_back(self, step: Step) -> bool:
        resource = self._run.recorder.kinds.resource(step.kind)
        if resource is None:
            return False
        return self._updated(
            resource, step.namespace, step.name, lambda now: {**now, **carried(now, step.after, step.before)}
        )

    def _updated(
        self, resource: Resource, namespace: str, name: str, change: Callable[[Object], Mapping[str, Any]]
    ) -> bool:
        """Update an object; whether it exists, and the server takes the change."""
        objects = self._engine.objects
        try:
            objects.update(change(objects.get(resource.api_version, resource.kind, name, namespace)), "")
        except (ApiError, LookupError):
            return False
        return True

    def settle(self) -> None:
        while True:
            self._cluster.settle()
            if not self._run.injection.end_all():
                break
        while True:
            hits = self._run.injection.hits
            retries = self._run.recovery.next_retries() if hits else 0.0
            self._cluster.advance(GRACE + min(retries, LONGEST_RETRY))
            if self._run.injection.hits == hits or not self._run.recovery.next_retries():
                return

    def rest(self) -> None:
        self._run.recorder.resting = self._run.injection.is_over = True
        self._run.hands.resync()
        self._cluster.settle()

    def collect(self) -> None:
        """The violations of predicates that no step of the test has raised, and calls that real time has ended."""
        for reason in self._cluster.clock.expired:
            self.unjudged = self.unjudged or f"{reason} has not ended in real time"
        while True:
            try:
                self._engine.invariants.raise_violation()
            except Violated as error:
                self.violations.append(str(error))
            else:
                return


def _advance(cluster: FakeKube, seconds: float) -> None:
    cluster.advance(seconds)
