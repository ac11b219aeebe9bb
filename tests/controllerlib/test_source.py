"""Sources and event handlers: from events to requests."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from controllerlib.cache.cache import Cache
from controllerlib.cache.process import Notification
from controllerlib.client.client import Client
from controllerlib.client.names import DeletedFinalStateUnknown
from controllerlib.controller.event import CreateEvent, DeleteEvent, Event, GenericEvent, UpdateEvent
from controllerlib.controller.handler import (
    EnqueueRequestForObject,
    EnqueueRequestForOwner,
    EnqueueRequestsFromMapFunc,
    EventHandler,
    HandlerFuncs,
    LowPriorityWhenUnchanged,
    RequestQueue,
)
from controllerlib.controller.reconcile import Request
from controllerlib.controller.source import (
    ChannelSource,
    FuncSource,
    InformerSource,
    KindSource,
    SourceEventHandler,
    cause_of,
    event_of,
)
from controllerlib.tasks import Tasks
from controllerlib.workqueue.cause import Cause
from controllerlib.workqueue.queue import WorkQueue, priority_queue, work_queue
from tests.controllerlib.fakeapi import FakeApi
from tests.controllerlib.handlerlog import advance
from tests.controllerlib.objects import pod
from tests.controllerlib.rig import BACKUP, Operator, acting


def asked(handler: EventHandler, *events: Event, queue: WorkQueue[Any] | None = None) -> dict[str, int]:
    """Return the requests of a handler with their priorities, in order."""
    queue = priority_queue() if queue is None else queue
    for event in events:
        handler.handle(event, RequestQueue(queue))
    return {str(request): priority for request, priority in queue.ready().items()}


OWN = EnqueueRequestForObject()


@pytest.mark.parametrize(
    "event",
    [CreateEvent(pod("a")), UpdateEvent(pod("a"), pod("a", 2)), DeleteEvent(pod("a")), GenericEvent(pod("a"))],
    ids=["SR-01-create", "SR-01-update", "SR-01-delete", "SR-01-generic"],
)
async def test_every_event_requests_its_object_once(event: Event) -> None:
    assert list(asked(OWN, event)) == ["default/a"]


async def test_an_event_without_an_object_requests_nothing() -> None:
    assert asked(OWN, CreateEvent(None), UpdateEvent(None, None)) == {}
    assert list(asked(OWN, UpdateEvent(pod("old"), None))) == ["default/old"]


def owned(*owners: tuple[str, str, str, bool], name: str = "child", version: int = 1) -> dict[str, Any]:
    """Return a pod with owners (apiVersion, kind, name, controller)."""
    references = [{"apiVersion": v, "kind": k, "name": n, "controller": c, "uid": n} for v, k, n, c in owners]
    return pod(name, version, ownerReferences=references)


def replica_set(name: str, controller: bool = True) -> tuple[str, str, str, bool]:
    return "apps/v1", "ReplicaSet", name, controller


def owners(**more: Any) -> EnqueueRequestForOwner:
    return EnqueueRequestForOwner("apps/v1", "ReplicaSet", **{"namespaced": True, **more})


@pytest.mark.parametrize(
    ("handler", "event", "requests"),
    [
        pytest.param(owners(), UpdateEvent(owned(replica_set("A")), owned(replica_set("B"), version=2)),
                     ["default/A", "default/B"], id="SR-02-moved"),
        pytest.param(owners(), UpdateEvent(owned(replica_set("A")), owned(replica_set("A"), version=2)),
                     ["default/A"], id="SR-02-same"),
        pytest.param(owners(), CreateEvent(owned(("batch/v1", "ReplicaSet", "A", True))), [], id="SR-03-group"),
        pytest.param(owners(), CreateEvent(owned(("apps/v1", "Deployment", "A", True))), [], id="SR-03-kind"),
        pytest.param(owners(), CreateEvent(owned(("apps/v1beta2", "ReplicaSet", "A", True))), ["default/A"],
                     id="SR-03-version"),
        pytest.param(owners(namespaced=False), CreateEvent(owned(replica_set("A"))), ["A"], id="SR-04"),
        pytest.param(owners(), CreateEvent(owned(replica_set("A"), replica_set("B", False), replica_set("C", False))),
                     ["default/A", "default/B", "default/C"], id="SR-05-all"),
        pytest.param(owners(only_controller=True),
                     CreateEvent(owned(replica_set("A"), replica_set("B", False), replica_set("C", False))),
                     ["default/A"], id="SR-05-controller"),
        pytest.param(owners(only_controller=True), CreateEvent(owned(replica_set("B", False))), [],
                     id="SR-05-no-controller"),
        pytest.param(owners(), CreateEvent(owned(("a/b/c", "ReplicaSet", "A", True), replica_set("B"))), [],
                     id="unparsable-version-ends-it"),
    ],
)  # fmt: skip
async def test_owners(handler: EventHandler, event: Event, requests: Sequence[str]) -> None:
    assert list(asked(handler, event)) == requests


def test_an_owner_needs_a_kind() -> None:
    with pytest.raises(ValueError, match="apiVersion and a kind"):
        EnqueueRequestForOwner("apps/v1", "")


def mapped(obj: Any) -> list[Request]:
    return [Request("default", name) for name in obj["metadata"]["labels"]["for"].split("-")]


async def test_sr_06_a_map_function_is_called_for_old_and_new() -> None:
    event = UpdateEvent(pod("a", labels={"for": "x-y"}), pod("a", 2, labels={"for": "y-z"}))
    expected = ["default/x", "default/y", "default/z"]
    assert list(asked(EnqueueRequestsFromMapFunc(mapped), event)) == expected

    async def waiting(obj: Any) -> list[Request]:
        await asyncio.get_running_loop().run_in_executor(None, lambda: None)
        return mapped(obj)

    queue: WorkQueue[Any] = priority_queue()
    answer = EnqueueRequestsFromMapFunc(waiting).handle(event, RequestQueue(queue))
    assert answer is not None
    await answer
    assert [str(request) for request in queue.ready()] == expected


INITIAL = CreateEvent(pod("a"), is_in_initial_list=True)


@pytest.mark.parametrize(
    ("event", "priority"),
    [
        pytest.param(INITIAL, -100, id="SR-07-initial"),
        pytest.param(CreateEvent(pod("a")), 0, id="SR-07-created"),
        pytest.param(UpdateEvent(pod("a"), pod("a")), -100, id="SR-07-unchanged"),
        pytest.param(UpdateEvent(pod("a"), pod("a", 2)), 0, id="SR-07-changed"),
        pytest.param(DeleteEvent(pod("a")), 0, id="SR-07-deleted"),
    ],
)
async def test_unchanged_objects_have_low_priority(event: Event, priority: int) -> None:
    def add(event: Any, queue: RequestQueue) -> None:
        queue.add("default/a")

    class Bare:
        def handle(self, event: Event, queue: RequestQueue) -> None:
            queue.add("default/a")

    owner_event = event
    handlers = [OWN, EnqueueRequestsFromMapFunc(lambda obj: ["default/a"]), HandlerFuncs(add, add, add, add),
                LowPriorityWhenUnchanged(Bare())]  # fmt: skip
    assert [asked(handler, owner_event) for handler in handlers] == [{"default/a": priority}] * 4
    assert asked(OWN, event, queue=work_queue()) == {"default/a": 0}, "the plain queue knows no priorities"


async def test_sr_07_owners_too() -> None:
    child = owned(replica_set("A"))
    assert asked(owners(), CreateEvent(child, True)) == {"default/A": -100}


TOMBSTONE = DeletedFinalStateUnknown("default/a", pod("a"))


def deleted(obj: Any) -> Notification:
    return Notification("deleted", obj, None, False, "list", False)


async def test_sr_08_tombstones() -> None:
    assert event_of(deleted(TOMBSTONE)) == DeleteEvent(pod("a"), True)
    assert event_of(deleted(DeletedFinalStateUnknown("default/a", None))) is None
    assert event_of(deleted(pod("a"))) == DeleteEvent(pod("a"), False)
    queue: WorkQueue[Any] = priority_queue()
    adapter = SourceEventHandler(OWN, RequestQueue(queue))
    adapter.notify(deleted(DeletedFinalStateUnknown("default/a", None)))
    assert len(queue) == 0
    adapter.notify(deleted(TOMBSTONE))
    assert len(queue) == 1


async def test_sr_09_evaluation_stops_at_the_first_rejection() -> None:
    calls: list[str] = []
    queue: WorkQueue[Any] = priority_queue()
    predicates = [
        lambda event: bool(calls.append("first")) or True,
        lambda event: bool(calls.append("second")),
        lambda event: bool(calls.append("third")) or True,
    ]
    SourceEventHandler(OWN, RequestQueue(queue), predicates).notify(deleted(pod("a")))
    assert [calls, len(queue)] == [["first", "second"], 0]


async def test_sr_10_events_from_outside() -> None:
    async def stream() -> AsyncIterator[GenericEvent]:
        yield GenericEvent(pod("streamed"))

    operator, channel = Operator(), ChannelSource(OWN, events=stream())
    for name in ("a", "b", "c"):
        channel.send(GenericEvent(pod(name)))
    operator.controller("x").watches_raw_source(channel).complete(acting())
    await operator.run()
    assert operator.notes.requests() == ["default/a", "default/b", "default/c", "default/streamed"]
    channel.close()
    channel.send(GenericEvent(pod("late")))
    await operator.run(10)
    assert len(operator.notes.runs) == 4
    assert operator.notes.causes() == ["generic"] * 4


@pytest.mark.parametrize(
    ("appears", "synced"), [pytest.param(15.0, 20.0, id="SR-11-late"), pytest.param(None, None, id="SR-11-never")]
)
async def test_a_kind_that_is_not_served_yet(appears: float | None, synced: float | None) -> None:
    api = FakeApi()
    served = api.kinds.pop(BACKUP)
    operator = Operator(api)
    operator.controller().for_(*BACKUP).complete(acting())
    if appears is not None:
        loop = asyncio.get_running_loop()
        loop.call_at(appears, lambda: api.kinds.update({BACKUP: served}))
        loop.call_at(appears, lambda: api.put(*BACKUP, "a"))
    await operator.run(25)
    looked = [a.at for a in api.asked if a.path == "/apis/example.com/v1"]
    assert looked[:3] == [0, 10, 20]
    assert operator.notes.at() == ([synced] if synced else [])
    if appears is None:
        assert operator.task is not None
        with pytest.raises(TimeoutError, match="failed to wait for backup caches to sync"):
            await operator.task
        assert asyncio.get_running_loop().time() == 120.0


async def test_sr_12_a_kind_has_synced_once_every_object_was_handled() -> None:
    api = FakeApi()
    for name in ("a", "b", "c"):
        api.put(*BACKUP, name)
    cache, handled = Cache(Client(api)), list[str]()

    async def slow(event: Any, queue: RequestQueue) -> None:
        done = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_later(1, done.set_result, None)
        await done
        handled.append(event.obj["metadata"]["name"])

    source = KindSource(cache.informers, *BACKUP, HandlerFuncs(create=slow))
    async with Tasks() as tasks:
        tasks.start(cache.run(), "cache")
        await source.start(RequestQueue(priority_queue()), tasks)
        await source.wait_synced()
        assert [handled, asyncio.get_running_loop().time()] == [["a", "b", "c"], 3.0]
        tasks.cancel()


async def test_sr_13_the_handlers_priority_takes_precedence() -> None:
    class Fives:
        def handle(self, event: Event, queue: RequestQueue) -> None:
            queue.add("x", priority=5)

    assert asked(LowPriorityWhenUnchanged(Fives()), INITIAL) == {"x": 5}
    create = HandlerFuncs(create=lambda event, queue: queue.add("x", priority=5))
    assert asked(create, INITIAL) == {"x": 5}


async def test_sr_14_a_second_controller_replays_at_low_priority() -> None:
    operator = Operator()
    operator.api.put(*BACKUP, "a")
    operator.controller("first").for_(*BACKUP).complete(acting())
    await operator.run(60)
    operator.controller("second").for_(*BACKUP).complete(acting())
    await operator.run()
    assert [run.priority for run in operator.notes.of("second")] == [-100]
    assert len(operator.api.requests("watch")) == 1


async def test_function_and_informer_sources() -> None:
    operator = Operator()
    operator.api.put(*BACKUP, "a")
    informer = await operator.manager.cache.get_informer(*BACKUP)
    operator.controller("x").watches_raw_source(FuncSource(lambda queue: queue.add("func"))).watches_raw_source(
        InformerSource(informer, OWN)
    ).complete(acting())
    await operator.run()
    assert sorted(operator.notes.requests()) == ["default/a", "func"]


def test_a_kind_source_requires_a_kind() -> None:
    with pytest.raises(ValueError, match="non-empty"):
        KindSource(Cache(Client(FakeApi())).informers, "v1", "", OWN)


@pytest.mark.parametrize(
    ("notification", "cause"),
    [
        (Notification("added", pod("a"), None, True, "list", False), "added"),
        (Notification("updated", pod("a", 2), pod("a"), False, "watch", False), "updated"),
        (Notification("updated", pod("a"), pod("a"), False, "resync", True), "resync"),
        (Notification("updated", pod("a"), pod("a"), False, "list", True), "relist"),
        (deleted(TOMBSTONE), "deleted"),
    ],
)
def test_the_cause_of_a_notification(notification: Notification, cause: str) -> None:
    found = cause_of(notification)
    assert [found.kind, found.object_kind, found.namespace, found.name] == [cause, "Pod", "default", "a"]
    assert str(Cause("retry")) == "retry"
    assert str(found).startswith(f"{cause} Pod default/a@")


async def test_the_end_of_a_source_removes_its_handler() -> None:
    operator = Operator()
    operator.controller().for_(*BACKUP).complete(acting())
    await operator.run()
    informer = await operator.manager.cache.get_informer(*BACKUP)
    shared = next(iter(informer.informers.values()))
    assert len(shared._listeners) == 1
    await operator.stop()
    await advance()
    assert len(shared._listeners) == 0
