"""PEM blocks of certificates and of requests for them."""

from __future__ import annotations

import base64
import binascii
import re

from fakekube.apiserver.wire.goprint import go_quote

_PEM = re.compile(r"-----BEGIN ([^\n]+?)-----[ \t]*\r?\n(.*?)-----END \1-----", re.DOTALL)

_HEADER = re.compile(r"^[^\n:]+:", re.MULTILINE)


def _decoded(encoded: str) -> str:
    try:
        return base64.b64decode(encoded, validate=True).decode("latin-1")
    except binascii.Error:
        return ""


def request_der(encoded: str) -> bytes | None:
    """Returns the request from base64 of PEM; None if it is not one."""
    block = _PEM.search(_decoded(encoded))
    if block is None or block[1] != "CERTIFICATE REQUEST":
        return None
    try:
        return base64.b64decode("".join(block[2].split()), validate=True)
    except binascii.Error:
        return None


def request_problem(encoded: str) -> str:
    """Returns the problem of a PEM certificate request; "" if it is valid. The signature is not verified."""
    der = request_der(encoded)
    if der is None:
        return "PEM block type must be CERTIFICATE REQUEST"
    return "" if der[:1] == b"\x30" else "asn1: structure error: tags don't match"


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
            der = base64.b64decode("".join(block[2].split()), validate=True)
        except binascii.Error:
            return "must contain at least one CERTIFICATE PEM block"
        if der[:1] != b"\x30":
            return "x509: malformed certificate"
    return "" if blocks else "must contain at least one CERTIFICATE PEM block"
