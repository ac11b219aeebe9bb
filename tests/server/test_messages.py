"""HTTP messages without a network: headers and bodies of answers, and conversations that are answered in place."""

import zlib
from datetime import UTC, datetime

import orjson
import pytest
from multidict import CIMultiDict

from fakekube.apiserver.response import Cached, Document, Response, Text
from fakekube.apiserver.storage.store import PART
from fakekube.apiserver.user import ADMIN, User
from fakekube.apiserver.wire import codec
from fakekube.apiserver.wire.request import Request
from fakekube.server import bootstrap
from fakekube.server.directhttp import Head, HttpConversation
from fakekube.server.httpmessages import COMPRESSED_FROM, RequestHeaders, encode, encoding
from fakekube.server.random import SeededRandom
from fakekube.server.runner import ServerRunner
from fakekube.virtualtime.network.inplace import NeedsTime
from fakekube.virtualtime.seeds import Seed
from tests.apiserver.api import Api

NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
CONFIGMAPS = "/api/v1/namespaces/default/configmaps"


class StoppedClock:
    def now(self):
        return NOW

    def monotonic(self):
        return 100.0

    async def sleep_until(self, deadline):
        raise AssertionError


def runner(**options):
    source = SeededRandom(Seed(7))
    return ServerRunner(bootstrap.api_server(NOW, source, fixed_uids=True), StoppedClock(), source, **options)


def request(**headers):
    return Request("GET", "/x", {}, {name.replace("_", "-"): value for name, value in headers.items()}, b"", ADMIN)


def test_request_headers_are_read_by_lower_case_name():
    raw = CIMultiDict([("Accept", "a"), ("X-One", "1"), ("accept", "b")])
    headers = RequestHeaders(raw)
    assert (headers["accept"], headers.get("x-one"), headers.get("no"), headers.get("no", 3)) == ("a", "1", None, 3)
    assert (headers.getall("accept"), headers.getall("no"), list(headers)) == (
        ["a", "b"],
        [],
        ["accept", "x-one"],
    )
    assert len(headers) == 2
    with pytest.raises(KeyError):
        headers["no"]


@pytest.mark.parametrize(
    ("body", "content_type", "headers", "sent"),
    [
        (None, "application/json", {}, b""),
        (Document({"a": 1}), "application/json", {}, b'{"a":1}\n'),
        (Document({"a": 1}), "application/json", {"user_agent": "curl/8"}, b'{\n  "a": 1\n}'),
        (Document({"a": 1}), "application/json;g=x", {}, b'{"a":1}\n'),
        (Document({"a": 1}), "application/yaml", {"user_agent": "curl/8"}, b"a: 1\n"),
        (Cached(b'{"a":1}'), "application/json", {"user_agent": "curl/8"}, b'{"a":1}'),
        (Cached(b'{"a":1}', raw=False), "application/json", {}, b'{"a":1}\n'),
        (Cached(b'{"a":1}', raw=False), "application/json", {"user_agent": "curl/8"}, b'{\n  "a": 1\n}'),
        (Cached(b"{}", protobuf=b"k8s"), "application/vnd.kubernetes.protobuf", {}, b"k8s"),
        (Text("ok"), "text/plain; charset=utf-8", {"user_agent": "curl/8"}, b"ok"),
    ],
)
def test_the_body_of_a_response(body, content_type, headers, sent):
    found, data = encode(request(**headers), Response(200, body, content_type=content_type))
    assert data == sent
    assert found == {"Cache-Control": "no-cache, private", "Content-Type": content_type}


@pytest.mark.parametrize("raw", [True, False])
def test_large_bodies_are_compressed_for_clients_that_accept_it(raw):
    assert COMPRESSED_FROM == 131072
    for size, accept, compressed in (
        (COMPRESSED_FROM, "gzip", False),
        (COMPRESSED_FROM + 1, "gzip", True),
        (COMPRESSED_FROM + 1, "deflate, gzip;q=0.5", True),
        (COMPRESSED_FROM + 1, "deflate", False),
        (COMPRESSED_FROM + 1, "", False),
    ):
        text = "a" * size
        body = Cached(text.encode()) if raw else Text(text)
        response = Response(200, body, content_type="text/plain", headers={"Vary": "Accept"})
        headers, data = encode(request(accept_encoding=accept), response)
        assert headers.get("Content-Encoding") == ("gzip" if compressed else None)
        assert headers["Vary"] == ("Accept, Accept-Encoding" if compressed else "Accept")
        assert (zlib.decompress(data, 31) if compressed else data) == text.encode()
        plain, _ = encode(request(accept_encoding=accept), Response(200, body, content_type="text/plain"))
        assert plain.get("Vary") == ("Accept-Encoding" if compressed else None)


def ask(method="GET", path="/version", *fields, body=b"", version="HTTP/1.1"):
    lines = [f"{method} {path} {version}", "Host: x", *fields]
    if body:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode() + body


def answered(data):
    head, _, body = data.partition(b"\r\n\r\n")
    line, *fields = head.decode().split("\r\n")
    return line, {name: value for name, _, value in (one.partition(": ") for one in fields)}, body


def test_an_answer_in_place():
    conversation = HttpConversation(runner())
    assert not conversation.closes
    line, headers, body = answered(conversation.feed(ask()))
    assert line == "HTTP/1.1 200 OK"
    assert orjson.loads(body)["major"] == "1"
    assert (headers["Content-Length"], headers["Date"]) == (str(len(body)), "Wed, 04 Mar 2026 05:06:07 GMT")
    assert headers["Content-Type"] == "application/json"
    assert "Connection" not in headers
    assert not conversation.closes


def test_requests_of_one_connection_follow_each_other_in_pieces_of_any_size():
    conversation, served = HttpConversation(runner()), []
    made = orjson.dumps({"metadata": {"name": "a"}, "data": {"x": "y" * 40}})
    for sent in (ask("POST", CONFIGMAPS, body=made), ask("GET", f"{CONFIGMAPS}/a"), ask("DELETE", f"{CONFIGMAPS}/a")):
        *waiting, answer = [conversation.feed(sent[at : at + 1]) for at in range(len(sent))]
        assert set(waiting) == {None}
        served.append(answered(answer)[0])
    assert served == ["HTTP/1.1 201 Created", "HTTP/1.1 200 OK", "HTTP/1.1 200 OK"]


def test_a_body_in_chunks():
    made = orjson.dumps({"metadata": {"name": "a"}})
    chunks = b"".join(b"%x;ext=1\r\n%b\r\n" % (len(part), part) for part in (made[:5], made[5:])) + b"0\r\n\r\n"
    sent = ask("POST", CONFIGMAPS, "Transfer-Encoding: Chunked") + chunks
    conversation = HttpConversation(runner())
    *waiting, answer = [conversation.feed(sent[at : at + 1]) for at in range(len(sent))]
    assert set(waiting) == {None}
    assert answered(answer)[0] == "HTTP/1.1 201 Created"
    with pytest.raises(NeedsTime, match="malformed body"):
        conversation.feed(ask("POST", CONFIGMAPS, "Transfer-Encoding: chunked") + b"zz\r\n")


@pytest.mark.parametrize(
    ("fields", "version", "closes"),
    [
        ((), "HTTP/1.1", False),
        (("Connection: close",), "HTTP/1.1", True),
        ((), "HTTP/1.0", True),
        (("Connection: keep-alive",), "HTTP/1.0", False),
        (("Connection: close",), "HTTP/1.0", True),
    ],
)
def test_the_connection_after_an_answer(fields, version, closes):
    conversation = HttpConversation(runner())
    _, headers, _ = answered(conversation.feed(ask("GET", "/version", *fields, version=version)))
    assert conversation.closes is closes
    assert headers.get("Connection") == ("close" if closes else None)


def test_a_head_has_the_headers_of_its_get_and_no_body():
    conversation = HttpConversation(runner())
    _, got, body = answered(conversation.feed(ask("GET", "/apis")))
    _, headers, nothing = answered(conversation.feed(ask("HEAD", "/apis")))
    assert (headers, nothing) == (got, b"")
    assert body


@pytest.mark.slow
def test_answers_that_refuse():
    conversation = HttpConversation(runner(tokens={"secret": User("alice")}))
    refused = answered(conversation.feed(ask("GET", "/version", "Authorization: Bearer wrong")))
    assert refused[0] == "HTTP/1.1 401 Unauthorized"
    assert answered(conversation.feed(ask("GET", "/version", "Authorization: Bearer secret")))[0].endswith("200 OK")
    limit = ask("POST", CONFIGMAPS, body=b" " * codec.MAX_BODY)
    assert answered(conversation.feed(limit))[0] == "HTTP/1.1 400 Bad Request"
    assert not conversation.closes
    line, headers, body = answered(conversation.feed(ask("POST", CONFIGMAPS, body=b" " * (codec.MAX_BODY + 1))))
    assert (line, headers["Connection"]) == ("HTTP/1.1 413 Request Entity Too Large", "close")
    assert orjson.loads(body)["message"] == f"Request entity too large: limit is {codec.MAX_BODY}"
    assert conversation.closes


@pytest.mark.parametrize(
    ("sent", "what", "streams"),
    [
        (ask("GET", f"{CONFIGMAPS}?watch=1"), "a watch", True),
        (ask("GET", "/api/v1/namespaces/default/pods/a/log?follow=1"), "a log", True),
        (ask("GET", "/version", "Upgrade: websocket"), "a WebSocket", True),
        (ask("POST", CONFIGMAPS, "Expect: 100-continue"), "Expect", False),
        (ask("GET", "/version", "Content-Length: x"), "invalid Content-Length", False),
        (ask("GET", "/%zz"), "malformed URL", False),
        (ask() + b"G", "before the answer", False),
        (ask("GET", "version"), "METHOD /PATH", False),
        (ask("GET", "/a b"), "METHOD /PATH", False),
        (ask(version="HTTP/2"), "METHOD /PATH", False),
    ],
)
def test_requests_that_need_the_loop(sent, what, streams):
    with pytest.raises(NeedsTime, match=what) as found:
        HttpConversation(runner()).feed(sent)
    assert found.value.streams is streams


def test_a_server_that_is_down_resets_connections():
    server = runner()
    server.stop_serving()
    with pytest.raises(ConnectionResetError):
        HttpConversation(server).feed(ask())
    server.serve_again()
    assert HttpConversation(server).feed(ask())


def test_the_parts_of_a_head():
    head = Head("POST /a?b HTTP/1.1\r\nX: a:b \r\nx:\tc", 17)
    assert (head.method, head.target, head.body_at) == ("POST", "/a?b", 17)
    assert head.headers.getall("X") == ["a:b", "c"]


@pytest.mark.parametrize("accept", ["application/json", "application/json;as=Table;v=v1;g=meta.k8s.io"])
def test_a_long_list_is_encoded_in_parts(accept: str) -> None:
    """Other requests have their turn between the parts; together they are what the whole is."""
    api, path = Api(), "/api/v1/namespaces/default/configmaps"
    for number in range(PART * 2 + 1):
        api.ok("POST", path, {"metadata": {"name": f"a{number}"}})
    response = api.answer("GET", path, accept=accept)
    steps, parts = encoding(Request("GET", path), response), 1
    try:
        while True:
            next(steps)
            parts += 1
    except StopIteration as end:
        _, body = end.value
    assert parts >= 3
    assert orjson.loads(body) == response.body.to_object()
