"""The decisions of leader election: whether to acquire, renew or release a lease (client-go: tools/leaderelection).

The validity of a lease is counted from the local observation of its last change, not from its timestamps, because
clocks may differ.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from controllerlib.client.names import Object

#: The maximum jitter of the retry period (client-go: JitterFactor).
JITTER = 1.2


@dataclass(frozen=True, slots=True)
class LeaseRecord:
    """The record in a Lease: the holder, the times of acquisition and renewal (RFC 3339), and the number of
    transitions.

    `duration` is in whole seconds. `preferred_holder` and `strategy` belong to coordinated leader election.
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
        """Read the record of a Lease object."""
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
        """Return the spec of the Lease object."""
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
    """Raise ValueError unless lease > renew > 1.2 * retry and all are positive (seconds)."""
    if lease <= renew:
        raise ValueError("leaseDuration must be greater than renewDeadline")
    if renew <= JITTER * retry:
        raise ValueError("renewDeadline must be greater than retryPeriod*JitterFactor")
    for name, seconds in (("leaseDuration", lease), ("renewDeadline", renew), ("retryPeriod", retry)):
        if seconds < 1e-9:
            raise ValueError(f"{name} must be greater than zero")


@dataclass(slots=True)
class LeaseState:
    """The observations of one candidate. Times are monotonic seconds; `wall` is a timestamp to write.

    `observed` is the time at which the last change of `record` was read or written; None initially.
    """

    identity: str
    duration: float
    record: LeaseRecord = field(default_factory=LeaseRecord)
    observed: float | None = None
    reported: str = ""
    _read: LeaseRecord | None = None

    def is_leader(self) -> bool:
        """Return whether the last observed record names this candidate."""
        return self.record.holder == self.identity

    def is_valid(self, now: float) -> bool:
        """Return whether the last observed lease has not expired, counted from its observation."""
        return self.observed is not None and self.observed + self.record.duration > now

    def read(self, record: LeaseRecord, now: float) -> None:
        """Note a record that was read; the validity is extended only if it differs from the previous one."""
        if record != self._read:
            self._read = record
            self.wrote(record, now)

    def wrote(self, record: LeaseRecord, now: float) -> None:
        """Note a record that was written."""
        self.record, self.observed = record, now

    def may_take(self, now: float) -> bool:
        """Return whether the lease is held by this candidate, unheld, or expired."""
        return not self.record.holder or self.is_leader() or not self.is_valid(now)

    def claim(self, wall: str) -> LeaseRecord:
        """Return the record to write: a renewal if this candidate holds the lease, otherwise an acquisition (one
        transition more).
        """
        seconds, seen = int(self.duration), self.record
        if self.is_leader():
            return LeaseRecord(self.identity, seconds, seen.acquired, wall, seen.transitions)
        return LeaseRecord(self.identity, seconds, wall, wall, seen.transitions + 1)

    def coordinated(self, now: float, wall: str) -> LeaseRecord | None:
        """Return the record to write in a coordinated election.

        None if the lease has expired, is held by another candidate, or names a preferred holder.
        """
        seen = self.record
        if self.observed is None or self.observed + seen.duration < now:
            return None
        if not self.is_leader() or seen.preferred_holder:
            return None
        return replace(self.claim(wall), strategy=seen.strategy)

    def first(self, wall: str) -> LeaseRecord:
        """Return the record of a Lease to be created."""
        return LeaseRecord(self.identity, int(self.duration), wall, wall, 0)

    def released(self, wall: str) -> LeaseRecord:
        """Return the record of a released lease."""
        return LeaseRecord("", 1, wall, wall, self.record.transitions)

    def new_leader(self) -> str | None:
        """Return the leader if it differs from the one returned last; otherwise None."""
        if self.record.holder == self.reported:
            return None
        self.reported = self.record.holder
        return self.reported

    def health(self, now: float, lease_duration: float, tolerance: float) -> bool:
        """Return False if this candidate leads but has not renewed for longer than the lease duration
        plus `tolerance`.
        """
        if not self.is_leader() or self.observed is None:
            return True
        return now - self.observed <= lease_duration + tolerance
