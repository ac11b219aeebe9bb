"""A plan names kinds as `kill(at=)` does, and what of it cannot take effect is named with the reason."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakekube import FakeKube
from fakekube.harness.engine import engine_of
from fakekube.harness.faultinjection import statechange
from fakekube.simulation.anchor import parse_anchor
from fakekube.simulation.atoms import parse_atom
from fakekube.simulation.explorer import Explorer, Settings
from fakekube.simulation.observation import Observation
from fakekube.simulation.plan import Plan, parse_plan
from fakekube.simulation.realism import Facts
from fakekube.simulation.results.notexercised import not_exercised
from fakekube.simulation.running.recorder import Kinds
from tests.simulation.observations import commit, obj
from tests.simulation.samples.definitions import definition
from tests.simulation.test_explorer import BASE, Runs, explorer

CM = "create cm/a#1"


@pytest.fixture(scope="module")
def resources():
    """The built-in resources, and a custom Store, and a Job of another group."""
    with FakeKube() as kube:
        kube.apply(definition("Store", size="integer"), definition("Job", size="integer"))
        return list(engine_of(kube).server.apiserver.catalog.resources())


@pytest.fixture(scope="module")
def kinds(resources):
    return Kinds(resources).by_alias()


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("create cm/a#1", CM),
        ("create cm/a", CM),
        ("create configmap/a", CM),
        ("create configmaps/a#1", CM),
        ("create ConfigMap/a", CM),
        ("create CM/a", CM),
        ("create cm/default/a", CM),
        ("create configmaps/prod/a#3", "create cm/prod/a#3"),
        ("update Deployment/web{spec.replicas}", "update deploy/web{spec.replicas}#1"),
        ("update deployments.apps/web{spec.replicas}#2", "update deploy/web{spec.replicas}#2"),
        ("create Secret/a", "create secret/a#1"),
        ("delete pods/a-*", "delete pod/a-*#1"),
        ("create stores/a", "create store/a#1"),
        ("create Store/a", "create store/a#1"),
        ("create jobs/a", "create job/a#1"),
        ("create jobs.samples.example.com/a", "create job.samples.example.com/a#1"),
        ("create Job.Samples.example.com/a", "create job.samples.example.com/a#1"),
        ("create external/default/a", "create external/default/a#1"),
        ("call external/configmaps/create/a", "call external/configmaps/create/a#1"),
        ("create nonesuch/a", "create nonesuch/a#1"),
    ],
)
def test_each_name_of_a_kind_is_read_as_its_short_one(kinds, text, short):
    found = parse_anchor(text).resolved(kinds)
    assert str(found) == short
    assert found.resolved(kinds) == found


def test_plans_take_the_names_that_kill_takes(resources, kinds):
    """The first resource that an anchor of `kill` matches is the one that plans mean; it is the built-in one."""
    named, builtin = Kinds(resources), [one for one in resources if not one.custom]
    changes = [statechange.StateChange("create", one, "", "a", None, {}, "", 1) for one in [*builtin, *resources]]
    for one in builtin:
        for kind in (one.kind, one.plural, one.singular, *one.short_names):
            text = f"create {kind}/a"
            meant = {named.name(change.resource.collection) for change in changes if matches(text, change)}
            assert parse_anchor(text).resolved(kinds).kind in meant


def matches(text, change):
    return statechange.Anchor.parse(text).matches(change)


@pytest.mark.parametrize(
    ("atom", "short"),
    [
        ("down(until=delete ConfigMap/b)@create configmaps/a", "down(until=delete cm/b#1)@create cm/a#1"),
        ("hold(ConfigMap, create configmap/a..rest)", "hold(cm, create cm/a#1..rest)"),
        ("gap(configmaps, create configmap/a..delete cm/a)", "gap(cm, create cm/a#1..delete cm/a#1)"),
        ("stale(Pod, at=create pods/a, when=delete Pod/a#2)", "stale(pod, at=create pod/a#1, when=delete pod/a#2)"),
        ("evict(pods/default/web)@create Pod/web", "evict(pod/web)@create pod/web#1"),
        ("lose(Pod/web, 60)@create po/web", "lose(pod/web, 60)@create pod/web#1"),
        ("change(Stores/a, spec.size=3)", "change(store/a, spec.size=3)"),
        ("dup", "dup"),
    ],
)
def test_each_place_of_an_atom(kinds, atom, short):
    plan = Plan(1, (parse_atom(atom),)).resolved(kinds)
    assert str(plan) == f"FK1 seed=1 {short}"


@given(
    st.sampled_from(["create", "update", "delete"]),
    st.sampled_from(["cm/a", "pod/prod/a-*", "deploy/w"]),
    st.integers(1, 9),
)
def test_what_a_run_records_stays_as_it_is(verb, target, occurrence):
    kinds = {"cm": "cm", "configmap": "cm", "pod": "pod", "po": "pod", "deploy": "deploy"}
    anchor = parse_anchor(f"{verb} {target}#{occurrence}")
    assert anchor.resolved(kinds) == anchor
    assert anchor.resolved({}) == anchor


RUN = Observation(
    0,
    commits=[
        commit(1, "create", "cm/a", "test", after=obj("ConfigMap", "a")),
        commit(2, "update", "cm/a", before={"data": {}}, after={"data": {"seen": "yes"}}),
        commit(3, "create", "cm/a-x", after=obj("ConfigMap", "a-x")),
        commit(4, "delete", "cm/rest", rest=True),
    ],
    reads=[parse_anchor("get cm/a#1")],
    calls=[(parse_anchor("call external/b/put/a#1"), False)],
)
KINDS = {"cm": "cm", "configmap": "cm", "configmaps": "cm", "pod": "pod"}
OF_A = "of cm/a there is create cm/a#1, update cm/a{data.seen}#1, get cm/a#1"


@pytest.mark.parametrize(
    ("atom", "why"),
    [
        ("crash@create configmup/a#1", "the cluster has no kind 'configmup' (did you mean 'configmap'?)"),
        ("crash@create zzz/a#1", "the cluster has no kind 'zzz'"),
        ("hold(zzz, create cm/a#1..rest)", "the cluster has no kind 'zzz'"),
        ("crash@create cm/a#2", f"'create cm/a#2' did not occur; {OF_A}"),
        ("crash@update cm/a#1", f"'update cm/a#1' did not occur; {OF_A}"),
        ("error(503, 1)@get cm/a#2", f"'get cm/a#2' did not occur; {OF_A}"),
        ("crash@create cm/a-y#1", "'create cm/a-y#1' did not occur; there is nothing of cm/a-y (did you mean 'cm/a-x'?)"),
        ("crash@create pod/qqqqqq#1", "'create pod/qqqqqq#1' did not occur; there is nothing of pod/qqqqqq"),
        ("crash@delete cm/rest#1", "'delete cm/rest#1' did not occur; there is nothing of cm/rest"),
        ("stale(cm, at=create cm/a#1, when=delete cm/a#1)", f"'delete cm/a#1' did not occur; {OF_A}"),
        ("error(503, 1)@call external/b/put/a#2", "'call external/b/put/a#2' did not occur; of external/b/put/a there is call external/b/put/a#1"),
        ("race(annotate)@create cm/a#1", ""),
        ("dup", ""),
    ],
)  # fmt: skip
def test_why_an_atom_did_not_take_effect(atom, why):
    line = not_exercised(parse_atom(atom), RUN, KINDS)
    assert line == f"not exercised: {atom}" + (f": {why}" if why else "")


def test_many_anchors_of_an_object_are_cut():
    many = [commit(number, "create", "cm/a", occurrence=number) for number in range(1, 8)]
    line = not_exercised(parse_atom("crash@delete cm/a#1"), Observation(0, commits=many), KINDS)
    assert line.endswith(
        "of cm/a there is create cm/a#1, create cm/a#2, create cm/a#3, create cm/a#4, create cm/a#5, ..."
    )


def test_plans_that_are_tried_first_are_named_as_runs_record_them():
    found, runs = explorer(kept=[parse_plan("FK1 seed=0 crash@create ConfigMap/a")], facts=Facts(kinds=KINDS), runs=3)
    found.explore()
    assert runs.texts[2] == "crash@create cm/a#1"


# --- steps


@pytest.mark.parametrize(
    ("skip", "steps", "problem"),
    [
        ("moon", ("moon", "b"), ""),
        ("b,moon", ("moon", "b"), ""),
        ("mon", ("moon", "a step"), "skip: the test has no step 'mon'; its steps are 'moon', 'a step'"),
        ("moon,x,y", ("moon",), "skip: the test has no step 'x', 'y'; its steps are 'moon'"),
        ("mon", (), "skip: the test has no step 'mon'; it has no steps"),
    ],
)
def test_a_step_that_the_test_does_not_have_is_named(skip, steps, problem):
    assert parse_plan(f"FK1 seed=0 skip={skip} crash@create cm/a#1").unknown_steps(steps) == problem


def test_a_kept_plan_without_a_step_that_is_gone_is_not_run():
    runs = Runs(base=replace(BASE, steps=("moon",)))
    kept = [parse_plan(f"FK1 seed=0 skip={name} crash@create cm/a#1") for name in ("mon", "moon")]
    result = Explorer(runs, Settings(runs=6, faults=["crash"]), kept=kept).explore()
    assert not [plan for plan in runs.plans if plan.skipped == ("mon",)]
    assert [plan for plan in runs.plans if plan.skipped == ("moon",) and plan.atoms]
    assert result.coverage.unjudged == {str(kept[0]): "skip: the test has no step 'mon'; its steps are 'moon'"}
