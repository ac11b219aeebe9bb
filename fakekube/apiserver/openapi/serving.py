"""Serves `/openapi/v3` and `/openapi/v2` with ETags (kube-openapi `handler3`, `handler`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

import orjson

from fakekube.apiserver.needs import Delay, Waiting
from fakekube.apiserver.openapi import documents, gnostic, gnosticv3
from fakekube.apiserver.openapi.documents import Document, Server
from fakekube.apiserver.response import Cached, Raw, Response
from fakekube.apiserver.wire.negotiation import clauses
from fakekube.apiserver.wire.request import Request

V2, V3 = "/openapi/v2", "/openapi/v3"

_JSON = "application/json"
_TAKES_JSON = ("*/*", "application/*", _JSON)

#: The media types of the documents in protobuf, current and former.
PROTOBUF_2 = (
    "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
    "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
)
PROTOBUF_3 = (
    "application/com.github.proto-openapi.spec.v3.v1.0+protobuf",
    "application/com.github.proto-openapi.spec.v3@v1.0+protobuf",
)


def answer(server: Server, request: Request) -> Response | None:
    """The response of an OpenAPI path; None for any other path."""
    path = request.path
    if path == V3:
        return _file(request, _index(server), content_type="text/plain; charset=utf-8")
    if path.startswith(f"{V3}/"):
        return _group_version(server, request, path.removeprefix(f"{V3}/"))
    if path == V2:
        return _version_2(server, request)
    return None


def prepared(server: Server, request: Request) -> Waiting:
    """Makes the parts of a document one by one, so that other requests are answered in between."""
    catalog = server.catalog
    while request.path in (V2, V3) and not catalog.has_document(request.path):
        seen = catalog.changes
        for made in _made(server, request.path):
            if made:
                yield Delay(0.0)
            if catalog.changes != seen:
                break
        else:
            if request.path == V2:
                yield from _united(server, request, seen)
            if catalog.changes == seen:
                return


def _united(server: Server, request: Request, seen: int) -> Waiting:
    """Unites the parts of the document, encodes the whole, and encodes it in protobuf if that is wanted. `seen` are the
    changes that the parts have."""
    catalog = server.catalog
    whole = documents.version_2(server)
    yield Delay(0.0)
    if catalog.changes == seen:
        catalog.document(V2, lambda: whole)
        yield Delay(0.0)
    if catalog.changes == seen and next(_understood(request, PROTOBUF_2), _JSON) != _JSON:
        _in_protobuf(server)
        yield Delay(0.0)


def _made(server: Server, path: str) -> Iterator[bool]:
    """Makes a part at each step. Yields whether it was missing."""
    parts: Iterable[object]
    if path == V3:
        parts = (_document(server, root) for root in documents.roots(server))
    else:
        parts = (part.protobuf for part in documents.parts_2(server))
    built = server.catalog.built
    for _ in parts:
        yield server.catalog.built != built
        built = server.catalog.built


def _version_2(server: Server, request: Request) -> Response:
    """The document as JSON or protobuf, depending on which one the client names first."""
    document = server.catalog.document(V2, lambda: documents.version_2(server))
    content_type = next(_understood(request, PROTOBUF_2), None)
    if content_type is None:
        return _nothing(406)
    encoded = None if content_type == _JSON else _in_protobuf(server)
    return _file(request, document, content_type=content_type, vary="Accept", content=encoded)


def _in_protobuf(server: Server) -> bytes:
    def encode() -> bytes:
        if not server.catalog.remote_documents(2):
            return documents.version_2_in_protobuf(server)
        document = server.catalog.document(V2, lambda: documents.version_2(server))
        return gnostic.encode(orjson.loads(document.json))

    return server.catalog.encoding(V2, encode)


def _index(server: Server) -> Document:
    """The URLs of the documents of all groups and versions. A URL contains a hash, so that clients can cache it."""

    def build() -> object:
        found = {
            root: {"serverRelativeURL": _address(root, _document(server, root))} for root in documents.roots(server)
        }
        return {"paths": found}

    return server.catalog.document(V3, build)


def _document(server: Server, root: str) -> Document:
    build = partial(documents.version_3, server, root)
    return server.catalog.document((V3, root), build, group=documents.group_of(root))


def _address(root: str, document: Document) -> str:
    return f"{V3}/{root}?hash={document.hash}"


def _group_version(server: Server, request: Request, root: str) -> Response:
    if root not in documents.roots(server):
        return _nothing(404)
    content_type = next(_understood(request, PROTOBUF_3), None)
    if content_type is None:
        return _nothing(406)
    document = _document(server, root)
    asked = request.option("hash") or ""
    if asked and asked != document.hash:
        headers = {"Location": _address(root, document), "ETag": f'"{document.hash}"', "Vary": "Accept"}
        return Response(301, content_type=content_type, headers=headers)
    encoded = None
    if content_type != _JSON:
        encoded = server.catalog.encoding((V3, root), lambda: gnosticv3.encode(orjson.loads(document.json)))
    response = _file(request, document, content_type=content_type, vary="Accept", content=encoded)
    if asked:
        response.headers["Cache-Control"] = "public, immutable"
    return response


def _understood(request: Request, protobuf: tuple[str, str]) -> Iterator[str]:
    """The media types that the client accepts among JSON and those of protobuf, the current one for both, in order."""
    for clause in clauses(request.headers.get("accept") or "*/*"):
        if clause.media_type in protobuf:
            yield protobuf[0]
        elif clause.media_type in _TAKES_JSON:
            yield _JSON


def _file(
    request: Request, document: Document, *, content_type: str = _JSON, vary: str = "", content: bytes | None = None
) -> Response:
    """`content` is another encoding of the document, with the same ETag."""
    tag = f'"{document.hash}"'
    headers = {"ETag": tag, **({"Vary": vary} if vary else {})}
    if tag in [one.strip() for one in request.headers.get("if-none-match", "").split(",")]:
        return Response(304, content_type="", headers=headers)
    body = Cached(document.json) if content is None else Raw(content)
    return Response(body=body, content_type=content_type, headers=headers)


def _nothing(code: int) -> Response:
    """A response without a body and without a content type."""
    return Response(code, content_type="", headers={"Vary": "Accept"} if code == 406 else {})
