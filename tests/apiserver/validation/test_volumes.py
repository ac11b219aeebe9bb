"""Sources of a pod's volumes."""

import pytest

from tests.apiserver.validation.support import check_new

SOURCES = [
    (
        {"emptyDir": {"sizeLimit": "-1"}},
        ["spec.volumes[0].emptyDir.sizeLimit: Forbidden: SizeLimit field must be a valid resource quantity"],
    ),
    ({"hostPath": {}}, ["spec.volumes[0].hostPath.path: Required value"]),
    (
        {"hostPath": {"path": "/a/../b", "type": "Pipe"}},
        [
            "spec.volumes[0].hostPath.path: Invalid value: \"/a/../b\": must not contain '..'",
            'spec.volumes[0].hostPath.type: Unsupported value: "Pipe": supported values: "", "BlockDevice", "CharDevice", "Directory", "Directo…',
        ],
    ),
    (
        {"hostPath": {"path": "/a/../b"}},
        ["spec.volumes[0].hostPath.path: Invalid value: \"/a/../b\": must not contain '..'"],
    ),
    (
        {"hostPath": {"path": "/a", "type": "Pipe"}},
        [
            'spec.volumes[0].hostPath.type: Unsupported value: "Pipe": supported values: "", "BlockDevice", "CharDevice", "Directory", "Directo…'
        ],
    ),
    (
        {"gitRepo": {"directory": "/../x"}},
        [
            "spec.volumes[0].gitRepo.repository: Required value",
            'spec.volumes[0].gitRepo.directory: Invalid value: "/../x": must be a relative path',
            "spec.volumes[0].gitRepo.directory: Invalid value: \"/../x\": must not contain '..'",
        ],
    ),
    (
        {"gcePersistentDisk": {"partition": 256}},
        [
            "spec.volumes[0].persistentDisk.pdName: Required value",
            "spec.volumes[0].persistentDisk.partition: Invalid value: 256: must be between 1 and 255, inclusive",
        ],
    ),
    (
        {"awsElasticBlockStore": {"partition": -1}},
        [
            "spec.volumes[0].awsElasticBlockStore.volumeID: Required value",
            "spec.volumes[0].awsElasticBlockStore.partition: Invalid value: -1: must be between 1 and 255, inclusive",
        ],
    ),
    (
        {"secret": {"defaultMode": 512, "items": [{"key": "", "path": "..x", "mode": -1}]}},
        [
            "spec.volumes[0].secret.secretName: Required value",
            "spec.volumes[0].secret.defaultMode: Invalid value: 512: must be a number between 0 and 0777 (octal), both inclusive",
            "spec.volumes[0].secret.items[0].key: Required value",
            "spec.volumes[0].secret.items[0].path: Invalid value: \"..x\": must not start with '..'",
            "spec.volumes[0].secret.items[0].mode: Invalid value: -1: must be a number between 0 and 0777 (octal), both inclusive",
        ],
    ),
    (
        {"configMap": {"items": [{"key": "k", "path": "/abs/../x"}]}},
        [
            "spec.volumes[0].configMap.name: Required value",
            'spec.volumes[0].configMap.items[0].path: Invalid value: "/abs/../x": must be a relative path',
            "spec.volumes[0].configMap.items[0].path: Invalid value: \"/abs/../x\": must not contain '..'",
        ],
    ),
    (
        {"nfs": {"path": "relative"}},
        [
            "spec.volumes[0].nfs.server: Required value",
            'spec.volumes[0].nfs.path: Invalid value: "relative": must be an absolute path',
        ],
    ),
    (
        {"iscsi": {"lun": 300, "chapAuthSession": True, "initiatorName": "iqn.bad"}},
        [
            "spec.volumes[0].iscsi.targetPortal: Required value",
            "spec.volumes[0].iscsi.iqn: Required value",
            "spec.volumes[0].iscsi.lun: Invalid value: 300: must be between 0 and 255, inclusive",
            "spec.volumes[0].iscsi.secretRef: Required value",
            'spec.volumes[0].iscsi.initiatorname: Invalid value: "iqn.bad": must be valid format',
        ],
    ),
    (
        {"iscsi": {"targetPortal": "p", "iqn": "abc", "initiatorName": "naa." + "a" * 32}},
        ['spec.volumes[0].iscsi.iqn: Invalid value: "abc": must be valid format starting with iqn, eui, or naa'],
    ),
    (
        {
            "iscsi": {
                "targetPortal": "p" * 70,
                "iqn": "eui." + "a" * 16,
                "initiatorName": "iqn.2001-04.com.example:storage",
            }
        },
        [
            'spec.volumes[0].name: Invalid value: "v": Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.…'
        ],
    ),
    (
        {"glusterfs": {}},
        ["spec.volumes[0].glusterfs.endpoints: Required value", "spec.volumes[0].glusterfs.path: Required value"],
    ),
    ({"flocker": {}}, ["spec.volumes[0].flocker: Required value: one of datasetName and datasetUUID is required"]),
    (
        {"flocker": {"datasetName": "a/b", "datasetUUID": "u"}},
        [
            'spec.volumes[0].flocker: Invalid value: "resource": datasetName and datasetUUID can not be specified simultaneously',
            "spec.volumes[0].flocker.datasetName: Invalid value: \"a/b\": must not contain '/'",
        ],
    ),
    ({"persistentVolumeClaim": {}}, ["spec.volumes[0].persistentVolumeClaim.claimName: Required value"]),
    ({"rbd": {}}, ["spec.volumes[0].rbd.monitors: Required value", "spec.volumes[0].rbd.image: Required value"]),
    (
        {"cinder": {"secretRef": {}}},
        ["spec.volumes[0].cinder.volumeID: Required value", "spec.volumes[0].cinder.secretRef.name: Required value"],
    ),
    ({"cephfs": {}}, ["spec.volumes[0].cephfs.monitors: Required value"]),
    (
        {"quobyte": {}},
        [
            "spec.volumes[0].quobyte.registry: Required value: must be a host:port pair or multiple pairs separated by commas",
            "spec.volumes[0].quobyte.volume: Required value",
        ],
    ),
    (
        {"quobyte": {"registry": "a:1,b", "volume": "v"}},
        [
            'spec.volumes[0].quobyte.registry: Invalid value: "a:1,b": must be a host:port pair or multiple pairs separated by commas'
        ],
    ),
    (
        {"quobyte": {"registry": "a:1", "volume": "v", "tenant": "t" * 65}},
        ["spec.volumes[0].quobyte.tenant: Required value: must be a UUID and may not exceed a length of 64 characters"],
    ),
    (
        {
            "downwardAPI": {
                "defaultMode": 512,
                "items": [
                    {"path": "../x"},
                    {
                        "path": "p",
                        "fieldRef": {"fieldPath": "status.podIP"},
                        "resourceFieldRef": {"resource": "limits.cpu"},
                    },
                    {"path": "q", "resourceFieldRef": {"resource": "limits.cpu"}, "mode": 512},
                ],
            }
        },
        [
            "spec.volumes[0].downwardAPI.defaultMode: Invalid value: 512: must be a number between 0 and 0777 (octal), both inclusive",
            "spec.volumes[0].downwardAPI.path: Invalid value: \"../x\": must not contain '..'",
            "spec.volumes[0].downwardAPI: Required value: one of fieldRef and resourceFieldRef is required",
            'spec.volumes[0].downwardAPI.fieldRef.fieldPath: Unsupported value: "status.podIP": supported values: "metadata.annotations", "meta…',
            'spec.volumes[0].downwardAPI: Invalid value: "resource": fieldRef and resourceFieldRef can not be specified simultaneously',
            "spec.volumes[0].downwardAPI.resourceFieldRef.containerName: Required value",
            "spec.volumes[0].downwardAPI.mode: Invalid value: 512: must be a number between 0 and 0777 (octal), both inclusive",
        ],
    ),
    (
        {"fc": {}},
        ["spec.volumes[0].fc.targetWWNs: Required value: must specify either targetWWNs or wwids, but not both"],
    ),
    (
        {"fc": {"targetWWNs": ["a"], "wwids": ["b"]}},
        [
            'spec.volumes[0].fc.targetWWNs: Invalid value: ["a"]: targetWWNs and wwids can not be specified simultaneously',
            "spec.volumes[0].fc.lun: Required value: lun is required if targetWWNs is specified",
        ],
    ),
    (
        {"fc": {"targetWWNs": ["a"], "lun": 256}},
        ["spec.volumes[0].fc.lun: Invalid value: 256: must be between 0 and 255, inclusive"],
    ),
    (
        {"flexVolume": {"options": {"kubernetes.io/x": "y", "a.k8s.io/x": "y", "fine": "y"}}},
        [
            "spec.volumes[0].flexVolume.driver: Required value",
            'spec.volumes[0].flexVolume.options[kubernetes.io/x]: Invalid value: "kubernetes.io/x": kubernetes.io and k8s.io namespaces are res…',
            'spec.volumes[0].flexVolume.options[a.k8s.io/x]: Invalid value: "a.k8s.io/x": kubernetes.io and k8s.io namespaces are reserved',
        ],
    ),
    (
        {"azureFile": {}},
        ["spec.volumes[0].azureFile.secretName: Required value", "spec.volumes[0].azureFile.shareName: Required value"],
    ),
    ({"vsphereVolume": {}}, ["spec.volumes[0].vsphereVolume.volumePath: Required value"]),
    ({"photonPersistentDisk": {}}, ["spec.volumes[0].photonPersistentDisk.pdID: Required value"]),
    ({"portworxVolume": {}}, ["spec.volumes[0].portworxVolume.volumeID: Required value"]),
    (
        {"azureDisk": {"cachingMode": "Some", "kind": "Other"}},
        [
            "spec.volumes[0].azureDisk.diskName: Required value",
            "spec.volumes[0].azureDisk.diskURI: Required value",
            'spec.volumes[0].azureDisk.cachingMode: Unsupported value: "Some": supported values: "None", "ReadOnly", "ReadWrite"',
            'spec.volumes[0].azureDisk.kind: Unsupported value: "Other": supported values: "Dedicated", "Managed", "Shared"',
            'spec.volumes[0].azureDisk.diskURI: Unsupported value: "": supported values: "https://{account-name}.blob.core.windows.net/{contain…',
        ],
    ),
    (
        {"azureDisk": {"diskName": "d", "diskURI": "https://x", "kind": "Managed"}},
        [
            'spec.volumes[0].azureDisk.diskURI: Unsupported value: "https://x": supported values: "/subscriptions/{sub-id}/resourcegroups/{grou…'
        ],
    ),
    (
        {"azureDisk": {"diskName": "d", "diskURI": "/subscriptions/x", "kind": "Shared"}},
        [
            'spec.volumes[0].azureDisk.diskURI: Unsupported value: "/subscriptions/x": supported values: "https://{account-name}.blob.core.wind…'
        ],
    ),
    (
        {"storageos": {"volumeNamespace": "A", "secretRef": {}}},
        [
            "spec.volumes[0].storageos.volumeName: Required value",
            'spec.volumes[0].storageos.volumeNamespace: Invalid value: "A": a lowercase RFC 1123 label must consist of lower case alphanumeric…',
            "spec.volumes[0].storageos.secretRef.name: Required value",
        ],
    ),
    (
        {"storageos": {"volumeName": "A"}},
        [
            'spec.volumes[0].storageos.volumeName: Invalid value: "A": a lowercase RFC 1123 label must consist of lower case alphanumeric chara…'
        ],
    ),
    (
        {"scaleIO": {}},
        [
            "spec.volumes[0].scaleIO.gateway: Required value",
            "spec.volumes[0].scaleIO.system: Required value",
            "spec.volumes[0].scaleIO.volumeName: Required value",
        ],
    ),
    ({"csi": {}}, ["spec.volumes[0].csi.driver: Required value"]),
    (
        {"csi": {"driver": "A" * 64 + "_", "nodePublishSecretRef": {}}},
        [
            "spec.volumes[0].csi.driver: Too long: may not be more than 63 bytes",
            'spec.volumes[0].csi.driver: Invalid value: "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA_": a lowercase RFC 11…',
            "spec.volumes[0].csi.nodePublishSecretRef.name: Required value",
        ],
    ),
    (
        {"csi": {"driver": "a.b", "nodePublishSecretRef": {"name": "A"}}},
        [
            'spec.volumes[0].csi.name: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, \'…'
        ],
    ),
    ({"ephemeral": {}}, ["spec.volumes[0].ephemeral.volumeClaimTemplate: Required value"]),
    (
        {"ephemeral": {"volumeClaimTemplate": {"metadata": {"name": "x", "labels": {"-": "a"}, "finalizers": ["a"]}}}},
        [
            'spec.volumes[0].ephemeral.volumeClaimTemplate.metadata.labels: Invalid value: "-": name part must consist of alphanumeric characte…',
            "spec.volumes[0].ephemeral.volumeClaimTemplate.metadata.name: Forbidden: cannot be set",
            "spec.volumes[0].ephemeral.volumeClaimTemplate.metadata.finalizers: Forbidden: cannot be set",
            "spec.volumes[0].ephemeral.volumeClaimTemplate.spec.accessModes: Required value: at least 1 access mode is required",
            "spec.volumes[0].ephemeral.volumeClaimTemplate.spec.resources[storage]: Required value",
        ],
    ),
    (
        {
            "ephemeral": {
                "volumeClaimTemplate": {
                    "spec": {
                        "accessModes": ["ReadWriteOncePod", "ReadWriteOnce", "Some"],
                        "resources": {"requests": {"storage": "0"}},
                        "dataSource": {"kind": "Pod", "name": ""},
                        "volumeMode": "Other",
                        "storageClassName": "A",
                        "volumeAttributesClassName": "B",
                    }
                }
            }
        },
        [
            'spec.volumes[0].ephemeral.volumeClaimTemplate.spec.accessModes: Unsupported value: "Some": supported values: "ReadOnlyMany", "Read…',
            "spec.volumes[0].ephemeral.volumeClaimTemplate.spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes",
            'spec.volumes[0].ephemeral.volumeClaimTemplate.spec.resources[storage]: Invalid value: "0": must be greater than zero',
            'spec.volumes[0].ephemeral.volumeClaimTemplate.spec.storageClassName: Invalid value: "A": a lowercase RFC 1123 subdomain must consi…',
            'spec.volumes[0].ephemeral.volumeClaimTemplate.spec.volumeMode: Unsupported value: "Other": supported values: "Block", "Filesystem"',
            "spec.volumes[0].ephemeral.volumeClaimTemplate.spec.dataSource.name: Required value",
            "spec.volumes[0].ephemeral.volumeClaimTemplate.spec.dataSource: Invalid value: \"Pod\": must be 'PersistentVolumeClaim' when referenc…",
            'spec.volumes[0].ephemeral.volumeClaimTemplate.spec.volumeAttributesClassName: Invalid value: "B": a lowercase RFC 1123 subdomain m…',
        ],
    ),
    (
        {
            "ephemeral": {
                "volumeClaimTemplate": {
                    "spec": {
                        "accessModes": ["ReadWriteOnce"],
                        "resources": {"requests": {"storage": "1.5"}},
                        "dataSource": {"apiGroup": "A", "kind": "X", "name": "x"},
                        "dataSourceRef": {"apiGroup": "a", "kind": "X", "name": "y"},
                    }
                }
            }
        },
        [
            'spec.volumes[0].ephemeral.volumeClaimTemplate.spec.dataSource.apiGroup: Invalid value: "A": a lowercase RFC 1123 subdomain must co…',
            "spec.volumes[0].ephemeral.volumeClaimTemplate.spec: Invalid value: {}: must match dataSourceRef",
        ],
    ),
    (
        {
            "ephemeral": {
                "volumeClaimTemplate": {
                    "spec": {
                        "accessModes": ["ReadWriteOnce"],
                        "resources": {"requests": {"storage": "1"}},
                        "dataSource": {"apiGroup": "a", "kind": "X", "name": "x"},
                        "dataSourceRef": {"apiGroup": "a", "kind": "X", "name": "x", "namespace": "N"},
                    }
                }
            }
        },
        [
            'spec.volumes[0].ephemeral.volumeClaimTemplate.spec.dataSourceRef.namespace: Invalid value: "N": a lowercase RFC 1123 label must co…',
            "spec.volumes[0].ephemeral.volumeClaimTemplate.spec: Invalid value: {}: may not be specified when dataSourceRef.namespace is specif…",
        ],
    ),
    (
        {"image": {"pullPolicy": "Sometimes"}},
        [
            "spec.volumes[0].image.reference: Required value",
            'spec.volumes[0].image.pullPolicy: Unsupported value: "Sometimes": supported values: "Always", "IfNotPresent", "Never"',
        ],
    ),
    (
        {
            "projected": {
                "defaultMode": -1,
                "sources": [
                    {
                        "secret": {},
                        "configMap": {"name": "c", "items": [{"key": "a", "path": "p"}, {"key": "b", "path": "p"}]},
                    },
                    {"downwardAPI": {"items": [{"path": "p", "fieldRef": {"fieldPath": "metadata.name"}}, {}]}},
                ],
            }
        },
        [
            "spec.volumes[0].projected.defaultMode: Invalid value: -1: must be a number between 0 and 0777 (octal), both inclusive",
            "spec.volumes[0].projected.sources[0].secret.name: Required value",
            'spec.volumes[0].projected: Invalid value: "c": conflicting duplicate paths',
            "spec.volumes[0].projected.sources[0]: Forbidden: may not specify more than 1 volume type per source",
            'spec.volumes[0].projected: Invalid value: "p": conflicting duplicate paths',
            "spec.volumes[0].projected.sources[1].downwardAPI.path: Required value",
            "spec.volumes[0].projected.sources[1].downwardAPI: Required value: one of fieldRef and resourceFieldRef is required",
        ],
    ),
    (
        {
            "projected": {
                "sources": [
                    {"serviceAccountToken": {"expirationSeconds": 599}},
                    {"serviceAccountToken": {"path": "..x", "expirationSeconds": 4294967297}},
                ]
            }
        },
        [
            "spec.volumes[0].projected.sources[0].serviceAccountToken.expirationSeconds: Invalid value: 599: may not specify a duration less th…",
            "spec.volumes[0].projected.path: Required value",
            "spec.volumes[0].projected.sources[1].serviceAccountToken.expirationSeconds: Invalid value: 4294967297: may not specify a duration…",
            "spec.volumes[0].projected.path: Invalid value: \"..x\": must not start with '..'",
            "spec.volumes[0].projected.sources[0].serviceAccountToken: Forbidden: must not be specified when serviceAccountName is not set",
            "spec.volumes[0].projected.sources[1].serviceAccountToken: Forbidden: must not be specified when serviceAccountName is not set",
        ],
    ),
    (
        {
            "emptyDir": {},
            "cephfs": {"monitors": ["a"]},
            "downwardAPI": {},
            "iscsi": {"targetPortal": "p" * 70, "initiatorName": "iqn"},
        },
        [
            "spec.volumes[0].iscsi: Forbidden: may not specify more than 1 volume type",
            'spec.volumes[0].name: Invalid value: "v": Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.…',
            "spec.volumes[0].cephFS: Forbidden: may not specify more than 1 volume type",
            "spec.volumes[0].downwarAPI: Forbidden: may not specify more than 1 volume type",
        ],
    ),
]


@pytest.mark.parametrize(("source", "errors"), SOURCES)
def test_a_source_is_validated(source, errors):
    spec = {"containers": [{"name": "c", "image": "i"}], "volumes": [{"name": "v", **source}]}
    check_new("Pod", {"metadata": {"name": "x"}, "spec": spec}, errors)
