"""What is passed to detectors and what counts for them, as functions of records."""

import queue
import threading
import weakref
from types import SimpleNamespace

import pytest

from controllerlib.observer import Call
from fakekube.apiserver.response import StoredObject
from fakekube.harness.asserting import Assertions
from fakekube.harness.audit import Audit
from fakekube.harness.desks.faults import Faults
from fakekube.harness.detectors.detection import Detection, _only_delays_events
from fakekube.harness.detectors.detector import Sent
from fakekube.harness.detectors.known.objectcare.children import Children
from fakekube.harness.detectors.known.objectcare.finalizers import Finalizers
from fakekube.harness.detectors.known.objectcare.leakedsecrets import LeakedSecrets
from fakekube.harness.detectors.known.objectcare.unremovedfinalizers import UnremovedFinalizers, _delays
from fakekube.harness.detectors.known.reconciling.timestamps import QUICK, TimestampLoops
from fakekube.harness.detectors.known.remaining.threadleaks import Started, Threads
from fakekube.harness.detectors.known.requesting.ignorederrors import IgnoredErrors, _is_refusal
from fakekube.harness.detectors.knowndetectors import defaults_of
from fakekube.harness.detectors.texts.unchanged import _is_ignored, _is_of_server
from fakekube.harness.driving.externalwait import _fuse
from fakekube.harness.faultinjection.holds import Holds
from fakekube.harness.faultinjection.watchhold import Hold
from fakekube.harness.members import When, _refusals, label, members_of, unknown
from fakekube.harness.pods.simulatedpods import SimulatedPods
from fakekube.harness.records.entrykeys import _pinned
from fakekube.harness.state import golden
from fakekube.harness.stepping import Stepping

# --- which hooks are called


def hooks_called(
    code,
    verb="update",
    *,
    revision=2,
    user="ann",
    agent="operator",
    doing="a reconcile",
    steps=0,
    pending=None,
    resource="pods",
):
    """The hooks that an answer is passed to. The revision before is 1."""
    log = []

    def hook(name):
        return lambda *found: log.append(name)

    detection = SimpleNamespace(
        _revision=1,
        _denied=(hook("denied"),),
        _answered={"update": (hook("answered"),)},
        _alone={"update": (hook("alone"),), "watch": (hook("alone"),)},
        _created=(hook("created"),),
        _created_of={"events": (hook("event"),)},
        _refused=(hook("refused"),),
        _unchanged=(hook("unchanged"),),
        _finalized=(hook("finalized"),),
        _pending=pending,
        _own="test",
        steps=steps,
        doing=lambda: doing,
        scene=SimpleNamespace(runner=SimpleNamespace(client=None)),
    )
    record = SimpleNamespace(code=code, verb=verb, revision=revision, user=user, user_agent=agent, resource=resource)
    Detection._answer(detection, None, None, None, record)
    assert detection._revision == revision
    assert detection._pending is None
    return log


@pytest.mark.parametrize(
    ("code", "options", "hooks"),
    [
        (200, {}, ["answered"]),
        (200, {"revision": 1}, ["answered", "unchanged"]),
        (200, {"revision": 1, "verb": "patch"}, ["unchanged"]),
        (200, {"revision": 1, "verb": "get"}, []),
        (201, {"verb": "create"}, ["created"]),
        (201, {"verb": "create", "revision": 1}, ["created"]),
        (201, {"verb": "create", "resource": "events"}, ["created", "event"]),
        (200, {"verb": "create", "resource": "events"}, []),
        (202, {"revision": 1}, ["answered"]),
        (399, {}, ["answered"]),
        (400, {}, ["answered", "refused"]),
        (403, {}, ["denied", "refused"]),
        (409, {"verb": "create"}, ["refused"]),
        (200, {"agent": "test"}, []),
        (200, {"user": "system:kube-controller-manager"}, []),
        (200, {"doing": None}, []),
        (200, {"doing": None, "steps": 1}, ["answered", "alone"]),
        (200, {"doing": None, "steps": 1, "verb": "watch", "revision": 1}, ["alone"]),
        (200, {"verb": "watch", "revision": 1}, []),
        (200, {"pending": SimpleNamespace(revision=2)}, ["answered", "finalized"]),
        (200, {"pending": SimpleNamespace(revision=1)}, ["answered"]),
    ],
)
def test_the_detectors_that_an_answer_concerns(code, options, hooks):
    assert hooks_called(code, **options) == hooks


class Hooked:
    """A detector that notes which hooks are called."""

    def __init__(self, log, name=""):
        self._log, self._name = log, name

    def __getattr__(self, hook):
        return lambda *found: self._log.append(hook)

    def started(self, *found):
        self._log.append(f"started {self._name}".rstrip())


def detection_of(log, **hooks):
    """A Detection whose detectors have the hooks that it calls for reconciles."""
    detector = Hooked(log)
    names = ("started", "finished", "resynced", "requeued", "failed", "made", "rejected")
    scene = SimpleNamespace(faults=(), fault_hits=None)
    tables = {f"_{name}": (getattr(detector, name),) for name in names}
    called = {"update": (detector.called,)}
    detection = SimpleNamespace(scene=scene, _doing={}, _called=called, _committed=(), **tables)
    vars(detection).update(hooks)
    return detection


def reconcile(*causes):
    return SimpleNamespace(controller="c", causes=[SimpleNamespace(kind=kind) for kind in causes])


def start(detection, run, killed):
    """A reconcile of an operator begins."""
    operator = SimpleNamespace(process=SimpleNamespace(fenced=killed))
    Detection.started(detection, operator, SimpleNamespace(run=run, key="d/a"))


@pytest.mark.parametrize(
    ("causes", "after", "error", "killed", "hooks"),
    [
        (["updated"], None, None, False, ["started", "finished"]),
        ([], 1.0, None, False, ["started", "finished"]),
        (["resync"], 0.9, None, False, ["resynced", "started", "requeued", "finished"]),
        (["relist", "updated"], 0.0, "error", False, ["resynced", "started", "requeued", "finished", "failed"]),
        (["updated", "resync"], None, "error", False, ["started", "finished", "failed"]),
        (["updated"], 0.0, "error", True, ["started"]),
    ],
)
def test_the_hooks_of_a_reconcile(causes, after, error, killed, hooks):
    log = []
    detection, run = detection_of(log), reconcile(*causes)
    start(detection, run, killed)
    doing = detection._doing[id(run)]
    Detection.finished(detection, run, SimpleNamespace(requeue_after=after, error=error))
    assert (log, detection._doing, doing.is_over) == (hooks, {}, True)


@pytest.mark.parametrize(
    ("verb", "code", "killed", "hooks"),
    [
        ("update", 200, False, ["called"]),
        ("update", 201, False, ["called", "made"]),
        ("update", 202, False, ["called"]),
        ("update", 399, False, ["called"]),
        ("update", 400, False, ["called", "rejected"]),
        ("create", 201, False, ["made"]),
        ("create", 409, False, ["rejected"]),
        ("update", 201, True, []),
    ],
)
def test_the_hooks_of_a_write_of_a_reconcile(verb, code, killed, hooks):
    log = []
    detection, run = detection_of(log), reconcile()
    start(detection, run, killed)
    log.clear()
    body, answer = {"a": 1}, {"a": 2}
    for one in (run, reconcile()):
        Detection.called(detection, Call(one, verb, "PUT", "/a", (), body, "agent"), code, answer, "1", "2")
    assert log == hooks
    sent = detection._doing[id(run)].sent
    assert sent == [Sent(verb, "/a", code, body, answer, "1", "2")] * (not killed)


def test_hooks_that_a_detector_asks_for_are_called_once_in_the_order_of_the_detectors():
    log = []
    early, late, last = (Hooked(log, name) for name in ("early", "late", "last"))
    detection = detection_of(
        log, detectors=[early, late, last], _started=(early.started, last.started), _finished=(), _called={}
    )
    for _ in range(2):
        Detection._follow(detection, started=late.started)
        Detection._follow(detection, finished=late.started, called=late.started, verbs=("update", "patch"))
        Detection._follow(detection, committed=last.started)
        Detection._follow(detection, committed=late.started)
    assert detection._started == (early.started, late.started, last.started)
    assert detection._finished == (late.started,)
    assert detection._committed == (late.started, last.started)
    assert detection._called == dict.fromkeys(("update", "patch"), (late.started,))
    detection._answered = {"get": (last.started,)}
    for _ in range(2):
        Detection._listen(detection, ("get", "list"), late.started)
    assert detection._answered == {"get": (late.started, last.started), "list": (late.started,)}


@pytest.mark.parametrize(
    ("options", "only"),
    [
        ({"event_delay": 3.0}, True),
        ({"event_delay": 0.0}, False),
        ({"event_delay": 3.0, "error": 503}, False),
        ({"event_delay": 3.0, "reset": "before"}, False),
        ({"event_delay": 3.0, "cut_after": 1}, False),
        ({"event_delay": 3.0, "cut_after": 0}, True),
        ({"event_delay": 3.0, "gone_after": 2}, False),
    ],
)
def test_faults_that_only_delay_events(options, only):
    names = ("event_delay", "error", "reset", "cut_after", "cut_at", "hold_after", "gone_after")
    assert _only_delays_events(SimpleNamespace(**{**dict.fromkeys(names), **options})) is only


# --- writes


@pytest.mark.parametrize(
    ("code", "options", "refusal"),
    [
        (200, {}, False),
        (409, {}, False),
        (400, {}, True),
        (422, {}, True),
        (403, {}, True),
        (403, {"message": 'pods "a" is forbidden: User "ann" cannot create resource'}, False),
        (403, {"message": 'pods "a" is forbidden: User "bob" cannot create resource'}, True),
        (403, {"message": "exceeded quota"}, True),
        (499, {}, False),
        (500, {}, True),
        (503, {}, True),
        (503, {"verb": "get"}, False),
        (503, {"resource": "tokenreviews"}, False),
        (503, {"query": "dryRun=All", "dry": True}, False),
        (503, {"query": "fieldManager=a"}, True),
    ],
)
def test_a_write_that_is_refused_for_another_reason_than_missing_permission(code, options, refusal):
    record = SimpleNamespace(
        code=code,
        user="ann",
        verb=options.get("verb", "update"),
        message=options.get("message", ""),
        resource=options.get("resource", "pods"),
    )
    request = SimpleNamespace(query=options.get("query", ""), option=lambda name: options.get("dry", False))
    assert _is_refusal(SimpleNamespace(record=record, request=request)) is refusal


@pytest.mark.parametrize(
    ("path", "of_server"),
    [
        (("apiVersion",), True),
        (("kind",), True),
        (("kind", "x"), True),
        (("metadata",), False),
        (("metadata", "resourceVersion"), True),
        (("metadata", "labels"), False),
        (("spec", "resourceVersion"), False),
        (("spec",), False),
        ((), False),
    ],
)
def test_fields_that_only_the_server_writes(path, of_server):
    assert _is_of_server(path) is of_server


@pytest.mark.parametrize(
    ("field", "subresource", "has_status", "ignored"),
    [
        ("spec", "", True, False), ("status", "", True, True), ("status", "", False, False), ("metadata", "", True, False),
        ("spec", "status", True, True), ("status", "status", True, False), ("metadata", "status", True, False),
        ("status", "scale", True, False),
    ],
)  # fmt: skip
def test_fields_that_a_write_ignores(field, subresource, has_status, ignored):
    assert bool(_is_ignored((field,), subresource, has_status)) is ignored


def test_the_content_of_an_object_is_what_others_write():
    meta = {"uid": "u", "name": "a", "resourceVersion": "7", "labels": {"x": "y"}, "annotations": {"z": "1"}}
    obj = {"kind": "Store", "metadata": meta, "spec": {"size": 1}, "status": {"ready": True}}

    def content(entry):
        scene = SimpleNamespace(reconciled=lambda doing: entry)
        return IgnoredErrors._content(SimpleNamespace(_scene=scene), None)

    assert content(None) is None
    assert content(SimpleNamespace(object=obj)) == (
        {"kind": "Store", "spec": {"size": 1}}, {"x": "y"}, None, "u",
    )  # fmt: skip
    marked = {**obj, "metadata": {**meta, "deletionTimestamp": "now"}}
    assert content(SimpleNamespace(object=marked)) != content(SimpleNamespace(object=obj))


# --- finalizers


def test_a_process_watches_if_one_of_its_watches_is_open():
    process, other = object(), object()

    def watches(*clients):
        runner = SimpleNamespace(watches=[SimpleNamespace(client=client) for client in clients])
        return UnremovedFinalizers._watches(SimpleNamespace(_scene=SimpleNamespace(runner=runner)), process)

    assert not watches()
    assert not watches(None)
    assert not watches(None, ("a", other))
    assert watches(None, ("a", other), ("b", process))


@pytest.mark.parametrize(
    ("annotations", "status", "found"),
    [
        ({"retry": "2026-01-01T00:00:05Z"}, None, []),
        ({"kopf": '{"delayed":"2026-01-01T00:00:05Z"}'}, None, ["2026-01-01T00:00:05Z"]),
        ({"kopf": '{"delayed": "2026-01-01T00:00:05+01:00"}'}, None, ["2026-01-01T00:00:05+01:00"]),
        (None, {"kopf": {"delayed": "2026-01-01T00:00:05"}}, ["2026-01-01T00:00:05+00:00"]),
    ],
)
def test_times_of_retries_have_a_zone(annotations, status, found):
    entry = {"metadata": {"annotations": annotations}, "status": status}
    assert _delays(entry) == found


# --- records


def test_the_busiest_writes_are_those_of_the_present_second():
    def record(at, verb, path, agent="operator"):
        return SimpleNamespace(at=at, verb=verb, path=path, user_agent=agent, user="ann")

    log = [
        record(4.9, "update", "/old"),
        record(5.0, "update", "/a"),
        record(5.1, "get", "/b"),
        record(5.2, "create", "/c", agent=""),
        record(5.9, "update", "/a"),
    ]
    audit = SimpleNamespace(_clock=SimpleNamespace(monotonic=lambda: 5.95), _runner=SimpleNamespace(log=log))
    assert Audit.busiest(audit) == ["operator: update /a (2x)", "ann: create /c (1x)"]
    assert Audit.busiest(audit, 1) == ["operator: update /a (2x)"]
    log.append(record(6.0, "update", "/later"))
    assert Audit.busiest(audit) == []


@pytest.mark.parametrize(
    ("left", "right", "pairs"),
    [
        ({1: 0, 2: 1}, {1: 0, 2: 1}, [(0, 0), (1, 1)]),
        ({1: 0, 2: 0}, {1: 0, 2: 1}, [(0, 0)]),  # two changes of one entry
        ({1: 0, 2: 1}, {1: 0, 2: 0}, [(0, 0)]),
        ({1: 1, 2: 0}, {1: 0, 2: 1}, [(1, 0)]),
        ({1: 0}, {1: 0, 2: 1}, [(0, 0)]),
    ],
)
def test_entries_are_pinned_once_and_in_order(left, right, pairs):
    def side(places):
        return SimpleNamespace(changes=[(revision, f"change {revision}") for revision in (1, 2)], places=places)

    assert list(_pinned(side(left), side(right))) == pairs


# --- members


def test_a_member_that_cannot_be_called_now_says_why():
    refused = _refusals(Faults, "the cluster is not open", frozenset({When.STEP, When.CHANGE}))
    assert refused
    marked = {name for name, mark in members_of(Faults).items() if mark.when in (When.STEP, When.CHANGE)}
    assert refused.keys() <= marked
    for name, refuse in refused.items():
        with pytest.raises(RuntimeError, match="the cluster is not open") as caught:
            refuse(1, any=2)
        assert str(caught.value).startswith(label(Faults, name))


@pytest.mark.parametrize("is_async", [False, True])
def test_work_in_real_time_is_driven_unless_an_async_test_awaits_it(is_async):
    driven = []
    loop = SimpleNamespace(drive=driven.append)
    stepping = SimpleNamespace(in_async_test=lambda: is_async, _bubble=SimpleNamespace(loop=loop))

    async def work(): ...

    running = work()
    found = Stepping.in_real_time(stepping, running)
    if is_async:
        assert (found, driven) == (running, [])
    else:
        assert driven == [running]
        with pytest.raises(StopIteration):  # nothing is left to wait for
            next(iter(found.__await__()))
    running.close()


# --- finalizers that a reconcile adds, and times that it writes


def test_finalizers_are_checked_in_their_order():
    held, checked, followed = {}, [], {}
    detector = SimpleNamespace(
        _scene=SimpleNamespace(follow=followed.update),
        _finished="the hook",
        _committed="the hook",
        _held=held,
        _by_key={},
        _check_order=lambda doing, finalizer, uid: checked.append((finalizer, uid)),
    )
    doing = SimpleNamespace(key="default/a", who=(1, "db", "default/a"))
    meta = {"name": "a", "uid": "u", "finalizers": ["z/one", "a/two", "foregroundDeletion"]}
    after = SimpleNamespace(object={"metadata": meta})
    before = SimpleNamespace(object={"metadata": {**meta, "finalizers": ["z/one"]}})
    change = SimpleNamespace(collection="pods", path="default/a", before=None, after=after)
    Finalizers.finalizers_changed(detector, change, doing)
    assert followed == {"finished": "the hook", "committed": "the hook"}
    assert checked == [("a/two", "u"), ("z/one", "u")]
    assert [one.finalizer for one in held["pods", "default/a"]] == ["a/two", "z/one"]
    assert detector._by_key == {doing.who: ("pods", "default/a")}
    checked.clear()
    held.clear()
    Finalizers.finalizers_changed(detector, SimpleNamespace(**{**vars(change), "before": before}), doing)
    assert checked == [("a/two", "u")]
    Finalizers.finalizers_changed(SimpleNamespace(**{**vars(detector), "_held": {}}), change, None)
    assert len(checked) == 1


def test_a_finalizer_of_an_object_that_was_created_anew_is_no_longer_held():
    """Two controllers have held it; after the end of the object, the first of them has dropped what both had held."""
    stored = SimpleNamespace(object={"metadata": {"deletionTimestamp": "now"}})
    scene = SimpleNamespace(store=SimpleNamespace(get=lambda *place: stored))
    detector = SimpleNamespace(_scene=scene, _by_key={"second": ("pods", "d/a")}, _held={})
    Finalizers._finished(detector, SimpleNamespace(who="second"), SimpleNamespace(error=None, requeue_after=None))
    assert detector._by_key == {"second": ("pods", "d/a")}


@pytest.mark.parametrize(
    ("at", "alone", "quick"), [(10, True, 0), (10.5, True, 1), (10 + QUICK, True, 0), (9, True, 0), (10.5, False, 0)]
)
def test_a_write_of_times_alone_counts_if_the_reconcile_follows_at_once(at, alone, quick):
    doing = SimpleNamespace(at=at, who="key", run=object())
    suspect = SimpleNamespace(at=10, quick=0, probes=set())
    detector = SimpleNamespace(suspects={"key": suspect}, _runs={id(doing.run): alone}, _echoes={}, is_probing=False)
    TimestampLoops._finished(detector, doing, SimpleNamespace(error=None))
    assert (suspect.quick, suspect.at) == (quick, at)
    assert detector._runs == {}


@pytest.mark.parametrize(
    ("code", "stored", "looked"), [(200, True, True), (299, True, True), (300, True, False), (200, False, False)]
)
def test_only_objects_that_were_written_are_searched_for_secrets(code, stored, looked):
    asked = []

    class Values(dict):
        def items(self):
            asked.append(1)
            return super().items()

    obj = {"metadata": {"name": "a"}, "data": {"x": "y"}}
    body = StoredObject(SimpleNamespace(object=obj), None) if stored else obj
    exchange = SimpleNamespace(
        response=SimpleNamespace(body=body), record=SimpleNamespace(code=code, resource="configmaps")
    )
    LeakedSecrets._wrote(SimpleNamespace(_values=Values()), exchange)
    assert bool(asked) is looked


# --- holds, waits and names


@pytest.mark.parametrize(
    ("at", "passed", "held"),
    [(None, 9, 10), (10, 9, 10), (12, 10, 12), (8, 7, 8), (8, 8, 8), (8, 9, None), ("8", 9, None), ("8", 8, 8)],
)
def test_a_watch_cannot_be_held_before_what_it_has_been_delivered(at, passed, held):
    made = []
    streams = SimpleNamespace(wake_all=lambda: None)
    watch = SimpleNamespace(revision=passed, client=("operator", None), resource="pods", namespace="default")
    runner = SimpleNamespace(
        apiserver=SimpleNamespace(store=SimpleNamespace(revision=10)), streams=streams, watches=[watch]
    )
    holds = Holds(runner, SimpleNamespace(holds=made), lambda: None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Hold, "applies", lambda self, watch: True)
        patch.setattr(Hold, "add", lambda self, watch: None)
        if held is None:
            with pytest.raises(ValueError, match=f"a watch has been delivered changes up to {passed}, and cannot go"):
                holds.hold(None, "pods", "*", "*", at)
        else:
            holds.hold(None, "pods", "*", "*", at)
    assert [hold.at for hold in made] == ([] if held is None else [held])
    with pytest.raises(ValueError, match="at='x' must be a resourceVersion"):
        holds.hold(None, "pods", "*", "*", "x")


@pytest.mark.parametrize(("seconds", "interval", "calls"), [(0.02, 0.005, 4), (0.01, None, 1), (0.01, 1.0, 1)])
def test_a_fuse_calls_at_an_interval_and_says_when_the_time_is_over(seconds, interval, calls):
    found: queue.Queue[bool] = queue.Queue()
    _fuse(seconds, interval, found.put, "a client")
    assert [found.get(timeout=10) for _ in range(calls)] == [False] * (calls - 1) + [True]


def test_a_predicate_is_a_function():
    with pytest.raises(TypeError, match=r"True: pass a function of the cluster, like `lambda cluster: \.\.\.`"):
        Assertions.eventually(SimpleNamespace(), True, "never", 1, str)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("_private", None),
        ("nothing_like_it", None),
        ("compact", ["faults.compact"]),
        ("faults_compact", ["faults.compact"]),
        ("watches_hold", ["faults.hold_watches"]),
        ("watches", ["faults.cut_watches", "faults.disturb_watches", "faults.hold_watches"]),
        ("compact_faults", ["faults.compact"]),
    ],
)
def test_the_desk_that_has_a_name_is_suggested(name, meant):
    text = unknown(SimpleNamespace, ("faults",), name)
    assert text.startswith(f"'SimpleNamespace' object has no attribute {name!r}")
    suggested = sorted(text.partition("did you mean ")[2].rstrip("?").split(" or ")) if "did you mean" in text else []
    if meant is not None:
        assert suggested == [f"fakekube.{one}" for one in meant]
    else:
        assert suggested == []


# --- records and threads


def test_pods_that_are_not_found_are_listed_in_order():
    runs = {name: SimpleNamespace(namespace="default", name=name) for name in ("b", "a")}
    kubelets = SimpleNamespace(runs=runs)
    pods = SimpleNamespace(
        _present=list,
        _always=False,
        _text="a",
        _selector=SimpleNamespace(name=""),
        _scope=SimpleNamespace(kubelets=kubelets),
    )
    with pytest.raises(LookupError) as caught:
        SimulatedPods._uids(pods)
    assert str(caught.value) == (
        "no pod on a simulated node matches pods('a') (pods: default/a, default/b); this is a label selector: use "
        "pods(name='a') for the pod of this name"
    )
    pods._text = "c"
    with pytest.raises(LookupError, match=r"use .always\(\) for pods that are created later"):
        SimulatedPods._uids(pods)
    runs.clear()
    with pytest.raises(LookupError, match=r"\(pods: none\)"):
        SimulatedPods._uids(pods)
    pods._always = True
    assert SimulatedPods._uids(pods) == []


def work(): ...


@pytest.mark.parametrize("ended", [None, False, True])
def test_threads_that_are_left_are_those_of_an_operator_or_of_none(monkeypatch, ended):
    before, left, of_bubble = (threading.Thread(target=work) for _ in range(3))
    monkeypatch.setattr(threading, "enumerate", lambda: [before, left, of_bubble])
    process = None if ended is None else SimpleNamespace(ended=ended)
    started = Started(None, process)
    reported = []
    detector = SimpleNamespace(
        _has_own=bool,
        _started=[(weakref.ref(left), started)],
        _before=frozenset({id(before)}),
        _left=[],
        _is_of_bubble=lambda thread: thread is of_bubble,
        _report=lambda one: reported.append(one.thread),
    )
    Threads.finish(detector)
    assert [(one.thread, one.by.process, one.is_orphan) for one in detector._left] == [
        (left, process, bool(ended)), (of_bubble, None, False),
    ]  # fmt: skip
    assert reported == [of_bubble]


@pytest.mark.parametrize(("answer", "looked"), [({}, True), ("text", False), (None, False)])
def test_only_objects_are_children(monkeypatch, answer, looked):
    asked = []

    def child_of(doing, answer):
        asked.append(answer)
        return SimpleNamespace(api_version="v1", kind="Pod")

    monkeypatch.setattr("fakekube.harness.detectors.known.objectcare.children.child_of", child_of)
    doing = SimpleNamespace(operator=SimpleNamespace(owned={}), run=SimpleNamespace(controller="db"))
    Children.made(SimpleNamespace(), doing, Sent("create", "/pods", 201, None, answer))
    assert asked == ([answer] if looked else [])


def test_levels_are_in_the_order_of_their_names_and_each_has_one():
    one, other = (
        SimpleNamespace(__name__=name, levels=levels)
        for name, levels in (("One", {"b": "error"}), ("Other", {"a": "warn", "b": "error"}))
    )
    assert list(defaults_of([one, other]).items()) == [("a", "warn"), ("b", "error")]
    other.levels["b"] = "warn"
    with pytest.raises(ValueError, match="Other: 'b' has the default level 'error' in another detector"):
        defaults_of([one, other])


@pytest.mark.parametrize("more", [-1, 0, 1, 5])
def test_long_texts_say_how_much_they_leave_out(more):
    lines = [f"line {number}" for number in range(golden._LINES + more)]
    shown = golden._shortened(lines).splitlines()
    assert shown == lines[: golden._LINES] + ([f"... {more} more lines"] if more > 0 else [])
