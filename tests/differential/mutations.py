"""Changes of objects that are drawn by the schema of their kind."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from functools import cache
from typing import Any

from fakekube import data
from fakekube.apiserver.schema.builtinschemas import BuiltinSchemas
from fakekube.apiserver.schema.model import Schema
from tests.differential import vocabulary
from tests.differential.scenario import Draw, Object

Path = tuple[str | int, ...]


@cache
def schemas() -> BuiltinSchemas:
    return BuiltinSchemas(data.load("schemas.json"), "1.36")


def mutated(draw: Draw, obj: Object, schema: Schema, count: int = 1, under: tuple[str, ...] = ()) -> Object:
    """A copy of an object with some changes. under: the fields at the top that may change (none: all)."""
    changed = copy.deepcopy(obj)
    for _ in range(count):
        places = [one for one in _places(changed, schema, ()) if not under or one[0] == () or one[0][0] in under]
        # half of the changes are made near the leaves, where most rules are
        path, found = draw.one(places if draw.chance(0.5) else [one for one in places if len(one[0]) > 2] or places)
        if found.type == "object":
            _change_object(draw, changed, path, found, under if not path else ())
        elif path:
            _set(changed, path, drawn(draw, found, str(path[-1]), 3))
    return changed


def _places(value: Any, schema: Schema, path: Path) -> Iterator[tuple[Path, Schema]]:
    """The parts of a value with their schemas, outside of metadata and of the type."""
    if path in (("apiVersion",), ("kind",)) or (path[:1] == ("metadata",) and path[1:2] in (("name",), ("namespace",))):
        return
    yield path, schema
    if schema.type == "object" and isinstance(value, dict):
        for name, item in value.items():
            inner = schema.fields.get(name)
            if inner is not None:
                yield from _places(item, inner, (*path, name))
    elif schema.type == "map" and isinstance(value, dict) and schema.values is not None:
        for name, item in value.items():
            yield from _places(item, schema.values, (*path, name))
    elif schema.type == "list" and isinstance(value, list) and schema.items is not None:
        for i, item in enumerate(value):
            yield from _places(item, schema.items, (*path, i))


def _at(value: Any, path: Path) -> Any:
    for part in path:
        value = value[part]
    return value


def _set(value: Any, path: Path, to: Any) -> None:
    _at(value, path[:-1])[path[-1]] = to


def _change_object(draw: Draw, whole: Object, path: Path, schema: Schema, under: tuple[str, ...]) -> None:
    """Changes a field of an object: adds, replaces or removes it."""
    value = _at(whole, path)
    if not isinstance(value, dict):
        return
    names = [name for name in schema.fields if not under or name in under]
    if not path:
        names = [name for name in names if name not in ("apiVersion", "kind", "metadata")]
    present = [name for name in value if name in names]
    action = draw.weighted({"add": 8, "remove": 2, "unknown": 1, "other": 1, "null": 1})
    if action == "add" and names:
        name = draw.one(names)
        value[name] = drawn(draw, schema.fields[name], name, 3)
    elif action == "remove" and present:
        del value[draw.one(present)]
    elif action == "unknown":
        value[draw.one(("unknownField", "Name", "x", ""))] = draw.one(vocabulary.OTHER)
    elif action == "other" and names:
        value[draw.one(names)] = copy.deepcopy(draw.one(vocabulary.OTHER))
    elif action == "null" and names:
        value[draw.one(names)] = None


def drawn(draw: Draw, schema: Schema, name: str, depth: int) -> Any:
    """A value for a field of a name: most are of its type, some are valid."""
    if draw.chance(0.04):
        return copy.deepcopy(draw.one(vocabulary.OTHER))
    if schema.type == "object":
        return _object(draw, schema, depth)
    if schema.type == "list":
        return _list(draw, schema, name, depth)
    if schema.type == "map":
        return _map(draw, schema, name, depth)
    return _scalar(draw, schema, name)


def _object(draw: Draw, schema: Schema, depth: int) -> Any:
    fields = schema.fields
    wanted = [one for one in fields if one in schema.required and not draw.chance(0.1)]
    if depth > 0:
        rest = [one for one in fields if one not in wanted]
        wanted += draw.some(rest, 2 if len(rest) > 3 else len(rest), 0 if wanted else 1)
    return {name: drawn(draw, fields[name], name, depth - 1) for name in fields if name in wanted}


def _list(draw: Draw, schema: Schema, name: str, depth: int) -> Any:
    if schema.items is None or depth < 0:
        return []
    items = [drawn(draw, schema.items, name, depth - 1) for _ in range(draw.weighted({0: 1, 1: 6, 2: 2}))]
    if items and draw.chance(0.1):
        items.append(copy.deepcopy(items[0]))
    return items


def _map(draw: Draw, schema: Schema, name: str, depth: int) -> Any:
    if schema.values is None:
        return {}
    keys = vocabulary.RESOURCES if schema.values.type == "quantity" else vocabulary.KEYS
    return {key: drawn(draw, schema.values, name, depth - 1) for key in draw.some(keys, 2)}


def _scalar(draw: Draw, schema: Schema, name: str) -> Any:
    if schema.enum and draw.chance(0.8):
        return draw.one(schema.enum)
    known = vocabulary.FIELDS.get(name)
    if known and draw.chance(0.7):
        return draw.one(known)
    match schema.type:
        case "boolean":
            return draw.one((True, False))
        case "int32" | "int64" | "integer" | "number" | "double":
            return draw.one(vocabulary.INTEGERS)
        case "quantity":
            return draw.one(vocabulary.QUANTITIES)
        case "time" | "microtime":
            return draw.one(vocabulary.TIMES)
        case "int-or-string":
            return draw.one((*vocabulary.INTEGERS[:9], "http", "25%", "", "-1%", "x" * 20, "101%"))
        case "bytes":
            return draw.one(("", "YQ==", "YQ", "!!", "YQ==\n"))
        case "any":
            return copy.deepcopy(draw.one(vocabulary.OTHER))
    return draw.one(vocabulary.STRINGS)
