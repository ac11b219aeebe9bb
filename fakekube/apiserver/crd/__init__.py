"""CustomResourceDefinitions, and what they make of the objects that they define (`apiextensions-apiserver`)."""

from fakekube.apiserver.crd.definition import (
    COLLECTION,
    definition_strategy,
    openapi_of,
    printer_columns,
    resources_of,
)
from fakekube.apiserver.crd.typed import DEDUCED, apply_schema

__all__ = [
    "COLLECTION",
    "DEDUCED",
    "apply_schema",
    "definition_strategy",
    "openapi_of",
    "printer_columns",
    "resources_of",
]
