"""The channels of exec, attach and port-forward over a WebSocket (apimachinery `util/remotecommand`, client-go
`transport/websocket`).

Sessions handle messages; they do not know the socket. A message consists of a channel number and data. In
`v5.channel.k8s.io` the client can also close a channel.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Protocol

import orjson

from fakekube.apiserver.kubelet import ExecResult, in_bytes
from fakekube.apiserver.resource import Object
from fakekube.apiserver.wire.status import StatusError

STDIN, STDOUT, STDERR, ERROR, RESIZE, CLOSE = 0, 1, 2, 3, 4, 255

#: The supported subprotocols, newest first. The last one is used if the client requests none.
PROTOCOLS = ("v5.channel.k8s.io", "v4.channel.k8s.io")


def choose(offered: Sequence[str]) -> str:
    """The newest subprotocol that both client and server support; "" if there is none."""
    return next((one for one in PROTOCOLS if one in offered), "")


#: Seconds without a message after which the client of a command waits for its output.
SILENCE = 0.1


class Session(Protocol):
    """One open connection. `done`: the connection can be closed. `silence`: seconds without a message after which
    `silent` is called (None: never). `left` is called when the client has gone."""

    done: bool
    silence: float | None = None

    def opened(self) -> list[bytes]: ...

    def received(self, message: bytes) -> list[bytes]: ...

    def silent(self) -> list[bytes]:
        return []

    def left(self) -> None:
        return


class ExecSession(Session):
    """Runs a command when its input is complete: immediately without stdin, else when the client closes stdin, sends
    nothing for a while, as it waits for output, or has gone.

    A client of version 4 cannot close stdin, and a command that reads none does not wait for that.
    """

    silence = SILENCE

    def __init__(self, run: Callable[[bytes], ExecResult], command: Sequence[str], *, stdin: bool) -> None:
        self._run, self._command, self._stdin = run, command, stdin
        self._input: list[bytes] = []
        self.done: bool = False

    def opened(self) -> list[bytes]:
        return [] if self._stdin else self._finish()

    def received(self, message: bytes) -> list[bytes]:
        if self.done or not message:
            return []
        channel, data = message[0], message[1:]
        if channel == STDIN:
            self._input.append(data)
            return []
        if channel == CLOSE and data[:1] == bytes([STDIN]):
            return self._finish()
        return []

    def silent(self) -> list[bytes]:
        return self._finish()

    def left(self) -> None:
        if not self.done:
            self._finish()

    def _finish(self) -> list[bytes]:
        self.done = True
        try:
            result = self._run(b"".join(self._input))
        except StatusError as error:
            return [bytes([ERROR]) + orjson.dumps(error.to_object())]
        return [*_output(result), bytes([ERROR]) + orjson.dumps(outcome(result.exit_code, self._command))]


class InteractiveSession(Session):
    """A command that reads its input while the client writes it.

    `conversation` yields output; each value that it yields waits for the client's next message, which is the value of
    `yield`: `b""` at the end of the input, and always if there is none. What it returns is the result.
    """

    def __init__(
        self,
        conversation: Generator[ExecResult, bytes, ExecResult],
        command: Sequence[str],
        *,
        stdin: bool,
    ) -> None:
        self._conversation, self._command, self._stdin = conversation, command, stdin
        self._ended = not stdin
        self.done: bool = False

    def opened(self) -> list[bytes]:
        return self._step(lambda: next(self._conversation))

    def received(self, message: bytes) -> list[bytes]:
        if self.done or not message:
            return []
        channel, data = message[0], message[1:]
        if channel == STDIN and data:
            return self._step(lambda: self._conversation.send(data))
        if channel == CLOSE and data[:1] == bytes([STDIN]):
            self._ended = True
            return self._step(lambda: self._conversation.send(b""))
        return []

    def left(self) -> None:
        self._conversation.close()

    def _step(self, advance: Callable[[], ExecResult]) -> list[bytes]:
        """Run the command until it waits for input, or to its end."""
        messages: list[bytes] = []
        try:
            messages += _output(advance())
            while self._ended:
                messages += _output(self._conversation.send(b""))
        except StopIteration as end:
            self.done = True
            result: ExecResult = end.value
            status = outcome(result.exit_code, self._command)
            messages += [*_output(result), bytes([ERROR]) + orjson.dumps(status)]
        except StatusError as error:
            self.done = True
            messages.append(bytes([ERROR]) + orjson.dumps(error.to_object()))
        return messages


def _output(result: ExecResult) -> list[bytes]:
    """The messages with the output of a command."""
    written = [(STDOUT, in_bytes(result.stdout)), (STDERR, in_bytes(result.stderr))]
    return [bytes([channel]) + data for channel, data in written if data]


def outcome(exit_code: int, command: Sequence[str]) -> Object:
    """The exit of a command as a Status."""
    if exit_code == 0:
        return {"metadata": {}, "status": "Success"}
    why = f"error executing command [{' '.join(command)}], exit code {exit_code}"
    return {
        "metadata": {},
        "status": "Failure",
        "message": f"command terminated with non-zero exit code: {why}",
        "reason": "NonZeroExitCode",
        "details": {"causes": [{"reason": "ExitCode", "message": str(exit_code)}]},
    }


class ForwardSession(Session):
    """Two channels for each port, data and errors. Each starts with the port number; then every message is answered."""

    def __init__(self, answer: Callable[[int, bytes], bytes], ports: Sequence[int]) -> None:
        self._answer, self._ports = answer, ports
        self.done = False

    def opened(self) -> list[bytes]:
        numbered = [(channel, port) for i, port in enumerate(self._ports) for channel in (2 * i, 2 * i + 1)]
        return [bytes([channel]) + port.to_bytes(2, "little") for channel, port in numbered]

    def received(self, message: bytes) -> list[bytes]:
        if not message or message[0] % 2 or message[0] // 2 >= len(self._ports):
            return []
        answer = self._answer(self._ports[message[0] // 2], message[1:])
        return [message[:1] + answer] if answer else []
