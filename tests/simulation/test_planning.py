"""The plans that a record of a run gives rise to, family by family."""

from itertools import islice

import pytest

from fakekube.simulation.anchor import Anchor, changed_fields
from fakekube.simulation.atoms import LAG, LONGEST, Crash, Dup, Failure, Fresh, Hold, Lost, Order, Rollback
from fakekube.simulation.observation import Commit, Delivery, Observation
from fakekube.simulation.plan import Plan
from fakekube.simulation.planning import Planner

OPERATOR = "operator db"


def commit(revision, verb, target, actor=OPERATOR, before=None, after=None, at=None, occurrence=1, **more):
    kind, _, name = target.partition("/")
    fields = changed_fields(before or {}, after or {}) if verb == "update" else ()
    anchor = Anchor(verb, target, fields, occurrence)
    when = float(revision) if at is None else at
    return Commit(revision, when, anchor, kind, "default", name, actor, before=before, after=after, **more)


def observed(*commits, watched=(), **more):
    deliveries = [Delivery(1, 1.0, kind, OPERATOR, 0) for kind in watched]
    return Observation(0, commits=commits, deliveries=deliveries, **more)


def planned(observation, *names, **settings):
    """The texts of the single plans with these atoms, in their order."""
    return texts_of(Planner(observation, faults=names, **{"off": ("O8", "O9"), **settings}).singles())


def texts_of(plans):
    return [str(plan).removeprefix("FK1 seed=0 ") for plan in plans]


MADE = commit(1, "create", "store/a", "test", after={"spec": {"size": 1}})
CHILD = commit(2, "create", "cm/a", key="default/a")
STATUS = commit(3, "update", "store/a", before={"status": {"size": 0}}, after={"status": {"size": 1}})


@pytest.mark.parametrize(
    ("observation", "names", "plans"),
    [
        (observed(MADE, CHILD, STATUS), ["crash"], ["crash@create cm/a#1", "crash@update store/a{status.size}#1"]),
        # the way in which answers are lost alternates
        (
            observed(MADE, CHILD, STATUS, commit(4, "delete", "cm/a")),
            ["lost"],
            ["lost(504)@create cm/a#1", "lost(reset)@update store/a{status.size}#1", "lost(504)@delete cm/a#1"],
        ),
        # only the watch of a kind that is watched can be late
        (
            observed(MADE, CHILD, STATUS, watched=["cm"]),
            ["hold"],
            ["hold(cm, create cm/a#1..reconcile)"],
        ),
        (observed(MADE, CHILD, STATUS), ["race"], ["race(annotate)@update store/a{status.size}#1"]),
        (observed(MADE, CHILD, STATUS), ["jump"], ["jump(5)@create cm/a#1", "jump(5)@update store/a{status.size}#1"]),
        # reads fail as well as writes, with one code after the other
        (
            observed(MADE, CHILD, reads=[Anchor("get", "secret/s", (), 1)]),
            ["error"],
            [f"error({code}, 1)@{at}" for code in (503, 500, 504) for at in ("get secret/s#1", "create cm/a#1")],
        ),
        # an item of an external API can only be followed by a crash: the server has no part in it
        (observed(commit(1, "create", "external/bucket")), ["crash"], ["crash@create external/bucket#1"]),
        (observed(commit(1, "create", "external/bucket")), ["lost", "error", "jump", "race", "hold"], []),
        # records are not compared, and what is written at rest or by the test is no write of an operator
        (observed(commit(1, "create", "event/a"), MADE, commit(3, "create", "cm/a", rest=True)), ["crash"], []),
    ],
)
def test_atoms_at_the_writes_of_operators(observation, names, plans):
    assert planned(observation, *names) == plans


def test_of_many_anchors_of_one_signature_the_first_two_and_the_last_are_taken():
    pods = [commit(number, "create", f"pod/a-{number}") for number in range(1, 7)]
    assert planned(observed(*pods, CHILD), "crash") == [
        "crash@create pod/a-1#1", "crash@create pod/a-2#1", "crash@create pod/a-6#1", "crash@create cm/a#1",
    ]  # fmt: skip
    reads = [Anchor("get", f"pod/a-{number}", (), 1) for number in (1, 1, 2, 3, 4)]
    found = planned(observed(reads=reads), "error")[:3]
    assert found == [f"error(503, 1)@get pod/a-{number}#1" for number in (1, 2, 4)]
    two = planned(observed(reads=reads[:3]), "error")
    assert two[:2] == ["error(503, 1)@get pod/a-1#1", "error(503, 1)@get pod/a-2#1"]
    assert len(two) == 6


def test_the_families_take_turns():
    names = [plan.partition("@")[0] for plan in planned(observed(MADE, CHILD, STATUS), "crash", "lost", "jump")]
    assert names == ["crash", "lost(504)", "jump(5)", "crash", "lost(reset)", "jump(5)"]


@pytest.mark.parametrize(
    ("option", "name", "text"), [("has_election", "zombie", "zombie"), ("has_webhooks", "hook", "hook(timeout)")]
)
def test_atoms_that_need_something_of_the_test(option, name, text):
    assert planned(observed(CHILD), name) == []
    assert planned(observed(CHILD), name, **{option: True}) == [f"{text}@create cm/a#1"]


def test_a_late_leader_first_removes_and_overwrites_what_the_other_has_made():
    plans = planned(observed(MADE, CHILD, STATUS, commit(4, "delete", "cm/b")), "zombie", has_election=True)
    assert plans == [f"zombie@{at}" for at in ("delete cm/b#1", STATUS.anchor, CHILD.anchor)]


RESIZED = commit(4, "update", "store/a", "test", before={"spec": {"size": 1}}, after={"spec": {"size": 2}})


class TestWhileTheTestChangesSomething:
    def test_the_operator_is_down_from_one_of_its_last_writes(self):
        made = [commit(number, "create", f"cm/x{number}", at=10.0) for number in range(2, 10)]
        change = commit(20, "update", "store/a", "test", before={"a": 1}, after={"a": 2}, at=12.0)
        found = [plan for plan in planned(observed(MADE, *made, change), "crash") if "until" in plan or "down" in plan]
        assert found == [f"down(until=update store/a{{a}}#1)@create cm/x{number}#1" for number in (9, 8, 7, 6, 5, 4)]

    def test_it_dies_right_after_a_change_that_comes_long_after_its_writes(self):
        late = commit(9, "update", "store/a", "test", before={"a": 1}, after={"a": 2}, at=10 + LONGEST)
        assert "crash@update store/a{a}#1" in planned(observed(MADE, CHILD, late), "crash")
        assert "crash@update store/a{spec.size}#1" not in planned(observed(MADE, CHILD, RESIZED), "crash")

    @pytest.mark.parametrize(
        ("writes", "seconds", "pauses"),
        [
            ([2], LONGEST, ["2"]),
            ([2], LONGEST + 1, []),
            ([2, 3], 10, ["3", "2"]),
            ([2, 3, 4], 10, ["4", "3"]),  # after the last two writes
        ],
    )
    def test_it_is_frozen_after_one_of_its_last_two_writes(self, writes, seconds, pauses):
        made = [commit(number, "create", f"cm/x{number}", at=10.0) for number in writes]
        change = commit(9, "update", "store/a", "test", before={"a": 1}, after={"a": 2}, at=10.0 + seconds)
        found = planned(observed(MADE, *made, change), "pause")
        assert found == [f"pause(until=update store/a{{a}}#1)@create cm/x{number}#1" for number in pauses]

    def test_what_is_written_after_the_change_is_not_before_it(self):
        again = commit(5, "update", "store/a", "test", before={"spec": {"size": 2}}, after={"spec": {"size": 3}})
        assert len(planned(observed(MADE, CHILD, RESIZED, again), "pause")) == 1
        assert planned(observed(MADE, commit(2, "create", "cm/a", rest=True), RESIZED), "pause") == []


class TestNotificationsThatAreUndone:
    UP = commit(4, "update", "store/a", "test", before={"spec": {"size": 1}}, after={"spec": {"size": 2}})
    BACK = commit(6, "update", "store/a", "test", before={"spec": {"size": 2}}, after={"spec": {"size": 1}})
    OTHER = commit(6, "update", "store/a", "test", before={"spec": {"size": 2}}, after={"spec": {"size": 3}})
    FIELD = commit(6, "update", "store/a", "test", before={"spec": {"x": 2}}, after={"spec": {"x": 1}})
    BESIDE = commit(6, "update", "store/b", "test", before={"spec": {"size": 2}}, after={"spec": {"size": 1}})

    @pytest.mark.parametrize(
        ("second", "undone"), [(BACK, True), (OTHER, False), (FIELD, False), (BESIDE, False)]
    )  # fmt: skip
    def test_a_value_that_is_set_back(self, second, undone):
        found = planned(observed(self.UP, second, watched=["store"]), "gap", "stale")
        between = "store, update store/a{spec.size}#1..update"
        assert any(plan.startswith(f"gap({between}") for plan in found) == undone

    @pytest.mark.parametrize("verbs", [("create", "delete"), ("delete", "create")])
    def test_an_object_that_comes_and_goes(self, verbs):
        first, second = (commit(number, verb, "store/a", "test") for number, verb in enumerate(verbs, 1))
        texts = [f"{verb} store/a#1" for verb in verbs]
        found = planned(observed(first, second, watched=["store"]), "gap")
        assert found[0] == f"gap(store, {texts[0]}..{texts[1]})"
        assert found[1:] == [f"gap(store, {text}..rest)" for text in texts]
        assert f"stale(store, at={texts[0]}, when={texts[1]})" in planned(
            observed(first, second, watched=["store"]), "stale"
        )

    def test_an_update_and_a_deletion_undo_nothing(self):
        gone = commit(9, "delete", "store/a", "test")
        assert planned(observed(self.UP, gone, watched=["store"]), "gap") == [
            "gap(store, update store/a{spec.size}#1..rest)", "gap(store, delete store/a#1..rest)",
        ]  # fmt: skip

    @pytest.mark.parametrize(("seconds", "found"), [(LONGEST, True), (LONGEST + 1, False)])
    def test_what_takes_longer_than_an_atom_lasts_is_left_out(self, seconds, found):
        late = commit(6, "delete", "store/a", "test", at=1 + seconds)
        made = commit(1, "create", "store/a", "test", at=1.0)
        between = "gap(store, create store/a#1..delete store/a#1)"
        assert (between in planned(observed(made, late, watched=["store"]), "gap")) == found

    def test_what_is_not_watched_cannot_be_missed(self):
        assert planned(observed(self.UP, self.BACK, watched=["pod"]), "gap", "stale") == []


@pytest.mark.parametrize(
    ("test_again", "answered_at", "until"),
    [
        (LAG, 20.0, "update cm/a{x}#1"),
        (LAG + 1, 20.0, None),  # what the test does so late, it may have seen something for
        (LAG, 10 + LONGEST, "update cm/a{x}#1"),
        (LAG, 11 + LONGEST, None),
    ],
)
def test_a_watch_is_late_until_the_last_answer_to_two_changes_at_once(test_again, answered_at, until):
    first = commit(2, "update", "store/a", "test", before={"s": 1}, after={"s": 2}, at=10.0)
    second = commit(3, "update", "store/a", "test", before={"t": 1}, after={"t": 2}, at=10.0 + test_again)
    answer = commit(4, "update", "cm/a", before={"x": 1}, after={"x": 2}, at=answered_at)
    found = planned(observed(first, second, answer, watched=["store"]), "hold")
    expected = f"hold(store, update store/a{{s}}#1..{until})"
    assert (expected in found) == (until is not None)
    assert "hold(store, update store/a{s}#1..rest)" in found


def test_a_deletion_is_made_again_from_the_state_that_led_to_it():
    reason = commit(1, "update", "store/a", "test", before={"s": 1}, after={"s": 2})
    deletion = commit(2, "delete", "cm/a", key="default/a")
    later = commit(3, "update", "store/a", before={"t": 1}, after={"t": 2})
    found = planned(observed(reason, deletion, later, watched=[]), "stale")
    assert found == ["stale(store, at=update store/a{s}#1, when=update store/a{t}#1)"]
    unknown = commit(2, "delete", "cm/a")
    assert planned(observed(reason, unknown, later), "stale") == []


GOING = {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}
KEPT = {"metadata": {"finalizers": ["a/b"]}}


def test_a_deletion_that_is_an_update_is_made_again_from_the_state_that_led_to_it():
    reason = commit(1, "update", "store/a", "test", before={"s": 1}, after={"s": 2})
    deletion = commit(2, "update", "pvc/a", before={}, after=GOING, key="default/a")
    later = commit(3, "update", "store/a", before={"t": 1}, after={"t": 2})
    found = planned(observed(reason, deletion, later, watched=[]), "stale")
    assert found == ["stale(store, at=update store/a{s}#1, when=update store/a{t}#1)"]


def test_a_restart_reads_an_object_as_it_was_marked_as_deleted():
    marked = commit(
        2, "update", "store/a", "test", before=KEPT, after={"metadata": {**KEPT["metadata"], **GOING["metadata"]}}
    )
    gone = commit(3, "delete", "store/a", before=GOING)
    again = commit(4, "create", "store/a", "test", after=KEPT, occurrence=2)
    answers = [commit(5, "create", "pod/a"), commit(6, "create", "pod/b"), commit(7, "create", "pod/c")]
    found = planned(observed(MADE, marked, gone, again, *answers, watched=["store"]), "stale")
    at = f"stale(store, at={marked.anchor}, when="
    assert [one.removeprefix(at)[:-1] for one in found if one.startswith(at)] == [
        "delete store/a#1",
        "create store/a#2",
        "create pod/a#1",
        "create pod/c#1",
    ]
    assert f"stale(store, at=create store/a#1, when={marked.anchor})" in found


class TestConvergence:
    CHANGED = observed(MADE, CHILD, RESIZED, rests=[2])

    def test_fresh_and_rollback_are_first(self):
        plans = Planner(self.CHANGED).whole()
        assert [plan.atoms[0] for plan in plans] == [Fresh(), Rollback(), Dup()]

    @pytest.mark.parametrize(("off", "left"), [("O8", [Rollback()]), ("O9", [Fresh()])])
    def test_each_can_be_switched_off(self, off, left):
        assert [
            plan.atoms[0] for plan in Planner(self.CHANGED, faults=["fresh", "rollback"], off=[off]).whole()
        ] == left

    def test_a_test_that_changes_nothing_has_neither(self):
        assert Planner(observed(MADE, CHILD, rests=[2]), faults=["fresh", "rollback"]).whole() == []


class TestManyPlacesAtOnce:
    """Plans with a whole family in one run."""

    READS = [Anchor("get", "secret/s", (), number) for number in (1, 2, 3)] + [Anchor("list", "pod", (), 1)]

    def test_the_families_in_their_order(self):
        seen = observed(MADE, CHILD, STATUS, reads=self.READS)
        made, status = CHILD.anchor, STATUS.anchor
        assert texts_of(Planner(seen, has_election=True, has_webhooks=True).together()) == [
            f"crash@{made} + crash@{status}",
            f"hook(timeout)@{made} + hook(timeout)@{status}",
            f"error(503, 1)@{made} + error(503, 1)@{status}",
            f"lost(504)@{made} + lost(reset)@{status}",
            # when the reads before it fail, too, the last one of an object would be made by another reconcile
            "error(503, 1)@get secret/s#3 + error(503, 1)@list pod#1",
            " + ".join(
                f"late(until=rest)@{at}"
                for at in [made, status, *(f"get secret/s#{number}" for number in (1, 2, 3)), "list pod#1"]
            ),
        ]

    def test_calls_of_outside_apis(self):
        calls = [Anchor("call", f"external/mail.{name}", (), 1) for name in ("send", "check")]
        plans = texts_of(Planner(observed(calls=[(calls[0], True), (calls[1], True)])).together())
        assert plans == [
            " + ".join(f"{fault}@{call}" for call in calls)
            for fault in ("error(503, 1)", "lost(reset)", "late(until=rest)")
        ]

    def test_one_atom_of_a_family_is_tried_alone_at_once(self):
        assert Planner(observed(MADE, CHILD), faults=["crash", "lost"]).together() == []
        assert Planner(observed(MADE, CHILD, STATUS), faults=["race"]).together() == []

    def test_only_the_faults_that_may_be_used(self):
        plans = Planner(observed(MADE, CHILD, STATUS), faults=["lost"]).together()
        assert [{atom.name for atom in plan.atoms} for plan in plans] == [{"lost"}]

    def test_an_operator_is_not_down_nor_late_nor_replaced_twice(self):
        again = commit(6, "update", "cm/a", before={"x": 1}, after={"x": 2})
        seen = observed(MADE, CHILD, RESIZED, again, watched=["store", "cm"])
        names = {
            atom.name
            for plan in Planner(seen, old=seen, goes_back=True, has_election=True).together()
            for atom in plan.atoms
        }
        assert names.isdisjoint({"zombie", "down", "pause", "upgrade", "downgrade", "surge", "hold", "gap", "stale"})


class TestOrders:
    def test_each_has_a_seed_of_its_own_and_every_second_one_a_crash_in_turn(self):
        orders = islice(Planner(observed(MADE, CHILD, STATUS), seed=7).orders(), 6)
        first, second = Crash(CHILD.anchor), Crash(STATUS.anchor)
        assert list(orders) == [
            Plan(8, (Order(),)),
            Plan(9, (Order(), second)),
            Plan(10, (Order(),)),
            Plan(11, (Order(), first)),
            Plan(12, (Order(),)),
            Plan(13, (Order(), second)),
        ]

    def test_without_crashes(self):
        orders = islice(Planner(observed(MADE, CHILD), faults=["order"]).orders(), 2)
        assert [plan.atoms for plan in orders] == [(Order(),), (Order(),)]

    def test_only_if_the_order_may_change(self):
        assert list(Planner(observed(MADE, CHILD), faults=["crash"]).orders()) == []


def test_pairs_are_of_different_atoms_or_places_and_whole_runs_stand_alone():
    here, there = CHILD.anchor, STATUS.anchor
    atoms = [Crash(here), Crash(here, there), Lost(here, "504"), Crash(there), Hold("cm", here, "rest"), Dup(), Fresh()]
    clean = [Plan(0, (atom,)) for atom in atoms] + [Plan(0, (Failure(here, 503), Failure(there, 503)))]
    planner = Planner(observed(MADE, CHILD), seed=5)
    pairs = list(planner.pairs(clean))
    found = {frozenset(plan.atoms) for plan in pairs}
    assert {plan.seed for plan in pairs} == {5}
    assert frozenset({Crash(here), Lost(here, "504")}) in found
    assert frozenset({Crash(here), Crash(there)}) in found
    assert frozenset({Crash(here), Crash(here, there)}) not in found, "the same family at the same place"
    assert not any(isinstance(atom, Fresh) for pair in found for atom in pair)
    assert not any(isinstance(atom, Failure) for pair in found for atom in pair)
    assert pairs == list(planner.pairs(clean)), "the order is drawn from the seed"
    assert pairs != list(Planner(observed(MADE, CHILD), seed=6).pairs(clean))


@pytest.mark.parametrize(
    ("observation", "has"),
    [
        (observed(MADE), False),
        (observed(CHILD), True),
        (observed(reads=[CHILD.anchor]), True),
        (observed(watched=["store"]), True),
    ],
)
def test_whether_there_is_anything_to_disturb(observation, has):
    assert Planner(observation).has_anchors is has
