"""A certificate authority for one server, created with trustme."""

from __future__ import annotations

import ssl
from collections.abc import Sequence

import trustme


class Authority:
    """A CA. Its certificates are valid from 2000 to 3000, so that they are accepted under a frozen clock."""

    def __init__(self) -> None:
        self._ca = trustme.CA(organization_name="fakekube")

    @property
    def certificate(self) -> bytes:
        """The CA's certificate, PEM."""
        return self._ca.cert_pem.bytes()

    def server_context(
        self, names: Sequence[str] = ("localhost", "127.0.0.1", "::1"), *, client_ca: str = ""
    ) -> ssl.SSLContext:
        """A context for a server; the first name is the subject of its certificate.

        Clients may present certificates that `client_ca` (PEM) has signed, and no others. Raises SSLError if it is not
        PEM.
        """
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        self._ca.issue_cert(*dict.fromkeys(names)).configure_cert(context)
        if client_ca:
            context.load_verify_locations(cadata=client_ca)
            context.verify_mode = ssl.CERT_OPTIONAL
        return context

    def client_context(self) -> ssl.SSLContext:
        """A context for a client that trusts this CA."""
        context = ssl.create_default_context()
        self._ca.configure_trust(context)
        return context
