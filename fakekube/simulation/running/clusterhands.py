"""What an atom does to a cluster: to its operators, its watches, its objects and its clock."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextvars import copy_context
from typing import TYPE_CHECKING, Any

from fakekube.harness.engine import engine_of
from fakekube.server.manifests import collection_path
from fakekube.simulation.atoms import MARK, NodeFault
from fakekube.simulation.observation import OPERATOR, Commit
from fakekube.simulation.releases import Releases
from fakekube.simulation.running.nodehands import NodeHands
from fakekube.simulation.running.recorder import Actor, Recorder
from fakekube.virtualtime.simulatedprocess import HARNESS, context_of

if TYPE_CHECKING:
    from fakekube.harness.cluster import FakeKube
    from fakekube.harness.operators.background import Program
    from fakekube.harness.operators.operator import Operator
    from fakekube.virtualtime.simulatedprocess import SimulatedProcess

#: The User-Agent of competing writes.
RACER = "race"


class ClusterHands:
    """Implements `fakekube.simulation.running.injection.Hands`. `frozen`: the operators that are frozen, by name.

    `releases`: of the operator; `is_old`: whether its old one runs first.
    """

    def __init__(
        self, cluster: FakeKube, recorder: Recorder, releases: Releases | None = None, *, is_old: bool = False
    ) -> None:
        self._cluster, self._engine, self._recorder = cluster, engine_of(cluster), recorder
        self._context = copy_context()
        self.nodes: NodeHands = NodeHands(cluster, recorder, RACER)
        self.frozen: set[str] = set()
        self._releases, self._is_old = releases, is_old

    def running(self) -> Mapping[str, Operator]:
        """The operators of controllerlib that run, the latest incarnation of each."""
        return {one.name: one for one in self._launched() if one.is_alive and not one.process.fenced}

    def _launched(self) -> Sequence[Operator]:
        return [one for one in self._engine.background.operators if one.launch is not None]

    def programs(self) -> Mapping[str, Program]:
        """The operators that run as a task or a thread, the latest incarnation of each.

        Where the test has started operators of controllerlib, its tasks and threads are taken for clients.
        """
        return {one.name: one for one in self._programs() if one.is_alive}

    def _programs(self) -> Sequence[Program]:
        background = self._engine.background
        return [one for one in background.programs if one.start is not None] if not self._launched() else []

    def names(self) -> list[str]:
        """The names of all operators that run, as in commits."""
        return [f"{OPERATOR}{name}" for name in (*self.running(), *self.programs())]

    def only(self) -> Actor | None:
        """The operator that runs, if it is the only one."""
        known: Sequence[Operator | Program] = [*self.running().values(), *self.programs().values()]
        return Actor(f"{OPERATOR}{known[0].name}", known[0].incarnation) if len(known) == 1 else None

    def actor_of(self, process: object) -> Actor | None:
        """The operator whose process this is."""
        known: Sequence[Operator | Program] = (*self._launched(), *self._programs())
        return next((Actor(f"{OPERATOR}{one.name}", one.incarnation) for one in known if one.process is process), None)

    def _process(self, operator: str) -> SimulatedProcess | None:
        name = operator.removeprefix(OPERATOR)
        found = self.running().get(name) or self.programs().get(name)
        return None if found is None else found.process

    def switch(self, is_old: bool) -> None:
        self._is_old = is_old

    def released(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """What is to be started in place of a function of the test: that of the release that runs now."""
        if self._releases is None or function != self._releases.new:
            return function
        return self._releases.old if self._is_old else self._releases.new

    def kill(self, operator: str) -> None:
        process = self._process(operator)
        if process is not None:
            self._engine.disruptions.kill(process)

    def start(self, operator: str) -> None:
        """Start an operator again, outside of the reconcile in which it was killed."""
        name = operator.removeprefix(OPERATOR)
        launched = [one for one in self._launched() if one.name == name]
        if launched and (not launched[-1].is_alive or launched[-1].process.fenced):
            self._context.copy().run(self._begin, launched[-1])
        programs = [one for one in self._programs() if one.name == name]
        if programs and not programs[-1].is_alive:
            self._context.copy().run(self._engine.background.restart, programs[-1])

    def _begin(self, operator: Operator) -> None:
        self._engine.operators.relaunched(operator).begin(self._engine.bubble.loop)

    def surge(self, operator: str) -> Callable[[], None]:
        first, name = self._process(operator), operator.removeprefix(OPERATOR)
        if (launched := self.running().get(name)) is not None:
            self._context.copy().run(self._begin_beside, launched)
        elif (program := self.programs().get(name)) is not None:
            self._context.copy().run(self._engine.background.restart, program)

        def end() -> None:
            if first is not None and not first.fenced:
                self._engine.disruptions.kill(first)

        return end

    def _begin_beside(self, operator: Operator) -> None:
        assert operator.launch is not None, "it was started by the test"
        operator.successor = self._engine.operators.launched(operator.launch, operator.name)
        operator.successor.begin(self._engine.bubble.loop)

    def start_ended(self) -> None:
        """Start operators again that have ended by themselves."""
        known: Sequence[Operator | Program] = (*self._launched(), *self._programs())
        for name, one in {one.name: one for one in known}.items():
            if not one.is_alive:
                self.start(f"{OPERATOR}{name}")

    def hold(self, operator: str, kind: str, revision: int) -> Callable[[], None]:
        resource = self._recorder.kinds.resource(kind)
        plural = kind if resource is None else resource.plural
        processes = [self._process(name) for name in ([operator] if operator else self.names())]
        disruptions = self._engine.disruptions
        holds = [disruptions.hold_at(process, plural, revision) for process in processes if process is not None]

        def release() -> None:
            for one in holds:
                one.release()

        return release

    def compact(self) -> None:
        self._cluster.faults.compact()

    def stop(self, operator: str) -> None:
        process = self._process(operator)
        if process is not None and process.runs:
            self._engine.disruptions.stop(process)
            self.frozen.add(operator)

    def resume(self, operator: str) -> None:
        self.frozen.discard(operator)
        process = self._process(operator)
        if process is not None and not process.runs:
            self._engine.disruptions.resume(process)

    def race(self, how: str, commit: Commit) -> None:
        """Set an annotation or a label of an object that exists, as another client does."""
        path = self._path_of(commit)
        if not path or commit.before is None:
            return
        headers = {"Content-Type": "application/merge-patch+json", "User-Agent": RACER}
        field = "labels" if how == "label" else "annotations"
        self._recorder.racing = True
        try:
            body = json.dumps({"metadata": {field: {MARK: "1"}}}).encode()
            self._cluster.access.transport().begin("PATCH", path, headers=headers, body=body)
        finally:
            self._recorder.racing = False

    def disrupt(self, fault: NodeFault) -> Callable[[], None] | None:
        return self.nodes.disrupt(fault)

    def jump(self, seconds: int) -> None:
        self._engine.disruptions.jump(None, seconds)

    def time_out_webhooks(self) -> None:
        self._cluster.faults.fail_webhooks("*", times=1)

    def resync(self) -> None:
        """Enqueue every key that was ever reconciled."""
        for operator in self.running().values():
            operator.enqueue_all()

    def after(self, seconds: float, action: Callable[[], None]) -> Callable[[], None]:
        return self._engine.bubble.loop.call_later(seconds, action, context=context_of(HARNESS)).cancel

    def _path_of(self, commit: Commit) -> str:
        resource = self._recorder.kinds.resource(commit.kind)
        return "" if resource is None else f"{collection_path(resource, commit.namespace or None)}/{commit.name}"
