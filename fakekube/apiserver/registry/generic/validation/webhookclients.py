"""How a webhook is reached: by URL, or by a service of the cluster (apiserver `util/webhook/validation.go`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fakekube.apiserver.crd.gourl import BadUrl, parse_url
from fakekube.apiserver.registry.generic import names
from fakekube.apiserver.registry.generic.validation.content import Errors, range_problem
from fakekube.apiserver.wire.status import field_invalid, field_required

DESIRED = "; desired format: https://host[/path]"


def check_client(config: Mapping[str, Any], path: str, errors: Errors) -> None:
    """Exactly one of the two ways."""
    url, service = config.get("url"), config.get("service")
    if (url is None) == (service is None):
        errors.append(field_required(path, "exactly one of url or service is required"))
    elif url is not None:
        check_url(url, f"{path}.url", errors)
    else:
        check_service(service or {}, f"{path}.service", errors)


def check_url(text: str, path: str, errors: Errors) -> None:
    rest, _, fragment = text.partition("#")
    try:
        url = parse_url(rest)
    except BadUrl as problem:
        errors.append(field_required(path, f"url must be a valid URL: {problem}{DESIRED}"))
        return
    if url.scheme != "https":
        errors.append(field_invalid(path, url.scheme, f"'https' is the only allowed URL scheme{DESIRED}"))
    if not url.host:
        errors.append(field_invalid(path, url.host, f"host must be specified{DESIRED}"))
    if url.user is not None:
        errors.append(field_invalid(path, url.user, "user information is not permitted in the URL"))
    if fragment:
        errors.append(field_invalid(path, fragment, "fragments are not permitted in the URL"))
    if url.raw_query:
        errors.append(field_invalid(path, url.raw_query, "query parameters are not permitted in the URL"))


def check_service(service: Mapping[str, Any], path: str, errors: Errors) -> None:
    """Its callers hand the name and the namespace over the wrong way round, so that each is missed as the other."""
    if not service.get("namespace"):
        errors.append(field_required(f"{path}.name"))
    if not service.get("name"):
        errors.append(field_required(f"{path}.namespace"))
    port = service.get("port")
    if port is not None and not 1 <= port <= 65535:
        errors.append(field_invalid(f"{path}.port", port, f"port is not valid: {range_problem(1, 65535)}"))
    _check_path(service.get("path") or "", f"{path}.path", errors)


def _check_path(text: str, path: str, errors: Errors) -> None:
    if text in ("", "/"):
        return
    if text == "//":
        errors.append(field_invalid(path, text, "segment[0] may not be empty"))
        return
    if not text.startswith("/"):
        errors.append(field_invalid(path, text, "must start with a '/'"))
    for i, step in enumerate(text[1:].removesuffix("/").split("/")):
        problems = [f": {one}" for one in names.dns_subdomain_problems(step)] if step else [" may not be empty"]
        errors.extend(field_invalid(path, text, f"segment[{i}]{problem}") for problem in problems)
