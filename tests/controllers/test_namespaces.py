"""The controllers of namespaces: their end, their service account, and the root CA."""

from datetime import timedelta

import pytest


def create_namespace(fakekube, name="team"):
    fakekube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    fakekube.settle()


def config_map(name, **meta):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "team", **meta}}


def pod(grace=30, **meta):
    spec = {"containers": [{"name": "c", "image": "nginx:1"}], "nodeName": "n", "terminationGracePeriodSeconds": grace}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "team", **meta}, "spec": spec}


def delete_namespace(fakekube, name="team"):
    """Delete a namespace; returns a function with the time since then."""
    begun = fakekube.clock.now()
    fakekube.delete("v1", "Namespace", name, "")
    fakekube.settle()
    return lambda: fakekube.clock.now() - begun


def is_gone(fakekube, name="team"):
    return lambda: not fakekube.exists("v1", "Namespace", name, "")


def conditions(fakekube):
    found = fakekube.get("v1", "Namespace", "team", "")["status"].get("conditions") or ()
    return {one["type"]: (one["status"], one["reason"], one["message"]) for one in found}


@pytest.mark.fakekube(controllers=["namespace"], rbac=True)
def test_a_namespace_is_emptied_after_five_seconds(fakekube):
    create_namespace(fakekube)
    fakekube.create(config_map("a"))
    since = delete_namespace(fakekube)
    fakekube.advance(4.9)
    assert fakekube.exists("v1", "ConfigMap", "a", "team")
    fakekube.advance_until(is_gone(fakekube), "1m")
    assert since() == timedelta(seconds=5)
    users = {one.user for one in fakekube.requests(verb="deletecollection")}
    assert users == {"system:serviceaccount:kube-system:namespace-controller"}


@pytest.mark.fakekube(controllers=["namespace"])
def test_content_with_finalizers_is_looked_at_every_eight_seconds(fakekube):
    create_namespace(fakekube)
    fakekube.create(config_map("a", finalizers=["example.com/hold"]))
    delete_namespace(fakekube)
    fakekube.advance(5)
    found = conditions(fakekube)
    assert found["NamespaceContentRemaining"] == (
        "True",
        "SomeResourcesRemain",
        "Some resources are remaining: configmaps. has 1 resource instances",
    )
    assert found["NamespaceFinalizersRemaining"][2].endswith("example.com/hold in 1 resource instances")
    assert found["NamespaceDeletionContentFailure"][0] == "False"
    writes = len(fakekube.requests(verb="update", resource="namespaces"))
    fakekube.advance(24)
    times = fakekube.controllers["namespace"].times("team")
    # The write of the conditions is an event as well, which is attended to five seconds later.
    assert [time.total_seconds() for time in times][:2] == [0, 5]
    assert len(fakekube.requests(verb="update", resource="namespaces")) == writes
    fakekube.patch("v1", "ConfigMap", "a", {"metadata": {"finalizers": None}}, "team")
    fakekube.advance_until(is_gone(fakekube), "1m")


@pytest.mark.fakekube(controllers=["namespace"])
def test_pods_go_first_and_the_rest_waits_for_them(fakekube):
    create_namespace(fakekube)
    fakekube.create(pod(grace=60))
    fakekube.create(config_map("a"))
    delete_namespace(fakekube)
    fakekube.advance(6)
    assert fakekube.get("v1", "Pod", "p", "team")["metadata"]["deletionGracePeriodSeconds"] == 60
    assert fakekube.exists("v1", "ConfigMap", "a", "team")
    assert conditions(fakekube)["NamespaceContentRemaining"][0] == "False"
    fakekube.delete("v1", "Pod", "p", "team", gracePeriodSeconds=0)
    fakekube.advance_until(is_gone(fakekube), "2m")


@pytest.mark.fakekube(controllers=["namespace"])
def test_pods_that_stay_beyond_their_grace_period_are_a_failure(fakekube):
    create_namespace(fakekube)
    fakekube.create(pod(grace=1))
    delete_namespace(fakekube)
    fakekube.advance(5)
    message = "unexpected items still remain in namespace: team for gvr: /v1, Resource=pods"
    failure = f"Failed to delete all resource types, 1 remaining: {message}"
    assert conditions(fakekube)["NamespaceDeletionContentFailure"] == ("True", "ContentDeletionFailed", failure)


@pytest.mark.fakekube(controllers=["namespace"])
def test_a_finalizer_of_others_in_the_spec_keeps_the_namespace(fakekube):
    create_namespace(fakekube)
    namespace = fakekube.get("v1", "Namespace", "team", "")
    namespace["spec"]["finalizers"] += ["example.com/hold", "example.com/before"]
    fakekube.update(namespace, subresource="finalize")
    delete_namespace(fakekube)
    fakekube.advance("10m")
    left = fakekube.get("v1", "Namespace", "team", "")["spec"]["finalizers"]
    assert left == ["example.com/before", "example.com/hold"]


@pytest.mark.slow
@pytest.mark.fakekube(controllers=["namespace"])
def test_failures_are_retried_with_a_longer_delay_up_to_a_minute(fakekube):
    create_namespace(fakekube)
    fault = fakekube.fault(verb="deletecollection", resource="secrets", error=500)
    delete_namespace(fakekube)
    fakekube.advance("20m")
    assert conditions(fakekube)["NamespaceDeletionContentFailure"][0] == "True"
    times = fakekube.controllers["namespace"].times("team")
    assert times[-1] - times[-2] == timedelta(seconds=60)
    fault.disarm()
    fakekube.advance("61s")
    assert is_gone(fakekube)()


@pytest.mark.fakekube(controllers=["serviceaccount-controller", "root-ca-cert-publisher"], rbac=True)
def test_each_namespace_has_an_account_and_the_root_ca(fakekube):
    create_namespace(fakekube)
    fakekube.delete("v1", "ServiceAccount", "default", "team")
    fakekube.delete("v1", "ConfigMap", "kube-root-ca.crt", "team")
    fakekube.settle()
    assert fakekube.exists("v1", "ServiceAccount", "default", "team")
    published = fakekube.get("v1", "ConfigMap", "kube-root-ca.crt", "team")
    assert published["data"]["ca.crt"].startswith("-----BEGIN CERTIFICATE-----")
    assert fakekube.exists("v1", "ConfigMap", "kube-root-ca.crt", "kube-system")
    fakekube.patch("v1", "ConfigMap", "kube-root-ca.crt", {"data": {"ca.crt": "other"}}, "team")
    fakekube.settle()
    assert fakekube.get("v1", "ConfigMap", "kube-root-ca.crt", "team")["data"] == published["data"]


@pytest.mark.fakekube(controllers=["serviceaccount", "root-ca-cert-publisher", "namespace"])
def test_a_namespace_that_is_deleted_gets_nothing_again(fakekube):
    create_namespace(fakekube)
    delete_namespace(fakekube)
    fakekube.advance_until(is_gone(fakekube), "1m")
    assert not fakekube.requests(verb="create", namespace="team", code=403)


@pytest.mark.parametrize(
    ("marked", "mounted"), [(["serviceaccount"], True), (["*"], False), (["*", "serviceaccount-controller"], True)]
)
def test_admission_of_accounts_is_on_if_their_controller_is_named(marked, mounted):
    from fakekube import FakeKube

    with FakeKube(controllers=marked) as fakekube:
        spec = {"containers": [{"name": "c", "image": "nginx:1"}]}
        meta = {"name": "p", "namespace": "default"}
        made = fakekube.create({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})
        assert ("volumes" in made["spec"]) is mounted


@pytest.mark.fakekube(controllers=["namespace", "serviceaccount", "root-ca-cert-publisher"])
def test_they_are_idle_when_nothing_happens(fakekube):
    create_namespace(fakekube)
    before = len(fakekube.requests())
    fakekube.advance("24h")
    assert fakekube.requests()[before:] == []
