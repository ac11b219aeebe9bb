"""Structural schemas, compiled once for each version (`apiextensions-apiserver/pkg/apiserver/schema`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Node = Mapping[str, Any]

META_FIELDS = frozenset({"apiVersion", "kind", "metadata"})

NO_PROPERTIES: Mapping[str, Structural] = {}

#: The limit of the nesting of schemas. The real server has none, as Go's stack is larger.
DEPTH_LIMIT = 120


class Structural:
    """One node of a structural schema.

    `has_additional`: `additionalProperties` is set; `additional` is its schema (None: a boolean). `node` is the written
    node, for value validations.
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
        self.node: Mapping[str, Any] = node
        self.type: str = node.get("type") or ""
        self.nullable: bool = bool(node.get("nullable"))
        self.default: Any = node.get("default")
        self.preserve: bool = bool(node.get("x-kubernetes-preserve-unknown-fields"))
        self.embedded: bool = bool(node.get("x-kubernetes-embedded-resource"))
        self.int_or_string: bool = bool(node.get("x-kubernetes-int-or-string"))
        self.list_type: str = node.get("x-kubernetes-list-type") or ""
        self.list_keys: tuple[str, ...] = tuple(node.get("x-kubernetes-list-map-keys") or ())
        self.map_type: str = node.get("x-kubernetes-map-type") or ""
        properties: Node = node.get("properties") or {}
        self.properties: Mapping[str, Structural] = {name: Structural(sub) for name, sub in properties.items()}
        items = node.get("items")
        self.items: Structural | None = Structural(items) if isinstance(items, Mapping) else None
        additional = node.get("additionalProperties")
        self.has_additional: bool = additional is not None
        self.additional: Structural | None = Structural(additional) if isinstance(additional, Mapping) else None
        below = [*self.properties.values(), *(one for one in (self.items, self.additional) if one)]
        self.has_defaults: bool = any(one.has_defaults or one.default is not None for one in below)
        #: Whether it contains lists of type `set` or `map`.
        self.has_keys: bool = self.list_type in ("set", "map") or any(one.has_keys for one in below)
        self.has_embedded: bool = self.embedded or any(one.has_embedded for one in below)

    def field(self, name: str) -> Structural | None:
        """The schema of the value of a key."""
        found = self.properties.get(name)
        return found if found is not None or not self.has_additional else self.additional


def depth(node: Any, limit: int = DEPTH_LIMIT) -> int:
    """The depth of a value, counted up to `limit` + 1."""
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
