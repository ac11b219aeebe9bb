"""What becomes of each action of an injector at each point; actions that a point does not have are refused."""

import asyncio
from types import SimpleNamespace

import pytest

from controllerlib.cache import Delta
from controllerlib.observer import Observer
from fakekube.apiserver.faults import Fault
from fakekube.apiserver.response import Response
from fakekube.harness.faultinjection.deltaobserver import DeltaObserver
from fakekube.harness.faultinjection.injector import (
    PROCEED,
    AfterCommit,
    AfterRequest,
    BeforeDelta,
    BeforeEvent,
    BeforeRequest,
    Crash,
    Delay,
    Error,
    Hold,
    IllegalAction,
    Lose,
    Reset,
)
from fakekube.harness.faultinjection.interceptor import Interceptor

INFO = SimpleNamespace(verb="update", resource="pods", namespace="d", name="a", subresource="status")
REQUEST = SimpleNamespace(user_agent="agent/1")
CLIENT = SimpleNamespace(name="op")
META = {"metadata": {"namespace": "d", "name": "a"}}
CHANGE = SimpleNamespace(
    collection="pods", path="d/a", before=None, after=SimpleNamespace(object=META, revision=7), revision=7
)
RESOURCE = SimpleNamespace(plural="pods")
EVENT = SimpleNamespace(type="MODIFIED", entry=SimpleNamespace(object=META, revision=7))
WATCH = SimpleNamespace(collection="pods", client=("agent/1", CLIENT))


class Injector:
    """Decides on one action, and keeps the points."""

    def __init__(self, action=PROCEED):
        self.action, self.points = action, []

    def decide(self, point):
        self.points.append(point)
        return self.action


def intercepting(action):
    killed = []
    made = Interceptor(killed.append, lambda collection: RESOURCE if collection == "pods" else None)
    made.injector = Injector(action)
    return made, killed


@pytest.mark.parametrize(
    ("action", "fault", "kills"),
    [
        (PROCEED, None, False),
        (Error(409), Fault(error=409, committed=False), False),
        (Error(500, committed=True), Fault(error=500, committed=True), False),
        (Reset(), Fault(reset="before"), False),
        (Lose(), Fault(reset="after"), False),
        (Delay(2.5), Fault(delay=2.5), False),
        (Crash(), Fault(reset="before"), True),
    ],
)
@pytest.mark.parametrize("client", [CLIENT, None])
def test_before_a_request(action, fault, kills, client):
    made, killed = intercepting(action)
    assert made.before_request(REQUEST, INFO, client) == fault
    assert killed == [client] * (kills and client is not None)
    assert made.injector.points == [
        BeforeRequest("op" if client else "", "agent/1", "update", "pods", "d", "a", "status")
    ]


@pytest.mark.parametrize(
    ("action", "loses", "kills"), [(PROCEED, False, False), (Lose(), True, False), (Crash(), False, True)]
)
@pytest.mark.parametrize("info", [INFO, None])
def test_after_a_commit(action, loses, kills, info):
    made, killed = intercepting(action)
    made.committed(CHANGE, info, CLIENT)
    (point,) = made.injector.points
    assert (type(point), point.change.verb, point.change.name, point.change.process) == (
        AfterCommit,
        "create",
        "a",
        "op",
    )
    assert killed == [CLIENT] * kills
    made.injector = None
    answers = [made.answered(REQUEST, INFO, CLIENT, Response(200)).reset for _ in range(2)]
    assert answers == [loses and info is not None, False], "the answer of this request alone is lost"


def test_changes_of_what_is_no_resource_are_no_points():
    made, _ = intercepting(PROCEED)
    made.committed(SimpleNamespace(**{**vars(CHANGE), "collection": "unknown"}), INFO, CLIENT)
    assert made.injector.points == []


@pytest.mark.parametrize(
    ("action", "loses", "kills"), [(PROCEED, False, False), (Lose(), True, False), (Crash(), True, True)]
)
def test_after_a_request(action, loses, kills):
    made, killed = intercepting(action)
    response = Response(201)
    found = made.answered(REQUEST, INFO, CLIENT, response)
    assert (found.reset, found is response) == (loses, not loses)
    assert killed == [CLIENT] * kills
    assert made.injector.points == [AfterRequest("op", "update", "pods", "d", "a", 201)]


@pytest.mark.parametrize(
    ("action", "seconds", "kills"), [(PROCEED, 0.0, False), (Delay(3.0), 3.0, False), (Crash(), 0.0, True)]
)
def test_before_an_event(action, seconds, kills):
    made, killed = intercepting(action)
    assert made.before_event(WATCH, EVENT) == seconds
    assert killed == [CLIENT] * kills
    assert made.injector.points == [BeforeEvent("op", "agent/1", "pods", "MODIFIED", "d", "a", 7)]


def test_bookmarks_are_no_points():
    made, _ = intercepting(Delay(3.0))
    assert made.before_event(WATCH, SimpleNamespace(type="BOOKMARK")) == 0.0
    assert made.injector.points == []


@pytest.mark.parametrize(
    ("action", "call", "said"),
    [
        (Hold(), lambda made: made.before_request(REQUEST, INFO, CLIENT), "Hold cannot happen at BeforeRequest"),
        (Delay(1.0), lambda made: made.committed(CHANGE, INFO, CLIENT), "Delay cannot happen at AfterCommit"),
        (
            Reset(),
            lambda made: made.answered(REQUEST, INFO, CLIENT, Response(200)),
            "Reset cannot happen at AfterRequest",
        ),
        (Lose(), lambda made: made.before_event(WATCH, EVENT), "Lose cannot happen at BeforeEvent"),
    ],
)
def test_an_action_that_a_point_does_not_have(action, call, said):
    made, killed = intercepting(action)
    with pytest.raises(IllegalAction, match=f"^{said}$"):
        call(made)
    assert killed == []


def test_without_an_injector_nothing_happens():
    made, killed = intercepting(PROCEED)
    made.retire()
    assert made.is_idle()
    response = Response(200)
    assert made.before_request(REQUEST, INFO, CLIENT) is None
    assert made.answered(REQUEST, INFO, CLIENT, response) is response
    assert made.before_event(WATCH, EVENT) == 0.0
    made.committed(CHANGE, INFO, CLIENT)
    assert killed == []


# --- deltas


class Recorded(Observer):
    """Keeps what it observes."""

    def __init__(self):
        self.seen = []

    def enqueued(self, *seen):
        self.seen.append(("enqueued", *seen))

    def reconcile_started(self, run):
        self.seen.append(("started", run))

    def reconcile_finished(self, run, outcome):
        self.seen.append(("finished", run, outcome))

    async def before_call(self, call):
        self.seen.append(("before", call))

    def answered(self, call, code, answer):
        self.seen.append(("answered", call, code, answer))

    async def after_call(self, call, code, answer):
        self.seen.append(("after", call, code, answer))

    def handled(self, informer, handler, notification):
        self.seen.append(("handled", informer, handler, notification))

    def informer(self, event):
        self.seen.append(("informer", event))


class Clock:
    """A clock that keeps until when it was waited."""

    def __init__(self):
        self.until = []

    def monotonic(self):
        return 10.0

    async def sleep_until(self, deadline):
        self.until.append(deadline)


def delaying(action):
    recorded, clock, crashed = Recorded(), Clock(), []
    made = DeltaObserver(recorded, Injector(action), CLIENT, clock, lambda: crashed.append(1))
    return made, recorded, clock, crashed


def test_what_is_observed_is_passed_on():
    made, recorded, *_ = delaying(PROCEED)
    made.enqueued("c", "r", "cause", 1.0, 2)
    made.reconcile_started("run")
    made.reconcile_finished("run", "outcome")
    asyncio.run(made.before_call("call"))
    made.answered("call", 200, "answer")
    asyncio.run(made.after_call("call", 200, "answer"))
    made.handled("i", "h", "n")
    made.informer("event")
    assert recorded.seen == [
        ("enqueued", "c", "r", "cause", 1.0, 2), ("started", "run"), ("finished", "run", "outcome"), ("before", "call"),
        ("answered", "call", 200, "answer"), ("after", "call", 200, "answer"), ("handled", "i", "h", "n"), ("informer", "event"),
    ]  # fmt: skip


@pytest.mark.parametrize(("action", "until", "crashes"), [(PROCEED, [], 0), (Delay(2.0), [12.0], 0), (Crash(), [], 1)])
def test_before_a_delta(action, until, crashes):
    made, _, clock, crashed = delaying(action)
    asyncio.run(made.before_delta("pods", Delta("Updated", META)))
    assert (clock.until, len(crashed)) == (until, crashes)
    assert made._injector.points == [BeforeDelta("op", "pods", "Updated", META)]


def test_a_delta_waits_for_the_release_of_its_hold():
    hold = Hold()
    made, *_ = delaying(hold)

    async def main():
        waiting = [asyncio.ensure_future(made.before_delta("pods", Delta("Added", META))) for _ in range(2)]
        for _ in range(5):
            await asyncio.sleep(0)
        held = [one.done() for one in waiting]
        waiting[0].cancel()
        hold.release()
        await asyncio.wait(waiting)
        await made.before_delta("pods", Delta("Added", META))  # it is released
        return held, waiting[1].exception()

    assert asyncio.run(main()) == ([False, False], None)


@pytest.mark.parametrize("action", [Lose(), Reset(), Error(500)])
def test_an_action_that_deltas_do_not_have(action):
    made, *_ = delaying(action)
    with pytest.raises(IllegalAction, match=f"^{type(action).__name__} cannot happen at BeforeDelta$"):
        asyncio.run(made.before_delta("pods", Delta("Added", META)))
