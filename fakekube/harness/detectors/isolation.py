"""Keeps code that runs after the end of a test from the world outside of it.

What the test has put in place of a service may be gone by then: a mock of its body, or of a decorator.
"""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from fakekube.virtualtime.network.network import Network

#: Hosts of servers that the test runs itself.
_LOCAL = ("127.", "::1", "localhost")


@contextmanager
def isolated(network: Network) -> Iterator[None]:
    """Connections to other hosts are refused, which the test does not see, and no processes are started."""
    outside = network.outside
    sockets: Any = socket.socket
    processes: Any = subprocess.Popen
    connect, connect_ex, popen = sockets.connect, sockets.connect_ex, processes.__init__

    def guarded(sock: socket.socket, address: Any) -> None:
        _check(address)
        connect(sock, address)

    def guarded_ex(sock: socket.socket, address: Any) -> int:
        _check(address)
        found: int = connect_ex(sock, address)
        return found

    def refused(*args: object, **named: object) -> NoReturn:
        raise PermissionError("the test has ended: no processes are started")

    sockets.connect, sockets.connect_ex, processes.__init__ = guarded, guarded_ex, refused
    network.outside = lambda sock, address: _check(address)
    try:
        yield
    finally:
        network.outside = outside
        sockets.connect, sockets.connect_ex, processes.__init__ = connect, connect_ex, popen


def _check(address: object) -> None:
    if not (isinstance(address, tuple) and str(address[0]).startswith(_LOCAL)):
        raise ConnectionRefusedError(f"the test has ended: {address!r} is not connected to")
