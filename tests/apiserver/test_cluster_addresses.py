"""IPAddresses, ServiceCIDRs and ranges of cluster IPs."""

import pytest

from fakekube.apiserver.registry.core.service.ranges import BadRange, parse_ranges
from fakekube.server.initialobjects import ClusterOptions
from tests.apiserver.api import Api

SERVICES = "/api/v1/namespaces/default/services"
ADDRESSES = "/apis/networking.k8s.io/v1/ipaddresses"
CIDRS = "/apis/networking.k8s.io/v1/servicecidrs"
MERGE = {"content_type": "application/merge-patch+json"}
DUAL = ClusterOptions("10.0.0.0/16,2001:db8::/112")


def service(name="s", **spec):
    return {"metadata": {"name": name}, "spec": {"ports": [{"port": 80}], **spec}}


def cidr(name, *cidrs):
    return {"metadata": {"name": name}, "spec": {"cidrs": list(cidrs)}}


def addresses(api):
    return [one["metadata"]["name"] for one in api.ok("GET", ADDRESSES)["items"]]


def test_each_cluster_ip_has_an_ipaddress():
    api = Api()
    made = api.ok("POST", SERVICES, service())
    address = made["spec"]["clusterIP"]
    found = api.ok("GET", f"{ADDRESSES}/{address}")
    assert found["spec"] == {"parentRef": {"resource": "services", "namespace": "default", "name": "s"}}
    assert found["metadata"]["labels"] == {
        "ipaddress.kubernetes.io/ip-family": "IPv4",
        "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io",
    }
    assert found["metadata"]["managedFields"][0]["manager"] == "kube-apiserver"
    assert int(found["metadata"]["resourceVersion"]) < int(made["metadata"]["resourceVersion"])


def test_an_ipaddress_goes_with_its_service():
    api = Api()
    api.ok("POST", SERVICES, service(clusterIP="10.0.0.9"))
    assert addresses(api) == ["10.0.0.1", "10.0.0.9"]
    api.ok("DELETE", f"{SERVICES}/s")
    assert addresses(api) == ["10.0.0.1"]


def test_an_ipaddress_goes_when_a_service_becomes_an_external_name():
    api = Api()
    api.ok("POST", SERVICES, service(clusterIP="10.0.0.9"))
    api.ok("PATCH", f"{SERVICES}/s", {"spec": {"type": "ExternalName", "externalName": "a.example.com"}}, **MERGE)
    assert addresses(api) == ["10.0.0.1"]
    api.ok("PATCH", f"{SERVICES}/s", {"spec": {"type": "ClusterIP", "externalName": None}}, **MERGE)
    assert len(addresses(api)) == 2


@pytest.mark.parametrize("target", [f"{SERVICES}?dryRun=All"])
def test_a_dry_run_makes_no_ipaddress(target):
    api = Api()
    assert api.ok("POST", target, service())["spec"]["clusterIP"] == "10.0.0.0"
    assert addresses(api) == ["10.0.0.1"]


def test_an_address_is_taken_by_an_ipaddress_of_another_controller():
    api = Api()
    parent = {"group": "example.com", "resource": "gateways", "name": "g"}
    api.ok("POST", ADDRESSES, {"metadata": {"name": "10.0.0.9"}, "spec": {"parentRef": parent}})
    message = api.refused("POST", SERVICES, service(clusterIP="10.0.0.9"))[2]
    assert message.endswith("failed to allocate IP 10.0.0.9: provided IP is already allocated")


def test_a8_addresses_come_from_further_service_cidrs():
    api = Api(options=ClusterOptions("10.0.0.0/29"))
    for i in range(5):
        api.ok("POST", SERVICES, service(f"s-{i}"))
    message = api.refused("POST", SERVICES, service("t"))[2]
    assert message == 'Internal error occurred: failed to allocate a serviceIP for Service "t": range is full'
    api.ok("POST", CIDRS, cidr("more", "192.0.2.0/30"))
    assert api.ok("POST", SERVICES, service("t"))["spec"]["clusterIP"] in ("192.0.2.1", "192.0.2.2")
    assert api.ok("POST", SERVICES, service("u"))["spec"]["clusterIP"] in ("192.0.2.1", "192.0.2.2")
    assert "range is full" in api.refused("POST", SERVICES, service("v"))[2]


def test_a_service_cidr_that_is_not_ready_gives_no_addresses():
    api = Api()
    api.ok("POST", CIDRS, cidr("more", "192.0.2.0/24"))
    condition = {
        "type": "Ready",
        "status": "False",
        "reason": "R",
        "message": "",
        "lastTransitionTime": api.context.now,
    }
    api.ok("PATCH", f"{CIDRS}/more/status", {"status": {"conditions": [condition]}}, **MERGE)
    message = api.refused("POST", SERVICES, service(clusterIP="192.0.2.7"))[2]
    assert message.endswith("failed to allocate IP 192.0.2.7: the provided network does not match the current range")


def test_a8_the_default_service_cidr_is_ready():
    found = Api(options=DUAL).ok("GET", f"{CIDRS}/kubernetes")
    assert found["spec"] == {"cidrs": ["10.0.0.0/16", "2001:db8::/112"]}
    condition = {key: value for key, value in found["status"]["conditions"][0].items() if key != "lastTransitionTime"}
    message = "Kubernetes default Service CIDR is ready"
    assert condition == {"type": "Ready", "status": "True", "reason": "", "message": message}


def test_the_default_service_cidr_is_restored():
    api = Api(options=DUAL)
    before = api.ok("GET", f"{CIDRS}/kubernetes")
    api.ok("DELETE", f"{CIDRS}/kubernetes")
    after = api.ok("GET", f"{CIDRS}/kubernetes")
    assert after["metadata"].pop("uid") != before["metadata"].pop("uid")
    assert after["metadata"].pop("resourceVersion") != before["metadata"].pop("resourceVersion")
    assert after == before
    api.ok("POST", SERVICES, service())


def test_dual_stack():
    api = Api(options=DUAL)
    made = api.ok("POST", SERVICES, service(ipFamilyPolicy="RequireDualStack"))["spec"]
    assert made["ipFamilies"] == ["IPv4", "IPv6"]
    assert [":" in one for one in made["clusterIPs"]] == [False, True]
    assert set(made["clusterIPs"]) <= set(addresses(api))
    six = api.ok("POST", SERVICES, service("six", ipFamilies=["IPv6"]))["spec"]
    assert (six["ipFamilies"], ":" in six["clusterIP"]) == (["IPv6"], True)


def test_a_service_gains_and_loses_its_second_address():
    api = Api(options=DUAL)
    first = api.ok("POST", SERVICES, service())["spec"]["clusterIPs"]
    both = api.ok("PATCH", f"{SERVICES}/s", {"spec": {"ipFamilyPolicy": "PreferDualStack"}}, **MERGE)["spec"]
    assert (both["clusterIPs"][:1], len(both["clusterIPs"]), both["ipFamilies"]) == (first, 2, ["IPv4", "IPv6"])
    assert set(both["clusterIPs"]) <= set(addresses(api))
    alone = api.ok("PATCH", f"{SERVICES}/s", {"spec": {"ipFamilyPolicy": "SingleStack"}}, **MERGE)["spec"]
    assert (alone["clusterIPs"], alone["ipFamilies"]) == (first, ["IPv4"])
    assert both["clusterIPs"][1] not in addresses(api)


def test_a_cluster_without_the_kinds_allocates_too():
    api = Api(version="1.30")
    address = api.ok("POST", SERVICES, service())["spec"]["clusterIP"]
    assert "already allocated" in api.refused("POST", SERVICES, service("t", clusterIP=address))[2]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "--service-cluster-ip-range must contain at least one valid cidr"),
        ("a", "service-cluster-ip-range[0] is not a valid cidr"),
        ("10.0.0.0/12,b", "service-cluster-ip-range[1] is not an ip net"),
        ("10.0.0.0/12,2001:db8::/112,10.1.0.0/24", "--service-cluster-ip-range must not contain more than two entries"),
        (
            "10.0.0.0/30",
            "error determining service IP ranges for primary service cidr: the service cluster IP range must be at "
            "least 8 IP addresses",
        ),
        (
            "10.0.0.0/12,10.16.0.0/12",
            "--service-cluster-ip-range[0] and --service-cluster-ip-range[1] must be of different IP family",
        ),
    ],
)
def test_ranges_that_are_refused(text, message):
    with pytest.raises(BadRange) as caught:
        parse_ranges(text)
    assert str(caught.value) == message
