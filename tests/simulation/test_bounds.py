"""A run is bounded in requests, steps and real time by what the reference does."""

import pytest

from fakekube.simulation.bounds import Bounds, Cost
from fakekube.simulation.explorer import Explorer, Settings
from fakekube.simulation.plan import parse_plan
from fakekube.simulation.running.meter import Meter
from fakekube.simulation.scenario import ScenarioRunner
from tests.simulation.samples.definitions import API, custom, definition, find


class Clock:
    def __init__(self):
        self.now, self.real = 0.0, 0.0


def metered(**usual):
    clock = Clock()
    return Meter(Bounds(Cost(**usual)), lambda: clock.now, lambda: clock.real), clock


@pytest.mark.parametrize(
    ("usual", "limit"),
    [
        pytest.param({}, 2_000, id="a reference without requests"),
        pytest.param({"at_once": 30}, 2_300, id="a reference with thirty"),
    ],
)
def test_how_many_requests_fit_into_a_virtual_second(usual, limit):
    meter, _ = metered(requests=10**6, **usual)
    assert not any(meter.request("get a") for _ in range(limit))
    assert meter.request("get a")
    assert meter.exceeded.startswith(f"more than {limit} requests within one virtual second")
    assert "mostly get a at test_bounds.py:" in meter.exceeded


def test_a_new_second_begins_with_no_request():
    meter, clock = metered(requests=10**6)
    for clock.now in (0.1, 0.9, 1.0, 2.5):
        assert not any(meter.request("get a") for _ in range(1_000))
    assert meter.cost.at_once == 2_000


@pytest.mark.parametrize(
    ("seconds", "limit"),
    [pytest.param(10.0, 10_100, id="as long as the reference"), pytest.param(30.0, 30_300, id="three times as long")],
)
def test_how_many_requests_fit_into_a_run(seconds, limit):
    assert Bounds(Cost(requests=10, seconds=10.0)).requests(seconds) == limit
    assert Bounds(Cost(steps=10, seconds=10.0)).steps(seconds) == limit


def test_a_run_that_only_takes_long_in_real_time_is_no_finding():
    meter, clock = metered(real=2.0)
    clock.real = 161.0
    assert any(meter.request("get a") for _ in range(64))
    assert (meter.exceeded, meter.too_long) == ("", "the run has taken 161 s of real time (limit 160 s)")


@pytest.mark.parametrize(
    ("usual", "seconds", "limit"),
    [
        ({}, 0.0, 10_000),
        ({"requests": 5, "steps": 5}, 100.0, 10_050),  # a reference that has taken no time
        ({"requests": 5, "steps": 5, "seconds": 10.0}, 5.0, 10_050),  # a shorter run may do as much
        ({"requests": 5, "steps": 5, "seconds": 10.0}, 15.0, 15_075),
    ],
)
def test_a_run_that_takes_longer_may_do_more(usual, seconds, limit):
    bounds = Bounds(Cost(**usual))
    assert (bounds.requests(seconds), bounds.steps(seconds)) == (limit, limit)


def test_a_run_with_too_many_requests_names_what_it_mostly_does():
    meter, clock = metered(requests=7, at_once=10**6, seconds=1.0)
    assert not any(meter.request(f"get {number}") for number in range(10_070))
    assert (meter.is_over, meter.exceeded) == (False, "")
    assert meter.request("get a")
    assert meter.exceeded.startswith("more than 10070 requests (the reference has 7), mostly get a at test_bounds.py:")
    exceeded = meter.exceeded
    clock.now = 9.0
    assert meter.request("get b"), "it stays over its bounds"
    assert meter.step("events of pods for db")
    assert meter.exceeded == exceeded
    assert meter.cost == Cost(requests=10_072, steps=1, at_once=10_071, seconds=9.0)


def test_a_run_with_too_many_steps_names_the_last_one():
    meter, _ = metered(steps=3, seconds=1.0)
    assert not any(meter.step("events of pods for db") for _ in range(10_030))
    assert meter.step("db reconciling default/a")
    assert meter.exceeded.startswith(
        "more than 10030 reconciles and events (the reference has 3), mostly db reconciling default/a at test_bounds.py:"
    )
    assert meter.request("get a")
    assert meter.step("db reconciling default/a")


@pytest.mark.parametrize(("often", "seldom"), [("get a", "get b"), ("get b", "get a")])
def test_of_the_last_requests_of_a_second_the_most_frequent_one_is_named(often, seldom):
    """What an operator has done before its loop began says nothing."""
    meter, _ = metered()
    for _ in range(1_500):
        meter.request("list pods")
    for number in range(501):
        meter.request(seldom if number % 3 == 0 else often)
    assert meter.exceeded.startswith(
        f"more than 2000 requests within one virtual second (the reference has at most 0), mostly {often} at "
    )
    assert seldom not in meter.exceeded


def test_what_was_done_in_the_second_before_says_nothing():
    meter, clock = metered(requests=10**6)
    for _ in range(1_900):
        meter.request("list pods")
    clock.now = 1.0
    for _ in range(2_001):
        meter.request("get a")
    assert "mostly get a at" in meter.exceeded


def test_the_cost_of_a_run_is_counted_from_its_beginning():
    """A cluster may have been open before, for the fixtures of the test."""
    clock = Clock()
    clock.now, clock.real = 50.0, 7.0
    meter = Meter(Bounds(Cost(seconds=10.0)), lambda: clock.now, lambda: clock.real)
    clock.now, clock.real = 62.0, 9.5
    assert (meter.cost.seconds, meter.cost.real) == (12.0, 2.5)


def test_the_reference_has_no_bounds():
    clock = Clock()
    meter = Meter(None, lambda: clock.now, lambda: clock.real)
    clock.real = 10.0**6
    assert not any(meter.request("get a") or meter.step("b") for _ in range(30_000))
    assert meter.cost == Cost(requests=30_000, steps=30_000, at_once=30_000)
    assert meter.cost.real == 10.0**6


@pytest.mark.parametrize(("real", "text"), [(160.0, ""), (160.5, "the run has taken 160 s of real time (limit 160 s)")])
@pytest.mark.parametrize("what", ["request", "step"])
def test_real_time_is_looked_at_now_and_then(what, real, text):
    meter, clock = metered(real=2.0)
    clock.real = real
    over = [getattr(meter, what)("get a") for _ in range(130)]
    assert (meter.too_long, meter.exceeded, any(over), over[0]) == (text, "", bool(text), False)
    assert meter.is_over is bool(text)


def endless(bug):
    """Waits within a reconcile for what a competing write takes away."""

    def build(manager):
        live = manager.api_reader

        async def reconcile(request, client):
            tank = await find(live, API, "Tank", request.name, request.namespace)
            if tank is None:
                return
            if (tank.get("status") or {}).get("phase") != "Ready":
                await live.patch_status(tank, {"status": {"phase": "Ready"}})
            while (await live.get(API, "Tank", request.name, request.namespace))["metadata"].get("annotations"):
                if not bug:
                    return

        manager.controller("tank").for_(API, "Tank").complete(reconcile)

    return build


def scenario(build):
    def test(fakekube):
        fakekube.apply(definition("Tank"))
        fakekube.start(build)
        fakekube.create(custom("Tank"))
        fakekube.advance(60)

    return test


RACE = "FK1 seed=0 race(annotate)@update tank/a{status.phase}#1"


@pytest.mark.parametrize("bug", [True, False], ids=["bug", "correct"])
def test_a_run_that_does_not_end_fails_with_the_place(bug):
    runner = ScenarioRunner(scenario(endless(bug)))
    explorer = Explorer(runner.run, Settings(), lambda: runner.facts)
    judge = explorer.reference()[1]
    observed = explorer.observe(parse_plan(RACE))
    assert observed.fired
    found = [one for one in judge.violations(observed) if one.oracle == "O1"]
    assert bool(found) is bug
    if bug:
        assert "tank reconciling default/a: get tanks/a at test_bounds.py:" in found[0].text
        assert observed.cost.at_once < 3_000
        assert observed.cost.requests == observed.cost.at_once, "the operator was killed"
        assert observed.ended == 60.0
