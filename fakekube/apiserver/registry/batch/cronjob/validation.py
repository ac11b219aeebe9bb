"""CronJobs (`ValidateCronJobCreate`, `ValidateCronJobUpdate`)."""

from __future__ import annotations

import re

from fakekube.apiserver.registry.batch.cronjob import schedule
from fakekube.apiserver.registry.batch.job.validation import validate_job_spec
from fakekube.apiserver.registry.core.pod.validation.podoptions import TEMPLATE, PodOptions
from fakekube.apiserver.registry.core.podtemplate.validation import ratcheted
from fakekube.apiserver.registry.generic.validation.field import Field

CONCURRENCY = ("Allow", "Forbid", "Replace")

LONGEST_NAME = 52
"""A Job's name is the CronJob's and eleven more characters."""


_zone_part = re.compile(r"[A-Za-z.\-_0-9+]{1,14}")


def validate(cron_job: Field) -> None:
    _validate_spec(cron_job["spec"], None, TEMPLATE)
    name = cron_job["metadata"]["name"]
    if len(name.text.encode()) > LONGEST_NAME:
        name.invalid(f"must be no more than {LONGEST_NAME} characters")


def validate_update(new: Field, old: Field) -> None:
    before = old["spec"]
    stored = before["jobTemplate"]["spec"].struct
    ratcheted(new, lambda obj, options: _validate_spec(obj["spec"], before, options), stored)


def _validate_spec(spec: Field, before: Field | None, options: PodOptions) -> None:
    zone, job = spec.get("timeZone"), spec["jobTemplate"]["spec"]
    _validate_schedule(spec, before)
    spec["startingDeadlineSeconds"].non_negative()
    if before is None or before["timeZone"].value != zone.value:
        _validate_zone(zone)
    spec["concurrencyPolicy"].required().one_of(CONCURRENCY)
    validate_job_spec(job, options)
    job.get("selector").invalid_struct("LabelSelector", "`selector` will be auto-generated")
    job["manualSelector"].optional().not_supported(("nil", "false"))
    spec.non_negative_members("successfulJobsHistoryLimit", "failedJobsHistoryLimit")


def _validate_schedule(spec: Field, before: Field | None) -> None:
    """A time zone in the schedule itself stays valid if the stored one has one."""
    field = spec["schedule"].required()
    field.invalid_if(schedule.problem_of(field.text))
    if "TZ" not in field.text:
        return
    if before is None or "TZ" not in before["schedule"].text:
        field.invalid("cannot use TZ or CRON_TZ in schedule, use timeZone field instead")
    elif spec["timeZone"].value is not None:
        field.invalid("cannot use both timeZone field and TZ or CRON_TZ in schedule")


def _validate_zone(zone: Field) -> None:
    if not zone:
        zone.invalid("timeZone must be nil or non-empty string")
        return
    for part in zone.text.split("/"):
        if part in (".", "..") or part.startswith("-") or not _zone_part.fullmatch(part):
            zone.invalid(f"unknown time zone {zone.text}")
            return
    if zone.text.lower() == "local":
        zone.invalid("timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones")
    zone.invalid_if(schedule.zone_problem(zone.text))
