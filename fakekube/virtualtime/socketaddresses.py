"""Names the connections to servers of a loop, for all that have only their sockets or addresses."""

import _socket

Address = tuple[str, int]

#: A client's address and the port of its server. The kernel gives a client's port to connections to several servers.
Route = tuple[Address, int]


def route(client: object, server: object) -> Route | None:
    """The route between two addresses; None for those of other families."""
    one, other = numeric(client), numeric(server)
    return (one, other[1]) if one is not None and other is not None else None


def numeric(address: object) -> Address | None:
    """The host and the port of an address; None for those of other families."""
    if isinstance(address, tuple) and len(address) >= 2 and isinstance(address[0], str) and isinstance(address[1], int):
        return address[0], address[1]
    return None


def name_of(sock: _socket.socket) -> Address | None:
    """The address of a socket, if it has one."""
    try:
        return numeric(sock.getsockname())
    except OSError:
        return None


def peer_of(sock: _socket.socket) -> Address | None:
    """The address to which a socket is connected, if it is."""
    try:
        return numeric(sock.getpeername())
    except OSError:
        return None
