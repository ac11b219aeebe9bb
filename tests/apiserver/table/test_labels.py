"""Labels and selectors as cells."""

import pytest

from fakekube.apiserver.registry.generic.table.labels import (
    InvalidSelector,
    labels_cell,
    selector_cell,
    selector_dump,
    selector_text,
)


def expression(key, operator, *values):
    return {"key": key, "operator": operator, "values": list(values)}


@pytest.mark.parametrize(
    ("selector", "text"),
    [
        pytest.param({}, "", id="everything"),
        pytest.param(None, "", id="nothing"),
        pytest.param({"matchLabels": {"b": "2", "a": "1"}}, "a=1,b=2", id="labels-by-key"),
        pytest.param({"matchExpressions": [expression("k", "In", "b", "a")]}, "k in (a,b)", id="in"),
        pytest.param({"matchExpressions": [expression("k", "NotIn", "a")]}, "k notin (a)", id="not-in"),
        pytest.param({"matchExpressions": [expression("k", "Exists")]}, "k", id="exists"),
        pytest.param({"matchExpressions": [expression("k", "DoesNotExist")]}, "!k", id="does-not-exist"),
        pytest.param(
            {"matchLabels": {"k": "1"}, "matchExpressions": [expression("k", "Exists"), expression("a", "Exists")]},
            "a,k=1,k",
            id="both-by-key",
        ),
    ],
)
def test_a_selector_as_text(selector, text):
    assert selector_text(selector) == text
    assert selector_cell(selector) == (text or "<none>")


def test_an_absent_selector():
    bad = {"matchExpressions": [expression("k", "Like", "a")]}
    with pytest.raises(InvalidSelector):
        selector_text(bad)
    assert selector_cell(bad) == "<error>"


def test_labels():
    assert labels_cell({"b": "2", "a": "1"}) == "a=1,b=2"
    assert labels_cell({}) == labels_cell(None) == "<none>"


def test_a_selector_as_go_prints_the_struct():
    selector = {"matchLabels": {"a": "1"}, "matchExpressions": [expression("k", "In", "x", "y")]}
    assert selector_dump(selector) == (
        "&LabelSelector{MatchLabels:map[string]string{a: 1,},MatchExpressions:[]LabelSelectorRequirement{"
        "LabelSelectorRequirement{Key:k,Operator:In,Values:[x y],},},}"
    )
