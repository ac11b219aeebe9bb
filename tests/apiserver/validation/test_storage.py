"""Volumes, claims, their classes and drivers: what is said of them.

An expected text that ends in an ellipsis is the beginning of the server's.
"""

import pytest

from tests.apiserver.api import Api
from tests.apiserver.validation.support import as_new, check_new, check_update, complete, merged

VOLUME = {"spec": {
    "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/data"},
}}  # fmt: skip
CLAIM = {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}
CLASS = {"provisioner": "example.com/p"}
DRIVER = {"metadata": {"name": "driver.example.com"}, "spec": {}}
NODE = {"spec": {"drivers": [{"name": "driver.example.com", "nodeID": "n"}]}}

NEW = [
    ("PersistentVolume", VOLUME, []),
    ("PersistentVolume", {"spec": {}}, [
        "spec.accessModes: Required value", "spec.capacity: Required value",
        'spec.capacity: Unsupported value: null: supported values: "storage"',
        "spec: Required value: must specify a volume type",
    ]),
    ("PersistentVolume", merged(VOLUME, {"spec": {"capacity": {"storage": "0"}}}),
     ['spec.capacity[storage]: Invalid value: "0": must be greater than zero']),
    ("PersistentVolume", merged(VOLUME, {"spec": {"nfs": {"server": "s", "path": "/"}}}),
     ["spec.nfs: Forbidden: may not specify more than 1 volume type"]),
    ("PersistentVolume", merged(VOLUME, {"spec": {"accessModes": ["ReadWrite"]}}),
     ['spec.accessModes: Unsupported value: "ReadWrite": supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"']),
    ("PersistentVolume", merged(VOLUME, {"spec": {"accessModes": ["ReadWriteOnce", "ReadWriteOncePod"]}}),
     ["spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes"]),
    ("PersistentVolume", merged(VOLUME, {"spec": {"hostPath": {"path": "../x"}}}),
     ['spec.hostPath.path: Invalid value: "../x": must not contain \'..\'']),
    ("PersistentVolume", merged(VOLUME, {"spec": {"persistentVolumeReclaimPolicy": "Keep"}}),
     ['spec.persistentVolumeReclaimPolicy: Unsupported value: "Keep": supported values: "Delete", "Recycle", "Retain"']),
    ("PersistentVolumeClaim", CLAIM, []),
    ("PersistentVolumeClaim", {"spec": {}},
     ["spec.accessModes: Required value: at least 1 access mode is required", "spec.resources[storage]: Required value"]),
    ("PersistentVolumeClaim", merged(CLAIM, {"spec": {"volumeMode": "Disk"}}),
     ['spec.volumeMode: Unsupported value: "Disk": supported values: "Block", "Filesystem"']),
    ("StorageClass", CLASS, []),
    ("StorageClass", {}, ["provisioner: Required value"]),
    ("StorageClass", merged(CLASS, {"reclaimPolicy": "Recycle"}),
     ['reclaimPolicy: Unsupported value: "Recycle": supported values: "Delete", "Retain"']),
    ("StorageClass", merged(CLASS, {"parameters": {"": "x"}}), ['parameters: Invalid value: "": field can not be empty.']),
    ("StorageClass", merged(CLASS, {"volumeBindingMode": "Later"}),
     ['volumeBindingMode: Unsupported value: "Later": supported values: "Immediate", "WaitForFirstConsumer"']),
    ("CSIDriver", DRIVER, []),
    ("CSIDriver", merged(DRIVER, {"spec": {"fsGroupPolicy": "Any"}}),
     ['spec.fsGroupPolicy: Unsupported value: "Any": supported values: "File", "None", "ReadWriteOnceWithFSType"']),
    ("CSIDriver", merged(DRIVER, {"spec": {"nodeAllocatableUpdatePeriodSeconds": 10}}), []),
    ("CSIDriver", merged(DRIVER, {"spec": {"nodeAllocatableUpdatePeriodSeconds": 9}}),
     ["spec.nodeAllocatableUpdatePeriodSeconds: Invalid value: 9: must be greater than or equal to 10 seconds"]),
    ("CSINode", NODE, []),
    ("CSINode", {"spec": {"drivers": [{"name": "", "nodeID": ""}]}},
     ["spec.drivers[0].name: Required value", "spec.drivers[0].nodeID: Required value"]),
    ("VolumeAttributesClass", {"driverName": "d.example.com", "parameters": {"iops": "1"}}, []),
    ("VolumeAttachment", {"spec": {"attacher": "a.example.com", "nodeName": "n", "source": {}}},
     ["spec.source: Required value: must specify exactly one of inlineVolumeSpec and persistentVolumeName"]),
]  # fmt: skip

CHANGED = [
    ("PersistentVolume", VOLUME, {"spec": {"hostPath": {"path": "/other"}}},
     ["spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation…"]),
    ("PersistentVolume", VOLUME, {"spec": {"capacity": {"storage": "2Gi"}}}, []),
    ("PersistentVolume", VOLUME, {"spec": {"volumeMode": "Block"}},
     ['volumeMode: Invalid value: "Block": field is immutable']),
    ("PersistentVolumeClaim", CLAIM, {"spec": {"accessModes": ["ReadWriteMany"]}},
     ["spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims…"]),
    ("StorageClass", CLASS, {"provisioner": "example.com/q"},
     ['provisioner: Invalid value: "example.com/q": field is immutable']),
    ("StorageClass", CLASS, {"parameters": {"a": "b"}}, ['parameters: Invalid value: {"a":"b"}: field is immutable']),
    ("StorageClass", CLASS, {"allowVolumeExpansion": True}, []),
    ("CSIDriver", DRIVER, {"spec": {"attachRequired": False}}, ["spec.attachedRequired: Invalid value: false: field is immutable"]),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "obj", "expected"), NEW)
def test_new(kind, obj, expected):
    check_new(kind, obj, expected)


@pytest.mark.parametrize(("kind", "old", "change", "expected"), CHANGED)
def test_changed(kind, old, change, expected):
    check_update(kind, old, change, expected)


def test_defaults():
    volume = complete("PersistentVolume", VOLUME)["spec"]
    assert (volume["persistentVolumeReclaimPolicy"], volume["volumeMode"]) == ("Retain", "Filesystem")
    storage = complete("StorageClass", CLASS)
    assert (storage["reclaimPolicy"], storage["volumeBindingMode"]) == ("Delete", "Immediate")
    assert as_new("PersistentVolumeClaim", CLAIM)["spec"]["volumeMode"] == "Filesystem"


def test_a_volume_says_when_its_phase_changed():
    api = Api()
    path = "/api/v1/persistentvolumes"
    volume = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "v"}, **VOLUME}
    created = api.ok("POST", path, volume)["status"]
    assert created == {"phase": "Pending", "lastPhaseTransitionTime": api.context.now}
    api.context.time = api.context.time.replace(hour=7)

    def write(**status):
        kind = "application/merge-patch+json"
        return api.ok("PATCH", f"{path}/v/status", {"status": status}, content_type=kind)["status"]

    assert write(message="soon")["lastPhaseTransitionTime"] == created["lastPhaseTransitionTime"]
    assert write(phase="Available")["lastPhaseTransitionTime"] == api.context.now
    told = "2020-01-01T00:00:00Z"
    assert write(phase="Bound", lastPhaseTransitionTime=told)["lastPhaseTransitionTime"] == told


def test_a_driver_s_generation_starts_with_its_first_change():
    api = Api()
    path = "/apis/storage.k8s.io/v1/csidrivers"
    assert "generation" not in api.ok("POST", path, DRIVER)["metadata"]
    patch = {"content_type": "application/merge-patch+json"}
    labelled = api.ok("PATCH", f"{path}/driver.example.com", {"metadata": {"labels": {"a": "b"}}}, **patch)
    assert "generation" not in labelled["metadata"]
    changed = api.ok("PATCH", f"{path}/driver.example.com", {"spec": {"storageCapacity": True}}, **patch)
    assert changed["metadata"]["generation"] == 1


@pytest.mark.parametrize(
    ("parameters", "limit"), [({f"k{i}": "" for i in range(513)}, 512), ({"k": "x" * (256 * 1024)}, 256 * 1024)]
)
def test_too_many_parameters_of_a_class(parameters, limit):
    check_new(
        "StorageClass",
        merged(CLASS, {"parameters": parameters}),
        [f"parameters: Too long: may not be more than {limit} bytes"],
    )
