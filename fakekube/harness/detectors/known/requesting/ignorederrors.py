"""Detects writes that were refused, and of which nothing but a log knows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from controllerlib.controller import Outcome
from fakekube.harness.detectors.detector import FAR, Doing, Exchange, Scene, leaves
from fakekube.harness.detectors.levels import Level
from fakekube.harness.detectors.spokenerrors import speaks_of_an_error
from fakekube.struct import Struct, field

#: Answers that say that a write is invalid, not allowed, or has failed. Conflicts have a detector of their own.
REFUSALS = frozenset({400, 403, 422})

WRITES = frozenset({"create", "update", "patch", "delete"})

#: What is tried without being needed: records, locks, and questions to the server.
_TRIED = re.compile(r"events|leases|tokenrequests|.*reviews|evictions?")

#: Characters of a message that a finding shows.
SHOWN = 300

Place = tuple[str, str, str, str, str]

K = TypeVar("K")


class Refused(Struct):
    """A write that was refused. reported: whether the client has written about an error since."""

    exchange: Exchange
    reported: bool = False

    def text(self) -> str:
        """What was refused."""
        record = self.exchange.record
        return f"{record}: {record.message[:SHOWN]}" if record.message else str(record)


class Ignored(Struct):
    """A write that a reconcile has ignored. after: seconds until it is requeued. content: of the object of its key."""

    doing: Doing
    refused: Refused
    after: float | None
    content: object
    #: whether the key was reconciled again since
    is_over: bool = False


class IgnoredErrors:
    """Writes that were answered with 400, 403, 422 or 5xx, and that the client has neither repeated nor reported.

    In a reconcile: it succeeds, is not requeued within five minutes, the write is not made later, and what it was to
    make is not there at the end; not if a later reconcile succeeds after the object of the key has changed, apart from
    its status and annotations. Without reconciles: the client goes on and neither writes nor reads the object within
    five minutes, if the test lasts as long. A status or an Event that speaks of an error is a report of it. Not judged:
    requests that RBAC denies (`missing-permission`), dry runs, and what is tried without being needed, as Events and
    access reviews.
    """

    levels: Mapping[str, Level] = {"ignored-error": "warn"}

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        #: by the identity of the reconcile in progress, and the object
        self._refused: dict[int, dict[Place, Refused]] = {}
        #: by the key, and the object
        self._ignored: dict[tuple[int, str, str], dict[Place, Ignored]] = {}
        #: the keys of which a reconcile has reported an error
        self._reporting: set[tuple[int, str, str]] = set()
        #: without reconciles: by the client and the object
        self._open: dict[tuple[str, Place], Refused] = {}
        #: what is to be reported, by what makes it the same finding
        self._found: dict[object, Found] = {}

    def refused(self, exchange: Exchange) -> None:
        if not _is_refusal(exchange):
            return
        self._scene.listen(WRITES, self._succeeded)
        self._scene.follow(finished=self._finished)
        doing = exchange.doing
        if doing is not None:
            self._refused.setdefault(id(doing), {})[_place(exchange)] = Refused(exchange)
        else:
            self._open[exchange.program, _place(exchange)] = Refused(exchange)

    def _succeeded(self, exchange: Exchange) -> None:
        if exchange.record.code >= 300 or not (self._refused or self._open or self._ignored):
            return
        doing, places = exchange.doing, _places(exchange)
        for ignored in self._ignored.values():
            _drop(ignored, places)
        if doing is not None:
            refused = self._refused.get(id(doing), {})
            _drop(refused, places)
            known = list(refused.values())
        else:
            _drop(self._open, [(exchange.program, place) for place in places])
            known = [one for (program, _), one in self._open.items() if program == exchange.program]
        if known and _reports_an_error(exchange):
            for one in known:
                one.reported = True
            if doing is not None:
                self._reporting.add(doing.who)

    def _finished(self, doing: Doing, outcome: Outcome) -> None:
        if not self._refused and not self._ignored:
            return
        refused = self._refused.pop(id(doing), {})
        ignored, content = self._ignored.setdefault(doing.who, {}), self._content(doing)
        if outcome.error is None:
            for place, one in list(ignored.items()):
                one.is_over = True
                if content is None or content != one.content:
                    del ignored[place]  # it may not be needed any more
        _drop(ignored, refused)
        after = outcome.requeue_after
        if outcome.error is None and (after is None or after >= FAR):
            for place, write in refused.items():
                if not write.reported:
                    ignored[place] = Ignored(doing, write, after, content)
        if not ignored:
            del self._ignored[doing.who]

    def _content(self, doing: Doing) -> object:
        """The object of the key without what its operator writes to it; None if that is gone or its kind unknown."""
        entry = self._scene.reconciled(doing)
        if entry is None:
            return None
        meta = entry.object["metadata"]
        content = {name: value for name, value in entry.object.items() if name not in ("metadata", "status")}
        return content, meta.get("labels"), meta.get("deletionTimestamp"), meta["uid"]

    def finish(self) -> None:
        for ignored in self._ignored.values():
            for one in ignored.values():
                doing, after = one.doing, one.after
                if self._is_reported(doing) or self._is_done(one.refused.exchange):
                    continue
                if after is not None or not doing.operator.is_queued(doing.run.controller, doing.run.request):
                    until = f" within {after:g} s" if after is not None else ""
                    again = ", and neither has a later one" if one.is_over else ""
                    what = f"{doing} has neither repeated it{until}, failed nor requeued{again}"
                    self._report(one.refused, what, doing.run.controller)
        now = self._scene.runner.clock.monotonic()
        for refused in self._open.values():
            if not refused.reported and now > refused.exchange.record.at + FAR and self._goes_on(refused.exchange):
                who = refused.exchange.who
                self._report(refused, "for five minutes the client has neither written nor read the object again", who)
        for key, found in self._found.items():
            self._scene.report("ignored-error", str(found), who=found.who, key=key)

    def _is_reported(self, doing: Doing) -> bool:
        """Whether an earlier reconcile of the key has reported an error, or the status of its object does."""
        entry = self._scene.reconciled(doing)
        return doing.who in self._reporting or (entry is not None and speaks_of_an_error(entry.object.get("status")))

    def _is_done(self, exchange: Exchange) -> bool:
        """Whether the object is as the write was to make it, as far as that can be judged."""
        record, body = exchange.record, exchange.body()
        if not record.name:
            return False
        path = exchange.info.path if record.verb != "create" else f"{exchange.info.path}/{record.name}"
        entry = self._scene.entry(path)
        if entry is None or record.verb in ("create", "delete"):
            return (entry is None) != (record.verb == "create")
        return isinstance(body, Mapping) and _wanted(body, record.subresource) <= _wanted(
            entry.object, record.subresource
        )

    def _report(self, refused: Refused, ignored: str, who: str) -> None:
        record = refused.exchange.record
        key = (who, record.verb, record.resource, record.code)
        found = self._found.setdefault(key, Found(who, refused, ignored))
        found.places.add(_place(refused.exchange))

    def _goes_on(self, exchange: Exchange) -> bool:
        """Whether the client has made other requests since, and none of them has read the object in time."""
        first, goes_on = exchange.record, False
        for one in reversed(self._scene.runner.log):
            if one.serial <= first.serial:
                break
            if (one.user_agent, one.user) == (first.user_agent, first.user):
                goes_on = True
                is_read = (
                    one.verb == "get" and (one.group, one.resource, one.namespace, one.name) == _place(exchange)[:4]
                )
                if is_read and one.at <= first.at + FAR:
                    return False
        return goes_on

    def retire(self) -> None:
        self._refused.clear()
        self._ignored.clear()
        self._open.clear()
        self._found.clear()


class Found(Struct):
    """A finding about the first one of equal writes of a client. places: the objects of all of them."""

    who: str
    refused: Refused
    ignored: str
    places: set[Place] = field(default_factory=set)

    def __str__(self) -> str:
        others = len(self.places) - 1
        more = f" (and of {others} other object{'s' if others > 1 else ''})" if others else ""
        return (
            f"{self.refused.text()}{more}; {self.ignored}: nothing but a log knows of it; raise the error, try again, "
            "or report it in a status or an Event"
        )


def _is_refusal(exchange: Exchange) -> bool:
    """Whether a write was refused that the client needs, other than by RBAC."""
    record, query = exchange.record, exchange.request.query
    is_refused = record.verb in WRITES and (record.code in REFUSALS or record.code >= 500)
    if record.code == 403 and f'User "{record.user}" cannot' in record.message:
        return False
    return is_refused and not _TRIED.fullmatch(record.resource) and not (query and exchange.request.option("dryRun"))


def _place(exchange: Exchange) -> Place:
    record = exchange.record
    return record.group, record.resource, record.namespace, record.name, record.subresource


def _places(exchange: Exchange) -> list[Place]:
    """The places whose write a successful one repeats: its object, or the collection if the server makes the name."""
    place, body = _place(exchange), exchange.body()
    meta = body.get("metadata") if isinstance(body, Mapping) else None
    is_named = exchange.record.verb != "create" or not isinstance(meta, Mapping) or bool(meta.get("name"))
    return [place] if is_named else [place, (*place[:3], "", place[4])]


def _drop(known: dict[K, Any], places: Iterable[K]) -> None:
    for place in places:
        known.pop(place, None)


def _wanted(obj: Mapping[str, Any], subresource: str) -> set[str]:
    """What a write sets, as texts: the status, or all but the status and what the server sets."""
    if subresource == "status":
        return {repr(leaf) for leaf in leaves(obj.get("status"))}
    meta = obj.get("metadata")
    parts = {name: value for name, value in obj.items() if name not in ("metadata", "status")}
    if isinstance(meta, Mapping):
        parts["metadata"] = {name: meta.get(name) or {} for name in ("labels", "annotations", "finalizers")}
    return {repr(leaf) for leaf in leaves(parts)}


def _reports_an_error(exchange: Exchange) -> bool:
    """Whether what a client has written reports an error: an Event, or the status or annotations of an object."""
    body = exchange.body()
    if exchange.record.resource != "events" and isinstance(body, Mapping):
        meta = body.get("metadata")
        body = [body.get("status"), meta.get("annotations") if isinstance(meta, Mapping) else None]
    return speaks_of_an_error(body)


DETECTORS = (IgnoredErrors,)
