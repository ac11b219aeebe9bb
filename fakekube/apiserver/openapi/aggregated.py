"""Merges the OpenAPI 2 documents of aggregated API servers with our own (kube-openapi `aggregator`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fakekube.apiserver.resource import Object

_DEFINITION = "#/definitions/"


def merged(document: Object, others: Mapping[str, Object]) -> Object:
    """The document with the paths of other documents below the path of each, and with the definitions that they need.

    A definition that both have is our own.
    """
    if not others:
        return document
    paths, definitions = dict(document["paths"]), dict(document["definitions"])
    for root, other in others.items():
        added = {path: one for path, one in (other.get("paths") or {}).items() if _is_below(path, f"/{root}")}
        known: Object = other.get("definitions") or {}
        waiting = list(_referred(added))
        while waiting:
            name = waiting.pop()
            if name in known and name not in definitions:
                definitions[name] = known[name]
                waiting += _referred(known[name])
        paths |= {path: one for path, one in added.items() if path not in paths}
    return {**document, "paths": dict(sorted(paths.items())), "definitions": dict(sorted(definitions.items()))}


def _is_below(path: str, root: str) -> bool:
    return path.rstrip("/") == root or path.startswith(f"{root}/")


def _referred(value: Any) -> Iterator[str]:
    """The names of the definitions that a part of a document refers to."""
    if isinstance(value, dict):
        for key, one in value.items():
            if key == "$ref" and isinstance(one, str) and one.startswith(_DEFINITION):
                yield one.removeprefix(_DEFINITION)
            else:
                yield from _referred(one)
    elif isinstance(value, list):
        for one in value:
            yield from _referred(one)
