"""The history is bounded by its size as well as by the number of its changes."""

import tracemalloc

import pytest

from fakekube.apiserver.storage import store as storage
from fakekube.apiserver.storage.store import Store


def written(store, name, size):
    before = store.collection("configmaps").live.get(name)
    obj = {"metadata": {"name": name, "uid": "u"}, "data": {"x": chr(97 + store.revision % 26) * size}}
    return store.create("configmaps", name, obj) if before is None else store.update("configmaps", name, before, obj)


def test_row11_large_versions_are_compacted_before_the_window_is_full():
    tracemalloc.start()
    try:
        store = Store(window=20_000)
        for _ in range(1000):
            written(store, "a", 200_000)
        used, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert used < storage.MAX_HISTORY_BYTES * 1.2
    assert store.compacted > 1 + 1000 * 2 // 3
    assert store.collection("configmaps").live["a"].revision == store.revision


def test_row11_a_version_larger_than_the_limit_is_kept(monkeypatch):
    monkeypatch.setattr(storage, "MAX_HISTORY_BYTES", 1000)
    store = Store()
    for name in "ab":
        written(store, name, 5000)
    assert store.compacted == store.revision - 1
    assert set(store.collection("configmaps").live) == {"a", "b"}


def test_row11_small_versions_are_kept_by_their_number():
    store = Store(window=100)
    for _ in range(150):
        written(store, "a", 10)
    assert store.revision - store.compacted in range(100, 126)


@pytest.mark.parametrize("above", [False, True])
def test_row11_a_restored_store_has_the_size_of_its_own_history(monkeypatch, above):
    monkeypatch.setattr(storage, "MAX_HISTORY_BYTES", 20_000)
    store, saved = Store(), Store()
    for _ in range(3):
        written(store, "a", 5000)
    store.restore(saved, after=store.revision if above else None)
    compacted = store.compacted
    for _ in range(3):
        written(store, "b", 5000)
    assert store.compacted == compacted


@pytest.mark.parametrize("total", [500])
def test_row15_five_hundred_services_get_addresses(fakekube, total):
    for number in range(total):
        fakekube.create(
            {
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": {"name": f"s{number}"},
                "spec": {"ports": [{"port": 80}]},
            }
        )
    services = fakekube.list("v1", "Service")
    assert len({one["spec"]["clusterIP"] for one in services}) == len(services) == total + 1
