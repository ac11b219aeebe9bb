"""An update without resourceVersion that overwrites another client's write is found; other writes are not reported."""

import pytest

from fakekube.simulation.explorer import Explorer, Settings
from fakekube.simulation.scenario import ScenarioRunner
from tests.simulation.samples.definitions import API, custom, definition, find


def unguarded(zone, data):
    """The object as it was read, without its version."""
    meta = {name: value for name, value in zone["metadata"].items() if name != "resourceVersion"}
    return {**zone, "metadata": meta, "data": data}


def rebuilt(zone, data):
    """A new object, which replaces that version only."""
    meta = {name: zone["metadata"][name] for name in ("name", "namespace", "resourceVersion")}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}


async def put(client, zone, data, body):
    await client.update(body(zone, data))


async def patched(client, zone, data, body):
    await client.patch(zone, {"data": data})


def scenario(write, body):
    def build(manager):
        live = manager.api_reader

        async def reconcile(request):
            record = await find(live, API, "Record", request.name, request.namespace)
            zone = await find(live, "v1", "ConfigMap", "zone", request.namespace)
            if record is not None and (zone.get("data") or {}).get(request.name) != record["spec"]["ip"]:
                await write(live, zone, {**(zone.get("data") or {}), request.name: record["spec"]["ip"]}, body)

        manager.controller("record").for_(API, "Record").complete(reconcile)

    def run(fakekube):
        fakekube.apply(definition("Record", ip="string"))
        fakekube.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "zone"}})
        fakekube.start(build)
        fakekube.create(custom("Record", ip="10.0.0.1"))
        fakekube.advance(60)

    return run


def explored(write, body):
    runner = ScenarioRunner(scenario(write, body))
    return Explorer(runner.run, Settings(runs=30, faults=["race"]), lambda: runner.facts).explore()


@pytest.mark.slow
def test_an_update_without_resource_version_is_found():
    found = explored(put, unguarded).failed
    assert str(found.reduced.plan) == "FK1 seed=0 race(annotate)@update cm/zone{data.a}#1"
    assert str(found.violation) == (
        "O2: cm/zone loses metadata.annotations.fakekube.dev/race, which another client wrote after operator record "
        "had read it"
    )


@pytest.mark.parametrize(
    ("write", "body"), [(put, lambda zone, data: {**zone, "data": data}), (put, rebuilt), (patched, None)]
)
def test_a_guarded_update_and_a_patch_have_no_alarm(write, body):
    found = explored(write, body)
    assert found.failed is None
    assert "race" in found.coverage.exercised
