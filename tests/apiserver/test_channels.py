"""The messages of exec, attach and port-forward channels."""

import orjson
import pytest

from fakekube.apiserver.kubelet import ExecResult
from fakekube.apiserver.wire.channels import (
    CLOSE,
    ERROR,
    STDERR,
    STDIN,
    STDOUT,
    ExecSession,
    ForwardSession,
    InteractiveSession,
    choose,
)
from fakekube.apiserver.wire.status import not_found

V5, V4 = "v5.channel.k8s.io", "v4.channel.k8s.io"
END_OF_INPUT = bytes([CLOSE, STDIN])


WROTE = ExecResult("out", b"err")


def session(result=WROTE, *, stdin=False):
    inputs = []

    def run(data):
        inputs.append(data)
        return result

    return ExecSession(run, ("ls", "-l"), stdin=stdin), inputs


def test_a_command_without_stdin_runs_immediately():
    open, inputs = session()
    out, err, end = open.opened()
    assert (out, err) == (bytes([STDOUT]) + b"out", bytes([STDERR]) + b"err")
    assert (end[0], orjson.loads(end[1:])) == (ERROR, {"metadata": {}, "status": "Success"})
    assert (inputs, open.done) == ([b""], True)


def test_a_command_that_fails():
    open, _ = session(ExecResult(exit_code=3))
    (end,) = open.opened()
    assert orjson.loads(end[1:]) == {
        "metadata": {},
        "status": "Failure",
        "message": "command terminated with non-zero exit code: error executing command [ls -l], exit code 3",
        "reason": "NonZeroExitCode",
        "details": {"causes": [{"reason": "ExitCode", "message": "3"}]},
    }


def test_a_command_with_stdin_waits_for_end_of_input():
    open, inputs = session(stdin=True)
    assert open.opened() == []
    assert open.received(bytes([STDIN]) + b"a") == []
    assert open.received(bytes([4]) + b'{"Width":80}') == []
    assert open.received(b"") == []
    assert open.received(bytes([STDIN]) + b"b") == []
    assert open.received(bytes([CLOSE, STDOUT])) == []
    assert (inputs, open.done) == ([], False)
    assert len(open.received(END_OF_INPUT)) == 3
    assert (inputs, open.done) == ([b"ab"], True)
    assert open.received(bytes([STDIN]) + b"late") == []


def test_the_input_of_a_silent_client_is_complete():
    open, inputs = session(stdin=True)
    assert [open.received(bytes([STDIN]) + part) for part in (b"a", b"b")] == [[], []]
    assert len(open.silent()) == 3
    assert (inputs, open.done) == ([b"ab"], True)


def test_a_command_runs_once_after_its_client_has_gone():
    open, inputs = session(stdin=True)
    open.received(bytes([STDIN]) + b"a")
    open.left()
    open.left()
    assert (inputs, open.done) == ([b"a"], True)


def refused():
    raise not_found("pods", "a")


def refusal(message):
    return message[0], orjson.loads(message[1:])["reason"]


def test_a_command_that_is_refused_ends_with_the_status():
    open = ExecSession(lambda data: refused(), ("ls",), stdin=False)
    (end,) = open.opened()
    assert refusal(end) == (ERROR, "NotFound")
    assert open.done


def conversation(*, refuses=False):
    """Repeats its input until the end of the input."""
    data = yield ExecResult("ready")
    while data:
        data = yield ExecResult(data.decode())
        if refuses:
            refused()
    return ExecResult("bye", exit_code=0)


SUCCESS = bytes([ERROR]) + orjson.dumps({"metadata": {}, "status": "Success"})


def test_a_conversation_answers_each_message_until_the_input_ends():
    open = InteractiveSession(conversation(), ("cat",), stdin=True)
    assert open.opened() == [b"\x01ready"]
    assert open.received(b"\x00a") == [b"\x01a"]
    for ignored in (b"", b"\x00", b"\x04{}", bytes([CLOSE, STDOUT])):
        assert open.received(ignored) == []
    assert not open.done
    assert open.received(END_OF_INPUT) == [b"\x01bye", SUCCESS]
    assert open.done
    assert open.received(b"\x00late") == []


def test_a_conversation_without_stdin_runs_to_its_end():
    open = InteractiveSession(conversation(), ("cat",), stdin=False)
    assert open.opened() == [b"\x01ready", b"\x01bye", SUCCESS]
    assert open.done


def test_a_conversation_without_input_is_asked_until_it_ends():
    def counts():
        for number in "12":
            assert (yield ExecResult(number)) == b""
        return ExecResult(exit_code=0)

    assert InteractiveSession(counts(), ("count",), stdin=False).opened() == [b"\x011", b"\x012", SUCCESS]


def test_a_conversation_that_is_refused_ends_with_the_status():
    open = InteractiveSession(conversation(refuses=True), ("cat",), stdin=True)
    open.opened()
    open.received(b"\x00a")
    (end,) = open.received(b"\x00b")
    assert refusal(end) == (ERROR, "NotFound")
    assert open.done


def test_a_conversation_whose_client_has_gone_is_closed():
    ended = []

    def watched():
        try:
            yield ExecResult("ready")
        finally:
            ended.append(True)

    open = InteractiveSession(watched(), ("cat",), stdin=True)
    open.opened()
    open.left()
    assert ended


@pytest.mark.parametrize(
    ("offered", "chosen"), [([V4, V5], V5), (["channel.k8s.io", V4], V4), (["base64.channel.k8s.io"], ""), ([], "")]
)
def test_the_newest_common_protocol_is_chosen(offered, chosen):
    assert choose(offered) == chosen


def test_a_forwarded_port_has_two_channels():
    open = ForwardSession(lambda port, data: f"{port}:".encode() + data if data != b"quiet" else b"", [80, 443])
    assert open.opened() == [b"\x00P\x00", b"\x01P\x00", b"\x02\xbb\x01", b"\x03\xbb\x01"]
    assert open.received(b"\x02hi") == [b"\x02443:hi"]
    assert open.received(b"\x00quiet") == []
    for ignored in (b"", b"\x01error", b"\x04no such port"):
        assert open.received(ignored) == []
    assert not open.done


def test_a_conversation_that_reads_on_after_the_end_of_input_gets_nothing_more():
    got = []

    def reads_until_three_ends():
        while got.count(b"") < 3:
            got.append((yield ExecResult()))
        return ExecResult("done")

    open = InteractiveSession(reads_until_three_ends(), ("cat",), stdin=True)
    assert open.opened() == []
    assert open.received(bytes([STDIN]) + b"a") == []
    assert open.received(bytes([CLOSE, STDOUT])) == []
    assert open.received(END_OF_INPUT) == [b"\x01done", SUCCESS]
    assert got == [b"a", b"", b"", b""]
    assert open.done
