"""What keeps a schema from being structural, and what Kubernetes' extensions of schemas ask for."""

from typing import Any

import orjson
import pytest

from tests.apiserver.api import CRDS, Api, definition
from tests.apiserver.crd.test_schemas import spec, with_schema

Object = dict[str, Any]

TEXT = {"type": "string"}
OPEN = {"x-kubernetes-preserve-unknown-fields": True}
PART = ".properties[spec]"


def listed(**more: Any) -> Object:
    return spec({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a"], **more})


def rule(**more: Any) -> Object:
    return spec({"type": "object", "properties": {"a": TEXT}, "x-kubernetes-validations": [{"rule": "true", **more}]})


def item(**more: Any) -> Object:
    return {"type": "object", "required": ["a"], "properties": {"a": {**TEXT, **more}}}


RULE = f"{PART}.x-kubernetes-validations[0]"
SINGLE = "must have a schema if x-kubernetes-list-type is map"

#: Whole schemas, and what is said of them: where below the schema, and how.
REFUSED: list[Any] = [
    pytest.param(
        {"type": "object", "additionalProperties": TEXT},
        [(".additionalProperties", "Forbidden: must not be used at the root")],
        id="a-map-at-the-root",
    ),
    pytest.param(
        spec({"type": "object", "x-kubernetes-embedded-resource": True, "additionalProperties": TEXT, **OPEN}),
        [(f"{PART}.additionalProperties", "Forbidden: must not be used if x-kubernetes-embedded-resource is set")],
        id="an-embedded-map",
    ),
    pytest.param(
        spec({"type": "object", "x-kubernetes-embedded-resource": True}),
        [(f"{PART}.properties", "Required value: must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields")],
        id="an-embedded-resource-without-fields",
    ),
    pytest.param(
        spec({**TEXT, "x-kubernetes-embedded-resource": True, **OPEN}),
        [(f"{PART}.type", 'Invalid value: "string": must be object if x-kubernetes-embedded-resource is true')],
        id="an-embedded-text",
    ),
    pytest.param(
        spec({"x-kubernetes-embedded-resource": True, **OPEN}),
        [(f"{PART}.type", "Required value: must be object if x-kubernetes-embedded-resource is true")],
        id="an-embedded-resource-without-a-type",
    ),
    pytest.param(
        spec({"x-kubernetes-int-or-string": True, **OPEN}),
        [(f"{PART}.x-kubernetes-preserve-unknown-fields", "Invalid value: true: must be false if x-kubernetes-int-or-string is true")],
        id="an-open-integer-or-string",
    ),
    pytest.param(
        {"type": "object", "properties": {"metadata": {"type": "object", "x-kubernetes-embedded-resource": True, **OPEN}}},
        [
            (".properties[metadata]", "Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified"),
            (".properties[metadata].x-kubernetes-embedded-resource", "Forbidden: must not be used inside of resource meta"),
        ],
        id="embedded-in-metadata",
    ),
    pytest.param(
        spec({"type": "object", "allOf": [{"properties": {"metadata": {"minLength": 1}}}], "properties": {"metadata": TEXT}}),
        [(f"{PART}.allOf[0].properties[metadata]", "Forbidden: must not be specified in a nested context")],
        id="metadata-in-a-junctor",
    ),
    pytest.param(
        spec({"type": "array", "items": TEXT, "allOf": [{"items": {"type": "string"}}]}),
        [(f"{PART}.allOf[0].items.type", "Forbidden: must be empty to be structural")],
        id="a-type-in-a-junctor",
    ),
    pytest.param(
        spec({"type": "object", "not": {"default": {}, "title": "x", "description": "y", "nullable": True, **OPEN}}),
        [
            (f"{PART}.not.default", "Forbidden: must be undefined to be structural"),
            (f"{PART}.not.description", "Forbidden: must be empty to be structural"),
            (f"{PART}.not.nullable", "Forbidden: must be false to be structural"),
            (f"{PART}.not.title", "Forbidden: must be empty to be structural"),
            (f"{PART}.not.x-kubernetes-preserve-unknown-fields", "Forbidden: must be false to be structural"),
        ],
        id="all-sorts-in-a-negation",
    ),
    pytest.param(
        {"type": "object", "not": {"anyOf": [{"properties": {"b": {"minLength": 1}}}]}},
        [(".properties[b]", "Required value: because it is defined in spec.validation.openAPIV3Schema.not.anyOf[0].properties[b]")],
        id="an-unknown-property-in-a-negation",
    ),
    pytest.param(
        {"type": "object", "properties": {"a": TEXT}, "oneOf": [{"properties": {"a": {"items": {"minLength": 1}}}}]},
        [(".properties[a].items", "Required value: because it is defined in spec.validation.openAPIV3Schema.oneOf[0].properties[a].items")],
        id="unknown-items-in-a-junctor",
    ),
    pytest.param(
        spec({"type": "null"}),
        [
            (
                f"{PART}.type",
                'Unsupported value: "null": supported values: "array", "boolean", "integer", "number", "object", "string"',
            ),
            (f"{PART}.type", "Forbidden: type cannot be set to null, use nullable as an alternative"),
        ],
        id="type-null",
    ),
    pytest.param(
        spec({"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "array", "items": TEXT, "x-kubernetes-list-type": "set"}}),
        [(f"{PART}.items.x-kubernetes-list-type", 'Invalid value: "set": must be atomic as item of a list with x-kubernetes-list-type=set')],
        id="a-set-of-sets",
    ),
    pytest.param(
        listed(**OPEN),
        [
            (f"{PART}.items", "Required value: must be specified"),
            (f"{PART}.items", f"Required value: {SINGLE}"),
        ],
        id="a-map-list-without-items",
    ),
    pytest.param(
        listed(items=TEXT),
        [(f"{PART}.items.type", 'Invalid value: "string": must be object if parent array\'s x-kubernetes-list-type is map')],
        id="a-map-list-of-texts",
    ),
    pytest.param(
        listed(items=item(nullable=True)),
        [(f"{PART}.items.properties[a].nullable", "Forbidden: this property is in x-kubernetes-list-map-keys, so it cannot be nullable")],
        id="a-key-that-is-nullable",
    ),
    pytest.param(
        spec({"type": "array", "items": item(), "x-kubernetes-list-type": "map"}),
        [(f"{PART}.x-kubernetes-list-map-keys", "Required value: must not be empty if x-kubernetes-list-type is map")],
        id="a-map-list-without-keys",
    ),
    pytest.param(
        spec({"type": "array", "items": item(), "x-kubernetes-list-map-keys": ["a"]}),
        [(f"{PART}.x-kubernetes-list-type", "Required value: must be map if x-kubernetes-list-map-keys is non-empty")],
        id="keys-without-a-type",
    ),
    pytest.param(
        spec({"type": "array", "items": item(), "x-kubernetes-list-type": "set", "x-kubernetes-list-map-keys": ["a"]}),
        [
            (f"{PART}.items.x-kubernetes-map-type", "Invalid value: null: must be atomic as item of a list with x-kubernetes-list-type=set"),
            (f"{PART}.x-kubernetes-list-type", 'Invalid value: "set": must be map if x-kubernetes-list-map-keys is non-empty'),
        ],
        id="keys-of-a-set",
    ),
    pytest.param(
        spec({**TEXT, "x-kubernetes-list-type": "atomic"}),
        [(f"{PART}.type", 'Invalid value: "string": must be array if x-kubernetes-list-type is specified')],
        id="a-list-type-of-a-text",
    ),
    pytest.param(
        spec({"type": "object", "x-kubernetes-preserve-unknown-fields": False}),
        [(f"{PART}.x-kubernetes-preserve-unknown-fields", "Invalid value: false: must be true or undefined")],
        id="not-open",
    ),
    pytest.param(
        spec({**TEXT, "uniqueItems": True}),
        [(f"{PART}.uniqueItems", "Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic")],
        id="unique-items",
    ),
    pytest.param(rule(rule=" "), [(f"{RULE}.rule", "Required value: rule is not specified")], id="an-empty-rule"),
    pytest.param(rule(message=" "), [(f"{RULE}.message", 'Invalid value: " ": must be non-empty if specified')], id="a-blank-message"),
    pytest.param(rule(message="a\nb"), [(f"{RULE}.message", 'Invalid value: "a\\nb": must not contain line breaks')], id="a-message-of-two-lines"),
    pytest.param(rule(rule="true\n|| false"), [(f"{RULE}.message", "Required value: message must be specified if rule contains line breaks")], id="a-rule-of-two-lines"),
    pytest.param(rule(messageExpression=" "), [(f"{RULE}.messageExpression", "Required value: messageExpression must be non-empty if specified")], id="a-blank-expression"),
    pytest.param(rule(reason="Nope"), [(f"{RULE}.reason", 'Unsupported value: "Nope": supported values: "FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"')], id="an-unknown-reason"),
    pytest.param(
        rule(fieldPath=" "),
        [(f"{RULE}.fieldPath", 'Invalid value: " ": must be non-empty if specified'), (f"{RULE}.fieldPath", 'Invalid value: " ": must be a valid path')],
        id="a-blank-path",
    ),
    pytest.param(
        rule(fieldPath=".a\n"),
        [(f"{RULE}.fieldPath", 'Invalid value: ".a\\n": must not contain line breaks'), (f"{RULE}.fieldPath", 'Invalid value: ".a\\n": must be a valid path')],
        id="a-path-of-two-lines",
    ),
    pytest.param(rule(fieldPath=".b"), [(f"{RULE}.fieldPath", 'Invalid value: ".b": must be a valid path')], id="a-path-that-leads-nowhere"),
]  # fmt: skip


#: Defaults that are wrong: a schema of the field `spec`, and what is said of its default.
DEFAULTS: list[Any] = [
    pytest.param(
        {"type": "object", "x-kubernetes-embedded-resource": True, **OPEN, "default": {"apiVersion": "v1", "kind": 1}},
        [(f"{PART}.default.kind", "Invalid value: 1: must be a string")],
        id="an-embedded-kind-of-another-type",
    ),
    pytest.param(
        {"type": "object", "x-kubernetes-embedded-resource": True, **OPEN, "default": {"apiVersion": "v1"}},
        [(f"{PART}.default.kind", "Required value")],
        id="an-embedded-resource-without-a-kind",
    ),
    pytest.param(
        {"type": "object", "properties": {"a": TEXT}, "default": {"a": "x"}, "x-kubernetes-validations": [{"rule": "self.a != 'x'", "message": "not x"}]},
        [(f"{PART}.default", "Invalid value: not x")],
        id="a-rule",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "causes"), DEFAULTS)
def test_a_default_is_refused(api: Api, schema: Object, causes: list[tuple[str, str]]) -> None:
    test_a_schema_is_refused(api, spec(schema), causes)


@pytest.mark.parametrize(("schema", "causes"), REFUSED)
def test_a_schema_is_refused(api: Api, schema: Object, causes: list[tuple[str, str]]) -> None:
    code, status = api.call("POST", CRDS, with_schema(schema))
    assert code == 422
    where = "spec.validation.openAPIV3Schema"
    found = [(one["field"].removeprefix(where), one["message"]) for one in status["details"]["causes"]]
    assert found == causes


def version(**more: Any) -> Object:
    schema = {
        "openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object", "properties": {"a": TEXT}}}}
    }
    return {"name": "v1", "served": True, "storage": True, "schema": schema, **more}


def refused(api: Api, **changes: Any) -> list[tuple[str, str]]:
    code, status = api.call("POST", CRDS, definition(**changes))
    assert code == 422, status
    return [(one["field"], one["message"]) for one in status["details"]["causes"]]


def test_too_many_selectable_fields(api: Api) -> None:
    names = [f"f{number}" for number in range(9)]
    schema = {"openAPIV3Schema": {"type": "object", "properties": dict.fromkeys(names, TEXT)}}
    fields = [{"jsonPath": f".{name}"} for name in names]
    found = refused(api, versions=[version(schema=schema, selectableFields=fields)])
    assert found == [("spec.selectableFields", "Too many: 9: must have at most 8 items")]


def test_selectable_fields_of_one_of_two_versions(api: Api) -> None:
    schema = {"openAPIV3Schema": spec({"type": "object"})}
    second = {**version(schema=schema, selectableFields=[{"jsonPath": ".spec.b"}]), "name": "v2", "storage": False}
    (found,) = refused(api, versions=[version(), second])
    assert found == (
        "spec.versions[1].selectableFields[0].jsonPath",
        'Invalid value: ".spec.b": is an invalid path: does not refer to a valid field',
    )


def test_defaults_need_pruning(api: Api) -> None:
    schema = {"openAPIV3Schema": spec({"type": "object", "properties": {"a": {**TEXT, "default": "x"}}})}
    found = refused(api, versions=[version(schema=schema)], preserveUnknownFields=True)
    assert (
        "spec.preserveUnknownFields",
        "Invalid value: true: must be false in order to use defaults in the schema",
    ) in found


def test_a_schema_that_is_too_deep(api: Api) -> None:
    node: Object = TEXT
    for _ in range(130):
        node = {"type": "object", "properties": {"a": node}}
    (found,) = refused(api, versions=[version(schema={"openAPIV3Schema": node})])
    assert found[1].startswith("Too deep: schemas may nest at most ")


@pytest.mark.parametrize("media_type", ["application/json", "application/yaml"])
@pytest.mark.parametrize("levels", [150, 400])
def test_a_schema_of_400_levels_is_rejected_by_the_decoder(api: Api, levels: int, media_type: str) -> None:
    node = b'{"type":"object","properties":{"a":' * levels + b'{"type":"string"}' + b"}}" * levels
    outline = orjson.dumps(definition(versions=[version(schema={"openAPIV3Schema": "SCHEMA"})]))
    body = outline.replace(b'"SCHEMA"', node)
    code, reason, message = api.refused("POST", CRDS, body, content_type=media_type)
    assert (code, reason) == (400, "BadRequest")
    assert "exceeded max depth" in message


@pytest.mark.parametrize("annotation", ["nonsense", "/only/a/path", "a b"])
def test_an_approval_that_is_neither_a_url_nor_unapproved(api: Api, annotation: str) -> None:
    body = definition(group="x.k8s.io")
    body["metadata"] |= {"name": "backups.x.k8s.io", "annotations": {"api-approved.kubernetes.io": annotation}}
    code, status = api.call("POST", CRDS, body)
    why = (
        'protected groups must have approval annotation "api-approved.kubernetes.io" with either a URL or a reason '
        'starting with "unapproved", see https://github.com/kubernetes/enhancements/pull/1111'
    )
    (cause,) = status["details"]["causes"]
    assert (code, cause["field"]) == (422, "metadata.annotations[api-approved.kubernetes.io]")
    assert cause["message"] == f'Invalid value: "{annotation}": {why}'
