"""The whole stack: leader election, and the shutdown of an operator."""

import asyncio
from typing import Any

import pytest

from controllerlib.controller import current_run
from controllerlib.leaderelection.leaderelection import LeaderElection, LeaderElectionOptions
from controllerlib.manager.manager import GraceExpired
from fakekube import FakeKube
from fakekube.harness.engine import engine_of
from fakekube.harness.operators.operator import Operator
from tests.controllerlib.things import THINGS, create_things, elapse, resize, things_operator

LEASE = ("coordination.k8s.io/v1", "Lease", "operator")


def electing(identity: str, **options: Any) -> LeaderElection:
    return LeaderElection(
        LeaderElectionOptions(name=LEASE[2], namespace="default", identity=identity, **options)
    )  # fmt: skip


# --- more than one ---------------------------------------------------------------------------------------------------


def test_e2e_18_two_controllers_of_one_kind(fakekube: FakeKube) -> None:
    priorities: dict[str, list[int]] = {"first": [], "second": []}

    async def reconcile(request: Any) -> None:
        run = current_run()
        assert run is not None
        priorities[run.controller].append(run.priority)

    async def add_second() -> None:
        things_operator(reconcile, name="second")(operator.manager)

    create_things(fakekube, "a", "b")
    operator = fakekube.start(things_operator(reconcile, name="first"))
    fakekube.advance(minutes=1)
    resize(fakekube, "b", 2)
    fakekube.settle()
    fakekube.task(add_second())
    fakekube.settle()
    assert operator["first"].causes() == ["added", "added", "updated"]
    assert operator["second"].keys() == ["default/a", "default/b"]
    assert operator["second"].causes() == ["added", "added"], "its replay is an initial list"
    assert priorities == {"first": [-100, -100, 0], "second": [-100, -100]}
    assert len(operator.manager.cache.informers.all()) == 1
    assert len(fakekube.requests(verb="watch", resource=THINGS)) == 1


@pytest.mark.parametrize("seed", [pytest.param(seed, id=f"E2E-19-crash-seed-{seed}") for seed in range(5)])
def test_a_leader_that_crashes(seed: int) -> None:
    with FakeKube(seed=seed, detect={"all": "off"}) as kube:
        leader, standby = _two(kube, release_on_cancel=False)
        kube.stop(leader)
        renewed = _renewed(kube)
        assert 98 <= renewed <= 100.5
        kube.advance(seconds=renewed + 15 - kube.clock.monotonic() - 0.001)
        assert standby.reconciles() == 0
        kube.advance_until(lambda: standby.reconciles(), timeout=10)
        assert renewed + 15 <= kube.clock.monotonic() <= renewed + 23.8
        kube.settle()
        assert standby.causes() == ["added"] * 3, "it reconciles every object, once"


@pytest.mark.parametrize("seed", [pytest.param(seed, id=f"E2E-19-release-seed-{seed}") for seed in range(5)])
def test_a_leader_that_stops(seed: int) -> None:
    with FakeKube(seed=seed, detect={"all": "off"}) as kube:
        leader, standby = _two(kube, release_on_cancel=True)
        kube.stop(leader)
        assert kube.get(*LEASE)["spec"]["holderIdentity"] == ""
        stopped = kube.clock.monotonic()
        kube.advance_until(lambda: standby.reconciles(), timeout=10)
        assert kube.clock.monotonic() <= stopped + 4.4
        assert kube.get(*LEASE)["spec"]["holderIdentity"] == "standby"
        kube.settle()
        assert standby.causes() == ["added"] * 3


def _two(kube: FakeKube, **options: Any) -> tuple[Operator, Any]:
    """Start an operator that leads and one that waits; return them after 100 s."""
    create_things(kube, "a", "b", "c")
    leader = kube.start(things_operator(), election=electing("leader", **options))
    kube.advance(seconds=3)
    standby = kube.start(things_operator(name="standby"), election=electing("standby", **options))
    kube.advance(seconds=97.5)
    assert (leader["minder"].reconciles(), standby["standby"].reconciles()) == (3, 0)
    return leader, standby["standby"]


def _renewed(kube: FakeKube) -> float:
    """Return the time of the last renewal."""
    moment, _ = kube.state.versions(*LEASE)[-1]
    return (moment - kube.clock.epoch).total_seconds()


def test_e2e_20_a_standby_that_is_warm(fakekube: FakeKube) -> None:
    create_things(fakekube, "a", "b")
    leader = fakekube.start(things_operator(name="leader"), election=electing("leader", release_on_cancel=True))
    fakekube.advance(seconds=3)
    before = len(fakekube.requests(verb="watch", resource=THINGS))
    standby = fakekube.start(things_operator(name="standby", enable_warmup=True), election=electing("standby"))
    fakekube.advance(seconds=10)
    assert len(fakekube.requests(verb="watch", resource=THINGS)) == before + 1
    assert (standby["standby"].reconciles(), standby["standby"].ready) == (0, ["default/a", "default/b"])
    fakekube.stop(leader)
    fakekube.advance(seconds=5)
    assert standby["standby"].causes() == ["added", "added"]
    assert len(fakekube.requests(verb="watch", resource=THINGS)) == before + 1, "without a new list"
    assert fakekube.requests(verb="list", resource=THINGS) == []


def test_e2e_20_a_standby_that_is_not_warm(fakekube: FakeKube) -> None:
    create_things(fakekube, "a")
    fakekube.start(things_operator(name="leader"), election=electing("leader"))
    fakekube.advance(seconds=3)
    before = len(fakekube.requests(verb="watch", resource=THINGS))
    fakekube.start(things_operator(name="standby"), election=electing("standby"))
    fakekube.advance(seconds=10)
    assert len(fakekube.requests(verb="watch", resource=THINGS)) == before


# --- the end -----------------------------------------------------------------------------------------------------------


def _ending(kube: FakeKube, seconds: float) -> tuple["asyncio.Task[None]", list[float], list[float]]:
    """Start a manager whose reconcile takes some time; return when the reconcile was notified and when `start`
    returned.
    """
    known: list[float] = []
    ended: list[float] = []

    async def reconcile(request: Any) -> None:
        run = current_run()
        assert run is not None
        run.stopping.add_callback(lambda: known.append(kube.clock.monotonic()))
        await elapse(seconds)

    async def start() -> None:
        try:
            await operator.manager.start()
        finally:
            ended.append(kube.clock.monotonic())

    create_things(kube, "a")
    operator = engine_of(kube).operators.make(things_operator(reconcile))
    task = kube.task(start())
    kube.settle()
    return task, known, ended


def test_e2e_21_a_run_that_ends_in_time(fakekube: FakeKube) -> None:
    task, known, ended = _ending(fakekube, 10)
    task.cancel()
    fakekube.advance(seconds=9.999)
    assert (known, ended) == ([0], [])
    fakekube.advance(seconds=0.001)
    assert ended == [10]
    assert [run.label for run in fakekube.ledger.reconciles("minder")] == ["success"]


def test_e2e_21_a_run_that_does_not(fakekube: FakeKube) -> None:
    task, known, ended = _ending(fakekube, 60)
    task.cancel()
    fakekube.advance(seconds=29.999)
    assert (known, ended) == ([0], [])
    with pytest.raises(GraceExpired, match="grace period of 30s"):
        fakekube.advance(seconds=0.001)
    assert ended == [30]
