"""The last moves of a run: what they find, and what they say nothing about."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from controllerlib import ApiError
from fakekube.harness.assertions.invariants import Violated
from fakekube.harness.engine import Engine
from fakekube.simulation.atoms import parse_atom
from fakekube.simulation.lastspec import Intents, Step
from fakekube.simulation.plan import Plan, parse_plan
from fakekube.simulation.running.runend import _Ending, _released, _skips
from fakekube.virtualtime import Deadlock, HotLoop, NotQuiescent


class Cluster:
    """A cluster, as the end of a run uses it: with the object `stored`, and violations of invariants."""

    def __init__(self, *, now=0.0, stored=None, refused=False, violations=(), expired=()):
        self.log, self._stored, self._refused, self._violations = [], stored, refused, list(violations)
        self.clock = SimpleNamespace(monotonic=lambda: now, expired=expired)
        self._engine = object.__new__(Engine)  # which only a cluster fills
        self._engine.objects = self._engine.invariants = self

    def advance(self, seconds):
        self.log.append(seconds)

    def get(self, api_version, kind, name, namespace):
        if self._stored is None:
            raise LookupError(name)
        return self._stored

    def update(self, obj, subresource):
        if self._refused:
            raise ApiError(422, "Invalid", "refused")
        self.log.append(obj)

    def raise_violation(self):
        if self._violations:
            raise Violated(self._violations.pop(0))


class Kinds:
    def resource(self, kind):
        return SimpleNamespace(api_version="v1", kind="Store") if kind == "store" else None


def ending(plan=None, cluster=None, *, commits=(), names=("db",), folded=True):
    log = []
    run = SimpleNamespace(
        plan=plan or Plan(),
        lost=[],
        log=log,
        folded=SimpleNamespace(complete=lambda: log.append("completed")) if folded else None,
        hands=SimpleNamespace(names=lambda: names),
        recorder=SimpleNamespace(kinds=Kinds(), observation=lambda seed: SimpleNamespace(commits=commits, ended=0.0)),
    )
    return _Ending(run, cluster or Cluster()), run


@pytest.mark.parametrize(
    ("text", "mode"), [("", ""), ("crash@create cm/a#1", ""), ("fresh", "fresh"), ("rollback", "rollback")]
)
def test_what_is_made_of_a_run_besides_the_test(text, mode):
    assert ending(parse_plan(f"FK1 seed=0 {text}"))[0].mode() == mode


@pytest.mark.parametrize(
    ("error", "stuck", "unjudged", "violations", "lost"),
    [
        (None, "", "", [], []),
        (NotQuiescent("busy"), "NotQuiescent: busy", "NotQuiescent: busy", [], []),
        (HotLoop("turns"), "HotLoop: turns", "", [], []),
        (Deadlock("dead"), "Deadlock: dead", "", [], []),
        (Violated("broken"), "", "", ["broken"], []),
        (ValueError("failed"), "", "", [], ["ValueError: failed"]),
    ],
)
def test_what_ends_a_move(error, stuck, unjudged, violations, lost):
    def move():
        if error is not None:
            raise error

    found, run = ending()
    assert found.attempt(move) == stuck
    assert (found.unjudged, found.violations, run.lost) == (unjudged, violations, lost)


def test_the_first_that_real_time_has_ended_is_named():
    found, _ = ending()
    for error in (None, HotLoop("turns"), NotQuiescent("first"), NotQuiescent("second")):
        found.note_real_time(error)
    assert found.unjudged == "NotQuiescent: first"


def intents(others=0, ended=0.0):
    return Intents((), others, ended)


#: A change that the test makes of an object that it has not created.
OTHER = SimpleNamespace(
    rest=False, actor="test", is_external=False, kind="cm", namespace="a", name="b", before={}, after={}
)


@pytest.mark.parametrize(
    ("wanted", "failed", "commits", "names", "folded", "changed"),
    [
        (intents(), False, [], ["db"], True, True),
        (None, False, [], ["db"], True, False),
        (intents(), False, [], ["db"], False, False),
        (intents(), False, [], [], True, False),
        (intents(others=1), False, [], ["db"], True, True),
        (intents(others=1), True, [], ["db"], True, False),
        (intents(others=1), True, [OTHER], ["db"], True, True),
        (intents(others=0), True, [], ["db"], True, True),
    ],
)
def test_a_new_cluster_is_given_the_last_spec_if_that_says_anything(wanted, failed, commits, names, folded, changed):
    plan = Plan(intents=wanted)
    found, run = ending(plan, commits=commits, names=names, folded=folded)
    assert found.changed("fresh", failed) is changed
    assert run.log == (["completed"] if changed else [])


@pytest.mark.parametrize(("now", "waits"), [(10.0, [20.0]), (29.5, [0.5]), (30.0, []), (31.0, [])])
def test_a_new_cluster_has_the_time_of_the_reference(now, waits):
    cluster = Cluster(now=now)
    found, _ = ending(Plan(intents=intents(ended=30.0)), cluster)
    assert found.changed("fresh", False)
    assert cluster.log == waits


STEP = Step(7, "store", "a", "one", {"spec": {"size": 1, "old": True}}, {"spec": {"size": 2}})


@pytest.mark.parametrize(
    ("step", "failed", "cluster", "written"),
    [
        (STEP, False, {"stored": {"spec": {"size": 2, "more": 3}}}, [{"spec": {"size": 1, "more": 3, "old": True}}]),
        (STEP, True, {"stored": {"spec": {}}}, []),
        (None, False, {"stored": {"spec": {}}}, []),
        (STEP, False, {}, []),
        (STEP, False, {"stored": {"spec": {}}, "refused": True}, []),
        (replace(STEP, kind="unknown"), False, {"stored": {"spec": {}}}, []),
    ],
)
def test_the_last_change_is_taken_back_unless_that_is_impossible(step, failed, cluster, written):
    cluster = Cluster(**cluster)
    found, _ = ending(Plan(last_step=step), cluster)
    assert found.changed("rollback", failed) is bool(written)
    assert cluster.log == written


def test_all_violations_and_the_first_call_that_real_time_has_ended_are_collected():
    found, _ = ending(cluster=Cluster(violations=["one", "two"], expired=["first", "second"]))
    found.collect()
    assert found.violations == ["one", "two"]
    assert found.unjudged == "first has not ended in real time"
    found.unjudged = "before"
    found.collect()
    assert found.unjudged == "before"


@pytest.mark.parametrize(
    ("text", "skips"),
    [
        ("crash@create cm/a#1", False),
        ("down(until=reconcile)@create cm/a#1", True),
        ("lost(504)@create cm/a#1", False),
        ("hold(cm, create cm/a#1..reconcile)", True),
        ("order", False),
    ],
)
def test_operators_may_not_see_each_state_because_of_some_atoms(text, skips):
    assert _skips(parse_atom(text)) is skips


@pytest.mark.parametrize(
    ("atoms", "fired", "released"),
    [
        ("", [], None),
        ("crash@create cm/a#1", [0], None),
        ("upgrade@create cm/a#1", [], False),
        ("upgrade@create cm/a#1", [0], True),
        ("downgrade@create cm/a#1", [0], True),
        ("crash@create cm/a#1 + upgrade@create cm/b#1", [0], False),
        ("crash@create cm/a#1 + upgrade@create cm/b#1", [1], True),
        ("upgrade@create cm/a#1 + downgrade@create cm/b#1", [1], True),  # which only an unrealistic plan has
    ],
)
def test_whether_the_release_has_changed(atoms, fired, released):
    run = SimpleNamespace(plan=parse_plan(f"FK1 seed=0 {atoms}"), injection=SimpleNamespace(fired=fired))
    assert _released(run) is released


@pytest.mark.parametrize(
    ("atom", "skips"),
    [
        ("gap(cm, create cm/a#1..rest)", True), ("stale(cm, at=create cm/a#1, when=delete cm/a#1)", True),
        ("pause(until=rest)@create cm/a#1", True), ("late(until=rest)@create cm/a#1", True), ("dup", False),
        ("surge(until=rest)@create cm/a#1", False), ("upgrade@create cm/a#1", False), ("jump(5)@create cm/a#1", False),
    ],
)  # fmt: skip
def test_which_atoms_keep_operators_from_seeing_each_state(atom, skips):
    assert _skips(parse_atom(atom)) is skips
