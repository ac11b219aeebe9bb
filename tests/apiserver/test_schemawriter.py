"""Schemas of built-in types, one field at a time (kube-openapi `generators/openapi.go`)."""

import pytest

from fakekube.apiserver.openapi.schemawriter import SchemaWriter, plain, reference
from fakekube.apiserver.schema.model import Schema

TEXT, NUMBER = Schema("string"), Schema("int32")
META = "io.k8s.apimachinery.pkg.apis.meta.v1"
PARTS = {2: "#/definitions/", 3: "#/components/schemas/"}


def written(version, schema, kinds=()):
    """The schema of a type, and the names of the types that it needs."""
    needed = []
    return SchemaWriter(version, needed.append).type(schema, kinds), needed


def field(version, schema, name="f", of=""):
    node, needed = written(version, Schema("object", name=of, make_fields=lambda: {name: schema}))
    return node["properties"][name], needed


@pytest.mark.parametrize(
    ("type", "form"),
    [
        ("string", {"type": "string"}),
        ("boolean", {"type": "boolean"}),
        ("int32", {"type": "integer", "format": "int32"}),
        ("int64", {"type": "integer", "format": "int64"}),
        ("integer", {"type": "integer"}),
        ("number", {"type": "number"}),
        ("double", {"type": "number", "format": "double"}),
        ("bytes", {"type": "string", "format": "byte"}),
        ("any", {"type": "object"}),
    ],
)
def test_scalars(type, form):
    for version in (2, 3):
        assert field(version, Schema(type)) == (form, [])
        listed = Schema("list", items=Schema(type))
        assert field(version, listed) == ({"type": "array", "items": form}, [])
        assert field(version, Schema("map", values=Schema(type)))[0]["additionalProperties"] == form


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize(
    ("schema", "name"),
    [
        (Schema("quantity"), "io.k8s.apimachinery.pkg.api.resource.Quantity"),
        (Schema("time"), f"{META}.Time"),
        (Schema("microtime"), f"{META}.MicroTime"),
        (Schema("int-or-string"), "io.k8s.apimachinery.pkg.util.intstr.IntOrString"),
        (Schema("object", name="core.v1.Pod"), "io.k8s.api.core.v1.Pod"),
        (Schema("object", name="meta.v1.ObjectMeta"), f"{META}.ObjectMeta"),
    ],
)
def test_types_with_a_name_are_references_and_are_needed(version, schema, name):
    assert field(version, schema) == ({"$ref": PARTS[version] + name}, [name])
    assert reference(name, version) == {"$ref": PARTS[version] + name}


@pytest.mark.parametrize(
    ("name", "in_2", "in_3"),
    [
        (
            "io.k8s.apimachinery.pkg.api.resource.Quantity",
            {"type": "string"},
            {"oneOf": [{"type": "string"}, {"type": "number"}]},
        ),
        (
            "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
            {"type": "string", "format": "int-or-string"},
            {"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]},
        ),
        (f"{META}.Time", *[{"type": "string", "format": "date-time"}] * 2),
        (f"{META}.MicroTime", *[{"type": "string", "format": "date-time"}] * 2),
        (f"{META}.FieldsV1", *[{"type": "object"}] * 2),
        ("io.k8s.apimachinery.pkg.runtime.RawExtension", *[{"type": "object"}] * 2),
        ("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON", {}, {}),
        ("io.k8s.api.core.v1.Pod", None, None),
    ],
)
def test_types_without_fields(name, in_2, in_3):
    assert (plain(name, 2), plain(name, 3)) == (in_2, in_3)


@pytest.mark.parametrize(
    ("schema", "marks"),
    [
        (Schema("list", items=TEXT, list_type="set"), {"x-kubernetes-list-type": "set"}),
        (
            Schema("list", items=TEXT, list_type="map", keys=("b", "a")),
            {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["b", "a"]},
        ),
        (
            Schema("list", items=TEXT, patch_strategy=frozenset({"retainKeys", "merge"}), merge_key="k"),
            {"x-kubernetes-patch-strategy": "merge,retainKeys", "x-kubernetes-patch-merge-key": "k"},
        ),
        (Schema("map", values=TEXT, map_type="atomic"), {"x-kubernetes-map-type": "atomic"}),
        (Schema("bytes", map_type="atomic"), {"x-kubernetes-list-type": "atomic"}),
        (Schema("object", name="core.v1.Pod", map_type="atomic"), {}),
        (Schema("any", map_type="atomic"), {}),
        (Schema("object", name="core.v1.Pod", map_type="granular"), {"x-kubernetes-map-type": "granular"}),
    ],
)
def test_the_extensions_of_a_field(schema, marks):
    node, _ = field(2, schema)
    assert {key: value for key, value in node.items() if key.startswith("x-")} == marks


@pytest.mark.parametrize(
    ("of", "name", "schema", "in_3"),
    [
        ("", "f", Schema("string", default="x"), {"default": "x", "type": "string"}),
        ("core.v1.ServicePort", "protocol", TEXT, {"default": "TCP"}),
        ("core.v1.ServicePort", "protocol", Schema("string", default="x"), {"default": "TCP"}),
        ("core.v1.Taint", "key", TEXT, {"default": ""}),
        ("core.v1.Taint", "key", Schema("string", default="x"), {"default": "x"}),
        ("core.v1.Taint", "key", NUMBER, {"default": 0}),
        ("core.v1.Taint", "key", Schema("double"), {"default": 0}),
        ("core.v1.Taint", "key", Schema("boolean"), {"default": False}),
        ("core.v1.Taint", "key", Schema("object", name="core.v1.Pod"), {"default": {}}),
        ("core.v1.Taint", "value", TEXT, {}),
    ],
)
def test_defaults_are_published_in_version_3(of, name, schema, in_3):
    found, before = field(3, schema, name, of)[0], field(2, schema, name, of)[0]
    assert {key: found[key] for key in in_3} == in_3
    assert ("default" in found, "default" in before) == ("default" in in_3, False)
    if "$ref" in before:
        assert found["allOf"] == [{"$ref": PARTS[3] + "io.k8s.api.core.v1.Pod"}]
        assert "$ref" not in found


def test_keywords_come_before_a_reference_in_version_2():
    pod = Schema("object", name="core.v1.Pod")
    node, _ = field(2, pod, "spec", "core.v1.Pod")
    assert list(node) == ["description", "$ref"]
    assert field(3, pod)[0] == {"$ref": PARTS[3] + "io.k8s.api.core.v1.Pod"}


def test_the_values_of_an_enum_are_listed_and_described():
    node, _ = field(2, TEXT, "effect", "core.v1.Taint")
    assert node["enum"] == ["NoExecute", "NoSchedule", "PreferNoSchedule"]
    shown = '\n\nPossible enum values:\n - `"NoExecute"`\n - `"NoSchedule"`\n - `"PreferNoSchedule"`'
    assert node["description"].endswith(shown)
    listed, _ = field(2, Schema("list", items=TEXT), "effect", "core.v1.Taint")
    assert listed["items"] == {"type": "string", "enum": ["NoExecute", "NoSchedule", "PreferNoSchedule"]}


def test_json_values_have_the_type_that_the_go_struct_has():
    raw = "io.k8s.apimachinery.pkg.runtime.RawExtension"
    assert field(2, Schema("any"), "object", "meta.v1.WatchEvent")[1] == [raw]
    assert field(2, Schema("list", items=Schema("any")), "object", "meta.v1.WatchEvent")[1] == [raw]


KINDS = [{"group": "", "version": "v1", "kind": "Thing"}]


def test_a_type_has_its_parts_in_order():
    schema = Schema(
        "object",
        name="core.v1.Thing",
        make_fields=lambda: {"b": TEXT, "a": NUMBER},
        required=frozenset({"b", "a"}),
        map_type="atomic",
    )
    node, _ = written(2, schema, KINDS)
    order = ["type", "required", "properties", "x-kubernetes-group-version-kind", "x-kubernetes-map-type"]
    assert list(node) == order
    assert (node["type"], node["required"], node["x-kubernetes-map-type"]) == ("object", ["a", "b"], "atomic")
    assert list(node["properties"]) == ["a", "apiVersion", "b", "kind"]
    assert node["x-kubernetes-group-version-kind"] == KINDS
    assert written(2, Schema("object", name="core.v1.Thing"))[0] == {"type": "object"}
    assert list(written(2, Schema("object", name="core.v1.Pod"))[0]) == ["description", "type"]


def test_a_watch_event_is_a_kind_without_the_fields_of_one():
    node, _ = written(2, Schema("object", name="meta.v1.WatchEvent", make_fields=lambda: {"type": TEXT}), KINDS)
    assert list(node["properties"]) == ["type"]
    assert node["x-kubernetes-group-version-kind"] == KINDS


@pytest.mark.parametrize(
    ("fields", "required", "expected"),
    [
        ("key effect more", "key effect", ["key", "effect"]),
        ("key effect", "key", ["key", "effect"]),
        ("key effect more", "key effect more", ["effect", "key", "more"]),
        ("key", "key", ["key"]),
        ("effect more", "more effect", ["effect", "more"]),
    ],
)
def test_required_fields_are_those_that_are_published_unless_the_version_differs(fields, required, expected):
    """core.v1.Taint requires key and effect, in this order."""
    schema = Schema(
        "object",
        name="core.v1.Taint",
        make_fields=lambda: dict.fromkeys(fields.split(), TEXT),
        required=frozenset(required.split()),
    )
    assert written(2, schema)[0]["required"] == expected


def test_a_type_says_which_of_its_fields_are_alternatives():
    unions = written(2, Schema("object", name="core.v1.PodSchedulingGroup"))[0]["x-kubernetes-unions"]
    assert unions == [{"fields-to-discriminateBy": {"podGroupName": "PodGroupName"}}]


def test_items_and_values_of_any_type_are_empty():
    assert field(2, Schema("list")) == ({"type": "array", "items": {}}, [])
    assert field(2, Schema("map")) == ({"type": "object", "additionalProperties": {}}, [])
