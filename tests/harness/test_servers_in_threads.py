"""P1: servers in threads of the bubble (`fakekube.thread(server.serve_forever)`) answer in virtual time."""

import asyncio
import http.server
import socket
import threading
import time
import urllib.request
from contextlib import contextmanager

import pytest
from aiohttp import web

from controllerlib import ApiError
from fakekube.server.certificates import Authority
from tests.harness.test_real_webhooks import NAMES, allow, answered, secure_server, trusting
from tests.harness.test_webhooks import configmap, configuration


@contextmanager
def in_a_thread(fakekube, authority, answer, server=http.server.HTTPServer):
    made = secure_server(authority, answer, server)
    fakekube.thread(made.serve_forever)
    fakekube.webhooks.map_service("guard", f"https://127.0.0.1:{made.server_port}")
    try:
        yield
    finally:
        made.shutdown()
        made.server_close()


@pytest.mark.slow
@pytest.mark.parametrize("server", [http.server.HTTPServer, http.server.ThreadingHTTPServer])
def test_p1_a_tls_server_in_a_thread_answers_at_the_same_instant(fakekube, server):
    authority = Authority()
    with in_a_thread(fakekube, authority, allow, server):
        fakekube.apply(trusting(configuration(), authority))
        before = fakekube.clock.now()
        for i in range(20):
            fakekube.create(configmap(f"a{i}"))
        assert fakekube.clock.now() == before


def test_p1_a_server_in_a_thread_takes_virtual_time(fakekube):
    authority = Authority()

    def slow(request):
        time.sleep(3)
        return {"allowed": True}

    with in_a_thread(fakekube, authority, slow):
        fakekube.apply(trusting(configuration(), authority))
        before = fakekube.clock.monotonic()
        fakekube.create(configmap())
        assert fakekube.clock.monotonic() - before == 3


def test_p1_a_server_in_a_thread_that_takes_too_long(fakekube):
    authority = Authority()

    def slow(request):
        time.sleep(30)
        return {"allowed": True}

    with in_a_thread(fakekube, authority, slow, http.server.ThreadingHTTPServer):
        fakekube.apply(trusting(configuration(timeoutSeconds=2), authority))
        before = fakekube.clock.monotonic()
        with pytest.raises(ApiError, match="context deadline exceeded"):
            fakekube.create(configmap())
        assert fakekube.clock.monotonic() - before == 2


def test_p1_a_server_in_a_thread_reads_the_cluster_while_it_answers(fakekube):
    authority = Authority()
    fakekube.create(configmap("limits", most="1"))

    def below_the_limit(request):
        most = int(fakekube.get("v1", "ConfigMap", "limits")["data"]["most"])
        return {"allowed": int(request["object"]["data"]["n"]) <= most, "status": {"message": "too many"}}

    with in_a_thread(fakekube, authority, below_the_limit):
        fakekube.apply(trusting(configuration(), authority))
        fakekube.create(configmap("one", n="1"))
        with pytest.raises(ApiError, match="too many"):
            fakekube.create(configmap("two", n="2"))


@pytest.mark.slow
def test_p1_an_event_loop_in_a_thread_serves_a_webhook(fakekube):
    authority = Authority()
    ports = []

    async def review(request):
        await asyncio.sleep(1)
        return web.json_response(answered(await request.json(), allow))

    async def serve():
        runner = web.ServerRunner(web.Server(review))
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=authority.server_context(NAMES)).start()
            ports.append(runner.addresses[0][1])
            await asyncio.Event().wait()
        finally:
            await runner.cleanup()

    fakekube.thread(asyncio.run, serve())
    fakekube.settle()
    fakekube.webhooks.map_service("guard", f"https://127.0.0.1:{ports[0]}")
    fakekube.apply(trusting(configuration(), authority))
    before = fakekube.clock.monotonic()
    fakekube.create(configmap())
    assert fakekube.clock.monotonic() - before == 1


class Slow(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        time.sleep(60)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"x" * 1_000_000)

    def log_message(self, *args):
        pass


def test_p1_the_test_reads_from_a_server_in_a_thread(fakekube):
    server = http.server.HTTPServer(("127.0.0.1", 0), Slow)
    fakekube.thread(server.serve_forever)
    fakekube.settle()
    with urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}") as answer:
        assert len(answer.read()) == 1_000_000
    assert fakekube.clock.monotonic() == 60
    server.shutdown()
    server.server_close()


def test_p1_a_thread_reads_over_tls_from_a_server_in_a_thread(fakekube):
    authority = Authority()
    server = http.server.HTTPServer(("127.0.0.1", 0), Slow)
    server.socket = authority.server_context(NAMES).wrap_socket(server.socket, server_side=True)
    read = []

    def client():
        url = f"https://127.0.0.1:{server.server_port}"
        with urllib.request.urlopen(url, context=authority.client_context()) as answer:
            read.append((len(answer.read()), fakekube.clock.monotonic()))

    fakekube.thread(server.serve_forever)
    fakekube.thread(client)
    fakekube.advance(minutes=2)
    assert read == [(1_000_000, 60)]
    server.shutdown()
    server.server_close()


def test_p1_a_thread_accepts_without_a_selector(fakekube):
    heard = []

    def serve(listening):
        connection, _ = listening.accept()
        with connection:
            while data := connection.recv(100):
                heard.append((data, fakekube.clock.monotonic()))

    def client(port):
        with socket.create_connection(("127.0.0.1", port)) as sock:
            time.sleep(1)
            sock.sendall(b"a")
            time.sleep(1)
            sock.sendall(b"b")
            time.sleep(1)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = fakekube.thread(serve, listening)
        fakekube.thread(client, listening.getsockname()[1])
        fakekube.advance(10)
        assert heard == [(b"a", 1), (b"b", 2)]
        assert not server.is_alive()


def test_p1_a_thread_that_accepts_within_a_time_out(fakekube):
    ended = []

    def serve(listening):
        listening.settimeout(5)
        with pytest.raises(TimeoutError):
            listening.accept()
        ended.append(fakekube.clock.monotonic())

    with socket.create_server(("127.0.0.1", 0)) as listening:
        fakekube.thread(serve, listening)
        fakekube.advance(10)
    assert ended == [5]


def test_a_real_thread_accepts_in_real_time(fakekube):
    got = []

    def serve(listening):
        connection, _ = listening.accept()
        with connection:
            got.append(connection.recv(10))

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve, args=(listening,))
        thread.start()
        with socket.create_connection(listening.getsockname()) as sock:
            sock.sendall(b"hello")
        thread.join()
    assert got == [b"hello"]
