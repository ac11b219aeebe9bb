"""N2: what code under test raises fails the test, whatever it is: no Exception, or the outcome of a test."""

import asyncio
import re

import kopf
import pytest

import fakekube.harness.cluster  # noqa: F401 - before pytester, which takes away what a run imports
from controllerlib import Result
from controllerlib.controller import EnqueueRequestsFromMapFunc, PredicateFuncs, RecoveredPanic
from fakekube import FakeKube
from fakekube.harness.engine import engine_of
from fakekube.virtualtime.errors import ProcessEnded
from tests.harness.operators import build, config_map
from tests.innerruns import LEAN

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p"},
    "spec": {"containers": [{"name": "c", "image": "i"}]},
}


class Own(BaseException):
    pass


def raising(error):
    def act(*args, **options):
        raise error

    return act


def raising_async(error):
    async def act(*args, **options):
        raise error

    return act


# --- reconciles


@pytest.mark.parametrize("make", [raising, raising_async], ids=["sync", "async"])
@pytest.mark.parametrize("error", [Own("own"), GeneratorExit("own"), StopIteration("own")], ids=repr)
def test_n2_a_reconcile_that_raises_no_exception_is_recorded_and_fails_the_test(error, make):
    with FakeKube() as kube:
        kube.create(config_map("a"))
        operator = kube.start(build(make(error)))
        kube.advance(1)
        assert operator.is_running
        history = operator["minder"].history("default/a")
        assert len(history) > 5
        assert {one.label for one in history} == {"error"}
        causes = [history[0].error, history[0].error.__cause__]
        assert any(one is error for one in causes) or "StopIteration" in str(causes[0])
        assert "failed: " in str(kube.timeline.by("minder"))
        kube.findings.allow("reconcile-error", reason="read below")
        engine_of(kube).check_findings(raising=False)
    found = [one.detector for one in engine_of(kube).detection._findings.values()]
    assert found == ["reconcile-error"]


async def test_n2_a_reconcile_goes_on_with_other_keys(fakekube):
    async def reconcile(request):
        if request.name == "bad":
            raise Own("own")
        return Result()

    fakekube.create(config_map("bad"))
    fakekube.create(config_map("good"))
    operator = await fakekube.start(build(reconcile))
    await fakekube.advance(1)
    fakekube.patch("v1", "ConfigMap", "good", {"data": {"x": "1"}})
    await fakekube.settle()
    assert operator["minder"].results("default/good") == ["success", "success"]
    assert all(isinstance(one, RecoveredPanic) for one in operator["minder"].errors("default/bad"))


def with_recovery_off(manager):
    controller = manager.controller("minder").for_("v1", "ConfigMap").with_options(recover_panic=False)
    controller.complete(raising_async(Own("own")))


@pytest.mark.slow
def test_n2_a_manager_that_ends_by_no_exception_fails_the_next_step(fakekube):
    fakekube.create(config_map("a"))
    with pytest.raises(Own):
        fakekube.start(with_recovery_off)
    (operator,) = engine_of(fakekube).background.operators
    assert not operator.is_running
    assert [type(one.error) for one in operator["minder"].history()] == [Own]


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt()], ids=repr)
def test_n2_a_reconcile_that_ends_the_process_is_recorded(fakekube, error):
    fakekube.create(config_map("a"))
    operator = engine_of(fakekube).operators.make(build(raising_async(error)))
    operator.begin(engine_of(fakekube).bubble.loop)
    with pytest.raises(type(error)):
        fakekube.settle()
    assert [one.error for one in operator["minder"].history()] == [error]


def predicate(controller, error):
    return controller.with_event_filter(PredicateFuncs(create=raising(error)))


def mapping(controller, error):
    return controller.watches("v1", "ConfigMap", EnqueueRequestsFromMapFunc(raising(error)))


@pytest.mark.parametrize("part", [predicate, mapping])
@pytest.mark.parametrize("error", [Own("own"), GeneratorExit("own")], ids=repr)
def test_n2_parts_of_a_controller(fakekube, part, error):
    async def reconcile(request):
        pass

    def add(manager):
        part(manager.controller("minder").for_("v1", "ConfigMap"), error).complete(reconcile)

    fakekube.create(config_map("a"))
    with pytest.raises((Own, RuntimeError), match=r"own|GeneratorExit"):
        fakekube.start(add)


# --- tasks, threads, handlers


@pytest.mark.parametrize("error", [Own("own"), GeneratorExit("own"), asyncio.CancelledError("own")], ids=repr)
def test_n2_a_task_and_a_thread(fakekube, error):
    fakekube.task(raising_async(error)())
    with pytest.raises(type(error), match="own"):
        fakekube.settle()
    fakekube.thread(raising(error))
    with pytest.raises(type(error), match="own"):
        fakekube.settle()


def test_n2_tasks_that_are_cancelled_have_not_failed():
    async def waits_for(task):
        await task

    async def sleeps():
        await asyncio.sleep(60)

    with FakeKube() as kube:
        cancelled = kube.task(sleeps())
        kube.settle()
        cancelled.cancel()
        kube.settle()
        child = kube.task(sleeps())
        kube.task(waits_for(child))
        kube.settle()


def test_n2_the_exit_of_a_thread(fakekube):
    fakekube.thread(raising(SystemExit()))
    fakekube.thread(raising(SystemExit(0)))
    fakekube.settle()
    fakekube.thread(raising(SystemExit("no configuration")), name="main")
    with pytest.raises(ProcessEnded, match=r"thread main called sys.exit\('no configuration'\)"):
        fakekube.settle()


def test_n2_a_handler_of_the_server(fakekube):
    from kubernetes import client
    from urllib3.exceptions import HTTPError

    fakekube.create(POD)
    fakekube.pods.on_logs(raising(Own("own")))
    with pytest.raises((Own, HTTPError)):  # which of both depends on the transport
        client.CoreV1Api(fakekube.access.api_client()).read_namespaced_pod_log("p", "default")
    with pytest.raises(Own):
        fakekube.settle()


# --- outcomes of the test, and kopf

OUTCOMES = """
import asyncio
import kopf
import pytest
from kubernetes import client

CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}

def fail(*args, **options):
    pytest.fail("in the code under test")

async def fail_async(*args, **options):
    fail()

def reconciles(reconcile):
    return lambda manager: manager.controller("c").for_("v1", "ConfigMap").complete(reconcile)

def of_kopf(fakekube, decorate, handler):
    registry = kopf.OperatorRegistry()
    kopf.on.login(registry=registry)(lambda **_: kopf.ConnectionInfo(server=fakekube.access.url))
    decorate("configmaps", registry=registry)(handler)
    settings = kopf.OperatorSettings()
    settings.posting.enabled = False
    return {"registry": registry, "settings": settings, "clusterwide": True, "standalone": True}

def in_thread(fakekube):
    fakekube.thread(fail)

def in_task(fakekube):
    fakekube.task(fail_async())

def in_reconcile(fakekube):
    fakekube.start(reconciles(fail_async))

def in_plain_reconcile(fakekube):
    fakekube.start(reconciles(lambda request: fail()))

def in_fault(fakekube):
    async def reconcile(request, client):
        await client.create({**CONFIG_MAP, "metadata": {"name": "b"}})
    fakekube.fault(verb="create", resource="configmaps", error=500, before=fail)
    fakekube.start(reconciles(reconcile))

def in_kopf(fakekube):
    fakekube.task(kopf.operator(**of_kopf(fakekube, kopf.on.create, fail_async)))

def in_plain_handler_of_kopf(fakekube):
    fakekube.task(kopf.operator(**of_kopf(fakekube, kopf.on.create, fail)))

def in_daemon(fakekube):
    fakekube.task(kopf.operator(**of_kopf(fakekube, kopf.daemon, fail_async)))

def in_kopf_in_a_thread(fakekube):
    options = of_kopf(fakekube, kopf.on.create, fail_async)
    fakekube.thread(lambda: kopf.run(**options))

def in_a_daemon_in_a_thread(fakekube):
    options = of_kopf(fakekube, kopf.daemon, fail_async)
    fakekube.thread(lambda: kopf.run(**options))

@pytest.mark.parametrize("where", [
    in_thread, in_task, in_reconcile, in_plain_reconcile, in_fault, in_kopf, in_plain_handler_of_kopf, in_daemon,
    in_kopf_in_a_thread, in_a_daemon_in_a_thread,
])
def test_it(fakekube, where):
    fakekube.create(CONFIG_MAP)
    where(fakekube)
    fakekube.advance(10)
    fakekube.create({**CONFIG_MAP, "metadata": {"name": "c"}})
    fakekube.advance(10)
"""


@pytest.mark.slow
def test_n2_the_outcome_of_a_test_is_raised_wherever_it_occurs(pytester):
    assert kopf
    pytester.makepyfile(OUTCOMES)
    result = pytester.runpytest_inprocess(*LEAN, "--tb=short", "-Wignore")
    shown = result.stdout.str()
    named = re.findall(r"^(?:FAILED|ERROR) \S+::test_it\[(\w+)\]", shown, re.M)
    assert len(set(named)) == 10, "that of a daemon may end with its loop, which is in the tear-down"
    assert shown.count("in the code under test") >= 10
