"""Stores and indices."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controllerlib.cache.expirationstore import Mutated, MutationDetector, TTLStore, UndeltaStore
from controllerlib.cache.mutationcache import MutationCache
from controllerlib.cache.store import Indexer, StoreOp, ThreadSafeStore, TransactionError, UnknownIndex
from controllerlib.client.names import KeyFailure, meta_namespace_key
from tests.controllerlib.objects import named, pod


def by_user(obj: Any) -> Sequence[str]:
    users = obj["metadata"].get("annotations", {}).get("users", "")
    return users.split(",") if users else []


def used_by(name: str, users: str, version: str = "1") -> dict[str, Any]:
    return pod(name, version, annotations={"users": users})


def names(objs: Sequence[Any]) -> list[str]:
    return [obj["metadata"]["name"] for obj in objs]


def three() -> Indexer:
    store = Indexer(indexers={"byUser": by_user})
    for obj in (used_by("one", "ernie,bert"), used_by("two", "bert,oscar"), used_by("three", "ernie,elmo")):
        store.add(obj)
    return store


def test_st_01_round_trip() -> None:
    store = Indexer()
    store.add(pod("a", 1))
    store.update(pod("a", 2))
    store.add(pod("b", 3))
    assert [named(o) for o in store.list()] == ["a@2", "b@3"]
    assert named(store.get(pod("a"))) == "a@2"
    store.delete(pod("a"))
    assert store.get(pod("a")) is None
    assert list(store.list_keys()) == ["default/b"]


def test_st_02_replace_holds_exactly_the_list() -> None:
    store = three()
    store.replace([used_by("four", "grover")], "9")
    assert names(store.list()) == ["four"]
    assert list(store.list_index_values("byUser")) == ["grover"]


def test_st_03_index_with_several_values() -> None:
    store = three()
    found = {user: names(store.by_index("byUser", user)) for user in store.list_index_values("byUser")}
    assert found == {"bert": ["one", "two"], "elmo": ["three"], "ernie": ["one", "three"], "oscar": ["two"]}
    store.delete(used_by("three", "ernie,elmo"))
    assert store.by_index("byUser", "elmo") == []
    store.update(used_by("two", "oscar"))
    assert names(store.by_index("byUser", "bert")) == ["one"]


def test_st_04_a_value_without_objects_is_removed() -> None:
    store = three()
    store.delete(pod("three"))
    assert "elmo" not in store.list_index_values("byUser")
    assert "ernie" in store.list_index_values("byUser")


def test_st_05_objects_sharing_a_value_are_returned_once() -> None:
    assert names(three().index("byUser", used_by("x", "ernie,bert"))) == ["one", "three", "two"]


def test_st_06_unknown_index() -> None:
    store = three()
    with pytest.raises(UnknownIndex, match="Index with name nope does not exist"):
        store.by_index("nope", "x")
    assert list(store.list_index_values("nope")) == []


def test_st_07_indices_can_be_added_later() -> None:
    store = three()
    store.add_indexers({"name": lambda obj: [obj["metadata"]["name"]]})
    assert names(store.by_index("name", "two")) == ["two"]
    assert list(store.list_index_values("name")) == sorted(names(store.list()))
    with pytest.raises(ValueError, match="conflict"):
        store.add_indexers({"other": by_user, "byUser": by_user})
    assert "other" not in store.indexers()


def test_st_08_a_failing_index_function_changes_nothing() -> None:
    store = three()
    store.add_indexers({"strict": lambda obj: [obj["metadata"]["name"]] if obj["metadata"]["name"] != "bad" else 1 / 0})  # type: ignore[list-item]
    with pytest.raises(ZeroDivisionError):
        store.add(used_by("bad", "ernie"))
    assert names(store.list()) == ["one", "three", "two"]
    assert names(store.by_index("byUser", "ernie")) == ["one", "three"]


def test_st_09_the_version_follows_the_last_change() -> None:
    store, versions = ThreadSafeStore(), []

    def note(_: None) -> None:
        versions.append(store.resource_version)

    versions.append(store.resource_version)
    note(store.put("a", pod("a", 10)))
    note(store.put("a", pod("a", 20)))
    note(store.delete("a", pod("a", 30)))
    note(store.put("x", "no metadata"))
    note(store.put("a", pod("a", 40)))
    note(store.delete("a"))
    assert versions == ["", "10", "20", "30", "30", "40", "40"]
    indexer = Indexer()
    indexer.transaction([StoreOp("add", pod("a", 40)), StoreOp("add", pod("b", 30)), StoreOp("update", pod("a", 50))])
    assert indexer.resource_version == "50"
    indexer.replace([pod("a", 45)], "50")
    assert indexer.resource_version == "50"
    indexer.bookmark("60")
    assert indexer.resource_version == "60"


def test_st_10_a_transaction_skips_objects_without_a_key() -> None:
    store = Indexer()
    ops = [StoreOp("add", obj) for obj in (pod("a"), "broken", pod("b"), "broken")]
    with pytest.raises(TransactionError, match=r"\(2/4\)") as caught:
        store.transaction(ops)
    assert list(caught.value.successful) == [0, 2]
    assert names(store.list()) == ["a", "b"]


def test_st_11_the_transform_applies_to_stored_objects() -> None:
    calls: list[str] = []

    def transform(obj: Any) -> Any:
        calls.append(named(obj))
        return obj

    store = Indexer(transform=transform)
    store.add(pod("a", 1)), store.update(pod("a", 2)), store.replace([pod("b", 3)], "3"), store.delete(pod("b", 4))
    assert calls == ["a@1", "a@2", "b@3"]


def test_st_12_index_keys_are_sorted() -> None:
    assert three().index_keys("byUser", "ernie") == ["default/one", "default/three"]


@pytest.mark.parametrize(
    ("updated_at", "read_at", "alive"),
    [
        pytest.param(None, 10.0, True, id="ST-13-exactly-ttl"),
        pytest.param(None, 10.001, False, id="ST-13-older"),
        pytest.param(9.0, 19.0, True, id="ST-13-updated"),
        pytest.param(9.0, 19.001, False, id="ST-13-updated-and-older"),
    ],
)
def test_objects_expire(updated_at: float | None, read_at: float, alive: bool) -> None:
    store = TTLStore(10.0)
    store.add(pod("a"), 0.0)
    if updated_at is not None:
        store.update(pod("a"), updated_at)
    assert list(store.list_keys()) == ["default/a"]
    assert (store.get_by_key("default/a", read_at) is not None) is alive
    assert bool(store.list(read_at)) is alive


def test_st_14_every_change_pushes_everything() -> None:
    pushed: list[list[str]] = []
    store = UndeltaStore(lambda objs: pushed.append(names(objs)))
    store.add(pod("a")), store.update(pod("a", 2)), store.delete(pod("a")), store.replace([pod("b"), pod("c")], "3")
    store.get_by_key("default/b"), store.list()
    assert pushed == [["a"], ["a"], [], ["b", "c"]]


def test_st_15_own_writes_until_the_store_has_received_them() -> None:
    store = Indexer()
    cache = MutationCache(store)
    store.add(pod("a", 5, uid="U"))
    cache.mutation(pod("a", 7, uid="U"), 0.0)
    assert named(cache.get("default/a", 1.0)) == "a@7"
    store.add(pod("a", 8, uid="U"))
    assert named(cache.get("default/a", 2.0)) == "a@8"
    store.add(pod("a", 6, uid="U"))
    assert named(cache.get("default/a", 2.0)) == "a@6", "the own write was dropped"
    cache.on_delete(pod("a", 9, uid="U"), 3.0)
    store.delete(pod("a"))
    cache.mutation(pod("a", 10, uid="U"), 3.0)
    assert cache.get("default/a", 3.0) is None
    adding = MutationCache(store, include_adds=True, ttl=10)
    adding.mutation(pod("n", 11, uid="N"), 0.0)
    assert named(adding.get("default/n", 10.0)) == "n@11"
    assert adding.get("default/n", 10.1) is None


def test_st_16_modifying_a_shared_object_is_detected() -> None:
    detector, obj = MutationDetector(), pod("a")
    detector.add(obj)
    detector.check(1.0)
    obj["metadata"]["labels"] = {"changed": "in place"}
    with pytest.raises(Mutated, match="default/a"):
        detector.check(2.0)


def test_st_17_an_index_does_not_lose_an_object_that_was_changed_in_place() -> None:
    store, obj = Indexer(indexers={"byUser": by_user}), used_by("one", "ernie")
    store.add(obj)
    obj["metadata"]["annotations"]["users"] = "bert"
    store.add(obj)
    assert [list(store.list_index_values("byUser")), names(store.by_index("byUser", "bert"))] == [["bert"], ["one"]]


def test_a_key_that_cannot_be_computed() -> None:
    with pytest.raises(KeyFailure):
        Indexer().add("no object")


Users = st.lists(st.sampled_from(["bert", "elmo", "ernie"]), unique=True).map(",".join)
Ops = st.lists(st.tuples(st.sampled_from(["add", "delete", "replace"]), st.integers(0, 4), Users), max_size=30)


@given(Ops)
def test_indices_agree_with_a_scan(ops: list[tuple[str, int, str]]) -> None:
    store = Indexer(indexers={"byUser": by_user})
    for verb, number, users in ops:
        obj = used_by(f"p{number}", users)
        if verb == "replace":
            store.replace([obj], "1")
        else:
            getattr(store, verb)(obj)
    for user in ("bert", "elmo", "ernie"):
        scan = [meta_namespace_key(obj) for obj in store.list() if user in by_user(obj)]
        assert store.index_keys("byUser", user) == scan
        assert (user in store.list_index_values("byUser")) is bool(scan)
