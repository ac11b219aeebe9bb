"""Small parts: JSON of models, blocking clients, task groups, deadlines of queues, credentials, lazy names."""

import asyncio
from base64 import b64decode
from collections import OrderedDict, UserDict
from dataclasses import astuple
from datetime import date
from types import SimpleNamespace
from typing import Any

import pytest

import controllerlib.cache
import controllerlib.client
from controllerlib.backoff import Backoff, KeyedBackoff
from controllerlib.cache.delta import Delta
from controllerlib.cache.deltafifo import DeltaFIFO
from controllerlib.cache.deltaqueue import PopQueue
from controllerlib.cache.fifo import FIFO
from controllerlib.cache.realfifo import RealFIFO
from controllerlib.cache.reflector import Reflector
from controllerlib.cache.store import ThreadSafeStore
from controllerlib.client.blocking import BlockingClient
from controllerlib.client.client import Client
from controllerlib.client.credentials import Credentials
from controllerlib.client.difference import differences
from controllerlib.client.errors import ApiError
from controllerlib.client.models import to_json
from controllerlib.client.names import copy_json, has_metadata
from controllerlib.client.restmapper import is_no_kind_match, no_kind_match
from controllerlib.client.selector import EVERYTHING, NOTHING, Requirement, Selector, parse_selector
from controllerlib.controller.event import CreateEvent, DeleteEvent, GenericEvent, UpdateEvent
from controllerlib.controller.handler import HandlerFuncs
from controllerlib.tasks import Tasks
from controllerlib.workqueue import WorkQueue
from controllerlib.workqueue.cause import Cause
from controllerlib.workqueue.prioritystate import PriorityQueueState
from controllerlib.workqueue.queuestate import WorkQueueState
from tests.controllerlib.objects import pod

OBJ = pod("a")


class Model:
    attribute_map = {"first_name": "firstName", "last_name": "lastName"}  # noqa: RUF012 - as the official models have it

    def __init__(self, first: Any, last: Any = None) -> None:
        self.first_name, self.last_name = first, last


@pytest.mark.parametrize(
    ("value", "json"),
    [
        (None, None),
        (True, True),
        (1.5, 1.5),
        ([1, [Model("a")], "x"], [1, [{"firstName": "a"}], "x"]),
        ((1, (2, Model("a"))), [1, [2, {"firstName": "a"}]]),
        ({1: {"a": [Model("b")]}, "c": None}, {"1": {"a": [{"firstName": "b"}]}, "c": None}),
        (UserDict({1: Model("b"), "c": 2}), {"1": {"firstName": "b"}, "c": 2}),
        (OrderedDict(a=1), {"a": 1}),
        (date(2026, 1, 2), "2026-01-02"),
        (Model([Model("a", "b")]), {"firstName": [{"firstName": "a", "lastName": "b"}]}),
    ],
)
def test_values_and_models_as_json(value: Any, json: Any) -> None:
    found = to_json(value)
    assert found == json
    assert type(found) is type(json)
    if isinstance(value, dict | list):
        assert found is not value


@pytest.mark.parametrize(
    ("value", "has"),
    [
        ({"metadata": {}}, True),
        ({"metadata": UserDict()}, True),
        (UserDict(metadata={}), True),
        ({}, False),
        ({"metadata": None}, False),
        (UserDict(metadata="x"), False),
        ("metadata", False),
        (None, False),
    ],
)
def test_what_has_metadata(value: Any, has: bool) -> None:
    assert has_metadata(value) is has


def test_a_copy_of_json_shares_no_container() -> None:
    inner: dict[str, Any] = {"a": [{"b": [1]}]}
    for value in (inner, [inner], UserDict(inner)):
        copied = copy_json(value)
        assert copied == value
        found = copied if isinstance(copied, dict) else copied[0]
        assert type(found) is dict
        assert found["a"] is not inner["a"]
        assert found["a"][0]["b"] is not inner["a"][0]["b"]


@pytest.mark.parametrize(
    ("error", "no_match"),
    [
        (no_kind_match("v1", "Pod"), True),
        (ApiError(404, "NotFound", "x"), False),
        (ValueError("NoKindMatch"), False),
    ],
)
def test_a_kind_that_is_not_served(error: BaseException, no_match: bool) -> None:
    assert is_no_kind_match(error) is no_match


def test_the_words_of_a_kind_that_is_not_served() -> None:
    error = no_kind_match("a/v1", "Pod")
    assert (error.code, error.reason, error.message) == (
        404, "NoKindMatch", 'no matches for kind "Pod" in version "a/v1"',
    )  # fmt: skip


# --- blocking clients


def test_a_blocking_client_waits_for_the_loop_from_another_thread_only() -> None:
    async def answer() -> int:
        return 3

    async def main() -> None:
        client = BlockingClient(SimpleNamespace(), asyncio.get_running_loop())  # type: ignore[arg-type]
        assert await asyncio.to_thread(lambda: client.wait_for(answer())) == 3
        work = answer()
        with pytest.raises(RuntimeError, match="BlockingClient was called on the event loop: await the method of"):
            client.wait_for(work)
        assert work.cr_frame is None  # closed

    asyncio.run(main())


def test_a_loop_may_have_its_own_way_to_wait() -> None:
    ran: list[Any] = []

    def run_from_thread(work: Any) -> str:
        ran.append(work)
        work.close()
        return "answer"

    client = BlockingClient(SimpleNamespace(), SimpleNamespace(run_from_thread=run_from_thread))  # type: ignore[arg-type]

    async def nothing() -> None: ...

    assert client.wait_for(nothing()) == "answer"
    assert len(ran) == 1


# --- task groups


async def test_a_group_that_has_ended_starts_nothing() -> None:
    async def nothing() -> None: ...

    group = Tasks()
    before = nothing()
    with pytest.raises(RuntimeError, match="the task group has ended"):
        group.start(before, "early")
    assert before.cr_frame is None  # closed
    async with group:
        task = group.start(nothing(), "one")
        assert (len(group), task.get_name()) == (1, "one")
    assert len(group) == 0


# --- queues


class Clock:
    now_seconds = 10.0

    def monotonic(self) -> float:
        return self.now_seconds

    async def sleep_until(self, deadline: float) -> None:
        await asyncio.Event().wait()


@pytest.mark.parametrize("state", [WorkQueueState, PriorityQueueState])
async def test_the_deadlines_of_a_queue(state: Any) -> None:
    clock = Clock()
    queue: WorkQueue[str] = WorkQueue(state(), clock=clock)  # type: ignore[arg-type]
    assert queue.next_deadline() is None
    queue.add_after("a", 5.0)
    queue.add_after("b", 2.0)
    assert (queue.due("a"), queue.due("b"), queue.due("c"), queue.next_deadline()) == (15.0, 12.0, None, 12.0)
    assert dict(queue.waiting()) == {"a": 15.0, "b": 12.0}
    clock.now_seconds = 12.0
    assert queue.next_deadline() == 15.0
    assert dict(queue.waiting()) == {"a": 15.0}
    assert queue.due("b") is None


@pytest.mark.parametrize("state", [WorkQueueState, PriorityQueueState])
def test_the_next_deadline_skips_what_is_no_longer_waiting(state: Any) -> None:
    queue = state()
    queue.add_after("a", 2.0, 0.0)
    queue.add_after("a", 1.0, 0.0)
    queue.add_after("b", 3.0, 0.0)
    assert (queue.next_deadline(), queue.is_ready()) == (1.0, False)
    queue.add_due(1.0)
    assert (queue.next_deadline(), queue.is_ready()) == (3.0, True)
    assert queue.pop(1.0) is not None
    assert (queue.is_ready(), queue.is_processing()) == (False, True)


@pytest.mark.parametrize("state", [WorkQueueState, PriorityQueueState])
def test_a_deadline_that_moves_often_takes_no_memory(state: Any) -> None:
    queue = state()
    for number in range(1000):
        queue.add_after("a", 2000.0 - number, 0.0)
    heap = queue._heap if isinstance(queue, WorkQueueState) else queue._waiting
    assert len(heap) <= 64 + 4 + 1
    assert queue.next_deadline() == 1001.0


def test_an_object_that_is_not_queued_is_appended_by_a_resync() -> None:
    queue = FIFO()
    a, b = pod("a", 1), pod("b", 1)
    for obj in (a, b):
        queue.add(obj)
    queue.resync()
    assert list(queue._line) == ["default/a", "default/b"]
    queue._line.popleft()  # as while it is processed
    queue.resync()
    assert list(queue._line) == ["default/b", "default/a"]


def test_a_store_counts_its_objects_and_knows_their_keys() -> None:
    store = ThreadSafeStore()
    assert (len(store), "default/a" in store) == (0, False)
    store.put("default/a", pod("a", 1))
    assert (len(store), "default/a" in store, "default/b" in store) == (1, True, False)


@pytest.mark.parametrize("queue", [RealFIFO(), DeltaFIFO(), FIFO()], ids=lambda one: type(one).__name__)
def test_a_queue_that_is_closed_says_so(queue: Any) -> None:
    assert queue.closed is False
    queue.close()
    assert queue.closed is True


def test_a_list_does_not_delete_again_what_is_queued_as_deleted() -> None:
    queue = DeltaFIFO(emit_replaced=True)
    for name in ("a", "b"):
        queue.add(pod(name))
    queue.delete(pod("a"))
    queue.replace([pod("c")], "7")
    queued = {key: [delta.type for delta in queue.queued(key)] for key in ("default/a", "default/b", "default/c")}
    assert queued == {
        "default/a": ["Added", "Deleted"], "default/b": ["Added", "Deleted"], "default/c": ["Replaced"],
    }  # fmt: skip


def test_the_causes_of_an_item_that_is_queued_already_are_added() -> None:
    queue: WorkQueueState[str] = WorkQueueState()
    causes = [Cause("added"), Cause("updated"), Cause("resync")]
    for cause in (causes[0], None, causes[1]):
        queue.add("a", 1.0, cause=cause)
    work = queue.pop(2.0)
    assert work is not None
    assert list(work.causes) == causes[:2]
    queue.add("a", 3.0, cause=causes[2])  # while it is processed
    queue.done("a", 4.0)
    work = queue.pop(5.0)
    assert work is not None
    assert list(work.causes) == causes[2:]


def test_an_object_wakes_one_consumer_that_still_waits() -> None:
    class Future:
        def __init__(self, *, cancelled: bool = False) -> None:
            self.woken, self.cancelled = False, cancelled

        def done(self) -> bool:
            return self.woken or self.cancelled

        def set_result(self, result: None) -> None:
            self.woken = True

    waiting = [Future(cancelled=True), Future(), Future(), Future(), Future()]
    queue = SimpleNamespace(_waiting=list(waiting))
    for count, woken in ((0, 0), (1, 1), (2, 3), (9, 4)):
        PopQueue._wake(queue, count)  # type: ignore[arg-type]
        assert sum(one.woken for one in waiting) == woken
    assert queue._waiting == []


def test_names_of_indices_that_are_in_use_are_named_in_order() -> None:
    store = ThreadSafeStore({name: lambda obj: [] for name in ("b", "a", "c")})
    with pytest.raises(ValueError, match=r"\Aindexer conflict: a, b\Z"):
        store.add_indexers({"b": lambda obj: [], "d": lambda obj: [], "a": lambda obj: []})
    assert list(store.indexers()) == ["b", "a", "c"]


def test_the_second_list_of_a_reflector_is_one_again() -> None:
    events: list[Any] = []
    reflector = SimpleNamespace(
        _lists=0, _name="pods", resource_version="7", _observer=SimpleNamespace(informer=events.append)
    )
    for kind in ("list", "watch", "list", "watch"):
        Reflector._seen(reflector, kind, 3)  # type: ignore[arg-type]
    assert [astuple(event) for event in events] == [
        ("pods", kind, "7", 3, again, None)
        for kind, again in (("list", False), ("watch", False), ("list", True), ("watch", False))
    ]


class Observer:
    """Notes the calls of a client."""

    def __init__(self) -> None:
        self.log: list[Any] = []

    async def before_call(self, call: Any) -> None:
        self.log.append(("before", call))

    def answered(self, call: Any, code: int, answer: Any) -> None:
        self.log.append(("answered", call, code, answer))

    async def after_call(self, call: Any, code: int, answer: Any) -> None:
        self.log.append(("after", call, code, answer))


@pytest.mark.parametrize("call", [None, "a call"])
@pytest.mark.parametrize(("before", "waits"), [(False, False), (False, True), (True, False), (True, True)])
@pytest.mark.parametrize(
    "answer", [(200, {"a": 1}), (200, "text"), (404, {"reason": "NotFound", "code": 404}), OSError("x")]
)
async def test_an_observer_is_called_before_and_after_each_call(
    call: Any, before: bool, waits: bool, answer: Any
) -> None:
    async def request(*_: Any, **options: Any) -> Any:
        assert options["headers"] == {"User-Agent": "agent", "Accept": "other"}
        if isinstance(answer, OSError):
            raise answer
        return answer[0], {}, answer[1]

    observer = Observer()
    client = SimpleNamespace(
        user_agent="agent",
        _call=lambda *_: call,
        _observer=observer,
        _observes_before=before,
        _observes_after=waits,
        _transport=SimpleNamespace(request=request),
    )
    work = Client._send(client, "get", "GET", "/a", headers={"Accept": "other"})  # type: ignore[arg-type]
    if isinstance(answer, OSError):
        with pytest.raises(OSError, match="x"):
            await work
    elif answer[0] == 404:
        with pytest.raises(ApiError) as caught:
            await work
        assert (caught.value.code, caught.value.reason) == (404, "NotFound")
    else:
        assert await work == (answer[1] if isinstance(answer[1], dict) else {})
    after = (0, answer) if isinstance(answer, OSError) else answer
    ends = [("answered", call, *after), *([("after", call, *after)] if waits else [])]
    expected = [*([("before", call)] if before else []), *ends]
    assert observer.log == ([] if call is None else expected)


def test_waiting_keys_are_in_the_order_of_their_deadlines_and_priorities() -> None:
    queue: PriorityQueueState[Any] = PriorityQueueState()
    keys = [{"a"}, {"b"}, {"c"}, {"d"}]  # no order is defined
    for key, after, priority in zip(map(frozenset, keys), (3.0, 2.0, 2.0, 2.0), (9, 1, 2, 1), strict=True):
        queue.add(key, 0.0, after, priority=priority)
    assert list(queue.waiting().items()) == [
        (frozenset("c"), 2.0), (frozenset("b"), 2.0), (frozenset("d"), 2.0), (frozenset("a"), 3.0),
    ]  # fmt: skip


def test_what_cannot_be_in_a_batch_is_taken_alone() -> None:
    queue = RealFIFO()
    queue._items.extend(
        [Delta("Bookmark", None), Delta("Added", pod("a")), Delta("Added", pod("b")), Delta("Bookmark", 0)]
    )
    taken = []
    while (batch := queue.take()) is not None:
        taken.append([delta.type for delta in batch.deltas])
        queue.finish(batch)
    assert taken == [["Bookmark"], ["Added", "Added"], ["Bookmark"]]


def test_the_first_list_is_processed_with_the_deletions_that_it_causes() -> None:
    known: Any = SimpleNamespace(list_keys=lambda: ["default/b", "default/c"], get_by_key=lambda key: pod(key[-1]))
    queue = DeltaFIFO(known=known, emit_replaced=True)
    queue.resync()
    queue.replace([pod("a")], "1")
    synced = []
    while (batch := queue.take()) is not None:
        queue.finish(batch)
        synced.append(queue.has_synced())
    assert synced == [False, False, True]


def test_each_type_of_event_has_its_function() -> None:
    calls: list[Any] = []

    def noting(name: str) -> Any:
        return lambda event, queue: calls.append((name, type(event), queue))

    names = {
        "create": CreateEvent(OBJ),
        "update": UpdateEvent(OBJ, OBJ),
        "delete": DeleteEvent(OBJ),
        "generic": GenericEvent(OBJ),
    }
    queue: Any = SimpleNamespace(priority=0, with_options=lambda **_: queue)
    for name, event in names.items():
        handler = HandlerFuncs(**{name: noting(name)})
        for other in names.values():
            handler.handle(other, queue)
        assert [call[:2] for call in calls] == [(name, type(event))]
        assert calls.pop()[2] is not None


# --- back-off


@pytest.mark.parametrize(
    ("jitter", "fraction", "delay"), [(0.0, 1.0, 2.0), (0.5, 0.5, 2.5), (2.0, 1.0, 6.0), (-1.0, 1.0, 2.0)]
)
def test_a_delay_is_extended_by_a_fraction_of_the_jitter(jitter: float, fraction: float, delay: float) -> None:
    assert Backoff(duration=2.0, factor=2.0, jitter=jitter, steps=3).step(fraction) == delay


@pytest.mark.parametrize(
    ("key", "event", "now", "waits"),
    [
        ("a", 100.0, 100.0, True), ("a", 100.0, 101.0, True), ("a", 100.0, 101.9, True), ("a", 100.0, 102.0, False),
        ("a", 90.0, 91.5, True), ("a", 90.0, 92.5, False), ("b", 100.0, 100.0, False),
    ],
)  # fmt: skip
def test_a_key_is_in_backoff_since_an_event(key: str, event: float, now: float, waits: bool) -> None:
    backoff = KeyedBackoff(2.0, 60.0)
    backoff.next("a", 90.0, 90.0)
    assert backoff.is_in_backoff_since(key, event, now) is waits
    assert not backoff.is_in_backoff_since("a", 90.0 + 121.0, 90.0 + 121.0)  # it starts over


# --- selectors and differences


@pytest.mark.parametrize(
    ("selector", "everything", "selects"),
    [
        (Selector(), True, True),
        (EVERYTHING, True, True),
        (NOTHING, False, False),
        (parse_selector("a"), False, True),
        (parse_selector("!a"), False, False),
        (Selector(parse_selector("a").requirements, nothing=True), False, False),
    ],
)
def test_what_a_selector_selects(selector: Selector, everything: bool, selects: bool) -> None:
    assert selector.is_everything is everything
    assert selector.matches({"a": "1"}) is selects
    assert selector.matches(None) is (not selector.nothing and (everything or not selects))


@pytest.mark.parametrize(
    ("operator", "value", "matches"),
    [
        ("gt", "4", False), ("gt", "5", False), ("gt", "6", True), ("gt", "x", False), ("gt", None, False),
        ("lt", "4", True), ("lt", "5", False), ("lt", "6", False), ("lt", "", False), ("lt", None, False),
        ("in", "5", True), ("in", "6", False), ("in", None, False), ("notin", "5", False), ("notin", "6", True),
        ("notin", None, True), ("exists", "", True), ("exists", None, False), ("!exists", "", False), ("!exists", None, True),
    ],
)  # fmt: skip
def test_what_a_requirement_requires(operator: Any, value: str | None, matches: bool) -> None:
    labels = {} if value is None else {"a": value}
    assert Requirement("a", operator, ("5",)).matches(labels) is matches


@pytest.mark.parametrize(
    ("left", "right", "paths"),
    [
        ([1, 2], [1, 2], []), ([1, 2], [1], ["[1]"]), ([1], [1, 2, 3], ["[1]", "[2]"]), ([1, 2], [3], ["[0]", "[1]"]),
        ([], None, []), ([1], None, ["[0]"]),
    ],
)  # fmt: skip
def test_where_lists_of_other_lengths_differ(left: Any, right: Any, paths: list[str]) -> None:
    found = differences({"a": left}, {"a": right})
    assert ["".join(path) for path in found] == [f"a{path}" for path in paths]


# --- credentials


@pytest.mark.parametrize(
    ("configuration", "header"),
    [
        ({}, None),
        ({"username": "ann", "password": "secret"}, "ann:secret"),
        ({"username": "ann", "password": None}, "ann:"),
        ({"api_key": {"authorization": "abc"}}, "Bearer abc"),
        ({"api_key": {"authorization": "Basic abc"}}, "Basic abc"),
        ({"api_key": {"authorization": "abc"}, "api_key_prefix": {"authorization": "Other"}}, "Other abc"),
        ({"api_key": {"BearerToken": "abc"}, "username": "ann"}, "Bearer abc"),
    ],
)
def test_the_header_of_an_authorization(configuration: dict[str, Any], header: str | None) -> None:
    defaults: dict[str, Any] = {"api_key": {}, "api_key_prefix": {}, "username": "", "password": ""}
    given = SimpleNamespace(_source=None, _configuration=SimpleNamespace(**{**defaults, **configuration}))
    found = [*Credentials._authorization(given)]  # type: ignore[arg-type]
    if header is None:
        assert found == []
        return
    [(name, value)] = found
    shown = (
        b64decode(value.removeprefix("Basic ")).decode()
        if "username" in configuration and value.startswith("Basic")
        else value
    )
    assert (name, shown) == ("Authorization", header)


# --- lazy names


@pytest.mark.parametrize("package", [controllerlib.client, controllerlib.cache])
def test_each_public_name_is_there_and_others_are_not(package: Any) -> None:
    assert all(getattr(package, name) is not None for name in package.__all__)
    with pytest.raises(AttributeError, match=f"module {package.__name__!r} has no attribute 'no_such_name'"):
        getattr(package, "no_such_name")  # noqa: B009 - mypy knows that there is none
