"""The non-resource paths: discovery, health and metrics."""

import hashlib

import orjson
import pytest

from fakekube import data
from fakekube.apiserver.endpoints.health import CHECKS
from fakekube.apiserver.endpoints.metrics import family
from tests.apiserver.api import CONFIGMAPS, CRDS, Api, configmap, definition

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
RECORDED = data.load("discovery-v1.36.json")


@pytest.mark.parametrize(("path", "part"), [("/api", "core"), ("/apis", "groups")])
def test_aggregated_discovery_equals_the_real_servers(api, path, part):
    document = api.ok("GET", path, accept=AGGREGATED)
    assert document == {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": RECORDED[part],
    }


def test_legacy_discovery_of_the_core_group_equals_the_real_servers(api):
    document = api.ok("GET", "/api/v1")
    assert [row["name"] for row in document["resources"]] == [
        row["name"] for row in RECORDED["legacy_api_v1"]["resources"]
    ]
    recorded = {row["name"]: row for row in RECORDED["legacy_api_v1"]["resources"]}
    assert {row["name"]: row for row in document["resources"]}.keys() == recorded.keys()
    without_hash = [{k: v for k, v in row.items() if k != "storageVersionHash"} for row in document["resources"]]
    for row in without_hash:
        expected = {k: v for k, v in recorded[row["name"]].items() if k != "storageVersionHash"}
        assert {**row, "singularName": row["singularName"]} == expected


def test_an_unchanged_document_is_not_sent_again(api):
    first = api.answer("GET", "/apis", accept=AGGREGATED)
    tag = first.headers["ETag"]
    assert tag == f'"{hashlib.sha512(first.body.encode()).hexdigest().upper()}"'
    assert first.headers["Vary"] == "Accept"
    again = api.answer("GET", "/apis", accept=AGGREGATED, if_none_match=tag)
    assert (again.status, again.body, again.headers["ETag"], again.content_type) == (304, None, tag, "")
    api.ok("POST", CRDS, definition())
    changed = api.answer("GET", "/apis", accept=AGGREGATED, if_none_match=tag)
    assert (changed.status, changed.headers["ETag"] == tag) == (200, False)


def test_custom_groups_are_last_and_sorted_by_name(api):
    for group in ("zebra.example.com", "apple.example.com"):
        made = definition(group=group)
        made["metadata"]["name"] = f"backups.{group}"
        api.ok("POST", CRDS, made)
    names = [group["name"] for group in api.ok("GET", "/apis")["groups"]]
    assert names[-2:] == ["apple.example.com", "zebra.example.com"]
    assert [item["metadata"]["name"] for item in api.ok("GET", "/apis", accept=AGGREGATED)["items"]] == names


def test_a_custom_kind_names_its_own_group_and_version(backups):
    item = backups.ok("GET", "/apis", accept=AGGREGATED)["items"][-1]
    row = item["versions"][0]["resources"][0]
    own = {"group": "example.com", "version": "v1", "kind": "Backup"}
    assert (row["responseKind"], row["subresources"][0]["responseKind"]) == (own, own)
    assert row["verbs"] == ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"]


@pytest.mark.parametrize(
    ("version", "asked", "given"),
    [
        pytest.param("1.36", ("v2", "v2beta1"), "v2", id="today"),
        pytest.param("1.36", ("v2beta1",), "", id="the-beta-is-gone"),
        pytest.param("1.30", ("v2", "v2beta1"), "v2", id="both"),
        pytest.param("1.30", ("v2beta1",), "v2beta1", id="the-beta-still"),
        pytest.param("1.27", ("v2", "v2beta1"), "v2beta1", id="the-beta-only"),
        pytest.param("1.26", ("v2", "v2beta1"), "", id="not-yet"),
    ],
)
def test_versions_of_aggregated_discovery(version, asked, given):
    accept = ", ".join(AGGREGATED.replace("v=v2", f"v={one}") for one in asked) + ", application/json"
    document = Api(version=version).ok("GET", "/apis", accept=accept)
    expected = ("APIGroupDiscoveryList", f"apidiscovery.k8s.io/{given}") if given else ("APIGroupList", "v1")
    assert (document["kind"], document["apiVersion"]) == expected


# --- health and metrics ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    ["/healthz", "/livez", "/readyz", "/livez/ping", "/readyz/etcd", "/livez/poststarthook/rbac/bootstrap-roles"],
)
def test_health_checks_succeed(api, path):
    response = api.answer("GET", path)
    assert (response.status, response.body.to_object()) == (200, "ok")
    assert response.content_type == "text/plain; charset=utf-8"


def test_an_unknown_health_check(api):
    assert api.refused("GET", "/livez/none") == (404, "", "404 page not found\n")
    assert api.refused("GET", "/livez/shutdown")[0] == 404
    assert api.ok("GET", "/readyz/shutdown") == "ok"


def test_each_health_check_by_name(api):
    for path, checks in CHECKS.items():
        lines = api.ok("GET", f"/{path}?verbose").splitlines()
        assert lines == [*(f"[+]{check} ok" for check in checks), f"{path} check passed"]


def test_excluded_health_checks(api):
    lines = api.ok("GET", "/livez?verbose=1&exclude=etcd&exclude=b&exclude=a").splitlines()
    assert "[+]etcd excluded: ok" in lines
    assert lines[-2:] == [
        'warn: some health checks cannot be excluded: no matches for "a","b"',
        "livez check passed",
    ]


def test_metrics_count_stored_objects(api):
    api.ok("POST", CONFIGMAPS, configmap())
    response = api.answer("GET", "/metrics")
    assert response.content_type.startswith("text/plain; version=0.0.4")
    lines = response.body.to_object().splitlines()
    assert 'apiserver_resource_objects{resource="configmaps"} 1' in lines
    assert f"fakekube_storage_revision {api.revision}" in lines
    assert "# TYPE apiserver_resource_objects gauge" in lines
    assert any(line.startswith("kubernetes_build_info{") and 'minor="36"' in line for line in lines)


def test_a_metric_label_with_quotes():
    assert family("m", "gauge", "What.", [({"a": 'x"\\\n'}, 1)]) == (
        '# HELP m What.\n# TYPE m gauge\nm{a="x\\"\\\\\\n"} 1\n'
    )


@pytest.mark.slow
def test_the_list_of_paths(api):
    paths = api.ok("GET", "/")["paths"]
    assert paths == sorted(paths)
    for path in paths:
        if path != "/openapi/v3/":
            assert api.call("GET", path)[0] == 200, path


def test_servers_do_not_share_documents(backups):
    backups.ok("GET", "/apis")
    assert "example.com" not in orjson.dumps(Api().ok("GET", "/apis")).decode()
