"""The controller of CronJobs when its writes fail, when its cache is stale, and what its Events say."""

from datetime import UTC, datetime

import pytest

from tests.controllers.batchwork import end, running
from tests.controllers.test_cronjob import cron_job, jobs, scheduled, status
from tests.controllers.workloads import distinct_events_about

pytestmark = pytest.mark.fakekube(controllers=["cronjob"], rbac=True)

with_jobs = pytest.mark.fakekube(controllers=["cronjob", "job"], rbac=True)

#: The minute of the first hour of a cluster, in the name of its Job.
FIRST = int(datetime(2026, 1, 1, 1, tzinfo=UTC).timestamp()) // 60


def active(fakekube):
    return [one["name"] for one in status(fakekube).get("active", ())]


def test_a_job_has_the_metadata_of_its_template_and_is_referred_to(fakekube):
    made = cron_job("0 * * * *", timeZone="Asia/Tokyo")
    made["spec"]["jobTemplate"]["metadata"] = {"labels": {"a": "1"}, "annotations": {"b": "2"}}
    stored = fakekube.create(made)
    fakekube.advance("61m")
    (job,) = jobs(fakekube)
    meta = job["metadata"]
    assert meta["labels"] == {"a": "1"}
    assert meta["annotations"] == {
        "b": "2",
        "batch.kubernetes.io/cronjob-scheduled-timestamp": "2026-01-01T10:00:00+09:00",
    }
    reference = {"apiVersion": "batch/v1", "kind": "CronJob", "name": "c", "uid": stored["metadata"]["uid"]}
    assert meta["ownerReferences"] == [{**reference, "controller": True, "blockOwnerDeletion": True}]
    names = ("namespace", "name", "uid", "resourceVersion")
    expected = {"apiVersion": "batch/v1", "kind": "Job", **{name: meta[name] for name in names}}
    assert status(fakekube) == {"active": [expected], "lastScheduleTime": "2026-01-01T01:00:00Z"}
    assert distinct_events_about(fakekube, "CronJob") == [("Normal", "SuccessfulCreate", f"Created job c-{FIRST}")]


def test_a_creation_that_fails_is_an_event_and_is_tried_again(fakekube):
    fakekube.create(cron_job())
    fakekube.fault(verb="create", resource="jobs", error=500, times=3)
    fakekube.advance(seconds=3601)
    assert active(fakekube) == [f"c-{FIRST}"]
    failed, made = distinct_events_about(fakekube, "CronJob")
    assert failed[:2] == ("Warning", "FailedCreate")
    assert failed[2].startswith("Error creating job: ")
    assert failed[2] != "Error creating job: "
    assert made == ("Normal", "SuccessfulCreate", f"Created job c-{FIRST}")
    assert len(fakekube.requests(verb="create", resource="jobs")) == 4
    assert status(fakekube)["lastScheduleTime"] == "2026-01-01T01:00:00Z"


def test_a_namespace_that_is_being_deleted_has_no_event_of_a_failed_creation(fakekube):
    meta = {"name": "ending"}
    fakekube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": meta})
    fakekube.create({**cron_job(), "metadata": {"name": "c", "namespace": "ending"}})
    fakekube.delete("v1", "Namespace", "ending", "")
    fakekube.advance("61m")
    assert fakekube.requests(verb="create", resource="jobs", code=403)
    assert distinct_events_about(fakekube, "CronJob") == []


@pytest.mark.parametrize("verb", ["create", "update"])
def test_a_job_whose_creation_was_not_noted_is_taken_as_its_own(fakekube, verb):
    """The answer of the creation, or the write of the status, is lost: the Job of that name is the CronJob's."""
    fakekube.create(cron_job())
    if verb == "create":
        fakekube.fault(verb="create", resource="jobs", error=500, committed=True, times=1)
    else:
        fakekube.fault(verb="update", resource="cronjobs", subresource="status", error=409, times=1)
    fakekube.advance("61m")
    assert active(fakekube) == [f"c-{FIRST}"]
    assert status(fakekube)["lastScheduleTime"] == "2026-01-01T01:00:00Z"
    forgotten = ("Warning", "UnexpectedJob", f"Saw a job that the controller did not create or forgot: c-{FIRST}")
    assert forgotten in distinct_events_about(fakekube, "CronJob")
    assert len(jobs(fakekube)) == 1


def test_a_status_that_the_cache_does_not_have_yet_is_read_from_the_server(fakekube):
    fakekube.create(cron_job())
    fakekube.settle()
    fakekube.faults.disturb_watches(resource="cronjobs", delay="30s")
    fakekube.faults.cut_watches()  # the next watch is late
    fakekube.advance("1m")
    fakekube.advance("61m")
    assert active(fakekube) == [f"c-{FIRST}"]
    assert [reason for _, reason, _ in distinct_events_about(fakekube, "CronJob")] == ["SuccessfulCreate"]


def test_a_job_is_missing_only_if_the_server_says_so(fakekube):
    fakekube.create(cron_job())
    fakekube.advance("61m")
    rule = fakekube.fault(verb="get", resource="jobs", error=500)
    fakekube.delete("batch/v1", "Job", f"c-{FIRST}", propagationPolicy="Background")
    fakekube.advance("1s")
    assert active(fakekube) == [f"c-{FIRST}"]
    rule.disarm()
    fakekube.advance("1m")
    assert active(fakekube) == []
    assert distinct_events_about(fakekube, "CronJob")[1:] == [
        ("Normal", "MissingJob", f"Active job went missing: c-{FIRST}")
    ]


def test_a_cron_job_that_is_being_deleted_starts_nothing(fakekube):
    made = cron_job()
    fakekube.create({**made, "metadata": {**made["metadata"], "finalizers": ["example.com/hold"]}})
    fakekube.settle()
    fakekube.delete("batch/v1", "CronJob", "c")
    fakekube.advance("3h")
    assert jobs(fakekube) == []


@with_jobs
@pytest.mark.parametrize(
    ("verb", "reason", "prefix"), [("get", "FailedGet", "Get job: "), ("delete", "FailedDelete", "Deleted job: ")]
)
def test_a_replacement_waits_until_the_former_job_is_deleted(fakekube, verb, reason, prefix):
    fakekube.create(cron_job(concurrencyPolicy="Replace"))
    fakekube.advance("61m")
    rule = fakekube.fault(verb=verb, resource="jobs", error=500)
    fakekube.advance("1h")
    assert scheduled(fakekube) == ["2026-01-01T01:00:00Z"]
    assert active(fakekube) == [f"c-{FIRST}"]
    (failed,) = distinct_events_about(fakekube, "CronJob")[1:]
    assert failed[:2] == ("Warning", reason)
    assert failed[2].startswith(prefix)
    assert failed[2] != prefix
    rule.disarm()
    fakekube.advance("20m")
    assert scheduled(fakekube) == ["2026-01-01T02:00:00Z"]
    assert active(fakekube) == [f"c-{FIRST + 60}"]
    assert distinct_events_about(fakekube, "CronJob")[2:] == [
        ("Normal", "SuccessfulDelete", f"Deleted job c-{FIRST}"),
        ("Normal", "SuccessfulCreate", f"Created job c-{FIRST + 60}"),
    ]


@with_jobs
@pytest.mark.parametrize(("code", "ended"), [(0, "Complete"), (1, "Failed")])
def test_a_history_that_cannot_be_deleted_stops_nothing(fakekube, code, ended):
    made = cron_job(successfulJobsHistoryLimit=0, failedJobsHistoryLimit=0)
    made["spec"]["jobTemplate"]["spec"] = {**made["spec"]["jobTemplate"]["spec"], "backoffLimit": 0}
    fakekube.create(made)
    fakekube.advance("61m")
    rule = fakekube.fault(verb="delete", resource="jobs", error=500)
    end(fakekube, running(fakekube)[0], code)
    fakekube.advance("10s")
    assert len(jobs(fakekube)) == 1
    completed = ("Normal", "SawCompletedJob", f"Saw completed job: c-{FIRST}, condition: {ended}")
    assert completed in distinct_events_about(fakekube, "CronJob")
    assert "FailedDelete" in [reason for _, reason, _ in distinct_events_about(fakekube, "CronJob")]
    assert "active" not in status(fakekube)
    assert ("lastSuccessfulTime" in status(fakekube)) == (ended == "Complete")
    rule.disarm()
    fakekube.advance("1h")
    assert scheduled(fakekube) == ["2026-01-01T02:00:00Z"]
    assert ("Normal", "SuccessfulDelete", f"Deleted job c-{FIRST}") in distinct_events_about(fakekube, "CronJob")


@pytest.mark.parametrize("owners", [[], [{"apiVersion": "batch/v1", "kind": "CronJob", "name": "other", "uid": "u"}]])
def test_a_job_that_another_controls_is_looked_for_and_stays_in_the_list_while_it_exists(fakekube, owners):
    fakekube.create(cron_job())
    fakekube.advance("61m")
    (name,) = active(fakekube)
    found = fakekube.get("batch/v1", "Job", name)
    references = [{**one, "controller": True} for one in owners]
    fakekube.update({**found, "metadata": {**found["metadata"], "ownerReferences": references}})
    fakekube.settle()
    assert [one.name for one in fakekube.requests(verb="get", resource="jobs", user_agent="*cronjob-controller")] == [
        name
    ]
    assert active(fakekube) == [name]
    fakekube.delete("batch/v1", "Job", name, propagationPolicy="Background")
    fakekube.advance("1h")
    assert name not in active(fakekube)


@with_jobs
def test_what_is_said_about_times_without_a_job(fakekube):
    fakekube.create(cron_job(concurrencyPolicy="Forbid", startingDeadlineSeconds=3605))
    fakekube.advance("121m")
    reason = "Not starting job because prior execution is running and concurrency policy is Forbid"
    assert distinct_events_about(fakekube, "CronJob")[1:] == [("Normal", "JobAlreadyActive", reason)]
    assert status(fakekube)["lastScheduleTime"] == "2026-01-01T01:00:00Z"
    end(fakekube, running(fakekube)[0])
    fakekube.advance("3s")
    assert scheduled(fakekube) == ["2026-01-01T01:00:00Z", "2026-01-01T02:00:00Z"]


@with_jobs
def test_the_last_success_is_that_of_the_job_that_succeeded_last(fakekube):
    """The older Job succeeds after the newer one; an earlier time never replaces a later one."""
    fakekube.create(cron_job("* * * * *", successfulJobsHistoryLimit=9))
    fakekube.advance("121s")
    older, newer = sorted(running(fakekube), key=lambda pod: pod["metadata"]["labels"]["job-name"])
    fakekube.patch("batch/v1", "CronJob", "c", {"spec": {"suspend": True}})
    for pod in (newer, older):
        end(fakekube, pod)
        fakekube.advance("5s")
    times = [job["status"]["completionTime"] for job in jobs(fakekube)]
    assert len(set(times)) == 2
    assert status(fakekube)["lastSuccessfulTime"] == max(times)
    assert "active" not in status(fakekube)
    written = len(fakekube.requests(verb="update", resource="cronjobs"))
    for number in range(3):
        fakekube.patch("batch/v1", "CronJob", "c", {"metadata": {"labels": {"again": f"{number}"}}})
        fakekube.advance("5s")
    assert len(fakekube.requests(verb="update", resource="cronjobs")) == written  # it was noted once
