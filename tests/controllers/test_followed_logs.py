"""P2: logs that are followed stay open until the container ends, and lines have their times."""

import os
import shutil
import subprocess

import pytest
from kubernetes import client as official
from kubernetes import watch

from fakekube import FakeKube

LINES = [(0, "starting"), (60, "ready\n"), (90, b"working")]


def pod(name="web", **spec):
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": "web"}},
        "spec": {"containers": [{"name": "c", "image": "i"}], **spec},
    }


@pytest.fixture
def running(request):
    """A cluster with a running pod, whose container has started at +00:00:01."""
    with FakeKube(nodes=1, seed=request.node.nodeid) as kube:
        kube.create(pod(**getattr(request, "param", {})))
        kube.advance_until(lambda: started(kube) is not None, timeout=10)
        yield kube


def started(kube):
    status = kube.get("v1", "Pod", "web")["status"].get("containerStatuses") or [{}]
    return status[0].get("state", {}).get("running")


def followed(kube, **options):
    """Follow the log in a thread; returns the lines with the seconds since now, and at last None at its end."""
    seen, begin = [], kube.clock.monotonic()

    def follow():
        api = official.CoreV1Api(kube.access.api_client())
        answer = api.read_namespaced_pod_log("web", "default", follow=True, _preload_content=False, **options)
        for chunk in answer.stream(decode_content=False):
            seen.extend((line, kube.clock.monotonic() - begin) for line in chunk.decode().splitlines())
        answer.release_conn()
        seen.append((None, kube.clock.monotonic() - begin))

    kube.thread(follow)
    kube.settle()
    return seen


def log_of(kube, **options):
    return official.CoreV1Api(kube.access.api_client()).read_namespaced_pod_log("web", "default", **options)


def test_p2_a_followed_log_ends_with_its_container(running):
    running.pods("app=web").logs("one\ntwo\n")
    seen = followed(running)
    assert seen == [("one", 0), ("two", 0)]
    running.advance(minutes=20)
    assert seen == [("one", 0), ("two", 0)]
    running.pods("app=web").succeed()
    assert seen[2:] == [(None, 1200)]


def test_p2_an_empty_log_is_followed(running):
    seen = followed(running)
    running.advance(minutes=20)
    assert seen == []
    running.delete("v1", "Pod", "web")
    running.advance(minutes=1)
    assert [line for line, _ in seen] == [None]


def test_p2_lines_arrive_at_their_times(running):
    running.pods("app=web").logs(LINES)
    seen = followed(running)
    assert seen == [("starting", 0)]
    running.advance(minutes=5)
    assert [(line, round(at)) for line, at in seen] == [("starting", 0), ("ready", 60), ("working", 90)]


def test_p2_a_log_without_following_has_what_was_written(running):
    running.pods("app=web").logs(LINES)
    assert log_of(running) == "starting\n"
    running.advance(60)
    assert log_of(running) == "starting\nready\n"
    running.pods("app=web").fail()
    running.advance(5)
    assert log_of(running, previous=True) == "starting\nready\n"
    assert log_of(running) == "starting\n"


@pytest.mark.parametrize(
    ("options", "lines"),
    [
        pytest.param({"tail_lines": 1}, ["ready", "working"], id="tail"),
        pytest.param({"tail_lines": 0}, ["working"], id="no-tail"),
        pytest.param({"since_seconds": 10}, ["ready", "working"], id="since-seconds"),
        pytest.param({"limit_bytes": 11}, ["starting", "re", None], id="limit"),
        pytest.param({"limit_bytes": 16}, ["starting", "ready", "w", None], id="limit-later"),
    ],
)
def test_p2_what_a_follower_asks_for(running, options, lines):
    running.pods("app=web").logs(LINES)
    running.advance(65)
    seen = followed(running, **options)
    running.advance(minutes=5)
    assert [line for line, _ in seen] == lines


def test_p2_timestamps_are_those_of_the_lines(running):
    running.pods("app=web").logs([(0, "a"), (0.5, "b")])
    running.advance(1)
    start = started(running)["startedAt"].removesuffix("Z")
    assert log_of(running, timestamps=True) == f"{start}.000000000Z a\n{start}.500000000Z b\n"


def test_p2_a_generator_yields_the_lines_of_each_pod(running):
    @running.pods.on_logs
    def logs(request):
        for i in range(10**9):
            yield i * 10, f"{request.pod['metadata']['name']} {i}"

    assert log_of(running) == "web 0\n"
    running.advance(25)
    assert log_of(running, tail_lines=1) == "web 2\n"


def test_p2_a_restarted_container_ends_the_log(running):
    running.pods("app=web").logs(LINES)
    seen = followed(running)
    running.advance(70)
    running.pods("app=web").fail()
    running.advance(30)
    assert [(line, round(at)) for line, at in seen] == [("starting", 0), ("ready", 60), (None, 70)]


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("text", TypeError),
        ((1, 2), TypeError),
        (("1", "text"), TypeError),
    ],
)
def test_p2_an_invalid_line_is_named(running, line, error):
    running.pods("app=web").logs([line])
    with pytest.raises(official.ApiException, match=r"yield \(seconds since the start of the container, line\)"):
        log_of(running)


def test_p2_seconds_must_not_decrease(running):
    running.pods("app=web").logs([(0, "a"), (-1, "b")])
    with pytest.raises(official.ApiException, match="the seconds of lines must not decrease"):
        log_of(running)


def test_p2_a_restarting_server_ends_followed_logs(running):
    seen = followed(running)
    running.faults.cut_watches()
    running.settle()
    assert [line for line, _ in seen] == [None]


def test_p2_the_watch_of_the_official_client(running):
    running.pods("app=web").logs(LINES)
    running.pods("app=web").exit_after(100)
    seen = []

    def follow():
        api = official.CoreV1Api(running.access.api_client())
        seen.extend(watch.Watch().stream(api.read_namespaced_pod_log, "web", "default", follow=True))

    running.thread(follow)
    running.advance(minutes=5)
    assert seen == ["starting", "ready", "working"]
    reads = [one for one in running.requests() if one.subresource == "log"]
    assert len(reads) <= 2  # it reads again once, since the container restarts


async def test_p2_an_async_client_follows(fakekube):
    import asyncio

    from fakekube.apiserver.kubelet import LogRequest

    def logs(request: LogRequest):
        yield 0, f"follow={request.follow}"
        yield 30, "later"

    fakekube.pods.on_logs(logs)
    status = {
        "containerStatuses": [{"name": "c", "restartCount": 0, "state": {"running": {"startedAt": now(fakekube)}}}]
    }
    created = fakekube.create(pod())
    fakekube.update({**created, "status": status}, subresource="status")
    reading = asyncio.create_task(
        fakekube.access.transport().request(
            "GET", "/api/v1/namespaces/default/pods/web/log", query=[("follow", "true")]
        )
    )
    await fakekube.advance(60)
    assert not reading.done()
    fakekube.delete("v1", "Pod", "web", gracePeriodSeconds=0)
    assert (await reading)[2] == "follow=True\nlater\n"


def now(kube):
    return kube.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
def test_p2_kubectl_logs_follow(running):
    running.pods("app=web").logs(LINES)
    running.pods("app=web").exit_after(100)
    environment = {**os.environ, "KUBECONFIG": str(running.access.kubeconfig)}
    command = ["kubectl", "logs", "--follow", "web"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        running.processes.wait_for(subresource="log", timeout=30)
        running.advance(minutes=5)
        output, _ = process.communicate()
    assert output == "starting\nready\nworking\n"
    assert process.returncode == 0
