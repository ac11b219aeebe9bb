"""What counts for detectors of objects, finalizers and refused writes: tables, without an operator."""

import json
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest

from fakekube.apiserver.response import StoredObject
from fakekube.harness.detectors.detector import FAR, REPEATED, Exchange, Sent
from fakekube.harness.detectors.known.objectcare import orphans
from fakekube.harness.detectors.known.objectcare.children import Children
from fakekube.harness.detectors.known.objectcare.foreignfinalizers import ForeignFinalizers
from fakekube.harness.detectors.known.objectcare.orphans import Orphans
from fakekube.harness.detectors.known.objectcare.unremovedfinalizers import Held, UnremovedFinalizers
from fakekube.harness.detectors.known.reconciling.leadership import COLLECTION, FollowerWrites
from fakekube.harness.detectors.known.remaining.handlertasks import HandlerTasks
from fakekube.harness.detectors.known.remaining.handlertasks import Started as Handled
from fakekube.harness.detectors.known.requesting.ignorederrors import (
    Found,
    Ignored,
    IgnoredErrors,
    Refused,
    _places,
    _reports_an_error,
    _wanted,
)
from fakekube.harness.detectors.known.requesting.permissions import MissingPermissions, _bound
from fakekube.harness.detectors.known.requesting.updates import (
    IgnoredStatus,
    NoopWrites,
    UnguardedUpdates,
    _contains,
    _is_apply,
    _patched_status,
    _tidied,
)
from tests.harness.detectors.driven import Driven

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
SECONDS = 1000.0


class Collection(SimpleNamespace):
    def __init__(self, objects):
        super().__init__(live={path: SimpleNamespace(object=obj) for path, obj in objects.items()})


class Scene:
    """What detectors ask and tell. `objects`: those that are stored, by their collection and path."""

    def __init__(self, objects=(), *, at=SECONDS, log=(), inspected=()):
        self.found, self.keys, self.texts, self.operators = [], [], [], []
        self.objects, self.of_reconcile = dict(objects), None
        resource = SimpleNamespace(collection="pods", namespaced=True, subresources=("status",))
        catalog = SimpleNamespace(
            find_kind=lambda version, kind: resource if kind == "Pod" else None, find=lambda *_: resource
        )
        apiserver = SimpleNamespace(catalog=catalog, authorizer=SimpleNamespace(modes=("RBAC",)))
        self.runner = SimpleNamespace(
            log=log, clock=SimpleNamespace(monotonic=lambda: at), apiserver=apiserver, client=None, watches=[]
        )
        self.store = SimpleNamespace(get=self.get, collection=self.collection)
        self.now, self.inspected = (lambda: NOW), (lambda: frozenset(inspected))
        self.place = lambda path: ("pods", path)
        self.reconciled = lambda doing: self.of_reconcile
        self.entry = lambda path: self.get("pods", path)

    def get(self, collection, path):
        obj = self.objects.get((collection, path))
        return None if obj is None else SimpleNamespace(object=obj)

    def collection(self, name):
        return Collection({path: obj for (collection, path), obj in self.objects.items() if collection == name})

    def report(self, detector, text, *, who="", key=None):
        self.found.append((detector, who))
        self.texts.append(text)
        self.keys.append(key)


class Doing(SimpleNamespace):
    """A reconcile of d/a."""

    def __init__(self, *, who="a", owned=(), known=True, killed=False, queued=False, sent=(), manager=None):
        operator = SimpleNamespace(
            owned=dict(owned), reconciled={"c": ("v1", "Pod")} if known else {}, process=SimpleNamespace(fenced=killed), manager=manager,
            is_queued=lambda controller, request: queued,
        )  # fmt: skip
        run = SimpleNamespace(controller="c", request=SimpleNamespace(namespace="d"), causes=())
        super().__init__(who=who, key="d/a", run=run, operator=operator, sent=list(sent), inspected_as="op/c")

    def __str__(self):
        return "c reconciling d/a"


class Record(SimpleNamespace):
    """A request as it is recorded."""

    def __init__(self, verb="update", code=200, **fields):
        defaults = {"at": 0.0, "group": "", "resource": "pods", "subresource": "", "namespace": "d", "name": "a", "user_agent": "op/1", "user": "ann", "path": "d/a", "message": "", "serial": 1}  # fmt: skip
        super().__init__(verb=verb, code=code, **{**defaults, **fields})

    def __str__(self):
        return f"{self.verb} {self.path}"


def exchange(verb="update", code=200, *, body=None, run=None, changed=True, answer=None, query=(), client="", info="d/a", headers=(), **fields):  # fmt: skip
    options = dict(query)
    sent = json.dumps(body, default=str).encode()
    request = SimpleNamespace(query=query, option=lambda name: options.get(name, ""), headers=dict(headers), body=sent)
    place = SimpleNamespace(path=info, group="", version="v1", resource="pods")
    response = SimpleNamespace(body=answer)
    made = Exchange(request, place, response, Record(verb, code, **fields), run, changed, client, None)
    made._body = body
    return made


def pod(name="a", **meta):
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "d", "uid": f"uid of {name}", **meta},
    }


# --- objects that outlive what they were created for


@pytest.mark.parametrize(
    ("answer", "options", "code", "noted"),
    [
        (pod("child"), {}, 201, True),
        (pod("child"), {}, 200, False),
        ("text", {}, 201, False),
        ({**pod("child"), "kind": "Event"}, {}, 201, False),
        (pod("child", ownerReferences=[{}]), {}, 201, False),
        (pod("child", ownerReferences=[]), {}, 201, True),
        (pod("child"), {"owned": {"c": {("v1", "Pod"): None}}}, 201, False),
        (pod("child", namespace="elsewhere"), {"owned": {"c": {("v1", "Pod"): None}}}, 201, True),
        (pod("child"), {"owned": {"other": {("v1", "Pod"): None}}}, 201, True),
    ],
)
@pytest.mark.parametrize("exists", [True, False])
def test_what_a_reconcile_creates_and_may_leave(answer, options, code, noted, exists):
    detector, doing = Driven(Orphans(Scene())), Doing(**options)
    detector._scene.of_reconcile = object() if exists else None
    detector.called(doing, None, code, answer)
    assert [one.name for one in detector._made.get("a", ())] == ["child"] * (noted and exists)
    assert detector._size == (noted and exists)


@pytest.mark.parametrize(
    ("sent", "known", "ends"),
    [
        (("delete", "d/a", 200), True, True), (("update", "d/a", 299), True, True), (("patch", "d/a", 200), True, True),
        (("get", "d/a", 200), True, False), (("delete", "d/a", 300), True, False), (("delete", "d/b", 200), True, False), (("delete", "d/a", 200), False, False),
    ],
)  # fmt: skip
def test_a_reconcile_that_ends_its_object(sent, known, ends):
    doing = Doing(known=known, sent=[Sent(*sent, None, None)])
    assert Driven(Orphans(Scene()))._has_object(doing) is ends


def test_only_so_many_created_objects_are_remembered(monkeypatch):
    monkeypatch.setattr(orphans, "REMEMBERED", 2)
    detector = Driven(Orphans(Scene()))
    detector._scene.of_reconcile = object()
    for number in range(3):
        detector.called(Doing(who=str(number)), None, 201, pod())
    assert (list(detector._made), detector._size) == (["0", "1"], 2)


@pytest.mark.parametrize(
    ("stored", "options", "left"),
    [
        ({}, {}, True),
        (None, {}, False),
        ({"uid": "another"}, {}, False),
        ({"ownerReferences": [{}]}, {}, False),
        ({"deletionTimestamp": "now"}, {}, False),
        ({}, {"killed": True}, False),
        ({}, {"queued": True}, False),
    ],
)
def test_what_is_left_of_a_deleted_object(stored, options, left):
    scene = Scene({} if stored is None else {("pods", "d/child"): pod("child", **stored)})
    detector, doing = Driven(Orphans(scene)), Doing(**options)
    scene.of_reconcile = object()
    detector.called(doing, None, 201, pod("child"))
    outcome = SimpleNamespace(error=None)
    detector.finished(doing, outcome)
    assert detector._gone == {}
    scene.of_reconcile = None
    detector.finished(Doing(who="b"), outcome)
    detector.finished(doing, SimpleNamespace(error=ValueError()))
    assert detector._gone == {}
    detector.finished(doing, outcome)
    assert list(detector._gone) == ["a"]
    detector.finish()
    assert scene.found == [("leaked-child", "")] * left
    assert scene.keys == [("a", "Pod")] * left
    detector.finished(doing, SimpleNamespace(error=ValueError()))
    assert detector._gone == {}
    detector.retire()
    assert detector._made == {}


class Cached:
    """A manager whose cache has pods with these uids (None: it caches no pods)."""

    def __init__(self, uid):
        indexer = SimpleNamespace(get_by_key=lambda key: pod(uid=uid) if uid else None)
        informer = SimpleNamespace(informers={"all": SimpleNamespace(indexer=indexer)})
        self.cache = SimpleNamespace(informers=SimpleNamespace(find=lambda *_: None if uid is None else informer))


@pytest.mark.parametrize(
    ("cached", "same", "stored", "generated", "reported"),
    [
        ("", False, True, "a-", True),
        (None, False, True, "a-", False),
        ("uid of first", False, True, "a-", False),
        ("another", False, True, "a-", True),
        ("", True, True, "a-", False),
        ("", False, False, "a-", False),
        ("", False, True, "", False),
    ],
)
def test_a_child_that_is_created_twice(cached, same, stored, generated, reported):
    scene = Scene({("pods", "d/first"): pod("first")} if stored else {})
    detector, manager = Driven(Children(scene)), Cached(cached)
    first = Doing(manager=manager)
    second = first if same else Doing(manager=manager)
    detector.called(first, None, 201, pod("first", generateName=generated))
    detector.called(Doing(who="b", manager=manager), None, 201, pod("other", generateName=generated))
    detector.called(second, None, 201, pod("other", generateName="other-"))
    assert scene.found == []
    detector.called(second, None, 201, pod("second", generateName=generated))
    assert scene.found == [("duplicate-child", "")] * reported


@pytest.mark.parametrize(
    ("reference", "namespace", "reported"),
    [
        ({"kind": "Pod", "name": "owner", "uid": "uid of owner"}, "e", True),
        ({"kind": "Pod", "name": "owner", "uid": "uid of owner"}, "d", False),
        ({"kind": "Pod", "name": "owner", "uid": "another"}, "e", False),
        ({"kind": "Unknown", "name": "owner", "uid": "uid of owner"}, "e", False),
    ],
)
def test_references_to_owners_in_another_namespace(reference, namespace, reported):
    scene = Scene({("pods", "d/owner"): pod("owner"), ("pods", "d/other"): pod("other")})
    obj = pod("child", namespace=namespace, ownerReferences=[{"apiVersion": "v1", **reference}])
    detector = Driven(Children(scene))
    detector.created(exchange("create", answer=obj))
    detector.created(exchange("create", answer=StoredObject(SimpleNamespace(object=pod("free")), None)))
    assert scene.found == []
    detector.created(exchange("create", answer=StoredObject(SimpleNamespace(object=obj), None)))
    assert scene.found == [("missing-owner", "op/1")] * reported
    assert scene.keys == [("op/1", "", "pods", "Pod")] * reported
    assert all("to Pod owner, which is in the namespace d:" in text for text in scene.texts)


# --- finalizers


@pytest.mark.parametrize(
    ("finalizer", "options", "terminating", "reported"),
    [
        ("mine.io/a", {}, True, []),  # the program has added one of its domain
        ("other.io/a", {}, False, ["other.io/a"]),
        ("other.io/a", {}, True, []),  # it may be set for this operator
        ("known.io/a", {}, True, ["known.io/a"]),
        ("orphan", {}, True, ["orphan"]),
        ("other.io/a", {"group": "apps.other.io"}, False, []),
        ("x.other.io/a", {"group": "other.io"}, False, []),
        ("io/a", {"group": "other.io"}, False, ["io/a"]),
        ("kopf.dev/a", {"user_agent": "kopf/1.0"}, False, []),
        ("op/a", {"user_agent": "op/1.0"}, False, ["op/a"]),
    ],
)
def test_finalizers_of_other_programs(finalizer, options, terminating, reported):
    scene = Scene()
    detector = ForeignFinalizers(scene)

    def change(before, after):
        entries = (
            None
            if one is None
            else SimpleNamespace(object=pod(finalizers=one, **({"deletionTimestamp": "now"} if terminating else {})))
            for one in (before, after)
        )
        return SimpleNamespace(**dict(zip(("before", "after"), entries, strict=True)))

    mine, first, second = (exchange(client=name, **options) for name in ("me", "zoe", "bob"))
    detector.finalized(change(None, ["mine.io/b"]), mine)
    for other in first, second:
        detector.finalized(change([], ["known.io/a", "orphan"]), other)
    assert (detector._added, detector._domains) == (
        {"mine.io/b": {"me"}, "known.io/a": {"zoe", "bob"}}, {"me": {"mine.io"}, "zoe": {"known.io"}, "bob": {"known.io"}},
    )  # fmt: skip
    assert scene.found == []
    detector.finalized(change([finalizer], []), mine)
    assert scene.keys == [("me", one) for one in reported]
    for text in scene.texts:
        assert ("which the cluster itself processes" in text) is (finalizer == "orphan")
        assert ("(bob has added it)" in text) is (finalizer == "known.io/a")
    scene.keys.clear()
    detector.finalized(change([finalizer, "mine.io/b"], []), mine)  # the whole list is emptied
    own = not reported and not (finalizer == "other.io/a" and not options)
    assert [key for _, key in scene.keys] == ([] if own else [finalizer])
    scene.keys.clear()
    detector.finalized(change(["other.io/z"], None), mine)
    assert len(scene.keys) == (not terminating and not options.get("group", "").endswith("other.io"))


DELETED_AT = (NOW - timedelta(seconds=FAR)).isoformat().replace("+00:00", "Z")


@pytest.mark.parametrize(
    ("record", "deleted", "options", "forgotten"),
    [
        (Record(name="b", at=SECONDS - FAR), DELETED_AT, {}, True),
        (Record(name="b", at=SECONDS - FAR - 1), DELETED_AT, {}, False),  # before the deletion
        (Record(name="b", at=SECONDS, user_agent="other"), DELETED_AT, {}, False),
        (Record(name="b", at=SECONDS, user_agent="other"), DELETED_AT, {"watches": True}, True),
        (Record(at=SECONDS - FAR), DELETED_AT, {"watches": True}, False),
        (Record(at=SECONDS), DELETED_AT, {"watches": True}, False),
        (None, DELETED_AT, {"watches": True}, True),
        (None, DELETED_AT, {"watches": True, "fenced": True}, False),
        (None, DELETED_AT, {"watches": True, "ended": True}, False),
        (None, (NOW - timedelta(seconds=FAR - 1)).isoformat(), {"watches": True}, False),
        (None, DELETED_AT, {"watches": True, "delayed": "2026-01-02T03:04:05+00:00"}, True),
        (None, DELETED_AT, {"watches": True, "delayed": "2026-01-02T03:04:06+00:00"}, False),
    ],
)
def test_a_finalizer_that_is_forgotten(record, deleted, options, forgotten):
    scene = Scene(log=[] if record is None else [record])
    detector = UnremovedFinalizers(scene)
    detector._watches = lambda process: options.get("watches", False)
    process = SimpleNamespace(fenced=options.get("fenced", False), ended=options.get("ended", False))
    status = {"status": {"delayed": options["delayed"]}} if "delayed" in options else {}
    obj = {**pod(deletionTimestamp=deleted, finalizers=["x"]), **status}
    held = Held(exchange(), "x", process)
    assert detector._is_forgotten(held, SimpleNamespace(object=obj)) is forgotten
    scene.objects["pods", "d/a"] = obj
    detector._held["pods", "d/a"] = [held, Held(exchange(), "y", process)]
    detector._held["pods", "d/b"] = [held]
    detector.finish()
    assert scene.found == [("unremoved-finalizer", "op/1")] * forgotten
    assert scene.keys == [(("pods", "d/a"), "x")] * forgotten
    scene.objects["pods", "d/a"] = pod(finalizers=["x"])
    detector.finish()
    assert len(scene.found) == forgotten


def test_finalizers_that_clients_without_reconciles_add():
    scene = Scene()
    detector, client, own = UnremovedFinalizers(scene), object(), object()
    scene.operators.append(SimpleNamespace(process=own))
    before, after = (SimpleNamespace(object=pod(finalizers=one)) for one in (["a"], ["c", "a", "b"]))
    change = SimpleNamespace(collection="pods", path="d/a", before=before, after=after)
    for current, run, ends in (
        (None, None, False),
        (own, None, False),
        (client, object(), False),
        (client, None, True),
    ):
        scene.runner.client = current
        detector.finalized(SimpleNamespace(**{**vars(change), "after": None}) if ends else change, exchange(run=run))
    assert detector._held == {}
    detector.finalized(change, exchange())
    assert [(one.finalizer, one.process) for one in detector._held["pods", "d/a"]] == [("b", client), ("c", client)]


# --- refused writes that nothing but a log knows of


def ignored(scene=None):
    return Driven(IgnoredErrors(scene or Scene()))


def outcome(error=None, after=None):
    return SimpleNamespace(error=error, requeue_after=after)


PLACE = ("", "pods", "d", "a", "")


@pytest.mark.parametrize(
    ("done", "kept"),
    [
        (outcome(), True), (outcome(after=FAR), True), (outcome(after=FAR - 1), False), (outcome(after=0.0), False),
        (outcome(ValueError()), False), (outcome(ValueError(), FAR), False),
    ],
)  # fmt: skip
@pytest.mark.parametrize("reported", [False, True])
def test_reconciles_that_succeed_although_a_write_was_refused(done, kept, reported):
    detector, doing = ignored(), Doing()
    detector.refused(exchange(code=422, run=doing))
    detector.refused(exchange(code=409, run=doing, name="b"))
    assert list(detector._refused[id(doing)]) == [PLACE]
    detector._refused[id(doing)][PLACE].reported = reported
    detector._finished(doing, done)
    assert detector._refused == {}
    if kept and not reported:
        one = detector._ignored["a"][PLACE]
        assert (one.doing, one.after, one.is_over) == (doing, done.requeue_after, False)
    else:
        assert detector._ignored == {}


@pytest.mark.parametrize(
    ("before", "after", "error", "left", "over"),
    [
        ({"size": 1}, {"size": 1}, None, True, True),
        ({"size": 1}, {"size": 2}, None, False, True),
        ({"size": 1}, None, None, False, True),
        (None, None, None, False, True),
        ({"size": 1}, {"size": 2}, ValueError(), True, False),
    ],
)
def test_a_later_reconcile_of_a_changed_object_needs_the_write_no_more(before, after, error, left, over):
    detector, doing = ignored(), Doing()
    contents = iter([before, after])
    detector._content = lambda doing: next(contents)
    detector.refused(exchange(code=422, run=doing))
    detector._finished(doing, outcome())
    one = detector._ignored["a"][PLACE]
    detector._finished(Doing(), outcome(error))
    assert (detector._ignored == {}) is not left
    assert one.is_over is over


def test_a_write_that_is_refused_again_is_another_one():
    detector, doing = ignored(), Doing()
    detector._content = lambda doing: 1
    for run, done in ((doing, outcome()), (again := Doing(), outcome(ValueError()))):
        detector.refused(exchange(code=422, run=run))
        detector._finished(run, done)
    assert again is not doing
    assert detector._ignored == {}  # the error of the reconcile is a report


@pytest.mark.parametrize(
    ("later", "left"),
    [
        ({}, False), ({"code": 299}, False), ({"code": 300}, True), ({"name": "b"}, True), ({"resource": "nodes"}, True),
        ({"verb": "create", "name": "x", "body": {"metadata": {}}}, True),
    ],
)  # fmt: skip
@pytest.mark.parametrize("reconciles", [True, False])
def test_a_write_that_is_repeated_is_made(later, left, reconciles):
    detector, doing = ignored(), Doing() if reconciles else None
    detector.refused(exchange(code=422, run=doing))
    detector.refused(exchange("create", 422, run=doing, name="", resource="jobs"))
    detector._succeeded(exchange(run=doing, **later))
    known = list(detector._refused[id(doing)]) if reconciles else [place for _, place in detector._open]
    assert (PLACE in known) is left
    detector._succeeded(
        exchange("create", run=doing, name="x", resource="jobs", body={"metadata": {"generateName": "x"}})
    )
    known = list(detector._refused[id(doing)]) if reconciles else [place for _, place in detector._open]
    assert known == [PLACE] * left
    if not reconciles:
        detector._succeeded(exchange(user_agent="other"))
        assert [place for _, place in detector._open] == [PLACE] * left


@pytest.mark.parametrize(
    ("verb", "body", "named"),
    [
        ("update", {"metadata": {}}, True), ("create", {"metadata": {"name": "x"}}, True), ("create", {"metadata": {}}, False),
        ("create", None, True), ("create", {"metadata": None}, True),
    ],
)  # fmt: skip
def test_the_places_that_a_write_repeats(verb, body, named):
    assert _places(exchange(verb, body=body)) == ([PLACE] if named else [PLACE, ("", "pods", "d", "", "")])


ERROR = {"conditions": [{"type": "Ready", "status": "False", "reason": "Failed", "message": "it failed"}]}


@pytest.mark.parametrize(
    ("resource", "body", "reports"),
    [
        ("events", {"type": "Warning", "reason": "Failed", "message": "an error"}, True),
        ("pods", {"status": ERROR}, True),
        ("pods", {"spec": ERROR}, False),
        ("pods", {"metadata": {"annotations": {"state": "an error"}}}, True),
        ("pods", {"metadata": {"labels": {"state": "an error"}}}, False),
        ("pods", {"metadata": None}, False),
    ],
)
def test_what_reports_an_error(resource, body, reports):
    assert bool(_reports_an_error(exchange(resource=resource, body=body))) is reports
    detector, doing = ignored(), Doing()
    for run in (doing, None):
        detector.refused(exchange(code=422, run=run))
        detector._succeeded(exchange(name="status", run=run, resource=resource, body=body))
    assert detector._refused[id(doing)][PLACE].reported is reports
    assert detector._reporting == ({"a"} if reports else set())
    assert [one.reported for one in detector._open.values()] == [reports]


@pytest.mark.parametrize(
    ("after", "options", "queued", "reported_before", "done", "reported"),
    [
        (None, {}, False, False, False, "has neither repeated it, failed nor requeued:"),
        (
            None,
            {"is_over": True},
            False,
            False,
            False,
            "has neither repeated it, failed nor requeued, and neither has a later one:",
        ),
        (400.0, {}, False, False, False, "has neither repeated it within 400 s, failed nor requeued:"),
        (400.0, {}, True, False, False, "has neither repeated it within 400 s, failed nor requeued:"),
        (None, {}, True, False, False, ""),
        (None, {}, False, True, False, ""),
        (None, {}, False, False, True, ""),
    ],
)
def test_refused_writes_that_a_reconcile_has_ignored_are_reported(
    after, options, queued, reported_before, done, reported
):
    detector, doing = ignored(), Doing(queued=queued)
    detector._is_done = lambda exchange: done
    detector._reporting |= {"a"} if reported_before else {"b"}
    for name in ("a", "b", "c"):
        refused = Refused(exchange(code=422, run=doing, name=name, message="x" * 400))
        detector._ignored.setdefault("a", {})["", "pods", "d", name, ""] = Ignored(
            doing, refused, after, None, **options
        )
    detector.finish()
    scene = detector._scene
    assert scene.found == [("ignored-error", "c")] * bool(reported)
    assert scene.keys == [("c", "update", "pods", 422)] * bool(reported)
    for text in scene.texts:
        assert text.startswith(f"update d/a: {'x' * 300} (and of 2 other objects); c reconciling d/a {reported}")


def test_the_number_of_equal_refusals():
    for places, said in (
        (1, "update d/a; why:"),
        (2, "update d/a (and of 1 other object); why:"),
        (3, "update d/a (and of 2 other objects); why:"),
    ):
        found = Found("c", Refused(exchange(code=422)), "why", {(str(number),) * 5 for number in range(places)})
        assert str(found).startswith(said)


@pytest.mark.parametrize(
    ("at", "reported", "goes_on", "said"),
    [
        (SECONDS - FAR - 1, False, True, True),
        (SECONDS - FAR, False, True, False),
        (0.0, True, True, False),
        (0.0, False, False, False),
    ],
)
def test_refused_writes_of_clients_without_reconciles_are_reported(at, reported, goes_on, said):
    detector = ignored()
    detector._goes_on = lambda exchange: goes_on
    detector.refused(exchange(code=422, at=at))
    (refused,) = detector._open.values()
    refused.reported = reported
    detector.finish()
    assert detector._scene.found == [("ignored-error", "op/1")] * said


@pytest.mark.parametrize(
    ("later", "goes_on"),
    [
        ([], False),
        ([{"verb": "list", "serial": 1}], False),
        ([{"verb": "list"}], True),
        ([{"verb": "list", "user": "bob"}], False),
        ([{"verb": "list", "user_agent": "other"}], False),
        ([{"verb": "get"}], False),
        ([{"verb": "get", "at": FAR}], False),
        ([{"verb": "get", "at": FAR + 1}], True),
        ([{"verb": "get", "name": "b"}], True),
        ([{"verb": "get", "subresource": "status"}], False),
        ([{"verb": "get"}, {"verb": "list"}], False),
        ([{"verb": "list"}, {"verb": "list", "user": "bob"}], True),
    ],
)
def test_a_client_that_goes_on_without_reading_the_object(later, goes_on):
    log = [Record(serial=0), Record(serial=5, code=422)] + [
        Record(**{"serial": 6 + number, **one}) for number, one in enumerate(later)
    ]
    assert ignored(Scene(log=log))._goes_on(exchange(serial=5)) is goes_on


@pytest.mark.parametrize(
    ("verb", "stored", "body", "name", "done"),
    [
        ("create", True, {}, "a", True), ("create", False, {}, "a", False), ("create", True, {}, "", False),
        ("delete", True, {}, "a", False), ("delete", False, {}, "a", True),
        ("update", True, {"spec": {"size": 1}}, "a", True), ("update", True, {"spec": {"size": 2}}, "a", False),
        ("update", False, {"spec": {"size": 1}}, "a", True), ("patch", True, [], "a", False), ("patch", True, {}, "a", True),
    ],
)  # fmt: skip
def test_whether_the_object_is_as_a_write_was_to_make_it(verb, stored, body, name, done):
    scene = Scene({("pods", place): {**pod(), "spec": {"size": 1}} for place in ("d/a", "d/a/a") if stored})
    assert ignored(scene)._is_done(exchange(verb, body=body, name=name)) is done


def test_what_a_write_wants():
    obj = {
        "metadata": {"name": "a", "labels": {"x": "y"}, "finalizers": None},
        "spec": {"size": 1},
        "status": {"ready": True},
    }
    assert _wanted(obj, "status") == {"(('ready',), True)"}
    assert _wanted(obj, "") == {"(('spec', 'size'), 1)", "(('metadata', 'labels', 'x'), 'y')"}
    assert _wanted({"a": 1}, "") == {"(('a',), 1)"}


# --- updates


@pytest.mark.parametrize(
    ("options", "reported"),
    [
        ({}, True), ({"resource": "leases"}, False), ({"headers": {"content-type": "application/apply-patch+yaml; x"}}, False),
        ({"query": (("dryRun", "All"),)}, False), ({"query": (("fieldManager", "x"),)}, True), ({"body": {"at": "2026-01-02T03:04:05Z"}}, False),
    ],
)  # fmt: skip
def test_writes_that_change_nothing(options, reported):
    detector = Driven(NoopWrites(Scene()))
    detector._reason = lambda exchange: "it is equal"
    for _ in range(2):
        detector.unchanged(exchange(**{"body": {}, **options}))
    assert detector._scene.found == [("noop-write", "op/1")] * 2 * reported
    assert set(detector._scene.texts) == ({"update d/a changed nothing: it is equal"} if reported else set())
    assert set(detector._scene.keys) == ({("op/1", "update", "d/a")} if reported else set())


@pytest.mark.parametrize(
    ("paths", "kept", "reported"), [(["d/a"], True, True), (["d/a"], False, False), ([], True, False), (["d/b"], True, False), (["d/a", "d/a"], None, False)]
)  # fmt: skip
def test_writes_of_a_time_that_was_copied_from_the_cache(monkeypatch, paths, kept, reported):
    answers = iter([True, False])
    monkeypatch.setattr(
        "fakekube.harness.detectors.known.requesting.updates.has_kept_times",
        lambda *_: next(answers) if kept is None else kept,
    )
    detector, doing = Driven(NoopWrites(Scene())), Doing(sent=[Sent("update", path, 200, {}, None) for path in paths])
    detector._reason = lambda exchange: ""
    detector.finished(doing, None)
    detector.unchanged(exchange(body={"at": "2026-01-02T03:04:05Z"}, run=doing))
    detector.finished(Doing(), None)
    assert detector._scene.found == []
    detector.finished(doing, None)
    assert len(detector._scene.found) == reported
    assert detector._stamps == {}


@pytest.mark.parametrize(
    ("verb", "body", "options", "stored", "reported"),
    [
        ("update", {"status": {"x": 1}}, {}, {"x": 2}, True),
        ("update", {"status": {"x": 1}}, {}, {"x": 1}, False),
        ("update", {"status": {"x": 1, "y": None, "z": {}}}, {}, {"x": 1}, False),
        ("update", {"status": {"x": 1}}, {"code": 201}, {"x": 2}, False),
        ("update", {"status": {"x": 1}}, {"subresource": "status"}, {"x": 2}, False),
        ("update", {"status": {}}, {}, {"x": 2}, False),
        ("patch", {"status": {"x": 1}}, {}, {"x": 1, "y": 2}, False),
        ("patch", {"status": {"x": 1}}, {}, {"x": 2, "y": 2}, True),
        ("patch", [{"op": "add", "path": "/status", "value": 1}], {}, {"x": 2}, True),
        ("update", {"status": {"x": 1}}, {}, None, True),
    ],
)
def test_a_status_that_the_server_ignores(verb, body, options, stored, reported):
    scene = Scene({("pods", "d/a"): {**pod(), "status": stored}} if stored else {})
    answer = SimpleNamespace(to_object=lambda: {"status": stored})
    IgnoredStatus(scene).answered(exchange(verb, body=body, answer=answer, **options))
    assert scene.found == [("ignored-status", "op/1")] * reported
    assert scene.keys == [("op/1", verb, "pods")] * reported
    answer.to_object = lambda: {"status": body.get("status") if isinstance(body, dict) else {"/status": 1}}
    IgnoredStatus(scene).answered(exchange(verb, body=body, answer=answer, **options))
    assert len(scene.found) == reported  # the answer, which may be of another version, has it


@pytest.mark.parametrize(
    ("body", "expected"),
    [(b'{"status": {}}', True), (b'[{"path": "/status/x"}]', True), (b'{"spec": {}}', False), ({"spec": {}}, True)],
)
def test_bodies_that_may_name_a_field(body, expected):
    made = exchange()
    made.request.body = body
    assert made.may_name(b"status") is expected


@pytest.mark.parametrize(
    ("meta", "options", "reported"),
    [
        ({"uid": "u"}, {}, True), ({"uid": "u", "resourceVersion": "1"}, {}, False), ({}, {}, False), ({"uid": "u", "resourceVersion": ""}, {}, True),
        ({"uid": "u"}, {"code": 201}, False), ({"uid": "u"}, {"changed": False}, False),
    ],
)  # fmt: skip
def test_updates_without_a_version(meta, options, reported):
    scene = Scene()
    UnguardedUpdates(scene).answered(exchange(body={"metadata": meta}, **options))
    assert scene.found == [("unguarded-update", "op/1")] * reported
    assert scene.keys == [("op/1", "pods", "")] * reported


@pytest.mark.parametrize(
    ("steps", "found"),
    [
        ([{"op": "add", "path": "/status", "value": 1}], {"/status": 1}),
        ([{"op": "remove", "path": "/status/x"}], {"/status/x": "removed"}),
        ([{"op": "test", "path": "/status", "value": 1}], None),
        ([{"op": "add", "path": "/statusx", "value": 1}], None),
        ([{"op": "add", "path": "/spec", "value": 1}, {"op": "add", "path": "/status", "value": 2}], {"/status": 2}),
        (["x", {"path": 5}], None),
        ({"op": "add"}, None),
    ],
)
def test_the_status_in_a_json_patch(steps, found):
    assert _patched_status(steps) == found


def test_values_are_compared_without_what_typed_clients_add():
    assert _tidied({"a": None, "b": {}, "c": [], "d": {"e": None}, "f": 0, "g": [{"h": None}], "i": False}) == {
        "f": 0,
        "g": [{}],
        "i": False,
    }
    assert _contains({"a": 1, "b": {"c": 2, "d": 3}}, {"b": {"c": 2}})
    assert not _contains({"a": 1}, {"b": {"c": 2}})
    assert not _contains({"a": 1}, {"a": 2})
    assert _is_apply(SimpleNamespace(headers={"content-type": "application/apply-patch+yaml"}))
    assert not _is_apply(SimpleNamespace(headers={}))


# --- permissions


@pytest.mark.parametrize(
    ("fields", "run", "inspected", "text"),
    [
        ({}, False, (), "ann may not update pods: no role grants it"),
        ({"subresource": "log", "group": "apps"}, False, (), "ann may not update pods/log of apps: no role grants it"),
        ({}, False, ("ann",), None),
        ({}, True, ("op/c",), None),
        ({}, True, ("other",), "ann may not update pods: no role grants it"),
    ],
)
def test_requests_that_no_role_grants(fields, run, inspected, text):
    scene = Scene(inspected=inspected)
    detector = MissingPermissions(scene)
    for message in ('pods is forbidden: User "ann" cannot update', 'User "bob" cannot update', ""):
        answer = SimpleNamespace(to_object=lambda message=message: {"message": message})
        detector.denied(exchange(answer=answer, run=Doing() if run else None, **fields))
    detector.denied(exchange())
    detector.finish()
    assert scene.texts == ([text] if text else [])


def test_users_that_are_bound_are_compared_in_order_where_access_is_not_checked():
    subjects = [{"kind": "User", "name": "zoe"}, {"kind": "User", "name": "bob"}, {"kind": "Group", "name": "g"}]
    account = [{"kind": "ServiceAccount", "namespace": "d", "name": "x"}, {"kind": "User", "name": "system:node:n"}]
    group = "rbac.authorization.k8s.io"
    scene = Scene({(f"rolebindings.{group}", "d/a"): {"subjects": subjects}, (f"clusterrolebindings.{group}", "b"): {"subjects": account}, (f"rolebindings.{group}", "d/e"): {}}, inspected=("bob",))  # fmt: skip
    assert _bound(scene.store) == {"zoe", "bob", "system:serviceaccount:d:x"}
    compared = []
    for modes, names in ((("RBAC",), []), (("AlwaysAllow",), ["system:serviceaccount:d:x", "zoe"])):
        scene.runner.apiserver.authorizer.modes = modes
        detector = MissingPermissions(scene)
        detector._compare = compared.append
        detector.finish()
        assert compared == names


# --- leases


@pytest.mark.parametrize(
    ("spec", "holder"),
    [
        ({"holderIdentity": "a", "leaseDurationSeconds": 15, "renewTime": "2026-01-02T03:03:50Z"}, "a"),
        ({"holderIdentity": "a", "leaseDurationSeconds": 14, "renewTime": "2026-01-02T03:03:50Z"}, ""),
        ({"holderIdentity": "a", "renewTime": "2026-01-02T03:04:05.000000Z"}, "a"),
        ({"holderIdentity": "a", "leaseDurationSeconds": 15}, ""),
        ({"holderIdentity": "a", "leaseDurationSeconds": 15, "renewTime": "never"}, ""),
        ({"leaseDurationSeconds": 15, "renewTime": "2026-01-02T03:04:05Z"}, ""),
    ],
)
def test_the_holder_of_a_lease(spec, holder):
    other = {"spec": {"holderIdentity": "other", "renewTime": "2026-01-02T03:04:05Z"}}
    detector = Driven(FollowerWrites(Scene({(COLLECTION, "d/another"): other, (COLLECTION, "d/op"): {"spec": spec}})))
    assert detector._holder("op") == holder
    assert detector._holder("none") == ""


@pytest.mark.parametrize(
    ("writers", "followers", "reported"), [({"a", "b"}, ["it"], True), ({"a"}, ["it"], False), ({"a", "b"}, [], False)]
)
def test_objects_that_several_replicas_write(writers, followers, reported):
    detector = Driven(FollowerWrites(Scene()))
    detector._shared["/p"] = (writers, followers)
    detector.finish()
    assert detector._scene.texts == ["it; a and b write this object"] * reported


# --- tasks of handlers


class Task:
    def __init__(self, done=False, cancelling=0):
        self.done, self.cancelling = (lambda: done), (lambda: cancelling)
        self.get_coro = lambda: SimpleNamespace(__qualname__="probe")


@pytest.mark.parametrize(
    ("number", "stored", "options", "text"),
    [
        (1, pod(), {}, ""),
        (1, None, {}, "started a task of probe that still runs although d/a has been deleted: cancel it then"),
        (
            1,
            pod(uid="another"),
            {},
            "started a task of probe that still runs although d/a has been deleted: cancel it then",
        ),
        (REPEATED - 1, pod(), {}, ""),
        (REPEATED, pod(), {}, f"started {REPEATED} tasks of probe that still run: await or cancel them"),
        (2, None, {}, "started 2 tasks of probe that still run although d/a has been deleted: cancel it then"),
        (1, None, {"done": True}, ""),
        (1, None, {"cancelling": 1}, ""),
        (1, None, {"fenced": True}, ""),
    ],
)
def test_tasks_that_handlers_leave(number, stored, options, text):
    scene = Scene({} if stored is None else {("pods", "d/a"): stored})
    detector = HandlerTasks(scene)
    program = SimpleNamespace(name="kopf-op", fenced="fenced" in options)
    tasks = [Task(**{name: value for name, value in options.items() if name != "fenced"}) for _ in range(number)]
    detector._started += [Handled(lambda one=one: one, program, "pods", "pods", "d/a", "uid of a") for one in tasks]
    detector._started.append(Handled(lambda: None, program, "pods", "pods", "d/a", "uid of a"))
    detector.finish()
    assert scene.texts == [f"handlers of pods d/a {text}"] * bool(text)
    assert scene.found == [("leaked-handler-task", "kopf-op")] * bool(text)
    detector.retire()
    assert detector._started == []
