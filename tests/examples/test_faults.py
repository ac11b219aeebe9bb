"""The examples of docs/desks/faults.md."""

import signal
import threading
from functools import partial

from controllerlib import ApiError, LeaderElectionOptions
from controllerlib.leaderelection import LeaderElection


def pool(name, size):
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"size": str(size)}}


async def reconcile(request, client):
    """Creates a key for each pool, then reports the size that is ready."""
    found = await client.get("v1", "ConfigMap", request.name, namespace=request.namespace)
    key = {"name": f"{request.name}-key", "namespace": request.namespace}
    try:
        await client.create({"apiVersion": "v1", "kind": "Secret", "metadata": key})
    except ApiError as error:
        if error.reason != "AlreadyExists":
            raise
    if found["data"].get("ready") != found["data"]["size"]:
        await client.update({**found, "data": {**found["data"], "ready": found["data"]["size"]}})


def build(manager):
    manager.controller("pool").for_("v1", "ConfigMap").complete(reconcile)


def test_a_conflict_is_retried(fakekube):
    fakekube.apply(pool("a", size=1))
    compete = partial(fakekube.patch, "v1", "ConfigMap", "a", {"data": {"owner": "another"}})
    with fakekube.fault(verb="update", resource="configmaps", before=compete, times=1) as rule:
        controller = fakekube.start(build)["pool"]
        fakekube.advance(1)
    assert rule.hits == 1
    assert [error.reason for error in controller.errors()] == ["Conflict"]
    assert fakekube.get("v1", "ConfigMap", "a")["data"] == {"size": "1", "owner": "another", "ready": "1"}


def test_a_stale_cache(fakekube):
    fakekube.apply(pool("a", size=1))
    operator = fakekube.start(build)
    with fakekube.faults.hold_watches(operator, resource="configmaps"):
        fakekube.patch("v1", "ConfigMap", "a", {"data": {"size": "2"}})
        fakekube.advance(60)
        assert fakekube.get("v1", "ConfigMap", "a")["data"]["ready"] == "1"
    fakekube.settle()
    assert fakekube.get("v1", "ConfigMap", "a")["data"]["ready"] == "2"


def test_a_crash_between_two_writes(fakekube):
    operator = fakekube.start(build)
    plan = fakekube.kill(operator, at="create secret/a-key")
    fakekube.apply(pool("a", size=1))
    fakekube.settle()
    assert plan.hits == 1
    assert not operator.is_running
    assert "ready" not in fakekube.get("v1", "ConfigMap", "a")["data"]
    again = fakekube.restart(operator)
    assert again.incarnation == 2
    assert fakekube.get("v1", "ConfigMap", "a")["data"]["ready"] == "1"
    assert again["pool"].errors() == []


def test_failover(fakekube):
    fakekube.apply(pool("a", size=1))

    def replica(identity):
        election = LeaderElection(LeaderElectionOptions("pool", "default", identity=identity))
        return fakekube.start(build, election=election)

    leader, standby = replica("one"), replica("two")
    fakekube.advance(60)
    fakekube.kill(leader)
    fakekube.advance(30)
    lease = fakekube.get("coordination.k8s.io/v1", "Lease", "pool")
    assert lease["spec"]["holderIdentity"] == "two"
    assert standby["pool"].reconciles() == 1


def test_a_watch_that_ends_early(fakekube):
    with fakekube.faults.disturb_watches(resource="configmaps", cut_after=1, times=1) as rule:
        fakekube.start(build)
        fakekube.apply(pool("a", size=1), pool("b", size=1))
        fakekube.advance(60)
    assert rule.hits == 1
    assert fakekube.get("v1", "ConfigMap", "b")["data"]["ready"] == "1"


def test_an_answer_that_is_cut(fakekube):
    fakekube.apply(pool("a", size=1))
    with fakekube.faults.damage_bodies(verb="update", resource="configmaps", body="cut", times=1):
        controller = fakekube.start(build)["pool"]
        fakekube.advance(1)
    assert controller.results("default/a")[0] == "error"
    assert fakekube.get("v1", "ConfigMap", "a")["data"]["ready"] == "1"


def test_the_server_restarts(fakekube):
    fakekube.start(build)
    fakekube.faults.restart_server(down="30s")
    fakekube.apply(pool("a", size=1))
    fakekube.advance(20)
    assert "ready" not in fakekube.get("v1", "ConfigMap", "a")["data"]
    fakekube.advance(40)
    assert fakekube.get("v1", "ConfigMap", "a")["data"]["ready"] == "1"


def test_the_clock_of_the_server_is_ahead(fakekube):
    fakekube.faults.jump("1h")
    created = fakekube.create(pool("a", size=1))["metadata"]["creationTimestamp"]
    assert created == "2026-01-01T01:00:00Z"
    assert fakekube.clock.now().hour == 0


def test_a_leader_that_was_stopped_writes_late(fakekube):
    fakekube.findings.allow("follower-write", reason="this test makes it happen")
    election = LeaderElection(LeaderElectionOptions("pool", "default", identity="one"))
    leader = fakekube.start(build, election=election)
    fakekube.faults.pause(leader)
    fakekube.advance(60)
    fakekube.faults.take_lease("pool", holder="two")
    fakekube.apply(pool("a", size=1))
    fakekube.faults.resume(leader)
    assert fakekube.get("v1", "ConfigMap", "a")["data"]["ready"] == "1"


def test_an_operator_that_ends_at_a_signal(fakekube):
    ended = threading.Event()

    def main():
        signal.signal(signal.SIGTERM, lambda number, frame: ended.set())
        ended.wait()

    operator = fakekube.thread(main)
    fakekube.faults.signal(operator, signal.SIGTERM)
    assert not operator.is_alive()
