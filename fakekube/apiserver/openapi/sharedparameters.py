"""The parameters that operations of an OpenAPI 2 document refer to by name (kube-openapi `builder/parameters.go`)."""

from __future__ import annotations

import base64
from collections.abc import Iterator

import orjson

from fakekube.apiserver.resource import Object

#: FNV-1, 64 bits (Go `hash/fnv`, New64).
_OFFSET, _PRIME = 0xCBF29CE484222325, 0x100000001B3

#: The parameters that are written in each operation; older versions of kubectl look for the second and third one.
_NEVER_SHARED = frozenset({"name", "fieldValidation", "dryRun"})


def share(paths: Object) -> Object:
    """Replaces the parameters that do not depend on the kind by references, and returns them by their names."""
    names: dict[bytes, str] = {}
    found: Object = {}
    for item in paths.values():
        for parameters in _lists(item):
            for index, parameter in enumerate(parameters):
                if _shared(parameter):
                    key = orjson.dumps(parameter)
                    if key not in names:
                        names[key] = f"{parameter['name']}-{_hash(key)}"
                        found[names[key]] = parameter
                    parameters[index] = {"$ref": f"#/parameters/{names[key]}"}
    return found


def _lists(item: Object) -> Iterator[list[Object]]:
    for key, value in item.items():
        parameters = value if key == "parameters" else value.get("parameters")
        if parameters:
            yield parameters


def _shared(parameter: Object) -> bool:
    if parameter["in"] == "body":
        return bool(parameter["schema"].get("$ref", "").startswith("#/definitions/io.k8s.apimachinery"))
    return parameter["name"] not in _NEVER_SHARED


def _hash(content: bytes) -> str:
    value = _OFFSET
    for byte in content:
        value = (value * _PRIME & 0xFFFFFFFFFFFFFFFF) ^ byte
    return base64.urlsafe_b64encode(value.to_bytes(8, "big")[:6]).decode()
