"""Removes the fields of custom resources that their schema does not specify
(`apiextensions-apiserver/pkg/apiserver/schema/pruning`).

Objects are never changed in place: a function returns the value that it was given if nothing changes.
"""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.crd.structural import META_FIELDS, Structural
from fakekube.apiserver.resource import Object

# `type(item) is dict or type(item) is list` below: decoded JSON has no subclasses, and the check runs for every value
# of an object, where `isinstance` with two classes takes about twice as long.


def prune(obj: Object, schema: Structural | None, unknown: list[str]) -> Object:
    """The resource without unknown fields, whose paths are appended to `unknown`."""
    if schema is None:
        kept = {key: value for key, value in obj.items() if key in META_FIELDS}
        unknown += sorted(key for key in obj if key not in META_FIELDS)
        return kept
    found: list[str] = []
    pruned: Object = _prune(obj, schema, "", found, embedded=True)
    unknown += sorted(found)
    return pruned


def prune_value(value: Any, schema: Structural) -> Any:
    """A value inside of a resource without unknown fields."""
    return _prune(value, schema, "", [], embedded=schema.embedded)


def _prune(value: Any, schema: Structural | None, path: str, unknown: list[str], *, embedded: bool = False) -> Any:
    if isinstance(value, dict):
        if schema is None:
            unknown += [f"{path}.{key}" if path else key for key in value]
            return {}
        return _prune_object(value, schema, path, unknown, embedded)
    if isinstance(value, list):
        if schema is not None and schema.preserve:
            return _skip_list(value, schema.items, path, unknown)
        return _each(value, schema.items if schema is not None else None, path, unknown)
    return value


def _each(value: list[Any], items: Structural | None, path: str, unknown: list[str]) -> list[Any]:
    made: list[Any] | None = None
    for i, item in enumerate(value):
        if type(item) is dict or type(item) is list:
            kept = _prune(item, items, f"{path}[{i}]", unknown, embedded=items is not None and items.embedded)
            if kept is not item:
                made = made if made is not None else list(value)
                made[i] = kept
    return value if made is None else made


def _skip_list(value: list[Any], items: Structural | None, path: str, unknown: list[str]) -> list[Any]:
    """Prunes a list below x-kubernetes-preserve-unknown-fields: only specified fields are visited."""
    if items is None:
        return value
    made: list[Any] | None = None
    for i, item in enumerate(value):
        kept = item
        if isinstance(item, dict):
            kept = _prune_object(item, items, f"{path}[{i}]", unknown, items.embedded, preserve=True)
        elif isinstance(item, list):
            kept = _skip_list(item, items.items, f"{path}[{i}]", unknown)
        if kept is not item:
            made = made if made is not None else list(value)
            made[i] = kept
    return value if made is None else made


def _prune_object(
    value: Object, schema: Structural, path: str, unknown: list[str], embedded: bool, *, preserve: bool = False
) -> Object:
    preserve = preserve or schema.preserve
    properties, additional = schema.properties, schema.additional
    made: Object | None = None
    for key, item in value.items():
        if embedded and key in META_FIELDS:
            continue
        field = properties.get(key)
        if field is None:
            if not schema.has_additional:
                if not preserve:
                    if path or key not in META_FIELDS:
                        unknown.append(f"{path}.{key}" if path else key)
                    made = made if made is not None else dict(value)
                    del made[key]
                continue
            field = additional
        if type(item) is dict or type(item) is list:
            here = f"{path}.{key}" if path else key
            kept = _prune(item, field, here, unknown, embedded=field is not None and field.embedded)
            if kept is not item:
                made = made if made is not None else dict(value)
                made[key] = kept
    return value if made is None else made
