"""Certificates and certificate requests of the tests, as base64 of PEM."""

import base64
from datetime import datetime

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ed25519
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

KEY = ed25519.Ed25519PrivateKey.from_private_bytes(b"k" * 32)


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def pem(der: bytes, block: str = "CERTIFICATE REQUEST") -> str:
    return f"-----BEGIN {block}-----\n{base64.encodebytes(der).decode()}-----END {block}-----\n"


def subject(common_name: str = "", organizations: tuple[str, ...] = ()) -> x509.Name:
    names = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, one) for one in organizations]
    return x509.Name([*names, *([x509.NameAttribute(NameOID.COMMON_NAME, common_name)] if common_name else [])])


def request_der(common_name: str = "jane", organizations: tuple[str, ...] = (), *, key=KEY, algorithm=None) -> bytes:
    builder = x509.CertificateSigningRequestBuilder().subject_name(subject(common_name, organizations))
    return builder.sign(key, algorithm).public_bytes(Encoding.DER)


def request(common_name: str = "jane", organizations: tuple[str, ...] = ()) -> str:
    """A signed certificate request."""
    return encoded(pem(request_der(common_name, organizations)))


def certificate_der(serial: int = 1) -> bytes:
    builder = x509.CertificateBuilder().subject_name(subject("jane")).issuer_name(subject("ca")).serial_number(serial)
    builder = builder.not_valid_before(datetime(2026, 1, 1)).not_valid_after(datetime(2027, 1, 1))
    return builder.public_key(KEY.public_key()).sign(KEY, None).public_bytes(Encoding.DER)


def certificate(serial: int = 1) -> str:
    return encoded(pem(certificate_der(serial), "CERTIFICATE"))
