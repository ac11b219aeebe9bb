"""Tasks that reconciles start for each object."""

import asyncio
import gc

import pytest

from controllerlib import ApiError
from tests.harness.detectors.scenes import found, read, resize, run, texts
from tests.harness.planted import API


async def probe():
    while True:  # noqa: ASYNC110 - it never ends
        await asyncio.sleep(30)


def daemons(tasks, *, cancels):
    async def reconcile(request, client):
        try:
            await read(client, request)
        except ApiError:
            if cancels and (task := tasks.pop(request, None)) is not None:
                task.cancel()
            return
        if request not in tasks:
            tasks[request] = asyncio.create_task(probe())

    return reconcile


@pytest.mark.parametrize("deleted", [False, True])
def test_a_task_for_each_object_that_is_cancelled_with_it(kube, deleted):
    run(kube, daemons({}, cancels=True))
    resize(kube)
    kube.advance(60)
    if deleted:
        kube.delete(API, "Database", "a")
        kube.advance(1)
    assert texts(kube) == []


def test_a_task_that_outlives_its_object(kube):
    run(kube, daemons({}, cancels=False))
    kube.delete(API, "Database", "a")
    kube.advance(1)
    (text,) = texts(kube)
    assert text.startswith("[leaked-task] c reconciling default/a [added] started a task of probe (test_tasks.py:")
    assert text.endswith("that still runs although default/a has been deleted: cancel it then")


def test_a_task_that_nothing_keeps(kube):
    async def reconcile(request, client):
        asyncio.create_task(probe())  # noqa: RUF006 - the defect

    run(kube, reconcile)
    (text,) = texts(kube)
    assert text.endswith("that still runs after the reconcile, and nothing keeps it: await or cancel it")


def test_a_task_of_each_reconcile(kube):
    kept = []

    async def reconcile(request, client):
        kept.append(asyncio.create_task(probe()))

    run(kube, reconcile)
    for size in (2, 3):
        resize(kube, size)
        kube.advance(1)
    (text,) = texts(kube)
    assert text.startswith("[leaked-task] 3 reconciles of default/a (c) started tasks of probe (test_tasks.py:")
    assert text.endswith("that still run: await or cancel them")


def test_a_failed_task_of_an_operator_without_reconciles_that_is_kept(kube, caplog):
    kept = []

    async def boom():
        raise ConnectionError("it is down")

    async def work():
        kept.append(asyncio.create_task(boom()))
        await asyncio.sleep(1e6)

    kube.task(work())
    kube.advance(10)
    assert found(kube) == ["failed-task"]


def test_a_failed_task_of_an_operator_without_reconciles_that_is_awaited(kube):
    async def boom():
        raise ConnectionError("it is down")

    async def work():
        task = asyncio.create_task(boom())
        await asyncio.wait([task])
        assert task.exception() is not None
        await asyncio.sleep(1e6)

    kube.task(work())
    kube.advance(10)
    assert found(kube) == []


async def boom():
    raise ConnectionError("it is down")


@pytest.mark.parametrize("others", [0, 2])
def test_a_gather_that_nothing_awaits(kube, others):
    async def reconcile(request, client):
        asyncio.gather(*(asyncio.sleep(1) for _ in range(others)), boom())

    run(kube, reconcile)
    line, begun = boom.__code__.co_firstlineno, reconcile.__code__.co_firstlineno + 1
    assert texts(kube) == [
        f"[failed-task] a task (started by c reconciling default/a [added] at test_tasks.py:{begun}) of boom "
        f"(test_tasks.py:{line}) failed with "
        "ConnectionError: it is down; it belongs to an asyncio.gather(...) that nothing awaits, so the error is lost"
    ]


def test_a_gather_that_is_awaited(kube):
    async def reconcile(request, client):
        await asyncio.gather(boom(), return_exceptions=True)

    run(kube, reconcile)
    assert texts(kube) == []


@pytest.mark.slow
def test_a_job_of_a_thread_whose_future_nothing_awaits(kube):
    def fail():
        raise ConnectionError("it is down")

    async def reconcile(request, client):
        asyncio.get_running_loop().run_in_executor(None, fail)

    run(kube, reconcile)
    gc.collect()  # the error refers to the future
    line = fail.__code__.co_firstlineno + 1
    assert texts(kube) == [
        f"[failed-task] a future (test_tasks.py:{line}) failed with ConnectionError: it is down; nothing awaits it, so "
        "the error is lost"
    ]
