"""The strategy of custom resources (`apiextensions-apiserver/pkg/registry/customresource`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fakekube.apiserver.crd.custom import CustomVersion
from fakekube.apiserver.crd.definition import version_of
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.resource import Object


def strategy_of(crd: Object, version: str, custom: CustomVersion) -> Strategy:
    """The rules for its objects in one version: the fields that selectors may use, and what values it takes."""
    paths = [field.get("jsonPath") or "" for field in version_of(crd, version).get("selectableFields") or ()]
    return Strategy(
        fields={path.lstrip("."): _reader(path.lstrip(".").split(".")) for path in paths},
        fields_message="label",
        deprecation=deprecation(crd, version_of(crd, version)),
        validate=custom.validate,
        validate_update=custom.validate_update,
        validate_status_update=custom.validate_status_update,
        warnings=custom.warnings,
        update_warnings=custom.update_warnings,
    )


def deprecation(crd: Object, version: Object) -> str:
    """What every answer of a deprecated version warns of."""
    if not version.get("deprecated"):
        return ""
    default = f"{crd['spec']['group']}/{version['name']} {crd['spec']['names']['kind']} is deprecated"
    return version.get("deprecationWarning") or default


def _reader(path: list[str]) -> Callable[[Object], str]:
    def read(obj: Object) -> str:
        value: Any = obj
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        if isinstance(value, bool):
            return "true" if value else "false"
        return "" if value is None else str(value)

    return read
