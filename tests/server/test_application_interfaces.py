"""Applications of web frameworks: which interface they have, and how each is called."""

import asyncio
import functools
import io
import sys

import pytest
from aiohttp import web
from aiohttp.base_protocol import BaseProtocol
from aiohttp.streams import StreamReader
from aiohttp.test_utils import make_mocked_request

from fakekube.server.applications import asgi, interface_of, lifespan, wsgi


async def aiohttp_handler(request):
    """A handler of aiohttp."""


class Object:
    def __call__(self, environ, start_response):
        """A WSGI application."""


@pytest.mark.parametrize(
    ("application", "interface"),
    [
        (web.Application(), "aiohttp"),
        (aiohttp_handler, "aiohttp"),
        (lambda environ, start_response: [], "wsgi"),
        (Object(), "wsgi"),
        (lambda environ, start_response, *, debug=False, **more: [], "wsgi"),
        (lambda environ, start_response, debug=False: [], "wsgi"),
        (lambda scope, receive, send, /: None, "asgi"),
    ],
)
def test_an_application_is_recognized_by_how_it_is_called(application, interface):
    assert interface_of(application) == interface


@pytest.mark.parametrize("application", [None, "x", lambda: 1, lambda a, b, c, d: 1, dict])
def test_anything_else_is_refused(application):
    with pytest.raises(TypeError, match="cannot serve a webhook: pass a coroutine function"):
        interface_of(application)


def request(method="POST", target="/a%20b/%C3%A4?x=1&y=%20", body=b"hello", **headers):
    reader = StreamReader(BaseProtocol(asyncio.get_running_loop()), 2**16)
    reader.feed_data(body)
    reader.feed_eof()
    given = {
        "Host": "guard.default.svc:8443",
        "Content-Type": "text/x",
        **{name.replace("_", "-"): one for name, one in headers.items()},
    }
    return make_mocked_request(method, target, headers=given, payload=reader)


def called(make, *arguments, **of_request):
    async def call():
        answer = await make(*arguments)(request(**of_request))
        return answer.status, list(answer.headers.items()), answer.body

    return asyncio.run(call())


# --- WSGI


def test_the_environment_of_a_wsgi_application():
    seen = {}

    def application(environ, start_response):
        seen.update(environ, body=environ["wsgi.input"].read())
        start_response(
            "201 Created",
            [("Content-Type", "a/b"), ("X-A", "1"), ("X-A", "2"), ("Content-Length", "9"), ("Connection", "close")],
        )
        return [b"an", b"swer"]

    status, headers, body = called(wsgi, application, X_My_Header="1")
    assert (status, headers, body) == (201, [("Content-Type", "a/b"), ("X-A", "1"), ("X-A", "2")], b"answer")
    assert isinstance(seen.pop("wsgi.input"), io.BytesIO)
    assert seen.pop("wsgi.errors") is sys.stderr
    assert seen == {
        "REQUEST_METHOD": "POST", "SCRIPT_NAME": "", "PATH_INFO": "/a b/ä".encode().decode("latin-1"), "QUERY_STRING": "x=1&y=%20",
        "CONTENT_TYPE": "text/x", "CONTENT_LENGTH": "5", "SERVER_NAME": "guard.default.svc", "SERVER_PORT": "8443",
        "SERVER_PROTOCOL": "HTTP/1.1", "REMOTE_ADDR": seen["REMOTE_ADDR"], "HTTP_HOST": "guard.default.svc:8443", "HTTP_X_MY_HEADER": "1",
        "wsgi.version": (1, 0), "wsgi.url_scheme": "https", "wsgi.multithread": True, "wsgi.multiprocess": False, "wsgi.run_once": False,
        "body": b"hello",
    }  # fmt: skip


class Chunks(list):
    closed = False

    def close(self):
        self.closed = True


def test_chunks_are_closed_and_what_was_written_comes_first():
    chunks = Chunks([b"after"])

    def application(environ, start_response):
        start_response("200 OK", [])(b"before ")
        return chunks

    assert called(wsgi, application)[2] == b"before after"
    assert chunks.closed


def test_an_error_of_a_wsgi_application_closes_its_chunks():
    class Failing(Chunks):
        def __iter__(self):
            raise LookupError("in the chunks")

    chunks = Failing()
    with pytest.raises(LookupError, match="in the chunks"):
        called(wsgi, lambda environ, start_response: chunks)
    assert chunks.closed


def test_a_response_is_started_once_unless_there_was_an_error():
    def application(times, exc_info=None):
        def call(environ, start_response):
            for number in range(times):
                start_response(f"{200 + number} X", [], exc_info)
            return []

        return call

    assert called(wsgi, application(2, exc_info=(None, None, None)))[0] == 201
    with pytest.raises(RuntimeError, match="start_response was called twice"):
        called(wsgi, application(2))
    with pytest.raises(RuntimeError, match="did not call start_response"):
        called(wsgi, application(0))


# --- ASGI


def test_the_scope_of_an_asgi_application():
    seen, state = {}, {"shared": 1}

    async def application(scope, receive, send):
        scope["state"]["own"] = 2
        seen.update(scope, message=await receive())
        await send(
            {
                "type": "http.response.start",
                "status": 202,
                "headers": [(b"content-type", b"a/b"), (b"x-a", b"\xe4"), (b"transfer-encoding", b"x")],
            }
        )
        await send({"type": "http.response.body", "body": b"an", "more_body": True})
        await send({"type": "http.response.other", "body": b"no"})
        await send({"type": "http.response.body", "body": b"swer"})
        await send({"type": "http.response.body"})

    status, headers, body = called(asgi, application, state, X_My_Header="1")
    assert (status, headers, body) == (202, [("content-type", "a/b"), ("x-a", "ä")], b"answer")
    assert state == {"shared": 1}
    assert (b"x-my-header", b"1") in seen.pop("headers")
    assert seen == {
        "type": "http", "asgi": {"version": "3.0", "spec_version": "2.3"}, "http_version": "1.1", "method": "POST", "scheme": "https",
        "path": "/a b/ä", "raw_path": b"/a%20b/%C3%A4", "query_string": b"x=1&y=%20", "root_path": "", "client": None,
        "server": ("guard.default.svc", 8443), "state": {"shared": 1, "own": 2},
        "message": {"type": "http.request", "body": b"hello", "more_body": False},
    }  # fmt: skip


def test_the_client_stays_until_it_is_answered():
    async def application(scope, receive, send):
        await receive()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(receive(), 0.001)
        await send({"type": "http.response.start", "status": 204})

    assert called(asgi, application, {}, Host="guard")[0] == 204


def test_an_asgi_application_that_sends_nothing_is_an_error():
    async def application(scope, receive, send):
        await send({"type": "http.response.body", "body": b"x"})

    with pytest.raises(RuntimeError, match=r"did not send http\.response\.start"):
        called(asgi, application, {})


# --- the life of an ASGI application


def lived(application):
    log = []

    async def live():
        async with asyncio.timeout(5), lifespan(functools.partial(application, log)) as state:
            log.append(("serves", dict(state)))
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(live())
    return log


async def whole(log, scope, receive, send):
    log.append((scope["type"], scope["asgi"]["version"], (await receive())["type"]))
    scope["state"]["db"] = 1
    await send({"type": "lifespan.startup.complete"})
    log.append((await receive())["type"])
    await send({"type": "lifespan.shutdown.complete"})


async def none(log, scope, receive, send):
    raise LookupError


async def returns(log, scope, receive, send):
    log.append("returns")


async def ends_late(log, scope, receive, send):
    await receive()
    await send({"type": "lifespan.startup.complete"})
    await receive()
    log.append("raises")
    raise LookupError


async def hangs(log, scope, receive, send):
    await receive()
    await send({"type": "something.else"})
    try:
        await receive()
    except asyncio.CancelledError:
        log.append("cancelled")
        raise


@pytest.mark.parametrize(
    ("application", "log"),
    [
        (whole, [("lifespan", "3.0", "lifespan.startup"), ("serves", {"db": 1}), "lifespan.shutdown"]),
        (none, [("serves", {})]),
        (returns, ["returns", ("serves", {})]),
        (ends_late, [("serves", {}), "raises"]),
        (hangs, [("serves", {}), "cancelled"]),
    ],
)
def test_the_life_of_an_application(application, log):
    assert lived(application) == log


def test_an_application_that_does_not_start_is_named():
    async def fails(log, scope, receive, send):
        await send({"type": "lifespan.startup.failed", "message": "no database"})

    with pytest.raises(RuntimeError, match="the ASGI application does not start: no database"):
        lived(fails)


def test_an_error_of_the_test_ends_the_application():
    async def live():
        log = []
        with pytest.raises(LookupError):
            async with lifespan(functools.partial(whole, log)):
                raise LookupError
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return log

    assert len(asyncio.run(live())) == 1
