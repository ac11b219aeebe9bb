"""A running API server: an ApiServer with a clock, randomness, a request log and open watches.

The runner does the waiting: it calls webhooks, sleeps for injected delays, and streams events to watches.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from fakekube.apiserver import requestlog
from fakekube.apiserver.apiserver import ApiServer, refusal
from fakekube.apiserver.auth import authenticationinfo
from fakekube.apiserver.call import Step
from fakekube.apiserver.crd import COLLECTION as DEFINITIONS
from fakekube.apiserver.flowcontrol import Classifier
from fakekube.apiserver.needs import Abandoned, Delay, Forward, Forwarded, Need, Reply
from fakekube.apiserver.requestlog import RequestLog, RequestRecord
from fakekube.apiserver.response import Response
from fakekube.apiserver.serviceresolver import resolve
from fakekube.apiserver.storage.compaction import Compactor
from fakekube.apiserver.storage.store import Change
from fakekube.apiserver.storage.watch import BOOKMARK_BEFORE_END, BOOKMARK_FREQUENCY, Watch, WatchEvent
from fakekube.apiserver.user import ANONYMOUS, User
from fakekube.apiserver.wire.request import Request, RequestInfo, parse
from fakekube.apiserver.wire.status import StatusError, internal_error, unauthorized
from fakekube.server.random import Random
from fakekube.server.systemclock import Clock
from fakekube.server.webhookclient import WebhookClient

if TYPE_CHECKING:
    from fakekube.apiserver.auth.clientcertificate import ClientCertificate
    from fakekube.server.availability import AvailabilityChecks
    from fakekube.server.proxyclient import ProxyClient

log: logging.Logger = logging.getLogger(__name__)

T = TypeVar("T")

AnswerListener = Callable[[Request, RequestInfo, Response, RequestRecord], None]

#: The header in which an in-process client sends the ID of the reconcile that makes the request.
TRACE_HEADER = "x-fakekube-trace"


@lru_cache(maxsize=4)
def _in_seconds(moment: datetime) -> str:
    """A time in seconds (RFC 3339). A write reads its time twice, and virtual time stands still between writes."""
    return f"{moment.isoformat()[:19]}Z"  # faster than strftime


@dataclass(frozen=True, slots=True)
class ServerContext:
    """Time and randomness of requests; implements `apiserver.call.RequestContext`."""

    clock: Clock
    random: Random

    @property
    def now(self) -> str:
        return _in_seconds(self.clock.now())

    @property
    def micro(self) -> str:
        return self.clock.now().strftime("%Y-%m-%dT%H:%M:%S.%fZ")

    def after(self, seconds: float) -> str:
        try:
            moment = self.clock.now() + timedelta(seconds=seconds)
        except OverflowError:  # a grace period of thousands of years
            moment = datetime.max
        return moment.strftime("%Y-%m-%dT%H:%M:%SZ")

    def uid(self, key: str) -> str:
        return self.random.uid(key)

    def suffix(self, key: str) -> str:
        return self.random.suffix(key)

    def fraction(self, purpose: str, key: str) -> float:
        return self.random.fraction(purpose, key)


class Rounds(Protocol):
    """Periods in which watch delivery is paused (`virtualtime.gate.Gate`)."""

    in_round: bool

    def when_round_ends(self, callback: Callable[[], None]) -> None:
        """Call `callback` once at the end of the current round."""


class WouldWait(Exception):
    """The request cannot complete synchronously."""


class Suspended(NamedTuple):
    """A request that waits for a need; `ServerRunner.complete` resumes it."""

    request: Request
    info: RequestInfo
    step: Step
    need: Need

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
        self.apiserver, self.clock, self._rounds = apiserver, clock, rounds
        self.log: RequestLog = log if log is not None else RequestLog()
        self.watches: dict[Watch, None] = {}
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
        self._waiters: dict[str, dict[_Waiter, None]] = {}
        self._idle: dict[_Waiter, None] = {}
        self.woken: bool = False
        """Whether a write has woken watches for which `events_sent` has not waited."""
        self._generation = 0
        self._compactor = Compactor(apiserver.store, clock.monotonic())
        apiserver.on_commit = self._committed

    def __repr__(self) -> str:
        store = self.apiserver.store
        return f"<ServerRunner rev={store.revision} objects={store.size()} watches={len(self.watches)}>"

    # --- requests --------------------------------------------------------------------------------------------------

    def authenticate(self, authorization: str | None, certificate: ClientCertificate | None = None) -> User:
        """The user of a client certificate, else that of the Authorization header. Raises 401 if neither is valid."""
        valid = certificate is None or certificate.is_valid(self.clock.now())
        if valid and certificate is not None and certificate.user is not None:
            return certificate.user
        user = self.apiserver.user_of(authorization, self._context.now) if authorization else ANONYMOUS
        if user is ANONYMOUS and not valid:
            raise unauthorized()
        return user

    async def answer(self, request: Request) -> Response:
        """Answer a request. Waits only for the needs of the request (webhooks, injected delays)."""
        found = self.begin(request)
        return found if isinstance(found, Response) else await self.complete(found)

    def begin(self, request: Request) -> Response | Suspended:
        """Run a request until it is answered or has to wait."""
        info = parse(request)
        if info.verb != "get":  # a GET neither changes the revision nor reads an old one
            self._compactor.observe(self.clock.monotonic())
        try:
            request = self._impersonated(request, info)
            step = self.apiserver.answer(request, info, request.user, self._context)
            return Suspended(request, info, step, next(step))
        except StopIteration as end:
            end.value.flow = (request.user, info)
            return self._logged(request, info, end.value)
        except Exception as error:  # a request becomes a response, whatever happens
            return self._logged(request, info, _failed(request, error))

    async def complete(self, suspended: Suspended) -> Response:
        """Resume a suspended request until it is answered."""
        request, info, step, need = suspended
        try:
            response = await self._resumed(step, need)
        except Exception as error:  # a request becomes a response, whatever happens
            response = _failed(request, error)
        response.flow = (request.user, info)
        return self._logged(request, info, response)

    async def _resumed(self, step: Generator[Need, Any, T], need: Need) -> T:
        """Run a generator that waits for `need` to its end. Returns what it returns, and raises what it raises."""
        try:
            while True:
                need = step.send(await self._fulfilled(need))
        except StopIteration as end:
            result: T = end.value
            return result

    @property
    def proxy(self) -> ProxyClient:
        """The client of aggregated API servers, created on first use."""
        if self._proxy is None:
            from fakekube.server.proxyclient import ProxyClient

            self._proxy = ProxyClient(self.webhooks.base_url)
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

    async def aclose(self) -> None:
        """End the tasks of the server. It can be used further; changes of APIServices start them again."""
        if self._checks is not None:
            await self._checks.aclose()

    async def _fulfilled(self, need: Need) -> Sequence[Reply] | Forwarded:
        """Fulfil a need. Returns the replies of webhooks, or of an aggregated API server; a delay has none."""
        if isinstance(need, Delay):
            await self.clock.sleep_until(self.clock.monotonic() + need.seconds)
            return ()
        if isinstance(need, Forward):
            return await self.proxy.send(need)
        return await asyncio.gather(*(self.webhooks.post(post) for post in need.posts))

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

    def _logged(self, request: Request, info: RequestInfo, response: Response) -> Response:
        body = response.body.to_object() if response.status >= 400 and response.body else None
        reason = body.get("reason", "") if isinstance(body, dict) else ""
        record = requestlog.record(
            self.clock.monotonic(),
            info,
            request.user.name,
            request.user_agent,
            response.status if not response.reset else 0,
            reason,
            self.apiserver.store.revision,
            request.headers.get(TRACE_HEADER, ""),
        )
        self.log.append(record)
        for listener in self._request_listeners:
            listener(record)
        for observe in self._answer_listeners:
            observe(request, info, response, record)
        return response

    def on_request(self, listener: Callable[[RequestRecord], None]) -> Callable[[], None]:
        """Call `listener` with the record of each answered request. Returns a function that removes the listener."""
        self._request_listeners.append(listener)
        return partial(_forget, self._request_listeners, listener)

    def on_answer(self, listener: AnswerListener) -> Callable[[], None]:
        """Call `listener` with each answered request, its response and its record. Returns a function that removes the
        listener."""
        self._answer_listeners.append(listener)
        return partial(_forget, self._answer_listeners, listener)

    def retire(self) -> None:
        """Remove all listeners and break reference cycles so that the server is freed at once."""
        self._listeners.clear()
        self._request_listeners.clear()
        self._answer_listeners.clear()
        self.apiserver.retire()

    # --- notification of writes -------------------------------------------------------------------------------------

    def on_write(self, listener: Callable[[Change], None]) -> Callable[[], None]:
        """Call `listener` with every change. Returns a function that removes the listener."""
        self._listeners.append(listener)
        return partial(_forget, self._listeners, listener)

    async def events_sent(self) -> None:
        """Wait until the watches that the last write has woken have sent its events.

        So an event reaches its watchers no later than the answer reaches the writer, as on a real server, where
        controllers compare the two.
        """
        if self.woken:
            self.woken = False
            await asyncio.sleep(0)  # noqa: TID251 - the streams are scheduled before this task

    def _committed(self, change: Change) -> None:
        for listener in self._listeners:
            listener(change)
        self._wake(self._waiters.get(change.collection))
        if change.collection == DEFINITIONS:
            self._wake(self._waiters.get(change.path))
        if self._idle:
            idle, self._idle = self._idle, {}
            self._wake(idle)

    def _wake(self, waiters: Mapping[_Waiter, None] | None) -> None:
        if waiters:
            self.woken = True
            for waiter in waiters:
                waiter.wake()

    # --- watches ---------------------------------------------------------------------------------------------------

    async def stream(self, watch: Watch) -> AsyncIterator[Sequence[WatchEvent | StatusError]]:
        """The events of a watch in batches until its timeout. A StatusError, if any, is the last item."""
        generation, loop = self._generation, asyncio.get_running_loop()
        waiter, start = _Waiter(loop), loop.time()
        deadline = start + watch.timeout
        bookmark_at = min(start + BOOKMARK_FREQUENCY, max(deadline - BOOKMARK_BEFORE_END, start))
        self.watches[watch] = None
        self._waiters.setdefault(watch.collection, {})[waiter] = None
        try:
            if watch.refused is not None:
                raise watch.refused
            await self._round_end(loop)
            if watch.initial:
                initial, watch.initial = watch.initial, []
                yield initial
                del initial  # free the list: the generator lives as long as the watch
            while generation == self._generation:
                await self._round_end(loop)
                events = watch.read() if watch.conversion is None else await self._run(watch.read_converted())
                if events:
                    yield events
                    continue
                now = loop.time()
                if now >= deadline or watch.over():
                    return
                if watch.bookmarks and now >= bookmark_at:
                    if watch.moved or bookmark_at + BOOKMARK_FREQUENCY > deadline:
                        yield [watch.bookmark()]
                    bookmark_at = _next_bookmark(bookmark_at, now, deadline)
                    continue
                await waiter.wait(self._until(watch, waiter, deadline, bookmark_at))
        except StatusError as error:
            yield [error]
        finally:
            waiter.close()
            self._waiters[watch.collection].pop(waiter, None)
            self._idle.pop(waiter, None)
            self.watches.pop(watch, None)

    async def _round_end(self, loop: asyncio.AbstractEventLoop) -> None:
        """Wait for the end of the current round, if any."""
        rounds = self._rounds
        while rounds is not None and rounds.in_round:
            over = loop.create_future()
            rounds.when_round_ends(partial(_resolve, over))
            await over

    def _until(self, watch: Watch, waiter: _Waiter, deadline: float, bookmark_at: float) -> float:
        """The time at which the stream wakes without a write: at its deadline or for its next bookmark.

        The stream does not wake for a bookmark without a new revision; the next write to any collection wakes it.
        """
        if not watch.bookmarks:
            return deadline
        if watch.moved or bookmark_at + BOOKMARK_FREQUENCY > deadline:
            return min(deadline, bookmark_at)
        self._idle[waiter] = None
        return deadline

    def end_watches(self) -> None:
        """End every open watch, as a restarting server does. Clients can watch again."""
        self._generation += 1
        for waiters in self._waiters.values():
            self._wake(waiters)


def _failed(request: Request, error: Exception) -> Response:
    """The response to a failed request. An error other than a StatusError is logged and answered with 500."""
    if isinstance(error, StatusError):
        return refusal(error, request)
    log.error("request failed", exc_info=error, extra={"method": request.method, "path": request.path})
    return refusal(internal_error(f"{type(error).__name__}: {error}"), request)


class _Waiter:
    """Waits for a write or a point in time. The timer is kept as long as that point stays the same."""

    __slots__ = ("_loop", "_timer", "_until", "_woken")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._until = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._woken: asyncio.Future[None] | None = None

    async def wait(self, until: float) -> None:
        """Wait until `wake` is called or the loop's time is `until`."""
        if self._timer is None or until != self._until:
            self.close()
            self._until, self._timer = until, self._loop.call_at(until, self._ring)
        self._woken = self._loop.create_future()
        try:
            await self._woken
        finally:
            self._woken = None

    def wake(self) -> None:
        if self._woken is not None and not self._woken.done():
            self._woken.set_result(None)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _ring(self) -> None:
        self._timer = None
        self.wake()


def _spawned(work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    return asyncio.get_running_loop().create_task(work)


def _forget(listeners: list[T], listener: T) -> None:
    if listener in listeners:  # `retire` has removed it, too
        listeners.remove(listener)


def _resolve(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def _next_bookmark(previous: float, now: float, deadline: float) -> float:
    following = previous + BOOKMARK_FREQUENCY
    if following <= now:
        following = now + BOOKMARK_FREQUENCY
    before_end = deadline - BOOKMARK_BEFORE_END
    return min(following, before_end) if before_end > now else following
