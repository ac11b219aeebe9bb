"""Validation agrees with JSON Schema for schemas with the same meaning."""

from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings

from fakekube.apiserver.crd import defaulting, pruning
from fakekube.apiserver.crd.schemavalidator import SchemaValidator
from fakekube.apiserver.crd.structural import Structural
from tests.apiserver.crd.strategies import OBJECTS, as_json_schema, roots

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

Object = dict[str, Any]


@settings(max_examples=400, deadline=None)
@given(roots(), OBJECTS)
def test_values_are_accepted_as_by_json_schema(schema: Object, value: Object) -> None:
    expected = jsonschema.Draft202012Validator(as_json_schema(schema)).is_valid(value)
    found = SchemaValidator(schema).check(value)
    assert (not found.problems) == expected, [one.message for one in found.problems]


@settings(max_examples=400, deadline=None)
@given(roots(), OBJECTS)
def test_quick_validation_agrees_with_full_validation(schema: Object, value: Object) -> None:
    values = SchemaValidator(schema)
    assert values.accepts(value) <= (not values.check(value).problems)


@settings(max_examples=200, deadline=None)
@given(roots(), OBJECTS)
def test_pruning_keeps_specified_fields_and_is_idempotent(schema: Object, value: Object) -> None:
    known = Structural(schema)
    unknown: list[str] = []
    once = pruning.prune(value, known, unknown)
    again: list[str] = []
    assert pruning.prune(once, known, again) == once
    assert not again
    assert (once == value) == (not unknown)


@settings(max_examples=200, deadline=None)
@given(roots(), OBJECTS)
def test_nothing_is_modified_in_place(schema: Object, value: Object) -> None:
    before = repr(value)
    known = Structural(schema)
    defaulting.default(defaulting.prune_nulls(pruning.prune(value, known, []), known), known)
    assert repr(value) == before
