"""A lease that another candidate takes: when it may, and what it writes."""

from datetime import UTC, datetime, timedelta

import pytest

from controllerlib import LeaderElection, LeaderElectionOptions
from fakekube.harness.faultinjection.leases import taken
from tests.harness.operators import build, nothing

RENEWED = datetime(2026, 1, 1, 12, 0, 0, 250_000, tzinfo=UTC)
LEASE = {
    "metadata": {"name": "lock"},
    "spec": {
        "holderIdentity": "one",
        "leaseDurationSeconds": 15,
        "acquireTime": "2026-01-01T11:00:00.000000Z",
        "renewTime": "2026-01-01T12:00:00.250000Z",
        "leaseTransitions": 4,
        "strategy": "OldestEmulationVersion",
    },
}
INSTANT = timedelta(microseconds=1)
EXPIRED = RENEWED + timedelta(seconds=15)


def lease(**changes):
    spec = {**LEASE["spec"], **changes}
    return {**LEASE, "spec": {key: value for key, value in spec.items() if value is not None}}


@pytest.mark.parametrize("now", [RENEWED, EXPIRED - timedelta(seconds=1), EXPIRED - INSTANT])
def test_a_valid_lease_is_not_taken(now):
    left = (EXPIRED - now).total_seconds()
    with pytest.raises(ValueError, match=f"the lease of 'one' is valid for another {left:g} s"):
        taken(LEASE, "two", now, unrealistic=False)
    assert taken(LEASE, "two", now, unrealistic=True)["spec"]["holderIdentity"] == "two"


@pytest.mark.parametrize(
    ("before", "now"),
    [
        pytest.param(LEASE, EXPIRED, id="code-1-at-the-end-of-its-duration"),
        pytest.param(LEASE, EXPIRED + INSTANT, id="expired"),
        pytest.param(lease(holderIdentity=""), RENEWED, id="released"),
        pytest.param(lease(holderIdentity=None), RENEWED, id="without-a-holder"),
        pytest.param(lease(renewTime=None), RENEWED, id="never-renewed"),
        pytest.param(lease(leaseDurationSeconds=None), RENEWED, id="without-a-duration"),
    ],
)
def test_any_other_lease_is_taken(before, now):
    after = taken(before, "two", now, unrealistic=False)
    moment = now.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    changed = {
        "holderIdentity": "two",
        "acquireTime": moment,
        "renewTime": moment,
        "leaseTransitions": 5,
        "leaseDurationSeconds": 15,
    }
    assert after == {**before, "spec": {**before["spec"], **changed}}


def test_a_lease_that_nobody_has_held_has_one_transition():
    after = taken({"metadata": {"name": "lock"}}, "two", RENEWED, unrealistic=False)
    assert (after["spec"]["leaseTransitions"], after["spec"]["leaseDurationSeconds"]) == (1, 15)


# --- replicas


def replica(kube, identity, name="lock", namespace="default"):
    return kube.start(
        build(nothing), election=LeaderElection(LeaderElectionOptions(name, namespace, identity=identity))
    )


def test_two_replicas_with_one_identity_are_refused(fakekube):
    """client-go takes the record of the other one for its own, so that both lead."""
    first = replica(fakekube, "one")
    said = (
        r"identity='one': operator 'minder' runs with it and elects a leader with the lease default/lock, so that both"
    )
    with pytest.raises(ValueError, match=said):
        replica(fakekube, "one")
    for other in (("two",), ("one", "other"), ("one", "lock", "kube-system"), ("",), ("",)):
        replica(fakekube, *other)
    fakekube.kill(first)
    again = replica(fakekube, "one")
    again = fakekube.restart(again)
    fakekube.stop(again)
    assert replica(fakekube, "one").is_running
