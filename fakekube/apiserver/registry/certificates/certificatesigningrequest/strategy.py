"""CertificateSigningRequest (`registry/certificates/certificates`)."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver import names
from fakekube.apiserver.registry.certificates.certificatesigningrequest import validation
from fakekube.apiserver.registry.certificates.certificatesigningrequest.table import PRINTER
from fakekube.apiserver.registry.certificates.certificatesigningrequest.validation import DECISIONS, validate_approval
from fakekube.apiserver.registry.generic.kind import Kind, PartStrategy
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.validation.rules import update_validator, validator
from fakekube.apiserver.user import User

Object = dict[str, Any]

_IDENTITY = frozenset({"username", "uid", "groups", "extra"})


def identify(request: Object, user: User) -> Object:
    """Sets the identity of the user who creates the request, whatever the request says."""
    spec = {key: value for key, value in (request.get("spec") or {}).items() if key not in _IDENTITY}
    who: Object = {"username": user.name, "uid": user.uid, "groups": list(user.groups)}
    who["extra"] = {key: list(values) for key, values in user.extra.items()}
    return {**request, "spec": {**spec, **{key: value for key, value in who.items() if value}}}


def prepare_update(new: Object, old: Object) -> Object:
    """An update of the object changes neither spec nor status."""
    return {**new, "spec": old.get("spec") or {}, "status": old.get("status") or {}}


def prepare_status_update(new: Object, old: Object) -> Object:
    """Keeps the stored decisions if there are as many as before (`preserveConditionInstances`)."""
    status = new.get("status") or {}
    conditions = list(status.get("conditions") or ())
    for decision in DECISIONS:
        before = [one for one in (old.get("status") or {}).get("conditions") or () if one.get("type") == decision]
        places = [i for i, one in enumerate(conditions) if one.get("type") == decision]
        if len(before) == len(places):
            for i, condition in zip(places, before, strict=True):
                conditions[i] = condition
    return {**new, "status": {**status, "conditions": conditions}} if conditions else new


def date_status(new: Object, old: Object, now: str) -> Object:
    status = new.get("status") or {}
    conditions = _timed(status.get("conditions") or [], (old.get("status") or {}).get("conditions") or [], now)
    return {**new, "status": {**status, "conditions": conditions}} if conditions else new


def _timed(conditions: list[Object], before: list[Object], now: str) -> list[Object]:
    """Adds the times that the conditions lack (`populateConditionTimestamps`)."""
    found = []
    for condition in conditions:
        times = {"lastUpdateTime": condition.get("lastUpdateTime") or now}
        transition = condition.get("lastTransitionTime")
        if not transition:
            same = [one for one in before if one.get("type") == condition.get("type")]
            stays = bool(same) and same[0].get("status") == condition.get("status")
            transition = (same[0].get("lastTransitionTime") if stays else None) or now
        found.append({**condition, **times, "lastTransitionTime": transition})
    return found


def take_approval(new: Object, old: Object, now: str) -> Object:
    status = {key: value for key, value in (old.get("status") or {}).items() if key != "conditions"}
    before = (old.get("status") or {}).get("conditions") or []
    conditions = _timed((new.get("status") or {}).get("conditions") or [], before, now)
    return {**old, "status": {**status, "conditions": conditions} if conditions else status}


KIND = Kind(
    "certificatesigningrequests.certificates.k8s.io",
    Strategy(
        subresource_resets={
            "status": ("spec", "status.conditions"),
            "approval": ("spec", "status.certificate"),
        },
        unowned=("spec",),
        name_check=names.any_name_problems,
        fields={"spec.signerName": lambda obj: (obj.get("spec") or {}).get("signerName", "")},
        fields_message="label",
        author=identify,
        prepare_update=prepare_update,
        prepare_status_update=prepare_status_update,
        date_status=date_status,
        validate=validator(validation.validate),
        validate_update=update_validator(validation.validate_update),
        validate_status_update=update_validator(validation.validate_status_update),
    ),
    printer=PRINTER,
    parts={"approval": PartStrategy(take_approval, validate_approval, writes_metadata=True)},
)
