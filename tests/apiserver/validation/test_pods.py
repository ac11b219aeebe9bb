"""Validation of new and of changed pods.

An expected text that ends in an ellipsis is the beginning of the server's text.
"""

import pytest

from tests.apiserver.validation.support import check_new, check_update, merged

POD = {"spec": {"containers": [{"name": "c", "image": "i"}]}}

BASES = {"Pod": POD}


@pytest.mark.parametrize(
    ("kind", "change", "expected"),
    [
        ("Pod", {}, []),
        ("Pod", {"spec": {"containers": None}}, ["spec.containers: Required value"]),
        (
            "Pod",
            {"spec": {"containers": [{}]}},
            ["spec.containers[0].name: Required value", "spec.containers[0].image: Required value"],
        ),
        (
            "Pod",
            {"spec": {"restartPolicy": "X", "dnsPolicy": "Y"}},
            [
                'spec.restartPolicy: Unsupported value: "X": supported values: "Always", "OnFailure", "Never"',
                'spec.dnsPolicy: Unsupported value: "Y": supported values: "ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"',
            ],
        ),
        (
            "Pod",
            {
                "spec": {
                    "containers": [
                        {"name": "A_", "image": " i "},
                        {"name": "c", "image": "i"},
                        {"name": "c", "image": "i"},
                    ]
                }
            },
            [
                "spec.containers[0].name: Invalid value: \"A_\": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and…",
                'spec.containers[2].name: Duplicate value: "c"',
                'spec.containers[0].image: Invalid value: " i ": must not have leading or trailing whitespace',
            ],
        ),
        (
            "Pod",
            {
                "spec": {
                    "containers": [
                        {
                            "name": "c",
                            "image": "i",
                            "ports": [
                                {"containerPort": 0},
                                {"containerPort": 70000, "name": "UP", "protocol": "X"},
                                {"containerPort": 80, "hostPort": -1},
                                {"name": "a--b", "containerPort": 1},
                            ],
                        }
                    ]
                }
            },
            [
                "spec.containers[0].ports[0].containerPort: Required value",
                'spec.containers[0].ports[1].name: Invalid value: "UP": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)',
                'spec.containers[0].ports[1].name: Invalid value: "UP": must contain at least one letter (a-z)',
                "spec.containers[0].ports[1].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive",
                'spec.containers[0].ports[1].protocol: Unsupported value: "X": supported values: "SCTP", "TCP", "UDP"',
                "spec.containers[0].ports[2].hostPort: Invalid value: -1: must be between 1 and 65535, inclusive",
                'spec.containers[0].ports[3].name: Invalid value: "a--b": must not contain consecutive hyphens',
            ],
        ),
        (
            "Pod",
            {
                "spec": {
                    "containers": [
                        {
                            "name": "c",
                            "image": "i",
                            "env": [
                                {"name": "a=b"},
                                {"name": ""},
                                {"name": "x", "value": "1", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                                {"name": "y", "valueFrom": {}},
                                {"name": "z", "valueFrom": {"fieldRef": {"fieldPath": "spec.x"}}},
                                {"name": "w", "valueFrom": {"resourceFieldRef": {"resource": "limits.foo"}}},
                                {"name": "v", "valueFrom": {"configMapKeyRef": {"key": ""}}},
                                {"name": "u", "valueFrom": {"secretKeyRef": {"name": "A", "key": "a/b"}}},
                            ],
                        }
                    ]
                }
            },
            [
                "spec.containers[0].env[0].name: Invalid value: \"a=b\": a valid environment variable name must consist only of printable ASCII characters other than '='",
                "spec.containers[0].env[1].name: Required value",
                'spec.containers[0].env[2].valueFrom: Invalid value: "": may not be specified when `value` is not empty',
                'spec.containers[0].env[3].valueFrom: Invalid value: "": must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`',
                'spec.containers[0].env[4].valueFrom.fieldRef.fieldPath: Invalid value: "spec.x": error converting fieldPath: field label not supported: spec.x',
                'spec.containers[0].env[5].valueFrom.resourceFieldRef.resource: Unsupported value: "limits.foo": supported values: "limits.cpu", "limits.ephemeral-stor…',
                'spec.containers[0].env[6].valueFrom.configMapKeyRef.name: Invalid value: "": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric ch…',
                "spec.containers[0].env[6].valueFrom.configMapKeyRef.key: Required value",
                'spec.containers[0].env[7].valueFrom.secretKeyRef.name: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric char…',
                "spec.containers[0].env[7].valueFrom.secretKeyRef.key: Invalid value: \"a/b\": a valid config key must consist of alphanumeric characters, '-', '_' or '.'…",
            ],
        ),
        (
            "Pod",
            {
                "spec": {
                    "containers": [
                        {
                            "name": "c",
                            "image": "i",
                            "envFrom": [
                                {},
                                {"configMapRef": {"name": ""}, "secretRef": {"name": "x"}},
                                {"prefix": "=", "configMapRef": {"name": "x"}},
                            ],
                        }
                    ]
                }
            },
            [
                'spec.containers[0].envFrom: Invalid value: "": must specify one of: `configMapRef` or `secretRef`',
                "spec.containers[0].envFrom[1].configMapRef.name: Required value",
                'spec.containers[0].envFrom: Invalid value: "": may not have more than one field specified at a time',
                "spec.containers[0].envFrom[2].prefix: Invalid value: \"=\": a valid environment variable name must consist only of printable ASCII characters other than '='",
            ],
        ),
        (
            "Pod",
            {
                "spec": {
                    "containers": [
                        {
                            "name": "c",
                            "image": "i",
                            "resources": {
                                "requests": {"cpu": "2", "foo": "1", "example.com/x": "1500m"},
                                "limits": {"cpu": "1", "memory": "-1"},
                            },
                        }
                    ]
                }
            },
            [
                'spec.containers[0].resources.limits[memory]: Invalid value: "-1": must be greater than or equal to 0',
                'spec.containers[0].resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1',
                'spec.containers[0].resources.requests[memory]: Invalid value: "-1": must be greater than or equal to 0',
                'spec.containers[0].resources.requests[foo]: Invalid value: "foo": must be a standard resource type or fully qualified',
                'spec.containers[0].resources.requests[foo]: Invalid value: "foo": must be a standard resource for containers',
                'spec.containers[0].resources.requests[example.com/x]: Invalid value: "1500m": must be an integer',
                "spec.containers[0].resources.limits: Required value: Limit must be set for non overcommitable resources",
            ],
        ),
        (
            "Pod",
            {"spec": {"containers": [{"name": "c", "image": "i", "resources": {"limits": {"hugepages-2Mi": "3Mi"}}}]}},
            [
                'spec.containers[0].resources.limits[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi',
                'spec.containers[0].resources.requests[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi',
                "spec.containers[0].resources: Forbidden: HugePages require cpu or memory",
            ],
        ),
        (
            "Pod",
            {
                "spec": {
                    "containers": [{"name": "c", "image": "i", "resources": {"claims": [{"name": "x"}, {"name": ""}]}}]
                }
            },
            [
                'spec.containers[0].resources.claims[0]: Not found: "x": must be one of the names in pod.spec.resourceClaims which is empty',
                "spec.containers[0].resources.claims[1]: Required value",
            ],
        ),
        (
            "Pod",
            {
                "spec": {
                    "containers": [
                        {
                            "name": "c",
                            "image": "i",
                            "volumeMounts": [
                                {"name": "no", "mountPath": ""},
                                {"name": "v", "mountPath": "/a"},
                                {"name": "v", "mountPath": "/a", "subPath": "../x", "subPathExpr": "y"},
                            ],
                        }
                    ]
                }
            },
            [
                'spec.containers[0].volumeMounts[0].name: Not found: "no"',
                "spec.containers[0].volumeMounts[0].mountPath: Required value",
                'spec.containers[0].volumeMounts[1].name: Not found: "v"',
                'spec.containers[0].volumeMounts[2].name: Not found: "v"',
                'spec.containers[0].volumeMounts[2].mountPath: Invalid value: "/a": must be unique',
                "spec.containers[0].volumeMounts.subPath: Invalid value: \"../x\": must not contain '..'",
                'spec.containers[0].volumeMounts[2].subPathExpr: Invalid value: "y": subPathExpr and subPath are mutually exclusive',
            ],
        ),
        (
            "Pod",
            {
                "spec": {
                    "volumes": [
                        {"name": "v"},
                        {"name": "v"},
                        {"name": "B_", "configMap": {"name": ""}},
                        {"name": "h", "hostPath": {"path": ""}},
                        {"name": "two", "emptyDir": {}, "configMap": {"name": "x"}},
                    ]
                }
            },
            [
                'spec.volumes[1].name: Duplicate value: "v"',
                "spec.volumes[2].configMap.name: Required value",
                "spec.volumes[2].name: Invalid value: \"B_\": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and en…",
                "spec.volumes[3].hostPath.path: Required value",
                "spec.volumes[4].configMap: Forbidden: may not specify more than 1 volume type",
            ],
        ),
        (
            "Pod",
            {
                "spec": {
                    "volumes": [
                        {
                            "name": "p",
                            "projected": {
                                "sources": [
                                    {},
                                    {"serviceAccountToken": {"path": "", "expirationSeconds": 10}},
                                    {
                                        "configMap": {
                                            "name": "x",
                                            "items": [
                                                {"key": "", "path": "/a"},
                                                {"key": "k", "path": "../b", "mode": 999},
                                            ],
                                        }
                                    },
                                ]
                            },
                        }
                    ]
                }
            },
            [
                "spec.volumes[0].projected.sources[1].serviceAccountToken.expirationSeconds: Invalid value: 10: may not specify a duration less than 10 minutes",
                "spec.volumes[0].projected.path: Required value",
                "spec.volumes[0].projected.sources[2].configMap.items[0].key: Required value",
                'spec.volumes[0].projected.sources[2].configMap.items[0].path: Invalid value: "/a": must be a relative path',
                "spec.volumes[0].projected.sources[2].configMap.items[1].path: Invalid value: \"../b\": must not contain '..'",
                "spec.volumes[0].projected.sources[2].configMap.items[1].mode: Invalid value: 999: must be a number between 0 and 0777 (octal), both inclusive",
                "spec.volumes[0].projected.sources[1].serviceAccountToken: Forbidden: must not be specified when serviceAccountName is not set",
            ],
        ),
        (
            "Pod",
            {
                "spec": {
                    "containers": [
                        {
                            "name": "c",
                            "image": "i",
                            "livenessProbe": {
                                "httpGet": {"port": 0},
                                "tcpSocket": {"port": "UP"},
                                "periodSeconds": -1,
                                "successThreshold": 2,
                            },
                        }
                    ]
                }
            },
            [
                "spec.containers[0].livenessProbe.httpGet.port: Invalid value: 0: must be between 1 and 65535, inclusive",
                "spec.containers[0].livenessProbe.tcpSocket: Forbidden: may not specify more than 1 handler type",
                "spec.containers[0].livenessProbe.periodSeconds: Invalid value: -1: must be greater than or equal to 0",
                "spec.containers[0].livenessProbe.successThreshold: Invalid value: 2: must be 1",
            ],
        ),
        (
            "Pod",
            {
                "spec": {
                    "containers": [
                        {
                            "name": "c",
                            "image": "i",
                            "livenessProbe": {},
                            "lifecycle": {"preStop": {}, "postStart": {"exec": {}}},
                        }
                    ]
                }
            },
            [
                "spec.containers[0].lifecycle.postStart.exec.command: Required value",
                "spec.containers[0].lifecycle.preStop: Required value: must specify a handler type",
                "spec.containers[0].livenessProbe: Required value: must specify a handler type",
            ],
        ),
        (
            "Pod",
            {
                "spec": {
                    "containers": [
                        {
                            "name": "c",
                            "image": "i",
                            "readinessProbe": {"exec": {"command": ["a"]}, "terminationGracePeriodSeconds": 3},
                        }
                    ]
                }
            },
            [
                "spec.containers[0].readinessProbe.terminationGracePeriodSeconds: Invalid value: 3: must not be set for readinessProbes"
            ],
        ),
        (
            "Pod",
            {"spec": {"containers": [{"name": "c", "image": "i", "startupProbe": {"grpc": {"port": 0}}}]}},
            ["spec.containers[0].startupProbe.grpc.port: Invalid value: 0: must be between 1 and 65535, inclusive"],
        ),
        (
            "Pod",
            {
                "spec": {
                    "containers": [
                        {
                            "name": "c",
                            "image": "i",
                            "imagePullPolicy": "Sometimes",
                            "terminationMessagePolicy": "X",
                            "terminationMessagePath": "",
                        }
                    ]
                }
            },
            [
                'spec.containers[0].terminationMessagePolicy: Unsupported value: "X": supported values: "File", "FallbackToLogsOnError"',
                'spec.containers[0].imagePullPolicy: Unsupported value: "Sometimes": supported values: "Always", "IfNotPresent", "Never"',
            ],
        ),
        (
            "Pod",
            {
                "spec": {
                    "containers": [
                        {
                            "name": "c",
                            "image": "i",
                            "securityContext": {
                                "privileged": True,
                                "allowPrivilegeEscalation": False,
                                "runAsUser": -1,
                                "procMount": "X",
                                "capabilities": {"add": ["CAP_SYS_ADMIN"]},
                            },
                        }
                    ]
                }
            },
            [
                "spec.containers[0].securityContext.runAsUser: Invalid value: -1: must be between 0 and 2147483647, inclusive",
                'spec.containers[0].securityContext.procMount: Unsupported value: "X": supported values: "Default", "Unmasked"',
                'spec.containers[0].securityContext: Invalid value: {"Capabilities":{"Add":["CAP_SYS_ADMIN"],"Drop":null},"Privileged":true,"SELinuxOptions":null,"Wind…',
                'spec.containers[0].securityContext: Invalid value: {"Capabilities":{"Add":["CAP_SYS_ADMIN"],"Drop":null},"Privileged":true,"SELinuxOptions":null,"Wind…',
            ],
        ),
        (
            "Pod",
            {
                "spec": {
                    "securityContext": {
                        "runAsUser": -1,
                        "fsGroup": -1,
                        "supplementalGroups": [-1],
                        "sysctls": [
                            {"name": ""},
                            {"name": "a..b"},
                            {"name": "kernel.shm", "value": "1"},
                            {"name": "kernel.shm"},
                        ],
                        "seccompProfile": {"type": "Localhost"},
                        "fsGroupChangePolicy": "X",
                    }
                }
            },
            [
                "spec.securityContext.fsGroup: Invalid value: -1: must be between 0 and 2147483647, inclusive",
                "spec.securityContext.runAsUser: Invalid value: -1: must be between 0 and 2147483647, inclusive",
                "spec.securityContext.supplementalGroups[0]: Invalid value: -1: must be between 0 and 2147483647, inclusive",
                "spec.securityContext.sysctls[0].name: Required value",
                'spec.securityContext.sysctls[1].name: Invalid value: "a..b": must have at most 253 characters and match regex ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[…',
                'spec.securityContext.sysctls[3].name: Duplicate value: "kernel.shm"',
                'spec.securityContext.fsGroupChangePolicy: Unsupported value: "X": supported values: "Always", "OnRootMismatch"',
                "spec.securityContext.seccompProfile.localhostProfile: Required value: must be set when seccomp type is Localhost",
            ],
        ),
        (
            "Pod",
            {
                "spec": {
                    "containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 80, "hostPort": 81}]}],
                    "hostNetwork": True,
                }
            },
            [
                "spec.containers[0].ports[0].hostPort: Invalid value: 81: must match `containerPort` when `hostNetwork` is true"
            ],
        ),
        (
            "Pod",
            {
                "spec": {
                    "tolerations": [
                        {"key": "a", "operator": "X"},
                        {"operator": "Exists", "value": "x"},
                        {"key": "k", "effect": "X"},
                        {"effect": "NoSchedule", "operator": "Exists", "tolerationSeconds": 1},
                        {"operator": "Equal", "key": ""},
                    ]
                }
            },
            [
                'spec.tolerations[0].operator: Unsupported value: "X": supported values: "Equal", "Exists"',
                "spec.tolerations[1].operator: Invalid value: \"x\": value must be empty when `operator` is 'Exists'",
                'spec.tolerations[2].effect: Unsupported value: "X": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"',
                "spec.tolerations[3].effect: Invalid value: \"NoSchedule\": effect must be 'NoExecute' when `tolerationSeconds` is set",
                'spec.tolerations[4].operator: Invalid value: "Equal": operator must be Exists when `key` is empty, which means "match all values and all keys"',
            ],
        ),
        (
            "Pod",
            {
                "spec": {
                    "affinity": {
                        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}
                    }
                }
            },
            [
                "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: Required value: must have at least one node selector term"
            ],
        ),
        (
            "Pod",
            {
                "spec": {
                    "affinity": {
                        "nodeAffinity": {
                            "requiredDuringSchedulingIgnoredDuringExecution": {
                                "nodeSelectorTerms": [
                                    {
                                        "matchExpressions": [
                                            {"key": "a b", "operator": "In"},
                                            {"key": "a", "operator": "Gt", "values": ["x"]},
                                            {"key": "a", "operator": "Foo"},
                                        ],
                                        "matchFields": [{"key": "x", "operator": "Exists"}],
                                    }
                                ]
                            },
                            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 0, "preference": {}}],
                        }
                    }
                }
            },
            [
                "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].values: Required value: must be spe…",
                'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].key: Invalid value: "a b": name par…',
                'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[2].operator: Invalid value: "Foo": not…',
                'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchFields[0].operator: Invalid value: "Exists": not a…',
                'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchFields[0].key: Invalid value: "x": not a valid fie…',
                "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: Invalid value: 0: must be in the range 1-100",
            ],
        ),
        (
            "Pod",
            {
                "spec": {
                    "affinity": {
                        "podAffinity": {
                            "requiredDuringSchedulingIgnoredDuringExecution": [
                                {
                                    "topologyKey": "",
                                    "namespaces": ["A"],
                                    "labelSelector": {"matchLabels": {"a b": "c"}},
                                    "matchLabelKeys": ["x", "x"],
                                }
                            ],
                            "preferredDuringSchedulingIgnoredDuringExecution": [
                                {"weight": 101, "podAffinityTerm": {"topologyKey": "z"}}
                            ],
                        }
                    }
                }
            },
            [
                'spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector.matchLabels: Invalid value: "a b": name part must consist of…',
                'spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].namespace: Invalid value: "A": a lowercase RFC 1123 label must consist of…',
                "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: Required value: can not be empty",
                'spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: Invalid value: "": name part must be non-empty',
                'spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: Invalid value: "": name part must consist of alphanumeric cha…',
                "spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: Invalid value: 101: must be in the range 1-100",
            ],
        ),
        (
            "Pod",
            {
                "spec": {
                    "topologySpreadConstraints": [
                        {
                            "maxSkew": 0,
                            "topologyKey": "",
                            "whenUnsatisfiable": "X",
                            "minDomains": 0,
                            "nodeAffinityPolicy": "Q",
                        },
                        {"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "ScheduleAnyway", "minDomains": 2},
                        {"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "ScheduleAnyway"},
                    ]
                }
            },
            [
                "spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero",
                "spec.topologySpreadConstraints[0].topologyKey: Required value: can not be empty",
                'spec.topologySpreadConstraints[0].whenUnsatisfiable: Unsupported value: "X": supported values: "DoNotSchedule", "ScheduleAnyway"',
                "spec.topologySpreadConstraints[0].minDomains: Invalid value: 0: must be greater than zero",
                "spec.topologySpreadConstraints[0].minDomains: Invalid value: 0: can only use minDomains if whenUnsatisfiable=DoNotSchedule, not X",
                'spec.topologySpreadConstraints[0].nodeAffinityPolicy: Unsupported value: "Q": supported values: "Honor", "Ignore"',
                'spec.topologySpreadConstraints[1].{topologyKey, whenUnsatisfiable}: Duplicate value: "{z, ScheduleAnyway}"',
                "spec.topologySpreadConstraints[1].minDomains: Invalid value: 2: can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway",
            ],
        ),
        (
            "Pod",
            {"spec": {"dnsPolicy": "None"}},
            ["spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None"],
        ),
        (
            "Pod",
            {"spec": {"dnsConfig": {"nameservers": ["1", "1.2.3.4", "::1", "a"], "searches": ["-"], "options": [{}]}}},
            [
                'spec.dnsConfig.nameservers: Invalid value: ["1","1.2.3.4","::1","a"]: must not have more than 3 nameservers',
                'spec.dnsConfig.nameservers[0]: Invalid value: "1": must be a valid IP address,…',
                'spec.dnsConfig.nameservers[3]: Invalid value: "a": must be a valid IP address,…',
                "spec.dnsConfig.searches[0]: Invalid value: \"-\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', an…",
                "spec.dnsConfig.options[0]: Required value: must not be empty",
            ],
        ),
        (
            "Pod",
            {
                "spec": {
                    "hostAliases": [{"ip": "x", "hostnames": ["A"]}],
                    "hostname": "A",
                    "subdomain": "-",
                    "serviceAccountName": "A",
                    "nodeName": "B_",
                    "priorityClassName": "X",
                    "runtimeClassName": "",
                    "preemptionPolicy": "Z",
                    "activeDeadlineSeconds": 0,
                }
            },
            [
                "spec.serviceAccountName: Invalid value: \"A\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must s…",
                "spec.nodeName: Invalid value: \"B_\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and…",
                "spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive",
                "spec.hostname: Invalid value: \"A\": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with a…",
                "spec.subdomain: Invalid value: \"-\": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with…",
                'spec.hostAliases[0].ip: Invalid value: "x": must be a valid IP address,…',
                "spec.hostAliases[0].hostnames[0]: Invalid value: \"A\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', a…",
                "spec.priorityClassName: Invalid value: \"X\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must st…",
                "spec.runtimeClassName: Invalid value: \"\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must star…",
                'spec.preemptionPolicy: Unsupported value: "Z": supported values: "PreemptLowerPriority", "Never"',
            ],
        ),
        (
            "Pod",
            {
                "spec": {
                    "readinessGates": [{"conditionType": ""}],
                    "schedulingGates": [{"name": "a"}, {"name": "a"}, {"name": ""}],
                }
            },
            [
                'spec.readinessGates[0].conditionType: Invalid value: "": name part must be non-empty',
                "spec.readinessGates[0].conditionType: Invalid value: \"\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end wi…",
                'spec.schedulingGates[1]: Duplicate value: "a"',
                'spec.schedulingGates[2]: Invalid value: "": name part must be non-empty',
                "spec.schedulingGates[2]: Invalid value: \"\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanu…",
            ],
        ),
        (
            "Pod",
            {
                "spec": {
                    "initContainers": [
                        {"name": "c", "image": "i"},
                        {
                            "name": "d",
                            "image": "",
                            "restartPolicy": "Never",
                            "lifecycle": {"preStop": {"exec": {"command": ["x"]}}},
                            "livenessProbe": {"exec": {"command": ["x"]}},
                        },
                    ]
                }
            },
            [
                'spec.initContainers[0].name: Duplicate value: "c"',
                "spec.initContainers[1].image: Required value",
                "spec.initContainers[1].lifecycle: Forbidden: may not be set for init containers without restartPolicy=Always",
                "spec.initContainers[1].livenessProbe: Forbidden: may not be set for init containers without restartPolicy=Always",
            ],
        ),
        (
            "Pod",
            {"spec": {"ephemeralContainers": [{"name": "e", "image": "x"}]}},
            ["spec.ephemeralContainers: Forbidden: cannot be set on create"],
        ),
        (
            "Pod",
            {"spec": {"nodeName": "n", "schedulingGates": [{"name": "a"}]}},
            ["spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared"],
        ),
        (
            "Pod",
            {"spec": {"os": {"name": "windows"}, "hostUsers": False, "securityContext": {"runAsUser": 1}}},
            [
                "spec.hostUsers: Forbidden: cannot be set for a windows pod",
                "spec.securityContext.runAsUser: Forbidden: cannot be set for a windows pod",
            ],
        ),
        ("Pod", {"spec": {"os": {"name": ""}}}, ["spec.os.name: Required value: cannot be empty"]),
        (
            "Pod",
            {"spec": {"os": {"name": "mac"}}},
            ['spec.os: Unsupported value: "mac": supported values: "linux", "windows"'],
        ),
        (
            "Pod",
            {"spec": {"hostUsers": False, "hostNetwork": True, "hostPID": True}},
            [
                "spec.hostNetwork: Forbidden: when `hostUsers` is false",
                "spec.HostPID: Forbidden: when `hostUsers` is false",
            ],
        ),
        (
            "Pod",
            {"spec": {"shareProcessNamespace": True, "hostPID": True}},
            [
                "spec.securityContext.shareProcessNamespace: Invalid value: true: ShareProcessNamespace and HostPID cannot both be enabled"
            ],
        ),
        (
            "Pod",
            {
                "spec": {
                    "hostnameOverride": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
                    "setHostnameAsFQDN": True,
                }
            },
            [
                "spec.hostnameOverride: Forbidden: may not be specified when setHostnameAsFQDN is true",
                "spec.hostnameOverride: Too long: may not be more than 64 bytes",
                'spec.hostnameOverride: Invalid value: "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA": a lowercase RFC 1123 subdomain must co…',
            ],
        ),
        (
            "Pod",
            {"spec": {"resources": {"requests": {"cpu": "1", "storage": "1"}, "limits": {"cpu": "500m"}}}},
            [
                'spec.resources.requests: Invalid value: "1": must be less than or equal to cpu limit of 500m',
                'spec.resources.requests[storage]: Unsupported value: "storage": supported values: "cpu", "hugepages-", "memory"',
            ],
        ),
        (
            "Pod",
            {
                "spec": {
                    "resourceClaims": [
                        {"name": "A"},
                        {"name": "b", "resourceClaimName": "x", "resourceClaimTemplateName": "y"},
                        {"name": "b", "resourceClaimName": "x"},
                    ]
                }
            },
            [
                "spec.resourceClaims[0].name: Invalid value: \"A\": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start…",
                'spec.resourceClaims[0]: Invalid value: {"Name":"A","ResourceClaimName":null,"ResourceClaimTemplateName":null}: must specify one of: `resourceClaimName…',
                'spec.resourceClaims[1]: Invalid value: {"Name":"b","ResourceClaimName":"x","ResourceClaimTemplateName":"y"}: at most one of `resourceClaimName` or `re…',
                'spec.resourceClaims[2].name: Duplicate value: "b"',
            ],
        ),
        (
            "Pod",
            {"spec": {"overhead": {"foo": "1"}}},
            [
                'spec.overhead.limits[foo]: Invalid value: "foo": must be a standard resource type or fully qualified',
                'spec.overhead.limits[foo]: Invalid value: "foo": must be a standard resource for containers',
            ],
        ),
        ("Pod", {"spec": {"imagePullSecrets": [{"name": ""}]}}, []),
        (
            "Pod",
            {
                "metadata": {
                    "annotations": {
                        "kubernetes.io/config.mirror": "x",
                        "controller.kubernetes.io/pod-deletion-cost": "01",
                        "container.apparmor.security.beta.kubernetes.io/c": "bad",
                        "seccomp.security.alpha.kubernetes.io/pod": "foo",
                    }
                }
            },
            [
                'metadata.annotations[kubernetes.io/config.mirror]: Invalid value: "x": must set spec.nodeName if mirror pod annotation is set',
                'metadata.annotations[controller.kubernetes.io/pod-deletion-cost]: Invalid value: "01": must be a 32bit integer',
                'metadata.annotations.seccomp.security.alpha.kubernetes.io/pod: Invalid value: "foo": must be a valid seccomp profile',
                'metadata.annotations[container.apparmor.security.beta.kubernetes.io/c]: Invalid value: "bad": invalid AppArmor profile name: "bad"',
            ],
        ),
        ("Pod", {"spec": {"terminationGracePeriodSeconds": -5}}, []),
    ],
)
def test_new_objects(kind, change, expected):
    check_new(kind, merged(BASES[kind], change), expected)


@pytest.mark.parametrize(
    ("kind", "before", "change", "expected"),
    [
        ("Pod", {}, {"spec": {"containers": [{"name": "c", "image": "j"}]}}, []),
        (
            "Pod",
            {},
            {"spec": {"containers": [{"name": "c", "image": ""}]}},
            [
                "spec.containers[0].image: Required value",
                "spec.containers[0].image: Required value",
                "spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`…",
            ],
        ),
        (
            "Pod",
            {},
            {"spec": {"containers": [{"name": "c", "image": "i"}, {"name": "d", "image": "i"}]}},
            ["spec.containers: Forbidden: pod updates may not add or remove containers"],
        ),
        ("Pod", {}, {"spec": {"activeDeadlineSeconds": 5}}, []),
        (
            "Pod",
            {"spec": {"activeDeadlineSeconds": 5}},
            {"spec": {"activeDeadlineSeconds": 6}},
            ["spec.activeDeadlineSeconds: Invalid value: 6: must be less than or equal to previous value"],
        ),
        (
            "Pod",
            {"spec": {"activeDeadlineSeconds": 5}},
            {"spec": {"activeDeadlineSeconds": None}},
            ["spec.activeDeadlineSeconds: Invalid value: null: must not update from a positive integer to nil value"],
        ),
        ("Pod", {"spec": {"activeDeadlineSeconds": 5}}, {"spec": {"activeDeadlineSeconds": 4}}, []),
        (
            "Pod",
            {"spec": {"tolerations": [{"key": "a", "operator": "Exists"}]}},
            {"spec": {"tolerations": [{"key": "b", "operator": "Exists"}]}},
            ["spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds"],
        ),
        (
            "Pod",
            {"spec": {"schedulingGates": [{"name": "a"}]}},
            {"spec": {"schedulingGates": [{"name": "b"}]}},
            ["spec.schedulingGates[0].name: Forbidden: only deletion is allowed, but found new scheduling gate 'b'"],
        ),
        (
            "Pod",
            {"spec": {"schedulingGates": [{"name": "a"}]}},
            {"spec": {"schedulingGates": None, "nodeSelector": {"x": "y"}}},
            [],
        ),
        (
            "Pod",
            {"spec": {"schedulingGates": [{"name": "a"}], "nodeSelector": {"x": "y"}}},
            {"spec": {"nodeSelector": {"x": "z"}}},
            [
                'spec.nodeSelector: Invalid value: {"x":"z"}: only additions to spec.nodeSelector are allowed (no mutations or deletions)'
            ],
        ),
        (
            "Pod",
            {},
            {"spec": {"nodeSelector": {"x": "y"}}},
            [
                "spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`…"
            ],
        ),
        (
            "Pod",
            {},
            {"spec": {"priority": 5}},
            [
                "spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`…"
            ],
        ),
        (
            "Pod",
            {"metadata": {"annotations": {"kubernetes.io/config.mirror": "x"}}, "spec": {"nodeName": "n"}},
            {"metadata": {"annotations": {"kubernetes.io/config.mirror": "y"}}},
            [
                "metadata.annotations[kubernetes.io/config.mirror]: Forbidden: may not remove or update mirror pod annotation"
            ],
        ),
    ],
)
def test_changed_objects(kind, before, change, expected):
    check_update(kind, merged(BASES[kind], before), change, expected)
