"""Clients on the loop are connected by a pipe, all others by TCP, at the same address."""

import asyncio
import io
import ssl

import aiohttp
import pytest
import trustme
import urllib3

from fakekube.virtualtime import Bubble
from fakekube.virtualtime.network.bytecount import Connection
from tests.virtualtime.server import Server


@pytest.fixture(params=["memory", "tcp"])
def either(request):
    with Bubble(wall_clock=False, transport=request.param) as bubble:
        yield bubble


async def get(url, session=None):
    async with aiohttp.ClientSession() as own, (session or own).get(url) as response:
        return await response.json()


def test_an_asyncio_client_uses_a_pipe_and_a_blocking_one_tcp(bubble, server):
    assert bubble.run(get(f"{server.url}/now")) == 0
    with urllib3.PoolManager() as http:
        assert http.request("GET", f"{server.url}/now").json() == 0
    (piped, _), (real, _) = server.peers
    assert piped == ("127.0.0.1", 61000)
    assert real != piped
    assert [type(each) for each in bubble.loop.network.connections] == [Connection]  # the pipe is not in the ledger


def test_both_transports_serve_a_host_name(either):
    server = Server(either)
    server.host = "localhost"
    assert either.run(get(f"{server.url}/now")) == 0


def test_both_transports_give_the_same_answers_in_virtual_time(either):
    server = Server(either)

    async def test():
        async with aiohttp.ClientSession() as session:
            answers = [get(f"{server.url}/slow?after={after}", session) for after in (30, 10, 20)]
            return await asyncio.gather(*answers)

    assert either.run(test()) == [30, 10, 20]


def test_both_transports_carry_large_bodies_in_both_directions(either):
    server = Server(either)
    size = 20_000_000

    async def test():
        body = io.BytesIO(b"x" * size)
        async with aiohttp.ClientSession() as session, session.post(f"{server.url}/length", data=body) as response:
            return await response.json()

    assert either.run(test()) == size


def test_both_transports_deliver_a_watch(either):
    server = Server(either)

    async def test():
        async with aiohttp.ClientSession() as session, session.get(f"{server.url}/watch") as watch:
            for name in "ab":
                async with session.put(f"{server.url}/n/{name}"):
                    pass
                assert await watch.content.readline() == f"{name}=1\n".encode()

    either.run(test())
    either.settle()


@pytest.mark.parametrize(
    ("name", "trusted", "good"),
    [
        pytest.param("127.0.0.1", True, True, id="trusted"),
        pytest.param("127.0.0.1", False, False, id="another-authority"),
        pytest.param("example.invalid", True, False, id="another-name"),
    ],
)
def test_tls_of_a_client_on_the_loop_is_verified_and_then_uses_a_pipe(bubble, name, trusted, good):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority = trustme.CA()
    authority.issue_cert(name).configure_cert(context)
    trusting = ssl.create_default_context()
    (authority if trusted else trustme.CA()).configure_trust(trusting)
    server = Server(bubble, ssl_context=context)

    async def test():
        async with aiohttp.ClientSession() as session, session.get(f"{server.url}/now", ssl=trusting) as response:
            return await response.json()

    if good:
        assert bubble.run(test()) == 0
        assert server.peers == [(("127.0.0.1", 61000), "https")]
    else:
        with pytest.raises(aiohttp.ClientConnectorCertificateError):
            bubble.run(test())
        assert server.peers == []


@pytest.mark.parametrize("trusted", [True, False])
def test_tls_over_tcp_is_real(trusted):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority = trustme.CA()
    authority.issue_cert("127.0.0.1").configure_cert(context)
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    with Bubble(wall_clock=False, transport="tcp") as bubble:
        server = Server(bubble, ssl_context=context)

        async def test():
            known = trusting if trusted else True
            async with aiohttp.ClientSession() as session, session.get(f"{server.url}/now", ssl=known) as response:
                return await response.json()

        if trusted:
            assert bubble.run(test()) == 0
            assert server.peers[0][1] == "https"
        else:
            with pytest.raises(aiohttp.ClientConnectorCertificateError):
                bubble.run(test())


def test_tls_to_a_plain_server_fails(bubble, server):
    with pytest.raises(aiohttp.ClientConnectorError):
        bubble.run(get(f"https://{server.host}:{server.port}/now"))


def test_a_closed_server_refuses_connections(bubble, server):
    bubble.run(server.runner.cleanup())
    with pytest.raises(aiohttp.ClientConnectorError, match="Connect call failed"):
        bubble.run(get(f"{server.url}/now"))


def test_sockets_on_the_loop_that_are_used_directly_are_connected(bubble, server):
    import socket

    async def test():
        loop = asyncio.get_running_loop()
        with socket.socket() as sock:
            sock.setblocking(False)
            await loop.sock_connect(sock, (server.host, server.port))
            await loop.sock_sendall(sock, b"GET /now HTTP/1.0\r\n\r\n")
            return await loop.sock_recv(sock, 1000)

    assert bubble.run(test()).startswith(b"HTTP/1.0 200 OK")


# --- the transports themselves, with asyncio's streams


class Echo:
    """An echo server with asyncio's streams."""

    def __init__(self, bubble):
        self.bubble = bubble
        self.lost = []

    async def start(self):
        self.server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self.server.sockets[0].getsockname()[:2]

    async def _serve(self, reader, writer):
        try:
            while data := await reader.read(1 << 16):
                writer.write(data)
                await writer.drain()
        except ConnectionError as error:
            self.lost.append(type(error))
        finally:
            writer.close()


def test_a_stream_ends_by_eof_after_everything_was_delivered(either):
    async def test():
        address = await Echo(either).start()
        reader, writer = await asyncio.open_connection(*address)
        writer.write(b"one")
        writer.writelines([b"two", b"three"])
        writer.write_eof()
        received = await reader.read()
        writer.close()
        await writer.wait_closed()
        return received

    assert either.run(test()) == b"onetwothree"


def test_a_reader_that_does_not_read_stops_the_writer(either):
    """Back-pressure: otherwise a slow watch would grow without bound."""

    async def test():
        sent = 0

        async def flood(reader, writer):
            nonlocal sent
            try:
                while True:
                    writer.write(b"x" * 100_000)
                    await writer.drain()
                    sent += 100_000
                    await asyncio.sleep(0.001)
            finally:
                writer.close()

        server = await asyncio.start_server(flood, "127.0.0.1", 0)
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname(), limit=1000)
        await asyncio.sleep(10)
        stopped = sent
        await asyncio.sleep(10)
        assert sent == stopped  # it waits in drain()
        received = 0
        while received <= stopped:
            received += len(await reader.read(1 << 20))
        writer.close()
        server.close()
        return stopped

    assert 0 < either.run(test()) < 20_000_000


def test_transports_have_addresses(either):
    async def test():
        address = await Echo(either).start()
        _, writer = await asyncio.open_connection(*address)
        sock = writer.get_extra_info("socket")
        addresses = [writer.get_extra_info("peername"), sock.getpeername(), sock.family.name]
        assert writer.get_extra_info("sockname") == sock.getsockname()
        assert writer.get_extra_info("sockname")[0] == "127.0.0.1"
        writer.close()
        return addresses, address

    addresses, address = either.run(test())
    assert addresses == [address, address, "AF_INET"]


def test_aborting_one_end_ends_the_other(either):
    async def test():
        echo = Echo(either)
        address = await echo.start()
        reader, writer = await asyncio.open_connection(*address)
        writer.write(b"x")
        assert await reader.read(1) == b"x"
        writer.transport.abort()
        await either.settle()
        return [task for task in asyncio.all_tasks() if "_serve" in repr(task)]

    assert either.run(test()) == []


def test_writing_to_a_closed_end_breaks_the_connection(either):
    async def test():
        async def hangs_up(reader, writer):
            writer.close()

        server = await asyncio.start_server(hangs_up, "127.0.0.1", 0)
        lost = asyncio.get_running_loop().create_future()

        class Client(asyncio.Protocol):
            def eof_received(self):
                return True  # keep our half open

            def connection_lost(self, error):
                lost.set_result(error)

        transport, _ = await asyncio.get_running_loop().create_connection(Client, *server.sockets[0].getsockname())
        await either.settle()
        for _ in range(3):
            transport.write(b"anybody there?")
            await either.settle()
        transport.abort()
        return await lost

    assert isinstance(either.run(test()), ConnectionError)


def test_a_buffered_protocol_gets_its_bytes(either):
    async def test():
        address = await Echo(either).start()
        buffer, received = bytearray(10), bytearray()
        done = asyncio.get_running_loop().create_future()

        class Client(asyncio.BufferedProtocol):
            def get_buffer(self, sizehint):
                return buffer

            def buffer_updated(self, nbytes):
                received.extend(buffer[:nbytes])
                if len(received) == 95:
                    done.set_result(bytes(received))

        transport, _ = await asyncio.get_running_loop().create_connection(Client, *address)
        transport.write(bytes(range(95)))
        await done
        transport.close()
        return done.result()

    assert either.run(test()) == bytes(range(95))


def test_a_paused_reader_gets_its_bytes_when_it_resumes(either):
    async def test():
        address = await Echo(either).start()
        received = []

        class Client(asyncio.Protocol):
            def data_received(self, data):
                received.append(data)

        transport, _ = await asyncio.get_running_loop().create_connection(Client, *address)
        transport.pause_reading()
        assert not transport.is_reading()
        transport.write(b"x")
        await either.settle()  # bytes that no one reads do not keep the bubble busy
        assert received == []
        transport.resume_reading()
        await either.settle()
        transport.close()
        return received

    assert either.run(test()) == [b"x"]
