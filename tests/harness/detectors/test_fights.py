"""N6: two controllers that overwrite each other are both named, with the field and the values, after a hundred rounds."""

import time

import pytest

from fakekube.virtualtime import HotLoop
from tests.harness.operators import config_map


def writes(key, value):
    async def reconcile(request, client):
        found = await client.get("v1", "ConfigMap", request.name, request.namespace)
        if (found.get("data") or {}).get(key) != value:
            await client.patch(found, {"data": {key: value}})

    return reconcile


def two(first, second):
    def add(manager):
        for name, reconcile in (("first", first), ("second", second)):
            manager.controller(name).for_("v1", "ConfigMap").complete(reconcile)

    return add


def one(name, reconcile):
    return lambda manager: manager.controller(name).for_("v1", "ConfigMap").complete(reconcile)


FIGHT = (
    r"'first' and 'second' overwrite each other's values in configmaps default/a: 'first' sets \.data\.mode to 'on', "
    r"'second' to 'off'; 100 times each, and each write triggers the other|"
    r"'second' and 'first' overwrite each other's values in configmaps default/a: 'second' sets \.data\.mode to 'off', "
    r"'first' to 'on'; 100 times each, and each write triggers the other"
)


def test_n6_two_controllers_of_one_operator(fakekube):
    fakekube.create(config_map("a"))
    with pytest.raises(HotLoop, match=FIGHT):
        fakekube.start(two(writes("mode", "on"), writes("mode", "off")))
    assert 200 < sum(1 for one in fakekube.requests(verb="patch")) < 210


@pytest.mark.slow
def test_n6_two_operators_with_controllers_of_one_name(fakekube):
    fakekube.create(config_map("a"))
    fakekube.start(one("minder", writes("mode", "on")), name="left")
    with pytest.raises(HotLoop, match=r"'minder' of (left|right) and 'minder' of (left|right) overwrite each other's"):
        fakekube.start(one("minder", writes("mode", "off")), name="right")


async def test_n6_a_field_that_the_other_removes(fakekube):
    async def removes(request, client):
        found = await client.get("v1", "ConfigMap", request.name, request.namespace)
        if "mode" in (found.get("data") or {}):
            await client.patch(found, {"data": {"mode": None}})

    fakekube.create(config_map("a"))
    with pytest.raises(HotLoop, match=r"\.data\.mode to absent"):
        await fakekube.start(two(writes("mode", "on"), removes))


def minding(fakekube, value, agent=None):
    from kubernetes import client, watch

    def operate():
        core = client.CoreV1Api(fakekube.access.api_client())
        core.api_client.user_agent = agent or core.api_client.user_agent
        for event in watch.Watch().stream(core.list_namespaced_config_map, "default"):
            found = event["object"]
            if event["type"] != "DELETED" and (found.data or {}).get("mode") != value:
                core.patch_namespaced_config_map(found.metadata.name, "default", {"data": {"mode": value}})

    return operate


@pytest.mark.slow
def test_n6_clients_without_reconciles(fakekube):
    fakekube.create(config_map("a"))
    fakekube.thread(minding(fakekube, "on"), name="left")
    fakekube.thread(minding(fakekube, "off"), name="right")
    with pytest.raises(HotLoop, match=r"'(left|right)' and '(left|right)' overwrite each other's values in configmaps"):
        fakekube.settle()


@pytest.mark.slow
@pytest.mark.parametrize("agents", [(None, None), ("agent-a", "agent-b")])
def test_threads_of_one_function_are_two_writers(fakekube, agents):
    fakekube.create(config_map("a"))
    for value, agent in zip(("on", "off"), agents, strict=True):
        fakekube.thread(minding(fakekube, value, agent))
    with pytest.raises(
        HotLoop, match=r"one program named '\S+operate' and another program named '\S+operate' overwrite each other's"
    ):
        fakekube.settle()


@pytest.mark.slow
def test_slow_threads_of_one_function_are_two_writers(fakekube):
    from kubernetes import client

    def repair(value):
        core = client.CoreV1Api(fakekube.access.api_client())
        while True:
            if core.read_namespaced_config_map("a", "default").data["mode"] != value:
                core.patch_namespaced_config_map("a", "default", {"data": {"mode": value}})
            time.sleep(0.4)

    fakekube.create(config_map("a", mode="none"))
    fakekube.thread(repair, "on")
    fakekube.advance(0.2)
    fakekube.thread(repair, "off")
    with pytest.raises(HotLoop, match=r"\.data\.mode to 'o\w+', another program named '\S+repair' to 'o"):
        fakekube.advance(minutes=20)


# --- what is none


def test_n6_an_operator_that_repairs_what_the_test_changes_is_fine(fakekube):
    fakekube.create(config_map("a"))
    fakekube.start(one("minder", writes("mode", "on")))
    for _ in range(150):
        fakekube.patch("v1", "ConfigMap", "a", {"data": {"mode": "off"}})
        fakekube.settle()
    assert fakekube.get("v1", "ConfigMap", "a")["data"] == {"mode": "on"}


def counts(mine, other, last):
    async def reconcile(request, client):
        found = await client.get("v1", "ConfigMap", request.name, request.namespace)
        data = {"first": "0", "second": "0", **(found.get("data") or {})}
        behind = int(data[mine]) < int(data[other]) or (mine == "first" and data[mine] == data[other])
        if behind and int(data[mine]) < last:
            await client.patch(found, {"data": {mine: str(int(data[mine]) + 1)}})

    return reconcile


def test_n6_controllers_that_take_turns_until_they_are_done_are_fine(fakekube):
    fakekube.create(config_map("a"))
    fakekube.start(two(counts("first", "second", 150), counts("second", "first", 150)))
    assert fakekube.get("v1", "ConfigMap", "a")["data"] == {"first": "150", "second": "150"}


@pytest.mark.slow
def test_n6_it_can_be_switched_off(fakekube):
    """Then the loop is found later, as any other."""
    from fakekube import FakeKube

    fakekube.close()
    with FakeKube(detect={"hot-loop": "off"}) as kube:
        kube.create(config_map("a"))
        with pytest.raises(HotLoop, match="more than 1000 times within one virtual second"):
            kube.start(two(writes("mode", "on"), writes("mode", "off")))
