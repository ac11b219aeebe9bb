"""The HTTP transport; the only module that calls a server with aiohttp (client-go: rest/request.go)."""

import itertools
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import orjson
from multidict import CIMultiDict

from controllerlib.client import credentials
from controllerlib.client.credentials import Credentials
from controllerlib.client.transport import NO_HEADERS, Headers, Query, Response
from controllerlib.clock import Clock, SystemClock, sleep

#: Maximum number of retries that the server requests by Retry-After (client-go: 10).
RETRIES = 10
#: Seconds before a GET is retried whose connection was reset (client-go: an artificial Retry-After).
_PAUSE = 1.0
#: Seconds of idle time before TCP keep-alive probes, and between them.
_KEEP_ALIVE = 30
_JSON = "application/json"
#: Called after every attempt with the status code ("<error>" without an answer), the method and the host.
OnAnswer = Callable[[str, str, str], None]


class HttpTransport:
    """Sends requests over HTTP or HTTPS (client-go: rest.RESTClient).

    Requests answered with Retry-After (429 and 5xx) are retried after that delay, at most `retries` times; reads whose
    connection was reset are retried after a second. Network errors are raised as OSError: ConnectionRefusedError,
    ConnectionResetError, and so on.
    """

    url: str

    def __init__(
        self,
        url: str = "",
        *,
        credentials: Credentials | None = None,
        headers: Headers | None = None,
        clock: Clock | None = None,
        retries: int = RETRIES,
    ) -> None:
        """`url` may be omitted if `credentials` are given; ValueError without either. `headers` are sent with every
        request.
        """
        self.url = (url or (credentials.url if credentials else "")).rstrip("/")
        if not self.url:
            raise ValueError("HttpTransport needs a URL or credentials")
        self._credentials, self._headers, self._retries = credentials, dict(headers or {}), retries
        self._clock: Clock = clock or SystemClock()
        self._session: aiohttp.ClientSession | None = None
        self._generation = 0
        self._host = urlsplit(self.url).netloc
        #: Called after every attempt; a manager counts them in its metrics.
        self.on_answer: OnAnswer | None = None

    @classmethod
    def from_kubeconfig(cls, path: str | None = None, context: str | None = None) -> "HttpTransport":
        """Create a transport to the cluster of a kubeconfig file."""
        return cls(credentials=credentials.from_kubeconfig(path, context))

    @classmethod
    def in_cluster(cls) -> "HttpTransport":
        """Create a transport to the cluster in which this pod runs."""
        return cls(credentials=credentials.in_cluster_config())

    @classmethod
    def from_environment(cls) -> "HttpTransport":
        """Create a transport to the cluster that get_config finds."""
        return cls(credentials=credentials.get_config())

    def __repr__(self) -> str:
        return f"<HttpTransport {self.url}>"

    async def __aenter__(self) -> "HttpTransport":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Query = (),
        headers: Headers = NO_HEADERS,
        body: Any = None,
    ) -> Response:
        """Send a request, retry as the server requests, and return status code, headers and decoded body. Raises
        OSError.
        """
        for attempt in itertools.count(1):
            last = attempt > self._retries
            try:
                response = await self._send(method, path, query, headers, body)
            except ConnectionResetError:
                if method != "GET" or last:
                    raise
                await sleep(self._clock, _PAUSE)
                continue
            raw = await _read(response)
            wait = _retry_after(response)
            if wait is None or last:
                return response.status, dict(response.headers), _decode(raw, response.headers)
            await sleep(self._clock, wait)
        raise AssertionError("not reached")

    async def open_watch(self, path: str, *, query: Query = (), headers: Headers = NO_HEADERS) -> Response:
        """Open a watch, retrying as the server requests. The stream ends when the server ends it or the connection
        breaks.
        """
        if not any(name == "watch" for name, _ in query):
            query = [*query, ("watch", "true")]
        for attempt in itertools.count(1):
            response = await self._send("GET", path, query, headers, None)
            if response.status == 200:
                _keep_alive(response)
                return 200, dict(response.headers), HttpStream(response)
            raw = await _read(response)
            wait = _retry_after(response)
            if wait is None or attempt > self._retries:
                return response.status, dict(response.headers), _decode(raw, response.headers)
            await sleep(self._clock, wait)
        raise AssertionError("not reached")

    async def aclose(self) -> None:
        """Close all connections; open streams end."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _send(self, method: str, path: str, query: Query, headers: Headers, body: Any) -> aiohttp.ClientResponse:
        sent = CIMultiDict({**self._headers, **headers})
        data = None
        if body is not None:
            data = orjson.dumps(body)
            sent.setdefault("Content-Type", _JSON)
        known = self._credentials
        for name, value in await known.headers() if known else ():
            sent.add(name, value)
        code = "<error>"
        try:
            response = await (await self._connected()).request(
                method,
                self.url + path,
                params=[*query],
                headers=sent,
                data=data,
                proxy=known.proxy if known else None,
                proxy_headers=known.proxy_headers if known else None,
                server_hostname=known.tls_server_name if known else None,
            )
            code = str(response.status)
        except (aiohttp.ClientError, TimeoutError) as error:
            raise _os_error(error) from error
        finally:
            if self.on_answer is not None:
                self.on_answer(code, method, self._host)
        if response.status == 401 and known is not None:
            known.expire()
        return response

    async def _connected(self) -> aiohttp.ClientSession:
        """Return the session; after a change of the certificates the old one is closed and another created."""
        known = self._credentials
        if self._session is not None and known is not None and known.generation != self._generation:
            old, self._session = self._session, None
            await old.close()
        if self._session is None:
            tls = known.tls() if known else None
            self._generation = known.generation if known else 0
            connector = aiohttp.TCPConnector(limit=0, ssl=tls if tls is not None else True)
            timeout = aiohttp.ClientTimeout(total=None, sock_connect=30)
            self._session = aiohttp.ClientSession(connector=connector, timeout=timeout)
        return self._session


class HttpStream:
    """Watch events, one JSON document per line. An undecodable line yields an ERROR event and ends the stream."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response

    async def __aiter__(self) -> AsyncIterator[Mapping[str, Any]]:
        rest = b""
        try:
            async for chunk in self._response.content.iter_any():
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    if line.strip():
                        yield orjson.loads(line)
        except orjson.JSONDecodeError as error:
            yield {"type": "ERROR", "object": _undecodable(error)}
        except (aiohttp.ClientError, ConnectionError):
            return  # as in client-go: the stream ends, and the reflector continues

    async def aclose(self) -> None:
        """Close the watch."""
        self._response.close()


def _keep_alive(response: aiohttp.ClientResponse) -> None:
    """Enable TCP keep-alive, to detect a broken connection of an idle watch (Go's dialer: 30 s)."""
    transport = response.connection.transport if response.connection else None
    sock = transport.get_extra_info("socket") if transport else None
    if sock is None or sock.family not in (socket.AF_INET, socket.AF_INET6):
        return
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name in ("TCP_KEEPIDLE", "TCP_KEEPALIVE", "TCP_KEEPINTVL"):  # TCP_KEEPIDLE is TCP_KEEPALIVE on macOS
        if hasattr(socket, name):
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), _KEEP_ALIVE)


async def _read(response: aiohttp.ClientResponse) -> bytes:
    """Return the body; OSError if the connection breaks."""
    try:
        async with response:
            return await response.read()
    except (aiohttp.ClientError, TimeoutError) as error:
        raise _os_error(error) from error


def _undecodable(error: Exception) -> dict[str, Any]:
    """Return the Status for an event that cannot be decoded (client-go: rest/watch, ClientWatchDecoding)."""
    text = f"unable to decode an event from the watch stream: {error}"
    return {
        "apiVersion": "v1",
        "kind": "Status",
        "metadata": {},
        "status": "Failure",
        "message": f"an error on the server ({_quoted(text)}) has prevented the request from succeeding",
        "reason": "InternalError",
        "details": {
            "causes": [
                {"reason": "UnexpectedServerResponse", "message": text},
                {"reason": "ClientWatchDecoding"},
            ]
        },
        "code": 500,
    }


def _quoted(text: str) -> str:
    """Quote a string as Go's %q does."""
    return orjson.dumps(text).decode()


def _retry_after(response: aiohttp.ClientResponse) -> float | None:
    """Return the seconds to wait before a retry; None if the answer is final."""
    text = response.headers.get("Retry-After", "")
    if (response.status == 429 or response.status >= 500) and text.isdigit():
        return float(text)
    return None


def _decode(raw: bytes, headers: Headers) -> Any:
    if not raw:
        return None
    if _JSON in headers.get("Content-Type", _JSON):
        try:
            return orjson.loads(raw)
        except orjson.JSONDecodeError:
            pass
    return raw.decode(errors="replace")


def _os_error(error: Exception) -> OSError:
    """Convert an exception of aiohttp into the corresponding OSError."""
    inner = getattr(error, "os_error", None)
    for found in (inner, error.__cause__, error.__context__):
        if isinstance(found, ConnectionRefusedError | ConnectionResetError):
            return type(found)(found.errno, str(error)) if found.errno else type(found)(str(error))
    if isinstance(error, aiohttp.ServerDisconnectedError | aiohttp.ClientPayloadError):
        return ConnectionResetError(str(error))
    return error if isinstance(error, OSError) else OSError(str(error))
