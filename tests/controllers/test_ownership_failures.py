"""Adoption and release when the server disagrees with the cache (`ControllerRefManager`), through a ReplicaSet."""

import pytest

from tests.controllers.test_ownership import begin, orphan, owner_of
from tests.controllers.test_replicaset import replica_set
from tests.controllers.workloads import pods

pytestmark = pytest.mark.fakekube(controllers=["replicaset"])


def errors(fakekube):
    return [str(error) for error in fakekube.controllers["replicaset"].errors("default/web")]


def delete_before_adoption(fakekube, change):
    """Let `change` happen after the ReplicaSet was read from the cache and before it is read at the server."""
    fakekube.create(orphan())
    fakekube.fault(verb="get", resource="replicasets", times=1, before=change)
    begin(fakekube, 1)


def test_a_replica_set_that_is_gone_adopts_nothing(fakekube):
    delete_before_adoption(fakekube, lambda: fakekube.delete("apps/v1", "ReplicaSet", "web"))
    assert owner_of(fakekube, "orphan") == []
    assert not fakekube.requests(verb="patch", resource="pods")


def test_a_replica_set_of_that_name_that_is_another_one_adopts_by_itself(fakekube):
    def replace():
        fakekube.delete("apps/v1", "ReplicaSet", "web")
        fakekube.create(replica_set(1))

    delete_before_adoption(fakekube, replace)
    fakekube.advance("1s")
    found = fakekube.get("apps/v1", "ReplicaSet", "web")["metadata"]["uid"]
    pod = fakekube.get("v1", "Pod", "orphan")["metadata"]
    assert pod["ownerReferences"][0]["uid"] == found
    assert any("is gone: got uid" in one for one in errors(fakekube))
    assert any(one.startswith(f"can't adopt Pod default/orphan ({pod['uid']}): ") for one in errors(fakekube))


def test_a_replica_set_that_is_being_deleted_adopts_nothing(fakekube):
    def delete():
        fakekube.patch("apps/v1", "ReplicaSet", "web", {"metadata": {"finalizers": ["example.com/hold"]}})
        fakekube.delete("apps/v1", "ReplicaSet", "web")

    delete_before_adoption(fakekube, delete)
    assert owner_of(fakekube, "orphan") == []
    assert any("default/web has just been deleted at " in one for one in errors(fakekube))


def test_the_owner_is_checked_once_for_all_orphans(fakekube):
    for name in ("a", "b", "c"):
        fakekube.create(orphan(name))
    begin(fakekube, 3)
    assert len(pods(fakekube)) == 3
    assert len(fakekube.requests(verb="get", resource="replicasets")) == 1


@pytest.mark.parametrize("error", [0, 409, 500])
def test_adoptions_that_fail(fakekube, error):
    """A pod that is gone is none of ours; after any other error nothing is created, and it is tried again."""
    fakekube.create(orphan())
    gone = lambda: fakekube.delete("v1", "Pod", "orphan", gracePeriodSeconds=0)  # noqa: E731
    what = {"error": error} if error else {"before": gone}
    fakekube.fault(verb="patch", resource="pods", name="orphan", times=1, **what)
    begin(fakekube, 1)
    fakekube.advance("5s")
    assert len(pods(fakekube)) == 1
    assert bool(errors(fakekube)) == (error in (409, 500))
    if error in (409, 500):
        assert owner_of(fakekube, "orphan") == ["web"]


def test_one_adoption_that_fails_stops_no_other(fakekube):
    for name in ("a", "b", "c"):
        fakekube.create(orphan(name))
    rule = fakekube.fault(verb="patch", resource="pods", name="a", error=500)
    begin(fakekube, 3)
    assert [owner_of(fakekube, name) for name in "abc"] == [[], ["web"], ["web"]]
    assert len(pods(fakekube)) == 3
    rule.disarm()
    fakekube.advance("20m")
    assert owner_of(fakekube, "a") == ["web"]


@pytest.mark.parametrize(("error", "released"), [(404, True), (422, True), (409, False), (500, False)])
def test_releases_that_fail(fakekube, error, released):
    """A pod that is gone or another one by now counts as released."""
    begin(fakekube, 1)
    (pod,) = pods(fakekube)
    name = pod["metadata"]["name"]
    fakekube.controllers["replicaset"].suspend()
    fakekube.patch("v1", "Pod", name, {"metadata": {"labels": {"app": "debug"}}})
    what = {"user_agent": "kube-controller-manager*", "error": error, "unrealistic": True}
    rule = fakekube.fault(verb="patch", resource="pods", **what)
    fakekube.controllers["replicaset"].reconcile_next()
    assert bool(errors(fakekube)) == (not released)
    assert (len(pods(fakekube)) == 2) == released
    assert owner_of(fakekube, name) == ["web"]
    rule.disarm()
    fakekube.controllers["replicaset"].resume()
    fakekube.advance("1m")
    assert len(pods(fakekube, app="web")) == 1


def test_pods_that_are_being_deleted_are_not_adopted(fakekube):
    fakekube.create(orphan(finalizers=["example.com/hold"]))
    fakekube.delete("v1", "Pod", "orphan")
    begin(fakekube, 1)
    assert owner_of(fakekube, "orphan") == []
