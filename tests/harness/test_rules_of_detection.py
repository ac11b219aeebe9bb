"""What detectors are told and what counts for them, as functions of records."""

from types import SimpleNamespace

import pytest

from fakekube.harness.audit import Audit
from fakekube.harness.desks.faults import Faults
from fakekube.harness.detectors.detection import Detection, _only_delays_events
from fakekube.harness.detectors.known.objectcare.unremovedfinalizers import UnremovedFinalizers, _delays
from fakekube.harness.detectors.known.requesting.ignorederrors import IgnoredErrors, _is_refusal
from fakekube.harness.detectors.texts.unchanged import _is_ignored, _is_of_server
from fakekube.harness.members import When, _refusals, label, members_of
from fakekube.harness.records.entrykeys import _pinned
from fakekube.harness.stepping import Stepping

# --- which hooks are called


def told(code, verb="update", *, revision=2, user="ann", agent="operator", doing="a reconcile", steps=0, pending=None):
    """The hooks that an answer is passed to. The revision before is 1."""
    log = []

    def hook(name):
        return lambda *found: log.append(name)

    detection = SimpleNamespace(
        _revision=1,
        _denied=(hook("denied"),),
        _answered={"update": (hook("answered"),)},
        _created=(hook("created"),),
        _refused=(hook("refused"),),
        _unchanged=(hook("unchanged"),),
        _finalized=(hook("finalized"),),
        _pending=pending,
        _own="test",
        steps=steps,
        doing=lambda: doing,
        scene=SimpleNamespace(runner=SimpleNamespace(client=None)),
    )
    record = SimpleNamespace(code=code, verb=verb, revision=revision, user=user, user_agent=agent)
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
        (202, {"revision": 1}, ["answered"]),
        (399, {}, ["answered"]),
        (400, {}, ["answered", "refused"]),
        (403, {}, ["denied", "refused"]),
        (409, {"verb": "create"}, ["refused"]),
        (200, {"agent": "test"}, []),
        (200, {"user": "system:kube-controller-manager"}, []),
        (200, {"doing": None}, []),
        (200, {"doing": None, "steps": 1}, ["answered"]),
        (200, {"pending": SimpleNamespace(revision=2)}, ["answered", "finalized"]),
        (200, {"pending": SimpleNamespace(revision=1)}, ["answered"]),
    ],
)
def test_the_detectors_that_an_answer_concerns(code, options, hooks):
    assert told(code, **options) == hooks


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
