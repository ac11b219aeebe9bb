"""Snapshots: what returns with a restore, what continues, and what running clients see."""

import pytest

from controllerlib import ApiError, Result
from fakekube import FakeKube, FaultRule
from fakekube.harness.engine import engine_of
from tests.harness.operators import definition


def config(name, **data):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def service(name, **spec):
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {"ports": [{"port": 80}], **spec},
    }


def names(kube, kind="ConfigMap"):
    return [one["metadata"]["name"] for one in kube.list("v1", kind)]


@pytest.fixture
def kube():
    with FakeKube(wall_clock=False) as kube:
        yield kube


def revision(kube):
    return kube.state.snapshot().revision


def test_a_restore_returns_to_objects_revision_and_uids(kube):
    kube.create(config("kept", a="1"))
    saved = kube.state.snapshot()
    made = kube.create(config("new"))
    kube.patch("v1", "ConfigMap", "kept", {"data": {"a": "2"}})
    kube.state.restore(saved)
    assert names(kube) == ["kept"]
    assert kube.get("v1", "ConfigMap", "kept")["data"] == {"a": "1"}
    assert revision(kube) == saved.revision
    assert kube.create(config("new")) == made  # the same uid and resourceVersion


def test_a_snapshot_can_be_restored_many_times_and_is_not_changed_by_writes(kube):
    kube.create(config("kept"))
    saved = kube.state.snapshot()
    for number in range(3):
        kube.state.restore(saved)
        assert names(kube) == ["kept"]
        kube.delete("v1", "ConfigMap", "kept")
        kube.create(config(f"other-{number}"))
    assert names(kube) == ["other-2"]


def test_a_snapshot_can_be_restored_in_another_cluster():
    with FakeKube(seed="first", wall_clock=False) as first:
        first.apply(definition())
        first.create(config("kept"))
        first.advance(hours=1)
        uid = first.create(config("again"))["metadata"]["uid"]
        saved = first.state.snapshot()
    with FakeKube(seed="first", wall_clock=False) as second:
        second.state.restore(saved)
        assert names(second) == ["again", "kept"]
        assert second.get("v1", "ConfigMap", "again")["metadata"]["uid"] == uid
        assert (second.clock.monotonic(), revision(second)) == (3600.0, saved.revision)
        second.create({"apiVersion": "example.com/v1", "kind": "Backup", "metadata": {"name": "b"}})
        second.delete("v1", "ConfigMap", "again")
        assert second.create(config("again"))["metadata"]["uid"] != uid
    with FakeKube(seed="first", wall_clock=False) as third:  # writes of the second have not reached the snapshot
        third.state.restore(saved)
        assert (names(third), third.list("example.com/v1", "Backup")) == (["again", "kept"], [])


@pytest.mark.parametrize("wanted", [{"version": "1.31"}, {"rbac": True}, {"service_cluster_ip_range": "10.9.0.0/16"}])
def test_a_restore_needs_the_same_settings(wanted):
    with FakeKube(wall_clock=False) as kube:
        saved = kube.state.snapshot()
    name = {"rbac": "authorization_mode"}.get(*wanted, *wanted)
    with FakeKube(wall_clock=False, **wanted) as other, pytest.raises(ValueError, match=f"a cluster with {name}="):
        other.state.restore(saved)


def test_a_restore_needs_a_snapshot(kube):
    with pytest.raises(TypeError, match=r"restore\(snapshot=3\): pass what snapshot\(\) has returned"):
        kube.state.restore(3)


def test_time_does_not_move_backwards(kube):
    saved = kube.state.snapshot()
    kube.advance(60)
    kube.state.restore(saved)
    assert kube.clock.monotonic() == 60
    assert kube.create(config("a"))["metadata"]["creationTimestamp"] == "2026-01-01T00:01:00Z"


def test_a_restore_does_not_move_time_over_a_timer(kube):
    kube.advance(60)
    saved = kube.state.snapshot()
    kube.close()
    with FakeKube(wall_clock=False) as other:
        engine_of(other).bubble.loop.call_later(30, print)
        with pytest.raises(RuntimeError, match=r"call advance\(60\) first"):
            other.state.restore(saved)
        other.advance(60)
        other.state.restore(saved)


def test_addresses_and_ports_are_free_again(kube):
    taken = kube.create(service("kept", type="NodePort", clusterIP="10.0.0.50"))["spec"]["ports"][0]["nodePort"]
    saved = kube.state.snapshot()
    spec = {"type": "NodePort", "clusterIP": "10.0.0.60", "ports": [{"port": 80, "nodePort": 30100}]}
    kube.create(service("gone", **spec))
    kube.state.restore(saved)
    kube.create(service("gone", **spec))
    with pytest.raises(ApiError, match="provided IP is already allocated"):
        kube.create(service("second", clusterIP="10.0.0.50"))
    with pytest.raises(ApiError, match="provided port is already allocated"):
        kube.create(service("second", type="NodePort", ports=[{"port": 80, "nodePort": taken}]))


def test_definitions_are_served_as_in_the_snapshot(kube):
    empty = kube.state.snapshot()
    kube.apply(definition())
    kube.create({"apiVersion": "example.com/v1", "kind": "Backup", "metadata": {"name": "b"}})
    full = kube.state.snapshot()
    kube.state.restore(empty)
    with pytest.raises(LookupError):
        kube.list("example.com/v1", "Backup")
    kube.state.restore(full)
    assert [one["metadata"]["name"] for one in kube.list("example.com/v1", "Backup")] == ["b"]
    kube.create({"apiVersion": "example.com/v1", "kind": "Backup", "metadata": {"name": "c"}})


def test_what_the_server_has_derived_from_objects_is_derived_again():
    """Roles, webhooks and the history of services are read through caches."""
    with FakeKube(rbac=True, wall_clock=False) as kube:
        saved = kube.state.snapshot()
        kube.apply(
            {
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "ClusterRoleBinding",
                "metadata": {"name": "alice"},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
                "subjects": [{"kind": "User", "name": "alice", "apiGroup": "rbac.authorization.k8s.io"}],
            },
            {
                "apiVersion": "admissionregistration.k8s.io/v1",
                "kind": "ValidatingWebhookConfiguration",
                "metadata": {"name": "unavailable"},
                "webhooks": [
                    {
                        "name": "a.example.com",
                        "clientConfig": {"url": "https://127.0.0.1:1/"},
                        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["*"]}],
                        "sideEffects": "None",
                        "admissionReviewVersions": ["v1"],
                    }
                ],
            },
        )
        alice = kube.access.transport(user="alice")
        path = "/api/v1/namespaces/default/configmaps"
        assert alice.request_now("GET", path)[0] == 200
        kube.state.restore(saved)
        assert alice.request_now("GET", path)[0] == 403
        kube.create(config("a"))  # no webhook is called


def test_an_update_after_a_restore_is_not_taken_for_one_that_changes_nothing(kube):
    kube.create(config("a"))
    saved = kube.state.snapshot()
    client = kube.access.transport()
    client._headers["user-agent"] = "operator"
    path = "/api/v1/namespaces/default/configmaps/a"
    merge = {"content-type": "application/merge-patch+json"}
    client.request_now("PATCH", path, headers=merge, body={"data": {"x": "1"}})
    kube.state.restore(saved)
    client.request_now("PATCH", path, headers=merge, body={"data": {"x": "1"}})
    assert list(kube.findings.noop_writes()) == []
    client.request_now("PATCH", path, headers=merge, body={"data": {"x": "1"}})
    assert len(kube.findings.noop_writes()) == 1


def test_compaction_continues_from_the_restored_revision(kube):
    kube.create(config("a"))
    saved = kube.state.snapshot()
    for number in range(5):
        kube.create(config(f"later-{number}"))
    kube.advance(minutes=6)
    kube.list("v1", "ConfigMap")
    kube.state.restore(saved)
    kube.advance(minutes=6)
    kube.create(config("b"))
    kube.create(config("c"))
    found = kube.access.transport().request_now("GET", "/api/v1/configmaps", query=[("limit", "1")])[2]
    more = [("limit", "5"), ("continue", found["metadata"]["continue"])]
    code, _, rest = kube.access.transport().request_now("GET", "/api/v1/configmaps", query=more)
    assert (code, [one["metadata"]["name"] for one in rest["items"]]) == (200, ["b", "c"])


def build(manager):
    async def reconcile(request, client):
        return Result()

    manager.controller("config").for_("v1", "ConfigMap").complete(reconcile)


def test_a_running_operator_lists_again_and_versions_never_go_backwards(kube):
    kube.create(config("kept", a="1"))
    saved = kube.state.snapshot()
    operator = kube.start(build)
    kube.create(config("new"))
    kube.patch("v1", "ConfigMap", "kept", {"data": {"a": "2"}})
    kube.settle()
    before = revision(kube)
    kube.state.restore(saved)
    kube.advance(5)  # the reflector waits before it lists again
    assert revision(kube) > before
    view = operator["config"]
    assert [view.reconciles("default/kept"), view.reconciles("default/new")] == [3, 2]
    assert view.causes("default/new")[-1] == "deleted"
    cache = operator.manager.cache
    found = engine_of(kube).bubble.loop.drive(cache.list("v1", "ConfigMap", namespace="default"))
    assert [(one["metadata"]["name"], one["data"]) for one in found] == [("kept", {"a": "1"})]
    made = kube.create(config("after"))
    assert int(made["metadata"]["resourceVersion"]) > before
    kube.settle()
    assert view.reconciles("default/after") == 1


def test_a_client_that_resumes_a_watch_after_a_restore_has_to_list_again(kube):
    kube.create(config("a"))
    saved = kube.state.snapshot()
    kube.start(build)
    seen = kube.create(config("b"))["metadata"]["resourceVersion"]
    kube.state.restore(saved)
    query = [("watch", "1"), ("resourceVersion", seen), ("timeoutSeconds", "1")]

    async def first():
        code, _, stream = await kube.access.transport().open_watch("/api/v1/configmaps", query=query)
        return code, [event async for event in stream]

    code, events = engine_of(kube).bubble.loop.drive(first())
    assert (code, events[0]["type"], events[0]["object"]["code"]) == (200, "ERROR", 410)


def test_a_uid_is_not_used_twice_while_an_operator_runs(kube):
    saved = kube.state.snapshot()
    kube.start(build)
    uid = kube.create(config("a"))["metadata"]["uid"]
    kube.state.restore(saved)
    assert kube.create(config("a"))["metadata"]["uid"] != uid


def test_the_same_test_on_a_restored_cluster_gives_the_same_answers(kube):
    kube.apply(definition(), config("a"))
    saved = kube.state.snapshot()

    def run():
        kube.state.restore(saved)
        made = [kube.create(service(f"s-{i}", type="NodePort")) for i in range(3)]
        generated = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "g-"}}
        return [*made, kube.create(generated), kube.create(generated)]

    assert run() == run()


def test_faults_and_records_are_not_part_of_a_snapshot(kube):
    saved = kube.state.snapshot()
    kube.create(config("a"))
    fault = kube.fault(verb="get", resource="configmaps", error=500, user_agent="test")
    kube.state.restore(saved)
    assert isinstance(fault, FaultRule)
    with pytest.raises(ApiError, match="Internal"):
        kube.get("v1", "ConfigMap", "a")
    fault.disarm()
    assert len(kube.state.versions("v1", "ConfigMap", "a")) == 1
    assert any("restores the snapshot" in entry.what for entry in kube.timeline)


def test_a_compaction_does_not_reach_a_snapshot(kube):
    first = kube.create(config("a", x="1"))["metadata"]["resourceVersion"]
    kube.patch("v1", "ConfigMap", "a", {"data": {"x": "2"}})
    saved = kube.state.snapshot()
    kube.patch("v1", "ConfigMap", "a", {"data": {"x": "3"}})
    kube.faults.compact()
    exact = [("resourceVersion", first), ("resourceVersionMatch", "Exact")]
    path = "/api/v1/namespaces/default/configmaps"
    assert kube.access.transport().request_now("GET", path, query=exact)[0] == 410
    kube.state.restore(saved)
    code, _, body = kube.access.transport().request_now("GET", path, query=exact)
    assert (code, [one["data"] for one in body["items"]]) == (200, [{"x": "1"}])


def test_two_clusters_with_one_snapshot_change_an_object_independently():
    with FakeKube(wall_clock=False) as first:
        first.create(config("a", x="1"))
        saved = first.state.snapshot()
        first.patch("v1", "ConfigMap", "a", {"data": {"x": "of the first"}})
    with FakeKube(wall_clock=False) as second:
        second.state.restore(saved)
        version = second.get("v1", "ConfigMap", "a")["metadata"]["resourceVersion"]
        second.patch("v1", "ConfigMap", "a", {"data": {"x": "of the second"}})
        exact = [("resourceVersion", version), ("resourceVersionMatch", "Exact")]
        path = "/api/v1/namespaces/default/configmaps"
        assert second.access.transport().request_now("GET", path, query=exact)[2]["items"][0]["data"] == {"x": "1"}


@pytest.fixture(scope="module")
def prepared():
    """A snapshot that a fixture of the module makes once."""
    with FakeKube(wall_clock=False) as kube:
        kube.apply(definition(), config("base"))
        kube.advance(60)
        return kube.state.snapshot()


@pytest.mark.parametrize("name", ["a", "b"])
def test_parametrised_tests_begin_with_the_snapshot_of_the_module(fakekube, prepared, name):
    fakekube.state.restore(prepared)
    assert names(fakekube) == ["base"]
    fakekube.create(config(name))
    assert fakekube.clock.monotonic() == 60


@pytest.mark.parametrize("name", ["a", "b"])
async def test_a_snapshot_is_restored_in_an_async_test(fakekube, prepared, name):
    fakekube.state.restore(prepared)
    operator = await fakekube.start(build)
    fakekube.create(config(name))
    await fakekube.settle()
    assert names(fakekube) == [name, "base"]
    fakekube.state.restore(prepared)
    await fakekube.advance(5)
    assert operator["config"].causes(f"default/{name}") == ["added", "deleted"]
