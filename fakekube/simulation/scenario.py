"""Explores a function without pytest, here or in the processes of any `concurrent.futures.Executor`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from fakekube.simulation.explorer import Exploration, Explorer, Failed, Settings
from fakekube.simulation.observation import Observation
from fakekube.simulation.plan import Plan
from fakekube.simulation.realism import Facts
from fakekube.virtualtime.errors import NotQuiescent

if TYPE_CHECKING:
    from fakekube.harness.cluster import FakeKube

Scenario = Callable[["FakeKube"], object]
"""The body of a test: takes a cluster, and raises AssertionError if it fails."""


@dataclass(slots=True)
class ScenarioRunner:
    """Runs a scenario under plans. `cluster`: arguments of FakeKube. `facts`: those of the last run without faults."""

    scenario: Scenario
    cluster: Mapping[str, Any] = field(default_factory=dict)
    facts: Facts = field(default_factory=Facts)
    with_timeline: bool = False

    def run(self, plan: Plan) -> Observation:
        """One run. One that real time has ended (NotQuiescent), also where its cluster is closed, is not judged."""
        observed: list[Observation] = []
        try:
            self._observe(plan, observed)
        except NotQuiescent as error:
            if not observed:
                raise
            why = f"{type(error).__name__}: {error}".partition("\n")[0]
            return replace(observed[0], unjudged=observed[0].unjudged or why)
        return observed[0]

    def _observe(self, plan: Plan, observed: list[Observation]) -> None:
        """Run, and add the observation to `observed` before the cluster is closed."""
        from fakekube.harness.cluster import FakeKube
        from fakekube.simulation.running.run import Run

        failure: Exception | None = None
        with FakeKube(**{"detect": {"all": "off"}, **self.cluster, "seed": plan.seed}) as kube:
            run = Run(kube, plan, with_timeline=self.with_timeline)
            run.attach()
            try:
                self.scenario(kube)
            except Exception as error:  # judged as the test's own failure
                failure = error
            observed.append(run.finish(failure))
            if not plan.atoms:
                self.facts = run.facts
            run.detach()


def explore(
    scenario: Scenario,
    settings: Settings | None = None,
    *,
    cluster: Mapping[str, Any] | None = None,
    executor: Executor | None = None,
    workers: int = 1,
) -> Exploration:
    """Explore a scenario; with an executor, its plans are divided among `workers` jobs.

    The scenario must be importable where the jobs run. Returns the union of all, with the distinct bugs
    of all. Raises ReferenceFails.
    """
    settings = settings or Settings()
    if executor is None:
        return _explored(scenario, settings, cluster or {})
    shards = [settings.for_shard(one, workers) for one in range(workers)]
    jobs = [executor.submit(_explored, scenario, shard, dict(cluster or {})) for shard in shards]
    return _joined([job.result() for job in jobs])


def _explored(scenario: Scenario, settings: Settings, cluster: Mapping[str, Any]) -> Exploration:
    runner = ScenarioRunner(scenario, cluster)
    return Explorer(runner.run, settings, lambda: runner.facts).explore()


def _joined(found: Sequence[Exploration]) -> Exploration:
    first = found[0]
    for one in found:
        if one is not first:
            first.coverage.include(one.coverage)
    trials = [trial for one in found for trial in one.trials]
    bugs: list[Failed] = []
    for bug in (bug for one in found for bug in one.bugs):
        if not any({*bug.keys} & {*known.keys} for known in bugs):
            bugs.append(bug)
    return replace(
        first,
        trials=trials,
        runs=sum(one.runs for one in found),
        bugs=sorted(bugs, key=lambda bug: bug.number),
    )
