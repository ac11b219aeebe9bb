"""Chains of causes: why something happened, and what it led to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple, overload

from fakekube.harness.records.entry import Summary, TimelineEntry, offset

#: The most entries of a story.
LONGEST = 200


class Row(NamedTuple):
    """An entry with its summary."""

    entry: TimelineEntry
    summary: Summary


class Step(NamedTuple):
    """An entry of a story, and how many steps it is away from the one that the story is about."""

    entry: TimelineEntry
    depth: int


class Story(Sequence[TimelineEntry]):
    """An entry, then what caused it (or what it led to), each followed by its own causes.

    As text it is one entry a line, indented by its distance.
    """

    def __init__(self, steps: Sequence[Step], epoch: datetime, arrow: str, left_out: int) -> None:
        self._steps, self._epoch, self._arrow, self._left_out = steps, epoch, arrow, left_out

    @overload
    def __getitem__(self, index: int) -> TimelineEntry: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[TimelineEntry]: ...
    def __getitem__(self, index: int | slice) -> TimelineEntry | Sequence[TimelineEntry]:
        return [step.entry for step in self._steps][index]

    def __len__(self) -> int:
        return len(self._steps)

    def __str__(self) -> str:
        lines = [
            f"{'  ' * (depth - 1)}{self._arrow + ' ' if depth else ''}{offset(entry.at - self._epoch)} {entry}"
            for entry, depth in self._steps
        ]
        return "\n".join(lines + ([f"({self._left_out} more)"] if self._left_out else []))

    def __repr__(self) -> str:
        return f"<Story\n{self}>"


class Joined:
    """The entries of a timeline, joined by cause."""

    def __init__(self, summaries: Sequence[tuple[int, datetime, Summary]], epoch: datetime) -> None:
        self._epoch = epoch
        made = {revision: serial for serial, _, one in summaries for revision in one.commits}
        known = {serial for serial, _, _ in summaries}
        self.rows: dict[int, Row] = {}
        for serial, at, one in summaries:
            found = [*one.because, *(made.get(revision, 0) for revision in one.reacted_to)]
            because = tuple(dict.fromkeys(each for each in found if each in known and each != serial))
            entry = TimelineEntry(
                at, one.actor, one.what, one.resource_version, one.cause, serial, one.kind, one.object, because
            )
            self.rows[serial] = Row(entry, one)
        self.effects: dict[int, list[int]] = {}
        for serial, row in self.rows.items():
            for cause in row.entry.because:
                self.effects.setdefault(cause, []).append(serial)

    def why(self, serial: int) -> Story:
        """The entry and its causes. Raises LookupError for one that is not kept."""
        return self._story(serial, {number: row.entry.because for number, row in self.rows.items()}, "because of")

    def led_to(self, serial: int) -> Story:
        """The entry and its effects. Raises LookupError for one that is not kept."""
        return self._story(serial, self.effects, "led to")

    def _story(self, serial: int, following: Mapping[int, Sequence[int]], arrow: str) -> Story:
        if serial not in self.rows:
            kept = f"{min(self.rows)} to {max(self.rows)}" if self.rows else "none"
            raise LookupError(f"the timeline has no entry with the serial {serial} (kept: {kept})")
        steps = list(_walk(serial, following))
        shown = [Step(self.rows[number].entry, depth) for number, depth in steps[:LONGEST]]
        return Story(shown, self._epoch, arrow, len(steps) - len(shown))


def _walk(start: int, following: Mapping[int, Sequence[int]]) -> Iterator[tuple[int, int]]:
    """An entry and all that follow from it, depth first, each once, with their distances."""
    seen, pending = {start}, [(start, 0)]
    while pending:
        serial, depth = pending.pop()
        yield serial, depth
        fresh = [each for each in following.get(serial, ()) if each not in seen]
        seen.update(fresh)
        pending += [(each, depth + 1) for each in reversed(fresh)]
