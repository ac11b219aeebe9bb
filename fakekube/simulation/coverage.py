"""What an exploration has tried: at which changes, with which faults, and what was never reached."""

from __future__ import annotations

from dataclasses import dataclass, field

from fakekube.simulation.plan import Plan


@dataclass(slots=True)
class Coverage:
    """The distinct atoms that took effect, by name; the plans of which one did not; the number of plans.

    Many plans combine the same few atoms, or differ in their seed alone.
    """

    exercised: dict[str, list[str]] = field(default_factory=dict)
    missed: list[str] = field(default_factory=list)
    unjudged: dict[str, str] = field(default_factory=dict)
    """The plans whose runs real time has decided, and what it has decided in each."""
    plans: int = 0

    def add(self, plan: Plan, exercised: bool, unjudged: str = "") -> None:
        """Count a plan. One whose anchors never fired is not exercised, which is not the same as passed."""
        self.plans += 1
        if unjudged:
            self.unjudged[str(plan)] = unjudged
            return
        if not exercised:
            self.missed.append(str(plan))
            return
        for atom in plan.atoms:
            texts = self.exercised.setdefault(atom.name, [])
            if str(atom) not in texts:
                texts.append(str(atom))

    def lines(self) -> list[str]:
        """A line for each kind of fault with its distinct atoms, and one for what was not exercised."""
        found = [f"{name}: {_atoms(len(texts))} exercised" for name, texts in self.exercised.items()]
        if self.missed:
            found.append(f"not exercised: {len(self.missed)} plans")
        found += [f"not judged: {plan}: {why}" for plan, why in self.unjudged.items()]
        return found

    def include(self, other: Coverage) -> None:
        """Add what another shard has tried."""
        self.plans += other.plans
        self.missed += other.missed
        self.unjudged |= other.unjudged
        for name, texts in other.exercised.items():
            mine = self.exercised.setdefault(name, [])
            mine += [text for text in texts if text not in mine]


def _atoms(count: int) -> str:
    return f"{count} distinct atom{'s' if count != 1 else ''}"
