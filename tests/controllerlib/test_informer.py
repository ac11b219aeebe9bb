"""The low-level informer: how deltas change the store, and the calls of its handler."""

import asyncio
import random
from collections.abc import Sequence
from typing import Any

import pytest

from controllerlib.cache.delta import Batch, Bookmark, Delta, ReplacedAll, SyncAll
from controllerlib.cache.informercontroller import InformerOptions, new_informer
from controllerlib.cache.process import Notification, process_deltas
from controllerlib.cache.realfifo import RealFIFO, RealFIFOOptions
from controllerlib.cache.resourceeventhandler import FilteringResourceEventHandler, ResourceEventHandlerFuncs
from controllerlib.cache.store import Indexer
from controllerlib.client.names import DeletedFinalStateUnknown
from controllerlib.random import FixedRandom
from tests.controllerlib.handlerlog import HandlerLog, advance
from tests.controllerlib.objects import named, pod
from tests.controllerlib.scripted import Scripted, Wait, added, bookmark, deleted, error, modified


def store_of(*objs: Any) -> Indexer:
    store = Indexer()
    store.replace(objs, "0")
    return store


def notified(notifications: Sequence[Notification]) -> list[str]:
    """Convert notifications to log lines."""
    lines = []
    for each in notifications:
        if each.kind == "added":
            lines.append(f"add {named(each.obj)}{'!' if each.initial else ''}")
        elif each.kind == "updated":
            lines.append(f"update {named(each.old)}>{each.obj['metadata']['resourceVersion']}")
        else:
            lines.append(f"delete {named(each.obj)}")
    return lines


def process(store: Indexer, *deltas: Delta, initial: bool = False) -> list[str]:
    notifications, failure = process_deltas(store, Batch(deltas, initial))
    if failure is not None:
        raise failure
    return notified(notifications)


async def informer(source: Scripted, handler: Any, seconds: float = 0.0, **more: Any) -> Indexer:
    """Run a low-level informer for some time."""
    store, controller = new_informer(source, handler, random=FixedRandom(0.0), **more)
    task = asyncio.create_task(controller.run(), name="informer")
    await advance(seconds)
    task.cancel()
    return store


def test_deltas_of_all_objects_beside_others_are_applied_in_order() -> None:
    store = store_of(pod("a", 1))
    deltas = (Delta("Added", pod("b", 2)), Delta("SyncAll", SyncAll()), Delta("Updated", pod("a", 3)))
    assert process(store, *deltas) == ["add b@2", "update a@1>1", "update b@2>2", "update a@1>3"]
    deltas = (Delta("ReplacedAll", ReplacedAll("4", [pod("c", 4)])), Delta("Added", pod("d", 5)))
    assert process(store, *deltas) == ["delete a@3?", "delete b@2?", "add c@4", "add d@5"]
    assert process(store, Delta("Bookmark", Bookmark("9")), Delta("Deleted", pod("c", 9))) == ["delete c@9"]
    assert [named(one) for one in store.list()] == ["d@5"]


async def test_ct_01_only_the_first_list_is_initial() -> None:
    lists = [([pod("pod-1", 1)], "1"), ([pod("pod-1", 2), pod("pod-2", 3)], "3")]
    handler = HandlerLog()
    await informer(Scripted(lists, [[Wait(1), error(410, "Expired")], ()]), handler, 5)
    assert handler.log == ["add pod-1@1!", "update pod-1@1>2", "add pod-2@3"]


BEFORE = (pod("one", 1), pod("two", 2), pod("three", 3))
AFTER = (pod("one", 4), pod("two", 5), pod("four", 6))
EXPECTED = ["delete three@3?", "update one@1>4", "update two@2>5", "add four@6"]


def test_ct_02_a_list_is_stored_before_handlers_are_called() -> None:
    store = store_of(*BEFORE)
    assert process(store, Delta("ReplacedAll", ReplacedAll("6", AFTER))) == EXPECTED
    assert store.resource_version == "6"
    assert [named(obj) for obj in store.list()] == ["four@6", "one@4", "two@5"]


def test_ct_03_the_same_one_by_one() -> None:
    store, lines = store_of(*BEFORE), []
    options = RealFIFOOptions(atomic=False, unlock_while_processing=False, bookmarks=False)
    queue = RealFIFO(options, known=store)
    queue.replace(AFTER, "6")
    while (batch := queue.take()) is not None:
        lines += [line.rstrip("!") for line in notified(process_deltas(store, batch)[0])]
        queue.finish(batch)
    assert lines == EXPECTED


def test_ct_04_an_empty_list_deletes_all_in_the_order_of_keys() -> None:
    lines = process(store_of(*BEFORE), Delta("ReplacedAll", ReplacedAll("9", ())))
    assert lines == ["delete one@1?", "delete three@3?", "delete two@2?"]


def test_ct_05_a_resync_delivers_everything_again() -> None:
    store = store_of(*BEFORE)
    notifications, _ = process_deltas(store, Batch([Delta("SyncAll", SyncAll())], False))
    assert [(n.kind, n.old is n.obj, n.sync) for n in notifications] == [("updated", True, True)] * 3


@pytest.mark.parametrize(
    ("delta", "line"),
    [
        pytest.param(Delta("Added", pod("one", 9)), "update one@1>9", id="CT-06-added-known"),
        pytest.param(Delta("Updated", pod("new", 9)), "add new@9", id="CT-06-updated-unknown"),
        pytest.param(Delta("Deleted", pod("new", 9)), "delete new@9", id="CT-07"),
        pytest.param(Delta("Sync", pod("one", 1)), "update one@1>1", id="sync"),
    ],
)
def test_notifications_depend_on_the_store_not_on_the_type(delta: Delta, line: str) -> None:
    assert process(store_of(*BEFORE), delta) == [line]


def test_ct_08_valid_deltas_of_a_batch_are_delivered() -> None:
    store = store_of()
    batch = Batch([Delta("Added", pod("a")), Delta("Added", {"broken": 1}), Delta("Added", pod("c"))], False)
    notifications, failure = process_deltas(store, batch)
    assert notified(notifications) == ["add a@1", "add c@1"]
    assert "(1/3)" in str(failure)


def test_ct_09_values_without_metadata_do_not_move_the_version() -> None:
    store = Indexer(key_func=lambda obj: obj if isinstance(obj, str) else obj.key)
    process_deltas(store, Batch([Delta("ReplacedAll", ReplacedAll("5", ["a", "b"]))], True))
    process_deltas(store, Batch([Delta("Added", "c")], False))
    assert [store.resource_version, list(store.list())] == ["5", ["a", "b", "c"]]
    process_deltas(store, Batch([Delta("Bookmark", Bookmark("7"))], False))
    assert store.resource_version == "7"


async def test_ct_10_an_exception_of_a_handler_ends_the_informer() -> None:
    def fail(obj: Any, initial: bool) -> None:
        raise ZeroDivisionError

    _, controller = new_informer(Scripted([([pod("a")], "1")]), ResourceEventHandlerFuncs(add=fail))
    with pytest.raises(ZeroDivisionError):
        await controller.run()


@pytest.mark.parametrize(
    ("before", "after", "line"),
    [
        pytest.param("web", "web", ["update a@1>2"], id="CT-11-both"),
        pytest.param("db", "web", ["add a@2"], id="CT-11-comes-in"),
        pytest.param("web", "db", ["delete a@1"], id="CT-11-leaves"),
        pytest.param("db", "db", [], id="CT-11-neither"),
    ],
)
def test_a_filtering_handler(before: str, after: str, line: Sequence[str]) -> None:
    inner = Noted()
    handler = FilteringResourceEventHandler(lambda obj: obj["metadata"]["labels"]["app"] == "web", inner)
    handler.on_update(pod("a", 1, labels={"app": before}), pod("a", 2, labels={"app": after}))
    assert inner.log == line


class Noted(HandlerLog):
    """Apply deltas without an event loop."""

    def _note(self, line: str) -> None:
        self.log.append(line)


def test_ct_11_the_filter_receives_the_original_object() -> None:
    inner, asked = Noted(), list[Any]()
    handler = FilteringResourceEventHandler(lambda obj: bool(asked.append(obj)) or True, inner)
    tombstone = DeletedFinalStateUnknown("default/a", pod("a"))
    handler.on_delete(tombstone)
    handler.on_add(pod("a"), True)
    assert [asked[0], inner.log] == [tombstone, ["delete a@1?", "add a@1!"]]


async def test_ct_12_recreated_while_disconnected_is_one_update() -> None:
    lists = [([pod("a", 1, uid="first")], "1"), ([pod("a", 9, uid="second")], "9")]
    seen: list[Any] = []
    handler = ResourceEventHandlerFuncs(
        update=lambda old, new: seen.append((old["metadata"]["uid"], new["metadata"]["uid"]))
    )
    await informer(Scripted(lists, [[Wait(1), error(410, "Expired")], ()]), handler, 5)
    assert seen == [("first", "second")]


async def test_ct_13_recreated_while_connected_is_both() -> None:
    handler = HandlerLog()
    steps = [deleted(pod("a", 2)), added(pod("a", 3))]
    await informer(Scripted([([pod("a", 1)], "1")], [steps]), handler)
    assert handler.log == ["add a@1!", "delete a@2", "add a@3"]


@pytest.mark.parametrize("fifo", ["real", "delta"], ids=["CT-14-real", "CT-14-delta"])
async def test_every_object_has_a_valid_sequence_of_notifications(fifo: str) -> None:
    draws, alive, version, steps = random.Random(14), set[int](), 1, list[Any]()
    for _ in range(2000):
        number, version = draws.randrange(25), version + 1
        obj = pod(f"p{number}", version)
        if number not in alive:
            alive.add(number)
            steps.append(added(obj))
        elif draws.random() < 0.3:
            alive.remove(number)
            steps.append(deleted(obj))
        else:
            steps.append(modified(obj))
        if draws.random() < 0.1:
            steps.append(Wait(0.001))
    handler = HandlerLog()
    await informer(Scripted(watches=[steps]), handler, 10, options=InformerOptions(fifo=fifo))
    assert len(handler.log) == 2000
    living: set[str] = set()
    for line in handler.log:
        verb, rest = line.split()
        name = rest.split("@")[0]
        assert (name in living) == (verb != "add"), line
        (living.discard if verb == "delete" else living.add)(name)


async def test_ct_15_nothing_is_delivered_after_the_end() -> None:
    handler = HandlerLog()
    source = Scripted(watches=[[Wait(1), *(added(pod(f"p{number}", number)) for number in range(5))]])
    _, controller = new_informer(source, handler)
    task = asyncio.create_task(controller.run(), name="informer")
    loop = asyncio.get_running_loop()
    loop.call_at(1.0, lambda: loop.call_soon(lambda: loop.call_soon(task.cancel)))
    await advance(2)
    told_then = list(handler.log)
    await advance(10)
    assert handler.log == told_then
    assert task.cancelled()


async def test_the_resource_version_of_an_informer() -> None:
    store, controller = new_informer(
        Scripted([([pod("a", 1)], "1")], [[bookmark(5)]]), HandlerLog(), resync_period=10.0
    )
    assert [controller.resource_version, controller.has_synced()] == ["", False]
    task = asyncio.create_task(controller.run(), name="informer")
    await advance()
    assert [controller.resource_version, controller.has_synced(), store.resource_version] == ["5", True, "5"]
    task.cancel()
