"""Paths that are no resources: discovery, version, health, OpenAPI."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fakekube.core.request import Request
from fakekube.core.response import Document, Response, Text
from fakekube.core.status import PlainAnswer, method_not_allowed, no_such_resource

if TYPE_CHECKING:
    from fakekube.core.apiserver import ApiServer

Object = dict[str, Any]

HEALTH_PATHS = frozenset({"/healthz", "/livez", "/readyz"})
AGGREGATED = "as=APIGroupDiscoveryList"


def answer(server: ApiServer, request: Request) -> Response:
    """Raises 404 as plain text for what is not there."""
    path = request.path.rstrip("/") or "/"
    if path.strip("/").split("/")[0] in ("healthz", "livez", "readyz"):
        return _health(path)
    if request.method not in ("GET", "HEAD"):
        raise method_not_allowed()
    if path == "/version":
        return Response(body=Document(server.version))
    if path == "/":
        return Response(body=Document({"paths": paths(server)}))
    if path in ("/api", "/apis"):
        return _groups(server, request, path)
    if path.startswith(("/api/", "/apis/")):
        return _group(server, path)
    document = server.openapi(path, request.query)
    if document is not None:
        return document
    raise PlainAnswer(404, "404 page not found\n")


def _health(path: str) -> Response:
    return Response(body=Text("ok"), content_type="text/plain; charset=utf-8")


def _groups(server: ApiServer, request: Request, path: str) -> Response:
    accept = request.headers.get("accept", "")
    for clause in accept.split(","):
        if AGGREGATED in clause and "v=v2" in clause:
            api_version = "apidiscovery.k8s.io/v2" if "v=v2beta1" not in clause else "apidiscovery.k8s.io/v2beta1"
            groups = [""] if path == "/api" else server.catalog.group_names()
            media = (
                f"application/json;g=apidiscovery.k8s.io;v={api_version.rpartition('/')[2]};as=APIGroupDiscoveryList"
            )
            return Response(
                body=Document(server.catalog.aggregated(groups, api_version)),
                content_type=media,
                headers={"Vary": "Accept"},
            )
    if path == "/api":
        return Response(body=Document(server.catalog.api_versions(server.address)))
    return Response(body=Document(server.catalog.api_group_list()))


def _group(server: ApiServer, path: str) -> Response:
    parts = path.strip("/").split("/")
    if parts[0] == "api":
        group, version = "", parts[1] if len(parts) == 2 else ""
    else:
        group, version = parts[1], parts[2] if len(parts) > 2 else ""
    if len(parts) == 2 and parts[0] == "apis":
        found = server.catalog.api_group(group)
    else:
        found = server.catalog.api_resource_list(group, version)
    if found is not None:
        return Response(body=Document(found))
    if server.catalog.serves_group(group) and not server.catalog.is_custom_group(group):
        raise no_such_resource()
    raise PlainAnswer(404, "404 page not found\n")


def paths(server: ApiServer) -> list[str]:
    found = {"/.well-known/openid-configuration", "/api", "/apis", "/apis/", "/version", *HEALTH_PATHS, "/openapi/v2",
             "/openapi/v3", "/openapi/v3/"}  # fmt: skip
    for resource in server.catalog.resources():
        root = f"/apis/{resource.group}" if resource.group else "/api"
        found |= {root, f"{root}/{resource.version}"}
    return sorted(found)
