"""Requests, and the RequestInfo that is parsed from their method and path (`apiserver/pkg/endpoints/request`)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import parse_qs

from fakekube.apiserver.resource import qualify
from fakekube.apiserver.user import ANONYMOUS, User
from fakekube.apiserver.wire.selectors import FieldSelector, FieldTerm, parse_fields
from fakekube.apiserver.wire.status import StatusError

Query = Mapping[str, Sequence[str]]

#: HTTP method -> verb of a request for one object.
VERBS = {"POST": "create", "GET": "get", "HEAD": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


_NOTHING: Mapping[str, Any] = MappingProxyType({})


class Request(NamedTuple):
    """A request, independent of the transport (a tuple, because one is made for every request).

    `body` is bytes (HTTP) or a decoded object (direct). Header names are lower case. `path` is unquoted.
    """

    method: str
    path: str
    query: Query = _NOTHING
    headers: Mapping[str, str] = _NOTHING
    body: Any = b""
    user: User = ANONYMOUS

    def option(self, name: str) -> str | None:
        """The first value of a query parameter."""
        values = self.query.get(name)
        return values[0] if values else None

    def header_values(self, name: str) -> tuple[str, ...]:
        """All values of a header that may be repeated."""
        every = getattr(self.headers, "getall", None)
        if every is not None:
            return tuple(every(name))
        value = self.headers.get(name)
        return () if value is None else (value,)

    @property
    def user_agent(self) -> str:
        return self.headers.get("user-agent", "")


_BAD_ESCAPE = re.compile("%(?![0-9a-fA-F]{2})")


def is_escaped(text: str) -> bool:
    """Whether every percent sign in a URL starts a valid escape."""
    return "%" not in text or _BAD_ESCAPE.search(text) is None


def parse_query(text: str) -> Query:
    """Parses a raw query string; blank values are kept. As in Go, pairs with invalid escapes or a `;` are ignored."""
    if not text:
        return {}
    if ";" in text or not is_escaped(text):
        text = "&".join(pair for pair in text.split("&") if ";" not in pair and is_escaped(pair))
    return parse_qs(text, keep_blank_values=True)


@dataclass(frozen=True, slots=True)
class RequestInfo:
    """The attributes of a request that authorization and the request log use.

    For a non-resource path `is_resource` is false, and only `verb` (the method in lower case) and `path` are set.
    `watch_path` marks the deprecated `/watch/` paths. `parts` are the segments after the version.
    """

    verb: str
    path: str
    is_resource: bool = False
    group: str = ""
    version: str = ""
    namespace: str = ""
    resource: str = ""
    name: str = ""
    subresource: str = ""
    watch_path: bool = False
    parts: tuple[str, ...] = ()
    rest: tuple[str, ...] = ()
    """The segments after the subresource."""
    field_terms: tuple[FieldTerm, ...] = ()
    """The field selector of a request for a collection; none if it is invalid."""
    what: str = field(init=False, compare=False)
    """Verb and path in one text, as a key."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "what", f"{self.verb} {self.path}")

    @property
    def qualified(self) -> str:
        return qualify(self.resource, self.group)


def parse(request: Request) -> RequestInfo:
    """Parses the method and path of a request. The resource need not exist."""
    if not request.query:
        return _parse(request.method, request.path, False, "")
    return _parse(request.method, request.path, watching(request), request.option("fieldSelector") or "")


@lru_cache(maxsize=4096)
def _parse(method: str, path: str, watching: bool, field_selector: str) -> RequestInfo:
    segments = [part for part in path.split("/") if part]
    if len(segments) >= 3 and segments[0] == "api":
        group, version, parts = "", segments[1], segments[2:]
    elif len(segments) >= 4 and segments[0] == "apis":
        group, version, parts = segments[1], segments[2], segments[3:]
    else:
        return RequestInfo(method.lower(), path)
    watch_path = parts[0] == "watch"
    if watch_path:
        parts = parts[1:]
        if not parts:
            return RequestInfo(method.lower(), path)
    namespace = ""
    if parts[0] == "namespaces" and len(parts) > 1:
        namespace = parts[1]
        # /namespaces/NAME and its subresources address the namespace itself
        if len(parts) > 2 and not (len(parts) == 3 and parts[2] in ("status", "finalize") and group == ""):
            parts = parts[2:]
    resource, name, subresource, rest = _named(parts)
    verb = _verb(method, name, watching, watch_path)
    terms = _field_terms(verb, field_selector)
    return RequestInfo(
        verb=verb,
        path=path,
        is_resource=True,
        group=group,
        version=version,
        namespace=namespace,
        resource=resource,
        name=name or _selected_name(terms),
        subresource=subresource,
        watch_path=watch_path,
        parts=tuple(parts),
        rest=rest,
        field_terms=terms,
    )


def _named(parts: list[str]) -> tuple[str, str, str, tuple[str, ...]]:
    padded = [*parts[:3], "", "", ""]
    return padded[0], padded[1], padded[2], tuple(parts[3:])


def _verb(method: str, name: str, watching: bool, watch_path: bool) -> str:
    if watch_path:
        return "watch"
    verb = VERBS.get(method, "")
    if not name:
        if verb == "get":
            return "watch" if watching else "list"
        if verb == "delete":
            return "deletecollection"
    return verb


def watching(request: Request) -> bool:
    """Whether the parameter `watch` is set: every value except 0 and false is true, as in Go's conversion."""
    value = request.option("watch")
    return value is not None and value.lower() not in ("0", "false")


def _field_terms(verb: str, field_selector: str) -> tuple[FieldTerm, ...]:
    """The terms of the field selector of a collection request, which authorizers may require."""
    if not field_selector or verb not in ("list", "watch", "deletecollection"):
        return ()
    try:
        return parse_fields(field_selector).terms
    except StatusError:
        return ()


def _selected_name(terms: tuple[FieldTerm, ...]) -> str:
    """The name that a field selector of a collection request requires: roles may grant access to that name only."""
    return FieldSelector(terms).required("metadata.name") or ""
