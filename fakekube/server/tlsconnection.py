"""TLS for a server that asks clients for certificates and verifies them after the handshake, as kube-apiserver does
(`tls.RequestClientCert`), so that a certificate which is not valid gets an answer.

Python's `ssl` module ends the handshake in that case. pyOpenSSL does not; this module makes it a transport of asyncio.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, cast

from cryptography import x509
from OpenSSL import SSL

from fakekube.apiserver.auth.clientcertificate import ClientCertificate, client_certificate

#: OpenSSL resumes sessions of clients with certificates only under a context with a name.
_SESSIONS = b"fakekube"

#: The size of a TLS record with its header.
RECORD = 16 * 1024 + 256

#: Seconds in which a client must complete the handshake, as many as for the head of a request (`ReadHeaderTimeout`).
HANDSHAKE_TIMEOUT = 32.0

_HTTP_1 = b"http/1.1"

#: How a client begins that does not know of TLS, and the answer of Go's server (`tlsRecordHeaderLooksLikeHTTP`).
_HTTP = (b"GET /", b"HEAD ", b"POST ", b"PUT /", b"OPTIO")
_NOT_HTTPS = b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n"


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
        context.set_options(SSL.OP_NO_RENEGOTIATION)
        context.use_certificate(own)
        for one in others:
            context.add_extra_chain_cert(one)
        private: Any = load_pem_private_key(key, None)
        context.use_privatekey(private)
        context.set_session_id(_SESSIONS)
        context.set_verify(SSL.VERIFY_PEER, _accept)
        context.set_alpn_select_callback(_selected)
        for ca in client_cas:
            context.add_client_ca(ca)

    def secured(self, protocol: asyncio.Protocol) -> TlsTransport:
        """A connection of this server, whose `protocol` sees what TLS transports."""
        return TlsTransport(self, SSL.Connection(self._context, None), protocol)


def _selected(connection: SSL.Connection, offered: Sequence[bytes]) -> Any:
    """The protocol of a connection: HTTP/1.1, if the client offers it (ALPN)."""
    return _HTTP_1 if _HTTP_1 in offered else SSL.NO_OVERLAPPING_PROTOCOLS


def _accept(*_: Any) -> bool:
    """Accept every certificate; the authenticator verifies it."""
    return True


class TlsTransport(asyncio.Transport, asyncio.Protocol):
    """The server's end of a connection with TLS: the transport of a protocol, and the protocol of the transport below.

    asyncio's own (`asyncio.sslproto`) makes several more calls for each record. Unlike there, what has arrived before
    `pause_reading` is delivered after it, too.
    """

    _below: asyncio.Transport

    def __init__(self, context: RequestingContext, tls: SSL.Connection, protocol: asyncio.Protocol) -> None:
        super().__init__()
        self._context, self._tls, self._protocol = context, tls, protocol
        tls.set_accept_state()
        self._open = self._closing = False
        self._timer: asyncio.TimerHandle | None = None
        #: Whether it is known where records begin, and the bytes of the last one that have not arrived yet.
        self._aligned, self._missing = True, 0

    @cached_property
    def client_certificate(self) -> ClientCertificate | None:
        """The certificate of the client; None if it has presented none."""
        own = self._tls.get_peer_certificate(as_cryptography=True)
        if own is None:
            return None
        others = self._tls.get_peer_cert_chain(as_cryptography=True) or ()  # a server's chain is without `own`
        return client_certificate((own, *others), self._context.client_cas)

    # --- the protocol of the transport below ------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._below = cast("asyncio.Transport", transport)
        self._timer = asyncio.get_running_loop().call_later(HANDSHAKE_TIMEOUT, transport.close)

    def data_received(self, data: bytes) -> None:
        if self._closing:
            return
        self._tls.bio_write(data)
        records = self._records(data)
        if self._open:
            self._deliver(records)
        elif self._handshaken(data):
            self._deliver(None)

    def _records(self, data: bytes) -> int | None:
        """The number of records of which `data` has the end; None: it may end within one.

        After a header that arrives in parts it is None for ever, which costs one more read each time.
        """
        if not self._aligned:
            return None
        at, count, size = self._missing, 1 if self._missing else 0, len(data)
        while at + 5 <= size:
            at += 5 + (data[at + 3] << 8 | data[at + 4])
            count += 1
        self._missing, self._aligned = at - size, at >= size
        return count if at == size else None

    def _deliver(self, records: int | None) -> None:
        """Give the protocol what has arrived. `records`: as many reads suffice; None: until nothing is left."""
        receive = self._tls.recv
        try:
            while records != 0 and not self._closing:
                self._protocol.data_received(receive(RECORD))
                records = records - 1 if records else None
        except SSL.WantReadError:
            self._flush()  # a message of TLS itself may have an answer
        except SSL.ZeroReturnError:
            self._protocol.eof_received()
            self.close()
        except SSL.Error:
            self._closing = True
            self._flush()  # an alert
            self._below.close()

    def _handshaken(self, data: bytes) -> bool:
        """Go on with the handshake. Returns whether it is complete."""
        try:
            self._tls.do_handshake()
        except SSL.WantReadError:
            self._flush()
            return False
        except SSL.Error:
            if data.startswith(_HTTP):
                self._below.write(_NOT_HTTPS)
            else:
                self._flush()  # an alert
            self._below.close()
            return False
        self._flush()
        self._stop_timer()
        self._open = True
        self._protocol.connection_made(self)
        return True

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _flush(self, size: int = RECORD) -> None:
        """Send what TLS has written: at most `size` bytes at once."""
        try:
            while True:
                data = self._tls.bio_read(size)
                self._below.write(data)
                if len(data) < size:
                    return
        except SSL.WantReadError:
            pass

    def eof_received(self) -> None:
        """Both directions end; one cannot be closed alone before TLS 1.3."""
        if self._open:
            self._protocol.eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        self._closing = True
        self._stop_timer()
        if self._open:
            self._protocol.connection_lost(exc)

    def pause_writing(self) -> None:
        if self._open:
            self._protocol.pause_writing()

    def resume_writing(self) -> None:
        if self._open:
            self._protocol.resume_writing()

    # --- the transport of the protocol ------------------------------------------------------------------------------

    def write(self, data: bytes | bytearray | memoryview) -> None:
        size = len(data)
        if size and not self._closing:
            try:
                self._tls.sendall(data)
            except SSL.Error:
                self.abort()
                return
            self._flush(max(RECORD, size + (size >> 8) + 256))  # each record of 16 KiB has some 30 bytes more

    def writelines(self, list_of_data: Iterable[bytes | bytearray | memoryview]) -> None:
        self.write(b"".join(list_of_data))

    def close(self) -> None:
        if self._closing:
            return
        self._closing = True
        with contextlib.suppress(SSL.Error):
            self._tls.shutdown()
        self._flush()
        self._below.close()

    def abort(self) -> None:
        self._closing = True
        self._below.abort()

    def is_closing(self) -> bool:
        return self._closing or self._below.is_closing()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        match name:
            case "sslcontext":
                return self._context
            case "ssl_object":
                return self  # for `client_certificate`
        return self._below.get_extra_info(name, default)

    def get_protocol(self) -> asyncio.BaseProtocol:
        return self._protocol

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._protocol = cast("asyncio.Protocol", protocol)

    def is_reading(self) -> bool:
        return self._below.is_reading()

    def pause_reading(self) -> None:
        self._below.pause_reading()

    def resume_reading(self) -> None:
        self._below.resume_reading()

    def get_write_buffer_size(self) -> int:
        return self._below.get_write_buffer_size()

    def get_write_buffer_limits(self) -> tuple[int, int]:
        return self._below.get_write_buffer_limits()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self._below.set_write_buffer_limits(high, low)

    def can_write_eof(self) -> bool:
        return False
