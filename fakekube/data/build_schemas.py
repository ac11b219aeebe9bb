"""Generates `schemas.json` from the package `kubernetes-validate`. Run `python -m fakekube.data.build_schemas`.

The result has the fields of every type of every Kubernetes minor version since 1.25, without descriptions. A field is
a short text, which `fakekube.apiserver.schema.builtinschemas` parses:

    string, boolean, int32, int64, double, bytes, quantity, time, microtime, int-or-string, any, or another type's name;
    `[]T` is a list and `{}T` a map of T; it is followed by, each after a `|`:
    map=KEYS, set, atomic (list and map types of server-side apply); patch=STRATEGY, key=MERGE_KEY (strategic merge);
    enum=A,B; default=JSON.

`types` maps the name of a type to its variants: [first version, fields, required fields], or [first version, null] if
it was removed. `kinds` maps "GROUP/VERSION/KIND" to the type of that kind.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

FIRST = (1, 25)
TARGET = Path(__file__).with_name("schemas.json")

#: Types that are a single JSON value.
SCALARS = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": "quantity",
    "io.k8s.apimachinery.pkg.apis.meta.v1.Time": "time",
    "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime": "microtime",
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": "int-or-string",
    "io.k8s.apimachinery.pkg.runtime.RawExtension": "any|atomic",
    "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1": "any",
    "io.k8s.apimachinery.pkg.apis.meta.v1.Patch": "any",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON": "any",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrArray": "any",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrBool": "any",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrStringArray": "any",
}

_PREFIXES = (
    "io.k8s.api.",
    "io.k8s.apimachinery.pkg.apis.",
    "io.k8s.apimachinery.pkg.",
    "io.k8s.kube-aggregator.pkg.apis.",
)


def short(name: str) -> str:
    """`io.k8s.api.core.v1.Pod` -> `core.v1.Pod`."""
    name = name.replace("io.k8s.apiextensions-apiserver.pkg.apis.", "")
    for prefix in _PREFIXES:
        if name.startswith(prefix):
            return name.removeprefix(prefix)
    return name


def definitions(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "_definitions.json").read_text())["$defs"]
    return found


def versions(root: Path) -> Iterator[tuple[tuple[int, int], Path]]:
    for folder in root.iterdir():
        match = re.fullmatch(r"v1\.(\d+)\.\d+-local", folder.name)
        if match and (1, int(match[1])) >= FIRST:
            yield (1, int(match[1])), folder


def _json_type(schema: dict[str, Any]) -> str:
    kind = schema.get("type", "")
    if isinstance(kind, list):
        kind = next((one for one in kind if one != "null"), "")
    return str(kind)


def _value(schema: dict[str, Any]) -> str:
    """The type of a field, without the part after `|`."""
    ref = schema.get("$ref") or next((part["$ref"] for part in schema.get("allOf", ()) if "$ref" in part), None)
    if ref:
        name = ref.rpartition("/")[2]
        return SCALARS.get(name) or short(name)
    kind, form = _json_type(schema), schema.get("format", "")
    if kind == "array":
        return "[]" + _value(schema["items"])
    if kind == "object":
        return "{}" + _value(schema["additionalProperties"]) if "additionalProperties" in schema else "any"
    if kind == "integer":
        return form or "int64"
    if kind == "number":
        return "double"
    if kind == "string":
        return {"byte": "bytes", "int-or-string": "int-or-string", "date-time": "time"}.get(form, "string")
    return {"boolean": "boolean"}.get(kind, "any")


def field(schema: dict[str, Any]) -> str:
    parts = [_value(schema)]
    if schema.get("x-kubernetes-list-type") == "map":
        parts.append("map=" + ",".join(schema["x-kubernetes-list-map-keys"]))
    elif schema.get("x-kubernetes-list-type") or schema.get("x-kubernetes-map-type"):
        parts.append(schema.get("x-kubernetes-list-type") or schema["x-kubernetes-map-type"])
    if "x-kubernetes-patch-strategy" in schema:
        parts.append("patch=" + schema["x-kubernetes-patch-strategy"])
    if "x-kubernetes-patch-merge-key" in schema:
        parts.append("key=" + schema["x-kubernetes-patch-merge-key"])
    if "enum" in schema:
        parts.append("enum=" + ",".join(str(one) for one in schema["enum"] if one is not None))
    if "default" in schema:
        parts.append("default=" + json.dumps(schema["default"], separators=(",", ":")))
    return "|".join(parts)


def described(schema: dict[str, Any]) -> list[Any]:
    properties = schema.get("properties", {})
    fields = {
        name: field(value)
        for name, value in properties.items()
        if name not in ("apiVersion", "kind") or not _is_kind(schema)
    }
    map_type = [schema["x-kubernetes-map-type"]] if "x-kubernetes-map-type" in schema else []
    return [fields, sorted(schema.get("required", ())), *map_type]


def _is_kind(schema: dict[str, Any]) -> bool:
    return "x-kubernetes-group-version-kind" in schema


def build(root: Path) -> dict[str, Any]:
    types: dict[str, list[list[Any]]] = {}
    kinds: dict[str, str] = {}
    for version, folder in sorted(versions(root)):
        text = f"{version[0]}.{version[1]}"
        here = {name: schema for name, schema in definitions(folder).items() if name not in SCALARS}
        for name, schema in sorted(here.items()):
            row = described(schema)
            variants = types.setdefault(short(name), [])
            if not variants or variants[-1][1:] != row:
                variants.append([text, *row])
            for kind in schema.get("x-kubernetes-group-version-kind", ()):
                if not kind["kind"].endswith("List") and kind["kind"] not in ("DeleteOptions", "WatchEvent", "Status"):
                    kinds[f"{kind['group']}/{kind['version']}/{kind['kind']}"] = short(name)
        gone = types.keys() - {short(name) for name in here}
        for name in gone:
            if types[name][-1][1:] != [None]:
                types[name].append([text, None])
    return {"types": dict(sorted(types.items())), "kinds": dict(sorted(kinds.items()))}


def main() -> None:
    import kubernetes_validate

    assert kubernetes_validate.__file__ is not None
    root = Path(kubernetes_validate.__file__).parent / "kubernetes-json-schema"
    TARGET.write_bytes(orjson.dumps(build(root)) + b"\n")


if __name__ == "__main__":
    main()
