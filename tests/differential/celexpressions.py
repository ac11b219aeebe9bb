"""Drawn CEL expressions: most have the type that they are drawn for, and can be evaluated."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tests.differential.scenario import Draw

#: Type -> literals and constants.
LITERALS: dict[str, tuple[str, ...]] = {
    "bool": ("true", "false"),
    "int": ("0", "1", "-1", "3", "10", "9223372036854775807", "-9223372036854775808", "0x1F"),
    "uint": ("0u", "1u", "18446744073709551615u"),
    "double": ("0.0", "1.5", "-2.25", "1e3", "0.1"),
    "string": ("''", "'a'", "'abc'", "'A-b_c'", '"x\\ty"', "r'\\d+'", "'10'", "'ä€😀'", "'1.2.3.4'", "'true'", "'a,b,c'", "'  a '",
               "'2020-01-01T00:00:00Z'", "'1h30m'", "'1Gi'", "'https://a.example.com:80/p?q=1#f'", "'1.2.3-rc.1'"),
    "bytes": ("b'a'", "b'\\xff'", "bytes('ä')"),
    "null": ("null",),
    "duration": (
        "duration(string({duration}))", "duration('1h')", "duration('90s')", "duration('-1.5s')", "duration('1ms')"),
    "timestamp": ("timestamp('2020-01-01T00:00:00Z')", "timestamp('2020-12-31T23:59:59.123456789+01:00')", "timestamp(0)"),
    "ints": ("[1, 2, 3]", "[]", "[3, 1, 2, 3]", "[1]"),
    "strings": ("['a', 'b']", "['b', 'a', 'b']", "['x']"),
    "map": ("{'a': 1, 'b': 2}", "{'a': 1}", "{}"),
    "quantity": ("quantity('1Gi')", "quantity('100m')", "quantity('1.5')", "quantity('-2k')"),
    "ip": ("ip('1.2.3.4')", "ip('::1')", "ip('fe80::1')", "ip('127.0.0.1')", "ip('224.0.0.1')"),
    "cidr": ("cidr('10.0.0.0/8')", "cidr('::/0')", "cidr('192.168.1.5/24')"),
    "url": ("url('https://a.example.com:80/p?q=1&q=2#f')", "url('/a/b')", "url('https://[::1]/')"),
    "semver": ("semver('1.2.3')", "semver('0.1.0-alpha.1+b')", "semver('v1.2', true)"),
    "optint": ("optional.of(1)", "optional.none()", "optional.ofNonZeroValue(0)", "{'a': 1}[?'a']", "[1, 2][?5]"),
    "type": ("int", "type('a')", "type(1.5)", "type([])"),
}  # fmt: skip

#: Type -> forms; `{type}` is an expression of that type.
FORMS: dict[str, tuple[str, ...]] = {
    "bool": (
        "!({bool})", "({bool} && {bool})", "({bool} || {bool})", "({int} < {int})", "({int} == {int})", "({double} >= {double})",
        "({string} == {string})", "({string} != {string})", "({string} < {string})", "({int} in {ints})", "({string} in {strings})",
        "({string} in {map})", "{string}.contains({string})", "{string}.startsWith({string})", "{string}.endsWith({string})",
        "{string}.matches({string})", "{ints}.all(x, x > {int})", "{ints}.exists(x, x == {int})", "{ints}.exists_one(x, x == {int})",
        "{strings}.all(s, s.size() > {int})", "{ints}.isSorted()", "({timestamp} < {timestamp})", "({duration} > {duration})",
        "({bool} ? {bool} : {bool})", "({ints} == {ints})", "({map} == {map})", "isQuantity({string})", "{quantity}.isLessThan({quantity})",
        "{quantity}.isGreaterThan({quantity})", "({quantity} == {quantity})", "{quantity}.isInteger()", "isIP({string})", "{ip}.isLoopback()", "({ip} == {ip})",
        "{ip}.isUnspecified()", "{ip}.isLinkLocalMulticast()", "{ip}.isGlobalUnicast()", "ip.isCanonical({string})", "{cidr}.containsIP({ip})",
        "{cidr}.containsIP({string})", "{cidr}.containsCIDR({cidr})", "isCIDR({string})", "isURL({string})", "({url} == {url})", "isSemver({string})",
        "{semver}.isLessThan({semver})", "({semver} == {semver})", "sets.contains({ints}, {ints})", "sets.intersects({ints}, {ints})",
        "sets.equivalent({ints}, {ints})", "{optint}.hasValue()", "format.named({string}).hasValue()",
        "format.dns1123Label().validate({string}).hasValue()", "({uint} <= {uint})", "({bytes} == {bytes})", "({int} < {double})", "has({map}.a)",
        "({null} == {null})", "{ints}.all(i, x, x >= i)", "{map}.exists(k, v, v > {int})", "{map}.all(k, k != {string})",
        "{strings}.exists(x, x.contains({string}))", "(dyn({int}) == dyn({string}))",
    ),
    "int": (
        "({int} + {int})", "({int} - {int})", "({int} * {int})", "({int} / {int})", "({int} % {int})", "-({int})", "size({string})", "{string}.size()",
        "size({ints})", "{ints}[{int}]", "{map}['a']", "{map}[{string}]", "int({double})", "int({timestamp})", "({bool} ? {int} : {int})",
        "{string}.indexOf({string})", "{string}.lastIndexOf({string})", "{string}.indexOf({string}, {int})", "{ints}.sum()", "{ints}.min()", "{ints}.max()",
        "{ints}.indexOf({int})", "{timestamp}.getFullYear()", "{timestamp}.getMonth()", "{timestamp}.getDayOfWeek('Europe/Berlin')",
        "{timestamp}.getHours()", "{timestamp}.getDayOfYear()", "{duration}.getSeconds()", "{duration}.getMilliseconds()", "{quantity}.asInteger()",
        "{quantity}.compareTo({quantity})", "{ip}.family()", "{cidr}.prefixLength()", "{semver}.major()", "{semver}.patch()",
        "{semver}.compareTo({semver})", "{optint}.orValue({int})", "{optint}.value()", "size({bytes})", "size({map})", "{ints}.filter(x, x > {int}).size()",
        "int({uint})",
        "[{int}, {int}][0]", "{strings}.size()", "{ints}.lastIndexOf({int})", "{optint}.optMap(x, x + 1).orValue({int})",
    ),
    "uint": ("({uint} + {uint})", "uint({int})", "({uint} * {uint})", "({uint} % {uint})"),
    "double": (
        "({double} + {double})", "({double} / {double})", "({double} * {double})", "-({double})", "double({int})",
        "{quantity}.asApproximateFloat()", "({bool} ? {double} : {double})",
    ),
    "string": (
        "({string} + {string})", "string({int})", "string({double})", "string({bool})", "string({timestamp})", "string({duration})", "string({bytes})",
        "string({uint})", "string({ip})", "string({cidr})", "{string}.lowerAscii()", "{string}.upperAscii()", "{string}.trim()",
        "{string}.replace({string}, {string})", "{string}.replace({string}, {string}, {int})", "{string}.substring({int})", "{string}.substring({int}, {int})",
        "{string}.charAt({int})", "{string}.find({string})", "{strings}.join({string})", "{strings}[{int}]", "{url}.getHost()", "{url}.getHostname()",
        "{url}.getPort()", "{url}.getScheme()", "{url}.getEscapedPath()", "'%s is %d'.format([{string}, {int}])", "'%.3f|%e'.format([{double}, {double}])",
        "'%s %s'.format([{ints}, {map}])", "'%x %b %o'.format([{int}, {int}, {int}])", "'%s'.format([{timestamp}])", "'%s %s'.format([{duration}, {bool}])",
        "({bool} ? {string} : {string})", "strings.quote({string})", "'%%%s'.format([{type}])",
        "'%X'.format([{string}])", "{cidr}.ip() == {ip} ? 'y' : 'n'",
    ),
    "bytes": ("bytes({string})", "({bytes} + {bytes})"),
    "null": (),
    "duration": (
        "duration(string({duration}))", "({duration} + {duration})", "({timestamp} - {timestamp})", "({duration} - {duration})"),
    "timestamp": ("timestamp(string({timestamp}))", "({timestamp} + {duration})", "({timestamp} - {duration})", "timestamp({int})"),
    "ints": (
        "({ints} + {ints})", "{ints}.map(x, x * {int})", "{ints}.filter(x, x != {int})", "[{int}, {int}]", "{ints}.map(x, x > {int}, x)", "{strings}.map(s, s.size())",
        "({bool} ? {ints} : {ints})", "lists.range({int})", "{ints}.slice({int}, {int})", "[{ints}, {ints}].flatten()", "{ints}.sort()", "{ints}.distinct()", "{ints}.reverse()",
        "[?{optint}, {int}]", "{map}.map(k, {int})",
    ),
    "strings": (
        "{string}.split({string})", "{string}.split({string}, {int})", "{string}.findAll({string})", "{strings}.map(s, s + {string})", "({strings} + {strings})",
        "{map}.map(k, k)", "[{string}, {string}]", "{string}.findAll({string}, {int})", "{strings}.filter(x, x != {string})", "{strings}.sort()",
    ),
    "map": ("{'a': {int}, {string}: {int}}", "{'x': {int}}", "({bool} ? {map} : {map})", "{?'a': {optint}}", "{ints}.transformMap(i, v, v)"),
    "quantity": ("{quantity}.add({quantity})", "{quantity}.sub({quantity})", "{quantity}.add({int})", "quantity({string})"),
    "ip": ("ip({string})", "{cidr}.ip()"),
    "cidr": ("cidr({string})", "{cidr}.masked()"),
    "url": ("url({string})",),
    "semver": ("semver({string})", "semver({string}, true)"),
    "optint": ("{optint}.or({optint})", "{map}[?{string}]", "{ints}[?{int}]", "{map}.?a", "{ints}.first()", "{optint}.optMap(x, x * 2)", "optional.of({int})"),
    "type": ("type({int})", "type({string})", "type({map})"),
}  # fmt: skip

#: What makes an expression wrong, or unusual.
WRONG: tuple[str, ...] = (
    "({0} + )", "nosuch({0})", "nosuch", "{0}.nosuch()", "({0} + 'a')", "({0} == 1)", "{0}.size()", "has({0})", "{0}.all(x, x)", "'unterminated",
    "{0} ? 1 : 'a'", "dyn({0})", "[{0}, 'a', 1.5]", "{0}[0]", "{0}.a", "{0} in {0}", "!{0}", "-{0}", "{0};", "{0} // comment", "1 + {0}",
    "{0}.map(1, x)", "{0}.exists(x.y, true)", "if", "{0}.{0}", "package.x", "__internal__", "{{0}: 1}", "size({0}, {0})", "math.abs({0})", "cel.bind(x, {0}, x)", "{0}.reverse()", "base64.encode({0})", "int({0})", "double({0})", "bool({0})",
    "{0}.join()", "{0}.min()", "duration({0})", "timestamp({0})", "'%d'.format([{0}])", "'%e %x'.format([{0}, {0}])", "{0}.sign()", "1e400", "{0} == {0}", "string({0})", "type({0})",
)  # fmt: skip


PLACE = re.compile(r"\{(\w+)\}")


def expression(
    draw: Draw, kind: str, variables: Mapping[str, tuple[str, ...]], depth: int = 2, wrong: float = 0.0
) -> str:
    """An expression of a type. `variables` has expressions by type; `wrong` is the share of forms that rarely compile."""
    if wrong and draw.chance(wrong):
        inner = expression(draw, draw.one(tuple(LITERALS)), variables, depth - 1)
        return draw.one(WRONG).replace("{0}", inner)
    known = variables.get(kind, ())
    if known and draw.chance(0.35):
        return draw.one(known)
    if depth <= 0 or not FORMS[kind] or draw.chance(0.1):
        return draw.one(LITERALS[kind])
    return PLACE.sub(lambda found: expression(draw, found.group(1), variables, depth - 1, wrong), draw.one(FORMS[kind]))
