"""Counts the bytes of real connections: what one end gave to the kernel, and what the other end took out.

Bytes inside the kernel are invisible to Python; a bubble that waits for such bytes is not quiescent.
"""

import _socket
import itertools
import socket
import ssl
from collections.abc import Callable, Iterator
from typing import Any

from fakekube.virtualtime.network.inplace import Exchange
from fakekube.virtualtime.notifier import Notifier
from fakekube.virtualtime.socketaddresses import Address, Route


class Flow:
    """The bytes of one direction of a connection.

    `reads` returns whether the receiver, a transport on the loop, would take bytes now. It is None if the receiver is
    no transport: a thread waits until `readable`.
    """

    __slots__ = ("arrived", "drained", "ended", "reads", "sent", "taken")

    def __init__(self) -> None:
        self.sent: int = 0
        self.taken: int = 0
        self.ended: bool = False
        self.arrived: Notifier = Notifier()
        self.drained: Notifier = Notifier()
        self.reads: Callable[[], bool] | None = None

    @property
    def in_flight(self) -> int:
        return self.sent - self.taken

    @property
    def readable(self) -> bool:
        """Whether `recv` would return: there are bytes, or the stream has ended."""
        return self.sent > self.taken or self.ended

    def give(self, count: int) -> None:
        self.sent += count
        self.arrived.notify()

    def take(self, count: int) -> None:
        self.taken += count
        self.drained.notify()

    def end(self) -> None:
        self.ended = True
        self.arrived.notify()
        self.drained.notify()

    def stop_reading(self) -> None:
        self.reads = None

    def is_awaited(self) -> bool:
        return self.sent > self.taken and self.reads is not None and self.reads()


class Connection:
    """One TCP connection to a server on the loop; `external` if its client does not belong to the bubble.

    `client`: the client's address. `port`: that of the server.

    `exchange`: what is answered in place, if the server answers so. `secure`: what it answers so within TLS, and the
    context of the server.
    """

    __slots__ = ("accepted", "client", "down", "exchange", "external", "port", "secure", "up")

    def __init__(self, route: Route, *, external: bool) -> None:
        self.client: Address = route[0]
        self.port: int = route[1]
        self.external: bool = external
        self.accepted: bool = False
        self.up: Flow = Flow()
        self.down: Flow = Flow()
        self.exchange: Exchange | None = None
        self.secure: tuple[Exchange, ssl.SSLContext] | None = None

    def is_idle(self) -> bool:
        """Whether no byte is on its way, and the connection is not one of a stream."""
        return not self.down.in_flight and not self.up.in_flight and not self.down.ended

    def busy_reasons(self) -> Iterator[str]:
        client = f"{self.client[0]}:{self.client[1]}"
        if not self.accepted:
            yield f"the connection from {client} is not accepted yet"
        if self.up.is_awaited():
            yield f"{self.up.in_flight} bytes are on their way from {client} to the server"
        if self.down.is_awaited():
            yield f"{self.down.in_flight} bytes are on their way from the server to {client}"

    def __repr__(self) -> str:
        kind = "external" if self.external else "inside"
        return (
            f"<Connection {self.client[0]}:{self.client[1]} {kind}"
            f" up={self.up.sent}/{self.up.taken} down={self.down.sent}/{self.down.taken}>"
        )


class Connections:
    """All open connections to servers on the loop."""

    def __init__(self) -> None:
        self._by_route: dict[Route, Connection] = {}
        self._external = 0
        #: called when an external connection opens, closes or transfers bytes
        self.external_moved: Notifier = Notifier()

    @property
    def external(self) -> int:
        """The number of connected clients that do not belong to the bubble."""
        return self._external

    def __iter__(self) -> Iterator[Connection]:
        return iter(tuple(self._by_route.values()))

    def is_empty(self) -> bool:
        return not self._by_route

    def busy_reasons(self) -> Iterator[str]:
        """Bytes in flight that the bubble waits for, for error messages."""
        return itertools.chain.from_iterable(each.busy_reasons() for each in self if not each.external)

    def find(self, route: Route | None) -> Connection | None:
        """The connection of a client to a server on the loop, if there is one."""
        return self._by_route.get(route) if route is not None else None

    def connecting(self, route: Route) -> Connection:
        """A client of the bubble connects; the server has not accepted it yet."""
        connection = self._by_route[route] = Connection(route, external=False)
        return connection

    def accepted(self, route: Route) -> Connection:
        """The server has accepted a client. A client that was not announced by `connecting` is external."""
        connection = self._by_route.get(route)
        if connection is None or connection.accepted:
            connection = self._by_route[route] = Connection(route, external=True)
            self._external += 1
            self.external_moved.notify()
        connection.accepted = True
        return connection

    def closed(self, connection: Connection) -> None:
        """The server's end of the connection is closed, or was never accepted."""
        connection.up.reads = None
        connection.down.end()
        connection.up.end()
        route = connection.client, connection.port
        if self._by_route.get(route) is connection:
            del self._by_route[route]
            if connection.external:
                self._external -= 1
                self.external_moved.notify()

    def refuse_pending(self) -> None:
        """Close the connections that the server has not accepted: it has stopped listening."""
        for connection in self:
            if not connection.accepted:
                self.closed(connection)


class CountedSocket(socket.socket):
    """The socket of a transport on the loop; counts the bytes that it sends and receives."""

    @classmethod
    def of(cls, sock: socket.socket, *, sends: Flow, takes: Flow, at_close: Callable[[], None]) -> "CountedSocket":
        """A counted socket with the file descriptor of `sock`, which is detached."""
        counted = cls(sock.family, sock.type, sock.proto, fileno=sock.detach())
        counted.setblocking(False)
        counted._sends, counted._takes, counted._at_close = sends, takes, at_close
        return counted

    _sends: Flow
    _takes: Flow
    _at_close: Callable[[], None] | None = None

    # calls the C methods: those of socket.socket are patched for blocking clients
    def recv(self, *args: Any) -> bytes:
        data = _socket.socket.recv(self, *args)
        self._takes.take(len(data))
        return data

    def recv_into(self, *args: Any) -> int:
        count = _socket.socket.recv_into(self, *args)
        self._takes.take(count)
        return count

    def send(self, *args: Any) -> int:
        count = _socket.socket.send(self, *args)
        self._sends.give(count)
        return count

    def sendmsg(self, *args: Any) -> int:
        count = _socket.socket.sendmsg(self, *args)
        self._sends.give(count)
        return count

    def shutdown(self, how: int) -> None:
        super().shutdown(how)
        if how != socket.SHUT_RD:
            self._sends.end()

    def close(self) -> None:
        super().close()
        if self._at_close is not None:
            at_close, self._at_close = self._at_close, None
            at_close()
