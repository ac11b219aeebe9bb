"""A certificate authority for one server, created with trustme."""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import trustme

if TYPE_CHECKING:
    from fakekube.server.tlsconnection import RequestingContext

#: The identity of the administrator's certificate, as in kubeadm's `admin.conf`.
ADMINISTRATOR, ADMINISTRATORS = "kubernetes-admin", "system:masters"


class Credentials(NamedTuple):
    """A client certificate and its private key, PEM."""

    certificate: bytes
    key: bytes


class Authority:
    """A CA. Its certificates are valid from 2000 to 3000, so that they are accepted under a frozen clock."""

    def __init__(self) -> None:
        self._ca = trustme.CA(organization_name="fakekube")

    @property
    def certificate(self) -> bytes:
        """The CA's certificate, PEM."""
        return self._ca.cert_pem.bytes()

    @property
    def key(self) -> bytes:
        """The CA's private key, PEM."""
        return self._ca.private_key_pem.bytes()

    def server_context(self, names: Sequence[str] = ("localhost", "127.0.0.1", "::1")) -> ssl.SSLContext:
        """A context for a server without client certificates; the first name is the subject of its certificate."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        self._ca.issue_cert(*dict.fromkeys(names)).configure_cert(context)
        return context

    def requesting_context(
        self, names: Sequence[str] = ("localhost", "127.0.0.1", "::1"), *, client_ca: bytes = b""
    ) -> RequestingContext:
        """A context for a server that requests client certificates of this CA and of `client_ca` (PEM).

        Raises ValueError if `client_ca` has no certificates.
        """
        from cryptography import x509

        from fakekube.server.tlsconnection import RequestingContext

        own = self._ca.issue_cert(*dict.fromkeys(names))
        trusted = x509.load_pem_x509_certificates(self.certificate)
        if client_ca:
            trusted += x509.load_pem_x509_certificates(client_ca)
        chain = [one.bytes() for one in own.cert_chain_pems]
        return RequestingContext(chain, own.private_key_pem.bytes(), trusted)

    def administrator(self) -> Credentials:
        """A client certificate of the administrator."""
        made = self._ca.issue_cert("admin", common_name=ADMINISTRATOR, organization_name=ADMINISTRATORS)
        chain = b"".join(one.bytes() for one in made.cert_chain_pems)
        return Credentials(chain, made.private_key_pem.bytes())

    def client_context(self) -> ssl.SSLContext:
        """A context for a client that trusts this CA."""
        context = ssl.create_default_context()
        self._ca.configure_trust(context)
        return context


class FrontProxy:
    """The certificate by which aggregated API servers recognize the server (`--proxy-client-cert-file`)."""

    NAME = "front-proxy-client"

    def __init__(self) -> None:
        authority = trustme.CA(organization_name="fakekube front proxy")
        self._certificate = authority.issue_cert(common_name=self.NAME)
        self.ca: str = authority.cert_pem.bytes().decode()
        """The CA's certificate, PEM (`--requestheader-client-ca-file`)."""

    def present(self, context: ssl.SSLContext) -> None:
        """Present the certificate in the connections of a context."""
        self._certificate.configure_cert(context)
