"""The routes that are not about a resource: discovery, the version, and the keys of service account tokens."""

from __future__ import annotations

from fakekube.apiserver.openapi.routes import JSON, PROTOBUF, TEXT, YAML, Route
from fakekube.apiserver.openapi.typenames import META, VERSION_INFO

_MEDIA_TYPES = (JSON, YAML, PROTOBUF)


def _discovery(path: str, operation: tuple[str, str], description: str, kind: str) -> Route:
    return Route(path, "get", operation, description, f"{META}.{kind}", consumes=_MEDIA_TYPES)


def of_group_version(group: str, version: str) -> Route:
    root = f"/apis/{group}" if group else "/api"
    return _discovery(f"{root}/{version}/", ("get", "APIResources"), "get available resources", "APIResourceList")


def of_group(group: str) -> Route:
    """The route of a named group, or that of the versions of the core group."""
    if not group:
        return _discovery("/api/", ("get", "APIVersions"), "get available API versions", "APIVersions")
    return _discovery(f"/apis/{group}/", ("get", "APIGroup"), "get information of a group", "APIGroup")


def _keys(path: str, what: str, description: str, media_type: str) -> Route:
    operation = ("get", f"ServiceAccountIssuerOpenID{what}")
    words = f"get service account issuer OpenID {description}"
    return Route(path, "get", operation, words, TEXT, produces=(media_type,), consumes=())


#: The routes of documents of their own, by the path of the document.
SINGLE = {
    "apis": _discovery("/apis/", ("get", "APIVersions"), "get available API versions", "APIGroupList"),
    "version": Route(
        "/version/",
        "get",
        ("get", "CodeVersion"),
        "get the version information for this server",
        VERSION_INFO,
        produces=(JSON,),
        consumes=(JSON,),
    ),
    ".well-known/openid-configuration": _keys(
        "/.well-known/openid-configuration/",
        "Configuration",
        "configuration, also known as the 'OIDC discovery doc'",
        JSON,
    ),
    "openid/v1/jwks": _keys(
        "/openid/v1/jwks/",
        "Keyset",
        "JSON Web Key Set (contains public token verification keys)",
        "application/jwk-set+json",
    ),
}
