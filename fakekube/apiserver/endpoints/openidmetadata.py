"""OpenID Connect discovery of the issuer of service account tokens (`pkg/routes/openidmetadata.go`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from fakekube.apiserver.call import Server
from fakekube.apiserver.response import Cached, Response
from fakekube.apiserver.wire.codec import JSON
from fakekube.apiserver.wire.request import Request
from fakekube.apiserver.wire.status import method_not_allowed, not_acceptable

Object = dict[str, Any]

CONFIGURATION, KEYS = "/.well-known/openid-configuration", "/openid/v1/jwks"

#: Path -> media type of its document.
PATHS: Mapping[str, str] = {CONFIGURATION: JSON, KEYS: "application/jwk-set+json"}

#: Seconds that clients may cache the documents.
MAX_AGE = 3600


def answer(server: Server, request: Request, path: str) -> Response:
    """The document at one of the paths. Raises 405, 406."""
    if request.method != "GET":
        raise method_not_allowed()
    media_type = PATHS[path]
    if not _accepted(request.headers.get("accept"), media_type):
        raise not_acceptable(f"406: Not Acceptable\n\nAvailable representations: {media_type}", {})
    document = _configuration(server) if path == CONFIGURATION else _key_set(server)
    headers = {"Cache-Control": f"public, max-age={MAX_AGE}"}
    return Response(body=Cached(orjson.dumps(document)), content_type=media_type, headers=headers)


def _accepted(accept: str | None, media_type: str) -> bool:
    """go-restful's check: a clause is `*/*` or the media type itself."""
    return not accept or any(part.partition(";")[0].strip() in ("*/*", media_type) for part in accept.split(","))


def _configuration(server: Server) -> Object:
    issuer = server.issuer
    return {
        "issuer": issuer.name,
        "jwks_uri": f"{'https' if server.secure else 'http'}://{server.address or 'localhost'}{KEYS}",
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": sorted({key.algorithm for key in issuer.keys.verifying}),
    }


def _key_set(server: Server) -> Object:
    return {"keys": [key.jwk() for key in server.issuer.keys.verifying]}
