"""The controller of the ResourceClaims of pods, against what resourceclaim-controller does."""

import pytest

API = "resource.k8s.io/v1"
FINALIZER = "resource.kubernetes.io/delete-protection"
DEVICES = {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com"}}]}

pytestmark = pytest.mark.fakekube(controllers=["resourceclaim-controller"], rbac=True)


def template(name="gpu"):
    spec = {"metadata": {"labels": {"a": "1"}}, "spec": {"devices": DEVICES}}
    meta = {"name": name, "namespace": "default"}
    return {"apiVersion": API, "kind": "ResourceClaimTemplate", "metadata": meta, "spec": spec}


def pod(name="p", *, node=None, **reference):
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            **({"nodeName": node} if node else {}),
            "containers": [{"name": "c", "image": "nginx:1"}],
            "resourceClaims": [{"name": "device", **(reference or {"resourceClaimTemplateName": "gpu"})}],
        },
    }


def claims(fakekube):
    return fakekube.list(API, "ResourceClaim")


def allocate(fakekube, name, *pods):
    """Allocate a claim for pods, as the scheduler does."""
    fakekube.patch(API, "ResourceClaim", name, {"metadata": {"finalizers": [FINALIZER]}})
    reserved = [{"resource": "pods", "name": one["metadata"]["name"], "uid": one["metadata"]["uid"]} for one in pods]
    status = {"allocation": {"devices": {}}, "reservedFor": reserved}
    fakekube.patch(API, "ResourceClaim", name, {"status": status}, subresource="status")


def finish(fakekube, name="p"):
    fakekube.patch("v1", "Pod", name, {"status": {"phase": "Succeeded"}}, subresource="status")


def test_a_claim_is_created_from_the_template_and_named_in_the_status(fakekube):
    fakekube.create(template())
    made = fakekube.create(pod())
    fakekube.settle()
    (claim,) = claims(fakekube)
    meta = claim["metadata"]
    assert meta["generateName"] == "p-device-"
    assert meta["annotations"] == {"resource.kubernetes.io/pod-claim-name": "device"}
    assert meta["labels"] == {"a": "1"}
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": made["metadata"]["uid"], "controller": True}
    assert meta["ownerReferences"] == [owner]
    status = fakekube.get("v1", "Pod", "p")["status"]
    assert status["resourceClaimStatuses"] == [{"name": "device", "resourceClaimName": meta["name"]}]


def test_a_long_name_is_shortened_in_both_parts(fakekube):
    fakekube.create(template())
    fakekube.create(pod("p" * 100))
    fakekube.settle()
    (claim,) = claims(fakekube)
    assert claim["metadata"]["generateName"] == "p" * 52 + "-" + "dev"


def test_a_missing_template_is_an_event_until_it_is_there(fakekube):
    fakekube.create(pod())
    fakekube.settle()
    (event,) = fakekube.list("v1", "Event")
    missing = 'resource claim template "gpu": resourceclaimtemplate.resource.k8s.io "gpu" not found'
    assert (event["reason"], event["message"]) == (
        "FailedResourceClaimCreation",
        f"PodResourceClaim device: {missing}",
    )
    fakekube.create(template())
    fakekube.settle()
    assert len(claims(fakekube)) == 1


def test_a_claim_that_was_deleted_is_created_again(fakekube):
    fakekube.create(template())
    fakekube.create(pod())
    fakekube.settle()
    (claim,) = claims(fakekube)
    fakekube.delete(API, "ResourceClaim", claim["metadata"]["name"])
    fakekube.settle()
    (other,) = claims(fakekube)
    assert other["metadata"]["uid"] != claim["metadata"]["uid"]


def test_the_claim_of_a_pod_that_has_ended_is_released_and_deleted(fakekube):
    fakekube.create(template())
    made = fakekube.create(pod(node="n1"))
    fakekube.settle()
    (claim,) = claims(fakekube)
    allocate(fakekube, claim["metadata"]["name"], made)
    fakekube.settle()
    assert len(claims(fakekube)) == 1
    finish(fakekube)
    fakekube.settle()
    assert claims(fakekube) == []


def test_a_shared_claim_is_released_by_each_pod_and_deallocated_by_the_last(fakekube):
    meta = {"name": "shared", "namespace": "default"}
    fakekube.create({"apiVersion": API, "kind": "ResourceClaim", "metadata": meta, "spec": {"devices": DEVICES}})
    first = fakekube.create(pod("first", node="n1", resourceClaimName="shared"))
    second = fakekube.create(pod("second", node="n1", resourceClaimName="shared"))
    allocate(fakekube, "shared", first, second)
    fakekube.settle()
    finish(fakekube, "first")
    fakekube.settle()
    (claim,) = claims(fakekube)
    assert [one["name"] for one in claim["status"]["reservedFor"]] == ["second"]
    fakekube.delete("v1", "Pod", "second")
    finish(fakekube, "second")
    fakekube.settle()
    (claim,) = claims(fakekube)
    assert "status" not in claim or not claim["status"].get("allocation")
    assert "finalizers" not in claim["metadata"]


def test_an_allocated_claim_is_reserved_for_a_pod_that_has_a_node(fakekube):
    meta = {"name": "shared", "namespace": "default"}
    fakekube.create({"apiVersion": API, "kind": "ResourceClaim", "metadata": meta, "spec": {"devices": DEVICES}})
    made = fakekube.create(pod(node="n1", resourceClaimName="shared"))
    allocate(fakekube, "shared")
    fakekube.settle()
    (claim,) = claims(fakekube)
    consumer = {"resource": "pods", "name": "p", "uid": made["metadata"]["uid"]}
    assert claim["status"]["reservedFor"] == [consumer]


def test_a_reservation_of_a_pod_that_never_was_is_removed(fakekube):
    meta = {"name": "shared", "namespace": "default"}
    fakekube.create({"apiVersion": API, "kind": "ResourceClaim", "metadata": meta, "spec": {"devices": DEVICES}})
    allocate(fakekube, "shared", {"metadata": {"name": "gone", "uid": "1"}})
    fakekube.settle()
    (claim,) = claims(fakekube)
    assert not (claim.get("status") or {}).get("reservedFor")
    gets = fakekube.requests(verb="get", resource="pods")
    assert [record.name for record in gets] == ["gone"]


def test_a_protected_claim_that_nothing_uses_can_be_deleted(fakekube):
    meta = {"name": "shared", "namespace": "default"}
    fakekube.create({"apiVersion": API, "kind": "ResourceClaim", "metadata": meta, "spec": {"devices": DEVICES}})
    allocate(fakekube, "shared")
    fakekube.delete(API, "ResourceClaim", "shared")
    fakekube.settle()
    assert claims(fakekube) == []


def test_nothing_is_requested_at_rest(fakekube):
    fakekube.create(template())
    fakekube.create(pod())
    fakekube.settle()
    before = len(fakekube.requests())
    fakekube.advance(hours=24)
    assert {record.verb for record in fakekube.requests()[before:]} <= {"watch"}
