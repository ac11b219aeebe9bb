"""How the harness drives code: coroutines that are made again, and what failed beside the test."""

import asyncio
import gc
import inspect
from types import SimpleNamespace

import pytest

from fakekube.harness.backends.realcluster import RealCluster
from fakekube.harness.detectors.remains.waiting import handlers_of_kopf
from fakekube.harness.driving.again import factory_of
from fakekube.harness.driving.driver import Driver, run_at_once
from fakekube.harness.driving.externalwait import Quiet
from fakekube.harness.driving.steps import NotAwaited, Steps, calling
from fakekube.harness.operators.background import Background
from fakekube.server.runner import WouldWait


async def plain(a, b=2, /, c=3, *rest, d, e=5, **more):
    return a, b, c, rest, d, e, more


class Thing:
    def __init__(self, name):
        self.name = name

    async def method(self, a=1):
        return self.name, a

    @classmethod
    async def made(cls, a):
        return cls.__name__, a


def closure(x):
    async def inner(y):
        return x, y

    return inner


@pytest.mark.parametrize(
    ("make", "returned"),
    [
        (lambda: plain(1, d=4), (1, 2, 3, (), 4, 5, {})),
        (lambda: plain(1, 9, 8, 7, 6, d=4, e=0, f=3), (1, 9, 8, (7, 6), 4, 0, {"f": 3})),
        (lambda: plain(1, c=0, d=4), (1, 2, 0, (), 4, 5, {})),
        (lambda: Thing("x").method(), ("x", 1)),
        (lambda: Thing("x").method(a=7), ("x", 7)),
        (lambda: Thing.made(3), ("Thing", 3)),
        (lambda: closure(1)(2), (1, 2)),
    ],
)
def test_a_coroutine_is_made_again_with_the_same_arguments(make, returned):
    work = make()
    again = factory_of(work)
    assert again is not None
    work.close()
    for _ in range(2):
        assert asyncio.run(again()) == returned


def test_a_coroutine_that_has_begun_or_ended_is_not_made_again():
    async def waits():
        await asyncio.sleep(0)

    work = waits()
    work.send(None)
    assert factory_of(work) is None
    work.close()
    assert factory_of(work) is None


def test_what_is_no_coroutine_is_not_made_again():
    def generator():
        yield

    for other in (generator(), object(), None):
        assert factory_of(other) is None


def test_failures_of_a_real_cluster_are_raised_in_their_order():
    first, second = ValueError("first"), ValueError("second")
    cluster = SimpleNamespace(_failures=[first, second])
    for expected in (first, second):
        with pytest.raises(ValueError) as caught:
            RealCluster._raise_failure(cluster)
        assert caught.value is expected
    RealCluster._raise_failure(cluster)


# --- handlers of kopf, by the frames that call them


def of_module(name, source):
    """The functions of a module of this name, as the frames of kopf have it."""
    found = {"__name__": name}
    exec(source, found)
    return found


INVOCATION = of_module("kopf._core.actions.invocation", "async def invoke(fn): await fn()")
DAEMONS = of_module("kopf._core.engines.daemons", "async def _daemon(work): await work")
OTHER = of_module(
    "kopf._core.actions.execution", "async def invoke(fn): await fn()\nasync def _daemon(work): await work"
)


async def handler():
    await asyncio.get_running_loop().create_future()


class Callable:
    async def __call__(self):
        await asyncio.get_running_loop().create_future()


async def around(work):
    await work


@pytest.mark.parametrize(
    ("make", "found"),
    [
        (lambda: INVOCATION["invoke"](handler), "handler"),
        (lambda: around(INVOCATION["invoke"](handler)), "handler"),
        (lambda: INVOCATION["invoke"](Callable()), "a handler"),
        (handler, ""),
        (lambda: OTHER["invoke"](handler), ""),
        (lambda: DAEMONS["_daemon"](INVOCATION["invoke"](handler)), ""),
        (lambda: around(DAEMONS["_daemon"](around(INVOCATION["invoke"](handler)))), ""),
        (lambda: OTHER["_daemon"](INVOCATION["invoke"](handler)), "handler"),
    ],
)
def test_the_handler_of_kopf_that_a_task_waits_in(make, found):
    async def main():
        task = asyncio.ensure_future(make())
        await asyncio.sleep(0)
        seen = handlers_of_kopf(task)
        task.cancel()
        return seen

    assert asyncio.run(main()) == found


# --- what fails beside the test


async def raises(error):
    raise error


@pytest.mark.parametrize(
    ("error", "fenced", "ending", "kept"),
    [
        (ValueError(), False, False, True),
        (ValueError(), False, True, True),
        (ValueError(), True, False, False),
        (ValueError(), True, True, False),
        (asyncio.CancelledError(), False, False, True),
        (asyncio.CancelledError(), False, True, False),
        (asyncio.CancelledError(), True, False, False),
    ],
)
def test_which_failures_of_a_task_the_test_raises(error, fenced, ending, kept):
    """A process that was killed fails no more, and at the end a task may raise its cancellation."""
    failed = []
    background = SimpleNamespace(_is_ending=ending, operator_failed=failed.append)
    asyncio.run(Background._guarded(background, raises(error), SimpleNamespace(fenced=fenced)))
    assert failed == [error] * kept


@pytest.mark.parametrize(("started", "has"), [(0, False), (1, True), (2, True)])
def test_whether_threads_were_started(started, has):
    assert Background.has_threads(SimpleNamespace(_threads_started=started)) is has


# --- steps that an async test must await


def made(steps):
    async def work():
        return "done"

    return steps.make(work(), "settle")


def test_a_step_that_was_not_awaited_is_an_error_that_names_its_call():
    steps = Steps()
    step = made(steps)
    steps.check()
    with pytest.raises(NotAwaited) as caught:
        steps.finish()
    here = made.__code__
    assert str(caught.value) == (
        f'steps.make(work(), "settle") was not awaited ({__file__}:{here.co_firstlineno + 4}): in an async test, write '
        "`await` before it"
    )
    steps.finish()
    step.close()


def test_a_step_that_is_dropped_is_an_error_of_the_next_one():
    steps = Steps()
    made(steps)
    gc.collect()
    with pytest.raises(NotAwaited, match="was not awaited"):
        steps.check()
    steps.check()
    steps.finish()


@pytest.mark.parametrize("how", ["await", "send", "throw"])
def test_a_step_that_was_begun_counts_as_awaited(how):
    steps = Steps()
    step = made(steps)
    if how == "await":
        assert asyncio.run(raises_nothing(step)) == "done"
    elif how == "send":
        with pytest.raises(StopIteration) as caught:
            step.send(None)
        assert caught.value.value == "done"
    else:
        with pytest.raises(KeyError):
            step.throw(KeyError())
    assert repr(step) == "<Step made.<locals>.work>"
    steps.finish()


async def raises_nothing(step):
    return await step


def test_a_step_that_is_closed_was_not_awaited():
    steps = Steps()
    step = made(steps)
    step.close()
    assert inspect.getcoroutinestate(step._work) == inspect.CORO_CLOSED
    with pytest.raises(NotAwaited):
        steps.finish()


def test_calls_that_are_expected_and_awaited():
    steps = Steps()
    numbers = [steps.expect(calling(name)) for name in ("one", "two")]
    assert numbers == [1, 2]
    steps.awaited(1)
    steps.awaited(1)
    with pytest.raises(NotAwaited) as caught:
        steps.finish()
    assert str(caught.value).count("was not awaited") == 1


# --- coroutines that do not wait


def test_what_does_not_wait_is_run_at_once():
    seen = []

    async def work(*turns):
        for turn in turns:
            seen.append(turn)
            await asyncio.sleep(0)

    async def main():
        run_at_once(work(1, 2, 3))
        with pytest.raises(RuntimeError, match=r"^this call would wait: await it in a coroutine$"):
            run_at_once(waiting := handler())
        return inspect.getcoroutinestate(waiting)

    assert asyncio.run(main()) == inspect.CORO_CLOSED
    assert seen == [1, 2, 3]


def test_what_runs_on_another_loop_is_refused_and_closed():
    driver = Driver(SimpleNamespace(is_running=lambda: False))
    assert not driver.in_async_test()

    async def main():
        for method in (driver.driven, driver.now_or_driven):
            work = handler()
            with pytest.raises(RuntimeError, match="this code runs on an event loop"):
                method(work)
            assert inspect.getcoroutinestate(work) == inspect.CORO_CLOSED
        own = Driver(asyncio.get_running_loop())
        assert own.in_async_test()
        work = handler()
        with pytest.raises(WouldWait, match="an async test must await the coroutine"):
            own.driven(work)
        assert inspect.getcoroutinestate(work) == inspect.CORO_CLOSED

    asyncio.run(main())


# --- clients outside of the test's process


class Watch:
    def __init__(self, *, is_behind):
        self.is_behind, self.client = is_behind, ("kubectl", None)

    def __repr__(self):
        return "<Watch pods>"


class Seconds:
    """A clock of real seconds."""

    now = 100.0

    def monotonic(self):
        return self.now


def quiet(*watches, seconds=5.0):
    runner = SimpleNamespace(watches=list(watches))
    found = Quiet(runner, seconds, "the test")
    found._clock = clock = Seconds()
    found._since = clock.now
    return found, clock


@pytest.mark.parametrize(("after", "is_so"), [(0.0, False), (4.9, False), (5.0, True), (9.0, True)])
def test_clients_are_quiet_some_seconds_after_their_last_request(after, is_so):
    found, clock = quiet(Watch(is_behind=False))
    clock.now = 103.0
    found.note(SimpleNamespace(user_agent="kubectl/1", user="ann"))
    clock.now += 1.0
    found.note(SimpleNamespace(user_agent="the test", user="me"))
    clock.now += after - 1.0
    assert found.is_so() is is_so
    assert found.why_not().startswith("the last request was kubectl/1: namespace(")


def test_clients_that_have_not_been_sent_all_are_not_quiet():
    watch = Watch(is_behind=True)
    found, clock = quiet(Watch(is_behind=False), watch)
    assert found.why_not() == "<Watch pods> of kubectl has not been sent all"
    clock.now = 110.0
    assert not found.is_so()
    watch.is_behind = False
    assert found.why_not() == ""
    assert [found.is_so(), setattr(clock, "now", 115.0), found.is_so()] == [False, None, True]
    found.note(SimpleNamespace(user_agent="", user="ann"))
    assert found.why_not().startswith("the last request was ann: ")
