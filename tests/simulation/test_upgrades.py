"""Another release of the operator takes over after a write of the one before, and back."""

import pytest

from fakekube.simulation.explorer import Explorer, NothingToExplore, Settings
from fakekube.simulation.plan import parse_plan
from fakekube.simulation.realism import IllegalPlan, check_legal
from fakekube.simulation.releases import Releases, releases_of
from fakekube.simulation.scenario import ScenarioRunner
from tests.simulation.samples.definitions import API, child, custom, definition, ensure, find, remove, report

# --- an operator whose ConfigMap has another name in the new release


def build_old(manager):
    live = manager.api_reader

    async def reconcile(request, client):
        store = await find(live, API, "Store", request.name, request.namespace)
        if store is not None:
            await ensure(live, child(store, "ConfigMap", f"{request.name}-config", data={"size": "1"}))
            await report(live, store, phase="Ready")

    manager.controller("store").for_(API, "Store").complete(reconcile)


def renamed(migrates):
    """The new release: it removes the ConfigMap of the old one, or forgets it."""

    def build(manager):
        live = manager.api_reader

        async def reconcile(request, client):
            store = await find(live, API, "Store", request.name, request.namespace)
            if store is None:
                return
            await ensure(live, child(store, "ConfigMap", f"{request.name}-settings", data={"size": "1"}))
            if migrates:
                await remove(live, "ConfigMap", f"{request.name}-config", request.namespace)
            await report(live, store, phase="Ready")

        manager.controller("store").for_(API, "Store").complete(reconcile)

    return build


CORRECT, FORGETS = renamed(True), renamed(False)


def explorer_of(new, old=build_old, runs=40, start=None, **settings):
    def scenario(fakekube):
        fakekube.apply(definition("Store"))
        fakekube.start(start or new)
        fakekube.create(custom("Store"))
        fakekube.advance(60)
        assert fakekube.get(API, "Store", "a")["status"]["phase"] == "Ready"

    runner = ScenarioRunner(scenario)
    chosen = {"faults": ["upgrade"], "bugs": 10, "releases": Releases(old, new), **settings}
    return Explorer(runner.run, Settings(runs=runs, **chosen), lambda: runner.facts)


def wrong(found):
    return [(str(bug.violation), str(bug.reduced.plan)) for bug in found.bugs]


def test_what_the_old_release_leaves_is_found():
    found = explorer_of(FORGETS).explore()
    assert (
        "O2: cm/a-config is there at the end (the reference does not have it)",
        "FK1 seed=0 upgrade@create cm/a-config#1",
    ) in wrong(found)


def test_a_new_release_that_migrates_has_no_alarm():
    found = explorer_of(CORRECT).explore()
    assert wrong(found) == []
    assert found.coverage.exercised["upgrade"] == [
        "upgrade@create cm/a-config#1",
        "upgrade@update store/a{status.observedGeneration,status.phase}#1",
    ]


@pytest.mark.parametrize("name", ["upgrade", "downgrade"])
def test_a_release_that_never_changes_is_not_judged(name):
    explorer = explorer_of(CORRECT)
    judge = explorer.reference(is_old=name == "downgrade")[1]
    observed = explorer.observe(parse_plan(f"FK1 seed=0 {name}@create cm/never#1"))
    assert (list(observed.fired), observed.released) == ([], False)
    assert judge.violations(observed) == []


def test_what_an_upgrade_may_leave_is_declared():
    assert wrong(explorer_of(FORGETS, upgrade_mask=["cm/*-config"]).explore()) == []


@pytest.mark.slow
def test_a_rollback_to_the_old_release_is_compared_with_it_alone():
    found = explorer_of(CORRECT, faults=["downgrade"]).explore()
    assert [(str(bug.reduced.plan), bug.plans) for bug in found.bugs] == [
        ("FK1 seed=0 downgrade@create cm/a-settings#1", 1)
    ]
    assert wrong(explorer_of(CORRECT, faults=["downgrade"], upgrade_mask=["cm/*-settings"]).explore()) == []


# --- a field of the status that the new release reads in another form


def resized(manager):
    """Reads what the old release has written to the status, which has no size yet."""
    live = manager.api_reader

    async def reconcile(request, client):
        store = await find(live, API, "Store", request.name, request.namespace)
        if store is not None and "status" in store:
            data = {"size": store["status"]["size"]}
            await ensure(live, child(store, "ConfigMap", f"{request.name}-config", data=data))
        elif store is not None:
            await report(live, store, phase="Ready", size="1")

    manager.controller("store").for_(API, "Store").complete(reconcile)


@pytest.mark.slow
def test_a_release_that_cannot_read_what_the_old_one_wrote_is_found():
    found = explorer_of(resized).explore()
    assert ("O12: store reconciling default/a raises KeyError: 'size'") in [
        str(one) for bug in found.bugs for one in bug.trial.violations
    ]


# --- tasks, and what cannot be upgraded


async def old_task(fakekube, name):
    await write(fakekube, name, "old")


async def new_task(fakekube, name):
    await write(fakekube, name, "new")


async def write(fakekube, name, release):
    from controllerlib import ApiError, Client

    client = Client(fakekube.access.transport())
    try:
        found = await client.get("v1", "ConfigMap", name, "default")
    except ApiError:
        found = await client.create(
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}}
        )
    await client.patch(found, {"data": {release: "yes"}})
    await fakekube.clock.sleep_until(1e6)


def test_a_task_is_upgraded():
    def scenario(fakekube):
        fakekube.task(new_task(fakekube, "a"))
        fakekube.advance(60)

    runner = ScenarioRunner(scenario)
    settings = Settings(runs=20, faults=["upgrade"], releases=Releases(old_task, new_task))
    failed = Explorer(runner.run, settings, lambda: runner.facts).explore().failed
    assert str(failed.reduced.plan) == "FK1 seed=0 upgrade@update cm/a{data.old}#1"
    assert str(failed.violation) == "O2: cm/a data.old None (reference) != 'yes'"


def test_a_test_that_starts_another_function_is_named():
    with pytest.raises(NothingToExplore, match="the old release does just what the new one does"):
        explorer_of(CORRECT, start=lambda manager: CORRECT(manager)).explore()


@pytest.mark.parametrize("atoms", ["upgrade@create cm/a#1", "downgrade@create cm/a#1", "old"])
def test_an_upgrade_needs_an_old_release(atoms):
    with pytest.raises(IllegalPlan, match="upgrades-need-releases"):
        check_legal(parse_plan(f"FK1 seed=0 {atoms}"), ScenarioRunner(print).facts)


@pytest.mark.parametrize(
    ("upgrade", "problem"),
    [
        ("tests:old", "pass two functions"),
        ((build_old,), "pass two functions"),
        ((build_old, build_old), "both releases are the same function"),
        ((build_old, 7), "7 is no function"),
        (("tests.nowhere:old", build_old), "'tests.nowhere:old' cannot be imported"),
        ((f"{__name__}:nothing", build_old), "cannot be imported"),
        ((f"{__name__}:CASES", build_old), "which is no function"),
        (("build_old", build_old), "must be 'module:name'"),
    ],
)
def test_releases_that_make_no_sense(upgrade, problem):
    with pytest.raises((TypeError, ValueError), match=problem):
        releases_of(upgrade)


CASES = 7


def test_a_release_by_its_name():
    assert releases_of((f"{__name__}:build_old", CORRECT)) == Releases(build_old, CORRECT)
    assert releases_of(None) is None
