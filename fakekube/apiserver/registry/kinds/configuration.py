"""Kinds that hold data or limits: ConfigMap, Secret, quotas, leases, service accounts."""

from __future__ import annotations

import base64
from typing import Any

from fakekube.apiserver.registry.generic.selectablefields import string_at
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.validation.metadata import check_again
from fakekube.apiserver.registry.validation import leases, quotas
from fakekube.apiserver.registry.validation.configmaps import (
    validate_configmap,
    validate_configmap_update,
    validate_secret,
    validate_secret_update,
)
from fakekube.apiserver.wire.status import FieldError

Object = dict[str, Any]


def default_secret(obj: Object) -> None:
    """stringData goes into data, encoded, and is not kept; the type is Opaque where none is given."""
    text = obj.pop("stringData", None)
    if text:
        encoded = {key: base64.b64encode(value.encode()).decode() for key, value in text.items()}
        obj["data"] = {**(obj.get("data") or {}), **encoded}
    if not obj.get("type"):
        obj["type"] = "Opaque"


def default_limit_range(obj: Object) -> None:
    """Of containers: the default limit is the highest there is, the default request the limit or else the lowest
    (`SetDefaults_LimitRangeItem`)."""
    for limit in (obj.get("spec") or {}).get("limits") or ():
        if limit.get("type") != "Container":
            continue
        limits = {**(limit.get("max") or {}), **(limit.get("default") or {})}
        requests = {**(limit.get("min") or {}), **limits, **(limit.get("defaultRequest") or {})}
        for field, found in (("default", limits), ("defaultRequest", requests)):
            if found:
                limit[field] = found


def prepare_lease(obj: Object) -> Object:
    """Coordinated leader election is switched off: what belongs to it is not taken."""
    spec = obj.get("spec") or {}
    if not spec.keys() & {"strategy", "preferredHolder"}:
        return obj
    return {**obj, "spec": {key: value for key, value in spec.items() if key not in ("strategy", "preferredHolder")}}


def prepare_lease_update(new: Object, old: Object) -> Object:
    return prepare_lease(new)


def validate_service_account_update(new: Object, old: Object) -> list[FieldError]:
    errors: list[FieldError] = []
    check_again(new, errors)
    return errors


STRATEGIES = {
    "configmaps": Strategy(validate=validate_configmap, validate_update=validate_configmap_update),
    "secrets": Strategy(
        fields={"type": string_at("type")},
        fields_message="label",
        default=default_secret,
        validate=validate_secret,
        validate_update=validate_secret_update,
    ),
    "serviceaccounts": Strategy(returns_deleted=True, validate_update=validate_service_account_update),
    "resourcequotas": Strategy(
        returns_deleted=True,
        validate=quotas.validate_quota,
        validate_update=quotas.validate_quota_update,
        validate_status_update=quotas.validate_quota_status,
    ),
    "limitranges": Strategy(
        create_on_update=True,
        default=default_limit_range,
        repeats_metadata=False,
        validate=quotas.validate_limit_range,
        validate_update=quotas.validate_limit_range_update,
    ),
    "leases.coordination.k8s.io": Strategy(
        create_on_update=True,
        unconditional_update=False,
        prepare_create=prepare_lease,
        prepare_update=prepare_lease_update,
        validate=leases.validate_lease,
        validate_update=leases.validate_lease_update,
    ),
    "leasecandidates.coordination.k8s.io": Strategy(
        create_on_update=True,
        unconditional_update=False,
        validate=leases.validate_candidate,
        validate_update=leases.validate_candidate_update,
    ),
}
