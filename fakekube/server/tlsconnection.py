"""TLS for a server that asks clients for certificates and verifies them after the handshake, as kube-apiserver does
(`tls.RequestClientCert`), so that a certificate which is not valid gets an answer.

Python's `ssl` module ends the handshake in that case. pyOpenSSL does not; this module gives it the interface of
`ssl.SSLContext` and `ssl.SSLObject`, as far as asyncio uses them.
"""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from cryptography import x509
from OpenSSL import SSL

from fakekube.apiserver.auth.clientcertificate import ClientCertificate, client_certificate

#: OpenSSL resumes sessions of clients with certificates only under a context with a name.
_SESSIONS = b"fakekube"


#: The size of a TLS record with its header.
RECORD = 16 * 1024 + 256


class RequestingContext:
    """A server's TLS context: its certificate, and the CAs of client certificates, whose names the server sends."""

    client_cas: Sequence[x509.Certificate]

    def __init__(self, chain: Sequence[bytes], key: bytes, client_cas: Sequence[x509.Certificate]) -> None:
        """`chain` and `key` are PEM. Raises ValueError."""
        from cryptography.hazmat.primitives.serialization import load_pem_private_key

        self.client_cas = client_cas
        own, *others = (x509.load_pem_x509_certificate(one) for one in chain)
        context = self._context = SSL.Context(SSL.TLS_SERVER_METHOD)
        context.set_min_proto_version(SSL.TLS1_2_VERSION)
        context.use_certificate(own)
        for one in others:
            context.add_extra_chain_cert(one)
        private: Any = load_pem_private_key(key, None)
        context.use_privatekey(private)
        context.set_session_id(_SESSIONS)
        context.set_verify(SSL.VERIFY_PEER, _accept)
        for ca in client_cas:
            context.add_client_ca(ca)

    def wrap_bio(
        self,
        incoming: ssl.MemoryBIO,
        outgoing: ssl.MemoryBIO,
        server_side: bool = False,
        server_hostname: str | None = None,
    ) -> Connection:
        return Connection(self, self._context, incoming, outgoing)


def _accept(*_: Any) -> bool:
    """Accept every certificate; the authenticator verifies it."""
    return True


class Connection:
    """One connection; the methods are those of `ssl.SSLObject`."""

    context: RequestingContext

    def __init__(
        self, owner: RequestingContext, context: SSL.Context, incoming: ssl.MemoryBIO, outgoing: ssl.MemoryBIO
    ) -> None:
        self.context, self._incoming, self._outgoing = owner, incoming, outgoing
        self._tls = SSL.Connection(context, None)
        self._tls.set_accept_state()
        self._open = False

    def do_handshake(self) -> None:
        self._run(self._tls.do_handshake)
        self._flush()
        self._open = True

    def read(self, size: int = 65536, buffer: Any = None) -> Any:
        """Bytes, or their number if they are written to `buffer`; nothing at the end of the stream."""
        data = self._run(self._tls.recv, min(size, RECORD))
        if buffer is None:
            return data
        buffer[: len(data)] = data
        return len(data)

    def write(self, data: Any) -> int:
        size = int(self._run(self._tls.send, data))
        self._flush()
        return size

    def unwrap(self) -> None:
        self._open = False
        done = self._run(self._tls.shutdown)
        self._flush()
        if not done:
            raise ssl.SSLWantReadError

    def getpeercert(self, binary_form: bool = False) -> None:
        """None: the handshake has not verified the certificate. See `client_certificate`."""

    @cached_property
    def client_certificate(self) -> ClientCertificate | None:
        """The certificate of the client; None if it has presented none."""
        own = self._tls.get_peer_certificate(as_cryptography=True)
        if own is None:
            return None
        others = self._tls.get_peer_cert_chain(as_cryptography=True) or ()  # on a server without its own
        return client_certificate((own, *others), self.context.client_cas)

    def cipher(self) -> tuple[str | None, str | None, int | None]:
        return self._tls.get_cipher_name(), self._tls.get_cipher_version(), self._tls.get_cipher_bits()

    def compression(self) -> None:
        """None: TLS is not compressed."""

    def _run(self, operation: Any, *arguments: Any) -> Any:
        """Run an operation between the two buffers. Raises the errors of `ssl`."""
        if self._incoming.pending:
            self._tls.bio_write(self._incoming.read())
        try:
            result = operation(*arguments)
        except SSL.WantReadError:
            if not self._open:
                self._flush()
            raise ssl.SSLWantReadError from None
        except SSL.ZeroReturnError:
            return b""
        except SSL.Error as error:
            self._flush()  # an alert
            raise ssl.SSLError(1, _text(error)) from None
        return result

    def _flush(self) -> None:
        try:
            while self._outgoing.write(self._tls.bio_read(RECORD)) == RECORD:
                pass
        except SSL.WantReadError:
            pass


def _text(error: SSL.Error) -> str:
    found = error.args[0] if error.args else ()
    return ", ".join(" ".join(filter(None, one)) for one in found) if isinstance(found, list) else str(error)
