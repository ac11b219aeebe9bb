"""The ledger of bytes: what each end of a real connection gave to the kernel, and what the other end took out.

Between the two a byte is nowhere that Python can see; a bubble with such a byte is not quiescent.
"""

import _socket
import itertools
import socket
from collections.abc import Callable, Iterator
from typing import Any

from fakekube.virtualtime.notifier import Notifier

Address = tuple[str, int]


class Flow:
    """The bytes of one direction.

    `reads` tells whether the receiver, as a transport on the loop, would take bytes now; None while it is no
    transport: a thread takes its bytes when it asks for them, and then it is `readable` that counts.
    """

    __slots__ = ("arrived", "drained", "ended", "reads", "sent", "taken")

    def __init__(self) -> None:
        self.sent = self.taken = 0
        self.ended = False
        self.arrived = Notifier()
        self.drained = Notifier()
        self.reads: Callable[[], bool] | None = None

    @property
    def in_flight(self) -> int:
        return self.sent - self.taken

    @property
    def readable(self) -> bool:
        """Whether `recv` would return: there are bytes, or there is the end of them."""
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
    """One TCP connection of which at least the server's end is on the loop."""

    __slots__ = ("accepted", "client", "down", "external", "up")

    def __init__(self, client: Address, *, external: bool) -> None:
        self.client = client
        self.external = external
        self.accepted = False
        self.up = Flow()
        self.down = Flow()

    def busy_reasons(self) -> Iterator[str]:
        who = f"{self.client[0]}:{self.client[1]}"
        if not self.accepted:
            yield f"the connection from {who} is not accepted yet"
        if self.up.is_awaited():
            yield f"{self.up.in_flight} bytes are on their way from {who} to the server"
        if self.down.is_awaited():
            yield f"{self.down.in_flight} bytes are on their way from the server to {who}"

    def __repr__(self) -> str:
        kind = "external" if self.external else "inside"
        return (
            f"<Connection {self.client[0]}:{self.client[1]} {kind}"
            f" up={self.up.sent}/{self.up.taken} down={self.down.sent}/{self.down.taken}>"
        )


class Connections:
    """All open connections to what the loop serves, by the client's address."""

    def __init__(self) -> None:
        self._by_client: dict[Address, Connection] = {}
        self._external = 0
        #: sent when something came from, or went to, somebody outside the bubble
        self.external_moved = Notifier()

    @property
    def external(self) -> int:
        """How many clients are connected whom the bubble cannot see."""
        return self._external

    def __iter__(self) -> Iterator[Connection]:
        return iter(tuple(self._by_client.values()))

    def is_empty(self) -> bool:
        return not self._by_client

    def busy_reasons(self) -> Iterator[str]:
        """Bytes that somebody of the bubble waits for and does not have yet."""
        return itertools.chain.from_iterable(each.busy_reasons() for each in self if not each.external)

    def find(self, client: Address | None) -> Connection | None:
        return self._by_client.get(client) if client is not None else None

    def dialled(self, client: Address) -> Connection:
        """A client in the bubble has connected; the server will accept in a moment."""
        connection = self._by_client[client] = Connection(client, external=False)
        return connection

    def accepted(self, client: Address) -> Connection:
        """The server has accepted a client; one who was not announced is external."""
        connection = self._by_client.get(client)
        if connection is None or connection.accepted:
            connection = self._by_client[client] = Connection(client, external=True)
            self._external += 1
            self.external_moved.notify()
        connection.accepted = True
        return connection

    def closed(self, connection: Connection) -> None:
        """The server's end is closed (or never was): nobody there takes or sends bytes any more."""
        connection.up.reads = None
        connection.down.end()
        connection.up.end()
        if self._by_client.get(connection.client) is connection:
            del self._by_client[connection.client]
            if connection.external:
                self._external -= 1
                self.external_moved.notify()

    def refuse_pending(self) -> None:
        """Nobody will accept any more: those who dialled and wait are let go."""
        for connection in self:
            if not connection.accepted:
                self.closed(connection)


class CountedSocket(socket.socket):
    """The socket under a transport on the loop: it keeps the ledger."""

    @classmethod
    def of(cls, sock: socket.socket, *, sends: Flow, takes: Flow, at_close: Callable[[], None]) -> "CountedSocket":
        """Take `sock` over; the old object is empty after it."""
        counted = cls(sock.family, sock.type, sock.proto, fileno=sock.detach())
        counted.setblocking(False)
        counted._sends, counted._takes, counted._at_close = sends, takes, at_close
        return counted

    _sends: Flow
    _takes: Flow
    _at_close: Callable[[], None] | None = None

    # straight to the C methods: those of socket.socket may carry the hooks for blocking clients
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
