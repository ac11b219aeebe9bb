"""Parses URLs as Go's `net/url` does, for the format `uri` and the CEL function `url`."""

from __future__ import annotations

import re
from urllib.parse import unquote_to_bytes

from fakekube.struct import Struct

_PORT = re.compile(r"(?::[0-9]*)?\Z")
_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_USER = re.compile(r"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*\Z")


class BadUrl(Exception):
    """An invalid URL; the message is Go's."""


class Url(Struct, frozen=True):
    """A parsed URL. `host` includes the port and the brackets of an IPv6 address; `raw_query` has no question mark."""

    scheme: str = ""
    user: str | None = None
    host: str = ""
    path: str = ""
    raw_path: str = ""
    raw_query: str = ""

    @property
    def hostname(self) -> str:
        return _split_host(self.host)[0]

    @property
    def port(self) -> str:
        return _split_host(self.host)[1]


def _split_host(host: str) -> tuple[str, str]:
    name, colon, port = host.rpartition(":")
    if colon and (not port or (port.isascii() and port.isdigit())) and not (host.startswith("[") and "]" not in name):
        found = name
    else:
        found, port = host, ""
    if found.startswith("[") and found.endswith("]"):
        found = found[1:-1]
    return found, port


def parse_request_uri(text: str) -> Url:
    """Parses an absolute URL or an absolute path (`url.ParseRequestURI`). Raises BadUrl."""
    try:
        return _parse(text)
    except BadUrl as problem:
        raise BadUrl(f'parse "{text}": {problem}') from None


def parse_url(text: str) -> Url:
    """Parses a URL without a fragment, absolute or relative (`url.Parse`). Raises BadUrl."""
    try:
        return _parse(text, relative=True)
    except BadUrl as problem:
        raise BadUrl(f'parse "{text}": {problem}') from None


def _parse(text: str, *, relative: bool = False) -> Url:
    if any(ord(char) < 0x20 or ord(char) == 0x7F for char in text):
        raise BadUrl("net/url: invalid control character in URL")
    if not text and not relative:
        raise BadUrl("empty url")
    if text == "*":
        return Url(path="*", raw_path="*")
    scheme, rest = _scheme(text)
    rest, _, query = rest.partition("?")
    if not rest.startswith("/"):
        if scheme:
            return Url(scheme=scheme.lower(), raw_query=query)  # opaque
        if not relative:
            raise BadUrl("invalid URI for request")
        if ":" in rest.partition("/")[0]:
            raise BadUrl("first path segment in URL cannot contain colon")
    user, host = None, ""
    if (scheme or (relative and not rest.startswith("///"))) and rest.startswith("//"):
        authority, slash, path = rest[2:].partition("/")
        rest = slash + path
        user, host = _authority(authority)
    return Url(scheme.lower(), user, host, unescape(rest), rest, query)


def _scheme(text: str) -> tuple[str, str]:
    for i, char in enumerate(text):
        if char.isascii() and char.isalpha():
            continue
        if char in "0123456789+-.":
            if i == 0:
                return "", text
            continue
        if char == ":":
            if i == 0:
                raise BadUrl("missing protocol scheme")
            return text[:i], text[i + 1 :]
        return "", text
    return "", text


def _authority(text: str) -> tuple[str | None, str]:
    before, at, host = text.rpartition("@")
    if at and not _USER.match(before):
        raise BadUrl("net/url: invalid userinfo")
    return (unescape(before) if at else None), _host(host)


def _host(host: str) -> str:
    if host.startswith("["):
        inside, close, after = host.rpartition("]")
        if not close:
            raise BadUrl("missing ']' in host")
        if not _PORT.match(after):
            raise BadUrl(f'invalid port "{after}" after host')
        return inside + close + after
    colon = host.rfind(":")
    if colon >= 0 and not _PORT.match(host[colon:]):
        raise BadUrl(f'invalid port "{host[colon:]}" after host')
    made = unescape(host)
    bad = re.search(r"[\x00-\x20\x7f\"<>\\^`{|}]", host)
    if bad:
        raise BadUrl(f'invalid character "{bad[0]}" in host name')
    return made


def unescape(text: str) -> str:
    """Resolves percent-escapes. Raises BadUrl."""
    if "%" not in text:
        return text
    bad = _ESCAPE.search(text)
    if bad:
        raise BadUrl(f'invalid URL escape "{text[bad.start() : bad.start() + 3]}"')
    return unquote_to_bytes(text).decode("utf-8", "replace")


def escaped_path(url: Url) -> str:
    """The escaped path, as written if that is a valid encoding (`URL.EscapedPath`)."""
    return url.raw_path if re.fullmatch(r"[A-Za-z0-9\-._~!$&'()*+,;=:@/\[\]%]*", url.raw_path) else _escape(url.path)


def _escape(path: str) -> str:
    from urllib.parse import quote

    return quote(path, safe="/$&+,:;=@~")


def query_values(query: str) -> dict[str, list[str]]:
    """The query parameters (`URL.Query`). Malformed pairs are ignored."""
    found: dict[str, list[str]] = {}
    for pair in query.split("&"):
        if not pair or ";" in pair:
            continue
        key, _, value = pair.partition("=")
        try:
            found.setdefault(unescape(key.replace("+", " ")), []).append(unescape(value.replace("+", " ")))
        except BadUrl:
            continue
    return found
