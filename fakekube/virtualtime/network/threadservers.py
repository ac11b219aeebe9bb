"""Servers in threads of the bubble, and their connections with clients of the bubble: both wait in virtual time.

Their bytes are not counted. The kernel is asked whether an end is ready, each time that the other has written.
"""

import _socket

from fakekube.virtualtime.notifier import Notifier
from fakekube.virtualtime.socketaddresses import Address, Route, name_of, numeric, peer_of, route

#: The hosts of a server that listens on all addresses.
_ANY = ("0.0.0.0", "::")


class ThreadServers:
    """The addresses on which threads listen, and the connections of which both ends belong to the bubble."""

    def __init__(self) -> None:
        self._addresses: set[Address] = set()
        #: the connections of clients of the bubble to servers that the loop does not run
        self._connected: set[Route] = set()
        #: those of them that a thread of the bubble serves
        self._served: set[Route] = set()
        #: called when a thread begins to listen
        self.listening: Notifier = Notifier()

    def listens(self, sock: _socket.socket) -> None:
        """A thread waits for connections on `sock`."""
        address = name_of(sock)
        if address is not None and address not in self._addresses:
            self._addresses.add(address)
            self.listening.notify()

    def serve(self, host: str, port: int) -> bool:
        """Whether a thread listens on an address."""
        return bool(self._addresses) and any((each, port) in self._addresses for each in (host, *_ANY))

    def connected(self, sock: _socket.socket, address: object) -> None:
        """A client of the bubble has connected `sock`."""
        made, server = route(name_of(sock), address), numeric(address)
        if made is None or server is None:
            return
        self._connected.add(made)
        if self.serve(*server):
            self._served.add(made)

    def accepted(self, sock: _socket.socket) -> None:
        """A thread of the bubble has accepted a connection."""
        made = route(peer_of(sock), name_of(sock))
        if made in self._connected and made is not None:
            self._served.add(made)

    def has(self, sock: _socket.socket) -> bool:
        """Whether `sock` is an end of a connection between a client and a thread of the bubble."""
        if not self._served:
            return False
        name, peer = name_of(sock), peer_of(sock)
        return route(name, peer) in self._served or route(peer, name) in self._served

    def closes(self, sock: _socket.socket) -> None:
        """Called before a socket is closed. The kernel may give its port to a client of another process."""
        if (self._connected or self._addresses) and sock.fileno() >= 0:
            made = route(name_of(sock), peer_of(sock))
            if made is not None:
                self._connected.discard(made)
                self._served.discard(made)
            elif (address := name_of(sock)) is not None:
                self._addresses.discard(address)
