"""Owner references of children."""

import pytest

from controllerlib import ApiError, create_or_update, set_controller_reference, set_owner_reference
from controllerlib.controller import add_finalizer, remove_finalizer
from tests.harness.detectors.scenes import found, read, run, texts
from tests.harness.planted import API, CRD, database

OWNS = [("v1", "ConfigMap"), ("v1", "Namespace")]


def child(namespace="default", kind="ConfigMap"):
    meta = {"name": "a-settings", **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": "v1", "kind": kind, "metadata": meta}


def creating(obj, own=lambda owner, obj: obj):
    async def reconcile(request, client):
        await create_or_update(client, own(await read(client, request), obj), lambda found: None)

    return reconcile


@pytest.mark.parametrize("obj", [child("kube-public"), child("", "Namespace")], ids=["namespaced", "cluster-scoped"])
def test_a_child_outside_of_the_owners_namespace_cannot_have_a_reference(kube, obj):
    run(kube, creating(obj), owns=OWNS)
    assert texts(kube) == []


def test_a_reference_that_is_not_the_controllers(kube):
    run(kube, creating(child(), set_owner_reference), owns=OWNS)
    (text,) = texts(kube)
    assert text == (
        "[missing-owner] c reconciling default/a [added] created ConfigMap default/a-settings with an owner reference "
        "to a Database that is not its controller: owns() ignores its changes; use set_controller_reference, or "
        "owns(..., match_every_owner=True)"
    )


def test_a_reference_to_a_kind_of_the_same_name_in_another_group(kube):
    def own(owner, obj):
        return set_controller_reference({**owner, "apiVersion": API.replace("planted", "other")}, obj)

    run(kube, creating(child(), own), owns=OWNS)
    (text,) = texts(kube)
    assert "without an owner reference to a Database" in text


def test_the_reference_of_the_controller(kube):
    run(kube, creating(child(), set_controller_reference), owns=OWNS)
    assert texts(kube) == []


# --- leaked-child ---


def making(obj, *, owned=False, cleans=False):
    """A reconciler that makes `obj` while its Database exists; `cleans`: and deletes it afterwards."""

    async def reconcile(request, client):
        try:
            owner = await read(client, request)
        except ApiError:
            if cleans:
                await client.delete(obj)
            return
        new = set_owner_reference(owner, obj) if owned else obj
        await create_or_update(client, new, lambda found: None)
        return

    return reconcile


def delete_it(kube):
    kube.delete(API, "Database", "a")
    kube.advance(60)


def test_what_is_left_of_a_deleted_object_is_reported(kube):
    run(kube, making(child()))
    delete_it(kube)
    (text,) = texts(kube)
    assert text == (
        "[leaked-child] c reconciling default/a [added] created ConfigMap default/a-settings, which still exists "
        "although default/a was deleted and c reconciling default/a [deleted] has succeeded since: give it an owner "
        "reference, or delete it before a finalizer is removed"
    )


@pytest.mark.parametrize(
    "reconcile",
    [
        making(child(), owned=True),
        making(child(), cleans=True),
        making({**child(kind="PersistentVolumeClaim"), "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}),
    ],
    ids=["owner reference", "deleted", "claim"],
)  # fmt: skip
def test_what_the_garbage_collector_or_the_operator_deletes_is_not_left(kube, reconcile):
    run(kube, reconcile)
    delete_it(kube)
    assert found(kube) == []


def test_a_child_of_an_owned_kind_is_reported_as_missing_its_owner_only(kube):
    run(kube, making(child()), owns=OWNS)
    delete_it(kube)
    assert found(kube) == ["missing-owner"]


def test_children_of_an_object_that_exists_are_not_left(kube):
    run(kube, making(child()))
    assert found(kube) == []
    delete_it(kube)
    kube.create(database())
    kube.advance(60)
    assert found(kube) == []


def test_the_child_of_an_object_that_nothing_reconciles_after_its_deletion_is_not_judged(kube):
    operator = run(kube, making(child()))
    kube.stop(operator)
    delete_it(kube)
    assert found(kube) == []


def test_m6_the_references_that_it_has_are_named(kube):
    def own(owner, obj):
        return set_owner_reference({**owner, "kind": "Table"}, set_controller_reference({**owner, "kind": "Base"}, obj))

    run(kube, creating(child(), own), owns=OWNS)
    (text,) = texts(kube)
    assert text.endswith(
        "without an owner reference to a Database (it has one to "
        f"{API} Base a and one to {API} Table a): its changes reconcile nothing, and it remains when the Database is deleted"
    )


@pytest.mark.slow
def test_m6_without_any_reference(kube):
    run(kube, creating(child()), owns=OWNS)
    (text,) = texts(kube)
    assert "without an owner reference to a Database: its changes" in text


# --- N5: owners in other namespaces, and children of an object that is gone ---


def with_reference(owner, obj):
    """The object with a reference that no library checks."""
    meta = owner["metadata"]
    reference = {"apiVersion": API, "kind": "Database", "name": meta["name"], "uid": meta["uid"], "controller": True}
    return {**obj, "metadata": {**obj["metadata"], "ownerReferences": [reference]}}


@pytest.mark.parametrize("owns", [OWNS, []], ids=["owned", "not owned"])
@pytest.mark.parametrize("applies", [True, False])
def test_n5_a_reference_to_an_owner_in_another_namespace(kube, owns, applies):
    async def reconcile(request, client):
        obj = with_reference(await read(client, request), child("kube-public"))
        if applies:
            await client.apply(obj, field_manager="c", force=True)
        else:
            await client.create(obj)

    run(kube, reconcile, owns=owns)
    (text,) = [one for one in texts(kube) if "kube-public/a [" not in one]  # where owns() looks for the owner
    verb = "patch" if applies else "create"
    assert text.startswith(
        f"[missing-owner] controllerlib/c: {verb} configmaps kube-public/a-settings -> 201 has an owner reference to Database a, "
        "which is in the namespace default, in c reconciling default/a [added]: references do not reach other namespaces"
    )


def test_n5_a_reference_to_an_owner_that_is_nowhere_or_of_a_cluster_wide_kind(kube):
    """The garbage collector deletes the first one as it should: its owner is gone. The second one has its owner."""

    async def reconcile(request, client):
        seen = await read(client, request)
        gone = with_reference({"metadata": {**seen["metadata"], "uid": "0-0-0"}}, child("kube-public"))
        space = (await client.get("v1", "Namespace", "default"))["metadata"]
        wide = {"apiVersion": "v1", "kind": "Namespace", "name": "default", "uid": space["uid"]}
        meta = {"name": "b-settings", "namespace": "kube-public", "ownerReferences": [wide]}
        await client.create(gone)
        await client.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta})

    run(kube, reconcile)
    assert texts(kube) == []


def test_n5_a_thread_with_the_official_client_and_a_reference_to_another_namespace(kube):
    def program(owner):
        import kubernetes

        api = kubernetes.client.CoreV1Api(kube.access.api_client())
        api.create_namespaced_config_map("kube-public", with_reference(owner, child("kube-public")))
        api.create_namespaced_config_map("default", with_reference(owner, child("default")))

    kube.apply(CRD, database())
    kube.thread(program, kube.get(API, "Database", "a"), name="program")
    kube.advance(1)
    (text,) = texts(kube)
    assert text.startswith(
        "[missing-owner] program (OpenAPI-Generator): create configmaps kube-public/a-settings -> 201"
    )


def test_n5_an_owned_kind_that_is_applied_without_a_reference(kube):
    async def reconcile(request, client):
        await client.apply(child(), field_manager="c", force=True)

    run(kube, reconcile, owns=OWNS)
    assert found(kube) == ["missing-owner"]


def removing(*, then):
    """Adds a finalizer; when the object is deleted, removes it and then does something."""

    async def reconcile(request, client):
        try:
            seen = await read(client, request)
        except ApiError:
            return
        if "deletionTimestamp" in seen["metadata"]:
            await client.update(remove_finalizer(seen, FINALIZER)[0])
            await then(client, seen)
        elif not seen["metadata"].get("finalizers"):
            await client.update(add_finalizer(seen, FINALIZER)[0])

    return reconcile


FINALIZER = "planted.example.com/x"


async def create_child(client, owner):
    await client.create(child())


async def create_and_delete(client, owner):
    await client.delete(await client.create(child()))


async def create_owned(client, owner):
    await client.create(set_owner_reference(owner, child()))


@pytest.mark.parametrize(
    ("then", "expected"),
    [(create_child, ["leaked-child"]), (create_and_delete, ["late-finalizer"]), (create_owned, [])],
)
def test_n5_a_child_that_is_created_after_the_finalizer_was_removed(kube, then, expected):
    run(kube, removing(then=then))
    delete_it(kube)
    assert found(kube) == expected


def test_n5_a_record_of_a_deletion_is_no_leaked_child(kube):
    """The object was gone before the reconcile: what it creates then is about the deletion, not about the object."""

    async def reconcile(request, client):
        try:
            await read(client, request)
        except ApiError:
            await client.create(child())

    run(kube, reconcile)
    delete_it(kube)
    assert texts(kube) == []


def test_n5_a_child_of_an_owned_kind_in_another_namespace_that_nothing_deletes(kube):
    run(kube, making(child("kube-public")), owns=OWNS)
    delete_it(kube)
    assert found(kube) == ["leaked-child"]
