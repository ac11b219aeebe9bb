"""Policies, webhooks, API services and flow control: rules of single fields.

An expected text that ends in an ellipsis is the beginning of the server's.
"""

import pytest

from tests.apiserver.validation.support import check_new, merged
from tests.apiserver.validation.test_registration import LEVEL, POLICY, RULE, SCHEMA, SERVICE

NEW = [
    ("ValidatingAdmissionPolicy", merged(POLICY, {"spec": {"auditAnnotations": [{"key": f"k{i}", "valueExpression": "'a'"} for i in range(21)]}}), ['spec.auditAnnotations: Invalid value: [{"key":"k0","valueExpression":"\'a\'"},{"key":"k1","valueExpression":"\'a\'"},{"key":"k2","valu…']),
    ("ValidatingAdmissionPolicy", merged(POLICY, {"spec": {"validations": [{"expression": "true", "message": "  "}, {"expression": "true", "message": "a\nb", "reason": "Because"}, {"expression": " ", "messageExpression": " "}]}}), [
        'spec.validations[0].message: Invalid value: "  ": must be non-empty if specified',
        'spec.validations[1].message: Invalid value: "a\\nb": must not contain line breaks',
        'spec.validations[1].reason: Unsupported value: "Because": supported values: "Forbidden", "Invalid", "RequestEntityTooLarge"',
        'spec.validations[2].expression: Required value: expression is not specified',
        'spec.validations[2].messageExpression: Invalid value: " ": must be non-empty if specified',
    ]),
    ("ValidatingAdmissionPolicy", merged(POLICY, {"spec": {"auditAnnotations": [{"key": "k", "valueExpression": "'" + "x" * 5120 + "'"}, {"key": "k", "valueExpression": ""}]}}), [
        'spec.auditAnnotations[0].valueExpression: Required value: must not exceed 5120 bytes in length',
        'spec.auditAnnotations[1].valueExpression: Required value: valueExpression is not specified',
        'spec.auditAnnotations[1].key: Duplicate value: "k"',
    ]),
    ("ValidatingAdmissionPolicy", merged(POLICY, {"spec": {"matchConstraints": {"resourceRules": [{**RULE, "resources": ["pods", "*", "*/status", "pods/status", "pods/*", "pods/log"]}]}}}), [
        'spec.matchConstraints.resourceRules[0].resources[3]: Invalid value: "pods/status": if \'*/status\' is present, must not specify pods/status',
        'spec.matchConstraints.resourceRules[0].resources[5]: Invalid value: "pods/log": if \'pods/*\' is present, must not specify pods/log',
    ]),
    ("MutatingWebhookConfiguration", {"webhooks": [{"name": "a.b.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"], "clientConfig": {"service": {"name": "s", "namespace": "n", "path": "a//b", "port": 0}}, "reinvocationPolicy": "Always"}]}, [
        'webhooks[0].reinvocationPolicy: Unsupported value: "Always": supported values: "IfNeeded", "Never"',
        'webhooks[0].clientConfig.service.port: Invalid value: 0: port is not valid: must be between 1 and 65535, inclusive',
        'webhooks[0].clientConfig.service.path: Invalid value: "a//b": must start with a \'/\'',
        'webhooks[0].clientConfig.service.path: Invalid value: "a//b": segment[0] may not be empty',
        'webhooks[0].clientConfig.service.path: Invalid value: "a//b": segment[1] may not be empty',
    ]),
    ("MutatingWebhookConfiguration", {"webhooks": [{"name": "a.b.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"], "clientConfig": {"url": "http://u@/?a=b#c"}, "reinvocationPolicy": "IfNeeded"}]}, [
        'webhooks[0].clientConfig.url: Invalid value: "http": \'https\' is the only allowed URL scheme; desired format: https://host[/path]',
        'webhooks[0].clientConfig.url: Invalid value: "": host must be specified; desired format: https://host[/path]',
        'webhooks[0].clientConfig.url: Invalid value: "u": user information is not permitted in the URL',
        'webhooks[0].clientConfig.url: Invalid value: "c": fragments are not permitted in the URL',
        'webhooks[0].clientConfig.url: Invalid value: "a=b": query parameters are not permitted in the URL',
    ]),
    ("MutatingWebhookConfiguration", {"webhooks": [{"name": "a.b.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"], "clientConfig": {"service": {"path": "//"}}}]}, [
        'webhooks[0].clientConfig.service.name: Required value',
        'webhooks[0].clientConfig.service.namespace: Required value',
        'webhooks[0].clientConfig.service.path: Invalid value: "//": segment[0] may not be empty',
    ]),
    ("APIService", merged(SERVICE, {"spec": {"insecureSkipTLSVerify": True, "caBundle": "YQ=="}}), [
        'spec.caBundle: Invalid value: "1 bytes": local APIServices may not have a caBundle',
        'spec.insecureSkipTLSVerify: Invalid value: true: local APIServices may not have insecureSkipTLSVerify',
    ]),
    ("APIService", merged(SERVICE, {"spec": {"service": None, "insecureSkipTLSVerify": True, "caBundle": "YQ==", "groupPriorityMinimum": 0, "versionPriority": 1001}}), [
        'spec.groupPriorityMinimum: Invalid value: 0: must be positive and less than 20000',
        'spec.versionPriority: Invalid value: 1001: must be positive and less than 1000',
        'spec.caBundle: Invalid value: "1 bytes": local APIServices may not have a caBundle',
        'spec.insecureSkipTLSVerify: Invalid value: true: local APIServices may not have insecureSkipTLSVerify',
    ]),
    ("FlowSchema", merged(SCHEMA, {"spec": {"rules": [{"subjects": [{"kind": "ServiceAccount", "serviceAccount": {"name": "*", "namespace": "n"}}, {"kind": "ServiceAccount", "serviceAccount": {"name": "A", "namespace": ""}}, {"kind": "User", "group": {"name": "g"}}], "resourceRules": [{"verbs": ["*", "get"], "apiGroups": ["*", "a"], "resources": [], "namespaces": ["*", "n"]}], "nonResourceRules": [{"verbs": ["look"], "nonResourceURLs": ["*", "/a"]}]}]}}), [
        'spec.rules[0].subjects[1].serviceAccount.name: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower case alpha…',
        'spec.rules[0].subjects[1].serviceAccount.namespace: Required value: must specify namespace for service account',
        "spec.rules[0].subjects[2].user: Required value: user is required when subject kind is 'User'",
        "spec.rules[0].subjects[2].group: Forbidden: group is forbidden when subject kind is not 'Group'",
        'spec.rules[0].resourceRules[0].verbs: Invalid value: ["*","get"]: if \'*\' is present, must not specify other verbs',
        'spec.rules[0].resourceRules[0].apiGroups: Invalid value: ["*","a"]: if \'*\' is present, must not specify other api groups',
        'spec.rules[0].resourceRules[0].resources: Required value: resource rules must supply at least one resource',
        'spec.rules[0].resourceRules[0].namespaces: Invalid value: ["*","n"]: if \'*\' is present, must not specify other namespaces',
        'spec.rules[0].nonResourceRules[0].verbs: Unsupported value: ["look"]: supported values: "create", "delete", "deletecollection", "g…',
        'spec.rules[0].nonResourceRules[0].nonResourceURLs: Invalid value: ["*","/a"]: if \'*\' is present, must not specify other non-resource URLs',
    ]),
    ("FlowSchema", merged(SCHEMA, {"spec": {"rules": [{"subjects": [{"kind": "User", "user": {"name": "u"}}], "nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": ["", "a", "/a b", "//", "/*/a", "/a/*"]}]}]}}), [
        'spec.rules[0].nonResourceRules[0].nonResourceURLs[0]: Invalid value: "": must not be empty',
        'spec.rules[0].nonResourceRules[0].nonResourceURLs[1]: Invalid value: "a": must start with slash',
        'spec.rules[0].nonResourceRules[0].nonResourceURLs[2]: Invalid value: "/a b": must not contain white-space',
        'spec.rules[0].nonResourceRules[0].nonResourceURLs[3]: Invalid value: "//": must not contain double slash',
        'spec.rules[0].nonResourceRules[0].nonResourceURLs[4]: Invalid value: "/*/a": wildcard can only do suffix matching',
    ]),
    ("PriorityLevelConfiguration", {"metadata": {"name": "exempt"}, "spec": {"type": "Exempt", "exempt": {"lendablePercent": 101, "nominalConcurrencyShares": -1}, "limited": {}}}, [
        'spec.limited: Forbidden: must be nil if the type is not Limited',
        'spec.exempt.nominalConcurrencyShares: Invalid value: -1: must be a non-negative integer',
        'spec.exempt.lendablePercent: Invalid value: 101: must be between 0 and 100, inclusive',
        'spec: Invalid value: {"Type":"Exempt","Limited":{"NominalConcurrencyShares":30,"LimitResponse":{"Type":"","Queuing":null},"Lendabl…',
    ]),
    ("PriorityLevelConfiguration", {"metadata": {"name": "catch-all"}, "spec": {"type": "Limited", "limited": {"limitResponse": {"type": "Reject"}, "lendablePercent": 5}}}, ['spec: Invalid value: {"Type":"Limited","Limited":{"NominalConcurrencyShares":30,"LimitResponse":{"Type":"Reject","Queuing":null},"…']),
    ("PriorityLevelConfiguration", {"metadata": {"name": "exempt"}, "spec": {"type": "Limited", "limited": {"limitResponse": {"type": "Reject", "queuing": {}}}}}, [
        'spec.type: Invalid value: "Limited": must be \'Exempt\' if and only if `name` is \'exempt\'',
        'spec.limited.limitResponse.queuing: Forbidden: must be nil if limited.limitResponse.type is not Limited',
        'spec: Invalid value: {"Type":"Limited","Limited":{"NominalConcurrencyShares":30,"LimitResponse":{"Type":"Reject","Queuing":{"Queue…',
    ]),
    ("PriorityLevelConfiguration", merged(LEVEL, {"spec": {"limited": {"limitResponse": {"queuing": {"queues": -1, "handSize": -1, "queueLengthLimit": -1}}, "borrowingLimitPercent": -1}}}), [
        'spec.limited.limitResponse.queuing.queueLengthLimit: Invalid value: -1: must be positive',
        'spec.limited.limitResponse.queuing.queues: Invalid value: -1: must be positive',
        'spec.limited.limitResponse.queuing.handSize: Invalid value: -1: must be positive',
        'spec.limited.borrowingLimitPercent: Invalid value: -1: if specified, must be a non-negative integer',
    ]),
    ("PriorityLevelConfiguration", merged(LEVEL, {"spec": {"limited": {"limitResponse": {"queuing": {"queues": 10_000_001, "handSize": 3, "queueLengthLimit": 1}}}}}), [
        'spec.limited.limitResponse.queuing.queues: Invalid value: 10000001: must not be greater than 10000000',
        'spec.limited.limitResponse.queuing.handSize: Invalid value: 3: required entropy bits of deckSize 10000001 and handSize 3 should not be greater than 60',
    ]),
    ("PriorityLevelConfiguration", merged(LEVEL, {"spec": {"limited": {"limitResponse": {"queuing": {"queues": 2, "handSize": 3}}}}}), ['spec.limited.limitResponse.queuing.handSize: Invalid value: 3: should not be greater than queues (2)']),
    ("PriorityLevelConfiguration", {"spec": {"type": "Limited"}}, ['spec.limited: Required value: must not be empty when type is Limited']),
    ("PriorityLevelConfiguration", {"spec": {"type": "Limited", "limited": {"limitResponse": {"type": "Queue"}}}}, ['spec.limited.limitResponse.queuing: Required value: must not be empty if limited.limitResponse.type is Limited']),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "obj", "expected"), NEW)
def test_new(kind, obj, expected):
    check_new(kind, obj, expected)
