"""The estimated costs of calls are the maxima that upstream's own tests expect (`apiserver/pkg/cel/library/cost_test.go`,
`cel-go/checker/cost_test.go`)."""

import pytest

from fakekube.apiserver.cel.checker import check
from fakekube.apiserver.cel.cost import Estimator, estimate
from fakekube.apiserver.cel.functioncosts import BY_FUNCTION, BY_OVERLOAD, STANDARD
from fakekube.apiserver.cel.macros import BINDINGS, MACROS
from fakekube.apiserver.cel.parser import parse
from fakekube.apiserver.cel.sizes import HUGE, SizedNode, SizeEstimate, factor
from fakekube.apiserver.cel.types import BYTES, INT, STRING, DeclType, Type, list_of, map_of, read

INTS = "[1, 2, 3, 4, 5]"
UINTS = "[uint(1), uint(2), uint(3), uint(4), uint(5)]"
DOUBLES = "[1.0, 2.0, 3.0, 4.0, 5.0]"
BOOLS = "[false, true, false, true, false]"
DURATIONS = "[duration('1s'), duration('2s'), duration('3s'), duration('4s'), duration('5s')]"
DAYS = [f"timestamp('2011-01-0{day}T00:00:00.000+01:00')" for day in range(1, 6)]
TIMES = f"[{', '.join(DAYS)}]"
URL = "url('https:://kubernetes.io/')"
IP4, IP6 = "ip('192.168.0.1')", "ip('2001:db8:3333:4444:5555:6666:7777:8888')"
NET4, NET6 = "cidr('192.168.0.0/16')", "cidr('2001:db8::/32')"

#: Expressions -> cost.
COSTS: list[tuple[list[str], int]] = [
    ([f"{INTS}.sum()", f"{DOUBLES}.sum()"], 15),
    ([f"{UINTS}.sum()", f"{DURATIONS}.sum()"], 20),
    ([f"{of}.{name}()" for of in (INTS, DOUBLES, BOOLS) for name in ("isSorted", "max", "min")], 15),
    ([f"{of}.{name}()" for of in (UINTS, DURATIONS, TIMES) for name in ("isSorted", "max", "min")], 20),
    ([f"{INTS}.indexOf(3)", f"{DOUBLES}.lastIndexOf(3.0)", f"{BOOLS}.indexOf(true)"], 15),
    ([f"{UINTS}.indexOf(uint(3))", f"{DURATIONS}.indexOf(duration('3s'))", f"{TIMES}.lastIndexOf({DAYS[2]})"], 21),
    (["'01234567890123456789012345678901234567890123456789'.indexOf('123')"], 5),
    ([f"{URL}.get{part}()" for part in ("Scheme", "Hostname", "Host", "Port", "EscapedPath", "Query")], 4),
    ([f"{URL} == url('https:://kubernetes.io/')"], 9),
    ([f"{URL} == url('http://x.b')"], 5),
    ([IP4, NET4, NET6], 2),
    ([IP6], 4),
    ([f"{IP4}.{name}()" for name in ("family", "isUnspecified", "isLoopback", "isLinkLocalMulticast",
                                     "isLinkLocalUnicast", "isGlobalUnicast")], 3),
    ([f"{IP4} == {IP4}"], 5),
    ([f"{IP6} == {IP4}"], 7),
    (["ip.isCanonical('192.168.0.1')", "ip.isCanonical('2001:db8::abcd')"], 3),
    (["ip.isCanonical('2001:db8:3333:4444:5555:6666:7777:8888')"], 8),
    ([f"{NET4}.{name}()" for name in ("ip", "prefixLength", "masked")], 3),
    ([f"{NET4} == {NET6}", f"{NET6} == {NET6}"], 5),
    ([f"{NET4}.containsCIDR({of})" for of in ("cidr('192.0.0.0/30')", "'192.0.0.0/30'", "'192.168.0.0/16'")], 11),
    ([f"{NET6}.containsCIDR({of})" for of in ("cidr('2001:db8::/126')", "'2001:db8::/126'")], 11),
    ([f"{NET4}.containsIP({of})" for of in ("ip('192.0.0.1')", "'192.0.0.1'")], 7),
    ([f"{NET4}.containsIP({of})" for of in ("ip('192.169.0.1')", "'192.169.0.1'")], 8),
    (["'ABCDEFGHIJ abcdefghij'.lowerAscii()", "'ABCDEFGHIJ abcdefghij'.upperAscii()"], 3),
    ([f"'ABCDEFGHIJ abcdefghij'.{name}() == 'abcdefghij ABCDEFGHIJ'.{name}()" for name in ("lowerAscii", "upperAscii")], 9),
    (["strings.quote('ABCDEFGHIJ abcdefghij')"], 3),
    (["strings.quote('ABCDEFGHIJ abcdefghij') == strings.quote('ABCDEFGHIJ abcdefghij')"], 11),
    ([f"'abc 123 def 123'.{call}" for call in ("replace('123', '456')", "replace('', 'x')", "replace('123', '')",
                                              "replace('123', '456', 1)", "split(' ')", "split(' ', 1)")], 3),
    ([f"'abc 123 def 123'.{call}" for call in ("substring(5)", "substring(5, 8)", "find('123')", "findAll('123')",
                                              "findAll('123', 1)")], 2),
    (["'  abc 123 def 123  '.trim()"], 2),
    (["quantity('12Mi')", "isQuantity('20')", "isQuantity('20M')"], 1),
    (["quantity('200M') == quantity('200M')", "quantity('50M').isLessThan(quantity('50Mi'))"], 3),
    (["quantity('200M') == quantity('0.2G') && quantity('0.2G') == quantity('200M')"], 6),
    (["quantity('200M').compareTo(quantity('0.2G')) > 0", "quantity('50k').sub(20) == quantity('49980')"], 4),
    (["quantity('50k').add(quantity('20')) == quantity('50.02k')"], 5),
    (["quantity('50k').add(20).sub(quantity('100k')).asInteger() > 0"], 6),
    (["quantity('50k').add(20).sub(quantity('100k')).sub(-50000).asInteger() > 0"], 7),
    (["quantity('50k').asInteger() > 0", "quantity('50.703k').asApproximateFloat() > 0.0"], 3),
    (["format.named('dns1123subdomain')"], 1),
    (["format.named('dns1123Subdomain').value().validate('my-name')"], 34),
    (["format.named('dns1123Label').value() == format.named('dns1123Label').value()"], 11),
    (["sets.contains([], [])", "sets.contains([1], [])", "sets.equivalent([], [])", "sets.intersects([], [])"], 21),
    (["sets.contains([1], [1])", "sets.intersects([1], [1])", "!sets.intersects([1], [])"], 22),
    (["sets.contains([1], [1, 1])", "sets.intersects([2, 1], [1])", "sets.equivalent([1], [1])"], 23),
    (["sets.equivalent([1], [1, 1])", "sets.equivalent([1, 1], [1])"], 25),
    (["sets.contains([1, 2, 3, 4], [2, 3])"], 29),
    (["sets.contains([[1], [2, 3]], [[2, 3]])"], 53),
    (["sets.equivalent([1, 2, 3], [3, 2, 1])"], 39),
    (["sets.equivalent([[1], [2, 3]], [[1], [2, 3]])"], 69),
    (["sets.intersects([[1], [2, 3]], [[1, 2], [2, 3]])"], 65),
    # `cel-go/ext/lists.go`: 11 for a new list, and its size, squared where items are compared
    (["[1, 2, 3].slice(1, 3)"], 10 + 11 + 2),
    (["[1, 2, 3].slice(0, 3)"], 10 + 11 + 3),
    (["[1, 2, 3].reverse()"], 10 + 11 + 3),
    (["[1, 2, 3].distinct()"], 10 + 11 + 18),
    (["[1, 2, 3].sort()", "[false, true, true].sort()", "[1u, 2u, 3u].sort()", "[1.0, 2.0, 3.0].sort()"], 10 + 11 + 18),
    (["[b'a', b'b', b'c'].sort()"], 10 + 11 + 19),
    ([f"[{one}('{value}'), {one}('{value}')].sort()" for one, value in (
        ("duration", "1s"), ("timestamp", "2026-01-01T00:00:00Z"))], 10 + 2 + 11 + 8),
    (["['a', 'b', 'c'].sort()"], 10 + 11 + 19),
    (["lists.range(5)"], 11 + 5),
    (["lists.range(0)", "lists.range(-1)"], 11),
    (["[[1], [2]].flatten()", "[[1], [2]].flatten(1)"], 30 + 11 + 2),
    (["[[1], [2]].flatten(2)"], 30 + 11 + 4),
    (["semver('1.0.0')", "isSemver('1.0.0')"], 1),
    (["semver('1234.56789012345.67890123456789')", "isSemver('1234.56789012345.67890123456789')"], 4),
    ([f"semver('1.2.3').{name}()" for name in ("major", "minor", "patch")], 2),
    ([f"semver('1.0.0').{name}(semver('1.1.0'))" for name in ("isLessThan", "isGreaterThan", "compareTo")], 3),
    (["{'a': 1, 'b': 2}.all(k, v, v > 0)"], 41),
    (["{'a': 1, 'b': 2}.exists(k, v, v > 0)"], 43),
    (["{'a': 1, 'b': 2}.existsOne(k, v, v > 0)"], 40),
    (["{'a': 1, 'b': 2}.transformMap(k, v, v + 1)"], 71),
    (["{'a': 1, 'b': 2}.transformMap(k, v, v < 5, v + 1)"], 75),
    (["{'a': 1, 'b': 2}.transformMapEntry(k, v, {k: v + 1})"], 131),
    (["{'a': 1, 'b': 2}.transformMapEntry(k, v, v < 5, {k: v + 1})"], 135),
    (["[1, 2].all(i, v, v > 0)"], 21),
    (["[1, 2].exists(i, v, v > 0)"], 23),
    (["[1, 2].existsOne(i, v, v > 0)"], 20),
    (["[1, 2].transformList(i, v, v + 1)"], 49),
    (["[1, 2].transformList(i, v, v < 5, v + 1)"], 53),
    (["'Hello World!'", "true || false", "true && false", "true ? 1 : 2"], 0),
    ([f"{a} {op} {b}" for op in ("<", "<=", "==", ">", ">=", "+", "-", "/", "*", "%") for a, b in [(1, 2)]], 1),
    (["size('123')", "string(1)"], 1),
    (["[1, 2, 3]"], 10),
    (["{'a': 1, 'b': 2, 'c': 3}"], 30),
    (["[1, 2, 3].all(x, true)"], 20),
    (["2 in [1, 2, 3]"], 13),
    (["'123'.matches('[0-9]')"], 2),
]  # fmt: skip


RESOURCE = "authorizer.group('apps').resource('deployments').subresource('status').namespace('test').name('backend')"
SELECTED = "'spec.nodeName=example-node-name.fully.qualified.domain.name.example.com'"

COSTS += [
    (["authorizer.path('/healthz')"], 2),
    ([RESOURCE], 6),
    ([f"authorizer.group('').resource('pods').{of}Selector({SELECTED})" for of in ("field", "label")], 1821),
    (["authorizer.path('/healthz').check('get').allowed()"], 350_003),
    ([f"{RESOURCE}.check('create').{name}()" for name in ("allowed", "reason", "errored", "error")], 350_007),
    # bindings (`cel-go/ext/bindings.go`): an empty list, the value and the result
    (["cel.bind(x, 1 + 1, x + x)"], 10 + 1 + 3),
    (["cel.bind(x, [1, 2], x.all(y, true))"], 20 + 1 + 1 + 2 * 3),
    # parts of literals
    (["[1 + 1, 2 + 2]"], 12),
    (["{'a' + 'b': 1 + 1}"], 32),
    (["{'a': 1, 'b': 2}.all(k, true)"], 30 + 1 + 2 * 3),
    (["dyn(1 + 1)"], 2),
    (["true ? 1 + 1 : 1 + 1 + 1", "true ? 1 + 1 + 1 : 1 + 1", "1 > 2 ? 1 : 1 + 1"], 2),
    (["[1, 2].all(x, x + 1 > 1)"], 10 + 1 + 2 * (3 + 3)),
]


def cost(text: str, root: DeclType | None = None) -> int:
    declared = root or DeclType(STRING)
    node = parse(text, {**MACROS, **BINDINGS} if "cel.bind" in text else None)
    check(text, node, {"self": declared.type, "authorizer": read("kubernetes.authorization.Authorizer")})
    return estimate(node, declared)


@pytest.mark.parametrize(
    ("text", "expected"), [pytest.param(text, most, id=text) for texts, most in COSTS for text in texts]
)
def test_a_call_costs_as_much_as_in_upstreams_tests(text, expected):
    assert cost(text) == expected


def sized(type: Type, largest: int, item: DeclType | None = None) -> DeclType:
    return DeclType(type, largest=largest, item=item)


@pytest.mark.parametrize(
    ("root", "text", "expected"),
    [
        (sized(list_of(INT), 100, DeclType(INT)), "self.all(x, true)", 302),
        (sized(list_of(list_of(INT)), 50, sized(list_of(INT), 10, DeclType(INT))), "self.all(x, x.all(y, true))", 1752),
        (sized(STRING, 500), "self.matches('[0-9]')", 103),
        (sized(STRING, 500), "self.matches('\\\\d+a\\\\d+b')", 103),
        (sized(STRING, 500), "self.contains(self)", 2502),
        (sized(STRING, 500), "'abc'.startsWith(self)", 51),
        (sized(STRING, 500), "'abc'.endsWith(self)", 51),
        (sized(STRING, 500), "self.size()", 2),
        (sized(BYTES, 500), "string(self)", 51),
        (sized(STRING, 500), "bytes(self)", 51),
        (sized(list_of(INT), 1, DeclType(INT)), "(1 > 2 ? self : self).all(y, true)", 6),
        (
            sized(map_of(STRING, map_of(STRING, INT)), 5, sized(map_of(STRING, INT), 10, DeclType(INT))),
            "self.all(k, self[k].all(x, true))",
            187,
        ),
        (sized(list_of(INT), 10, DeclType(INT)), "(self + self).all(x, true)", 64),
        (sized(STRING, 10), "'abcdefg'.contains(self + self)", 6),
    ],
)  # fmt: skip
def test_declared_sizes_bound_the_cost(root, text, expected):
    assert cost(text, root) == expected


@pytest.mark.parametrize(
    ("name", "target", "args", "expected"),
    [
        ("replace", (3, 3), [(0, 0), (1, 1)], (7, 7)),
        ("replace", (3, 3), [(1, 1), (0, 0)], (0, 3)),
        ("replace", (4, 4), [(2, 2), (4, 4)], (4, 8)),
        ("replace", (4, 4), [(0, 1), (0, 2)], (0, 14)),
        ("replace", (4, 4), [(1, 1), (1, 2)], (4, 8)),
        ("replace", (4, 4), [(1, 2), (1, 1)], (2, 4)),
        ("replace", (3, 3), [(2, 2), (2, 2)], (3, 3)),
        ("join", (2, 4), [(1, 3)], (1, 9)),  # of items without a declared type: the separators
        ("join", (0, 0), [(1, 3)], (0, 0)),
        ("join", (2, 4), [], (0, 0)),
        ("split", (3, 9), [(1, 1)], (0, 9)),
        ("find", (3, 9), [(1, 1)], (0, 9)),
        ("lowerAscii", (3, 9), [], (3, 9)),
        ("url", None, [(3, 9)], (3, 9)),
        ("string_to_bytes", None, [(3, 9)], (3, 36)),
        ("string_to_bytes", None, [(3, HUGE // 3)], (3, HUGE)),
        ("bytes_to_string", None, [(7, 9)], (1, 9)),
        ("strings_quote", None, [(3, 9)], (5, 20)),
        ("list_reverse", (3, 9), [], (3, 9)),
        ("list_distinct", (3, 9), [], (9, 81)),
    ],
)
def test_the_size_of_a_result(name, target, args, expected):
    """Those of `replace` are upstream's (`cost_test.go`, TestSize)."""

    def part(size):
        return SizedNode((), STRING, None, SizeEstimate(*size))

    rule = BY_FUNCTION.get(name) or BY_OVERLOAD.get(name) or STANDARD[name]
    found = rule(Estimator(DeclType(STRING)), None, target and part(target), [part(one) for one in args])
    assert found[1] == SizeEstimate(*expected)


@pytest.mark.parametrize(
    ("size", "by", "product"),
    [(0, 0.1, 0), (1, 0.1, 1), (10, 0.1, 1), (11, 0.1, 2), (3, 2, 6), (HUGE, 2, HUGE), (HUGE // 2 + 1024, 2, HUGE)],
)
def test_a_cost_is_rounded_up_and_limited(size, by, product):
    assert factor(size, by) == product


def test_sizes_are_added_multiplied_and_united():
    one, other = SizeEstimate(2, 5), SizeEstimate(1, 7)
    assert one.plus(other) == other.plus(one) == SizeEstimate(3, 12)
    assert one.times(other) == SizeEstimate(2, 35)
    assert one.union(other) == other.union(one) == SizeEstimate(1, 7)
    largest = SizeEstimate(HUGE, HUGE)
    assert largest.plus(one) == largest.times(one) == largest


@pytest.mark.parametrize(("text", "expected"), [("true ? 'a' : 'abcdefghijk'", 2), ("true ? 'abcdefghijk' : 'a'", 2)])
def test_a_choice_is_as_large_as_its_larger_side(text, expected):
    assert cost(f"'{'x' * 10}'.contains({text})") == expected


ITEM = DeclType(STRING, largest=7)
ENTRIES = DeclType(map_of(STRING, STRING), largest=3, item=ITEM)
FIELDS = {"name": DeclType(STRING, largest=5), "list": DeclType(list_of(STRING), largest=4, item=ITEM), "map": ENTRIES}
ROOT = DeclType(STRING, largest=9, fields=FIELDS)


@pytest.mark.parametrize(
    ("path", "largest"),
    [
        pytest.param((), None, id="no-variable"),
        pytest.param(("self",), 9, id="the-variable"),
        pytest.param(("self", "name"), 5, id="a-field"),
        pytest.param(("self", "other"), None, id="an-unknown-field"),
        pytest.param(("self", "list"), 4, id="a-list"),
        pytest.param(("self", "list", "@items"), 7, id="its-items"),
        pytest.param(("self", "list", "@indices"), None, id="its-indices"),
        pytest.param(("self", "map", "@values"), 7, id="the-values-of-a-map"),
        pytest.param(("self", "map", "@keys"), 0, id="its-keys"),
        pytest.param(("self", "map", "a"), None, id="a-value-selected-as-a-field"),
        pytest.param(("self", "name", "@items"), None, id="the-items-of-a-text"),
        pytest.param(("self", "name", "@keys"), None, id="the-keys-of-a-text"),
        pytest.param(("self", "list", "@items", "x"), None, id="a-field-of-an-item"),
    ],
)
def test_the_declared_size_at_a_path(path, largest):
    expected = None if largest is None else SizeEstimate(0, largest)
    assert Estimator(ROOT).declared_size(path) == expected


@pytest.mark.parametrize(
    ("path", "largest"), [(("self", "map", "a"), 7), (("self", "list", "a"), 7), (("self", "a"), None)]
)
def test_values_of_maps_that_are_selected_like_fields_have_a_declared_size(path, largest):
    """Those of the type that the estimator is given, such as the attributes of a device."""
    expected = None if largest is None else SizeEstimate(0, largest)
    assert Estimator(ROOT, ITEM).declared_size(path) == expected
    assert Estimator(ROOT, DeclType(STRING)).declared_size(path) is None


def test_a_field_hides_the_value_of_a_map_with_its_name():
    both = DeclType(STRING, item=ITEM, fields={"name": DeclType(STRING, largest=5)})
    assert Estimator(both, ITEM).declared_size(("self", "name")) == SizeEstimate(0, 5)
    assert Estimator(both, ITEM).declared_size(("self", "x")) == SizeEstimate(0, 7)
