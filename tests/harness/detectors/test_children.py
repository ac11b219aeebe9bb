"""Owner references of children."""

import pytest

from controllerlib import create_or_update, set_controller_reference, set_owner_reference
from tests.harness.detectors.scenes import read, run, texts
from tests.harness.planted import API

OWNS = [("v1", "ConfigMap"), ("v1", "Namespace")]


def child(namespace="default", kind="ConfigMap"):
    meta = {"name": "a-settings", **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": "v1", "kind": kind, "metadata": meta}


def creating(obj, own=lambda owner, obj: obj):
    async def reconcile(request, client):
        await create_or_update(client, own(await read(client, request), obj), lambda found: None)

    return reconcile


@pytest.mark.parametrize("obj", [child("kube-public"), child("", "Namespace")], ids=["namespaced", "cluster-scoped"])
def test_a_child_outside_of_the_owners_namespace_cannot_have_a_reference(kube, obj):
    run(kube, creating(obj), owns=OWNS)
    assert texts(kube) == []


def test_a_reference_that_is_not_the_controllers(kube):
    run(kube, creating(child(), set_owner_reference), owns=OWNS)
    (text,) = texts(kube)
    assert text == (
        "[missing-owner] c reconciling default/a [added] created ConfigMap default/a-settings with an owner reference "
        "to a Database that is not its controller: owns() ignores its changes; use set_controller_reference, or "
        "owns(..., match_every_owner=True)"
    )


def test_a_reference_to_a_kind_of_the_same_name_in_another_group(kube):
    def own(owner, obj):
        return set_controller_reference({**owner, "apiVersion": API.replace("planted", "other")}, obj)

    run(kube, creating(child(), own), owns=OWNS)
    (text,) = texts(kube)
    assert "without an owner reference to a Database" in text


def test_the_reference_of_the_controller(kube):
    run(kube, creating(child(), set_controller_reference), owns=OWNS)
    assert texts(kube) == []
