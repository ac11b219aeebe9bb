"""The CEL types that a structural schema declares (`apiserver/pkg/cel/common/schemas.go`)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from fakekube.apiserver.cel.lexer import RESERVED
from fakekube.apiserver.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    DeclType,
    Type,
    list_of,
    map_of,
)
from fakekube.apiserver.crd.structural import Structural

#: The largest request in bytes: no value is larger.
REQUEST_LIMIT = 3 * 1024 * 1024

_RESERVED = RESERVED | {"true", "false", "null", "in"}
_SPECIAL = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}


def escape(name: str) -> str | None:
    """The escaped name of a property in expressions; None if it has none (`cel.Escape`)."""
    if not name or name[0] in "0123456789":
        return None
    if name in _RESERVED:
        return f"__{name}__"
    made = re.sub(r"__|\.|-|/", lambda match: _SPECIAL[match[0]], name)
    return made if re.fullmatch(r"[A-Za-z0-9_]+", made) else None


def schema_decl_type(
    schema: Structural, name: str, converters: Mapping[str, Any], *, root: bool = False
) -> DeclType | None:
    """The declared type of a schema; None if expressions cannot access its values (`SchemaDeclType`).

    `name` is the name of the type; `converters` convert JSON values by format (`cel.values`).
    """
    longest = schema.node.get("maxLength")
    if schema.int_or_string:
        largest = 4 * max(longest, 0) if longest is not None else REQUEST_LIMIT - 2
        return DeclType(DYN, largest=largest, smallest=1, convert=converters.get("int-or-string"))
    if schema.type == "array":
        return _declare_list(schema, name, converters)
    if schema.type == "object":
        if schema.additional is not None:
            return _declare_map(schema, name, converters)
        return _declare_object(schema, name, converters, root)
    if schema.type == "string":
        return _declare_string(schema, converters)
    if schema.type == "boolean":
        return DeclType(BOOL, smallest=4, convert=converters.get("boolean"))
    if schema.type == "integer":
        return DeclType(INT, smallest=1, convert=converters.get("integer"))
    if schema.type == "number":
        return DeclType(DOUBLE, smallest=1, convert=converters["number"])
    return None


def _declare_list(schema: Structural, name: str, converters: Mapping[str, Any]) -> DeclType | None:
    if schema.items is None:
        return None
    item = schema_decl_type(schema.items, f"{name}.@idx", converters, root=schema.items.embedded)
    if item is None:
        return None
    most = schema.node.get("maxItems")
    largest = max(most, 0) if most is not None else (REQUEST_LIMIT - 2) // (item.smallest + 1)
    convert = converters["list"](item.convert, schema.list_type, schema.list_keys)
    return DeclType(list_of(item.type), largest=largest, smallest=2, item=item, convert=convert)


def _declare_map(schema: Structural, name: str, converters: Mapping[str, Any]) -> DeclType | None:
    assert schema.additional is not None
    item = schema_decl_type(schema.additional, f"{name}.@elem", converters, root=schema.additional.embedded)
    if item is None:
        return None
    most = schema.node.get("maxProperties")
    largest = max(most, 0) if most is not None else (REQUEST_LIMIT - 2) // (item.smallest + 6)
    convert = converters["map"](item.convert)
    return DeclType(map_of(STRING, item.type), largest=largest, smallest=2, item=item, convert=convert)


_META = {"type": "object", "properties": {"name": {"type": "string"}, "generateName": {"type": "string"}}}


def with_meta(schema: Structural) -> Structural:
    """The schema of a resource with apiVersion, kind and metadata added."""
    properties = {
        **(schema.node.get("properties") or {}),
        "kind": {"type": "string"},
        "apiVersion": {"type": "string"},
        "metadata": _META,
    }
    return Structural({**schema.node, "properties": properties})


class DeclaredFields(Mapping[str, DeclType]):
    """The declared types of the properties of an object by their escaped names. Each is made when it is used first."""

    def __init__(self, schema: Structural, name: str, converters: Mapping[str, Any]) -> None:
        self._properties: Mapping[str, Any] = schema.node.get("properties") or {}
        self._name, self._converters = name, converters
        self._declared: dict[str, DeclType | None] = {}

    def declared(self, key: str) -> DeclType | None:
        """The declared type of a property; None if expressions cannot access its values."""
        if key not in self._declared:
            one = Structural(self._properties[key])
            found = schema_decl_type(one, f"{self._name}.{key}", self._converters, root=one.embedded)
            self._declared[key] = found.named(key) if found is not None else None
        return self._declared[key]

    def __getitem__(self, name: str) -> DeclType:
        key = name
        if key not in self._properties or escape(key) != name:
            key = next((one for one in self._properties if escape(one) == name), "")
        found = self.declared(key) if key in self._properties else None
        if found is None or not key:
            raise KeyError(name)
        return found

    def __iter__(self) -> Iterator[str]:
        names = ((key, escape(key)) for key in self._properties)
        return (name for key, name in names if name is not None and self.declared(key) is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _declare_object(schema: Structural, name: str, converters: Mapping[str, Any], root: bool) -> DeclType:
    if root:
        schema = with_meta(schema)
    fields = DeclaredFields(schema, name, converters)
    smallest, properties = 2, schema.node.get("properties") or {}
    for key in frozenset(schema.node.get("required") or ()):
        declared = fields.declared(key) if key in properties and properties[key].get("default") is None else None
        if declared is not None:
            smallest += len(key) + declared.smallest + 4
    made = Type("struct", (), name, fields)
    return DeclType(made, largest=0, smallest=smallest, fields=fields, convert=converters.get("object"))


_FORMATTED = {"duration": (DURATION, 3, 32), "date": (TIMESTAMP, 12, 12), "date-time": (TIMESTAMP, 21, 32)}


def _declare_string(schema: Structural, converters: Mapping[str, Any]) -> DeclType:
    form, longest = schema.node.get("format") or "", schema.node.get("maxLength")
    if form == "byte":
        largest = max(longest, 0) if longest is not None else REQUEST_LIMIT - 2
        return DeclType(BYTES, largest=largest, smallest=2, convert=converters["byte"])
    if form in _FORMATTED:
        kind, smallest, largest = _FORMATTED[form]
        return DeclType(kind, largest=largest, smallest=smallest, convert=converters[form])
    enum = schema.node.get("enum") or ()
    if longest is not None:
        largest = 4 * max(longest, 0)
    elif enum:
        largest = max((len(one.encode()) for one in enum if isinstance(one, str)), default=0)
    else:
        largest = REQUEST_LIMIT - 2
    return DeclType(STRING, largest=largest, smallest=2, convert=converters.get("string"))
