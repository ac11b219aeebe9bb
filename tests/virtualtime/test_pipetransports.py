"""A pipe behaves as a transport of asyncio: flow control, halves that end, protocols with buffers, and its end."""

import asyncio
from contextvars import copy_context

import pytest

from fakekube.virtualtime.network.pipes import PipeSocket, pipe

ADDRESSES = ("127.0.0.1", 61000), ("127.0.0.1", 80)


class Recorder(asyncio.Protocol):
    """Keeps what happens. `stays`: whether it leaves the transport open when the other end sends no more."""

    def __init__(self, stays=False):
        self.events, self._stays = [], stays

    def data_received(self, data):
        self.events.append(bytes(data))

    def eof_received(self):
        self.events.append("eof")
        return self._stays

    def connection_lost(self, exc):
        self.events.append(("lost", type(exc).__name__))

    def pause_writing(self):
        self.events.append("paused")

    def resume_writing(self):
        self.events.append("resumed")


class Buffered(asyncio.BufferedProtocol):
    """Has a buffer of four bytes."""

    def __init__(self):
        self.events, self._buffer = [], bytearray(4)

    def get_buffer(self, sizehint):
        return self._buffer

    def buffer_updated(self, nbytes):
        self.events.append(bytes(self._buffer[:nbytes]))

    def eof_received(self):
        self.events.append("eof")


@pytest.fixture
def runner():
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture
def turn(runner):
    async def nothing():
        for _ in range(3):
            await asyncio.sleep(0)

    return lambda: runner.run(nothing())


@pytest.fixture
def joined(runner, turn):
    """Joins two protocols; returns both, and the transport of each."""

    def joined(client=None, server=None):
        client, server = client or Recorder(), server or Recorder()
        near, far = pipe(runner.get_loop(), client, server, ADDRESSES, (None, None), copy_context())
        turn()
        return client, server, near, far

    return joined


def test_data_of_one_turn_arrives_as_one_piece_in_its_order(joined, turn):
    client, server, near, far = joined()
    near.write(b"a")
    near.write(bytearray(b"b"))
    near.write(memoryview(b"c"))
    near.write(b"")
    assert server.events == [], "on a later turn"
    turn()
    far.write(b"answer")
    turn()
    assert (server.events, client.events) == ([b"abc"], [b"answer"])


@pytest.mark.parametrize("data", ["text", 5, None])
def test_only_bytes_are_written(joined, data):
    _, _, near, _ = joined()
    with pytest.raises(TypeError, match="data must be bytes-like, not"):
        near.write(data)


@pytest.mark.parametrize(
    ("arguments", "limits"),
    [
        ({}, (16 * 1024, 64 * 1024)),
        ({"high": 100}, (25, 100)),
        ({"low": 100}, (100, 400)),
        ({"high": 100, "low": 100}, (100, 100)),
        ({"high": 0, "low": 0}, (0, 0)),
        ({"high": 0}, (0, 0)),
    ],
)
def test_limits_of_what_the_other_end_has_not_read(joined, arguments, limits):
    _, _, near, _ = joined()
    near.set_write_buffer_limits(**arguments)
    assert near.get_write_buffer_limits() == limits


@pytest.mark.parametrize(("high", "low"), [(9, 10), (10, -1), (-1, -2)])
def test_limits_that_make_no_sense(joined, high, low):
    _, _, near, _ = joined()
    with pytest.raises(ValueError, match=r"must be >= low"):
        near.set_write_buffer_limits(high, low)


def test_a_writer_is_paused_above_the_high_limit_until_all_but_the_low_one_is_read(joined, turn):
    client, server, near, far = joined()
    near.set_write_buffer_limits(10, 5)
    far.pause_reading()
    assert not far.is_reading()
    near.write(b"x" * 10)
    assert (near.get_write_buffer_size(), client.events) == (10, [])
    near.write(b"y")
    near.write(b"z")
    assert (near.get_write_buffer_size(), client.events) == (12, ["paused"])
    turn()
    assert server.events == []
    far.resume_reading()
    turn()
    assert (near.get_write_buffer_size(), client.events) == (0, ["paused", "resumed"])
    assert server.events == [b"xxxxxxxxxxyz"]


def test_a_protocol_with_a_buffer_gets_what_fits(joined, turn):
    _, server, near, _ = joined(server=Buffered())
    near.write(b"abcdefghij")
    turn()
    assert server.events == [b"abcd", b"efgh", b"ij"]


@pytest.mark.parametrize("stays", [True, False])
def test_one_half_ends(joined, turn, stays):
    client, server, near, far = joined(server=Recorder(stays))
    assert near.can_write_eof()
    near.write(b"last")
    near.write_eof()
    near.write_eof()
    turn()
    assert server.events[:2] == [b"last", "eof"]
    assert far.is_closing() is not stays
    with pytest.raises(RuntimeError, match=r"cannot write after write_eof"):
        near.write(b"more")
    if stays:
        far.write(b"answer")
        turn()
        assert client.events == [b"answer"]
        assert server.events == [b"last", "eof"]
    else:
        assert server.events[2:] == [("lost", "NoneType")]
        assert client.events == ["eof", ("lost", "NoneType")]


def test_what_was_written_before_the_close_is_read(joined, turn):
    client, server, near, _ = joined()
    near.write(b"last")
    near.close()
    near.close()
    assert near.is_closing()
    assert not near.is_reading()
    near.write(b"ignored")
    turn()
    assert server.events == [b"last", "eof", ("lost", "NoneType")]
    assert client.events == [("lost", "NoneType")]


def test_an_abort_discards_what_was_not_read(joined, turn):
    client, server, near, _ = joined()
    near.write(b"last")
    near.abort()
    assert near.get_write_buffer_size() == 0
    turn()
    assert server.events == ["eof", ("lost", "NoneType")]
    assert client.events == [("lost", "NoneType")]


def test_an_abort_after_a_close_discards_nothing(joined, turn):
    _, server, near, _ = joined()
    near.write(b"last")
    near.close()
    near.abort()
    turn()
    assert server.events == [b"last", "eof", ("lost", "NoneType")]


def test_a_write_to_an_end_that_has_closed_breaks_the_connection(joined, turn):
    client, _, near, far = joined(client=Recorder(stays=True))
    far.write(b"unread")
    near.pause_reading()
    far.close()
    near.write(b"late")
    near.write(b"later")
    turn()
    assert client.events == [("lost", "ConnectionResetError")], "nothing is delivered after it"


def test_a_paused_writer_goes_on_when_the_other_end_closes(joined, turn):
    client, _, near, far = joined(client=Recorder(stays=True))
    near.set_write_buffer_limits(1, 0)
    far.pause_reading()
    near.write(b"xx")
    far.close()
    turn()
    assert client.events == ["paused", "eof", "resumed"]


@pytest.mark.parametrize("state", ["open", "closing", "closed"])
def test_the_state_is_in_the_representation(joined, turn, state):
    _, _, near, _ = joined()
    if state != "open":
        near.close()
    if state == "closed":
        turn()
    assert repr(near) == f"<PipeTransport {ADDRESSES[0]} -> {ADDRESSES[1]} {state}>"


def test_a_protocol_can_be_replaced(joined, turn):
    _, server, near, far = joined()
    other = Recorder()
    far.set_protocol(other)
    near.write(b"x")
    turn()
    assert far.get_protocol() is other
    assert (server.events, other.events) == ([], [b"x"])


@pytest.mark.parametrize(("host", "family"), [("127.0.0.1", "AF_INET"), ("::1", "AF_INET6")])
def test_its_socket_has_the_addresses_and_takes_all_options(host, family):
    sock = PipeSocket((host, 1), (host, 2))
    assert (sock.getsockname(), sock.getpeername(), sock.family.name) == ((host, 1), (host, 2), family)
    assert (sock.fileno(), sock.getsockopt(1, 2), sock.gettimeout()) == (-1, 0, 0.0)
    assert (sock.setsockopt(1, 2, 3), sock.settimeout(None), sock.setblocking(True)) == (None, None, None)
    assert repr(sock) == f"<PipeSocket {(host, 1)} -> {(host, 2)}>"
