"""Limits, ages and orders: own writes, objects that expire, heaps, waiting, metrics and errors."""

import asyncio
import math
from typing import Any

import pytest

from controllerlib.backoff import Backoff
from controllerlib.cache.delta import QueueClosed
from controllerlib.cache.expirationstore import Mutated, MutationDetector, TTLStore, UndeltaStore
from controllerlib.cache.heap import KeyedHeap
from controllerlib.cache.mutationcache import MutationCache
from controllerlib.cache.options import ALL_NAMESPACES, ByObject, CacheOptions, Selection
from controllerlib.cache.store import Indexer
from controllerlib.client import errors
from controllerlib.client.errors import ApiError, from_status
from controllerlib.clock import SystemClock, sleep
from controllerlib.metrics.registry import Registry, number_text
from controllerlib.random import FixedRandom
from controllerlib.record.series import isomorphism_key
from controllerlib.wait import TimedOut, exponential_backoff, parallelize, poll, until
from controllerlib.workqueue.prioritystate import PriorityQueueState
from fakekube.virtualtime import VirtualTimeLoop
from tests.controllerlib.objects import named, pod


def loop() -> VirtualTimeLoop:
    running = asyncio.get_running_loop()
    assert isinstance(running, VirtualTimeLoop)
    return running


# --- own writes ------------------------------------------------------------------------------------------------------


def written(*names: str, size: int = 2) -> MutationCache:
    cache = MutationCache(Indexer(), size=size, include_adds=True)
    for number, name in enumerate(names):
        cache.mutation(pod(name, number + 1), 0.0)
    return cache


@pytest.mark.parametrize(
    ("names", "kept"),
    [("a", "a"), ("ab", "ab"), ("abc", "bc"), ("abac", "ac"), ("abcab", "ab")],
)
def test_the_last_own_writes_are_kept(names: str, kept: str) -> None:
    cache = written(*names)
    assert "".join(name for name in "abc" if cache.get(f"default/{name}", 0.0) is not None) == kept


@pytest.mark.parametrize(("now", "found"), [(299.0, True), (300.0, True), (300.1, False)])
def test_an_own_write_is_kept_for_its_time(now: float, found: bool) -> None:
    cache = written("a")
    assert (cache.get("default/a", now) is not None) is found
    assert (cache.get("default/a", 0.0) is not None) is found, "it is gone for good"


@pytest.mark.parametrize(("version", "dropped"), [(4, False), (5, True), (6, True), ("x", False)])
def test_a_received_object_drops_the_writes_before_it(version: Any, dropped: bool) -> None:
    cache = MutationCache(Indexer(), include_adds=True)
    cache.mutation(pod("a", 5), 0.0)
    cache.on_add_or_update(pod("b", 9))
    cache.on_add_or_update(pod("a", version))
    assert (cache.get("default/a", 0.0) is None) is dropped


@pytest.mark.parametrize(
    ("uid", "version", "found"),
    [("same", 6, False), ("same", 10, False), ("other", 8, False), ("other", 9, False), ("other", 10, True)],
)
def test_a_write_after_the_deletion_is_of_a_new_object(uid: str, version: int, found: bool) -> None:
    cache = MutationCache(Indexer(), include_adds=True)
    cache.on_delete(pod("a", 9, uid="same"), 0.0)
    assert cache.get("default/a", 0.0) is None
    cache.mutation(pod("a", version, uid=uid), 0.0)
    assert (cache.get("default/a", 0.0) is not None) is found


@pytest.mark.parametrize(("own", "expected"), [(4, "a@5"), (5, "a@5"), (6, "a@6")])
def test_the_newer_of_the_stored_object_and_the_own_write(own: int, expected: str) -> None:
    store = Indexer()
    cache = MutationCache(store)
    cache.mutation(pod("b", 1), 0.0)
    assert cache.get("default/b", 0.0) is None, "it is not in the store"
    store.add(pod("a", 5))
    assert named(cache.get("default/a", 0.0)) == "a@5"
    write = pod("a", own)
    cache.mutation(write, 0.0)
    found = cache.get("default/a", 0.0)
    assert named(found) == expected
    assert (found is write) is (own == 6), "of two of one version it is the stored one"


# --- stores ----------------------------------------------------------------------------------------------------------


def test_what_expires_and_what_is_left() -> None:
    store = TTLStore(10.0)
    store.replace([pod("a"), pod("b")], "1", 0.0)
    store.add(pod("c"), 5.0)
    assert [named(one) for one in store.list(10.0)] == ["a@1", "b@1", "c@1"]
    store.delete(pod("a"))
    assert [named(one) for one in store.list(10.1)] == ["c@1"]
    assert list(store.list_keys()) == ["default/c"]
    store.replace([pod("d")], "2", 20.0)
    assert (store.get_by_key("default/c", 20.0), store.get_by_key("default/d", 30.0)) == (None, pod("d"))
    assert store.get_by_key("default/d", 30.1) is None
    assert list(store.list_keys()) == []
    store.delete(pod("gone"))


@pytest.mark.parametrize("ttl", [0.0, -1.0])
def test_objects_without_a_time_do_not_expire(ttl: float) -> None:
    store = TTLStore(ttl)
    store.add(pod("a"), 0.0)
    assert store.get_by_key("default/a", 1e9) is not None
    assert len(store.list(1e9)) == 1


def test_a_pushing_store_pushes_the_content_after_the_change() -> None:
    pushed: list[int] = []
    store = UndeltaStore(lambda objs: pushed.append(len(objs)))
    store.replace([pod("a"), pod("b")], "1")
    store.delete(pod("a"))
    store.update(pod("c"))
    assert pushed == [2, 1, 2]


@pytest.mark.parametrize(
    ("checks", "detected"),
    [([], True), ([100.0], True), ([121.0], True), ([121.0, 200.0], True), ([121.0, 242.0], False)],
)
def test_how_long_changes_in_place_are_detected(checks: list[float], detected: bool) -> None:
    detector, obj = MutationDetector(120.0), pod("a")
    detector.add(obj)
    for now in checks:
        detector.check(now)
    obj["metadata"]["name"] = "b"
    if not detected:
        detector.check(300.0)
        return
    with pytest.raises(Mutated) as caught:
        detector.check(300.0)
    assert (caught.value.key, caught.value.before["metadata"]["name"], caught.value.after) == ("default/a", "a", obj)


def heap(*items: tuple[str, float]) -> KeyedHeap[tuple[str, float]]:
    made: KeyedHeap[tuple[str, float]] = KeyedHeap(lambda item: item[0], lambda item: item[1])
    for item in items:
        made.add(item)
    return made


def popped(made: KeyedHeap[tuple[str, float]]) -> str:
    found = []
    while (item := made.pop()) is not None:
        found.append(f"{item[0]}{item[1]:g}")
    return " ".join(found)


def test_a_heap_has_one_item_of_each_key_in_the_order_of_ranks() -> None:
    assert popped(heap(("b", 2), ("a", 1), ("c", 1), ("d", 0))) == "d0 a1 c1 b2"
    assert popped(heap(("a", 1), ("b", 2), ("a", 3))) == "b2 a3"
    assert popped(heap(("a", 1), ("b", 1), ("a", 1))) == "b1 a1"
    made = heap(("a", 2), ("b", 1))
    made.add_if_not_present(("a", 0))
    made.add_if_not_present(("c", 0))
    assert (len(made), made.get("a"), made.get("x")) == (3, ("a", 2), None)
    made.delete(("b", 9))
    with pytest.raises(KeyError):
        made.delete(("b", 9))
    assert popped(made) == "c0 a2"
    assert len(made) == 0


def test_a_closed_heap_gives_out_what_it_has() -> None:
    made = heap(("a", 1))
    made.close()
    for add in (made.add, made.add_if_not_present):
        with pytest.raises(QueueClosed):
            add(("b", 1))
    assert made.pop() == ("a", 1)
    with pytest.raises(QueueClosed):
        made.pop()


def test_a_heap_that_is_changed_often_keeps_its_order() -> None:
    made = heap(("b", 500.0))
    for number in range(400):
        made.add(("a", 400.0 - number))
    made.add(("c", 0.5))
    assert popped(made) == "c0.5 a1 b500"


# --- waiting ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("sliding", "expected"), [(True, [0, 13, 26]), (False, [0, 10, 20])])
async def test_the_period_starts_after_or_before_the_work(sliding: bool, expected: list[float]) -> None:
    began: list[float] = []

    async def work() -> None:
        began.append(loop().time())
        await sleep(SystemClock(), 3)

    task = asyncio.create_task(until(work, 10.0, sliding=sliding))
    await loop().settle()
    await loop().advance(27)
    assert began == expected
    task.cancel()


@pytest.mark.parametrize(("factor", "expected"), [(0.0, [0, 10, 20, 30]), (1.0, [0, 15, 30])])
async def test_periods_are_extended_at_random(factor: float, expected: list[float]) -> None:
    began: list[float] = []
    work = until(lambda: began.append(loop().time()), 10.0, jitter_factor=factor, random=FixedRandom(0.5))
    task = asyncio.create_task(work)
    await loop().settle()
    await loop().advance(30)
    assert began == expected
    task.cancel()


async def test_a_jitter_is_drawn_for_each_attempt() -> None:
    drawn: list[tuple[str, str, int]] = []

    class Drawing:
        def fraction(self, purpose: str, key: str, attempt: int) -> float:
            drawn.append((purpose, key, attempt))
            return 0.0

    task = asyncio.create_task(until(lambda: None, 10.0, jitter_factor=1.0, random=Drawing()))
    await loop().settle()
    await loop().advance(10)
    task.cancel()
    backoff = exponential_backoff(Backoff(1.0, steps=3), lambda: False, random=Drawing())
    waiting = asyncio.create_task(backoff)
    await loop().settle()
    await loop().advance(100)
    assert isinstance(waiting.exception(), TimedOut)
    assert drawn == [("until", "", 1), ("until", "", 2), ("backoff", "", 1), ("backoff", "", 2)]


@pytest.mark.parametrize(
    ("true_from", "immediate", "ends", "calls"),
    [
        (0, True, 0.0, 1),
        (0, False, 10.0, 1),
        (11, True, 20.0, 3),
        (20, False, 20.0, 2),
        (30, True, None, 3),
        (29, True, None, 3),
    ],
)
async def test_what_is_polled(true_from: float, immediate: bool, ends: float | None, calls: int) -> None:
    asked: list[float] = []

    def condition() -> bool:
        asked.append(loop().time())
        return loop().time() >= true_from

    task = asyncio.create_task(poll(condition, 10.0, 30.0, immediate=immediate))
    await loop().settle()
    await loop().advance(30)
    assert len(asked) == calls
    assert task.done()
    if ends is None:
        assert isinstance(task.exception(), TimedOut)
        assert str(task.exception()) == "timed out waiting for the condition"
    else:
        assert (task.exception(), asked[-1]) == (None, ends)


@pytest.mark.parametrize(
    ("workers", "pieces", "chunk", "chunks"), [(2, 5, 2, 3), (9, 3, 1, 3), (1, 4, 4, 1), (1, 0, 1, 0), (2, 5, 1, 5)]
)
async def test_work_in_chunks(workers: int, pieces: int, chunk: int, chunks: int) -> None:
    done: list[int] = []
    assert await parallelize(workers, pieces, done.append, chunk=chunk) == chunks
    assert sorted(done) == list(range(pieces))


async def test_as_many_workers_as_given() -> None:
    at_once: list[int] = []
    running = 0

    async def work(piece: int) -> None:
        nonlocal running
        running += 1
        at_once.append(running)
        await sleep(SystemClock(), 1)
        running -= 1

    task = asyncio.create_task(parallelize(2, 5, work))
    await loop().settle()
    await loop().advance(10)
    assert await task == 5
    assert max(at_once) == 2


async def test_no_piece_starts_after_an_error() -> None:
    done: list[int] = []

    def work(piece: int) -> None:
        done.append(piece)
        if piece == 1:
            raise ValueError("piece 1")

    with pytest.raises(ValueError, match="piece 1"):
        await parallelize(1, 5, work, chunk=3)
    assert done == [0, 1]


# --- metrics ---------------------------------------------------------------------------------------------------------


def test_the_text_of_metrics() -> None:
    registry = Registry()
    counter = registry.family("c", "Counts.", "counter", ("a", "b"))
    counter.add("x", 'q"\\\n')
    counter.add("x", 'q"\\\n')
    assert registry.family("c", "other", "gauge") is counter
    gauge = registry.family("g", "Gauges.", "gauge")
    registry.collectors.append(lambda: gauge.set(1.5))
    seconds = registry.family("h", "Seconds.", "histogram", buckets=(1.0, 2.5))
    for value in (0.5, 1.0, 2.0, 9.0):
        seconds.observe(value)
    assert registry.text().splitlines() == [
        "# HELP c Counts.", "# TYPE c counter", r'c{a="x",b="q\"\\\n"} 2',
        "# HELP g Gauges.", "# TYPE g gauge", "g 1.5",
        "# HELP h Seconds.", "# TYPE h histogram", 'h_bucket{le="1"} 2', 'h_bucket{le="2.5"} 3', 'h_bucket{le="+Inf"} 4',
        "h_sum 12.5", "h_count 4",
    ]  # fmt: skip
    assert (registry.value("c", "x", 'q"\\\n'), registry.value("c", "y", "z"), registry.value("none")) == (2, 0, 0)
    assert registry.histogram("h").count == 4
    assert [number_text(one) for one in (1.0, 0.25, math.inf, 0.0)] == ["1", "0.25", "+Inf", "0"]


# --- errors ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "code", "expected"),
    [
        ({"code": 404, "reason": "NotFound", "message": "m"}, 0, (404, "NotFound", "m")),
        ({"code": 404}, 500, (404, "NotFound", "the server responded with the status code 404")),
        ({}, 409, (409, "Conflict", "the server responded with the status code 409")),
        ({}, 0, (500, "InternalError", "the server responded with the status code 500")),
        ({}, 418, (418, "Unknown", "the server responded with the status code 418")),
        ("page", 502, (502, "Unknown", "page")),
        ("", 503, (503, "ServiceUnavailable", "the server responded with the status code 503")),
        (None, 429, (429, "TooManyRequests", "the server responded with the status code 429")),
        *(({}, code, (code, reason, f"the server responded with the status code {code}")) for code, reason in (
            (400, "BadRequest"), (401, "Unauthorized"), (403, "Forbidden"), (405, "MethodNotAllowed"), (406, "NotAcceptable"), (410, "Gone"),
            (413, "RequestEntityTooLarge"), (415, "UnsupportedMediaType"), (422, "Invalid"), (504, "Timeout"))),
    ],
)  # fmt: skip
def test_the_error_of_an_answer(status: Any, code: int, expected: tuple[int, str, str]) -> None:
    found = from_status(status, code)
    assert (found.code, found.reason, found.message) == expected
    assert str(found) == expected[2]


def error(reason: str, code: int = 500, message: str = "", *causes: dict[str, str]) -> ApiError:
    return ApiError(code, reason, message, {"details": {"causes": list(causes)}})


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (error("Timeout", 504, "", {"reason": "ResourceVersionTooLarge"}), True),
        (error("Other", 504, "", {"reason": "ResourceVersionTooLarge"}), False),
        (error("Timeout", 504, "", {"message": "Too large resource version"}), True),
        (error("Timeout", 504, "x: Too large resource version: 9"), True),
        (error("Other", 504, "Too large resource version"), False),
        (error("Timeout", 504, "too slow"), False),
        (OSError("Too large resource version"), False),
    ],
)
def test_resource_versions_that_are_too_large(found: Exception, expected: bool) -> None:
    assert errors.is_too_large_resource_version(found) is expected


def test_other_kinds_of_errors() -> None:
    assert errors.is_too_many_requests(error("TooManyRequests"))
    assert errors.is_too_many_requests(error("Other", 429))
    assert not errors.is_too_many_requests(error("Other", 428))
    assert [errors.is_internal(one) for one in (error("InternalError"), error("Other"), OSError())] == [
        True,
        False,
        False,
    ]
    assert [errors.is_invalid(one) for one in (error("Invalid"), error("Other"), OSError())] == [True, False, False]
    caused = error("Invalid", 422, "", {"reason": "A"})
    assert [errors.has_status_cause(caused, one) for one in "AB"] == [True, False]
    assert not errors.has_status_cause(OSError(), "A")
    seconds = ApiError(429, "r", "m", {"details": {"retryAfterSeconds": 3}})
    assert (seconds.retry_after, error("Other").retry_after) == (3.0, None)


# --- keys and selections ---------------------------------------------------------------------------------------------


def test_events_of_a_series_are_alike_but_for_the_note_and_the_times() -> None:
    event = {"type": "Normal", "reason": "r", "action": "a", "regarding": {"kind": "Pod", "name": "x"}, "note": "n"}
    again = {**event, "regarding": {"name": "x", "kind": "Pod"}, "note": "other", "eventTime": "t"}
    assert isomorphism_key(event) == isomorphism_key(again)
    for name in ("type", "reason", "action", "reportingController", "reportingInstance"):
        assert isomorphism_key(event) != isomorphism_key({**event, name: "other"})
    for name in ("regarding", "related"):
        assert isomorphism_key(event) != isomorphism_key({**event, name: {"name": "y"}})


def test_all_namespaces_but_those_beside_it() -> None:
    whole = Selection(field_selector="a=b")
    options = CacheOptions(namespaces={ALL_NAMESPACES: whole, "n": Selection(), "m": Selection()})
    found = options.selections("v1", "Pod", namespaced=True)
    assert found[ALL_NAMESPACES].field_selector == "a=b,metadata.namespace!=n,metadata.namespace!=m"
    alone = CacheOptions(namespaces={ALL_NAMESPACES: whole}).selections("v1", "Pod", namespaced=True)
    assert alone[ALL_NAMESPACES].field_selector == "a=b"
    bare = CacheOptions(namespaces={ALL_NAMESPACES: Selection()}).selections("v1", "Pod", namespaced=True)
    assert not bare[ALL_NAMESPACES].field_selector
    own = CacheOptions(
        by_object={("v1", "Pod"): ByObject(namespaces={"x": Selection()})}, namespaces={"n": Selection()}
    )
    assert list(own.selections("v1", "Pod", namespaced=True)) == ["x"]
    assert list(own.selections("v1", "Node", namespaced=False)) == [ALL_NAMESPACES]


def test_ready_keys_by_priority_and_then_by_their_order() -> None:
    state: PriorityQueueState[str] = PriorityQueueState()
    for key, priority in (("a", 0), ("b", 5), ("c", 0), ("d", 5), ("e", -1)):
        state.add(key, 0.0, priority=priority)
    assert list(state.ready().items()) == [("b", 5), ("d", 5), ("a", 0), ("c", 0), ("e", -1)]
    state.shut_down()
    assert (dict(state.ready()), state.is_ready(), state.length(0.0)) == ({}, False, 0)
