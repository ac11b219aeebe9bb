"""The store and its history against a model that keeps every state."""

import sys
import tracemalloc

import orjson
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from fakekube.apiserver.storage import store as storage
from fakekube.apiserver.storage.store import Change, Collection, Entry, Store, path_of
from fakekube.apiserver.wire.status import StatusError

COLLECTIONS = st.sampled_from(["configmaps", "pods"])
PATHS = st.sampled_from(["a/x", "a/y", "a-b/x", "b/x", "b/xx"])
PREFIXES = ("", "a/", "a-b/", "b/")


def obj(value: int) -> dict:
    return {"metadata": {}, "value": value}


class StoreAgainstModel(RuleBasedStateMachine):
    """`states[revision]` contains all objects at a revision; `writes` contains the changes."""

    def __init__(self) -> None:
        super().__init__()
        self.store = Store(window=12)
        self.states: dict[int, dict[tuple[str, str], int]] = {1: {}}
        self.writes: list[tuple[int, str, str, str]] = []
        self.values = 0

    @property
    def present(self) -> dict[tuple[str, str], int]:
        return self.states[self.store.revision]

    def wrote(self, change: Change, collection: str, path: str, what: str, value: int | None) -> None:
        state = dict(self.states[change.revision - 1])
        if value is None:
            del state[collection, path]
        else:
            state[collection, path] = value
        assert change.revision == self.store.revision == max(self.states) + 1
        self.states[change.revision] = state
        self.writes.append((change.revision, collection, path, what))

    @rule(collection=COLLECTIONS, path=PATHS)
    def put(self, collection: str, path: str) -> None:
        self.values += 1
        before = self.store.get(collection, path)
        if before is None:
            change = self.store.create(collection, path, obj(self.values))
            self.wrote(change, collection, path, "created", self.values)
        else:
            change = self.store.update(collection, path, before, obj(self.values))
            self.wrote(change, collection, path, "updated", self.values)
        assert change.after is not None
        assert change.after.object["metadata"]["resourceVersion"] == str(change.revision)

    @precondition(lambda self: self.present)
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        collection, path = data.draw(st.sampled_from(sorted(self.present)))
        before = self.store.get(collection, path)
        assert before is not None
        change = self.store.delete(collection, path, before)
        self.wrote(change, collection, path, "deleted", None)
        assert change.departed.object == {**before.object, "metadata": {"resourceVersion": str(change.revision)}}

    @rule(back=st.integers(0, 8))
    def compact(self, back: int) -> None:
        known = self.store.compacted
        self.store.compact(self.store.revision - back)
        assert self.store.compacted == max(known, self.store.revision - back)

    @rule(collection=COLLECTIONS, path=PATHS)
    def refuse_a_write_that_was_computed_from_another_version(self, collection: str, path: str) -> None:
        revision = self.store.revision
        with pytest.raises(AssertionError):
            self.store.update(collection, path, Entry(0, obj(0)), obj(1))
        assert self.store.revision == revision

    @invariant()
    def every_readable_revision_reads_as_it_was(self) -> None:
        for revision in range(self.store.compacted or 1, self.store.revision + 1):
            assert self.store.readable(revision)
            for name in ("configmaps", "pods"):
                collection = self.store.collection(name)
                for prefix in PREFIXES:
                    scanned = [(path, e.object["value"]) for path, e in collection.scan(prefix, "", revision)]
                    assert scanned == sorted(
                        (path, value)
                        for (where, path), value in self.states[revision].items()
                        if where == name and path.startswith(prefix)
                    )
                    for start in ("", *(path for path, _ in scanned), *(f"{path}a" for path, _ in scanned)):
                        left = [path for path, _ in collection.scan(prefix, start, revision)]
                        assert left == [path for path, _ in scanned if path >= start]
                        assert collection.count(prefix, start, revision) == len(left)
        assert not self.store.readable(self.store.compacted - 1)

    @invariant()
    def the_present_is_the_newest_state_and_a_scan_can_begin_anywhere(self) -> None:
        assert self.store.size() == len(self.present)
        for name in ("configmaps", "pods"):
            paths = sorted(path for where, path in self.present if where == name)
            collection = self.store.collection(name)
            for i, path in enumerate(paths):
                entry = self.store.get(name, path)
                assert entry is not None
                assert entry.object["value"] == self.present[name, path]
                assert [p for p, _ in collection.scan("", path, None)] == paths[i:]
                assert collection.count("", path, None) == len(paths) - i

    @invariant()
    def since_gives_each_write_of_the_collection_once_in_order(self) -> None:
        for name in ("configmaps", "pods"):
            for revision in range(max(self.store.compacted, 1), self.store.revision + 2):
                found = [(c.revision, c.collection, c.path, _what(c)) for c in self.store.since(name, revision)]
                assert found == [w for w in self.writes if w[0] > revision and w[1] == name]

    @invariant()
    def since_refuses_a_revision_behind_which_changes_are_lost(self) -> None:
        for name in ("configmaps", "pods"):
            lost = [w[0] for w in self.writes if w[1] == name and w[0] <= self.store.compacted]
            if lost:
                with pytest.raises(StatusError, match="too old resource version") as refused:
                    self.store.since(name, lost[-1] - 1)
                assert (refused.value.code, refused.value.reason) == (410, "Expired")
                self.store.since(name, lost[-1])

    @invariant()
    def collections_keep_the_shape_that_they_promise(self) -> None:
        assert len(self.store.changes()) <= 12 + 12 // 4
        for name in ("configmaps", "pods"):
            check_shape(self.store.collection(name))


def _what(change: Change) -> str:
    return "created" if change.before is None else "deleted" if change.after is None else "updated"


def check_shape(collection: Collection) -> None:
    """The invariants of the docstring."""
    assert collection.keys == sorted(collection.chains)
    for path, chain in collection.chains.items():
        assert chain, path
        revisions = [version if isinstance(version, int) else version.revision for version in chain]
        assert revisions == sorted(set(revisions))
        last = chain[-1]
        assert collection.live.get(path) is (None if isinstance(last, int) else last)
    assert collection.live_keys == sorted(collection.live)
    assert set(collection.live) <= set(collection.chains)
    assert [c.revision for c in collection.changes] == sorted(c.revision for c in collection.changes)


TestStoreAgainstModel = StoreAgainstModel.TestCase
TestStoreAgainstModel.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


def test_a_deleted_object_is_removed_when_its_deletion_is_compacted():
    store = Store()
    change = store.create("pods", "a/x", obj(1))
    store.delete("pods", "a/x", change.after)
    assert store.collection("pods").keys == ["a/x"]
    store.compact()
    assert (store.collection("pods").keys, store.collection("pods").chains, store.changes()) == ([], {}, [])


def test_compaction_is_monotonic_and_limited_to_the_current_revision():
    store = Store()
    for value in range(5):
        store.create("pods", f"a/{value}", obj(value))
    store.compact(4)
    store.compact(2)
    assert store.compacted == 4
    store.compact(100)
    assert store.compacted == store.revision == 6


def test_an_object_does_not_exist_before_its_creation_and_after_its_deletion():
    store = Store()
    created = store.create("pods", "a/x", obj(1))
    store.delete("pods", "a/x", created.after)
    pods = store.collection("pods")
    assert [pods.at("a/x", revision) for revision in (1, 2, 3)] == [None, created.after, None]
    assert pods.at("a/other", 2) is None


def test_an_entry_is_encoded_once():
    entry = Entry(1, {"metadata": {"name": "x"}})
    assert entry.json is entry.json


@pytest.mark.parametrize(
    ("namespace", "name", "path"),
    [pytest.param("a", "x", "a/x", id="namespaced"), pytest.param("", "x", "x", id="cluster-wide")],
)
def test_the_key_of_an_object(namespace, name, path):
    assert path_of(namespace, name) == path


def test_the_representation_of_store_and_changes():
    store = Store()
    created = store.create("pods", "a/x", obj(1))
    updated = store.update("pods", "a/x", created.after, obj(2))
    deleted = store.delete("pods", "a/x", updated.after)
    assert [repr(c) for c in (created, updated, deleted)] == [
        "<Change 2 pods a/x created>",
        "<Change 3 pods a/x updated>",
        "<Change 4 pods a/x deleted>",
    ]
    assert repr(store) == "<Store rev=4 objects=0 history=3>"


def test_the_cached_encoding_has_no_spare_buffer():
    entries = [Entry(number, {"metadata": {"name": f"a{number}", "uid": "u" * 300}}) for number in range(200)]
    tracemalloc.start()
    try:
        size = sum(sys.getsizeof(entry.json) for entry in entries)
        assert tracemalloc.get_traced_memory()[0] < 1.1 * size
    finally:
        tracemalloc.stop()


def written(sizes: list[int], *, window: int = 100) -> Store:
    """A store in which one object was written with texts of these sizes."""
    store = Store(window=window)
    before = None
    for size in sizes:
        body = {"metadata": {}, "value": "x" * size}
        if before is None:
            before = store.create("pods", "a/x", body).after
        else:
            before = store.update("pods", "a/x", before, body).after
    return store


def test_old_changes_are_removed_when_the_window_is_full_and_a_quarter():
    assert len(written([1] * 10, window=8).changes()) == 10
    store = written([1] * 11, window=8)
    assert [change.revision for change in store.changes()] == list(range(5, 13))  # the last eight
    assert store.compacted == 4


@pytest.mark.parametrize(
    ("sizes", "left"),
    [
        ([250, 250, 250, 250], 4),
        ([251, 250, 250, 250], 3),
        ([300, 300, 300, 300], 2),
        ([900, 60, 60], 2),
        ([2000], 1),
        ([2000, 60], 1),
        ([60, 2000], 1),
    ],
)
def test_large_changes_are_removed_until_three_quarters_of_the_limit_are_left(monkeypatch, sizes, left):
    around = len(b'{"metadata":{"resourceVersion":"2"},"value":""}')
    monkeypatch.setattr(storage, "MAX_HISTORY_BYTES", 1000)
    assert len(written([size - around for size in sizes]).changes()) == left


def test_a_list_reads_what_is_neither_compacted_nor_below_the_floor():
    store = written([1] * 6)
    store.compact(3)
    store.floor = 5
    assert [store.readable(revision) for revision in range(2, 9)] == [False, False, False, True, True, True, True]
    assert [store.continues(revision) for revision in (4, 5)] == [False, True]
    store.floor = 8
    assert [store.readable(revision) for revision in (6, 7)] == [False, True]  # the current one always
    assert [store.cached(revision) for revision in (1, 3, 5, 99)] == [3, 3, 5, 7]


@pytest.mark.parametrize(("after", "revision"), [(None, 7), (3, 8), (20, 21)])
def test_the_revision_of_a_restored_store(after, revision):
    saved, store = written([1] * 6), written([1] * 2)
    store.restore(saved, after=after)
    assert store.revision == revision
    assert store.compacted == (0 if after is None else revision)
    assert len(store.changes()) == (6 if after is None else 0)


@pytest.mark.parametrize(
    ("floor", "left"),
    [
        (0, 11),  # nothing is below the floor
        (4, 8),
        (99, 8),  # `most` are kept
        (3, 9),
    ],
)
def test_the_changes_of_one_collection_are_shortened(floor, left):
    store = written([1] * 11)
    store.floor = floor
    store.shorten("pods", 8)
    assert len(store.collection("pods").changes) == left
    assert len(store.changes()) == left


def test_a_collection_is_shortened_when_it_is_a_quarter_too_long():
    store = written([1] * 10)
    store.floor = 99
    store.shorten("pods", 8)
    assert len(store.changes()) == 10


def test_what_is_removed_frees_its_bytes(monkeypatch):
    monkeypatch.setattr(storage, "MAX_HISTORY_BYTES", 1000)
    store = written([150] * 5)
    store.floor = 4
    store.shorten("pods", 2)
    assert len(store.changes()) == 2
    before = store.get("pods", "a/x")
    for _ in range(3):  # as many as there is room for
        before = store.update("pods", "a/x", before, {"metadata": {}, "value": "x" * 150}).after
    assert len(store.changes()) == 5


@pytest.mark.parametrize("window", [1, 2, 3, 4, 5, 8, 11, 12])
def test_the_history_is_cut_to_its_window_when_it_is_a_quarter_longer(window):
    store, kept = Store(window=window), 0
    for number in range(40):
        name = f"o{number % 3}"
        entry = store.get("configmaps", name)
        if entry is None:
            store.create("configmaps", name, obj(number))
        else:
            store.update("configmaps", name, entry, obj(number))
        kept += 1
        if kept > window + window // 4:
            kept = window
        assert store.compacted == (store.revision - kept if number >= kept else 0)


@pytest.mark.parametrize(
    "sizes", [[400, 400, 200], [400, 400, 201], [250] * 9, [1001, 1], [900, 800, 10, 10], [1, 2, 3] * 99, [749, 251, 1]]
)
def test_the_history_is_cut_to_three_quarters_of_its_bytes(sizes, monkeypatch):
    monkeypatch.setattr(storage, "MAX_HISTORY_BYTES", 1000)
    store, twin, kept = Store(), Store(), []
    for number, size in enumerate(sizes):
        twin.create("configmaps", f"o{number}", obj(""))
        empty = len(orjson.dumps(twin.get("configmaps", f"o{number}").object))
        store.create("configmaps", f"o{number}", obj("a" * (size - empty)))
        kept.append(max(size, empty))
        if sum(kept) > 1000:
            while len(kept) > 1 and sum(kept) > 750:
                kept.pop(0)
        assert store.compacted == (store.revision - len(kept) if number >= len(kept) else 0)
