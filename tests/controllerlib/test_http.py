"""The HTTP transport against a small server."""

import asyncio
import socket
from typing import Any

import pytest
from aiohttp import web

from controllerlib.client.client import Client
from controllerlib.client.errors import ApiError
from controllerlib.client.http import HttpTransport
from tests.controllerlib.httpserver import Instant, Server, real


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


def test_retry_after_is_respected() -> None:
    answers, clock = [429, 503, 200], Instant()

    async def handle(request: web.Request) -> web.StreamResponse:
        code = answers.pop(0)
        headers = {"Retry-After": {429: "3", 503: "7"}[code]} if code != 200 else {}
        return web.json_response({"code": code}, status=code, headers=headers)

    async def main() -> None:
        async with Server(handle) as server, HttpTransport(server.url, clock=clock) as transport:
            assert (await transport.request("POST", "/x", body={}))[0] == 200
            assert len(server.asked) == 3
            assert clock.slept == [3.0, 7.0]

    real(main)


def test_a_rejection_without_retry_after_is_final() -> None:
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


def test_connection_refused() -> None:
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

    clock = Instant()

    async def main() -> None:
        async with Server(handle) as server, HttpTransport(server.url, retries=2, clock=clock) as transport:
            with pytest.raises(ConnectionResetError):
                await transport.request("POST", "/x", body={})
            assert [len(server.asked), clock.slept] == [1, []]
            with pytest.raises(ConnectionResetError):
                await transport.request("GET", "/x")
            assert clock.slept == [1.0, 1.0]

    real(main)


def test_a_watch_delivers_events_and_ends() -> None:
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


@pytest.mark.parametrize("value", ["soon", "-1", ""])
def test_a_retry_after_that_is_not_a_number_of_seconds_is_final(value: str) -> None:
    async def handle(request: web.Request) -> web.StreamResponse:
        return web.json_response({}, status=503, headers={"Retry-After": value})

    async def main() -> None:
        async with Server(handle) as server, HttpTransport(server.url, clock=Instant()) as transport:
            assert (await transport.request("GET", "/x"))[0] == 503
            assert len(server.asked) == 1

    real(main)


@pytest.mark.parametrize("watching", [False, True])
def test_no_more_than_ten_retries(watching: bool) -> None:
    async def handle(request: web.Request) -> web.StreamResponse:
        return web.json_response({"reason": "TooManyRequests"}, status=429, headers={"Retry-After": "1"})

    async def main() -> None:
        clock, codes = Instant(), list[tuple[str, str, str]]()
        async with Server(handle) as server, HttpTransport(server.url, clock=clock) as transport:
            transport.on_answer = lambda *notified: codes.append(notified)
            ask = transport.open_watch("/x") if watching else transport.request("GET", "/x")
            assert (await ask)[0] == 429
            assert clock.slept == [1.0] * 10
            assert codes == [("429", "GET", server.url.removeprefix("http://"))] * 11

    real(main)


def test_attempts_without_an_answer_are_counted() -> None:
    async def main() -> None:
        codes = list[str]()
        async with HttpTransport("http://127.0.0.1:1") as transport:
            transport.on_answer = lambda code, method, host: codes.append(f"{method} {host} {code}")
            with pytest.raises(ConnectionRefusedError):
                await transport.request("DELETE", "/x")
        assert codes == ["DELETE 127.0.0.1:1 <error>"]

    real(main)


def test_an_event_that_is_not_json_ends_the_watch() -> None:
    async def handle(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        await response.write(b'{"type":"ADDED","object":{}}\n<html>\n{"type":"ADDED","object":{}}\n')
        return response

    async def main() -> None:
        async with Server(handle) as server, HttpTransport(server.url) as transport:
            _, _, stream = await transport.open_watch("/x")
            events = [event async for event in stream]
            await stream.aclose()
        assert [event["type"] for event in events] == ["ADDED", "ERROR"]
        status = events[1]["object"]
        assert [status["code"], status["reason"]] == [500, "InternalError"]
        assert "unable to decode an event from the watch stream" in status["message"]
        assert status["details"]["causes"][-1] == {"reason": "ClientWatchDecoding"}

    real(main)


def test_answers_that_are_not_json() -> None:
    async def handle(request: web.Request) -> web.StreamResponse:
        bodies: dict[str, Any] = {
            "/text": web.Response(text="ok"), "/bad": web.Response(text="{", content_type="application/json"),
            "/none": web.Response(status=204),
        }  # fmt: skip
        answer: web.Response = bodies[request.path]
        return answer

    async def main() -> None:
        async with Server(handle) as server, HttpTransport(server.url) as transport:
            assert [(await transport.request("GET", path))[2] for path in ("/text", "/bad", "/none")] == [
                "ok",
                "{",
                None,
            ]

    real(main)


def test_a_url_is_required() -> None:
    with pytest.raises(ValueError, match="HttpTransport needs a URL or credentials"):
        HttpTransport()
    assert repr(HttpTransport("http://x/")) == "<HttpTransport http://x>"


def test_a_body_that_breaks_off() -> None:
    async def handle(request: web.Request) -> web.StreamResponse:
        code = 500 if request.query.get("resourceVersion") else 200
        response = web.StreamResponse(status=code, headers={"Content-Length": "100"})
        await response.prepare(request)
        await response.write(b'{"kind":')
        assert request.transport is not None
        request.transport.close()
        return response

    async def main() -> None:
        async with Server(handle) as server, HttpTransport(server.url, clock=Instant()) as transport:
            with pytest.raises(ConnectionResetError):
                await transport.request("GET", "/x")
            assert len(server.asked) == 1, "an answer had begun"
            with pytest.raises(ConnectionResetError):
                await transport.open_watch("/x", query=[("resourceVersion", "1")])
            code, _, stream = await transport.open_watch("/x")
            assert [code, [event async for event in stream]] == [200, []]
            await stream.aclose()

    real(main)


def test_a_host_that_cannot_be_resolved() -> None:
    async def main() -> None:
        async with HttpTransport("http://nowhere.invalid") as transport:
            with pytest.raises(OSError, match=r"nowhere\.invalid"):
                await transport.request("GET", "/x")

    real(main)


def test_a_watch_enables_keep_alive() -> None:
    async def handle(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b'{"type":"ADDED","object":{}}\n')
        await asyncio.get_running_loop().create_future()
        return response

    async def main() -> None:
        async with Server(handle) as server, HttpTransport(server.url) as transport:
            _, _, stream = await transport.open_watch("/x")
            sock = stream._response.connection.transport.get_extra_info("socket")
            assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
            assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 30
            await stream.aclose()

    real(main)
