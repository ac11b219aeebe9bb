"""O1, O4 and O5: a run settles, writes nothing at rest, and does not reconcile much more often than the reference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from fakekube.simulation.observation import Commit, Observation, ReconcileRecord, Violation
from fakekube.simulation.statemask import changed_status, is_compared, is_time

#: A run may reconcile this many times as often as the reference, and this many times more.
FACTOR, MORE = 3, 20

#: So many retries in a row are looked at for growing gaps, which are equal if they differ by so many seconds.
_RETRIES, _EQUAL = 6, 1e-6


def settles(run: Observation) -> Iterator[Violation]:
    """O1: the cluster becomes quiescent."""
    if run.unsettled:
        yield Violation("O1", "", f"does not settle: {run.unsettled}")


def rest(reference: Observation, run: Observation) -> Iterator[Violation]:
    """O4: when everything is reconciled once more, nothing is written that the reference does not write there.

    Nor is a present time, even if the reference writes it there, too, unless the reconcile comes again after a while.
    """
    polled = {(one.controller, one.key) for one in reference.reconciles if one.requeue_after is not None}
    known = {
        one.anchor.signature
        for one in reference.commits
        if one.rest and ((one.controller, one.key) in polled or not _is_of_times(one))
    }
    written = [one for one in run.commits if one.rest and one.by_operator and is_compared(one.kind)]
    for one in _first_of_each(written):
        if one.anchor.signature not in known:
            who = f"{one.controller} reconciling {one.key}" if one.controller else one.actor
            yield Violation("O4", one.anchor.target, f"is written at rest: {one.anchor.signature}, by {who}")


def _is_of_times(commit: Commit) -> bool:
    """Whether nothing but times in the status has changed."""
    if commit.anchor.verb != "update" or not all(field.startswith("status") for field in commit.anchor.fields):
        return False
    changed = changed_status(commit.before, commit.after)
    return bool(changed) and all(is_time(was) and is_time(now) for was, now in changed.values())


def _first_of_each(commits: Sequence[Commit]) -> Iterable[Commit]:
    found: dict[str, Commit] = {}
    for one in commits:
        found.setdefault(one.anchor.signature, one)
    return found.values()


def effort(reference: Observation, run: Observation) -> Iterator[Violation]:
    """O5: at most three times the reference's reconciles of a controller and 20 more, and retries with growing gaps."""
    usual, made = _counted(reference), _counted(run)
    for controller, number in made.items():
        limit = FACTOR * usual[controller] + MORE
        if number > limit:
            text = f"has {number} reconciles, the reference {usual[controller]} (limit {limit})"
            yield Violation("O5", controller, text)
    for (controller, key), records in _by_key(run.reconciles).items():
        if _retries_steadily(records):
            yield Violation("O5", controller, f"retries {key} at constant intervals below a second")


def steady_retries(reference: Observation) -> Iterator[Violation]:
    """O5 of the reference: retries have growing gaps."""
    for (controller, key), records in _by_key(reference.reconciles).items():
        if _retries_steadily(records):
            yield Violation("O5", controller, f"retries {key} at constant intervals below a second, without a fault")


def _counted(run: Observation) -> Counter[str]:
    """The reconciles of each controller that count.

    Those that it has put off by a second or more do not: these poll. Nor do those of an object that is gone, which the
    operator cannot know yet: they go on for as long as its watch is late.
    """
    found: Counter[str] = Counter()
    delays: dict[tuple[str, str], float | None] = {}
    deletions = _deletions(run)
    for one in run.reconciles:
        delay = delays.get((one.controller, one.key))
        polls = one.cause == "requeue_after" and delay is not None and delay >= 1
        if not polls and not _is_gone(one, deletions.get(one.key, ())):
            found[one.controller] += 1
        delays[one.controller, one.key] = one.requeue_after
    return found


def _deletions(run: Observation) -> dict[str, list[Commit]]:
    """The deletions by the key of the object."""
    found: dict[str, list[Commit]] = {}
    for one in run.commits:
        if one.anchor.verb == "delete":
            key = f"{one.namespace}/{one.name}" if one.namespace else one.name
            found.setdefault(key, []).append(one)
    return found


def _is_gone(record: ReconcileRecord, deletions: Sequence[Commit]) -> bool:
    return any(record.seen.get(one.kind, one.revision) < one.revision <= record.first for one in deletions)


def _by_key(records: Sequence[ReconcileRecord]) -> dict[tuple[str, str], list[ReconcileRecord]]:
    found: dict[tuple[str, str], list[ReconcileRecord]] = {}
    for one in records:
        found.setdefault((one.controller, one.key), []).append(one)
    return found


def _retries_steadily(records: Sequence[ReconcileRecord]) -> bool:
    """Whether six retries follow each other, at gaps that are below a second and do not grow."""
    times: list[float] = []
    for one in records:
        if not one.error:
            times = []
        elif one.cause == "retry" and times:
            times.append(one.started)
        else:  # an event, which may come at any time
            times = [one.started]
        gaps = [later - earlier for earlier, later in pairwise(times[-_RETRIES - 1 :])]
        if len(gaps) == _RETRIES and gaps[0] < 1 and all(new <= old + _EQUAL for old, new in pairwise(gaps)):
            return True
    return False
