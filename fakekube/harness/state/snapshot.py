"""Snapshots of a cluster: they share the stored objects, which are immutable, with the cluster."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, fields
from typing import Any

from fakekube.apiserver.apiserver import ApiServer, ServerState
from fakekube.server.random import SeededRandom
from fakekube.server.runner import ServerRunner
from fakekube.virtualtime import VirtualClock


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a cluster that its stored objects depend on."""

    version: str
    authorization_mode: str
    service_cluster_ip_range: str
    admission_plugins: tuple[str, ...]

    @classmethod
    def of(cls, server: ApiServer) -> Settings:
        return cls(
            server.version["gitVersion"],
            ",".join(server.authorizer.modes),
            ",".join(map(str, server.networks)),
            tuple(sorted(server.admission_plugins)),
        )


@dataclass(frozen=True, slots=True, repr=False)
class Snapshot:
    """The objects, the revision and the random counters of a cluster at a time (microseconds since the epoch)."""

    settings: Settings
    server: ServerState
    attempts: Counter[tuple[str, str]]
    us: int

    def __repr__(self) -> str:
        return f"<Snapshot rev={self.server.store.revision} objects={self.server.store.size()}>"

    @property
    def revision(self) -> int:
        """The resourceVersion of the cluster when the snapshot was taken."""
        return self.server.store.revision


def take(runner: ServerRunner, random: SeededRandom, clock: VirtualClock) -> Snapshot:
    """A snapshot of a running server."""
    server = runner.apiserver
    return Snapshot(Settings.of(server), server.save(), random.attempts, clock.us)


def restore(
    snapshot: Snapshot, runner: ServerRunner, random: SeededRandom, clock: VirtualClock, *, is_observed: bool
) -> None:
    """Return to a snapshot, also one of another cluster. Raises TypeError, ValueError naming the setting that differs.

    is_observed: there are clients that know a later revision, which must not be used for something else. Time never
    moves backwards; a clock that is behind moves to the snapshot's time. Raises RuntimeError if a timer is due before.
    """
    if not isinstance(snapshot, Snapshot):
        raise TypeError(f"restore(snapshot={snapshot!r}): pass what snapshot() has returned")
    _check_settings(snapshot.settings, Settings.of(runner.apiserver))
    _check_timers(snapshot, clock)
    runner.restore(snapshot.server, after=runner.apiserver.store.revision if is_observed else None)
    random.resume(snapshot.attempts, keep=is_observed)
    clock.move_to(snapshot.us)


def _check_settings(saved: Settings, present: Settings) -> None:
    for field in fields(Settings):
        before, now = getattr(saved, field.name), getattr(present, field.name)
        if before != now:
            raise ValueError(
                f"restore(): the snapshot is of a cluster with {field.name}={_text(before)}, this one has {_text(now)}"
            )


def _text(value: Any) -> str:
    return ",".join(value) if isinstance(value, tuple) else str(value)


def _check_timers(snapshot: Snapshot, clock: VirtualClock) -> None:
    due = clock.next_timers(1) if snapshot.us > clock.us else ()
    if due and (due[0].at - clock.epoch).total_seconds() * 1_000_000 < snapshot.us:
        seconds = (snapshot.us - clock.us) / 1_000_000
        raise RuntimeError(
            f"restore(): the snapshot was taken {seconds:g} s later than the present time, and {due[0].callback} is "
            f"due before: call advance({seconds:g}) first"
        )
