"""Counts what operators do in a run, and says when it is more than its bounds allow, and what it mostly is."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from types import FrameType

from fakekube.simulation.bounds import Bounds, Cost
from fakekube.simulation.running.recorder import is_of_user

#: So many of the last requests are looked at for what they mostly are.
_SAMPLED = 500


class Meter:
    """The cost of one run. `now`: the virtual seconds of the cluster; `real`: seconds of real time.

    exceeded: why the run is over its bounds, with the place, or empty. too_long: whether it has only taken too much
    real time, for which the machine may be the reason.
    """

    def __init__(self, bounds: Bounds | None, now: Callable[[], float], real: Callable[[], float] = monotonic) -> None:
        self._bounds, self._now, self._real = bounds, now, real
        self._began, self._real_began = now(), real()
        self._requests = self._steps = self._in_second = self._most = 0
        self._second = -1
        self._recent: Counter[str] = Counter()
        self.exceeded: str = ""
        self.too_long: str = ""

    @property
    def cost(self) -> Cost:
        """What the run has done by now."""
        real = self._real() - self._real_began
        return Cost(self._requests, self._steps, self._most, self._now() - self._began, real)

    @property
    def is_over(self) -> bool:
        """Whether the run is over its bounds."""
        return bool(self.exceeded or self.too_long)

    def request(self, what: str) -> bool:
        """Count a request of an operator. Whether the run is over its bounds with it."""
        now = self._now()
        if int(now) != self._second:
            self._second, self._in_second = int(now), 0
            self._recent.clear()
        self._requests += 1
        self._in_second += 1
        self._most = max(self._most, self._in_second)
        if self._bounds is None or self.is_over:
            return self.is_over
        limit, usual = self._bounds.at_once, self._bounds.reference.at_once
        if self._in_second > limit - _SAMPLED:
            self._recent[what] += 1
        if self._in_second > limit:
            self._exceed(f"more than {limit} requests within one virtual second (the reference has at most {usual})")
        elif self._requests > (limit := self._bounds.requests(now - self._began)):
            self._recent[what] += 1
            self._exceed(f"more than {limit} requests (the reference has {self._bounds.reference.requests})")
        else:
            self._look_at_time()
        return self.is_over

    def step(self, what: str) -> bool:
        """Count a reconcile, or an event that an operator gets. Whether the run is over its bounds with it."""
        self._steps += 1
        if self._bounds is None or self.is_over:
            return self.is_over
        limit = self._bounds.steps(self._now() - self._began)
        if self._steps > limit:
            self._recent = Counter([what])
            self._exceed(f"more than {limit} reconciles and events (the reference has {self._bounds.reference.steps})")
        else:
            self._look_at_time()
        return self.is_over

    def _exceed(self, what: str) -> None:
        place = place_of_caller(sys._getframe(2))
        mostly = "; ".join(f"{text}{f' at {place}' if place else ''}" for text, _ in self._recent.most_common(1))
        self.exceeded = f"{what}, mostly {mostly}"

    def _look_at_time(self) -> None:
        if (self._requests + self._steps) % 64 == 0 and self._bounds is not None:
            taken = self._real() - self._real_began
            if taken > self._bounds.real:
                self.too_long = f"the run has taken {taken:.0f} s of real time (limit {self._bounds.real:.0f} s)"


def place_of_caller(frame: FrameType | None) -> str:
    """`FILE:LINE` of the code under test that has called; empty if it is not on the stack."""
    while frame is not None:
        if is_of_user(str(frame.f_globals.get("__name__", ""))):
            return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"
        frame = frame.f_back
    return ""
