"""What counts for detectors of resyncs, of loops that write the time, and of loops of clients: tables."""

from datetime import UTC, datetime
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakekube.harness.detectors.detector import (
    Exchange,
    changed_leaves,
    leaves,
    meta_of,
    shown_path,
    shown_value,
)
from fakekube.harness.detectors.known.looping import clientloops, fights, hotloops
from fakekube.harness.detectors.known.looping.clientloops import LIMIT, SHORT, ClientLoops
from fakekube.harness.detectors.known.looping.hotloops import Chain, HotLoops
from fakekube.harness.detectors.known.reconciling import timestamps
from fakekube.harness.detectors.known.reconciling.resyncs import ResyncWrites
from fakekube.harness.detectors.known.reconciling.timestamps import QUICK_WRITES, Stamped, Suspect, TimestampLoops
from fakekube.virtualtime.errors import HotLoop
from tests.harness.detectors.driven import Driven

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
PRESENT, EARLIER = "2026-01-02T03:04:05Z", "2026-01-02T03:04:04Z"
PATH = "/api/v1/namespaces/d/pods/a"


class Collection:
    """The versions of one object, by the revision that has made each."""

    def __init__(self, **versions):
        self.versions = {int(name[1:]): obj for name, obj in versions.items()}

    def at(self, key, revision):
        found = [one for one in self.versions if one <= revision]
        if not found or self.versions[max(found)] is None:
            return None
        return SimpleNamespace(object=self.versions[max(found)], revision=max(found))


class Scene:
    """What detectors ask and tell."""

    def __init__(self, revision=5, faults=(), known=True, **versions):
        self.found, self.keys, self.faults, self.failed, self.texts = [], [], faults, [], []
        collection = Collection(**versions)
        self.store = SimpleNamespace(revision=revision, collection=lambda name: collection)
        self.place = lambda path: ("pods", "d/a") if known else None
        self.now = lambda: NOW
        self.exists, self.of_reconcile = {}, {}
        self.entry = lambda path: self.exists
        self.reconciled = lambda doing: self.of_reconcile
        self.asked = []

    def report(self, detector, text, *, who="", key=None):
        self.found.append((detector, who))
        self.texts.append(text)
        self.keys.append(key)

    def fail(self, detector, error):
        self.failed.append((detector, type(error), str(error)))


class Doing(SimpleNamespace):
    """A reconcile of d/a."""

    def __init__(self, *kinds, who="a", at=10.0, version="", known=True):
        causes = tuple(SimpleNamespace(kind=kind, resource_version=version) for kind in kinds)
        operator = SimpleNamespace(reconciled={"c": ("v1", "Pod")} if known else {}, manager=None)
        super().__init__(
            who=who, at=at, key="d/a", run=SimpleNamespace(causes=causes, controller="c"), operator=operator
        )

    def __str__(self):
        return "c reconciling d/a"


def pod(version="7", name="a", **fields):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "resourceVersion": version}, **fields}


def call(verb="update", path=PATH, **body):
    return SimpleNamespace(verb=verb, path=path, body=body)


def answered(detector, doing, made, code, answer):
    """A request is answered, which the detector looks at if it has the verb."""
    detector.called(doing, made, code, answer)


# --- writes of resyncs


@pytest.mark.parametrize(
    ("kinds", "faults", "noted"),
    [
        (("resync",), (), True),
        (("relist",), (), True),
        (("resync", "relist"), (), True),
        (("resync", "updated"), (), False),
        (("updated", "resync"), (), False),
        (("updated",), (), False),
        ((), (), False),
        (("resync",), (object(),), False),
    ],
)
def test_reconciles_that_only_a_resync_has_caused(kinds, faults, noted):
    detector, doing = Driven(ResyncWrites(Scene(faults=faults))), Doing(*kinds)
    detector.started(doing)
    assert detector._began == ({id(doing): 5} if noted else {})
    detector.finished(Doing(), None)
    assert bool(detector._began) is noted
    detector.finished(doing, None)
    assert detector._began == {}


@pytest.mark.parametrize(
    ("made", "code", "version", "reported"),
    [
        (call(), 200, "7", True),
        (call("patch"), 200, "7", True),
        (call("create"), 201, "5", True),
        (call("get"), 200, "7", False),
        (call(), 299, "7", True),
        (call(), 300, "7", False),
        (call(), 199, "7", False),
        (call(), 200, "6", False),  # this revision has made another object
        (call(), 200, "5", False),  # the revision when it started
        (call(), 200, "8", False),
        (call(), 200, "", False),
        (call(), 200, "x", False),
        (call("create", path="/api/v1/namespaces/d/events"), 201, "7", False),
        (call(at=PRESENT), 200, "7", False),
        (call(lastTransitionTime=PRESENT), 200, "7", True),
        (call(at=EARLIER), 200, "7", True),
    ],
)
def test_changes_of_such_a_reconcile(made, code, version, reported):
    scene = Scene(r1=pod(size=1), r7=pod(size=2), r8=pod(size=2))
    detector, doing = Driven(ResyncWrites(scene)), Doing("resync")
    answered(detector, doing, made, code, pod(version))
    assert scene.found == []  # it has not started
    detector.started(doing)
    answered(detector, Doing("updated"), made, code, pod(version))
    answered(detector, doing, made, code, pod(version))
    assert scene.found == [("resync-write", "")] * reported
    assert scene.keys == [("a", made.verb)] * reported
    assert [text.partition(",")[0] for text in scene.texts] == [
        f"c reconciling d/a made {made.verb} of {made.path}"
    ] * reported


@pytest.mark.parametrize(
    ("versions", "known", "changed"),
    [
        ({"r6": pod(size=1), "r7": pod(size=2)}, True, True),
        ({"r6": pod(size=1), "r7": pod(size=2)}, False, False),
        ({"r6": pod(size=1), "r7": pod("8", size=1)}, True, False),
        ({"r6": pod(size=1), "r7": pod(size=1, at=PRESENT)}, True, False),
        ({"r6": pod(size=1), "r7": pod(size=2, at=PRESENT)}, True, True),
        ({"r7": pod(size=2)}, True, True),
        ({"r6": None, "r7": pod(size=2)}, True, True),
        ({"r6": pod(size=1)}, True, False),
        ({}, True, False),
    ],
)
def test_what_a_write_has_changed(versions, known, changed):
    assert Driven(ResyncWrites(Scene(known=known, **versions)))._has_changed(PATH, 7) is changed


# --- loops of the present time


def stamped(**more):
    return Stamped(**{"who": "a", "at": 10.0, "path": PATH, "fields": (("spec", "at"),), **more})


@pytest.mark.parametrize(
    ("made", "version", "suspect"),
    [
        ({}, "7", True),
        ({"who": "b"}, "7", False),
        ({"at": 9.0}, "7", False),
        ({}, "8", False),
    ],
)
def test_a_key_that_its_own_write_of_the_time_triggers_is_suspect(made, version, suspect):
    detector, doing = Driven(TimestampLoops(Scene())), Doing("updated", version="7")
    detector.started(doing)
    assert detector.suspects == {}
    detector._stamped[version] = stamped(**made)
    detector._cleared.add("a")
    detector.started(doing)
    assert detector.suspects == {}
    detector._cleared.clear()
    detector.started(doing)
    assert (list(detector.suspects), list(detector._echoes)) == (["a"] * suspect, [id(doing.run)] * suspect)
    if suspect:
        first = detector.suspects["a"]
        assert (first.doing, first.path, first.fields, first.at) == (doing, PATH, (("spec", "at"),), 10.0)
        assert (first.wrote, first.quick, first.probes) == (False, 0, set())
        detector.started(doing)
        assert detector.suspects["a"] is first
        first.path = "/another"
        detector.started(doing)
        assert detector.suspects["a"] is not first


def suspected(scene, **more):
    detector, doing = Driven(TimestampLoops(scene)), Doing()
    suspect = Suspect(doing, PATH, (("spec", "at"),), 10.0)
    for name, value in more.items():
        setattr(suspect, name, value)
    detector.suspects["a"] = suspect
    return detector, doing, suspect


@pytest.mark.parametrize(
    ("seconds", "alone", "error", "quick"),
    [
        (0.0, True, None, 0),
        (0.1, True, None, 1),
        (4.9, True, None, 1),
        (5.0, True, None, 0),  # a heartbeat may come every five seconds
        (5.5, True, None, 0),
        (0.1, False, None, 0),
        (0.1, True, ValueError(), 0),
    ],
)
def test_a_write_of_the_present_time_is_quick_within_five_seconds(seconds, alone, error, quick):
    detector, _, suspect = suspected(Scene())
    doing = Doing(at=10.0 + seconds)
    detector._runs[id(doing.run)] = alone
    detector.finished(doing, SimpleNamespace(error=error))
    assert suspect.quick == quick
    assert suspect.at == (10.0 if error else 10.0 + seconds)


@pytest.mark.parametrize(
    ("made", "code", "noted"),
    [
        (call(spec={"at": PRESENT}), 200, PATH),
        (call("patch", spec={"at": PRESENT}), 299, PATH),
        (call("create", "/api/v1/namespaces/d/pods", spec={"at": PRESENT}), 201, PATH),
        (call("delete", spec={"at": PRESENT}), 200, None),
        (call(spec={"at": EARLIER}), 200, None),
        (call(spec={"at": PRESENT}), 300, None),
        (call(spec={"at": PRESENT}), 199, None),
    ],
)
def test_writes_of_the_present_time_are_noted(made, code, noted):
    detector, doing = Driven(TimestampLoops(Scene())), Doing()
    answered(detector, doing, made, code, pod())
    assert detector._stamped == ({} if noted is None else {"7": stamped(path=noted)})


def test_the_latest_writes_of_the_present_time_are_remembered(monkeypatch):
    monkeypatch.setattr(timestamps, "REMEMBERED", 2)
    detector = Driven(TimestampLoops(Scene()))
    for version in "1234":
        detector.called(Doing(), call(at=PRESENT), 200, pod(version))
        assert list(detector._stamped)[-1] == version
    assert list(detector._stamped) == ["3", "4"]


@pytest.mark.parametrize(
    ("made", "echo", "alone", "run", "wrote"),
    [
        (call(spec={"at": PRESENT}), True, True, True, True),
        (call(spec={"at": PRESENT}), False, True, True, False),
        (call(spec={"at": PRESENT}), True, False, False, False),
        (call(spec={"other": PRESENT}), True, True, None, False),
        (call(spec={"at": PRESENT}, other=PRESENT), True, True, True, True),
        (call(path="/another", spec={"at": PRESENT}), True, True, None, False),
    ],
)
def test_a_suspect_that_writes_the_time_again(made, echo, alone, run, wrote):
    size = 1 if alone else 2
    scene = Scene(r6=pod(size=1, at=EARLIER), r7=pod(size=size, at=PRESENT))
    detector, doing, suspect = suspected(scene)
    if echo:
        detector._echoes[id(doing.run)] = stamped()
    detector.called(doing, made, 200, pod())
    assert (detector._runs.get(id(doing.run)), suspect.wrote) == (run, wrote)
    detector._runs[id(doing.run)] = False  # another write of the same reconcile has changed more
    detector.called(doing, made, 200, pod())
    assert detector._runs[id(doing.run)] is False


@pytest.mark.parametrize(
    ("version", "known", "versions", "alone"),
    [
        ("7", True, {"r6": pod(at=EARLIER), "r7": pod(at=PRESENT)}, True),
        ("7", True, {"r6": pod(at=EARLIER), "r7": pod(at=PRESENT, size=2)}, False),
        ("7", True, {"r6": pod(at=EARLIER, size=2), "r7": pod(at=PRESENT)}, False),
        ("7", False, {"r6": pod(at=EARLIER), "r7": pod(at=PRESENT)}, False),
        ("x", True, {"r6": pod(at=EARLIER), "r7": pod(at=PRESENT)}, False),
        ("7", True, {"r7": pod(at=PRESENT)}, False),
        ("7", True, {"r6": pod(at=EARLIER), "r7": None}, False),
    ],
)
def test_a_write_that_has_changed_only_times(version, known, versions, alone):
    assert Driven(TimestampLoops(Scene(known=known, **versions)))._is_alone(PATH, version) is alone


LIVE, TERMINATING = (SimpleNamespace(object={"metadata": meta}) for meta in ({}, {"deletionTimestamp": "now"}))


@pytest.mark.parametrize(
    ("entry", "reconciled", "known", "terminating"),
    [
        (LIVE, LIVE, True, False),
        (TERMINATING, LIVE, True, True),
        (None, LIVE, True, True),
        (LIVE, TERMINATING, True, True),
        (LIVE, None, True, True),
        (LIVE, None, False, False),
    ],
)
@pytest.mark.parametrize(
    ("more", "loops"),
    [({}, False), ({"wrote": True}, True), ({"quick": QUICK_WRITES}, True), ({"quick": QUICK_WRITES - 1}, False)],
)
def test_suspects_whose_object_is_deleted_are_judged_at_once(entry, reconciled, known, terminating, more, loops):
    scene = Scene()
    scene.exists, scene.of_reconcile = entry, reconciled
    detector, _, suspect = suspected(scene, doing=Doing(known=known), **more)
    assert detector.can_be_probed(suspect) == (not terminating)
    detector.finish()
    reported = terminating and loops
    assert scene.found == [("timestamp-loop", "c")] * reported
    assert scene.keys == [id(suspect)] * reported
    assert all(f"writes the present time to .spec.at of {PATH}, and that" in text for text in scene.texts)


@pytest.mark.parametrize(("probes", "reported"), [(set(), False), ({1.0}, False), ({1.0, 2.0}, True)])
def test_two_probes_that_write_the_time_are_a_loop(probes, reported):
    scene = Scene()
    detector, _, _ = suspected(scene, probes=probes)
    detector.judge()
    assert len(scene.found) == reported


@pytest.mark.parametrize(
    ("alone", "at", "probing", "entry", "error", "cleared", "probes"),
    [
        (None, 11.0, False, LIVE, None, True, set()),
        (None, 10.0, False, LIVE, None, False, set()),
        (None, 11.0, True, LIVE, None, False, set()),
        (None, 11.0, False, TERMINATING, None, False, set()),
        (None, 11.0, False, LIVE, ValueError(), False, set()),
        (True, 11.0, False, LIVE, None, False, set()),
        (True, 11.0, True, LIVE, None, False, {11.0}),
        (False, 11.0, True, LIVE, None, False, set()),
        (True, 11.0, True, LIVE, ValueError(), False, set()),
    ],
)
def test_a_later_reconcile_clears_or_confirms_a_suspect(alone, at, probing, entry, error, cleared, probes):
    scene = Scene()
    scene.exists = scene.of_reconcile = entry
    detector, _, suspect = suspected(scene)
    doing, outcome = Doing(at=at), SimpleNamespace(error=error)
    detector.is_probing = probing
    detector._echoes[id(doing.run)] = stamped()
    if alone is not None:
        detector._runs[id(doing.run)] = alone
    detector.finished(Doing(who="b", at=at), outcome)
    detector.finished(doing, outcome)
    assert (detector.suspects == {}, detector._cleared == {"a"}) == (cleared, cleared)
    assert suspect.probes == probes
    assert suspect.at == (at if alone is not None and error is None else 10.0)
    assert (detector._runs, detector._echoes) == ({}, {})


# --- hot loops


def test_a_chain_knows_what_was_written_most():
    chain = Chain()
    for path in "abbaa":
        chain.wrote(path)
    assert (chain.path, chain.times, chain.writes) == ("a", 3, {"a": 3, "b": 2})
    chain.wrote("b")
    assert (chain.path, chain.times) == ("a", 3)


@pytest.mark.parametrize(
    ("verb", "code", "sent", "made", "times"),
    [
        ("update", 200, "6", True, 1),
        ("patch", 299, "6", True, 1),
        ("create", 201, "", True, 0),
        ("delete", 200, "6", True, 0),
        ("get", 200, "6", False, 0),
        ("update", 199, "6", False, 0),
        ("update", 300, "6", False, 0),
        ("update", 200, "7", True, 0),
    ],
)
def test_writes_that_make_a_version(verb, code, sent, made, times):
    detector = Driven(HotLoops(Scene()))
    for _ in range(2):
        answered(detector, Doing(), call(verb, metadata={"resourceVersion": sent}), code, pod())
    answered(detector, Doing(), call(verb), code, {})
    assert detector._made == ({"7": "a"} if made else {})
    assert [(who, chain.writes) for who, chain in detector._chains.items()] == [("a", {PATH: times})] * bool(times)


def test_the_latest_versions_are_remembered(monkeypatch):
    monkeypatch.setattr(hotloops, "REMEMBERED", 2)
    detector = Driven(HotLoops(Scene()))
    seen = []
    for version in "1234":
        detector.called(Doing(), call(), 200, pod(version))
        seen.append("".join(detector._made))
    assert seen == ["1", "12", "23", "34"]


@pytest.mark.parametrize(("after", "short"), [(None, False), (0.0, True), (0.999, True), (1.0, False), (2.0, False)])
def test_short_requeues(after, short):
    detector = Driven(HotLoops(Scene()))
    for before in (set(), {"a", "b"}):
        detector._short = set(before)
        detector.finished(Doing(), SimpleNamespace(requeue_after=after))
        assert detector._short == ((before | {"a"}) if short else (before - {"a"}))


@pytest.mark.parametrize(
    ("kinds", "made", "short", "goes_on"),
    [
        (("updated",), True, False, True),
        (("added", "deleted"), True, False, True),
        (("updated",), False, False, False),
        (("requeue_after",), True, True, True),
        (("requeue_after",), True, False, False),
        (("retry", "requeue"), True, False, True),
        (("generic",), True, True, False),
        (("updated", "resync"), True, True, False),
        (("resync", "updated"), True, True, False),
        ((), True, True, True),
    ],
)
def test_what_continues_a_chain(kinds, made, short, goes_on):
    detector, doing = Driven(HotLoops(Scene())), Doing(*kinds, version="7")
    detector._made["7"] = "a" if made else "b"
    detector._short |= {"a"} if short else {"b"}
    detector._chains["a"] = chain = Chain()
    detector.started(Doing(who="b"))
    detector.started(doing)
    assert ("a" in detector._chains) is goes_on
    assert chain.events == (bool(kinds) and kinds[0] in hotloops.EVENTS and goes_on)


@pytest.mark.parametrize(
    ("events", "times", "raised", "reported"),
    [(99, 100, True, 0), (98, 100, False, 0), (120, 99, False, 0), (8, 20, False, 1), (9, 20, False, 0), (8, 21, False, 0), (8, 19, False, 0), (150, 150, True, 0)],
)  # fmt: skip
def test_from_how_many_writes_a_chain_is_a_loop(events, times, raised, reported):
    detector, doing = Driven(HotLoops(scene := Scene())), Doing("updated", version="7")
    detector._made["7"] = "a"
    detector._chains["a"] = Chain({PATH: times}, PATH, times, events)
    if raised:
        with pytest.raises(HotLoop, match=f"controller 'c' has written {PATH} {times} times in reconciles of d/a"):
            detector.started(doing)
    else:
        detector.started(doing)
    assert scene.found == [("hot-loop", "c")] * reported
    assert scene.keys == ["a"] * reported


# --- loops of clients


def exchange(verb="update", *, at=10.0, code=200, agent="op/1", client="", process=None, changed=True, run=None, body=None, revision=7, resource="pods", name="a"):  # fmt: skip
    record = SimpleNamespace(at=at, verb=verb, group="", resource=resource, code=code, path=PATH, user_agent=agent, user="ann", revision=revision)  # fmt: skip
    info = SimpleNamespace(namespace="d", name=name, path=PATH)
    made = Exchange(None, info, None, record, run, changed, client, process)
    made._body = body if body is not None else {}
    return made


def watching(**versions):
    detector = Driven(ClientLoops(Scene(**versions)))
    detector.answered(exchange("watch"))
    return detector


@pytest.mark.parametrize(
    ("options", "counted"),
    [
        ({}, True),
        ({"code": 201}, False),
        ({"run": object()}, False),
        ({"agent": "other"}, False),
        ({"agent": "other", "client": "op/1"}, True),
        ({"resource": "nodes"}, False),
        ({"changed": False}, False),
        ({"verb": "watch"}, False),
    ],
)
def test_writes_of_clients_that_watch_are_counted(options, counted):
    detector = watching(r6=pod(size=1), r7=pod(size=2))
    detector.answered(exchange(**options))
    assert list(detector._series) == [("", "pods", "d", "a")] * counted
    assert all(one.revision == 7 and one.times == 1 for one in detector._series.values())


OWN, OTHER = object(), object()


@pytest.mark.parametrize(
    ("first", "second", "goes_on"),
    [
        ({}, {}, True),
        ({}, {"at": 10.0 + SHORT}, True),
        ({}, {"at": 10.1 + SHORT}, False),
        ({}, {"revision": 9}, False),
        ({"process": OWN}, {"process": OWN}, True),
        ({"process": OWN}, {"process": OTHER}, False),
        ({"process": OWN}, {}, True),
        ({}, {"process": OTHER}, True),
        ({"client": "task"}, {"client": "task"}, True),
    ],
)
def test_writes_that_continue_a_series(first, second, goes_on):
    detector = watching(r6=pod(size=1), r7=pod(size=2), r8=pod(size=3), r9=pod(size=4))
    detector.answered(exchange(**first))
    detector.answered(exchange(**{"revision": 8, **second}))
    (series,) = detector._series.values()
    assert series.times == (2 if goes_on else 1)
    assert series.revision == second.get("revision", 8)
    assert series.at == second.get("at", 10.0)
    assert series.began == (10.0 if goes_on else series.at)
    assert series.fields == ((("size",),) if goes_on else ())


@pytest.mark.parametrize(
    ("last", "idle"),
    [
        ({"size": 3}, True), ({"size": "3"}, True), ({"size": "x"}, False), ({"size": 2, "at": PRESENT}, True),
        ({"size": 2, "at": EARLIER}, False), ({}, False), ({"size": 3, "text": "x"}, False),
    ],
)  # fmt: skip
def test_series_of_times_and_counters(last, idle):
    detector = watching(r6=pod(size=1), r7=pod(size=2), r8=pod(**last), r9=pod(**last, other="x"))
    detector.answered(exchange())
    detector.answered(exchange(revision=8))
    (series,) = detector._series.values()
    assert series.is_idle is idle
    detector.answered(exchange(revision=9))
    assert series.is_idle is False


@pytest.mark.parametrize(
    ("began", "idle", "failed", "reported"),
    [(10.0, False, 1, 0), (10.0, True, 1, 0), (9.5, True, 0, 1), (9.5, False, 0, 0)],
)
def test_a_hundred_writes_are_a_loop_of_a_client(began, idle, failed, reported):
    for times in (LIMIT - 2, LIMIT - 1, LIMIT):
        detector = watching(r6=pod(size=1), r7=pod(size=2), r8=pod(size=3))
        detector.answered(exchange(at=began))
        (series,) = detector._series.values()
        series.times, series.is_idle = times, idle
        detector.answered(exchange(revision=8))
        is_last = times == LIMIT - 1
        scene = detector._scene
        assert (len(scene.failed), len(scene.found)) == (failed * is_last, reported * is_last)
        for text in [*(one[2] for one in scene.failed), *scene.texts]:
            assert text == (
                f"op/1 has written {PATH} 100 times in a row within {10.0 - began:g} s, and watches it: its own writes "
                "trigger the next ones; the last has changed .size"
            )
        assert all(one[:2] == ("hot-loop", HotLoop) for one in scene.failed)
        assert scene.keys == [(frozenset({"op/1"}), PATH)] * len(scene.found)


@pytest.mark.parametrize(
    ("options", "reported"),
    [
        ({}, True),
        ({"at": 11.0}, False),
        ({"agent": "op/2", "client": "op/1", "process": OTHER}, False),
        ({"body": {"spec": {"at": PRESENT, "size": 1}}}, False),
        ({"body": {"spec": {"at": PRESENT}, "metadata": {"name": "a", "resourceVersion": "9"}}}, True),
        ({"body": {"spec": {"at": PRESENT}, "metadata": {"name": "b", "resourceVersion": "8"}}}, False),
        ({"name": "b"}, False),
    ],
)
def test_the_same_write_of_the_time_again_is_a_loop(options, reported):
    body = {"spec": {"at": PRESENT}, "metadata": {"name": "a", "resourceVersion": "8"}}
    detector = watching(r6=pod(), r7=pod(at=PRESENT))
    detector.answered(exchange(body=body, process=OWN))
    detector.answered(exchange(**{"body": body, "changed": False, **options}))
    scene = detector._scene
    assert scene.found == [("timestamp-loop", "op/1")] * reported
    assert scene.keys == [("op/1", PATH)] * reported
    assert [text.partition(" again")[0] for text in scene.texts] == [
        f"writes the present time to .spec.at of {PATH}"
    ] * reported


def test_the_time_that_was_written_is_that_of_the_same_instant():
    body = {"spec": {"at": PRESENT}}
    for at, kept in ((10.0, True), (10.5, False)):
        detector = watching(r6=pod(), r7=pod(at=PRESENT), r8=pod(at=PRESENT, size=1), r9=pod(at=PRESENT, size=2))
        detector.answered(exchange(body=body))
        detector.answered(exchange(body={"size": 1}, revision=8, at=at))
        (series,) = detector._series.values()
        assert (series.stamped is not None) is kept
        detector.answered(exchange(body=body, revision=9, at=at))
        assert series.stamped == (body, (("spec", "at"),))


def test_the_first_fields_are_named():
    fields = tuple((name, 0) for name in "abcd")
    assert clientloops._shown(fields) == ".a[0], .b[0], .c[0]"


@pytest.mark.parametrize(
    ("body", "content"),
    [
        ([1], [1]),
        ({"a": 1}, {"a": 1}),
        ({"metadata": [1]}, {"metadata": [1]}),
        ({"metadata": {"resourceVersion": "1", "x": 2}, "a": 1}, {"metadata": {"x": 2}, "a": 1}),
    ],
)
def test_the_content_of_a_body_has_no_version(body, content):
    assert clientloops._content(body) == content


# --- fields that writers overwrite


def test_the_fields_that_each_change_has_set_to_one_value():
    def change(before, after):
        return SimpleNamespace(before=SimpleNamespace(object=before), after=SimpleNamespace(object=after))

    one, other = {"a": 1, "b": 1, "c": 1, "d": 1}, {"a": 2, "b": 2, "c": 2}
    assert fights._values([change(one, other)]) == {("a",): 2, ("b",): 2, ("c",): 2, ("d",): None}
    changed = [change(one, other), change({"a": 1, "b": 1, "c": 2}, {"a": 2, "b": 3, "c": 2})]
    assert fights._values(changed) == {("a",): 2}
    mine, theirs = fights.Writer("op", "one"), fights.Writer("op", "two")
    recent = [
        (mine, change({"a": 1, "b": 1}, {"a": 2, "b": 2}), None),
        (theirs, change({"a": 2, "c": 1}, {"a": 1, "c": 2}), None),
    ]
    assert fights._overwritten(recent, mine, theirs) == [(("a",), (2, 1))]
    assert fights._overwritten([recent[0], (theirs, recent[0][1], None)], mine, theirs) == []


def test_pairs_of_writers_are_tried_in_their_order():
    writers = dict.fromkeys(fights.Writer(name) for name in "abc")
    assert [f"{one.client}{other.client}" for one, other in fights._pairs(writers)] == ["ab", "ac", "bc"]


@pytest.mark.parametrize(
    ("first", "second", "names"),
    [
        (("op", "one"), ("op", "two"), ("'one'", "'two'")),
        (("op", "one"), ("two", "one"), ("'one' of op", "'one' of two")),
        (("task",), ("other",), ("'task'", "'other'")),
        (("task", "", 1), ("task", "", 2), ("one program named 'task'", "another program named 'task'")),
    ],
)
def test_the_names_of_writers_that_overwrite_each_other(first, second, names):
    detector = Driven(fights.Fights(scene := Scene()))
    series = fights.Series(fights.Writer(*first), 0.0)
    fields = [fights.Overwritten((name,), (1, "x" * 200)) for name in "abcd"]
    detector._report(("pods.apps", "d/a"), series, (fights.Writer(*first), fights.Writer(*second)), fields)
    ((_, _, text),) = scene.failed
    assert text.startswith(
        f"{names[0]} and {names[1]} overwrite each other's values in pods d/a: {names[0]} sets .a to 1, {names[1]} to 'xxx"
    )
    assert (".c to 1" in text, ".d to 1" in text) == (True, False)


# --- parts of objects


@pytest.mark.parametrize(
    ("value", "meta"),
    [({"metadata": {"name": "a"}}, {"name": "a"}), ({"metadata": []}, {}), ({}, {}), ([], {}), (None, {})],
)
def test_the_metadata_of_what_may_be_an_object(value, meta):
    assert meta_of(value) == meta


def test_leaves_that_a_write_has_changed():
    before = {
        "metadata": {"resourceVersion": "1", "generation": 1, "managedFields": [1], "name": "a"},
        "spec": {"generation": 1, "l": [1, 2]},
        "metadata2": 1,
        "old": 1,
    }
    after = {
        "metadata": {"resourceVersion": "2", "generation": 2, "managedFields": [2], "name": "b"},
        "spec": {"generation": 2, "l": [1, 3, 4]},
        "metadata2": 1,
        "new": b"x",
    }
    assert dict(changed_leaves(before, after)) == {
        ("metadata", "name"): "b", ("spec", "generation"): 2, ("spec", "l", 1): 3, ("spec", "l", 2): 4, ("old",): None, ("new",): b"x",
    }  # fmt: skip
    assert dict(changed_leaves({"metadata": 1}, {"metadata": 2})) == {("metadata",): 2}
    assert dict(changed_leaves(before, after, {"metadata", "spec"})) == {("old",): None, ("new",): b"x"}


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(0, 2) | st.sampled_from("ab"),
    lambda part: st.lists(part, max_size=3) | st.dictionaries(st.sampled_from("abc"), part, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.sampled_from(["spec", "status", "data"]), VALUES)


@given(OBJECTS, OBJECTS)
def test_changed_leaves_are_those_with_other_values(before, after):
    old, new = dict(leaves(before)), dict(leaves(after))
    changed = [(path, new.get(path)) for path in dict.fromkeys([*old, *new]) if old.get(path) != new.get(path)]
    assert list(changed_leaves(before, after)) == changed


def test_values_and_paths_as_texts():
    assert [shown_value(one) for one in (None, 1, "x")] == ["absent", "1", "'x'"]
    assert [shown_value("xx", 4), shown_value("xxx", 4)] == ["'xx'", "'xxx..."]
    assert shown_path(("spec", "containers", 0, "image")) == ".spec.containers[0].image"
