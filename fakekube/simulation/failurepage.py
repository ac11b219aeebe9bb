"""The page of a plan: the reference and the run under its faults beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from fakekube.harness.records.entrykeys import is_mark
from fakekube.harness.records.timelinecomparison import TimelineComparison
from fakekube.simulation.observation import Observation, Violation
from fakekube.simulation.plan import Plan
from fakekube.simulation.report import NAMES, compared, passing, replay_line


@dataclass(frozen=True, slots=True)
class PlanResult:
    """The two runs of a plan, recorded with their timelines, what is wrong, and a smaller plan that passes."""

    plan: Plan
    reference: Observation
    observed: Observation
    violations: Sequence[Violation]
    clean: Plan | None = None


def comparison_of(found: PlanResult) -> TimelineComparison:
    """The timelines of both runs, aligned by the changes that the text report aligns."""
    documents = [orjson.loads(one.timeline) for one in (found.reference, found.observed)]
    changes = [
        [(commit.revision, key) for commit, key in compared(one.commits) if not commit.is_external]
        for one in (found.reference, found.observed)
    ]
    return TimelineComparison.of(documents[0], documents[1], names=NAMES, changes=(changes[0], changes[1]))


def write_page(path: Path, found: PlanResult, nodeid: str) -> Path:
    """Write the page of a plan. Returns its path."""
    comparison = comparison_of(found)
    above = {
        "violations": [str(one) for one in found.violations],
        "replay": replay_line(nodeid, found.plan),
        "passes": "" if found.clean is None else passing(found.clean),
        "atoms": _atoms(found.plan, comparison.document()["entries"]),
    }
    title = f"{nodeid} {'failed' if found.violations else 'passed'}"
    return comparison.page(path, {"title": title, "comparison": above})


def _atoms(plan: Plan, entries: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
    """The text of each atom, and the serial of the entry where it took effect (0: it did not)."""
    marks = {dict(one["facts"])["atom"]: one["serial"] for one in entries if is_mark(one) and one["side"]}
    return [{"text": str(atom), "serial": marks.get(str(number), 0)} for number, atom in enumerate(plan.atoms)]
