"""Reconciles that fail until the object is deleted."""

import re

import pytest

from controllerlib import ApiError, Result
from controllerlib.client import is_not_found
from controllerlib.controller import add_finalizer, remove_finalizer
from tests.harness.detectors.scenes import read, run, texts
from tests.harness.planted import API

CONFLICT = ApiError(409, "Conflict", "the object has been modified")
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


def without_place(text):
    """A text without the line of the operator, which must be in it."""
    shown, count = re.subn(r" \(test_errors\.py:\d+\)", "", text)
    assert count == 1
    return shown


def test_n5_each_kind_of_error_has_its_own_count_and_verdict(kube):
    """One TypeError and five conflicts: the first is a bug, the others are repaired by the retry."""
    left = iter([TypeError("a bug"), *[CONFLICT] * 5])

    async def reconcile(request):
        error = next(left, None)
        if error is not None:
            raise error

    run(kube, reconcile)
    (text,) = texts(kube)
    assert text.startswith(
        "[reconcile-error] c reconciling default/a [added] failed with TypeError: a bug (test_errors.py:"
    )
    assert text.endswith("), which is a bug although a retry succeeded")


def test_n5_each_kind_of_error_that_remains_is_counted(kube):
    """Conflicts count if there are several; another kind of error counts from the first one on."""
    left = iter([ConnectionError("backend"), *[CONFLICT] * 2, *[LookupError("no host")] * 3])
    last = LookupError("no host")

    async def reconcile(request):
        raise next(left, last)

    run(kube, reconcile, seconds=0.2)
    assert [without_place(text.partition("failed with ")[2]) for text in texts(kube)] == [
        "ConnectionError: backend, and has not succeeded since",
        "LookupError: no host (3 times), and has not succeeded since",
    ]


def test_n5_a_repaired_error_among_conflicts_is_counted_alone(kube):
    left = iter([*[CONFLICT] * 4, ConnectionError("backend"), ConnectionError("backend")])

    async def reconcile(request):
        error = next(left, None)
        if error is not None:
            raise error

    run(kube, reconcile)
    assert [without_place(text.partition("failed with ")[2]) for text in texts(kube)] == [
        "ConnectionError: backend (2 times), then succeeded"
    ]
