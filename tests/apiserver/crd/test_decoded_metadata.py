"""The metadata of a custom resource is decoded as that of a built-in kind; its schema may nest 120 levels."""

import pytest

from tests.apiserver.api import CRDS, Api, definition

BACKUPS = "/apis/example.com/v1/namespaces/default/backups"


def created(api: Api, **meta):
    api.ok("POST", CRDS, definition())
    body = {"apiVersion": "example.com/v1", "kind": "Backup", "metadata": {"name": "a", **meta}}
    return api.ok("POST", BACKUPS, body)["metadata"]


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ({"labels": {"a": "1"}, "colour": "red"}, {"labels": {"a": "1"}}),
        ({"labels": {"a": None}}, {"labels": {"a": ""}}),
        ({"labels": {}, "annotations": None, "finalizers": []}, {}),
        ({"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u", "colour": "red"}]},
         {"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}]}),
    ],
)  # fmt: skip
def test_the_metadata_is_decoded(api, sent, kept):
    found = created(api, **sent)
    server = ("creationTimestamp", "generation", "managedFields", "name", "namespace", "resourceVersion", "uid")
    assert {key: value for key, value in found.items() if key not in server} == kept


def nested(levels: int):
    schema = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


@pytest.mark.parametrize(("levels", "is_too_deep"), [(119, False), (120, True), (150, True)])
def test_a_schema_nests_at_most_120_levels(api, levels, is_too_deep):
    made = definition()
    made["spec"]["versions"][0]["schema"] = {"openAPIV3Schema": nested(levels)}
    _, found = api.call("POST", CRDS, made)
    messages = [one["message"] for one in (found.get("details") or {}).get("causes") or ()]
    assert (messages == ["Too deep: schemas may nest at most 120 levels"]) is is_too_deep
