"""The two forms in which junctors of a structural schema may have types (`schema/validation.go`, isIntOrString*Pattern)."""

from typing import Any

import pytest

from fakekube.apiserver.crd.schematraits import SchemaTraits
from fakekube.apiserver.registry.apiextensions.customresourcedefinition.nonstructural import structural_errors

INTEGER, TEXT = {"type": "integer"}, {"type": "string"}
EITHER = {"anyOf": [INTEGER, TEXT]}
FORBIDDEN = "Forbidden: must be empty to be structural"


def problems(schema: Any) -> list[str]:
    node = {"type": "object", "properties": {"f": {"x-kubernetes-int-or-string": True, **schema}}}
    return [
        str(error).removeprefix("root.properties[f].") for error in structural_errors(node, "root", SchemaTraits(node))
    ]


@pytest.mark.parametrize(
    "schema",
    [
        {},
        EITHER,
        {"allOf": [EITHER]},
        {"allOf": [EITHER, {"minimum": 1}, {"pattern": "a"}]},
        {**EITHER, "allOf": [EITHER]},
        {"anyOf": [{"minimum": 1}, {"pattern": "a"}]},
        {"type": "string"},
    ],
)
def test_schemas_that_are_structural(schema: Any) -> None:
    assert problems(schema) == []


@pytest.mark.parametrize(
    ("schema", "places"),
    [
        ({"anyOf": [TEXT, INTEGER]}, ["anyOf[0].type", "anyOf[1].type"]),
        ({"anyOf": [INTEGER]}, ["anyOf[0].type"]),
        ({"anyOf": [INTEGER, TEXT, {"minimum": 1}]}, ["anyOf[0].type", "anyOf[1].type"]),
        ({"anyOf": [{**INTEGER, "minimum": 1}, TEXT]}, ["anyOf[0].type", "anyOf[1].type"]),
        ({"oneOf": [INTEGER, TEXT]}, ["oneOf[0].type", "oneOf[1].type"]),
        ({"allOf": [{"minimum": 1}, EITHER]}, ["allOf[1].anyOf[0].type", "allOf[1].anyOf[1].type"]),
        ({"allOf": [EITHER, EITHER]}, ["allOf[1].anyOf[0].type", "allOf[1].anyOf[1].type"]),
        ({"allOf": [{"anyOf": [TEXT, INTEGER]}]}, ["allOf[0].anyOf[0].type", "allOf[0].anyOf[1].type"]),
        ({"allOf": [{"allOf": [EITHER]}]}, ["allOf[0].allOf[0].anyOf[0].type", "allOf[0].allOf[0].anyOf[1].type"]),
        ({"not": EITHER}, ["not.anyOf[0].type", "not.anyOf[1].type"]),
        ({"oneOf": [EITHER]}, ["oneOf[0].anyOf[0].type", "oneOf[0].anyOf[1].type"]),
    ],
)
def test_types_in_other_junctors_are_forbidden(schema: Any, places: list[str]) -> None:
    assert problems(schema) == [f"{place}: {FORBIDDEN}" for place in places]
