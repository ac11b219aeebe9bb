"""What the type of a service implies for its other fields."""

import pytest

from fakekube.apiserver.registry.core.service import spec
from fakekube.apiserver.registry.core.service.strategy import drop_dependent

RULES = (
    spec.is_load_balancer, spec.externally_accessible, spec.needs_health_check, spec.needs_cluster_address,
    spec.needs_node_port, spec.allocates_node_ports, spec.is_headless,
)  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "rules"),
    [
        ({"type": "ClusterIP"}, {"needs_cluster_address"}),
        ({"type": "ClusterIP", "externalIPs": ["1.2.3.4"]}, {"needs_cluster_address", "externally_accessible"}),
        ({"type": "ClusterIP", "externalTrafficPolicy": "Local"}, {"needs_cluster_address"}),
        ({"type": "ClusterIP", "clusterIPs": ["None"]}, {"needs_cluster_address", "is_headless"}),
        ({"type": "ClusterIP", "clusterIPs": ["10.0.0.1"]}, {"needs_cluster_address"}),
        (
            {"type": "NodePort"},
            {"needs_cluster_address", "needs_node_port", "allocates_node_ports", "externally_accessible"},
        ),
        (
            {"type": "LoadBalancer"},
            {"needs_cluster_address", "needs_node_port", "allocates_node_ports", "externally_accessible",
             "is_load_balancer"},
        ),
        (
            {"type": "LoadBalancer", "allocateLoadBalancerNodePorts": False, "externalTrafficPolicy": "Local"},
            {"needs_cluster_address", "needs_node_port", "externally_accessible", "is_load_balancer",
             "needs_health_check"},
        ),
        ({"type": "ExternalName", "externalIPs": ["1.2.3.4"]}, set()),
    ],
)  # fmt: skip
def test_the_rules_of_a_type(fields, rules):
    assert {rule.__name__ for rule in RULES if rule({"spec": fields})} == rules


def test_the_node_ports_of_a_service():
    ports = [{"port": 1, "nodePort": 30001}, {"port": 2}, {"port": 3, "nodePort": 0}, {"port": 4, "nodePort": 30001}]
    assert spec.node_ports({"spec": {"ports": ports}}) == {30001}
    assert spec.node_ports({}) == set()


BALANCER = {
    "type": "LoadBalancer", "clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"], "ipFamilies": ["IPv4"],
    "ipFamilyPolicy": "SingleStack", "internalTrafficPolicy": "Cluster", "externalTrafficPolicy": "Local",
    "healthCheckNodePort": 30500, "allocateLoadBalancerNodePorts": True, "loadBalancerClass": "a/b",
    "ports": [{"port": 80, "nodePort": 30001}],
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "gone"),
    [
        ({}, set()),
        ({"type": "NodePort"}, {"healthCheckNodePort", "allocateLoadBalancerNodePorts", "loadBalancerClass"}),
        ({"externalTrafficPolicy": "Cluster"}, {"healthCheckNodePort"}),
        (
            {"type": "ClusterIP"},
            {"healthCheckNodePort", "allocateLoadBalancerNodePorts", "loadBalancerClass", "externalTrafficPolicy"},
        ),
        ({"type": "ExternalName"}, set(BALANCER) - {"type", "ports"}),
        (
            {"type": "ClusterIP", "healthCheckNodePort": 30501, "loadBalancerClass": "c/d"},
            {"allocateLoadBalancerNodePorts", "externalTrafficPolicy"},
        ),
        (
            {"type": "ExternalName", "clusterIP": "10.0.0.2", "ipFamilies": ["IPv6"]},
            set(BALANCER) - {"type", "ports", "clusterIP", "clusterIPs", "ipFamilies"},
        ),
    ],
)
def test_fields_that_another_type_does_not_have_are_dropped_unless_they_change(change, gone):
    """`dropTypeDependentFields`."""
    found = drop_dependent({"spec": {**BALANCER, **change}}, {"spec": BALANCER})["spec"]
    assert set(BALANCER) - set(found) == gone


@pytest.mark.parametrize(
    ("kind", "sent", "left"),
    [
        ("NodePort", [{"port": 80, "nodePort": 30001}], [{"port": 80, "nodePort": 30001}]),
        ("ClusterIP", [{"port": 80, "nodePort": 30001}], [{"port": 80}]),
        ("ClusterIP", [{"port": 80}, {"port": 81, "nodePort": 30001}], [{"port": 80}, {"port": 81}]),
        ("ClusterIP", [{"port": 80, "nodePort": 30002}], [{"port": 80, "nodePort": 30002}]),
        ("ClusterIP", [], None),
    ],
)
def test_node_ports_are_dropped_if_none_is_new(kind, sent, left):
    new, old = {"spec": {**BALANCER, "type": kind, "ports": sent}}, {"spec": BALANCER}
    assert drop_dependent(new, old)["spec"].get("ports") == left
