"""The report of an exploration: what failed, the one line that replays it, both timelines, and what was not tried."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from shlex import quote

from fakekube.harness.records.alignment import align, beside, first_difference
from fakekube.simulation.explorer import Exploration, Failed
from fakekube.simulation.observation import Commit, Observation
from fakekube.simulation.plan import Plan
from fakekube.simulation.results.figures import Share, figures, line_of
from fakekube.simulation.results.runnumber import run_of

#: Assertions about how often something was done, which faults may change.
_COUNTS = re.compile(r"\b(requests|reconciles|count\w*)\(")

#: The names of the two runs that are shown beside each other.
NAMES = ("reference", "run")


def headline(failed: Failed, budget: int) -> str:
    """The violation, in which run it was found, and how far its plan was shrunk."""
    before, after = len(failed.trial.plan.atoms), len(failed.reduced.plan.atoms)
    if not before:
        return f"{failed.violation}      without faults"
    shrunk = f"shrunk {before} atoms -> {after}" if before != after else f"{after} atom{'s' if after != 1 else ''}"
    return f"{failed.violation}      run {run_of(failed.number, budget)}, {shrunk}"


def annotated(failed: Failed, nodeid: str, budget: int) -> str:
    """A bug in the words of an annotation: the headline, and the line that replays it."""
    return "\n".join(_bug(failed, nodeid, budget))


def replay_line(nodeid: str, plan: Plan) -> str:
    """The command that runs a plan again."""
    return f"pytest {quote(nodeid)} --fakekube-plan='{plan}'"


def failure(found: Exploration, failed: Failed, nodeid: str, budget: int) -> str:
    """The whole report of a failed exploration: the first bug with its story, then the others."""
    lines = _bug(failed, nodeid, budget)
    if others := [str(one) for one in failed.also[:3]]:
        lines += ["also:", *(f"  {one}" for one in others)]
    if failed.violation.oracle == "test" and _COUNTS.search(failed.observed.code):
        lines.append("counts that hold only without faults belong under `if fakekube.exploration.calm:`")
    if failed.trial.plan != failed.reduced.plan:
        lines.append(f"found as: {failed.trial.plan}")
    if failed.reduced.clean is not None:
        lines.append(f"passes: {passing(failed.reduced.clean)}")
    if failed.reduced.plan.atoms:
        lines += ["", *side_by_side(failed.reference, failed.observed)]
    more = [one for one in found.bugs if one is not failed]
    if more:
        lines += ["", f"{len(more)} more bug{'s' if len(more) > 1 else ''}:"]
        lines += [line for one in more for line in _bug(one, nodeid, budget)]
    shares = [line_of(figures_of(found))] if found.trials else []
    return "\n".join([*lines, "", *_known(found), *_unmatched(found), *found.coverage.lines(), *shares])


def passing(plan: Plan) -> str:
    """A plan that passes, in the words of a report; one without atoms is not replayed."""
    if plan.atoms:
        return str(plan)
    return " ".join(["without faults", *(f"and without the step {name!r}" for name in plan.skipped)])


def _bug(failed: Failed, nodeid: str, budget: int) -> list[str]:
    """The lines of a bug, without its story."""
    lines = [headline(failed, budget)]
    if failed.reduced.plan.atoms:
        lines.append(f"replay: {replay_line(nodeid, failed.reduced.plan)}")
    if failed.plans:
        lines.append(f"shown by {failed.plans} more plan{'s' if failed.plans > 1 else ''}")
    return lines


def _known(found: Exploration) -> Sequence[str]:
    """What of the baseline was found."""
    return [f"known: {text} ({times} plan{'s' if times > 1 else ''})" for text, times in found.known.items()]


def _unmatched(found: Exploration) -> Sequence[str]:
    """A line with the patterns of the marker that nothing has matched, if there are some."""
    return [f"matched nothing: {', '.join(found.unmatched)}"] if found.unmatched else []


def success(found: Exploration) -> str:
    """A short report of an exploration without a failure."""
    exercised = sum(trial.exercised for trial in found.trials)
    head = f"explored {exercised} plans in {found.runs} runs without a failure"
    head += "; they combine these atoms:" if found.coverage.exercised else ""
    lines = [*found.coverage.lines(), line_of(figures_of(found)), *_known(found), *_unmatched(found)]
    return "\n".join([head, *(f"  {line}" for line in lines)])


def figures_of(found: Exploration) -> Mapping[str, Share]:
    """How much of the test the exploration has perturbed."""
    return figures(found.reference, [plan for trial in found.trials if (plan := trial.effective) is not None])


def properties(found: Exploration) -> Sequence[tuple[str, object]]:
    """The figures of an exploration, as properties of a report in JUnit's format."""
    plans = sum(trial.exercised for trial in found.trials)
    counts = [("runs", found.runs), ("plans", plans), ("bugs", len(found.bugs))]
    shares = [(name, str(share)) for name, share in figures_of(found).items()]
    return [(f"fakekube_{name}", value) for name, value in [*counts, *shares]]


def side_by_side(reference: Observation, run: Observation) -> Sequence[str]:
    """The changes of the reference and of the run beside each other, around the first that differs."""
    left, right = compared(reference.commits), compared(run.commits)
    lines = align([key for _, key in left], [key for _, key in right])
    texts = [[_row(commit) for commit, _ in side] for side in (left, right)]
    return beside(lines, texts[0], texts[1], first_difference(lines), NAMES, "changes")


def compared(commits: Sequence[Commit]) -> Sequence[tuple[Commit, tuple[str, str]]]:
    """The changes that are compared, each with what of it is compared: the actor, the object and the event."""
    return [(one, (one.actor, one.anchor.signature)) for one in commits if not (one.rest or _is_noise(one))]


#: Kinds that say what happened, and the addresses of Services, which the server records at a write of an operator.
_NOT_SHOWN = ("event", "ev", "ip", "ipaddress")


def _is_noise(commit: Commit) -> bool:
    """Whether a change is an Event, a recorded address, or the renewal of a lease."""
    if commit.kind == "lease":
        return commit.anchor.verb == "update" and commit.anchor.fields == ("spec.renewTime",)
    return commit.kind in _NOT_SHOWN


def _row(commit: Commit) -> str:
    who = commit.actor if commit.incarnation < 2 else f"{commit.actor}@{commit.incarnation}"
    return f"{commit.at:>9.3f} {who.removeprefix('operator ')}: {commit.anchor}"
