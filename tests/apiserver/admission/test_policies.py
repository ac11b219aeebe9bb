"""Admission policies: matching, evaluation, parameters and failures."""

import pytest

from fakekube.apiserver.user import User
from tests.apiserver.api import CONFIGMAPS, CRDS, Api, configmap, definition

GROUP = "/apis/admissionregistration.k8s.io/v1"
MERGE = {"content_type": "application/merge-patch+json"}
NAMESPACES = "/api/v1/namespaces"


def rule(resources=("configmaps",), operations=("CREATE", "UPDATE"), groups=("",), versions=("v1",), **more):
    named = {"apiGroups": groups, "apiVersions": versions, "operations": operations, "resources": resources}
    return {key: list(value) if isinstance(value, tuple) else value for key, value in {**named, **more}.items()}


def policy(api, *validations, name="p", binding=None, constraints=None, **spec):
    """A policy with a binding; `validation` is an expression or a complete validation."""
    validations = [{"expression": one} if isinstance(one, str) else one for one in validations]
    constraints = {"resourceRules": [rule()], **(constraints or {})}
    spec = {"matchConstraints": constraints, "validations": validations, **spec}
    api.ok("POST", f"{GROUP}/validatingadmissionpolicies", {"metadata": {"name": name}, "spec": spec})
    bound = {"policyName": name, "validationActions": ["Deny"], **(binding or {})}
    api.ok("POST", f"{GROUP}/validatingadmissionpolicybindings", {"metadata": {"name": f"{name}-b"}, "spec": bound})


def denied(api, body=None, path=CONFIGMAPS, method="POST", **how):
    """The message of the denial without the names of policy and binding; "" if the request is admitted."""
    code, shown = api.call(method, path, configmap() if body is None else body, **how)
    if code < 400:
        return ""
    assert shown["details"]["causes"][0]["message"] in shown["message"]
    return shown["message"].partition("denied request: ")[2]


@pytest.mark.parametrize(
    ("validation", "message"),
    [
        pytest.param("true", "", id="holds"),
        pytest.param(" 1 ==  2 ", "failed expression: 1 ==  2", id="no-words"),
        pytest.param({"expression": "false", "message": " no \n"}, "no", id="message"),
        pytest.param(
            {"expression": "false", "messageExpression": "'not ' + object.metadata.name"}, "not a", id="expression"
        ),
        pytest.param({"expression": "false", "message": "m", "messageExpression": "'a\\nb'"}, "m", id="two-lines"),
        pytest.param({"expression": "false", "message": "m", "messageExpression": "'  '"}, "m", id="blank"),
        pytest.param(
            {"expression": "false", "message": "m", "messageExpression": "string(object.x.y)"}, "m", id="failing-words"
        ),
        pytest.param(
            "object.data.x == 'y'", "expression 'object.data.x == 'y'' resulted in error: no such key: data", id="fails"
        ),
    ],
)
def test_messages(api, validation, message):
    policy(api, validation)
    assert denied(api) == message


@pytest.mark.parametrize(
    ("reason", "code", "shown"),
    [(None, 422, "Invalid"), ("Forbidden", 403, "Forbidden"), ("Invalid", 422, "Invalid"),
     ("RequestEntityTooLarge", 413, "RequestEntityTooLarge")],
)  # fmt: skip
def test_reasons(api, reason, code, shown):
    policy(api, {"expression": "false", **({"reason": reason} if reason else {})})
    found = api.refused("POST", CONFIGMAPS, configmap())
    assert found == (
        code, shown,
        "configmaps \"a\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'p-b' denied request: "
        "failed expression: false",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("constraints", "method", "matched"),
    [
        pytest.param({}, "POST", True, id="rule"),
        pytest.param({"resourceRules": [rule(operations=("UPDATE",))]}, "POST", False, id="other-operation"),
        pytest.param({"resourceRules": [rule(operations=("UPDATE",))]}, "PATCH", True, id="update"),
        pytest.param({"resourceRules": [rule(operations=("DELETE",))]}, "DELETE", True, id="delete"),
        pytest.param({"resourceRules": [rule(("secrets",))]}, "POST", False, id="other-resource"),
        pytest.param({"resourceRules": [rule(("*",))]}, "POST", True, id="star"),
        pytest.param({"resourceRules": [rule(resourceNames=["b"])]}, "POST", False, id="other-name"),
        pytest.param({"resourceRules": [rule(resourceNames=["a"])]}, "POST", True, id="name"),
        pytest.param({"resourceRules": [rule(scope="Cluster")]}, "POST", False, id="cluster"),
        pytest.param({"resourceRules": [rule(scope="Namespaced")]}, "POST", True, id="namespaced"),
        pytest.param({"excludeResourceRules": [rule(resourceNames=["a"])]}, "POST", False, id="excluded"),
        pytest.param({"objectSelector": {"matchLabels": {"x": "y"}}}, "POST", False, id="no-label"),
        pytest.param({"objectSelector": {"matchLabels": {"x": "y"}}}, "PATCH", True, id="label-comes"),
        pytest.param(
            {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "default"}}},
            "POST",
            True,
            id="namespace",
        ),
        pytest.param({"namespaceSelector": {"matchLabels": {"x": "y"}}}, "POST", False, id="other-namespace"),
    ],
)
def test_match_constraints(api, constraints, method, matched):
    if method != "POST":
        api.ok("POST", CONFIGMAPS, configmap())
    policy(api, "false", constraints=constraints)
    change = {"metadata": {"labels": {"x": "y"}}}
    body, path, how = {
        "POST": (configmap(), CONFIGMAPS, {}),
        "PATCH": (change, f"{CONFIGMAPS}/a", MERGE),
        "DELETE": (b"", f"{CONFIGMAPS}/a", {}),
    }[method]
    assert bool(denied(api, body, path, method, **how)) == matched


def test_variables_of_expressions(api):
    seen = [
        "request.operation == 'UPDATE' && request.name == 'a' && request.namespace == 'default'",
        "request.kind.kind == 'ConfigMap' && request.resource.resource == 'configmaps' && !request.dryRun",
        "request.userInfo.username == 'kubernetes-admin' && 'system:masters' in request.userInfo.groups",
        "oldObject.data.x == '1' && object.data.x == '2'",
        "object.apiVersion == 'v1' && object.kind == 'ConfigMap'",
        "namespaceObject.metadata.name == 'default'",
        "variables.both == '12'",
        "authorizer.group('').resource('pods').namespace('default').check('get').allowed()",
    ]
    variables = [
        {"name": "one", "expression": "oldObject.data.x"},
        {"name": "both", "expression": "variables.one + object.data.x"},
    ]
    api.ok("POST", CONFIGMAPS, configmap(data={"x": "1"}))
    policy(api, *seen, variables=variables, constraints={"resourceRules": [rule(operations=("UPDATE",))]})
    assert denied(api, {"data": {"x": "2"}}, f"{CONFIGMAPS}/a", "PATCH", **MERGE) == ""


def test_variables_of_objects_have_any_fields(api):
    variables = [
        {"name": "who", "expression": "request.userInfo"},
        {"name": "all", "expression": "[request.userInfo]"},
        {"name": "pods", "expression": "authorizer.group('').resource('pods')"},
        {"name": "may", "expression": "authorizer"},
        {"name": "healthz", "expression": "authorizer.path('/healthz').check('get')"},
    ]
    seen = [
        "variables.who.username == 'kubernetes-admin' && !has(variables.who.nothing)",
        "!has(variables.all[0].nothing)",
        "variables.pods.check('get').allowed()",
        "variables.may.group('').resource('pods').subresource('log').check('get').allowed()",
        "variables.may.requestResource.check('get').allowed()",
        "variables.healthz.allowed() && variables.healthz.reason() != 'x' && !variables.healthz.errored()",
    ]
    policy(api, *seen, variables=variables)
    assert denied(api) == ""


@pytest.mark.parametrize(
    ("conditions", "failure", "message"),
    [
        pytest.param(["true", "true"], "Fail", "failed expression: false", id="all-hold"),
        pytest.param(["true", "false"], "Fail", "", id="one-does-not"),
        pytest.param(["object.x.y == 1", "false"], "Fail", "", id="false-decides"),
        pytest.param(
            ["object.x == 1"], "Fail", "expression 'object.x == 1' resulted in error: no such key: x", id="fails"
        ),
        pytest.param(
            ["object.x == 1", "object.y == 1", "object.x == 1"],
            "Fail",
            "[expression 'object.x == 1' resulted in error: no such key: x, "
            "expression 'object.y == 1' resulted in error: no such key: y]",
            id="each-problem-once",
        ),
        pytest.param(["object.x == 1"], "Ignore", "", id="ignored"),
    ],
)
def test_match_conditions(api, conditions, failure, message):
    named = [{"name": f"c{i}", "expression": one} for i, one in enumerate(conditions)]
    policy(api, "false", matchConditions=named, failurePolicy=failure)
    assert denied(api) == message


def test_failure_policy_ignore(api):
    policy(api, "object.x == 1", failurePolicy="Ignore")
    assert denied(api) == ""


def test_warnings(api):
    policy(api, {"expression": "false", "message": "hm"}, binding={"validationActions": ["Warn", "Audit"]})
    response = api.answer("POST", CONFIGMAPS, configmap())
    assert response.status == 201
    assert response.warnings == ["Validation failed for ValidatingAdmissionPolicy 'p' with binding 'p-b': hm"]


def test_a_collection_is_deleted_with_one_review_per_object_and_no_name(api):
    for name in ("a", "b"):
        api.ok("POST", CONFIGMAPS, configmap(name))
    deletions = {"resourceRules": [rule(operations=("DELETE",))]}
    policy(api, "oldObject.metadata.name != 'b'", "!has(request.name)", constraints=deletions)
    code, shown = api.call("DELETE", CONFIGMAPS)
    assert code == 422
    assert shown["message"].startswith("configmaps \"Unknown\" is forbidden: ValidatingAdmissionPolicy 'p'")
    assert [one["metadata"]["name"] for one in api.ok("GET", CONFIGMAPS)["items"]] == ["b"]


# --- parameters ------------------------------------------------------------------------------------------------------

KIND = {"apiVersion": "v1", "kind": "ConfigMap"}
LIMIT = "params == null || object.metadata.name in params.data"


def with_params(api, ref, **more):
    binding = {**({"paramRef": ref} if ref else {}), **more.pop("binding", {})}
    policy(api, LIMIT, paramKind=more.pop("kind", KIND), binding=binding, constraints={"resourceRules": [rule(("secrets",))]},
           **more)  # fmt: skip


SECRETS = "/api/v1/namespaces/default/secrets"
SECRET = {"metadata": {"name": "a"}}
NO_PARAMS = "no params found for policy binding with `Deny` parameterNotFoundAction"


@pytest.mark.parametrize(
    ("ref", "message"),
    [
        pytest.param(None, "", id="no-reference"),
        pytest.param({"name": "yes"}, "", id="name"),
        pytest.param({"name": "no"}, f"failed expression: {LIMIT}", id="says-no"),
        pytest.param({"name": "gone"}, f"failed to configure binding: {NO_PARAMS}", id="gone"),
        pytest.param({"name": "gone", "parameterNotFoundAction": "Allow"}, "", id="gone-and-allowed"),
        pytest.param({"selector": {"matchLabels": {"of": "p"}}}, f"failed expression: {LIMIT}", id="each-selected"),
        pytest.param(
            {"selector": {"matchLabels": {"of": "q"}}}, f"failed to configure binding: {NO_PARAMS}", id="none"
        ),
        pytest.param({"selector": {}}, f"failed expression: {LIMIT}", id="all"),
        pytest.param({"name": "there", "namespace": "other"}, "", id="elsewhere"),
    ],
)
def test_params(api, ref, message):
    api.ok("POST", NAMESPACES, {"metadata": {"name": "other"}})
    for name, data in (("yes", {"a": ""}), ("no", {"b": ""})):
        api.ok("POST", CONFIGMAPS, configmap(name, data=data, metadata={"labels": {"of": "p"}}))
    api.ok("POST", f"{NAMESPACES}/other/configmaps", configmap("there", data={"a": ""}))
    ref = ref and {"parameterNotFoundAction": "Deny", **ref}
    with_params(api, ref)
    assert denied(api, SECRET, SECRETS) == message


def test_a_misconfigured_binding_denies_even_if_its_action_is_warn(api):
    with_params(api, {"name": "gone", "parameterNotFoundAction": "Deny"}, binding={"validationActions": ["Warn"]})
    assert denied(api, SECRET, SECRETS).endswith(NO_PARAMS)


def test_an_unknown_param_kind(api):
    kind = {"apiVersion": "example.com/v1", "kind": "Limit"}
    with_params(api, {"name": "x", "parameterNotFoundAction": "Allow"}, kind=kind)
    code, _, message = api.refused("POST", SECRETS, SECRET)
    assert code == 422
    assert message == (
        "secrets \"a\" is forbidden: ValidatingAdmissionPolicy 'p' denied request: failed to configure policy: failed to "
        "find resource referenced by paramKind: 'example.com/v1, Kind=Limit'"
    )


def test_audit_annotations_must_have_values(api):
    policy(api, "true", auditAnnotations=[{"key": "k", "valueExpression": "string(object.x)"}])
    assert denied(api) == "expression 'string(object.x)' resulted in error: no such key: x"


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({"validations": [{"expression": "object.x"}]}, "bool"),
        ({"validations": [{"expression": "dyn(true)"}]}, "bool"),
        ({"validations": [{"expression": "object.x == 1 ? object.y : true"}]}, "bool"),
        ({"validations": [{"expression": "true", "messageExpression": "object.x"}]}, "string"),
        ({"matchConditions": [{"name": "c", "expression": "object.x"}]}, "bool"),
        ({"auditAnnotations": [{"key": "k", "valueExpression": "object.x"}]}, "one of [string null_type]"),
    ],
)
def test_a2_an_expression_of_any_type_is_refused(api, spec, problem):
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["*"]}
    whole = {"matchConstraints": {"resourceRules": [rule]}, "validations": [{"expression": "true"}], **spec}
    body = {"metadata": {"name": "p"}, "spec": whole}
    shown = api.call("POST", f"{GROUP}/validatingadmissionpolicies", body)[1]
    assert [cause["message"].partition(": must ")[2] for cause in shown["details"]["causes"]] == [
        f"evaluate to {problem} but got dyn"
    ]


def test_the_reason_of_a_validation_is_not_empty(api):
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["*"]}
    validations = [{"expression": "true", "reason": ""}]
    spec = {"matchConstraints": {"resourceRules": [rule]}, "validations": validations}
    shown = api.call("POST", f"{GROUP}/validatingadmissionpolicies", {"metadata": {"name": "p"}, "spec": spec})[1]
    assert [cause["field"] for cause in shown["details"]["causes"]] == ["spec.validations[0].reason"]


# --- versions --------------------------------------------------------------------------------------------------------


def test_a_policy_receives_the_version_that_it_matches(api):
    versions = [{**definition()["spec"]["versions"][0], "name": name, "storage": name == "v1"} for name in ("v1", "v2")]
    api.ok("POST", CRDS, definition(versions=versions))
    ours = rule(("backups",), groups=("example.com",), versions=("v1",))
    policy(api, "object.apiVersion == 'example.com/v1' && request.kind.version == 'v1' && request.requestKind.version == 'v2'",
           constraints={"resourceRules": [ours]})  # fmt: skip
    body = {"apiVersion": "example.com/v2", "kind": "Backup", "metadata": {"name": "a"}}
    assert denied(api, body, "/apis/example.com/v2/namespaces/default/backups") == ""


def test_match_policy_exact(api):
    versions = [{**definition()["spec"]["versions"][0], "name": name, "storage": name == "v1"} for name in ("v1", "v2")]
    api.ok("POST", CRDS, definition(versions=versions))
    ours = rule(("backups",), groups=("example.com",), versions=("v1",))
    policy(api, "false", constraints={"resourceRules": [ours], "matchPolicy": "Exact"})
    body = {"apiVersion": "example.com/v2", "kind": "Backup", "metadata": {"name": "a"}}
    assert denied(api, body, "/apis/example.com/v2/namespaces/default/backups") == ""


# --- mutating policies -----------------------------------------------------------------------------------------------


def mutation(api, *mutations, name="m", binding=None, **spec):
    spec = {
        "matchConstraints": {"resourceRules": [rule()]}, "reinvocationPolicy": "Never", "mutations": list(mutations), **spec,
    }  # fmt: skip
    api.ok("POST", f"{GROUP}/mutatingadmissionpolicies", {"metadata": {"name": name}, "spec": spec})
    bound = {"policyName": name, **(binding or {})}
    api.ok("POST", f"{GROUP}/mutatingadmissionpolicybindings", {"metadata": {"name": f"{name}-b"}, "spec": bound})


def merging(expression):
    return {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}


def patching(expression):
    return {"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}


def test_mutations_see_previous_mutations(api):
    mutation(
        api,
        merging("Object{data: {'x': '1'}}"),
        patching("[JSONPatch{op: 'add', path: '/data/y', value: object.data.x + '2'}]"),
    )
    assert api.ok("POST", CONFIGMAPS, configmap())["data"] == {"x": "1", "y": "12"}


@pytest.mark.parametrize(("failure", "data"), [("Ignore", {"x": "1", "z": "3"}), ("Fail", None)])
def test_a_mutation_that_fails(api, failure, data):
    mutation(
        api,
        merging("Object{data: {'x': '1'}}"),
        merging("Object{data: {'y': object.nothing}}"),
        merging("Object{data: {'z': '3'}}"),
        failurePolicy=failure,
    )
    code, shown = api.call("POST", CONFIGMAPS, configmap())
    if data is not None:
        assert (code, shown["data"]) == (201, data)
        return
    assert (code, shown["reason"]) == (403, "Invalid")
    assert shown["message"] == (
        "policy 'm' with binding 'm-b' denied request: expression 'Object{data: {'y': object.nothing}}' resulted in error: "
        "no such key: nothing"
    )
    assert shown["details"] == {"name": "a", "kind": "configmaps", "causes": [{"message": shown["message"]}]}


@pytest.mark.parametrize(("reinvocation", "count"), [("Never", "1"), ("IfNeeded", "11")])
def test_reinvocation_policy(api, reinvocation, count):
    expression = "Object{data: {'n': (has(object.data) && 'n' in object.data ? object.data.n : '') + '1'}}"
    mutation(api, merging(expression), name="a", reinvocationPolicy=reinvocation)
    mutation(api, merging("Object{data: {'other': 'x'}}"), name="b")
    assert api.ok("POST", CONFIGMAPS, configmap())["data"] == {"n": count, "other": "x"}


def test_a_policy_receives_the_user():
    api = Api(authorization_mode="RBAC")
    policy(api, "request.userInfo.username != 'jane'")
    jane = User("jane", groups=("system:masters",))
    assert denied(api, user=jane) == "failed expression: request.userInfo.username != 'jane'"
    assert denied(api) == ""


def test_the_namespace_is_checked_before_policies(api):
    mutation(api, merging("Object{data: {'y': object.nothing}}"))
    path = f"{NAMESPACES}/gone/configmaps"
    assert api.refused("POST", path, configmap()) == (404, "NotFound", 'namespaces "gone" not found')


def test_a_policy_whose_program_cannot_be_created_is_an_internal_error(api: Api) -> None:
    message = refused_policy(api, "int('x') == 1")
    why = "program instantiation failed: type conversion error from 'string' to 'int'"
    assert message.endswith(f"spec.validations[0].expression: Internal error: {why}")


def test_results_of_validations_are_named_as_at_run_time(api: Api) -> None:
    assert refused_policy(api, "timestamp(0)").endswith("must evaluate to bool but got google.protobuf.Timestamp")


def refused_policy(api: Api, expression: str) -> str:
    rule_ = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
    spec = {"matchConstraints": {"resourceRules": [rule_]}, "validations": [{"expression": expression}]}
    path = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
    return api.refused("POST", path, {"metadata": {"name": "p"}, "spec": spec})[2]
