"""Structural schemas, compiled once for each version (`apiextensions-apiserver/pkg/apiserver/schema`)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from fakekube.apiserver.crd.schematraits import DEFAULT, EMBEDDED, KEYED, RULES, SchemaTraits

Node = Mapping[str, Any]

META_FIELDS = frozenset({"apiVersion", "kind", "metadata"})


#: The limit of the nesting of schemas. The real server has none, as Go's stack is larger.
DEPTH_LIMIT = 120


class Structural:
    """One node of a structural schema. Its descendants are compiled when they are used.

    `has_additional`: `additionalProperties` is set; `additional` is its schema (None: a boolean). `node` is the written
    node, for value validations; `traits` are those of the schema to which it belongs (None: of its own).
    """

    def __init__(self, node: Node, traits: SchemaTraits | None = None) -> None:
        self.node: Mapping[str, Any] = node
        self.traits: SchemaTraits = SchemaTraits(node) if traits is None else traits
        self.type: str = node.get("type") or ""
        self.nullable: bool = bool(node.get("nullable"))
        self.default: Any = node.get("default")
        self.preserve: bool = bool(node.get("x-kubernetes-preserve-unknown-fields"))
        self.embedded: bool = bool(node.get("x-kubernetes-embedded-resource"))
        self.int_or_string: bool = bool(node.get("x-kubernetes-int-or-string"))
        self.list_type: str = node.get("x-kubernetes-list-type") or ""
        self.map_type: str = node.get("x-kubernetes-map-type") or ""
        self.has_additional: bool = node.get("additionalProperties") is not None

    @cached_property
    def list_keys(self) -> tuple[str, ...]:
        return tuple(self.node.get("x-kubernetes-list-map-keys") or ())

    @cached_property
    def properties(self) -> Mapping[str, Structural]:
        given: Node = self.node.get("properties") or {}
        return {name: Structural(sub, self.traits) for name, sub in given.items()}

    @cached_property
    def items(self) -> Structural | None:
        given = self.node.get("items")
        return Structural(given, self.traits) if isinstance(given, dict) else None

    @cached_property
    def additional(self) -> Structural | None:
        given = self.node.get("additionalProperties")
        return Structural(given, self.traits) if isinstance(given, dict) else None

    @cached_property
    def has_defaults(self) -> bool:
        """Whether it or a descendant has a default."""
        return bool(self.traits.of(self.node) & DEFAULT)

    @cached_property
    def filled(self) -> Mapping[str, Structural]:
        """The properties that have a default, or a descendant with one."""
        return {key: one for key, one in self.properties.items() if one.has_defaults}

    @cached_property
    def has_keys(self) -> bool:
        """Whether it is or contains a list of type `set` or `map`."""
        return bool(self.traits.of(self.node) & KEYED)

    @cached_property
    def has_embedded(self) -> bool:
        """Whether it is or contains an embedded resource."""
        return bool(self.traits.of(self.node) & EMBEDDED)

    @cached_property
    def has_rules(self) -> bool:
        """Whether it or a descendant has validation rules."""
        return bool(self.traits.of(self.node) & RULES)

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
            for child in (one.values() if isinstance(one, dict) else one)
            if isinstance(child, dict | list)
        ]
    return level
