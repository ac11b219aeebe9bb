"""From how many writes on detectors report a loop: tables, without an operator."""

import asyncio
from types import SimpleNamespace

import pytest

from controllerlib import Request, Result
from controllerlib.cache import Delta
from controllerlib.controller import Outcome, Run
from controllerlib.workqueue import Cause
from fakekube.apiserver.requestlog import RequestRecord
from fakekube.apiserver.storage.store import Change, Entry
from fakekube.apiserver.wire import request as wire
from fakekube.harness.detectors import detector
from fakekube.harness.detectors.detector import Doing, Exchange, Observed
from fakekube.harness.detectors.known.looping.fights import Fights
from fakekube.harness.detectors.known.looping.hotloops import HotLoops
from fakekube.harness.detectors.known.requesting.eventfloods import EventFloods
from fakekube.harness.detectors.known.requesting.expiredwatches import ExpiredWatches
from fakekube.harness.faultinjection.deltaobserver import DeltaObserver
from fakekube.harness.faultinjection.injector import Crash, Delay, Hold, IllegalAction, Lose, Proceed
from fakekube.virtualtime import HotLoop, VirtualTimeLoop
from fakekube.virtualtime.simulatedprocess import SimulatedProcess
from tests.harness.detectors.driven import Driven


class Scene:
    """What detectors ask and tell."""

    writer = detector.Scene.writer

    def __init__(self):
        self.now, self.found, self.failed = 0.0, [], []
        self.runner = SimpleNamespace(clock=SimpleNamespace(monotonic=lambda: self.now), client=None)

    def report(self, detector, text, *, who="", key=None):
        self.found.append((detector, who, text))

    def fail(self, detector, error):
        self.failed.append((detector, str(error)))


OPERATOR = Observed("op", SimulatedProcess("op"))


def doing(*kinds, controller="c", version="", operator=OPERATOR):
    causes = tuple(Cause(kind, "v1", "Pod", "d", "a", version) for kind in kinds)
    run = Run(controller, Request("d", "a"), "1", 1, 0, 0, causes, 0.0, 0.0, None)
    return Doing(run, operator, "d/a", 0, (id(operator), controller, "d/a"))


# --- reconciles that trigger themselves


class Looping:
    """A controller whose reconciles write an object, each with the next resourceVersion."""

    def __init__(self):
        self.scene, self.version = Scene(), 0
        self.detector = Driven(HotLoops(self.scene))

    def reconcile(self, *kinds, verb="update", code=200, after=None, cause=None, sent="", changes=True):
        run = doing(*kinds, version=cause if cause is not None else str(self.version))
        self.detector.started(run)
        self.version += changes
        call = SimpleNamespace(verb=verb, path="/p", body={"metadata": {"resourceVersion": sent}})
        self.detector.called(run, call, code, {"metadata": {"resourceVersion": str(self.version)}})
        self.detector.finished(run, Outcome("success", Result(), None, after, 0.0))


@pytest.mark.parametrize(
    ("verb", "loops"), [("update", True), ("patch", True), ("create", False), ("delete", False), ("get", False)]
)
def test_a_hundred_writes_that_trigger_each_other_are_a_hot_loop(verb, loops):
    found = Looping()
    for _ in range(100):
        found.reconcile("updated", verb=verb)
    if not loops:
        found.reconcile("updated", verb=verb)
        return
    with pytest.raises(
        HotLoop,
        match=r"controller 'c' has written /p 100 times in reconciles of d/a .* because of: updated Pod d/a@100",
    ):
        found.reconcile("updated", verb=verb)
    assert found.scene.found == []


def test_one_less_is_none():
    found = Looping()
    for _ in range(100):
        found.reconcile("updated")


@pytest.mark.parametrize(
    "other",
    [
        {"kinds": ("updated",), "cause": "999"}, {"kinds": ("generic",)}, {"kinds": ("resync",)}, {"kinds": ("requeue_after",)}, {"kinds": ("updated", "generic")},
    ],
)  # fmt: skip
def test_anything_else_that_triggers_the_key_ends_the_chain(other):
    found = Looping()
    for number in range(250):
        if number % 90 == 60:
            found.reconcile(*other["kinds"], cause=other.get("cause"))
        else:
            found.reconcile("updated")


@pytest.mark.parametrize(
    ("kind", "after", "reported"),
    [
        ("retry", None, 1),
        ("requeue", None, 1),
        ("requeue_after", 0.9, 1),
        ("requeue_after", 1.0, 0),
        ("requeue_after", None, 0),
    ],
)
def test_twenty_writes_of_retries_or_short_requeues_are_reported(kind, after, reported):
    found = Looping()
    for _ in range(20):
        found.reconcile(kind, after=after)
        assert len(found.scene.found) == 0
    for _ in range(10):
        found.reconcile(kind, after=after)
    assert [(detector, who) for detector, who, _ in found.scene.found] == [("hot-loop", "c")] * reported
    if reported:
        assert found.scene.found[0][2] == "has written /p 20 times in reconciles of d/a, while nothing else changed"


@pytest.mark.parametrize("options", [{"code": 300}, {"code": 199}, {"code": 409}, {"changes": False}])
def test_writes_that_store_nothing_do_not_count(options):
    found = Looping()
    for _ in range(250):
        found.reconcile("requeue", **options)
    assert found.scene.found == []


# --- writers that overwrite each other


def change(number, value, place="default/a", **more):
    entries = [
        Entry(number + step, {"metadata": {"name": "a"}, "data": {"x": one, **more}}, "v1")
        for step, one in enumerate(value)
    ]
    return Change(number, "configmaps", place, *entries)


def fight(turns, *, writers=("c", "d"), values=("1", "2"), pause=0.0, **more):
    """Two controllers write in turn; returns the scene, the detector and their reconciles."""
    scene = Scene()
    detector = Driven(Fights(scene))
    runs = [doing("updated", controller=name) for name in writers]
    for turn in range(turns + 1):  # the first change begins the series
        scene.now += pause
        mine, other = values[turn % 2], values[(turn + 1) % 2]
        detector.committed(change(turn, (other, mine), **({"n": turn} if more else {})), runs[turn % 2])
    return scene, detector, runs


@pytest.mark.parametrize(("turns", "found"), [(199, False), (200, True)])
def test_two_hundred_turns_with_the_same_field_are_a_fight(turns, found):
    _, detector, runs = fight(turns)
    if not found:
        for run in runs:
            detector.started(run)
        return
    with pytest.raises(
        HotLoop,
        match=r"'d' and 'c' overwrite each other's values in configmaps default/a: 'd' sets \.data\.x to '2', 'c' to '1'; 100 times each",
    ) as error:
        detector.started(runs[0])
    assert "let one of them own the field" in str(error.value)
    detector.started(runs[1])  # it has nothing to fight with any more


@pytest.mark.parametrize("options", [{"writers": ("c", "c")}, {"values": ("1", "1")}, {"pause": 1.1}])
def test_what_is_no_fight(options):
    _, detector, runs = fight(450, **options)
    for run in runs:
        detector.started(run)


def test_a_pause_of_a_second_is_within_a_fight():
    _, detector, runs = fight(200, pause=1.0)
    with pytest.raises(HotLoop):
        detector.started(runs[0])


def test_a_write_of_the_test_begins_anew():
    scene, detector = Scene(), None
    detector = Driven(Fights(scene))
    runs = [doing("updated", controller=name) for name in "cd"]
    for turn in range(500):
        if turn % 150 == 0:
            detector.committed(change(turn, ("1", "9")), None)
        detector.committed(change(turn, ("12"[turn % 2], "21"[turn % 2])), runs[turn % 2])
    for run in runs:
        detector.started(run)


def test_programs_without_reconciles_end_the_step():
    scene = Scene()
    detector, clients = Driven(Fights(scene)), [SimpleNamespace(name="one"), SimpleNamespace(name="one")]
    for turn in range(201):
        scene.runner.client = clients[turn % 2]
        detector.committed(change(turn, ("12"[turn % 2], "21"[turn % 2])), None)
    ((name, text),) = scene.failed
    assert (
        name,
        text.startswith("one program named 'one' and another program named 'one' overwrite each other's values"),
    ) == ("hot-loop", True)


# --- Events


def exchange(verb="create", resource="events", at=0.0, body=None, code=201, query=(), refused=None, agent="op/1"):
    request = wire.Request(
        "POST", "/x", {name: [value] for name, value in query}, {}, body if body is not None else b""
    )
    record = RequestRecord(at, verb, resource, "", "d", "a", "", "bob", agent, code, "", "/x", 1)
    watch = None if refused is None else SimpleNamespace(refused=SimpleNamespace(code=refused))
    return Exchange(request, None, SimpleNamespace(watch=watch), record, None, True)


def event(kind="Pod", field="involvedObject"):
    return {field: {"kind": kind, "name": "a", "namespace": "d"}, "reason": "Why"}


@pytest.mark.parametrize(
    ("number", "pause", "found"), [(999, 0, 0), (1000, 0, 1), (2500, 0, 1), (1500, 3.7, 0), (1000, 3.5, 1)]
)
def test_a_thousand_events_of_an_object_within_an_hour_are_a_flood(number, pause, found):
    scene = Scene()
    detector = EventFloods(scene)
    for turn in range(number):
        detector.created(exchange(at=turn * pause, body=event(field=("involvedObject", "regarding")[turn % 2])))
        detector.created(exchange(at=turn * pause, body=event(kind=f"Kind{turn}")))
    assert [(name, who) for name, who, _ in scene.found] == [("event-flood", "op/1")] * found
    if found:
        assert scene.found[0][2].startswith(
            f"has recorded 1000 Events of Pod a within {999 * pause:g} s, the last with the reason Why: "
        )


@pytest.mark.parametrize(("last", "found"), [(3599.5, 1), (3600.0, 0), (4000.0, 0)])
def test_an_hour_after_the_first_event_another_count_begins(last, found):
    scene = Scene()
    detector = EventFloods(scene)
    for at in (*([0.0] * 999), last, *([last + 3599.0] * 998)):
        detector.created(exchange(at=at, body=event()))
    assert len(scene.found) == found
    detector.created(exchange(at=last + 3599.0, body=event()))
    assert len(scene.found) == 1, "the second count has a thousand, too, unless the first had"


@pytest.mark.parametrize("body", [{}, [], {"involvedObject": "x"}])
def test_an_event_about_nothing_does_not_count(body):
    scene = Scene()
    detector = EventFloods(scene)
    for _ in range(1000):
        detector.created(exchange(body=body))
    assert scene.found == []


# --- expired watches


def watches(times, *, pause=1.0, code=410, version="5", between=None, every=3):
    scene = Scene()
    detector = ExpiredWatches(scene)
    for turn in range(times):
        refused = 410 if code == 200 else None
        detector.answered(
            exchange("watch", "pods", turn * pause, code=code, query=[("resourceVersion", version)], refused=refused)
        )
        if between is not None and turn % every == every - 1:
            detector.answered(exchange(**between))
    return scene


@pytest.mark.parametrize(
    ("times", "pause", "found", "failed"),
    [(4, 1, 0, 0), (5, 1, 1, 0), (150, 1, 1, 0), (99, 0, 1, 0), (100, 0, 1, 1), (150, 0, 1, 1)],
)
@pytest.mark.parametrize("code", [410, 200])
def test_five_watches_from_an_expired_version_are_reported_and_a_hundred_at_once_a_loop(
    times, pause, found, failed, code
):
    scene = watches(times, pause=pause, code=code)
    assert (len(scene.found), len(scene.failed)) == (found, failed)
    if found:
        assert f"again and again (5 times within {4 * pause:g} s)" in scene.found[0][2]


@pytest.mark.parametrize(
    "between", [{"verb": "list", "resource": "pods", "code": 200}, {"verb": "watch", "resource": "pods", "code": 200}]
)
def test_what_is_accepted_ends_the_series(between):
    assert watches(20, between=between).found == []
    assert len(watches(20, between={**between, "resource": "nodes"}).found) == 1
    assert len(watches(20, between={**between, "agent": "other"}).found) == 1


def test_a_watch_from_another_version_is_another_series():
    scene = Scene()
    detector = ExpiredWatches(scene)
    for turn in range(20):
        detector.answered(exchange("watch", "pods", turn, code=410, query=[("resourceVersion", str(turn // 4))]))
    assert scene.found == []


# --- deltas


@pytest.mark.parametrize(
    ("action", "took"), [(Proceed(), 0), (Delay(5), 5), ("hold", 7), ("released", 0), (Crash(), 0)]
)
def test_a_delta_waits_until_the_injector_lets_it_proceed(action, took):
    async def main():
        loop, log = asyncio.get_running_loop(), []
        hold = Hold()
        if action == "released":
            hold.release()
        loop.call_later(7, hold.release)
        decided = hold if isinstance(action, str) else action
        clock = SimpleNamespace(monotonic=loop.time, sleep_until=lambda deadline: asyncio.sleep(deadline - loop.time()))
        injector = SimpleNamespace(decide=lambda point: log.append(point) or decided)
        observer = DeltaObserver(None, injector, SimpleNamespace(name="op"), clock, lambda: log.append("crash"))
        begun = loop.time()
        await observer.before_delta("pods", Delta("Added", {"metadata": {"name": "a"}}))
        assert loop.time() - begun == took
        point = log[0]
        assert (point.process, point.informer, point.object) == ("op", "pods", {"metadata": {"name": "a"}})
        assert log[1:] == ["crash"] * isinstance(action, Crash)
        decided = Lose()
        with pytest.raises(IllegalAction):
            await observer.before_delta("pods", Delta("Added", {}))

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(main())
