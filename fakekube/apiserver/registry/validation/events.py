"""Events: loosely checked in core/v1, strictly in events.k8s.io/v1 (kubernetes `pkg/apis/core/validation/events.go`).

What is checked is the form of core/v1, whose names the errors carry.
"""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.registry.generic.validation import gostructs
from fakekube.apiserver.registry.generic.validation.content import (
    IMMUTABLE,
    Errors,
    check_qualified_name,
    dns_subdomain_problems,
)
from fakekube.apiserver.registry.generic.validation.metadata import check_again
from fakekube.apiserver.wire.status import FieldError, field_invalid, field_required

Object = dict[str, Any]

TYPES = ("Normal", "Warning")

#: Field of an event with an eventTime -> how it is called in errors, and its most characters; all but the note are
#: required.
LIMITED = (
    ("reportingInstance", "reportingInstance", 128),
    ("action", "action", 128),
    ("reason", "reason", 128),
    ("message", "message", 1024),
)

MISPLACED = "does not match event.namespace"
UNSET = "needs to be unset"


def validate_event(event: Object) -> list[FieldError]:
    """Of core/v1, new or changed (`legacyValidateEvent`)."""
    errors: Errors = []
    namespace = event["metadata"].get("namespace") or ""
    _check_place(event, namespace, errors)
    if event.get("eventTime"):
        _check_reporter(event, errors)
    errors += [field_invalid("namespace", namespace, problem) for problem in dns_subdomain_problems(namespace)]
    return errors


def validate_event_update(new: Object, old: Object) -> list[FieldError]:
    return validate_event(new)


def _check_place(event: Object, namespace: str, errors: Errors) -> None:
    """An event lies where what it is about lies; what has no namespace has its events in `default`."""
    about = (event.get("involvedObject") or {}).get("namespace") or ""
    if about:
        wrong = not event.get("eventTime") and about != namespace
    else:
        homes = ("default", "kube-system") if event.get("eventTime") else ("", "default")
        wrong = namespace not in homes
    if wrong:
        errors.append(field_invalid("involvedObject.namespace", about, MISPLACED))


def _check_reporter(event: Object, errors: Errors) -> None:
    reporter = event.get("reportingComponent") or ""
    if not reporter:
        errors.append(field_required("reportingController"))
    check_qualified_name(reporter, "reportingController", errors)
    for field, shown, limit in LIMITED:
        value = event.get(field) or ""
        if not value and field != "message":
            errors.append(field_required(shown))
        if len(value.encode()) > limit:
            errors.append(field_invalid(shown, "", f"can have at most {limit} characters"))


def validate_new_event(event: Object) -> list[FieldError]:
    """Of events.k8s.io/v1."""
    errors = validate_event(event)
    check_again(event, errors)
    _check_series(event, errors)
    if not event.get("eventTime"):
        errors.append(field_required("eventTime"))
    if event.get("type", "") not in TYPES:
        errors.append(field_invalid("type", "", f"has invalid value: {event.get('type', '')}"))
    source = event.get("source") or {}
    for field in ("firstTimestamp", "lastTimestamp", "count"):
        if event.get(field):
            errors.append(field_invalid(field, "", UNSET))
    if source.get("component") or source.get("host"):
        errors.append(field_invalid("source", "", UNSET))
    return errors


def _check_series(event: Object, errors: Errors) -> None:
    series = event.get("series")
    if series is None:
        return
    if (series.get("count") or 0) < 2:
        errors.append(field_invalid("series.count", "", "should be at least 2"))
    if not series.get("lastObservedTime"):
        errors.append(field_required("series.lastObservedTime"))


_REFERENCE = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
_GO_NAMES = {"uid": "UID", "apiVersion": "APIVersion"}

#: What an update through events.k8s.io/v1 leaves as it is, in the order of the errors: the field, how it is called in
#: errors, and the fields of the struct that it is.
KEPT: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("involvedObject", "involvedObject", _REFERENCE),
    ("reason", "reason", ()),
    ("message", "message", ()),
    ("source", "source", ("component", "host")),
    ("firstTimestamp", "firstTimestamp", ()),
    ("lastTimestamp", "lastTimestamp", ()),
    ("count", "count", ()),
    ("reason", "reason", ()),
    ("type", "type", ()),
    ("eventTime", "eventTime", ()),
    ("action", "action", ()),
    ("related", "related", _REFERENCE),
    ("reportingComponent", "reportingController", ()),
    ("reportingInstance", "reportingInstance", ()),
)

#: What shows of a field that is not set and is not text.
_UNSET_VALUES = {"firstTimestamp": None, "lastTimestamp": None, "eventTime": None, "count": 0}


def validate_changed_event(new: Object, old: Object) -> list[FieldError]:
    """Of events.k8s.io/v1: only the series changes."""
    errors = validate_event(new)
    if new.get("series") != old.get("series"):
        _check_series(new, errors)
    for field, shown, parts in KEPT:
        if (new.get(field) or None) == (old.get(field) or None):
            continue
        value = new.get(field)
        if parts:
            text = gostructs.marshal(_struct(value, parts))
            errors.append(FieldError(shown, "FieldValueInvalid", f"Invalid value: {text}: {IMMUTABLE}"))
        else:
            errors.append(field_invalid(shown, value or _UNSET_VALUES.get(field, ""), IMMUTABLE))
    return errors


def _struct(value: Object | None, parts: tuple[str, ...]) -> Object | None:
    if value is None:
        return None
    return {_GO_NAMES.get(part, part[0].upper() + part[1:]): value.get(part) or "" for part in parts}
