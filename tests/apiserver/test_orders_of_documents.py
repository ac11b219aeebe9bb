"""Documents, warnings and causes have one order, whatever the order of the objects that they are made of."""

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakekube.apiserver.crd.schematraits import SchemaTraits
from fakekube.apiserver.openapi import gnostic, typenames
from fakekube.apiserver.patch import json_patch
from fakekube.apiserver.registry.apiextensions.customresourcedefinition.internaltype import shown_items
from fakekube.apiserver.registry.apiextensions.customresourcedefinition.nonstructural import structural_errors
from tests.apiserver.api import BACKUPS, CONFIGMAPS, CRDS, Api, backup, configmap, definition
from tests.protofields import fields


def in_order(items):
    return list(items) == sorted(items)


def test_openapi_2_is_sorted(backups):
    found = backups.ok("GET", "/openapi/v2")
    for section in ("paths", "definitions", "parameters"):
        assert in_order(found[section]), section
    for name in ("DeleteOptions", "WatchEvent"):
        kinds = found["definitions"][f"io.k8s.apimachinery.pkg.apis.meta.v1.{name}"]["x-kubernetes-group-version-kind"]
        assert kinds[0] == {"group": "", "kind": name, "version": "v1"}
        assert in_order([(one["group"], one["version"]) for one in kinds])


def test_openapi_3_is_sorted(backups):
    index = backups.ok("GET", "/openapi/v3")["paths"]
    assert in_order(index)
    found = backups.ok("GET", "/openapi/v3/apis/example.com/v1")
    assert in_order(found["paths"])
    assert in_order(found["components"]["schemas"])


@given(st.lists(st.from_regex(r"[a-c]\.io/v[12]", fullmatch=True), unique=True, max_size=6))
def test_types_that_all_groups_register_list_the_groups_in_order(versions):
    for kinds in typenames.cross_registered(versions).values():
        assert [f"{one['group']}/{one['version']}" for one in kinds] == ["/v1", *sorted(versions)]


@given(st.permutations(["x-c", "x-a", "x-b"]))
def test_extensions_keep_their_order_in_protobuf(names):
    encoded = gnostic.encode({"info": {name: names.index(name) for name in names}})
    named = [value for number, value in fields(dict(fields(encoded))[2]) if number == 7]
    assert [dict(fields(one))[1].decode() for one in named] == names


def test_the_paths_of_the_server_are_sorted(backups):
    found = backups.ok("GET", "/")["paths"]
    assert in_order(found)
    assert "/apis/example.com/v1" in found


def test_metrics_are_sorted_by_their_labels():
    api = Api()
    for method, path in (("POST", CRDS), ("GET", CONFIGMAPS), ("GET", "/healthz"), ("GET", "/version")):
        api.answer(method, path, definition() if method == "POST" else b"")
    lines = api.answer("GET", "/metrics").body.to_object().splitlines()
    for family in ("apiserver_resource_objects", "apiserver_flowcontrol_dispatched_requests_total"):
        found = [line for line in lines if line.startswith(f"{family}{{")]
        assert in_order(found), family


WARNING = 'metadata.finalizers: "{}": prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers'


@pytest.mark.parametrize(
    ("old", "new", "warned"),
    [
        ([], ["c", "a", "b"], ["a", "b", "c"]),
        (["b"], ["c", "a", "b"], ["a", "c"]),
        (["a", "b", "c"], ["c", "b"], []),
        ([], ["example.com/x", "kubernetes", "orphan", "foregroundDeletion"], []),
    ],
)
def test_warnings_about_new_finalizers_are_sorted(backups, old, new, warned):
    backups.ok("POST", BACKUPS, backup(metadata={"finalizers": old}))
    change = {"metadata": {"finalizers": new}}
    response = backups.answer("PATCH", f"{BACKUPS}/nightly", change, content_type="application/merge-patch+json")
    assert [one for one in response.warnings if "finalizers" in one] == [WARNING.format(name) for name in warned]


def test_unknown_fields_of_embedded_resources_are_sorted(api):
    embedded = {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"z": embedded, "a": embedded}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    api.ok("POST", CRDS, definition(versions=[version]))
    inner = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "z": 1, "b": 1}}
    message = api.refused("POST", f"{BACKUPS}?fieldValidation=Strict", backup(z=inner, a=inner))[2]
    assert [part for part in message.split('"') if "metadata" in part] == [
        f"{field}.metadata.{unknown}" for field in "az" for unknown in "bz"
    ]


@pytest.mark.parametrize("managers", ["ab", "ba"])
def test_the_causes_of_a_conflict_are_those_of_one_manager_after_another(api, managers):
    for manager in managers:
        own = configmap(data={f"{manager}2": "x", f"{manager}1": "x"})
        api.ok("PATCH", f"{CONFIGMAPS}/a?fieldManager={manager}", own, content_type="application/apply-patch+yaml")
    wanted = configmap(data={"a1": "y", "a2": "y", "b1": "y", "b2": "y"})
    how = {"content_type": "application/apply-patch+yaml"}
    code, status = api.call("PATCH", f"{CONFIGMAPS}/a?fieldManager=c", wanted, **how)
    assert code == 409
    assert [(one["message"], one["field"]) for one in status["details"]["causes"]] == [
        (f'conflict with "{field[0]}"', f".data.{field}") for field in ("a1", "a2", "b1", "b2")
    ]


def test_the_members_of_what_a_json_patch_changes_are_sorted():
    """Go encodes the maps that it has decoded in the order of their keys."""
    document = {"b": {"z": 1, "a": 2}, "a": {"z": 1, "a": 2}}
    patch = [{"op": "add", "path": "/b/c", "value": 3}]
    changed = json_patch.apply(document, patch)
    assert orjson.dumps(changed["b"]) == b'{"a":2,"c":3,"z":1}'
    assert list(changed) == ["a", "b"]
    assert list(changed["a"]) == ["z", "a"]


def test_schemas_in_an_error_have_sorted_properties():
    shown = shown_items([{"properties": {"b": {"type": "string"}, "a": {"type": "string"}}}])
    assert 0 < shown.index('"a":{') < shown.index('"b":{')


def test_errors_of_structural_schemas_are_sorted_by_their_text():
    """Errors of a field are after those of its descendants, as `.` is before `:`."""
    inner = {"type": "null", "not": {"title": "t", "default": 1, "properties": {"b": {}, "a": {"type": "string"}}}}
    node = {"type": "object", "properties": {"s": inner}, "additionalProperties": {"type": "string"}}
    errors = [str(error) for error in structural_errors(node, "root", SchemaTraits(node))]
    assert len(errors) == 4
    assert in_order(errors)
