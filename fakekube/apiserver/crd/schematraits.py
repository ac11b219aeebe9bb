"""The traits of the nodes of a schema: which keywords that need work occur in a node or below it.

They are found in one walk, so that validation, defaulting and rules visit only the parts of a large schema that concern
them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

Node = Mapping[str, Any]

RULES, DEFAULT, KEYED, EMBEDDED, FORMAT, PATTERN = 1, 2, 4, 8, 16, 32

#: A keyword because of which a schema may not be convertible to a structural one.
SUSPECT = 64

#: A node to which a rule for definitions can apply, apart from those for patterns, formats and defaults. A subtree
#: without it has no other errors below the root of a schema.
UNUSUAL = 128
_VALUE_MATTERS = 256

SCALAR_TYPES = frozenset({"string", "integer", "number", "boolean"})
INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]

#: Keywords that are forbidden in all schemas, in the order of the checks.
UNSUPPORTED = ("id", "$schema", "$ref", "patternProperties", "dependencies", "additionalItems", "definitions")

#: Keywords to which no rule of definitions applies.
PLAIN_KEYWORDS = frozenset(
    {
        "type", "description", "title", "format", "nullable", "enum", "example", "externalDocs", "minimum", "maximum",
        "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "multipleOf",
    }
)  # fmt: skip
_SIMPLE = PLAIN_KEYWORDS - {"format"}

_KEYWORDS: Mapping[str, int] = {
    **dict.fromkeys(PLAIN_KEYWORDS, 0),
    **dict.fromkeys(("properties", "required", "minItems", "maxItems", "minProperties", "maxProperties"), 0),
    "format": FORMAT,
    "pattern": PATTERN,
    "items": _VALUE_MATTERS,
    "additionalProperties": _VALUE_MATTERS,
    "anyOf": _VALUE_MATTERS,
    "x-kubernetes-int-or-string": _VALUE_MATTERS,
    "x-kubernetes-list-type": _VALUE_MATTERS,
    "x-kubernetes-map-type": _VALUE_MATTERS,
    "default": _VALUE_MATTERS,
    **dict.fromkeys(UNSUPPORTED, SUSPECT | UNUSUAL),
    "x-kubernetes-preserve-unknown-fields": SUSPECT | UNUSUAL,
    "x-kubernetes-validations": RULES | UNUSUAL,
    "x-kubernetes-embedded-resource": EMBEDDED | UNUSUAL,
}


class SchemaTraits:
    """The traits of all nodes of a schema, found when they are used first. The schema must not change."""

    root: Node

    __slots__ = ("_found", "root")

    def __init__(self, root: Node) -> None:
        self.root = root
        self._found: dict[int, int] | None = None

    def of(self, node: Node) -> int:
        """The traits of a node of this schema and of its descendants."""
        if self._found is None:
            self._found = {}
            self._visit(self.root, self._found)
        return self._found.get(id(node), 0)

    def _visit(self, node: Node, found: dict[int, int]) -> int:
        traits = 0
        for key in node:
            traits |= _KEYWORDS.get(key, UNUSUAL)
        for child in (node.get("properties") or {}).values():
            if child.get("type") in SCALAR_TYPES and child.keys() <= _SIMPLE:
                continue  # most nodes
            traits |= self._visit(child, found)
        if traits & (_VALUE_MATTERS | UNUSUAL):
            for child in _others(node):
                traits |= self._visit(child, found)
        kind = node.get("type")
        if traits & _VALUE_MATTERS or not (kind in SCALAR_TYPES or kind == "object"):
            traits = (traits | _examined(node, kind)) & ~_VALUE_MATTERS
        if traits:
            found[id(node)] = traits
        return traits


def _examined(node: Node, kind: str | None) -> int:
    """The traits of a node some of whose keywords are errors or not depending on their values."""
    items, list_type, map_type = (
        node.get("items"),
        node.get("x-kubernetes-list-type"),
        node.get("x-kubernetes-map-type"),
    )
    either = bool(node.get("x-kubernetes-int-or-string"))
    usual = (
        (kind == "array" and isinstance(items, dict) and list_type in (None, "atomic"))
        or (kind in SCALAR_TYPES and list_type is None)
        or (kind == "object" and list_type is None)
        or (not kind and either and list_type is None)
    )
    if (
        not usual
        or (either and kind)
        or node.get("anyOf") not in ((None, INT_OR_STRING) if either else (None,))
        or (map_type is not None and (kind != "object" or map_type not in ("atomic", "granular")))
        or (node.get("properties") and node.get("additionalProperties") is not None)
    ):
        usual = False
    traits = 0 if usual else UNUSUAL
    if list_type in ("set", "map"):
        traits |= KEYED
    if not (items is None or isinstance(items, dict)):
        traits |= SUSPECT | UNUSUAL
    return traits if node.get("default") is None else traits | DEFAULT


def _others(node: Node) -> Iterator[Node]:
    """The children except for properties."""
    for key in ("items", "additionalProperties", "not"):
        child = node.get(key)
        if isinstance(child, dict):
            yield child
        elif isinstance(child, list):
            yield from child
    for key in ("allOf", "anyOf", "oneOf"):
        yield from node.get(key) or ()
    yield from (node.get("definitions") or {}).values()


_recent: deque[SchemaTraits] = deque(maxlen=32)


def traits_of(root: Node) -> SchemaTraits:
    """The traits of the schema of a version, which are found once for its validation and for its objects."""
    for one in list(_recent):
        if one.root is root:
            return one
    made = SchemaTraits(root)
    _recent.append(made)
    return made
