"""Small parts of a server: messages of Go's client, errors of TLS, faults of webhooks, ended servers."""

import asyncio
import ssl
from types import SimpleNamespace

import aiohttp
import pytest
from aiohttp import web
from OpenSSL import SSL

from fakekube.apiserver.needs import Delay, Post, Reply
from fakekube.server import webhookclient
from fakekube.server.direct import DirectTransport, _Ended
from fakekube.server.http import _addresses, _reporting
from fakekube.server.runner import ServerRunner
from fakekube.server.tlsconnection import _text
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
    async def posted(post):
        return "posted"

    clock = Clock()
    faults = SimpleNamespace(
        rules=has_rules, take_webhook=lambda post: None if rule is None else SimpleNamespace(**rule)
    )
    webhooks = SimpleNamespace(post=posted, refused=lambda post: "refused", timed_out=lambda post: "timed out")
    runner = SimpleNamespace(apiserver=SimpleNamespace(faults=faults), clock=clock, webhooks=webhooks)
    assert run(ServerRunner._posted(runner, post())) == (reply if has_rules else "posted")
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
    ("error", "text"),
    [
        (
            SSL.Error([("SSL routines", "", "no shared cipher"), ("x", "y", "z")]),
            "SSL routines no shared cipher, x y z",
        ),
        (SSL.Error("closed"), "closed"),
        (SSL.Error(), ""),
    ],
)
def test_the_text_of_an_error_of_tls(error, text):
    assert _text(error) == text


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
