"""The agent operator of OpenTestFactory: sync kopf handlers that start threads, an outside API, commands in pods."""

import importlib
import os
import sys
import threading
from contextlib import contextmanager

import kopf
import pytest

from fakekube import ExecResult
from tests.operators.definitions import definition
from tests.operators.orchestrator import Orchestrator

API = "agent.opentestfactory.org/v1alpha1"

#: the name of the script with which an orchestrator releases an agent
RELEASE = "sh channel-2.sh"

CONTROLLERS = {"controllers": ["scheduler", "kubelet"]}

pytestmark = [
    pytest.mark.fakekube(configure=True, **CONTROLLERS),
    # clients are left to the garbage collector
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def pool(size=2, name="linux"):
    template = {"metadata": {"name": "runner"}, "spec": {"containers": [{"name": "main", "image": "maven"}]}}
    spec = {"poolSize": size, "tags": ["linux"], "template": template}
    return {"apiVersion": API, "kind": "Pool", "metadata": {"name": name, "namespace": "default"}, "spec": spec}


@contextmanager
def default_registry(registry):
    """The handlers of the modules that are imported meanwhile do not run in other operators of this process."""
    before = kopf.get_default_registry()
    kopf.set_default_registry(registry)
    try:
        yield registry
    finally:
        kopf.set_default_registry(before)


def load():
    """The operator's module as a new process has it: it keeps queues, threads and agents in globals."""
    sys.modules.pop("opentf.operator.main", None)
    with default_registry(type(kopf.get_default_registry())()) as registry:
        importlib.import_module("opentf.operator.main")
    return registry


def start(kube):
    """Serves an orchestrator on the cluster's loop, and starts the operator."""
    kube.apply(definition("pools.agent.opentestfactory.org", "Pool", "v1alpha1"))
    orchestrator = Orchestrator(kube.clock)
    kube.task(orchestrator.serve(), name="orchestrator")
    kube.settle()
    os.environ["ORCHESTRATOR_URL"] = orchestrator.url
    return orchestrator, [operator(kube)]


def operator(kube):
    """The operator as a new process has it: its module keeps queues, threads and agents in globals."""
    sys.modules.pop("opentf.operator.main", None)
    with default_registry(type(kopf.get_default_registry())()) as registry:
        importlib.import_module("opentf.operator.main")
    return kube.task(kopf.operator(registry=registry, namespaces=["default"], standalone=True), name="opentf")


def give_work(kube):
    kube.create(pool())
    kube.advance(minutes=1)


def scenario(kube):
    orchestrator, _ = start(kube)
    give_work(kube)
    kube.advance(minutes=10)
    orchestrator.order("agent-1", "sh 1.sh", RELEASE)
    kube.advance(minutes=10)
    kube.patch(API, "Pool", "linux", {"spec": {"poolSize": 4}})
    kube.advance(minutes=1)
    kube.delete(API, "Pool", "linux")
    kube.advance(minutes=1)


def agents(kube):
    return kube.get(API, "Pool", "linux")["status"]["create_agents"]["agents"]


@pytest.mark.slow
def test_refreshes_the_agents_of_a_pool_every_five_seconds(fakekube):
    orchestrator, _ = start(fakekube)
    fakekube.create(pool())
    fakekube.advance(minutes=10)

    names = [manifest["metadata"]["name"] for manifest in orchestrator.agents.values()]
    assert [name.rpartition("-")[0] for name in names] == ["linux-default"] * 2
    assert agents(fakekube) == ["agent-1", "agent-2"]
    assert orchestrator.touched == [(at, ["agent-1", "agent-2"]) for at in range(5, 601, 5)]


@pytest.mark.slow
def test_runs_commands_in_a_pod_of_its_own(fakekube):
    orchestrator, _ = start(fakekube)
    give_work(fakekube)
    ran = []

    def run(request):
        ran.append((request.pod["metadata"]["name"], request.command[-1], round(fakekube.clock.monotonic())))
        return ExecResult("one\ntwo\n", "warned\n", exit_code=3)

    fakekube.pods.on_exec(run)
    orchestrator.order("agent-2", "sh 1.sh")
    fakekube.advance(minutes=1)
    assert ran == [("runner-agent-2", "sh 1.sh", 67)]
    answer = {"stdout": ["one", "two"], "stderr": ["warned"], "exit_status": 3}
    assert orchestrator.results == [("agent-2", answer)]
    assert fakekube.exists("v1", "Pod", "runner-agent-2")

    orchestrator.order("agent-2", RELEASE)
    fakekube.advance(minutes=1)
    assert ran[1:] == [("runner-agent-2", RELEASE, 125)]
    assert not fakekube.exists("v1", "Pod", "runner-agent-2")


@pytest.mark.slow
def test_a_pod_that_does_not_start_is_given_up_after_a_minute(fakekube):
    orchestrator, _ = start(fakekube)
    give_work(fakekube)
    fakekube.pods(name="runner-agent-1").always().start_after("1h")
    orchestrator.order("agent-1", "sh 1.sh")
    fakekube.advance(minutes=5)
    polls = [r.at for r in fakekube.requests(verb="get", resource="pods", name="runner-agent-1")]
    assert polls == list(range(65, 65 + 61))
    assert orchestrator.results == []


@pytest.mark.slow
def test_an_orchestrator_that_is_down_is_asked_again_each_minute(fakekube):
    orchestrator, _ = start(fakekube)
    orchestrator.is_up = False
    fakekube.create(pool())
    fakekube.advance(minutes=10)
    assert orchestrator.agents == {}
    assert orchestrator.refused == [0, *range(60, 601, 60)]
    orchestrator.is_up = True
    fakekube.advance(minutes=1)
    assert agents(fakekube) == ["agent-1", "agent-2"]


@pytest.mark.slow
def test_the_size_of_a_pool_changes(fakekube):
    orchestrator, _ = start(fakekube)
    give_work(fakekube)
    fakekube.patch(API, "Pool", "linux", {"spec": {"poolSize": 4}})
    fakekube.settle()
    assert agents(fakekube) == [f"agent-{number}" for number in range(1, 5)] == list(orchestrator.agents)
    fakekube.patch(API, "Pool", "linux", {"spec": {"poolSize": 1}})
    fakekube.settle()
    assert len(orchestrator.agents) == 1
    assert agents(fakekube) == list(orchestrator.agents)


@pytest.mark.slow
def test_a_deleted_pool_has_no_agents_and_no_threads(fakekube):
    before = set(threading.enumerate())
    orchestrator, _ = start(fakekube)
    give_work(fakekube)
    assert len(set(threading.enumerate()) - before) > 2
    fakekube.delete(API, "Pool", "linux")
    fakekube.advance(seconds=10)
    assert orchestrator.agents == {}
    assert not fakekube.exists(API, "Pool", "linux")
    left = {thread.name.partition(" ")[2] for thread in set(threading.enumerate()) - before}
    assert left & {"(monitor_agents)", "(handle_active_agents)", "(handle_agent_command)"} == set()


# it removes the list of pods from a status that has none
@pytest.mark.slow
@pytest.mark.fakekube(detect={"noop-write": "off"})
def test_a_new_process_replaces_the_agents_that_are_lost(fakekube):
    orchestrator, (first,) = start(fakekube)
    give_work(fakekube)
    first.cancel()
    fakekube.advance(minutes=1)
    del orchestrator.agents["agent-1"]
    operator(fakekube)
    fakekube.advance(minutes=1)
    assert list(orchestrator.agents) == agents(fakekube) == ["agent-2", "agent-3"]
