"""The same operator by calls, over HTTP through a pipe, and over HTTP through the kernel, with the same results."""

from datetime import timedelta

import pytest
import yaml

from controllerlib import ApiError, Manager, Result
from controllerlib.controller import generation_changed
from fakekube import FakeKube
from tests.clients.servers import GADGETS

pytestmark = pytest.mark.slow

API, KIND = "example.com/v1", "Gadget"

TRANSPORTS = ["direct", "memory", "tcp"]


def gadget(name, **spec):
    return {"apiVersion": API, "kind": KIND, "metadata": {"name": name, "namespace": "default"}, "spec": spec}


def build(manager: Manager) -> None:
    async def reconcile(request, client):
        found = await client.get(API, KIND, request.name, namespace=request.namespace)
        seen = found.get("status", {}).get("seen", 0)
        if seen == 0:
            child = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"{request.name}-child"}}
            child["metadata"] |= {"namespace": request.namespace, "ownerReferences": [owner_of(found)]}
            try:
                await client.create({**child, "data": {"size": f"größe {found['spec']['size']}"}})
            except ApiError as error:
                if error.reason != "AlreadyExists":
                    raise
        await client.patch_status(found, {"status": {"seen": seen + 1}})
        return Result(requeue_after=600)

    manager.controller("gadgets").for_(API, KIND, predicates=[generation_changed]).complete(reconcile)


def owner_of(found):
    meta = found["metadata"]
    return {"apiVersion": API, "kind": KIND, "name": meta["name"], "uid": meta["uid"], "controller": True}


def run(kube, act):
    """What the operator did, and what the server was asked."""
    with kube:
        kube.apply(yaml.safe_load(GADGETS.read_text()), gadget("a", size=1), gadget("b", size=2))
        kube.start(build)
        act(kube)
        start = kube.clock.epoch
        reconciles = [(r.key, r.cause, r.started, r.label, len(r.writes)) for r in kube.ledger]
        writes = [(r.verb, r.path, r.code) for r in kube.requests() if r.verb in ("create", "patch")]
        objects = [
            (found["metadata"]["name"], found.get("status"), found.get("data"))
            for kind in ((API, KIND), ("v1", "ConfigMap"))
            for found in kube.list(*kind)
        ]
        return reconciles, writes, objects, start


def an_hour(kube):
    kube.advance(hours=1)


def trouble(kube):
    with kube.fault(verb="patch", resource="gadgets", error=409, times=2):
        kube.advance(minutes=15)
    with kube.fault(verb="patch", resource="gadgets", error=500, times=1):
        kube.advance(minutes=15)


def lost_watches(kube):
    kube.advance(minutes=5)
    kube.faults.cut_watches()
    kube.create(gadget("c", size=3))
    kube.advance(minutes=5)
    kube.faults.cut_watches()
    kube.faults.compact()
    kube.create(gadget("d", size=4))
    kube.advance(minutes=5)


def a_slow_server(kube):
    with kube.fault(verb="patch", resource="gadgets", delay=5):
        kube.advance(minutes=30)


@pytest.mark.parametrize("act", [an_hour, trouble, lost_watches, a_slow_server])
def test_the_ledger_does_not_depend_on_the_transport(act):
    calls, pipe, kernel = (run(FakeKube(seed=1, transport=transport), act) for transport in TRANSPORTS)
    assert len(calls[0]) > 5
    assert pipe == calls
    assert kernel == calls


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_where_access_is_checked_the_operator_is_the_administrator(transport):
    reconciles, writes, objects, _ = run(FakeKube(seed=1, rbac=True, transport=transport), an_hour)
    assert {label for _, _, _, label, _ in reconciles} == {"requeue_after"}
    assert all(code < 400 for _, _, code in writes)
    assert [name for name, *_ in objects] == ["a", "b", "a-child", "b-child"]


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_connection_that_breaks_is_an_error_of_the_reconcile(transport):
    def act(kube):
        with kube.fault(verb="patch", resource="gadgets", reset="before", times=1):
            kube.advance(minutes=11)

    reconciles, _, _, start = run(FakeKube(seed=1, transport=transport), act)
    (broken,) = [(key, cause) for key, cause, _, label, _ in reconciles if label == "error"]
    assert broken[1] == "requeue_after"
    assert any(key == broken[0] and cause == "retry" for key, cause, _, _, _ in reconciles)
    assert max(at for _, _, at, _, _ in reconciles) - start < timedelta(minutes=11)


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_stopping_leaves_no_connection(transport):
    with FakeKube(seed=1, transport=transport) as kube:
        kube.apply(yaml.safe_load(GADGETS.read_text()))
        operator = kube.start(build)
        assert "watches=1" in repr(kube)
        kube.stop(operator)
        assert "watches=0" in repr(kube)


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_large_objects_pass(transport):
    with FakeKube(seed=1, transport=transport) as kube:
        kube.apply(yaml.safe_load(GADGETS.read_text()))
        kube.start(build)
        kube.create(gadget("a", size=1, colour="x" * 1_000_000))
        kube.settle()
        assert kube.get(API, KIND, "a")["status"]["seen"] == 1


@pytest.mark.fakekube(transport="memory")
async def test_an_async_test_over_a_pipe(fakekube):
    await followed(fakekube)


@pytest.mark.fakekube(transport="tcp")
async def test_an_async_test_through_the_kernel(fakekube):
    await followed(fakekube)


async def followed(kube):
    kube.apply(yaml.safe_load(GADGETS.read_text()), gadget("a", size=1))
    controller = (await kube.start(build))["gadgets"]
    await kube.advance(hours=1)
    assert kube.get(API, KIND, "a")["status"]["seen"] == controller.reconciles("default/a")
    assert controller.causes("default/a").count("requeue_after") == 6
