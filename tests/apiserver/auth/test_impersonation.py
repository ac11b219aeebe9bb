"""Impersonation: the required permissions, and the resulting user."""

from urllib.parse import parse_qs

import pytest

from fakekube.apiserver import features
from fakekube.apiserver.auth.impersonation import Impersonation
from fakekube.apiserver.auth.rbac import Decision
from fakekube.apiserver.user import User
from fakekube.apiserver.wire.request import Request, parse
from fakekube.apiserver.wire.status import PlainAnswer, StatusError
from tests.apiserver.api import ADMIN, Api

ACCESS = "/apis/rbac.authorization.k8s.io/v1"
JANE = User("jane", groups=("system:authenticated",))
AUTHENTICATION = "authentication.k8s.io"
PODS = "/api/v1/namespaces/default/pods"


def granted(*rules):
    """A server on which jane has the given rules cluster-wide."""
    api = Api(authorization_mode="RBAC")
    api.ok("POST", f"{ACCESS}/clusterroles", {"metadata": {"name": "r"}, "rules": list(rules)})
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "r"}
    subject = {"kind": "User", "name": "jane", "apiGroup": "rbac.authorization.k8s.io"}
    api.ok(
        "POST",
        f"{ACCESS}/clusterrolebindings",
        {"metadata": {"name": "b"}, "roleRef": reference, "subjects": [subject]},
    )
    return api


def rule(group, resource, verb, *names):
    return {
        "apiGroups": [group],
        "resources": [resource],
        "verbs": [verb],
        **({"resourceNames": list(names)} if names else {}),
    }


def acting(api, requestor, target=PODS, method="GET", **headers):
    """The effective user of a request; header names are without `impersonate-`."""
    path, _, query = target.partition("?")
    sent = {f"impersonate-{name.replace('_', '-')}": value for name, value in headers.items()}
    request = Request(method, path, parse_qs(query), sent, b"", requestor)
    return api.apiserver.impersonation.effective(request, parse(request))


@pytest.mark.parametrize(
    ("headers", "groups"),
    [
        pytest.param({"user": "bob"}, ("system:authenticated",), id="user"),
        pytest.param({"user": "bob", "group": "g"}, ("g", "system:authenticated"), id="group"),
        pytest.param({"user": "system:anonymous"}, ("system:unauthenticated",), id="anonymous"),
        pytest.param(
            {"user": "system:serviceaccount:ns:a"},
            ("system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"),
            id="account",
        ),
        pytest.param(
            {"user": "system:serviceaccount:ns:a", "group": "g"}, ("g", "system:authenticated"), id="account-and-group"
        ),
    ],
)
def test_the_impersonated_user(headers, groups):
    user = acting(Api(authorization_mode="RBAC"), ADMIN, **headers)
    assert (user.name, user.groups) == (headers["user"], groups)


def test_uid_and_extra():
    user = acting(Api(authorization_mode="RBAC"), ADMIN, user="bob", uid="1", **{"extra-example.com%2fscopes": "x"})
    assert (user.uid, dict(user.extra)) == ("1", {"example.com/scopes": ("x",)})


@pytest.mark.parametrize(
    ("rules", "headers", "why"),
    [
        pytest.param([], {"user": "bob"}, 'cannot impersonate-on:user-info:list resource "pods"', id="nothing"),
        pytest.param([rule("", "users", "impersonate", "bob")], {"user": "bob"}, "", id="by-name"),

        pytest.param([rule("", "users", "impersonate", "bob")], {"user": "eve"}, "impersonate-on", id="another"),
        pytest.param([rule("", "users", "impersonate")], {"user": "bob", "group": "g"}, "impersonate-on", id="no-group"),
        pytest.param(
            [rule("", "users", "impersonate"), rule("", "groups", "impersonate", "g")],
            {"user": "bob", "group": "g"}, "", id="user-and-group",
        ),
        pytest.param(
            [rule("", "users", "impersonate")], {"user": "bob", "uid": "1"}, "impersonate-on", id="no-uid",
        ),
        pytest.param(
            [rule("", "users", "impersonate"), rule(AUTHENTICATION, "uids", "impersonate", "1")],
            {"user": "bob", "uid": "1"}, "", id="uid",
        ),
        pytest.param(
            [rule("", "users", "impersonate"), rule(AUTHENTICATION, "userextras/scopes", "impersonate", "x")],
            {"user": "bob", "extra-scopes": "x"}, "", id="extra",
        ),
        pytest.param([rule("", "serviceaccounts", "impersonate", "a")], {"user": "system:serviceaccount:ns:a"}, "", id="account"),
        pytest.param(
            [rule(AUTHENTICATION, "users", "impersonate:user-info"), rule("", "pods", "impersonate-on:user-info:list")],
            {"user": "bob"}, "", id="for-one-request",
        ),
        pytest.param(
            [rule(AUTHENTICATION, "users", "impersonate:user-info"), rule("", "pods", "impersonate-on:user-info:get")],
            {"user": "bob"}, 'cannot impersonate-on:user-info:list resource "pods"', id="for-another-request",
        ),
        pytest.param(
            [
                rule(AUTHENTICATION, "serviceaccounts", "impersonate:serviceaccount"),
                rule("", "pods", "impersonate-on:serviceaccount:list"),
            ],
            {"user": "system:serviceaccount:ns:a"}, "", id="account-for-one-request",
        ),
        pytest.param(
            [rule(AUTHENTICATION, "nodes", "impersonate:arbitrary-node", "n"), rule("", "pods", "impersonate-on:arbitrary-node:list")],
            {"user": "system:node:n"}, "", id="node",
        ),
    ],
)  # fmt: skip
def test_the_required_permissions(rules, headers, why):
    api = granted(*rules)
    if not why:
        assert acting(api, JANE, **headers).name == headers["user"]
        return
    with pytest.raises(StatusError) as refused:
        acting(api, JANE, **headers)
    assert (refused.value.code, why in refused.value.message) == (403, True), refused.value.message


def test_constrained_impersonation_of_system_masters_is_forbidden():
    api = granted(
        rule(AUTHENTICATION, "users", "impersonate:user-info"), rule(AUTHENTICATION, "groups", "impersonate:user-info"),
        rule("", "pods", "impersonate-on:user-info:list"),
    )  # fmt: skip
    with pytest.raises(StatusError, match="impersonating the system:masters group is not allowed"):
        acting(api, JANE, user="bob", group="system:masters")


@pytest.mark.parametrize("headers", [{"group": "g"}, {"uid": "1"}, {"extra-x": "y"}])
def test_impersonation_requires_a_user_name(headers):
    with pytest.raises(StatusError) as refused:
        acting(Api(), ADMIN, **headers)
    assert refused.value.code == 400
    assert refused.value.message.endswith("without impersonating a user name")


@pytest.mark.parametrize(
    ("version", "headers", "code", "message"),
    [
        (
            "1.36", {"group": "g", "uid": "1", "extra-b": "x", "extra-a": "y"}, 400,
            'requested &user.DefaultInfo{Name:"", UID:"1", Groups:[]string{"g"}, Extra:map[string][]string{'
            '"a":[]string{"y"}, "b":[]string{"x"}}} without impersonating a user name',
        ),
        (
            "1.36", {"uid": "1"}, 400,
            'requested &user.DefaultInfo{Name:"", UID:"1", Groups:[]string(nil), Extra:map[string][]string(nil)} without '
            "impersonating a user name",
        ),
        (
            "1.34", {"group": "g", "uid": "1", "extra-a": "y"}, 500,
            f'Internal Server Error: "{PODS}": requested [{{Group  g    }} {{UserExtra  y  authentication.k8s.io/v1  a}} '
            "{UID  1  authentication.k8s.io/v1  }] without impersonating a user\n",
        ),
    ],
)  # fmt: skip
def test_how_an_error_shows_what_was_asked_for(version, headers, code, message):
    api = Api(version=version)
    token = features.use(api.apiserver.features)
    try:
        with pytest.raises((StatusError, PlainAnswer)) as refused:
            acting(api, ADMIN, **headers)
    finally:
        features.leave(token)
    error = refused.value
    assert (error.code, getattr(error, "message", None) or error.text) == (code, message)


@pytest.mark.parametrize(("count", "allowed"), [(3, False), (4, True)])
def test_many_groups_need_one_permission_for_all_of_them(count, allowed):
    """`isGroupsAllowed`: with more than three groups, the permission for `*` is asked for first."""
    asked = []

    def decide(user, info):
        asked.append((info.resource, info.name))
        return Decision(info.resource != "groups" or info.name == "*", "")

    class Headers(dict):
        def getall(self, name):
            return [f"g{n}" for n in range(count)] if name == "impersonate-group" else []

    headers = Headers({"impersonate-user": "bob", "impersonate-group": "g0"})
    request = Request("GET", PODS, {}, headers, b"", JANE)
    try:
        Impersonation(decide).effective(request, parse(request))
    except StatusError:
        pass
    of_groups = [name for resource, name in asked if resource == "groups"]
    assert of_groups == (["*"] if allowed else ["g0", "g0"])


def test_the_mode_that_succeeded_is_tried_first_the_next_time():
    asked = []

    def decide(user, info):
        asked.append(info.verb)
        return Decision(info.verb == "impersonate", "")

    check = Impersonation(decide)
    request = Request("GET", PODS, {}, {"impersonate-user": "bob"}, b"", JANE)
    for _ in range(2):
        assert check.effective(request, parse(request)).name == "bob"
    assert asked == ["impersonate-on:user-info:list", "impersonate", "impersonate"]


def test_requests_without_headers_are_not_impersonated():
    assert acting(Api(), JANE) is JANE
