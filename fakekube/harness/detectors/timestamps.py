"""Detects operators that write the present time and are triggered by that write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson

from controllerlib.observer import Call
from fakekube.harness.detectors.detector import CHANGES, Doing, Observed, Scene, leaves, shown_path, version_of

Field = tuple[str | int, ...]

#: Fields that the server sets.
_OF_THE_SERVER = frozenset({"creationTimestamp", "deletionTimestamp", "managedFields"})


@dataclass(frozen=True, slots=True)
class Suspect:
    """A key that wrote the present time, was triggered by that, and wrote it again: to be reconciled once more."""

    operator: Observed
    controller: str
    key: str
    path: str
    fields: tuple[Field, ...]
    at: datetime


class TimestampLoops:
    """Two reconciles at the same instant write the same time, so that the second changes nothing and the loop ends.

    On a cluster time moves, and it never ends. Whether the second one has written the time or only kept it shows when
    the key is reconciled later, without another cause: `suspects` has the keys to reconcile for that.
    """

    names = ("timestamp-loop",)

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        #: the version that a write made -> who made it, when, where, and the fields with the present time
        self._written: dict[str, tuple[tuple[int, str, str], datetime, str, tuple[Field, ...]]] = {}
        self._echoes: dict[int, tuple[str, tuple[Field, ...]]] = {}
        self.suspects: dict[tuple[int, str, str], Suspect] = {}
        self.is_probing: bool = False

    def started(self, doing: Doing) -> None:
        if not self._written:
            return
        for cause in doing.run.causes:
            written = self._written.get(cause.resource_version)
            if written is not None and written[0] == doing.who and written[1] == doing.at:
                self._echoes[id(doing.run)] = written[2:]

    def called(self, doing: Doing, call: Call, code: int, answer: Any) -> None:
        if call.verb not in CHANGES or not 200 <= code < 300:
            return
        fields = present_fields(call.body, self._scene.now())
        if not fields:
            return
        if self.is_probing:
            self._confirm(doing, call, fields)
            return
        echo = self._echoes.pop(id(doing.run), None)
        if echo is not None and echo[0] == call.path and (both := tuple(one for one in fields if one in echo[1])):
            self.suspects.setdefault(
                doing.who, Suspect(doing.operator, doing.run.controller, doing.key, call.path, both, doing.at)
            )
        self._written[version_of(answer)] = (doing.who, doing.at, call.path, fields)
        if len(self._written) > 1000:
            del self._written[next(iter(self._written))]

    def _confirm(self, doing: Doing, call: Call, fields: tuple[Field, ...]) -> None:
        suspect = self.suspects.get(doing.who)
        if suspect is None or suspect.path != call.path or suspect.at >= doing.at:
            return
        again = [shown_path(one) for one in suspect.fields if one in fields]
        if again:
            self._scene.report(
                "timestamp-loop",
                f"each reconcile of {doing.key} writes the present time to {', '.join(again)} of {call.path}, and that "
                "write triggers the next one; it ends here only because virtual time stands still",
                who=doing.run.controller,
                key=doing.who,
            )

    def finish(self) -> None:
        """Nothing is left to report."""


def present_fields(body: Any, now: datetime) -> tuple[Field, ...]:
    """The fields of an object whose value is the present time: RFC 3339 of any precision, or seconds since 1970."""
    if not isinstance(body, Mapping | list):
        return ()
    text, seconds = now.strftime("%Y-%m-%dT%H:%M:%S"), int(now.timestamp())
    try:
        raw = orjson.dumps(body)
    except TypeError:
        return ()
    if text.encode() not in raw and str(seconds).encode() not in raw:
        return ()
    return tuple(
        path
        for path, value in leaves(body)
        if _is_present(value, text, seconds) and not _OF_THE_SERVER.intersection(path)
    )


def _is_present(value: Any, text: str, seconds: int) -> bool:
    if isinstance(value, str):
        return value.startswith(text) or value.startswith(str(seconds))
    return isinstance(value, int | float) and not isinstance(value, bool) and int(value) == seconds
