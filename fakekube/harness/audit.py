"""What the server has answered and stored: requests, the versions of each object, writes that changed nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from typing import Any

import orjson

from fakekube.apiserver.requestlog import RequestRecord
from fakekube.apiserver.resource import Resource
from fakekube.apiserver.storage.store import Change
from fakekube.harness.keywords import check_request_fields
from fakekube.harness.timeline import Summary, Timeline
from fakekube.server.runner import ServerRunner

Object = dict[str, Any]

#: The remark on a write that changed nothing.
NOOP = " (changed nothing)"

MICROSECOND = timedelta(microseconds=1)

WRITES = frozenset({"create", "update", "patch", "delete", "deletecollection"})


class Audit:
    """Listens to a server, and adds its writes and failed requests to the timeline.

    `own`: the User-Agent of the test itself, whose requests are left out unless they are asked for.
    """

    def __init__(self, runner: ServerRunner, now: Callable[[], datetime], timeline: Timeline, own: str) -> None:
        self._runner, self._now, self._timeline, self._own = runner, now, timeline, own
        self._changes: list[tuple[datetime, Change]] = []
        self._noops: list[RequestRecord] = []
        self._writes: list[RequestRecord] = []
        self._revision = runner.apiserver.store.revision
        runner.on_write(self._written)
        runner.on_request(self._requested)

    def requests(self, wanted: Mapping[str, Any]) -> Sequence[RequestRecord]:
        """The answered requests with these fields, oldest first; text may be a shell pattern.

        Raises TypeError for a field that a RequestRecord does not have, or a value of another type than the field's.
        """
        check_request_fields(wanted)
        shown = (
            self._runner.log if "user_agent" in wanted else (r for r in self._runner.log if r.user_agent != self._own)
        )
        return [r for r in shown if all(_is(getattr(r, name), value) for name, value in wanted.items())]

    def versions(self, resource: Resource, name: str, namespace: str) -> Sequence[tuple[datetime, Object | None]]:
        """The time of each change of an object, and a copy of its new version (None: deleted)."""
        path = f"{namespace}/{name}" if resource.namespaced else name
        view = self._runner.apiserver.registration(resource).view
        return [
            (at, orjson.loads(view.encode(change.after)) if change.after else None)
            for at, change in self._changes
            if change.collection == resource.collection and change.path == path
        ]

    def noop_writes(self) -> Sequence[RequestRecord]:
        """Successful updates and patches that changed nothing, without those of the test itself and of Leases.

        A Lease that is renewed twice at the same virtual time does not change; on a cluster it would.
        """
        return [record for record in self._noops if record.user_agent != self._own and record.resource != "leases"]

    def writes_since(self, mark: int) -> Sequence[RequestRecord]:
        """The writes since a `mark()`, without those of the test itself."""
        return [record for record in self._writes[mark:] if record.user_agent != self._own]

    def mark(self) -> int:
        """The number of writes so far."""
        return len(self._writes)

    def busiest(self, limit: int = 3) -> Sequence[str]:
        """The most frequent writes of the present virtual second: the probable causes of a hot loop."""
        second = int(self._runner.clock.monotonic())
        counts: Counter[str] = Counter()
        for record in reversed(self._writes):
            if int(record.at) != second:
                break
            counts[f"{record.user_agent or record.user}: {record.verb} {record.path}"] += 1
        return [f"{what} ({times}x)" for what, times in counts.most_common(limit)]

    def lines(self, epoch: datetime) -> Iterator[str]:
        """A line for each request, then for each stored change, with its time in microseconds since the epoch."""
        for record in self._runner.log:
            yield f"{round(record.at * 1_000_000)} {record.user_agent} {record} rv={record.revision}"
        for at, change in self._changes:
            stored = change.after.json.decode() if change.after else "deleted"
            yield f"{(at - epoch) // MICROSECOND} {change.revision} {change.collection} {change.path} {stored}"

    def _written(self, change: Change) -> None:
        self._changes.append((self._now(), change))

    def _requested(self, record: RequestRecord) -> None:
        is_write, remark = record.verb in WRITES, ""
        if is_write:
            self._writes.append(record)
            if record.verb in ("update", "patch") and record.code == 200 and record.revision == self._revision:
                self._noops.append(record)
                remark = NOOP
        if is_write or record.code >= 400:
            self._timeline.add(self._now(), _summary, record, remark)
        self._revision = record.revision


def _summary(record: RequestRecord, remark: str) -> Summary:
    agent = (record.user_agent or record.user).partition("/")[0]
    return Summary(agent, f"{record}{remark}", str(record.revision))


def _is(value: Any, wanted: Any) -> bool:
    if isinstance(value, str) and isinstance(wanted, str):
        return value == wanted or fnmatchcase(value, wanted)
    return bool(value == wanted)
