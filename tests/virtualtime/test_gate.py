"""Stepped mode: queues hand out items once all events of an instant are queued."""

import asyncio

import pytest
import urllib3

from fakekube.virtualtime import Bubble, Gate
from tests.virtualtime.server import Server


class Queue:
    """As a work queue: deduplicates keys, and hands them out only while the gate is open."""

    def __init__(self, gate):
        self.gate = gate
        self.keys = {}
        self._changed = asyncio.Event()
        gate.add_listener(self._changed.set)

    def add(self, key):
        self.keys.setdefault(key)
        self._changed.set()

    async def get(self):
        while not (self.gate.is_open() and self.keys):
            self._changed.clear()
            await self._changed.wait()
        key = next(iter(self.keys))
        del self.keys[key]
        return key


class Controller:
    """A controller without watches; tests put keys into its queue, one in each turn of the loop."""

    def __init__(self, bubble, requeue=None):
        self.bubble, self.queue, self.done, self.requeue = bubble, Queue(bubble.gate), [], requeue
        self.first_done = asyncio.Event()
        bubble.loop.create_task(self._run())

    async def _run(self):
        while True:
            key = await self.queue.get()
            self.done.append((self.bubble.clock.monotonic(), key))
            self.first_done.set()
            if self.requeue:
                self.bubble.loop.call_later(self.requeue, self.queue.add, key)

    async def events(self, *keys):
        for key in keys:
            self.queue.add(key)
            for _ in range(5):
                await asyncio.sleep(0)


def test_events_of_one_instant_are_deduplicated_before_the_queue_hands_out(bubble):
    controller = Controller(bubble)
    bubble.loop.create_task(controller.events("a", "a", "b", "a"))
    bubble.settle()
    assert controller.done == [(0, "a"), (0, "b")]
    assert not bubble.gate.is_open()


def test_without_steps_each_event_is_handed_out_at_once():
    with Bubble(wall_clock=False, stepped=False) as bubble:
        controller = Controller(bubble)
        bubble.loop.create_task(controller.events("a", "a", "b", "a"))
        bubble.settle()
        assert [key for _, key in controller.done] == ["a", "a", "b", "a"]


def test_the_gate_is_open_in_an_async_test_and_closed_after_it(bubble):
    async def test():
        assert bubble.gate.is_open()

    bubble.run(test())
    assert not bubble.gate.is_open()


def test_nothing_is_handed_out_outside_of_settle_and_advance(bubble):
    server = Server(bubble)
    controller = Controller(bubble)
    controller.queue.add("a")
    with urllib3.PoolManager() as http:
        http.request("GET", f"{server.url}/now")
    assert controller.done == []
    bubble.settle()
    assert controller.done == [(0, "a")]


def test_each_stop_of_advance_has_a_round(bubble):
    controller = Controller(bubble, requeue=60)
    controller.queue.add("a")
    bubble.advance(minutes=3)
    assert controller.done == [(0, "a"), (60, "a"), (120, "a"), (180, "a")]


def test_items_added_during_a_round_belong_to_it(bubble):
    controller = Controller(bubble)
    bubble.gate.add_listener(lambda: bubble.loop.create_task(controller.events("late", "later")))
    bubble.settle()
    assert [key for _, key in controller.done] == ["late", "later"]


@pytest.mark.parametrize("stepped", [True, None])
def test_a_test_that_is_blocked_by_a_reconcile_gets_it_without_time_moving(stepped):
    with Bubble(wall_clock=False, stepped=stepped) as bubble:
        controller = Controller(bubble)
        bubble.loop.call_later(60, lambda: None)

        async def test():
            controller.queue.add("a")
            await controller.first_done.wait()
            return bubble.clock.us

        assert bubble.run(test()) == 0


def test_a_blocking_request_that_only_a_reconcile_can_answer_opens_the_gate(bubble):
    server = Server(bubble)
    controller = Controller(bubble)
    controller.queue.add("a")

    async def writes_when_reconciled():
        await controller.first_done.wait()
        async with server.changed:
            server.numbers["a"] = 7
            server.changed.notify_all()

    with urllib3.PoolManager() as http:
        watch = http.request("GET", f"{server.url}/watch", preload_content=False)
        bubble.loop.create_task(writes_when_reconciled())
        assert watch.read(4) == b"a=7\n"
        assert bubble.clock.us == 0
        assert not bubble.gate.is_open()
        watch.close()


def test_listeners_are_called_when_it_opens_and_only_then():
    gate, calls = Gate(is_open=False), []
    listener = lambda: calls.append(gate.is_open())  # noqa: E731
    gate.add_listener(listener)
    gate.open()
    gate.open()
    gate.close()
    gate.remove_listener(listener)
    gate.open()
    assert calls == [True]


def test_work_added_at_the_end_of_a_round_gets_a_new_round(bubble):
    controller = Controller(bubble)
    gate, seen = bubble.gate, []

    def told():
        seen.append((gate.in_round, gate.is_open()))
        controller.queue.add("told")

    bubble.gate.add_listener(lambda: seen or gate.when_round_ends(told))
    controller.queue.add("a")
    bubble.settle()
    assert seen == [(False, False)]
    assert [key for _, key in controller.done] == ["a", "told"]
    assert not gate.in_round
    assert gate.end_round() is False


def test_workers_are_let_through_one_at_a_time(bubble):
    """The next worker is let through when those before have ended or wait for time."""
    gate, loop, log = bubble.gate, bubble.loop, []

    async def work(name, queue):
        while True:
            key = await queue.get()
            gate.taken()
            log.append(f"{name} {key}")
            await asyncio.sleep(0)
            if key == "slow":
                await asyncio.sleep(60)
            await asyncio.sleep(0)
            log.append(f"{name} {key} done")

    queues = [Queue(gate), Queue(gate)]
    for name, queue in zip("AB", queues, strict=True):
        loop.create_task(work(name, queue))
    for key in ("slow", "x"):
        queues[0].add(key)
    queues[1].add("y")
    bubble.settle()
    assert log == ["A slow", "B y", "B y done"]
    bubble.advance(60)
    assert log[3:] == ["A slow done", "A x", "A x done"]
    assert not gate.is_open()


@pytest.mark.parametrize(
    ("answer", "one_by_one", "called"),
    [(True, True, ["a"]), (True, False, ["a", "b"]), (None, True, ["a", "b"]), ("yes", True, ["a", "b"])],
)
def test_a_listener_that_takes_an_item_has_its_turn_alone(answer, one_by_one, called):
    gate, calls = Gate(is_open=False), []
    gate.add_listener(lambda: calls.append("a") or answer)
    gate.add_listener(lambda: calls.append("b"))
    gate.begin_round(one_by_one=one_by_one)
    assert (calls, gate.in_round, gate.is_open()) == (called, True, True)


def test_outside_of_a_round_all_listeners_are_called_and_the_gate_stays_open():
    gate, calls = Gate(is_open=False), []
    for name in "ab":
        gate.add_listener(lambda name=name: calls.append(name) or True)
    gate.open()
    gate.taken()
    assert (calls, gate.is_open()) == (["a", "b"], True)
    gate.begin_round()  # it was open
    assert calls == ["a", "b"]
    assert gate.end_round() is False
    assert not gate.is_open()


def test_the_turns_of_a_round():
    gate, calls = Gate(is_open=False), []
    takes = [True, True, False]
    remove = gate.add_listener(lambda: calls.append("a") or takes.pop(0))
    gate.begin_round()
    gate.taken()
    assert not gate.is_open()
    gate.next_one()  # after an item was taken
    assert (gate.is_open(), calls) == (True, ["a", "a"])
    gate.next_one()  # the turn was not used
    gate.next_one()  # nothing was claimed
    assert calls == ["a", "a", "a"]
    remove()
    remove()
    ended = []
    gate.when_round_ends(lambda: ended.append(1))
    gate.taken()
    assert gate.end_round() is True
    assert (ended, gate.end_round(), gate.in_round) == ([1], False, False)
    gate.begin_round(one_by_one=False)
    gate.taken()
    assert gate.is_open()
    gate.end_round()
    assert ended == [1]
