"""Jobs and CronJobs: what is said of new and of changed ones, and of a Job's status.

An expected text that ends in an ellipsis is the beginning of the server's.
"""

import pytest

from tests.apiserver.validation.support import check_new, check_status, check_update, merged

JOB = {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}}}}

CRON_JOB = {
    "spec": {
        "schedule": "@hourly",
        "jobTemplate": {
            "spec": {"template": {"spec": {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}}}
        },
    }
}

BASES = {"Job": JOB, "CronJob": CRON_JOB}


@pytest.mark.parametrize(
    ("kind", "change", "expected"),
    [
        ("Job", {}, []),
        (
            "Job",
            {"spec": {"template": None}},
            [
                "spec.template.spec.containers: Required value",
                'spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"',
            ],
        ),
        (
            "Job",
            {
                "spec": {
                    "completions": -1,
                    "parallelism": -1,
                    "backoffLimit": -1,
                    "ttlSecondsAfterFinished": -1,
                    "activeDeadlineSeconds": -1,
                }
            },
            [
                "spec.parallelism: Invalid value: -1: must be greater than or equal to 0",
                "spec.completions: Invalid value: -1: must be greater than or equal to 0",
                "spec.activeDeadlineSeconds: Invalid value: -1: must be greater than or equal to 0",
                "spec.backoffLimit: Invalid value: -1: must be greater than or equal to 0",
                "spec.ttlSecondsAfterFinished: Invalid value: -1: must be greater than or equal to 0",
            ],
        ),
        ("Job", {"spec": {"completionMode": "Indexed"}}, []),
        (
            "Job",
            {"spec": {"completionMode": "Indexed", "completions": 3, "parallelism": 100001}},
            [
                "spec.parallelism: Invalid value: 100001: must be less than or equal to 100000 when completion mode is Indexed"
            ],
        ),
        (
            "Job",
            {
                "spec": {
                    "completionMode": "Indexed",
                    "completions": 200000,
                    "backoffLimitPerIndex": 1,
                    "parallelism": 20000,
                }
            },
            [
                "spec.maxFailedIndexes: Required value: must be specified when completions is above 100000",
                "spec.parallelism: Invalid value: 20000: must be less than or equal to 10000 when completions are above 100000 and used with backoff limit per index",
            ],
        ),
        (
            "Job",
            {"spec": {"backoffLimitPerIndex": 1, "maxFailedIndexes": 2}},
            [
                "spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode",
                "spec.maxFailedIndexes: Invalid value: 2: requires indexed completion mode",
            ],
        ),
        (
            "Job",
            {"spec": {"maxFailedIndexes": 2}},
            [
                "spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified",
                "spec.maxFailedIndexes: Invalid value: 2: requires indexed completion mode",
            ],
        ),
        (
            "Job",
            {"spec": {"managedBy": "x"}},
            ['spec.managedBy: Invalid value: "x": must be a domain-prefixed path (such as "acme.io/foo")'],
        ),
        (
            "Job",
            {"spec": {"selector": {"matchLabels": {"x": "y"}}}},
            [
                'spec.selector: Invalid value: {"matchLabels":{"batch.kubernetes.io/controller-uid":"u","x":"y"}}: `selector` not auto-generated',
                'spec.template.metadata.labels: Invalid value: {"batch.kubernetes.io/controller-uid":"u","batch.kubernetes.io/job-name":"x","controller-uid":"u","job-n…',
            ],
        ),
        (
            "Job",
            {"spec": {"manualSelector": True}},
            [
                "spec.selector: Required value",
                "spec.template.metadata.labels: Invalid value: null: `selector` does not match template `labels`",
            ],
        ),
        (
            "Job",
            {
                "spec": {
                    "template": {"metadata": {"labels": {"a": "b"}}},
                    "manualSelector": True,
                    "selector": {"matchLabels": {"a": "b"}},
                }
            },
            [],
        ),
        (
            "Job",
            {"spec": {"template": {"metadata": {"labels": {"job-name": "other"}}}}},
            [
                'spec.template.metadata.labels[job-name]: Invalid value: {"batch.kubernetes.io/controller-uid":"u","batch.kubernetes.io/job-name":"x","controller-uid":…'
            ],
        ),
        (
            "Job",
            {"spec": {"template": {"spec": {"restartPolicy": "Always"}}}},
            ['spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"'],
        ),
        (
            "Job",
            {"spec": {"template": {"spec": {"restartPolicy": "X"}}}},
            [
                'spec.template.spec.restartPolicy: Unsupported value: "X": supported values: "Always", "OnFailure", "Never"',
                'spec.template.spec.restartPolicy: Unsupported value: "X": supported values: "OnFailure", "Never"',
            ],
        ),
        (
            "Job",
            {
                "spec": {
                    "podFailurePolicy": {
                        "rules": [
                            {"action": ""},
                            {"action": "FailIndex", "onExitCodes": {"operator": "In", "values": [0, 3, 2, 2]}},
                            {
                                "action": "X",
                                "onExitCodes": {"containerName": "z", "operator": "", "values": []},
                                "onPodConditions": [{"type": "A b"}],
                            },
                        ]
                    }
                }
            },
            [
                'spec.podFailurePolicy.rules[0].action: Required value: valid values: ["Count" "FailIndex" "FailJob" "Ignore"]',
                "spec.podFailurePolicy.rules[0]: Invalid value: specifying one of OnExitCodes and OnPodConditions is required",
                'spec.podFailurePolicy.rules[1].action: Invalid value: "FailIndex": requires the backoffLimitPerIndex to be set',
                "spec.podFailurePolicy.rules[1].onExitCodes.values[0]: Invalid value: 0: must not be 0 for the In operator",
                "spec.podFailurePolicy.rules[1].onExitCodes.values[3]: Duplicate value: 2",
                "spec.podFailurePolicy.rules[1].onExitCodes.values: Invalid value: [0,3,2,2]: must be ordered",
                'spec.podFailurePolicy.rules[2].action: Unsupported value: "X": supported values: "Count", "FailIndex", "FailJob", "Ignore"',
                'spec.podFailurePolicy.rules[2].onExitCodes.operator: Required value: valid values: ["In" "NotIn"]',
                'spec.podFailurePolicy.rules[2].onExitCodes.containerName: Invalid value: "z": must be one of the container or initContainer names in the pod template',
                "spec.podFailurePolicy.rules[2].onExitCodes.values: Invalid value: []: at least one value is required",
                "spec.podFailurePolicy.rules[2].onPodConditions[0].type: Invalid value: \"A b\": name part must consist of alphanumeric characters, '-', '_' or '.', and…",
                "spec.podFailurePolicy.rules[2]: Invalid value: specifying both OnExitCodes and OnPodConditions is not supported",
            ],
        ),
        (
            "Job",
            {"spec": {"podReplacementPolicy": "X"}},
            ['spec.podReplacementPolicy: Unsupported value: "X": supported values: "Failed", "TerminatingOrFailed"'],
        ),
        (
            "Job",
            {"spec": {"podFailurePolicy": {"rules": []}, "podReplacementPolicy": "TerminatingOrFailed"}},
            ['spec.podReplacementPolicy: Unsupported value: "TerminatingOrFailed": supported values: "Failed"'],
        ),
        (
            "Job",
            {"spec": {"successPolicy": {"rules": []}}},
            ['spec.successPolicy: Invalid value: {"Rules":[]}: requires indexed completion mode'],
        ),
        (
            "Job",
            {
                "spec": {
                    "completionMode": "Indexed",
                    "completions": 5,
                    "successPolicy": {
                        "rules": [
                            {},
                            {"succeededIndexes": "1-9"},
                            {"succeededIndexes": "0-2", "succeededCount": 4},
                            {"succeededIndexes": "a"},
                            {"succeededIndexes": "3,1"},
                            {"succeededIndexes": "1-2-3"},
                            {"succeededCount": 9},
                        ]
                    },
                }
            },
            [
                "spec.successPolicy.rules[0]: Required value: at least one of succeededCount or succeededIndexes must be specified",
                'spec.successPolicy.rules[1].succeededIndexes: Invalid value: "1-9": error parsing succeededIndexes: too large index: "9"',
                "spec.successPolicy.rules[2].succeededCount: Invalid value: 4: must be less than or equal to 3 (the number of indexes in the specified succeededIndexes field)",
                'spec.successPolicy.rules[3].succeededIndexes: Invalid value: "a": error parsing succeededIndexes: cannot convert string to integer for index: "a"',
                'spec.successPolicy.rules[4].succeededIndexes: Invalid value: "3,1": error parsing succeededIndexes: non-increasing order, previous: 3, current: 1',
                'spec.successPolicy.rules[5].succeededIndexes: Invalid value: "1-2-3": error parsing succeededIndexes: the fragment "1-2-3" violates the requirement th…',
                "spec.successPolicy.rules[6].succeededCount: Invalid value: 9: must be less than or equal to 5 (the number of specified completions)",
            ],
        ),
        (
            "Job",
            {"spec": {"completionMode": "Indexed", "completions": 5, "successPolicy": {"rules": []}}},
            [
                "spec.successPolicy.rules: Required value: at least one rules must be specified when the successPolicy is specified"
            ],
        ),
        (
            "Job",
            {"spec": {"completionMode": "Indexed", "completions": 5}, "metadata": {"name": "a.b"}},
            ['metadata.name: Invalid value: "a.b": will not able to create pod with invalid DNS label: a.b-4'],
        ),
        ("CronJob", {}, []),
        (
            "CronJob",
            {"spec": {"schedule": None, "jobTemplate": None}},
            [
                "spec.schedule: Required value",
                "spec.jobTemplate.spec.template.spec.containers: Required value",
                'spec.jobTemplate.spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"',
            ],
        ),
        ("CronJob", {"spec": {"schedule": ""}}, ["spec.schedule: Required value"]),
        (
            "CronJob",
            {"spec": {"schedule": "TZ=UTC 0 * * * *"}},
            [
                'spec.schedule: Invalid value: "TZ=UTC 0 * * * *": cannot use TZ or CRON_TZ in schedule, use timeZone field instead'
            ],
        ),
        (
            "CronJob",
            {"spec": {"timeZone": ""}},
            ['spec.timeZone: Invalid value: "": timeZone must be nil or non-empty string'],
        ),
        (
            "CronJob",
            {"spec": {"timeZone": "Local"}},
            [
                'spec.timeZone: Invalid value: "Local": timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones'
            ],
        ),
        (
            "CronJob",
            {"spec": {"timeZone": "a/../b"}},
            ['spec.timeZone: Invalid value: "a/../b": unknown time zone a/../b'],
        ),
        (
            "CronJob",
            {"spec": {"timeZone": "Nowhere/Land"}},
            ['spec.timeZone: Invalid value: "Nowhere/Land": unknown time zone Nowhere/Land'],
        ),
        ("CronJob", {"spec": {"timeZone": "Europe/Berlin"}}, []),
        (
            "CronJob",
            {"spec": {"concurrencyPolicy": "X", "startingDeadlineSeconds": -1, "failedJobsHistoryLimit": -1}},
            [
                "spec.startingDeadlineSeconds: Invalid value: -1: must be greater than or equal to 0",
                'spec.concurrencyPolicy: Unsupported value: "X": supported values: "Allow", "Forbid", "Replace"',
                "spec.failedJobsHistoryLimit: Invalid value: -1: must be greater than or equal to 0",
            ],
        ),
        (
            "CronJob",
            {"metadata": {"name": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}},
            [
                'metadata.name: Invalid value: "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa": must be no more than 52 characters'
            ],
        ),
        (
            "CronJob",
            {"spec": {"jobTemplate": {"spec": {"selector": {"matchLabels": {"a": "b"}}, "manualSelector": True}}}},
            [
                'spec.jobTemplate.spec.selector: Invalid value: {"matchLabels":{"a":"b"}}: `selector` will be auto-generated',
                'spec.jobTemplate.spec.manualSelector: Unsupported value: true: supported values: "nil", "false"',
            ],
        ),
    ],
)
def test_new_objects(kind, change, expected):
    check_new(kind, merged(BASES[kind], change), expected)


@pytest.mark.parametrize(
    ("kind", "before", "change", "expected"),
    [
        ("Job", {}, {"spec": {"completions": 3}}, ["spec.completions: Invalid value: 3: field is immutable"]),
        ("Job", {}, {"spec": {"parallelism": 3, "suspend": True, "backoffLimit": 3}}, []),
        (
            "Job",
            {},
            {"spec": {"completionMode": "Indexed"}},
            ['spec.completionMode: Invalid value: "Indexed": field is immutable'],
        ),
        (
            "Job",
            {},
            {"spec": {"template": {"spec": {"nodeSelector": {"a": "b"}}}}},
            [
                'spec.template: Invalid value: {"labels":{"batch.kubernetes.io/controller-uid":"u","batch.kubernetes.io/job-name":"x","controller-uid":"u",…'
            ],
        ),
        (
            "Job",
            {},
            {"spec": {"managedBy": "a/b", "backoffLimitPerIndex": 1}},
            [
                "spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode",
                "spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode",
                "spec.backoffLimitPerIndex: Invalid value: 1: field is immutable",
                'spec.managedBy: Invalid value: "a/b": field is immutable',
            ],
        ),
        (
            "Job",
            {},
            {"spec": {"selector": {"matchLabels": {"x": "y"}}}},
            [
                'spec.selector: Invalid value: {"matchLabels":{"batch.kubernetes.io/controller-uid":"u","x":"y"}}: `selector` not auto-generated',
                'spec.template.metadata.labels: Invalid value: {"batch.kubernetes.io/controller-uid":"u","batch.kubernetes.io/job-name":"x","controller-uid":"u","job-n…',
                'spec.template.metadata.labels: Invalid value: {"batch.kubernetes.io/controller-uid":"u","batch.kubernetes.io/job-name":"x","controller-uid":"u","job-n…',
                'spec.selector: Invalid value: {"matchLabels":{"batch.kubernetes.io/controller-uid":"u","x":"y"}}: field is immutable',
            ],
        ),
        (
            "Job",
            {"spec": {"suspend": True}},
            {
                "spec": {
                    "template": {
                        "spec": {
                            "nodeSelector": {"a": "b"},
                            "tolerations": [{"operator": "Exists"}],
                            "affinity": {"nodeAffinity": {}},
                        },
                        "metadata": {"labels": {"x": "y"}},
                    }
                }
            },
            [],
        ),
        (
            "Job",
            {"spec": {"suspend": True}},
            {"spec": {"template": {"spec": {"schedulerName": "x"}}}},
            [
                'spec.template.spec: Invalid value: {"Volumes":null,"InitContainers":null,"Containers":[{"Name":"c","Image":"i","Command":null,…'
            ],
        ),
        (
            "Job",
            {"spec": {"suspend": True}},
            {
                "spec": {
                    "template": {
                        "spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]}
                    }
                }
            },
            [],
        ),
        (
            "Job",
            {"spec": {"completionMode": "Indexed", "completions": 2, "parallelism": 2}},
            {"spec": {"completions": 3}},
            ["spec.completions: Invalid value: 3: can only be modified in tandem with spec.parallelism"],
        ),
        (
            "Job",
            {"spec": {"completionMode": "Indexed", "completions": 2, "parallelism": 2}},
            {"spec": {"completions": 3, "parallelism": 3}},
            [],
        ),
        (
            "CronJob",
            {},
            {"spec": {"schedule": "TZ=UTC @hourly"}},
            [
                'spec.schedule: Invalid value: "TZ=UTC @hourly": cannot use TZ or CRON_TZ in schedule, use timeZone field instead'
            ],
        ),
        (
            "CronJob",
            {},
            {"spec": {"suspend": True, "timeZone": "Nowhere"}},
            ['spec.timeZone: Invalid value: "Nowhere": unknown time zone Nowhere'],
        ),
        (
            "CronJob",
            {"metadata": {"name": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}},
            {"spec": {"suspend": True}},
            [],
        ),
    ],
)
def test_changed_objects(kind, before, change, expected):
    check_update(kind, merged(BASES[kind], before), change, expected)


@pytest.mark.parametrize(
    ("kind", "change", "before", "status", "expected"),
    [
        (
            "Job",
            {},
            {},
            {"active": -1, "succeeded": -1, "failed": -1, "ready": -1, "terminating": -1},
            [
                "status.active: Invalid value: -1: must be greater than or equal to 0",
                "status.succeeded: Invalid value: -1: must be greater than or equal to 0",
                "status.failed: Invalid value: -1: must be greater than or equal to 0",
                "status.ready: Invalid value: -1: must be greater than or equal to 0",
                "status.terminating: Invalid value: -1: must be greater than or equal to 0",
                "status.failed: Invalid value: -1: cannot decrease the failed counter",
                "status.succeeded: Invalid value: -1: cannot decrease the succeeded counter",
            ],
        ),
        (
            "Job",
            {},
            {},
            {"ready": 2, "active": 1},
            ["status.ready: Invalid value: 2: cannot set more ready pods than active"],
        ),
        (
            "Job",
            {},
            {},
            {
                "conditions": [
                    {"type": "Complete", "status": "True"},
                    {"type": "Failed", "status": "True"},
                    {"type": "FailureTarget", "status": "True"},
                ]
            },
            [
                "status.conditions: Invalid value: cannot set Complete=True and Failed=true conditions",
                "status.conditions: Invalid value: cannot set Complete=True and FailureTarget=true conditions",
                "status.completionTime: Required value: completionTime is required for Complete jobs",
                "status.conditions: Invalid value: cannot set Complete=True condition without the SuccessCriteriaMet=true condition",
                "status.startTime: Required value: startTime is required for finished job",
            ],
        ),
        (
            "Job",
            {},
            {},
            {
                "conditions": [
                    {"type": "SuccessCriteriaMet", "status": "True"},
                    {"type": "Complete", "status": "True"},
                ],
                "startTime": "2026-01-02T00:00:00Z",
                "completionTime": "2026-01-01T00:00:00Z",
            },
            [
                'status.completionTime: Invalid value: "2026-01-01T00:00:00Z": completionTime cannot be set before startTime'
            ],
        ),
        (
            "Job",
            {},
            {},
            {
                "conditions": [
                    {"type": "SuccessCriteriaMet", "status": "True"},
                    {"type": "Complete", "status": "True"},
                ],
                "startTime": "2026-01-01T00:00:00Z",
                "completionTime": "2026-01-01T00:00:00Z",
            },
            [],
        ),
        (
            "Job",
            {},
            {},
            {"conditions": [{"type": "Complete", "status": "True"}]},
            [
                "status.completionTime: Required value: completionTime is required for Complete jobs",
                "status.conditions: Invalid value: cannot set Complete=True condition without the SuccessCriteriaMet=true condition",
                "status.startTime: Required value: startTime is required for finished job",
            ],
        ),
        (
            "Job",
            {},
            {},
            {"completionTime": "2026-01-01T00:00:00Z"},
            [
                'status.completionTime: Invalid value: "2026-01-01T00:00:00Z": cannot set completionTime when there is no Complete=True condition'
            ],
        ),
        (
            "Job",
            {},
            {},
            {
                "conditions": [{"type": "FailureTarget", "status": "True"}, {"type": "Failed", "status": "True"}],
                "startTime": "2026-01-01T00:00:00Z",
                "active": 1,
                "terminating": 1,
                "uncountedTerminatedPods": {"failed": ["a"]},
            },
            [
                "status.active: Invalid value: 1: active>0 is invalid for finished job",
                'status.uncountedTerminatedPods: Invalid value: {"Succeeded":null,"Failed":["a"]}: uncountedTerminatedPods needs to be empty for finished job',
                "status.terminating: Invalid value: 1: terminating>0 is invalid for finished job",
            ],
        ),
        (
            "Job",
            {},
            {
                "conditions": [{"type": "FailureTarget", "status": "True"}, {"type": "Failed", "status": "True"}],
                "startTime": "2026-01-01T00:00:00Z",
            },
            {},
            [
                "status.conditions: Invalid value: cannot disable the terminal Failed=True condition",
                "status.conditions: Invalid value: cannot disable the terminal FailureTarget=True condition",
                "status.startTime: Invalid value: null: field is immutable for unsuspended job once set",
            ],
        ),
        (
            "Job",
            {},
            {"failed": 3, "succeeded": 2},
            {"failed": 1, "succeeded": 1},
            [
                "status.failed: Invalid value: 1: cannot decrease the failed counter",
                "status.succeeded: Invalid value: 1: cannot decrease the succeeded counter",
            ],
        ),
        (
            "Job",
            {},
            {},
            {"uncountedTerminatedPods": {"succeeded": ["", "a", "a"], "failed": ["a"]}},
            [
                'status.uncountedTerminatedPods.succeeded[0]: Invalid value: "": must not be empty',
                'status.uncountedTerminatedPods.succeeded[2]: Duplicate value: "a"',
                'status.uncountedTerminatedPods.failed[0]: Duplicate value: "a"',
            ],
        ),
        (
            "Job",
            {},
            {},
            {"completedIndexes": "1", "failedIndexes": "2"},
            [
                'status.completedIndexes: Invalid value: "1": error parsing completedIndexes: too large index: "1"',
                'status.completedIndexes: Invalid value: "1": cannot set non-empty completedIndexes when non-indexed completion mode',
                'status.failedIndexes: Invalid value: "2": cannot set non-null failedIndexes when backoffLimitPerIndex is null',
            ],
        ),
        (
            "Job",
            {"spec": {"completionMode": "Indexed", "completions": 5, "backoffLimitPerIndex": 1}},
            {},
            {"completedIndexes": "0-9", "failedIndexes": "a"},
            [
                'status.completedIndexes: Invalid value: "0-9": error parsing completedIndexes: too large index: "9"',
                'status.failedIndexes: Invalid value: "a": error parsing failedIndexes: cannot convert string to integer for index: "a"',
            ],
        ),
        (
            "Job",
            {"spec": {"completionMode": "Indexed", "completions": 5, "backoffLimitPerIndex": 1}},
            {},
            {"completedIndexes": "0,2-4", "failedIndexes": "1,3"},
            ['status.failedIndexes: Invalid value: "1,3": failedIndexes and completedIndexes overlap at index: 3'],
        ),
        (
            "Job",
            {},
            {"conditions": [{"type": "SuccessCriteriaMet", "status": "True"}]},
            {},
            ["status.conditions: Invalid value: cannot disable the SuccessCriteriaMet=True condition"],
        ),
        (
            "Job",
            {},
            {},
            {
                "conditions": [
                    {"type": "SuccessCriteriaMet", "status": "True"},
                    {"type": "FailureTarget", "status": "True"},
                ]
            },
            ["status.conditions: Invalid value: cannot set SuccessCriteriaMet=True and FailureTarget=true conditions"],
        ),
    ],
)
def test_statuses(kind, change, before, status, expected):
    check_status(kind, merged(BASES[kind], change), status, before, expected)
