"""ServiceAccount."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import AGE, NAME, NAME_AND_AGE, Printer, age_of, columns, name_of
from fakekube.apiserver.registry.generic.validation.metadata import validate_metadata
from fakekube.apiserver.registry.generic.validation.rules import update_validator

Object = dict[str, Any]


def with_names_of_secrets(account: Object) -> Object:
    """The account with only the names of its secrets (`cleanSecretReferences`)."""
    if not account.get("secrets"):
        return account
    return {**account, "secrets": [{"name": one["name"]} if one.get("name") else {} for one in account["secrets"]]}


def _with_secrets(account: Object, ages: Ages) -> list[Any]:
    return [name_of(account), len(account.get("secrets") or ()), age_of(account, ages)]


KIND = Kind(
    "serviceaccounts",
    Strategy(
        returns_deleted=True,
        prepare_create=with_names_of_secrets,
        prepare_update=lambda new, old: with_names_of_secrets(new),
        validate_update=update_validator(lambda new, old: validate_metadata(new)),
    ),
    printer=NAME_AND_AGE,
    printers_before={35: Printer(columns(NAME, "Secrets", AGE), _with_secrets)},
)
