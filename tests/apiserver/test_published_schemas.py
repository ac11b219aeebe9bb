"""What OpenAPI documents say of the schemas of definitions, without a server: `Structural.Unfold`, `ToStructuralOpenAPIV2`,
and the fields of embedded resources (`builder.go`)."""

import pytest

from fakekube.apiserver.openapi.customkinds import _with_embedded
from fakekube.apiserver.openapi.customschemas import published

ANY_OF = [{"type": "integer"}, {"type": "string"}]
EITHER = {"x-kubernetes-int-or-string": True}
KEEPS = {"x-kubernetes-preserve-unknown-fields": True}
TEXT, NULLABLE = {"type": "string"}, {"type": "string", "nullable": True}


@pytest.mark.parametrize(
    ("written", "in_3", "in_2"),
    [
        pytest.param(TEXT, TEXT, TEXT, id="a-text"),
        pytest.param(True, True, True, id="no-schema"),
        pytest.param(
            {**TEXT, "minLength": 0, "description": "", "title": "", "pattern": "", "format": "", "nullable": False},
            {**TEXT, "minLength": 0}, {**TEXT, "minLength": 0}, id="keywords-that-are-zero",
        ),
        pytest.param(
            {"type": "object", "required": [], "allOf": [], "anyOf": [], "oneOf": [], "x-kubernetes-validations": []},
            {"type": "object"}, {"type": "object"}, id="empty-lists",
        ),
        pytest.param({**TEXT, "default": "", "enum": [""]}, {**TEXT, "default": "", "enum": [""]}, {**TEXT, "enum": [""]},
                     id="a-default"),
        pytest.param(EITHER, {**EITHER, "anyOf": ANY_OF}, EITHER, id="int-or-string"),
        pytest.param({**EITHER, "anyOf": ANY_OF}, {**EITHER, "anyOf": ANY_OF}, EITHER, id="int-or-string-in-its-form"),
        pytest.param(
            {**EITHER, "allOf": [{"anyOf": ANY_OF}, {"pattern": "a"}]},
            {**EITHER, "allOf": [{"anyOf": ANY_OF}, {"pattern": "a"}]}, EITHER, id="int-or-string-in-its-other-form",
        ),
        pytest.param(
            {**EITHER, "allOf": [{"pattern": "a"}]}, {**EITHER, "allOf": [{"pattern": "a"}], "anyOf": ANY_OF}, EITHER,
            id="int-or-string-and-all-of",
        ),
        pytest.param(
            {**EITHER, "anyOf": [{"pattern": "a"}], "allOf": [{"pattern": "b"}]},
            {**EITHER, "anyOf": [{"pattern": "a"}], "allOf": [{"anyOf": ANY_OF}, {"pattern": "b"}]}, EITHER,
            id="int-or-string-and-any-of",
        ),
        pytest.param({**TEXT, "oneOf": [TEXT], "not": TEXT}, {**TEXT, "oneOf": [TEXT], "not": TEXT}, TEXT, id="junctors"),
        pytest.param({**NULLABLE, "format": "uuid"}, {**NULLABLE, "format": "uuid"}, {"format": "uuid"}, id="nullable"),
        pytest.param(
            {"type": "object", "nullable": True, "properties": {"a": TEXT}, "required": ["a"]},
            {"type": "object", "nullable": True, "properties": {"a": TEXT}, "required": ["a"]}, {"required": ["a"]},
            id="a-nullable-object",
        ),
        pytest.param(
            {"type": "array", "nullable": True, "items": TEXT}, {"type": "array", "nullable": True, "items": TEXT}, {},
            id="a-nullable-list",
        ),
        pytest.param(
            {"type": "object", "properties": {"a": TEXT}, **KEEPS}, {"type": "object", "properties": {"a": TEXT}, **KEEPS},
            KEEPS, id="keeps-unknown-fields",
        ),
        pytest.param({"type": "array", "items": TEXT, **KEEPS}, {"type": "array", "items": TEXT, **KEEPS}, KEEPS,
                     id="a-list-that-keeps-unknown-fields"),
        pytest.param({**TEXT, **KEEPS}, {**TEXT, **KEEPS}, {**TEXT, **KEEPS}, id="a-text-that-keeps-unknown-fields"),
        pytest.param({"type": "array"}, {"type": "array"}, {}, id="a-list-of-anything"),
        pytest.param({"type": "array", "items": TEXT}, {"type": "array", "items": TEXT}, {"type": "array", "items": TEXT},
                     id="a-list"),
        pytest.param(
            {"type": "object", "required": ["a", "b", "c"], "properties": {"a": TEXT, "b": NULLABLE}},
            {"type": "object", "required": ["a", "b", "c"], "properties": {"a": TEXT, "b": NULLABLE}},
            {"type": "object", "required": ["a", "c"], "properties": {"a": TEXT, "b": {}}},
            id="a-required-field-that-is-nullable",
        ),
        pytest.param(
            {"type": "object", "required": ["b"], "properties": {"b": NULLABLE}},
            {"type": "object", "required": ["b"], "properties": {"b": NULLABLE}},
            {"type": "object", "properties": {"b": {}}}, id="whose-only-required-field-is-nullable",
        ),
        pytest.param(
            {"type": "object", "required": ["a"], "additionalProperties": NULLABLE},
            {"type": "object", "required": ["a"], "additionalProperties": NULLABLE},
            {"type": "object", "additionalProperties": {}}, id="values-that-are-nullable",
        ),
        pytest.param(
            {"type": "object", "required": ["a"], "additionalProperties": TEXT},
            {"type": "object", "required": ["a"], "additionalProperties": TEXT},
            {"type": "object", "required": ["a"], "additionalProperties": TEXT}, id="values-that-are-not",
        ),
        pytest.param(
            {"type": "object", "additionalProperties": True}, {"type": "object", "additionalProperties": True},
            {"type": "object", "additionalProperties": True}, id="any-values",
        ),
    ],
)  # fmt: skip
def test_the_schema_of_a_field(written, in_3, in_2):
    assert published(written, 3) == in_3
    assert published(written, 2) == in_2


@pytest.mark.parametrize(
    "around",
    [
        lambda one: {"type": "object", "properties": {"x": one, "y": TEXT}},
        lambda one: {"type": "array", "items": one},
        lambda one: {"type": "object", "additionalProperties": one},
        lambda one: {
            "type": "object",
            "properties": {"x": {"type": "array", "items": {"type": "array", "items": one}}},
        },
    ],
)
def test_the_schemas_inside_of_others(around):
    assert published(around(EITHER), 3) == around({**EITHER, "anyOf": ANY_OF})
    assert published(around({**EITHER, "default": 1}), 2) == around(EITHER)


@pytest.mark.parametrize(
    "around", [lambda one: {"allOf": [TEXT, one]}, lambda one: {"oneOf": [one]}, lambda one: {"not": one}]
)
def test_the_schemas_of_junctors(around):
    assert published(around({**TEXT, "description": ""}), 3) == around(TEXT)
    assert published(around(TEXT), 2) == {}


def test_the_schema_of_a_definition_stays_as_it_is():
    written = {"type": "object", "required": ["a"], "properties": {"a": {**NULLABLE, "description": ""}, "b": EITHER}}
    before = repr(written)
    published(written, 3), published(written, 2), _with_embedded(written, 3)
    assert repr(written) == before


EMBEDDED = {"type": "object", "x-kubernetes-embedded-resource": True}


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize(
    ("required", "shown"),
    [
        ([], ["kind", "apiVersion"]),
        (["spec"], ["spec", "kind", "apiVersion"]),
        (["kind", "spec"], ["kind", "spec", "apiVersion"]),
        (["apiVersion", "kind"], ["apiVersion", "kind"]),
    ],
)
def test_an_embedded_resource_has_the_fields_of_one(required, shown, version):
    written = {**EMBEDDED, "properties": {"spec": TEXT}, **({"required": required} if required else {})}
    found = _with_embedded(written, version)
    assert found["required"] == shown
    assert found["properties"].keys() == {"spec", "apiVersion", "kind", "metadata"}
    assert found["properties"]["spec"] == TEXT
    for name in ("apiVersion", "kind"):
        assert found["properties"][name]["type"] == "string"
        assert found["properties"][name]["description"].startswith(f"{name} ")
    place = "#/components/schemas/" if version == 3 else "#/definitions/"
    refers = {"$ref": f"{place}io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}
    metadata = dict(found["properties"]["metadata"])
    assert metadata.pop("description").startswith("Standard object's metadata.")
    assert metadata == ({"allOf": [refers]} if version == 3 else refers)


@pytest.mark.parametrize(
    "around",
    [
        lambda one: {"type": "object", "properties": {"x": one, "y": TEXT}},
        lambda one: {"type": "array", "items": one},
        lambda one: {"type": "object", "additionalProperties": one},
        lambda one: {
            **EMBEDDED,
            "properties": {"spec": {"type": "array", "items": one}},
            "x-kubernetes-embedded-resource": False,
        },
    ],
)
def test_embedded_resources_inside_of_others(around):
    assert _with_embedded(around(EMBEDDED), 3) == around(_with_embedded(EMBEDDED, 3))


def test_version_2_says_nothing_of_an_embedded_resource_that_keeps_unknown_fields():
    assert _with_embedded({**EMBEDDED, **KEEPS}, 2) == {**EMBEDDED, **KEEPS}
    assert "metadata" in _with_embedded({**EMBEDDED, **KEEPS}, 3)["properties"]
    assert _with_embedded(True, 2) is True
