"""Operators without reconciles of controllerlib that trigger themselves."""

import asyncio
from datetime import UTC, datetime

import kubernetes_asyncio
import pytest

from fakekube import FakeKube, HotLoop
from tests.harness.detectors.scenes import found, texts
from tests.harness.planted import API, CRD, database

GROUP, VERSION = API.split("/")
PLACE = (GROUP, VERSION, "default", "databases")


async def operate(respond, writes_as=None):
    """Calls `respond` with each event's object; a status that it returns is written, by a User-Agent of its own."""
    await kubernetes_asyncio.config.load_kube_config()
    async with kubernetes_asyncio.client.ApiClient() as api, kubernetes_asyncio.client.ApiClient() as other:
        other.user_agent = writes_as or other.user_agent
        reads, databases = (kubernetes_asyncio.client.CustomObjectsApi(one) for one in (api, other))
        async with kubernetes_asyncio.watch.Watch() as watch:
            async for event in watch.stream(reads.list_namespaced_custom_object, *PLACE):
                status = await respond(event["raw_object"])
                if status is not None:
                    await databases.patch_namespaced_custom_object_status(
                        *PLACE, "a", {"status": status}, _content_type="application/merge-patch+json"
                    )


def run(kube, respond, seconds=60, **options):
    kube.apply(CRD)
    kube.access.configure()
    kube.task(operate(respond, **options))
    kube.advance(1)
    kube.apply(database())
    kube.advance(seconds)


def now():
    return datetime.now(UTC).isoformat()


def counting(delay=0):
    async def respond(seen):
        if delay:
            await asyncio.sleep(delay)
        return {"seen": (seen.get("status") or {}).get("seen", 0) + 1}

    return respond


@pytest.mark.slow
def test_a_hot_loop_ends_after_a_hundred_writes(kube):
    with pytest.raises(
        HotLoop, match=r"has written \S+/databases/a/status 100 times in a row within 0 s.*\.status\.seen"
    ):
        run(kube, counting())
    assert len(kube.requests(verb="patch")) < 110


@pytest.mark.slow
def test_a_hot_loop_of_an_operator_that_watches_and_writes_with_two_clients(kube):
    with pytest.raises(HotLoop, match="100 times in a row within 0 s"):
        run(kube, counting(), writes_as="another")
    assert len(kube.requests(verb="patch")) < 110


@pytest.mark.slow
def test_a_slow_loop(kube):
    run(kube, counting(0.05))
    (text,) = texts(kube)
    assert text.startswith("[hot-loop] ")
    assert "/databases/a/status 100 times in a row within 4.95 s, and watches it" in text


@pytest.mark.slow
def test_a_slow_loop_of_the_time(kube):
    async def respond(seen):
        await asyncio.sleep(0.05)
        return {"seen": now()}

    run(kube, respond)
    assert found(kube) == ["hot-loop"]


def test_the_time_that_is_written_for_each_event(kube):
    async def respond(seen):
        return {"seen": now()}

    run(kube, respond)
    (text,) = texts(kube)
    assert text.startswith("[timestamp-loop] ")
    assert (
        "writes the present time to .status.seen of /apis/planted.example.com/v1/namespaces/default/databases/a" in text
    )


@pytest.mark.slow
def test_the_time_of_a_change(kube):
    async def respond(seen):
        return {"seen": now()} if "status" not in seen else None

    run(kube, respond)
    assert texts(kube) == []


@pytest.mark.slow
def test_many_steps_with_different_texts(kube):
    """A state machine that other clients would see, too: slower than at one instant, and no counter."""

    async def respond(seen):
        await asyncio.sleep(0.5)
        step = len((seen.get("status") or {}).get("steps", ""))
        return {"steps": "x" * (step + 1)} if step < 150 else None

    run(kube, respond, seconds=100)
    assert texts(kube) == []


@pytest.mark.slow
def test_a_heartbeat_of_each_second(kube):
    async def beat():
        async with kubernetes_asyncio.client.ApiClient() as api:
            databases = kubernetes_asyncio.client.CustomObjectsApi(api)
            for _ in range(150):
                await databases.patch_namespaced_custom_object_status(
                    *PLACE, "a", {"status": {"beat": now()}}, _content_type="application/merge-patch+json"
                )
                await asyncio.sleep(2)

    async def respond(seen):
        return None

    run(kube, respond)
    kube.task(beat())
    kube.advance(400)
    assert texts(kube) == []


@pytest.mark.slow
def test_a_hot_loop_where_that_detector_is_off():
    with FakeKube(detect={"hot-loop": "off"}) as kube:

        async def respond(seen):
            times = (seen.get("status") or {}).get("seen", 0)
            return {"seen": times + 1} if times < 150 else None

        run(kube, respond)
        assert len(kube.requests(verb="patch")) == 150
