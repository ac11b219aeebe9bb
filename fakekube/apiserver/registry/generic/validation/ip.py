"""Validates IP addresses and CIDR ranges (apimachinery `util/validation/ip.go`, strict since 1.36)."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Container

from fakekube.apiserver.features import enabled, since
from fakekube.apiserver.registry.generic.validation.content import STRICT_IPS, Address, ip_problems, parse_ip
from fakekube.apiserver.registry.generic.validation.field import Field
from fakekube.apiserver.wire.gonetip import BadAddress, check_address, check_prefix
from fakekube.apiserver.wire.goprint import go_quote

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_length = re.compile(r"[0-9]{1,4}")
_leading_zero = re.compile(r"(^|[./])0[0-9]")


def mapped(address: Address) -> Address:
    """Go treats an IPv4-mapped IPv6 address as an IPv4 address."""
    inner = address.ipv4_mapped if address.version == 6 else None
    return inner if inner is not None else address


def family(value: str) -> str:
    """IPv4 or IPv6; empty if the text is no address."""
    address = parse_ip(value)
    if address is None:
        return ""
    return "IPv6" if mapped(address).version == 6 else "IPv4"


def canonical(address: Address) -> str:
    """`net.IP.String`."""
    return str(mapped(address))


def canonical_text(value: str) -> str:
    """The canonical form of an address; empty if the text is no valid address."""
    address = parse_ip(value)
    return "" if address is None or ip_problems(value) else canonical(address)


def canonical_range(network: Network) -> str:
    """`net.IPNet.String`: a range of IPv4-mapped addresses in the form of IPv4. Python 3.13 writes them differently."""
    address = network.network_address
    inner = mapped(address)
    return str(network) if inner is address else f"{inner}/{network.prefixlen - 96}"


def special_problems(value: str) -> list[str]:
    """Addresses that no endpoint can have (`ValidateNonSpecialIP`)."""
    address = parse_ip(value)
    if address is None:
        return ["must be a valid IP address"]
    address = mapped(address)
    packed = address.packed
    multicast = packed[:3] == b"\xe0\x00\x00" if len(packed) == 4 else packed[0] == 0xFF and packed[1] & 0x0F == 0x02
    problems = {
        f"may not be unspecified ({value})": address.is_unspecified,
        "may not be in the loopback range (127.0.0.0/8, ::1/128)": address.is_loopback,
        "may not be in the link-local range (169.254.0.0/16, fe80::/10)": address.is_link_local,
        "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)": multicast,
    }
    return [problem for problem, found in problems.items() if found]


def parse_cidr(value: str) -> tuple[Address, Network] | None:
    """Returns the address before the slash and its network (`ParseCIDRSloppy`)."""
    text, slash, length = value.partition("/")
    address = parse_ip(text)
    if not slash or address is None or not _length.fullmatch(length) or int(length) > address.max_prefixlen:
        return None
    return address, ipaddress.ip_network((address, int(length)), strict=False)


def interface_address_problems(value: str) -> list[str]:
    """An address with the length of its network (`IsValidInterfaceAddress`)."""
    parsed = parse_cidr(value)
    if parsed is None:
        return ["must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)"]
    address, network = parsed
    length = network.prefixlen
    if mapped(address) is not address and length > 32:
        length -= 96
    right = f"{canonical(address)}/{length}"
    return [] if value == right else [f"must be in canonical form ({go_quote(right)})"]


def legacy_cidr_problems(value: str) -> list[str]:
    """A range in one of the older fields, which were lenient before 1.36 (`IsValidCIDRForLegacyField`)."""
    if enabled(STRICT_IPS) or parse_cidr(value) is None:
        return cidr_problems(value)
    return []


def cidr_problems(value: str) -> list[str]:
    """A range in an unusual form, which the older fields accepted once."""
    parsed = parse_cidr(value)
    if parsed is None:
        return ["must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"]
    address, network = parsed
    if (address.version == 4 and _leading_zero.search(value)) or re.search(r"/0[0-9]", value):
        return ["must not have leading 0s in IP or prefix length"]
    if address.version == 6 and address.ipv4_mapped is not None:
        return ["must not have an IPv4-mapped IPv6 address"]
    if address != network.network_address:
        return ["must not have bits set beyond the prefix length"]
    return []


def validate_cidr(cidr: Field, known: Container[str] = ()) -> None:
    """`known` are the ranges of the stored object, which stay valid."""
    if cidr.text not in known:
        cidr.check(legacy_cidr_problems)


def canonical_cidr_problems(value: str) -> list[str]:
    """A range in one of the newer fields (`IsValidCIDR`)."""
    problems, parsed = cidr_problems(value), parse_cidr(value)
    if problems or parsed is None or str(parsed[1]) == value:
        return problems
    return [f"must be in canonical form ({go_quote(str(parsed[1]))})"]


def cidr_family(value: str) -> str:
    parsed = parse_cidr(value)
    return "" if parsed is None else f"IPv{mapped(parsed[0]).version}"


def _verdict() -> str:
    return "is invalid" if since(36) else "will be considered invalid in a future Kubernetes release"


def ip_warnings(value: str, path: str, *, before_33: bool = False) -> list[str]:
    """Warns about an address that validation rejects today, or in an unusual form (`GetWarningsForIP`).

    before_33: whether the kind had a warning before 1.33, too.
    """
    if not since(33):
        return _warnings_before_33(value, path, "address", check_address) if before_33 else []
    address = parse_ip(value)
    if address is None:
        return []
    if ip_problems(value):
        shown = go_quote(canonical(address))
        return [f"{path}: non-standard IP address {go_quote(value)} {_verdict()}: use {shown}"]
    if address.version == 6 and str(address) != value:
        shown = go_quote(str(address))
        return [f"{path}: IPv6 address {go_quote(value)} should be in RFC 5952 canonical format ({shown})"]
    return []


def cidr_warnings(value: str, path: str, *, before_33: bool = False) -> list[str]:
    """`GetWarningsForCIDR`; `before_33` as in `ip_warnings`."""
    if not since(33):
        return _warnings_before_33(value, path, "prefix", check_prefix) if before_33 else []
    parsed = parse_cidr(value)
    if parsed is None:
        return []
    address, network = parsed
    right = go_quote(canonical_range(network))
    warnings = []
    if address != network.network_address:
        alone = go_quote(f"{canonical(address)}/{address.max_prefixlen}")
        warnings.append(
            f"{path}: CIDR value {go_quote(value)} is ambiguous in this context (should be {right} or {alone}?)"
        )
    if _leading_zero.search(value) or (address.version == 6 and address.ipv4_mapped is not None):
        warnings.append(f"{path}: non-standard CIDR value {go_quote(value)} {_verdict()}: use {right}")
    if not warnings and address.version == 6 and str(network) != value:
        warnings.append(f"{path}: IPv6 CIDR value {go_quote(value)} should be in RFC 5952 canonical format ({right})")
    return warnings


def _warnings_before_33(value: str, path: str, what: str, check: Callable[[str], None]) -> list[str]:
    """`getWarningsForIP` and `getWarningsForCIDR` of Services."""
    try:
        check(value)
    except BadAddress as problem:
        return [f"{path}: IP {what} was accepted, but will be invalid in a future Kubernetes release: {problem}"]
    end = next((place for place, char in enumerate(value) if char in "%/"), len(value))
    address, rest = ipaddress.ip_address(value[:end]), value[end:]  # a zone, or the length of a prefix
    inner = mapped(address)
    right = f"{address if inner is address else f'::ffff:{inner}'}{rest}"  # as `netip.Addr.String` writes it
    if address.version == 4 or right == value:
        return []
    unusual = f"{go_quote(value)} is not in RFC 5952 canonical format ({go_quote(right)})"
    return [f"{path}: IPv6 {what} {unusual}, which may cause controller apply-loops"]
