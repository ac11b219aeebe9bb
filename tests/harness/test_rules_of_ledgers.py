"""What the ledger, the timeline and the versions of objects keep and show: tables, without a cluster."""

import itertools
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest

from controllerlib import Request, Result
from controllerlib.controller import Outcome, Run
from controllerlib.workqueue import Cause
from fakekube.apiserver.storage.store import Change, Entry
from fakekube.harness.ledger import (
    Ledger,
    _drop_tracebacks,
    _informer_summary,
    _key,
    _shown,
    _summary,
)
from fakekube.harness.records import objectversions
from fakekube.harness.records.entry import ObjectKey, Summary
from fakekube.harness.records.finished import _is_heartbeat
from fakekube.harness.records.identity import CLUSTER, Identity
from fakekube.harness.records.kept import Bounded
from fakekube.harness.records.objectversions import Versions
from fakekube.harness.records.reconciles import Running, Write
from fakekube.harness.repeatedtracebacks import without_repetitions
from fakekube.harness.timeline import Rows, Timeline, note_row

EPOCH = datetime(2026, 1, 2, tzinfo=UTC)
ADDED = Cause("added", "v1", "Pod", "d", "a", "7")


def running(serial=1, *, operator="op", incarnation=1, controller="minder", key="a", error=None, after=None, causes=(ADDED,), writes=(), finished=4.0):  # fmt: skip
    run = Run(controller, Request("d", key), "id", 2, 0, 0, causes, 1.0, 3.5, None)
    found = Running(Identity(operator, incarnation), run, EPOCH + timedelta(seconds=serial), serial)
    found.outcome = Outcome("error" if error else "success", Result(), error, after, finished)
    found.writes = writes
    return found


def resource(api_version, kind, namespace, name):
    if kind == "Unknown":
        raise LookupError(kind)
    return ObjectKey("", "pods", namespace, name)


class Observer:
    """The observer of an operator."""

    def __init__(self, name="op", incarnation=1, keys=(), unfinished=()):
        self.identity, self.retired = Identity(name, incarnation), 0
        self.running, self.unfinished = lambda controller: keys, lambda: unfinished

    def retire(self):
        self.retired += 1


def ledger(*observers):
    timeline = Timeline(EPOCH, itertools.count(100), resource)
    found = Ledger(lambda: EPOCH, timeline, itertools.count(1))
    for one in observers or (Observer(),):
        found.attach(one)
    return found


# --- what is kept


def stored(revision, *, collection="pods", path="d/a", before=True, after=True, size=1):
    entries = [Entry(revision, {"x": "y" * size}, "v1") if one else None for one in (before, after)]
    assert all(one is None or one.json for one in entries)  # encoded, as after the answer to the request
    return Change(revision, collection, path, *entries)


def filled(number, *, limit=objectversions.LIMIT, renewal=lambda one: False, **options):
    versions = Versions(limit)
    for one in range(1, number + 1):
        versions.extend([(one, one * 10, one * 100, stored(one, **options), renewal(one))])
    return versions


def test_a_version_has_what_was_stored():
    versions = filled(1)
    versions.extend([(2, 20, 200, stored(2, before=False), False)])
    versions.extend([(3, 30, 0, stored(3, after=False, collection="nodes", path="n"), False)])
    first, second, third = versions.read()
    assert first[:7] == (1, 10, 100, 1, "pods", "d/a", False)
    assert (second.created, third.created) == (True, False)
    assert (third.collection, third.path, third.json, third.stored_as, third.entry()) == ("nodes", "n", b"", "", None)
    assert (first.stored_as, first.entry().object, first.entry().revision) == ("v1", {"x": "y"}, 1)
    assert [one.serial for one in versions.read("nodes")] == [3]


@pytest.mark.parametrize(("number", "blocks"), [(15, 0), (16, 0), (19, 0), (20, 1), (23, 1), (24, 2)])
def test_the_oldest_changes_are_compressed_together(monkeypatch, number, blocks):
    monkeypatch.setattr(objectversions, "RECENT", 16)
    monkeypatch.setattr(objectversions, "TOGETHER", 4)
    versions = filled(number)
    assert (len(versions._blocks), len(versions._recent)) == (blocks, number - 4 * blocks)
    assert [one.serial for one in versions.read()] == list(range(1, number + 1))
    assert versions.dropped("pods", "d/a") == 0


@pytest.mark.parametrize(("most", "blocks"), [(0, 5), (1, 4), (3, 2), (4, 1), (5, 0)])
def test_large_changes_are_compressed_early(monkeypatch, most, blocks):
    size = stored(1, size=100).after.encoded_size
    monkeypatch.setattr(objectversions, "RECENT_BYTES", most * size)
    monkeypatch.setattr(objectversions, "TOGETHER", 1)
    versions = filled(5, size=100)
    assert len(versions._blocks) == blocks
    assert (versions._counted, versions._recent_bytes) == (most, most * size)


def test_renewals_are_kept_each_and_bounded(monkeypatch):
    for name, value in (("RECENT", 8), ("TOGETHER", 4), ("RENEWALS", 3)):
        monkeypatch.setattr(objectversions, name, value)
    versions = filled(15, renewal=lambda one: one % 2 == 0)
    assert [one.serial for one in versions._renewals] == [2, 4]
    for one in range(16, 24):
        versions.extend([(one, 0, 0, stored(one), one % 2 == 0)])
    assert [one.serial for one in versions._renewals] == [8, 10, 12]
    dropped = versions.dropped("pods", "d/a")
    assert dropped == versions._dropped_renewals["pods", "d/a"] > 0
    assert versions.dropped("pods", "d/b") == 0
    serials = [one.serial for one in versions.read("pods")]
    assert serials == sorted(serials)
    assert len(serials) == 23 - dropped
    assert list(versions.read("nodes")) == []


# --- reconciles


def test_reconciles_are_numbered_by_operator_controller_and_key():
    found = ledger(Observer(), Observer("other"))
    for one in (
        running(1),
        running(2, key="b"),
        running(3),
        running(4, controller="c"),
        running(5, operator="other"),
        running(6),
    ):
        found.finished(one)
    assert [(one.number, one.previous) for one in found] == [(1, 0), (1, 0), (2, 1), (1, 0), (1, 0), (3, 3)]
    assert found.counts("minder") == {"d/a": 4, "d/b": 1}
    assert found.counts("minder", operator="op") == {"d/a": 3, "d/b": 1}
    assert found.counts("minder", operator="other", incarnation=2) == {}
    assert found.counts("c") == {"d/a": 1}
    assert (len(found), found.dropped) == (6, 0)
    assert [text for _, text in found.lines(EPOCH)][2] == "3000000 op/minder/2 d/a #2 [added] ok"
    assert [serial for serial, _ in found.lines(EPOCH)] == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    ("asked", "serials"),
    [
        ({}, [1, 2, 3, 4]),
        ({"controller": "minder"}, [1, 2, 4]),
        ({"controller": "minder", "key": "d/a"}, [1, 4]),
        ({"key": "d/a"}, [1, 3, 4]),
        ({"operator": "op"}, [1, 2, 3]),
        ({"operator": "op", "incarnation": 2}, []),
        ({"incarnation": 2}, [4]),
    ],
)
def test_reconciles_of_a_controller_a_key_or_an_operator(asked, serials):
    found = ledger(Observer(), Observer("other", 2))
    for one in (
        running(1),
        running(2, key="b"),
        running(3, controller="c"),
        running(4, operator="other", incarnation=2),
    ):
        found.finished(one)
    records = found.reconciles(**asked)
    assert ([one.serial for one in records], records.dropped) == (serials, 0)


@pytest.mark.parametrize(
    ("asked", "dropped"),
    [({}, 3), ({"controller": "minder"}, 2), ({"controller": "minder", "key": "d/a"}, 2), ({"controller": "minder", "key": "d/x"}, 0), ({"controller": "c"}, 1)],
)  # fmt: skip
def test_reconciles_say_how_many_are_no_longer_kept(asked, dropped):
    found = ledger()
    found._finished._others._kept = Bounded(2)
    for one in (running(1), running(2), running(3, controller="c"), running(4), running(5)):
        found.finished(one)
    assert [one.serial for one in found] == [4, 5]
    assert (found.dropped, len(found)) == (3, 5)
    assert found.reconciles(**asked).dropped == dropped


@pytest.mark.parametrize(
    ("causes", "key", "kind"),
    [
        ((ADDED,), "a", ("v1", "Pod")),
        ((ADDED,), "b", None),
        ((Cause("resync"), ADDED), "a", ("v1", "Pod")),
        ((Cause("added", "v1", "Pod", "", "a"),), "a", None),
        ((Cause("added", "v1", "Pod", "other", "a"), Cause("added", "v1", "Job", "d", "a"), ADDED), "a", ("v1", "Job")),
        ((), "a", None),
    ],
)
def test_the_kind_of_keys_is_that_of_the_object_with_the_key(causes, key, kind):
    found = ledger()
    found.finished(running(causes=causes, key=key))
    assert found.kind(Identity("op", 1), "minder") == kind


RENEWED = ("update", "/apis/coordination.k8s.io/v1/namespaces/n/leases/a", 200, "", "")
BEAT = ("patch", "/api/v1/nodes/a/status", 200, "", "")
PERIODIC = (Cause("requeue_after"),)


@pytest.mark.parametrize(
    ("options", "heartbeat"),
    [
        ({"writes": RENEWED}, True),
        ({"writes": (*RENEWED, *RENEWED)}, True),
        ({"writes": RENEWED, "causes": (Cause("requeue_after"), ADDED)}, False),
        ({"writes": RENEWED, "causes": (ADDED,)}, False),
        ({"writes": RENEWED, "error": ValueError()}, False),
        ({"writes": (*RENEWED[:2], 201, "", "")}, False),
        ({"writes": ("delete", *RENEWED[1:])}, False),
        ({"writes": (*RENEWED, "update", "/api/v1/pods/a", 200, "", "")}, False),
        ({"writes": BEAT}, False),
        ({"writes": BEAT, "operator": CLUSTER}, True),
        ({"writes": ("patch", "/api/v1/nodes/a", 200, "", ""), "operator": CLUSTER}, False),
        ({"writes": (*RENEWED, *BEAT)}, True),
    ],
)
def test_reconciles_that_only_renew_are_kept_apart(options, heartbeat):
    one = running(**{"causes": PERIODIC, **options})
    assert bool(_is_heartbeat(one)) is heartbeat
    found = ledger(Observer(options.get("operator", "op")))
    found.finished(one)
    assert (len(found), len(found._finished)) == (1, not heartbeat)


def test_observers_are_called_with_a_reconcile_and_its_error():
    found, log, error = ledger(), [], ValueError("it broke")
    found.on_finished = lambda one: log.append((one.serial, one.number))
    found.on_error = log.append
    found.finished(running(1, writes=RENEWED, causes=PERIODIC))
    found.finished(running(2, error=error, after=0.5))
    assert log == [(1, 1), (2, 2), error]
    assert list(found._failures) == [(2, "failed: it broke, again in 0.5 s", error)]
    found.retire()
    assert (found.on_started, found.on_finished, found.on_error) == (None, None, None)
    assert found.waiting_for(None) == ""
    assert [one.retired for one in found._observers] == [1]


def test_retiring_drops_the_tracebacks_of_what_was_recorded():
    def raised(kind=ValueError):
        try:
            try:
                raise KeyError("first")
            except KeyError as first:
                raise kind("second") from first
        except kind as error:
            return error

    found, failed, informed = ledger(), raised(), raised()
    found.finished(running(1, error=failed))
    event = SimpleNamespace(informer="pods", kind="failed", error=informed, resource_version="7", again=False)
    found.informer(event)
    found.informer(SimpleNamespace(**{**vars(event), "kind": "listed", "error": None}))
    found.informer(SimpleNamespace(**{**vars(event), "kind": "listed", "error": None, "again": True}))
    assert [(row.what, row.cause) for row in found._timeline if row.kind == "informer"] == [
        ("informer pods failed", "second"), ("informer pods listed", ""),
    ]  # fmt: skip
    found.retire()
    for error in failed, informed:
        assert error.__traceback__ is None
        assert error.__cause__.__traceback__ is None
    outer = raised()
    outer.__context__ = raised(TypeError)
    _drop_tracebacks(outer)
    assert outer.__context__.__traceback__ is None
    for kind, bad in (("failed", True), ("listed", False)):
        row = _informer_summary(SimpleNamespace(informer="pods", kind=kind, error=None, resource_version="7"))
        assert (row.actor, row.resource_version, row.kind, row.failed) == ("controllerlib", "7", "informer", bad)


@pytest.mark.parametrize(
    ("operator", "incarnation", "keys"), [("", 0, ["x", "y", "z"]), ("op", 0, ["x", "y"]), ("op", 2, ["y"]), ("", 1, ["x", "z"])]
)  # fmt: skip
def test_keys_that_are_being_reconciled(operator, incarnation, keys):
    found = ledger(Observer(keys=["x"]), Observer(incarnation=2, keys=["y"]), Observer("other", keys=["z"]))
    assert found.running("minder", operator=operator, incarnation=incarnation) == keys


@pytest.mark.parametrize(("waits", "text"), [("", ""), ("a lock", ": it waits for a lock")])
def test_reconciles_that_have_not_ended_are_rows(waits, text):
    retry = Cause("retry")
    found = ledger(
        Observer(unfinished=[running(5, causes=(retry, ADDED)), running(6, key="b"), running(7, key="c", causes=())])
    )
    found.finished(running(1))
    found.waiting_for = lambda run: waits
    rows = list(found._timeline)
    assert [row.what for row in rows] == ["reconcile d/a #1 ok"] + [
        f"reconcile d/{key} has not ended{text}" for key in ("a #2", "b #1", "c #1")
    ]
    assert len(found._timeline) == 4
    assert [row.cause for row in rows[1:]] == ["retry + added Pod d/a@7", "added Pod d/a@7", "unknown"]
    assert [row.because for row in rows[1:]] == [(1,), (), ()]
    assert rows[1].object == ObjectKey("", "pods", "d", "a")
    assert [row.at for row in rows[1:]] == [EPOCH + timedelta(seconds=one) for one in (5, 6, 7)]
    found.retire()
    found.waiting_for = lambda run: "another"
    assert [row.what for row in found._timeline] == [row.what for row in rows]
    assert len(found._timeline) == 4


def finished(**options):
    found = ledger(Observer(options.get("operator", "op"), options.get("incarnation", 1)))
    found.finished(running(9, **options))
    (one,) = found
    return found.identities, one


@pytest.mark.parametrize(
    ("options", "text", "failed"),
    [
        ({}, "ok", False),
        ({"after": 1.5}, "ok, again in 1.5 s", False),
        ({"after": 0.0}, "ok, again in 0 s", False),
        ({"error": ValueError("no")}, "failed: no", True),
        ({"error": ValueError("no"), "after": 2.0}, "failed: no, again in 2 s", True),
    ],
)
@pytest.mark.parametrize("operator", ["op", CLUSTER])
def test_the_row_of_a_reconcile(options, text, failed, operator):
    identities, one = finished(**options, operator=operator, writes=("create", "/p", 201, "", "8"))
    assert _shown(one) == text
    row = _summary(identities, one, "", resource)
    assert (row.actor, row.what, row.cause) == (
        identities.lane(Identity(operator, 1), "minder"),
        f"reconcile d/a #1 {text}",
        "added Pod d/a@7",
    )
    assert (row.failed, row.system, row.kind) == (failed, operator == CLUSTER, "reconcile")
    assert (row.object, row.reacted_to, row.because) == (ObjectKey("", "pods", "d", "a"), (7,), ())
    assert row.duration == timedelta(seconds=0.5)
    facts = row.facts
    assert facts[:4] == (
        ("controller", "minder"),
        ("operator", str(Identity(operator, 1))),
        ("key", "d/a"),
        ("number", "1"),
    )
    assert facts[4:8] == (("worker", "2"), ("result", one.label), ("waited", "2.5 s"), ("took", "0.5 s"))
    assert facts[8:] == (("cause", "added Pod d/a@7"), ("wrote", "create /p -> 201"))
    assert _summary(identities, one, "as it was", resource).what == "reconcile d/a #1 as it was"


@pytest.mark.parametrize(
    ("causes", "because", "reacted"),
    [
        (("requeue_after",), (3,), ()),
        (("requeue",), (3,), ()),
        (("retry", "generic"), (3,), ()),
        (("generic",), (), ()),
        ((), (), ()),
    ],
)
def test_what_a_reconcile_follows_from(causes, because, reacted):
    identities, one = finished(causes=tuple(map(Cause, causes)))
    row = _summary(identities, one._replace(previous=3), "", resource)
    assert (row.because, row.reacted_to) == (because, reacted)


@pytest.mark.parametrize(
    ("kind", "key", "found"),
    [
        (None, "d/a", None),
        (("v1", "Pod"), "d/a", ObjectKey("", "pods", "d", "a")),
        (("apps/v1", "Unknown"), "d/a", ObjectKey("apps", "Unknown", "d", "a")),
        (("v1", "Unknown"), "a", ObjectKey("", "Unknown", "", "a")),
    ],
)
def test_the_object_of_a_key(kind, key, found):
    assert _key(resource, kind, key) == found


def test_rows_that_are_dropped_are_counted():
    found = ledger()
    found._finished._others._kept = Bounded(1)
    for serial in (1, 2, 3):
        found.finished(running(serial, error=ValueError(str(serial))))
    assert (found._timeline.dropped, len(found._timeline)) == (2, 1)
    assert str(found._timeline).startswith("(2 earlier entries left out)\ntime")
    assert [row.what for row in found._timeline] == ["reconcile d/a #3 failed: 3"]


# --- the timeline


def timeline(*rows, limit=100):
    made = Timeline(EPOCH, itertools.count(1), resource, limit)
    for actor, what in rows:
        made.add(EPOCH + timedelta(seconds=len(made)), Summary, actor, what)
    return made


def test_the_last_rows_of_a_timeline():
    made = timeline(("a", "one"), ("b", "two"), ("a", "three"))
    head = "time       actor  what   rv  cause"
    lines = {"one": "+00:00:00  a      one", "two": "+00:00:01  b      two", "three": "+00:00:02  a      three"}
    assert made.render().splitlines() == [head, *lines.values()]
    assert made.render(1).splitlines() == ["(2 earlier entries left out)", head, lines["three"]]
    assert made.render(0).splitlines()[0] == "(3 earlier entries left out)"
    assert made.render(3) == made.render(9) == str(made)
    assert repr(made) == "<Timeline of 3 entries: print() shows them>"
    rows = made.by("a")
    assert ([one.what for one in rows], rows[0].what, len(rows)) == (["one", "three"], "one", 2)
    assert repr(rows) == f"<Rows\n{rows}>"
    assert str(Rows([], EPOCH, 2)).splitlines()[0] == "(2 earlier entries left out)"
    with pytest.raises(LookupError, match=r"has no actor 'c' \(actors: a, b\)"):
        made.by("c")
    with pytest.raises(LookupError, match=r"\(actors: none\)"):
        timeline().by("c")


def test_long_cells_do_not_widen_the_others():
    made = timeline(("a", "x" * 70), ("b", "y" * 60))
    head, first, second = str(made).splitlines()
    assert head == "time       actor  " + "what".ljust(60) + "  rv  cause"
    assert first.endswith("x" * 70)
    assert second.endswith("y" * 60)


def test_rows_of_the_same_serial_stay_in_their_order():
    made = timeline()
    for actor, at in (("b", 2), ("a", 1)):
        made.add(EPOCH + timedelta(seconds=at), Summary, actor, "x", serial=7)
    assert [row[1].second for row in made._sorted()] == [2, 1]


def test_a_listener_may_add_rows_before_they_are_read():
    made = timeline()
    forget = made.on_read(lambda: note_row(made, lambda: EPOCH, "a", "is wrong"))
    assert len(made) == 1
    assert made.joined().rows[1].summary.failed
    forget()
    forget()
    before = len(made)
    assert len(made) == before


@pytest.mark.parametrize(("name", "begins"), [("a.txt", "time "), ("a.json", "{"), ("a.html", "<!doctype html>")])
def test_texts_that_are_not_unicode_are_written(tmp_path, name, begins):
    """As names of files in messages of errors may be; a folder that does not exist is made."""
    made, path = timeline(("a", "\ud800")), tmp_path / "new" / "folder" / name
    for _ in range(2):
        assert made.save(path) == path
    assert path.read_text("utf-8").lower().startswith(begins)
    assert "\\ud800" in path.read_text("utf-8")


# --- repeated tracebacks


def traceback(line, error="ValueError: no"):
    return ["Traceback (most recent call last):", f'  File "/op.py", line {line}, in work', "    work()", error]


def test_counts_are_placed_below_the_traceback_that_they_count():
    one, other = traceback(1), traceback(2)
    text = "\n".join(
        ["ERROR first", *one, "ERROR second", *other, "ERROR third", *one, "ERROR fourth", *other, "ERROR first", *one, "INFO end"]
    )  # fmt: skip
    assert without_repetitions(text).splitlines() == [
        "ERROR first", *one,
        "(this traceback is logged 2 times more, with 2 different messages; the last: ERROR first)",
        "ERROR second", *other,
        "(this traceback is logged 1 time more, with 2 different messages; the last: ERROR fourth)",
        "INFO end",
    ]  # fmt: skip
    assert "(this traceback is logged 1 time more)" in without_repetitions(
        "\n".join(["ERROR a", *one, "ERROR a", *one])
    )


def test_writes_are_compared_by_value():
    assert running(writes=RENEWED).written() == (Write(*RENEWED),)


@pytest.mark.parametrize(
    ("compacted", "most", "renewal", "blocks"),
    [
        (0, 100, False, 0),  # the store keeps all of them
        (3, 100, False, 0),  # the first four are compressed together, and it keeps the fourth
        (4, 100, False, 1),
        (40, 100, False, 6),
        (0, 30, False, 3),  # however many it keeps
        (0, 100, True, 0),  # renewals are kept each
    ],
)
def test_what_the_store_keeps_is_not_compressed(monkeypatch, compacted, most, renewal, blocks):
    for name, value in (("RECENT", 16), ("TOGETHER", 4), ("MOST", most)):
        monkeypatch.setattr(objectversions, name, value)
    versions = Versions()
    versions.compacted = compacted
    for one in range(1, 41):
        versions.extend([(one, one * 10, one * 100, stored(one), renewal)])
    assert len(versions._blocks) == blocks
    assert len(versions._renewals) == (24 if renewal else 0)
    assert [one.serial for one in versions.read()] == list(range(1, 41))


def test_what_the_store_has_lost_by_a_restore_is_compressed(monkeypatch):
    for name, value in (("RECENT", 16), ("TOGETHER", 4)):
        monkeypatch.setattr(objectversions, name, value)
    versions = Versions()
    versions.compacted = 0
    for one in range(1, 31):
        versions.extend([(one, one * 10, one * 100, stored(one), False)])
    assert len(versions._blocks) == 0
    versions.lose()
    versions.extend([(31, 310, 3100, stored(31), False)])
    assert (len(versions._blocks), len(versions._recent), versions._lost) == (3, 19, 18)
    for one in range(32, 80):
        versions.extend([(one, one * 10, one * 100, stored(one), False)])
    assert (len(versions._blocks), versions._lost) == (8, 0)
    assert [one.serial for one in versions.read()] == list(range(1, 80))
