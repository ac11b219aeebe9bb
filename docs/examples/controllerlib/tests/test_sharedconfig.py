"""What the operator does, with the role of `deploy/rbac.yaml`: when, how often and why."""

from pathlib import Path

import pytest
from sharedconfig import API, build

DEPLOY = Path(__file__).parent.parent / "deploy"
TEAM = {"team": "shop"}

pytestmark = pytest.mark.fakekube(rbac=True)


def namespace(name, **labels):
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def shared(**data):
    spec = {"namespaces": TEAM, "data": data}
    return {"apiVersion": API, "kind": "SharedConfig", "metadata": {"name": "proxy"}, "spec": spec}


@pytest.fixture
def controller(fakekube):
    fakekube.apply(DEPLOY, namespace("a", **TEAM), namespace("b", **TEAM), namespace("other"))
    fakekube.create(shared(host="proxy:3128"))
    return fakekube.start(build, service_account="default/sharedconfig")["sharedconfig"]


def copies(fakekube):
    found = fakekube.list("v1", "ConfigMap", namespace=None, label_selector="example.com/shared-config=proxy")
    return {copy["metadata"]["namespace"]: copy["data"] for copy in found}


def test_the_namespaces_of_the_team_have_a_copy(fakekube, controller):
    assert copies(fakekube) == {"a": {"host": "proxy:3128"}, "b": {"host": "proxy:3128"}}
    assert fakekube.get(API, "SharedConfig", "proxy")["status"] == {"namespaces": 2}


def test_a_change_reaches_every_copy(fakekube, controller):
    fakekube.patch(API, "SharedConfig", "proxy", {"spec": {"data": {"host": "proxy:8080"}}})
    fakekube.settle()
    assert copies(fakekube) == {"a": {"host": "proxy:8080"}, "b": {"host": "proxy:8080"}}


def test_a_copy_that_is_edited_or_deleted_comes_back(fakekube, controller):
    fakekube.patch("v1", "ConfigMap", "proxy", {"data": {"host": "mine"}}, namespace="a")
    fakekube.delete("v1", "ConfigMap", "proxy", namespace="b")
    fakekube.settle()
    assert copies(fakekube) == {"a": {"host": "proxy:3128"}, "b": {"host": "proxy:3128"}}


def test_a_namespace_that_leaves_the_team_loses_its_copy(fakekube, controller):
    fakekube.patch("v1", "Namespace", "b", {"metadata": {"labels": {"team": None}}})
    fakekube.settle()
    assert set(copies(fakekube)) == {"a"}
    assert fakekube.get(API, "SharedConfig", "proxy")["status"] == {"namespaces": 1}


def test_nothing_happens_for_a_day_but_resyncs(fakekube, controller):
    before = controller.reconciles("proxy")
    fakekube.advance(hours=24)
    assert controller.causes("proxy")[before:] == ["resync", "resync"]
    fakekube.findings.assert_no_writes_at_rest()


def test_the_role_is_enough(fakekube, controller):
    fakekube.patch("v1", "Namespace", "b", {"metadata": {"labels": {"team": None}}})
    fakekube.patch(API, "SharedConfig", "proxy", {"spec": {"data": {"host": "proxy:8080"}}})
    fakekube.settle()
    report = fakekube.access.rbac_report(service_account="default/sharedconfig")
    assert report.missing == []


@pytest.mark.fakekube_explore(budget="smoke")
def test_the_copies_are_right_whatever_fails(fakekube):
    fakekube.apply(DEPLOY, namespace("a", **TEAM), namespace("b", **TEAM))
    fakekube.start(build, service_account="default/sharedconfig")
    fakekube.create(shared(host="proxy:3128"))
    fakekube.settle()
    fakekube.patch("v1", "Namespace", "b", {"metadata": {"labels": {"team": None}}})
    fakekube.settle()
    assert set(copies(fakekube)) == {"a"}
