"""TODO"""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.registry.batch.cronjob.table import PRINTER
from fakekube.apiserver.registry.batch.cronjob.validation import validate, validate_update
from fakekube.apiserver.registry.batch.job.strategy import default_failure_policy
from fakekube.apiserver.registry.batch.job.warnings import _job_spec
from fakekube.apiserver.registry.core.pod.defaults import default_template
from fakekube.apiserver.registry.core.pod.warnings import Warnings, host_name_warnings
from fakekube.apiserver.registry.core.podtemplate.warnings import POD_NAMES, where_changed
from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy

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


def cron_job_spec(obj: Object) -> Warnings:
    job = ((obj.get("spec") or {}).get("jobTemplate") or {}).get("spec") or {}
    return _job_spec(job, "spec.jobTemplate.spec")


def of_cron_job(obj: Object) -> Warnings:
    return host_name_warnings(obj, POD_NAMES) + cron_job_spec(obj)


KIND = Kind(
    "cronjobs.batch",
    Strategy(
        generation=("spec",),
        default=default_cron_job,
        validate=validate,
        warnings=of_cron_job,
        update_warnings=where_changed(cron_job_spec),
        validate_update=validate_update,
    ),
    printer=PRINTER,
)
