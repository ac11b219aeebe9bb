"""Rules that fail while they run, with their errors; rules that ignore a failure; and rules that do not compile."""

from typing import Any

import pytest

from fakekube.apiserver.crd.compilation import compile_rule, declare_self
from fakekube.apiserver.crd.structural import Structural
from tests.apiserver.crd.test_cel_rules import SCHEMA, SELF, problems, refusal

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
    ("dyn(1)[0] == 1", "no such key: 0"),
    ("dyn([1])['a'] == 1", "unsupported index type 'string' in list"),
    ("dyn(1).a == 1", "no such key: a"),
    ("dyn([1]).a == 1", "unsupported index type 'string' in list"),
    ("has(dyn([1]).a)", "unsupported index type 'string' in list"),
    ("size(dyn(1)) == 1", "no such overload: size"),
    ("dyn(true) + dyn(1) == dyn(2)", "no such overload: _+_"),
    ("dyn(self.i).startsWith('a')", "no such overload: startsWith(int, string)"),
    ("int(dyn(self.list)) == 1", "no such overload: int(list)"),
    ("dyn(1) && dyn(2)", NO_OVERLOAD),
    ("dyn(1) || dyn(2)", NO_OVERLOAD),
    ("true && dyn(2)", NO_OVERLOAD),
    ("dyn(1) ? true : false", NO_OVERLOAD),
    ("dyn(1).all(x, true)", "got 'types.Int', expected iterable type"),
    ("dyn(1).all(i, x, true)", "unsupported comprehension range type: types.Int"),
    ("[1].all(x, dyn(x))", NO_OVERLOAD),
    ("{}[timestamp(self.i)] == 1", "invalid qualifier type: types.Timestamp"),
    ("[1][dyn(self.i + 5)] == 1", "index out of bounds: 8"),
    ("dyn(quantity('1')) == dyn(1)", NO_OVERLOAD),
    # ranges
    ("9223372036854775807 + self.i > 0", "integer overflow"),
    ("self.i * 9223372036854775807 > 0", "integer overflow"),
    ("0 - 9223372036854775807 - self.i < 0", "integer overflow"),
    ("(-9223372036854775807 - 1) / -1 > 0", "integer overflow"),
    ("18446744073709551615u + 1u > 0u", "unsigned integer overflow"),
    ("1u - 2u > 0u", "unsigned integer overflow"),
    ("uint(self.i - 4) > 0u", "unsigned integer overflow"),
    ("uint(double(self.i) - 3.5) > 0u", "unsigned integer overflow"),
    ("int(double('NaN') * double(self.i)) > 0", "integer overflow"),
    ("int(1e19 * double(self.i)) > 0", "integer overflow"),
    ("int(18446744073709551612u + uint(self.i)) > 0", "integer overflow"),
    ("1u / uint(self.i - 3) > 0u", "division by zero"),
    ("1u % uint(self.i - 3) > 0u", "modulus by zero"),
    ("timestamp(253402300799) + duration('1s') > timestamp(0)", "timestamp overflow"),
    ("timestamp(-62135596800) - duration('1s') < timestamp(0)", "timestamp overflow"),
    ("timestamp('9999-12-31T23:59:59Z') - timestamp('0001-01-01T00:00:00Z') > duration('1s')", "duration overflow"),
    # conversions
    ("int(self.s) == 1", "type conversion error from 'string' to 'int'"),
    ("int('922337203685477580' + string(self.i + 5)) == 1", "type conversion error from 'string' to 'int'"),
    ("uint(self.s) == 1u", "type conversion error from 'string' to 'uint'"),
    ("double('1_' + string(self.i)) == 1.0", "type conversion error from 'string' to 'double'"),
    ("double(' ' + string(self.i)) == 1.0", "type conversion error from 'string' to 'double'"),
    ("bool(self.s)", "type conversion error from 'string' to 'bool'"),
    ("string(b'\\xff' + bytes(self.s)) == ''", "invalid UTF-8 in bytes, cannot convert to string"),
    ("duration(self.s) == duration('1s')", "type conversion error from 'string' to 'google.protobuf.Duration'"),
    # times
    ("timestamp(0).getHours('Nowhere/Else') == 0", "unknown time zone Nowhere/Else"),
    ("timestamp(0).getHours('x') == 0", "unknown time zone x"),
    ("timestamp(0).getHours('/x') == 0", "time: invalid location name"),
    ("timestamp(0).getHours('a:b') == 0", 'strconv.Atoi: parsing "a": invalid syntax'),
    # strings
    ("'a'.indexOf('a', -1) == 0", "index out of range: -1"),
    ("'a'.lastIndexOf('a', -1) == 0", "index out of range: -1"),
    ("'abc'.substring(2, 1) == ''", "invalid substring range. start: 2, end: 1"),
    ("'abc'.substring(0, 9) == ''", "index out of range: 9"),
    ("'abc'.substring(-1, 2) == ''", "index out of range: -1"),
    ("'abc'.charAt(-1) == ''", "index out of range: -1"),
    ("'a'.find(self.s + '(') == ''", "Illegal regex: error parsing regexp: missing closing ): `Hello wörld(`"),
    ("'a'.matches(self.s + '(')", "error parsing regexp: missing closing ): `Hello wörld(`"),
    ("'%'.format([self.s] + []) == ''", "unexpected end of string"),
    ("'%s %s'.format(self.list.map(x, 'a').slice(0, 1)) == ''", "index 1 out of range"),
    ("(self.s + '%q').format(['a']) == ''", 'could not parse formatting clause: unrecognized formatting clause "q"'),
    ("'%s'.format([dyn(optional.of(1))]) == ''", "error during formatting: string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps, was given optional_type"),
    ("'%f'.format(['a']) == ''", "error during formatting: fixed-point clause can only be used on doubles, was given string"),
    ("'%e'.format(['a']) == ''", "error during formatting: scientific clause can only be used on doubles, was given string"),
    ("'%b'.format([dyn('a')]) == ''", "error during formatting: only integers and bools can be formatted as binary, was given string"),
    ("'%x'.format([dyn(1.5)]) == ''", "error during formatting: only integers, byte buffers, and strings can be formatted as hex, was given double"),
    ("'%x'.format([dyn(true)]) == ''", "error during formatting: only integers, byte buffers, and strings can be formatted as hex, was given bool"),
    ("'%o'.format([dyn(true)]) == ''", "error during formatting: octal clause can only be used on integers, was given bool"),
    ("'%d'.format([dyn(true)]) == ''", "error during formatting: decimal clause can only be used on integers, was given bool"),
    # lists and maps
    ("[1, 2].slice(-1, 1) == []", "cannot slice(-1, 1), negative indexes not supported"),
    ("[1, 2].slice(2, 1) == []", "cannot slice(2, 1), start index must be less than or equal to end index"),
    ("[1, 2].slice(0, 3) == []", "cannot slice(0, 3), list is length 2"),
    ("[[1]].flatten(-1).size() == 0", "level must be non-negative"),
    ("[].min() == 1", "min called on empty list"),
    ("double('NaN') < double(self.i)", "NaN values cannot be ordered"),
    ("['a', 'a'].transformMapEntry(i, v, {v: i}).size() == 1", "insert failed: key a already exists"),
    ("optional.none().value() == 1", "optional.none() dereference"),
    ("{'a': [1]}['b'].sort() == []", "internal error: interface conversion: *types.Err is not traits.Lister: missing"),
    ("[1 / (self.i - 3)].distinct() == []", "internal error: interface conversion: *types.Err is not traits.Lister"),
    ("self.list.all(x, 1 / (x - x) > 0)", "division by zero"),
    ("self.list.exists(x, 1 / (x - x) > 0)", "division by zero"),
    # Kubernetes' own
    ("quantity('1500m').asInteger() == 1", "cannot convert value to integer"),
    ("ip('fe80::1%eth0') == ip('::1')", 'IP address "fe80::1%eth0" with zone value is not allowed'),
    ("ip('::ffff:1.2.3.4') == ip('::1')", 'IPv4-mapped IPv6 address "::ffff:1.2.3.4" is not allowed'),
    ("cidr('::ffff:1.2.3.4/128') == cidr('::/0')", 'network address parse error during conversion from string: IPv4-mapped IPv6 address "::ffff:1.2.3.4/128" is not allowed'),
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
    ("Nope{a: 1, `b`: self.`c`} == 1", "1:6: unsupported syntax: '`'"),
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
    (
        {"type": "string", "format": "byte"}, "*", "self.f == b'hi'",
        "Invalid byte formatted string *: illegal base64 data at input byte 0",
    ),
    (  # validation takes the other alphabet
        {"type": "string", "format": "byte"}, "a/8=", "self.f == b'hi'",
        "Invalid byte formatted string a/8=: illegal base64 data at input byte 1",
    ),
    ({"type": "string", "format": "date"}, "2026-01-02", "self.f.getDate() == 2", None),
    ({"type": "string", "format": "date"}, "2026-13-02", "self.f.getDate() == 2", "Invalid date formatted string '2026-13-02'"),
    ({"type": "string", "format": "date-time"}, "2026-01-02T03:04:05Z", "self.f.getHours() == 3", None),
    ({"type": "string", "format": "date-time"}, "x", "self.f.getHours() == 3", "Invalid date-time formatted string 'x'"),
    ({"type": "string", "format": "duration"}, "1m", "self.f.getSeconds() == 60", None),
    ({"type": "string", "format": "duration"}, "x", "self.f.getSeconds() == 60", "Invalid duration x: unable to parse x as duration"),
    ({"type": "number"}, 2, "self.f == 2.0", None),
    ({"type": "object", "additionalProperties": {"type": "number"}}, {"a": 2}, "self.f['a'] == 2.0", None),
    ({"type": "array", "items": {"type": "string", "format": "duration"}}, ["1s"], "self.f[0] == duration('1s')", None),
]  # fmt: skip


@pytest.mark.parametrize(("field", "value", "rule", "why"), CONVERTED)
def test_values_of_a_format(field: Any, value: Any, rule: str, why: str | None) -> None:
    found = problems({"rule": rule}, {"f": value}, None, {"type": "object", "properties": {"f": field}})
    assert len(found) == (why is not None)
    assert all(why is not None and why in one for one in found)


#: A rule, the column of its error, and the error.
UNCOMPILED = [
    ("'%d'.format(['a']) == ''", 14, "error during formatting: decimal clause can only be used on integers, was given string"),
    ("'%f'.format([self.b]) == ''", 18, "error during formatting: fixed-point clause can only be used on doubles, was given bool"),
    ("'%e'.format([1]) == ''", 14, "error during formatting: scientific clause can only be used on doubles, was given int"),
    ("'%b'.format([1.5]) == ''", 14, "error during formatting: only integers and bools can be formatted as binary, was given double"),
    ("'%o'.format([true]) == ''", 14, "error during formatting: octal clause can only be used on integers, was given bool"),
    ("'%X'.format([null]) == ''", 14, "error during formatting: only integers, byte buffers, and strings can be formatted as hex, was given null_type"),
    ("'%s'.format([[1, optional.of(1)]]) == ''", 29, "error during formatting: string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps, was given optional_type"),
    ("'%s'.format([quantity('1')]) == ''", 22, "error during formatting: string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps, was given kubernetes.Quantity"),
    ("'%s %s'.format([1]) == ''", 15, "index 1 out of range"),
    ("'%s'.format([1, 2, 3]) == ''", 12, "too many arguments supplied to string.format (expected 1, got 3)"),
    ("'%'.format([]) == ''", 11, "unexpected end of string"),
    ("'%q'.format([1]) == ''", 12, 'could not parse formatting clause: unrecognized formatting clause "q"'),
    ("'%.2'.format([1]) == ''", 13, "could not parse formatting clause: error while parsing precision: could not find end of precision specifier"),
    ("'%.f'.format([1.5]) == ''", 13, 'could not parse formatting clause: error while parsing precision: error while converting precision to integer: strconv.Atoi: parsing "": invalid syntax'),
    ("[1, 'a'].size() == 2", 5, "expected type 'int' but found 'string'"),
    ("[dyn(1), 2].size() == 2", 10, "expected type 'dyn' but found 'int'"),
    ("{'a': 1, 'b': 'c'}.size() == 2", 15, "expected type 'int' but found 'string'"),
    ("[1, 'a', 'b'].size() == 3", 5, "expected type 'int' but found 'string'"),
    ("{'a': 1, 2: 1}.size() == 2", 10, "expected type 'string' but found 'int'"),
    ("['%s %s'.format([1, 'a']), 1].size() == 2", 28, "expected type 'string' but found 'int'"),
    ("duration('x') == duration('1s')", 10, "invalid duration argument"),
    ("timestamp(9223372036854775807) == timestamp(0)", 11, "invalid timestamp argument"),
    ("self.s.matches('(')", 16, "invalid matches argument"),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "column", "why"), UNCOMPILED)
def test_h8_a_rule_with_invalid_literals_does_not_compile(rule: str, column: int, why: str) -> None:
    marks = "." * (column - 1) + "^"
    assert refusal(rule) == f"compilation failed: ERROR: <input>:1:{column}: {why}\n | {rule}\n | {marks}"


@pytest.mark.parametrize(
    "rule",
    [
        "'%s %d %.1f'.format(['a', 5, 1.5]) == 'a 5 1.5'",
        "'%s'.format([[1, 'a', null]]) == '[1, \"a\", null]'",
        "'%s'.format([{'a': 1, 'b': 'c'}]) == '{\"a\":1, \"b\":\"c\"}'",
        "'%d'.format([dyn(1)]) == '1'",
        "'%s'.format([1] + [2]) == '1'  || true",
    ],
)
def test_h8_format_takes_a_literal_list_of_several_types(rule: str) -> None:
    assert refusal(rule) == ""
    assert problems(rule) == []


#: A rule that compiles, and the error of a constant part of it.
CONSTANT = [
    ("self.i == int('x')", "type conversion error from 'string' to 'int'"),
    ("self.i == int(string(double('a')))", "type conversion error from 'string' to 'double'"),
    ("self.b || bool('yes')", "type conversion error from 'string' to 'bool'"),
    ("self.i == int(1e19)", "integer overflow"),
    ("uint(-1) > 0u", "unsigned integer overflow"),
    ("string(b'\\xff') == self.s", "invalid UTF-8 in bytes, cannot convert to string"),
    ("self.i == int(dyn(true))", "no such overload: int(bool)"),
    ("self.i == int(dyn([1]))", "no such overload: int(list)"),
    ("self.i == int(dyn({'a': [1]}))", "no such overload: int(map)"),
    ("self.i == int(dyn([]))", "no such overload: int(list)"),
    ("self.s.find('(') == ''", "error parsing regexp: missing closing ): `(`"),
    ("matches(self.s, '(')", "error parsing regexp: missing closing ): `(`"),
    ("{}[timestamp(0)] == self.i", "invalid qualifier type: types.Timestamp"),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "why"), CONSTANT)
def test_h8_a_constant_part_fails_when_the_program_is_created(rule: str, why: str) -> None:
    assert refusal(rule) == f"program instantiation failed: {why}"


def test_h8_a_constant_part_of_a_message_expression_fails_too() -> None:
    schema = Structural(SCHEMA)
    declared = declare_self(schema, root=True)
    assert declared is not None
    found = compile_rule({"rule": "true", "messageExpression": "string(int('x'))"}, schema, declared)
    why = "messageExpression instantiation failed: type conversion error from 'string' to 'int'"
    assert (found.problem, found.message_problem) == ("", why)


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("string(1e+08)", "1e+08"), ("string(-0.0)", "-0"), ("string(100000.0)", "100000"), ("string(1e6)", "1e+06"),
        ("string(0.00001)", "1e-05"), ("string(double('-Infinity'))", "-Inf"), ("string(double('NaN'))", "NaN"),
        ("string(duration('1.5s'))", "1.5s"), ("string(duration('1ns'))", "0.000000001s"),
        ("string(timestamp('2023-03-04T05:06:07.89+02:00'))", "2023-03-04T05:06:07.89+02:00"),
        ("string(timestamp('2023-03-04T05:06:07-02:30') + duration('1s'))", "2023-03-04T05:06:08-02:30"),
        ("'%e'.format([1500.0])", "1.500000×10⁰³"), ("'%e'.format([-1e-300])", "-1.000000×10⁻³⁰⁰"),
        ("'%.2e'.format([9.999])", "9.999000×10⁰⁰"), ("'%f'.format([1234567.891])", "1,234,567.891000"),
        ("'%.0f'.format([1.5])", "2"), ("'%f'.format([-0.0])", "0.000000"), ("'%f'.format(['-Infinity'])", "-∞"),
        ("'%s'.format([[double('Infinity'), 1.5]])", '["+Inf", 1.500000]'), ("'%s'.format([[b'a']])", '[b"a"]'),
        ("'%s'.format([[int, type(timestamp(0))]])", "[int, google.protobuf.Timestamp]"),
        ("'%s'.format([{2: 'a', 10: 'b'}])", '{10:"b", 2:"a"}'),
    ],
)  # fmt: skip
def test_h8_texts_of_numbers_times_and_lists(expression: str, text: str) -> None:
    assert problems(f"{expression} == {text!r}") == []


#: A text, the column of its only error, and the error.
MALFORMED = [
    ("(1", 3, "Syntax error: missing ')' at '<EOF>'"),
    ("size(self.s", 12, "Syntax error: missing ')' at '<EOF>'"),
    ("self.s[0", 9, "Syntax error: missing ']' at '<EOF>'"),
    ("{1 2}", 4, "Syntax error: missing ':' at '2'"),
    ("true ? 1 2", 10, "Syntax error: missing ':' at '2'"),
    ("Foo{a 1}", 7, "Syntax error: missing ':' at '1'"),
    ("[size(1]", 8, "Syntax error: missing ')' at ']'"),
    ("((1", 4, "Syntax error: mismatched input '<EOF>' expecting ')'"),
    ("{size(1}", 8, "Syntax error: mismatched input '}' expecting ')'"),
    ("true ? (1", 10, "Syntax error: mismatched input '<EOF>' expecting ')'"),
    ("size(,)", 6, "Syntax error: extraneous input ',' expecting {'[', '{', '(', ')', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"),
    ("self.l.map(1, 2)", 12, "argument is not an identifier"),
    ("self.l.filter(a.b, true)", 16, "argument is not an identifier"),
    ("self.l.all(1, x, true)", 12, "argument must be a simple name"),
    ("self.l.all(x, x, true)", 15, "duplicate variable name: x"),
    ("self.l.all(__result__, true)", 12, "iteration variable overwrites accumulator variable"),
    ("self.?s.optMap(1, 2)", 16, "optMap() variable name must be a simple identifier"),
    ("self.?s.optFlatMap(a.b, 2)", 21, "optFlatMap() variable name must be a simple identifier"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "column", "why"), MALFORMED)
def test_h8_a_text_that_is_no_expression(text: str, column: int, why: str) -> None:
    marks = "." * (column - 1) + "^"
    assert refusal(text) == f"compilation failed: ERROR: <input>:1:{column}: {why}\n | {text}\n | {marks}"


@pytest.mark.parametrize("rule", ["[,].size() == 0", "{,}.size() == 0", "[1,].size() == 1", "size([[],]) == 1"])
def test_an_empty_literal_can_have_a_comma(rule: str) -> None:
    assert refusal(rule) == ""
    assert problems(rule) == []


def test_a_null_field_is_absent() -> None:
    schema = {**SCHEMA, "properties": {**SCHEMA["properties"], "nul": {"type": "string", "nullable": True}}}
    rule = "!has(self.nul) && !self.?nul.hasValue()"
    assert problems(rule, {**SELF, "nul": None}, schema=schema) == []
    assert "no such key: nul" in problems("self.nul == 'a'", {**SELF, "nul": None}, schema=schema)[0]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("x", "unable to parse IP"),
        ("1.2.3", "IPv4 address too short"),
        ("1.2.3.4.5", "IPv4 address too long"),
        ("1.2.3.256", "IPv4 field has value >255"),
        ("01.2.3.4", "IPv4 field has octet with leading zero"),
        ("1..2.3", 'IPv4 field must have at least one digit (at ".2.3")'),
        ("name.example.com", 'unexpected character (at "name.example.com")'),
        ("%eth0", "missing IPv6 address"),
        ("::1%", "zone must be a non-empty string"),
        ("1:2", "address string too short"),
        ("1:", 'colon must be followed by more characters (at ":")'),
        ("::1::", 'multiple :: in address (at ":")'),
        ("12345::", 'each group must have 4 or less digits (at "12345::")'),
        ("1:2:3:4:5:6:7:8:9", 'trailing garbage after address (at "9")'),
        ("1:2:3:4::5:6:7:8", "the :: must expand to at least one field of zeros"),
        (":1", 'each colon-separated field must have at least one digit (at ":1")'),
        ("1::g", 'each colon-separated field must have at least one digit (at "g")'),
        ("1g::", 'unexpected character, want colon (at "g::")'),
        ("1:1.2.3.4", 'embedded IPv4 address must replace the final 2 fields of the address (at "1.2.3.4")'),
        ("::1.2.3", "IPv4 address too short"),
    ],
)
def test_h8_why_a_text_is_no_address(text: str, why: str) -> None:
    shown = f'ParseAddr("{text}"): {why}'
    given = {**SELF, "s": text}
    assert (
        f'IP Address "{text}" parse error during conversion from string: {shown}'
        in problems("ip(self.s).family() == 4", given)[0]
    )
    assert f'netip.ParsePrefix("{text}/8"): {shown}' in problems("cidr(self.s + '/8').prefixLength() == 8", given)[0]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("10.0.0.0", "no '/'"),
        ("10.0.0.0/33", "prefix length out of range"),
        ("10.0.0.0/08", 'bad bits after slash: "08"'),
        ("10.0.0.0/x", 'bad bits after slash: "x"'),
        ("fe80::1%eth0/64", "IPv6 zones cannot be present in a prefix"),
    ],
)
def test_h8_why_a_text_is_no_network(text: str, why: str) -> None:
    found = problems("cidr(self.s).prefixLength() == 8", {**SELF, "s": text})[0]
    assert f'netip.ParsePrefix("{text}"): {why}' in found


@pytest.mark.parametrize(
    ("call", "why"),
    [
        ("semver('')", "Version string empty"),
        ("semver('1.2')", "No Major.Minor.Patch elements found"),
        ("semver('1..3')", 'strconv.ParseUint: parsing "": invalid syntax'),
        ("semver('1.b.3')", 'Invalid character(s) found in minor number "b"'),
        ("semver('1.2.03')", 'Patch number must not contain leading zeroes "03"'),
        ("semver('1.2.3-')", "Prerelease is empty"),
        ("semver('1.2.3-a!')", 'Invalid character(s) found in prerelease "a!"'),
        ("semver('1.2.3+')", "Build meta data is empty"),
        ("semver('1.2.3+a!')", 'Invalid character(s) found in build meta data "a!"'),
        ("semver('99999999999999999999.1.1')", 'parsing "99999999999999999999": value out of range'),
        ("semver('::1', true)", 'Invalid character(s) found in major number "0::1"'),
    ],
)
def test_why_a_text_is_no_version(call: str, why: str) -> None:
    assert why in problems(f"{call}.major() == 1")[0]


@pytest.mark.parametrize(
    "rule",
    ["int(dyn([self.i])) == 1", "int(dyn({'a': self.i})) == 1", "int(dyn([1][0])) == 1", "int(dyn(self.i == 1)) == 1"],
)
def test_a_part_with_a_variable_or_an_operator_is_not_evaluated_in_advance(rule: str) -> None:
    assert refusal(rule) == ""
