"""The controllers that protect volumes, claims and classes in use, make claims, and let them grow."""

import pytest

from tests.controllers.volumes import claim, events_of, get_claim, pod_with, volume, writes

PROTECTIONS = ["pvc-protection", "pv-protection", "volumeattributesclass-protection-controller"]


def remove_finalizers(fakekube, kind, name):
    fakekube.patch("v1", kind, name, {"metadata": {"finalizers": None}})


@pytest.mark.fakekube(controllers=PROTECTIONS, rbac=True)
@pytest.mark.parametrize(("kind", "made"), [("PersistentVolumeClaim", claim()), ("PersistentVolume", volume())])
def test_a_finalizer_is_added_again(fakekube, kind, made):
    fakekube.create(made)
    name = made["metadata"]["name"]
    finalizers = fakekube.get("v1", kind, name)["metadata"]["finalizers"]
    remove_finalizers(fakekube, kind, name)
    fakekube.settle()
    assert fakekube.get("v1", kind, name)["metadata"]["finalizers"] == finalizers
    assert [verb for verb, _, _ in writes(fakekube)] == ["update"]


@pytest.mark.fakekube(controllers=PROTECTIONS, rbac=True)
def test_a_claim_is_deleted_when_no_pod_uses_it_after_a_list_of_the_pods(fakekube):
    fakekube.create(claim())
    fakekube.delete("v1", "PersistentVolumeClaim", "data")
    fakekube.settle()
    assert not fakekube.exists("v1", "PersistentVolumeClaim", "data")
    account = "system:serviceaccount:kube-system:pvc-protection-controller"
    mine = [(record.verb, record.resource) for record in fakekube.requests() if record.user == account]
    assert mine == [("list", "pods"), ("update", "persistentvolumeclaims")]


@pytest.mark.fakekube(controllers=PROTECTIONS, rbac=True)
def test_a_claim_that_a_pod_uses_is_deleted_after_the_pod(fakekube):
    fakekube.create(claim())
    fakekube.create(pod_with("data"))
    fakekube.delete("v1", "PersistentVolumeClaim", "data")
    fakekube.advance(hours=1)
    assert get_claim(fakekube)["metadata"]["deletionTimestamp"]
    fakekube.patch("v1", "Pod", "p", {"status": {"phase": "Succeeded"}}, subresource="status")
    fakekube.settle()
    assert get_claim(fakekube)["metadata"]["deletionTimestamp"], "a pod that has ended still uses its claim"
    fakekube.delete("v1", "Pod", "p")
    fakekube.advance(minutes=1)
    assert fakekube.exists("v1", "Pod", "p") == fakekube.exists("v1", "PersistentVolumeClaim", "data")


@pytest.mark.fakekube(controllers=PROTECTIONS)
def test_a_pod_without_a_node_does_not_use_its_claim(fakekube):
    fakekube.create(claim())
    fakekube.create(pod_with("data", node=""))
    fakekube.delete("v1", "PersistentVolumeClaim", "data")
    fakekube.settle()
    assert not fakekube.exists("v1", "PersistentVolumeClaim", "data")


@pytest.mark.slow
@pytest.mark.fakekube(controllers=[*PROTECTIONS, "persistentvolume-binder"], rbac=True)
def test_a_bound_volume_is_deleted_after_its_claim(fakekube):
    fakekube.create(volume())
    fakekube.create(claim())
    fakekube.settle()
    fakekube.delete("v1", "PersistentVolume", "pv")
    fakekube.settle()
    assert fakekube.exists("v1", "PersistentVolume", "pv")
    fakekube.delete("v1", "PersistentVolumeClaim", "data")
    fakekube.settle()
    assert not fakekube.exists("v1", "PersistentVolume", "pv")


@pytest.mark.fakekube(controllers=PROTECTIONS, rbac=True)
def test_a_class_of_volume_attributes_is_deleted_when_nothing_names_it(fakekube):
    api, kind = "storage.k8s.io/v1", "VolumeAttributesClass"
    fakekube.create(
        {
            "apiVersion": api,
            "kind": kind,
            "metadata": {"name": "gold"},
            "driverName": "d.example.com",
            "parameters": {"iops": "3"},
        }
    )
    fakekube.settle()
    assert fakekube.get(api, kind, "gold")["metadata"]["finalizers"] == ["kubernetes.io/vac-protection"]
    fakekube.create(claim(volumeAttributesClassName="gold"))
    fakekube.delete(api, kind, "gold")
    fakekube.settle()
    assert fakekube.exists(api, kind, "gold")
    fakekube.delete("v1", "PersistentVolumeClaim", "data")
    fakekube.settle()
    assert not fakekube.exists(api, kind, "gold")


# --- ephemeral volumes


def pod_with_ephemeral_volume():
    template = {
        "metadata": {"labels": {"app": "web"}, "annotations": {"a": "1"}},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    pod = pod_with("")
    pod["spec"]["volumes"] = [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}}]
    return pod


@pytest.mark.fakekube(controllers=["ephemeral-volume", "pvc-protection"], rbac=True)
def test_a_pod_owns_the_claim_of_its_ephemeral_volume(fakekube):
    pod = fakekube.create(pod_with_ephemeral_volume())
    fakekube.settle()
    meta = get_claim(fakekube, "p-scratch")["metadata"]
    assert meta["ownerReferences"] == [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "name": "p",
            "uid": pod["metadata"]["uid"],
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]
    assert (meta["labels"], meta["annotations"]) == ({"app": "web"}, {"a": "1"})
    uid = meta["uid"]
    remove_finalizers(fakekube, "PersistentVolumeClaim", "p-scratch")
    fakekube.delete("v1", "PersistentVolumeClaim", "p-scratch")
    fakekube.settle()
    assert get_claim(fakekube, "p-scratch")["metadata"]["uid"] != uid, "it is created again"


@pytest.mark.fakekube(controllers=["ephemeral-volume"], rbac=True)
def test_a_claim_of_that_name_which_the_pod_does_not_own_is_an_event(fakekube):
    fakekube.create(claim("p-scratch"))
    fakekube.create(pod_with_ephemeral_volume())
    fakekube.settle()
    text = "ephemeral volume scratch: PVC default/p-scratch was not created for pod default/p (pod is not owner)"
    assert events_of(fakekube, "p") == [("Warning", "FailedBinding", text)]


# --- expansion


@pytest.mark.parametrize(
    ("source", "text", "resizer"),
    [
        (
            {"csi": {"driver": "d.example.com", "volumeHandle": "h"}},
            "waiting for an external controller to expand this PVC",
            None,
        ),
        (
            {"awsElasticBlockStore": {"volumeID": "v"}, "hostPath": None},
            "CSI migration enabled for kubernetes.io/aws-ebs; waiting for external resizer to expand the pvc",
            "ebs.csi.aws.com",
        ),
    ],
)
@pytest.mark.fakekube(controllers=["persistentvolume-binder", "persistentvolume-expander"], rbac=True)
def test_a_claim_that_grows_waits_for_another_program(fakekube, source, text, resizer):
    fakekube.create(volume(**source))
    fakekube.create(claim())
    fakekube.settle()
    assert events_of(fakekube, "data") == []
    allowed = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "manual"}}
    fakekube.create({**allowed, "provisioner": "d.example.com", "allowVolumeExpansion": True})
    larger = {"spec": {"resources": {"requests": {"storage": "2Gi"}}}}
    fakekube.patch("v1", "PersistentVolumeClaim", "data", larger)
    fakekube.settle()
    assert events_of(fakekube, "data") == [("Normal", "ExternalExpanding", text)]
    annotations = get_claim(fakekube)["metadata"]["annotations"]
    assert annotations.get("volume.kubernetes.io/storage-resizer") == resizer


@pytest.mark.fakekube(
    controllers=["persistentvolume-binder", "ephemeral-volume", "persistentvolume-expander", *PROTECTIONS]
)
def test_nothing_is_requested_at_rest(fakekube):
    fakekube.create(volume())
    fakekube.create(claim())
    fakekube.create(pod_with("data"))
    fakekube.advance(minutes=1)
    before = len(fakekube.requests())
    fakekube.advance(hours=24)
    assert {record.verb for record in fakekube.requests()[before:]} <= {"watch"}
