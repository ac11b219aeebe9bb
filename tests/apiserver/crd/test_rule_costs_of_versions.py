"""The cost of rules is limited in the versions of a definition whose schemas are new (`validation.go`, suppressPerExpressionCost)."""

from copy import deepcopy
from typing import Any

import pytest

from fakekube.apiserver.endpoints import unchecked
from tests.apiserver.api import CRDS, Api, definition

Object = dict[str, Any]
PATH = f"{CRDS}/backups.example.com"

#: The estimated cost of its rule is above the limit of a rule, and below that of a schema.
COSTLY = {
    "type": "array", "maxItems": 2000, "items": {"type": "string", "maxLength": 10},
    "x-kubernetes-validations": [{"rule": "self.all(x, self.all(y, x == y))"}],
}  # fmt: skip
CHEAP = {"type": "array", "items": {"type": "string"}}


def version(name: str, node: Object, *, storage: bool = False) -> Object:
    schema = {"type": "object", "properties": {"a": node}}
    return {"name": name, "served": True, "storage": storage, "schema": {"openAPIV3Schema": schema}}


def of(one: Object, other: Object) -> Object:
    return definition(versions=[version("v1", one, storage=True), version("v2", other)])


def places(api: Api, method: str, path: str, body: Object) -> list[str]:
    code, found = api.call(method, path, body)
    causes = found.get("details", {}).get("causes", []) if code == 422 else []
    return sorted({one["field"].partition(".schema")[0] for one in causes if "exceeds budget" in one["message"]})


@pytest.mark.parametrize(
    ("one", "other", "refused"),
    [
        (CHEAP, CHEAP, []),
        (COSTLY, CHEAP, ["spec.versions[0]"]),
        (CHEAP, COSTLY, ["spec.versions[1]"]),
        ({**COSTLY, "maxItems": 9}, COSTLY, ["spec.versions[1]"]),
    ],
)
def test_new_rules_are_limited_in_each_version(api: Api, one: Object, other: Object, refused: list[str]) -> None:
    assert places(api, "POST", CRDS, of(one, other)) == refused


@pytest.mark.parametrize(
    ("stored", "sent", "refused"),
    [
        ((CHEAP, COSTLY), (CHEAP, COSTLY), []),
        ((COSTLY, CHEAP), (COSTLY, CHEAP), []),
        ((CHEAP, COSTLY), ({**CHEAP, "maxItems": 5}, COSTLY), []),
        ((CHEAP, COSTLY), (CHEAP, {**COSTLY, "title": "t"}), ["spec.versions[1]"]),
        ((CHEAP, COSTLY), ({**COSTLY, "title": "t"}, COSTLY), ["spec.versions[0]"]),
        ((CHEAP, CHEAP), (CHEAP, COSTLY), ["spec.versions[1]"]),
    ],
)
def test_stored_rules_may_stay(
    api: Api, stored: tuple[Object, Object], sent: tuple[Object, Object], refused: list[str]
) -> None:
    resource = api.apiserver.catalog.find("apiextensions.k8s.io", "v1", "customresourcedefinitions")
    assert resource is not None
    unchecked.write(api.apiserver, resource, deepcopy(of(*stored)), api.context)
    current = deepcopy(api.ok("GET", PATH))
    current["spec"]["versions"] = of(*sent)["spec"]["versions"]
    current["metadata"]["labels"] = {"a": "b"}
    assert places(api, "PUT", PATH, current) == refused
