"""OpenAPI documents: whole, with every type that they refer to, and as fresh as the server."""

import hashlib
from urllib.parse import urlsplit

import pytest

from fakekube import bootstrap
from tests.core.api import CRDS, Api, definition

V3 = "/openapi/v3"


def references(node):
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):  # the schema of schemas has a field of that name
            yield node["$ref"]
        for value in node.values():
            yield from references(value)
    elif isinstance(node, list):
        for value in node:
            yield from references(value)


def document(api, root):
    return api.ok("GET", f"{V3}/{root}")


def schema(api, root, name):
    return document(api, root)["components"]["schemas"][name]


@pytest.mark.parametrize("version", bootstrap.known_versions())
def test_every_reference_leads_somewhere(version):
    api = Api(version=version)
    api.ok("POST", CRDS, definition())
    for root in api.ok("GET", V3)["paths"]:
        found = document(api, root)
        known = {f"#/components/schemas/{name}" for name in found["components"]["schemas"]}
        assert known.issuperset(references(found)), root
    found = api.ok("GET", "/openapi/v2")
    assert {f"#/definitions/{name}" for name in found["definitions"]}.issuperset(references(found))


def test_every_served_kind_is_a_type_with_its_operations(backups):
    for resource in backups.core.catalog.resources():
        root = f"apis/{resource.group}/{resource.version}" if resource.group else f"api/{resource.version}"
        found = document(backups, root)
        gvk = {"group": resource.group, "version": resource.version, "kind": resource.kind}
        kinds = [
            one
            for node in found["components"]["schemas"].values()
            for one in node.get("x-kubernetes-group-version-kind", ())
        ]
        assert gvk in kinds
        operations = [
            (method, operation["x-kubernetes-action"])
            for path, item in found["paths"].items() if f"/{resource.plural}" in path
            for method, operation in item.items() if method != "parameters"
            if operation["x-kubernetes-group-version-kind"] == gvk
        ]  # fmt: skip
        actions = {"create": ("post", "post"), "update": ("put", "put"), "get": ("get", "get"), "list": ("get", "list")}
        assert {actions[verb] for verb in resource.verbs & actions.keys()} <= set(operations)


def test_writes_say_that_fields_are_validated(api):
    item = document(api, "apis/apps/v1")["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]
    for method in ("put", "patch"):
        assert {"dryRun", "fieldManager", "fieldValidation"} <= {one["name"] for one in item[method]["parameters"]}
    assert item["patch"]["requestBody"]["content"].keys() == {
        "application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json",
        "application/strategic-merge-patch+json",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("type", "field", "marks"),
    [
        pytest.param(
            "io.k8s.api.core.v1.PodSpec", "containers",
            {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "x-kubernetes-patch-strategy": "merge",
             "x-kubernetes-patch-merge-key": "name", "type": "array"}, id="a-list-by-key",
        ),
        pytest.param("io.k8s.api.core.v1.PodSpec", "nodeSelector", {"type": "object", "x-kubernetes-map-type": "atomic"}, id="an-atomic-map"),
        pytest.param("io.k8s.api.core.v1.PodSpec", "activeDeadlineSeconds", {"type": "integer", "format": "int64"}, id="an-integer"),
        pytest.param("io.k8s.api.core.v1.Secret", "data", {"type": "object", "additionalProperties": {"type": "string", "format": "byte"}}, id="bytes"),
    ],
)  # fmt: skip
def test_what_apply_and_patches_go_by(api, type, field, marks):
    found = schema(api, "api/v1", type)["properties"][field]
    assert {key: found.get(key) for key in marks} == marks


def test_version_2_has_the_same_types(api):
    definitions = api.ok("GET", "/openapi/v2")["definitions"]
    assert definitions["io.k8s.api.core.v1.ContainerPort"]["properties"]["protocol"] == {"type": "string"}
    containers = definitions["io.k8s.api.core.v1.PodSpec"]["properties"]["containers"]
    assert containers["x-kubernetes-patch-merge-key"] == "name"


# --- as files that can be kept -----------------------------------------------------------------------------------------


def test_the_index_names_each_document_by_its_content(api):
    response = api.answer("GET", V3)
    assert response.content_type == "text/plain; charset=utf-8"
    address = response.body.to_object()["paths"]["apis/apps/v1"]["serverRelativeURL"]
    found = api.answer("GET", address)
    digest = hashlib.sha512(found.body.encode()).hexdigest().upper()
    assert urlsplit(address) == ("", "", f"{V3}/apis/apps/v1", f"hash={digest}", "")
    assert found.headers["ETag"] == f'"{digest}"'
    assert found.headers["Cache-Control"] == "public, immutable"
    assert "Cache-Control" not in api.answer("GET", f"{V3}/apis/apps/v1").headers


def test_an_outdated_address_leads_to_the_present_one(api):
    response = api.answer("GET", f"{V3}/apis/apps/v1?hash=old")
    present = api.ok("GET", V3)["paths"]["apis/apps/v1"]["serverRelativeURL"]
    assert (response.status, response.headers["Location"]) == (301, present)


@pytest.mark.parametrize("path", [V3, f"{V3}/apis/apps/v1", "/openapi/v2"])
def test_what_the_client_has_is_not_sent_again(api, path):
    tag = api.answer("GET", path).headers["ETag"]
    again = api.answer("GET", path, if_none_match=tag)
    assert (again.status, again.body) == (304, None)


@pytest.mark.parametrize("path", [f"{V3}/apis/apps/v1", "/openapi/v2"])
def test_only_json_is_written(api, path):
    protobuf = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf"
    assert api.answer("GET", path, accept=protobuf).status == 406
    assert api.answer("GET", path, accept=f"{protobuf}, */*").status == 200


def test_a_document_that_there_is_not(api):
    response = api.answer("GET", f"{V3}/apis/none.example.com/v1")
    assert (response.status, response.body, response.content_type) == (404, None, "")


# --- custom kinds ------------------------------------------------------------------------------------------------------


def sized():
    made = definition()
    size = {"type": "integer", "default": 3, "description": "How big."}
    either = {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]}
    spec = {"type": "object", "properties": {"size": size, "either": either}}
    made["spec"]["versions"][0]["schema"] = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    return made


def test_a_custom_kind_comes_and_goes_with_its_definition(api):
    before = api.ok("GET", V3)["paths"]
    api.ok("POST", CRDS, sized())
    found = schema(api, "apis/example.com/v1", "com.example.v1.Backup")
    assert found["properties"]["spec"]["properties"]["size"] == {
        "type": "integer",
        "default": 3,
        "description": "How big.",
    }
    assert found["properties"]["metadata"] == {
        "$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
    }
    api.ok("DELETE", f"{CRDS}/backups.example.com")
    assert api.answer("GET", f"{V3}/apis/example.com/v1").status == 404
    assert api.ok("GET", V3)["paths"] == before


def test_a_changed_definition_changes_its_document_only(api):
    api.ok("POST", CRDS, sized())
    before = api.ok("GET", V3)["paths"]
    patch = {
        "spec": {"versions": [{**sized()["spec"]["versions"][0], "schema": {"openAPIV3Schema": {"type": "object"}}}]}
    }
    api.ok("PATCH", f"{CRDS}/backups.example.com", patch, content_type="application/merge-patch+json")
    after = api.ok("GET", V3)["paths"]
    assert {root for root in after if after[root] != before[root]} == {"apis/example.com/v1"}


def test_version_2_leaves_out_what_it_cannot_say(api):
    api.ok("POST", CRDS, sized())
    spec = api.ok("GET", "/openapi/v2")["definitions"]["com.example.v1.Backup"]["properties"]["spec"]["properties"]
    assert spec["size"] == {"type": "integer", "description": "How big."}
    assert spec["either"] == {"x-kubernetes-int-or-string": True}
