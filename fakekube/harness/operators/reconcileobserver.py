"""The observer of an operator's controllers, which records their reconciles in the ledger."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from controllerlib import Controller
from controllerlib.controller import Outcome, Run
from controllerlib.observer import Call, InformerEvent, Observer, current_run
from fakekube.harness.audit import WRITES
from fakekube.harness.ledger import Ledger
from fakekube.harness.records.identity import Identity
from fakekube.harness.records.reconciles import Running, version_of
from fakekube.harness.unhandled import raise_if_it_ends_the_code
from fakekube.virtualtime.errors import HotLoop

#: More reconciles of one object by one controller within one virtual second are a hot loop.
HOT_LOOP = 1_000


class ReconcileListener(Protocol):
    """Receives the reconciles of operators while they run: the detectors."""

    def started(self, operator: Any, running: Running) -> None:
        """A reconcile has begun."""

    def asked(self, run: Run) -> None:
        """A request of a reconcile that writes nothing is answered."""

    def called(self, call: Call, code: int, answer: Any, before: str, after: str) -> None:
        """A write of a reconcile is answered. before, after: the resourceVersions in its body and in the answer."""

    def finished(self, run: Run, outcome: Outcome) -> None:
        """A reconcile has ended."""


class ReconcileObserver(Observer):
    """The observer of one operator, whose name is known when its controllers are: `identify` it before it starts.

    Raises HotLoop in a controller that reconciles one object more than HOT_LOOP times within one virtual second.
    Its listener, if it has one, receives reconciles and their requests after they are recorded.
    """

    identity: Identity

    def __init__(self, ledger: Ledger, now: Callable[[], datetime]) -> None:
        self._ledger: Ledger | None = ledger
        self._now = now
        self._running: dict[int, Running] = {}
        self._listener: ReconcileListener | None = None
        self._operator: Any = None
        self._trace = ""
        #: the first reconciles of the present second; if there are more, how many of each controller and key
        self._next_second = 0
        self._recent: list[Running] = []
        self._times: Counter[tuple[str, str]] | None = None

    def running(self, controller: str) -> list[str]:
        """The keys that are being reconciled."""
        return [one.key for one in self._running.values() if one.run.controller == controller]

    def unfinished(self) -> Sequence[Running]:
        """The reconciles that have not finished."""
        return list(self._running.values())

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

    def set_listener(self, listener: ReconcileListener | None, operator: Any = None) -> None:
        """Pass reconciles on from now on (None: no longer). operator: what the listener gets with each reconcile."""
        self._listener, self._operator = listener, operator

    def retire(self) -> None:
        """Detach from the ledger."""
        self._ledger = None
        self._recent.clear()

    def reconcile_started(self, run: Run) -> None:
        ledger = self._ledger
        serial = 0 if ledger is None else ledger.next_serial()
        opened = self._running[id(run)] = Running(self.identity, run, self._now(), serial)
        if run.started >= self._next_second:
            self._next_second, self._recent, self._times = int(run.started) + 1, [], None
        if len(self._recent) < HOT_LOOP:
            self._recent.append(opened)
        elif ledger is not None:
            self._check_hot_loop(opened)
        if ledger is not None and ledger.on_started is not None:
            ledger.on_started(self.identity, run.controller, opened.key)
        if self._listener is not None:
            self._listener.started(self._operator, opened)

    def _check_hot_loop(self, opened: Running) -> None:
        """Count the reconciles of this second by their keys; most seconds have too few for a hot loop."""
        if self._times is None:
            self._times = Counter([(one.run.controller, one.key) for one in self._recent])
        run, who = opened.run, (opened.run.controller, opened.key)
        self._times[who] += 1
        if self._times[who] > HOT_LOOP:
            causes = ", ".join(str(cause) for cause in run.causes)
            raise HotLoop(
                f"controller {run.controller!r} reconciled {run.request} more than {HOT_LOOP} times within one virtual "
                f"second; the last time because of: {causes}"
            )

    def reconcile_finished(self, run: Run, outcome: Outcome) -> None:
        opened = self._running.pop(id(run))
        if self._ledger is not None:
            opened.outcome = outcome
            self._ledger.finished(opened)
            if outcome.error is not None:
                raise_if_it_ends_the_code(outcome.error)
        if self._listener is not None:
            self._listener.finished(run, outcome)

    def answered(self, call: Call, code: int, answer: Any) -> None:
        run, verb, _, path, _, body, _ = call
        if run is None:
            return
        if verb not in WRITES:
            if self._listener is not None:
                self._listener.asked(run)
            return
        before, after = version_of(body), version_of(answer)
        opened = self._running.get(id(run))
        if opened is not None:
            opened.writes += (verb, path, code, before, after)
        if self._listener is not None:
            self._listener.called(call, code, answer, before, after)

    def informer(self, event: InformerEvent) -> None:
        if self._ledger is not None:
            self._ledger.informer(event)
