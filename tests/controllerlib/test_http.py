"""The transport over HTTP, against a small server of the test's own."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import trustme
import yaml
from aiohttp import web

from controllerlib.client import Client
from controllerlib.credentials import from_kubeconfig
from controllerlib.errors import ApiError
from controllerlib.http import HttpTransport

Handle = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Server:
    """Serves one handler on a port of its own, on a real loop."""

    def __init__(self, handle: Handle, tls: ssl.SSLContext | None = None) -> None:
        self._handle, self._tls = handle, tls
        self.asked: list[web.Request] = []
        self.url = ""

    async def __aenter__(self) -> "Server":
        async def note(request: web.Request) -> web.StreamResponse:
            self.asked.append(request)
            return await self._handle(request)

        self._runner = web.ServerRunner(web.Server(note), shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0, ssl_context=self._tls)
        await site.start()
        port = self._runner.addresses[0][1]
        self.url = f"{'https' if self._tls else 'http'}://127.0.0.1:{port}"
        return self

    async def __aexit__(self, *_: Any) -> None:
        await self._runner.cleanup()


def real(test: Callable[[], Awaitable[None]]) -> None:
    """Run on an ordinary loop: sockets are real here."""
    asyncio.run(test())  # type: ignore[arg-type]


def test_requests_and_answers() -> None:
    async def handle(request: web.Request) -> web.StreamResponse:
        return web.json_response(
            {"method": request.method, "path": request.path, "query": dict(request.query),
             "type": request.headers.get("Content-Type"), "agent": request.headers["User-Agent"],
             "body": (await request.text())},
            status=201,
        )  # fmt: skip

    async def main() -> None:
        async with Server(handle) as server, HttpTransport(server.url) as transport:
            headers = {"Content-Type": "application/merge-patch+json", "User-Agent": "me"}
            code, _, body = await transport.request(
                "PATCH", "/api/v1/x", query=[("a", "b c")], headers=headers, body={"x": [1]}
            )
            assert code == 201
            assert body == {
                "method": "PATCH", "path": "/api/v1/x", "query": {"a": "b c"}, "agent": "me",
                "type": "application/merge-patch+json", "body": '{"x":[1]}',
            }  # fmt: skip

    real(main)


def test_retry_after_is_waited_for() -> None:
    answers = [429, 503, 200]

    async def handle(request: web.Request) -> web.StreamResponse:
        code = answers.pop(0)
        headers = {"Retry-After": "0"} if code != 200 else {}
        return web.json_response({"code": code}, status=code, headers=headers)

    async def main() -> None:
        async with Server(handle) as server, HttpTransport(server.url) as transport:
            assert (await transport.request("GET", "/x"))[0] == 200
            assert len(server.asked) == 3

    real(main)


def test_a_refusal_without_retry_after_is_final() -> None:
    async def handle(request: web.Request) -> web.StreamResponse:
        return web.json_response(
            {"kind": "Status", "reason": "TooManyRequests", "message": "no", "code": 429}, status=429
        )

    async def main() -> None:
        async with Server(handle) as server, HttpTransport(server.url) as transport:
            with pytest.raises(ApiError, match="no") as caught:
                await Client(transport).raw_get("/x")
            assert caught.value.reason == "TooManyRequests"

    real(main)


def test_nobody_listens() -> None:
    async def main() -> None:
        async with Server(lambda request: None) as server:  # type: ignore[arg-type,return-value]
            url = server.url
        async with HttpTransport(url) as transport:
            with pytest.raises(ConnectionRefusedError):
                await transport.request("GET", "/x")
            with pytest.raises(ConnectionRefusedError):
                await transport.open_watch("/x")

    real(main)


def test_a_connection_that_breaks() -> None:
    async def handle(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    async def main() -> None:
        async with Server(handle) as server, HttpTransport(server.url, retries=2) as transport:
            with pytest.raises(OSError, match=r"."):
                await transport.request("POST", "/x", body={})
            assert len(server.asked) == 1
            with pytest.raises(OSError, match=r"."):
                await transport.request("GET", "/x")

    real(main)


def test_a_watch_gives_events_and_ends() -> None:
    async def handle(request: web.Request) -> web.StreamResponse:
        if request.query.get("resourceVersion") == "old":
            return web.json_response({"kind": "Status", "reason": "Expired", "code": 410}, status=410)
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        big = "x" * 300_000
        await response.write(b'{"type":"ADDED","object":{"metadata":{"name":"a"}}}\n{"type":"MODI')
        await response.write(f'FIED","object":{{"metadata":{{"name":"{big}"}}}}}}\n'.encode())
        return response

    async def main() -> None:
        async with Server(handle) as server, HttpTransport(server.url) as transport:
            code, _, stream = await transport.open_watch("/api/v1/pods")
            assert code == 200
            events = [event async for event in stream]
            await stream.aclose()
            assert [event["type"] for event in events] == ["ADDED", "MODIFIED"]
            assert len(events[1]["object"]["metadata"]["name"]) == 300_000
            assert server.asked[0].query["watch"] == "true"
            code, _, status = await transport.open_watch("/api/v1/pods", query=[("resourceVersion", "old")])
            assert [code, status["reason"]] == [410, "Expired"]

    real(main)


@pytest.mark.parametrize("user", ["token", "password", "certificate", "exec"])
def test_kubeconfig(tmp_path: Path, user: str) -> None:
    authority = trustme.CA()
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("127.0.0.1").configure_cert(tls)
    authority.configure_trust(tls)
    tls.verify_mode = ssl.CERT_OPTIONAL
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    own = authority.issue_cert("me@example.com", common_name="me")
    own.cert_chain_pems[0].write_to_path(str(tmp_path / "cert.pem"))
    own.private_key_pem.write_to_path(str(tmp_path / "key.pem"))
    credential = (
        '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"from-exec"}}'
    )
    users: dict[str, dict[str, Any]] = {
        "token": {"token": "secret"},
        "password": {"username": "me", "password": "pass"},
        "certificate": {"client-certificate": "cert.pem", "client-key": "key.pem"},
        "exec": {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "echo", "args": [credential],
                          "interactiveMode": "Never"}},
    }  # fmt: skip
    expected = {"token": "Bearer secret", "password": "Basic bWU6cGFzcw==", "certificate": None,
                "exec": "Bearer from-exec"}  # fmt: skip
    seen: list[Any] = []

    async def handle(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        peer = request.transport.get_extra_info("peercert")
        seen.append((request.headers.get("Authorization"), bool(peer)))
        return web.json_response({})

    async def main() -> None:
        async with Server(handle, tls) as server:
            config = {
                "apiVersion": "v1", "kind": "Config", "current-context": "c",
                "clusters": [{"name": "c", "cluster": {"server": server.url, "certificate-authority": "ca.pem"}}],
                "users": [{"name": "u", "user": users[user]}],
                "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            }  # fmt: skip
            path = tmp_path / "config"
            path.write_text(yaml.safe_dump(config))
            async with HttpTransport(credentials=from_kubeconfig(str(path))) as transport:
                assert (await transport.request("GET", "/version"))[0] == 200

    real(main)
    assert seen == [(expected[user], user == "certificate")]
