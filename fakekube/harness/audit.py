"""What the server has answered and stored: requests, the versions of each object, writes that changed nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from itertools import takewhile
from typing import Any, Protocol

import orjson

from fakekube.apiserver.requestlog import RequestRecord
from fakekube.apiserver.resource import Resource
from fakekube.apiserver.storage.store import Change
from fakekube.apiserver.wire.request import RequestInfo
from fakekube.harness.keywords import check_request_fields
from fakekube.harness.records.identity import Identities
from fakekube.harness.records.kept import Bounded, Records
from fakekube.harness.records.objectversions import RENEWED, Fresh, is_renewal
from fakekube.harness.records.requestrows import Actors, Renewals, change_summary, kind_of, request_summary
from fakekube.harness.timeline import Timeline
from fakekube.server.runner import ServerRunner

Object = dict[str, Any]

#: The remark on a write that changed nothing.
NOOP = " (changed nothing)"

WRITES = frozenset({"create", "update", "patch", "delete", "deletecollection"})


#: The number of writes that changed nothing, that are kept.
NOOPS_LIMIT = 10_000

#: The number of requests that are added to the timeline together.
TOGETHER = 32

Made = tuple[RequestInfo | None, int, Change]
"""What a request has stored: the request, the serial of the change, the change."""


class ElapsedTime(Protocol):
    """A clock that counts from an epoch."""

    @property
    def epoch(self) -> datetime: ...

    @property
    def us(self) -> int:
        """Microseconds since the epoch."""

    def monotonic(self) -> float:
        """Seconds since the epoch."""


class Audit:
    """Listens to a server, and adds its writes and failed requests to the timeline.

    `own`: the User-Agent of the test itself, whose requests are left out unless they are asked for.
    """

    def __init__(
        self, runner: ServerRunner, clock: ElapsedTime, timeline: Timeline, identities: Identities, own: str
    ) -> None:
        self._runner, self._timeline, self._own = runner, timeline, own
        self._clock, self._versions = clock, timeline.versions
        self._actors = Actors(identities)
        #: the changes of requests that are not answered yet
        self._pending: list[Made] = []
        #: what is not kept yet: an answered request, and what it has stored; for what the server changed by itself, the
        #: microseconds since the epoch
        self._fresh: list[tuple[RequestRecord | int, Sequence[Made]]] = []
        self._renewals: dict[str, Renewals] = {}
        self._noops: Bounded[RequestRecord] = Bounded(NOOPS_LIMIT)
        runner.on_write(self._written)
        runner.on_request(self._requested)
        runner.restored.append(self._restored)
        self._leave = ExitStack()
        self._leave.callback(timeline.on_read(self._keep))

    def retire(self) -> None:
        """Detach from the timeline, which would keep the server alive."""
        self._keep()
        self._leave.close()

    def requests(self, wanted: Mapping[str, Any]) -> Records[RequestRecord]:
        """The answered requests with these fields, oldest first; text may be a shell pattern.

        Its `dropped` counts those that may have been among them, but are no longer kept.
        Raises TypeError for a field that a RequestRecord does not have, or a value of another type than the field's.
        """
        check_request_fields(wanted)
        log = self._runner.log
        shown = log if "user_agent" in wanted else (r for r in log if r.user_agent != self._own)
        found = [r for r in shown if all(_is(getattr(r, name), value) for name, value in wanted.items())]
        dropped = log.dropped(wanted, _is)
        if dropped and "user_agent" not in wanted:
            dropped -= log.dropped({**wanted, "user_agent": self._own}, _is)
        return Records(found, dropped)

    def versions(self, resource: Resource, name: str, namespace: str) -> Records[tuple[datetime, Object | None]]:
        """The time of each change of an object, and a copy of its new version (None: deleted)."""
        path = f"{namespace}/{name}" if resource.namespaced else name
        self._keep()
        view = self._runner.apiserver.registration(resource).view
        found = [one for one in self._versions.read(resource.collection) if one.path == path]
        return Records(
            [
                (
                    self._timeline.time_of(one.at),
                    orjson.loads(view.encode(entry)) if (entry := one.entry()) is not None else None,
                )
                for one in found
            ],
            self._versions.dropped(resource.collection, path),
        )

    def noop_writes(self) -> Records[RequestRecord]:
        """Successful updates and patches that changed nothing, without those of the test itself and of Leases.

        A Lease that is renewed twice at the same virtual time does not change; on a cluster it would.
        """
        self._keep()
        found = [one for one in self._noops.items if one.user_agent != self._own and one.resource != "leases"]
        return Records(found, self._noops.dropped)

    def writes_since(self, mark: int) -> Sequence[RequestRecord]:
        """The writes since a `mark()`, without those of the test itself."""
        later = takewhile(lambda record: record.serial > mark, reversed(self._runner.log))
        return [record for record in later if record.verb in WRITES and record.user_agent != self._own][::-1]

    def mark(self) -> int:
        """The serial of the latest request (0: none)."""
        return next((record.serial for record in reversed(self._runner.log)), 0)

    def busiest(self, limit: int = 3) -> Sequence[str]:
        """The most frequent writes of the present virtual second: the probable causes of a hot loop."""
        second = int(self._clock.monotonic())
        counts: Counter[str] = Counter()
        for record in takewhile(lambda record: int(record.at) == second, reversed(self._runner.log)):
            if record.verb in WRITES:
                counts[f"{record.user_agent or record.user}: {record.verb} {record.path}"] += 1
        return [f"{what} ({times}x)" for what, times in counts.most_common(limit)]

    def lines(self) -> Iterator[tuple[int, str]]:
        """A line for each request and each stored change, with its serial: microseconds since the epoch, then what."""
        for record in self._runner.log:
            message = f": {record.message}" if record.message else ""
            at = _us(record)
            yield record.serial, f"{at} {record.user_agent} {record} rv={record.revision}{message}"
        self._keep()
        for one in self._versions.read():
            stored = one.json.decode() or "deleted"
            yield one.serial, f"{one.at} {one.revision} {one.collection} {one.path} {stored}"

    def _written(self, change: Change) -> None:
        """A change is stored: its request is recorded when it is answered."""
        info, serial = self._runner.answering, next(self._runner.serials)
        if info is not None:
            self._pending.append((info, serial, change))
        else:
            self._add(self._clock.us, [(None, serial, change)])

    def _restored(self) -> None:
        self._keep()
        self._versions.lose()

    def _requested(self, record: RequestRecord) -> None:
        if record.code >= 400 or record.verb in WRITES:
            self._add(record, self._stored_by(self._runner.answering) if self._pending else ())

    def _add(self, by: RequestRecord | int, made: Sequence[Made]) -> None:
        self._fresh.append((by, made))
        if len(self._fresh) >= TOGETHER:
            self._keep()

    def _keep(self) -> None:
        """Add what is new to the versions and to the timeline: many at once, which takes less time than one by one."""
        fresh, self._fresh = self._fresh, []
        self._versions.compacted = self._runner.apiserver.store.compacted
        rows: list[tuple[Any, ...]] = []
        changes: list[Fresh] = []
        for by, made in fresh:
            if not isinstance(by, int):
                self._keep_request(by, made, _us(by), rows, changes)
                continue
            for _, serial, change in made:
                changes.append((serial, by, 0, change, False))
                what = (kind_of(change), change.revision, change.collection, change.path)
                rows.append((serial, by, change_summary, *what))
        self._timeline.extend(rows)
        self._versions.extend(changes)

    def _keep_request(
        self, record: RequestRecord, made: Sequence[Made], at: int, rows: list[tuple[Any, ...]], changes: list[Fresh]
    ) -> None:
        """Add to `rows` what the timeline shows of a request, and to `changes` what it has stored."""
        renews = record.resource in RENEWED
        renewal = renews and len(made) == 1 and is_renewal(made[0][2])
        revisions: tuple[int, ...] = ()
        for _, serial, change in made:
            changes.append((serial, at, record.serial, change, renewal))
            revisions += (change.revision,)
        if renewal:
            self._renewed(at, record, made[0][2], rows)
            return
        if renews:
            self._renewals.pop(record.path, None)
        remark = ""
        if not made and record.verb in ("update", "patch") and record.code == 200:
            self._noops.append(record)
            remark = NOOP
        rows.append((record.serial, at, request_summary, self._actors, record, remark, revisions))

    def _stored_by(self, info: RequestInfo | None) -> Sequence[Made]:
        """The changes of a request that has been answered."""
        made = self._pending
        if len(made) == 1 and made[0][0] is info:  # the most frequent case
            self._pending = []
            return made
        self._pending = [one for one in made if one[0] is not info]
        return [one for one in made if one[0] is info]

    def _renewed(self, at: int, record: RequestRecord, change: Change, rows: list[tuple[Any, ...]]) -> None:
        """Add a row for the first renewal of a lease or a node, and count the others there."""
        found = self._renewals.get(record.path)
        if found is None or not found.is_by_client_of(record):
            found = self._renewals[record.path] = Renewals(record)
            rows.append((record.serial, at, found.summary, self._actors))
        found.count(timedelta(microseconds=at), change.revision)


def _us(record: RequestRecord) -> int:
    """The microseconds since the epoch at which a request was answered."""
    return int(record.at * 1_000_000 + 0.5)  # faster than round()


def _is(value: Any, wanted: Any) -> bool:
    if isinstance(value, str) and isinstance(wanted, str):
        return value == wanted or fnmatchcase(value, wanted)
    return bool(value == wanted)
