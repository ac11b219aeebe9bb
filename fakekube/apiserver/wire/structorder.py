"""The order of the fields of Go's structs, in which kube-apiserver quotes what a patch has not touched."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from fakekube.apiserver.wire.messages import Field, message, message_of

Object = dict[str, Any]


def in_struct_order(obj: Object, api_version: str, kind: str) -> Object:
    """An object of a kind with the fields in the order of its struct, and maps in the order of their keys.

    Its own fields are not moved. An object without a protobuf message, such as a custom resource, is not changed.
    """
    name = message_of(api_version, kind)
    if name is None:
        return obj
    fields = _fields(name)
    return {key: _value(value, fields[key]) if key in fields else value for key, value in obj.items()}


@cache
def _fields(name: str) -> dict[str, Field]:
    """The fields of a message by their JSON names, in the order of the struct."""
    return {field.name: field for field in _flat(name)}


def _flat(name: str) -> Iterator[Field]:
    for field in message(name).values():
        if field.name:
            yield field
        else:
            yield from _flat(field.type)


def _value(value: Any, field: Field) -> Any:
    if "." not in field.type:  # no message
        return dict(sorted(value.items())) if field.map and isinstance(value, dict) else value
    if isinstance(value, list):
        return [_struct(one, field.type) for one in value]
    if field.map and isinstance(value, dict):
        return {key: _struct(one, field.type) for key, one in sorted(value.items())}
    return _struct(value, field.type)


def _struct(value: Any, name: str) -> Any:
    if not isinstance(value, dict):
        return value
    fields = _fields(name)
    typed = {key: value[key] for key in ("kind", "apiVersion") if key in value and key not in fields}
    ordered = {**typed, **{key: _value(value[key], field) for key, field in fields.items() if key in value}}
    return {**ordered, **{key: one for key, one in value.items() if key not in fields}}
