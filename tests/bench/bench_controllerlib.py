"""What controllerlib's queues, stores and informers can do: `pytest tests/bench/bench_controllerlib.py`.

CPU seconds are counted, so that a busy machine shows about the same. A bench whose figure is promised fails below it;
rates and sizes are in the `extra_info` of what `--benchmark-json` writes.
"""

import asyncio
import gc
import json
import socketserver
import sys
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest

from controllerlib import Client
from controllerlib.cache import (
    NAMESPACE_INDEX,
    ClientListWatch,
    Indexer,
    InformerOptions,
    ReflectorOptions,
    SharedIndexInformer,
    meta_namespace_index,
)
from controllerlib.client import HttpTransport
from controllerlib.workqueue import ItemExponentialFailureRateLimiter, WorkQueue, priority_queue, work_queue

pytestmark = pytest.mark.benchmark(timer=time.process_time, warmup=False)

Object = dict[str, Any]
QUEUES = {"plain": work_queue, "priority": priority_queue}


def rate(benchmark: Any, count: int, at_least: float = 0.0) -> None:
    """Note how many a second the best round did; fails where that is too few."""
    best = count / benchmark.stats.stats.min
    benchmark.extra_info["per second"] = round(best)
    assert best >= at_least, f"{best:,.0f} per second, wanted {at_least:,.0f}"


def pod(number: int, version: int = 1, size: int = 0) -> Object:
    """A small Pod: 20 labels' worth of applications, 500 nodes, 10 namespaces."""
    meta = {
        "name": f"pod-{number}",
        "namespace": f"ns-{number % 10}",
        "uid": f"5a1ad3a5-0000-4000-8000-{number:012}",
        "resourceVersion": str(version),
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "labels": {"app": f"app-{number % 20}"},
    }
    container = {"name": "main", "image": "registry.example.com/main:1", "args": ["x" * size] if size else []}
    spec = {"nodeName": f"node-{number % 500}", "containers": [container], "restartPolicy": "Always"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec, "status": {"phase": "Running"}}


def by_node(obj: Any) -> Sequence[str]:
    return (obj["spec"]["nodeName"],)


# --- queues ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", QUEUES)
@pytest.mark.parametrize("keys", [1, 1_000])
def test_queue_add_get_done(benchmark: Any, kind: str, keys: int) -> None:
    """Add, get and done of each key, `keys` of them in line at a time."""
    total = 100_000

    async def work() -> None:
        queue: WorkQueue[str] = QUEUES[kind]()
        names = [f"default/key-{number}" for number in range(keys)]
        for _ in range(total // keys):
            for name in names:
                queue.add(name)
            for _ in names:
                item = await queue.get()
                queue.done(item)  # type: ignore[arg-type]

    benchmark.pedantic(lambda: asyncio.run(work()), rounds=5)
    rate(benchmark, total, 300_000)


@pytest.mark.parametrize("kind", QUEUES)
def test_queue_between_tasks(benchmark: Any, kind: str) -> None:
    """The same with a worker that must be woken for each key."""
    total = 20_000

    async def work() -> None:
        queue: WorkQueue[int] = QUEUES[kind]()

        async def worker() -> None:
            while (item := await queue.get()) is not None:
                queue.done(item)

        task = asyncio.create_task(worker())
        for number in range(total):
            queue.add(number)
            await asyncio.sleep(0)
        queue.shut_down()
        await task

    benchmark.pedantic(lambda: asyncio.run(work()), rounds=5)
    rate(benchmark, total)


WAITING = 100_000


def _waiting_queue(kind: str) -> WorkQueue[int]:
    queue: WorkQueue[int] = QUEUES[kind](ItemExponentialFailureRateLimiter())
    for number in range(WAITING):
        queue.add_after(number, 1_000.0 + (number * 7919) % WAITING / 1_000)
    return queue


@pytest.mark.parametrize("kind", QUEUES)
def test_fill_a_delaying_queue(benchmark: Any, kind: str) -> None:
    """100,000 items with delays of their own."""

    async def work() -> None:
        assert len(_waiting_queue(kind).waiting()) == WAITING

    benchmark.pedantic(lambda: asyncio.run(work()), rounds=3)
    rate(benchmark, WAITING)


@pytest.mark.parametrize("kind", QUEUES)
def test_a_queue_with_100_000_waiting(benchmark: Any, kind: str) -> None:
    """Add, get, done and a requeue for later, while so many others wait."""
    total = 20_000

    async def work(queue: WorkQueue[int]) -> None:
        for number in range(total):
            queue.add(WAITING + number)
            item = await queue.get()
            queue.add_after(item, 2_000.0)  # type: ignore[arg-type]
            queue.done(item)  # type: ignore[arg-type]

    def setup() -> tuple[tuple[Any, ...], dict[str, Any]]:
        async def make() -> WorkQueue[int]:
            return _waiting_queue(kind)

        return (asyncio.run(make()),), {}

    benchmark.pedantic(lambda queue: asyncio.run(work(queue)), setup=setup, rounds=3)
    rate(benchmark, total)


# --- stores ------------------------------------------------------------------------------------------------------------

OBJECTS = 100_000
INDEXERS = {NAMESPACE_INDEX: meta_namespace_index, "node": by_node}


@pytest.fixture(scope="module")
def pods() -> Iterator[list[Object]]:
    objects = [pod(number) for number in range(OBJECTS)]
    gc.freeze()
    yield objects
    gc.unfreeze()


def test_fill_an_indexer(benchmark: Any, pods: list[Object]) -> None:
    """100,000 objects, two indices."""

    def fill() -> None:
        store = Indexer(indexers=INDEXERS)
        for obj in pods:
            store.add(obj)
        assert len(store) == OBJECTS

    benchmark.pedantic(fill, rounds=3)
    rate(benchmark, OBJECTS)


def test_update_an_indexer(benchmark: Any, pods: list[Object]) -> None:
    """As many updates, each of which moves the object to another node."""
    store = Indexer(indexers=INDEXERS)
    store.replace(pods, "1")
    moved = [{**obj, "spec": {**obj["spec"], "nodeName": f"other-{number % 500}"}} for number, obj in enumerate(pods)]

    def update() -> None:
        for obj in moved:
            store.update(obj)

    benchmark.pedantic(update, rounds=3)
    rate(benchmark, OBJECTS)
    assert len(store.by_index("node", "other-7")) == 200


def test_ask_an_indexer(benchmark: Any, pods: list[Object]) -> None:
    """By key, and the 200 objects of a node."""
    store = Indexer(indexers=INDEXERS)
    store.replace(pods, "1")

    def ask() -> None:
        for number in range(1_000):
            assert store.get_by_key(f"ns-{number % 10}/pod-{number}") is not None
            assert len(store.by_index("node", f"node-{number % 500}")) == 200

    benchmark.pedantic(ask, rounds=3)
    rate(benchmark, 1_000)


# --- informers -------------------------------------------------------------------------------------------------------


class Stream:
    """Watch events that come all at once when they are let go."""

    watch_list_unsupported = True

    def __init__(self, objects: Sequence[Object], events: Sequence[Object]) -> None:
        self._objects, self._events = objects, events
        self.go: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def list(self, options: Any) -> Object:
        return {"kind": "PodList", "metadata": {"resourceVersion": "1"}, "items": list(self._objects)}

    async def watch(self, options: Any) -> "Stream":
        return self

    async def __aiter__(self) -> Any:
        await self.go
        for event in self._events:
            yield event
        await asyncio.get_running_loop().create_future()

    async def aclose(self) -> None:
        pass


class Counting:
    """Counts updates, and sets an event when it has all of them."""

    def __init__(self, total: int, done: Callable[[], None]) -> None:
        self._left, self._done = total, done

    def on_add(self, obj: Any, is_in_initial_list: bool) -> None:
        pass

    def on_update(self, old: Any, new: Any) -> None:
        self._left -= 1
        if not self._left:
            self._done()

    def on_delete(self, obj: Any) -> None:
        pass


def _changes(total: int, among: int) -> tuple[list[Object], list[Object]]:
    objects = [pod(number) for number in range(among)]
    return objects, [{"type": "MODIFIED", "object": pod(n % among, 2 + n)} for n in range(total)]


@pytest.mark.parametrize("fifo", ["real", "delta"])
@pytest.mark.parametrize("indexed", [False, True], ids=["plain", "two-indices"])
def test_informer(benchmark: Any, fifo: str, indexed: bool) -> None:
    """Deltas from the stream through queue and store to two handlers."""
    total = 100_000
    objects, events = _changes(total, 1_000)
    gc.freeze()
    seconds: list[float] = []

    async def work() -> None:
        stream = Stream(objects, events)
        indexers = INDEXERS if indexed else None
        informer = SharedIndexInformer(stream, options=InformerOptions(fifo=fifo), indexers=indexers)  # type: ignore[arg-type]
        loop = asyncio.get_running_loop()
        finished = [loop.create_future(), loop.create_future()]
        for future in finished:
            informer.add_handler(Counting(total, lambda future=future: future.set_result(None)))  # type: ignore[misc]
        task = asyncio.create_task(informer.run())
        await informer.synced.wait()
        began = time.process_time()
        stream.go.set_result(None)
        for future in finished:
            await future
        seconds.append(time.process_time() - began)
        task.cancel()
        await asyncio.wait([task])

    benchmark.pedantic(lambda: asyncio.run(work()), rounds=3)
    gc.unfreeze()
    best = total / min(seconds)
    benchmark.extra_info["per second"] = round(best)
    if fifo == "real" and not indexed:
        assert best >= 100_000, f"{best:,.0f} deltas a second"


def test_memory_of_a_cached_object(benchmark: Any) -> None:
    """Bytes for each of 20,000 objects in an indexer with two indices, beyond the object itself."""
    count = 20_000
    objects = [pod(number) for number in range(count)]

    def measure() -> float:
        gc.collect()
        tracemalloc.start()
        before, _ = tracemalloc.get_traced_memory()
        store = Indexer(indexers=INDEXERS)
        for obj in objects:
            store.add(obj)
        gc.collect()
        after, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert len(store) == count
        return (after - before) / count

    overhead = benchmark.pedantic(measure, rounds=1)
    benchmark.extra_info["bytes for each object"] = round(overhead)
    benchmark.extra_info["bytes of the object itself"] = _size(objects[0])
    benchmark.extra_info["bytes as JSON"] = len(json.dumps(objects[0]))
    assert overhead < 2_500


def _size(value: Any) -> int:
    inside = [*value.items()] if isinstance(value, dict) else [*enumerate(value)] if isinstance(value, list) else []
    return sys.getsizeof(value) + sum(_size(item) for _, item in inside)


# --- beside the official client's informer ---------------------------------------------------------------------------

STREAMED = 2_000


class Recorded(BaseHTTPRequestHandler):
    """A list of pods, and a watch that sends the same events to everybody."""

    protocol_version = "HTTP/1.1"
    listing = b""
    events = b""

    def do_GET(self) -> None:
        if "watch=" in self.path:
            self._answer(self.events, chunked=True)
        elif self.path.rstrip("/") == "/api/v1":
            rows = [{"name": "pods", "kind": "Pod", "namespaced": True}]
            self._answer(json.dumps({"kind": "APIResourceList", "groupVersion": "v1", "resources": rows}).encode())
        else:
            self._answer(self.listing)

    def _answer(self, body: bytes, *, chunked: bool = False) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        if chunked:
            self.send_header("Transfer-Encoding", "chunked")
            body = b"".join(
                b"%x\r\n%s\r\n" % (len(body[at : at + 16_384]), body[at : at + 16_384])
                for at in range(0, len(body), 16_384)
            )
        else:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        if chunked:
            self.server.over.wait(60)  # type: ignore[attr-defined]  the watch stays open
            self.close_connection = True

    def log_message(self, *args: Any) -> None:
        pass


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Recorded)
        self.over = threading.Event()


@contextmanager
def recorded() -> Iterator[str]:
    """The URL of a server that has 100 pods and then delivers 2,000 changes of them."""
    objects, events = _changes(STREAMED, 100)
    Recorded.listing = json.dumps(
        {"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": objects}
    ).encode()
    Recorded.events = b"".join(json.dumps(event).encode() + b"\n" for event in events)
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.over.set()
            server.shutdown()
            thread.join()


def test_our_informer_over_http(benchmark: Any) -> None:
    """From the first request until two handlers have heard of the last change."""

    async def work(url: str) -> None:
        loop = asyncio.get_running_loop()
        transport = HttpTransport(url)
        options = InformerOptions(reflector=ReflectorOptions(streaming=False))
        informer = SharedIndexInformer(ClientListWatch(Client(transport), "v1", "Pod"), options=options)
        finished = [loop.create_future(), loop.create_future()]
        for future in finished:
            informer.add_handler(Counting(STREAMED, lambda future=future: future.set_result(None)))  # type: ignore[misc]
        task = asyncio.create_task(informer.run())
        for future in finished:
            await future
        task.cancel()
        await asyncio.wait([task])
        await transport.aclose()

    with recorded() as url:
        benchmark.pedantic(lambda: asyncio.run(work(url)), rounds=3)
    rate(benchmark, STREAMED)


def test_the_official_informer_over_http(benchmark: Any) -> None:
    """`kubernetes.informer.SharedInformer` on the same stream, with two handlers as well."""
    client = pytest.importorskip("kubernetes.client")
    informers = pytest.importorskip("kubernetes.informer")

    def work(url: str) -> None:
        configuration = client.Configuration()
        configuration.host = url
        api = client.CoreV1Api(client.ApiClient(configuration))
        done = threading.Barrier(2)
        informer = informers.SharedInformer(api.list_pod_for_all_namespaces)
        left = [STREAMED, STREAMED]

        def counting(which: int) -> Callable[[Any], None]:
            def count(obj: Any) -> None:
                left[which] -= 1
                if not any(left):
                    done.wait(60)

            return count

        for which in (0, 1):
            informer.add_event_handler("MODIFIED", counting(which))
        informer.start()
        done.wait(60)
        threading.Thread(target=informer.stop, daemon=True).start()  # it waits for the stream to end

    with recorded() as url:
        benchmark.pedantic(lambda: work(url), rounds=3)
    rate(benchmark, STREAMED)
