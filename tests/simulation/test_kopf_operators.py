"""Correct kopf operators, which patch their own objects, have no alarm."""

import kopf
import pytest

from controllerlib import ApiError, Client
from fakekube.simulation.explorer import Explorer, Settings
from fakekube.simulation.scenario import ScenarioRunner
from tests.simulation.samples.definitions import API, custom, definition

REGISTRY = kopf.OperatorRegistry()
WORDS = (*API.split("/"), "stores")


@kopf.on.login(registry=REGISTRY)
def login(memo, **_):
    return kopf.ConnectionInfo(server=memo.server)


@kopf.on.resume(*WORDS, registry=REGISTRY)
@kopf.on.create(*WORDS, registry=REGISTRY)
@kopf.on.update(*WORDS, registry=REGISTRY)
async def ensure(name, spec, memo, patch, **_):
    """A ConfigMap has the size of the store, and the status says so."""
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}}
    try:
        found = await memo.client.get("v1", "ConfigMap", name, "default")
    except ApiError:
        try:
            found = await memo.client.create(body)
        except ApiError as error:
            raise kopf.TemporaryError("tried again", delay=5) from error
    if (found.get("data") or {}).get("size") != str(spec["size"]):
        try:
            await memo.client.patch(found, {"data": {"size": str(spec["size"])}})
        except ApiError as error:
            raise kopf.TemporaryError("tried again", delay=5) from error
    patch.status["size"] = spec["size"]


def scenario(kube):
    kube.apply(definition("Store", size="integer"))
    memo = kopf.Memo(client=Client(kube.access.transport()), server=kube.access.url)
    kube.task(kopf.operator(registry=REGISTRY, standalone=True, clusterwide=True, memo=memo))
    kube.create(custom("Store", size=1))
    kube.advance(60)
    kube.patch(API, "Store", "a", {"spec": {"size": 2}})
    kube.advance(60)


def wrong(**settings):
    runner = ScenarioRunner(scenario, cluster={"wall_clock": True})  # kopf compares times
    found = Explorer(runner.run, Settings(bugs=10, **settings), lambda: runner.facts).explore()
    assert any(trial.exercised for trial in found.trials)
    return [(str(bug.violation), str(bug.reduced.plan)) for bug in found.bugs]


@pytest.mark.slow
def test_what_a_competing_write_sets_may_be_in_the_annotation_of_kopf():
    assert wrong(runs=6, faults=["race"]) == []


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["crash", "race", "late", "pause", "error", "jump", "order"])
def test_a_kopf_operator_that_derives_its_work_has_no_alarm(fault):
    assert wrong(runs=25, faults=[fault]) == []
