"""TODO"""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.registry.core.event import PRINTER, REFERENCE_FIELDS, string_at, validate_event
from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Fields, Strategy
from fakekube.apiserver.registry.generic.validation import gostructs
from fakekube.apiserver.registry.generic.validation.content import IMMUTABLE, Errors
from fakekube.apiserver.registry.generic.validation.metadata import check_again
from fakekube.apiserver.wire.status import FieldError, field_invalid, field_required

Object = dict[str, Any]

#: Field of events.k8s.io/v1 -> the same of core/v1.
RENAMED = {
    "note": "message",
    "regarding": "involvedObject",
    "reportingController": "reportingComponent",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
}


_BACK = {core: new for new, core in RENAMED.items()}


#: What shows in each form even where it is not set.
_CORE_ALWAYS: Object = {
    "involvedObject": {},
    "source": {},
    "firstTimestamp": None,
    "lastTimestamp": None,
    "eventTime": None,
    "reportingComponent": "",
    "reportingInstance": "",
}


_NEW_ALWAYS: Object = {
    "regarding": {},
    "deprecatedSource": {},
    "deprecatedFirstTimestamp": None,
    "deprecatedLastTimestamp": None,
    "eventTime": None,
}


def to_core(event: Object) -> Object:
    """From the form of events.k8s.io/v1; one that is in the stored form already stays."""
    if "involvedObject" in event:
        return event
    return {**_CORE_ALWAYS, **{RENAMED.get(key, key): value for key, value in event.items()}}


def from_core(event: Object) -> Object:
    """In the form of events.k8s.io/v1, which leaves an empty reporter out."""
    found = {_BACK.get(key, key): value for key, value in event.items()}
    for key in ("reportingController", "reportingInstance"):
        if not found.get(key):
            found.pop(key, None)
    return {**_NEW_ALWAYS, **found}


def _validate_new(event: Object) -> list[FieldError]:
    return validate_new_event(to_core(event))


def _validate_changed(new: Object, old: Object) -> list[FieldError]:
    return validate_changed_event(to_core(new), to_core(old))


NEW_FIELDS: Fields = {
    **{f"regarding.{key}": string_at("involvedObject", key) for key in REFERENCE_FIELDS},
    "reason": string_at("reason"),
    "reportingController": string_at("reportingComponent"),
    "type": string_at("type"),
}


TYPES = ("Normal", "Warning")


UNSET = "needs to be unset"


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


REFERENCE_FIELDS = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")


_GO_NAMES = {"uid": "UID", "apiVersion": "APIVersion"}


#: What an update through events.k8s.io/v1 leaves as it is, in the order of the errors: the field, how it is called in
#: errors, and the fields of the struct that it is.
KEPT: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("involvedObject", "involvedObject", REFERENCE_FIELDS),
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
    ("related", "related", REFERENCE_FIELDS),
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


KIND = Kind(
    "events.events.k8s.io",
    Strategy(
        create_on_update=True,
        fields=NEW_FIELDS,
        fields_message="label",
        validate=_validate_new,
        validate_update=_validate_changed,
        read=from_core,
        write=to_core,
        named_group="",
    ),
    printer=PRINTER,
)
