"""Patches TLS sockets: answers in place after a handshake in memory, or waits under virtual time.

Where they wait, their calls are made non-blocking. They read and write in C, so bytes are not counted; the kernel is
polled for readiness.
"""

import select
import socket
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeVar
from weakref import WeakKeyDictionary, WeakSet

from fakekube.virtualtime.blocking import Blocking
from fakekube.virtualtime.network.bytecount import Connection
from fakekube.virtualtime.network.handshake import perform
from fakekube.virtualtime.network.inplace import Exchange, NeedsTime
from fakekube.virtualtime.network.network import Network
from fakekube.virtualtime.patches.patch import Patch
from fakekube.virtualtime.patches.sockets import NEEDS_TIME, SocketPatches, ready, refuse_in_coroutine

T = TypeVar("T")


class TlsPatches:
    def __init__(self, network: Network, blocking: Blocking, sockets: SocketPatches) -> None:
        self._network = network
        self._sockets = sockets
        self._blocking = blocking
        #: the sockets whose requests are answered in place, after a handshake in memory
        self._exchanges: WeakKeyDictionary[Any, Exchange] = WeakKeyDictionary()
        #: the sockets whose handshake was made over the network
        self._encrypted: WeakSet[Any] = WeakSet()

    def patches(self) -> Iterator[Patch]:
        if (ssl := sys.modules.get("ssl")) is not None:
            real = ssl.SSLSocket
            handshake, read, send = (
                self._waiting(getattr(real, name), ssl) for name in ("do_handshake", "read", "send")
            )
            yield Patch(real, "do_handshake", self._handshake(handshake))
            yield Patch(real, "read", self._read(handshake, read, send))
            yield Patch(real, "send", self._send(handshake, send))

    # --- in place

    def _handshake(self, over_network: Callable[..., None]) -> Callable[..., None]:
        def do_handshake(sock: Any, *args: Any) -> None:
            connection = self._connection(sock) if sock.gettimeout() != 0 and self._answers_in_place() else None
            if connection is None or connection.secure is None or not connection.is_idle():
                over_network(sock, *args)
                self._encrypted.add(sock)
                return
            exchange, context = connection.secure
            perform(sock.context, context, sock.server_hostname)
            self._exchanges[sock] = exchange

        return do_handshake

    def _answers_in_place(self) -> bool:
        """Not in the test's thread, which runs the loop while it waits."""
        return self._blocking.concerns() and (self._blocking.on_own_loop() or not self._blocking.is_test())

    def _send(self, handshake: Callable[..., None], over_network: Callable[..., int]) -> Callable[..., int]:
        def send(sock: Any, data: Any, *args: Any) -> int:
            exchange = self._exchanges.get(sock) or self._begun_in_coroutine(sock)
            if exchange is None:
                return over_network(sock, data, *args)
            sent = bytes(data)
            try:
                exchange.send(sent)
            except NeedsTime as need:
                if self._blocking.on_own_loop():
                    sock.close()
                    raise RuntimeError(NEEDS_TIME.format(what=need)) from None
                self._leave(sock, exchange, handshake, over_network)
            else:
                if exchange.readable and self._blocking.on_own_loop():
                    self._blocking.note_call()
            return len(sent)

        return send

    def _begun_in_coroutine(self, sock: Any) -> Exchange | None:
        """A coroutine sends on a connection of a pool, which was encrypted where it was made."""
        connection = self._connection(sock) if sock in self._encrypted and self._blocking.on_own_loop() else None
        if connection is None or connection.secure is None:
            return None
        self._exchanges[sock], _ = connection.secure
        return self._exchanges[sock]

    def _read(
        self, handshake: Callable[..., None], over_network: Callable[..., Any], send: Callable[..., int]
    ) -> Callable[..., Any]:
        def read(sock: Any, size: int = 1024, buffer: Any = None) -> Any:
            exchange = self._exchanges.get(sock)
            if exchange is not None and not exchange.readable:
                refuse_in_coroutine(self._blocking, sock)
                self._leave(sock, exchange, handshake, send)
                exchange = None
            if exchange is None:
                return over_network(sock, size) if buffer is None else over_network(sock, size, buffer)
            if exchange.is_new:
                exchange.is_new = False
                self._blocking.take_turn_if_due("waiting for the cluster")
            data = exchange.take(size)
            if buffer is None:
                return data
            memoryview(buffer).cast("B")[: len(data)] = data
            return len(data)

        return read

    def _leave(self, sock: Any, exchange: Exchange, handshake: Callable[..., None], send: Callable[..., int]) -> None:
        """Go on over the network: with the handshake, if it was in memory, and what is sent of a request."""
        del self._exchanges[sock]
        if sock not in self._encrypted:
            handshake(sock)
            self._encrypted.add(sock)
        rest = exchange.release()
        while rest:
            rest = rest[send(sock, rest) :]

    # --- over the network

    def _waiting(self, real: Callable[..., T], ssl: Any) -> Callable[..., T]:
        def operate(sock: Any, *args: Any, **options: Any) -> T:
            call = partial(real, sock, *args, **options)
            timeout = sock.gettimeout()
            if timeout == 0 or not self._blocking.concerns():
                return call()
            connection = self._connection(sock)
            if connection is not None:
                refuse_in_coroutine(self._blocking, sock)
            elif not self._sockets.is_inside(sock):
                return call()
            while True:
                sock.settimeout(0)
                try:
                    return call()
                except ssl.SSLWantReadError:
                    events = select.POLLIN
                except ssl.SSLWantWriteError:
                    events = select.POLLOUT
                finally:
                    sock.settimeout(timeout)
                    if connection is None:
                        self._sockets.stir(sock)
                if connection is None:
                    self._sockets.wait_for_thread(sock, events)
                else:
                    self._wait(sock, connection, events, timeout)

        return operate

    def _connection(self, sock: socket.socket) -> Connection | None:
        return self._network.connection_of(sock)

    def _wait(self, sock: socket.socket, connection: Connection, events: int, timeout: float | None) -> None:
        down, up = connection.down, connection.up
        if not self._blocking.wait(
            "waiting for the cluster",
            lambda: ready(sock, events) or down.ended,
            down.arrived,
            up.drained,
            timeout=timeout,
        ):
            raise TimeoutError("timed out")
