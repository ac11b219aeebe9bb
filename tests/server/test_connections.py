"""Connections that misbehave: slow heads, half-closed connections, requests without a version."""

import json
import socket

import pytest

from fakekube.server.httpconnection import HEADER_TIMEOUT


@pytest.fixture
def connect(fakekube):
    host, port = fakekube.access.url.removeprefix("http://").split(":")
    opened = []

    def connect(data=b""):
        sock = socket.create_connection((host, int(port)))
        opened.append(sock)
        if data:
            sock.sendall(data)
        return sock

    yield connect
    for sock in opened:
        sock.close()


def rest(sock):
    chunks = []
    while chunk := sock.recv(65536):
        chunks.append(chunk)
    return b"".join(chunks)


@pytest.mark.parametrize("head", [b"", b"GET /version HTTP/1.1\r\nHost: a\r\n", b"GE"])
def test_small_a_head_that_does_not_arrive_in_time_closes_the_connection(fakekube, connect, head):
    sock = connect(head)
    assert rest(sock) == b""
    assert fakekube.clock.monotonic() == HEADER_TIMEOUT == 32


def test_small_a_head_that_arrives_in_pieces_is_answered(fakekube, connect):
    sock = connect(b"GET /version HTTP/1.1\r\nHost: a\r\n")
    fakekube.advance(30)
    sock.sendall(b"Connection: close\r\n\r\n")
    assert rest(sock).startswith(b"HTTP/1.1 200 OK\r\n")


def test_small_an_idle_connection_stays_open(fakekube, connect):
    sock = connect(b"GET /version HTTP/1.1\r\nHost: a\r\n\r\n")
    assert sock.recv(65536).startswith(b"HTTP/1.1 200 OK\r\n")
    fakekube.advance(600)
    sock.sendall(b"GET /version HTTP/1.1\r\nHost: a\r\n\r\n")
    assert sock.recv(65536).startswith(b"HTTP/1.1 200 OK\r\n")
    sock.sendall(b"GET /ver")
    assert rest(sock) == b""
    assert fakekube.clock.monotonic() == 632


def test_small_a_half_closed_connection_gets_its_answer(fakekube, connect):
    body = json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}).encode()
    head = b"POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
    sock = connect(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
    sock.shutdown(socket.SHUT_WR)
    assert rest(sock).startswith(b"HTTP/1.1 201 Created\r\n")
    assert fakekube.exists("v1", "ConfigMap", "a")


def test_small_a_half_closed_connection_without_the_body_is_closed(fakekube, connect):
    sock = connect(b"POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{")
    sock.shutdown(socket.SHUT_WR)
    assert rest(sock) == b""


def test_small_the_watch_of_a_half_closed_connection_ends(fakekube, connect):
    sock = connect(b"GET /api/v1/namespaces?watch=1 HTTP/1.1\r\nHost: a\r\n\r\n")
    sock.recv(1000)
    fakekube.settle()
    sock.shutdown(socket.SHUT_WR)
    fakekube.settle()
    assert "watches=0" in repr(fakekube)


@pytest.mark.parametrize("line", [b"GET /version\r\n\r\n", b"GET /version HTTP/0.9\r\n\r\n"])
def test_small_a_request_without_a_version_is_rejected(connect, line):
    assert rest(connect(line)).startswith(b"HTTP/1.1 400 Bad Request\r\n")
