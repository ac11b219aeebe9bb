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


def workload(labels, selector=None):
    return {"selector": selector or {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": {}}}


def test_specs_that_differ_in_the_values_of_their_labels_have_one_result():
    counted = CountedFunction()
    function = Remembered(counted)
    found = [function(workload({"app": app, "tier": "x"})) for app in "abcd"]
    assert counted.calls == 2
    assert [one[0] for one in found] == [repr(workload({"app": app, "tier": "x"})) for app in "abbb"]
    function(workload({"app": "a"}))
    assert counted.calls == 3, "the names of the labels are others"


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda app: workload({"app": f"-{app}"}), id="invalid"),
        pytest.param(lambda app: workload({"app": app}, {"matchLabels": {"app": "x"}}), id="not selected"),
        pytest.param(lambda app: workload({"app": app}, {"matchExpressions": [{"key": "app"}]}), id="expressions"),
        pytest.param(lambda app: {"selector": {"matchLabels": {"app": app}}}, id="no template"),
        pytest.param(lambda app: {"selector": {"app": app}, "template": {"metadata": {}}}, id="a plain selector"),
        pytest.param(lambda app: {**workload({}), "template": app}, id="a text"),
        pytest.param(lambda app: workload({"app": app}, {"matchLabels": [app]}), id="a list"),
        pytest.param(lambda app: [workload({"app": app})], id="another value"),
    ],
)
def test_other_specs_have_results_of_their_own(make):
    counted = CountedFunction()
    function = Remembered(counted)
    for app in "abab":
        assert function(make(app))[0] == repr(make(app))
    assert counted.calls == 4
    function(make("a"))
    assert counted.calls == 4, "stored"


@pytest.mark.parametrize("value", [1, None, ["x"]])
def test_labels_that_are_no_texts_have_results_of_their_own(value):
    function = Remembered(CountedFunction())
    assert [function(workload({"app": one}))[0] for one in (value, "a", value)] == [
        repr(workload({"app": one})) for one in (value, "a", value)
    ]


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
