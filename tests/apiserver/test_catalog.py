"""The catalog of served resources: its groups and versions, those of other servers, and cached documents."""

import hashlib

import pytest

from fakekube.apiserver.catalog import Catalog, RemoteVersion
from fakekube.apiserver.resource import Resource, version_priority


def resource(group, version, kind="Thing"):
    plural = f"{kind.lower()}s"
    names = {"plural": plural, "singular": kind.lower(), "kind": kind, "list_kind": f"{kind}List"}
    return Resource(group=group, version=version, **names, namespaced=True, verbs=frozenset(), collection=plural)


def test_versions_by_priority():
    ordered = ["v11", "v2", "v1", "v3beta2", "v3beta1", "v1beta3", "v12alpha1", "v2alpha3", "v2alpha1"]
    assert sorted([*ordered[4:], *ordered[:4]], key=version_priority) == ordered
    assert {version_priority(one) for one in ("foo", "v0", "v1gamma1", "v01", "v1beta0", "")} == {(1, 0, 0, 0)}
    assert version_priority("foo") > version_priority("v1alpha1")


def test_custom_versions_are_listed_by_priority_and_built_in_ones_as_they_are():
    catalog = Catalog([resource("apps", "v1beta1"), resource("apps", "v1")])
    for version in ("v1alpha1", "v1", "v2beta1", "v1", "v2"):
        catalog.add(resource("x.io", version))
    catalog.add(resource("apps", "v2"))
    assert catalog.versions("x.io") == ["v2", "v1", "v2beta1", "v1alpha1"]
    assert catalog.versions("apps") == ["v1beta1", "v1", "v2"]
    assert (catalog.is_custom_group("x.io"), catalog.is_custom_group("apps")) == (True, False)
    assert (catalog.serves_version("x.io", "v1"), catalog.serves_version("x.io", "v3")) == (True, False)


def test_a_version_and_a_group_end_with_their_last_resource():
    catalog = Catalog()
    for one in (resource("x.io", "v1"), resource("x.io", "v1", "Other"), resource("x.io", "v2")):
        catalog.add(one)
    catalog.remove(resource("x.io", "v1"))
    assert catalog.versions("x.io") == ["v2", "v1"]
    catalog.remove(resource("x.io", "v1", "Other"))
    assert catalog.versions("x.io") == ["v2"]
    assert catalog.serves_group("x.io")
    catalog.remove(resource("x.io", "v2"))
    catalog.remove(resource("x.io", "v2"))
    assert (catalog.serves_group("x.io"), catalog.versions("x.io"), list(catalog.resources())) == (False, [], [])


def test_resources_are_found_by_name_and_by_kind():
    one, other = resource("x.io", "v1"), resource("", "v1", "Pod")
    catalog = Catalog([one, other])
    assert catalog.find("x.io", "v1", "things") is one
    assert catalog.find("x.io", "v2", "things") is None
    assert catalog.find_kind("x.io/v1", "Thing") is one
    assert catalog.find_kind("v1", "Pod") is other
    assert [catalog.find_kind(*row) for row in (("x.io/v2", "Thing"), ("y.io/v1", "Thing"), ("v1", "Thing"))] == [
        None
    ] * 3


def test_a_copy_does_not_see_changes():
    catalog = Catalog([resource("apps", "v1")])
    catalog.set_remote([RemoteVersion("r.io", "v1", 1, 1)])
    copied = catalog.copy()
    catalog.add(resource("apps", "v2"))
    copied.add(resource("x.io", "v1"))
    copied.set_remote([])
    assert (catalog.versions("apps"), copied.versions("apps")) == (["v1", "v2"], ["v1"])
    assert (catalog.serves_group("x.io"), copied.is_custom_group("apps")) == (False, False)
    assert catalog.remote("r.io", "v1") is not None
    assert copied.remote("r.io", "v1") is None


def remotes(*rows):
    return [RemoteVersion(*row) for row in rows]


def test_versions_of_other_servers_come_first_by_their_priority():
    catalog = Catalog([resource("x.io", "v3"), resource("x.io", "v1")])
    catalog.set_remote(
        remotes(("x.io", "v1", 1, 5), ("x.io", "v2", 1, 9), ("x.io", "v1beta1", 1, 9), ("y.io", "v7", 1, 9))
    )
    assert catalog.shown_versions("x.io") == ["v2", "v1beta1", "v1", "v3"]
    assert catalog.shown_versions("y.io") == ["v7"]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([], ["apps", "batch", "a.io", "b.io"]),
        ([("r.io", "v1", 17600, 1)], ["apps", "r.io", "batch", "a.io", "b.io"]),
        ([("r.io", "v1", 1, 1), ("r.io", "v2", 17600, 1)], ["apps", "r.io", "batch", "a.io", "b.io"]),
        ([("r.io", "v1", 17600, 1), ("r.io", "v2", 1, 1)], ["apps", "r.io", "batch", "a.io", "b.io"]),
        ([("r.io", "v1", 20001, 1)], ["r.io", "apps", "batch", "a.io", "b.io"]),
        ([("aa.io", "v1", 1000, 1)], ["apps", "batch", "a.io", "aa.io", "b.io"]),
        ([("a.a", "v1", 1000, 1)], ["apps", "batch", "a.a", "a.io", "b.io"]),
        ([("r.io", "v1", 999, 1)], ["apps", "batch", "a.io", "b.io", "r.io"]),
        ([("z.io", "v1", 5, 1), ("y.io", "v1", 5, 1), ("x.io", "v1", 6, 1)], ["apps", "batch", "a.io", "b.io", "x.io", "y.io", "z.io"]),
        ([(f"{name}.io", "v1", 5, 1) for name in "pqrs"], ["apps", "batch", "a.io", "b.io", "p.io", "q.io", "r.io", "s.io"]),
        ([(f"{name}.io", "v1", 17600, 1) for name in "sqrp"], ["apps", "p.io", "q.io", "r.io", "s.io", "batch", "a.io", "b.io"]),
        ([("a.io", "v2", 5, 1), ("", "v2", 5, 1)], ["apps", "batch", "a.io", "b.io"]),
    ],
)  # fmt: skip
def test_the_order_of_groups(rows, expected):
    catalog = Catalog([resource("", "v1"), resource("apps", "v1"), resource("batch", "v1")])
    for group in ("b.io", "a.io"):
        catalog.add(resource(group, "v1"))
    catalog.set_remote(remotes(*rows))
    assert catalog.group_names() == expected


def test_apiregistration_precedes_all_groups_of_lower_priority():
    catalog = Catalog([resource("apiregistration.k8s.io", "v1"), resource("apps", "v1")])
    catalog.set_remote(remotes(("r.io", "v1", 19999, 1)))
    assert catalog.group_names() == ["apiregistration.k8s.io", "r.io", "apps"]
    catalog.set_remote(remotes(("r.io", "v1", 20001, 1)))
    assert catalog.group_names() == ["r.io", "apiregistration.k8s.io", "apps"]


def test_kinds_and_documents_of_other_servers():
    row = {
        "resource": "flunders", "singularResource": "flunder", "scope": "Namespaced", "verbs": ["get"], "shortNames": ["fl"],
        "responseKind": {"kind": "Flunder"},
        "subresources": [{"subresource": "status", "responseKind": {"kind": "F", "group": "g", "version": "v"}, "verbs": ["get"]}],
    }  # fmt: skip
    catalog = Catalog()
    catalog.set_remote(
        [
            RemoteVersion("r.io", "v1", 1, 1, (row,), openapi={3: {"a": 1}}),
            RemoteVersion("", "v9", 1, 1, openapi={2: {}, 3: {"b": 1}}),
        ]
    )
    found = catalog.find_remote_kind("r.io/v1", "Flunder")
    assert (found.plural, found.list_kind, found.namespaced, found.short_names) == (
        "flunders",
        "FlunderList",
        True,
        ("fl",),
    )
    assert (found.collection, found.subresources["status"].group) == ("flunders.r.io", "g")
    assert [catalog.find_remote_kind(*one) for one in (("r.io/v1", "X"), ("r.io/v2", "Flunder"), ("v9", "X"))] == [
        None
    ] * 3
    assert catalog.remote_documents(3) == {"apis/r.io/v1": {"a": 1}, "api/v9": {"b": 1}}
    assert catalog.remote_documents(2) == {"api/v9": {}}


class Built:
    """Counts how often each document is built."""

    def __init__(self, catalog):
        self.catalog, self.built, self.encoded = catalog, [], []

    def get(self, key, group=None):
        self.catalog.encoding(key, lambda: self.encoded.append(key) or b"")
        return self.catalog.document(key, lambda: self.built.append(key) or [key], group=group)


def test_documents_are_built_again_when_their_resources_change():
    catalog = Catalog([resource("apps", "v1")])
    built = Built(catalog)

    def get_all():
        built.built.clear(), built.encoded.clear()
        for key, group in (("all", None), ("a", "a.io"), ("b", "b.io")):
            built.get(key, group)
        return built.built[:], built.encoded[:]

    assert get_all() == (["all", "a", "b"],) * 2
    assert get_all() == ([], [])
    catalog.add(resource("a.io", "v1"))
    assert get_all() == (["all", "a"],) * 2
    catalog.remove(resource("b.io", "v1"))
    assert get_all() == (["all", "b"],) * 2
    catalog.set_remote(remotes(("b.io", "v1", 1, 1)))
    assert get_all() == (["all", "b"], ["all", "a", "b"])
    catalog.set_remote(remotes(("b.io", "v1", 1, 1)))
    assert get_all() == ([], [])
    catalog.set_remote([])
    assert get_all()[0] == ["all", "b"]
    found = built.get("all")
    assert (found.json, found.hash) == (b'["all"]', hashlib.sha512(b'["all"]').hexdigest().upper())


def test_every_change_of_what_is_served_is_counted():
    """A document that is made in steps starts again if anything changes meanwhile."""
    catalog = Catalog([resource("apps", "v1")])
    one = resource("x.io", "v1")
    steps = [
        (lambda: catalog.add(one), True),
        (lambda: catalog.document("a", dict), False),
        (lambda: catalog.part("a", dict, group="x.io"), False),
        (lambda: catalog.set_remote(remotes(("r.io", "v1", 1, 1))), True),
        (lambda: catalog.set_remote(remotes(("r.io", "v1", 1, 1))), False),
        (lambda: catalog.set_remote([]), True),
        (lambda: catalog.remove(one), True),
    ]
    for step, counts in steps:
        before = catalog.changes
        step()
        assert (catalog.changes > before) is counts
