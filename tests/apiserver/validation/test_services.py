"""Services as the server completes and refuses them: families, addresses, policies of traffic."""

import pytest

from tests.apiserver.api import Api

SERVICES = "/api/v1/namespaces/default/services"
CIDR = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
IP = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"

REFUSED = [
    ({"ipFamilyPolicy": "RequireDualStack"},
     'spec.ipFamilyPolicy: Invalid value: "RequireDualStack": this cluster is not configured for dual-stack services'),
    ({"ipFamilies": ["IPv6"]}, 'spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster'),
    ({"ipFamilies": ["IPv4", "IPv4"]}, 'spec.ipFamilies[1]: Duplicate value: "IPv4"'),
    ({"ipFamilyPolicy": "Some"},
     'spec.ipFamilyPolicy: Unsupported value: "Some": supported values: "PreferDualStack", "RequireDualStack", "SingleStack"'),
    ({"clusterIP": "foo"}, f'spec.clusterIPs[0]: Invalid value: "foo": {IP}'),
    ({"clusterIP": "10.0.0.9", "clusterIPs": ["10.0.0.8"]},
     'spec.clusterIPs: Invalid value: ["10.0.0.8"]: first value must match `clusterIP`'),
    ({"clusterIP": "None", "type": "NodePort"},
     'spec.clusterIPs[0]: Invalid value: "None": may not be set to \'None\' for NodePort services'),
    ({"clusterIP": "10.0.0.9", "type": "ExternalName", "externalName": "a.example.com"},
     "spec.clusterIPs: Forbidden: may not be set for ExternalName services"),
    ({"externalTrafficPolicy": "Local"},
     'spec.externalTrafficPolicy: Invalid value: "Local": may only be set for externally-accessible services'),
    ({"loadBalancerSourceRanges": ["10.0.0.0/8"]},
     "spec.LoadBalancerSourceRanges: Forbidden: may only be used when `type` is 'LoadBalancer'"),
    ({"type": "LoadBalancer", "loadBalancerSourceRanges": ["10.0.0.1/8"]},
     'spec.LoadBalancerSourceRanges[0]: Invalid value: "10.0.0.1/8": must not have bits set beyond the prefix length'),
    ({"type": "LoadBalancer", "loadBalancerSourceRanges": ["x"]},
     f'spec.LoadBalancerSourceRanges[0]: Invalid value: "x": {CIDR}'),
    ({"allocateLoadBalancerNodePorts": True},
     "spec.allocateLoadBalancerNodePorts: Forbidden: may only be used when `type` is 'LoadBalancer'"),
    ({"loadBalancerClass": "example.com/c"},
     "spec.loadBalancerClass: Forbidden: may only be used when `type` is 'LoadBalancer'"),
    ({"type": "LoadBalancer", "healthCheckNodePort": 30500},
     "spec.healthCheckNodePort: Invalid value: 30500: may only be set when `type` is 'LoadBalancer' and "
     "`externalTrafficPolicy` is 'Local'"),
    ({"sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 86401}}},
     "spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 86401: must be greater than 0 and less than 86400"),
    ({"ports": [{"port": 80, "nodePort": 30001}]},
     "spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"),
    ({"trafficDistribution": "Close"},
     'spec.trafficDistribution: Unsupported value: "Close": supported values: "PreferClose", "PreferSameZone", "PreferSameNode"'),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "problem"), REFUSED)
def test_what_is_refused(spec, problem):
    service = {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}], **spec}}
    assert Api().refused("POST", SERVICES, service) == (422, "Invalid", f'Service "s" is invalid: {problem}')


def ports(*numbers):
    return [
        {"name": f"p{at}", **dict(zip(("protocol", "port", "nodePort"), one, strict=True))}
        for at, one in enumerate(numbers)
    ]


@pytest.mark.parametrize(
    ("first", "second", "problems"),
    [
        pytest.param(("TCP", 80, 30001), ("UDP", 80, 30001), [], id="both-numbers-for-two-protocols"),
        pytest.param(("TCP", 80, 30001), ("TCP", 81, 30002), [], id="two-of-each"),
        pytest.param(
            ("TCP", 80, 30001), ("TCP", 81, 30001),
            ["spec.ports[1].nodePort: Invalid value: 30001: provided port is already allocated"], id="node-port",
        ),
        pytest.param(
            ("SCTP", 80, 30001), ("SCTP", 80, 30002),
            ['spec.ports[1]: Duplicate value: {"Name":"","Protocol":"SCTP","AppProtocol":null,"Port":80,"TargetPort":0,"NodePort":0}'],
            id="port",
        ),
    ],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["NodePort", "LoadBalancer"])
def test_code_1_a_number_is_used_once_for_each_protocol(kind, first, second, problems):
    service = {"metadata": {"name": "s"}, "spec": {"type": kind, "ports": ports(first, second)}}
    code, shown = Api().call("POST", SERVICES, service)
    assert (code, [shown["message"].partition("is invalid: ")[2]] if code == 422 else []) == (
        422 if problems else 201,
        problems,
    )


COMPLETED = [
    ({}, {"type": "ClusterIP", "sessionAffinity": "None", "internalTrafficPolicy": "Cluster", "ipFamilies": ["IPv4"]}),
    ({"ipFamilyPolicy": "PreferDualStack"}, {"ipFamilyPolicy": "PreferDualStack", "ipFamilies": ["IPv4"]}),
    ({"sessionAffinity": "ClientIP"}, {"sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 10800}}}),
    ({"sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 5}}}, {"sessionAffinityConfig": None}),
    ({"type": "LoadBalancer"}, {"allocateLoadBalancerNodePorts": True, "externalTrafficPolicy": "Cluster"}),
    ({"clusterIP": "None", "selector": {"a": "b"}}, {"clusterIPs": ["None"], "ipFamilyPolicy": "SingleStack"}),
    ({"clusterIP": "None"}, {"clusterIPs": ["None"], "ipFamilyPolicy": "RequireDualStack"}),
    ({"type": "ExternalName", "externalName": "a.example.com"},
     {"clusterIPs": None, "ipFamilies": None, "internalTrafficPolicy": None}),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "expected"), COMPLETED)
def test_what_is_completed(spec, expected):
    service = {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}], **spec}}
    found = Api().ok("POST", SERVICES, service)["spec"]
    assert {key: found.get(key) for key in expected} == expected


def test_a_load_balancer_that_keeps_traffic_local_has_a_port_for_health():
    api = Api()
    spec = {"ports": [{"port": 80}], "type": "LoadBalancer", "externalTrafficPolicy": "Local"}
    found = api.ok("POST", SERVICES, {"metadata": {"name": "s"}, "spec": spec})["spec"]
    assert 30000 <= found["healthCheckNodePort"] <= 32767
    assert found["healthCheckNodePort"] != found["ports"][0]["nodePort"]
    patch = {"spec": {"externalTrafficPolicy": "Cluster"}}
    changed = api.ok("PATCH", f"{SERVICES}/s", patch, content_type="application/merge-patch+json")["spec"]
    assert "healthCheckNodePort" not in changed


def test_ports_are_optional_where_nodes_need_none():
    spec = {"ports": [{"port": 80}], "type": "LoadBalancer", "allocateLoadBalancerNodePorts": False}
    (port,) = Api().ok("POST", SERVICES, {"metadata": {"name": "s"}, "spec": spec})["spec"]["ports"]
    assert "nodePort" not in port
    assert port["targetPort"] == 80
