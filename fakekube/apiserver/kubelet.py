"""What a kubelet would answer for a pod: logs, commands, forwarded ports. A test registers who answers.

A handler is called with a request and returns the answer at once; it may raise StatusError to refuse.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fakekube.apiserver.resource import Object


@dataclass(frozen=True, slots=True)
class LogRequest:
    """Somebody reads the log of `container`. The times are seconds, or as the API writes them; None: not asked."""

    pod: Object
    container: str
    previous: bool = False
    since_seconds: int | None = None
    since_time: str | None = None
    timestamps: bool = False


@dataclass(frozen=True, slots=True)
class ExecRequest:
    """Somebody runs `command` in `container`, or attaches to what runs there (no command).

    `stdin` is what the client sent, if it sends anything.
    """

    pod: Object
    container: str
    command: tuple[str, ...] = ()
    stdin: bytes = b""
    tty: bool = False


@dataclass(frozen=True, slots=True)
class ExecResult:
    """What a command wrote, and how it ended."""

    stdout: str | bytes = b""
    stderr: str | bytes = b""
    exit_code: int = 0


@dataclass(frozen=True, slots=True)
class ForwardRequest:
    """Somebody sends `data` to a port of the pod."""

    pod: Object
    port: int
    data: bytes


LogHandler = Callable[[LogRequest], str | bytes]
ExecHandler = Callable[[ExecRequest], ExecResult | str | bytes]
ForwardHandler = Callable[[ForwardRequest], bytes]


@dataclass(slots=True)
class Kubelet:
    """Who answers for pods; None: nobody, and requests are refused."""

    logs: LogHandler | None = None
    exec: ExecHandler | None = None
    attach: ExecHandler | None = None
    forward: ForwardHandler | None = None


def in_bytes(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else value


def result_of(value: ExecResult | str | bytes) -> ExecResult:
    """A handler's answer; a text alone is what a command wrote that went well."""
    return value if isinstance(value, ExecResult) else ExecResult(value)
