"""Admission of CertificateSigningRequests (plugins CertificateApproval, CertificateSigning and
CertificateSubjectRestriction)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fakekube.apiserver.call import Call
from fakekube.apiserver.registry.certificates.certificatesigningrequest.pem import request_der
from fakekube.apiserver.wire.goprint import go_quote
from fakekube.apiserver.wire.request import RequestInfo
from fakekube.apiserver.wire.status import forbidden

Object = dict[str, Any]

CLIENT_SIGNER = "kubernetes.io/kube-apiserver-client"
ADMINISTRATORS = "system:masters"

#: The object identifier of a subject's organization, 2.5.4.10, in DER.
_ORGANIZATION = bytes((0x55, 0x04, 0x0A))
_OBJECT_IDENTIFIER, _SEQUENCE, _SET = 0x06, 0x30, 0x31


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
    if ADMINISTRATORS in organizations(request_der(spec.get("request") or "") or b""):
        why = f"use of {CLIENT_SIGNER} signer with {ADMINISTRATORS} group is not allowed"
        raise forbidden(call.resource.qualified, obj["metadata"].get("name") or "", why)


def organizations(request: bytes) -> list[str]:
    """The organizations in the subject of a DER certificate request; none if it cannot be parsed."""
    for tag, whole in _values(request):
        for _, info in _values(whole if tag == _SEQUENCE else b""):
            names = next((value for tag, value in _values(info) if tag == _SEQUENCE), b"")
            return [found.decode("utf-8", "replace") for found in _organizations(names)]
    return []


def _organizations(names: bytes) -> Iterator[bytes]:
    for tag, several in _values(names):
        for _, pair in _values(several if tag == _SET else b""):
            parts = list(_values(pair))
            if len(parts) == 2 and parts[0] == (_OBJECT_IDENTIFIER, _ORGANIZATION):
                yield parts[1][1]


def _values(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The tags and contents of consecutive DER values, up to the first truncated one."""
    at = 0
    while at + 2 <= len(data):
        tag, length = data[at], data[at + 1]
        at += 2
        if length & 0x80:
            octets = length & 0x7F
            length = int.from_bytes(data[at : at + octets], "big")
            at += octets
        if at + length > len(data):
            return
        yield tag, data[at : at + length]
        at += length
