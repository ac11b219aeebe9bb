"""Reconciles have the same counts and virtual times over every transport, for coroutines and threads."""

from datetime import timedelta

import pytest

from controllerlib import ApiError, Result
from fakekube import FakeKube
from tests.harness.operators import build, config_map

HOUR = 3600


def as_coroutine(function):
    async def reconcile(request):
        return function(request)

    return reconcile


def as_thread(function):
    return function


@pytest.fixture(params=["direct", "memory", "tcp"])
def kube(request):
    with FakeKube(transport=request.param) as kube:
        yield kube


@pytest.fixture(params=[as_coroutine, as_thread])
def start(request, kube):
    """Starts a controller with a reconciler that is a coroutine or a thread."""

    def start(function, **options):
        return kube.start(build(request.param(function)), **options)["minder"]

    return start


@pytest.mark.slow
def test_a_resync_every_ten_hours(kube, start):
    kube.apply(config_map("a"), config_map("b"))
    controller = start(lambda request: None)
    kube.advance(hours=31)
    for key in ("default/a", "default/b"):
        assert controller.causes(key) == ["added"] + ["resync"] * 3
        assert controller.times(key) == [timedelta(hours=hours) for hours in (0, 10, 20, 30)]
    assert controller.reconciles() == 8


@pytest.mark.slow
def test_an_hourly_requeue_over_a_day(kube, start):
    kube.apply(config_map("a"))
    controller = start(lambda request: Result(requeue_after=HOUR), sync_period=timedelta(days=7))
    kube.advance(days=1)
    assert controller.causes() == ["added"] + ["requeue_after"] * 24
    assert controller.times() == [timedelta(hours=hour) for hour in range(25)]
    assert controller.next_due("default/a") == timedelta(hours=1)


def test_five_retries_with_back_off(kube, start):
    failures = iter(range(5))

    def fail_five_times(request):
        if next(failures, None) is not None:
            raise RuntimeError("not yet")

    kube.apply(config_map("a"))
    controller = start(fail_five_times)
    kube.advance(1)
    assert controller.causes() == ["added"] + ["retry"] * 5
    assert controller.results() == ["error"] * 5 + ["success"]
    assert controller.times() == [timedelta(milliseconds=ms) for ms in (0, 5, 15, 35, 75, 155)]
    assert [str(error) for error in controller.errors()] == ["not yet"] * 5


@pytest.mark.parametrize("transport", ["direct", "memory", "tcp"])
@pytest.mark.parametrize("sync", [False, True], ids=["coroutine", "thread"])
def test_a_conflict_retried(transport, sync):
    async def context(request, client):
        found = await client.get("v1", "ConfigMap", request.name, namespace=request.namespace)
        if "seen" not in (found.get("data") or {}):
            await client.update({**found, "data": {"seen": "yes"}})

    def stamp_blocking(request, client):
        found = client.get("v1", "ConfigMap", request.name, namespace=request.namespace)
        if "seen" not in (found.get("data") or {}):
            client.update({**found, "data": {"seen": "yes"}})

    with FakeKube(transport=transport) as kube:
        kube.apply(config_map("a"))
        with kube.fault(verb="update", resource="configmaps", error=409, times=1):
            controller = kube.start(build(stamp_blocking if sync else context))["minder"]
            kube.advance(1)
        assert controller.causes() == ["added", "retry", "updated"]
        assert controller.times() == [timedelta(milliseconds=ms) for ms in (0, 5, 5)]
        (error,) = controller.errors()
        assert isinstance(error, ApiError)
        assert error.reason == "Conflict"
        assert [record.code for record in kube.requests(verb="update")] == [409, 200]
