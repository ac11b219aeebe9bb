"""Privilege-escalation checks on roles and bindings, and coverage of rules."""

from hypothesis import given
from hypothesis import strategies as st

from fakekube.apiserver.auth import rbac
from fakekube.apiserver.auth.escalation import compact, covers, parts, shown
from fakekube.apiserver.user import User
from fakekube.apiserver.wire.request import RequestInfo
from tests.apiserver.api import Api

ACCESS = "/apis/rbac.authorization.k8s.io/v1"
ROLES, BINDINGS = (f"{ACCESS}/namespaces/default/{plural}" for plural in ("roles", "rolebindings"))
JANE = User("jane", groups=("dev",))
GROUP = "rbac.authorization.k8s.io"


def rule(resources, *verbs, groups=("",), **more):
    return {"apiGroups": list(groups), "resources": list(resources), "verbs": list(verbs), **more}


#: The permissions of jane for roles and bindings.
WRITES = rule(("roles", "rolebindings", "clusterroles"), "create", "update", "get", groups=(GROUP,))


def allowed(*rules):
    """A server on which jane may write roles and bindings and has the given rules."""
    api = Api(authorization_mode="RBAC")
    api.ok("POST", f"{ACCESS}/clusterroles", {"metadata": {"name": "own"}, "rules": [WRITES, *rules]})
    subject = {"kind": "User", "name": "jane", "apiGroup": GROUP}
    reference = {"apiGroup": GROUP, "kind": "ClusterRole", "name": "own"}
    api.ok(
        "POST",
        f"{ACCESS}/clusterrolebindings",
        {"metadata": {"name": "b"}, "roleRef": reference, "subjects": [subject]},
    )
    return api


def role(*rules, name="r", **more):
    return {"metadata": {"name": name}, "rules": list(rules), **more}


def binding(name, kind="Role"):
    reference = {"apiGroup": GROUP, "kind": kind, "name": name}
    subject = {"kind": "User", "name": "bob", "apiGroup": GROUP}
    return {"metadata": {"name": "b"}, "roleRef": reference, "subjects": [subject]}


def test_held_permissions_can_be_granted():
    api = allowed(rule(("pods", "secrets"), "get", "list"))
    api.ok("POST", ROLES, role(rule(("pods",), "get")), user=JANE)
    api.ok("POST", BINDINGS, binding("r"), user=JANE)


def test_permissions_that_are_not_held_cannot_be_granted():
    api = allowed(rule(("pods",), "get"))
    code, _, message = api.refused("POST", ROLES, role(rule(("pods", "secrets"), "get", "list")), user=JANE)
    assert code == 403
    assert message == (
        'roles.rbac.authorization.k8s.io "r" is forbidden: user "jane" (groups=["dev"]) is attempting to grant RBAC '
        "permissions not currently held:\n"
        '{APIGroups:[""], Resources:["pods"], Verbs:["list"]}\n'
        '{APIGroups:[""], Resources:["secrets"], Verbs:["get" "list"]}'
    )


def test_permissions_that_are_not_held_cannot_be_added_to_a_role():
    api = allowed(rule(("pods",), "get"))
    made = api.ok("POST", ROLES, role(rule(("pods",), "get")), user=JANE)
    wider = {**made, "rules": [rule(("pods",), "*")]}
    assert "not currently held" in api.refused("PUT", f"{ROLES}/r", wider, user=JANE)[2]
    api.ok("PUT", f"{ROLES}/r", {**made, "metadata": {**made["metadata"], "labels": {"a": "b"}}}, user=JANE)


def test_owners_and_finalizers_of_any_role_can_be_written():
    api = allowed()
    made = api.ok("POST", ROLES, role(rule(("pods",), "*")))
    changed = {**made, "metadata": {**made["metadata"], "finalizers": ["a.example.com/b"]}}
    api.ok("PUT", f"{ROLES}/r", changed, user=JANE)


def test_bindings():
    api = allowed(rule(("pods",), "get"))
    api.ok("POST", ROLES, role(rule(("secrets",), "get")))
    assert "not currently held" in api.refused("POST", BINDINGS, binding("r"), user=JANE)[2]
    code, _, message = api.refused("POST", BINDINGS, binding("gone"), user=JANE)
    assert (code, message) == (404, 'rolebindings.rbac.authorization.k8s.io "gone" not found')


def test_the_verbs_bind_and_escalate():
    api = allowed(rule(("roles",), "escalate", groups=(GROUP,)), rule(("roles",), "bind", groups=(GROUP,)))
    api.ok("POST", ROLES, role(rule(("*",), "*", groups=("*",))), user=JANE)
    api.ok("POST", BINDINGS, binding("r"), user=JANE)


def test_aggregated_roles_require_all_permissions():
    api = allowed()
    aggregated = role(aggregationRule={"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]})
    message = api.refused("POST", f"{ACCESS}/clusterroles", aggregated, user=JANE)[2]
    assert "must have cluster-admin privileges to use the aggregationRule" in message


def test_the_compact_form_of_a_rule():
    one = rule(("pods",), "get", "list", resourceNames=["a", "b"])
    assert shown(one) == '{APIGroups:[""], Resources:["pods"], ResourceNames:["a" "b"], Verbs:["get" "list"]}'
    assert shown({"nonResourceURLs": ["/x"], "verbs": ["get"]}) == '{NonResourceURLs:["/x"], Verbs:["get"]}'


# --- rules that cover others -----------------------------------------------------------------------------------------


def some(*values):
    return st.lists(st.sampled_from(values), min_size=1, max_size=3, unique=True)


RULES = st.builds(
    lambda groups, resources, verbs, names: {
        "apiGroups": groups, "resources": resources, "verbs": verbs, **({"resourceNames": names} if names else {}),
    },
    some("", "apps", "*"),
    some("pods", "pods/log", "*", "*/log", "secrets"),
    some("get", "list", "*"),
    st.lists(st.sampled_from("ab"), max_size=2, unique=True),
)  # fmt: skip
REQUESTS = st.builds(
    lambda group, resource, subresource, verb, name: RequestInfo(
        verb, "", is_resource=True, group=group, version="v1", resource=resource, subresource=subresource, name=name
    ),
    st.sampled_from(["", "apps"]),
    st.sampled_from(["pods", "secrets"]),
    st.sampled_from(["", "log"]),
    st.sampled_from(["get", "list", "watch"]),
    st.sampled_from(["", "a", "b", "c"]),
)  # fmt: skip


@given(RULES)
def test_a_rule_covers_its_parts(whole):
    assert all(covers(whole, part) for part in parts(whole))


@given(RULES, REQUESTS)
def test_the_parts_of_a_rule_allow_the_same_as_the_rule(whole, request):
    assert any(rbac.rule_allows(part, request) for part in parts(whole)) == rbac.rule_allows(whole, request)


@given(RULES, RULES, REQUESTS)
def test_a_rule_that_covers_a_part_allows_the_same_as_the_part(own, other, request):
    for part in parts(other):
        if covers(own, part) and rbac.rule_allows(part, request):
            assert rbac.rule_allows(own, request)


@given(st.lists(RULES, max_size=3), REQUESTS)
def test_compacted_rules_allow_the_same(rules, request):
    every = [part for one in rules for part in parts(one)]
    assert any(rbac.rule_allows(one, request) for one in compact(every)) == any(
        rbac.rule_allows(one, request) for one in rules
    )
