"""Why Go's `net/netip` rejects a text (`parseIPv4Fields`, `parseIPv6`, `ParsePrefix`)."""

import pytest

from fakekube.apiserver.wire.gonetip import BadAddress, check_address, check_prefix


def problem(check, text):
    try:
        check(text)
    except BadAddress as found:
        return str(found)
    return ""


@pytest.mark.parametrize(
    "text",
    [
        "0.0.0.0", "255.255.255.255", "1.20.100.9", "::", "::1", "1::", "1:2:3:4:5:6:7:8", "abcd:EF01::", "1::8",
        "1:2:3:4:5:6:7::", "::2:3:4:5:6:7:8", "::1.2.3.4", "1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5::1.2.3.4", "::ffff:1.2.3.4",
        "fe80::1%eth0", "fe80::1%a.b:c", "::%1",
    ],
)  # fmt: skip
def test_an_address(text):
    assert problem(check_address, text) == ""


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "unable to parse IP"),
        ("abc", "unable to parse IP"),
        ("12", "unable to parse IP"),
        ("a%b", "missing IPv6 address"),
        ("1.2.3", "IPv4 address too short"),
        ("1.2.3.4.5", "IPv4 address too long"),
        ("1.2.3.256", "IPv4 field has value >255"),
        ("1.2.3.04", "IPv4 field has octet with leading zero"),
        ("1.2.3.00", "IPv4 field has octet with leading zero"),
        (".1.2.3", 'IPv4 field must have at least one digit (at ".1.2.3")'),
        ("1..2.3", 'IPv4 field must have at least one digit (at ".2.3")'),
        ("1.2.3.", 'IPv4 field must have at least one digit (at ".")'),
        ("1.2.3.a", 'unexpected character (at "a")'),
        ("1.2.3.4%a", 'unexpected character (at "%a")'),
        ("1:2", "address string too short"),
        ("1:2:3:4:5:6:7", "address string too short"),
        ("1:2:3:4:5:6:7:", 'colon must be followed by more characters (at ":")'),
        ("1:2:3:4:5:6:7:8:9", 'trailing garbage after address (at "9")'),
        ("1:2:3:4:5:6:7::8", "the :: must expand to at least one field of zeros"),
        ("1::2::3", 'multiple :: in address (at ":3")'),
        ("::1::", 'multiple :: in address (at ":")'),
        (":1", 'each colon-separated field must have at least one digit (at ":1")'),
        ("1:::2", 'each colon-separated field must have at least one digit (at ":2")'),
        ("::12345", 'each group must have 4 or less digits (at "12345")'),
        ("::g", 'each colon-separated field must have at least one digit (at "g")'),
        ("::1g", 'unexpected character, want colon (at "g")'),
        ("::1%", "zone must be a non-empty string"),
        ("1:2:1.2.3.4", 'embedded IPv4 address must replace the final 2 fields of the address (at "1.2.3.4")'),
        ("1:2:3:4:5:6:7:1.2.3.4",
         'embedded IPv4 address must replace the final 2 fields of the address (at "1.2.3.4")'),
        ("::1:2:3:4:5:6:1.2.3.4", "the :: must expand to at least one field of zeros"),
        ("::1:2:3:4:5:6:7:1.2.3.4",
         'too many hex fields to fit an embedded IPv4 at the end of the address (at "1.2.3.4")'),
        ("::1.2.3", "IPv4 address too short"),
        ("::1.2.3.256", "IPv4 field has value >255"),
    ],
)  # fmt: skip
def test_why_a_text_is_no_address(text, why):
    assert problem(check_address, text) == f'ParseAddr("{text}"): {why}'


@pytest.mark.parametrize("text", ["0.0.0.0/0", "10.0.0.0/32", "::/0", "::1/128", "1.2.3.4/9"])
def test_a_prefix(text):
    assert problem(check_prefix, text) == ""


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("10.0.0.0", "no '/'"),
        ("10.0.0/8", 'ParseAddr("10.0.0"): IPv4 address too short'),
        ("fe80::1%a/8", "IPv6 zones cannot be present in a prefix"),
        ("10.0.0.0/", 'bad bits after slash: ""'),
        ("10.0.0.0/08", 'bad bits after slash: "08"'),
        ("10.0.0.0/+8", 'bad bits after slash: "+8"'),
        ("10.0.0.0/33", "prefix length out of range"),
        ("::/129", "prefix length out of range"),
        ("::/99999999999999999999", "prefix length out of range"),
    ],
)
def test_why_a_text_is_no_prefix(text, why):
    assert problem(check_prefix, text) == f'netip.ParsePrefix("{text}"): {why}'
