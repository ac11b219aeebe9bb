"""What a competing write sets is no difference, wherever an operator copies it."""

import json

import pytest

from fakekube.simulation.racemark import without_mark
from fakekube.simulation.statemask import Mask

MARK = "fakekube.dev/race"


def kopf(content):
    """The annotation of kopf with what it has handled."""
    text = json.dumps(content, separators=(",", ":")) + "\n"
    return {"metadata": {"annotations": {"kopf.zalando.org/last-handled-configuration": text}}}


@pytest.mark.parametrize(
    ("expected", "found"),
    [
        pytest.param({}, {"metadata": {"labels": {MARK: "1"}}}, id="where it is written"),
        pytest.param(
            {"spec": {"template": {"a": 1}}},
            {"spec": {"template": {"a": 1, "metadata": {"annotations": {MARK: "1"}}}}},
            id="in the template of a pod",
        ),
        pytest.param({"data": {}}, {"data": {MARK: "1"}}, id="in data that is empty"),
        pytest.param({"env": []}, {"env": [{"name": MARK, "value": "1"}]}, id="as an entry of a list"),
        pytest.param({"keys": ["a"]}, {"keys": ["a", MARK]}, id="as an item of a list"),
        pytest.param(
            kopf({"spec": {"size": 1}}),
            kopf({"spec": {"size": 1}, "metadata": {"annotations": {MARK: "1"}}}),
            id="in the JSON of kopf",
        ),
        pytest.param(
            kopf({"spec": {}, "metadata": {"labels": {"a": "b"}}}),
            kopf({"metadata": {"labels": {MARK: "1", "a": "b"}}, "spec": {}}),
            id="in JSON beside others",
        ),
        pytest.param({"s": "app=a"}, {"s": f"app=a,{MARK}=1"}, id="in a selector"),
        pytest.param({"s": "x: 1\ny: 2\n"}, {"s": f'x: 1\n{MARK}: "1"\ny: 2\n'}, id="in YAML"),
    ],
)
def test_a_copy_of_the_mark_is_no_difference(expected, found):
    assert Mask().differences("store/a", expected, found) == []
    assert Mask().differences("store/a", found, expected) == []


@pytest.mark.parametrize(
    ("expected", "found", "path"),
    [
        pytest.param({"data": {"a": "1"}}, {"data": {MARK: "1"}}, "data.a", id="a key is missing"),
        pytest.param({"data": {"a": "1"}}, {"data": {MARK: "1", "a": "2"}}, "data.a", id="another value"),
        pytest.param(
            kopf({"spec": {"size": 1}}),
            kopf({"spec": {"size": 2}, "metadata": {"annotations": {MARK: "1"}}}),
            "metadata.annotations.kopf.zalando.org/last-handled-configuration",
            id="another value in the JSON of kopf",
        ),
    ],
)
def test_other_differences_are_found_beside_the_mark(expected, found, path):
    assert [one[0] for one in Mask().differences("store/a", expected, found)] == [path]


def test_what_was_empty_before_stays():
    assert without_mark({"a": {}, "b": {MARK: "1"}, "c": [], "d": {"e": {MARK: "1"}}}) == {"a": {}, "c": []}
