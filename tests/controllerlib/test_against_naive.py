"""Queues and stores compared with naive implementations after every operation."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controllerlib.cache.delta import Batch
from controllerlib.cache.deltafifo import DeltaFIFO
from controllerlib.cache.process import Notification, process_deltas
from controllerlib.cache.realfifo import RealFIFO, RealFIFOOptions
from controllerlib.cache.store import Indexer, StoreOp
from controllerlib.client.names import DeletedFinalStateUnknown
from controllerlib.workqueue.prioritystate import PriorityQueueState
from controllerlib.workqueue.queuestate import WorkQueueState
from tests.controllerlib.naive import (
    Failures,
    NaiveDeltaFIFO,
    NaivePriorityQueue,
    NaiveQueue,
    NaiveRealFIFO,
    NaiveStore,
    key_of,
)
from tests.controllerlib.objects import pod

pytestmark = pytest.mark.slow

LONG = settings(max_examples=250, deadline=None)

Keys = st.sampled_from(["a", "b", "c", "d"])
Delays = st.sampled_from([0.0, -1.0, 1.0, 2.0, 5.0])
Always = st.booleans()

#: Operations of a queue; get and the passing of time are more frequent than the others.
QueueSteps = st.lists(
    st.one_of(
        st.tuples(st.just("add"), Keys, Delays, Always, st.integers(-1, 1)),
        st.tuples(st.just("add"), Keys, st.just(0.0), st.just(False), st.integers(-1, 1)),
        st.tuples(st.sampled_from(["get", "tick"])),
        st.tuples(st.sampled_from(["done", "forget"]), Keys),
        st.tuples(st.sampled_from(["get", "done first", "shut down"])),
    ),
    min_size=8,
    max_size=60,
)


# --- queues ------------------------------------------------------------------------------------------------------------


@given(QueueSteps)
@LONG
def test_plain_and_delaying_queue(steps: Sequence[Any]) -> None:
    queue, naive = WorkQueueState[str](Failures()), NaiveQueue()
    for verb, *rest in steps:
        now = float(naive.now)
        if verb == "add":
            item, after, limited, _ = rest
            naive.add(item, after, limited)
            queue.add(item, now, after, limited)
        elif verb == "get":
            found = queue.pop(now)
            assert (found and found.item) == naive.get()
        elif verb.startswith("done"):
            item = rest[0] if rest else next(iter(naive.processing), "a")
            naive.done(item)
            queue.done(item, now)
        elif verb == "forget":
            naive.limiter.forget(*rest)
            queue.limiter.forget(*rest)
        else:
            naive.tick() if verb == "tick" else (naive.shut_down(), queue.shut_down())
        now = float(naive.now)
        queue.add_due(now)
        assert queue.length(now) == len(naive.line)
        assert queue.is_ready() is bool(naive.line)
        assert list(queue.processing()) == naive.processing
        assert list(queue.ready()) == naive.dirty
        assert list(queue.waiting().items()) == [(item, due) for due, item in naive.waiting]
        assert queue.next_deadline() == (naive.waiting[0][0] if naive.waiting else None)
        for item in "abcd":
            assert queue.due(item) == next((due for due, key in naive.waiting if key == item), None)
            assert queue.is_active(item) is (item in naive.dirty or item in naive.processing)
            assert queue.limiter.num_requeues(item) == naive.limiter.num_requeues(item)


@given(QueueSteps)
@LONG
def test_a_queue_that_is_read_late(steps: Sequence[Any]) -> None:
    """Entries become ready late, on the next call; that is not observable."""
    queue, naive = WorkQueueState[str](Failures()), NaiveQueue()
    handed: list[tuple[str | None, str | None]] = []
    for verb, *rest in steps:
        now = float(naive.now)
        if verb == "add":
            item, after, limited, _ = rest
            naive.add(item, after, limited)
            queue.add(item, now, after, limited)
        elif verb == "get":
            found = queue.pop(now)
            handed.append((found and found.item, naive.get()))
        elif verb.startswith("done") and naive.processing:
            item = naive.processing[0]
            naive.done(item)
            queue.done(item, now)
        elif verb == "tick":
            naive.tick()
    assert all(ours == theirs for ours, theirs in handed), handed


@given(QueueSteps)
@LONG
def test_priority_queue(steps: Sequence[Any]) -> None:
    queue, naive = PriorityQueueState[str](Failures()), NaivePriorityQueue()
    for verb, *rest in steps:
        now = float(naive.now)
        if verb == "add":
            item, after, limited, priority = rest
            naive.add(item, after, limited, priority)
            queue.add(item, now, after, limited, priority)
        elif verb == "get":
            found = queue.pop(now)
            assert (found and (found.item, found.priority)) == naive.get()
        elif verb.startswith("done"):
            item = rest[0] if rest else next(iter(naive.processing), "a")
            naive.done(item)
            queue.done(item, now)
        elif verb == "forget":
            naive.limiter.forget(*rest)
            queue.limiter.forget(*rest)
        else:
            naive.tick() if verb == "tick" else (naive.shut_down(), queue.shut_down())
        now = float(naive.now)
        assert queue.length(now) == len(naive.line())
        assert list(queue.ready().items()) == naive.line()
        assert queue.waiting() == naive.waiting()
        assert queue.next_deadline() == min(naive.waiting().values(), default=None)
        assert list(queue.processing()) == naive.processing
        assert queue.is_ready() is any(key not in naive.processing for key, _ in naive.line())
        for item in "abcd":
            assert queue.due(item) == naive.waiting().get(item)
            assert queue.is_active(item) is (item in dict(naive.line()) or item in naive.processing)
            assert queue.limiter.num_requeues(item) == naive.limiter.num_requeues(item)


# --- stores ------------------------------------------------------------------------------------------------------------


def by_node(obj: Any) -> Sequence[str]:
    return [obj["node"]] if obj["node"] else []


def by_label(obj: Any) -> Sequence[str]:
    return tuple(obj["labels"])


INDEXERS = {"node": by_node, "label": by_label}
Objects = st.builds(
    lambda name, version, node, labels: {**pod(name, version), "node": node, "labels": labels},
    st.sampled_from("abcde"),
    st.integers(1, 9),
    st.sampled_from(["", "n1", "n2"]),
    st.lists(st.sampled_from("xyz"), unique=True, max_size=3),
)
StoreSteps = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["add", "update", "delete", "tombstone"]), Objects),
        st.tuples(st.just("replace"), st.lists(Objects, max_size=5)),
        st.tuples(st.just("transaction"), st.lists(st.tuples(st.sampled_from(["add", "update", "delete"]), Objects), max_size=4)),
        st.tuples(st.just("bookmark"), st.integers(10, 19)),
    ),
    min_size=6,
    max_size=40,
)  # fmt: skip


def _put(naive: NaiveStore, verb: str, obj: Any) -> str:
    if verb in ("add", "update"):
        naive.objects[key_of(obj)] = obj
    else:
        naive.objects.pop(key_of(obj), None)
    return str(obj["metadata"]["resourceVersion"])


def _both(store: Indexer, naive: NaiveStore, verb: str, arg: Any, version: str) -> str:
    """Apply an operation to both; return the resourceVersion known afterwards."""
    if verb == "transaction":
        store.transaction([StoreOp(kind, obj) for kind, obj in arg])
        return [version, *(_put(naive, kind, obj) for kind, obj in arg)][-1]
    if verb == "replace":
        store.replace(arg, "100")
        naive.objects = {key_of(obj): obj for obj in arg}
        return "100"
    if verb == "bookmark":
        store.bookmark(str(arg))
        return str(arg)
    if verb == "tombstone":
        store.delete(DeletedFinalStateUnknown(key_of(arg), arg))
        _put(naive, "delete", arg)
        return version  # a tombstone has no version
    getattr(store, verb)(arg)
    return _put(naive, verb, arg)


@given(StoreSteps, st.integers(0, 40))
@LONG
def test_indexer(steps: Sequence[Any], late: int) -> None:
    store, naive = Indexer(indexers={"node": by_node}), NaiveStore(**INDEXERS)
    version = ""
    if late >= len(steps):
        store.add_indexers({"label": by_label})
    for number, (verb, arg) in enumerate(steps):
        if number == late:
            store.add_indexers({"label": by_label})
        version = _both(store, naive, verb, arg, version)
        assert store.resource_version == version
        assert list(store.list_keys()) == naive.list_keys()
        assert store.list() == naive.list()
        assert len(store) == len(naive.objects)
        for name in store.indexers():
            assert list(store.list_index_values(name)) == naive.index_values(name)
            for value in ("", "n1", "n2", "x", "y", "z"):
                assert list(store.by_index(name, value)) == naive.by_index(name, value)
                assert list(store.index_keys(name, value)) == [key_of(obj) for obj in naive.by_index(name, value)]
    for obj in naive.list():
        alike = [o for o in naive.list() if set(by_node(o)) & set(by_node(obj))]
        assert list(store.index("node", obj)) == alike


# --- informer queues -------------------------------------------------------------------------------------------------


#: Operations of a reflector and of the consumer; numbers distinguish objects of one name.
FifoSteps = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["Added", "Updated", "Deleted", "tombstone"]), Keys),
        st.tuples(st.just("replace"), st.lists(Keys, unique=True)),
        st.tuples(st.sampled_from(["take", "take", "resync", "bookmark"])),
    ),
    min_size=8,
    max_size=50,
)


class Consumer:
    """Takes from a queue and its naive counterpart, compares, and applies the result to both stores."""

    def __init__(self) -> None:
        self.store, self.naive_store = Indexer(), NaiveStore()
        self.notified: list[Notification] = []

    def take(self, queue: Any, naive: Any) -> bool:
        ours, theirs = queue.take(), naive.take()
        if theirs is None:
            assert ours is None
            return False
        assert list(ours.deltas) == list(theirs.deltas)
        assert ours.initial == theirs.initial
        notified, error = process_deltas(self.store, ours)
        assert error is None
        self.notified.extend(notified)
        self._apply(theirs)
        queue.finish(ours)
        if hasattr(naive, "finish"):
            naive.finish(theirs)
        assert self.store.list() == self.naive_store.list()
        return True

    def _apply(self, batch: Batch) -> None:
        objects = self.naive_store.objects
        for kind, obj in batch.deltas:
            if kind == "ReplacedAll":
                self.naive_store.objects = objects = {key_of(one): one for one in obj.objects}
            elif kind == "Deleted":
                objects.pop(key_of(obj), None)
            elif kind not in ("SyncAll", "Bookmark"):
                objects[key_of(obj)] = obj


def explains(notified: Sequence[Notification], store: Indexer) -> None:
    """The notifications alone determine the content of the store."""
    known: dict[str, Any] = {}
    for kind, obj, old, _, _, sync in notified:
        key = key_of(obj)
        if kind == "added":
            assert key not in known
        elif kind == "updated":
            assert known[key] is old
            assert sync is (old["metadata"]["resourceVersion"] == obj["metadata"]["resourceVersion"])
        if kind == "deleted":
            known.pop(key, None)
        else:
            known[key] = obj
    assert known == {key_of(obj): obj for obj in store.list()}


def run(queue: Any, naive: Any, consumer: Consumer, steps: Sequence[Any]) -> None:
    """Apply the operations to both queues, compare after each one, and drain them at the end."""
    server: dict[str, Any] = {}
    for version, (verb, *rest) in enumerate(steps, 1):
        if verb == "take":
            consumer.take(queue, naive)
        elif verb == "resync":
            queue.resync()
            naive.resync()
        elif verb == "bookmark":
            for one in (queue, naive):
                if hasattr(one, "bookmark"):
                    one.bookmark(str(version))
        elif verb == "replace":
            server = {f"default/{name}": pod(name, version) for name in rest[0]}
            queue.replace(list(server.values()), str(version))
            naive.replace(list(server.values()), *([str(version)] if isinstance(naive, NaiveRealFIFO) else []))
        else:
            _change(queue, naive, verb, pod(rest[0], version), server)
        assert queue.has_synced() == naive.has_synced()
    while consumer.take(queue, naive):
        pass
    assert queue.has_synced() == naive.has_synced()
    assert {key_of(obj): obj for obj in consumer.store.list()} == server
    explains(consumer.notified, consumer.store)


def _change(queue: Any, naive: Any, verb: str, obj: Any, server: dict[str, Any]) -> None:
    if verb in ("Added", "Updated"):
        server[key_of(obj)] = obj
    else:
        server.pop(key_of(obj), None)
    notified = DeletedFinalStateUnknown(key_of(obj), obj) if verb == "tombstone" else obj
    naive.change("Deleted" if verb == "tombstone" else verb, notified)
    {"Added": queue.add, "Updated": queue.update}.get(verb, queue.delete)(notified)


@pytest.mark.parametrize("emit_replaced", [True, False])
@given(steps=FifoSteps)
@LONG
def test_delta_fifo(emit_replaced: bool, steps: Sequence[Any]) -> None:
    consumer = Consumer()
    queue = DeltaFIFO(known=consumer.store, emit_replaced=emit_replaced)
    naive = NaiveDeltaFIFO(consumer.naive_store, replaced="Replaced" if emit_replaced else "Sync")
    run(queue, naive, consumer, steps)


@pytest.mark.parametrize("atomic", [True, False])
@pytest.mark.parametrize("batch_size", [1, 3, 1000])
@given(steps=FifoSteps)
@LONG
def test_real_fifo(atomic: bool, batch_size: int, steps: Sequence[Any]) -> None:
    consumer = Consumer()
    options = RealFIFOOptions(atomic, atomic, atomic, batch_size)
    queue = RealFIFO(options, known=None if atomic else consumer.store)
    naive = NaiveRealFIFO(consumer.naive_store, atomic=atomic, batch_size=batch_size)
    run(queue, naive, consumer, steps)
