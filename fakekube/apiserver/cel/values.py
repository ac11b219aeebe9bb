"""CEL values that have no equivalent in Python; bool, int, float, str, bytes, None, lists and dicts are used directly
(`cel-go/common/types`, `apiserver/pkg/cel/common/values.go`)."""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from fakekube.apiserver.cel.tree import UInt
from fakekube.apiserver.cel.types import Type
from fakekube.apiserver.schema.stringformats import go_duration, loose_duration
from fakekube.apiserver.wire.gobase64 import URL_SAFE, illegal_byte
from fakekube.apiserver.wire.gojson import WholeFloat, is_number
from fakekube.apiserver.wire.goprint import type_of
from fakekube.struct import Struct


class CelError(Exception):
    """An error in an evaluation; the message is that of cel-go."""


class OverBudget(CelError):
    """An evaluation that exceeds its cost limit."""


NO_OVERLOAD = "no such overload"
UNORDERED = "NaN values cannot be ordered"
OVER_BUDGET = "operation cancelled: actual cost limit exceeded"


class Duration(Struct, frozen=True, order=True):
    """A duration in nanoseconds."""

    nanos: int

    def __str__(self) -> str:
        """The duration in seconds, as `string(duration)` returns it."""
        whole, rest = divmod(abs(self.nanos), 10**9)
        seconds = math.copysign(whole + rest / 1e9, self.nanos)
        return f"{Decimal(repr(seconds)):f}".removesuffix(".0") + "s"


@dataclass(frozen=True, slots=True, order=True)
class Timestamp:
    """A time in nanoseconds since 1970, written with an offset from UTC in seconds."""

    nanos: int
    offset: int = field(default=0, compare=False)

    def at(self, offset: int = 0) -> datetime:
        """The date and time at an offset from UTC in seconds."""
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=self.nanos // 10**9 + offset)

    def __str__(self) -> str:
        fraction = f".{self.nanos % 10**9:09d}".rstrip("0") if self.nanos % 10**9 else ""
        zone = "Z"
        if self.offset:
            minutes = abs(self.offset) // 60
            zone = f"{'-' if self.offset < 0 else '+'}{minutes // 60:02d}:{minutes % 60:02d}"
        return self.at(self.offset).replace(tzinfo=None).isoformat(timespec="seconds") + fraction + zone


class Optional(Struct, frozen=True):
    """An optional value."""

    present: bool
    value: Any = None


NONE = Optional(False)

#: The limits of timestamps in seconds since 1970: the years 1 to 9999.
TIME_LIMITS = (-62135596800, 253402300799)
DURATION_LIMIT = 315_576_000_000 * 10**9

_TIME = re.compile(r"(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d:\d\d)(?:\.(\d{1,9})\d*)?([Zz]|[+-]\d\d:\d\d)")


def timestamp(text: str) -> Timestamp | None:
    """Parses an RFC 3339 time; None if it is invalid."""
    match = _TIME.fullmatch(text)
    if not match:
        return None
    zone = match[4].upper().replace("Z", "+00:00")
    try:
        at = datetime.fromisoformat(f"{match[1]}T{match[2]}{zone}")
    except ValueError:
        return None
    since = at - datetime(1970, 1, 1, tzinfo=UTC)
    seconds, offset = since.days * 86_400 + since.seconds, at.utcoffset()
    nanos = seconds * 10**9 + int((match[3] or "").ljust(9, "0"))
    return Timestamp(nanos, int(offset.total_seconds()) if offset else 0)


def duration(text: str) -> Duration | None:
    found = go_duration(text)
    return None if found is None else Duration(found)


class SetList(list[Any]):
    """A list of type `set`, which ignores order in comparisons."""

    __slots__ = ()


class MapList(list[Any]):
    """A list of type `map`, which identifies items by keys and ignores order in comparisons."""

    __slots__ = ("keys",)

    def __init__(self, items: list[Any], keys: tuple[str, ...]) -> None:
        super().__init__(items)
        self.keys: tuple[str, ...] = keys

    def key_of(self, item: Any) -> Any:
        return tuple(_frozen(item.get(key)) for key in self.keys) if isinstance(item, dict) else None


def _frozen(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(map(_frozen, value))
    if isinstance(value, dict):
        return frozenset((key, _frozen(item)) for key, item in value.items())
    return value


# --- from JSON -------------------------------------------------------------------------------------------------------

Convert = Callable[[Any], Any]


def _bytes(value: Any) -> Any:
    """The bytes of a text in the URL-safe alphabet, unlike that of validation (`strfmt.Base64.UnmarshalText`)."""
    if not isinstance(value, str):
        return value
    at = illegal_byte(value, URL_SAFE)
    if at is not None:
        raise CelError(f"Invalid byte formatted string {value}: illegal base64 data at input byte {at}")
    return base64.urlsafe_b64decode(value)


def _duration(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    found = loose_duration(value)
    if found is None:
        raise CelError(f"Invalid duration {value}: unable to parse {value} as duration")
    return Duration(found)


def _date(value: Any) -> Any:
    found = timestamp(f"{value}T00:00:00Z") if isinstance(value, str) else None
    if found is None:
        raise CelError(f"Invalid date formatted string '{value}'")
    return found


def _date_time(value: Any) -> Any:
    found = timestamp(value or "1970-01-01T00:00:00Z") if isinstance(value, str) else None
    if found is None:
        raise CelError(f"Invalid date-time formatted string '{value}'")
    return found


def _number(value: Any) -> Any:
    return float(value) if type(value) is int or type(value) is WholeFloat else value


def _list(item: Convert | None, list_type: str, keys: tuple[str, ...]) -> Convert | None:
    def convert(value: Any) -> Any:
        if type(value) is not list:
            return value
        made = [None if one is None else item(one) for one in value] if item is not None else value
        if list_type == "set":
            return SetList(made)
        return MapList(made, keys) if list_type == "map" else made

    return convert if item is not None or list_type in ("set", "map") else None


def _map(item: Convert | None) -> Convert | None:
    if item is None:
        return None

    def convert(value: Any) -> Any:
        if type(value) is not dict:
            return value
        return {key: None if one is None else item(one) for key, one in value.items()}

    return convert


#: Conversions of JSON values to CEL values, by format.
CONVERTERS: Mapping[str, Any] = {
    "byte": _bytes,
    "duration": _duration,
    "date": _date,
    "date-time": _date_time,
    "number": _number,
    "list": _list,
    "map": _map,
}


class Checked(Struct, frozen=True):
    """A conversion that fails for values of other types; `problem` may have the value's type in Go as placeholder."""

    accepts: Callable[[Any], bool]
    problem: str
    then: Convert | None = None

    def __call__(self, value: Any) -> Any:
        if value is not None and not self.accepts(value):
            raise CelError(self.problem.format(type_of(value)))
        return value if self.then is None else self.then(value)


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool | WholeFloat)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


_MAP_EXPECTED = "invalid data, expected a map for the provided schema with type=object"
_LIST_EXPECTED = "invalid data, expected an array for the provided schema with type=array"
_TEXT_EXPECTED = "invalid data, expected string, got {}"
_INT_OR_STRING = "invalid data, expected XIntOrString value to be either a string or integer"

#: Conversions of values that may not be of their declared types (`UnstructuredToVal`).
CHECKED_CONVERTERS: Mapping[str, Any] = {
    "string": Checked(_is_text, _TEXT_EXPECTED),
    "integer": Checked(_is_int, "invalid data, expected int, got {}"),
    "boolean": Checked(lambda value: isinstance(value, bool), "invalid data, expected bool, got {}"),
    "object": Checked(lambda value: isinstance(value, dict), _MAP_EXPECTED),
    "int-or-string": Checked(lambda value: _is_text(value) or _is_int(value), _INT_OR_STRING),
    "number": Checked(is_number, "invalid data, expected float, got {}", _number),
    **{form: Checked(_is_text, _TEXT_EXPECTED, CONVERTERS[form]) for form in ("byte", "duration", "date", "date-time")},
    "list": lambda item, *how: Checked(lambda value: isinstance(value, list), _LIST_EXPECTED, _list(item, *how)),
    "map": lambda item: Checked(lambda value: isinstance(value, dict), _MAP_EXPECTED, _map(item)),
}


# --- equality and order ----------------------------------------------------------------------------------------------


def equal(a: Any, b: Any) -> bool:
    """Whether two values are equal. Numbers of different types can be equal, other values of different types cannot."""
    if a is None or b is None:
        return a is b
    if hasattr(a, "cel_type") and type(a) is not type(b):
        raise CelError(NO_OVERLOAD)
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, dict):
        return isinstance(b, dict) and len(a) == len(b) and all(k in b and equal(v, b[k]) for k, v in a.items())
    if isinstance(a, list):
        return isinstance(b, list) and _equal_lists(a, b)
    if isinstance(a, Optional):
        return isinstance(b, Optional) and a.present == b.present and equal(a.value, b.value)
    if isinstance(b, str | dict | list):
        return bool(a == b) if type(a) is type(b) else False
    return bool(a == b)


def _equal_lists(a: list[Any], b: list[Any]) -> bool:
    if len(a) != len(b):
        return False
    if isinstance(a, SetList):
        return all(contains(b, one) for one in a) and all(contains(a, one) for one in b)
    if isinstance(a, MapList):
        others = {a.key_of(one): one for one in b}
        return all(a.key_of(one) in others and equal(one, others[a.key_of(one)]) for one in a)
    return all(map(equal, a, b))


def contains(items: list[Any], value: Any) -> bool:
    return any(equal(one, value) for one in items)


_KINDS: tuple[tuple[type, str], ...] = (
    (bool, "bool"), (UInt, "uint"), (int, "int"), (float, "double"), (str, "string"), (bytes, "bytes"), (list, "list"),
    (dict, "map"), (Timestamp, "google.protobuf.Timestamp"), (Duration, "google.protobuf.Duration"),
    (Optional, "optional_type"), (Type, "type"),
)  # fmt: skip


class Message(dict[str, Any]):
    """The value of a message literal."""

    def __init__(self, name: str) -> None:
        self.cel_type = name


def kind_of(value: Any) -> str:
    """The name of a value's type, as `type(value)` returns it."""
    if value is None:
        return "null_type"
    for kind, name in _KINDS:
        if isinstance(value, kind):
            return name
    return str(getattr(value, "cel_type", type(value).__name__))


_GO_TYPES: Mapping[str, str] = {
    "bool": "types.Bool", "int": "types.Int", "uint": "types.Uint", "double": "types.Double",
    "string": "types.String", "bytes": "types.Bytes", "null_type": "types.Null",
    "google.protobuf.Timestamp": "types.Timestamp", "google.protobuf.Duration": "types.Duration",
    "list": "*types.baseList", "map": "*types.baseMap", "type": "*types.Type", "optional_type": "*types.Optional",
}  # fmt: skip


def go_type(value: Any) -> str:
    """The name of the Go type of a value in cel-go, which some errors contain."""
    kind = kind_of(value)
    return _GO_TYPES.get(kind) or f"cel.{kind.rpartition('.')[2]}"


_ORDERED = frozenset(
    {"bool", "int", "uint", "double", "string", "bytes", "google.protobuf.Timestamp", "google.protobuf.Duration"}
)
_NUMBERS = frozenset({"int", "uint", "double"})


def compare(a: Any, b: Any) -> int:
    """Compares two values: -1, 0 or 1. Raises CelError if they are not ordered."""
    kinds = kind_of(a), kind_of(b)
    if (kinds[0] == kinds[1] and kinds[0] in _ORDERED) or (kinds[0] in _NUMBERS and kinds[1] in _NUMBERS):
        if a != a or b != b:
            raise CelError(UNORDERED)
        return int(a > b) - int(a < b)
    raise CelError(NO_OVERLOAD)


def in_int64(value: int) -> int:
    if not -(2**63) <= value < 2**63:
        raise CelError("integer overflow")
    return value


def in_uint64(value: int) -> UInt:
    if not 0 <= value < 2**64:
        raise CelError("unsigned integer overflow")
    return UInt(value)
