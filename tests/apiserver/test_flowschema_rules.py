"""Which requests the rules of a FlowSchema match: subjects, resources, namespaces and paths."""

import pytest

from fakekube.apiserver.registry.builtin import printer_of
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.user import User
from tests.apiserver.api import Api
from tests.apiserver.test_flowcontrol import SCHEMAS, classify, everything, schema

ACCOUNT = User("system:serviceaccount:ns:sa", groups=("system:serviceaccounts",))
JANE = User("jane", groups=("dev",))
ANYONE = {"kind": "Group", "group": {"name": "*"}}


def matched(subject, rule, user, path, method="GET"):
    api = Api()
    api.ok("POST", SCHEMAS, schema("mine", "global-default", 2, subject, **rule))
    return classify(api, user, path, method) == "mine"


def account(namespace, name):
    return {"kind": "ServiceAccount", "serviceAccount": {"namespace": namespace, "name": name}}


@pytest.mark.parametrize(
    ("subject", "user", "expected"),
    [
        ({"kind": "User", "user": {"name": "jane"}}, JANE, True),
        ({"kind": "User", "user": {"name": "bob"}}, JANE, False),
        ({"kind": "User", "user": {"name": "*"}}, JANE, True),
        ({"kind": "Group", "group": {"name": "dev"}}, JANE, True),
        ({"kind": "Group", "group": {"name": "ops"}}, JANE, False),
        (ANYONE, JANE, True),
        (account("ns", "sa"), ACCOUNT, True),
        (account("ns", "*"), ACCOUNT, True),
        (account("other", "*"), ACCOUNT, False),
        (account("ns", "other"), ACCOUNT, False),
        (account("other", "sa"), ACCOUNT, False),
        (account("ns", "*"), JANE, False),
    ],
)
def test_subjects(subject, user, expected):
    assert matched(subject, everything(), user, "/api/v1/pods") is expected


def resources(**rule):
    given = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "namespaces": ["*"], "clusterScope": True}
    return {"resourceRules": [{**given, **rule}]}


PODS = "/api/v1/namespaces/a/pods"


@pytest.mark.parametrize(
    ("rule", "path", "expected"),
    [
        (resources(verbs=["list"]), PODS, True),
        (resources(verbs=["get"]), PODS, False),
        (resources(apiGroups=[""]), PODS, True),
        (resources(apiGroups=["apps"]), PODS, False),
        (resources(apiGroups=["apps"]), "/apis/apps/v1/deployments", True),
        (resources(resources=["pods"]), PODS, True),
        (resources(resources=["pods"]), f"{PODS}/x/status", False),
        (resources(resources=["pods/status"]), f"{PODS}/x/status", True),
        (resources(resources=["pods/status"]), f"{PODS}/x", False),
        (resources(namespaces=["a"]), PODS, True),
        (resources(namespaces=["b"]), PODS, False),
        (resources(namespaces=["a"], clusterScope=False), "/api/v1/pods", False),
        (resources(namespaces=["a"]), "/api/v1/pods", True),
        (resources(namespaces=[]), PODS, False),
        (resources(), "/healthz", False),
        ({"nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": ["/healthz"]}]}, "/healthz", True),
        ({"nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": ["/healthz"]}]}, "/healthz/x", True),
        ({"nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": ["/healthz"]}]}, "/healthzx", False),
        ({"nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": ["/healthz/*"]}]}, "/healthz/x", True),
        ({"nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": ["*"]}]}, "/version", True),
        ({"nonResourceRules": [{"verbs": ["post"], "nonResourceURLs": ["*"]}]}, "/version", False),
        ({"nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}]}, PODS, False),
    ],
)  # fmt: skip
def test_rules(rule, path, expected):
    api = Api()
    store, collection = api.apiserver.store, "flowschemas.flowcontrol.apiserver.k8s.io"
    api.ok("POST", SCHEMAS, schema("mine", "global-default", 2, ANYONE, **everything()))
    entry = store.get(collection, "mine")
    changed = schema("mine", "global-default", 2, ANYONE, **rule)["spec"]
    store.update(collection, "mine", entry, {**entry.object, "spec": changed})
    assert (classify(api, JANE, path) == "mine") is expected


def test_of_several_schemas_the_first_by_precedence_and_name():
    api = Api()
    for name, precedence in (("b", 5), ("a", 5), ("c", 6)):
        api.ok("POST", SCHEMAS, schema(name, "global-default", precedence, ANYONE, **everything()))
    assert classify(api, JANE, PODS) == "a"
    api.ok("DELETE", f"{SCHEMAS}/a")
    assert classify(api, JANE, PODS) == "b"
    api.ok("DELETE", f"{SCHEMAS}/b")
    assert classify(api, JANE, PODS) == "c"


@pytest.mark.parametrize(
    ("obj", "cells"),
    [
        ({"spec": {}}, ["a", "", 0, "<none>", "<unknown>", "?"]),
        (
            {
                "spec": {
                    "priorityLevelConfiguration": {"name": "p"},
                    "matchingPrecedence": 5,
                    "distinguisherMethod": {"type": "ByUser"},
                },
                "status": {
                    "conditions": [{"type": "Other", "status": "True"}, {"type": "Dangling", "status": "False"}]
                },
            },
            ["a", "p", 5, "ByUser", "<unknown>", "False"],
        ),
    ],
)
def test_the_row_of_a_flow_schema(obj, cells):
    printer = printer_of("flowschemas.flowcontrol.apiserver.k8s.io")
    assert printer.cells({"metadata": {"name": "a"}, **obj}, Ages("2026-01-01T00:00:00Z")) == cells
