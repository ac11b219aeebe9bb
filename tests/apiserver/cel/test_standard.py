"""Operators and conversions of CEL on plain values (`cel-go/common/types`): signs, limits and time zones."""

import math
from itertools import pairwise

import pytest

from fakekube.apiserver.cel.library import lists, standard, typeconversions
from fakekube.apiserver.cel.library.functions import BY_ID, added_in
from fakekube.apiserver.cel.macros import ADDED
from fakekube.apiserver.cel.tree import UInt
from fakekube.apiserver.cel.values import DURATION_LIMIT, TIME_LIMITS, CelError, Duration, Timestamp

INFINITY = math.inf
SECOND = 10**9


@pytest.mark.parametrize(
    ("a", "b", "quotient", "rest"),
    [
        (7, 2, 3, 1),
        (-7, 2, -3, -1),
        (7, -2, -3, 1),
        (-7, -2, 3, -1),
        (0, 5, 0, 0),
        (0, -5, 0, 0),
        (6, 3, 2, 0),
        (UInt(7), UInt(2), UInt(3), UInt(1)),
        (UInt(0), UInt(2), UInt(0), UInt(0)),
    ],
)
def test_integers_are_divided_toward_zero(a, b, quotient, rest):
    assert (standard.divide(a, b), standard.modulo(a, b)) == (quotient, rest)
    assert type(standard.divide(a, b)) is type(standard.modulo(a, b)) is type(a)


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (1.0, 0.0, INFINITY),
        (-1.0, 0.0, -INFINITY),
        (1.0, -0.0, -INFINITY),
        (-1.0, -0.0, INFINITY),
        (3.0, 2.0, 1.5),
        (-3.0, 2.0, -1.5),
    ],
)
def test_doubles_are_divided_as_ieee_754_says(a, b, expected):
    assert standard.divide(a, b) == expected
    assert math.isnan(standard.divide(0.0, b)) is (b == 0)
    assert math.isnan(standard.divide(math.nan, b))


@pytest.mark.parametrize(
    ("key", "position"), [(0, 0), (5, 5), (-1, -1), (2**63 - 1, 2**63 - 1), (3.0, 3), (UInt(4), 4), (-2.0, -2)]
)
def test_a_number_denotes_a_position(key, position):
    assert standard.list_index(key) == position


@pytest.mark.parametrize("key", [2**63, UInt(2**63), 0.5, 2.0**63, -(2.0**63), INFINITY, math.nan])
def test_a_number_that_is_no_position(key):
    with pytest.raises(CelError, match=r"unsupported index value .* in list"):
        standard.list_index(key)


@pytest.mark.parametrize("key", [True, "a", None])
def test_a_value_that_is_no_position(key):
    with pytest.raises(CelError, match=r"unsupported index type '.*' in list"):
        standard.list_index(key)


@pytest.mark.parametrize(
    ("make", "last"),
    [
        (standard.checked_duration, min(DURATION_LIMIT, 2**63 - 1)),
        (standard.checked_duration, -min(DURATION_LIMIT, 2**63 - 1)),
        (standard.checked_timestamp, TIME_LIMITS[1] * SECOND + SECOND - 1),
        (standard.checked_timestamp, TIME_LIMITS[0] * SECOND),
        (typeconversions.to_timestamp, TIME_LIMITS[1]),
        (typeconversions.to_timestamp, TIME_LIMITS[0]),
    ],
)
def test_times_have_limits(make, last):
    assert make(last) is not None
    with pytest.raises(CelError, match="overflow"):
        make(last + (1 if last > 0 else -1))


AT = Timestamp(1_767_495_845 * SECOND + 89_000_000)  # Sunday, 2026-01-04T03:04:05.089Z


@pytest.mark.parametrize(
    ("name", "utc", "zone", "there"),
    [
        ("FullYear", 2026, "UTC", 2026),
        ("Month", 0, "-96:00", 11),
        ("DayOfYear", 3, "-24:00", 2),
        ("DayOfMonth", 3, "-03:05", 2),
        ("Date", 4, "-03:05", 3),
        ("DayOfWeek", 0, "-03:05", 6),
        ("Hours", 3, "+02:30", 5),
        ("Hours", 3, "02:57", 6),
        ("Hours", 3, "-02:30", 0),
        ("Hours", 3, "Europe/Berlin", 4),
        ("Hours", 3, "Local", 3),
        ("Minutes", 4, "+02:30", 34),
        ("Minutes", 4, "-02:30", 34),
        ("Seconds", 5, "01:01", 5),
    ],
)
def test_the_parts_of_a_time(name, utc, zone, there):
    id = f"timestamp_to_{name.lower()}"
    assert (BY_ID[id].run(AT), BY_ID[f"{id}_with_tz"].run(AT, zone)) == (utc, there)


@pytest.mark.parametrize(
    ("zone", "why"),
    [
        ("1:x", 'strconv.Atoi: parsing "x": invalid syntax'),
        (":1", 'strconv.Atoi: parsing "": invalid syntax'),
        ("../UTC", "time: invalid location name"),
        ("/UTC", "time: invalid location name"),
        ("\\UTC", "time: invalid location name"),
        ("Nowhere", "unknown time zone Nowhere"),
    ],
)
def test_a_zone_that_is_refused(zone, why):
    with pytest.raises(CelError) as raised:
        BY_ID["timestamp_to_hours_with_tz"].run(AT, zone)
    assert str(raised.value) == why


@pytest.mark.parametrize(
    ("nanos", "hours", "minutes", "seconds", "millis"),
    [
        (0, 0, 0, 0, 0),
        (3_661_500_000_000, 1, 61, 3661, 3_661_500),
        (-3_661_500_000_000, -1, -61, -3661, -3_661_500),
        (-1, 0, 0, 0, 0),
    ],
)
def test_the_whole_units_of_a_duration(nanos, hours, minutes, seconds, millis):
    runs = [BY_ID[f"duration_to_{name}"].run for name in ("hours", "minutes", "seconds", "milliseconds")]
    assert [run(Duration(nanos)) for run in runs] == [hours, minutes, seconds, millis]


@pytest.mark.parametrize(("value", "converted"), [(0.0, 0), (1.9, 1), (2.0**64 - 2048, 2**64 - 2048)])
def test_doubles_as_unsigned_integers(value, converted):
    assert typeconversions.to_uint(value) == converted


@pytest.mark.parametrize("value", [-0.1, -1, 2.0**64, math.nan, INFINITY])
def test_what_is_no_unsigned_integer(value):
    with pytest.raises(CelError, match="unsigned integer overflow"):
        typeconversions.to_uint(value)


def test_a_range_has_a_million_items_at_most():
    assert len(lists.range_(1_000_000)) == 1_000_000
    with pytest.raises(CelError):
        lists.range_(1_000_001)


@pytest.mark.parametrize(("name", "found"), [("min", 1), ("max", 3)])
def test_the_extremes_of_a_list(name, found):
    run = BY_ID[f"list_int_{name}_int"].run
    assert [run(items) for items in ([1, 2, 3], [3, 1, 2], [2, 3, 1])] == [found] * 3
    assert type(run([1, 1.0])) is int  # of equal items the first


@pytest.mark.parametrize(
    ("id", "minor"),
    [
        ("less_int64_double", 29),
        ("greater_equals_uint64_int64", 29),
        ("less_equals_double_uint64", 29),
        ("less_int64", 0),
        ("less_string", 0),
        ("greater_equals_double", 0),
        ("equals", 0),
        ("authorizer_path", 28),
        ("pathcheck_check", 28),
        ("groupcheck_resource", 28),
        ("resourcecheck_name", 28),
        ("decision_allowed", 28),
        ("quantity_sign", 29),
        ("string_to_quantity", 29),
        ("is_quantity_string", 29),
        ("optional_of", 29),
        ("list_optindex_optional_int", 29),
        ("map_optindex_optional_value", 29),
        ("list_sets_contains_list", 30),
        ("string_format", 30),
        ("strings_quote", 30),
        ("string_to_ip", 30),
        ("string_to_cidr", 30),
        ("ip_family", 30),
        ("is_ip", 30),
        ("is_cidr", 30),
        ("cidr_ip", 30),
        ("format.dns1123Label", 31),
        ("format-named", 31),
        ("resourcecheck_fieldselector", 32),
        ("resourcecheck_labelselector", 32),
        ("@mapInsert_map_map", 33),
        ("string_to_semver", 34),
        ("semver_major", 34),
        ("is_semver_string", 34),
        ("lists_range", 35),
        ("list_distinct", 35),
        ("list_reverse", 35),
        ("list_slice", 35),
        ("list_first", 33),
        ("list_last", 33),
        ("list_flatten_int", 35),
        ("list_int_sort", 35),
        ("list_int_sortByAssociatedKeys", 35),
        ("optional_unwrap", 33),
        ("list_int_min", 0),
    ],
)
def test_the_version_that_added_a_function(id, minor):
    assert added_in(id) == minor


#: Kind -> values of it in their order, none of them in the order of their text.
SORTED = {
    "int": [-2, -1, 0, 9, 10],
    "uint": [UInt(0), UInt(9), UInt(10)],
    "double": [-INFINITY, -1.5, 0.0, 9.5, 10.0, INFINITY],
    "bool": [False, True],
    "string": ["A", "B", "a", "aa", "b"],
    "bytes": [b"", b"a", b"aa", b"b"],
    "duration": [Duration(-1), Duration(0), Duration(9), Duration(10)],
    "timestamp": [Timestamp(-1, 3600), Timestamp(0), Timestamp(9), Timestamp(10, -3600)],
}


@pytest.mark.parametrize("kind", SORTED)
def test_the_order_of_values(kind):
    items = SORTED[kind]
    id = f"list_{kind}_{{}}"
    for given in (items, items[::-1], items[1:] + items[:1]):
        assert BY_ID[id.format("sort")].run(given) == items
        names = [f"n{items.index(one)}" for one in given]
        assert BY_ID[id.format("sortByAssociatedKeys")].run(names, given) == sorted(names)
        assert BY_ID[id.format("is_sorted_bool")].run(given) is (given == items)
        assert (BY_ID[f"list_{kind}_min_{kind}"].run(given), BY_ID[f"list_{kind}_max_{kind}"].run(given)) == (
            items[0],
            items[-1],
        )
    assert BY_ID[id.format("is_sorted_bool")].run([items[0], items[0], items[1]])
    for one, other in pairwise(items):
        runs = (standard.less, standard.less_equal, standard.greater, standard.greater_equal)
        assert [run(one, other) for run in runs] == [True, True, False, False]
        assert [run(one, one) for run in runs] == [False, True, False, True]
        assert [run(other, one) for run in runs] == [False, False, True, True]


def test_items_with_equal_keys_keep_their_order():
    assert lists.sort_by_keys(["a", "b", "c", "d"], [1, 0, 1, 0]) == ["b", "d", "a", "c"]
    assert lists.sort([]) == lists.sort_by_keys([], []) == []


def test_nan_is_neither_before_nor_after_a_number():
    """`Double.Compare` fails, which `sort` takes as not less."""
    assert len(lists.sort([2.0, math.nan, 1.0])) == 3
    assert lists.sort([2.0, 1.0, math.nan])[:2] == [1.0, 2.0]


@pytest.mark.parametrize(
    ("keys", "why"),
    [
        ([1, "a"], "list elements must have the same type"),
        ([1, 1.0], "list elements must have the same type"),
        ([1, 2, UInt(3)], "list elements must have the same type"),
        ([1, None], "list elements must have the same type"),
        ([None], "list elements must be comparable"),
        ([[1], [2]], "list elements must be comparable"),
        ([{}], "list elements must be comparable"),
    ],
)
def test_keys_without_an_order(keys, why):
    """`sortListByAssociatedKeys` of `ext/lists.go`."""
    for run in (lists.sort, lambda keys: lists.sort_by_keys(list("abc")[: len(keys)], keys)):
        with pytest.raises(CelError) as raised:
            run(keys)
        assert str(raised.value) == why


def test_macros_that_early_versions_do_not_have():
    added = {version: {name for (name, _, _), found in ADDED.items() if found == version} for version in ADDED.values()}
    assert added == {
        29: {"optMap", "optFlatMap"},
        33: {"all", "exists", "existsOne", "exists_one", "transformList", "transformMap", "transformMapEntry"},
        35: {"sortBy"},
    }
