"""An event loop that connects its own clients to its own servers by pipes, and counts the bytes of all others."""

import asyncio
import selectors
import socket
from collections.abc import Callable
from contextvars import copy_context
from typing import Any

from fakekube.virtualtime.network.network import Listener, Network, TransportKind
from fakekube.virtualtime.network.pipes import PipeTransport


class NetworkLoop(asyncio.SelectorEventLoop):
    """Overrides the private methods with which asyncio creates transports and listening sockets.

    So it works for every client without configuration: `create_connection`, `open_connection`, aiohttp, anyio.
    """

    _selector: selectors.BaseSelector

    def __init__(self, selector: selectors.BaseSelector, transport: TransportKind) -> None:
        super().__init__(selector)
        self.network: Network = Network(self, transport)

    def _start_serving(
        self, protocol_factory: Any, sock: Any, sslcontext: Any = None, server: Any = None, *args: Any, **kwargs: Any
    ) -> None:
        super()._start_serving(protocol_factory, sock, sslcontext, server, *args, **kwargs)  # type: ignore[misc]
        self.network.listen(sock, Listener(protocol_factory, sslcontext, server, copy_context()))

    def _stop_serving(self, sock: socket.socket) -> None:
        self.network.stop_listening(sock)
        super()._stop_serving(sock)  # type: ignore[misc]

    def _make_socket_transport(
        self, sock: Any, protocol: Any, waiter: Any = None, *, extra: Any = None, server: Any = None
    ) -> Any:
        if server is not None:
            sock = self.network.server_end(sock, self._reads(sock.fileno()))
        elif (ends := self.network.transport(sock, protocol, None)) is not None:
            return self._piped(ends, waiter)
        else:
            sock = self.network.client_end(sock, self._reads(sock.fileno()))
        return super()._make_socket_transport(sock, protocol, waiter, extra=extra, server=server)  # type: ignore[misc]

    def _make_ssl_transport(
        self,
        rawsock: Any,
        protocol: Any,
        sslcontext: Any,
        waiter: Any = None,
        *,
        server_side: bool = False,
        **rest: Any,
    ) -> Any:
        if server_side:
            rawsock = self.network.server_end(rawsock, self._reads(rawsock.fileno()))
        elif (
            ends := self.network.transport(rawsock, protocol, sslcontext or True, rest.get("server_hostname"))
        ) is not None:
            return self._piped(ends, waiter)
        else:
            rawsock = self.network.client_end(rawsock, self._reads(rawsock.fileno()))
        return super()._make_ssl_transport(  # type: ignore[misc]
            rawsock, protocol, sslcontext, waiter, server_side=server_side, **rest
        )

    def _piped(self, ends: tuple[PipeTransport, PipeTransport], waiter: asyncio.Future[None] | None) -> PipeTransport:
        if waiter is not None:
            self.call_soon(_resolve, waiter)
        return ends[0]

    def _reads(self, fd: int) -> Callable[[], bool]:
        """Returns a function: whether the transport of this descriptor is reading, that is, not paused."""

        def reads() -> bool:
            key = self._selector.get_map().get(fd)
            return key is not None and bool(key.events & selectors.EVENT_READ)

        return reads

    async def sock_connect(self, sock: socket.socket, address: Any) -> None:
        self.network.check(address)
        if not self.network.connect(sock, address):
            await super().sock_connect(sock, address)

    def _sock_connect(self, fut: Any, sock: socket.socket, address: Any) -> None:
        super()._sock_connect(fut, sock, address)  # type: ignore[misc]
        self.network.connecting(sock, address)

    async def sock_recv(self, sock: socket.socket, nbytes: int) -> bytes:
        self.network.connect_socket(sock)
        return await super().sock_recv(sock, nbytes)

    async def sock_recv_into(self, sock: socket.socket, buf: Any) -> int:
        self.network.connect_socket(sock)
        return await super().sock_recv_into(sock, buf)

    async def sock_sendall(self, sock: socket.socket, data: Any) -> None:
        self.network.connect_socket(sock)
        await super().sock_sendall(sock, data)


def _resolve(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)
