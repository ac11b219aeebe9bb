"""Defaults of nodes: their address ranges and what is allocatable."""

import pytest

from fakekube.apiserver.registry.core.node import default_node


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, {}),
        ({"podCIDR": "a"}, {"podCIDR": "a", "podCIDRs": ["a"]}),
        ({"podCIDR": "a", "podCIDRs": []}, {"podCIDR": "a", "podCIDRs": ["a"]}),
        ({"podCIDRs": ["a", "b"]}, {"podCIDR": "a", "podCIDRs": ["a", "b"]}),
        ({"podCIDR": "a", "podCIDRs": ["a", "b"]}, {"podCIDR": "a", "podCIDRs": ["a", "b"]}),
        ({"podCIDR": "b", "podCIDRs": ["a", "b"]}, {"podCIDR": "b", "podCIDRs": ["b"]}),
    ],
)
def test_address_ranges(spec, expected):
    node = {"spec": spec}
    default_node(node)
    assert node["spec"] == expected


@pytest.mark.parametrize(
    ("status", "allocatable"),
    [
        ({"capacity": {"cpu": "2"}}, {"cpu": "2"}),
        ({"capacity": {"cpu": "2"}, "allocatable": {"cpu": "1"}}, {"cpu": "1"}),
        ({"capacity": {"cpu": "2"}, "allocatable": {}}, {}),
        ({"capacity": {}}, None),
    ],
)
def test_what_is_allocatable_defaults_to_the_capacity(status, allocatable):
    node = {"status": status}
    default_node(node)
    assert node["status"].get("allocatable") == allocatable
