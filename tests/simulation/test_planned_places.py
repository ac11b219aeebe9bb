"""At which changes of a run each family of faults is planned, and until which: what is near, what is seen, how many."""

from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakekube.simulation.anchor import Anchor, Occurrences, changed_fields
from fakekube.simulation.atoms import FAULTS, LAG, LONGEST, OPT_IN, Crash, Dup, Jump, Order
from fakekube.simulation.observation import Commit, Delivery, Observation
from fakekube.simulation.plan import Plan
from fakekube.simulation.planning import Planner
from fakekube.simulation.realism import Facts, broken_rules

FACTS = Facts(frozenset({"store", "pod"}), lease=15.0, webhooks=True, releases=True)


class Trace:
    """Builds the record of a run, a change after the other: each a second later, unless `at` says so."""

    def __init__(self, *watched):
        self._watched, self._occurrences, self._objects = watched, Occurrences(), {}
        self.commits = []

    def add(self, actor, verb, target, content=None, *, at=None, revision=None, **more):
        """`content`: the object afterwards, without its name. A change of an external API has the last `revision`."""
        before = self._objects.get(target)
        after = None if verb == "delete" else {**(before or {}), **(content or {})}
        self._objects[target] = after
        fields = changed_fields(before or {}, after or {}) if verb == "update" else ()
        kind, _, place = target.partition("/")
        namespace, slash, name = place.rpartition("/")
        number = len(self.commits) + 1
        self.commits.append(
            Commit(
                revision or number, float(number) if at is None else at, self._occurrences.next(verb, target, fields),
                kind, namespace if slash else "default", name, actor, before=before, after=after, **more,
            )
        )  # fmt: skip
        return self

    def by(self, verb, target, content=None, **more):
        """A change of the operator."""
        return self.add("operator db", verb, target, content, **more)

    def test(self, verb, target, content=None, **more):
        return self.add("test", verb, target, content, **more)

    def observation(self, **more):
        deliveries = [Delivery(1, 1.0, kind, "operator db", 0) for kind in self._watched]
        return Observation(0, commits=self.commits, deliveries=deliveries, **more)

    def planned(self, *names, **settings):
        """The texts of the single plans of these names."""
        given = {"off": ("O8", "O9"), **settings}
        plans = Planner(self.observation(), faults=names, **given).singles()
        return [str(one).removeprefix("FK1 seed=0 ") for one in plans]


def spec(size):
    return {"spec": {"size": size}}


def status(size):
    return {"status": {"size": size}}


# --- down, paused, doubled: while the test changes something


def test_the_operator_is_down_after_the_writes_of_its_last_step_only():
    trace = Trace().test("create", "store/a", spec(1)).by("create", "cm/a").by("create", "cm/b")
    trace.test("update", "store/a", spec(2)).by("create", "cm/c").test("update", "store/a", spec(3))
    assert [one for one in trace.planned("crash") if one.startswith("down")] == [
        "down(until=update store/a{spec.size}#1)@create cm/b#1",
        "down(until=update store/a{spec.size}#1)@create cm/a#1",
        "down(until=update store/a{spec.size}#2)@create cm/c#1",
    ]


def test_changes_of_the_test_without_a_write_between_them_come_after_the_same_writes():
    trace = Trace().test("create", "store/a", spec(1)).by("create", "cm/a")
    trace.test("update", "store/a", spec(2)).test("create", "store/b")
    assert [one for one in trace.planned("crash") if one.startswith("down")] == [
        "down(until=update store/a{spec.size}#1)@create cm/a#1",
        "down(until=create store/b#1)@create cm/a#1",
    ]
    assert trace.planned("pause") == ["pause(until=update store/a{spec.size}#1)@create cm/a#1"]


@pytest.mark.parametrize("name", ["crash", "pause"])
def test_neither_records_nor_what_is_written_at_rest_count(name):
    trace = Trace().test("create", "store/a", spec(1)).by("create", "event/x").test("update", "store/a", spec(2))
    trace.by("update", "store/a", spec(3), rest=True).test("update", "store/a", spec(4), rest=True)
    assert trace.planned(name) == []


@pytest.mark.parametrize(
    ("seconds", "plans"),
    [
        (LONGEST, ["down(until=update store/a{spec.size}#1)@create cm/a#1", "crash@create cm/a#1"]),
        # an operator is not down for hours: it dies with the change itself
        (LONGEST + 1, ["crash@update store/a{spec.size}#1", "crash@create cm/a#1"]),
    ],
)
def test_a_change_that_comes_late(seconds, plans):
    trace = Trace().test("create", "store/a", spec(1)).by("create", "cm/a", at=2.0)
    trace.test("update", "store/a", spec(2), at=2.0 + seconds)
    assert trace.planned("crash") == plans


def test_a_change_before_the_operator_has_written_is_no_place_of_a_crash():
    assert Trace().test("create", "store/a").test("create", "store/b").planned("crash", "pause") == []


def surges(trace):
    return [one.removeprefix("surge") for one in trace.planned("surge")]


def test_a_second_replica_lives_until_the_last_answer_to_a_change():
    trace = Trace().test("create", "store/a", spec(1)).by("create", "cm/a").by("create", "cm/b")
    trace.test("update", "store/a", spec(2)).by("create", "cm/c").by("create", "cm/d").test("create", "store/b")
    assert surges(trace) == [
        "(until=create cm/d#1)@create cm/b#1",
        "(until=reconcile)@create cm/d#1",
        *(f"(until=reconcile)@create cm/{name}#1" for name in "abc"),
    ]


@pytest.mark.parametrize(("seconds", "until"), [(LONGEST, "create cm/d#1"), (LONGEST + 1, "create cm/c#1")])
def test_a_second_replica_lives_for_minutes_at_most(seconds, until):
    trace = Trace().by("create", "cm/a", at=1.0).test("create", "store/b").by("create", "cm/c")
    trace.by("create", "cm/d", at=1.0 + seconds)
    assert surges(trace)[0] == f"(until={until})@create cm/a#1"


def test_a_change_after_which_nothing_is_written_ends_no_replica():
    trace = Trace().by("create", "cm/a").test("create", "store/b").test("create", "store/c")
    assert surges(trace) == ["(until=reconcile)@create cm/a#1"]
    assert surges(Trace().by("create", "event/x").test("create", "store/b")) == []
    resting = Trace().by("create", "cm/a").by("create", "cm/b", rest=True).test("create", "store/b")
    assert surges(resting) == ["(until=reconcile)@create cm/a#1"]


def test_a_change_outside_of_the_cluster_ends_no_replica_by_what_was_written_before_it():
    trace = Trace().by("create", "cm/a").test("create", "external/b/x", revision=1)
    assert surges(trace) == ["(until=reconcile)@create cm/a#1"]


def test_an_operator_is_frozen_only_while_the_test_changes_something():
    trace = Trace().by("create", "cm/a").add("cluster", "create", "pod/a").test("create", "store/a")
    assert trace.planned("pause") == ["pause(until=create store/a#1)@create cm/a#1"]


def test_answers_of_writes_and_of_reads_are_late():
    trace = Trace().test("create", "store/a").by("create", "cm/a")
    reads = [Anchor("get", f"secret/{name}", (), 1) for name in ("a1", "a2", "a3", "a4")]
    plans = Planner(trace.observation(reads=reads), faults=["late"], off=("O8", "O9")).singles()
    assert [str(plan.atoms[0]) for plan in plans] == [
        f"late(until=rest)@{at}#1" for at in ("create cm/a", "get secret/a1", "get secret/a2", "get secret/a4")
    ]


# --- upgrades


def releases(old, **settings):
    new = Trace().test("create", "store/a", spec(1)).by("create", "cm/new").test("update", "store/a", spec(2))
    return new.planned("upgrade", "downgrade", old=old, **settings)


def old_release():
    trace = Trace().test("create", "store/a", spec(1)).test("update", "store/a", spec(2)).by("create", "event/x")
    trace.by("create", "cm/old").test("update", "store/a", spec(3)).test("create", "store/b")
    return trace.add("cluster", "create", "pod/x").by("create", "cm/rest", rest=True).observation()


UP = ["upgrade@create cm/old#1", "upgrade@update store/a{spec.size}#2"]
DOWN = ["downgrade@create cm/new#1", "downgrade@update store/a{spec.size}#1"]


def test_releases_change_after_writes_of_the_running_one_and_changes_of_the_test_after_the_first():
    assert releases(old_release()) == UP
    assert releases(old_release(), goes_back=True) == [UP[0], DOWN[0], UP[1], DOWN[1]]
    assert releases(None, goes_back=True) == []
    assert releases(Trace().test("create", "store/a").observation()) == []


# --- watches


def test_of_own_writes_those_to_watched_kinds_are_late():
    trace = Trace("cm").by("create", "cm/a").by("create", "secret/a").by("update", "cm/a", spec(1))
    assert trace.planned("hold") == [
        "hold(cm, create cm/a#1..reconcile)",
        "hold(cm, update cm/a{spec.size}#1..reconcile)",
    ]


@pytest.mark.parametrize(
    ("actor", "kind", "more", "is_late"),
    [
        ("test", "store", {}, True),
        ("cluster", "store", {}, True),
        ("client x", "store", {}, True),
        ("operator db", "store", {}, False),
        ("test", "store", {"rest": True}, False),
        ("test", "cm", {}, False),  # nobody watches it
        ("test", "lease", {}, False),
    ],
)
def test_what_others_write_to_watched_kinds_is_seen_late(actor, kind, more, is_late):
    trace = Trace("store", "lease").add(actor, "create", f"{kind}/a", spec(1), **more)
    late = [f"gap({kind}, create {kind}/a#1..rest)"] * is_late
    assert trace.planned("gap") == late


def answered(test_again, *answers):
    """The ends of holds of a watch from the first of two changes of the test on. An answer: what is written, and when."""
    trace = Trace("store").test("create", "store/a", spec(1), at=0.0).by("create", "cm/first", at=1.0)
    trace.test("update", "store/a", spec(2), at=100.0)
    for at in test_again:
        trace.test("create", f"cm/by-test-{at:.0f}", at=100.0 + at)
    for target, at in answers:
        trace.by("create", target, at=at)
    begin = "hold(store, update store/a{spec.size}#1.."
    ends = [one.removeprefix(begin)[:-1] for one in trace.planned("hold") if one.startswith(begin)]
    return [one for one in ends if one != "rest"]


@pytest.mark.parametrize(
    ("test_again", "answers", "ends"),
    [
        ([LAG], [("cm/x", 110.0), ("cm/y", 111.0)], ["create cm/y#1"]),
        ([1.0, LAG], [("cm/x", 110.0)], ["create cm/x#1"]),
        ([LAG], [("cm/x", 110.0), ("event/y", 111.0)], ["create cm/x#1"]),
        ([LAG], [("cm/x", 110.0), ("cm/y", 101.0 + LONGEST)], ["create cm/x#1"]),
        ([LAG + 1], [("cm/x", 110.0)], []),
        ([], [("cm/x", 110.0)], []),
        ([LAG], [], []),
    ],
)
def test_two_changes_at_once_may_both_be_seen_late(test_again, answers, ends):
    assert answered(test_again, *answers) == ends


def test_answers_to_a_later_change_are_not_those_to_two_at_once():
    trace = Trace("store").test("create", "store/a", spec(1)).test("update", "store/a", spec(2)).by("create", "cm/x")
    trace.test("update", "store/a", spec(3), at=100.0).by("create", "cm/y", at=101.0)
    first = "hold(store, create store/a#1..create cm/x#1)"
    assert first in trace.planned("hold")
    assert not [one for one in trace.planned("hold") if one.endswith("..create cm/y#1)")]


def test_an_item_of_an_external_api_that_is_made_after_a_later_change_is_no_answer_to_two_at_once():
    trace = Trace("store").test("create", "store/a", spec(1)).test("update", "store/a", spec(2)).by("create", "cm/x")
    trace.test("update", "store/a", spec(3), at=100.0).by("create", "external/b/x", revision=4)
    assert [one for one in trace.planned("hold") if one.startswith("hold(store, create store/a#1..create")] == [
        "hold(store, create store/a#1..create cm/x#1)"
    ]


def test_an_operator_that_is_seen_late_is_no_change_of_the_test():
    trace = Trace("store").add("cluster", "create", "store/a", spec(1)).test("update", "store/a", spec(2))
    assert not [one for one in trace.by("create", "cm/x").planned("hold") if "cm/x" in one]


def test_of_many_changes_that_are_undone_twelve_are_missed():
    trace = Trace("store")
    for number in range(15):
        trace.test("create", f"store/{'abcdefghijklmno'[number]}")
    for number in range(15):
        trace.test("delete", f"store/{'abcdefghijklmno'[number]}")
    missed = [one for one in trace.planned("gap") if not one.endswith("..rest)")]
    assert missed == [f"gap(store, create store/{name}#1..delete store/{name}#1)" for name in "abcdefghijkl"]


def test_a_change_is_undone_by_the_next_one_that_undoes_it():
    trace = Trace("store").test("create", "store/a").test("delete", "store/a").test("create", "store/a")
    trace.test("delete", "store/a").test("delete", "store/b", rest=True)
    missed = [one for one in trace.planned("gap") if not one.endswith("..rest)")]
    assert missed == [
        "gap(store, create store/a#1..delete store/a#1)",
        "gap(store, delete store/a#1..create store/a#2)",
        "gap(store, create store/a#2..delete store/a#2)",
    ]


@pytest.mark.parametrize(
    ("states", "is_undone"),
    [
        ([spec(1), spec(2), spec(1)], True),
        ([spec(1), spec(2), {**spec(1), "status": {"x": 1}}], True),
        ([{"data": {"k": "1"}}, {"data": {"k": "2"}}, {"data": {"k": "1"}}], True),
        ([spec(1), spec(2), spec(3)], False),
        # back to what was before, but by a change of another field
        ([{"spec": {"a": 1}}, {"spec": {"a": 2}}, {"spec": {"a": 2, "b": 1}}], False),
    ],
)
def test_an_update_is_undone_by_one_that_brings_the_content_back(states, is_undone):
    trace = Trace("store").test("create", "store/a", states[0])
    for one in states[1:]:
        trace.test("update", "store/a", one)
    assert any("..update" in one for one in trace.planned("gap")) is is_undone


# --- restarts on an old view


def stale(trace):
    return [one.removeprefix("stale").strip("()") for one in trace.planned("stale")]


def deletion(*, namespace="", key="default/a", owner="store", child="cm/b"):
    """The test changes an object, and its reconcile deletes another one."""
    prefix = f"{owner}/{namespace}/" if namespace else f"{owner}/"
    trace = Trace().test("create", f"{prefix}a", spec(1)).by("create", child).test("update", f"{prefix}a", spec(2))
    return trace.by("delete", child, key=key)


GOING, MARK = {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}, "metadata.deletionTimestamp"

REASON = "at=update store/a{spec.size}#1"


def test_a_deletion_is_repeated_on_the_view_that_led_to_it_after_each_of_the_next_changes():
    trace = deletion().test("update", "store/a", spec(3)).by("create", "cm/b").test("update", "store/a", spec(4))
    trace.by("update", "store/a", status(4)).by("update", "store/a", status(5)).test("create", "store/z")
    assert stale(trace) == [
        f"store, {REASON}, when=update store/a{{spec.size}}#2",
        f"store, {REASON}, when=create cm/b#2",  # what was deleted is there again
        f"store, {REASON}, when=update store/a{{spec.size}}#3",
        f"store, {REASON}, when=update store/a{{status.size}}#1",
    ]


@pytest.mark.parametrize(
    ("changes", "repeated"),
    [
        ({}, True),
        ({"namespace": "prod", "key": "prod/a"}, True),
        ({"namespace": "prod", "key": "default/a"}, False),
        ({"key": "a"}, False),
        ({"key": ""}, False),
        ({"key": "default/z"}, False),
        ({"owner": "cm", "child": "cm/b"}, False),  # its own kind is no reason
    ],
)
def test_the_reason_is_an_object_of_the_key_of_the_reconcile(changes, repeated):
    trace = deletion(**changes)
    owner, namespace = changes.get("owner", "store"), changes.get("namespace", "")
    trace.test("update", f"{owner}/{namespace}/a" if namespace else f"{owner}/a", spec(3))
    assert bool(stale(trace)) is repeated


@pytest.mark.parametrize(("seconds", "repeated"), [(LONGEST, True), (LONGEST + 1, False)])
def test_a_view_is_minutes_old_at_most(seconds, repeated):
    trace = deletion()
    assert bool(stale(trace.test("update", "store/a", spec(3), at=3.0 + seconds))) is repeated
    undone = Trace("store").test("create", "store/a", at=3.0).by("delete", "store/a", at=3.0 + seconds)
    assert bool(stale(undone)) is repeated
    changed = Trace("store").test("create", "store/a", spec(1), at=3.0)
    assert bool(stale(changed.test("update", "store/a", spec(2), at=3.0 + seconds))) is repeated
    marked = Trace("store").add("cluster", "create", "store/a", at=1.0)
    marked.add("cluster", "update", "store/a", GOING, at=3.0).add("cluster", "delete", "store/a", at=3.0 + seconds)
    view = f"store, at=update store/a{{{MARK}}}#1, when=delete store/a#1"
    assert (view in stale(marked)) is repeated


def test_only_what_is_deleted_is_repeated():
    trace = Trace().test("create", "store/a", spec(1)).by("create", "cm/b", key="default/a")
    trace.by("update", "cm/b", spec(2), key="default/a").test("update", "store/a", spec(3))
    assert stale(trace) == []


def test_an_item_of_an_external_api_is_removed_for_the_change_right_before_it():
    trace = Trace().test("create", "store/a", spec(1)).test("update", "store/a", spec(2))
    trace.by("delete", "external/b/x", revision=2, key="default/a").test("update", "store/a", spec(3))
    assert stale(trace) == [f"store, {REASON}, when=update store/a{{spec.size}}#2"]


@pytest.mark.parametrize("rest", [True, False])
def test_neither_a_deletion_nor_a_change_at_rest_counts(rest):
    trace = deletion().test("update", "store/a", spec(3), rest=rest)
    assert bool(stale(trace)) is not rest


def test_before_a_change_of_the_test_is_a_view_for_the_change_and_its_answers():
    trace = Trace("store").test("create", "store/a", spec(1)).by("update", "store/a", status(1))
    trace.test("update", "store/a", spec(2)).by("create", "cm/x").by("create", "cm/y").by("create", "cm/z")
    trace.test("update", "store/a", spec(3)).by("create", "cm/late").test("create", "store/other")
    trace.by("create", "cm/later")
    first = "store, at=update store/a{status.size}#1, when="
    second = "store, at=update store/a{spec.size}#1, when="
    assert stale(trace) == [
        f"{first}update store/a{{spec.size}}#1",
        f"{first}create cm/x#1",
        f"{first}create cm/z#1",
        f"{second}update store/a{{spec.size}}#2",
        f"{second}create cm/late#1",
    ]
    unseen = Trace("cm").test("create", "store/a", spec(1)).test("update", "store/a", spec(2)).by("create", "cm/x")
    assert stale(unseen) == []


@pytest.mark.parametrize(
    ("again", "answers", "when"),
    [
        (False, "", []),
        (False, "x", ["x"]),
        (False, "xy", ["x", "y"]),
        (False, "xyz", ["x", "z"]),
        (True, "xyz", ["x", "z"]),
        (True, "", []),
    ],
)
def test_an_object_that_is_marked_as_deleted_is_a_view_for_its_end_its_return_and_the_first_and_last_answer(
    again, answers, when
):
    trace = Trace("store").add("cluster", "create", "store/a").add("cluster", "update", "store/a", GOING)
    trace.by("create", "cm/before").by("delete", "store/a")
    if again:
        trace.by("create", "cm/between").add("cluster", "create", "store/a")
    for name in answers:
        trace.by("create", f"cm/{name}")
    view = f"store, at=update store/a{{{MARK}}}#1, when="
    assert [one.removeprefix(view) for one in stale(trace) if one.startswith(view)] == [
        "delete store/a#1", *["create store/a#2"] * again, *(f"create cm/{name}#1" for name in when)
    ]  # fmt: skip


# --- all families together


NAMES = (*FAULTS, *OPT_IN)

steps = st.lists(
    st.tuples(
        st.sampled_from(["test", "operator db", "cluster"]),
        st.sampled_from(["store/a", "store/prod/b", "pod/a", "lease/x"]),
        st.sampled_from(["write", "delete"]),
        st.integers(1, 2),
        st.floats(0, 200),
    ),
    max_size=12,
)


def traced(found):
    trace, present, now = Trace("store", "pod"), set(), 0.0
    for actor, target, what, size, seconds in found:
        now += seconds
        key = "default/a" if actor.startswith("operator") else ""
        if what == "delete" and target in present:
            present.remove(target)
            trace.add(actor, "delete", target, at=now, key=key)
        elif what == "write":
            trace.add(actor, "update" if target in present else "create", target, spec(size), at=now, key=key)
            present.add(target)
    return trace


@given(steps)
def test_what_is_planned_is_legal_and_each_plan_is_planned_once(found):
    trace = traced(found)
    planner = Planner(
        trace.observation(), faults=NAMES, has_election=True, has_webhooks=True, old=trace.observation(), goes_back=True
    )
    plans = planner.singles()
    assert len(set(plans)) == len(plans)
    assert [broken for plan in plans for broken in broken_rules(plan, FACTS)] == []
    anchors = {str(one.anchor) for one in trace.commits}
    for plan in plans:
        (atom,) = plan.atoms
        ends = [getattr(atom, name, None) for name in ("at", "since", "when", "until")]
        assert {str(one) for one in ends if one not in (None, "reconcile", "rest")} <= anchors
        assert atom.name in {*NAMES, "fresh", "rollback"}


@given(steps, st.sampled_from(NAMES))
def test_the_plans_of_one_name_are_those_of_all_names_with_that_name(found, name):
    trace = traced(found)
    settings = {"has_election": True, "has_webhooks": True, "off": ("O8", "O9")}
    settings |= {"old": trace.observation(), "goes_back": True}
    every = Planner(trace.observation(), faults=NAMES, **settings).singles()
    alone = Planner(trace.observation(), faults=[name], **settings).singles()
    assert alone == [one for one in every if one.atoms[0].name == name]


@given(steps, st.integers(0, 5))
def test_pairs_are_of_all_that_are_clean_alone_and_orders_have_seeds_of_their_own(found, seed):
    planner = Planner(traced(found).observation(), seed=seed, faults=["crash", "jump", "order"])
    singles = planner.singles()
    anchored = [one.atoms[0] for one in singles if isinstance(one.atoms[0], Crash | Jump)]
    pairs = [frozenset(one.atoms) for one in planner.pairs(singles)]
    assert len(set(pairs)) == len(pairs)
    assert set(pairs) == {
        frozenset({first, second})
        for first in anchored
        for second in anchored
        if first.at != second.at or first.name != second.name
    }
    orders = list(islice(planner.orders(), 6))
    assert [one.seed for one in orders] == [seed + number for number in range(1, 7)]
    assert all(one.atoms[0] == Order() for one in orders)
    assert {one.seed for one in [*singles, *planner.pairs(singles)]} <= {seed}


def test_the_order_of_pairs_is_drawn_from_the_seed():
    """So that shards and replays have one order, and not always the same pairs are within the budget."""
    trace = Trace()
    for name in "abcdef":
        trace.by("create", f"cm/{name}")
    planner = [Planner(trace.observation(), seed=seed, faults=["crash"]) for seed in (0, 0, 1, 2)]
    singles = planner[0].singles()
    orders = [tuple(one.atoms for one in each.pairs(singles)) for each in planner]
    assert orders[0] == orders[1]
    assert len(set(orders)) == 3
    assert {frozenset(each) for each in orders} == {frozenset(orders[0])}


def test_a_run_in_which_nothing_happens_can_only_be_reconciled_once_more():
    planner = Planner(Observation(0), faults=NAMES)
    assert (planner.whole(), planner.together(), planner.singles()) == ([Plan(0, (Dup(),))], [], [])


# --- the first look at many places


def looks(trace, *names, reads=(), **settings):
    plans = Planner(trace.observation(reads=reads), faults=names, **settings).together()
    return [str(one).removeprefix("FK1 seed=0 ") for one in plans]


def test_all_places_of_one_family_are_tried_in_one_run():
    trace = Trace("cm").test("create", "store/a").by("create", "cm/a").by("update", "cm/a", spec(1))
    trace.by("update", "cm/a", spec(2)).by("create", "external/b/x", revision=4)
    first, second, third = "create cm/a#1", "update cm/a{spec.size}#1", "update cm/a{spec.size}#2"
    outside = "create external/b/x#1"
    assert looks(trace, "crash") == [" + ".join(f"crash@{at}" for at in (first, second, third, outside))]
    assert looks(trace, "race") == [f"race(annotate)@{second} + race(annotate)@{third}"]
    assert looks(trace, "lost") == [f"lost(504)@{first} + lost(reset)@{second} + lost(504)@{third}"]
    assert looks(trace, "hook") == []
    assert looks(trace, "hook", has_webhooks=True) == [
        " + ".join(f"hook(timeout)@{at}" for at in (first, second, third))
    ]
    # what would hide each other is tried alone
    assert looks(trace, "zombie", has_election=True) == []
    assert looks(trace, "hold", "gap", "stale", "pause", "jump", "surge", "upgrade") == []


def test_of_reads_of_one_place_the_last_one_fails():
    trace = Trace().by("create", "cm/a").by("create", "cm/b")
    reads = [Anchor("get", name, (), number) for name in ("cm/x", "cm/y") for number in (1, 2)]
    assert looks(trace, "error", reads=reads) == [
        "error(503, 1)@create cm/a#1 + error(503, 1)@create cm/b#1",
        "error(503, 1)@get cm/x#2 + error(503, 1)@get cm/y#2",
    ]
    assert looks(trace, "late", reads=reads) == [
        " + ".join(f"late(until=rest)@{at}" for at in ("create cm/a#1", "create cm/b#1", "get cm/x#1", "get cm/x#2", "get cm/y#1", "get cm/y#2"))
    ]  # fmt: skip


def test_a_single_place_needs_no_first_look():
    assert looks(Trace().by("create", "cm/a"), *NAMES) == []
    assert looks(Trace().by("create", "cm/a").by("create", "cm/b"), "crash", "lost")[0].count("crash") == 2


@pytest.mark.slow
@given(steps)
def test_first_looks_are_legal_and_of_atoms_that_are_planned_alone_too(found):
    trace = traced(found)
    planner = Planner(trace.observation(), faults=NAMES, has_election=True, has_webhooks=True)
    alone = {atom for plan in planner.singles() for atom in plan.atoms}
    for plan in planner.together():
        assert list(broken_rules(plan, FACTS)) == []
        assert set(plan.atoms) <= alone
        assert len(plan.atoms) == len(set(plan.atoms)) > 1
        assert len({atom.name for atom in plan.atoms}) == 1
