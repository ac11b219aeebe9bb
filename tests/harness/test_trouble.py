"""Fault injection, and how failures are reported."""

import _thread
import asyncio
import time

import pytest
from kubernetes import client

from controllerlib import ApiError
from fakekube import FakeKube
from fakekube.harness.engine import engine_of
from fakekube.server.runner import WouldWait
from fakekube.virtualtime import Deadlock, NotQuiescent
from tests.harness.operators import build, config_map, every, nothing, stamping


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (403, "Forbidden"),
        (409, "Conflict"),
        (429, "TooManyRequests"),
        (500, "InternalError"),
        (503, "ServiceUnavailable"),
        (504, "Timeout"),
    ],
)
def test_an_error(fakekube, code, reason):
    fakekube.apply(config_map("a"))
    with fakekube.fault(verb="update", resource="configmaps", error=code, times=1) as rule:
        controller = fakekube.start(build(stamping(x="1")))["minder"]
        fakekube.advance(2)
    assert (rule.seen, rule.hits) == (3, 1)
    (error,) = controller.errors()
    assert isinstance(error, ApiError)
    assert (error.code, error.reason) == (code, reason)
    assert [r.code for r in fakekube.requests(verb="update")] == [code, 200, 200]


@pytest.mark.fakekube(detect={"unused-fault": "off"})
def test_a_fault_ends_with_its_block(fakekube):
    fakekube.apply(config_map("a"))
    with fakekube.fault(verb="update", error=500):
        assert "faults=1" in repr(fakekube)
    assert "faults=0" in repr(fakekube)
    assert fakekube.start(build(stamping(x="1")))["minder"].errors() == []


def test_a_delay_is_virtual_time(fakekube):
    fakekube.apply(config_map("a"))
    with fakekube.fault(verb="update", delay=7):
        controller = fakekube.start(build(stamping(x="1")))["minder"]
        fakekube.advance(60)
    assert controller.history()[0].duration.total_seconds() == 7


@pytest.mark.parametrize(("reset", "written"), [("before", 1), ("after", 2)])
def test_a_broken_connection(fakekube, reset, written):
    fakekube.apply(config_map("a"))
    with fakekube.fault(verb="update", reset=reset, times=1):
        controller = fakekube.start(build(stamping(x="1")))["minder"]
    assert isinstance(controller.errors()[0], ConnectionResetError)
    assert len(fakekube.state.versions("v1", "ConfigMap", "a")) == written


def test_a_list_that_selects_a_name_is_a_request_for_it(fakekube):
    """Requests of one path, distinguished by the name in the field selector."""
    core = client.CoreV1Api(fakekube.access.api_client())

    def names(selector):
        return [one.metadata.name for one in core.list_namespaced_config_map("default", **selector).items]

    fakekube.apply(config_map("a"), config_map("b"))
    with fakekube.fault(resource="configmaps", name="a", error=503):
        assert names({}) == ["a", "b"]
        assert names({"field_selector": "metadata.name=b"}) == ["b"]
        with pytest.raises(client.ApiException, match="Service Unavailable"):
            names({"field_selector": "metadata.name=a"})


@pytest.mark.fakekube(detect={"unused-fault": "off"})
def test_faults_do_not_affect_the_tests_own_requests(fakekube):
    with fakekube.fault(error=500):
        fakekube.create(config_map("a"))
    with fakekube.fault(error=500, user_agent="test"), pytest.raises(ApiError, match="injected fault"):
        fakekube.create(config_map("b"))


def test_a_sync_test_waits_for_its_own_delayed_requests(fakekube):
    with fakekube.fault(delay=7, user_agent="test"):
        fakekube.create(config_map("a"))
    assert fakekube.clock.monotonic() == 7


def test_b7_a_fault_on_a_request_of_the_test_counts_once(fakekube):
    with fakekube.fault(delay=7, user_agent="test", times=1) as rule:
        fakekube.create(config_map("a"))
        assert fakekube.clock.monotonic() == 7
        fakekube.create(config_map("b"))
    assert (fakekube.clock.monotonic(), rule.hits, rule.seen) == (7, 1, 2)
    with (
        fakekube.fault(delay=2, error=500, user_agent="test", times=1),
        pytest.raises(ApiError, match="injected fault"),
    ):
        fakekube.create(config_map("c"))
    assert fakekube.clock.monotonic() == 9
    assert [one.verb for one in fakekube.requests(user_agent="test", verb="create")] == ["create"] * 3


@pytest.mark.fakekube(detect={"unused-fault": "off"})
async def test_b7_an_abandoned_request_uses_up_no_fault(fakekube):
    with fakekube.fault(delay=7, user_agent="test", times=1) as rule:
        with pytest.raises(WouldWait):
            fakekube.create(config_map("a"))
        assert (rule.hits, rule.seen) == (0, 0)
    assert not fakekube.exists("v1", "ConfigMap", "a")


@pytest.mark.fakekube(detect={"unused-fault": "off"})
async def test_an_async_test_cannot_wait_for_its_own_delayed_requests(fakekube):
    with fakekube.fault(delay=7, user_agent="test"), pytest.raises(WouldWait, match="in an async test use a client"):
        fakekube.create(config_map("a"))
    assert not fakekube.exists("v1", "ConfigMap", "a")


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ({}, "an error, a delay or a reset"),
        ({"error": 404}, "error=404"),
        ({"delay": -1}, "delay=-1"),
        ({"reset": "sometimes"}, "reset='sometimes'"),
        ({"error": 500, "share": 0}, "share=0"),
        ({"error": 500, "share": 1.5}, "share=1.5"),
    ],
)
def test_an_invalid_fault(fakekube, rule, said):
    with pytest.raises(ValueError, match=said), fakekube.fault(**rule):
        pass
    assert "faults=0" in repr(fakekube)


def test_a_fault_with_an_unknown_argument(fakekube):
    with pytest.raises(TypeError, match="colour"), fakekube.fault(colour="red", error=500):
        pass


@pytest.mark.fakekube(history_window=5)
def test_a_small_history_makes_a_late_watch_list_again(fakekube):
    fakekube.apply(config_map("a"))
    controller = fakekube.start(build(nothing))["minder"]
    fakekube.advance(10)
    with fakekube.fault(verb="watch", error=503):
        fakekube.faults.cut_watches()
        for number in range(20):
            fakekube.patch("v1", "ConfigMap", "a", {"data": {"n": str(number)}})
        fakekube.advance(1)
    fakekube.advance(minutes=2)
    assert controller.causes()[0] == "added"
    assert controller.causes()[-1] == "updated"
    assert len(controller.causes()) < 20


# --- errors when the test cannot go on -------------------------------------------------------------------------------


def test_a_deadlock_shows_why(fakekube):
    async def stuck():
        await asyncio.Event().wait()

    fakekube.task(stuck(), name="stuck-one")

    async def wait():
        await asyncio.Event().wait()

    with pytest.raises(Deadlock, match=r"waiting: stuck-one .*stuck") as caught:
        fakekube.run(wait())
    assert "no timer is set" in str(caught.value)


@pytest.mark.slow
def test_a_thread_that_waits_for_a_lock_is_named():
    with FakeKube(patience=0.2, wall_clock=False) as kube:
        lock = _thread.allocate_lock()  # as of a module that was imported before
        lock.acquire()
        kube.thread(lock.acquire, name="locked-out")
        with pytest.raises(NotQuiescent, match="thread locked-out neither parked nor ended"):
            kube.settle()
        lock.release()
        kube.settle()


def test_the_next_step_raises_what_a_task_raised(fakekube):
    async def broken():
        await asyncio.sleep(5)
        raise LookupError("it broke")

    fakekube.task(broken())
    fakekube.advance(4)
    with pytest.raises(LookupError, match="it broke"):
        fakekube.advance(4)
    fakekube.advance(4)  # once is enough


def test_the_next_step_raises_what_a_thread_raised(fakekube):
    def broken():
        time.sleep(5)
        raise LookupError("it broke")

    fakekube.thread(broken)
    with pytest.raises(LookupError, match="it broke"):
        fakekube.advance(10)


async def test_in_an_async_test_too(fakekube):
    async def broken():
        await asyncio.sleep(5)
        raise LookupError("it broke")

    fakekube.task(broken())
    with pytest.raises(LookupError, match="it broke"):
        await fakekube.advance(10)


def test_an_unraised_failure_is_raised_at_the_end():
    async def broken():
        raise LookupError("it broke")

    kube = FakeKube(wall_clock=False)
    kube.__enter__()
    kube.task(broken())
    engine_of(kube).bubble.settle()
    with pytest.raises(LookupError, match="it broke"):
        kube.__exit__(None, None, None)


def test_an_operator_that_cannot_start_fails_the_test(fakekube):
    def build_unknown(manager):
        async def fail():
            raise RuntimeError("cannot start")

        manager.add(fail)

    with pytest.raises(RuntimeError, match="cannot start"):
        fakekube.start(build_unknown)


def test_a_manager_instead_of_a_function_is_rejected(fakekube):
    from controllerlib import Manager

    with pytest.raises(TypeError, match="pass the function that adds the controllers"):
        fakekube.start(Manager(fakekube.access.transport()))


def test_why(fakekube):
    fakekube.apply(config_map("a"))
    fakekube.start(build(every(60)))
    why = fakekube.why()
    assert "virtual time: 2026-01-01T00:00:00+00:00" in why
    assert "controller minder: ready [], processing [], waiting ['default/a']" in why
    assert "worker minder/0" in why


# --- invalid clusters ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("argument", "value", "said"),
    [
        ("transport", "pigeon", "transport='pigeon'"),
        ("history_window", 0, "history_window=0"),
        ("patience", 0, "patience=0"),
        ("version", "1.2", "version '1.2' is not supported"),
        ("controllers", ["everything"], "controllers="),
    ],
)
def test_invalid_arguments_are_named(argument, value, said):
    with pytest.raises(ValueError, match=said):
        FakeKube(**{argument: value})


def test_two_open_clusters_are_rejected(fakekube):
    with pytest.raises(RuntimeError, match="a cluster is open in this process already"), FakeKube():
        pass
    fakekube.create(config_map("a"))
    fakekube.advance(1)


def test_one_cluster_after_the_other():
    for _ in range(2):
        with FakeKube(wall_clock=False) as kube:
            kube.create(config_map("a"))


def test_closing_twice():
    kube = FakeKube(wall_clock=False)
    with kube:
        kube.close()
    kube.close()


@pytest.mark.parametrize("seed", [7, "a name"])
def test_the_same_seed_draws_the_same(seed):
    def uid(seed):
        with FakeKube(seed=seed, wall_clock=False) as kube:
            return kube.create(config_map("a"))["metadata"]["uid"]

    assert uid(seed) == uid(seed)
    assert uid(seed) != uid("another")
