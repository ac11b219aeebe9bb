"""What a test pays for its cluster, and a test run for the installed plugin.

Goals: set-up and tear-down of a fresh cluster at most 5 ms (median), 12 ms with the wall clock frozen; a run that does
not use the plugin pays at most 30 ms for it.
"""

import os
import resource
import subprocess
import sys

import pytest

from controllerlib import Result
from fakekube import FakeKube

MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}}


@pytest.mark.benchmark(group="a cluster, set up and torn down")
@pytest.mark.parametrize("wall_clock", [False, True], ids=["", "wall clock frozen"])
@pytest.mark.parametrize("rbac", [False, True], ids=["", "rbac"])
def test_a_cluster(benchmark, wall_clock, rbac):
    def cluster():
        with FakeKube(wall_clock=wall_clock, rbac=rbac):
            pass

    benchmark.pedantic(cluster, rounds=200, warmup_rounds=5)


def definition(number):
    names = {"plural": f"things{number}", "singular": f"thing{number}", "kind": f"Thing{number}"}
    text = {"type": "string"}
    spec = {
        "type": "object",
        "properties": {"size": {"type": "integer"}, "name": text, "tags": {"type": "array", "items": text}},
    }
    status = {"type": "object", "properties": {"ready": {"type": "boolean"}}}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": status}}}
    version = {"name": "v1", "served": True, "storage": True, "subresources": {"status": {}}, "schema": schema}
    kind = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    return {**kind, "metadata": {"name": f"things{number}.example.com"}, "spec": spec}


@pytest.mark.benchmark(group="a cluster with ten definitions")
@pytest.mark.parametrize("restored", [False, True], ids=["applied", "restored"])
def test_a_cluster_with_definitions(benchmark, restored):
    """Goal: at most 2 ms from a snapshot."""
    definitions = [definition(number) for number in range(10)]
    with FakeKube(wall_clock=False) as kube:
        kube.apply(*definitions)
        saved = kube.state.snapshot()

    def cluster():
        with FakeKube(wall_clock=False) as kube:
            kube.state.restore(saved) if restored else kube.apply(*definitions)

    benchmark.pedantic(cluster, rounds=100, warmup_rounds=5)


@pytest.mark.benchmark(group="a cluster, set up and torn down")
@pytest.mark.parametrize("transport", ["direct", "memory", "tcp"])
def test_a_cluster_with_an_operator(benchmark, transport):
    """One controller, one object, an hour of minutes."""

    def build(manager):
        async def reconcile(request):
            return Result(requeue_after=60)

        manager.controller("minder").for_("v1", "ConfigMap").complete(reconcile)

    def cluster():
        with FakeKube(wall_clock=False, transport=transport) as kube:
            kube.create(MAP)
            kube.start(build)
            kube.advance(hours=1)

    benchmark.pedantic(cluster, rounds=30, warmup_rounds=3)


def cpu_of_children():
    """Seconds of processor time: steadier than the clock where others are at work, too."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@pytest.mark.benchmark(group="a test run that needs no cluster (processor time)", timer=cpu_of_children)
@pytest.mark.parametrize("options", [(), ("-p", "no:fakekube")], ids=["with the plugin", "without it"])
def test_a_run_without_a_cluster(benchmark, options, tmp_path):
    test = tmp_path / "test_nothing.py"
    test.write_text("def test_nothing():\n    pass\n")
    lean = [f"-pno:{name}" for name in ("cacheprovider", "benchmark", "hypothesispytest", "anyio", "xdist")]
    command = [sys.executable, "-m", "pytest", "-q", *lean, *options, str(test)]

    # compiled modules are kept, as they are on every user's machine
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

    def run():
        subprocess.run(command, cwd=tmp_path, env=env, check=True, capture_output=True)

    benchmark.pedantic(run, rounds=20, warmup_rounds=2)
