"""A certificate authority for one server, created with trustme."""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from datetime import datetime
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
    """A CA. Its certificates are valid from 2000 to 3000, so that they are accepted under a frozen clock.

    `secret`: the key and the certificate of the CA follow from this number, so that they are the same in each run of a
    test; None: they are random.
    """

    def __init__(self, secret: int | None = None) -> None:
        self._ca = trustme.CA(organization_name="fakekube") if secret is None else _repeatable(secret)

    @classmethod
    def of(cls, certificate: bytes, key: bytes) -> Authority:
        """A CA that was made earlier, from its certificate and its key (PEM)."""
        made = cls.__new__(cls)
        made._ca = trustme.CA.from_pem(certificate, key)
        return made

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

    def server_credentials(self, names: Sequence[str] = ("localhost", "127.0.0.1", "::1")) -> Credentials:
        """The certificate and the private key of a server with these names, for another process."""
        made = self._ca.issue_cert(*dict.fromkeys(names))
        return Credentials(b"".join(one.bytes() for one in made.cert_chain_pems), made.private_key_pem.bytes())

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


def _repeatable(secret: int) -> trustme.CA:
    """The CA whose private key is derived from a number; its signature of itself is deterministic (RFC 6979)."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    key = ec.derive_private_key(1 + secret % 2**255, ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.ORGANIZATION_NAME, "fakekube")])
    valid = datetime(2000, 1, 1), datetime(3000, 1, 1)  # without a zone, as X.509 has it
    made = x509.CertificateBuilder(name, name, key.public_key(), 1 + secret % 2**100, *valid)
    made = made.add_extension(x509.BasicConstraints(ca=True, path_length=9), critical=True)
    made = made.add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    uses = dict.fromkeys(("content_commitment", "key_encipherment", "data_encipherment", "key_agreement"), False)
    usage = x509.KeyUsage(True, **uses, key_cert_sign=True, crl_sign=True, encipher_only=False, decipher_only=False)
    signed = made.add_extension(usage, critical=True).sign(key, hashes.SHA256(), ecdsa_deterministic=True)
    private = key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
    return trustme.CA.from_pem(signed.public_bytes(Encoding.PEM), private)


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
