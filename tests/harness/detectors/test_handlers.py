"""unremoved-finalizer and leaked-handler-task: what operators without reconciles leave behind."""

import asyncio
import time

import kopf
import kubernetes
import pytest

from tests.harness.detectors.scenes import found, resize, start_kopf, start_program, texts
from tests.harness.planted import API

GROUP = (*API.split("/"), "databases")
FINALIZER = "planted.example.com/x"

# --- unremoved-finalizer


def delete(kube, seconds=3600):
    kube.delete(API, "Database", "a")
    kube.advance(seconds)


def adding(on_delete):
    """Handlers of which one adds a finalizer of its own."""

    def register(registry):
        @kopf.on.create(*GROUP, registry=registry)
        def created(patch, meta, **_):
            patch.metadata["finalizers"] = [*meta.get("finalizers", ()), FINALIZER]

        kopf.on.event(*GROUP, registry=registry)(on_delete)

    return register


def test_a_handler_of_kopf_that_never_removes_its_finalizer(kube):
    start_kopf(kube, adding(lambda **_: None))
    delete(kube)
    (text,) = texts(kube)
    assert text.startswith(
        "[unremoved-finalizer] kopf-op (kopf): databases.planted.example.com default/a is being deleted"
    )
    assert f"keeps the finalizer {FINALIZER}, which this client has added (patch databases default/a -> 200)" in text


@pytest.mark.slow
def test_a_handler_of_kopf_that_removes_it(kube):
    def removes(meta, patch, **_):
        if meta.get("deletionTimestamp") and FINALIZER in meta["finalizers"]:
            patch.metadata["finalizers"] = [one for one in meta["finalizers"] if one != FINALIZER]

    start_kopf(kube, adding(removes))
    delete(kube)
    assert found(kube) == []
    assert not kube.exists(API, "Database", "a")


@pytest.mark.slow
@pytest.mark.parametrize("delay", [30, 7200], ids=["polls", "waits for hours"])
def test_a_handler_of_kopf_that_waits(kube, delay):
    def register(registry):
        @kopf.on.delete(*GROUP, registry=registry)
        def deleted(**_):
            raise kopf.TemporaryError("the backup runs", delay=delay)

    start_kopf(kube, register)
    delete(kube)
    assert kube.get(API, "Database", "a")["metadata"]["finalizers"] == ["kopf.zalando.org/KopfFinalizerMarker"]
    assert found(kube) == []


@pytest.mark.slow
def test_a_daemon_of_kopf_that_takes_an_hour_to_stop(kube):
    """kopf looks at it each minute."""

    def register(registry):
        @kopf.daemon(*GROUP, registry=registry, cancellation_timeout=None)
        async def daemon(stopped, **_):
            await stopped.wait()
            await asyncio.sleep(7200)

    start_kopf(kube, register)
    delete(kube)
    assert kube.exists(API, "Database", "a")
    assert found(kube) == []


def locking(removes):
    def program(api):
        databases = kubernetes.client.CustomObjectsApi(api.api_client)
        place = (*API.split("/"), "default", "databases", "a")
        databases.patch_namespaced_custom_object(*place, {"metadata": {"finalizers": ["tools.io/lock"]}})
        for _ in range(60):
            time.sleep(60)
            api.read_namespace("default")
            if removes and databases.get_namespaced_custom_object(*place)["metadata"].get("deletionTimestamp"):
                time.sleep(600)
                databases.patch_namespaced_custom_object(*place, {"metadata": {"finalizers": []}})
                return
        time.sleep(86_400)

    return program


@pytest.mark.parametrize(("removes", "expected"), [(False, ["unremoved-finalizer"]), (True, [])])
def test_a_program_with_the_official_client(kube, removes, expected):
    start_program(kube, locking(removes))
    delete(kube)
    assert found(kube) == expected


def test_a_program_that_has_ended(kube):
    def program(api):
        databases = kubernetes.client.CustomObjectsApi(api.api_client)
        place = (*API.split("/"), "default", "databases", "a")
        databases.patch_namespaced_custom_object(*place, {"metadata": {"finalizers": ["tools.io/lock"]}})

    start_program(kube, program)
    delete(kube)
    assert found(kube) == []


@pytest.mark.slow
def test_an_operator_that_the_test_has_ended(kube):
    task = start_kopf(kube, adding(lambda **_: None))
    kube.delete(API, "Database", "a")
    kube.settle()
    task.cancel()
    kube.advance(3600)
    assert found(kube) == []


def test_a_deletion_of_a_minute_ago(kube):
    start_program(kube, locking(False))
    delete(kube, 60)
    assert found(kube) == []


# --- leaked-handler-task


async def forever():
    while True:  # noqa: ASYNC110 - it never ends
        await asyncio.sleep(60)


async def for_a_minute():
    await asyncio.sleep(60)


def starting(work, *, on=(kopf.on.create,), kept=None):
    kept = [] if kept is None else kept

    def register(registry):
        async def handle(**_):
            kept.append(asyncio.create_task(work()))

        for decorator in on:
            decorator(*GROUP, registry=registry)(handle)

    return register


@pytest.mark.slow
def test_a_task_that_outlives_the_object_of_its_handler(kube):
    start_kopf(kube, starting(forever))
    delete(kube)
    (text,) = texts(kube)
    assert text.startswith(
        "[leaked-handler-task] kopf-op: handlers of databases default/a started a task of forever (test_"
    )
    assert text.endswith("that still runs although default/a has been deleted: cancel it then")


def test_a_task_of_each_change(kube):
    start_kopf(kube, starting(forever, on=(kopf.on.create, kopf.on.update)))
    for size in (2, 3, 4):
        resize(kube, size)
        kube.advance(10)
    (text,) = texts(kube)
    assert "started 4 tasks of forever (test_handlers.py:" in text
    assert text.endswith("that still run: await or cancel them")


@pytest.mark.slow
def test_a_task_of_an_object_that_exists(kube):
    start_kopf(kube, starting(forever))
    resize(kube)
    kube.advance(3600)
    assert found(kube) == []


def test_a_task_that_ends_by_itself(kube):
    start_kopf(kube, starting(for_a_minute))
    delete(kube)
    assert found(kube) == []


def test_a_task_that_the_handler_of_the_deletion_starts(kube):
    """It cleans up what the object has left behind, and takes long."""
    start_kopf(kube, starting(forever, on=(kopf.on.delete,)))
    delete(kube)
    assert not kube.exists(API, "Database", "a")
    assert found(kube) == []


def test_a_task_that_is_cancelled_with_its_object(kube):
    tasks = []

    def register(registry):
        starting(forever, kept=tasks)(registry)

        @kopf.on.delete(*GROUP, registry=registry)
        async def deleted(**_):
            for task in tasks:
                task.cancel()

    start_kopf(kube, register)
    delete(kube)
    assert found(kube) == []


@pytest.mark.slow
def test_a_task_of_the_startup_and_a_daemon(kube):
    def register(registry):
        @kopf.on.startup(registry=registry)
        async def started(memo, **_):
            memo.task = asyncio.create_task(forever())

        @kopf.daemon(*GROUP, registry=registry)
        async def daemon(**_):
            await forever()

    start_kopf(kube, register)
    delete(kube)
    assert found(kube) == []
