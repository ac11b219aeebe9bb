"""The operator of `kopf_handlers.py`: each kind of handler at its times, with calls of the official client."""

import kopf
import pytest

from tests.operators import kopf_handlers
from tests.operators.definitions import definition

API = "example.com/v1"
HOUR = 3600

#: its async handlers call a blocking client
pytestmark = pytest.mark.fakekube(configure=True, detect={"blocking-request": "off"})


def database(name="a", **spec):
    meta = {"name": name, "namespace": "default"}
    return {"apiVersion": API, "kind": "Database", "metadata": meta, "spec": spec}


def start(kube):
    kube.apply(definition("databases.example.com", "Database", "v1", subresources={"status": {}}))
    operator = kopf.operator(registry=kopf_handlers.registry, namespaces=["default"], standalone=True)
    return kube.task(operator, name="kopf-handlers")


def scenario(kube):
    start(kube)
    kube.create(database(size="1"))
    kube.advance(hours=2)
    kube.patch(API, "Database", "a", {"spec": {"size": "2"}})
    kube.advance(hours=2)
    kube.delete(API, "Database", "a")
    kube.advance(minutes=5)


def times(kube, verb, resource, code=None):
    """When the handlers have made such a request, in seconds."""
    found = kube.requests(verb=verb, resource=resource)
    return [round(r.at) for r in found if r.user_agent.startswith("OpenAPI-Generator") and code in (None, r.code)]


@pytest.mark.slow
def test_each_handler_has_its_times(fakekube):
    start(fakekube)
    fakekube.create(database(size="1"))
    fakekube.advance(hours=6)

    assert times(fakekube, "create", "configmaps") == [5]
    assert times(fakekube, "create", "jobs") == list(range(600, 6 * HOUR, HOUR))
    assert times(fakekube, "list", "endpoints") == list(range(0, 6 * HOUR + 1, 900))
    assert times(fakekube, "list", "pods") == list(range(0, 6 * HOUR + 1, 1200))
    checked = [now["status"]["checked"] for _, now in fakekube.state.versions(API, "Database", "a") if "status" in now]
    began = fakekube.clock.epoch.timestamp()
    assert sorted({round(at - began) for at in checked}) == list(range(0, 6 * HOUR + 1, 1800))


@pytest.mark.slow
def test_a_change_is_tried_again_after_two_minutes(fakekube):
    start(fakekube)
    fakekube.create(database(size="1"))
    fakekube.advance(hours=1)
    fakekube.patch(API, "Database", "a", {"spec": {"size": "2"}})
    fakekube.advance(minutes=10)
    # 30 s of work, a failure, 120 s, 30 s of work
    assert times(fakekube, "patch", "configmaps") == [HOUR + 180]
    assert fakekube.get("v1", "ConfigMap", "a")["data"] == {"size": "2"}


@pytest.mark.slow
def test_a_deleted_object_ends_its_timers_and_daemons(fakekube):
    start(fakekube)
    fakekube.create(database(size="1"))
    fakekube.advance(hours=2)
    fakekube.delete(API, "Database", "a")
    fakekube.advance(minutes=1)
    assert not fakekube.exists(API, "Database", "a")
    assert not fakekube.exists("v1", "ConfigMap", "a")
    before = len(fakekube.requests())
    fakekube.advance(seconds=60)
    assert [r for r in fakekube.requests()[before:] if r.verb != "watch"] == []


def test_a_handler_that_fails_is_retried_after_a_minute(fakekube):
    start(fakekube)
    with fakekube.fault(verb="create", resource="configmaps", error=500, times=2):
        fakekube.create(database(size="1"))
        fakekube.advance(minutes=5)
    assert times(fakekube, "create", "configmaps", 500) == [5, 70]
    assert times(fakekube, "create", "configmaps", 201) == [135]


@pytest.mark.slow
def test_cancelled_it_ends_daemons_and_timers(fakekube):
    operator = start(fakekube)
    fakekube.create(database(size="1"))
    fakekube.advance(hours=1)
    operator.cancel()
    fakekube.settle()
    before = len(fakekube.requests())
    fakekube.advance(hours=6)
    assert operator.done()
    assert fakekube.requests()[before:] == []
