"""Validation of metadata, and the fields that the server sets and keeps."""

import pytest

from fakekube.apiserver import names
from fakekube.apiserver.schema import objectmeta
from fakekube.apiserver.wire.status import FieldError

OWNER = {"apiVersion": "v1", "kind": "Pod", "name": "x", "uid": "u"}


def problems(meta, **how):
    options = {"namespaced": True, "namespace": "default", "name_check": names.dns_subdomain_problems, **how}
    return [str(error) for error in objectmeta.validate({"name": "a", **meta}, **options)]


@pytest.mark.parametrize(
    ("meta", "expected"),
    [
        pytest.param({}, [], id="just-a-name"),
        pytest.param({"name": ""}, ["metadata.name: Required value: name or generateName is required"], id="no-name"),
        pytest.param(
            {"generation": -1},
            ["metadata.generation: Invalid value: -1: must be greater than or equal to 0"],
            id="negative-generation",
        ),
        pytest.param({"labels": {"a": "b"}, "annotations": {"A/b": "any thing"}}, None, id="annotation-key-lowered"),
        pytest.param(
            {"annotations": {"a": "x" * 262144}},
            ["metadata.annotations: Too long: may not be more than 262144 bytes"],
            id="too-many-annotations",
        ),
        pytest.param(
            {"annotations": {"a": "é" * 131072}},
            ["metadata.annotations: Too long: may not be more than 262144 bytes"],
            id="annotations-are-counted-in-bytes",
        ),
        pytest.param(
            {"ownerReferences": [{**OWNER, "apiVersion": ""}]},
            ['metadata.ownerReferences.apiVersion: Invalid value: "": version must not be empty'],
            id="owner-without-a-version",
        ),
        pytest.param(
            {"ownerReferences": [{"apiVersion": "v1"}]},
            [
                'metadata.ownerReferences.kind: Invalid value: "": must not be empty',
                'metadata.ownerReferences.name: Invalid value: "": must not be empty',
                'metadata.ownerReferences.uid: Invalid value: "": must not be empty',
            ],
            id="incomplete-owner",
        ),
        pytest.param({"ownerReferences": [{**OWNER, "controller": True}, OWNER]}, [], id="one-controller"),
        pytest.param({"finalizers": ["kubernetes", "example.com/x"]}, [], id="finalizers"),
        pytest.param({"finalizers": ["x"]}, [], id="finalizer-without-a-domain-is-the-kinds-affair"),
        pytest.param(
            {"finalizers": ["orphan", "foregroundDeletion"]},
            [
                'metadata.finalizers: Invalid value: ["orphan","foregroundDeletion"]: finalizer orphan and '
                "foregroundDeletion cannot be both set"
            ],
            id="both-policies",
        ),
    ],
)
def test_invalid_metadata(meta, expected):
    assert problems(meta) == (expected if expected is not None else [])


@pytest.mark.parametrize(
    ("meta", "field"),
    [
        pytest.param({"name": "A"}, "metadata.name", id="name"),
        pytest.param({"generateName": "A"}, "metadata.generateName", id="generate-name"),
        pytest.param({"labels": {"": "b"}}, "metadata.labels", id="label-key"),
        pytest.param({"labels": {"a": "-"}}, "metadata.labels", id="label-value"),
        pytest.param({"annotations": {"-": ""}}, "metadata.annotations", id="annotation-key"),
        pytest.param({"finalizers": ["-"]}, "metadata.finalizers", id="finalizer"),
        pytest.param(
            {"ownerReferences": [{**OWNER, "kind": "Event"}]}, "metadata.ownerReferences", id="owned-by-an-event"
        ),
        pytest.param(
            {"ownerReferences": [{**OWNER, "controller": True}] * 2}, "metadata.ownerReferences", id="two-controllers"
        ),
    ],
)
def test_the_field_of_an_error(meta, field):
    assert {problem.partition(": ")[0] for problem in problems(meta)} == {field}


def test_a_finalizer_of_a_built_in_kind_has_a_domain_or_is_a_standard_one():
    errors = objectmeta.undomained_finalizer_errors(["orphan", "x", "a.b/x", "x y"], "metadata.finalizers")
    why = "name is neither a standard finalizer name nor is it fully qualified"
    assert [str(e) for e in errors] == [
        f'metadata.finalizers[1]: Invalid value: "x": {why}',
        f'metadata.finalizers[3]: Invalid value: "x y": {why}',
    ]


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        pytest.param({"namespaced": False, "namespace": ""}, [], id="cluster-wide"),
        pytest.param({"namespace": ""}, ["metadata.namespace: Required value"], id="no-namespace"),
        pytest.param(
            {"namespaced": False}, ["metadata.namespace: Forbidden: not allowed on this type"], id="needless-namespace"
        ),
        pytest.param(
            {"namespace": "a.b"}, ['metadata.namespace: Invalid value: "a.b": must not contain dots'], id="dotted"
        ),
    ],
)
def test_invalid_namespaces(how, expected):
    assert problems({}, **how) == expected


STORED = {"name": "a", "namespace": "default", "uid": "u", "creationTimestamp": "t", "generation": 2}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param({}, {}, [], id="nothing-changed"),
        pytest.param({}, {"uid": "v"}, ['metadata.uid: Invalid value: "v": field is immutable'], id="uid"),
        pytest.param(
            {}, {"generation": 1}, ["metadata.generation: Invalid value: 1: must not be decremented"], id="back"
        ),
        pytest.param(
            {"deletionTimestamp": "t", "finalizers": ["a.b/c"]},
            {"deletionTimestamp": "t", "finalizers": ["a.b/c", "a.b/d"]},
            [
                "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found "
                'new finalizers []string{"a.b/d"}'
            ],
            id="finalizer-added-while-going",
        ),
        pytest.param(
            {"deletionTimestamp": "t", "finalizers": ["a.b/c"]},
            {"deletionTimestamp": "t"},
            [],
            id="finalizer-taken-away-while-going",
        ),
    ],
)
def test_immutable_fields_of_metadata(old, new, expected):
    assert [str(e) for e in objectmeta.validate_update({**STORED, **new}, {**STORED, **old})] == expected


def test_the_metadata_of_a_new_object():
    given = {
        "name": "x",
        "namespace": "",
        "labels": {},
        "annotations": {"a": "b"},
        "uid": "mine",
        "resourceVersion": "",
        "selfLink": "/x",
        "managedFields": [],
        "finalizers": [],
    }
    filled = objectmeta.filled(given, name="x", namespace="", uid="u", now="t")
    assert filled == {"name": "x", "annotations": {"a": "b"}, "uid": "u", "creationTimestamp": "t"}
    assert objectmeta.filled({}, name="x", namespace="n", uid="u", now="t")["namespace"] == "n"
    assert given["uid"] == "mine", "the object given is not changed"
    first = objectmeta.filled({"labels": {"a": "b"}}, name="x", namespace="n", uid="u", now="t", generation=1)
    assert list(first) == ["name", "namespace", "uid", "generation", "creationTimestamp", "labels"]


def test_the_metadata_of_an_update_keeps_what_the_server_owns():
    old = {
        **STORED,
        "resourceVersion": "5",
        "deletionTimestamp": "t",
        "deletionGracePeriodSeconds": 0,
    }
    new = {"name": "a", "labels": {"a": "b"}, "selfLink": "x", "generation": 9, "deletionTimestamp": "never"}
    assert objectmeta.kept_on_update(new, old) == {**old, "labels": {"a": "b"}}
    # kept for an object that is not being deleted, so that `validate_update` rejects it
    assert objectmeta.kept_on_update({**new, "uid": "u"}, STORED)["deletionTimestamp"] == "never"


def test_the_message_of_a_field_error():
    assert str(FieldError("a.b", "FieldValueInvalid", "wrong")) == "a.b: wrong"


KINDED = {"apiVersion": "v1", "kind": "X"}


@pytest.mark.parametrize(
    ("obj", "stored"),
    [
        ({**KINDED, "spec": 1, "metadata": {"name": "a"}}, [("metadata", {"name": "a"}), ("spec", 1)]),
        ({"spec": 1, "metadata": {"name": "a"}}, [("metadata", {"name": "a"}), ("spec", 1)]),
        ({**KINDED, "spec": 1}, [("metadata", {}), ("spec", 1)]),
        ({"metadata": None}, [("metadata", {})]),
        ({"metadata": {"labels": {"a": None, "b": "c"}}}, [("metadata", {"labels": {"a": "", "b": "c"}})]),
        ({"metadata": {"annotations": {"a": None}}}, [("metadata", {"annotations": {"a": ""}})]),
        ({"metadata": {"labels": {"a": "b"}}}, [("metadata", {"labels": {"a": "b"}})]),
        ({"metadata": {"labels": None}}, [("metadata", {"labels": None})]),
    ],
)
def test_the_layout_of_a_stored_object(obj, stored):
    before = {**obj}
    assert list(objectmeta.stored_layout(obj).items()) == stored
    assert obj == before


def test_an_object_without_its_kind():
    assert objectmeta.without_kind({**KINDED, "metadata": {}}) == {"metadata": {}}
    assert objectmeta.without_kind({"metadata": {}}) == {"metadata": {}}


@pytest.mark.parametrize(
    "field", ["creationTimestamp", "uid", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"]
)
def test_a_new_object_has_no_fields_of_the_system(field):
    assert objectmeta.without_system_fields({"metadata": {"name": "a", field: "x"}}) == {"metadata": {"name": "a"}}
    plain = {"metadata": {"name": "a", "generation": 1, "resourceVersion": "7"}}
    assert objectmeta.without_system_fields(plain) is plain


@pytest.mark.parametrize(
    ("meta", "left"),
    [
        ({"labels": {}, "name": "a"}, {"name": "a"}),
        ({"uid": "u", "name": "a", "generation": 0}, {"name": "a", "uid": "u"}),
        ({"deletionGracePeriodSeconds": 0, "name": ""}, {"deletionGracePeriodSeconds": 0}),
        ({"unknown": 1}, {}),
        ({"managedFields": [1], "annotations": {"a": "b"}}, {"annotations": {"a": "b"}, "managedFields": [1]}),
    ],
)
def test_metadata_in_the_order_of_go_without_what_is_empty(meta, left):
    assert list(objectmeta.tidy(meta).items()) == list(left.items())


@pytest.mark.parametrize(
    ("owners", "kept", "repeated"),
    [
        ([], [], []),
        ([OWNER], [OWNER], []),
        ([OWNER, OWNER, OWNER], [OWNER], ["u"]),
        ([OWNER, {**OWNER, "controller": True}], [OWNER, {**OWNER, "controller": True}], []),
        ([{"uid": "b"}, {"uid": "a"}, {"uid": "a"}, {"uid": "b"}], [{"uid": "b"}, {"uid": "a"}], ["a", "b"]),
        ([{}, {}], [{}], [""]),
    ],
)
def test_owner_references_that_are_equal_count_once(owners, kept, repeated):
    assert objectmeta.distinct_owners(owners) == (kept, repeated)


def test_an_annotation_is_removed_with_the_last_one():
    meta = {"name": "a", "annotations": {"x": "1", "y": "2"}}
    assert objectmeta.without_annotation(meta, "x") == {"name": "a", "annotations": {"y": "2"}}
    assert objectmeta.without_annotation({"name": "a", "annotations": {"x": "1"}}, "x") == {"name": "a"}
    assert objectmeta.without_annotation(meta, "z") is meta
