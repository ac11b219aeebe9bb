"""Patches TLS sockets: makes their calls non-blocking, and waits under virtual time instead.

They read and write in C, so bytes are not counted; the kernel is polled for readiness.
"""

import select
import socket
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeVar

from fakekube.virtualtime.blocking import Blocking
from fakekube.virtualtime.network.bytecount import Connection
from fakekube.virtualtime.network.network import Network
from fakekube.virtualtime.patches.patch import Patch
from fakekube.virtualtime.patches.sockets import ready, refuse_in_coroutine

T = TypeVar("T")


class TlsPatches:
    def __init__(self, network: Network, blocking: Blocking) -> None:
        self._network = network
        self._blocking = blocking

    def patches(self) -> Iterator[Patch]:
        if (ssl := sys.modules.get("ssl")) is not None:
            for name in ("do_handshake", "read", "send"):
                yield Patch(ssl.SSLSocket, name, self._waiting(getattr(ssl.SSLSocket, name), ssl))

    def _waiting(self, real: Callable[..., T], ssl: Any) -> Callable[..., T]:
        def operate(sock: Any, *args: Any, **options: Any) -> T:
            call = partial(real, sock, *args, **options)
            timeout = sock.gettimeout()
            if timeout == 0 or not self._blocking.concerns() or (connection := self._connection(sock)) is None:
                return call()
            refuse_in_coroutine(self._blocking, sock)
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
                self._wait(sock, connection, events, timeout)

        return operate

    def _connection(self, sock: socket.socket) -> Connection | None:
        try:
            return self._network.connections.find(sock.getsockname()[:2])
        except OSError:
            return None

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
