"""OpenAPI documents (`/openapi/v3`, `/openapi/v2`): what kubectl needs of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fakekube.core.resource import Resource
from fakekube.core.response import Document, Response

if TYPE_CHECKING:
    from fakekube.core.apiserver import ApiServer

Object = dict[str, Any]


def answer(server: ApiServer, path: str, query: Mapping[str, Any]) -> Response | None:
    """The document of a path; None where there is none."""
    if path == "/openapi/v3":
        return Response(
            body=Document({"paths": {root: {"serverRelativeURL": f"/openapi/v3/{root}"} for root in _roots(server)}})
        )
    if path.startswith("/openapi/v3/"):
        root = path.removeprefix("/openapi/v3/")
        return Response(body=Document(_document(server, root))) if root in _roots(server) else None
    return None


def _roots(server: ApiServer) -> list[str]:
    found: dict[str, None] = {}
    for resource in server.catalog.resources():
        found[_root(resource)] = None
    return list(found)


def _root(resource: Resource) -> str:
    return f"apis/{resource.group}/{resource.version}" if resource.group else f"api/{resource.version}"


def _document(server: ApiServer, root: str) -> Object:
    """The operations of one group and version: which kinds there are, and that writes take `fieldValidation`."""
    paths: Object = {}
    schemas: Object = {}
    for resource in server.catalog.resources():
        if _root(resource) != root:
            continue
        gvk = {"group": resource.group, "version": resource.version, "kind": resource.kind}
        name = f"{resource.group or 'core'}.{resource.version}.{resource.kind}"
        schemas[name] = {
            "type": "object",
            "x-kubernetes-group-version-kind": [gvk],
            "x-kubernetes-preserve-unknown-fields": True,
        }
        scope = "/namespaces/{namespace}" if resource.namespaced else ""
        base = f"/{root}{scope}/{resource.plural}"
        paths[base] = {"post": _operation(gvk, "post")}
        paths[base + "/{name}"] = {verb: _operation(gvk, verb) for verb in ("put", "patch")}
    info = {"title": "Kubernetes", "version": server.version.get("gitVersion", "")}
    return {"openapi": "3.0.0", "info": info, "paths": paths, "components": {"schemas": schemas}}


def _operation(gvk: Object, action: str) -> Object:
    parameters = [
        {"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": True}}
        for name in ("dryRun", "fieldManager", "fieldValidation")
    ]
    return {
        "parameters": parameters,
        "responses": {"200": {"description": "OK"}},
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": gvk,
    }
