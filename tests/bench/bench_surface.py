"""What access rules cost, and what clients ask for before anything else.

Goals: a GET with RBAC at most 15 % slower than without; documents are made once, and then only copied.
"""

import pytest

from fakekube import FakeKube
from fakekube.apiserver.user import User

BATCH = 200
CONFIG_MAP = "/api/v1/namespaces/default/configmaps"
ACCESS = "/apis/rbac.authorization.k8s.io/v1/namespaces/default"
OPERATOR = User(
    "system:serviceaccount:default:operator",
    groups=("system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"),
)
RULES = [
    {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["*"]},
    {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]},
]
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


def batch(benchmark, transport, path, headers=()):
    def ask():
        for _ in range(BATCH):
            code, _, answer = transport.request_now("GET", path, headers=dict(headers))
            assert code == 200, answer

    benchmark.pedantic(ask, rounds=15, warmup_rounds=2)
    benchmark.extra_info["requests per second"] = round(BATCH / benchmark.stats.stats.median)


@pytest.mark.parametrize("rbac", [False, True], ids=["open", "rbac"])
def test_gets_of_an_operator(benchmark, rbac):
    benchmark.group = f"{BATCH} direct GETs of an operator"
    with FakeKube(wall_clock=False, rbac=rbac) as kube:
        transport = kube.access.transport()
        made = [(CONFIG_MAP, {"metadata": {"name": "a"}, "data": {"colour": "red"}})]
        if rbac:
            reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "operator"}
            subject = {"kind": "ServiceAccount", "name": "operator", "namespace": "default"}
            made += [
                (f"{ACCESS}/roles", {"metadata": {"name": "operator"}, "rules": RULES}),
                (
                    f"{ACCESS}/rolebindings",
                    {"metadata": {"name": "operator"}, "roleRef": reference, "subjects": [subject]},
                ),
            ]
        for path, obj in made:
            code, _, answer = transport.request_now("POST", path, body=obj)
            assert code == 201, answer
        batch(benchmark, kube.access.transport(user=OPERATOR), f"{CONFIG_MAP}/a")


@pytest.mark.parametrize(
    ("path", "accept"),
    [
        pytest.param("/apis", AGGREGATED, id="discovery"),
        pytest.param("/openapi/v3", "application/json", id="openapi-index"),
        pytest.param("/openapi/v3/apis/apps/v1", "application/json", id="openapi-of-a-group"),
    ],
)
def test_documents(benchmark, path, accept):
    benchmark.group = f"{BATCH} documents"
    with FakeKube(wall_clock=False) as kube:
        transport, headers = kube.access.transport(), {"Accept": accept}
        kube.run(transport.request("GET", path, headers=headers))  # makes what is kept, in parts between which it waits
        batch(benchmark, transport, path, headers)


def test_a_table_of_a_thousand_pods(benchmark):
    benchmark.group = "tables"
    with FakeKube(wall_clock=False) as kube:
        transport = kube.access.transport()
        spec = {"containers": [{"name": "c", "image": "i"}]}
        for number in range(1000):
            pod = {"metadata": {"name": f"p{number}"}, "spec": spec}
            assert transport.request_now("POST", "/api/v1/namespaces/default/pods", body=pod)[0] == 201

        def ask():
            code, _, table = transport.request_now("GET", "/api/v1/pods", headers={"Accept": TABLE})
            assert (code, len(table["rows"])) == (200, 1000)

        benchmark.pedantic(ask, rounds=15, warmup_rounds=2)
