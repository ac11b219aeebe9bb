"""Table of CertificateSigningRequests."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.registry.generic.table.ages import Ages, human_duration
from fakekube.apiserver.registry.generic.table.columns import AGE, NAME, Printer, age_of, columns, get, name_of

Object = dict[str, Any]


def _signing_state(obj: Object) -> str:
    types = {condition.get("type") for condition in get(obj, "status.conditions", ())}
    state = "Denied" if "Denied" in types else "Approved" if "Approved" in types else "Pending"
    return state + (",Failed" if "Failed" in types else "") + (",Issued" if get(obj, "status.certificate") else "")


def _signing_request(obj: Object, ages: Ages) -> list[Any]:
    seconds = get(obj, "spec.expirationSeconds")
    return [
        name_of(obj),
        age_of(obj, ages),
        get(obj, "spec.signerName") or "<none>",
        get(obj, "spec.username", ""),
        "<none>" if seconds is None else human_duration(seconds),
        _signing_state(obj),
    ]


PRINTER = Printer(columns(NAME, AGE, "SignerName", "Requestor", "RequestedDuration", "Condition"), _signing_request)
