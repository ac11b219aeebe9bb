"""The functions of Kubernetes for URLs, quantities, addresses, versions and formats (`apiserver/pkg/cel/library`)."""

from __future__ import annotations

import ipaddress
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar

from fakekube.apiserver import names
from fakekube.apiserver.cel.library.overload import Overload, overload
from fakekube.apiserver.cel.values import NO_OVERLOAD, NONE, CelError, Optional
from fakekube.apiserver.schema import stringformats
from fakekube.apiserver.schema.quantity import InvalidQuantity, parts_of
from fakekube.apiserver.wire import gonetip, gourl
from fakekube.apiserver.wire.goprint import go_quote
from fakekube.struct import Struct

# --- URLs ------------------------------------------------------------------------------------------------------------


class UrlValue(Struct, frozen=True):
    """A URL."""

    url: gourl.Url
    cel_type: ClassVar[str] = "kubernetes.URL"


def to_url(text: str) -> UrlValue:
    try:
        gourl.parse_request_uri(text)
        return UrlValue(gourl.parse_request_uri(text.partition("#")[0]))
    except gourl.BadUrl as problem:
        raise CelError(f"URL parse error during conversion from string: {problem}") from None


# --- quantities ------------------------------------------------------------------------------------------------------


class Quantity(Struct, frozen=True, eq=False):
    """A quantity as Go holds it: `digits` with a power of ten. `fits`: they are an int64, not of any length."""

    digits: int
    exponent: int = 0
    fits: bool = True
    cel_type: ClassVar[str] = "kubernetes.Quantity"

    @property
    def amount(self) -> Fraction:
        return self.digits * Fraction(10) ** self.exponent

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantity) and self.amount == other.amount

    def __hash__(self) -> int:
        return hash(self.amount)


def to_quantity(text: str) -> Quantity:
    try:
        return Quantity(*parts_of(text))
    except InvalidQuantity as problem:
        raise CelError(str(problem)) from None


def as_integer(one: Quantity) -> int:
    if not is_integer(one):
        raise CelError("cannot convert value to integer")
    return int(one.digits * 10**one.exponent)


def is_integer(one: Quantity) -> bool:
    """Whether it is an int64 without a fraction, as it was written: `1000m` is none (`Quantity.AsInt64`)."""
    return one.fits and one.exponent >= 0 and _is_int64(one.digits * 10**one.exponent)


def as_float(one: Quantity) -> float:
    """`Quantity.AsApproximateFloat64`: a product, which is rounded; infinite beyond float64."""
    try:
        digits = float(one.digits)
    except OverflowError:
        digits = math.inf if one.digits > 0 else -math.inf
    return digits * float(f"1e{one.exponent}")


def plus(one: Quantity, other: Quantity | int, sign: int = 1) -> Quantity:
    """The sum, or the difference, with the scale that `Quantity.Add` gives it."""
    if isinstance(other, int):
        other = Quantity(other)
    fits = one.fits and other.fits
    if fits and not other.digits:
        return one
    if fits and not one.digits:
        return Quantity(sign * other.digits, other.exponent)
    exponent = min(one.exponent, other.exponent)
    parts = [each.digits * 10 ** (each.exponent - exponent) for each in (one, other)]
    total = parts[0] + sign * parts[1]
    return Quantity(total, exponent, fits and all(map(_is_int64, (*parts, total))))


def _is_int64(number: int) -> bool:
    return -(2**63) <= number < 2**63


# --- addresses -------------------------------------------------------------------------------------------------------

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Interface | ipaddress.IPv6Interface


class Ip(Struct, frozen=True):
    """An IP address."""

    address: Address
    cel_type: ClassVar[str] = "net.IP"


class Cidr(Struct, frozen=True):
    """A network, with the address as it was written."""

    network: Network
    cel_type: ClassVar[str] = "net.CIDR"


def to_ip(text: str) -> Ip:
    try:
        gonetip.check_address(text)
    except gonetip.BadAddress as problem:
        raise CelError(f"IP Address {go_quote(text)} parse error during conversion from string: {problem}") from None
    if "%" in text:
        raise CelError(f"IP address {go_quote(text)} with zone value is not allowed")
    address = ipaddress.ip_address(text)
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        raise CelError(f"IPv4-mapped IPv6 address {go_quote(text)} is not allowed")
    return Ip(address)


def to_cidr(text: str) -> Cidr:
    why = "network address parse error during conversion from string: "
    try:
        gonetip.check_prefix(text)
    except gonetip.BadAddress as problem:
        raise CelError(f"{why}{why}{problem}") from None
    network = ipaddress.ip_interface(text)
    if isinstance(network.ip, ipaddress.IPv6Address) and network.ip.ipv4_mapped is not None:
        raise CelError(f"{why}IPv4-mapped IPv6 address {go_quote(text)} is not allowed")
    return Cidr(network)


def contains_ip(cidr: Cidr, other: Ip | str) -> bool:
    try:
        one = to_ip(other) if isinstance(other, str) else other
    except CelError:
        raise CelError(NO_OVERLOAD) from None
    return one.address in cidr.network.network


def contains_cidr(cidr: Cidr, other: Cidr | str) -> bool:
    one = (to_cidr(other) if isinstance(other, str) else other).network.network
    mine = cidr.network.network
    return one.version == mine.version and one.network_address in mine and mine.prefixlen <= one.prefixlen


def is_global_unicast(one: Ip) -> bool:
    address = one.address
    if isinstance(address, ipaddress.IPv4Address) and str(address) == "255.255.255.255":
        return False
    return not (address.is_unspecified or address.is_loopback or address.is_multicast or address.is_link_local)


def is_link_local_multicast(one: Ip) -> bool:
    if isinstance(one.address, ipaddress.IPv4Address):
        return one.address in ipaddress.ip_network("224.0.0.0/24")
    return one.address.is_multicast and one.address.packed[1] & 0x0F == 2


# --- versions --------------------------------------------------------------------------------------------------------

_NUMBER = r"(0|[1-9][0-9]*)"
_SEMVER = re.compile(
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?"
)


class Semver(Struct, frozen=True):
    """A semantic version. A pre-release (`before`) precedes its release."""

    major: int
    minor: int
    patch: int
    before: tuple[str, ...] = ()
    cel_type: ClassVar[str] = "kubernetes.Semver"

    def key(self) -> tuple[Any, ...]:
        """The sort key."""
        parts = tuple((0, int(one), "") if one.isdigit() else (1, 0, one) for one in self.before)
        return self.major, self.minor, self.patch, not self.before, parts


def _normal(text: str) -> str:
    parts = text.removeprefix("v").split(".", 2)
    for i, part in enumerate(parts):
        if len(part) > 1:
            rest = part.lstrip("0")
            parts[i] = rest if rest[:1].isdigit() else "0" + rest
    if len(parts) < 3 and any(char in parts[-1] for char in "+-"):
        raise CelError("short version cannot contain PreRelease/Build meta data")
    return ".".join([*parts, *["0"] * (3 - len(parts))])


def to_semver(text: str, normalize: bool = False) -> Semver:
    text = _normal(text) if normalize else text
    match = _SEMVER.fullmatch(text)
    if not match:
        raise CelError(_semver_problem(text))
    large = next((number for number in match.groups()[:3] if int(number[:21]) >= 2**64), None)
    if large is not None:
        raise CelError(f"strconv.ParseUint: parsing {go_quote(large)}: value out of range")
    before = tuple(match[4].split(".")) if match[4] else ()
    bad = next((one for one in before if one.isdigit() and len(one) > 1 and one[0] == "0"), None)
    if bad is not None:
        raise CelError(f"Numeric PreRelease version must not contain leading zeroes {go_quote(bad)}")
    return Semver(int(match[1]), int(match[2]), int(match[3]), before)


def _semver_problem(text: str) -> str:
    """The error of a text that is no version (`blang/semver`)."""
    if not text:
        return "Version string empty"
    parts = text.split(".", 2)
    if len(parts) != 3:
        return "No Major.Minor.Patch elements found"
    rest, plus, build = parts[2].partition("+")
    patch, minus, before = rest.partition("-")
    for name, number in (("major", parts[0]), ("minor", parts[1]), ("patch", patch)):
        if not re.fullmatch(r"[0-9]*", number, re.ASCII):
            return f"Invalid character(s) found in {name} number {go_quote(number)}"
        if len(number) > 1 and number[0] == "0":
            return f"{name.capitalize()} number must not contain leading zeroes {go_quote(number)}"
        if not number:
            return 'strconv.ParseUint: parsing "": invalid syntax'
    bad = [one for one in before.split(".") if minus and not re.fullmatch(r"[0-9A-Za-z-]+", one, re.ASCII)]
    if bad:
        return f"Invalid character(s) found in prerelease {go_quote(bad[0])}" if bad[0] else "Prerelease is empty"
    bad = [one for one in build.split(".") if plus and not re.fullmatch(r"[0-9A-Za-z-]+", one, re.ASCII)]
    wrong = go_quote(bad[0]) if bad else ""
    return f"Invalid character(s) found in build meta data {wrong}" if bad and bad[0] else "Build meta data is empty"


# --- formats ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class NamedFormat:
    """A named format of strings, with a function that returns the errors of a string."""

    name: str
    problems: Callable[[str], list[str]]
    cel_type: ClassVar[str] = "kubernetes.NamedFormat"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NamedFormat) and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)


def _known(name: str, why: str) -> Callable[[str], list[str]]:
    check = stringformats.FORMATS[name]
    return lambda text: [] if check(text) else [why]


def _uri(text: str) -> list[str]:
    try:
        gourl.parse_request_uri(text)
    except gourl.BadUrl as problem:
        return [str(problem)]
    return []


FORMATS: dict[str, NamedFormat] = {
    name: NamedFormat(name, problems)
    for name, problems in (
        ("dns1123Label", lambda text: names.dns_label_problems(text)),
        ("dns1123Subdomain", lambda text: names.dns_subdomain_problems(text)),
        ("dns1035Label", lambda text: names.dns1035_label_problems(text)),
        ("qualifiedName", names.qualified_name_problems),
        ("dns1123LabelPrefix", lambda text: names.dns_label_problems(text, True)),
        ("dns1123SubdomainPrefix", lambda text: names.dns_subdomain_problems(text, True)),
        ("dns1035LabelPrefix", lambda text: names.dns1035_label_problems(text, True)),
        ("labelValue", names.label_value_problems),
        ("uri", _uri),
        ("uuid", _known("uuid", "does not match the UUID format")),
        ("byte", _known("byte", "invalid base64")),
        ("date", _known("date", "invalid date")),
        ("datetime", _known("datetime", "invalid datetime")),
    )
}


def validate(one: NamedFormat, text: str) -> Optional:
    """The errors of a text; none if it is valid."""
    found = one.problems(text)
    return Optional(True, found) if found else NONE


def named(name: str) -> Optional:
    found = FORMATS.get(name)
    return Optional(True, found) if found is not None else NONE


# --- declarations ----------------------------------------------------------------------------------------------------


def _takes(convert: Callable[..., Any]) -> Callable[..., bool]:
    def takes(*args: Any) -> bool:
        try:
            convert(*args)
        except CelError:
            return False
        return True

    return takes


def _order(a: Any, b: Any) -> int:
    return int(a > b) - int(a < b)


_QUANTITY_TYPE, _SEMVER_TYPE = "kubernetes.Quantity", "kubernetes.Semver"


def _comparisons(kind: str, prefix: str, key: Callable[[Any], Any]) -> list[Overload]:
    return [
        overload(
            "isGreaterThan", f"{prefix}_is_greater_than", f"{kind}.({kind}) -> bool", lambda a, b: key(a) > key(b)
        ),
        overload("isLessThan", f"{prefix}_is_less_than", f"{kind}.({kind}) -> bool", lambda a, b: key(a) < key(b)),
        overload("compareTo", f"{prefix}_compare_to", f"{kind}.({kind}) -> int", lambda a, b: _order(key(a), key(b))),
    ]


OVERLOADS: list[Overload] = [
    overload("url", "string_to_url", "(string) -> kubernetes.URL", to_url),
    overload("isURL", "is_url_string", "(string) -> bool", _takes(to_url)),
    overload("getScheme", "url_get_scheme", "kubernetes.URL.() -> string", lambda one: one.url.scheme),
    overload("getHost", "url_get_host", "kubernetes.URL.() -> string", lambda one: one.url.host),
    overload("getHostname", "url_get_hostname", "kubernetes.URL.() -> string", lambda one: one.url.hostname),
    overload("getPort", "url_get_port", "kubernetes.URL.() -> string", lambda one: one.url.port),
    overload(
        "getEscapedPath", "url_get_escaped_path", "kubernetes.URL.() -> string", lambda one: gourl.escaped_path(one.url)
    ),
    overload(
        "getQuery",
        "url_get_query",
        "kubernetes.URL.() -> map(string, list(string))",
        lambda one: gourl.query_values(one.url.raw_query),
    ),
    overload("quantity", "string_to_quantity", "(string) -> kubernetes.Quantity", to_quantity),
    overload("isQuantity", "is_quantity_string", "(string) -> bool", _takes(to_quantity)),
    overload("sign", "quantity_sign", "(kubernetes.Quantity) -> int", lambda one: _order(one.amount, 0)),
    *_comparisons(_QUANTITY_TYPE, "quantity", lambda one: one.amount),
    overload("asApproximateFloat", "quantity_get_float", "kubernetes.Quantity.() -> double", as_float),
    overload("asInteger", "quantity_get_int", "kubernetes.Quantity.() -> int", as_integer),
    overload("isInteger", "quantity_is_integer", "kubernetes.Quantity.() -> bool", is_integer),
    overload(
        "add",
        "quantity_add",
        "kubernetes.Quantity.(kubernetes.Quantity) -> kubernetes.Quantity",
        plus,
    ),
    overload(
        "add",
        "quantity_add_int",
        "kubernetes.Quantity.(int) -> kubernetes.Quantity",
        plus,
    ),
    overload(
        "sub",
        "quantity_sub",
        "kubernetes.Quantity.(kubernetes.Quantity) -> kubernetes.Quantity",
        partial(plus, sign=-1),
    ),
    overload(
        "sub",
        "quantity_sub_int",
        "kubernetes.Quantity.(int) -> kubernetes.Quantity",
        partial(plus, sign=-1),
    ),
    overload("ip", "string_to_ip", "(string) -> net.IP", to_ip),
    overload("ip", "cidr_ip", "net.CIDR.() -> net.IP", lambda one: Ip(one.network.ip)),
    overload("isIP", "is_ip", "(string) -> bool", _takes(to_ip)),
    overload("ip.isCanonical", "ip_is_canonical", "(string) -> bool", lambda text: str(to_ip(text).address) == text),
    overload("family", "ip_family", "net.IP.() -> int", lambda one: one.address.version),
    overload("isUnspecified", "ip_is_unspecified", "net.IP.() -> bool", lambda one: one.address.is_unspecified),
    overload("isLoopback", "ip_is_loopback", "net.IP.() -> bool", lambda one: one.address.is_loopback),
    overload("isLinkLocalMulticast", "ip_is_link_local_multicast", "net.IP.() -> bool", is_link_local_multicast),
    overload(
        "isLinkLocalUnicast", "ip_is_link_local_unicast", "net.IP.() -> bool", lambda one: one.address.is_link_local
    ),
    overload("isGlobalUnicast", "ip_is_global_unicast", "net.IP.() -> bool", is_global_unicast),
    overload("string", "ip_to_string", "(net.IP) -> string", lambda one: str(one.address)),
    overload("cidr", "string_to_cidr", "(string) -> net.CIDR", to_cidr),
    overload("isCIDR", "is_cidr", "(string) -> bool", _takes(to_cidr)),
    overload("containsIP", "cidr_contains_ip_string", "net.CIDR.(string) -> bool", contains_ip),
    overload("containsIP", "cidr_contains_ip_ip", "net.CIDR.(net.IP) -> bool", contains_ip),
    overload("containsCIDR", "cidr_contains_cidr_string", "net.CIDR.(string) -> bool", contains_cidr),
    overload("containsCIDR", "cidr_contains_cidr", "net.CIDR.(net.CIDR) -> bool", contains_cidr),
    overload("prefixLength", "cidr_prefix_length", "net.CIDR.() -> int", lambda one: one.network.network.prefixlen),
    overload(
        "masked",
        "cidr_masked",
        "net.CIDR.() -> net.CIDR",
        lambda one: Cidr(ipaddress.ip_interface(str(one.network.network))),
    ),
    overload("string", "cidr_to_string", "(net.CIDR) -> string", lambda one: str(one.network)),
    overload("semver", "string_to_semver", "(string) -> kubernetes.Semver", to_semver),
    overload("semver", "string_bool_to_semver", "(string, bool) -> kubernetes.Semver", to_semver),
    overload("isSemver", "is_semver_string", "(string) -> bool", _takes(to_semver)),
    overload("isSemver", "is_semver_string_bool", "(string, bool) -> bool", _takes(to_semver)),
    *_comparisons(_SEMVER_TYPE, "semver", lambda one: one.key()),
    overload("major", "semver_major", "kubernetes.Semver.() -> int", lambda one: one.major),
    overload("minor", "semver_minor", "kubernetes.Semver.() -> int", lambda one: one.minor),
    overload("patch", "semver_patch", "kubernetes.Semver.() -> int", lambda one: one.patch),
    *(
        overload(f"format.{name}", f"format.{name}", "() -> kubernetes.NamedFormat", lambda found=found: found)
        for name, found in FORMATS.items()
    ),
    overload("format.named", "format-named", "(string) -> optional_type(kubernetes.NamedFormat)", named),
    overload("validate", "format-validate", "kubernetes.NamedFormat.(string) -> optional_type(list(string))", validate),
]
