"""Schemas of the built-in kinds, from compact data (`fakekube/data/build_schemas.py` describes its format)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from fakekube.apiserver.schema.model import SCALARS, Schema
from fakekube.apiserver.schema.omitempty import OMITTED, always_in

Row = list[Any]


class BuiltinSchemas:
    """The schemas of one Kubernetes version. Types are read on first use.

    `data` is the content of `schemas.json`; `version` is a minor version such as `1.36`.
    """

    def __init__(self, data: Mapping[str, Any], version: str) -> None:
        self._types: Mapping[str, list[Row]] = data["types"]
        self._kinds: Mapping[str, str] = data["kinds"]
        self.version = version
        self._number = number(version)
        self._made: dict[str, Schema] = {}

    def of_kind(self, group: str, version: str, kind: str) -> Schema | None:
        """The schema of a kind; None if this Kubernetes version does not have it."""
        name = self._kinds.get(f"{group}/{version}/{kind}")
        return self.type(name) if name and self._row(name) else None

    def kinds(self) -> Iterator[tuple[str, str, str, str]]:
        """The group, version, kind and type name of every kind of this version."""
        for gvk, name in self._kinds.items():
            if self._row(name):
                group, version, kind = gvk.split("/")
                yield group, version, kind, name

    def type(self, name: str) -> Schema:
        """The schema of a named type. Raises KeyError if this version does not have it."""
        found = self._made.get(name)
        if found is None:
            row = self._row(name)
            if row is None:
                raise KeyError(name)
            found = self._made[name] = Schema(
                "object",
                name=name,
                make_fields=partial(self._fields, row[1]),
                required=frozenset(field for field in row[2] if f"{name}.{field}" not in OMITTED),
                map_type=row[3] if len(row) > 3 else "",
                always=always_in(self._number[-1], name),
            )
        return found

    def _row(self, name: str) -> Row | None:
        """The variant of a type for this version."""
        best = None
        for row in self._types.get(name, ()):
            if number(row[0]) <= self._number:
                best = row
        return best if best is not None and best[1] is not None else None

    def _fields(self, described: Mapping[str, str]) -> Mapping[str, Schema]:
        return {name: self._field(text) for name, text in described.items()}

    def _field(self, text: str) -> Schema:
        value, *marks = text.split("|")
        if not marks:
            return self._value(value, {})
        options: dict[str, Any] = {}
        for mark in marks:
            key, _, rest = mark.partition("=")
            if key == "map":
                options |= {"list_type": "map", "keys": tuple(rest.split(","))}
            elif key in ("set", "atomic", "granular"):
                options["map_type" if not value.startswith("[]") else "list_type"] = key
            elif key == "patch":
                options["patch_strategy"] = frozenset(rest.split(","))
            elif key == "key":
                options["merge_key"] = rest
            elif key == "enum":
                options["enum"] = tuple(rest.split(","))
            elif key == "default":
                options["default"] = json.loads(rest)
        return self._value(value, options)

    def _value(self, value: str, options: dict[str, Any]) -> Schema:
        if value.startswith("[]"):
            return Schema("list", items=self._item(value[2:]), **options)
        if value.startswith("{}"):
            return Schema("map", values=self._value(value[2:], {}), **options)
        if value in SCALARS:
            return Schema(value, **options)
        found = self.type(value)
        if not options:
            return found
        return Schema(
            "object",
            name=found.name,
            make_fields=lambda: found.fields,
            required=found.required,
            always=found.always,
            **{"map_type": found.map_type, **options},
        )

    def _item(self, value: str) -> Schema:
        """The schema of a list's items. If they are of a kind, they have apiVersion and kind as well."""
        found = self._value(value, {})
        if value not in self._kinds.values():
            return found
        header = {"apiVersion": Schema("string"), "kind": Schema("string")}
        return Schema(
            "object",
            name=found.name,
            make_fields=lambda: {**header, **found.fields},
            required=found.required,
            always=found.always,
            map_type=found.map_type,
        )


def minors(data: Mapping[str, Any]) -> list[str]:
    """The Kubernetes versions of the data, oldest first."""
    return sorted({row[0] for rows in data["types"].values() for row in rows}, key=number)


def number(version: str) -> tuple[int, ...]:
    """The numbers of a version such as `1.36`, for comparison."""
    return tuple(int(part) for part in version.split("."))
