"""Updates of a pod: the fields that may change."""

import pytest

from tests.apiserver.validation.support import check_update

POD = {"spec": {"containers": [{"name": "c", "image": "i"}]}}

UPDATES = [
    (
        {},
        {"spec": {"containers": []}},
        ["spec.containers: Required value", "spec.containers: Forbidden: pod updates may not add or remove containers"],
    ),
    (
        {},
        {"spec": {"containers": [{"name": "c", "image": ""}]}},
        [
            "spec.containers[0].image: Required value",
            "spec.containers[0].image: Required value",
            "spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.acti…",
        ],
    ),
    (
        {},
        {"spec": {"activeDeadlineSeconds": -1}},
        [
            "spec.activeDeadlineSeconds: Invalid value: -1: must be between 1 and 2147483647, inclusive",
            "spec.activeDeadlineSeconds: Invalid value: -1: must be between 0 and 2147483647, inclusive",
        ],
    ),
    (
        {"activeDeadlineSeconds": 5},
        {"spec": {"activeDeadlineSeconds": None}},
        ["spec.activeDeadlineSeconds: Invalid value: null: must not update from a positive integer to nil value"],
    ),
    (
        {"activeDeadlineSeconds": 5},
        {"spec": {"activeDeadlineSeconds": 6}},
        ["spec.activeDeadlineSeconds: Invalid value: 6: must be less than or equal to previous value"],
    ),
    ({"activeDeadlineSeconds": 5}, {"spec": {"activeDeadlineSeconds": 4}}, []),
    (
        {"tolerations": [{"key": "a", "operator": "Exists"}]},
        {"spec": {"tolerations": [{"key": "b", "operator": "Exists"}]}},
        ["spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds"],
    ),
    (
        {"tolerations": [{"key": "a", "operator": "Exists", "effect": "NoExecute"}]},
        {
            "spec": {
                "tolerations": [
                    {"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 1},
                    {"key": "b", "value": "-"},
                ]
            }
        },
        [
            "spec.tolerations[1].operator: Invalid value: \"-\": a valid label must be an empty string or consist of alphanumeric characters, '-'…",
            "spec.tolerations[1].operator: Invalid value: \"-\": a valid label must be an empty string or consist of alphanumeric characters, '-'…",
        ],
    ),
    (
        {},
        {"spec": {"schedulingGates": [{"name": "a"}]}},
        ["spec.schedulingGates[0].name: Forbidden: only deletion is allowed, but found new scheduling gate 'a'"],
    ),
    (
        {"schedulingGates": [{"name": "a"}], "nodeSelector": {"a": "b"}},
        {"spec": {"nodeSelector": {"a": "c"}}},
        [
            'spec.nodeSelector: Invalid value: {"a":"c"}: only additions to spec.nodeSelector are allowed (no mutations or deletions)'
        ],
    ),
    ({"schedulingGates": [{"name": "a"}], "nodeSelector": {"a": "b"}}, {"spec": {"nodeSelector": {"c": "d"}}}, []),
    (
        {"schedulingGates": [{"name": "a"}]},
        {
            "spec": {
                "affinity": {
                    "nodeAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": {
                            "nodeSelectorTerms": [
                                {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}
                            ]
                        }
                    }
                }
            }
        },
        [],
    ),
    (
        {
            "schedulingGates": [{"name": "a"}],
            "affinity": {
                "podAffinity": {},
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {
                        "nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}]
                    }
                },
            },
        },
        {
            "spec": {
                "affinity": {
                    "nodeAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": {
                            "nodeSelectorTerms": [{"matchExpressions": [{"key": "b", "operator": "Exists"}]}]
                        }
                    }
                }
            }
        },
        [
            'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]: Invalid value: {"MatchExpressions"…'
        ],
    ),
    (
        {
            "schedulingGates": [{"name": "a"}],
            "affinity": {
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {
                        "nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}]
                    }
                }
            },
        },
        {
            "spec": {
                "affinity": {
                    "nodeAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": {
                            "nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}, {}]
                        }
                    }
                }
            }
        },
        [
            'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: Invalid value: [{"MatchExpressions":[…'
        ],
    ),
    (
        {
            "schedulingGates": [{"name": "a"}],
            "affinity": {
                "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{}]}}
            },
        },
        {
            "spec": {
                "affinity": {
                    "nodeAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": {
                            "nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}]
                        }
                    }
                }
            }
        },
        [
            'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]: Invalid value: {"MatchExpressions"…'
        ],
    ),
    (
        {"nodeName": "n"},
        {
            "metadata": {
                "annotations": {
                    "kubernetes.io/config.mirror": "x",
                    "container.apparmor.security.beta.kubernetes.io/c": "unconfined",
                    "other": "y",
                }
            }
        },
        [
            "metadata.annotations[kubernetes.io/config.mirror]: Forbidden: may not add mirror pod annotation",
            "metadata.annotations[container.apparmor.security.beta.kubernetes.io/c]: Forbidden: may not add AppArmor annotations",
        ],
    ),
]


@pytest.mark.parametrize(("before", "change", "errors"), UPDATES)
def test_an_update_is_validated(before, change, errors):
    check_update("Pod", {"spec": {**POD["spec"], **before}}, change, errors)


ANNOTATIONS = {
    "kubernetes.io/config.mirror": "x",
    "container.apparmor.security.beta.kubernetes.io/c": "unconfined",
}

REMOVALS = [
    (
        {"metadata": {"annotations": {"kubernetes.io/config.mirror": None}}},
        [
            "metadata.annotations[kubernetes.io/config.mirror]: Forbidden: may not remove or update mirror pod annotation"
        ],
    ),
    (
        {"metadata": {"annotations": {"container.apparmor.security.beta.kubernetes.io/c": None}}},
        [
            "metadata.annotations[container.apparmor.security.beta.kubernetes.io/c]: Forbidden: may not remove or update AppArmor annotations"
        ],
    ),
]


@pytest.mark.parametrize(("change", "errors"), REMOVALS)
def test_annotations_that_the_server_interprets_are_immutable(change, errors):
    pod = {"metadata": {"annotations": ANNOTATIONS}, "spec": {**POD["spec"], "nodeName": "n"}}
    check_update("Pod", pod, change, errors)
