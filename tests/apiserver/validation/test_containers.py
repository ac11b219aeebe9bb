"""Containers of a pod and their parts."""

import pytest

from tests.apiserver.validation.support import check_new

SPEC = {
    "volumes": [{"name": "empty", "emptyDir": {}}, {"name": "claim", "persistentVolumeClaim": {"claimName": "c"}}],
    "resourceClaims": [{"name": "one", "resourceClaimName": "r"}],
    "restartPolicy": "Never",
}

CONTAINERS = [
    (
        {"name": "A", "image": "", "terminationMessagePolicy": "Other", "imagePullPolicy": "Other"},
        [
            "spec.containers[0].name: Invalid value: \"A\": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-',…",
            "spec.containers[0].image: Required value",
            'spec.containers[0].terminationMessagePolicy: Unsupported value: "Other": supported values: "File", "FallbackToLogsOnError"',
            'spec.containers[0].imagePullPolicy: Unsupported value: "Other": supported values: "Always", "IfNotPresent", "Never"',
        ],
    ),
    (
        {
            "ports": [
                {"name": "A", "containerPort": 70000, "hostPort": 70000, "protocol": "X"},
                {"name": "a", "hostPort": 1},
                {"name": "a", "containerPort": 1, "hostPort": 1},
                {"name": "a", "containerPort": 2, "hostPort": 1},
                {"name": "a-very-long-port-name"},
                {"name": "-1--", "containerPort": 3},
            ]
        },
        [
            'spec.containers[0].ports[0].name: Invalid value: "A": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)',
            'spec.containers[0].ports[0].name: Invalid value: "A": must contain at least one letter (a-z)',
            "spec.containers[0].ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive",
            "spec.containers[0].ports[0].hostPort: Invalid value: 70000: must be between 1 and 65535, inclusive",
            'spec.containers[0].ports[0].protocol: Unsupported value: "X": supported values: "SCTP", "TCP", "UDP"',
            "spec.containers[0].ports[1].containerPort: Required value",
            'spec.containers[0].ports[2].name: Duplicate value: "a"',
            'spec.containers[0].ports[3].name: Duplicate value: "a"',
            'spec.containers[0].ports[4].name: Invalid value: "a-very-long-port-name": must be no more than 15 characters',
            "spec.containers[0].ports[4].containerPort: Required value",
            'spec.containers[0].ports[5].name: Invalid value: "-1--": must contain at least one letter (a-z)',
            'spec.containers[0].ports[5].name: Invalid value: "-1--": must not contain consecutive hyphens',
            'spec.containers[0].ports[5].name: Invalid value: "-1--": must not begin or end with a hyphen',
            'spec.containers[0].ports[2].hostPort: Duplicate value: "TCP//1"',
            'spec.containers[0].ports[3].hostPort: Duplicate value: "TCP//1"',
        ],
    ),
    (
        {
            "env": [
                {"name": ""},
                {"name": "a=b"},
                {"name": "a", "valueFrom": {}},
                {"name": "a", "value": "x", "valueFrom": {"secretKeyRef": {"name": "A", "key": "../x"}}},
                {
                    "name": "a",
                    "valueFrom": {"configMapKeyRef": {"name": "a"}, "secretKeyRef": {"name": "a", "key": ".."}},
                },
            ]
        },
        [
            "spec.containers[0].env[0].name: Required value",
            'spec.containers[0].env[1].name: Invalid value: "a=b": a valid environment variable name must consist only of printable ASCII chara…',
            'spec.containers[0].env[2].valueFrom: Invalid value: "": must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `s…',
            'spec.containers[0].env[3].valueFrom.secretKeyRef.name: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower ca…',
            'spec.containers[0].env[3].valueFrom.secretKeyRef.key: Invalid value: "../x": a valid config key must consist of alphanumeric chara…',
            "spec.containers[0].env[3].valueFrom.secretKeyRef.key: Invalid value: \"../x\": must not start with '..'",
            'spec.containers[0].env[3].valueFrom: Invalid value: "": may not be specified when `value` is not empty',
            "spec.containers[0].env[4].valueFrom.configMapKeyRef.key: Required value",
            "spec.containers[0].env[4].valueFrom.secretKeyRef.key: Invalid value: \"..\": must not be '..'",
            'spec.containers[0].env[4].valueFrom: Invalid value: "": may not have more than one field specified at a time',
        ],
    ),
    (
        {
            "env": [
                {"name": "a", "valueFrom": {"fieldRef": {}}},
                {"name": "a", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['a b']"}}},
                {"name": "a", "valueFrom": {"fieldRef": {"fieldPath": "spec.x['a']"}}},
                {"name": "a", "valueFrom": {"fieldRef": {"apiVersion": "v2", "fieldPath": "metadata.name"}}},
                {"name": "a", "valueFrom": {"fieldRef": {"fieldPath": "spec.other"}}},
                {"name": "a", "valueFrom": {"fieldRef": {"fieldPath": "spec.restartPolicy"}}},
                {"name": "a", "valueFrom": {"fieldRef": {"fieldPath": "spec.host"}}},
                {"name": "a", "valueFrom": {"fieldRef": {"fieldPath": "metadata.annotations['A/B_']"}}},
                {"name": "a", "valueFrom": {"fieldRef": {"fieldPath": "['x']"}}},
            ]
        },
        [
            "spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: Required value",
            "spec.containers[0].env[1].valueFrom.fieldRef: Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' or…",
            "spec.containers[0].env[2].valueFrom.fieldRef.fieldPath: Invalid value: \"spec.x['a']\": error converting fieldPath: field label does…",
            'spec.containers[0].env[3].valueFrom.fieldRef.fieldPath: Invalid value: "metadata.name": error converting fieldPath: unsupported po…',
            'spec.containers[0].env[4].valueFrom.fieldRef.fieldPath: Invalid value: "spec.other": error converting fieldPath: field label not s…',
            'spec.containers[0].env[5].valueFrom.fieldRef.fieldPath: Unsupported value: "spec.restartPolicy": supported values: "metadata.name"…',
            "spec.containers[0].env[7].valueFrom.fieldRef: Invalid value: \"a/b_\": name part must consist of alphanumeric characters, '-', '_' o…",
            "spec.containers[0].env[8].valueFrom.fieldRef.fieldPath: Invalid value: \"['x']\": error converting fieldPath: field label not suppor…",
        ],
    ),
    (
        {
            "env": [
                {"name": "a", "valueFrom": {"resourceFieldRef": {}}},
                {"name": "a", "valueFrom": {"resourceFieldRef": {"resource": "limits.gpu"}}},
                {"name": "a", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "2"}}},
                {"name": "a", "valueFrom": {"resourceFieldRef": {"resource": "requests.memory", "divisor": "3"}}},
                {
                    "name": "a",
                    "valueFrom": {"resourceFieldRef": {"resource": "requests.hugepages-2Mi", "divisor": "1Mi"}},
                },
                {
                    "name": "a",
                    "valueFrom": {"resourceFieldRef": {"resource": "limits.ephemeral-storage", "divisor": "7"}},
                },
                {"name": "a", "valueFrom": {"resourceFieldRef": {"resource": "limits.hugepages-2Mi", "divisor": "5"}}},
            ]
        },
        [
            "spec.containers[0].env[0].valueFrom.resourceFieldRef.resource: Required value",
            'spec.containers[0].env[1].valueFrom.resourceFieldRef.resource: Unsupported value: "limits.gpu": supported values: "limits.cpu", "l…',
            'spec.containers[0].env[2].valueFrom.resourceFieldRef.divisor: Invalid value: "limits.cpu": only divisor\'s values 1m and 1 are supp…',
            'spec.containers[0].env[3].valueFrom.resourceFieldRef.divisor: Invalid value: "requests.memory": only divisor\'s values 1, 1k, 1M, 1…',
            'spec.containers[0].env[5].valueFrom.resourceFieldRef.divisor: Invalid value: "limits.ephemeral-storage": only divisor\'s values 1,…',
            'spec.containers[0].env[6].valueFrom.resourceFieldRef.divisor: Invalid value: "limits.hugepages-2Mi": only divisor\'s values 1, 1k,…',
        ],
    ),
    (
        {
            "env": [
                {"name": "a", "valueFrom": {"fileKeyRef": {}}},
                {"name": "a", "valueFrom": {"fileKeyRef": {"key": "a=", "volumeName": "A", "path": "../x"}}},
                {"name": "a", "valueFrom": {"fileKeyRef": {"key": "a", "volumeName": "claim", "path": "x"}}},
                {"name": "a", "valueFrom": {"fileKeyRef": {"key": "a", "volumeName": "empty", "path": "x"}}},
            ]
        },
        [
            "spec.containers[0].env[0].valueFrom.fileKeyRef.key: Required value",
            "spec.containers[0].env[0].valueFrom.fileKeyRef.volumeName: Required value",
            "spec.containers[0].env[0].valueFrom.fileKeyRef.path: Required value",
            'spec.containers[0].env[1].valueFrom.fileKeyRef.key: Invalid value: "a=": a valid environment variable name must consist only of pr…',
            'spec.containers[0].env[1].valueFrom.fileKeyRef.volumeName: Invalid value: "A": a lowercase RFC 1123 label must consist of lower ca…',
            "spec.containers[0].env[1].valueFrom.fileKeyRef.path: Invalid value: \"../x\": must not contain '..'",
            'spec.containers[0].env[0].valueFrom.fileKeyRef.volumeName: Not found: ""',
            'spec.containers[0].env[1].valueFrom.fileKeyRef.volumeName: Not found: "A"',
            'spec.containers[0].env[2].valueFrom.fileKeyRef.volumeName: Invalid value: "claim": referenced volume must be of type emptyDir',
        ],
    ),
    (
        {
            "envFrom": [
                {},
                {"prefix": "a=", "configMapRef": {}},
                {"configMapRef": {"name": "a."}, "secretRef": {"name": "A"}},
            ]
        },
        [
            'spec.containers[0].envFrom: Invalid value: "": must specify one of: `configMapRef` or `secretRef`',
            'spec.containers[0].envFrom[1].prefix: Invalid value: "a=": a valid environment variable name must consist only of printable ASCII…',
            "spec.containers[0].envFrom[1].configMapRef.name: Required value",
            'spec.containers[0].envFrom[2].configMapRef.name: Invalid value: "a.": a lowercase RFC 1123 subdomain must consist of lower case al…',
            'spec.containers[0].envFrom[2].secretRef.name: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower case alphan…',
            'spec.containers[0].envFrom: Invalid value: "": may not have more than one field specified at a time',
        ],
    ),
    (
        {
            "volumeMounts": [
                {},
                {"name": "other", "mountPath": "/a"},
                {"name": "empty", "mountPath": "/a", "subPath": "../x", "subPathExpr": "/y"},
                {"name": "empty", "mountPath": "/b", "subPathExpr": "/y", "mountPropagation": "Bidirectional"},
                {"name": "empty", "mountPath": "/c", "mountPropagation": "Other"},
            ]
        },
        [
            "spec.containers[0].volumeMounts[0].name: Required value",
            'spec.containers[0].volumeMounts[0].name: Not found: ""',
            "spec.containers[0].volumeMounts[0].mountPath: Required value",
            'spec.containers[0].volumeMounts[1].name: Not found: "other"',
            'spec.containers[0].volumeMounts[2].mountPath: Invalid value: "/a": must be unique',
            "spec.containers[0].volumeMounts.subPath: Invalid value: \"../x\": must not contain '..'",
            'spec.containers[0].volumeMounts[2].subPathExpr: Invalid value: "/y": subPathExpr and subPath are mutually exclusive',
            'spec.containers[0].volumeMounts.subPathExpr: Invalid value: "/y": must be a relative path',
            'spec.containers[0].volumeMounts.subPathExpr: Invalid value: "/y": must be a relative path',
            "spec.containers[0].volumeMounts.mountPropagation: Forbidden: Bidirectional mount propagation is available only to privileged conta…",
            'spec.containers[0].volumeMounts.mountPropagation: Unsupported value: "Other": supported values: "Bidirectional", "HostToContainer"…',
        ],
    ),
    (
        {
            "volumeMounts": [
                {"name": "empty", "mountPath": "/a", "recursiveReadOnly": "Disabled"},
                {"name": "empty", "mountPath": "/b", "recursiveReadOnly": "Other"},
                {
                    "name": "empty",
                    "mountPath": "/c",
                    "recursiveReadOnly": "Enabled",
                    "mountPropagation": "HostToContainer",
                },
                {"name": "empty", "mountPath": "/d", "recursiveReadOnly": "IfPossible", "readOnly": True},
            ]
        },
        [
            'spec.containers[0].volumeMounts.recursiveReadOnly: Unsupported value: "Other": supported values: "Disabled", "Enabled", "IfPossibl…',
            "spec.containers[0].volumeMounts.recursiveReadOnly: Forbidden: may only be specified when readOnly is true",
            "spec.containers[0].volumeMounts.recursiveReadOnly: Forbidden: may only be specified when mountPropagation is None or not specified",
        ],
    ),
    (
        {
            "securityContext": {"privileged": True},
            "volumeMounts": [{"name": "empty", "mountPath": "/b", "mountPropagation": "Bidirectional"}],
        },
        [],
    ),
    (
        {
            "volumeMounts": [{"name": "claim", "mountPath": "/dev/a"}],
            "volumeDevices": [
                {},
                {"name": "claim", "devicePath": "/dev/a"},
                {"name": "claim", "devicePath": "/dev/a"},
                {"name": "empty", "devicePath": "/dev/../b"},
                {"name": "other", "devicePath": "/dev/c"},
            ],
        },
        [
            'spec.containers[0].volumeMounts[0].name: Invalid value: "claim": must not already exist in volumeDevices',
            'spec.containers[0].volumeMounts[0].mountPath: Invalid value: "/dev/a": must not already exist as a path in volumeDevices',
            "spec.containers[0].volumeDevices[0].name: Required value",
            'spec.containers[0].volumeDevices[0].name: Not found: ""',
            "spec.containers[0].volumeDevices[0].devicePath: Required value",
            'spec.containers[0].volumeDevices[1].name: Invalid value: "claim": must not already exist in volumeMounts',
            'spec.containers[0].volumeDevices[1].devicePath: Invalid value: "/dev/a": must not already exist as a path in volumeMounts',
            'spec.containers[0].volumeDevices[2].name: Invalid value: "claim": must be unique',
            'spec.containers[0].volumeDevices[2].devicePath: Invalid value: "/dev/a": must be unique',
            'spec.containers[0].volumeDevices[2].name: Invalid value: "claim": must not already exist in volumeMounts',
            'spec.containers[0].volumeDevices[2].devicePath: Invalid value: "/dev/a": must not already exist as a path in volumeMounts',
            'spec.containers[0].volumeDevices[3].name: Invalid value: "empty": can only use volume source type of PersistentVolumeClaim or Ephe…',
            "spec.containers[0].volumeDevices[3].devicePath: Invalid value: \"/dev/../b\": can not contain backsteps ('..')",
            'spec.containers[0].volumeDevices[4].name: Not found: "other"',
        ],
    ),
    (
        {
            "resizePolicy": [
                {"resourceName": "cpu", "restartPolicy": "NotRequired"},
                {"resourceName": "cpu", "restartPolicy": "Other"},
                {},
            ]
        },
        [
            'spec.containers[0].resizePolicy[1]: Duplicate value: "cpu"',
            'spec.containers[0].resizePolicy: Unsupported value: "Other": supported values: "NotRequired", "RestartContainer"',
            "spec.containers[0].resizePolicy: Invalid value: \"Other\": must be 'NotRequired' when pod `restartPolicy` is 'Never'",
            "spec.containers[0].resizePolicy: Required value",
            "spec.containers[0].resizePolicy: Required value",
            "spec.containers[0].resizePolicy: Invalid value: \"\": must be 'NotRequired' when pod `restartPolicy` is 'Never'",
        ],
    ),
    (
        {"restartPolicyRules": [{"action": "Restart", "exitCodes": {"operator": "In", "values": [1]}}]},
        ["spec.containers[0].restartPolicy: Required value: must specify restartPolicy when restart rules are used"],
    ),
    (
        {"restartPolicy": "Other"},
        [
            'spec.containers[0].restartPolicy: Unsupported value: "Other": supported values: "Always", "Never", "OnFailure"'
        ],
    ),
    (
        {
            "restartPolicy": "Never",
            "restartPolicyRules": [
                {"action": "Other"},
                {"action": "Restart", "exitCodes": {"operator": "Is", "values": [0] * 256}},
            ]
            + [{"action": "Restart", "exitCodes": {"operator": "In", "values": [1]}}] * 19,
        },
        [
            "spec.containers[0].restartPolicyRules: Too many: 21: must have at most 20 items",
            'spec.containers[0].restartPolicyRules[0].action: Unsupported value: "Other": supported values: "Restart", "RestartAllContainers"',
            "spec.containers[0].restartPolicyRules[0].exitCodes: Required value: must be specified",
            'spec.containers[0].restartPolicyRules[1].exitCodes.operator: Unsupported value: "Is": supported values: "In", "NotIn"',
            "spec.containers[0].restartPolicyRules[1].exitCodes.values: Too many: 256: must have at most 255 items",
        ],
    ),
    (
        {"lifecycle": {"postStart": {}, "preStop": {"sleep": {"seconds": 31}, "exec": {}}}},
        [
            "spec.containers[0].lifecycle.postStart: Required value: must specify a handler type",
            "spec.containers[0].lifecycle.preStop.exec.command: Required value",
            "spec.containers[0].lifecycle.preStop.sleep: Forbidden: may not specify more than 1 handler type",
        ],
    ),
    (
        {"lifecycle": {"postStart": {"sleep": {"seconds": 31}}, "preStop": {"exec": {}}}},
        [
            "spec.containers[0].lifecycle.postStart.sleep: Invalid value: 31: must be non-negative and less than terminationGracePeriodSeconds…",
            "spec.containers[0].lifecycle.preStop.exec.command: Required value",
        ],
    ),
    (
        {
            "livenessProbe": {
                "httpGet": {"path": "", "port": "-", "scheme": "FTP", "httpHeaders": [{"name": "a b"}]},
                "tcpSocket": {"port": 0},
                "successThreshold": 2,
                "periodSeconds": -1,
                "terminationGracePeriodSeconds": 0,
            },
            "readinessProbe": {"grpc": {"port": 0}, "terminationGracePeriodSeconds": 5},
            "startupProbe": {"tcpSocket": {"port": "web"}, "successThreshold": 0},
        },
        [
            'spec.containers[0].livenessProbe.httpGet.port: Invalid value: "-": must contain at least one letter (a-z)',
            'spec.containers[0].livenessProbe.httpGet.port: Invalid value: "-": must not begin or end with a hyphen',
            'spec.containers[0].livenessProbe.httpGet.scheme: Unsupported value: "FTP": supported values: "HTTP", "HTTPS"',
            'spec.containers[0].livenessProbe.httpGet.httpHeaders: Invalid value: "a b": a valid HTTP header must consist of alphanumeric chara…',
            "spec.containers[0].livenessProbe.tcpSocket: Forbidden: may not specify more than 1 handler type",
            "spec.containers[0].livenessProbe.periodSeconds: Invalid value: -1: must be greater than or equal to 0",
            "spec.containers[0].livenessProbe.terminationGracePeriodSeconds: Invalid value: 0: must be greater than 0",
            "spec.containers[0].livenessProbe.successThreshold: Invalid value: 2: must be 1",
            "spec.containers[0].readinessProbe.grpc.port: Invalid value: 0: must be between 1 and 65535, inclusive",
            "spec.containers[0].readinessProbe.terminationGracePeriodSeconds: Invalid value: 5: must not be set for readinessProbes",
        ],
    ),
    (
        {
            "resources": {
                "limits": {
                    "cpu": "1",
                    "hugepages-2Mi": "3Mi",
                    "example.com/x": "1.5",
                    "-": "1",
                    "gpu": "1",
                    "memory": "-1",
                },
                "requests": {"cpu": "2", "hugepages-2Mi": "2Mi", "other.com/x": "1"},
                "claims": [{}, {"name": "a"}, {"name": "one", "request": "A"}, {"name": "one"}],
            }
        },
        [
            'spec.containers[0].resources.limits[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi',
            'spec.containers[0].resources.limits[example.com/x]: Invalid value: "1500m": must be an integer',
            "spec.containers[0].resources.limits[-]: Invalid value: \"-\": name part must consist of alphanumeric characters, '-', '_' or '.', an…",
            'spec.containers[0].resources.limits[-]: Invalid value: "-": must be a standard resource for containers',
            'spec.containers[0].resources.limits[gpu]: Invalid value: "gpu": must be a standard resource type or fully qualified',
            'spec.containers[0].resources.limits[gpu]: Invalid value: "gpu": must be a standard resource for containers',
            'spec.containers[0].resources.limits[memory]: Invalid value: "-1": must be greater than or equal to 0',
            'spec.containers[0].resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1',
            'spec.containers[0].resources.requests: Invalid value: "2Mi": must be equal to hugepages-2Mi limit of 3Mi',
            'spec.containers[0].resources.requests[example.com/x]: Invalid value: "1500m": must be an integer',
            "spec.containers[0].resources.requests[-]: Invalid value: \"-\": name part must consist of alphanumeric characters, '-', '_' or '.',…",
            'spec.containers[0].resources.requests[-]: Invalid value: "-": must be a standard resource for containers',
            'spec.containers[0].resources.requests[gpu]: Invalid value: "gpu": must be a standard resource type or fully qualified',
            'spec.containers[0].resources.requests[gpu]: Invalid value: "gpu": must be a standard resource for containers',
            'spec.containers[0].resources.requests[memory]: Invalid value: "-1": must be greater than or equal to 0',
            "spec.containers[0].resources.limits: Required value: Limit must be set for non overcommitable resources",
            "spec.containers[0].resources.claims[0]: Required value",
            'spec.containers[0].resources.claims[1]: Not found: "a": must be one of the names in pod.spec.resourceClaims: one',
            'spec.containers[0].resources.claims[2].request: Invalid value: "A": a lowercase RFC 1123 label must consist of lower case alphanum…',
            'spec.containers[0].resources.claims[3]: Duplicate value: "one"',
        ],
    ),
    (
        {
            "resources": {
                "limits": {"hugepages-x": "1"},
                "requests": {"hugepages-x": "1"},
                "claims": [{"name": "one", "request": "a"}, {"name": "one", "request": "a"}],
            }
        },
        [
            'spec.containers[0].resources.limits[hugepages-x]: Invalid value: "1": 1 is not positive integer multiple of hugepages-x',
            'spec.containers[0].resources.requests[hugepages-x]: Invalid value: "1": 1 is not positive integer multiple of hugepages-x',
            "spec.containers[0].resources: Forbidden: HugePages require cpu or memory",
            'spec.containers[0].resources.claims[1]: Duplicate value: "one/a"',
        ],
    ),
    (
        {
            "securityContext": {
                "runAsUser": -1,
                "runAsGroup": 4294967296,
                "procMount": "Unmasked",
                "privileged": True,
                "allowPrivilegeEscalation": False,
                "capabilities": {"add": ["CAP_SYS_ADMIN"]},
                "seccompProfile": {"type": "Localhost"},
                "windowsOptions": {"gmsaCredentialSpecName": "A", "gmsaCredentialSpec": "", "runAsUserName": ""},
                "appArmorProfile": {"type": "Localhost"},
            }
        },
        [
            "spec.containers[0].securityContext.runAsUser: Invalid value: -1: must be between 0 and 2147483647, inclusive",
            "spec.containers[0].securityContext.runAsGroup: Invalid value: 4294967296: must be between 0 and 2147483647, inclusive",
            'spec.containers[0].securityContext.procMount: Invalid value: "Unmasked": `hostUsers` must be false to use `Unmasked`',
            "spec.containers[0].securityContext.seccompProfile.localhostProfile: Required value: must be set when seccomp type is Localhost",
            'spec.containers[0].securityContext: Invalid value: {"Capabilities":{"Add":["CAP_SYS_ADMIN"],"Drop":null},"Privileged":true,"SELinu…',
            'spec.containers[0].securityContext: Invalid value: {"Capabilities":{"Add":["CAP_SYS_ADMIN"],"Drop":null},"Privileged":true,"SELinu…',
            'spec.containers[0].securityContext.windowsOptions.gmsaCredentialSpecName: Invalid value: "A": a lowercase RFC 1123 subdomain must…',
            'spec.containers[0].securityContext.windowsOptions.gmsaCredentialSpec: Invalid value: "": gmsaCredentialSpec cannot be an empty str…',
            'spec.containers[0].securityContext.windowsOptions.runAsUserName: Invalid value: "": runAsUserName cannot be an empty string',
            "spec.containers[0].securityContext.appArmorProfile.localhostProfile: Required value: must be set when AppArmor type is Localhost",
        ],
    ),
    (
        {
            "securityContext": {
                "procMount": "Other",
                "seccompProfile": {"type": "RuntimeDefault", "localhostProfile": "x"},
                "windowsOptions": {"gmsaCredentialSpec": "x" * 65537, "runAsUserName": "a\\b\\c"},
                "appArmorProfile": {"type": "Localhost", "localhostProfile": " " + "x" * 4096},
            }
        },
        [
            'spec.containers[0].securityContext.procMount: Unsupported value: "Other": supported values: "Default", "Unmasked"',
            'spec.containers[0].securityContext.seccompProfile.localhostProfile: Invalid value: {"Type":"RuntimeDefault","LocalhostProfile":"x"…',
            'spec.containers[0].securityContext.windowsOptions.gmsaCredentialSpec: Invalid value: "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…',
            'spec.containers[0].securityContext.windowsOptions.runAsUserName: Invalid value: "a\\\\b\\\\c": runAsUserName cannot contain more than…',
            'spec.containers[0].securityContext.appArmorProfile.localhostProfile: Invalid value: " xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…',
            "spec.containers[0].securityContext.appArmorProfile.localhostProfile: Too long: may not be more than 4095 bytes",
        ],
    ),
    (
        {
            "securityContext": {
                "seccompProfile": {},
                "windowsOptions": {"runAsUserName": "a\x01"},
                "appArmorProfile": {},
            }
        },
        [
            "spec.containers[0].securityContext.seccompProfile.type: Required value: type is required when seccompProfile is set",
            'spec.containers[0].securityContext.windowsOptions.runAsUserName: Invalid value: "a\\x01": runAsUserName cannot contain control char…',
            "spec.containers[0].securityContext.appArmorProfile.type: Required value: type is required when appArmorProfile is set",
        ],
    ),
    (
        {
            "securityContext": {
                "seccompProfile": {"type": "Localhost", "localhostProfile": "../x"},
                "windowsOptions": {"runAsUserName": "do..main\\us/er"},
                "appArmorProfile": {"type": "Other"},
            }
        },
        [
            "spec.containers[0].securityContext.seccompProfile.localhostProfile: Invalid value: \"../x\": must not contain '..'",
            'spec.containers[0].securityContext.windowsOptions.runAsUserName: Invalid value: "do..main\\\\us/er": runAsUserName\'s User cannot con…',
            'spec.containers[0].securityContext.appArmorProfile.type: Unsupported value: "Other": supported values: "Localhost", "RuntimeDefaul…',
        ],
    ),
    (
        {
            "securityContext": {
                "windowsOptions": {"runAsUserName": "d" * 256 + "\\"},
                "appArmorProfile": {"type": "Unconfined", "localhostProfile": "x"},
            }
        },
        [
            'spec.containers[0].securityContext.windowsOptions.runAsUserName: Invalid value: "ddddddddddddddddddddddddddddddddddddddddddddddddd…',
            'spec.containers[0].securityContext.windowsOptions.runAsUserName: Invalid value: "ddddddddddddddddddddddddddddddddddddddddddddddddd…',
            'spec.containers[0].securityContext.windowsOptions.runAsUserName: Invalid value: "ddddddddddddddddddddddddddddddddddddddddddddddddd…',
            'spec.containers[0].securityContext.appArmorProfile.localhostProfile: Invalid value: "x": can only be set when AppArmor type is Loc…',
        ],
    ),
    (
        {"securityContext": {"windowsOptions": {"runAsUserName": "example.com\\" + "u" * 105}}},
        [
            'spec.containers[0].securityContext.windowsOptions.runAsUserName: Invalid value: "example.com\\\\uuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuu…'
        ],
    ),
    (
        {"securityContext": {"windowsOptions": {"runAsUserName": "..."}}},
        [
            'spec.containers[0].securityContext.windowsOptions.runAsUserName: Invalid value: "...": runAsUserName\'s User cannot contain only pe…'
        ],
    ),
]


@pytest.mark.parametrize(("container", "errors"), CONTAINERS)
def test_a_container_is_validated(container, errors):
    spec = {**SPEC, "containers": [{"name": "c", "image": "i", **container}]}
    check_new("Pod", {"metadata": {"name": "x"}, "spec": spec}, errors)


INIT_CONTAINERS = [
    ({"name": "c"}, ['spec.initContainers[0].name: Duplicate value: "c"']),
    (
        {
            "lifecycle": {"preStop": {"exec": {"command": ["x"]}}},
            "livenessProbe": {"exec": {"command": ["x"]}},
            "resizePolicy": [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}],
        },
        [
            "spec.initContainers[0].lifecycle: Forbidden: may not be set for init containers without restartPolicy=Always",
            "spec.initContainers[0].livenessProbe: Forbidden: may not be set for init containers without restartPolicy=Always",
            "spec.initContainers[0].resizePolicy[0].restartPolicy: Invalid value: \"RestartContainer\": must not be set to 'RestartContainer' for…",
        ],
    ),
    (
        {"restartPolicy": "Always", "lifecycle": {"preStop": {}}, "startupProbe": {}},
        [
            "spec.initContainers[0].lifecycle.preStop: Required value: must specify a handler type",
            "spec.initContainers[0].startupProbe: Required value: must specify a handler type",
        ],
    ),
    (
        {"restartPolicyRules": [{"action": "Other"}]},
        [
            "spec.initContainers[0].restartPolicy: Required value: must specify restartPolicy when restart rules are used"
        ],
    ),
    (
        {"ports": [{"containerPort": 1, "hostPort": 1}, {"containerPort": 1, "hostPort": 1}]},
        ['spec.initContainers[0].ports[1].hostPort: Duplicate value: "TCP//1"'],
    ),
]


@pytest.mark.parametrize(("container", "errors"), INIT_CONTAINERS)
def test_an_init_container_is_validated(container, errors):
    init = {"name": "i", "image": "i", **container}
    spec = {"containers": [{"name": "c", "image": "i"}], "initContainers": [init]}
    check_new("Pod", {"metadata": {"name": "x"}, "spec": spec}, errors)
