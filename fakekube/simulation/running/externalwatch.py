"""Looks at the external APIs of a run, so that their changes are recorded with their author and anchor faults."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from fakekube.simulation.anchor import EXTERNAL
from fakekube.simulation.observation import OPERATOR, TEST
from fakekube.simulation.running.clusterhands import ClusterHands
from fakekube.simulation.running.externalcalls import ExternalCalls
from fakekube.simulation.running.externalitems import ExternalItems
from fakekube.simulation.running.injection import Injection
from fakekube.simulation.running.recorder import Actor, Recorder
from fakekube.virtualtime.simulatedprocess import current_client


class ExternalWatch:
    """What external APIs a test has declared, and who changes them. `now`: the virtual seconds of the cluster."""

    def __init__(self, recorder: Recorder, injection: Injection, hands: ClusterHands, now: Callable[[], float]) -> None:
        self._recorder, self._injection, self._hands, self._now = recorder, injection, hands, now
        self._items = ExternalItems()

    def declare(self, name: str, fake: Iterable[Any], error: Callable[[], BaseException]) -> Any:
        """Look at an API from now on. Returns what operators call in its place; calls may fail with `error`."""
        self.test_has_run()
        self._items.declare(name, fake)
        return ExternalCalls(self._recorder, self._injection, self._caller, self._look).wrapped(name, fake, error)

    def _caller(self) -> Actor | None:
        """The operator whose code runs."""
        process = current_client()
        return None if process is None or process.fenced else self._hands.actor_of(process)

    def targets(self) -> Sequence[str]:
        """The targets of all items that exist now."""
        return self._items.targets()

    def test_has_run(self) -> None:
        """What has changed by now, the test has changed."""
        self._look(Actor())

    def requested(self, client: Actor) -> bool:
        """A client makes a request: an operator has made its changes before it. Whether an atom takes effect."""
        if self._items.is_empty:
            return False
        return self._look(client if client.name == TEST or client.name.startswith(OPERATOR) else self._hands.only())

    def reconciled(self, operator: Actor) -> None:
        """A reconcile has ended."""
        self._look(operator)

    def at_rest(self) -> bool:
        """The cluster is quiescent. Whether an atom takes effect."""
        return not self._items.is_empty and self._look(self._hands.only())

    def _look(self, actor: Actor | None) -> bool:
        """Record what has changed since the last look, and begin what is anchored there. Whether something was.

        actor: who has changed it; None if that is not known.
        """
        before = len(self._injection.fired)
        for verb, target in self._items.changes():
            commit = self._recorder.changed_outside(verb, target, actor or Actor(EXTERNAL), self._now())
            self._injection.committed(commit)
        return len(self._injection.fired) > before
