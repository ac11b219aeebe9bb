"""An operator under test: a controllerlib Manager that runs in a cluster, and what its controllers have done."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import Any, Protocol

from controllerlib import Controller, Manager, Request
from controllerlib.manager import GraceExpired
from controllerlib.workqueue import Cause, WorkQueue
from fakekube.apiserver.user import User
from fakekube.harness.arguments import key_of, seconds_of
from fakekube.harness.assertions.recorded import NOT_SETTLED, check_reconciled, recent
from fakekube.harness.faultinjection.skewedclock import SkewedClock
from fakekube.harness.keywords import ManagerOptions
from fakekube.harness.ledger import Ledger
from fakekube.harness.objects import Kinds
from fakekube.harness.records.identity import Identity
from fakekube.harness.records.kept import Records
from fakekube.harness.records.reconciles import Reconcile
from fakekube.harness.records.story import Story
from fakekube.harness.unhandled import has_failed
from fakekube.struct import Struct
from fakekube.virtualtime import Duration
from fakekube.virtualtime.simulatedprocess import SimulatedProcess


class Processes(Protocol):
    """The part of an event loop that starts operators."""

    def start_process(
        self, coro: Coroutine[Any, Any, None], process: SimulatedProcess, name: str = ""
    ) -> asyncio.Task[None]:
        """Start a task that is a process of its own."""
        ...

    def has_work(self) -> bool:
        """Whether something is ready to run."""
        ...


class ControllerView:
    """One controller of one operator, as a test sees it.

    Keys are `namespace/name`, or `name` for cluster-scoped objects.
    """

    def __init__(self, operator: Operator, name: str, ledger: Ledger, now: Callable[[], float], catalog: Kinds) -> None:
        self._operator, self._name, self._ledger, self._now = operator, name, ledger, now
        self._catalog = catalog

    @property
    def name(self) -> str:
        return self._name

    @property
    def _controller(self) -> Controller:
        return self._operator.latest.manager.controllers[self._name]

    @property
    def _identity(self) -> Identity:
        return self._operator.identity

    def __repr__(self) -> str:
        return f"<ControllerView {self.name} reconciles={self.reconciles()}>"

    # --- the ledger ------------------------------------------------------------------------------------------------

    def history(self, key: str | Request | None = None) -> Records[Reconcile]:
        """The finished reconciles, oldest first, of one key or of all.

        Raises TypeError for a `key` of another type, ValueError for one that objects of the kind cannot have.
        Its `dropped` counts those that are no longer kept.
        """
        wanted = None if key is None else key_of(key)
        read = partial(self._ledger.reconciles, self.name, wanted)
        lives = [read(operator=one.name, incarnation=one.incarnation) for one in self._operator.lives()]
        found = (
            lives[0] if len(lives) == 1 else Records([r for one in lives for r in one], sum(r.dropped for r in lives))
        )
        if not found and key is not None:
            self._key(key)
        return found

    def reconciles(self, key: str | Request | None = None) -> int:
        """How many reconciles have finished, whether they are kept or not."""
        counts = self._counts()
        if key is None:
            return sum(counts.values())
        return counts.get(key_of(key)) or counts.get(self._key(key), 0)

    def keys(self) -> list[str]:
        """The keys that were reconciled, in the order of their first reconcile."""
        return list(self._counts())

    def causes(self, key: str | Request | None = None, *, detail: bool = False) -> list[str]:
        """The causes of each reconcile: `added`, or `updated+resync` if several were merged.

        `detail`: with the object and its resourceVersion, `updated ConfigMap default/a@57 + resync`.
        """
        return [reconcile.because if detail else reconcile.cause for reconcile in self.history(key)]

    def why(self, key: str | Request, number: int) -> Story:
        """Why a key was reconciled the `number`th time: the reconcile, then the chain of its causes.

        Raises LookupError if it was not reconciled that often, or if that is no longer kept.
        """
        for reconcile in self.history(key):
            if reconcile.number == number:
                return self._ledger.why(reconcile)
        times = self.reconciles(key)
        kept = " (it is no longer kept)" if 0 < number <= times else ""
        raise LookupError(
            f"controller {self.name!r} has no reconcile {number} of {key}: it reconciled it {times} times{kept}"
        )

    def times(self, key: str | Request | None = None) -> list[timedelta]:
        """The virtual time of each reconcile since the first of them."""
        history = self.history(key)
        return [reconcile.started - history[0].started for reconcile in history]

    def results(self, key: str | Request | None = None) -> list[str]:
        """The result of each reconcile: `success`, `requeue_after` or `error`."""
        self._ledger.inspect_errors(f"{self._identity.operator}/{self.name}")
        return [reconcile.label for reconcile in self.history(key)]

    def errors(self, key: str | Request | None = None) -> list[BaseException]:
        """The exceptions that reconciles raised. A test that reads them checks them itself: they are no findings."""
        self._ledger.inspect_errors(f"{self._identity.operator}/{self.name}")
        return [reconcile.error for reconcile in self.history(key) if reconcile.error is not None]

    def last(self, key: str | Request | None = None) -> Reconcile:
        """The latest reconcile. Raises LookupError if there is none."""
        history = self.history(key)
        if not history:
            known = ", ".join(self.keys()[:10])
            raise LookupError(
                f"controller {self.name!r} has not reconciled {key or 'anything'} yet"
                + (f" (reconciled: {known})" if known else "")
            )
        return history[-1]

    def assert_reconciled(
        self,
        key: str | Request,
        *,
        times: int | None = None,
        causes: Sequence[str] | None = None,
        results: Sequence[str] | None = None,
        within: Duration | None = None,
    ) -> None:
        """Assert that a key was reconciled: `times`, for these `causes`, with these `results`; else at least once.

        A cause may be a shell pattern. `within`: only the reconciles that have started in the last so much virtual time
        count. Raises AssertionError with all reconciles.
        """
        if results is not None:
            self._ledger.inspect_errors(f"{self._identity.operator}/{self.name}")
        since = None if within is None else timedelta(seconds=seconds_of("within", within))
        done = recent(self.history(key), self._ledger.now(), since)
        hint = NOT_SETTLED if self._operator._has_work() else ""
        check_reconciled(key_of(key), done, self._ledger.epoch, times=times, causes=causes, results=results, hint=hint)

    def _key(self, key: str | Request) -> str:
        """A key as text. Raises TypeError, ValueError."""
        text = key_of(key)
        if problem := self.problem_of(text):
            raise ValueError(problem)
        return text

    def problem_of(self, key: str) -> str:
        """Why objects of the controller's kind cannot have this key; empty if they can, or if the kind is not known.

        A controller may also reconcile keys of its own: those like one that it has reconciled are accepted.
        """
        kind = self._ledger.kind(self._identity, self.name)
        found = self._catalog.find_kind(*kind) if kind is not None else None
        if found is None or found.namespaced == ("/" in key):
            return ""
        if any(("/" in one) == ("/" in key) for one in self._counts()):
            return ""
        if found.namespaced:
            return f"key={key!r}: a {found.kind} has a namespace: did you mean 'default/{key}'?"
        return f"key={key!r}: a {found.kind} has no namespace: did you mean {key.rpartition('/')[2]!r}?"

    def _counts(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for one in self._operator.lives():
            counts = self._ledger.counts(self.name, operator=one.name, incarnation=one.incarnation)
            found = {**found, **{key: found.get(key, 0) + times for key, times in counts.items()}}
        return found

    # --- the queue -------------------------------------------------------------------------------------------------

    @property
    def ready(self) -> list[str]:
        """The keys that are due and wait for a worker."""
        queue = self._queue()
        return [str(request) for request in queue.ready()] if queue is not None else []

    @property
    def processing(self) -> list[str]:
        """The keys that are being reconciled."""
        queue = self._queue()
        return [str(request) for request in queue.processing()] if queue is not None else []

    @property
    def waiting(self) -> dict[str, timedelta]:
        """The keys that are due later, soonest first, with the time until then."""
        queue = self._queue()
        return {str(r): self._until(due) for r, due in queue.waiting().items()} if queue is not None else {}

    def next_due(self, key: str | Request) -> timedelta | None:
        """The time until the key is due: zero if it is due now, None if it is not queued."""
        request, queue = Request.parse(self._key(key)), self._queue()
        if queue is None:
            return None
        if request in queue.ready():
            return timedelta(0)
        due = queue.due(request)
        return None if due is None else self._until(due)

    def failures(self, key: str | Request) -> int:
        """The number of consecutive failures that the rate limiter counts."""
        request, queue = Request.parse(self._key(key)), self._queue()
        return queue.num_requeues(request) if queue is not None else 0

    def enqueue(self, *keys: str | Request) -> None:
        """Enqueue these keys now, as a generic event would. Raises RuntimeError before the controller has started.

        Raises ValueError for text that is no key of an object of the controller's kind: pass a Request for a key of the
        controller's own.
        """
        for key in [key if isinstance(key, Request) else Request.parse(self._key(key)) for key in keys]:
            self._controller.queue.add(key, cause=Cause("generic"))

    def is_due_within(self, key: str, seconds: float) -> bool:
        """Whether a key is processed, ready or delayed for at most this long."""
        queue, request = self._queue(), Request.parse(key)
        if queue is None:
            return False
        due = queue.due(request)
        return queue.is_active(request) or (due is not None and due <= self._now() + seconds)

    def _queue(self) -> WorkQueue[Any] | None:
        """None before the controller has started."""
        try:
            return self._controller.queue
        except RuntimeError:
            return None

    def _until(self, due: float) -> timedelta:
        return timedelta(microseconds=round((due - self._now()) * 1_000_000))


class Launch(Struct, frozen=True):
    """The arguments with which an operator was started, so that it can be started again."""

    build: Callable[[Manager], Any]
    user: User | None
    options: ManagerOptions
    name: str = ""


class Operator(Mapping[str, ControllerView]):
    """A started manager; a mapping of its controllers by name. In an async test it must be awaited once.

    Its controllers have the history of this operator only: not that of its replicas, nor that before or after a
    `restart` of the test. Incarnations that an exploration starts continue it: they are the same operator to the test.
    """

    def __init__(
        self,
        manager: Manager,
        identity: Identity,
        ledger: Ledger,
        now: Callable[[], float],
        settle: Callable[[], Awaitable[None]],
        failed: Callable[[BaseException], None],
        catalog: Kinds,
        process: SimulatedProcess,
        clock: SkewedClock | None = None,
    ) -> None:
        self.manager: Manager = manager
        self._identity = identity
        self.process: SimulatedProcess = process
        self.clock: SkewedClock | None = clock
        """The clock of its manager; None on a real cluster."""
        self.launch: Launch | None = None
        """How it was started; None for the cluster's own controllers."""
        self.successor: Operator | None = None
        """The next incarnation, after a restart."""
        self.replaced: bool = False
        """Whether the test has started the next incarnation, which it holds."""
        self._ledger, self._now, self._settle, self._failed = ledger, now, settle, failed
        self._catalog = catalog
        self._task: asyncio.Task[None] | None = None
        self._loop: Processes | None = None
        self._awaited: Callable[[], None] | None = None
        self._ending = False

    def __getitem__(self, name: str) -> ControllerView:
        controllers = self.manager.controllers
        if name not in controllers:
            known = ", ".join(map(repr, controllers)) or "none"
            raise KeyError(f"no controller {name!r} (controllers: {known})")
        return ControllerView(self, name, self._ledger, self._now, self._catalog)

    def __iter__(self) -> Iterator[str]:
        return iter(self.manager.controllers)

    def __len__(self) -> int:
        return len(self.manager.controllers)

    def __repr__(self) -> str:
        state = "running" if self.is_alive else "not started" if self._task is None else "stopped"
        if not self.process.runs:
            state = self.process.state.value
        return f"<Operator {self._identity}: {', '.join(self) or 'without controllers'} {state}>"

    def __await__(self) -> Generator[Any, None, Operator]:
        """Wait until every controller has synced and the cluster is quiescent."""
        if self._awaited is not None:
            self._awaited()
        yield from self._settle().__await__()
        self.warn_of_unserved()
        return self

    @property
    def name(self) -> str:
        """The name, unique in the cluster: that of `start(build, name=...)`, or that of the first controller."""
        return self._identity.operator

    @property
    def incarnation(self) -> int:
        """1, and one more after each restart of the operator."""
        return self._identity.incarnation

    @property
    def identity(self) -> Identity:
        return self._identity

    def lives(self) -> Iterator[Operator]:
        """This incarnation, and those that an exploration has started since."""
        one = self
        yield one
        while one.successor is not None and not one.replaced:
            one = one.successor
            yield one

    @property
    def latest(self) -> Operator:
        """The last of `lives`."""
        *_, last = self.lives()
        return last

    @property
    def is_running(self) -> bool:
        """Whether it was started, and has neither been stopped nor failed."""
        return self.latest.is_alive

    @property
    def is_alive(self) -> bool:
        """Whether this incarnation runs."""
        return self._task is not None and not self._task.done()

    def _has_work(self) -> bool:
        """Whether code of the cluster is ready to run: the test has not settled it."""
        return self._loop is not None and self._loop.has_work()

    def views(self) -> Sequence[ControllerView]:
        return [self[name] for name in self]

    def enqueue_all(self) -> None:
        """Enqueue every key that was ever reconciled."""
        for view in self.views():
            view.enqueue(*view.keys())

    # --- called by the cluster -------------------------------------------------------------------------------------

    def begin(self, loop: Processes) -> None:
        self._loop = loop
        self._task = loop.start_process(self._run(), self.process, f"operator {self._identity}")

    def when_awaited(self, call: Callable[[], None]) -> None:
        """Call `call` when the test awaits this."""
        self._awaited = call

    def warn_of_unserved(self, stacklevel: int = 3) -> None:
        """Warn about controllers that wait for a kind which the cluster does not have; `stacklevel` as in `warn`."""
        for name, controller in self.manager.controllers.items():
            kinds = [(getattr(one, "api_version", ""), getattr(one, "kind", "")) for one in controller.unsynced_sources]
            for api_version, kind in kinds:
                served = self._catalog.find_kind(api_version, kind) is not None
                if kind and not served and not controller.started.is_set():
                    warnings.warn(
                        f"controller {name!r} has not started: it waits for {api_version} {kind}, which the cluster "
                        "does not have. Is its CustomResourceDefinition applied?",
                        stacklevel=stacklevel,
                    )

    async def _run(self) -> None:
        task = asyncio.current_task()
        try:
            await self.manager.start()
        except BaseException as error:  # raised by the next step of the test
            if not has_failed(error, task):
                raise
            if not self.process.fenced and not (self._ending and isinstance(error, GraceExpired)):
                self._failed(error)
        finally:
            await self.manager.client.aclose()

    def cancel(self) -> list[asyncio.Task[None]]:
        """Stop as the exit of the process does: reconciles that run are cancelled. Returns what has to end."""
        if self._task is None or self._task.done():
            return []
        self._ending = True
        self._task.cancel()
        return [self._task]

    async def end(self) -> None:
        """Stop the manager and wait until it has ended."""
        if self._task is None:
            await self.manager.client.aclose()
            return
        if not self._task.done():
            self._task.cancel()
            await asyncio.wait([self._task])
        self.retrieve()

    def retrieve(self) -> None:
        """Mark the exception of the task as retrieved: `_run` has reported it."""
        if self._task is not None and self._task.done():
            with suppress(BaseException):
                self._task.result()
