"""The finished reconciles of all operators. They are numbered and counted when read, or when there are many."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, cast

from fakekube.harness.records.identity import CLUSTER, Identities, Identity
from fakekube.harness.records.kept import Bounded
from fakekube.harness.records.reconciles import Reconcile, Running, compact, expanded

#: The numbers of reconciles, and of those that only renewed a lease or a node, that are kept.
LIMIT, HEARTBEATS = 50_000, 1_000

#: The number of reconciles that are numbered together. Most tests have fewer, and read none: they do not pay for it.
#: More would take much memory, and the time of the garbage collector.
TOGETHER = 4_096

_NEVER = (0, 0)


class Finished:
    """The finished reconciles; `identities` learns what their controllers reconcile."""

    def __init__(self, identities: Identities) -> None:
        self._identities = identities
        #: not numbered yet
        self._fresh: list[Running] = []
        self._others, self._heartbeats = _Kept(LIMIT), _Kept(HEARTBEATS)
        #: by operator, then by controller and key: how often it was reconciled, and the serial of the latest reconcile
        self._latest: dict[Identity, dict[tuple[str, str], tuple[int, int]]] = defaultdict(dict)

    def __len__(self) -> int:
        """How many are kept, without those that only renewed a lease or a node."""
        self.complete()
        return len(self._others)

    def add(self, running: Running) -> None:
        """Add a reconcile that has finished."""
        self._fresh.append(running)
        if len(self._fresh) >= TOGETHER:
            self.complete()

    def added(self, running: Running) -> Reconcile:
        """Add a reconcile that has finished, and return it."""
        self._fresh.append(running)
        self.complete()
        return self._kept_with(running).latest()

    def _kept_with(self, running: Running) -> _Kept:
        """The sequence that a reconcile belongs to."""
        return self._heartbeats if running.writes and _is_heartbeat(running) else self._others

    def complete(self) -> None:
        """Number the reconciles since the last call."""
        fresh, self._fresh = self._fresh, []
        more: dict[_Kept, list[tuple[Any, ...]]] = {self._others: [], self._heartbeats: []}
        for running in fresh:
            latest, who = self._latest[running.identity], (running.run.controller, running.key)
            times, previous = latest.get(who, _NEVER)
            latest[who] = times + 1, running.serial
            if not times:
                self._first(running)
            more[self._kept_with(running)].append(compact(running, times + 1, previous))
        for kept, added in more.items():
            kept.extend(added)

    def _first(self, running: Running) -> None:
        identity, controller, key = running.identity, running.run.controller, running.key
        self._identities.has_controller(identity, controller)
        for cause in running.run.causes:
            if cause.name and key == (f"{cause.namespace}/{cause.name}" if cause.namespace else cause.name):
                self._identities.reconciles(identity, controller, cause.api_version, cause.object_kind)
                return

    def total(self) -> int:
        """How many have finished, whether they are kept or not."""
        self.complete()
        return self.dropped + len(self._others) + len(self._heartbeats)

    @property
    def dropped(self) -> int:
        """How many are no longer kept."""
        self.complete()
        return self._others.dropped + self._heartbeats.dropped

    def read(self) -> Sequence[Reconcile]:
        """Those that are kept, in the order of their ends."""
        self.complete()
        if not self._heartbeats:
            return self._others.read()
        return sorted([*self._others.read(), *self._heartbeats.read()], key=_end)

    @property
    def others(self) -> Sequence[Reconcile]:
        """Those that have not only renewed a lease or a node."""
        self.complete()
        return self._others.read()

    @property
    def others_dropped(self) -> int:
        """How many of `others` are no longer kept."""
        self.complete()
        return self._others.dropped

    def counts(self, identity: Identity) -> Mapping[tuple[str, str], tuple[int, int]]:
        """Of an operator, by controller and key: how many, and the serial of the latest; all count, kept or not."""
        self.complete()
        return self._latest.get(identity, {})

    def before(self, running: Running) -> tuple[int, int]:
        """How many there were of the controller and key of a reconcile in progress, and the serial of the latest."""
        return self.counts(running.identity).get((running.run.controller, running.key), _NEVER)


class _Kept:
    """Reconciles, oldest first. Most are never read: until then, each is one tuple of numbers and texts."""

    def __init__(self, limit: int) -> None:
        self._kept: Bounded[tuple[Any, ...]] = Bounded(limit)

    def __len__(self) -> int:
        return len(self._kept.items)

    @property
    def dropped(self) -> int:
        return self._kept.dropped

    def extend(self, more: Sequence[tuple[Any, ...]]) -> None:
        self._kept.extend(more)

    def latest(self) -> Reconcile:
        return expanded(self._kept.items[-1])

    def read(self) -> Sequence[Reconcile]:
        items = self._kept.items
        for number in range(len(items) - 1, -1, -1):
            if isinstance(items[number], Reconcile):
                break  # those before it were read together with it
            items[number] = expanded(items[number])
        return cast("list[Reconcile]", items)


def _end(reconcile: Reconcile) -> datetime:
    return reconcile.started + reconcile.duration


#: The paths of leases, and of the statuses of nodes, which kubelets write every 5 minutes.
_RENEWED = re.compile(r"/leases/|^/api/v1/nodes/[^/]+/status$")


def _is_heartbeat(found: Running) -> bool:
    """Whether a periodic reconcile has only renewed a lease, or the heartbeat of a simulated node: one row of the
    timeline counts them all.

    Other controllers may write the status of a node for other reasons.
    """
    _, path, *_ = found.writes  # of the first one
    if "/leases/" not in path and found.identity.operator != CLUSTER:
        return False
    if found.outcome.error is not None or not all(cause.kind == "requeue_after" for cause in found.run.causes):
        return False
    return all(one.code == 200 and _RENEWED.search(one.path) and one.verb != "delete" for one in found.written())
