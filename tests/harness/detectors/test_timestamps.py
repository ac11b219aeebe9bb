"""Operators that write the present time, in tests in which other things happen, too."""

import time
from datetime import UTC, datetime, timedelta

import pytest

from controllerlib import Result, create_or_update, set_controller_reference
from tests.harness.detectors.scenes import found, read, resize, run, texts
from tests.harness.planted import API


def now():
    return datetime.now(UTC).isoformat()


def reporting(desired):
    """Writes a status if it differs from the present one."""

    async def reconcile(request, client):
        seen = await read(client, request)
        status = desired(seen)
        if seen.get("status") != status:
            await client.update_status({**seen, "status": status})

    return reconcile


def ready(changed):
    return {"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": changed}]}


@pytest.mark.parametrize(
    "desired",
    [
        lambda seen: {"checked": now()},
        lambda seen: {"checked": str(datetime.now(UTC))},
        lambda seen: {"checked": int(time.time() * 1000)},
        lambda seen: ready(now()),
    ],
    ids=["rfc3339", "str", "milliseconds", "lastTransitionTime"],
)
@pytest.mark.parametrize("changes", [0, 1, 2])
def test_a_status_with_the_time_that_is_compared_with_the_old_one(kube, desired, changes):
    run(kube, reporting(desired))
    for size in range(changes):
        resize(kube, size + 2)
        kube.advance(60)
    assert found(kube) == ["timestamp-loop"]


def test_a_child_with_the_time(kube):
    async def reconcile(request, client):
        owner = await read(client, request)
        child = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "namespace": request.namespace}}

        def mutate(child):
            child["metadata"] = set_controller_reference(owner, child)["metadata"]
            child["data"] = {"generated": now()}

        await create_or_update(client, child, mutate)

    run(kube, reconcile, owns=[("v1", "ConfigMap")])
    (text,) = texts(kube)
    assert "writes the present time to .data.generated of /api/v1/namespaces/default/configmaps/x" in text


def test_the_time_of_the_last_change(kube):
    def desired(seen):
        old = seen.get("status") or {}
        size = seen["spec"]["size"]
        return {"size": size, "changed": old["changed"] if old.get("size") == size else now()}

    run(kube, reporting(desired))
    resize(kube)
    kube.advance(60)
    resize(kube, 3)
    assert texts(kube) == []


def test_a_transition_that_time_alone_causes(kube):
    """The condition changes 90 seconds after the creation, at the latest when the object is reconciled once more."""

    def desired(seen):
        created = datetime.fromisoformat(seen["metadata"]["creationTimestamp"])
        status = str(datetime.now(UTC) >= created + timedelta(seconds=90))
        old = ((seen.get("status") or {}).get("conditions") or [{}])[0]
        changed = old["lastTransitionTime"] if old.get("status") == status else now()
        return {"conditions": [{"type": "Ready", "status": status, "lastTransitionTime": changed}]}

    run(kube, reporting(desired), seconds=89.5)
    assert texts(kube) == []


def test_a_heartbeat_that_is_due_when_everything_is_reconciled_once_more(kube):
    async def reconcile(request, client):
        seen = await read(client, request)
        last = (seen.get("status") or {}).get("beat")
        if last is None or datetime.now(UTC) - datetime.fromisoformat(last) >= timedelta(seconds=60):
            await client.update_status({**seen, "status": {"beat": now()}})
        return Result(requeue_after=1000)

    run(kube, reconcile, seconds=59.5)
    assert texts(kube) == []


def test_a_status_with_the_time_of_a_deleted_object(kube):
    """Each change of the object was followed by one of the time alone, which nothing but that write had caused."""

    async def reconcile(request, client):
        seen = await client.get(API, "Database", request.name, request.namespace)
        await client.patch_status(seen, {"status": {"checked": now()}})

    run(kube, reconcile)
    kube.delete(API, "Database", "a")
    kube.advance(1)
    assert "timestamp-loop" in found(kube)


def test_a_status_with_the_time_that_was_compared_of_a_deleted_object(kube):
    async def reconcile(request, client):
        seen = await client.get(API, "Database", request.name, request.namespace)
        if (seen.get("status") or {}).get("checked") != now():
            await client.patch_status(seen, {"status": {"checked": now()}})

    run(kube, reconcile)
    for number in range(3):  # each is followed by a write of the time alone
        kube.patch(API, "Database", "a", {"metadata": {"labels": {"number": str(number)}}})
        kube.advance(1)
    kube.delete(API, "Database", "a")
    kube.advance(1)
    assert "timestamp-loop" in found(kube)
