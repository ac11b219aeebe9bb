"""N2: what reconcilers and runnables raise that is no Exception: it is retried, or ends the manager; never silently."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from controllerlib.clock import SystemClock
from controllerlib.controller.controller import Controller
from controllerlib.controller.invocation import RecoveredPanic, UnexpectedCancellation
from controllerlib.tasks import is_from_outside
from tests.controllerlib.rig import Operator, Queued, Rig, acting


class Panic(BaseException):
    """As extensions that are written in Rust raise it, and some libraries for their timeouts."""


PANICS = [Panic("own"), GeneratorExit("own"), BaseExceptionGroup("own", [Panic("inner")])]


def raising(error: BaseException, *, is_async: bool) -> Callable[[Any], Any]:
    def reconcile(request: Any) -> None:
        if request == "bad":
            raise error

    async def reconcile_async(request: Any) -> None:
        reconcile(request)

    return reconcile_async if is_async else reconcile


@pytest.mark.parametrize("error", PANICS, ids=lambda error: type(error).__name__)
async def test_n2_an_exception_of_its_own_kind_is_retried(error: BaseException) -> None:
    rig = await Rig(raising(error, is_async=True)).add("bad")
    await rig.add("good")
    await rig.run(0.1)
    assert rig.task is not None
    assert not rig.task.done()
    assert [outcome.label for run, outcome in rig.notes.outcomes if run.request == "good"] == ["success"]
    failed = [outcome.error for run, outcome in rig.notes.outcomes if run.request == "bad"]
    assert len(failed) > 2
    assert isinstance(failed[0], RecoveredPanic)
    assert failed[0].__cause__ is error
    assert rig.metric("reconcile_panics_total") == len(failed)


@pytest.mark.parametrize("error", PANICS, ids=lambda error: type(error).__name__)
async def test_n2_it_ends_the_controller_if_panics_are_not_recovered(
    error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    rig = await Rig(acting(error), recover_panic=False).add("x")
    assert rig.task is not None
    with pytest.raises(type(error)) as caught:
        await rig.task
    assert caught.value is error
    assert [outcome.error for _, outcome in rig.notes.outcomes] == [error]
    assert f"Observed a panic in reconciler: test, x: {error!r}" in [one.getMessage() for one in caplog.records]


async def test_n2_a_runnable_ends_the_manager_whatever_it_raises() -> None:
    operator = Operator()
    operator.manager.add(_runnable(Panic("own")))
    with pytest.raises(Panic):
        await operator.manager.start()


@pytest.mark.parametrize("error", [asyncio.CancelledError(), GeneratorExit()], ids=repr)
async def test_n2_a_runnable_that_was_not_cancelled_ends_the_manager_by_an_error(error: BaseException) -> None:
    operator = Operator()
    operator.manager.add(_runnable(error))
    with pytest.raises(RuntimeError, match=f"raised {type(error).__name__} but was not cancelled") as caught:
        await operator.manager.start()
    assert caught.value.__cause__ is error


@pytest.mark.parametrize("error", [Panic("own"), ValueError("own")], ids=repr)
async def test_n2_a_part_that_fails_before_it_is_ready_ends_the_manager(error: BaseException) -> None:
    class Part:
        async def start(self) -> None:
            await asyncio.get_running_loop().create_future()

        async def wait_ready(self) -> None:
            raise error

    operator = Operator()
    operator.manager.add(Part())
    async with asyncio.timeout(60):
        with pytest.raises(type(error)):
            await operator.manager.start()


def _runnable(error: BaseException) -> Callable[[], Any]:
    async def run() -> None:
        raise error

    return run


@pytest.mark.parametrize("error", [StopIteration("empty"), asyncio.CancelledError(), *PANICS], ids=repr)
def test_n2_a_plain_function_whose_exception_no_future_accepts_is_retried(error: BaseException) -> None:
    """On the event loop of asyncio, in real time: a worker waited for ever for a future that refused StopIteration."""
    failed: list[BaseException | None] = []

    async def main() -> None:
        source = Queued()
        controller = Controller("test", raising(error, is_async=False), clock=SystemClock())
        controller.add_source(source)
        task = asyncio.create_task(controller.start())
        await controller.started.wait()
        assert source.queue is not None
        source.queue.add("bad")
        source.queue.add("good")
        while not controller.queue.num_requeues("bad") > 1 or "good" in controller.under_way:
            await asyncio.wait([task], timeout=0.001)
            assert not task.done()
        failed.append(None)
        task.cancel()
        await asyncio.wait([task])

    asyncio.run(asyncio.wait_for(main(), 20))
    assert failed == [None]


def test_n2_a_coroutine_that_is_closed_has_not_raised_generator_exit() -> None:
    """Those of tasks are closed when their event loop has ended."""
    found: list[bool] = []

    async def work(own: BaseException | None) -> None:
        task = asyncio.current_task()
        try:
            if own is not None:
                raise own
            await asyncio.get_running_loop().create_future()
        except BaseException as error:
            found.append(is_from_outside(error, task))

    async def main() -> None:
        await work(GeneratorExit())
        for closes in (True, False):
            abandoned = work(None)
            abandoned.send(None)
            if closes:
                await asyncio.create_task(_closed(abandoned))
            else:
                left.append(abandoned)

    left: list[Coroutine[Any, Any, None]] = []
    asyncio.run(main())
    left.pop().close()
    assert found == [False, True, True]


async def _closed(work: Coroutine[Any, Any, None]) -> None:
    work.close()


async def test_n2_a_reconcile_that_is_cancelled_is_still_cancelled() -> None:
    cancelled: list[BaseException] = []

    async def reconcile(request: Any) -> None:
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError as error:
            cancelled.append(error)
            raise

    rig = await Rig(reconcile).add("x")
    await rig.run(1)
    assert rig.task is not None
    rig.task.cancel()
    await rig.run(1)
    rig.task.cancel()
    await rig.run(1)
    assert cancelled
    assert not any(isinstance(outcome.error, UnexpectedCancellation) for _, outcome in rig.notes.outcomes)
