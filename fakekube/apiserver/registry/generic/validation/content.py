"""What single values must look like, wherever they stand (apimachinery `util/validation`).

A check is given the value, its path and the list of errors, to which it adds what is wrong.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Sequence
from functools import lru_cache

from fakekube.apiserver import names
from fakekube.apiserver.wire.status import FieldError, field_invalid, field_not_supported

Errors = list[FieldError]

NEGATIVE = "must be greater than or equal to 0"
NOT_POSITIVE = "must be greater than zero"
IMMUTABLE = "field is immutable"
MAX_INT32 = 2**31 - 1

CONFIG_KEY = r"[-._a-zA-Z0-9]+"
PERCENT = r"[0-9]+%"
HTTP_HEADER = r"[-A-Za-z0-9]+"
HTTP_PATH = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"
SUBDOMAIN_WITH_UNDERSCORE = r"_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*"

_config_key = re.compile(CONFIG_KEY)
_percent = re.compile(PERCENT)
_http_header = re.compile(HTTP_HEADER)
_http_path = re.compile(HTTP_PATH)
_subdomain_with_underscore = re.compile(SUBDOMAIN_WITH_UNDERSCORE)
_relaxed_env_name = re.compile(r"[ -<>-~]+")
_port_characters = re.compile(r"[-a-z0-9]+")
_dotted = re.compile(r"[0-9]+(\.[0-9]+){3}")


def add(errors: Errors, path: str, value: object, problems: Sequence[str]) -> None:
    """An "Invalid value" for each problem."""
    for problem in problems:
        errors.append(field_invalid(path, value, problem))


def check_nonnegative(value: int | None, path: str, errors: Errors) -> None:
    if value is not None and value < 0:
        errors.append(field_invalid(path, value, NEGATIVE))


def check_supported(value: str | None, supported: Sequence[str], path: str, errors: Errors) -> None:
    if value not in supported:
        errors.append(field_not_supported(path, value or "", supported))


def range_problem(low: int, high: int) -> str:
    return f"must be between {low} and {high}, inclusive"


# --- names ---------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def dns_label_problems(value: str) -> tuple[str, ...]:
    return tuple(names.dns_label_problems(value))


@lru_cache(maxsize=4096)
def dns_subdomain_problems(value: str) -> tuple[str, ...]:
    return tuple(names.dns_subdomain_problems(value))


@lru_cache(maxsize=4096)
def qualified_name_problems(value: str) -> tuple[str, ...]:
    return tuple(names.qualified_name_problems(value))


@lru_cache(maxsize=8192)
def label_value_problems(value: str) -> tuple[str, ...]:
    return tuple(names.label_value_problems(value))


def check_dns_label(value: str, path: str, errors: Errors) -> None:
    add(errors, path, value, dns_label_problems(value))


def subdomain_with_underscore_problems(value: str) -> list[str]:
    problems = [names.too_long(253)] if len(value) > 253 else []
    if not _subdomain_with_underscore.fullmatch(value):
        message = names.SUBDOMAIN_MESSAGE.replace("characters, '-'", "characters, '_', '-'")
        problems.append(names.regex_message(message, SUBDOMAIN_WITH_UNDERSCORE, "example.com"))
    return problems


@lru_cache(maxsize=4096)
def relaxed_env_name_problems(value: str) -> tuple[str, ...]:
    """Names of environment variables: anything printable but `=`."""
    if not value:
        return ("environment variable name must be non-empty",)
    if _relaxed_env_name.fullmatch(value):
        return ()
    return ("a valid environment variable name must consist only of printable ASCII characters other than '='",)


@lru_cache(maxsize=4096)
def config_key_problems(value: str) -> tuple[str, ...]:
    """Keys of ConfigMaps and Secrets, which are also file names."""
    problems = [names.too_long(253)] if len(value) > 253 else []
    if not _config_key.fullmatch(value):
        message = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'"
        problems.append(names.regex_message(message, CONFIG_KEY, "key.name", "KEY_NAME", "key-name"))
    if value in (".", ".."):
        problems.append(f"must not be '{value}'")
    elif value.startswith(".."):
        problems.append("must not start with '..'")
    return tuple(problems)


def http_header_problems(value: str) -> list[str]:
    if _http_header.fullmatch(value):
        return []
    message = "a valid HTTP header must consist of alphanumeric characters or '-'"
    return [names.regex_message(message, HTTP_HEADER, "X-Header-Name")]


def http_path_problems(value: str) -> list[str]:
    return [] if _http_path.fullmatch(value) else [names.regex_message("Invalid path", HTTP_PATH)]


# --- ports ---------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1024)
def port_name_problems(value: str) -> tuple[str, ...]:
    problems = [names.too_long(15)] if len(value) > 15 else []
    if not _port_characters.fullmatch(value):
        problems.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not any("a" <= char <= "z" for char in value):
        problems.append("must contain at least one letter (a-z)")
    if "--" in value:
        problems.append("must not contain consecutive hyphens")
    if value and "-" in (value[0], value[-1]):
        problems.append("must not begin or end with a hyphen")
    return tuple(problems)


# --- numbers in text -----------------------------------------------------------------------------------------------


def percent_problems(value: str) -> list[str]:
    if _percent.fullmatch(value):
        return []
    message = "a valid percent string must be a numeric string followed by an ending '%'"
    return [names.regex_message(message, PERCENT, "1%", "93%")]


def share(value: int | str) -> int:
    """The number in an int-or-percent; 0 where it is neither (`getIntOrPercentValue`)."""
    return value if isinstance(value, int) else _share_in(value)


@lru_cache(maxsize=256)
def _share_in(text: str) -> int:
    digits = text[:-1] if _percent.fullmatch(text) else text
    return int(digits) if re.fullmatch(r"[+-]?[0-9]{1,18}", digits) else 0


# --- addresses -----------------------------------------------------------------------------------------------------

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def parse_ip(value: str) -> Address | None:
    """An address, also one with leading zeros in it (`ParseIPSloppy`)."""
    if _dotted.fullmatch(value):
        parts = [int(part) for part in value.split(".")]
        return ipaddress.IPv4Address(bytes(parts)) if max(parts) < 256 else None
    if "%" in value:
        return None
    try:
        return ipaddress.ip_address(value)
    except ValueError:
        return None


def ip_problems(value: str) -> list[str]:
    """Of an address in a field that has always been there (`IsValidIPForLegacyField`, strict)."""
    address = parse_ip(value)
    if address is None:
        return ["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"]
    if address.version == 4:
        zeros = any(len(part) > 1 and part[0] == "0" for part in value.split("."))
        return ["must not have leading 0s"] if zeros else []
    return ["must not be an IPv4-mapped IPv6 address"] if address.ipv4_mapped else []


# --- paths of files ------------------------------------------------------------------------------------------------


def backstep_problems(value: str) -> list[str]:
    return ["must not contain '..'"] if ".." in value and ".." in value.split("/") else []


def descending_path_problems(value: str) -> list[str]:
    """Relative, and never upwards (`validateLocalDescendingPath`)."""
    return (["must be a relative path"] if value.startswith("/") else []) + backstep_problems(value)


def unreserved_path_problems(value: str) -> list[str]:
    """Names that start with two dots are reserved for the kubelet (`ValidateLocalNonReservedPath`)."""
    reserved = value.startswith("..") and not value.startswith("../")
    return descending_path_problems(value) + (["must not start with '..'"] if reserved else [])
