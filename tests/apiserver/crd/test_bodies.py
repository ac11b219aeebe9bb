"""Bodies of custom resources: apiVersion and kind, which kube-apiserver does not complete for unstructured objects."""

from typing import Any

import orjson
import pytest

from tests.apiserver.api import CRDS, Api

Object = dict[str, Any]

WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"
MERGE = {"content_type": "application/merge-patch+json"}
JSON_PATCH = {"content_type": "application/json-patch+json"}
APPLY = {"content_type": "application/apply-patch+yaml"}

SIZE: Object = {
    "type": "object",
    "properties": {"size": {"type": "integer"}, "set": {"type": "string", "default": "x"}},
}


def schema(spec: Object = SIZE) -> Object:
    status = {"type": "object", "properties": {"ready": {"type": "boolean"}}}
    return {"type": "object", "properties": {"spec": spec, "status": status}}


def version(name: str = "v1", spec: Object = SIZE, **more: Any) -> Object:
    made = {"name": name, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema(spec)}}
    return {**made, "subresources": {"status": {}}, **more}


def definition(*versions: Object) -> Object:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": list(versions) or [version()],
        },
    }


def widget(name: str = "w", api_version: str = "example.com/v1", **more: Any) -> Object:
    return {"apiVersion": api_version, "kind": "Widget", "metadata": {"name": name}, **more}


@pytest.fixture
def served(api: Api) -> Api:
    api.ok("POST", CRDS, definition())
    return api


def owners(obj: Object) -> list[str]:
    return [entry["manager"] for entry in obj["metadata"].get("managedFields", ())]


UNRECOGNIZED = "the object provided is unrecognized (must be of type Widget): "


@pytest.mark.parametrize(
    ("body", "query", "message"),
    [
        pytest.param(
            b'{"metadata":{"name":"a"}}', "",
            UNRECOGNIZED + """Object 'Kind' is missing in '{"metadata":{"name":"a"}}' ({"metadata":{"name":"a"}})""",
            id="no kind",
        ),
        pytest.param(
            b'{"kind":"","apiVersion":"x/v1"}', "?fieldValidation=Ignore",
            """Widget in version "v1" cannot be handled as a Widget: Object 'Kind' is missing in """
            """'{"kind":"","apiVersion":"x/v1"}'""",
            id="no kind, ignored fields",
        ),
        pytest.param(
            b'{"kind":"Widget"}', "",
            "the API version in the data () does not match the expected API version (example.com/v1)",
            id="no apiVersion",
        ),
        pytest.param(
            b'{"kind":"Widget","apiVersion":null}', "",
            'Widget in version "" cannot be handled as a Widget: .apiVersion accessor error: <nil> is of the type <nil>, '
            "expected string",
            id="null",
        ),
        pytest.param(
            b'{"kind":"Widget","apiVersion":false}', "",
            UNRECOGNIZED + "couldn't get version/kind; json parse error: json: cannot unmarshal bool into Go struct field "
            '.apiVersion of type string ({"kind":"Widget","apiVersion": ...)',
            id="no string",
        ),
        pytest.param(
            b'{"kind":"Widget","apiVersion":"a/b/c"}', "",
            UNRECOGNIZED + 'unexpected GroupVersion string: a/b/c ({"kind":"Widget","apiVersion": ...)',
            id="malformed",
        ),
        pytest.param(
            b'{"apiVersion":"example.com/v1","kind":"X","metadata":{"zz":1}}', "?fieldValidation=Strict",
            'X in version "v1" cannot be handled as a X: strict decoding error: unknown field "metadata.zz"',
            id="the body's kind is named",
        ),
    ],
)  # fmt: skip
@pytest.mark.parametrize("method", ["POST", "PUT"])
def test_h3_bodies_without_a_type(served: Api, method: str, body: bytes, query: str, message: str) -> None:
    served.ok("POST", WIDGETS, widget())
    target = WIDGETS if method == "POST" else f"{WIDGETS}/w"
    assert served.refused(method, target + query, body) == (400, "BadRequest", message)


def test_h3_a_body_without_a_type_through_status(served: Api) -> None:
    served.ok("POST", WIDGETS, widget())
    code, _, message = served.refused("PUT", f"{WIDGETS}/w/status", orjson.dumps({"metadata": {"name": "w"}}))
    assert (code, message.startswith(UNRECOGNIZED + "Object 'Kind' is missing in ")) == (400, True)


def test_h3_an_object_of_another_kind_is_validated_for_its_type_only(served: Api) -> None:
    other = {**widget(spec={"size": "bad", "unknown": 1}), "kind": "Other"}
    refused = served.refused("POST", f"{WIDGETS}?fieldValidation=Strict", other)
    assert refused == (
        422, "Invalid", 'Other.example.com "w" is invalid: kind: Invalid value: "Other": must be Widget',
    )  # fmt: skip


@pytest.mark.parametrize(
    ("patch", "code", "message"),
    [
        ({"kind": "Other"}, 422, 'Other.example.com "w" is invalid: kind: Invalid value: "Other": must be Widget'),
        ({"apiVersion": "v9"}, 422, 'Widget "w" is invalid: apiVersion: Invalid value: "v9": must be example.com/v1'),
        ({"kind": None}, 422, "Object 'Kind' is missing in '{"),
        ({"apiVersion": "a/b/c"}, 422, "unexpected GroupVersion string: a/b/c"),
        ({"apiVersion": None}, 500, "Object 'apiVersion' is missing in 'object has no apiVersion field'"),
        (
            {"apiVersion": None, "metadata": {"namespace": "b"}},
            400,
            "the namespace of the provided object does not match the namespace sent on the request",
        ),
    ],
)
def test_h3_patches_that_change_the_type(served: Api, patch: Object, code: int, message: str) -> None:
    served.ok("POST", WIDGETS, widget())
    found, _, shown = served.refused("PATCH", f"{WIDGETS}/w", orjson.dumps(patch), **MERGE)
    assert (found, message in shown) == (code, True), shown


def test_wd_091_a_post_to_the_path_of_an_object_creates_it(served: Api) -> None:
    assert served.call("POST", f"{WIDGETS}/w", widget())[0] == 201
    assert served.refused("POST", f"{WIDGETS}/w", widget())[:2] == (409, "AlreadyExists")
    assert served.refused("POST", f"{WIDGETS}/w/status", widget())[:2] == (405, "MethodNotAllowed")


def test_segments_behind_a_subresource_are_ignored(served: Api) -> None:
    made = served.ok("POST", WIDGETS, widget())
    assert served.ok("GET", f"{WIDGETS}/w/status/further") == made
    assert served.refused("GET", f"{WIDGETS}/w/none/further")[:2] == (404, "NotFound")


def test_a_json_patch_of_null_changes_nothing(served: Api) -> None:
    made = served.ok("POST", WIDGETS, widget())
    assert served.ok("PATCH", f"{WIDGETS}/w", b"null", **JSON_PATCH) == made


def test_a_missing_name_blocks_the_validation_rules(api: Api) -> None:
    rule = {"rule": "self.size() < 9"}
    api.ok(
        "POST", CRDS, definition(version(spec={"type": "string", "maxLength": 9, "x-kubernetes-validations": [rule]}))
    )
    _, _, message = api.refused("POST", WIDGETS, {**widget(), "metadata": {}})
    assert "metadata.name: Required value" in message
    assert "some validation rules were not checked" in message


# --- deprecated versions ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("others", "use"),
    [
        ([version("v1")], "; use example.com/v1 Widget"),
        ([version("v1beta1", storage=False), version("v1")], "; use example.com/v1 Widget"),
        ([version("v1", deprecated=True)], ""),
        ([version("v1", served=False), version("v1alpha0", storage=False)], ""),
    ],
)
def test_wd_039_the_default_warning_names_the_successor(api: Api, others: list[Object], use: str) -> None:
    old = version("v1alpha2", storage=False, deprecated=True)
    api.ok("POST", CRDS, definition(old, *others))
    answer = api.answer("GET", WIDGETS.replace("/v1/", "/v1alpha2/"))
    assert list(answer.warnings) == [f"example.com/v1alpha2 Widget is deprecated{use}"]


@pytest.mark.parametrize("path", ["/none", "/none/scale", "/none/unknown"])
def test_wd_039_errors_of_a_deprecated_version_have_its_warning(api: Api, path: str) -> None:
    api.ok("POST", CRDS, definition(version("v1", deprecated=True, deprecationWarning="old")))
    answer = api.answer("GET", WIDGETS + path)
    assert (answer.status, list(answer.warnings)) == (404, ["old"])


def test_wd_039_an_unacceptable_representation_has_the_warning(api: Api) -> None:
    api.ok("POST", CRDS, definition(version("v1", deprecated=True, deprecationWarning="old")))
    answer = api.answer("GET", WIDGETS, accept="text/plain")
    assert (answer.status, list(answer.warnings)) == (406, ["old"])


# --- managedFields ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("given", "left"), [([], ["m"]), ([{}], []), (None, ["m"])])
def test_m9_empty_managed_fields_of_a_custom_resource(served: Api, given: Any, left: list[str]) -> None:
    made = served.ok("POST", f"{WIDGETS}?fieldManager=m", widget(spec={"size": 1}))
    body = {**made, "metadata": {**made["metadata"], "managedFields": given}}
    assert owners(served.ok("PUT", f"{WIDGETS}/w?fieldManager=m", body)) == left


@pytest.mark.parametrize(("given", "left"), [([], []), ([{}], []), (None, ["m"])])
def test_m9_empty_managed_fields_of_a_built_in_kind(api: Api, given: Any, left: list[str]) -> None:
    target = "/api/v1/namespaces/default/configmaps"
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "1"}}
    api.ok("POST", f"{target}?fieldManager=m", body)
    patch = orjson.dumps({"metadata": {"managedFields": given}})
    assert owners(api.ok("PATCH", f"{target}/a?fieldManager=m", patch, **MERGE)) == left


def test_m9_an_entry_of_a_version_that_does_not_exist_removes_all(served: Api) -> None:
    made = served.ok("POST", f"{WIDGETS}?fieldManager=m", widget(spec={"size": 1}))
    entry = {**made["metadata"]["managedFields"][0], "apiVersion": "example.com/v9"}
    body = {**made, "metadata": {**made["metadata"], "managedFields": [entry]}, "spec": {"size": 2}}
    assert owners(served.ok("PUT", f"{WIDGETS}/w?fieldManager=m", body)) == []


@pytest.mark.parametrize(("path", "patch"), [("", {"status": "x"}), ("/status", {"spec": 3})])
def test_m9_an_ignored_part_that_does_not_fit_removes_managed_fields(served: Api, path: str, patch: Object) -> None:
    served.ok("POST", f"{WIDGETS}?fieldManager=m", widget(spec={"size": 1}))
    left = served.ok("PATCH", f"{WIDGETS}/w{path}?fieldManager=m", orjson.dumps(patch), **MERGE)
    assert (left["spec"]["size"], owners(left)) == (1, [])


# --- apply -----------------------------------------------------------------------------------------------------------

OTHER: Object = {"type": "object", "properties": {"other": {"type": "string"}}}


@pytest.fixture
def two(api: Api) -> Api:
    """A server with a definition whose versions have different fields."""
    api.ok("POST", CRDS, definition(version("v1beta1", storage=False), version("v1", OTHER)))
    return api


def test_h4_the_fields_of_a_version_do_not_exist_in_another(two: Api) -> None:
    two.ok("PATCH", f"{WIDGETS}/w?fieldManager=a", orjson.dumps(widget(spec={"other": "x"})), **APPLY)
    target = WIDGETS.replace("/v1/", "/v1beta1/")
    config = orjson.dumps(widget(api_version="example.com/v1beta1", spec={"size": 1}))
    code, _, message = two.refused("PATCH", f"{target}/w?fieldManager=b", config, **APPLY)
    assert (code, message) == (500, "failed to convert new object: .spec.size: field not declared in schema")


def test_h4_an_apply_that_changes_nothing_sets_no_defaults(two: Api) -> None:
    target = WIDGETS.replace("/v1/", "/v1beta1/") + "/w?fieldManager=a"
    config = orjson.dumps(widget(api_version="example.com/v1beta1", spec={}))
    first = two.ok("PATCH", target, config, **APPLY)
    assert first["spec"] == {}, "the storage version has no field that has a default"
    again = two.ok("PATCH", target, config, **APPLY)
    assert again["metadata"]["generation"] == first["metadata"]["generation"] == 1


def test_duplicate_owners_of_a_patch_are_removed_after_admission(served: Api) -> None:
    served.ok("POST", WIDGETS, widget())
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u"}
    patch = orjson.dumps({"metadata": {"ownerReferences": [owner, owner]}})
    answer = served.answer("PATCH", f"{WIDGETS}/w", patch, **MERGE)
    (warning,) = answer.warnings
    assert "contains duplicate entries after mutating admission happens" in warning
    assert answer.body is not None
    assert answer.body.to_object()["metadata"]["ownerReferences"] == [owner]


def test_the_resource_version_of_an_applied_new_object_is_parsed(served: Api) -> None:
    config = widget()
    config["metadata"]["resourceVersion"] = "abc"
    refused = served.refused("PATCH", f"{WIDGETS}/w?fieldManager=a", orjson.dumps(config), **APPLY)
    assert refused == (500, "", 'strconv.ParseUint: parsing "abc": invalid syntax')


# --- definitions -----------------------------------------------------------------------------------------------------


def test_the_author_of_a_definition_owns_its_defaults_and_the_controllers_its_status(api: Api) -> None:
    api.ok("POST", f"{CRDS}?fieldManager=m", definition())
    mine, controllers = api.ok("GET", f"{CRDS}/widgets.example.com")["metadata"]["managedFields"]
    if mine["manager"] != "m":
        mine, controllers = controllers, mine
    assert mine["fieldsV1"]["f:spec"]["f:conversion"] == {".": {}, "f:strategy": {}}
    assert set(mine["fieldsV1"]["f:spec"]["f:names"]) == {"f:kind", "f:listKind", "f:plural", "f:singular"}
    assert (controllers["manager"], controllers["subresource"]) == ("kube-apiserver", "status")
    assert set(controllers["fieldsV1"]["f:status"]) == {"f:acceptedNames", "f:conditions"}


def test_rules_below_an_atomic_map_have_an_old_value(api: Api) -> None:
    fixed = {"type": "string", "maxLength": 9, "x-kubernetes-validations": [{"rule": "self == oldSelf"}]}
    spec = {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"a": fixed}}
    api.ok("POST", CRDS, definition(version(spec=spec)))
    made = api.ok("POST", WIDGETS, widget(spec={"a": "x"}))
    assert api.refused("PUT", f"{WIDGETS}/w", {**made, "spec": {"a": "y"}})[0] == 422


def test_a_list_of_metadata_has_no_empty_continue_token(served: Api) -> None:
    shown = served.ok("GET", WIDGETS, accept="application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io")
    assert "continue" not in shown["metadata"]
    assert served.ok("GET", WIDGETS)["metadata"]["continue"] == ""


def test_a_selector_is_parsed_before_the_shape_of_a_list_is_refused(served: Api) -> None:
    accept = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
    assert served.refused("GET", f"{WIDGETS}?labelSelector=a b", accept=accept)[0] == 400
    assert served.refused("GET", WIDGETS, accept=accept)[0] == 406
