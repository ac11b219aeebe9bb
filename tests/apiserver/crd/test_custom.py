"""Custom resources: pruning, defaults, warnings, validation, versions, status and scale."""

from typing import Any

import pytest

from fakekube.apiserver.crd.customversion import compile_versions
from tests.apiserver.api import CRDS, Api

Object = dict[str, Any]

WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"
TEXT = {"type": "string"}
SPEC: Object = {
    "type": "object",
    "properties": {
        "a": TEXT,
        "d": {"type": "string", "default": "x"},
        "n": {"type": "string", "nullable": True},
        "nd": {"type": "string", "nullable": True, "default": "q"},
        "replicas": {"type": "integer"},
        "list": {
            "type": "array",
            "items": {"type": "object", "properties": {"k": TEXT, "v": {"type": "integer", "default": 1}}},
        },
        "map": {"type": "object", "additionalProperties": {"type": "object", "properties": {"k": TEXT}}},
        "keep": {
            "type": "object",
            "x-kubernetes-preserve-unknown-fields": True,
            "properties": {"in": {"type": "object", "properties": {"k": TEXT}}},
        },
        "emb": {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True},
        "lists": {"type": "array", "items": {"type": "array", "items": {"type": "object", "properties": {"k": TEXT}}}},
    },
}
STATUS = {"type": "object", "properties": {"replicas": {"type": "integer"}, "selector": TEXT}}
SCHEMA: Object = {"type": "object", "required": ["spec"], "properties": {"spec": SPEC, "status": STATUS}}
SCALE = {
    "specReplicasPath": ".spec.replicas",
    "statusReplicasPath": ".status.replicas",
    "labelSelectorPath": ".status.selector",
}


def version(name: str = "v1", schema: Object = SCHEMA, **more: Any) -> Object:
    both = {"status": {}, "scale": SCALE}
    return {
        "name": name,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": both,
        **more,
    }


def widgets(*versions: Object) -> Object:
    names = {"plural": "widgets", "kind": "Widget", "singular": "widget", "listKind": "WidgetList"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": names,
            "versions": list(versions) or [version()],
        },
    }


def widget(name: str = "w", spec: Any = None, **more: Any) -> Object:
    meta = {"name": name, **more.pop("metadata", {})}
    return {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": meta,
        "spec": {} if spec is None else spec,
        **more,
    }


@pytest.fixture
def served(api: Api) -> Api:
    api.ok("POST", CRDS, widgets())
    return api


def redefine(api: Api, *versions: Object) -> None:
    path = f"{CRDS}/widgets.example.com"
    current = api.ok("GET", path)
    api.ok("PUT", path, {**current, "spec": {**current["spec"], "versions": list(versions)}})


# --- reading a body ---------------------------------------------------------------------------------------------------

READ: list[Any] = [
    pytest.param({}, {"d": "x", "nd": "q"}, id="defaults"),
    pytest.param({"d": "y"}, {"d": "y", "nd": "q"}, id="a given value stays"),
    pytest.param({"n": None, "nd": None, "d": None, "a": None}, {"n": None, "nd": None, "d": "x"}, id="nulls"),
    pytest.param({"list": [{"k": "1", "q": 2}]}, {"list": [{"k": "1", "v": 1}], "d": "x", "nd": "q"}, id="items"),
    pytest.param(
        {"map": {"m": {"k": "1", "q": 2}}}, {"map": {"m": {"k": "1"}}, "d": "x", "nd": "q"}, id="values of a map"
    ),
    pytest.param({"keep": {"z": 1, "in": {"q": 1}}}, {"keep": {"z": 1, "in": {}}, "d": "x", "nd": "q"}, id="kept"),
    pytest.param({"lists": [[{"q": 1}]]}, {"lists": [[{}]], "d": "x", "nd": "q"}, id="lists of lists"),
    pytest.param(
        {"emb": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x", "foo": 1}, "z": 1}},
        {"emb": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "z": 1}, "d": "x", "nd": "q"},
        id="an embedded resource",
    ),
]


@pytest.mark.parametrize(("given", "stored"), READ)
def test_the_stored_object(served: Api, given: Object, stored: Object) -> None:
    assert served.ok("POST", WIDGETS, widget(spec=given))["spec"] == stored
    assert served.ok("GET", f"{WIDGETS}/w")["spec"] == stored


UNKNOWN = {
    "zz": 1,
    "list": [{"k": "1", "q": 2}],
    "map": {"m": {"q": 2}},
    "keep": {"any": 1, "in": {"q": 1}},
    "lists": [[{"q": 1}]],
}
PATHS = ["metadata.foo", "foo", "spec.keep.in.q", "spec.list[0].q", "spec.lists[0][0].q", "spec.map.m.q", "spec.zz"]


def test_unknown_fields_cause_warnings(served: Api) -> None:
    body = widget(spec=UNKNOWN, foo=1, metadata={"foo": 1})
    found = served.answer("POST", WIDGETS, body)
    assert found.status == 201
    assert found.warnings == [f'unknown field "{path}"' for path in PATHS]


def test_unknown_fields_are_rejected_by_strict_validation(served: Api) -> None:
    body = widget(spec=UNKNOWN, foo=1, metadata={"foo": 1})
    unknown = ", ".join(f'unknown field "{path}"' for path in PATHS)
    message = f'Widget in version "v1" cannot be handled as a Widget: strict decoding error: {unknown}'
    assert served.refused("POST", f"{WIDGETS}?fieldValidation=Strict", body) == (400, "BadRequest", message)


@pytest.mark.parametrize(
    ("metadata", "why"),
    [
        ({"labels": {"a": 1}}, "json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string"),
        (
            {"labels": ["a"]},
            "json: cannot unmarshal array into Go struct field ObjectMeta.labels of type map[string]string",
        ),
        ({"generation": "x"}, "json: cannot unmarshal string into Go struct field ObjectMeta.generation of type int64"),
        (
            {"finalizers": "x"},
            "json: cannot unmarshal string into Go struct field ObjectMeta.finalizers of type []string",
        ),
    ],
)
def test_malformed_metadata(served: Api, metadata: Object, why: str) -> None:
    expected = f'Widget in version "v1" cannot be handled as a Widget: {why}'
    assert served.refused("POST", WIDGETS, widget(metadata=metadata)) == (400, "BadRequest", expected)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            widget(spec={"list": {}}),
            'spec.list: Invalid value: "object": spec.list in body must be of type array: "object"',
        ),
        (widget(spec={"a": 1}), 'spec.a: Invalid value: "integer": spec.a in body must be of type string: "integer"'),
        (widget(spec={"emb": {}}), "[spec.emb.apiVersion: Required value, spec.emb.kind: Required value]"),
    ],
)
def test_an_invalid_object_is_rejected(served: Api, body: Object, message: str) -> None:
    whole = f'Widget.example.com "w" is invalid: {message}'
    assert served.refused("POST", WIDGETS, body) == (422, "Invalid", whole)


# --- status and scale -------------------------------------------------------------------------------------------------


def test_status_is_written_through_its_subresource(served: Api) -> None:
    made = served.ok("POST", WIDGETS, widget(status={"replicas": 3}))
    assert "status" not in made
    rv = made["metadata"]["resourceVersion"]
    other = widget(spec={"a": "no"}, status={"replicas": 5}, metadata={"resourceVersion": rv, "labels": {"x": "y"}})
    found = served.ok("PUT", f"{WIDGETS}/w/status", other)
    assert (found["spec"], found["status"]) == (made["spec"], {"replicas": 5})
    assert (found["metadata"].get("labels"), found["metadata"]["generation"]) == (None, 1)
    merge = {"content_type": "application/merge-patch+json"}
    found = served.ok("PATCH", f"{WIDGETS}/w", {"spec": {"a": "yes"}, "status": {"replicas": 9}}, **merge)
    assert (found["spec"]["a"], found["status"], found["metadata"]["generation"]) == ("yes", {"replicas": 5}, 2)


def test_an_invalid_status_is_rejected(served: Api) -> None:
    served.ok("POST", WIDGETS, widget())
    merge = {"content_type": "application/merge-patch+json"}
    code, _, message = served.refused("PATCH", f"{WIDGETS}/w/status", {"status": {"replicas": "x"}}, **merge)
    expected = [
        'status.replicas: Invalid value: "string": replicas in body must be of type integer: "string"',
        ".status.replicas: Invalid value: 0: .status.replicas accessor error: x is of the type string, expected int64",
    ]
    assert (code, message) == (422, f'Widget.example.com "w" is invalid: [{", ".join(expected)}]')


def test_scale_uses_the_paths_of_the_definition(served: Api) -> None:
    served.ok("POST", WIDGETS, widget(spec={"replicas": 2}))
    scale = served.ok("GET", f"{WIDGETS}/w/scale")
    assert (scale["kind"], scale["spec"], scale["status"]) == ("Scale", {"replicas": 2}, {"replicas": 0})
    served.ok("PUT", f"{WIDGETS}/w/scale", {**scale, "spec": {"replicas": 7}})
    found = served.ok("GET", f"{WIDGETS}/w")
    assert (found["spec"]["replicas"], found["metadata"]["generation"]) == (7, 2)


# --- versions and changes of the schema -------------------------------------------------------------------------------


def test_an_old_object_is_read_with_the_new_schema(served: Api) -> None:
    served.ok("POST", WIDGETS, widget(spec={"a": "1"}))
    spec = {"type": "object", "properties": {"d": TEXT, "new": {"type": "string", "default": "n"}}}
    redefine(served, version(schema={"type": "object", "properties": {"spec": spec}}))
    assert served.ok("GET", f"{WIDGETS}/w")["spec"] == {"d": "x", "new": "n"}
    assert served.ok("GET", WIDGETS)["items"][0]["spec"] == {"d": "x", "new": "n"}


def test_errors_of_unchanged_values_are_tolerated(served: Api) -> None:
    served.ok("POST", WIDGETS, widget(spec={"a": "long"}))
    spec = {**SPEC, "properties": {**SPEC["properties"], "a": {"type": "string", "maxLength": 2}}}
    redefine(served, version(schema={**SCHEMA, "properties": {"spec": spec, "status": STATUS}}))
    merge = {"content_type": "application/merge-patch+json"}
    assert served.ok("PATCH", f"{WIDGETS}/w", {"spec": {"d": "y"}}, **merge)["spec"]["a"] == "long"
    code, _, message = served.refused("PATCH", f"{WIDGETS}/w", {"spec": {"a": "other"}}, **merge)
    assert (code, message) == (422, 'Widget.example.com "w" is invalid: spec.a: Too long: may not be more than 2 bytes')


def test_warnings_of_tolerated_rules_belong_to_their_own_update(api: Api) -> None:
    rule = {"rule": "self.startsWith('a')"}
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"a": {**TEXT}, "b": TEXT}}}}
    schema["properties"]["spec"]["properties"]["a"]["x-kubernetes-validations"] = [rule]
    definition = widgets(version(schema=schema))
    compiled = compile_versions(definition, api.apiserver.schemas.type("meta.v1.ObjectMeta"))["v1"]
    meta = {"name": "w"}
    old, new = ({"metadata": meta, "spec": {"a": "x", "b": b}} for b in ("1", "2"))
    valid = {"metadata": meta, "spec": {"a": "ab"}}
    warnings: list[str] = []
    other: list[str] = []
    assert compiled.validate_update(new, old, warnings) == []
    assert compiled.validate_update(valid, valid, other) == []
    assert (warnings, other) == (["spec.a: Invalid value: \"x\": failed rule: self.startsWith('a')"], [])


def test_versions_differ_only_in_their_api_version(api: Api) -> None:
    api.ok("POST", CRDS, widgets(version(), version("v2", storage=False)))
    made = api.ok("POST", WIDGETS, widget(spec={"a": "1"}))
    other = api.ok("GET", f"{WIDGETS}/w".replace("/v1/", "/v2/"))
    assert other == {**made, "apiVersion": "example.com/v2", "metadata": other["metadata"]}


def test_a_definition_is_deleted_after_its_objects(served: Api) -> None:
    served.ok("POST", WIDGETS, widget())
    served.ok("POST", WIDGETS, widget("held", metadata={"finalizers": ["example.com/x"]}))
    served.ok("DELETE", f"{CRDS}/widgets.example.com")
    assert served.call("GET", f"{WIDGETS}/w")[0] == 404
    held = served.ok("GET", f"{WIDGETS}/held")
    assert "deletionTimestamp" in held["metadata"]
    assert served.refused("POST", WIDGETS, widget("late"))[0] == 403
    rows = served.ok("GET", "/apis/example.com/v1")["resources"]
    assert rows[0]["verbs"] == ["delete", "deletecollection", "get", "list", "watch"]
    merge = {"content_type": "application/merge-patch+json"}
    served.ok("PATCH", f"{WIDGETS}/held", {"metadata": {"finalizers": None}}, **merge)
    assert served.call("GET", f"{CRDS}/widgets.example.com")[0] == 404
    assert served.call("GET", WIDGETS)[0] == 404


@pytest.mark.parametrize("held", [False, True])
def test_a_conflicting_name_is_accepted_after_its_owner_is_deleted(served: Api, held: bool) -> None:
    """At once, or with the last object that keeps the owner."""
    second = widgets()
    second["metadata"] = {"name": "gadgets.example.com"}
    second["spec"]["names"] = {"plural": "gadgets", "kind": "Widget", "singular": "gadget", "listKind": "GadgetList"}
    served.ok("POST", CRDS, second)

    def accepted() -> tuple[str, str]:
        found = served.ok("GET", f"{CRDS}/gadgets.example.com")["status"]["conditions"]
        one = next(one for one in found if one["type"] == "NamesAccepted")
        return one["reason"], one["message"]

    assert accepted() == ("KindConflict", '"Widget" is already in use')
    assert served.call("GET", "/apis/example.com/v1/gadgets")[0] == 404
    if held:
        served.ok("POST", WIDGETS, widget("held", metadata={"finalizers": ["example.com/x"]}))
    served.ok("DELETE", f"{CRDS}/widgets.example.com")
    if held:
        assert accepted()[0] == "KindConflict"
        served.ok("PATCH", f"{WIDGETS}/held", {"metadata": {"finalizers": None}}, **MERGE)
    assert accepted() == ("NoConflicts", "no conflicts found")
    assert served.call("GET", "/apis/example.com/v1/gadgets")[0] == 200


APPLY = {"content_type": "application/apply-patch+yaml"}
MERGE = {"content_type": "application/merge-patch+json"}


def scale(replicas: Any, **more: Any) -> Object:
    return {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {"name": "w"},
        "spec": {"replicas": replicas},
        **more,
    }


@pytest.mark.parametrize(
    ("method", "body", "how"),
    [
        ("PUT", scale(4), {}),
        ("PATCH", {"spec": {"replicas": 4}}, MERGE),
        (
            "PATCH",
            [{"op": "replace", "path": "/spec/replicas", "value": 4}],
            {"content_type": "application/json-patch+json"},
        ),
    ],
)
def test_ways_to_scale(served: Api, method: str, body: Any, how: Object) -> None:
    served.ok("POST", WIDGETS, widget(spec={"replicas": 2}))
    assert served.ok(method, f"{WIDGETS}/w/scale", body, **how)["spec"] == {"replicas": 4}
    assert served.ok("GET", f"{WIDGETS}/w")["spec"]["replicas"] == 4


UNCONVERTIBLE = "to proper version: request to convert CR to an invalid group/version: autoscaling/v1"


def test_an_applied_scale_cannot_be_converted(served: Api) -> None:
    served.ok("POST", f"{WIDGETS}?fieldManager=maker", widget(spec={"replicas": 2}))
    target = f"{WIDGETS}/w/scale?fieldManager=scaler"
    assert served.call("PATCH", target, scale(4), **APPLY)[0] == 409
    code, refused = served.call("PATCH", f"{target}&force=true", scale(4), **APPLY)
    assert code == 500
    assert refused["message"] == f"failed to convert new object (/w; autoscaling/v1, Kind=Scale) {UNCONVERTIBLE}"
    assert served.ok("GET", f"{WIDGETS}/w/scale")["spec"] == {"replicas": 2}


def test_a_scale_is_applied_to_an_object_without_managers(served: Api) -> None:
    served.ok("POST", WIDGETS, widget())
    code, refused = served.call("PATCH", f"{WIDGETS}/w/scale?fieldManager=scaler", scale(4), **APPLY)
    assert code == 500
    assert refused["message"] == (
        "failed to create manager for existing fields: failed to convert live object (/; autoscaling/v1, Kind=Scale) "
        + UNCONVERTIBLE
    )


UNREGISTERED = (
    "no kind is registered for the type v1.Scale in scheme "
    '"k8s.io/apiextensions-apiserver/pkg/apiserver/customresource_handler.go:781"'
)


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        (
            scale(-1),
            422,
            'Widget.example.com "w" is invalid: .spec.replicas: Invalid value: -1: should be a non-negative integer',
        ),
        (
            scale(4, foo=1),
            400,
            UNREGISTERED,
        ),
        (
            scale("x"),
            400,
            UNREGISTERED,
        ),
        (
            {**scale(1), "metadata": {"name": "b"}},
            400,
            "the name of the object (b) does not match the name on the URL (w)",
        ),
    ],
)
def test_an_invalid_scale_is_rejected(served: Api, body: Object, code: int, message: str) -> None:
    served.ok("POST", WIDGETS, widget(spec={"replicas": 2}))
    found = served.refused("PUT", f"{WIDGETS}/w/scale?fieldValidation=Strict", body)
    assert (found[0], found[2]) == (code, message)
    assert served.refused("PUT", f"{WIDGETS}/w/scale", widget())[0] == 400


# --- deletion ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", ["text", 3, {"finalizers": ["x"]}])
def test_an_object_without_finalizers_is_removed_whatever_its_spec_is(api: Api, spec: Any) -> None:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    api.ok("POST", CRDS, widgets(version(schema=schema, subresources={})))
    api.ok("POST", WIDGETS, widget(spec=spec, metadata={"finalizers": ["example.com/f"]}))
    api.ok("DELETE", f"{WIDGETS}/w")
    patch = {"metadata": {"finalizers": None}}
    api.ok("PATCH", f"{WIDGETS}/w", patch, content_type="application/merge-patch+json")
    assert api.call("GET", f"{WIDGETS}/w")[0] == 404


# --- writes that change nothing ---------------------------------------------------------------------------------------


def test_a_whole_float_is_stored_as_an_integer(api: Api) -> None:
    schema = {"type": "object", "properties": {"status": {"x-kubernetes-int-or-string": True}}}
    api.ok("POST", CRDS, widgets(version(schema=schema, subresources={"status": {}})))
    api.ok("POST", f"{WIDGETS}?fieldManager=one", widget(metadata={"labels": {"x": "y"}}))
    target, merge = f"{WIDGETS}/w/status?fieldManager", {"content_type": "application/merge-patch+json"}
    before = api.ok("PATCH", f"{target}=one", b'{"status": 2.0}', **merge)
    assert api.ok("PATCH", f"{target}=another", b'{"metadata": {"labels": {"a": "b"}}}', **merge) == before


@pytest.mark.parametrize(
    ("before", "after"), [(1, True), (0, False), (True, 1), ([1], [True]), ({"a": 0}, {"a": False})]
)
def test_a_boolean_in_place_of_an_equal_number_is_a_change(api: Api, before: Any, after: Any) -> None:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    api.ok("POST", CRDS, widgets(version(schema=schema, subresources={})))
    api.ok("POST", f"{WIDGETS}?fieldManager=one", widget(spec={"x": before}))
    merge = {"content_type": "application/merge-patch+json"}
    found = api.ok("PATCH", f"{WIDGETS}/w?fieldManager=two", {"spec": {"x": after}}, **merge)
    assert str(found["spec"]["x"]) == str(after)
    assert found["metadata"]["generation"] == 2
    assert "two" in [one["manager"] for one in found["metadata"]["managedFields"]]
    applied = {**widget(spec={"x": before}), "metadata": {"name": "w"}}
    apply = {"content_type": "application/apply-patch+yaml"}
    assert api.call("PATCH", f"{WIDGETS}/w?fieldManager=three", applied, **apply)[0] == 409
    forced = api.ok("PATCH", f"{WIDGETS}/w?fieldManager=three&force=true", applied, **apply)
    assert str(forced["spec"]["x"]) == str(before)


# --- discovery -------------------------------------------------------------------------------------------------------


def test_the_storage_version_hash_is_that_of_the_stored_version(api: Api) -> None:
    def hashes() -> list[str | None]:
        paths = ("/apis/example.com/v1", "/apis/example.com/v2")
        return [api.ok("GET", path)["resources"][0].get("storageVersionHash") for path in paths]

    api.ok("POST", CRDS, widgets(version("v1"), version("v2", storage=False)))
    before = hashes()
    assert before[0] is not None
    assert before[0] == before[1]
    redefine(api, version("v1", storage=False), version("v2"))
    after = hashes()
    assert after[0] == after[1] != before[0]
    redefine(api, version("v1", storage=False), version("v2"), version("v3", storage=False))
    redefine(api, version("v1", storage=False), version("v2", storage=False), version("v3", served=False))
    assert hashes() == [None, None]


@pytest.mark.parametrize(("named", "kind"), [({"listKind": "ManyWidgets"}, "ManyWidgets"), ({}, "WidgetList")])
def test_the_kind_of_a_list(api: Api, named: Object, kind: str) -> None:
    made = widgets(version())
    made["spec"]["names"] = {"plural": "widgets", "kind": "Widget", "singular": "widget", **named}
    api.ok("POST", CRDS, made)
    assert api.ok("GET", WIDGETS)["kind"] == kind
    assert [one.list_kind for one in api.apiserver.catalog.resources() if one.custom] == [kind]
