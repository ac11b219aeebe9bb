"""Authentication by client certificates (`apiserver/pkg/authentication/request/x509`).

The certificates are verified as Go's `Certificate.Verify` does with the usage of client authentication. `cryptography`
has a verifier, too, but with the rules of the Web: it rejects certificates without alternative names, and old ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TypeVar

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID, ObjectIdentifier

from fakekube.apiserver.auth.authentication import authenticated
from fakekube.apiserver.user import User
from fakekube.struct import Struct

CREDENTIAL = "authentication.kubernetes.io/credential-id"

#: The attribute of the subject with the UID of the user (`asn1.X509UID`).
UID = ObjectIdentifier("1.3.6.1.4.1.57683.2")

_CLIENT = frozenset({ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE})

#: The maximum number of signatures that are verified for one certificate (`maxChainSignatureChecks`).
MOST_CHECKS = 100

T = TypeVar("T", bound=x509.ExtensionType)

Chain = tuple[x509.Certificate, ...]


class ClientCertificate(Struct, frozen=True):
    """A certificate that a client has presented: its user (None: it names none), and the periods in which a chain of
    valid certificates leads to a trusted one."""

    user: User | None
    periods: tuple[tuple[datetime, datetime], ...]

    def is_valid(self, now: datetime) -> bool:
        return any(start <= now <= end for start, end in self.periods)


def client_certificate(presented: Chain, trusted: Sequence[x509.Certificate]) -> ClientCertificate:
    """The certificate that a client has presented, with intermediate ones after it."""
    chains = [chain for chain in _chains(presented, trusted) if _allows_clients(chain)]
    periods = tuple(
        (max(one.not_valid_before_utc for one in chain), min(one.not_valid_after_utc for one in chain))
        for chain in chains
    )
    try:
        return ClientCertificate(_user(presented[0]), periods)
    except ValueError:
        return ClientCertificate(None, ())


def _user(certificate: x509.Certificate) -> User | None:
    """The common name with the organizations as groups (`CommonNameUserConversion`). Raises ValueError."""
    names = _values(certificate, NameOID.COMMON_NAME)
    if not names or not names[-1]:
        return None
    uids = _values(certificate, UID)
    if len(uids) > 1 or uids == [""]:
        raise ValueError("the certificate has several UIDs or an empty one")
    fingerprint = certificate.fingerprint(hashes.SHA256()).hex()
    groups = tuple(_values(certificate, NameOID.ORGANIZATION_NAME))
    extra = {CREDENTIAL: (f"X509SHA256={fingerprint}",)}
    return authenticated(User(names[-1], "".join(uids), groups, extra))


def _values(certificate: x509.Certificate, attribute: ObjectIdentifier) -> list[str]:
    return [str(one.value) for one in certificate.subject.get_attributes_for_oid(attribute)]


# --- chains ----------------------------------------------------------------------------------------------------------


def _chains(presented: Chain, trusted: Sequence[x509.Certificate]) -> Iterator[Chain]:
    """The chains from the first certificate to a trusted one, whenever their certificates are valid."""
    if presented[0] in trusted:
        yield presented[:1]
        return
    open: list[Chain] = [presented[:1]]
    checks = 0
    while open:
        chain = open.pop()
        for issuer in (*trusted, *presented[1:]):
            checks += 1
            if checks > MOST_CHECKS or issuer in chain or not _issued(chain, issuer):
                continue
            if issuer in trusted:
                yield (*chain, issuer)
            else:
                open.append((*chain, issuer))


def _issued(chain: Chain, issuer: x509.Certificate) -> bool:
    """Whether a CA has issued the last certificate of a chain, with as many intermediate ones as it allows."""
    basic = _extension(issuer, x509.BasicConstraints)
    if issuer.version is x509.Version.v3 and (basic is None or not basic.ca):
        return False
    if basic is not None and basic.path_length is not None and len(chain) - 1 > basic.path_length:
        return False
    usage = _extension(issuer, x509.KeyUsage)
    if usage is not None and not usage.key_cert_sign:
        return False
    try:
        chain[-1].verify_directly_issued_by(issuer)
    except (InvalidSignature, UnsupportedAlgorithm, TypeError, ValueError):
        return False
    return True


def _allows_clients(chain: Chain) -> bool:
    """Whether every certificate that limits its usages has that of clients."""
    usages = [_extension(one, x509.ExtendedKeyUsage) for one in chain]
    return all(usage is None or _CLIENT & set(usage) for usage in usages)


def _extension(certificate: x509.Certificate, kind: type[T]) -> T | None:
    try:
        return certificate.extensions.get_extension_for_class(kind).value
    except (x509.ExtensionNotFound, ValueError):
        return None
