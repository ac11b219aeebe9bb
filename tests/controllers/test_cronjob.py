"""The controller of CronJobs: schedules, missed times, concurrency, history."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.controllers.batchwork import TEMPLATE, end, running

pytestmark = pytest.mark.fakekube(controllers=["cronjob"], rbac=True)

with_jobs = pytest.mark.fakekube(controllers=["cronjob", "job"], rbac=True)


def cron_job(schedule="0 * * * *", **spec):
    meta = {"name": "c", "namespace": "default"}
    job = {"metadata": {"labels": {"app": "batch"}}, "spec": {"template": TEMPLATE}}
    found = {"schedule": schedule, "jobTemplate": job, **spec}
    return {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": meta, "spec": found}


def status(fakekube):
    return fakekube.get("batch/v1", "CronJob", "c")["status"]


def jobs(fakekube):
    return fakekube.list("batch/v1", "Job")


def events(fakekube):
    return [event["reason"] for event in fakekube.events() if event["involvedObject"]["kind"] == "CronJob"]


def test_a_job_is_created_a_tenth_of_a_second_after_its_time(fakekube):
    fakekube.create(cron_job("*/5 * * * *"))
    fakekube.advance("5m")
    assert jobs(fakekube) == []
    fakekube.advance("100ms")
    (job,) = jobs(fakekube)
    time = datetime(2026, 1, 1, 0, 5, tzinfo=UTC)
    assert job["metadata"]["name"] == f"c-{int(time.timestamp()) // 60}"
    assert job["metadata"]["labels"] == {"app": "batch"}
    assert job["metadata"]["annotations"] == {"batch.kubernetes.io/cronjob-scheduled-timestamp": "2026-01-01T00:05:00Z"}
    assert job["metadata"]["ownerReferences"][0]["kind"] == "CronJob"
    found = status(fakekube)
    assert found["lastScheduleTime"] == "2026-01-01T00:05:00Z"
    assert [one["name"] for one in found["active"]] == [job["metadata"]["name"]]
    assert events(fakekube) == ["SuccessfulCreate"]


@pytest.mark.slow
def test_a_year_of_a_weekly_schedule_in_a_time_zone(fakekube):
    fakekube.create(cron_job("30 2 * * sun", timeZone="Europe/Berlin", successfulJobsHistoryLimit=3))
    fakekube.advance(days=364)
    times = [datetime.fromisoformat(time) for time in scheduled(fakekube)]
    assert len(times) == 52  # Sundays, of which one has no 2:30 and one has two
    assert {time.strftime("%a %H:%M") for time in times} == {"Sun 02:30"}
    assert [time.date().isoformat() for time in times[11:13]] == ["2026-03-22", "2026-04-05"]
    assert times.count(datetime.fromisoformat("2026-10-25T02:30:00+02:00")) == 1
    assert times.count(datetime.fromisoformat("2026-10-25T02:30:00+01:00")) == 1
    assert {time.utcoffset() for time in times} == {timedelta(hours=1), timedelta(hours=2)}


def scheduled(fakekube):
    """The times of the schedule for which there are Jobs."""
    found = [
        job["metadata"]["annotations"]["batch.kubernetes.io/cronjob-scheduled-timestamp"] for job in jobs(fakekube)
    ]
    return sorted(found)


@pytest.mark.slow
@with_jobs
def test_a_year_of_weekly_jobs_that_succeed(fakekube):
    fakekube.create(cron_job("0 6 * * thu", successfulJobsHistoryLimit=2))
    for week in range(53):
        fakekube.advance_to(datetime(2026, 1, 1, 6, 1, tzinfo=UTC) + timedelta(weeks=week))
        (pod,) = running(fakekube)
        end(fakekube, pod)
        fakekube.delete("v1", "Pod", pod["metadata"]["name"])
    fakekube.advance("1m")
    assert len(jobs(fakekube)) == 2
    found = status(fakekube)
    assert "active" not in found
    assert found["lastSuccessfulTime"] == "2026-12-31T06:01:01Z"


def test_missed_times_have_one_job_for_the_last_one(fakekube):
    fakekube.create(cron_job("0 * * * *"))
    controller = fakekube.controllers["cronjob"]
    controller.suspend()
    fakekube.advance(hours=5, minutes=30)
    controller.resume()
    assert scheduled(fakekube) == ["2026-01-01T05:00:00Z"]


def test_more_than_100_missed_times_are_an_event(fakekube):
    fakekube.create(cron_job("0 * * * *"))
    controller = fakekube.controllers["cronjob"]
    controller.suspend()
    fakekube.advance(hours=101, minutes=30)
    controller.resume()
    assert events(fakekube) == ["TooManyMissedTimes", "SuccessfulCreate"]
    assert scheduled(fakekube) == ["2026-01-05T05:00:00Z"]


@pytest.mark.parametrize(("late", "created"), [(9, True), (11, False)])
def test_a_starting_deadline(fakekube, late, created):
    fakekube.create(cron_job("0 * * * *", startingDeadlineSeconds=10))
    controller = fakekube.controllers["cronjob"]
    controller.suspend()
    fakekube.advance(seconds=3600 + late)
    controller.resume()
    assert bool(jobs(fakekube)) == created
    fakekube.advance_to(datetime(2026, 1, 1, 2, 0, 1, tzinfo=UTC))
    assert scheduled(fakekube)[-1] == "2026-01-01T02:00:00Z"


def test_suspension(fakekube):
    fakekube.create(cron_job("0 * * * *", suspend=True))
    fakekube.advance(hours=3, minutes=10)
    assert jobs(fakekube) == []
    fakekube.patch("batch/v1", "CronJob", "c", {"spec": {"suspend": False}})
    fakekube.settle()
    assert scheduled(fakekube) == ["2026-01-01T03:00:00Z"]  # the time that was missed last


@with_jobs
@pytest.mark.parametrize(
    ("policy", "left", "reason"),
    [("Allow", 2, "SuccessfulCreate"), ("Forbid", 1, "JobAlreadyActive"), ("Replace", 1, "SuccessfulDelete")],
)
def test_concurrency_policies(fakekube, policy, left, reason):
    fakekube.create(cron_job("0 * * * *", concurrencyPolicy=policy))
    fakekube.advance(hours=2, minutes=1)
    assert len(jobs(fakekube)) == left
    assert len(status(fakekube)["active"]) == left
    assert reason in events(fakekube)
    expected = "2026-01-01T01:00:00Z" if policy == "Forbid" else "2026-01-01T02:00:00Z"
    assert status(fakekube)["lastScheduleTime"] == expected


@with_jobs
def test_a_forbidden_time_has_its_job_when_the_other_one_has_ended(fakekube):
    fakekube.create(cron_job("0 * * * *", concurrencyPolicy="Forbid"))
    fakekube.advance(hours=2, minutes=1)
    end(fakekube, running(fakekube)[0])
    fakekube.advance("2s")
    assert scheduled(fakekube) == ["2026-01-01T01:00:00Z", "2026-01-01T02:00:00Z"]
    assert "SawCompletedJob" in events(fakekube)


@with_jobs
def test_history_limits(fakekube):
    fakekube.create(cron_job("0 * * * *", successfulJobsHistoryLimit=1, failedJobsHistoryLimit=0))
    template = {"spec": {"jobTemplate": {"spec": {"backoffLimit": 0}}}}
    fakekube.patch("batch/v1", "CronJob", "c", template)
    for hour, code in enumerate((0, 1, 0, 0), 1):
        fakekube.advance_to(datetime(2026, 1, 1, hour, 1, tzinfo=UTC))
        end(fakekube, running(fakekube)[0], code)
        fakekube.advance("5s")
    assert scheduled(fakekube) == ["2026-01-01T04:00:00Z"]


def test_a_job_that_is_gone_is_no_longer_active(fakekube):
    fakekube.create(cron_job("0 * * * *"))
    fakekube.advance(hours=1, minutes=1)
    fakekube.delete("batch/v1", "Job", jobs(fakekube)[0]["metadata"]["name"], propagationPolicy="Background")
    fakekube.settle()
    assert "active" not in status(fakekube)
    assert "MissingJob" in events(fakekube)


def test_a_job_that_the_controller_did_not_create_is_an_event(fakekube):
    fakekube.create(cron_job("0 0 1 1 *"))
    owner = fakekube.get("batch/v1", "CronJob", "c")["metadata"]
    reference = {"apiVersion": "batch/v1", "kind": "CronJob", "name": "c", "uid": owner["uid"], "controller": True}
    meta = {"name": "manual", "namespace": "default", "ownerReferences": [reference]}
    fakekube.create({"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": {"template": TEMPLATE}})
    fakekube.settle()
    assert events(fakekube) == ["UnexpectedJob"]


def test_another_schedule_counts_from_its_next_time(fakekube):
    fakekube.create(cron_job("0 0 1 1 *"))
    fakekube.advance("10m")
    fakekube.patch("batch/v1", "CronJob", "c", {"spec": {"schedule": "*/30 * * * *"}})
    fakekube.advance_to(datetime(2026, 1, 1, 0, 30, 1, tzinfo=UTC))
    assert scheduled(fakekube) == ["2026-01-01T00:30:00Z"]


@pytest.mark.slow
def test_a_schedule_without_times_is_an_event_and_is_left_alone(fakekube):
    fakekube.create(cron_job("0 0 31 2 *"))
    fakekube.advance(days=400)
    assert events(fakekube) == ["InvalidSchedule"]
    assert jobs(fakekube) == []


def test_an_idle_cron_job_makes_no_requests(fakekube):
    fakekube.create(cron_job("0 0 1 1 *"))
    fakekube.create({**cron_job(suspend=True), "metadata": {"name": "s", "namespace": "default"}})
    fakekube.settle()
    before = len([record for record in fakekube.requests() if record.verb != "watch"])
    fakekube.advance(hours=24)
    assert len([record for record in fakekube.requests() if record.verb != "watch"]) == before
