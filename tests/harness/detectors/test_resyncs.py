"""Changes that an operator makes only because of a resync, by the verb and by what the store has changed."""

from datetime import UTC, datetime

import pytest

from tests.harness.detectors.scenes import read, run, texts

DAY = 86_400


def now():
    return datetime.now(UTC)


def secret(**data):
    meta = {"name": "a", "namespace": "default"}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "stringData": data}


async def applied(client, found, value):
    await client.apply(secret(token=value), field_manager="c", force=True)


async def patched(client, found, value):
    if (found.get("status") or {}).get("phase") != value:
        await client.patch_status(found, {"status": {"phase": value}})


async def patched_always(client, found, value):
    await client.patch_status(found, {"status": {"phase": value}})


async def updated(client, found, value):
    if (found.get("status") or {}).get("phase") != value:
        await client.update_status({**found, "status": {"phase": value}})


def rotating(write, *, value=lambda hours: "late" if hours > 1 else "early"):
    """An operator that forgets to requeue a key whose object changes with time."""
    began = now()

    async def reconcile(request, client):
        await write(client, await read(client, request), value((now() - began).total_seconds() / 3600))

    return reconcile


@pytest.mark.parametrize("write", [applied, patched, patched_always, updated])
def test_r1_a_change_that_only_a_resync_makes(kube, write):
    run(kube, rotating(write), seconds=DAY)
    (text,) = (text for text in texts(kube) if "resync-write" in text)
    assert text.startswith("[resync-write] c reconciling default/a [resync] made ")
    assert "although nothing had changed" in text


@pytest.mark.parametrize("write", [applied, patched, patched_always, updated])
def test_r1_a_write_that_changes_nothing(kube, write):
    run(kube, rotating(write, value=lambda hours: "same"), seconds=DAY)
    assert not any("resync-write" in text for text in texts(kube))


@pytest.mark.parametrize("write", [applied, patched_always, updated])
def test_r1_a_write_of_the_present_time(kube, write):
    run(kube, rotating(write, value=lambda hours: now().isoformat()), seconds=DAY)
    assert not any("resync-write" in text for text in texts(kube))


def test_r1_a_write_of_the_present_time_and_of_what_was_measured(kube):
    async def reconcile(request, client):
        status = {"checked": now().isoformat(), "load": str(now().hour)}
        await client.patch_status(await read(client, request), {"status": status})

    run(kube, reconcile, seconds=DAY)
    assert not any("resync-write" in text for text in texts(kube))


def test_r1_a_change_of_a_condition(kube):
    async def conditioned(client, found, value):
        one = {"type": "Ready", "status": value, "lastTransitionTime": now().strftime("%Y-%m-%dT%H:%M:%SZ")}
        before = (found.get("status") or {}).get("conditions") or [{}]
        if before[0].get("status") != value:
            await client.patch_status(found, {"status": {"conditions": [one]}})

    run(kube, rotating(conditioned), seconds=DAY)
    assert any("resync-write" in text for text in texts(kube))


def test_r1_a_change_while_a_fault_is_active(kube):
    kube.fault(verb="get", resource="secrets", error=503)
    run(kube, rotating(patched), seconds=DAY)
    assert not any("resync-write" in text for text in texts(kube))
