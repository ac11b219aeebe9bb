"""Workloads: rules of single fields.

An expected text that ends in an ellipsis is the beginning of the server's.
"""

import pytest

from tests.apiserver.validation.support import check_new, check_status, check_update, merged

TPL = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}

SS = {"spec": {"selector": {"matchLabels": {"a": "b"}}, "template": TPL, "serviceName": "s"}}

JOB = {"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}}

CRON = {"spec": {"schedule": "* * * * *", "jobTemplate": JOB}}

DS = {"spec": {"selector": {"matchLabels": {"a": "b"}}, "template": TPL}}
NEW = [
    ("PodTemplate", {"template": {"spec": {"containers": [{"image": "a"}, {"image": "b"}]}}}, [
        "template.spec.containers[0].name: Required value",
        "template.spec.containers[1].name: Required value",
        'template.spec.containers[1].name: Duplicate value: ""',
    ]),
    ("StatefulSet", merged(SS, {"spec": {"updateStrategy": {"type": ""}}}), []),
    ("StatefulSet", merged(SS, {"spec": {"updateStrategy": {"type": "OnDelete", "rollingUpdate": {"partition": 1}}, "podManagementPolicy": "Random", "serviceName": "A", "ordinals": {"start": -1}}}), [
        'spec.podManagementPolicy: Invalid value: "Random": must be \'OrderedReady\' or \'Parallel\'',
        'spec.updateStrategy.rollingUpdate: Invalid value: {"Partition":1,"MaxUnavailable":null}: only allowed for updateStrategy \'RollingUpdate\'',
        'spec.ordinals.start: Invalid value: -1: must be greater than or equal to 0',
        'spec.serviceName: Invalid value: "A": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or \'-\', and mu…',
    ]),
    ("StatefulSet", merged(SS, {"spec": {"updateStrategy": {"rollingUpdate": {"partition": -1}}, "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Keep"}}}), [
        'spec.updateStrategy.rollingUpdate.partition: Invalid value: -1: must be greater than or equal to 0',
        'spec.persistentVolumeClaimRetentionPolicy.whenDeleted: Unsupported value: "Keep": supported values: "Retain", "Delete"',
    ]),
    ("DaemonSet", merged(DS, {"spec": {"updateStrategy": {"rollingUpdate": {"maxSurge": 1}}}}), ['spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: 1: may not be set when maxUnavailable is non-zero']),
    ("DaemonSet", merged(DS, {"spec": {"updateStrategy": {"rollingUpdate": {"maxUnavailable": 0}}}}), ['spec.updateStrategy.rollingUpdate.maxUnavailable: Required value: cannot be 0 when maxSurge is 0']),
    ("DaemonSet", merged(DS, {"spec": {"updateStrategy": {"type": "Later"}}}), ['spec.updateStrategy: Unsupported value: {"Type":"Later","RollingUpdate":null}: supported values: "RollingUpdate", "OnDelete"']),
    ("Job", merged(JOB, {"spec": {"template": {"spec": {"restartPolicy": "OnFailure"}}, "podFailurePolicy": {"rules": []}}}), ['spec.template.spec.restartPolicy: Invalid value: "OnFailure": only "Never" is supported when podFailurePolicy is specified']),
    ("Job", merged(JOB, {"spec": {"completionMode": "Indexed", "completions": 200_000, "parallelism": 100_001, "maxFailedIndexes": 150_000, "backoffLimitPerIndex": 1}}), [
        'spec.parallelism: Invalid value: 100001: must be less than or equal to 100000 when completion mode is Indexed',
        'spec.maxFailedIndexes: Invalid value: 150000: must be less than or equal to 100000',
        'spec.parallelism: Invalid value: 100001: must be less than or equal to 10000 when completions are above 100000 and used with backoff limit per index',
        'spec.maxFailedIndexes: Invalid value: 150000: must be less than or equal to 10000 when completions are above 100000 and used with …',
    ]),
    ("Job", merged(JOB, {"spec": {"completionMode": "Indexed", "completions": 5, "successPolicy": {"rules": [{"succeededIndexes": "3-1", "succeededCount": 9}, {}, {"succeededIndexes": "1,2", "succeededCount": 3}]}}}), [
        'spec.successPolicy.rules[0].succeededIndexes: Invalid value: "3-1": error parsing succeededIndexes: non-increasing order, previous: 3, current: 1',
        'spec.successPolicy.rules[0].succeededCount: Invalid value: 9: must be less than or equal to 5 (the number of specified completions)',
        'spec.successPolicy.rules[0].succeededCount: Invalid value: 9: must be less than or equal to 0 (the number of indexes in the specif…',
        'spec.successPolicy.rules[1]: Required value: at least one of succeededCount or succeededIndexes must be specified',
        'spec.successPolicy.rules[2].succeededCount: Invalid value: 3: must be less than or equal to 2 (the number of indexes in the specif…',
    ]),
    ("CronJob", merged(CRON, {"spec": {"schedule": "TZ=UTC * * * * *", "timeZone": "UTC"}}), ['spec.schedule: Invalid value: "TZ=UTC * * * * *": cannot use TZ or CRON_TZ in schedule, use timeZone field instead']),
    ("CronJob", merged(CRON, {"spec": {"schedule": "-1 * * * *", "timeZone": "a/../b"}}), [
        'spec.schedule: Invalid value: "-1 * * * *": failed to parse int from : strconv.Atoi: parsing "": invalid syntax',
        'spec.timeZone: Invalid value: "a/../b": unknown time zone a/../b',
    ]),
    ("CronJob", merged(CRON, {"spec": {"timeZone": "LOCAL", "jobTemplate": {"spec": {"manualSelector": True, "selector": {}}}}}), [
        'spec.timeZone: Invalid value: "LOCAL": timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones',
        'spec.timeZone: Invalid value: "LOCAL": unknown time zone LOCAL',
        'spec.jobTemplate.spec.selector: Invalid value: {}: `selector` will be auto-generated',
        'spec.jobTemplate.spec.manualSelector: Unsupported value: true: supported values: "nil", "false"',
    ]),
    ("CronJob", merged(CRON, {"spec": {"timeZone": ""}}), ['spec.timeZone: Invalid value: "": timeZone must be nil or non-empty string']),
]  # fmt: skip

CHANGED = [
    ("CronJob", merged(CRON, {"spec": {"schedule": "TZ=UTC * * * * *"}}), {"spec": {"timeZone": "UTC"}}, ['spec.schedule: Invalid value: "TZ=UTC * * * * *": cannot use both timeZone field and TZ or CRON_TZ in schedule']),
    ("CronJob", merged(CRON, {"spec": {"schedule": "TZ=UTC * * * * *"}}), {"spec": {"suspend": True}}, []),
    ("StatefulSet", merged(SS, {"spec": {"serviceName": "A"}}), {"spec": {"replicas": 2}}, []),
]  # fmt: skip

STATUSES = [
    ("Job", merged(JOB, {"spec": {"completionMode": "Indexed", "completions": 3, "successPolicy": {"rules": [{"succeededCount": 1}]}}}), {"startTime": "2026-01-01T00:00:00Z", "completionTime": "2026-01-02T00:00:00Z", "conditions": [{"type": "Complete", "status": "True"}]}, None, [
        'status.conditions: Invalid value: cannot set Complete=True condition without the SuccessCriteriaMet=true condition',
        'status.conditions: Invalid value: cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True',
    ]),
    ("Job", JOB, {"startTime": "2026-01-01T00:00:00Z", "completionTime": "2026-01-03T00:00:00Z", "conditions": [{"type": "Complete", "status": "True"}, {"type": "SuccessCriteriaMet", "status": "True"}]}, {"startTime": "2026-01-01T00:00:00Z", "completionTime": "2026-01-02T00:00:00Z", "conditions": [{"type": "Complete", "status": "True"}]}, [
        'status.completionTime: Invalid value: "2026-01-03T00:00:00Z": field is immutable',
        'status.conditions: Invalid value: cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions',
    ]),
    ("Job", JOB, {"active": 1, "ready": 2, "uncountedTerminatedPods": {"succeeded": ["a", "a", ""]}}, None, [
        'status.uncountedTerminatedPods.succeeded[1]: Duplicate value: "a"',
        'status.uncountedTerminatedPods.succeeded[2]: Invalid value: "": must not be empty',
        'status.ready: Invalid value: 2: cannot set more ready pods than active',
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
