"""How a webhook is reached: by URL, or by a service of the cluster (apiserver `util/webhook/validation.go`)."""

from __future__ import annotations

from fakekube.apiserver import names
from fakekube.apiserver.registry.generic.validation.content import range_problem
from fakekube.apiserver.registry.generic.validation.field import Field
from fakekube.apiserver.wire.gourl import BadUrl, parse_url

DESIRED = "; desired format: https://host[/path]"


def validate_client(config: Field) -> None:
    """Exactly one of `url` and `service` is set."""
    url, service = config["url"], config["service"]
    if (url.value is None) == (service.value is None):
        config.missing("exactly one of url or service is required")
    elif service.value is None:
        _validate_url(url)
    else:
        _validate_service(service)


def _validate_url(field: Field) -> None:
    rest, _, fragment = field.text.partition("#")
    try:
        url = parse_url(rest)
    except BadUrl as problem:
        field.missing(f"url must be a valid URL: {problem}{DESIRED}")
        return
    if url.scheme != "https":
        field.invalid(f"'https' is the only allowed URL scheme{DESIRED}", url.scheme)
    if not url.host:
        field.invalid(f"host must be specified{DESIRED}", url.host)
    if url.user is not None:
        field.invalid("user information is not permitted in the URL", url.user)
    if fragment:
        field.invalid("fragments are not permitted in the URL", fragment)
    if url.raw_query:
        field.invalid("query parameters are not permitted in the URL", url.raw_query)


def _validate_service(service: Field) -> None:
    """The callers of upstream's function swap name and namespace, so that each is reported at the path of the other."""
    service.at("name", service["namespace"].value).required()
    service.at("namespace", service["name"].value).required()
    service.get("port").between(1, 65535, f"port is not valid: {range_problem(1, 65535)}")
    _validate_path(service["path"])


def _validate_path(path: Field) -> None:
    if path.text in ("", "/"):
        return
    if path.text == "//":
        path.invalid("segment[0] may not be empty")
        return
    if not path.text.startswith("/"):
        path.invalid("must start with a '/'")
    for i, step in enumerate(path.text[1:].removesuffix("/").split("/")):
        for problem in [f": {one}" for one in names.dns_subdomain_problems(step)] if step else [" may not be empty"]:
            path.invalid(f"segment[{i}]{problem}")
