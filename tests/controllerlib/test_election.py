"""Leader election: who leads, how long, and how the next leader is elected."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controllerlib.client.client import Client
from controllerlib.client.errors import ApiError
from controllerlib.client.transport import Transport
from controllerlib.clock import SystemClock, Timer, sleep
from controllerlib.leaderelection import leaderelection
from controllerlib.leaderelection.elector import LeaderCallbacks, LeaderElector, LeaderHealthz
from controllerlib.leaderelection.leaderelection import LeaderElection, LeaderElectionOptions
from controllerlib.leaderelection.leaselock import LeaseLock, new_lock
from controllerlib.leaderelection.leaserecord import LeaseRecord, LeaseState, check_durations
from controllerlib.metrics.registry import Registry
from controllerlib.random import FixedRandom, Random, SeededRandom
from controllerlib.record.corev1 import CoreFakeRecorder
from fakekube.virtualtime import VirtualTimeLoop
from tests.controllerlib.fakeapi import Answer, Asked, FakeApi, refuse
from tests.controllerlib.handlerlog import advance
from tests.controllerlib.rig import Operator

LEASE = ("coordination.k8s.io/v1", "Lease")
STORED = "/apis/coordination.k8s.io/v1/leases/default/lock"


def now() -> float:
    return asyncio.get_running_loop().time()


async def forever() -> None:
    await asyncio.get_running_loop().create_future()


class Candidate:
    """An elector with a log of its callbacks."""

    def __init__(
        self, api: Transport, identity: str = "me", *, random: Random | None = None,
        work: Callable[[], Awaitable[None]] = forever, labels: Mapping[str, str] | None = None,
        recorder: CoreFakeRecorder | None = None, lock_timeout: float | None = None, **options: Any,
    ) -> None:  # fmt: skip
        self.log: list[tuple[float, str]] = []
        self._work = work
        client = Client(api, user_agent=identity)
        clock = options.pop("clock", None) or asyncio.get_running_loop().clock  # type: ignore[attr-defined]
        lock = LeaseLock(
            client, "lock", "default", labels=labels, recorder=recorder, timeout=lock_timeout, clock=clock,
        )  # fmt: skip
        callbacks = LeaderCallbacks(self._lead, lambda: self._note("stopped"), lambda who: self._note(f"sees {who}"))
        self.elector = LeaderElector(
            lock, identity, callbacks, name="lock", clock=clock, random=random or FixedRandom(), **options
        )
        self.leads = False
        self.task: asyncio.Task[None] | None = None

    def _note(self, text: str) -> None:
        self.log.append((round(now(), 6), text))

    async def _lead(self) -> None:
        self._note("leads")
        self.leads = True
        try:
            await self._work()
        finally:
            self.leads = False
            self._note("ends")

    async def run(self, seconds: float = 0.0) -> "Candidate":
        if self.task is None:
            self.task = asyncio.create_task(self.elector.run(), name=self.elector.state.identity)
        await advance(seconds)
        return self

    async def stop(self) -> None:
        assert self.task is not None
        self.task.cancel()
        await asyncio.wait([self.task])

    def at(self, text: str) -> list[float]:
        return [at for at, what in self.log if what == text]

    def said(self) -> list[str]:
        return [what for _, what in self.log]


def spec(api: FakeApi) -> dict[str, Any]:
    found: dict[str, Any] = api.objects[STORED]["spec"]
    return found


def held(api: FakeApi, holder: str, **changes: Any) -> None:
    """Write the lease as another client."""
    old = api.objects.get(STORED, {}).get("spec", {"leaseDurationSeconds": 10, "leaseTransitions": 3})
    api.put(*LEASE, "lock", spec={**old, "holderIdentity": holder, **changes})


def verbs(api: FakeApi, since: float = 0.0, user: str = "") -> list[str]:
    names = {"post": "create", "put": "update"}
    return [names.get(asked.verb, asked.verb) for asked in api.asked
            if "/leases" in asked.path and asked.at >= since and user in ("", asked.user_agent)]  # fmt: skip


def times(api: FakeApi, verb: str, user: str = "me") -> list[float]:
    return [asked.at for asked in api.asked if asked.verb == verb and "/leases" in asked.path
            and asked.user_agent == user]  # fmt: skip


def failing(api: FakeApi, *, code: int = 500, verb: str = "", user: str = "me", times: int | None = None) -> None:
    """Fail further lease requests of `user`."""
    left = [times]

    def fault(asked: Asked) -> Answer | None:
        if "/leases" not in asked.path or verb not in ("", asked.verb) or user != asked.user_agent:
            return None
        if left[0] is not None:
            if left[0] == 0:
                return None
            left[0] -= 1
        reason = {409: "Conflict", 500: "InternalError", 403: "Forbidden"}[code]
        return refuse(code, reason)

    api.faults.append(fault)


async def test_le_01_no_lease_yet() -> None:
    api = FakeApi()
    me = await Candidate(api).run()
    assert verbs(api)[:2] == ["get", "create"]
    assert me.elector.is_leader()
    assert me.elector.leader == "me"
    assert me.said() == ["sees me", "leads"]
    wall = "2026-01-01T00:00:00.000000Z"
    assert spec(api) == {
        "holderIdentity": "me", "leaseDurationSeconds": 15, "leaseTransitions": 0, "acquireTime": wall,
        "renewTime": wall,
    }  # fmt: skip


async def test_le_02_renewing_without_a_read() -> None:
    api = FakeApi()
    await Candidate(api).run(5)
    assert verbs(api) == ["get", "create", "update", "update", "update"]
    assert times(api, "put") == [0.0, 2.0, 4.0]
    assert spec(api)["acquireTime"] == "2026-01-01T00:00:00.000000Z"
    assert spec(api)["renewTime"] == "2026-01-01T00:00:04.000000Z"


async def test_le_03_a_conflict_is_resolved_within_the_same_attempt() -> None:
    api = FakeApi()
    me = await Candidate(api).run(1)
    held(api, "me")
    api.objects[STORED]["metadata"]["labels"] = {"touched": "yes"}
    await me.run(4)
    assert verbs(api) == ["get", "create", "update", "update", "get", "update", "update"]
    assert times(api, "put") == [0.0, 2.0, 2.0, 4.0]
    assert me.leads


@pytest.mark.parametrize("later", [9.9, 10.0])
async def test_le_04_a_lease_expires_after_its_own_duration(later: float) -> None:
    state = LeaseState("me", 15)
    state.read(LeaseRecord("other", 10, "then", "then", 3), 100.0)
    assert state.may_take(100 + later) is (later == 10.0)
    assert state.claim("now") == LeaseRecord("me", 15, "now", "now", 4)


async def test_le_04_acquiring_an_expired_lease() -> None:
    api = FakeApi()
    held(api, "other")
    me = await Candidate(api, retry_period=1.0, lease_duration=15.0).run(12)
    assert times(api, "get") == [float(second) for second in range(11)], "the try at 9 failed, that at 10 did not"
    assert me.at("leads") == [10.0]
    assert spec(api)["leaseTransitions"] == 4


async def test_le_05_a_lease_without_a_holder() -> None:
    api = FakeApi()
    held(api, "")
    me = await Candidate(api).run()
    assert me.at("leads") == [0.0]
    assert [spec(api)["holderIdentity"], spec(api)["leaseTransitions"]] == ["me", 4]


async def test_le_06_my_own_lease_after_a_restart() -> None:
    api = FakeApi()
    held(api, "me", acquireTime="2020-01-01T00:00:00.000000Z", renewTime="2020-01-01T00:00:00.000000Z")
    me = await Candidate(api).run()
    assert me.at("leads") == [0.0]
    assert [spec(api)["leaseTransitions"], spec(api)["acquireTime"]] == [3, "2020-01-01T00:00:00.000000Z"]
    assert spec(api)["renewTime"] == "2026-01-01T00:00:00.000000Z"


@pytest.mark.parametrize("renewed", ["1999-01-01T00:00:00.0000{:02}Z"], ids=["LE-07-renewed-by-an-old-clock"])
async def test_a_lease_that_is_renewed_is_not_acquired(renewed: str) -> None:
    api = FakeApi()
    held(api, "other")
    me = await Candidate(api).run()
    for second in range(60):
        held(api, "other", renewTime=renewed.format(second))
        await me.run(2)
    assert me.said() == ["sees other"]
    assert verbs(api).count("update") == 0


@pytest.mark.parametrize(
    "renewed",
    [
        pytest.param("2026-01-01T01:00:00.000000Z", id="LE-08-an-hour-ahead"),
        pytest.param("2025-12-31T23:00:00.000000Z", id="LE-08-an-hour-behind"),
        pytest.param("2026-01-01T00:00:00.000000Z", id="LE-08-the-same"),
    ],
)
async def test_timestamps_of_another_clock_have_no_influence(renewed: str) -> None:
    api = FakeApi()
    held(api, "other", acquireTime=renewed, renewTime=renewed)
    me = await Candidate(api, retry_period=1.0).run(12)
    assert me.at("leads") == [10.0]


@pytest.mark.parametrize(
    ("fraction", "gap"),
    [
        pytest.param(0.0, 2.0, id="LE-09-soonest"),
        pytest.param(0.5, 3.2, id="LE-09-middle"),
        pytest.param(1 - 1e-9, 4.4, id="LE-09-latest"),
    ],
)
async def test_the_retry_period_of_a_candidate(fraction: float, gap: float) -> None:
    api = FakeApi()
    held(api, "other", leaseDurationSeconds=3600)
    await Candidate(api, random=FixedRandom(fraction)).run(30)
    asked = times(api, "get")
    assert len(asked) > 5
    assert [later - earlier for earlier, later in pairwise(asked)] == pytest.approx([gap] * (len(asked) - 1), abs=1e-6)


async def test_le_10_a_leader_that_cannot_renew() -> None:
    api = FakeApi()
    me = await Candidate(api).run(99)
    failing(api)
    other = await Candidate(api, "other", retry_period=1.0).run()
    await advance(20)
    assert [at for at in times(api, "put") if at > 99] == [100.0, 102.0, 104.0, 106.0, 108.0]
    assert me.at("ends") == me.at("stopped") == [110.0]
    assert me.task is not None
    assert me.task.done()
    # it observed the record of 98 at 99, so it expires at 114
    assert other.at("leads") == [114.0]
    assert spec(api)["leaseTransitions"] == 1


class StoppedClock:
    """The clock of a process that was stopped for a while: it jumps when the process goes on."""

    def __init__(self) -> None:
        self._clock = asyncio.get_running_loop().clock  # type: ignore[attr-defined]
        self.stopped = 0.0

    def monotonic(self) -> float:
        return float(self._clock.monotonic()) + self.stopped

    def now(self) -> datetime:
        moment: datetime = self._clock.now()
        return moment + timedelta(seconds=self.stopped)

    def call_at(self, deadline: float, callback: Callable[[], None]) -> Timer:
        timer: Timer = self._clock.call_at(deadline - self.stopped, callback)
        return timer

    async def sleep_until(self, deadline: float) -> None:
        await self._clock.sleep_until(deadline - self.stopped)


@pytest.mark.parametrize(
    ("stopped", "requests"),
    [
        pytest.param(0.0, ["update"], id="not-at-all"),
        pytest.param(12.999, ["update"], id="the-lease-is-valid"),
        pytest.param(13.0, ["get", "update"], id="the-lease-expires"),
        pytest.param(60.0, ["get", "update"], id="the-lease-has-expired"),
    ],
)
async def test_code_1_a_leader_that_was_stopped_reads_an_expired_lease_before_it_renews(
    stopped: float, requests: list[str]
) -> None:
    """Another candidate may have taken it (client-go: `tryAcquireOrRenew`). The lease lasts 15 s, a renewal is due each 2."""
    api = FakeApi()
    clock = StoppedClock()
    me = await Candidate(api, clock=clock).run(9)
    clock.stopped = stopped
    await advance(1.5)
    assert verbs(api, since=9.5) == requests
    assert me.leads


async def test_le_10_another_one_can_win_15_seconds_after_the_last_renewal() -> None:
    api = FakeApi()
    await Candidate(api).run(97)
    other = await Candidate(api, "other", retry_period=1.0).run(2)
    failing(api)
    await advance(20)
    assert other.at("leads") == [113.0]


@pytest.mark.parametrize(
    ("release", "wins_at"),
    [pytest.param(False, 36.0, id="LE-11-without-release"), pytest.param(True, 22.0, id="LE-11-with-release")],
)
async def test_the_delay_until_the_next_leader(release: bool, wins_at: float) -> None:
    api = FakeApi()
    me = await Candidate(api, release_on_cancel=release).run(10)
    other = await Candidate(api, "other").run(11)
    await me.stop()
    await advance(30)
    assert other.at("leads") == [wins_at], "me renewed last at 20, which other saw then or at 21"


async def test_le_11_a_released_lease_is_acquired_within_one_retry_period() -> None:
    api = FakeApi()
    me = await Candidate(api, release_on_cancel=True).run(10)
    other = await Candidate(api, "other", random=FixedRandom(1 - 1e-9)).run(0.1)
    await me.stop()
    await advance(4.4)
    assert other.leads


async def test_le_12_the_record_of_a_released_lease() -> None:
    api = FakeApi()
    held(api, "")
    me = await Candidate(api, release_on_cancel=True).run(10)
    await me.stop()
    wall = "2026-01-01T00:00:10.000000Z"
    assert spec(api) == {
        "holderIdentity": "", "leaseDurationSeconds": 1, "leaseTransitions": 4, "acquireTime": wall, "renewTime": wall,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("conflicts", "done_at"),
    [pytest.param(1, 9.0, id="LE-13-at-once"), pytest.param(3, 9.02, id="LE-13-then-every-10-ms")],
)
async def test_a_release_that_conflicts_is_repeated(conflicts: int, done_at: float) -> None:
    api = FakeApi()
    me = await Candidate(api, release_on_cancel=True).run(9)
    before = len(verbs(api))
    failing(api, code=409, verb="put", times=conflicts)
    await me.stop()
    assert verbs(api)[before:] == ["get", "update"] * (conflicts + 1)
    assert spec(api)["holderIdentity"] == ""
    assert now() == pytest.approx(done_at)


async def test_le_13_a_release_that_always_conflicts_ends_with_the_renew_deadline() -> None:
    api = FakeApi()
    me = await Candidate(api, release_on_cancel=True).run(9)
    failing(api, code=409, verb="put")
    await me.stop()
    assert now() == pytest.approx(19.0)
    assert me.said()[-1] == "stopped"


@pytest.mark.parametrize(
    ("verb", "code", "reason", "level"),
    [
        ("get", 403, "Forbidden", "WARNING"),
        ("get", 503, "ServiceUnavailable", "WARNING"),
        ("post", 404, "NotFound", "WARNING"),
        ("post", 403, "Forbidden", "WARNING"),
        ("post", 409, "AlreadyExists", "INFO"),
        ("put", 409, "Conflict", "INFO"),
        ("put", 500, "InternalError", "WARNING"),
    ],
)
async def test_an_attempt_that_fails_is_logged_with_its_reason(
    verb: str, code: int, reason: str, level: str, caplog: pytest.LogCaptureFixture
) -> None:
    """client-go logs each as an error, also that another candidate was faster."""
    api = FakeApi()
    if verb == "put":
        held(api, "")
    api.faults.append(lambda asked: refuse(code, reason) if asked.verb == verb and "/leases" in asked.path else None)
    caplog.set_level(logging.INFO, "controllerlib.leaderelection.elector")
    candidate = await Candidate(api).run(1)
    await candidate.stop()
    said = [(one.levelname, one.message) for one in caplog.records if one.message.startswith("failed to acquire")]
    assert said == [(level, f"failed to acquire or renew lease default/lock: {ApiError(code, reason, reason)!r}")]


async def test_le_13_nothing_left_to_release(caplog: pytest.LogCaptureFixture) -> None:
    api = FakeApi()
    me = await Candidate(api, release_on_cancel=True).run(9)
    api.remove(*LEASE, "lock")
    await me.stop()
    assert [record.message for record in caplog.records if record.levelname == "ERROR"] == [
        "failed to release the lease"
    ]
    assert me.task is not None
    assert me.task.cancelled()
    assert STORED not in api.objects


async def test_le_14_cancelled_before_ever_leading() -> None:
    api = FakeApi()
    held(api, "other")
    me = await Candidate(api, release_on_cancel=True).run(5)
    await me.stop()
    assert me.said() == ["sees other", "stopped"]
    assert spec(api)["holderIdentity"] == "other"


async def test_le_15_new_leaders_are_reported() -> None:
    api = FakeApi()
    held(api, "A")
    me = await Candidate(api, "me").run(20)
    assert [what for what in me.said() if what.startswith("sees")] == ["sees A", "sees me"]


DURATIONS = [
    pytest.param((15, 15, 2), "leaseDuration must be greater than renewDeadline", id="LE-16-lease-not-longer"),
    pytest.param((15, 2, 2), "renewDeadline must be greater than retryPeriod*JitterFactor", id="LE-16-renew-short"),
    pytest.param((15, 2.4, 2), "renewDeadline must be greater than retryPeriod*JitterFactor", id="LE-16-renew-equal"),
    pytest.param((0, -1, -2), "leaseDuration must be greater than zero", id="LE-16-no-lease"),
    pytest.param((1, 0, -1), "renewDeadline must be greater than zero", id="LE-16-no-deadline"),
    pytest.param((2, 1, 0), "retryPeriod must be greater than zero", id="LE-16-no-period"),
]


@pytest.mark.parametrize(("durations", "message"), DURATIONS)
def test_invalid_durations(durations: tuple[float, float, float], message: str) -> None:
    with pytest.raises(ValueError) as caught:
        check_durations(*durations)
    assert str(caught.value) == message


async def nothing() -> None: ...


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        pytest.param({"identity": ""}, "Lock identity is empty", id="LE-16-no-identity"),
        pytest.param({"lock": None}, "Lock must not be nil.", id="LE-16-no-lock"),
        pytest.param(
            {"callbacks": LeaderCallbacks(None, lambda: None)}, "OnStartedLeading callback must not be nil",
            id="LE-16-no-start",
        ),
        pytest.param(
            {"callbacks": LeaderCallbacks(nothing, None)}, "OnStoppedLeading callback must not be nil",
            id="LE-16-no-stop",
        ),
        pytest.param({"renew_deadline": 15.0}, "leaseDuration must be greater than renewDeadline", id="LE-16-durations"),
    ],
)  # fmt: skip
def test_required_arguments_of_an_elector(changes: dict[str, Any], message: str) -> None:
    lock = LeaseLock(Client(FakeApi()), "lock", "default")
    needed: dict[str, Any] = {"lock": lock, "identity": "me", "callbacks": LeaderCallbacks(nothing, lambda: None)}
    LeaderElector(**needed, lease_duration=15, renew_deadline=10, retry_period=2)
    with pytest.raises(ValueError) as caught:
        LeaderElector(**{**needed, **changes})
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("later", "healthy"),
    [
        pytest.param(61.0, True, id="LE-17-just-run-out"),
        pytest.param(80.0, True, id="LE-17-tolerated"),
        pytest.param(80.001, False, id="LE-17-no-longer"),
    ],
)
def test_health_of_a_leader(later: float, healthy: bool) -> None:
    state = LeaseState("me", 60)
    state.wrote(state.first("now"), 0.0)
    assert state.health(later, 60, 20) is healthy
    state.read(LeaseRecord("other", 60), 0.0)
    assert state.health(later, 60, 20), "who does not lead is healthy"


async def test_le_17_a_health_check_before_and_after_there_is_an_elector() -> None:
    check = LeaderHealthz(20.0)
    check()
    api = FakeApi()
    stuck = asyncio.get_running_loop().create_future()
    me = Candidate(api, watch_dog=check, lease_duration=60.0, renew_deadline=59.0)
    await me.run(2)
    original = api.request

    async def hang(*args: Any, **options: Any) -> Answer:
        await stuck
        return await original(*args, **options)

    api.request = hang  # type: ignore[method-assign]
    me.elector._renew_deadline = 1000.0  # disables the deadline, so that renewing blocks
    await me.run(80)
    check()
    await me.run(0.1)
    with pytest.raises(RuntimeError, match="failed election to renew leadership on lease lock"):
        check()
    assert [check.name, me.elector.is_leader()] == ["leaderElection", True]


class Wire:
    """A connection with delays in both directions and with outages."""

    def __init__(self, api: FakeApi, delays: Sequence[float], cuts: Sequence[tuple[float, float]] = ()) -> None:
        self._api, self._delays, self._cuts, self._turn = api, delays, cuts, 0

    async def request(self, method: str, path: str, **options: Any) -> Answer:
        await self._travel()
        answer = await self._api.request(method, path, **options)
        await self._travel()
        return answer

    async def open_watch(self, path: str, **options: Any) -> Answer:
        return await self._api.open_watch(path, **options)

    async def aclose(self) -> None: ...

    async def _travel(self) -> None:
        self._turn += 1
        await sleep(SystemClock(), self._delays[self._turn % len(self._delays)])
        if any(start <= now() < end for start, end in self._cuts):
            raise ConnectionResetError("cut")


some_delays = st.lists(st.floats(0, 0.7), min_size=1, max_size=7)
some_cuts = st.lists(st.tuples(st.floats(0, 100), st.floats(1, 40)).map(lambda cut: (cut[0], sum(cut))), max_size=3)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(some_delays, some_delays, some_cuts, some_cuts, st.booleans(), st.floats(0, 0.999))
def test_le_18_never_two_leaders(
    my_delays: list[float], your_delays: list[float], my_cuts: list[tuple[float, float]],
    your_cuts: list[tuple[float, float]], release: bool, fraction: float,
) -> None:  # fmt: skip
    """#: Answers must take less than lease - renew - retry: 15 - 10 - 2 seconds; here 1.4."""

    async def main() -> None:
        api = FakeApi()
        spans: list[tuple[float, float, str]] = []

        def candidate(name: str, delays: list[float], cuts: list[tuple[float, float]]) -> Candidate:
            async def work() -> None:
                began = now()
                try:
                    await forever()
                finally:
                    spans.append((began, now(), name))

            return Candidate(Wire(api, delays, cuts), name, work=work, release_on_cancel=release,
                             random=FixedRandom(fraction))  # fmt: skip

        async def again_and_again(name: str, delays: list[float], cuts: list[tuple[float, float]]) -> None:
            while True:  # a candidate that lost the lease starts again
                await candidate(name, delays, cuts).elector.run()

        tasks = [asyncio.create_task(again_and_again("a", my_delays, my_cuts)),
                 asyncio.create_task(again_and_again("b", your_delays, your_cuts))]  # fmt: skip
        await advance(150)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        assert spans
        for (_, end, one), (begin, _, other) in pairwise(sorted(spans)):
            assert end <= begin, f"{other} led from {begin} on, {one} until {end}"

    loop = VirtualTimeLoop()
    try:
        loop.run_until_complete(main())
    finally:
        loop.close()


@pytest.mark.parametrize("code", [pytest.param(500, id="LE-19-internal"), pytest.param(403, id="LE-19-forbidden")])
async def test_a_failing_get_fails_the_attempt(code: int) -> None:
    api = FakeApi()
    failing(api, code=code, verb="get", times=2)
    me = await Candidate(api, random=FixedRandom(0.5)).run(10)
    assert times(api, "get") == pytest.approx([0.0, 3.2, 6.4])
    assert times(api, "post") == pytest.approx([6.4])
    assert me.at("leads") == pytest.approx([6.4])


async def test_le_19_a_connection_error_fails_the_attempt() -> None:
    api = FakeApi()
    me = Candidate(api)
    api.down = True
    await me.run(3)
    api.down = False
    await me.run(3)
    assert me.at("leads") == [4.0]


async def test_le_20_two_create_at_once() -> None:
    api = FakeApi()
    first = Candidate(Wire(api, [0.1]), "first")
    second = Candidate(Wire(api, [0.1]), "second")
    await first.run()
    await second.run(1)
    assert verbs(api)[:4] == ["get", "get", "create", "create"]
    assert [first.leads, second.leads] == [True, False]
    assert first.task is not None
    first.task.cancel()  # without a release
    await advance(30)
    seen = min(at for at in times(api, "get", "second") if at > 0.5)
    assert second.at("leads")[0] >= seen + 15
    assert spec(api)["leaseTransitions"] == 1


async def test_le_21_events_on_the_lease() -> None:
    api, recorder = FakeApi(), CoreFakeRecorder(include_object=True)
    me = await Candidate(api, recorder=recorder).run(3)
    await me.stop()
    assert recorder.events.drain() == [
        f"Normal LeaderElection me {what} involvedObject{{kind=Lease,apiVersion=coordination.k8s.io/v1}}"
        for what in ("became leader", "stopped leading")
    ]


async def test_le_21_a_managers_election_writes_events() -> None:
    operator = Operator(
        election=LeaderElection(LeaderElectionOptions("lock", "default", identity="me", release_on_cancel=True))
    )
    await operator.run(1)
    await operator.stop()
    written = [obj for path, obj in operator.api.objects.items() if "/events/" in path]
    assert [(event["message"], event["reason"], event["type"]) for event in written] == [
        ("me became leader", "LeaderElection", "Normal"), ("me stopped leading", "LeaderElection", "Normal"),
    ]  # fmt: skip
    about = written[0]["involvedObject"]
    assert [about["kind"], about["namespace"], about["name"]] == ["Lease", "default", "lock"]
    assert written[0]["source"] == {"component": "me"}


async def test_le_22_labels_of_the_lock() -> None:
    api = FakeApi()
    me = await Candidate(api, labels={"team": "a"}).run()
    assert api.objects[STORED]["metadata"]["labels"] == {"team": "a"}
    await me.stop()
    api.put(*LEASE, "lock", metadata={"labels": {"team": "a", "foreign": "yes"}})
    other = await Candidate(api, "other", labels={"team": "b", "mine": "1"}).run(20)
    assert other.leads
    assert api.objects[STORED]["metadata"]["labels"] == {"team": "b", "mine": "1", "foreign": "yes"}


async def test_le_23_a_duration_is_stored_in_whole_seconds() -> None:
    api = FakeApi()
    await Candidate(api, lease_duration=1.5, renew_deadline=1.0, retry_period=0.2).run(0.1)
    assert spec(api)["leaseDurationSeconds"] == 1
    other = Candidate(api, "other", lease_duration=1.5, renew_deadline=1.0, retry_period=0.1)
    await other.run(0.05)
    failing(api)
    await other.run(2)
    assert other.at("leads")[0] == pytest.approx(1.1, abs=0.06), "the record of 0 was seen at 0.1"


# --- beyond the catalogue


async def test_coordinated_election_only_renews_an_assigned_lease() -> None:
    api = FakeApi()
    registry = Registry()
    me = await Candidate(api, coordinated=True, registry=registry).run(5)
    assert verbs(api) == ["get", "get", "get"]
    held(api, "me", strategy="OldestEmulationVersion")
    await me.run(6)
    assert me.leads
    assert spec(api)["strategy"] == "OldestEmulationVersion"
    assert registry.value("leader_election_slowpath_total", "lock") >= 1
    held(api, "me", preferredHolder="other")
    await me.run(12)
    assert me.said()[-2:] == ["ends", "stopped"]


def test_coordinated_election_does_not_renew_an_expired_lease() -> None:
    state = LeaseState("me", 15)
    assert state.coordinated(0.0, "now") is None, "nothing was read"
    state.read(LeaseRecord("me", 10, "then", "then", 3), 100.0)
    assert state.coordinated(110.0, "now") == LeaseRecord("me", 15, "then", "now", 3)
    assert state.coordinated(110.1, "now") is None
    state.read(LeaseRecord("me", 10, "then", "then", 3, preferred_holder="other"), 100.0)
    assert state.coordinated(101.0, "now") is None


async def test_an_ordinary_elector_drops_the_fields_of_coordinated_election() -> None:
    api = FakeApi()
    held(api, "me", preferredHolder="other", strategy="OldestEmulationVersion")
    await Candidate(api).run()
    assert {"preferredHolder", "strategy"} & set(spec(api)) == set()


async def test_metrics_of_the_leader() -> None:
    api, registry = FakeApi(), Registry()
    me = Candidate(api, registry=registry)
    assert 'leader_election_master_status{name="lock"} 0' in registry.text()
    await me.run(3)
    assert registry.value("leader_election_master_status", "lock") == 1.0
    failing(api, code=409, verb="put", times=1)
    await me.run(2)
    assert registry.value("leader_election_slowpath_total", "lock") == 1.0
    await me.stop()
    assert registry.value("leader_election_master_status", "lock") == 0.0


async def test_a_hanging_request_does_not_end_leadership() -> None:
    api = FakeApi()
    me = await Candidate(Wire(api, [0.0]), lock_timeout=5.0).run(3)
    original, hangs = api.request, [True]

    async def hang_once(*args: Any, **options: Any) -> Answer:
        if hangs.pop() if hangs else False:
            await forever()
        return await original(*args, **options)

    api.request = hang_once  # type: ignore[method-assign]
    await me.run(30)
    assert me.leads


async def test_a_managers_election_survives_a_hanging_request() -> None:
    operator = Operator(election=LeaderElection(LeaderElectionOptions("lock", "default", identity="me")))
    await operator.run(3)
    original, hangs = operator.api.request, [True]

    async def hang_once(method: str, path: str, **options: Any) -> Answer:
        if "/leases/" in path and hangs:
            hangs.clear()
            await forever()
        return await original(method, path, **options)

    operator.api.request = hang_once  # type: ignore[method-assign]
    await operator.run(30)
    assert operator.task is not None
    assert [hangs, operator.task.done()] == [[], False]
    await operator.stop()


async def test_leading_has_ended_before_the_lease_is_released() -> None:
    api = FakeApi()
    ended_with: list[str] = []

    async def work() -> None:
        try:
            await forever()
        finally:
            await sleep(SystemClock(), 3)
            ended_with.append(spec(api)["holderIdentity"])

    me = await Candidate(api, work=work, release_on_cancel=True).run(3)
    await me.stop()
    assert [ended_with, spec(api)["holderIdentity"]] == [["me"], ""]


async def test_a_lease_acquired_by_another_candidate_is_not_released() -> None:
    api = FakeApi()
    me = await Candidate(api, release_on_cancel=True).run(3)
    held(api, "other")
    await me.stop()
    assert spec(api)["holderIdentity"] == "other"


async def test_an_exception_while_leading_ends_the_election() -> None:
    async def work() -> None:
        raise ValueError("x")

    me = Candidate(FakeApi(), work=work)
    with pytest.raises(ValueError, match="x"):
        await me.elector.run()
    assert me.said()[-1] == "stopped"


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("endpoints", "endpoints lock is removed, migrate to leases"),
        ("configmapsleases", "configmapsleases lock is removed, migrate to leases"),
        ("x", "Invalid lock-type x"),
    ],
)
def test_only_leases_are_supported(kind: str, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        new_lock(kind, Client(FakeApi()), "lock", "default")
    assert str(caught.value) == message


async def test_a_lock_must_be_read_before_it_is_written() -> None:
    lock = LeaseLock(Client(FakeApi()), "lock", "default")
    with pytest.raises(RuntimeError, match="lease not initialized, call get or create first"):
        await lock.update(LeaseRecord("me"))
    with pytest.raises(ApiError):
        await lock.get()


async def test_the_identity_and_the_required_options_of_a_managers_election() -> None:
    with pytest.raises(ValueError, match="LeaderElectionID must be configured"):
        LeaderElection(LeaderElectionOptions(""))
    homeless = Operator(election=LeaderElection(LeaderElectionOptions("lock")))
    with pytest.raises(ValueError, match="please specify LeaderElectionNamespace"):
        await homeless.manager.start()
    check = LeaderHealthz()
    seen: list[str] = []
    options = LeaderElectionOptions("lock", "default", watch_dog=check, new_leader=seen.append, labels={"a": "b"})
    operator = Operator(election=LeaderElection(options))
    operator.manager.add_healthz_check(check.name, check)
    await operator.run(3)
    holder = operator.api.objects[STORED]["spec"]["holderIdentity"]
    assert seen == [holder]
    assert len(holder.rpartition("_")[2]) == 12
    assert operator.api.objects[STORED]["metadata"]["labels"] == {"a": "b"}
    assert {asked.user_agent for asked in operator.api.asked if "lease" in asked.path} == {
        "controllerlib/leader-election"
    }
    check()


async def test_two_replicas_with_one_seed_are_two_candidates() -> None:
    api = FakeApi()
    replicas = [
        Operator(api, random=SeededRandom(7), election=LeaderElection(LeaderElectionOptions("lock", "default")))
        for _ in range(2)
    ]
    for replica in replicas:
        await replica.run(1)
    assert [replica.manager.elected.is_set() for replica in replicas] == [True, False]
    await replicas[0].stop()
    await advance(30)
    assert replicas[1].manager.elected.is_set()


def test_the_jitter_of_a_candidate_depends_on_the_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> list[float]:
        api = FakeApi()
        held(api, "other", leaseDurationSeconds=3600)
        elector = LeaderElection(LeaderElectionOptions("lock", "default"))
        operator = await Operator(api, random=SeededRandom(7), election=elector).run(60)
        await operator.stop()
        return times(api, "get", "controllerlib/leader-election")

    found = []
    for host in ("here", "there"):
        monkeypatch.setattr("socket.gethostname", lambda host=host: host)
        loop = VirtualTimeLoop()
        try:
            found.append(loop.run_until_complete(main()))
        finally:
            loop.close()
    assert found[0] == found[1]
    assert len({round(b - a, 3) for a, b in pairwise(found[0])}) > 5


async def test_the_lease_of_a_pod_is_in_its_namespace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "namespace").write_text("shop\n")
    monkeypatch.setattr(leaderelection, "_NAMESPACE_FILE", str(tmp_path / "namespace"))
    operator = Operator(election=LeaderElection(LeaderElectionOptions("lock")))
    await operator.run(1)
    assert "/apis/coordination.k8s.io/v1/leases/shop/lock" in operator.api.objects
    await operator.stop()


async def test_an_election_must_be_prepared() -> None:
    with pytest.raises(RuntimeError, match="prepare was not called"):
        await LeaderElection(LeaderElectionOptions("lock", "default")).run(nothing)


async def test_the_repr_of_an_elector() -> None:
    me = Candidate(FakeApi())
    assert repr(me.elector) == "<LeaderElector me leader=->"
    await me.run()
    assert repr(me.elector) == "<LeaderElector me leader=me>"
