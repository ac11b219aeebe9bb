"""Admission of CertificateSigningRequests (plugins CertificateApproval, CertificateSigning and
CertificateSubjectRestriction)."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.call import Call
from fakekube.apiserver.registry.certificates.certificatesigningrequest.pem import request_organizations
from fakekube.apiserver.wire.goprint import go_quote
from fakekube.apiserver.wire.request import RequestInfo
from fakekube.apiserver.wire.status import forbidden

Object = dict[str, Any]

CLIENT_SIGNER = "kubernetes.io/kube-apiserver-client"
ADMINISTRATORS = "system:masters"

_UNPARSED = "failed to parse CSR"


def validate_approval(call: Call, obj: Object, old: Object | None) -> None:
    """Check that the user may `approve` requests for the signer. Raises 403."""
    _check_right(call, old or obj, "approve", "approve requests")


def validate_signing(call: Call, obj: Object, old: Object | None) -> None:
    """Check that the user may `sign` for the signer, if the certificate or the conditions change. Raises 403."""
    new, before = obj.get("status") or {}, (old or {}).get("status") or {}
    if any(new.get(field) != before.get(field) for field in ("certificate", "conditions")):
        _check_right(call, old or obj, "sign", "sign requests")


def _check_right(call: Call, request: Object, verb: str, what: str) -> None:
    """Check the verb on the signer, and then on all signers of its domain. Raises 403."""
    signer = (request.get("spec") or {}).get("signerName") or ""
    for name in (signer, f"{signer.partition('/')[0]}/*"):
        info = RequestInfo(
            verb, "", is_resource=True, group="certificates.k8s.io", version="*", resource="signers", name=name
        )
        if call.server.decide(call.user, info).allowed:
            return
    why = f"user not permitted to {what} with signerName {go_quote(signer)}"
    raise forbidden(call.resource.qualified, request["metadata"].get("name") or "", why)


def validate_subject(call: Call, obj: Object, old: Object | None) -> None:
    """Reject requests for client certificates of the group system:masters. Raises 403."""
    spec = obj.get("spec") or {}
    if old is not None or spec.get("signerName") != CLIENT_SIGNER:
        return
    try:
        groups = request_organizations(spec.get("request") or "")
    except ValueError as problem:
        raise forbidden(call.resource.qualified, obj["metadata"].get("name") or "", f"{_UNPARSED}: {problem}") from None
    if ADMINISTRATORS in groups:
        why = f"use of {CLIENT_SIGNER} signer with {ADMINISTRATORS} group is not allowed"
        raise forbidden(call.resource.qualified, obj["metadata"].get("name") or "", why)
