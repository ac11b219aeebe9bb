"""Generated workloads: changes that the schema admits, their texts, and how they are judged."""

import json
from copy import deepcopy
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakekube.simulation.atoms import SpecChange, parse_atom
from fakekube.simulation.explorer import Explorer, Settings
from fakekube.simulation.marker import settings_of
from fakekube.simulation.plan import Plan, parse_plan
from fakekube.simulation.scenario import ScenarioRunner, explore
from fakekube.simulation.workloads import ABSENT, changed, text_of, value_of, workloads
from tests.simulation.samples.definitions import API, child, custom, definition, ensure, find, report
from tests.simulation.test_explore import PLUGINS
from tests.simulation.test_explore import text_of as shown

pytest_plugins = ["pytester"]

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


@given(JSON)
def test_the_text_of_a_change_can_be_read(value):
    plan = Plan(1, (SpecChange("store/prod/a", "spec.size.max", text_of(value)), SpecChange("store/a", "spec.on", "")))
    read = parse_plan(str(plan))
    assert read == plan
    assert value_of(read.atoms[0].value) == value
    assert value_of(read.atoms[1].value) is ABSENT


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("change(store/a, spec.size={)", "Expecting property name"),
        ("change(store/a)", r"expected \(OBJECT, PATH=VALUE\)"),
        ("change(store/a, spec.size)", r"expected \(OBJECT, PATH=VALUE\)"),
    ],
)
def test_what_is_wrong_with_a_change_is_named(text, problem):
    with pytest.raises(ValueError, match=problem):
        parse_atom(text)


@given(st.dictionaries(st.sampled_from("abc"), st.dictionaries(st.sampled_from("de"), st.integers())), st.integers())
def test_a_change_concerns_its_path_alone(obj, value):
    before = deepcopy(obj)
    after = changed(obj, "a.d", value)
    assert obj == before
    assert after["a"]["d"] == value
    assert {name: one for name, one in after.items() if name != "a"} == {k: v for k, v in obj.items() if k != "a"}
    assert {k: v for k, v in after["a"].items() if k != "d"} == {k: v for k, v in obj.get("a", {}).items() if k != "d"}
    assert "d" not in changed(after, "a.d", ABSENT)["a"]


# --- what is generated

TEXT = {"type": "string"}

#: The schema of a field, and its value in the test.
FIELDS = {
    "integer": ({"type": "integer", "minimum": 2, "maximum": 4}, 3),
    "multiple": ({"type": "integer", "multipleOf": 2}, 4),
    "exclusive": ({"type": "integer", "minimum": 0, "exclusiveMinimum": True, "maximum": 3}, 1),
    "boolean": ({"type": "boolean"}, True),
    "enum": ({"type": "string", "enum": ["a", "b", "c"]}, "a"),
    "default": ({"type": "string", "default": "x"}, "y"),
    "list": ({"type": "array", "minItems": 1, "maxItems": 2, "items": {"type": "string", "enum": ["a", "b"]}}, ["a"]),
    "map": ({"type": "object", "maxProperties": 2, "additionalProperties": {"type": "integer"}}, {"a": 1}),
    "object": (
        {"type": "object", "required": ["a"], "properties": {"a": {"type": "integer", "minimum": 1}, "b": TEXT}},
        {"a": 1, "b": "x"},
    ),
}


def stored(name, required=()):
    """A test without an operator, of an object with one field."""
    schema, value = FIELDS[name]
    crd = definition("Store")
    spec = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    spec |= {"properties": {"field": schema, "other": TEXT}, **({"required": list(required)} if required else {})}
    return lambda kube: (kube.apply(crd), kube.create(custom("Store", field=value, other="x")))


def generated(scenario, length=1, seed=0):
    reference = ScenarioRunner(scenario).run(Plan(0))
    return list(workloads(reference, length, seed))


@pytest.mark.parametrize("name", FIELDS)
def test_the_server_admits_what_is_generated(name):
    found = generated(stored(name, ["field"]))
    assert found
    plan = Plan(0, tuple(one for sequence in found for one in sequence))
    assert len(set(ScenarioRunner(stored(name)).run(plan).fired)) == len(plan.atoms)


def test_a_field_that_is_required_is_not_removed():
    values = {value_of(one.value) for sequence in generated(stored("integer", ["field", "other"])) for one in sequence}
    assert values == {2, 4}
    values = {value_of(one.value) for sequence in generated(stored("integer", ["other"])) for one in sequence}
    assert values == {2, 4, ABSENT}


def test_where_the_schema_requires_nothing_the_test_says_what_is_optional():
    def scenario(kube):
        kube.apply(definition("Store", size="integer", mode="string"))
        kube.create(custom("Store", size=1, mode="fast"))
        kube.create(custom("Store", "b", size=1))

    removed = {one.path for sequence in generated(scenario) for one in sequence if value_of(one.value) is ABSENT}
    assert removed == {"spec.mode"}


def test_texts_are_those_of_the_test():
    def scenario(kube):
        kube.apply(definition("Store", size="string"))
        kube.create(custom("Store", size="10Gi"))
        kube.create(custom("Store", "b", size="15Gi"))

    found = {(one.target, value_of(one.value)) for sequence in generated(scenario) for one in sequence}
    assert found == {("store/a", "15Gi"), ("store/b", "10Gi")}


def test_sequences_follow_from_the_seed_and_never_repeat_a_value():
    first, again, other = (list(map(str, generated(stored("integer"), 3, seed))) for seed in (1, 1, 2))
    assert first == again != other
    for sequence in generated(stored("integer"), 3, 1):
        values = [3, *(value_of(one.value) for one in sequence)]
        assert all(one != two for one, two in pairwise(values))


def test_objects_without_a_schema_and_deleted_ones_are_left_alone():
    def scenario(kube):
        stored("integer")(kube)
        kube.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": "1"}})
        kube.delete(API, "Store", "a")

    assert generated(scenario) == []


# --- how they are judged


def following(forget):
    """An operator whose ConfigMap follows a store, but for what it forgets."""

    def build(manager):
        live = manager.api_reader

        async def reconcile(request, client):
            store = await find(live, API, "Store", request.name, request.namespace)
            if store is not None:
                data = {name: str(value) for name, value in store["spec"].items() if name != forget}
                await ensure(live, child(store, "ConfigMap", request.name, data=data))
                await report(live, store, seen=True)

        manager.controller("store").for_(API, "Store").complete(reconcile)

    return build


def scenario(kube, forget=""):
    crd = definition("Store", size="integer", mode="string")
    schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    schema["x-kubernetes-validations"] = [{"rule": "!has(self.size) || self.size < 3"}]
    kube.apply(crd)
    kube.start(following(forget))
    kube.create(custom("Store", size=1, mode="fast"))
    kube.advance(30)
    assert kube.get("v1", "ConfigMap", "a")["data"]["size"] == "1"


def run(atoms):
    kept = []

    def keeping(kube):
        kept.append(kube)
        scenario(kube)

    return ScenarioRunner(keeping).run(parse_plan(f"FK1 {atoms}")), kept[0]


def test_changes_are_made_one_after_the_other_and_rejected_ones_are_not():
    observed, _ = run("change(store/a, spec.size=2) + change(store/a, spec.size=9) + change(store/a, spec.mode=)")
    assert observed.fired == (0, 2)
    assert observed.final["store/a"]["spec"] == {"size": 2}
    assert observed.final["cm/a"]["data"] == {"size": "2"}
    data = [one.after["data"] for one in observed.commits if one.anchor.target == "cm/a"]
    assert [json.dumps(one) for one in data] == [
        '{"mode": "fast", "size": "1"}',
        '{"mode": "fast", "size": "2"}',
        '{"size": "2"}',
    ]


def judged(plan, test):
    runner = ScenarioRunner(test)
    explorer = Explorer(runner.run, Settings(), lambda: runner.facts)
    references = {(False, ()): explorer.reference()}
    plan = parse_plan(plan)
    return [str(one) for one in explorer.violations(plan, explorer.observe(plan), references)]


def test_an_operator_that_follows_raises_no_alarm():
    assert judged("FK1 change(store/a, spec.size=2) + change(store/a, spec.mode=)", scenario) == []


def test_what_is_left_of_a_former_spec_is_found():
    def growing(kube):
        def build(manager):
            async def reconcile(request, client):
                store = await find(manager.api_reader, API, "Store", request.name, request.namespace)
                meta = {"name": f"{request.name}-{store['spec']['size']}", "namespace": request.namespace}
                await ensure(manager.api_reader, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta})

            manager.controller("store").for_(API, "Store").complete(reconcile)

        kube.apply(definition("Store", size="integer"))
        kube.start(build)
        kube.create(custom("Store", size=1))
        kube.settle()

    found = judged("FK1 change(store/a, spec.size=2)", growing)
    assert found[0].startswith("O8: cm/a-1 is left at the end")


@pytest.mark.slow
def test_an_exploration_without_a_workload_makes_no_changes():
    found = explore(scenario, Settings(runs=30))
    assert "change" not in found.coverage.exercised
    found = explore(scenario, Settings(runs=30, workload=2))
    assert len(found.coverage.exercised["change"]) > 3
    assert list(found.bugs) == []


@pytest.mark.parametrize("value", [-1, True, "3"])
def test_the_length_of_a_workload_is_checked(value):
    with pytest.raises(ValueError, match="workload"):
        settings_of({"workload": value})


def test_a_change_back_to_the_first_spec_is_given_to_the_new_cluster_too():
    def there_and_back(kube):
        scenario(kube)
        kube.patch(API, "Store", "a", {"spec": {"size": 2}})
        kube.advance(30)

    assert judged("FK1 change(store/a, spec.size=1)", there_and_back) == []


TEST_FILE = """
from tests.simulation.widersamples import grows_only

def test_queue(fakekube):
    grows_only.scenario(fakekube, grows_only.make(True))
"""


@pytest.mark.slow
def test_pytest_generates_changes_and_replays_what_fails(pytester, monkeypatch):
    monkeypatch.delenv("PYTEST_XDIST_WORKER_COUNT", raising=False)
    pytester.syspathinsert(Path(__file__).parent.parent.parent)
    pytester.makepyfile(test_queue=TEST_FILE)
    result = pytester.runpytest_inprocess(*PLUGINS, "--fakekube-explore=20", "--fakekube-workload=3")
    result.assert_outcomes(failed=1)
    found = next(line for line in shown(result).splitlines() if "replay: pytest" in line)
    assert "change(queue/a, spec.workers=" in found
    plan = found.partition("--fakekube-plan='")[2].rstrip("'")
    again = pytester.runpytest_inprocess(*PLUGINS, f"--fakekube-plan={plan}")
    again.assert_outcomes(failed=1)
    assert "O8: cm/a-" in shown(again)
    harmless = pytester.runpytest_inprocess(*PLUGINS, "--fakekube-plan=FK1 seed=0 change(queue/a, spec.workers=4)")
    harmless.assert_outcomes(passed=1)
