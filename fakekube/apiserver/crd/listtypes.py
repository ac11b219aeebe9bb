"""Finds duplicates in lists of type `set` and `map` (`apiextensions-apiserver/pkg/apiserver/schema/listtype`)."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.crd.correlatedobject import item_key
from fakekube.apiserver.crd.structural import Structural
from fakekube.apiserver.resource import Object
from fakekube.apiserver.wire.gojson import go_json
from fakekube.apiserver.wire.goprint import untyped_literal
from fakekube.apiserver.wire.status import FieldError, field_duplicate, field_invalid


def list_errors(obj: Object, schema: Structural, path: str = "") -> list[FieldError]:
    """An error for each duplicate item, at its second position."""
    errors: list[FieldError] = []
    if not schema.has_keys:
        return errors
    for key, value in obj.items():
        if type(value) is not dict and type(value) is not list:
            continue
        field = schema.properties.get(key)
        here = f"{path}.{key}" if path else key
        if field is None and schema.additional is not None:
            field, here = schema.additional, f"{path}[{key}]"
        if field is not None:
            errors += _value_errors(value, field, here)
    return errors


def _value_errors(value: Any, schema: Structural, path: str) -> list[FieldError]:
    if not schema.has_keys:
        return []
    if isinstance(value, dict):
        return list_errors(value, schema, path)
    if not isinstance(value, list):
        return []
    errors: list[FieldError] = []
    if schema.list_type == "set":
        errors += [field_duplicate(f"{path}[{i}]", untyped_literal(value[i])) for i in repeated(value)]
    elif schema.list_type == "map":
        errors += _map_errors(value, schema, path)
    if schema.items is not None:
        for i, item in enumerate(value):
            errors += _value_errors(item, schema.items, f"{path}[{i}]")
    return errors


def _map_errors(items: list[Any], schema: Structural, path: str) -> list[FieldError]:
    for i, item in enumerate(items):
        if item is not None and not isinstance(item, dict):
            why = "must be an object for an array of list-type map"
            return [field_invalid(f"{path}[{i}]", item, why)]
    if len({item_key(item, schema.list_keys) for item in items}) == len(items):
        return []
    keys = [{key: item[key] for key in schema.list_keys if key in item} if item else {} for item in items]
    return [field_duplicate(f"{path}[{i}]", untyped_literal(keys[i])) for i in repeated(keys)]


def repeated(items: list[Any]) -> list[int]:
    """The positions of the second occurrences of values."""
    seen: dict[Any, int] = {}
    found: list[int] = []
    for i, item in enumerate(items):
        key = go_json(item) if isinstance(item, dict | list) else (type(item), item)
        times = seen[key] = seen.get(key, 0) + 1
        if times == 2:
            found.append(i)
    return found
