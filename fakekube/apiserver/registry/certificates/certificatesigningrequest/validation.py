"""CertificateSigningRequests (`ValidateCertificateSigningRequestCreate`, `ValidateCertificateSigningRequestUpdate`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fakekube.apiserver import names
from fakekube.apiserver.features import since
from fakekube.apiserver.registry.certificates.certificatesigningrequest.pem import certificate_problem, request_problem
from fakekube.apiserver.registry.generic.validation.conditions import STATUSES
from fakekube.apiserver.registry.generic.validation.field import Field
from fakekube.apiserver.registry.generic.validation.metadata import validate_metadata
from fakekube.apiserver.registry.generic.validation.rules import update_validator
from fakekube.apiserver.wire.goprint import go_quote
from fakekube.struct import Struct

#: The usages of a certificate (`certificates/v1.KeyUsage`).
USAGES = (
    "any", "cert sign", "client auth", "code signing", "content commitment", "crl sign", "data encipherment",
    "decipher only", "digital signature", "email protection", "encipher only", "ipsec end system", "ipsec tunnel",
    "ipsec user", "key agreement", "key encipherment", "microsoft sgc", "netscape sgc", "ocsp signing",
    "s/mime", "server auth", "signing", "timestamping",
)  # fmt: skip


LEGACY_SIGNER = "kubernetes.io/legacy-unknown"

LONGEST_DOMAIN = 253

LONGEST_SIGNER = LONGEST_DOMAIN + 1 + 253 + 1 + 63

#: Conditions that only `/approval` sets.
DECISIONS = ("Approved", "Denied")

#: Conditions that are true or absent, and that cannot be removed.
FINAL = (*DECISIONS, "Failed")


class Tolerated(Struct, frozen=True):
    """What a stored request has wrong already, and can keep."""

    legacy_signer: bool = False
    unknown_usages: bool = False
    duplicate_usages: bool = False
    both_decisions: bool = False
    duplicate_types: bool = False
    empty_types: bool = False
    any_certificate: bool = False


def _tolerated(new: Field, old: Field) -> Tolerated:
    spec, usages = old["spec"], old["spec"]["usages"].value or []
    types = [condition["type"].text for condition in old["status"]["conditions"]]
    certificate = _certificate(old).text
    return Tolerated(
        legacy_signer=spec["signerName"].value == LEGACY_SIGNER,
        unknown_usages=any(usage not in USAGES for usage in usages),
        duplicate_usages=len(set(usages)) < len(usages),
        both_decisions=all(decision in types for decision in DECISIONS),
        duplicate_types=len(set(types)) < len(types),
        empty_types="" in types,
        any_certificate=_certificate(new).text == certificate or bool(certificate_problem(certificate)),
    )


def _certificate(request: Field) -> Field:
    return request["status"]["certificate"]


STRICT = Tolerated()


def validate(request: Field, old: Tolerated = STRICT) -> None:
    spec, certificate = request["spec"], _certificate(request)
    spec["request"].invalid_if(request_problem(spec["request"].text), spec["request"].value)
    _validate_usages(spec["usages"], old)
    signer = spec["signerName"]
    if signer.value == LEGACY_SIGNER and not old.legacy_signer:
        signer.invalid("the legacy signerName is not allowed via this API version")
    else:
        validate_signer_name(signer)
    spec.get("expirationSeconds").at_least(600, "may not specify a duration less than 600 seconds (10 minutes)")
    _validate_conditions(request["status"]["conditions"], old)
    if not old.any_certificate:
        certificate.invalid_if(certificate_problem(certificate.text), "<certificate data>")


def _validate_usages(usages: Field, old: Tolerated) -> None:
    usages.required()
    if not old.unknown_usages:
        for usage in usages:
            usage.one_of(USAGES)
    if not old.duplicate_usages:
        seen: set[str] = set()
        for usage in usages:
            usage.unique(seen)


def validate_signer_name(field: Field) -> None:
    """A domain with a dot in it, and a path (`ValidateSignerName`)."""
    signer = field.required()
    if signer.text.count("/") != 1:
        signer.invalid("must be a fully qualified domain and path of the form 'example.com/signer-name'")
        return
    domain, name = signer.text.split("/")
    if len(domain) > LONGEST_DOMAIN:
        signer.too_long(LONGEST_DOMAIN)
    _validate_segment(signer.with_value(domain), names.dns_label_problems)
    if "." not in domain:
        signer.invalid("should be a domain with at least two segments separated by dots", domain)
    _validate_segment(signer.with_value(name), names.dns_subdomain_problems)
    signer.max_bytes(LONGEST_SIGNER)


def _validate_segment(segment: Field, problems_of: Callable[[str], Sequence[str]]) -> None:
    """Reports the first label that is not valid."""
    for label in segment.text.split("."):
        problems = problems_of(label)
        for problem in problems:
            segment.invalid(f"validating label {go_quote(label)}: {problem}")
        if problems:
            return


def _validate_conditions(conditions: Field, old: Tolerated) -> None:
    seen: set[str] = set()
    for condition in conditions:
        type = condition["type"]
        if not old.empty_types:
            type.required()
        condition["status"].required().one_of(("True",) if type.value in FINAL else STATUSES)
        if type.value in DECISIONS and not old.both_decisions and seen & (set(DECISIONS) - {type.value}):
            where = conditions if since(34) else type
            where.invalid("Approved and Denied conditions are mutually exclusive", type.value)
        if type.text in seen and not old.duplicate_types:
            type.duplicate()
        seen.add(type.text)


# --- updates ---------------------------------------------------------------------------------------------------------


def validate_update(new: Field, old: Field) -> None:
    _validate_approval(new, old, decides=False)


@update_validator
def validate_approval(new: Field, old: Field) -> None:
    """Of a write through `/approval`."""
    _validate_approval(new, old, decides=True)


def _validate_approval(new: Field, old: Field, *, decides: bool) -> None:
    _validate_as_new(new, old)
    _validate_changes(new, old, decides=decides)
    if _certificate(new).text != _certificate(old).text:
        _certificate(new).forbidden("updates may not set certificate content")


def validate_status_update(new: Field, old: Field) -> None:
    """Of a write through `/status`: a certificate is issued once."""
    _validate_as_new(new, old)
    _validate_changes(new, old, decides=False)
    if _certificate(old) and _certificate(new).text != _certificate(old).text:
        _certificate(new).forbidden("updates may not modify existing certificate content")


def _validate_as_new(new: Field, old: Field) -> None:
    validate_metadata(new, names.any_name_problems)
    validate(new, _tolerated(new, old))


def _validate_changes(new: Field, old: Field, *, decides: bool) -> None:
    conditions = new["status"]["conditions"]
    counts = {type: _count(new, type) - _count(old, type) for type in FINAL}
    for type in FINAL:
        if counts[type] < 0:
            conditions.forbidden(f'updates may not remove a condition of type "{type}"')
    for type in () if decides else DECISIONS:
        if counts[type] > 0:
            conditions.forbidden(f'updates may not add a condition of type "{type}"')


def _count(request: Field, type: str) -> int:
    return sum(condition["type"].value == type for condition in request["status"]["conditions"])
