"""Ordinary requests over HTTP: answers, errors, formats and keep-alive."""

import pytest

from tests.server.rig import CONFIGMAPS, on_a_loop, served


@on_a_loop
async def test_an_object_comes_back_as_it_was_sent():
    async with served() as api:
        sent = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"text": "größe\n\t\"'\\"}}
        code, created, headers = await api.call("POST", CONFIGMAPS, sent)
        assert code == 201
        assert created["data"] == sent["data"]
        assert headers["Content-Type"] == "application/json"
        assert headers["Cache-Control"] == "no-cache, private"
        code, found, _ = await api.call("GET", f"{CONFIGMAPS}/a")
        assert (code, found) == (200, created)


@pytest.mark.parametrize(
    ("method", "path", "body", "refusal"),
    [
        pytest.param("GET", "/nowhere", None, (404, "", "404 page not found\n"), id="unknown path"),
        pytest.param(
            "GET", "/apis/unknown.example.com/v1/things", None, (404, "", "404 page not found\n"), id="unknown group"
        ),
        pytest.param(
            "GET",
            "/api/v1/things",
            None,
            (404, "NotFound", "the server could not find the requested resource"),
            id="unknown resource",
        ),
        pytest.param(
            "GET", f"{CONFIGMAPS}/a", None, (404, "NotFound", 'configmaps "a" not found'), id="no such object"
        ),
        pytest.param(
            "GET",
            "/api/v1/namespaces/%00",
            None,
            (404, "NotFound", 'namespaces "\0" not found'),
            id="a name with a zero byte",
        ),
        pytest.param(
            "PUT",
            CONFIGMAPS,
            {},
            (405, "MethodNotAllowed", "the server does not allow this method on the requested resource"),
            id="wrong method",
        ),
        pytest.param(
            "OPTIONS",
            CONFIGMAPS,
            None,
            (405, "MethodNotAllowed", "the server does not allow this method on the requested resource"),
            id="method of no verb",
        ),
        pytest.param(
            "POST",
            CONFIGMAPS,
            b"{",
            (
                400,
                "BadRequest",
                "the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; "
                "json parse error: unexpected end of JSON input ({)",
            ),
            id="malformed JSON",
        ),
        pytest.param(
            "POST",
            CONFIGMAPS,
            {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}},
            (
                400,
                "BadRequest",
                'Secret in version "v1" cannot be handled as a ConfigMap: converting (v1.Secret) to '
                "(core.ConfigMap): unknown conversion",
            ),
            id="wrong kind",
        ),
        pytest.param(
            "GET",
            f"{CONFIGMAPS}?labelSelector=a%3D%3D%3Db",
            None,
            (400, "BadRequest", "unable to parse requirement: found '=', expected: identifier"),
            id="bad label selector",
        ),
        pytest.param(
            "GET",
            f"{CONFIGMAPS}?fieldSelector=data.x%3Db",
            None,
            (
                400,
                "BadRequest",
                '"data.x" is not a known field selector: only "metadata.name", "metadata.namespace"',
            ),
            id="unsupported field selector",
        ),
    ],
)
@on_a_loop
async def test_errors_are_those_of_the_real_server(method, path, body, refusal):
    async with served() as api:
        assert await api.refused(method, path, body) == refusal


@on_a_loop
async def test_a_body_of_no_known_type():
    async with served() as api:
        code, reason, message = await api.refused("POST", CONFIGMAPS, b"a=b", Content_Type="text/x-form")
        assert (code, reason) == (415, "UnsupportedMediaType")
        assert message.startswith("the body of the request was in an unknown format - accepted media types include")


@on_a_loop
async def test_a_compressed_body_is_not_unpacked():
    async with served() as api:
        code, reason, _ = await api.refused("POST", CONFIGMAPS, b"\x1f\x8b\x08" + bytes(20), Content_Encoding="gzip")
        assert (code, reason) == (400, "BadRequest")


@on_a_loop
async def test_head_is_a_get_without_a_body():
    async with served() as api:
        _, text, _ = await api.call("GET", "/apis", Accept="application/json")
        answer = await api.raw(b"HEAD /apis HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        head, _, body = answer.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 OK\r\n")
        assert b"Content-Type: application/json" in head
        assert body == b""
        assert text["kind"] == "APIGroupList"
        for path in (b"/version", b"/api", b"/api/v1", b"/apis/apps/v1"):
            answer = await api.raw(b"HEAD " + path + b" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            assert answer.startswith(b"HTTP/1.1 405 ")


@on_a_loop
async def test_one_connection_carries_many_requests():
    async with served() as api:
        request = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
        last = b"GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        answer = await api.raw(request * 20 + last)
        assert answer.count(b"HTTP/1.1 200 OK\r\n") == 21
        assert answer.endswith(b"\r\n\r\nok")


@on_a_loop
async def test_an_error_leaves_the_connection_usable():
    async with served() as api:
        bad = f"POST {CONFIGMAPS} HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\n{{{{{{".encode()
        answer = await api.raw(bad + b"GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        assert answer.count(b"HTTP/1.1 400 Bad Request") == 1
        assert answer.endswith(b"\r\n\r\nok")


@on_a_loop
async def test_a_client_that_expects_100_continue_gets_it():
    async with served() as api:
        body = b'{"metadata":{"name":"a"}}'
        head = f"POST {CONFIGMAPS} HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: {len(body)}\r\n\r\n"
        reader, writer = await api.dial()
        writer.write(head.encode())
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        writer.write(body)
        assert await reader.readline() == b"HTTP/1.1 201 Created\r\n"
        writer.close()


@pytest.mark.parametrize(
    ("path", "agent", "pretty"),
    [
        ("/api/v1/namespaces/default", "curl/8.0", True),
        ("/api/v1/namespaces/default?pretty=false", "curl/8.0", False),
        ("/api/v1/namespaces/default", "Mozilla/5.0 (X11)", True),
        ("/api/v1/namespaces/default", "kubectl/v1.36", False),
        ("/api/v1/namespaces/default?pretty=true", "kubectl/v1.36", True),
        ("/api/v1/namespaces/nobody?pretty=1", "kubectl/v1.36", True),
        ("/apis/apps", "curl/8.0", True),
        ("/version", "kubectl/v1.36", True),
    ],
)
@on_a_loop
async def test_json_is_indented_for_people(path, agent, pretty):
    async with served() as api:
        async with api.session.get(api.url + path, headers={"User-Agent": agent}) as response:
            text = await response.text()
        assert text.startswith('{\n  "') is pretty
        assert text.endswith("\n") is not pretty


@pytest.mark.parametrize(
    ("accept", "pretty"),
    [
        ("application/json;pretty=1", True),
        ("*/*; pretty=1", True),
        ("application/json;pretty=true", False),
        ("application/yaml;q=0.5,application/json;pretty=1", True),
        ("application/json,application/json;pretty=1", False),
    ],
)
@on_a_loop
async def test_json_is_indented_if_the_accept_header_requests_it(accept, pretty):
    async with served() as api:
        headers = {"User-Agent": "kubectl/v1.36", "Accept": accept}
        async with api.session.get(f"{api.url}/api/v1/namespaces/default", headers=headers) as response:
            assert (await response.text()).startswith('{\n  "') is pretty


@on_a_loop
async def test_an_answer_in_yaml():
    async with served() as api:
        code, text, headers = await api.call("GET", "/api/v1/namespaces/default", Accept="application/yaml")
        assert (code, headers["Content-Type"]) == (200, "application/yaml")
        assert "kind: Namespace\n" in text


@on_a_loop
async def test_warnings_are_headers_and_invalid_ones_are_dropped():
    async with served() as api:
        body = b'{"metadata":{"name":"a"},"x":1,"y\\nz":1,"data":{"z":"1","z":"2"}}'
        code, _, headers = await api.call("POST", CONFIGMAPS, body)
        assert code == 201
        assert sorted(headers.getall("Warning")) == [
            '299 - "duplicate field \\"data.z\\""',
            '299 - "unknown field \\"x\\""',
        ]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("labelSelector=a%3Db", ["b"]),
        ("labelSelector=a%zz", ["a", "b"]),
        ("labelSelector=a%3Db;", ["a", "b"]),
        ("labelSelector=a%3Db&limit=%", ["b"]),
    ],
)
@on_a_loop
async def test_badly_escaped_parameters_are_ignored_as_in_go(query, found):
    async with served() as api:
        for name in ("a", "b"):
            await api.call("POST", CONFIGMAPS, {"metadata": {"name": name, "labels": {"a": name}}})
        answer = await api.raw(f"GET {CONFIGMAPS}?{query} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        assert [name for name in ("a", "b") if f'"name":"{name}"'.encode() in answer] == found


@on_a_loop
async def test_a_server_on_every_address_has_a_loopback_url():
    async with served(host="0.0.0.0") as api:
        assert api.url == f"http://127.0.0.1:{api.server.port}"
        _, versions, _ = await api.call("GET", "/api")
        assert versions["serverAddressByClientCIDRs"][0]["serverAddress"] == f"127.0.0.1:{api.server.port}"


@on_a_loop
async def test_a_port_in_use_is_an_error():
    async with served() as api:
        from fakekube.server.http import listen

        with pytest.raises(OSError, match="Address already in use"):
            async with listen(api.runner, port=api.server.port):
                raise AssertionError("it listens on a port that it cannot have")
        assert (await api.call("GET", "/version"))[0] == 200
