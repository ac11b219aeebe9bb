"""Reconciles that fail until the object is deleted."""

import pytest

from controllerlib import ApiError, Result
from controllerlib.client import is_not_found
from controllerlib.controller import add_finalizer, remove_finalizer
from tests.harness.detectors.scenes import read, run, texts
from tests.harness.planted import API

FINALIZER = "planted.example.com/x"


def failing(*, finalizer):
    async def reconcile(request, client):
        try:
            found = await read(client, request)
        except ApiError as gone:
            if is_not_found(gone):
                return
            raise
        if "deletionTimestamp" in found["metadata"]:
            await client.update(remove_finalizer(found, FINALIZER)[0])
            return
        if finalizer:
            await client.update(add_finalizer(found, FINALIZER)[0])
        raise ConnectionError("backend")

    return reconcile


@pytest.mark.parametrize("finalizer", [False, True])
def test_a_reconcile_that_fails_until_the_object_is_deleted_has_not_succeeded(kube, finalizer):
    run(kube, failing(finalizer=finalizer))
    kube.delete(API, "Database", "a")
    kube.advance(600)
    text = next(text for text in texts(kube) if "noop-write" not in text)
    assert text.startswith("[reconcile-error] c reconciling default/a [added] failed with ConnectionError: backend (")
    assert text.endswith(" times), and had not succeeded when default/a was deleted")


def test_an_error_of_the_clean_up_that_a_retry_repairs(kube):
    left = iter(range(3))

    async def reconcile(request, client):
        try:
            found = await read(client, request)
        except ApiError:
            return
        if "deletionTimestamp" not in found["metadata"]:
            await client.update(add_finalizer(found, FINALIZER)[0])
            return
        if next(left, None) is not None:
            raise ConnectionError("backend")
        await client.update(remove_finalizer(found, FINALIZER)[0])

    line = reconcile.__code__.co_firstlineno + 9
    run(kube, reconcile)
    kube.delete(API, "Database", "a")
    kube.advance(60)
    assert [text for text in texts(kube) if "noop-write" not in text] == [
        "[retried-error] c reconciling default/a [updated] failed with ConnectionError: backend "
        f"(test_errors.py:{line}) (3 times), "
        "then succeeded"
    ]


def test_a_reconcile_that_deletes_its_own_object_succeeds(kube):
    left = iter(range(3))

    async def reconcile(request, client):
        if next(left, None) is not None:
            raise ConnectionError("backend")
        try:
            await client.delete(await read(client, request))
        except ApiError:
            return Result()

    run(kube, reconcile)
    (text,) = texts(kube)
    assert text.endswith("then succeeded")
