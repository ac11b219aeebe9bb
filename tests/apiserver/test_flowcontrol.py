"""API Priority and Fairness: the FlowSchema of a request, the status of FlowSchemas, and metrics."""

import pytest

from fakekube.apiserver.flowcontrol import Classifier, _matches, runs_long, seats
from fakekube.apiserver.user import User
from fakekube.apiserver.wire.request import Request, parse
from tests.apiserver.api import Api

SCHEMAS = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas"
LEVELS = "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations"
MERGE = {"content_type": "application/merge-patch+json"}

ALICE = User("alice", groups=("dev", "system:authenticated"))
ROOT = User("root", groups=("system:masters", "system:authenticated"))
KUBELET = User("system:node:n", groups=("system:nodes", "system:authenticated"))
ANONYMOUS = User("system:anonymous", groups=("system:unauthenticated",))


def schema(name, level, precedence, subject, **rule):
    rules = [{"subjects": [subject], **rule}]
    spec = {"matchingPrecedence": precedence, "priorityLevelConfiguration": {"name": level}, "rules": rules}
    return {"metadata": {"name": name}, "spec": spec}


def everything():
    every = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "namespaces": ["*"], "clusterScope": True}
    return {"resourceRules": [every]}


def classify(api, user, path, method="GET"):
    headers = api.apiserver.store.derived(Classifier).dispatch(user, parse(Request(method, path)))
    names = {one["metadata"]["uid"]: one["metadata"]["name"] for one in api.ok("GET", SCHEMAS)["items"]}
    return names.get(headers.get("X-Kubernetes-PF-FlowSchema-UID"), "")


def test_a18_requests_are_classified_by_the_bootstrap_flow_schemas():
    api = Api()
    pods = "/api/v1/namespaces/default/pods"
    assert classify(api, ROOT, pods) == "exempt"
    assert classify(api, ALICE, pods) == "global-default"
    assert classify(api, KUBELET, pods) == "system-nodes"
    assert classify(api, ANONYMOUS, "/readyz") == "probes"
    assert classify(api, ANONYMOUS, pods) == "global-default"
    account = User("system:serviceaccount:a:b", groups=("system:serviceaccounts", "system:authenticated"))
    assert classify(api, account, pods) == "service-accounts"


def test_a18_requests_are_classified_by_added_flow_schemas():
    api = Api()
    subject = {"kind": "User", "user": {"name": "alice"}}
    api.ok("POST", SCHEMAS, schema("mine", "workload-low", 50, subject, **everything()))
    assert classify(api, ALICE, "/api/v1/pods") == "mine"
    assert classify(api, ALICE, "/version") == "global-default"
    api.ok("DELETE", f"{SCHEMAS}/mine")
    assert classify(api, ALICE, "/api/v1/pods") == "global-default"


def test_a18_a_flow_schema_without_its_priority_level_is_not_used():
    api = Api()
    subject = {"kind": "Group", "group": {"name": "dev"}}
    api.ok("POST", SCHEMAS, schema("mine", "later", 50, subject, **everything()))
    assert classify(api, ALICE, "/api/v1/pods") == "global-default"


def test_a18_long_running_requests_are_not_classified():
    api = Api()
    assert classify(api, ALICE, "/api/v1/namespaces/default/pods/p/log") == ""
    assert classify(api, ALICE, "/api/v1/namespaces/default/pods/p/exec", "POST") == ""


def condition(api, name):
    return api.ok("GET", f"{SCHEMAS}/{name}")["status"]["conditions"][0]


def test_a18_the_status_of_a_flow_schema_follows_its_priority_level():
    api = Api()
    subject = {"kind": "Group", "group": {"name": "dev"}}
    api.ok("POST", SCHEMAS, schema("mine", "later", 50, subject, **everything()))
    named = 'This FlowSchema references the PriorityLevelConfiguration object named "later"'
    assert condition(api, "mine") == {
        "type": "Dangling",
        "status": "True",
        "lastTransitionTime": api.context.now,
        "reason": "NotFound",
        "message": f"{named} but there is no such object",
    }
    limited = {"nominalConcurrencyShares": 10, "limitResponse": {"type": "Reject"}}
    api.ok("POST", LEVELS, {"metadata": {"name": "later"}, "spec": {"type": "Limited", "limited": limited}})
    assert (condition(api, "mine")["status"], condition(api, "mine")["reason"]) == ("False", "Found")
    entry = api.ok("GET", f"{SCHEMAS}/mine")["metadata"]["managedFields"][0]
    manager = "api-priority-and-fairness-config-consumer-v1"
    assert (entry["manager"], entry["operation"], entry["subresource"]) == (manager, "Apply", "status")
    api.ok("DELETE", f"{LEVELS}/later")
    assert condition(api, "mine")["status"] == "True"


def test_a18_the_status_of_a_flow_schema_is_written_once():
    api = Api()
    subject = {"kind": "Group", "group": {"name": "dev"}}
    api.ok("POST", SCHEMAS, schema("mine", "workload-low", 50, subject, **everything()))
    revision = api.revision
    api.ok("PATCH", f"{SCHEMAS}/mine", {"metadata": {"labels": {"a": "b"}}}, **MERGE)
    assert api.revision == revision + 1


def test_a18_the_seats_of_priority_levels():
    found = seats(Api().apiserver.store)
    nominal = {name: one.nominal for name, one in found.items()}
    assert nominal == {
        "catch-all": 13,
        "exempt": 0,
        "global-default": 49,
        "leader-election": 25,
        "node-high": 98,
        "system": 74,
        "workload-high": 98,
        "workload-low": 245,
    }
    low = found["workload-low"]
    assert (low.lower, low.upper, low.current) == (24, 845, 135)


GET = {"verbs": ["get"], "apiGroups": ["apps"], "resources": ["deployments"], "namespaces": ["a"]}
PATHS = {"verbs": ["get"], "nonResourceURLs": ["/healthz", "/readyz/*"]}
BOB = {"kind": "User", "user": {"name": "bob"}}
ACCOUNT = User("system:serviceaccount:a:b", groups=("system:serviceaccounts",))
IN_A = "/apis/apps/v1/namespaces/a/deployments/d"


def matches(user, path, subject, method="GET", **rules):
    rule = {"subjects": [subject], **rules}
    return _matches(rule, user, parse(Request(method, path)))


@pytest.mark.parametrize(
    ("user", "subject", "expected"),
    [
        (ALICE, {"kind": "User", "user": {"name": "alice"}}, True),
        (ALICE, {"kind": "User", "user": {"name": "*"}}, True),
        (ALICE, BOB, False),
        (ALICE, {"kind": "User"}, False),
        (ALICE, {"kind": "Group", "group": {"name": "dev"}}, True),
        (ALICE, {"kind": "Group", "group": {"name": "*"}}, True),
        (ALICE, {"kind": "Group", "group": {"name": "alice"}}, False),
        (ALICE, {"kind": "Group"}, False),
        (ACCOUNT, {"kind": "ServiceAccount", "serviceAccount": {"namespace": "a", "name": "b"}}, True),
        (ACCOUNT, {"kind": "ServiceAccount", "serviceAccount": {"namespace": "a", "name": "*"}}, True),
        (ACCOUNT, {"kind": "ServiceAccount", "serviceAccount": {"namespace": "b", "name": "b"}}, False),
        (ACCOUNT, {"kind": "ServiceAccount", "serviceAccount": {"namespace": "b", "name": "*"}}, False),
        (ACCOUNT, {"kind": "ServiceAccount", "serviceAccount": {"namespace": "a", "name": "c"}}, False),
        (ACCOUNT, {"kind": "ServiceAccount"}, False),
        (ACCOUNT, {"kind": "Other", "serviceAccount": {"namespace": "a", "name": "b"}}, False),
    ],
)
def test_subjects_of_a_flow_schema(user, subject, expected):
    assert matches(user, IN_A, subject, resourceRules=[GET]) is expected


@pytest.mark.parametrize(
    ("path", "change", "expected"),
    [
        (IN_A, {}, True),
        (IN_A, {"verbs": ["list"]}, False),
        (IN_A, {"verbs": ["*"]}, True),
        (IN_A, {"apiGroups": [""]}, False),
        (IN_A, {"resources": ["deployments/scale"]}, False),
        (IN_A, {"namespaces": ["b"]}, False),
        (IN_A, {"namespaces": ["*"]}, True),
        (IN_A, {"namespaces": ["*", "b"]}, False),
        (IN_A, {"namespaces": None, "clusterScope": True}, False),
        (f"{IN_A}/scale", {}, False),
        (f"{IN_A}/scale", {"resources": ["deployments/scale"]}, True),
        ("/apis/apps/v1/deployments", {"verbs": ["list"], "namespaces": ["*"]}, False),
        ("/apis/apps/v1/deployments", {"verbs": ["list"], "clusterScope": True}, True),
    ],
)
def test_resource_rules_of_a_flow_schema(path, change, expected):
    assert matches(User("bob"), path, BOB, resourceRules=[GET | change]) is expected


@pytest.mark.parametrize(
    ("path", "change", "expected"),
    [
        ("/healthz", {}, True),
        ("/healthz/etcd", {}, True),
        ("/healthzz", {}, False),
        ("/readyz/ping", {}, True),
        ("/readyz", {}, False),
        ("/livez", {}, False),
        ("/livez", {"nonResourceURLs": ["*"]}, True),
        ("/healthz", {"verbs": ["post"]}, False),
        ("/healthz", {"nonResourceURLs": []}, False),
    ],
)
def test_path_rules_of_a_flow_schema(path, change, expected):
    assert matches(User("bob"), path, BOB, nonResourceRules=[PATHS | change]) is expected


@pytest.mark.parametrize(
    ("path", "method", "expected"),
    [
        ("/api/v1/namespaces/a/pods/p", "GET", False),
        ("/api/v1/namespaces/a/pods/p/log", "GET", True),
        ("/api/v1/namespaces/a/pods/p/exec", "POST", True),
        ("/api/v1/namespaces/a/pods/p/proxy/x", "GET", True),
        ("/api/v1/namespaces/a/pods/p/status", "GET", False),
    ],
)
def test_requests_that_last_are_not_limited(path, method, expected):
    assert runs_long(parse(Request(method, path))) is expected
