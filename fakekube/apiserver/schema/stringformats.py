"""The string formats that are validated (`kube-openapi/pkg/validation/strfmt`)."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from datetime import date

from fakekube.apiserver.features import since
from fakekube.apiserver.wire.goregexp import compiled
from fakekube.apiserver.wire.gourl import BadUrl, parse_request_uri

Format = Callable[[str], bool]

_SEGMENT = "[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"


def matcher(pattern: str, flags: int = 0) -> Format:
    """A predicate that matches the whole text. The pattern must match in linear time."""
    compiled = re.compile(pattern, flags | re.ASCII)
    return lambda text: compiled.fullmatch(text) is not None


def is_date(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return len(text) == 10


_CLOCK = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))")


def is_datetime(text: str) -> bool:
    day, _, clock = text.lower().partition("t")
    clock = clock.partition("t")[0]
    match = _CLOCK.fullmatch(clock)
    return is_date(day) and match is not None and match[1] <= "23" and match[2] <= "59" and match[3] <= "59"


GO_UNITS = {"ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}
_GO_DURATION = re.compile(r"([0-9]*)(?:\.([0-9]*))?(ns|us|µs|μs|ms|s|m|h)")
_LIMIT = 2**63


def go_duration(text: str) -> int | None:
    """The nanoseconds of a duration (`time.ParseDuration`); None if it is invalid."""
    sign, rest = (-1, text[1:]) if text.startswith("-") else (1, text[1:] if text.startswith("+") else text)
    if rest == "0":
        return 0
    total, at = 0, 0
    while at < len(rest):
        match = _GO_DURATION.match(rest, at)
        if not match or not (match[1] or match[2]):
            return None
        unit = GO_UNITS[match[3]]
        total += int(match[1] or 0) * unit
        if match[2]:
            total += int(match[2]) * unit // 10 ** len(match[2])
        if total > _LIMIT - (sign > 0):
            return None
        at = match.end()
    return sign * total if rest else None


_LOOSE_DURATION = re.compile(r"(\d+)\s*([A-Za-zµ]+)", re.ASCII)
_LOOSE_UNITS = (
    ("ns", "nano"), ("us", "µs", "micro"), ("ms", "milli"), ("s", "sec"), ("m", "min"), ("h", "hr", "hour"),
    ("d", "day"), ("w", "wk", "week"),
)  # fmt: skip


def loose_duration(text: str) -> int | None:
    """The nanoseconds of the format `duration`: a Go duration, or counts of named units anywhere in the text."""
    found = go_duration(text)
    if found is not None:
        return found
    total, known = 0, False
    sizes = (1, 10**3, 10**6, 10**9, 60 * 10**9, 3600 * 10**9, 86400 * 10**9, 7 * 86400 * 10**9)
    for count, unit in _LOOSE_DURATION.findall(text):
        if int(count) >= _LIMIT:
            return None
        for names, size in zip(_LOOSE_UNITS, sizes, strict=True):
            hits = sum(unit.lower() == one or (one is names[-1] and unit.lower().startswith(one)) for one in names)
            known = known or bool(hits)
            total += hits * int(count) * size
    return total if known else None


def _plain_zeros(text: str) -> str:
    """An IPv4 address without leading zeros, which the parser of Go's formats ignores."""
    return ".".join(part.lstrip("0") or "0" if part.isdigit() else part for part in text.split("."))


def is_ipv4(text: str) -> bool:
    if "." not in text:
        return False
    return _ip(_plain_zeros(text)) if ":" not in text else _ip(text)


def is_ipv6(text: str) -> bool:
    return ":" in text and _ip(text)


def _ip(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return "%" not in text


def is_cidr(text: str) -> bool:
    address, slash, bits = text.partition("/")
    if not slash or not re.fullmatch(r"[0-9]{1,3}", bits):
        return False
    known = is_ipv4(address) or is_ipv6(address)
    return known and int(bits) <= (128 if ":" in address else 32)


_MAC = re.compile(
    r"[0-9A-Fa-f]{2}(?:([:-])[0-9A-Fa-f]{2}(?:\1[0-9A-Fa-f]{2}){4}(?:(?:\1[0-9A-Fa-f]{2}){2}|(?:\1[0-9A-Fa-f]{2}){14})?)"
    r"|[0-9A-Fa-f]{4}(?:\.[0-9A-Fa-f]{4}){2}(?:\.[0-9A-Fa-f]{4})?|[0-9A-Fa-f]{4}(?:\.[0-9A-Fa-f]{4}){9}"
)


def is_uri(text: str) -> bool:
    try:
        parse_request_uri(text)
    except BadUrl:
        return False
    return True


_ATOM = r"[^\s()<>\[\]:;@\\,.\"]+"
_ADDRESS = re.compile(
    rf"(?:{_ATOM}(?:\.{_ATOM})*|\"[^\"\\]*\")@(?:{_ATOM}(?:\.{_ATOM})*|\[[^\[\]\\]*\])",
)
_NAMED = re.compile(r"(?:[^<>@,\"]*|\"[^\"]*\")\s*<([^<>]*)>\s*")


def is_email(text: str) -> bool:
    """Whether a text is an address, or a name with an address in angle brackets."""
    named = _NAMED.fullmatch(text)
    return _ADDRESS.fullmatch(named[1] if named else text.strip(" \t")) is not None


#: A label with at most one dash after its first character, or labels that end with a dot, and a last one of letters
#: (`strfmt.HostnamePattern`): `a-b-c` alone is none.
_SIGN = r"a-zA-Z0-9\p{S}\p{L}"
_LABEL = rf"[{_SIGN}](([-{_SIGN}]{{0,61}}[{_SIGN}])?)"
_HOSTNAME = rf"^([{_SIGN}]((-?[{_SIGN}]{{0,62}})?)|({_LABEL}(\.)){{1,}}([a-zA-Z\p{{L}}]){{2,63}})$"


def is_hostname(text: str) -> bool:
    if len(text.encode()) > 255 or any(len(part.encode()) > 63 for part in text.split(".")):
        return False
    return compiled(_HOSTNAME).search(text) is not None


def _digits(text: str) -> str:
    return re.sub(r"[\s-]+", "", text)


def is_isbn10(text: str) -> bool:
    found = _digits(text)
    if not re.fullmatch(r"[0-9]{9}X|[0-9]{10}", found):
        return False
    total = sum((i + 1) * int(char) for i, char in enumerate(found[:9]))
    return (total + 10 * (10 if found[9] == "X" else int(found[9]))) % 11 == 0


def is_isbn13(text: str) -> bool:
    found = _digits(text)
    if not re.fullmatch(r"[0-9]{13}", found):
        return False
    total = sum((1, 3)[i % 2] * int(char) for i, char in enumerate(found[:12]))
    return int(found[12]) == (10 - total % 10) % 10


_CARD = re.compile(
    r"4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}"
    r"|(?:2131|1800|35[0-9]{3})[0-9]{11}"
)


def is_credit_card(text: str) -> bool:
    found = re.sub(r"[^0-9]+", "", text)
    if not _CARD.fullmatch(found):
        return False
    doubled = (sum(divmod(int(c) * 2, 10)) if i % 2 else int(c) for i, c in enumerate(reversed(found)))
    return sum(doubled) % 10 == 0


_BYTE = r"(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])"
_SSN = matcher(r"\d{3}[- ]?\d{2}[- ]?\d{4}")
_SHORT_NAME = matcher(_SEGMENT)
_LONG_NAME = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?")


def is_long_name(text: str) -> bool:
    return len(text) <= 253 and all(_LONG_NAME.fullmatch(part) for part in text.split("."))


def _uuid(third: str = "[0-9a-f]", fourth: str = "[0-9a-f]") -> Format:
    return matcher(
        rf"[0-9a-f]{{8}}-?[0-9a-f]{{4}}-?{third}[0-9a-f]{{3}}-?{fourth}[0-9a-f]{{3}}-?[0-9a-f]{{12}}", re.IGNORECASE
    )


#: Name without dashes -> predicate.
FORMATS: dict[str, Format] = {
    "bsonobjectid": matcher("[0-9a-fA-F]{24}"),
    "uri": is_uri,
    "email": is_email,
    "hostname": is_hostname,
    "ipv4": is_ipv4,
    "ipv6": is_ipv6,
    "cidr": is_cidr,
    "mac": lambda text: _MAC.fullmatch(text) is not None,
    "uuid": _uuid(),
    "uuid3": _uuid("3"),
    "uuid4": _uuid("4", "[89ab]"),
    "uuid5": _uuid("5", "[89ab]"),
    "isbn": lambda text: is_isbn10(text) or is_isbn13(text),
    "isbn10": is_isbn10,
    "isbn13": is_isbn13,
    "creditcard": is_credit_card,
    "ssn": lambda text: len(text) == 11 and _SSN(text),
    "hexcolor": matcher("#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})"),
    "rgbcolor": matcher(rf"rgb\(\s*{_BYTE}\s*,\s*{_BYTE}\s*,\s*{_BYTE}\s*\)"),
    "byte": matcher("(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})"),
    "password": lambda text: True,
    "date": is_date,
    "duration": lambda text: loose_duration(text) is not None,
    "datetime": is_datetime,
    "k8sshortname": lambda text: len(text) <= 63 and _SHORT_NAME(text),
    "k8slongname": is_long_name,
}


def known(name: str) -> Format | None:
    """The predicate of a format; None if the format is not validated."""
    found = FORMATS.get(name.replace("-", ""))
    return found if found is None or not name.startswith("k8s-") or since(35) else None
