"""Lists, watches and writes of operators, as the server sees them."""

import asyncio
import itertools
import time
from datetime import UTC, datetime

import kopf
import kubernetes
import pytest

from controllerlib import ApiError, Client, Result
from fakekube import FakeKube, HotLoop
from tests.harness.detectors.scenes import read, run, start_kopf, start_program, texts
from tests.harness.planted import API

ROLE = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRole",
    "metadata": {"name": "lists"},
    "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]}],
}
BINDING = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRoleBinding",
    "metadata": {"name": "lists"},
    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "lists"},
    "subjects": [{"kind": "ServiceAccount", "name": "op", "namespace": "default"}],
}


async def nothing(request):
    return None


def test_a_watch_that_is_denied_is_no_polling():
    with FakeKube(rbac=True, detect={"all": "warn", "writes-at-rest": "off"}) as kube:
        kube.apply(ROLE, BINDING)
        kube.start(
            lambda manager: manager.controller("c").for_("v1", "ConfigMap").complete(nothing),
            service_account="default/op",
        )
        kube.advance(600)
        assert len(kube.requests(verb="list", resource="configmaps")) > 10
        (text,) = texts(kube)
        assert text.startswith("[missing-permission] ")
        assert "may not watch configmaps" in text


def test_a_stamp_that_is_the_same_only_because_time_stands_still_is_no_write_without_a_change(kube):
    async def reconcile(request, client):
        found = await read(client, request)
        if not (found.get("status") or {}).get("done"):
            stamp = {"status": {"at": datetime.now(UTC).isoformat()}}
            await client.patch_status(found, stamp)
            await client.patch_status(found, stamp)
            await client.patch_status(found, {"status": {"done": True}})

    run(kube, reconcile)
    assert texts(kube) == []


def listing(kube, seconds, *, start=0):
    async def work():
        await asyncio.sleep(start)
        client = Client(kube.access.transport(), user_agent="poller/1")
        for _ in range(20):
            await client.raw_get("/api/v1/secrets")
            await asyncio.sleep(seconds)

    return work()


def test_m3_lists_are_counted_for_each_task_and_the_task_is_named(kube):
    for number in (1, 2):
        kube.task(listing(kube, 20, start=number), name=f"replica-{number}")
    kube.advance(500)
    assert [text.partition("every")[0] for text in texts(kube)] == [
        f"[poll-list] replica-{number} (poller): lists /api/v1/secrets " for number in (1, 2)
    ]
    assert all(" every 20 s (20 times)" in text for text in texts(kube))


def test_m3_two_tasks_that_list_seldom_are_no_polling(kube):
    for start in (0, 50):
        kube.task(listing(kube, 100, start=start))
    kube.advance(hours=1)
    assert texts(kube) == []


@pytest.mark.parametrize("transport", ["direct", "memory"])
def test_m4_the_operator_of_a_runnable_is_named(transport):
    def build(manager):
        async def publish():
            for _ in range(2):
                await manager.client.patch(CONFIG_MAP, {"metadata": {"labels": {"x": "y"}}})
                await asyncio.sleep(60)
            await asyncio.Event().wait()

        manager.add(publish)

    with FakeKube(detect={"all": "warn"}, transport=transport) as kube:
        kube.apply(CONFIG_MAP)
        kube.start(build, name="lab")
        kube.advance(120)
        (text,) = texts(kube)
    assert text.startswith("[noop-write] lab (controllerlib): patch configmaps default/x -> 200 changed nothing")


CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "namespace": "default"}}


def updating(kube, again):
    """A program whose update gets a conflict, and what it does then."""

    async def work():
        client = Client(kube.access.transport(), user_agent="writer/1")
        found = await client.get("v1", "ConfigMap", "x", "default")
        await asyncio.sleep(1)
        try:
            await client.update({**found, "data": {"a": "1"}})
        except ApiError as error:
            assert error.code == 409
            await again(client, found)
        await asyncio.Event().wait()

    kube.apply(CONFIG_MAP)
    kube.task(work(), name="program")
    kube.settle()
    kube.patch("v1", "ConfigMap", "x", {"data": {"b": "2"}})
    kube.advance(2)


async def nowhere(client, found):
    """Ignore the conflict."""


async def after_an_hour(client, found):
    await asyncio.sleep(3600)
    await repeated(client, found)


async def repeated(client, found):
    await client.update({**await client.get("v1", "ConfigMap", "x", "default"), "data": {"a": "1"}})


async def patched(client, found):
    await asyncio.sleep(60)
    await client.patch(found, {"data": {"a": "1"}})


async def read_again(client, found):
    assert (await client.get("v1", "ConfigMap", "x", "default"))["data"] == {"b": "2"}


@pytest.mark.parametrize("again", [nowhere, after_an_hour])
def test_r11_a_conflict_that_is_ignored_without_reconciles(kube, again):
    updating(kube, again)
    kube.advance(hours=2)
    assert texts(kube) == [
        "[unrepeated-conflict] program (writer): update configmaps default/x -> 409 Conflict, and for five minutes the "
        "client has neither written nor read the object again: the write is lost"
    ]


@pytest.mark.parametrize("again", [repeated, patched, read_again])
def test_r11_a_conflict_that_is_answered(kube, again):
    updating(kube, again)
    kube.advance(hours=2)
    assert texts(kube) == []


@pytest.mark.parametrize("end", [lambda kube: kube.advance(60), lambda kube: kube.delete("v1", "ConfigMap", "x")])
def test_r11_a_conflict_of_which_nothing_is_known(kube, end):
    updating(kube, nowhere)
    end(kube)
    assert texts(kube) == []


def test_r11_a_conflict_about_a_deleted_object(kube):
    updating(kube, nowhere)
    kube.delete("v1", "ConfigMap", "x")
    kube.advance(hours=2)
    assert texts(kube) == []


# --- N5: server-side apply is meant to be repeated ---


def applying(**options):
    async def reconcile(request, client):
        await client.apply({**CONFIG_MAP, "data": {"a": "1"}}, field_manager="c", force=True)
        return Result(**options)

    return reconcile


@pytest.mark.slow
def test_n5_the_same_content_that_is_applied_in_each_reconcile(kube):
    run(kube, applying(requeue_after=30), seconds=600)
    assert len(kube.requests(verb="patch")) > 10
    assert texts(kube) == []


def test_n5_the_same_content_that_is_patched_in_each_reconcile(kube):
    async def reconcile(request, client):
        await client.patch(CONFIG_MAP, {"data": {"a": "1"}})
        return Result(requeue_after=30)

    kube.apply(CONFIG_MAP)
    run(kube, reconcile, seconds=600)
    (text,) = texts(kube)
    assert text.startswith("[noop-write] controllerlib/c: patch configmaps default/x -> 200 changed nothing")


@pytest.mark.slow
def test_n5_an_apply_that_changes_nothing_is_no_write_of_a_short_requeue(kube):
    run(kube, applying(requeue_after=0.1))
    (text,) = texts(kube)
    assert text.startswith("[short-requeue] c: default/a was requeued 50 times in a row after less than a second")


def test_n5_a_short_requeue_that_applies_something_new(kube):
    number = itertools.count()

    async def reconcile(request, client):
        data = {"step": str(next(number) // 10)}
        await client.apply({**CONFIG_MAP, "data": data}, field_manager="c", force=True)
        return Result(requeue_after=0.5) if data["step"] != "10" else None

    run(kube, reconcile)
    assert texts(kube) == []


def test_n5_a_hot_loop_of_applies(kube):
    """Each apply has a new number and changes the object that the operator watches."""
    number = itertools.count()

    async def reconcile(request, client):
        status = next(number)
        obj = {"apiVersion": API, "kind": "Database", "metadata": {"name": "a", "namespace": "default"}}
        await client.apply({**obj, "spec": {"size": status}}, field_manager="c", force=True)

    with pytest.raises(HotLoop, match="100 times in reconciles of default/a that its own writes trigger"):
        run(kube, reconcile)


# --- P9: what a watch would have saved


def test_p9_what_a_watch_would_have_saved_is_named(kube):
    kube.task(listing(kube, 20), name="poller")
    kube.advance(500)
    assert texts(kube) == [
        "[poll-list] poller (poller): lists /api/v1/secrets every 20 s (20 times) and does not watch it: a watch would "
        "have saved 18 of these requests; use one, or an informer"
    ]


def test_p9_retries_of_a_reconcile_do_not_poll(kube):
    async def reconcile(request, client):
        await client.raw_get("/api/v1/secrets")
        raise ConnectionError("backend")

    run(kube, reconcile, seconds=600)
    assert [text.partition("]")[0] for text in texts(kube)] == ["[reconcile-error"]


@pytest.mark.slow
def test_p9_retries_of_a_handler_of_kopf_do_not_poll(kube):
    """It waits for its pods with a retry, and kopf writes its progress each time."""

    def register(registry):
        @kopf.on.create(*API.split("/"), "databases", registry=registry)
        def handle(**_):
            kubernetes.config.load_kube_config()
            kubernetes.client.CoreV1Api().list_namespaced_secret("default")
            raise kopf.TemporaryError("not yet", delay=10)

    start_kopf(kube, register, seconds=3600)
    assert len(kube.requests(verb="list", resource="secrets")) > 300
    assert texts(kube) == []


@pytest.mark.slow
@pytest.mark.parametrize(("seconds", "expected"), [(5, True), (60, False)])
def test_p9_a_timer_of_kopf_that_polls(kube, seconds, expected):
    """Each five seconds, a watch would save 700 requests in an hour; each minute, it would hardly save any."""

    def register(registry):
        @kopf.timer(*API.split("/"), "databases", interval=seconds, registry=registry)
        def handle(**_):
            kubernetes.config.load_kube_config()
            kubernetes.client.CoreV1Api().list_namespaced_secret("default")

    start_kopf(kube, register, seconds=3600)
    assert [text.partition("]")[0] for text in texts(kube)] == (["[poll-list"] if expected else [])


@pytest.mark.slow
@pytest.mark.parametrize(("changes", "expected"), [(False, True), (True, False)])
def test_p9_a_program_that_polls_what_changes_all_the_time(kube, changes, expected):
    """Polling every second what others change every second costs no more than a watch."""

    def program(api):
        while True:
            api.list_namespaced_secret("default")
            time.sleep(1)

    start_program(kube, program, seconds=0)
    for number in range(60):
        if changes:
            kube.apply({**CONFIG_MAP, "kind": "Secret", "stringData": {"n": str(number)}})
        kube.advance(1)
    assert [text.partition("]")[0] for text in texts(kube)] == (["[poll-list"] if expected else [])
