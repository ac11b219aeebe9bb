"""Validates the schemas in definitions and their rules
(`apiextensions/validation.ValidateCustomResourceDefinitionOpenAPISchema`)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from fakekube.apiserver.crd.fieldpath import BadPath, resolve
from fakekube.apiserver.crd.schematraits import DEFAULT, RULES, UNUSUAL, SchemaTraits
from fakekube.apiserver.crd.structural import Structural
from fakekube.apiserver.registry.apiextensions.customresourcedefinition.celvalidation import CELSchemaContext
from fakekube.apiserver.registry.apiextensions.customresourcedefinition.internaltype import shown_items
from fakekube.apiserver.registry.apiextensions.customresourcedefinition.nonstructural import not_convertible
from fakekube.apiserver.wire.goprint import naming
from fakekube.apiserver.wire.status import (
    FieldError,
    field_forbidden,
    field_invalid,
    field_not_supported,
    field_required,
)
from fakekube.struct import Struct, replace

Node = Mapping[str, Any]

TYPES = ("array", "boolean", "integer", "number", "object", "string")
REASONS = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
_UNSUPPORTED = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")
META_FIELDS = ("metadata", "kind", "apiVersion")

_NEWLINES = re.compile(r"[\n\r]+")


class SchemaErrors(Struct):
    """The errors of a schema and of its rules. Rules are only compiled if the schema has no errors."""

    schema: list[FieldError]
    rules: list[FieldError]

    def add(self, other: SchemaErrors) -> None:
        self.schema += other.schema
        self.rules += other.rules


class SchemaPosition(Struct, frozen=True):
    """The position of a node: why defaults are not allowed, if so; whether it is in the metadata of a resource; and the
    path of the first ancestor whose children cannot be correlated with an old object."""

    defaults_refused: str | None = None
    in_metadata: bool = False
    uncorrelatable: str = ""

    def beyond(self, path: str) -> SchemaPosition:
        return self if self.uncorrelatable else replace(self, uncorrelatable=path)


class SchemaCheck(Struct, frozen=True):
    """The check of a schema: the traits of its nodes, and whether the estimated costs of rules are limited."""

    traits: SchemaTraits
    costs: bool = True

    def concerns(self, node: Node, place: SchemaPosition) -> bool:
        """Whether a node or a descendant can have an error: of rules, of unusual keywords, or of refused defaults."""
        return bool(self.traits.of(node) & (UNUSUAL | DEFAULT if place.in_metadata else UNUSUAL))

    def child(self, context: CELSchemaContext | None, node: Node, kind: str, name: str = "") -> CELSchemaContext | None:
        """The context of a child node; None if no rules are in it."""
        return context.child(node, kind, name) if context is not None and self.traits.of(node) & RULES else None


def check(
    schema: Node,
    path: str,
    place: SchemaPosition,
    context: CELSchemaContext | None,
    whole: SchemaCheck,
    *,
    root: bool = False,
) -> SchemaErrors:
    """Validates a node and its descendants."""
    found = SchemaErrors(_standard_errors(schema, path, place), [])
    if schema.get("uniqueItems"):
        why = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        found.schema.append(field_forbidden(f"{path}.uniqueItems", why))
    _below(schema, path, place, context, whole, root, found)
    found.schema += _extension_errors(schema, path)
    found.schema += map_key_errors(schema, path)
    rules = schema.get("x-kubernetes-validations") or ()
    for i, rule in enumerate(rules):
        found.schema += _rule_errors(rule, schema, whole.traits, f"{path}.x-kubernetes-validations[{i}]")
    if rules and context is not None and not found.schema:
        found.rules += context.rule_errors(path, place.uncorrelatable, costs=whole.costs)
    return found


def _standard_errors(schema: Node, path: str, place: SchemaPosition) -> list[FieldError]:
    errors: list[FieldError] = []
    kind = schema.get("type") or ""
    if kind and kind not in TYPES:
        errors.append(field_not_supported(f"{path}.type", kind, TYPES))
    if schema.get("default") is not None and place.defaults_refused is not None:
        errors.append(field_forbidden(f"{path}.default", f"must not be set {place.defaults_refused}".rstrip()))
    errors += [
        field_forbidden(f"{path}.{key}", f"{key} is not supported")
        for key in _UNSUPPORTED
        if key in schema
        and (schema[key] or (key in ("additionalItems", "dependencies", "$ref") and schema[key] is not None))
    ]
    if kind == "null":
        errors.append(field_forbidden(f"{path}.type", "type cannot be set to null, use nullable as an alternative"))
    if isinstance(schema.get("items"), list) and schema["items"]:
        errors.append(field_forbidden(f"{path}.items", "items must be a schema object and not an array"))
    if place.in_metadata and schema.get("x-kubernetes-embedded-resource"):
        here = f"{path}.x-kubernetes-embedded-resource"
        errors.append(field_forbidden(here, "must not be used inside of resource meta"))
    return errors


def _below(
    schema: Node,
    path: str,
    place: SchemaPosition,
    context: CELSchemaContext | None,
    whole: SchemaCheck,
    root: bool,
    found: SchemaErrors,
) -> None:
    properties = schema.get("properties") or {}
    additional = schema.get("additionalProperties")
    if additional is not None:
        if properties and additional is not True:
            why = "additionalProperties and properties are mutual exclusive"
            found.schema.append(field_forbidden(f"{path}.additionalProperties", why))
        if isinstance(additional, dict) and whole.concerns(additional, place):
            here = place
            if place.in_metadata:
                here = replace(place, defaults_refused="inside additionalProperties applying to object metadata")
            child = whole.child(context, additional, "additional")
            found.add(check(additional, f"{path}.additionalProperties", here, child, whole))
    _properties(schema, path, place, context, whole, root, found)
    if isinstance(schema.get("not"), dict):
        found.add(check(schema["not"], f"{path}.not", place, None, whole))
    for key in ("allOf", "oneOf", "anyOf"):
        for i, one in enumerate(schema.get(key) or ()):
            found.add(check(one, f"{path}.{key}[{i}]", place, None, whole))
    for name, one in (schema.get("definitions") or {}).items():
        found.add(check(one, f"{path}.definitions[{name}]", place, None, whole))
    _items(schema, path, place, context, whole, found)


def _properties(
    schema: Node,
    path: str,
    place: SchemaPosition,
    context: CELSchemaContext | None,
    whole: SchemaCheck,
    root: bool,
    found: SchemaErrors,
) -> None:
    resource = root or schema.get("x-kubernetes-embedded-resource")
    for name, one in (schema.get("properties") or {}).items():
        here = place
        if resource and name in META_FIELDS:
            here = replace(here, in_metadata=True)
            if root:
                here = replace(here, defaults_refused=f"in top-level {name}")
        if whole.concerns(one, here):
            child = whole.child(context, one, "property", name)
            found.add(check(one, f"{path}.properties[{name}]", here, child, whole))


def _items(
    schema: Node,
    path: str,
    place: SchemaPosition,
    context: CELSchemaContext | None,
    whole: SchemaCheck,
    found: SchemaErrors,
) -> None:
    items = schema.get("items")
    if items is None or (isinstance(items, dict) and not whole.concerns(items, place)):
        return
    here = place if schema.get("x-kubernetes-list-type") == "map" else place.beyond(path)
    if isinstance(items, dict):
        child = whole.child(context, items, "items")
        found.add(check(items, f"{path}.items", here, child, whole))
        return
    for i, one in enumerate(items):
        found.add(check(one, f"{path}.items[{i}]", here, None, whole))


# --- extensions ------------------------------------------------------------------------------------------------------


def _extension_errors(schema: Node, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if schema.get("x-kubernetes-preserve-unknown-fields") is False:
        here = f"{path}.x-kubernetes-preserve-unknown-fields"
        errors.append(field_invalid(here, False, "must be true or undefined"))
    kind = schema.get("type") or ""
    map_type, list_type = schema.get("x-kubernetes-map-type"), schema.get("x-kubernetes-list-type")
    if map_type is not None and kind != "object":
        why = "must be object if x-kubernetes-map-type is specified"
        errors.append(field_invalid(f"{path}.type", kind, why) if kind else field_required(f"{path}.type", why))
    if map_type is not None and map_type not in ("atomic", "granular"):
        errors.append(field_not_supported(f"{path}.x-kubernetes-map-type", map_type, ("atomic", "granular")))
    if list_type is not None and kind != "array":
        why = "must be array if x-kubernetes-list-type is specified"
        errors.append(field_invalid(f"{path}.type", kind, why) if kind else field_required(f"{path}.type", why))
    elif list_type == "set" and isinstance(schema.get("items"), dict):
        errors += _set_errors(schema["items"], f"{path}.items")
    if list_type is not None and list_type not in ("atomic", "set", "map"):
        errors.append(field_not_supported(f"{path}.x-kubernetes-list-type", list_type, ("atomic", "set", "map")))
    keys = schema.get("x-kubernetes-list-map-keys") or ()
    if keys and list_type != "map":
        why = "must be map if x-kubernetes-list-map-keys is non-empty"
        here = f"{path}.x-kubernetes-list-type"
        errors.append(field_required(here, why) if list_type is None else field_invalid(here, list_type, why))
    return errors + (_map_errors(schema, keys, path) if list_type == "map" else [])


def _set_errors(items: Node, path: str) -> list[FieldError]:
    why = "must be atomic as item of a list with x-kubernetes-list-type=set"
    list_type, map_type = items.get("x-kubernetes-list-type"), items.get("x-kubernetes-map-type")
    if items.get("type") == "array" and list_type not in (None, "atomic"):
        return [field_invalid(f"{path}.x-kubernetes-list-type", list_type, why)]
    if items.get("type") == "object" and map_type != "atomic":
        return [field_invalid(f"{path}.x-kubernetes-map-type", list_type, why)]
    return []


def _map_errors(schema: Node, keys: Any, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    here, items = f"{path}.x-kubernetes-list-map-keys", schema.get("items")
    if not keys:
        errors.append(field_required(here, "must not be empty if x-kubernetes-list-type is map"))
    if items is None:
        errors.append(field_required(f"{path}.items", "must have a schema if x-kubernetes-list-type is map"))
        return errors
    if not isinstance(items, dict):
        why = "must only have a single schema if x-kubernetes-list-type is map"
        errors.append(FieldError(f"{path}.items", "FieldValueInvalid", f"Invalid value: {shown_items(items)}: {why}"))
        return errors
    kind = items.get("type") or ""
    if kind != "object":
        why = "must be object if parent array's x-kubernetes-list-type is map"
        return [*errors, field_invalid(f"{path}.items.type", kind, why)]
    seen: set[str] = set()
    for key in keys:
        field = (items.get("properties") or {}).get(key)
        if field is None:
            errors.append(field_invalid(here, list(keys), "entries must all be names of item properties"))
        elif field.get("type") in ("array", "object"):
            why = "must be a scalar type if parent array's x-kubernetes-list-type is map"
            errors.append(field_invalid(f"{path}.items.properties[{key}].type", kind, why))
        if key in seen:
            errors.append(field_invalid(here, list(keys), "must not contain duplicate entries"))
        seen.add(key)
    return errors


def map_key_errors(schema: Node, path: str) -> list[FieldError]:
    """Items of lists of type set and map must not be nullable, and keys must be required or have defaults."""
    items, list_type = schema.get("items"), schema.get("x-kubernetes-list-type")
    if not isinstance(items, dict) or list_type not in ("set", "map"):
        return []
    errors: list[FieldError] = []
    if items.get("nullable"):
        why = f"cannot be nullable when x-kubernetes-list-type is {list_type}"
        errors.append(field_forbidden(f"{path}.items.nullable", why))
    required = items.get("required") or ()
    for key in (schema.get("x-kubernetes-list-map-keys") or ()) if list_type == "map" else ():
        field = (items.get("properties") or {}).get(key)
        if field is None:
            continue
        here, which = f"{path}.items.properties[{key}]", "this property is in x-kubernetes-list-map-keys, so it"
        if key not in required and field.get("default") is None:
            errors.append(field_required(f"{here}.default", f"{which} must have a default or be a required property"))
        if field.get("nullable"):
            errors.append(field_forbidden(f"{here}.nullable", f"{which} cannot be nullable"))
    return errors


def _rule_errors(rule: Node, schema: Node, traits: SchemaTraits, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    text, message = rule.get("rule") or "", rule.get("message") or ""
    expression, field_path, reason = (
        rule.get("messageExpression") or "",
        rule.get("fieldPath") or "",
        rule.get("reason"),
    )
    if not text.strip():
        errors.append(field_required(f"{path}.rule", "rule is not specified"))
    elif message and not message.strip():
        errors.append(field_invalid(f"{path}.message", message, naming("message", "must be non-empty if specified")))
    elif _NEWLINES.search(message.strip()):
        errors.append(field_invalid(f"{path}.message", message, naming("message", "must not contain line breaks")))
    elif _NEWLINES.search(text.strip()) and not message.strip():
        errors.append(field_required(f"{path}.message", "message must be specified if rule contains line breaks"))
    if expression and not expression.strip():
        why = "messageExpression must be non-empty if specified"
        errors.append(field_required(f"{path}.messageExpression", why))
    if reason is not None and reason not in REASONS:
        errors.append(field_not_supported(f"{path}.reason", reason, REASONS))
    if field_path and not field_path.strip():
        errors.append(
            field_invalid(f"{path}.fieldPath", field_path, naming("fieldPath", "must be non-empty if specified"))
        )
    if _NEWLINES.search(field_path):
        errors.append(
            field_invalid(f"{path}.fieldPath", field_path, naming("fieldPath", "must not contain line breaks"))
        )
    if field_path and not _exists(field_path, schema, traits):
        errors.append(field_invalid(f"{path}.fieldPath", field_path, naming("fieldPath", "must be a valid path")))
    return errors


def _exists(path: str, schema: Node, traits: SchemaTraits) -> bool:
    if not_convertible(schema, traits):
        return True
    try:
        resolve(path, Structural(schema))
    except BadPath:
        return False
    return True
