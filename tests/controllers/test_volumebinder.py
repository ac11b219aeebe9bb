"""The controller that binds claims to volumes, against what persistentvolume-binder-controller does."""

from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fakekube.controllers.persistentvolumes.volumeclaims import best_volume
from tests.controllers.volumes import (
    claim,
    events_of,
    get_claim,
    get_volume,
    pod_with,
    release,
    storage_class,
    volume,
    writes,
)
from tests.controllers.workloads import node

BINDER = "persistentvolume-binder"
CSI = {"csi": {"driver": "d.example.com", "volumeHandle": "h"}}
BOTH = [BINDER, "pvc-protection", "pv-protection"]


def phases(fakekube):
    return get_volume(fakekube)["status"]["phase"], get_claim(fakekube)["status"]["phase"]


@pytest.mark.fakekube(controllers=[BINDER], rbac=True)
def test_a_binding_is_four_writes_volume_first(fakekube):
    fakekube.create(volume())
    fakekube.settle()
    assert get_volume(fakekube)["status"]["phase"] == "Available"
    before = len(writes(fakekube))
    fakekube.create(claim())
    fakekube.settle()
    assert phases(fakekube) == ("Bound", "Bound")
    assert writes(fakekube)[before:] == [
        ("update", "persistentvolumes", "pv"),
        ("update", "persistentvolumes", "pv"),
        ("update", "persistentvolumeclaims", "data"),
        ("update", "persistentvolumeclaims", "data"),
    ]
    made = get_claim(fakekube)
    reference = get_volume(fakekube)["spec"]["claimRef"]
    assert (reference["kind"], reference["apiVersion"], reference["uid"]) == (
        "PersistentVolumeClaim",
        "v1",
        made["metadata"]["uid"],
    )
    assert made["status"] == {"phase": "Bound", "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}}


@pytest.mark.fakekube(controllers=[BINDER])
def test_the_smallest_volume_that_suits_is_bound(fakekube):
    for name, size in (("large", "10Gi"), ("small", "2Gi"), ("tiny", "1Gi")):
        fakekube.create(volume(name, size))
    fakekube.settle()
    fakekube.create(claim(size="1500Mi"))
    fakekube.settle()
    assert get_claim(fakekube)["spec"]["volumeName"] == "small"
    assert get_claim(fakekube)["status"]["capacity"] == {"storage": "2Gi"}


@pytest.mark.parametrize(
    "changes",
    [
        {"size": "512Mi"},
        {"modes": ("ReadOnlyMany",)},
        {"storageClassName": "other"},
        {"volumeMode": "Block"},
    ],
)
@pytest.mark.fakekube(controllers=[BINDER])
def test_a_volume_that_does_not_suit_is_not_bound(fakekube, changes):
    fakekube.create(volume(**changes))
    fakekube.create(claim())
    fakekube.settle()
    assert phases(fakekube) == ("Available", "Pending")


@pytest.mark.fakekube(controllers=[BINDER])
def test_a_selector_chooses_among_volumes_by_their_labels(fakekube):
    fakekube.create(volume("a", labels={"tier": "slow"}))
    fakekube.create(volume("b", labels={"tier": "fast"}))
    fakekube.settle()
    fakekube.create(claim(selector={"matchLabels": {"tier": "fast"}}))
    fakekube.settle()
    assert get_claim(fakekube)["spec"]["volumeName"] == "b"


@pytest.mark.fakekube(controllers=[BINDER])
def test_a_claim_without_a_volume_is_looked_at_every_15_seconds(fakekube):
    fakekube.create(claim(storageClassName=""))
    fakekube.settle()
    text = "no persistent volumes available for this claim and no storage class is set"
    assert events_of(fakekube, "data") == [("Normal", "FailedBinding", text)]
    fakekube.advance(3)
    fakekube.create(volume(storageClassName=""))
    fakekube.settle()
    assert phases(fakekube) == ("Available", "Pending")
    started = fakekube.clock.now()
    fakekube.advance_until(lambda: phases(fakekube) == ("Bound", "Bound"), "1m")
    assert fakekube.clock.now() - started <= timedelta(seconds=12)


@pytest.mark.fakekube(controllers=[BINDER])
def test_a_volume_reserved_for_a_claim_is_bound_to_it_only(fakekube):
    reserved = {"namespace": "default", "name": "data"}
    fakekube.create(volume(claimRef=reserved))
    fakekube.create(claim("other"))
    fakekube.settle()
    assert get_claim(fakekube, "other")["status"]["phase"] == "Pending"
    fakekube.create(claim())
    fakekube.settle()
    assert phases(fakekube) == ("Bound", "Bound")
    assert "annotations" not in get_volume(fakekube)["metadata"]
    assert get_claim(fakekube)["metadata"]["annotations"] == {
        "pv.kubernetes.io/bind-completed": "yes",
        "pv.kubernetes.io/bound-by-controller": "yes",
    }


@pytest.mark.fakekube(controllers=[BINDER])
def test_a_claim_that_names_its_volume_is_bound_without_the_controller_s_annotation(fakekube):
    fakekube.create(volume())
    fakekube.create(claim(volumeName="pv"))
    fakekube.settle()
    assert phases(fakekube) == ("Bound", "Bound")
    assert get_claim(fakekube)["metadata"]["annotations"] == {"pv.kubernetes.io/bind-completed": "yes"}
    assert get_volume(fakekube)["metadata"]["annotations"] == {"pv.kubernetes.io/bound-by-controller": "yes"}


@pytest.mark.parametrize(
    ("of_volume", "of_claim", "problem"),
    [
        ({}, {"size": "2Gi"}, "requested PV is too small"),
        ({"storageClassName": "other"}, {}, "storageClassName does not match"),
        ({"volumeMode": "Block"}, {}, "incompatible volumeMode"),
        ({}, {"modes": ("ReadWriteMany",)}, "incompatible accessMode"),
    ],
)
@pytest.mark.fakekube(controllers=[BINDER])
def test_a_claim_is_not_bound_to_a_named_volume_that_does_not_suit(fakekube, of_volume, of_claim, problem):
    fakekube.create(volume(**of_volume))
    fakekube.settle()
    fakekube.create(claim(volumeName="pv", **of_claim))
    fakekube.settle()
    assert phases(fakekube) == ("Available", "Pending")
    text = f'Cannot bind to requested volume "pv": {problem}'
    assert events_of(fakekube, "data") == [("Warning", "VolumeMismatch", text)]


@pytest.mark.fakekube(controllers=[BINDER])
def test_a_claim_that_names_the_volume_of_another_claim_waits(fakekube):
    fakekube.create(volume())
    fakekube.create(claim("first", volumeName="pv"))
    fakekube.settle()
    fakekube.create(claim(volumeName="pv"))
    fakekube.settle()
    assert get_claim(fakekube)["status"] == {"phase": "Pending"}
    text = 'volume "pv" already bound to a different claim.'
    assert events_of(fakekube, "data") == [("Warning", "FailedBinding", text)]


@pytest.mark.fakekube(controllers=BOTH, rbac=True)
def test_a_retained_volume_is_released_and_not_bound_again(fakekube):
    release(fakekube, volume(persistentVolumeReclaimPolicy="Retain"))
    assert get_volume(fakekube)["status"]["phase"] == "Released"
    fakekube.create(claim())
    fakekube.advance(minutes=1)
    assert phases(fakekube) == ("Released", "Pending")


@pytest.mark.fakekube(controllers=BOTH, rbac=True)
def test_a_volume_below_tmp_is_deleted_after_its_claim(fakekube):
    release(fakekube, volume(persistentVolumeReclaimPolicy="Delete"))
    assert not fakekube.exists("v1", "PersistentVolume", "pv")
    of_volume = [verb for verb, resource, _ in writes(fakekube) if resource == "persistentvolumes"]
    assert of_volume[-4:] == [
        "update",
        "delete",
        "delete",
        "update",
    ]  # the last one removes the finalizer of its protection


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        (
            {"hostPath": {"path": "/data"}},
            "host_path deleter only supports /tmp/.+ but received provided /data",
        ),
        (
            {"nfs": {"server": "nfs", "path": "/"}},
            'error getting deleter volume plugin for volume "pv": no deletable volume plugin matched',
        ),
        (
            {
                "iscsi": {"targetPortal": "10.0.0.1", "iqn": "iqn.2001-04.com.example:storage", "lun": 0},
                "hostPath": None,
            },
            'error getting deleter volume plugin for volume "pv": no volume plugin matched',
        ),
    ],
)
@pytest.mark.fakekube(controllers=BOTH)
def test_a_volume_that_cannot_be_deleted_has_failed(fakekube, source, problem):
    release(fakekube, volume(persistentVolumeReclaimPolicy="Delete", **source))
    assert get_volume(fakekube)["status"]["phase"] == "Failed"
    assert get_volume(fakekube)["status"]["message"] == problem
    assert events_of(fakekube, "pv") == [("Warning", "VolumeFailedDelete", problem)]


@pytest.mark.fakekube(controllers=BOTH)
def test_a_csi_volume_is_left_to_its_driver(fakekube):
    fakekube.create(volume(persistentVolumeReclaimPolicy="Delete", **CSI))
    fakekube.create(claim())
    fakekube.settle()
    fakekube.delete("v1", "PersistentVolumeClaim", "data")
    fakekube.settle()
    assert get_volume(fakekube)["status"]["phase"] == "Released"


@pytest.mark.parametrize("outcome", ["Succeeded", "Failed"])
@pytest.mark.fakekube(controllers=BOTH, rbac=True)
def test_a_volume_is_recycled_by_a_pod(fakekube, outcome):
    release(fakekube, volume(persistentVolumeReclaimPolicy="Recycle"))
    pod = fakekube.get("v1", "Pod", "recycler-for-pv")
    assert pod["spec"]["activeDeadlineSeconds"] == 60
    assert pod["spec"]["volumes"][0]["hostPath"]["path"] == "/tmp/data"
    assert get_volume(fakekube)["status"]["phase"] == "Released"
    status = {"phase": outcome, **({"message": "it is full"} if outcome == "Failed" else {})}
    fakekube.patch("v1", "Pod", "recycler-for-pv", {"status": status}, subresource="status")
    fakekube.settle()
    if outcome == "Succeeded":
        assert not fakekube.exists("v1", "Pod", "recycler-for-pv")
        assert get_volume(fakekube)["status"]["phase"] == "Available"
        assert "claimRef" not in get_volume(fakekube)["spec"]
        assert events_of(fakekube, "pv") == [("Normal", "VolumeRecycled", "Volume recycled")]
    else:
        text = "Recycle failed: failed to recycle volume: it is full"
        assert ("Warning", "VolumeFailedRecycle", text) in events_of(fakekube, "pv")
        assert get_volume(fakekube)["status"]["phase"] == "Failed"


@pytest.mark.fakekube(controllers=[BINDER])
def test_a_claim_whose_volume_is_gone_is_lost(fakekube):
    fakekube.create(volume())
    fakekube.create(claim())
    fakekube.settle()
    fakekube.patch("v1", "PersistentVolume", "pv", {"metadata": {"finalizers": None}})
    fakekube.delete("v1", "PersistentVolume", "pv")
    fakekube.settle()
    assert get_claim(fakekube)["status"] == {"phase": "Lost"}
    text = "Bound claim has lost its PersistentVolume. Data on the volume is lost!"
    assert events_of(fakekube, "data") == [("Warning", "ClaimLost", text)]


@pytest.mark.fakekube(controllers=[BINDER])
def test_a_second_claim_that_says_it_is_bound_to_a_volume_is_lost(fakekube):
    fakekube.create(volume())
    fakekube.create(claim("first"))
    fakekube.settle()
    fakekube.create(claim(volumeName="pv", annotations={"pv.kubernetes.io/bind-completed": "yes"}))
    fakekube.settle()
    assert get_claim(fakekube)["status"]["phase"] == "Lost"
    assert [reason for _, reason, _ in events_of(fakekube, "data")] == ["ClaimMisbound"]


def errors_of(fakekube, key):
    return [str(error) for error in fakekube.controllers[BINDER].errors(key)]


@pytest.mark.fakekube(controllers=BOTH, rbac=True)
def test_a_claim_says_that_it_is_bound_but_not_to_which_volume(fakekube):
    fakekube.create(claim(annotations={"pv.kubernetes.io/bind-completed": "yes"}))
    fakekube.settle()
    assert get_claim(fakekube)["status"] == {"phase": "Lost"}
    text = "Bound claim has lost reference to PersistentVolume. Data on the volume is lost!"
    assert events_of(fakekube, "data") == [("Warning", "ClaimLost", text)]


@pytest.mark.fakekube(controllers=BOTH, rbac=True)
def test_a_claim_that_names_a_missing_volume_waits_for_it(fakekube):
    fakekube.create(claim(volumeName="pv"))
    fakekube.settle()
    assert get_claim(fakekube)["status"] == {"phase": "Pending"}
    assert events_of(fakekube, "data") == []
    fakekube.create(volume(claimRef={"namespace": "default", "name": "data"}))
    fakekube.advance(15)
    assert phases(fakekube) == ("Bound", "Bound")
    assert "annotations" not in get_volume(fakekube)["metadata"]
    assert get_volume(fakekube)["spec"]["claimRef"]["uid"] == get_claim(fakekube)["metadata"]["uid"]


@pytest.mark.fakekube(controllers=BOTH)
def test_a_claim_that_the_controller_bound_to_the_volume_of_another_is_an_error(fakekube):
    fakekube.create(volume())
    fakekube.create(claim("first"))
    fakekube.settle()
    fakekube.create(claim(volumeName="pv", annotations={"pv.kubernetes.io/bound-by-controller": "yes"}))
    fakekube.settle()
    assert errors_of(fakekube, "default/data")[0] == (
        'invalid binding of claim "default/data" to volume "pv": volume already claimed by "default/first"'
    )
    assert [one[1] for one in events_of(fakekube, "data")] == ["FailedBinding"]


@pytest.mark.fakekube(controllers=BOTH, rbac=True)
def test_a_volume_of_another_mode_than_its_claim_is_an_event_of_both_until_the_claim_goes(fakekube):
    fakekube.create(claim())
    fakekube.settle()
    reference = {"namespace": "default", "name": "data", "uid": get_claim(fakekube)["metadata"]["uid"]}
    retained = {"persistentVolumeReclaimPolicy": "Retain"}
    fakekube.create(volume("other", claimRef={**reference, "uid": "u"}, **retained))
    fakekube.create(volume(volumeMode="Block", claimRef=reference, **retained))
    fakekube.settle()
    reason = "due to incompatible volumeMode."
    text = f'Cannot bind PersistentVolume to requested PersistentVolumeClaim "data" {reason}'
    assert events_of(fakekube, "pv") == [("Warning", "VolumeMismatch", text)]
    text = f'Cannot bind PersistentVolume "pv" to requested PersistentVolumeClaim {reason}'
    assert ("Warning", "VolumeMismatch", text) in events_of(fakekube, "data")
    assert "volumeName" not in get_claim(fakekube)["spec"]
    assert get_volume(fakekube, "other")["status"]["phase"] == "Released"
    assert get_volume(fakekube)["status"]["phase"] == "Pending"
    fakekube.delete("v1", "PersistentVolumeClaim", "data")
    fakekube.settle()
    assert get_volume(fakekube)["status"]["phase"] == "Released"


BY_CONTROLLER = {"pv.kubernetes.io/bound-by-controller": "yes"}
PROVISIONED = {"pv.kubernetes.io/provisioned-by": "example.com/p"}


@pytest.mark.parametrize(
    ("annotations", "policy", "phase", "reference", "left"),
    [
        (BY_CONTROLLER, "Retain", "Available", None, {}),
        (PROVISIONED, "Retain", "Available", {"namespace": "default", "name": "data"}, PROVISIONED),
        (BY_CONTROLLER, "Delete", "Available", None, {}),
        ({**BY_CONTROLLER, **PROVISIONED}, "Delete", "Released", {"namespace", "name", "uid"}, {**BY_CONTROLLER, **PROVISIONED}),
    ],
    ids=["the-controller-s", "a-user-s", "not-provisioned", "provisioned"],
)  # fmt: skip
@pytest.mark.fakekube(controllers=BOTH, rbac=True)
def test_a_second_volume_of_a_claim_is_free_again_or_reclaimed(fakekube, annotations, policy, phase, reference, left):
    """`pv_controller.go`: syncVolume, the claim is bound to a different volume."""
    fakekube.create(volume("first"))
    fakekube.create(claim())
    fakekube.settle()
    of_claim = {"namespace": "default", "name": "data", "uid": get_claim(fakekube)["metadata"]["uid"]}
    options = {"persistentVolumeReclaimPolicy": policy, "hostPath": {"path": "/data"}}
    fakekube.create(volume(annotations=annotations, claimRef=of_claim, storageClassName="second", **options))
    fakekube.settle()
    found = get_volume(fakekube)
    assert found["status"]["phase"] == phase
    present = found["spec"].get("claimRef")
    assert (set(present) if isinstance(reference, set) else present) == reference
    assert found["metadata"].get("annotations", {}) == left
    assert get_claim(fakekube)["status"]["phase"] == "Bound"
    assert errors_of(fakekube, "pv") == []


@pytest.mark.fakekube(controllers=BOTH, rbac=True)
def test_a_volume_that_the_controller_deletes_has_a_finalizer_until_then(fakekube):
    by = {"pv.kubernetes.io/provisioned-by": "kubernetes.io/host-path"}
    fakekube.create(volume(annotations=by, persistentVolumeReclaimPolicy="Delete"))
    fakekube.create(claim())
    fakekube.settle()
    assert "kubernetes.io/pv-controller" in get_volume(fakekube)["metadata"]["finalizers"]
    fakekube.delete("v1", "PersistentVolumeClaim", "data")
    fakekube.settle()
    assert not fakekube.exists("v1", "PersistentVolume", "pv")


def recycled(**options):
    return volume(persistentVolumeReclaimPolicy="Recycle", **options)


@pytest.mark.parametrize(
    ("source", "error", "text"),
    [
        (
            {},
            500,
            "Recycle failed: unexpected error creating recycler pod:  Internal error occurred: injected fault",
        ),
        (CSI, None, "No recycler plugin found for the volume!"),
    ],
)
@pytest.mark.fakekube(controllers=BOTH)
def test_a_volume_that_cannot_be_recycled_has_failed(fakekube, source, error, text):
    if error:
        fakekube.fault(verb="create", resource="pods", error=error)
    release(fakekube, recycled(**source))
    assert events_of(fakekube, "pv") == [("Warning", "VolumeFailedRecycle", text)]
    status = get_volume(fakekube)["status"]
    assert (status["phase"], status["message"]) == ("Failed", text)
    assert not fakekube.exists("v1", "Pod", "recycler-for-pv")


@pytest.mark.fakekube(controllers=BOTH)
def test_a_former_recycler_is_replaced(fakekube):
    former = fakekube.create(pod_with("x", name="recycler-for-pv", node=""))
    release(fakekube, recycled())
    text = "Recycle failed: old recycler pod found, will retry later"
    assert events_of(fakekube, "pv") == [("Warning", "VolumeFailedRecycle", text)]
    made = fakekube.get("v1", "Pod", "recycler-for-pv")
    assert made["metadata"]["uid"] != former["metadata"]["uid"]
    fakekube.patch("v1", "Pod", "recycler-for-pv", {"status": {"phase": "Failed"}}, subresource="status")
    fakekube.settle()
    text = "Recycle failed: failed to recycle volume: pod failed, pod.Status.Message unknown"
    assert get_volume(fakekube)["status"]["phase"] == "Failed"
    assert ("Warning", "VolumeFailedRecycle", text) not in events_of(fakekube, "pv")  # it had failed before


@pytest.mark.fakekube(controllers=BOTH)
def test_a_recycler_that_is_deleted_has_failed(fakekube):
    release(fakekube, recycled())
    fakekube.delete("v1", "Pod", "recycler-for-pv", gracePeriodSeconds=0)
    fakekube.settle()
    text = "Recycle failed: failed to recycle volume: recycler pod was deleted"
    assert get_volume(fakekube)["status"]["message"] == text


@pytest.mark.fakekube(controllers=BOTH)
def test_a_volume_that_pods_use_without_its_claim_is_not_recycled(fakekube):
    fakekube.create(node())
    for name, phase in (("b", "Running"), ("a", "Running"), ("ended", "Succeeded")):
        fakekube.create(pod_with("data", name=name))
        fakekube.patch("v1", "Pod", name, {"status": {"phase": phase}}, subresource="status")
    fakekube.create(recycled())
    fakekube.create(claim())
    fakekube.settle()
    fakekube.patch("v1", "PersistentVolumeClaim", "data", {"metadata": {"finalizers": None}})
    fakekube.delete("v1", "PersistentVolumeClaim", "data")
    fakekube.settle()
    text = "Volume is used by pods: default/a,default/b"
    assert events_of(fakekube, "pv") == [("Normal", "VolumeFailedRecycle", text)]
    assert not fakekube.exists("v1", "Pod", "recycler-for-pv")


@pytest.mark.fakekube(controllers=[BINDER])
def test_a_claim_without_a_class_gets_the_default_one(fakekube):
    fakekube.create(claim(storageClassName=None))
    fakekube.settle()
    assert "storageClassName" not in get_claim(fakekube)["spec"]
    default = {"storageclass.kubernetes.io/is-default-class": "true"}
    fakekube.create(storage_class("standard", "example.com/p", annotations=default))
    fakekube.advance(15)
    assert get_claim(fakekube)["spec"]["storageClassName"] == "standard"
    assert get_claim(fakekube)["metadata"]["annotations"] == {
        "volume.beta.kubernetes.io/storage-provisioner": "example.com/p",
        "volume.kubernetes.io/storage-provisioner": "example.com/p",
    }


@pytest.mark.parametrize(
    ("provisioner", "kind", "reason", "text"),
    [
        (
            "example.com/p",
            "Normal",
            "ExternalProvisioning",
            "Waiting for a volume to be created either by the external provisioner 'example.com/p' or manually by the "
            "system administrator. If volume creation is delayed, please verify that the provisioner is running and "
            "correctly registered.",
        ),
        (
            "kubernetes.io/aws-ebs",
            "Normal",
            "ExternalProvisioning",
            "Waiting for a volume to be created either by the external provisioner 'ebs.csi.aws.com' or manually by "
            "the system administrator. If volume creation is delayed, please verify that the provisioner is running "
            "and correctly registered.",
        ),
        (
            "kubernetes.io/no-provisioner",
            "Warning",
            "ProvisioningFailed",
            "no volume plugin matched name: kubernetes.io/no-provisioner",
        ),
        ("kubernetes.io/nfs", "Warning", "ProvisioningFailed", "no provisionable volume plugin matched"),
        (
            "kubernetes.io/host-path",
            "Warning",
            "ProvisioningFailed",
            'Failed to create provisioner: provisioning in volume plugin "kubernetes.io/host-path" is disabled',
        ),
    ],
)
@pytest.mark.fakekube(controllers=[BINDER], rbac=True)
def test_what_a_claim_of_a_class_waits_for(fakekube, provisioner, kind, reason, text):
    fakekube.create(storage_class("manual", provisioner))
    fakekube.create(claim())
    fakekube.settle()
    assert events_of(fakekube, "data") == [(kind, reason, text)]
    assert get_claim(fakekube)["status"] == {"phase": "Pending"}


@pytest.mark.fakekube(controllers=[BINDER])
def test_a_claim_of_a_missing_class_has_an_event(fakekube):
    fakekube.create(claim())
    fakekube.settle()
    text = 'storageclass.storage.k8s.io "manual" not found'
    assert events_of(fakekube, "data") == [("Warning", "ProvisioningFailed", text)]


@pytest.mark.fakekube(controllers=[BINDER])
def test_a_claim_waits_for_its_first_consumer_and_its_node(fakekube):
    fakekube.create(storage_class("manual", "example.com/p", volumeBindingMode="WaitForFirstConsumer"))
    fakekube.create(volume())
    fakekube.create(claim())
    fakekube.settle()
    assert phases(fakekube) == ("Available", "Pending")
    fakekube.create(pod_with("data", node=""))
    fakekube.advance(15)
    assert events_of(fakekube, "data") == [
        ("Normal", "WaitForFirstConsumer", "waiting for first consumer to be created before binding"),
        ("Normal", "WaitForPodScheduled", "waiting for pod p to be scheduled"),
    ]
    chosen = {"volume.kubernetes.io/selected-node": "n1"}
    fakekube.patch("v1", "PersistentVolumeClaim", "data", {"metadata": {"annotations": chosen}})
    fakekube.settle()
    provisioner = "volume.kubernetes.io/storage-provisioner"
    assert get_claim(fakekube)["metadata"]["annotations"][provisioner] == "example.com/p"


@pytest.mark.fakekube(controllers=BOTH)
def test_nothing_is_requested_once_all_is_bound(fakekube):
    fakekube.create(volume())
    fakekube.create(claim())
    fakekube.create(volume("spare"))
    fakekube.advance(minutes=1)
    before = len(fakekube.requests())
    fakekube.advance(hours=24)
    assert {record.verb for record in fakekube.requests()[before:]} <= {"watch"}


SIZES = st.sampled_from(["1Gi", "2Gi", "3Gi"])


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(volumes=st.lists(SIZES, max_size=4), claims=st.lists(SIZES, max_size=4), gone=st.sets(st.integers(0, 3)))
@pytest.mark.fakekube(controllers=BOTH)
def test_each_volume_has_one_claim_and_each_claim_one_volume(fakekube, volumes, claims, gone):
    run = f"run{len(fakekube.requests())}"
    of_class = {"storageClassName": run}
    for index, size in enumerate(volumes):
        fakekube.create(volume(f"{run}-{index}", size, **of_class))
    for index, size in enumerate(claims):
        fakekube.create(claim(f"{run}-{index}", size, **of_class))
    for index in gone:
        if index < len(claims):
            fakekube.delete("v1", "PersistentVolumeClaim", f"{run}-{index}")
    fakekube.advance(20)
    mine = [one for one in fakekube.list("v1", "PersistentVolume", None) if one["spec"]["storageClassName"] == run]
    made = [one for one in fakekube.list("v1", "PersistentVolumeClaim") if one["metadata"]["name"].startswith(run)]
    bound = {one["metadata"]["name"]: one["spec"]["volumeName"] for one in made if one["status"]["phase"] == "Bound"}
    held = {
        one["spec"]["claimRef"]["name"]: one["metadata"]["name"] for one in mine if one["status"]["phase"] == "Bound"
    }
    assert bound == held
    assert len(set(bound.values())) == len(bound)
    for waiting in (one for one in made if one["status"]["phase"] != "Bound"):
        assert best_volume(waiting, mine, only_reserved=False) is None
