"""O11's predicates, O12, O13, and the test's own assertions."""

from __future__ import annotations

from collections.abc import Iterator

from fakekube.simulation.observation import Observation, Violation


def predicates(run: Observation) -> Iterator[Violation]:
    """O11: what `always` and `never` demand holds after each commit."""
    for text in run.violations:
        yield Violation("O11", "", text)


def exceptions(reference: Observation, run: Observation) -> Iterator[Violation]:
    """O12: no reconcile raises an exception that is no answer of the server, and no task fails unnoticed."""
    known = {one.error for one in reference.reconciles if one.unexpected}
    for one in run.reconciles:
        if one.unexpected and one.error not in known:
            yield Violation("O12", one.controller, f"reconciling {one.key} raises {one.error}")
    for text in run.lost:
        if text not in reference.lost:
            yield Violation("O12", "", text)


def raised(reference: Observation) -> Iterator[Violation]:
    """O12 of the reference: no reconcile raises an exception that is a defect."""
    known: set[str] = set()
    for one in reference.reconciles:
        if one.unexpected and one.error not in known:
            known.add(one.error)
            yield Violation("O12", one.controller, f"reconciling {one.key} raises {one.error}, without a fault")


def streams(run: Observation) -> Iterator[Violation]:
    """O13: the watch streams of the server are ordered, unique, complete and resumable."""
    for text in run.streams:
        yield Violation("O13", "", text)


def own_assertions(reference: Observation, run: Observation) -> Iterator[Violation]:
    """The test's own failure, under the name `test`, unless it fails without faults where steps are left out."""
    if run.failure and not reference.failure:
        yield Violation("test", "", f"{run.where}: {run.failure}" if run.where else run.failure)
