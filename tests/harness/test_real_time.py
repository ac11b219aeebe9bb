"""Operators in other processes: waiting for what they do, in real time."""

import subprocess
import sys

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
    process = subprocess.Popen([sys.executable, "-c", OPERATOR], env={"FAKEKUBE_URL": fakekube.url})
    yield process
    process.wait()


def test_wait_for_requests_of_another_process(fakekube, foreign):
    fakekube.wait_for(verb="create", resource="configmaps", user_agent="foreign/*", times=2)
    assert fakekube.exists("v1", "ConfigMap", "b")
    assert fakekube.clock.monotonic() == 0


async def test_wait_for_a_condition_in_an_async_test(fakekube, foreign):
    await fakekube.wait_for(lambda: fakekube.exists("v1", "ConfigMap", "b"))
    assert fakekube.clock.monotonic() == 0


def test_what_does_not_happen_is_a_time_out_of_real_time(fakekube):
    fakekube.task(_sleeps(fakekube))
    with pytest.raises(TimeoutError, match=r"waiting for \{'verb': 'delete'\}: not within 0.05 s of real time"):
        fakekube.wait_for(verb="delete", timeout=0.05)
    assert fakekube.clock.monotonic() == 0


async def _sleeps(fakekube):
    await fakekube.clock.sleep_until(1)


def test_misuse_is_named(fakekube):
    with pytest.raises(TypeError, match="needs a condition"):
        fakekube.wait_for()
    with pytest.raises(TypeError, match="no argument"):
        fakekube.wait_for(verbs="create")


def test_f15_run_process_sets_the_url(fakekube):
    done = fakekube.run_process([sys.executable, "-c", OPERATOR])
    assert (done.returncode, done.stderr) == (0, "")
    assert fakekube.exists("v1", "ConfigMap", "b")


def test_f15_a_signal_reaches_an_operator_in_a_thread(fakekube):
    import signal
    import threading

    seen = []

    def operator(interval, *, name):
        stop = threading.Event()
        signal.signal(signal.SIGTERM, lambda *_: stop.set())
        while not stop.wait(interval):
            seen.append(name)
        seen.append("stopped")

    thread = fakekube.thread(operator, 30, kwargs={"name": "tick"})
    fakekube.advance(70)
    fakekube.signal(thread, signal.SIGTERM)
    assert seen == ["tick", "tick", "stopped"]
    assert not thread.is_alive()


def test_wait_for_notices_the_end_of_a_process(fakekube):
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        with pytest.raises(TimeoutError, match="waiting for a condition"):
            fakekube.wait_for(lambda: process.poll() is not None, timeout=0.5)
        process.stdin.close()
        fakekube.wait_for(lambda: process.poll() is not None)
    assert process.returncode == 1
    assert fakekube.clock.monotonic() == 0
