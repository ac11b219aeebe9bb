"""Time moves when the test moves it, in sync and async tests."""

import asyncio
import time
from datetime import UTC, datetime, timedelta

import pytest

from controllerlib import LeaderElection, LeaderElectionOptions, Manager, run
from tests.harness.operators import build, config_map, every, nothing

START = datetime(2026, 1, 1, tzinfo=UTC)

#: What moves time by an hour.
HOUR = {
    "seconds": lambda kube: kube.advance(3600),
    "units": lambda kube: kube.advance(minutes=59, seconds=60),
    "text": lambda kube: kube.advance("1h"),
    "timedelta": lambda kube: kube.advance(timedelta(hours=1)),
    "moment": lambda kube: kube.advance_to(START + timedelta(hours=1)),
    "until": lambda kube: kube.advance_until(lambda: kube.clock.monotonic() >= 3600, timeout="2h"),
}


@pytest.mark.parametrize("how", HOUR)
def test_an_hour_in_a_sync_test(fakekube, how):
    fakekube.apply(config_map("a"))
    controller = fakekube.start(build(every(1800)))["minder"]
    HOUR[how](fakekube)
    assert fakekube.clock.now() == START + timedelta(hours=1)
    assert controller.times() == [timedelta(minutes=m) for m in (0, 30, 60)]


@pytest.mark.parametrize("how", HOUR)
async def test_an_hour_in_an_async_test(fakekube, how):
    fakekube.apply(config_map("a"))
    controller = (await fakekube.start(build(every(1800))))["minder"]
    await HOUR[how](fakekube)
    assert fakekube.clock.now() == START + timedelta(hours=1)
    assert controller.times() == [timedelta(minutes=m) for m in (0, 30, 60)]


async def test_an_await_lets_time_pass(fakekube):
    fakekube.apply(config_map("a"))
    controller = (await fakekube.start(build(every(60))))["minder"]
    await asyncio.sleep(150)
    assert controller.reconciles() == 3


def test_a_sleep_lets_time_pass(fakekube):
    fakekube.apply(config_map("a"))
    controller = fakekube.start(build(every(60)))["minder"]
    time.sleep(150)
    assert controller.reconciles() == 3


def test_the_wall_clock_is_the_clusters(fakekube):
    assert datetime.now(UTC) == fakekube.clock.now() == START
    fakekube.advance(hours=1)
    assert datetime.now(UTC) == START + timedelta(hours=1)
    assert time.time() == (START + timedelta(hours=1)).timestamp()
    fakekube.create(config_map("a"))
    assert fakekube.get("v1", "ConfigMap", "a")["metadata"]["creationTimestamp"] == "2026-01-01T01:00:00Z"


#: Ways to start controllerlib by its own functions, without `fakekube.start`.
OWN_START = {
    "run in a thread": lambda kube, build, **options: kube.thread(run, build, kwargs=options),
    "a manager in a task": lambda kube, build, **options: kube.task(built(kube, build, options).start()),
}


def built(kube, build, options):
    manager = Manager(kube.access.transport(), **options)
    build(manager)
    return manager


@pytest.mark.parametrize("how", [pytest.param("run in a thread", marks=pytest.mark.slow), "a manager in a task"])
def test_a_manager_that_the_program_makes_reads_the_clusters_wall_clock(fakekube_configured, how):
    kube, readings = fakekube_configured, []

    def build(manager):
        recorder = manager.event_recorder("minder")

        async def reconcile(request, client):
            recorder.eventf(await client.get("v1", "ConfigMap", "a", "default"), None, "Normal", "Seen", "See", "seen")
            readings.append((manager.clock.now(), datetime.now(UTC)))

        manager.controller("minder").for_("v1", "ConfigMap").complete(reconcile)

    election = LeaderElection(LeaderElectionOptions("minder", "default", identity="one"))
    kube.apply(config_map("a"))
    OWN_START[how](kube, build, election=election, metrics_bind_address="0")
    kube.advance(8)
    lease = kube.get("coordination.k8s.io/v1", "Lease", "minder")["spec"]
    assert (lease["acquireTime"], lease["renewTime"]) == ("2026-01-01T00:00:00.000000Z", "2026-01-01T00:00:08.000000Z")
    assert [event["eventTime"] for event in kube.events(reason="Seen")] == ["2026-01-01T00:00:00.000000Z"]
    assert readings == [(START, START)]


@pytest.mark.fakekube(wall_clock=False)
def test_the_wall_clock_can_be_left_alone(fakekube):
    fakekube.advance(days=1000)
    assert abs(datetime.now(UTC) - fakekube.clock.now()) > timedelta(days=30)


def test_a_moment_that_has_passed_is_rejected(fakekube):
    fakekube.advance(60)
    with pytest.raises(ValueError, match="has passed: the clock reads"):
        fakekube.advance_to(START)
    with pytest.raises(ValueError, match="aware"):
        fakekube.advance_to(datetime(2027, 1, 1))


def test_a_predicate_that_stays_false_is_a_timeout(fakekube):
    with pytest.raises(TimeoutError, match="still false after 1h"):
        fakekube.advance_until(lambda: False, timeout="1h")
    assert fakekube.clock.monotonic() == 3600


def test_settling_moves_no_time(fakekube):
    fakekube.apply(config_map("a"))
    controller = fakekube.start(build(every(60)))["minder"]
    fakekube.settle()
    fakekube.settle()
    assert controller.reconciles() == 1
    assert fakekube.clock.monotonic() == 0


def test_in_a_sync_test_changes_between_two_steps_are_one_reconcile(fakekube):
    controller = fakekube.start(build(nothing))["minder"]
    fakekube.create(config_map("a"))
    for number in range(10):
        fakekube.patch("v1", "ConfigMap", "a", {"data": {"n": str(number)}})
    assert controller.reconciles() == 0
    fakekube.settle()
    assert controller.causes() == ["added+updated"]


def reconciles_while_a_client_talks(fakekube, api):
    from kubernetes import client

    controller = fakekube.start(build(nothing))["minder"]
    core = client.CoreV1Api(api)
    core.create_namespaced_config_map("default", config_map("a"))
    for _ in range(10):
        core.read_namespaced_config_map("a", "default")
    return controller.reconciles()


@pytest.mark.fakekube(stepped=False)
def test_without_steps_workers_work_while_the_test_talks_to_the_server(fakekube, fakekube_client):
    assert reconciles_while_a_client_talks(fakekube, fakekube_client) == 1


def test_with_steps_they_wait_for_the_next_step(fakekube, fakekube_client):
    assert reconciles_while_a_client_talks(fakekube, fakekube_client) == 0


@pytest.mark.fakekube(wall_clock=False)
def test_another_event_loop_is_rejected(fakekube):
    async def settle():
        fakekube.settle()

    with pytest.raises(RuntimeError, match=r"not the cluster's, where time is real"):
        asyncio.run(settle())


def test_the_clock_fixture(fakekube, fakekube_clock):
    assert fakekube_clock is fakekube.clock
    with fakekube_clock.hold("a probe"):
        assert fakekube_clock.holds == ("a probe",)
