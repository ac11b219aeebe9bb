"""The OpenAPI documents: one for each group and version (OpenAPI 3), and one for all resources (OpenAPI 2)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, Protocol

from fakekube.apiserver import crd
from fakekube.apiserver.openapi import aggregated, builtinroutes, customkinds, customroutes, discoveryroutes, parts
from fakekube.apiserver.openapi.collected import Types
from fakekube.apiserver.openapi.operations import paths_of
from fakekube.apiserver.openapi.parts import Part
from fakekube.apiserver.openapi.routes import Route
from fakekube.apiserver.openapi.sharedparameters import share
from fakekube.apiserver.openapi.typenames import all_versions, client_versions
from fakekube.apiserver.resource import Object, Resource
from fakekube.apiserver.schema.builtinschemas import BuiltinSchemas

_SECURITY: Object = {
    "BearerToken": {
        "description": "Bearer Token authentication", "type": "apiKey", "name": "authorization", "in": "header"
    }
}  # fmt: skip

_AUTHENTICATION: Object = {"securityDefinitions": _SECURITY, "security": [{"BearerToken": []}]}

_CUSTOM_INFO: Object = {"title": "Kubernetes CRD Swagger", "version": "v0.1.0"}


class Document(Protocol):
    """A document as JSON, with the hash of its content."""

    @property
    def json(self) -> bytes: ...

    @property
    def hash(self) -> str: ...


class Catalog(Protocol):
    """The resources that are served at present, with a cache for the documents that are made of them."""

    def resources(self) -> Iterable[Resource]: ...

    def is_custom_group(self, group: str) -> bool: ...

    def remote_documents(self, version: int) -> Mapping[str, Object]:
        """The documents of aggregated API servers, by their paths."""

    @property
    def changes(self) -> int:
        """The number of changes of the resources."""

    @property
    def built(self) -> int:
        """The number of documents and parts that have been made."""

    def has_document(self, key: Hashable) -> bool: ...

    def document(self, key: Hashable, build: Callable[[], Any], *, group: str | None = None) -> Document: ...

    def part(self, key: Hashable, build: Callable[[], Part], *, group: str) -> Part: ...

    def encoding(self, key: Hashable, encode: Callable[[], bytes]) -> bytes: ...


class Server(Protocol):
    """The parts of the API server that documents describe."""

    version: Object
    schemas: BuiltinSchemas

    @property
    def catalog(self) -> Catalog: ...

    def definition(self, resource: Resource) -> Object | None:
        """The definition of a custom resource; None: the resource is built-in."""


def root_of(resource: Resource) -> str:
    """The path of the document of a resource below `/openapi/v3`: `api/v1`, `apis/apps/v1`."""
    return f"apis/{resource.group}/{resource.version}" if resource.group else f"api/{resource.version}"


def roots(server: Server) -> list[str]:
    """The paths of the documents, also those of aggregated API servers."""
    return sorted({*_own_roots(server), *server.catalog.remote_documents(3)})


def _own_roots(server: Server) -> Iterable[str]:
    """The paths of the documents: of groups and versions, of built-in groups, and of what is no resource."""
    resources = list(server.catalog.resources())
    groups = [resource.group for resource in resources if not server.catalog.is_custom_group(resource.group)]
    roots_of_groups = (f"apis/{group}" if group else "api" for group in groups)
    return dict.fromkeys([*map(root_of, resources), *discoveryroutes.SINGLE, *roots_of_groups])


def group_of(root: str) -> str:
    """The group of a document's resources; empty for the core group and for what is no resource."""
    return root.split("/")[1] if root.startswith("apis/") else ""


def version_3(server: Server, root: str) -> Object:
    """The OpenAPI 3 document of a path."""
    remote = server.catalog.remote_documents(3).get(root)
    if remote is not None:
        return remote
    resources = [resource for resource in server.catalog.resources() if root_of(resource) == root]
    custom = any(server.definition(resource) for resource in resources)
    registered = client_versions() if custom else [root.removeprefix("apis/")] if root.count("/") == 2 else []
    types = Types(server.schemas, 3, registered)
    paths = paths_of(_routes(server, root, resources, types), types.refer, 3)
    components: Object = {"schemas": types.written()} if types.any else {}
    if not custom:
        components["securitySchemes"] = _SECURITY
    return {
        "openapi": "3.0.0",
        "info": _CUSTOM_INFO if custom else _info(server),
        "paths": paths,
        **({"components": components} if components else {}),
    }


def version_2(server: Server) -> Object:
    """The OpenAPI 2 document of all resources."""
    own = {**_head(server), **parts.merged(parts_2(server)), **_AUTHENTICATION}
    return aggregated.merged(own, server.catalog.remote_documents(2))


def version_2_in_protobuf(server: Server) -> bytes:
    """The OpenAPI 2 document of the server's own resources in protobuf."""
    return parts.encoded(parts_2(server), {**_head(server), **_AUTHENTICATION})


def _head(server: Server) -> Object:
    return {"swagger": "2.0", "info": _info(server)}


def parts_2(server: Server) -> Iterator[Part]:
    """The parts of the OpenAPI 2 document, each made when it is asked for unless the catalog has it."""
    for root, resources in _by_root(server):
        build = partial(_part_2, server, root, resources)
        yield server.catalog.part(("openapi-2", root), build, group=group_of(root))


def _by_root(server: Server) -> list[tuple[str, list[Resource]]]:
    found: dict[str, list[Resource]] = {root: [] for root in _own_roots(server)}
    for resource in server.catalog.resources():
        found[root_of(resource)].append(resource)
    return list(found.items())


def _part_2(server: Server, root: str, resources: Sequence[Resource]) -> Part:
    types = Types(server.schemas, 2, all_versions(), _written_types(server.schemas))
    paths = paths_of(_routes(server, root, resources, types), types.refer, 2)
    parameters = share(paths)
    return Part({"paths": paths, "definitions": types.written(), "parameters": parameters})


@lru_cache(maxsize=4)
def _written_types(schemas: BuiltinSchemas) -> dict[str, Object]:
    """What parts have written of the built-in types."""
    return {}


def _info(server: Server) -> Object:
    version = server.version
    return {"title": "Kubernetes", "version": f"{version.get('major', '')}.{version.get('minor', '')}"}


def _routes(server: Server, root: str, resources: Sequence[Resource], types: Types) -> Iterator[Route]:
    """The routes of a document. Custom kinds are added to the types."""
    if root in discoveryroutes.SINGLE:
        yield discoveryroutes.SINGLE[root]
        return
    group = group_of(root)
    if not resources:
        yield discoveryroutes.of_group(group)
        return
    if not server.catalog.is_custom_group(group):
        yield discoveryroutes.of_group_version(group, resources[0].version)
    for resource in resources:
        definition = server.definition(resource)
        if definition is None:
            yield from builtinroutes.routes_of(resource, types.kind)
        else:
            types.add_custom(_schemas(resource, definition, types.version))
            yield from customroutes.routes_of(resource)


def _schemas(resource: Resource, definition: Object, version: int) -> Object:
    schema = crd.openapi_of(definition, resource.version)
    return customkinds.schemas_of(resource, schema, crd.selectable_paths(definition, resource.version), version)
