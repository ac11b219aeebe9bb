"""The manager: the order of starting and stopping."""

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any

import pytest

from controllerlib.clock import SystemClock, sleep
from controllerlib.leaderelection.leaderelection import LeaderElection, LeaderElectionOptions
from controllerlib.manager.manager import GraceExpired, LeaderElectionLost, Manager
from controllerlib.manager.routing import Route, route
from controllerlib.manager.runnablegroup import RunnableGroup, RunnableGroupStopped
from tests.controllerlib.fakeapi import FakeApi, refuse
from tests.controllerlib.handlerlog import advance
from tests.controllerlib.rig import BACKUP, Operator, acting


async def forever() -> None:
    await asyncio.get_running_loop().create_future()


def now() -> float:
    return asyncio.get_running_loop().time()


class Part:
    """A runnable that logs its start and end."""

    def __init__(
        self, log: list[str], name: str, *, group: str = "", leader: bool | None = None, warm: bool = False,
        ready_after: float | None = None, work: Callable[[], Awaitable[None]] = forever, ends_in: float = 0.0,
    ) -> None:  # fmt: skip
        self.log, self.name, self._work, self._ends_in = log, name, work, ends_in
        self.runnable_group, self.need_leader_election = group, leader
        self._ready_after = ready_after
        if warm:
            self.warmup = self._warm_up

    async def _warm_up(self) -> None:
        self.log.append(f"{self.name} warm")
        await forever()

    async def start(self) -> None:
        self.log.append(f"{self.name} start")
        try:
            await self._work()
        finally:
            if self._ends_in:
                await sleep(SystemClock(), self._ends_in)
            self.log.append(f"{self.name} end")

    async def wait_ready(self) -> None:
        if self._ready_after is not None:
            await sleep(SystemClock(), self._ready_after)


class Silent:
    async def start(self) -> None: ...


class Others(Silent):
    need_leader_election = False


class Cluster(Silent):
    runnable_group = "caches"


class Warm(Silent):
    need_leader_election = False

    async def warmup(self) -> None: ...


class WarmLeader(Warm):
    need_leader_election = True


class Http(Silent):
    runnable_group = "http"


class HttpLeader(Http):
    need_leader_election = True


@pytest.mark.parametrize(
    ("runnable", "where"),
    [
        pytest.param(forever, Route("leader_election"), id="MG-01-function"),
        pytest.param(Silent(), Route("leader_election"), id="MG-01-says-nothing"),
        pytest.param(Others(), Route("others"), id="MG-01-no-leader"),
        pytest.param(Cluster(), Route("caches"), id="MG-01-cluster"),
        pytest.param(Warm(), Route("others", warmup=True), id="MG-01-warm"),
        pytest.param(WarmLeader(), Route("leader_election", warmup=True), id="MG-01-warm-leader"),
        pytest.param(Http(), Route("http"), id="MG-01-http"),
        pytest.param(HttpLeader(), Route("leader_election"), id="MG-01-http-leader"),
    ],
)
def test_the_group_of_a_runnable(runnable: Any, where: Route) -> None:
    assert route(runnable) == where


async def test_mg_02_the_order_of_starting() -> None:
    operator, log = Operator(), list[str]()
    for part in (
        Part(log, "controller", leader=True),
        Part(log, "warm", leader=True, warm=True),
        Part(log, "other", leader=False),
        Part(log, "cache", group="caches", ready_after=1),
        Part(log, "webhook", group="webhooks", ready_after=1),
        Part(log, "http", group="http", ready_after=1),
    ):
        operator.manager.add(part)
    await operator.run(10)
    assert log == ["http start", "webhook start", "cache start", "other start", "warm warm", "controller start",
                   "warm start"]  # fmt: skip


async def test_mg_03_a_cache_that_never_syncs() -> None:
    operator, log = Operator(), list[str]()
    operator.api.faults.append(lambda asked: refuse(403, "Forbidden") if asked.path.endswith("backups") else None)
    await operator.manager.cache.get_informer(*BACKUP, block_until_synced=False)
    operator.manager.add(Part(log, "other", leader=False))
    operator.controller().for_(*BACKUP).complete(acting())
    await operator.run(60)
    assert [log, operator.notes.runs] == [[], []]
    loop, task = asyncio.get_running_loop(), operator.task
    assert task is not None
    assert not task.done()
    stopped = loop.time()
    await asyncio.wait_for(operator.stop(), 3600)
    assert [task.cancelled(), loop.time() - stopped, log, operator.notes.runs] == [True, 0.0, [], []]


async def fail() -> None:
    raise ValueError("x")


async def test_mg_04_an_exception_of_a_runnable_stops_the_manager() -> None:
    operator, log = Operator(), list[str]()
    operator.manager.add(Part(log, "other", leader=False))
    operator.manager.add(Part(log, "failing", work=fail))
    await operator.run()
    assert operator.task is not None
    with pytest.raises(ValueError, match="x"):
        await operator.task
    assert log == ["other start", "failing start", "failing end", "other end"]


async def stubborn() -> None:
    while True:
        try:
            await forever()
        except asyncio.CancelledError:
            continue


async def test_mg_05_a_failure_and_a_runnable_that_does_not_end() -> None:
    operator = Operator(graceful_shutdown_timeout=1.0)
    operator.manager.add(Part([], "stubborn", leader=False, ends_in=100))
    operator.manager.add(fail)
    with pytest.raises(
        GraceExpired, match="failed waiting for all runnables to end within grace period of 1s"
    ) as caught:
        await operator.manager.start()
    assert str(caught.value.__cause__) == "x"


async def test_mg_06_runnables_may_end_slowly() -> None:
    operator, log = Operator(), list[str]()
    for name in ("a", "b"):
        operator.manager.add(Part(log, name, leader=False, ends_in=0.1))
    await operator.run(5)
    await operator.stop()
    assert sorted(log) == ["a end", "a start", "b end", "b start"]
    assert now() == pytest.approx(5.1)


@pytest.mark.parametrize(
    ("grace", "lasts", "error"),
    [
        pytest.param(0.0, 0.0, None, id="MG-07-none"),
        pytest.param(1.0, 1.0, GraceExpired, id="MG-07-a-second"),
        pytest.param(-1.0, 100.0, None, id="MG-07-for-ever"),
    ],
)
async def test_the_graceful_shutdown_timeout(grace: float, lasts: float, error: type[Exception] | None) -> None:
    operator = Operator(graceful_shutdown_timeout=grace)
    operator.manager.add(Part([], "slow", leader=False, ends_in=100))
    await operator.run(1)
    if error:
        with pytest.raises(error, match="1s"):
            await operator.stop()
    else:
        await operator.stop()
    assert now() == pytest.approx(1 + lasts)


async def test_a_runnable_that_ignores_its_first_cancellation_is_cancelled_again_after_the_grace_period() -> None:
    operator, cancelled = Operator(graceful_shutdown_timeout=1.0), list[float]()

    async def work() -> None:
        while len(cancelled) < 2:
            try:
                await forever()
            except asyncio.CancelledError:
                cancelled.append(now())

    operator.manager.add(Part([], "slow", leader=False, work=work))
    await operator.run(1)
    with pytest.raises(GraceExpired, match="slow"):
        await operator.stop()
    assert cancelled == [pytest.approx(1.0), pytest.approx(2.0)]


async def test_mg_07_a_runnable_that_does_not_end() -> None:
    operator = Operator(graceful_shutdown_timeout=0.0)
    hanging: list[bool] = [True]

    async def hang() -> None:
        while hanging[0]:
            try:
                await sleep(SystemClock(), 50)
            except asyncio.CancelledError:
                continue

    operator.manager.add(Part([], "hanging", leader=False, work=hang))
    await operator.run(1)
    await operator.stop()
    assert now() == 1.0
    hanging[0] = False
    await advance(60)


async def test_mg_08_adding_later() -> None:
    operator, log = Operator(), list[str]()
    await operator.run()
    operator.manager.add(Part(log, "late", leader=False))
    await operator.run(1)
    assert log == ["late start"]
    await operator.stop()
    with pytest.raises(RunnableGroupStopped, match="can't accept new runnable as stop procedure is already engaged"):
        operator.manager.add(Part(log, "too late"))


async def test_mg_09_starting_twice() -> None:
    operator = await Operator().run()
    with pytest.raises(RuntimeError, match="manager already started"):
        await operator.manager.start()


async def test_mg_10_without_leader_election_it_is_elected_at_once() -> None:
    operator, log = Operator(), list[str]()
    operator.manager.add(Part(log, "controller"))
    operator.manager.elected.add_callback(lambda: log.append("elected"))
    await operator.run()
    assert sorted(log) == ["controller start", "elected"]


def electing(identity: str = "me", **options: Any) -> LeaderElection:
    return LeaderElection(LeaderElectionOptions(name="lock", namespace="default", identity=identity, **options))


LEASE = ("coordination.k8s.io/v1", "Lease")


def held_by(api: FakeApi, holder: str, **spec: Any) -> None:
    spec = {"holderIdentity": holder, "leaseDurationSeconds": 15, "leaseTransitions": 0, **spec}
    api.put(*LEASE, "lock", spec=spec)


async def test_mg_11_another_candidate_leads() -> None:
    operator, log = Operator(election=electing()), list[str]()
    held_by(operator.api, "other")
    operator.manager.add(Part(log, "other", leader=False))
    operator.manager.add(Part(log, "controller", leader=True))
    await operator.run(10)
    assert log == ["other start"]
    await operator.stop()
    assert log == ["other start", "other end"]
    assert operator.api.requests("put") == []


async def test_mg_12_the_leader_ends_last() -> None:
    operator, log = Operator(election=electing()), list[str]()
    operator.manager.add(Part(log, "controller", leader=True, ends_in=5))
    await operator.run(10)
    renewals = len(operator.api.requests("put"))
    await operator.stop()
    assert log == ["controller start", "controller end"]
    assert len(operator.api.requests("put")) > renewals, "it went on renewing while the controller ended"


async def test_mg_13_a_lost_lease_stops_the_manager_at_once() -> None:
    operator, log = Operator(election=electing()), list[str]()
    operator.manager.add(Part(log, "controller", leader=True, ends_in=20))
    await operator.run(10)
    operator.api.faults.append(lambda asked: refuse(500, "InternalError") if "leases" in asked.path else None)
    assert operator.task is not None
    with pytest.raises(LeaderElectionLost, match="leader election lost"):
        await operator.task
    assert now() == pytest.approx(22.0), "last renewed at 10, tried from 12 on for ten seconds"


async def test_mg_14_releasing() -> None:
    operator = Operator(election=electing(release_on_cancel=True))
    await operator.run(10)
    await operator.stop()
    assert operator.api.objects["/apis/coordination.k8s.io/v1/leases/default/lock"]["spec"]["holderIdentity"] == ""


async def test_mg_15_warming_up_before_leading() -> None:
    operator, log = Operator(election=electing()), list[str]()
    held_by(operator.api, "other")
    operator.manager.add(Part(log, "warm", leader=True, warm=True))
    await operator.run(5)
    assert log == ["warm warm"]

    class Failing:
        need_leader_election = True
        start = staticmethod(forever)
        warmup = staticmethod(fail)

    failing = Operator(election=electing())
    held_by(failing.api, "other")
    failing.manager.add(Failing())
    with pytest.raises(ValueError, match="x"):
        await failing.manager.start()


async def test_mg_16_no_checks_after_the_start() -> None:
    operator = Operator()
    operator.manager.add_healthz_check("ping", lambda: None)
    operator.manager.add_readyz_check("ping", lambda: None)
    assert list(operator.manager.checks("healthz")) == ["ping"]
    await operator.run()
    for add in (operator.manager.add_healthz_check, operator.manager.add_readyz_check):
        with pytest.raises(RuntimeError, match="already been started"):
            add("late", lambda: None)


async def test_mg_17_a_cancellation_is_not_a_failure() -> None:
    operator = Operator()

    async def wrapped() -> None:
        try:
            await forever()
        except asyncio.CancelledError:
            raise RuntimeError("context cancelled") from None

    operator.manager.add(wrapped)
    await operator.run(1)
    await operator.stop()


async def test_mg_18_one_controller_twice() -> None:
    operator = Operator()
    controller = operator.controller().for_(*BACKUP).complete(acting())
    operator.manager.add(controller)
    with pytest.raises(RuntimeError, match="started more than once"):
        await operator.manager.start()


async def test_mg_19_a_group_is_ready_with_its_last_member() -> None:
    group = RunnableGroup("test", lambda error: None)
    for seconds in (1.0, 3.0, 2.0):
        part = Part([], "part", ready_after=seconds)
        group.add(part.start, part.wait_ready)
    await group.start()
    assert now() == 3.0
    await group.stop()


async def test_mg_20_adding_while_a_group_starts() -> None:
    group, log = RunnableGroup("test", lambda error: None), list[str]()
    group.add(Part(log, "slow").start, lambda: sleep(SystemClock(), 5))
    starting = asyncio.create_task(group.start())
    for number in range(20):
        group.add(Part(log, f"p{number}").start)
        await advance(0.1)
    await starting
    assert sorted(log) == sorted(["slow start", *(f"p{number} start" for number in range(20))])
    await group.stop()
    await group.start()
    assert len([line for line in log if line.endswith("start")]) == 21


BASE: ContextVar[str] = ContextVar("base", default="")


async def test_mg_21_runnables_inherit_the_context_of_start() -> None:
    operator, seen = Operator(), list[str]()

    async def look() -> None:
        seen.append(BASE.get())

    operator.manager.add(look)
    BASE.set("from the caller")
    await operator.run()
    assert seen == ["from the caller"]


async def test_mg_22_invalid_durations() -> None:
    operator = Operator(election=electing(lease_duration=15.0, renew_deadline=15.0))
    with pytest.raises(ValueError, match="leaseDuration must be greater than renewDeadline"):
        await operator.manager.start()


async def test_a_client_or_a_transport_is_accepted() -> None:
    from controllerlib.client.client import Client

    api = FakeApi()
    assert Manager(Client(api, user_agent="x")).api_reader.user_agent == "controllerlib"
    manager = Manager(api)
    manager.controller().for_(*BACKUP).complete(acting())
    task = asyncio.create_task(manager.start())
    await manager.wait_started()
    assert repr(manager) == "<Manager backup>"
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_second_cancellation_does_not_wait() -> None:
    operator = Operator()
    operator.manager.add(Part([], "slow", leader=False, ends_in=20))
    await operator.run(1)
    assert operator.task is not None
    operator.task.cancel()
    await advance(1)
    operator.task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await operator.task
    assert now() == 2.0
