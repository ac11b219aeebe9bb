"""Kills that happen at a write."""

from __future__ import annotations

from collections.abc import Callable

from fakekube.harness.faultinjection.statechange import Anchor, StateChange


class PlannedKill:
    """Kills a process after its nth state-changing write, or after the write that an anchor names.

    The write is stored; the process does not get the answer. `seen` counts the matching writes, `hits` is 1 when the
    process has been killed by this plan.
    """

    def __init__(self, process: str, kill: Callable[[], object], after_write: int | None, at: Anchor | None) -> None:
        self.process: str = process
        self.seen: int = 0
        self.hits: int = 0
        self.active: bool = True
        self.at: StateChange | None = None
        """The write after which the process was killed."""
        #: called when the process has been killed
        self.on_killed: Callable[[StateChange], object] | None = None
        self._kill, self._count, self._anchor = kill, after_write, at

    def committed(self, change: StateChange) -> None:
        """Called with each state change of the process."""
        if not self.active or (self._anchor is not None and not self._anchor.matches(change)):
            return
        self.seen += 1
        if self.seen == (self._anchor.occurrence if self._anchor is not None else self._count):
            self.hits, self.active, self.at = 1, False, change
            self._kill()
            if self.on_killed is not None:
                self.on_killed(change)

    def cancel(self) -> None:
        """Give the plan up."""
        self.active = False

    @property
    def problem(self) -> str:
        """Why the plan has done nothing; empty if it has, or was given up."""
        if not self.active:
            return ""
        when = f"at={str(self._anchor)!r}" if self._anchor is not None else f"after_write={self._count}"
        return f"kill({self.process}, {when}) has not happened: {self.seen} matching writes were made"

    def __repr__(self) -> str:
        when = f"at {self._anchor}" if self._anchor is not None else f"after write {self._count}"
        state = "killed" if self.hits else "active" if self.active else "cancelled"
        return f"<PlannedKill {self.process} {when}: {state}, {self.seen} writes seen>"
