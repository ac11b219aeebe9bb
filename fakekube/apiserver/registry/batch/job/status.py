"""The status of a Job (`ValidateJobStatusUpdate`). Controllers other than Kubernetes' own can write it. Most rules
apply only to what a write changes, so that a status with errors can still be written."""

from __future__ import annotations

from fakekube.apiserver.features import enabled, since
from fakekube.apiserver.registry.batch.job import indexes
from fakekube.apiserver.registry.generic.validation.field import Field

COMPLETE, FAILED, SUSPENDED = "Complete", "Failed", "Suspended"

FAILURE_TARGET, SUCCESS = "FailureTarget", "SuccessCriteriaMet"


def has_condition(status: Field, type: str) -> bool:
    return any(one["type"].value == type and one["status"].value == "True" for one in status["conditions"])


def _is_finished(status: Field) -> bool:
    return has_condition(status, COMPLETE) or has_condition(status, FAILED)


def validate_status_update(new: Field, old: Field) -> None:
    spec, status, before = new["spec"], new["status"], old["status"]
    _validate_numbers(status)
    if not enabled("JobManagedBy"):  # then no other controllers write it
        _validate_success(spec, status)
        _validate_success_kept(status, before)
        return
    _validate_conditions(status, before)
    _validate_times(status, before)
    _validate_ends(status, before)
    _validate_finished(status, before)
    _validate_indexes(spec, status, before)
    _validate_running(status, before)
    _validate_success(spec, status)
    _validate_changes(spec, status, before)


def _changed(status: Field, before: Field, *fields: str) -> bool:
    return any(status[field].value != before[field].value for field in fields)


def _moved(status: Field, before: Field, *types: str) -> bool:
    return any(has_condition(status, type) != has_condition(before, type) for type in types)


def _validate_numbers(status: Field) -> None:
    status.non_negative_members("active", "succeeded", "failed", "ready", "terminating")
    seen: set[str] = set()
    for kind in ("succeeded", "failed"):
        for uid in status["uncountedTerminatedPods"][kind]:
            if not uid:
                uid.invalid("must not be empty")
                seen.add("")
            else:
                uid.unique(seen)


def _validate_conditions(status: Field, before: Field) -> None:
    conditions = status["conditions"]
    for type, shown in ((FAILED, "Failed=true"), (FAILURE_TARGET, "FailureTarget=true")):
        both = has_condition(status, COMPLETE) and has_condition(status, type)
        if both and _moved(status, before, COMPLETE, type):
            conditions.invalid_omitted(f"cannot set Complete=True and {shown} conditions")


def _validate_times(status: Field, before: Field) -> None:
    start, end, complete = status["startTime"], status["completionTime"], has_condition(status, COMPLETE)
    if _moved(status, before, COMPLETE) or _changed(status, before, "completionTime"):
        if complete:
            end.required("completionTime is required for Complete jobs")
        else:
            end.optional().invalid("cannot set completionTime when there is no Complete=True condition")
    if _changed(status, before, "startTime", "completionTime") and start and end and end.value < start.value:
        end.invalid("completionTime cannot be set before startTime")


def _validate_ends(status: Field, before: Field) -> None:
    """A Job fails or completes only after a condition has announced it."""
    for type, first in ((FAILED, FAILURE_TARGET), (COMPLETE, SUCCESS)):
        if _moved(status, before, type, first) and has_condition(status, type) and not has_condition(status, first):
            status["conditions"].invalid_omitted(f"cannot set {type}=True condition without the {first}=true condition")


def _validate_finished(status: Field, before: Field) -> None:
    if not _is_finished(status):
        return
    ended = not _is_finished(before)
    active, uncounted = status["active"], status["uncountedTerminatedPods"]
    if active.number > 0 and (ended or _changed(status, before, "active")):
        active.invalid("active>0 is invalid for finished job")
    if ended or _changed(status, before, "startTime"):
        status["startTime"].required("startTime is required for finished job")
    if (uncounted["failed"] or uncounted["succeeded"]) and (ended or _changed(status, before, uncounted.key)):
        why = "uncountedTerminatedPods needs to be empty for finished job"
        uncounted.invalid_struct("UncountedTerminatedPods", why)


def _validate_indexes(spec: Field, status: Field, before: Field) -> None:
    completions, per_index = spec["completions"].value, spec["backoffLimitPerIndex"].value
    completed, failed = status["completedIndexes"], status["failedIndexes"]
    new_completed = completed.text != before["completedIndexes"].text
    new_failed = failed.value != before["failedIndexes"].value
    if new_completed and completions is not None:
        _validate_format(completed, completions)
    if new_failed and failed.value is not None and completions is not None and per_index is not None:
        _validate_format(failed, completions)
    if new_completed and completed and spec["completionMode"].value != "Indexed":
        completed.invalid("cannot set non-empty completedIndexes when non-indexed completion mode")
    if new_failed and failed.value is not None and per_index is None:
        failed.invalid("cannot set non-null failedIndexes when backoffLimitPerIndex is null")
    if (new_completed or new_failed) and completions is not None and failed.value is not None:
        index = indexes.overlap(completed.text, failed.text, completions)
        if index is not None:
            failed.invalid(f"failedIndexes and completedIndexes overlap at index: {index}")


def _validate_format(field: Field, completions: int) -> None:
    try:
        indexes.count_of(field.text, completions)
    except indexes.BadIndexes as problem:
        field.invalid(f"error parsing {field.key}: {problem}")


def _validate_running(status: Field, before: Field) -> None:
    finished, terminating, ready = _is_finished(status), status["terminating"], status.get("ready")
    moved = finished != _is_finished(before) or _changed(status, before, "terminating")
    if moved and finished and terminating.number > 0:
        terminating.invalid("terminating>0 is invalid for finished job")
    if _changed(status, before, "ready", "active") and ready.number > status["active"].number:
        ready.invalid("cannot set more ready pods than active")


def _validate_success(spec: Field, status: Field) -> None:
    conditions, met = status["conditions"], has_condition(status, SUCCESS)
    for type in (FAILED, FAILURE_TARGET):
        if met and has_condition(status, type):
            conditions.invalid_omitted(f"cannot set {SUCCESS}=True and {type}=true conditions")
    if spec["successPolicy"].value is not None and not met and has_condition(status, COMPLETE):
        conditions.invalid_omitted("cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True")


def _validate_changes(spec: Field, status: Field, before: Field) -> None:
    """Changes in one direction only."""
    conditions, end, start = status["conditions"], status["completionTime"], status["startTime"]
    for type in (FAILED, COMPLETE, FAILURE_TARGET):
        if has_condition(before, type) and not has_condition(status, type):
            conditions.invalid_omitted(f"cannot disable the terminal {type}=True condition")
    elastic = spec["completionMode"].value == "Indexed" and spec["completions"].value == spec["parallelism"].value
    for field in ("failed",) if elastic else ("failed", "succeeded"):
        if status[field].number < before[field].number:
            status[field].invalid(f"cannot decrease the {field} counter", status[field].number)
    if end and before["completionTime"].value not in (None, end.value):
        end.invalid("field is immutable" if since(36) else "completionTime cannot be mutated")
    if before["startTime"] and start.value != before["startTime"].value and not spec["suspend"]:
        if since(36):
            start.invalid_go("field is immutable for unsuspended job once set")
        else:
            start.missing("startTime cannot be removed for unsuspended job")
    _validate_success_kept(status, before)


def _validate_success_kept(status: Field, before: Field) -> None:
    conditions, met = status["conditions"], has_condition(status, SUCCESS)
    if has_condition(before, SUCCESS) and not met:
        conditions.invalid_omitted("cannot disable the SuccessCriteriaMet=True condition")
    if has_condition(before, COMPLETE) and not has_condition(before, SUCCESS) and met:
        conditions.invalid_omitted("cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions")
