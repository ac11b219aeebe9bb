"""Carries out the atoms of a plan: waits for their anchors, and does at each what the atom says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol, TypeVar

from fakekube.simulation.anchor import CALL, READS, Anchor
from fakekube.simulation.atoms import (
    LAG,
    LONGEST,
    SLOW,
    Atom,
    Crash,
    Downgrade,
    Drain,
    Dup,
    Evict,
    Failure,
    Gap,
    Hold,
    Hook,
    Jump,
    Late,
    Lose,
    Lost,
    NodeFault,
    Pause,
    Preempt,
    Race,
    Stale,
    Surge,
    Until,
    Upgrade,
    Zombie,
)
from fakekube.simulation.observation import TEST, Commit
from fakekube.simulation.plan import Plan

A = TypeVar("A")

#: After so many reconciles a cluster is not waited for to be at rest: the atom itself may keep it busy.
_BUSY = 10


class Hands(Protocol):
    """What an atom can do to a cluster. Operators are named as in commits."""

    def kill(self, operator: str) -> None:
        """Kill an operator; it stays down until `start`."""

    def start(self, operator: str) -> None:
        """Start a killed operator again, as a new incarnation."""

    def hold(self, operator: str, kind: str, revision: int) -> Callable[[], None]:
        """Hold the watches of a kind at a revision; returns what releases them. `operator` empty: of all operators."""

    def compact(self) -> None:
        """Compact the history."""

    def surge(self, operator: str) -> Callable[[], None]:
        """Start a second replica of an operator; returns what kills the first one."""

    def stop(self, operator: str) -> None:
        """Freeze an operator."""

    def resume(self, operator: str) -> None:
        """Let a frozen operator run on."""

    def race(self, how: str, commit: Commit) -> None:
        """Write an object as another client does."""

    def jump(self, seconds: int) -> None:
        """Let the clock jump ahead."""

    def time_out_webhooks(self) -> None:
        """Let the next calls of webhooks time out."""

    def resync(self) -> None:
        """Enqueue every key that was ever reconciled."""

    def switch(self, is_old: bool) -> None:
        """Start the old or the new release from now on."""

    def disrupt(self, fault: NodeFault) -> Callable[[], None] | None:
        """Take a pod from its node, after the present change; returns what ends that. None: it is on no node."""

    def after(self, seconds: float, action: Callable[[], None]) -> Callable[[], None]:
        """Call `action` after so many virtual seconds; returns what cancels it."""


def _nothing() -> None:
    """The default `cancel` and `on_released`."""


@dataclass(slots=True)
class _Pending:
    """An atom that has begun and not ended. `end` undoes it, `cancel` cancels its end after the longest time.

    `until`: None if it lasts for its own time.
    """

    until: Until | None
    end: Callable[[], None]
    cancel: Callable[[], None] = _nothing
    #: whether an operator is down or frozen, and whether a reconcile has begun since
    down: bool = False
    #: whether two replicas live
    doubled: bool = False
    armed: bool = False
    #: how many reconciles have ended since
    reconciles: int = 0


def _is_over(until: Until | None, anchor: Anchor) -> bool:
    """Whether the end of an atom is an update of an object that is deleted, so that it comes no more."""
    if not isinstance(until, Anchor) or until.target != anchor.target:
        return False
    return until.verb == "update" and anchor.verb == "delete"


def lasts(fault: NodeFault) -> float:
    """For how many virtual seconds a node is away, or its pods are on the way to another one."""
    return fault.seconds if isinstance(fault, Drain | Lose) else 0.0


def _itself(anchor: Anchor) -> Anchor:
    return anchor


def _ignore(number: int) -> None:
    """The default `on_fired`."""


@dataclass(slots=True)
class Injection:
    """The state of a plan in one run. `fired`: the numbers of the atoms that took effect."""

    plan: Plan
    hands: Hands
    fired: list[int] = field(default_factory=list)
    stale: dict[tuple[str, str], int] = field(default_factory=dict)
    """The revision that the next list of a kind by an operator reads."""
    is_over: bool = False
    """Whether nothing begins any more: everything is reconciled once more, to see what is written at rest (O4)."""
    last_revision: int = 0
    """That of the last change."""
    _resynced: int = 0
    _resyncing: bool = False
    _pending: list[_Pending] = field(default_factory=list)
    _hits: dict[int, int] = field(default_factory=dict)
    _old: dict[int, Commit] = field(default_factory=dict)

    # --- before something happens

    def before_read(self, anchor: Anchor) -> int:
        """The code with which a read fails, or a call to an external API, or 0."""
        if self.is_over:
            return 0
        for number, atom in self._of(Failure):
            if self._repeats(number, atom, anchor):
                return atom.code
        return 0

    def before_write(self, verb: str, target: str) -> bool:
        """Whether the sender of a write request is frozen, so that the write is late."""
        for number, atom in self._of(Zombie):
            if number not in self.fired and (atom.at.verb, atom.at.target) == (verb, target) and self._is_next(atom.at):
                self._fire(number)
                return True
        return False

    def before_commit(self, commit: Commit) -> int:
        """The code with which a write fails that is about to be stored, or 0; `commit` is what it would be."""
        if self.is_over:
            return 0
        for number, atom in self._of(Failure):
            if self._repeats(number, atom, commit.anchor):
                return atom.code
        for number, race in self._of(Race):
            if race.at == commit.anchor and number not in self.fired:
                self._fire(number)
                self.hands.race(race.how, commit)
        return 0

    def _repeats(self, number: int, atom: Failure, anchor: Anchor) -> bool:
        """Whether a request fails: the anchor is reached, and it has not failed often enough."""
        hits = self._hits.get(number, 0)
        if hits >= atom.times or atom.at.signature != anchor.signature:
            return False
        # a write that fails is not counted; one that is made again has the same occurrence
        reads = hits if anchor.verb in (*READS, CALL) else 0
        if anchor.occurrence != atom.at.occurrence + reads:
            return False
        self._hits[number] = hits + 1
        self._fire(number)
        return True

    def holds_answer(self, anchor: Anchor, release: Callable[[], None]) -> bool:
        """Whether the answer of a write that was stored, or of a read, is held until `release` is called."""
        for number, atom in self._of(Late) if not self.is_over else ():
            if atom.at == anchor and number not in self.fired:
                self._fire(number)
                self._wait(_Pending(atom.until, release), SLOW)
                return True
        return False

    # --- after something has happened

    def changed(self, number: int) -> None:
        """Called with the number of a generated change when it is made."""
        self._fire(number)

    def loses(self, anchor: Anchor) -> bool:
        """Whether the answer of a call to an external API is lost."""
        for number, atom in self._of(Lost) if not self.is_over else ():
            if atom.at == anchor and number not in self.fired:
                self._fire(number)
                return True
        return False

    def committed(self, commit: Commit) -> str:
        """Called with each stored change. Returns how its answer is lost: `504`, `reset`, or empty."""
        lost = ""
        self.last_revision = commit.revision
        self._end_pending(commit.anchor)
        if self.is_over:
            return lost
        for number, atom in enumerate(self.plan.atoms):
            if number in self.fired and not isinstance(atom, Stale):
                continue
            if isinstance(atom, Lost) and atom.at == commit.anchor and commit.by_operator:
                self._fire(number)
                lost = atom.how
            else:
                self._begin(number, atom, commit)
        return lost

    def _begin(self, number: int, atom: Atom, commit: Commit) -> None:  # noqa: C901 - a case for each atom
        anchor, who = commit.anchor, commit.actor
        match atom:
            case Crash(at=at) if at == anchor and (commit.by_operator or who == TEST):
                for operator in [who] if commit.by_operator else self.operators():
                    self._fire(number)
                    self._crash(operator, atom.until)
            case Pause(at=at) if at == anchor and commit.by_operator:
                self._fire(number)
                self.hands.stop(who)
                self._wait(_Pending(atom.until, lambda: self.hands.resume(who), down=True))
            case Surge(at=at) if at == anchor and (commit.by_operator or who == TEST):
                self._fire(number)
                for operator in self.operators():
                    self._wait(_Pending(atom.until, self.hands.surge(operator), doubled=True))
            case Hold(since=at) if at == anchor:
                self._fire(number)
                release = self.hands.hold("", atom.kind, commit.revision - 1)
                self._wait(_Pending(atom.until, release))
            case Gap(since=at) if at == anchor:
                self._fire(number)
                release = self.hands.hold("", atom.kind, commit.revision - 1)
                self._wait(_Pending(atom.until, partial(self._expire, release)))
            case Stale():
                self._stale(number, atom, commit)
            case Upgrade(at=at) | Downgrade(at=at) if at == anchor and (commit.by_operator or who == TEST):
                self._fire(number)
                self.hands.switch(isinstance(atom, Downgrade))
                for operator in self.operators():
                    self._crash(operator, None)
            case Jump(at=at) if at == anchor:
                self._fire(number)
                self.hands.jump(atom.seconds)
            case Hook(at=at) if at == anchor:
                self._fire(number)
                self.hands.time_out_webhooks()
            case Evict(at=at) | Preempt(at=at) | Drain(at=at) | Lose(at=at) if at == anchor:
                end = self.hands.disrupt(atom)
                if end is not None:
                    self._fire(number)
                    if seconds := lasts(atom):
                        self._wait(_Pending(None, end), seconds)

    def _crash(self, operator: str, until: Until | None) -> None:
        self.hands.kill(operator)
        if until is None:
            self.hands.start(operator)
        else:
            self._wait(_Pending(until, lambda: self.hands.start(operator), down=True))

    def _expire(self, release: Callable[[], None]) -> None:
        self.hands.compact()
        release()

    def _stale(self, number: int, atom: Stale, commit: Commit) -> None:
        if atom.at == commit.anchor:
            self._old[number] = commit
        old = self._old.get(number)
        if atom.when == commit.anchor and old is not None and number not in self.fired:
            if commit.at - old.at > LONGEST:
                return
            self._fire(number)
            revision = old.revision
            for operator in self.operators():
                self.hands.kill(operator)
                self.stale[operator, atom.kind] = revision
                self.hands.start(operator)
                release = self.hands.hold(operator, atom.kind, revision)
                self._wait(_Pending("reconcile", release))

    @property
    def hits(self) -> int:
        """How often atoms have taken effect."""
        return len(self.fired) + sum(self._hits.values())

    operators: Callable[[], list[str]] = list
    """The operators that run."""
    expected: Callable[[Anchor], Anchor] = _itself
    """The anchor that a change with this signature would have now."""

    def _is_next(self, anchor: Anchor) -> bool:
        return self.expected(anchor) == anchor

    def later(self, end: Callable[[], None]) -> None:
        """Call `end` when the cluster is quiescent."""
        self._pending.append(_Pending("rest", end))

    def _wait(self, one: _Pending, longest: float = LONGEST) -> None:
        """Let an atom go on until its end comes, or for the longest time.

        A cluster may be busy because of the atom, so that it is never at rest.
        """
        self._pending.append(one)
        one.cancel = self.hands.after(LAG if one.until == "rest" else longest, partial(self._end, one))

    @property
    def is_down(self) -> bool:
        """Whether an operator is down or frozen now."""
        return any(one.down for one in self._pending)

    @property
    def is_doubled(self) -> bool:
        """Whether two replicas of an operator live now."""
        return any(one.doubled for one in self._pending)

    @property
    def is_late(self) -> bool:
        """Whether a watch is late now until a change that is still to come, or a node is away."""
        return any(
            (one.until is None or isinstance(one.until, Anchor)) and not (one.down or one.doubled)
            for one in self._pending
        )

    def reconcile_started(self) -> None:
        """Called when a reconcile begins."""
        for one in self._pending:
            one.armed = True

    def reconcile_ended(self) -> None:
        """Called when a reconcile has ended: what waits for the end of one that has begun since ends.

        So does what waits for rest, if it does not come.
        """
        for one in [one for one in self._pending if one.armed]:
            one.reconciles += 1
            if one.until == "reconcile" or (one.until == "rest" and one.reconciles == _BUSY):
                self._end(one)

    def at_rest(self, time_moves: bool) -> bool:
        """Called when the cluster is quiescent. Whether something goes on that had waited.

        What waits for a reconcile may wait while time moves, but not when the test goes on.
        """
        if not time_moves and self._resyncs():
            return True
        ends = ("rest",) if time_moves else ("reconcile", "rest")
        waiting = [one for one in self._pending if one.until in ends]
        for one in waiting:
            self._end(one)
        return bool(waiting)

    def _resyncs(self) -> bool:
        """Reconcile everything once more where the test waits, if the plan says so and something was written since.

        What that writes is not followed by another resync, so that a reconcile that always writes comes to rest.
        """
        if not any(isinstance(atom, Dup) for atom in self.plan.atoms):
            return False
        due = self.last_revision != self._resynced and not self._resyncing
        self._resynced, self._resyncing = self.last_revision, due
        if due:
            for number, _ in self._of(Dup):
                self._fire(number)
            self.hands.resync()
        return due

    def end_all(self) -> bool:
        """End everything that has begun. Whether there was something."""
        waiting = tuple(self._pending)
        for one in waiting:
            self._end(one)
        return bool(waiting)

    def _end_pending(self, anchor: Anchor) -> None:
        for one in [one for one in self._pending if one.until == anchor or _is_over(one.until, anchor)]:
            self._end(one)

    def _end(self, one: _Pending) -> None:
        if one in self._pending:
            self._pending.remove(one)
            one.cancel()
            one.end()
            if one.until != "rest":
                self.on_released()

    on_released: Callable[[], None] = _nothing
    """Called when something ends that has lasted while time moved: operators see what was late only now."""
    on_fired: Callable[[int], None] = _ignore
    """Called with the number of each atom when it takes effect."""

    def _fire(self, number: int) -> None:
        if number not in self.fired:
            self.fired.append(number)
            self.on_fired(number)

    def _of(self, kind: type[A]) -> Iterator[tuple[int, A]]:
        for number, atom in enumerate(self.plan.atoms):
            if isinstance(atom, kind):
                yield number, atom
