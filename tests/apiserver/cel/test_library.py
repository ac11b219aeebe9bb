"""The functions of CEL that rules may call: what each returns, and the words with which it fails."""

from typing import Any

import pytest

from tests.apiserver.crd.test_cel_rules import problems, refusal

#: Expressions that hold; their values are those of cel-go and of Kubernetes' library.
TRUE = [
    # arithmetic
    "9223372036854775807 - 1 == 9223372036854775806 && -9223372036854775808 < 0",
    "18446744073709551615u > 18446744073709551614u && 18446744073709551614u + 1u == 18446744073709551615u",
    "0xFFFFFFFFFFFFFFFFu == 18446744073709551615u && -0x8000000000000000 == -9223372036854775808",
    "5u - 3u == 2u && 5u * 3u == 15u && 7u / 2u == 3u && 7u % 4u == 3u",
    "1.5 + 1.5 == 3.0 && 1.5 - 0.5 == 1.0 && 3.0 / 2.0 == 1.5 && -(1.5) == -1.5",
    "1.0 / 0.0 == double('Infinity') && -1.0 / 0.0 < 0.0 && 0.0 / 0.0 != 0.0 / 0.0",
    "b'a' + b'b' == b'ab' && [1] + [] == [1]",
    "duration('1h') + duration('30m') == duration('90m') && duration('1h') - duration('30m') == duration('30m')",
    "timestamp('2026-01-01T00:00:00Z') + duration('24h') == timestamp('2026-01-02T00:00:00Z')",
    "duration('24h') + timestamp('2026-01-01T00:00:00Z') == timestamp('2026-01-02T00:00:00Z')",
    "timestamp('2026-01-02T00:00:00Z') - duration('24h') == timestamp('2026-01-01T00:00:00Z')",
    "timestamp('2026-01-02T00:00:00Z') - timestamp('2026-01-01T00:00:00Z') == duration('24h')",
    # order and equality
    "1u < 2 && 1 <= 1u && 2.5 > 2u && 2u >= 1.5 && 1 < 2u && 3u > 2.5 && 1.5 <= 2 && !(1 > 1.5)",
    "timestamp('2026-01-01T00:00:00Z') < timestamp('2026-01-01T00:00:00.5Z') && duration('1s') <= duration('1s')",
    "true > false && 'b' >= 'a' && b'b' > b'a'",
    "dyn(1) != dyn('1') && dyn([1]) != dyn({1: 1}) && dyn(true) != dyn(1) && dyn(null) == dyn(null) && dyn({}) != dyn([])",
    "{'a': [1]} == {'a': [1]} && {'a': 1} != {'a': 2} && {'a': 1} != {'b': 1} && {'a': 1} != {}",
    "optional.of(1) == optional.of(1) && optional.of(1) != optional.none()",
    # conversions
    "int(3.9) == 3 && int(-3.9) == -3 && int('-12') == -12 && int(7u) == 7 && int(timestamp(5)) == 5 && int(duration('1s')) == 1000000000",
    "uint('12') == 12u && uint(3.9) == 3u && uint(3) == 3u && double('1e3') == 1000.0 && double(2u) == 2.0 && double(3) == 3.0",
    "string(1.5) == '1.5' && string(true) == 'true' && string(b'abc') == 'abc' && string(7u) == '7' && string(duration('90s')) == '90s'",
    "string(timestamp('2026-01-02T03:04:05.250Z')) == '2026-01-02T03:04:05.25Z' && string(duration('1500ms')) == '1.5s'",
    "bool('t') && bool('TRUE') && bool('1') && !bool('f') && !bool('False') && !bool('0') && bool(true)",
    "bytes(b'a') == b'a' && timestamp(timestamp(0)) == timestamp('1970-01-01T00:00:00Z') && duration(duration('1s')) == duration('1s')",
    "timestamp('2026-01-01T02:00:00+02:00') == timestamp('2026-01-01T00:00:00Z')",
    "type(1u) == uint && type(1.0) == double && type(b'') == bytes && type({}) == map && type(null) == null_type && type(true) == bool",
    "type(timestamp(0)) == google.protobuf.Timestamp && type(duration('1s')) == google.protobuf.Duration",
    # parts of times
    "timestamp('2026-03-04T05:06:07.089Z').getFullYear() == 2026 && timestamp('2026-03-04T05:06:07.089Z').getMonth() == 2",
    "timestamp('2026-03-04T05:06:07Z').getDayOfMonth() == 3 && timestamp('2026-03-04T05:06:07Z').getDate() == 4",
    "timestamp('2026-03-04T05:06:07Z').getDayOfWeek() == 3 && timestamp('2026-03-04T05:06:07Z').getDayOfYear() == 62",
    "timestamp('2026-03-04T05:06:07.089Z').getHours() == 5 && timestamp('2026-03-04T05:06:07.089Z').getMinutes() == 6",
    "timestamp('2026-03-04T05:06:07.089Z').getSeconds() == 7 && timestamp('2026-03-04T05:06:07.089Z').getMilliseconds() == 89",
    "timestamp('2026-03-04T23:00:00Z').getDate('+02:30') == 5 && timestamp('2026-03-04T23:00:00Z').getHours('-01:30') == 21",
    "timestamp('2026-03-04T23:00:00Z').getHours('02:00') == 1 && timestamp('2026-03-04T23:00:00Z').getHours('UTC') == 23",
    "timestamp('2026-07-04T23:00:00Z').getHours('Europe/Berlin') == 1 && timestamp('2026-01-04T23:00:00Z').getDate('Europe/Berlin') == 5",
    "duration('90m').getHours() == 1 && duration('90m').getMinutes() == 90 && duration('-90s').getSeconds() == -90",
    "duration('1.5s').getMilliseconds() == 1500 && duration('-90m').getHours() == -1",
    # strings
    "'tacocat'.charAt(3) == 'o' && 'tacocat'.charAt(7) == ''",
    "'hello mellow'.indexOf('') == 0 && 'hello mellow'.indexOf('ello', 2) == 7 && 'hello mellow'.indexOf('jello') == -1",
    "'hello mellow'.indexOf('', 2) == 2 && 'hello mellow'.indexOf('ello', 20) == -1 && 'abc'.lastIndexOf('') == 3",
    "'hello mellow'.lastIndexOf('ello', 6) == 1 && 'hello mellow'.lastIndexOf('ello', 7) == 7 && 'abc'.lastIndexOf('a', 20) == -1",
    "'TacoCÆt'.lowerAscii() == 'tacocÆt' && 'TacoCÆt xii'.upperAscii() == 'TACOCÆT XII'",
    "'hello hello'.replace('he', 'we', 1) == 'wello hello' && 'hello'.replace('he', 'we', 0) == 'hello' && 'ab'.replace('', '-') == '-a-b-'",
    "'hello'.split('') == ['h', 'e', 'l', 'l', 'o'] && 'abc'.split('', 2) == ['a', 'bc'] && 'a b'.split(' ', 0) == []",
    "'a b c'.split(' ', 1) == ['a b c'] && 'a b c'.split(' ', -1) == ['a', 'b', 'c'] && 'ab'.split('', 5) == ['a', 'b']",
    "'tacocat'.substring(0, 4) == 'taco' && 'ta©o©αT'.substring(2, 6) == '©o©α' && 'abc'.substring(3) == ''",
    "['x', 'y'].join() == 'xy' && [].join() == '' && ['x', 'y'].join(', ') == 'x, y'",
    "strings.quote('single-quote with \"double quote\"') == '\"single-quote with \\\\\"double quote\\\\\"\"' && strings.quote('a\\n') == '\"a\\\\n\"'",
    "'abc 123'.find('[0-9]+') == '123' && 'abc'.find('[0-9]') == '' && '1 2 3'.findAll('[0-9]', 2) == ['1', '2'] && 'x'.findAll('y') == []",
    "'1 2'.findAll('[0-9]', 0) == [] && '1 2'.findAll('[0-9]', -1) == ['1', '2']",
    "'abc'.matches('^a.c$') && matches('abc', 'b') && !'abc'.matches('^b')",
    # format
    "'%s %s %s'.format([dyn(true), dyn(null), dyn(1.5)]) == 'true null 1.5' && '%%'.format([]) == '%' && 'a'.format([]) == 'a'",
    "'%s'.format([[dyn(1), dyn('a'), dyn(1.5), dyn(true), dyn(null)]]) == '[1, \"a\", 1.500000, true, null]'",
    "'%s'.format([{'b': dyn('x'), 'a': dyn(1)}]) == '{\"a\":1, \"b\":\"x\"}'",
    "'%s'.format([[dyn(duration('1s')), dyn(timestamp(0))]]) == '[duration(\"1s\"), timestamp(\"1970-01-01T00:00:00Z\")]'",
    "'%s %s'.format([dyn(duration('1s')), dyn(timestamp(0))]) == '1s 1970-01-01T00:00:00Z' && '%s'.format([b'abc']) == 'abc'",
    "'%d %d'.format([dyn(-3), dyn(3u)]) == '-3 3' && '%b %b'.format([dyn(5), dyn(true)]) == '101 1' && '%b'.format([false]) == '0' && '%o'.format([8]) == '10'",
    "'%x %X'.format([30, 30]) == '1e 1E' && '%x'.format(['Hello']) == '48656c6c6f' && '%X'.format([b'abc\\xff']) == '616263FF'",
    "'%.3f'.format([1.2345]) == '1.234' && '%f'.format([1.5]) == '1.500000' && '%f'.format(['NaN']) == 'NaN'",
    # lists
    "[1, 2, 3].isSorted() && !['b', 'a'].isSorted() && [].isSorted() && [1.0, 2.0].sum() == 3.0 && [1u, 2u].sum() == 3u",
    "[duration('1s'), duration('2s')].sum() == duration('3s') && ['b', 'a'].min() == 'a' && ['b', 'a'].max() == 'b'",
    "[1, 2, 2].lastIndexOf(2) == 2 && [1].indexOf(2) == -1 && [1, 2, 3, 4].slice(1, 3) == [2, 3] && [1, 2].slice(0, 0) == []",
    "[dyn(1), dyn([dyn(2), dyn([3])])].flatten(2).size() == 3 && [[1], [2]].flatten(1) == [1, 2]",
    "[3, 2, 1].sort() == [1, 2, 3] && ['b', 'a'].sort() == ['a', 'b'] && [dyn(1), dyn(1.0), dyn(2)].distinct().size() == 2",
    "lists.range(0) == [] && [1, 2].reverse() == [2, 1] && sets.contains([], []) && !sets.contains([1], [2])",
    "!sets.equivalent([1], [1, 2]) && sets.equivalent([1, 1], [1]) && !sets.intersects([1], []) && !sets.intersects([1], [2])",
    # optional values
    "optional.ofNonZeroValue(0).hasValue() == false && optional.ofNonZeroValue('').hasValue() == false && optional.ofNonZeroValue(1).value() == 1",
    "optional.none().or(optional.of(1)).value() == 1 && optional.of(2).or(optional.of(1)).value() == 2 && optional.of(1).orValue(2) == 1",
    "optional.of({'a': 1})[?'a'].value() == 1 && !optional.of({'a': 1})[?'b'].hasValue() && optional.of([1])[0].value() == 1",
    "optional.of({'a': {'b': 1}}).?a.?b.value() == 1 && !optional.none()[?'a'].hasValue() && !{'a': 1}.?b.hasValue()",
    "{?'a': optional.of(1), ?'b': optional.none()} == {'a': 1} && [?optional.of(1), ?optional.none()] == [1]",
    "optional.of(1).optMap(x, x + 1).value() == 2 && optional.of(1).optFlatMap(x, optional.none()).hasValue() == false",
    # maps and macros
    "{'a': 1}.all(k, v, k == 'a' && v == 1) && {'a': 1, 'b': 2}.existsOne(k, v, v == 2) && [1, 2].existsOne(i, v, v > 1)",
    "[1, 2].transformList(i, v, i + v) == [1, 3] && [1, 2].transformList(i, v, v > 1, v) == [2] && {'a': 1}.transformMap(k, v, v > 1, v) == {}",
    "['a', 'b'].transformMapEntry(i, v, {v: i}) == {'a': 0, 'b': 1} && {'a': 1}.exists(k, k == 'a')",
    "[1, 2].all(i, v, v == i + 1) && ![1, 3].all(i, v, v == i + 1) && [1, 2].exists(i, v, i == 1 && v == 2) && ![1, 2].exists(i, v, i == v)",
    "[1, 2].exists_one(i, v, v > 1) && ![1, 2].exists_one(i, v, v > 0) && !{'a': 1}.exists_one(k, v, v > 1) && ![1, 2].existsOne(i, v, v > 0)",
    "[1, 2].exists_one(v, v > 1) && ![1, 2].exists_one(v, v > 0) && [1, 2, 3].map(v, v > 1, v * 2) == [4, 6] && [1, 2].filter(v, v > 1) == [2]",
    "{'a': 1, 'b': 2}.transformMap(k, v, v > 1, v * 2) == {'b': 4} && {'a': 1}.transformMap(k, v, v * 2) == {'a': 2}",
    "{'a': 1, 'b': 2}.transformMapEntry(k, v, v > 1, {k + k: v}) == {'bb': 2} && {'a': 1}.transformList(k, v, k) == ['a']",
    "1 in {1: 2} && dyn(1.0) in [1] && !(2 in {1: 2})",
    # Kubernetes' own
    "url('https://user:pw@example.com:80/path?q=1').getHostname() == 'example.com' && isURL('/path')",
    "url('/a/b').getEscapedPath() == '/a/b' && url('/a').getScheme() == '' && url('https://h/').getPort() == '' && url('https://h/?a=b').getQuery() == {'a': ['b']}",
    "quantity('1k') == quantity('1000') && quantity('1').isInteger() && !quantity('1500m').isInteger() && quantity('2').sub(quantity('1')).asInteger() == 1",
    "[1, 2].first().value() == 1 && [1, 2].last().value() == 2 && ![1].filter(x, x > 1).first().hasValue()",
    "optional.unwrap([optional.of(1), optional.none()]) == [1] && [optional.of(1), optional.none()].unwrapOpt() == [1]",
    "quantity('1').isLessThan(quantity('2')) && quantity('3').isGreaterThan(quantity('2')) && quantity('1').compareTo(quantity('2')) == -1",
    "quantity('50k').add(20) == quantity('50020') && sign(quantity('0')) == 0 && sign(quantity('5')) == 1",
    "ip('10.0.0.1').family() == 4 && ip('224.0.0.1').isLinkLocalMulticast() && ip('ff02::1').isLinkLocalMulticast() && ip('169.254.1.1').isLinkLocalUnicast()",
    "ip('8.8.8.8').isGlobalUnicast() && !ip('255.255.255.255').isGlobalUnicast() && !ip('127.0.0.1').isGlobalUnicast() && ip('0.0.0.0').isUnspecified()",
    "ip.isCanonical('127.0.0.1') && !ip.isCanonical('2001:DB8::1') && ip('::1') != ip('::2') && !isIP('::ffff:1.2.3.4') && !isIP('fe80::1%eth0')",
    "isCIDR('10.0.0.0/8') && !isCIDR('10.0.0.0') && !isCIDR('10.0.0.0/33') && !isCIDR('10.0.0.0/08') && !isCIDR('::ffff:1.2.3.4/128')",
    "cidr('10.0.0.0/8').containsIP(ip('10.1.2.3')) && !cidr('10.0.0.0/8').containsIP('11.0.0.0') && cidr('10.0.0.0/8').containsCIDR(cidr('10.0.0.0/9'))",
    "!cidr('10.0.0.0/9').containsCIDR('10.0.0.0/8') && !cidr('10.0.0.0/8').containsCIDR('::/64') && cidr('10.1.2.3/8').ip() == ip('10.1.2.3')",
    "string(cidr('10.1.2.3/8')) == '10.1.2.3/8' && cidr('::1/128').ip().family() == 6",
    "semver('1.2.3').major() == 1 && semver('1.2.3').patch() == 3 && semver('1.0.0-alpha').isLessThan(semver('1.0.0'))",
    "semver('2.0.0').isGreaterThan(semver('1.9.9')) && semver('1.0.0-alpha.1').compareTo(semver('1.0.0-alpha.beta')) == -1 && semver('1.0.0').compareTo(semver('1.0.0')) == 0",
    "semver('v1.2', true) == semver('1.2.0') && isSemver('v1.0', true) && !isSemver('v1.0.0') && !isSemver('1.0.0-01') && semver('01.2.3', true).major() == 1",
    "format.named('dns1123Label').hasValue() && !format.named('nope').hasValue() && !format.dns1123Subdomain().validate('a.b').hasValue()",
    "format.dns1035Label().validate('1a').hasValue() && !format.qualifiedName().validate('a/b').hasValue() && !format.labelValue().validate('a').hasValue()",
    "!format.uri().validate('https://a').hasValue() && format.uuid().validate('x').hasValue() && !format.byte().validate('aGk=').hasValue()",
    "!format.date().validate('2026-01-02').hasValue() && format.datetime().validate('x').hasValue()",
    "!format.dns1123LabelPrefix().validate('a-').hasValue() && format.dns1123SubdomainPrefix().validate('A').hasValue() && !format.dns1035LabelPrefix().validate('a-').hasValue()",
]  # fmt: skip


@pytest.mark.parametrize("rule", TRUE)
def test_what_a_function_returns(rule: str) -> None:
    assert refusal(rule) == ""
    assert problems(rule) == []


INT = {"type": "integer"}
LIST = {"type": "array", "items": INT}
PAIRS = {
    "type": "array",
    "items": {"type": "object", "required": ["k"], "properties": {"k": {"type": "string"}, "v": INT}},
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["k"],
}


def of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


A, B = {"k": "a", "v": 1}, {"k": "b", "v": 2}

#: How the type of a list decides what equal lists and sums of lists are: a schema, a rule, the value before and now.
LISTS = [
    pytest.param(of(f=LIST), "self.f == oldSelf.f", [1, 2], [2, 1], False, id="atomic"),
    pytest.param(of(f={**LIST, "x-kubernetes-list-type": "set"}), "self.f == oldSelf.f", [1, 2], [2, 1], True, id="set"),
    pytest.param(of(f={**LIST, "x-kubernetes-list-type": "set"}), "self.f == oldSelf.f", [1, 2], [1, 3], False, id="other-set"),
    pytest.param(of(f=PAIRS), "self.f == oldSelf.f", [A, B], [B, A], True, id="map"),
    pytest.param(of(f=PAIRS), "self.f == oldSelf.f", [A, B], [{"k": "b", "v": 3}, A], False, id="map-with-another-value"),
    pytest.param(of(f=PAIRS), "self.f == oldSelf.f", [A, B], [{"k": "c", "v": 2}, A], False, id="map-with-another-key"),
    pytest.param(of(f=PAIRS), "self.f == oldSelf.f", [A], [A, B], False, id="longer-map"),
    pytest.param(of(f=PAIRS), "size(self.f + oldSelf.f) == 2", [A, B], [B, A], True, id="sum-of-maps"),
    pytest.param(of(f=PAIRS), "(self.f + oldSelf.f)[0].v == 1", [A], [{"k": "a", "v": 9}, B], True, id="sum-takes-the-right-item"),
    pytest.param(of(f=PAIRS), "(oldSelf.f + self.f)[1].k == 'b'", [A], [B], True, id="sum-appends-new-keys"),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "rule", "old", "new", "holds"), LISTS)
def test_the_type_of_a_list_decides(schema: Any, rule: str, old: Any, new: Any, holds: bool) -> None:
    found = problems({"rule": rule}, {"f": new}, {"f": old}, schema)
    assert found == ([] if holds else [f"<nil>: Invalid value: failed rule: {rule}"])


@pytest.mark.parametrize(
    ("literal", "why"),
    [
        ("18446744073709551616u", "invalid uint literal"),
        ("0x10000000000000000u", "invalid uint literal"),
        ("9223372036854775808", "invalid int literal"),
        ("-9223372036854775809", "invalid int literal"),
        ("1e999", "invalid double literal"),
    ],
)
def test_a_literal_out_of_range_is_refused(literal: str, why: str) -> None:
    assert why in refusal(f"{literal} == {literal}")


@pytest.mark.parametrize(
    "literal", ["18446744073709551615u", "0xFFFFFFFFFFFFFFFFu", "9223372036854775807", "-9223372036854775808"]
)
def test_the_largest_literals_are_accepted(literal: str) -> None:
    assert refusal(f"{literal} == {literal}") == ""
