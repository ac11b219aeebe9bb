"""What the number of stored objects costs: pages of lists, and memory.

Goal: a page of 100 costs the same among 1,000 and among 100,000 objects.
"""

import tracemalloc

import pytest

from fakekube.apiserver.resource import Object
from fakekube.apiserver.storage.store import Store
from tests.apiserver.api import Api

PAGE = 100


def config_map(number: int) -> Object:
    meta = {"name": f"map-{number:06}", "namespace": "default", "uid": f"uid-{number}", "creationTimestamp": "now"}
    return {"metadata": meta, "data": {"colour": "red", "number": str(number)}}


def fill(store: Store, count: int) -> None:
    for number in range(count):
        obj = config_map(number)
        store.create("configmaps", f"default/{obj['metadata']['name']}", obj)


def encoded(api: Api, path: str) -> bytes:
    response = api.answer("GET", path)
    assert response.status == 200
    return response.body.encode()


@pytest.fixture(scope="module", params=[1_000, 100_000])
def filled(request) -> Api:
    api = Api()
    fill(api.apiserver.store, request.param)
    return api


@pytest.mark.parametrize("page", ["first", "second"])
def test_a_page_of_a_hundred(benchmark, filled, page):
    benchmark.group = f"the {page} page of {PAGE}, encoded"
    path = f"/api/v1/namespaces/default/configmaps?limit={PAGE}"
    if page == "second":
        path += "&continue=" + filled.ok("GET", path)["metadata"]["continue"]
    encoded(filled, path)  # the bytes of each object are kept
    benchmark(encoded, filled, path)


def test_memory_of_an_object(benchmark):
    """The bytes that a small ConfigMap and its creation in the history take, not encoded."""
    count = 10_000

    def store() -> float:
        tracemalloc.start()
        try:
            filled = Store()
            before = tracemalloc.get_traced_memory()[0]
            fill(filled, count)
            return (tracemalloc.get_traced_memory()[0] - before) / count
        finally:
            tracemalloc.stop()

    benchmark.group = "a stored object"
    size = benchmark.pedantic(store, rounds=3)
    benchmark.extra_info["bytes per object"] = round(size)
