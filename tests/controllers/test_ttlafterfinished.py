"""The controller of Jobs that are deleted some time after their end."""

from datetime import datetime, timedelta

import pytest

from tests.controllers.batchwork import condition_types, end, job, job_status
from tests.controllers.workloads import pods

pytestmark = pytest.mark.fakekube(controllers=["job", "ttl-after-finished"], rbac=True)


def ended(fakekube, ttl):
    fakekube.create(job(ttlSecondsAfterFinished=ttl))
    fakekube.settle()
    end(fakekube, pods(fakekube)[0])
    fakekube.advance_until(lambda: "Complete" in condition_types(fakekube), "1m")
    return datetime.fromisoformat(job_status(fakekube)["conditions"][-1]["lastTransitionTime"])


def deletion(fakekube):
    meta = fakekube.get("batch/v1", "Job", "j")["metadata"]
    return meta.get("deletionTimestamp"), meta.get("finalizers")


def test_a_job_is_deleted_in_the_foreground_at_its_second(fakekube):
    end_time = ended(fakekube, 100)
    fakekube.advance_until(lambda: deletion(fakekube)[0], "1h")
    assert fakekube.clock.now() - end_time == timedelta(seconds=100)
    assert deletion(fakekube)[1] == ["foregroundDeletion"]
    users = {record.user for record in fakekube.requests(verb="delete", resource="jobs")}
    assert users == {"system:serviceaccount:kube-system:ttl-after-finished-controller"}


def test_a_ttl_of_0_deletes_at_once(fakekube):
    ended(fakekube, 0)
    fakekube.settle()
    assert deletion(fakekube)[0]


def test_a_longer_ttl_defers_the_deletion_and_none_cancels_it(fakekube):
    end_time = ended(fakekube, 100)
    fakekube.patch("batch/v1", "Job", "j", {"spec": {"ttlSecondsAfterFinished": 200}})
    fakekube.advance_to(end_time + timedelta(seconds=199))
    assert deletion(fakekube) == (None, None)
    fakekube.patch("batch/v1", "Job", "j", {"spec": {"ttlSecondsAfterFinished": None}})
    fakekube.advance(hours=24)
    assert deletion(fakekube) == (None, None)


@pytest.mark.slow
def test_a_job_that_runs_is_not_deleted(fakekube):
    fakekube.create(job(ttlSecondsAfterFinished=0))
    fakekube.advance(hours=24)
    assert deletion(fakekube) == (None, None)
    assert fakekube.requests(verb="delete", resource="jobs") == []
