"""Decoding of fields with alternative types, of null and of zero times."""

import pytest

from fakekube.apiserver.schema.decode import WrongType, decode
from fakekube.server import bootstrap

SCHEMAS = bootstrap._schemas(bootstrap.KUBERNETES_VERSION)
DEFINITION = SCHEMAS.of_kind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
CONFIG_MAP = SCHEMAS.of_kind("", "v1", "ConfigMap")


def definition(schema):
    return {"spec": {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": schema}}]}}


def decoded(schema):
    unknown = []
    spec = decode(DEFINITION, definition(schema), unknown)["spec"]
    assert not unknown
    return spec["versions"][0]["schema"]["openAPIV3Schema"]


@pytest.mark.parametrize(
    ("given", "found"),
    [
        pytest.param({"items": {"type": "string"}}, {"items": {"type": "string"}}, id="a-schema-of-items"),
        pytest.param({"items": {"type": "string", "x": 1}}, {"items": {"type": "string"}}, id="unknown-below-items"),
        pytest.param({"items": [{"type": "string"}]}, {"items": [{"type": "string"}]}, id="a-schema-for-each-item"),
        pytest.param({"items": []}, {}, id="no-schema-for-items"),
        pytest.param({"items": 5}, {}, id="items-that-are-neither"),
        pytest.param({"additionalProperties": False}, {"additionalProperties": False}, id="no-other-properties"),
        pytest.param({"additionalProperties": {"x": 1}}, {"additionalProperties": {}}, id="other-properties"),
        pytest.param({"additionalProperties": None}, {}, id="null"),
        pytest.param({"default": {"x": 1}}, {"default": {"x": 1}}, id="a-default-is-any-json"),
        pytest.param({"properties": {"items": {}}}, {"properties": {"items": {}}}, id="a-property-of-that-name"),
    ],
)
def test_fields_that_are_a_schema_or_another_value(given, found):
    assert decoded(given) == found


PLACE = "Go struct field JSONSchemaProps.spec.versions.schema.openAPIV3Schema"


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        pytest.param({"additionalProperties": "a"}, "boolean or JSON schema expected", id="neither"),
        pytest.param(
            {"items": {"type": 5}}, f"json: cannot unmarshal number into {PLACE}.items of type string", id="below"
        ),
        pytest.param(
            {"additionalProperties": {"items": {"items": {"required": "a"}}}},
            f"json: cannot unmarshal string into {PLACE}.additionalProperties of type []string",
            id="far-below",
        ),
        pytest.param(
            {"items": ["a"]}, f"json: cannot unmarshal string into {PLACE}.items of type v1.JSONSchemaProps", id="one"
        ),
    ],
)
def test_invalid_values_of_fields_that_are_a_schema_or_another_value(given, problem):
    with pytest.raises(WrongType) as refused:
        decoded(given)
    assert str(refused.value) == problem


def test_null_in_a_map_is_the_zero_value():
    found = decode(CONFIG_MAP, {"data": {"a": None}, "binaryData": {"b": None}}, [])
    assert (found["data"], found["binaryData"]) == ({"a": ""}, {"b": ""})


def test_the_zero_time_is_encoded_as_null():
    pod = decode(SCHEMAS.of_kind("", "v1", "Pod"), {"status": {"startTime": "0001-01-01T00:00:00Z"}}, [])
    assert pod["status"] == {"startTime": None}
