"""External clients: other processes, and threads that do not belong to the bubble."""

import subprocess
import sys
import threading
import time
from datetime import UTC, datetime

import pytest

from fakekube.virtualtime import Bubble, NotQuiescent
from tests.virtualtime.server import Server

GET = "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1]).read().decode())"

#: Watches, and writes after each event, with some work in between.
ECHO = """
import http.client, sys, time
watch = http.client.HTTPConnection(sys.argv[1]); watch.request("GET", "/watch")
for line in watch.getresponse():
    if line.startswith(b"ping"):
        time.sleep(0.02)
        answer = http.client.HTTPConnection(sys.argv[1]); answer.request("PUT", "/n/pong"); answer.getresponse().read()
        answer.close()
"""


def test_a_command_is_served_and_takes_no_virtual_time(bubble, server):
    bubble.loop.call_later(0.001, pytest.fail, "time ran away")
    done = bubble.run_process([sys.executable, "-c", GET, f"{server.url}/now"])
    assert (done.returncode, done.stdout, done.stderr) == (0, "0.0\n", "")
    assert bubble.clock.us == 0
    assert bubble.trace == []


def test_a_command_is_awaited_in_an_async_test(bubble, server):
    async def test():
        return await bubble.run_process([sys.executable, "-c", GET, f"{server.url}/now"])

    assert bubble.run(test()).stdout == "0.0\n"
    assert bubble.clock.us == 0


@pytest.mark.slow
def test_a_command_of_a_thread_is_served(bubble, server):
    outputs = []

    def shells_out():
        for _ in range(3):
            outputs.append(subprocess.run([sys.executable, "-c", GET, f"{server.url}/now"], capture_output=True).stdout)
            subprocess.run([sys.executable, "-c", "pass"])
            time.sleep(0.0001)

    thread = bubble.thread(shells_out)
    bubble.loop.call_later(0.001, outputs.append, "later")
    bubble.join(thread)
    bubble.advance(1)
    assert outputs == [b"0.0\n", b"0.0001\n", b"0.0002\n", "later"]


@pytest.mark.slow
def test_a_command_fails_as_subprocess_says(bubble):
    with pytest.raises(FileNotFoundError):
        bubble.run_process(["no-such-command"])
    with pytest.raises(subprocess.TimeoutExpired):
        bubble.run_process([sys.executable, "-c", "import threading; threading.Event().wait()"], timeout=0.2)
    assert bubble.run_process([sys.executable, "-c", "raise SystemExit(3)"]).returncode == 3
    bubble.settle()


@pytest.mark.slow
def test_subprocess_run_on_the_tests_thread_is_served(bubble, server):
    done = subprocess.run([sys.executable, "-c", GET, f"{server.url}/now"], capture_output=True, check=True)
    assert done.stdout == b"0.0\n"


@pytest.mark.slow
def test_settle_lingers_for_an_external_client_and_says_that_there_is_one():
    with Bubble(wall_clock=False, linger=0.5) as bubble:
        server = Server(bubble)
        process = subprocess.Popen([sys.executable, "-c", ECHO, f"{server.host}:{server.port}"])
        try:
            serve_until_external(bubble)
            bubble.settle()  # so that it watches
            server_put(bubble, server, "ping")
            bubble.settle()
            assert server.numbers == {"ping": 1, "pong": 1}
            assert [str(note) for note in bubble.trace] == [
                "2026-01-01T00:00:00+00:00 an external client is connected: order and counts are no longer "
                "deterministic, time moves only by advance"
            ]
            bubble.advance(60)
            assert bubble.clock.now() == datetime(2026, 1, 1, 0, 1, tzinfo=UTC)
        finally:
            process.kill()
            process.wait()
        bubble.settle()
        assert not bubble.external
        assert bubble.trace[-1].text == "no external client is connected any more"


def serve_until_external(bubble):
    """Serve until an external client is connected, in real time."""
    connected = threading.Event()
    bubble.loop.network.connections.external_moved.add(connected.set)
    waiting = threading.Thread(target=connected.wait, args=(10,))
    waiting.start()
    waiting.join()
    assert bubble.external


def server_put(bubble, server, name):
    async def put():
        async with server.changed:
            server.numbers[name] = server.numbers.get(name, 0) + 1
            server.changed.notify_all()

    bubble.run(put())


@pytest.mark.slow
def test_time_does_not_move_by_itself_while_an_external_client_is_connected():
    import asyncio
    import http.client

    with Bubble(wall_clock=False, patience=0.3, linger=0.01) as bubble:
        server = Server(bubble)
        connection = http.client.HTTPConnection(server.host, server.port)

        def from_outside():
            connection.request("GET", "/now")
            connection.getresponse().read()

        outsider = threading.Thread(target=from_outside)
        outsider.start()
        outsider.join()
        assert bubble.external
        with pytest.raises(NotQuiescent, match=r"call advance\(\) to move time"):
            bubble.run(asyncio.sleep(1))
        bubble.advance(60)
        assert bubble.clock.monotonic() == 60
        connection.close()
        bubble.settle()
        assert not bubble.external
        bubble.run(asyncio.sleep(1))
        assert bubble.clock.monotonic() == 61
