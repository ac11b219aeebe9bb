"""TODO"""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.table.columns import NAME_AND_AGE
from fakekube.apiserver.registry.generic.validation.metadata import check_again
from fakekube.apiserver.wire.status import FieldError

Object = dict[str, Any]


def validate_service_account_update(new: Object, old: Object) -> list[FieldError]:
    errors: list[FieldError] = []
    check_again(new, errors)
    return errors


KIND = Kind(
    "serviceaccounts",
    Strategy(returns_deleted=True, validate_update=validate_service_account_update),
    printer=NAME_AND_AGE,
)
