"""Watches that are late: one informer of one operator, or one client, stays at a resourceVersion while others go on."""

import asyncio

import pytest
from kubernetes import client
from kubernetes import watch as official_watch

from controllerlib import Client
from fakekube import FakeKube
from tests.harness.operators import build, config_map, every, nothing


def write(kube, value):
    return kube.patch("v1", "ConfigMap", "a", {"data": {"n": str(value)}})["metadata"]["resourceVersion"]


def reads(seen):
    """Notes the value that the cache has."""

    async def reconcile(request, client):
        found = await client.get("v1", "ConfigMap", request.name, namespace=request.namespace)
        seen.append((found.get("data") or {}).get("n", "0"))

    return reconcile


@pytest.mark.parametrize("transport", ["direct", "memory", "tcp"])
def test_the_informer_of_one_operator_is_held(transport):
    held, free = [], []
    with FakeKube(transport=transport) as kube:
        kube.apply(config_map("a"))
        one, _ = kube.start(build(reads(held), "one")), kube.start(build(reads(free), "two"))
        hold = kube.faults.hold_watches(one, resource="configmaps")
        for value in (1, 2):
            write(kube, value)
            kube.settle()
        assert (held, free) == (["0"], ["0", "1", "2"])
        assert f"<Hold configmaps of one at resourceVersion {hold.at}: 1 watches>" in kube.why()
        hold.release()
        kube.settle()
        assert held == ["0", "2"]
        assert "<Hold" not in kube.why()


def test_a_held_cache_is_stale_when_something_else_causes_a_reconcile(fakekube):
    seen = []
    fakekube.apply(config_map("a"))
    operator = fakekube.start(build(reads(seen)))
    with fakekube.faults.hold_watches(operator):
        write(fakekube, 1)
        operator["minder"].enqueue("default/a")
        fakekube.settle()
        assert seen == ["0", "0"]
    fakekube.settle()
    assert seen == ["0", "0", "1"]


def test_another_kind_is_not_held(fakekube):
    fakekube.findings.allow("unused-fault", reason="the test is about what does not happen")
    seen = []
    fakekube.apply(config_map("a"))
    operator = fakekube.start(build(reads(seen)))
    with fakekube.faults.hold_watches(operator, resource="secrets") as hold:
        write(fakekube, 1)
        fakekube.settle()
    assert (seen, hold.seen) == (["0", "1"], 0)


def test_a_hold_at_a_resource_version_that_is_to_come(fakekube):
    seen = []
    fakekube.apply(config_map("a"))
    operator = fakekube.start(build(reads(seen)))
    now = int(fakekube.get("v1", "ConfigMap", "a")["metadata"]["resourceVersion"])
    with fakekube.faults.hold_watches(operator, at=now + 2):
        for value in (1, 2, 3, 4):
            write(fakekube, value)
            fakekube.settle()
        assert seen == ["0", "1", "2"]
    fakekube.settle()
    assert seen == ["0", "1", "2", "4"]


def test_a_watch_does_not_go_back(fakekube):
    fakekube.apply(config_map("a"))
    operator = fakekube.start(build(nothing))
    version = fakekube.get("v1", "ConfigMap", "a")["metadata"]["resourceVersion"]
    write(fakekube, 1)
    fakekube.settle()
    with pytest.raises(ValueError, match="cannot go back"):
        fakekube.faults.hold_watches(operator, at=int(version))
    with pytest.raises(ValueError, match="at='soon' must be a resourceVersion"):
        fakekube.faults.hold_watches(operator, at="soon")


def test_a_watch_that_is_opened_again_is_held_too(fakekube):
    seen = []
    fakekube.apply(config_map("a"))
    operator = fakekube.start(build(reads(seen)))
    with fakekube.faults.hold_watches(operator) as hold:
        write(fakekube, 1)
        fakekube.faults.cut_watches()
        fakekube.advance(10)
        assert (seen, hold.seen) == (["0"], 2)
    fakekube.settle()
    assert seen == ["0", "1"]


def test_a_held_watch_that_falls_behind_the_history_lists_again(fakekube):
    seen = []
    fakekube.apply(config_map("a"))
    operator = fakekube.start(build(reads(seen)))
    with fakekube.faults.hold_watches(operator):
        write(fakekube, 1)
        fakekube.faults.compact()
        fakekube.advance(10)
        assert seen == ["0"]
    fakekube.advance(10)
    assert seen == ["0", "1"]
    assert [event.kind for event in fakekube.ledger.informer_events if event.again] == ["stream"]


def test_the_watch_of_a_client_with_a_user_agent_is_held(fakekube):
    api = fakekube.access.api_client()
    api.user_agent = "mine/1.0"
    core, seen = client.CoreV1Api(api), []

    def follow():
        stream = official_watch.Watch().stream(core.list_namespaced_config_map, "default")
        seen.extend((event["object"].metadata.name, fakekube.clock.monotonic()) for event in stream)

    fakekube.thread(follow)
    fakekube.settle()
    with fakekube.faults.hold_watches(user_agent="mine*", resource="configmaps") as hold:
        fakekube.apply(config_map("a"))
        fakekube.advance(7)
        assert (seen, hold.seen) == ([], 1)
    fakekube.settle()
    assert seen == [("a", 7)]


async def test_in_an_async_test(fakekube):
    api, seen = Client(fakekube.access.transport(), user_agent="mine/1.0"), []

    async def follow():
        _, _, stream = await api.transport.open_watch("/api/v1/configmaps", headers={"User-Agent": "mine/1.0"})
        async for event in stream:
            name = event["object"]["metadata"]["name"]
            seen.append((name, fakekube.clock.monotonic()))

    fakekube.task(follow())
    await fakekube.settle()
    with fakekube.faults.hold_watches(user_agent="mine*"):
        fakekube.apply(config_map("a"))
        await asyncio.sleep(7)
    await fakekube.settle()
    assert seen[-1] == ("a", 7)


def test_two_holds_end_independently(fakekube):
    seen = []
    fakekube.apply(config_map("a"))
    operator = fakekube.start(build(reads(seen)))
    first = fakekube.faults.hold_watches(operator)
    write(fakekube, 1)
    second = fakekube.faults.hold_watches(operator)
    first.release()
    fakekube.settle()
    assert seen == ["0", "1"]
    write(fakekube, 2)
    fakekube.settle()
    assert seen == ["0", "1"]
    second.release()
    fakekube.settle()
    assert seen == ["0", "1", "2"]


def test_time_passes_while_a_watch_is_held(fakekube):
    fakekube.apply(config_map("a"))
    operator = fakekube.start(build(every(60)))
    with fakekube.faults.hold_watches(operator):
        fakekube.advance(hours=2)  # longer than the watch lasts
        assert operator["minder"].reconciles() == 121
        write(fakekube, 1)
        fakekube.settle()
        assert operator["minder"].reconciles() == 121
    fakekube.settle()
    assert operator["minder"].causes()[-1] == "updated"
