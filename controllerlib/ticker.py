"""A beat: which moments of a fixed rhythm have come (k8s.io/utils/clock, Ticker)."""

from dataclasses import dataclass, field


@dataclass(slots=True)
class Ticker:
    """Beats at `start` + n * `period`. However many beats were missed, they count as one."""

    period: float
    start: float
    next: float = field(init=False)

    def __post_init__(self) -> None:
        self.next = self.start + self.period

    def tick(self, now: float) -> bool:
        """Whether a beat has come; the next one is the first after `now`."""
        if now < self.next:
            return False
        missed = int((now - self.next) // self.period)
        self.next += (missed + 1) * self.period
        return True
