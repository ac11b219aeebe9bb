"""Which values conform to a schema: the quick test recognizes just those without problems, with and without equal keys."""

import pytest

from fakekube.apiserver.apply import typed
from fakekube.apiserver.apply.typed import Mismatch, check
from tests.apiserver.apply.schemas import ROOT

A, B = {"port": 1}, {"port": 2}
LIST_OF_A = {"name": "a", "tags": ["x", "y"]}

#: Field of the spec -> values that conform to its type, and values that do not.
VALUES = {
    "size": ([None, 0, 1, -1, 1.5, 2**70], ["1", True, [], {}, [1]]),
    "on": ([None, True, False], [1, 0, "true", [], {}]),
    "amount": ([None, "1", 1, 1.5, True, ""], [[], {}, ["1"], {"a": 1}]),
    "labels": ([None, {}, {"a": "1"}, {"a": None}], [[], "a", 1, {"a": 1}, {"a": "1", "b": {}}, {"a": ["1"]}]),
    "selector": ([None, {}, {"a": "1", "b": "2"}], [{"a": True}, ["a"], "a"]),
    "args": ([None, [], ["a"], ["a", "a"], [None]], [{}, "a", [1], ["a", {}], [["a"]]]),
    "tags": ([None, [], ["a"], ["a", "b"]], [{}, "a", [1], ["a", 1]]),
    "ports": (
        [None, [], [A], [A, B], [A, {"port": 1, "protocol": "UDP"}], [{**A, **LIST_OF_A}, B], [{**A, "name": None}]],
        [{}, "a", [1], [A, "a"], [{**A, "other": 1}], [{"name": 1, **A}], [A, {**B, "tags": ["x", 1]}], [{**A, "tags": {}}]],
    ),
    "free": ([None, 1, "a", [], {"a": [1, {"b": None}]}], []),
}  # fmt: skip

#: Lists whose items have equal keys.
REPEATED = [
    ("tags", ["a", "b", "a"]),
    ("ports", [A, A]),
    ("ports", [A, B, {**A, "protocol": "TCP"}]),
    ("ports", [{**A, "tags": ["x", "x"]}]),
]


def spec(field, value):
    return {"metadata": {"labels": {"a": "b"}}, "spec": {"free": 1, field: value, "on": True}}


CASES = [
    (field, value, conforms)
    for field, rows in VALUES.items()
    for conforms in (True, False)
    for value in rows[not conforms]
]


@pytest.mark.parametrize("duplicates", [False, True])
@pytest.mark.parametrize(("field", "value", "conforms"), [case for case in CASES if case[0] != "on"])
def test_values_that_conform_to_their_schema(field, value, conforms, duplicates):
    obj = spec(field, value)
    assert typed._conforms(obj, ROOT, duplicates) is conforms
    assert (list(typed._problems(obj, ROOT)) == []) is conforms
    for remembers in (False, True, True, True):
        if conforms:
            check(obj, ROOT, duplicates=duplicates, remembers=remembers)
        else:
            with pytest.raises(Mismatch):
                check(obj, ROOT, duplicates=duplicates, remembers=remembers)


@pytest.mark.parametrize(("field", "value"), REPEATED)
def test_items_with_equal_keys_are_allowed_if_wanted(field, value):
    obj = spec(field, value)
    assert [typed._conforms(obj, ROOT, duplicates) for duplicates in (False, True)] == [False, True]
    check(obj, ROOT, duplicates=True)
    with pytest.raises(Mismatch, match="duplicate entries for key"):
        check(obj, ROOT)


@pytest.mark.parametrize("value", VALUES["on"][1])
def test_what_is_no_boolean(value):
    with pytest.raises(Mismatch):
        check({"spec": {"on": value}}, ROOT)
    for good in VALUES["on"][0]:
        check({"spec": {"on": good}}, ROOT)
        assert typed._conforms({"spec": {"on": good}}, ROOT, False)


@pytest.mark.parametrize(
    "obj",
    [
        {"spec": {"none": 1}},
        {"none": {}},
        {"spec": []},
        {"spec": "a"},
        {"metadata": 1},
        {"metadata": {"labels": {"a": 1}}},
    ],
)
def test_objects_that_do_not_conform(obj):
    assert not typed._conforms(obj, ROOT, False)
    with pytest.raises(Mismatch):
        check(obj, ROOT)


def test_several_problems_are_listed():
    with pytest.raises(Mismatch) as raised:
        check({"spec": {"size": "1", "args": [1]}}, ROOT)
    assert str(raised.value).splitlines()[0] == "errors:"
    assert [line.partition(": ")[0] for line in str(raised.value).splitlines()[1:]] == [
        "  .spec.size",
        "  .spec.args[0]",
    ]
