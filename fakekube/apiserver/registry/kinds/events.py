"""Event: one kind in two groups, stored in the form of core/v1 (kubernetes `pkg/apis/events/v1/conversion.go`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fakekube.apiserver.registry.generic.strategy import Fields, Strategy
from fakekube.apiserver.registry.validation import events
from fakekube.apiserver.wire.status import FieldError

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
    return events.validate_new_event(to_core(event))


def _validate_changed(new: Object, old: Object) -> list[FieldError]:
    return events.validate_changed_event(to_core(new), to_core(old))


def _text(*path: str) -> Callable[[Object], str]:
    def read(event: Object) -> str:
        value: Any = event
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        return value if isinstance(value, str) else ""

    return read


def _source(event: Object) -> str:
    return _text("source", "component")(event) or _text("reportingComponent")(event)


_REFERENCE = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")

CORE_FIELDS: Fields = {
    **{f"involvedObject.{key}": _text("involvedObject", key) for key in _REFERENCE},
    "reason": _text("reason"),
    "reportingComponent": _text("reportingComponent"),
    "source": _source,
    "type": _text("type"),
}

NEW_FIELDS: Fields = {
    **{f"regarding.{key}": _text("involvedObject", key) for key in _REFERENCE},
    "reason": _text("reason"),
    "reportingController": _text("reportingComponent"),
    "type": _text("type"),
}

STRATEGIES = {
    "events": Strategy(
        create_on_update=True,
        fields=CORE_FIELDS,
        fields_message="label",
        repeats_metadata=False,
        validate=events.validate_event,
        validate_update=events.validate_event_update,
    ),
    "events.events.k8s.io": Strategy(
        create_on_update=True,
        fields=NEW_FIELDS,
        fields_message="label",
        validate=_validate_new,
        validate_update=_validate_changed,
        read=from_core,
        write=to_core,
        named_group="",
    ),
}
