"""Two doors, one address: who on the loop dials what the loop serves gets a pipe, everybody else real TCP."""

import asyncio
import itertools
import socket
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from fakekube.virtualtime.network import handshake
from fakekube.virtualtime.network.bytecount import Address, Connection, Connections, CountedSocket
from fakekube.virtualtime.network.pipes import PipeTransport, Protocol, pipe

TransportKind = Literal["memory", "tcp"]

#: Ports of the clients of pipes: where Linux' own ephemeral ports end, so that logs cannot confuse the two.
_FIRST_PIPE_PORT = 61000


@dataclass(frozen=True, slots=True)
class Listener:
    """What a listening socket of the loop makes of a new connection."""

    factory: Callable[[], Protocol]
    sslcontext: object
    server: asyncio.Server | None


class Network:
    """The addresses that the loop serves, and the connections to them."""

    def __init__(self, loop: asyncio.AbstractEventLoop, transport: TransportKind) -> None:
        self._loop = loop
        self._transport = transport
        self._listeners: dict[Address, Listener] = {}
        self._dialled: weakref.WeakKeyDictionary[socket.socket, Address] = weakref.WeakKeyDictionary()
        self._agreed: dict[tuple[object, object, str | None], bool] = {}
        self._ports = itertools.count(_FIRST_PIPE_PORT)
        self._pipes: weakref.WeakSet[PipeTransport] = weakref.WeakSet()
        self.connections = Connections()

    # --- the served addresses

    def listen(self, sock: socket.socket, listener: Listener) -> None:
        if (address := _inet(sock.getsockname())) is not None:
            self._listeners[address] = listener

    def servers(self) -> Iterator[asyncio.Server]:
        """Those that still listen."""
        return (each.server for each in tuple(self._listeners.values()) if each.server is not None)

    def stop_listening(self, sock: socket.socket) -> None:
        if (address := _name(sock)) is not None:
            self._listeners.pop(address, None)
        if not self._listeners:
            self.connections.refuse_pending()

    def served(self, address: object) -> Listener | None:
        """The listener behind an address (of numbers), if it is one of ours."""
        wanted = _inet(address)
        if wanted is None or not self._listeners:
            return None
        for host in (wanted[0], "0.0.0.0", "::"):
            if (listener := self._listeners.get((host, wanted[1]))) is not None:
                return listener
        return None

    # --- dialling from the loop

    def dial(self, sock: socket.socket, address: object) -> bool:
        """A client on the loop connects `sock`: whether that can be left to `transport` (nothing real is done yet)."""
        wanted = _inet(address)
        if self._transport == "tcp" or wanted is None or self.served(wanted) is None:
            return False
        self._dialled[sock] = wanted
        return True

    def transport(
        self, sock: socket.socket, protocol: Protocol, sslcontext: object, hostname: str | None = None
    ) -> tuple[PipeTransport, PipeTransport] | None:
        """The ends of a pipe for a socket that has dialled us, the client's first; None: it is a real connection."""
        address = self._dialled.pop(sock, None)
        if address is None:
            return None
        listener = self.served(address)
        if listener is None or not self._agree(sslcontext, listener.sslcontext, hostname):
            # gone meanwhile, TLS against plain text, a certificate not trusted: real TCP fails as it should
            self._dialled[sock] = address
            self.connect_really(sock)
            return None
        sock.close()
        ends = pipe(
            self._loop,
            protocol,
            listener.factory(),
            ((address[0], next(self._ports)), address),
            (sslcontext, listener.sslcontext),
        )
        self._pipes.update(ends)
        return ends

    def _agree(self, client: object, server: object, hostname: str | None) -> bool:
        """Whether both speak plain text, or both TLS and trust each other."""
        if client is None or server is None:
            return client is server
        key = (client, server, hostname)
        if key not in self._agreed:
            self._agreed[key] = handshake.succeeds(client, server, hostname)
        return self._agreed[key]

    def connect_really(self, sock: socket.socket) -> None:
        """Somebody wants to use a dialled socket as a socket: connect it after all."""
        address = self._dialled.pop(sock, None)
        if address is not None:
            sock.connect_ex(address)
            self.connecting(sock, address)

    # --- real connections

    def connecting(self, sock: socket.socket, address: object) -> Connection | None:
        """A client of the bubble has called connect: the ledger's connection, if it leads to us."""
        client = _name(sock)
        if client is None or self.served(address) is None:
            return None
        return self.connections.dialled(client)

    def server_end(self, sock: socket.socket, reads: Callable[[], bool]) -> socket.socket:
        """Put an accepted socket into the ledger."""
        client = _peer(sock)
        if client is None:
            return sock
        connection = self.connections.accepted(client)
        connection.up.reads = reads
        connections = self.connections
        if connection.external:
            for signal in (connection.up.drained, connection.down.arrived):
                signal.add(connections.external_moved.notify)
        return CountedSocket.of(
            sock, sends=connection.down, takes=connection.up, at_close=lambda: connections.closed(connection)
        )

    def client_end(self, sock: socket.socket, reads: Callable[[], bool]) -> socket.socket:
        """Put a connected socket of a client on the loop into the ledger, if it leads to us."""
        client = _name(sock)
        connection = self.connections.find(client)
        if connection is None:
            return sock
        down = connection.down
        down.reads = reads
        return CountedSocket.of(sock, sends=connection.up, takes=down, at_close=down.stop_reading)

    def open_pipes(self) -> Iterator[PipeTransport]:
        return (end for end in sorted(self._pipes, key=_port) if not end.is_closing())


def _port(end: PipeTransport) -> tuple[Any, Any]:
    return end.get_extra_info("sockname"), end.get_extra_info("peername")


def _inet(address: object) -> Address | None:
    if isinstance(address, tuple) and len(address) >= 2 and isinstance(address[0], str) and isinstance(address[1], int):
        return address[0], address[1]
    return None


def _name(sock: socket.socket) -> Address | None:
    try:
        return _inet(sock.getsockname())
    except OSError:
        return None


def _peer(sock: socket.socket) -> Address | None:
    try:
        return _inet(sock.getpeername())
    except OSError:
        return None
