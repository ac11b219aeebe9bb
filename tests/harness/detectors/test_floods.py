"""event-flood, partial-list and expired-watch: clients that ask or write without end, or do not read to the end."""

import itertools
import time

import kopf
import kubernetes
import pytest

from controllerlib import Client, Result
from fakekube import HotLoop
from tests.harness.detectors.scenes import found, read, run, start_kopf, start_program, texts
from tests.harness.planted import API, CRD, database

# --- event-flood


def event(number, name="a"):
    meta = {"name": f"{name}-{number}", "namespace": "default"}
    about = {"apiVersion": API, "kind": "Database", "name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "Event", "metadata": meta, "involvedObject": about, "reason": "Seen"}


def recording(each, interval):
    """Records so many Events in each reconcile."""
    numbers = itertools.count()

    async def reconcile(request, client):
        for _ in range(each):
            await client.create(event(next(numbers)))
        return Result(requeue_after=interval)

    return reconcile


@pytest.mark.slow
def test_thousands_of_events_of_one_object(kube):
    run(kube, recording(20, 10), seconds=1200)
    (text,) = texts(kube)
    assert text.startswith(
        "[event-flood] controllerlib/c: has recorded 1000 Events of Database a within 490 s, the last with the reason "
        "Seen, in c reconciling default/a [requeue_after]: a cluster keeps each of them for an hour"
    )


@pytest.mark.slow
def test_events_of_progress_for_a_day(kube):
    """One in half a minute is much, but no flood: those of an hour ago are gone."""
    run(kube, recording(1, 30), seconds=86_400)
    assert len(kube.requests(verb="create", resource="events")) > 2500
    assert found(kube) == []


@pytest.mark.slow
def test_an_event_of_each_of_many_objects(kube):
    async def reconcile(request, client):
        for number in range(1200):
            await client.create(event(0, f"b-{number}"))

    run(kube, reconcile)
    assert found(kube) == []


@pytest.mark.slow
@pytest.mark.parametrize(("pause", "expected"), [(1, ["event-flood"]), (30, [])])
def test_events_of_the_official_client(kube, pause, expected):
    def program(api):
        for number in itertools.count():
            api.create_namespaced_event("default", event(number))
            time.sleep(pause)

    start_program(kube, program, seconds=3600)
    assert found(kube) == expected


@pytest.mark.slow
@pytest.mark.parametrize(("each", "expected"), [(1200, ["event-flood"]), (5, [])])
def test_events_of_a_handler_of_kopf(kube, each, expected):
    def register(registry):
        @kopf.on.create(*API.split("/"), "databases", registry=registry)
        async def created(body, **_):
            for number in range(each):
                kopf.event(body, type="Normal", reason="Seen", message=str(number))

    start_kopf(kube, register)
    assert found(kube) == expected


# --- partial-list


def many(kube, number=12):
    kube.apply(*({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"m{n:02}"}} for n in range(number)))


def listing(limit, *, pages=1):
    def program(api):
        token = None
        for _ in range(pages):
            found = api.list_namespaced_config_map("default", limit=limit, _continue=token)
            token = found.metadata._continue

    return program


def test_the_first_page_only(kube):
    many(kube)
    start_program(kube, listing(5))
    assert texts(kube) == [
        "[partial-list] program (OpenAPI-Generator): lists /api/v1/namespaces/default/configmaps with limit=5 and never "
        "reads on with the `continue` of the answer: 7 objects were left out; read all pages, or list without a limit"
    ]


@pytest.mark.parametrize(
    ("limit", "pages"), [(1, 1), (500, 1), (5, 2), (5, 3)], ids=["any", "all", "until found", "all pages"]
)
def test_lists_with_a_limit_that_are_enough(kube, limit, pages):
    many(kube)
    start_program(kube, listing(limit, pages=pages))
    assert found(kube) == []


@pytest.mark.parametrize(("limit", "expected"), [(5, ["partial-list"]), (500, [])])
def test_a_list_of_a_reconcile(kube, limit, expected):
    many(kube)

    async def reconcile(request, client):
        await read(client, request)
        await client.raw_get("/api/v1/namespaces/default/configmaps", [("limit", str(limit))])

    run(kube, reconcile)
    assert found(kube) == expected


@pytest.mark.parametrize(("pages", "expected"), [(1, ["partial-list"]), (3, [])])
def test_a_list_of_a_handler_of_kopf(kube, pages, expected):
    many(kube)

    def register(registry):
        @kopf.on.create(*API.split("/"), "databases", registry=registry)
        def created(**_):
            kubernetes.config.load_kube_config()
            listing(5, pages=pages)(kubernetes.client.CoreV1Api())

    start_kopf(kube, register)
    assert found(kube) == expected


# --- expired-watch

AGENT = {"User-Agent": "watcher/1"}


def watching(kube, times, *, pause=1.0, lists=False):
    """Watches from an expired resourceVersion."""

    async def work():
        client = Client(kube.access.transport(), user_agent="watcher/1")
        version = "1"
        for number in range(times):
            query = [("watch", "1"), ("resourceVersion", version)]
            code, _, _ = await client.transport.open_watch("/api/v1/secrets", query=query, headers=AGENT)
            assert code == 200  # an ERROR event follows
            if lists and number % 3 == 2:
                await client.raw_get("/api/v1/secrets")
            if pause:
                await kube.clock.sleep_until(kube.clock.monotonic() + pause)

    return work()


def test_a_watch_that_never_lists_again(kube):
    kube.faults.compact()
    kube.task(watching(kube, 20), name="watcher")
    kube.advance(60)
    assert texts(kube) == [
        "[expired-watch] watcher (watcher): watches /api/v1/secrets from the expired resourceVersion 1 again and again (5 "
        "times within 4 s), and gets 410 each time: it never sees a change again; list anew, and watch from the "
        "resourceVersion of the list"
    ]


@pytest.mark.slow
def test_a_watch_that_never_lists_again_and_never_waits(kube):
    kube.faults.compact()
    kube.task(watching(kube, 1000, pause=0), name="watcher")
    with pytest.raises(HotLoop, match="from the expired resourceVersion 1 again and again"):
        kube.advance(60)


@pytest.mark.parametrize("options", [{"times": 4}, {"times": 20, "lists": True}], ids=["some tries", "with lists"])
def test_watches_that_are_tried_again_and_listed(kube, options):
    kube.faults.compact()
    kube.task(watching(kube, **options), name="watcher")
    kube.advance(60)
    assert found(kube) == []


@pytest.mark.slow
def test_informers_and_kopf_after_a_compaction(kube):
    """Both list when a watch has expired."""

    async def reconcile(request, client):
        await read(client, request)

    start_kopf(kube, lambda registry: kopf.on.event(*API.split("/"), "databases", registry=registry)(lambda **_: None))
    run(kube, reconcile)
    for _ in range(8):
        with kube.faults.disturb_watches(resource="databases", gone_after=0, times=2):
            kube.patch(API, "Database", "a", {"spec": {"size": 1}})
            kube.faults.compact()
            kube.advance(700)
    assert "expired-watch" not in found(kube)


@pytest.mark.slow
def test_the_official_client_with_a_fixed_version(kube):
    def program(api, lists):
        while True:
            version = api.list_namespaced_config_map("default").metadata.resource_version if lists else "1"
            try:
                for _ in kubernetes.watch.Watch().stream(
                    api.list_namespaced_config_map, "default", resource_version=version, timeout_seconds=60
                ):
                    pass
            except kubernetes.client.exceptions.ApiException as error:
                assert error.status == 410
            time.sleep(10)

    kube.faults.compact()
    kube.apply(CRD, database())
    start_program(kube, program, True, seconds=600)
    assert found(kube) == []
    start_program(kube, program, False, seconds=600)
    assert found(kube) == ["expired-watch"]
