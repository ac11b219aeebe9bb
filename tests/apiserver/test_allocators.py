"""The allocator of one request: ports and addresses that are taken, static parts, and dry runs (`portallocator`)."""

from types import SimpleNamespace

import pytest

from fakekube.apiserver.registry.core.service.allocation import (
    NODE_PORTS,
    STATIC_PORTS,
    Allocator,
    Unavailable,
    addresses_of,
    ports_of,
)
from fakekube.apiserver.registry.core.service.ranges import parse_ranges, range_of

LOW, HIGH = NODE_PORTS[0], NODE_PORTS[-1]


def allocator(taken=(), *, held=(), ranges="10.0.0.0/24", draw=0.0, dry_run=False):
    networks = parse_ranges(ranges)
    stored = SimpleNamespace(
        ports={port: int(port in taken) for port in (*NODE_PORTS, LOW - 1, HIGH + 1)},
        families=tuple(f"IPv{one.version}" for one in networks),
        ranges=lambda: [range_of(one) for one in networks],
        held=lambda: set(held),
    )
    return Allocator(stored, lambda purpose, key: draw, dry_run)


@pytest.mark.parametrize(
    ("port", "taken", "why"),
    [
        (LOW, (), ""),
        (HIGH, (), ""),
        (LOW - 1, (), "provided port is not in the valid range. The range of valid ports is 30000-32767"),
        (HIGH + 1, (), "provided port is not in the valid range. The range of valid ports is 30000-32767"),
        (LOW, (LOW,), "provided port is already allocated"),
    ],
)
def test_a_port_that_is_asked_for(port, taken, why):
    made = allocator(taken)
    if why:
        with pytest.raises(Unavailable, match=f"^{why}$"):
            made.take_port(port)
        return
    made.take_port(port)
    with pytest.raises(Unavailable, match="already allocated"):
        made.take_port(port)


def test_a_dry_run_takes_any_port_that_is_free():
    made = allocator({LOW}, dry_run=True)
    made.take_port(LOW - 1)
    with pytest.raises(Unavailable, match="already allocated"):
        made.take_port(LOW)


@pytest.mark.parametrize(
    ("taken", "draw", "port"),
    [
        ((), 0.0, LOW + STATIC_PORTS),
        ((), 0.999999, HIGH),
        (range(LOW + STATIC_PORTS, HIGH), 0.0, HIGH),
        (range(LOW + STATIC_PORTS, HIGH + 1), 0.0, LOW),
        (range(LOW + STATIC_PORTS, HIGH + 1), 0.999, LOW + STATIC_PORTS - 1),
        ((LOW + STATIC_PORTS,), 0.0, LOW + STATIC_PORTS + 1),
    ],
)
def test_the_next_port_is_of_the_dynamic_part_as_long_as_there_is_one(taken, draw, port):
    assert allocator(set(taken), draw=draw).next_port("k") == port


def test_the_ports_of_a_request_differ():
    made = allocator()
    made.take_port(LOW + STATIC_PORTS)
    assert [made.next_port("a"), made.next_port("b")] == [LOW + STATIC_PORTS + 1, LOW + STATIC_PORTS + 2]
    with pytest.raises(Unavailable, match="range is full"):
        allocator(set(NODE_PORTS)).next_port("k")


def test_a_dry_run_invents_ports_beyond_the_range():
    made = allocator(dry_run=True)
    assert [made.next_port("a"), made.next_port("b")] == [HIGH + 2, HIGH + 3]


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("10.0.0.9", ""),
        ("10.0.0.8", "provided IP is already allocated"),
        ("10.0.1.1", "the provided network does not match the current range"),
        ("fd00::1", "the provided network does not match the current range"),
    ],
)
def test_an_address_that_is_asked_for(address, why):
    made = allocator(held={"10.0.0.8"})
    if why:
        with pytest.raises(Unavailable, match=f"^{why}$"):
            made.take_address(address)
    else:
        made.take_address(address)


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("10.0.0.8", ""),
        ("fd00::1", ""),
        ("10.0.1.1", r"the provided IP \(10.0.1.1\) is not in the valid range. The range of valid IPs is 10.0.0.0/24"),
        ("fd01::1", r"the provided IP \(fd01::1\) is not in the valid range. The range of valid IPs is fd00::/112"),
    ],
)
def test_a_dry_run_checks_the_first_range_of_the_family(address, why):
    made = allocator(held={"10.0.0.8"}, ranges="10.0.0.0/24,fd00::/112", dry_run=True)
    if why:
        with pytest.raises(Unavailable, match=f"^{why}$"):
            made.take_address(address)
    else:
        made.take_address(address)


def test_the_next_address_of_a_family():
    made = allocator(ranges="10.0.0.0/24,fd00::/112")
    assert made.families == ("IPv4", "IPv6")
    assert made.next_address("IPv4", "k").startswith("10.0.0.")
    assert made.next_address("IPv6", "k").startswith("fd00::")
    with pytest.raises(Unavailable, match="range is full"):
        allocator().next_address("IPv6", "k")
    assert allocator(dry_run=True).next_address("IPv4", "k") == "10.0.0.0"


def test_what_a_service_holds():
    ports = [{"nodePort": 30001}, {"nodePort": 30001}, {"port": 1}, {"nodePort": 30002}]
    service = {"spec": {"clusterIPs": ["None", "10.0.0.1", "fd00::1"], "ports": ports, "healthCheckNodePort": 30500}}
    assert list(addresses_of(service)) == ["10.0.0.1", "fd00::1"]
    assert sorted(ports_of(service)) == [30001, 30002, 30500]
    assert [*addresses_of({}), *ports_of({})] == []
