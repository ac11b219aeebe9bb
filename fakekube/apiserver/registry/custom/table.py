"""Tables of custom resources, with the printer columns of their definition (apiextensions-apiserver
`tableconvertor`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import orjson

from fakekube.apiserver.registry.generic.table.ages import UNKNOWN, Ages
from fakekube.apiserver.registry.generic.table.columns import NAME, RECORDED, Column, Printer, name_of
from fakekube.apiserver.registry.generic.table.jsonpath import InvalidPath, NoValue, Path
from fakekube.apiserver.schema.times import InvalidTime, time_text
from fakekube.apiserver.wire.gojson import is_number

Object = dict[str, Any]

#: The columns of a definition without printer columns.
DEFAULT_COLUMNS: Sequence[Object] = (
    {
        "name": "Age",
        "type": "date",
        "jsonPath": ".metadata.creationTimestamp",
        "description": RECORDED["creationTimestamp"],
    },
)

#: The columns of `/scale` (`getScaleColumnsForVersion`).
SCALE_COLUMNS: Sequence[Object] = (
    {"name": "Desired", "type": "integer", "jsonPath": ".spec.replicas", "description": "Number of desired replicas"},
    {
        "name": "Available",
        "type": "integer",
        "jsonPath": ".status.replicas",
        "description": "Number of actual replicas",
    },
    *DEFAULT_COLUMNS,
)

Value = Callable[[Any, Ages], Any]


def printer(declared: Sequence[Object]) -> Printer:
    """The printer of the `additionalPrinterColumns` of a version, up to the first column with an invalid path."""
    headers: list[Column] = [NAME]
    readers: list[Callable[[Object, Ages], Any]] = []
    for column in declared:
        path = column.get("jsonPath") or ""
        try:
            reader = _reader(Path(path), column.get("type") or "")
        except InvalidPath:
            break
        description = column.get("description") or f"Custom resource definition column (in JSONPath format): {path}"
        headers.append(
            Column(
                column.get("name") or "",
                column.get("type") or "",
                column.get("format") or "",
                column.get("priority") or 0,
                description,
            )
        )
        readers.append(reader)
    return Printer(tuple(headers), lambda obj, ages: [name_of(obj), *(read(obj, ages) for read in readers)])


def _reader(path: Path, type: str) -> Callable[[Object, Ages], Any]:
    shown = VALUES.get(type)

    def read(obj: Object, ages: Ages) -> Any:
        try:
            found = path.find(obj)
        except NoValue:
            return None
        return shown(found[0], ages) if found and shown else None

    return read


def _integer(value: Any, ages: Ages) -> int | None:
    return int(value) if is_number(value) else None


def _number(value: Any, ages: Ages) -> float | None:
    return value if is_number(value) else None


def _boolean(value: Any, ages: Ages) -> bool | None:
    return value if isinstance(value, bool) else None


def _date(value: Any, ages: Ages) -> str | None:
    if not isinstance(value, str):
        return None
    if value in ("", "null"):
        return UNKNOWN
    try:
        return ages(time_text(value))
    except InvalidTime:
        return "<invalid>"


def _string(value: Any, ages: Ages) -> str:
    """The value as Go prints it."""
    if isinstance(value, str):
        return value
    if value is None:
        return "<no value>"
    if isinstance(value, float):
        return _float(value)
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()


def _float(value: float) -> str:
    if value and not 1e-4 <= abs(value) < 1e21:
        return repr(value)
    text = format(Decimal(repr(value)), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


#: Column type -> the conversion of values. Values of other column types are null.
VALUES: dict[str, Value] = {
    "string": _string,
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "date": _date,
}
