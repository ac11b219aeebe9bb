"""Small parts of a server: messages of Go's client, errors of TLS, faults of webhooks, ended servers."""

import asyncio
import ssl
from types import SimpleNamespace

import aiohttp
import pytest
from aiohttp import HttpVersion10, HttpVersion11, hdrs, web
from aiohttp.http import HttpProcessingError

from fakekube.apiserver.needs import Delay, Post, Reply, Service
from fakekube.apiserver.serviceresolver import Unresolved
from fakekube.apiserver.user import ANONYMOUS
from fakekube.apiserver.wire.status import StatusError
from fakekube.server import webhookclient
from fakekube.server.direct import DirectTransport, _Ended
from fakekube.server.directhttp import NeedsTime, _unchunked
from fakekube.server.http import _addresses, _body, _reporting
from fakekube.server.httpconnection import UPGRADED, HttpConnection
from fakekube.server.runner import ServerRunner
from fakekube.server.servercontext import ServerContext
from fakekube.server.watchstreams import WatchEnded, WatchStreams
from fakekube.server.webhookclient import WebhookClient, go_message, trusting


def run(work):
    with asyncio.Runner() as runner:
        return runner.run(work)


# --- webhooks


def connector(kind, error):
    made = kind.__new__(kind)
    OSError.__init__(made, str(error))
    made._conn_key, made._os_error = SimpleNamespace(host="a", port=1, ssl=True), error
    return made


def certificate(reason):
    made = aiohttp.ClientConnectorCertificateError.__new__(aiohttp.ClientConnectorCertificateError)
    made._conn_key, made._certificate_error = SimpleNamespace(host="a", port=1), reason
    return made


def verification(message):
    error = ssl.SSLCertVerificationError()
    error.verify_message = message
    return error


UNKNOWN = "tls: failed to verify certificate: x509: certificate signed by unknown authority"


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (certificate(verification("self-signed certificate")), UNKNOWN),
        (certificate(verification("unable to get local issuer certificate")), UNKNOWN),
        (certificate(ValueError("it has expired")), "tls: failed to verify certificate: x509: it has expired"),
        (connector(aiohttp.ClientConnectorDNSError, OSError("x")), "dial tcp: lookup web.ns.svc: no such host"),
        (
            connector(aiohttp.ClientConnectorError, ConnectionRefusedError()),
            "dial tcp web.ns.svc:443: connect: connection refused",
        ),
        (aiohttp.ServerDisconnectedError(), "EOF"),
        (aiohttp.ClientPayloadError("broken"), "broken"),
    ],
)
def test_the_messages_of_the_client_of_go(error, message):
    assert go_message(error, "https://web.ns.svc:443/path") == message


def test_the_host_of_an_address_without_a_port():
    error = connector(aiohttp.ClientConnectorDNSError, OSError("x"))
    assert go_message(error, "https://example.com/path") == "dial tcp: lookup example.com: no such host"


def post(**options):
    return Post(**{"url": "https://web:443/a?timeout=1s", "body": {}, "timeout": 10.0, "ca": "", **options})


@pytest.mark.parametrize("ca", ["ümlaut", "-----BEGIN CERTIFICATE-----\nno\n-----END CERTIFICATE-----\n"])
def test_a_bundle_without_certificates_is_a_problem(ca):
    with pytest.raises(ssl.SSLError):
        trusting(ca)
    client = WebhookClient(lambda service: "")
    for _ in range(2):
        assert run(client._posted(post(ca=ca), "https://a")) == Reply(problem=webhookclient.NO_CERTIFICATES)
    assert client._contexts == {}


def test_contexts_are_kept_by_their_certificates():
    client = WebhookClient(lambda service: "")
    assert client._context("") is client._context("")
    assert list(client._contexts) == [""]


class Clock:
    def __init__(self):
        self.now = 100.0

    def monotonic(self):
        return self.now

    async def sleep_until(self, deadline):
        self.now = deadline


def unresolved(service):
    raise Unresolved("no endpoints")


@pytest.mark.parametrize(
    ("rule", "reply", "seconds"),
    [
        (None, "posted", 0.0),
        ({"delay": 0.0, "reset": ""}, "timed out", 10.0),
        ({"delay": 4.0, "reset": ""}, "timed out", 10.0),
        ({"delay": 12.0, "reset": ""}, "timed out", 12.0),
        ({"delay": 0.0, "reset": "before"}, "refused", 0.0),
        ({"delay": 4.0, "reset": "before"}, "refused", 4.0),
    ],
)
@pytest.mark.parametrize("has_rules", [True, False])
def test_a_fault_of_a_webhook_takes_its_time(rule, reply, seconds, has_rules):
    clock = Clock()
    faults = SimpleNamespace(
        rules=has_rules, take_webhook=lambda post: None if rule is None else SimpleNamespace(**rule)
    )
    client = WebhookClient(unresolved)
    answers = {
        "posted": "no endpoints",
        "timed out": WebhookClient.timed_out(post()).problem,
        "refused": WebhookClient.refused(post()).problem,
    }
    asked = post(service=Service("default", "hook"))
    found = run(client.reply(asked, faults, clock))
    assert answers[reply if has_rules else "posted"] in found.problem
    assert clock.now == 100.0 + (seconds if has_rules else 0.0)


def test_a_delay_has_no_replies():
    runner = SimpleNamespace(clock=Clock())
    assert run(ServerRunner._fulfilled(runner, Delay(3.0))) == ()
    assert runner.clock.now == 103.0


@pytest.mark.parametrize("error", [None, ValueError("it broke")])
def test_what_a_request_needs_is_fulfilled_in_a_task_of_the_server(error):
    async def main():
        async def fulfilled(need):
            assert len(runner._waiting) == 1
            if error is not None:
                raise error
            return ["reply"]

        tasks = []

        def spawn(work):
            tasks.append(asyncio.create_task(work))
            return tasks[-1]

        runner = SimpleNamespace(_waiting={}, _fulfilled=fulfilled, _spawn=spawn)
        work = ServerRunner._fulfilled_in_task(runner, Delay(1.0))
        if error is None:
            assert await work == ["reply"]
        else:
            with pytest.raises(ValueError, match="it broke"):
                await work
        assert runner._waiting == {}
        await asyncio.wait(tasks)

    run(main())


def test_a_request_that_a_stopped_server_leaves_does_not_hear_of_its_reply():
    async def main():
        async def fulfilled(need):
            for waiting in runner._waiting:
                waiting.cancel()
            return ["reply"]

        async def fails(need):
            await fulfilled(need)
            raise ValueError("it broke")

        for each in (fulfilled, fails):
            runner = SimpleNamespace(_waiting={}, _fulfilled=each, _spawn=asyncio.create_task)
            with pytest.raises(asyncio.CancelledError):
                await ServerRunner._fulfilled_in_task(runner, Delay(1.0))

    run(main())


# --- transports


def test_a_server_that_has_ended_names_the_request():
    request, said = SimpleNamespace(method="GET", path="/api"), r"\AGET /api: the cluster of this client has ended\Z"
    ended = _Ended()
    with pytest.raises(RuntimeError, match=said):
        ended.begin(request)
    for work in (ended.answer(request), ended.complete(SimpleNamespace(request=request))):
        with pytest.raises(RuntimeError, match=said):
            run(work)


@pytest.mark.parametrize("fenced", [None, False, True])
def test_a_client_whose_process_was_killed_gets_no_answer(fenced):
    request, response = SimpleNamespace(method="GET", path="/api"), object()
    client = None if fenced is None else SimpleNamespace(fenced=fenced, refuse=ConnectionResetError)
    if fenced:
        with pytest.raises(ConnectionResetError, match="the answer of GET /api"):
            DirectTransport._kept(request, response, client)
    else:
        assert DirectTransport._kept(request, response, client) is response


@pytest.mark.parametrize(
    ("raised", "reported"), [(None, False), (web.HTTPNotFound(), False), (ValueError("it broke"), True)]
)
def test_what_a_handler_raises_is_reported_unless_it_is_an_answer(raised, reported):
    found = []

    async def handler(request):
        if raised is not None:
            raise raised
        return "answer"

    handle = _reporting(handler, found.append)
    if raised is None:
        assert run(handle(None)) == "answer"
    else:
        with pytest.raises(type(raised)):
            run(handle(None))
    assert found == ([raised] if reported else [])


def test_the_addresses_of_a_connection():
    transport = SimpleNamespace(get_extra_info={"peername": ("a", 1), "sockname": ("b", 2)}.get)
    assert _addresses(SimpleNamespace(transport=transport)) == (("a", 1), ("b", 2))
    assert _addresses(SimpleNamespace(transport=None)) == (None, None)


# --- who sends a request, and whether one is answered


USER = object()


@pytest.mark.parametrize(
    ("valid", "user", "authorization", "found"),
    [
        (None, None, None, "anonymous"), (None, None, "Bearer a", "of the token"), (None, None, "Bearer none", "anonymous"),
        (True, USER, None, "of the certificate"), (True, USER, "Bearer a", "of the certificate"),
        (True, None, None, "anonymous"), (True, None, "Bearer a", "of the token"),
        (False, USER, None, "refused"), (False, USER, "Bearer a", "of the token"), (False, USER, "Bearer none", "refused"),
    ],
)  # fmt: skip
def test_a_certificate_comes_before_a_token(valid, user, authorization, found):
    token = object()
    users = {"Bearer a": token, "Bearer none": ANONYMOUS}
    runner = SimpleNamespace(
        clock=SimpleNamespace(now=lambda: "now"),
        apiserver=SimpleNamespace(user_of=lambda authorization, now: users[authorization]),
        _context=SimpleNamespace(now=lambda: "now"),
    )
    certificate = None if valid is None else SimpleNamespace(is_valid=lambda now: valid, user=user)
    if found == "refused":
        with pytest.raises(StatusError) as caught:
            ServerRunner.authenticate(runner, authorization, certificate)
        assert caught.value.code == 401
    else:
        meant = {"anonymous": ANONYMOUS, "of the token": token, "of the certificate": USER}[found]
        assert ServerRunner.authenticate(runner, authorization, certificate) is meant


@pytest.mark.parametrize(
    ("count", "waiter", "messages", "upgraded", "idle"),
    [
        (0, None, [], False, True), (1, None, [], False, False), (1, True, [], False, False), (1, False, [], False, True),
        (1, False, ["a request"], False, False), (1, False, [], True, False), (0, False, ["a request"], True, True),
    ],
)  # fmt: skip
def test_whether_a_connection_answers_no_request(count, waiter, messages, upgraded, idle):
    """waiter: None if the connection does not wait for a request, else whether one has arrived."""
    waiting = None if waiter is None else SimpleNamespace(done=lambda: waiter)
    state = {"_waiter": waiting, "_request_count": count, "_messages": messages, UPGRADED: upgraded}
    connection = SimpleNamespace(**state)
    assert HttpConnection._is_idle(connection) is idle


# --- watches


class Fault:
    """The fault of a watch, which notes what it is asked."""

    def __init__(self, *, ends_before="", gone=False, ends_now=False, delay=0.0):
        self._ends_before, self._gone, self._ends_now = ends_before, gone, ends_now
        self.delay, self.delivered = delay, 0

    def ends_before(self, kind, name):
        return f"{kind} {name}" == self._ends_before

    def is_gone(self):
        return self._gone

    def ends_now(self):
        return self._ends_now


def event(kind, name):
    entry = SimpleNamespace(object={"metadata": {"name": name}})
    return SimpleNamespace(type=kind, entry=entry)


EVENTS = [event("ADDED", "a"), event("BOOKMARK", ""), event("DELETED", "b")]


@pytest.mark.parametrize(
    ("fault", "delivered", "counted", "end"),
    [
        ({}, 3, 2, None),
        ({"ends_before": "ADDED a"}, 0, 0, WatchEnded),
        ({"ends_before": "DELETED b"}, 2, 1, WatchEnded),
        ({"ends_before": "BOOKMARK "}, 3, 2, None),
        ({"ends_now": True}, 3, 2, WatchEnded),
        ({"gone": True}, 0, 0, LookupError),
    ],
)
@pytest.mark.parametrize("delay", [0.0, 2.0])
@pytest.mark.parametrize("intercepted", [None, 0.0, 3.0])
def test_the_events_of_a_watch_with_a_fault(fault, delivered, counted, end, delay, intercepted):
    clock, seen = Clock(), []

    async def held(watch, fault):
        seen.append("held")

    async def fall_behind(fault, event):
        raise LookupError("gone")

    interception = None if intercepted is None else SimpleNamespace(before_event=lambda watch, event: intercepted)
    streams = SimpleNamespace(_held=held, _fall_behind=fall_behind, interception=interception, _clock=clock)
    watch = SimpleNamespace(fault=Fault(**fault, delay=delay))

    async def main():
        async for events in WatchStreams._disturbed(streams, watch, EVENTS):
            assert len(events) == 1
            seen.extend(events)

    if end is None:
        run(main())
    else:
        with pytest.raises(end):
            run(main())
    assert [one for one in seen if one != "held"] == EVENTS[:delivered]
    assert seen[:1] == ["held"]
    assert watch.fault.delivered == counted
    assert clock.now == 100.0 + delivered * (delay + (intercepted or 0.0))


class Key:
    """A watch or a waiter."""

    def __init__(self, **attributes):
        vars(self).update(attributes)


def test_a_watch_that_is_forgotten_does_not_wait_any_more():
    log = []
    waiter, other = Key(close=lambda: log.append("closed")), Key(close=lambda: log.append("another"))
    watch, unknown, kept = Key(collection="pods"), Key(collection="pods"), Key(collection="pods")
    streams = SimpleNamespace(
        open={watch: (waiter, 9.0), kept: (other, 9.0)},
        _waiters={"pods": {waiter: None, other: None}},
        _idle={waiter: None, other: None},
    )
    for one in (unknown, watch, watch):
        WatchStreams.forget(streams, one)
    assert log == ["closed"]
    assert (list(streams.open), list(streams._waiters["pods"]), list(streams._idle)) == ([kept], [other], [other])


# --- bodies


@pytest.mark.parametrize(
    ("text", "at", "body"),
    [
        (b"0\r\n\r\n", 0, b""),
        (b"3\r\nabc\r\n0\r\n\r\n", 0, b"abc"),
        (b"head3\r\nabc\r\n0\r\n\r\n", 4, b"abc"),
        (b"a;name=value\r\n0123456789\r\n2\r\n\r\n\r\n0\r\n\r\nrest", 0, b"0123456789\r\n"),
        (b"", 0, None),
        (b"3\r\n", 0, None),
        (b"3\r\nabc\r", 0, None),
        (b"3\r\nabc\r\n", 0, None),
        (b"3\r\nabc\r\n0\r\n\r", 0, None),
    ],
)
def test_a_body_in_chunks(text, at, body):
    assert _unchunked(bytearray(text), at) == body


@pytest.mark.parametrize("text", [b"\r\n", b"x\r\nabc", b"3\r\nabc\r\nno\r\n"])
def test_a_malformed_chunk(text):
    with pytest.raises(NeedsTime, match="a malformed body"):
        _unchunked(bytearray(text), 0)


@pytest.fixture
def body_of(monkeypatch):
    """Reads a body that arrives in pieces, with at most 10 bytes; `broken`: what is raised after them."""
    monkeypatch.setattr("fakekube.apiserver.wire.codec.MAX_BODY", 10)

    def read(*pieces, length=None, expect="", version=HttpVersion11, broken=None):
        async def chunks():
            for piece in pieces:
                yield piece
            if broken is not None:
                raise broken

        async def write(data):
            written.append(data)

        written = []
        writer = SimpleNamespace(write=write, output_size=99)
        http = SimpleNamespace(
            content_length=length,
            headers={hdrs.EXPECT: expect} if expect else {},
            version=version,
            writer=writer,
            content=SimpleNamespace(iter_any=chunks),
        )
        return run(_body(http)), written, writer.output_size

    return read


@pytest.mark.parametrize(
    ("pieces", "length", "body"),
    [
        ([], None, b""), ([b"abc"], 3, b"abc"), ([b"abc", b"def"], None, b"abcdef"), ([b"0123456789"], 10, b"0123456789"),
        ([b"01234", b"56789"], None, b"0123456789"), ([], 11, None), ([b"0123456789a"], None, None),
        ([b"01234", b"56789", b"a"], None, None),
    ],
)  # fmt: skip
def test_a_body_has_a_limit(body_of, pieces, length, body):
    if body is None:
        with pytest.raises(StatusError, match="Request entity too large: limit is 10") as caught:
            body_of(*pieces, length=length)
        assert caught.value.code == 413
    else:
        assert body_of(*pieces, length=length) == (body, [], 99)


@pytest.mark.parametrize(
    ("expect", "version", "continued"),
    [("100-continue", HttpVersion11, True), ("100-Continue", HttpVersion11, True), ("100-continue", HttpVersion10, False),
     ("other", HttpVersion11, False), ("", HttpVersion11, False)],
)  # fmt: skip
def test_a_client_that_waits_for_it_is_told_to_continue(body_of, expect, version, continued):
    written = [b"HTTP/1.1 100 Continue\r\n\r\n"] if continued else []
    assert body_of(b"abc", expect=expect, version=version) == (b"abc", written, 0 if continued else 99)


@pytest.mark.parametrize("broken", [web.PayloadAccessError("cut off"), HttpProcessingError(message="cut off")])
def test_a_body_that_cannot_be_read(body_of, broken):
    with pytest.raises(StatusError, match=r"unable to read the request body: [\s\S]*cut off") as caught:
        body_of(b"abc", broken=broken)
    assert (caught.value.code, caught.value.reason) == (400, "BadRequest")


def test_requests_read_the_clock_that_a_server_uses():
    clock, random = object(), object()
    runner = SimpleNamespace(clock=object(), _context=ServerContext(object(), random))
    ServerRunner.use_clock(runner, clock)
    assert (runner.clock, runner._context.clock, runner._context.random) == (clock, clock, random)


def test_what_is_intercepted_decides_about_a_request():
    interception = SimpleNamespace(before_request=lambda *given: given)
    runner = SimpleNamespace(interception=None, client="the client")
    assert ServerRunner._choose(runner, "request", "info") is None
    runner.interception = interception
    assert ServerRunner._choose(runner, "request", "info") == ("request", "info", "the client")
