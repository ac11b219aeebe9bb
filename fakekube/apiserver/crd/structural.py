"""Structural schemas, compiled once per version: what custom resources are pruned to, and their defaults
(`apiextensions-apiserver/pkg/apiserver/schema`, `pruning`, `defaulting`).

Objects are never changed in place: a function returns the value that it was given where nothing changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Object = dict[str, Any]
Node = Mapping[str, Any]

META_FIELDS = frozenset({"apiVersion", "kind", "metadata"})

NO_PROPERTIES: Mapping[str, Structural] = {}

#: How deep schemas may nest; the real server has no such limit, but its recursion costs less.
DEPTH_LIMIT = 120


class Structural:
    """One node of a structural schema.

    `has_additional`: `additionalProperties` is there, `additional` its schema (None: a boolean). `node` is the node as
    it was written, for the validations of values.
    """

    __slots__ = (
        "additional",
        "default",
        "embedded",
        "has_additional",
        "has_defaults",
        "has_embedded",
        "has_keys",
        "int_or_string",
        "items",
        "list_keys",
        "list_type",
        "map_type",
        "node",
        "nullable",
        "preserve",
        "properties",
        "type",
    )

    def __init__(self, node: Node) -> None:
        self.node = node
        self.type: str = node.get("type") or ""
        self.nullable = bool(node.get("nullable"))
        self.default: Any = node.get("default")
        self.preserve = bool(node.get("x-kubernetes-preserve-unknown-fields"))
        self.embedded = bool(node.get("x-kubernetes-embedded-resource"))
        self.int_or_string = bool(node.get("x-kubernetes-int-or-string"))
        self.list_type: str = node.get("x-kubernetes-list-type") or ""
        self.list_keys: tuple[str, ...] = tuple(node.get("x-kubernetes-list-map-keys") or ())
        self.map_type: str = node.get("x-kubernetes-map-type") or ""
        properties: Node = node.get("properties") or {}
        self.properties: Mapping[str, Structural] = {name: Structural(sub) for name, sub in properties.items()}
        items = node.get("items")
        self.items = Structural(items) if isinstance(items, Mapping) else None
        additional = node.get("additionalProperties")
        self.has_additional = additional is not None
        self.additional = Structural(additional) if isinstance(additional, Mapping) else None
        below = [*self.properties.values(), *(one for one in (self.items, self.additional) if one)]
        self.has_defaults: bool = any(one.has_defaults or one.default is not None for one in below)
        #: Whether there are lists of type `set` or `map` in it.
        self.has_keys: bool = self.list_type in ("set", "map") or any(one.has_keys for one in below)
        self.has_embedded: bool = self.embedded or any(one.has_embedded for one in below)

    def field(self, name: str) -> Structural | None:
        """The schema of a key's value."""
        found = self.properties.get(name)
        return found if found is not None or not self.has_additional else self.additional


def depth(node: Any, limit: int = DEPTH_LIMIT) -> int:
    """How deep a value nests, counted up to `limit` + 1."""
    level, current = 0, [node]
    while current and level <= limit:
        level += 1
        current = [
            child
            for one in current
            for child in (one.values() if isinstance(one, Mapping) else one)
            if isinstance(child, Mapping | list)
        ]
    return level


# --- unknown fields --------------------------------------------------------------------------------------------------


def prune(obj: Object, schema: Structural | None, unknown: list[str]) -> Object:
    """A whole resource without the fields that its schema does not know; their paths go to `unknown`."""
    if schema is None:
        kept = {key: value for key, value in obj.items() if key in META_FIELDS}
        unknown += sorted(key for key in obj if key not in META_FIELDS)
        return kept
    found: list[str] = []
    pruned: Object = _prune(obj, schema, "", found, embedded=True)
    unknown += sorted(found)
    return pruned


def prune_value(value: Any, schema: Structural) -> Any:
    """The same of a value somewhere inside."""
    return _prune(value, schema, "", [], embedded=schema.embedded)


def _prune(value: Any, schema: Structural | None, path: str, unknown: list[str], *, embedded: bool = False) -> Any:
    if isinstance(value, dict):
        if schema is None:
            unknown += [f"{path}.{key}" if path else key for key in value]
            return {}
        return _prune_object(value, schema, path, unknown, embedded)
    if isinstance(value, list):
        if schema is not None and schema.preserve:
            return _skip_list(value, schema.items, path, unknown)
        return _each(value, schema.items if schema is not None else None, path, unknown)
    return value


def _each(value: list[Any], items: Structural | None, path: str, unknown: list[str]) -> list[Any]:
    made: list[Any] | None = None
    for i, item in enumerate(value):
        if type(item) is dict or type(item) is list:
            kept = _prune(item, items, f"{path}[{i}]", unknown, embedded=items is not None and items.embedded)
            if kept is not item:
                made = made if made is not None else list(value)
                made[i] = kept
    return value if made is None else made


def _skip_list(value: list[Any], items: Structural | None, path: str, unknown: list[str]) -> list[Any]:
    """Below x-kubernetes-preserve-unknown-fields: only what the schema names is looked at."""
    if items is None:
        return value
    made: list[Any] | None = None
    for i, item in enumerate(value):
        kept = item
        if isinstance(item, dict):
            kept = _prune_object(item, items, f"{path}[{i}]", unknown, items.embedded, preserve=True)
        elif isinstance(item, list):
            kept = _skip_list(item, items.items, f"{path}[{i}]", unknown)
        if kept is not item:
            made = made if made is not None else list(value)
            made[i] = kept
    return value if made is None else made


def _prune_object(
    value: Object, schema: Structural, path: str, unknown: list[str], embedded: bool, *, preserve: bool = False
) -> Object:
    preserve = preserve or schema.preserve
    properties, additional = schema.properties, schema.additional
    made: Object | None = None
    for key, item in value.items():
        if embedded and key in META_FIELDS:
            continue
        field = properties.get(key)
        if field is None:
            if not schema.has_additional:
                if not preserve:
                    if path or key not in META_FIELDS:
                        unknown.append(f"{path}.{key}" if path else key)
                    made = made if made is not None else dict(value)
                    del made[key]
                continue
            field = additional
        if type(item) is dict or type(item) is list:
            here = f"{path}.{key}" if path else key
            kept = _prune(item, field, here, unknown, embedded=field is not None and field.embedded)
            if kept is not item:
                made = made if made is not None else dict(value)
                made[key] = kept
    return value if made is None else made


# --- nulls and defaults ----------------------------------------------------------------------------------------------


def prune_nulls(value: Any, schema: Structural | None) -> Any:
    """Without the nulls that are not nullable and have no default; those that have one wait for it."""
    if schema is None:
        return value
    if isinstance(value, dict):
        made: Object | None = None
        for key, item in value.items():
            field = schema.field(key)
            if field is None:
                continue
            if item is None:
                if not field.nullable and field.default is None:
                    made = made if made is not None else dict(value)
                    del made[key]
            elif type(item) is dict or type(item) is list:
                kept = prune_nulls(item, field)
                if kept is not item:
                    made = made if made is not None else dict(value)
                    made[key] = kept
        return value if made is None else made
    if isinstance(value, list) and schema.items is not None:
        kept_items = [prune_nulls(item, schema.items) for item in value]
        return kept_items if any(a is not b for a, b in zip(kept_items, value, strict=True)) else value
    return value


def default(value: Any, schema: Structural | None) -> Any:
    """The value with the defaults of its schema."""
    if schema is None or not schema.has_defaults:
        return value
    if isinstance(value, dict):
        return _default_object(value, schema)
    if isinstance(value, list) and schema.items is not None:
        items = schema.items
        filled = [default(items.default if item is None and not items.nullable else item, items) for item in value]
        return filled if any(a is not b for a, b in zip(filled, value, strict=True)) else value
    return value


def _default_object(value: Object, schema: Structural) -> Object:
    made: Object | None = None
    properties = schema.properties
    for key, field in properties.items():
        item = value.get(key)
        if item is None and field.default is not None and (key not in value or not field.nullable):
            made = made if made is not None else dict(value)
            made[key] = default(field.default, field)
        elif type(item) is dict or type(item) is list:
            filled = default(item, field)
            if filled is not item:
                made = made if made is not None else dict(value)
                made[key] = filled
    additional = schema.additional
    if additional is not None:
        for key, item in value.items():
            if key in properties:
                continue
            filled = default(additional.default if item is None and not additional.nullable else item, additional)
            if filled is not item:
                made = made if made is not None else dict(value)
                made[key] = filled
    return value if made is None else made
