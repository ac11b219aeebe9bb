"""CEL at its limits: the largest and smallest numbers, and the first and last positions."""

import pytest

from fakekube.apiserver.cel.parser import SIZE_LIMIT, parse
from fakekube.apiserver.cel.tree import DEPTH_LIMIT, BadExpression
from tests.apiserver.crd.test_cel_rules import problems, refusal

TRUE = [
    # whole numbers
    "int('-9223372036854775808') == -9223372036854775808 && int('9223372036854775807') == 9223372036854775807",
    "int('+5') == 5 && -9223372036854775807 - 1 == -9223372036854775808",
    "int(9223372036854774784.0) == 9223372036854774784 && int(-9223372036854774784.0) == -9223372036854774784",
    "uint(0.0) == 0u && uint('0') == 0u && uint('18446744073709551615') == 18446744073709551615u",
    "-9223372036854775808 + 0 == -9223372036854775808 && 0 / 5 == 0 && 0 % 5 == 0 && -0 / 5 == 0",
    "-7 / 2 == -3 && 7 / -2 == -3 && -7 / -2 == 3 && -7 % 2 == -1 && 7 % -2 == 1 && 0 / -5 == 0 && 0u / 5u == 0u",
    "0x7FFFFFFFFFFFFFFF == 9223372036854775807 && -9223372036854775808 == -0x8000000000000000",
    # order of equal values
    "!(1 < 1) && !(1 > 1) && 1 >= 1 && 1 <= 1 && !(dyn(1) < 1.0) && !(dyn(1u) > 1) && dyn(1.0) >= 1u",
    "!('a' < 'a') && !('a' > 'a') && 'a' >= 'a' && !(timestamp(1) < timestamp(1)) && timestamp(1) >= timestamp(1)",
    "!dyn(9223372036854775807).exists(x, true) || true",
    # positions
    "'abc'.charAt(0) == 'a' && 'abc'.charAt(3) == '' && 'abc'.indexOf('c', 2) == 2 && 'abc'.indexOf('c', 3) == -1",
    "'abc'.indexOf('', 3) == 3 && 'abc'.indexOf('', 4) == 3 && 'abc'.lastIndexOf('a', 0) == 0 && 'abc'.lastIndexOf('', 5) == 3",
    "'abc'.lastIndexOf('c', 2) == 2 && 'abc'.lastIndexOf('c', 3) == -1 && 'abca'.lastIndexOf('a', 3) == 3",
    "'abc'.substring(0) == 'abc' && 'abc'.substring(0, 3) == 'abc' && 'abc'.substring(1, 1) == '' && 'abc'.substring(3, 3) == ''",
    "'aaa'.replace('a', 'b', 0) == 'aaa' && 'aaa'.replace('a', 'b', -1) == 'bbb' && 'aaa'.replace('a', 'b', 2) == 'bba'",
    "'abc'.split('', 0) == [] && 'abc'.split('', 1) == ['abc'] && 'abc'.split('', 3) == ['a', 'b', 'c'] && 'abc'.split('', 2) == ['a', 'bc']",
    "'a,b,c'.split(',', 2) == ['a', 'b,c'] && 'a,b'.split(',', 0) == [] && 'a,b'.split(',', 1) == ['a,b']",
    "[1, 2, 3].slice(0, 3) == [1, 2, 3] && [1, 2].slice(2, 2) == [] && [1, 2].slice(0, 0) == [] && [].slice(0, 0) == []",
    "[[1], [], [2, 3]].flatten() == [1, 2, 3] && [[1]].flatten(0) == [[1]] && [[[1]], [[2]]].flatten(2) == [1, 2] && [[[1]]].flatten(1) == [[1]]",
    "lists.range(0) == [] && lists.range(2) == [0, 1] && [3, 1, 2].sort() == [1, 2, 3] && ['b', 'B', 'a'].sort() == ['B', 'a', 'b']",
    "[1, 2].min() == 1 && [2, 1].min() == 1 && [1, 2].max() == 2 && [2, 1].max() == 2 && [1, 1].isSorted() && ![2, 1].isSorted()",
    "[1, 2, 1].indexOf(1) == 0 && [1, 2, 1].lastIndexOf(1) == 2 && [].lastIndexOf(1) == -1 && [2, 1].lastIndexOf(2) == 0",
    # formats
    "'%.0f'.format([1.5]) == '2' && '%.1f %s'.format([0.25, 'x']) == '0.2 x' && '%s'.format(['a']) + '%' == 'a%'",
    "'100%%'.format([]) == '100%' && '%%%d%%'.format([1]) == '%1%' && '%d'.format([1]) == '1'",
    "'%f'.format([0.0]) == '0.000000' && '%f'.format([double('-Infinity')]) == '-∞' && '%f'.format([double('Infinity')]) == '∞'",
    "'%f'.format([double('NaN')]) == 'NaN' && '%e'.format([0.0]) == '0.000000×10⁰⁰'",
    # quantities, addresses, versions
    "quantity('999999999999999999').isInteger() && !quantity('1000000000000000000').isInteger() && quantity('9E').isInteger()",
    "quantity('-999999999999999999').isInteger() && !quantity('-1000000000000000000').isInteger() && !quantity('1500m').isInteger()",
    "!quantity('1').isGreaterThan(quantity('1000m')) && !quantity('1').isLessThan(quantity('1000m')) && quantity('1').compareTo(quantity('1000m')) == 0",
    "quantity('2').compareTo(quantity('1')) == 1 && quantity('1').compareTo(quantity('2')) == -1",
    "cidr('10.0.0.0/8').containsCIDR('10.0.0.0/8') && cidr('10.0.0.0/8').containsCIDR(cidr('10.0.0.0/9')) && !cidr('10.0.0.0/8').containsCIDR('10.0.0.0/7')",
    "cidr('10.0.0.0/8').containsIP('10.255.255.255') && !cidr('10.0.0.0/8').containsIP('11.0.0.0') && !cidr('::/0').containsCIDR('10.0.0.0/8')",
    "semver('18446744073709551615.0.0').minor() == 0 && semver('1.0.0-0').isLessThan(semver('1.0.0')) && semver('0.0.0').major() == 0",
    "semver('v1', true) == semver('1.0.0') && semver('v01.02', true) == semver('1.2.0') && semver('0.0', true) == semver('0.0.0')",
    "semver('00.000.0', true) == semver('0.0.0') && semver('1.2.03-a+b', true) == semver('1.2.3-a') && semver('1.2.3-10').patch() == 3",
    "!semver('1.2.3').isGreaterThan(semver('1.2.3')) && !semver('1.2.3').isLessThan(semver('1.2.3+x')) && semver('1.2.3').compareTo(semver('1.2.4')) == -1",
    # durations
    "duration('0s').getHours() == 0 && duration('-1ns').getSeconds() == 0 && duration('9223372036s') > duration('-9223372036s')",
    "duration('9223372036.854775807s') >= duration('1s') && timestamp(253402300799).getFullYear() == 9999 && timestamp(-62135596800).getFullYear() == 1",
    # literals
    "''.size() == 0 && ''''''.size() == 0 && \"\"\"\"\"\".size() == 0 && '''a'b'''.size() == 3 && r'\\n'.size() == 2 && r'''x'''.size() == 1",
    "'\\U0010FFFF'.size() == 1 && '\\uD7FF'.size() == 1 && '\\uE000'.size() == 1 && '\\101\\x41\\X41' == 'AAA'",
    "b'\\101\\x41a' == b'AAa' && b'\\377'.size() == 1 && '\\a\\b\\f\\v\\t'.size() == 5 && b'\\t'.size() == 1",
]  # fmt: skip


@pytest.mark.parametrize("rule", TRUE)
def test_values_at_the_limits(rule):
    assert problems(rule) == []


#: Rules that fail while they run, and why.
FAILING = [
    ("int('9223372036854775808') == 1", "type conversion error from 'string' to 'int'"),
    ("int('-9223372036854775809') == 1", "type conversion error from 'string' to 'int'"),
    ("int(9223372036854775808.0) == 1", "integer overflow"),
    ("int(-9223372036854775808.0) == 1", "integer overflow"),
    ("uint('18446744073709551616') == 1u", "type conversion error from 'string' to 'uint'"),
    ("uint(18446744073709551616.0) == 1u", "unsigned integer overflow"),
    ("uint(-0.5) == 1u", "unsigned integer overflow"),
    ("9223372036854775807 + 1 == 1", "integer overflow"),
    ("-9223372036854775808 - 1 == 1", "integer overflow"),
    ("-9223372036854775808 / -1 == 1", "integer overflow"),
    ("18446744073709551615u + 1u == 1u", "unsigned integer overflow"),
    ("0u - 1u == 1u", "unsigned integer overflow"),
    ("'abc'.charAt(4) == ''", "index out of range: 4"),
    ("'abc'.charAt(-1) == ''", "index out of range: -1"),
    ("'abc'.indexOf('a', -1) == 0", "index out of range: -1"),
    ("'abc'.lastIndexOf('a', -1) == 0", "index out of range: -1"),
    ("'abc'.lastIndexOf('', -1) == 0", "index out of range: -1"),
    ("'abc'.substring(4) == ''", "index out of range: 4"),
    ("'abc'.substring(-1) == ''", "index out of range: -1"),
    ("'abc'.substring(2, 1) == ''", "invalid substring range. start: 2, end: 1"),
    ("'abc'.substring(0, 4) == ''", "index out of range: 4"),
    ("'abc'.substring(-1, 2) == ''", "index out of range: -1"),
    ("[1].slice(0, 2) == []", "cannot slice(0, 2), list is length 1"),
    ("[1].slice(1, 0) == []", "cannot slice(1, 0), start index must be less than or equal to end index"),
    ("[1].slice(-1, 0) == []", "cannot slice(-1, 0), negative indexes not supported"),
    ("[1].slice(0, -1) == []", "cannot slice(0, -1), negative indexes not supported"),
    ("[1].flatten(dyn(-1)) == []", "level must be non-negative"),
    ("lists.range(1000001) == []", "lists.range: too many items"),
    ("quantity('9223372036854775808').asInteger() == 1", "cannot convert value to integer"),
    ("semver('18446744073709551616.0.0').major() == 1", 'parsing "18446744073709551616": value out of range'),
    ("semver('1.0.0-01').major() == 1", 'Numeric PreRelease version must not contain leading zeroes "01"'),
    ("semver('1-a', true).major() == 1", "short version cannot contain PreRelease/Build meta data"),
    ("semver('00.0.0').major() == 1", 'Major number must not contain leading zeroes "00"'),
    ("duration('9223372036.854775807s') + duration('1ns') == duration('1s')", "duration overflow"),
    ("timestamp(253402300799) + duration('1s') == timestamp(1)", "timestamp overflow"),
    ("timestamp(-62135596800) - duration('1s') == timestamp(1)", "timestamp overflow"),
    ("dyn([1])[1] == 1", "index out of bounds: 1"),
    ("dyn([1])[-1] == 1", "index out of bounds: -1"),
    ("dyn([1])[18446744073709551615u] == 1", "unsupported index value"),
    ("dyn([1])[dyn(0.5)] == 1", "unsupported index value"),
    ("[].min() == 1", "min called on empty list"),
    ("'%.9223372036854775808f'.format([1.0]) == ''", "value out of range"),
]


@pytest.mark.parametrize(("rule", "why"), FAILING)
def test_failures_behind_the_limits(rule, why):
    found = problems(rule)
    assert found, "the rule holds"
    assert why in found[0]


#: Rules that do not compile, and why.
REFUSED = [
    ("9223372036854775808 == 1", "invalid int literal"),
    ("-9223372036854775809 == 1", "invalid int literal"),
    ("18446744073709551616u == 1u", "invalid uint literal"),
    ("1e400 == 1.0", "invalid double literal"),
    ("'\\uD800' == ''", "invalid unicode code point"),
    ("'\\uDFFF' == ''", "invalid unicode code point"),
    ("'\\U00110000' == ''", "invalid unicode code point"),
    ("b'\\u0041' == b''", "unable to unescape string"),
]


@pytest.mark.parametrize(("rule", "why"), REFUSED)
def test_literals_behind_the_limits(rule, why):
    assert why in refusal(rule)


@pytest.mark.parametrize("operator", ["&&", "||"])
def test_a_long_chain_of_conditions_is_not_deep(operator):
    """cel-go balances the chain; other operators nest to the left."""
    assert refusal(f" {operator} ".join(["self.i == 3"] * 1000)) == ""


def test_a_long_chain_of_other_operators_is_deep():
    assert refusal(f"{' + '.join(['1'] * 100)} > 0") == ""
    assert "expression recursion limit exceeded: 250" in refusal(f"{' + '.join(['1'] * 300)} > 0")


@pytest.mark.parametrize("one", [".a", "[0]", ".f()"])
def test_the_longest_chain_of_selections(one):
    parse(f"self{one * (DEPTH_LIMIT - 2)}")
    with pytest.raises(BadExpression, match="expression recursion limit exceeded: 250"):
        parse(f"self{one * DEPTH_LIMIT}")


def test_the_longest_expression():
    assert parse(f"'{'é' * (SIZE_LIMIT - 2)}'").kind == "literal"
    with pytest.raises(
        BadExpression, match=f"expression code point size exceeds limit: size: {SIZE_LIMIT + 1}, limit {SIZE_LIMIT}"
    ):
        parse(f"'{'é' * (SIZE_LIMIT - 1)}'")
