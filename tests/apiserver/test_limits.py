"""Limits of texts and numbers on both sides: names, formats, times, quantities, and what Go prints and decodes."""

import pytest

from fakekube.apiserver import names
from fakekube.apiserver.crd.quickvalidation import INT64, _int_or_string
from fakekube.apiserver.patch import json_patch
from fakekube.apiserver.registry.batch.job import indexes
from fakekube.apiserver.registry.batch.job.indexes import BadIndexes
from fakekube.apiserver.registry.generic.table.ages import human_duration
from fakekube.apiserver.registry.generic.table.jsonpath import NoValue, Path
from fakekube.apiserver.registry.generic.validation import content
from fakekube.apiserver.registry.generic.validation.ip import parse_cidr
from fakekube.apiserver.schema.quantity import InvalidQuantity, canonical
from fakekube.apiserver.schema.stringformats import FORMATS, go_duration, loose_duration
from fakekube.apiserver.schema.times import InvalidTime, microtime_text, time_text
from fakekube.apiserver.schema.wrongtype import WrongType
from fakekube.apiserver.wire import codec, gojson, goprint, goyaml
from fakekube.apiserver.wire.status import StatusError
from tests.apiserver.validation.support import complete

LABEL = "a" * 63


@pytest.mark.parametrize(
    ("check", "longest"),
    [
        (names.dns_subdomain_problems, 253),
        (names.dns_label_problems, 63),
        (names.dns1035_label_problems, 63),
        (names.label_value_problems, 63),
        (names.qualified_name_problems, 63),
        (content.port_name_problems, 15),
    ],
)
def test_the_longest_names(check, longest):
    assert list(check("a" * longest)) == []
    assert len(check("a" * (longest + 1))) == 1
    assert str(longest) in check("a" * (longest + 1))[0]


def test_the_longest_prefix_of_a_qualified_name():
    prefix = ".".join([LABEL] * 3 + ["a" * 61])
    assert (names.qualified_name_problems(f"{prefix}/a"), len(names.qualified_name_problems(f"{prefix}a/a"))) == ([], 1)


def test_prefixes_of_names_are_masked_if_they_have_two_characters():
    assert names.dns_label_problems("a-", prefix=True) == []
    assert len(names.dns_label_problems("-", prefix=True)) == 1


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("datetime", "2026-01-02T23:59:59Z", "2026-01-02T24:00:00Z"),
        ("datetime", "2026-01-02T00:00:00Z", "2026-01-02T00:60:00Z"),
        ("datetime", "2026-01-02T00:00:00.5Z", "2026-01-02T00:00:60Z"),
        ("cidr", "10.0.0.0/32", "10.0.0.0/33"),
        ("cidr", "::/128", "::/129"),
        ("cidr", "0.0.0.0/0", "0.0.0.0/-1"),
        ("hostname", LABEL, LABEL + "a"),
        ("hostname", ".".join([LABEL] * 3 + ["b" * 63]), ".".join([LABEL] * 3 + ["b" * 64])),
        ("hostname", "a.bc", "a.b"),
        ("k8sshortname", LABEL, LABEL + "a"),
    ],
)
def test_the_limits_of_formats(name, good, bad):
    assert (bool(FORMATS[name](good)), bool(FORMATS[name](bad))) == (True, False)


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("9223372036854775807ns", 2**63 - 1),
        ("9223372036854775808ns", None),
        ("-9223372036854775808ns", -(2**63)),
        ("-9223372036854775809ns", None),
        ("2562047h47m16.854775807s", 2**63 - 1),
        ("2562047h47m16.854775808s", None),
    ],
)
def test_the_longest_durations(text, nanoseconds):
    assert go_duration(text) == nanoseconds


def test_the_longest_count_of_a_duration_by_names():
    assert loose_duration(f"{2**63} weeks") is None
    assert loose_duration(f"{2**63 - 1} nanos") == 2**63 - 1


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("0000-01-01T00:00:00Z", None),
        ("9999-12-31T23:59:59Z", None),
        ("4999-12-31T23:59:59Z", None),
        ("5000-01-01T00:00:00Z", None),
        ("2026-12-31T00:00:00Z", None),
        ("2026-13-01T00:00:00Z", 'parsing time "2026-13-01T00:00:00Z": month out of range'),
        ("2026-00-01T00:00:00Z", 'parsing time "2026-00-01T00:00:00Z": month out of range'),
        ("2026-01-32T00:00:00Z", 'parsing time "2026-01-32T00:00:00Z": day out of range'),
        ("2026-01-01T24:00:00Z", 'parsing time "2026-01-01T24:00:00Z": hour out of range'),
        ("2026-01-01T23:60:00Z", 'parsing time "2026-01-01T23:60:00Z": minute out of range'),
        ("2026-01-01T23:59:60Z", 'parsing time "2026-01-01T23:59:60Z": second out of range'),
        ("2026-02-30T23:59:59Z", 'parsing time "2026-02-30T23:59:59Z": day out of range'),
        ("2026-01-01T23:59:59ZZ", 'parsing time "2026-01-01T23:59:59ZZ": extra text: "Z"'),
        ('\x1f\x20\x7f\x80"', r'parsing time "\x1f \x7f\xc2\x80\"" as "2006-01-02T15:04:05Z07:00": cannot parse "\x1f \x7f\xc2\x80\"" as "2006"'.replace(r"\x7f", "\x7f")),
    ],
)  # fmt: skip
def test_the_parts_of_times(text, problem):
    if problem is None:
        assert time_text(text) == text
        return
    with pytest.raises(InvalidTime) as caught:
        time_text(text)
    assert str(caught.value) == problem


def test_the_zero_time_of_either_type():
    assert time_text("0001-01-01T00:00:00Z") is None
    assert microtime_text("0001-01-01T00:00:00.000000Z") is None
    assert time_text("0001-01-01T00:00:01Z") == "0001-01-01T00:00:01Z"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("1023Ki", "1023Ki"), ("1024Ki", "1Mi"), ("1Ki", "1Ki"), ("0.5Ki", "512"), ("1024", "1024"), ("1000", "1k"),
        ("1000n", "1u"), ("1n", "1n"), ("0.1n", "1n"), ("0.0000000011", "2n"), ("1e18", "1e18"), ("1000P", "1E"),
        ("1000E", "1000E"), ("1000000e18", "1000000e18"), ("1e3", "1e3"), ("1000e3", "1e6"), ("-1023", "-1023"), ("-2048", "-2048"),
        ("0Ki", "0"), ("1.5Ki", "1536"), ("-1Ki", "-1Ki"), ("1024Ei", "9223372036854775807"),
    ],
)  # fmt: skip
def test_the_suffixes_of_quantities(text, shown):
    assert canonical(text) == shown


@pytest.mark.parametrize("text", ["", "1ki", "1e", "--1", "1.1.1", "1 Ki"])
def test_what_is_no_quantity(text):
    with pytest.raises(InvalidQuantity):
        canonical(text)


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("\x7f", r'"\x7f"'),
        ("\x80", r'"\u0080"'),
        ("\uffff", r'"\uffff"'),
        ("\U00010000", '"\U00010000"'),
        ("\U000e0000", r'"\U000e0000"'),
        ('"\\\n', r'"\"\\\n"'),
    ],
)
def test_the_escapes_of_go(text, quoted):
    assert goprint.go_quote(text) == quoted


@pytest.mark.parametrize(
    ("value", "number", "general"),
    [
        (2.0**62, "4611686018427387904", "4.611686018427388e+18"),
        (2.0**63, "9.223372036854776e+18", "9.223372036854776e+18"),
        (-(2.0**63), "-9.223372036854776e+18", "-9.223372036854776e+18"),
        (100000.5, "100000.5", "100000.5"),
        (999999.5, "999999.5", "999999.5"),
        (1000000.5, "1.0000005e+06", "1.0000005e+06"),
        (0.0001, "0.0001", "0.0001"),
        (0.00001, "1e-05", "1e-05"),
        (0.0, "0", "0"),
        (float("inf"), "+Inf", "+Inf"),
        (float("-inf"), "-Inf", "-Inf"),
        (float("nan"), "NaN", "NaN"),
    ],
)
def test_how_go_prints_numbers(value, number, general):
    assert (goprint.number(value), goprint.general(value)) == (number, general)


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(-2, "<invalid>"), (-1, "0s"), (-1.9, "0s"), (0, "0s"), (119, "119s"), (120, "2m"), (599, "9m59s"), (600, "10m"), (10799, "179m"), (10800, "3h"),
     (28799, "7h59m"), (28800, "8h"), (172799, "47h"), (172800, "2d"), (691199, "7d23h"), (691200, "8d"), (63071999, "729d"), (63072000, "2y"), (252287999, "7y364d"), (252288000, "8y")],
)  # fmt: skip
def test_the_figures_of_durations(seconds, shown):
    assert human_duration(seconds) == shown


@pytest.mark.parametrize(
    ("text", "count"),
    [("", 0), ("0", 1), ("0-1", 2), ("0,2-4", 4), ("9", 1)],
)
def test_how_many_indexes(text, count):
    assert indexes.count_of(text, 10) == count


@pytest.mark.parametrize("text", ["0,0", "1,0", "1-1", "2-1", "0-2,2", "10", "0-10", "0-1-2", "a", "-1", "0,"])
def test_invalid_indexes(text):
    with pytest.raises(BadIndexes):
        indexes.count_of(text, 10)


@pytest.mark.parametrize(
    ("completed", "failed", "first"),
    [("0", "0", 0), ("0-3", "3", 3), ("3", "0-3", 3), ("0-2", "3-4", None), ("0,5", "1,5", 5), ("1", "0,1", 1), ("", "0", None), ("0", "", None),
     ("0-5", "0-1", 0), ("a,2", "2", 2), ("2-4", "0-1,4", 4)],
)  # fmt: skip
def test_the_first_index_in_both(completed, failed, first):
    assert indexes.overlap(completed, failed, 10) == first


@pytest.mark.parametrize(
    ("part", "found"),
    [("[0]", [1]), ("[3]", [4]), ("[-4]", [1]), ("[0:4]", [1, 2, 3, 4]), ("[4:4]", []), ("[0:0]", []), ("[3:4]", [4]), ("[-1:]", [4]), ("[:-4]", []),
     ("[:-3]", [1]), ("[0:4:3]", [1, 4]), ("[::1]", [1, 2, 3, 4]), ("[1:2:5]", [2])],
)  # fmt: skip
def test_slices_of_paths(part, found):
    assert Path(f".a{part}").find({"a": [1, 2, 3, 4]}) == found


@pytest.mark.parametrize("part", ["[4]", "[-5]", "[0:5]", "[4:3]", "[3:2]", "[-5:]", "[0:4:0]", "[0:4:-1]"])
def test_slices_out_of_bounds(part):
    with pytest.raises(NoValue):
        Path(f".a{part}").find({"a": [1, 2, 3, 4]})


@pytest.mark.parametrize("value", [-(2**31), 2**31 - 1])
def test_an_int_or_string_has_32_bits(value):
    def given(port):
        return complete("Service", {"spec": {"ports": [{"port": 1, "targetPort": port}]}})

    assert given(value)["spec"]["ports"][0]["targetPort"] == value
    with pytest.raises(WrongType, match="cannot unmarshal number"):
        given(value + (1 if value > 0 else -1))


@pytest.mark.parametrize(("field", "bits"), [("replicas", 32), ("minReadySeconds", 32)])
def test_an_integer_has_its_bits(field, bits):
    for value in (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1):
        assert complete("ReplicaSet", {"spec": {field: value}})["spec"][field] == value
        with pytest.raises(WrongType, match=f"json: cannot unmarshal number .* into .* of type int{bits}"):
            complete("ReplicaSet", {"spec": {field: value + (1 if value > 0 else -1)}})


def test_bytes_as_a_list_of_numbers():
    assert complete("Secret", {"data": {"a": [0, 255, None]}})["data"]["a"] == "AP8A"
    for value in (-1, 256):
        with pytest.raises(WrongType, match=f"cannot unmarshal number {value} into .* of type uint8"):
            complete("Secret", {"data": {"a": [value]}})


@pytest.mark.parametrize(("size", "more"), [(29, ""), (30, ""), (31, " ...")])
def test_the_summary_has_30_bytes(size, more):
    body = b"{" + b"a" * (size - 1)
    assert codec.summary(body) == body[:30].decode() + more
    assert codec.summary(b"a" * size) == "61" * min(size, 30) + more


@pytest.mark.parametrize(
    ("number", "text"), [(1e20, "100000000000000000000"), (1e21, "1e+21"), (-1e20, "-100000000000000000000")]
)
def test_whole_floats_as_go_writes_them(number, text):
    assert gojson.go_json(number) == text


@pytest.mark.parametrize(
    ("text", "kind"),
    [("9223372036854775807", int), ("18446744073709551615", int), ("18446744073709551616", float), ("-9223372036854775808", int), ("-9223372036854775809", float), ("+18446744073709551615", float)],
)  # fmt: skip
def test_integers_of_yaml(text, kind):
    _, value = goyaml.resolve(text)
    assert isinstance(value, kind)
    assert float(value) == float(text)


@pytest.mark.parametrize(
    ("text", "good"),
    [("10.0.0.0/32", True), ("10.0.0.0/33", False), ("::/128", True), ("::/129", False), ("10.0.0.0/0", True)],
)
def test_the_longest_prefixes_of_networks(text, good):
    assert (parse_cidr(text) is not None) is good


@pytest.mark.parametrize(
    ("text", "good"), [("255.255.255.255", True), ("256.0.0.0", False), ("0.0.0.256", False), ("0.0.0.0", True)]
)
def test_the_parts_of_addresses(text, good):
    assert (content.parse_ip(text) is not None) is good


def test_a_json_patch_has_at_most_10000_operations():
    one = {"op": "test", "path": "/a", "value": 1}
    assert len(json_patch.check([one] * json_patch.MAX_OPERATIONS)) == json_patch.MAX_OPERATIONS == 10_000
    with pytest.raises(StatusError, match=r"10001|10000"):
        json_patch.check([one] * 10_001)


def test_negative_positions_of_a_json_patch():
    def removed(index):
        return json_patch.apply({"a": [1, 2]}, json_patch.check([{"op": "remove", "path": f"/a/{index}"}]))["a"]

    assert (removed(-1), removed(-2), removed(0), removed(1)) == ([1], [2], [2], [1])
    for index in (-3, 2):
        with pytest.raises(StatusError):
            removed(index)


def test_the_limit_of_int64():
    assert INT64 == 2**63


@pytest.mark.parametrize(
    ("value", "accepted"),
    [
        (2**63 - 1, True),
        (2**63, False),
        (-(2**63), True),
        (-(2**63) - 1, False),
        ("a", True),
        (1.0, False),
        (True, False),
    ],
)
def test_values_that_are_integers_or_strings(value, accepted):
    assert _int_or_string(value) is accepted
