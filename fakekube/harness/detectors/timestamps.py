"""Detects operators that write the present time and are triggered by that write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

import orjson

from controllerlib.controller import Outcome
from controllerlib.observer import Call
from fakekube.harness.detectors.detector import CHANGES, Doing, Observed, Scene, leaves, meta_of, shown_path, version_of

Field = tuple[str | int, ...]
Who = tuple[int, str, str]

#: How many writes of the present time are remembered.
REMEMBERED = 1000

#: Fields that the server sets.
_OF_THE_SERVER = frozenset({"creationTimestamp", "deletionTimestamp", "managedFields"})


@dataclass(slots=True)
class Suspect:
    """A key that has written the present time and was triggered by that at once.

    `wrote`: the triggered reconcile has written it again. `probed`: the key is reconciled once more at the end.
    """

    operator: Observed
    controller: str
    key: str
    path: str
    fields: tuple[Field, ...]
    at: float
    wrote: bool = False
    probed: bool = False

    def text(self) -> str:
        """The finding."""
        return (
            f"each reconcile of {self.key} writes the present time to {', '.join(map(shown_path, self.fields))} of "
            f"{self.path}, and that write triggers the next one; it ends here only because virtual time stands still"
        )


@dataclass(frozen=True, slots=True)
class Stamped:
    """A write of the present time, which made the version `version`."""

    who: Who
    at: float
    path: str
    fields: tuple[Field, ...]


class TimestampLoops:
    """Two reconciles at the same instant write the same time, so that the second changes nothing and the loop ends.

    On a cluster time moves, and it never ends. Whether a reconcile always writes the time, or only when something has
    changed, shows at a later time: a later reconcile that does not write it clears the key; the keys that remain in
    `suspects` are to be reconciled once more when the test has ended.
    """

    names: tuple[str, ...] = ("timestamp-loop",)

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        #: by the version that the write has made
        self._stamped: dict[str, Stamped] = {}
        self._echoes: dict[int, Stamped] = {}
        self._fields: dict[int, tuple[Field, ...]] = {}
        self._cleared: set[Who] = set()
        self.suspects: dict[Who, Suspect] = {}
        self.is_probing: bool = False

    def started(self, doing: Doing) -> None:
        if not self._stamped or doing.who in self._cleared:
            return
        for cause in doing.run.causes:
            made = self._stamped.get(cause.resource_version)
            if made is not None and made.who == doing.who and made.at == doing.at:
                self._echoes[id(doing.run)] = made
                known = self.suspects.get(doing.who)
                if known is None or known.path != made.path:
                    run, operator = doing.run, doing.operator
                    self.suspects[doing.who] = Suspect(
                        operator, run.controller, doing.key, made.path, made.fields, doing.at
                    )

    def called(self, doing: Doing, call: Call, code: int, answer: Any) -> None:
        if call.verb not in CHANGES or not 200 <= code < 300:
            return
        present = present_fields(call.body, self._scene.now())
        if not present:
            return
        fields = tuple(one for one in present if not _is_transition(one))
        if not fields:
            return
        suspect = self.suspects.get(doing.who)
        if suspect is not None and suspect.path == call.path:
            self._fields[id(doing.run)] = fields
            echo = self._echoes.get(id(doing.run))
            if echo is not None and any(
                one in suspect.fields and not _is_kept(doing, call.body, one) for one in fields
            ):
                suspect.wrote = True
        self._stamped[version_of(answer)] = Stamped(doing.who, doing.at, call.path, fields)
        if len(self._stamped) > REMEMBERED:
            del self._stamped[next(iter(self._stamped))]

    def finished(self, doing: Doing, outcome: Outcome) -> None:
        if not self.suspects:
            return
        fields = self._fields.pop(id(doing.run), ())
        self._echoes.pop(id(doing.run), None)
        suspect = self.suspects.get(doing.who)
        if suspect is None or doing.at <= suspect.at or outcome.error is not None:
            return
        if any(one in fields for one in suspect.fields):
            if self.is_probing:
                self._report(suspect)
        elif not self.is_probing and not self._is_terminating(suspect):
            del self.suspects[doing.who]
            self._cleared.add(doing.who)

    def can_be_probed(self, suspect: Suspect) -> bool:
        """Whether the object still exists, so that a reconcile shows what it writes."""
        return not self._is_terminating(suspect)

    def _is_terminating(self, suspect: Suspect) -> bool:
        entry = self._scene.entry(suspect.path)
        return entry is None or "deletionTimestamp" in meta_of(entry.object)

    def finish(self) -> None:
        for suspect in self.suspects.values():
            if suspect.wrote and self._is_terminating(suspect):  # it cannot be reconciled once more
                self._report(suspect)

    def _report(self, suspect: Suspect) -> None:
        self._scene.report("timestamp-loop", suspect.text(), who=suspect.controller, key=id(suspect))


def writes_present(body: Any, now: datetime) -> bool:
    """Whether an object has the present time in a field that is not the time of a change."""
    return any(not _is_transition(one) for one in present_fields(body, now))


def has_kept_times(doing: Doing, body: Any, now: datetime) -> bool:
    """Whether all present times in an object were copied from the operator's cache."""
    return all(_is_kept(doing, body, one) for one in present_fields(body, now) if not _is_transition(one))


def _is_transition(field: Field) -> bool:
    """Whether a field has by convention the time of a change, as those of conditions."""
    return str(field[-1]).endswith("TransitionTime")


def _is_kept(doing: Doing, body: Any, field: Field) -> bool:
    """Whether a value is the same Python object as in the operator's cache: a copy of an object shares its leaves."""
    manager = doing.operator.manager
    if manager is None or not isinstance(body, Mapping):
        return False
    informer = manager.cache.informers.find(body.get("apiVersion", ""), body.get("kind", ""))
    meta = meta_of(body)
    key = f"{meta['namespace']}/{meta.get('name')}" if meta.get("namespace") else str(meta.get("name"))
    stores = [shared.indexer for shared in informer.informers.values()] if informer is not None else []
    value = _at(body, field)
    return any(_at(obj, field) is value for store in stores if (obj := store.get_by_key(key)) is not None)


def _at(value: Any, field: Field) -> Any:
    for step in field:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def present_fields(body: Any, now: datetime) -> tuple[Field, ...]:
    """The fields of an object whose value is the present time: RFC 3339 of any precision, or seconds since 1970."""
    if not isinstance(body, dict | list):
        return ()
    text, seconds, written = _texts(now)
    try:
        raw = orjson.dumps(body)
    except TypeError:
        return ()
    if written[0] not in raw and written[1] not in raw:
        return ()
    return tuple(
        path
        for path, value in leaves(body)
        if _is_present(value, text, seconds) and not _OF_THE_SERVER.intersection(path)
    )


@lru_cache(maxsize=1)  # many objects are written at one instant
def _texts(now: datetime) -> tuple[str, int, tuple[bytes, bytes]]:
    """A time as RFC 3339 without its fraction, as seconds since 1970, and both as they are written in JSON."""
    text, seconds = now.strftime("%Y-%m-%dT%H:%M:%S"), int(now.timestamp())
    return text, seconds, (text.encode(), str(seconds).encode())


def _is_present(value: Any, text: str, seconds: int) -> bool:
    if isinstance(value, str):
        return value.startswith((text, str(seconds)))
    return isinstance(value, int | float) and not isinstance(value, bool) and int(value) == seconds
