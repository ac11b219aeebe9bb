"""A CA that signs certificate requests (`certificates/authority`)."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID, ObjectIdentifier

#: How long certificates are valid (kube-controller-manager: --cluster-signing-duration).
DURATION = timedelta(days=365)

#: The shortest lifetime, whatever is requested.
SHORTEST = timedelta(minutes=10)

#: How long before now certificates become valid; short-lived ones do not end earlier for that.
BACKDATE, SHORT = timedelta(minutes=5), timedelta(hours=8)

#: Usages of certificates -> the bit of the extension KeyUsage.
_BITS = {
    "signing": "digital_signature",
    "digital signature": "digital_signature",
    "content commitment": "content_commitment",
    "key encipherment": "key_encipherment",
    "key agreement": "key_agreement",
    "data encipherment": "data_encipherment",
    "cert sign": "key_cert_sign",
    "crl sign": "crl_sign",
    "encipher only": "encipher_only",
    "decipher only": "decipher_only",
}

#: Usages of certificates -> purposes in the extension ExtendedKeyUsage, in the order in which they are written.
_PURPOSES = {
    "any": ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE,
    "server auth": ExtendedKeyUsageOID.SERVER_AUTH,
    "client auth": ExtendedKeyUsageOID.CLIENT_AUTH,
    "code signing": ExtendedKeyUsageOID.CODE_SIGNING,
    "email protection": ExtendedKeyUsageOID.EMAIL_PROTECTION,
    "s/mime": ExtendedKeyUsageOID.EMAIL_PROTECTION,
    "ipsec end system": ObjectIdentifier("1.3.6.1.5.5.7.3.5"),
    "ipsec tunnel": ObjectIdentifier("1.3.6.1.5.5.7.3.6"),
    "ipsec user": ObjectIdentifier("1.3.6.1.5.5.7.3.7"),
    "timestamping": ExtendedKeyUsageOID.TIME_STAMPING,
    "ocsp signing": ExtendedKeyUsageOID.OCSP_SIGNING,
    "microsoft sgc": ObjectIdentifier("1.3.6.1.4.1.311.10.3.3"),
    "netscape sgc": ObjectIdentifier("2.16.840.1.113730.4.1"),
}

_NO_BITS = dict.fromkeys(
    (
        "digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement",
        "key_cert_sign", "crl_sign", "encipher_only", "decipher_only",
    ),
    False,
)  # fmt: skip


class CannotSign(Exception):
    """The request has usages that are not known, or the CA has expired."""


def lifetime(seconds: int | None) -> timedelta:
    """The lifetime of a certificate of which `seconds` are requested."""
    return DURATION if seconds is None else min(DURATION, max(SHORTEST, timedelta(seconds=seconds)))


class CertificateAuthority:
    """Signs as PermissiveSigningPolicy says: subject and names of the request, and the usages of its object."""

    certificate: x509.Certificate

    def __init__(self, certificate: bytes, key: bytes) -> None:
        """`certificate` and `key` are PEM."""
        self.certificate = x509.load_pem_x509_certificate(certificate)
        self._key: Any = serialization.load_pem_private_key(key, None)

    @classmethod
    def created(cls, now: datetime) -> CertificateAuthority:
        """A new CA, valid for ten years."""
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "kubernetes")])
        builder = x509.CertificateBuilder(name, name, key.public_key(), 1, now - BACKDATE, now + 10 * DURATION)
        builder = builder.add_extension(x509.BasicConstraints(True, None), critical=True)
        signed = builder.sign(key, hashes.SHA256())
        plain = serialization.NoEncryption()
        pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
        return cls(signed.public_bytes(serialization.Encoding.PEM), pem)

    def sign(
        self,
        request: x509.CertificateSigningRequest,
        usages: Collection[str],
        duration: timedelta,
        now: datetime,
        *,
        serial: int,
    ) -> bytes:
        """The certificate of a request, PEM. Raises CannotSign."""
        end = now + duration - (BACKDATE if duration >= SHORT else timedelta())
        limit = self.certificate.not_valid_after_utc
        if now >= limit:
            raise CannotSign(f"refusing to sign a certificate that expired in the past: NotAfter={limit}")
        builder = x509.CertificateBuilder(
            self.certificate.subject, request.subject, request.public_key(), serial, now - BACKDATE, min(end, limit)
        )
        for extension, critical in self._extensions(request, usages):
            builder = builder.add_extension(extension, critical)
        algorithm = None if isinstance(self._key, ed25519.Ed25519PrivateKey) else hashes.SHA256()
        return builder.sign(self._key, algorithm).public_bytes(serialization.Encoding.PEM)

    def _extensions(
        self, request: x509.CertificateSigningRequest, usages: Collection[str]
    ) -> list[tuple[x509.ExtensionType, bool]]:
        unknown = [one for one in usages if one not in _BITS and one not in _PURPOSES]
        if unknown:
            names = " ".join(f'"{one}"' for one in unknown)
            raise CannotSign(f"unrecognized usage values: [{names}]")
        found: list[tuple[x509.ExtensionType, bool]] = []
        bits = {_BITS[one]: True for one in usages if one in _BITS}
        if "key_agreement" not in bits:  # without it the other two have no meaning
            bits = {name: True for name in bits if name not in ("encipher_only", "decipher_only")}
        if bits:
            found.append((x509.KeyUsage(**{**_NO_BITS, **bits}), True))
        purposes = list(dict.fromkeys(oid for usage, oid in _PURPOSES.items() if usage in usages))
        if purposes:
            found.append((x509.ExtendedKeyUsage(purposes), False))
        found.append((x509.BasicConstraints(False, None), True))
        found += self._identifiers()
        try:
            names_of = request.extensions.get_extension_for_class(x509.SubjectAlternativeName)
        except x509.ExtensionNotFound:
            return found
        return [*found, (names_of.value, not request.subject.rdns)]

    def _identifiers(self) -> list[tuple[x509.ExtensionType, bool]]:
        """The identifier of the CA's key, if its certificate has one."""
        try:
            own = self.certificate.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
        except x509.ExtensionNotFound:
            return []
        return [(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(own), False)]
