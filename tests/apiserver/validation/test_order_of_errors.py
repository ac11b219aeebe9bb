"""Errors are listed in the order in which Kubernetes validates the fields (`pkg/apis/*/validation`)."""

import pytest

from tests.apiserver.validation.support import merged, problems, problems_of_status
from tests.apiserver.validation.test_jobs import CRON_JOB, JOB
from tests.apiserver.validation.test_pods import POD
from tests.apiserver.validation.test_scaling import AUTOSCALER

TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
SET = {"spec": {"selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE}}
BUDGET = {"spec": {"selector": {}, "minAvailable": 1}}

#: Kind, an object, the place of the fields, and the fields in order, each of which must not be negative.
COUNTS = [
    ("Deployment", SET, "spec", ["replicas", "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"]),
    ("ReplicaSet", SET, "spec", ["replicas", "minReadySeconds"]),
    ("StatefulSet", merged(SET, {"spec": {"serviceName": "s"}}), "spec", ["replicas", "minReadySeconds"]),
    ("ReplicationController", {"spec": {"selector": {"a": "b"}, "template": TEMPLATE}}, "spec", ["minReadySeconds", "replicas"]),
    ("Job", JOB, "spec", ["parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished"]),
    ("CronJob", CRON_JOB, "spec", ["startingDeadlineSeconds", "successfulJobsHistoryLimit", "failedJobsHistoryLimit"]),
]  # fmt: skip

STATUSES = [
    ("Job", JOB, ["active", "succeeded", "failed", "ready", "terminating"]),
    ("PodDisruptionBudget", BUDGET, ["disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"]),
    ("HorizontalPodAutoscaler", AUTOSCALER, ["currentReplicas", "desiredReplicas"]),
    ("ReplicaSet", SET, ["replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas"]),
    ("Deployment", SET, ["replicas", "updatedReplicas", "readyReplicas", "availableReplicas", "unavailableReplicas"]),
]
NEGATIVE = "must be greater than or equal to 0"


def of_negatives(errors):
    return [error.partition(":")[0].rpartition(".")[2] for error in errors if error.endswith(NEGATIVE)]


@pytest.mark.parametrize(
    ("kind", "obj", "place", "names"), COUNTS, ids=lambda value: value if isinstance(value, str) else ""
)
def test_negative_numbers_of_a_spec(kind, obj, place, names):
    for given in (names, names[::-1]):
        assert of_negatives(problems(kind, merged(obj, {place: dict.fromkeys(given, -1)}))) == names


@pytest.mark.parametrize(("kind", "obj", "names"), STATUSES, ids=lambda value: value if isinstance(value, str) else "")
def test_negative_numbers_of_a_status(kind, obj, names):
    for given in (names, names[::-1]):
        assert of_negatives(problems_of_status(kind, obj, dict.fromkeys(given, -1))) == names


def test_negative_numbers_of_a_probe():
    names = ["initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"]
    for given in (names, names[::-1]):
        probe = {"tcpSocket": {"port": 1}, **dict.fromkeys(given, -1)}
        pod = merged(POD, {"spec": {"containers": [{"name": "c", "image": "i", "readinessProbe": probe}]}})
        assert of_negatives(problems("Pod", pod)) == names
