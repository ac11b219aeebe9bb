"""The report of an exploration: what failed, the one line that replays it, both timelines, and what was not tried."""

from __future__ import annotations

from collections.abc import Sequence
from shlex import quote

from fakekube.harness.records.alignment import align, beside, first_difference
from fakekube.simulation.explorer import Exploration, Failed
from fakekube.simulation.observation import Commit, Observation
from fakekube.simulation.plan import Plan

#: The names of the two runs that are shown beside each other.
NAMES = ("reference", "run")


def headline(failed: Failed, budget: int) -> str:
    """The violation, after how many runs it was found, and how far it was shrunk."""
    before, after = len(failed.trial.plan.atoms), len(failed.reduced.plan.atoms)
    shrunk = f"shrunk {before} atoms -> {after}" if before != after else f"{after} atom{'s' if after != 1 else ''}"
    return f"{failed.violation}      {failed.number}/{budget} runs, {shrunk}"


def replay_line(nodeid: str, plan: Plan) -> str:
    """The command that runs a plan again."""
    return f"pytest {quote(nodeid)} --fakekube-plan='{plan}'"


def failure(found: Exploration, failed: Failed, nodeid: str, budget: int) -> str:
    """The whole report of a failed exploration."""
    lines = [headline(failed, budget), f"replay: {replay_line(nodeid, failed.reduced.plan)}"]
    if others := [str(one) for one in failed.trial.violations[1:4]]:
        lines += ["also:", *(f"  {one}" for one in others)]
    if failed.violation.oracle == "test":
        lines.append("what the test demands only without faults belongs under `if fakekube.exploration.calm:`")
    lines.append(f"found as: {failed.trial.plan}")
    if failed.reduced.clean is not None:
        lines.append(f"passes: {failed.reduced.clean}")
    lines += ["", *side_by_side(found.reference, failed.observed), "", *found.coverage.lines()]
    return "\n".join(lines)


def success(found: Exploration) -> str:
    """A short report of an exploration without a failure."""
    exercised = sum(trial.exercised for trial in found.trials)
    head = f"explored {exercised} plans in {found.runs} runs without a failure"
    head += "; they combine these atoms:" if found.coverage.exercised else ""
    return "\n".join([head, *(f"  {line}" for line in found.coverage.lines())])


def side_by_side(reference: Observation, run: Observation) -> Sequence[str]:
    """The changes of the reference and of the run beside each other, around the first that differs."""
    left, right = compared(reference.commits), compared(run.commits)
    lines = align([key for _, key in left], [key for _, key in right])
    texts = [[_row(commit) for commit, _ in side] for side in (left, right)]
    return beside(lines, texts[0], texts[1], first_difference(lines), NAMES, "changes")


def compared(commits: Sequence[Commit]) -> Sequence[tuple[Commit, tuple[str, str]]]:
    """The changes that are compared, each with what of it is compared: the actor, the object and the event."""
    return [(one, (one.actor, one.anchor.signature)) for one in commits if not one.rest]


def _row(commit: Commit) -> str:
    who = commit.actor if commit.incarnation < 2 else f"{commit.actor}@{commit.incarnation}"
    return f"{commit.at:>9.3f} {who.removeprefix('operator ')}: {commit.anchor}"
