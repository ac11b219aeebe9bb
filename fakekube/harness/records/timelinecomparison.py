"""Two timelines compared: their entries aligned by object and event, as text and as the data of a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, Protocol

import orjson

from fakekube.harness.records.alignment import Line, beside, first_difference
from fakekube.harness.records.document import encoded
from fakekube.harness.records.entry import offset
from fakekube.harness.records.entrykeys import Entry, Keyed, Side, actor_of, aligned, differ
from fakekube.harness.records.page import LAST, page
from fakekube.struct import Struct


class Exported(Protocol):
    """A timeline: `FakeKube.timeline`."""

    def to_json(self, *, title: str = "", last: int | None = None) -> str: ...


Recorded = Exported | Mapping[str, Any] | str | Path
"""A timeline, its JSON document, or the path of a file with it."""


def compare_timelines(
    left: Recorded, right: Recorded, *, names: tuple[str, str] = ("left", "right")
) -> TimelineComparison:
    """Compare two recorded timelines: `FakeKube.timeline`, or the document or the path of its JSON export.

    Entries are aligned by their actor, object and event, and not by their time. Raises ValueError for a file that is
    no timeline.
    """
    documents = _document(left), _document(right)
    return TimelineComparison.of(*documents, names=names)


class TimelineComparison(Struct, frozen=True):
    """Two documents of timelines, and the lines in which their entries are aligned.

    first: the number of the first line that differs; -1 if none does. As text it is both sides around that line.
    """

    left: Mapping[str, Any]
    right: Mapping[str, Any]
    names: tuple[str, str]
    lines: Sequence[Line]
    first: int

    @classmethod
    def of(
        cls,
        left: Mapping[str, Any],
        right: Mapping[str, Any],
        *,
        names: tuple[str, str],
        changes: tuple[Sequence[Keyed] | None, Sequence[Keyed] | None] = (None, None),
    ) -> TimelineComparison:
        """Align two documents: first the stored changes, then the other entries between them.

        changes: those of each side that are compared, with their keys; by default all.
        """
        sides = Side(left["entries"], changes[0]), Side(right["entries"], changes[1])
        lines = list(aligned(*sides))
        first = next(
            (
                at
                for at, line in enumerate(lines)
                if not line.same and any(side.compares(i) for side, i in zip(sides, line[:2], strict=True))
            ),
            first_difference(lines),
        )
        return cls(left, right, names, lines, first if first < len(lines) else -1)

    def __str__(self) -> str:
        if self.first < 0:
            return "the timelines do not differ"
        texts = [[_text(one) for one in document["entries"]] for document in (self.left, self.right)]
        return "\n".join(beside(self.lines, texts[0], texts[1], self.first, self.names, "entries"))

    def __repr__(self) -> str:
        return f"<TimelineComparison\n{self}>"

    @property
    def first_difference(self) -> tuple[str, str] | None:
        """The texts of the two entries that differ first, empty for a side that has none; None if nothing differs."""
        if self.first < 0:
            return None
        left, right = self._entries(self.lines[self.first])
        return ("" if left is None else _text(left), "" if right is None else _text(right))

    def html(self, path: str | Path, *, title: str = "") -> Path:
        """Write one self-contained HTML page. Returns its path."""
        return self.page(path, {"title": title or f"{self.names[0]} and {self.names[1]}"})

    def page(self, path: str | Path, more: Mapping[str, Any]) -> Path:
        """Write the page with further fields of its document; those of `comparison` are added to the alignment."""
        found = Path(path)
        document = self.document()
        document["comparison"] |= more.get("comparison", {})
        document |= {name: value for name, value in more.items() if name != "comparison"}
        found.parent.mkdir(parents=True, exist_ok=True)
        found.write_text(page(encoded(document), compares=True), encoding="utf-8", errors="backslashreplace")
        return found

    def document(self) -> dict[str, Any]:
        """The data of the page: a timeline's document with the entries of both sides, and how they are aligned.

        The entries of the right are numbered above those of the left. Only the 5,000 lines around the first difference
        are included.
        """
        start = max(0, min(max(0, self.first) - LAST // 2, len(self.lines) - LAST))
        shown = self.lines[start : start + LAST]
        above = 10 ** len(str(max((one["serial"] for one in self.left["entries"]), default=0)))
        entries: list[Entry] = []
        rows = []
        for line in shown:
            left, right = self._entries(line)
            made = [
                None if one is None else _on_side(one, side, side * above) for side, one in enumerate((left, right))
            ]
            entries += [one for one in made if one is not None]
            mark = "≠" if not line.same else "~" if differ(left, right) else ""
            rows.append([*(0 if one is None else one["serial"] for one in made), mark])
        total = len(self.left["entries"]) + len(self.right["entries"])
        return {
            "format": self.left["format"],
            "title": "",
            "epoch": self.left["epoch"],
            "dropped": self.left["dropped"] + self.right["dropped"] + total - len(entries),
            "entries": entries,
            "comparison": {"names": self.names, "rows": rows, "first": self.first - start if self.first >= 0 else -1},
        }

    def _entries(self, line: Line) -> tuple[Entry | None, Entry | None]:
        return (
            None if line.left is None else self.left["entries"][line.left],
            None if line.right is None else self.right["entries"][line.right],
        )


def _document(recorded: Recorded) -> Mapping[str, Any]:
    if isinstance(recorded, Mapping):
        found: Any = recorded
    elif isinstance(recorded, str | Path):
        try:
            found = orjson.loads(Path(recorded).read_bytes())
        except orjson.JSONDecodeError as error:
            raise ValueError(f"{str(recorded)!r} is no timeline that was saved as JSON: {error}") from None
    else:
        found = orjson.loads(recorded.to_json())
    if not isinstance(found, Mapping) or "entries" not in found:
        raise ValueError(f"{recorded!r} is no timeline that was saved as JSON: it has no entries")
    return found


def _on_side(entry: Entry, side: int, above: int) -> dict[str, Any]:
    """An entry of one side of the page, numbered anew."""
    because = [one + above for one in entry["because"]]
    return {
        **entry, "serial": entry["serial"] + above, "because": because, "side": side, "role": actor_of(entry["actor"])
    }  # fmt: skip


def _text(entry: Entry) -> str:
    return f"{offset(timedelta(microseconds=entry['at']))} {entry['actor']}: {entry['what']}"
