"""API Priority and Fairness: the FlowSchema of a request, the status of FlowSchemas, and metrics."""

from fakekube.apiserver.flowcontrol import Classifier, seats
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
