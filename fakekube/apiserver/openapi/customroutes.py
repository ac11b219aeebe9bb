"""The routes of a custom resource (apiextensions-apiserver `controller/openapi/builder`)."""

from __future__ import annotations

from collections.abc import Iterator

from fakekube.apiserver.openapi.parameters import in_path, of_options, pretty
from fakekube.apiserver.openapi.routes import JSON, NAMESPACE, YAML, Body, Route, description
from fakekube.apiserver.openapi.typenames import DELETE_OPTIONS, PATCH, SCALE, STATUS, custom_name
from fakekube.apiserver.resource import APPLY_PATCH, JSON_PATCH, MERGE_PATCH, Resource

_MEDIA_TYPES = (JSON, YAML)

#: Verb -> HTTP method, action, the verb of the operation, its options and the codes of its response.
_VERBS = {
    "get": ("get", "get", "read", "GetOptions", (200,)),
    "list": ("get", "list", "list", "ListOptions", (200,)),
    "create": ("post", "post", "create", "CreateOptions", (200, 201, 202)),
    "update": ("put", "put", "replace", "UpdateOptions", (200, 201)),
    "patch": ("patch", "patch", "patch", "PatchOptions", (200,)),
    "delete": ("delete", "delete", "delete", "DeleteOptions", (200, 202)),
    "deletecollection": ("delete", "deletecollection", "delete", "ListOptions", (200,)),
}


def routes_of(resource: Resource) -> Iterator[Route]:
    """The routes of a custom resource in a version."""
    root = f"/apis/{resource.group}/{resource.version}"
    own, listed = (custom_name(resource.group, resource.version, kind) for kind in (resource.kind, resource.list_kind))
    path = f"{root}/{resource.plural}"
    if resource.namespaced:
        yield _route(resource, path, "list", listed, f"{resource.kind}ForAllNamespaces")
        path = f"{root}/namespaces/{{namespace}}/{resource.plural}"
    yield _route(resource, path, "list", listed)
    yield _route(resource, path, "create", own)
    yield _route(resource, path, "deletecollection", STATUS)
    for verb in ("get", "update", "delete", "patch"):
        yield _route(resource, f"{path}/{{name}}", verb, STATUS if verb == "delete" else own)
    for sub in resource.subresources:
        for verb in ("get", "update", "patch"):
            yield _route(resource, f"{path}/{{name}}/{sub}", verb, SCALE if sub == "scale" else own)


def _route(resource: Resource, path: str, verb: str, answer: str, what: str = "") -> Route:
    method, action, operation, options, codes = _VERBS[verb]
    sub = path.partition("/{name}/")[2]
    scope = "Namespaced" if resource.namespaced else ""
    what = what or f"{'collection' if verb == 'deletecollection' else ''}{scope}{resource.kind}{sub.capitalize()}"
    namespace = (NAMESPACE,) if "{namespace}" in path else ()
    name = (in_path("name", f"name of the {resource.kind}"),) if "{name}" in path else ()
    return Route(
        path, method, (operation, what), description(verb, resource.kind, sub), answer, action,
        {"group": resource.group, "version": resource.version, "kind": resource.kind},
        (*namespace, *name, pretty(), *of_options(options)), _body(verb, answer), codes, _MEDIA_TYPES,
        (JSON_PATCH, MERGE_PATCH, APPLY_PATCH) if verb == "patch" else _MEDIA_TYPES,
    )  # fmt: skip


def _body(verb: str, own: str) -> Body | None:
    if verb == "delete":
        return Body(DELETE_OPTIONS, required=False)
    return {"create": Body(own), "update": Body(own), "patch": Body(PATCH)}.get(verb)
