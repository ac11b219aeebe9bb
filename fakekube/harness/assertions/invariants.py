"""Predicates that must hold after each change of the cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Self

from fakekube.apiserver.storage.store import Change
from fakekube.harness.assertions.readonly import ReadOnlyCluster
from fakekube.harness.records.entry import offset
from fakekube.harness.timeline import Timeline
from fakekube.struct import Struct

Predicate = Callable[[ReadOnlyCluster], object]

#: Entries of the timeline that are shown before and after the change.
AROUND = 6


class Violated(AssertionError):
    """A predicate of `always` or `never` did not hold after a change."""


class _Violation(Struct, frozen=True):
    text: str
    wanted: bool
    change: Change
    at: datetime
    raised: BaseException | None


class Invariant:
    """A predicate that is checked until `stop()`, the end of a `with` block, or the end of the test."""

    def __init__(self, invariants: Invariants, predicate: Predicate, text: str, wanted: bool) -> None:
        self._invariants, self._predicate = invariants, predicate
        self.wanted: bool = wanted
        self.text: str = text

    def __repr__(self) -> str:
        return f"<Invariant {'always' if self.wanted else 'never'} {self.text!r}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Check the predicate no longer."""
        self._invariants.remove(self)

    def holds(self, cluster: ReadOnlyCluster) -> bool:
        """Raises what the predicate raises."""
        return bool(self._predicate(cluster)) is self.wanted

    def __str__(self) -> str:
        return f"{'always' if self.wanted else 'never'}: {self.text}"


class Invariants:
    """The invariants of a cluster. `failed` is called with the first violation of each."""

    def __init__(
        self,
        cluster: ReadOnlyCluster,
        timeline: Timeline,
        epoch: datetime,
        on_write: Callable[[Callable[[Change], None]], object],
    ) -> None:
        """`on_write`: calls a listener with each stored change. It is called when there is an invariant."""
        self._cluster, self._timeline, self._epoch = cluster, timeline, epoch
        self._on_write, self._listens = on_write, False
        self._active: list[Invariant] = []
        self._violations: list[_Violation] = []

    def add(self, predicate: Predicate, text: str, *, wanted: bool) -> Invariant:
        """Check a predicate now and from now on. Raises AssertionError if it does not hold now."""
        if not callable(predicate):
            raise TypeError(f"{predicate!r}: pass a function of the cluster, like `lambda cluster: ...`")
        if not isinstance(text, str) or not text:
            raise TypeError(f"text={text!r}: say what the predicate means")
        made = Invariant(self, predicate, text, wanted)
        if not made.holds(self._cluster):
            raise Violated(f"{made}\nit does not hold already")
        self._active.append(made)
        if not self._listens:
            self._listens = True
            self._on_write(self.committed)
        return made

    def remove(self, invariant: Invariant) -> None:
        if invariant in self._active:
            self._active.remove(invariant)

    def committed(self, change: Change) -> None:
        """Called with each stored change."""
        for invariant in tuple(self._active):
            raised: BaseException | None = None
            try:
                if invariant.holds(self._cluster):
                    continue
            except Exception as error:  # the predicate itself
                raised = error
            self._active.remove(invariant)
            self._violations.append(_Violation(str(invariant), invariant.wanted, change, self._cluster.now, raised))

    def raise_violation(self) -> None:
        """Raise the oldest violation that has not been raised yet, if any."""
        if self._violations:
            found = self._violations.pop(0)
            raise Violated(self._story(found)) from found.raised

    def _story(self, found: _Violation) -> str:
        change = found.change
        what = "deleted" if change.after is None else "created" if change.before is None else "updated"
        lines = [found.text]
        if found.raised is not None:
            lines.append(f"the predicate raised {type(found.raised).__name__}: {found.raised}")
        lines.append(
            f"{'not so' if found.wanted else 'so'} at {offset(found.at - self._epoch)}, revision {change.revision}: "
            f"{change.collection} {change.path} was {what}{self._writer(change.revision)}"
        )
        return "\n".join([*lines, "", *self._around(change.revision)])

    def _writer(self, revision: int) -> str:
        for entry in self._timeline:
            if entry.resource_version == str(revision):
                return f" by {entry.actor} ({entry.what})"
        return ""

    def _around(self, revision: int) -> Sequence[str]:
        entries = list(self._timeline)
        found = [number for number, one in enumerate(entries) if one.resource_version == str(revision)]
        if not found:
            return []
        shown = range(max(found[0] - AROUND, 0), min(found[0] + AROUND, len(entries)))
        lines = []
        for number in shown:
            at, *texts = entries[number][:5]
            mark = ">" if number == found[0] else " "
            lines.append("  ".join([f"{mark} {offset(at - self._epoch)}", *texts]).rstrip())
        return lines
