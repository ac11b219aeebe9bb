"""Webhooks, admission policies, API services and flow control: what is said of them.

An expected text that ends in an ellipsis is the beginning of the server's.
"""

import pytest

from fakekube.apiserver.cel.environment import CompilationError
from fakekube.apiserver.registry.admissionregistration.matching import Environment
from fakekube.apiserver.registry.admissionregistration.validatingadmissionpolicy import validate
from fakekube.apiserver.registry.generic.validation.field import Field
from tests.apiserver.validation.support import (
    as_new,
    check_new,
    check_status,
    check_update,
    complete,
    merged,
    problems,
    texts,
)

RULE = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
HOOK = {
    "name": "a.example.com",
    "clientConfig": {"url": "https://hook.example.com/x"},
    "rules": [RULE],
    "sideEffects": "None",
    "admissionReviewVersions": ["v1"],
}
POLICY = {"spec": {"matchConstraints": {"resourceRules": [RULE]}, "validations": [{"expression": "true"}]}}
PATCH = '[JSONPatch{op: "test", path: "/a", value: 1}]'
MUTATING = {
    "spec": {
        "matchConstraints": {"resourceRules": [RULE]},
        "reinvocationPolicy": "Never",
        "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": PATCH}}],
    }
}
SERVICE = {"metadata": {"name": "v1.example.com"}, "spec": {
    "group": "example.com", "version": "v1", "groupPriorityMinimum": 10, "versionPriority": 5,
}}  # fmt: skip
SCHEMA = {"spec": {
    "priorityLevelConfiguration": {"name": "global-default"},
    "rules": [{
        "subjects": [{"kind": "User", "user": {"name": "a"}}],
        "nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": ["/healthz"]}],
    }],
}}  # fmt: skip
LEVEL = {"spec": {"type": "Limited", "limited": {"limitResponse": {"type": "Queue", "queuing": {}}}}}


def hooks(*changes):
    """A configuration of the hook with each of the changes."""
    return {"webhooks": [merged(HOOK, change) for change in changes]}


def ruled(**change):
    return hooks({"rules": [{**RULE, **change}]})


WEBHOOKS = [
    (hooks({}), []),
    (hooks({"name": None}), ["webhooks[0].name: Required value"]),
    (hooks({"name": "a.b"}),
     ['webhooks[0].name: Invalid value: "a.b": should be a domain with at least three segments separated by dots']),
    (hooks({"name": "A.b.c"}), ['webhooks[0].name: Invalid value: "A.b.c": a lowercase RFC 1123 subdomain…']),
    (hooks({}, {}), ['webhooks[1].name: Duplicate value: "a.example.com"']),
    (hooks({"sideEffects": None}),
     ["webhooks[0].sideEffects: Required value: must specify one of None, NoneOnDryRun"]),
    (hooks({"sideEffects": "Unknown"}),
     ['webhooks[0].sideEffects: Unsupported value: "Unknown": supported values: "None", "NoneOnDryRun"']),
    (hooks({"timeoutSeconds": 0}),
     ["webhooks[0].timeoutSeconds: Invalid value: 0: the timeout value must be between 1 and 30 seconds"]),
    (hooks({"failurePolicy": "Pass", "matchPolicy": "Some"}), [
        'webhooks[0].failurePolicy: Unsupported value: "Pass": supported values: "Fail", "Ignore"',
        'webhooks[0].matchPolicy: Unsupported value: "Some": supported values: "Equivalent", "Exact"',
    ]),
    (hooks({"admissionReviewVersions": []}),
     ["webhooks[0].admissionReviewVersions: Required value: must specify one of v1, v1beta1"]),
    (hooks({"admissionReviewVersions": ["v1", "v1"]}),
     ['webhooks[0].admissionReviewVersions[1]: Invalid value: "v1": duplicate version']),
    (hooks({"admissionReviewVersions": ["v2"]}),
     ['webhooks[0].admissionReviewVersions: Invalid value: ["v2"]: must include at least one of v1, v1beta1']),
    (hooks({"objectSelector": {"matchLabels": {"a": "b c"}}}),
     ['webhooks[0].objectSelector.matchLabels: Invalid value: "b c": a valid label must be…']),
    (hooks({"clientConfig": {"service": {"name": "a", "namespace": "b"}}}),
     ["webhooks[0].clientConfig: Required value: exactly one of url or service is required"]),
    (hooks({"clientConfig": {"url": None, "service": {"name": "a", "port": 0, "path": "/a//b"}}}), [
        "webhooks[0].clientConfig.service.name: Required value",
        "webhooks[0].clientConfig.service.port: Invalid value: 0: port is not valid: must be between 1 and 65535, inclusive",
        'webhooks[0].clientConfig.service.path: Invalid value: "/a//b": segment[1] may not be empty',
    ]),
    (hooks({"clientConfig": {"url": "http://u:p@h/?q#f"}}), [
        'webhooks[0].clientConfig.url: Invalid value: "http": \'https\' is the only allowed URL scheme…',
        'webhooks[0].clientConfig.url: Invalid value: "u:p": user information is not permitted in the URL',
        'webhooks[0].clientConfig.url: Invalid value: "f": fragments are not permitted in the URL',
        'webhooks[0].clientConfig.url: Invalid value: "q": query parameters are not permitted in the URL',
    ]),
    (hooks({"clientConfig": {"url": "hook.example.com/x"}}), [
        'webhooks[0].clientConfig.url: Invalid value: "": \'https\' is the only allowed URL scheme…',
        'webhooks[0].clientConfig.url: Invalid value: "": host must be specified…',
    ]),
    (hooks({"clientConfig": {"url": "https://%zz"}}),
     ['webhooks[0].clientConfig.url: Required value: url must be a valid URL: parse "https://%zz": invalid URL escape "%zz"…']),
    (ruled(operations=[]), ["webhooks[0].rules[0].operations: Required value"]),
    (ruled(operations=["*", "GET"]), [
        'webhooks[0].rules[0].operations: Invalid value: ["*","GET"]: if \'*\' is present, must not specify other operations',
        'webhooks[0].rules[0].operations[1]: Unsupported value: "GET": supported values: "*", "CONNECT", "CREATE", "DELETE", "UPDATE"',
    ]),
    (ruled(apiGroups=["*", "apps"]),
     ['webhooks[0].rules[0].apiGroups: Invalid value: ["*","apps"]: if \'*\' is present, must not specify other API groups']),
    (ruled(apiVersions=[""]), ["webhooks[0].rules[0].apiVersions[0]: Required value"]),
    (ruled(resources=["pods/*", "pods/log", "*/log", "jobs/log"]), [
        'webhooks[0].rules[0].resources[1]: Invalid value: "pods/log": if \'pods/*\' is present, must not specify pods/log',
        'webhooks[0].rules[0].resources[3]: Invalid value: "jobs/log": if \'*/log\' is present, must not specify jobs/log',
    ]),
    (ruled(resources=["*/*", "pods"]),
     ['webhooks[0].rules[0].resources: Invalid value: ["*/*","pods"]: if \'*/*\' is present, must not specify other resources']),
    (ruled(scope="Here"),
     ['webhooks[0].rules[0].scope: Unsupported value: "Here": supported values: "*", "Cluster", "Namespaced"']),
    (hooks({"matchConditions": [{"name": "a b", "expression": " "}, {"expression": "true"}]}), [
        "webhooks[0].matchConditions[0].expression: Required value",
        'webhooks[0].matchConditions[0].name: Invalid value: "a b": name part must consist…',
        "webhooks[0].matchConditions[1].name: Required value",
    ]),
    (hooks({"matchConditions": [{"name": "a", "expression": "true"}] * 2}),
     ['webhooks[0].matchConditions[1].name: Duplicate value: "a"']),
]  # fmt: skip

NEW = [
    ("ValidatingAdmissionPolicy", POLICY, []),
    ("ValidatingAdmissionPolicy", merged(POLICY, {"spec": {"failurePolicy": "Pass"}}),
     ['spec.failurePolicy: Unsupported value: "Pass": supported values: "Fail", "Ignore"']),
    ("ValidatingAdmissionPolicy", merged(POLICY, {"spec": {"failurePolicy": ""}}),
     ['spec.failurePolicy: Unsupported value: "": supported values: "Fail", "Ignore"']),
    ("ValidatingAdmissionPolicy", merged(POLICY, {"spec": {"failurePolicy": "Ignore"}}), []),
    ("ValidatingAdmissionPolicy", {}, [
        "spec.matchConstraints: Required value",
        "spec.validations: Required value: validations or auditAnnotations must contain at least one item",
        "spec.auditAnnotations: Required value: validations or auditAnnotations must contain at least one item",
    ]),
    ("ValidatingAdmissionPolicy", merged(POLICY, {"spec": {"matchConstraints": {"resourceRules": []}}}),
     ["spec.matchConstraints.resourceRules: Required value"]),
    ("ValidatingAdmissionPolicy", merged(POLICY, {"spec": {"paramKind": {"apiVersion": "a/b/c", "kind": "A_"}}}), [
        'spec.paramKind.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c',
        'spec.paramKind.kind: Invalid value: "A_": may have mixed case, but should otherwise match: a DNS-1035 label…',
    ]),
    ("ValidatingAdmissionPolicy", merged(POLICY, {"spec": {"variables": [{"name": "in", "expression": ""}]}}), [
        'spec.variables[0].name: Invalid value: "in": must be a valid CEL identifier',
        "spec.variables[0].expression: Required value: expression is not specified",
    ]),
    ("ValidatingAdmissionPolicy", merged(POLICY, {"spec": {"validations": [
        {"expression": " ", "message": "a\nb", "messageExpression": " ", "reason": "Gone"}]}}), [
        "spec.validations[0].expression: Required value: expression is not specified",
        'spec.validations[0].messageExpression: Invalid value: " ": must be non-empty if specified',
        'spec.validations[0].message: Invalid value: "a\\nb": must not contain line breaks',
        'spec.validations[0].reason: Unsupported value: "Gone": supported values: "Forbidden", "Invalid", "RequestEntityTooLarge"',
    ]),
    ("ValidatingAdmissionPolicy", merged(POLICY, {"spec": {"auditAnnotations": [
        {"key": "a", "valueExpression": "''"}, {"key": "a", "valueExpression": ""}]}}), [
        "spec.auditAnnotations[1].valueExpression: Required value: valueExpression is not specified",
        'spec.auditAnnotations[1].key: Duplicate value: "a"',
    ]),
    ("ValidatingAdmissionPolicyBinding", {"spec": {"policyName": "p", "validationActions": ["Deny"]}}, []),
    ("ValidatingAdmissionPolicyBinding", {}, [
        "spec.policyName: Required value",
        "spec.validationActions: Required value: at least one validation action is required",
    ]),
    ("ValidatingAdmissionPolicyBinding", {"spec": {
        "policyName": "p", "paramRef": {"name": "a", "selector": {}}, "validationActions": ["Deny", "Deny", "Log"]}}, [
        "spec.paramRef.name: Forbidden: name and selector are mutually exclusive",
        "spec.paramRef.selector: Forbidden: name and selector are mutually exclusive",
        "spec.paramRef.parameterNotFoundAction: Required value",
        'spec.validationActions[1]: Duplicate value: "Deny"',
        'spec.validationActions[2]: Unsupported value: "Log": supported values: "Audit", "Deny", "Warn"',
    ]),
    ("MutatingAdmissionPolicy", MUTATING, []),
    ("MutatingAdmissionPolicy", merged(MUTATING, {"spec": {"failurePolicy": "Pass"}}),
     ['spec.failurePolicy: Unsupported value: "Pass": supported values: "Fail", "Ignore"']),
    ("MutatingAdmissionPolicy", merged(MUTATING, {"spec": {"failurePolicy": ""}}),
     ['spec.failurePolicy: Unsupported value: "": supported values: "Fail", "Ignore"']),
    ("MutatingAdmissionPolicy", merged(MUTATING, {"spec": {"failurePolicy": "Ignore"}}), []),
    ("MutatingAdmissionPolicy", merged(MUTATING, {"spec": {"mutations": None, "reinvocationPolicy": None}}), [
        "spec.mutations: Required value: mutations must contain at least one item",
        "spec.reinvocationPolicy: Required value",
    ]),
    ("MutatingAdmissionPolicy", merged(MUTATING, {"spec": {"matchConstraints": {"resourceRules": [
        {**RULE, "operations": ["DELETE"]}]}}}),
     ['spec.matchConstraints.resourceRules.operations: Unsupported value: "DELETE": supported values: "*", "CONNECT", "CREATE", "UPDATE"']),
    ("MutatingAdmissionPolicy", merged(MUTATING, {"spec": {"mutations": [
        {"patchType": "ApplyConfiguration", "jsonPatch": {"expression": "[]"}}]}}), [
        "spec.mutations[0].applyConfiguration: Required value: must be specified when patchType is ApplyConfiguration",
        'spec.mutations[0].jsonPatch: Invalid value: "{jsonPatch}": must not be specified when patchType is ApplyConfiguration',
    ]),
    ("APIService", SERVICE, []),
    ("APIService", merged(SERVICE, {"metadata": {"name": "v2.example.com"}}),
     ['metadata.name: Invalid value: "v2.example.com": must be `spec.version+"."+spec.group`: "v1.example.com"']),
    ("APIService", merged(SERVICE, {"spec": {"groupPriorityMinimum": 0, "versionPriority": 1001}}), [
        "spec.groupPriorityMinimum: Invalid value: 0: must be positive and less than 20000",
        "spec.versionPriority: Invalid value: 1001: must be positive and less than 1000",
    ]),
    ("APIService", merged(SERVICE, {"spec": {"caBundle": "YWI=", "insecureSkipTLSVerify": True}}), [
        'spec.caBundle: Invalid value: "2 bytes": local APIServices may not have a caBundle',
        "spec.insecureSkipTLSVerify: Invalid value: true: local APIServices may not have insecureSkipTLSVerify",
    ]),
    ("APIService", merged(SERVICE, {"spec": {"service": {}}}), [
        "spec.service.namespace: Required value", "spec.service.name: Required value",
    ]),
    ("FlowSchema", SCHEMA, []),
    ("FlowSchema", merged(SCHEMA, {"spec": {"matchingPrecedence": 1, "distinguisherMethod": {"type": "ByPod"}}}), [
        "spec.matchingPrecedence: Invalid value: 1: only the schema named 'exempt' may have matchingPrecedence 1",
        'spec.distinguisherMethod.type: Unsupported value: {"Type":"ByPod"}: supported values: "ByNamespace", "ByUser"',
    ]),
    ("FlowSchema", {"spec": {"rules": [{}]}}, [
        "spec.priorityLevelConfiguration.name: Required value: must reference a priority level",
        "spec.rules[0].subjects: Required value: subjects must contain at least one value",
        "spec.rules[0]: Required value: at least one of resourceRules and nonResourceRules has to be non-empty",
    ]),
    ("FlowSchema", merged(SCHEMA, {"spec": {"rules": [{
        "subjects": [{"kind": "Group", "user": {"name": "a"}}],
        "resourceRules": [{"verbs": ["post"], "apiGroups": ["*", "a"], "resources": [], "namespaces": []}],
        "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["a", "/a//b", "/*/a"]}],
    }]}}), [
        "spec.rules[0].subjects[0].group: Required value: group is required when subject kind is 'Group'",
        "spec.rules[0].subjects[0].user: Forbidden: user is forbidden when subject kind is not 'User'",
        'spec.rules[0].resourceRules[0].verbs: Unsupported value: ["post"]: supported values: "create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"',
        'spec.rules[0].resourceRules[0].apiGroups: Invalid value: ["*","a"]: if \'*\' is present, must not specify other api groups',
        "spec.rules[0].resourceRules[0].resources: Required value: resource rules must supply at least one resource",
        "spec.rules[0].resourceRules[0].namespaces: Required value: resource rules that are not cluster scoped must supply at least one namespace",
        'spec.rules[0].nonResourceRules[0].nonResourceURLs[0]: Invalid value: "a": must start with slash',
        'spec.rules[0].nonResourceRules[0].nonResourceURLs[1]: Invalid value: "/a//b": must not contain double slash',
        'spec.rules[0].nonResourceRules[0].nonResourceURLs[2]: Invalid value: "/*/a": wildcard can only do suffix matching',
    ]),
    ("FlowSchema", merged(SCHEMA, {"metadata": {"name": "catch-all"}}),
     ['spec: Invalid value: {"PriorityLevelConfiguration":{"Name":"global-default"},"MatchingPrecedence":1000,"DistinguisherMethod":null,"Rules":[…']),
    ("PriorityLevelConfiguration", LEVEL, []),
    ("PriorityLevelConfiguration", {"spec": {"type": "Exempt"}},
     ['spec.type: Invalid value: "Exempt": must be \'Exempt\' if and only if `name` is \'exempt\'']),
    ("PriorityLevelConfiguration", {"metadata": {"name": "exempt"}, "spec": {
        "type": "Exempt", "exempt": {"nominalConcurrencyShares": 9}}}, []),
    ("PriorityLevelConfiguration", {"spec": {"type": "Limited"}},
     ["spec.limited: Required value: must not be empty when type is Limited"]),
    ("PriorityLevelConfiguration", merged(LEVEL, {"spec": {"limited": {
        "nominalConcurrencyShares": -1, "lendablePercent": 101, "borrowingLimitPercent": -1,
        "limitResponse": {"queuing": {"queues": 4, "handSize": 5, "queueLengthLimit": -1}}}}}), [
        "spec.limited.nominalConcurrencyShares: Invalid value: -1: must be a non-negative integer",
        "spec.limited.limitResponse.queuing.queueLengthLimit: Invalid value: -1: must be positive",
        "spec.limited.limitResponse.queuing.handSize: Invalid value: 5: should not be greater than queues (4)",
        "spec.limited.lendablePercent: Invalid value: 101: must be between 0 and 100, inclusive",
        "spec.limited.borrowingLimitPercent: Invalid value: -1: if specified, must be a non-negative integer",
    ]),
    ("PriorityLevelConfiguration", merged(LEVEL, {"spec": {"limited": {
        "limitResponse": {"queuing": {"queues": 100000, "handSize": 10}}}}}),
     ["spec.limited.limitResponse.queuing.handSize: Invalid value: 10: required entropy bits of deckSize 100000 and handSize 10 should not be greater than 60"]),
]  # fmt: skip


@pytest.mark.parametrize("kind", ["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"])
@pytest.mark.parametrize(("obj", "expected"), WEBHOOKS)
def test_new_webhooks(kind, obj, expected):
    check_new(kind, obj, expected)


@pytest.mark.parametrize(("kind", "obj", "expected"), NEW)
def test_new(kind, obj, expected):
    check_new(kind, obj, expected)


def test_webhooks_keep_what_was_wrong_before():
    wrong = hooks({"sideEffects": "Some", "admissionReviewVersions": ["v9"]}, {})
    check_update("ValidatingWebhookConfiguration", wrong, {"metadata": {"labels": {"a": "b"}}}, [])
    check_update("ValidatingWebhookConfiguration", hooks({}), wrong, [
        'webhooks[0].sideEffects: Unsupported value: "Some": supported values: "None", "NoneOnDryRun"',
        'webhooks[0].admissionReviewVersions: Invalid value: ["v9"]: must include at least one of v1, v1beta1',
        'webhooks[1].name: Duplicate value: "a.example.com"',
    ])  # fmt: skip


def test_the_state_of_an_api_service():
    wrong = {"conditions": [{"type": "Available", "status": "Maybe"}]}
    expected = ['status.conditions[0].status: Unsupported value: "Maybe": supported values: "True", "False", "Unknown"']
    check_status("APIService", SERVICE, wrong, None, expected)


def test_an_api_service_of_this_server_is_there_at_once():
    (condition,) = as_new("APIService", SERVICE)["status"]["conditions"]
    assert (condition["type"], condition["status"], condition["reason"]) == ("Available", "True", "Local")
    elsewhere = merged(SERVICE, {"spec": {"service": {"name": "a", "namespace": "b"}}})
    assert as_new("APIService", elsewhere)["status"] == {}


def test_flow_control_has_defaults():
    assert complete("FlowSchema", SCHEMA)["spec"]["matchingPrecedence"] == 1000
    limited = complete("PriorityLevelConfiguration", LEVEL)["spec"]["limited"]
    assert (limited["nominalConcurrencyShares"], limited["lendablePercent"]) == (30, 0)
    assert limited["limitResponse"]["queuing"] == {"queues": 64, "handSize": 8, "queueLengthLimit": 50}


def test_expressions_of_a_policy_are_compiled_in_their_environments():
    """The compiler gets the environment of each expression; its problem is an error of the field."""
    seen: dict[str, Environment] = {}

    def compile(expression, environment):
        seen[expression] = environment
        return CompilationError("no") if expression == "bad" else None

    policy = complete("ValidatingAdmissionPolicy", merged(POLICY, {"spec": {
        "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
        "matchConditions": [{"name": "m", "expression": "match"}],
        "variables": [{"name": "a", "expression": "one"}, {"name": "b", "expression": "two"}],
        "validations": [{"expression": "bad", "messageExpression": "said"}],
        "auditAnnotations": [{"key": "k", "valueExpression": "noted"}],
    }}))  # fmt: skip
    root = Field(policy)
    validate(root, compile)
    assert texts(root.errors) == ['spec.validations[0].expression: Invalid value: "bad": no']
    a, b = ("a", "one"), ("b", "two")
    assert seen == {
        "match": Environment(params=True),
        "one": Environment("any", params=True),
        "two": Environment("any", params=True, variables=(a,)),
        "bad": Environment(params=True, variables=(a, b)),
        "said": Environment("string", params=True, authorizer=False, variables=(a, b)),
        "noted": Environment("string or null", params=True, variables=(a, b)),
    }


VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch")


@pytest.mark.parametrize(
    ("verbs", "errors"),
    [
        ([*VERBS], 0),
        ([VERBS[0]], 0),
        (["*"], 0),
        (["*", "get"], 1),
        ([*VERBS, "other"], 1),
        (["other"], 1),
        (["Get"], 1),
        ([], 1),
    ],
)
def test_the_verbs_of_a_flow_schema(verbs, errors):
    rules = [{"subjects": SCHEMA["spec"]["rules"][0]["subjects"]}]
    rules[0]["resourceRules"] = [{"verbs": verbs, "apiGroups": [""], "resources": ["pods"], "clusterScope": True}]
    assert len(problems("FlowSchema", merged(SCHEMA, {"spec": {"rules": rules}}))) == errors
