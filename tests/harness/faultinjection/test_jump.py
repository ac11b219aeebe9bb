"""Wall clocks that jump: of the server's machine, or of an operator's."""

from datetime import timedelta

import pytest

from controllerlib import LeaderElectionOptions
from controllerlib.leaderelection import LeaderElection
from tests.harness.operators import build, config_map, every


def created(fakekube, name):
    return fakekube.create(config_map(name))["metadata"]["creationTimestamp"]


def test_the_clock_of_the_server_jumps(fakekube):
    assert created(fakekube, "a") == "2026-01-01T00:00:00Z"
    fakekube.faults.jump("1h")
    assert created(fakekube, "b") == "2026-01-01T01:00:00Z"
    fakekube.faults.jump(timedelta(hours=-2))
    assert created(fakekube, "c") == "2025-12-31T23:00:00Z"
    assert fakekube.clock.now().isoformat() == "2026-01-01T00:00:00+00:00"


def test_timers_do_not_jump(fakekube):
    fakekube.apply(config_map("a"))
    operator = fakekube.start(build(every(60)))
    fakekube.faults.jump("1h")
    fakekube.faults.jump("1h", operator)
    assert operator["minder"].reconciles() == 1
    fakekube.advance(60)
    assert operator["minder"].reconciles() == 2


def test_the_clock_of_one_operator_jumps(fakekube):
    moments = []

    def noting(manager):
        async def reconcile(request):
            moments.append(manager.clock.now().isoformat()[11:19])

        manager.controller("minder").for_("v1", "ConfigMap").complete(reconcile)

    one, _ = fakekube.start(noting), fakekube.start(noting)
    fakekube.faults.jump(-60, one)
    fakekube.apply(config_map("a"))
    fakekube.settle()
    assert moments == ["23:59:00", "00:00:00"]
    assert created(fakekube, "b") == "2026-01-01T00:00:00Z"


def test_a_candidate_with_a_wrong_clock_does_not_take_a_valid_lease(fakekube):
    """Candidates compare their own times of observation, not the times in the lease."""
    fakekube.apply(config_map("a"))

    def replica(identity):
        election = LeaderElection(LeaderElectionOptions("minder", "default", identity=identity))
        return fakekube.start(build(every(60)), election=election)

    replica("one")
    other = replica("two")
    fakekube.faults.jump("1h", other)
    fakekube.advance(minutes=5)
    lease = fakekube.get("coordination.k8s.io/v1", "Lease", "minder")
    assert lease["spec"]["holderIdentity"] == "one"


def test_only_the_clock_of_an_operator_can_jump(fakekube):
    with pytest.raises(TypeError, match="jump\\(\\) takes an operator"):
        fakekube.faults.jump("1h", "minder")
    with pytest.raises(ValueError, match="not a duration"):
        fakekube.faults.jump("soon")
