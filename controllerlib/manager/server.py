"""The HTTP servers of a manager for /metrics, /healthz and /readyz; the only module that serves with aiohttp."""

import asyncio
import inspect
import logging
import ssl
from collections.abc import Mapping, Sequence
from typing import Protocol

from aiohttp import web

from controllerlib.manager.healthz import NOT_FOUND, Checker, Reply, aggregated, single
from controllerlib.tasks import OnceEvent

_log = logging.getLogger(__name__)


class Endpoint(Protocol):
    """Replies to requests of some paths."""

    async def reply(self, path: str, query: Mapping[str, list[str]], headers: Mapping[str, str]) -> Reply | None:
        """Return the response; None if the path belongs to another endpoint."""
        ...


class HealthEndpoint:
    """Serves health checks: all of them, or below the path each by its name (controller-runtime: healthz.Handler).

    `?verbose` lists the checks, `?exclude=NAME` excludes one.
    """

    def __init__(self, path: str, checks: Mapping[str, Checker]) -> None:
        """`checks` raise if the process is unhealthy. Without checks the path is not served."""
        self._path, self._checks = path.rstrip("/"), checks

    async def reply(self, path: str, query: Mapping[str, list[str]], headers: Mapping[str, str]) -> Reply | None:
        """See Endpoint."""
        rest = path.removeprefix(self._path)
        if not self._checks or not path.startswith(self._path) or rest[:1] not in ("", "/"):
            return None
        name = rest.strip("/")
        if name:
            return single(await _failure(name, self._checks[name])) if name in self._checks else NOT_FOUND
        excluded = query.get("exclude", [])
        healthy = {
            name: name in excluded or await _failure(name, check) is None for name, check in self._checks.items()
        }
        return aggregated(healthy, excluded, verbose="verbose" in query)


async def _failure(name: str, check: Checker) -> str | None:
    """Run a check; return its error, or None."""
    try:
        answer = check()
        if inspect.isawaitable(answer):
            await answer
    except Exception as error:  # any exception is a failure of the check
        _log.info("health check failed", extra={"check": name, "error": str(error)})
        return str(error)
    return None


def ping() -> None:
    """A check that never fails (controller-runtime: healthz.Ping)."""


def parse_address(text: str) -> tuple[str | None, int]:
    """Parse a bind address of Go into (host, port); ":8080" means all interfaces. ValueError if it is invalid."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdigit() or int(port) > 65535:
        raise ValueError(f"invalid bind address {text!r}: must be host:port or :port")
    return host.strip("[]") or None, int(port)


class HttpServer:
    """Serves endpoints until cancelled, on leaders and other candidates. It is added to a manager."""

    name: str
    url: str

    runnable_group = "http"
    need_leader_election = False

    def __init__(self, name: str, address: str, endpoints: Sequence[Endpoint], *, tls: ssl.SSLContext | None = None):
        """For `address` see parse_address; port 0 selects a free port."""
        self.name, self._endpoints, self._tls = name, endpoints, tls
        self._host, self._port = parse_address(address)
        self._listening = OnceEvent()
        #: The URL, once it is listening.
        self.url = ""

    def __repr__(self) -> str:
        return f"<HttpServer {self.name} {self.url or 'not listening'}>"

    async def start(self) -> None:
        """Serve until cancelled; OSError if the address is not available."""
        runner = web.ServerRunner(web.Server(self._handle), shutdown_timeout=1.0, keepalive_timeout=90.0)
        await runner.setup()
        try:
            await web.TCPSite(runner, self._host, self._port, ssl_context=self._tls).start()
            port = runner.addresses[0][1]
            self.url = f"{'https' if self._tls else 'http'}://{self._host or '127.0.0.1'}:{port}"
            _log.info("serving", extra={"server": self.name, "url": self.url})
            self._listening.set()
            await asyncio.get_running_loop().create_future()
        finally:
            await runner.cleanup()

    async def wait_ready(self) -> None:
        """Wait until it is listening."""
        await self._listening.wait()

    async def _handle(self, request: web.BaseRequest) -> web.Response:
        query: dict[str, list[str]] = {}
        for name, value in request.query.items():
            query.setdefault(name, []).append(value)
        found = NOT_FOUND
        for endpoint in self._endpoints:
            reply = await endpoint.reply(request.path, query, request.headers)
            if reply is not None:
                found = reply
                break
        headers = {"Content-Type": found.content_type, "X-Content-Type-Options": "nosniff"}
        return web.Response(status=found.code, body=found.body, headers=headers)
