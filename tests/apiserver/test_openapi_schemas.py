"""The schemas of OpenAPI documents: descriptions, defaults, enums, and the schemas of custom kinds."""

import pytest

from fakekube.apiserver.openapi import descriptions
from tests.apiserver.api import CRDS, definition

V3 = "/openapi/v3"
CORE = "io.k8s.api.core.v1"


def schemas(api, root="api/v1"):
    return api.ok("GET", f"{V3}/{root}")["components"]["schemas"]


def definitions(api):
    return api.ok("GET", "/openapi/v2")["definitions"]


@pytest.mark.slow
def test_wd_109_types_and_their_fields_are_described(api):
    found = schemas(api)
    assert found[f"{CORE}.Pod"]["description"] == (
        "Pod is a collection of containers that can run on a host. This resource is created by clients and scheduled "
        "onto hosts."
    )
    assert found[f"{CORE}.PodSpec"]["properties"]["nodeName"]["description"].startswith(
        "NodeName indicates in which node this pod is scheduled. If empty, this pod is a candidate for scheduling by "
        "the scheduler defined in schedulerName. Once this field is set, "
    )
    pod = found[f"{CORE}.Pod"]["properties"]
    assert pod["apiVersion"]["description"].startswith("APIVersion defines the versioned schema")
    assert pod["metadata"]["description"].startswith("Standard object's metadata. More info: https://")
    assert definitions(api)[f"{CORE}.Pod"]["description"] == found[f"{CORE}.Pod"]["description"]


@pytest.mark.slow
def test_most_types_and_fields_are_described(api):
    found = definitions(api)
    types = [node for node in found.values() if "properties" in node]
    fields = [field for node in types for field in node["properties"].values()]
    assert sum("description" in node for node in types) >= 0.99 * len(types)
    assert sum("description" in field for field in fields) >= 0.97 * len(fields)


def test_fields_whose_names_are_keywords_of_python_are_described():
    assert descriptions.of_type("meta.v1.ListMeta").fields["continue"].startswith("continue may be set if")
    assert "x-kubernetes-validations" in descriptions.of_type("apiextensions.v1.JSONSchemaProps").fields


def test_an_unknown_type_has_no_descriptions():
    assert descriptions.of_type("none.v1.None") == descriptions.Described()
    assert descriptions.of_type("core.v1.None") == descriptions.Described()


WORDS = "word " * 15 + "end"  # 78 characters


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        pytest.param([WORDS, "next"], f"{WORDS} next", id="a-wrapped-line"),
        pytest.param(["short", "next"], "short\n\nnext", id="paragraphs-without-a-blank-line"),
        pytest.param(["short", "", "next", ""], "short\n\nnext", id="paragraphs-with-a-blank-line"),
        pytest.param(["list:", "  - one", "  - two"], "list:\n  - one\n  - two", id="indented-lines"),
        pytest.param([], "", id="nothing"),
    ],
)
def test_lines_of_a_description(lines, text):
    assert descriptions.unwrapped(lines) == text


# --- the form of built-in types ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("type", "field", "default"),
    [
        ("Pod", "metadata", {}),
        ("Container", "name", ""),
        ("ContainerPort", "protocol", "TCP"),
        ("ContainerStatus", "ready", False),
        ("ContainerPort", "containerPort", 0),
        ("Container", "image", None),
        ("PodSpec", "affinity", None),
    ],
)
def test_defaults_are_those_of_the_go_structs(api, type, field, default):
    assert schemas(api)[f"{CORE}.{type}"]["properties"][field].get("default") == default


def test_f8_items_and_values_have_no_defaults(api):
    """F8: an element of a list or a map is a plain reference, or a type."""
    found = schemas(api)[f"{CORE}.PodSpec"]["properties"]
    container = {"$ref": f"#/components/schemas/{CORE}.Container"}
    assert found["containers"]["items"] == container
    assert found["nodeSelector"]["additionalProperties"] == {"type": "string"}
    assert "default" not in schemas(api)[f"{CORE}.Secret"]["properties"]["data"]["additionalProperties"]


def test_f8_a_field_of_any_value_is_not_said_to_be_atomic(api):
    event = schemas(api)["io.k8s.apimachinery.pkg.apis.meta.v1.WatchEvent"]["properties"]["object"]
    assert event["allOf"] == [{"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.runtime.RawExtension"}]
    assert "x-kubernetes-map-type" not in event


@pytest.mark.slow
def test_keywords_stand_beside_a_reference_in_version_2_only(api):
    spec = f"{CORE}.PodSpec"
    in_3 = schemas(api)[f"{CORE}.Pod"]["properties"]["spec"]
    in_2 = definitions(api)[f"{CORE}.Pod"]["properties"]["spec"]
    assert in_3["allOf"] == [{"$ref": f"#/components/schemas/{spec}"}]
    assert in_2 == {"description": in_3["description"], "$ref": f"#/definitions/{spec}"}


def test_enums_are_listed_in_the_description(api):
    field = schemas(api)[f"{CORE}.Container"]["properties"]["imagePullPolicy"]
    assert field["enum"] == ["Always", "IfNotPresent", "Never"]
    assert '\n\nPossible enum values:\n - `"Always"`' in field["description"]
    families = schemas(api)[f"{CORE}.ServiceSpec"]["properties"]["ipFamilies"]
    assert families["items"]["enum"] == ["", "IPv4", "IPv6"]
    assert "enum" not in families


def test_required_fields_have_the_order_of_the_go_struct(api):
    found = schemas(api, "apis/admissionregistration.k8s.io/v1")
    webhook = found["io.k8s.api.admissionregistration.v1.ValidatingWebhook"]
    assert webhook["required"] == ["name", "clientConfig", "sideEffects", "admissionReviewVersions"]


@pytest.mark.slow
def test_types_of_single_values(api):
    quantity = "io.k8s.apimachinery.pkg.api.resource.Quantity"
    assert schemas(api)[quantity]["oneOf"] == [{"type": "string"}, {"type": "number"}]
    assert definitions(api)[quantity]["type"] == "string"
    raw = schemas(api, "apis/apps/v1")["io.k8s.api.apps.v1.ControllerRevision"]["properties"]["data"]
    assert raw["allOf"] == [{"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.runtime.RawExtension"}]


@pytest.mark.slow
def test_types_that_all_groups_register(api):
    def kinds(found):
        options = found["io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"]
        return [(one["group"], one["version"]) for one in options["x-kubernetes-group-version-kind"]]

    assert kinds(schemas(api)) == [("", "v1")]
    assert kinds(schemas(api, "apis/apps/v1")) == [("", "v1"), ("apps", "v1")]
    assert ("extensions", "v1beta1") in kinds(definitions(api))


def test_unions(api):
    found = schemas(api)[f"{CORE}.SeccompProfile"]["x-kubernetes-unions"]
    assert found == [{"discriminator": "type", "fields-to-discriminateBy": {"localhostProfile": "LocalhostProfile"}}]


# --- custom kinds ------------------------------------------------------------------------------------------------------


def published(api, schema, version=3, **more):
    made = definition()
    made["spec"]["versions"][0] |= {"schema": {"openAPIV3Schema": schema}, **more}
    api.ok("POST", CRDS, made)
    found = schemas(api, "apis/example.com/v1") if version == 3 else definitions(api)
    return found["com.example.v1.Backup"], found["com.example.v1.BackupList"]


def spec(**properties):
    return {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}


def test_a13_a_custom_kind_and_its_list_are_described(api):
    kind, listing = published(api, {"type": "object", "description": "Copies of data."})
    assert kind["description"] == "Copies of data."
    assert kind["properties"]["kind"]["description"].startswith("Kind is a string value")
    assert kind["properties"]["metadata"]["description"].startswith("Standard object's metadata.")
    assert listing["description"] == "BackupList is a list of Backup"
    assert listing["properties"]["items"]["description"].startswith("List of backups. More info: https://")
    assert listing["properties"]["items"]["items"] == {"$ref": "#/components/schemas/com.example.v1.Backup"}


@pytest.mark.slow
@pytest.mark.parametrize("version", [2, 3])
def test_selectable_fields(api, version):
    schema = spec(color={"type": "string"})
    for found in published(api, schema, version, selectableFields=[{"jsonPath": ".spec.color"}]):
        assert found["x-kubernetes-selectable-fields"] == [{"fieldPath": "spec.color"}]


@pytest.mark.slow
def test_a23_version_2_has_no_fields_where_the_root_keeps_unknown_ones(api):
    schema = {**spec(), "description": "Any.", "x-kubernetes-preserve-unknown-fields": True}
    kind, _ = published(api, schema, 2)
    assert kind.keys() == {"type", "x-kubernetes-group-version-kind"}
    assert schemas(api, "apis/example.com/v1")["com.example.v1.Backup"]["properties"].keys() == {
        "apiVersion", "kind", "metadata", "spec",
    }  # fmt: skip


ANY_OF = [{"type": "integer"}, {"type": "string"}]
EITHER = {"x-kubernetes-int-or-string": True}
KEEPS = {"x-kubernetes-preserve-unknown-fields": True}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("written", "in_3", "in_2"),
    [
        pytest.param(EITHER, {**EITHER, "anyOf": ANY_OF}, EITHER, id="int-or-string"),
        pytest.param(
            {**EITHER, "anyOf": [*ANY_OF], "pattern": "a"}, {**EITHER, "anyOf": ANY_OF, "pattern": "a"},
            {**EITHER, "pattern": "a"}, id="int-or-string-in-its-form",
        ),
        pytest.param(
            {**EITHER, "anyOf": [{"pattern": "a"}]},
            {**EITHER, "anyOf": [{"pattern": "a"}], "allOf": [{"anyOf": ANY_OF}]}, EITHER, id="int-or-string-and-more",
        ),
        pytest.param(
            {"type": "string", "nullable": True, "format": "date-time"},
            {"type": "string", "nullable": True, "format": "date-time"}, {"format": "date-time"}, id="nullable",
        ),
        pytest.param(
            {"type": "object", "properties": {"a": {"type": "string"}}, **KEEPS},
            {"type": "object", "properties": {"a": {"type": "string"}}, **KEEPS}, KEEPS, id="keeps-unknown-fields",
        ),
        pytest.param(
            {"type": "object", "required": ["a", "b"], "properties": {"a": {"type": "string"}, "b": {"type": "string", "nullable": True}}},
            {"type": "object", "required": ["a", "b"], "properties": {"a": {"type": "string"}, "b": {"type": "string", "nullable": True}}},
            {"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}, "b": {}}},
            id="a-required-field-that-is-nullable",
        ),
        pytest.param(
            {"type": "array", "items": {"type": "string"}, "nullable": True},
            {"type": "array", "items": {"type": "string"}, "nullable": True}, {}, id="a-nullable-list",
        ),
        pytest.param(
            {"type": "string", "description": "", "title": "t", "default": "a"},
            {"type": "string", "title": "t", "default": "a"}, {"type": "string", "title": "t"}, id="empty-keywords",
        ),
        pytest.param(
            {"type": "object", "additionalProperties": {"type": "string", "nullable": True}},
            {"type": "object", "additionalProperties": {"type": "string", "nullable": True}},
            {"type": "object", "additionalProperties": {}}, id="nullable-values",
        ),
    ],
)  # fmt: skip
def test_a14_the_schema_of_a_custom_field(api, written, in_3, in_2):
    kind, _ = published(api, spec(field=written))
    assert kind["properties"]["spec"]["properties"]["field"] == in_3
    assert definitions(api)["com.example.v1.Backup"]["properties"]["spec"]["properties"]["field"] == in_2


@pytest.mark.slow
def test_an_embedded_resource_has_the_fields_of_one(api):
    embedded = {"type": "object", "x-kubernetes-embedded-resource": True, "properties": {"spec": {"type": "object"}}}
    kind, _ = published(api, spec(one=embedded, many={"type": "array", "items": {**embedded, **KEEPS}}))
    one = kind["properties"]["spec"]["properties"]["one"]
    assert one["required"] == ["kind", "apiVersion"]
    assert one["properties"].keys() == {"apiVersion", "kind", "metadata", "spec"}
    assert one["properties"]["kind"]["description"].startswith("kind is a string value representing the type of this")
    in_2 = definitions(api)["com.example.v1.Backup"]["properties"]["spec"]["properties"]
    assert in_2["one"]["required"] == ["kind", "apiVersion"]
    assert in_2["many"]["items"] == {"x-kubernetes-embedded-resource": True, **KEEPS}
