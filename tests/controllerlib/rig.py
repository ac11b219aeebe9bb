"""A controller or a manager under virtual time, with a log of its reconciles."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from controllerlib.client.client import Client
from controllerlib.clock import SystemClock, sleep
from controllerlib.controller.controller import Controller, ControllerOptions
from controllerlib.controller.handler import RequestQueue
from controllerlib.controller.reconcile import Outcome, Request, Result, Run
from controllerlib.controller.source import Source
from controllerlib.manager.builder import Builder
from controllerlib.manager.manager import Manager
from controllerlib.observer import InformerEvent, Observer, current_run
from controllerlib.random import FixedRandom
from controllerlib.workqueue.cause import Cause
from tests.controllerlib.fakeapi import FakeApi
from tests.controllerlib.handlerlog import advance


class Notes(Observer):
    """Records every reconcile and every informer event."""

    def __init__(self) -> None:
        self.runs: list[Run] = []
        self.outcomes: list[tuple[Run, Outcome]] = []
        self.enqueues: list[tuple[str, str, int | None]] = []
        self.informers: list[InformerEvent] = []
        self.current: list[Run | None] = []

    def enqueued(
        self, controller: str, request: Any, cause: Cause | None, after: float | None, priority: int | None
    ) -> None:
        self.enqueues.append((str(request), cause.kind if cause else "", priority))

    def reconcile_started(self, run: Run) -> None:
        self.runs.append(run)
        self.current.append(current_run())

    def reconcile_finished(self, run: Run, outcome: Outcome) -> None:
        self.outcomes.append((run, outcome))
        self.current.append(current_run())

    def informer(self, event: InformerEvent) -> None:
        self.informers.append(event)

    def of(self, controller: str = "", request: str = "") -> list[Run]:
        return [run for run in self.runs if controller in ("", run.controller) and request in ("", str(run.request))]

    def at(self, controller: str = "", request: str = "") -> list[float]:
        """Return the start times of the reconciles."""
        return [round(run.started, 6) for run in self.of(controller, request)]

    def causes(self, controller: str = "", request: str = "") -> list[str]:
        return ["+".join(cause.kind for cause in run.causes) for run in self.of(controller, request)]

    def requests(self, controller: str = "") -> list[str]:
        return [str(run.request) for run in self.of(controller)]

    def priorities(self) -> list[int]:
        return [run.priority for run in self.runs]


#: The n-th action of a scripted reconciler: raise an exception, or return a result or None.
Act = BaseException | Result | None


def acting(*acts: Act, seconds: float = 0.0) -> Callable[[Any], Awaitable[Result | None]]:
    """Return a reconciler with scripted actions, the last one repeated; each call takes `lasts` seconds."""
    left = list(acts) or [None]

    async def reconcile(request: Any) -> Result | None:
        act = left.pop(0) if len(left) > 1 else left[0]
        if seconds:
            await sleep(SystemClock(), seconds)
        if isinstance(act, BaseException):
            raise act
        return act

    return reconcile


class Queued:
    """A source to whose queue a test can add."""

    def __init__(self, *, first: Sequence[tuple[Any, int | None]] = ()) -> None:
        self.queue: RequestQueue | None = None
        self._first = first

    def __repr__(self) -> str:
        return "test source"

    async def start(self, queue: RequestQueue, tasks: Any) -> None:
        self.queue = queue.with_options(cause=Cause("generic"))
        for request, priority in self._first:
            self.queue.add(request, priority=priority)

    async def wait_synced(self) -> None:
        pass


class Rig:
    """A controller without a manager."""

    def __init__(
        self, reconcile: Any, *, first: Sequence[tuple[Any, int | None]] = (), sources: Sequence[Source] = (),
        client: Client | None = None, **options: Any,
    ) -> None:  # fmt: skip
        self.notes, self.source = Notes(), Queued(first=first)
        self.controller = Controller(
            "test", reconcile, client=client, options=ControllerOptions(**options), random=FixedRandom(),
            observer=self.notes,
        )  # fmt: skip
        for source in (self.source, *sources):
            self.controller.add_source(source)
        self.task: asyncio.Task[None] | None = None

    async def run(self, seconds: float = 0.0) -> "Rig":
        """Run for `seconds`."""
        if self.task is None:
            self.task = asyncio.create_task(self.controller.start(), name="controller")
        await advance(seconds)
        return self

    async def add(self, *requests: Any, priority: int | None = None) -> "Rig":
        """Add requests and run everything that is due."""
        await self.run()
        assert self.source.queue is not None
        for request in requests:
            self.source.queue.add(request, priority=priority)
        await advance()
        return self

    @property
    def at(self) -> list[float]:
        return self.notes.at()

    def metric(self, name: str, *labels: str) -> float:
        return self.controller.registry.value(f"controller_runtime_{name}", "test", *labels)

    @property
    def failures(self) -> int:
        return self.controller.queue.num_requeues("x")


class Operator:
    """A manager with controllers and a small API server."""

    def __init__(self, api: FakeApi | None = None, **options: Any) -> None:
        self.api, self.notes = api or FakeApi(), Notes()
        options = {"sync_period_jitter": 0.0, "random": FixedRandom(), **options}
        self.manager = Manager(self.api, observer=self.notes, **options)
        self.task: asyncio.Task[None] | None = None

    def controller(self, name: str = "") -> Builder:
        return self.manager.controller(name)

    async def run(self, seconds: float = 0.0) -> "Operator":
        """Run for `seconds`."""
        if self.task is None:
            self.task = asyncio.create_task(self.manager.start(), name="manager")
        await advance(seconds)
        return self

    async def stop(self) -> None:
        """Stop, and raise the error of the manager."""
        assert self.task is not None
        self.task.cancel()
        await asyncio.wait([self.task])
        if not self.task.cancelled() and (error := self.task.exception()) is not None:
            raise error


BACKUP = ("example.com/v1", "Backup")

__all__ = ["BACKUP", "Notes", "Operator", "Queued", "Request", "Rig", "acting"]
