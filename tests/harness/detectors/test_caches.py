"""Objects of the cache that operators modify."""

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
