"""The examples of docs/desks/faults.md."""

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
