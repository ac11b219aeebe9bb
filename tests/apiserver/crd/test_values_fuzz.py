"""Values are taken or refused as JSON Schema takes or refuses them, where both say the same."""

from typing import Any

import jsonschema
from hypothesis import given, settings

from fakekube.apiserver.crd import defaulting, pruning
from fakekube.apiserver.crd.schemavalidator import SchemaValidator
from fakekube.apiserver.crd.structural import Structural
from tests.apiserver.crd.strategies import OBJECTS, as_json_schema, roots

Object = dict[str, Any]


@settings(max_examples=400, deadline=None)
@given(roots(), OBJECTS)
def test_values_are_taken_as_json_schema_takes_them(schema: Object, value: Object) -> None:
    expected = jsonschema.Draft202012Validator(as_json_schema(schema)).is_valid(value)
    found = SchemaValidator(schema).check(value)
    assert (not found.problems) == expected, [one.message for one in found.problems]


@settings(max_examples=400, deadline=None)
@given(roots(), OBJECTS)
def test_the_quick_answer_is_that_of_all_errors(schema: Object, value: Object) -> None:
    values = SchemaValidator(schema)
    assert values.accepts(value) <= (not values.check(value).problems)


@settings(max_examples=200, deadline=None)
@given(roots(), OBJECTS)
def test_pruning_leaves_what_the_schema_knows_and_is_done_once(schema: Object, value: Object) -> None:
    known = Structural(schema)
    unknown: list[str] = []
    once = pruning.prune(value, known, unknown)
    again: list[str] = []
    assert pruning.prune(once, known, again) == once
    assert not again
    assert (once == value) == (not unknown)


@settings(max_examples=200, deadline=None)
@given(roots(), OBJECTS)
def test_nothing_is_changed_in_place(schema: Object, value: Object) -> None:
    before = repr(value)
    known = Structural(schema)
    defaulting.default(defaulting.prune_nulls(pruning.prune(value, known, []), known), known)
    assert repr(value) == before
