"""The pure rules of records: rows, stories, documents, identities, reconciles, versions."""

import itertools
from datetime import UTC, datetime, timedelta

import orjson
import pytest

from controllerlib import Request, Result
from controllerlib.controller import Outcome, Run
from controllerlib.workqueue import Cause
from fakekube.apiserver.requestlog import RequestRecord
from fakekube.apiserver.storage.store import Change, Entry
from fakekube.harness.ledger import Ledger
from fakekube.harness.records import document as documents
from fakekube.harness.records import finished
from fakekube.harness.records.entry import ObjectKey, Summary, offset, stored_key
from fakekube.harness.records.entrykeys import Side, actor_of, aligned, differ, is_mark
from fakekube.harness.records.finished import Finished
from fakekube.harness.records.identity import Identities, Identity, Trace, unique_name
from fakekube.harness.records.objectversions import Versions, is_renewal
from fakekube.harness.records.reconciles import Running, Write, version_of
from fakekube.harness.records.repetition import folded
from fakekube.harness.records.requestrows import Actors, Renewals, change_summary, kind_of, request_summary
from fakekube.harness.records.story import LONGEST, Joined
from fakekube.harness.records.timelinecomparison import compare_timelines
from fakekube.harness.timeline import Timeline

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("since", "text"),
    [
        ({}, "+00:00:00"),
        ({"milliseconds": 5}, "+00:00:00.005"),
        ({"microseconds": 10}, "+00:00:00.00001"),
        ({"hours": 23, "minutes": 59, "seconds": 59}, "+23:59:59"),
        ({"days": 1}, "+1d 00:00:00"),
        ({"days": 12, "hours": 2, "minutes": 3, "seconds": 4, "microseconds": 5000}, "+12d 02:03:04.005"),
    ],
)
def test_times_since_the_start(since, text):
    assert offset(timedelta(**since)) == text


@pytest.mark.parametrize(
    ("collection", "path", "key", "text"),
    [
        ("pods", "default/a", ("", "pods", "default", "a"), "pods default/a"),
        ("nodes", "a", ("", "nodes", "", "a"), "nodes a"),
        ("deployments.apps", "x/a", ("apps", "deployments", "x", "a"), "deployments.apps x/a"),
        (
            "leases.coordination.k8s.io",
            "x/a",
            ("coordination.k8s.io", "leases", "x", "a"),
            "leases.coordination.k8s.io x/a",
        ),
    ],
)
def test_keys_of_stored_objects(collection, path, key, text):
    found = stored_key(collection, path)
    assert (found, str(found)) == (ObjectKey(*key), text)


# --- stories


def joined(*rows):
    """Rows: serial and the fields of a summary."""
    return Joined(
        [
            (serial, EPOCH + timedelta(seconds=serial), Summary("a", f"row {serial}", **fields))
            for serial, fields in rows
        ],
        EPOCH,
    )


def test_rows_are_joined_by_serials_and_revisions():
    found = joined(
        (1, {"commits": (10, 11)}),
        (2, {"reacted_to": (11, 99), "because": (7,)}),
        (3, {"because": (2, 1, 2), "reacted_to": (10,)}),
        (4, {"because": (4, 3)}),
    )
    assert {serial: row.entry.because for serial, row in found.rows.items()} == {1: (), 2: (1,), 3: (2, 1), 4: (3,)}
    assert found.effects == {1: [2, 3], 2: [3], 3: [4]}
    assert [entry.serial for entry in found.why(4)] == [4, 3, 2, 1]
    assert [entry.serial for entry in found.led_to(1)] == [1, 2, 3, 4]
    assert str(found.why(3)) == ("+00:00:03 a: row 3\nbecause of +00:00:02 a: row 2\nbecause of +00:00:01 a: row 1")
    assert str(found.led_to(2)).splitlines()[2] == "  led to +00:00:04 a: row 4"
    assert found.why(3)[1:][0].serial == 2
    with pytest.raises(LookupError, match=r"serial 9 \(kept: 1 to 4\)"):
        found.why(9)
    with pytest.raises(LookupError, match=r"kept: none"):
        joined().led_to(1)


@pytest.mark.parametrize(("length", "more"), [(LONGEST, 0), (LONGEST + 1, 1), (LONGEST + 5, 5)])
def test_a_long_story_counts_what_it_leaves_out(length, more):
    story = joined(*((number, {"because": (number - 1,)}) for number in range(1, length + 1))).why(length)
    assert len(story) == LONGEST == 200
    assert str(story).endswith(f"({more} more)") is bool(more)


# --- identities


@pytest.mark.parametrize(("taken", "name"), [([], "db"), (["db"], "db-2"), (["db", "db-2", "db-4"], "db-3")])
def test_unique_names(taken, name):
    assert unique_name("db", taken) == name


@pytest.mark.parametrize(
    ("text", "trace"),
    [
        ("db", Trace(Identity("db", 1), "", 0)),
        ("db@2", Trace(Identity("db", 2), "", 0)),
        ("db/backup#7", Trace(Identity("db", 1), "backup", 7)),
        ("db-2@3/my / one#70", Trace(Identity("db-2", 3), "my / one", 70)),
        ("kubectl/1.30", None),
        ("", None),
        ("a b", None),
        ("db@x", None),
    ],
)
def test_traces_are_read_as_they_are_written(text, trace):
    assert Trace.parse(text) == trace
    assert trace is None or str(trace) == text


def test_names_of_operators():
    found = Identities()
    assert found.claim("", "my operator!") == Identity("my-operator-", 1)
    assert [found.claim("", "db").operator for _ in range(3)] == ["db", "db-2", "db-3"]
    assert found.claim("mine", "db").operator == "mine"
    for name, error, said in (
        ("mine", ValueError, "in use: my-operator-, db"),
        ("a b", ValueError, "letters"),
        (3, TypeError, "is text"),
    ):
        with pytest.raises(error, match=said):
            found.claim(name, "db")
    assert found.next_incarnation("db") == Identity("db", 2)
    assert str(found.next_incarnation("db")) == "db@3"
    one, other = Identity("db", 3), Identity("mine", 1)
    found.has_controller(one, "backup")
    found.has_controller(one, "backup")
    assert found.lane(one, "backup") == found.lane(other, "backup") == "backup"
    found.has_controller(other, "backup")
    assert (found.lane(one, "backup"), found.lane(other, "backup")) == ("db@3/backup", "mine/backup")
    assert found.lane(one, "unknown") == "unknown"
    found.reconciles(one, "backup", "v1", "Pod")
    found.reconciles(one, "backup", "v1", "Node")
    assert (found.kind(one, "backup"), found.kind(other, "backup")) == (("v1", "Pod"), None)


# --- rows of requests


def record(**fields):
    values = {
        "at": 1.0, "verb": "update", "resource": "pods", "group": "", "namespace": "default", "name": "a", "subresource": "",
        "user": "bob", "user_agent": "tool/1.2 (x)", "code": 200, "reason": "", "path": "/p", "revision": 7, **fields,
    }  # fmt: skip
    return RequestRecord(**values)


def test_actors_of_requests():
    identities = Identities()
    actors = Actors(identities)
    for trace, agent, actor, system in (
        ("", "tool/1.2", ("tool", 0), False),
        ("", "", ("bob", 0), False),
        ("not a trace", "x", ("x", 0), False),
        ("db@2", "x", ("db@2", 0), False),
        ("db/backup#9", "x", ("backup", 9), False),
        ("cluster/gc#3", "x", ("gc", 3), True),
        ("cluster", "x", ("cluster", 0), True),
    ):
        one = record(trace=trace, user_agent=agent)
        assert (actors.of(one), actors.is_system(one)) == (actor, system)


@pytest.mark.parametrize(("code", "failed"), [(200, False), (399, False), (400, True), (0, True)])
def test_the_row_of_a_request(code, failed):
    row = request_summary(Actors(Identities()), record(code=code, trace="db/backup#9", message="why"), " (x)", (5, 6))
    assert (row.actor, row.what, row.resource_version, row.cause) == (
        "backup",
        f"update pods default/a -> {code} (x)",
        "7",
        "why",
    )
    assert (row.object, row.because, row.commits, row.failed) == (
        ObjectKey("", "pods", "default", "a"),
        (9,),
        (5, 6),
        failed,
    )
    assert dict(row.facts) == {
        "user": "bob",
        "user agent": "tool/1.2 (x)",
        "path": "/p",
        "code": str(code),
        "message": "why",
    }
    assert request_summary(Actors(Identities()), record(name=""), "", ()).object is None
    assert request_summary(Actors(Identities()), record(resource=""), "", ()).object is None
    assert request_summary(Actors(Identities()), record(), "", ()).because == ()


def test_renewals_of_one_client_are_one_row():
    actors, first = Actors(Identities()), record(resource="leases", trace="db/lock#3", namespace="kube-system")
    found = Renewals(first)
    for other, same in (
        ({"trace": "db/lock#4"}, True), ({"trace": "db/other#4"}, False), ({"trace": ""}, False),
        ({"user": "x"}, False), ({"user_agent": "x"}, False),
    ):  # fmt: skip
        assert found.is_by_client_of(first._replace(**other)) is same
    assert Renewals(record(trace="db")).is_by_client_of(record(trace="db"))
    found.count(timedelta(seconds=5), 10)
    row = found.summary(actors)
    assert (row.what, row.because, row.commits, row.system) == ("lease kube-system/a renewed", (3,), (10,), False)
    found.count(timedelta(seconds=65), 11)
    row = found.summary(actors)
    assert (row.what, row.resource_version, row.commits) == (
        "lease kube-system/a renewed 2x until +00:01:05",
        "11",
        (10, 11),
    )
    node = Renewals(record(resource="nodes", namespace=""))
    for number in range(150):
        node.count(timedelta(), number)
    assert node.summary(actors).what == "node a heartbeat 150x until +00:00:00"
    assert node.summary(actors).commits == tuple(range(50, 150))
    assert node.summary(actors).because == ()


def change(before=None, after=None, revision=5, collection="pods", path="default/a"):
    entries = [None if one is None else Entry(revision, one, "v1") for one in (before, after)]
    return Change(revision, collection, path, *entries)


def test_changes_that_the_server_makes_by_itself():
    for before, after, kind in ((None, {}, "create"), ({}, {"x": 1}, "update"), ({}, None, "delete")):
        assert kind_of(change(before, after)) == kind
    row = change_summary("delete", 7, "deployments.apps", "x/a")
    assert (row.actor, row.what, row.resource_version) == ("kube-apiserver", "delete deployments x/a", "7")
    assert (row.kind, row.object, row.commits, row.system) == (
        "stored",
        ObjectKey("apps", "deployments", "x", "a"),
        (7,),
        True,
    )


LEASE = {"metadata": {"name": "a", "resourceVersion": "1"}, "spec": {"holderIdentity": "me", "renewTime": "t1"}}
NODE = {
    "metadata": {"name": "n", "resourceVersion": "1", "managedFields": [], "labels": {"a": "b"}}, "spec": {"podCIDR": "x"},
    "status": {"conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": "t1"}], "images": []},
}  # fmt: skip


@pytest.mark.parametrize(
    ("collection", "before", "after", "renews"),
    [
        ("leases.coordination.k8s.io", LEASE, {**LEASE, "spec": {"holderIdentity": "me", "renewTime": "t2"}}, True),
        ("leases.coordination.k8s.io", LEASE, {**LEASE, "spec": {"holderIdentity": "you", "renewTime": "t2"}}, False),
        ("leases.coordination.k8s.io", None, LEASE, False),
        ("leases.coordination.k8s.io", LEASE, None, False),
        ("leases.coordination.k8s.io", {"metadata": {}}, {"metadata": {}}, True),
        ("pods", LEASE, LEASE, False),
        ("nodes", NODE, {**NODE, "metadata": {**NODE["metadata"], "resourceVersion": "2", "managedFields": [1]}}, True),
        ("nodes", NODE, {**NODE, "metadata": {**NODE["metadata"], "labels": {}}}, False),
        ("nodes", NODE, {**NODE, "spec": {}}, False),
        ("nodes", NODE, {**NODE, "status": {**NODE["status"], "images": [1]}}, False),
        ("nodes", NODE, {**NODE, "status": {**NODE["status"], "conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": "t2"}]}}, True),
        ("nodes", NODE, {**NODE, "status": {**NODE["status"], "conditions": [{"type": "Ready", "status": "False", "lastHeartbeatTime": "t1"}]}}, False),
        ("nodes", {"metadata": {}}, {"metadata": {}}, True),
    ],
)  # fmt: skip
def test_what_only_renews(collection, before, after, renews):
    assert is_renewal(change(before, after, collection=collection)) is renews


# --- reconciles


ADDED = (Cause("added", "v1", "Pod", "d", "a", "7"),)


def running(serial=1, *, name="a", error=None, after=None, due=1.0, began=3.5, finished=4.0, causes=ADDED):
    run = Run("minder", Request("d", name), "id", 2, 4, 0, causes, due, began, None)
    found = Running(Identity("op", 2), run, EPOCH, serial)
    found.outcome = Outcome("error" if error else "success", Result(requeue_after=9), error, after, finished)
    found.writes = ("create", "/p", 201, "", "8", "update", "/q", 409, "3", "")
    return found


def test_a_reconcile_is_read_as_it_was_recorded():
    kept, error = Finished(Identities()), ValueError("no")
    kept.add(running(1))
    last = kept.added(running(2, error=error, after=0.5, due=9.0, causes=()))
    assert (len(kept), kept.total(), kept.dropped) == (2, 2, 0)
    one, other = kept.read()
    assert other == last
    assert kept.read()[0] is one
    assert (one.operator, one.incarnation, one.controller, one.key, one.number, one.worker) == (
        "op",
        2,
        "minder",
        "d/a",
        1,
        2,
    )
    assert (one.started, one.waiting, one.duration) == (EPOCH, timedelta(seconds=2.5), timedelta(seconds=0.5))
    assert (one.label, one.result, one.error, one.retries, one.after) == (
        "success",
        Result(requeue_after=9),
        None,
        4,
        None,
    )
    assert one.writes == (Write("create", "/p", 201, "", "8"), Write("update", "/q", 409, "3", ""))
    assert (one.serial, one.previous, one.trace) == (1, 0, "op@2/minder#1")
    assert (one.cause, one.because) == ("added", "added Pod d/a@7")
    assert str(one) == "minder d/a #1 [added Pod d/a@7] success"
    assert (other.waiting, other.error, other.after, other.previous) == (timedelta(), error, timedelta(seconds=0.5), 1)
    assert (other.cause, other.because, str(other)) == ("unknown", "unknown", "minder d/a #2 [unknown] ValueError: no")
    merged = one._replace(causes=(Cause("updated"), Cause("resync"), Cause("updated")))
    assert (merged.cause, merged.because) == ("updated+resync", "updated + resync")


@pytest.mark.parametrize("reads", [0, 1, 3, 7])
def test_reconciles_are_numbered_alike_however_often_they_are_read(reads, monkeypatch):
    monkeypatch.setattr(finished, "TOGETHER", 5)
    monkeypatch.setattr(finished, "LIMIT", 8)
    monkeypatch.setattr(finished, "HEARTBEATS", 2)
    kept, identity = Finished(Identities()), Identity("op", 2)
    for serial in range(1, 41):
        causes = (Cause("requeue_after"),) if serial % 3 == 0 else ADDED
        one = running(serial, name="ab"[serial % 2], causes=causes)
        one.started = EPOCH + timedelta(0, serial)
        one.writes = ("update", "/x/leases/l", 200, "", "") if serial % 3 == 0 else ()
        if serial % 10 == 0:
            assert kept.added(one).number == serial // 2
        else:
            kept.add(one)
        if reads and serial % reads == 0:
            kept.read()
    found = kept.read()
    assert [one.serial for one in found] == sorted([one.serial for one in kept.others] + [36, 39])
    assert [(one.number, one.previous) for one in found] == [((one.serial + 1) // 2, one.serial - 2) for one in found]
    assert len(found) + kept.dropped == kept.total() == 40
    assert len(kept) == len(kept.others) <= 9
    assert kept.dropped - kept.others_dropped == 13 - (len(found) - len(kept))
    assert dict(kept.counts(identity)) == {("minder", "d/b"): (20, 39), ("minder", "d/a"): (20, 40)}
    assert kept.before(running(41)) == (20, 40)


def test_reconciles_are_read_in_the_order_of_their_ends_when_some_only_renew():
    kept = Finished(Identities())
    for serial, finished_at in ((1, 9.0), (2, 4.0)):
        kept.add(running(serial, finished=finished_at))
    assert [one.serial for one in kept.read()] == [1, 2]
    beat = running(3, finished=5.0, causes=(Cause("requeue_after"),))
    beat.writes = ("update", "/x/leases/l", 200, "", "")
    kept.add(beat)
    assert [one.serial for one in kept.read()] == [2, 3, 1]


@pytest.mark.parametrize(
    ("listened", "error", "before", "waiting"),
    [
        (False, None, 0, 1),
        (False, None, 3, 4),
        (False, None, 4, 0),
        (True, None, 0, 0),
        (False, ValueError("it broke"), 0, 0),
        (True, ValueError("it broke"), 3, 0),
    ],
)
def test_reconciles_are_numbered_many_at_once_unless_somebody_listens_or_one_fails(
    listened, error, before, waiting, monkeypatch
):
    monkeypatch.setattr(finished, "TOGETHER", 5)
    log, serials = [], itertools.count(1)
    ledger = Ledger(lambda: EPOCH, Timeline(EPOCH, serials, lambda *key: key), serials)
    ledger.on_error = log.append
    for serial in range(before):
        ledger.finished(running(serial))
    ledger.on_finished = (lambda found: log.append(found.number)) if listened else None
    ledger.finished(running(9, error=error))
    assert len(ledger._finished._fresh) == waiting
    assert log == [*([before + 1] if listened else []), *([error] if error else [])]
    assert len(ledger) == before + 1


# --- documents


def test_the_document_of_a_timeline(monkeypatch):
    versions = Versions()
    old, new = {"metadata": {"name": "a"}, "spec": {"x": 1, "y": 2}}, {"metadata": {"name": "a"}, "spec": {"x": 2}}
    versions.extend([(1, 0, 0, change(None, old, 5), False)])
    versions.extend([(2, 0, 3, change(old, new, 6), False)])
    versions.extend([(4, 0, 0, change(new, None, 7), False)])
    versions.extend([(5, 0, 0, change(new, old, 8, path="default/b"), False)])
    rows = joined(
        (1, {}), (3, {"failed": True, "duration": timedelta(seconds=2), "object": ObjectKey("", "pods", "d", "a")}),
        (4, {"system": True, "facts": (("a", "b"),)}), (5, {"because": (4,)}),
    )  # fmt: skip
    found = documents.document(rows, versions, EPOCH, 10, "title", failure="why")
    assert {key: found[key] for key in ("format", "title", "failure", "epoch", "dropped")} == {
        "format": 1, "title": "title", "failure": "why", "epoch": "2026-01-01T00:00:00+00:00", "dropped": 10,
    }  # fmt: skip
    first, second, third, fourth = found["entries"]
    assert (first["serial"], first["at"], first["took"], first["object"], first["failed"]) == (
        1,
        1_000_000,
        0,
        "",
        False,
    )
    assert (second["took"], second["object"], second["failed"]) == (2_000_000, "pods d/a", True)
    assert (third["system"], third["facts"], fourth["because"]) == (True, (("a", "b"),), (4,))
    assert [one["verb"] for entry in found["entries"] for one in entry["changes"]] == [
        "created",
        "updated",
        "deleted",
        "updated",
    ]
    assert second["changes"][0]["fields"] == [("spec.x", 1, 2, False, False), ("spec.y", 2, None, False, True)]
    assert (second["changes"][0]["more"], second["changes"][0]["object"]) == (0, "pods default/a")
    assert [one["known"] for entry in found["entries"] for one in entry["changes"]] == [True, True, True, False]
    assert ["stored" in one for entry in found["entries"] for one in entry["changes"]] == [True, True, False, True]
    short = documents.document(rows, versions, EPOCH, 10, "", 2)
    assert ([entry["serial"] for entry in short["entries"]], short["dropped"]) == ([4, 5], 12)
    assert len(documents.document(rows, versions, EPOCH, 0, "", 9)["entries"]) == 4
    size = len(orjson.dumps(new))
    for name, limit, kept in (
        ("OBJECT", size, [False, True, False]),
        ("OBJECTS", 2 * size, [False, False, True]),
        ("FIELDS", 1, None),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(documents, name, limit)
            again = documents.document(rows, versions, EPOCH, 0, "")["entries"]
        if kept is None:
            assert ([len(one["changes"][0]["fields"]) for one in again], again[1]["changes"][0]["more"]) == (
                [0, 1, 0, 0],
                1,
            )
        elif name == "OBJECT":
            assert ["stored" in one["changes"][0] for one in again] == [False, True, False, False]
        else:
            assert "stored" in again[3]["changes"][0]
            assert "stored" not in again[0]["changes"][0]
    whole = len(orjson.dumps(old))
    for limit, kept in (
        (whole - 1, []), (whole, [3]), (whole + size - 1, [3]), (whole + size, [1, 3]), (2 * whole + size, [0, 1, 3]),
    ):  # fmt: skip
        with monkeypatch.context() as patch:
            patch.setattr(documents, "OBJECTS", limit)
            again = documents.document(rows, versions, EPOCH, 0, "")["entries"]
        assert [number for number, entry in enumerate(again) if "stored" in entry["changes"][0]] == kept
    assert orjson.loads(documents.encoded({1: EPOCH})) == {"1": "2026-01-01T00:00:00+00:00"}


# --- comparisons


def entry(
    serial=1, *, actor="op/minder", kind="request", what="update x", changes=(), failed=False, facts=(), about=""
):
    return {"serial": serial, "actor": actor, "kind": kind, "what": what, "changes": list(changes), "failed": failed,
            "facts": list(facts), "object": about}  # fmt: skip


def stored(revision, verb="updated", about="pods d/a", fields=(), **more):
    return {"revision": revision, "verb": verb, "object": about, "fields": list(fields), **more}


@pytest.mark.parametrize(
    ("lane", "actor"), [("backup", "backup"), ("db@2/backup", "backup"), ("db@2", "db"), ("a/b/c", "c"), ("x@y", "x@y")]
)
def test_the_actor_of_a_lane(lane, actor):
    assert actor_of(lane) == actor


@pytest.mark.parametrize(
    ("left", "right", "differs"),
    [
        (entry(), entry(serial=9), False),
        (entry(), None, False),
        (None, entry(), False),
        (entry(), entry(failed=True), True),
        (
            entry(changes=[stored(1, fields=[("spec.x", 1, 2)])]),
            entry(changes=[stored(2, fields=[("spec.x", 1, 2)])]),
            False,
        ),
        (
            entry(changes=[stored(1, fields=[("spec.x", 1, 2)])]),
            entry(changes=[stored(2, fields=[("spec.x", 1, 3)])]),
            True,
        ),
        (entry(changes=[stored(1, fields=[("metadata.uid", 1, 2)])]), entry(changes=[stored(2)]), False),
        (entry(changes=[stored(1, fields=[("metadata.uidx", 1, 2)])]), entry(changes=[stored(2)]), True),
        (entry(changes=[stored(1, fields=[("a", 1, "2026-01-01T00:00:00Z")])]), entry(changes=[stored(2)]), False),
    ],
)
def test_aligned_entries_differ_in_their_results_and_values(left, right, differs):
    assert differ(left, right) is differs


@pytest.mark.parametrize(
    ("one", "mark"),
    [
        (entry(kind="note", facts=[("atom", "x")]), True),
        (entry(kind="note", facts=[("x", "atom")]), False),
        (entry(kind="request", facts=[("atom", "x")]), False),
    ],
)
def test_marks_of_faults(one, mark):
    assert is_mark(one) is mark


def lines(left, right, changes=(None, None)):
    return [tuple(line) for line in aligned(Side(left, changes[0]), Side(right, changes[1]))]


def test_entries_are_the_same_by_actor_and_event():
    reconcile = [
        entry(kind="reconcile", what=f"reconcile #{n}", facts=[("key", key)])
        for n, key in ((1, "a"), (2, "a"), (3, "b"))
    ]
    assert lines(reconcile[:1], reconcile[1:2]) == [(0, 0, True)]
    assert lines(reconcile[:1], reconcile[2:]) == [(0, None, False), (None, 0, False)]
    renewed = [entry(what=f"lease a renewed{more}") for more in ("", " 7x until +00:01")]
    assert lines(renewed[:1], renewed[1:]) == [(0, 0, True)]
    assert lines([entry(actor="db@2/a")], [entry(actor="a")]) == [(0, 0, True)]
    assert lines([entry(actor="a")], [entry(actor="b")]) == [(0, None, False), (None, 0, False)]
    assert lines([entry(kind="note")], [entry()]) == [(0, None, False), (None, 0, False)]
    assert lines([entry(what="x", about="pods a")], [entry(what="y", about="pods a")]) == [(0, 0, False)]


def test_changes_are_the_same_by_object_verb_and_fields():
    one = [entry(changes=[stored(5, fields=[("spec.b", 1, 2), ("spec.a", 1, 2), ("metadata.generation", 1, 2)])])]
    for other, same in (
        (stored(9, fields=[("spec.a", 7, 8), ("spec.b", 1, 2)]), True),
        (stored(9, fields=[("spec.a", 7, 8)]), False),
        (stored(9, "created", fields=[("spec.a", 7, 8), ("spec.b", 1, 2)]), False),
        (stored(9, about="pods d/b", fields=[("spec.a", 7, 8), ("spec.b", 1, 2)]), False),
    ):
        assert all(line[2] for line in lines(one, [entry(changes=[other])])) is same


def test_generated_names_are_compared_by_their_prefix():
    def made(name):
        meta = {"name": name, "generateName": "job-"}
        return [
            entry(
                what=f"create job {name}", changes=[stored(1, "created", f"jobs d/{name}", stored={"metadata": meta})]
            ),
            entry(what=f"note of {name}"),
        ]

    assert lines(made("job-x7"), made("job-y8")) == [(0, 0, True), (1, 1, True)]
    assert lines(made("other-x"), made("other-y")) == [
        (0, None, False),
        (1, None, False),
        (None, 0, False),
        (None, 1, False),
    ]


def test_marks_come_first_where_only_one_side_has_entries():
    mark = entry(kind="note", what="fault", facts=[("atom", "1")])
    left, right = [entry(what="a", about="1"), entry(what="b", about="2")], [mark, entry(what="c", about="3"), mark]
    assert lines(left, right) == [
        (None, 0, False),
        (0, None, False),
        (1, None, False),
        (None, 1, False),
        (None, 2, False),
    ]


def test_compared_changes_pin_their_entries_in_order():
    left = [entry(what="x"), entry(changes=[stored(1)]), entry(changes=[stored(2)])]
    right = [entry(changes=[stored(8)]), entry(what="x"), entry(changes=[stored(9)])]
    assert lines(left, right, ([(1, "k"), (2, "l")], [(8, "k"), (9, "l")])) == [
        (0, None, False), (1, 0, True), (None, 1, False), (2, 2, True),
    ]  # fmt: skip
    between = [entry(what="x"), entry(what="y"), entry(changes=[stored(1)])]
    assert lines(between, [between[1], entry(changes=[stored(8)])], ([(1, "k")], [(8, "k")])) == [
        (0, None, False), (1, 0, True), (2, 1, True),
    ]  # fmt: skip
    side = Side(left, [(1, "k")])
    assert [side.compares(at) for at in (None, 0, 1, 2)] == [False, False, True, False]
    assert side.places == {1: 1, 2: 2}


def test_repeated_rows_are_folded():
    def rows(*texts):
        return [("", "who", text, "", "") for text in texts]

    def shown(found):
        return [row[2] for row in found]

    assert shown(folded(rows("a", "a", "a", "a"))) == ["a"] * 4
    assert shown(folded(rows(*"aaaaa"))) == ["a", "a", "(2 rows like these)", "a"]
    assert shown(folded(rows(*"xababababab"))) == ["x", "a", "b", "a", "b", "(4 rows like these)", "a", "b"]
    attempts = [f"reconcile d/a #{number} failed, again in {number}.5 s" for number in range(9)]
    assert len(folded(rows(*attempts))) == 4
    assert len(folded(rows(*(f"reconcile {number}" for number in range(9))))) == 9
    assert shown(folded(rows(*"abcd" * 5))) == [*"abcdabcd", "(8 rows like these)", *"abcd"]
    assert shown(folded(rows(*"abcde" * 5))) == [*"abcde" * 5]


def test_the_document_of_a_comparison_counts_what_both_sides_have_dropped():
    sides = [
        {"format": 1, "epoch": "e", "dropped": dropped, "entries": [{**entry(serial, what=what), "because": [1], "at": serial, "rv": ""} for serial, what in rows]}
        for dropped, rows in ((3, [(1, "a"), (2, "b")]), (4, [(1, "a"), (12, "c"), (13, "d")]))
    ]  # fmt: skip
    found = compare_timelines(*sides, names=("old", "new"))
    document = found.document()
    assert (document["dropped"], len(document["entries"]), document["comparison"]["names"]) == (7, 5, ("old", "new"))
    assert document["comparison"]["first"] == found.first == 1
    assert [(one["side"], one["serial"], one["because"]) for one in document["entries"]] == [
        (0, 1, [1]), (1, 11, [11]), (0, 2, [1]), (1, 22, [11]), (1, 23, [11]),
    ]  # fmt: skip
    assert [row[2] for row in document["comparison"]["rows"]] == ["", "≠", "≠", "≠"]
    assert found.first_difference == ("+00:00:00.000002 op/minder: b", "")
    reordered = {**sides[1], "entries": sides[1]["entries"][1:]}
    assert compare_timelines(sides[0], reordered).document()["comparison"]["first"] == 0
    same = compare_timelines(sides[0], sides[0])
    assert (str(same), same.first_difference, same.document()["comparison"]["first"]) == (
        "the timelines do not differ",
        None,
        -1,
    )


@pytest.mark.parametrize(
    ("body", "version"),
    [
        ({"metadata": {"resourceVersion": "5"}}, "5"),
        ({"metadata": {"resourceVersion": 5}}, "5"),
        ({"metadata": {}}, ""),
        ({"metadata": {"resourceVersion": None}}, ""),
        ({"metadata": None}, ""),
        ({"metadata": []}, ""),
        ({}, ""),
        ([], ""),
        (None, ""),
        ("text", ""),
    ],
)
def test_the_version_of_what_was_written(body, version):
    assert version_of(body) == version
