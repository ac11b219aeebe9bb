"""Commands and ports over WebSockets, and compressed answers."""

import zlib

import aiohttp
import orjson

from fakekube.apiserver.kubelet import ExecResult
from fakekube.server.httpmessages import COMPRESSED_FROM
from tests.server.rig import CONFIGMAPS, FUSE, new_runner, on_a_loop, served

PODS = "/api/v1/namespaces/default/pods"
POD = {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


async def messages(socket):
    """Channel and data of each message until the server closes."""
    found = []
    async for frame in socket:
        assert frame.type == aiohttp.WSMsgType.BINARY
        found.append((frame.data[0], frame.data[1:]))
    return found


@on_a_loop
async def test_a_command_runs_over_a_web_socket():
    runner = new_runner()
    commands = []

    def run(request):
        commands.append((request.command, request.container, request.stdin))
        return ExecResult(b"out", "err", 2)

    runner.apiserver.kubelet.exec = run
    async with served(runner) as server:
        await server.call("POST", PODS, POD)
        url = f"{server.url}{PODS}/a/exec?command=ls&command=-l&stdout=1&stderr=1"
        async with server.session.ws_connect(url, protocols=("v4.channel.k8s.io", "v5.channel.k8s.io")) as socket:
            assert socket.protocol == "v5.channel.k8s.io"
            (out, err, (channel, status)) = await messages(socket)
    assert (out, err, channel) == ((1, b"out"), (2, b"err"), 3)
    assert orjson.loads(status)["details"]["causes"] == [{"reason": "ExitCode", "message": "2"}]
    assert commands == [(("ls", "-l"), "c", b"")]


@on_a_loop
async def test_a_command_gets_the_input_that_is_sent():
    runner = new_runner()
    runner.apiserver.kubelet.exec = lambda request: request.stdin.upper()
    async with served(runner) as server:
        await server.call("POST", PODS, POD)
        url = f"{server.url}{PODS}/a/exec?command=cat&stdin=true"
        async with server.session.ws_connect(url, protocols=("v5.channel.k8s.io",)) as socket:
            await socket.send_bytes(b"\x00hello ")
            await socket.send_bytes(b"\x00you")
            await socket.send_bytes(b"\xff\x00")
            assert (await messages(socket))[0] == (1, b"HELLO YOU")


@on_a_loop
async def test_a_port_is_forwarded_until_the_client_goes():
    runner = new_runner()
    runner.apiserver.kubelet.forward = lambda request: b"%d:%b" % (request.port, request.data)
    async with served(runner) as server:
        await server.call("POST", PODS, POD)
        async with server.session.ws_connect(f"{server.url}{PODS}/a/portforward?ports=80") as socket:
            assert [await socket.receive_bytes() for _ in range(2)] == [b"\x00P\x00", b"\x01P\x00"]
            await socket.send_bytes(b"\x00ping")
            assert await socket.receive_bytes(timeout=FUSE) == b"\x0080:ping"


@on_a_loop
async def test_without_a_web_socket_the_real_words():
    runner = new_runner()
    runner.apiserver.kubelet.exec = lambda request: ""
    async with served(runner) as server:
        await server.call("POST", PODS, POD)
        assert (await server.refused("POST", f"{PODS}/a/exec?command=ls"))[0] == 400


@on_a_loop
async def test_long_answers_are_compressed_if_the_client_accepts_it():
    async with served() as server:
        body = {"metadata": {"name": "a"}, "data": {"k": "x" * COMPRESSED_FROM}}
        await server.call("POST", CONFIGMAPS, body)
        for accepted, compressed in (("gzip", True), ("deflate, gzip;q=0.5", True), ("identity", False)):
            headers = {"Accept-Encoding": accepted}
            async with (
                aiohttp.ClientSession(auto_decompress=False) as session,
                session.get(server.url + CONFIGMAPS, headers=headers) as response,
            ):
                sent = await response.read()
            assert (response.headers.get("Content-Encoding") == "gzip") == compressed
            assert (response.headers.get("Vary") == "Accept-Encoding") == compressed
            assert (len(sent) < COMPRESSED_FROM) == compressed
            shown = zlib.decompress(sent, wbits=zlib.MAX_WBITS | 16) if compressed else sent
            assert orjson.loads(shown)["items"][0]["data"] == body["data"]


@on_a_loop
async def test_short_answers_are_not():
    async with served() as server:
        _, _, headers = await server.call("GET", CONFIGMAPS, Accept_Encoding="gzip")
        assert "Content-Encoding" not in headers


@on_a_loop
async def test_an_answer_without_a_type():
    async with served() as server:
        code, body, headers = await server.call("GET", "/openapi/v3/apis/none.example.com/v1")
        assert (code, body, "Content-Type" in headers) == (404, "", False)
        _, _, headers = await server.call(
            "GET", "/apis", Accept="application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
        )
        code, body, again = await server.call(
            "GET",
            "/apis",
            Accept="application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
            If_None_Match=headers["ETag"],
        )
        assert (code, body, again["ETag"], "Content-Type" in again) == (304, "", headers["ETag"], False)
