"""Which labels a selector of an object selects: one table for both implementations, that of validation and that of lists."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakekube.apiserver.registry.generic.validation import labelselectors
from fakekube.apiserver.wire.selectors import of_object

LABELS = {"a": "1", "b": "", "c": "x"}


def requires(key, operator, *values):
    return {"matchExpressions": [{"key": key, "operator": operator, **({"values": list(values)} if values else {})}]}


@pytest.mark.parametrize(
    ("selector", "selects"),
    [
        ({}, True),
        ({"matchLabels": {}}, True),
        ({"matchLabels": {"a": "1"}}, True),
        ({"matchLabels": {"a": "1", "b": ""}}, True),
        ({"matchLabels": {"a": "1", "c": "y"}}, False),
        ({"matchLabels": {"d": ""}}, False),
        ({"matchLabels": {"a": "2"}}, False),
        (requires("a", "In", "1"), True),
        (requires("a", "In", "2", "1"), True),
        (requires("a", "In", "2"), False),
        (requires("d", "In", "1"), False),
        (requires("d", "In", ""), False),
        (requires("b", "In", ""), True),
        (requires("a", "NotIn", "1"), False),
        (requires("a", "NotIn", "2"), True),
        (requires("a", "NotIn", "2", "1"), False),
        (requires("d", "NotIn", "1"), True),
        (requires("b", "NotIn", ""), False),
        (requires("a", "Exists"), True),
        (requires("b", "Exists"), True),
        (requires("d", "Exists"), False),
        (requires("a", "DoesNotExist"), False),
        (requires("b", "DoesNotExist"), False),
        (requires("d", "DoesNotExist"), True),
        ({"matchLabels": {"a": "1"}, **requires("c", "Exists")}, True),
        ({"matchLabels": {"a": "1"}, **requires("d", "Exists")}, False),
        ({"matchLabels": {"a": "2"}, **requires("c", "Exists")}, False),
        ({"matchExpressions": [*requires("a", "Exists")["matchExpressions"], *requires("d", "Exists")["matchExpressions"]]}, False),
    ],
)  # fmt: skip
def test_what_a_selector_selects(selector, selects):
    assert labelselectors.matches(selector, LABELS) is selects
    assert of_object(selector).matches(LABELS) is selects


@pytest.mark.parametrize("labels", [None, {}])
def test_without_labels_a_selector_selects_what_needs_none(labels):
    for selector, selects in (({}, True), (requires("a", "DoesNotExist"), True), (requires("a", "Exists"), False)):
        assert labelselectors.matches(selector, labels) is selects
    assert labelselectors.matches(None, labels) is False


KEYS, VALUES = st.sampled_from("ab"), st.sampled_from(["", "1", "2"])
EXPRESSIONS = st.builds(
    lambda key, operator, values: {"key": key, "operator": operator, "values": values if "In" in operator else []},
    KEYS,
    st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist"]),
    st.lists(VALUES, min_size=1, max_size=2),
)


@given(
    st.fixed_dictionaries({"matchLabels": st.dictionaries(KEYS, VALUES), "matchExpressions": st.lists(EXPRESSIONS)}),
    st.dictionaries(KEYS, VALUES),
)
def test_both_implementations_agree(selector, labels):
    assert labelselectors.matches(selector, labels) is of_object(selector).matches(labels)
    assert labelselectors.is_empty(selector) <= labelselectors.matches(selector, labels)


@pytest.mark.parametrize(
    ("selector", "empty"),
    [(None, False), ({}, True), ({"matchLabels": {}, "matchExpressions": []}, True), ({"matchLabels": {"a": "b"}}, False), (requires("a", "Exists"), False)],
)  # fmt: skip
def test_an_empty_selector_selects_everything_and_an_absent_one_nothing(selector, empty):
    assert labelselectors.is_empty(selector) is empty
