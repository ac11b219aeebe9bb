"""The rows of the timeline for requests, for renewals, and for changes that the server makes by itself."""

from __future__ import annotations

from collections import deque
from datetime import timedelta
from typing import Literal

from fakekube.apiserver.requestlog import RequestRecord
from fakekube.apiserver.storage.store import Change
from fakekube.harness.records.entry import ObjectKey, Summary, offset, stored_key
from fakekube.harness.records.identity import CLUSTER, Identities, Trace
from fakekube.struct import Struct, field

#: The number of revisions of a renewed lease by which its row is found as the cause of a reconcile.
REVISIONS = 100

#: The actor of changes that no request made.
SERVER = "kube-apiserver"


class Actors(Struct, frozen=True):
    """The actors of requests."""

    identities: Identities

    def of(self, record: RequestRecord) -> tuple[str, int]:
        """The controller or the operator that made a request, and the serial of the reconcile (0: none).

        For other clients: the first part of the User-Agent, else the user.
        """
        trace = Trace.parse(record.trace)
        if trace is None or not record.trace:
            return (record.user_agent or record.user).partition("/")[0], 0
        if not trace.serial:
            return str(trace.identity), 0
        return self.identities.lane(trace.identity, trace.controller), trace.serial

    def is_system(self, record: RequestRecord) -> bool:
        """Whether one of the cluster's own controllers made a request."""
        trace = Trace.parse(record.trace)
        return trace is not None and trace.identity.operator == CLUSTER


def request_summary(actors: Actors, record: RequestRecord, remark: str, revisions: tuple[int, ...]) -> Summary:
    """The row of a write or of a failed request."""
    actor, reconcile = actors.of(record)
    facts = [
        ("user", record.user),
        ("user agent", record.user_agent),
        ("path", record.path),
        ("code", str(record.code)),
        ("reason", record.reason),
        ("message", record.message),
    ]
    return Summary(
        actor,
        f"{record}{remark}",
        str(record.revision),
        record.message,
        "request",
        _key(record),
        because=(reconcile,) if reconcile else (),
        commits=revisions,
        facts=tuple(fact for fact in facts if fact[1]),
        failed=record.code >= 400 or record.code == 0,
        system=actors.is_system(record),
    )


def _key(record: RequestRecord) -> ObjectKey | None:
    if not (record.resource and record.name):
        return None
    return ObjectKey(record.group, record.resource, record.object_namespace, record.name)


class Renewals(Struct):
    """Renewals of one lease, or heartbeats of one node, by one client, which are one row. `record`: the first."""

    record: RequestRecord
    times: int = 0
    until: timedelta = timedelta()
    revisions: deque[int] = field(default_factory=lambda: deque(maxlen=REVISIONS))

    def is_by_client_of(self, record: RequestRecord) -> bool:
        """Whether a request is of the client that made the renewals before."""
        mine, other = (one.trace.rpartition("#")[0] or one.trace for one in (self.record, record))
        return (self.record.user, self.record.user_agent, mine) == (record.user, record.user_agent, other)

    def count(self, at: timedelta, revision: int) -> None:
        self.times += 1
        self.until = at
        self.revisions.append(revision)

    def summary(self, actors: Actors) -> Summary:
        record = self.record
        actor, reconcile = actors.of(record)
        what = (
            f"lease {record.namespace}/{record.name} renewed" if record.namespace else f"node {record.name} heartbeat"
        )
        if self.times > 1:
            what += f" {self.times}x until {offset(self.until)}"
        because = (reconcile,) if reconcile else ()
        return Summary(
            actor,
            what,
            str(self.revisions[-1]),
            "",
            "request",
            _key(record),
            because,
            commits=tuple(self.revisions),
            system=actors.is_system(record),
        )


def kind_of(change: Change) -> Literal["create", "update", "delete"]:
    """What a change did."""
    return "delete" if change.after is None else "create" if change.before is None else "update"


def change_summary(verb: str, revision: int, collection: str, path: str) -> Summary:
    """The row of a change that the server made by itself."""
    key = stored_key(collection, path)
    what = f"{verb} {key.resource} {path}"
    return Summary(SERVER, what, str(revision), "", "stored", key, commits=(revision,), system=True)
