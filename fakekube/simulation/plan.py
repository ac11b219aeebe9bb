"""Plans: the faults of one run, as one line of text that replays it (`--fakekube-plan`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any
from urllib.parse import quote, unquote

from fakekube.simulation.anchor import Anchor, resolved_target
from fakekube.simulation.atoms import Atom, parse_atom
from fakekube.simulation.bounds import Bounds
from fakekube.simulation.lastspec import Intents, Step
from fakekube.simulation.releases import Releases

#: The version of the text's format.
FORMAT = "FK1"


@dataclass(frozen=True, slots=True)
class Plan:
    """A seed, from which orders are drawn, and the atoms. `skipped`: the test's steps, by name, that are left out.

    `intents`, `last_step`: of the reference, for `fresh` and `rollback`. `bounds`: what the run may do (None: no
    limit). `releases`: of the operator, for `upgrade`, `downgrade` and `old`. They are no part of the text.
    """

    seed: int = 0
    atoms: tuple[Atom, ...] = ()
    skipped: tuple[str, ...] = ()
    intents: Intents | None = field(default=None, compare=False, repr=False)
    last_step: Step | None = field(default=None, compare=False, repr=False)
    bounds: Bounds | None = field(default=None, compare=False, repr=False)
    releases: Releases | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        parts = [f"{FORMAT} seed={self.seed}"]
        if self.skipped:
            parts.append(f"skip={','.join(quote(name, safe='') for name in self.skipped)}")
        if self.atoms:
            parts.append(" + ".join(map(str, self.atoms)))
        return " ".join(parts)

    def without(self, index: int) -> Plan:
        """The plan without one atom."""
        return replace(self, atoms=self.atoms[:index] + self.atoms[index + 1 :])

    def changed(self, index: int, atom: Atom) -> Plan:
        """The plan with another atom in the place of one."""
        return replace(self, atoms=(*self.atoms[:index], atom, *self.atoms[index + 1 :]))

    def unknown_steps(self, steps: Sequence[str]) -> str:
        """What is wrong with the steps that are left out, or nothing. `steps`: the names of those of the test."""
        unknown = ", ".join(repr(name) for name in self.skipped if name not in steps)
        known = f"its steps are {', '.join(map(repr, steps))}" if steps else "it has no steps"
        return f"skip: the test has no step {unknown}; {known}" if unknown else ""

    def resolved(self, kinds: Mapping[str, str]) -> Plan:
        """The plan with anchors as runs record them. `kinds`: the name of each kind by all its names."""
        return replace(self, atoms=tuple(_resolved(atom, kinds) for atom in self.atoms))


def _resolved(atom: Atom, kinds: Mapping[str, str]) -> Atom:
    found: dict[str, Any] = {}
    for one in fields(atom):
        value = getattr(atom, one.name)
        if isinstance(value, Anchor):
            found[one.name] = value.resolved(kinds)
        elif one.name == "kind":
            found[one.name] = kinds.get(value.lower(), value)
        elif one.name in ("pod", "target"):
            found[one.name] = resolved_target(value, kinds)
    return replace(atom, **found)


def parse_plan(text: str) -> Plan:
    """The plan of a text like `FK1 seed=17 crash@delete sts/a#1`. Raises ValueError."""
    head, _, rest = text.strip().partition(" ")
    if head != FORMAT:
        raise ValueError(f"plan {text!r}: expected a text that starts with {FORMAT!r}")
    seed = 0
    skipped: tuple[str, ...] = ()
    while rest.startswith(("seed=", "skip=")):
        setting, _, rest = rest.partition(" ")
        name, _, value = setting.partition("=")
        if name == "seed":
            if not value.isdigit():
                raise ValueError(f"plan {text!r}: the seed {value!r} is no number")
            seed = int(value)
        else:
            skipped = tuple(map(unquote, value.split(",")))
    atoms = tuple(parse_atom(part) for part in rest.split(" + ")) if rest.strip() else ()
    return Plan(seed, atoms, skipped)


def parse_faults(text: str) -> Plan:
    """The plan of a text, which must have an atom: without one it is a run without faults. Raises ValueError."""
    found = parse_plan(text)
    if not found.atoms:
        raise ValueError(f"plan {text!r} has no atom, so that nothing would be tried: FK1 seed=0 crash@create cm/a#1")
    return found
