"""Detects writes that were refused, and of which nothing but a log knows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from controllerlib.controller import Outcome
from fakekube.harness.detectors.detector import FAR, Doing, Exchange, Scene
from fakekube.harness.detectors.levels import Level

#: Answers that say that a write is invalid, not allowed, or has failed. Conflicts have a detector of their own.
REFUSALS = frozenset({400, 403, 422})

WRITES = frozenset({"create", "update", "patch", "delete"})

#: What is tried without being needed: records, locks, and questions to the server.
_TRIED = re.compile(r"events|leases|tokenrequests|.*reviews|evictions?")

#: Words by which a status or an Event reports an error.
_WORDS = re.compile(
    rb"fail|error|denied|forbid|invalid|degraded|reject|refuse|exceed|warning|unable|False", re.IGNORECASE
)

#: Characters of a message that a finding shows.
SHOWN = 300

Place = tuple[str, str, str, str, str]


@dataclass(slots=True)
class Refused:
    """A write that was refused. reported: whether the client has written about an error since."""

    exchange: Exchange
    reported: bool = False

    def text(self) -> str:
        """What was refused."""
        record = self.exchange.record
        return f"{record}: {record.message[:SHOWN]}" if record.message else str(record)


class IgnoredErrors:
    """Writes that were answered with 400, 403, 422 or 5xx, and that the client has neither repeated nor reported.

    In a reconcile: it succeeds, is not requeued within five minutes, and nothing runs again for the key. Without
    reconciles: the client goes on and neither writes nor reads the object within five minutes, if the test lasts as
    long. A status or an Event that speaks of an error is a report of it. Not judged: requests that RBAC denies
    (`missing-permission`), dry runs, and what is tried without being needed, as Events and access reviews.
    """

    levels: Mapping[str, Level] = {"ignored-error": "warn"}

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._is_listening = False
        #: by the identity of the reconcile in progress, and the object
        self._refused: dict[int, dict[Place, Refused]] = {}
        #: by the key: the last reconcile, what it has ignored, and the seconds until the key is requeued
        self._ignored: dict[tuple[int, str, str], tuple[Doing, Refused, float | None]] = {}
        #: the keys of which a reconcile has reported an error
        self._told: set[tuple[int, str, str]] = set()
        #: without reconciles: by the client and the object
        self._open: dict[tuple[str, Place], Refused] = {}

    def refused(self, exchange: Exchange) -> None:
        if not _is_refusal(exchange):
            return
        if not self._is_listening:
            self._is_listening = True
            self._scene.listen(WRITES, self._succeeded)
            self._scene.follow(self._finished)
        doing = exchange.doing
        if doing is not None:
            self._refused.setdefault(id(doing), {})[_place(exchange)] = Refused(exchange)
        else:
            self._open[exchange.program, _place(exchange)] = Refused(exchange)

    def _succeeded(self, exchange: Exchange) -> None:
        if exchange.record.code >= 300 or not (self._refused or self._open):
            return
        doing, place = exchange.doing, _place(exchange)
        if doing is not None:
            refused = self._refused.get(id(doing), {})
            refused.pop(place, None)
            known = list(refused.values())
        else:
            self._open.pop((exchange.program, place), None)
            known = [one for (program, _), one in self._open.items() if program == exchange.program]
        if known and _speaks_of_an_error(exchange):
            for one in known:
                one.reported = True
            if doing is not None:
                self._told.add(doing.who)

    def _finished(self, doing: Doing, outcome: Outcome) -> None:
        if not self._refused and not self._ignored:
            return
        refused = [one for one in self._refused.pop(id(doing), {}).values() if not one.reported]
        after = outcome.requeue_after
        if refused and outcome.error is None and (after is None or after >= FAR):
            self._ignored[doing.who] = (doing, refused[0], after)
        else:
            self._ignored.pop(doing.who, None)

    def finish(self) -> None:
        for doing, refused, after in self._ignored.values():
            if self._is_reported(doing):
                continue
            if after is not None or not doing.operator.is_queued(doing.run.controller, doing.run.request):
                until = f" within {after:g} s" if after is not None else ""
                self._report(
                    refused, f"{doing} has neither repeated it{until}, failed nor requeued", doing.run.controller
                )
        now = self._scene.runner.clock.monotonic()
        for refused in self._open.values():
            if not refused.reported and now > refused.exchange.record.at + FAR and self._goes_on(refused.exchange):
                who = refused.exchange.who
                self._report(refused, "for five minutes the client has neither written nor read the object again", who)

    def _is_reported(self, doing: Doing) -> bool:
        """Whether an earlier reconcile of the key has reported an error, or the status of its object does."""
        entry = self._scene.reconciled(doing)
        status = entry.object.get("status") if entry is not None else None
        return doing.who in self._told or _WORDS.search(_dumped(status)) is not None

    def _report(self, refused: Refused, ignored: str, who: str) -> None:
        self._scene.report(
            "ignored-error",
            f"{refused.text()}; {ignored}: nothing but a log knows of it; raise the error, try again, or report it in "
            "a status or an Event",
            who=who,
            key=(who, refused.exchange.record.verb, refused.exchange.record.resource, refused.exchange.record.code),
        )

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


def _speaks_of_an_error(exchange: Exchange) -> bool:
    """Whether what a client has written reports an error: an Event, or the status or annotations of an object."""
    body = exchange.body()
    if exchange.record.resource != "events" and isinstance(body, Mapping):
        meta = body.get("metadata")
        body = [body.get("status"), meta.get("annotations") if isinstance(meta, Mapping) else None]
    return _WORDS.search(_dumped(body)) is not None


def _dumped(value: Any) -> bytes:
    try:
        return orjson.dumps(value)
    except TypeError:
        return b""


DETECTORS = (IgnoredErrors,)
