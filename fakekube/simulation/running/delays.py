"""The delays of requests and watch events in a run: those that `order` draws from the seed, and of many writes."""

from __future__ import annotations

import random
from collections import Counter

from fakekube.simulation.atoms import Order
from fakekube.simulation.plan import Plan

#: How likely an event and a request are late. Few are: most bugs of order need one or two changes of it.
_EVENTS, _REQUESTS = 0.15, 0.08

#: Virtual seconds, short of what a test sees, and long enough for everything else that is ready to go first.
_LATE = (0.000_1, 0.001, 0.005)


#: After so many writes of an operator without a second between them, each takes so many virtual seconds; after as many
#: of these twice as many, and so on up to the longest.
_AT_ONCE, _EACH, _LONGEST = 50, 0.01, 0.5


#: The virtual seconds that a request takes while two replicas live, so that each goes on while the other waits.
BESIDE = 0.001


class Delays:
    """The delays of one run. `active`: whether its plan has the atom."""

    def __init__(self, plan: Plan) -> None:
        self.active: bool = Order() in plan.atoms
        self._random = random.Random(f"order {plan.seed}")

    def of_event(self) -> float:
        """The seconds by which the next watch event is late; mostly 0."""
        return self._drawn(_EVENTS)

    def of_request(self) -> float:
        """The seconds by which the next request of an operator is late; mostly 0."""
        return self._drawn(_REQUESTS)

    def _drawn(self, share: float) -> float:
        late, seconds = self._random.random() < share, self._random.choice(_LATE)
        return seconds if late else 0.0


class Pace:
    """Slows operators that write again and again without time passing, so that a fault ends.

    An operator whose watch is late may create what the garbage collector deletes. On a real server a write takes
    milliseconds; without them it would be a hot loop, which is no bug of the operator.
    """

    def __init__(self) -> None:
        self._last: dict[str, float] = {}
        self._writes: Counter[str] = Counter()

    def of_write(self, operator: str, now: float) -> float:
        """The seconds by which the next write of an operator is late: 0 for the first ones after a second without."""
        if now - self._last.get(operator, -1.0) >= 1.0:
            self._writes[operator] = 0
        self._last[operator] = now
        self._writes[operator] += 1
        made = self._writes[operator]
        return min(_EACH * (made // _AT_ONCE), _LONGEST) if made > _AT_ONCE else 0.0
