"""The interface for engines: the points at which an injector is asked, and the actions that it can decide on."""

import pytest

from fakekube import FakeKube
from fakekube.harness.engine import engine_of
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
    Lose,
    Reset,
)
from fakekube.harness.faultinjection.statechange import Anchor
from tests.harness.operators import build, config_map

TRANSPORTS = ["direct", "memory", "tcp"]


def secret(name):
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": "default"}}


async def make_secret(request, client):
    await client.create(secret(request.name))


class Recorder:
    """Records the points, and decides by `choose(point)` (None: proceed)."""

    def __init__(self, choose=lambda point: None):
        self.points, self._choose = [], choose

    def decide(self, point):
        self.points.append(point)
        return self._choose(point) or PROCEED

    def of(self, kind):
        return [point for point in self.points if isinstance(point, kind)]


def run(transport, recorder):
    """An operator that creates a Secret for a ConfigMap, under an injector; returns what the test looks at."""
    with FakeKube(transport=transport, wall_clock=False) as kube:
        engine_of(kube).disruptions.install(recorder)
        operator = kube.start(build(make_secret))
        kube.apply(config_map("a"))
        kube.advance(1)
        running = operator.is_running
        exists = kube.exists("v1", "Secret", "a")
        errors = [type(error).__name__ for error in operator["minder"].errors()]
        return running, exists, errors, operator["minder"].times()


def is_create(point, kind):
    return isinstance(point, kind) and getattr(point, "verb", "") == "create" and point.process == "minder"


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_an_injector_is_asked_at_every_point(transport):
    recorder = Recorder()
    assert run(transport, recorder)[:3] == (True, True, [])
    assert [(p.verb, p.resource) for p in recorder.of(BeforeRequest) if p.process == "minder"][-1] == (
        "create",
        "secrets",
    )
    assert [p.change.anchor for p in recorder.of(AfterCommit)] == [
        "create configmap/default/a#1",
        "create secret/default/a#1",
    ]
    assert [p.process for p in recorder.of(AfterCommit)] == ["", "minder"]
    assert [p.code for p in recorder.of(AfterRequest) if is_create(p, AfterRequest)] == [201]
    assert [(p.process, p.type, p.name) for p in recorder.of(BeforeEvent)] == [("minder", "ADDED", "a")]
    assert recorder.of(BeforeDelta)[-1].object["metadata"]["name"] == "a"


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize(
    ("kind", "action", "running", "exists", "error"),
    [
        (BeforeRequest, Error(500), True, True, "ApiError"),
        (BeforeRequest, Error(504, committed=True), True, True, "ApiError"),
        (BeforeRequest, Reset(), True, True, "ConnectionResetError"),
        (BeforeRequest, Lose(), True, True, "ConnectionResetError"),
        (AfterRequest, Lose(), True, True, "ConnectionResetError"),
        (BeforeRequest, Crash(), False, False, None),
        (AfterRequest, Crash(), False, True, None),
    ],
)
def test_actions_at_a_request(transport, kind, action, running, exists, error):
    left = [action]

    def choose(point):
        return left.pop() if left and is_create(point, kind) else None

    outcome = run(transport, Recorder(choose))
    assert outcome[:2] == (running, exists)
    assert outcome[2][:1] == ([error] if error else [])


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize(("action", "running"), [(Lose(), True), (Crash(), False)])
def test_actions_at_a_commit(transport, action, running):
    anchor = Anchor.parse("create secret/a")

    def choose(point):
        return action if isinstance(point, AfterCommit) and anchor.matches(point.change) else None

    outcome = run(transport, Recorder(choose))
    assert outcome[:2] == (running, True)
    assert bool(outcome[2]) == running


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_delayed_request_and_a_delayed_event(transport):
    def choose(point):
        if is_create(point, BeforeRequest):
            return Delay(0.25)
        return Delay(0.5) if isinstance(point, BeforeEvent) else None

    recorder = Recorder(choose)
    with FakeKube(transport=transport, wall_clock=False) as kube:
        engine_of(kube).disruptions.install(recorder)
        operator = kube.start(build(make_secret))
        kube.apply(config_map("a"))
        kube.advance(2)
        (reconcile,) = operator["minder"].history()
        assert (reconcile.started - kube.clock.epoch).total_seconds() == 0.5
        assert reconcile.duration.total_seconds() == 0.25


@pytest.mark.slow
def test_a_delta_is_held_until_it_is_released(fakekube):
    hold = Hold()
    recorder = Recorder(lambda point: hold if isinstance(point, BeforeDelta) and point.type != "Sync" else None)
    fakekube.apply(config_map("b"))
    engine_of(fakekube).disruptions.install(recorder)
    operator = engine_of(fakekube).operators.make(build(make_secret))
    operator.begin(engine_of(fakekube).bubble.loop)
    fakekube.advance(5)
    assert operator["minder"].reconciles() == 0
    hold.release()
    fakekube.settle()
    assert operator["minder"].reconciles() == 1


def test_a_crash_before_a_delta(fakekube):
    recorder = Recorder(lambda point: Crash() if isinstance(point, BeforeDelta) else None)
    engine_of(fakekube).disruptions.install(recorder)
    operator = engine_of(fakekube).operators.make(build(make_secret))
    operator.begin(engine_of(fakekube).bubble.loop)
    fakekube.apply(config_map("a"))
    fakekube.settle()
    assert not operator.is_running
    assert len(fakekube.ledger) == 0


def test_without_an_injector_the_server_asks_nobody(fakekube):
    recorder = Recorder()
    engine_of(fakekube).disruptions.install(recorder)
    fakekube.create(config_map("a"))
    asked = len(recorder.points)
    engine_of(fakekube).disruptions.install(None)
    fakekube.create(config_map("b"))
    assert asked == len(recorder.points) > 0
    assert engine_of(fakekube).server.interception is None


def test_the_fields_of_a_state_change(fakekube):
    recorder = Recorder()
    fakekube.apply(config_map("a"))
    engine_of(fakekube).disruptions.install(recorder)
    fakekube.patch("v1", "ConfigMap", "a", {"data": {"n": "1"}})
    fakekube.patch("v1", "ConfigMap", "a", {"data": {"n": "2", "m": "1"}, "metadata": {"labels": {"x": "y"}}})
    first, second = (point.change for point in recorder.of(AfterCommit))
    assert list(first.fields()) == ["data.n"]
    assert list(second.fields()) == ["data.m", "data.n", "metadata.labels.x"]
    assert (first.anchor, second.anchor) == ("update configmap/default/a#1", "update configmap/default/a#2")


def test_the_points_are_the_same_each_time():
    def points():
        recorder = Recorder()
        run("direct", recorder)
        return [repr(point) for point in recorder.points]

    assert points() == points()
