"""Operators that act as users, and access reports."""

import pytest
import yaml

from controllerlib import Manager, Result
from fakekube import FakeKube
from fakekube.apiserver.user import User
from fakekube.harness.accessreport import Access

ACCESS = "rbac.authorization.k8s.io/v1"
ACCOUNT = "system:serviceaccount:ops:copier"


async def copy(request, client):
    """Creates a Secret for each ConfigMap."""
    found = await client.get("v1", "ConfigMap", request.name, namespace=request.namespace)
    if found is not None:
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": request.name}, "stringData": found["data"]}
        await client.create(secret | {"metadata": {"name": request.name, "namespace": request.namespace}})
    return Result()


def build(manager: Manager) -> None:
    manager.controller("copier").for_("v1", "ConfigMap").complete(copy)


def rule(groups, resources, *verbs, **more):
    return {"apiGroups": groups, "resources": resources, "verbs": list(verbs), **more}


def role(kind, *rules, namespace=""):
    meta = {"name": "copier", **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": ACCESS, "kind": kind, "metadata": meta, "rules": list(rules)}


def binding(kind, namespace=""):
    meta = {"name": "copier", **({"namespace": namespace} if namespace else {})}
    return {
        "apiVersion": ACCESS,
        "kind": f"{kind}Binding",
        "metadata": meta,
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": "copier"},
        "subjects": [{"kind": "ServiceAccount", "name": "copier", "namespace": "ops"}],
    }


WATCHES = rule([""], ["configmaps"], "get", "list", "watch")
CONFIGMAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"colour": "red"}}


def test_an_operator_acts_as_its_service_account(fakekube):
    fakekube.apply(CONFIGMAP)
    fakekube.start(build, service_account="ops/copier")
    assert {record.user for record in fakekube.requests()} == {ACCOUNT}
    assert fakekube.exists("v1", "Secret", "a")


@pytest.mark.fakekube(rbac=True)
def test_access_is_checked_for_it(fakekube):
    fakekube.apply(CONFIGMAP, role("ClusterRole", WATCHES), binding("ClusterRole"))
    controller = fakekube.start(build, service_account="ops/copier")["copier"]
    fakekube.advance(seconds=1)
    assert str(controller.errors()[0]).endswith(
        f'secrets is forbidden: User "{ACCOUNT}" cannot create resource "secrets" in API group "" in the namespace '
        '"default"'
    )
    report = fakekube.access.rbac_report(service_account="ops/copier")
    assert [str(one) for one in report.missing] == ["create secrets in default"]


@pytest.mark.fakekube(rbac=True)
def test_a_test_that_reads_the_report_does_not_fail_for_the_same_denial(fakekube):
    fakekube.apply(CONFIGMAP, role("ClusterRole", WATCHES), binding("ClusterRole"))
    fakekube.start(build, service_account="ops/copier")
    report = fakekube.access.rbac_report(service_account="ops/copier")
    assert [str(one) for one in report.missing] == ["create secrets in default"]
    fakekube.findings.check()
    assert [one for one in fakekube.findings if one.detector in ("reconcile-error", "missing-permission")] == []


@pytest.mark.fakekube(rbac=True)
def test_unused_permissions_are_those_of_the_test(fakekube):
    allowed = rule([""], ["configmaps"], "get", "list", "watch")
    fakekube.apply(CONFIGMAP, role("ClusterRole", allowed), binding("ClusterRole"))
    fakekube.start(build, service_account="ops/copier")
    report = fakekube.access.rbac_report(service_account="ops/copier")
    assert [str(one) for one in report.unused] == ["get configmaps in all namespaces"]


@pytest.mark.fakekube(transport="memory")
def test_over_http_too(fakekube):
    fakekube.apply(CONFIGMAP)
    fakekube.start(build, service_account="ops/copier")
    assert {record.user for record in fakekube.requests(user_agent="*")} >= {ACCOUNT}


def test_what_was_used_is_missing_or_unused(fakekube):
    allowed = rule([""], ["configmaps"], "get", "list", "watch", "update")
    fakekube.apply(CONFIGMAP, role("ClusterRole", allowed, rule(["batch"], ["jobs"], "create")), binding("ClusterRole"))
    fakekube.start(build, service_account="ops/copier")
    report = fakekube.access.rbac_report(service_account="ops/copier")
    assert [str(one) for one in report.used] == [
        "watch configmaps in all namespaces",
        "create secrets in default",
    ]
    assert [str(one) for one in report.missing] == ["create secrets in default"]
    assert [str(one) for one in report.unused] == [
        "get configmaps in all namespaces",
        "update configmaps in all namespaces",
        "create jobs.batch in all namespaces",
    ]
    assert str(report).splitlines()[:2] == [f"access of {ACCOUNT}: 2 used", "missing: create secrets in default"]


def test_the_minimal_roles_are_sufficient(fakekube):
    fakekube.apply(CONFIGMAP)
    fakekube.start(build, service_account="ops/copier")
    minimal = fakekube.access.rbac_report(service_account="ops/copier").minimal
    everywhere, here = yaml.safe_load_all(minimal)
    assert (everywhere["kind"], everywhere["metadata"]) == ("ClusterRole", {"name": "copier"})
    assert everywhere["rules"] == [rule([""], ["configmaps"], "list", "watch")], "informers list on older servers"
    assert (here["kind"], here["metadata"]) == ("Role", {"name": "copier", "namespace": "default"})
    assert here["rules"] == [rule([""], ["secrets"], "create")]
    fakekube.apply(everywhere, here, binding("ClusterRole"), binding("Role", "default"))
    report = fakekube.access.rbac_report(service_account="ops/copier")
    assert (list(report.missing), list(report.unused)) == ([], [])


def asked(fakekube, user, *requests):
    transport = fakekube.access.transport(user=user)
    for method, path in requests:
        transport.request_now(method, path, body={} if method == "PATCH" else None)


CONFIGMAPS = "/api/v1/namespaces/default/configmaps"


@pytest.mark.parametrize(
    ("rules", "requests", "missing", "unused"),
    [
        pytest.param([rule(["*"], ["*"], "*")], [("GET", f"{CONFIGMAPS}/a")], [], [], id="stars-are-used"),
        pytest.param(
            [rule([""], ["configmaps"], "get", resourceNames=["a", "b"])],
            [("GET", f"{CONFIGMAPS}/a")],
            [],
            [Access("default", "", "configmaps", "get", "b")],
            id="a-name-is-not-used",
        ),
        pytest.param(
            [rule([""], ["configmaps"], "get", resourceNames=["a"])],
            [("GET", f"{CONFIGMAPS}/a"), ("GET", f"{CONFIGMAPS}/b")],
            [Access("default", "", "configmaps", "get")],
            [],
            id="another-name",
        ),
        pytest.param(
            [rule([""], ["pods"], "get")],
            [("GET", "/api/v1/namespaces/default/pods/a/log"), ("GET", "/api/v1/namespaces/other/pods/a")],
            [Access("default", "", "pods/log", "get"), Access("other", "", "pods", "get")],
            [Access("default", "", "pods", "get")],
            id="subresources-and-other-namespaces",
        ),
        pytest.param([], [("GET", "/apis"), ("GET", "/version")], [], [], id="discovery-is-everybodys"),
        pytest.param([], [("GET", "/metrics")], [Access("", "", "", "get", path="/metrics")], [], id="other-paths"),
    ],
)
def test_rules_and_requests(fakekube, rules, requests, missing, unused):
    user = User("jane")
    bound = binding("Role", "default") | {"subjects": [{"kind": "User", "name": "jane", "apiGroup": ACCESS[:-3]}]}
    fakekube.apply(role("Role", *rules, namespace="default"), bound)
    asked(fakekube, user, *requests)
    report = fakekube.access.rbac_report(user="jane")
    assert (list(report.missing), list(report.unused)) == (missing, unused)


def test_an_apply_that_creates_needs_both_rights(fakekube):
    transport = fakekube.access.transport(user=User("jane"))
    headers = {"Content-Type": "application/apply-patch+yaml"}
    for _ in range(2):
        transport.request_now(
            "PATCH", f"{CONFIGMAPS}/a", query=[("fieldManager", "m")], headers=headers,
            body={"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}},
        )  # fmt: skip
    assert [one.verb for one in fakekube.access.rbac_report(user="jane").used] == ["create", "patch"]


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ({}, "rbac_report.* needs"),
        ({"service_account": "ops"}, "expected 'namespace/name'"),
        ({"service_account": "ops/a", "user": User("jane")}, "pass one of them"),
    ],
)
def test_rbac_report_needs_a_user_or_service_account(fakekube, how, why):
    with pytest.raises(ValueError, match=why):
        fakekube.access.rbac_report(**how)


# --- authorization modes and admission plugins --------------------------------------------------------------------------

CONTAINERS = [{"name": "c", "image": "i"}]


@pytest.mark.fakekube(enable_admission_plugins=["ServiceAccount"], disable_admission_plugins=["Priority"])
def test_a5_admission_plugins_of_a_fixture(fakekube):
    fakekube.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}})
    fakekube.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"containers": CONTAINERS}})
    spec = fakekube.get("v1", "Pod", "a")["spec"]
    assert spec["volumes"][0]["projected"]["sources"][0] == {
        "serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}
    }
    assert "priority" not in spec


@pytest.mark.fakekube(authorization_mode="Node,RBAC")
def test_a24_the_node_authorizer_of_a_fixture(fakekube):
    kubelet = User("system:node:n1", groups=("system:nodes", "system:authenticated"))
    transport = fakekube.access.transport(user=kubelet)
    assert transport.request_now("GET", "/api/v1/nodes/n1")[0] == 404
    assert transport.request_now("GET", "/api/v1/nodes/n2")[0] == 403


@pytest.mark.parametrize(
    ("arguments", "error", "said"),
    [
        ({"authorization_mode": "RBAC", "rbac": True}, ValueError, "it replaces rbac=True; pass one of them"),
        ({"authorization_mode": "No"}, ValueError, 'authorization-mode "No" is not a valid mode (it has AlwaysAllow, '),
        ({"authorization_mode": 1}, TypeError, "authorization_mode=1: pass text, like 'Node,RBAC'"),
        (
            {"enable_admission_plugins": "ServiceAccount"},
            TypeError,
            "enable_admission_plugins='ServiceAccount': pass a list",
        ),
        (
            {"disable_admission_plugins": ["No"]},
            ValueError,
            'disable-admission-plugins plugin "No" is unknown (this server has ',
        ),
    ],
)
def test_invalid_modes_and_plugins(arguments, error, said):
    with pytest.raises(error) as raised:
        FakeKube(**arguments)
    assert said in str(raised.value)
