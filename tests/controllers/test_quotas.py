"""The controller of ResourceQuotas: what it counts, and when it counts again."""

from datetime import timedelta

import pytest

from controllerlib import ApiError

pytestmark = pytest.mark.fakekube(controllers=["resourcequota"], rbac=True)


def quota(hard, **spec):
    meta = {"name": "q", "namespace": "default"}
    return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": meta, "spec": {"hard": hard, **spec}}


def pod(name="p", cpu="100m", **spec):
    container = {"name": "c", "image": "nginx:1", "resources": {"requests": {"cpu": cpu}} if cpu else {}}
    meta = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": [container], **spec}}


def claim(storage, storage_class=None):
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": storage}}}
    if storage_class:
        spec["storageClassName"] = storage_class
    meta = {"name": f"claim-{storage}".lower(), "namespace": "default"}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": spec}


def service(name, **spec):
    meta = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": {"ports": [{"port": 80}], **spec}}


def secret(name):
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": "default"}}


def status(fakekube):
    fakekube.settle()
    return fakekube.get("v1", "ResourceQuota", "q")["status"]


def used(fakekube):
    return status(fakekube)["used"]


@pytest.mark.parametrize(
    ("objects", "usage"),
    [
        ([pod("a"), pod("b", "250m")], {"pods": "2", "count/pods": "2", "cpu": "350m", "requests.cpu": "350m"}),
        ([pod(cpu=None)], {"pods": "1", "requests.cpu": "0"}),
        ([service("a", type="NodePort"), service("b")], {"services": "3", "services.nodeports": "1"}),
        ([service("a", type="LoadBalancer")], {"services.loadbalancers": "1", "services.nodeports": "1"}),
        (
            [claim("1Gi"), claim("2Gi", "fast")],
            {
                "persistentvolumeclaims": "2",
                "requests.storage": "3Gi",
                "fast.storageclass.storage.k8s.io/requests.storage": "2Gi",
                "fast.storageclass.storage.k8s.io/persistentvolumeclaims": "1",
            },
        ),
        ([secret("a"), secret("b")], {"secrets": "2", "count/secrets": "2"}),
        ([], {"count/deployments.apps": "0", "count/widgets.example.com": None}),
        ([], {"example.com/never": None}),
    ],
)
def test_usage_of_what_exists_when_the_quota_is_created(fakekube, objects, usage):
    for obj in objects:
        fakekube.create(obj)
    fakekube.settle()
    before = {**usage, "count/configmaps": "0"}
    fakekube.create(quota(dict.fromkeys(before, "10")))
    found = status(fakekube)
    assert found["hard"] == dict.fromkeys(before, "10")
    assert found["used"] == {name: value for name, value in before.items() if value is not None}


def test_deletions_free_usage_at_once(fakekube):
    fakekube.create(quota({"count/secrets": "2"}))
    fakekube.settle()
    fakekube.create(secret("a"))
    assert used(fakekube) == {"count/secrets": "1"}
    fakekube.delete("v1", "Secret", "a")
    assert used(fakekube) == {"count/secrets": "0"}
    users = {one.user for one in fakekube.requests(verb="update", resource="resourcequotas")}
    assert users == {"system:serviceaccount:kube-system:resourcequota-controller"}


def test_custom_resources_are_counted(fakekube):
    from tests.controllers.test_garbagecollector import definition, widget

    fakekube.create(definition())
    fakekube.create(quota({"count/widgets.example.com": "1"}))
    fakekube.settle()
    fakekube.create(widget("one"))
    assert used(fakekube) == {"count/widgets.example.com": "1"}
    fakekube.delete("example.com/v1", "Widget", "one")
    assert used(fakekube) == {"count/widgets.example.com": "0"}


def test_pods_that_have_ended_use_only_their_place(fakekube):
    fakekube.create(quota({"pods": "5", "count/pods": "5", "requests.cpu": "1"}))
    fakekube.settle()
    fakekube.create(pod())
    assert used(fakekube) == {"pods": "1", "count/pods": "1", "requests.cpu": "100m"}
    fakekube.patch("v1", "Pod", "p", {"status": {"phase": "Succeeded"}}, subresource="status")
    assert used(fakekube) == {"pods": "0", "count/pods": "1", "requests.cpu": "0"}


def test_only_objects_in_the_scopes_are_counted(fakekube):
    fakekube.create(pod("short", activeDeadlineSeconds=60))
    fakekube.create(pod("long"))
    fakekube.settle()
    fakekube.create(quota({"pods": "5", "requests.cpu": "1"}, scopes=["Terminating"]))
    assert used(fakekube) == {"pods": "1", "requests.cpu": "100m"}
    fakekube.patch("v1", "Pod", "long", {"spec": {"activeDeadlineSeconds": 60}})
    assert used(fakekube) == {"pods": "2", "requests.cpu": "200m"}


def test_new_limits_are_taken_over_and_dropped_ones_forgotten(fakekube):
    fakekube.create(quota({"pods": "5", "secrets": "5"}))
    fakekube.settle()
    changed = fakekube.get("v1", "ResourceQuota", "q")
    changed["spec"]["hard"] = {"pods": "7"}
    fakekube.update(changed)
    assert status(fakekube) == {"hard": {"pods": "7"}, "used": {"pods": "0"}}


def test_a_pod_that_outlives_its_grace_period_is_freed_by_the_full_resync(fakekube):
    fakekube.create(quota({"pods": "5"}))
    begun = fakekube.clock.now()
    fakekube.create(pod(nodeName="lost", terminationGracePeriodSeconds=60))
    fakekube.settle()
    fakekube.delete("v1", "Pod", "p")
    assert used(fakekube) == {"pods": "1"}
    fakekube.advance_until(lambda: used(fakekube) == {"pods": "0"}, "1h")
    assert fakekube.clock.now() - begun == timedelta(minutes=5)


@pytest.mark.slow
def test_it_writes_nothing_when_nothing_happens(fakekube):
    fakekube.create(quota({"pods": "5", "count/secrets": "5"}))
    fakekube.create(secret("a"))
    fakekube.settle()
    before = len(fakekube.requests())
    fakekube.advance("24h")
    assert fakekube.requests()[before:] == []


def resource_claim(*requests, name="c"):
    """A claim with requests of devices."""
    meta = {"name": name, "namespace": "default"}
    devices = {"requests": [{"name": f"r{index}", **one} for index, one in enumerate(requests)]}
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": meta, "spec": {"devices": devices}}


def exactly(count=None, device_class="gpu", **more):
    return {"exactly": {"deviceClassName": device_class, **({"count": count} if count else {}), **more}}


def of_class(name="gpu"):
    return f"{name}.deviceclass.resource.k8s.io/devices"


@pytest.mark.parametrize(
    ("requests", "usage"),
    [
        pytest.param([exactly()], {"gpu": "1"}, id="one"),
        pytest.param([exactly(3), exactly(2), exactly(4, "nic")], {"gpu": "5", "nic": "4"}, id="sums"),
        pytest.param([exactly(allocationMode="All")], {"gpu": "32"}, id="all"),
        pytest.param(
            [
                {
                    "firstAvailable": [
                        {"name": "a", "deviceClassName": "gpu", "count": 2},
                        {"name": "b", "deviceClassName": "gpu", "count": 5},
                        {"name": "c", "deviceClassName": "nic"},
                    ]
                }
            ],
            {"gpu": "5", "nic": "1"},
            id="the-most-of-alternatives",
        ),
    ],
)
def test_f5_devices_are_counted_by_class(fakekube, requests, usage):
    """F5: the controller counts, and admission charges, as `claimEvaluator.Usage` does."""
    fakekube.create(resource_claim(*requests, name="before"))
    hard = {of_class("gpu"): "100", of_class("nic"): "100", "count/resourceclaims.resource.k8s.io": "9"}
    fakekube.create(quota(hard))
    expected = {of_class(name): usage.get(name, "0") for name in ("gpu", "nic")}
    assert used(fakekube) == {**expected, "count/resourceclaims.resource.k8s.io": "1"}
    fakekube.create(resource_claim(*requests, name="after"))
    twice = {name: str(2 * int(number)) for name, number in expected.items()}
    assert used(fakekube) == {**twice, "count/resourceclaims.resource.k8s.io": "2"}


def test_f5_a_claim_beyond_the_quota_of_its_class_is_rejected(fakekube):
    fakekube.create(quota({of_class(): "4"}))
    fakekube.settle()
    fakekube.create(resource_claim(exactly(3)))
    with pytest.raises(ApiError) as refused:
        fakekube.create(resource_claim(exactly(2), name="d"))
    amounts = f"requested: {of_class()}=2, used: {of_class()}=3, limited: {of_class()}=4"
    assert refused.value.message.endswith(f"exceeded quota: q, {amounts}")
    fakekube.delete("resource.k8s.io/v1", "ResourceClaim", "c")
    fakekube.advance(1)
    fakekube.create(resource_claim(exactly(2), name="d"))
    assert used(fakekube) == {of_class(): "2"}
