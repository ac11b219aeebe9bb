"""controllerutil: owner references, finalizers, and create_or_update."""

from collections.abc import Callable
from typing import Any

import pytest

from controllerlib import Client, Manager, Result
from controllerlib.client.createorupdate import create_or_patch, create_or_update
from controllerlib.client.difference import differences, is_equal, merge_patch
from controllerlib.client.errors import ApiError, is_conflict
from controllerlib.controller.finalizers import add_finalizer, contains_finalizer, remove_finalizer
from controllerlib.controller.owners import (
    AlreadyOwned,
    NotOwned,
    controller_of,
    has_controller_reference,
    has_owner_reference,
    remove_controller_reference,
    remove_owner_reference,
    set_controller_reference,
    set_owner_reference,
)
from controllerlib.controller.predicate import of_object
from fakekube import FakeKube
from tests.controllerlib.objects import node, pod
from tests.controllerlib.things import API, KIND, THINGS, create_things, thing, things_operator

Object = dict[str, Any]


# --- whose it is


def references(obj: Object) -> list[Any]:
    return obj["metadata"]["ownerReferences"]


OWNER = {**pod("boss", uid="u1"), "apiVersion": "example.com/v1", "kind": "Boss"}
OTHER = {**pod("other", uid="u2"), "apiVersion": "example.com/v1", "kind": "Boss"}
BOSS = {"apiVersion": "example.com/v1", "kind": "Boss", "name": "boss", "uid": "u1"}


def test_cu_05_the_reference_of_a_controller() -> None:
    child = pod("child")
    owned = set_controller_reference(OWNER, child)
    assert references(owned) == [{**BOSS, "controller": True, "blockOwnerDeletion": True}]
    assert "ownerReferences" not in child["metadata"], "objects are never changed in place"
    assert (
        references(set_controller_reference(OWNER, child, block_owner_deletion=False))[0]["blockOwnerDeletion"] is False
    )
    assert controller_of(owned) == references(owned)[0]


def test_cu_05_another_controller() -> None:
    owned = set_controller_reference(OWNER, pod("child"))
    with pytest.raises(
        AlreadyOwned, match="Object default/child is already owned by another Boss controller boss"
    ) as c:
        set_controller_reference(OTHER, owned)
    assert c.value.owner["uid"] == "u1"
    both = set_owner_reference(OTHER, owned)
    assert [(r["name"], r.get("controller")) for r in references(both)] == [("boss", True), ("other", None)]


@pytest.mark.parametrize(
    "newer",
    [
        pytest.param({**OWNER, "metadata": {**OWNER["metadata"], "uid": "new"}}, id="CU-05-new-uid"),
        pytest.param({**OWNER, "apiVersion": "example.com/v2"}, id="CU-05-new-version"),
    ],
)
def test_the_same_owner_again(newer: Object) -> None:
    owned = set_controller_reference(newer, set_owner_reference(OTHER, set_controller_reference(OWNER, pod("child"))))
    assert [r["name"] for r in references(owned)] == ["boss", "other"], "updated where it was"
    assert references(owned)[0]["uid"] == newer["metadata"]["uid"]
    assert references(owned)[0]["apiVersion"] == newer["apiVersion"]


@pytest.mark.parametrize(
    ("owner", "obj", "says"),
    [
        pytest.param(pod("boss", namespace="a"), pod("child", namespace="b"),
                     "cross-namespace owner references are disallowed, owner's namespace a, obj's namespace b",
                     id="CU-06-cross-namespace"),
        pytest.param(pod("boss", namespace="a"), node("child"),
                     "cluster-scoped resource must not have a namespace-scoped owner, owner's namespace a",
                     id="CU-06-owner-of-cluster-scoped"),
    ],
)  # fmt: skip
def test_invalid_owners(owner: Object, obj: Object, says: str) -> None:
    for set_reference in (set_controller_reference, set_owner_reference):
        with pytest.raises(ValueError, match=says):
            set_reference(owner, obj)


def test_cu_06_a_cluster_scoped_owner() -> None:
    assert references(set_controller_reference(node("n"), pod("child")))[0]["kind"] == "Node"
    assert references(set_owner_reference(node("n"), node("child")))[0] == {
        "apiVersion": "v1", "kind": "Node", "name": "n", "uid": None,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("remove", "obj", "says"),
    [
        pytest.param(remove_owner_reference, pod("child"), "Pod does not have any owner references", id="CU-08-none"),
        pytest.param(remove_owner_reference, set_owner_reference(OTHER, pod("child")),
                     "Pod does not have an owner reference for Boss", id="CU-08-other"),
        pytest.param(remove_controller_reference, set_owner_reference(OWNER, pod("child")),
                     "Pod does not have a owner reference with controller equals true", id="CU-08-no-controller"),
        pytest.param(remove_controller_reference, set_controller_reference(OTHER, pod("child")),
                     "Pod does not have an controller reference for Boss", id="CU-08-other-controller"),
        pytest.param(remove_controller_reference,
                     set_owner_reference(OWNER, set_controller_reference(OTHER, pod("child"))),
                     "Boss owner is not the controller reference for Pod", id="CU-08-owner-only"),
    ],
)  # fmt: skip
def test_missing_references(remove: Callable[..., Object], obj: Object, says: str) -> None:
    with pytest.raises(NotOwned, match=says):
        remove(OWNER, obj)


def test_cu_08_existing_references() -> None:
    both = set_owner_reference(OTHER, set_controller_reference(OWNER, pod("child")))
    assert has_controller_reference(both)
    assert (has_owner_reference(OWNER, both), has_owner_reference(OTHER, both)) == (True, True)
    left = remove_controller_reference({**OWNER, "apiVersion": "example.com/v9"}, both)
    assert [r["name"] for r in references(left)] == ["other"]
    assert not has_controller_reference(left)
    assert (has_owner_reference(OWNER, left), has_owner_reference(OTHER, left)) == (False, True)
    assert references(remove_owner_reference(OTHER, left)) == []


# --- who must agree


def test_cu_07_finalizers() -> None:
    plain = pod("a")
    kept, changed = add_finalizer(plain, "x/y")
    assert (changed, contains_finalizer(kept, "x/y"), contains_finalizer(plain, "x/y")) == (True, True, False)
    again, changed = add_finalizer(kept, "x/y")
    assert (changed, again is kept) == (False, True)
    second, changed = add_finalizer(kept, "z")
    assert (changed, second["metadata"]["finalizers"]) == (True, ["x/y", "z"])
    same, changed = remove_finalizer(second, "absent")
    assert (changed, same is second) == (False, True)
    twice = pod("a", finalizers=["x/y", "z", "x/y"])
    left, changed = remove_finalizer(twice, "x/y")
    assert (changed, left["metadata"]["finalizers"]) == (True, ["z"])


# --- as it should be


class Helper:
    """Runs create_or_update or create_or_patch in a cluster."""

    def __init__(self, kube: FakeKube) -> None:
        self.kube = kube
        self.client = Client(kube.access.transport(), user_agent="operator")

    def __call__(self, make: Callable[..., Any], obj: Object, mutate: Any) -> str:
        results: list[str] = []

        async def work() -> None:
            results.append(await make(self.client, obj, mutate))

        self.kube.task(work())
        self.kube.settle()
        return results[0]

    def writes(self) -> list[str]:
        """Return the write requests so far."""
        records = self.kube.requests(user_agent="operator")
        return [f"{r.verb}{'/' + r.subresource if r.subresource else ''}" for r in records if r.verb != "get"]


@pytest.fixture
def helper(fakekube: FakeKube) -> Helper:
    create_things(fakekube)
    return Helper(fakekube)


def named(name: str = "a") -> Object:
    return {"apiVersion": API, "kind": KIND, "metadata": {"name": name, "namespace": "default"}}


def sized(size: int) -> Callable[[Object], None]:
    def mutate(obj: Object) -> None:
        obj.setdefault("spec", {})["size"] = size

    return mutate


def test_cu_01_created_then_updated_then_unchanged(helper: Helper) -> None:
    obj = named()
    assert helper(create_or_update, obj, sized(1)) == "created"
    assert helper.writes() == ["create"]
    assert obj["metadata"]["uid"], "it is what the server stored"
    assert helper(create_or_update, named(), sized(2)) == "updated"
    assert helper.writes() == ["create", "update"]
    found = named()
    assert helper(create_or_update, found, sized(2)) == "unchanged"
    assert helper.writes() == ["create", "update"]
    assert found == helper.kube.get(API, KIND, "a")


def test_cu_01_empty_equals_unset(helper: Helper) -> None:
    def mutate(obj: Object) -> Object:
        return {**obj, "spec": {**(obj.get("spec") or {}), "list": [], "map": {}, "none": None}}

    helper.kube.create(thing("a"))
    assert helper(create_or_update, named(), mutate) == "unchanged"


def _renamed(obj: Object) -> Object:
    return {**obj, "metadata": {**obj["metadata"], "name": "b"}}


def _moved(obj: Object) -> None:
    obj["metadata"]["namespace"] = "elsewhere"


def _failing(obj: Object) -> None:
    raise RuntimeError("cannot be")


@pytest.mark.parametrize("make", [create_or_update, create_or_patch])
@pytest.mark.parametrize("exists", [True, False])
@pytest.mark.parametrize(
    ("mutate", "error", "says"),
    [
        pytest.param(_renamed, ValueError, "MutateFn cannot mutate object name and/or object namespace", id="CU-02-renamed"),
        pytest.param(_moved, ValueError, "MutateFn cannot mutate object name and/or object namespace", id="CU-02-moved"),
        pytest.param(_failing, RuntimeError, "cannot be", id="CU-02-failing"),
    ],
)  # fmt: skip
def test_mutate_must_not_change_the_name(
    helper: Helper, make: Any, exists: bool, mutate: Any, error: type[Exception], says: str
) -> None:
    if exists:
        helper.kube.create(thing("a"))
    with pytest.raises(error, match=says):
        helper(make, named(), mutate)
    assert helper.writes() == []


@pytest.mark.parametrize(
    "make", [pytest.param(m, id=f"CU-03-{m.__name__}") for m in (create_or_update, create_or_patch)]
)
def test_a_read_that_fails(helper: Helper, make: Any) -> None:
    with helper.kube.fault(verb="get", resource=THINGS, error=500), pytest.raises(ApiError) as caught:
        helper(make, named(), sized(1))
    assert caught.value.code == 500
    assert helper.writes() == []


def _both(size: int, ready: int) -> Callable[[Object], Object]:
    return lambda obj: {**obj, "spec": {"size": size}, "status": {"ready": ready}}


@pytest.mark.parametrize(
    ("mutate", "result", "writes"),
    [
        pytest.param(_both(2, 1), "updated", ["patch"], id="CU-04-spec"),
        pytest.param(_both(1, 2), "updatedStatusOnly", ["patch/status"], id="CU-04-status"),
        pytest.param(_both(2, 2), "updatedStatus", ["patch", "patch/status"], id="CU-04-both"),
        pytest.param(_both(1, 1), "unchanged", [], id="CU-04-none"),
    ],
)
def test_patches_of_object_and_status(helper: Helper, mutate: Any, result: str, writes: list[str]) -> None:
    helper.kube.create(thing("a", size=1))
    helper.kube.patch(API, KIND, "a", {"status": {"ready": 1}}, subresource="status")
    obj = named()
    assert helper(create_or_patch, obj, mutate) == result
    assert helper.writes() == writes
    stored, wanted = helper.kube.get(API, KIND, "a"), mutate(named())
    assert (stored["spec"], stored["status"]) == (wanted["spec"], wanted["status"])
    assert obj == stored


def test_cu_04_a_new_object_has_no_status(helper: Helper) -> None:
    obj = named()
    assert helper(create_or_patch, obj, _both(1, 1)) == "created"
    assert helper.writes() == ["create"]
    assert "status" not in helper.kube.get(API, KIND, "a")


def test_cu_04_a_removed_field(helper: Helper) -> None:
    helper.kube.create({**thing("a"), "spec": {"size": 1, "nested": {"a": 1, "b": 2}}})

    async def mutate(obj: Object) -> None:
        del obj["spec"]["nested"]["a"]

    assert helper(create_or_patch, named(), mutate) == "updated"
    assert helper.kube.get(API, KIND, "a")["spec"] == {"size": 1, "nested": {"b": 2}}


@pytest.mark.parametrize(
    ("make", "verb"),
    [
        pytest.param(create_or_update, "update", id="CU-09-update"),
        pytest.param(create_or_patch, "patch", id="CU-09-patch"),
    ],
)
def test_a_conflict_is_not_retried(helper: Helper, make: Any, verb: str) -> None:
    helper.kube.create(thing("a"))
    with helper.kube.fault(verb=verb, error=409), pytest.raises(ApiError) as caught:
        helper(make, named(), sized(2))
    assert is_conflict(caught.value)
    assert helper.writes() == [verb]


def test_cu_09_a_conflicting_write(helper: Helper) -> None:
    helper.kube.create(thing("a"))

    def mutate(obj: Object) -> None:
        helper.kube.patch(API, KIND, "a", {"spec": {"size": 5}})
        obj["spec"]["size"] = 2

    with pytest.raises(ApiError, match="the object has been modified"):
        helper(create_or_update, named(), mutate)
    assert helper.kube.get(API, KIND, "a")["spec"] == {"size": 5}


def test_the_blocking_client_has_them_too(fakekube: FakeKube) -> None:
    results: list[str] = []

    def reconcile(request: Any, client: Any) -> Result:
        make = client.create_or_patch if results else client.create_or_update
        results.append(make(named(f"{request.name}-child"), sized(len(results) + 1)))
        return Result(requeue_after=60)

    def build(manager: Manager) -> None:
        things_operator(reconcile, predicates=[of_object(lambda obj: obj["metadata"]["name"] == "a")])(manager)

    create_things(fakekube, "a")
    fakekube.start(build)
    fakekube.advance(seconds=60)
    assert results == ["created", "updated"]
    assert fakekube.get(API, KIND, "a-child")["spec"] == {"size": 2}


# --- what differs


@pytest.mark.parametrize(
    ("left", "right", "paths"),
    [
        pytest.param({"a": 1}, {"a": 1}, [], id="same"),
        pytest.param({"a": 1}, {"a": 1.0}, [], id="numbers"),
        pytest.param({"a": 1}, {"a": True}, ["a"], id="true-is-no-number"),
        pytest.param({"a": {}}, {"a": None, "b": []}, [], id="all-sorts-of-nothing"),
        pytest.param({"a": 0}, {}, ["a"], id="zero-is-something"),
        pytest.param({"a": {"b": {"c": 1}}}, {}, ["a.b.c"], id="leaf-by-leaf"),
        pytest.param({"l": [1, {"x": 1}]}, {"l": [2, {"x": 2}, 3]}, ["l[0]", "l[1].x", "l[2]"], id="lists"),
        pytest.param({"l": {"a/b": 1}}, {"l": {"a.b": 1}}, ["l[a/b]", "l[a.b]"], id="keys"),
        pytest.param({"a": "x"}, {"a": {"x": 1}}, ["a"], id="types"),
    ],
)
def test_where_objects_differ(left: Object, right: Object, paths: list[str]) -> None:
    assert [".".join(path) for path in differences(left, right)] == paths
    assert is_equal(left, right) is (not paths)


def test_a_merge_patch_of_nothing() -> None:
    assert merge_patch({"a": {"b": []}}, {"a": {}}) == {}


@pytest.mark.parametrize("change", [add_finalizer, remove_finalizer])
def test_finalizers_leave_the_rest_of_the_metadata_alone(change: Callable[..., tuple[Any, bool]]) -> None:
    present = ["example.com/other", *(["example.com/mine"] if change is remove_finalizer else [])]
    obj = {"metadata": {"name": "a", "labels": {"x": "y"}, "finalizers": present}, "spec": {"size": 1}}
    found, changed = change(obj, "example.com/mine")
    assert changed
    assert {**found["metadata"], "finalizers": []} == {"name": "a", "labels": {"x": "y"}, "finalizers": []}
    assert found["metadata"]["finalizers"][0] == "example.com/other"
    assert found["spec"] == {"size": 1}
    assert obj["metadata"]["finalizers"] == present


def test_finalizers_of_an_object_without_metadata() -> None:
    assert add_finalizer({}, "example.com/mine") == ({"metadata": {"finalizers": ["example.com/mine"]}}, True)
    assert remove_finalizer({}, "example.com/mine") == ({}, False)
