"""Each atom takes effect where its anchor is reached, is not exercised where it is not, and replays to the byte."""

import re
from datetime import datetime, timedelta

import pytest

from fakekube.simulation.plan import parse_plan
from fakekube.simulation.realism import IllegalPlan, check_legal
from tests.simulation.samples import SAMPLES
from tests.simulation.samples.definitions import API, child, custom, definition, find
from tests.simulation.storeoperator import facts, listing, ran, scenario, violations


def by_operator(observed):
    """The changes of operators while the test runs: the incarnation, and the anchor."""
    return [(one.incarnation, re.split("[{#]", str(one.anchor))[0]) for one in observed.by_operators()]


def errors(observed):
    return [one.error for one in observed.reconciles if one.error]


def times(observed, anchor):
    return [one.at for one in observed.commits if str(one.anchor) == anchor]


RESIZED = "update cm/a{data.size}#1"
PATCHED = "update store/a{spec.size}#1"

#: An atom of each form, anchored at a change of the scenario; and the same, at a change that it does not have.
ATOMS = [
    "crash@create cm/{}#1",
    "down(until=rest)@create cm/{}#1",
    "lost(504)@create secret/{}#1",
    "lost(reset)@create secret/{}#1",
    "hold(store, create store/{}#1..rest)",
    "gap(store, create store/{}#1..rest)",
    "stale(store, at=create store/{0}#1, when=update store/{0}{{spec.size}}#1)",
    "error(503, 2)@create secret/{}#1",
    "error(500, 1)@get cm/{}#2",
    "race(annotate)@update cm/{}{{data.size}}#1",
    "pause(until=rest)@create cm/{}#1",
    "jump(3600)@create cm/{}#1",
]


@pytest.mark.parametrize("atom", ATOMS)
def test_an_atom_takes_effect_where_its_anchor_is_reached(atom):
    observed, _ = ran(atom.format("a"))
    assert (observed.fired, observed.failure, observed.unsettled) == ((0,), "", "")


@pytest.mark.parametrize("atom", ATOMS)
def test_an_atom_whose_anchor_is_not_reached_changes_nothing(atom):
    observed, log = ran(atom.format("other"))
    assert observed.fired == ()
    assert log == ran("")[1]


def test_the_atoms_that_take_effect_are_numbered():
    observed, _ = ran("crash@create cm/other#1 + crash@create cm/a#1")
    assert observed.fired == (1,)


# --- what an atom does


def test_a_crash_comes_after_the_write_and_another_incarnation_goes_on():
    observed, _ = ran("crash@create cm/a#1")
    assert by_operator(observed)[:3] == [(1, "create cm/a"), (2, "create secret/a"), (2, "update store/a")]


def test_an_operator_that_is_down_starts_when_the_change_has_come():
    observed, _ = ran(f"down(until={PATCHED})@create cm/a#1")
    assert times(observed, "create cm/a#1") == [0]
    assert times(observed, "create secret/a#1") == [60]
    assert {one.started for one in observed.reconciles if one.incarnation == 2} >= {60}


@pytest.mark.parametrize(
    ("how", "error"),
    [
        ("504", "ApiError: the server was unable to return a response in the time allotted"),
        ("reset", "ConnectionReset"),
    ],
)
def test_a_lost_answer_is_that_of_a_write_that_is_stored(how, error):
    observed, _ = ran(f"lost({how})@create secret/a#1")
    assert by_operator(observed)[:3] == [(1, "create cm/a"), (1, "create secret/a"), (1, "update store/a")]
    assert len(errors(observed)) == 1
    assert errors(observed)[0].startswith(error)


def test_a_held_watch_delivers_nothing_until_it_is_released():
    late, _ = ran(f"hold(store, create store/a#1..{PATCHED})")
    usual, _ = ran("")
    assert next(one.at for one in usual.deliveries if one.kind == "store") == 0
    assert {one.at for one in late.deliveries if one.kind == "store"} == {60}
    assert times(late, "create cm/a#1") == [60]


def test_the_watch_of_another_kind_is_not_held():
    observed, _ = ran("hold(cm, create cm/a#1..rest)")
    assert next(one.at for one in observed.deliveries if one.kind == "store") == 0


def lists_of_stores(atoms):
    """How many lists of stores operators make."""
    found = []

    def counting(kube):
        listing(kube)
        found.extend(one for one in kube.requests() if (one.verb, one.resource) == ("list", "stores"))

    ran(atoms, counting)
    return len(found)


def test_after_a_gap_the_informer_lists_again():
    gap = f"gap(store, {PATCHED}..rest)"
    assert (lists_of_stores(""), lists_of_stores(gap)) == (1, 2)
    observed, _ = ran(gap, listing)
    assert times(observed, RESIZED) > [60]


def test_a_stale_restart_reads_an_old_list():
    observed, _ = ran(f"stale(store, at=create store/a#1, when={PATCHED})", listing)
    created = next(one.revision for one in observed.commits if str(one.anchor) == "create store/a#1")
    restarted = [one for one in observed.reconciles if one.incarnation == 2]
    assert restarted[0].seen["store"] == created
    assert restarted[-1].seen["store"] > created
    assert times(observed, RESIZED) == [60]


def test_streamed_lists_are_consistent_and_never_stale():
    with pytest.raises(IllegalPlan, match="stale-reads"):
        check_legal(parse_plan(f"FK1 seed=0 stale(store, at=create store/a#1, when={PATCHED})"), facts(scenario))
    check_legal(parse_plan(f"FK1 seed=0 stale(store, at=create store/a#1, when={PATCHED})"), facts(listing))


def test_a_write_that_fails_is_not_stored_and_is_made_again():
    observed, _ = ran("error(503, 2)@create secret/a#1")
    assert errors(observed) == ["ApiError: the server is currently unable to handle the request"] * 2
    assert by_operator(observed).count((1, "create secret/a")) == 1


def test_a_read_that_fails():
    observed, _ = ran("error(500, 1)@get cm/a#2")
    assert errors(observed) == ["ApiError: Internal error occurred: injected fault"]
    assert by_operator(observed) == by_operator(ran("")[0])


def test_a_competing_write_is_real_and_the_operator_gets_a_conflict():
    observed, _ = ran(f"race(annotate)@{RESIZED}")
    actors = [one.actor for one in observed.commits if one.kind == "cm"]
    assert actors == ["operator store", "race", "operator store"]
    assert observed.final["cm/a"]["metadata"]["annotations"] == {"fakekube.dev/race": "1"}
    assert len(errors(observed)) == 1
    assert "the object has been modified" in errors(observed)[0]


def test_a_paused_operator_goes_on_where_it_was():
    observed, _ = ran(f"pause(until={PATCHED})@create cm/a#1")
    assert times(observed, "create secret/a#1") == [60]
    assert {one.incarnation for one in observed.by_operators()} == {1}


def created(observed, target):
    return datetime.fromisoformat(observed.final[target]["metadata"]["creationTimestamp"])


def test_the_clock_of_the_server_jumps():
    observed, _ = ran("jump(3600)@create cm/a#1")
    assert created(observed, "secret/a") - created(observed, "cm/a") == timedelta(hours=1)
    assert times(observed, PATCHED) == [60]


def test_an_old_leader_writes_when_another_leads():
    sample = SAMPLES["late_leader"]
    observed, _ = ran("zombie@delete pod/a#1", lambda kube: sample.scenario(kube, sample.make(False)))
    assert observed.fired == (0,)
    writers = list(dict.fromkeys(one.actor for one in observed.by_operators() if one.kind != "lease"))
    assert len(writers) == 2
    assert observed.failure == ""


def test_without_its_write_an_old_leader_is_not_late():
    sample = SAMPLES["late_leader"]
    observed, _ = ran("zombie@delete pod/b#1", lambda kube: sample.scenario(kube, sample.make(False)))
    assert observed.fired == ()


@pytest.mark.parametrize(("anchor", "fires"), [("create cm/a#1", True), ("create cm/other#1", False)])
def test_a_webhook_times_out_once(anchor, fires):
    sample = SAMPLES["admission_timeout"]
    observed, _ = ran(f"hook(timeout)@{anchor}", lambda kube: sample.scenario(kube, sample.make(False)))
    assert bool(observed.fired) is fires
    assert any("failed calling webhook" in error for error in errors(observed)) is fires
    assert observed.failure == ""


def restless(manager):
    """After a restart, each reconcile writes."""
    live, created = manager.api_reader, set()

    async def reconcile(request, client):
        store = await client.get(API, "Store", request.name, request.namespace)
        have = await find(live, "v1", "ConfigMap", request.name, request.namespace)
        if have is None:
            await live.create(child(store, "ConfigMap", request.name, data={"number": "0"}))
            created.add(request.name)
        elif request.name not in created:
            await live.update({**have, "data": {"number": str(int(have["data"]["number"]) + 1)}})

    manager.controller("store").for_(API, "Store").complete(reconcile)


def restless_scenario(kube):
    kube.apply(definition("Store", size="integer"))
    kube.start(restless)
    kube.create(custom("Store", size=1))
    kube.advance(60)


def test_dup_finds_a_write_at_rest():
    """O4."""
    assert [one.oracle for one in violations("dup", restless_scenario)] == []
    found = violations("crash@create cm/a#1 + dup", restless_scenario)
    assert ("O4", "cm/a") in [(one.oracle, one.target) for one in found]


def test_dup_reconciles_everything_once_more_when_the_test_is_over():
    observed, _ = ran("dup")
    assert observed.reconciles[-1].started > 120
    assert not [one for one in observed.commits if one.rest]


# --- replay

PLAN = "crash@create cm/a#1 + hold(store, update store/a{spec.size}#1..rest) + lost(reset)@update cm/a{data.size}#1"


def logs(number):
    return {ran(f"{PLAN} + order")[1] for _ in range(number)}


def test_a_plan_gives_the_same_log_each_time():
    found = logs(10)
    assert len(found) == 1
    assert found.pop().count("\n") > 20


@pytest.mark.slow
def test_a_plan_gives_the_same_log_a_hundred_times():
    assert len(logs(100)) == 1


def test_another_plan_gives_another_log():
    assert ran("")[1] != ran(PLAN)[1]
