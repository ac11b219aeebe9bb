"""How the harness drives code: coroutines that are made again, and what failed beside the test."""

import asyncio
from types import SimpleNamespace

import pytest

from fakekube.harness.backends.realcluster import RealCluster
from fakekube.harness.detectors.remains.waiting import handlers_of_kopf
from fakekube.harness.driving.again import factory_of


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
