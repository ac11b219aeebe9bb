"""Shrinks a failing plan: fewer atoms, fewer steps, simpler parameters, order back to first in, first out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from fakekube.simulation.anchor import CALL
from fakekube.simulation.atoms import Atom, Crash, Failure, Hold, Lost, Order
from fakekube.simulation.plan import Plan

#: At most so many runs.
LIMIT = 60


@dataclass(frozen=True, slots=True)
class Reduced:
    """The smallest plan that was found, and after how many runs. `clean`: the last smaller one that passed, if any."""

    plan: Plan
    runs: int
    clean: Plan | None = None


def reduce(plan: Plan, fails: Callable[[Plan], bool], steps: Sequence[str] = (), limit: int = LIMIT) -> Reduced:
    """The smallest plan that still fails.

    `fails(plan)` runs a plan and returns whether the same oracle fails on the same object. `steps`: the names of the
    test's steps, which are left out from the last one on. Atoms come first (delta debugging by halves), then steps,
    and atoms once more if a step was left out, then parameters, then the order.
    """
    search = _Search(plan, fails, limit)
    search.fewest_atoms()
    search.skip_steps(steps)
    if search.plan.skipped != plan.skipped:
        search.drop_atoms(least=1)
    search.try_each(_simpler)
    search.try_each(_in_order)
    return Reduced(search.plan, search.runs, search.clean)


def fewest_atoms(plan: Plan, fails: Callable[[Plan], bool], limit: int = LIMIT) -> Reduced:
    """The plan with the fewest atoms that still fails, one of them if there is one that fails alone."""
    search = _Search(plan, fails, limit)
    search.fewest_atoms()
    return Reduced(search.plan, search.runs, search.clean)


class _Search:
    def __init__(self, plan: Plan, fails: Callable[[Plan], bool], limit: int) -> None:
        self.plan, self._fails, self._limit = plan, fails, limit
        self.runs = 0
        self.clean: Plan | None = None
        self._known: dict[str, bool] = {}

    def _accept(self, candidate: Plan) -> bool:
        """Take a candidate if it fails too."""
        text = str(candidate)
        if text == str(self.plan):
            return False
        if text not in self._known:
            if self.runs >= self._limit:
                return False
            self.runs += 1
            self._known[text] = self._fails(candidate)
        if self._known[text]:
            self.plan = candidate
        else:
            self.clean = candidate
        return self._known[text]

    def fewest_atoms(self) -> None:
        """Leave out as many atoms as possible, all but one if there is one that fails alone."""
        atoms = self.plan.atoms
        self.drop_atoms()
        self.one_atom(atoms)

    def drop_atoms(self, least: int = 0) -> None:
        """Leave out atoms by halves, as long as there are more than `least`."""
        size = max(1, len(self.plan.atoms) // 2)
        while len(self.plan.atoms) > least:
            atoms = self.plan.atoms
            chunks = range(0, len(atoms), size)
            if any(self._accept(replace(self.plan, atoms=atoms[:at] + atoms[at + size :])) for at in reversed(chunks)):
                continue
            if size == 1:
                return
            size //= 2

    def one_atom(self, atoms: Sequence[Atom]) -> None:
        """If several are left, try each of all atoms alone: those that fail together may hide one that fails alone."""
        if len(self.plan.atoms) > 1:
            clean = self.clean
            is_one = any(self._accept(replace(self.plan, atoms=(atom,))) for atom in atoms)
            self.clean = None if is_one else clean  # others that passed are no part of this plan
            if is_one:
                self.drop_atoms()

    def skip_steps(self, steps: Sequence[str]) -> None:
        for name in reversed(steps):
            self._accept(replace(self.plan, skipped=(*self.plan.skipped, name)))

    def try_each(self, simpler: Callable[[Atom], Iterator[Atom | None]]) -> None:
        for index in range(len(self.plan.atoms) - 1, -1, -1):
            for candidate in simpler(self.plan.atoms[index]):
                plan = self.plan.without(index) if candidate is None else self.plan.changed(index, candidate)
                if self._accept(plan):
                    break


def _simpler(atom: Atom) -> Iterator[Atom | None]:
    """Simpler forms of an atom, the simplest first."""
    if isinstance(atom, Crash) and atom.until is not None:
        yield Crash(atom.at)
    if isinstance(atom, Lost) and atom.at.verb != CALL:
        yield Crash(atom.at)
    if isinstance(atom, Failure) and (atom.code, atom.times) != (503, 1):
        yield Failure(atom.at)
        yield Failure(atom.at, atom.code)
    if isinstance(atom, Hold) and atom.until != "reconcile":
        yield Hold(atom.kind, atom.since, "reconcile")
    first = getattr(atom, "at", None)
    if first is not None and first.occurrence > 1:
        yield replace(atom, at=replace(first, occurrence=1))


def _in_order(atom: Atom) -> Iterator[Atom | None]:
    if isinstance(atom, Order):
        yield None
