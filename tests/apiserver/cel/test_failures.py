"""Rules that fail while they run, each with its words; and rules that short-circuit past a failure."""

from typing import Any

import pytest

from tests.apiserver.crd.test_cel_rules import problems, refusal

NO_OVERLOAD = "no such overload"

#: A rule and why it fails.
FAILING = [
    # values whose types are known only while the rule runs
    ("dyn(1) + dyn('a') == dyn(1)", NO_OVERLOAD),
    ("dyn('a') - dyn('b') == dyn('')", NO_OVERLOAD),
    ("dyn('a') * dyn(2) == dyn('aa')", NO_OVERLOAD),
    ("dyn('a') / dyn('b') == dyn(1)", NO_OVERLOAD),
    ("dyn(1.5) % dyn(1.0) == dyn(0.5)", NO_OVERLOAD),
    ("-dyn('a') == dyn('a')", NO_OVERLOAD),
    ("!dyn('a')", NO_OVERLOAD),
    ("dyn('a') < dyn(1)", NO_OVERLOAD),
    ("dyn({}) < dyn({})", NO_OVERLOAD),
    ("dyn(1) in dyn('a')", NO_OVERLOAD),
    ("dyn(1)[0] == 1", NO_OVERLOAD),
    ("dyn([1])['a'] == 1", NO_OVERLOAD),
    ("dyn(1).a == 1", NO_OVERLOAD),
    ("has(dyn(1).a)", NO_OVERLOAD),
    ("size(dyn(1)) == 1", NO_OVERLOAD),
    ("dyn(1) && dyn(2)", NO_OVERLOAD),
    ("dyn(1) || dyn(2)", NO_OVERLOAD),
    ("true && dyn(2)", NO_OVERLOAD),
    ("dyn(1) ? true : false", NO_OVERLOAD),
    ("dyn(1).all(x, true)", NO_OVERLOAD),
    ("dyn(1).all(i, x, true)", NO_OVERLOAD),
    ("[1].all(x, dyn(x))", NO_OVERLOAD),
    ("dyn(1).?a.hasValue()", NO_OVERLOAD),
    # ranges
    ("9223372036854775807 + self.i > 0", "integer overflow"),
    ("self.i * 9223372036854775807 > 0", "integer overflow"),
    ("0 - 9223372036854775807 - self.i < 0", "integer overflow"),
    ("(-9223372036854775807 - 1) / -1 > 0", "integer overflow"),
    ("18446744073709551615u + 1u > 0u", "unsigned integer overflow"),
    ("1u - 2u > 0u", "unsigned integer overflow"),
    ("uint(-1) > 0u", "unsigned integer overflow"),
    ("uint(double('Infinity')) > 0u", "unsigned integer overflow"),
    ("int(double('NaN')) > 0", "integer overflow"),
    ("int(1e19) > 0", "integer overflow"),
    ("int(18446744073709551615u) > 0", "integer overflow"),
    ("1u / uint(self.i - 3) > 0u", "division by zero"),
    ("1u % uint(self.i - 3) > 0u", "modulus by zero"),
    ("timestamp(253402300799) + duration('1s') > timestamp(0)", "timestamp overflow"),
    ("timestamp(-62135596800) - duration('1s') < timestamp(0)", "timestamp overflow"),
    ("timestamp('9999-12-31T23:59:59Z') - timestamp('0001-01-01T00:00:00Z') > duration('1s')", "duration overflow"),
    # conversions
    ("int(self.s) == 1", 'strconv.ParseInt: parsing "Hello wörld": invalid syntax'),
    ("int('9223372036854775808') == 1", 'strconv.ParseInt: parsing "9223372036854775808": value out of range'),
    ("uint(self.s) == 1u", 'strconv.ParseUint: parsing "Hello wörld": invalid syntax'),
    ("double('1_0') == 1.0", 'strconv.ParseFloat: parsing "1_0": invalid syntax'),
    ("double(' 1') == 1.0", 'strconv.ParseFloat: parsing " 1": invalid syntax'),
    ("bool('yes')", 'strconv.ParseBool: parsing "yes": invalid syntax'),
    ("string(b'\\xff') == ''", "invalid UTF-8 in bytes, cannot convert to string"),
    ("duration(self.s) == duration('1s')", 'time: invalid duration "Hello wörld"'),
    # times
    ("timestamp(0).getHours('Nowhere/Else') == 0", "unknown time zone Nowhere/Else"),
    ("timestamp(0).getHours('x') == 0", "unknown time zone x"),
    # strings
    ("'a'.indexOf('a', -1) == 0", "index out of range: -1"),
    ("'a'.lastIndexOf('a', -1) == 0", "index out of range: -1"),
    ("'abc'.substring(2, 1) == ''", "invalid substring range. start: 2, end: 1"),
    ("'abc'.substring(0, 9) == ''", "index out of range: 9"),
    ("'abc'.substring(-1, 2) == ''", "index out of range: -1"),
    ("'abc'.charAt(-1) == ''", "index out of range: -1"),
    ("'a'.find(self.s + '(') == ''", "Illegal regex: error parsing regexp: missing closing ): `Hello wörld(`"),
    ("'a'.matches(self.s + '(')", "error parsing regexp: missing closing ): `Hello wörld(`"),
    ("'%'.format([]) == ''", "unexpected end of string"),
    ("'%s %s'.format(['a']) == ''", "index 1 out of range"),
    ("'%q'.format(['a']) == ''", 'could not parse formatting clause: unrecognized formatting clause "q"'),
    ("'%s'.format([optional.of(1)]) == ''", "error during formatting: string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps, was given optional_type"),
    ("'%f'.format(['a']) == ''", "error during formatting: fixed-point clause can only be used on doubles, was given string"),
    ("'%e'.format(['a']) == ''", "error during formatting: scientific clause can only be used on doubles, was given string"),
    ("'%b'.format(['a']) == ''", "error during formatting: binary clause can only be used on integers and bools, was given string"),
    ("'%x'.format([1.5]) == ''", "error during formatting: hex clause can only be used on integers, byte buffers, and strings, was given double"),
    ("'%x'.format([true]) == ''", "error during formatting: hex clause can only be used on integers, byte buffers, and strings, was given bool"),
    ("'%o'.format([true]) == ''", "error during formatting: octal clause can only be used on integers, was given bool"),
    ("'%d'.format([true]) == ''", "error during formatting: decimal clause can only be used on integers, was given bool"),
    # lists and maps
    ("[1, 2].slice(-1, 1) == []", "cannot slice(-1, 1), negative indexes not supported"),
    ("[1, 2].slice(2, 1) == []", "cannot slice(2, 1), start index must be less than or equal to end index"),
    ("[1, 2].slice(0, 3) == []", "cannot slice(0, 3), list is length 2"),
    ("[[1]].flatten(-1).size() == 0", "level must be non-negative"),
    ("[].min() == 1", "min called on empty list"),
    ("{'a': 1, self.port: 2, 'http': 3}.size() == 2", "Failed with repeated key: http"),
    ("['a', 'a'].transformMapEntry(i, v, {v: i}).size() == 1", "insert failed: key a already exists"),
    ("optional.none().value() == 1", "optional.none() dereference"),
    ("self.list.all(x, 1 / (x - x) > 0)", "division by zero"),
    ("self.list.exists(x, 1 / (x - x) > 0)", "division by zero"),
    # Kubernetes' own
    ("quantity('1500m').asInteger() == 1", "cannot convert value to integer"),
    ("ip('fe80::1%eth0') == ip('::1')", 'IP address "fe80::1%eth0" with zone value is not allowed'),
    ("ip('::ffff:1.2.3.4') == ip('::1')", 'IPv4-mapped IPv6 address "::ffff:1.2.3.4" is not allowed'),
    ("cidr('::ffff:1.2.3.4/128') == cidr('::/0')", 'IPv4-mapped IPv6 address "::ffff:1.2.3.4/128" is not allowed'),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "why"), FAILING)
def test_a_rule_fails_with_these_words(rule: str, why: str) -> None:
    assert refusal(rule) == ""
    (found,) = problems(rule)
    assert why in found


#: Rules that hold although a part of them fails: the other part decides.
DECIDED = [
    "true || dyn(1)",
    "dyn(1) || true",
    "!(dyn(1) && false)",
    "!(false && dyn(1))",
    "self.list.exists(x, x == 2 || 1 / (x - 3) > 0)",
    "!self.list.all(x, x != 2 && 1 / (x - 3) > 0)",
]


@pytest.mark.parametrize("rule", DECIDED)
def test_the_other_part_decides(rule: str) -> None:
    assert problems(rule) == []


#: What the checker refuses: a rule, and a part of the words.
REFUSED = [
    ("1 && true", "expected type 'bool' but found 'int'"),
    ("[1, 2].all(x, x)", "expected type 'bool' but found 'int'"),
    ("self.i.a == 1", "type 'int' does not support field selection"),
    ("self.i.all(x, true)", "expression of type 'int' cannot be range of a comprehension (must be list, map, or dynamic)"),
    ("{?'a': 1}.size() == 1", "expected type 'optional_type(int)' but found 'int'"),
    ("[?1].size() == 1", "expected type 'optional_type(int)' but found 'int'"),
    ("Nope{a: 1} == Nope{a: 1}", "undeclared reference to 'Nope' (in container '')"),
    ("null == 1", "found no matching overload for '_==_' applied to '(null, int)'"),
    ("self.?", "Syntax error"),
    ("self.+", "Syntax error: no viable alternative at input '.+'"),
    ("* 1", "Syntax error"),
    ("[1", "Syntax error"),
    ("self.s == 'a\\q'", "Syntax error"),
    ("'\\ud800' == ''", "invalid unicode code point"),
    ("b'\\u00f6' == b''", "unable to unescape string"),
    ("a & b", "Syntax error"),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "why"), REFUSED)
def test_a_rule_is_refused_with_these_words(rule: str, why: str) -> None:
    assert why in refusal(rule)


#: Literals, escaped and raw.
LITERALS = [
    "'\\101' == 'A' && '\\x41' == 'A' && '\\U00000041' == 'A' && '\\?' == '?' && '\\`' == '`'",
    "b'\\101' == b'A' && b'\\x41' == b'A' && b'\\n'.size() == 1 && br'a' == b'a'",
    "r'\\n'.size() == 2 && R'a' == 'a' && \"\"\"a\"b\"\"\" == 'a\"b' && r'''\\'''.size() == 1",
    "dyn(null) == null && 1e2 == 100.0 && 1.5E-1 == 0.15 && .5 == 0.5",
    "dyn({'a': 1}).a == 1 && dyn({'a': 1})[?'a'].value() == 1 && has(dyn({'a': 1}).a) && dyn([1]).all(x, x == 1) && dyn({'a': 1}).all(k, k == 'a')",
    "optional.of({'a': 1}).a.value() == 1 && !has(optional.none().a) && has(optional.of({'a': 1}).a)",
]  # fmt: skip


@pytest.mark.parametrize("rule", LITERALS)
def test_literals_and_dynamic_values(rule: str) -> None:
    assert refusal(rule) == ""
    assert problems(rule) == []


#: How values of a format become values of CEL: a schema of the field `f`, its value, a rule.
CONVERTED: list[Any] = [
    ({"type": "string", "format": "byte"}, "aGk=", "self.f == b'hi'", None),
    ({"type": "string", "format": "byte"}, "*", "self.f == b'hi'", "invalid data, expected a base64 encoded string"),
    ({"type": "string", "format": "date"}, "2026-01-02", "self.f.getDate() == 2", None),
    ({"type": "string", "format": "date"}, "2026-13-02", "self.f.getDate() == 2", "Invalid date formatted string '2026-13-02'"),
    ({"type": "string", "format": "date-time"}, "2026-01-02T03:04:05Z", "self.f.getHours() == 3", None),
    ({"type": "string", "format": "date-time"}, "x", "self.f.getHours() == 3", "Invalid date-time formatted string 'x'"),
    ({"type": "string", "format": "duration"}, "1m", "self.f.getSeconds() == 60", None),
    ({"type": "string", "format": "duration"}, "x", "self.f.getSeconds() == 60", "Invalid duration format 'x'"),
    ({"type": "number"}, 2, "self.f == 2.0", None),
    ({"type": "object", "additionalProperties": {"type": "number"}}, {"a": 2}, "self.f['a'] == 2.0", None),
    ({"type": "array", "items": {"type": "string", "format": "duration"}}, ["1s"], "self.f[0] == duration('1s')", None),
]  # fmt: skip


@pytest.mark.parametrize(("field", "value", "rule", "why"), CONVERTED)
def test_values_of_a_format(field: Any, value: Any, rule: str, why: str | None) -> None:
    found = problems({"rule": rule}, {"f": value}, None, {"type": "object", "properties": {"f": field}})
    assert len(found) == (why is not None)
    assert all(why is not None and why in one for one in found)
