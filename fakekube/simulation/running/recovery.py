"""How long the test waits after a fault: until retries are made, and operators have started and list again."""

from __future__ import annotations

from collections.abc import Callable, Container
from math import ceil
from typing import TYPE_CHECKING, Any

from fakekube.harness.engine import engine_of
from fakekube.simulation.running.clusterhands import ClusterHands

if TYPE_CHECKING:
    from fakekube.harness.cluster import FakeKube
    from fakekube.harness.operators.operator import Operator
    from fakekube.virtualtime.simulatedprocess import SimulatedProcess

#: At most so many virtual seconds are waited for what a fault has broken, at each step of the test.
RECOVERY = 120.0

#: If a retry is due only later, it is waited for: the longest back-off of client-go's rate limiter, and a moment more.
LONGEST_RETRY = 1000.0
_MOMENT = 1.0

#: The shortest time that the clock of the loop moves.
_TICK = 1e-6

#: The virtual seconds in which an operator that is no manager of controllerlib tries again: its retries are not known.
#: kopf's default is a minute.
_UNKNOWN = 65.0

#: The virtual seconds in which a pod that has to leave its node is replaced: its grace period, and as much more.
MOVED = 65.0


class Recovery:
    """`late`: how many frozen leaders have not written yet. `until`: the virtual time at which the last delay ends.

    `watched`: the collections that each process has watched, by the identity of the process. `failing`: the controllers
    and keys whose retries are not waited for for long, as they fail in the reference, too. `hits`: returns how often
    atoms have taken effect.
    """

    def __init__(
        self,
        cluster: FakeKube,
        hands: ClusterHands,
        failing: Container[tuple[str, str]] = (),
        hits: Callable[[], int] = lambda: 0,
    ) -> None:
        self._failing, self._hits = failing, hits
        self._cluster, self._engine, self._hands = cluster, engine_of(cluster), hands
        self.late: int = 0
        self.until: float = 0.0
        self._caught_up = 0.0
        self.watched: dict[int, set[str]] = {}

    def begin(self, seconds: float = 0.0) -> None:
        """A fault has taken effect, and is mended after so many virtual seconds, if that is known."""
        if self._hands.programs():
            seconds = max(seconds, _UNKNOWN)
        if seconds:
            self.until = max(self.until, self._cluster.clock.monotonic() + seconds)

    async def wait(self) -> None:
        """Let time pass while something is due, at most RECOVERY virtual seconds.

        A node that is away is waited for, and a retry that comes later; if another atom fails it, so is the next one.
        """
        loop, clock = self._engine.bubble.loop, self._cluster.clock
        end, hits = max(clock.monotonic() + max(RECOVERY, self._retry()), self.until), self._hits()
        while clock.monotonic() < end and self.is_due():
            if self._hits() != hits:
                end, hits = max(end, clock.monotonic() + self._retry()), self._hits()
            timer = loop.next_timer()
            if timer is None:
                return
            seconds = min(timer / 1e6, end) - clock.monotonic()
            if 0 < seconds < _TICK:
                return  # less than the clock can move: the end is reached
            await loop.advance(max(0.0, seconds))

    def is_due(self) -> bool:
        """Whether a retry, a list, a start or something late is due."""
        if self.late or self._cluster.clock.monotonic() < self.until:
            return True
        operators = self._hands.running().values()
        if any(self._misses_watches(one.process) for one in self._hands.programs().values()):
            return True
        if any(self._recovers(one) for one in operators if one.process.runs):
            return True
        return self.lease > 0 and not any(_leads(one) for one in operators)

    def released(self) -> None:
        """What was late for some time arrives now."""
        self.begin()
        self._caught_up = self.until if self._hands.programs() else 0.0

    @property
    def catches_up(self) -> bool:
        """Whether operators whose retries are not known may still react to what was late."""
        return self._cluster.clock.monotonic() < self._caught_up

    def _retry(self) -> float:
        """The virtual seconds after which the next retries have been made; 0 if there is none."""
        found = self.next_retries()
        return ceil(min(found, LONGEST_RETRY)) + _MOMENT if found else 0.0

    def next_retries(self) -> float:
        """The virtual seconds until each failed reconcile has been tried again; 0 if none has failed.

        Those that fail in the reference, too, do not count.
        """
        delays = (
            delay.total_seconds()
            for one in self._hands.running().values()
            for view in one.views()
            for key, delay in view.waiting.items()
            if view.failures(key) and (view.name, str(key)) not in self._failing
        )
        return max(delays, default=0.0)

    def _recovers(self, one: Operator) -> bool:
        if any(view.failures(key) for view in one.views() for key in [*view.waiting, *view.ready]):
            return True
        if self._misses_watches(one.process):
            return True
        return _election_of(one) is None and not all(c.started.is_set() for c in one.manager.controllers.values())

    def _misses_watches(self, process: SimulatedProcess) -> bool:
        """Whether a process has no watch of a collection that it has watched before."""
        watching = {watch.collection for watch in self._engine.server.watches if watch.client[1] is process}
        return bool(self.watched.get(id(process), set()) - watching)

    @property
    def lease(self) -> float:
        """The seconds of the longest lease of the operators; 0 without leader election."""
        options = [getattr(_election_of(one), "options", None) for one in self._engine.background.operators]
        return max((float(one.lease_duration) for one in options if one is not None), default=0.0)


def _election_of(operator: Operator) -> Any:
    return operator.launch.options.get("election") if operator.launch is not None else None


def _leads(operator: Operator) -> bool:
    """Whether an operator takes no part in an election, or has been elected."""
    return _election_of(operator) is None or operator.manager.elected.is_set()
