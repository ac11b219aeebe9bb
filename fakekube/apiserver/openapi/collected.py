"""The types that a document refers to, directly or indirectly."""

from __future__ import annotations

from collections.abc import Iterable

from fakekube.apiserver.openapi.schemawriter import SchemaWriter, plain, reference
from fakekube.apiserver.openapi.typenames import cross_registered, full_name, kinds_of_types, short_name
from fakekube.apiserver.resource import Object
from fakekube.apiserver.schema.builtinschemas import BuiltinSchemas


class Types:
    """Collects the types of one document. `registered` are the groups and versions that register common types.

    `known` keeps what has been written of built-in types, for documents with the same `registered`.
    """

    def __init__(
        self, schemas: BuiltinSchemas, version: int, registered: Iterable[str], known: dict[str, Object] | None = None
    ) -> None:
        self.version = version
        self._schemas = schemas
        self._kinds = {**kinds_of_types(schemas), **cross_registered(registered)}
        self._writer = SchemaWriter(version, self._need)
        self._waiting: list[str] = []
        self._nodes: Object = {}
        self._known: dict[str, Object] = {} if known is None else known

    @property
    def any(self) -> bool:
        return bool(self._nodes)

    def kind(self, group: str, version: str, kind: str) -> str:
        """The full name of the type of a kind, which is not added yet."""
        schema = self._schemas.of_kind(group, version, kind)
        if schema is not None:
            return full_name(schema.name)
        item = self._schemas.of_kind(group, version, kind.removesuffix("List"))
        return full_name(f"{item.name}List" if item else f"core.v1.{kind}")

    def refer(self, name: str) -> Object:
        """A reference to a type by its full name; the type is added."""
        self._need(name)
        return reference(name, self.version)

    def add_custom(self, schemas: Object) -> None:
        """Adds the schemas of custom kinds, and the types that they refer to."""
        self._nodes |= schemas
        self._refer_in(schemas)

    def _refer_in(self, node: object) -> None:
        if isinstance(node, dict):
            name = node.get("$ref")
            if isinstance(name, str):
                self._need(name.rpartition("/")[2])
            for value in node.values():
                self._refer_in(value)
        elif isinstance(node, list):
            for value in node:
                self._refer_in(value)

    def _need(self, name: str) -> None:
        if name not in self._nodes:
            self._nodes[name] = {}  # types can be recursive
            self._waiting.append(name)

    def written(self) -> Object:
        """The schemas of the types by their full names."""
        while self._waiting:
            name = self._waiting.pop()
            node = plain(name, self.version)
            self._nodes[name] = self._of(name) if node is None else node
        return dict(sorted(self._nodes.items()))

    def _of(self, name: str) -> Object:
        known = self._known.get(name)
        if known is None:
            known = self._known[name] = self._type(short_name(name))
        else:
            self._refer_in(known)
        return known

    def _type(self, name: str) -> Object:
        return self._writer.type(self._schemas.type(name), self._kinds.get(name, ()))
