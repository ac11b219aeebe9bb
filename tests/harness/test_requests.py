"""What the server has recorded: requests, versions, events, no-op writes; and the idempotence check."""

from collections import Counter

import pytest

from controllerlib import Result
from tests.harness.operators import build, config_map, counting, nothing, stamping


def test_requests_by_their_fields(fakekube):
    fakekube.apply(config_map("a"))
    fakekube.start(build(stamping(seen="yes")))
    assert [str(r) for r in fakekube.requests(verb="update")] == ["update configmaps default/a -> 200"] * 2
    assert fakekube.requests(verb="list", resource="configmaps") or fakekube.requests(verb="watch")
    assert {r.user_agent for r in fakekube.requests()} == {"controllerlib", "controllerlib/minder"}
    assert fakekube.requests(verb="update", name="b") == []
    assert [r.code for r in fakekube.requests(resource="config*", verb="update", code=200)] == [200, 200]
    assert fakekube.requests(verb=r"up[df]ate", namespace="default")


def test_the_tests_own_requests_are_shown_on_request(fakekube):
    fakekube.apply(config_map("a"))
    fakekube.get("v1", "ConfigMap", "a")
    assert fakekube.requests() == []
    assert [r.verb for r in fakekube.requests(user_agent="test", resource="configmaps")][-1] == "get"


def test_a_field_that_a_record_does_not_have(fakekube):
    with pytest.raises(TypeError, match=r"no argument colour \(accepted: at, code"):
        fakekube.requests(colour="red")


def test_an_objects_versions(fakekube):
    fakekube.create(config_map("a", n="1"))
    fakekube.advance(60)
    fakekube.patch("v1", "ConfigMap", "a", {"data": {"n": "2"}})
    fakekube.advance(60)
    fakekube.delete("v1", "ConfigMap", "a")
    moments, objects = zip(*fakekube.state.versions("v1", "ConfigMap", "a"), strict=True)
    assert [(moment - fakekube.clock.epoch).total_seconds() for moment in moments] == [0, 60, 120]
    assert [obj and obj["data"]["n"] for obj in objects] == ["1", "2", None]
    assert fakekube.state.versions("v1", "ConfigMap", "b") == []


def event(name, reason):
    meta = {"name": name, "namespace": "default"}
    involved = {"kind": "ConfigMap", "namespace": "default", "name": "a"}
    return {
        "apiVersion": "v1", "kind": "Event", "metadata": meta, "involvedObject": involved, "reason": reason,
        "message": "", "type": "Normal",
    }  # fmt: skip


def test_events_by_their_fields(fakekube):
    fakekube.create(event("b", "Synced"))
    fakekube.create(event("a", "Failed"))
    assert [e["reason"] for e in fakekube.events()] == ["Synced", "Failed"]
    assert [e["metadata"]["name"] for e in fakekube.events(reason="Failed")] == ["a"]
    assert fakekube.events(reason="Other") == []


def test_noop_writes(fakekube):
    fakekube.apply(config_map("a", seen="yes"))
    fakekube.start(build(stamping(seen="yes")))
    (record,) = fakekube.findings.noop_writes()
    assert (record.verb, record.name) == ("update", "a")
    assert "update configmaps default/a -> 200 (changed nothing)" in str(fakekube.timeline.render())
    fakekube.patch("v1", "ConfigMap", "a", {"data": {"seen": "yes"}})  # the test's own
    assert len(fakekube.findings.noop_writes()) == 1


@pytest.mark.slow
def test_no_writes_at_rest(fakekube):
    fakekube.apply(config_map("a"))
    fakekube.start(build(nothing))
    fakekube.findings.assert_no_writes_at_rest()
    assert fakekube.clock.monotonic() == 1


async def test_no_writes_at_rest_in_an_async_test(fakekube):
    fakekube.apply(config_map("a"))
    await fakekube.start(build(nothing))
    await fakekube.findings.assert_no_writes_at_rest()


def test_a_write_at_rest_is_named(fakekube):
    fakekube.apply(config_map("a"))
    fakekube.start(build(stamping(seen="yes")))
    with pytest.raises(AssertionError) as caught:
        fakekube.findings.assert_no_writes_at_rest()
    assert str(caught.value).splitlines() == [
        "something writes although nothing changed:",
        "  controllerlib/minder: update configmaps default/a -> 200 (changed nothing), by minder reconciling default/a "
        "[generic]",
    ]
    fakekube.findings.assert_no_writes_at_rest(noops_allowed=True)


async def test_a_write_at_rest_is_named_in_an_async_test(fakekube):
    fakekube.apply(config_map("a"))
    await fakekube.start(build(stamping(seen="yes")))
    with pytest.raises(AssertionError, match="by minder reconciling default/a"):
        await fakekube.findings.assert_no_writes_at_rest()


def test_a_write_between_waits_of_the_test_does_not_count_as_one_at_rest(fakekube):
    fakekube.apply(config_map("a"))
    fakekube.start(build(nothing))
    fakekube.patch("v1", "ConfigMap", "a", {"data": {"x": "1"}})
    fakekube.findings.assert_no_writes_at_rest()


def test_the_log_has_requests_changes_and_reconciles(fakekube):
    fakekube.apply(config_map("a"))
    fakekube.start(build(stamping(seen="yes")))
    lines = fakekube.log().splitlines()
    assert any("minder/0 default/a #1 [added] ok" in line for line in lines)
    assert any("update configmaps default/a -> 200" in line for line in lines)
    assert any('"data":{"seen":"yes"}' in line for line in lines)
    assert all(line.split()[0].isdigit() for line in lines)


def test_a_request_without_a_verb_is_shown_by_its_path(fakekube):
    fakekube.access.transport(user="bob").request_now("OPTIONS", "/api/v1/namespaces/default/configmaps/a")
    (record,) = fakekube.requests(user="bob", user_agent="*")
    assert str(record).startswith("configmaps default/a -> 405")


def test_the_timeline_has_writes_and_reconciles(fakekube):
    fakekube.apply(config_map("a"))
    fakekube.start(build(stamping(seen="yes")))
    fakekube.advance(1)
    text = fakekube.timeline.render()
    assert text.splitlines()[0].split() == ["time", "actor", "what", "rv", "cause"]
    assert "reconcile default/a #1 ok" in text
    assert "create configmaps default -> 201" in text or "create configmaps default/a -> 201" in text
    assert text.splitlines()[1].startswith("+00:00:00")
    assert fakekube.timeline.render(1).startswith("(")


def test_a_hot_loop_is_named(fakekube):
    from fakekube.virtualtime import HotLoop

    fakekube.apply(config_map("a"))
    with pytest.raises(
        HotLoop, match=r"controller 'minder' has written .* 100 times in reconciles of default/a"
    ) as caught:
        fakekube.start(build(counting()))
    assert "updated ConfigMap default/a" in str(caught.value)
    assert any("controllerlib/minder: update" in note for note in caught.value.__notes__)


def requeueing(times):
    """A reconciler that requeues each key at once until it has run `times` times."""
    runs = Counter()

    async def reconcile(request, client):
        runs[request] += 1
        return Result(requeue_after=0.0005) if runs[request] < times[request.name] else None

    return reconcile


@pytest.mark.slow
@pytest.mark.fakekube(detect={"short-requeue": "off"})
def test_a_thousand_reconciles_of_one_object_within_a_second_are_no_hot_loop(fakekube):
    names = ["a", "b", "c"]
    for name in names:
        fakekube.apply(config_map(name))
    fakekube.start(build(requeueing(dict.fromkeys(names, 1000))))
    fakekube.advance(0.9)
    assert [fakekube.ledger.counts("minder")[f"default/{name}"] for name in names] == [1000] * 3


@pytest.mark.fakekube(detect={"short-requeue": "off"})
def test_the_object_of_a_hot_loop_is_named_among_others(fakekube):
    from fakekube.virtualtime import HotLoop

    for name in ("a", "b", "c"):
        fakekube.apply(config_map(name))
    fakekube.start(build(requeueing({"a": 1, "b": 10_000, "c": 700})))
    with pytest.raises(HotLoop, match="'minder' reconciled default/b more than 1000 times within one virtual second"):
        fakekube.advance(1)
    assert fakekube.ledger.counts("minder")["default/b"] == 1000
