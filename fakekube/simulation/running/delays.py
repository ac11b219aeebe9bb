"""The delays of the atom `order`: which watch events and requests are late, and by how much, is drawn from the seed."""

from __future__ import annotations

import random

from fakekube.simulation.atoms import Order
from fakekube.simulation.plan import Plan

#: How likely an event and a request are late. Few are: most bugs of order need one or two changes of it.
_EVENTS, _REQUESTS = 0.15, 0.08

#: Virtual seconds, short of what a test sees, and long enough for everything else that is ready to go first.
_LATE = (0.000_1, 0.001, 0.005)


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
