"""What kube-apiserver creates by itself: initial objects, registered APIServices, componentstatuses, health checks."""

import pytest

from fakekube.server.initialobjects import ClusterOptions
from tests.apiserver.api import Api

SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
MERGE = {"content_type": "application/merge-patch+json"}


def definition(plural, group="example.com", versions=("v1",)):
    kind = plural.rstrip("s").title()
    schema = {"openAPIV3Schema": {"type": "object"}}
    return {
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "names": {"plural": plural, "kind": kind},
            "scope": "Namespaced",
            "versions": [
                {"name": name, "served": True, "storage": i == 0, "schema": schema} for i, name in enumerate(versions)
            ],
        },
    }


def test_a7_the_service_of_the_server_has_its_address():
    api = Api(options=ClusterOptions(address="198.51.100.7", port=8443))
    service = api.ok("GET", "/api/v1/namespaces/default/services/kubernetes")
    assert service["spec"]["ports"] == [{"name": "https", "protocol": "TCP", "port": 443, "targetPort": 8443}]
    assert service["spec"]["clusterIPs"] == ["10.0.0.1"]
    assert service["metadata"]["labels"] == {"component": "apiserver", "provider": "kubernetes"}
    endpoints = api.ok("GET", "/api/v1/namespaces/default/endpoints/kubernetes")
    port = {"name": "https", "port": 8443, "protocol": "TCP"}
    assert endpoints["subsets"] == [{"addresses": [{"ip": "198.51.100.7"}], "ports": [port]}]
    found = api.ok("GET", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes")
    assert found["endpoints"] == [{"addresses": ["198.51.100.7"], "conditions": {"ready": True}}]
    assert found["ports"] == [{"name": "https", "protocol": "TCP", "port": 8443}]
    assert found["metadata"]["labels"] == {"kubernetes.io/service-name": "kubernetes"}


def test_a7_the_service_of_the_server_has_the_first_address_of_the_primary_range():
    api = Api(options=ClusterOptions("2001:db8::/112,10.1.0.0/16", address="2001:db8:1::7"))
    service = api.ok("GET", "/api/v1/namespaces/default/services/kubernetes")["spec"]
    assert (service["clusterIPs"], service["ipFamilies"]) == (["2001:db8::1"], ["IPv6"])
    address = api.ok("GET", "/apis/networking.k8s.io/v1/ipaddresses/2001:db8::1")
    assert address["metadata"]["labels"]["ipaddress.kubernetes.io/ip-family"] == "IPv6"
    found = api.ok("GET", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes")
    assert found["addressType"] == "IPv6"


def test_initial_objects_have_managed_fields():
    api = Api(authorization_mode="RBAC")
    paths = (
        "/api/v1/namespaces/default",
        "/apis/rbac.authorization.k8s.io/v1/clusterroles/view",
        "/apis/scheduling.k8s.io/v1/priorityclasses/system-node-critical",
        f"{SERVICES}/v1.apps",
    )
    for path in paths:
        entry = api.ok("GET", path)["metadata"]["managedFields"][0]
        assert (entry["manager"], entry["operation"], entry["time"]) == ("kube-apiserver", "Update", api.context.now)


def test_the_config_maps_of_a_listening_server():
    api = Api(options=ClusterOptions(config_maps=True))
    maps = api.ok("GET", "/api/v1/namespaces/kube-system/configmaps")["items"]
    assert [(one["metadata"]["name"], one.get("data")) for one in maps] == [
        ("extension-apiserver-authentication", None),
        ("kube-apiserver-legacy-service-account-token-tracking", {"since": "2026-01-01"}),
    ]


def test_servers_share_no_writes():
    first, second = Api(), Api()
    first.ok("DELETE", "/api/v1/namespaces/default/services/kubernetes")
    second.ok("GET", "/api/v1/namespaces/default/services/kubernetes")


@pytest.mark.parametrize(
    ("name", "priorities"),
    [
        ("v1.", (18000, 1)),
        ("v1.apps", (17800, 15)),
        ("v2.autoscaling", (17500, 30)),
        ("v1.resource.k8s.io", (16200, 21)),
    ],
)
def test_built_in_groups_are_registered(name, priorities):
    found = Api().ok("GET", f"{SERVICES}/{name}")
    assert found["metadata"]["labels"] == {"kube-aggregator.kubernetes.io/automanaged": "onstart"}
    assert (found["spec"]["groupPriorityMinimum"], found["spec"]["versionPriority"]) == priorities
    assert found["status"]["conditions"][0]["reason"] == "Local"


def registered(api, group="example.com"):
    return {one["metadata"]["name"] for one in api.ok("GET", SERVICES)["items"] if one["spec"].get("group") == group}


def test_groups_of_definitions_are_registered():
    api = Api()
    api.ok("POST", CRDS, definition("widgets", versions=("v1", "v2")))
    assert registered(api) == {"v1.example.com", "v2.example.com"}
    found = api.ok("GET", f"{SERVICES}/v2.example.com")
    assert found["metadata"]["labels"] == {"kube-aggregator.kubernetes.io/automanaged": "true"}
    spec = {"group": "example.com", "version": "v2", "groupPriorityMinimum": 1000, "versionPriority": 100}
    assert found["spec"] == spec


def test_a_group_is_registered_as_long_as_one_definition_serves_it():
    api = Api()
    api.ok("POST", CRDS, definition("widgets"))
    api.ok("POST", CRDS, definition("gadgets", versions=("v1", "v2")))
    api.ok("DELETE", f"{CRDS}/gadgets.example.com")
    assert registered(api) == {"v1.example.com"}
    api.ok("DELETE", f"{CRDS}/widgets.example.com")
    assert registered(api) == set()


def test_a_registered_api_service_is_restored():
    api = Api()
    api.ok("POST", CRDS, definition("widgets"))
    api.ok("DELETE", f"{SERVICES}/v1.example.com")
    assert registered(api) == {"v1.example.com"}
    api.ok("PATCH", f"{SERVICES}/v1.example.com", {"spec": {"versionPriority": 7}}, **MERGE)
    assert api.ok("GET", f"{SERVICES}/v1.example.com")["spec"]["versionPriority"] == 100


def test_an_api_service_without_the_label_is_left_alone():
    api = Api()
    api.ok("POST", CRDS, definition("widgets"))
    labels = {"kube-aggregator.kubernetes.io/automanaged": None}
    api.ok(
        "PATCH", f"{SERVICES}/v1.example.com", {"metadata": {"labels": labels}, "spec": {"versionPriority": 7}}, **MERGE
    )
    assert api.ok("GET", f"{SERVICES}/v1.example.com")["spec"]["versionPriority"] == 7
    api.ok("DELETE", f"{CRDS}/widgets.example.com")
    assert registered(api) == {"v1.example.com"}


def test_groups_are_registered_after_a_compaction():
    api = Api()
    api.ok("POST", CRDS, definition("widgets"))
    api.apiserver.store.compact()
    api.ok("DELETE", f"{CRDS}/widgets.example.com")
    assert registered(api) == set()


def test_a20_component_statuses():
    api = Api()
    found = api.ok("GET", "/api/v1/componentstatuses")
    assert [one["metadata"]["name"] for one in found["items"]] == ["scheduler", "controller-manager", "etcd-0"]
    healthy = {"type": "Healthy", "status": "True", "message": "ok"}
    assert api.ok("GET", "/api/v1/componentstatuses/etcd-0")["conditions"] == [healthy]
    selected = api.ok("GET", "/api/v1/componentstatuses?fieldSelector=metadata.name%3Detcd-0")
    assert [one["metadata"]["name"] for one in selected["items"]] == ["etcd-0"]
    code, reason, message = api.refused("GET", "/api/v1/componentstatuses/x")
    assert (code, reason, message) == (404, "NotFound", 'componentstatus "x" not found')


@pytest.mark.parametrize(
    "path", ["/livez/ping", "/readyz/etcd-readiness", "/healthz/poststarthook/rbac/bootstrap-roles"]
)
def test_a19_health_checks_by_their_names(path):
    assert Api().answer("GET", path).body.to_object() == "ok"


@pytest.mark.parametrize("path", ["/livez/", "/livez/ping/", "/readyz/loopback-serving-certificate", "/healthz/x"])
def test_a19_unknown_health_checks(path):
    assert Api().answer("GET", path).status == 404


def test_a19_the_checks_in_order():
    lines = Api().answer("GET", "/livez?verbose").body.to_object().splitlines()
    assert lines[:4] == ["[+]ping ok", "[+]log ok", "[+]loopback-serving-certificate ok", "[+]etcd ok"]
    assert "[+]poststarthook/start-service-ip-repair-controllers ok" in lines
    assert lines[-1] == "livez check passed"


def test_a17_slis():
    lines = Api().answer("GET", "/metrics/slis").body.to_object().splitlines()
    assert 'kubernetes_healthcheck{name="etcd",type="readyz"} 1' in lines
    assert 'kubernetes_healthchecks_total{name="ping",status="success",type="livez"} 1' in lines
