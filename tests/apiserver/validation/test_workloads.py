"""What keeps pods running: what is said of new and of changed objects, and of their status.

An expected text that ends in an ellipsis is the beginning of the server's.
"""

import pytest

from tests.apiserver.validation.support import check_new, check_status, check_update, merged

WORKLOAD = {
    "spec": {
        "selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
    }
}

EMPTY = {}

BASES = {
    "Deployment": WORKLOAD,
    "ReplicaSet": WORKLOAD,
    "DaemonSet": WORKLOAD,
    "StatefulSet": WORKLOAD,
    "ReplicationController": EMPTY,
    "PodTemplate": EMPTY,
    "ControllerRevision": EMPTY,
}


@pytest.mark.parametrize(
    ("kind", "change", "expected"),
    [
        ("Deployment", {}, []),
        (
            "Deployment",
            {"spec": {"selector": None, "template": None}},
            [
                "spec.selector: Required value",
                "spec.template.metadata.labels: Invalid value: null: `selector` does not match template `labels`",
                "spec.template.spec.containers: Required value",
            ],
        ),
        (
            "Deployment",
            {
                "spec": {
                    "replicas": -1,
                    "minReadySeconds": -1,
                    "revisionHistoryLimit": -1,
                    "progressDeadlineSeconds": -2,
                }
            },
            [
                "spec.replicas: Invalid value: -1: must be greater than or equal to 0",
                "spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0",
                "spec.revisionHistoryLimit: Invalid value: -1: must be greater than or equal to 0",
                "spec.progressDeadlineSeconds: Invalid value: -2: must be greater than or equal to 0",
                "spec.progressDeadlineSeconds: Invalid value: -2: must be greater than minReadySeconds",
            ],
        ),
        (
            "Deployment",
            {"spec": {"selector": {"matchLabels": {"c": "d"}}}},
            ['spec.template.metadata.labels: Invalid value: {"a":"b"}: `selector` does not match template `labels`'],
        ),
        (
            "Deployment",
            {"spec": {"selector": {"matchLabels": None}}},
            ["spec.selector: Invalid value: {}: empty selector is invalid for deployment"],
        ),
        (
            "Deployment",
            {"spec": {"selector": {"matchExpressions": [{"key": "a", "operator": "Maybe"}]}}},
            [
                'spec.selector.matchExpressions[0].operator: Invalid value: "Maybe": not a valid selector operator',
                'spec.selector: Invalid value: {"matchLabels":{"a":"b"},"matchExpressions":[{"key":"a","operator":"Maybe"}]}: invalid label selector',
            ],
        ),
        (
            "Deployment",
            {"spec": {"strategy": {"type": "Recreate", "rollingUpdate": {"maxSurge": 1}}}},
            ["spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'"],
        ),
        (
            "Deployment",
            {"spec": {"strategy": {"type": "X"}}},
            [
                'spec.strategy: Unsupported value: {"Type":"X","RollingUpdate":null}: supported values: "Recreate", "RollingUpdate"'
            ],
        ),
        (
            "Deployment",
            {"spec": {"strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": "0%"}}}},
            ['spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "0%": may not be 0 when `maxSurge` is 0'],
        ),
        (
            "Deployment",
            {"spec": {"strategy": {"rollingUpdate": {"maxSurge": "x", "maxUnavailable": "200%"}}}},
            [
                "spec.strategy.rollingUpdate.maxSurge: Invalid value: \"x\": a valid percent string must be a numeric string followed by an ending '%'…",
                'spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "200%": must not be greater than 100%',
            ],
        ),
        (
            "Deployment",
            {"spec": {"progressDeadlineSeconds": 5, "minReadySeconds": 5}},
            ["spec.progressDeadlineSeconds: Invalid value: 5: must be greater than minReadySeconds"],
        ),
        (
            "Deployment",
            {
                "spec": {
                    "template": {
                        "spec": {
                            "restartPolicy": "Never",
                            "activeDeadlineSeconds": 3,
                            "ephemeralContainers": [{"name": "x", "image": "i"}],
                        }
                    }
                }
            },
            [
                "spec.template.spec.ephemeralContainers: Forbidden: ephemeral containers not allowed in pod template",
                'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"',
                "spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in ReplicaSet is not Supported",
            ],
        ),
        (
            "ReplicaSet",
            {"spec": {"replicas": -1, "minReadySeconds": -1}},
            [
                "spec.replicas: Invalid value: -1: must be greater than or equal to 0",
                "spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0",
            ],
        ),
        (
            "ReplicaSet",
            {"spec": {"selector": None, "template": None}},
            [
                "spec.selector: Required value",
                "spec.template.metadata.labels: Invalid value: null: `selector` does not match template `labels`",
                "spec.template.spec.containers: Required value",
            ],
        ),
        ("DaemonSet", {}, []),
        (
            "DaemonSet",
            {"spec": {"selector": None, "template": None}},
            [
                "spec.template.metadata.labels: Invalid value: null: `selector` does not match template `labels`",
                "spec.template.spec.containers: Required value",
            ],
        ),
        (
            "DaemonSet",
            {"spec": {"updateStrategy": {"type": "X"}}},
            [
                'spec.updateStrategy: Unsupported value: {"Type":"X","RollingUpdate":null}: supported values: "RollingUpdate", "OnDelete"'
            ],
        ),
        (
            "DaemonSet",
            {"spec": {"updateStrategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}}}},
            [
                "spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: 1: may not be set when maxUnavailable is non-zero"
            ],
        ),
        (
            "DaemonSet",
            {"spec": {"updateStrategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}}}},
            ["spec.updateStrategy.rollingUpdate.maxUnavailable: Required value: cannot be 0 when maxSurge is 0"],
        ),
        ("StatefulSet", {}, []),
        (
            "StatefulSet",
            {"spec": {"selector": None, "template": None}},
            [
                "spec.selector: Required value",
                "spec.template.metadata.labels: Invalid value: null: `selector` does not match template `labels`",
                "spec.template.spec.containers: Required value",
            ],
        ),
        (
            "StatefulSet",
            {"spec": {"podManagementPolicy": "X", "replicas": -1, "serviceName": "A", "ordinals": {"start": -1}}},
            [
                "spec.podManagementPolicy: Invalid value: \"X\": must be 'OrderedReady' or 'Parallel'",
                "spec.replicas: Invalid value: -1: must be greater than or equal to 0",
                "spec.ordinals.start: Invalid value: -1: must be greater than or equal to 0",
                "spec.serviceName: Invalid value: \"A\": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end wit…",
            ],
        ),
        (
            "StatefulSet",
            {"spec": {"updateStrategy": {"type": "OnDelete", "rollingUpdate": {"partition": 1}}}},
            [
                'spec.updateStrategy.rollingUpdate: Invalid value: {"Partition":1,"MaxUnavailable":null}: only allowed for updateStrategy \'RollingUpdate\''
            ],
        ),
        (
            "StatefulSet",
            {"spec": {"updateStrategy": {"type": "X"}}},
            [
                'spec.updateStrategy: Invalid value: {"Type":"X","RollingUpdate":null}: must be \'RollingUpdate\' or \'OnDelete\''
            ],
        ),
        (
            "StatefulSet",
            {"spec": {"updateStrategy": {"rollingUpdate": {"partition": -1}}}},
            ["spec.updateStrategy.rollingUpdate.partition: Invalid value: -1: must be greater than or equal to 0"],
        ),
        (
            "StatefulSet",
            {"spec": {"persistentVolumeClaimRetentionPolicy": {"whenDeleted": "X"}}},
            [
                'spec.persistentVolumeClaimRetentionPolicy.whenDeleted: Unsupported value: "X": supported values: "Retain", "Delete"'
            ],
        ),
        (
            "StatefulSet",
            {"spec": {"volumeClaimTemplates": [{"metadata": {"name": "d"}, "spec": {}}]}},
            [
                "spec.volumeClaimTemplates[0].spec.accessModes: Required value: at least 1 access mode is required",
                "spec.volumeClaimTemplates[0].spec.resources[storage]: Required value",
            ],
        ),
        (
            "StatefulSet",
            {
                "spec": {
                    "template": {
                        "spec": {
                            "containers": [
                                {"name": "c", "image": "i", "volumeMounts": [{"name": "d", "mountPath": "/d"}]}
                            ]
                        }
                    },
                    "volumeClaimTemplates": [
                        {
                            "metadata": {"name": "d"},
                            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1"}}},
                        }
                    ],
                }
            },
            [],
        ),
        ("ReplicationController", {"spec": {}}, ["spec.selector: Required value", "spec.template: Required value"]),
        (
            "ReplicationController",
            {
                "spec": {
                    "selector": {"x": "y"},
                    "template": {
                        "metadata": {"labels": {"a": "b"}},
                        "spec": {"containers": [{"name": "c", "image": "i"}]},
                    },
                    "replicas": -1,
                }
            },
            [
                "spec.replicas: Invalid value: -1: must be greater than or equal to 0",
                'spec.template.metadata.labels: Invalid value: {"a":"b"}: `selector` does not match template `labels`',
            ],
        ),
        (
            "ReplicationController",
            {
                "spec": {
                    "template": {
                        "metadata": {"labels": {"a": "b"}},
                        "spec": {"containers": [{"name": "c", "image": "i"}]},
                    }
                }
            },
            [],
        ),
        ("PodTemplate", {"template": {}}, ["template.spec.containers: Required value"]),
        (
            "ControllerRevision",
            {"revision": -1},
            [
                "revision: Invalid value: -1: must be greater than or equal to 0",
                "data: Required value: data is mandatory",
            ],
        ),
        ("ControllerRevision", {"data": {"a": 1}, "revision": 1}, []),
    ],
)
def test_new_objects(kind, change, expected):
    check_new(kind, merged(BASES[kind], change), expected)


@pytest.mark.parametrize(
    ("kind", "before", "change", "expected"),
    [
        (
            "Deployment",
            {},
            {"spec": {"selector": {"matchLabels": {"c": "d"}}, "template": {"metadata": {"labels": {"c": "d"}}}}},
            ['spec.selector: Invalid value: {"matchLabels":{"a":"b","c":"d"}}: field is immutable'],
        ),
        (
            "Deployment",
            {},
            {"spec": {"replicas": -2}},
            ["spec.replicas: Invalid value: -2: must be greater than or equal to 0"],
        ),
        (
            "ReplicaSet",
            {},
            {"spec": {"selector": {"matchLabels": {"c": "d"}}}},
            [
                'spec.template.metadata.labels: Invalid value: {"a":"b"}: `selector` does not match template `labels`',
                'spec.selector: Invalid value: {"matchLabels":{"a":"b","c":"d"}}: field is immutable',
            ],
        ),
        (
            "DaemonSet",
            {},
            {"spec": {"selector": {"matchLabels": None}}},
            [
                "spec.selector: Invalid value: {}: field is immutable",
                "spec.selector: Invalid value: {}: empty selector is invalid for daemonset",
            ],
        ),
        (
            "StatefulSet",
            {},
            {"spec": {"serviceName": "x"}},
            [
                "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'pers…"
            ],
        ),
        (
            "StatefulSet",
            {"spec": {"serviceName": "A"}},
            {"spec": {"replicas": -4}},
            ["spec.replicas: Invalid value: -4: must be greater than or equal to 0"],
        ),
        ("StatefulSet", {}, {"spec": {"replicas": 4, "minReadySeconds": 3}}, []),
        (
            "ControllerRevision",
            {"data": {"a": 1}, "revision": 1},
            {"data": {"a": 2}},
            ['data: Invalid value: {"a":2}: field is immutable'],
        ),
        (
            "PodTemplate",
            {"template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}},
            {"template": {"spec": None}},
            ["template.spec.containers: Required value"],
        ),
        (
            "ReplicationController",
            {
                "spec": {
                    "template": {
                        "metadata": {"labels": {"a": "b"}},
                        "spec": {"containers": [{"name": "c", "image": "i"}]},
                    }
                }
            },
            {"spec": {"selector": {"x": "y"}}},
            ['spec.template.metadata.labels: Invalid value: {"a":"b"}: `selector` does not match template `labels`'],
        ),
    ],
)
def test_changed_objects(kind, before, change, expected):
    check_update(kind, merged(BASES[kind], before), change, expected)


@pytest.mark.parametrize(
    ("kind", "change", "before", "status", "expected"),
    [
        (
            "Deployment",
            {},
            {},
            {
                "replicas": 1,
                "updatedReplicas": 2,
                "readyReplicas": 3,
                "availableReplicas": 4,
                "unavailableReplicas": -1,
            },
            [
                "status.unavailableReplicas: Invalid value: -1: must be greater than or equal to 0",
                "status.updatedReplicas: Invalid value: 2: cannot be greater than status.replicas",
                "status.readyReplicas: Invalid value: 3: cannot be greater than status.replicas",
                "status.availableReplicas: Invalid value: 4: cannot be greater than status.replicas",
                "status.availableReplicas: Invalid value: 4: cannot be greater than readyReplicas",
            ],
        ),
        (
            "Deployment",
            {},
            {"collisionCount": 3},
            {"collisionCount": 2},
            ["status.collisionCount: Invalid value: 2: cannot be decremented"],
        ),
        (
            "Deployment",
            {},
            {"collisionCount": 3},
            {},
            ["status.collisionCount: Invalid value: 0: cannot be decremented"],
        ),
        (
            "ReplicaSet",
            {},
            {},
            {"replicas": 1, "fullyLabeledReplicas": 2, "readyReplicas": 2, "availableReplicas": 3},
            [
                "status.fullyLabeledReplicas: Invalid value: 2: cannot be greater than status.replicas",
                "status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas",
                "status.availableReplicas: Invalid value: 3: cannot be greater than status.replicas",
                "status.availableReplicas: Invalid value: 3: cannot be greater than readyReplicas",
            ],
        ),
        (
            "StatefulSet",
            {},
            {},
            {"replicas": 1, "currentReplicas": 2, "readyReplicas": 1, "availableReplicas": 2},
            [
                "status.currentReplicas: Invalid value: 2: cannot be greater than status.replicas",
                "status.availableReplicas: Invalid value: 2: cannot be greater than status.replicas",
                "status.availableReplicas: Invalid value: 2: cannot be greater than status.readyReplicas",
            ],
        ),
        (
            "DaemonSet",
            {},
            {},
            {"currentNumberScheduled": -1, "numberMisscheduled": -1, "desiredNumberScheduled": -1, "numberReady": -1},
            [
                "status.currentNumberScheduled: Invalid value: -1: must be greater than or equal to 0",
                "status.numberMisscheduled: Invalid value: -1: must be greater than or equal to 0",
                "status.desiredNumberScheduled: Invalid value: -1: must be greater than or equal to 0",
                "status.numberReady: Invalid value: -1: must be greater than or equal to 0",
            ],
        ),
    ],
)
def test_statuses(kind, change, before, status, expected):
    check_status(kind, merged(BASES[kind], change), status, before, expected)
