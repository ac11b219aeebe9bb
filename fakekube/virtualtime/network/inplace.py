"""Answers to blocking clients in place: by a direct call instead of over the connection.

A blocking client inside a coroutine holds up the loop that would have to answer it, as it would hold up the loop of an
operator on a real machine. But a server that needs no loop to answer can answer by a call. In a thread of the bubble
this saves the switches between thread and loop.
"""

from collections.abc import Callable
from typing import Protocol


class NeedsTime(Exception):
    """The request is not answered in place: it needs the loop. The message says what for.

    `streams`: the connection is no longer one of requests and answers (a watch, a WebSocket).
    """

    def __init__(self, what: str, *, streams: bool = False) -> None:
        super().__init__(what)
        self.streams = streams


class Conversation(Protocol):
    """The server's end of one connection, without the network."""

    #: whether the server closes the connection after the last answer
    closes: bool

    def feed(self, data: bytes) -> bytes | None:
        """More bytes of the client. Returns the answer, None while the request is incomplete.

        Raises NeedsTime, and ConnectionResetError where the server resets the connection.
        """


#: Makes the conversation of a new connection.
Answering = Callable[[], Conversation]


class Exchange:
    """The requests and answers of one connection that are exchanged in place."""

    __slots__ = ("_conversation", "_make", "_reset", "answer", "ended", "is_new", "request", "streams")

    def __init__(self, make: Answering) -> None:
        self._make = make
        self._conversation: Conversation | None = None
        self._reset = False
        #: what the client has sent of a request that is not answered yet
        self.request: bytearray = bytearray()
        #: what the client has not read yet
        self.answer: bytearray = bytearray()
        self.ended: bool = False
        self.streams: bool = False
        #: whether nothing of the answer has been read
        self.is_new: bool = False

    @property
    def readable(self) -> bool:
        """Whether `recv` returns at once."""
        return bool(self.answer) or self.ended

    def send(self, data: bytes) -> None:
        """Bytes of the client. Raises NeedsTime; `request` then has all bytes of the request."""
        if self._conversation is None:
            self._conversation = self._make()
        self.request += data
        try:
            answer = self._conversation.feed(data)
        except ConnectionResetError:
            self.ended = self._reset = self.is_new = True
            return
        except NeedsTime as need:
            self._conversation = None
            self.streams = need.streams
            raise
        if answer is not None:
            self.request.clear()
            self.answer += answer
            self.ended, self.is_new = self._conversation.closes, True

    def take(self, count: int, *, keep: bool = False) -> bytes:
        """At most `count` bytes of the answer; they stay with `keep`. Raises ConnectionResetError."""
        if self._reset:
            raise ConnectionResetError(104, "Connection reset by peer")
        taken = bytes(self.answer[:count])
        if not keep:
            del self.answer[:count]
        return taken

    def release(self) -> bytes:
        """The bytes of a request that is sent over the connection after all."""
        raw = bytes(self.request)
        self.request.clear()
        return raw
