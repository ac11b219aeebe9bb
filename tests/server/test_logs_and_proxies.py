"""Logs that are followed, and requests to aggregated API servers that fail or last; in virtual time."""

import asyncio
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from fakekube.apiserver.containerlog import ContainerLog, ContainerRun, FollowedLog, LogOptions
from fakekube.apiserver.needs import Forward, Forwarded, Service
from fakekube.apiserver.serviceresolver import Unresolved
from fakekube.server.certificates import Authority
from fakekube.server.http import listen_for
from fakekube.server.logstreams import LogStreams
from fakekube.server.proxyclient import ProxyClient
from fakekube.server.webhookclient import in_time_of_loop
from tests.server.test_runner import START, Served, in_virtual_time, passes, turns

# --- logs

PODS = "/api/v1/namespaces/default/pods"


class Following:
    """A pod of a server, and the stream of the log of its container."""

    def __init__(self, *lines, limit=None):
        self.api = Served()
        spec = {"containers": [{"name": "c", "image": "x"}]}
        _, _, pod = self.api.client.request_now("POST", PODS, body={"metadata": {"name": "a"}, "spec": spec})
        self.uid = pod["metadata"]["uid"]
        self.state({"running": {"startedAt": "2026-03-04T05:06:07Z"}})
        log = ContainerLog(list(lines), START, LogOptions(limit=limit))
        followed = FollowedLog(log, "default/a", self.uid, "c", ContainerRun(0, START))
        runner = self.api.runner
        self.logs = LogStreams(self.api.apiserver.store, lambda: runner.clock, runner.on_write)
        self.stream, self.seen = self.logs.stream(followed), []

    def state(self, state):
        status = {
            "containerStatuses": [
                {"name": "c", "image": "x", "imageID": "", "ready": True, "restartCount": 0, "state": state}
            ]
        }
        code, _, body = self.api.client.request_now(
            "PATCH",
            f"{PODS}/a/status",
            body={"status": status},
            headers={"Content-Type": "application/merge-patch+json"},
        )
        assert code == 200, body

    async def follow(self):
        loop = asyncio.get_running_loop()
        async for data in self.stream:
            self.seen.append((round(loop.time(), 3), data))
        await self.stream.aclose()
        await self.stream.aclose()
        self.seen.append((round(loop.time(), 3), "end"))


@in_virtual_time
async def test_lines_come_at_their_times_and_end_with_the_container():
    following = Following((0, "start"), (5, "five"), (9, "nine"), (60, "never"))
    task = asyncio.create_task(following.follow())
    await passes(10)
    assert following.seen == [(0, b"start\n"), (5, b"five\n"), (9, b"nine\n")]
    following.api.write("other")
    await turns()
    following.state(
        {"terminated": {"exitCode": 0, "startedAt": "2026-03-04T05:06:07Z", "finishedAt": "2026-03-04T05:06:17Z"}}
    )
    await task
    assert following.seen[3:] == [(10, "end")]


@in_virtual_time
async def test_a_followed_log_ends_with_its_limit_its_pod_or_the_server():
    full, deleted, ended = Following((0, "abc"), (1, "def"), limit=5), Following((0, "abc")), Following((0, "abc"))
    tasks = [asyncio.create_task(one.follow()) for one in (full, deleted, ended)]
    await passes(3)
    code, _, _ = deleted.api.client.request_now("DELETE", f"{PODS}/a", query=[("gracePeriodSeconds", "0")])
    assert code == 200
    await passes(3)
    ended.logs.end()
    await asyncio.gather(*tasks)
    assert full.seen == [(0, b"abc\n"), (1, b"d"), (1, "end")]
    assert deleted.seen == [(0, b"abc\n"), (3, "end")]
    assert ended.seen == [(0, b"abc\n"), (6, "end")]


@in_virtual_time
async def test_a_stream_that_was_closed_is_forgotten_and_a_closed_server_has_none():
    following = Following((0, "abc"))
    await following.stream.aclose()
    task = asyncio.create_task(following.follow())
    await passes(1)
    await following.stream.aclose()
    following.logs.end()  # it is not known any more
    await passes(1)
    assert not task.done()
    following.state({"waiting": {}})  # and hears of no change
    await passes(1)
    assert not task.done()
    task.cancel()
    following.logs.retire()
    closed = following.logs.stream(None)
    with pytest.raises(RuntimeError, match="the server is closed"):
        async for _ in closed:
            pass


# --- aggregated API servers

SERVICE = Service("default", "wardle")


class Limits:
    """Notes for which URL and how long a call may last."""

    def __init__(self):
        self.seen, self.open = [], 0

    @asynccontextmanager
    async def __call__(self, url, seconds):
        self.seen.append((url, seconds))
        self.open += 1
        try:
            async with in_time_of_loop(url, seconds):
                yield
        finally:
            self.open -= 1


def forward(target="/apis/x/v1", *, method="GET", body=b"", headers=(), ca="", verified=True):
    return Forward(SERVICE, method, target, headers, body, ca, verified)


class Wardle:
    """Answers over HTTPS; `slow` bodies come in two parts an hour apart."""

    def __init__(self):
        self.seen = []

    async def __call__(self, http):
        self.seen.append((http.method, http.raw_path, http.headers, await http.read()))
        if "cut" in http.path:
            stream = web.StreamResponse(headers={"Content-Length": "100"})
            await stream.prepare(http)
            await stream.write(b"part")
            http.transport.close()
            return stream
        if "slow" in http.path:
            stream = web.StreamResponse()
            await stream.prepare(http)
            await stream.write(b"one ")
            await passes(3600)
            await stream.write(b"two")
            return stream
        return web.Response(
            status=299, text="hello", headers={"X-Mine": "1", "Keep-Alive": "x", "Te": "x", "Trailer": "x"}
        )


@asynccontextmanager
async def aggregated():
    authority, wardle, limits = Authority(), Wardle(), Limits()
    async with listen_for(wardle, authority.server_context(["wardle.default.svc"])) as url:
        yield wardle, ProxyClient(lambda service: url, limits), limits, url, authority.certificate.decode()


def resolves(problem):
    def base_url(service):
        raise Unresolved(problem)

    return base_url


@in_virtual_time
async def test_a_service_without_an_address_is_not_called():
    limits = Limits()
    client = ProxyClient(resolves("no endpoints"), limits)
    expected = Forwarded(problem="no endpoints", unresolved=True)
    assert await client.send(forward()) == expected
    assert await client.fetch(forward(), 5) == (expected, b"")
    assert limits.seen == []
    with pytest.raises(Unresolved):
        client.url_of(SERVICE)


@in_virtual_time
async def test_a_request_and_its_answer():
    async with aggregated() as (wardle, client, limits, url, ca):
        answer = await client.send(
            forward("/apis/x%20y?a=%2F", method="PUT", body=b"body", headers=(("X-A", "1"), ("Accept", "a/b")), ca=ca)
        )
        assert (answer.status, await answer.stream.read()) == (299, b"hello")
        assert {key.lower(): value for key, value in answer.headers if key.lower() != "date"} == {
            "x-mine": "1", "content-type": "text/plain; charset=utf-8", "content-length": "5",
        }  # fmt: skip
        ((method, path, headers, body),) = wardle.seen
        assert (method, path, body) == ("PUT", "/apis/x%20y?a=%2F", b"body")
        host = url.removeprefix("https://")
        assert {name: headers.get(name) for name in ("X-A", "Accept", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-Uri", "User-Agent", "Accept-Encoding")} == {
            "X-A": "1", "Accept": "a/b", "X-Forwarded-Host": host, "X-Forwarded-Proto": "https", "X-Forwarded-Uri": "/apis/x%20y",
            "User-Agent": None, "Accept-Encoding": None,
        }  # fmt: skip
        assert limits.seen == [(url, None)] * 3  # the call, and each wait for the body
        assert limits.open == 0
        assert client.front_proxy is client.front_proxy
        assert client.url_of(SERVICE) == url


@pytest.mark.parametrize(
    ("ca", "verified", "problem"),
    [
        ("own", True, ""),
        ("other", True, "tls: failed to verify certificate: x509: certificate signed by unknown authority"),
        ("other", False, ""),
        ("", False, ""),
        ("no certificate", True, "unable to load root certificates: unable to parse bytes as PEM block"),
    ],
)
@in_virtual_time
async def test_the_certificate_of_a_server_is_verified_unless_it_must_not_be(ca, verified, problem):
    async with aggregated() as (_, client, limits, _, own):
        pem = {"own": own, "other": Authority().certificate.decode()}.get(ca, ca)
        for _ in range(2):  # the second time with the same context
            answer, body = await client.fetch(forward(ca=pem, verified=verified), 5)
            assert answer.problem == problem
            assert body == (b"" if problem else b"hello")
        assert limits.open == 0


@in_virtual_time
async def test_an_answer_that_takes_too_long_or_breaks():
    async with aggregated() as (_, client, limits, _, ca):
        answer, body = await client.fetch(forward("/slow", ca=ca), 5)
        assert (answer, body) == (Forwarded(problem="context deadline exceeded"), b"")
        assert asyncio.get_running_loop().time() == pytest.approx(5, abs=0.1)
        answer, body = await client.fetch(forward("/cut", ca=ca), 5)
        assert (answer.status, body) == (0, b"")
        assert answer.problem
        assert limits.open == 0
    client = ProxyClient(lambda service: "https://127.0.0.1:1", limits)
    assert (await client.send(forward())).problem == "dial tcp 127.0.0.1:1: connect: connection refused"


@pytest.mark.parametrize(
    ("query", "watches"),
    [
        ("", False),
        ("?watch=true", True),
        ("?watch=1", True),
        ("?watch=TRUE", True),
        ("?watch=0", False),
        ("?watch=", False),
        ("?watches=1", False),
        ("?a=1&watch=1", True),
    ],
)
@in_virtual_time
async def test_time_goes_on_while_a_watch_waits(query, watches):
    async with aggregated() as (_, client, limits, _url, ca):
        answer = await client.send(forward(f"/slow{query}", ca=ca))
        begun = asyncio.get_running_loop().time()
        assert [chunk async for chunk in answer.stream] == [b"one ", b"two"]
        assert asyncio.get_running_loop().time() - begun == pytest.approx(3600, abs=1)
        assert len(limits.seen) == (1 if watches else 4)
        await answer.stream.aclose()
        assert limits.open == 0
