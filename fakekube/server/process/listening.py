"""The socket of a server, which is taken before anything else is loaded, so that a port in use is an error at once."""

from __future__ import annotations

import os
import socket

#: The maximum number of connections that wait to be accepted.
BACKLOG = 128

#: The wildcard addresses, and the loopback addresses that reach a server which listens on them.
EVERY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1"}

#: The addresses that only this machine reaches.
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


class CannotServe(Exception):
    """The options cannot be satisfied; the message names the option."""


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens on an address. Raises OSError if it is not available."""
    family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    return socket.create_server(address, family=family, backlog=BACKLOG)


def taken(host: str, port: int) -> socket.socket:
    """As `listening`. Raises CannotServe."""
    try:
        return listening(host, port)
    except OSError as error:
        raise CannotServe(f"cannot listen on {host}:{port}: {reason(error)}") from None


def reason(error: OSError) -> str:
    """The operating system's message for an error (asyncio adds to it)."""
    return os.strerror(error.errno) if error.errno and error.errno > 0 else str(error.strerror or error)
