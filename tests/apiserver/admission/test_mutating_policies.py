"""MutatingAdmissionPolicies."""

import pytest

from tests.apiserver.api import CONFIGMAPS, CRDS, configmap

GROUP = "/apis/admissionregistration.k8s.io/v1"


def version(name, default, *, storage=False):
    spec = {"type": "object", "properties": {"d": {"type": "string", "default": default}, "z": {"type": "string"}}}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    return {"name": name, "served": True, "storage": storage, "schema": schema}


def test_a_mutation_is_applied_and_defaulted_in_the_version_of_the_policy(api):
    names = {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"}
    versions = [version("v1", "one", storage=True), version("v2", "two")]
    spec = {"group": "x.io", "scope": "Namespaced", "names": names, "versions": versions}
    api.ok("POST", CRDS, {"metadata": {"name": "things.x.io"}, "spec": spec})
    rule = {"apiGroups": ["x.io"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["things"]}
    removal = {"patchType": "JSONPatch", "jsonPatch": {"expression": '[JSONPatch{op: "remove", path: "/spec/d"}]'}}
    spec = {
        "reinvocationPolicy": "Never",
        "matchConstraints": {"matchPolicy": "Equivalent", "resourceRules": [rule]},
        "mutations": [removal],
    }
    api.ok("POST", f"{GROUP}/mutatingadmissionpolicies", {"metadata": {"name": "p"}, "spec": spec})
    binding = {"metadata": {"name": "b"}, "spec": {"policyName": "p"}}
    api.ok("POST", f"{GROUP}/mutatingadmissionpolicybindings", binding)
    thing = {"metadata": {"name": "a"}, "spec": {"z": "1"}}
    found = api.ok(
        "POST", "/apis/x.io/v2/namespaces/default/things", {**thing, "apiVersion": "x.io/v2", "kind": "Thing"}
    )
    assert found["spec"] == {"d": "one", "z": "1"}


def mutating(api, patch_type, expression):
    """Creates a policy for new ConfigMaps. Returns the message of its rejection, or None."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
    key = {"JSONPatch": "jsonPatch", "ApplyConfiguration": "applyConfiguration"}[patch_type]
    spec = {
        "reinvocationPolicy": "Never",
        "matchConstraints": {"resourceRules": [rule]},
        "mutations": [{"patchType": patch_type, key: {"expression": expression}}],
    }
    code, found = api.call("POST", f"{GROUP}/mutatingadmissionpolicies", {"metadata": {"name": "p"}, "spec": spec})
    if code != 201:
        return found["message"].partition("expression: ")[2]
    binding = {"metadata": {"name": "b"}, "spec": {"policyName": "p"}}
    api.ok("POST", f"{GROUP}/mutatingadmissionpolicybindings", binding)
    return None


@pytest.mark.parametrize(
    ("patch_type", "expression", "why"),
    [
        ("JSONPatch", "dyn([])", "must evaluate to list(JSONPatch) but got dyn"),
        ("JSONPatch", "[timestamp(0)]", "must evaluate to list(JSONPatch) but got list(google.protobuf.Timestamp)"),
        ("JSONPatch", "[JSONPatch{path: 1}]", "<input>:1:16: expected type of field 'path' is 'string' but provided"),
        ("JSONPatch", "[JSONPatch{foo: 1}]", "<input>:1:15: expected type of field 'foo' is '' but provided type is"),
        ("ApplyConfiguration", "object", "must evaluate to Object but got dyn"),
        ("ApplyConfiguration", "Object{}.data", "must evaluate to Object but got dyn"),
        ("ApplyConfiguration", "Object{1: 2}", "mismatched input '1' expecting {'}', ',', '?', IDENTIFIER, ESC_IDENT"),
    ],
)
def test_an_expression_that_makes_no_patch_does_not_compile(api, patch_type, expression, why):
    assert why in mutating(api, patch_type, expression)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("timestamp(0)", "1970-01-01T00:00:00Z"),
        ("duration('1h')", "3600s"),
        ("b'abc'", "YWJj"),
        ("optional.of('a')", "a"),
        ("jsonpatch.escapeKey('a/b~c')", "a~1b~0c"),
    ],
)
def test_values_of_a_json_patch_are_converted_to_json(api, value, text):
    assert mutating(api, "JSONPatch", f"[JSONPatch{{op: 'add', path: '/data/z', value: {value}}}]") is None
    assert api.ok("POST", CONFIGMAPS, configmap(data={"a": "1"}))["data"] == {"a": "1", "z": text}


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("quantity('1')", "type conversion error from 'Quantity' to '*structpb.Value'"),
        ("type(1)", "type conversion not supported for 'type'"),
        ("{1: 'a'}", "unsupported type conversion from 'int' to string"),
    ],
)
def test_a_value_that_has_no_json(api, value, why):
    assert mutating(api, "JSONPatch", f"[JSONPatch{{op: 'add', path: '/data/z', value: {value}}}]") is None
    message = api.refused("POST", CONFIGMAPS, configmap(data={"a": "1"}))[2]
    assert message.endswith(f"JSONPath valueExpression evaluated to a type that could not marshal to JSON: {why}")


def test_a_json_patch_whose_test_fails_is_not_applied(api):
    patch = "[JSONPatch{op: 'add', path: '/data/z', value: '1'}, JSONPatch{op: 'test', path: '/data/a', value: 'no'}]"
    assert mutating(api, "JSONPatch", patch) is None
    assert api.ok("POST", CONFIGMAPS, configmap(data={"a": "1"}))["data"] == {"a": "1"}


def test_a_json_patch_whose_result_does_not_decode_is_an_internal_error(api):
    assert mutating(api, "JSONPatch", "[JSONPatch{op: 'add', path: '/data/z', value: 5}]") is None
    code, _, message = api.refused("POST", CONFIGMAPS, configmap(data={"a": "1"}))
    assert code == 500
    assert message.startswith(
        "Internal error occurred: json: cannot unmarshal number into Go struct field ConfigMap.data"
    )


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        (
            "Object{foo: 1}",
            "error applying patch: failed to convert patch object to typed object: .foo: field not decl",
        ),
        ("Object{metadata: Object.foo{}}", 'type mismatch: unexpected type name "Object.foo", expected "Object.metada'),
    ],
)
def test_an_apply_configuration_that_does_not_fit(api, expression, why):
    assert mutating(api, "ApplyConfiguration", expression) is None
    assert why in api.refused("POST", CONFIGMAPS, configmap())[2]


def test_an_apply_configuration_cannot_change_the_kind(api):
    assert mutating(api, "ApplyConfiguration", "Object{kind: 'Secret', data: {'a': '1'}}") is None
    assert api.ok("POST", CONFIGMAPS, configmap())["data"] == {"a": "1"}


@pytest.mark.parametrize(
    ("patch", "code", "message"),
    [
        ("[JSONPatch{op: 'remove', path: '/data/z'}]", 403, "JSON Patch: error in remove for path: '/data/z': Unable to remove nonexistent key: z: missing value"),
        ("[JSONPatch{op: 'add', path: '/z', value: 1}]", 500, 'Internal error occurred: strict decoding error: unknown field "z"'),
    ],
)  # fmt: skip
def test_the_error_of_a_json_patch_that_is_wrong(api, patch, code, message):
    assert mutating(api, "JSONPatch", patch) is None
    refused = api.refused("POST", CONFIGMAPS, configmap(data={"a": "1"}))
    assert refused[0] == code
    assert refused[2].endswith(message)
