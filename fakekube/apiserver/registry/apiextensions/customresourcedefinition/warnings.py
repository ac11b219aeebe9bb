"""The warnings of CustomResourceDefinitions (`apiextensions-apiserver/pkg/registry/customresourcedefinition`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fakekube.apiserver.crd.schematraits import FORMAT, SchemaTraits, traits_of
from fakekube.apiserver.features import since
from fakekube.apiserver.registry.apiextensions.customresourcedefinition import nonstructural
from fakekube.apiserver.registry.apiextensions.customresourcedefinition.internaltype import internal_spec
from fakekube.apiserver.resource import Object
from fakekube.apiserver.resultsbytext import Remembered
from fakekube.apiserver.schema import stringformats

Node = Mapping[str, Any]


def warnings(crd: Object) -> list[str]:
    """The warnings of a definition: one for each unrecognized format."""
    return list(_warnings(crd["spec"]))


@Remembered
def _warnings(spec: Object) -> Sequence[str]:
    """The warnings of a spec."""
    spec = internal_spec(spec)
    schemas = [spec.get("validation"), *(version.get("schema") for version in spec["versions"])]
    found: list[str] = []
    for one in schemas:
        if one and one.get("openAPIV3Schema"):
            schema = one["openAPIV3Schema"]
            _walk(schema, traits_of(schema), lambda node: _note(node, found))
    return found


def update_warnings(new: Object, old: Object) -> list[str]:
    """The warnings of an update that the old definition did not have."""
    before = set(warnings(old))
    return [one for one in warnings(new) if one not in before]


def _walk(schema: Node, traits: SchemaTraits, visit: Callable[[Node], None]) -> None:
    visit(schema)
    for one in nonstructural.below(schema):
        if traits.of(one) & FORMAT:
            _walk(one, traits, visit)


_NUMBER_FORMATS: Mapping[str, tuple[str, ...]] = {"integer": ("int32", "int64"), "number": ("float", "double")}


def _note(node: Node, found: list[str]) -> None:
    kind, form = node.get("type") or "", node.get("format") or ""
    if form:
        known = (
            stringformats.known(form) is not None if kind in ("", "string") else form in _NUMBER_FORMATS.get(kind, ())
        )
        if not known and since(34) and (kind == "string" or since(36)):
            found.append(f'unrecognized format "{form}"')
