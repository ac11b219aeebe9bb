"""Blocking clients whose requests are answered in place: in coroutines, and in threads of the bubble."""

import asyncio
import errno
import socket
import ssl

import pytest

from tests.virtualtime.test_connections import Conversation


@pytest.fixture
def address(bubble):
    """Where a server of the loop answers in place; over the network it says nothing."""
    server = bubble.run(start(bubble))
    host, port = server.sockets[0].getsockname()
    bubble.loop.network.answer_in_place(port, Conversation)
    yield host, port
    bubble.settle()
    server.close()
    bubble.settle()


async def start(bubble):
    return await bubble.loop.create_server(asyncio.Protocol, "127.0.0.1", 0)


def in_thread(bubble, function):
    found = []
    thread = bubble.thread(lambda: found.append(function()))
    bubble.join(thread)
    assert thread.error is None
    return found[0]


def in_coroutine(bubble, function):
    async def main():
        return function()

    return bubble.run(main())


WHERE = pytest.mark.parametrize("run", [in_thread, in_coroutine])


def reads(sock):
    """What each way to read returns of the answer HEY!."""
    sock.sendall(b"hey!\n")
    peeked = sock.recv(2, socket.MSG_PEEK)
    buffer, whole = bytearray(3), bytearray(1)
    found = [
        peeked,
        sock.recv(1),
        sock.recv_into(buffer, 1),
        bytes(buffer),
        sock.recvfrom(1)[0],
        sock.recvfrom_into(whole)[0],
        bytes(whole),
    ]
    return [*found, sock.recvmsg(10)[0]]


@WHERE
def test_each_way_to_read_returns_the_answer(bubble, address, run):
    def works():
        with socket.create_connection(address, timeout=5) as sock:
            return reads(sock)

    assert run(bubble, works) == [b"HE", b"H", 1, b"E\0\0", b"Y", 1, b"!", b"\n"]
    assert bubble.clock.us == 0


@WHERE
@pytest.mark.parametrize("how", ["connect", "connect_ex", "name"])
def test_each_way_to_connect(bubble, address, run, how):
    def works():
        with socket.socket() as sock:
            sock.settimeout(5)
            if how == "connect_ex":
                assert sock.connect_ex(address) == 0
            else:
                sock.connect(address if how == "connect" else ("localhost", address[1]))
            assert sock.send(b"a\n") == 2
            buffer = bytearray(100)
            assert sock.recv_into(buffer) == 2
            return bytes(buffer[:2])

    assert run(bubble, works) == b"A\n"


def test_a_refused_connection_is_no_connection(bubble):
    def works():
        with socket.socket() as sock:
            sock.settimeout(5)
            return sock.connect_ex(("127.0.0.1", 1))

    assert in_thread(bubble, works) == errno.ECONNREFUSED


@WHERE
def test_the_server_may_close_or_reset_the_connection_after_its_answer(bubble, address, run):
    def works():
        with (
            socket.create_connection(address, timeout=5) as last,
            socket.create_connection(address, timeout=5) as reset,
        ):
            last.sendall(b"last\n")
            assert last.recv(100) == b"LAST\n"
            assert last.recv(100) == b""
            reset.sendall(b"reset\n")
            with pytest.raises(ConnectionResetError):
                reset.recv(100)
        return True

    assert run(bubble, works)


def test_a_coroutine_cannot_wait_for_what_needs_the_loop(bubble, address):
    def works():
        with socket.create_connection(address, timeout=5) as sock:
            with pytest.raises(RuntimeError, match="a watch is not answered at once"):
                sock.sendall(b"slow\n")
            assert sock.fileno() == -1
        with (
            socket.create_connection(address, timeout=5) as sock,
            pytest.raises(RuntimeError, match="use an async client"),
        ):
            sock.recv(1)
        return True

    assert in_coroutine(bubble, works)


def test_the_blocking_calls_of_coroutines_are_counted_by_place(bubble, address):
    def works():
        with socket.create_connection(address, timeout=5) as sock:
            for _ in range(3):
                sock.sendall(b"a\n")
                sock.recv(10)

    in_thread(bubble, works)
    assert bubble.blocking_calls == {}
    in_coroutine(bubble, works)
    ((place, times),) = bubble.blocking_calls.items()
    assert (times, place.function.rpartition(".")[2]) == (3, "works")


def test_a_thread_that_never_waits_lets_the_loop_take_each_sixteenth_turn(bubble, address):
    def works():
        beats = []
        with socket.create_connection(address, timeout=5) as sock:
            for _ in range(40):
                sock.sendall(b"a\n")
                sock.recv(10)
                beats.append(bubble.loop._selector.beat)
        return beats

    beats = in_thread(bubble, works)
    turns = [number + 1 for number in range(1, 40) if beats[number] != beats[number - 1]]
    assert (turns[0], turns[-1]) == (16, 32)  # between them the connection is accepted
    assert len(turns) < 10


def test_a_thread_lets_what_is_ready_run(bubble, address):
    def works():
        ran = []
        with socket.create_connection(address, timeout=5) as sock:
            for number in range(4):
                bubble.loop.call_soon_threadsafe(ran.append, number)
                sock.sendall(b"a\n")
                sock.recv(10)
                assert len(ran) == number + 1
        return ran

    assert in_thread(bubble, works) == [0, 1, 2, 3]


@pytest.mark.parametrize("kind", ["plain", "secure", "neither"])
def test_a_coroutine_connects_by_name_to_what_answers_in_place_only(bubble, kind):
    server = bubble.run(start(bubble))
    port = server.sockets[0].getsockname()[1]
    if kind != "neither":
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER) if kind == "secure" else None
        bubble.loop.network.answer_in_place(port, Conversation, tls)

    def works():
        with socket.socket() as sock:
            sock.settimeout(5)
            if kind == "neither":
                with pytest.raises(RuntimeError, match="use an async client"):
                    sock.connect(("localhost", port))
            else:
                sock.connect(("localhost", port))
            return sock.fileno() != -1

    assert in_coroutine(bubble, works) is (kind != "neither")
    bubble.settle()
    server.close()
    bubble.settle()
