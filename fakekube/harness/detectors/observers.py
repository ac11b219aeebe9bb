"""Several observers of one operator as one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from controllerlib.controller import Outcome, Run
from controllerlib.observer import Call, InformerEvent, Observer


class Observers(Observer):
    """Calls each observer, in their order. It has the hooks that the harness uses."""

    def __init__(self, observers: Sequence[Observer]) -> None:
        self._observers = tuple(observers)

    def reconcile_started(self, run: Run) -> None:
        for observer in self._observers:
            observer.reconcile_started(run)

    def reconcile_finished(self, run: Run, outcome: Outcome) -> None:
        for observer in self._observers:
            observer.reconcile_finished(run, outcome)

    async def after_call(self, call: Call, code: int, answer: Any) -> None:
        for observer in self._observers:
            await observer.after_call(call, code, answer)

    def informer(self, event: InformerEvent) -> None:
        for observer in self._observers:
            observer.informer(event)
