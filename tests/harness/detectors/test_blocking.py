"""Calls that block the event loop until something has happened outside of the cluster."""

import asyncio
import http.client
import http.server
import queue
import subprocess
import sys
import threading
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import pytest

from fakekube import FakeKube
from tests.harness.detectors.scenes import operator, run, texts
from tests.harness.planted import CRD, database

SLEEPS = [sys.executable, "-c", "pass"]


@pytest.fixture(scope="module")
def port():
    """The port of a server that is not the cluster's."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"up")

        def log_message(self, *args):
            """Log nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


def opened(port):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/") as answer:
        return answer.read().decode()


def connected(port):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    connection.request("GET", "/")
    answer = connection.getresponse().read().decode()
    connection.close()
    return answer


def ran(port):
    subprocess.run(SLEEPS, check=True, capture_output=True)
    return "up"


def waited(port):
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    process.stdin.close()
    process.wait(timeout=30)
    return "up"


def communicated(port):
    subprocess.Popen(SLEEPS).communicate()
    return "up"


def resulted(port):
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: "up").result(timeout=5)


CALLS = {
    opened: "connects to 127.0.0.1:",
    connected: "connects to 127.0.0.1:",
    ran: "waits for the process ",
    waited: "waits for the process ",
    communicated: "waits for the process ",
    resulted: "waits for the result of a thread in a coroutine",
}


@pytest.mark.parametrize("call", CALLS)
def test_r8_a_blocking_call_in_a_reconcile(kube, port, call):
    async def reconcile(request):
        assert call(port) == "up"

    run(kube, reconcile)
    (text,) = texts(kube)
    assert text.startswith("[blocking-call] c reconciling default/a [added], test_blocking.py:")
    assert f" in {call.__name__} {CALLS[call]}" in text
    assert text.endswith("nothing else on the event loop runs meanwhile; use what can be awaited, or a thread")


@pytest.mark.parametrize("call", CALLS)
def test_r8_a_blocking_call_of_an_operator_without_reconciles(kube, port, call):
    async def work():
        assert call(port) == "up"

    kube.task(work())
    kube.advance(1)
    (text,) = texts(kube)
    assert text.startswith("[blocking-call] test_blocking.py:")


@pytest.mark.parametrize("call", CALLS)
def test_r8_a_blocking_call_in_threads_and_in_the_test(kube, port, call):
    async def work():
        assert await asyncio.to_thread(call, port) == "up"

    async def reconcile(request):
        """Do nothing."""

    def build(manager):
        assert call(port) == "up"
        operator(reconcile)(manager)

    kube.apply(CRD)
    kube.start(build)
    kube.task(work())
    kube.thread(call, port)
    kube.advance(1)
    assert call(port) == "up"
    assert texts(kube) == []


async def over_a_stream(port):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET / HTTP/1.0\r\n\r\n")
    await reader.read()
    writer.close()


async def in_a_process(port):
    process = await asyncio.create_subprocess_exec(*SLEEPS, stdout=subprocess.PIPE)
    await process.communicate()


async def in_a_pool(port):
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(lambda: "up")
        assert await asyncio.wrap_future(future) == "up"
        assert future.result() == "up"


@pytest.mark.parametrize("call", [over_a_stream, in_a_process, in_a_pool])
def test_r8_what_is_awaited(kube, port, call):
    async def reconcile(request):
        with kube.clock.hold("something outside is awaited"):
            await call(port)

    run(kube, reconcile)
    assert texts(kube) == []


@pytest.mark.parametrize("call", [opened, ran])
async def test_r8_an_async_test_itself(fakekube, port, call):
    assert call(port) == "up"
    await fakekube.advance(1)
    assert fakekube.findings == []


def locked():
    lock, taken, done = threading.Lock(), threading.Event(), threading.Event()

    def hold():
        with lock:
            taken.set()
            done.wait()

    thread = threading.Thread(target=hold, name="holder")
    thread.start()
    taken.wait()
    try:
        with lock:
            """Do nothing."""
    finally:
        done.set()
        thread.join()


def slept():
    time.sleep(1)


def waited_alone():
    threading.Event().wait(5)


REFUSED = {
    locked: "blocks, waiting for a lock that thread holder holds, in a coroutine",
    slept: "calls time.sleep() in a coroutine",
    waited_alone: "blocks, waiting for an event, a queue or the like, in a coroutine",
}


@pytest.mark.slow
@pytest.mark.parametrize("call", REFUSED)
def test_a_wait_in_a_reconcile_is_refused(kube, call):
    async def reconcile(request, client):
        with pytest.raises(RuntimeError, match=r"blocks the event loop.*await asyncio.to_thread"):
            call()

    run(kube, reconcile)
    (text,) = texts(kube)
    assert text.startswith("[blocking-call] c reconciling default/a [added], test_blocking.py:")
    assert f" in {call.__name__} {REFUSED[call]}: nothing else on the event loop runs" in text


@pytest.mark.slow
@pytest.mark.parametrize("call", REFUSED)
def test_a_wait_of_a_task_is_refused(kube, call):
    async def work():
        with pytest.raises(RuntimeError, match=r"blocks the event loop.*await asyncio.to_thread"):
            call()

    kube.task(work())
    kube.advance(1)
    (text,) = texts(kube)
    assert text.startswith("[blocking-call] test_blocking.py:")


def test_what_to_do_instead_of_a_sleep(kube):
    async def work():
        with pytest.raises(RuntimeError, match=r"^time.sleep\(\) inside a coroutine .* loop: use `await asyncio.sleep"):
            time.sleep(1)  # noqa: ASYNC251 - the defect

    kube.task(work())
    kube.advance(1)


def test_a_short_wait_for_a_lock_of_a_thread(kube):
    lock, taken, asked = threading.Lock(), threading.Event(), threading.Event()

    def hold():
        with lock:
            taken.set()
            asked.wait()

    async def work():
        thread = threading.Thread(target=hold)
        thread.start()
        taken.wait()
        assert lock.acquire(timeout=0.01) is False
        asked.set()
        with lock:
            """Do nothing."""
        thread.join()

    kube.task(work())
    kube.advance(1)
    assert texts(kube) == []


def ended(wait):
    """`wait` for a thread that works for a second of real time."""
    event, items = threading.Event(), queue.Queue()

    def work():
        threading.Event().wait(1)
        event.set()
        items.put("up")

    thread = threading.Thread(target=work, name="worker")
    thread.start()
    wait(thread, event, items)
    thread.join(0 if wait is joined else None)


def joined(thread, event, items):
    thread.join(5)


def evented(thread, event, items):
    assert event.wait(5)


def queued(thread, event, items):
    assert items.get(timeout=5) == "up"


WAITS = {
    joined: "waits for the end of worker",
    evented: "waits for an event, a queue or the like",
    queued: "waits for an event, a queue or the like",
}


@pytest.mark.slow
@pytest.mark.parametrize("wait", WAITS)
def test_a_reconcile_waits_for_a_thread_that_it_has_started(kube, wait):
    async def reconcile(request):
        ended(wait)

    run(kube, reconcile)
    (text,) = texts(kube)
    assert text.startswith("[blocking-call] c reconciling default/a [added], test_blocking.py:")
    assert f" in {wait.__name__} {WAITS[wait]} in a coroutine" in text


@pytest.mark.slow
@pytest.mark.parametrize("wait", WAITS)
def test_waits_for_threads_in_threads_and_in_the_build(kube, wait):
    async def reconcile(request):
        """Do nothing."""

    def build(manager):
        ended(wait)
        operator(reconcile)(manager)

    kube.apply(CRD)
    kube.start(build)
    kube.thread(ended, wait)
    kube.advance(10)
    assert texts(kube) == []


def test_a_wait_for_what_has_happened_already(kube):
    async def reconcile(request):
        event, items = threading.Event(), queue.Queue()
        thread = threading.Thread(target=lambda: (event.set(), items.put("up")))
        thread.start()
        thread.join()
        assert event.wait(5)
        assert items.get(timeout=5) == "up"

    run(kube, reconcile)
    assert texts(kube) == []


@pytest.mark.slow
@pytest.mark.parametrize("ends", ["close", "kill"])
def test_a_pool_that_an_operator_keeps_logs_no_error_when_its_workers_end(caplog, ends):
    def build(manager):
        pool = ThreadPoolExecutor(2)

        def reconcile(request):
            assert pool.submit(lambda: "up").result() == "up"

        operator(reconcile)(manager)

    with FakeKube() as kube:
        kube.apply(CRD, database())
        started = kube.start(build)
        kube.advance(1)
        if ends == "kill":
            kube.kill(started)
            kube.advance(1)
    assert [record for record in caplog.records if record.name == "concurrent.futures"] == []
