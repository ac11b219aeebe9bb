"""The formats of strings (`go-openapi/strfmt`), and URLs as Go parses them."""

import pytest

from fakekube.apiserver.schema.stringformats import FORMATS, go_duration, loose_duration
from fakekube.apiserver.wire import gourl

SECOND = 10**9

#: Name of a format -> texts that have it, texts that do not.
TEXTS = {
    "bsonobjectid": (["507f1f77bcf86cd799439011"], ["507f1f77bcf86cd79943901", "x07f1f77bcf86cd799439011"]),
    "uri": (["http://a/b", "/a/b?c", "mailto:a", "*", "https://[::1]:80/"], ["", "a b", "a/b", "http://a:x/", "://a"]),
    "email": (["a@b", "a.b@c.d", '"a b"@c', "A B <a@b.c>", "a@[1.2.3.4]"], ["a", "a@", "@b", "a@b@c", "<a>"]),
    "hostname": (["a", "a-", "a-b.example.com", "ä.de"], ["", "-a", "a-b-c", "a_b", "a.b1", "a." + "b" * 64, "a" * 256, "a.b"]),
    "ipv4": (["1.2.3.4", "001.2.3.4", "::ffff:1.2.3.4"], ["1.2.3", "::1", "1.2.3.256", ""]),
    "ipv6": (["::1", "::ffff:1.2.3.4"], ["1.2.3.4", "fe80::1%eth0", "::g"]),
    "cidr": (["10.0.0.0/8", "::/0", "010.0.0.0/8"], ["10.0.0.0", "10.0.0.0/33", "::/129", "10.0.0.0/x", "x/8"]),
    "mac": (["01:02:03:04:05:06", "01-02-03-04-05-06-07-08", "0102.0304.0506"], ["01:02-03:04:05:06", "01:02:03", ""]),
    "uuid": (["123e4567-e89b-12d3-a456-426614174000", "123E4567E89B12D3A456426614174000"], ["123e4567", ""]),
    "uuid3": (["123e4567-e89b-32d3-a456-426614174000"], ["123e4567-e89b-42d3-a456-426614174000"]),
    "uuid4": (["123e4567-e89b-42d3-a456-426614174000"], ["123e4567-e89b-42d3-c456-426614174000"]),
    "uuid5": (["123e4567-e89b-52d3-b456-426614174000"], ["123e4567-e89b-42d3-b456-426614174000"]),
    "isbn": (["3-16-148410-X", "978-3-16-148410-0"], ["3-16-148410-0", ""]),
    "isbn10": (["316148410X", "080442957X", "0 8044 2957 X"], ["316148410", "3161484100", "X161484100"]),
    "isbn13": (["9783161484100", "9780306406157"], ["9783161484101", "9780306406153", "978316148410", "3161484100"]),
    "creditcard": (["4111 1111 1111 1111", "378282246310005", "5555-5555-5555-4444"], ["4111111111111112", "1234", ""]),
    "ssn": (["111-22-3333", "111 22 3333"], ["111223333", "11-22-33333", "111-22-333a"]),
    "hexcolor": (["#fff", "FFFFFF", "#a1b2c3"], ["#ff", "#ggg", "rgb(1,2,3)"]),
    "rgbcolor": (["rgb(1, 2, 255)", "rgb(0,0,0)"], ["rgb(256,0,0)", "rgb(1,2)", "#fff"]),
    "byte": (["aGk=", "aGVsbG8h"], ["", "*", "aGk", "a==="]),
    "password": (["anything", ""], []),
    "date": (["2026-01-02", "2024-02-29"], ["2026-13-01", "2026-02-29", "x", "2026-1-2"]),
    "duration": (["1h30m", "3 days", "1 week and 2 hours", "0", "-5s", "1.5h"], ["", "x", "3 nothings", "5"]),
    "datetime": (
        ["2026-01-02T03:04:05Z", "2026-01-02t03:04:05.5+02:00"],
        ["2026-01-02", "2026-01-02T24:00:00Z", "2026-01-02T03:60:05Z", "2026-01-02T03:04:60Z", "2026-01-02 03:04:05Z"],
    ),
    "k8sshortname": (["a-b", "a" * 63], ["A", "-a", "a" * 64, "a.b"]),
    "k8slongname": (["a.b-c", "a" * 253], ["A", "a..b", "a" * 254]),
}  # fmt: skip


def test_every_format_has_texts():
    assert set(TEXTS) == set(FORMATS)


@pytest.mark.parametrize("name", TEXTS)
def test_which_texts_have_a_format(name):
    have, lack = TEXTS[name]
    assert [text for text in have if not FORMATS[name](text)] == []
    assert [text for text in lack if FORMATS[name](text)] == []


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("0", 0),
        ("-0", 0),
        ("1.5s", 1_500_000_000),
        (".5s", 500_000_000),
        ("1h1m1s1ms1us1ns", 3661 * SECOND + 1_001_001),
        ("+1µs", 1000),
        ("-1m", -60 * SECOND),
        ("2562047h47m16.854775807s", 2**63 - 1),
        ("-2562047h47m16.854775808s", -(2**63)),
        ("2562047h47m16.854775808s", None),
        ("+2562047h47m16.854775808s", None),
        ("-2562047h47m16.854775809s", None),
        ("9999999h", None),
        (".s", None),
        ("1", None),
        ("", None),
        ("1x", None),
    ],
)
def test_a_duration_of_go(text, nanoseconds):
    assert go_duration(text) == nanoseconds


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("3 days", 3 * 86400 * SECOND),
        ("1 week", 7 * 86400 * SECOND),
        ("2wk", 14 * 86400 * SECOND),
        ("1 hour 30 minutes", 5400 * SECOND),
        ("5 nanos", 5),
        ("5 micros", 5000),
        ("7 millis", 7_000_000),
        ("2 secs", 2 * SECOND),
        ("3 mins", 180 * SECOND),
        ("4 hr", 4 * 3600 * SECOND),
        ("5 ns 5 us 5 ms", 5_005_005),
        ("1 w 1 d", 8 * 86400 * SECOND),
        ("99999999999999999999 days", None),
        ("3 nothings", None),
    ],
)
def test_a_duration_by_the_names_of_its_units(text, nanoseconds):
    assert loose_duration(text) == nanoseconds


URLS = [
    ("https://user:p%20w@example.com:80/a%20b?q=1&q=2&x=%zz&;", ("https", "user:p w", "example.com:80", "/a b")),
    ("HTTP://EXAMPLE.com", ("http", None, "EXAMPLE.com", "")),
    ("mailto:joe", ("mailto", None, "", "")),
    ("/only/a/path", ("", None, "", "/only/a/path")),
    ("http://[::1]:8080/x", ("http", None, "[::1]:8080", "/x")),
    ("*", ("", None, "", "*")),
]


@pytest.mark.parametrize(("text", "parts"), URLS)
def test_the_parts_of_a_url(text, parts):
    url = gourl.parse_request_uri(text)
    assert (url.scheme, url.user, url.host, url.path) == parts


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "empty url"),
        ("a\x01b", "net/url: invalid control character in URL"),
        ("://a", "missing protocol scheme"),
        ("1http://a", "invalid URI for request"),
        ("a/b", "invalid URI for request"),
        ("http://[::1", "missing ']' in host"),
        ("http://[::1]x/", 'invalid port "x" after host'),
        ("http://a:b/", 'invalid port ":b" after host'),
        ("http://a b/", 'invalid character " " in host name'),
        ("http://a{b/", 'invalid character "{" in host name'),
        ("http://u[ser@a/", "net/url: invalid userinfo"),
        ("/a%zz", 'invalid URL escape "%zz"'),
    ],
)
def test_what_is_no_url(text, why):
    with pytest.raises(gourl.BadUrl) as caught:
        gourl.parse_request_uri(text)
    assert str(caught.value).endswith(why)


@pytest.mark.parametrize(
    ("host", "name", "port"),
    [("a:80", "a", "80"), ("a", "a", ""), ("[::1]:80", "::1", "80"), ("[::1]", "::1", ""), ("a:", "a", "")],
)
def test_name_and_port_of_a_host(host, name, port):
    url = gourl.Url(host=host)
    assert (url.hostname, url.port) == (name, port)
