"""The OpenAPI documents: one for each group and version (OpenAPI 3), and one for all resources (OpenAPI 2)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import partial
from typing import Any, Protocol

from fakekube.apiserver.openapi import customkinds
from fakekube.apiserver.openapi.operations import paths_of
from fakekube.apiserver.openapi.schemawriter import SchemaWriter, reference
from fakekube.apiserver.openapi.typenames import NAMED_SCALARS, PATCH, custom_name, full_name, kinds_of_types
from fakekube.apiserver.resource import Object, Resource
from fakekube.apiserver.schema.builtinschemas import BuiltinSchemas
from fakekube.apiserver.schema.model import Schema

#: The types that every document contains.
_COMMON = ("meta.v1.DeleteOptions", "meta.v1.ListMeta", "meta.v1.ObjectMeta", "meta.v1.Status", "meta.v1.WatchEvent")


class Document(Protocol):
    """A document as JSON, with the hash of its content."""

    @property
    def json(self) -> bytes: ...

    @property
    def hash(self) -> str: ...


class Catalog(Protocol):
    """The resources that are served at present, with a cache for the documents that are made of them."""

    def resources(self) -> Iterable[Resource]: ...

    def document(self, key: Hashable, build: Callable[[], Any]) -> Document: ...

    def encoding(self, key: Hashable, encode: Callable[[], bytes]) -> bytes: ...


class Kind(Protocol):
    """A served kind, as far as documents describe it."""

    @property
    def published_schema(self) -> Object | None:
        """The schema of a custom kind; None: that of a built-in type."""


class Server(Protocol):
    """The parts of the API server that documents describe."""

    version: Object
    schemas: BuiltinSchemas

    @property
    def catalog(self) -> Catalog: ...

    def registration(self, resource: Resource) -> Kind: ...


def root_of(resource: Resource) -> str:
    """The path of the document of a resource below `/openapi/v3`: `api/v1`, `apis/apps/v1`."""
    return f"apis/{resource.group}/{resource.version}" if resource.group else f"api/{resource.version}"


def roots(server: Server) -> list[str]:
    return sorted({root_of(resource) for resource in server.catalog.resources()})


def version_3(server: Server, root: str) -> Object:
    """The OpenAPI 3 document of a group and version."""
    paths, types = _content(server, [r for r in server.catalog.resources() if root_of(r) == root], 3)
    return {
        "openapi": "3.0.0",
        "info": _info(server),
        "paths": paths,
        "components": {
            "schemas": types,
            "securitySchemes": {"BearerToken": {"type": "apiKey", "name": "authorization", "in": "header"}},
        },
    }


def version_2(server: Server) -> Object:
    """The OpenAPI 2 document of all resources."""
    paths, types = _content(server, list(server.catalog.resources()), 2)
    return {
        "swagger": "2.0",
        "info": _info(server),
        "paths": paths,
        "definitions": types,
        "securityDefinitions": {"BearerToken": {"type": "apiKey", "name": "authorization", "in": "header"}},
        "security": [{"BearerToken": []}],
    }


def _info(server: Server) -> Object:
    return {"title": "Kubernetes", "version": server.version.get("gitVersion", "")}


def _content(server: Server, resources: Sequence[Resource], version: int) -> tuple[Object, Object]:
    """The paths of resources, and the types that they refer to."""
    collected = _Types(server.schemas, version)
    paths: Object = {}
    own: Object = {}
    refer = partial(reference, version=version)
    for resource in resources:
        published = server.registration(resource).published_schema
        if published is not None:
            names = [custom_name(resource.group, resource.version, k) for k in (resource.kind, resource.list_kind)]
            own |= customkinds.schemas_of(resource, published, version)
        else:
            names = collected.kind(resource)
        paths |= paths_of(resource, names[0], names[1], refer, version)
    for name in _COMMON:
        collected.add(name)
    types = collected.written()
    types[PATCH] = {"type": "object"}
    return dict(sorted(paths.items())), dict(sorted({**types, **own}.items()))


class _Types:
    """Collects the built-in types that a document refers to, directly or indirectly."""

    def __init__(self, schemas: BuiltinSchemas, version: int) -> None:
        self._schemas = schemas
        self._gvks = kinds_of_types(schemas)
        self._writer = SchemaWriter(version, self._need)
        self._waiting: dict[str, Schema] = {}
        self._nodes: Object = {}

    def kind(self, resource: Resource) -> list[str]:
        """Adds the kind of a resource and its list, and returns their full names."""
        schema = self._schemas.of_kind(resource.group, resource.version, resource.kind)
        if schema is None:
            return [full_name("meta.v1.Status")] * 2
        names = [schema.name, f"{schema.name}List"]
        for name in names:
            self.add(name)
        return [full_name(name) for name in names]

    def add(self, name: str) -> None:
        try:
            self._need(name, self._schemas.type(name))
        except KeyError:
            return  # the kind has no list

    def _need(self, name: str, schema: Schema | None) -> None:
        if schema is None:
            full, node = NAMED_SCALARS[name]
            self._nodes[full] = node
        elif full_name(name) not in self._nodes:
            self._waiting[name] = schema

    def written(self) -> Object:
        while self._waiting:
            name, _ = self._waiting.popitem()
            self._nodes[full_name(name)] = {}  # types can be recursive
            self._nodes[full_name(name)] = self._writer.type(self._schemas.type(name), self._kinds(name))
        return self._nodes

    def _kinds(self, name: str) -> list[Object]:
        found: Iterable[Object] = self._gvks.get(name, ())
        return list(found)
