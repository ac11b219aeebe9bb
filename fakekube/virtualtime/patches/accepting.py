"""Patches `accept`, `listen`, `shutdown` and `close` of sockets: servers in threads wait in virtual time."""

import _socket
import select
import socket
from collections.abc import Callable, Iterator
from typing import Any

from fakekube.virtualtime.blocking import Blocking
from fakekube.virtualtime.network.threadservers import ThreadServers
from fakekube.virtualtime.patches.patch import Patch
from fakekube.virtualtime.patches.sockets import SocketPatches, ready
from fakekube.virtualtime.threads.scheduler import ThreadScheduler


class AcceptingPatches:
    def __init__(
        self, servers: ThreadServers, sockets: SocketPatches, threads: ThreadScheduler, blocking: Blocking
    ) -> None:
        self._servers, self._sockets, self._threads, self._blocking = servers, sockets, threads, blocking

    def patches(self) -> Iterator[Patch]:
        yield Patch(socket.socket, "accept", self._accept(socket.socket.accept))
        yield Patch(socket.socket, "listen", self._listen())
        yield Patch(socket.socket, "shutdown", self._shutdown())
        yield Patch(socket.socket, "close", self._close(socket.socket.close))

    def _accept(self, real: Callable[[socket.socket], Any]) -> Callable[[socket.socket], Any]:
        def accept(sock: socket.socket) -> Any:
            if self._threads.current() is None:
                return real(sock)
            self._servers.listens(sock)
            timeout = sock.gettimeout()
            if timeout != 0 and not self._blocking.wait(
                "waiting for a connection", lambda: ready(sock, select.POLLIN), self._sockets.stirred, timeout=timeout
            ):
                raise TimeoutError("timed out")
            accepted = real(sock)
            self._servers.accepted(accepted[0])
            return accepted

        return accept

    def _listen(self) -> Callable[..., None]:
        def listen(sock: socket.socket, *backlog: int) -> None:
            _socket.socket.listen(sock, *backlog)
            if self._threads.current() is not None:
                self._servers.listens(sock)

        return listen

    def _shutdown(self) -> Callable[[socket.socket, int], None]:
        def shutdown(sock: socket.socket, how: int) -> None:
            _socket.socket.shutdown(sock, how)
            self._sockets.stir(sock)

        return shutdown

    def _close(self, real: Callable[[socket.socket], None]) -> Callable[[socket.socket], None]:
        def close(sock: socket.socket) -> None:
            self._servers.closes(sock)
            real(sock)
            self._sockets.stir(sock)

        return close
