"""Reads the fields of objects while an expression is evaluated."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fakekube.apiserver.cel.lexer import RESERVED
from fakekube.apiserver.cel.types import DeclType, Type
from fakekube.apiserver.cel.values import NONE, CelError, Optional
from fakekube.apiserver.features import since


def declared_field(of: Type, name: str) -> DeclType | None:
    target = of.params[0] if of.kind == "opaque" and of.params else of
    return field_named(target.fields, name) if target.fields is not None and target.kind == "struct" else None


def field_named(fields: Mapping[str, DeclType], name: str) -> DeclType | None:
    """The field that an expression selects by a name, which can be a reserved word: `self.namespace` is the field
    that is declared as `__namespace__` (`FindStructFieldType`)."""
    found = fields.get(name)
    if found is None and name in RESERVED and since(32):
        return fields.get(f"__{name}__")
    return found


def no_field(value: Any, name: str) -> CelError:
    """The error of a selection on a value that is neither an object nor a map."""
    if isinstance(value, list):
        return CelError("unsupported index type 'string' in list")
    return CelError(f"no such key: {name}")


def is_present(value: dict[Any, Any], key: str, *, declared: bool) -> bool:
    """Whether a field is set. A declared field that is null is not, as in `unstructuredMap.Find`."""
    return key in value and not (declared and value.get(key, "") is None)


def optional_field(value: Any, key: str, convert: Callable[[Any], Any] | None, *, declared: bool) -> Optional:
    if isinstance(value, Optional):
        if not value.present:
            return NONE
        value = value.value
    if not isinstance(value, dict):
        if isinstance(value, list):
            raise no_field(value, key)
        return NONE
    if not is_present(value, key, declared=declared):
        return NONE
    found = value[key]
    return Optional(True, found if convert is None or found is None else convert(found))
