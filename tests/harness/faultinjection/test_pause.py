"""Operators that are stopped and run on (SIGSTOP, SIGCONT), and the failover of their leader election."""

import asyncio
import time

import pytest

from controllerlib import ControllerOptions, LeaderElectionOptions, Result
from controllerlib.leaderelection import LeaderElection
from controllerlib.manager.manager import LeaderElectionLost
from fakekube import FakeKube
from tests.harness.operators import build, config_map, every


def test_a_paused_operator_does_nothing_until_it_is_resumed(fakekube):
    fakekube.apply(config_map("a"))
    operator = fakekube.start(build(every(60)))
    fakekube.advance(30)
    fakekube.faults.pause(operator)
    fakekube.advance(600)
    assert operator["minder"].reconciles() == 1
    assert "SimulatedProcess minder stopped" in fakekube.why()
    fakekube.faults.resume(operator)
    fakekube.advance(60)
    assert [t.total_seconds() for t in operator["minder"].times()] == [0, 630, 690]
    assert "SimulatedProcess" not in fakekube.why()


@pytest.mark.parametrize("transport", ["memory", "tcp"])
def test_over_http_what_it_has_missed_arrives_when_it_is_resumed(transport):
    with FakeKube(transport=transport) as kube:
        kube.apply(config_map("a"))
        operator = kube.start(build(every(10_000)))
        kube.faults.pause(operator)
        kube.patch("v1", "ConfigMap", "a", {"data": {"x": "1"}})
        kube.advance(5)
        assert operator["minder"].causes() == ["added"]
        kube.faults.resume(operator)
        assert operator["minder"].causes() == ["added", "updated"]


def test_another_operator_goes_on_meanwhile(fakekube):
    fakekube.apply(config_map("a"))
    first, second = fakekube.start(build(every(60), "first")), fakekube.start(build(every(60), "second"))
    fakekube.faults.pause(first)
    fakekube.advance(120)
    assert (first["first"].reconciles(), second["second"].reconciles()) == (1, 3)


def test_timers_of_a_paused_task_fire_late_and_in_order(fakekube):
    fired = []

    async def work():
        async def tick(name, seconds):
            await asyncio.sleep(seconds)
            fired.append((name, fakekube.clock.monotonic()))

        await asyncio.gather(tick("b", 20), tick("a", 10), tick("c", 500))

    task = fakekube.task(work())
    fakekube.advance(1)
    fakekube.faults.pause(task)
    fakekube.advance(99)
    assert fired == []
    fakekube.faults.resume(task)
    assert fired == [("a", 100), ("b", 100)]
    fakekube.advance(400)
    assert fired[-1] == ("c", 500)


def test_a_paused_thread(fakekube):
    beats = []

    def beat():
        while True:
            time.sleep(10)
            beats.append(fakekube.clock.monotonic())

    thread = fakekube.thread(beat)
    fakekube.advance(25)
    fakekube.faults.pause(thread)
    fakekube.advance(100)
    assert beats == [10, 20]
    fakekube.faults.resume(thread)
    fakekube.advance(10)
    assert beats == [10, 20, 125, 135]


def test_only_what_runs_can_be_paused(fakekube):
    operator = fakekube.start(build(every(60)))
    with pytest.raises(ValueError, match="minder is running: only a stopped process can be resumed"):
        fakekube.faults.resume(operator)
    fakekube.faults.pause(operator)
    with pytest.raises(ValueError, match="minder is stopped: only a process that runs can be stopped"):
        fakekube.faults.pause(operator)
    fakekube.kill(operator)
    with pytest.raises(ValueError, match="minder is killed"):
        fakekube.faults.pause(operator)


def test_a_cluster_closes_with_a_paused_operator():
    with FakeKube() as kube:
        kube.apply(config_map("a"))
        operator = kube.start(build(every(60)))
        kube.faults.pause(operator)
    assert not operator.is_running


async def test_pause_and_resume_in_an_async_test(fakekube):
    fakekube.apply(config_map("a"))
    operator = await fakekube.start(build(every(60)))
    fakekube.faults.pause(operator)
    await asyncio.sleep(120)
    assert operator["minder"].reconciles() == 1
    await fakekube.faults.resume(operator)
    assert operator["minder"].reconciles() == 2


# --- leader election -------------------------------------------------------------------------------------------------

LEASE = ("coordination.k8s.io/v1", "Lease", "minder")


def replica(fakekube, identity, seen, duration=60.0, pause=0.0):
    """A replica that notes who reconciles and when, and writes it to a Secret after `pause` seconds."""

    async def reconcile(request, client):
        seen.append((identity, fakekube.clock.monotonic()))
        if pause:
            await asyncio.sleep(pause)
            await client.create(
                {
                    "apiVersion": "v1",
                    "kind": "Secret",
                    "metadata": {"generateName": f"{identity}-", "namespace": "default"},
                }
            )
        return Result(requeue_after=duration)

    def add(manager):
        options = ControllerOptions()
        manager.controller("minder").for_("v1", "ConfigMap").with_options(options).complete(reconcile)

    election = LeaderElection(LeaderElectionOptions("minder", "default", identity=identity))
    return fakekube.start(add, election=election)


def holder(fakekube):
    return fakekube.get(*LEASE)["spec"]["holderIdentity"]


@pytest.mark.parametrize("transport", ["direct", "memory"])
def test_the_other_replica_takes_over_when_the_leader_is_killed(transport):
    with FakeKube(transport=transport) as kube:
        kube.apply(config_map("a"))
        seen = []
        leader, other = replica(kube, "one", seen), replica(kube, "two", seen)
        kube.advance(29)
        assert holder(kube) == "one"
        kube.kill(leader)
        renewed = kube.get(*LEASE)["spec"]["renewTime"]
        assert renewed == "2026-01-01T00:00:28.000000Z"
        kube.advance(14)
        assert holder(kube) == "one"  # valid for 15 s since the last renewal
        kube.advance(6)
        assert holder(kube) == "two"
        acquired = kube.get(*LEASE)["spec"]["acquireTime"]
        assert "2026-01-01T00:00:43" <= acquired <= "2026-01-01T00:00:48"
        assert [who for who, _ in seen] == ["one", "two"]
        assert other.is_running


@pytest.mark.parametrize(("seed", "moment"), [(5, "2026-01-01T00:00:46.986886Z"), (6, "2026-01-01T00:00:44.466536Z")])
def test_the_moment_of_a_failover_follows_from_the_seed(seed, moment):
    with FakeKube(seed=seed) as kube:
        kube.apply(config_map("a"))
        leader, _ = replica(kube, "one", []), replica(kube, "two", [])
        kube.advance(29)
        kube.kill(leader)
        kube.advance(30)
        assert kube.get(*LEASE)["spec"]["acquireTime"] == moment


def test_a_leader_that_lives_keeps_its_lease(fakekube):
    fakekube.apply(config_map("a"))
    seen = []
    replica(fakekube, "one", seen), replica(fakekube, "two", seen)
    fakekube.advance(minutes=10)
    assert {who for who, _ in seen} == {"one"}
    assert fakekube.get(*LEASE)["spec"]["leaseTransitions"] == 0


def test_a_paused_leader_writes_after_another_has_taken_over(fakekube):
    """The zombie: it was stopped between its reads and its write, longer than its lease lasts."""
    fakekube.apply(config_map("a"))
    fakekube.findings.allow("follower-write", reason="it is what this test shows")
    seen = []
    leader, _ = replica(fakekube, "one", seen, pause=5), replica(fakekube, "two", seen, pause=5)
    fakekube.advance(2)
    fakekube.faults.pause(leader)
    fakekube.advance(30)
    assert holder(fakekube) == "two"
    assert [one["metadata"]["name"].partition("-")[0] for one in fakekube.list("v1", "Secret")] == ["two"]
    fakekube.faults.resume(leader)
    with pytest.raises(LeaderElectionLost):
        fakekube.advance(20)
    names = sorted(one["metadata"]["name"].partition("-")[0] for one in fakekube.list("v1", "Secret"))
    assert names == ["one", "two"]  # written late, by a process that was the leader once
    assert holder(fakekube) == "two"


def test_a_leader_whose_renewals_fail_loses_its_lease(fakekube):
    fakekube.apply(config_map("a"))
    leader = replica(fakekube, "one", [])
    fakekube.advance(29)
    with pytest.raises(ValueError, match="the lease of 'one' is valid for another 14 s"):
        fakekube.faults.take_lease("minder")
    with fakekube.fault(resource="leases", verb="update", error=503) as rule:
        with pytest.raises(LeaderElectionLost):
            fakekube.advance(16)
        assert rule.hits > 0
    assert not leader.is_running
    fakekube.faults.take_lease("minder", holder="another")
    assert holder(fakekube) == "another"
    assert fakekube.get(*LEASE)["spec"]["leaseTransitions"] == 1


def test_a_valid_lease_is_taken_only_with_the_flag(fakekube):
    fakekube.apply(config_map("a"))
    leader = replica(fakekube, "one", [])
    fakekube.advance(29)
    fakekube.faults.take_lease("minder", unrealistic=True)
    with pytest.raises(LeaderElectionLost):
        fakekube.advance(16)
    assert not leader.is_running
