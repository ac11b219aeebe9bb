"""A6: OpenAPI documents are made of kept parts, and other requests run between the making of parts."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from fakekube.apiserver.needs import Delay
from fakekube.apiserver.openapi import gnostic
from tests.apiserver.api import CRDS, Api

V2 = "/openapi/v2"
PROTOBUF = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"


def definition(number: int, *, text: str = "string") -> dict[str, Any]:
    spec = {"type": "object", "properties": {"a": {"type": text, "description": "é"}, "m": {"type": "object"}}}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    group = f"g{number}.example.com"
    return {
        "metadata": {"name": f"things.{group}"},
        "spec": {
            "group": group, "scope": "Namespaced", "names": {"plural": "things", "kind": "Thing"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }  # fmt: skip


def encoded(api: Api) -> bytes:
    body = api.answer("GET", V2, accept=PROTOBUF).body
    assert body is not None
    return body.encode()


@pytest.mark.slow
def test_the_document_of_parts_in_protobuf_is_that_of_the_document_in_json(api: Api) -> None:
    for number in range(3):
        api.ok("POST", CRDS, definition(number))
    assert encoded(api) == gnostic.encode(api.ok("GET", V2))


@pytest.mark.slow
@pytest.mark.parametrize("change", ["create", "update", "delete"])
def test_a_change_of_one_definition_makes_its_own_parts_only(api: Api, change: str) -> None:
    for number in range(5):
        api.ok("POST", CRDS, definition(number))
    encoded(api)
    fresh = Api()
    kept = [number for number in range(5) if change != "delete" or number != 3]
    for number in kept:
        fresh.ok("POST", CRDS, definition(number, text="integer" if (change, number) == ("update", 3) else "string"))
    built = api.apiserver.catalog.built
    if change == "create":
        api.ok("POST", CRDS, definition(5))
        fresh.ok("POST", CRDS, definition(5))
    elif change == "delete":
        api.ok("DELETE", f"{CRDS}/things.g3.example.com")
    else:
        path = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/a/type"
        patch = [{"op": "replace", "path": path, "value": "integer"}]
        kind = "application/json-patch+json"
        api.ok("PATCH", f"{CRDS}/things.g3.example.com", orjson.dumps(patch), content_type=kind)
    assert encoded(api) == encoded(fresh)
    # the document, and the parts of the group and of its version
    assert api.apiserver.catalog.built - built <= 3


@pytest.mark.slow
@pytest.mark.parametrize("path", [V2, "/openapi/v3"])
def test_other_requests_run_between_the_parts_of_a_document(api: Api, path: str) -> None:
    """A definition that is created meanwhile is in the document."""
    for number in range(3):
        api.ok("POST", CRDS, definition(number))
    pauses = 0

    def create(need: Any) -> None:
        nonlocal pauses
        assert need == Delay(0.0)
        pauses += 1
        if pauses == 2:
            api.ok("POST", CRDS, definition(9))

    shown = orjson.loads(api.answer("GET", path, reply=create).body.encode())  # type: ignore[union-attr]
    assert pauses > 10
    assert any("g9.example.com" in one for one in shown["paths"])
    pauses = 100
    api.answer("GET", path, reply=create)
    assert pauses == 100  # nothing is made again
