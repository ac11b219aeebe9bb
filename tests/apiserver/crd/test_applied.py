"""Server-side apply of custom resources, and the defaults of their status."""

from typing import Any

import pytest

from tests.apiserver.api import CRDS, Api, definition

Object = dict[str, Any]

BACKUPS = "/apis/example.com/v1/namespaces/default/backups"
APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"

NUMBER = {"type": "integer"}
OPEN = {"x-kubernetes-preserve-unknown-fields": True}


def of(**properties: Object) -> Object:
    return {"type": "object", "properties": properties}


SPEC = of(
    o=of(y=NUMBER),
    m={"type": "object", "additionalProperties": of(y=NUMBER)},
    text={"type": "string"},
    nullable={"type": "string", "nullable": True},
    plain={"type": "object"},
    free={"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    items={
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["k"],
        "items": {**of(k={"type": "string"}, v=of(y=NUMBER)), "required": ["k"]},
    },
)


def defined(api: Api, status: Object, spec: Object = SPEC) -> Api:
    schema = {"openAPIV3Schema": of(spec=spec, status=status)}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema, "subresources": {"status": {}}}
    api.ok("POST", CRDS, definition(versions=[version]))
    return api


@pytest.fixture
def api() -> Api:
    return defined(Api(), of(count=NUMBER))


def backup(**parts: Any) -> Object:
    return {"apiVersion": "example.com/v1", "kind": "Backup", "metadata": {"name": "a"}, **parts}


def applied(api: Api, path: str = f"{BACKUPS}/a", manager: str = "m", **parts: Any) -> tuple[int, Any]:
    return api.call("PATCH", f"{path}?fieldManager={manager}&force=true", backup(**parts), content_type=APPLY)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"o": {"y": 1}}, {"o": {}}),
        ({"m": {"a": {"y": 1}}}, {"m": {"a": {}}}),
        ({"m": {"a": {"y": 1}}}, {"m": {}}),
        ({"free": {"x": {"y": 1}}}, {"free": {"x": {}}}),
        ({"items": [{"k": "a", "v": {"y": 1}}]}, {"items": [{"k": "a", "v": {}}]}),
    ],
)
def test_h4_an_empty_object_that_is_applied_stays(api: Api, before: Object, after: Object) -> None:
    assert applied(api, spec=before)[1]["spec"] == before
    assert applied(api, spec=after)[1]["spec"] == after


def test_h4_a_parent_stays_when_another_manager_gives_up_its_child(api: Api) -> None:
    applied(api, spec={"o": {}})
    applied(api, manager="other", spec={"o": {"y": 1}})
    assert applied(api, manager="other")[1]["spec"] == {"o": {}}


def test_h5_null_is_invalid_where_it_is_not_nullable(api: Api) -> None:
    applied(api, spec={"text": "a", "nullable": "a"})
    code, answer = applied(api, spec={"text": None, "nullable": "a"})
    assert (code, answer["details"]["causes"][0]["field"]) == (422, "spec.text")
    assert applied(api, spec={"text": "a", "nullable": None})[1]["spec"] == {"text": "a", "nullable": None}


def test_h5_an_absent_status_may_be_applied_as_null(api: Api) -> None:
    api.ok("POST", BACKUPS, backup())
    code, answer = applied(api, f"{BACKUPS}/a/status", status=None)
    assert (code, "status" in answer) == (200, False)
    assert answer["metadata"]["managedFields"][0]["fieldsV1"] == {"f:status": {}}
    api.ok("PATCH", f"{BACKUPS}/a/status", {"status": {"count": 1}}, content_type=MERGE)
    code, answer = applied(api, f"{BACKUPS}/a/status", status=None)
    assert (code, answer["status"]) == (200, {"count": 1}), "null does not remove what another manager owns"


@pytest.mark.parametrize(
    ("status", "shown"),
    [
        ({**of(count={**NUMBER, "default": 1}), "default": {}}, {"count": 1}),
        ({**of(count=NUMBER), "default": {"count": 2}}, {"count": 2}),
        (of(count={**NUMBER, "default": 1}), None),
    ],
    ids=["empty", "whole", "below"],
)
def test_h6_the_status_of_a_new_object_has_its_defaults(status: Object, shown: Object | None) -> None:
    api = defined(Api(), status)
    assert api.ok("POST", BACKUPS, backup()).get("status") == shown
    assert api.ok("GET", f"{BACKUPS}/a").get("status") == shown
    assert applied(api)[1].get("status") == shown
    assert api.ok("GET", BACKUPS)["items"][0].get("status") == shown


def test_h7_an_apply_of_what_is_pruned_writes_each_time(api: Api) -> None:
    versions = []
    for _ in range(3):
        meta = applied(api, spec={"plain": {"x": 1}})[1]["metadata"]
        versions.append((meta["resourceVersion"], meta["generation"]))
    assert len(set(versions)) == 3
    assert [generation for _, generation in versions] == [1, 2, 3]


def test_embedded_metadata_that_is_applied_is_stored_as_it_would_be_decoded() -> None:
    pod = {"type": "object", "x-kubernetes-embedded-resource": True, **OPEN}
    api = defined(Api(), of(), of(pod=pod))
    sent = {"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {"a": None}, "creationTimestamp": None}}
    assert applied(api, spec={"pod": sent})[0] == 201
    assert api.ok("GET", f"{BACKUPS}/a")["spec"]["pod"]["metadata"] == {"labels": {"a": ""}}
