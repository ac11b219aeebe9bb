"""Kubernetes' own functions of expressions, called directly (`apiserver/pkg/cel/library`)."""

import math

import pytest

from fakekube.apiserver.cel.library import kubernetes
from fakekube.apiserver.cel.library.functions import BY_ID
from fakekube.apiserver.cel.library.kubernetes import FORMATS, Semver, to_cidr, to_ip, to_quantity, to_semver, to_url
from fakekube.apiserver.cel.values import NONE, CelError, Optional


def run(id, *args):
    return BY_ID[id].run(*args)


def refusal(convert, *args):
    with pytest.raises(CelError) as refused:
        convert(*args)
    return str(refused.value)


# --- versions --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("0.0.0", Semver(0, 0, 0)),
        ("1.20.300", Semver(1, 20, 300)),
        ("1.2.3-a.1", Semver(1, 2, 3, ("a", "1"))),
        ("1.2.3+b.007", Semver(1, 2, 3)),
        ("1.2.3--+-", Semver(1, 2, 3, ("-",))),
        ("18446744073709551615.0.0", Semver(2**64 - 1, 0, 0)),
    ],
)
def test_a_version(text, found):
    assert to_semver(text) == found
    assert run("is_semver_string", text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "Version string empty"),
        ("1", "No Major.Minor.Patch elements found"),
        ("1.2", "No Major.Minor.Patch elements found"),
        ("v1.2.3", 'Invalid character(s) found in major number "v1"'),
        ("1.2.3.4", 'Invalid character(s) found in patch number "3.4"'),
        (".2.3", 'strconv.ParseUint: parsing "": invalid syntax'),
        ("1.2.-a", 'strconv.ParseUint: parsing "": invalid syntax'),
        ("01.2.3", 'Major number must not contain leading zeroes "01"'),
        ("1.00.3", 'Minor number must not contain leading zeroes "00"'),
        ("1.2.03", 'Patch number must not contain leading zeroes "03"'),
        ("0.0.x", 'Invalid character(s) found in patch number "x"'),
        ("1.2.3-", "Prerelease is empty"),
        ("1.2.3-a..b", "Prerelease is empty"),
        ("1.2.3-a_b", 'Invalid character(s) found in prerelease "a_b"'),
        ("1.2.3-a+", "Build meta data is empty"),
        ("1.2.3+a_b", 'Invalid character(s) found in build meta data "a_b"'),
        ("1.2.3-01", 'Numeric PreRelease version must not contain leading zeroes "01"'),
        ("18446744073709551616.0.0", 'strconv.ParseUint: parsing "18446744073709551616": value out of range'),
        ("0.18446744073709551616.0", 'strconv.ParseUint: parsing "18446744073709551616": value out of range'),
    ],
)
def test_texts_that_are_no_version(text, why):
    assert refusal(to_semver, text) == why
    assert not run("is_semver_string", text)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("v1", Semver(1, 0, 0)),
        ("1.2", Semver(1, 2, 0)),
        ("v01.002.0003", Semver(1, 2, 3)),
        ("00.0.000", Semver(0, 0, 0)),
        ("1.2.03-a", Semver(1, 2, 3, ("a",))),
        ("1.2.3", Semver(1, 2, 3)),
    ],
)
def test_a_version_that_is_normalized(text, found):
    assert to_semver(text, True) == found
    assert run("is_semver_string_bool", text, True)


@pytest.mark.parametrize("text", ["1.2-a", "1+b", "1-a"])
def test_a_short_version_has_no_pre_release(text):
    assert refusal(to_semver, text, True) == "short version cannot contain PreRelease/Build meta data"


#: In their order.
VERSIONS = ["1.0.0-1", "1.0.0-2", "1.0.0-10", "1.0.0-a", "1.0.0-a.1", "1.0.0-a.b", "1.0.0-b", "1.0.0", "1.0.1", "1.2.0", "1.10.0", "2.0.0"]  # fmt: skip


def test_the_order_of_versions():
    for i, one in enumerate(VERSIONS):
        for j, other in enumerate(VERSIONS):
            a, b = to_semver(one), to_semver(other)
            assert run("semver_compare_to", a, b) == (i > j) - (i < j)
            assert run("semver_is_less_than", a, b) is (i < j)
            assert run("semver_is_greater_than", a, b) is (i > j)
    assert run("semver_compare_to", to_semver("1.0.0+a"), to_semver("1.0.0+b")) == 0


# --- quantities ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "integer"),
    [
        ("0", 0), ("-5", -5), ("1Ki", 1024), ("1500m", None), ("2000m", None), ("1.0", None), ("100k", 100_000),
        ("999999999999999999", 10**18 - 1), ("1000000000000000000", None), ("1E", 10**18), ("10E", None), ("2Ei", None),
        ("1e3", 1000), ("1.1M", 1_100_000), ("1.5Gi", None), ("-1Ki", -1024),
    ],
)  # fmt: skip
def test_quantities_as_integers(text, integer):
    one = to_quantity(text)
    assert run("quantity_is_integer", one) is (integer is not None)
    if integer is None:
        assert refusal(kubernetes.as_integer, one) == "cannot convert value to integer"
    else:
        assert run("quantity_get_int", one) == integer


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0.3", 0.30000000000000004), ("300m", 0.3), ("1.5", 1.5), ("0.50", 0.5), ("1.5Ki", 1536.0), ("0.1n", 1e-9),
        ("1.23456789012", 1.234567891), ("16Ei", 2.0**63), ("9" * 400, math.inf), ("-" + "9" * 400, -math.inf), ("-0.3", -0.30000000000000004), ("123456789012345678901", 1.2345678901234568e20),
    ],
)  # fmt: skip
def test_quantities_as_numbers(text, number):
    assert run("quantity_get_float", to_quantity(text)) == number


@pytest.mark.parametrize(
    ("one", "other", "total", "difference"),
    [
        ("0.3", "100m", 0.4, 0.2), ("0.3", "0m", 0.30000000000000004, 0.30000000000000004), ("0", "0.3", 0.30000000000000004, -0.30000000000000004),
        ("1.5", "100m", 1.6, 1.4000000000000001), ("1", "1Gi", 2.0**30 + 1, 1 - 2.0**30),
    ],
)  # fmt: skip
def test_sums_have_the_smaller_scale(one, other, total, difference):
    pair = to_quantity(one), to_quantity(other)
    assert run("quantity_get_float", run("quantity_add", *pair)) == total
    assert run("quantity_get_float", run("quantity_sub", *pair)) == difference


def test_a_sum_beyond_an_int64_is_no_integer():
    large = to_quantity("9E")
    assert run("quantity_is_integer", run("quantity_add_int", large, 1))
    assert not run("quantity_is_integer", run("quantity_add", large, large))
    assert not run("quantity_is_integer", run("quantity_add", to_quantity("1Gi"), to_quantity("1e20")))


def test_the_arithmetic_of_quantities():
    one, two = to_quantity("1500m"), to_quantity("2")
    assert run("quantity_add", one, two) == run("quantity_add_int", one, 2) == to_quantity("3500m")
    assert run("quantity_sub", one, two) == run("quantity_sub_int", one, 2) == to_quantity("-500m")
    assert run("quantity_get_float", one) == 1.5
    assert [run("quantity_sign", to_quantity(text)) for text in ("-1m", "0", "1m")] == [-1, 0, 1]
    assert [run("quantity_compare_to", *pair) for pair in ((one, two), (two, one), (one, one))] == [-1, 1, 0]
    assert [run("quantity_is_less_than", *pair) for pair in ((one, two), (two, one), (one, one))] == [
        True,
        False,
        False,
    ]
    assert [run("quantity_is_greater_than", *pair) for pair in ((one, two), (two, one), (one, one))] == [
        False,
        True,
        False,
    ]
    assert [run("is_quantity_string", text) for text in ("1", "1Gi", "x", "")] == [True, True, False, False]


# --- addresses -------------------------------------------------------------------------------------------------------

CLASSES = ("unspecified", "loopback", "link_local_multicast", "link_local_unicast", "global_unicast")


@pytest.mark.parametrize(
    ("text", "family", "classes"),
    [
        ("10.0.0.1", 4, {"global_unicast"}),
        ("8.8.8.8", 4, {"global_unicast"}),
        ("0.0.0.0", 4, {"unspecified"}),
        ("127.1.2.3", 4, {"loopback"}),
        ("224.0.0.1", 4, {"link_local_multicast"}),
        ("224.0.0.255", 4, {"link_local_multicast"}),
        ("224.0.1.0", 4, set()),
        ("169.254.1.1", 4, {"link_local_unicast"}),
        ("255.255.255.255", 4, set()),
        ("255.255.255.254", 4, {"global_unicast"}),
        ("2001:db8::1", 6, {"global_unicast"}),
        ("::", 6, {"unspecified"}),
        ("::1", 6, {"loopback"}),
        ("ff02::1", 6, {"link_local_multicast"}),
        ("ff12::1", 6, {"link_local_multicast"}),
        ("ff01::1", 6, set()),
        ("ff05::1", 6, set()),
        ("fe80::1", 6, {"link_local_unicast"}),
        ("fd00::1", 6, {"global_unicast"}),
    ],
)
def test_the_classes_of_addresses(text, family, classes):
    one = to_ip(text)
    assert run("ip_family", one) == family
    assert {name for name in CLASSES if run(f"ip_is_{name}", one)} == classes
    assert run("ip_to_string", one) == text


@pytest.mark.parametrize(
    ("text", "begin"),
    [
        ("1.2.3", 'IP Address "1.2.3" parse error during conversion from string: '),
        ("01.2.3.4", 'IP Address "01.2.3.4" parse error during conversion from string: '),
        ("::ffff:1.2.3.4", 'IPv4-mapped IPv6 address "::ffff:1.2.3.4" is not allowed'),
        ("fe80::1%eth0", 'IP address "fe80::1%eth0" with zone value is not allowed'),
    ],
)
def test_texts_that_are_no_address(text, begin):
    assert refusal(to_ip, text).startswith(begin)
    assert not run("is_ip", text)


@pytest.mark.parametrize(
    ("text", "canonical"), [("2001:db8::1", True), ("2001:DB8::1", False), ("2001:db8:0::1", False), ("1.2.3.4", True)]
)
def test_canonical_addresses(text, canonical):
    assert run("ip_is_canonical", text) is canonical


@pytest.mark.parametrize(
    ("text", "ip", "length", "masked"),
    [
        ("10.0.0.9/24", "10.0.0.9", 24, "10.0.0.0/24"),
        ("10.0.0.0/8", "10.0.0.0", 8, "10.0.0.0/8"),
        ("2001:db8::5/32", "2001:db8::5", 32, "2001:db8::/32"),
        ("0.0.0.0/0", "0.0.0.0", 0, "0.0.0.0/0"),
    ],
)
def test_networks(text, ip, length, masked):
    one = to_cidr(text)
    assert (run("cidr_ip", one), run("cidr_prefix_length", one)) == (to_ip(ip), length)
    assert run("cidr_to_string", run("cidr_masked", one)) == masked
    assert run("cidr_to_string", one) == text
    assert run("is_cidr", text)


@pytest.mark.parametrize("text", ["10.0.0.0", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/08", "::ffff:1.2.3.0/120", "x/8"])
def test_texts_that_are_no_network(text):
    assert not run("is_cidr", text)
    assert refusal(to_cidr, text).startswith("network address parse error during conversion from string: ")


@pytest.mark.parametrize(
    ("network", "other", "contained"),
    [
        ("10.0.0.0/24", "10.0.0.255", True),
        ("10.0.0.9/24", "10.0.0.1", True),
        ("10.0.0.0/24", "10.0.1.0", False),
        ("10.0.0.0/24", "2001:db8::1", False),
        ("10.0.0.0/24", "10.0.0.0/24", True),
        ("10.0.0.0/24", "10.0.0.128/25", True),
        ("10.0.0.0/24", "10.0.0.0/23", False),
        ("10.0.0.0/24", "10.0.1.0/25", False),
        ("10.0.0.0/24", "2001:db8::/64", False),
        ("2001:db8::/32", "2001:db8:1::/48", True),
    ],
)
def test_what_a_network_contains(network, other, contained):
    one = to_cidr(network)
    if "/" in other:
        assert run("cidr_contains_cidr", one, to_cidr(other)) is contained
        assert run("cidr_contains_cidr_string", one, other) is contained
    else:
        assert run("cidr_contains_ip_ip", one, to_ip(other)) is contained
        assert run("cidr_contains_ip_string", one, other) is contained


def test_what_a_network_contains_is_an_address():
    assert refusal(kubernetes.contains_ip, to_cidr("10.0.0.0/24"), "x") == "no such overload"


# --- URLs and formats ------------------------------------------------------------------------------------------------


def test_the_parts_of_a_url():
    one = to_url("https://user@[::1]:8080/a%20b/c?x=1&x=2&y=#z")
    parts = ("scheme", "host", "hostname", "port", "escaped_path", "query")
    assert [run(f"url_get_{part}", one) for part in parts] == [
        "https", "[::1]:8080", "::1", "8080", "/a%20b/c", {"x": ["1", "2"], "y": [""]},
    ]  # fmt: skip
    assert [run("is_url_string", text) for text in ("/a", "https://a", "a b", "", "https://a:b")] == [
        True, True, False, False, False,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("dns1123Label", "a-1", "a.b"),
        ("dns1123Subdomain", "a.b", "a_b"),
        ("dns1035Label", "a1", "1a"),
        ("qualifiedName", "a.b/C", "a/b/c"),
        ("dns1123LabelPrefix", "a-", "a."),
        ("dns1123SubdomainPrefix", "a.b-", "a..b-"),
        ("dns1035LabelPrefix", "a-", "1a-"),
        ("labelValue", "", "a b"),
        ("uri", "https://a.b/c", "a b"),
        ("uuid", "6ba7b810-9dad-11d1-80b4-00c04fd430c8", "6ba7b810"),
        ("byte", "YQ==", "YQ="),
        ("date", "2026-02-28", "2026-02-30"),
        ("datetime", "2026-01-01T00:00:00Z", "2026-01-01"),
    ],
)
def test_named_formats(name, good, bad):
    named = run("format-named", name)
    assert named == Optional(True, FORMATS[name])
    assert run(f"format.{name}") is FORMATS[name]
    assert run("format-validate", FORMATS[name], good) == NONE
    found = run("format-validate", FORMATS[name], bad)
    assert found.present
    assert len(found.value) >= 1


def test_other_formats():
    assert run("format-named", "nope") == NONE
    assert FORMATS["uri"] != FORMATS["uuid"]
    assert len({*FORMATS.values()}) == len(FORMATS)
