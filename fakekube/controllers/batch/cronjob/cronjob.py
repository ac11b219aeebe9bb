"""The controller of CronJobs (`pkg/controller/cronjob/cronjob_controllerv2.go`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from controllerlib import ApiError, Request, Result
from controllerlib.controller import RequestQueue, controller_of
from controllerlib.workqueue import default_controller_rate_limiter
from fakekube.apiserver.registry.batch.cronjob.schedule import BadSchedule, Schedule, parse_schedule, zone_problem
from fakekube.apiserver.wire.goprint import go_quote
from fakekube.controllers.batch.cronjob.crontime import time_zone
from fakekube.controllers.batch.cronjob.missedtimes import MANY, NeverTwice, missed_times, until_next
from fakekube.controllers.batch.job.jobspec import finished_type
from fakekube.controllers.context import ControllerContext
from fakekube.controllers.objectevents import enqueue, object_events
from fakekube.controllers.workload.controllerref import controller_reference
from fakekube.controllers.workload.podcontrol import is_namespace_terminating
from fakekube.controllers.workload.podstate import moment, timestamp
from fakekube.struct import Struct

#: How many reconciles run at the same time (kube-controller-manager: --concurrent-cron-job-syncs).
WORKERS = 5

#: The name of the index of Jobs by their controller.
OWNER_INDEX = "controller-name"

#: The annotation of a Job with the time of the schedule for which it was created.
SCHEDULED = "batch.kubernetes.io/cronjob-scheduled-timestamp"

_UNSUPPORTED = (
    "CRON_TZ or TZ used in schedule %s is not officially supported, see "
    "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"
)

Object = Mapping[str, Any]

#: The Jobs of a CronJob, each with the condition by which it has ended ("": it has not).
Jobs = Sequence[tuple[Object, str]]


def add(context: ControllerContext) -> None:
    """Add the controller of CronJobs."""
    CronJobController(context).add()


class CronSync(Struct):
    """One reconcile. `status` is written if it has changed; `current` is where Jobs are looked up and added.

    They are the same, until the object at the server proves newer than that of the informer.
    """

    cron_job: Object
    status: dict[str, Any]
    current: dict[str, Any]
    changed: bool = False

    @property
    def active(self) -> Sequence[Object]:
        found: Sequence[Object] = self.current.get("active") or ()
        return found

    def active_uids(self) -> set[str]:
        return {one["uid"] for one in self.active if one.get("uid")}

    def deactivate(self, uid: str) -> None:
        left = [one for one in self.active if one.get("uid") != uid]
        if left:
            self.current["active"] = left
        else:
            self.current.pop("active", None)


class CronJobController:
    """Creates a Job at each time of the schedule, and deletes ended ones beyond the limits."""

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._client = context.client("cronjob-controller")
        self._recorder = context.recorder("cronjob-controller")
        context.index("batch/v1", "Job", OWNER_INDEX, _owner_key)
        self._cron_jobs, self._jobs = context.kind("batch/v1", "CronJob"), context.kind("batch/v1", "Job")

    def add(self) -> None:
        """Add the controller to the manager."""
        cron_jobs = object_events(created=enqueue, updated=self._updated, deleted=enqueue)
        jobs = object_events(created=self._enqueue_owner, updated=self._job_updated, deleted=self._enqueue_owner)
        builder = self._context.controller("cronjob-controller").with_options(
            max_concurrent_reconciles=WORKERS,
            use_priority_queue=False,
            rate_limiter=default_controller_rate_limiter,
        )
        builder.watches("batch/v1", "CronJob", cron_jobs).watches("batch/v1", "Job", jobs).complete(self.reconcile)

    # --- events

    def _updated(self, old: Object, new: Object, queue: RequestQueue) -> None:
        """Another schedule counts from its next time on, any other change at once."""
        request = Request.of(new)
        if all(old["spec"].get(name) == new["spec"].get(name) for name in ("schedule", "timeZone")):
            queue.add(request)
            return
        try:
            schedule = parse_schedule(_schedule_text(new))
        except BadSchedule:
            message = f"unparseable schedule for cronjob: {new['spec']['schedule']}"
            self._recorder.event(new, "Warning", "UnParseableCronJobSchedule", message)
            return
        queue.add_after(request, max(0.0, until_next(new, schedule, self._context.now())))

    def _job_updated(self, old: Object, new: Object, queue: RequestQueue) -> None:
        if old["metadata"].get("resourceVersion") == new["metadata"].get("resourceVersion"):  # a resync
            return
        if controller_of(old) != controller_of(new):
            self._enqueue_owner(old, queue)
        self._enqueue_owner(new, queue)

    def _enqueue_owner(self, job: Object, queue: RequestQueue) -> None:
        reference = controller_of(job)
        if reference is None or reference.get("kind") != "CronJob":
            return
        owner = self._cron_jobs.get(job["metadata"]["namespace"], reference["name"])
        if owner is not None and owner["metadata"]["uid"] == reference["uid"]:
            queue.add(Request.of(owner))

    # --- reconciling

    async def reconcile(self, request: Request) -> Result | None:
        cron_job = self._cron_jobs.get(request.namespace, request.name)
        if cron_job is None:
            return None
        jobs = [(job, finished_type(job)) for job in self._jobs.by_index(OWNER_INDEX, str(request))]
        status = dict(cron_job.get("status") or {})
        sync = CronSync(cron_job, status, status)
        await self._clean_up(sync, jobs)
        wait: float | None = None
        problem: Exception | None = None
        try:
            wait = await self._sync(sync, jobs)
        except ApiError as error:
            problem = error
        if sync.changed:
            await self._client.update_status({**cron_job, "status": status})
        if wait is not None:
            return Result(requeue_after=max(wait, 1e-6))
        if problem is not None:
            raise problem
        return None

    async def _sync(self, sync: CronSync, jobs: Jobs) -> float | None:
        """Update the active Jobs, and create one if it is time; returns the seconds until the next time."""
        now = self._context.now()
        await self._observe(sync, jobs)
        await self._drop_missing(sync, {job["metadata"]["uid"] for job, _ in jobs})
        cron_job = sync.cron_job
        if cron_job["metadata"].get("deletionTimestamp"):
            return None
        schedule = self._schedule(cron_job)
        if schedule is None:
            return None
        time = self._due(cron_job, sync.current, schedule, now)
        if isinstance(time, NeverTwice):
            return None
        if time is not None and self._may_start(sync, time, now):
            if cron_job["spec"].get("concurrencyPolicy") == "Replace":
                await self._replace(sync)
            if not await self._start(sync, time):
                return None
        return until_next({**cron_job, "status": sync.current}, schedule, now)

    async def _observe(self, sync: CronSync, jobs: Jobs) -> None:
        """Remove ended Jobs from the active ones. Raises ApiError."""
        active = sync.active_uids()
        for job, ended in jobs:
            meta = job["metadata"]
            found = meta["uid"] in active
            if not found and not ended:
                where = sync.cron_job["metadata"]
                fresh = await self._client.get("batch/v1", "CronJob", where["name"], where["namespace"])
                if any(one.get("uid") == meta["uid"] for one in (fresh.get("status") or {}).get("active") or ()):
                    sync.cron_job, sync.current = fresh, dict(fresh["status"])
                    active = sync.active_uids()
                    continue
                message = f"Saw a job that the controller did not create or forgot: {meta['name']}"
                self._recorder.event(sync.cron_job, "Warning", "UnexpectedJob", message)
            elif ended:
                if found:
                    sync.deactivate(meta["uid"])
                    message = f"Saw completed job: {meta['name']}, condition: {ended}"
                    self._recorder.event(sync.cron_job, "Normal", "SawCompletedJob", message)
                    sync.changed = True
                if ended == "Complete":
                    _note_success(sync, job)

    async def _drop_missing(self, sync: CronSync, known: set[str]) -> None:
        """Remove deleted Jobs from the active ones. Raises ApiError."""
        for one in sync.active:
            if one["uid"] in known:
                continue
            try:
                await self._client.get("batch/v1", "Job", one["name"], one["namespace"])
            except ApiError as error:
                if error.reason != "NotFound":
                    raise
                message = f"Active job went missing: {one['name']}"
                self._recorder.event(sync.cron_job, "Normal", "MissingJob", message)
                sync.deactivate(one["uid"])
                sync.changed = True

    # --- the schedule

    def _schedule(self, cron_job: Object) -> Schedule | None:
        """The schedule; None if the CronJob is suspended or its schedule is not valid."""
        spec = cron_job["spec"]
        zone = spec.get("timeZone")
        if zone is not None and (wrong := zone_problem(zone)):
            self._recorder.event(cron_job, "Warning", "UnknownTimeZone", f"invalid timeZone: {go_quote(zone)}: {wrong}")
            return None
        if spec.get("suspend"):
            return None
        if "TZ" in spec["schedule"]:
            text = _UNSUPPORTED % go_quote(spec["schedule"])
            self._recorder.event(cron_job, "Warning", "UnsupportedSchedule", text)
        try:
            return parse_schedule(_schedule_text(cron_job))
        except BadSchedule as error:
            text = f"unparseable schedule: {go_quote(spec['schedule'])} : {error}"
            self._recorder.event(cron_job, "Warning", "UnparseableSchedule", text)
            return None

    def _due(self, cron_job: Object, status: Object, schedule: Schedule, now: datetime) -> datetime | NeverTwice | None:
        """The last time of the schedule that has come and had no Job (nextScheduleTime)."""
        try:
            missed = missed_times({**cron_job, "status": status}, schedule, now, within_deadline=True)
        except NeverTwice as error:
            message = f"invalid schedule: {cron_job['spec']['schedule']} : {error}"
            self._recorder.event(cron_job, "Warning", "InvalidSchedule", message)
            return error
        if missed.latest is not None and missed.number > MANY:
            message = "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew"
            self._recorder.event(cron_job, "Warning", "TooManyMissedTimes", message)
        return missed.latest

    def _may_start(self, sync: CronSync, time: datetime, now: datetime) -> bool:
        """Whether a Job starts for a time: it is not too late, there is none yet, and no other one forbids it."""
        cron_job, spec = sync.cron_job, sync.cron_job["spec"]
        deadline = spec.get("startingDeadlineSeconds")
        if deadline is not None and (now - time).total_seconds() > deadline:
            message = f"Missed scheduled time to start a job: {time:%a, %d %b %Y %H:%M:%S} UTC"
            self._recorder.event(cron_job, "Warning", "MissSchedule", message)
            return False
        name, last = _job_name(cron_job, time), moment(sync.current.get("lastScheduleTime"))
        if last == time or any(one.get("name") == name for one in sync.active):
            return False
        if spec.get("concurrencyPolicy") == "Forbid" and sync.active:
            message = "Not starting job because prior execution is running and concurrency policy is Forbid"
            self._recorder.event(cron_job, "Normal", "JobAlreadyActive", message)
            return False
        return True

    # --- Jobs

    async def _replace(self, sync: CronSync) -> None:
        """Delete the active Jobs. Raises ApiError."""
        for one in tuple(sync.active):
            try:
                job = await self._client.get("batch/v1", "Job", one["name"], one["namespace"])
            except ApiError as error:
                self._recorder.event(sync.cron_job, "Warning", "FailedGet", f"Get job: {error.message}")
                raise
            problem = await self._delete(sync, job)
            if problem is not None:
                raise problem
            sync.changed = True

    async def _start(self, sync: CronSync, time: datetime) -> bool:
        """Create the Job of a time; returns whether it is one that this controller has to list. Raises ApiError."""
        cron_job = sync.cron_job
        wanted = _job(cron_job, time)
        try:
            job = await self._client.create(wanted)
        except ApiError as error:
            if error.reason != "AlreadyExists":
                if not is_namespace_terminating(error):
                    message = f"Error creating job: {error.message}"
                    self._recorder.event(cron_job, "Warning", "FailedCreate", message)
                raise
            meta = wanted["metadata"]
            job = await self._client.get("batch/v1", "Job", meta["name"], meta["namespace"])
            owner = controller_of(job)
            if owner is None or owner.get("uid") != cron_job["metadata"]["uid"]:
                return False
            if job["metadata"]["uid"] in sync.active_uids():
                return False
        else:
            self._recorder.event(cron_job, "Normal", "SuccessfulCreate", f"Created job {job['metadata']['name']}")
        sync.current["active"] = [*sync.active, _reference(job)]
        sync.current["lastScheduleTime"] = timestamp(time)
        sync.changed = True
        return True

    async def _delete(self, sync: CronSync, job: Object) -> Exception | None:
        """Delete a Job and remove it from the active ones; returns the error."""
        meta = job["metadata"]
        try:
            await self._client.delete("batch/v1", "Job", meta["name"], meta["namespace"], propagation="Background")
        except ApiError as error:
            self._recorder.event(sync.cron_job, "Warning", "FailedDelete", f"Deleted job: {error.message}")
            return error
        sync.deactivate(meta["uid"])
        self._recorder.event(sync.cron_job, "Normal", "SuccessfulDelete", f"Deleted job {meta['name']}")
        return None

    async def _clean_up(self, sync: CronSync, jobs: Jobs) -> None:
        """Delete the oldest ended Jobs beyond the limits."""
        spec = sync.cron_job["spec"]
        for ended, name in (("Complete", "successfulJobsHistoryLimit"), ("Failed", "failedJobsHistoryLimit")):
            if spec.get(name) is None:
                continue
            found = sorted((job for job, how in jobs if how == ended), key=_age)
            for job in found[: max(0, len(found) - spec[name])]:
                if await self._delete(sync, job) is None:
                    sync.changed = True


def _owner_key(job: Any) -> Sequence[str]:
    """Index function: the namespace and the name of the controller of a Job."""
    owner = controller_of(job)
    return (f"{job['metadata']['namespace']}/{owner.get('name')}",) if owner is not None else ()


def _schedule_text(cron_job: Object) -> str:
    """The schedule with the time zone of the spec, unless it has one of its own (formatSchedule)."""
    text, zone = str(cron_job["spec"]["schedule"]), cron_job["spec"].get("timeZone")
    if "TZ" in text or zone is None or zone_problem(zone):
        return text
    return f"TZ={zone} {text}"


def _job_name(cron_job: Object, time: datetime) -> str:
    """The name of the Job of a time: each time has one Job, however often it is tried."""
    return f"{cron_job['metadata']['name']}-{int(time.timestamp()) // 60}"


def _job(cron_job: Object, time: datetime) -> dict[str, Any]:
    """The Job of a time (getJobFromTemplate2)."""
    template, zone = cron_job["spec"]["jobTemplate"], cron_job["spec"].get("timeZone") or ""
    meta = template.get("metadata") or {}
    scheduled = time.astimezone(time_zone(zone)).isoformat(timespec="seconds").replace("+00:00", "Z")
    found: dict[str, Any] = {
        "name": _job_name(cron_job, time),
        "namespace": cron_job["metadata"]["namespace"],
        "annotations": {**(meta.get("annotations") or {}), SCHEDULED: scheduled},
        "creationTimestamp": timestamp(time),
        "ownerReferences": [controller_reference(cron_job, "batch/v1", "CronJob")],
    }
    if meta.get("labels"):
        found["labels"] = dict(meta["labels"])
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": found, "spec": template["spec"]}


def _reference(job: Object) -> Object:
    meta = job["metadata"]
    found = {name: meta[name] for name in ("namespace", "name", "uid", "resourceVersion")}
    return {"kind": "Job", "apiVersion": "batch/v1", **found}


def _note_success(sync: CronSync, job: Object) -> None:
    """Note when the last Job has succeeded."""
    completed = (job.get("status") or {}).get("completionTime")
    last = sync.current.get("lastSuccessfulTime")
    if last is None:
        sync.changed = True
    if completed is not None and (last is None or completed > last):
        sync.current["lastSuccessfulTime"] = completed
        sync.changed = True


def _age(job: Object) -> tuple[bool, str, str]:
    """Orders Jobs by their start, those that have not started last (byJobStartTime)."""
    start = (job.get("status") or {}).get("startTime") or ""
    return (not start, start, job["metadata"]["name"])
