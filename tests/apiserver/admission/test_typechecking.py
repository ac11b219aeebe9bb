"""Type checks of ValidatingAdmissionPolicies against schemas (upstream: typechecking_test.go)."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakekube.apiserver.cel.types import DYN
from fakekube.apiserver.registry.admissionregistration.typechecking import (
    MOST_TYPES,
    declared_type,
    expression_warnings,
    param_type,
    populated,
    types_to_check,
)

STRING, INTEGER = {"type": "string"}, {"type": "integer"}
DEPLOYMENT = ("apps", "v1", "Deployment")


def rule(groups, versions, resources):
    return {"apiGroups": groups, "apiVersions": versions, "resources": resources, "operations": ["*"]}


def policy(*expressions, rules=(), **spec):
    validations = [one if isinstance(one, dict) else {"expression": one} for one in expressions]
    return {"spec": {"matchConstraints": {"resourceRules": list(rules)}, "validations": validations, **spec}}


# --- which types are checked

SERVED = {
    ("apps", "v1", "deployments"): [DEPLOYMENT],
    ("apps", "v1beta1", "deployments"): [("apps", "v1beta1", "Deployment")],
    ("apps", "v1", "replicasets"): [("apps", "v1", "ReplicaSet")],
    ("", "v1", "pods"): [("", "v1", "Pod")],
    ("", "v1", "events"): [("", "v1", "Event"), ("events.k8s.io", "v1", "Event")],
    **{("", "v1", name): [("", "v1", "Wrong")] for name in ("*", "pods/*", "pods/status", "*/scale")},
    ("many", "v0", "r19"): [("many", "v0", "R19")],
    **{("many", "v1", f"r{i:02}"): [("many", "v1", f"R{i:02}")] for i in range(20)},
}


def kinds_for(*resource):
    return SERVED.get(resource, ())


MANY = [f"r{i:02}" for i in range(20)]
PODS, EXACT = rule([""], ["v1"], ["pods"]), rule(["apps"], ["v1"], ["deployments"])


@pytest.mark.parametrize(
    ("rules", "kinds"),
    [
        pytest.param([], [], id="no-rules"),
        pytest.param([EXACT], [DEPLOYMENT], id="one"),
        pytest.param([EXACT, PODS], [("", "v1", "Pod"), DEPLOYMENT], id="in-order-of-groups"),
        pytest.param([EXACT, EXACT], [DEPLOYMENT], id="each-once"),
        pytest.param(
            [rule(["apps"], ["v1", "v1beta1"], ["replicasets", "deployments"])],
            [DEPLOYMENT, ("apps", "v1", "ReplicaSet"), ("apps", "v1beta1", "Deployment")],
            id="in-order-of-versions-and-kinds",
        ),
        pytest.param([rule(["apps"], ["v1"], ["*"])], [], id="any-resource"),
        pytest.param([rule(["*"], ["v1"], ["deployments"]), PODS], [("", "v1", "Pod")], id="any-group"),
        pytest.param([rule(["apps"], ["*"], ["deployments"]), PODS], [("", "v1", "Pod")], id="any-version"),
        pytest.param([rule(["apps", "*"], ["v1"], ["deployments"])], [], id="any-group-besides-others"),
        pytest.param([rule(["apps"], ["v1", "*"], ["deployments"])], [], id="any-version-besides-others"),
        pytest.param([rule(["apps"], ["v1"], ["*", "deployments"])], [DEPLOYMENT], id="any-resource-besides-others"),
        pytest.param([rule([""], ["v1"], ["pods/*", "pods/status", "*/scale"])], [], id="subresources"),
        pytest.param([rule(["apps"], ["v1"], ["unknown", "deployments"])], [DEPLOYMENT], id="unknown-resource"),
        pytest.param(
            [rule([""], ["v1"], ["events"])], [("", "v1", "Event"), ("events.k8s.io", "v1", "Event")], id="two-kinds"
        ),
        pytest.param([{"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["*"]}], [], id="no-resources"),
        pytest.param(
            [rule(["many"], ["v1"], MANY[::-1]), PODS], [("many", "v1", f"R{i:02}") for i in range(10)], id="most"
        ),
        pytest.param(
            [rule(["many", "apps"], ["v1"], [*MANY, "deployments"])],
            [DEPLOYMENT, *(("many", "v1", f"R{i:02}") for i in range(9))],
            id="most-in-order-of-groups",
        ),
        pytest.param(
            [rule(["many"], ["v1", "v0"], MANY)],
            [("many", "v0", "R19"), *(("many", "v1", f"R{i:02}") for i in range(9))],
            id="most-in-order-of-versions",
        ),
        pytest.param(
            [rule(["many"], ["v1"], MANY[:9]), PODS],
            [("", "v1", "Pod"), *(("many", "v1", f"R{i:02}") for i in range(9))],
            id="below-the-most",
        ),
    ],
)
def test_the_kinds_of_a_policy(rules, kinds):
    assert types_to_check(policy(rules=rules), kinds_for) == kinds


def test_a_rule_counts_what_it_adds_not_what_all_rules_add():
    rules = [rule(["many"], ["v1"], MANY[:6]), rule(["many"], ["v1"], MANY[6:12]), PODS]
    assert len(types_to_check(policy(rules=rules), kinds_for)) == 13
    assert MOST_TYPES == 10


@pytest.mark.parametrize(
    ("kind", "found"),
    [
        (None, None),
        ({"apiVersion": "v1", "kind": "ConfigMap"}, ("", "v1", "ConfigMap")),
        ({"apiVersion": "example.com/v1beta1", "kind": "Limit"}, ("example.com", "v1beta1", "Limit")),
    ],
)
def test_the_kind_of_parameters(kind, found):
    assert param_type(policy(paramKind=kind)) == found


# --- schemas


def document(schema, **others):
    group, version, kind = DEPLOYMENT
    marked = {**schema, "x-kubernetes-group-version-kind": [{"group": group, "version": version, "kind": kind}]}
    return {"components": {"schemas": {**others, "a.b.Deployment": marked}}}


def reference(name):
    return {"$ref": f"#/components/schemas/{name}"}


def fields(**properties):
    return {"type": "object", "properties": properties}


def declared(schema, **others):
    return declared_type(document(schema, **others), DEPLOYMENT, "7")


def warnings_of(*expressions, schema, params=None, **spec):
    """The warnings as pairs, each without the kind and the lines that show the place."""
    found = expression_warnings(policy(*expressions, **spec), {DEPLOYMENT: declared(schema)}, params)
    return [(one["fieldRef"], *one["warning"].splitlines()[:1]) for one in found]


def complaint(expression, schema, **others):
    """What is said first about an expression, without its place; "" if nothing is."""
    found = expression_warnings(policy(expression), {DEPLOYMENT: declared(schema, **others)}, None)
    return found[0]["warning"].splitlines()[0].rpartition(": ")[2] if found else ""


QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"


@pytest.mark.parametrize(
    ("schema", "expression", "said"),
    [
        pytest.param(fields(foo=STRING), "object.foo == 'bar'", "", id="string"),
        pytest.param(fields(bar=STRING), "object.foo == 'bar'", "undefined field 'foo'", id="undefined"),
        pytest.param(fields(bar=STRING), "oldObject.foo == 'bar'", "undefined field 'foo'", id="old-object"),
        pytest.param(
            fields(foo=INTEGER),
            "object.foo == 'bar'",
            "found no matching overload for '_==_' applied to '(int, string)'",
            id="mismatch",
        ),
        pytest.param({}, "object.any.thing == 1", "", id="no-type"),
        pytest.param(fields(), "object.kind + object.apiVersion + object.metadata.name == ''", "", id="of-each-object"),
        pytest.param(fields(), "object.metadata.generateName == ''", "", id="generated-name"),
        pytest.param(fields(), "object.metadata.labels == {}", "undefined field 'labels'", id="other-metadata"),
        pytest.param(
            fields(kind=STRING, apiVersion=STRING, metadata=fields(name=STRING, generateName=STRING, labels=STRING)),
            "object.metadata.labels == ''",
            "",
            id="metadata-of-the-schema",
        ),
        pytest.param(
            fields(kind=STRING, apiVersion=STRING, metadata=fields(name=STRING, labels=STRING)),
            "object.metadata.labels == ''",
            "undefined field 'labels'",
            id="incomplete-metadata",
        ),
        pytest.param(
            fields(status=fields(odd={"type": "object", "additionalProperties": True})), "has(object.status.odd)", "",
            id="any-properties",
        ),
        pytest.param(
            fields(labels={"type": "object", "additionalProperties": INTEGER}),
            "object.labels.x == 'a'",
            "found no matching overload for '_==_' applied to '(int, string)'",
            id="values-of-a-map",
        ),
        pytest.param(fields(port={"format": "int-or-string", "oneOf": []}), "object.port == 80", "", id="int-or-string"),
        pytest.param(
            fields(port={"format": "int-or-string", "oneOf": []}), "object.port == '80%'", "", id="int-or-string-as-text"
        ),
        pytest.param(fields(size=reference(QUANTITY)), "object.size == '1Gi'", "", id="quantity"),
        pytest.param(
            fields(size={"default": {}, "allOf": [reference(QUANTITY)]}),
            "object.size == 1",
            "found no matching overload for '_==_' applied to '(string, int)'",
            id="quantity-is-a-string",
        ),
        pytest.param(fields(foo={"oneOf": [STRING, INTEGER]}), "object.foo == 1", "undefined field 'foo'", id="untyped"),
        pytest.param(
            fields(at={"type": "string", "format": "date-time"}), "object.at > timestamp('2026-01-01T00:00:00Z')", "",
            id="time",
        ),
        pytest.param(fields(**{"a-b": STRING}), "object.a__dash__b == ''", "", id="escaped"),
        pytest.param(fields(), "authorizer.group('').resource('pods').check('get').allowed()", "", id="authorizer"),
        pytest.param(
            fields(),
            "authorizer.allowed()",
            "found no matching overload for 'allowed' applied to 'kubernetes.authorization.Authorizer.()'",
            id="authorizer-misused",
        ),
        pytest.param(fields(), "request.userInfo.username == ''", "", id="request"),
        pytest.param(fields(), "request.user == ''", "undefined field 'user'", id="request-misused"),
        pytest.param(fields(), "namespaceObject.metadata.labels == {}", "", id="namespace"),
        pytest.param(fields(), "1", "", id="any-result"),
        pytest.param(fields(), "params.x == 1", "undeclared reference to 'params' (in container '')", id="no-params"),
    ],
)  # fmt: skip
def test_what_is_said_of_an_expression(schema, expression, said):
    assert complaint(expression, schema, **{QUANTITY: {"oneOf": [STRING, {"type": "number"}]}}) == said


def test_references_are_replaced_and_those_to_themselves_are_objects_without_fields():
    others = {
        "Node": fields(
            value=STRING, next={"allOf": [reference("Node")]}, all={"type": "array", "items": reference("Leaf")}
        ),
        "Leaf": fields(value=INTEGER),
    }
    leaf = fields(value=INTEGER)
    node = fields(value=STRING, next={"type": "object"}, all={"type": "array", "items": leaf})
    schema = fields(
        a=reference("Node"), b=reference("Node"), c={"type": "object", "additionalProperties": reference("Leaf")}
    )
    expanded = fields(a=node, b=node, c={"type": "object", "additionalProperties": leaf})
    assert populated(schema, others) == expanded
    assert complaint("object.b.all[0].value == 1 && object.a.value == ''", schema, **others) == ""
    assert complaint("object.a.next.value == ''", schema, **others) == "undefined field 'value'"


def test_a_kind_that_a_document_does_not_have_is_not_declared():
    assert declared_type({}, DEPLOYMENT, "") is None
    assert declared_type(document(fields()), ("apps", "v1", "ReplicaSet"), "") is None
    assert declared_type(document({}), DEPLOYMENT, "") is DYN


def test_types_of_objects_are_named_by_kind_suffix_and_path():
    found = declared(fields(spec=fields(list={"type": "array", "items": fields()})))
    assert str(found) == "Deployment7"
    text = "object.spec.list[0] == 1 || object.spec == 1"
    said = complaint(text, fields(spec=fields(list={"type": "array", "items": fields()})))
    assert said == "found no matching overload for '_==_' applied to '(Deployment7.spec.list.@idx, int)'"


# --- warnings


def test_a_warning_names_the_kind_and_shows_the_place():
    types = {("", "v1", "Pod"): declared(fields(bar=STRING)), DEPLOYMENT: declared(fields())}
    shown = "ERROR: <input>:1:7: undefined field 'foo'\n | object.foo == 1\n | ......^\n"
    assert expression_warnings(policy("object.foo == 1"), types, None) == [
        {
            "fieldRef": "spec.validations[0].expression",
            "warning": f"/v1, Kind=Pod: {shown}\napps/v1, Kind=Deployment: {shown}",
        }
    ]


def test_each_expression_and_each_message_has_its_warning():
    undefined = "apps/v1, Kind=Deployment: ERROR: <input>:1:7: undefined field"
    expressions = [
        {"expression": "object.foo == 'x'", "messageExpression": "object.bar"},
        {"expression": "object.bar == 'x'", "messageExpression": "object.foo"},
        {"expression": "true", "messageExpression": ""},
    ]
    assert warnings_of(*expressions, schema=fields(foo=STRING)) == [
        ("spec.validations[0].messageExpression", f"{undefined} 'bar'"),
        ("spec.validations[1].expression", f"{undefined} 'bar'"),
    ]


@pytest.mark.parametrize(
    ("params", "expression", "said"),
    [
        pytest.param(fields(foo=STRING), "object.foo == params.foo", [], id="defined"),
        pytest.param(fields(), "object.foo == params.bar", ["undefined field 'bar'"], id="undefined"),
        pytest.param({}, "params != null && params.x.y == 1", [], id="untyped"),
    ],
)
def test_parameters_have_the_type_of_their_kind(params, expression, said):
    found = warnings_of(expression, schema=fields(foo=STRING), params=declared(params))
    assert [text.rpartition(": ")[2] for _, text in found] == said


@pytest.mark.parametrize(
    ("variables", "expression", "said"),
    [
        pytest.param([("works", "true")], "variables.works", "", id="valid"),
        pytest.param([("works", "true")], "variables.other", "undefined field 'other'", id="undefined"),
        pytest.param([], "variables.other", "undefined field 'other'", id="none"),
        pytest.param(
            [("name", "'a'")],
            "variables.name == object.foo",
            "found no matching overload for '_==_' applied to '(string, int)'",
            id="mismatch",
        ),
        pytest.param([("wrong", "object.bar")], "variables.wrong.x + 1 == 'a'.size()", "", id="wrong-is-dyn"),
        pytest.param([("o", "object")], "variables.o.bar == 1", "", id="objects-are-dyn"),
        pytest.param([("l", "[object]")], "variables.l[0].bar == 1", "", id="objects-in-lists-are-dyn"),
        pytest.param(
            [("l", "{'a': [object.foo]}")],
            "variables.l.a[0] == ''",
            "found no matching overload for '_==_' applied to '(int, string)'",
            id="lists-and-maps-keep-their-types",
        ),
        pytest.param([("o", "optional.of(1)")], "variables.o.any().thing", "undeclared reference to 'any' (in container '')",
                     id="optional-is-dyn"),
        pytest.param([("a", "1"), ("b", "variables.a")], "variables.b == ''",
                     "found no matching overload for '_==_' applied to '(int, string)'", id="of-variables"),
    ],
)  # fmt: skip
def test_variables_have_the_types_of_their_expressions(variables, expression, said):
    spec = {"variables": [{"name": name, "expression": text} for name, text in variables]}
    found = warnings_of(expression, schema=fields(foo=INTEGER), **spec)
    assert [text.rpartition(": ")[2] for _, text in found] == ([said] if said else [])


NAMES = st.sampled_from("abc")
SCHEMAS = st.recursive(
    st.sampled_from([STRING, INTEGER, {"type": "boolean"}, {}]),
    lambda part: st.one_of(
        st.dictionaries(NAMES, part, max_size=3).map(lambda given: fields(**given)),
        part.map(lambda one: {"type": "object", "additionalProperties": one}),
    ),
    max_leaves=6,
)


def selectable(schema, path):
    """Whether a path can be selected: the model of declared types. None: its schema is not declared."""
    if "additionalProperties" in schema:
        return declarable(schema) and (not path or selectable(schema["additionalProperties"], path[1:]))
    if not path:
        return declarable(schema)
    return selectable(schema.get("properties", {}).get(path[0], {}), path[1:])


def declarable(schema):
    if "additionalProperties" in schema:
        return declarable(schema["additionalProperties"])
    return "type" in schema


@settings(max_examples=30, deadline=None)
@given(st.dictionaries(NAMES, SCHEMAS, min_size=1, max_size=3), st.lists(NAMES, min_size=1, max_size=4))
def test_a_selection_is_accepted_where_the_schema_has_it(properties, path):
    schema = fields(**properties)
    said = complaint("has(" + ".".join(["object", *path]) + ")", schema)
    assert (said == "") == bool(selectable(schema, path))
