"""The recorded requests: which of them match, and which come nearest to what was expected."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from fakekube.apiserver.requestlog import RequestRecord
from fakekube.control.requestfields import Schema, camel, of_options
from fakekube.harness.keywords import RequestFields

#: The fields of a request; texts may be shell patterns, and the code one like "4xx".
FIELDS: Mapping[str, Schema] = {
    **of_options(RequestFields),
    "code": {"anyOf": [{"type": "integer"}, {"type": "string"}], "example": "4xx"},
}

#: The records that come nearest, which a failed verification shows.
NEAREST = 3

_CODES = re.compile(r"[1-5][0-9x]{2}")


def shown(record: RequestRecord, began: float) -> dict[str, Any]:
    """A record as JSON; `began`: the time of the server's clock, in seconds since 1970, when that was 0."""
    found = {camel(name): value for name, value in record._asdict().items() if value not in ("", 0)}
    return {**found, "at": round(began + record.at, 6), "code": record.code}


def check(wanted: Mapping[str, Any]) -> None:
    """Raises ValueError for a pattern of codes that is none."""
    code = wanted.get("code")
    if isinstance(code, str) and not _CODES.fullmatch(code):
        raise ValueError(f"code={code!r} is not a code, like 404, or a class of codes, like '4xx'")


def differences(record: RequestRecord, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a record that do not match, and what they are."""
    return {camel(name): getattr(record, name) for name, value in wanted.items() if not _fits(record, name, value)}


def _fits(record: RequestRecord, name: str, value: Any) -> bool:
    found = getattr(record, name)
    if name == "code":
        return fnmatchcase(str(found), str(value).replace("x", "?"))
    if isinstance(value, str):
        return value == found or fnmatchcase(found, value)
    return bool(found == value)


def matching(records: Iterable[RequestRecord], wanted: Mapping[str, Any]) -> list[RequestRecord]:
    """The records with these fields."""
    return [record for record in records if all(_fits(record, name, value) for name, value in wanted.items())]


def nearest(records: Iterable[RequestRecord], wanted: Mapping[str, Any]) -> Sequence[tuple[RequestRecord, Any]]:
    """The records that differ in the fewest fields, the latest first, and how they differ."""
    found = [(record, differs) for record in records if (differs := differences(record, wanted))]
    found.sort(key=lambda one: (len(one[1]), -one[0].serial))
    return found[:NEAREST]


def check_limits(at_least: int | None, at_most: int | None, exactly: int | None) -> None:
    """Raises ValueError for numbers of requests that exclude each other."""
    if exactly is not None and (at_least, at_most) != (None, None):
        raise ValueError("pass exactly, or atLeast and atMost")
    if at_least is not None and at_most is not None and at_least > at_most:
        raise ValueError(f"atLeast={at_least} is more than atMost={at_most}")


def problem_of(count: int, at_least: int | None, at_most: int | None, exactly: int | None) -> str:
    """Why a number of requests is not as expected; empty if it is. Without a limit there must be one."""
    if exactly is not None:
        return "" if count == exactly else f"expected exactly {exactly}, there were {count}"
    least = 1 if at_least is None and at_most is None else at_least
    if least is not None and count < least:
        return f"expected at least {least}, there were {count}"
    if at_most is not None and count > at_most:
        return f"expected at most {at_most}, there were {count}"
    return ""
