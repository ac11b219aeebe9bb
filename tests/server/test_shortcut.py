"""Requests that are answered in place: which ones, and that the answers are those of the HTTP library."""

import asyncio
from contextlib import aclosing

import orjson
import pytest

from fakekube.apiserver.faults import FaultRule
from fakekube.apiserver.storage.store import PART
from fakekube.server.direct import DirectTransport
from fakekube.server.httpshortcut import Shortcut
from tests.server.rig import CONFIGMAPS, FUSE, closed, new_runner, on_a_loop, served

MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"b": "c"}}


def message(line, *fields, body=b"", host=True):
    length = [f"Content-Length: {len(body)}"] if body else []
    return "\r\n".join([line, *(["Host: a"] if host else []), *fields, *length, "", ""]).encode() + body


def post(body=b"{}", *fields):
    return message(f"POST {CONFIGMAPS} HTTP/1.1", "Content-Type: application/json", *fields, body=body)


GET = message(f"GET {CONFIGMAPS}/a HTTP/1.1")


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(GET[:-1], id="an incomplete head"),
        pytest.param(GET + GET, id="two requests"),
        pytest.param(post()[:-1], id="an incomplete body"),
        pytest.param(post() + b"x", id="more than the body"),
        pytest.param(message("GET /api HTTP/1.0"), id="version 1.0"),
        pytest.param(message("HEAD /api HTTP/1.1"), id="HEAD"),
        pytest.param(message("GET /api HTTP/1.1", host=False), id="no host"),
        pytest.param(message("GET /api HTTP/1.1", "Host: b"), id="two hosts"),
        pytest.param(message("GET /api HTTP/1.1", " folded"), id="a folded header"),
        pytest.param(message("GET /api HTTP/1.1", "Name : a"), id="a space before the colon"),
        pytest.param(message("GET /api HTTP/1.1", "Name: \x01"), id="a control character"),
        pytest.param(message("GET /api HTTP/1.1", "Name: ü"), id="a byte that is not ASCII"),
        pytest.param(message("GET /api HTTP/1.1", "Transfer-Encoding: chunked"), id="chunks"),
        pytest.param(message("GET /api HTTP/1.1", "Connection: close"), id="the last request"),
        pytest.param(message("GET /api HTTP/1.1", "Upgrade: websocket"), id="an upgrade"),
        pytest.param(post(b"{}", "Expect: 100-continue"), id="an expectation"),
        pytest.param(message("GET /api HTTP/1.1", "Content-Length: 1x"), id="an invalid length"),
        pytest.param(message("GET /api HTTP/1.1", f"Long: {'a' * 8192}"), id="a long head"),
        pytest.param(message("GET /api/v1/namespaces/a%20b HTTP/1.1"), id="an escaped path"),
        pytest.param(message("GET /api//v1 HTTP/1.1"), id="an empty segment"),
        pytest.param(message("GET /api/../metrics HTTP/1.1"), id="a dot segment"),
        pytest.param(message("GET http://a/api HTTP/1.1"), id="an absolute URL"),
        pytest.param(message("GET /metrics HTTP/1.1"), id="another path"),
        pytest.param(message("GET /healthz/ping HTTP/1.1"), id="below a path"),
        pytest.param(message("GET /api/v1/pods?watch=1 HTTP/1.1"), id="a watch"),
        pytest.param(message("GET /api/v1/watch/pods HTTP/1.1"), id="a watch by its path"),
        pytest.param(message("GET /api/v1/namespaces/default/pods/a/log HTTP/1.1"), id="a log"),
        pytest.param(message("GET /api/v1/namespaces/default/pods/a/exec?command=a HTTP/1.1"), id="exec"),
    ],
)
def test_what_is_left_to_the_http_library(data):
    runner = new_runner()
    assert Shortcut(runner).answer(data, None) is None
    assert list(runner.log) == []


@pytest.mark.parametrize("state", ["down", "fault", "harness"])
def test_a_server_with_faults_answers_nothing_in_place(state):
    runner = new_runner()
    assert Shortcut(runner).answer(GET, None) is not None
    if state == "down":
        runner.stop_serving()
    elif state == "fault":
        runner.apiserver.faults.rules.append(FaultRule(verb="get", error=500))
    else:
        runner.interception = object()
    assert Shortcut(runner).answer(GET, None) is None


#: Requests and bodies; those of the same line have the same answer whoever reads them.
ALIKE = [
    ("GET", "/healthz", None),
    ("GET", "/version", None),
    ("GET", "/apis/apps/v1", None),
    ("GET", f"{CONFIGMAPS}/a", None),
    ("GET", f"{CONFIGMAPS}/absent", None),
    ("GET", f"{CONFIGMAPS}?limit=1&labelSelector=a%3Db", None),
    ("GET", f"{CONFIGMAPS}?labelSelector=%zz;a=b", None),
    ("GET", "/api/v1/nothing", None),
    ("POST", CONFIGMAPS, b"{"),
    ("POST", CONFIGMAPS, orjson.dumps(MAP)),
    ("PUT", f"{CONFIGMAPS}/b", orjson.dumps(MAP)),
    ("DELETE", f"{CONFIGMAPS}/absent", None),
    ("PATCH", f"{CONFIGMAPS}/a", b"{}"),
]


@pytest.mark.parametrize(("method", "path", "body"), ALIKE)
@pytest.mark.parametrize(
    "accept", ["application/json", "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"]
)
@on_a_loop
async def test_answers_are_those_of_the_http_library(method, path, body, accept):
    async with served() as server:
        await server.call("POST", CONFIGMAPS, MAP)
        fields = ["Content-Type: application/json", f"Accept: {accept}", "User-Agent: me/1"]
        line = f"{method} {path} HTTP/1.1"
        in_place = await answer(server, message(line, *fields, body=body or b""))
        by_library = await answer(server, message(line, *fields, "TE: trailers", body=body or b""))
        assert by_library[1].pop("server")  # aiohttp's
        assert in_place == by_library
        first, second = list(server.runner.log)[-2:]
        assert (first.user_agent, first.code, first.verb) == (second.user_agent, second.code, second.verb)


async def answer(server, data):
    """Status line, headers but what differs in each answer, and body."""
    reader, writer = await server.dial()
    try:
        writer.write(data)
        async with asyncio.timeout(FUSE):
            head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:-2])}
            body = await reader.readexactly(int(headers["content-length"]))
        return head[0], {**headers, "date": "", "audit-id": ""}, body
    finally:
        await closed(writer)


@on_a_loop
async def test_a_request_that_comes_before_the_events_of_a_write_are_sent_is_answered_after_it():
    async with served() as server:
        _, _, events = await DirectTransport(server.runner).open_watch(CONFIGMAPS)  # it needs a task for each event
        async with aclosing(aiter(events)) as stream:
            first = asyncio.ensure_future(anext(stream))
            reader, writer = await server.dial()
            try:
                await server.until(lambda: server.runner.watches)
                writer.write(post(orjson.dumps(MAP)))
                await server.until(lambda: server.runner.woken)
                writer.write(GET)
                async with asyncio.timeout(FUSE):
                    codes = [(await reader.readuntil(b"\r\n\r\n")).split()[1]]
                    assert first.done()
                    await reader.readuntil(b"}\n")
                    codes.append((await reader.readuntil(b"\r\n\r\n")).split()[1])
                assert codes == [b"201", b"200"]
            finally:
                await closed(writer)


@on_a_loop
async def test_the_events_of_a_write_are_sent_before_its_answer():
    async with served() as server, server.session.get(server.url + CONFIGMAPS + "?watch=1") as watch:
        await server.until(lambda: server.runner.watches)
        waiter = next(iter(server.runner.watches.values()))[0]
        await server.until(lambda: waiter.send is not None)
        answer = Shortcut(server.runner).answer(post(orjson.dumps(MAP)), None)
        assert answer is not None
        assert not answer.waits
        async with asyncio.timeout(FUSE):
            assert orjson.loads(await watch.content.readline())["object"]["metadata"]["name"] == "a"


@on_a_loop
async def test_an_unusual_request_may_follow_a_usual_one_on_its_connection():
    async with served() as server:
        await server.call("POST", CONFIGMAPS, MAP)
        reader, writer = await server.dial()
        try:
            for data in (GET, GET[:30], GET[30:], GET, message(f"GET {CONFIGMAPS}/a HTTP/1.1", "TE: trailers"), GET):
                writer.write(data)
                if data == GET[:30]:
                    await asyncio.sleep(0)  # noqa: TID251 - in a segment of its own
                    continue
                async with asyncio.timeout(FUSE):
                    head = await reader.readuntil(b"\r\n\r\n")
                    assert head.startswith(b"HTTP/1.1 200 OK\r\n")
                    assert orjson.loads(await reader.readuntil(b"}\n"))["data"] == {"b": "c"}
        finally:
            await closed(writer)


@on_a_loop
async def test_a_large_list_leaves_the_loop_to_others_between_its_parts():
    runner = new_runner()
    shortcut = Shortcut(runner)
    for number in range(PART + 1):
        one = {**MAP, "metadata": {"name": f"a{number}"}}
        shortcut.answer(post(orjson.dumps(one)), None)
    found = shortcut.answer(message(f"GET {CONFIGMAPS} HTTP/1.1"), None)
    assert (found.data, found.waits) == (b"", False)
    making = asyncio.ensure_future(shortcut.completed(found))
    await asyncio.sleep(0)  # noqa: TID251 - it has begun
    assert not making.done()
    head, _, body = (await making).partition(b"\r\n\r\n")
    assert f"Content-Length: {len(body)}\r\n".encode() in head
    assert len(orjson.loads(body)["items"]) == PART + 1


@on_a_loop
async def test_what_comes_while_an_answer_is_made_is_answered_after_it():
    async with served() as server:
        for number in range(PART + 1):
            await server.call("POST", CONFIGMAPS, {**MAP, "metadata": {"name": f"a{number}"}})
        reader, writer = await server.dial()
        try:
            writer.write(message(f"GET {CONFIGMAPS} HTTP/1.1"))
            await server.until(lambda: any(record.verb == "list" for record in server.runner.log))
            writer.write(GET.replace(b"/a ", b"/a0 "))
            kinds = []
            async with asyncio.timeout(FUSE):
                for _ in range(2):
                    head = await reader.readuntil(b"\r\n\r\n")
                    length = int(head.partition(b"Content-Length: ")[2].partition(b"\r\n")[0])
                    kinds.append(orjson.loads(await reader.readexactly(length))["kind"])
            assert kinds == ["ConfigMapList", "ConfigMap"]
        finally:
            await closed(writer)
