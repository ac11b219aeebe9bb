"""Validates that schemas are structural (`apiextensions-apiserver/pkg/apiserver/schema`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fakekube.apiserver.crd.schematraits import INT_OR_STRING, PATTERN, SUSPECT, UNSUPPORTED, UNUSUAL, SchemaTraits
from fakekube.apiserver.wire.goregexp import BadPattern, compiled
from fakekube.apiserver.wire.status import FieldError, field_forbidden, field_invalid, field_required

Node = Mapping[str, Any]

_WHERE = {
    "root": "must not be empty at the root",
    "item": "must not be empty for specified array items",
    "field": "must not be empty for specified object fields",
}

#: Keywords that are forbidden below anyOf, allOf, oneOf and not.
_FORBIDDEN_NESTED = (
    ("type", "must be empty to be structural"),
    ("additionalProperties", "must be undefined to be structural"),
    ("default", "must be undefined to be structural"),
    ("title", "must be empty to be structural"),
    ("description", "must be empty to be structural"),
    ("nullable", "must be false to be structural"),
    ("x-kubernetes-preserve-unknown-fields", "must be false to be structural"),
    ("x-kubernetes-embedded-resource", "must be false to be structural"),
    ("x-kubernetes-int-or-string", "must be false to be structural"),
    ("x-kubernetes-list-map-keys", "must be empty to be structural"),
    ("x-kubernetes-list-type", "must be undefined to be structural"),
    ("x-kubernetes-map-type", "must be undefined to be structural"),
    ("x-kubernetes-validations", "must be empty to be structural"),
)


def not_convertible(schema: Node, traits: SchemaTraits) -> str:
    """The reason why a schema cannot be converted to a structural one; "" if it can (`NewStructural`)."""
    if not traits.of(schema) & SUSPECT:
        return ""
    for key in UNSUPPORTED:
        if schema.get(key) or (key == "additionalItems" and key in schema):
            return f"OpenAPIV3Schema '{key.removeprefix('$') if key == '$schema' else key}' is not supported"
    if schema.get("x-kubernetes-preserve-unknown-fields") is False:
        return "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined"
    if isinstance(schema.get("items"), list):
        return "OpenAPIV3Schema 'items' must be a schema, but is an array"
    return next(filter(None, (not_convertible(one, traits) for one in below(schema))), "")


def below(schema: Node) -> list[Node]:
    """The direct children of a schema."""
    found = [schema["not"]] if isinstance(schema.get("not"), dict) else []
    for key in ("allOf", "anyOf", "oneOf"):
        found += schema.get(key) or ()
    items, additional = schema.get("items"), schema.get("additionalProperties")
    found += [one for one in (items, additional) if isinstance(one, dict)]
    return [*found, *(schema.get("properties") or {}).values()]


def structural_errors(schema: Node, path: str, traits: SchemaTraits) -> list[FieldError]:
    """The violations that make a schema non-structural, in the real server's order."""
    errors = _invariants(schema, "root", path, traits) + _incomplete(schema, schema, path, path)
    return sorted(errors, key=str)


def _invariants(schema: Node, level: str, path: str, traits: SchemaTraits) -> list[FieldError]:
    errors: list[FieldError] = []
    kind, items, properties = schema.get("type") or "", schema.get("items"), schema.get("properties") or {}
    if kind == "array" and items is None:
        errors.append(field_required(f"{path}.items", "must be specified"))
    if isinstance(items, dict) and traits.of(items) & (UNUSUAL | PATTERN):
        errors += _invariants(items, "item", f"{path}.items", traits)
    for name, one in properties.items():
        if traits.of(one) & (UNUSUAL | PATTERN):
            errors += _invariants(one, "field", f"{path}.properties[{name}]", traits)
    additional = schema.get("additionalProperties")
    if additional is not None:
        if level == "root":
            errors.append(field_forbidden(f"{path}.additionalProperties", "must not be used at the root"))
        if isinstance(additional, dict) and traits.of(additional) & (UNUSUAL | PATTERN):
            errors += _invariants(additional, "field", f"{path}.additionalProperties", traits)
    errors += _extension_errors(schema, path)
    errors += _validation_errors(schema, level, path, _is_int_or_string(schema), _is_int_or_string_all_of(schema))
    errors += _type_errors(schema, level, path)
    return errors + _metadata_errors(schema, level, path)


def _is_int_or_string(schema: Node) -> bool:
    return bool(schema.get("anyOf") == INT_OR_STRING)


def _is_int_or_string_all_of(schema: Node) -> bool:
    first = (schema.get("allOf") or [{}])[0]
    return bool(first.get("anyOf") == INT_OR_STRING)


def _extension_errors(schema: Node, path: str) -> list[FieldError]:
    if not schema.get("x-kubernetes-int-or-string"):
        return []
    why = "must be false if x-kubernetes-int-or-string is true"
    keys = ("x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource")
    return [field_invalid(f"{path}.{key}", True, why) for key in keys if schema.get(key)]


def _type_errors(schema: Node, level: str, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    kind, embedded = schema.get("type") or "", bool(schema.get("x-kubernetes-embedded-resource"))
    preserve, either = schema.get("x-kubernetes-preserve-unknown-fields"), schema.get("x-kubernetes-int-or-string")
    if embedded and kind != "object":
        why = "must be object if x-kubernetes-embedded-resource is true"
        errors.append(field_invalid(f"{path}.type", kind, why) if kind else field_required(f"{path}.type", why))
    elif not kind and not either and not preserve:
        errors.append(field_required(f"{path}.type", _WHERE[level]))
    if embedded and schema.get("additionalProperties") is not None:
        why = "must not be used if x-kubernetes-embedded-resource is set"
        errors.append(field_forbidden(f"{path}.additionalProperties", why))
    if level == "root" and kind and kind != "object":
        errors.append(field_invalid(f"{path}.type", kind, "must be object at the root"))
    if embedded and not preserve and not schema.get("properties"):
        why = "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields"
        errors.append(field_required(f"{path}.properties", why))
    return errors


def _metadata_errors(schema: Node, level: str, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    properties = schema.get("properties") or {}
    resource = level == "root" or bool(schema.get("x-kubernetes-embedded-resource"))
    if resource:
        for name in ("kind", "apiVersion"):
            kind = (properties.get(name) or {}).get("type") or ""
            if name in properties and kind != "string":
                errors.append(field_invalid(f"{path}.properties[{name}].type", kind, "must be string"))
    metadata = properties.get("metadata")
    if metadata is None:
        return errors
    here = f"{path}.properties[metadata]"
    kind = metadata.get("type") or ""
    if resource and kind != "object":
        errors.append(field_invalid(f"{here}.type", kind, "must be object"))
    if level == "root" and not _names_only(metadata):
        why = "must not specify anything other than name and generateName, but metadata is implicitly specified"
        errors.append(field_forbidden(here, why))
    return errors


#: Keywords that are pointers in Go: a zero value is not the same as none.
_POINTERS = frozenset(
    [
        "externalDocs",
        "minItems",
        "maxItems",
        "minLength",
        "maxLength",
        "minProperties",
        "maxProperties",
        "minimum",
        "maximum",
        "multipleOf",
        "x-kubernetes-list-type",
        "x-kubernetes-map-type",
    ]
)


def _names_only(metadata: Node) -> bool:
    others = {
        key
        for key, value in metadata.items()
        if key not in ("type", "default", "properties") and (value or (key in _POINTERS and value is not None))
    }
    return not others and set(metadata.get("properties") or ()) <= {"name", "generateName"}


def _validation_errors(
    schema: Node, level: str, path: str, skip_any_of: bool = False, skip_all_of: bool = False
) -> list[FieldError]:
    errors: list[FieldError] = []
    if not skip_any_of:
        for i, one in enumerate(schema.get("anyOf") or ()):
            errors += _nested_errors(one, level, f"{path}.anyOf[{i}]")
    for i, one in enumerate(schema.get("allOf") or ()):
        errors += _nested_errors(one, level, f"{path}.allOf[{i}]", skip_any_of=skip_all_of and i == 0)
    for i, one in enumerate(schema.get("oneOf") or ()):
        errors += _nested_errors(one, level, f"{path}.oneOf[{i}]")
    if isinstance(schema.get("not"), dict):
        errors += _nested_errors(schema["not"], level, f"{path}.not")
    pattern = schema.get("pattern")
    if pattern:
        try:
            compiled(pattern)
        except BadPattern as problem:
            why = f"must be a valid regular expression, but isn't: {problem}"
            errors.append(field_invalid(f"{path}.pattern", pattern, why))
    return errors


def _nested_errors(schema: Node, level: str, path: str, *, skip_any_of: bool = False) -> list[FieldError]:
    errors = _validation_errors(schema, level, path, skip_any_of)
    if isinstance(schema.get("items"), dict):
        errors += _nested_errors(schema["items"], level, f"{path}.items")
    properties = schema.get("properties") or {}
    for name, one in properties.items():
        errors += _nested_errors(one, "field", f"{path}.properties[{name}]")
    for key, why in _FORBIDDEN_NESTED:
        if schema.get(key) or (key == "default" and schema.get(key) is not None) or schema.get(key) == {}:
            errors.append(field_forbidden(f"{path}.{key}", why))
    if "metadata" in properties:
        errors.append(field_forbidden(f"{path}.properties[metadata]", "must not be specified in a nested context"))
    return errors


def _incomplete(nested: Node, schema: Node | None, s_path: str, v_path: str) -> list[FieldError]:
    """The errors of value validations for fields that the structural schema does not specify."""
    errors: list[FieldError] = []
    if isinstance(nested.get("not"), dict):
        errors += _nested_incomplete(nested["not"], schema, s_path, f"{v_path}.not")
    for key in ("allOf", "anyOf", "oneOf"):
        for i, one in enumerate(nested.get(key) or ()):
            errors += _nested_incomplete(one, schema, s_path, f"{v_path}.{key}[{i}]")
    return errors


def _nested_incomplete(nested: Node, schema: Node | None, s_path: str, v_path: str) -> list[FieldError]:
    if schema is None:
        return [field_required(s_path, f"because it is defined in {v_path}")]
    errors = _incomplete(nested, schema, s_path, v_path)
    if isinstance(nested.get("items"), dict):
        items = schema.get("items")
        known = items if isinstance(items, dict) else None
        errors += _nested_incomplete(nested["items"], known, f"{s_path}.items", f"{v_path}.items")
    known_properties = schema.get("properties") or {}
    for name, one in (nested.get("properties") or {}).items():
        there, here = f"{s_path}.properties[{name}]", f"{v_path}.properties[{name}]"
        if name not in known_properties:
            errors.append(field_required(there, f"because it is defined in {here}"))
        else:
            errors += _nested_incomplete(one, known_properties[name], there, here)
    return errors
