"""The controller of Jobs when its writes fail, when its cache is stale, and what its Events say."""

import pytest

from fakekube.controllers.workload.podstate import condition
from tests.controllers.batchwork import condition_types, end, job, job_status, running
from tests.controllers.workloads import events_about, pods, set_ready

pytestmark = pytest.mark.fakekube(controllers=["job"], rbac=True)

TRACKING = "batch.kubernetes.io/job-tracking"


def started(fakekube, **spec):
    fakekube.create(job(**spec))
    fakekube.settle()


def counts(fakekube):
    found = job_status(fakekube)
    return [found.get(name) for name in ("active", "ready", "terminating", "succeeded", "failed")]


def test_the_counts_of_a_job_that_runs(fakekube):
    started(fakekube, completions=3, parallelism=3, backoffLimit=5)
    assert counts(fakekube) == [3, 0, 0, None, None]
    one, other, third = pods(fakekube)
    set_ready(fakekube, one)
    end(fakekube, other)
    fakekube.patch("v1", "Pod", third["metadata"]["name"], {"metadata": {"finalizers": [TRACKING, "example.com/hold"]}})
    fakekube.delete("v1", "Pod", third["metadata"]["name"])
    fakekube.advance("2s")
    found = counts(fakekube)
    assert found[1:4] == [1, 1, 1]
    assert job_status(fakekube)["uncountedTerminatedPods"] == {}


def test_a_status_that_cannot_be_written_keeps_the_finalizers(fakekube):
    """A pod is counted exactly once: the finalizer goes after the status lists the pod."""
    started(fakekube)
    rule = fakekube.fault(verb="update", resource="jobs", subresource="status", error=500)
    end(fakekube, pods(fakekube)[0])
    fakekube.advance("3s")
    assert pods(fakekube)[0]["metadata"]["finalizers"] == [TRACKING]
    assert condition_types(fakekube) == []
    rule.disarm()
    fakekube.advance("2m")
    assert counts(fakekube) == [None, 0, 0, 1, None]
    assert condition_types(fakekube) == ["SuccessCriteriaMet", "Complete"]
    assert events_about(fakekube, "Job")[1:] == [("Normal", "Completed", "Job completed")]


@pytest.mark.parametrize(("code", "count"), [(0, "succeeded"), (1, "failed")])
@pytest.mark.parametrize("error", [409, 500])
def test_a_pod_whose_finalizer_cannot_be_removed_is_listed_as_uncounted(fakekube, code, count, error):
    started(fakekube, backoffLimit=0, completions=2, parallelism=2)
    rule = fakekube.fault(verb="patch", resource="pods", error=error)
    first = pods(fakekube)[0]
    end(fakekube, first, code)
    fakekube.advance("3s")
    found = job_status(fakekube)
    assert first["metadata"]["uid"] in found["uncountedTerminatedPods"][count]
    assert count not in found
    assert "Complete" not in condition_types(fakekube)
    assert "Failed" not in condition_types(fakekube)
    rule.disarm()
    for pod in running(fakekube):
        end(fakekube, pod)
    fakekube.advance("3m")
    found = job_status(fakekube)
    assert (found["uncountedTerminatedPods"], found[count]) == ({}, 2 if code == 0 else found["failed"])
    assert condition_types(fakekube)[-1] == ("Failed" if code else "Complete")


def test_a_pod_that_is_gone_before_its_finalizer_is_counted(fakekube):
    started(fakekube)
    (pod,) = pods(fakekube)
    name = pod["metadata"]["name"]

    def remove():
        fakekube.patch("v1", "Pod", name, {"metadata": {"finalizers": None}})
        fakekube.delete("v1", "Pod", name, gracePeriodSeconds=0)

    fakekube.fault(verb="patch", resource="pods", times=1, before=remove)
    end(fakekube, pod)
    fakekube.advance("3s")
    assert not fakekube.exists("v1", "Pod", name)
    assert counts(fakekube)[3] == 1
    assert condition_types(fakekube) == ["SuccessCriteriaMet", "Complete"]


def test_creations_that_fail_are_events_and_are_tried_again(fakekube):
    fakekube.fault(verb="create", resource="pods", error=500, times=2)
    started(fakekube, completions=2, parallelism=2)
    fakekube.advance("1m")
    assert counts(fakekube)[0] == 2
    assert len(pods(fakekube)) == 2
    kinds = [event[:2] for event in events_about(fakekube, "Job")]
    assert ("Warning", "FailedCreate") in kinds
    assert ("Normal", "SuccessfulCreate") in kinds


def test_a_failed_job_ends_when_its_pods_could_be_deleted(fakekube):
    started(fakekube, activeDeadlineSeconds=10, parallelism=2)
    rule = fakekube.fault(verb="delete", resource="pods", error=500)
    fakekube.advance("15s")
    assert "Failed" not in condition_types(fakekube)
    assert counts(fakekube)[0] == 2
    written = len(fakekube.requests(verb="update", resource="jobs"))
    tried = fakekube.controllers["job"].reconciles("default/j")
    fakekube.advance("30s")
    assert fakekube.controllers["job"].reconciles("default/j") > tried
    assert len(fakekube.requests(verb="update", resource="jobs")) == written  # nothing has changed
    rule.disarm()
    fakekube.advance("3m")
    assert condition_types(fakekube) == ["FailureTarget", "Failed"]
    text = "Job was active longer than specified deadline"
    assert events_about(fakekube, "Job")[-1] == ("Warning", "DeadlineExceeded", text)
    for kind in ("FailureTarget", "Failed"):
        found = condition(fakekube.get("batch/v1", "Job", "j"), kind)
        assert (found["reason"], found["message"]) == ("DeadlineExceeded", text)
    assert "completionTime" not in job_status(fakekube)


def test_a_completed_job_says_how(fakekube):
    started(fakekube)
    end(fakekube, pods(fakekube)[0])
    fakekube.advance("3s")
    found = fakekube.get("batch/v1", "Job", "j")
    for kind in ("SuccessCriteriaMet", "Complete"):
        one = condition(found, kind)
        text = "Reached expected number of succeeded pods"
        assert (one["status"], one["reason"], one["message"]) == ("True", "CompletionsReached", text)
    assert found["status"]["completionTime"] == condition(found, "Complete")["lastTransitionTime"]


def test_more_successes_than_completions_are_a_warning(fakekube):
    started(fakekube, completions=1, parallelism=1)
    meta = fakekube.get("batch/v1", "Job", "j")["metadata"]
    reference = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": meta["uid"], "controller": True}
    (pod,) = pods(fakekube)
    copied = {"labels": pod["metadata"]["labels"], "ownerReferences": [reference], "finalizers": [TRACKING]}
    more = {**pod, "metadata": {"name": "more", "namespace": "default", **copied}, "spec": pod["spec"]}
    fakekube.controllers["job"].suspend()
    fakekube.create({name: more[name] for name in ("apiVersion", "kind", "metadata", "spec")})
    for one in pods(fakekube):
        end(fakekube, one)
    fakekube.controllers["job"].resume()
    fakekube.advance("3s")
    assert counts(fakekube)[3] == 2
    text = "Too many succeeded pods running after completion count reached"
    assert events_about(fakekube, "Job")[1:] == [
        ("Warning", "TooManySucceededPods", text),
        ("Normal", "Completed", "Job completed"),
    ]


def test_a_suspension_is_a_condition_and_an_event_each_time_it_changes(fakekube):
    started(fakekube, suspend=True)

    def suspended():
        found = condition(fakekube.get("batch/v1", "Job", "j"), "Suspended")
        return (found["status"], found["reason"], found["message"])

    assert suspended() == ("True", "JobSuspended", "Job suspended")
    assert "startTime" not in job_status(fakekube)
    for wanted, condition_is, event in (
        (False, ("False", "JobResumed", "Job resumed"), ("Normal", "Resumed", "Job resumed")),
        (True, ("True", "JobSuspended", "Job suspended"), ("Normal", "Suspended", "Job suspended")),
    ):
        fakekube.patch("batch/v1", "Job", "j", {"spec": {"suspend": wanted}})
        fakekube.advance("40s")
        assert suspended() == condition_is
        assert event in events_about(fakekube, "Job")
        assert ("startTime" in job_status(fakekube)) != wanted
    assert pods(fakekube) == []


def test_adopted_pods_get_the_finalizer_and_are_counted(fakekube):
    labels = {"app": "mine"}
    template = {"metadata": {"labels": labels}, "spec": job()["spec"]["template"]["spec"]}
    meta = {"name": "orphan", "namespace": "default", "labels": labels}
    fakekube.create({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": template["spec"]})
    started(fakekube, template=template, manualSelector=True, selector={"matchLabels": labels})
    (pod,) = pods(fakekube)
    assert (pod["metadata"]["name"], pod["metadata"]["finalizers"]) == ("orphan", [TRACKING])
    assert pod["metadata"]["ownerReferences"][0]["kind"] == "Job"
    assert counts(fakekube)[0] == 1
    end(fakekube, pod)
    fakekube.advance("3s")
    assert condition_types(fakekube)[-1] == "Complete"


@pytest.mark.parametrize(
    ("verb", "error", "counted"),
    [
        # the finalizer stays: the pod counts as ready
        ("patch", 500, [2, 2, 0]),
        # the pod is not deleted, but no longer counted as ready
        ("delete", 500, [2, 1, 0]),
        # it is gone
        ("delete", 404, [1, 1, 1]),
    ],
)
def test_the_counts_when_a_pod_too_many_cannot_be_deleted(fakekube, verb, error, counted):
    """`job_controller.go`: deleteJobPods."""
    started(fakekube, completions=None, parallelism=2)
    for pod in pods(fakekube):
        set_ready(fakekube, pod)
    fakekube.advance("5s")
    assert counts(fakekube)[:3] == [2, 2, 0]
    fakekube.fault(verb=verb, resource="pods", subresource="", error=error, times=1, unrealistic=error == 404)
    fakekube.patch("batch/v1", "Job", "j", {"spec": {"parallelism": 1}})
    fakekube.settle()
    assert [number or 0 for number in counts(fakekube)[:3]] == counted


def test_a_stale_cache_of_pods_creates_no_second_one(fakekube):
    fakekube.settle()
    fakekube.faults.disturb_watches(resource="pods", delay="20s")
    fakekube.faults.cut_watches()  # the next watch is late
    fakekube.advance("1m")
    started(fakekube, completions=2, parallelism=2)
    fakekube.patch("batch/v1", "Job", "j", {"metadata": {"labels": {"again": "1"}}})
    fakekube.advance("10s")
    assert len(pods(fakekube)) == 2
    fakekube.advance("1m")
    assert len(pods(fakekube)) == 2
    assert counts(fakekube)[0] == 2


def test_the_indexes_of_the_status(fakekube):
    started(
        fakekube, completionMode="Indexed", completions=4, parallelism=4, backoffLimitPerIndex=0, maxFailedIndexes=4
    )
    by_index = {
        pod["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"]: pod for pod in pods(fakekube)
    }
    for index, code in (("3", 0), ("0", 0), ("1", 1)):
        end(fakekube, by_index[index], code)
        fakekube.advance("2s")
    found = job_status(fakekube)
    assert (found["completedIndexes"], found["failedIndexes"]) == ("0,3", "1")
    assert counts(fakekube) == [1, 0, 0, 2, 1]
    end(fakekube, by_index["2"], 0)
    fakekube.advance("3s")
    found = job_status(fakekube)
    assert (found["completedIndexes"], found["failedIndexes"], counts(fakekube)) == ("0,2,3", "1", [None, 0, 0, 3, 1])
    assert events_about(fakekube, "Job")[-1] == ("Warning", "FailedIndexes", "Job has failed indexes")


@pytest.mark.fakekube(controllers=["job"])
def test_a_job_whose_pod_gets_another_controller_creates_another_one(fakekube):
    for name in ("a", "b"):
        fakekube.create(job(name))
    fakekube.settle()

    def controlled(name):
        return [
            one
            for one in pods(fakekube)
            if [own["name"] for own in one["metadata"].get("ownerReferences", ())] == [name]
        ]

    (lost,), (other,) = controlled("a"), controlled("b")
    owners = {"ownerReferences": other["metadata"]["ownerReferences"]}
    fakekube.patch("v1", "Pod", lost["metadata"]["name"], {"metadata": owners})
    fakekube.advance("1s")
    (made,) = controlled("a")
    assert made["metadata"]["name"] != lost["metadata"]["name"]
