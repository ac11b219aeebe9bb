"""Validation of the schemas of versions: structural and supported."""

from typing import Any

import pytest

from tests.apiserver.api import CRDS, Api, definition

Object = dict[str, Any]

TEXT = {"type": "string"}


def spec(node: Object) -> Object:
    return {"type": "object", "properties": {"spec": node}}


def with_schema(schema: Object | None) -> Object:
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return definition(versions=[version])


#: Schemas with the paths and messages of their errors.
REFUSED: list[Any] = [
    pytest.param(
        spec({"properties": {"a": TEXT}}),
        [(".properties[spec].type", "Required value: must not be empty for specified object fields")],
        id="no type",
    ),
    pytest.param(
        {"type": "array", "items": TEXT},
        [(".type", 'Invalid value: "array": must be object at the root')],
        id="root array",
    ),
    pytest.param(
        {"properties": {"a": TEXT}}, [(".type", "Required value: must not be empty at the root")], id="no root type"
    ),
    pytest.param(
        spec({"type": "text"}),
        [
            (
                ".properties[spec].type",
                'Unsupported value: "text": supported values: "array", "boolean", "integer", "number", "object", "string"',
            )
        ],
        id="unknown type",
    ),
    pytest.param(
        spec({"type": "array"}), [(".properties[spec].items", "Required value: must be specified")], id="array no items"
    ),
    pytest.param(
        spec({"type": "array", "items": [TEXT]}),
        [(".properties[spec].items", "Forbidden: items must be a schema object and not an array")],
        id="items list",
    ),
    pytest.param(
        spec({"type": "object", "properties": {"a": TEXT}, "additionalProperties": TEXT}),
        [
            (
                ".properties[spec].additionalProperties",
                "Forbidden: additionalProperties and properties are mutual exclusive",
            )
        ],
        id="props and additional",
    ),
    pytest.param(
        spec({"type": "array", "items": TEXT, "uniqueItems": True}),
        [
            (
                ".properties[spec].uniqueItems",
                "Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
            )
        ],
        id="uniqueItems",
    ),
    pytest.param(spec({"$ref": "#/x"}), [(".properties[spec].$ref", "Forbidden: $ref is not supported")], id="ref"),
    pytest.param(
        spec({"type": "object", "definitions": {"a": TEXT}}),
        [(".properties[spec].definitions", "Forbidden: definitions is not supported")],
        id="definitions",
    ),
    pytest.param(
        spec({"type": "object", "definitions": {"a": {"type": "string", "uniqueItems": True}}}),
        [
            (".properties[spec].definitions", "Forbidden: definitions is not supported"),
            (
                ".properties[spec].definitions[a].uniqueItems",
                "Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
            ),
        ],
        id="in definitions",
    ),
    pytest.param(
        spec({"type": "object", "patternProperties": {"a": TEXT}}),
        [(".properties[spec].patternProperties", "Forbidden: patternProperties is not supported")],
        id="patternProperties",
    ),
    pytest.param(
        spec({"type": "object", "dependencies": {"a": ["b"]}}),
        [(".properties[spec].dependencies", "Forbidden: dependencies is not supported")],
        id="dependencies",
    ),
    pytest.param(
        spec({"type": "string", "id": "a", "$schema": "x"}),
        [(".properties[spec].id", "Forbidden: id is not supported")],
        id="id",
    ),
    pytest.param(
        spec({"type": "array", "items": TEXT, "additionalItems": TEXT}),
        [(".properties[spec].additionalItems", "Forbidden: additionalItems is not supported")],
        id="additionalItems",
    ),
    pytest.param(
        spec({"type": "object", "properties": {"a": TEXT}, "allOf": [{"properties": {"a": TEXT}}]}),
        [(".properties[spec].allOf[0].properties[a].type", "Forbidden: must be empty to be structural")],
        id="nested type in allOf",
    ),
    pytest.param(
        spec(
            {
                "type": "string",
                "not": {"description": "x", "default": "a", "nullable": True, "title": "t", "pattern": "a"},
            }
        ),
        [
            (".properties[spec].not.default", "Forbidden: must be undefined to be structural"),
            (".properties[spec].not.description", "Forbidden: must be empty to be structural"),
            (".properties[spec].not.nullable", "Forbidden: must be false to be structural"),
            (".properties[spec].not.title", "Forbidden: must be empty to be structural"),
        ],
        id="not with description, default",
    ),
    pytest.param(
        spec({"type": "object", "anyOf": [{"x-kubernetes-preserve-unknown-fields": True}]}),
        [
            (
                ".properties[spec].anyOf[0].x-kubernetes-preserve-unknown-fields",
                "Forbidden: must be false to be structural",
            )
        ],
        id="anyOf x-k",
    ),
    pytest.param(
        spec({"x-kubernetes-embedded-resource": True}),
        [
            (
                ".properties[spec].properties",
                "Required value: must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields",
            ),
            (".properties[spec].type", "Required value: must be object if x-kubernetes-embedded-resource is true"),
        ],
        id="embedded no type",
    ),
    pytest.param(
        spec({"type": "object", "x-kubernetes-embedded-resource": True}),
        [
            (
                ".properties[spec].properties",
                "Required value: must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields",
            )
        ],
        id="embedded no fields",
    ),
    pytest.param(
        spec({"type": "object", "x-kubernetes-preserve-unknown-fields": False}),
        [(".properties[spec].x-kubernetes-preserve-unknown-fields", "Invalid value: false: must be true or undefined")],
        id="preserve false",
    ),
    pytest.param(
        spec({"type": "object", "x-kubernetes-list-type": "set"}),
        [(".properties[spec].type", 'Invalid value: "object": must be array if x-kubernetes-list-type is specified')],
        id="list type on object",
    ),
    pytest.param(
        spec({"type": "array", "items": TEXT, "x-kubernetes-list-type": "x"}),
        [
            (
                ".properties[spec].x-kubernetes-list-type",
                'Unsupported value: "x": supported values: "atomic", "set", "map"',
            )
        ],
        id="list type unknown",
    ),
    pytest.param(
        spec({"type": "array", "items": TEXT, "x-kubernetes-list-map-keys": ["a"]}),
        [
            (
                ".properties[spec].x-kubernetes-list-type",
                "Required value: must be map if x-kubernetes-list-map-keys is non-empty",
            )
        ],
        id="map keys without type",
    ),
    pytest.param(
        spec(
            {"type": "array", "items": {"type": "object", "properties": {"a": TEXT}}, "x-kubernetes-list-type": "map"}
        ),
        [
            (
                ".properties[spec].x-kubernetes-list-map-keys",
                "Required value: must not be empty if x-kubernetes-list-type is map",
            )
        ],
        id="map keys missing",
    ),
    pytest.param(
        spec(
            {
                "type": "array",
                "items": {"type": "object", "properties": {"a": TEXT}},
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["a", "b", "a"],
            }
        ),
        [
            (
                ".properties[spec].x-kubernetes-list-map-keys",
                'Invalid value: ["a","b","a"]: entries must all be names of item properties',
            ),
            (
                ".properties[spec].x-kubernetes-list-map-keys",
                'Invalid value: ["a","b","a"]: must not contain duplicate entries',
            ),
            (
                ".properties[spec].items.properties[a].default",
                "Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property",
            ),
            (
                ".properties[spec].items.properties[a].default",
                "Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property",
            ),
        ],
        id="map keys unknown, dup, not required",
    ),
    pytest.param(
        spec(
            {
                "type": "array",
                "items": {"type": "object", "required": ["a"], "properties": {"a": {"type": "object"}}},
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["a"],
            }
        ),
        [
            (
                ".properties[spec].items.properties[a].type",
                'Invalid value: "object": must be a scalar type if parent array\'s x-kubernetes-list-type is map',
            )
        ],
        id="map key object",
    ),
    pytest.param(
        spec(
            {
                "type": "array",
                "items": {"type": "object", "nullable": True, "required": ["a"], "properties": {"a": TEXT}},
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["a"],
            }
        ),
        [(".properties[spec].items.nullable", "Forbidden: cannot be nullable when x-kubernetes-list-type is map")],
        id="map key nullable",
    ),
    pytest.param(
        spec(
            {"type": "array", "items": {"type": "object", "properties": {"a": TEXT}}, "x-kubernetes-list-type": "set"}
        ),
        [
            (
                ".properties[spec].items.x-kubernetes-map-type",
                "Invalid value: null: must be atomic as item of a list with x-kubernetes-list-type=set",
            )
        ],
        id="set of maps",
    ),
    pytest.param(
        spec({"type": "array", "items": {"type": "string", "nullable": True}, "x-kubernetes-list-type": "set"}),
        [(".properties[spec].items.nullable", "Forbidden: cannot be nullable when x-kubernetes-list-type is set")],
        id="set nullable",
    ),
    pytest.param(
        spec({"type": "object", "x-kubernetes-map-type": "set"}),
        [
            (
                ".properties[spec].x-kubernetes-map-type",
                'Unsupported value: "set": supported values: "atomic", "granular"',
            )
        ],
        id="map type",
    ),
    pytest.param(
        spec({"type": "string", "x-kubernetes-map-type": "atomic"}),
        [(".properties[spec].type", 'Invalid value: "string": must be object if x-kubernetes-map-type is specified')],
        id="map type on string",
    ),
    pytest.param(
        spec({"type": "string", "pattern": "(a"}),
        [
            (
                ".properties[spec].pattern",
                'Invalid value: "(a": must be a valid regular expression, but isn\'t: error parsing regexp: missing closing ): `(a`',
            )
        ],
        id="bad pattern",
    ),
    pytest.param(
        {
            "type": "object",
            "properties": {"metadata": {"type": "object", "properties": {"labels": {"type": "object"}}}},
        },
        [
            (
                ".properties[metadata]",
                "Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified",
            )
        ],
        id="metadata",
    ),
    pytest.param(
        {"type": "object", "properties": {"metadata": {"type": "object", "default": {}}}},
        [(".properties[metadata].default", "Forbidden: must not be set in top-level metadata")],
        id="metadata default",
    ),
    pytest.param(
        {"type": "object", "properties": {"metadata": TEXT}},
        [(".properties[metadata].type", 'Invalid value: "string": must be object')],
        id="metadata string",
    ),
    pytest.param(
        {"type": "object", "properties": {"apiVersion": {"type": "integer"}, "kind": {"type": "object"}}},
        [
            (".properties[apiVersion].type", 'Invalid value: "integer": must be string'),
            (".properties[kind].type", 'Invalid value: "object": must be string'),
        ],
        id="apiVersion int",
    ),
    pytest.param(
        {"type": "object", "nullable": True},
        [(".nullable", "Forbidden: nullable cannot be true at the root")],
        id="root nullable",
    ),
    pytest.param(
        spec(
            {
                "type": "object",
                "properties": {
                    "a": {"type": "string", "default": 1},
                    "b": {"type": "integer", "minimum": 3, "default": 1},
                    "c": {"type": "object", "properties": {"x": TEXT}, "default": {"z": 2, "y": 1}},
                },
            }
        ),
        [
            (
                ".properties[spec].properties[a].default",
                'Invalid value: "integer":  in body must be of type string: "integer"',
            ),
            (
                ".properties[spec].properties[b].default",
                "Invalid value: 1:  in body should be greater than or equal to 3",
            ),
            (".properties[spec].properties[c].default", 'Invalid value: {"y":1,"z":2}: must not have unknown fields'),
        ],
        id="default wrong",
    ),
    pytest.param(
        spec({"type": "string", "enum": ["a"], "default": "b"}),
        [(".properties[spec].default", 'Unsupported value: "b": supported values: "a"')],
        id="default enum",
    ),
]

TAKEN: list[Any] = [
    pytest.param(spec({"type": "object", "additionalProperties": False}), id="additionalProperties false"),
    pytest.param(
        spec({"type": "object", "allOf": [{"properties": {"b": {"minLength": 1}}}]}), id="allOf undeclared property"
    ),
    pytest.param(spec({"type": "string", "x-kubernetes-int-or-string": True}), id="int or string + type"),
    pytest.param(
        spec({"type": "array", "items": {"type": "array", "items": TEXT}, "x-kubernetes-list-type": "set"}),
        id="set of lists",
    ),
    pytest.param(
        {
            "type": "object",
            "properties": {"metadata": {"type": "object", "properties": {"name": {"type": "string", "maxLength": 5}}}},
        },
        id="metadata name ok",
    ),
    pytest.param({"type": "object", "default": {"apiVersion": "v1", "kind": "Backup"}}, id="root default"),
    pytest.param(
        {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True},
        id="root embedded",
    ),
    pytest.param(spec({"type": "object", "properties": {"a": {"type": "string", "default": None}}}), id="default null"),
    pytest.param(
        spec({"type": "array", "default": ["a"], "items": {"type": "string", "default": "a"}}),
        id="default in items of items",
    ),
    pytest.param(spec({"type": "string", "format": "xyz"}), id="format unknown"),
    pytest.param(spec({"type": "string", "enum": []}), id="empty enum"),
    pytest.param(spec({"type": "string", "enum": ["a", "a"]}), id="enum dup"),
    pytest.param(spec({"type": "integer", "minimum": 5, "maximum": 3}), id="min>max"),
    pytest.param(spec({"type": "string", "maxLength": -1}), id="neg maxLength"),
    pytest.param(spec({"type": "object", "properties": {"": TEXT}}), id="empty property name"),
    pytest.param(spec({"type": "object", "required": ["a", "a"]}), id="required dup/empty"),
]


def embedded(properties: Object) -> Object:
    """The schema of a spec with an embedded resource whose metadata have these properties."""
    meta = {"type": "object", "properties": properties}
    kind = {"apiVersion": {**TEXT, "default": "v1"}, "kind": {**TEXT, "default": "Thing"}, "metadata": meta}
    resource = {"type": "object", "x-kubernetes-embedded-resource": True, "properties": kind}
    return spec({"type": "object", "properties": {"emb": resource}})


META = ".properties[spec].properties[emb].properties[metadata]"
REFUSED += [
    pytest.param(
        embedded({"name": {"type": "string", "default": "a/b"}}),
        [
            (
                f"{META}.properties[name].default",
                'Invalid value: "a/b": must result in valid metadata: metadata.name: Invalid value: "a/b": may not contain '
                "'/'",
            )
        ],
        id="default name of an embedded resource",
    ),
    pytest.param(
        embedded({"labels": {"type": "object", "default": {"a": "b c"}, "additionalProperties": TEXT}}),
        [
            (
                f"{META}.properties[labels].default",
                'Invalid value: {"a":"b c"}: must result in valid metadata: metadata.labels: Invalid value: "b c": a valid '
                "label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end "
                "with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
                "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
            )
        ],
        id="default label of an embedded resource",
    ),
    pytest.param(
        embedded({"labels": {"type": "object", "default": {"a": 1}, "additionalProperties": TEXT}}),
        [
            (
                f"{META}.properties[labels].default",
                'Invalid value: {"a":1}: must result in valid metadata: metadata: Invalid value: {"labels":{"a":1}}: json: '
                "cannot unmarshal number into Go struct field ObjectMeta.labels of type string",
            )
        ],
        id="default label that is a number",
    ),
    pytest.param(
        embedded({"finalizers": {"type": "array", "items": {"type": "string", "default": "a b"}}}),
        [
            (
                f"{META}.properties[finalizers].items.default",
                'Invalid value: "a b": must result in valid metadata: metadata.finalizers: Invalid value: "a b": name part '
                "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
                "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
                "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
            )
        ],
        id="default finalizer of an embedded resource",
    ),
]


def resource(metadata: Object, **more: Any) -> Object:
    """An embedded resource with any fields, and its default."""
    default = {"apiVersion": "v1", "kind": "A", "metadata": metadata, **more}
    kept = {key: value for key, value in default.items() if value is not None}
    return {
        "type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True,
        "default": kept,
    }  # fmt: skip


NUMBER = 'Invalid value: {"labels":5}: json: cannot unmarshal number into Go struct field ObjectMeta.labels of type map[string]string'  # fmt: skip
TAKEN += [pytest.param(spec(resource({"name": "a"}, spec={"x": 1})), id="default embedded resource")]
REFUSED += [
    pytest.param(
        spec(resource({"labels": 5})), [(".properties[spec].default.metadata", NUMBER)], id="default malformed metadata"
    ),
    pytest.param(
        spec({"type": "array", "items": resource({"labels": 5}), "default": [{"apiVersion": "v1", "kind": "A", "metadata": {"labels": 5}}]}),
        [
            (".properties[spec].default[0].metadata", NUMBER),
            (".properties[spec].items.default.metadata", NUMBER),
        ],
        id="default malformed metadata in a list",
    ),
    pytest.param(
        spec(resource({"name": "a"}, kind=None)), [(".properties[spec].default.kind", "Required value")],
        id="default embedded resource without a kind",
    ),
]  # fmt: skip
TAKEN += [
    pytest.param(
        embedded(
            {
                "name": {"type": "string", "default": "a-b"},
                "labels": {"type": "object", "default": {"a": "b"}, "additionalProperties": TEXT},
                "finalizers": {"type": "array", "items": {"type": "string", "default": "a.b/c"}},
            }
        ),
        id="defaults in metadata of an embedded resource",
    )
]


@pytest.mark.parametrize(("schema", "causes"), REFUSED)
def test_invalid_schemas(api: Api, schema: Object, causes: list[tuple[str, str]]) -> None:
    code, status = api.call("POST", CRDS, with_schema(schema))
    assert code == 422
    where = "spec.validation.openAPIV3Schema"
    found = [(one["field"], one["message"]) for one in status["details"]["causes"]]
    assert found == [(where + field, message) for field, message in causes]


@pytest.mark.parametrize("schema", TAKEN)
def test_valid_schemas(api: Api, schema: Object) -> None:
    api.ok("POST", CRDS, with_schema(schema))


def test_a_version_requires_a_schema(api: Api) -> None:
    version = {"name": "v1", "served": True, "storage": True}
    _, status = api.call("POST", CRDS, definition(versions=[version]))
    found = [(one["field"], one["message"]) for one in status["details"]["causes"]]
    assert found == [("spec.versions[0].schema.openAPIV3Schema", "Required value")]
