"""Malformed and oversized HTTP: a clear answer, no change, and the server goes on."""

import io

import pytest

from fakekube.apiserver.wire.codec import MAX_BODY
from fakekube.server.http import MAX_HEADER_BYTES
from tests.server.rig import CONFIGMAPS, closed, on_a_loop, served

HEAD = f"POST {CONFIGMAPS} HTTP/1.1\r\nHost: x\r\n"


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param("hello\r\n\r\n", id="no request line"),
        pytest.param("FOO /api/v1/namespaces HTTP/1.1\r\nHost: x\r\n\r\n", id="unknown method"),
        pytest.param("GET /version HTTP/1.1\r\n\r\n", id="no host"),
        pytest.param("GET /version HTTP/1.1\r\nHost: x\r\nbad header\r\n\r\n", id="bad header"),
        pytest.param("GET /api/v1/namespaces/%zz HTTP/1.1\r\nHost: x\r\n\r\n", id="bad escape"),
        pytest.param("GET /api/v1/namespaces/\xff HTTP/1.1\r\nHost: x\r\n\r\n", id="bytes in the path"),
        pytest.param(HEAD + "Content-Length: -5\r\n\r\n", id="negative length"),
        pytest.param(HEAD + "Content-Length: 5\r\nContent-Length: 6\r\n\r\n", id="two lengths"),
        pytest.param(HEAD + "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n", id="length and chunks"),
        pytest.param(HEAD + "Transfer-Encoding: chunked\r\n\r\nzz\r\n", id="bad chunk"),
        pytest.param("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", id="HTTP/2 by prior knowledge"),
        pytest.param("\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03", id="TLS on a plain port"),
        pytest.param("GET /version HTTP/1.1\r\nHost: x\r\nX: " + "a" * (MAX_HEADER_BYTES + 1), id="endless header"),
    ],
)
@on_a_loop
async def test_malformed_http(sent, caplog):
    async with served() as api:
        before = api.revision
        answer = await api.raw(sent.encode("latin-1"))
        assert answer.startswith((b"HTTP/1.0 400 Bad Request\r\n", b"HTTP/1.1 400 Bad Request\r\n"))
        assert b"Content-Type: text/plain; charset=utf-8\r\n" in answer
        assert b"Traceback" not in answer
        assert api.revision == before
        assert (await api.call("GET", "/version"))[0] == 200
    assert not caplog.records


@pytest.mark.slow
@on_a_loop
async def test_long_but_legal_headers_and_urls():
    async with served() as api:
        selector = ",".join(f"a{i}!=b" for i in range(20_000))
        code, found, _ = await api.call("GET", f"{CONFIGMAPS}?labelSelector={selector}", X_Long="a" * 500_000)
        assert (code, found["items"]) == (200, [])


def body_of(size: int) -> bytes:
    head = b'{"metadata":{"name":"a"},"data":{"a":"'
    return head + b"x" * (size - len(head) - 3) + b'"}}'


@pytest.mark.parametrize("chunked", [False, True])
@on_a_loop
async def test_a_body_beyond_the_limit(chunked):
    async def parts():
        for _ in range(10 * MAX_BODY // 65536):
            yield b"x" * 65536

    async with served() as api:
        data = parts() if chunked else io.BytesIO(b"x" * (10 * MAX_BODY))
        async with api.session.post(api.url + CONFIGMAPS, data=data) as response:
            status = await response.json()
        assert (response.status, status["reason"]) == (413, "RequestEntityTooLarge")
        assert status["message"] == f"Request entity too large: limit is {MAX_BODY}"
        assert (await api.call("GET", CONFIGMAPS))[1]["items"] == []


@on_a_loop
async def test_a_body_is_read_to_its_limit():
    async with served() as api:
        code, _, _ = await api.call("PUT", f"{CONFIGMAPS}/a", body_of(MAX_BODY))
        assert code == 404
        code, reason, _ = await api.refused("PUT", f"{CONFIGMAPS}/a", body_of(MAX_BODY + 1))
        assert (code, reason) == (413, "RequestEntityTooLarge")


@pytest.mark.parametrize("opening", [b"[", b'{"a":'])
@on_a_loop
async def test_a_deeply_nested_body(opening):
    async with served() as api:
        code, reason, message = await api.refused("POST", CONFIGMAPS, opening * 100_000)
        assert (code, reason) == (400, "BadRequest")
        assert "exceeded max depth" in message


@pytest.mark.parametrize("body", [b"\xff\xfe", b'{"metadata":{"name":"\xff"}}', b"\x00", b"null", b"[]", b'"x"', b""])
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
@on_a_loop
async def test_a_body_that_is_not_an_object(body, method):
    types = {"PATCH": "application/merge-patch+json"}
    async with served() as api:
        path = CONFIGMAPS if method == "POST" else f"{CONFIGMAPS}/a"
        if method == "PATCH":
            await api.call("POST", CONFIGMAPS, {"metadata": {"name": "a"}})
        before = api.revision
        code, _, _ = await api.call(method, path, body, Content_Type=types.get(method, "application/json"))
        assert 200 <= code < 500
        assert code >= 400 or api.revision == before


@on_a_loop
async def test_a_client_that_disconnects_within_its_body():
    async with served() as api:
        before = api.revision
        _, writer = await api.dial()
        writer.write(f'{HEAD}Content-Length: 500\r\n\r\n{{"metadata":{{"name":"a"}}}}'.encode())
        await writer.drain()
        writer.transport.abort()
        await closed(writer)
        await api.call("GET", "/version")
        assert api.revision == before
        assert await api.raw(f'{HEAD}Content-Length: 500\r\n\r\n{{"metad'.encode(), half_close=True) == b""
        assert api.revision == before


@on_a_loop
async def test_a_user_agent_of_any_bytes():
    async with served() as api:
        sent = b"GET /api/v1/namespaces HTTP/1.1\r\nHost: x\r\nUser-Agent: \xff\xfe\r\nConnection: close\r\n\r\n"
        assert (await api.raw(sent)).startswith(b"HTTP/1.1 200 OK")
