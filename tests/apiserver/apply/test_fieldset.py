"""Sets of field paths against sets of tuples."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakekube.apiserver.apply import fieldset

ELEMENTS = ("f:a", "f:b", 'k:{"name":"x"}', 'v:"y"')
PATHS = st.sets(st.lists(st.sampled_from(ELEMENTS), min_size=1, max_size=3).map(tuple), max_size=8)


def members(tree):
    return set(fieldset.paths(tree))


@given(PATHS)
def test_a_tree_contains_exactly_its_paths(paths):
    assert members(fieldset.of(*paths)) == paths


@given(PATHS, PATHS)
def test_operations_equal_those_of_sets(one, other):
    left, right = fieldset.of(*one), fieldset.of(*other)
    assert members(fieldset.union(left, right)) == one | other
    assert members(fieldset.difference(left, right)) == one - other
    assert members(fieldset.intersection(left, right)) == one & other
    assert (fieldset.covers(left, right), fieldset.are_disjoint(left, right)) == (other <= one, not one & other)
    assert fieldset.covers(fieldset.union(left, right), right)
    below = {path for path in one if any(path[: len(p)] == p for p in other)}
    assert members(fieldset.without(left, right)) == one - below
    assert (members(left), members(right)) == (one, other), "neither is changed"


@given(PATHS, PATHS)
def test_equal_sets_are_equal_trees(one, other):
    union = fieldset.union(fieldset.of(*one), fieldset.of(*other))
    assert union == fieldset.of(*(one | other))
    assert fieldset.difference(union, fieldset.of(*other)) == fieldset.of(*(one - other))


def test_members_precede_their_descendants():
    tree = fieldset.of(("f:b",), ("f:a", "f:z"), ("f:a",), ("f:a", "f:c", "f:d"))
    assert list(fieldset.paths(tree)) == [("f:a",), ("f:b",), ("f:a", "f:z"), ("f:a", "f:c", "f:d")]


@pytest.mark.parametrize(
    ("elements", "ordered"),
    [
        pytest.param(["f:b", ".", "f:a"], [".", "f:a", "f:b"], id="names"),
        pytest.param(['k:{"port":9}', 'k:{"port":10}'], ['k:{"port":9}', 'k:{"port":10}'], id="numbers-as-numbers"),
        pytest.param(
            ['k:{"name":"a0"}', 'k:{"name":"a!"}', 'k:{"name":"a"}', "."],
            [".", 'k:{"name":"a"}', 'k:{"name":"a!"}', 'k:{"name":"a0"}'],
            id="texts-without-their-end",
        ),
        pytest.param(
            ['k:{"name":"a"}', 'k:{"name":"\\"b"}', 'k:{"name":"B"}'],
            ['k:{"name":"\\"b"}', 'k:{"name":"B"}', 'k:{"name":"a"}'],
            id="texts-with-escapes",
        ),
        pytest.param(
            ['k:{"name":"aB"}', 'k:{"name":"a\\n"}', 'k:{"name":"a"}'],
            ['k:{"name":"a"}', 'k:{"name":"a\\n"}', 'k:{"name":"aB"}'],
            id="texts-with-control-characters",
        ),
        pytest.param(
            ['k:{"name":"b"}', 'k:{"name":"a","port":"x"}', 'k:{"ip":"z"}'],
            ['k:{"ip":"z"}', 'k:{"name":"a","port":"x"}', 'k:{"name":"b"}'],
            id="other-keys",
        ),
        pytest.param(["v:true", 'v:"a"', "v:3"], ["v:3", 'v:"a"', "v:true"], id="values-by-type"),
        pytest.param(
            ["i:10", "i:9", "v:1", 'k:{"a":1}', "f:x"], ["f:x", 'k:{"a":1}', "v:1", "i:9", "i:10"], id="types"
        ),
    ],
)
def test_the_order_on_the_wire(elements, ordered):
    assert list(fieldset.in_order(dict.fromkeys(elements, fieldset.LEAF))) == ordered


@pytest.mark.parametrize(
    "ordered",
    [
        [],
        ["."],
        ["f:a"],
        [".", "f:a"],
        [".", "i:0"],
        ["f:g", "f:h", "i:2", "i:10"],
        [".", 'k:{"a":9}', 'k:{"a":10}'],
        ["f:a", "v:9", "v:10"],
        [".", "f:a", 'k:{"a":1}', "v:1", "i:0"],
    ],
)
def test_the_order_does_not_depend_on_how_many_elements_there_are(ordered):
    for elements in (ordered, ordered[::-1]):
        assert list(fieldset.in_order(dict.fromkeys(elements, fieldset.LEAF))) == ordered
