"""Kinds that hold data or limits: ConfigMap, Secret, quotas, leases, events, service accounts."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

from fakekube.core.strategy import Strategy
from fakekube.core.validation.configmaps import (
    validate_configmap,
    validate_configmap_update,
    validate_secret,
    validate_secret_update,
)

Object = dict[str, Any]


def default_secret(obj: Object) -> None:
    """stringData goes into data, encoded, and is not kept; the type is Opaque where none is given."""
    text = obj.pop("stringData", None)
    if text:
        encoded = {key: base64.b64encode(value.encode()).decode() for key, value in text.items()}
        obj["data"] = {**(obj.get("data") or {}), **encoded}
    if not obj.get("type"):
        obj["type"] = "Opaque"


def _at(*path: str) -> Callable[[Object], str]:
    def read(obj: Object) -> str:
        value: Any = obj
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        return value if isinstance(value, str) else ""

    return read


def default_claim(obj: Object) -> None:
    obj.setdefault("spec", {}).setdefault("volumeMode", "Filesystem")


STRATEGIES = {
    "configmaps": Strategy(validate=validate_configmap, validate_update=validate_configmap_update),
    "secrets": Strategy(
        fields={"type": _at("type")},
        fields_message="label",
        default=default_secret,
        validate=validate_secret,
        validate_update=validate_secret_update,
    ),
    "serviceaccounts": Strategy(returns_deleted=True),
    "resourcequotas": Strategy(returns_deleted=True),
    "limitranges": Strategy(create_on_update=True),
    "leases.coordination.k8s.io": Strategy(create_on_update=True, unconditional_update=False),
    "persistentvolumeclaims": Strategy(
        default=default_claim, returns_deleted=True, default_status={"phase": "Pending"}
    ),
}
