"""CustomResourceDefinitions, and what the server makes of them (`apiextensions-apiserver`)."""

from fakekube.apiserver.crd.applyschema import DEDUCED, apply_schema
from fakekube.apiserver.crd.definition import COLLECTION, openapi_of, printer_columns, resources_of, selectable_paths

__all__ = ["COLLECTION", "DEDUCED", "apply_schema", "openapi_of", "printer_columns", "resources_of", "selectable_paths"]
