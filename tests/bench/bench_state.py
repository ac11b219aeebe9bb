"""What a snapshot costs. Goal: snapshot and restore of 1,000 objects take at most 1 ms together."""

import pytest

from fakekube import FakeKube
from tests.harness.operators import definition


@pytest.fixture
def kube():
    with FakeKube(wall_clock=False) as kube:
        kube.apply(definition())
        for number in range(500):
            kube.create(
                {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"c-{number}"}, "data": {"a": "b"}}
            )
            kube.create({"apiVersion": "example.com/v1", "kind": "Backup", "metadata": {"name": f"b-{number}"}})
        yield kube


@pytest.mark.benchmark(group="a snapshot of 1,000 objects")
def test_snapshot_and_restore(benchmark, kube):
    def both():
        kube.state.restore(kube.state.snapshot())

    benchmark.pedantic(both, rounds=300, warmup_rounds=5)


@pytest.mark.benchmark(group="a snapshot of 1,000 objects")
def test_restore_while_an_operator_runs(benchmark, kube):
    saved = kube.state.snapshot()

    def build(manager):
        async def reconcile(request):
            return None

        manager.controller("minder").for_("v1", "Secret").complete(reconcile)

    kube.start(build)
    benchmark.pedantic(lambda: kube.state.restore(saved), rounds=300, warmup_rounds=5)


@pytest.mark.benchmark(group="a snapshot of 1,000 objects")
def test_restore_in_a_fresh_cluster(benchmark, kube):
    """With set-up and tear-down of the cluster, as each test of a module with a shared cluster has them."""
    saved = kube.state.snapshot()
    kube.close()

    def fresh():
        with FakeKube(wall_clock=False) as other:
            other.state.restore(saved)

    benchmark.pedantic(fresh, rounds=100, warmup_rounds=5)
