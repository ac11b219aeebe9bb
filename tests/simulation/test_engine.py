"""Each atom takes effect where its anchor is reached, is not exercised where it is not, and replays to the byte."""

import re
from datetime import datetime, timedelta

import pytest

from controllerlib import Result
from controllerlib.controller import ControllerOptions
from controllerlib.workqueue import ItemExponentialFailureRateLimiter
from fakekube.simulation.atoms import Jump
from fakekube.simulation.explorer import Explorer, Settings
from fakekube.simulation.plan import parse_plan
from fakekube.simulation.planning import Planner
from fakekube.simulation.realism import IllegalPlan, check_legal
from fakekube.simulation.scenario import ScenarioRunner
from tests.simulation.samples import SAMPLES
from tests.simulation.samples.definitions import API, child, custom, definition, ensure, find
from tests.simulation.storeoperator import LISTS, build, facts, listing, ran, scenario, violations


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


def slow(fakekube, **options):
    """As `scenario`, over hours."""
    fakekube.apply(definition("Store", size="integer"))
    fakekube.start(build, **options)
    fakekube.create(custom("Store", size=1))
    fakekube.advance(hours=2)
    fakekube.patch(API, "Store", "a", {"spec": {"size": 2}})
    fakekube.advance(hours=2)


def test_a_watch_is_held_for_five_minutes_at_most():
    observed, _ = ran(f"hold(store, create store/a#1..{PATCHED})", slow)
    assert {one.at for one in observed.deliveries if one.kind == "store"} >= {300, 7200}
    assert times(observed, "create cm/a#1") == [300]


def ticking(manager):
    """Reconciles each store twice a second, for a minute."""
    live = manager.api_reader

    async def reconcile(request, client):
        if await find(client, API, "Store", request.name, request.namespace) is None:
            return None
        count = (await live.get("v1", "ConfigMap", "count", "default"))["data"]["count"]
        if int(count) == 120:
            return None
        name = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "count", "namespace": "default"}}
        await live.patch(name, {"data": {"count": str(int(count) + 1)}})
        return Result(requeue_after=0.5)

    manager.controller("store").for_(API, "Store").complete(reconcile)


def test_a_cluster_that_is_never_at_rest_ends_a_hold_after_seconds():
    def busy_scenario(fakekube):
        fakekube.apply(definition("Store", size="integer"))
        fakekube.create(
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "count"}, "data": {"count": "0"}}
        )
        fakekube.start(ticking)
        fakekube.create(custom("Store", size=1))
        fakekube.advance(10)

        async def resize():
            fakekube.patch(API, "Store", "a", {"spec": {"size": 2}})

        fakekube.task(resize())
        fakekube.advance(60)

    observed, _ = ran(f"hold(store, {PATCHED}..rest)", busy_scenario)
    seen = [one.at for one in observed.deliveries if one.kind == "store"]
    assert 10 <= max(seen) <= 15


def deleted(fakekube):
    """A store is created, resized, and deleted."""
    fakekube.apply(definition("Store", size="integer"))
    fakekube.start(build)
    fakekube.create(custom("Store", size=1))
    fakekube.advance(60)
    fakekube.patch(API, "Store", "a", {"spec": {"size": 2}})
    fakekube.advance(10)
    fakekube.delete(API, "Store", "a")
    fakekube.advance(60)


def test_a_watch_is_held_no_longer_than_the_object_of_its_end_exists():
    observed, _ = ran(f"hold(store, {PATCHED}..update store/a{{status.ready}}#1)", deleted)
    assert times(observed, "delete store/a#1") == [70]
    assert {one.at for one in observed.deliveries if one.kind == "store"} == {0, 70}


def test_an_operator_is_down_for_five_minutes_at_most():
    observed, _ = ran(f"down(until={PATCHED})@create cm/a#1", slow)
    assert times(observed, "create secret/a#1") == [300]


def test_a_crash_when_the_test_changes_something():
    observed, _ = ran(f"crash@{PATCHED}", slow)
    assert {(one.incarnation, one.at) for one in observed.by_operators()} >= {(1, 0), (2, 7200)}


def test_no_operator_restarts_on_a_view_older_than_five_minutes():
    stale = f"stale(store, at=create store/a#1, when={PATCHED})"
    assert ran(stale, lambda fakekube: slow(fakekube, cache=LISTS))[0].fired == ()
    assert ran(stale, listing)[0].fired == (0,)


def patient(fakekube):
    """The operator tries again after ten minutes."""

    def build(manager):
        async def reconcile(request):
            store = await find(manager.api_reader, API, "Store", request.name, request.namespace)
            if store is not None:
                await ensure(manager.api_reader, child(store, "ConfigMap", request.name))

        builder = manager.controller("store").for_(API, "Store")
        limiter = ItemExponentialFailureRateLimiter(600.0)
        builder.with_options(ControllerOptions(rate_limiter=lambda: limiter)).complete(reconcile)

    fakekube.apply(definition("Store", size="integer"))
    fakekube.start(build)
    fakekube.create(custom("Store", size=1))
    fakekube.advance(60)


def test_a_run_ends_when_what_has_failed_was_tried_again():
    assert violations("error(503, 1)@create cm/a#1", patient) == []
    observed, _ = ran("error(503, 1)@create cm/a#1", patient)
    assert times(observed, "create cm/a#1") == [600]


def test_a_test_that_fails_while_a_watch_is_late_says_nothing_of_itself():
    def impatient(fakekube):
        fakekube.apply(definition("Store", size="integer"))
        fakekube.start(build)
        fakekube.create(custom("Store", size=1))
        fakekube.advance(60)
        assert fakekube.exists("v1", "ConfigMap", "a")
        fakekube.patch(API, "Store", "a", {"spec": {"size": 2}})

    observed, _ = ran(f"hold(store, create store/a#1..{PATCHED})", impatient)
    assert observed.inconclusive
    assert observed.failure == ""


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


def test_restarts_on_the_view_before_a_change_of_the_test_are_planned():
    reference, _ = ran("", listing)
    planned = {str(plan.atoms[0]) for plan in Planner(reference, faults=["stale"]).singles()}
    before = max(one.revision for one in reference.commits if str(one.anchor) == PATCHED)
    view = [one for one in reference.commits if one.anchor.target == "store/a" and one.revision < before][-1].anchor
    answer = "update cm/a{data.size}#1"
    assert {f"stale(store, at={view}, when={PATCHED})", f"stale(store, at={view}, when={answer})"} <= planned


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


def test_clocks_differ_by_seconds_in_plans():
    """No operator that compares its clock with timestamps of the server can be right if they differ by an hour."""
    planner = Planner(ran("")[0])
    jumps = [atom.seconds for plan in planner.singles() for atom in plan.atoms if isinstance(atom, Jump)]
    assert jumps
    assert max(jumps) <= 5


def test_the_clock_of_the_server_jumps():
    observed, _ = ran("jump(3600)@create cm/a#1")
    assert created(observed, "secret/a") - created(observed, "cm/a") == timedelta(hours=1)
    assert times(observed, PATCHED) == [60]


@pytest.mark.parametrize("write", ["create pod/a#1", "delete pod/a#1"])
def test_an_old_leader_writes_when_another_leads(write):
    sample = SAMPLES["late_leader"]
    observed, _ = ran(f"zombie@{write}", lambda kube: sample.scenario(kube, sample.make(False)))
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


def test_each_run_finds_a_write_at_rest():
    """O4."""
    found = violations("crash@create cm/a#1", restless_scenario)
    assert ("O4", "cm/a") in [(one.oracle, one.target) for one in found]


def test_dup_reconciles_everything_once_more_each_time_the_test_waits():
    calm, _ = ran("")
    observed, _ = ran("dup")
    assert observed.fired == (0,)
    assert len(observed.reconciles) > len(calm.reconciles)
    assert [one.anchor for one in observed.by_operators()] == [one.anchor for one in calm.by_operators()]


def test_without_a_change_there_is_no_dup():
    def still(kube):
        kube.apply(definition("Store", size="integer"))
        kube.advance(60)
        kube.settle()
        kube.advance(60)

    observed, _ = ran("dup", still)
    assert len(observed.reconciles) == 0


def busy(manager):
    """Writes at each reconcile."""
    live = manager.api_reader

    async def reconcile(request):
        have = await find(live, "v1", "ConfigMap", request.name, request.namespace)
        await live.update({**have, "data": {"number": str(int(have["data"]["number"]) + 1)}})

    manager.controller("store").for_(API, "Store").complete(reconcile)


def test_dup_is_not_repeated_for_what_it_has_written_itself():
    def scenario(kube):
        kube.apply(definition("Store", size="integer"))
        kube.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"number": "0"}})
        kube.start(busy)
        kube.create(custom("Store", size=1))
        kube.settle()

    observed, _ = ran("dup", scenario)
    assert observed.unsettled == ""
    assert observed.final["cm/a"]["data"]["number"] == "2"


@pytest.mark.slow
def test_order_makes_events_and_requests_late_by_milliseconds():
    calm, _ = ran("")
    late = {tuple(one.at for one in ran("order", seed=seed)[0].by_operators()) for seed in range(8)}
    assert len(late) > 3
    for times_of_run in late:
        assert all(0 <= at - calm.by_operators()[0].at < 121 for at in times_of_run)


def test_order_of_one_seed_is_one_order():
    assert len({ran("order", seed=3)[1] for _ in range(5)}) == 1


# --- runs with the last spec, and with the last change taken back


def test_a_new_cluster_is_given_the_last_spec_at_once():
    assert violations("fresh") == []


def merging(manager):
    """Never removes a key of the ConfigMap."""
    live = manager.api_reader

    async def reconcile(request):
        store = await live.get(API, "Store", request.name, request.namespace)
        have = await find(live, "v1", "ConfigMap", request.name, request.namespace)
        data = {**((have or {}).get("data") or {}), f"size-{store['spec']['size']}": "1"}
        wanted = child(store, "ConfigMap", request.name, data=data)
        await (live.create(wanted) if have is None else live.update({**have, "data": data}))

    manager.controller("store").for_(API, "Store").complete(reconcile)


def resized(build, *, sizes=(1, 2), ends=None):
    """A store that is resized, and then something else."""

    def scenario(kube):
        kube.apply(definition("Store", size="integer"))
        kube.start(build)
        kube.create(custom("Store", size=sizes[0]))
        kube.advance(60)
        for size in sizes[1:]:
            kube.patch(API, "Store", "a", {"spec": {"size": size}})
            kube.advance(60)
        if ends is not None:
            ends(kube)

    return scenario


def test_o8_what_a_former_spec_has_left_is_not_in_a_new_cluster():
    found = violations("fresh", resized(merging))
    assert [(one.oracle, one.target) for one in found] == [("O8", "cm/a")]
    assert "data.size-1 '1', in a new cluster None" in found[0].text


def test_o8_judges_a_test_that_fails_on_the_way_with_the_last_spec():
    def sizes(kube):
        data = kube.get("v1", "ConfigMap", "a")["data"]
        assert list(data) == ["size-1", "size-2"]

    assert [one.oracle for one in violations("fresh", resized(merging, ends=sizes))] == ["O8"]


def test_o8_an_object_that_the_test_deletes_leaves_nothing():
    def deletes(kube):
        kube.delete(API, "Store", "a")
        kube.advance(60)

    def scenario(kube):
        resized(orphaning, ends=deletes)(kube)

    found = violations("fresh", scenario)
    assert [(one.oracle, one.target) for one in found] == [("O8", "cm/a")]
    assert "is left at the end" in found[0].text


def orphaning(manager):
    """Makes a ConfigMap without an owner."""
    live = manager.api_reader

    async def reconcile(request):
        store = await find(live, API, "Store", request.name, request.namespace)
        if store is not None and await find(live, "v1", "ConfigMap", request.name, request.namespace) is None:
            meta = {"name": "a", "namespace": "default"}
            await live.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {}})

    manager.controller("store").for_(API, "Store").complete(reconcile)


def test_o8_does_not_judge_where_the_test_depends_on_what_operators_make():
    def touches(kube):
        kube.patch(
            "v1",
            "ConfigMap",
            "a",
            {"metadata": {"labels": {"seen": kube.get("v1", "ConfigMap", "a")["data"]["size-1"]}}},
        )

    observed, _ = ran("fresh", resized(merging, ends=touches))
    assert observed.inconclusive


@pytest.mark.slow
def test_o8_is_judged_by_a_reference_without_the_steps_that_are_left_out():
    def scenario(kube):
        kube.apply(definition("Store", size="integer"))
        kube.start(merging)
        kube.create(custom("Store", size=1))
        for size in (2, 3):
            with kube.exploration.step(f"to {size}"):
                kube.patch(API, "Store", "a", {"spec": {"size": size}})
            kube.advance(60)

    runner = ScenarioRunner(scenario)
    failed = Explorer(runner.run, Settings(runs=40), lambda: runner.facts).explore().failed
    assert str(failed.reduced.plan) == "FK1 seed=0 skip=to%202 fresh"
    assert failed.violation.text.startswith("data.size-1 '1', in a new cluster None (")


def one_way(manager):
    """Reports that it has failed when the size shrinks, for ever."""
    live = manager.api_reader

    async def reconcile(request):
        store = await live.get(API, "Store", request.name, request.namespace)
        status, size = store.get("status") or {}, store["spec"]["size"]
        if status.get("phase") != "Failed" and status.get("size") != size:
            phase = "Failed" if size < status.get("size", 0) else "Ready"
            await live.update_status({**store, "status": {"size": size, "phase": phase}})

    manager.controller("store").for_(API, "Store").complete(reconcile)


def test_o9_after_the_last_change_is_taken_back_the_status_is_as_good_as_before():
    found = violations("rollback", resized(one_way))
    assert [(one.oracle, one.target) for one in found] == [("O9", "store/a")]
    assert "status.phase 'Failed', before it 'Ready'" in found[0].text


def recovering(manager):
    """Is degraded at its first size only."""
    live = manager.api_reader

    async def reconcile(request):
        store = await live.get(API, "Store", request.name, request.namespace)
        status, size = store.get("status") or {}, store["spec"]["size"]
        phase = "Ready" if status or size > 1 else "Degraded"
        if status.get("size") != size:
            await live.update_status({**store, "status": {"size": size, "phase": phase}})

    manager.controller("store").for_(API, "Store").complete(reconcile)


def test_o9_a_status_that_is_better_than_before_is_correct():
    assert violations("rollback", resized(recovering)) == []


@pytest.mark.slow
def test_o9_an_operator_that_recovers_is_correct():
    assert violations("rollback") == []
    assert ran("rollback")[0].inconclusive  # it needs the reference


# --- predicates, and streams


@pytest.mark.slow
def test_o11_a_predicate_that_does_not_hold_after_the_last_step_is_a_violation():
    def scenario(kube):
        kube.always(lambda c: len(c.list("v1", "ConfigMap")) < 2, "at most one")
        listing(kube)

    def late(kube):
        kube.apply(definition("Store", size="integer"))
        kube.always(lambda c: not c.exists("v1", "Secret", "a"), "no secret is made")
        kube.create(custom("Store", size=1))
        kube.start(build)

    assert violations("crash@create cm/a#1", scenario) == []
    observed, _ = ran("", late)
    assert observed.violations == ("always: no secret is made",)
    assert observed.failure == ""


@pytest.mark.parametrize("atoms", ["", "crash@create cm/a#1", "gap(store, create store/a#1..rest)", "order", "dup"])
@pytest.mark.parametrize("test", [scenario, listing], ids=["streamed", "listed"])
def test_o13_the_streams_of_the_server_are_correct(atoms, test):
    assert ran(atoms, test)[0].streams == ()


# --- replay

PLAN = "crash@create cm/a#1 + hold(store, update store/a{spec.size}#1..rest) + lost(reset)@update cm/a{data.size}#1"


def logs(number):
    return {ran(f"{PLAN} + order")[1] for _ in range(number)}


@pytest.mark.slow
def test_a_plan_gives_the_same_log_each_time():
    found = logs(10)
    assert len(found) == 1
    assert found.pop().count("\n") > 20


@pytest.mark.slow
def test_a_plan_gives_the_same_log_a_hundred_times():
    assert len(logs(100)) == 1


def test_another_plan_gives_another_log():
    assert ran("")[1] != ran(PLAN)[1]


@pytest.mark.parametrize("propagation", ["Background", "Orphan"])
def test_a_competing_write_before_a_deletion_does_not_keep_the_object(propagation):
    def deleting(manager):
        live = manager.api_reader

        async def reconcile(request):
            store = await find(live, API, "Store", request.name, request.namespace)
            have = await find(live, "v1", "ConfigMap", "a", "default")
            if store is not None and have is not None:
                await live.delete("v1", "ConfigMap", "a", "default", propagation=propagation)

        manager.controller("store").for_(API, "Store").complete(reconcile)

    def scenario(kube):
        kube.apply(definition("Store", size="integer"))
        kube.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})
        kube.start(deleting)
        kube.create(custom("Store", size=2))
        kube.settle()

    calm = [one for one in ran("", scenario)[0].by_operators() if one.kind == "cm"]
    observed, _ = ran(f"race(annotate)@{calm[0].anchor}", scenario)
    assert observed.fired == (0,)
    assert [str(one.anchor).partition(" ")[0] for one in observed.commits if one.actor == "race"] == ["update"]
    assert errors(observed) == []
    assert [one.anchor.verb for one in observed.by_operators() if one.kind == "cm"] == [one.anchor.verb for one in calm]
