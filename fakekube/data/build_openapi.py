"""Generates `openapi.json` from the published OpenAPI 3 documents of Kubernetes (`api/openapi-spec/v3`).

Run `python -m fakekube.data.build_openapi FOLDER`. The result has what OpenAPI documents contain in addition to
`schemas.json`, for each type by its short name; a type or key without content is omitted:

    zero: the fields whose default is the zero value of their type, separated by spaces;
    defaults: the defaults of other fields;
    enums: the possible values of a field or of its items;
    json: the type of fields that contain any JSON value;
    required: the required fields in the order of the Go struct;
    unions: the extension `x-kubernetes-unions`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import orjson

from fakekube.data.build_schemas import SCALARS, short

TARGET = Path(__file__).with_name("openapi.json")

_ZERO: tuple[Any, ...] = ("", 0, False, {})

_ANY = {name: short(name) for name, scalar in SCALARS.items() if scalar == "any"}


def _reference(schema: dict[str, Any]) -> str:
    found: str = (schema.get("allOf") or [schema])[0].get("$ref", "")
    return found.rpartition("/")[2]


def _json(schema: dict[str, Any]) -> str:
    """The type of the JSON values of a field, its items or its values; empty if they have another type."""
    return next((_ANY[name] for node in _nodes(schema) if (name := _reference(node)) in _ANY), "")


def _nodes(schema: dict[str, Any]) -> list[dict[str, Any]]:
    return [node for node in (schema, schema.get("items"), schema.get("additionalProperties")) if node]


def _enum(schema: dict[str, Any]) -> list[str]:
    return next((node["enum"] for node in _nodes(schema) if "enum" in node), [])


def _facts(schema: dict[str, Any]) -> dict[str, Any]:
    properties = schema.get("properties", {})
    defaults = {name: one["default"] for name, one in properties.items() if "default" in one}
    found = {
        "zero": " ".join(name for name, default in defaults.items() if default in _ZERO),
        "defaults": {name: default for name, default in defaults.items() if default not in _ZERO},
        "enums": {name: values for name, one in properties.items() if (values := _enum(one))},
        "json": {name: kind for name, one in properties.items() if (kind := _json(one))},
        "required": schema.get("required", []),
        "unions": schema.get("x-kubernetes-unions", []),
    }
    return {key: value for key, value in found.items() if value}


def build(folder: Path) -> dict[str, Any]:
    types: dict[str, Any] = {}
    for path in sorted(folder.glob("*.json")):
        for name, schema in json.loads(path.read_text()).get("components", {}).get("schemas", {}).items():
            facts = _facts(schema)
            if facts:
                types[short(name)] = facts
    return {"types": dict(sorted(types.items()))}


if __name__ == "__main__":
    TARGET.write_bytes(orjson.dumps(build(Path(sys.argv[1]))))
