"""The handlers that stand in for the kubelet API: logs, exec, attach and port-forward of pods. Tests register them.

A handler receives a request and returns the response; it may raise StatusError to reject the request.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass

from fakekube.apiserver.resource import Object
from fakekube.struct import Struct


class LogRequest(Struct, frozen=True):
    """A request for the log of `container`. `since_time` is a timestamp of the API; None: not requested.

    `follow`: the response stays open until the container ends."""

    pod: Object
    container: str
    previous: bool = False
    since_seconds: int | None = None
    since_time: str | None = None
    timestamps: bool = False
    follow: bool = False


class ExecRequest(Struct, frozen=True):
    """A request to run `command` in `container`, or to attach to it (no command).

    `stdin`: what the client had sent when it closed its input, began to wait for output, or left."""

    pod: Object
    container: str
    command: tuple[str, ...] = ()
    stdin: bytes = b""
    tty: bool = False


@dataclass(frozen=True, slots=True)
class ExecResult:
    """The output and the exit code of a command."""

    stdout: str | bytes = b""
    stderr: str | bytes = b""
    exit_code: int = 0


class ForwardRequest(Struct, frozen=True):
    """`data` that a client sends to a port of the pod."""

    pod: Object
    port: int
    data: bytes


#: What an interactive handler is: it yields output, gets input, and returns the result.
Conversation = Generator[ExecResult | str | bytes | None, bytes, ExecResult | str | bytes | None]

#: A log: a text, or lines, each with the seconds after the start of the container at which it is written.
LogOutput = str | bytes | Iterable[tuple[float, str | bytes]]

LogHandler = Callable[[LogRequest], LogOutput]
ExecHandler = Callable[[ExecRequest], ExecResult | str | bytes]
InteractiveHandler = Callable[[ExecRequest], Conversation]
ForwardHandler = Callable[[ForwardRequest], bytes]


class Kubelet(Struct):
    """The handlers of pod requests; requests without a handler are rejected."""

    logs: LogHandler | None = None
    exec: ExecHandler | InteractiveHandler | None = None
    attach: ExecHandler | InteractiveHandler | None = None
    forward: ForwardHandler | None = None
    advice: str = "register one with {handler}()"
    """What to do about a request without a handler; `{handler}` is the name of what registers it in a test."""


def in_bytes(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else value


def result_of(value: ExecResult | str | bytes | None) -> ExecResult:
    """The result of a handler; a plain text is the standard output of a successful command."""
    return value if isinstance(value, ExecResult) else ExecResult(value or b"")


def is_interactive(handler: ExecHandler | InteractiveHandler) -> bool:
    """Whether a handler is a generator function."""
    return inspect.isgeneratorfunction(handler)


def conversation_of(handler: InteractiveHandler, request: ExecRequest) -> Generator[ExecResult, bytes, ExecResult]:
    """The conversation of an interactive handler, which begins when it is advanced."""
    conversation = handler(request)
    try:
        output = next(conversation)
        while True:
            output = conversation.send((yield result_of(output)))
    except StopIteration as end:
        return result_of(end.value)
