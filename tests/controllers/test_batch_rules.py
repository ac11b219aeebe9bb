"""Jobs and CronJobs under virtual time: parallelism, replacement, limits, suspension, concurrency, history."""

from datetime import timedelta

import pytest

from tests.controllers.batchwork import condition_types, end, job, job_status, running
from tests.controllers.test_cronjob import cron_job, events, jobs
from tests.controllers.test_cronjob import status as cron_status
from tests.controllers.workloads import pods

JOBS = pytest.mark.fakekube(controllers=["job"])
CRON = pytest.mark.fakekube(controllers=["cronjob", "job"])
INDEX = "batch.kubernetes.io/job-completion-index"


def begin(fakekube, **spec):
    fakekube.create(job(**spec))
    fakekube.settle()


def indexes(fakekube):
    return sorted(int(one["metadata"]["annotations"][INDEX]) for one in running(fakekube))


def end_index(fakekube, index, code=0):
    for one in running(fakekube):
        if one["metadata"]["annotations"][INDEX] == str(index):
            end(fakekube, one, code)
    fakekube.advance(2)


# --- how many pods


@JOBS
@pytest.mark.parametrize(
    ("completions", "parallelism", "after"),
    [(5, 2, [2, 2, 2, 2, 1, 0]), (2, 5, [2, 1, 0]), (1, 1, [1, 0]), (3, 0, [0])],
)
def test_no_more_pods_run_than_are_needed(fakekube, completions, parallelism, after):
    begin(fakekube, completions=completions, parallelism=parallelism)
    for number in after:
        assert len(running(fakekube)) == number
        if number:
            end(fakekube, running(fakekube)[0])
            fakekube.advance(2)
    assert condition_types(fakekube)[-1:] == (["Complete"] if parallelism else [])


@JOBS
def test_a_work_queue_creates_no_pods_after_the_first_success(fakekube):
    begin(fakekube, completions=None, parallelism=3)
    assert len(running(fakekube)) == 3
    end(fakekube, running(fakekube)[0])
    fakekube.advance(2)
    assert len(running(fakekube)) == 2
    end(fakekube, running(fakekube)[0], 1)
    fakekube.advance(30)
    assert len(running(fakekube)) == 1
    end(fakekube, running(fakekube)[0])
    fakekube.advance(2)
    assert condition_types(fakekube)[-1] == "Complete"


@JOBS
def test_parallelism_can_be_changed(fakekube):
    begin(fakekube, completions=10, parallelism=4)
    fakekube.patch("batch/v1", "Job", "j", {"spec": {"parallelism": 1}})
    fakekube.advance(2)
    assert (len(running(fakekube)), job_status(fakekube)["active"]) == (1, 1)
    assert "failed" not in job_status(fakekube)  # pods that are one too many do not count
    fakekube.patch("batch/v1", "Job", "j", {"spec": {"parallelism": 3}})
    fakekube.advance(2)
    assert len(running(fakekube)) == 3


@JOBS
def test_failed_pods_are_replaced_after_10_20_and_40_seconds(fakekube):
    begin(fakekube, backoffLimit=6)
    waits = []
    for _ in range(3):
        begun = fakekube.clock.now()
        end(fakekube, running(fakekube)[0], 1)
        fakekube.advance(1)
        fakekube.advance_until(lambda: running(fakekube), "5m")
        waits.append((fakekube.clock.now() - begun).total_seconds())
    assert waits == [10, 20, 40]
    end(fakekube, running(fakekube)[0])
    fakekube.advance(2)
    found = job_status(fakekube)
    assert (found["failed"], found["succeeded"], condition_types(fakekube)[-1]) == (3, 1, "Complete")


@JOBS
@pytest.mark.parametrize(("limit", "failures"), [(0, 1), (1, 2), (2, 3)])
def test_a_job_fails_after_one_failure_more_than_its_limit(fakekube, limit, failures):
    begin(fakekube, backoffLimit=limit, parallelism=1)
    count = 0
    while not condition_types(fakekube):
        end(fakekube, running(fakekube)[0], 1)
        count += 1
        fakekube.advance("2m")
    assert (count, condition_types(fakekube)) == (failures, ["FailureTarget", "Failed"])
    assert [event["message"] for event in fakekube.events(reason="BackoffLimitExceeded")] == [
        "Job has reached the specified backoff limit"
    ]


@JOBS
@pytest.mark.parametrize(("policy", "replaced"), [("TerminatingOrFailed", True), ("Failed", False)])
def test_when_a_pod_that_is_being_deleted_is_replaced(fakekube, policy, replaced):
    begin(fakekube, podReplacementPolicy=policy)
    (one,) = running(fakekube)
    fakekube.delete("v1", "Pod", one["metadata"]["name"])
    fakekube.advance(20)
    found = [each["metadata"]["name"] for each in pods(fakekube)]
    assert bool(found) is replaced
    if not replaced:
        assert job_status(fakekube)["terminating"] == 1
        end(fakekube, one, 1)
        fakekube.advance(20)
        assert len(pods(fakekube)) == 1


@JOBS
def test_a_suspended_job_has_no_pods_and_its_time_starts_again(fakekube):
    begin(fakekube, parallelism=2, completions=2, activeDeadlineSeconds=60, suspend=True)
    assert (pods(fakekube), "startTime" in job_status(fakekube)) == ([], False)
    fakekube.advance(100)
    fakekube.patch("batch/v1", "Job", "j", {"spec": {"suspend": False}})
    fakekube.advance(2)
    assert len(running(fakekube)) == 2
    fakekube.patch("batch/v1", "Job", "j", {"spec": {"suspend": True}})
    fakekube.advance(2)
    assert running(fakekube) == []
    assert "Suspended" in condition_types(fakekube)
    fakekube.patch("batch/v1", "Job", "j", {"spec": {"suspend": False}})
    fakekube.advance(50)
    assert condition_types(fakekube) == []
    fakekube.advance(15)
    assert condition_types(fakekube) == ["FailureTarget", "Failed"]
    found = {event["reason"]: event["count"] for event in fakekube.events() if event["involvedObject"]["name"] == "j"}
    assert (found["Suspended"], found["Resumed"]) == (2, 2)


@JOBS
def test_a_job_that_another_controller_manages_is_left_alone(fakekube):
    begin(fakekube, managedBy="example.com/other")
    fakekube.advance(10)
    assert (pods(fakekube), fakekube.get("batch/v1", "Job", "j").get("status") or {}) == ([], {})


# --- indexes

INDEXED = {"completionMode": "Indexed", "completions": 4, "parallelism": 2}


@JOBS
def test_the_first_indexes_without_a_pod_run_next(fakekube):
    begin(fakekube, **INDEXED)
    assert indexes(fakekube) == [0, 1]
    end_index(fakekube, 1)
    assert indexes(fakekube) == [0, 2]
    end_index(fakekube, 0, 1)
    fakekube.advance(10)
    assert indexes(fakekube) == [0, 2]
    for index in (0, 2, 3):
        end_index(fakekube, index)
    found = job_status(fakekube)
    assert (found["completedIndexes"], found["succeeded"], found["failed"]) == ("0-3", 4, 1)


@JOBS
def test_indexes_fail_by_themselves(fakekube):
    begin(fakekube, **INDEXED, backoffLimitPerIndex=1)
    end_index(fakekube, 0, 1)
    assert indexes(fakekube) == [1]  # the next index is 0 again, after its back-off
    fakekube.advance(10)
    fakekube.advance(10)
    while 0 not in indexes(fakekube):
        end_index(fakekube, indexes(fakekube)[0])
        fakekube.advance(10)
    (again,) = [one for one in running(fakekube) if one["metadata"]["annotations"][INDEX] == "0"]
    assert again["metadata"]["annotations"]["batch.kubernetes.io/job-index-failure-count"] == "1"
    end_index(fakekube, 0, 1)
    while running(fakekube):
        end_index(fakekube, indexes(fakekube)[0])
    fakekube.advance(10)
    found = job_status(fakekube)
    assert (found["failedIndexes"], found["completedIndexes"]) == ("0", "1-3")
    assert condition_types(fakekube) == ["FailureTarget", "Failed"]
    failed = next(one for one in found["conditions"] if one["type"] == "Failed")
    assert (failed["reason"], failed["message"]) == ("FailedIndexes", "Job has failed indexes")


@JOBS
def test_a_success_policy_ends_the_other_pods(fakekube):
    rules = [{"succeededIndexes": "1"}]
    begin(fakekube, **INDEXED, successPolicy={"rules": rules})
    end_index(fakekube, 1)
    fakekube.advance(5)
    assert running(fakekube) == []
    assert condition_types(fakekube) == ["SuccessCriteriaMet", "Complete"]
    assert job_status(fakekube)["completedIndexes"] == "1"


@JOBS
def test_a_rule_of_a_failure_policy_ends_a_job_at_once(fakekube):
    rules = [
        {"action": "Ignore", "onExitCodes": {"operator": "In", "values": [7]}},
        {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}},
    ]
    begin(fakekube, parallelism=2, completions=4, backoffLimit=0, podFailurePolicy={"rules": rules})
    end(fakekube, running(fakekube)[0], 7)
    fakekube.advance(30)
    assert len(running(fakekube)) == 2
    assert "failed" not in job_status(fakekube)
    name = running(fakekube)[0]["metadata"]["name"]
    end(fakekube, running(fakekube)[0], 42)
    fakekube.advance(5)
    assert running(fakekube) == []
    failed = next(one for one in job_status(fakekube)["conditions"] if one["type"] == "Failed")
    assert (failed["reason"], failed["message"]) == (
        "PodFailurePolicy",
        f"Container c for pod default/{name} failed with exit code 42 matching FailJob rule at index 1",
    )


@JOBS
def test_the_finalizers_of_the_pods_of_a_deleted_job_are_removed(fakekube):
    begin(fakekube, parallelism=2, completions=2)
    fakekube.delete("batch/v1", "Job", "j", propagationPolicy="Orphan")
    for one in pods(fakekube):
        fakekube.delete("v1", "Pod", one["metadata"]["name"], gracePeriodSeconds=0)
    fakekube.advance(5)
    assert fakekube.list("v1", "Pod") == []


@pytest.mark.fakekube(controllers=["job", "ttl-after-finished"])
def test_a_job_is_deleted_some_seconds_after_its_end(fakekube):
    begin(fakekube, ttlSecondsAfterFinished=30)
    fakekube.advance(60)
    end(fakekube, running(fakekube)[0])
    fakekube.advance_until(lambda: condition_types(fakekube)[-1:] == ["Complete"], "1m")
    ended = fakekube.clock.now()
    fakekube.advance(29)
    fakekube.patch("batch/v1", "Job", "j", {"spec": {"ttlSecondsAfterFinished": 60}})
    fakekube.advance(30)
    assert not fakekube.get("batch/v1", "Job", "j")["metadata"].get("deletionTimestamp")
    fakekube.advance(2)
    assert fakekube.clock.now() - ended == timedelta(seconds=61)
    assert (
        not fakekube.exists("batch/v1", "Job", "j")
        or fakekube.get("batch/v1", "Job", "j")["metadata"]["deletionTimestamp"]
    )


# --- CronJobs


def finish(fakekube, code=0):
    """End the pods that run, and wait until their Jobs have ended."""
    for one in running(fakekube):
        end(fakekube, one, code)
    fakekube.advance(3)


@CRON
@pytest.mark.parametrize(
    ("policy", "left", "reason"),
    [("Allow", 2, None), ("Forbid", 1, "JobAlreadyActive"), ("Replace", 1, "SuccessfulDelete")],
)
def test_jobs_that_run_at_the_next_time(fakekube, policy, left, reason):
    fakekube.create(cron_job("* * * * *", concurrencyPolicy=policy))
    fakekube.advance("61s")
    (first,) = jobs(fakekube)
    fakekube.advance("60s")
    assert len(cron_status(fakekube)["active"]) == left
    names = [one["metadata"]["name"] for one in jobs(fakekube) if not one["metadata"].get("deletionTimestamp")]
    assert (first["metadata"]["name"] in names) is (policy != "Replace")
    assert len(names) == left
    assert reason is None or reason in events(fakekube)


@CRON
def test_a_forbidden_time_is_made_up_for_when_the_job_has_ended(fakekube):
    fakekube.create(cron_job("* * * * *", concurrencyPolicy="Forbid"))
    fakekube.advance("150s")
    assert len(jobs(fakekube)) == 1
    finish(fakekube)
    assert [one["status"].get("succeeded") for one in jobs(fakekube)] == [1, None]
    assert cron_status(fakekube)["lastScheduleTime"] == "2026-01-01T00:02:00Z"
    assert "SawCompletedJob" in events(fakekube)


@CRON
def test_a_time_that_is_longer_ago_than_the_deadline_is_missed(fakekube):
    fakekube.create(cron_job("*/5 * * * *", startingDeadlineSeconds=20, suspend=True))
    fakekube.advance("319s")  # 19 s after 0:05
    fakekube.patch("batch/v1", "CronJob", "c", {"spec": {"suspend": False}})
    fakekube.advance("1s")
    assert len(jobs(fakekube)) == 1
    fakekube.patch("batch/v1", "CronJob", "c", {"spec": {"suspend": True}})
    fakekube.advance("301s")  # 21 s after 0:10
    fakekube.patch("batch/v1", "CronJob", "c", {"spec": {"suspend": False}})
    fakekube.advance("1s")
    assert len(jobs(fakekube)) == 1
    fakekube.advance("5m")
    assert len(jobs(fakekube)) == 2


@CRON
def test_ended_jobs_beyond_the_limits_are_deleted_the_oldest_first(fakekube):
    fakekube.create(cron_job("* * * * *", successfulJobsHistoryLimit=1, failedJobsHistoryLimit=2))
    patch = {"spec": {"jobTemplate": {"spec": {"backoffLimit": 0}}}}
    fakekube.patch("batch/v1", "CronJob", "c", patch)
    for code in (0, 1, 0, 1, 1, 0):
        fakekube.advance("57s")
        fakekube.advance_until(lambda: running(fakekube), "2m")
        finish(fakekube, code)
    fakekube.settle()
    ended = [[one["type"] for one in each["status"]["conditions"]][-1] for each in jobs(fakekube)]
    assert sorted(ended) == ["Complete", "Failed", "Failed"]
    minutes = sorted(int(one["metadata"]["name"].removeprefix("c-")) for one in jobs(fakekube))
    assert [one - minutes[-1] for one in minutes] == [-2, -1, 0]
    assert cron_status(fakekube)["lastSuccessfulTime"] > "2026-01-01T00:06:00Z"


@CRON
def test_a_job_that_goes_missing_is_no_longer_active(fakekube):
    fakekube.create(cron_job("*/5 * * * *"))
    fakekube.advance("301s")
    (made,) = jobs(fakekube)
    fakekube.delete("batch/v1", "Job", made["metadata"]["name"], propagationPolicy="Background")
    fakekube.advance("2s")
    assert "active" not in cron_status(fakekube)
    assert "MissingJob" in events(fakekube)
    assert len(jobs(fakekube)) == 0  # its time is not run again


@CRON
def test_a_schedule_that_changes_counts_from_its_next_time(fakekube):
    fakekube.create(cron_job("0 12 * * *"))
    fakekube.advance("90s")
    fakekube.patch("batch/v1", "CronJob", "c", {"spec": {"schedule": "*/5 * * * *"}})
    fakekube.advance("209s")
    assert jobs(fakekube) == []
    fakekube.advance("2s")
    assert len(jobs(fakekube)) == 1


@CRON
def test_a_job_of_that_name_that_exists_already_is_taken_if_it_is_ours(fakekube):
    fakekube.create(cron_job("*/5 * * * *"))
    minutes = int(fakekube.clock.now().timestamp()) // 60 + 5
    other = job(f"c-{minutes}")
    fakekube.create(other)
    fakekube.advance("310s")
    assert "active" not in cron_status(fakekube)
    assert len(jobs(fakekube)) == 1
    assert "FailedCreate" not in events(fakekube)


@CRON
@pytest.mark.parametrize(("minutes", "many"), [(100, False), (102, True)])
def test_more_than_a_hundred_missed_times_are_a_warning(fakekube, minutes, many):
    fakekube.create(cron_job("* * * * *", suspend=True))
    fakekube.advance(minutes=minutes, seconds=1)
    fakekube.patch("batch/v1", "CronJob", "c", {"spec": {"suspend": False}})
    fakekube.advance(1)
    assert ("TooManyMissedTimes" in events(fakekube)) is many
    assert len(jobs(fakekube)) == 1  # only the last one is made up for


@CRON
def test_the_jobs_of_another_cron_job_do_not_count(fakekube):
    made = cron_job("*/5 * * * *", concurrencyPolicy="Forbid")
    fakekube.create(made)
    fakekube.create({**made, "metadata": {"name": "other", "namespace": "default"}})
    fakekube.advance("301s")
    assert sorted(one["metadata"]["ownerReferences"][0]["name"] for one in jobs(fakekube)) == ["c", "other"]
    assert len(cron_status(fakekube)["active"]) == 1
    assert events(fakekube) == ["SuccessfulCreate", "SuccessfulCreate"]
    finish(fakekube)
    assert "active" not in cron_status(fakekube)
    assert "UnexpectedJob" not in events(fakekube)
