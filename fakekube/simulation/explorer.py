"""Explores a test: reference runs, plans in the order of promise, each distinct bug shrunk to the smallest plan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain
from time import monotonic

from fakekube.pythongarbage import quick_collections
from fakekube.simulation.atoms import (
    FAULTS,
    Crash,
    Downgrade,
    Fresh,
    Lost,
    Old,
    Rollback,
    SpecChange,
    Unanchored,
)
from fakekube.simulation.bounds import Bounds
from fakekube.simulation.coverage import Coverage
from fakekube.simulation.intents import intents_of, last_step
from fakekube.simulation.observation import Observation, Violation
from fakekube.simulation.oracles.judge import Judge
from fakekube.simulation.plan import Plan
from fakekube.simulation.planning import Planner
from fakekube.simulation.randomnames import RandomNames
from fakekube.simulation.realism import Facts, broken_rules
from fakekube.simulation.reducer import LIMIT, Reduced, fewest_atoms, reduce
from fakekube.simulation.releases import Releases
from fakekube.simulation.results.bugs import Key, is_known, keys_of, unknown
from fakekube.simulation.results.runnumber import UNLIMITED
from fakekube.simulation.results.shards import Shards
from fakekube.simulation.results.unmatched import Unmatched
from fakekube.simulation.results.writtenplaces import changed_outside, new_places, same_writes
from fakekube.simulation.statemask import Mask

#: The named budgets: how many runs.
BUDGETS = {"smoke": 30, "pr": 200, "nightly": 5_000}


@dataclass(frozen=True, slots=True)
class Settings:
    """What a marker says.

    runs: how many. seconds: of real time, after which no further plan begins (0: no limit). faults: names of atoms.
    mask: fields that are not compared. expect_delta: changes whose number may
    differ. owner_labels: labels that name an owner. off: oracles that are not asked. shard: which plans of how many
    shards run here. unrealistic: whether plans that break a rule of legality run. bugs: how many distinct bugs are
    looked for; then the exploration ends. known: shell patterns of violations that are no news. releases: of the
    operator, between which it is upgraded. upgrade_mask: objects and fields that an upgrade may leave in another way.
    workload: how many generated changes follow the test in a plan (0: none).
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
    bugs: int = 1
    known: Sequence[str] = ()
    releases: Releases | None = None
    upgrade_mask: Sequence[str] = ()
    workload: int = 0

    def for_shard(self, index: int, count: int) -> Settings:
        """The settings of one of `count` shards: its part of the runs, and two more for the reference."""
        runs = self.runs if self.runs >= UNLIMITED else -(-self.runs // count) + 2 * (count > 1)
        return replace(self, runs=runs, shard=(index, count))


@dataclass(frozen=True, slots=True)
class Trial:
    """A plan that was run, what it did wrong, and whether all its atoms took effect. `unjudged`: as of Observation.

    known: what it did wrong that is in the baseline. fired: the numbers of the atoms that took effect.
    """

    plan: Plan
    violations: Sequence[Violation] = ()
    exercised: bool = True
    unjudged: str = ""
    known: Sequence[Violation] = ()
    fired: Sequence[int] = ()

    @property
    def effective(self) -> Plan | None:
        """The plan, of one that fails the atoms that took effect; None if the run says nothing."""
        if self.unjudged:
            return None
        if self.exercised:
            return self.plan
        fired = tuple(atom for number, atom in enumerate(self.plan.atoms) if number in self.fired)
        return replace(self.plan, atoms=fired) if fired and (self.violations or self.known) else None


@dataclass(frozen=True, slots=True)
class Failed:
    """A distinct bug, by the first plan that showed it. `number`: that of its run, from 1.

    `violation`, `observed`, `reference`: of the smallest plan, and `also`, what else it does wrong. `plans`: how many
    further plans have shown it.
    """

    trial: Trial
    number: int
    reduced: Reduced
    violation: Violation
    observed: Observation
    reference: Observation
    plans: int = 0
    also: Sequence[Violation] = ()

    @property
    def keys(self) -> Sequence[Key]:
        """What makes it distinct: another bug has none of them."""
        return keys_of(self.violation, self.reduced.plan)


@dataclass(frozen=True, slots=True)
class Exploration:
    """The result. `runs` counts reference runs and those of the reduction, too. `unmatched`: patterns of the marker."""

    reference: Observation
    trials: Sequence[Trial]
    runs: int
    coverage: Coverage
    bugs: Sequence[Failed] = ()
    unmatched: Sequence[str] = ()

    @property
    def failed(self) -> Failed | None:
        """The first bug."""
        return self.bugs[0] if self.bugs else None

    @property
    def known(self) -> Counter[str]:
        """The violations of the baseline that were found, and how many plans have shown each."""
        return Counter(text for trial in self.trials for text in {str(one) for one in trial.known})


Base = tuple[bool, tuple[str, ...]]
"""What a run is compared with: whether with the old release alone, and the steps that are left out."""

References = dict[Base, tuple[Observation, Judge]]
"""The references and their judges."""


class ReferenceFails(Exception):
    """The test fails without any fault: there is nothing to explore."""


class NothingToExplore(Exception):
    """No operator that can be perturbed has done anything in the test."""


class Explorer:
    """Explores with `run(plan)`, which runs the test once.

    `facts`: of the test, for legality. Its plans are those of one shard; every shard runs the reference itself.
    `kept`: plans that have failed before, which are tried first. `progress`: called with the number of each run and its
    plan, before it begins.
    """

    def __init__(
        self,
        run: Callable[[Plan], Observation],
        settings: Settings,
        facts: Callable[[], Facts] = Facts,
        *,
        kept: Sequence[Plan] = (),
        progress: Callable[[int, Plan], None] = lambda number, plan: None,
    ) -> None:
        self._run, self._settings, self._facts = run, settings, facts
        self._kept, self._progress = kept, progress
        self._runs = 0
        self._known: dict[tuple[str, ...], Observation] = {}
        self._references: References = {}
        self._bounds: Bounds | None = None
        self._known_old = Observation(settings.seed)
        self._new: dict[tuple[str, ...], Observation | None] = {}
        self._places: set[str] = set()
        self._fed: list[Plan] = []
        self._together: dict[Plan, None] = {}
        self._began = monotonic()
        self._unmatched = Unmatched(settings.mask, settings.expect_delta, settings.known)

    def explore(self) -> Exploration:
        """Run until enough bugs are found or the budget is spent. Raises ReferenceFails, NothingToExplore."""
        with quick_collections():
            return self._explore()

    def _explore(self) -> Exploration:
        reference, judge = self.reference()
        coverage = Coverage()
        trials: list[Trial] = []
        references = self._references = {(False, ()): (reference, judge)}
        self._add_old(references)
        list(new_places(reference, self._places))
        bugs = _Bugs(self._of_reference(reference, judge))
        for plan in self._plans(reference, trials):
            if len(bugs.found) >= self._settings.bugs or self._runs >= self._settings.runs or self._is_late():
                break
            trial = self._try(plan, references)
            trials.append(trial)
            is_first_look = plan in self._together
            if (effective := trial.effective) is not None or not is_first_look:
                coverage.add(effective or trial.plan, effective is not None, trial.unjudged)
            if is_first_look and bugs.may_have(trial):
                continue
            if trial.violations and not bugs.has(trial):
                bugs.add(self._shrunk(trial, references, is_first=not bugs.found))
        if (
            not trials
            and not bugs.found
            and self._settings.shard[1] == 1
            and self._runs < self._settings.runs
            and not self._is_late()
        ):
            faults = ", ".join(self._settings.faults)
            raise NothingToExplore(f"nothing was explored: no fault of {faults} can occur in this test")
        unmatched = self._unmatched.texts() if self._settings.shard[1] == 1 else ()
        return Exploration(reference, trials, self._runs, coverage, bugs.counted(), unmatched)

    def _of_reference(self, reference: Observation, judge: Judge) -> Sequence[Failed]:
        """What is wrong without any fault: each shard sees it, and the first one reports it."""
        if self._settings.shard[0] > 0:
            return []
        plan = Plan(self._settings.seed)
        wrong = self._unmatched.found(judge.of_reference())
        found = unknown(wrong, self._settings.known)[: self._settings.bugs]
        return [Failed(Trial(plan, [one]), 1, Reduced(plan, 0), one, reference, reference) for one in found]

    def _is_late(self) -> bool:
        limit = self._settings.seconds
        return bool(limit) and monotonic() - self._began > limit

    def _add_old(self, references: References) -> None:
        """Run the old release alone, which downgrades are compared with, unless the test fails with it."""
        if self._settings.releases is None or not {"upgrade", "downgrade"} & {*self._settings.faults}:
            return
        with suppress(ReferenceFails):
            references[True, ()] = self.reference(is_old=True)
        if not any(one.by_operator for one in self._known_old.commits):
            raise NothingToExplore("upgrade: the old release has written nothing in this test")
        if same_writes(self._known_old, references[False, ()][0]):
            raise NothingToExplore(
                "upgrade: the old release does just what the new one does; pass the new function itself to start()"
            )

    def reference(self, skipped: tuple[str, ...] = (), *, is_old: bool = False) -> tuple[Observation, Judge]:
        """The reference under two seeds, and the judge that compares with it. Raises ReferenceFails.

        `skipped`: the steps that are left out. What a test asserts may fail without them. `is_old`: the reference is
        that of the old release.
        """
        settings = self._settings
        atoms = (Old(),) if is_old else ()
        first = self._observed(Plan(settings.seed, atoms, skipped=skipped))
        if is_old:
            self._known_old = first
        second = self._observed(Plan(settings.seed + 1, atoms, skipped=skipped))
        for one in (first, second):
            if one.unsettled or (one.failure and not skipped):
                raise ReferenceFails(one.failure or one.unsettled)
        if not is_old:
            self._known[skipped] = first
        failing = frozenset((one.controller, one.key) for one in first.reconciles if one.error)
        self._bounds = self._bounds or Bounds(first.cost, failing)
        mask, names = Mask(settings.mask, settings.upgrade_mask), RandomNames.of(first, second)
        compared = names.applied(first)
        mask.learn(compared.final, names.applied(second).final)
        mask.learn_external(*([*one.external, *changed_outside(one)] for one in (first, second)))
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
            old=self._known_old if self._references else None,
            goes_back=(True, ()) in self._references,
            has_nodes=facts.nodes,
            workload=self._settings.workload,
        )
        index, count = self._settings.shard
        singles = planner.singles()
        shards = Shards(count, [*planner.whole(), *singles])
        together = [shards.part_of(plan, index) for plan in planner.together()]
        self._together = {plan: None for plan in together if len(plan.atoms) > 1}
        named = (plan.resolved(facts.kinds) for plan in self._kept)
        kept = (plan for plan in dict.fromkeys(named) if shards.of_kept(plan) == index)
        rest = (
            plan
            for plan in self._ordered(planner, singles, trials)
            if plan in self._together or plan in self._fed or count == 1 or shards.of(plan) == index
        )
        for plan in chain(kept, rest):
            if self._settings.unrealistic or not any(broken_rules(plan, facts)):
                yield plan

    def _ordered(self, planner: Planner, singles: Sequence[Plan], trials: Sequence[Trial]) -> Iterator[Plan]:
        if not planner.has_anchors:
            raise NothingToExplore(
                "nothing was explored: no operator has written, read or watched anything in this test. Operators are "
                "what start(), task() and thread() run; beside those of start(), tasks and threads count as clients"
            )
        yield from planner.whole()
        yield from self._together
        yield from singles
        yield from self._fed
        if self._settings.shard[1] == 1:
            singles = [one.plan for one in trials if one.exercised and not one.violations]
        yield from (plan for plan in planner.pairs(singles) if plan not in self._together)
        yield from planner.orders()

    def _observed(self, plan: Plan) -> Observation:
        self._runs += 1
        self._progress(self._runs, plan)
        found = self._run(self._with_intents(plan))
        self._unmatched.saw(found)
        return found

    def _with_intents(self, plan: Plan) -> Plan:
        """The plan with what it needs of the reference."""
        plan = replace(plan, releases=self._settings.releases)
        if plan.atoms:
            plan = replace(plan, bounds=self._bounds)
        if not any(isinstance(atom, Fresh | Rollback) for atom in plan.atoms):
            return plan
        if plan.skipped not in self._known:
            self.reference(plan.skipped)
        reference = self._known[plan.skipped]
        return replace(plan, intents=intents_of(reference), last_step=last_step(reference))

    def _try(self, plan: Plan, references: References) -> Trial:
        if problem := plan.unknown_steps(references[False, ()][0].steps):
            return Trial(plan, exercised=False, unjudged=problem)
        found = self._observed(plan)
        is_workload = all(isinstance(atom, SpecChange) for atom in plan.atoms)
        needed = 1 if is_workload else sum(not isinstance(atom, Unanchored) for atom in plan.atoms)
        exercised = len(set(found.fired)) >= needed and not (found.inconclusive or found.unjudged)
        violations = self.violations(plan, found, references)
        if exercised and not violations and (is_workload or len(plan.atoms) == 1):
            self._feed(plan, found)
        known = [one for one in violations if is_known(one, self._settings.known)]
        return Trial(plan, unknown(violations, self._settings.known), exercised, found.unjudged, known, found.fired)

    def _feed(self, plan: Plan, found: Observation) -> None:
        """Plan crashes and lost answers at writes that only a run with a fault has made, as those of error paths."""
        for one in new_places(found, self._places):
            atoms = (Crash(one.anchor),) if one.is_external else (Crash(one.anchor), Lost(one.anchor))
            self._fed += [
                replace(plan, atoms=(*plan.atoms, atom)) for atom in atoms if atom.name in self._settings.faults
            ]

    def _shrunk(self, failed: Trial, references: References, *, is_first: bool) -> Failed:
        """The bug that a plan has shown, with the smallest plan. Further bugs are shrunk within the budget."""
        number, plan, wanted = self._runs, failed.plan, failed.violations[0]
        left = 0 if self._is_late() else self._settings.runs - self._runs - 1
        limit = LIMIT if is_first else max(0, min(LIMIT, left))
        if plan in self._together:
            plan, wanted = self._one_place(plan, wanted, references, limit)
            limit = max(0, limit - (self._runs - number))
        reduced = self.shrink(plan, wanted, references, limit)
        observed = self._observed(reduced.plan)
        violations = self.violations(reduced.plan, observed, references)
        shown = next((one for one in violations if one.same_as(wanted)), wanted)
        also = [one for one in violations if one != shown and not is_known(one, self._settings.known)]
        reference, _ = references[base_of(reduced.plan)]
        return Failed(failed, number, reduced, shown, observed, reference, also=also)

    def _one_place(self, plan: Plan, wanted: Violation, references: References, limit: int) -> tuple[Plan, Violation]:
        """The fewest atoms of a plan with many places that fail, and how: what is wrong at one place may differ from
        what is wrong when all of them are disturbed."""
        shown = {plan: wanted}

        def fails(tried: Plan) -> bool:
            found = unknown(self.violations(tried, self._observed(tried), references), self._settings.known)
            if found:
                shown[tried] = found[0]
            return bool(found)

        fewest = fewest_atoms(plan, fails, limit).plan
        return fewest, shown[fewest]

    def shrink(self, plan: Plan, wanted: Violation, references: References, limit: int = LIMIT) -> Reduced:
        """The smallest plan that fails as `wanted`, after at most `limit` runs.

        `references`: those of the test, to which others are added.
        """

        def fails(tried: Plan) -> bool:
            try:
                return any(one.same_as(wanted) for one in self.violations(tried, self._observed(tried), references))
            except ReferenceFails:
                return False

        steps = [name for name in next(iter(references.values()))[0].steps if name not in plan.skipped]
        return reduce(plan, fails, steps, limit)

    def violations(self, plan: Plan, observed: Observation, references: References) -> Sequence[Violation]:
        """What a run does wrong. A workload is compared with one more run: a new cluster with its last spec.

        So is a run in which an operator may have missed a spec, if it does not end as the reference.
        """
        base = base_of(plan)
        if base not in references:
            references[base] = self.reference(plan.skipped, is_old=base[0])
        judge = references[base][1]
        if not any(isinstance(atom, SpecChange) for atom in plan.atoms):
            found = judge.violations(observed)
            if observed.skipped and not base[0] and any(one.oracle == "O2" for one in found):
                found = replace(judge, new=self._of_last_spec(plan.skipped)).violations(observed)
            return self._unmatched.found(found)
        self._runs += 1
        new = replace(self._with_intents(replace(plan, atoms=(Fresh(),))), intents=intents_of(observed))
        return self._unmatched.found(judge.of_workload(observed, self._run(new)))

    def _of_last_spec(self, skipped: tuple[str, ...]) -> Observation | None:
        """The run on a new cluster that is given the last spec at once; None if the test changes none, or it says
        nothing."""
        if skipped not in self._new:
            plan, found = Plan(self._settings.seed, (Fresh(),), skipped=skipped), None
            if intents_of(self._known[skipped]).has_history:
                found = self._observed(plan)
            says_nothing = found is None or found.unsettled or found.unjudged or found.inconclusive
            self._new[skipped] = None if says_nothing else found
        return self._new[skipped]


def base_of(plan: Plan) -> Base:
    """What the runs of a plan are compared with."""
    return any(isinstance(atom, Downgrade | Old) for atom in plan.atoms), plan.skipped


class _Bugs:
    """The bugs that are found. Plans that show one of them again are counted."""

    def __init__(self, found: Sequence[Failed]) -> None:
        self.found: list[Failed] = list(found)
        self._keys = {key: number for number, one in enumerate(found) for key in one.keys}
        self._plans: Counter[int] = Counter()

    def may_have(self, trial: Trial) -> bool:
        """Whether a trial fails as a bug that is known, wherever its faults are."""
        return any(bug.violation.same_as(one) for bug in self.found for one in trial.violations)

    def has(self, trial: Trial) -> bool:
        """Whether a trial shows a bug that is known, which is counted."""
        number = self._number(keys_of(trial.violations[0], trial.plan))
        if number is not None:
            self._plans[number] += 1
        return number is not None

    def add(self, bug: Failed) -> None:
        """Add a bug, unless its smallest plan shows one that is known."""
        known = self._number(bug.keys)
        number = len(self.found) if known is None else known
        for key in (*bug.keys, *keys_of(bug.trial.violations[0], bug.trial.plan)):
            self._keys.setdefault(key, number)
        if known is None:
            self.found.append(bug)
        else:
            self._plans[number] += 1

    def _number(self, keys: Sequence[Key]) -> int | None:
        return next((self._keys[key] for key in keys if key in self._keys), None)

    def counted(self) -> Sequence[Failed]:
        """The bugs, with the number of further plans that show each."""
        return [replace(one, plans=self._plans[number]) for number, one in enumerate(self.found)]
