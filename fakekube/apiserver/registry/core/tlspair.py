"""A certificate and its key in a Secret (Go's `crypto/tls.X509KeyPair`)."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Sequence

_PEM = re.compile(r"-----BEGIN ([^\n]+?)-----[ \t]*\r?\n.*?-----END \1-----", re.DOTALL)


def pair_problem(certificate: str, key: str) -> str:
    """The problem of a certificate and a key in base64 of PEM; "" if there is none. The DER inside is not read."""
    found = _types(certificate)
    if "CERTIFICATE" not in found:
        return _no_certificate(found)
    found = _types(key)
    if not any(one == "PRIVATE KEY" or one.endswith(" PRIVATE KEY") for one in found):
        return _no_key(found)
    return ""


def _types(encoded: str) -> list[str]:
    try:
        text = base64.b64decode(encoded, validate=True).decode("latin-1")
    except binascii.Error:
        return []
    return [block[1] for block in _PEM.finditer(text)]


def _no_certificate(found: Sequence[str]) -> str:
    if not found:
        return "tls: failed to find any PEM data in certificate input"
    if len(found) == 1 and found[0].endswith("PRIVATE KEY"):
        return (
            "tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may "
            "have been switched"
        )
    return (
        'tls: failed to find "CERTIFICATE" PEM block in certificate input after skipping PEM blocks of the following '
        f"types: [{' '.join(found)}]"
    )


def _no_key(found: Sequence[str]) -> str:
    if not found:
        return "tls: failed to find any PEM data in key input"
    if list(found) == ["CERTIFICATE"]:
        return "tls: found a certificate rather than a key in the PEM for the private key"
    return (
        'tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input after skipping PEM blocks of the '
        f"following types: [{' '.join(found)}]"
    )
