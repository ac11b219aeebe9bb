"""The types of CEL expressions, and declared types with sizes (`cel-go/common/types`, `apiserver/pkg/cel`)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any


class Type:
    """A type, with its kind, its name and its type parameters.

    `fields` are the fields of an object type; `open`: the type is or contains an unbound type parameter.
    """

    __slots__ = ("fields", "kind", "name", "open", "params")

    params: tuple[Type, ...]
    name: str
    kind: str

    def __init__(
        self, kind: str, params: tuple[Type, ...] = (), name: str = "", fields: Mapping[str, DeclType] | None = None
    ) -> None:
        self.kind, self.params, self.name = kind, params, name or kind
        self.fields: Mapping[str, DeclType] | None = fields
        self.open: bool = kind == "param" or any(one.open for one in params)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Type):
            return False
        return self.kind == other.kind and self.name == other.name and self.params == other.params

    def __hash__(self) -> int:
        return hash((self.kind, self.name, self.params))

    def __repr__(self) -> str:
        return f"<Type {self}>"

    def __str__(self) -> str:
        """The type in error messages."""
        if self.kind == "error":
            return "!error!"
        if not self.params:
            return self.name
        return f"{self.name}({', '.join(map(str, self.params))})"


BOOL, INT, UINT, DOUBLE = Type("bool"), Type("int"), Type("uint"), Type("double")
STRING, BYTES, NULL, DYN, ERROR = Type("string"), Type("bytes"), Type("null"), Type("dyn"), Type("error")
TIMESTAMP, DURATION = Type("timestamp"), Type("duration")

#: A value of unknown type, which unlike DYN is no range of a comprehension (`cel.AnyType`).
ANY = Type("dyn", (), "any")


def list_of(item: Type) -> Type:
    return Type("list", (item,))


def map_of(key: Type, value: Type) -> Type:
    return Type("map", (key, value))


def optional_of(value: Type) -> Type:
    return Type("opaque", (value,), "optional_type")


def messages(fields: Mapping[str, Type] | None) -> Type:
    """A family of message types for the literals `Name{field: value}` and `Name.part{...}`.

    `fields` are the types of the fields; None: any field of any type.
    """
    declared = None if fields is None else {name: DeclType(one, key=name) for name, one in fields.items()}
    return Type("messages", (), "", declared)


def type_of(value: Type) -> Type:
    return Type("type", (value,))


def param(name: str) -> Type:
    return Type("param", (), name)


def is_optional(one: Type) -> bool:
    return one.kind == "opaque" and one.name == "optional_type"


_RUNTIME_NAMES = {
    "timestamp": "google.protobuf.Timestamp", "duration": "google.protobuf.Duration", "null": "null_type",
    "any": "google.protobuf.Any",
}  # fmt: skip


def runtime_name(one: Type) -> str:
    """The name of a type at run time, without its parameters (`Type.TypeName`)."""
    return one.kind if one.kind == "type" else _RUNTIME_NAMES.get(one.name, one.name)


def runtime_text(one: Type) -> str:
    """The type with the names of run time (`Type.String`)."""
    name = runtime_name(one)
    return f"{name}({', '.join(map(runtime_text, one.params))})" if one.params else name


_SIMPLE: dict[str, Type] = {
    one.name: one for one in (BOOL, INT, UINT, DOUBLE, STRING, BYTES, NULL, DYN, TIMESTAMP, DURATION)
}


def read(text: str) -> Type:
    """Parses a type of a declaration: `list(string)`, `map(K, V)`, `optional_type(A)`, `kubernetes.URL`."""
    match = re.fullmatch(r"(list|map|optional_type|type)\((.*)\)", text)
    if match:
        params = tuple(read(part) for part in _split(match[2]))
        return Type("opaque" if match[1] == "optional_type" else match[1], params, match[1])
    found = _SIMPLE.get(text)
    if found is not None:
        return found
    if len(text) == 1:
        return param(text)
    return Type("opaque" if text.startswith("net.") else "struct", (), text)


def _split(text: str) -> list[str]:
    found, level, start = [], 0, 0
    for i, char in enumerate(text):
        level += (char == "(") - (char == ")")
        if char == "," and level == 0:
            found.append(text[start:i].strip())
            start = i + 1
    return [*found, text[start:].strip()] if text.strip() else []


# --- declared types --------------------------------------------------------------------------------------------------

Convert = Callable[[Any], Any]


class DeclType:
    """A declared type with the sizes of its values (`DeclType`).

    `key` is the name of the property in the object; `largest` the maximum number of characters, items or entries;
    `smallest` the minimum number of bytes in a request; `item` and `entry_key` the declared types of list items, map
    values and map keys; `convert` converts a JSON value to a CEL value (None: they are the same).
    """

    __slots__ = ("convert", "entry_key", "fields", "item", "key", "largest", "smallest", "type")

    type: Type
    smallest: int
    largest: int
    key: str
    item: DeclType | None

    def __init__(
        self,
        type: Type,
        *,
        largest: int = 0,
        smallest: int = 0,
        item: DeclType | None = None,
        fields: Mapping[str, DeclType] | None = None,
        convert: Convert | None = None,
        key: str = "",
    ) -> None:
        self.type, self.largest, self.smallest, self.item, self.key = type, largest, smallest, item, key
        self.fields: Mapping[str, DeclType] = fields if fields is not None else {}
        self.convert: Convert | None = convert
        self.entry_key: DeclType | None = DeclType(STRING) if type.kind == "map" else None

    def named(self, key: str) -> DeclType:
        """The type as the property with a name."""
        return DeclType(
            self.type,
            largest=self.largest,
            smallest=self.smallest,
            item=self.item,
            fields=self.fields,
            convert=self.convert,
            key=key,
        )
