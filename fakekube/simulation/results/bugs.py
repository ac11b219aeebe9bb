"""The distinct bugs of an exploration: runs that fail by the same oracle, at the same object, for the same cause."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from fakekube.simulation.anchor import Anchor
from fakekube.simulation.atoms import Downgrade, Upgrade
from fakekube.simulation.observation import Violation
from fakekube.simulation.plan import Plan

Key = tuple[str, str, tuple[str, ...]]
"""What makes a bug distinct: the oracle, the object, and the causes, which are the places of the faults."""


def key_of(violation: Violation, plan: Plan) -> Key:
    """The key of what a plan does wrong. Numbers and random parts of names do not count."""
    return violation.oracle, general(violation.target), causes_of(plan)


def keys_of(violation: Violation, plan: Plan) -> Sequence[Key]:
    """The keys of what a plan does wrong. Failures that have one of them in common are one bug.

    Another release mostly leaves the same difference wherever it takes over. With the text of the difference in place
    of the place, these failures are one bug.
    """
    keys = [key_of(violation, plan)]
    changes = [atom for atom in plan.atoms if isinstance(atom, Upgrade | Downgrade)]
    if changes:
        others = causes_of(replace(plan, atoms=tuple(atom for atom in plan.atoms if atom not in changes)))
        texts = [f"{atom.name}: {general(violation.text)}" for atom in changes]
        keys.append((violation.oracle, general(violation.target), (*others, *texts)))
    return keys


def causes_of(plan: Plan) -> tuple[str, ...]:
    """The places at which the atoms of a plan take effect, without occurrences; the names of atoms without a place.

    A crash, a lost answer and a late watch at one write are one cause.
    """
    return tuple(sorted({_cause(atom) for atom in plan.atoms}))


def _cause(atom: object) -> str:
    for name in ("at", "since"):
        place = getattr(atom, name, None)
        if isinstance(place, Anchor):
            return general(place.signature)
    return str(getattr(atom, "name", atom))


def general(text: str) -> str:
    """A text without the numbers in it."""
    return re.sub(r"~?\d+", "0", text)


def unknown(violations: Sequence[Violation], known: Sequence[str]) -> Sequence[Violation]:
    """The violations of which no pattern is in the baseline `known`.

    A failure of the test itself is known with any other of its run: it follows from that.
    """
    new = [one for one in violations if not is_known(one, known)]
    if len(new) < len(violations) and all(one.oracle == "test" for one in new):
        return []
    return new


def is_known(violation: Violation, known: Sequence[str]) -> bool:
    """Whether a shell pattern of the baseline matches the text of a violation."""
    return any(fnmatchcase(str(violation), _escaped(one)) for one in known)


def _escaped(pattern: str) -> str:
    """The pattern, in which brackets are no sets of characters: they stand in paths."""
    return pattern.replace("[", "[[]")
