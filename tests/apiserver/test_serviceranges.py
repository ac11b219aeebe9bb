"""The ranges of cluster IPs (`registry/core/service/ipallocator`), and the order in which addresses are allocated."""

from ipaddress import ip_address, ip_network

import pytest

from fakekube.apiserver.registry.core.service.ranges import BadRange, parse_ranges, range_of


@pytest.mark.parametrize(
    ("network", "static"),
    [
        ("10.0.0.0/29", 0),
        ("10.0.0.0/28", 0),  # 16 addresses
        ("10.0.0.0/27", 16),  # `calculateRangeOffset`: a 16th, but at least 16 ...
        ("10.0.0.0/24", 16),
        ("10.0.0.0/23", 32),
        ("10.0.0.0/20", 256),
        ("10.0.0.0/16", 256),  # ... and at most 256
        ("2001:db8::/124", 0),
        ("2001:db8::/112", 256),
    ],
)
def test_the_lower_part_of_a_range_is_static(network, static):
    found = range_of(ip_network(network))
    assert found is not None
    assert found.dynamic - found.first == static


@pytest.mark.parametrize(
    ("network", "first", "last"),
    [
        ("10.0.0.0/28", "10.0.0.1", "10.0.0.14"),  # neither the network nor its broadcast address
        ("2001:db8::/124", "2001:db8::1", "2001:db8::f"),
        ("2001:db8::/64", "2001:db8::1", "2001:db8::ffff:ffff:ffff:ffff"),
    ],
)
def test_the_addresses_of_a_range(network, first, last):
    found = range_of(ip_network(network))
    assert found is not None
    assert (found.text(found.first), found.text(found.last)) == (first, last)
    inside, outside = (ip_address(first), ip_address(last)), (ip_address(first) - 1, ip_address(last) + 1)
    assert [one in found for one in (*inside, *outside)] == [True, True, False, False]
    other = ip_address("::a00:1") if found.network.version == 4 else ip_address("10.0.0.1")
    assert other not in found


def test_an_ipv6_range_of_more_than_64_bits_is_not_allocated_from():
    assert range_of(ip_network("2001:db8::/63")) is None
    assert range_of(ip_network("10.0.0.0/8")) is not None


def addresses(*numbers):
    return {f"10.0.0.{number}" for number in numbers}


@pytest.mark.parametrize(
    ("network", "draw", "held", "found"),
    [
        ("10.0.0.0/27", 0.0, (), 17),
        ("10.0.0.0/27", 0.5, (), 24),  # 14 addresses are dynamic
        ("10.0.0.0/27", 0.5, (24, 25), 26),
        ("10.0.0.0/27", 0.99, (30,), 17),  # the search continues at the first one
        ("10.0.0.0/27", 0.0, range(17, 31), 1),  # then the static part
        ("10.0.0.0/27", 0.5, range(17, 31), 9),
        ("10.0.0.0/27", 0.99, (*range(17, 31), 16), 1),
        ("10.0.0.0/27", 0.0, range(2, 31), 1),
        ("10.0.0.0/28", 0.0, (), 1),
        ("10.0.0.0/28", 0.0, range(1, 14), 14),
    ],
)
def test_the_address_that_is_allocated(network, draw, held, found):
    space = range_of(ip_network(network))
    assert space is not None
    assert space.free(addresses(*held), lambda: draw) == f"10.0.0.{found}"


@pytest.mark.parametrize(("network", "last"), [("10.0.0.0/27", 30), ("10.0.0.0/28", 14)])
def test_a_full_range_has_no_address(network, last):
    space = range_of(ip_network(network))
    assert space is not None
    assert space.free(addresses(*range(1, last + 1)), lambda: 0.5) is None


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("10.0.0.0/29", ["10.0.0.0/29"]),
        ("10.0.0.1/24", ["10.0.0.0/24"]),
        ("10.0.0.0/24,2001:db8::/112", ["10.0.0.0/24", "2001:db8::/112"]),
        ("2001:db8::/112,10.0.0.0/31", ["2001:db8::/112", "10.0.0.0/31"]),  # only the first one has a least size
    ],
)
def test_the_networks_of_an_option(text, found):
    assert [str(one) for one in parse_ranges(text)] == found


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "--service-cluster-ip-range must contain at least one valid cidr"),
        ("10.0.0.0/24,::/112,11.0.0.0/24", "--service-cluster-ip-range must not contain more than two entries"),
        ("10.0.0.0", "service-cluster-ip-range[0] is not a valid cidr"),
        ("10.0.0.0/24,x/8", "service-cluster-ip-range[1] is not an ip net"),
        ("10.0.0.0/30", "error determining service IP ranges for primary service cidr: the service cluster IP range must "
                        "be at least 8 IP addresses"),
        ("10.0.0.0/24,11.0.0.0/24", "--service-cluster-ip-range[0] and --service-cluster-ip-range[1] must be of different "
                                    "IP family"),
    ],
)  # fmt: skip
def test_an_option_that_is_refused(text, why):
    with pytest.raises(BadRange) as raised:
        parse_ranges(text)
    assert str(raised.value) == why
