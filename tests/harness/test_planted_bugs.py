"""Typical defects of operators, and the detectors that report them without an assertion of the test."""

import pytest

from controllerlib.leaderelection import LeaderElection, LeaderElectionOptions
from fakekube import FakeKube, FindingError, HotLoop
from fakekube.harness.engine import engine_of
from tests.harness.planted import API, CRD, build, database


def life(kube, bug):
    """A simple test without any assertion: a database is created, resized and deleted."""
    kube.apply(CRD, database())
    kube.start(build(bug))
    kube.advance(60)
    kube.patch(API, "Database", "a", {"spec": {"size": 2}})
    kube.advance(60)
    kube.delete(API, "Database", "a")
    kube.advance(5)


def creation(kube, bug):
    """The smallest test."""
    kube.apply(CRD, database())
    kube.start(build(bug))


def conflict(kube, bug):
    """Another client is faster."""
    kube.apply(CRD, database())
    kube.start(build(bug))
    kube.advance(10)
    with kube.fault(verb="update", resource="databases", error=409, times=1):
        kube.advance(60)


def lag(kube, bug):
    """The watch of the children is down for a while."""
    kube.apply(CRD)
    kube.start(build(bug))
    kube.advance(5)
    with kube.fault(verb="watch", resource="configmaps", error=503):
        kube.faults.cut_watches()
        kube.apply(database())
        kube.advance(5)
        kube.patch(API, "Database", "a", {"spec": {"size": 2}})
        kube.advance(5)
    kube.advance(60)


def replicas(kube, bug):
    """Two replicas run, one of which leads."""
    kube.apply(CRD)
    for name in ("one", "two"):
        options = LeaderElectionOptions(name="planted", namespace="default", identity=name)
        kube.start(build(bug), election=LeaderElection(options))
    kube.apply(database())
    kube.advance(5)


#: The defect, the detector that reports it, and what the test does.
TABLE = {
    "status hot loop with a counter": ("hot-loop", life),
    "status written unchanged": ("noop-write", life),
    "child written unchanged": ("noop-write", life),
    "cache mutation": ("cache-mutation", life),
    "conflict ignored": ("ignored-conflict", conflict),
    "finalizer never removed": ("stuck-finalizer", life),
    "stale cache and duplicate children": ("duplicate-child", lag),
    "owner reference missing": ("missing-owner", life),
    "NotFound raised": ("reconcile-error", life),
    "writes by a non-leader": ("follower-write", replicas),
    "wrong order of writes": ("late-finalizer", life),
    "blocking sleep": ("blocking-call", life),
    "status hot loop with a timestamp": ("timestamp-loop", creation),
    "status through the main resource": ("ignored-status", life),
    "unawaited coroutine": ("unawaited-coroutine", life),
    "leaked task": ("leaked-task", life),
    "leaked failing task": ("failed-task", life),
    "swallowed CancelledError": ("swallowed-cancellation", life),
}

#: What is reported beside the defect itself, and is true as well.
ALSO = {
    "blocking sleep": {"reconcile-error"},
    "status through the main resource": {"noop-write"},
    "stale cache and duplicate children": set(),
    "wrong order of writes": {"leaked-child"},
}


def findings(run, bug, **options):
    """The findings of a test, errors and warnings."""
    with FakeKube(**options) as kube:
        try:
            run(kube, bug)
            engine_of(kube).check_findings(warn=lambda warning: None)
        except FindingError:
            pass
        except HotLoop:
            engine_of(kube).check_findings(raising=False)
            return ["hot-loop", *(one.detector for one in kube.findings)]
        return [one.detector for one in kube.findings]


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited")
@pytest.mark.parametrize("bug", TABLE)
def test_a_planted_bug_is_reported_without_an_assertion(bug, caplog):
    detector, run = TABLE[bug]
    found = findings(run, bug)
    assert detector in found
    assert set(found) - ALSO.get(bug, set()) == {detector}  # nothing else, which would mislead


@pytest.mark.parametrize("run", [life, conflict, lag, replicas])
def test_the_correct_operator_has_no_findings(run):
    assert findings(run, "") == []


@pytest.mark.slow
@pytest.mark.parametrize("bug", ["missed requeue", "wrong predicate"])
def test_a_missed_reconcile_is_reported_where_everything_is_reconciled_once_more(bug):
    def no_event(kube, bug):
        kube.apply(CRD, database())
        kube.start(build(bug))
        kube.patch(API, "Database", "a", {"spec": {"size": 2}})
        kube.advance(60)

    assert set(findings(no_event, bug)) == {"writes-at-rest"}
    assert findings(no_event, "") == []
    assert findings(no_event, bug, detect={"writes-at-rest": "off"}) == []


def test_a_missed_requeue_is_reported_when_a_resync_repairs_it():
    def resynced(kube, bug):
        kube.apply(CRD, database())
        kube.start(build(bug))
        kube.patch(API, "Database", "a", {"spec": {"size": 2}})
        kube.advance(hours=11)

    assert findings(resynced, "missed requeue") == ["resync-write"]
    assert findings(resynced, "") == []
