"""The OpenAPI document of the control API, from the table of its operations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fakekube.control.operation import ROOT, Operation
from fakekube.control.requestfields import camel

Object = dict[str, Any]

_STATUS = {"$ref": "#/components/schemas/Status"}


def document(operations: Iterable[Operation], version: str) -> Object:
    """The document, in OpenAPI 3."""
    paths: dict[str, Object] = {}
    for one in operations:
        paths.setdefault(f"{ROOT}{one.path}", {})[one.method.lower()] = _described(one)
    status = {
        "type": "object",
        "description": "An error, as those of the Kubernetes API.",
        "properties": {"code": {"type": "integer"}, "reason": {"type": "string"}, "message": {"type": "string"}},
    }
    return {
        "openapi": "3.0.3",
        "info": {"title": "fakekube control API", "version": version},
        "paths": paths,
        "components": {"schemas": {"Status": status}},
    }


def _described(one: Operation) -> Object:
    places = [{"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in one.parameters]
    found: Object = {"summary": one.summary, "operationId": _named(one)}
    required = [camel(name) for name in one.required]
    if one.method == "GET":
        places += [
            {"name": name, "in": "query", "required": name in required, "schema": schema}
            for name, schema in one.fields.items()
        ]
    elif one.fields:
        schema: Object = {"type": "object", "properties": dict(one.fields), "additionalProperties": False}
        if required:
            schema["required"] = required
        found["requestBody"] = {"content": {"application/json": {"schema": schema}}}
    if places:
        found["parameters"] = places
    content: Object = {one.content_type: {}} if one.code != 204 else {}
    answer: Object = {"description": "It has taken effect.", **({"content": content} if content else {})}
    refused = {"description": "An error.", "content": {"application/json": {"schema": _STATUS}}}
    found["responses"] = {str(one.code): answer, "default": refused}
    return found


def _named(one: Operation) -> str:
    words = one.path.replace("{", "").replace("}", "").replace(":", "/").replace(".", "/").split("/")
    return camel("_".join([one.method.lower(), *filter(None, words)]))
