"""What servers and nodes allocate counts as equal in two runs."""

import pytest

from fakekube.simulation.allocations import Allocations


@pytest.mark.parametrize(
    ("before", "after", "equal"),
    [
        ("10.0.0.1", "10.0.0.10", True),
        ("http://10.0.0.1:80/", "http://10.0.0.10:80/", True),
        ("10.0.0.11", "10.0.0.10", False),  # another address that begins with it
        ("10.0.0.1.example.com", "10.0.0.10.example.com", False),  # a name that begins with it
        ("a10.0.0.1", "a10.0.0.10", False),
        (30001, 30002, True),
        (30001, "30002", False),
        (True, True, False),
        (1.5, 1.5, False),
    ],
)
def test_addresses_and_ports_that_runs_have_drawn_are_equal(before, after, equal):
    first, second = (
        {"svc/a": {"spec": {"clusterIPs": [ip, "None"], "ports": [{"nodePort": port}]}}, "cm/x": {"spec": {"a": "b"}}}
        for ip, port in (("10.0.0.1", 30001), ("10.0.0.10", 30002))
    )
    assert Allocations(first, second).are_equal(before, after) is equal
    pinned = Allocations(first, second, frozenset({"10.0.0.1", "10.0.0.10", "30001", "30002"}))
    assert not pinned.are_equal(before, after), "what clients have named no run may change"


def test_the_longest_of_the_addresses_of_pods_and_services_is_meant():
    first = {"svc/a": {"spec": {"clusterIPs": ["10.0.0.1"]}}, "pod/b": {"status": {"podIP": "10.0.0.1:2"}}}
    second = {"svc/a": {"spec": {"clusterIPs": ["10.0.0.3"]}}, "pod/b": {"status": {"podIPs": [{"ip": "10.0.0.4"}]}}}
    assert Allocations(first, second).are_equal("10.0.0.1:2", "10.0.0.4")
