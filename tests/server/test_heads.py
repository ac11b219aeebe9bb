"""The head of a request without a loop: what it says about the connection and about its body."""

import pytest

from fakekube.server.directhttp import Head, NeedsTime


def head(*fields, version="HTTP/1.1"):
    return Head("\r\n".join((f"GET /api {version}", *fields)), 0)


@pytest.mark.parametrize(
    ("version", "connection", "closes"),
    [
        ("HTTP/1.1", "", False),
        ("HTTP/1.1", "keep-alive", False),
        ("HTTP/1.1", "close", True),
        ("HTTP/1.1", "Close", True),
        ("HTTP/1.0", "", True),
        ("HTTP/1.0", "close", True),
        ("HTTP/1.0", "Keep-Alive", False),
    ],
)
def test_whether_a_connection_is_closed_after_the_answer(version, connection, closes):
    """RFC 9112, section 9.3: a connection of HTTP/1.1 stays open by default, one of HTTP/1.0 is closed."""
    fields = [f"Connection: {connection}"] if connection else []
    assert head(*fields, version=version).closes is closes


def test_the_length_of_a_body():
    assert head().length == 0
    assert head("Content-Length: \t12 ").length == 12
    assert (head("Transfer-Encoding: chunked").chunked, head().chunked) == (True, False)


@pytest.mark.parametrize(
    "field", ["Content-Length: 1.5", "Content-Length: -1", "Upgrade: websocket", "Expect: 100-continue"]
)
def test_what_needs_a_loop_is_named(field):
    with pytest.raises(NeedsTime):
        head(field)
