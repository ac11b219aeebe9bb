"""A bubble for each test, and a small server in it."""

import socket
import threading

import pytest

from fakekube.virtualtime import Bubble, VirtualTimeLoop
from tests.virtualtime.server import Server


@pytest.fixture
def bubble():
    with Bubble(wall_clock=False) as bubble:
        yield bubble


@pytest.fixture
def loop():
    loop = VirtualTimeLoop()
    yield loop
    loop.close()


@pytest.fixture
def server(bubble):
    return Server(bubble)


@pytest.fixture
def other_server():
    """The address of a server in real time, in a thread of its own, which accepts connections and sends nothing."""
    accepted = []

    def serve():
        try:
            while True:
                connection, _ = listening.accept()
                accepted.append(connection)
        except OSError:
            return

    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(30)
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield listening.getsockname()
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join()
            for connection in accepted:
                connection.close()
