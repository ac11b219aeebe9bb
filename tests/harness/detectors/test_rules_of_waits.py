"""Who may end a wait: what refers to what, and which code holds a lock."""

import asyncio
from types import SimpleNamespace

import pytest

from fakekube.harness.detectors.remains import waiting
from fakekube.harness.detectors.remains.waiting import Wait, Waits, _could_end, _reaches, is_shared


class Target:
    """Something that a wait is for."""


TARGET, OTHER = Target(), Target()


def closing(value):
    def inner():
        return value

    return inner


def with_default(value=TARGET): ...


def with_keyword(*, value=TARGET): ...


class Holder:
    def __init__(self, value):
        self.value = value


@pytest.mark.parametrize(
    ("root", "depth", "found"),
    [
        (TARGET, 0, True),
        (OTHER, 5, False),
        ([TARGET], 0, False),
        ([TARGET], 1, True),
        ([[TARGET]], 1, False),
        ([[TARGET]], 2, True),
        ({"a": {"b": TARGET}}, 2, True),
        (closing(TARGET), 3, True),
        (closing(TARGET), 2, False),
        (with_default, 2, True),
        (with_keyword, 2, True),
        (closing(OTHER), 9, False),
        ("text", 9, False),
        (Target, 9, False),
    ],
)
def test_what_refers_to_a_target_within_a_depth(root, depth, found):
    assert _reaches([root], [TARGET], depth) is found
    assert _reaches([OTHER, root], [Target(), TARGET], depth) is found


def test_an_attribute_is_reached_through_its_object():
    assert _reaches([Holder(TARGET)], [TARGET], 3)
    assert _reaches([Holder([TARGET])], [TARGET], 4)
    assert not _reaches([Holder([[[TARGET]]])], [TARGET], 2)


def test_no_more_objects_are_visited_than_the_most(monkeypatch):
    roots = [[number] for number in range(20)]
    assert _reaches([*roots, [TARGET]], [TARGET], 2)
    monkeypatch.setattr(waiting, "_MOST", 10)
    assert not _reaches([*roots, [TARGET]], [TARGET], 2)
    assert _reaches([*roots[:10], [TARGET]], [TARGET], 2)


def test_tasks_and_cancelled_timers_lead_nowhere():
    async def main():
        loop = asyncio.get_running_loop()

        async def waits(value):
            await loop.create_future()

        task = asyncio.ensure_future(waits(TARGET))
        await asyncio.sleep(0)
        timer, cancelled = loop.call_later(9, print, TARGET), loop.call_later(9, print, TARGET)
        cancelled.cancel()
        found = [_reaches([one], [TARGET], 6) for one in (task, task.get_coro(), timer, cancelled)]
        timer.cancel()
        task.cancel()
        return found

    assert asyncio.run(main()) == [False, True, True, False]


# --- locks


async def holds(lock):
    async with lock:
        await asyncio.get_running_loop().create_future()


async def releases(lock):
    await asyncio.get_running_loop().create_future()
    lock.release()


async def looks(lock):
    await asyncio.get_running_loop().create_future()
    return lock.locked()


@pytest.mark.parametrize(
    ("function", "own", "could"),
    [(holds, True, True), (holds, False, False), (releases, True, True), (looks, True, False)],
)
def test_a_lock_is_ended_by_what_has_acquired_it(function, own, could):
    async def main():
        lock, other = asyncio.Lock(), asyncio.Lock()
        task = asyncio.ensure_future(function(lock if own else other))
        await asyncio.sleep(0)
        coros = [task.get_coro()]
        found = (
            _could_end(coros, Wait("a lock", "here", (object(), lock), True)),
            _could_end(coros, Wait("an event", "here", (object(), lock), False)),
        )
        task.cancel()
        return found

    assert asyncio.run(main()) == (could, True)


# --- what waits


def waits_of(*works):
    """What the first of these coroutines waits for, and whether anything may end that."""

    async def main():
        tasks = [asyncio.ensure_future(work) for work in works]
        for _ in range(3):
            await asyncio.sleep(0)
        waits = Waits(tasks, [])
        wait = waits.of(tasks[0])
        found = None if wait is None else (wait.what, waits.may_be_ended(wait))
        for task in tasks:
            task.cancel()
        return found

    return asyncio.run(main())


async def waits_for(event):
    await event.wait()


async def sets_later(event, seconds):
    await asyncio.sleep(seconds)
    event.set()


async def sets_after(event, other):
    await other.wait()
    event.set()


async def has_timeout(event):
    await asyncio.wait_for(event.wait(), 3600)


async def gathers(*events):
    await asyncio.gather(*[event.wait() for event in events])


async def takes(queue):
    await queue.get()


def event():
    return asyncio.Event()


def test_an_event_that_nothing_sets():
    assert waits_of(waits_for(event())) == ("an asyncio.Event", False)
    assert waits_of(waits_for(event()), waits_for(event())) == ("an asyncio.Event", False)


def test_an_event_that_something_sets_later():
    one = event()
    assert waits_of(waits_for(one), sets_later(one, 3600)) == ("an asyncio.Event", True)
    assert waits_of(waits_for(event()), sets_later(event(), 3600)) == ("an asyncio.Event", False)


def test_an_event_that_is_set_by_what_waits_itself():
    one, other = event(), event()
    assert waits_of(waits_for(one), sets_after(one, other)) == ("an asyncio.Event", False)


def test_a_wait_with_a_timeout_is_none():
    assert waits_of(has_timeout(event())) is None
    assert waits_of(sets_later(event(), 3600)) is None


def test_a_task_waits_for_what_its_tasks_wait_for():
    assert waits_of(takes(asyncio.Queue())) == ("an asyncio.Queue", False)


def test_whether_only_those_that_wait_refer_to_an_object():
    one = Target()
    objects = (one,)
    assert not is_shared(objects)
    holder = SimpleNamespace(one=one)
    assert is_shared(objects)
    assert not is_shared(())
    assert holder.one is one
