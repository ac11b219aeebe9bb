"""What happened in a cluster, in order: the story that a failing test's report ends with."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple, TypeVarTuple

Args = TypeVarTuple("Args")


class Told(NamedTuple):
    """What a line says: who, what, at which resourceVersion, and why."""

    actor: str
    what: str
    resource_version: str = ""
    cause: str = ""


class Entry(NamedTuple):
    """One line: when (virtual time), and what it says."""

    at: datetime
    actor: str
    what: str
    resource_version: str
    cause: str


class Timeline:
    """The last `limit` entries, oldest first. Each is put into words when somebody reads it, which is seldom."""

    def __init__(self, epoch: datetime, limit: int = 50_000) -> None:
        self._epoch = epoch
        self._entries: deque[tuple[Any, ...]] = deque(maxlen=limit)
        self._total = 0

    def __iter__(self) -> Iterator[Entry]:
        return (Entry(at, *tell(*args)) for at, tell, *args in self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, at: datetime, tell: Callable[[*Args], Told], *args: *Args) -> None:
        """`tell(*args)` is called whenever the entry is read: what it gives must not change."""
        self._entries.append((at, tell, *args))
        self._total += 1

    def render(self, last: int | None = None) -> str:
        """The entries (the `last` of them) as a table; says how many it leaves out."""
        entries = list(self._entries)
        shown = entries if last is None else entries[-last:]
        rows = [("time", "actor", "what", "rv", "cause")]
        rows += [(offset(at - self._epoch), *tell(*args)) for at, tell, *args in shown]
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
    """A virtual time as the distance from the cluster's start: `+1d 02:03:04.005`."""
    total = since // timedelta(microseconds=1)
    seconds, micro = divmod(total, 1_000_000)
    days, seconds = divmod(seconds, 86_400)
    hours, seconds = divmod(seconds, 3_600)
    minutes, seconds = divmod(seconds, 60)
    text = f"{hours:02}:{minutes:02}:{seconds:02}"
    if micro:
        text += f".{micro:06}".rstrip("0")
    return f"+{days}d {text}" if days else f"+{text}"
