"""The cost budget of the rules for an object, messages that cost too much, and the rules of unchanged values."""

from typing import Any

import pytest

from fakekube.apiserver.crd.correlatedobject import CorrelatedObject
from fakekube.apiserver.crd.structural import Structural
from fakekube.apiserver.crd.validationrules import MESSAGE_LIMIT, RatchetingOptions, RuleResults, RuleValidator

OUT = "validation failed due to running out of cost budget, no further validation rules will be run"
OUT_IN_MESSAGE = (
    "messageExpression evaluation failed due to running out of cost budget, no further validation rules will be run"
)

#: A rule that holds for 3 and one that does not; each costs 2, and the message of the last one 3 more.
GOOD, BAD = {"rule": "self > 0"}, {"rule": "self < 0"}
BAD_WITH_MESSAGE = {**BAD, "messageExpression": "'not ' + string(self)"}

#: An expression that costs more than one evaluation may, for a long value.
EXPENSIVE, LONG = "self.all(a, self.all(b, !a.contains('y')))", ["x" * 10_000] * 40
LISTED = {"type": "array", "items": {"type": "string"}}
EMPTY = {"rule": "self.size() == 0"}


def schema_of(*rules: Any, **schema: Any) -> Structural:
    return Structural({"type": "integer", **schema, "x-kubernetes-validations": list(rules)})


def applied(schema: Structural, value: Any, budget: int = 100, old: Any = None, path: str = "f") -> RuleResults:
    rules = RuleValidator.of(schema)
    assert rules is not None
    found = RuleResults(budget=budget)
    known = RatchetingOptions() if old is None else RatchetingOptions(CorrelatedObject(value, old, schema))
    rules.apply(value, old, path, known, found)
    return found


def texts(found: RuleResults) -> list[str]:
    return [one.message.rpartition("Invalid value: ")[2] for one in found.errors]


@pytest.mark.parametrize(
    ("rules", "budget", "errors", "left"),
    [
        pytest.param([GOOD, GOOD], 100, [], 96, id="each rule costs"),
        pytest.param([BAD, GOOD], 100, ["3: failed rule: self < 0"], 96, id="one that fails, too"),
        pytest.param([GOOD], 2, [], 0, id="all of the budget"),
        pytest.param([GOOD], 1, [f'"integer": {OUT}'], -1, id="more than the budget"),
        pytest.param([GOOD, GOOD, GOOD], 2, [f'"integer": {OUT}'], -1, id="nothing is left for the next"),
        pytest.param([GOOD, {"rule": "true"}], 2, [f'"integer": {OUT}'], -1, id="not even for one that costs nothing"),
        pytest.param([{"rule": "true"}], 1, [], 1, id="one that costs nothing"),
        pytest.param([BAD, GOOD, BAD], 3, ["3: failed rule: self < 0", f'"integer": {OUT}'], -1, id="too little for it"),
        pytest.param([BAD_WITH_MESSAGE], 100, ["3: not 3"], 95, id="a message costs"),
        pytest.param([BAD_WITH_MESSAGE], 5, ["3: not 3"], 0, id="all of the budget for the message"),
        pytest.param([BAD_WITH_MESSAGE, BAD], 4, [f'"integer": {OUT_IN_MESSAGE}'], -1, id="too little for the message"),
        pytest.param([{"rule": ""}, {"rule": "self == oldSelf"}], 0, [], 0, id="rules that are not evaluated cost nothing"),
    ],
)  # fmt: skip
def test_rules_spend_the_budget_of_their_object(rules, budget, errors, left):
    found = applied(schema_of(*rules), 3, budget)
    assert (texts(found), found.budget) == (errors, left)


def test_the_budget_is_that_of_all_fields_and_items():
    one = {"type": "integer", "x-kubernetes-validations": [GOOD]}
    schema = Structural({"type": "object", "properties": {"a": one, "b": one, "c": one, "d": one}})
    assert applied(schema, {"a": 1, "b": 1}).budget == 96
    found = applied(schema, {"a": 1, "b": 1, "c": 1, "d": 1}, 3)
    assert [(error.field, error.message) for error in found.errors] == [("f.b", f'Invalid value: "integer": {OUT}')]
    items = Structural({"type": "array", "items": one})
    for budget in (2, 3):
        assert [error.field for error in applied(items, [1, 1, 1], budget).errors] == ["f[1]"]
    assert applied(items, [1, None, 1]).budget == 96


def test_an_evaluation_has_its_own_limit():
    found = applied(schema_of({"rule": EXPENSIVE, "message": " no "}, EMPTY, **LISTED), LONG, 10**7)
    why = "'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to"
    assert texts(found) == [f'"array": {why} call cost exceeds limit for rule: no']
    assert found.budget == -1


@pytest.mark.parametrize(
    ("budget", "why"),
    [
        (
            10**7,
            "no further validation rules will be run due to call cost exceeds limit for messageExpression: "
            f"\"{EXPENSIVE} ? 'a' : 'b'\"",
        ),
        (10**6, OUT_IN_MESSAGE),
    ],
)
def test_a_message_that_costs_too_much_ends_the_evaluation(budget, why):
    rule = {**EMPTY, "message": "no", "messageExpression": f"{EXPENSIVE} ? 'a' : 'b'"}
    found = applied(schema_of(rule, EMPTY, **LISTED), LONG, budget)
    assert (texts(found), found.budget) == ([f'"array": {why}'], -1)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("' a '", "a"),
        ("'a\\nb'", "written"),
        ("' '", "written"),
        ("['a'][self]", "written"),
        (f"'{'x' * MESSAGE_LIMIT}'", "x" * MESSAGE_LIMIT),
        (f"'{'x' * (MESSAGE_LIMIT + 1)}'", "written"),
        (f"'{'ö' * (MESSAGE_LIMIT // 2)}'", "ö" * (MESSAGE_LIMIT // 2)),
        (f"'{'ö' * (MESSAGE_LIMIT // 2)}x'", "written"),
    ],
    ids=["trimmed", "two lines", "blank", "fails", "as long as allowed", "too long", "bytes", "too many bytes"],
)
def test_a_message_is_a_line_of_at_most_5_kib(expression, message):
    found = applied(schema_of({**BAD, "message": " written ", "messageExpression": expression}), 3)
    assert texts(found) == [f"3: {message}"]


NOT_NEGATIVE = {"rule": "self >= 0"}
KEEPS_SIGN = {"rule": "self >= 0 || oldSelf < -10"}


@pytest.mark.parametrize(
    ("rule", "value", "old", "errors", "warnings"),
    [
        pytest.param(NOT_NEGATIVE, -1, -1, 0, 1, id="unchanged"),
        pytest.param(NOT_NEGATIVE, -1, -2, 1, 0, id="changed"),
        pytest.param(NOT_NEGATIVE, -1, None, 1, 0, id="new"),
        pytest.param(KEEPS_SIGN, -1, -1, 1, 0, id="a rule of both values"),
        pytest.param(KEEPS_SIGN, -1, None, 0, 0, id="a rule of both values without an old one"),
    ],
)
def test_rules_of_the_new_value_only_warn_of_an_unchanged_one(rule, value, old, errors, warnings):
    found = applied(schema_of(rule), value, old=old)
    assert (len(found.errors), len(found.warnings)) == (errors, warnings)


def test_a_value_that_cannot_be_correlated_is_as_unchanged_as_the_value_around_it():
    item = {"type": "integer", "x-kubernetes-validations": [NOT_NEGATIVE]}
    schema = Structural({"type": "object", "properties": {"a": {"type": "array", "items": item}, "b": item}})
    found = applied(schema, {"a": [-1], "b": -1}, old={"a": [-1], "b": -2})
    assert ([error.field for error in found.errors], len(found.warnings)) == (["f.b"], 1)
    found = applied(schema, {"a": [-1, 1]}, old={"a": [-1]})
    assert ([error.field for error in found.errors], found.warnings) == (["f.a[0]"], [])


def test_items_of_a_map_are_compared_with_those_of_their_key():
    item = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "n": {"type": "integer"}},
        "x-kubernetes-validations": [{"rule": "self.n >= oldSelf.n"}],
    }
    keyed = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}
    new = [{"name": "b", "n": 1}, {"name": "a", "n": 1}, {"name": "c", "n": 0}]
    old = [{"name": "a", "n": 2}, {"name": "b", "n": 1}]
    found = applied(Structural({"type": "array", "items": item, **keyed}), new, old=old)
    assert [error.field for error in found.errors] == ["f[1]"]
    assert not applied(Structural({"type": "array", "items": item}), new, old=old).errors
    assert not applied(Structural({"type": "array", "items": item, **keyed}), new, old={"a": 1}).errors


@pytest.mark.parametrize(
    ("path", "field_path", "expected"),
    [("", "", "<nil>"), ("", ".n", "n"), ("f", "", "f"), ("f", ".n", "f.n")],
)
def test_the_path_of_an_error(path, field_path, expected):
    rule = {"rule": "self.n > 1", **({"fieldPath": field_path} if field_path else {})}
    schema = schema_of(rule, type="object", properties={"n": {"type": "integer"}})
    (error,) = applied(schema, {"n": 1}, path=path).errors
    assert error.field == expected
