"""Event of core/v1, the form in which all events are stored (`legacyValidateEvent`)."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver import names
from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.selectablefields import string_at
from fakekube.apiserver.registry.generic.strategy import Fields, Strategy
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import Column, Printer, columns, get, name_of, wide
from fakekube.apiserver.registry.generic.validation.field import Field
from fakekube.apiserver.registry.generic.validation.rules import update_validator, validator

Object = dict[str, Any]


def _source(event: Object) -> str:
    return string_at("source", "component")(event) or string_at("reportingComponent")(event)


REFERENCE_FIELDS = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")


CORE_FIELDS: Fields = {
    **{f"involvedObject.{key}": string_at("involvedObject", key) for key in REFERENCE_FIELDS},
    "reason": string_at("reason"),
    "reportingComponent": string_at("reportingComponent"),
    "source": _source,
    "type": string_at("type"),
}


MISPLACED = "does not match event.namespace"

#: Field of an event with an eventTime -> its most characters; all but the message are required.
LIMITS = {"reportingInstance": 128, "action": 128, "reason": 128, "message": 1024}


def validate(event: Field, reporter: str = "reportingComponent") -> None:
    """Of a new event and of a changed one. `reporter`: the field of its reporter in the request."""
    namespace = event["metadata"]["namespace"].text
    _validate_place(event, namespace)
    if event["eventTime"]:
        _validate_reporter(event, event.at(reporter, event["reportingComponent"].value))
    event.at("namespace", namespace).dns_subdomain()


def _validate_place(event: Field, namespace: str) -> None:
    """An event is in the namespace of its object; events of objects without one are in `default`."""
    about, timed = event["involvedObject"]["namespace"], bool(event["eventTime"])
    if about:
        wrong = not timed and about.value != namespace
    else:
        wrong = namespace not in (("default", "kube-system") if timed else ("", "default"))
    if wrong:
        about.invalid(MISPLACED)


def _validate_reporter(event: Field, reporter: Field) -> None:
    reporter.required()
    reporter.qualified_name()
    for field, limit in LIMITS.items():
        if field != "message":
            event[field].required()
        if len(event[field].text.encode()) > limit:
            event[field].invalid(f"can have at most {limit} characters", "")


def _event_times(event: Object, ages: Ages) -> tuple[str, str, int]:
    """Returns when an event was first and last seen, and how often."""
    first = ages(event.get("firstTimestamp") or event.get("eventTime"))
    last = ages(event["lastTimestamp"]) if event.get("lastTimestamp") else first
    series = event.get("series")
    if series is not None:
        return first, ages(series.get("lastObservedTime")), series.get("count") or 0
    return first, last, event.get("count") or 1


def _event(obj: Object, ages: Ages) -> list[Any]:
    about = obj.get("involvedObject") or {}
    kind = (about.get("kind") or "").lower()
    component = get(obj, "source.component") or obj.get("reportingComponent") or ""
    host = get(obj, "source.host") or obj.get("reportingInstance") or ""
    first, last, count = _event_times(obj, ages)
    return [
        last,
        obj.get("type") or "",
        obj.get("reason") or "",
        f"{kind}/{about['name']}" if about.get("name") else kind,
        about.get("fieldPath") or "",
        f"{component}, {host}" if host else component,
        (obj.get("message") or "").strip(),
        first,
        count,
        name_of(obj),
    ]


PRINTER = Printer(
    columns("Last Seen", "Type", "Reason", "Object", wide("Subobject"), wide("Source"), "Message", wide("First Seen"),
            wide("Count"), Column("Name", format="name", priority=1)),
    _event,
)  # fmt: skip


KIND = Kind(
    "events",
    Strategy(
        qualified_finalizers=False,
        metadata_last=True,
        default_propagation="",
        watch_cached=False,
        name_check=names.path_segment_problems,
        create_on_update=True,
        fields=CORE_FIELDS,
        fields_message="label",
        repeats_metadata=False,
        validate=validator(validate),
        validate_update=update_validator(lambda new, old: validate(new)),
    ),
    printer=PRINTER,
)
