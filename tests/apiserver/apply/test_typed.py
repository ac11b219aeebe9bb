"""Field sets, comparison, merging and removal of values."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakekube.apiserver.apply import fieldset, merging, typed
from fakekube.apiserver.apply.comparison import compare, compare_created
from fakekube.apiserver.schema.model import Schema
from tests.apiserver.apply.schemas import NUMBER, ROOT, TEXT

TCP, UDP = 'k:{"port":1,"protocol":"TCP"}', 'k:{"port":1,"protocol":"UDP"}'


def spec(**fields):
    return {"spec": fields}


NAMES = st.lists(st.sampled_from("abcdef"), max_size=7)


@given(live=NAMES, config=st.lists(st.sampled_from("abcdef"), max_size=6, unique=True))
def test_the_order_of_a_merged_set(live, config):
    """The items of the configuration keep its order, all others theirs, and no item is lost or added."""
    merged = merging.merge(spec(tags=live), spec(tags=config), ROOT)["spec"]["tags"]
    assert [item for item in merged if item in config] == config
    assert [item for item in merged if item not in config] == [item for item in live if item not in config]


@pytest.mark.parametrize(
    ("value", "held"),
    [
        pytest.param({"size": 1}, {"f:size": {}}, id="scalar"),
        pytest.param({"size": None}, {"f:size": {}}, id="null"),
        pytest.param({"labels": {"a": "1"}}, {"f:labels": {"f:a": {}}}, id="map-by-key"),
        pytest.param({"labels": {}}, {"f:labels": {}}, id="empty-map"),
        pytest.param({"selector": {"a": "1"}}, {"f:selector": {}}, id="atomic-map"),
        pytest.param({"args": ["a"]}, {"f:args": {}}, id="plain-list"),
        pytest.param({"tags": ["a", "b"]}, {"f:tags": {'v:"a"': {}, 'v:"b"': {}}}, id="set"),
        pytest.param(
            {"ports": [{"port": 1}]}, {"f:ports": {TCP: {".": {}, "f:port": {}}}}, id="keyed-list-with-default"
        ),
        pytest.param(
            {"ports": [{"port": 1}, {"port": 1, "protocol": "TCP"}]},
            {"f:ports": {TCP: {}}},
            id="item-that-stands-twice",
        ),
        pytest.param({"free": {"a": {"b": [1]}}}, {"f:free": {"f:a": {".": {}, "f:b": {}}}}, id="no-schema"),
    ],
)
def test_the_field_set_of_a_value(value, held):
    assert typed.field_set(spec(**value), ROOT) == {"f:spec": held}
    for _ in range(3):
        assert typed.field_set(spec(**value), ROOT, remembers=True) == {"f:spec": held}


#: Items with a number for a key, and with structs.
NUMBERED = Schema(
    "object",
    make_fields=lambda: {"id": NUMBER, "deep": Schema("object", make_fields=lambda: {"a": NUMBER}), "text": TEXT},
)


@pytest.mark.parametrize(
    ("item", "held"),
    [
        pytest.param({"id": 1}, {".": {}, "f:id": {}}, id="a-number"),
        pytest.param({"id": 1, "text": "x"}, {".": {}, "f:id": {}, "f:text": {}}, id="a-text"),
        pytest.param({"id": 1, "deep": {"a": 1}}, {".": {}, "f:id": {}, "f:deep": {"f:a": {}}}, id="a-struct"),
        pytest.param({"id": 1, "deep": {}}, {".": {}, "f:id": {}, "f:deep": {}}, id="an-empty-struct"),
    ],
)
def test_the_fields_of_an_item(item, held):
    items = Schema("list", items=NUMBERED, list_type="map", keys=("id",))
    root = Schema("object", make_fields=lambda: {"items": items})
    assert typed.field_set({"items": [item]}, root) == {"f:items": {'k:{"id":1}': held}}


@pytest.mark.parametrize(
    ("old", "new", "added", "modified", "removed"),
    [
        pytest.param({"size": 1}, {"size": 2}, {}, {"f:size": {}}, {}, id="scalar"),
        pytest.param({}, {"labels": {"a": "1"}}, {"f:labels": {".": {}, "f:a": {}}}, {}, {}, id="map-added"),
        pytest.param({"labels": {"a": "1"}}, {}, {}, {}, {"f:labels": {".": {}, "f:a": {}}}, id="map-removed"),
        pytest.param(
            {"labels": {"a": "1", "b": "1"}}, {"labels": {"b": "2", "c": "1"}},
            {"f:labels": {"f:c": {}}}, {"f:labels": {"f:b": {}}}, {"f:labels": {"f:a": {}}}, id="map-by-key",
        ),
        pytest.param({"labels": None}, {"labels": {"a": "1"}}, {"f:labels": {"f:a": {}}}, {}, {}, id="null-before"),
        pytest.param({"labels": None}, {"labels": {}}, {}, {"f:labels": {}}, {}, id="null-and-empty-differ"),
        pytest.param({"args": ["a"]}, {"args": ["b"]}, {}, {"f:args": {}}, {}, id="plain-list"),
        pytest.param({"tags": ["a", "b"]}, {"tags": ["b", "a"]}, {}, {}, {}, id="order-of-a-set"),
        pytest.param(
            {"ports": [{"port": 1}]}, {"ports": [{"port": 1, "protocol": "UDP"}]}, {"f:ports": {UDP: {".": {}, "f:port": {}, "f:protocol": {}}}},
            {}, {"f:ports": {TCP: {".": {}, "f:port": {}}}}, id="keyed-list",
        ),
        pytest.param(
            {"ports": [{"port": 1}, {"port": 1, "name": "x"}]}, {"ports": [{"port": 1}]},
            {"f:ports": {TCP: {".": {}, "f:port": {}}}}, {}, {"f:ports": {TCP: {}}}, id="no-longer-twice",
        ),
        pytest.param(
            {"free": {"a": 1}}, {"free": 1}, {}, {"f:free": {}}, {"f:free": {"f:a": {}}}, id="another-type",
        ),
    ],
)  # fmt: skip
def test_the_comparison_of_two_values(old, new, added, modified, removed):
    found = compare(spec(**old), spec(**new), ROOT)
    wrapped = [{"f:spec": tree} if tree else {} for tree in (added, modified, removed)]
    assert [found.added, found.modified, found.removed] == wrapped


@pytest.mark.parametrize(
    ("live", "config", "merged"),
    [
        pytest.param({"size": 1, "on": True}, {"size": 2}, {"size": 2, "on": True}, id="scalar"),
        pytest.param({"labels": {"a": "1"}}, {"labels": {"b": "2"}}, {"labels": {"a": "1", "b": "2"}}, id="map"),
        pytest.param({"labels": {"a": "1"}}, {"labels": None}, {"labels": {"a": "1"}}, id="null-leaves-a-map"),
        pytest.param({"selector": {"a": "1"}}, {"selector": {"b": "2"}}, {"selector": {"b": "2"}}, id="atomic-map"),
        pytest.param({"args": ["a", "b"]}, {"args": ["c"]}, {"args": ["c"]}, id="plain-list"),
        pytest.param({"tags": ["a", "b"]}, {"tags": ["c", "a"]}, {"tags": ["c", "a", "b"]}, id="set"),
        pytest.param({"tags": ["a", "b", "c"]}, {"tags": ["x", "b"]}, {"tags": ["a", "x", "b", "c"]}, id="near-where-they-were"),
        pytest.param(
            {"ports": [{"port": 1, "name": "x"}, {"port": 2}]}, {"ports": [{"port": 2, "name": "y"}, {"port": 1}]},
            {"ports": [{"port": 2, "name": "y"}, {"port": 1, "name": "x"}]}, id="order-of-the-configuration",
        ),
        pytest.param(
            {"ports": [{"port": 1, "name": "x"}, {"port": 1, "name": "y"}]}, {"ports": [{"port": 1}]},
            {"ports": [{"port": 1}]}, id="what-stands-twice-gives-way",
        ),
    ],
)  # fmt: skip
def test_merging(live, config, merged):
    assert merging.merge(spec(**live), spec(**config), ROOT) == spec(**merged)


@pytest.mark.parametrize(
    ("value", "taken", "left"),
    [
        pytest.param({"size": 1, "on": True}, {"f:size": {}}, {"on": True}, id="field"),
        pytest.param({"labels": {"a": "1"}}, {"f:labels": {"f:a": {}}}, {"labels": {}}, id="emptied-map-stays"),
        pytest.param({"tags": ["a", "b"]}, {"f:tags": {'v:"a"': {}}}, {"tags": ["b"]}, id="item"),
        pytest.param({"ports": [{"port": 1, "name": "x"}]}, {"f:ports": {TCP: {"f:name": {}}}}, {"ports": [{"port": 1}]}, id="below-an-item"),
    ],
)  # fmt: skip
def test_removal(value, taken, left):
    assert merging.remove(spec(**value), {"f:spec": taken}, ROOT) == spec(**left)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        pytest.param({"size": "1"}, ".spec.size: expected numeric (int or float), got string", id="number"),
        pytest.param({"on": 1}, ".spec.on: expected boolean, got &{1}", id="boolean"),
        pytest.param({"amount": {}}, ".spec.amount: expected any scalar, got &{map[]}", id="quantity"),
        pytest.param({"labels": {"a": 1}}, ".spec.labels.a: expected string, got &value.valueUnstructured{Value:1}", id="string"),
        pytest.param({"args": "a"}, ".spec.args: expected list, got &{a}", id="list"),
        pytest.param({"args": [1]}, ".spec.args[0]: expected string, got &value.valueUnstructured{Value:1}", id="item"),
        pytest.param({"labels": []}, ".spec.labels: expected map, got &{[]}", id="map"),
        pytest.param({"none": 1}, ".spec.none: field not declared in schema", id="unknown-field"),
        pytest.param({"tags": ["a", "a"]}, '.spec.tags: duplicate entries for key [="a"]', id="twice-in-a-set"),
        pytest.param({"tags": [None]}, ".spec.tags: element 0: associative list without keys has an element that's an explicit null", id="null-in-a-set"),
        pytest.param(
            {"ports": [{"port": 1}, {"port": 1}]}, '.spec.ports: duplicate entries for key [port=1,protocol="TCP"]', id="key-twice"
        ),
        pytest.param({"size": "1", "on": 1}, "errors:\n  .spec.size: expected numeric (int or float), got string\n  .spec.on: expected boolean, got &{1}", id="several"),
    ],
)  # fmt: skip
def test_values_that_do_not_conform(value, message):
    with pytest.raises(typed.Mismatch) as wrong:
        typed.check(spec(**value), ROOT)
    assert str(wrong.value) == message


NAMES = st.sampled_from(["a", "b", "c"])
VALUES = st.fixed_dictionaries(
    {},
    optional={
        "size": st.integers(0, 2),
        "labels": st.dictionaries(NAMES, NAMES, max_size=3),
        "selector": st.dictionaries(NAMES, NAMES, max_size=2),
        "args": st.lists(NAMES, max_size=2),
        "tags": st.lists(NAMES, max_size=3, unique=True),
        "ports": st.lists(
            st.fixed_dictionaries({"port": st.integers(1, 3)}, optional={"name": NAMES}),
            max_size=3,
            unique_by=lambda p: p["port"],
        ),
        "free": st.recursive(NAMES, lambda inner: st.dictionaries(NAMES, inner, max_size=2), max_leaves=3),
    },
).map(lambda fields: {"spec": fields})


@given(VALUES, VALUES)
def test_the_trees_of_a_comparison_are_disjoint_and_explain_the_difference(old, new):
    found = compare(old, new, ROOT)
    trees = [set(fieldset.paths(tree)) for tree in (found.added, found.modified, found.removed)]
    assert not trees[0] & trees[1]
    assert not (trees[0] | trees[1]) & trees[2]
    back = compare(new, old, ROOT)
    assert (back.added, back.modified, back.removed) == (found.removed, found.modified, found.added)
    if not any(trees):
        assert typed.field_set(old, ROOT) == typed.field_set(new, ROOT)


EMPTY = {"metadata": {}, "spec": {"size": 0, "ports": None}}


@given(st.lists(VALUES, max_size=3))
def test_a_new_object_is_compared_with_the_empty_one_of_its_kind(created):
    for new in [*created, *created]:
        assert compare_created(EMPTY, new, ROOT) == compare(EMPTY, new, ROOT)
        assert compare_created({}, new, ROOT) == compare({}, new, ROOT)


@given(st.lists(VALUES, max_size=3))
def test_the_field_set_of_a_spec_that_comes_again(applied):
    for value in [*applied, *applied, {"metadata": {}}, {"metadata": {"labels": {"a": "b"}}, "spec": None}]:
        assert typed.field_set(value, ROOT, remembers=True) == typed.field_set(value, ROOT)


def test_an_atomic_struct_of_a_new_object_is_compared_as_a_whole():
    fields = {"a": Schema("string"), "l": Schema("list", items=Schema("string"))}
    struct = Schema("object", make_fields=lambda: fields, map_type="atomic")
    whole = Schema("object", make_fields=lambda: {"spec": struct})
    for _ in range(3):
        found = compare_created({"spec": {"a": ""}}, {"spec": {"a": "x", "l": ["y"]}}, whole)
        assert (found.added, found.modified, found.removed) == ({}, {"f:spec": {}}, {})


@given(VALUES, VALUES)
def test_a_merge_is_complete_and_idempotent(live, config):
    merged = merging.merge(live, config, ROOT)
    assert merging.merge(merged, config, ROOT) == merged
    held = set(fieldset.paths(typed.field_set(merged, ROOT)))
    assert held >= set(fieldset.paths(typed.field_set(config, ROOT))) - {("f:spec",)} - _emptied(config)


def _emptied(config):
    """Empty maps are owned as a whole; they are not empty if the live object has entries in them."""
    return {
        path
        for path in fieldset.paths(typed.field_set(config, ROOT))
        if path[1:] in (("f:labels",), ("f:free",)) or "f:free" in path
    }


A = {'v:"a"': {}}


@pytest.mark.parametrize(
    ("old", "new", "added", "modified", "removed"),
    [
        (["a"], ["a"], {}, {}, {}),
        (["a"], ["b"], {'v:"b"': {}}, {}, A),
        ([], ["a"], A, {}, {}),
        (["a"], [], {}, {}, A),
        # a value that a list has several times is compared as a whole
        (["a"], ["a", "a"], A, {}, A),
        (["a", "a"], ["a"], A, {}, A),
        ([], ["a", "a"], A, {}, {}),
        (["a", "a"], [], {}, {}, A),
        (["a", "a"], ["a", "a"], {}, {}, {}),
        (["a", "a"], ["a", "a", "a"], {}, A, {}),
    ],
)
def test_the_difference_of_two_sets(old, new, added, modified, removed):
    """`typed.Compare` of structured-merge-diff."""
    other = {"tags": ["z"]}  # so that neither list is empty
    found = compare(spec(tags=old + other["tags"]), spec(tags=new + other["tags"]), ROOT)

    def below(tree):
        return tree.get("f:spec", {}).get("f:tags", {})

    assert [below(tree) for tree in (found.added, found.modified, found.removed)] == [added, modified, removed]


# --- field sets of another time (structured-merge-diff: ReconcileFieldSetWithSchema)

OWNED = {"f:labels": {".": {}, "f:a": {}}, "f:size": {}}


@pytest.mark.parametrize(
    ("held", "found"),
    [
        pytest.param(OWNED, OWNED, id="granular-is-granular"),
        pytest.param({"f:selector": {".": {}, "f:a": {}}}, {"f:selector": {}}, id="a-map-that-became-atomic"),
        pytest.param({"f:selector": {}}, {"f:selector": {}}, id="one-that-is-a-whole"),
        pytest.param({"f:args": {'v:"a"': {}}}, {"f:args": {}}, id="a-list-that-became-atomic"),
        pytest.param({"f:tags": {'v:"a"': {}}}, {"f:tags": {'v:"a"': {}}}, id="a-set"),
        pytest.param({"f:ports": {TCP: {".": {}, "f:port": {}}}}, {"f:ports": {TCP: {".": {}, "f:port": {}}}}, id="a-keyed-list"),
        pytest.param({"f:free": {"f:a": {"f:b": {}}}}, {"f:free": {"f:a": {"f:b": {}}}}, id="without-a-schema"),
        pytest.param({"f:unknown": {"f:a": {}}}, {"f:unknown": {"f:a": {}}}, id="unknown"),
        pytest.param(
            {"f:size": {}, "f:selector": {"f:a": {}}, "f:labels": {"f:a": {}}},
            {"f:size": {}, "f:selector": {}, "f:labels": {"f:a": {}}},
            id="only-what-is-atomic",
        ),
    ],
)  # fmt: skip
def test_a_field_set_has_atomic_values_as_a_whole(held, found):
    made = typed.reconciled({"f:spec": held}, ROOT)
    assert made == {"f:spec": found}
    if held == found:
        assert typed.reconciled({"f:spec": {".": {}, **held}}, ROOT) == {"f:spec": {".": {}, **held}}


@pytest.mark.parametrize(
    ("held", "found"),
    [
        ({"f:size": {}}, {".": {}, "f:size": {}}),
        ({"f:labels": {"f:a": {}}}, {".": {}, "f:labels": {".": {}, "f:a": {}}}),
        ({"f:ports": {TCP: {"f:port": {}}}}, {".": {}, "f:ports": {".": {}, TCP: {"f:port": {}}}}),
        ({"f:unknown": {"f:a": {}}}, {".": {}, "f:unknown": {"f:a": {}}}),
    ],
)
def test_declared_fields_with_members_below_them_are_members(held, found):
    assert typed.with_named_fields({"f:spec": held}, ROOT) == {"f:spec": found}


ATOMIC = Schema("object", make_fields=lambda: {"a": NUMBER, "b": NUMBER}, map_type="atomic")
STRUCT = Schema("object", make_fields=lambda: {"atomic": ATOMIC, "a": NUMBER})
BOTH = {"f:a": {}, "f:b": {}}


@pytest.mark.parametrize(
    ("schema", "tree", "found"),
    [
        pytest.param(ATOMIC, BOTH, {}, id="an-atomic-struct"),
        pytest.param(Schema("list", items=TEXT), {'v:"a"': {}}, {}, id="an-atomic-list"),
        pytest.param(Schema("list", items=TEXT, list_type="set"), {'v:"a"': {}}, {'v:"a"': {}}, id="a-set"),
        pytest.param(Schema("map", values=TEXT, map_type="atomic"), {"f:a": {}}, {}, id="an-atomic-map"),
        pytest.param(Schema("map", values=TEXT), {"f:a": {}}, {"f:a": {}}, id="a-map"),
        pytest.param(Schema("map", values=ATOMIC), {"f:k": BOTH}, {"f:k": {}}, id="a-map-of-atomic-structs"),
        pytest.param(
            Schema("map", values=STRUCT), {"f:k": {"f:a": {}, "f:atomic": BOTH}}, {"f:k": {"f:a": {}, "f:atomic": {}}},
            id="a-map-of-structs",
        ),
        pytest.param(Schema("map", values=Schema("any")), {"f:k": BOTH}, {"f:k": BOTH}, id="a-map-of-anything"),
        pytest.param(Schema("any"), {"f:k": BOTH}, {"f:k": BOTH}, id="anything"),
        pytest.param(
            Schema("list", items=STRUCT, list_type="map", keys=("a",)), {'k:{"a":1}': {".": {}, "f:atomic": BOTH}},
            {'k:{"a":1}': {".": {}, "f:atomic": {}}}, id="an-item-of-a-list",
        ),
    ],
)  # fmt: skip
def test_what_has_become_atomic_is_owned_as_a_whole(schema, tree, found):
    root = Schema("object", make_fields=lambda: {"it": schema})
    assert typed.reconciled({"f:it": tree}, root) == {"f:it": found}
