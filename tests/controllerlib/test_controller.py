"""The controller: when it reconciles, and what follows from the result."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from controllerlib.client.errors import ApiError, not_found
from controllerlib.clock import SystemClock, sleep
from controllerlib.controller.controller import Controller, ControllerOptions
from controllerlib.controller.handler import RequestQueue
from controllerlib.controller.invocation import Caller
from controllerlib.controller.reconcile import (
    ReconcileError,
    Request,
    Result,
    TerminalError,
    as_reconciler,
    is_terminal,
)
from controllerlib.controller.source import ChannelSource
from controllerlib.observer import current_run, reconcile_id
from tests.controllerlib.handlerlog import advance
from tests.controllerlib.rig import Act, Operator, Rig, acting

OOPS = ValueError("oops")
MS = 0.001


async def played(*acts: Act, seconds: float = 60.0, **options: Any) -> Rig:
    """Return a controller to which x was added once, after scripted reconciles."""
    rig = await Rig(acting(*acts), **options).add("x")
    return await rig.run(seconds)


async def test_cr_01_one_add_one_run() -> None:
    rig = await played()
    assert [rig.at, len(rig.controller.queue), rig.failures] == [[0.0], 0, 0]


@pytest.mark.parametrize(
    ("acts", "at", "failures"),
    [
        pytest.param([OOPS, None], [0, 0.005], 0, id="CR-02"),
        pytest.param([OOPS] * 4 + [None], [0, 0.005, 0.015, 0.035, 0.075], 0, id="CR-03"),
        pytest.param([OOPS, Result(requeue_after=10), OOPS, None], [0, 0.005, 10.005, 10.01], 0, id="CR-09"),
        pytest.param([Result(requeue=True)] * 3 + [None], [0, 0.005, 0.015, 0.035], 0, id="CR-10"),
        pytest.param([Result(requeue=True, requeue_after=1), None], [0, 1], 0, id="CR-11"),
        pytest.param([ReconcileError("oops"), None], [0, 0.005], 0, id="CR-12"),
        pytest.param([Result(requeue_after=-1)], [0], 0, id="CR-13"),
    ],
)
async def test_the_decision_after_a_reconcile(acts: Sequence[Act], at: Sequence[float], failures: int) -> None:
    rig = await played(*acts)
    assert rig.at == pytest.approx(at)
    assert rig.failures == failures


async def test_cr_04_a_permanent_failure() -> None:
    rig = await played(OOPS, seconds=6000)
    gaps = [round(b - a, 6) for a, b in zip(rig.at, rig.at[1:], strict=False)]
    assert gaps[:18] == pytest.approx([0.005 * 2**n for n in range(18)])
    assert gaps[17] == pytest.approx(655.36)
    assert set(gaps[18:]) == {1000.0}
    assert len(gaps) > 19


async def test_cr_05_success_forgets() -> None:
    rig = await played(OOPS, OOPS, OOPS, None, OOPS, None)
    await rig.add("x")
    before = rig.at[-1]
    await rig.run(1)
    assert rig.at[-1] - before == pytest.approx(0.005)


def wrapped() -> Exception:
    try:
        raise RuntimeError("outer") from TerminalError(OOPS)
    except RuntimeError as error:
        return error


@pytest.mark.parametrize("error", [TerminalError(OOPS), wrapped()], ids=["CR-06-bare", "CR-06-wrapped"])
async def test_terminal_errors_are_not_retried(error: Exception) -> None:
    rig = await played(error)
    assert rig.at == [0]
    assert rig.metric("reconcile_total", "error") == 1
    assert rig.metric("terminal_reconcile_errors_total") == 1
    assert rig.metric("reconcile_errors_total") == 1


async def test_cr_07_a_terminal_error_does_not_forget() -> None:
    rig = await played(OOPS, OOPS, TerminalError("no"), OOPS, None)
    await rig.add("x")
    before = rig.at[-1]
    await rig.run(1)
    assert rig.at[-1] - before == pytest.approx(0.02)


def test_a_terminal_error_without_a_cause() -> None:
    assert str(TerminalError()) == "nil terminal error"
    assert str(TerminalError(OOPS)) == "terminal error: oops"
    assert not is_terminal(OOPS)


async def test_cr_08_requeue_after_counts_from_the_end_of_the_reconcile() -> None:
    rig = await Rig(acting(Result(requeue_after=10), None, seconds=2)).add("x")
    await rig.run(60)
    assert rig.at == [0, 12]
    assert rig.failures == 0


async def test_cr_10_labels() -> None:
    rig = await played(Result(requeue=True), Result(requeue=True), Result(requeue=True), None)
    assert rig.metric("reconcile_total", "requeue") == 3
    timed = await played(Result(requeue=True, requeue_after=1), None)
    assert timed.metric("reconcile_total", "requeue_after") == 1, "CR-11"


async def test_cr_14_a_bug_is_retried_like_an_error() -> None:
    rig = await played(TypeError("a bug"), None)
    assert rig.at == pytest.approx([0, 0.005])
    assert rig.metric("reconcile_panics_total") == 1
    error = rig.notes.outcomes[0][1].error
    assert str(error) == "panic: TypeError('a bug') [recovered]"


async def test_cr_15_bugs_that_are_not_recovered() -> None:
    rig = await Rig(acting(TypeError("a bug")), recover_panic=False).add("x")
    assert rig.task is not None
    with pytest.raises(TypeError, match="a bug"):
        await rig.task
    assert rig.metric("reconcile_panics_total") == 1


@pytest.mark.parametrize(
    ("seconds", "error", "timeouts"),
    [pytest.param(10, "TimeoutError", 1, id="CR-16-fires"), pytest.param(1, "", 0, id="CR-16-in-time")],
)
async def test_the_reconciliation_timeout(seconds: float, error: str, timeouts: int) -> None:
    rig = await Rig(acting(None, seconds=seconds), reconciliation_timeout=2.0).add("x")
    await rig.run(2)
    outcome = rig.notes.outcomes[0][1]
    assert [type(outcome.error).__name__ if outcome.error else "", outcome.finished] == [error, min(seconds, 2)]
    assert rig.metric("reconcile_timeouts_total") == timeouts


async def test_cr_16_a_timeout_inside_the_reconciler_is_not_counted() -> None:
    async def reconcile(request: Any) -> None:
        async with asyncio.timeout(1):
            await sleep(SystemClock(), 10)

    rig = await Rig(reconcile, reconciliation_timeout=2.0).add("x")
    await rig.run(1)
    assert isinstance(rig.notes.outcomes[0][1].error, TimeoutError)
    assert rig.metric("reconcile_timeouts_total") == 0
    unlimited = await Rig(acting(None, seconds=1000)).add("x")
    await unlimited.run(1000)
    assert unlimited.notes.outcomes[0][1].error is None


async def test_cr_17_events_during_a_run_are_one_more_run() -> None:
    rig = await Rig(acting(None, seconds=1)).add("x")
    for _ in range(5):
        await rig.run(0.1)
        await rig.add("x")
    await rig.run(60)
    assert rig.at == [0, 1]


@pytest.mark.parametrize(
    ("workers", "starts", "peak"),
    [pytest.param(1, [0, 10, 20], 1, id="CR-18-one"), pytest.param(2, [0, 0, 10], 2, id="CR-18-two")],
)
async def test_workers(workers: int, starts: Sequence[float], peak: int) -> None:
    rig = await Rig(acting(None, seconds=10), max_concurrent_reconciles=workers).add("a", "b", "c")
    assert rig.metric("active_workers") == peak
    await rig.run(60)
    assert rig.at == starts
    assert [rig.metric("active_workers"), rig.metric("max_concurrent_reconciles")] == [0, workers]


async def test_cr_19_never_two_runs_of_one_key() -> None:
    running, most = 0, 0

    async def reconcile(request: Any) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await sleep(SystemClock(), 0.01)
        running -= 1

    rig = await Rig(reconcile, max_concurrent_reconciles=5).run()
    for _ in range(100):
        await rig.add("x")
        await rig.run(0.003)
    assert most == 1


@pytest.mark.parametrize(
    ("act", "priority"),
    [
        pytest.param(Result(requeue=True), 10, id="CR-20-requeue"),
        pytest.param(Result(requeue=True, priority=99), 99, id="CR-20-requeue-other"),
        pytest.param(Result(requeue_after=1), 10, id="CR-20-after"),
        pytest.param(Result(requeue_after=1, priority=99), 99, id="CR-20-after-other"),
        pytest.param(OOPS, 10, id="CR-20-error"),
        pytest.param(ReconcileError("oops", priority=99), 99, id="CR-39-error-other"),
    ],
)
async def test_the_priority_of_a_requeue(act: Act, priority: int) -> None:
    rig = await Rig(acting(act, None)).add("x", priority=10)
    await rig.run(60)
    assert rig.notes.priorities() == [10, priority]


async def test_cr_21_live_changes_go_before_the_initial_list() -> None:
    first = [("a", -100), ("b", -100), ("c", -100), ("b", None)]
    rig = await Rig(acting(), first=first).run()
    assert rig.notes.requests() == ["b", "a", "c"]


async def test_cr_22_a_live_change_raises_a_waiting_request() -> None:
    rig = await Rig(acting(OOPS, OOPS, OOPS, None), first=[("x", -100)]).run(0.02)
    assert rig.notes.priorities() == [-100, -100, -100]
    await rig.add("x")
    await rig.run(60)
    assert rig.at == pytest.approx([0, 0.005, 0.015, 0.02])
    assert rig.notes.priorities()[-1] == 0


async def test_cr_23_the_plain_queue_runs_it_twice() -> None:
    rig = await Rig(acting(OOPS, OOPS, OOPS, None), first=[("x", -100)], use_priority_queue=False).run(0.02)
    await rig.add("x")
    await rig.run(60)
    assert rig.at == pytest.approx([0, 0.005, 0.015, 0.02, 0.035])


class Stuck:
    """A source that never syncs, or never starts."""

    def __init__(self, *, starts: bool) -> None:
        self._starts = starts

    def __repr__(self) -> str:
        return "stuck source"

    async def start(self, queue: RequestQueue, tasks: Any) -> None:
        if not self._starts:
            await asyncio.get_running_loop().create_future()

    async def wait_synced(self) -> None:
        await asyncio.get_running_loop().create_future()


@pytest.mark.parametrize(
    ("starts", "message"),
    [
        pytest.param(True, r"failed to wait for test caches to sync", id="CR-24"),
        pytest.param(False, r"timed out waiting for source stuck source to Start", id="CR-25"),
    ],
)
async def test_a_source_that_does_not_sync(starts: bool, message: str) -> None:
    rig = Rig(acting(), sources=[Stuck(starts=starts)], cache_sync_timeout=10.0, first=[("x", None)])
    with pytest.raises(TimeoutError, match=message):
        await rig.controller.start()
    assert asyncio.get_running_loop().time() == 10.0
    assert rig.at == []


async def test_cr_26_cancelled_while_syncing() -> None:
    rig = await Rig(acting(), sources=[Stuck(starts=True)]).run(5)
    assert rig.task is not None
    rig.task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await rig.task


async def test_cr_27_starting_twice() -> None:
    rig = await Rig(acting()).run()
    with pytest.raises(RuntimeError, match="started more than once"):
        await rig.controller.start()


async def test_cr_28_no_run_before_every_initial_object_was_handled() -> None:
    from controllerlib.controller.handler import HandlerFuncs
    from tests.controllerlib.rig import BACKUP

    handled: list[float] = []

    async def slow(event: Any, queue: RequestQueue) -> None:
        await sleep(SystemClock(), 0.05)
        handled.append(asyncio.get_running_loop().time())
        queue.add(Request.of(event.obj))

    operator = Operator()
    for number in range(20):
        operator.api.put(*BACKUP, f"b{number:02}")
    operator.controller("x").watches(*BACKUP, HandlerFuncs(create=slow)).complete(acting())
    await operator.run(10)
    assert [len(handled), handled[-1]] == [20, pytest.approx(1.0)]
    assert operator.notes.at()[0] == pytest.approx(1.0)
    assert len(operator.notes.runs) == 20


async def test_cr_29_a_source_added_later_starts_at_once() -> None:
    rig = await Rig(acting()).run()
    channel = ChannelSource(HandlerForAll())
    await rig.controller.watch(channel)
    channel.send(generic("late"))
    await advance()
    assert rig.notes.requests() == ["default/late"]


class HandlerForAll:
    def handle(self, event: Any, queue: RequestQueue) -> None:
        queue.add(Request.of(event.obj))


def generic(name: str) -> Any:
    from controllerlib.controller.event import GenericEvent

    return GenericEvent({"metadata": {"namespace": "default", "name": name}})


@pytest.mark.parametrize(
    ("priority_queue", "further"), [(True, 0), (False, 3)], ids=["CR-30-priority-queue", "CR-30-plain-queue"]
)
async def test_queued_requests_at_the_end(priority_queue: bool, further: int) -> None:
    stopping: list[bool] = []

    async def reconcile(request: Any) -> None:
        await sleep(SystemClock(), 1)
        run = current_run()
        assert run is not None
        stopping.append(run.stopping.is_set())

    rig = await Rig(reconcile, use_priority_queue=priority_queue).add("busy", "a", "b", "c")
    assert rig.task is not None
    rig.task.cancel()
    await rig.run(60)
    assert rig.task.done()
    assert len(rig.at) == 1 + further
    assert stopping == [True] * (1 + further)


def test_cr_31_names_are_unique() -> None:
    taken: set[str] = set()
    Controller("same", acting(), taken=taken)
    with pytest.raises(ValueError, match="controller with name same already exists"):
        Controller("same", acting(), taken=taken)
    Controller("same", acting(), taken=taken, options=ControllerOptions(skip_name_validation=True))
    with pytest.raises(ValueError, match="must specify Name"):
        Controller("", acting())


async def test_cr_32_warming_up() -> None:
    started: list[float] = []

    class Counting:
        async def start(self, queue: RequestQueue, tasks: Any) -> None:
            started.append(asyncio.get_running_loop().time())
            queue.add("x")

        async def wait_synced(self) -> None:
            pass

    cold = Rig(acting(), sources=[Counting()])
    await cold.controller.warmup()
    assert started == []
    warm = Rig(acting(), sources=[Counting()], enable_warmup=True)
    task = asyncio.create_task(warm.controller.warmup(), name="warmup")
    await advance(5)
    assert [started, warm.at] == [[0.0], []]
    await warm.run(1)
    assert [started, warm.at] == [[0.0], [5.0]]
    task.cancel()


async def test_cr_33_series_exist_before_the_first_run() -> None:
    rig = await Rig(acting()).run()
    lines = rig.controller.registry.text().splitlines()
    for result in ("success", "error", "requeue", "requeue_after"):
        assert f'controller_runtime_reconcile_total{{controller="test",result="{result}"}} 0' in lines
    assert 'workqueue_adds_total{name="test",controller="test"} 0' in lines
    assert 'controller_runtime_max_concurrent_reconciles{controller="test"} 1' in lines


async def test_cr_34_reconcile_times() -> None:
    rig = await Rig(acting(None, OOPS, None, seconds=2)).add("a", "b")
    await rig.run(60)
    histogram = rig.controller.registry.histogram("controller_runtime_reconcile_time_seconds", "test")
    assert [histogram.count, histogram.sum] == [3, pytest.approx(6.0)]


async def test_cr_35_every_run_has_its_own_id() -> None:
    ids: list[str] = []

    async def reconcile(request: Any) -> None:
        ids.append(reconcile_id())

    rig = await Rig(reconcile).add("a", "b")
    assert len(set(ids)) == 2
    assert ids == [run.id for run in rig.notes.runs]
    assert [reconcile_id(), current_run()] == ["", None]


async def test_cr_36_objects_instead_of_requests() -> None:
    seen: list[Any] = []

    async def get(api_version: str, kind: str, name: str, namespace: str | None = None) -> dict[str, Any]:
        if name == "broken":
            raise ApiError(500, "InternalError", "broken")
        if name == "gone":
            raise not_found("pods", name)
        return {"metadata": {"name": name}}

    async def inner(obj: dict[str, Any]) -> Result:
        seen.append(obj["metadata"]["name"])
        return Result(requeue_after=1)

    reconcile = as_reconciler(get, "v1", "Pod", inner)
    assert await reconcile(Request("default", "gone")) is None
    assert await reconcile(Request("default", "there")) == Result(requeue_after=1)
    with pytest.raises(ApiError):
        await reconcile(Request("default", "broken"))
    assert seen == ["there"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("priority_queue", "last", "hundredth"),
    [pytest.param(False, 5.0, 0.005, id="CR-37-plain"), pytest.param(True, 0.005, 0.005, id="CR-37-priority")],
)
async def test_many_failures_at_once(priority_queue: bool, last: float, hundredth: float) -> None:
    failed: set[Any] = set()

    async def reconcile(request: Any) -> None:
        if request not in failed:
            failed.add(request)
            raise OOPS

    rig = await Rig(reconcile, use_priority_queue=priority_queue).add(*(f"k{n}" for n in range(150)))
    await rig.run(60)
    retries = rig.at[150:]
    assert [len(retries), retries[99], retries[-1]] == pytest.approx([150, hundredth, last])
    if not priority_queue:
        assert retries[100:] == pytest.approx([0.1 * n for n in range(1, 51)])


async def test_cr_38_an_event_takes_the_place_of_a_retry() -> None:
    rig = await Rig(acting(OOPS, None)).add("x")
    await rig.run(MS)
    await rig.add("x")
    await rig.run(60)
    assert rig.at == pytest.approx([0, MS])


async def test_sync_reconcilers_run_in_threads() -> None:
    import threading

    threads: list[bool] = []

    def reconcile(request: Any) -> Result | None:
        threads.append(threading.current_thread() is threading.main_thread())
        assert current_run() is not None
        return None

    rig = await Rig(reconcile).add("a", "b")
    await rig.run(1)
    assert threads == [False, False]
    assert [outcome.label for _, outcome in rig.notes.outcomes] == ["success", "success"]


async def test_a_reconciler_that_returns_an_invalid_result() -> None:
    async def reconcile(request: Any) -> Any:
        return "soon"

    rig = await Rig(reconcile).add("x")
    assert "None or a Result" in str(rig.notes.outcomes[0][1].error)


async def test_the_causes_of_a_reconcile() -> None:
    rig = await Rig(acting(OOPS, Result(requeue_after=5), None)).add("x")
    await rig.run(60)
    assert rig.notes.causes() == ["generic", "retry", "requeue_after"]


#: Upper bounds of histograms in seconds: controller-runtime's ReconcileTime, and workqueue's exponential ones.
BOUNDS = {
    "controller_runtime_reconcile_time_seconds": (
        "0.005 0.01 0.025 0.05 0.1 0.15 0.2 0.25 0.3 0.35 0.4 0.45 0.5 0.6 0.7 0.8 0.9 1 1.25 1.5 1.75 2 2.5 3 3.5 4 4.5 "
        "5 6 7 8 9 10 15 20 25 30 40 50 60 +Inf"
    ),
    "workqueue_queue_duration_seconds": "1e-08 1e-07 1e-06 1e-05 0.0001 0.001 0.01 0.1 1 10 100 1000 +Inf",
    "workqueue_work_duration_seconds": "1e-08 1e-07 1e-06 1e-05 0.0001 0.001 0.01 0.1 1 10 100 1000 +Inf",
}


@pytest.mark.parametrize("name", BOUNDS)
async def test_the_bounds_of_histograms(name: str) -> None:
    rig = await Rig(acting()).add("x")
    await rig.run(1)
    lines = [line for line in rig.controller.registry.text().splitlines() if line.startswith(f"{name}_bucket")]
    found = [line.partition('le="')[2].partition('"')[0] for line in lines]
    assert [float(one) for one in found] == [float(one) for one in BOUNDS[name].split()]


async def test_what_follows_a_reconcile_does_not_belong_to_it() -> None:
    rig = await played(OOPS, None)
    assert rig.notes.current == [*rig.notes.runs[:1], None, *rig.notes.runs[1:], None]


async def test_threads_are_made_again_after_they_were_shut_down() -> None:
    called: list[str] = []
    caller = Caller(called.append, None, 1)
    for request in ("x", "y"):
        await caller.call(request)
        caller.close()
        caller.close()
    assert called == ["x", "y"]
