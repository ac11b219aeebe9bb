"""ServiceAccount."""

from __future__ import annotations

from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.table.columns import NAME_AND_AGE
from fakekube.apiserver.registry.generic.validation.field import update_validator
from fakekube.apiserver.registry.generic.validation.metadata import validate_metadata

KIND = Kind(
    "serviceaccounts",
    Strategy(returns_deleted=True, validate_update=update_validator(lambda new, old: validate_metadata(new))),
    printer=NAME_AND_AGE,
)
