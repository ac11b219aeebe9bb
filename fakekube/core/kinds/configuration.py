"""Kinds that hold data or limits: ConfigMap, Secret, quotas, leases, events, service accounts."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

from fakekube.core.strategy import Fields, Strategy

Object = dict[str, Any]


def prepare_secret(obj: Object) -> Object:
    """stringData goes into data, encoded, and is not kept; the type is Opaque where none is given."""
    obj = _string_data(obj)
    return obj if obj.get("type") else {**obj, "type": "Opaque"}


def prepare_secret_update(new: Object, old: Object) -> Object:
    new = _string_data(new)
    return new if new.get("type") else {**new, "type": old.get("type", "Opaque")}


def _string_data(obj: Object) -> Object:
    text = obj.get("stringData")
    if "stringData" not in obj:
        return obj
    kept = {key: value for key, value in obj.items() if key != "stringData"}
    if text:
        encoded = {key: base64.b64encode(value.encode()).decode() for key, value in text.items()}
        kept["data"] = {**(kept.get("data") or {}), **encoded}
    return kept


def _at(*path: str) -> Callable[[Object], str]:
    def read(obj: Object) -> str:
        value: Any = obj
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        return value if isinstance(value, str) else ""

    return read


def _event_source(obj: Object) -> str:
    return _at("source", "component")(obj) or _at("reportingComponent")(obj)


EVENT_FIELDS: Fields = {
    **{
        f"involvedObject.{key}": _at("involvedObject", key)
        for key in ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
    },
    "reason": _at("reason"),
    "reportingComponent": _at("reportingComponent"),
    "source": _event_source,
    "type": _at("type"),
}


def default_claim(obj: Object) -> None:
    obj.setdefault("spec", {}).setdefault("volumeMode", "Filesystem")


EVENT = Strategy(create_on_update=True, fields=EVENT_FIELDS, fields_message="label")

STRATEGIES = {
    "secrets": Strategy(
        fields={"type": _at("type")},
        fields_message="label",
        prepare_create=prepare_secret,
        prepare_update=prepare_secret_update,
    ),
    "events": EVENT,
    "events.events.k8s.io": EVENT,
    "serviceaccounts": Strategy(returns_deleted=True),
    "resourcequotas": Strategy(returns_deleted=True),
    "limitranges": Strategy(create_on_update=True),
    "leases.coordination.k8s.io": Strategy(create_on_update=True, unconditional_update=False),
    "persistentvolumeclaims": Strategy(
        default=default_claim, returns_deleted=True, default_status={"phase": "Pending"}
    ),
}
