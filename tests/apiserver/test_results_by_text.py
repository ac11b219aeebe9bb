"""Results that are stored by the JSON text of the argument are those that the function returns."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakekube.apiserver import features, resultsbytext
from fakekube.apiserver.registry.core.pod.validation.podoptions import TEMPLATE, PodOptions
from fakekube.apiserver.registry.core.podtemplate.warnings import of_template
from fakekube.apiserver.resultsbytext import Remembered

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=6,
)


class CountedFunction:
    """A function that counts its calls."""

    def __init__(self):
        self.calls = 0

    def __call__(self, value, *others):
        self.calls += 1
        return repr(value), others


@given(st.lists(st.tuples(VALUES, st.sampled_from([TEMPLATE, PodOptions(), 1])), max_size=8))
def test_a_result_is_that_of_the_function(asked):
    counted = CountedFunction()
    function = Remembered(counted)
    for value, other in [*asked, *asked]:
        assert function(value, other) == (repr(value), (other,))


def test_the_result_is_stored_at_the_second_call():
    counted = CountedFunction()
    function = Remembered(counted)
    function({"a": [1]})
    assert function({"a": [1]}) is function({"a": [1]}) is function({"a": [1]})
    assert counted.calls == 2


def test_a_spec_with_new_labels_is_not_encoded():
    counted = CountedFunction()
    function = Remembered(counted)
    for app in "aabaabaab":
        function({"selector": {"matchLabels": {"app": app}}})
    assert counted.calls == 6, "each spec is evaluated three times: the third result is stored"


@pytest.mark.parametrize("selector", [None, "a", {"matchLabels": None}, {"matchLabels": {"app": ["x"]}}, {"app": "x"}])
def test_other_selectors_do_not_delay_the_storing(selector):
    counted = CountedFunction()
    function = Remembered(counted)
    for _ in range(4):
        assert function({"selector": selector})[0] == repr({"selector": selector})
    assert counted.calls == 2


def test_equal_arguments_with_another_identity_have_results_of_their_own():
    counted = CountedFunction()
    function = Remembered(counted)
    one, other = PodOptions(), PodOptions()
    for others in (one, other, one, other, one, other):
        function("a", others)
    assert counted.calls == 4


def test_the_result_of_a_value_that_cannot_be_encoded_is_not_stored():
    counted = CountedFunction()
    function = Remembered(counted)
    assert function(2**70) == function(2**70) == (repr(2**70), ())
    assert counted.calls == 2


def test_long_values_have_results_of_their_own():
    counted = CountedFunction()
    function = Remembered(counted)
    texts = ["x" * 20_000, "x" * 20_000 + "y"]
    assert [function(text)[0] for text in texts * 3] == [*map(repr, texts * 3)]
    assert counted.calls == 4


@pytest.mark.parametrize(
    ("limit", "values", "calls"),
    [
        pytest.param("MOST", (1, 1, 2, 2, 3, 3, 1), 7, id="results"),
        pytest.param("MOST", (1, 1, 2, 2, 1, 2), 4, id="no more results than are kept"),
        pytest.param("MOST_NOTED", (1, 2, 3, 1, 1, 1), 5, id="values"),
        pytest.param("MOST_NOTED", (1, 2, 1, 1), 3, id="no more values than are known"),
    ],
)
def test_the_number_of_stored_results_is_limited(monkeypatch, limit, values, calls):
    monkeypatch.setattr(resultsbytext, limit, 2)
    counted = CountedFunction()
    function = Remembered(counted)
    assert [function(value)[0] for value in values] == [*map(repr, values)]
    assert counted.calls == calls


def test_the_warnings_about_a_template_are_those_of_the_version():
    """That the files of two sources have one path is a warning since 1.32."""
    source = {"configMap": {"name": "a", "items": [{"key": "k", "path": "p"}]}}
    template = {"spec": {"containers": [], "volumes": [{"name": "v", "projected": {"sources": [source, source]}}]}}

    def warned(version):
        token = features.use(features.features_of(version))
        try:
            return bool(of_template({"spec": {"template": template}}))
        finally:
            features.leave(token)

    assert [warned(version) for version in ("1.36", "1.31") * 3] == [True, False] * 3
