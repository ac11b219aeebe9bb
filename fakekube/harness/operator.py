"""An operator under test: a controllerlib Manager that runs in a cluster, and the questions that a test asks of it."""

from __future__ import annotations

import asyncio
import inspect
import warnings
from collections.abc import Awaitable, Callable, Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal

from controllerlib import Controller, Manager, Request
from controllerlib.observer import Observer
from controllerlib.workqueue import Cause, WorkQueue
from fakekube.apiserver.endpoints.discovery import Catalog
from fakekube.harness.arguments import key_of, seconds_of
from fakekube.harness.ledger import Ledger, Reconcile
from fakekube.server.direct import DirectTransport
from fakekube.virtualtime import Bubble, Seed

if TYPE_CHECKING:
    from controllerlib.client import HttpTransport

Build = Callable[[Manager], Any]
"""Adds controllers to a manager; what it returns is not looked at."""

Transport = Literal["direct", "memory", "tcp"]
"""How an operator reaches the server: by calls, over HTTP through a pipe, over HTTP through the kernel."""


class ControllerView:
    """One controller, as a test sees it. Keys are `namespace/name` (`name` of what is cluster-scoped)."""

    def __init__(self, controller: Controller, ledger: Ledger, now: Callable[[], float]) -> None:
        self._controller, self._ledger, self._now = controller, ledger, now

    @property
    def name(self) -> str:
        return self._controller.name

    def __repr__(self) -> str:
        return f"<ControllerView {self.name} reconciles={self.reconciles()}>"

    # --- the ledger ------------------------------------------------------------------------------------------------

    def history(self, key: str | Request | None = None) -> list[Reconcile]:
        """The finished reconciles, oldest first; of all keys where none is given. TypeError for what is no key."""
        return self._ledger.reconciles(self.name, None if key is None else key_of(key))

    def reconciles(self, key: str | Request | None = None) -> int:
        """How many reconciles have finished."""
        return len(self.history(key))

    def keys(self) -> list[str]:
        """The keys that were reconciled, in the order of their first time."""
        return list(dict.fromkeys(reconcile.key for reconcile in self.history()))

    def causes(self, key: str | Request | None = None) -> list[str]:
        """Why: for each reconcile the kinds of its causes (`added`; `updated+resync` where several came together)."""
        return [reconcile.cause for reconcile in self.history(key)]

    def times(self, key: str | Request | None = None) -> list[timedelta]:
        """When: virtual time from the first of these reconciles to each."""
        history = self.history(key)
        return [reconcile.started - history[0].started for reconcile in history]

    def results(self, key: str | Request | None = None) -> list[str]:
        """How they ended: `success`, `requeue_after`, `error`."""
        return [reconcile.label for reconcile in self.history(key)]

    def errors(self, key: str | Request | None = None) -> list[BaseException]:
        """What they raised, of those that raised."""
        return [reconcile.error for reconcile in self.history(key) if reconcile.error is not None]

    def last(self, key: str | Request | None = None) -> Reconcile:
        """The latest one. Raises LookupError where there is none."""
        history = self.history(key)
        if not history:
            raise LookupError(f"controller {self.name!r} has not reconciled {key or 'anything'} yet")
        return history[-1]

    # --- the queue -------------------------------------------------------------------------------------------------

    @property
    def ready(self) -> list[str]:
        """Keys that are due and wait for a worker."""
        queue = self._queue()
        return [str(request) for request in queue.ready()] if queue is not None else []

    @property
    def processing(self) -> list[str]:
        """Keys that workers have in hand."""
        queue = self._queue()
        return [str(request) for request in queue.processing()] if queue is not None else []

    @property
    def waiting(self) -> dict[str, timedelta]:
        """Keys that are due later, soonest first, with how long that is."""
        queue = self._queue()
        return {str(r): self._until(due) for r, due in queue.waiting().items()} if queue is not None else {}

    def next_due(self, key: str | Request) -> timedelta | None:
        """How long until the key is due: zero where it is due already, None where nothing is asked."""
        request, queue = Request.parse(key_of(key)), self._queue()
        if queue is None:
            return None
        if request in queue.ready():
            return timedelta(0)
        due = queue.due(request)
        return None if due is None else self._until(due)

    def failures(self, key: str | Request) -> int:
        """How many failures in a row the rate limiter counts."""
        request, queue = Request.parse(key_of(key)), self._queue()
        return queue.num_requeues(request) if queue is not None else 0

    def enqueue(self, *keys: str | Request) -> None:
        """Ask for a reconcile of these keys now, as a generic event would. RuntimeError before the start."""
        for key in [Request.parse(key_of(key)) for key in keys]:
            self._controller.queue.add(key, cause=Cause("generic"))

    def _queue(self) -> WorkQueue[Any] | None:
        """None before the controller has started."""
        try:
            return self._controller.queue
        except RuntimeError:
            return None

    def _until(self, due: float) -> timedelta:
        return timedelta(microseconds=round((due - self._now()) * 1_000_000))


class Operator(Mapping[str, ControllerView]):
    """A started manager: its controllers by name. In an async test it must be awaited once."""

    def __init__(
        self,
        manager: Manager,
        ledger: Ledger,
        now: Callable[[], float],
        settle: Callable[[], Awaitable[None]],
        failed: Callable[[BaseException], None],
        catalog: Catalog,
    ) -> None:
        self.manager = manager
        self._ledger, self._now, self._settle, self._failed = ledger, now, settle, failed
        self._catalog = catalog
        self._task: asyncio.Task[None] | None = None

    def __getitem__(self, name: str) -> ControllerView:
        controllers = self.manager.controllers
        if name not in controllers:
            known = ", ".join(map(repr, controllers)) or "none"
            raise KeyError(f"no controller {name!r} here; there is {known}")
        return ControllerView(controllers[name], self._ledger, self._now)

    def __iter__(self) -> Iterator[str]:
        return iter(self.manager.controllers)

    def __len__(self) -> int:
        return len(self.manager.controllers)

    def __repr__(self) -> str:
        state = "running" if self.is_running else "not started" if self._task is None else "stopped"
        return f"<Operator {', '.join(self) or 'without controllers'} {state}>"

    def __await__(self) -> Generator[Any, None, Operator]:
        """Until every controller has synced and the cluster is quiet."""
        yield from self._settle().__await__()
        self.warn_of_unserved()
        return self

    @property
    def is_running(self) -> bool:
        """Whether it was started and has neither been stopped nor failed."""
        return self._task is not None and not self._task.done()

    def views(self) -> Sequence[ControllerView]:
        return [self[name] for name in self]

    # --- the cluster's ---------------------------------------------------------------------------------------------

    def begin(self, loop: asyncio.AbstractEventLoop) -> None:
        self._task = loop.create_task(self._run(), name=f"operator {', '.join(self)}")

    def warn_of_unserved(self) -> None:
        """Warn of controllers that wait for a kind which the cluster does not have."""
        for name, controller in self.manager.controllers.items():
            kinds = [(getattr(one, "api_version", ""), getattr(one, "kind", "")) for one in controller.unsynced_sources]
            for api_version, kind in kinds:
                served = self._catalog.find_kind(api_version, kind) is not None
                if kind and not served and not controller.started.is_set():
                    warnings.warn(
                        f"controller {name!r} has not started: it waits for {api_version} {kind}, which the cluster "
                        "does not have. Is its CustomResourceDefinition applied?",
                        stacklevel=3,
                    )

    async def _run(self) -> None:
        try:
            await self.manager.start()
        except Exception as error:  # the test hears of it at its next step
            self._failed(error)
        finally:
            await self.manager.client.aclose()

    async def end(self) -> None:
        """Stop the manager and wait until it has."""
        if self._task is None:
            await self.manager.client.aclose()
            return
        if not self._task.done():
            self._task.cancel()
            await asyncio.wait([self._task])
        with suppress(BaseException):  # told where it happened; a task that was asked holds no circle
            self._task.result()


def build_into(manager: Manager, build: Build, has_own: bool) -> None:
    """Let `build` add to a manager. Raises TypeError where it cannot, ValueError where it has added nothing.

    `has_own`: the manager has something to do without it.
    """
    wanted = "start() takes the function that adds the controllers: start(build), with def build(manager)"
    if isinstance(build, Manager):
        raise TypeError("start() makes the manager itself: give it the function that adds the controllers")
    if not callable(build):
        raise TypeError(f"{wanted}, not {build!r}")
    if inspect.iscoroutinefunction(build):
        raise TypeError(f"{wanted}. It is called and not awaited: no async def")
    before = manager.size
    made = build(manager)
    if inspect.iscoroutine(made):
        made.close()
        raise TypeError(f"{wanted}. It is called and not awaited, but returned a coroutine")
    if not has_own and manager.size == before:
        raise ValueError("start(build): build added nothing to the manager; was .complete() forgotten?")


def manager_for(
    bubble: Bubble, way: DirectTransport | HttpTransport, observer: Observer, options: Mapping[str, Any]
) -> Manager:
    """A manager under the bubble's clock, seed and gate, with its eyes on it.

    `way`: to the server. `options` are Manager's; `sync_period` may be a timedelta, or "10h". The jitter of
    the sync period is off unless an option says otherwise. Raises TypeError, ValueError naming the option.
    """
    settings = {
        "clock": bubble.clock,
        "random": _Draws(bubble.seed),
        "gate": bubble.gate,
        "observer": observer,
        "sync_period_jitter": 0.0,
        **options,
        **({"sync_period": seconds_of("sync_period", options["sync_period"])} if "sync_period" in options else {}),
    }
    return Manager(way, **settings)


def over_http(url: str, bubble: Bubble, token: str) -> HttpTransport:
    """A way to the server over HTTP, with a bearer token where there is one."""
    from controllerlib.client import HttpTransport

    return HttpTransport(url, clock=bubble.clock, headers={"Authorization": f"Bearer {token}"} if token else {})


class _Draws:
    """The seed as controllerlib's Random."""

    def __init__(self, seed: Seed) -> None:
        self._seed = seed

    def fraction(self, purpose: str, key: str, attempt: int) -> float:
        return self._seed.float(f"controllerlib/{purpose}", key, attempt)
