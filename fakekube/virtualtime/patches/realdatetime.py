"""Libraries in C or Rust that keep for good whatever `datetime` they meet first: it must be the real one.

`cryptography` does, when it first makes or reads a date; met frozen, every certificate after it fails in this process.
"""

import base64
import sys

#: The smallest thing with a date in it that it reads: a self-signed certificate, 1970 to 2200.
_CERTIFICATE = base64.b64decode(
    "MIGtMGGgAwIBAgIBATAFBgMrZXAwADAgFw03MDAxMDEwMDAwMDBaGA8yMjAwMDEwMTAwMDAwMFowADAqMAUGAytlcAMhAEyfuYGq523zYTsWreM6"
    "kdFkiqkNRtvT1qm1tkqApdgqMAUGAytlcANBAMR0qwaZpgwEI85PO6nQuSvEU3PWq4DEBWY25iOHbsw4OmJ8kSg7R2bsBqzCuqR7gjkwVCjojmZN"
    "q9VBKGu7TQA="
)

_MODULE = "cryptography.x509"
_met: set[str] = set()


def meet_real_time() -> None:
    """Let those that are loaded meet the real `datetime`; call it while nothing is frozen."""
    x509 = sys.modules.get(_MODULE)
    if _MODULE in _met or not hasattr(x509, "load_der_x509_certificate"):
        return
    _met.add(_MODULE)
    certificate = x509.load_der_x509_certificate(_CERTIFICATE)  # type: ignore[union-attr]
    getattr(certificate, "not_valid_before_utc", None)  # since version 42; those before it ask `datetime` each time
