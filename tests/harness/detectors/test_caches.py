"""Objects of the cache that operators modify."""

import contextlib

import pytest

from controllerlib import ApiError
from controllerlib.controller import PredicateFuncs
from tests.harness.detectors.scenes import read, resize, texts
from tests.harness.planted import API, CRD, database


async def nothing(request, client):
    await read(client, request)


def filtering(strip):
    """An operator whose predicate compares objects without what each write changes."""
    predicate = PredicateFuncs(update=lambda event: strip(event.old) != strip(event.new))
    return lambda manager: manager.controller("c").for_(API, "Database", predicates=[predicate]).complete(nothing)


def in_place(*names):
    def strip(obj):
        for name in names:
            obj["metadata"].pop(name, None)
        return obj

    return strip


def in_a_copy(obj):
    kept = {name: one for name, one in obj["metadata"].items() if name not in ("managedFields", "resourceVersion")}
    return {**obj, "metadata": kept}


def watched(kube, strip):
    kube.apply(CRD, database())
    kube.start(filtering(strip))
    resize(kube)
    kube.settle()
    return texts(kube)


def test_r2_an_object_of_the_cache_without_a_resource_version(kube):
    (text,) = watched(kube, in_place("managedFields", "resourceVersion"))
    assert "has modified the cached Database default/a: .metadata.resourceVersion is missing in the cache" in text
    assert text.endswith("; copy it before you change it")


def test_r2_an_object_of_the_cache_without_a_name(kube):
    text = " ".join(watched(kube, in_place("name", "resourceVersion")))
    assert "has modified the cached Database default/a: .metadata.resourceVersion is missing in the cache" in text


def test_r2_a_predicate_that_compares_copies(kube):
    assert watched(kube, in_a_copy) == []


def test_m5_long_values_are_shortened(kube):
    (text,) = watched(kube, in_place("managedFields"))
    assert ".metadata.managedFields is absent in the cache and [{" in text
    assert "... in the cluster at resourceVersion" in text
    assert len(text) < 400


async def conflicting(client, found):
    with contextlib.suppress(ApiError):
        await client.update({**found, "metadata": {**found["metadata"], "resourceVersion": "1"}})


async def reading(client, found):
    await client.get("v1", "Namespace", "default")


async def changing_nothing(client, found):
    await client.patch({**found, "metadata": {"name": "a", "namespace": "default"}}, {})


@pytest.mark.parametrize("ask", [conflicting, reading, changing_nothing])
def test_a_modified_object_is_found_after_any_request_although_an_event_replaces_it(kube, ask):
    """The third reconcile of a key is none of those that are looked at without a request."""
    runs = []

    def operator(manager):
        async def reconcile(request, client):
            runs.append(request)
            if len(runs) == 3:
                found = await manager.cache.get(API, "Database", "a", "default", share=True)
                found["spec"]["size"] += 7
                await ask(client, found)

        manager.controller("c").for_(API, "Database").complete(reconcile)

    kube.apply(CRD, database())
    kube.start(operator)
    for size in (2, 3, 4):
        resize(kube, size)
        kube.settle()
    (text,) = [text for text in texts(kube) if "cache-mutation" in text]
    assert ".spec.size is 10 in the cache and 3 in the cluster" in text
