"""The API approval policy for definitions in the groups of the Kubernetes community
(`apiextensions-apiserver/pkg/apihelpers`, `pkg/controller/apiapproval`)."""

from __future__ import annotations

from functools import lru_cache

from fakekube.apiserver.resource import Object
from fakekube.apiserver.wire.goprint import go_quote
from fakekube.apiserver.wire.gourl import BadUrl, parse_request_uri

ANNOTATION = "api-approved.kubernetes.io"

#: State -> status and reason of the condition.
CONDITIONS = {
    "missing": ("False", "MissingAnnotation"),
    "bypassed": ("False", "UnapprovedAnnotation"),
    "approved": ("True", "ApprovedAnnotation"),
    "invalid": ("False", "InvalidAnnotation"),
}


@lru_cache(maxsize=1024)
def is_protected(group: str) -> bool:
    return any(group == one or group.endswith(f".{one}") for one in ("k8s.io", "kubernetes.io"))


def state(crd: Object) -> tuple[str, str]:
    """The approval state of a definition, and its message."""
    text = (crd["metadata"].get("annotations") or {}).get(ANNOTATION) or ""
    see = "see https://github.com/kubernetes/enhancements/pull/1111"
    if not text:
        return "missing", f'protected groups must have approval annotation "{ANNOTATION}", {see}'
    if text.startswith("unapproved"):
        return "bypassed", f"not approved: {go_quote(text)}"
    try:
        url = parse_request_uri(text)
        if url.host and url.scheme:
            return "approved", f"approved in {text}"
    except BadUrl:
        pass
    how = 'with either a URL or a reason starting with "unapproved"'
    return "invalid", f'protected groups must have approval annotation "{ANNOTATION}" {how}, {see}'
