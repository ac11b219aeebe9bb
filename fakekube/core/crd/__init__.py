"""CustomResourceDefinitions, and what they make of the objects that they define (`apiextensions-apiserver`)."""

from fakekube.core.crd.definition import (
    CLEANUP_FINALIZER,
    COLLECTION,
    established,
    openapi_of,
    prepare,
    prepare_update,
    printer_columns,
    resources_of,
    strategy_of,
    validate,
    validate_update,
)
from fakekube.core.crd.typed import DEDUCED, apply_schema

__all__ = [
    "CLEANUP_FINALIZER",
    "COLLECTION",
    "DEDUCED",
    "apply_schema",
    "established",
    "openapi_of",
    "prepare",
    "prepare_update",
    "printer_columns",
    "resources_of",
    "strategy_of",
    "validate",
    "validate_update",
]
