"""Leader election decided: whether to take, keep or leave a lease (client-go: tools/leaderelection).

Validity counts from when a change was seen here, never from what the record says of its time: clocks may differ.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from controllerlib.client.names import Object

#: How much longer than the retry period a candidate may wait (client-go: JitterFactor).
JITTER = 1.2


@dataclass(frozen=True, slots=True)
class LeaseRecord:
    """What a Lease says: who leads, since when, renewed when (RFC 3339), and how often that changed.

    `duration` is in whole seconds. `preferred_holder` and `strategy` are those of coordinated election.
    """

    holder: str = ""
    duration: int = 0
    acquired: str = ""
    renewed: str = ""
    transitions: int = 0
    preferred_holder: str = ""
    strategy: str = ""

    @classmethod
    def of(cls, lease: Mapping[str, Any]) -> "LeaseRecord":
        """From a Lease object."""
        spec = lease.get("spec") or {}
        return cls(
            spec.get("holderIdentity") or "",
            spec.get("leaseDurationSeconds") or 0,
            spec.get("acquireTime") or "",
            spec.get("renewTime") or "",
            spec.get("leaseTransitions") or 0,
            spec.get("preferredHolder") or "",
            spec.get("strategy") or "",
        )

    def spec(self) -> Object:
        """The spec of the Lease object."""
        coordinated = {"preferredHolder": self.preferred_holder, "strategy": self.strategy}
        return {
            "holderIdentity": self.holder,
            "leaseDurationSeconds": self.duration,
            "acquireTime": self.acquired,
            "renewTime": self.renewed,
            "leaseTransitions": self.transitions,
            **{name: value for name, value in coordinated.items() if value},
        }


def check_durations(lease: float, renew: float, retry: float) -> None:
    """Raise ValueError unless lease > renew > 1.2 * retry, all positive (seconds)."""
    if lease <= renew:
        raise ValueError("leaseDuration must be greater than renewDeadline")
    if renew <= JITTER * retry:
        raise ValueError("renewDeadline must be greater than retryPeriod*JitterFactor")
    for name, seconds in (("leaseDuration", lease), ("renewDeadline", renew), ("retryPeriod", retry)):
        if seconds < 1e-9:
            raise ValueError(f"{name} must be greater than zero")


@dataclass(slots=True)
class LeaseState:
    """What one candidate has seen of a lease. Times are monotonic seconds, `wall` is the text to write.

    `observed` is when `record` was last seen to change here, be it read or written; None before.
    """

    identity: str
    duration: float
    record: LeaseRecord = field(default_factory=LeaseRecord)
    observed: float | None = None
    reported: str = ""
    _read: LeaseRecord | None = None

    def is_leader(self) -> bool:
        """Whether the last record seen names us."""
        return self.record.holder == self.identity

    def is_valid(self, now: float) -> bool:
        """Whether the lease seen last has not run out, by its own duration counted from when it was seen."""
        return self.observed is not None and self.observed + self.record.duration > now

    def read(self, record: LeaseRecord, now: float) -> None:
        """Take note of a record that was read; only one that differs from the last one read begins a new period."""
        if record != self._read:
            self._read = record
            self.wrote(record, now)

    def wrote(self, record: LeaseRecord, now: float) -> None:
        """Take note of a record that we wrote."""
        self.record, self.observed = record, now

    def may_take(self, now: float) -> bool:
        """Whether the lease is ours, nobody's, or has run out."""
        return not self.record.holder or self.is_leader() or not self.is_valid(now)

    def claim(self, wall: str) -> LeaseRecord:
        """The record to write: renewed if it is ours, else taken over (one transition more)."""
        seconds, seen = int(self.duration), self.record
        if self.is_leader():
            return LeaseRecord(self.identity, seconds, seen.acquired, wall, seen.transitions)
        return LeaseRecord(self.identity, seconds, wall, wall, seen.transitions + 1)

    def coordinated(self, now: float, wall: str) -> LeaseRecord | None:
        """The record to write when somebody else decides who leads: None unless the lease was given to us for now."""
        seen = self.record
        if self.observed is None or self.observed + seen.duration < now:
            return None
        if not self.is_leader() or seen.preferred_holder:
            return None
        return replace(self.claim(wall), strategy=seen.strategy)

    def first(self, wall: str) -> LeaseRecord:
        """The record of a lease that does not exist yet."""
        return LeaseRecord(self.identity, int(self.duration), wall, wall, 0)

    def released(self, wall: str) -> LeaseRecord:
        """The record that leaves the lease to whoever asks next."""
        return LeaseRecord("", 1, wall, wall, self.record.transitions)

    def new_leader(self) -> str | None:
        """The leader, if it is another than the one reported last; it then counts as reported."""
        if self.record.holder == self.reported:
            return None
        self.reported = self.record.holder
        return self.reported

    def health(self, now: float, lease_duration: float, tolerance: float) -> bool:
        """False when we lead but have not renewed for longer than the lease and `tolerance`."""
        if not self.is_leader() or self.observed is None:
            return True
        return now - self.observed <= lease_duration + tolerance
