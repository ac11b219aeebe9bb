"""Event of events.k8s.io/v1 (`ValidateEventCreate`, `ValidateEventUpdate`; conversion: `pkg/apis/events/v1`). What is
validated is the stored form of core/v1, whose names the errors carry."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver import names
from fakekube.apiserver.registry.core.event import PRINTER, REFERENCE_FIELDS, validate
from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.selectablefields import string_at
from fakekube.apiserver.registry.generic.strategy import Fields, Strategy
from fakekube.apiserver.registry.generic.validation.content import IMMUTABLE
from fakekube.apiserver.registry.generic.validation.field import Field
from fakekube.apiserver.registry.generic.validation.rules import update_validator, validator
from fakekube.apiserver.schema import objectmeta

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


#: The fields of each form that are shown even if they are not set.
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
    """Converts from the form of events.k8s.io/v1; an event in the stored form is returned as it is."""
    if "involvedObject" in event:
        return event
    found = {RENAMED.get(key, key): value for key, value in event.items()}
    if isinstance(series := found.get("series"), dict) and series.get("count") == 0:
        found["series"] = {key: value for key, value in series.items() if key != "count"}
    return {**_CORE_ALWAYS, **found}


def from_core(event: Object) -> Object:
    """Converts to the form of events.k8s.io/v1, which omits an empty reporter and has the count of a series always."""
    found = {_BACK.get(key, key): value for key, value in event.items()}
    for key in ("reportingController", "reportingInstance"):
        if not found.get(key):
            found.pop(key, None)
    if isinstance(series := found.get("series"), dict):
        found["series"] = {"count": 0, **series}
    return {**_NEW_ALWAYS, **found}


#: Selectors read the form of events.k8s.io/v1.
NEW_FIELDS: Fields = {
    **{f"regarding.{key}": string_at("regarding", key) for key in REFERENCE_FIELDS},
    "reason": string_at("reason"),
    "reportingController": string_at("reportingController"),
    "type": string_at("type"),
}


TYPES = ("Normal", "Warning")

UNSET = "needs to be unset"

_GO_NAMES = {"uid": "UID", "apiVersion": "APIVersion"}


#: The fields that an update through events.k8s.io/v1 cannot change, in the order of the errors: the field, its name in
#: errors, and the fields of its struct.
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


#: The value that an error shows of a field that is not set and is not text.
_UNSET_VALUES = {"firstTimestamp": None, "lastTimestamp": None, "eventTime": None, "count": 0}


def _validate_new(event: Field) -> None:
    validate(event, "reportingController")
    meta = event.value["metadata"]
    namespace, name_check = meta.get("namespace") or "", names.dns_subdomain_problems
    event.errors.extend(objectmeta.validate(meta, namespaced=True, namespace=namespace, name_check=name_check))
    event.errors.extend(objectmeta.undomained_finalizer_errors(meta.get("finalizers"), "metadata.finalizers"))
    _validate_series(event["series"])
    event["eventTime"].required()
    if event["type"].text not in TYPES:
        event["type"].invalid(f"has invalid value: {event['type'].text}", "")
    for field in ("firstTimestamp", "lastTimestamp", "count"):
        event[field].optional().invalid(UNSET, "")
    source = event["source"]
    if source["component"] or source["host"]:
        source.invalid(UNSET, "")


def _validate_series(series: Field) -> None:
    if series.value is None:
        return
    if series["count"].number < 2:
        series["count"].invalid("should be at least 2", "")
    series["lastObservedTime"].required()


def _validate_update(new: Field, old: Field) -> None:
    """Only the series changes."""
    event, stored = new.with_value(to_core(new.value)), old.with_value(to_core(old.value))
    validate(event, "reportingController")
    if event["series"].value != stored["series"].value:
        _validate_series(event["series"])
    for field, shown, parts in KEPT:
        value = event[field].value
        if (value or None) == (stored[field].value or None):
            continue
        if parts:
            event.at(shown, _go_struct(value, parts)).invalid_go(IMMUTABLE)
        else:
            event[shown].invalid(IMMUTABLE, value or _UNSET_VALUES.get(field, ""))


def _go_struct(value: Object | None, parts: tuple[str, ...]) -> Object | None:
    if value is None:
        return None
    return {_GO_NAMES.get(part, part[0].upper() + part[1:]): value.get(part) or "" for part in parts}


KIND = Kind(
    "events.events.k8s.io",
    Strategy(
        default_propagation="",
        watch_cached=False,
        metadata_last=True,
        create_on_update=True,
        fields=NEW_FIELDS,
        fields_message="label",
        validate=validator(lambda event: _validate_new(event.with_value(to_core(event.value)))),
        validate_update=update_validator(_validate_update),
        read=from_core,
        write=to_core,
        named_group="",
    ),
    printer=PRINTER,
)
