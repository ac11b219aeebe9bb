"""The history is bounded by its size as well as by the number of its changes."""

import tracemalloc

import pytest

from fakekube import FakeKube
from fakekube.apiserver.storage import store as storage
from fakekube.apiserver.storage.compaction import LEASES, RENEWALS
from fakekube.apiserver.storage.store import Store
from fakekube.apiserver.wire.status import StatusError
from fakekube.harness.engine import engine_of


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


@pytest.mark.slow
def test_i23_of_the_renewals_of_leases_the_last_are_kept():
    """Issue 23: a virtual day of one node has 8,640 renewals, which are bounded whatever the window is."""
    with FakeKube(nodes=1, wall_clock=False) as kube:
        kube.advance(hours=12)
        store = engine_of(kube).server.apiserver.store
        kept = store.collection(LEASES)
        assert RENEWALS <= len(kept.changes) <= RENEWALS * 1.3
        assert len(kept.chains["kube-node-lease/node-1"]) == len(kept.changes) + 1
        assert [one.revision for one in store.changes() if one.collection == LEASES] == [
            one.revision for one in kept.changes
        ]


def test_i23_changes_that_lists_can_read_are_kept():
    store = Store()
    for _ in range(40):
        written(store, "a", 10)
    store.floor = 20
    store.shorten("configmaps", 5)
    assert [change.revision for change in store.changes()] == list(range(21, 42))
    collection = store.collection("configmaps")
    assert collection.at("a", 20) is not None
    assert collection.at("a", 19) is None
    with pytest.raises(StatusError, match="too old resource version"):
        store.since("configmaps", 19)
    assert len(store.since("configmaps", 20)) == 21
    assert store.since("pods", 1) == []
