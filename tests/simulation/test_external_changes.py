"""Who has changed an external API: the test, the operator that makes a request or a reconcile, or nobody that is known."""

from types import SimpleNamespace

import pytest

from fakekube.simulation.plan import parse_plan
from fakekube.simulation.running.externalwatch import ExternalWatch
from fakekube.simulation.running.injection import Injection
from fakekube.simulation.running.recorder import Actor, Kinds, Recorder

DB, OTHER = Actor("operator db", 2), Actor("operator other", 1)

#: Does what an atom says, which is only noted.
HANDS = SimpleNamespace(jump=lambda seconds: None)


def watched(only=DB, atoms=""):
    """A watch of an API with items; `only`: the operator that runs, if it is the only one."""
    recorder = Recorder(Kinds(()))
    injection = Injection(parse_plan(f"FK1 seed=0 {atoms}"), HANDS)
    watch = ExternalWatch(recorder, injection, SimpleNamespace(only=lambda: only), lambda: 7.0)
    return watch, recorder


def changes(recorder):
    return [(one.actor, one.incarnation, str(one.anchor)) for one in recorder.commits]


@pytest.mark.parametrize(
    ("look", "only", "author"),
    [
        (lambda watch: watch.test_has_run(), DB, ("test", 0)),
        (lambda watch: watch.requested(Actor()), DB, ("test", 0)),
        (lambda watch: watch.requested(OTHER), DB, ("operator other", 1)),
        # a controller of the cluster, or a client, makes no items: an operator has done so
        (lambda watch: watch.requested(Actor("cluster")), DB, ("operator db", 2)),
        (lambda watch: watch.requested(Actor("client x")), DB, ("operator db", 2)),
        (lambda watch: watch.requested(Actor("client x")), None, ("external", 0)),
        (lambda watch: watch.reconciled(OTHER), DB, ("operator other", 1)),
        (lambda watch: watch.at_rest(), DB, ("operator db", 2)),
        (lambda watch: watch.at_rest(), None, ("external", 0)),
    ],
)
def test_the_author_of_a_change(look, only, author):
    watch, recorder = watched(only)
    items = ["old"]
    watch.declare("buckets", items, RuntimeError)
    assert changes(recorder) == [], "what there was is no change"
    items[:] = ["new"]
    look(watch)
    assert changes(recorder) == [
        (*author, "delete external/buckets/old#1"),
        (*author, "create external/buckets/new#1"),
    ]
    assert recorder.commits[0].at == 7.0
    look(watch)
    assert len(recorder.commits) == 2


def test_without_an_api_nothing_is_looked_at():
    watch, recorder = watched()
    assert (watch.requested(DB), watch.at_rest(), watch.targets(), changes(recorder)) == (False, False, [], [])


def test_what_has_changed_before_another_api_is_declared_is_of_the_test():
    watch, recorder = watched()
    first, second = [], ["x"]
    watch.declare("first", first, RuntimeError)
    first.append("a")
    watch.declare("second", second, RuntimeError)
    assert changes(recorder) == [("test", 0, "create external/first/a#1")]
    assert watch.targets() == ["external/first/a", "external/second/x"]


@pytest.mark.parametrize("look", [lambda watch: watch.requested(DB), lambda watch: watch.at_rest()])
@pytest.mark.parametrize(("item", "fires"), [("a", True), ("b", False)])
def test_whether_an_atom_takes_effect_at_a_change(look, item, fires):
    watch, _ = watched(atoms="jump(5)@create external/b/a#1")
    items = []
    watch.declare("b", items, RuntimeError)
    assert look(watch) is False
    items.append(item)
    assert look(watch) is fires
    assert look(watch) is False
