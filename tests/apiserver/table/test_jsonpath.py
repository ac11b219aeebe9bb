"""Paths of printer columns."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakekube.apiserver.registry.generic.table.jsonpath import InvalidPath, NoValue, Path

OBJECT = {
    "metadata": {"name": "a", "annotations": {"example.com/x": "1"}},
    "spec": {"size": 3, "list": [{"x": "p"}, {"x": "q"}, {"y": "r"}], "numbers": [1, 2, 3, 4]},
    "status": {
        "none": None,
        "conditions": [
            {"type": "Ready", "status": "True", "count": 5},
            {"type": "Gone", "status": "False", "count": 1},
        ],
    },
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        pytest.param(".spec.size", [3], id="a-field"),
        pytest.param("$.spec.size", [3], id="from-the-root"),
        pytest.param(".spec.none", [], id="a-missing-field"),
        pytest.param(".spec.size.more", [], id="a-field-of-a-number"),
        pytest.param(".status.none", [None], id="a-null"),
        pytest.param(".metadata.annotations['example\\.com/x']", ["1"], id="a-quoted-key"),
        pytest.param(".metadata.annotations.example\\.com/x", ["1"], id="an-escaped-key"),
        pytest.param(".spec.list[0].x", ["p"], id="an-index"),
        pytest.param(".spec.list[-1].y", ["r"], id="an-index-from-the-end"),
        pytest.param(".spec.list[*].x", ["p", "q"], id="every-item"),
        pytest.param(".spec.numbers[1:3]", [2, 3], id="a-slice"),
        pytest.param(".spec.numbers[:2]", [1, 2], id="an-open-slice"),
        pytest.param(".spec.numbers[::2]", [1, 3], id="steps"),
        pytest.param(".spec.numbers[2:2]", [], id="an-empty-slice"),
        pytest.param(".spec.numbers[0,2]", [1, 3], id="a-union"),
        pytest.param(".metadata.*", [{"example.com/x": "1"}, "a"], id="all-fields"),
        pytest.param("..type", ["Ready", "Gone"], id="at-any-depth"),
        pytest.param(
            ".spec..",
            [OBJECT["spec"], OBJECT["spec"]["list"], *OBJECT["spec"]["list"], [1, 2, 3, 4]],
            id="all-that-contain-others",
        ),
        pytest.param('.status.conditions[?(@.type=="Ready")].status', ["True"], id="a-filter"),
        pytest.param(".status.conditions[?(@.type!='Ready')].status", ["False"], id="a-filter-by-what-it-is-not"),
        pytest.param(".status.conditions[?(@.count>2)].type", ["Ready"], id="a-filter-by-a-number"),
        pytest.param(".spec.list[?(@.y)].y", ["r"], id="a-filter-by-presence"),
        pytest.param('.spec.list[?(@.y=="r")].y', ["r"], id="a-filter-by-a-field-that-others-lack"),
        pytest.param('.spec.list[?(@.z=="r")].y', [], id="a-filter-by-a-field-that-all-lack"),
        pytest.param(".spec.list[?(@.x==@.y)].x", [], id="a-filter-by-two-fields"),
        pytest.param(".status.conditions[?(@.count==@.count)].count", [5, 1], id="a-filter-by-equal-fields"),
        pytest.param('.status.conditions[?(@.type==")]")].status', [], id="brackets-in-a-quoted-text"),
        pytest.param("true", [True], id="true"),
        pytest.param("false", [False], id="false"),
        pytest.param("true.x", [], id="a-field-of-true"),
        pytest.param("12", [12], id="a-number"),
        pytest.param("1.5", [1.5], id="a-fraction"),
        pytest.param("-3", [-3], id="a-negative-number"),
        pytest.param("'a'", ["a"], id="a-text"),
        pytest.param('"a\\"b"', ['a"b'], id="an-escaped-quote"),
        pytest.param(".spec.list[*]'a'", ["a", "a", "a"], id="a-text-for-each-value"),
    ],
)
def test_matches_of_a_path(path, found):
    assert Path(path).find(OBJECT) == found


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(".spec.list[9]", id="an-index-out-of-bounds"),
        pytest.param(".spec[0]", id="an-index-of-a-map"),
        pytest.param(".spec[?(@.x)]", id="a-filter-of-a-map"),
        pytest.param(".status.conditions[?(@.type>1)]", id="texts-against-numbers"),
    ],
)
def test_a_path_without_a_match(path):
    with pytest.raises(NoValue):
        Path(path).find(OBJECT)


@pytest.mark.parametrize(
    "path",
    [
        ".spec[",
        ".spec[x]",
        ".spec[-]",
        ".spec[1:-]",
        ".spec[::-]",
        ".spec[?(@.x]",
        ".spec[?(@.x)",
        '.spec["x',
        "range",
        ".spec[?(@.x=!1)]",
        "#",
    ],
)
def test_invalid_paths(path):
    with pytest.raises(InvalidPath):
        Path(path)


@given(st.text(alphabet=".[]()@$*?:,'\"=<>!\\ -0123ab{}\n", max_size=25))
def test_any_text_is_parsed_or_rejected(text):
    try:
        path = Path(text)
    except InvalidPath:
        return
    try:
        assert isinstance(path.find(OBJECT), list)
    except NoValue:
        pass
