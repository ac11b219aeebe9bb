"""Which requests and reconciles are findings: tables of detectors that look at what clients ask, without an operator."""

import base64
import logging
from types import SimpleNamespace

import pytest

from controllerlib import ApiError, Result
from controllerlib.controller import Outcome, RecoveredPanic
from fakekube.apiserver.requestlog import RequestRecord
from fakekube.apiserver.wire import request as wire
from fakekube.harness.detectors.detector import Exchange, Sent
from fakekube.harness.detectors.known.objectcare.leakedsecrets import (
    LeakedSecrets,
    _contains,
    _logged_text,
    _public,
    _texts,
)
from fakekube.harness.detectors.known.reconciling.reconcileerrors import ReconcileErrors
from fakekube.harness.detectors.known.requesting.conflicts import IgnoredConflicts, UnrepeatedConflicts
from fakekube.harness.detectors.known.requesting.polling import PlainWatches, PolledLists, ShortRequeues
from tests.harness.detectors.driven import Driven
from tests.harness.detectors.test_thresholds import Scene as Plain
from tests.harness.detectors.test_thresholds import doing


class Scene(Plain):
    def __init__(self):
        super().__init__()
        self.revision, self.listening, self.objects, self.log = 1, set(), {}, []
        self.store = SimpleNamespace(collection=lambda name: SimpleNamespace(revision=self.revision))
        self.runner.log, self.faults, self.hits, self.seen = self.log, [], 0, frozenset()

    def listen(self, verbs, hook):
        self.listening.add((frozenset(verbs), hook))

    def entry(self, path):
        return self.objects.get(path)

    def reconciled(self, run):
        return self.objects.get(run.key)

    def fault_hits(self):
        return self.hits

    def inspected(self):
        return self.seen


def exchange(
    verb="list",
    at=0.0,
    *,
    path="/pods",
    resource="pods",
    code=200,
    query=(),
    run=None,
    agent="op/1",
    client="",
    name="",
    serial=0,
):
    request = wire.Request("GET", path, {one: [value] for one, value in query}, {}, b"")
    record = RequestRecord(at, verb, resource, "", "d", name, "", "bob", agent, code, "", path, 1, serial=serial)
    return Exchange(
        request, SimpleNamespace(qualified=resource, path=path), SimpleNamespace(watch=None), record, run, False, client
    )


# --- lists instead of watches


def polled(times, interval=1.0, *, changes=0, **more):
    """Lists at intervals; the collection changes before each `changes`th of them."""
    scene = Scene()
    detector = PolledLists(scene)
    for turn in range(times):
        if changes and turn % changes == 0:
            scene.revision += 1
        detector.answered(exchange(at=turn * interval, **more))
    return scene, detector


def found(scene, detector):
    detector.finish()
    return [text for _, _, text in scene.found]


@pytest.mark.parametrize(
    ("times", "interval", "changes", "reported"),
    [
        (9, 1, 0, False),
        (10, 1, 0, True),
        (30, 1, 1, False),
        (30, 1, 2, True),
        (16, 1, 2, False),
        (1000, 36, 0, False),
        (1000, 30, 0, True),
        (1, 1, 0, False),
        (50, 0, 0, False),
    ],
)
def test_lists_that_a_watch_would_have_saved_are_reported(times, interval, changes, reported):
    assert bool(found(*polled(times, interval, changes=changes))) is reported


def test_the_text_says_how_often_and_how_many_would_be_saved():
    (text,) = found(*polled(61, 5))
    assert text.startswith(
        "lists /pods every 5 s (61 times) and does not watch it: a watch would have saved 59 of these requests"
    )


@pytest.mark.parametrize(
    "more", [{"query": [("continue", "x")]}, {"run": doing("retry")}, {"run": doing("added", "retry")}]
)
def test_lists_that_are_none_of_their_own(more):
    assert found(*polled(50, **more)) == []
    assert len(found(*polled(50, run=doing("added")))) == len(found(*polled(50, query=[("limit", "5")]))) == 1


@pytest.mark.parametrize("code", [200, 403])
def test_a_client_that_watches_or_tries_to_may_list(code):
    for agent, resource, reported in (("op/1", "pods", 0), ("op/2", "pods", 1), ("op/1", "nodes", 1)):
        scene, detector = polled(50)
        (detector.denied if code == 403 else detector.answered)(
            exchange("watch", code=code, agent=agent, resource=resource)
        )
        assert len(found(scene, detector)) == reported


def test_programs_are_counted_by_themselves():
    scene = Scene()
    detector = PolledLists(scene)
    for turn in range(18):
        detector.answered(exchange(at=turn, client=f"replica {turn % 2}"))
    detector.denied(exchange("list"))
    assert found(scene, detector) == []


@pytest.mark.parametrize(
    ("write", "reported"),
    [({}, False), ({"resource": "leases"}, True), ({"agent": "other"}, True), ({"at": 0.5}, True)],
)
def test_a_program_that_writes_at_the_same_instant_has_something_to_do(write, reported):
    scene = Scene()
    detector = PolledLists(scene)
    for turn in range(50):
        detector.answered(exchange(at=turn))
        for verbs, hook in scene.listening:
            assert {"update", "delete"} <= verbs
            hook(exchange("update", **{"at": turn, **write}))
    assert len(scene.listening) == 1
    assert bool(found(scene, detector)) is reported


# --- requeues and plain watches


def outcome(error=None, after=None):
    return Outcome("error" if error else "success", Result(), error, after, 0.0)


@pytest.mark.parametrize(
    ("times", "after", "reported"),
    [(49, 0.5, 0), (50, 0.5, 1), (120, 0.0, 1), (60, 1.0, 0), (60, 0.999, 1), (60, None, 0)],
)
def test_fifty_short_requeues_that_write_nothing_are_reported(times, after, reported):
    scene = Scene()
    detector = Driven(ShortRequeues(scene))
    for _ in range(times):
        detector.finished(doing("requeue_after"), outcome(after=after))
    detector.finish()
    assert len(scene.found) == reported


@pytest.mark.parametrize("what", ["error", "changed", "refused", "refused read", "late"])
def test_anything_that_happens_ends_the_series(what):
    scene = Scene()
    detector = Driven(ShortRequeues(scene))
    for turn in range(120):
        run = doing("requeue_after")
        if turn % 40 == 30:
            run.has_changed = what == "changed"
            if what.startswith("refused"):
                run.sent.append(Sent("get" if what.endswith("read") else "delete", "/x", 400, None, None))
            detector.finished(run, outcome(ValueError() if what == "error" else None, 5.0 if what == "late" else 0.1))
        else:
            detector.finished(run, outcome(after=0.1))
    assert len(scene.found) == (what == "refused read")


@pytest.mark.parametrize(
    ("query", "lacks"),
    [
        ([], "allowWatchBookmarks and resourceVersion"), ([("allowWatchBookmarks", "true")], "resourceVersion"), ([("allowWatchBookmarks", "1"), ("resourceVersion", "5")], ""),
        ([("allowWatchBookmarks", "true"), ("sendInitialEvents", "true")], ""), ([("resourceVersion", "5")], "allowWatchBookmarks"),
        ([("allowWatchBookmarks", "false"), ("sendInitialEvents", "0")], "allowWatchBookmarks and resourceVersion"),
    ],
)  # fmt: skip
def test_what_a_plain_watch_lacks(query, lacks):
    scene = Scene()
    PlainWatches(scene).answered(exchange("watch", query=query))
    assert [text for _, _, text in scene.found] == ([f"watches /pods without {lacks}"] if lacks else [])


# --- secrets


def encoded(text):
    return base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    ("value", "texts"),
    [
        ("abc123", ["abc123", encoded("abc123").rstrip("=")]), ("abc12", []), ("abcdefgh", ["abcdefgh", encoded("abcdefgh").rstrip("=")]), ("abcdefg", []), ("1234567", []),
        ("password", []), ("PostGres", []), ("the-own-key", []), ("a\n  longest1  \nb", ["longest1", encoded("a\n  longest1  \nb").rstrip("=")]), ("", []),
    ],
)  # fmt: skip
def test_by_which_texts_a_value_is_recognized(value, texts):
    assert list(_texts(encoded(value), "the-own-key")) == texts
    for wrong in ("%%%", None, base64.b64encode(b"\xff\xfe\xff").decode()):
        assert list(_texts(wrong, "k")) == []


@pytest.mark.parametrize(
    ("text", "contains"),
    [
        ("x abc y", True),
        ("abc", True),
        ("xabc", False),
        ("abcx", False),
        ("xabc abc", True),
        ("(abc)", True),
        ("1abc", False),
        ("", False),
    ],
)
def test_a_value_is_no_part_of_a_word(text, contains):
    assert _contains(text, "abc") is contains


def test_the_public_parts_of_objects():
    obj = {
        "data": {"a": "1", "n": 5},
        "message": "m",
        "note": "n",
        "reason": "r",
        "action": "x",
        "status": {"l": ["s"]},
        "spec": {"a": "no"},
    }
    assert list(_public("configmaps", obj)) == [(("data", "a"), "1")]
    assert [text for _, text in _public("events", obj)] == ["m", "n", "r", "x"]
    assert list(_public("pods", obj)) == [(("status", "l", 0), "s")]


@pytest.mark.parametrize(
    ("key", "level", "text", "leaks"),
    [
        ("password", logging.INFO, "it is hunter22!", True), ("password", logging.DEBUG, "it is hunter22!", False), ("password", logging.ERROR, "nothing", False),
        ("api-token", logging.INFO, f"x {encoded('hunter22').rstrip('=')}", True), ("username", logging.INFO, "hunter22", False),
    ],
)  # fmt: skip
def test_secrets_in_logs(key, level, text, leaks):
    scene = Scene()
    detector = LeakedSecrets(scene)
    change = SimpleNamespace(path="d/s", after=SimpleNamespace(object={"data": {key: encoded("hunter22")}}))
    detector.committed(SimpleNamespace(path="d/s", after=None), None)
    detector.committed(SimpleNamespace(path="d/s", after=SimpleNamespace(object={})), None)
    detector.committed(change, None)
    record = logging.LogRecord("op", level, "/x/op.py", 7, "%s", (text,), None)
    detector.logged(record, "program")
    assert len(scene.found) == leaks
    assert len(scene.listening) == (key != "username")
    if leaks:
        assert scene.found[0][2].startswith(f"op logged the value of {key} of the Secret d/s at level INFO (op.py:7)")
    detector.retire()
    detector.logged(record, "program")
    assert len(scene.found) == leaks


def test_the_text_of_a_record_has_its_error():
    def text(*args, error=None):
        return _logged_text(
            logging.LogRecord("op", 20, "x", 1, "a %s", args, None if error is None else (type(error), error, None))
        )

    assert (text("b"), text("b", error=ValueError("why")), text(1, 2)) == ("a b ", "a b why", "a %s (1, 2)")


# --- conflicts


def call_all(detector, run, *rows):
    for verb, path, code in rows:
        detector.called(run, SimpleNamespace(verb=verb, path=path), code, None)


@pytest.mark.parametrize(
    ("rows", "error", "after", "reported"),
    [
        ([("update", "/a", 409)], None, None, 1), ([("patch", "/a", 409)], None, None, 1), ([("delete", "/a", 409)], None, None, 0), ([("update", "/a", 409), ("update", "/a", 200)], None, None, 0),
        ([("update", "/a", 409), ("update", "/b", 200)], None, None, 1), ([("update", "/a", 200), ("update", "/a", 409)], None, None, 1), ([("update", "/a", 409), ("patch", "/a", 300)], None, None, 1),
        ([("update", "/a", 409)], ValueError(), None, 0), ([("update", "/a", 409)], None, 299.0, 0), ([("update", "/a", 409)], None, 300.0, 1), ([], None, None, 0),
    ],
)  # fmt: skip
def test_conflicts_that_a_reconcile_ignores(rows, error, after, reported):
    scene = Scene()
    detector, run = Driven(IgnoredConflicts(scene)), doing("updated")
    call_all(detector, run, *rows)
    detector.finished(run, outcome(error, after))
    detector.finish()
    assert len(scene.found) == reported
    if reported:
        ending = (
            "requeued after 300 s: the write is lost until then"
            if after
            else "and neither repeated it, failed nor requeued: the write is lost"
        )
        assert scene.found[0][2].endswith(ending)
        assert "got a conflict for its " in scene.found[0][2]


def test_a_later_reconcile_that_ignores_nothing_clears_it():
    for later in ("clean", "fails", "soon"):
        scene = Scene()
        detector, run = Driven(IgnoredConflicts(scene)), doing("updated")
        call_all(detector, run, ("update", "/a", 409))
        detector.finished(run, outcome())
        again = doing("updated")
        call_all(detector, again, *([("update", "/a", 409)] if later != "clean" else []))
        detector.finished(again, outcome(ValueError() if later == "fails" else None, 5.0 if later == "soon" else None))
        detector.finish()
        assert scene.found == []


@pytest.mark.parametrize(
    ("end", "then", "reported"),
    [
        (300, [], 0), (300.5, [], 1), (1000, [("update", 300, 200)], 0), (1000, [("update", 301, 200)], 1), (1000, [("delete", 200, 404)], 0), (1000, [("update", 200, 409)], 1),
        (450, [("update", 200, 409)], 0),
    ],
)  # fmt: skip
def test_conflicts_of_clients_that_neither_write_nor_read_the_object_within_five_minutes(end, then, reported):
    scene = Scene()
    scene.objects["/pods"] = object()
    detector = Driven(UnrepeatedConflicts(scene))
    detector.answered(exchange("update", 0.0, code=200, name="a"))
    detector.answered(exchange("update", 0.0, code=409, name="a", serial=1))
    for verb, at, code in then:
        detector.answered(exchange(verb, at, code=code, name="a", serial=2))
    scene.now = end
    detector.finish()
    assert len(scene.found) == reported


@pytest.mark.parametrize(
    "what", ["lease", "reconcile", "gone", "read", "read late", "read by another", "read before", "killed"]
)
def test_conflicts_that_are_not_reported(what):
    scene = Scene()
    scene.objects.update({} if what == "gone" else {"/pods": object()})
    scene.runner.client = SimpleNamespace(fenced=False)
    detector = Driven(UnrepeatedConflicts(scene))
    more = {"resource": "leases"} if what == "lease" else {"run": doing("added")} if what == "reconcile" else {}
    detector.answered(exchange("update", 0.0, code=409, name="a", serial=5, **more))
    if what.startswith("read"):
        late, agent, serial = (
            301 if what == "read late" else 300,
            "other" if what.endswith("another") else "op/1",
            4 if what == "read before" else 6,
        )
        scene.log.append(exchange("get", late, name="a", serial=serial, agent=agent).record)
    scene.runner.client.fenced = what == "killed"
    scene.now = 1000
    detector.finish()
    assert len(scene.found) == (what in ("read late", "read by another", "read before"))


# --- errors of reconciles


def judged(*outcomes, live=True, ends_live=True, **of_scene):
    """What is found of the outcomes of reconciles of one key: errors, or None for success."""
    scene = Scene()
    vars(scene).update(of_scene)
    detector = Driven(ReconcileErrors(scene))
    entry = SimpleNamespace(object={"metadata": {}})
    for number, error in enumerate(outcomes):
        is_live = ends_live if number == len(outcomes) - 1 else live
        scene.objects = {"d/a": entry} if is_live else {}
        run = doing("updated")
        detector.started(run)
        detector.finished(run, outcome(error))
    detector.finish()
    return [
        (
            name,
            text.partition(" failed with ")[2].rpartition(")")[2]
            if " times)" in text
            else text.partition(" failed with ")[2],
        )
        for name, _, text in scene.found
    ]


CONFLICT = ApiError(409, "Conflict", "x")


def test_errors_of_reconciles():
    no, bug = ValueError("no"), RecoveredPanic(KeyError("k"))
    assert judged(None) == []
    assert judged(no) == [("reconcile-error", "ValueError: no, and has not succeeded since")]
    assert judged(no, no) == [("reconcile-error", ", and has not succeeded since")]
    assert judged(no, None) == [("retried-error", "ValueError: no, then succeeded")]
    assert [name for name, _ in judged(bug, None)] == ["reconcile-error"]
    assert judged(bug, None)[0][1].endswith("which is a bug although a retry succeeded")
    assert [name for name, _ in judged(no, OSError("t"))] == ["reconcile-error"] * 2
    assert judged(CONFLICT, None) == judged(CONFLICT) == judged(CONFLICT, CONFLICT) == []
    assert len(judged(CONFLICT, CONFLICT, CONFLICT)) == 1
    assert judged(no, None, ends_live=False)[0][1].endswith("and had not succeeded when d/a was deleted")
    assert judged(CONFLICT, None, ends_live=False) == []
    assert judged(no, None, live=False, ends_live=False) == [("retried-error", "ValueError: no, then succeeded")]
    assert judged(no, seen=frozenset({"op/c"})) == []
    assert judged(no, faults=["x"], hits=1) == []
    assert len(judged(no, faults=["x"], hits=0)) == 1
    denied = ApiError(403, "Forbidden", 'User "bob" cannot get pods')
    assert len(judged(denied)) == 1
    assert judged(denied, seen=frozenset({"bob"})) == []
    assert judged(TypeError("a bug that controllerlib does not recover ends the operator")) == []
