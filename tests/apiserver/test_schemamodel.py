"""Schemas: their Go types, the keys of their lists, and how the data of built-in kinds is read."""

import pytest

from fakekube.apiserver.schema.builtinschemas import BuiltinSchemas, minors, number
from fakekube.apiserver.schema.model import Schema

TEXT = Schema("string")
CONTAINER = Schema("object", name="core.v1.Container")


@pytest.mark.parametrize(
    ("schema", "go_type"),
    [
        (TEXT, "string"),
        (Schema("int32"), "int32"),
        (Schema("boolean"), "bool"),
        (Schema("bytes"), "[]uint8"),
        (Schema("quantity"), "resource.Quantity"),
        (Schema("time"), "v1.Time"),
        (Schema("microtime"), "v1.MicroTime"),
        (Schema("int-or-string"), "intstr.IntOrString"),
        (Schema("double"), "float64"),
        (Schema("any"), "interface {}"),
        (CONTAINER, "v1.Container"),
        (Schema("list", items=CONTAINER), "[]v1.Container"),
        (Schema("list", items=Schema("list", items=TEXT)), "[][]string"),
        (Schema("list", items=Schema("any")), "[]v1.JSON"),
        (Schema("list"), "[]v1.JSON"),
        (Schema("map", values=TEXT), "map[string]string"),
        (Schema("map", values=Schema("bytes")), "map[string][]uint8"),
        (Schema("map"), "map[string]interface {}"),
    ],
)
def test_the_go_type_of_a_schema(schema, go_type):
    assert schema.go_type == go_type


MERGE = frozenset({"merge"})


@pytest.mark.parametrize(
    ("options", "keys"),
    [
        ({}, None),
        ({"list_type": "atomic"}, None),
        ({"list_type": "set"}, ()),
        ({"list_type": "map", "keys": ("a", "b")}, ("a", "b")),
        ({"patch_strategy": MERGE}, ()),
        ({"patch_strategy": MERGE, "merge_key": "a"}, ("a",)),
        ({"patch_strategy": frozenset({"replace"}), "merge_key": "a"}, None),
        ({"list_type": "atomic", "patch_strategy": MERGE, "merge_key": "a"}, None),
        ({"list_type": "map", "keys": ("b",), "patch_strategy": MERGE, "merge_key": "a"}, ("b",)),
    ],
)
def test_the_keys_of_an_associative_list(options, keys):
    assert Schema("list", items=TEXT, **options).item_keys == keys


DATA = {
    "types": {
        "core.v1.Thing": [
            ["1.30", {"old": "string"}, []],
            ["1.32", {
                "text": "string", "small": "int32|default=5", "either": "string|enum=A,B",
                "list": "[]string", "set": "[]string|set", "fixed": "[]string|atomic",
                "items": "[]core.v1.Item|map=a,b|patch=merge,retainKeys|key=a", "map": "{}string",
                "whole": "core.v1.Item|atomic", "plain": "core.v1.Item", "nested": "{}[]core.v1.Item",
                "kinds": "[]core.v1.Other",
            }, ["text"]],
            ["1.34", None],
        ],
        "core.v1.Item": [["1.30", {"a": "string", "b": "int32"}, ["a"], "atomic"]],
        "core.v1.Other": [["1.30", {"a": "string"}, []]],
    },
    "kinds": {"/v1/Thing": "core.v1.Thing", "apps/v1/Other": "core.v1.Other"},
}  # fmt: skip


def thing(version="1.33"):
    return BuiltinSchemas(DATA, version).type("core.v1.Thing")


@pytest.mark.parametrize(
    ("field", "attributes"),
    [
        ("text", {"type": "string", "default": None}),
        ("small", {"type": "int32", "default": 5}),
        ("either", {"type": "string", "enum": ("A", "B")}),
        ("list", {"type": "list", "item_keys": None, "list_type": ""}),
        ("set", {"list_type": "set", "item_keys": ()}),
        ("fixed", {"list_type": "atomic", "item_keys": None}),
        (
            "items",
            {"list_type": "map", "keys": ("a", "b"), "patch_strategy": frozenset({"merge", "retainKeys"}), "merge_key": "a"},
        ),
        ("map", {"type": "map", "map_type": ""}),
        ("whole", {"type": "object", "name": "core.v1.Item", "map_type": "atomic", "required": frozenset("a")}),
        ("plain", {"type": "object", "name": "core.v1.Item", "map_type": "atomic"}),
    ],
)  # fmt: skip
def test_the_schema_of_a_field(field, attributes):
    found = thing().fields[field]
    assert {name: getattr(found, name) for name in attributes} == attributes


def test_the_schemas_below_a_field():
    fields = thing().fields
    assert fields["list"].items.type == fields["map"].values.type == "string"
    assert set(fields["items"].items.fields) == set(fields["whole"].fields) == {"a", "b"}
    assert fields["nested"].values.items.name == "core.v1.Item"
    assert set(fields["kinds"].items.fields) == {"apiVersion", "kind", "a"}
    assert set(fields["kinds"].items.fields) - set(BuiltinSchemas(DATA, "1.33").type("core.v1.Other").fields) == {
        "apiVersion", "kind",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("version", "fields"),
    [("1.29", None), ("1.30", {"old"}), ("1.31", {"old"}), ("1.32", 12), ("1.33", 12), ("1.34", None), ("1.40", None)],
)
def test_a_type_is_that_of_the_latest_version_before(version, fields):
    schemas = BuiltinSchemas(DATA, version)
    found = schemas.of_kind("", "v1", "Thing")
    kinds = [kind for _, _, kind, _ in schemas.kinds()]
    if fields is None:
        assert found is None
        assert "Thing" not in kinds
        with pytest.raises(KeyError):
            schemas.type("core.v1.Thing")
        return
    assert (set(found.fields) if isinstance(fields, set) else len(found.fields)) == fields
    assert ("", "v1", "Thing", "core.v1.Thing") in list(schemas.kinds())
    assert schemas.type("core.v1.Thing") is found
    assert schemas.of_kind("", "v2", "Thing") is None


def test_versions_are_numbers():
    assert number("1.9") < number("1.10")
    assert minors(DATA) == ["1.30", "1.32", "1.34"]
