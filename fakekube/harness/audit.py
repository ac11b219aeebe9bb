"""What the server has answered and stored: requests, the versions of each object, writes that changed nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from typing import Any

import orjson

from fakekube.apiserver.requestlog import RequestRecord
from fakekube.apiserver.resource import Resource
from fakekube.apiserver.storage.store import Change
from fakekube.apiserver.wire.request import RequestInfo
from fakekube.harness.keywords import check_request_fields
from fakekube.harness.records.entry import MICROSECOND
from fakekube.harness.records.identity import Identities
from fakekube.harness.records.kept import Bounded, Records
from fakekube.harness.records.objectversions import RENEWED, is_renewal
from fakekube.harness.records.requestrows import Actors, Renewals, change_summary, kind_of, request_summary
from fakekube.harness.timeline import Timeline
from fakekube.server.runner import ServerRunner

Object = dict[str, Any]

#: The remark on a write that changed nothing.
NOOP = " (changed nothing)"

WRITES = frozenset({"create", "update", "patch", "delete", "deletecollection"})


#: The numbers of writes, and of writes that changed nothing, that are kept.
WRITES_LIMIT, NOOPS_LIMIT = 10_000, 10_000


class Audit:
    """Listens to a server, and adds its writes and failed requests to the timeline.

    `own`: the User-Agent of the test itself, whose requests are left out unless they are asked for.
    """

    def __init__(self, runner: ServerRunner, timeline: Timeline, identities: Identities, own: str) -> None:
        self._runner, self._timeline, self._own = runner, timeline, own
        self._clock, self._epoch, self._versions = runner.clock, timeline.epoch, timeline.versions
        self._actors = Actors(identities)
        self._pending: list[tuple[RequestInfo, int, Change]] = []
        self._renewals: dict[str, Renewals] = {}
        self._noops: Bounded[RequestRecord] = Bounded(NOOPS_LIMIT)
        self._writes: Bounded[RequestRecord] = Bounded(WRITES_LIMIT)
        runner.on_write(self._written)
        runner.on_request(self._requested)

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
        view = self._runner.apiserver.registration(resource).view
        found = [one for one in self._versions.read(resource.collection) if one.path == path]
        return Records(
            [
                (
                    self._epoch + timedelta(microseconds=one.at),
                    orjson.loads(view.encode(entry)) if (entry := one.entry()) is not None else None,
                )
                for one in found
            ],
            self._versions.dropped(resource.collection, path),
        )

    def skip_to(self, revision: int) -> None:
        """The store has moved to a revision without a request."""
        self._revision = revision

    def noop_writes(self) -> Records[RequestRecord]:
        """Successful updates and patches that changed nothing, without those of the test itself and of Leases.

        A Lease that is renewed twice at the same virtual time does not change; on a cluster it would.
        """
        found = [one for one in self._noops.items if one.user_agent != self._own and one.resource != "leases"]
        return Records(found, self._noops.dropped)

    def writes_since(self, mark: int) -> Sequence[RequestRecord]:
        """The writes since a `mark()`, without those of the test itself."""
        start = max(0, mark - self._writes.dropped)
        return [record for record in self._writes.items[start:] if record.user_agent != self._own]

    def mark(self) -> int:
        """The number of writes so far."""
        return self._writes.dropped + len(self._writes.items)

    def busiest(self, limit: int = 3) -> Sequence[str]:
        """The most frequent writes of the present virtual second: the probable causes of a hot loop."""
        second = int(self._clock.monotonic())
        counts: Counter[str] = Counter()
        for record in reversed(self._writes.items):
            if int(record.at) != second:
                break
            counts[f"{record.user_agent or record.user}: {record.verb} {record.path}"] += 1
        return [f"{what} ({times}x)" for what, times in counts.most_common(limit)]

    def lines(self) -> Iterator[tuple[int, str]]:
        """A line for each request and each stored change, with its serial: microseconds since the epoch, then what."""
        for record in self._runner.log:
            message = f": {record.message}" if record.message else ""
            at = round(record.at * 1_000_000)
            yield record.serial, f"{at} {record.user_agent} {record} rv={record.revision}{message}"
        for one in self._versions.read():
            stored = one.json.decode() or "deleted"
            yield one.serial, f"{one.at} {one.revision} {one.collection} {one.path} {stored}"

    def _written(self, change: Change) -> None:
        """A change is stored: its request is recorded when it is answered."""
        info, serial = self._runner.answering, next(self._runner.serials)
        if info is not None:
            self._pending.append((info, serial, change))
            return
        now = self._clock.now()
        self._versions.add(serial, (now - self._epoch) // MICROSECOND, 0, change, False)
        self._timeline.add(now, change_summary, kind_of(change), change.revision, change.collection, change.path,
                           serial=serial)  # fmt: skip

    def _requested(self, record: RequestRecord) -> None:
        is_write = record.verb in WRITES
        if is_write:
            self._writes.append(record)
        elif record.code < 400:
            return
        now, made = self._clock.now(), self._stored_by(self._runner.answering)
        renews = record.resource in RENEWED
        renewal = renews and len(made) == 1 and is_renewal(made[0][2])
        if made:
            at = (now - self._epoch) // MICROSECOND
            for _, serial, change in made:
                self._versions.add(serial, at, record.serial, change, renewal)
        if renewal:
            self._renewed(now, record, made[0][2])
            return
        if renews:
            self._renewals.pop(record.path, None)
        remark = ""
        if not made and record.verb in ("update", "patch") and record.code == 200:
            self._noops.append(record)
            remark = NOOP
        revisions = tuple([change.revision for _, _, change in made])
        self._timeline.add(now, request_summary, self._actors, record, remark, revisions, serial=record.serial)

    def _stored_by(self, info: RequestInfo | None) -> list[tuple[RequestInfo, int, Change]]:
        """The changes of a request that has been answered."""
        made = self._pending
        if not made:
            return made
        if len(made) == 1 and made[0][0] is info:  # the most frequent case
            self._pending = []
            return made
        self._pending = [one for one in made if one[0] is not info]
        return [one for one in made if one[0] is info]

    def _renewed(self, now: datetime, record: RequestRecord, change: Change) -> None:
        """Add a row for the first renewal of a lease or a node, and count the others there."""
        found = self._renewals.get(record.path)
        if found is None or not found.is_by_client_of(record):
            found = self._renewals[record.path] = Renewals(record)
            self._timeline.add(now, found.summary, self._actors, serial=record.serial)
        found.count(now - self._epoch, change.revision)


def _is(value: Any, wanted: Any) -> bool:
    if isinstance(value, str) and isinstance(wanted, str):
        return value == wanted or fnmatchcase(value, wanted)
    return bool(value == wanted)
