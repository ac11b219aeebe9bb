"""Non-resource paths: discovery, version, health, metrics, OpenAPI and OpenID metadata."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import orjson

from fakekube.apiserver.call import Server
from fakekube.apiserver.catalog import Document
from fakekube.apiserver.endpoints import discovery, health, metrics, openidmetadata
from fakekube.apiserver.response import Cached, Response
from fakekube.apiserver.schema.builtinschemas import number
from fakekube.apiserver.wire import envelope
from fakekube.apiserver.wire.codec import JSON, PROTOBUF
from fakekube.apiserver.wire.negotiation import (
    ACCEPTED,
    MEDIA_TYPES,
    UNCONVERTED,
    Representation,
    aggregated_discovery,
    check_produced,
    choose,
    negotiate,
)
from fakekube.apiserver.wire.request import Request
from fakekube.apiserver.wire.status import PlainAnswer, method_not_allowed, no_such_resource

Object = dict[str, Any]

#: Version of aggregated discovery -> the first and the last Kubernetes minor version that serves it.
AGGREGATED = {"v2": ((1, 30), (9, 9)), "v2beta1": ((1, 27), (1, 32))}


def answer(server: Server, request: Request) -> Response:
    """Answer a request for a non-resource path. Raises a plain-text 404 for an unknown path."""
    path = request.path.rstrip("/") or "/"
    if health.answers(path):
        return health.answer(request)
    if path in openidmetadata.PATHS:
        return openidmetadata.answer(server, request, path)
    document = server.openapi(request)
    if document is not None:
        return document
    if path.startswith("/version/"):
        raise no_such_resource()
    if request.method not in ("GET", "HEAD") or (request.method == "HEAD" and _restful(server, request)):
        return _of_any_method(server, request, path)
    if path == "/version":
        check_produced(request.headers.get("accept"), (JSON,), JSON)
        return _indented(server.version)
    if path == "/metrics":
        return metrics.answer(server)
    if path == "/metrics/slis":
        return metrics.slis()
    if path == "/":
        return _indented({"paths": paths(server)})
    if path in ("/api", "/apis"):
        return _groups(server, request, path)
    if path.startswith(("/api/", "/apis/")):
        return _group(server, request, path)
    raise PlainAnswer(404, "404 page not found\n")


def _indented(value: Object) -> Response:
    """A document that is indented for all clients (`responsewriters.WriteRawJSON`)."""
    return Response(body=Cached(orjson.dumps(value, option=orjson.OPT_INDENT_2)))


def _groups(server: Server, request: Request, path: str) -> Response:
    catalog = server.catalog
    accept = request.headers.get("accept")
    if path == "/api":
        check_produced(accept, MEDIA_TYPES, ACCEPTED)
    found = choose(accept, aggregated_discovery(_aggregated_versions(server)))
    if found is not None and found.shape:
        return _aggregated(server, request, path, found)
    if path == "/api":
        address = server.address
        return _document(server, request, (path, address), lambda: discovery.api_versions(catalog, address))
    return _document(server, request, path, lambda: discovery.api_group_list(catalog))


def _aggregated_versions(server: Server) -> list[str]:
    minor = number(server.schemas.version)
    return [version for version, (first, last) in AGGREGATED.items() if first <= minor <= last]


def _aggregated(server: Server, request: Request, path: str, representation: Representation) -> Response:
    """The document with an ETag; 304 if the client has the current document."""
    catalog, version = server.catalog, representation.shape_version
    groups = [""] if path == "/api" else catalog.group_names()
    api_version, key = f"apidiscovery.k8s.io/{version}", (path, version)
    document = catalog.document(key, lambda: discovery.aggregated(catalog, groups, api_version))
    tag = f'"{document.hash}"'
    headers = {"ETag": tag, "Vary": "Accept", "Cache-Control": "public"}
    if request.headers.get("if-none-match") == tag:
        return Response(304, content_type="", headers=headers)
    media_type = representation.media_type
    shown = f"{media_type};g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList"
    return Response(body=_cached(server, key, document, media_type), content_type=shown, headers=headers)


def _document(server: Server, request: Request, key: Hashable, build: Callable[[], Object]) -> Response:
    """A document of legacy discovery. Raises 406."""
    media_type = negotiate(request.headers.get("accept"), UNCONVERTED, restful=_restful(server, request)).media_type
    return Response(body=_cached(server, key, server.catalog.document(key, build), media_type), content_type=media_type)


def _restful(server: Server, request: Request) -> bool:
    """Whether go-restful serves a document, and not the aggregator or apiextensions-apiserver. It serves no HEAD."""
    parts = request.path.strip("/").split("/")
    return parts[0] in ("api", "version") or (len(parts) == 3 and not server.catalog.is_custom_group(parts[1]))


def _cached(server: Server, key: Hashable, document: Document, media_type: str) -> Cached:
    if media_type != PROTOBUF:
        return Cached(document.json, raw=False)
    encoded = server.catalog.encoding((key, PROTOBUF), lambda: envelope.encode(orjson.loads(document.json)))
    return Cached(document.json, raw=False, protobuf=encoded)


def _of_any_method(server: Server, request: Request, path: str) -> Response:
    """A path that only a GET reads. A group is served to all methods, and an unknown path is unknown to all."""
    if path.startswith(("/api/", "/apis/")):
        response = _group(server, request, path)
        if path.count("/") == 2 and path.startswith("/apis/"):
            return response
    elif path not in KNOWN:
        raise PlainAnswer(404, "404 page not found\n")
    raise method_not_allowed()


#: The paths without a resource that are known, besides those of groups.
KNOWN = ("/", "/api", "/apis", "/version", "/metrics", "/metrics/slis")


def _group(server: Server, request: Request, path: str) -> Response:
    parts = path.strip("/").split("/")
    if parts[0] == "api":
        group, version = "", parts[1] if len(parts) == 2 else ""
    else:
        group, version = parts[1], parts[2] if len(parts) > 2 else ""
    if len(parts) == 2 and parts[0] == "apis":
        found = discovery.api_group(server.catalog, group)
    else:
        found = discovery.api_resource_list(server.catalog, group, version)
    if found is not None:
        return _document(server, request, path, lambda: found)
    if server.catalog.serves_group(group) and not server.catalog.is_custom_group(group):
        raise no_such_resource()
    raise PlainAnswer(404, "404 page not found\n")


def paths(server: Server) -> list[str]:
    found = {
        "/api",
        "/apis",
        "/apis/",
        "/metrics",
        "/metrics/slis",
        "/openapi/v2",
        "/openapi/v3",
        "/openapi/v3/",
        "/version",
    }
    found |= openidmetadata.PATHS.keys()
    for path, checks in health.CHECKS.items():
        found |= {f"/{path}", *(f"/{path}/{check}" for check in checks)}
    for resource in server.catalog.resources():
        root = f"/apis/{resource.group}" if resource.group else "/api"
        found |= {root, f"{root}/{resource.version}"}
    return sorted(found)
