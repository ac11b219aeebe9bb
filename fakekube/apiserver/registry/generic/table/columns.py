"""Columns of a table, and what fills a row of them: one Printer for each kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from fakekube import data
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.storage.store import Entry
from fakekube.struct import Struct, replace

Object = dict[str, Any]

Cells = Callable[[Object, Ages], list[Any]]
"""The cells of an object's row, as many as there are columns."""


class Column(Struct, frozen=True):
    """A column of a table. `type` and `format` are those of OpenAPI; columns of a `priority` above 0 are for wide
    tables only."""

    name: str
    type: str = "string"
    format: str = ""
    priority: int = 0
    description: str = ""

    def to_object(self) -> Object:
        return {
            "name": self.name,
            "type": self.type,
            "format": self.format,
            "description": self.description,
            "priority": self.priority,
        }


def integer(name: str) -> Column:
    return Column(name, "integer")


def boolean(name: str) -> Column:
    return Column(name, "boolean")


def wide(name: str) -> Column:
    """Returns a column of wide tables only."""
    return Column(name, priority=1)


#: The descriptions of columns, as kube-apiserver sends them.
RECORDED = data.load("columns-v1.36.json")

NAME = Column("Name", format="name", description=RECORDED["name"])
AGE = Column("Age", description=RECORDED["creationTimestamp"])


def columns(*given: str | Column) -> tuple[Column, ...]:
    """Returns the columns in order; a text is a string column of that name."""
    return tuple(Column(one) if isinstance(one, str) else one for one in given)


def no_conditions(obj: Object) -> list[Object]:
    return []


def as_listed(entries: Sequence[Entry]) -> Sequence[Entry]:
    return entries


class Printer(Struct, frozen=True):
    """The table of a kind.

    `conditions` marks rows that a client can leave out; `order` sorts the rows of a list; `null_rows`: the rows of an
    empty list are null.
    """

    columns: tuple[Column, ...]
    cells: Cells
    conditions: Callable[[Object], list[Object]] = no_conditions
    order: Callable[[Sequence[Entry]], Sequence[Entry]] = as_listed
    null_rows: bool = False


def changes_of_descriptions(resource: str) -> list[int]:
    """The minor versions that changed the descriptions of the columns of a resource."""
    return [int(minor) for minor, changed in RECORDED["before"].items() if resource in changed]


def described(resource: str, printer: Printer, before: int = 0) -> Printer:
    """Returns the printer with the descriptions of the columns of a resource; `before`: as they were before 1.N."""
    texts = RECORDED["columns"].get(resource, {}) | RECORDED["before"].get(str(before), {}).get(resource, {})
    if not texts:
        return printer
    return replace(
        printer,
        columns=tuple(
            one if one.description else replace(one, description=texts.get(one.name, "")) for one in printer.columns
        ),
    )


def get(obj: Any, path: str, default: Any = None) -> Any:
    """Returns the value at a dotted path, or `default` if there is none."""
    for key in _keys(path):
        if not isinstance(obj, dict):
            return default
        obj = obj.get(key)
    return default if obj is None else obj


@lru_cache(1024)
def _keys(path: str) -> list[str]:
    return path.split(".")


def name_of(obj: Object) -> str:
    return get(obj, "metadata.name", "")  # type: ignore[no-any-return]


def age_of(obj: Object, ages: Ages) -> str:
    return ages(get(obj, "metadata.creationTimestamp"))


def is_terminating(obj: Object) -> bool:
    """Whether the object is being deleted."""
    return bool(get(obj, "metadata.deletionTimestamp"))


def joined(values: Sequence[str], more_than: int = 0) -> str:
    """Joins with commas; a long list is cut to the first `more_than` items and the number of the others."""
    if more_than and len(values) > more_than:
        return f"{','.join(values[:more_than])} + {len(values) - more_than} more..."
    return ",".join(values)


def boolean_text(value: bool | None) -> str:
    """Returns the text of a boolean that may be absent."""
    return "<unset>" if value is None else "True" if value else "False"


def _name_and_age(obj: Object, ages: Ages) -> list[Any]:
    return [name_of(obj), age_of(obj, ages)]


NAME_AND_AGE = Printer(columns(NAME, AGE), _name_and_age)


def _created_at(obj: Object, ages: Ages) -> list[Any]:
    return [name_of(obj), get(obj, "metadata.creationTimestamp", "0001-01-01T00:00:00Z")]


#: The table of kinds without a printer (apiserver `registry/rest.NewDefaultTableConvertor`).
DEFAULT = Printer(
    columns(NAME, Column("Created At", "date", description=RECORDED["creationTimestamp"])), _created_at, null_rows=True
)
