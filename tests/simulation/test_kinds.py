"""The names of kinds in anchors: short where that is unique."""

import pytest

from fakekube import FakeKube
from fakekube.harness.engine import engine_of
from fakekube.simulation.running.recorder import Kinds
from tests.simulation.samples.definitions import API, GROUP, custom, definition, find, report
from tests.simulation.storeoperator import ran


def names(*definitions):
    with FakeKube() as kube:
        kube.apply(*definitions)
        catalog = engine_of(kube).server.apiserver.catalog
        kinds = Kinds(catalog.resources())
        return {one.qualified: kinds.name(one.collection) for one in catalog.resources()}


def test_built_in_kinds_have_names_of_their_own():
    found = names(definition("Store"))
    by_collection = {qualified: name for qualified, name in found.items() if qualified != "events.events.k8s.io"}
    assert len(set(by_collection.values())) == len(by_collection)
    assert not [name for name in found.values() if "." in name]
    assert (found["services"], found["configmaps"], found["jobs.batch"], found[f"stores.{GROUP}"]) == (
        "svc", "cm", "job", "store"
    )  # fmt: skip


@pytest.mark.parametrize(("kind", "other", "short"), [("Job", "jobs.batch", "job"), ("Svc", "services", "svc")])
def test_a_custom_kind_with_the_name_of_a_built_in_one_has_its_group(kind, other, short):
    found = names(definition(kind))
    assert (found[other], found[f"{kind.lower()}s.{GROUP}"]) == (short, f"{short}.{GROUP}")


def test_objects_of_both_kinds_are_distinguished():
    def scenario(fakekube):
        async def reconcile(request, client):
            svc = await find(client, API, "Svc", request.name, request.namespace)
            if svc is not None:
                await report(client, svc, seen=True)

        fakekube.apply(definition("Svc", size="integer"))
        fakekube.create(
            {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "spec": {"ports": [{"port": 1}]}}
        )
        fakekube.start(lambda manager: manager.controller("svc").for_(API, "Svc").complete(reconcile))
        fakekube.create(custom("Svc", size=1))
        fakekube.settle()

    observed = ran(f"crash@create svc.{GROUP}/a#1", scenario)[0]
    assert observed.fired == (0,)
    assert {"svc/a", f"svc.{GROUP}/a"} <= observed.final.keys()
