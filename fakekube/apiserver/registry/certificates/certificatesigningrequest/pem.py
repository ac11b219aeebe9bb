"""Certificate requests and certificates in PEM, as CertificateSigningRequests carry them in base64
(`apis/certificates/validation`, Go's `encoding/pem` and `crypto/x509`).

`cryptography` parses them; it is imported with the first of them.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import TYPE_CHECKING, Any

from fakekube.apiserver.wire.goprint import go_quote

if TYPE_CHECKING:
    from cryptography.x509 import CertificateSigningRequest

_PEM = re.compile(r"-----BEGIN ([^\n]+?)-----[ \t]*\r?\n(.*?)-----END \1-----", re.DOTALL)

_HEADER = re.compile(r"^[^\n:]+:[^\n]*\n", re.MULTILINE)

NOT_A_REQUEST = "PEM block type must be CERTIFICATE REQUEST"

_UNKNOWN_ALGORITHM = "x509: cannot verify signature: algorithm unimplemented"

_SEQUENCE = 0x30


def _decoded(encoded: str) -> str:
    try:
        return base64.b64decode(encoded, validate=True).decode("latin-1")
    except binascii.Error:
        return ""


def request_der(encoded: str) -> bytes | None:
    """Returns the request from base64 of PEM; None if the first block is not one."""
    block = _PEM.search(_decoded(encoded))
    if block is None or block[1] != "CERTIFICATE REQUEST":
        return None
    try:
        return _content(block[2])
    except binascii.Error:
        return None


def _content(text: str) -> bytes:
    """The content of a block without its headers. Raises binascii.Error."""
    return base64.b64decode("".join(_HEADER.sub("", text).split()), validate=True)


def parsed_request(encoded: str) -> CertificateSigningRequest:
    """The certificate request in base64 of PEM. Raises ValueError with Go's message."""
    from cryptography import x509

    der = request_der(encoded)
    if der is None:
        raise ValueError(NOT_A_REQUEST)
    _check_sequence(der)
    try:
        return x509.load_der_x509_csr(der)
    except ValueError as problem:
        raise ValueError(f"asn1: structure error: {problem}") from None


def _check_sequence(der: bytes) -> None:
    """Check that the data is one whole sequence, which begins with another one. Raises ValueError."""
    if not der:
        raise ValueError(_NO_SEQUENCE)
    tag, size, at = _tag_and_length(der, 0)
    if tag != _SEQUENCE:
        raise ValueError(_other_tag(tag, size, "certificateRequest"))
    if at + size > len(der):
        raise ValueError("asn1: syntax error: data truncated")
    if at + size < len(der):
        raise ValueError("asn1: syntax error: trailing data")
    if not size:
        raise ValueError(_NO_SEQUENCE)
    tag, size, _ = _tag_and_length(der, at)
    if tag != _SEQUENCE:
        raise ValueError(_other_tag(tag, size, "tbsCertificateRequest"))


_NO_SEQUENCE = "asn1: syntax error: sequence truncated"
_TRUNCATED = "asn1: syntax error: truncated tag or length"

#: Above this a length is not extended by another octet.
_LONGEST = 1 << 23


def _tag_and_length(der: bytes, at: int) -> tuple[int, int, int]:
    """The tag of a value, the length of its content, and where that begins (`encoding/asn1`, parseTagAndLength).

    Raises ValueError. Tags of several octets, which no certificate has, are not read.
    """
    tag, at = der[at], at + 1
    if at >= len(der):
        raise ValueError(_TRUNCATED)
    first, at = der[at], at + 1
    if not first & 0x80:
        return tag, first, at
    if first == 0x80:
        raise ValueError("asn1: syntax error: indefinite length found (not DER)")
    size = 0
    for _ in range(first & 0x7F):
        if at >= len(der):
            raise ValueError(_TRUNCATED)
        if size >= _LONGEST:
            raise ValueError("asn1: structure error: length too large")
        size, at = size << 8 | der[at], at + 1
        if not size:
            raise ValueError("asn1: structure error: superfluous leading zeros in length")
    if size < 0x80:
        raise ValueError("asn1: structure error: non-minimal length")
    return tag, size, at


def _other_tag(tag: int, length: int, name: str) -> str:
    """The message of `encoding/asn1` for a value that is not a sequence."""
    compound = str(bool(tag & 0x20)).lower()
    found = f"{{class:{tag >> 6} tag:{tag & 0x1F} length:{length} isCompound:{compound}}}"
    parameters = (
        "{optional:false explicit:false application:false private:false defaultValue:<nil> tag:<nil> stringType:0 "
        "timeType:0 set:false omitEmpty:false}"
    )
    return f"asn1: structure error: tags don't match (16 vs {found}) {parameters} {name} @2"


def request_problem(encoded: str) -> str:
    """Returns the problem of a PEM certificate request, or of its signature; "" if there is none."""
    from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm

    try:
        request = parsed_request(encoded)
    except ValueError as problem:
        return str(problem)
    try:
        _verify(request)
    except InvalidSignature:
        return _failure(request.public_key())
    except (UnsupportedAlgorithm, TypeError):
        return _UNKNOWN_ALGORITHM
    except ValueError as problem:
        return str(problem)
    return ""


def _verify(request: CertificateSigningRequest) -> None:
    """Raises InvalidSignature; UnsupportedAlgorithm and ValueError for keys and algorithms that Go does not verify."""
    from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

    key: Any = request.public_key()
    if isinstance(key, ec.EllipticCurvePublicKey) and key.curve.name not in _CURVES:
        raise ValueError("x509: unsupported elliptic curve")
    if not isinstance(key, (rsa.RSAPublicKey, ec.EllipticCurvePublicKey, ed25519.Ed25519PublicKey)):
        raise UnsupportedAlgorithm(_UNKNOWN_ALGORITHM)
    algorithm = request.signature_hash_algorithm
    if algorithm is not None and algorithm.name in ("md5", "sha1"):
        hash = algorithm.name.upper()
        name = f"{hash}-RSA" if isinstance(key, rsa.RSAPublicKey) else f"ECDSA-{hash}"
        raise ValueError(f"x509: cannot verify signature: insecure algorithm {name}")
    if not request.is_signature_valid:
        raise InvalidSignature


#: The elliptic curves of Go's `crypto/x509`.
_CURVES = frozenset({"secp224r1", "secp256r1", "secp384r1", "secp521r1"})


def _failure(key: Any) -> str:
    """Go's message for a signature that does not verify."""
    from cryptography.hazmat.primitives.asymmetric import ec, rsa

    if isinstance(key, rsa.RSAPublicKey):
        return "crypto/rsa: verification error"
    return f"x509: {'ECDSA' if isinstance(key, ec.EllipticCurvePublicKey) else 'Ed25519'} verification failure"


def request_common_name(encoded: str) -> str:
    """The common name of the subject of a certificate request ("": none). Raises ValueError."""
    from cryptography.x509.oid import NameOID

    names = parsed_request(encoded).subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    return str(names[-1].value) if names else ""


def request_organizations(encoded: str) -> list[str]:
    """The organizations of the subject of a certificate request. Raises ValueError."""
    from cryptography.x509.oid import NameOID

    return [str(one.value) for one in parsed_request(encoded).subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)]


def certificate_problem(encoded: str) -> str:
    """Returns the problem of PEM certificates; "" if they are valid or absent."""
    if not encoded:
        return ""
    blocks = list(_PEM.finditer(_decoded(encoded)))
    for block in blocks:
        if block[1] != "CERTIFICATE":
            return f"only CERTIFICATE PEM blocks are allowed, found {go_quote(block[1])}"
        if _HEADER.search(block[2]):
            return "no PEM block headers are permitted"
        try:
            der = _content(block[2])
        except binascii.Error:
            return "must contain at least one CERTIFICATE PEM block"
        if not der:
            return "found CERTIFICATE PEM block containing 0 certificates"
        problem = _certificate_problem(der)
        if problem:
            return problem
    return "" if blocks else "must contain at least one CERTIFICATE PEM block"


def _certificate_problem(der: bytes) -> str:
    """Returns the problem of a certificate, with Go's message for the two outermost layers; "" if it is valid."""
    from cryptography import x509

    if der[0] != _SEQUENCE:
        return "x509: malformed certificate"
    try:
        x509.load_der_x509_certificate(der)
    except ValueError:
        return "x509: malformed tbs certificate"
    return ""
