"""The internal type of definitions, to which error messages refer (`apiextensions/v1/conversion.go`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fakekube.apiserver.features import since
from fakekube.apiserver.resource import Object
from fakekube.apiserver.wire.gojson import go_json_ordered
from fakekube.apiserver.wire.goprint import go_quote

#: Fields of versions -> fields of the spec, to which they move if they are the same in all versions.
HOISTED = {
    "subresources": "subresources",
    "schema": "validation",
    "additionalPrinterColumns": "additionalPrinterColumns",
    "selectableFields": "selectableFields",
}


def internal_spec(spec: Object) -> Object:
    """Converts a spec: fields that are the same in all versions move to the spec, and webhook settings move up."""
    versions = [dict(version) for version in spec.get("versions") or ()]
    made: Object = {**spec, "versions": versions}
    if versions:
        for own, above in HOISTED.items():
            first = versions[0].get(own) or None
            if all((version.get(own) or None) == first for version in versions):
                if first is not None:
                    made[above] = first
                for version in versions:
                    version.pop(own, None)
    conversion = spec.get("conversion")
    if conversion is not None:
        webhook = conversion.get("webhook") or {}
        made["conversion"] = {
            "strategy": conversion.get("strategy") or "",
            "webhookClientConfig": webhook.get("clientConfig"),
            "conversionReviewVersions": webhook.get("conversionReviewVersions"),
        }
    return made


# --- Go representation -----------------------------------------------------------------------------------------------

_NONE: Any = None

#: The fields of Go structs in order: name, JSON key, zero value, and the type of nested values.
_SCHEMA: Sequence[tuple[str, str, Any, str]] = (
    ("ID", "id", "", ""), ("Schema", "$schema", "", ""), ("Ref", "$ref", _NONE, ""),
    ("Description", "description", "", ""), ("Type", "type", "", ""), ("Nullable", "nullable", False, ""),
    ("Format", "format", "", ""), ("Title", "title", "", ""), ("Default", "default", _NONE, ""),
    ("Maximum", "maximum", _NONE, ""), ("ExclusiveMaximum", "exclusiveMaximum", False, ""),
    ("Minimum", "minimum", _NONE, ""), ("ExclusiveMinimum", "exclusiveMinimum", False, ""),
    ("MaxLength", "maxLength", _NONE, ""), ("MinLength", "minLength", _NONE, ""), ("Pattern", "pattern", "", ""),
    ("MaxItems", "maxItems", _NONE, ""), ("MinItems", "minItems", _NONE, ""),
    ("UniqueItems", "uniqueItems", False, ""), ("MultipleOf", "multipleOf", _NONE, ""), ("Enum", "enum", _NONE, ""),
    ("MaxProperties", "maxProperties", _NONE, ""), ("MinProperties", "minProperties", _NONE, ""),
    ("Required", "required", _NONE, ""), ("Items", "items", _NONE, "or array"), ("AllOf", "allOf", _NONE, "schemas"),
    ("OneOf", "oneOf", _NONE, "schemas"), ("AnyOf", "anyOf", _NONE, "schemas"), ("Not", "not", _NONE, "schema"),
    ("Properties", "properties", _NONE, "map"), ("AdditionalProperties", "additionalProperties", _NONE, "or bool"),
    ("PatternProperties", "patternProperties", _NONE, "map"), ("Dependencies", "dependencies", _NONE, ""),
    ("AdditionalItems", "additionalItems", _NONE, "or bool"), ("Definitions", "definitions", _NONE, "map"),
    ("ExternalDocs", "externalDocs", _NONE, "docs"), ("Example", "example", _NONE, ""),
    ("XPreserveUnknownFields", "x-kubernetes-preserve-unknown-fields", _NONE, ""),
    ("XEmbeddedResource", "x-kubernetes-embedded-resource", False, ""),
    ("XIntOrString", "x-kubernetes-int-or-string", False, ""),
    ("XListMapKeys", "x-kubernetes-list-map-keys", _NONE, ""), ("XListType", "x-kubernetes-list-type", _NONE, ""),
    ("XMapType", "x-kubernetes-map-type", _NONE, ""), ("XValidations", "x-kubernetes-validations", _NONE, "rules"),
)  # fmt: skip

_RULE = (
    ("Rule", "rule", "", ""), ("Message", "message", "", ""), ("MessageExpression", "messageExpression", "", ""),
    ("Reason", "reason", _NONE, ""), ("FieldPath", "fieldPath", "", ""),
    ("OptionalOldSelf", "optionalOldSelf", _NONE, ""),
)  # fmt: skip
_COLUMN = (
    ("Name", "name", "", ""), ("Type", "type", "", ""), ("Format", "format", "", ""),
    ("Description", "description", "", ""), ("Priority", "priority", 0, ""), ("JSONPath", "jsonPath", "", ""),
)  # fmt: skip
_SCALE = (
    ("SpecReplicasPath", "specReplicasPath", "", ""), ("StatusReplicasPath", "statusReplicasPath", "", ""),
    ("LabelSelectorPath", "labelSelectorPath", _NONE, ""),
)  # fmt: skip
_VERSION = (
    ("Name", "name", "", ""), ("Served", "served", False, ""), ("Storage", "storage", False, ""),
    ("Deprecated", "deprecated", False, ""), ("DeprecationWarning", "deprecationWarning", _NONE, ""),
    ("Schema", "schema", _NONE, "validation"), ("Subresources", "subresources", _NONE, "subresources"),
    ("AdditionalPrinterColumns", "additionalPrinterColumns", _NONE, "columns"),
    ("SelectableFields", "selectableFields", _NONE, "fields"),
)  # fmt: skip


#: In place of an address in memory, which errors showed before 1.34.
_ADDRESS = "0xc000000000"


def _shaped(value: Mapping[str, Any], rows: Sequence[tuple[str, str, Any, str]]) -> Object:
    found: Object = {}
    for name, key, empty, inside in rows:
        item = value.get(key)
        found[name] = empty if item is None else _INSIDE[inside](item) if inside else item
    return found


def _schema_shape(value: Mapping[str, Any]) -> Object:
    return _shaped(value, _SCHEMA)


_INSIDE: Mapping[str, Any] = {
    "schema": _schema_shape,
    "schemas": lambda items: [_schema_shape(one) for one in items],
    "map": lambda items: {key: _schema_shape(items[key]) for key in sorted(items)},
    "or array": lambda item: {
        "Schema": _schema_shape(item) if isinstance(item, dict) else None,
        "JSONSchemas": [_schema_shape(one) for one in item] if isinstance(item, list) else None,
    },
    "or bool": lambda item: {
        "Allows": item if isinstance(item, bool) else True,
        "Schema": _schema_shape(item) if isinstance(item, dict) else None,
    },
    "docs": lambda item: {"Description": item.get("description") or "", "URL": item.get("url") or ""},
    "rules": lambda items: [_shaped(one, _RULE) for one in items],
    "validation": lambda item: {
        "OpenAPIV3Schema": _schema_shape(item["openAPIV3Schema"]) if item.get("openAPIV3Schema") is not None else None
    },
    "subresources": lambda item: {
        "Status": {} if item.get("status") is not None else None,
        "Scale": _shaped(item["scale"], _SCALE) if item.get("scale") is not None else None,
    },
    "columns": lambda items: [_shaped(one, _COLUMN) for one in items],
    "fields": lambda items: [{"JSONPath": one.get("jsonPath") or ""} for one in items],
}


def shown_versions(versions: Sequence[Mapping[str, Any]]) -> str:
    return go_json_ordered([_shaped(version, _VERSION) for version in versions])


def shown_schema(schema: Mapping[str, Any]) -> str:
    return go_json_ordered(_schema_shape(schema))


def shown_items(items: Any) -> str:
    return go_json_ordered(_INSIDE["or array"](items))


def shown_rule(rule: Mapping[str, Any]) -> str:
    if since(34):
        return go_json_ordered(_shaped(rule, _RULE))
    texts = ", ".join(f"{name}:{go_quote(rule.get(key) or '')}" for name, key, _, _ in _RULE[:3])
    reason, old = (
        f"(*{type})({'nil' if rule.get(key) is None else _ADDRESS})"
        for key, type in (("reason", "apiextensions.FieldValueErrorReason"), ("optionalOldSelf", "bool"))
    )
    field = go_quote(rule.get("fieldPath") or "")
    return f"apiextensions.ValidationRule{{{texts}, Reason:{reason}, FieldPath:{field}, OptionalOldSelf:{old}}}"
