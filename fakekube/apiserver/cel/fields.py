"""Reads the fields of objects while an expression is evaluated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fakekube.apiserver.cel.types import DeclType, Type
from fakekube.apiserver.cel.values import NO_OVERLOAD, NONE, CelError, Optional


def declared_field(of: Type, name: str) -> DeclType | None:
    target = of.params[0] if of.kind == "opaque" and of.params else of
    return (target.fields or {}).get(name) if target.kind == "struct" else None


def optional_field(value: Any, key: str, convert: Callable[[Any], Any] | None) -> Optional:
    if isinstance(value, Optional):
        if not value.present:
            return NONE
        value = value.value
    if not isinstance(value, dict):
        raise CelError(NO_OVERLOAD)
    if key not in value:
        return NONE
    found = value[key]
    return Optional(True, found if convert is None or found is None else convert(found))
