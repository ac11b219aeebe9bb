"""What a real cluster can do: a plan that breaks one of these rules is refused, with the rule's name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from fakekube.simulation.anchor import CALL, EXTERNAL, Anchor
from fakekube.simulation.atoms import (
    Atom,
    Crash,
    Downgrade,
    Drain,
    Failure,
    Fresh,
    Gap,
    Hold,
    Hook,
    Jump,
    Late,
    Lose,
    Lost,
    NodeFault,
    Old,
    Pause,
    Race,
    Rollback,
    SpecChange,
    Stale,
    Upgrade,
    Zombie,
)
from fakekube.simulation.plan import Plan


class IllegalPlan(ValueError):
    """A plan that no real cluster could produce. `rule`: the name of the rule that it breaks."""

    def __init__(self, rule: str, text: str) -> None:
        super().__init__(f"{rule}: {text}")
        self.rule: str = rule


@dataclass(frozen=True, slots=True)
class Facts:
    """What the rules need to know of a test.

    lists_from_cache: kinds that operators list with resourceVersion=0. lease: the seconds of the longest lease, 0
    without leader election. webhooks: whether webhooks are called.

    releases: whether there is an old release of the operator. nodes: whether kubelets run. kinds: the names of kinds in
    anchors, by all their names.
    """

    lists_from_cache: frozenset[str] = field(default_factory=frozenset)
    lease: float = 0.0
    webhooks: bool = False
    releases: bool = False
    nodes: bool = False
    kinds: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)


#: The codes that a server can answer to any request, whatever its state.
CODES = frozenset({429, 500, 503, 504})


def _stale_reads(atom: Atom, facts: Facts) -> str:
    if isinstance(atom, Stale) and atom.kind not in facts.lists_from_cache:
        return f"{atom}: no operator lists {atom.kind} with resourceVersion=0, and other reads are never stale"
    return ""


def _real_conflict(atom: Atom, facts: Facts) -> str:
    if isinstance(atom, Failure) and atom.code == 409:
        return f"{atom}: 409 only comes from a real competing write, which is race@{atom.at}"
    return ""


def _compacted(atom: Atom, facts: Facts) -> str:
    if isinstance(atom, Failure) and atom.code == 410:
        return f"{atom}: 410 only comes below the compaction floor, which is gap({atom.at.kind}, ...)"
    return ""


def _any_request(atom: Atom, facts: Facts) -> str:
    if isinstance(atom, Failure) and atom.code not in (*CODES, 409, 410):
        return f"{atom}: a server answers {atom.code} for a reason; the codes for none are {sorted(CODES)}"
    return ""


def _own_order(atom: Atom, facts: Facts) -> str:
    if isinstance(atom, Hold | Gap) and atom.since == atom.until:
        return f"{atom}: ends where it begins"
    if isinstance(atom, Hold | Gap) and atom.since.kind != atom.kind:
        return f"{atom}: the watch of {atom.kind} has no event of {atom.since.kind}"
    return ""


def _one_leader(atom: Atom, facts: Facts) -> str:
    if isinstance(atom, Zombie) and not facts.lease:
        return f"{atom}: no operator takes part in leader election"
    return ""


def _hook_is_called(atom: Atom, facts: Facts) -> str:
    if isinstance(atom, Hook) and not facts.webhooks:
        return f"{atom}: no webhook is configured"
    return ""


def _forward(atom: Atom, facts: Facts) -> str:
    if isinstance(atom, Jump) and atom.seconds <= 0:
        return f"{atom}: the clock of the cluster does not go back"
    return ""


def _positive(atom: Atom, facts: Facts) -> str:
    if isinstance(atom, Failure) and atom.times < 1:
        return f"{atom}: fails {atom.times} times"
    return ""


def _two_releases(atom: Atom, facts: Facts) -> str:
    if isinstance(atom, Upgrade | Downgrade | Old) and not facts.releases:
        return f"{atom}: there is no old release: @pytest.mark.fakekube_explore(upgrade=(old, new))"
    return ""


def _pods_of_nodes(atom: Atom, facts: Facts) -> str:
    if not isinstance(atom, NodeFault):
        return ""
    if not facts.nodes:
        return f"{atom}: no kubelet runs, so that no pod is on a node: @pytest.mark.fakekube(nodes=1)"
    if not atom.pod.startswith("pod/"):
        return f"{atom}: {atom.pod!r} is no pod, expected pod/NAME"
    return f"{atom}: lasts {atom.seconds} s" if isinstance(atom, Drain | Lose) and atom.seconds < 1 else ""


def _fields(atom: Atom, facts: Facts) -> str:
    if isinstance(atom, SpecChange) and not ("/" in atom.target and atom.path.startswith("spec.")):
        return f"{atom}: expected a field of the spec of an object, like change(store/a, spec.size=3)"
    return ""


def _reads_change_nothing(atom: Atom, facts: Facts) -> str:
    at = getattr(atom, "at", None)
    if at is not None and at.verb in ("get", "list") and not isinstance(atom, Failure | Late):
        return f"{atom}: a read commits nothing; only error and late are anchored at one"
    return ""


def _external_calls(atom: Atom, facts: Facts) -> str:
    anchors = [getattr(atom, name, None) for name in ("at", "since", "when")]
    if any(isinstance(one, Anchor) and one.verb == CALL for one in anchors):
        fails = isinstance(atom, Failure | Lost | Late) and atom.at.kind == EXTERNAL
        return "" if fails else f"{atom}: only error, lost and late are anchored at a call to an external API"
    if any(isinstance(one, Anchor) and one.kind == EXTERNAL for one in anchors) and not isinstance(
        atom, Crash | Pause | Jump | Upgrade | Downgrade
    ):
        return f"{atom}: the server has no part in a change of an external API; crash, down, pause and jump follow one"
    return ""


#: The rules by name; each returns what is wrong with an atom, or nothing.
RULES: Mapping[str, Callable[[Atom, Facts], str]] = {
    "stale-reads": _stale_reads,
    "conflict-needs-a-writer": _real_conflict,
    "gone-needs-compaction": _compacted,
    "errors-need-a-reason": _any_request,
    "watches-keep-their-order": _own_order,
    "one-leader": _one_leader,
    "hooks-are-called": _hook_is_called,
    "time-goes-forward": _forward,
    "at-least-once": _positive,
    "upgrades-need-releases": _two_releases,
    "nodes-run-pods": _pods_of_nodes,
    "changes-are-of-specs": _fields,
    "reads-commit-nothing": _reads_change_nothing,
    "external-apis-are-outside": _external_calls,
}


def broken_rules(plan: Plan, facts: Facts) -> Iterator[tuple[str, str]]:
    """The rules that a plan breaks, with the reason."""
    for atom in plan.atoms:
        for name, rule in RULES.items():
            if text := rule(atom, facts):
                yield name, text
    yield from _overlapping(plan.atoms)


def _overlapping(atoms: Sequence[Atom]) -> Iterator[tuple[str, str]]:
    kinds = [atom.kind for atom in atoms if isinstance(atom, Hold | Gap)]
    for kind in dict.fromkeys(kinds):
        if kinds.count(kind) > 1:
            yield "one-lag-a-watch", f"two atoms delay the watch of {kind}"
    whole = [atom for atom in atoms if isinstance(atom, Fresh | Rollback | Old)]
    if whole and len(atoms) > 1:
        yield "whole-runs-stand-alone", f"{whole[0]} is combined with other atoms"
    if sum(isinstance(atom, Upgrade | Downgrade) for atom in atoms) > 1:
        yield "one-change-of-the-release", "the release changes twice"
    down = [atom for atom in atoms if isinstance(atom, Crash | Pause) and atom.until is not None]
    if len(down) > 1:
        yield "down-once", "the operator is down twice"


def check_legal(plan: Plan, facts: Facts) -> None:
    """Raises IllegalPlan for the first rule that the plan breaks."""
    for name, text in broken_rules(plan, facts):
        raise IllegalPlan(name, text)


__all__ = ["CODES", "RULES", "Facts", "IllegalPlan", "Race", "broken_rules", "check_legal"]
