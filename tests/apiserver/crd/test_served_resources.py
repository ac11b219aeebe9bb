"""The resources that a definition serves: its accepted names, its versions, and the verbs of discovery."""

from typing import Any

import pytest

from fakekube.apiserver.crd.definition import resources_of

Object = dict[str, Any]

NAMES = {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"}


def crd(*versions: Object, accepted: Object | None = None, scope: str = "Namespaced", **conditions: str) -> Object:
    spec = {"group": "example.com", "scope": scope, "names": {**NAMES, "shortNames": ["w"]}, "versions": list(versions)}
    found = [{"type": type, "status": status} for type, status in conditions.items()]
    return {"spec": spec, "status": {"acceptedNames": accepted, "conditions": found}}


def version(name: str, *, served: bool = True, storage: bool = False, **more: Any) -> Object:
    return {"name": name, "served": served, "storage": storage, **more}


def test_only_served_versions_have_a_resource() -> None:
    found = resources_of(crd(version("v1", served=False, storage=True), version("v2"), version("v3", storage=True)))
    assert [one.version for one in found] == ["v2", "v3"]
    assert {one.stored_version for one in found} == {"v3"}
    assert [one.stored_version for one in resources_of(crd(version("v1")))] == [""]


@pytest.mark.parametrize(
    ("accepted", "names"),
    [
        (None, ("widgets", "widget", "Widget", "WidgetList", ("w",), ())),
        (
            {"plural": "others", "kind": "Other", "categories": ["all"]},
            ("others", "other", "Other", "OtherList", (), ("all",)),
        ),
    ],
)
def test_the_accepted_names_count(accepted: Object | None, names: tuple[Any, ...]) -> None:
    (one,) = resources_of(crd(version("v1"), accepted=accepted))
    assert (one.plural, one.singular, one.kind, one.list_kind, one.short_names, one.categories) == names
    assert one.collection == f"{names[0]}.example.com"


@pytest.mark.parametrize(("scope", "namespaced"), [("Namespaced", True), ("Cluster", False)])
def test_the_scope_of_a_resource(scope: str, namespaced: bool) -> None:
    assert resources_of(crd(version("v1"), scope=scope))[0].namespaced is namespaced


def test_the_subresources_that_a_version_declares() -> None:
    plain, both = resources_of(crd(version("v1"), version("v2", subresources={"status": {}, "scale": {}})))
    assert dict(plain.subresources) == {}
    shown = {name: (one.group, one.version, one.kind, sorted(one.verbs)) for name, one in both.subresources.items()}
    assert shown == {
        "status": ("example.com", "v2", "Widget", ["get", "patch", "update"]),
        "scale": ("autoscaling", "v1", "Scale", ["get", "patch", "update"]),
    }


@pytest.mark.parametrize(("status", "writes"), [("True", False), ("False", True), ("Unknown", True)])
def test_a_terminating_resource_lists_no_writes(status: str, writes: bool) -> None:
    (one,) = resources_of(crd(version("v1"), Terminating=status))
    assert {"create", "update", "patch"}.isdisjoint(one.listed_verbs) is not writes
    assert {"get", "list", "watch", "delete", "deletecollection"} <= set(one.listed_verbs)
    assert "create" in one.verbs
