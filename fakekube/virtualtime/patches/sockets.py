"""Patches `socket.socket`: blocking clients of the bubble wait for their bytes under virtual time.

This covers http.client, urllib3, requests, httpx and websocket-client. TLS sockets read in C and are patched by `tls`.
"""

import _socket
import errno
import os
import select
import socket
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from fakekube.virtualtime.blocking import Blocking
from fakekube.virtualtime.errors import BubbleClosed
from fakekube.virtualtime.network.bytecount import Connection
from fakekube.virtualtime.network.inplace import Exchange, NeedsTime
from fakekube.virtualtime.network.network import Network
from fakekube.virtualtime.notifier import Notifier
from fakekube.virtualtime.patches.ownpipes import OwnPipes
from fakekube.virtualtime.patches.patch import Patch


class SocketPatches:
    """Tracks the sockets that are connected to servers of the bubble, and makes them wait under virtual time."""

    def __init__(self, network: Network, blocking: Blocking) -> None:
        self._network = network
        self._servers = network.thread_servers
        self._blocking = blocking
        self._clients: weakref.WeakKeyDictionary[socket.socket, Connection] = weakref.WeakKeyDictionary()
        self._by_descriptor: dict[int, weakref.ref[socket.socket]] = {}
        #: called when a socket that is not connected to the cluster is written or connected
        self.stirred: Notifier = Notifier()
        self._pipes = OwnPipes(blocking, self.stirred)

    def patches(self) -> Iterator[Patch]:
        yield from self._pipes.patches()
        check_class()
        yield Patch(socket.socket, "connect", self._connect())
        yield Patch(socket.socket, "connect_ex", self._connect_ex())
        yield Patch(socket.socket, "recv", self._reader(_socket.socket.recv, len, 1))
        yield Patch(socket.socket, "recv_into", self._reader(_socket.socket.recv_into, int, 2))
        yield Patch(socket.socket, "recvfrom", self._reader(_socket.socket.recvfrom, _length_of_first, 1))
        yield Patch(socket.socket, "recvfrom_into", self._reader(_socket.socket.recvfrom_into, _first, 2))
        yield Patch(socket.socket, "recvmsg", self._reader(_socket.socket.recvmsg, _length_of_first, 2))
        yield Patch(socket.socket, "send", self._send())
        yield Patch(socket.socket, "sendall", self._sendall())
        yield Patch(socket.socket, "sendmsg", self._sendmsg())

    # --- connecting

    def _connect(self) -> Callable[..., None]:
        def connect(sock: socket.socket, address: Any) -> None:
            self._before_connect(sock, address)
            try:
                _socket.socket.connect(sock, address)
            except BlockingIOError:
                self._connected(sock, address)
                raise
            self._connected(sock, address)

        return connect

    def _connect_ex(self) -> Callable[..., int]:
        def connect_ex(sock: socket.socket, address: Any) -> int:
            self._before_connect(sock, address)
            error = _socket.socket.connect_ex(sock, address)
            if error in (0, errno.EINPROGRESS):
                self._connected(sock, address)
            return error

        return connect_ex

    def _before_connect(self, sock: socket.socket, address: object) -> None:
        if not self._blocking.concerns():
            return
        if self._network.served(address) is None:
            if sock.gettimeout() != 0 and sock.type == socket.SOCK_STREAM and isinstance(address, tuple):
                self._blocking.note_waiting(f"connects to {address[0]}:{address[1]} with a blocking socket")
            self._network.outside(sock, address)
            return
        try:
            self._network.check(address, in_thread=not self._blocking.is_test())
        except BubbleClosed:
            sock.close()  # clients close their socket only on an OSError
            raise
        if sock.gettimeout() != 0:
            if not self._network.answers_in_place(address):
                self._refuse_in_coroutine(sock)
        elif self._blocking.is_test() and not self._blocking.on_own_loop():
            sock.close()
            raise RuntimeError(
                "a client on another event loop connects to the cluster, and neither loop can run while the other "
                "waits: do not start an event loop (asyncio.run, uvloop) in the test, write the test as `async def`"
            )

    def _connected(self, sock: socket.socket, address: object) -> None:
        if not self._blocking.concerns():
            return
        try:
            peer = _socket.socket.getpeername(sock)
        except OSError:
            peer = address  # the connection is being made
        if self._network.served(peer) is None:
            self._servers.connected(sock, peer)
            self.stir(sock)
        elif sock.gettimeout() == 0 and self._blocking.is_test():
            return
        elif (connection := self._network.connecting(sock, peer)) is not None:
            self._clients[sock] = connection
            self._by_descriptor[sock.fileno()] = weakref.ref(sock)
            if connection.exchange is None and connection.secure is None:
                self._refuse_in_coroutine(sock)  # connected by a host name

    def _refuse_in_coroutine(self, sock: socket.socket) -> None:
        refuse_in_coroutine(self._blocking, sock)

    def of_descriptor(self, fd: int) -> Connection | bool | None:
        """The connection to the cluster of a descriptor; True for one with a thread of the bubble, False for what only
        code of this process writes to, or a socket that listens, else None."""
        known = self._by_descriptor.get(fd, _nobody)()
        if known is not None and known.fileno() == fd:
            return self._clients.get(known)
        return self._of_unknown(fd)

    def _of_unknown(self, fd: int) -> Connection | bool | None:
        """The same for a descriptor that no known socket has: that of a TLS socket is detached from a plain one."""
        if self._pipes.has(fd):
            return False
        try:
            copy = _socket.socket(fileno=os.dup(fd))  # not of the class whose `close` is patched
        except OSError:
            return None
        try:
            if (connection := self._network.connection_of(copy)) is not None:
                return connection
            if copy.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                self._servers.listens(copy)
                return False
            if self._servers.has(copy):
                return True
            return False if copy.family == getattr(socket, "AF_UNIX", None) else None
        except OSError:
            return None
        finally:
            copy.close()

    def stir(self, sock: socket.socket) -> None:
        """`sock` was written, connected or closed: whatever waits for the other end looks again."""
        if self.stirred.is_awaited() and sock is not self._blocking.wakes_loop():
            self._blocking.from_anywhere(self.stirred.notify)

    # --- servers in threads of the bubble

    def is_inside(self, sock: socket.socket) -> bool:
        """Whether the caller belongs to the bubble, and `sock` is connected with a thread of it, or with a client."""
        return self._servers.has(sock) and self._blocking.concerns()

    def wait_for_thread(self, sock: socket.socket, events: int) -> bool:
        """Wait until `sock` is ready, if it is blocking and connected as `is_inside` says; returns whether it is."""
        if not self._servers.has(sock) or (timeout := sock.gettimeout()) == 0 or not self._blocking.concerns():
            return False
        where = "waiting for a client or a server in a thread"
        if not self._blocking.wait(where, lambda: ready(sock, events), self.stirred, timeout=timeout):
            raise TimeoutError("timed out")
        return True

    # --- reading

    def _reader(self, real: Callable[..., Any], count: Callable[[Any], int], flags_at: int) -> Callable[..., Any]:
        clients = self._clients

        def receive(sock: socket.socket, *args: Any, **options: Any) -> Any:
            connection = clients.get(sock)
            if connection is None:
                self.wait_for_thread(sock, select.POLLIN)
                return real(sock, *args, **options)
            if (exchange := connection.exchange) is not None and exchange.readable:
                flags = options.get("flags", args[flags_at] if len(args) > flags_at else 0)
                return self._read_in_place(exchange, real, flags, args)
            self._await_bytes(sock, connection)
            received = real(sock, *args, **options)
            flags = options.get("flags", args[flags_at] if len(args) > flags_at else 0)
            if not flags & socket.MSG_PEEK:
                connection.down.take(count(received))
            return received

        return receive

    def _await_bytes(self, sock: socket.socket, connection: Connection) -> None:
        down = connection.down
        if down.readable or (timeout := sock.gettimeout()) == 0 or not self._blocking.concerns():
            return
        self._refuse_in_coroutine(sock)
        if not self._blocking.wait("waiting for the cluster", lambda: down.readable, down.arrived, timeout=timeout):
            raise TimeoutError("timed out")

    def _read_in_place(self, exchange: Exchange, real: Callable[..., Any], flags: int, args: tuple[Any, ...]) -> Any:
        if exchange.is_new:
            exchange.is_new = False
            self._blocking.take_turn_if_due("waiting for the cluster")
        keep = bool(flags & socket.MSG_PEEK)
        return _DELIVERIES[real](lambda count: exchange.take(count, keep=keep), *args)

    # --- writing

    def _send(self) -> Callable[..., int]:
        def send(sock: socket.socket, data: Any, flags: int = 0) -> int:
            connection = self._clients.get(sock)
            if connection is None:
                if self.wait_for_thread(sock, select.POLLOUT):
                    flags |= socket.MSG_DONTWAIT
                count = _socket.socket.send(sock, data, flags)
                self.stir(sock)
                return count
            return self._send_some(sock, connection, data, flags)

        return send

    def _sendall(self) -> Callable[..., None]:
        send = self._send()

        def sendall(sock: socket.socket, data: Any, flags: int = 0) -> None:
            connection = self._clients.get(sock)
            if connection is None and not self.is_inside(sock):
                _socket.socket.sendall(sock, data, flags)
                self.stir(sock)
                return
            view = memoryview(data).cast("B")
            while view:
                view = view[send(sock, view, flags) :]

        return sendall

    def _sendmsg(self) -> Callable[..., int]:
        def sendmsg(sock: socket.socket, *args: Any) -> int:
            count = _socket.socket.sendmsg(sock, *args)
            if (connection := self._clients.get(sock)) is not None:
                connection.up.give(count)
            else:
                self.stir(sock)
            return count

        return sendmsg

    def _send_some(self, sock: socket.socket, connection: Connection, data: Any, flags: int) -> int:
        """Send as much as the kernel takes without blocking: the reader is the loop, which could not run."""
        if self._answers_in_place(sock, connection):
            return self._send_in_place(sock, connection, data, flags)
        return self._send_over_network(sock, connection, data, flags)

    def _answers_in_place(self, sock: socket.socket, connection: Connection) -> bool:
        exchange = connection.exchange
        if exchange is None or exchange.streams or sock.gettimeout() == 0 or not self._blocking.concerns():
            return False
        if self._blocking.is_test() and not self._blocking.on_own_loop():
            return False  # the test's thread runs the loop while it waits
        return connection.is_idle() and not exchange.ended

    def _send_in_place(self, sock: socket.socket, connection: Connection, data: Any, flags: int) -> int:
        exchange = connection.exchange
        assert exchange is not None
        sent = bytes(data)
        try:
            exchange.send(sent)
        except NeedsTime as need:
            if self._blocking.on_own_loop():
                sock.close()
                raise RuntimeError(NEEDS_TIME.format(what=need)) from None
            rest = memoryview(exchange.release())
            while rest:
                rest = rest[self._send_over_network(sock, connection, rest, flags) :]
        else:
            if exchange.readable and self._blocking.on_own_loop():
                self._blocking.note_call()
        return len(sent)

    def _send_over_network(self, sock: socket.socket, connection: Connection, data: Any, flags: int) -> int:
        if sock.gettimeout() != 0 and self._blocking.concerns():
            self._refuse_in_coroutine(sock)
            up = connection.up
            can_write = partial(ready, sock, select.POLLOUT)
            if not self._blocking.wait("sending to the cluster", can_write, up.drained, timeout=sock.gettimeout()):
                raise TimeoutError("timed out")
            flags |= socket.MSG_DONTWAIT
        count = _socket.socket.send(sock, data, flags)
        connection.up.give(count)
        return count


NEEDS_TIME = (
    "a blocking call to the cluster inside a coroutine blocks the event loop that has to answer it: {what} is not "
    "answered at once. Use an async client, or make the call in a thread with `await asyncio.to_thread(...)`"
)


def _deliver_recv(take: Callable[[int], bytes], size: int, *_: Any) -> bytes:
    return take(size)


def _deliver_recv_into(take: Callable[[int], bytes], buffer: Any, size: int = 0, *_: Any) -> int:
    view = memoryview(buffer).cast("B")
    data = take(size or len(view))
    view[: len(data)] = data
    return len(data)


def _deliver_recvfrom(take: Callable[[int], bytes], size: int, *_: Any) -> Any:
    return take(size), None


def _deliver_recvfrom_into(take: Callable[[int], bytes], buffer: Any, size: int = 0, *_: Any) -> Any:
    return _deliver_recv_into(take, buffer, size), None


def _deliver_recvmsg(take: Callable[[int], bytes], size: int, *_: Any) -> Any:
    return take(size), [], 0, None


#: How each method returns what is read in place.
_DELIVERIES: dict[Callable[..., Any], Callable[..., Any]] = {
    _socket.socket.recv: _deliver_recv,
    _socket.socket.recv_into: _deliver_recv_into,
    _socket.socket.recvfrom: _deliver_recvfrom,
    _socket.socket.recvfrom_into: _deliver_recvfrom_into,
    _socket.socket.recvmsg: _deliver_recvmsg,
}


def refuse_in_coroutine(blocking: Blocking, sock: socket.socket) -> None:
    try:
        blocking.refuse_in_coroutine("a blocking call to the cluster", "use an async client")
    except RuntimeError:
        # clients close their socket only on an OSError
        sock.close()
        raise


def _nobody() -> None:
    return None


def check_class() -> None:
    if socket.socket.__module__ != "socket":
        raise RuntimeError(
            f"socket.socket has been replaced by {socket.socket.__module__} (pytest-socket, gevent?), and the "
            "cluster must patch it: disable the other one for this test"
        )


def ready(sock: socket.socket, events: int) -> bool:
    """Whether the kernel reports one of `events`, without waiting."""
    poll = select.poll()
    poll.register(sock.fileno(), events)
    return bool(poll.poll(0))


def _first(received: Any) -> int:
    return int(received[0])


def _length_of_first(received: Any) -> int:
    return len(received[0])
