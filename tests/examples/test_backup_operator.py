"""The operator of `backup_operator.py`, tested: how often, when and why it reconciles."""

from datetime import timedelta
from pathlib import Path

from controllerlib import ApiError, Result
from tests.examples.backup_operator import API, build

CRD = Path(__file__).parent / "crds" / "backup.yaml"
HOUR = 3600


def backup(name="nightly", every=HOUR):
    meta = {"name": name, "namespace": "default"}
    return {"apiVersion": API, "kind": "Backup", "metadata": meta, "spec": {"every": every, "target": "db"}}


def test_backs_up_every_hour(fakekube):
    fakekube.apply(CRD, backup())
    controller = fakekube.start(build)["backup"]
    assert len(fakekube.list("batch/v1", "Job")) == 1

    fakekube.advance(hours=24)

    assert len(fakekube.list("batch/v1", "Job")) == 25
    assert fakekube.get(API, "Backup", "nightly")["status"]["runs"] == 25
    assert controller.next_due("default/nightly") == timedelta(hours=1)
    assert controller.errors() == []


async def test_the_same_as_an_async_test(fakekube):
    fakekube.apply(CRD, backup(every=60))
    controller = (await fakekube.start(build))["backup"]
    await fakekube.advance(minutes=10)
    assert fakekube.get(API, "Backup", "nightly")["status"]["runs"] == 11
    assert "requeue_after" in controller.causes("default/nightly")


def test_writes_nothing_when_nothing_is_due(fakekube):
    fakekube.apply(CRD, backup(), backup("weekly", every=7 * 24 * HOUR))
    fakekube.start(build)
    fakekube.findings.assert_no_writes_at_rest()


def test_a_crash_between_two_writes_makes_no_second_job(fakekube):
    fakekube.apply(CRD, backup())
    with fakekube.fault(verb="update", resource="backups", error=500, times=1):
        controller = fakekube.start(build)["backup"]
        fakekube.advance(seconds=1)
    assert len(controller.errors()) == 1
    assert [job["metadata"]["name"] for job in fakekube.list("batch/v1", "Job")] == ["nightly-1"]
    assert fakekube.get(API, "Backup", "nightly")["status"]["runs"] == 1


# --- how often, exactly: by the sync period, by requeue_after, by retries --------------------------------------------


def quiet(manager):
    """Reconciles and does nothing."""

    async def reconcile(request):
        return None

    manager.controller("quiet").for_(API, "Backup").complete(reconcile)


def hourly(manager):
    async def reconcile(request):
        return Result(requeue_after=HOUR)

    manager.controller("hourly").for_(API, "Backup").complete(reconcile)


def test_a_resync_reconciles_everything_every_ten_hours(fakekube):
    fakekube.apply(CRD, backup("a"), backup("b"))
    controller = fakekube.start(quiet)["quiet"]
    fakekube.advance(hours=31)
    for key in ("default/a", "default/b"):
        assert controller.causes(key) == ["added", "resync", "resync", "resync"]
        assert controller.times(key) == [timedelta(hours=h) for h in (0, 10, 20, 30)]


def test_the_sync_period_can_be_chosen(fakekube):
    fakekube.apply(CRD, backup())
    controller = fakekube.start(quiet, sync_period=timedelta(minutes=30))["quiet"]
    fakekube.advance(hours=2)
    assert controller.reconciles("default/nightly") == 1 + 4


def test_requeue_after_an_hour_makes_24_more_reconciles_a_day(fakekube):
    fakekube.apply(CRD, backup())
    controller = fakekube.start(hourly, sync_period=timedelta(days=7))["hourly"]
    fakekube.advance(days=1)
    assert controller.causes("default/nightly") == ["added"] + ["requeue_after"] * 24
    assert controller.times("default/nightly")[-1] == timedelta(days=1)


def test_failures_back_off_from_five_milliseconds(fakekube):
    failures = iter(range(5))

    def build(manager):
        async def reconcile(request):
            if next(failures, None) is not None:
                raise RuntimeError("the database is down")

        manager.controller("flaky").for_(API, "Backup").complete(reconcile)

    fakekube.apply(CRD, backup())
    controller = fakekube.start(build)["flaky"]
    fakekube.advance(seconds=1)
    assert controller.causes() == ["added"] + ["retry"] * 5
    assert controller.results() == ["error"] * 5 + ["success"]
    assert controller.times() == [timedelta(milliseconds=ms) for ms in (0, 5, 15, 35, 75, 155)]
    assert controller.failures("default/nightly") == 0


def stamping(manager):
    """Notes on each object that it was seen."""

    async def reconcile(request, client):
        seen = await client.get(API, "Backup", request.name, namespace=request.namespace)
        if "seen" not in seen["metadata"].get("labels", {}):
            await client.update({**seen, "metadata": {**seen["metadata"], "labels": {"seen": "yes"}}})

    manager.controller("stamping").for_(API, "Backup").complete(reconcile)


def test_a_conflict_is_retried(fakekube):
    fakekube.apply(CRD, backup())
    with fakekube.fault(verb="update", resource="backups", error=409, times=1):
        controller = fakekube.start(stamping)["stamping"]
        fakekube.advance(seconds=1)
    assert controller.causes("default/nightly") == ["added", "retry", "updated"]
    assert controller.times("default/nightly") == [timedelta(milliseconds=ms) for ms in (0, 5, 5)]
    assert isinstance(controller.errors()[0], ApiError)
    assert [record.code for record in fakekube.requests(verb="update")] == [409, 200]
