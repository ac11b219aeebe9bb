"""Event objects of both APIs (client-go: tools/record, tools/events, tools/reference)."""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from controllerlib.client.models import as_object
from controllerlib.client.names import Object

EVENT_TYPES = ("Normal", "Warning")
_REFERENCE = ("kind", "apiVersion", "name", "namespace", "uid", "resourceVersion", "fieldPath")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = re.compile(rf"{_LABEL}(\.{_LABEL})*")
_MICROSECOND = timedelta(microseconds=1)


def unix_nanos(moment: datetime) -> int:
    """Convert to nanoseconds since 1970."""
    return (moment - _EPOCH) // _MICROSECOND * 1000


def time_text(nanos: int) -> str:
    """Format a Time: RFC 3339 in whole seconds."""
    return _moment(nanos).strftime("%Y-%m-%dT%H:%M:%SZ")


def micro_time_text(nanos: int) -> str:
    """Format a MicroTime: RFC 3339 in microseconds."""
    return _moment(nanos).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _moment(nanos: int) -> datetime:
    return _EPOCH + nanos // 1000 * _MICROSECOND


def reference(obj: Any, field_path: str = "") -> Object:
    """Return the ObjectReference of an object; a reference is returned unchanged (tools/reference:
    GetPartialReference).

    ValueError if the object has no apiVersion or kind, TypeError if it is not an object.
    """
    found = obj if type(obj) is dict else as_object(obj)
    if "metadata" not in found and set(found) <= set(_REFERENCE) and found:
        return {**found, **({"fieldPath": field_path} if field_path else {})}
    if not found.get("kind") or not found.get("apiVersion"):
        raise ValueError("the object has no apiVersion or kind")
    meta = found.get("metadata") or {}
    fields = {
        **{name: found.get(name) for name in ("kind", "apiVersion")},
        **{name: meta.get(name) for name in ("name", "namespace", "uid", "resourceVersion")},
        "fieldPath": field_path,
    }
    return {name: value for name, value in fields.items() if value}


def event_name(about: str, nanos: int, fallback: Callable[[], str]) -> str:
    """Return `about.<nanos in hex>`, or the result of `fallback` if that is not a DNS subdomain (GenerateEventName)."""
    name = f"{about}.{nanos:x}"
    return name if len(name) <= 253 and _SUBDOMAIN.fullmatch(name) else fallback()


def core_event(
    about: Mapping[str, Any],
    event_type: str,
    reason: str,
    message: str,
    *,
    name: str,
    nanos: int,
    component: str,
    host: str = "",
    annotations: Mapping[str, str] | None = None,
) -> Object:
    """Return a new core/v1 Event with count 1, in the namespace of its object or in `default`."""
    now = time_text(nanos)
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": _meta(name, about, annotations),
        "involvedObject": dict(about),
        "reason": reason,
        "message": message,
        "source": {"component": component, **({"host": host} if host else {})},
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
        "type": event_type,
        "reportingComponent": component,
        "reportingInstance": host,
    }


def series_event(
    regarding: Mapping[str, Any],
    related: Mapping[str, Any] | None,
    event_type: str,
    reason: str,
    action: str,
    note: str,
    *,
    name: str,
    nanos: int,
    controller: str,
    instance: str,
    annotations: Mapping[str, str] | None = None,
) -> Object:
    """Return a new events.k8s.io/v1 Event without a series."""
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": _meta(name, regarding, annotations),
        "eventTime": micro_time_text(nanos),
        "reportingController": controller,
        "reportingInstance": instance,
        "action": action,
        "reason": reason,
        "regarding": dict(regarding),
        **({"related": dict(related)} if related else {}),
        "note": note,
        "type": event_type,
    }


def _meta(name: str, about: Mapping[str, Any], annotations: Mapping[str, str] | None) -> Object:
    return {
        "name": name,
        "namespace": about.get("namespace") or "default",
        **({"annotations": dict(annotations)} if annotations else {}),
    }
