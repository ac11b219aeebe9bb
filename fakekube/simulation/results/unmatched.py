"""The patterns of a marker that nothing has matched in an exploration: they are misspelt, or not needed any more."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from fakekube.simulation.observation import RACE, TEST, Observation, Violation
from fakekube.simulation.results.bugs import is_known
from fakekube.simulation.statemask import is_masked, leaves


class Unmatched:
    """The patterns of `mask`, `expect_delta` and `known` that are left after what was seen.

    A field that a mask names counts as seen also where it does not differ, and so does a creation or deletion whose
    number may differ. Updates, and what the test does itself, are not counted by O3.
    """

    def __init__(self, mask: Iterable[str] = (), expect_delta: Iterable[str] = (), known: Iterable[str] = ()) -> None:
        self._mask, self._deltas, self._known = (list(dict.fromkeys(one)) for one in (mask, expect_delta, known))

    def saw(self, run: Observation) -> None:
        """A run has ended."""
        if self._mask:
            found = [(target, path) for target, obj in run.final.items() for path, _ in leaves(obj)]
            self._mask = [one for one in self._mask if not any(is_masked(one, *leaf) for leaf in found)]
        if self._deltas:
            made = [one.anchor for one in run.commits if one.anchor.verb != "update" and one.actor not in (TEST, RACE)]
            changes = {f"{one.verb} {one.target}" for one in made}
            self._deltas = [one for one in self._deltas if not any(fnmatchcase(change, one) for change in changes)]

    def found(self, violations: Sequence[Violation]) -> Sequence[Violation]:
        """Oracles have failed. Returns the violations."""
        self._known = [one for one in self._known if not any(is_known(each, [one]) for each in violations)]
        return violations

    def texts(self) -> Sequence[str]:
        """The patterns that are left, each with its argument: `mask='spec.siez'`."""
        left = {"mask": self._mask, "expect_delta": self._deltas, "known": self._known}
        return [f"{name}={one!r}" for name, patterns in left.items() for one in patterns]
