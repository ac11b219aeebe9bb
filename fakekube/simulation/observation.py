"""What is observed of one run: plain data, which can be compared, and sent between processes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from fakekube.simulation.anchor import EXTERNAL, Anchor
from fakekube.simulation.bounds import Cost

Object = Mapping[str, Any]

#: The actor of what the test writes itself, of what `race` writes, and the prefix of the actors that are operators.
TEST, RACE, OPERATOR = "test", "race", "operator "

#: The actor that is the cluster's own controllers, scheduler and kubelets.
CLUSTER = "cluster"


@dataclass(frozen=True, slots=True)
class Commit:
    """A stored change.

    at: virtual seconds since the start. actor: `test`, `race`, `operator NAME`, `controller NAME` or a user agent.
    incarnation: that of the operator, from 1; 0 for others. controller, key: the reconcile that wrote, or empty.
    rest: whether it was written in the check for writes at rest. before, after: the object, None if there is none.
    """

    revision: int
    at: float
    anchor: Anchor
    kind: str
    namespace: str
    name: str
    actor: str
    incarnation: int = 0
    controller: str = ""
    key: str = ""
    rest: bool = False
    before: Object | None = None
    after: Object | None = None

    @property
    def by_operator(self) -> bool:
        return self.actor.startswith(OPERATOR)

    @property
    def is_deletion(self) -> bool:
        """Whether an object is deleted, or marked as deleted: it has finalizers, or its node has to end it first."""
        if self.after is None:
            return self.anchor.verb == "delete"
        was, now = ((one or {}).get("metadata") or {} for one in (self.before, self.after))
        return "deletionTimestamp" in now and "deletionTimestamp" not in was

    @property
    def is_external(self) -> bool:
        """Whether an item of an external API has changed, and no object."""
        return self.kind == EXTERNAL

    @property
    def uid(self) -> str:
        found: str = ((self.after or self.before or {}).get("metadata") or {}).get("uid", "")
        return found


@dataclass(frozen=True, slots=True)
class Delivery:
    """A watch event that an operator's informer was sent: the revision, and when; `reconciles`: how many had begun."""

    revision: int
    at: float
    kind: str
    operator: str
    reconciles: int


@dataclass(frozen=True, slots=True)
class ReconcileRecord:
    """A reconcile: when it started and ended, in virtual seconds and as numbers of commits before; and its result.

    seen: the revision of the newest event that the operator's informers had delivered at its start, for each kind.
    error: the text of the exception, `unexpected` whether it is a defect rather than an answer of the server.
    read: the targets that it has read from the server itself. cause: why it ran, as `retry` or `added+updated`.
    """

    operator: str
    incarnation: int
    controller: str
    key: str
    started: float
    first: int
    last: int
    seen: Mapping[str, int] = field(default_factory=dict)
    error: str = ""
    unexpected: bool = False
    requeue_after: float | None = None
    read: tuple[str, ...] = ()
    cause: str = ""


@dataclass(frozen=True, slots=True)
class Observation:
    """One run.

    failure: the failure of the test itself, as text; where: `FILE:LINE`, as far as it is known; code: that line.
    inconclusive: whether it failed while an operator was down or a watch late, so that its failure says nothing.
    steps: the names of the test's steps.
    unsettled: why the cluster did not become quiescent, or empty.
    unjudged: what has happened because of real time, so that another run may differ, or empty.
    final: the objects at the end, by target. reads: the reads of reconciles from the server.
    calls: the calls of operators to external APIs, each with whether it is awaited, so that its answer may be late.
    raced: the revisions of writes right before which another client wrote the object, while they were handled.
    violations: of predicates that must always hold.
    lost: exceptions of tasks that were not retrieved, and failures in the background.
    external: the targets of the items that declared external APIs have at the end.
    skipped: whether a watch was late or an operator down, so that it may not have seen each state.
    moved: whether a pod was taken from its node, so that another one has replaced it.
    fired: the atoms that took effect. streams: what was wrong with watch streams of the server.
    ended: the virtual seconds at which the test ended. rests: the revisions at which the cluster was quiescent.
    released: whether the release of the operator has changed; None if the plan has no such change.
    mode: whether the run gave a new cluster the last spec, or took the last change back.
    """

    seed: int
    failure: str = ""
    where: str = ""
    code: str = ""
    inconclusive: bool = False
    unsettled: str = ""
    unjudged: str = ""
    final: Mapping[str, Object] = field(default_factory=dict)
    commits: Sequence[Commit] = ()
    deliveries: Sequence[Delivery] = ()
    reconciles: Sequence[ReconcileRecord] = ()
    reads: Sequence[Anchor] = ()
    calls: Sequence[tuple[Anchor, bool]] = ()
    raced: Sequence[int] = ()
    violations: Sequence[str] = ()
    lost: Sequence[str] = ()
    external: Sequence[str] = ()
    skipped: bool = False
    moved: bool = False
    fired: Sequence[int] = ()
    streams: Sequence[str] = ()
    steps: Sequence[str] = ()
    ended: float = 0.0
    rests: Sequence[int] = ()
    mode: Literal["", "fresh", "rollback"] = ""
    released: bool | None = None
    cost: Cost = field(default_factory=Cost)
    timeline: str = ""
    """The timeline as JSON; empty unless it is recorded."""

    def by_operators(self) -> Sequence[Commit]:
        """The changes that operators wrote while the test ran."""
        return [one for one in self.commits if one.by_operator and not one.rest]


@dataclass(frozen=True, slots=True)
class Violation:
    """An oracle that a run fails: its name, the object or controller that it concerns, and the difference."""

    oracle: str
    target: str
    text: str

    def __str__(self) -> str:
        return f"{self.oracle}: {self.target} {self.text}" if self.target else f"{self.oracle}: {self.text}"

    def same_as(self, other: Violation) -> bool:
        """Whether the same oracle fails on the same object."""
        return (self.oracle, self.target) == (other.oracle, other.target)
