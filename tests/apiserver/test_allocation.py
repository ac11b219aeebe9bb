"""Allocation and release of the cluster IPs and node ports of services."""

from ipaddress import ip_address, ip_network

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakekube.apiserver.needs import Reply
from fakekube.apiserver.registry.core.service.allocation import addresses_of, ports_of
from fakekube.server.initialobjects import ClusterOptions
from tests.apiserver.api import Api

SERVICES = "/api/v1/namespaces/default/services"
MERGE = {"content_type": "application/merge-patch+json"}


def service(name="s", **spec):
    return {"metadata": {"name": name}, "spec": {"ports": [{"port": 80}], **spec}}


def create(api, name="s", **spec):
    return api.ok("POST", SERVICES, service(name, **spec))["spec"]


def patch(api, name="s", **spec):
    return api.ok("PATCH", f"{SERVICES}/{name}", {"spec": spec}, **MERGE)["spec"]


def test_a_service_gets_an_address():
    made = create(Api())
    assert made["clusterIPs"] == [made["clusterIP"]]
    assert ip_address(made["clusterIP"]) in ip_network("10.0.0.0/12")
    assert (made["ipFamilies"], made["ipFamilyPolicy"]) == (["IPv4"], "SingleStack")
    assert "nodePort" not in made["ports"][0]


def test_none_is_no_address():
    api = Api()
    made = create(api, clusterIP="None")
    assert made["clusterIPs"] == ["None"]
    assert create(api, "t", type="ExternalName", externalName="a.example.com").get("clusterIP", "") == ""


def test_an_address_is_given_once_and_taken_back():
    api = Api()
    create(api, clusterIP="10.0.0.77")
    code, reason, message = api.refused("POST", SERVICES, service("t", clusterIP="10.0.0.77"))
    assert (code, reason) == (422, "Invalid")
    assert message.endswith("spec.clusterIPs: Invalid value: [\"10.0.0.77\"]: failed to allocate IP 10.0.0.77: "
                            "provided IP is already allocated")  # fmt: skip
    api.ok("DELETE", f"{SERVICES}/s")
    assert create(api, "t", clusterIP="10.0.0.77")["clusterIP"] == "10.0.0.77"


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("10.0.0.1", "provided IP is already allocated"),  # the API server's own
        *(
            (outside, "the provided network does not match the current range")
            for outside in ("10.16.0.1", "10.0.0.0", "10.15.255.255")
        ),
    ],
)
def test_an_address_that_cannot_be_had(address, why):
    message = Api().refused("POST", SERVICES, service(clusterIP=address))[2]
    assert message.endswith(f'spec.clusterIPs: Invalid value: ["{address}"]: failed to allocate IP {address}: {why}')


def test_a_node_port_is_given_once_and_taken_back():
    api = Api()
    made = create(api, type="NodePort", ports=[{"port": 80, "nodePort": 30007}])
    assert made["ports"][0]["nodePort"] == 30007
    taken = service("t", type="NodePort", ports=[{"port": 80, "nodePort": 30007}])
    message = api.refused("POST", SERVICES, taken)[2]
    assert message.endswith("spec.ports[0].nodePort: Invalid value: 30007: provided port is already allocated")
    api.ok("DELETE", f"{SERVICES}/s")
    api.ok("POST", SERVICES, taken)


def test_a_node_port_outside_the_range_is_refused():
    message = Api().refused("POST", SERVICES, service(type="NodePort", ports=[{"port": 80, "nodePort": 80}]))[2]
    assert message.endswith(
        "spec.ports[0].nodePort: Invalid value: 80: provided port is not in the valid range. The range of valid ports "
        "is 30000-32767"
    )


def test_types_change_into_each_other():
    api = Api()
    address = create(api)["clusterIP"]
    port = patch(api, type="NodePort")["ports"][0]["nodePort"]
    assert 30000 <= port <= 32767
    balanced = patch(api, type="LoadBalancer")
    assert (balanced["clusterIP"], balanced["ports"][0]["nodePort"]) == (address, port)
    assert balanced["allocateLoadBalancerNodePorts"] is True
    plain = patch(api, type="ClusterIP")
    assert plain["clusterIP"] == address
    assert "nodePort" not in plain["ports"][0]
    assert "allocateLoadBalancerNodePorts" not in plain
    named = patch(api, type="ExternalName", externalName="a.example.com")
    assert named.get("clusterIP", "") == ""
    assert create(api, "t", clusterIP=address)["clusterIP"] == address
    again = patch(api, type="ClusterIP", externalName=None)
    assert again["clusterIP"] not in ("", address)


def test_an_address_stays():
    api = Api()
    create(api, clusterIP="10.0.0.77")
    code, _, message = api.refused("PATCH", f"{SERVICES}/s", {"spec": {"clusterIP": "10.0.0.78"}}, **MERGE)
    assert (code, "may not change once set" in message) == (422, True)


def test_a_trial_takes_nothing():
    api = Api()
    shown = api.ok("POST", f"{SERVICES}?dryRun=All", service(clusterIP="10.0.0.77"))
    assert shown["spec"]["clusterIP"] == "10.0.0.77"
    assert create(api, clusterIP="10.0.0.77")["clusterIP"] == "10.0.0.77"


def test_all_addresses_are_given_and_then_no_more():
    api = Api(options=ClusterOptions("10.0.0.0/24"))
    for i in range(253):  # of 256: without the first, the last, and the API server's own
        create(api, f"s-{i}")
    code, reason, message = api.refused("POST", SERVICES, service("one-more"))
    assert (code, reason) == (500, "InternalError")
    assert "range is full" in message


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["create", "delete", "ClusterIP", "NodePort", "LoadBalancer", "None"]), st.integers(0, 4)
    ),
    max_size=25,
)


@settings(max_examples=30, deadline=None)
@given(steps=STEPS)
def test_nothing_is_given_twice(steps):
    api = Api()
    for what, i in steps:
        if what == "create":
            api.call("POST", SERVICES, service(f"s-{i}", type=("ClusterIP", "NodePort")[i % 2]))
        elif what == "delete":
            api.call("DELETE", f"{SERVICES}/s-{i}")
        elif what == "None":
            api.call("POST", SERVICES, service(f"s-{i}", clusterIP="None"))
        else:
            api.call("PATCH", f"{SERVICES}/s-{i}", {"spec": {"type": what}}, **MERGE)
    services = api.ok("GET", "/api/v1/services")["items"]
    addresses = [address for one in services for address in addresses_of(one)]
    ports = [port for one in services for port in ports_of(one)]
    assert len(set(addresses)) == len(addresses)
    assert len(set(ports)) == len(ports)
    for one in services:
        headless = one["spec"].get("clusterIP") == "None"
        assert headless or one["spec"]["clusterIP"]
        wants = one["spec"]["type"] in ("NodePort", "LoadBalancer")
        assert all(("nodePort" in port) is wants for port in one["spec"]["ports"])


LOCAL = {"type": "LoadBalancer", "externalTrafficPolicy": "Local"}


REVIEWS = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingWebhookConfiguration",
    "metadata": {"name": "hooks"},
    "webhooks": [
        {
            "name": "services.example.com",
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "clientConfig": {"url": "https://localhost:9443/"},
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["services"]}],
        }
    ],
}


def admitted(need):
    """The replies of webhooks that allow everything."""
    uids = [post.body["request"]["uid"] for post in need.posts]
    return [
        Reply(
            {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": {"uid": uid, "allowed": True}}
        )
        for uid in uids
    ]


def create_while(api, body, *meanwhile):
    """Creates a Service behind a webhook; while it waits for the nth time, the nth Service of `meanwhile` is created."""
    api.ok("POST", "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", REVIEWS)
    left = list(meanwhile)

    def reply(need):
        if left:
            other = left.pop(0)
            api.ok("POST", SERVICES, other, reply=admitted)
        return admitted(need)

    code, shown = api.call("POST", SERVICES, body, reply=reply)
    assert not left
    return code, shown


def test_a_service_whose_address_is_taken_while_it_waits_gets_another_one():
    api = Api()
    _, expected = api.call("POST", f"{SERVICES}?dryRun=All", service())
    code, made = create_while(api, service(), *(service(f"other-{at}") for at in range(3)))
    assert code == 201
    addresses = [one["spec"]["clusterIP"] for one in api.ok("GET", SERVICES)["items"]]
    assert len(set(addresses)) == len(addresses)
    assert made["spec"]["clusterIP"] in addresses
    assert expected["spec"]["type"] == "ClusterIP"


def test_code_1_a_name_that_is_taken_with_the_address_is_reported():
    code, status = create_while(Api(), service(), service())
    assert (code, status["reason"], status["message"]) == (409, "AlreadyExists", 'services "s" already exists')


@pytest.mark.parametrize(("lost", "taken", "code"), [(0, 7, 201), (0, 8, 409), (5, 7, 201), (5, 8, 409)])
def test_code_1_a_lost_address_uses_up_no_name(lost, taken, code):
    """Eight names are drawn (`registry/generic/registry/store.go`), however often an address has to be chosen again."""
    api = Api()
    for at in range(taken):
        api.ok("POST", SERVICES, service(f"s-{at}"))
    body = {**service(), "metadata": {"generateName": "s-"}}
    names = [str(at) for at in range(8)]
    # an attempt whose address is lost draws its name again
    api.context.suffixes = [*["fresh"] * lost, *names, "never"] if lost else [*names, "never"]
    found, shown = create_while(api, body, *(service(f"other-{at}") for at in range(lost)))
    assert (found, shown.get("reason")) == (code, None if code == 201 else "AlreadyExists")
    if code == 201:
        assert shown["metadata"]["name"] == "s-7"
    assert api.context.suffixes == ["never"]


def test_the_port_for_health_can_be_named_and_stays():
    api = Api()
    assert create(api, **LOCAL, healthCheckNodePort=30500)["healthCheckNodePort"] == 30500
    sent = {**api.ok("GET", f"{SERVICES}/s"), "spec": {**service()["spec"], **LOCAL}}
    assert api.ok("PUT", f"{SERVICES}/s", sent)["spec"]["healthCheckNodePort"] == 30500
    code, reason, message = api.refused("POST", SERVICES, service("t", **LOCAL, healthCheckNodePort=30500))
    assert (code, reason) == (500, "InternalError")
    assert message.endswith(
        "failed to allocate requested HealthCheck NodePort 30500: provided port is already allocated"
    )


def test_an_update_without_an_address_keeps_it():
    api = Api()
    made = create(api)
    sent = {**api.ok("GET", f"{SERVICES}/s"), "spec": service()["spec"]}
    assert api.ok("PUT", f"{SERVICES}/s", sent)["spec"]["clusterIPs"] == made["clusterIPs"]


def test_one_address_field_changes_with_the_other():
    api = Api()
    create(api, clusterIP="None", selector={"a": "b"})
    assert patch(api, type="ExternalName", externalName="a.example.com", clusterIP="").get("clusterIPs") is None


def test_a_dry_run_shows_invented_ports_and_addresses():
    api = Api()
    ports = [{"name": name, "port": port} for name, port in (("a", 1), ("b", 2))]
    shown = api.ok("POST", f"{SERVICES}?dryRun=All", service(type="NodePort", ports=ports))["spec"]
    assert shown["clusterIP"] == "10.0.0.0"
    assert len({port["nodePort"] for port in shown["ports"]}) == 2


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({"clusterIP": "2001:db8::1"}, 'spec.clusterIPs[0]: Invalid value: ["2001:db8::1"]: IPv6 is not configured on this cluster'),
        (
            {"ipFamilies": ["IPv4", "IPv6"], "ipFamilyPolicy": "SingleStack"},
            'spec.ipFamilyPolicy: Invalid value: "SingleStack": must be \'RequireDualStack\' or \'PreferDualStack\' '
            "when multiple IP families are specified",
        ),
    ],
)  # fmt: skip
def test_families_that_the_cluster_does_not_have(spec, problem):
    code, _, message = Api().refused("POST", SERVICES, service(**spec))
    assert (code, message) == (422, f'Service "s" is invalid: {problem}')


def test_a_load_balancer_s_addresses_have_a_mode():
    api = Api()
    create(api, type="LoadBalancer")
    status = {"status": {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}, {"hostname": "a.example.com"}]}}}
    points = api.ok("PATCH", f"{SERVICES}/s/status", status, **MERGE)["status"]["loadBalancer"]["ingress"]
    assert points == [{"ip": "1.2.3.4", "ipMode": "VIP"}, {"hostname": "a.example.com"}]


def test_allocations_are_counted_again_after_the_history_is_compacted():
    api = Api(history_window=5)
    create(api, clusterIP="10.0.0.77")
    for number in range(10):
        api.ok("POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": f"c{number}"}})
        create(api, f"s{number}", clusterIP="None")
    assert api.refused("POST", SERVICES, service("t", clusterIP="10.0.0.77"))[0] == 422


A, B = {"name": "a", "port": 80, "nodePort": 30080}, {"name": "b", "port": 81, "nodePort": 30081}


def bare(one, **changes):
    return {**{key: value for key, value in one.items() if key != "nodePort"}, **changes}


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ([bare(A), bare(B)], {"a": 30080, "b": 30081}),
        ([bare(B), bare(A)], {"a": 30080, "b": 30081}),
        ([bare(A)], {"a": 30080}),
        ([bare(A, port=90), bare(B)], {"a": 30080, "b": 30081}),
        ([bare(A), bare(B, name="c")], {"a": 30080, "c": None}),
        ([bare(A), bare(B), {"name": "c", "port": 82}], {"a": 30080, "b": 30081, "c": None}),
        ([bare(A, nodePort=30090), bare(B)], {"a": 30090, "b": 30081}),
        ([bare(A, nodePort=30081), bare(B)], {"a": 30081, "b": None}),
        ([bare(A, nodePort=30081), bare(B, nodePort=30080)], {"a": 30081, "b": 30080}),
    ],
)
def test_an_update_without_node_ports_keeps_those_of_the_same_names(sent, kept):
    """`patchAllocatedValues` of `registry/core/service/storage/storage.go`; None: another port of the range."""
    api = Api()
    create(api, type="NodePort", ports=[A, B])
    api.ok("PUT", f"{SERVICES}/s", service(type="NodePort", ports=sent))
    found = {port["name"]: port["nodePort"] for port in api.ok("GET", f"{SERVICES}/s")["spec"]["ports"]}
    assert found.keys() == kept.keys()
    assert all(found[name] == number for name, number in kept.items() if number is not None)
    assert all(30000 <= number < 32768 for number in found.values())
    assert len(set(found.values())) == len(found)
    for number in {30080, 30081} - set(found.values()):  # is free again
        create(api, f"n{number}", type="NodePort", ports=[{"port": 80, "nodePort": number}])


def test_an_update_of_another_type_releases_the_node_ports():
    api = Api()
    create(api, type="NodePort", ports=[A, B])
    api.ok("PUT", f"{SERVICES}/s", service(type="ClusterIP", ports=[bare(A), bare(B)]))
    assert not any("nodePort" in port for port in api.ok("GET", f"{SERVICES}/s")["spec"]["ports"])
    assert create(api, "t", type="NodePort", ports=[A])["ports"][0]["nodePort"] == 30080


def test_one_node_port_serves_a_port_of_two_protocols():
    api = Api()
    both = [{"name": "t", "port": 53}, {"name": "u", "port": 53, "protocol": "UDP"}]
    first = create(api, type="NodePort", ports=both)["ports"]
    assert first[0]["nodePort"] == first[1]["nodePort"]
    assert len({port["nodePort"] for port in create(api, "o", type="NodePort", ports=[A, B])["ports"]}) == 2


@pytest.mark.parametrize("given", [[], [30080], [30080, 30090]])
def test_a_dry_run_invents_distinct_node_ports_above_those_that_are_given(given):
    api = Api()
    ports = [{"name": f"p{i}", "port": 80 + i} for i in range(4 - len(given))]
    named = [{"name": f"g{port}", "port": port, "nodePort": port} for port in given]
    found = api.ok("POST", f"{SERVICES}?dryRun=All", service(type="NodePort", ports=[*named, *ports]))["spec"]["ports"]
    numbers = [port["nodePort"] for port in found]
    assert numbers[: len(given)] == given
    assert numbers == sorted(set(numbers))
    assert create(api, type="NodePort", ports=[A])["ports"][0]["nodePort"] == 30080


def put(api, ports, **spec):
    sent = {**api.ok("GET", f"{SERVICES}/s"), "spec": {"ports": ports, **spec}}
    return [port.get("nodePort") for port in api.ok("PUT", f"{SERVICES}/s", sent)["spec"]["ports"]]


def test_an_update_without_node_ports_keeps_those_of_the_ports_by_name():
    api = Api()
    first, second = [{"name": "a", "port": 80}, {"name": "b", "port": 81}]
    made = create(api, type="NodePort", ports=[first, second])
    a, b = [port["nodePort"] for port in made["ports"]]
    assert put(api, [second, first], type="NodePort") == [b, a]
    assert put(api, [{**first, "port": 90}], type="NodePort") == [a]
    kept, new = put(api, [first, {"name": "c", "port": 82}], type="NodePort")
    assert kept == a
    assert new >= 30000
    assert put(api, [{**first, "nodePort": 30999}], type="NodePort") == [30999]
    assert put(api, [first], type="ClusterIP") == [None]


def test_a_load_balancer_without_node_ports_gets_none_from_an_update():
    api = Api()
    spec = {"type": "LoadBalancer", "allocateLoadBalancerNodePorts": False}
    made = create(api, **spec, ports=[{"name": "a", "port": 80}])
    assert "nodePort" not in made["ports"][0]
    assert put(api, [{"name": "a", "port": 80}, {"name": "b", "port": 81}], **spec) == [None, None]
    assert put(api, [{"name": "a", "port": 80, "nodePort": 30777}], **spec) == [30777]
    assert put(api, [{"name": "a", "port": 80}], **spec) == [None]
