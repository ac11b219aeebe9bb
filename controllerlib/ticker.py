"""Tickers: periodic points in time (k8s.io/utils/clock, Ticker)."""

from dataclasses import dataclass, field


@dataclass(slots=True)
class Ticker:
    """Ticks at `start` + n * `period`. Missed ticks are merged into one."""

    period: float
    start: float
    next: float = field(init=False)

    def __post_init__(self) -> None:
        self.next = self.start + self.period

    def tick(self, now: float) -> bool:
        """Return whether a tick is due; the next one is then the first after `now`."""
        if now < self.next:
            return False
        missed = int((now - self.next) // self.period)
        self.next += (missed + 1) * self.period
        return True
