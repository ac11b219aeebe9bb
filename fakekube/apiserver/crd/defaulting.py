"""Applies the defaults of a schema to custom resources (`apiextensions-apiserver/pkg/apiserver/schema/defaulting`).

Objects are never changed in place: a function returns the value that it was given if nothing changes. Container types
are compared exactly, as in `pruning`.
"""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.crd.structural import Structural
from fakekube.apiserver.resource import Object


def prune_nulls(value: Any, schema: Structural | None) -> Any:
    """The value without nulls that are neither nullable nor have a default, which replaces them later."""
    if schema is None:
        return value
    if isinstance(value, dict):
        made: Object | None = None
        for key, item in value.items():
            field = schema.field(key)
            if field is None:
                continue
            if item is None:
                if not field.nullable and field.default is None:
                    made = made if made is not None else dict(value)
                    del made[key]
            elif type(item) is dict or type(item) is list:
                kept = prune_nulls(item, field)
                if kept is not item:
                    made = made if made is not None else dict(value)
                    made[key] = kept
        return value if made is None else made
    if isinstance(value, list) and schema.items is not None:
        kept_items = [prune_nulls(item, schema.items) for item in value]
        return kept_items if any(a is not b for a, b in zip(kept_items, value, strict=True)) else value
    return value


def default(value: Any, schema: Structural | None) -> Any:
    """The value with the defaults of its schema set."""
    if schema is None or not schema.has_defaults:
        return value
    if isinstance(value, dict):
        return _default_object(value, schema)
    if isinstance(value, list) and schema.items is not None:
        items = schema.items
        filled = [default(items.default if item is None and not items.nullable else item, items) for item in value]
        return filled if any(a is not b for a, b in zip(filled, value, strict=True)) else value
    return value


def _default_object(value: Object, schema: Structural) -> Object:
    made: Object | None = None
    for key, field in schema.filled.items():
        item = value.get(key)
        if item is None and field.default is not None and (key not in value or not field.nullable):
            made = made if made is not None else dict(value)
            made[key] = default(field.default, field)
        elif type(item) is dict or type(item) is list:
            filled = default(item, field)
            if filled is not item:
                made = made if made is not None else dict(value)
                made[key] = filled
    additional = schema.additional
    if additional is not None and additional.has_defaults:
        for key, item in value.items():
            if key in schema.properties:
                continue
            filled = default(additional.default if item is None and not additional.nullable else item, additional)
            if filled is not item:
                made = made if made is not None else dict(value)
                made[key] = filled
    return value if made is None else made
