"""The transport of TLS: records in pieces, clients without TLS, handshakes, ends of connections."""

import asyncio
import json
import socket
import ssl

import pytest
from OpenSSL import SSL

from fakekube.server import tlsconnection
from fakekube.server.certificates import Authority
from tests.server.rig import CONFIGMAPS, FUSE, closed, on_a_loop, served


class ByHand:
    """A client whose bytes are sent when the test says so."""

    def __init__(self, api, authority, *, version=None):
        context = authority.client_context()
        if version is not None:
            context.minimum_version = context.maximum_version = version
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self.incoming, self.outgoing, server_hostname="127.0.0.1")
        self.port = api.server.port

    async def __aenter__(self):
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)
        await self.run(self.tls.do_handshake)
        return self

    async def __aexit__(self, *_):
        await closed(self.writer)

    async def run(self, step, *arguments, size=None):
        """Do a step of TLS, in which at most `size` bytes are sent at once."""
        while True:
            result, is_done = None, True
            try:
                result = step(*arguments)
            except ssl.SSLWantReadError:
                is_done = False
            data = self.outgoing.read()
            for at in range(0, len(data), size or len(data) or 1):
                self.writer.write(data[at : at + (size or len(data))])
                await self.writer.drain()
                if size is not None:
                    await asyncio.sleep(0)  # noqa: TID251 - the server reads the pieces one by one
            if is_done:
                return result
            arrived = await asyncio.wait_for(self.reader.read(65536), FUSE)
            if not arrived:
                raise EOFError
            self.incoming.write(arrived)

    async def answers(self, count):
        """The statuses of as many answers."""
        text, found = bytearray(), []
        while len(found) < count:
            text += (part := await self.run(self.tls.read, 65536))
            if part.endswith((b"}", b"}\n", b"ok")):
                found = [answer.split(b" ", 1)[0] for answer in text.split(b"HTTP/1.1 ")[1:]]
        return found


def asked(method, path, body=b""):
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3], ids=["1.2", "1.3"])
@pytest.mark.parametrize("size", [1, 3, 7, 4000, None])
@on_a_loop
async def test_records_arrive_in_pieces_of_any_size(version, size):
    authority = Authority()
    async with (
        served(tls=authority.requesting_context(), trust=authority.client_context()) as api,
        ByHand(api, authority, version=version) as client,
    ):
        for name in ("a", "b", "c"):
            body = json.dumps({"metadata": {"name": name}, "data": {"text": "x" * 300}}).encode()
            await client.run(client.tls.write, asked("POST", CONFIGMAPS, body), size=size)
            assert await client.answers(1) == [b"201"]
        client.tls.write(asked("GET", "/livez"))
        await client.run(client.tls.write, asked("GET", f"{CONFIGMAPS}/a") + asked("GET", f"{CONFIGMAPS}/x"), size=size)
        assert await client.answers(3) == [b"200", b"200", b"404"]


@on_a_loop
async def test_a_body_of_many_records_in_pieces_that_end_within_them():
    authority = Authority()
    async with (
        served(tls=authority.requesting_context(), trust=authority.client_context()) as api,
        ByHand(api, authority) as client,
    ):
        body = json.dumps({"metadata": {"name": "a"}, "data": {"text": "x" * 200_000}}).encode()
        message = asked("POST", CONFIGMAPS, body)
        while message:
            sent = client.tls.write(message[:50_000])
            message = message[sent:]
        client.tls.write(asked("GET", "/livez"))
        await client.run(lambda: True, size=10_001)
        assert await client.answers(2) == [b"201", b"200"]


@pytest.mark.parametrize("beginning", [b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n"])
@on_a_loop
async def test_a_client_without_tls_is_told(beginning, caplog):
    authority = Authority()
    async with served(tls=authority.requesting_context(), trust=authority.client_context()) as api:
        answer = await api.raw(beginning)
    assert answer == b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n"
    assert not caplog.records


@pytest.mark.parametrize("sent", [b"\x16\x03\x01\x00\x05hello", b"\x00" * 300, b"SSH-2.0-x\r\n"])
@on_a_loop
async def test_what_is_not_tls_is_not_answered(sent, caplog):
    authority = Authority()
    async with served(tls=authority.requesting_context(), trust=authority.client_context()) as api:
        answer = await api.raw(sent)
        assert answer == b"" or answer[:1] == b"\x15"  # an alert
        assert (await api.call("GET", "/version"))[0] == 200
    assert not caplog.records


@on_a_loop
async def test_a_handshake_that_does_not_end_ends_the_connection(monkeypatch):
    monkeypatch.setattr(tlsconnection, "HANDSHAKE_TIMEOUT", 0.01)
    authority = Authority()
    async with served(tls=authority.requesting_context(), trust=authority.client_context()) as api:
        reader, writer = await asyncio.open_connection("127.0.0.1", api.server.port)
        assert await asyncio.wait_for(reader.read(), FUSE) == b""
        await closed(writer)


@on_a_loop
async def test_a_client_that_ends_its_tls_is_left(caplog):
    authority = Authority()
    async with (
        served(tls=authority.requesting_context(), trust=authority.client_context()) as api,
        ByHand(api, authority) as client,
    ):
        await client.run(client.tls.write, asked("GET", "/livez"))
        assert await client.answers(1) == [b"200"]
        with pytest.raises(ssl.SSLWantReadError):
            client.tls.unwrap()  # writes the alert, and would wait for the server's
        client.writer.write(client.outgoing.read())
        end = await asyncio.wait_for(client.reader.read(), FUSE)
        client.incoming.write(end)
        client.tls.unwrap()  # the server has sent its own
    assert not caplog.records


def alerted(tls):
    """Read until the server's alert, whose name is returned."""
    try:
        while True:
            tls.read()
    except ssl.SSLWantReadError:
        raise
    except ssl.SSLError as error:
        return error.reason


@on_a_loop
async def test_damaged_records_end_the_connection(caplog):
    authority = Authority()
    async with (
        served(tls=authority.requesting_context(), trust=authority.client_context()) as api,
        ByHand(api, authority) as client,
    ):
        client.tls.write(asked("GET", "/livez"))
        record = bytearray(client.outgoing.read())
        record[-1] ^= 1
        client.writer.write(bytes(record))
        client.incoming.write(await asyncio.wait_for(client.reader.read(), FUSE))
        alert = await client.run(alerted, client.tls)
    assert alert == "SSLV3_ALERT_BAD_RECORD_MAC"
    assert not caplog.records


@on_a_loop
async def test_clients_may_not_renegotiate(caplog):
    authority = Authority()
    async with served(tls=authority.requesting_context(), trust=authority.client_context()) as api:
        context = SSL.Context(SSL.TLS_CLIENT_METHOD)
        context.set_max_proto_version(SSL.TLS1_2_VERSION)

        def renegotiated():
            with socket.create_connection(("127.0.0.1", api.server.port), timeout=FUSE) as plain:
                plain.setblocking(True)
                tls = SSL.Connection(context, plain)
                tls.set_connect_state()
                tls.do_handshake()
                tls.renegotiate()
                tls.do_handshake()

        with pytest.raises(SSL.Error, match="no renegotiation"):
            await asyncio.to_thread(renegotiated)
    assert not caplog.records


@on_a_loop
async def test_a_client_that_does_not_read_holds_up_nothing_else():
    authority = Authority()
    async with (
        served(tls=authority.requesting_context(), trust=authority.client_context()) as api,
        ByHand(api, authority) as client,
    ):
        body = {"metadata": {"name": "a"}, "data": {"text": "x" * 900_000}}
        assert (await api.call("POST", CONFIGMAPS, body))[0] == 201
        for _ in range(30):
            client.tls.write(asked("GET", f"{CONFIGMAPS}/a"))
        await client.run(lambda: True)
        assert (await api.call("GET", "/version"))[0] == 200
        assert await client.answers(30) == [b"200"] * 30


@pytest.mark.parametrize(("offered", "chosen"), [(["h2", "http/1.1"], "http/1.1"), (["h2"], None), ([], None)])
@on_a_loop
async def test_the_protocol_of_a_connection_is_http_1(offered, chosen):
    authority = Authority()
    context = authority.client_context()
    if offered:
        context.set_alpn_protocols(offered)
    async with served(tls=authority.requesting_context(), trust=authority.client_context()) as api:
        _, writer = await asyncio.open_connection("127.0.0.1", api.server.port, ssl=context)
        assert writer.get_extra_info("ssl_object").selected_alpn_protocol() == chosen
        await closed(writer)
