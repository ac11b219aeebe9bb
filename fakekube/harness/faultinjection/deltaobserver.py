"""An observer that asks an injector before each delta of an informer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from controllerlib.cache import Delta
from controllerlib.controller import Outcome, Run
from controllerlib.observer import Call, InformerEvent, Observer
from fakekube.harness.faultinjection.injector import BeforeDelta, Crash, Delay, Hold, IllegalAction, Injector, Proceed
from fakekube.server.systemclock import Clock
from fakekube.virtualtime.simulatedprocess import SimulatedProcess


class DeltaObserver(Observer):
    """Passes everything on to another observer; deltas wait until the injector lets them proceed."""

    def __init__(
        self,
        observer: Observer,
        injector: Injector,
        process: SimulatedProcess,
        clock: Clock,
        crash: Callable[[], object],
    ) -> None:
        self._next, self._injector, self._process = observer, injector, process
        self._clock, self._crash = clock, crash

    async def before_delta(self, informer: str, delta: Delta) -> None:
        point = BeforeDelta(self._process.name, informer, str(delta.type), delta.object)
        match self._injector.decide(point):
            case Proceed():
                pass
            case Delay(seconds):
                await self._clock.sleep_until(self._clock.monotonic() + seconds)
            case Hold() as hold:
                await _released(hold)
            case Crash():
                self._crash()
                await asyncio.sleep(0)  # noqa: TID251 - this task has been cancelled
            case other:
                raise IllegalAction(point, other)

    def enqueued(self, controller: str, request: Any, cause: Any, after: float | None, priority: int | None) -> None:
        self._next.enqueued(controller, request, cause, after, priority)

    def reconcile_started(self, run: Run) -> None:
        self._next.reconcile_started(run)

    def reconcile_finished(self, run: Run, outcome: Outcome) -> None:
        self._next.reconcile_finished(run, outcome)

    async def before_call(self, call: Call) -> None:
        await self._next.before_call(call)

    def answered(self, call: Call, code: int, answer: Any) -> None:
        self._next.answered(call, code, answer)

    async def after_call(self, call: Call, code: int, answer: Any) -> None:
        await self._next.after_call(call, code, answer)

    def handled(self, informer: str, handler: str, notification: Any) -> None:
        self._next.handled(informer, handler, notification)

    def informer(self, event: InformerEvent) -> None:
        self._next.informer(event)


async def _released(hold: Hold) -> None:
    if hold.released:
        return
    future = asyncio.get_running_loop().create_future()
    hold.on_release.append(lambda: None if future.done() else future.set_result(None))
    await future
