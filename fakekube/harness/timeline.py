"""What happened in a cluster, in order; appended to the report of a failing test."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any, Protocol, TypeVarTuple, overload

from fakekube.harness.records.entry import ObjectKey, Summary, TimelineEntry, offset
from fakekube.harness.records.kept import Bounded
from fakekube.harness.records.objectversions import Versions
from fakekube.harness.records.repetition import folded
from fakekube.harness.records.story import Joined, Story

Args = TypeVarTuple("Args")

#: The number of entries that are kept.
LIMIT = 50_000


class Numbered(Protocol):
    """A record with a serial: an entry, a Reconcile, a RequestRecord."""

    @property
    def serial(self) -> int: ...


class Source(Protocol):
    """Rows that are recorded elsewhere."""

    @property
    def dropped(self) -> int: ...
    def __len__(self) -> int: ...
    def rows(self) -> Iterator[tuple[int, datetime, Callable[[], Summary]]]:
        """The serial and the time of each row, and what formats it."""
        ...


class Rows(Sequence[TimelineEntry]):
    """Entries of a timeline; a table as text."""

    def __init__(self, entries: Sequence[TimelineEntry], epoch: datetime, left_out: int = 0) -> None:
        self._entries, self._epoch, self._left_out = entries, epoch, left_out

    @overload
    def __getitem__(self, index: int) -> TimelineEntry: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[TimelineEntry]: ...
    def __getitem__(self, index: int | slice) -> TimelineEntry | Sequence[TimelineEntry]:
        return self._entries[index]

    def __len__(self) -> int:
        return len(self._entries)

    def __str__(self) -> str:
        rows = [(offset(one.at - self._epoch), *one[1:5]) for one in self._entries]
        return "\n".join(_table(rows, self._left_out))

    def __repr__(self) -> str:
        return f"<Rows\n{self}>"


class Timeline:
    """The last entries, in the order in which they began. `print(fakekube.timeline)` shows them as a table.

    An entry is formatted only when it is read. `serials` gives an entry its number, `resource` returns the key of an
    object from its apiVersion, kind, namespace and name.
    """

    def __init__(
        self,
        epoch: datetime,
        serials: Iterator[int],
        resource: Callable[[str, str, str, str], ObjectKey],
        limit: int = LIMIT,
    ) -> None:
        self._epoch, self._serials = epoch, serials
        self.resource: Callable[[str, str, str, str], ObjectKey] = resource
        self._entries: Bounded[tuple[Any, ...]] = Bounded(limit)
        self._sources: list[Source] = []
        self._read_listeners: list[Callable[[], None]] = []
        self.versions: Versions = Versions()

    def __iter__(self) -> Iterator[TimelineEntry]:
        return (row.entry for row in self.joined().rows.values())

    def __len__(self) -> int:
        self._complete()
        return len(self._entries.items) + sum(map(len, self._sources))

    def __str__(self) -> str:
        return self.render()

    def __repr__(self) -> str:
        return f"<Timeline of {len(self)} entries: print() shows them>"

    def on_read(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call `listener` before the entries are read: it may add some. Returns a function that removes it."""
        self._read_listeners.append(listener)
        return partial(_forget, self._read_listeners, listener)

    def attach(self, source: Source) -> None:
        """Show the rows of a source among the entries."""
        self._sources.append(source)

    def add(self, at: datetime, summarize: Callable[[*Args], Summary], *args: *Args, serial: int = 0) -> None:
        """Add an entry; `summarize(*args)` is called at each reading and must return the same each time.

        `serial`: its number, if it was drawn when the entry began.
        """
        self._entries.append((serial or next(self._serials), at, summarize, *args))

    def extend(self, entries: Iterable[tuple[Any, ...]]) -> None:
        """Add many entries: the serial of each, microseconds since the epoch, and what summarizes it (see `add`)."""
        self._entries.extend(entries)

    def render(self, last: int | None = None, *, fold: bool = False) -> str:
        """The entries as a table, or the `last` ones; its first line counts those left out.

        `fold`: entries that are repeated, as the attempts of an object that fails, are counted instead.
        """
        entries = self._sorted()
        shown = entries if last is None else entries[len(entries) - min(last, len(entries)) :]
        rows = [(offset(at - self._epoch), *summarize()[:4]) for _, at, summarize in shown]
        return "\n".join(_table(folded(rows) if fold else rows, self.dropped + len(entries) - len(shown)))

    def of(self, api_version: str, kind: str, name: str, namespace: str = "default") -> Rows:
        """The entries of one object: requests, and reconciles of its key. Raises LookupError for an unknown kind."""
        key = self.resource(api_version, kind, namespace, name)
        return self.select(lambda entry: entry.object == key)

    def by(self, actor: str) -> Rows:
        """The entries of one actor. Raises LookupError naming the actors for one that has none."""
        found = self.select(lambda entry: entry.actor == actor)
        if not found:
            known = ", ".join(sorted({entry.actor for entry in self})) or "none"
            raise LookupError(f"the timeline has no actor {actor!r} (actors: {known})")
        return found

    def select(self, wanted: Callable[[TimelineEntry], object]) -> Rows:
        """The entries for which `wanted` is true."""
        return Rows([entry for entry in self if wanted(entry)], self._epoch, self.dropped)

    def objects(self) -> dict[ObjectKey, Rows]:
        """The entries of each object, in the order in which the objects first appear."""
        found: dict[ObjectKey, list[TimelineEntry]] = {}
        for entry in self:
            if entry.object is not None:
                found.setdefault(entry.object, []).append(entry)
        return {key: Rows(entries, self._epoch) for key, entries in found.items()}

    def why(self, what: Numbered) -> Story:
        """Why something happened: an entry, a Reconcile or a RequestRecord of a write, then the chain of its causes.

        Raises LookupError if the timeline does not have it (any more).
        """
        return self.joined().why(what.serial)

    def led_to(self, what: Numbered) -> Story:
        """What something led to: the chain of its effects. Raises LookupError if the timeline does not have it."""
        return self.joined().led_to(what.serial)

    def joined(self) -> Joined:
        """The entries with their causes."""
        return Joined([(serial, at, summarize()) for serial, at, summarize in self._sorted()], self._epoch)

    @property
    def dropped(self) -> int:
        """The number of entries that are no longer kept."""
        self._complete()
        return self._entries.dropped + sum(source.dropped for source in self._sources)

    @property
    def epoch(self) -> datetime:
        """The start of the cluster."""
        return self._epoch

    def _complete(self) -> None:
        for listener in self._read_listeners:
            listener()

    def _sorted(self) -> list[tuple[int, datetime, Callable[[], Summary]]]:
        self._complete()
        found: list[tuple[int, datetime, Callable[[], Summary]]] = [
            (serial, self.time_of(at), partial(summarize, *args))
            for serial, at, summarize, *args in self._entries.items
        ]
        for source in self._sources:
            found += source.rows()
        return sorted(found, key=itemgetter(0))

    def time_of(self, at: datetime | int) -> datetime:
        """The time of an entry of `add`; of one of `extend`, and of a version, from microseconds since the epoch."""
        return self._epoch + timedelta(microseconds=at) if isinstance(at, int) else at

    # --- export ----------------------------------------------------------------------------------------------------

    def to_json(self, *, title: str = "", last: int | None = None, failure: str = "") -> str:
        """The entries, or the `last` ones, with their causes and what they changed, as JSON.

        `failure` is a text that is included: why the test failed.
        """
        from fakekube.harness.records.document import document, encoded

        return encoded(document(self.joined(), self.versions, self._epoch, self.dropped, title, last, failure))

    def html(self, path: str | Path, *, title: str = "", failure: str = "") -> Path:
        """Write one self-contained HTML page with the last 5,000 entries. Returns its path.

        `failure`: why the test failed, which the page shows first.
        """
        from fakekube.harness.records.page import LAST, page

        return _written(Path(path), page(self.to_json(title=title, last=LAST, failure=failure)))

    def save(self, path: str | Path) -> Path:
        """Write the timeline as JSON (`.json`), a page (`.html`) or a table (`.txt`). Raises ValueError."""
        kinds = {".json": self.to_json, ".txt": lambda: f"{self}\n"}
        found = Path(path)
        if found.suffix == ".html":
            return self.html(found)
        if found.suffix not in kinds:
            raise ValueError(f"path={str(path)!r}: the name must end with .json, .html or .txt")
        return _written(found, kinds[found.suffix]())


def note_row(timeline: Timeline, now: Callable[[], datetime], actor: str, what: str) -> None:
    """Add a row for something wrong that an actor does at this moment."""
    timeline.add(now(), partial(Summary, actor, what, failed=True))


def _forget(listeners: list[Callable[[], None]], listener: Callable[[], None]) -> None:
    if listener in listeners:
        listeners.remove(listener)


def _written(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", errors="backslashreplace")
    return path


def _table(entries: Sequence[Sequence[str]], left_out: int) -> list[str]:
    rows = [("time", "actor", "what", "rv", "cause"), *entries]
    widths = [min(max(len(row[i]) for row in rows), 60) for i in range(4)]
    head = [f"({left_out} earlier entries left out)"] if left_out else []
    return head + [
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[4]]).rstrip()
        for row in rows
    ]
