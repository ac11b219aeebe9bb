"""Generates `protobuf.json` from the published protobuf definitions of the Kubernetes API.

Run `python -m fakekube.data.build_protobuf FOLDER...`; the folders hold k8s.io/api, k8s.io/apimachinery and
k8s.io/apiextensions-apiserver of one version. The result has the numbers, names and types of the fields of all messages
that the kinds of `schemas.json` refer to:

    "types": type -> "NUMBER NAME TYPE;..."

TYPE is a scalar or another type; `[]T` is a list and `{}T` a map of T. NAME is the field's JSON name, or `-` where
JSON has the fields of that message in its place.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

TARGET = Path(__file__).with_name("protobuf.json")
SCHEMAS = Path(__file__).with_name("schemas.json")

#: Messages that are a single JSON value; `fakekube.apiserver.wire.protobuf` decodes them.
VALUES = {
    "meta.v1.Time": "time",
    "meta.v1.MicroTime": "microtime",
    "resource.Quantity": "quantity",
    "util.intstr.IntOrString": "int-or-string",
    "runtime.RawExtension": "json",
    "meta.v1.FieldsV1": "json",
    "apiextensions.v1.JSON": "json",
    "apiextensions.v1.JSONSchemaPropsOrArray": "schema-or-list",
    "apiextensions.v1.JSONSchemaPropsOrBool": "schema-or-bool",
    "apiextensions.v1.JSONSchemaPropsOrStringArray": "schema-or-strings",
}
_SCALARS = {"int32": "int", "int64": "int", "uint32": "int", "string": "string", "bool": "bool", "bytes": "bytes",
            "double": "double"}  # fmt: skip

#: Messages that are a list of strings in JSON.
_LISTS = re.compile(r"message (\w+) \{\s*repeated string items = 1;\s*\}")

#: Types of bodies besides the kinds of `schemas.json`.
ALSO = ("meta.v1.DeleteOptions",)

#: Fields of a JSON schema whose JSON names are not identifiers.
_RENAMED = {"ref": "$ref", "schema": "$schema"}

_FIELD = re.compile(r"(optional|repeated|map<string, ?([\w.]+)>) ?([\w.]+)? (\w+) = (\d+);")


_PREFIXES = (
    "k8s.io.api.",
    "k8s.io.apimachinery.pkg.apis.",
    "k8s.io.apimachinery.pkg.api.",
    "k8s.io.apimachinery.pkg.",
    "k8s.io.apiextensions_apiserver.pkg.apis.",
)


def short(package: str) -> str:
    """`k8s.io.api.core.v1` -> `core.v1`."""
    for prefix in _PREFIXES:
        if package.startswith(prefix):
            return package.removeprefix(prefix)
    return package


def messages(text: str) -> Iterator[tuple[str, list[tuple[int, str, str]]]]:
    """The messages of a file: the name, and the number, name and type of each field."""
    text = re.sub(r"//[^\n]*", "", text)
    package = short(re.findall(r"^package ([\w.]+);", text, re.M)[0])
    lists = set(_LISTS.findall(text))
    for name, body in re.findall(r"^message (\w+) \{(.*?)^\}", text, re.M | re.S):
        fields = []
        for how, value, type, field, number in _FIELD.findall(body):
            mark = {"optional": "", "repeated": "[]"}.get(how, "{}")
            fields.append((int(number), field, mark + _type(value or type, package, lists)))
        yield f"{package}.{name}", fields


def _type(name: str, package: str, lists: set[str]) -> str:
    name = name.lstrip(".")
    if name in _SCALARS:
        return _SCALARS[name]
    if name in lists:
        return "strings"
    full = short(name) if "." in name else f"{package}.{name}"
    return VALUES.get(full, full)


def described(name: str, fields: list[tuple[int, str, str]], known: Mapping[str, Any] | None) -> str:
    """One message as a line. `known`: the fields of its JSON schema, if there is one."""
    parts = []
    by_letters = {field.lower(): field for field in known or ()}
    for number, field, type in fields:
        shown = _json_name(name, field)
        shown = by_letters.get(shown.lower(), shown)  # `Webhooks`, `aPIGroup`
        if known is not None and shown not in known:
            if "." not in type or type[0] in "[{":
                continue
            shown = "-"
        parts.append(f"{number} {shown} {type}")
    return ";".join(parts)


def _json_name(message: str, field: str) -> str:
    if message == "apiextensions.v1.JSONSchemaProps":
        if field in _RENAMED:
            return _RENAMED[field]
        if field.startswith("xKubernetes"):
            return re.sub(r"(?<!^)(?=[A-Z])", "-", field).lower()
    return field


def main(folders: list[str]) -> None:
    schemas = orjson.loads(SCHEMAS.read_bytes())
    found: dict[str, list[tuple[int, str, str]]] = {}
    for folder in folders:
        for path in sorted(Path(folder).rglob("generated.proto")):
            found.update(messages(path.read_text()))
    wanted, types = [*schemas["kinds"].values(), *ALSO], dict[str, str]()
    while wanted:
        name = wanted.pop()
        if name in types or name not in found:
            continue
        rows = schemas["types"].get(name)
        known = next((row[1] for row in reversed(rows) if row[1] is not None), None) if rows else None
        types[name] = described(name, found[name], known)
        wanted += [type.lstrip("[]{}") for _, _, type in found[name]]
    data = {"types": dict(sorted(types.items()))}
    TARGET.write_bytes(orjson.dumps(data, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    print(f"{TARGET}: {len(types)} types", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1:])
