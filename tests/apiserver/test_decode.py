"""Decoding of fields with alternative types, of null and of zero times."""

import pytest

from fakekube.apiserver.schema.decode import decode
from fakekube.apiserver.schema.wrongtype import WrongType
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
            {"items": {"type": 5}}, f"json: cannot unmarshal number into {PLACE}.items.type of type string", id="below"
        ),
        pytest.param(
            {"additionalProperties": {"items": {"items": {"required": "a"}}}},
            f"json: cannot unmarshal string into {PLACE}.additionalProperties.items.items.required of type []string",
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


META = "Go struct field ObjectMeta.metadata"
PORT = "Go struct field ServicePort.spec.ports.targetPort"
SUFFIX = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"


def limits(cpu):
    return {"spec": {"containers": [{"name": "a", "resources": {"limits": {"cpu": cpu}}}]}}


def port(target):
    return {"spec": {"ports": [{"port": 1, "targetPort": target}]}}


#: A kind, what is in its object, and why Go's decoder does not take it.
WRONG = [
    ("", "ConfigMap", {"binaryData": {"a": 1}}, "json: cannot unmarshal number into Go struct field ConfigMap.binaryData of type []uint8"),
    ("", "ConfigMap", {"binaryData": {"a": "*"}}, "illegal base64 data at input byte 0"),
    ("", "ConfigMap", {"metadata": {"creationTimestamp": 1}}, f"json: cannot unmarshal number into {META}.creationTimestamp of type string"),
    ("", "ConfigMap", {"metadata": {"creationTimestamp": "x"}}, 'parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"'),
    ("", "ConfigMap", {"metadata": {"deletionGracePeriodSeconds": 1.0}}, f"json: cannot unmarshal number 1.0 into {META}.deletionGracePeriodSeconds of type int64"),
    ("", "ConfigMap", {"metadata": {"deletionGracePeriodSeconds": 2**63}}, f"json: cannot unmarshal number 9223372036854775808 into {META}.deletionGracePeriodSeconds of type int64"),
    ("", "ConfigMap", {"metadata": {"deletionGracePeriodSeconds": True}}, f"json: cannot unmarshal bool into {META}.deletionGracePeriodSeconds of type int64"),
    ("coordination.k8s.io", "Lease", {"spec": {"renewTime": 1}}, "json: cannot unmarshal number into Go struct field LeaseSpec.spec.renewTime of type string"),
    ("coordination.k8s.io", "Lease", {"spec": {"leaseDurationSeconds": 2**31}}, "json: cannot unmarshal number 2147483648 into Go struct field LeaseSpec.spec.leaseDurationSeconds of type int32"),
    ("", "Service", port(1.5), f"json: cannot unmarshal number 1.5 into {PORT} of type int32"),
    ("", "Service", port(True), f"json: cannot unmarshal bool into {PORT} of type int32"),
    ("", "Service", port({}), f"json: cannot unmarshal object into {PORT} of type int32"),
    ("", "Pod", limits(True), SUFFIX),
    ("", "Pod", limits("1x"), SUFFIX),
    ("", "Pod", limits("1.1.1"), SUFFIX),
    ("", "Pod", limits(""), SUFFIX),
    ("", "Pod", limits("1e200"), "unable to parse quantity's suffix"),
    ("apiextensions.k8s.io", "CustomResourceDefinition", definition({"maximum": "x"}), "json: cannot unmarshal string into Go struct field JSONSchemaProps.spec.versions.schema.openAPIV3Schema.maximum of type float64"),
]  # fmt: skip


@pytest.mark.parametrize(("group", "kind", "given", "problem"), WRONG)
def test_a_value_of_the_wrong_type(group, kind, given, problem):
    schema = SCHEMAS.of_kind(group, "v1", kind)
    with pytest.raises(WrongType) as caught:
        decode(schema, given, [])
    assert str(caught.value) == problem


@pytest.mark.parametrize(
    ("cpu", "stored"),
    [("1", "1"), (1, "1"), (0.5, "500m"), ("1e3", "1e3"), ("1024Mi", "1Gi"), ("0.5Ki", "512"), ("1500m", "1500m"), ("0", "0"), ("+1", "+1")],
)  # fmt: skip
def test_a_quantity_is_stored_in_its_canonical_form(cpu, stored):
    found = decode(SCHEMAS.of_kind("", "v1", "Pod"), limits(cpu), [])
    assert found["spec"]["containers"][0]["resources"]["limits"]["cpu"] == stored
