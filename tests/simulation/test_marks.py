"""The marks of a timeline: each atom that takes effect, after the request that it has hit."""

from types import SimpleNamespace

import pytest

from fakekube.harness.engine import Engine
from fakekube.simulation.plan import parse_plan
from fakekube.simulation.running.marks import FAULT, Marks


class Cluster:
    """A cluster whose timeline is a list of texts and causes. `handling`: whether a request is being handled."""

    def __init__(self):
        self.entries, self.listeners = [], []
        self.timeline, self.clock = self, SimpleNamespace(now=lambda: "now")
        self._engine = object.__new__(Engine)  # which only a cluster fills
        self._engine.server = self
        self.answering = None

    def on_request(self, listener):
        self.listeners.append(listener)
        return lambda: self.listeners.remove(listener)

    def answered(self, serial):
        self.answering = None
        for one in self.listeners:
            one(SimpleNamespace(serial=serial))

    def add(self, at, summarize, *facts):
        entry = summarize(*facts)
        self.entries.append((at, entry.actor, entry.what, entry.because, entry.facts))


def marked(atoms):
    cluster = Cluster()
    return Marks(cluster, parse_plan(f"FK1 seed=0 {atoms}")), cluster


CRASH = "crash@create cm/a#1"


def mark(text, number=0, because=()):
    return ("now", FAULT, text, because, (("atom", str(number)),))


@pytest.mark.parametrize(
    ("atom", "waits"),
    [
        (CRASH, True),
        ("lost(504)@create cm/a#1", True),
        ("hold(cm, create cm/a#1..rest)", True),
        ("hold(cm, create external/b/a#1..rest)", True),
        ("dup", True),
        # these come before the request of the operator that is handled then
        ("zombie@create cm/a#1", False),
        ("crash@create external/b/a#1", False),
    ],
)
def test_an_atom_is_marked_after_the_request_that_it_has_hit(atom, waits):
    marks, cluster = marked(atom)
    cluster.answering = "a request"
    marks.fired(0)
    assert cluster.entries == [mark(atom)] * (not waits)
    cluster.answered(7)
    assert cluster.entries == [mark(atom, because=(7,) if waits else ())]
    cluster.answered(8)
    assert len(cluster.entries) == 1


def test_an_atom_that_takes_effect_between_requests_has_no_cause():
    marks, cluster = marked(f"dup + {CRASH}")
    marks.fired(1)
    assert cluster.entries == [mark(CRASH, 1)]


def test_several_atoms_of_one_request_are_marked_in_their_order():
    marks, cluster = marked(f"{CRASH} + lost(504)@create cm/a#1")
    cluster.answering = "a request"
    marks.fired(1)
    marks.fired(0)
    cluster.answered(7)
    assert cluster.entries == [mark("lost(504)@create cm/a#1", 1, (7,)), mark(CRASH, 0, (7,))]


def test_a_cluster_that_is_let_go_has_no_marks():
    marks, cluster = marked(CRASH)
    marks.detach()
    assert cluster.listeners == []
