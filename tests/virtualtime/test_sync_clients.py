"""Blocking clients in a sync test: while one waits, the loop runs on the test's thread."""

import socket
import ssl
import threading
import time
from contextlib import ExitStack

import pytest
import requests
import trustme
import urllib3
from kubernetes import client as kubernetes

from fakekube.virtualtime import Bubble
from tests.virtualtime.server import Server


@pytest.fixture
def http():
    with urllib3.PoolManager() as http:
        yield http


def test_a_blocking_client_is_answered_by_the_loop_on_its_own_thread(bubble, server, http):
    threads = threading.active_count()
    assert [http.request("PUT", f"{server.url}/n/a").json() for _ in range(3)] == [1, 2, 3]
    assert threading.active_count() == threads
    assert bubble.clock.us == 0


def test_an_answer_that_takes_time_takes_virtual_time(bubble, server, http):
    assert http.request("GET", f"{server.url}/slow?after=3600").json() == 3600


def test_time_sleep_is_advance(bubble, server):
    ticks = []
    bubble.loop.call_later(30, ticks.append, 30)
    bubble.loop.call_later(60, ticks.append, 60)
    time.sleep(60)
    assert ticks == [30, 60]
    assert bubble.clock.monotonic() == 60
    time.sleep(0)
    assert bubble.clock.monotonic() == 60
    with pytest.raises(ValueError, match="non-negative"):
        time.sleep(-1)


def test_the_time_out_of_a_client_is_virtual(bubble, server, http):
    with pytest.raises(urllib3.exceptions.ReadTimeoutError):
        http.request("GET", f"{server.url}/slow?after=60", timeout=5, retries=False)
    assert bubble.clock.monotonic() == 5


def test_the_pauses_between_retries_are_virtual(bubble, server, http):
    retry = urllib3.Retry(total=3, backoff_factor=10, status_forcelist=[404])
    with pytest.raises(urllib3.exceptions.MaxRetryError):
        http.request("GET", f"{server.url}/nowhere", retries=retry)
    assert bubble.clock.monotonic() == 60  # 0, 20 and 40 s


def test_a_body_larger_than_the_kernels_buffers_gets_through(bubble, server, http):
    assert http.request("POST", f"{server.url}/length", body=b"x" * 30_000_000).json() == 30_000_000


def test_a_watch_is_read_while_the_test_goes_on(bubble, server, http):
    watch = http.request("GET", f"{server.url}/watch", preload_content=False)
    for name in "ab":
        http.request("PUT", f"{server.url}/n/{name}")
    bubble.settle()  # what the test has not read yet does not keep the bubble busy
    http.request("PUT", f"{server.url}/n/a")
    bubble.advance(60)
    assert watch.read(12) == b"a=1\nb=1\na=2\n"
    watch.close()


def test_requests_is_served(bubble, server):
    with requests.Session() as session:
        assert session.get(f"{server.url}/slow?after=1", timeout=2).json() == 1


@pytest.mark.skipif(
    not hasattr(kubernetes.ApiClient, "param_serialize"), reason="the official client has it from 37 on"
)
def test_the_official_client_is_served(bubble, server):
    configuration = kubernetes.Configuration(host=server.url)
    with kubernetes.ApiClient(configuration) as api:
        answer = api.call_api(
            *api.param_serialize(
                "GET", "/slow", query_params=[("after", 7)], header_params={"Accept": "application/json"}
            )
        )
        answer.read()
        assert answer.data == b"7.0"


@pytest.mark.parametrize("how", ["recv", "recv_into", "recvfrom", "recvfrom_into", "recvmsg", "makefile", "peek"])
def test_each_way_to_read_a_socket_waits_for_the_loop(bubble, server, how):
    with socket.create_connection((server.host, server.port)) as sock:
        sock.send(b"GET /slow?after=5 HTTP/1.0\r\n\r\n")
        buffer = bytearray(100)
        read = {
            "recv": lambda: sock.recv(100),
            "recv_into": lambda: buffer[: sock.recv_into(buffer)],
            "recvfrom": lambda: sock.recvfrom(100)[0],
            "recvfrom_into": lambda: buffer[: sock.recvfrom_into(buffer)[0]],
            "recvmsg": lambda: sock.recvmsg(100)[0],
            "makefile": lambda: sock.makefile("rb").readline(),
            "peek": lambda: sock.recv(100, socket.MSG_PEEK) and sock.recv(100),
        }[how]
        assert bytes(read()).startswith(b"HTTP/1.0 200 OK")
        assert bubble.clock.monotonic() == 5


def test_a_connection_that_the_server_closes_ends_the_wait(bubble, server):
    with socket.create_connection((server.host, server.port)) as sock:
        sock.sendall(b"GET /now HTTP/1.0\r\n\r\n")
        while sock.recv(1000):
            pass
        assert bubble.clock.us == 0


def test_a_non_blocking_socket_does_not_wait(bubble, server):
    with socket.create_connection((server.host, server.port)) as sock:
        sock.setblocking(False)
        with pytest.raises(BlockingIOError):
            sock.recv(1)


def test_sockets_to_others_are_left_alone(bubble, server):
    near, far = socket.socketpair()
    with near, far:
        near.settimeout(0.01)
        with pytest.raises(TimeoutError):
            near.recv(1)
        far.sendall(b"x")
        assert near.recv(1) == b"x"
    assert bubble.clock.us == 0


@pytest.fixture
def https():
    """A bubble whose server uses TLS, and a client that trusts its authority."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority = trustme.CA()
    authority.issue_cert("127.0.0.1").configure_cert(context)
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    with Bubble(wall_clock=False) as bubble, urllib3.PoolManager(ssl_context=trusting) as http:
        yield Server(bubble, ssl_context=context), http


def test_a_blocking_client_is_served_by_tls(https):
    server, http = https
    assert http.request("GET", f"{server.url}/slow?after=60").json() == 60
    assert http.request("POST", f"{server.url}/length", body=b"x" * 10_000_000).json() == 10_000_000
    watch = http.request("GET", f"{server.url}/watch", preload_content=False)
    http.request("PUT", f"{server.url}/n/a")
    assert watch.read(4) == b"a=1\n"
    watch.close()
    with pytest.raises(urllib3.exceptions.ReadTimeoutError):
        http.request("GET", f"{server.url}/slow?after=60", timeout=5, retries=False)
    assert server.bubble.clock.monotonic() == 65
    assert {scheme for _, scheme in server.peers} == {"https"}


def test_a_thread_is_served_by_tls(https):
    server, http = https
    answers = []

    def asks():
        time.sleep(5)
        answers.append(http.request("GET", f"{server.url}/slow?after=60").json())

    server.bubble.thread(asks)
    server.bubble.advance(70)
    assert answers == [65]


def test_a_blocking_tls_client_in_a_coroutine_is_rejected(https):
    server, http = https

    async def calls():
        http.request("GET", f"{server.url}/now", retries=False)

    with pytest.raises(RuntimeError, match="blocking call to the cluster inside a coroutine"):
        server.bubble.run(calls())
    http.request("GET", f"{server.url}/now")
    with pytest.raises(RuntimeError, match="blocking call to the cluster inside a coroutine"):
        server.bubble.run(calls())


def test_a_listener_that_closes_disconnects_pending_clients(bubble, server):
    with socket.create_connection((server.host, server.port)) as sock:
        bubble.run(server.runner.cleanup())
        with pytest.raises(ConnectionResetError):
            sock.recv(1)
    bubble.settle()


def test_one_port_of_clients_is_used_for_connections_to_several_servers(bubble):
    """A TCP connection is identified by the addresses of both the client and the server."""
    servers = [Server(bubble) for _ in range(2)]
    read = []

    def main():
        with ExitStack() as sockets:
            clients, port = [], 0
            for server in servers:
                sock = sockets.enter_context(socket.socket())
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                sock.bind((server.host, port))
                port = sock.getsockname()[1]
                sock.connect((server.host, server.port))
                clients.append(sock)
            for sock, seconds in zip(clients, (1, 10), strict=True):
                sock.sendall(f"GET /slow?after={seconds} HTTP/1.0\r\n\r\n".encode())
            for sock in reversed(clients):
                assert b"200 OK" in sock.recv(1000)
                read.append(bubble.clock.monotonic())

    bubble.join(bubble.thread(main))
    assert read == [10, 10]
