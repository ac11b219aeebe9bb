"""Watches over HTTP: streamed line by line, ended cleanly, and closed when their client disconnects."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import orjson
import pytest

from fakekube.apiserver.wire import protobuf
from tests.protofields import fields
from tests.server.rig import CONFIGMAPS, FUSE, Served, closed, on_a_loop, served

WATCH = f"{CONFIGMAPS}?watch=true"


@asynccontextmanager
async def watching(api: Served, path: str = WATCH) -> AsyncIterator[Any]:
    """The lines of a watch, as events; `None` when the stream has ended."""
    async with api.session.get(api.url + path) as response:
        assert response.status == 200

        async def following() -> Any:
            async with asyncio.timeout(FUSE):
                line = await response.content.readline()
            return orjson.loads(line) if line else None

        yield following


def configmap(name: str, **data: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "data": data}


@on_a_loop
async def test_events_are_delivered_as_they_happen():
    async with served() as api, watching(api) as following:
        seen = []
        _, created, _ = await api.call("POST", CONFIGMAPS, configmap("a", size="größe 1"))
        seen.append(await following())
        await api.call("PUT", f"{CONFIGMAPS}/a", configmap("a", size="größe 2"))
        seen.append(await following())
        await api.call("DELETE", f"{CONFIGMAPS}/a")
        seen.append(await following())
        assert [event["type"] for event in seen] == ["ADDED", "MODIFIED", "DELETED"]
        assert seen[0]["object"] == created
        assert seen[1]["object"]["data"] == {"size": "größe 2"}


PROTOBUF = "application/vnd.kubernetes.protobuf"


@asynccontextmanager
async def watching_in_protobuf(api: Served, path: str, accept: str = PROTOBUF) -> AsyncIterator[Any]:
    """The type of each event of a watch, and its object."""
    async with api.session.get(api.url + path, headers={"Accept": accept}) as response:
        assert (response.status, response.content_type) == (200, PROTOBUF)
        assert response.headers["Content-Type"] == f"{PROTOBUF};stream=watch"

        async def following() -> Any:
            async with asyncio.timeout(FUSE):
                size = await response.content.readexactly(4)
                event = dict(fields(await response.content.readexactly(int.from_bytes(size, "big"))))
            wrapped = dict(fields(event[2]))[1]
            return event[1].decode(), protobuf.decode(wrapped)

        yield following


@on_a_loop
async def test_events_in_protobuf():
    async with served() as api, watching_in_protobuf(api, WATCH) as following:
        _, created, _ = await api.call("POST", CONFIGMAPS, configmap("a", size="größe 1"))
        type, added = await following()
        await api.call("PUT", f"{CONFIGMAPS}/a", configmap("a", size="größe 2"))
        _, modified = await following()
        await api.call("DELETE", f"{CONFIGMAPS}/a")
        deleted, _ = await following()
        assert (type, deleted) == ("ADDED", "DELETED")
        assert (added["kind"], added["metadata"]["uid"]) == ("ConfigMap", created["metadata"]["uid"])
        assert modified["data"] == {"size": "größe 2"}


@on_a_loop
async def test_a21_the_initial_events_of_metadata_in_protobuf():
    """The request of a metadata informer of client-go with WatchList."""
    path = f"{WATCH}&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    accept = f"{PROTOBUF};as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
    async with served() as api:
        await api.call("POST", CONFIGMAPS, configmap("a"))
        async with watching_in_protobuf(api, path, accept) as following:
            type, added = await following()
            bookmark, end = await following()
    assert (type, bookmark) == ("ADDED", "BOOKMARK")
    assert (added["kind"], added["metadata"]["name"]) == ("PartialObjectMetadata", "a")
    assert end["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


@on_a_loop
async def test_an_expired_history_in_protobuf():
    async with served() as api:
        store = api.runner.apiserver.store
        store.compact(store.revision)
        async with watching_in_protobuf(api, f"{WATCH}&resourceVersion=1") as following:
            type, status = await following()
    assert (type, status["kind"], status["code"], status["reason"]) == ("ERROR", "Status", 410, "Expired")


@on_a_loop
async def test_missed_events_are_delivered_first():
    async with served() as api:
        _, first, _ = await api.call("POST", CONFIGMAPS, configmap("a"))
        await api.call("POST", CONFIGMAPS, configmap("b"))
        version = first["metadata"]["resourceVersion"]
        async with watching(api, f"{WATCH}&resourceVersion={version}") as following:
            assert (await following())["object"]["metadata"]["name"] == "b"


@on_a_loop
async def test_an_expired_history():
    async with served() as api:
        _, first, _ = await api.call("POST", CONFIGMAPS, configmap("a"))
        await api.call("POST", CONFIGMAPS, configmap("b"))
        api.runner.apiserver.store.compact()
        version = first["metadata"]["resourceVersion"]
        async with watching(api, f"{WATCH}&resourceVersion={version}") as following:
            event = await following()
            assert (event["type"], event["object"]["code"], event["object"]["reason"]) == ("ERROR", 410, "Expired")
            assert await following() is None


@on_a_loop
async def test_a_rejected_watch_is_a_response():
    async with served() as api:
        why = 'resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax'
        assert await api.refused("GET", f"{WATCH}&resourceVersion=abc") == (500, "", why)


@pytest.mark.slow
@on_a_loop
async def test_a_watch_ends_when_its_time_is_up():
    async with served() as api, watching(api, f"{WATCH}&timeoutSeconds=1") as following:
        assert await following() is None


@pytest.mark.slow
@on_a_loop
async def test_a_client_of_http_1_0_can_watch():
    async with served() as api:
        await api.call("POST", CONFIGMAPS, configmap("a"))
        answer = await api.raw(f"GET {WATCH}&timeoutSeconds=1 HTTP/1.0\r\n\r\n".encode())
        head, _, lines = answer.partition(b"\r\n\r\n")
        assert b"chunked" not in head
        assert orjson.loads(lines)["type"] == "ADDED"


@on_a_loop
async def test_stopping_ends_open_watches_cleanly():
    async with served() as api, api.session.get(api.url + WATCH) as response:
        await api.call("POST", CONFIGMAPS, configmap("a"))
        await api.end()
        lines = (await response.read()).splitlines()
        assert [orjson.loads(line)["type"] for line in lines] == ["ADDED"]


@pytest.mark.slow
@on_a_loop
async def test_the_connection_outlives_its_watch():
    """A watch that ends leaves the connection to the next request."""
    async with served() as api:
        first = f"GET {WATCH}&timeoutSeconds=1 HTTP/1.1\r\nHost: x\r\n\r\n"
        answer = await api.raw(first.encode() + b"GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        assert b"\r\n0\r\n\r\nHTTP/1.1 200 OK" in answer
        assert answer.endswith(b"ok")


@pytest.mark.parametrize("how", ["close", "abort"])
@on_a_loop
async def test_a_watch_of_a_disconnected_client_ends(how):
    async with served() as api:
        reader, writer = await api.dial()
        writer.write(f"GET {WATCH} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        assert await reader.readline() == b"HTTP/1.1 200 OK\r\n"
        await api.until(lambda: api.runner.watches)
        if how == "abort":
            writer.transport.abort()
        await closed(writer)
        await api.until(lambda: not api.runner.watches)
        assert (await api.call("POST", CONFIGMAPS, configmap("a")))[0] == 201


@pytest.mark.slow
@on_a_loop
async def test_a_client_that_does_not_read_does_not_delay_others():
    async with served() as api:
        _, writer = await api.dial()
        writer.write(f"GET {WATCH} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        await api.until(lambda: api.runner.watches)
        async with watching(api) as following:
            for i in range(30):
                await api.call("POST", CONFIGMAPS, configmap(f"a{i}", text="x" * 500_000))
                assert (await following())["object"]["metadata"]["name"] == f"a{i}"
        server_ends = asyncio.get_running_loop().time()
    # the slow client's watch is aborted when its time to end is over
    assert asyncio.get_running_loop().time() - server_ends < FUSE
    writer.transport.abort()
    await closed(writer)


@on_a_loop
async def test_many_watches_deliver_the_same():
    async with served() as api:
        async with asyncio.TaskGroup() as group:

            async def first_event() -> bytes:
                async with api.session.get(api.url + WATCH) as response:
                    return await response.content.readline()

            tasks = [group.create_task(first_event()) for _ in range(50)]
            await api.until(lambda: len(api.runner.watches) == 50)
            await api.call("POST", CONFIGMAPS, configmap("a"))
        assert len({task.result() for task in tasks}) == 1
        await api.until(lambda: not api.runner.watches)


def written_and_seen(host: str, port: int, count: int) -> list[bool]:
    """For each of `count` writes, whether its event is in the watch's socket as soon as the writer has its answer."""
    with socket.create_connection((host, port)) as writer, socket.create_connection((host, port)) as watcher:
        watcher.sendall(f"GET {CONFIGMAPS}?watch=true HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        watcher.recv(65536)  # the head of the stream
        found = []
        for number in range(count):
            body = f'{{"metadata":{{"name":"a{number}"}}}}'
            head = f"POST {CONFIGMAPS} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
            writer.sendall(f"{head}{body}".encode())
            assert writer.recv(65536).startswith(b"HTTP/1.1 201")
            watcher.setblocking(False)
            try:
                found.append(f'"a{number}"'.encode() in watcher.recv(65536))
            except BlockingIOError:
                found.append(False)
            watcher.setblocking(True)
        return found


@on_a_loop
async def test_an_event_is_sent_before_the_answer_to_its_write():
    async with served() as api:
        found = await asyncio.to_thread(written_and_seen, api.server.host, api.server.port, 20)
        assert found == [True] * 20
        await api.end()
