"""Explores a test: reference runs, plans in the order of promise, the first failure shrunk to the smallest plan."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from time import monotonic

from fakekube.simulation.atoms import FAULTS, Fresh, Rollback, Unanchored
from fakekube.simulation.bounds import Bounds, Cost
from fakekube.simulation.coverage import Coverage
from fakekube.simulation.intents import intents_of, last_step
from fakekube.simulation.observation import Observation, Violation
from fakekube.simulation.oracles.judge import Judge
from fakekube.simulation.plan import Plan
from fakekube.simulation.planning import Planner
from fakekube.simulation.randomnames import RandomNames
from fakekube.simulation.realism import Facts, broken_rules
from fakekube.simulation.reducer import Reduced, reduce
from fakekube.simulation.statemask import Mask

#: The named budgets: how many runs.
BUDGETS = {"smoke": 30, "pr": 200, "nightly": 5_000}


@dataclass(frozen=True, slots=True)
class Settings:
    """What a marker says.

    runs: how many. seconds: of real time, after which no further plan begins (0: no limit). faults: names of atoms.
    mask: fields that are not compared. expect_delta: changes whose number may
    differ. owner_labels: labels that name an owner. off: oracles that are not asked. shard: which plans of how many
    shards run here. unrealistic: whether plans that break a rule of legality run.
    """

    runs: int = BUDGETS["pr"]
    seconds: float = 0.0
    faults: Sequence[str] = FAULTS
    seed: int = 0
    mask: Sequence[str] = ()
    expect_delta: Sequence[str] = ()
    owner_labels: Sequence[str] = ()
    off: Sequence[str] = ()
    shard: tuple[int, int] = (0, 1)
    unrealistic: bool = False

    def for_shard(self, index: int, count: int) -> Settings:
        """The settings of one of `count` shards: its part of the runs, and two more for the reference."""
        return replace(self, runs=-(-self.runs // count) + 2 * (count > 1), shard=(index, count))


@dataclass(frozen=True, slots=True)
class Trial:
    """A plan that was run, what it did wrong, and whether all its atoms took effect. `unjudged`: as of Observation."""

    plan: Plan
    violations: Sequence[Violation] = ()
    exercised: bool = True
    unjudged: str = ""


@dataclass(frozen=True, slots=True)
class Failed:
    """The first plan that failed. `number`: that of its run, from 1. `violation`, `observed`: of the smallest plan."""

    trial: Trial
    number: int
    reduced: Reduced
    violation: Violation
    observed: Observation


@dataclass(frozen=True, slots=True)
class Exploration:
    """The result. `runs` counts reference runs and those of the reduction, too."""

    reference: Observation
    trials: Sequence[Trial]
    runs: int
    coverage: Coverage
    failed: Failed | None = None


References = dict[tuple[str, ...], tuple[Observation, Judge]]
"""The reference and its judge, by the steps that are left out."""


class ReferenceFails(Exception):
    """The test fails without any fault: there is nothing to explore."""


class NothingToExplore(Exception):
    """No operator that can be perturbed has done anything in the test."""


class Explorer:
    """Explores with `run(plan)`, which runs the test once.

    `facts`: of the test, for legality. Its plans are those of one shard; every shard runs the reference itself.
    """

    def __init__(
        self, run: Callable[[Plan], Observation], settings: Settings, facts: Callable[[], Facts] = Facts
    ) -> None:
        self._run, self._settings, self._facts = run, settings, facts
        self._runs = 0
        self._known: dict[tuple[str, ...], Observation] = {}
        self._cost: Cost | None = None
        self._began = monotonic()

    def explore(self) -> Exploration:
        """Run until a plan fails or the budget is spent. Raises ReferenceFails, NothingToExplore."""
        with _quick_collections():
            return self._explore()

    def _explore(self) -> Exploration:
        reference, judge = self.reference()
        coverage = Coverage()
        trials: list[Trial] = []
        for plan in self._plans(reference, trials):
            if self._runs >= self._settings.runs or self._is_late():
                break
            trial = self._try(plan, judge)
            trials.append(trial)
            coverage.add(trial.plan, trial.exercised, trial.unjudged)
            if trial.violations:
                return self._shrunk(reference, judge, trials, trial, coverage)
        if not trials and self._settings.shard[1] == 1 and self._runs < self._settings.runs and not self._is_late():
            faults = ", ".join(self._settings.faults)
            raise NothingToExplore(f"nothing was explored: no fault of {faults} can occur in this test")
        return Exploration(reference, trials, self._runs, coverage)

    def _is_late(self) -> bool:
        limit = self._settings.seconds
        return bool(limit) and monotonic() - self._began > limit

    def reference(self, skipped: tuple[str, ...] = ()) -> tuple[Observation, Judge]:
        """The reference under two seeds, and the judge that compares with it. Raises ReferenceFails.

        `skipped`: the steps that are left out. What a test asserts may fail without them.
        """
        settings = self._settings
        first = self._observed(Plan(settings.seed, skipped=skipped))
        second = self._observed(Plan(settings.seed + 1, skipped=skipped))
        for one in (first, second):
            if one.unsettled or (one.failure and not skipped):
                raise ReferenceFails(one.failure or one.unsettled)
        self._known[skipped] = first
        self._cost = self._cost or first.cost
        mask, names = Mask(settings.mask), RandomNames.of(first, second)
        compared = names.applied(first)
        mask.learn(compared.final, names.applied(second).final)
        mask.learn_external(*([*one.external, *_changed_outside(one)] for one in (first, second)))
        return first, Judge(compared, mask, settings.expect_delta, settings.owner_labels, settings.off, names)

    def seeded(self, seed: int) -> None:
        """Use another seed for the reference: that of a plan which is run again."""
        self._settings = replace(self._settings, seed=seed)

    def observe(self, plan: Plan) -> Observation:
        """Run the test once under a plan."""
        return self._observed(plan)

    def _plans(self, reference: Observation, trials: Sequence[Trial]) -> Iterator[Plan]:
        facts = self._facts()
        planner = Planner(
            reference,
            faults=self._settings.faults,
            seed=self._settings.seed,
            has_election=facts.lease > 0,
            has_webhooks=facts.webhooks,
            off=self._settings.off,
        )
        index, count = self._settings.shard
        number = 0
        for plan in self._ordered(planner, trials):
            if self._settings.unrealistic or not any(broken_rules(plan, facts)):
                if number % count == index:
                    yield plan
                number += 1

    def _ordered(self, planner: Planner, trials: Sequence[Trial]) -> Iterator[Plan]:
        singles = planner.singles()
        if not planner.has_anchors:
            raise NothingToExplore(
                "nothing was explored: no operator has written, read or watched anything in this test. Operators are "
                "what start(), task() and thread() run; beside those of start(), tasks and threads count as clients"
            )
        yield from singles
        if self._settings.shard[1] == 1:
            singles = [one.plan for one in trials if one.exercised and not one.violations]
        yield from planner.pairs(singles)
        yield from planner.orders()

    def _observed(self, plan: Plan) -> Observation:
        self._runs += 1
        return self._run(self._with_intents(plan))

    def _with_intents(self, plan: Plan) -> Plan:
        """The plan with what it needs of the reference."""
        if plan.atoms and self._cost is not None:
            plan = replace(plan, bounds=Bounds(self._cost))
        if not any(isinstance(atom, Fresh | Rollback) for atom in plan.atoms):
            return plan
        if plan.skipped not in self._known:
            self.reference(plan.skipped)
        reference = self._known[plan.skipped]
        return replace(plan, intents=intents_of(reference), last_step=last_step(reference))

    def _try(self, plan: Plan, judge: Judge) -> Trial:
        found = self._observed(plan)
        needed = sum(not isinstance(atom, Unanchored) for atom in plan.atoms)
        exercised = len(set(found.fired)) >= needed and not (found.inconclusive or found.unjudged)
        return Trial(plan, judge.violations(found), exercised, found.unjudged)

    def _shrunk(
        self, reference: Observation, judge: Judge, trials: Sequence[Trial], failed: Trial, coverage: Coverage
    ) -> Exploration:
        number, wanted = self._runs, failed.violations[0]
        references: References = {(): (reference, judge)}
        reduced = self.shrink(failed.plan, wanted, references)
        observed = self._observed(reduced.plan)
        violations = self._violations(reduced.plan, observed, references)
        shown = next((one for one in violations if one.same_as(wanted)), wanted)
        reference = references[reduced.plan.skipped][0]
        found = Failed(failed, number, reduced, shown, observed)
        return Exploration(reference, trials, self._runs, coverage, found)

    def shrink(self, plan: Plan, wanted: Violation, references: References) -> Reduced:
        """The smallest plan that fails as `wanted`. `references`: those of the test, to which others are added."""

        def fails(tried: Plan) -> bool:
            try:
                return any(one.same_as(wanted) for one in self._violations(tried, self._observed(tried), references))
            except ReferenceFails:
                return False

        steps = [name for name in next(iter(references.values()))[0].steps if name not in plan.skipped]
        return reduce(plan, fails, steps)

    def _violations(self, plan: Plan, observed: Observation, references: References) -> Sequence[Violation]:
        if plan.skipped not in references:
            references[plan.skipped] = self.reference(plan.skipped)
        return references[plan.skipped][1].violations(observed)


def _changed_outside(run: Observation) -> Iterator[str]:
    return (one.anchor.target for one in run.commits if one.is_external)


@contextmanager
def _quick_collections() -> Iterator[None]:
    """Keep collections of garbage from looking at what was there before: runs that kill clients end with one."""
    if gc.get_freeze_count():
        yield
        return
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
