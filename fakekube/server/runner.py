"""A running API server: an ApiServer with a clock, randomness, a request log and open watches.

The runner does the waiting: it calls webhooks, sleeps for injected delays, and streams events to watches.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from fakekube.apiserver import features, requestlog
from fakekube.apiserver.apiserver import ApiServer, ServerState, plain_response, refusal
from fakekube.apiserver.auth import authenticationinfo
from fakekube.apiserver.call import Step
from fakekube.apiserver.endpoints import unchecked
from fakekube.apiserver.faults import Fault
from fakekube.apiserver.flowcontrol import Classifier
from fakekube.apiserver.needs import Abandoned, Delay, Forward, Forwarded, Need, Reply
from fakekube.apiserver.requestlog import RequestLog, RequestRecord
from fakekube.apiserver.resource import Object, Resource
from fakekube.apiserver.response import Response, outcome
from fakekube.apiserver.serviceresolver import resolve
from fakekube.apiserver.storage.compaction import Compactor
from fakekube.apiserver.storage.store import Change, Entry
from fakekube.apiserver.storage.watch import Watch, WatchEvent
from fakekube.apiserver.user import ANONYMOUS, User
from fakekube.apiserver.wire.request import Request, RequestInfo, parse
from fakekube.apiserver.wire.status import PlainAnswer, StatusError, internal_error, unauthorized
from fakekube.server.clients import ClientProcess, Interception, Processes
from fakekube.server.logstreams import LogStreams
from fakekube.server.random import Random
from fakekube.server.servercontext import ServerContext
from fakekube.server.systemclock import Clock
from fakekube.server.watchstreams import Rounds, WatchStreams
from fakekube.server.webhookclient import WebhookClient

if TYPE_CHECKING:
    from fakekube.apiserver.auth.clientcertificate import ClientCertificate
    from fakekube.server.availability import AvailabilityChecks
    from fakekube.server.controldoor import Control
    from fakekube.server.proxyclient import ProxyClient

log: logging.Logger = logging.getLogger(__name__)

T = TypeVar("T")

AnswerListener = Callable[[Request, RequestInfo, Response, RequestRecord], None]

#: The header in which an in-process client sends the ID of the reconcile that makes the request.
TRACE_HEADER = "x-fakekube-trace"


class WouldWait(Exception):
    """The request cannot complete synchronously."""


class ServerStopped(Exception):
    """The server stops while a request waits, which is not answered."""


class Suspended(NamedTuple):
    """A request that waits for a need; `ServerRunner.complete` resumes it."""

    request: Request
    info: RequestInfo
    step: Step
    need: Need
    client: ClientProcess | None = None
    began: float = 0.0
    """When the server began to process it."""

    def abandon(self) -> None:
        """Abandon the request. It changes nothing and does not count for faults."""
        with suppress(Abandoned):
            self.step.throw(Abandoned())


class ServerRunner:
    """Answers requests and streams watches, for every transport.

    `log` records every answered request. `on_write` listeners are called with each change after it is stored.
    """

    clock: Clock
    apiserver: ApiServer

    def __init__(
        self,
        apiserver: ApiServer,
        clock: Clock,
        random: Random,
        *,
        tokens: Mapping[str, User] | None = None,
        log: RequestLog | None = None,
        rounds: Rounds | None = None,
        spawn: Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]] | None = None,
    ) -> None:
        """`rounds`: watches deliver no events during a round. `spawn` starts a task (None: on the running loop)."""
        self.apiserver, self.clock = apiserver, clock
        self.log: RequestLog = log if log is not None else RequestLog()
        apiserver.tokens = {} if tokens is None else tokens
        self.webhooks: WebhookClient = WebhookClient(partial(resolve, apiserver.store))
        self._context = ServerContext(clock, random)
        self._proxy: ProxyClient | None = None
        self._checks: AvailabilityChecks | None = None
        self._spawn = spawn if spawn is not None else _spawned
        apiserver.controllers.on_unchecked = self._unchecked
        apiserver.controllers.is_mapped = self.webhooks.is_mapped
        self._listeners: list[Callable[[Change], None]] = []
        self._request_listeners: list[Callable[[RequestRecord], None]] = []
        self._answer_listeners: list[AnswerListener] = []
        self.interception: Interception | None = None
        self.streams: WatchStreams = WatchStreams(apiserver.store, clock, rounds, self._run)
        self._logs = LogStreams(apiserver.store, lambda: self.clock, self.on_write)
        self.processes: Processes | None = None
        """The simulated processes whose requests are answered (None: clients are not distinguished)."""
        self._waiting: dict[asyncio.Future[Any], None] = {}
        self.suspended: list[RequestInfo] = []  # the requests that wait at this moment
        self.is_down: bool = False
        """Whether the server is stopped: connections to it are refused."""
        self._answering: tuple[RequestInfo, ClientProcess | None] | None = None
        self.serials: Iterator[int] = itertools.count(1)
        """The numbers that order requests and what listeners record."""
        self.control: Control | None = None
        """Answers the requests for the control API; None: there is none."""
        self.restored: list[Callable[[], None]] = []  # called when a saved state was restored
        self.began: float = 0.0
        """When the request began that is answered at this moment; for listeners."""
        self._compactor = Compactor(apiserver.store, clock.monotonic())
        apiserver.on_commit = self._committed
        apiserver.on_release = self.streams.wake_all

    def __repr__(self) -> str:
        store = self.apiserver.store
        return f"<ServerRunner rev={store.revision} objects={store.size()} watches={len(self.watches)}>"

    # --- requests --------------------------------------------------------------------------------------------------

    def authenticate(self, authorization: str | None, certificate: ClientCertificate | None = None) -> User:
        """The user of a client certificate, else that of the Authorization header. Raises 401 if neither is valid."""
        valid = certificate is None or certificate.is_valid(self.clock.now())
        if valid and certificate is not None and certificate.user is not None:
            return certificate.user
        user = self.apiserver.user_of(authorization, self._context) if authorization else ANONYMOUS
        if user is ANONYMOUS and not valid:
            raise unauthorized()
        return user

    async def answer(self, request: Request) -> Response:
        """Answer a request. Waits only for the needs of the request (webhooks, injected delays)."""
        found = self.begin(request)
        return found if isinstance(found, Response) else await self.complete(found)

    def begin(self, request: Request, client: ClientProcess | None = None) -> Response | Suspended:
        """Run a request of a client until it is answered or has to wait."""
        info = parse(request)
        began = self.began = self.clock.monotonic()
        if info.verb != "get":  # a GET neither changes the revision nor reads an old one
            self._compactor.observe(began)
        outer, self._answering = self._answering, (info, client)
        version = features.use(self.apiserver.features)
        try:
            request = self._impersonated(request, info)
            step = self.apiserver.answer(request, info, request.user, self._context)
            return Suspended(request, info, step, next(step), client)
        except StopIteration as end:
            end.value.flow = (request.user, info)
            return self._logged(request, info, end.value, client)
        except Exception as error:  # a request becomes a response, whatever happens
            return self._logged(request, info, _failed(request, error), client)
        finally:
            features.leave(version)
            self._answering = outer

    async def complete(self, suspended: Suspended) -> Response:
        """Resume a suspended request until it is answered."""
        request, info, step, need, client, began = suspended
        self.suspended.append(info)
        try:
            response = await self._resumed(step, need, (info, client))
        except ServerStopped:
            suspended.abandon()
            response = Response(reset=True)
        except Exception as error:  # a request becomes a response, whatever happens
            response = _failed(request, error)
        finally:
            self.suspended.remove(info)
        if client is not None and client.fenced:
            response = Response(reset=True)
        response.flow, self.began = (request.user, info), began
        return self._logged(request, info, response, client)

    async def _resumed(
        self,
        step: Generator[Need, Any, T],
        need: Need,
        answering: tuple[RequestInfo, ClientProcess | None] | None = None,
    ) -> T:
        """Run a generator that waits for `need` to its end. Returns what it returns, and raises what it raises."""
        try:
            while True:
                fulfilled = await self._fulfilled_in_task(need)
                outer, self._answering = self._answering, answering
                version = features.use(self.apiserver.features)
                try:
                    need = step.send(fulfilled)
                finally:
                    features.leave(version)
                    self._answering = outer
        except StopIteration as end:
            result: T = end.value
            return result

    def _choose(self, request: Request, info: RequestInfo) -> Fault | None:
        """What the interception lets happen to a request."""
        if self.interception is None:
            return None
        return self.interception.before_request(request, info, self.client)

    @property
    def answering(self) -> RequestInfo | None:
        """The request that runs at this moment: that of a change which is committed, or of a record."""
        return self._answering[0] if self._answering is not None else None

    @property
    def exchange(self) -> tuple[RequestInfo, ClientProcess | None] | None:
        """The request that runs at this moment, and the process that made it; the same value for all of its time."""
        return self._answering

    @property
    def client(self) -> ClientProcess | None:
        """The process that made the request which runs at this moment, if it is one of the bubble."""
        return self._answering[1] if self._answering is not None else None

    @property
    def proxy(self) -> ProxyClient:
        """The client of aggregated API servers, created on first use."""
        if self._proxy is None:
            from fakekube.server.proxyclient import ProxyClient

            self._proxy = ProxyClient(self.webhooks.base_url, self.webhooks.limit)
        return self._proxy

    def publish_authentication(self, client_ca: str = "") -> None:
        """Publish how requests of the front proxy, and of clients with certificates (PEM), are authenticated."""
        proxy = self.proxy.front_proxy
        data = authenticationinfo.request_header(proxy.ca, proxy.NAME)
        self.apiserver.controllers.publish(
            {**data, **({"client-ca-file": client_ca} if client_ca else {})}, self._context
        )

    def _unchecked(self, name: str) -> None:
        """Check an APIService whose server may have become available."""
        if self._checks is None:
            from fakekube.server.availability import AvailabilityChecks

            self._checks = AvailabilityChecks(self.apiserver, self.proxy, self._context, self._spawn)
        self._checks.mark(name)

    async def check(self, name: str) -> None:
        """Check now whether the server of an APIService is available, and what it serves."""
        self._unchecked(name)
        assert self._checks is not None, "made by what comes before"
        await self._checks.checked(name)

    async def aclose(self) -> None:
        """End the tasks of the server. It can be used further; changes of APIServices start them again."""
        if self._checks is not None:
            await self._checks.aclose()

    async def _fulfilled_in_task(self, need: Need) -> Sequence[Reply] | Forwarded:
        """Fulfil a need in a task of the server, not of the client. Raises ServerStopped."""
        if isinstance(need, Forward):
            return await self._fulfilled(need)
        outcome: asyncio.Future[Sequence[Reply] | Forwarded] = asyncio.get_running_loop().create_future()

        async def fulfil() -> None:
            try:
                result = await self._fulfilled(need)
            except Exception as error:  # raised where the request waits
                if not outcome.done():
                    outcome.set_exception(error)
            else:
                if not outcome.done():
                    outcome.set_result(result)

        self._waiting[outcome] = None
        task = self._spawn(fulfil())
        try:
            return await outcome
        finally:
            del self._waiting[outcome]
            task.cancel()

    async def pause(self) -> None:
        """Let other requests run, between two parts of long work."""
        await self.clock.sleep_until(self.clock.monotonic())

    async def _fulfilled(self, need: Need) -> Sequence[Reply] | Forwarded:
        """Fulfil a need. Returns the replies of webhooks, or of an aggregated API server; a delay has none."""
        if isinstance(need, Delay):
            await self.clock.sleep_until(self.clock.monotonic() + need.seconds)
            return ()
        if isinstance(need, Forward):
            return await self.proxy.send(need)
        faults = self.apiserver.faults
        return await asyncio.gather(*(self.webhooks.reply(post, faults, self.clock) for post in need.posts))

    async def _run(self, step: Generator[Need, Any, T]) -> T:
        """Run a generator of needs to its end. Raises StatusError."""
        try:
            need = next(step)
        except StopIteration as end:
            result: T = end.value
            return result
        return await self._resumed(step, need)

    def _impersonated(self, request: Request, info: RequestInfo) -> Request:
        """The request with its effective user, who may be impersonated. Raises 400, 403."""
        for name in request.headers:
            if name.startswith("impersonate-"):
                return request._replace(user=self.apiserver.impersonation.effective(request, info))
        return request

    def flow_headers(self, response: Response) -> Mapping[str, str]:
        """The headers with the FlowSchema and the priority level of an answered request, which is counted."""
        if response.flow is None:
            return {}
        return self.apiserver.store.derived(Classifier).dispatch(*response.flow)

    def refuse(self, request: Request, error: StatusError) -> Response:
        """The response to a request that is rejected before it is processed."""
        return self._logged(request, parse(request), refusal(error, request))

    def _logged(
        self, request: Request, info: RequestInfo, response: Response, client: ClientProcess | None = None
    ) -> Response:
        if self.interception is not None:
            response = self.interception.answered(request, info, client, response)
        name, reason, message = outcome(response) if response.status != 200 else ("", "", "")
        if info.verb == "create" and not info.name and (response.status >= 400 or response.reset):
            name = requestlog.name_in(request.body) or name
        if response.followed is not None:
            response.stream = self._logs.stream(response.followed)
        if response.watch is not None:
            response.watch.client = (request.user_agent, client)
            if self.interception is not None:
                self.interception.watching(response.watch, request.user_agent, client)
        record = requestlog.record(
            self.clock.monotonic(),
            info,
            request.user.name,
            request.user_agent,
            response.status if not response.reset else 0,
            self.apiserver.store.revision,
            name=name,
            reason=reason,
            message=message,
            trace=request.headers.get(TRACE_HEADER, ""),
            serial=next(self.serials),
        )
        self.log.append(record)
        outer, self._answering = self._answering, (info, client)
        for listener in self._request_listeners:
            listener(record)
        for observe in self._answer_listeners:
            observe(request, info, response, record)
        self._answering = outer
        return response

    def on_request(self, listener: Callable[[RequestRecord], None]) -> Callable[[], None]:
        """Call `listener` with the record of each answered request. Returns a function that removes the listener."""
        self._request_listeners.append(listener)
        return partial(_forget, self._request_listeners, listener)

    def on_answer(self, listener: AnswerListener) -> Callable[[], None]:
        """Call `listener` with each answered request, its response and its record. Returns what removes it."""
        self._answer_listeners.append(listener)
        return partial(_forget, self._answer_listeners, listener)

    def retire(self) -> None:
        """Remove all listeners and break reference cycles so that the server is freed at once."""
        for listeners in (self._listeners, self._request_listeners, self._answer_listeners, self.restored):
            listeners.clear()
        self.apiserver.retire()
        self.streams.retire()
        self._logs.retire()

    # --- saved states -----------------------------------------------------------------------------------------------

    def restore(self, state: ServerState, *, after: int | None = None) -> None:
        """Return to a saved state and end all watches, as a restart from a backup does (`after`: `Store.restore`)."""
        self.apiserver.restore(state, after=after)
        self._compactor.begin(self.clock.monotonic())
        for follow in self.restored:
            follow()
        self.end_watches()

    def write_unchecked(self, resource: Resource, obj: Object) -> Entry:
        """Store an object without admission and validation. Raises StatusError, WrongType if it cannot be decoded."""
        return unchecked.write(self.apiserver, resource, obj, self._context)

    # --- notification of writes -------------------------------------------------------------------------------------

    def on_write(self, listener: Callable[[Change], None]) -> Callable[[], None]:
        """Call `listener` with every change. Returns a function that removes the listener."""
        self._listeners.append(listener)
        return partial(_forget, self._listeners, listener)

    async def events_sent(self) -> None:
        """Wait until the watches that the last write has woken have sent its events.

        An event reaches watchers no later than the answer the writer, as on a real server: controllers compare the two.
        """
        await self.streams.events_sent()

    def _committed(self, change: Change) -> None:
        for listener in self._listeners:
            listener(change)
        if self.interception is not None:
            info, client = self._answering if self._answering is not None else (None, None)
            self.interception.committed(change, info, client)
        self.streams.committed(change)

    # --- watches ---------------------------------------------------------------------------------------------------

    @property
    def watches(self) -> Mapping[Watch, object]:
        """The open watches."""
        return self.streams.open

    def stream(self, watch: Watch) -> AsyncIterator[Sequence[WatchEvent | StatusError]]:
        """The events of a watch in batches until its timeout. A StatusError, if any, is the last item.

        Raises ConnectionResetError if a fault breaks the connection.
        """
        return self.streams.stream(watch)

    def silence(self, client: Any, server: Any, seconds: float) -> Coroutine[Any, Any, None]:
        """Waits for so long that a client, which sends nothing, waits itself: for some seconds, or in real time if it
        is in another process. `client`, `server`: the addresses of the connection."""
        outside = self.processes.real_silence(client, server) if self.processes is not None else None
        return outside or self.clock.sleep_until(self.clock.monotonic() + seconds)

    def use_clock(self, clock: Clock) -> None:
        """Read the time of later requests from another clock, whose monotonic time is the same."""
        self.clock, self._context = clock, ServerContext(clock, self._context.random)

    def intercept(self, interception: Interception | None) -> None:
        """Set what a harness observes and decides (None: nothing)."""
        self.interception = self.streams.interception = interception
        self.apiserver.faults.choose = None if interception is None else self._choose

    @property
    def woken(self) -> bool:
        """Whether a write has woken watches for which `events_sent` has not waited."""
        return self.streams.woken

    def stop_serving(self) -> None:
        """Stop the server: connections are refused, watches end, and requests that wait are not answered."""
        self.is_down = True
        self.end_watches()
        for waiting in self._waiting:
            if not waiting.done():
                waiting.set_exception(ServerStopped())

    def serve_again(self) -> None:
        """Start the server again with the same stored objects; its watch cache begins at the present revision."""
        self.is_down = False
        self.apiserver.store.watch_floor = self.apiserver.store.revision

    def end_watches(self) -> None:
        """End every open watch and followed log, as a restarting server does. Clients can watch again."""
        self.streams.end()
        self._logs.end()


def _failed(request: Request, error: Exception) -> Response:
    """The response to a failed request. An error other than a StatusError is logged and answered with 500."""
    if isinstance(error, StatusError):
        return refusal(error, request)
    if isinstance(error, PlainAnswer):
        return plain_response(error)
    log.error("request failed", exc_info=error, extra={"method": request.method, "path": request.path})
    return refusal(internal_error(f"{type(error).__name__}: {error}"), request)


def _spawned(work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    return asyncio.get_running_loop().create_task(work)


def _forget(listeners: list[T], listener: T) -> None:
    if listener in listeners:  # `retire` has removed it, too
        listeners.remove(listener)
