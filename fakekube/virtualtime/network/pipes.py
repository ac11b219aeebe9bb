"""Pairs of connected transports in memory: data is delivered by callbacks of the loop."""

import asyncio
import socket
from collections import deque
from contextvars import Context, copy_context
from typing import Any

from fakekube.virtualtime.socketaddresses import Address

#: asyncio's own default (transports._FlowControlMixin).
_HIGH_WATER = 64 * 1024

Protocol = asyncio.BaseProtocol


class PipeSocket:
    """The `socket` of a pipe's transport: has the two addresses, and accepts all socket options."""

    type = socket.SOCK_STREAM
    proto: int = socket.IPPROTO_TCP

    def __init__(self, name: Address, peer: Address) -> None:
        self.family = socket.AF_INET6 if ":" in name[0] else socket.AF_INET
        self._name, self._peer = name, peer

    def getsockname(self) -> Address:
        return self._name

    def getpeername(self) -> Address:
        return self._peer

    def fileno(self) -> int:
        """-1, as a closed socket returns."""
        return -1

    def getsockopt(self, *_: Any) -> int:
        return 0

    def setsockopt(self, *_: Any) -> None:
        return None

    def gettimeout(self) -> float:
        return 0.0

    def settimeout(self, value: float | None) -> None:
        return None

    def setblocking(self, flag: bool) -> None:
        return None

    def __repr__(self) -> str:
        return f"<PipeSocket {self._name} -> {self._peer}>"


class PipeTransport(asyncio.Transport):
    """One end of a pipe. Data written here is delivered to the protocol of the other end on a later turn of the loop.

    Like TCP it is a stream: writes of one turn may arrive as one piece. Unlike TCP it never splits a write.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, protocol: Protocol, extra: dict[str, Any], context: Context
    ) -> None:
        super().__init__(extra)
        self._loop = loop
        #: in which the protocol is called, as by a reader of a socket
        self._context = context
        self._protocol = protocol
        self._peer: PipeTransport | None = None
        self._inbox: deque[bytes] = deque()
        self._unread = 0
        self._eof_received = False
        self._delivery: asyncio.Handle | None = None
        self._reading = True
        self._closing = False
        self._lost = False
        self._eof_sent = False
        self._high, self._low = _HIGH_WATER, _HIGH_WATER // 4
        self._writing_paused = False

    def join(self, peer: "PipeTransport") -> None:
        self._peer = peer

    # --- writing

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if not isinstance(data, bytes | bytearray | memoryview):
            raise TypeError(f"data must be bytes-like, not {type(data).__name__}")
        if self._eof_sent:
            raise RuntimeError("cannot write after write_eof()")
        if self._closing or not data:
            return
        if self._peer is None or self._peer._closing:
            # as a socket whose peer has closed: the first write breaks the connection
            self._break(ConnectionResetError(104, "Connection reset by peer"))
            return
        self._peer._receive(bytes(data))
        if not self._writing_paused and self.get_write_buffer_size() > self._high:
            self._writing_paused = True
            self._protocol.pause_writing()

    def write_eof(self) -> None:
        if self._eof_sent or self._closing:
            return
        self._eof_sent = True
        if self._peer is not None:
            self._peer._receive_eof()

    def can_write_eof(self) -> bool:
        return True

    def get_write_buffer_size(self) -> int:
        return self._peer._unread if self._peer is not None else 0

    def get_write_buffer_limits(self) -> tuple[int, int]:
        return self._low, self._high

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        if high is None:
            high = _HIGH_WATER if low is None else 4 * low
        if low is None:
            low = high // 4
        if not high >= low >= 0:
            raise ValueError(f"high ({high!r}) must be >= low ({low!r}) must be >= 0")
        self._high, self._low = high, low

    def _drained(self) -> None:
        if self._writing_paused and self.get_write_buffer_size() <= self._low:
            self._writing_paused = False
            self._protocol.resume_writing()

    # --- reading

    def is_reading(self) -> bool:
        return self._reading and not self._closing

    def pause_reading(self) -> None:
        self._reading = False

    def resume_reading(self) -> None:
        self._reading = True
        self._schedule()

    def _receive(self, data: bytes) -> None:
        self._inbox.append(data)
        self._unread += len(data)
        self._schedule()

    def _receive_eof(self) -> None:
        self._eof_received = True
        self._schedule()

    def _schedule(self) -> None:
        waiting = self._inbox or self._eof_received
        if waiting and self._delivery is None and self.is_reading():
            self._delivery = self._loop.call_soon(self._deliver, context=self._context)

    def _deliver(self) -> None:
        self._delivery = None
        if not self.is_reading():
            return
        if self._inbox:
            data = self._inbox.popleft() if len(self._inbox) == 1 else b"".join(self._inbox)
            self._inbox.clear()
            self._unread = 0
            if self._peer is not None:
                self._peer._drained()
            self._hand_in(data)
        if self._inbox:
            self._schedule()
        elif self._eof_received and self.is_reading():
            self._eof_received = False
            if not self._protocol.eof_received():  # type: ignore[attr-defined]
                self.close()

    def _hand_in(self, data: bytes) -> None:
        if not isinstance(self._protocol, asyncio.BufferedProtocol):
            self._protocol.data_received(data)  # type: ignore[attr-defined]
            return
        view = memoryview(data)
        while view:
            buffer = memoryview(self._protocol.get_buffer(len(view)))
            count = min(len(buffer), len(view))
            buffer[:count] = view[:count]
            self._protocol.buffer_updated(count)
            view = view[count:]

    # --- the end

    def is_closing(self) -> bool:
        return self._closing

    def close(self) -> None:
        """Close; written data has been handed to the other end already."""
        self._break(None)

    def abort(self) -> None:
        """Close at once and discard what the other end has not read."""
        if self._peer is not None and not self._closing:
            self._peer._inbox.clear()
            self._peer._unread = 0
        self._break(None)

    def _break(self, error: Exception | None) -> None:
        if self._closing:
            return
        self._closing = True
        self._inbox.clear()
        self._unread = 0
        if self._peer is not None and not self._eof_sent:
            self._peer._receive_eof()
        self._loop.call_soon(self._lose, error, context=self._context)

    def _lose(self, error: Exception | None) -> None:
        if self._lost:
            return
        self._lost = True
        if self._peer is not None:
            self._peer._drained()
        self._protocol.connection_lost(error)

    def get_protocol(self) -> Protocol:
        return self._protocol

    def set_protocol(self, protocol: Protocol) -> None:
        self._protocol = protocol

    def __repr__(self) -> str:
        state = "closed" if self._lost else "closing" if self._closing else "open"
        return f"<PipeTransport {self.get_extra_info('sockname')} -> {self.get_extra_info('peername')} {state}>"


def pipe(
    loop: asyncio.AbstractEventLoop,
    client: Protocol,
    server: Protocol,
    addresses: tuple[Address, Address],
    sslcontexts: tuple[object, object],
    listening: Context,
) -> tuple[PipeTransport, PipeTransport]:
    """A connected pair, the client's end first; `connection_made` is called on the next turn, the server's first.

    `listening`: the context in which the server's protocol is called.
    """
    contexts = (copy_context(), listening)
    ends = tuple(
        PipeTransport(loop, protocol, _extra(name, peer, sslcontext), context)
        for protocol, name, peer, sslcontext, context in zip(
            (client, server), addresses, reversed(addresses), sslcontexts, contexts, strict=True
        )
    )
    near, far = ends
    near.join(far)
    far.join(near)
    loop.call_soon(server.connection_made, far, context=listening)
    loop.call_soon(client.connection_made, near)
    return near, far


def _extra(name: Address, peer: Address, sslcontext: object) -> dict[str, Any]:
    extra: dict[str, Any] = {"sockname": name, "peername": peer, "socket": PipeSocket(name, peer)}
    if sslcontext is not None:
        # without a handshake there is no ssl_object, cipher or certificate, but clients treat it as https
        extra["sslcontext"] = sslcontext
    return extra
