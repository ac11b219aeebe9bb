"""The versions of a definition: which of them convert, and which read objects as they are stored."""

from typing import Any

import pytest

from fakekube.apiserver.crd.customversion import CustomVersion
from tests.apiserver.api import CRDS, Api
from tests.apiserver.crd.test_custom import version, widgets

Object = dict[str, Any]

HOOK = {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": {"url": "https://a.example.com"}}}  # fmt: skip
OPEN: Object = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def with_status(**status: Any) -> Object:
    return {"type": "object", "properties": {"status": {"type": "object", **status}}}


def made(*versions: Object, conversion: Object | None = None) -> dict[str, CustomVersion]:
    api, crd = Api(), widgets(*versions)
    if conversion is not None:
        crd["spec"]["conversion"] = conversion
    api.ok("POST", CRDS, crd)
    found = {}
    for one in versions:
        resource = api.apiserver.catalog.find("example.com", one["name"], "widgets")
        assert resource is not None
        custom = api.apiserver.registration(resource).version
        assert custom is not None
        found[one["name"]] = custom
    return found


@pytest.mark.parametrize(
    ("names", "conversion", "converts", "on_write"),
    [
        (["v1"], None, [], []),
        (["v1"], HOOK, [], []),
        (["v1", "v2"], None, [], []),
        (["v1", "v2"], HOOK, ["v1", "v2"], ["v2"]),
    ],
)
def test_a_webhook_converts_between_versions(
    names: list[str], conversion: Object | None, converts: list[str], on_write: list[str]
) -> None:
    found = made(*(version(name, OPEN, storage=name == "v1") for name in names), conversion=conversion)
    assert [name for name, one in found.items() if one.converts] == converts
    assert [name for name, one in found.items() if one.converts_on_write] == on_write
    assert {one.storage.name for one in found.values()} == {"v1"}


@pytest.mark.parametrize(
    ("schema", "subresources", "same"),
    [
        (OPEN, {"status": {}}, True),
        (with_status(), {"status": {}}, True),
        (with_status(default={}), {"status": {}}, False),
        (with_status(default={}), {}, True),
        (with_status(properties={"a": {"type": "string", "default": "x"}}), {"status": {}}, True),
    ],
)
def test_a_status_with_a_default_is_read_otherwise_than_it_is_stored(
    schema: Object, subresources: Object, same: bool
) -> None:
    (found,) = made(version("v1", schema, subresources=subresources)).values()
    assert found.reads_as_stored is same


def test_a_definition_with_several_versions_reads_objects_that_another_schema_has_checked() -> None:
    found = made(version("v1", OPEN), version("v2", OPEN, storage=False))
    assert [one.reads_as_stored for one in found.values()] == [False, False]
    assert found["v1"].sibling("example.com/v2") is found["v2"]
    assert found["v1"].sibling("example.com/v3") is None
    assert found["v1"].sibling("other.example.com/v2") is None


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({}, {}),
        ({"apiVersion": "example.com/v1", "kind": "Widget"}, {}),
        ({"apiVersion": "example.com/v2", "kind": "Widget"}, {"apiVersion": "example.com/v2"}),
        ({"apiVersion": "", "kind": "Gadget"}, {"apiVersion": "", "kind": "Gadget"}),
    ],
)
def test_the_type_of_an_object_of_another_kind(given: Object, kept: Object) -> None:
    (found,) = made(version("v1", OPEN)).values()
    assert found.type_of({**given, "spec": {}}) == kept
