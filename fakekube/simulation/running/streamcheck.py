"""O13: checks the watch streams of the server while a run goes on.

They must be ordered and unique (each revision follows the one before), complete (no change of the collection is left
out), reliable (the type says what happened), and resumable (the first event follows the revision from which the client
watches). Bookmarks never run ahead of events. After etcd's robustness tests (`tests/robustness/validate`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from fakekube.apiserver.storage.store import Change, Entry
from fakekube.apiserver.storage.watch import TRANSITIONS, Selection, Watch, WatchEvent

#: More findings are not kept.
_KEPT = 20


@dataclass(frozen=True, slots=True)
class _Made:
    """A change of a collection, as far as watches show it."""

    revision: int
    path: str
    before: Entry | None
    after: Entry | None

    def type_for(self, selection: Selection) -> str | None:
        """The type of the event for a watch with this selection; None if it has none."""
        was = self.before is not None and selection.takes(self.path, self.before)
        now = self.after is not None and selection.takes(self.path, self.after)
        return TRANSITIONS.get((was, now))


@dataclass(slots=True)
class _Stream:
    """The events of one watch: the revision up to which they are known, and how many changes were looked at."""

    revision: int
    initial: int
    at: int = 0


@dataclass(slots=True)
class StreamCheck:
    """The streams of one run. `found`: what was wrong, a line each."""

    found: list[str] = field(default_factory=list)
    _changes: dict[str, list[_Made]] = field(default_factory=dict)
    _streams: dict[int, tuple[Watch, _Stream]] = field(default_factory=dict)

    def committed(self, change: Change) -> None:
        """A change is stored."""
        made = _Made(change.revision, change.path, change.before, change.after)
        self._changes.setdefault(change.collection, []).append(made)

    def opened(self, watch: Watch) -> None:
        """A client opens a watch."""
        self._streams[id(watch)] = watch, _Stream(watch.revision, len(watch.initial))

    def delivered(self, watch: Watch, event: WatchEvent) -> None:
        """An event is sent."""
        known = self._streams.get(id(watch))
        if known is None:
            return
        stream = known[1]
        if stream.initial:
            stream.initial -= 1
            return
        revision = event.entry.revision
        if event.type == "BOOKMARK":
            self._complete_to(watch, stream, revision, None)
        elif revision <= stream.revision:
            self._add(watch, f"sends revision {revision} after {stream.revision}")
        else:
            self._complete_to(watch, stream, revision, event)
        stream.revision = max(stream.revision, revision)

    def _complete_to(self, watch: Watch, stream: _Stream, revision: int, event: WatchEvent | None) -> None:
        """Look at the changes since the last event: none but the last may be one that the watch selects."""
        changes: Sequence[_Made] = self._changes.get(watch.collection, ())
        while stream.at < len(changes) and changes[stream.at].revision <= revision:
            made = changes[stream.at]
            stream.at += 1
            if made.revision <= stream.revision:
                continue
            wanted = made.type_for(watch.selection)
            if made.revision == revision and event is not None:
                if wanted != event.type:
                    self._add(watch, f"sends {event.type} at revision {revision}, where {wanted or 'nothing'} is due")
            elif wanted is not None:
                self._add(watch, f"leaves out revision {made.revision}, {wanted} {made.path}")

    def _add(self, watch: Watch, text: str) -> None:
        if len(self.found) < _KEPT:
            self.found.append(f"the watch of {watch.collection} {text}")
