"""CronJob."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.registry.batch.cronjob import validation
from fakekube.apiserver.registry.batch.cronjob.table import PRINTER
from fakekube.apiserver.registry.batch.job.strategy import default_failure_policy
from fakekube.apiserver.registry.batch.job.warnings import job_spec_warnings
from fakekube.apiserver.registry.core.pod.defaults import default_template
from fakekube.apiserver.registry.core.pod.disabledfields import drop_disabled_in
from fakekube.apiserver.registry.core.pod.warnings import Warnings, host_name_warnings
from fakekube.apiserver.registry.core.podtemplate.warnings import POD_NAMES, where_changed
from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.validation.rules import update_validator, validator

Object = dict[str, Any]


def default_cron_job(obj: Object) -> None:
    spec = obj.setdefault("spec", {})
    spec.setdefault("concurrencyPolicy", "Allow")
    spec.setdefault("suspend", False)
    spec.setdefault("successfulJobsHistoryLimit", 3)
    spec.setdefault("failedJobsHistoryLimit", 1)
    job = (spec.get("jobTemplate") or {}).get("spec") or {}
    default_failure_policy(job)
    default_template(job.get("template"))


def _spec_warnings(obj: Object) -> Warnings:
    job = ((obj.get("spec") or {}).get("jobTemplate") or {}).get("spec") or {}
    return job_spec_warnings(job, "spec.jobTemplate.spec")


def cron_job_warnings(obj: Object) -> Warnings:
    return host_name_warnings(obj, POD_NAMES) + _spec_warnings(obj)


KIND = Kind(
    "cronjobs.batch",
    Strategy(
        status_repeats_metadata=False,
        generation=("spec",),
        default=default_cron_job,
        drop_disabled=drop_disabled_in("spec", "jobTemplate", "spec", "template", "spec"),
        validate=validator(validation.validate),
        warnings=cron_job_warnings,
        update_warnings=where_changed(_spec_warnings),
        validate_update=update_validator(validation.validate_update),
    ),
    printer=PRINTER,
)
