"""Access reviews."""

import pytest

from fakekube.apiserver.user import User
from tests.apiserver.api import Api

GROUP = "/apis/authorization.k8s.io/v1"
ACCESS = "/apis/rbac.authorization.k8s.io/v1"
SELF, OTHER = f"{GROUP}/selfsubjectaccessreviews", f"{GROUP}/subjectaccessreviews"
LOCAL = f"{GROUP}/namespaces/default/localsubjectaccessreviews"
JANE = User("jane", groups=("dev", "system:authenticated"))
RULES = [
    {"apiGroups": [""], "resources": ["pods", "pods/log"], "verbs": ["get", "list"]},
    {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"], "resourceNames": ["a"]},
]


@pytest.fixture
def api():
    found = Api(authorization_mode="RBAC")
    role = {"metadata": {"name": "r"}, "rules": RULES}
    found.ok("POST", f"{ACCESS}/namespaces/default/roles", role)
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"}
    subject = {"kind": "Group", "name": "dev", "apiGroup": "rbac.authorization.k8s.io"}
    binding = {"metadata": {"name": "b"}, "roleRef": reference, "subjects": [subject]}
    found.ok("POST", f"{ACCESS}/namespaces/default/rolebindings", binding)
    return found


def pods(verb="get", **more):
    return {"resourceAttributes": {"verb": verb, "resource": "pods", "namespace": "default", **more}}


@pytest.mark.parametrize(
    ("spec", "allowed"),
    [
        pytest.param(pods(), True, id="get"),
        pytest.param(pods("delete"), False, id="delete"),
        pytest.param(pods(namespace="other"), False, id="elsewhere"),
        pytest.param(pods(namespace=""), False, id="everywhere"),
        pytest.param(pods(subresource="log"), True, id="log"),
        pytest.param(pods(subresource="exec"), False, id="exec"),
        pytest.param(pods(group="apps"), False, id="other-group"),
        pytest.param(pods(resource="secrets", name="a"), True, id="named"),
        pytest.param(pods(resource="secrets", name="b"), False, id="other-name"),
        pytest.param({"nonResourceAttributes": {"verb": "get", "path": "/version"}}, True, id="path"),
        pytest.param({"nonResourceAttributes": {"verb": "get", "path": "/metrics"}}, False, id="other-path"),
    ],
)
def test_a_review_of_the_users_own_access(api, spec, allowed):
    assert api.ok("POST", SELF, {"spec": spec}, user=JANE)["status"]["allowed"] == allowed
    about = {**spec, "user": "jane", "groups": ["dev", "system:authenticated"]}
    assert api.ok("POST", OTHER, {"spec": about})["status"]["allowed"] == allowed


def test_the_reason_of_a_review(api):
    status = api.ok("POST", SELF, {"spec": pods()}, user=JANE)["status"]
    assert status["reason"] == 'RBAC: allowed by RoleBinding "b/default" of Role "r" to Group "dev"'


NOTHING = "spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified"
NO_SUBJECT = 'spec.user: Invalid value: "": at least one of user or group must be specified'


@pytest.mark.parametrize(
    ("path", "body", "whys"),
    [
        pytest.param(SELF, {"spec": {}}, [NOTHING], id="nothing"),
        pytest.param(OTHER, {"spec": {}}, [NOTHING, NO_SUBJECT], id="no-attributes-and-no-subject"),
        pytest.param(OTHER, {"spec": pods()}, [NO_SUBJECT], id="no-subject"),
        pytest.param(
            SELF, {"spec": {**pods(), "nonResourceAttributes": {"path": "/x"}}},
            ["cannot be specified in combination with resourceAttributes"], id="both",
        ),
        pytest.param(SELF, {"metadata": {"name": "x"}, "spec": pods()}, ["must be empty"], id="a-name"),
        pytest.param(
            LOCAL, {"spec": {**pods(namespace="other"), "user": "jane"}},
            ['spec.resourceAttributes.namespace: Invalid value: "other": must match metadata.namespace'], id="elsewhere",
        ),
        pytest.param(
            LOCAL, {"metadata": {"name": "x"}, "spec": {**pods(), "user": "jane"}},
            ["must be empty except for namespace"], id="a-local-name",
        ),
        pytest.param(
            LOCAL, {"spec": {"nonResourceAttributes": {"path": "/x"}, "user": "jane"}},
            ["disallowed on this kind of request"], id="a-path",
        ),
    ],
)  # fmt: skip
def test_invalid_reviews(api, path, body, whys):
    code, _, message = api.refused("POST", path, body)
    assert code == 422
    assert all(why in message for why in whys), message
    assert message.count("Invalid value") == len(whys)


def test_a_local_review(api):
    assert api.ok("POST", LOCAL, {"spec": {**pods(), "groups": ["dev"]}})["status"]["allowed"]


def test_a_review_of_the_users_rules(api):
    review = api.ok("POST", f"{GROUP}/selfsubjectrulesreviews", {"spec": {"namespace": "default"}}, user=JANE)
    status = review["status"]
    assert {"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods", "pods/log"]} in status["resourceRules"]
    assert any("/version" in rule["nonResourceURLs"] for rule in status["nonResourceRules"])
    assert not status["incomplete"]


def test_a_local_review_of_another_namespace_is_refused(api):
    code, _, message = api.refused("POST", LOCAL, {"metadata": {"namespace": "other"}, "spec": {"user": "u", **pods()}})
    assert (code, message) == (
        400,
        "the namespace of the provided object does not match the namespace sent on the request",
    )


def test_a_review_of_the_cluster_has_no_namespace(api):
    shown = api.ok("POST", OTHER, {"metadata": {"namespace": "other"}, "spec": {"user": "u", **pods()}})
    assert "namespace" not in shown["metadata"]
