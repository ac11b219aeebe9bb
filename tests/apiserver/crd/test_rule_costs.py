"""The limits of the estimated costs of rules in definitions, and what their rules may say (`cel_validation.go`)."""

import pytest

from fakekube.apiserver.registry.apiextensions.customresourcedefinition.celvalidation import (
    RULE_LIMIT,
    TOTAL_LIMIT,
    CELSchemaContext,
    RuleCompiler,
    TotalCost,
)

#: The estimated cost of this rule is 2.
POSITIVE = {"rule": "self > 0"}
ADVICE = "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)"


def number(*rules):
    return {"type": "integer", "x-kubernetes-validations": list(rules)}


def array(**more):
    return {"type": "array", **more}


def mapping(**more):
    return {"type": "object", "additionalProperties": {}, **more}


def context(*parents, node=None):
    found = CELSchemaContext.root(parents[0], RuleCompiler()) if parents else None
    for parent in parents[1:]:
        found = found.child(parent, "items")
    node = node or number(POSITIVE)
    return CELSchemaContext.root(node, RuleCompiler()) if found is None else found.child(node, "items")


def errors(found, uncorrelatable="", *, costs=True):
    return [(one.field, one.message) for one in found.rule_errors("p", uncorrelatable, costs=costs)]


@pytest.mark.parametrize(
    ("parents", "times"),
    [
        ([], 1),
        ([{"type": "object", "properties": {}}], 1),
        ([{"type": "object", "maxProperties": 3}], 1),
        ([array(maxItems=3)], 3),
        ([array(maxItems=3), array(maxItems=4)], 12),
        ([array(maxItems=3), {"type": "object"}, mapping(maxProperties=5)], 15),
        ([array(maxItems=-3)], 0),
        ([array()], 3145728 // 2),
        ([mapping(), array(maxItems=3)], 3145728 // 2),
        ([array(maxItems=3), mapping()], 3145728 // 2),
        ([{"type": "string", "maxItems": 7}], 1),
        ([array(maxItems=2**63), array(maxItems=4)], (2**64 - 1) // 2),
    ],
)
def test_a_rule_costs_as_often_as_its_value_can_occur(parents, times):
    found = context(*parents)
    errors(found)
    assert found.total.cost // 2 == times


@pytest.mark.parametrize(("items", "factor"), [(5_000_000, ""), (5_000_001, "1.000000x"), (10_000_000, "2.0x")])
def test_a_rule_may_cost_ten_million(items, factor):
    assert RULE_LIMIT == 10_000_000
    found = context(array(maxItems=items))
    message = f"Forbidden: estimated rule cost exceeds budget by factor of {factor} {ADVICE}"
    assert errors(found) == ([("p.x-kubernetes-validations[0].rule", message)] if factor else [])
    assert errors(found, costs=False) == []


def test_a_message_expression_may_cost_ten_million_once():
    node = {"type": "array", "items": {"type": "number"}, "x-kubernetes-validations": [{"rule": "true", "messageExpression": "self.all(x, self.all(y, true)) ? 'a' : 'b'"}]}  # fmt: skip
    found = context(node=node)
    ((path, message),) = errors(found)
    assert path == "p.x-kubernetes-validations[0].messageExpression"
    assert message.startswith("Forbidden: estimated messageExpression cost exceeds budget by factor of more than 100x")
    assert errors(found, costs=False) == []
    assert [one for _, one in found.total.most_expensive] == [path, path]


def test_all_rules_together_may_cost_a_hundred_million():
    found = context()
    assert TOTAL_LIMIT == 100_000_000
    found.total.add("a", TOTAL_LIMIT)
    assert found.total_errors("p") == []
    found.total.add("b", 1)
    first, last = found.total_errors("p")
    assert (first.field, last.field) == ("a", "p")
    assert (
        first.message
        == "Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
    )
    name = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
    assert last.message == f"Forbidden: {name} exceeds budget by factor of 1.000000x {ADVICE}"


def test_the_total_is_a_number_of_64_bits():
    total = TotalCost()
    total.add("a", 2**63)
    total.add("b", 2**63)
    assert total.cost == 2**64 - 1


@pytest.mark.parametrize(
    ("rule", "uncorrelatable", "expected"),
    [
        ({"rule": "self > oldSelf"}, "", []),
        ({"rule": "self > oldSelf"}, "p.items", [("rule", 'Invalid value: "self > oldSelf": oldSelf cannot be used on the uncorrelatable portion of the schema within p.items')]),
        (POSITIVE, "p.items", []),
        ({"rule": "self > oldSelf.value()", "optionalOldSelf": True}, "", []),
        ({**POSITIVE, "optionalOldSelf": True}, "", [("optionalOldSelf", "Invalid value: true: may not be set if oldSelf is not used in rule")]),
        ({**POSITIVE, "optionalOldSelf": False}, "", [("optionalOldSelf", "Invalid value: false: may not be set if oldSelf is not used in rule")]),
    ],
)  # fmt: skip
def test_where_rules_may_use_the_old_value(rule, uncorrelatable, expected):
    found = errors(context(node=number(rule)), uncorrelatable)
    assert found == [(f"p.x-kubernetes-validations[0].{name}", message) for name, message in expected]


def test_each_rule_that_does_not_compile_is_named():
    rules = [{"rule": "self >"}, POSITIVE, {**POSITIVE, "messageExpression": "1"}]
    found = errors(context(node=number(*rules)))
    assert [path for path, _ in found] == [
        "p.x-kubernetes-validations[0].rule",
        "p.x-kubernetes-validations[2].messageExpression",
    ]
    assert found[0][1].startswith("Invalid value: ")
    assert "compilation failed: " in found[0][1]
    assert found[1][1].endswith("messageExpression must evaluate to a string")


def test_equal_nodes_are_compiled_once_but_not_for_the_root():
    compiler, node = (
        RuleCompiler(),
        {"type": "object", "x-kubernetes-validations": [{"rule": "self.metadata.name == 'a'"}]},
    )
    rooted, inner = compiler.compiled(node, root=True), compiler.compiled(dict(node), root=False)
    assert compiler.compiled(dict(node), root=True) is rooted
    assert (rooted[1][0].problem == "", "undefined field 'metadata'" in inner[1][0].problem) == (True, True)


@pytest.mark.parametrize(
    "node",
    [
        {"type": "array"},
        {},
        {"x-kubernetes-preserve-unknown-fields": True},
        {"type": "array", "items": {"type": "array"}},
    ],
)
def test_a_node_without_a_type_in_expressions_has_one_error(node):
    found = errors(context(node={**node, "x-kubernetes-validations": [POSITIVE, POSITIVE]}))
    what = "failed to construct type information for x-kubernetes-validations rules"
    why = "unable to convert structural schema to CEL declarations"
    assert found == [("p.x-kubernetes-validations", f"Internal error: internal error: {what}: {why}")]
