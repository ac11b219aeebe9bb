"""Rules for single values (apimachinery `util/validation`): each returns the problems of a value."""

from __future__ import annotations

import ipaddress
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from fakekube.apiserver import names
from fakekube.apiserver.features import enabled, since
from fakekube.apiserver.wire.status import FieldError

Errors = list[FieldError]
Problems = Callable[[str], tuple[str, ...]]

NEGATIVE = "must be greater than or equal to 0"
NOT_POSITIVE = "must be greater than zero"
IMMUTABLE = "field is immutable"
MAX_INT32 = 2**31 - 1
CONFIG_KEY = "[-._a-zA-Z0-9]+"


def range_problem(low: int, high: int) -> str:
    return f"must be between {low} and {high}, inclusive"


def _failed(problems: Mapping[str, object]) -> tuple[str, ...]:
    """The problems that occur."""
    return tuple([problem for problem, failed in problems.items() if failed])


def pattern_problems(pattern: str, message: str, *examples: str, limit: int = sys.maxsize) -> Problems:
    """Returns the rule for texts of a pattern and a length; its error is that of `RegexError`."""
    matches, shown = re.compile(pattern).fullmatch, names.regex_message(message, pattern, *examples)
    return lru_cache(4096)(lambda text: _failed({names.too_long(limit): len(text) > limit, shown: not matches(text)}))


def _cached(problems: Callable[[str], Sequence[str]]) -> Problems:
    remembered = lru_cache(8192)(lambda text, recent: tuple(problems(text)))
    return lambda text: remembered(text, since(35))  # the words of lengths


dns_label_problems = _cached(names.dns_label_problems)
dns_subdomain_problems = _cached(names.dns_subdomain_problems)
qualified_name_problems = _cached(names.qualified_name_problems)
label_value_problems = _cached(names.label_value_problems)
subdomain_with_underscore_problems = pattern_problems(
    r"_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*",
    names.SUBDOMAIN_MESSAGE.replace("characters, '-'", "characters, '_', '-'"),
    "example.com",
    limit=253,
)
http_header_problems = pattern_problems(
    "[-A-Za-z0-9]+", "a valid HTTP header must consist of alphanumeric characters or '-'", "X-Header-Name"
)
http_path_problems = pattern_problems(r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+", "Invalid path")
percent_problems = pattern_problems(
    "[0-9]+%", "a valid percent string must be a numeric string followed by an ending '%'", "1%", "93%"
)
_config_key_problems = pattern_problems(
    CONFIG_KEY,
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
    *("key.name", "KEY_NAME", "key-name"),
    limit=253,
)


@lru_cache(4096)
def config_key_problems(key: str) -> tuple[str, ...]:
    """Keys of ConfigMaps and Secrets, which are also file names."""
    dots = {
        f"must not be '{key}'": key in (".", ".."),
        "must not start with '..'": key.startswith("..") and key != "..",
    }
    return _config_key_problems(key) + _failed(dots)


def env_name_problems(name: str) -> tuple[str, ...]:
    """Names of environment variables."""
    if enabled("RelaxedEnvironmentVariableValidation"):
        return _relaxed_env_name_problems(name)
    if name in (".", ".."):
        return (f"must not be '{name}'",)
    why = ("must not start with '..'",) if name.startswith("..") else ()
    return (*_strict_env_name_problems(name), *why)


_strict_env_name_problems = pattern_problems(
    "[-._a-zA-Z][-._a-zA-Z0-9]*",
    "a valid environment variable name must consist of alphabetic characters, digits, '_', '-', or '.', and must not "
    "start with a digit",
    "my.env-name",
    "MY_ENV.NAME",
    "MyEnvName1",
)


@lru_cache(4096)
def _relaxed_env_name_problems(name: str) -> tuple[str, ...]:
    """Every printable character but `=`."""
    if not name:
        return ("environment variable name must be non-empty",)
    why = "a valid environment variable name must consist only of printable ASCII characters other than '='"
    return _failed({why: not re.fullmatch(r"[ -<>-~]+", name)})


@lru_cache(4096)
def port_name_problems(name: str) -> tuple[str, ...]:
    return _failed(
        {
            names.too_long(15): len(name) > 15,
            "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)": not re.fullmatch(
                "[-a-z0-9]+", name
            ),
            "must contain at least one letter (a-z)": not re.search("[a-z]", name),
            "must not contain consecutive hyphens": "--" in name,
            "must not begin or end with a hyphen": "-" in (name[:1], name[-1:]),
        }
    )


def share(value: int | str) -> int:
    """The number in an int-or-percent; 0 if the text is neither (`getIntOrPercentValue`)."""
    return value if isinstance(value, int) else _share_in(value)


@lru_cache(maxsize=256)
def _share_in(text: str) -> int:
    digits = text if percent_problems(text) else text[:-1]
    return int(digits) if re.fullmatch(r"[+-]?[0-9]{1,18}", digits) else 0


Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def parse_ip(value: str) -> Address | None:
    """Parses an address, which may have leading zeros (`ParseIPSloppy`)."""
    if re.fullmatch(r"[0-9]+(\.[0-9]+){3}", value):
        parts = [int(part) for part in value.split(".")]
        return ipaddress.IPv4Address(bytes(parts)) if max(parts) < 256 else None
    try:
        return None if "%" in value else ipaddress.ip_address(value)
    except ValueError:
        return None


#: The gate of strict rules for addresses and ranges in the older fields.
STRICT_IPS = "StrictIPCIDRValidation"


def ip_problems(value: str) -> list[str]:
    """An address in an unusual form, which the older fields accepted once."""
    address = parse_ip(value)
    if address is None:
        return ["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"]
    if address.version == 4:
        return ["must not have leading 0s"] if str(address) != value else []
    return ["must not be an IPv4-mapped IPv6 address"] if address.ipv4_mapped else []


def legacy_ip_problems(value: str) -> list[str]:
    """An address in one of the older fields, which were lenient before 1.36 (`IsValidIPForLegacyField`)."""
    if enabled(STRICT_IPS) or parse_ip(value) is None:
        return ip_problems(value)
    return []


def backstep_problems(path: str) -> tuple[str, ...]:
    return _failed({"must not contain '..'": ".." in path.split("/")})


def descending_path_problems(path: str) -> tuple[str, ...]:
    """Relative, and never upwards (`validateLocalDescendingPath`)."""
    return _failed({"must be a relative path": path.startswith("/")}) + backstep_problems(path)


def unreserved_path_problems(path: str) -> tuple[str, ...]:
    """Names that start with two dots are reserved for the kubelet (`ValidateLocalNonReservedPath`)."""
    reserved = path.startswith("..") and not path.startswith("../")
    return descending_path_problems(path) + _failed({"must not start with '..'": reserved})
