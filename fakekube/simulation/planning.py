"""Plans from the trace of a reference run: the most promising ones first, then pairs, then seeded orders."""

from __future__ import annotations

import random
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import combinations, zip_longest

from fakekube.simulation.anchor import Anchor
from fakekube.simulation.atoms import (
    FAULTS,
    LAG,
    LONGEST,
    Atom,
    Crash,
    Downgrade,
    Dup,
    Failure,
    Fresh,
    Gap,
    Hold,
    Hook,
    Jump,
    Late,
    Lost,
    Order,
    Pause,
    Race,
    Rollback,
    Stale,
    Surge,
    Unanchored,
    Until,
    Upgrade,
    Zombie,
)
from fakekube.simulation.intents import intents_of, last_step
from fakekube.simulation.nodeplans import node_faults
from fakekube.simulation.observation import TEST, Commit, Observation
from fakekube.simulation.plan import Plan
from fakekube.simulation.statemask import is_compared
from fakekube.simulation.workloads import workloads

#: At most so many anchors of one signature, digits in names left out.
_OF_ONE_SIGNATURE = 3

#: At most so many of the last writes before a change of the test.
_IN_A_STEP = 6

#: At most so many of the last writes before a change of the test, after which the operator is frozen.
_PAUSED = 2

#: By how many seconds clocks differ that are kept by NTP.
_SKEW = 5

#: The HTTP codes with which requests fail.
_CODES = (503, 500, 504)


class Planner:
    """The plans for one test.

    `faults`: the names of the atoms that may be used. `seed`: of the orders, and of what is sampled.
    `has_election`, `has_webhooks`: whether operators elect leaders, and whether webhooks are called. `off`: the oracles
    that do not judge. `old`: the run of the old release alone, if there is one; `goes_back`: whether there are
    downgrades to it. `has_nodes`: whether kubelets run. `workload`: how many changes are generated in a sequence.
    """

    def __init__(
        self,
        reference: Observation,
        *,
        faults: Iterable[str] = FAULTS,
        seed: int = 0,
        has_election: bool = False,
        has_webhooks: bool = False,
        off: Collection[str] = (),
        old: Observation | None = None,
        goes_back: bool = False,
        has_nodes: bool = False,
        workload: int = 0,
    ) -> None:
        self._old, self._goes_back, self._has_nodes = old, goes_back, has_nodes
        self._workload = workload
        self._reference, self._faults, self._seed = reference, frozenset(faults), seed
        self._has_election, self._has_webhooks, self._off = has_election, has_webhooks, off
        self._changes = _capped([one for one in reference.by_operators() if is_compared(one.kind)])
        self._writes = [one for one in self._changes if not one.is_external]
        self._watched = {one.kind for one in reference.deliveries}

    @property
    def has_anchors(self) -> bool:
        """Whether operators have written, read or watched anything."""
        return bool(self._changes or self._reference.reads or self._watched)

    def whole(self) -> Sequence[Plan]:
        """A plan for each atom that concerns a whole run."""
        return [Plan(self._seed, (atom,)) for atom in (*self._convergence(), Dup()) if atom.name in self._faults]

    def together(self) -> Sequence[Plan]:
        """Plans with many atoms of one family each: a first look at many places, of which shrinking finds the one.

        Not those that would hide each other, as an operator that is down cannot miss two changes.
        """
        reads, writes = _ends_of(self._reference.reads), [one.anchor for one in self._writes]
        families: Sequence[Iterable[Atom]] = (
            self._crashes(),
            self._races(),
            self._timeouts(),
            (Failure(anchor) for anchor in writes),
            self._losses(),
            (Failure(anchor) for anchor in reads),
            self._late(),
            *([atom for atom in self._outside() if isinstance(atom, form)] for form in (Failure, Lost, Late)),
        )
        return [Plan(self._seed, tuple(atoms)) for atoms in self._allowed(families) if len(atoms) > 1]

    def singles(self) -> Sequence[Plan]:
        """A plan for each other atom, one of each family in turn; those that were tried together share a turn."""
        alone = (
            self._upgrades(),
            self._surges(),
            self._late_leaders(),
            self._own_holds(),
            self._downs(),
            self._cancelled(),
            self._stale(),
            self._pauses(),
            node_faults(self._reference, self._changes) if self._has_nodes else (),
        )
        tried = (
            self._crashes(),
            self._losses(),
            self._failures(),
            self._races(),
            self._timeouts(),
            self._rare(),
            self._outside(),
        )
        atoms = self._in_turn([*alone, self._in_turn(tried)])
        found = [Plan(self._seed, (atom,)) for atom in dict.fromkeys(atoms)]
        if not self._workload:
            return found
        changes = (Plan(self._seed, tuple(one)) for one in workloads(self._reference, self._workload, self._seed))
        return [one for pair in zip_longest(found, changes) for one in pair if one is not None]

    def _in_turn(self, families: Iterable[Iterable[Atom]]) -> Iterator[Atom]:
        """The atoms that may be used, one of each family in turn."""
        return (atom for row in zip_longest(*self._allowed(families)) for atom in row if atom is not None)

    def _allowed(self, families: Iterable[Iterable[Atom]]) -> Sequence[Sequence[Atom]]:
        return [[atom for atom in family if atom.name in self._faults] for family in families]

    def _convergence(self) -> Iterator[Atom]:
        """The runs in which O8 and O9 judge, if the test has changed what it made."""
        if "O8" not in self._off and intents_of(self._reference).has_history:
            yield Fresh()
        if "O9" not in self._off and last_step(self._reference) is not None:
            yield Rollback()

    def pairs(self, clean: Sequence[Plan]) -> Iterator[Plan]:
        """Pairs of atoms that have each run clean alone, in an order that is drawn from the seed."""
        atoms = [plan.atoms[0] for plan in clean if len(plan.atoms) == 1]
        found = [(first, second) for first, second in combinations(atoms, 2) if _combines(first, second)]
        random.Random(self._seed).shuffle(found)
        for first, second in found:
            yield Plan(self._seed, (first, second))

    def orders(self) -> Iterator[Plan]:
        """Endlessly many seeds for the order of watches and workers, alone and with a crash."""
        if "order" not in self._faults:
            return
        crashes = [atom for atom in self._crashes() if atom.name in self._faults]
        for number in range(1, 1_000_000):
            extra = (crashes[number // 2 % len(crashes)],) if crashes and number % 2 == 0 else ()
            yield Plan(self._seed + number, (Order(), *extra))

    # --- families

    def _crashes(self) -> Iterator[Atom]:
        for one in self._changes:
            yield Crash(one.anchor)

    def _upgrades(self) -> Iterator[Atom]:
        """The other release takes over after each write of the operator, and while nothing is to be done."""
        back: Iterator[Atom] = iter(())
        if self._old is not None:
            ups: list[Atom] = [Upgrade(one.anchor) for one in _turns(self._old)]
            back = (Downgrade(one.anchor) for one in _turns(self._reference)) if self._goes_back else back
            yield from (atom for pair in zip_longest(ups, back) for atom in pair if atom is not None)

    def _surges(self) -> Iterator[Atom]:
        """A second replica starts in the middle of the work, and both see a change of the test."""
        latest: Commit | None = None
        for one in self._reference.commits:
            if one.by_operator and not one.rest and is_compared(one.kind):
                latest = one
            elif one.actor == TEST and latest is not None:
                later = [each for each in self._writes if each.revision > one.revision and _are_near(latest, each)]
                until: Until = later[-1].anchor if later else "reconcile"
                yield Surge(latest.anchor, until)
                latest = None
        for one in self._changes:
            yield Surge(one.anchor, "reconcile")

    def _losses(self) -> Iterator[Atom]:
        for number, one in enumerate(self._writes):
            yield Lost(one.anchor, "reset" if number % 2 else "504")

    def _own_holds(self) -> Iterator[Atom]:
        """The operator does not see its own write until its next reconcile has ended."""
        for one in self._writes:
            if one.kind in self._watched:
                yield Hold(one.kind, one.anchor, "reconcile")

    def _downs(self) -> Iterator[Atom]:
        """The operator is down, from one of its last writes on, while the test changes something."""
        step: list[Commit] = []  # what it has written since the change before
        latest: list[Commit] = []
        for one in self._reference.commits:
            if one.rest:
                break
            if one.by_operator and is_compared(one.kind):
                step.append(one)
            elif one.actor == TEST:
                latest, step = step or latest, []
                near = [write for write in latest[: -_IN_A_STEP - 1 : -1] if _are_near(write, one)]
                yield from (Crash(write.anchor, one.anchor) for write in near)
                if latest and not near:
                    yield Crash(one.anchor)

    def _pauses(self) -> Iterator[Atom]:
        """The operator is frozen in the middle of its work, while the test changes something."""
        latest: list[Commit] = []
        for one in self._reference.commits:
            if one.rest:
                break
            if one.by_operator and is_compared(one.kind):
                latest.append(one)
            elif one.actor == TEST and latest:
                for write in latest[: -_PAUSED - 1 : -1]:
                    if _are_near(write, one):
                        yield Pause(write.anchor, one.anchor)
                latest = []

    def _failures(self) -> Iterator[Atom]:
        anchors = [*_capped_anchors(self._reference.reads), *(one.anchor for one in self._writes)]
        for code in _CODES:
            for anchor in anchors:
                yield Failure(anchor, code)

    def _late(self) -> Iterator[Atom]:
        """The operator gets the events that follow a write, or a change of the test, before the answer."""
        for one in self._writes:
            yield Late(one.anchor, "rest")
        for anchor in _capped_anchors(self._reference.reads):
            yield Late(anchor, "rest")

    def _outside(self) -> Iterator[Atom]:
        """Calls to external APIs fail before or after they have an effect, or are answered late."""
        waits = dict(self._reference.calls)
        for anchor in _capped_anchors(list(waits)):
            yield from (Lost(anchor, "reset"), Failure(anchor))
            if waits[anchor]:
                yield Late(anchor, "rest")

    def _races(self) -> Iterator[Atom]:
        for one in self._writes:
            if one.anchor.verb == "update":
                yield Race(one.anchor, "annotate")

    def _cancelled(self) -> Iterator[Atom]:
        """Notifications that a later event of the same object undoes: one watch is late, or misses both."""
        for first, second in self._answered():
            yield Hold(first.kind, first.anchor, second.anchor)
        for first, second in self._undone():
            if _are_near(first, second):
                yield Hold(first.kind, first.anchor, second.anchor)
                yield Gap(first.kind, first.anchor, second.anchor)
        for one in self._foreign():
            yield Hold(one.kind, one.anchor, "rest")
            yield Gap(one.kind, one.anchor, "rest")

    def _stale(self) -> Iterator[Atom]:
        """The state that has led to a deletion, read again after a later event of the same object."""
        commits = [one for one in self._reference.commits if not one.rest]
        for deletion in self._reference.by_operators():
            if not (deletion.is_deletion and deletion.key):
                continue
            reasons = [one for one in commits if _is_of(one, deletion) and one.revision <= deletion.revision]
            later = [
                one
                for one in commits
                if one.revision > deletion.revision and (_is_of(one, deletion) or _same(one, deletion))
            ]
            for reason in reasons[-1:]:
                for one in later[: _OF_ONE_SIGNATURE + 1]:
                    if _are_near(reason, one):
                        yield Stale(reason.kind, reason.anchor, one.anchor)
        for first, second in self._undone():
            if _are_near(first, second):
                yield Stale(first.kind, first.anchor, second.anchor)
        for before, change, answers in self._changed():
            for one in (change, *answers[:1], *answers[-1:]):
                if _are_near(before, one):
                    yield Stale(change.kind, before.anchor, one.anchor)
        yield from (Stale(one.kind, one.anchor, later.anchor) for one, later in self._marked() if _are_near(one, later))

    def _late_leaders(self) -> Iterator[Atom]:
        """The leader writes when another leads: first what removes, then what overwrites what that has made."""
        for one in sorted(self._writes, key=lambda one: ("delete", "update", "create").index(one.anchor.verb)):
            if self._has_election:
                yield Zombie(one.anchor)

    def _timeouts(self) -> Iterator[Atom]:
        for one in self._writes:
            if self._has_webhooks:
                yield Hook(one.anchor)

    def _rare(self) -> Iterator[Atom]:
        yield from self._late()
        for one in self._writes:
            yield Jump(one.anchor, _SKEW)

    # --- events of the trace

    def _foreign(self) -> Sequence[Commit]:
        """What others than operators write to watched objects while the operator runs."""
        return _capped(
            [
                one
                for one in self._reference.commits
                if not (one.by_operator or one.rest) and one.kind in self._watched and is_compared(one.kind)
            ]
        )

    def _answered(self) -> Iterator[tuple[Commit, Commit]]:
        """A change of the test that it follows up within seconds, and the last write with which operators answer.

        What lasts longer may have to be seen.
        """
        commits = [one for one in self._reference.commits if not one.rest]
        for first in self._foreign():
            later = [one for one in commits if one.actor == TEST and one.revision > first.revision]
            soon = [one for one in later if one.at - first.at <= LAG]
            if first.actor != TEST or not soon:
                continue
            end = later[len(soon)].revision if len(later) > len(soon) else commits[-1].revision + 1
            answers = [one for one in self._reference.by_operators() if soon[-1].revision < one.revision < end]
            answers = [one for one in answers if is_compared(one.kind) and _are_near(first, one)]
            if answers:
                yield first, answers[-1]

    def _changed(self) -> Iterator[tuple[Commit, Commit, Sequence[Commit]]]:
        """Changes that the test makes of a watched object, each with what was before it and what operators answer."""
        commits = [one for one in self._reference.commits if not one.rest]
        by_test = [one for one in commits if one.actor == TEST]
        for change in _capped([one for one in by_test if one.kind in self._watched and one.before is not None]):
            earlier = [one for one in commits if _same(one, change) and one.revision < change.revision]
            end = min(
                (one.revision for one in by_test if one.revision > change.revision), default=commits[-1].revision + 1
            )
            answers = [one for one in self._writes if change.revision < one.revision < end]
            if earlier:
                yield earlier[-1], change, answers

    def _marked(self) -> Iterator[tuple[Commit, Commit]]:
        """An object that is marked as deleted, and what comes later: that it is gone, that it is there again, and what
        operators do next.

        A restart that reads the state in between does the work of the deletion again, perhaps to a new object.
        """
        commits = [one for one in self._reference.commits if not one.rest]
        marked = [one for one in commits if one.is_deletion and one.after is not None and one.kind in self._watched]
        for deletion in _capped(marked):
            later = [one for one in commits if one.revision > deletion.revision and _same(one, deletion)]
            gone = next((one for one in later if one.anchor.verb == "delete"), None)
            again = next((one for one in later if one.anchor.verb == "create"), None)
            yield from ((deletion, one) for one in (gone, again) if one is not None)
            since = again or gone
            answers = [one for one in self._writes if since is not None and one.revision > since.revision]
            yield from ((deletion, one) for one in answers[:1] + answers[1:][-1:])

    def _undone(self) -> Iterator[tuple[Commit, Commit]]:
        """Pairs of events of one object, of which the second undoes the first."""
        found = 0
        commits = [one for one in self._reference.commits if one.kind in self._watched and not one.rest]
        for index, first in enumerate(commits):
            for second in commits[index + 1 :]:
                if _same(first, second) and _undoes(first, second):
                    yield first, second
                    found += 1
                    break
            if found >= 12:
                return


def _turns(run: Observation) -> Sequence[Commit]:
    """The writes of operators in a run, and the changes of the test after the first of them."""
    commits = [one for one in run.commits if not one.rest and is_compared(one.kind)]
    first = next((number for number, one in enumerate(commits) if one.by_operator), len(commits))
    return _capped(
        [one for one in commits[first:] if one.by_operator or (one.actor == TEST and one.before is not None)]
    )


def _are_near(first: Commit, second: Commit) -> bool:
    """Whether an atom can last from one change to the other."""
    return second.at - first.at <= LONGEST


def _same(first: Commit, second: Commit) -> bool:
    return (first.kind, first.namespace, first.name) == (second.kind, second.namespace, second.name)


def _is_of(commit: Commit, deletion: Commit) -> bool:
    """Whether a change is one of the object whose reconcile has deleted something."""
    key = f"{commit.namespace}/{commit.name}" if commit.namespace else commit.name
    return key == deletion.key and commit.kind != deletion.kind


def _undoes(first: Commit, second: Commit) -> bool:
    """Whether the second event brings back what was before the first: a field's value, or the object."""
    verbs = (first.anchor.verb, second.anchor.verb)
    if verbs in (("create", "delete"), ("delete", "create")):
        return True
    if verbs != ("update", "update"):
        return False
    return bool(set(first.anchor.fields) & set(second.anchor.fields)) and _content(first.before) == _content(
        second.after
    )


def _content(obj: object) -> object:
    """The spec and the data of an object, or its status if it has neither."""
    if not isinstance(obj, dict):
        return None
    return {name: value for name, value in obj.items() if name not in ("metadata", "status")}


def _combines(first: Atom, second: Atom) -> bool:
    """Whether two atoms are worth a plan: not the same family at the same place."""
    if isinstance(first, Unanchored) or isinstance(second, Unanchored):
        return False
    places = {str(getattr(atom, "at", None) or getattr(atom, "since", None)) for atom in (first, second)}
    return len(places) == 2 or first.name != second.name


def _general(text: str) -> str:
    return re.sub(r"\d+", "0", text)


def _capped(commits: Sequence[Commit]) -> Sequence[Commit]:
    """At most three of one signature: the first two and the last."""
    groups: dict[str, list[Commit]] = {}
    for one in commits:
        groups.setdefault(_general(one.anchor.signature), []).append(one)
    kept = {id(one) for group in groups.values() for one in (group[: _OF_ONE_SIGNATURE - 1] + group[-1:])}
    return [one for one in commits if id(one) in kept]


def _ends_of(anchors: Iterable[Anchor]) -> Sequence[Anchor]:
    """The last anchor of each place: when earlier ones fail, too, the last one is another request."""
    return [*{one.signature: one for one in anchors}.values()]


def _capped_anchors(anchors: Sequence[Anchor]) -> Sequence[Anchor]:
    groups: dict[str, list[Anchor]] = {}
    for one in dict.fromkeys(anchors):
        groups.setdefault(_general(one.signature), []).append(one)
    return [one for group in groups.values() for one in dict.fromkeys([*group[: _OF_ONE_SIGNATURE - 1], *group[-1:]])]
