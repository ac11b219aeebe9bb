"""TODO"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Fields, Strategy
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import Column, Printer, columns, get, name_of, wide
from fakekube.apiserver.registry.generic.validation.content import Errors, check_qualified_name, dns_subdomain_problems
from fakekube.apiserver.wire.status import FieldError, field_invalid, field_required

Object = dict[str, Any]


def string_at(*path: str) -> Callable[[Object], str]:
    def read(event: Object) -> str:
        value: Any = event
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        return value if isinstance(value, str) else ""

    return read


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


#: Field of an event with an eventTime -> how it is called in errors, and its most characters; all but the note are
#: required.
LIMITED = (
    ("reportingInstance", "reportingInstance", 128),
    ("action", "action", 128),
    ("reason", "reason", 128),
    ("message", "message", 1024),
)


MISPLACED = "does not match event.namespace"


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


def _event_times(event: Object, ages: Ages) -> tuple[str, str, int]:
    """When an event was first and last seen, and how often."""
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
        create_on_update=True,
        fields=CORE_FIELDS,
        fields_message="label",
        repeats_metadata=False,
        validate=validate_event,
        validate_update=validate_event_update,
    ),
    printer=PRINTER,
)
