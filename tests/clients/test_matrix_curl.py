"""curl: the API as plain HTTP."""

import json
import shutil
import subprocess

import pytest

from tests.clients import servers

pytestmark = [pytest.mark.slow, pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")]

KINDS = [
    pytest.param("api/v1", "configmaps", {"apiVersion": "v1", "kind": "ConfigMap", "data": {"x": "1"}}, "data", id="ConfigMap"),
    pytest.param(
        "apis/example.com/v1",
        "gadgets",
        {"apiVersion": "example.com/v1", "kind": "Gadget", "spec": {"x": "1"}},
        "spec",
        id="Gadget",
    ),
]  # fmt: skip


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server of curl's own, whose versions may expire."""
    with servers.standalone(tmp_path_factory.mktemp("curl")) as made:
        yield made


@pytest.fixture
def curl(server):
    def run(path, *options, method="GET", body=None, kind="application/json", status=200):
        """The answer's text; `status` is what the server must say."""
        command = ["curl", "--silent", "--show-error", "--max-time", "60", "--request", method, f"{server.url}/{path}"]
        command += ["--write-out", "\n%{http_code}", *options]
        if body is not None:
            command += ["--header", f"Content-Type: {kind}", "--data-binary", "@-"]
        text = body if isinstance(body, str) or body is None else json.dumps(body)
        done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=90, check=True)
        answer, _, code = done.stdout.rpartition("\n")
        assert int(code) == status, answer
        return answer

    return run


@pytest.fixture
def answered(curl):
    return lambda *arguments, **options: json.loads(curl(*arguments, **options))


def named(body, name, **meta):
    return {**body, "metadata": {"name": name, **meta}}


def test_discovery(answered):
    assert answered("version")["gitVersion"].startswith("v1.36.2")
    assert answered("api")["versions"] == ["v1"]
    assert "example.com" in [group["name"] for group in answered("apis")["groups"]]
    assert [found["name"] for found in answered("apis/example.com/v1")["resources"]] == ["gadgets", "gadgets/status"]
    aggregated = "Accept: application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    assert answered("apis", "--header", aggregated)["kind"] == "APIGroupDiscoveryList"


def test_health_and_openapi(curl, answered):
    assert [curl(path) for path in ("healthz", "livez", "readyz")] == ["ok"] * 3
    assert "api/v1" in answered("openapi/v3")["paths"]


@pytest.mark.parametrize(("root", "plural", "body", "field"), KINDS)
def test_an_objects_life(answered, namespace, root, plural, body, field):
    collection = f"{root}/namespaces/{namespace}/{plural}"
    created = answered(collection, method="POST", body=named(body, "a"), status=201)
    assert answered(f"{collection}/a") == created
    assert answered(f"{collection}/a", method="PUT", body={**created, field: {"colour": "red"}})[field] == {
        "colour": "red"
    }
    stale = answered(f"{collection}/a", method="PUT", body=created, status=409)
    assert (stale["reason"], stale["code"]) == ("Conflict", 409)
    assert answered(f"{collection}/a", method="DELETE")["status"] == "Success"
    assert answered(f"{collection}/a", status=404)["reason"] == "NotFound"


@pytest.mark.parametrize(("root", "plural", "body", "field"), KINDS)
def test_patches(answered, namespace, root, plural, body, field):
    collection = f"{root}/namespaces/{namespace}/{plural}"
    answered(collection, method="POST", body=named({**body, field: {"colour": "red"}}, "a"), status=201)
    merge = {field: {"colour": "blue"}}
    found = answered(f"{collection}/a", method="PATCH", body=merge, kind="application/merge-patch+json")
    assert found[field] == {"colour": "blue"}
    operations = [
        {"op": "test", "path": f"/{field}/colour", "value": "blue"},
        {"op": "remove", "path": f"/{field}/colour"},
    ]
    found = answered(f"{collection}/a", method="PATCH", body=operations, kind="application/json-patch+json")
    assert "colour" not in found.get(field, {})
    answered(f"{collection}/a", method="PATCH", body={}, kind="text/plain", status=415)


@pytest.mark.parametrize(("root", "plural", "body", "field"), KINDS)
def test_apply(answered, namespace, root, plural, body, field):
    path = f"{root}/namespaces/{namespace}/{plural}/a"
    options = {"method": "PATCH", "kind": "application/apply-patch+yaml"}
    red, blue = (named({**body, field: {"colour": colour}}, "a") for colour in ("red", "blue"))
    applied = answered(f"{path}?fieldManager=one", body=red, status=201, **options)
    assert applied["metadata"]["managedFields"][0]["manager"] == "one"
    conflict = answered(f"{path}?fieldManager=two", body=blue, status=409, **options)
    assert conflict["details"]["causes"][0]["field"] == f".{field}.colour"
    assert answered(f"{path}?fieldManager=two&force=true", body=blue, **options)[field] == {"colour": "blue"}


@pytest.mark.parametrize(("root", "plural", "body", "field"), KINDS)
def test_selectors_and_pages(answered, namespace, root, plural, body, field):
    collection = f"{root}/namespaces/{namespace}/{plural}"
    for name, app in (("a", "web"), ("b", "db"), ("c", "web")):
        answered(collection, method="POST", body=named({**body, field: {}}, name, labels={"app": app}), status=201)

    def names(query):
        found = answered(f"{collection}?{query}")
        return [item["metadata"]["name"] for item in found["items"]], found["metadata"].get("continue", "")

    assert names("labelSelector=app%3Dweb")[0] == ["a", "c"]
    assert names("fieldSelector=metadata.name%3Db")[0] == ["b"]
    page, token = names("limit=2")
    assert (page, names(f"limit=2&continue={token}")[0]) == (["a", "b"], ["c"])


@pytest.mark.parametrize(("root", "plural", "body", "field"), KINDS)
def test_watches(curl, answered, server, namespace, root, plural, body, field):
    collection = f"{root}/namespaces/{namespace}/{plural}"
    start = answered(collection)["metadata"]["resourceVersion"]
    created = answered(collection, method="POST", body=named({**body, field: {}}, "a"), status=201)
    answered(f"{collection}/a", method="DELETE")

    def events(version):
        text = curl(f"{collection}?watch=1&timeoutSeconds=1&resourceVersion={version}")
        return [json.loads(line) for line in text.splitlines()]

    assert [event["type"] for event in events(start)] == ["ADDED", "DELETED"]
    assert [event["type"] for event in events(created["metadata"]["resourceVersion"])] == ["DELETED"]
    server.expire()
    (refused,) = events(start)
    assert (refused["type"], refused["object"]["reason"], refused["object"]["code"]) == ("ERROR", "Expired", 410)


def test_a_body_in_yaml(answered, curl, namespace):
    collection = f"api/v1/namespaces/{namespace}/configmaps"
    curl(collection, method="POST", body="metadata: {name: a}\ndata: {x: '1'}\n", kind="application/yaml", status=201)
    assert answered(f"{collection}/a")["data"] == {"x": "1"}
    assert "kind: ConfigMap\n" in curl(f"{collection}/a", "--header", "Accept: application/yaml")


def test_a_large_body_of_which_curl_asks_first(answered, namespace):
    collection = f"apis/example.com/v1/namespaces/{namespace}/gadgets"
    body = {
        "apiVersion": "example.com/v1",
        "kind": "Gadget",
        "metadata": {"name": "a"},
        "spec": {"colour": "x" * 1_200_000},
    }
    assert answered(collection, method="POST", body=body, status=201)["spec"] == body["spec"]
    body["spec"]["colour"] = "x" * 4_000_000
    found = answered(collection, method="POST", body=body, status=413)
    assert found["reason"] == "RequestEntityTooLarge"
