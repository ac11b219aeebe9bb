"""The paths and operations of a resource (apiserver `endpoints/installer.go`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from fakekube.apiserver.openapi.typenames import DELETE_OPTIONS, PATCH, STATUS
from fakekube.apiserver.resource import Object, Resource, Subresource

Reference = Callable[[str], Object]
"""Makes a reference to a type from its full name."""

_STRING, _INTEGER, _BOOLEAN = ({"type": kind, "uniqueItems": True} for kind in ("string", "integer", "boolean"))

_LIST = {
    "allowWatchBookmarks": _BOOLEAN, "continue": _STRING, "fieldSelector": _STRING, "labelSelector": _STRING,
    "limit": _INTEGER, "resourceVersion": _STRING, "resourceVersionMatch": _STRING, "sendInitialEvents": _BOOLEAN,
    "timeoutSeconds": _INTEGER, "watch": _BOOLEAN,
}  # fmt: skip
_WRITE = {"dryRun": _STRING, "fieldManager": _STRING, "fieldValidation": _STRING}
_DELETE = {
    "dryRun": _STRING, "gracePeriodSeconds": _INTEGER, "ignoreStoreReadErrorWithClusterBreakingPotential": _BOOLEAN,
    "orphanDependents": _BOOLEAN, "propagationPolicy": _STRING,
}  # fmt: skip

#: Verb -> HTTP method, the action that kubectl reads, and the query parameters.
_VERBS: dict[str, tuple[str, str, Object]] = {
    "list": ("get", "list", _LIST),
    "get": ("get", "get", {}),
    "create": ("post", "post", _WRITE),
    "update": ("put", "put", _WRITE),
    "patch": ("patch", "patch", {**_WRITE, "force": _BOOLEAN}),
    "delete": ("delete", "delete", _DELETE),
    "deletecollection": ("delete", "deletecollection", {**_DELETE, **_LIST}),
}
_COLLECTION = ("list", "create", "deletecollection")
_OBJECT = ("get", "update", "patch", "delete")


def paths_of(resource: Resource, type_name: str, list_name: str, refer: Reference, version: int) -> Object:
    """The operations of a resource and its subresources by path and method. `version` is the version of OpenAPI."""
    base = f"/apis/{resource.group}/{resource.version}" if resource.group else f"/api/{resource.version}"
    scope = "/namespaces/{namespace}" if resource.namespaced else ""
    writer = _PathWriter(resource, type_name, list_name, refer, version)
    found: Object = {}
    if scope and "list" in resource.verbs:
        found[f"{base}/{resource.plural}"] = writer.item(("list",), (), f"{resource.kind}ForAllNamespaces")
    parameters = ("namespace",) if scope else ()
    collection = f"{base}{scope}/{resource.plural}"
    found[collection] = writer.item([v for v in _COLLECTION if v in resource.verbs], parameters, resource.kind)
    verbs = [verb for verb in _OBJECT if verb in resource.verbs]
    if verbs:
        found[f"{collection}/{{name}}"] = writer.item(verbs, ("name", *parameters), resource.kind)
    for sub in resource.subresources.values():
        path = f"{collection}/{{name}}/{sub.name}"
        found[path] = writer.subresource(sub, ("name", *parameters))
    return found


class _PathWriter:
    def __init__(self, resource: Resource, type_name: str, list_name: str, refer: Reference, version: int) -> None:
        self._resource, self._type, self._list = resource, type_name, list_name
        self._refer, self._version = refer, version

    def item(self, verbs: Iterator[str] | Any, path_parameters: tuple[str, ...], what: str) -> Object:
        found: Object = {}
        for verb in verbs:
            method, action, query = _VERBS[verb]
            found[method] = self._operation(verb, action, query, what, self._gvk())
        return {**found, "parameters": [self._path_parameter(name) for name in path_parameters]}

    def subresource(self, sub: Subresource, path_parameters: tuple[str, ...]) -> Object:
        gvk = {
            "group": sub.group if sub.version else self._resource.group,
            "version": sub.version or self._resource.version,
            "kind": sub.kind,
        }
        found: Object = {}
        for verb in sorted(sub.verbs & set(_VERBS)):
            method, action, query = _VERBS[verb]
            what = f"{self._resource.kind}{sub.name.capitalize()}"
            found[method] = self._operation(verb, action, query, what, gvk, plain=sub.kind != self._resource.kind)
        return {**found, "parameters": [self._path_parameter(name) for name in path_parameters]}

    def _gvk(self) -> Object:
        resource = self._resource
        return {"group": resource.group, "version": resource.version, "kind": resource.kind}

    def _operation(
        self, verb: str, action: str, query: Object, what: str, gvk: Object, *, plain: bool = False
    ) -> Object:
        answer = self._answer(verb, plain)
        operation: Object = {
            "operationId": self._operation_id(verb, what),
            "parameters": [self._query_parameter(name, query[name]) for name in sorted(query)],
            "responses": self._responses(verb, answer),
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": gvk,
        }
        if verb in ("create", "update", "patch", "delete", "deletecollection"):
            self._add_body(operation, verb, answer)
        return operation

    def _operation_id(self, verb: str, what: str) -> str:
        resource = self._resource
        group = "".join(part.capitalize() for part in (resource.group.partition(".")[0] or "core").split("-"))
        scope = "Namespaced" if resource.namespaced and "ForAllNamespaces" not in what else ""
        word = {"get": "read", "update": "replace", "deletecollection": "deleteCollection"}.get(verb, verb)
        return f"{word}{group}{resource.version.capitalize()}{scope}{what}"

    def _answer(self, verb: str, plain: bool) -> Object:
        if plain:
            return {"type": "object"}
        if verb == "list":
            return self._refer(self._list)
        return self._refer(STATUS if verb in ("delete", "deletecollection") else self._type)

    def _responses(self, verb: str, answer: Object) -> Object:
        codes = {"create": ("200", "201", "202"), "update": ("200", "201"), "patch": ("200", "201")}
        given = codes.get(verb, ("200", "202") if verb == "delete" else ("200",))
        words = {"200": "OK", "201": "Created", "202": "Accepted"}
        found: Object = {code: {"description": words[code], **self._content(answer)} for code in given}
        return {**found, "401": {"description": "Unauthorized"}}

    def _content(
        self, schema: Object, media_types: tuple[str, ...] = ("application/json", "application/yaml")
    ) -> Object:
        if self._version == 2:
            return {"schema": schema}
        return {"content": {media: {"schema": schema} for media in media_types}}

    def _add_body(self, operation: Object, verb: str, answer: Object) -> None:
        patching = verb == "patch"
        patches = tuple(sorted(self._resource.patch_types))
        schema = self._refer(PATCH) if patching else answer
        if verb in ("delete", "deletecollection"):
            schema = self._refer(DELETE_OPTIONS)
        required = verb in ("create", "update", "patch")
        if self._version == 2:
            body: Object = {"in": "body", "name": "body", "schema": schema}
            operation["parameters"].insert(0, {**body, "required": True} if required else body)
            if patching:
                operation["consumes"] = list(patches)
            return
        content = self._content(schema, patches if patching else ("*/*",))
        operation["requestBody"] = {**content, "required": True} if required else content

    def _query_parameter(self, name: str, schema: Object) -> Object:
        if self._version == 2:
            return {"in": "query", "name": name, **schema}
        return {"in": "query", "name": name, "schema": schema}

    def _path_parameter(self, name: str) -> Object:
        where: Object = {"in": "path", "name": name, "required": True}
        return {**where, **_STRING} if self._version == 2 else {**where, "schema": _STRING}
