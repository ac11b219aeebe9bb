"""Loads the real `datetime` into extension modules that cache the class on first use.

`cryptography` does; if it caches the frozen one, every certificate fails for the rest of the process.
"""

import base64
import sys

#: A minimal self-signed certificate, valid from 1970 to 2200, to make it parse a date.
_CERTIFICATE = base64.b64decode(
    "MIGtMGGgAwIBAgIBATAFBgMrZXAwADAgFw03MDAxMDEwMDAwMDBaGA8yMjAwMDEwMTAwMDAwMFowADAqMAUGAytlcAMhAEyfuYGq523zYTsWreM6"
    "kdFkiqkNRtvT1qm1tkqApdgqMAUGAytlcANBAMR0qwaZpgwEI85PO6nQuSvEU3PWq4DEBWY25iOHbsw4OmJ8kSg7R2bsBqzCuqR7gjkwVCjojmZN"
    "q9VBKGu7TQA="
)

_MODULE = "cryptography.x509"
#: The libraries that have cached the real class. Process-wide, as their caches are.
_cached: set[str] = set()


def cache_real_datetime() -> None:
    """Make the loaded ones cache the real `datetime`; must be called while nothing is frozen."""
    x509 = sys.modules.get(_MODULE)
    if _MODULE in _cached or not hasattr(x509, "load_der_x509_certificate"):
        return
    _cached.add(_MODULE)
    certificate = x509.load_der_x509_certificate(_CERTIFICATE)  # type: ignore[union-attr]
    getattr(certificate, "not_valid_before_utc", None)  # since version 42; older ones do not cache it
