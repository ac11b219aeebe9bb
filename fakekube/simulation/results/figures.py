"""How much of a test an exploration has perturbed: at how many of its writes, reads and watches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from fakekube.simulation.anchor import Anchor
from fakekube.simulation.atoms import Atom, Crash, Downgrade, Failure, Gap, Hold, Lost, Stale, Upgrade
from fakekube.simulation.observation import Observation
from fakekube.simulation.plan import Plan
from fakekube.simulation.statemask import is_compared

#: Reads of operators, as verbs of anchors.
_READS = ("get", "list")


@dataclass(frozen=True, slots=True)
class Share:
    """How many of how many."""

    tried: int
    of: int

    def __str__(self) -> str:
        return f"{self.tried} of {self.of}"


def figures(reference: Observation, plans: Iterable[Plan]) -> Mapping[str, Share]:
    """What the plans that took effect have perturbed of what operators do in the reference.

    `crashes`, `losses`, `failures`: writes after which they were killed, whose answers were lost, and that failed.
    `reads`: reads that failed. `watches`: kinds whose watch was late, closed or stale. What happens without faults is
    counted; Events and leases are not.
    """
    atoms: Sequence[Atom] = [atom for plan in plans for atom in plan.atoms]
    commits = [one for one in reference.by_operators() if is_compared(one.kind)]
    writes = {str(one.anchor) for one in commits}
    inside = {str(one.anchor) for one in commits if not one.is_external}
    reads, watched = set(map(str, reference.reads)), {one.kind for one in reference.deliveries if is_compared(one.kind)}
    late = {atom.kind for atom in atoms if isinstance(atom, Hold | Gap | Stale)}
    failing = [atom.at for atom in atoms if isinstance(atom, Failure)]
    crashes = [atom.at for atom in atoms if isinstance(atom, Crash | Upgrade | Downgrade)]
    return {
        "crashes": _share(crashes, writes),
        "losses": _share([atom.at for atom in atoms if isinstance(atom, Lost)], inside),
        "failures": _share([one for one in failing if one.verb not in _READS], inside),
        "reads": _share([one for one in failing if one.verb in _READS], reads),
        "watches": Share(len(late & watched), len(watched)),
    }


def _share(anchors: Iterable[Anchor], known: set[str]) -> Share:
    return Share(len({str(one) for one in anchors} & known), len(known))


def line_of(found: Mapping[str, Share]) -> str:
    """The figures in a line."""
    return (
        f"crashed after {found['crashes']} writes, lost the answers of {found['losses']}, failed {found['failures']}; "
        f"failed {found['reads']} reads; delayed the watches of {found['watches']} kinds"
    )
