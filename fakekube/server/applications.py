"""Applications of web frameworks that serve webhooks: handlers of aiohttp, WSGI (Flask, Django) and ASGI (FastAPI).

An application is recognized by how it is called: with a request (aiohttp), with the environment and `start_response`
(PEP 3333), or with scope, `receive` and `send` (asgi.readthedocs.io, version 3).
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import io
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from typing import Any, Literal

from aiohttp import web

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]

Interface = Literal["aiohttp", "wsgi", "asgi"]

#: The number of arguments that an application is called with -> its interface.
_INTERFACES: Mapping[int, Interface] = {1: "aiohttp", 2: "wsgi", 3: "asgi"}

#: The version of ASGI.
_ASGI = {"version": "3.0", "spec_version": "2.3"}


def interface_of(application: Any) -> Interface:
    """The interface of an application. Raises TypeError for anything else."""
    if isinstance(application, web.Application):
        return "aiohttp"
    try:
        parameters = inspect.signature(application).parameters.values()
    except (TypeError, ValueError):
        parameters = None
    if parameters is not None:
        required = [
            one
            for one in parameters
            if one.default is one.empty and one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)
        ]
        if (found := _INTERFACES.get(len(required))) is not None:
            return found
    raise TypeError(
        f"{application!r} cannot serve a webhook: pass a coroutine function of an aiohttp request, an aiohttp "
        "web.Application, a WSGI application (as of Flask or Django), or an ASGI application (as of FastAPI)"
    )


# --- WSGI -------------------------------------------------------------------------------------------------------------


def wsgi(application: Callable[..., Iterable[bytes]]) -> Handler:
    """The handler of a WSGI application, which runs in a thread."""

    async def handle(http: web.BaseRequest) -> web.StreamResponse:
        environ = _environ(http, await http.read())
        return await asyncio.get_running_loop().run_in_executor(None, _called, application, environ)

    return handle


def _environ(http: web.BaseRequest, body: bytes) -> dict[str, Any]:
    server, _, port = http.host.rpartition(":")
    headers: dict[str, list[str]] = {}
    for name, value in http.headers.items():
        headers.setdefault(name.upper().replace("-", "_"), []).append(value)
    joined = {name: ",".join(values) for name, values in headers.items()}
    return {
        "REQUEST_METHOD": http.method,
        "SCRIPT_NAME": "",
        "PATH_INFO": http.rel_url.path.encode().decode("latin-1"),
        "QUERY_STRING": http.rel_url.raw_query_string,
        "CONTENT_TYPE": joined.pop("CONTENT_TYPE", ""),
        "CONTENT_LENGTH": str(len(body)),
        "SERVER_NAME": server,
        "SERVER_PORT": port,
        "SERVER_PROTOCOL": f"HTTP/{http.version.major}.{http.version.minor}",
        "REMOTE_ADDR": http.remote or "",
        **{f"HTTP_{name}": value for name, value in joined.items() if name != "CONTENT_LENGTH"},
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "https",
        "wsgi.input": io.BytesIO(body),
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
    }


def _called(application: Callable[..., Iterable[bytes]], environ: dict[str, Any]) -> web.Response:
    started: list[tuple[str, list[tuple[str, str]]]] = []
    body = bytearray()

    def start_response(status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> Callable[[bytes], None]:
        if started and exc_info is None:
            raise RuntimeError("start_response was called twice")
        started[:] = [(status, headers)]
        return body.extend

    chunks = application(environ, start_response)
    try:
        for chunk in chunks:
            body += chunk
    finally:
        if (close := getattr(chunks, "close", None)) is not None:
            close()
    if not started:
        raise RuntimeError("the application did not call start_response")
    status, headers = started[0]
    return _response(int(status.split(" ", 1)[0]), headers, bytes(body))


# --- ASGI -------------------------------------------------------------------------------------------------------------


def asgi(application: Callable[..., Awaitable[None]], state: dict[str, Any]) -> Handler:
    """The handler of an ASGI application. `state`: of its lifespan."""

    async def handle(http: web.BaseRequest) -> web.StreamResponse:
        body = await http.read()
        received = iter([{"type": "http.request", "body": body, "more_body": False}])
        sent: dict[str, Any] = {}
        answer = bytearray()

        async def receive() -> dict[str, Any]:
            message = next(received, None)
            if message is None:
                await asyncio.get_running_loop().create_future()  # the client stays until it is answered
            return message or {"type": "http.disconnect"}

        async def send(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                sent.update(message)
            elif message["type"] == "http.response.body":
                answer.extend(message.get("body", b""))

        await application(_scope(http, state), receive, send)
        if not sent:
            raise RuntimeError("the application did not send http.response.start")
        headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in sent.get("headers", ())]
        return _response(sent["status"], headers, bytes(answer))

    return handle


def _scope(http: web.BaseRequest, state: dict[str, Any]) -> dict[str, Any]:
    name, _, port = http.host.rpartition(":")
    return {
        "type": "http",
        "asgi": _ASGI,
        "http_version": f"{http.version.major}.{http.version.minor}",
        "method": http.method,
        "scheme": "https",
        "path": http.rel_url.path,
        "raw_path": http.rel_url.raw_path.encode("ascii"),
        "query_string": http.rel_url.raw_query_string.encode("ascii"),
        "root_path": "",
        "headers": [(name.lower(), value) for name, value in http.raw_headers],
        "client": None,
        "server": (name, int(port) if port.isdigit() else None),
        "state": state.copy(),
    }


@contextlib.asynccontextmanager
async def lifespan(application: Callable[..., Awaitable[None]]) -> AsyncIterator[dict[str, Any]]:
    """Start an ASGI application, and end it; yields its state. Raises RuntimeError if it fails to start.

    An application that raises at once has no lifespan events. One whose task was cancelled has ended.
    """
    state: dict[str, Any] = {}
    inbox: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    outbox: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    async def run() -> None:
        with contextlib.suppress(Exception):
            await application({"type": "lifespan", "asgi": _ASGI, "state": state}, inbox.get, outbox.put)

    async def answer() -> dict[str, Any]:
        """The next message of the application; an empty one if it has ended."""
        getting = asyncio.create_task(outbox.get())
        await asyncio.wait([getting, task], return_when=asyncio.FIRST_COMPLETED)
        if getting.done() and not getting.cancelled():
            return getting.result()
        getting.cancel()
        return {"type": ""}

    task = asyncio.create_task(run())
    inbox.put_nowait({"type": "lifespan.startup"})
    try:
        started = await answer()
        if started["type"] == "lifespan.startup.failed":
            raise RuntimeError(f"the ASGI application does not start: {started.get('message', '')}")
        yield state
        if started["type"] == "lifespan.startup.complete":
            inbox.put_nowait({"type": "lifespan.shutdown"})
            await answer()
    finally:
        task.cancel()
        await asyncio.wait([task])


def _response(status: int, headers: Iterable[tuple[str, str]], body: bytes) -> web.Response:
    answer = web.Response(status=status, body=body)
    answer.headers.popall("Content-Type", None)
    for name, value in headers:
        if name.lower() not in ("content-length", "transfer-encoding", "connection"):
            answer.headers.add(name, value)
    return answer
