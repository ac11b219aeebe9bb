"""A request that is processed only at multiples of a period since the start of its controller."""

from __future__ import annotations

import math

from controllerlib import Request
from controllerlib.clock import Clock
from controllerlib.controller import RequestQueue


class PeriodicRequest:
    """Delays a request to the next multiple of `period` seconds since `begin`.

    kube-controller-manager processes it in every period; here only those are used in which there may be something
    to do.
    """

    def __init__(self, clock: Clock, request: Request, period: float) -> None:
        self._clock, self._request, self._period = clock, request, period
        self._started = 0.0

    def __repr__(self) -> str:
        return f"<PeriodicRequest {self._request} every {self._period} s>"

    def begin(self, queue: RequestQueue) -> None:
        """Start the first period; the function of a FuncSource."""
        self._started = self._clock.monotonic()

    def enqueue(self, queue: RequestQueue) -> None:
        """Add the request at the end of the present period."""
        queue.add_after(self._request, self.seconds_until(self._clock.monotonic()))

    def seconds_until(self, moment: float) -> float:
        """The seconds from now until the first end of a period at or after a moment."""
        periods = math.ceil((moment - self._started) / self._period - 1e-9)
        return max(0.0, self._started + periods * self._period - self._clock.monotonic())
