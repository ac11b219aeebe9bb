"""The status of a Job: what may not be said of one (`ValidateJobStatusUpdate`).

Who writes it may be another controller than Kubernetes' own. Most rules look only at what a write changes, so that a
status that is wrong already can still be written.
"""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.registry.batch.job import indexes as completionindexes
from fakekube.apiserver.registry.generic.validation.content import Errors, check_nonnegative
from fakekube.apiserver.registry.generic.validation.gostructs import invalid_struct, without_value
from fakekube.apiserver.wire.status import field_duplicate, field_invalid, field_required

Object = dict[str, Any]

COMPLETE, FAILED, SUSPENDED = "Complete", "Failed", "Suspended"
FAILURE_TARGET, SUCCESS = "FailureTarget", "SuccessCriteriaMet"

CONDITIONS = "status.conditions"


def has_condition(status: Object, type: str) -> bool:
    return any(one.get("type") == type and one.get("status") == "True" for one in status.get("conditions") or ())


def _is_finished(status: Object) -> bool:
    return has_condition(status, COMPLETE) or has_condition(status, FAILED)


def validate_status_update(new: Object, old: Object) -> Errors:
    errors: Errors = []
    status, before = new.get("status") or {}, old.get("status") or {}
    spec: Object = new.get("spec") or {}
    _check_numbers(status, errors)
    _check_conditions(status, before, errors)
    _check_times(status, before, errors)
    _check_ends(status, before, errors)
    _check_finished(status, before, errors)
    _check_indexes(spec, status, before, errors)
    _check_running(status, before, errors)
    _check_success(spec, status, errors)
    _check_changes(spec, status, before, errors)
    return errors


def _changed(status: Object, before: Object, *fields: str) -> bool:
    return any(status.get(field) != before.get(field) for field in fields)


def _moved(status: Object, before: Object, *types: str) -> bool:
    return any(has_condition(status, type) != has_condition(before, type) for type in types)


def _check_numbers(status: Object, errors: Errors) -> None:
    for field in ("active", "succeeded", "failed", "ready", "terminating"):
        check_nonnegative(status.get(field), f"status.{field}", errors)
    uncounted: Object = status.get("uncountedTerminatedPods") or {}
    seen: set[str] = set()
    for kind in ("succeeded", "failed"):
        for i, uid in enumerate(uncounted.get(kind) or ()):
            path = f"status.uncountedTerminatedPods.{kind}[{i}]"
            if not uid:
                errors.append(field_invalid(path, uid, "must not be empty"))
            elif uid in seen:
                errors.append(field_duplicate(path, uid))
            seen.add(uid)


def _check_conditions(status: Object, before: Object, errors: Errors) -> None:
    if not has_condition(status, COMPLETE):
        return
    if _moved(status, before, COMPLETE, FAILED) and has_condition(status, FAILED):
        errors.append(without_value(CONDITIONS, "cannot set Complete=True and Failed=true conditions"))
    if _moved(status, before, COMPLETE, FAILURE_TARGET) and has_condition(status, FAILURE_TARGET):
        errors.append(without_value(CONDITIONS, "cannot set Complete=True and FailureTarget=true conditions"))


def _check_times(status: Object, before: Object, errors: Errors) -> None:
    path, start, end = "status.completionTime", status.get("startTime"), status.get("completionTime")
    complete = has_condition(status, COMPLETE)
    if _moved(status, before, COMPLETE) or _changed(status, before, "completionTime"):
        if end and not complete:
            why = "cannot set completionTime when there is no Complete=True condition"
            errors.append(field_invalid(path, end, why))
        if complete and not end:
            errors.append(field_required(path, "completionTime is required for Complete jobs"))
    if _changed(status, before, "startTime", "completionTime") and start and end and end < start:
        errors.append(field_invalid(path, end, "completionTime cannot be set before startTime"))


def _check_ends(status: Object, before: Object, errors: Errors) -> None:
    """Before a Job has failed, or is complete, it says that it will be."""
    for type, first in ((FAILED, FAILURE_TARGET), (COMPLETE, SUCCESS)):
        if _moved(status, before, type, first) and has_condition(status, type) and not has_condition(status, first):
            why = f"cannot set {type}=True condition without the {first}=true condition"
            errors.append(without_value(CONDITIONS, why))


def _check_finished(status: Object, before: Object, errors: Errors) -> None:
    if not _is_finished(status):
        return
    ended = not _is_finished(before)
    active = status.get("active") or 0
    if active > 0 and (ended or _changed(status, before, "active")):
        errors.append(field_invalid("status.active", active, "active>0 is invalid for finished job"))
    if not status.get("startTime") and (ended or _changed(status, before, "startTime")):
        errors.append(field_required("status.startTime", "startTime is required for finished job"))
    uncounted: Object = status.get("uncountedTerminatedPods") or {}
    if (uncounted.get("failed") or uncounted.get("succeeded")) and (
        ended or _changed(status, before, "uncountedTerminatedPods")
    ):
        why = "uncountedTerminatedPods needs to be empty for finished job"
        path = "status.uncountedTerminatedPods"
        errors.append(invalid_struct(path, "UncountedTerminatedPods", uncounted, why))


def _check_indexes(spec: Object, status: Object, before: Object, errors: Errors) -> None:
    completions, per_index = spec.get("completions"), spec.get("backoffLimitPerIndex")
    completed, failed = status.get("completedIndexes") or "", status.get("failedIndexes")
    new_completed = completed != (before.get("completedIndexes") or "")
    new_failed = failed != before.get("failedIndexes")
    if new_completed and completions is not None:
        _check_format("completedIndexes", completed, completions, errors)
    if new_failed and failed is not None and completions is not None and per_index is not None:
        _check_format("failedIndexes", failed, completions, errors)
    if new_completed and completed and spec.get("completionMode") != "Indexed":
        why = "cannot set non-empty completedIndexes when non-indexed completion mode"
        errors.append(field_invalid("status.completedIndexes", completed, why))
    if new_failed and failed is not None and per_index is None:
        why = "cannot set non-null failedIndexes when backoffLimitPerIndex is null"
        errors.append(field_invalid("status.failedIndexes", failed, why))
    if (new_completed or new_failed) and completions is not None and failed is not None:
        index = completionindexes.overlap(completed, failed, completions)
        if index is not None:
            why = f"failedIndexes and completedIndexes overlap at index: {index}"
            errors.append(field_invalid("status.failedIndexes", failed, why))


def _check_format(field: str, text: str, completions: int, errors: Errors) -> None:
    try:
        completionindexes.count_of(text, completions)
    except completionindexes.BadIndexes as problem:
        errors.append(field_invalid(f"status.{field}", text, f"error parsing {field}: {problem}"))


def _check_running(status: Object, before: Object, errors: Errors) -> None:
    finished, terminating = _is_finished(status), status.get("terminating") or 0
    moved = finished != _is_finished(before) or _changed(status, before, "terminating")
    if moved and finished and terminating > 0:
        errors.append(field_invalid("status.terminating", terminating, "terminating>0 is invalid for finished job"))
    ready = status.get("ready")
    if _changed(status, before, "ready", "active") and ready is not None and ready > (status.get("active") or 0):
        errors.append(field_invalid("status.ready", ready, "cannot set more ready pods than active"))


def _check_success(spec: Object, status: Object, errors: Errors) -> None:
    met = has_condition(status, SUCCESS)
    for type in (FAILED, FAILURE_TARGET):
        if met and has_condition(status, type):
            errors.append(without_value(CONDITIONS, f"cannot set {SUCCESS}=True and {type}=true conditions"))
    if spec.get("successPolicy") is not None and not met and has_condition(status, COMPLETE):
        why = "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True"
        errors.append(without_value(CONDITIONS, why))


def _check_changes(spec: Object, status: Object, before: Object, errors: Errors) -> None:
    """What only goes one way."""
    for type in (FAILED, COMPLETE, FAILURE_TARGET):
        if has_condition(before, type) and not has_condition(status, type):
            errors.append(without_value(CONDITIONS, f"cannot disable the terminal {type}=True condition"))
    elastic = spec.get("completionMode") == "Indexed" and spec.get("completions") == spec.get("parallelism")
    for field in ("failed",) if elastic else ("failed", "succeeded"):
        now = status.get(field) or 0
        if now < (before.get(field) or 0):
            errors.append(field_invalid(f"status.{field}", now, f"cannot decrease the {field} counter"))
    end = status.get("completionTime")
    if end and before.get("completionTime") not in (None, end):
        errors.append(field_invalid("status.completionTime", end, "completionTime cannot be mutated"))
    if before.get("startTime") and _changed(status, before, "startTime") and not spec.get("suspend"):
        errors.append(field_required("status.startTime", "startTime cannot be removed for unsuspended job"))
    met = has_condition(status, SUCCESS)
    if has_condition(before, SUCCESS) and not met:
        errors.append(without_value(CONDITIONS, "cannot disable the SuccessCriteriaMet=True condition"))
    if has_condition(before, COMPLETE) and not has_condition(before, SUCCESS) and met:
        why = "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions"
        errors.append(without_value(CONDITIONS, why))
