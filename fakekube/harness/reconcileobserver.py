"""The observer of an operator's controllers, which records their reconciles in the ledger."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from controllerlib import Controller
from controllerlib.controller import Outcome, Run
from controllerlib.observer import Call, InformerEvent, Observer, current_run
from fakekube.harness.audit import WRITES
from fakekube.harness.ledger import Ledger
from fakekube.harness.records.identity import Identity
from fakekube.harness.records.reconciles import Running, Write
from fakekube.virtualtime.errors import HotLoop

#: More reconciles of one object by one controller within one virtual second are a hot loop.
HOT_LOOP = 1_000


_NEVER = (0, 0)


class ReconcileObserver(Observer):
    """The observer of one operator, whose name is known when its controllers are: `identify` it before it starts.

    Raises HotLoop in a controller that reconciles one object more than HOT_LOOP times within one virtual second.
    """

    identity: Identity

    def __init__(self, ledger: Ledger, now: Callable[[], datetime]) -> None:
        self._ledger: Ledger | None = ledger
        self._now = now
        self._running: dict[int, Running] = {}
        #: by controller and key: how often it was reconciled, and the serial of the latest reconcile
        self._latest: dict[tuple[str, str], tuple[int, int]] = {}
        self._trace = ""
        #: the reconciles of the present second; their number by controller and request, if there are many
        self._second = 0
        self._this_second: list[Run] = []
        self._times: Counter[tuple[str, Any]] | None = None

    def running(self, controller: str) -> list[str]:
        """The keys that are being reconciled."""
        return [str(one.run.request) for one in self._running.values() if one.run.controller == controller]

    def identify(self, identity: Identity, controllers: Mapping[str, Controller] = {}) -> None:
        """Set the operator that the records name, and its controllers."""
        self.identity, self._trace = identity, str(identity)
        if self._ledger is not None:
            for name, controller in controllers.items():
                if controller.reconciled_kind is not None:
                    self._ledger.identities.reconciles(identity, name, *controller.reconciled_kind)
            self._ledger.attach(self)

    def trace(self) -> str:
        """What the records of requests have that are made at this moment: the operator, and the reconcile if any."""
        run = current_run()
        opened = None if run is None else self._running.get(id(run))
        if opened is None:
            return self._trace
        if not opened.trace:
            opened.trace = f"{self._trace}/{opened.run.controller}#{opened.serial}"  # as str(Trace(...)), but faster
        return opened.trace

    def counts(self, controller: str) -> dict[str, int]:
        """How often each key was reconciled, in the order of their first reconcile."""
        return {key: times for (name, key), (times, _) in self._latest.items() if name == controller}

    def retire(self) -> None:
        """Detach from the ledger."""
        self._ledger = None

    def reconcile_started(self, run: Run) -> None:
        ledger = self._ledger
        serial = 0 if ledger is None else ledger.next_serial()
        self._running[id(run)] = Running(self.identity, run, self._now(), serial)
        second = int(run.started)
        if second != self._second:
            self._second, self._this_second, self._times = second, [], None
        self._this_second.append(run)
        if len(self._this_second) > HOT_LOOP:
            self._check_hot_loop(run)
        if ledger is not None and ledger.on_started is not None:
            ledger.on_started(self.identity, run.controller, str(run.request))

    def _check_hot_loop(self, run: Run) -> None:
        """Count the reconciles of this second by their keys; most seconds have too few for a hot loop."""
        if self._times is None:
            self._times = Counter([(one.controller, one.request) for one in self._this_second])
        else:
            self._times[run.controller, run.request] += 1
        if self._times[run.controller, run.request] > HOT_LOOP:
            causes = ", ".join(str(cause) for cause in run.causes)
            raise HotLoop(
                f"controller {run.controller!r} reconciled {run.request} more than {HOT_LOOP} times within one virtual "
                f"second; the last time because of: {causes}"
            )

    def reconcile_finished(self, run: Run, outcome: Outcome) -> None:
        opened = self._running.pop(id(run))
        if self._ledger is None:
            return
        opened.key = key = str(run.request)
        who = (run.controller, key)
        times, opened.previous = self._latest.get(who, _NEVER)
        opened.number, opened.outcome = times + 1, outcome
        self._latest[who] = times + 1, opened.serial
        self._ledger.finished(opened)

    async def after_call(self, call: Call, code: int, answer: Any) -> None:
        run, verb, _, path, _, body, _ = call
        if run is None or verb not in WRITES:
            return
        opened = self._running.get(id(run))
        if opened is not None:
            write = Write(verb, path, code, _version(body), _version(answer))
            if opened.writes is None:
                opened.writes = [write]
            else:
                opened.writes.append(write)

    def informer(self, event: InformerEvent) -> None:
        if self._ledger is not None:
            self._ledger.informer(event)


def _version(obj: Any) -> str:
    meta = obj.get("metadata") if isinstance(obj, dict) else None
    return str(meta.get("resourceVersion", "")) if isinstance(meta, dict) else ""
