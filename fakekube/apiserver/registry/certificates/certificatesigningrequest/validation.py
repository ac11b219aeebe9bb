"""TODO"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from fakekube.apiserver.registry.certificates.certificatesigningrequest.pem import certificate_problem, request_problem
from fakekube.apiserver.registry.generic import names
from fakekube.apiserver.registry.generic.validation.content import Errors, add
from fakekube.apiserver.wire.status import (
    FieldError,
    field_duplicate,
    field_forbidden,
    field_invalid,
    field_not_supported,
    field_required,
    field_too_long,
    go_quote,
)

Object = dict[str, Any]

#: What a certificate may be used for (`certificates/v1.KeyUsage`).
USAGES = (
    "any", "cert sign", "client auth", "code signing", "content commitment", "crl sign", "data encipherment",
    "decipher only", "digital signature", "email protection", "encipher only", "ipsec end system", "ipsec tunnel",
    "ipsec user", "key agreement", "key encipherment", "microsoft sgc", "netscape sgc", "ocsp signing",
    "s/mime", "server auth", "signing", "timestamping",
)  # fmt: skip


#: Seconds that a certificate must be valid at least.
SHORTEST = 600


LEGACY_SIGNER = "kubernetes.io/legacy-unknown"


LONGEST_DOMAIN = 253


LONGEST_SIGNER = LONGEST_DOMAIN + 1 + 253 + 1 + 63


#: Conditions that only `/approval` sets.
DECISIONS = ("Approved", "Denied")


#: Conditions that hold or are not there, and that stay.
FINAL = (*DECISIONS, "Failed")


STATUSES = ("False", "True", "Unknown")


CONDITIONS = "status.conditions"


@dataclass(frozen=True, slots=True)
class Tolerated:
    """What a stored request has wrong already, and may keep."""

    legacy_signer: bool = False
    unknown_usages: bool = False
    duplicate_usages: bool = False
    both_decisions: bool = False
    duplicate_types: bool = False
    empty_types: bool = False
    any_certificate: bool = False


def tolerated(new: Object, old: Object) -> Tolerated:
    spec, usages = old.get("spec") or {}, (old.get("spec") or {}).get("usages") or []
    types = [one.get("type") or "" for one in _conditions(old)]
    return Tolerated(
        legacy_signer=spec.get("signerName") == LEGACY_SIGNER,
        unknown_usages=any(usage not in USAGES for usage in usages),
        duplicate_usages=len(set(usages)) < len(usages),
        both_decisions=all(decision in types for decision in DECISIONS),
        duplicate_types=len(set(types)) < len(types),
        empty_types="" in types,
        any_certificate=_certificate(new) == _certificate(old) or bool(certificate_problem(_certificate(old))),
    )


def _conditions(request: Object) -> list[Object]:
    found: list[Object] = (request.get("status") or {}).get("conditions") or []
    return found


def _certificate(request: Object) -> str:
    found: str = (request.get("status") or {}).get("certificate") or ""
    return found


def validate_request(request: Object) -> list[FieldError]:
    return _request_errors(request, Tolerated())


def _request_errors(request: Object, old: Tolerated) -> list[FieldError]:
    spec = request.get("spec") or {}
    errors: Errors = []
    problem = request_problem(spec.get("request") or "")
    if problem:
        errors.append(field_invalid("spec.request", spec.get("request"), problem))
    _check_usages(spec.get("usages") or [], "spec.usages", errors, old)
    signer = spec.get("signerName") or ""
    if signer == LEGACY_SIGNER and not old.legacy_signer:
        why = "the legacy signerName is not allowed via this API version"
        errors.append(field_invalid("spec.signerName", signer, why))
    else:
        check_signer_name(signer, "spec.signerName", errors)
    seconds = spec.get("expirationSeconds")
    if seconds is not None and seconds < SHORTEST:
        why = "may not specify a duration less than 600 seconds (10 minutes)"
        errors.append(field_invalid("spec.expirationSeconds", seconds, why))
    _check_conditions(_conditions(request), errors, old)
    problem = "" if old.any_certificate else certificate_problem(_certificate(request))
    if problem:
        errors.append(field_invalid("status.certificate", "<certificate data>", problem))
    return errors


def _check_usages(usages: Sequence[str], path: str, errors: Errors, old: Tolerated) -> None:
    if not usages:
        errors.append(field_required(path))
    if not old.unknown_usages:
        for i, usage in enumerate(usages):
            if usage not in USAGES:
                errors.append(field_not_supported(f"{path}[{i}]", usage, USAGES))
    if not old.duplicate_usages:
        for i, usage in enumerate(usages):
            if usage in usages[:i]:
                errors.append(field_duplicate(f"{path}[{i}]", usage))


def check_signer_name(signer: str, path: str, errors: Errors) -> None:
    """A domain with a dot in it, and a path (`ValidateSignerName`)."""
    if not signer:
        errors.append(field_required(path))
        return
    segments = signer.split("/")
    if len(segments) != 2:
        why = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
        errors.append(field_invalid(path, signer, why))
        return
    domain, name = segments
    if len(domain) > LONGEST_DOMAIN:
        errors.append(field_too_long(path, LONGEST_DOMAIN))
    labels = domain.split(".")
    _check_segment(domain, labels, names.dns_label_problems, path, errors)
    if len(labels) < 2:
        errors.append(field_invalid(path, domain, "should be a domain with at least two segments separated by dots"))
    _check_segment(name, name.split("."), names.dns_subdomain_problems, path, errors)
    if len(signer) > LONGEST_SIGNER:
        errors.append(field_too_long(path, LONGEST_SIGNER))


def _check_segment(
    segment: str, labels: Sequence[str], check: Callable[[str], Sequence[str]], path: str, errors: Errors
) -> None:
    """Names the first label that is none."""
    for label in labels:
        problems = check(label)
        if problems:
            add(errors, path, segment, [f"validating label {go_quote(label)}: {problem}" for problem in problems])
            return


def _check_conditions(conditions: Sequence[Object], errors: Errors, old: Tolerated) -> None:
    seen: set[str] = set()
    for i, condition in enumerate(conditions):
        here, type, status = f"{CONDITIONS}[{i}]", condition.get("type") or "", condition.get("status") or ""
        if not type and not old.empty_types:
            errors.append(field_required(f"{here}.type"))
        allowed = ("True",) if type in FINAL else STATUSES
        if not status:
            errors.append(field_required(f"{here}.status"))
        elif status not in allowed:
            errors.append(field_not_supported(f"{here}.status", status, allowed))
        if type in DECISIONS and not old.both_decisions and seen & (set(DECISIONS) - {type}):
            why = "Approved and Denied conditions are mutually exclusive"
            errors.append(field_invalid(CONDITIONS, type, why))
        if type in seen and not old.duplicate_types:
            errors.append(field_duplicate(f"{here}.type", type))
        seen.add(type)


def validate_request_update(new: Object, old: Object) -> list[FieldError]:
    return _request_errors(new, tolerated(new, old)) + _removals(new, old) + _undecided(new, old) + _unsigned(new, old)


def validate_approval(new: Object, old: Object) -> list[FieldError]:
    """Of a write through `/approval`."""
    return _request_errors(new, tolerated(new, old)) + _removals(new, old) + _unsigned(new, old)


def validate_request_status(new: Object, old: Object) -> list[FieldError]:
    """Of a write through `/status`: a certificate is issued once."""
    errors = _request_errors(new, tolerated(new, old)) + _removals(new, old) + _undecided(new, old)
    if _certificate(old) and _certificate(new) != _certificate(old):
        errors.append(field_forbidden("status.certificate", "updates may not modify existing certificate content"))
    return errors


def _of_type(request: Object, type: str) -> list[Object]:
    return [one for one in _conditions(request) if one.get("type") == type]


def _removals(new: Object, old: Object) -> list[FieldError]:
    return [
        field_forbidden(CONDITIONS, f'updates may not remove a condition of type "{type}"')
        for type in FINAL
        if len(_of_type(new, type)) < len(_of_type(old, type))
    ]


def _undecided(new: Object, old: Object) -> list[FieldError]:
    return [
        field_forbidden(CONDITIONS, f'updates may not add a condition of type "{type}"')
        for type in DECISIONS
        if len(_of_type(new, type)) > len(_of_type(old, type))
    ]


def _unsigned(new: Object, old: Object) -> list[FieldError]:
    if _certificate(new) == _certificate(old):
        return []
    return [field_forbidden("status.certificate", "updates may not set certificate content")]
