"""Generates `protobuf.json` from the published protobuf definitions and Go types of the Kubernetes API.

Run `python -m fakekube.data.build_protobuf FOLDER...`; the folders hold k8s.io/api, k8s.io/apimachinery,
k8s.io/apiextensions-apiserver and k8s.io/kube-aggregator of one version. The result has the numbers, names and types of
the fields of all messages that the kinds of `schemas.json` refer to:

    "types": type -> "NUMBER NAME TYPE;..."

TYPE is a scalar or another type; `[]T` is a list and `{}T` a map of T, and `*T` a pointer in Go, which is not encoded
if it is nil (other fields are always encoded). NAME is the field's JSON name, or `-` where JSON has the fields of that
message in its place.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

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
_SCALARS = {"int32": "int32", "int64": "int", "uint32": "int", "string": "string", "bool": "bool", "bytes": "bytes",
            "double": "double"}  # fmt: skip

#: Messages that are a list of strings in JSON.
_LISTS = re.compile(r"message (\w+) \{\s*repeated string items = 1;\s*\}")

#: Types of bodies and of parts of responses besides the kinds of `schemas.json`.
ALSO = (
    "meta.v1.DeleteOptions",
    "meta.v1.Status",
    "meta.v1.ListMeta",
    "meta.v1.WatchEvent",
    "meta.v1.PartialObjectMetadata",
    "meta.v1.APIVersions",
    "meta.v1.APIGroup",
    "meta.v1.APIGroupList",
    "meta.v1.APIResourceList",
    "apidiscovery.v2.APIGroupDiscovery",
    "apidiscovery.v2beta1.APIGroupDiscovery",
)

#: A struct of Go, and a field with its type (embedded if it has no name), the tag of its JSON name, and its number.
_STRUCT = re.compile(r"^type (\w+) struct \{\n(.*?)^\}", re.M | re.S)
_TAGGED = re.compile(r'^\s*(?:\w+\s+)?(\S+)\s+`json:"([^",]*)[^`]* protobuf:"\w+,(\d+),', re.M)

_FIELD = re.compile(r"(optional|repeated|map<string, ?([\w.]+)>) ?([\w.]+)? (\w+) = (\d+);")


_PREFIXES = (
    "k8s.io.api.",
    "k8s.io.apimachinery.pkg.apis.",
    "k8s.io.apimachinery.pkg.api.",
    "k8s.io.apimachinery.pkg.",
    "k8s.io.apiextensions_apiserver.pkg.apis.",
    "k8s.io.kube_aggregator.pkg.apis.",
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


@dataclass(frozen=True, slots=True)
class GoField:
    """The JSON name of a field of a struct ("": inlined), and whether it is a pointer."""

    name: str
    pointer: bool


def structs(text: str) -> Iterator[tuple[str, Mapping[int, GoField]]]:
    """The structs of a Go file: the name, and the fields by their number in protobuf."""
    for name, body in _STRUCT.findall(text):
        tagged = _TAGGED.findall(body)
        yield name, {int(number): GoField(json, type[0] == "*") for type, json, number in tagged}


def described(fields: list[tuple[int, str, str]], struct: Mapping[int, GoField]) -> str:
    """One message as a line. `struct`: the fields of the Go struct, empty if it has no tags."""
    parts = []
    for number, name, type in fields:
        field = struct.get(number, GoField(name, pointer=False))
        parts.append(f"{number} {field.name or '-'} {'*' if field.pointer else ''}{type}")
    return ";".join(parts)


def main(folders: list[str]) -> None:
    schemas = orjson.loads(SCHEMAS.read_bytes())
    found: dict[str, list[tuple[int, str, str]]] = {}
    fields: dict[str, Mapping[int, GoField]] = {}
    for path in (path for folder in folders for path in sorted(Path(folder).rglob("generated.proto"))):
        here = dict(messages(path.read_text()))
        found.update(here)
        package = next(iter(here), "").rpartition(".")[0]
        for source in sorted(path.parent.glob("*.go")):
            fields.update((f"{package}.{name}", rows) for name, rows in structs(source.read_text()))
    wanted, types = [*schemas["kinds"].values(), *ALSO], dict[str, str]()
    while wanted:
        name = wanted.pop()
        if name in types or name not in found:
            continue
        types[name] = described(found[name], fields.get(name, {}))
        wanted += [type.lstrip("[]{}") for _, _, type in found[name]]
    data = {"types": dict(sorted(types.items()))}
    TARGET.write_bytes(orjson.dumps(data, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    print(f"{TARGET}: {len(types)} types", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1:])
