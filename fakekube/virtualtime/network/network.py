"""The servers of a loop: clients on the same loop reach them through a pipe, all others by TCP, at one address."""

import _socket
import asyncio
import errno
import itertools
import socket
import ssl
import weakref
from collections.abc import Callable, Iterator
from contextvars import Context
from typing import Any, Literal

from fakekube.struct import Struct
from fakekube.virtualtime.network import handshake
from fakekube.virtualtime.network.bytecount import Connection, Connections, CountedSocket
from fakekube.virtualtime.network.inplace import Answering, Exchange
from fakekube.virtualtime.network.pipes import PipeTransport, Protocol, pipe
from fakekube.virtualtime.network.threadservers import ThreadServers
from fakekube.virtualtime.simulatedprocess import SimulatedProcess, current_client
from fakekube.virtualtime.socketaddresses import Address, Route, name_of, numeric, peer_of, route

TransportKind = Literal["memory", "tcp"]

#: The client ports of pipes begin above Linux' ephemeral ports, so that logs distinguish the two.
_FIRST_PIPE_PORT = 61000

#: The addresses of `localhost`.
_LOCALHOST = ("127.0.0.1", "::1")


class Listener(Struct, frozen=True):
    """A listening socket of the loop: how it creates the protocol of a connection, and the context of its owner."""

    factory: Callable[[], Protocol]
    sslcontext: object
    server: asyncio.Server | None
    context: Context


class Network:
    """The addresses on which servers of the loop listen, and the connections to them."""

    def __init__(self, loop: asyncio.AbstractEventLoop, transport: TransportKind) -> None:
        self._loop = loop
        self._transport = transport
        self._listeners: dict[Address, Listener] = {}
        self._connects: weakref.WeakKeyDictionary[socket.socket, Address] = weakref.WeakKeyDictionary()
        self._handshakes: dict[tuple[object, object, str | None], bool] = {}
        self._ports = itertools.count(_FIRST_PIPE_PORT)
        self._answering: dict[int, Answering] = {}
        self._secure_answering: dict[int, tuple[Answering, ssl.SSLContext]] = {}
        self._pipes: weakref.WeakSet[PipeTransport] = weakref.WeakSet()
        self.connections: Connections = Connections()
        #: the ports of servers that are down
        self.down: set[int] = set()
        self._processes: dict[Route, SimulatedProcess] = {}
        self.thread_servers: ThreadServers = ThreadServers()
        #: called before code of the bubble connects a socket to an address that no server of the loop has
        self.outside: Callable[[socket.socket, object], None] = allowed

    # --- the served addresses

    def listen(self, sock: socket.socket, listener: Listener) -> None:
        if (address := numeric(sock.getsockname())) is not None:
            self._listeners[address] = listener
            process = current_client()
            if process is not None and listener.server is not None:
                process.servers.append(listener.server)

    # --- simulated processes, and servers that are down

    def process_of(self, client: object, server: object) -> SimulatedProcess | None:
        """The process that has connected from an address to one of a server."""
        found = route(client, server)
        return self._processes.get(found) if found is not None else None

    def is_external(self, client: object, server: object) -> bool:
        """Whether a client in another process has connected from an address to one of a server."""
        connection = self.connections.find(route(client, server))
        return connection is not None and connection.external

    def check(self, address: object, *, in_thread: bool = False) -> None:
        """Called before a client of the bubble connects. Raises ConnectionRefusedError if the server is down, and what
        ends a killed process."""
        wanted, process = numeric(address), current_client()
        if wanted is None or self.served(wanted) is None:
            return
        if process is not None and process.fenced:
            what = f"connect to {wanted[0]}:{wanted[1]}"
            raise process.refuse_in_thread(what) if in_thread else process.refuse(what)
        if wanted[1] in self.down:
            raise ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused")

    def _belongs(self, made: Route) -> None:
        process = current_client()
        if process is None:
            self._processes.pop(made, None)
        else:
            self._processes[made] = process
            process.routes[made] = None

    def servers(self) -> Iterator[asyncio.Server]:
        """The servers that still listen."""
        return (each.server for each in tuple(self._listeners.values()) if each.server is not None)

    def stop_listening(self, sock: socket.socket) -> None:
        if (address := name_of(sock)) is not None:
            self._listeners.pop(address, None)
            self._answering.pop(address[1], None)
            self._secure_answering.pop(address[1], None)
        if not self._listeners:
            self.connections.refuse_pending()

    def served(self, address: object) -> Listener | None:
        """The listener at a numeric address, if a server of the loop listens there."""
        wanted = numeric(address)
        if wanted is None or not self._listeners:
            return None
        for host in (wanted[0], "0.0.0.0", "::"):
            if (listener := self._listeners.get((host, wanted[1]))) is not None:
                return listener
        return None

    def is_inside(self, host: str, port: int) -> bool:
        """Whether a server of the bubble listens at an address. `host`: numeric, or localhost."""
        hosts = _LOCALHOST if host == "localhost" else (host,)
        return any(self.served((each, port)) is not None or self.thread_servers.serve(each, port) for each in hosts)

    def answer_in_place(self, port: int, answering: Answering, tls: ssl.SSLContext | None = None) -> None:
        """Blocking clients of the server on this port may be answered by `answering` instead of over the network.

        `tls`: the context of a server that speaks TLS.
        """
        if tls is None:
            self._answering[port] = answering
        else:
            self._secure_answering[port] = (answering, tls)

    def answers_in_place(self, address: object) -> bool:
        wanted = numeric(address)
        if wanted is None or self.served(wanted) is None:
            return False
        return wanted[1] in self._answering or wanted[1] in self._secure_answering

    # --- clients on the loop

    def connect(self, sock: socket.socket, address: object) -> bool:
        """A client on the loop connects `sock`. Returns whether that is deferred to `transport`."""
        wanted = numeric(address)
        if self._transport == "tcp" or wanted is None or self.served(wanted) is None:
            return False
        self._connects[sock] = wanted
        return True

    def transport(
        self, sock: socket.socket, protocol: Protocol, sslcontext: object, hostname: str | None = None
    ) -> tuple[PipeTransport, PipeTransport] | None:
        """The ends of a pipe for a socket of `connect`, the client's first; None for a real connection."""
        address = self._connects.pop(sock, None)
        if address is None:
            return None
        listener = self.served(address)
        if listener is None or not self._compatible(sslcontext, listener.sslcontext, hostname):
            # the server has closed, or TLS meets plain text or an untrusted certificate: real TCP fails as usual
            self._connects[sock] = address
            self.connect_socket(sock)
            return None
        sock.close()
        client = address[0], next(self._ports)
        ends = pipe(
            self._loop,
            protocol,
            listener.context.run(listener.factory),
            (client, address),
            (sslcontext, listener.sslcontext),
            listener.context.copy(),
        )
        self._belongs((client, address[1]))
        process = current_client()
        if process is not None:
            process.ends[:] = [*(end for end in process.ends if not end.is_closing()), *ends]
        self._pipes.update(ends)
        return ends

    def _compatible(self, client: object, server: object, hostname: str | None) -> bool:
        """Whether both use plain text, or both use TLS and the handshake succeeds."""
        if client is None or server is None:
            return client is server
        key = (client, server, hostname)
        if key not in self._handshakes:
            self._handshakes[key] = handshake.succeeds(client, server, hostname)
        return self._handshakes[key]

    def connect_socket(self, sock: socket.socket) -> None:
        """Connect a socket of `connect` after all, because it is used as a socket."""
        address = self._connects.pop(sock, None)
        if address is not None:
            sock.connect_ex(address)
            self.connecting(sock, address)

    # --- real connections

    def connecting(self, sock: socket.socket, address: object) -> Connection | None:
        """A client of the bubble connects `sock` by TCP: its connection, if it is to a server of the loop."""
        client, wanted = name_of(sock), numeric(address)
        if client is None or wanted is None or self.served(address) is None:
            return None
        made = client, wanted[1]
        self._belongs(made)
        connection = self.connections.connecting(made)
        if (answering := self._answering.get(wanted[1])) is not None:
            connection.exchange = Exchange(answering)
        if (secure := self._secure_answering.get(wanted[1])) is not None:
            answering, tls = secure
            connection.secure = (Exchange(answering), tls)
        return connection

    def server_end(self, sock: socket.socket, reads: Callable[[], bool]) -> socket.socket:
        """The socket, counted, of a connection that a server has accepted."""
        accepted = route(peer_of(sock), name_of(sock))
        if accepted is None:
            return sock
        connection = self.connections.accepted(accepted)
        connection.up.reads = reads
        connections = self.connections
        if connection.external:
            for signal in (connection.up.drained, connection.down.arrived):
                signal.add(connections.external_moved.notify)
        return CountedSocket.of(
            sock, sends=connection.down, takes=connection.up, at_close=lambda: connections.closed(connection)
        )

    def client_end(self, sock: socket.socket, reads: Callable[[], bool]) -> socket.socket:
        """The socket of a client on the loop, counted if it is connected to a server of the loop."""
        connection = self.connection_of(sock)
        if connection is None:
            return sock
        down = connection.down
        down.reads = reads
        return CountedSocket.of(sock, sends=connection.up, takes=down, at_close=down.stop_reading)

    def connection_of(self, sock: _socket.socket) -> Connection | None:
        """The connection of a client's socket to a server of the loop."""
        return self.connections.find(route(name_of(sock), peer_of(sock)))

    def open_pipes(self) -> Iterator[PipeTransport]:
        return (end for end in sorted(self._pipes, key=_port) if not end.is_closing())


def allowed(sock: socket.socket, address: object) -> None:
    """The default of `outside`: all connections are allowed."""


def _port(end: PipeTransport) -> tuple[Any, Any]:
    return end.get_extra_info("sockname"), end.get_extra_info("peername")
