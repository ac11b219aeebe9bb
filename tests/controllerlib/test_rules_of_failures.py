"""What rarely happens: lists that are tables, failures in a batch, handlers that wait, and what is not synced in time."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from controllerlib.backoff import Backoff
from controllerlib.cache.cache import Cache
from controllerlib.cache.delta import Batch, Delta, ReplacedAll
from controllerlib.cache.factory import NotSynced, SharedInformerFactory
from controllerlib.cache.identity import Identity, InformerMetrics
from controllerlib.cache.informercontroller import new_informer
from controllerlib.cache.options import CacheOptions
from controllerlib.cache.process import Notification, process_deltas
from controllerlib.cache.processorlistener import ProcessorListener
from controllerlib.cache.relist import WatchVersion
from controllerlib.cache.resourceeventhandler import ResourceEventHandlerFuncs
from controllerlib.cache.store import Indexer, StoreOp, TransactionError
from controllerlib.client.client import Client
from controllerlib.client.errors import ApiError
from controllerlib.client.names import DeletedFinalStateUnknown
from controllerlib.client.resource import Resource
from controllerlib.client.retry import retry_on_error
from controllerlib.clock import SystemClock
from controllerlib.controller.event import CreateEvent
from controllerlib.controller.handler import EnqueueRequestsFromMapFunc, RequestQueue
from controllerlib.controller.reconcile import Request
from controllerlib.controller.source import FuncSource
from controllerlib.metrics.registry import Registry
from controllerlib.random import FixedRandom
from controllerlib.tasks import OnceEvent, Tasks
from controllerlib.wait import TimedOut, poll
from controllerlib.workqueue import WorkQueue, priority_queue, work_queue
from tests.controllerlib.fakeapi import FakeApi
from tests.controllerlib.handlerlog import HandlerLog, advance
from tests.controllerlib.objects import named, pod
from tests.controllerlib.rig import Queued, Rig, acting
from tests.controllerlib.scripted import Scripted, Wait, added

# --- caches


async def test_informers_that_have_not_synced_in_time_are_named() -> None:
    api = FakeApi()
    api.faults.append(lambda asked: (500, {}, {}) if "/nodes" in asked.path and "apis" not in asked.path else None)
    factory = SharedInformerFactory(Client(api), random=FixedRandom())
    for version, kind in (("v1", "Pod"), ("v1", "Node"), ("v1", "ConfigMap")):
        factory.informer_for(version, kind)
    async with Tasks() as tasks:
        factory.start(tasks)
        with pytest.raises(NotSynced, match=r"^failed to sync all caches: Node: context deadline exceeded$") as caught:
            await factory.require_cache_sync(timeout=5.0)
        assert caught.value.types == ["Node"]
        assert await factory.wait_for_cache_sync(timeout=0.0) == {
            ("v1", "Pod"): True, ("v1", "Node"): False, ("v1", "ConfigMap"): True,
        }  # fmt: skip
        api.faults.clear()
        await factory.require_cache_sync(timeout=60.0)
        tasks.cancel()


async def test_errors_of_lists_go_to_the_handler_of_the_cache() -> None:
    errors: list[BaseException] = []
    api = FakeApi(streaming=False)
    api.faults.append(lambda asked: (403, {}, {"reason": "Forbidden"}) if asked.path.endswith("/pods") else None)
    cache = Cache(Client(api), CacheOptions(on_watch_error=errors.append), random=FixedRandom())
    async with Tasks() as tasks:
        tasks.start(cache.run(), "cache")
        await cache.informers.get_informer("v1", "Pod", block_until_synced=False)
        await advance(1.0)
        tasks.cancel()
    assert [error.reason for error in errors if isinstance(error, ApiError)] == ["Forbidden"] * len(errors)
    assert len(errors) == 2, "at once and after 0.8 s"


async def test_a_list_that_is_a_table_is_refused() -> None:
    table: dict[str, Any] = {"kind": "Table", "metadata": {"resourceVersion": "1"}, "rows": []}
    source, errors = Scripted([lambda options: table, ([pod("a")], "2")]), list[str]()
    store, controller = new_informer(source, HandlerLog(), random=FixedRandom())
    controller._reflector._on_error = lambda error: errors.append(str(error))
    task = asyncio.create_task(controller.run())
    await advance(0.5)
    assert (errors, len(store), controller.has_synced(), controller.synced.is_set()) == (
        ["table lists are not supported"], 0, False, False,
    )  # fmt: skip
    await advance(1.0)
    assert (len(store), controller.has_synced(), controller.synced.is_set()) == (1, True, True)
    assert controller.resource_version == "2"
    task.cancel()


async def test_handlers_that_wait_are_awaited_one_after_the_other() -> None:
    log: list[str] = []

    async def slow(obj: Any, initial: bool) -> None:
        log.append(f"begin {named(obj)}")
        await SystemClock().sleep_until(asyncio.get_running_loop().time() + 2.0)
        log.append(f"end {named(obj)}")

    source = Scripted([([pod("a"), pod("b")], "1")], [[Wait(1), added(pod("c", 2))]])
    store, controller = new_informer(source, ResourceEventHandlerFuncs(add=slow), random=FixedRandom())
    task = asyncio.create_task(controller.run())
    await advance(3.0)
    assert log == ["begin a@1", "end a@1", "begin b@1"]
    assert len(store) == 2, "the store waits for its handler"
    await advance(3.0)
    assert log[3:] == ["end b@1", "begin c@2", "end c@2"]
    task.cancel()


class Broken(dict[str, Any]):
    """An object whose key cannot be computed."""


def deltas(*pairs: tuple[Any, Any]) -> Batch:
    return Batch([Delta(kind, obj) for kind, obj in pairs], False)


BROKEN = Broken(kind="Pod")


def test_an_error_ends_a_batch_after_what_was_before_it() -> None:
    store = Indexer()
    notifications, error = process_deltas(
        store,
        deltas(("ReplacedAll", ReplacedAll("5", [pod("a", 5)])), ("Added", BROKEN), ("Added", pod("z", 9))),
    )
    assert [named(one.obj) for one in notifications] == ["a@5"]
    assert "object has no meta" in str(error)
    assert (list(store.list_keys()), store.resource_version) == (["default/a"], "5")


def test_a_transaction_applies_and_notifies_what_has_a_key() -> None:
    store = Indexer()
    for name in ("a", "b"):
        store.add(pod(name, 1))
    notifications, error = process_deltas(
        store, deltas(("Updated", pod("a", 2)), ("Added", BROKEN), ("Deleted", pod("b", 3)), ("Added", pod("c", 4)))
    )
    assert [(one.kind, named(one.obj)) for one in notifications] == [
        ("updated", "a@2"), ("deleted", "b@3"), ("added", "c@4"),
    ]  # fmt: skip
    assert isinstance(error, TransactionError)
    assert str(error).startswith("failed to execute (1/4) transactions: couldn't create key for object")
    assert list(error.successful) == [0, 2, 3]
    assert list(store.list_keys()) == ["default/a", "default/c"]
    with pytest.raises(TransactionError):
        store.transaction([StoreOp("delete", pod("a", 5)), StoreOp("add", BROKEN)])
    assert list(store.list_keys()) == ["default/c"]


@pytest.mark.parametrize(("reserved", "resource", "found"), [(True, True, 3.0), (True, False, 0.0), (False, True, 0.0)])
def test_metrics_of_an_informer_are_published_once_its_resource_is_known(
    reserved: bool, resource: bool, found: float
) -> None:
    registry, identity = Registry(), Identity("mine", "apps/v1", "Deployment", reserved)
    known = Resource("apps/v1", "Deployment", "deployments", True) if resource else None
    metrics = InformerMetrics(registry, identity, lambda: known)
    metrics.queued(3)
    metrics.processed(0.5)
    metrics.stored("1234567890123456789")
    metrics.stored("opaque")
    labels = ("mine", "apps", "v1", "deployments")
    assert registry.value("informer_queued_items", *labels) == found
    assert registry.value("informer_store_resource_version", *labels) == (567890123456789 if found else 0)
    assert len(registry.families["informer_processing_latency_seconds"].histograms) == bool(found)


async def test_a_long_backlog_lets_other_tasks_run() -> None:
    turns: list[str] = []
    handler = HandlerLog(before=lambda line: turns.append("handler"))
    log = [(pod(f"p{number}"), number) for number in range(2500)]
    upstream = OnceEvent()
    listener = ProcessorListener(
        handler, upstream, name="x", period=0.0, now=0.0, clock=SystemClock(), skip_failures=False,
        observe=None, replay=[Notification("added", obj, None, True, "list", False) for obj, _ in log],
    )  # fmt: skip
    assert (len(listener), listener.has_synced()) == (2500, False)
    task = asyncio.create_task(listener.run())

    async def other() -> None:
        for _ in range(4):
            turns.append("other")
            await asyncio.sleep(0)  # noqa: TID251  a turn of the loop

    await other()
    upstream.set()
    await advance()
    ordered = [turns[index] for index in range(len(turns)) if index == 0 or turns[index] != turns[index - 1]]
    assert ordered[:5] == ["other", "handler", "other", "handler", "other"]
    assert [turns.count("handler"), len(listener), listener.has_synced()] == [2500, 0, True]
    listener.stop()
    await task
    assert listener.ended.is_set()


# --- waiting and retries


async def test_no_steps_are_no_attempts() -> None:
    calls: list[int] = []

    async def attempt() -> None:
        calls.append(1)

    with pytest.raises(TimedOut):
        await retry_on_error(attempt, lambda error: True, Backoff(1.0, steps=0))
    assert calls == []


async def test_a_condition_that_lasts_longer_than_the_timeout() -> None:
    async def slow() -> bool:
        await SystemClock().sleep_until(asyncio.get_running_loop().time() + 10.0)
        return True

    with pytest.raises(TimedOut, match=r"^timed out waiting for the condition$"):
        await poll(slow, 1.0, 3.0)
    assert asyncio.get_running_loop().time() == 3.0


# --- queues


@pytest.mark.parametrize("make", [work_queue, priority_queue])
async def test_a_delayed_item_wakes_a_getter_that_waits(make: Any) -> None:
    queue: WorkQueue[str] = make()
    getter = asyncio.create_task(queue.get())
    await advance()
    queue.add_after("late", 9.0)
    queue.add_after("early", 3.0)
    assert await getter == "early"
    assert asyncio.get_running_loop().time() == 3.0
    other = asyncio.create_task(queue.get())
    await advance()
    queue.add_after("now", 0.0)
    await advance()
    assert (other.done(), asyncio.get_running_loop().time()) == (True, 3.0)


async def test_a_priority_queue_is_not_drained() -> None:
    queue: WorkQueue[str] = priority_queue()
    queue.add("a")
    queue.add("b")
    assert await queue.get() == "a"
    await queue.shut_down_with_drain()
    assert (queue.is_shut_down, await queue.get()) == (True, None)


# --- controllers


async def test_a_source_that_is_watched_before_the_start() -> None:
    late = Queued(first=[("x", None)])
    rig = Rig(acting())
    await rig.controller.watch(late)
    assert list(rig.controller.unsynced_sources) == [rig.source, late]
    await rig.run(1.0)
    assert rig.notes.requests() == ["x"]
    assert list(rig.controller.unsynced_sources) == []
    after = Queued(first=[("y", None)])
    await rig.controller.watch(after)
    await rig.run(1.0)
    assert rig.notes.requests() == ["x", "y"]


def adding(queue: RequestQueue) -> None:
    queue.add("plain")


async def adding_later(queue: RequestQueue) -> None:
    await advance(2.0)
    queue.add("waiting")


@pytest.mark.parametrize(("func", "name"), [(adding, "plain"), (adding_later, "waiting")])
async def test_the_function_of_a_source_may_wait(func: Any, name: str) -> None:
    queue: WorkQueue[Any] = work_queue()
    source = FuncSource(func)
    async with Tasks() as tasks:
        await source.start(RequestQueue(queue), tasks)
        await source.wait_synced()
    assert list(queue.ready()) == [name]
    assert repr(source) == f"func source: {func.__name__}"


@pytest.mark.parametrize(
    ("answer", "requests"),
    [(None, []), ((), []), ([], []), ([Request("d", "a")], ["d/a"]), ({Request("d", "a")}, ["d/a"])],
)
def test_what_a_map_function_may_return(answer: Any, requests: list[str]) -> None:
    queue: WorkQueue[Any] = WorkQueue(priority_queue()._state, clock=Still())  # type: ignore[arg-type]
    EnqueueRequestsFromMapFunc(lambda obj: answer, Request).handle(CreateEvent(pod("x")), RequestQueue(queue))
    assert [str(one) for one in queue.ready()] == requests


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("text", "must return a sequence of Request objects, not 'text'"),
        (b"x", "must return a sequence of Request objects, not b'x'"),
        ({"a": 1}, "must return a sequence of Request objects, not {'a': 1}"),
        (Request("d", "a"), "must return a sequence of Request objects, not "),
        (3, "must return a sequence of Request objects, not 3"),
        (["d/a"], "must return Request objects, not 'd/a'"),
    ],
)
def test_what_a_map_function_may_not_return(answer: Any, said: str) -> None:
    queue: WorkQueue[Any] = WorkQueue(priority_queue()._state, clock=Still())  # type: ignore[arg-type]
    handler = EnqueueRequestsFromMapFunc(lambda obj: answer).of_type(Request)
    with pytest.raises(TypeError) as caught:
        handler.handle(CreateEvent(pod("x")), RequestQueue(queue))
    assert said in str(caught.value)


class Still:
    """A clock that stands still."""

    def monotonic(self) -> float:
        return 0.0


def test_a_tombstone_without_an_object_has_its_own_key() -> None:
    store = Indexer()
    store.add(pod("a"))
    store.delete(DeletedFinalStateUnknown("default/a"))
    assert len(store) == 0


@pytest.mark.parametrize(
    ("requested", "events", "versions"),
    [
        ("5", ["ADDED 6", "MODIFIED 7", "ADDED 8"], ["6", "7", "8"]),
        ("", ["ADDED 9", "ADDED 2", "BOOKMARK 9", "ADDED 10"], [None, None, "9", "10"]),
        ("0", ["ADDED 9", "MODIFIED 12", "ADDED 13", "DELETED 14"], [None, "12", "13", "14"]),
        ("0", ["DELETED 3", "ADDED 4"], ["3", "4"]),
    ],
)
def test_the_version_of_a_watch(requested: str, events: Sequence[str], versions: Sequence[str | None]) -> None:
    version = WatchVersion(requested)
    assert [version.after(*event.split()) for event in events] == versions
