"""CertificateSigningRequests: who asks, what is asked for, and what becomes of it (`registry/certificates`)."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Any

from fakekube.core import names
from fakekube.core.authentication import User
from fakekube.core.status import FieldError, field_invalid, field_not_supported, field_required
from fakekube.core.strategy import Strategy

Object = dict[str, Any]

#: What a certificate may be used for (`certificates/v1.KeyUsage`).
USAGES = frozenset(
    {
        "any", "cert sign", "client auth", "code signing", "content commitment", "crl sign", "data encipherment",
        "decipher only", "digital signature", "email protection", "encipher only", "ipsec end system", "ipsec tunnel",
        "ipsec user", "key agreement", "key encipherment", "microsoft sgc", "netscape sgc", "ocsp signing",
        "s/mime", "server auth", "signing", "timestamping",
    }
)  # fmt: skip

#: Seconds that a certificate must be valid at least.
SHORTEST = 600

LEGACY_SIGNER = "kubernetes.io/legacy-unknown"

_PEM = re.compile(r"-----BEGIN ([^-\n]+)-----\s*(.*?)-----END \1-----", re.DOTALL)

#: Conditions that `/status` does not set.
_DECISIONS = ("Approved", "Denied")


def identify(request: Object, user: User) -> Object:
    """The request in the name of who makes it, whatever it says itself."""
    spec = {key: value for key, value in (request.get("spec") or {}).items() if key not in _IDENTITY}
    who: Object = {"username": user.name, "uid": user.uid, "groups": list(user.groups)}
    who["extra"] = {key: list(values) for key, values in user.extra.items()}
    return {**request, "spec": {**spec, **{key: value for key, value in who.items() if value}}}


_IDENTITY = frozenset({"username", "uid", "groups", "extra"})


def prepare_update(new: Object, old: Object) -> Object:
    """What was asked for stays; neither does a plain update decide."""
    return {**new, "spec": old.get("spec") or {}, "status": old.get("status") or {}}


def prepare_status_update(new: Object, old: Object) -> Object:
    """Of the status all but the decisions (`csrStatusStrategy.PrepareForUpdate`)."""
    status, before = dict(new.get("status") or {}), (old.get("status") or {}).get("conditions") or []
    sent = status.pop("conditions", None) or []
    decided = [one for one in before if one.get("type") in _DECISIONS]
    kept = [one for one in sent if one.get("type") not in _DECISIONS]
    if decided or kept:
        status["conditions"] = [*decided, *kept]
    return {**new, "spec": old.get("spec") or {}, "status": status}


def validate(request: Object) -> list[FieldError]:
    """`ValidateCertificateSigningRequestCreate`."""
    spec = request.get("spec") or {}
    errors: list[FieldError] = []
    problem = request_problem(spec.get("request") or "")
    if problem:
        errors.append(field_invalid("spec.request", spec.get("request") or "", problem))
    usages = spec.get("usages") or []
    if not usages:
        errors.append(field_required("spec.usages"))
    for i, usage in enumerate(usages):
        if usage not in USAGES:
            errors.append(field_not_supported(f"spec.usages[{i}]", usage, sorted(USAGES)))
        elif usage in usages[:i]:
            errors.append(FieldError(f"spec.usages[{i}]", "FieldValueDuplicate", f'Duplicate value: "{usage}"'))
    if spec.get("signerName") == LEGACY_SIGNER:
        why = "the legacy signerName is not allowed via this API version"
        errors.append(field_invalid("spec.signerName", LEGACY_SIGNER, why))
    seconds = spec.get("expirationSeconds")
    if seconds is not None and seconds < SHORTEST:
        why = "may not specify a duration less than 600 seconds (10 minutes)"
        errors.append(field_invalid("spec.expirationSeconds", seconds, why))
    return errors + _signer_errors(spec.get("signerName") or "", "spec.signerName")


def request_problem(encoded: str) -> str:
    """What is wrong with a PEM certificate request; "" where nothing is."""
    der = request_der(encoded)
    if der is None:
        return "PEM block type must be CERTIFICATE REQUEST"
    return "" if der[:1] == b"\x30" else "asn1: structure error: tags don't match"


def request_der(encoded: str) -> bytes | None:
    """The request itself, from base64 of PEM; None where that is none."""
    try:
        block = _PEM.search(base64.b64decode(encoded, validate=True).decode("ascii"))
        if block is None or block[1] != "CERTIFICATE REQUEST":
            return None
        return base64.b64decode("".join(block[2].split()), validate=True)
    except (binascii.Error, UnicodeDecodeError):
        return None


def _signer_errors(signer: str, path: str) -> list[FieldError]:
    """A domain with a dot in it, and a path (`ValidateSignerName`)."""
    if not signer:
        return [field_required(path)]
    segments = signer.split("/")
    if len(segments) != 2:
        form = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
        return [field_invalid(path, signer, form)]
    domain, name = segments
    errors = [
        field_invalid(path, domain, f"validating domain segment: {problem}")
        for problem in names.dns_subdomain_problems(domain)
    ]
    if "." not in domain:
        errors.append(field_invalid(path, domain, "should be a domain with at least two segments separated by dots"))
    parts = name.split(".")
    errors += [
        field_invalid(path, signer, f'validating label "{part}": {problem}')
        for part in parts
        for problem in names.dns_label_problems(part)
    ]
    return errors


STRATEGIES = {
    "certificatesigningrequests.certificates.k8s.io": Strategy(
        fields={"spec.signerName": lambda obj: (obj.get("spec") or {}).get("signerName", "")},
        fields_message="label",
        author=identify,
        prepare_update=prepare_update,
        prepare_status_update=prepare_status_update,
        validate=validate,
    ),
}
