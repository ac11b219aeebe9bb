"""Patches `socket.socket`: blocking clients of the bubble wait for their bytes under virtual time.

This covers http.client, urllib3, requests, httpx and websocket-client. TLS sockets read in C and are patched by `tls`.
"""

import _socket
import select
import socket
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from fakekube.virtualtime.blocking import Blocking
from fakekube.virtualtime.errors import BubbleClosed
from fakekube.virtualtime.network.bytecount import Connection
from fakekube.virtualtime.network.network import Network
from fakekube.virtualtime.patches.patch import Patch


class SocketPatches:
    """Tracks the sockets that are connected to servers of the bubble, and makes them wait under virtual time."""

    def __init__(self, network: Network, blocking: Blocking) -> None:
        self._network = network
        self._blocking = blocking
        self._clients: weakref.WeakKeyDictionary[socket.socket, Connection] = weakref.WeakKeyDictionary()

    def patches(self) -> Iterator[Patch]:
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
            _socket.socket.connect(sock, address)
            self._connected(sock)

        return connect

    def _connect_ex(self) -> Callable[..., int]:
        def connect_ex(sock: socket.socket, address: Any) -> int:
            self._before_connect(sock, address)
            error = _socket.socket.connect_ex(sock, address)
            if not error:
                self._connected(sock)
            return error

        return connect_ex

    def _before_connect(self, sock: socket.socket, address: object) -> None:
        if not self._blocking.concerns() or self._network.served(address) is None:
            return
        try:
            self._network.check(address, in_thread=not self._blocking.is_test())
        except BubbleClosed:
            sock.close()  # clients close their socket only on an OSError
            raise
        if sock.gettimeout() != 0:
            self._refuse_in_coroutine(sock)
        elif not self._blocking.on_own_loop():
            sock.close()
            raise RuntimeError(
                "a client on another event loop connects to the cluster, and neither loop can run while the other "
                "waits: do not start an event loop (asyncio.run, uvloop) in the test, write the test as `async def`"
            )

    def _connected(self, sock: socket.socket) -> None:
        if sock.gettimeout() == 0 or not self._blocking.concerns():
            return
        try:
            peer = _socket.socket.getpeername(sock)
        except OSError:
            return
        if (connection := self._network.connecting(sock, peer)) is not None:
            self._clients[sock] = connection
            self._refuse_in_coroutine(sock)  # connected by a host name

    def _refuse_in_coroutine(self, sock: socket.socket) -> None:
        refuse_in_coroutine(self._blocking, sock)

    # --- reading

    def _reader(self, real: Callable[..., Any], count: Callable[[Any], int], flags_at: int) -> Callable[..., Any]:
        clients = self._clients

        def receive(sock: socket.socket, *args: Any, **options: Any) -> Any:
            connection = clients.get(sock)
            if connection is None:
                return real(sock, *args, **options)
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

    # --- writing

    def _send(self) -> Callable[..., int]:
        def send(sock: socket.socket, data: Any, flags: int = 0) -> int:
            connection = self._clients.get(sock)
            if connection is None:
                return _socket.socket.send(sock, data, flags)
            return self._send_some(sock, connection, data, flags)

        return send

    def _sendall(self) -> Callable[..., None]:
        def sendall(sock: socket.socket, data: Any, flags: int = 0) -> None:
            connection = self._clients.get(sock)
            if connection is None:
                _socket.socket.sendall(sock, data, flags)
                return
            view = memoryview(data).cast("B")
            while view:
                view = view[self._send_some(sock, connection, view, flags) :]

        return sendall

    def _sendmsg(self) -> Callable[..., int]:
        def sendmsg(sock: socket.socket, *args: Any) -> int:
            count = _socket.socket.sendmsg(sock, *args)
            if (connection := self._clients.get(sock)) is not None:
                connection.up.give(count)
            return count

        return sendmsg

    def _send_some(self, sock: socket.socket, connection: Connection, data: Any, flags: int) -> int:
        """Send as much as the kernel takes without blocking: the reader is the loop, which could not run."""
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


def refuse_in_coroutine(blocking: Blocking, sock: socket.socket) -> None:
    try:
        blocking.refuse_in_coroutine("a blocking call to the cluster", "use an async client")
    except RuntimeError:
        # clients close their socket only on an OSError
        sock.close()
        raise


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
