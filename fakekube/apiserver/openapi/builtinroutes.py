"""The routes of a built-in resource and its subresources (apiserver `endpoints/installer.go`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from fakekube.apiserver.openapi.parameters import Parameter, in_path, of_options, pretty
from fakekube.apiserver.openapi.routes import JSON, NAMESPACE, PROTOBUF, TEXT, YAML, Body, Route, description
from fakekube.apiserver.openapi.typenames import DELETE_OPTIONS, PATCH, STATUS, WATCH_EVENT
from fakekube.apiserver.resource import PATCH_TYPES, Object, Resource, Subresource
from fakekube.struct import replace

TypeName = Callable[[str, str, str], str]
"""The full name of the type of a group, version and kind."""

_STREAMS = (JSON, YAML, PROTOBUF, f"{JSON};stream=watch", f"{PROTOBUF};stream=watch")

#: Verb -> HTTP method, the verb of the operation, its options and the codes of its response.
_VERBS: dict[str, tuple[str, str, tuple[str, ...], tuple[int, ...]]] = {
    "get": ("get", "read", (), (200,)),
    "list": ("get", "list", ("ListOptions",), (200,)),
    "create": ("post", "create", ("CreateOptions",), (200, 201, 202)),
    "update": ("put", "replace", ("UpdateOptions",), (200, 201)),
    "patch": ("patch", "patch", ("PatchOptions",), (200, 201)),
    "delete": ("delete", "delete", ("DeleteOptions",), (200, 202)),
    "deletecollection": ("delete", "delete", ("DeleteOptions", "DeletionListOptions"), (200,)),
}

#: Verb -> action, where they differ.
_ACTIONS = {"create": "post", "update": "put"}

#: The resources whose deletion responds with the deleted object (`DeleteReturnsDeletedObject`, ReturnDeletedObject).
_RETURN_DELETED = frozenset(
    {
        ("", "persistentvolumeclaims"), ("", "persistentvolumes"), ("", "pods"), ("", "podtemplates"),
        ("", "resourcequotas"), ("", "serviceaccounts"), ("", "services"),
        ("resource.k8s.io", "deviceclasses"), ("resource.k8s.io", "resourceclaims"),
        ("resource.k8s.io", "resourceclaimtemplates"), ("resource.k8s.io", "resourceslices"),
        ("storage.k8s.io", "csidrivers"), ("storage.k8s.io", "csinodes"), ("storage.k8s.io", "storageclasses"),
        ("storage.k8s.io", "volumeattachments"), ("storage.k8s.io", "volumeattributesclasses"),
    }
)  # fmt: skip

#: The HTTP methods of subresources that are connections (registry `core/pod/rest`, `core/service`, `core/node/rest`).
_STREAM_METHODS, _PROXY_METHODS = ("get", "post"), ("get", "put", "post", "delete", "options", "head", "patch")
_CONNECTIONS = {
    "attach": _STREAM_METHODS, "exec": _STREAM_METHODS, "portforward": _STREAM_METHODS, "proxy": _PROXY_METHODS
}  # fmt: skip

_USE_LIST = ". deprecated: use the 'watch' parameter with a list operation instead"


def routes_of(resource: Resource, type_name: TypeName) -> Iterator[Route]:
    """The routes of a built-in resource."""
    return _Installer(resource, type_name).routes()


class _Installer:
    def __init__(self, resource: Resource, type_name: TypeName) -> None:
        self._resource, self._type_name = resource, type_name
        root = f"/apis/{resource.group}" if resource.group else "/api"
        self._root = f"{root}/{resource.version}"
        self._namespaced = "Namespaced" if resource.namespaced else ""
        self._scope = (NAMESPACE,) if resource.namespaced else ()
        self._collection = f"{'/namespaces/{namespace}' if resource.namespaced else ''}/{resource.plural}"

    def routes(self) -> Iterator[Route]:
        resource = self._resource
        if resource.namespaced and "list" in resource.verbs:
            yield self._list(f"{self._root}/{resource.plural}", f"{resource.kind}ForAllNamespaces", everywhere=True)
            if "watch" in resource.verbs:
                yield self._watch_list(resource.plural, f"{resource.kind}ListForAllNamespaces", everywhere=True)
        path = self._root + self._collection
        if "list" in resource.verbs:
            yield self._list(path, self._namespaced + resource.kind)
        if "watch" in resource.verbs:
            yield self._watch_list(self._collection.strip("/"), f"{self._namespaced}{resource.kind}List")
            yield self._watch()
        for verb in ("create", "deletecollection"):
            if verb in resource.verbs:
                yield self._verb(verb, path, None)
        for verb in ("get", "update", "patch", "delete"):
            if verb in resource.verbs:
                yield self._verb(verb, f"{path}/{{name}}", None)
        for sub in resource.subresources.values():
            yield from self._subresource(sub)

    def _kind(self, sub: Subresource | None) -> Object:
        resource = self._resource
        group, version = (sub.group, sub.version) if sub and sub.version else (resource.group, resource.version)
        return {"group": group, "version": version, "kind": sub.kind if sub else resource.kind}

    def _list(self, path: str, what: str, *, everywhere: bool = False) -> Route:
        resource = self._resource
        verbs = "list or watch" if "watch" in resource.verbs else "list"
        return Route(
            path, "get", ("list", what), f"{verbs} objects of kind {resource.kind}",
            self._type_name(resource.group, resource.version, resource.list_kind), "list", self._kind(None),
            (*(() if everywhere else self._scope), pretty(), *of_options("ListOptions")), produces=_STREAMS,
        )  # fmt: skip

    def _watch_list(self, collection: str, what: str, *, everywhere: bool = False) -> Route:
        return Route(
            f"{self._root}/watch/{collection}", "get", ("watch", what),
            f"watch individual changes to a list of {self._resource.kind}{_USE_LIST}.",
            WATCH_EVENT, "watchlist", self._kind(None),
            (*(() if everywhere else self._scope), pretty(), *of_options("ListOptions")), produces=_STREAMS,
        )  # fmt: skip

    def _watch(self) -> Route:
        kind = self._resource.kind
        return Route(
            f"{self._root}/watch{self._collection}/{{name}}", "get", ("watch", self._namespaced + kind),
            f"watch changes to an object of kind {kind}{_USE_LIST}, filtered to a single item with the 'fieldSelector' "
            "parameter.",
            WATCH_EVENT, "watch", self._kind(None),
            (*self._name(kind), pretty(), *of_options("ListOptions")),
            produces=_STREAMS,
        )  # fmt: skip

    def _subresource(self, sub: Subresource) -> Iterator[Route]:
        path = f"{self._root}{self._collection}/{{name}}/{sub.name}"
        if sub.name not in _CONNECTIONS:
            yield from (
                self._verb(verb, path, sub) for verb in ("get", "update", "patch", "create") if verb in sub.verbs
            )
            return
        for method in _CONNECTIONS[sub.name]:
            yield self._connection(method, path, sub)
            if sub.name == "proxy":
                yield self._connection(method, f"{path}/{{path}}", sub)

    def _name(self, kind: str) -> tuple[Parameter, ...]:
        return (in_path("name", f"name of the {kind}"), *self._scope)

    def _connection(self, method: str, path: str, sub: Subresource) -> Route:
        rest = path.endswith("/{path}")
        variables = (in_path("path", "path to the resource"),) if rest else ()
        what = f"{method.capitalize()}{self._namespaced}{self._resource.kind}{sub.name.capitalize()}"
        return Route(
            path, method, ("connect", what + ("WithPath" if rest else "")),
            f"connect {method.upper()} requests to {sub.name} of {self._resource.kind}", TEXT, "connect",
            self._kind(sub), (*self._name(sub.kind), *variables, *of_options(sub.kind)), produces=("*/*",),
        )  # fmt: skip

    def _verb(self, verb: str, path: str, sub: Subresource | None) -> Route:
        method, operation, options, codes = _VERBS[verb]
        kind, sub_name = self._kind(sub), sub.name if sub else ""
        own = self._type_name(kind["group"], kind["version"], kind["kind"])
        variables = self._name(kind["kind"]) if "{name}" in path else self._scope
        collection = "collection" if verb == "deletecollection" else ""
        route = Route(
            path, method, (operation, f"{collection}{self._namespaced}{self._resource.kind}{sub_name.capitalize()}"),
            description(verb, self._resource.kind, sub_name), self._answer(verb, own), _ACTIONS.get(verb, verb), kind,
            (*variables, pretty(), *(one for name in options for one in of_options(name))), _body(verb, own), codes,
            consumes=PATCH_TYPES if verb == "patch" else ("*/*",),
        )  # fmt: skip
        return _log(route) if sub_name == "log" else route

    def _answer(self, verb: str, own: str) -> str:
        if verb == "deletecollection":
            return STATUS
        if verb == "delete" and (self._resource.group, self._resource.plural) not in _RETURN_DELETED:
            return STATUS
        return own


def _body(verb: str, own: str) -> Body | None:
    if verb in ("delete", "deletecollection"):
        return Body(DELETE_OPTIONS, required=False)
    return {"create": Body(own), "update": Body(own), "patch": Body(PATCH)}.get(verb)


def _log(route: Route) -> Route:
    """The route of a subresource that responds with text (registry `core/pod/rest/log.go`)."""
    parameters = (*route.parameters, *of_options("PodLogOptions"))
    return replace(route, parameters=parameters, answer=TEXT, produces=("text/plain", *route.produces))
