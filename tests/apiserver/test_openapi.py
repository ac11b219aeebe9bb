"""OpenAPI documents: complete, consistent and up to date."""

import hashlib
import struct
from urllib.parse import urlsplit

import orjson
import pytest

from fakekube.apiserver.openapi import gnostic, gnosticv3
from fakekube.server import bootstrap
from tests import protofields
from tests.apiserver.api import CRDS, Api, definition

V3 = "/openapi/v3"


def references(node):
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):  # the schema of schemas has a field with this name
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


FIRST, *BETWEEN, LAST = bootstrap.known_versions()


@pytest.mark.parametrize("version", [FIRST, LAST, *(pytest.param(each, marks=pytest.mark.slow) for each in BETWEEN)])
def test_every_reference_resolves(version):
    api = Api(version=version)
    api.ok("POST", CRDS, definition())
    for root in api.ok("GET", V3)["paths"]:
        found = document(api, root)
        known = {f"#/components/schemas/{name}" for name in found.get("components", {}).get("schemas", ())}
        assert known.issuperset(references(found)), root
    found = api.ok("GET", "/openapi/v2")
    known = {f"#/{place}/{name}" for place in ("definitions", "parameters") for name in found[place]}
    assert known.issuperset(references(found))


@pytest.mark.slow
def test_every_served_kind_has_a_type_and_operations(backups):
    for resource in backups.apiserver.catalog.resources():
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
            if operation.get("x-kubernetes-group-version-kind") == gvk
        ]  # fmt: skip
        actions = {"create": ("post", "post"), "update": ("put", "put"), "get": ("get", "get"), "list": ("get", "list")}
        assert {actions[verb] for verb in resource.verbs & actions.keys()} <= set(operations)


def test_writes_have_the_parameter_field_validation(api):
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
def test_extensions_for_apply_and_patches(api, type, field, marks):
    found = schema(api, "api/v1", type)["properties"][field]
    assert {key: found.get(key) for key in marks} == marks


@pytest.mark.slow
def test_version_2_has_the_same_types(api):
    definitions = api.ok("GET", "/openapi/v2")["definitions"]
    protocol = definitions["io.k8s.api.core.v1.ContainerPort"]["properties"]["protocol"]
    assert (protocol["type"], protocol["enum"]) == ("string", ["SCTP", "TCP", "UDP"])
    assert "default" not in protocol
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


def test_an_outdated_url_redirects_to_the_current_one(api):
    response = api.answer("GET", f"{V3}/apis/apps/v1?hash=old")
    present = api.ok("GET", V3)["paths"]["apis/apps/v1"]["serverRelativeURL"]
    assert (response.status, response.headers["Location"]) == (301, present)
    assert (response.headers["Vary"], response.content_type) == ("Accept", "application/json")


@pytest.mark.parametrize("path", [V3, f"{V3}/apis/apps/v1", "/openapi/v2"])
def test_a_cached_document_is_not_sent_again(api, path):
    tag = api.answer("GET", path).headers["ETag"]
    again = api.answer("GET", path, if_none_match=tag)
    assert (again.status, again.body) == (304, None)


def test_versions_are_available_in_their_own_protobuf_only(api):
    assert api.answer("GET", f"{V3}/apis/apps/v1", accept=PROTOBUF).status == 406
    assert api.answer("GET", "/openapi/v2", accept=PROTOBUF_3).status == 406
    assert api.answer("GET", "/openapi/v2", accept=f"{PROTOBUF_3}, */*").status == 200


@pytest.mark.parametrize("path", [f"{V3}/apis/apps/v1", "/openapi/v2"])
def test_other_media_types_are_not_acceptable(api, path):
    response = api.answer("GET", path, accept="text/html")
    assert (response.status, response.headers["Vary"]) == (406, "Accept")


def test_an_unknown_document(api):
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


def test_a_custom_kind_is_published_while_its_definition_exists(api):
    before = api.ok("GET", V3)["paths"]
    api.ok("POST", CRDS, sized())
    found = schema(api, "apis/example.com/v1", "com.example.v1.Backup")
    assert found["properties"]["spec"]["properties"]["size"] == {
        "type": "integer",
        "default": 3,
        "description": "How big.",
    }
    meta = "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
    assert found["properties"]["metadata"]["allOf"] == [{"$ref": meta}]
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


@pytest.mark.slow
def test_version_2_omits_unsupported_keywords(api):
    api.ok("POST", CRDS, sized())
    spec = api.ok("GET", "/openapi/v2")["definitions"]["com.example.v1.Backup"]["properties"]["spec"]["properties"]
    assert spec["size"] == {"type": "integer", "description": "How big."}
    assert spec["either"] == {"x-kubernetes-int-or-string": True}


# --- protobuf ----------------------------------------------------------------------------------------------------------

PROTOBUF = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
PROTOBUF_3 = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf"
OLD_PROTOBUF = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("accept", "content_type"),
    [
        (None, "application/json"),
        ("*/*", "application/json"),
        (PROTOBUF, PROTOBUF),
        (OLD_PROTOBUF, PROTOBUF),
        (f"{OLD_PROTOBUF}, application/json", PROTOBUF),
        (f"application/json, {PROTOBUF}", "application/json"),
        (f"{PROTOBUF};q=0.1, application/json", "application/json"),
        (f"text/html, {PROTOBUF}", PROTOBUF),
    ],
)
def test_version_2_is_available_in_protobuf(api, accept, content_type):
    headers = {"accept": accept} if accept else {}
    response = api.answer("GET", "/openapi/v2", **headers)
    assert (response.status, response.content_type, response.headers["Vary"]) == (200, content_type, "Accept")
    tag = api.answer("GET", "/openapi/v2").headers["ETag"]
    assert response.headers["ETag"] == tag
    assert api.answer("GET", "/openapi/v2", if_none_match=tag, **headers).status == 304


@pytest.mark.parametrize(
    ("accept", "content_type"),
    [
        (PROTOBUF_3, PROTOBUF_3),
        (PROTOBUF_3.replace("v3.v1", "v3@v1"), PROTOBUF_3),
        (f"{PROTOBUF_3};q=0.5, application/json", "application/json"),
    ],
)
def test_version_3_is_available_in_protobuf(api, accept, content_type):
    response = api.answer("GET", f"{V3}/apis/apps/v1", accept=accept)
    assert (response.status, response.content_type, response.headers["Vary"]) == (200, content_type, "Accept")
    assert response.headers["ETag"] == api.answer("GET", f"{V3}/apis/apps/v1").headers["ETag"]


def test_both_encodings_of_version_3_are_equal(api):
    path = f"{V3}/apis/apps/v1"
    written = api.ok("GET", path)
    message = fields(api.answer("GET", path, accept=PROTOBUF_3).body.encode())
    assert message[1] == [b"3.0.0"]
    paths, schemas = pairs(message[4][0], 1), pairs(fields(message[5][0])[1][0], 1)
    assert (list(paths), list(schemas)) == (list(written["paths"]), list(written["components"]["schemas"]))
    operation = fields(fields(paths["/apis/apps/v1/namespaces/{namespace}/deployments"])[6][0])
    assert operation[5] == [b"createAppsV1NamespacedDeployment"]
    assert list(pairs(operation[8][0], 2)) == ["200", "201", "202", "401"]
    for name, schema in written["components"]["schemas"].items():
        found = fields(fields(schemas[name])[1][0])
        properties = pairs(found[31][0], 1) if 31 in found else {}
        assert list(properties) == list(schema.get("properties", {}))
        assert [one.decode() for one in found.get(23, ())] == schema.get("required", [])


@pytest.mark.parametrize(
    ("schema", "encoded"),
    [
        ({"type": "string"}, b"\x0a\x09\xca\x01\x06string"),
        ({"$ref": "#/a"}, b"\x12\x05\x0a\x03#/a"),
        ({"default": 1}, b"\x0a\x0c\x8a\x02\x09\x09" + struct.pack("<d", 1)),
        ({"default": True}, b"\x0a\x05\x8a\x02\x02\x10\x01"),
        ({"default": "a"}, b"\x0a\x06\x8a\x02\x03\x1a\x01a"),
        ({"default": {}}, b"\x0a\x03\x8a\x02\x00"),
        ({"additionalProperties": False}, b"\x0a\x05\x82\x02\x02\x10\x00"),
        ({"additionalProperties": {"$ref": "a"}}, b"\x0a\x0a\x82\x02\x07\x0a\x05\x12\x03\x0a\x01a"),
        ({"items": {"$ref": "a"}}, b"\x0a\x0a\xf2\x01\x07\x0a\x05\x12\x03\x0a\x01a"),
    ],
)
def test_keywords_of_version_3_in_protobuf(schema, encoded):
    document = gnosticv3.encode({"components": {"schemas": {"n": schema}}})
    assert pairs(fields(fields(document)[5][0])[1][0], 1) == {"n": encoded}


@pytest.mark.slow
def test_other_encodings_of_version_2_are_not_available(api):
    assert api.answer("GET", "/openapi/v2", accept="application/yaml").status == 406


def fields(message):
    """The fields of a message, all of which are encoded as bytes, by number."""
    found = {}
    for number, value in protofields.fields(message):
        found.setdefault(number, []).append(value)
    return found


def pairs(message, number):
    named = [fields(one) for one in fields(message).get(number, ())]
    return {one[1][0].decode(): one[2][0] for one in named}


@pytest.mark.slow
def test_both_encodings_are_equal(api):
    api.ok("POST", CRDS, definition())
    written = api.ok("GET", "/openapi/v2")
    message = fields(api.answer("GET", "/openapi/v2", accept=PROTOBUF).body.encode())
    assert message[1] == [b"2.0"]
    assert fields(message[2][0])[1] == [b"Kubernetes"]
    paths, definitions = pairs(message[8][0], 2), pairs(message[9][0], 1)
    assert list(paths) == list(written["paths"])
    assert list(definitions) == list(written["definitions"])
    for name, schema in written["definitions"].items():
        found = fields(definitions[name])
        properties = pairs(found[25][0], 1) if 25 in found else {}
        assert list(properties) == list(schema.get("properties", {}))
        assert [one.decode() for one in found.get(19, ())] == schema.get("required", [])
        extensions = {key: orjson.loads(fields(one)[2][0]) for key, one in pairs(definitions[name], 31).items()}
        assert extensions == {key: value for key, value in schema.items() if key.startswith("x-")}


@pytest.mark.parametrize(
    ("schema", "encoded"),
    [
        ({"type": "string"}, b"\xb2\x01\x08\x0a\x06string"),
        ({"$ref": "#/a"}, b"\x0a\x03#/a"),
        ({"minimum": 1.5}, b"\x49" + struct.pack("<d", 1.5)),
        ({"maxLength": 300}, b"\x58\xac\x02"),
        ({"minItems": -1}, b"\x78" + b"\xff" * 9 + b"\x01"),
        ({"items": {"$ref": "a"}}, b"\xba\x01\x05\x0a\x03\x0a\x01a"),
        ({"additionalProperties": True}, b"\xaa\x01\x02\x10\x01"),
        ({"additionalProperties": {"$ref": "a"}}, b"\xaa\x01\x05\x0a\x03\x0a\x01a"),
        ({"enum": ["a", 1]}, b'\xa2\x01\x05\x12\x03"a"\xa2\x01\x03\x12\x011'),
        ({"nullable": True, "x-a": 1}, b"\xfa\x01\x0a\x0a\x03x-a\x12\x03\x12\x011"),
    ],
)
def test_keywords_in_protobuf(schema, encoded):
    document = gnostic.encode({"definitions": {"n": schema}})
    assert pairs(fields(document)[9][0], 1) == {"n": encoded}


def test_parameters_in_protobuf():
    parameters = [
        {"in": "body", "name": "body", "required": True, "schema": {"$ref": "a"}},
        {"in": "query", "name": "q", "type": "string", "uniqueItems": True},
        {"in": "path", "name": "p", "type": "string"},
    ]
    document = gnostic.encode({"paths": {"/a": {"get": {"parameters": parameters}}}})
    operation = fields(pairs(fields(document)[8][0], 2)["/a"])[2][0]
    body, query, path = (fields(one)[1][0] for one in fields(operation)[8])
    assert fields(fields(body)[1][0]) == {2: [b"body"], 3: [b"body"], 4: [1], 5: [b"\x0a\x01a"]}
    assert fields(fields(fields(query)[2][0])[3][0]) == {2: [b"query"], 4: [b"q"], 6: [b"string"], 20: [1]}
    assert fields(fields(fields(path)[2][0])[4][0]) == {2: [b"path"], 4: [b"p"], 5: [b"string"]}


def test_shared_parameters_in_protobuf():
    parameter = {"uniqueItems": True, "type": "string", "name": "pretty", "in": "query"}
    item = {"parameters": [{"$ref": "#/parameters/pretty-1"}]}
    document = fields(gnostic.encode({"paths": {"/a": item}, "parameters": {"pretty-1": parameter}}))
    reference = fields(fields(pairs(document[8][0], 2)["/a"])[9][0])[2][0]
    assert fields(reference) == {1: [b"#/parameters/pretty-1"]}
    assert fields(fields(fields(pairs(document[10][0], 1)["pretty-1"])[2][0])[3][0])[4] == [b"pretty"]
