"""A pod's spec as a whole, and the annotations that the server interprets."""

import pytest

from tests.apiserver.validation.support import check_new, check_update

SECCOMP_POD = "seccomp.security.alpha.kubernetes.io/pod"
SECCOMP = "container.seccomp.security.alpha.kubernetes.io/c"
APPARMOR = "container.apparmor.security.beta.kubernetes.io/"


def in_context(**context):
    return {"containers": [{"name": "c", "image": "i", "securityContext": context}]}


SPECS = [
    (
        {
            "volumes": [
                {"name": ""},
                {"name": "a", "emptyDir": {}},
                {"name": "a", "emptyDir": {}},
                {
                    "name": "e",
                    "ephemeral": {
                        "volumeClaimTemplate": {
                            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1"}}}
                        }
                    },
                },
                {"name": "c", "persistentVolumeClaim": {"claimName": "x-e"}},
            ]
        },
        [
            "spec.volumes[0].name: Required value",
            'spec.volumes[2].name: Duplicate value: "a"',
            'spec.volumes[4].persistentVolumeClaim.claimName: Invalid value: "x-e": must not reference a PVC that gets created for an ephemeral…',
        ],
    ),
    ({"containers": []}, ["spec.containers: Required value"]),
    (
        {
            "resourceClaims": [
                {},
                {"name": "A", "resourceClaimName": "a", "resourceClaimTemplateName": "B"},
                {"name": "b", "resourceClaimName": "b"},
                {"name": "b", "resourceClaimName": "b"},
            ]
        },
        [
            "spec.resourceClaims[0].name: Required value",
            'spec.resourceClaims[0]: Invalid value: {"Name":"","ResourceClaimName":null,"ResourceClaimTemplateName":null}: must specify one of:…',
            'spec.resourceClaims[1].name: Invalid value: "A": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or…',
            'spec.resourceClaims[1]: Invalid value: {"Name":"A","ResourceClaimName":"a","ResourceClaimTemplateName":"B"}: at most one of `resou…',
            'spec.resourceClaims[1].resourceClaimTemplateName: Invalid value: "B": a lowercase RFC 1123 subdomain must consist of lower case al…',
            'spec.resourceClaims[3].name: Duplicate value: "b"',
        ],
    ),
    ({"dnsPolicy": "None"}, ["spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None"]),
    (
        {"dnsPolicy": "None", "dnsConfig": {}},
        [
            "spec.dnsConfig.nameservers: Required value: must provide at least one DNS nameserver when `dnsPolicy` is None"
        ],
    ),
    (
        {
            "dnsPolicy": "Other",
            "restartPolicy": "Other",
            "dnsConfig": {
                "nameservers": ["1.1.1.1", "01.1.1.1", "::ffff:1.1.1.1", "x"],
                "searches": [".", "a_b.", "A"] + ["b" * 70] * 31,
                "options": [{}],
            },
        },
        [
            'spec.restartPolicy: Unsupported value: "Other": supported values: "Always", "OnFailure", "Never"',
            'spec.dnsPolicy: Unsupported value: "Other": supported values: "ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"',
            'spec.dnsConfig.nameservers: Invalid value: ["1.1.1.1","01.1.1.1","::ffff:1.1.1.1","x"]: must not have more than 3 nameservers',
            'spec.dnsConfig.nameservers[1]: Invalid value: "01.1.1.1": must not have leading 0s',
            'spec.dnsConfig.nameservers[2]: Invalid value: "::ffff:1.1.1.1": must not be an IPv4-mapped IPv6 address',
            'spec.dnsConfig.nameservers[3]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
            'spec.dnsConfig.searches: Invalid value: [".","a_b.","A","bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb","…',
            'spec.dnsConfig.searches: Invalid value: [".","a_b.","A","bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb","…',
            'spec.dnsConfig.searches[2]: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters,…',
            "spec.dnsConfig.options[0]: Required value: must not be empty",
        ],
    ),
    (
        {"readinessGates": [{"conditionType": "a b"}], "schedulingGates": [{"name": "a"}, {"name": "a"}, {"name": ""}]},
        [
            "spec.readinessGates[0].conditionType: Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' or '.', an…",
            'spec.schedulingGates[1]: Duplicate value: "a"',
            'spec.schedulingGates[2]: Invalid value: "": name part must be non-empty',
            "spec.schedulingGates[2]: Invalid value: \"\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and…",
        ],
    ),
    (
        {"hostnameOverride": "A" * 65, "setHostnameAsFQDN": True, "hostNetwork": True},
        [
            "spec.hostnameOverride: Forbidden: may not be specified when setHostnameAsFQDN is true",
            "spec.hostnameOverride: Forbidden: may not be specified when hostNetwork is true",
            "spec.hostnameOverride: Too long: may not be more than 64 bytes",
            'spec.hostnameOverride: Invalid value: "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA": a lowercase RFC 1123 su…',
        ],
    ),
    (
        {
            "serviceAccountName": "A",
            "nodeName": "B",
            "activeDeadlineSeconds": 0,
            "hostname": "C",
            "subdomain": "D",
            "hostAliases": [{"ip": "x", "hostnames": ["E"]}],
            "priorityClassName": "F",
            "runtimeClassName": "",
            "preemptionPolicy": "Other",
            "overhead": {"gpu": "1"},
        },
        [
            'spec.serviceAccountName: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, \'-…',
            "spec.nodeName: Invalid value: \"B\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.',…",
            "spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive",
            "spec.hostname: Invalid value: \"C\": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must…",
            "spec.subdomain: Invalid value: \"D\": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must…",
            'spec.hostAliases[0].ip: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
            'spec.hostAliases[0].hostnames[0]: Invalid value: "E": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric chara…',
            "spec.priorityClassName: Invalid value: \"F\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-'…",
            "spec.runtimeClassName: Invalid value: \"\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' o…",
            'spec.preemptionPolicy: Unsupported value: "Other": supported values: "PreemptLowerPriority", "Never"',
            'spec.overhead.limits[gpu]: Invalid value: "gpu": must be a standard resource type or fully qualified',
            'spec.overhead.limits[gpu]: Invalid value: "gpu": must be a standard resource for containers',
        ],
    ),
    (
        {
            "resources": {
                "claims": [{"name": "a"}],
                "requests": {"cpu": "1", "gpu": "1", "example.com/x": "1"},
                "limits": {"hugepages-2Mi": "2Mi", "cpu": "1"},
            },
            "containers": [
                {
                    "name": "c",
                    "image": "i",
                    "resources": {
                        "requests": {"cpu": "2", "hugepages-2Mi": "4Mi"},
                        "limits": {"cpu": "3", "hugepages-2Mi": "4Mi"},
                    },
                }
            ],
        },
        [
            "spec.resources.claims: Forbidden: claims may not be set for Resources at pod-level",
            'spec.resources.requests[gpu]: Invalid value: "gpu": must be a standard resource type or fully qualified',
            'spec.resources.requests[example.com/x]: Unsupported value: "example.com/x": supported values: "cpu", "hugepages-", "memory"',
            "spec.resources.limits: Required value: Limit must be set for non overcommitable resources",
            'spec.resources.claims[0]: Not found: "a": must be one of the names in pod.spec.resourceClaims which is empty',
            'spec.resources.requests[cpu]: Invalid value: "1": must be greater than or equal to aggregate container requests of 2',
            'spec.resources.requests[hugepages-2Mi]: Invalid value: "2Mi": must be greater than or equal to aggregate container requests of 4Mi',
            'spec.resources.limits[hugepages-2Mi]: Invalid value: "2Mi": must be greater than or equal to aggregate container limits of 4Mi',
            'spec.resources.containers[0][cpu].limits: Invalid value: "3": must be less than or equal to pod limits of 1',
            'spec.resources.containers[0][hugepages-2Mi].limits: Invalid value: "4Mi": must be less than or equal to pod limits of 2Mi',
        ],
    ),
    (
        {"resources": {"requests": {"cpu": "1"}}, "os": {"name": "windows"}},
        ["spec.resources: Forbidden: may not be set for a windows pod"],
    ),
    (
        {
            "hostNetwork": True,
            "containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 80, "hostPort": 81}]}],
        },
        [
            "spec.containers[0].ports[0].hostPort: Invalid value: 81: must match `containerPort` when `hostNetwork` is true"
        ],
    ),
    (
        {
            "securityContext": {
                "runAsUser": -1,
                "supplementalGroups": [-1],
                "fsGroupChangePolicy": "Other",
                "supplementalGroupsPolicy": "Other",
                "seLinuxChangePolicy": "Other",
                "sysctls": [
                    {"name": ""},
                    {"name": "A"},
                    {"name": "kernel.sem"},
                    {"name": "kernel.sem"},
                    {"name": "net/ipv4"},
                ],
                "seccompProfile": {"type": "X"},
                "appArmorProfile": {"type": "X"},
                "windowsOptions": {"runAsUserName": ""},
            },
            "hostNetwork": True,
            "hostIPC": True,
        },
        [
            "spec.securityContext.runAsUser: Invalid value: -1: must be between 0 and 2147483647, inclusive",
            "spec.securityContext.supplementalGroups[0]: Invalid value: -1: must be between 0 and 2147483647, inclusive",
            "spec.securityContext.sysctls[0].name: Required value",
            'spec.securityContext.sysctls[1].name: Invalid value: "A": must have at most 253 characters and match regex ^([a-z0-9]([-_a-z0-9]*[…',
            "spec.securityContext.sysctls[2].name: Invalid value: \"kernel.sem\": may not be specified when 'hostIPC' is true",
            'spec.securityContext.sysctls[3].name: Duplicate value: "kernel.sem"',
            "spec.securityContext.sysctls[3].name: Invalid value: \"kernel.sem\": may not be specified when 'hostIPC' is true",
            "spec.securityContext.sysctls[4].name: Invalid value: \"net/ipv4\": may not be specified when 'hostNetwork' is true",
            'spec.securityContext.fsGroupChangePolicy: Unsupported value: "Other": supported values: "Always", "OnRootMismatch"',
            'spec.securityContext.seccompProfile.type: Unsupported value: "X": supported values: "Localhost", "RuntimeDefault", "Unconfined"',
            'spec.securityContext.windowsOptions.runAsUserName: Invalid value: "": runAsUserName cannot be an empty string',
            'spec.securityContext.appArmorProfile.type: Unsupported value: "X": supported values: "Localhost", "RuntimeDefault", "Unconfined"',
            'spec.securityContext.supplementalGroupsPolicy: Unsupported value: "Other": supported values: "Merge", "Strict"',
            'spec.securityContext.seLinuxChangePolicy: Unsupported value: "Other": supported values: "Recursive"',
        ],
    ),
    (
        {"shareProcessNamespace": True, "hostPID": True},
        [
            "spec.securityContext.shareProcessNamespace: Invalid value: true: ShareProcessNamespace and HostPID cannot both be enabled"
        ],
    ),
    (
        {
            "hostUsers": False,
            "hostNetwork": True,
            "hostPID": True,
            "hostIPC": True,
            "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}],
            "containers": [{"name": "c", "image": "i", "volumeDevices": [{"name": "v", "devicePath": "/d"}]}],
        },
        [
            "spec.hostNetwork: Forbidden: when `hostUsers` is false",
            "spec.HostPID: Forbidden: when `hostUsers` is false",
            "spec.HostIPC: Forbidden: when `hostUsers` is false",
            "spec.containers[0].volumeDevices: Forbidden: when `hostUsers` is false",
        ],
    ),
    (
        {
            "securityContext": {"windowsOptions": {"hostProcess": True}},
            "containers": [
                {"name": "c", "image": "i", "securityContext": {"windowsOptions": {"hostProcess": False}}},
                {"name": "d", "image": "i"},
            ],
        },
        [
            "spec.containers[0].securityContext.windowsOptions.hostProcess: Invalid value: false: pod hostProcess value must be identical if bo…",
            'spec: Invalid value: "": If pod contains any hostProcess containers then all containers must be HostProcess containers',
            "spec.hostNetwork: Invalid value: false: hostNetwork must be true if pod contains any hostProcess containers",
        ],
    ),
    (
        {
            "containers": [
                {"name": "c", "image": "i", "securityContext": {"windowsOptions": {"hostProcess": True}}},
                {"name": "d", "image": "i"},
            ]
        },
        [
            'spec: Invalid value: "": If pod contains any hostProcess containers then all containers must be HostProcess containers',
            "spec.hostNetwork: Invalid value: false: hostNetwork must be true if pod contains any hostProcess containers",
        ],
    ),
    ({"os": {}}, ["spec.os.name: Required value: cannot be empty"]),
    ({"os": {"name": "darwin"}}, ['spec.os: Unsupported value: "darwin": supported values: "linux", "windows"']),
    (
        {
            "os": {"name": "linux"},
            "securityContext": {"windowsOptions": {}},
            "containers": [{"name": "c", "image": "i", "securityContext": {"windowsOptions": {}}}],
        },
        [
            "spec.securityContext.windowsOptions: Forbidden: windows options cannot be set for a linux pod",
            "spec.containers[0].securityContext.windowsOptions: Forbidden: windows options cannot be set for a linux pod",
        ],
    ),
    (
        {
            "os": {"name": "windows"},
            "hostPID": False,
            "hostIPC": True,
            "securityContext": {"fsGroup": 1, "runAsUser": 1},
            "containers": [{"name": "c", "image": "i", "securityContext": {"privileged": True, "capabilities": {}}}],
        },
        [
            "spec.hostIPC: Forbidden: cannot be set for a windows pod",
            "spec.securityContext.fsGroup: Forbidden: cannot be set for a windows pod",
            "spec.securityContext.runAsUser: Forbidden: cannot be set for a windows pod",
            "spec.containers[0].securityContext.capabilities: Forbidden: cannot be set for a windows pod",
            "spec.containers[0].securityContext.privileged: Forbidden: cannot be set for a windows pod",
        ],
    ),
    (
        {
            "affinity": {
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {},
                    "preferredDuringSchedulingIgnoredDuringExecution": [
                        {
                            "weight": 0,
                            "preference": {
                                "matchExpressions": [
                                    {"key": "a b", "operator": "In"},
                                    {"key": "a", "operator": "Exists", "values": ["x"]},
                                    {"key": "a", "operator": "Gt", "values": ["1", "2"]},
                                    {"key": "a", "operator": "Is"},
                                ],
                                "matchFields": [
                                    {"key": "x", "operator": "Exists"},
                                    {"key": "metadata.name", "operator": "In", "values": ["A"]},
                                    {"key": "metadata.name", "operator": "In"},
                                ],
                            },
                        }
                    ],
                }
            }
        },
        [
            "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: Required value: must have at least on…",
            "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: Invalid value: 0: must be in the range 1-100",
            "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference.matchExpressions[0].values: Required valu…",
            'spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference.matchExpressions[0].key: Invalid value: "…',
            "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference.matchExpressions[1].values: Forbidden: ma…",
            "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference.matchExpressions[2].values: Required valu…",
            "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference.matchExpressions[3].operator: Invalid val…",
            'spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference.matchFields[0].operator: Invalid value: "…',
            'spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference.matchFields[0].key: Invalid value: "x": n…',
            "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference.matchFields[1].values[0]: Invalid value:…",
            "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference.matchFields[2].values: Required value: mu…",
        ],
    ),
    (
        {
            "affinity": {
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {
                        "nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "In", "values": ["-x"]}]}]
                    }
                }
            }
        },
        [
            "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].values[0]: Inva…"
        ],
    ),
    (
        {
            "affinity": {
                "podAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": [
                        {"namespaces": ["A"], "matchLabelKeys": ["a b"]}
                    ],
                    "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 101}],
                },
                "podAntiAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": [
                        {
                            "topologyKey": "z",
                            "labelSelector": {
                                "matchLabels": {"a": "b"},
                                "matchExpressions": [
                                    {"key": "a", "operator": "In", "values": ["-"]},
                                    {"key": "c", "operator": "Exists"},
                                    {"key": "c", "operator": "Is"},
                                ],
                            },
                            "namespaceSelector": {"matchLabels": {"-": "-"}},
                            "matchLabelKeys": ["a", "c", "d"],
                            "mismatchLabelKeys": ["d", "e f"],
                        }
                    ]
                },
            }
        },
        [
            'spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].namespace: Invalid value: "A": a lowercase RFC 1123 la…',
            "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].matchLabelKeys: Forbidden: must not be specified when…",
            "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: Required value: can not be empty",
            'spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: Invalid value: "": name part must be non-…',
            'spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: Invalid value: "": name part must consist…',
            "spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: Invalid value: 101: must be in the range 1-10…",
            "spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.topologyKey: Required value: can not…",
            'spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.topologyKey: Invalid value: "": name…',
            'spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.topologyKey: Invalid value: "": name…',
            "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector.matchExpressions[0].values[0]: Inval…",
            "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector.matchExpressions[2].operator: Invali…",
            'spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].namespaceSelector.matchLabels: Invalid value: "-":…',
            'spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].namespaceSelector.matchLabels: Invalid value: "-":…',
            'spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].mismatchLabelKeys[1]: Invalid value: "e f": name p…',
            'spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0][0]: Invalid value: "a": exists in both matchLabelK…',
            'spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0][1]: Invalid value: "c": exists in both matchLabelK…',
            'spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].matchLabelKeys[2]: Invalid value: "d": exists in b…',
        ],
    ),
    (
        {
            "topologySpreadConstraints": [
                {
                    "maxSkew": 0,
                    "whenUnsatisfiable": "Other",
                    "minDomains": 0,
                    "nodeAffinityPolicy": "X",
                    "nodeTaintsPolicy": "Y",
                    "matchLabelKeys": ["a"],
                },
                {
                    "maxSkew": 1,
                    "topologyKey": "z",
                    "whenUnsatisfiable": "DoNotSchedule",
                    "minDomains": 1,
                    "labelSelector": {"matchLabels": {"a": "b"}},
                    "matchLabelKeys": ["a"],
                },
                {"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"},
            ]
        },
        [
            "spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero",
            "spec.topologySpreadConstraints[0].topologyKey: Required value: can not be empty",
            'spec.topologySpreadConstraints[0].whenUnsatisfiable: Unsupported value: "Other": supported values: "DoNotSchedule", "ScheduleAnywa…',
            "spec.topologySpreadConstraints[0].minDomains: Invalid value: 0: must be greater than zero",
            "spec.topologySpreadConstraints[0].minDomains: Invalid value: 0: can only use minDomains if whenUnsatisfiable=DoNotSchedule, not Ot…",
            'spec.topologySpreadConstraints[0].nodeAffinityPolicy: Unsupported value: "X": supported values: "Honor", "Ignore"',
            'spec.topologySpreadConstraints[0].nodeTaintsPolicy: Unsupported value: "Y": supported values: "Honor", "Ignore"',
            "spec.topologySpreadConstraints[0].matchLabelKeys: Forbidden: must not be specified when labelSelector is not set",
            'spec.topologySpreadConstraints[1].{topologyKey, whenUnsatisfiable}: Duplicate value: "{z, DoNotSchedule}"',
        ],
    ),
    (
        {
            "tolerations": [
                {"key": "a b", "operator": "Exists", "value": "x"},
                {"operator": "Equal"},
                {"key": "a", "value": "-", "effect": "Other"},
                {"key": "a", "operator": "Lt", "value": "1", "tolerationSeconds": 1, "effect": "NoSchedule"},
                {"key": "a", "operator": "Is"},
            ]
        },
        [
            "spec.tolerations[0].key: Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start…",
            "spec.tolerations[0].operator: Invalid value: \"x\": value must be empty when `operator` is 'Exists'",
            'spec.tolerations[1].operator: Invalid value: "Equal": operator must be Exists when `key` is empty, which means "match all values a…',
            "spec.tolerations[2].operator: Invalid value: \"-\": a valid label must be an empty string or consist of alphanumeric characters, '-'…",
            'spec.tolerations[2].effect: Unsupported value: "Other": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"',
            "spec.tolerations[3].effect: Invalid value: \"NoSchedule\": effect must be 'NoExecute' when `tolerationSeconds` is set",
            'spec.tolerations[3].operator: Unsupported value: "Lt": supported values: "Equal", "Exists", "Lt", "Gt"',
            'spec.tolerations[4].operator: Unsupported value: "Is": supported values: "Equal", "Exists"',
        ],
    ),
    (
        {
            "ephemeralContainers": [
                {
                    "name": "c",
                    "image": " i ",
                    "targetContainerName": "x",
                    "ports": [{"containerPort": 1}],
                    "lifecycle": {},
                    "resources": {},
                    "volumeMounts": [{"name": "v", "mountPath": "/v", "subPath": "a"}],
                }
            ],
            "volumes": [{"name": "v", "emptyDir": {}}],
        },
        [
            'spec.ephemeralContainers[0].image: Invalid value: " i ": must not have leading or trailing whitespace',
            'spec.ephemeralContainers[0].name: Duplicate value: "c"',
            'spec.ephemeralContainers[0].targetContainerName: Not found: "x"',
            "spec.ephemeralContainers[0].ports: Forbidden: cannot be set for an Ephemeral Container",
            "spec.ephemeralContainers[0].volumeMounts[0].subPath: Forbidden: cannot be set for an Ephemeral Container",
            "spec.ephemeralContainers: Forbidden: cannot be set on create",
        ],
    ),
    (
        {
            "nodeName": "n",
            "schedulingGates": [{"name": "a"}],
            "volumes": [{"name": "v", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}, {}]}}],
            "containers": [{"name": "c", "image": " i"}],
        },
        [
            "spec.volumes[0].projected.sources[0].serviceAccountToken: Forbidden: must not be specified when serviceAccountName is not set",
            'spec.containers[0].image: Invalid value: " i": must not have leading or trailing whitespace',
            "spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared",
        ],
    ),
]


@pytest.mark.parametrize(("spec", "errors"), SPECS)
def test_a_spec_is_validated(spec, errors):
    spec = {"containers": [{"name": "c", "image": "i"}], **spec}
    check_new("Pod", {"metadata": {"name": "x"}, "spec": spec}, errors)


ANNOTATED = [
    (
        {"kubernetes.io/config.mirror": "x", "controller.kubernetes.io/pod-deletion-cost": "01"},
        {"resourceClaims": [{"name": "a", "resourceClaimName": "a"}]},
        [
            'metadata.annotations[kubernetes.io/config.mirror]: Invalid value: "x": must set spec.nodeName if mirror pod annotation is set',
            'metadata.annotations[controller.kubernetes.io/pod-deletion-cost]: Invalid value: "01": must be a 32bit integer',
            ": Forbidden: static pods do not support resource claims",
        ],
    ),
    (
        {SECCOMP_POD: "other", SECCOMP: "localhost//x", APPARMOR + "x": "other", APPARMOR + "c": "runtime/default"},
        {},
        [
            'metadata.annotations.seccomp.security.alpha.kubernetes.io/pod: Invalid value: "other": must be a valid seccomp profile',
            'metadata.annotations.container.seccomp.security.alpha.kubernetes.io/c: Invalid value: "/x": must be a relative path',
            'metadata.annotations[container.apparmor.security.beta.kubernetes.io/x]: Invalid value: "x": container not found',
            'metadata.annotations[container.apparmor.security.beta.kubernetes.io/x]: Invalid value: "other": invalid AppArmor profile name: "ot…',
        ],
    ),
    (
        {SECCOMP_POD: "unconfined"},
        {"securityContext": {"seccompProfile": {"type": "RuntimeDefault"}}},
        ["spec.securityContext.seccompProfile.type: Forbidden: seccomp type in annotation and field must match"],
    ),
    (
        {SECCOMP: "runtime/default"},
        in_context(seccompProfile={"type": "Localhost", "localhostProfile": "x"}),
        [
            "spec.containers[0].securityContext.seccompProfile.type: Forbidden: seccomp type in annotation and field must match"
        ],
    ),
    (
        {SECCOMP: "localhost/y"},
        in_context(seccompProfile={"type": "Localhost", "localhostProfile": "x"}),
        [
            "spec.containers[0].securityContext.seccompProfile.localhostProfile: Forbidden: seccomp profile in annotation and field must match"
        ],
    ),
    ({SECCOMP: "localhost/x"}, in_context(seccompProfile={"type": "Localhost", "localhostProfile": "x"}), []),
    ({SECCOMP: "docker/default"}, in_context(seccompProfile={"type": "RuntimeDefault"}), []),
    (
        {APPARMOR + "c": "localhost/y"},
        in_context(appArmorProfile={"type": "Unconfined"}),
        [
            "spec.containers[0].securityContext.appArmorProfile.type: Forbidden: apparmor type in annotation and field must match"
        ],
    ),
    ({APPARMOR + "c": "unconfined"}, {"securityContext": {"appArmorProfile": {"type": "RuntimeDefault"}}}, []),
    (
        {APPARMOR + "c": "unconfined"},
        {"os": {"name": "windows"}, "securityContext": {"appArmorProfile": {"type": "RuntimeDefault"}}},
        ["spec.securityContext.appArmorProfile: Forbidden: cannot be set for a windows pod"],
    ),
]


@pytest.mark.parametrize(("annotations", "spec", "errors"), ANNOTATED)
def test_annotations_are_validated(annotations, spec, errors):
    spec = {"containers": [{"name": "c", "image": "i"}], **spec}
    check_new("Pod", {"metadata": {"name": "x", "annotations": annotations}, "spec": spec}, errors)


def test_a_template_has_no_ephemeral_containers():
    spec = {"containers": [{"name": "c", "image": "i"}], "ephemeralContainers": [{"name": "e", "image": "i"}]}
    check_new(
        "PodTemplate",
        {"metadata": {"name": "x"}, "template": {"spec": spec}},
        ["template.spec.ephemeralContainers: Forbidden: ephemeral containers not allowed in pod template"],
    )


def test_constraints_with_invalid_label_keys_may_stay():
    """Servers before 1.34 accepted a key that the selector has, too."""
    selector = {"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "a", "operator": "Exists"}]}
    constraint = {"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": selector}
    spec = {
        "containers": [{"name": "c", "image": "i"}],
        "topologySpreadConstraints": [{**constraint, "matchLabelKeys": ["a"]}],
    }
    path = "spec.topologySpreadConstraints[0]"
    check_new(
        "Pod", {"spec": spec}, [f'{path}[0]: Invalid value: "a": exists in both matchLabelKeys and labelSelector']
    )
    check_update(
        "Pod",
        {"spec": spec},
        {"metadata": {"labels": {"c": "d"}}},
        [f'{path}.matchLabelKeys[0]: Invalid value: "a": exists in both matchLabelKeys and labelSelector'],
    )
