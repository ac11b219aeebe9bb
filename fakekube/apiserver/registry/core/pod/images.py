"""Parses the names of container images, on which the default pull policy depends (`distribution/reference`)."""

from __future__ import annotations

import re
from functools import lru_cache

_COMPONENT = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_DOMAIN_COMPONENT = r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_DOMAIN = rf"(?:{_DOMAIN_COMPONENT}(?:\.{_DOMAIN_COMPONENT})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?"
_DIGEST = r"[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}"

_reference = re.compile(
    rf"(?:{_DOMAIN}/)?{_COMPONENT}(?:/{_COMPONENT})*(?P<tag>:[A-Za-z0-9_][\w.-]{{0,127}})?(?P<digest>@{_DIGEST})?",
    re.ASCII,
)
_identifier = re.compile("[a-f0-9]{64}")


#: The limit of the name of a repository with its domain (`RepositoryNameTotalLengthMax`).
NAME_LIMIT = 255


def _repository(image: str, match: re.Match[str]) -> str:
    """The name of the repository without its domain, which `docker.io` has in front of it if there is none."""
    name = image.removesuffix(match["digest"] or "").removesuffix(match["tag"] or "")
    domain, slash, path = name.partition("/")
    if slash and (any(sign in domain for sign in ".:") or domain == "localhost" or domain.lower() != domain):
        familiar = domain in ("docker.io", "index.docker.io") and "/" not in path
        return f"library/{path}" if familiar else path
    return name if slash else f"library/{name}"


@lru_cache(maxsize=4096)
def tag_of(image: str) -> str:
    """The tag of an image: `latest` without a tag and digest, empty with only a digest or for an invalid name."""
    match = _reference.fullmatch(image)
    if match is None or _identifier.fullmatch(image) or len(_repository(image, match)) > NAME_LIMIT:
        return ""
    tag, digest = match["tag"], match["digest"]
    if tag:
        return tag[1:]
    return "" if digest else "latest"


def pull_policy(image: str) -> str:
    return "Always" if tag_of(image) == "latest" else "IfNotPresent"
