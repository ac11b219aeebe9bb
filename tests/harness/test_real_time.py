"""Operators in other processes: waiting for what they do, in real time."""

import signal
import subprocess
import sys
import threading
import time

import pytest

OPERATOR = """
import json, os, urllib.request
def call(method, path, body=None):
    data = json.dumps(body).encode() if body else None
    headers = {"Content-Type": "application/json", "User-Agent": "foreign/1"}
    with urllib.request.urlopen(urllib.request.Request(os.environ["FAKEKUBE_URL"] + path, data, headers, method=method)) as answer:
        return json.load(answer)
for name in ("a", "b"):
    call("POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": name}})
"""


@pytest.fixture
def foreign(fakekube):
    process = subprocess.Popen([sys.executable, "-c", OPERATOR], env={"FAKEKUBE_URL": fakekube.access.url})
    yield process
    process.wait()


@pytest.mark.slow
def test_wait_for_requests_of_another_process(fakekube, foreign):
    fakekube.processes.wait_for(verb="create", resource="configmaps", user_agent="foreign/*", times=2)
    assert fakekube.exists("v1", "ConfigMap", "b")
    assert fakekube.clock.monotonic() == 0


async def test_wait_for_a_condition_in_an_async_test(fakekube, foreign):
    await fakekube.processes.wait_for(lambda: fakekube.exists("v1", "ConfigMap", "b"))
    assert fakekube.clock.monotonic() == 0


def test_what_does_not_happen_is_a_time_out_of_real_time(fakekube):
    fakekube.task(_sleeps(fakekube))
    with pytest.raises(TimeoutError, match=r"waiting for \{'verb': 'delete'\}: not within 0.05 s of real time"):
        fakekube.processes.wait_for(verb="delete", timeout=0.05)
    assert fakekube.clock.monotonic() == 0


async def _sleeps(fakekube):
    await fakekube.clock.sleep_until(1)


WATCHER = """
import json, os, urllib.request
URL = os.environ["FAKEKUBE_URL"] + "/api/v1/namespaces/default/secrets"
def call(url, body=None):
    data = json.dumps(body).encode() if body else None
    headers = {"Content-Type": "application/json", "User-Agent": "watcher/1"}
    return urllib.request.urlopen(urllib.request.Request(url, data, headers))
with call(URL + "?watch=1&resourceVersion=0") as events:
    for line in events:
        event = json.loads(line)
        name = event["object"]["metadata"]["name"]
        if event["type"] == "ADDED" and len(name) < 6:
            call(URL, {"metadata": {"name": name + "-c"}}).close()
"""

POLLER = """
import os, threading, urllib.request
while True:
    urllib.request.urlopen(os.environ["FAKEKUBE_URL"] + "/api/v1/namespaces/default/pods").close()
    threading.Event().wait(0.02)
"""


@pytest.fixture
def outside(fakekube):
    """Starts programs that run beside the test until its end."""
    running = []

    def start(program):
        running.append(subprocess.Popen([sys.executable, "-c", program], env={"FAKEKUBE_URL": fakekube.access.url}))

    yield start
    for process in running:
        process.kill()
        process.wait()


def secret(name):
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": "default"}}


def names(fakekube):
    return sorted(found["metadata"]["name"] for found in fakekube.list("v1", "Secret", namespace="default"))


@pytest.mark.slow
def test_operators_outside_are_quiet_when_their_watches_have_been_sent_all(fakekube, outside):
    outside(WATCHER)
    fakekube.processes.wait_for(verb="watch", resource="secrets")
    fakekube.apply(secret("a"), secret("b"))
    fakekube.processes.wait_until_quiet(0.3)
    assert names(fakekube) == ["a", "a-c", "a-c-c", "a-c-c-c", "b", "b-c", "b-c-c", "b-c-c-c"]
    assert fakekube.clock.monotonic() == 0


@pytest.mark.slow
async def test_an_async_test_waits_until_operators_outside_are_quiet(fakekube, outside):
    outside(WATCHER)
    await fakekube.processes.wait_for(verb="watch", resource="secrets")
    fakekube.create(secret("a"))
    await fakekube.processes.wait_until_quiet(0.3)
    assert names(fakekube) == ["a", "a-c", "a-c-c", "a-c-c-c"]


@pytest.mark.slow
def test_a_client_that_is_never_quiet_is_named(fakekube, outside):
    outside(POLLER)
    fakekube.processes.wait_for(verb="list", resource="pods")
    with pytest.raises(TimeoutError, match=r"the last request was Python-urllib/.*: list pods default -> 200"):
        fakekube.processes.wait_until_quiet(0.4, timeout=0.8)


@pytest.mark.slow
def test_a_watch_that_a_fault_holds_is_not_waited_for(fakekube, outside):
    outside(WATCHER)
    fakekube.processes.wait_for(verb="watch", resource="secrets")
    with fakekube.faults.hold_watches(resource="secrets"):
        fakekube.create(secret("a"))
        fakekube.processes.wait_until_quiet(0.2)
        assert names(fakekube) == ["a"]
    fakekube.processes.wait_until_quiet(0.3)
    assert names(fakekube)[-1] == "a-c-c-c"


def test_misuse_is_named(fakekube):
    with pytest.raises(TypeError, match="needs a condition"):
        fakekube.processes.wait_for()
    with pytest.raises(TypeError, match="no argument"):
        fakekube.processes.wait_for(verbs="create")
    with pytest.raises(ValueError, match="0 < seconds < timeout"):
        fakekube.processes.wait_until_quiet(20)


def test_f15_run_process_sets_the_url(fakekube):
    done = fakekube.run_process([sys.executable, "-c", OPERATOR])
    assert (done.returncode, done.stderr) == (0, "")
    assert fakekube.exists("v1", "ConfigMap", "b")


def test_f15_a_signal_reaches_an_operator_in_a_thread(fakekube):
    seen = []

    def operator(interval, *, name):
        stop = threading.Event()
        signal.signal(signal.SIGTERM, lambda *_: stop.set())
        while not stop.wait(interval):
            seen.append(name)
        seen.append("stopped")

    thread = fakekube.thread(operator, 30, kwargs={"name": "tick"})
    fakekube.advance(70)
    fakekube.faults.signal(thread, signal.SIGTERM)
    assert seen == ["tick", "tick", "stopped"]
    assert not thread.is_alive()


@pytest.mark.slow
def test_wait_for_notices_the_end_of_a_process(fakekube):
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        with pytest.raises(TimeoutError, match="waiting for a condition"):
            fakekube.processes.wait_for(lambda: process.poll() is not None, timeout=0.5)
        process.stdin.close()
        fakekube.processes.wait_for(lambda: process.poll() is not None)
    assert process.returncode == 1
    assert fakekube.clock.monotonic() == 0


def ticking(log, interval=60):
    """An operator with a thread of its own, and without a handler of signals."""

    def ticks(name):
        while True:
            time.sleep(interval)
            log.append(name)

    threading.Thread(target=ticks, args=("child",)).start()
    threading.Thread(target=ticks, args=("daemon",), daemon=True).start()
    ticks("main")


def test_a_signal_without_a_handler_ends_all_threads_of_an_operator(fakekube):
    log = []
    thread, other = fakekube.thread(ticking, log), fakekube.thread(ticking, others := [])
    fakekube.advance(90)
    fakekube.faults.signal(thread, signal.SIGTERM)
    fakekube.advance(hours=1)
    assert log == ["main", "child", "daemon"]
    assert not thread.is_alive()
    assert other.is_alive()
    assert len(others) == 61 * 3


@pytest.mark.parametrize("catches", [True, False])
def test_sigint_raises_keyboard_interrupt(fakekube, catches):
    log = []

    def operator():
        try:
            time.sleep(3600)
        except KeyboardInterrupt:
            log.append(fakekube.clock.monotonic())
            if not catches:
                raise

    thread = fakekube.thread(operator)
    fakekube.advance(90)
    fakekube.faults.signal(thread, signal.SIGINT)
    fakekube.advance(1)
    assert log == [90]
    assert not thread.is_alive()
