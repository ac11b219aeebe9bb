"""Statuses of a pod, as kubelets report them."""

import pytest

from fakekube.apiserver.registry.core.pod.validation.podstatus import _restarts
from fakekube.apiserver.registry.generic.validation.field import Field
from tests.apiserver.validation.support import check_status

RUNNING = {"name": "c", "state": {"running": {}}}
ENDED = {"name": "c", "state": {"terminated": {"exitCode": 1}}}

STATUSES = [
    (
        {},
        {
            "conditions": [{"type": "a b", "observedGeneration": -1}, {"type": "Ready"}],
            "observedGeneration": -1,
            "qosClass": "Guaranteed",
        },
        {},
        [
            "status.conditions[0].observedGeneration: Invalid value: -1: must be a non-negative integer",
            "status.conditions[0].Type: Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' or '.', and must star…",
            "status.observedGeneration: Invalid value: -1: must be a non-negative integer",
            'status.qosClass: Invalid value: "Guaranteed": field is immutable',
        ],
    ),
    (
        {"nodeName": "n"},
        {"nominatedNodeName": "A"},
        {},
        [
            'status.nominatedNodeName: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, \'…',
            "status.nominatedNodeName: Forbidden: may not be set on pods that are already bound to a node",
        ],
    ),
    ({"nodeName": "n"}, {"nominatedNodeName": "a"}, {"nominatedNodeName": "a"}, []),
    (
        {"restartPolicy": "Never"},
        {"containerStatuses": [RUNNING]},
        {"containerStatuses": [ENDED]},
        ["status.containerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state"],
    ),
    (
        {"restartPolicy": "OnFailure"},
        {"containerStatuses": [RUNNING], "ephemeralContainerStatuses": [RUNNING]},
        {"containerStatuses": [ENDED], "ephemeralContainerStatuses": [ENDED]},
        ["status.ephemeralContainerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state"],
    ),
    (
        {
            "restartPolicy": "Never",
            "containers": [
                {
                    "name": "c",
                    "image": "i",
                    "restartPolicy": "Never",
                    "restartPolicyRules": [{"action": "Restart", "exitCodes": {"operator": "In", "values": [1]}}],
                }
            ],
        },
        {"containerStatuses": [RUNNING]},
        {"containerStatuses": [ENDED]},
        [],
    ),
    (
        {
            "restartPolicy": "Never",
            "containers": [
                {
                    "name": "c",
                    "image": "i",
                    "restartPolicy": "Never",
                    "restartPolicyRules": [{"action": "Restart", "exitCodes": {"operator": "NotIn", "values": [1]}}],
                }
            ],
        },
        {"containerStatuses": [RUNNING]},
        {"containerStatuses": [ENDED]},
        ["status.containerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state"],
    ),
    (
        {
            "restartPolicy": "Never",
            "containers": [
                {
                    "name": "c",
                    "image": "i",
                    "restartPolicy": "Never",
                    "restartPolicyRules": [
                        {"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [2]}}
                    ],
                }
            ],
        },
        {"containerStatuses": [RUNNING]},
        {"containerStatuses": [ENDED]},
        [],
    ),
    (
        {"resourceClaims": [{"name": "a", "resourceClaimTemplateName": "t"}]},
        {"resourceClaimStatuses": [{"name": "b"}, {"name": "a", "resourceClaimName": "A"}, {"name": "a"}]},
        {},
        [
            'status.resourceClaimStatuses[0].name: Invalid value: "b": must match the name of an entry in `spec.resourceClaims`',
            'status.resourceClaimStatuses[1].resourceClaimName: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower case a…',
            'status.resourceClaimStatuses[2].name: Duplicate value: "a"',
        ],
    ),
    (
        {},
        {"extendedResourceClaimStatus": {}},
        {},
        [
            "status.extendedResourceClaimStatus.requestMappings: Required value: at least one request mapping is required",
            "status.extendedResourceClaimStatus.resourceClaimName: Required value",
        ],
    ),
    (
        {
            "containers": [
                {
                    "name": "c",
                    "image": "i",
                    "resources": {"requests": {"example.com/x": "1"}, "limits": {"example.com/x": "1"}},
                }
            ]
        },
        {
            "extendedResourceClaimStatus": {
                "resourceClaimName": "A",
                "requestMappings": [
                    {"containerName": "d"},
                    {"containerName": "c", "resourceName": "cpu", "requestName": "r"},
                    {"containerName": "c", "resourceName": "example.com/x", "requestName": "r"},
                    {"containerName": "c", "resourceName": "example.com/x", "requestName": "r"},
                ],
            }
        },
        {},
        [
            'status.extendedResourceClaimStatus.requestMappings[0].containerName: Invalid value: "d": must match the name of an entry in spec.i…',
            'status.extendedResourceClaimStatus.requestName: Invalid value: "": a lowercase RFC 1123 label must consist of lower case alphanume…',
            'status.extendedResourceClaimStatus.requestMappings[1].resourceName: Invalid value: "cpu": must match the extended resource name of…',
            'status.extendedResourceClaimStatus.requestMappings[3].containerName: Duplicate value: "c"',
            'status.extendedResourceClaimStatus.requestMappings[3].resourceName: Duplicate value: "example.com/x"',
            'status.extendedResourceClaimStatus.requestMappings[3].requestName: Duplicate value: "r"',
            'status.extendedResourceClaimStatus.resourceClaimName: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower cas…',
        ],
    ),
    (
        {"resourceClaims": [{"name": "a", "resourceClaimName": "r"}]},
        {
            "nodeAllocatableResourceClaimStatuses": [
                {},
                {"resourceClaimName": "r", "containers": ["c"], "resources": {"example.com/x": "1", "cpu": "-1"}},
            ]
        },
        {},
        [
            "status.nodeAllocatableResourceClaimStatuses[0].resourceClaimName: Required value: must not be empty",
            'status.nodeAllocatableResourceClaimStatuses[0].resourceClaimName: Invalid value: "": no mapping found in pod reference',
            "status.nodeAllocatableResourceClaimStatuses[0].containers: Required value: must not be empty",
            "status.nodeAllocatableResourceClaimStatuses[0].resources: Required value: must not be empty",
            'status.nodeAllocatableResourceClaimStatuses[1].resources[example.com/x]: Invalid value: "example.com/x": must be a node allocatabl…',
            'status.nodeAllocatableResourceClaimStatuses[1].resources[cpu]: Invalid value: "-1": must be non-negative',
        ],
    ),
    (
        {},
        {"podIPs": [{"ip": "x"}], "hostIP": "1.1.1.1", "hostIPs": [{"ip": "1.1.1.2"}]},
        {},
        [
            'status.podIPs[0]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
            'status.hostIPs[0].ip: Invalid value: "1.1.1.2": must be equal to `hostIP`',
        ],
    ),
    (
        {},
        {
            "podIPs": [{"ip": "1.1.1.1"}, {"ip": "1.1.1.2"}],
            "hostIP": "1.1.1.1",
            "hostIPs": [{"ip": "1.1.1.1"}, {"ip": "fd00::1"}, {"ip": "fd00::2"}],
        },
        {},
        [
            'status.podIPs: Invalid value: [{"IP":"1.1.1.1"},{"IP":"1.1.1.2"}]: may specify no more than one IP for each IP family',
            'status.hostIPs: Invalid value: [{"IP":"1.1.1.1"},{"IP":"fd00::1"},{"IP":"fd00::2"}]: may specify no more than one IP for each IP f…',
        ],
    ),
    ({}, {"podIPs": [{"ip": "01.1.1.1"}]}, {"podIPs": [{"ip": "01.1.1.1"}]}, []),
    (
        {"os": {"name": "windows"}},
        {"containerStatuses": [{"name": "c", "user": {"linux": {}}}]},
        {},
        ["status.containerStatuses[0].user.linux: Forbidden: cannot be set for a windows pod"],
    ),
    (
        {},
        {"containerStatuses": [{"name": "c", "user": {"linux": {"uid": -1, "gid": 1, "supplementalGroups": [-1]}}}]},
        {},
        [
            "status.containerStatuses[0].user.linux.uid: Invalid value: -1: must be between 0 and 2147483647, inclusive",
            "status.containerStatuses[0].user.linux.supplementalGroups[0]: Invalid value: -1: must be between 0 and 2147483647, inclusive",
        ],
    ),
    (
        {
            "containers": [{"name": "c", "image": "i", "resources": {"claims": [{"name": "a", "request": "r"}]}}],
            "resourceClaims": [{"name": "a", "resourceClaimName": "r"}],
        },
        {
            "containerStatuses": [
                {
                    "name": "c",
                    "allocatedResourcesStatus": [
                        {
                            "name": "claim:a/r",
                            "resources": [
                                {"resourceID": "x", "health": "Fine", "message": ""},
                                {"resourceID": "x", "health": "Healthy", "message": "m" * 1025},
                            ],
                        },
                        {"name": "claim:b"},
                        {"name": "cpu"},
                    ],
                },
                {"name": "d", "allocatedResourcesStatus": [{"name": "cpu"}]},
            ],
            "ephemeralContainerStatuses": [{"name": "c", "allocatedResourcesStatus": [{"name": "cpu"}]}],
        },
        {},
        [
            'status.containerStatuses[0].allocatedResourcesStatus[0].resources[0].health: Unsupported value: "Fine": supported values: "Healthy…',
            "status.containerStatuses[0].allocatedResourcesStatus[0].resources[0].message: Required value: must be non-empty if specified",
            "status.containerStatuses[0].allocatedResourcesStatus[0].resources[1].message: Too long: may not be more than 1024 bytes",
            'status.containerStatuses[0].allocatedResourcesStatus[0].resources[1].resourceID: Duplicate value: "x"',
            'status.containerStatuses[0].allocatedResourcesStatus[1].name: Invalid value: "claim:b": must match one of the container\'s resource…',
            'status.containerStatuses[0].allocatedResourcesStatus[2].name: Invalid value: "cpu": must match one of the container\'s resource req…',
            "status.ephemeralContainerStatuses[0].allocatedResourcesStatus: Forbidden: must not be specified in container status",
        ],
    ),
]


@pytest.mark.parametrize(("spec", "status", "before", "errors"), STATUSES)
def test_a_status_is_validated(spec, status, before, errors):
    pod = {"spec": {"containers": [{"name": "c", "image": "i"}], **spec}}
    check_status("Pod", pod, status, before, errors)


def on_codes(operator, *values):
    rule = {"action": "Restart", "exitCodes": {"operator": operator, "values": list(values)}}
    return {"restartPolicy": "Never", "restartPolicyRules": [rule]}


@pytest.mark.parametrize(
    ("container", "policy", "code", "restarts"),
    [
        ({}, "Always", 0, True),
        ({}, "OnFailure", 0, False),
        ({}, "OnFailure", 1, True),
        ({}, "Never", 1, False),
        ({"restartPolicy": "Always"}, "Never", 1, True),
        ({"restartPolicy": "Never"}, "Always", 1, False),
        ({"restartPolicy": "OnFailure"}, "Always", 0, False),
        (on_codes("In", 1, 2), "Never", 2, True),
        (on_codes("In", 1, 2), "Never", 3, False),
        (on_codes("NotIn", 1, 2), "Never", 3, True),
        (on_codes("NotIn", 1, 2), "Never", 2, False),
        (on_codes("Other", 1, 2), "Never", 3, False),
    ],
)
def test_whether_a_terminated_container_may_run_again(container, policy, code, restarts):
    """`podutil.ContainerShouldRestart`."""
    assert _restarts(Field(container), Field({"restartPolicy": policy}), code) is restarts
