"""Shared informers: several handlers, one list and watch."""

import asyncio
import random
from typing import Any

import pytest

from controllerlib.cache.resourceeventhandler import ResourceEventHandlerFuncs
from controllerlib.cache.sharedinformer import SharedIndexInformer
from controllerlib.cache.store import IndexFunc, UnknownIndex
from controllerlib.clock import SystemClock, sleep
from controllerlib.random import FixedRandom
from tests.controllerlib.handlerlog import HandlerLog, advance, running
from tests.controllerlib.objects import named, pod
from tests.controllerlib.scripted import (
    Scripted,
    Wait,
    added,
    bookmark,
    deleted,
    error,
    modified,
    refusal,
)

TWO = ([pod("a", 1), pod("b", 2)], "2")
THREE = ([pod("a", 1), pod("b", 2), pod("c", 3)], "3")


def shared(lists: Any = (TWO,), watches: Any = ((),), resync: float = 0.0, **more: Any) -> SharedIndexInformer:
    return SharedIndexInformer(Scripted(lists, watches), resync_period=resync, random=FixedRandom(0.0), **more)


def scripted(informer: SharedIndexInformer) -> Scripted:
    source = informer._source
    assert isinstance(source, Scripted)
    return source


def counted(handler: HandlerLog) -> list[tuple[float, int]]:
    """Return (time, number) of the notifications of a handler."""
    return [(at, handler.at.count(at)) for at in dict.fromkeys(handler.at)]


async def test_si_01_each_handler_resyncs_by_its_own_period() -> None:
    informer, handlers = shared(resync=1.0), [HandlerLog(), HandlerLog(), HandlerLog()]
    for handler, period in zip(handlers, (0.0, 2.0, 3.0), strict=True):
        informer.add_handler(handler, resync_period=period)
    await running(informer, 6.5)
    assert [counted(handler) for handler in handlers] == [
        [(0, 2)],
        [(0, 2), (2, 2), (4, 2), (6, 2)],
        [(0, 2), (3, 2), (6, 2)],
    ]


async def test_si_02_a_loop_that_was_busy_changes_no_counts() -> None:
    informer, handlers = shared(resync=1.0), [HandlerLog(), HandlerLog(), HandlerLog()]
    for handler, period in zip(handlers, (0.0, 2.0, 3.0), strict=True):
        informer.add_handler(handler, resync_period=period)
    gate = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_later(1.0, gate.set_result, None)

    def slow(line: str) -> Any:
        return None if gate.done() else gate

    for handler in handlers:
        handler._before = slow
    await running(informer, 6.5)
    assert [len(handler.since(1.5)) for handler in handlers] == [0, 6, 4]
    assert [len(handler.log) for handler in handlers] == [2, 8, 6]


async def test_si_03_the_shortest_period_is_the_informers() -> None:
    informer, checks = shared(resync=12 * 3600.0), []
    registrations = []
    for period in (0.0, 60.0, 55.0, 5.0):
        registrations.append(informer.add_handler(HandlerLog(), resync_period=period))
        checks.append(informer.check_period)
    assert checks == [12 * 3600.0, 60.0, 55.0, 5.0]
    assert [registration.listener.period for registration in registrations] == [0.0, 60.0, 55.0, 5.0]


async def test_a_handler_is_due_a_period_after_it_was_registered() -> None:
    informer, handler = shared(resync=12.0), HandlerLog()
    informer.add_handler(handler)
    await advance(4)
    informer.add_handler(HandlerLog(), resync_period=5.0)  # shortens the check period, and changes no other one
    await running(informer, 26)
    assert counted(handler) == [(4, 2), (14, 2), (29, 2)], "at the first checks from 12 s and 14 + 12 s on"


async def test_si_04_the_minimum_period_is_a_second() -> None:
    assert shared(resync=10.0).add_handler(HandlerLog(), resync_period=0.1).listener.period == 1.0


async def test_si_05_an_informer_without_resync_stays_without() -> None:
    informer, handler = shared(), HandlerLog()
    registration = informer.add_handler(handler, resync_period=30.0)
    await running(informer, 100)
    assert registration.listener.period == 0.0
    assert handler.log == ["add a@1!", "add b@2!"]


async def test_si_06_a_late_period_is_raised_to_the_informers_period() -> None:
    informer = shared(resync=10.0)
    await running(informer)
    assert informer.add_handler(HandlerLog(), resync_period=3.0).listener.period == 10.0


async def test_si_07_a_late_handler_is_due_at_the_informers_ticks() -> None:
    informer, handler = shared(resync=10.0), HandlerLog()
    await running(informer, 4)
    informer.add_handler(handler, resync_period=25.0)
    await advance(61)
    assert counted(handler) == [(4, 2), (30, 2), (60, 2)]


DISRUPTED = (([pod("one", 1), pod("two", 2)], "2"), ([pod("one", 1), pod("two", 4), pod("three", 3)], "4"))


@pytest.mark.parametrize(
    ("fails_at", "plain", "resyncing"),
    [
        pytest.param(1.5, ["update two@2>4", "add three@3"],
                     ["update one@1>1", "update two@2>2", "update one@1>1", "update two@2>4", "add three@3"],
                     id="SI-08"),
        pytest.param(0.1, ["update one@1>1", "update two@2>4", "add three@3"],
                     ["update one@1>1", "update two@2>4", "add three@3"], id="SI-09"),
    ],
)  # fmt: skip
async def test_a_disruption(fails_at: float, plain: list[str], resyncing: list[str]) -> None:
    informer = shared(DISRUPTED, [[Wait(fails_at), error(410, "Expired")], ()], resync=1.0)
    none, each = HandlerLog(), HandlerLog()
    informer.add_handler(none, resync_period=0.0), informer.add_handler(each, resync_period=1.0)
    task = await running(informer, fails_at + 0.85)
    task.cancel()
    assert none.log[2:] == plain
    assert each.log[2:] == resyncing


async def test_si_10_without_resync_a_relist_delivers_unchanged_objects() -> None:
    informer, handlers = shared((TWO, TWO), [[Wait(1), error(410, "Expired")], ()]), [HandlerLog(), HandlerLog()]
    for handler in handlers:
        informer.add_handler(handler)
    await running(informer, 5)
    for handler in handlers:
        assert handler.log == ["add a@1!", "add b@2!", "update a@1>1", "update b@2>2"]


async def test_si_11_a_late_handler_receives_existing_objects() -> None:
    informer = shared([THREE], [[Wait(5), modified(pod("a", 4))]])
    await running(informer, 1)
    synced: list[bool] = []
    handler = HandlerLog(lambda line: synced.append(registration.has_synced()))
    registration = informer.add_handler(handler)
    assert not registration.has_synced()
    await advance(5)
    assert handler.log == ["add a@1!", "add b@2!", "add c@3!", "update a@1>4"]
    assert synced == [False, False, False, True]


@pytest.mark.parametrize("turns", range(12), ids=lambda turns: f"SI-12-{turns}")
async def test_an_event_and_a_late_registration(turns: int) -> None:
    informer, handler = shared([TWO], [[Wait(1), added(pod("c", 3))]]), HandlerLog()
    loop = asyncio.get_running_loop()

    def register(left: int) -> None:
        if left:
            loop.call_soon(register, left - 1)
        else:
            informer.add_handler(handler)

    loop.call_at(1.0, register, turns)
    await running(informer, 2)
    assert [line.rstrip("!") for line in handler.log] == ["add a@1", "add b@2", "add c@3"]


async def test_si_13_nothing_has_synced_before_the_start() -> None:
    informer = shared()
    assert not informer.add_handler(HandlerLog()).has_synced()
    assert not informer.has_synced()


async def test_si_14_one_handler_twice() -> None:
    informer, handler = shared(watches=[[Wait(1), added(pod("c", 3)), Wait(1), added(pod("d", 4))]]), HandlerLog()
    first = informer.add_handler(handler)
    informer.add_handler(handler)
    await running(informer, 1.5)
    assert handler.log == ["add a@1!", "add b@2!"] * 2 + ["add c@3"] * 2
    informer.remove_handler(first)
    await advance(1)
    assert handler.log[6:] == ["add d@4"]


async def test_si_15_removing() -> None:
    informer, handler = shared(watches=[[Wait(1), added(pod("c", 3))]]), HandlerLog()
    registration, foreign = informer.add_handler(handler), shared()
    task = await running(informer)
    foreign.remove_handler(registration)
    informer.remove_handler(registration)
    informer.remove_handler(registration)
    await advance(2)
    assert handler.log == ["add a@1!", "add b@2!"]
    late = informer.add_handler(handler)
    task.cancel()
    await advance()
    informer.remove_handler(late)
    with pytest.raises(TypeError):
        informer.remove_handler("no registration")  # type: ignore[arg-type]


async def test_si_16_no_handler_after_the_end() -> None:
    informer = shared()
    task = await running(informer)
    task.cancel()
    await advance()
    with pytest.raises(RuntimeError, match="was not added to shared informer because it has stopped already"):
        informer.add_handler(HandlerLog())


@pytest.mark.slow
async def test_si_17_a_stuck_handler_does_not_delay_others() -> None:
    release = asyncio.get_running_loop().create_future()
    stuck, other = HandlerLog(lambda line: None if release.done() else release), HandlerLog()
    events = [added(pod(f"p{number:04}", number)) for number in range(5000)]
    informer = shared([([], "0")], [events])
    informer.add_handler(stuck), informer.add_handler(other)
    await running(informer)
    assert [len(informer.indexer), len(other.log), len(stuck.log)] == [5000, 5000, 1]
    release.set_result(None)
    await advance()
    assert stuck.log == other.log == [f"add p{number:04}@{number}" for number in range(5000)]


async def test_si_18_removing_a_handler_in_the_middle_of_a_call() -> None:
    finished: list[str] = []

    async def slow(line: str) -> None:
        await sleep(SystemClock(), 5)
        finished.append(line)

    informer, handler, second = shared([THREE]), HandlerLog(slow), HandlerLog(slow)
    registration, other = informer.add_handler(handler), informer.add_handler(second)
    await running(informer, 1)
    informer.remove_handler(registration)
    await advance(10)
    assert handler.log == ["add a@1!"]
    began = asyncio.get_running_loop().time()
    await informer.shut_down_handler(other)
    assert asyncio.get_running_loop().time() > began
    assert finished.count("add a@1!") == 2
    never = shared()
    await never.shut_down_handler(never.add_handler(HandlerLog()))


async def test_si_19_failures_that_are_skipped(caplog: pytest.LogCaptureFixture) -> None:
    def fail(obj: Any, initial: bool) -> None:
        raise ZeroDivisionError

    informer = shared([([pod(f"p{n}", n) for n in range(5)], "5")], skip_handler_failures=True)
    registration = informer.add_handler(ResourceEventHandlerFuncs(add=fail))
    await running(informer, 3.9)
    assert len([r for r in caplog.records if "handler failed" in r.message]) == 4
    await advance(2)
    assert len([r for r in caplog.records if "handler failed" in r.message]) == 5
    assert informer.has_synced()
    assert not registration.has_synced()


async def test_si_20_failures_that_are_not() -> None:
    def fail(obj: Any, initial: bool) -> None:
        raise ZeroDivisionError

    informer = shared()
    informer.add_handler(ResourceEventHandlerFuncs(add=fail))
    with pytest.raises(ZeroDivisionError):
        await informer.run()


async def test_si_21_transformed_names() -> None:
    def upper(obj: Any) -> Any:
        return {**obj, "metadata": {**obj["metadata"], "name": obj["metadata"]["name"].upper()}}

    informer, handler = shared(watches=[[modified(pod("a", 3))]]), HandlerLog()
    informer.set_transform(upper)
    informer.add_handler(handler)
    await running(informer)
    assert handler.log == ["add A@1!", "add B@2!", "update A@1>3"]
    assert list(informer.indexer.list_keys()) == ["default/A", "default/B"]


async def test_si_22_no_transform_after_the_start() -> None:
    informer = shared()
    await running(informer)
    with pytest.raises(RuntimeError, match="already started"):
        informer.set_transform(lambda obj: obj)


async def test_si_23_the_watch_error_handler_is_called_for_rejected_lists() -> None:
    informer, errors = shared([refusal(403, "Forbidden", "Access Denied")]), list[str]()
    informer.set_watch_error_handler(lambda failure: errors.append(str(failure)))
    await running(informer)
    assert len(errors) == 1
    assert "Access Denied" in errors[0]


async def test_si_24_running_twice() -> None:
    informer = shared()
    task = await running(informer)
    await informer.run()
    assert not task.done()


def by_name(obj: Any) -> list[str]:
    return [obj["metadata"]["name"]]


async def test_si_25_indices_at_any_time() -> None:
    informer = shared()
    indexers: dict[str, IndexFunc] = {"name": by_name}
    task = await running(informer)
    with pytest.raises(UnknownIndex):
        informer.indexer.by_index("name", "b")
    informer.add_indexers(indexers)
    assert [named(obj) for obj in informer.indexer.by_index("name", "b")] == ["b@2"]
    task.cancel()
    await advance()
    with pytest.raises(RuntimeError, match="stopped"):
        informer.add_indexers({"other": by_name})


async def test_si_26_started_and_stopped() -> None:
    informer = shared()
    states = [(informer.is_started, informer.is_stopped)]
    task = await running(informer)
    states.append((informer.is_started, informer.is_stopped))
    task.cancel()
    await advance()
    states.append((informer.is_started, informer.is_stopped))
    assert states == [(False, False), (True, False), (True, True)]


@pytest.mark.slow
async def test_si_27_handlers_are_added_and_removed_under_load() -> None:
    draws, events = random.Random(27), list[Any]()
    for number in range(10_000):
        events.append(added(pod(f"p{number % 50}", number + 1)))
        if number % 100 == 0:
            events.append(Wait(0.001))
    informer, refused = shared([([], "0")], [events]), list[str]()
    task = asyncio.create_task(informer.run(), name="informer")

    async def come_and_go() -> None:
        while True:
            try:
                registration = informer.add_handler(HandlerLog())
            except RuntimeError as failure:
                refused.append(str(failure))
                return
            await sleep(SystemClock(), draws.random() / 100)
            informer.remove_handler(registration)

    tasks = [asyncio.create_task(come_and_go()) for _ in range(100)]
    await advance(0.2)
    task.cancel()
    await advance(1)
    assert all(each.done() for each in tasks)
    assert len(refused) == 100
    assert task.done()


async def test_si_28_an_empty_cluster_has_synced() -> None:
    informer = shared([([], "1")])
    await running(informer)
    assert informer.has_synced()


async def test_si_29_changed_content_under_one_version_is_a_sync() -> None:
    steps = [Wait(1.5), modified(pod("a", 1, labels={"changed": "yes"}))]
    informer, plain, resyncing = shared(watches=[steps], resync=1.0), HandlerLog(), HandlerLog()
    informer.add_handler(plain, resync_period=0.0), informer.add_handler(resyncing, resync_period=1.0)
    await running(informer, 1.9)
    assert plain.log == ["add a@1!", "add b@2!"]
    assert resyncing.since(1.4) == ["update a@1>1"]


async def test_si_30_no_update_is_merged() -> None:
    informer, handler = shared(watches=[[modified(pod("a", 2)), modified(pod("a", 3))]]), HandlerLog()
    informer.add_handler(handler)
    await running(informer)
    assert handler.log[2:] == ["update a@1>2", "update a@2>3"]


async def test_si_31_deleted_and_recreated_at_once() -> None:
    informer, handler = shared(watches=[[deleted(pod("a", 2)), added(pod("a", 3))]]), HandlerLog()
    informer.add_handler(handler)
    await running(informer)
    assert handler.log[2:] == ["delete a@2", "add a@3"]


async def test_si_32_bookmarks_are_not_delivered() -> None:
    informer, handler = shared(watches=[[bookmark(9)]]), HandlerLog()
    informer.add_handler(handler)
    await running(informer)
    assert len(handler.log) == 2
    assert informer.indexer.resource_version == "9"


async def test_si_33_the_first_call_sees_the_whole_batch() -> None:
    informer, sizes = shared([THREE]), list[int]()
    informer.add_handler(ResourceEventHandlerFuncs(add=lambda obj, initial: sizes.append(len(informer.indexer))))
    await running(informer)
    assert sizes == [3, 3, 3]


async def test_si_34_stopping_finishes_only_the_call_in_progress() -> None:
    done: list[str] = []

    async def slow(line: str) -> None:
        await sleep(SystemClock(), 5)
        done.append(line)

    informer, handler = shared([([pod(f"p{n}", n) for n in range(10)], "10")]), HandlerLog(slow)
    informer.add_handler(handler)
    task = await running(informer, 1)
    task.cancel()
    await advance(60)
    assert done == ["add p0@0!"]
    assert task.done()


async def test_si_35_an_update_before_a_resync_at_the_same_time() -> None:
    informer, handler = shared([([pod("a", 1)], "1")], [[Wait(10), modified(pod("a", 2))]], resync=10.0), HandlerLog()
    informer.add_handler(handler)
    await running(informer, 11)
    assert handler.since(5) in (["update a@1>2", "update a@2>2"], ["update a@1>1", "update a@1>2"])
    await advance(10)
    assert handler.since(15) == ["update a@2>2"]
