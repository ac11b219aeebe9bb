"""One running API server: the core with a clock, chance and a log, and the waiting that its requests and watches do."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Protocol

from fakekube.chance import Chance
from fakekube.clock import Clock
from fakekube.core import requestlog
from fakekube.core.apiserver import ApiServer, refusal
from fakekube.core.authentication import ANONYMOUS, User
from fakekube.core.call import Delay, Need, Reply
from fakekube.core.crd import COLLECTION as DEFINITIONS
from fakekube.core.request import Request, RequestInfo, parse
from fakekube.core.requestlog import RequestLog, RequestRecord
from fakekube.core.response import Response
from fakekube.core.status import StatusError, internal_error
from fakekube.core.store import Change
from fakekube.core.watch import BOOKMARK_BEFORE_END, BOOKMARK_FREQUENCY, Watch, WatchEvent
from fakekube.webhookclient import WebhookClient

log = logging.getLogger(__name__)

#: The header by which an in-process client says which reconcile makes a request.
TRACE_HEADER = "x-fakekube-trace"


@dataclass(frozen=True, slots=True)
class RequestStamp:
    """The time and the chance of one request (`core.call.Stamp`)."""

    clock: Clock
    chance: Chance

    @property
    def now(self) -> str:
        return self.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")

    @property
    def micro(self) -> str:
        return self.clock.now().strftime("%Y-%m-%dT%H:%M:%S.%fZ")

    def after(self, seconds: float) -> str:
        try:
            moment = self.clock.now() + timedelta(seconds=seconds)
        except OverflowError:  # a grace period of more than some thousand years
            moment = datetime.max
        return moment.strftime("%Y-%m-%dT%H:%M:%SZ")

    def uid(self, key: str) -> str:
        return self.chance.uid(key)

    def suffix(self, key: str) -> str:
        return self.chance.suffix(key)

    def fraction(self, purpose: str, key: str) -> float:
        return self.chance.fraction(purpose, key)


class Rounds(Protocol):
    """Times at which watches stand still (`virtualtime.gate.Gate`)."""

    in_round: bool

    def when_round_ends(self, callback: Callable[[], None]) -> None:
        """Call `callback` once, when the round is over."""


class WouldWait(Exception):
    """A request that was to be answered at once needs time first."""


class ControlPlane:
    """Answers requests and feeds watches, whichever way they come in.

    `log` has every answered request. `on_write` listeners hear of each change after it is stored.
    """

    def __init__(
        self,
        core: ApiServer,
        clock: Clock,
        chance: Chance,
        *,
        tokens: Mapping[str, User] | None = None,
        log: RequestLog | None = None,
        rounds: Rounds | None = None,
    ) -> None:
        """`rounds`: while one lasts, watches tell nothing."""
        self.core, self.clock, self._rounds = core, clock, rounds
        self.log = log if log is not None else RequestLog()
        self.watches: dict[Watch, None] = {}
        core.tokens = tokens or {}
        self.webhooks = WebhookClient()
        self._stamp = RequestStamp(clock, chance)
        self._listeners: list[Callable[[Change], None]] = []
        self._request_listeners: list[Callable[[RequestRecord], None]] = []
        self._waiting: dict[str, list[asyncio.Future[None]]] = {}
        self._idle: list[asyncio.Future[None]] = []
        self._generation = 0
        core.on_commit = self._committed

    def __repr__(self) -> str:
        store = self.core.store
        return f"<ControlPlane rev={store.revision} objects={store.size()} watches={len(self.watches)}>"

    # --- requests --------------------------------------------------------------------------------------------------

    def authenticate(self, authorization: str | None) -> User:
        """The user of an Authorization header. Raises 401."""
        return self.core.user_of(authorization, self._stamp.now) if authorization else ANONYMOUS

    async def answer(self, request: Request) -> Response:
        """Answer a request; waits only for what the request itself must wait for (injected latency, webhooks)."""
        info = parse(request)
        try:
            request = self._acting(request, info)
            step = self.core.answer(request, info, request.user, self._stamp)
            need = next(step)
            while True:
                need = step.send(await self._met(need))
        except StopIteration as end:
            return self._logged(request, info, end.value)
        except StatusError as error:
            return self._logged(request, info, refusal(error, request))
        except Exception as error:  # a request becomes a response, whatever happens
            return self._logged(request, info, _failed(request, error))

    async def _met(self, need: Need) -> Sequence[Reply]:
        """What the core has asked for; for a delay, nothing."""
        if isinstance(need, Delay):
            await self.clock.sleep_until(self.clock.monotonic() + need.seconds)
            return ()
        return await asyncio.gather(*(self.webhooks.post(post) for post in need.posts))

    def answer_now(self, request: Request) -> Response:
        """Answer without waiting. Raises WouldWait where that cannot be."""
        info = parse(request)
        try:
            request = self._acting(request, info)
            step = self.core.answer(request, info, request.user, self._stamp)
            next(step)
        except StopIteration as end:
            return self._logged(request, info, end.value)
        except StatusError as error:
            return self._logged(request, info, refusal(error, request))
        except Exception as error:  # a request becomes a response, whatever happens
            return self._logged(request, info, _failed(request, error))
        step.close()
        raise WouldWait(f"{request.method} {request.path} needs time before it can be answered")

    def _acting(self, request: Request, info: RequestInfo) -> Request:
        """The request, as of the user as whom it acts. Raises 400, 403."""
        if not any(name.startswith("impersonate-") for name in request.headers):
            return request
        return replace(request, user=self.core.impersonation.effective(request, info))

    def refuse(self, request: Request, error: StatusError) -> Response:
        """The answer to a request that is turned down before anybody looks at it."""
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
            self.core.store.revision,
            request.headers.get(TRACE_HEADER, ""),
        )
        self.log.append(record)
        for listener in self._request_listeners:
            listener(record)
        return response

    def on_request(self, listener: Callable[[RequestRecord], None]) -> Callable[[], None]:
        """Call `listener` with the record of each answered request; returns what ends that."""
        self._request_listeners.append(listener)
        return lambda: self._request_listeners.remove(listener)

    # --- writes are heard of ---------------------------------------------------------------------------------------

    def on_write(self, listener: Callable[[Change], None]) -> Callable[[], None]:
        """Call `listener` with every change; returns what ends that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def _committed(self, change: Change) -> None:
        for listener in self._listeners:
            listener(change)
        waiting = self._waiting.pop(change.collection, None)
        if change.collection == DEFINITIONS:
            waiting = [*(waiting or ()), *self._waiting.pop(change.path, ())]
        if waiting:
            _wake(waiting)
        if self._idle:
            idle, self._idle = self._idle, []
            _wake(idle)

    # --- watches ---------------------------------------------------------------------------------------------------

    async def stream(self, watch: Watch) -> AsyncIterator[Sequence[WatchEvent | StatusError]]:
        """The events of a watch, in batches, until its time is up; a StatusError is the last thing that it says."""
        generation = self._generation
        start = asyncio.get_running_loop().time()
        deadline = start + watch.timeout
        bookmark_at = min(start + BOOKMARK_FREQUENCY, max(deadline - BOOKMARK_BEFORE_END, start))
        self.watches[watch] = None
        try:
            if watch.refused is not None:
                raise watch.refused
            await self._rest()
            if watch.initial:
                initial, watch.initial = watch.initial, []
                yield initial
                del initial  # it may be long, and this lives as long as the watch
            while generation == self._generation:
                await self._rest()
                events = watch.read()
                if events:
                    yield events
                    continue
                now = asyncio.get_running_loop().time()
                if now >= deadline or watch.over():
                    return
                if watch.bookmarks and now >= bookmark_at:
                    if watch.moved or bookmark_at + BOOKMARK_FREQUENCY > deadline:
                        yield [watch.bookmark()]
                    bookmark_at = _next_bookmark(bookmark_at, now, deadline)
                    continue
                await self._something(watch, deadline, bookmark_at)
        except StatusError as error:
            yield [error]
        finally:
            self.watches.pop(watch, None)

    async def _rest(self) -> None:
        """Wait until no round lasts."""
        rounds = self._rounds
        while rounds is not None and rounds.in_round:
            over = asyncio.get_running_loop().create_future()
            rounds.when_round_ends(partial(_wake, [over]))
            await over

    async def _something(self, watch: Watch, deadline: float, bookmark_at: float) -> None:
        """Wait for a write to the watch's collection, for its next bookmark, or for its end.

        A bookmark that would say nothing new is not waited for: the first write to any collection makes it due again.
        """
        loop = asyncio.get_running_loop()
        wake = loop.create_future()
        last = bookmark_at + BOOKMARK_FREQUENCY > deadline
        until = deadline
        if watch.bookmarks:
            if watch.moved or last:
                until = min(until, bookmark_at)
            else:
                self._idle.append(wake)
        waiting = self._waiting.setdefault(watch.collection, [])
        waiting.append(wake)
        timer = loop.call_at(until, _wake, [wake])
        try:
            await wake
        finally:
            timer.cancel()
            _forget(self._waiting.get(watch.collection), wake)
            _forget(self._idle, wake)

    def end_watches(self) -> None:
        """End every open stream, as a server does that stops or restarts. Clients may watch again."""
        self._generation += 1
        waiting, self._waiting = self._waiting, {}
        for futures in waiting.values():
            _wake(futures)


def _failed(request: Request, error: Exception) -> Response:
    """500, as the real server answers when it panics; the traceback goes to the log."""
    log.error("request failed", exc_info=error, extra={"method": request.method, "path": request.path})
    return refusal(internal_error(f"{type(error).__name__}: {error}"), request)


def _wake(waiting: list[asyncio.Future[None]]) -> None:
    for future in waiting:
        if not future.done():
            future.set_result(None)


def _forget(waiting: list[asyncio.Future[None]] | None, future: asyncio.Future[None]) -> None:
    if waiting and future in waiting:
        waiting.remove(future)


def _next_bookmark(previous: float, now: float, deadline: float) -> float:
    following = previous + BOOKMARK_FREQUENCY
    if following <= now:
        following = now + BOOKMARK_FREQUENCY
    before_end = deadline - BOOKMARK_BEFORE_END
    return min(following, before_end) if before_end > now else following
