"""The two servers that are compared: fakekube in this process, and one that is reached by its URL."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import urlencode

import aiohttp
import orjson
import yaml
from yarl import URL

from fakekube.apiserver.response import Response
from fakekube.apiserver.user import User
from fakekube.apiserver.wire import envelope, protobuf, warning
from fakekube.apiserver.wire.request import Request, parse_query
from fakekube.apiserver.wire.status import StatusError
from fakekube.server import bootstrap
from fakekube.server.httpmessages import encode
from fakekube.server.initialobjects import ClusterOptions
from fakekube.server.random import SeededRandom
from fakekube.server.runner import ServerRunner
from fakekube.server.systemclock import SystemClock
from fakekube.virtualtime.seeds import Seed

#: The headers of answers that are compared.
COMPARED = ("content-type", "warning", "retry-after", "allow")

#: A watch is over when no event arrives for this time, in seconds.
QUIET = 0.7

#: Rounds of the event loop after which a watch of fakekube has nothing more to deliver.
ROUNDS = 20

AGENT = "differential/v1"

#: The user of the requests, as the token file of the other server describes it.
ADMIN = User("admin", "admin-uid", ("system:masters", "system:authenticated"))

#: The range of cluster IPs that a kube-apiserver has without an option.
SERVICES = "10.0.0.0/24"


@dataclass(frozen=True, slots=True)
class Answer:
    """The code, the compared headers and the decoded body of an answer. The body of a watch is a list of events."""

    status: int
    headers: Mapping[str, str]
    body: Any


@dataclass(frozen=True, slots=True)
class Sent:
    """A request without variables."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...]
    headers: Mapping[str, str]
    body: bytes


#: The answer of a server that closes the connection instead, as kube-apiserver does after a panic.
DISCONNECTED = Answer(0, {}, "the connection was closed")


class Server(Protocol):
    """A server that answers requests. `waits`: what was written may take effect later."""

    waits: bool

    async def send(self, sent: Sent) -> Answer:
        """The answer of a request."""

    async def watch(self, sent: Sent) -> Answer:
        """The answer of a watch, with the events that arrive at once."""


def decoded(data: bytes, content_type: str) -> Any:
    """A body as a value that can be compared."""
    if data.startswith(protobuf.MAGIC):
        return _message(data)
    if content_type.startswith("application/json"):
        try:
            return json.loads(data)
        except ValueError:
            pass
    if content_type.startswith("application/yaml"):
        return {"yaml": yaml.load(data, Loader=yaml.CSafeLoader)}
    return data.decode("utf-8", "replace")


def _message(data: bytes) -> Any:
    """An object in protobuf, and whether fakekube encodes it to the same bytes."""
    try:
        found = protobuf.decode(data)
    except (StatusError, KeyError):
        return {"bytes": len(data)}
    try:
        same = envelope.encode(found) == data
    except (AssertionError, KeyError):
        same = True
    return {"protobuf": found, "encoded": same}


def events(data: bytes) -> list[Any]:
    """The events of a stream of lines, without the bookmarks that a server sends from time to time."""
    return [event for line in data.split(b"\n") if line.strip() and not _periodic(event := json.loads(line))]


def _periodic(event: Any) -> bool:
    return event.get("type") == "BOOKMARK" and not (event["object"].get("metadata") or {}).get("annotations")


class Local:
    """A fakekube of its own, which answers in this process."""

    waits = False

    def __init__(
        self,
        version: str = bootstrap.KUBERNETES_VERSION,
        gates: Mapping[str, bool] | None = None,
        services: str = SERVICES,
    ) -> None:
        clock, random = SystemClock(), SeededRandom(Seed(1))
        self.apiserver = bootstrap.api_server(
            clock.now(),
            random,
            version=version,
            feature_gates=gates,
            authorization_mode="RBAC",
            options=ClusterOptions(service_cluster_ip_range=services),
        )
        self.runner = ServerRunner(self.apiserver, clock, random, tokens={"admin-token": ADMIN})

    async def _answered(self, sent: Sent) -> tuple[Request, Response]:
        headers = {name.lower(): value for name, value in sent.headers.items()} | {"user-agent": AGENT}
        query = parse_query(urlencode(sent.query))
        request = Request(sent.method, sent.path, query, headers, sent.body, ADMIN)
        return request, await self.runner.answer(request)

    async def send(self, sent: Sent) -> Answer:
        request, response = await self._answered(sent)
        return _answer(request, response)

    async def watch(self, sent: Sent) -> Answer:
        request, response = await self._answered(sent)
        watch = response.watch
        if watch is None:
            return _answer(request, response)
        found: list[bytes] = []

        async def read() -> None:
            async for batch in self.runner.stream(watch):
                found.extend(_line(event) for event in batch)

        task = asyncio.create_task(read())
        await _settled(found, task)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        headers = {"content-type": response.content_type}
        if response.warnings:
            headers["warning"] = ", ".join(warning.header_values(response.warnings))
        return Answer(response.status, headers, events(b"\n".join(found)))


async def _settled(found: list[bytes], task: asyncio.Task[None]) -> None:
    """Wait until a watch has delivered nothing for some rounds of the loop, or has ended."""
    rounds, seen = 0, 0
    while rounds < ROUNDS and not task.done():
        await asyncio.sleep(0)
        rounds, seen = (rounds + 1, seen) if len(found) == seen else (0, len(found))


def _line(event: Any) -> bytes:
    return (
        orjson.dumps({"type": "ERROR", "object": event.to_object()}) if isinstance(event, StatusError) else event.line
    )


def _answer(request: Request, response: Response) -> Answer:
    headers, data = encode(request, response)
    lower = {name.lower(): value for name, value in headers.items()}
    if response.warnings:
        lower["warning"] = ", ".join(warning.header_values(response.warnings))
    shown = {name: lower[name] for name in COMPARED if name in lower}
    return Answer(response.status, shown, decoded(data, shown.get("content-type", "")))


class Remote:
    """A server that is reached by its URL."""

    waits = True

    def __init__(self, session: aiohttp.ClientSession, url: str, token: str) -> None:
        self._session, self._url = session, url.rstrip("/")
        self._token = token

    def _request(self, sent: Sent) -> Any:
        headers = {"Authorization": f"Bearer {self._token}", "User-Agent": AGENT, "Accept-Encoding": "identity"}
        query = f"?{urlencode(sent.query)}" if sent.query else ""
        return self._session.request(
            sent.method,
            URL(f"{self._url}{sent.path}{query}", encoded=True),
            headers={**headers, **sent.headers},
            data=sent.body or None,
            skip_auto_headers=("Content-Type",),
        )

    async def send(self, sent: Sent) -> Answer:
        try:
            async with self._request(sent) as response:
                headers = _compared(response)
                return Answer(response.status, headers, decoded(await response.read(), headers.get("content-type", "")))
        except aiohttp.ServerDisconnectedError:
            return DISCONNECTED

    async def watch(self, sent: Sent) -> Answer:
        async with self._request(sent) as response:
            headers = _compared(response)
            if response.status != 200:
                return Answer(response.status, headers, decoded(await response.read(), headers.get("content-type", "")))
            data = b""
            try:
                while True:
                    chunk = await asyncio.wait_for(response.content.readany(), QUIET)
                    if not chunk:
                        break
                    data += chunk
            except TimeoutError:
                response.close()
            return Answer(response.status, headers, events(data))


def _compared(response: aiohttp.ClientResponse) -> dict[str, str]:
    return {name: ", ".join(response.headers.getall(name)) for name in COMPARED if name in response.headers}


@asynccontextmanager
async def remote(url: str, token: str, *, insecure: bool, jobs: int) -> AsyncIterator[Remote]:
    """The server at a URL. insecure: its certificate is not checked. Raises aiohttp.ClientError if it does not answer."""
    context = ssl.create_default_context()
    if insecure:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    connector = aiohttp.TCPConnector(ssl=context, limit=jobs * 2)
    timeout = aiohttp.ClientTimeout(total=60, sock_connect=5)
    async with aiohttp.ClientSession(connector=connector, timeout=timeout) as session:
        found = Remote(session, url, token)
        async with session.get(f"{url.rstrip('/')}/version"):
            pass
        yield found
