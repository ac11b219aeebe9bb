"""Writes routes as the paths of a document (kube-openapi `builder`, `builder3`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from fakekube.apiserver.openapi.parameters import Parameter
from fakekube.apiserver.openapi.routes import TEXT, Route
from fakekube.apiserver.resource import Object

Reference = Callable[[str], Object]
"""Makes a reference to a type from its full name."""

_MESSAGES = {200: "OK", 201: "Created", 202: "Accepted"}


def paths_of(routes: Iterable[Route], refer: Reference, version: int) -> Object:
    """The operations by path and method. `version` is the version of OpenAPI."""
    grouped: dict[str, list[Route]] = {}
    for route in routes:
        grouped.setdefault(route.path, []).append(route)
    return {path: _item(grouped[path], refer, version) for path in sorted(grouped)}


def _item(routes: Sequence[Route], refer: Reference, version: int) -> Object:
    """The operations of a path; the path has the parameters that all of them share."""
    common = set(routes[0].parameters).intersection(*(route.parameters for route in routes[1:]))
    write = _operation_2 if version == 2 else _operation_3
    found: Object = {route.method: write(route, refer, _but(route.parameters, common)) for route in routes}
    if common:
        found["parameters"] = [one.written(version) for one in _sorted(common)]
    return found


def _but(parameters: Sequence[Parameter], common: set[Parameter]) -> list[Parameter]:
    """The parameters of an operation; of two with one name the first."""
    return _sorted({one.name: one for one in reversed(parameters) if one not in common}.values())


def _sorted(parameters: Iterable[Parameter]) -> list[Parameter]:
    return sorted(parameters, key=lambda one: (one.name, one.place))


def _extensions(route: Route) -> Object:
    found: Object = {"x-kubernetes-action": route.action} if route.action else {}
    return found | ({"x-kubernetes-group-version-kind": route.kind} if route.kind else {})


def _answer(route: Route, refer: Reference) -> Object:
    return {"type": "string"} if route.answer == TEXT else refer(route.answer)


def _operation_2(route: Route, refer: Reference, parameters: Sequence[Parameter]) -> Object:
    written = [one.written(2) for one in parameters]
    if route.body:
        required = {"required": True} if route.body.required else {}
        written.append({"name": "body", "in": "body", **required, "schema": refer(route.body.type)})
        written.sort(key=lambda one: str(one["name"]))
    answer = _answer(route, refer)
    return {
        "description": route.description,
        **({"consumes": list(route.consumes)} if route.consumes else {}),
        "produces": list(route.produces),
        "schemes": ["https"],
        "tags": [route.tag],
        "operationId": route.operation_id,
        **({"parameters": written} if written else {}),
        "responses": {
            **{str(code): {"description": _MESSAGES[code], "schema": answer} for code in route.codes},
            "401": {"description": "Unauthorized"},
        },
        **_extensions(route),
    }


def _operation_3(route: Route, refer: Reference, parameters: Sequence[Parameter]) -> Object:
    answer = _content(route.produces, _answer(route, refer))
    found: Object = {"tags": [route.tag], "description": route.description, "operationId": route.operation_id}
    if parameters:
        found["parameters"] = [one.written(3) for one in parameters]
    if route.body:
        body = {"content": _content(route.consumes, refer(route.body.type))}
        found["requestBody"] = {**body, "required": True} if route.body.required else body
    found["responses"] = {
        **{str(code): {"description": _MESSAGES[code], "content": answer} for code in route.codes},
        "401": {"description": "Unauthorized"},
    }
    return found | _extensions(route)


def _content(media_types: Iterable[str], schema: Object) -> Object:
    return {media_type: {"schema": schema} for media_type in sorted(media_types)}
