"""How `fakekube serve` and `fakekube run` end on signals."""

import contextlib
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

from tests.cli.commands import FUSE, READY, environment, started, url_of

pytestmark = pytest.mark.slow

CONTROL = "/_fakekube/v1"
MAPS = "/api/v1/namespaces/default/configmaps"

#: How many copies of a signal are sent, and the real seconds between two: all within those that copies have.
COPIES, PAUSE = 30, 0.003

#: Real seconds that a server has to stop.
SOON = 10


@pytest.fixture
def folder(tmp_path):
    """The working directory of a command, and of its temporary files."""
    made = tmp_path / "work"
    made.mkdir()
    return made


def post(url, path, body):
    request = urllib.request.Request(url + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=FUSE) as answer:
        return answer.read()


def message(method, path, body="", *, length=None):
    """A request; `length`: of a body that is not sent whole."""
    head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body) if length is None else length}\r\n\r\n{body}".encode()


@contextlib.contextmanager
def sent(url, data):
    """A connection on which these bytes have been sent; the server has answered a later request."""
    host, port = url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=FUSE) as connection:
        connection.sendall(data)
        with urllib.request.urlopen(f"{url}/version", timeout=FUSE):
            yield connection


#: What is unanswered when the signal comes -> its bytes.
OPEN = {
    "quiet": message("POST", f"{CONTROL}/quiet", '{"for": "30s", "within": "60s"}'),
    "eventually": message(
        "POST", f"{CONTROL}/eventually", '{"get": "/api/v1/nodes/a", "cel": "object != null", "within": "60s"}'
    ),
    "advance": message("POST", f"{CONTROL}/clock:advance", '{"by": "1000000h"}'),
    "a delayed request": message("GET", "/api/v1/pods"),
    "a watch": message("GET", "/api/v1/pods?watch=1"),
    "a body that does not end": message("POST", "/api/v1/namespaces", "{", length=100),
    "a head that does not end": b"GET /api/v1/pods HTTP/1.1\r\nHost",
    "no request": b"",
}


@pytest.mark.parametrize("data", OPEN.values(), ids=list(OPEN))
def test_a_server_with_a_stepped_clock_stops_while_a_request_is_open(folder, data):
    with started("serve", "--port", "0", "--clock", "stepped", folder=folder) as server:
        url = url_of(server.lines_to(READY))
        post(url, f"{CONTROL}/faults", {"verb": "list", "resource": "pods", "delay": "1000h"})
        with sent(url, data):
            server.process.send_signal(signal.SIGTERM)
            assert server.process.wait(SOON) == 0


def test_a_second_signal_ends_a_server_at_once(folder):
    with started("serve", "--port", "0", "--wait-file", "ready", folder=folder) as server:
        with sent(url_of(server.lines_to(READY)), OPEN["quiet"]):  # the shutdown waits for it
            signals = 0
            while server.process.poll() is None:
                signals += 1
                server.process.send_signal(signal.SIGTERM)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    server.process.wait(0.05)
        assert server.process.returncode == -signal.SIGTERM
        assert signals < 20  # the whole shutdown takes two seconds
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_comes_twice_at_once_stops_a_server_in_order(folder, number):
    with started("serve", "--port", "0", "--wait-file", "ready", folder=folder) as server:
        server.lines_to(READY)
        server.process.send_signal(number)
        assert server.end(number) == (0, ["stopping"])
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_copies_of_a_signal_do_not_change_the_status_of_a_server_that_ends(folder, number):
    with started("serve", "--port", "0", folder=folder) as server:
        server.lines_to(READY)
        for _ in range(COPIES):
            server.process.send_signal(number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                server.process.wait(PAUSE)
        assert server.end(0) == (0, ["stopping"])


def test_nohup_keeps_a_server_from_a_hangup(folder):
    with started("serve", "--port", "0", folder=folder, prefix=("nohup",)) as server:
        url = url_of([line for line in server.lines_to(READY) if "nohup" not in line])
        server.process.send_signal(signal.SIGHUP)
        with urllib.request.urlopen(f"{url}/version", timeout=FUSE):
            assert server.end(signal.SIGTERM) == (0, ["stopping"])


def test_a_full_disk_removes_the_wait_file(folder):
    options = ("--wait-file", "ready", "--data-dir", "data")
    with started("serve", "--port", "0", *options, folder=folder) as server:
        url = url_of(server.lines_to(READY))
        assert (folder / "ready").read_text() == f"{url}\n"
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (1, 1))
        with pytest.raises((urllib.error.URLError, ConnectionError)):
            post(url, MAPS, {"metadata": {"name": "a"}, "data": {"a": "b" * 300_000}})
        assert server.process.wait(FUSE) == 3
    assert not (folder / "ready").exists()


def test_a_server_that_ends_while_the_disk_is_full_loses_nothing(folder):
    options = ("serve", "--port", "0", "--data-dir", "data")
    with started(*options, folder=folder) as server:
        url = url_of(server.lines_to(READY))
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (1, 1))
        post(url, MAPS, {"metadata": {"name": "a"}, "data": {"a": "b"}})
        assert server.end(signal.SIGTERM) == (0, ["stopping"])
    with started(*options, folder=folder) as server:
        url = url_of(server.lines_to(READY))
        with urllib.request.urlopen(f"{url}{MAPS}/a", timeout=FUSE) as answer:
            assert json.load(answer)["data"] == {"a": "b"}
        server.end(signal.SIGTERM)


#: A process that outlives its shell unless it gets the signal, too; a shell lets it ignore SIGINT.
BEHIND = "sleep 31337 & echo $!; wait"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_what_the_command_of_run_has_started(folder, number):
    with started("run", "--", "sh", "-c", BEHIND, folder=folder) as command:
        behind = int(command.line())
        try:
            command.process.send_signal(number)
            assert command.process.wait(SOON) == 128 + number
            assert command.is_closed(SOON)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(behind, signal.SIGKILL)


def test_what_a_command_leaves_in_the_background_stays_after_its_own_end(folder):
    with started("run", "--", "sh", "-c", "sleep 31337 & echo $!", folder=folder) as command:
        behind = int(command.line())
        assert command.process.wait(FUSE) == 0
        os.kill(behind, signal.SIGKILL)  # raises if it has ended
        assert command.is_closed(SOON)


#: Ctrl-C while the modules of the command line are imported.
INTERRUPTED = """
import runpy, signal, sys

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == "fakekube.cli":
            signal.raise_signal(signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, Interrupting())
runpy.run_module("fakekube", run_name="__main__")
"""


def test_an_interrupt_of_the_start_has_no_traceback(folder):
    command = [sys.executable, "-c", INTERRUPTED]
    done = subprocess.run(command, capture_output=True, check=False, timeout=FUSE, env=environment(folder))
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, b"", b"")
