"""Validation rules: success, failure and compilation errors."""

import time
from typing import Any

import pytest

from fakekube.apiserver.crd.compilation import compile_rule, declare_self
from fakekube.apiserver.crd.structural import Structural
from fakekube.apiserver.crd.validationrules import RuleValidator

Object = dict[str, Any]

SELF: Object = {
    "i": 3,
    "n": 2.5,
    "s": "Hello wörld",
    "b": True,
    "list": [3, 1, 2],
    "names": ["a", "b", "c"],
    "tags": {"x": "1", "y": "2"},
    "items": [{"name": "a", "value": 1}, {"name": "b", "value": 2}],
    "port": "http",
    "date": "2026-01-02T03:04:05Z",
    "wait": "1h30m",
    "a-b": 1,
    "namespace": "in",
}
SCHEMA: Object = {
    "type": "object",
    "properties": {
        "i": {"type": "integer"},
        "n": {"type": "number"},
        "s": {"type": "string"},
        "b": {"type": "boolean"},
        "none": {"type": "string"},
        "list": {"type": "array", "items": {"type": "integer"}, "maxItems": 10},
        "names": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
        "tags": {"type": "object", "additionalProperties": {"type": "string"}},
        "items": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["name"],
                "properties": {"name": {"type": "string"}, "value": {"type": "integer"}},
            },
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
        },
        "port": {"x-kubernetes-int-or-string": True},
        "date": {"type": "string", "format": "date-time"},
        "wait": {"type": "string", "format": "duration"},
        "a-b": {"type": "integer"},
        "namespace": {"type": "string"},
    },
}


def problems(rule: str | Object, new: Any = None, old: Any = None, schema: Object | None = None) -> list[str]:
    """The errors of a rule for an object."""
    asked = rule if isinstance(rule, dict) else {"rule": rule}
    rules = RuleValidator.of(Structural({**(schema or SCHEMA), "x-kubernetes-validations": [asked]}))
    assert rules is not None
    found = rules.errors(SELF if new is None else new, old)
    return [f"{one.field}: {one.message}" for one in found]


def refusal(rule: str, schema: Object | None = None) -> str:
    """The compilation error of a rule."""
    structural = Structural(schema or SCHEMA)
    declared = declare_self(structural, root=False)
    assert declared is not None
    return compile_rule({"rule": rule}, structural, declared).problem


TRUE = [
    "self.i + 2 * 3 - 1 == 8 && 7 / 2 == 3 && -7 / 2 == -3 && 7 % 4 == 3 && -7 % 4 == -3",
    "self.n * 2.0 == 5.0 && self.n > 2 && self.i < 3.5",
    "dyn(1) == 1.0 && dyn(1u) == 1 && 1 < 1.5 && 2u > 1",
    "self.b ? self.i == 3 : false",
    "true || 1 / 0 == 1",
    "!(false && 1 / 0 == 1)",
    "1 / 0 == 1 || true",
    "0x1F == 31 && 1e3 == 1000.0 && 5u == uint(5)",
    "size(self.s) == 11 && self.s.size() == 11 && size(b'\\xc3\\xb6') == 2",
    "'\\u00f6' == 'ö' && r'\\n' == '\\\\n' && '''a\nb''' == \"a\\nb\"",
    "self.s.startsWith('Hello') && self.s.endsWith('ld') && self.s.contains('wör') && self.s.matches('^H.*d$')",
    "'a' < 'b' && b'a' < b'b' && false < true",
    "'a' + 'b' == 'ab' && [1] + [2] == [1, 2]",
    "3 in self.list && !(5 in self.list) && 'x' in self.tags && !('z' in self.tags)",
    "self.list[0] == 3 && self.tags['x'] == '1' && {'a': 1}.a == 1 && {1: 'x'}[1] == 'x'",
    "has(self.i) && !has(self.none) && has({'a': 1}.a)",
    "self.list.all(x, x > 0) && self.list.exists(x, x == 2) && self.list.exists_one(x, x == 2)",
    "self.list.map(x, x * 2) == [6, 2, 4] && self.list.map(x, x > 1, x * 2) == [6, 4]",
    "self.list.filter(x, x > 1) == [3, 2] && self.tags.all(k, k in ['x', 'y']) && self.tags.map(k, k).size() == 2",
    "self.items.all(x, has(x.value)) && self.items.exists(x, x.name == 'b' && x.value == 2)",
    "self.list.sum() == 6 && self.list.min() == 1 && self.list.max() == 3 && !self.list.isSorted()",
    "self.list.indexOf(1) == 1 && self.list.lastIndexOf(9) == -1 && [].sum() == 0",
    "self.s.lowerAscii() == 'hello wörld' && self.s.upperAscii().startsWith('HELLO')",
    "self.s.indexOf('o') == 4 && self.s.lastIndexOf('o') == 4 && self.s.charAt(7) == 'ö' && self.s.substring(6) == 'wörld'",
    "self.s.substring(0, 5).replace('l', 'L') == 'HeLLo' && 'aaa'.replace('a', 'b', 2) == 'bba'",
    "'a,b,c'.split(',') == ['a', 'b', 'c'] && 'a,b,c'.split(',', 2) == ['a', 'b,c'] && ['a', 'b'].join('-') == 'a-b'",
    "'  x '.trim() == 'x' && '%s-%d'.format([dyn('a'), 3]) == 'a-3' && '%.2f %x'.format([dyn(1.5), 255]) == '1.50 ff'",
    "'abc123'.find('[0-9]+') == '123' && 'a1b2'.findAll('[0-9]') == ['1', '2'] && 'a1b2'.findAll('[0-9]', 1) == ['1']",
    "isURL('https://a.b:80/p?q=1') && url('https://a.b:80/p?q=1').getHostname() == 'a.b' && url('https://a.b:80/p').getPort() == '80'",
    "url('https://a.b/p?q=1&q=2').getQuery() == {'q': ['1', '2']} && url('https://[::1]:80/').getHost() == '[::1]:80'",
    "!isURL('x y') && url('https://a/b%20c').getEscapedPath() == '/b%20c' && url('https://a/').getScheme() == 'https'",
    "isQuantity('1.5Gi') && !isQuantity('x') && quantity('1Gi').compareTo(quantity('1024Mi')) == 0",
    "quantity('1').add(quantity('500m')).isGreaterThan(quantity('1400m')) && quantity('2k').asInteger() == 2000",
    "quantity('50k').sub(20000) == quantity('30k') && sign(quantity('-1')) == -1 && quantity('1.5').asApproximateFloat() == 1.5",
    "isIP('127.0.0.1') && ip('127.0.0.1').isLoopback() && ip('::1').family() == 6 && !isIP('1.2.3')",
    "cidr('192.168.0.0/24').containsIP('192.168.0.1') && cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16')",
    "cidr('10.1.2.3/8').masked() == cidr('10.0.0.0/8') && cidr('10.0.0.0/8').prefixLength() == 8 && string(ip('::1')) == '::1'",
    "!format.dns1123Label().validate('my-name').hasValue() && format.dns1123Label().validate('My').hasValue()",
    "isSemver('1.2.3') && semver('1.2.3').isLessThan(semver('1.10.0')) && semver('1.2.3').minor() == 2",
    "self.port == 'http' && type(self.port) == string",
    "self.date.getFullYear() == 2026 && self.date > timestamp('2025-01-01T00:00:00Z')",
    "self.wait == duration('90m') && self.wait.getMinutes() == 90 && self.date + self.wait > self.date",
    "self.a__dash__b == 1 && self.__namespace__ == 'in'",
    "int('5') == 5 && string(5) == '5' && double('1.5') == 1.5 && bool('true') && bytes('a') == b'a' && uint(3) == 3u",
    "dyn(1) == 1 && type(1) == int && type('') == string && type([]) == list",
    "optional.of(1).hasValue() && optional.none().orValue(2) == 2 && self.?none.orValue('d') == 'd'",
    "self.?i.value() == 3 && self.tags[?'z'].orValue('none') == 'none' && [1, 2][?5].hasValue() == false",
    "sets.contains([1, 2, 3], [2]) && sets.equivalent([1, 2], [2, 1]) && sets.intersects([1], [1, 2])",
    "self.names == ['c', 'b', 'a'] && self.names + ['a', 'd'] == ['d', 'c', 'b', 'a']",
    "self.list.all(i, v, v > 0 && i < 3) && self.tags.exists(k, v, k == 'x' && v == '1') && {'a': 1}.transformMap(k, v, v + 1) == {'a': 2}",
    "self.items.sortBy(x, -x.value).map(x, x.name) == ['b', 'a'] && ['ccc', 'a', 'bb'].sortBy(x, size(x)) == ['a', 'bb', 'ccc']",
    "[3, 1].sort() == [1, 3] && [1, 2, 3].slice(1, 2) == [2] && [[1], [2]].flatten() == [1, 2] && lists.range(3) == [0, 1, 2]",
    "[1, 1, 2].distinct() == [1, 2] && [1, 2].reverse() == [2, 1]",
]  # fmt: skip


@pytest.mark.parametrize("rule", TRUE)
def test_a_rule_that_holds(rule: str) -> None:
    assert refusal(rule) == ""
    assert problems(rule) == []


#: The tokens that the parser expects at the start of an expression.
ANY = "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"

#: Rules that do not compile, with the columns and messages of their errors.
REFUSED: list[tuple[str, list[tuple[int, str]]]] = [
    ('self.i +', [(9, "Syntax error: mismatched input '<EOF>' expecting " + ANY)]),
    ('self.', [(6, "Syntax error: no viable alternative at input '.'")]),
    ('self.nope == 1', [(5, "undefined field 'nope'")]),
    ("self.i == 'a'", [(8, "found no matching overload for '_==_' applied to '(int, string)'")]),
    ('foo(1)', [(4, "undeclared reference to 'foo' (in container '')")]),
    ("self.i.contains('a')", [(16, "found no matching overload for 'contains' applied to 'int.(string)'")]),
    ('self.s.nope()', [(12, "undeclared reference to 'nope' (in container '')")]),
    ('1 +* 2', [(4, "Syntax error: extraneous input '*' expecting " + ANY)]),
    ("'abc", [(1, "Syntax error: token recognition error at: ''abc'"), (5, "Syntax error: mismatched input '<EOF>' expecting " + ANY)]),
    ('self.i ? 1 : 2', [(8, "found no matching overload for '_?_:_' applied to '(int, int, int)'")]),
    ('self.list.all(1, true)', [(15, 'argument must be a simple name')]),
    ('{1: 2}.sortBy(x, x) == []', [(1, 'sortBy can only be applied to a list, identifier, comprehension, call or select expression')]),
    ('has(self)', [(5, 'invalid argument to has() macro')]),
    ('self.list.map(x, y)', [(18, "undeclared reference to 'y' (in container '')")]),
    ("[1,'a']==[1]", [(4, "expected type 'int' but found 'string'")]),
    ("self.s.matches('(')", [(16, 'invalid matches argument')]),
    ("duration('x') == duration('1s')", [(10, 'invalid duration argument')]),
    ("timestamp('y') > timestamp('z')", [(11, 'invalid timestamp argument'), (28, 'invalid timestamp argument')]),
    ('self.tags.x == 1', [(13, "found no matching overload for '_==_' applied to '(string, int)'")]),
    ('a.b.c', [(1, "undeclared reference to 'a' (in container '')")]),
    ('self.i == 1 && ', [(16, "Syntax error: mismatched input '<EOF>' expecting " + ANY)]),
    ('self.items[0].nope == 1', [(14, "undefined field 'nope'")]),
    ('@', [(1, "Syntax error: token recognition error at: '@'"), (2, "Syntax error: mismatched input '<EOF>' expecting " + ANY)]),
    ('if == 1', [(1, 'reserved identifier: if')]),
    ('self.`a-b` == 1', [(6, "unsupported syntax: '`'")]),
    ('self.null == 1', [(6, "Syntax error: mismatched input 'null' expecting IDENTIFIER")]),
    ('self.?1 == 1', [(7, "Syntax error: mismatched input '1' expecting {IDENTIFIER, ESC_IDENTIFIER}"), (7, "unsupported ident kind")]),
    ('99999999999999999999 == 1', [(1, 'invalid int literal')]),
    ('self.if == 1', [(5, "undefined field 'if'")]),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "errors"), REFUSED)
def test_a_rule_that_does_not_compile(rule: str, errors: list[tuple[int, str]]) -> None:
    shown = [f"ERROR: <input>:1:{at}: {why}\n | {rule}\n | {'.' * (at - 1)}^" for at, why in errors]
    assert refusal(rule) == "compilation failed: " + "\n".join(shown)


def test_a_rule_must_evaluate_to_a_bool() -> None:
    assert refusal("self.i") == "cel expression must evaluate to a bool"


#: Rules that fail at run time, with their messages.
FAILING = [
    ('1 / 0 == 1', 'division by zero'),
    ("self.tags['q'] == '1'", 'no such key: q'),
    ('self.list[9] == 1', 'index out of bounds: 9'),
    ("self.none == 'a'", 'no such key: none'),
    ("int(self.s) == 1", "type conversion error from 'string' to 'int'"),
    ('9223372036854775807 + self.i > 0', 'integer overflow'),
    ("quantity('x') == quantity('1')", "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"),
    ("url('x y').getHost() == ''", 'URL parse error during conversion from string: parse "x y": invalid URI for request'),
    ("self.tags.q == '1'", 'no such key: q'),
    ("semver('1') == semver('1.0.0')", 'No Major.Minor.Patch elements found'),
    ("ip('x') == ip('1.1.1.1')", 'IP Address "x" parse error during conversion from string: ParseAddr("x"): unable to parse IP'),
    ("cidr('x').prefixLength() == 1", 'network address parse error during conversion from string: network address parse error during conversion from string: netip.ParsePrefix("x"): no \'/\''),
    ("'%d'.format([dyn('a')]) == ''", 'error during formatting: decimal clause can only be used on integers, was given string'),
    ('optional.none().value() == 1', 'optional.none() dereference'),
    ('timestamp(self.s) > timestamp(self.s)', "type conversion error from 'string' to 'google.protobuf.Timestamp'"),
    ('[].max() == 1', 'max called on empty list'),
    ("self.s.charAt(50) == ''", 'index out of range: 50'),
    ("self.s.substring(50) == ''", 'index out of range: 50'),
    ('1 % 0 == 1', 'modulus by zero'),
    ('-(-9223372036854775807 - 1) > 0', 'integer overflow'),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "why"), FAILING)
def test_a_rule_that_fails_at_run_time(rule: str, why: str) -> None:
    assert problems(rule) == [f'<nil>: Invalid value: "object": {why} evaluating rule: {rule}']


def field(rule: Object | list[Object], **more: Any) -> Object:
    """A schema with rules of the field `f`."""
    node = {**more, "x-kubernetes-validations": rule if isinstance(rule, list) else [rule]}
    return {"type": "object", "properties": {"f": node}}


def said(schema: Object, new: Any, old: Any = None) -> list[str]:
    rules = RuleValidator.of(Structural(schema))
    assert rules is not None
    return [f"{one.field}: {one.message}" for one in rules.errors(new, old)]


INTEGER = {"type": "integer"}


def test_messages_and_field_paths() -> None:
    both = {"type": "object", "properties": {"a": {"type": "string"}}}
    rule = {"rule": "self.a == 'x'", "message": "must be x"}
    assert said(field(rule, **both), {"f": {"a": "y"}}) == ["f: Invalid value: must be x"]
    expression = {**rule, "messageExpression": "'not ' + self.a"}
    assert said(field(expression, **both), {"f": {"a": "y"}}) == ["f: Invalid value: not y"]
    failing = {**rule, "messageExpression": "'x'.substring(9)"}
    assert said(field(failing, **both), {"f": {"a": "y"}}) == ["f: Invalid value: must be x"]
    blank = {**rule, "messageExpression": "'  '"}
    assert said(field(blank, **both), {"f": {"a": "y"}}) == ["f: Invalid value: must be x"]
    lines = {**rule, "messageExpression": "'a\\nb'"}
    assert said(field(lines, **both), {"f": {"a": "y"}}) == ["f: Invalid value: must be x"]
    placed = {**rule, "fieldPath": ".a"}
    assert said(field(placed, **both), {"f": {"a": "y"}}) == ["f.a: Invalid value: must be x"]


@pytest.mark.parametrize(
    ("reason", "shown"),
    [
        ("FieldValueInvalid", "Invalid value: 3: no"),
        ("FieldValueForbidden", "Forbidden: no"),
        ("FieldValueRequired", "Required value: no"),
        ("FieldValueDuplicate", "Duplicate value: 3"),
    ],
)
def test_reasons(reason: str, shown: str) -> None:
    rule = {"rule": "self == 1", "message": "no", "reason": reason}
    assert said(field(rule, **INTEGER), {"f": 3})[0].startswith(f"f: {shown}")


def test_a_transition_rule_needs_an_old_value() -> None:
    schema = field({"rule": "self >= oldSelf", "message": "may not fall"}, **INTEGER)
    assert said(schema, {"f": 1}) == []
    assert said(schema, {"f": 1}, {}) == []
    assert said(schema, {"f": 1}, {"f": 2}) == ["f: Invalid value: 1: may not fall"]
    assert said(schema, {"f": 3}, {"f": 2}) == []


def test_an_optional_old_value() -> None:
    rule = {"rule": "oldSelf.hasValue() || self == 1", "message": "starts at 1", "optionalOldSelf": True}
    schema = field(rule, **INTEGER)
    assert said(schema, {"f": 2}) == ["f: Invalid value: 2: starts at 1"]
    assert said(schema, {"f": 1}) == []
    assert said(schema, {"f": 2}, {"f": 1}) == []


def test_a_message_expression_uses_an_optional_old_value() -> None:
    rule = {
        "rule": "oldSelf.orValue(0) < self",
        "messageExpression": "'was ' + string(oldSelf.orValue(0))",
        "optionalOldSelf": True,
    }
    assert said(field(rule, **INTEGER), {"f": 2}, {"f": 3}) == ["f: Invalid value: 2: was 3"]
    assert said(field(rule, **INTEGER), {"f": 0}) == ["f: Invalid value: 0: was 0"]


def test_items_of_a_map_are_matched_by_key() -> None:
    item = {
        "type": "object",
        "required": ["k"],
        "properties": {
            "k": {"type": "string"},
            "v": {**INTEGER, "x-kubernetes-validations": [{"rule": "self >= oldSelf", "message": "fell"}]},
        },
    }
    lists = {"type": "array", "items": item, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}
    schema = {"type": "object", "properties": {"f": lists}}
    old = {"f": [{"k": "a", "v": 1}, {"k": "b", "v": 5}]}
    new = {"f": [{"k": "b", "v": 4}, {"k": "a", "v": 2}, {"k": "c", "v": 0}]}
    assert said(schema, new, old) == ["f[0].v: Invalid value: 4: fell"]


# --- hostile rules ----------------------------------------------------------------------------------------------------


HOSTILE = [
    "(" * 5000 + "true" + ")" * 5000,
    "!" * 100_001 + "true",
    "[" * 3000 + "]" * 3000 + " == []",
    " && ".join(["true"] * 20_000),
    "self.s" + ".lowerAscii()" * 5000 + " == ''",
    "self.list.all(a, self.list.all(b, self.list.all(c, self.list.all(d, self.list.all(e, self.list.all(f, self.list.all(g, true)))))))",
    "true ? " * 5000 + "true" + " : false" * 5000,
    "'" + "a" * 200_000 + "' == self.s",
    "\\" * 50_000,
    "1 + " * 30_000 + "1 == 2",
]  # fmt: skip


@pytest.mark.parametrize("rule", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_rule_ends_in_bounded_time(rule: str) -> None:
    begun = time.process_time()
    if not refusal(rule):
        problems(rule)
    assert time.process_time() - begun < 3


@pytest.mark.parametrize(
    "rule",
    [
        "self.all(a, self.all(b, self.all(c, self.all(d, self.all(e, true)))))",
        "self.map(a, self.map(b, self.map(c, self.map(d, a)))).size() == 0",
        "self.map(x, 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa').join('bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb').replace('a', 'aaaaaaaaaaaaaaaaaaaaaaaa').replace('a', 'aaaaaaaaaaaaaaaaaaaaaaaa').replace('a', 'aaaaaaaaaaaaaaaaaaaaaaaa').size() == 0",
        "self.map(x, 'a').join('').matches('(a+)+$')",
    ],
)
def test_an_expensive_rule_exceeds_the_budget(rule: str) -> None:
    schema = {"type": "array", "items": INTEGER, "x-kubernetes-validations": [{"rule": rule}]}
    begun = time.process_time()
    rules = RuleValidator.of(Structural(schema))
    assert rules is not None
    rules.errors(list(range(300)), None)
    assert time.process_time() - begun < 8
