"""Validates names, label keys and label values (apimachinery `util/validation`). Each check returns the errors."""

from __future__ import annotations

import re
from collections.abc import Callable

from fakekube.apiserver.features import enabled, since

DNS_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
DNS_SUBDOMAIN = rf"{DNS_LABEL}(\.{DNS_LABEL})*"
QUALIFIED_NAME = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
LABEL_VALUE = rf"({QUALIFIED_NAME})?"

_dns_label = re.compile(DNS_LABEL)
_dns_subdomain = re.compile(DNS_SUBDOMAIN)
_dns1035 = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_qualified_name = re.compile(QUALIFIED_NAME)
_label_value = re.compile(LABEL_VALUE)

SUBDOMAIN_MESSAGE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character"
)
LABEL_MESSAGE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character"
)
LABEL_1035_MESSAGE = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character"
)
QUALIFIED_NAME_MESSAGE = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
)
LABEL_VALUE_MESSAGE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character"
)

NameCheck = Callable[[str, bool], list[str]]


def regex_message(message: str, pattern: str, *examples: str) -> str:
    """The error of a text that does not match a regular expression (`validation.RegexError`)."""
    text = message
    if examples:
        text += " (e.g. " + "".join(f"{' or ' if i else ''}'{one}', " for i, one in enumerate(examples))
    else:
        text += " ("
    return f"{text}regex used for validation is '{pattern}')"


def too_long(limit: int) -> str:
    return f"must be no more than {limit} characters"


def too_many_bytes(limit: int) -> str:
    """The error of a label key or value that is too long (`validate/content.MaxLenError`)."""
    if not since(35):
        return too_long(limit)
    return f"must be no more than {limit} bytes"


def _masked(name: str, prefix: bool) -> str:
    """The name without a trailing dash, which a generateName may have (`maskTrailingDash`)."""
    return name[:-2] + "a" if prefix and len(name) > 1 and name.endswith("-") else name


def dns_subdomain_problems(name: str, prefix: bool = False) -> list[str]:
    name = _masked(name, prefix)
    problems = [too_long(253)] if len(name) > 253 else []
    if not _dns_subdomain.fullmatch(name):
        problems.append(regex_message(SUBDOMAIN_MESSAGE, DNS_SUBDOMAIN, "example.com"))
    return problems


def long_name_problems(name: str, prefix: bool = False) -> list[str]:
    """A DNS subdomain whose prefix (generateName) is not validated (`validate.LongName` in
    `ValidateObjectMetaWithOpts`)."""
    if prefix:
        return []
    return [one.replace(too_long(253), too_many_bytes(253)) for one in dns_subdomain_problems(name)]


def dns_label_problems(name: str, prefix: bool = False) -> list[str]:
    name = _masked(name, prefix)
    problems = [too_long(63)] if len(name) > 63 else []
    if not _dns_label.fullmatch(name):
        if _dns_subdomain.fullmatch(name):
            problems.append("must not contain dots")
        else:
            problems.append(regex_message(LABEL_MESSAGE, DNS_LABEL, "my-name", "123-abc"))
    return problems


def dns1035_label_problems(name: str, prefix: bool = False) -> list[str]:
    name = _masked(name, prefix)
    problems = [too_long(63)] if len(name) > 63 else []
    if not _dns1035.fullmatch(name):
        problems.append(regex_message(LABEL_1035_MESSAGE, "[a-z]([-a-z0-9]*[a-z0-9])?", "my-name", "abc-123"))
    return problems


def service_name_problems(name: str, prefix: bool = False) -> list[str]:
    if enabled("RelaxedServiceNameValidation"):
        return dns_label_problems(name, prefix)
    return dns1035_label_problems(name, prefix)


def path_segment_problems(name: str, prefix: bool = False) -> list[str]:
    """Validates a path segment, as names of RBAC objects are."""
    if not prefix and name in (".", ".."):
        return [f"may not be '{name}'"]
    return [f"may not contain '{part}'" for part in ("/", "%") if part in name]


def any_name_problems(name: str, prefix: bool = False) -> list[str]:
    return []


def qualified_name_problems(value: str) -> list[str]:
    """Validates a label key or an annotation key: `name` or `prefix/name`."""
    parts = value.split("/")
    problems: list[str] = []
    if len(parts) > 2:
        message = ("a valid label key " if since(35) else "a qualified name ") + regex_message(
            QUALIFIED_NAME_MESSAGE, QUALIFIED_NAME, "MyName", "my.name", "123-abc"
        )
        return [message + " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"]
    if len(parts) == 2:
        prefix = parts[0]
        if not prefix:
            problems.append("prefix part must be non-empty")
        else:
            problems += ["prefix part " + one for one in long_name_problems(prefix)]
    name = parts[-1]
    if not name:
        problems.append("name part must be non-empty")
    elif len(name) > 63:
        problems.append("name part " + too_many_bytes(63))
    if not _qualified_name.fullmatch(name):
        text = regex_message(QUALIFIED_NAME_MESSAGE, QUALIFIED_NAME, "MyName", "my.name", "123-abc")
        problems.append("name part " + text)
    return problems


def label_value_problems(value: str) -> list[str]:
    problems = [too_many_bytes(63)] if len(value) > 63 else []
    if not _label_value.fullmatch(value):
        problems.append(regex_message(LABEL_VALUE_MESSAGE, LABEL_VALUE, "MyValue", "my_value", "12345"))
    return problems
