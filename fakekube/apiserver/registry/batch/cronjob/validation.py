"""TODO"""

from __future__ import annotations

import re
from typing import Any

from fakekube.apiserver.registry.batch.cronjob import schedule as cronschedule
from fakekube.apiserver.registry.batch.job.validation import check_spec
from fakekube.apiserver.registry.core.pod.validation.podoptions import TEMPLATE, PodOptions
from fakekube.apiserver.registry.core.podtemplate.validation import options_of
from fakekube.apiserver.registry.generic.validation import content
from fakekube.apiserver.registry.generic.validation.content import Errors, check_nonnegative
from fakekube.apiserver.registry.generic.validation.gostructs import invalid_selector
from fakekube.apiserver.wire.status import field_invalid, field_not_supported, field_required

Object = dict[str, Any]

CONCURRENCY = ("Allow", "Forbid", "Replace")


LONGEST_NAME = 52
"""A Job's name is the CronJob's and eleven more characters."""


def validate(obj: Object) -> Errors:
    errors: Errors = []
    _check(obj.get("spec") or {}, None, errors, TEMPLATE)
    name = obj["metadata"].get("name") or ""
    if len(name.encode()) > LONGEST_NAME:
        why = f"must be no more than {LONGEST_NAME} characters"
        errors.append(field_invalid("metadata.name", name, why))
    return errors


def validate_update(new: Object, old: Object) -> Errors:
    errors: Errors = []
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    _check(spec, before, errors, TEMPLATE)
    if errors:
        errors = []
        _check(spec, before, errors, options_of((before.get("jobTemplate") or {}).get("spec") or {}))
    return errors


def _check(spec: Object, before: Object | None, errors: Errors, options: PodOptions) -> None:
    _check_schedule(spec, before, errors)
    check_nonnegative(spec.get("startingDeadlineSeconds"), "spec.startingDeadlineSeconds", errors)
    zone = spec.get("timeZone")
    if zone is not None and (before is None or before.get("timeZone") != zone):
        _check_zone(zone, "spec.timeZone", errors)
    content.check_choice(spec.get("concurrencyPolicy"), CONCURRENCY, "spec.concurrencyPolicy", errors)
    _check_job(spec, "spec.jobTemplate.spec", errors, options)
    for field in ("successfulJobsHistoryLimit", "failedJobsHistoryLimit"):
        check_nonnegative(spec.get(field), f"spec.{field}", errors)


def _check_schedule(spec: Object, before: Object | None, errors: Errors) -> None:
    """A time zone in the schedule itself stays where there was one already."""
    schedule, path = spec.get("schedule") or "", "spec.schedule"
    if not schedule:
        errors.append(field_required(path))
        return
    problem = cronschedule.problem_of(schedule)
    if problem:
        errors.append(field_invalid(path, schedule, problem))
    if "TZ" not in schedule:
        return
    if "TZ" not in ((before or {}).get("schedule") or ""):
        why = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
        errors.append(field_invalid(path, schedule, why))
    elif spec.get("timeZone") is not None:
        errors.append(field_invalid(path, schedule, "cannot use both timeZone field and TZ or CRON_TZ in schedule"))


_zone_part = re.compile(r"[A-Za-z.\-_0-9+]{1,14}")


def _check_zone(zone: str, path: str, errors: Errors) -> None:
    if not zone:
        errors.append(field_invalid(path, zone, "timeZone must be nil or non-empty string"))
        return
    for part in zone.split("/"):
        if part in (".", "..") or part.startswith("-") or not _zone_part.fullmatch(part):
            errors.append(field_invalid(path, zone, f"unknown time zone {zone}"))
            return
    if zone.lower() == "local":
        why = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        errors.append(field_invalid(path, zone, why))
    problem = cronschedule.zone_problem(zone)
    if problem:
        errors.append(field_invalid(path, zone, problem))


def _check_job(spec: Object, path: str, errors: Errors, options: PodOptions) -> None:
    job: Object = (spec.get("jobTemplate") or {}).get("spec") or {}
    check_spec(job, path, errors, options)
    if job.get("selector") is not None:
        errors.append(invalid_selector(f"{path}.selector", job["selector"], "`selector` will be auto-generated"))
    if job.get("manualSelector"):
        errors.append(field_not_supported(f"{path}.manualSelector", True, ("nil", "false")))
