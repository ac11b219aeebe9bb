"""The timeline: rows, what caused what, and its export."""

import json

import pytest

from controllerlib import Result
from fakekube import FakeKube
from tests.harness.operators import build, config_map, every, failing, nothing, stamping

LEASE = ("coordination.k8s.io/v1", "Lease", "a")


def lease():
    spec = {"holderIdentity": "one", "renewTime": "2026-01-01T00:00:00.000001Z"}
    meta = {"name": "a", "namespace": "default"}
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": meta, "spec": spec}


def copying(manager):
    """Each ConfigMap has a Secret of its name, and each Secret is reconciled."""

    async def copy(request, client):
        if not fakekube_has(await client.list("v1", "Secret", namespace="default"), request.name):
            meta = {"name": request.name, "namespace": request.namespace}
            await client.create({"apiVersion": "v1", "kind": "Secret", "metadata": meta})

    manager.controller("copy").for_("v1", "ConfigMap").complete(copy)
    manager.controller("seen").for_("v1", "Secret").complete(nothing)


def fakekube_has(objects, name):
    return any(one["metadata"]["name"] == name for one in objects)


def lines(text):
    return [line.split(" ", 1)[1].strip() for line in text.splitlines()]


# --- rows ---------------------------------------------------------------------------------------------------------


def test_created_objects_have_their_name(fakekube):
    fakekube.apply(config_map("a"))
    fakekube.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "b-"}})
    names = [
        one["metadata"]["name"] for one in fakekube.list("v1", "ConfigMap") if "kube" not in one["metadata"]["name"]
    ]
    assert len(names) == 2
    for name in names:
        assert f"create configmaps default/{name} -> 201" in str(fakekube.timeline)
    assert [record.name for record in fakekube.requests(verb="create", user_agent="test")] == names


def test_n8_a_namespace_is_named_without_a_namespace(fakekube, fakekube_client):
    from kubernetes import client

    fakekube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}})
    with fakekube.fault(verb="delete", resource="namespaces", delay=1):
        client.CoreV1Api(fakekube_client).delete_namespace("a")
    whats = [entry.what for entry in fakekube.timeline.of("v1", "Namespace", "a")]
    assert whats == ["create namespaces a -> 201", "delete namespaces a -> 200"]
    assert "fault injected into delete namespaces a" in str(fakekube.timeline)
    assert "namespaces a/a" not in str(fakekube.timeline)


def test_failed_requests_have_their_message(fakekube):
    fakekube.create(config_map("a"))
    with pytest.raises(Exception, match="already exists"):
        fakekube.create(config_map("a"))
    (row,) = fakekube.timeline.select(lambda entry: "409" in entry.what)
    assert row.what == "create configmaps default/a -> 409 AlreadyExists"
    assert row.cause == 'configmaps "a" already exists'
    (record,) = fakekube.requests(code=409, user_agent="test")
    assert (record.name, record.message) == ("a", 'configmaps "a" already exists')
    assert "AlreadyExists rv=" in fakekube.log()
    assert ': configmaps "a" already exists' in fakekube.log()


def test_a_timeline_prints_as_a_table(fakekube):
    fakekube.apply(config_map("a"))
    assert str(fakekube.timeline) == fakekube.timeline.render()
    assert f"{fakekube.timeline}".splitlines()[0].split() == ["time", "actor", "what", "rv", "cause"]
    assert repr(fakekube.timeline) == "<Timeline of 1 entries: print() shows them>"


def test_renewals_of_a_lease_are_one_row(fakekube):
    fakekube.apply(lease())
    for second in range(1, 361):
        fakekube.advance(10)
        fakekube.patch(*LEASE, {"spec": {"renewTime": f"2026-01-01T00:00:00.{second + 1:06}Z"}})
    fakekube.apply(config_map("a"))
    rows = fakekube.timeline.of("coordination.k8s.io/v1", "Lease", "a")
    assert [row.what for row in rows] == [
        "create leases default/a -> 201",
        "lease default/a renewed 360x until +01:00:00",
    ]
    assert len(fakekube.timeline) == 3


def test_another_holder_of_a_lease_is_a_row_of_its_own(fakekube):
    fakekube.apply(lease())
    fakekube.patch(*LEASE, {"spec": {"renewTime": "2026-01-01T00:00:00.000002Z"}})
    fakekube.patch(*LEASE, {"spec": {"holderIdentity": "two"}})
    fakekube.patch(*LEASE, {"spec": {"renewTime": "2026-01-01T00:00:00.000003Z"}})
    rows = [row.what for row in fakekube.timeline.of("coordination.k8s.io/v1", "Lease", "a")]
    assert rows[1:] == ["lease default/a renewed", "patch leases default/a -> 200", "lease default/a renewed"]


@pytest.mark.slow
@pytest.mark.fakekube(nodes=1)
def test_heartbeats_of_nodes_do_not_push_out_other_rows(fakekube):
    fakekube.apply(config_map("a"))
    fakekube.advance(hours=1)
    rows = [row.what for row in fakekube.timeline if "node-1" in row.what]
    assert [row for row in rows if "heartbeat" in row or "renewed" in row] == [
        "lease kube-node-lease/node-1 renewed 360x until +01:00:00",
        "node node-1 heartbeat 12x until +01:00:00",
    ]
    assert len(rows) <= 8
    assert len(fakekube.state.versions("v1", "Node", "node-1")) == 14
    assert fakekube.controllers["kubelet"] is not None
    assert "create configmaps default/a -> 201" in fakekube.timeline.render(60)


@pytest.mark.fakekube(nodes=1)
def test_a_node_that_becomes_unready_is_a_row_of_its_own(fakekube):
    fakekube.advance(minutes=6)
    status = {"conditions": [{"type": "Ready", "status": "False"}]}
    fakekube.patch("v1", "Node", "node-1", {"status": status}, subresource="status")
    rows = [row.what for row in fakekube.timeline.of("v1", "Node", "node-1")]
    assert rows[-2:] == ["node node-1 heartbeat", "patch nodes/status node-1 -> 200"]


def test_rows_are_in_the_order_in_which_they_began(fakekube):
    fakekube.apply(config_map("a"))
    fakekube.start(build(stamping(seen="yes")))
    rows = [entry.what for entry in fakekube.timeline if entry.actor == "minder"]
    assert rows == ["reconcile default/a #1 ok", "update configmaps default/a -> 200", "reconcile default/a #2 ok",
                    "update configmaps default/a -> 200 (changed nothing)"]  # fmt: skip


def test_rows_of_an_object(fakekube):
    fakekube.apply(config_map("a"), config_map("b"))
    fakekube.start(build(nothing))
    rows = fakekube.timeline.of("v1", "ConfigMap", "a")
    assert [row.what for row in rows] == ["create configmaps default/a -> 201", "reconcile default/a #1 ok"]
    assert str(rows).splitlines()[2].endswith("added ConfigMap default/a@" + rows[0].resource_version)
    assert [str(key) for key in fakekube.timeline.objects()] == ["configmaps default/a", "configmaps default/b"]
    assert len(fakekube.timeline.of("v1", "ConfigMap", "c")) == 0
    with pytest.raises(LookupError, match="Configmap"):
        fakekube.timeline.of("v1", "Configmap", "a")


def test_rows_of_an_actor(fakekube):
    fakekube.apply(config_map("a"))
    fakekube.start(build(nothing))
    assert [row.what for row in fakekube.timeline.by("minder")] == ["reconcile default/a #1 ok"]
    with pytest.raises(LookupError, match=r"no actor 'mider' \(actors: minder, test\)"):
        fakekube.timeline.by("mider")


@pytest.mark.parametrize("transport", ["direct", "memory", "tcp"])
def test_writes_are_in_the_lane_of_the_controller_that_makes_them(transport):
    with FakeKube(transport=transport) as kube:
        kube.apply(config_map("a"))
        kube.start(build(stamping(seen="yes")), name="db")
        kube.start(build(nothing), name="db-2")
        writes = [entry.actor for entry in kube.timeline if entry.what.startswith("update")]
        assert writes == ["db/minder", "db/minder"]
        (first, *_) = kube.ledger.reconciles("minder", operator="db")
        assert [record.verb for record in kube.requests(trace=first.trace)] == ["update"]


def test_a_failed_reconcile_has_its_error_and_when_it_is_retried(fakekube):
    fakekube.findings.allow("reconcile-error", reason="it is retried after the test")
    fakekube.apply(config_map("a"))
    fakekube.start(build(failing(1)))
    (row,) = fakekube.timeline.select(lambda entry: "failed" in entry.what)
    assert row.what == "reconcile default/a #1 failed: it failed, again in 0.005 s"


# --- the log ------------------------------------------------------------------------------------------------------


def test_the_log_is_in_order_of_time(fakekube):
    fakekube.apply(config_map("a"))
    fakekube.start(build(every(60)))
    fakekube.advance(minutes=3)
    fakekube.patch("v1", "ConfigMap", "a", {"data": {"x": "1"}})
    fakekube.settle()
    times = [int(line.split()[0]) for line in fakekube.log().splitlines()]
    assert times == sorted(times)
    what = fakekube.log()
    assert what.index("#4") < what.index("patch configmaps default/a -> 200") < what.index("#5")


# --- causes -------------------------------------------------------------------------------------------------------


def test_causes_have_the_object_and_its_version(fakekube):
    fakekube.apply(config_map("a"))
    controller = fakekube.start(build(nothing))["minder"]
    fakekube.patch("v1", "ConfigMap", "a", {"data": {"x": "1"}})
    controller.enqueue("default/a")
    fakekube.settle()
    first, last = [obj["metadata"]["resourceVersion"] for _, obj in fakekube.state.versions("v1", "ConfigMap", "a")]
    expected = [f"added ConfigMap default/a@{first}", f"generic + updated ConfigMap default/a@{last}"]
    assert controller.causes("default/a", detail=True) == expected
    assert str(controller.last()) == f"minder default/a #2 [{expected[1]}] success"


@pytest.mark.parametrize("transport", ["direct", "memory", "tcp"])
def test_why_follows_causes_to_the_write_of_the_test(transport):
    with FakeKube(transport=transport) as kube:
        kube.apply(config_map("a"))
        operator = kube.start(copying)
        kube.advance(1)
        assert lines(str(operator["seen"].why("default/a", 1))) == [
            f"seen: reconcile default/a #1 ok [{operator['seen'].last().because}]",
            "of +00:00:00 copy: create secrets default/a -> 201",
            f"because of +00:00:00 copy: reconcile default/a #1 ok [{operator['copy'].last().because}]",
            "because of +00:00:00 test: create configmaps default/a -> 201",
        ]


def test_led_to_follows_effects(fakekube):
    fakekube.apply(config_map("a"))
    fakekube.start(copying)
    created = fakekube.timeline.of("v1", "ConfigMap", "a")[0]
    found = [entry.what for entry in fakekube.timeline.led_to(created)]
    assert found == [
        "create configmaps default/a -> 201",
        "reconcile default/a #1 ok",
        "create secrets default/a -> 201",
        "reconcile default/a #1 ok",
    ]


def test_requeues_and_retries_are_caused_by_the_reconcile_before(fakekube):
    fakekube.apply(config_map("a"))
    controller = fakekube.start(build(failing(1)))["minder"]
    fakekube.advance(1)
    story = controller.why("default/a", 2)
    assert [entry.what for entry in story] == [
        "reconcile default/a #2 ok",
        "reconcile default/a #1 failed: it failed, again in 0.005 s",
        "create configmaps default/a -> 201",
    ]


def test_a_deletion_is_a_cause(fakekube):
    fakekube.apply(config_map("a"))
    controller = fakekube.start(build(nothing))["minder"]
    fakekube.delete("v1", "ConfigMap", "a")
    fakekube.settle()
    assert [entry.what for entry in controller.why("default/a", 2)] == [
        "reconcile default/a #2 ok",
        "delete configmaps default/a -> 200",
    ]


def test_a_request_that_waits_for_another_does_not_take_its_changes(fakekube):
    """A slow request is answered after others: each change still belongs to the request that made it."""
    fakekube.fault(verb="create", times=1, delay=5, user_agent="test")
    client = fakekube.access.transport(user="slow")
    fakekube.task(client.request("POST", "/api/v1/namespaces/default/configmaps", body=config_map("slow")))
    fakekube.advance(1)
    fakekube.apply(config_map("fast"))
    fakekube.advance(10)
    document = json.loads(fakekube.timeline.to_json())
    made = {one["what"]: [change["object"] for change in one["changes"]] for one in document["entries"]}
    assert made["create configmaps default/fast -> 201"] == ["configmaps default/fast"]
    assert made["create configmaps default/slow -> 201"] == ["configmaps default/slow"]


def test_all_changes_of_a_request_are_its_own(fakekube):
    fakekube.apply(config_map("a"), config_map("b"))
    controller = fakekube.start(build(nothing))["minder"]
    fakekube.access.transport().request_now("DELETE", "/api/v1/namespaces/default/configmaps")
    fakekube.settle()
    for key in ("default/a", "default/b"):
        assert controller.why(key, 2)[1].what.startswith("deletecollection configmaps default -> 200")


def test_what_the_server_changes_by_itself_is_a_row(fakekube):
    fakekube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}})
    fakekube.create(config_map("a", namespace="n"))
    fakekube.delete("v1", "Namespace", "n")
    fakekube.settle()
    entries = {entry.what: entry for entry in fakekube.timeline}
    assert any("namespaces" in what for what in entries)
    assert all(entry.kind in ("request", "stored") for entry in entries.values())


def test_why_of_something_unknown_says_what_there_is(fakekube):
    fakekube.apply(config_map("a"))
    controller = fakekube.start(build(nothing))["minder"]
    with pytest.raises(LookupError, match="'minder' has no reconcile 7 of default/a: it reconciled it 1 times"):
        controller.why("default/a", 7)
    with pytest.raises(LookupError, match=r"has not reconciled default/b yet \(reconciled: default/a\)"):
        controller.last("default/b")
    (read,) = fakekube.requests(verb="watch")
    with pytest.raises(LookupError, match=rf"no entry with the serial {read.serial} \(kept: "):
        fakekube.timeline.why(read)


def test_a_story_has_each_entry_once():
    """Two chains that meet are not repeated."""
    with FakeKube() as kube:
        kube.apply(config_map("a"))
        operator = kube.start(copying)
        kube.patch("v1", "ConfigMap", "a", {"data": {"x": "1"}})
        kube.settle()
        story = operator["copy"].why("default/a", 2)
        assert len({entry.serial for entry in story}) == len(story)


# --- export -------------------------------------------------------------------------------------------------------


def test_the_json_has_causes_and_changed_fields(fakekube):
    fakekube.apply(config_map("a", color="red"))
    fakekube.start(build(nothing))
    fakekube.patch("v1", "ConfigMap", "a", {"data": {"color": "blue", "size": "1"}})
    fakekube.settle()
    document = json.loads(fakekube.timeline.to_json(title="mine"))
    assert (document["title"], document["format"], document["dropped"]) == ("mine", 1, 0)
    created, first, patched, second = document["entries"]
    assert [first["because"], second["because"]] == [[created["serial"]], [patched["serial"]]]
    (change,) = patched["changes"]
    assert (change["object"], change["verb"]) == ("configmaps default/a", "updated")
    assert change["fields"] == [["data.color", "red", "blue", False, False], ["data.size", None, "1", True, False]]
    assert created["changes"][0]["stored"]["data"] == {"color": "red"}


def test_a_timeline_is_saved_in_the_format_of_the_name(fakekube, tmp_path):
    fakekube.apply(config_map("a"))
    saved = fakekube.timeline.save(tmp_path / "new" / "t.json")
    assert json.loads(saved.read_text())["entries"][0]["actor"] == "test"
    assert "create configmaps" in fakekube.timeline.save(tmp_path / "t.txt").read_text()
    assert fakekube.timeline.save(tmp_path / "t.html").read_text().startswith("<!doctype html>")
    with pytest.raises(ValueError, match=r"must end with \.json, \.html or \.txt"):
        fakekube.timeline.save(tmp_path / "t.pdf")


def test_the_same_test_gives_the_same_document():
    def document():
        with FakeKube(seed=3, controllers=["deployment", "replicaset"]) as kube:
            kube.apply(config_map("a"))
            kube.start(build(every(60)), name="db")
            kube.start(build(stamping(x="y")), name="other")
            kube.advance(minutes=10)
            return kube.timeline.to_json(), kube.log()

    assert document() == document()


async def test_the_timeline_is_read_in_an_async_test(fakekube):
    async def reconcile(request):
        return Result()

    fakekube.apply(config_map("a"))
    operator = await fakekube.start(build(reconcile))
    assert len(operator["minder"].why("default/a", 1)) == 2
