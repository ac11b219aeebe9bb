"""Table of Jobs."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.registry.core.podtemplate.table import SELECTED_COLUMNS, container_cells, count_at
from fakekube.apiserver.registry.generic.table.ages import Ages, between
from fakekube.apiserver.registry.generic.table.columns import (
    AGE,
    NAME,
    Printer,
    age_of,
    columns,
    get,
    is_terminating,
    name_of,
)
from fakekube.apiserver.registry.generic.table.labels import selector_cell

Object = dict[str, Any]

#: The state of a Job: that of the first of these conditions that is true; `Running` if none is.
_JOB_STATES = (("Complete", "Complete"), ("Failed", "Failed"), ("", "Terminating"), ("Suspended", "Suspended"),
               ("FailureTarget", "FailureTarget"), ("SuccessCriteriaMet", "SuccessCriteriaMet"))  # fmt: skip


def _job_state(job: Object) -> str:
    statuses: dict[str, str] = {}
    for condition in get(job, "status.conditions", ()):
        statuses.setdefault(condition.get("type", ""), condition.get("status", ""))
    statuses[""] = "True" if is_terminating(job) else "False"
    return next((state for type, state in _JOB_STATES if statuses.get(type) == "True"), "Running")


def _job_completions(job: Object) -> str:
    succeeded, wanted = count_at(job, "status.succeeded"), get(job, "spec.completions")
    if wanted is not None:
        return f"{succeeded}/{wanted}"
    parallelism = count_at(job, "spec.parallelism")
    return f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"


def _job_duration(job: Object, ages: Ages) -> str:
    start, end = get(job, "status.startTime"), get(job, "status.completionTime")
    if not start:
        return ""
    return between(start, end) if end else ages(start)


def _job(obj: Object, ages: Ages) -> list[Any]:
    return [
        name_of(obj),
        _job_state(obj),
        _job_completions(obj),
        _job_duration(obj, ages),
        age_of(obj, ages),
        *container_cells(obj, "spec.template"),
        selector_cell(get(obj, "spec.selector")),
    ]


PRINTER = Printer(columns(NAME, "Status", "Completions", "Duration", AGE, *SELECTED_COLUMNS), _job)
