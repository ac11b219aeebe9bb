"""The parts of the OpenAPI 2 document, one for each group and version (kube-aggregator merges them the same way).

A part is kept until a resource of its group changes, as the JSON and the protobuf of each entry: the document of
hundreds of definitions is their concatenation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property

import orjson

from fakekube.apiserver.openapi import gnostic
from fakekube.apiserver.resource import Object

SECTIONS = ("paths", "definitions", "parameters")


class Part:
    """The paths, definitions and parameters of one group and version: section -> name -> encoded entry."""

    def __init__(self, sections: Mapping[str, Object]) -> None:
        self.json: Mapping[str, Mapping[str, bytes]] = {
            section: {name: orjson.dumps(entry) for name, entry in sections[section].items()} for section in SECTIONS
        }

    @cached_property
    def protobuf(self) -> Mapping[str, Mapping[str, bytes]]:
        return {
            section: {name: gnostic.encode_entry(section, name, orjson.loads(text)) for name, text in entries.items()}
            for section, entries in self.json.items()
        }


def merged(parts: Iterable[Part]) -> Object:
    """The sections of the document, with entries that only `orjson` can read, in the order of their names."""
    found = _united([part.json for part in parts])
    return {
        section: {name: orjson.Fragment(text) for name, text in entries.items()} for section, entries in found.items()
    }


def encoded(parts: Iterable[Part], rest: Object) -> bytes:
    """The document in protobuf; `rest` has its other members."""
    found = _united([part.protobuf for part in parts])
    return gnostic.assemble(rest, {section: list(entries.values()) for section, entries in found.items()})


def _united(parts: Iterable[Mapping[str, Mapping[str, bytes]]]) -> Mapping[str, Mapping[str, bytes]]:
    found: dict[str, dict[str, bytes]] = {section: {} for section in SECTIONS}
    for part in parts:
        for section, entries in part.items():
            found[section] |= entries
    return {section: dict(sorted(entries.items())) for section, entries in found.items()}
