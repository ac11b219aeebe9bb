"""FIFO, heap, DeltaFIFO and RealFIFO."""

import asyncio
import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from controllerlib.cache.delta import Delta, QueueClosed
from controllerlib.cache.deltafifo import DeltaFIFO
from controllerlib.cache.deltaqueue import DeltaQueue, PopQueue
from controllerlib.cache.fifo import FIFO
from controllerlib.cache.heap import KeyedHeap
from controllerlib.cache.realfifo import RealFIFO, RealFIFOOptions
from controllerlib.cache.store import Indexer
from controllerlib.client.names import DeletedFinalStateUnknown, KeyFailure
from controllerlib.clock import SystemClock, sleep
from tests.controllerlib.objects import named, pod

#: The objects of the queue: a name and a number, such as "foo10".
Fifo = FIFO | DeltaFIFO | RealFIFO
ONE_BY_ONE = RealFIFOOptions(atomic=False, unlock_while_processing=False, bookmarks=False)


def objs(text: str) -> list[dict[str, Any]]:
    """Convert `foo10 bar1` to two objects."""
    return [pod(word.rstrip("0123456789"), word.lstrip("abcdefghijklmnopqrstuvwxyz")) for word in text.split()]


def known(text: str) -> Indexer:
    store = Indexer()
    store.replace(objs(text), "1")
    return store


def short(delta: Delta) -> str:
    """Convert deltas to text: `Added foo10`, `Deleted ts(bar,6)`, `ReplacedAll 10`."""
    if delta.type in ("ReplacedAll", "Bookmark"):
        return f"{delta.type} {delta.object.resource_version}"
    if delta.type == "SyncAll":
        return "SyncAll"
    obj = delta.object
    if isinstance(obj, DeletedFinalStateUnknown):
        inner = named(obj.obj).replace("@", ",") if obj.obj else obj.key.split("/")[1] + ",-"
        return f"{delta.type} ts({inner})"
    return f"{delta.type} {named(obj).replace('@', '')}"


def do(queue: Any, script: str) -> None:
    """Run a script such as `add foo10; replace foo5 bar6; resync; pop`; popped deltas are discarded."""
    for step in filter(None, (part.strip() for part in script.split(";"))):
        verb, _, rest = step.partition(" ")
        if verb == "pop":
            batch = queue.take(1)
            queue.finish(batch)
        elif verb == "replace":
            queue.replace(objs(rest), rest and rest.split()[-1].lstrip("abcdefghijklmnopqrstuvwxyz"))
        elif verb == "resync":
            queue.resync()
        else:
            getattr(queue, verb)(objs(rest)[0])


def pops(queue: DeltaFIFO | RealFIFO, limit: int | None = 1) -> list[str]:
    """Pop until the queue is empty; return one string per pop."""
    found = []
    while (batch := queue.take(limit)) is not None:
        found.append(" ".join(short(delta) for delta in batch.deltas))
        queue.finish(batch)
    return found


# --- FIFO and heap


def taken(queue: FIFO) -> list[str]:
    found = []
    while (obj := queue.take()) is not None:
        found.append(named(obj).replace("@", ""))
    return found


@pytest.mark.parametrize(
    ("script", "found"),
    [
        pytest.param("add foo10; update foo15", ["foo15"], id="FF-01"),
        pytest.param("add foo1; delete foo1", [], id="FF-02"),
    ],
)
def test_the_order_of_a_fifo(script: str, found: Sequence[str]) -> None:
    queue = FIFO()
    do(queue, script)
    assert taken(queue) == found


def test_ff_03_keys_keep_their_place() -> None:
    queue = FIFO()
    do(queue, "add foo10; add bar1; add foo11; add foo13; add zab30")
    assert named(queue.take()) == "foo@13"
    do(queue, "add foo14")
    assert taken(queue) == ["bar1", "zab30", "foo14"]


def synced_along(queue: Any, take: Callable[[], Any]) -> list[bool]:
    """Return has_synced before the first and after each pop."""
    found = [queue.has_synced()]
    while take() is not None:
        found.append(queue.has_synced())
    return found


@pytest.mark.parametrize(
    ("script", "synced"),
    [
        pytest.param("replace a1 b1", [False, False, True], id="FF-04-two"),
        pytest.param("replace ", [True], id="FF-04-none"),
        pytest.param("add a1", [True, True], id="FF-04-add-first"),
    ],
)
def test_when_a_fifo_has_synced(script: str, synced: Sequence[bool]) -> None:
    queue = FIFO()
    do(queue, script)
    assert synced_along(queue, queue.take) == synced


async def test_ff_05_closing_ends_every_pop() -> None:
    queue = PopQueue(FIFO())
    tasks = [asyncio.create_task(queue.pop(named)) for _ in range(10)]
    await asyncio.get_running_loop().settle()  # type: ignore[attr-defined]
    queue.close()
    assert [type(e) for e in await asyncio.gather(*tasks, return_exceptions=True)] == [QueueClosed] * 10


async def test_ff_06_a_failed_item_is_not_queued_again() -> None:
    queue = PopQueue(FIFO())
    queue.add(pod("a"))

    def fail(obj: Any) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await queue.pop(fail)
    assert len(queue.state) == 0


def heap(*values: int) -> KeyedHeap[dict[str, int]]:
    made: KeyedHeap[dict[str, int]] = KeyedHeap(lambda item: f"k{item['k']}", lambda item: item["v"])
    for value in values:
        made.add({"k": value, "v": value})
    return made


def values(made: KeyedHeap[dict[str, int]]) -> list[int]:
    found = []
    while len(made):
        item = made.pop()
        assert item is not None
        found.append(item["v"])
    return found


@pytest.mark.parametrize("seed", range(5))
def test_a_heap_stays_one_when_its_items_are_moved_often(seed: int) -> None:
    source, made, last = random.Random(seed), heap(), dict[int, int]()
    for _ in range(300):
        key = source.randrange(20)
        last[key] = source.randrange(1000)
        made.add({"k": key, "v": last[key]})
    assert values(made) == sorted(last.values())


def test_ff_07_smallest_first_also_after_a_change() -> None:
    assert values(heap(10, 1, 11, 30)) == [1, 10, 11, 30]
    changed = heap(10, 1, 11, 30)
    changed.add({"k": 30, "v": 0})
    assert values(changed) == [0, 1, 10, 11]
    changed.add({"k": 1, "v": 5})
    changed.add_if_not_present({"k": 1, "v": 9})
    assert changed.get("k1") == {"k": 1, "v": 5}
    with pytest.raises(KeyError):
        changed.delete({"k": 99, "v": 0})


def test_ff_08_a_closed_heap() -> None:
    made = heap(1)
    made.close()
    with pytest.raises(QueueClosed):
        made.add({"k": 2, "v": 2})
    assert made.pop() == {"k": 1, "v": 1}
    with pytest.raises(QueueClosed):
        made.pop()


# --- DeltaFIFO


@pytest.mark.parametrize(
    ("store", "script", "found"),
    [
        pytest.param(None, "add foo10; update foo12; add foo13; delete foo15",
                     ["Added foo10 Updated foo12 Added foo13 Deleted foo15"], id="DF-01"),
        pytest.param(None, "add foo10; update bar15; add qux17; delete qux18; delete baz20",
                     ["Added foo10", "Updated bar15", "Added qux17 Deleted qux18"], id="DF-02"),
        pytest.param("foo1 bar2 baz3", "delete baz20", ["Deleted baz20"], id="DF-03"),
        pytest.param("foo1", "delete foo5; delete foo6", ["Deleted foo5"], id="DF-04-objects"),
        pytest.param("foo1", "delete foo1; replace foo2", ["Deleted foo1 Sync foo2"], id="DF-05"),
        pytest.param(None, "add foo1; replace ", ["Added foo1 Deleted ts(foo,1)"], id="DF-06"),
        pytest.param(None, "add foo1; delete foo2; replace ", ["Added foo1 Deleted foo2"], id="DF-07"),
        pytest.param(None, "add foo1; replace foo1; replace foo1; replace ",
                     ["Added foo1 Sync foo1 Sync foo1 Deleted ts(foo,1)"], id="DF-08"),
        pytest.param(None, "add foo2; delete foo2; add foo3; replace ",
                     ["Added foo2 Deleted foo2 Added foo3 Deleted ts(foo,3)"], id="DF-09"),
        pytest.param("foo5 bar6 baz7", "delete baz10; replace foo5",
                     ["Deleted baz10", "Sync foo5", "Deleted ts(bar,6)"], id="DF-10"),
        pytest.param("foo5 bar6 baz7", "add baz10; replace foo5",
                     ["Added baz10 Deleted ts(baz,10)", "Sync foo5", "Deleted ts(bar,6)"], id="DF-11"),
        pytest.param("foo5", "resync", ["Sync foo5"], id="DF-13-known"),
        pytest.param("foo5", "delete foo6; resync", ["Deleted foo6"], id="DF-13-deleted"),
        pytest.param("foo5", "update foo6; resync", ["Updated foo6"], id="DF-13-updated"),
        pytest.param(None, "resync", [], id="DF-13-nothing-known"),
    ],
)  # fmt: skip
def test_the_deltas_of_a_delta_fifo(store: str | None, script: str, found: Sequence[str]) -> None:
    queue = DeltaFIFO(known=known(store) if store is not None else None)
    do(queue, script)
    assert pops(queue) == found


def test_df_04_after_a_tombstone_the_newer_deletion_counts() -> None:
    queue = DeltaFIFO(known=known("foo1"))
    queue.delete(DeletedFinalStateUnknown("default/foo", pod("foo", 1)))
    queue.delete(pod("foo", 2))
    assert pops(queue) == ["Deleted foo2"]


def test_df_12_replaced_instead_of_sync() -> None:
    queue = DeltaFIFO(emit_replaced=True)
    do(queue, "replace foo1")
    assert pops(queue) == ["Replaced foo1"]


def test_df_14_all_of_the_first_list_is_initial() -> None:
    queue, found = DeltaFIFO(known=known("foo1 bar1 baz1")), []
    do(queue, "replace foo1")
    while True:
        before = queue.has_synced()
        batch = queue.take()
        if batch is None:
            break
        found.append((before, batch.initial))
        queue.finish(batch)
    assert found == [(False, True)] * 3
    assert queue.has_synced()


@pytest.mark.parametrize(
    ("script", "synced"),
    [
        pytest.param("", [False], id="DF-15-nothing"),
        pytest.param("add a1", [True, True], id="DF-15-add"),
        pytest.param("replace ", [True], id="DF-15-empty"),
        pytest.param("replace a1 b1", [False, False, True], id="DF-15-two"),
        pytest.param("replace a1 a2", [False, True], id="DF-15-one-key"),
    ],
)
def test_when_a_delta_fifo_has_synced(script: str, synced: Sequence[bool]) -> None:
    queue = DeltaFIFO()
    do(queue, script)
    assert synced_along(queue, lambda: popped(queue)) == synced


def popped(queue: DeltaFIFO | RealFIFO) -> Any:
    batch = queue.take(1)
    if batch is not None:
        queue.finish(batch)
    return batch


def test_df_16_a_key_goes_to_the_end_only_once_popped() -> None:
    queue = DeltaFIFO()
    do(queue, "add foo10; add bar1; add foo11; add foo13; add zab30")
    batch = queue.take()
    assert batch is not None
    assert [short(delta) for delta in batch.deltas] == ["Added foo10", "Added foo11", "Added foo13"]
    queue.finish(batch)
    do(queue, "add foo14")
    assert pops(queue) == ["Added bar1", "Added zab30", "Added foo14"]


def test_df_17_each_real_object_is_transformed_once() -> None:
    calls: list[str] = []

    def transform(obj: Any) -> Any:
        calls.append(named(obj).replace("@", ""))
        return obj

    queue = DeltaFIFO(transform=transform, emit_replaced=True)
    do(queue, "add foo1; add bar1; update foo2; delete foo3; replace ; add bar2; replace ")
    assert calls == ["foo1", "bar1", "foo2", "foo3", "bar2"]


def test_df_18_a_failing_transform_queues_nothing() -> None:
    queue = DeltaFIFO(transform=lambda obj: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        queue.add(pod("foo"))
    assert len(queue) == 0


async def test_df_19_closing_ends_pops() -> None:
    queue, found = DeltaQueue(DeltaFIFO()), []
    queue.add(pod("a"))
    queue.close()
    await queue.pop(lambda batch: found.append(short(batch.deltas[0])))
    with pytest.raises(QueueClosed):
        await queue.pop(lambda batch: None)
    assert found == ["Added a1"]
    blocked = DeltaQueue(DeltaFIFO())
    task = asyncio.create_task(blocked.take())
    await asyncio.get_running_loop().settle()  # type: ignore[attr-defined]
    blocked.close()
    with pytest.raises(QueueClosed):
        await task


class Forgetful:
    """Known keys without objects."""

    def list_keys(self) -> Sequence[str]:
        return ["default/gone"]

    def get_by_key(self, key: str) -> Any:
        raise LookupError(key)


def test_df_20_an_unknown_object_leaves_an_empty_tombstone() -> None:
    queue = DeltaFIFO(known=Forgetful())
    queue.replace([], "1")
    assert pops(queue) == ["Deleted ts(gone,-)"]


async def test_df_21_a_failed_item_is_not_queued_again() -> None:
    queue = DeltaQueue(DeltaFIFO())
    queue.add(pod("a"))

    def fail(batch: Any) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await queue.pop(fail)
    assert len(queue) == 0


def test_the_key_of_deltas_is_that_of_the_newest() -> None:
    queue = DeltaFIFO()
    assert queue.key_of([Delta("Added", pod("a")), Delta("Deleted", DeletedFinalStateUnknown("x/y"))]) == "x/y"
    with pytest.raises(KeyFailure, match="0 length"):
        queue.key_of([])


# --- RealFIFO


@pytest.mark.parametrize(
    ("store", "script", "found"),
    [
        pytest.param("", "add foo10; update foo12; delete foo15",
                     ["Added foo10", "Updated foo12", "Deleted foo15"], id="RQ-01"),
        pytest.param("", "delete baz20", ["Deleted baz20"], id="RQ-02"),
        pytest.param("foo5 bar6 baz7", "delete baz10; replace foo5",
                     ["Deleted baz10", "Deleted ts(bar,6)", "Replaced foo5"], id="RQ-04"),
        pytest.param("foo5 bar6 baz7", "replace bar100 foo5; replace foo5",
                     ["Deleted ts(baz,7)", "Replaced bar100", "Replaced foo5", "Deleted ts(bar,100)",
                      "Replaced foo5"], id="RQ-05"),
        pytest.param("foo5 bar6 baz7", "delete bar6; add bar100; replace foo5",
                     ["Deleted bar6", "Added bar100", "Deleted ts(bar,100)", "Deleted ts(baz,7)", "Replaced foo5"],
                     id="RQ-06"),
        pytest.param("", "add x1; replace ; replace ", ["Added x1", "Deleted ts(x,1)"], id="RQ-07"),
        pytest.param("foo5", "resync", ["Sync foo5"], id="RQ-08-known"),
        pytest.param("foo5", "update foo6; resync", ["Updated foo6"], id="RQ-08-queued"),
    ],
)  # fmt: skip
def test_the_deltas_of_a_real_fifo(store: str, script: str, found: Sequence[str]) -> None:
    queue = RealFIFO(ONE_BY_ONE, known=known(store))
    do(queue, script)
    assert pops(queue) == found


def test_rq_03_nothing_is_merged_or_reordered() -> None:
    queue = RealFIFO(ONE_BY_ONE, known=known(""))
    do(queue, "add foo10; add bar1; add foo11; add foo13; add zab30")
    first = queue.take(1)
    assert first is not None
    assert [short(delta) for delta in first.deltas] == ["Added foo10"]
    queue.finish(first)
    do(queue, "add foo14")
    assert pops(queue) == ["Added bar1", "Added foo11", "Added foo13", "Added zab30", "Added foo14"]


def test_rq_09_a_list_is_one_element() -> None:
    queue = RealFIFO()
    queue.add(pod("foo", 1))
    for listed, version in (([pod("foo", 1)], "10"), ([pod("foo", 1)], "20"), ([], "56")):
        queue.replace(listed, version)
    assert pops(queue) == ["Added foo1", "ReplacedAll 10", "ReplacedAll 20", "ReplacedAll 56"]


def test_rq_10_a_resync_is_one_element_always() -> None:
    queue = RealFIFO()
    do(queue, "add foo1; resync")
    assert pops(queue) == ["Added foo1", "SyncAll"]


def test_rq_11_bookmarks() -> None:
    queue = RealFIFO()
    queue.bookmark("123")
    assert not queue.has_synced()
    queue.replace([], "1234")
    assert pops(queue) == ["Bookmark 123", "ReplacedAll 1234"]
    plain = RealFIFO(ONE_BY_ONE, known=known(""))
    plain.bookmark("123")
    assert pops(plain) == []


def test_rq_12_even_an_empty_list_must_be_processed() -> None:
    queue = RealFIFO()
    queue.replace([], "1")
    assert synced_along(queue, lambda: popped(queue)) == [False, True]


@pytest.mark.parametrize(
    ("script", "synced"),
    [
        pytest.param("replace ", [True], id="RQ-13-empty"),
        pytest.param("replace a1 b1", [False, False, True], id="RQ-13-two"),
        pytest.param("replace a1 a1", [False, False, True], id="RQ-13-one-key-twice"),
    ],
)
def test_when_a_real_fifo_has_synced(script: str, synced: Sequence[bool]) -> None:
    queue = RealFIFO(ONE_BY_ONE, known=known(""))
    do(queue, script)
    assert synced_along(queue, lambda: popped(queue)) == synced


async def test_rq_14_synced_only_after_the_last_was_processed() -> None:
    queue, inside = DeltaQueue(RealFIFO()), []
    queue.replace([pod("a")], "1")
    await queue.pop(lambda batch: inside.append((queue.has_synced(), batch.initial)))
    assert inside == [(False, True)]
    assert queue.has_synced()
    assert queue.synced.is_set()


@pytest.mark.parametrize(
    ("initial", "later", "size", "found"),
    [
        pytest.param("a1 b2", "c3 d4", 2, ["Replaced a1 Replaced b2", "Updated c3 Updated d4"], id="RQ-15"),
        pytest.param("a1 b2", "b3 c4", 9, ["Replaced a1 Replaced b2", "Updated b3 Updated c4"], id="RQ-16-two"),
        pytest.param("a1", "a2 a3", 9, ["Replaced a1", "Updated a2", "Updated a3"], id="RQ-16-singles"),
        pytest.param("a1 b2 c3", "d4", 2, ["Replaced a1 Replaced b2", "Replaced c3", "Updated d4"], id="RQ-17"),
    ],
)
def test_batches(initial: str, later: str, size: int, found: Sequence[str]) -> None:
    options = RealFIFOOptions(atomic=False, unlock_while_processing=False, bookmarks=False, batch_size=size)
    queue = RealFIFO(options, known=known(""))
    queue.replace(objs(initial), "1")
    for obj in objs(later):
        queue.update(obj)
    assert pops(queue, None) == found


@pytest.mark.parametrize(
    ("initial", "later", "size", "found"),
    [
        ("a1 b2 c3", "d4 e5", 1, [True, True, True, False, False]),
        ("a1 b2 c3", "d4 e5", 2, [True, True, False]),
        ("a1 b2 c3", "d4 e5", 9, [True, False]),
        ("a1", "a2", 1, [True, False]),
        ("", "a1 b2", 1, [False, False]),
        ("", "a1 b2", 9, [False]),
    ],
)
def test_the_batches_of_the_first_list_are_initial(initial: str, later: str, size: int, found: Sequence[bool]) -> None:
    options = RealFIFOOptions(atomic=False, unlock_while_processing=False, bookmarks=False, batch_size=size)
    queue, are_initial = RealFIFO(options, known=known("")), []
    queue.replace(objs(initial), "1")
    for obj in objs(later):
        queue.update(obj)
    while (batch := queue.take()) is not None:
        are_initial.append(batch.initial)
        queue.finish(batch)
    assert are_initial == found


@pytest.mark.parametrize(
    ("position", "sizes"),
    [pytest.param(2, [3, 1], id="RQ-18-third"), pytest.param(0, [1, 3], id="RQ-18-first")],
)
def test_a_broken_key_ends_its_batch(position: int, sizes: Sequence[int]) -> None:
    queue, items = RealFIFO(), [*objs("a1 b1 c1")]
    items.insert(position, {"no": "metadata"})
    for item in items:
        queue.add(item)
    found = []
    while (batch := queue.take()) is not None:
        found.append(len(batch.deltas))
        queue.finish(batch)
    assert found == sizes


@pytest.mark.parametrize(("queued", "waits"), [(1999, False), (2000, True)], ids=["RQ-19-below", "RQ-19-full"])
async def test_producers_wait_only_behind_two_full_batches(queued: int, waits: bool) -> None:
    queue = DeltaQueue(RealFIFO())
    queue.add(pod("first"))
    batch = await queue.take()
    for _ in range(queued):
        queue.add(pod("more"))
    producer = asyncio.create_task(queue.room())
    await asyncio.get_running_loop().settle()  # type: ignore[attr-defined]
    assert producer.done() is not waits
    queue.finish(batch)
    await producer


@pytest.mark.parametrize(
    ("options", "store"),
    [
        (RealFIFOOptions(), known("")),
        (RealFIFOOptions(atomic=False, bookmarks=False), known("")),
        (RealFIFOOptions(atomic=False, unlock_while_processing=False), known("")),
        (ONE_BY_ONE, None),
    ],
    ids=["RQ-20-atomic-and-known", "RQ-20-unlocking", "RQ-20-bookmarks", "RQ-20-neither"],
)
def test_invalid_options(options: RealFIFOOptions, store: Indexer | None) -> None:
    with pytest.raises(ValueError, match=r"must|need"):
        RealFIFO(options, known=store)


@pytest.mark.parametrize(
    ("options", "store", "left"),
    [
        pytest.param(RealFIFOOptions(), None, [], id="RQ-21-atomic"),
        pytest.param(ONE_BY_ONE, known(""), ["Replaced a1"], id="RQ-21-one-by-one"),
    ],
)
def test_a_failing_transform(options: RealFIFOOptions, store: Indexer | None, left: Sequence[str]) -> None:
    def transform(obj: Any) -> Any:
        if obj["metadata"]["name"] == "bad":
            raise ZeroDivisionError
        return obj

    queue = RealFIFO(options, known=store, transform=transform)
    with pytest.raises(ZeroDivisionError):
        queue.replace(objs("a1 bad2 c3"), "3")
    assert pops(queue) == left


async def test_rq_22_metrics() -> None:
    depths: list[int] = []
    steps: list[float] = []
    queue = DeltaQueue(RealFIFO(), on_length=depths.append, on_step=steps.append)
    queue.add(pod("a")), queue.add(pod("b"))
    await queue.pop(lambda batch: None)
    await queue.pop(lambda batch: None)
    assert depths == [1, 2, 1, 0]
    assert steps == [0.0, 0.0]


async def test_the_seconds_of_a_step_are_from_its_beginning() -> None:
    steps: list[float] = []
    queue = DeltaQueue(RealFIFO(), on_step=steps.append)
    await sleep(SystemClock(), 5)
    for seconds in (2, 0, 3):
        queue.add(pod("a"))
        await queue.pop(lambda batch, seconds=seconds: sleep(SystemClock(), seconds))
        await sleep(SystemClock(), 1)
    assert steps == [2, 0, 3]
