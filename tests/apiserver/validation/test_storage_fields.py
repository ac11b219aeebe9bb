"""Volumes, claims, attachments and classes: rules of single fields.

An expected text that ends in an ellipsis is the beginning of the server's.
"""

import pytest

from tests.apiserver.validation.support import check_new, check_status, check_update, merged
from tests.apiserver.validation.test_storage import CLAIM, CLASS, DRIVER, NODE


def pv(**source):
    return {"spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], **source}}


def node_affinity(key="zone"):
    return {
        "required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": key, "operator": "In", "values": ["a"]}]}]}
    }


OLDZ, NEWZ = "failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"

CSI = {"driver": "d.example.com", "volumeHandle": "h"}

ATT = {"spec": {"attacher": "a.example.com", "nodeName": "n", "source": {"persistentVolumeName": "v"}}}

INLINE = {"accessModes": ["ReadWriteOnce"], "csi": CSI}

BOUND = {
    "spec": {"accessModes": ["ReadWriteOnce"], "volumeName": "v", "resources": {"requests": {"storage": "2Gi"}}},
    "status": {"phase": "Bound", "capacity": {"storage": "2Gi"}},
}

BOUNDA = merged(BOUND, {"spec": {"volumeAttributesClassName": "fast"}})

BETA = "volume.beta.kubernetes.io/storage-class"
NEW = [
    ("PersistentVolume", pv(cinder={"volumeID": ""}, ), ['spec.cinder.volumeID: Required value']),
    ("PersistentVolume", pv(cinder={"volumeID": "v", "secretRef": {"name": ""}}), ['spec.cinder.secretRef.name: Required value', 'spec.cinder.secretRef.namespace: Required value']),
    ("PersistentVolume", pv(nfs={"server": "s", "path": "data"}), ['spec.nfs.path: Invalid value: "data": must be an absolute path']),
    ("PersistentVolume", pv(azureFile={"secretName": "s", "secretNamespace": ""}), ['spec.azureFile.shareName: Required value', 'spec.azureFile.secretNamespace: Required value']),
    ("PersistentVolume", pv(storageos={"volumeName": "v", "secretRef": {"name": "a"}}), ['spec.storageos.secretRef.namespace: Required value']),
    ("PersistentVolume", pv(local={"path": "a/../b"}), [
        'spec.local.path: Invalid value: "a/../b": must not contain \'..\'',
        'spec.nodeAffinity: Required value: Local volume requires node affinity',
    ]),
    ("PersistentVolume", pv(local={"path": "/a"}, nodeAffinity=node_affinity()), []),
    ("PersistentVolume", pv(glusterfs={"endpoints": "e", "path": "p", "endpointsNamespace": ""}), ['spec.glusterfs.endpointsNamespace: Invalid value: "": if the endpointnamespace is set, it must be a valid namespace name']),
    ("PersistentVolume", pv(csi=CSI), []),
    ("PersistentVolume", pv(csi={"driver": "d", "nodePublishSecretRef": {"name": "A"}, "controllerExpandSecretRef": {"namespace": "n"}}), [
        'spec.csi.volumeHandle: Required value',
        'spec.csi.controllerExpandSecretRef.name: Required value',
        'spec.csi.nodePublishSecretRef.name: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric cha…',
        'spec.csi.nodePublishSecretRef.namespace: Required value',
    ]),
    ("PersistentVolume", pv(hostPath={"path": "/"}, persistentVolumeReclaimPolicy="Recycle"), ["spec.persistentVolumeReclaimPolicy: Forbidden: may not be 'recycle' for a hostPath mount of '/'"]),
    ("PersistentVolume", pv(hostPath={"path": "/a"}, volumeAttributesClassName=""), [
        'spec.volumeAttributesClassName: Required value: an empty string is disallowed',
        'spec.csi: Required value: has to be specified when using volumeAttributesClassName',
    ]),
    ("PersistentVolume", pv(gcePersistentDisk={"pdName": "", "partition": 256}, cephfs={"monitors": ["m"]}), [
        'spec.persistentDisk.pdName: Required value',
        'spec.persistentDisk.partition: Invalid value: 256: must be between 1 and 255, inclusive',
        'spec.cephFS: Forbidden: may not specify more than 1 volume type',
    ]),
    ("PersistentVolume", pv(hostPath={"path": "/a"}, nodeAffinity={}), ['spec.nodeAffinity.required: Required value: must specify required node constraints']),
    ("PersistentVolume", pv(hostPath={"path": "/a"}, capacity={"storage": "-1", "cpu": "1"}, volumeMode="Disk"), [
        'spec.capacity: Unsupported value: {"cpu":"1","storage":"-1"}: supported values: "storage"',
        'spec.capacity[storage]: Invalid value: -1: must be a valid resource quantity',
        'spec.capacity[storage]: Invalid value: "-1": must be greater than zero',
        'spec.volumeMode: Unsupported value: "Disk": supported values: "Block", "Filesystem"',
    ]),
    ("VolumeAttachment", ATT, []),
    ("VolumeAttachment", merged(ATT, {"spec": {"source": {"persistentVolumeName": "A"}}}), ['spec.source.persistentVolumeName: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric chara…']),
    ("VolumeAttachment", merged(ATT, {"spec": {"source": {"persistentVolumeName": ""}}}), [
        'spec.source.persistentVolumeName: Required value: must specify non empty persistentVolumeName',
        'spec.source.persistentVolumeName: Invalid value: "": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric charac…',
    ]),
    ("VolumeAttachment", merged(ATT, {"spec": {"source": {"persistentVolumeName": None, "inlineVolumeSpec": INLINE}}}), []),
    ("VolumeAttachment", merged(ATT, {"spec": {"source": {"inlineVolumeSpec": INLINE}}}), ['spec.source: Forbidden: must specify exactly one of inlineVolumeSpec and persistentVolumeName']),
    ("VolumeAttachment", merged(ATT, {"spec": {"source": {"persistentVolumeName": None, "inlineVolumeSpec": {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1"}, "hostPath": {"path": "/a"}, "persistentVolumeReclaimPolicy": "Delete", "volumeMode": "Block", "storageClassName": "c", "nodeAffinity": node_affinity()}}}}), [
        'spec.source.inlineVolumeSpec.capacity: Forbidden: may not be specified in the context of inline volumes',
        'spec.source.inlineVolumeSpec.csi: Required value: has to be specified in the context of inline volumes',
        'spec.source.inlineVolumeSpec.persistentVolumeReclaimPolicy: Forbidden: may only be Retain in the context of inline volumes',
        'spec.source.inlineVolumeSpec.nodeAffinity: Forbidden: may not be specified in the context of inline volumes',
        'spec.source.inlineVolumeSpec.storageClassName: Forbidden: may not be specified in the context of inline volumes',
        'spec.source.inlineVolumeSpec.volumeMode: Forbidden: may not specify volumeMode other than Filesystem in the context of inline volumes',
    ]),
    ("CSINode", {"spec": {"drivers": [{"name": "d.example.com", "nodeID": "n" * 257, "topologyKeys": ["a", "a", ""], "allocatable": {"count": -1}}, {"name": "d.example.com", "nodeID": "n"}]}}, [
        'spec.drivers[0].nodeID: Invalid value: "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn…',
        'spec.drivers[0].allocatable.count: Invalid value: -1: must be greater than or equal to 0',
        'spec.drivers[0]: Duplicate value: "a"',
        'spec.drivers[0]: Required value',
        'spec.drivers[0]: Invalid value: "": name part must be non-empty',
        'spec.drivers[0]: Invalid value: "": name part must consist of alphanumeric characters, \'-\', \'_\' or \'.\', and must start and end wit…',
        'spec.drivers[1].name: Duplicate value: "d.example.com"',
    ]),
    ("CSIDriver", merged(DRIVER, {"spec": {"tokenRequests": [{"audience": "a", "expirationSeconds": 2**33}, {"audience": "a"}, {"audience": "b", "expirationSeconds": 1}], "nodeAllocatableUpdatePeriodSeconds": 5, "volumeLifecycleModes": ["Always"]}}), [
        'spec.tokenRequests[0].expirationSeconds: Invalid value: 8589934592: may not specify a duration larger than 2^32 seconds',
        'spec.tokenRequests[1].audience: Duplicate value: "a"',
        'spec.tokenRequests[2].expirationSeconds: Invalid value: 1: may not specify a duration less than 10 minutes',
        'spec.volumeLifecycleModes: Unsupported value: "Always": supported values: "Persistent", "Ephemeral"',
        'spec.nodeAllocatableUpdatePeriodSeconds: Invalid value: 5: must be greater than or equal to 10 seconds',
    ]),
    ("StorageClass", merged(CLASS, {"allowedTopologies": [{"matchLabelExpressions": [{"key": "a", "values": ["x", "x"]}, {"key": "a", "values": []}]}, {"matchLabelExpressions": [{"key": "a"}]}]}), [
        'allowedTopologies[0].matchLabelExpressions[0].values[1]: Duplicate value: "x"',
        'allowedTopologies[0].matchLabelExpressions[1].values: Required value',
        'allowedTopologies[0].matchLabelExpressions[1].key: Duplicate value: "a"',
        'allowedTopologies[1].matchLabelExpressions[0].values: Required value',
        'allowedTopologies[1].matchLabelExpressions: Duplicate value: ""',
    ]),
    ("VolumeAttributesClass", {"driverName": "d.example.com"}, ['parameters: Required value: must contain at least one key/value pair']),
    ("CSIStorageCapacity", {"storageClassName": "A", "capacity": "-1"}, [
        'storageClassName: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, \'-\' or \'.…',
        'capacity: Invalid value: "-1": must be greater than or equal to 0',
    ]),
]  # fmt: skip

CHANGED = [
    ("PersistentVolume", pv(hostPath={"path": "/a"}, nodeAffinity=node_affinity(OLDZ)), {"spec": {"nodeAffinity": node_affinity(NEWZ)}}, []),
    ("PersistentVolume", pv(hostPath={"path": "/a"}, nodeAffinity=node_affinity()), {"spec": {"nodeAffinity": node_affinity("b")}}, ['nodeAffinity: Invalid value: {"required":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"b","operator":"In","values":["a"]}]}]}…']),
    ("PersistentVolume", pv(csi=CSI), {"spec": {"csi": {"controllerExpandSecretRef": {"name": "a", "namespace": "b"}}}}, []),
    ("PersistentVolume", pv(csi=CSI), {"spec": {"csi": {"volumeHandle": "other"}, "volumeMode": "Block"}}, [
        'spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation\n@@ -22,7 +22,7 @@\n  "StorageOS": null,\n  "CSI": {\n   "Driver": "d.example.com",\n-  "VolumeHandle": "h",\n+  "VolumeHandle": "other",\n   "ReadOnly": false,…',
        'volumeMode: Invalid value: "Block": field is immutable',
    ]),
    ("PersistentVolume", pv(csi=CSI, volumeAttributesClassName="a"), {"spec": {"volumeAttributesClassName": None}}, ['spec.volumeAttributesClassName: Forbidden: update from non-nil value to nil is forbidden']),
    ("PersistentVolumeClaim", CLAIM, {"metadata": {"annotations": {BETA: "a"}}}, ['metadata.volume.beta.kubernetes.io/storage-class: Invalid value: "a": field is immutable']),
    ("PersistentVolumeClaim", CLAIM, {"spec": {"volumeName": "v", "storageClassName": "a"}}, []),
    ("PersistentVolumeClaim", merged(CLAIM, {"metadata": {"annotations": {BETA: "a"}}}), {"spec": {"storageClassName": "a"}}, []),
    ("PersistentVolumeClaim", merged(CLAIM, {"metadata": {"annotations": {BETA: "a"}}}), {"spec": {"storageClassName": "b"}}, ['spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n@@ -10,7 +10,7 @@\n   }\n  },\n  "VolumeName": "",\n- "StorageClassName": null,\n+ "StorageClassName": "b",…']),
    ("PersistentVolumeClaim", BOUND, {"spec": {"resources": {"requests": {"storage": "3Gi"}}}}, []),
    ("PersistentVolumeClaim", BOUND, {"spec": {"resources": {"requests": {"storage": "1Gi"}}}}, ['spec.resources.requests.storage: Forbidden: field can not be less than status.capacity']),
    ("PersistentVolumeClaim", BOUND, {"spec": {"resources": {"requests": None}}}, [
        'spec.resources[storage]: Required value',
        'spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n@@ -5,9 +5,7 @@\n  "Selector": null,\n  "Resources": {\n   "Limits": null,…',
        'spec.resources.requests.storage: Forbidden: field can not be less than status.capacity',
    ]),
    ("PersistentVolumeClaim", BOUNDA, {"spec": {"volumeAttributesClassName": "slow"}}, []),
    ("PersistentVolumeClaim", BOUNDA, {"spec": {"volumeAttributesClassName": ""}}, ['spec.volumeAttributesClassName: Forbidden: update from non-nil value to an empty string is forbidden']),
    ("PersistentVolumeClaim", BOUNDA, {"spec": {"volumeAttributesClassName": None}}, [
        'spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n@@ -14,5 +14,5 @@\n  "VolumeMode": "Filesystem",…',
        'spec.volumeAttributesClassName: Forbidden: update from non-nil value to nil is forbidden',
    ]),
    ("CSINode", NODE, {"spec": {"drivers": [{"name": "driver.example.com", "nodeID": "other"}]}}, ['spec.drivers: Invalid value: {"Name":"driver.example.com","NodeID":"other","TopologyKeys":null,"Allocatable":null}: field is immutable']),
    ("CSINode", NODE, {"spec": {"drivers": [{"name": "driver.example.com", "nodeID": "n", "allocatable": {"count": 3}}]}}, []),
    ("VolumeAttachment", ATT, {"spec": {"nodeName": "m"}}, [
        'spec: Invalid value: {"Attacher":"a.example.com","Source":{"PersistentVolumeName":"v","InlineVolumeSpec":null},"NodeName":"m"}: field is immutable',
    ]),
    ("VolumeAttributesClass", {"driverName": "d.example.com", "parameters": {"a": "b"}}, {"parameters": {"a": "c"}}, ['parameters: Forbidden: updates to parameters are forbidden.']),
    ("CSIStorageCapacity", {"storageClassName": "a"}, {"storageClassName": "b", "nodeTopology": {"matchLabels": {"a": "b"}}}, ['nodeTopology: Invalid value: {"matchLabels":{"a":"b"}}: field is immutable', 'storageClassName: Invalid value: "b": field is immutable']),
    ("CSIDriver", DRIVER, {"spec": {"attachRequired": False, "volumeLifecycleModes": ["Ephemeral"]}}, [
        'spec.attachedRequired: Invalid value: false: field is immutable',
        'spec.volumeLifecycleModes: Invalid value: ["Ephemeral"]: field is immutable',
    ]),
]  # fmt: skip

STATUSES = [
    ("VolumeAttachment", ATT, {"attached": True, "attachError": {"message": "x" * 1025, "errorCode": -1}, "attachmentMetadata": {"a": "x" * (256 * 1024)}}, None, [
        'status.attachmentMetadata: Too long: may not be more than 262144 bytes',
        'status.attachError.message: Too long: may not be more than 262144 bytes',
        'status.attachError.errorCode: Invalid value: -1: must be between 0 and 2147483647, inclusive',
    ]),
    ("PersistentVolumeClaim", CLAIM, {"capacity": {"storage": "-1"}, "allocatedResourceStatuses": {"storage": "Later", "cpu": "NodeResizePending"}, "allocatedResources": {"storage": "1.5", "cpu": "1"}}, None, [
        'status.capacity[storage]: Invalid value: -1: must be a valid resource quantity',
        'status.allocatedResourceStatuses: Unsupported value: "storage": supported values: "ControllerResizeInProgress", "ControllerResizeInf…',
        'status.allocatedResourceStatuses: Unsupported value: "cpu": supported values: "storage"',
        'status.allocatedResources: Unsupported value: "cpu": supported values: "storage"',
    ]),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "obj", "expected"), NEW)
def test_new(kind, obj, expected):
    check_new(kind, obj, expected)


@pytest.mark.parametrize(("kind", "old", "change", "expected"), CHANGED)
def test_changed(kind, old, change, expected):
    check_update(kind, old, change, expected)


@pytest.mark.parametrize(("kind", "obj", "status", "before", "expected"), STATUSES)
def test_status(kind, obj, status, before, expected):
    check_status(kind, obj, status, before, expected)


REQUIRED = "Required value"

#: Sources of volumes -> the errors of one without fields, below `spec`.
EMPTY_SOURCES = {
    "gcePersistentDisk": [f"persistentDisk.pdName: {REQUIRED}"],
    "awsElasticBlockStore": [f"awsElasticBlockStore.volumeID: {REQUIRED}"],
    "hostPath": [f"hostPath.path: {REQUIRED}"],
    "glusterfs": [f"glusterfs.endpoints: {REQUIRED}", f"glusterfs.path: {REQUIRED}"],
    "nfs": [
        f"nfs.server: {REQUIRED}", f"nfs.path: {REQUIRED}", 'nfs.path: Invalid value: "": must be an absolute path',
    ],
    "rbd": [f"rbd.monitors: {REQUIRED}", f"rbd.image: {REQUIRED}"],
    "iscsi": [f"iscsi.targetPortal: {REQUIRED}", f"iscsi.iqn: {REQUIRED}"],
    "cinder": [f"cinder.volumeID: {REQUIRED}"],
    "cephfs": [f"cephfs.monitors: {REQUIRED}"],
    "fc": [f"fc.targetWWNs: {REQUIRED}: must specify either targetWWNs or wwids, but not both"],
    "flocker": [f"flocker: {REQUIRED}: one of datasetName and datasetUUID is required"],
    "flexVolume": [f"flexVolume.driver: {REQUIRED}"],
    "azureFile": [f"azureFile.secretName: {REQUIRED}", f"azureFile.shareName: {REQUIRED}"],
    "vsphereVolume": [f"vsphereVolume.volumePath: {REQUIRED}"],
    "quobyte": [
        f"quobyte.registry: {REQUIRED}: must be a host:port pair or multiple pairs separated by commas",
        f"quobyte.volume: {REQUIRED}",
    ],
    "photonPersistentDisk": [f"photonPersistentDisk.pdID: {REQUIRED}"],
    "portworxVolume": [f"portworxVolume.volumeID: {REQUIRED}"],
    "scaleIO": [f"scaleIO.{field}: {REQUIRED}" for field in ("gateway", "system", "volumeName")],
    "local": [f"local.path: {REQUIRED}", f"nodeAffinity: {REQUIRED}: Local volume requires node affinity"],
    "storageos": [f"storageos.volumeName: {REQUIRED}"],
    "csi": [f"csi.driver: {REQUIRED}", f"csi.volumeHandle: {REQUIRED}"],
}  # fmt: skip


@pytest.mark.parametrize("source", EMPTY_SOURCES)
def test_the_required_fields_of_a_source(source):
    obj = {"spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], source: {}}}
    check_new("PersistentVolume", obj, [f"spec.{error}" for error in EMPTY_SOURCES[source]])
