"""The plans of an exploration: a fault at one committed write, as requests for the control API and signals."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from fakekube.apiserver.requestlog import RequestRecord
from fakekube.simulation.anchor import UID, Anchor
from fakekube.simulation.statemask import is_compared

Atom = Literal["crash", "before", "down", "503", "cut", "pause"]

#: What can happen at a write, in the order in which it is tried: what finds most first, what lasts longest last.
#: crash: the process is killed when the write is committed and not answered. before: it is killed when the write
#: arrives, so that the one before it was answered. down: the server breaks off and comes back after DOWN. 503: the
#: write is refused three times. cut: connections break, and watches must list again. pause: the process stands still.
ATOMS: Sequence[Atom] = ("crash", "before", "503", "down", "cut", "pause")

#: What `--atoms` accepts; `crash` is both moments.
CHOICES = ("crash", "down", "pause", "503", "cut")

#: The options of `fakekube explore` that are not those of its server.
FIELDS = ("start", "agent", "after", "quiet", "within", "patience", "budget", "atoms", "stop_at_first", "report")

#: Seconds for which the server is down, and for which a process stands still: longer than the leases of client-go.
DOWN, PAUSED = 5, 20

#: A request that a fault stops is not answered for so long; by then it was acted on.
_HELD = "1h"

#: How often a write is refused.
_REFUSALS = 3

#: The verbs of requests that write.
_WRITES = ("create", "update", "patch", "delete", "deletecollection")


@dataclass(frozen=True, slots=True)
class Write:
    """A committed write of the agent: the anchor of its change, and the request, as a fault matches it."""

    anchor: Anchor
    match: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class FaultPlan:
    """One fault at one write."""

    atom: Atom
    write: Write

    def __str__(self) -> str:
        return f"{self.atom}@{self.write.anchor}"

    @property
    def fault(self) -> Mapping[str, Any]:
        """The body of `POST /faults`."""
        match = self.write.match
        if self.atom == "503":
            return {**match, "error": 503, "times": _REFUSALS}
        if self.atom == "before":
            return {**match, "delay": _HELD, "times": 1}
        return {"on": "bodies", **match, "delay": "1s" if self.atom == "pause" else _HELD, "times": 1}

    @property
    def kills(self) -> bool:
        return self.atom in ("crash", "before")

    @property
    def skips(self) -> bool:
        """Whether the agent may not see each state because of it."""
        return self.atom in ("crash", "before", "pause", "down", "cut")

    def calls(self, agent: str) -> Sequence[tuple[str, Mapping[str, Any]]]:
        """The requests `POST PATH BODY` that are made when it has taken effect."""
        if self.atom == "down":
            return [("/server:down", {"for": f"{DOWN}s"})]
        if self.atom == "cut":
            return [("/compact", {}), ("/connections:cut", {"userAgent": agent})]
        return []


def plans(writes: Iterable[Write], atoms: Sequence[str]) -> Sequence[FaultPlan]:
    """A plan for each atom and write, in the order in which they are tried. `atoms`: of CHOICES."""
    found = list(writes)
    wanted = [one for one in ATOMS if one in atoms or (one == "before" and "crash" in atoms)]
    return [FaultPlan(atom, write) for atom in wanted for write in found]


def writes_of(records: Iterable[RequestRecord], changes: Mapping[int, Anchor], agent: str) -> Iterator[Write]:
    """The committed writes of the agent, whose records are given in order.

    `changes`: the anchors of what requests have changed, by the serial of their record. Writes of leases and Events are
    none: what happens at them says little.
    """
    before: Counter[tuple[tuple[str, Any], ...]] = Counter()
    for record in records:
        if record.verb not in _WRITES:
            continue
        match = _match(record, changes.get(record.serial), agent)
        key = tuple(match.items())
        anchor = changes.get(record.serial)
        if anchor is not None and is_compared(anchor.target):
            yield Write(anchor, {**match, **({"after": before[key]} if before[key] else {})})
        before[key] += 1


def _match(record: RequestRecord, anchor: Anchor | None, agent: str) -> dict[str, Any]:
    """The fields of a fault that matches the request; a create has no name, and a generated one is a pattern."""
    found: dict[str, Any] = {"verb": record.verb, "resource": record.resource, "subresource": record.subresource}
    if record.object_namespace:
        found["namespace"] = record.object_namespace
    if record.verb not in ("create", "deletecollection"):
        last = anchor.target.rpartition("/")[2] if anchor is not None else record.name
        found["name"] = re.sub(r"~\d+$", "", last) if "*" in last else UID.sub("*", record.name)
    found["userAgent"] = agent
    return found
