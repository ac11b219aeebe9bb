"""What happened in a cluster, in order; appended to the report of a failing test."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple, TypeVarTuple

Args = TypeVarTuple("Args")


class Summary(NamedTuple):
    """The text of an entry: the actor, what it did, the resourceVersion, and the cause."""

    actor: str
    what: str
    resource_version: str = ""
    cause: str = ""


class TimelineEntry(NamedTuple):
    """A `Summary` with its virtual time."""

    at: datetime
    actor: str
    what: str
    resource_version: str
    cause: str


class Timeline:
    """The last `limit` entries, oldest first. An entry is formatted only when it is read."""

    def __init__(self, epoch: datetime, limit: int = 50_000) -> None:
        self._epoch = epoch
        self._entries: deque[tuple[Any, ...]] = deque(maxlen=limit)
        self._total = 0

    @property
    def epoch(self) -> datetime:
        """The virtual time at which the cluster has started."""
        return self._epoch

    def __iter__(self) -> Iterator[TimelineEntry]:
        return (TimelineEntry(at, *summarize(*args)) for at, summarize, *args in self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, at: datetime, summarize: Callable[[*Args], Summary], *args: *Args) -> None:
        """Add an entry; `summarize(*args)` is called at each reading and must return the same each time."""
        self._entries.append((at, summarize, *args))
        self._total += 1

    def render(self, last: int | None = None) -> str:
        """The entries as a table, or the `last` ones; its first line counts those left out."""
        entries = list(self._entries)
        shown = entries if last is None else entries[-last:]
        rows = [("time", "actor", "what", "rv", "cause")]
        rows += [(offset(at - self._epoch), *summarize(*args)) for at, summarize, *args in shown]
        left_out = self._total - len(shown)
        head = [f"({left_out} earlier entries left out)"] if left_out else []
        return "\n".join([*head, *_table(rows)])


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [min(max(len(row[i]) for row in rows), 60) for i in range(4)]
    return [
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[4]]).rstrip()
        for row in rows
    ]


def offset(since: timedelta) -> str:
    """A virtual time as the time since the cluster's start: `+1d 02:03:04.005`."""
    total = since // timedelta(microseconds=1)
    seconds, micro = divmod(total, 1_000_000)
    days, seconds = divmod(seconds, 86_400)
    hours, seconds = divmod(seconds, 3_600)
    minutes, seconds = divmod(seconds, 60)
    text = f"{hours:02}:{minutes:02}:{seconds:02}"
    if micro:
        text += f".{micro:06}".rstrip("0")
    return f"+{days}d {text}" if days else f"+{text}"
