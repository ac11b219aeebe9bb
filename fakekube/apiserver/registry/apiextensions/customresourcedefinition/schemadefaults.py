"""Validates the defaults in a schema against the schema
(`apiextensions-apiserver/pkg/apiserver/schema/defaulting/validation.go`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fakekube.apiserver.crd import pruning
from fakekube.apiserver.crd.embedded import MalformedEmbeddedResource, coerce, embedded_errors
from fakekube.apiserver.crd.schematraits import DEFAULT
from fakekube.apiserver.crd.schemavalidator import SchemaValidator
from fakekube.apiserver.crd.structural import META_FIELDS, Structural
from fakekube.apiserver.crd.validationresult import field_errors
from fakekube.apiserver.crd.validationrules import RuleValidator
from fakekube.apiserver.schema.model import Schema
from fakekube.apiserver.wire.gojson import go_json, go_json_ordered, with_body_numbers
from fakekube.apiserver.wire.status import FieldError

Surround = Callable[[Any], Any]


def default_errors(root: Structural, path: str, meta: Schema) -> list[FieldError]:
    """The errors of the defaults in the schema of a resource; `meta` is the schema of ObjectMeta."""
    return _errors(root, path, meta, in_metadata=False, top=True, surround=lambda value: value, resource=root)


def _errors(
    schema: Structural,
    path: str,
    meta: Schema,
    *,
    in_metadata: bool,
    top: bool,
    surround: Surround,
    resource: Structural,
) -> list[FieldError]:
    embedded = schema.embedded or top
    if embedded:
        in_metadata, surround, resource = False, (lambda value: value), schema
    errors: list[FieldError] = []
    if schema.default is not None:
        here = f"{path}.default"
        if in_metadata:
            errors += _metadata_default_errors(schema, here, meta, surround, resource)
        else:
            errors += _own_errors(_as_resource(schema) if top else schema, here, meta)
    items = schema.node.get("items")
    if items is not None and schema.traits.of(items) & DEFAULT:
        errors += _errors(
            Structural(items, schema.traits),
            f"{path}.items",
            meta,
            in_metadata=in_metadata,
            top=False,
            surround=lambda value: surround([value]),
            resource=resource,
        )
    for name, one in (schema.node.get("properties") or {}).items():
        if not schema.traits.of(one) & DEFAULT:
            continue
        errors += _errors(
            Structural(one, schema.traits),
            f"{path}.properties[{name}]",
            meta,
            in_metadata=in_metadata or (embedded and name in META_FIELDS),
            top=False,
            surround=_inside(surround, name),
            resource=resource,
        )
    return errors


def _inside(surround: Surround, name: str) -> Surround:
    return lambda value: surround({name: value})


def _as_resource(schema: Structural) -> Structural:
    """The root of a resource: its default has apiVersion, kind and metadata as an embedded resource has them."""
    return Structural({**schema.node, "x-kubernetes-embedded-resource": True})


def _own_errors(schema: Structural, path: str, meta: Schema) -> list[FieldError]:
    value, errors = with_body_numbers(schema.default), []
    if pruning.prune_value(value, schema) != value:
        errors.append(
            FieldError(path, "FieldValueInvalid", f"Invalid value: {go_json(value)}: must not have unknown fields")
        )
    try:
        coerce(value, schema, meta, [], path)
    except MalformedEmbeddedResource as problem:
        where, _, message = str(problem).partition(": ")
        return [*errors, FieldError(where, "FieldValueInvalid", message)]
    wrong = embedded_errors(value, schema, path)
    return errors + (wrong or _value_errors(schema, value, path))


def _value_errors(schema: Structural, value: Any, path: str) -> list[FieldError]:
    wrong = field_errors(SchemaValidator(schema.node, literal=True).check(value).problems, path)
    if wrong:
        return wrong
    rules = RuleValidator.of(schema)
    if rules is None:
        return []
    return rules.errors(value, value, path) or rules.errors(value, None, path)


def _metadata_default_errors(
    schema: Structural, path: str, meta: Schema, surround: Surround, resource: Structural
) -> list[FieldError]:
    value = schema.default
    whole = {"kind": "Validation", "apiVersion": "validation/v1", **surround(value)}
    root = Structural({**resource.node, "x-kubernetes-embedded-resource": True})
    try:
        whole = coerce(whole, root, meta, [])
    except MalformedEmbeddedResource as problem:
        return [_invalid(path, value, f"must result in valid metadata: {problem}")]
    wrong = embedded_errors(whole, root)
    if wrong:
        texts = [str(one) for one in wrong]
        shown = texts[0] if len(texts) == 1 else "[" + ", ".join(texts) + "]"
        return [_invalid(path, value, f"must result in valid metadata: {shown}")]
    return _value_errors(schema, value, path)


def _invalid(path: str, value: Any, why: str) -> FieldError:
    shown = go_json_ordered(value)
    return FieldError(path, "FieldValueInvalid", f"Invalid value: {shown}: {why}")
