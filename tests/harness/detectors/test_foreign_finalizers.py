"""foreign-finalizer: writes that remove a finalizer of another program."""

import kopf
import pytest
from kubernetes import client as official

from controllerlib import ApiError
from controllerlib.controller import add_finalizer, remove_finalizer
from tests.harness.detectors.scenes import found, operator, read, start_kopf, start_program, texts
from tests.harness.planted import API, CRD, database

OWN, OTHER = "planted.example.com/x", "other.io/backup"


def cleaning(remove):
    """Adds its finalizer; when the object is deleted, removes it with `remove(object)`."""

    async def reconcile(request, client):
        try:
            seen = await read(client, request)
        except ApiError:
            return
        if "deletionTimestamp" not in seen["metadata"]:
            seen, added = add_finalizer(seen, OWN)
            if added:
                await client.update(seen)
        elif OWN in seen["metadata"].get("finalizers", ()):
            await client.update(remove(seen))

    return reconcile


def all_of_them(seen):
    return {**seen, "metadata": {**seen["metadata"], "finalizers": []}}


def only_its_own(seen):
    return remove_finalizer(seen, OWN)[0]


def run(kube, reconcile, *finalizers):
    one = database()
    one["metadata"]["finalizers"] = list(finalizers)
    kube.apply(CRD, one)
    kube.start(operator(reconcile))
    kube.advance(5)


def test_a_clean_up_that_empties_the_list(kube):
    run(kube, cleaning(all_of_them), OTHER)
    kube.delete(API, "Database", "a")
    kube.advance(60)
    assert texts(kube) == [
        "[foreign-finalizer] controllerlib/c: update databases default/a -> 200 has removed the finalizer other.io/backup, "
        "which belongs to another program, in c reconciling default/a [updated]: what it protects may never be cleaned up; "
        "remove only your own from the list that was read"
    ]


def test_a_clean_up_that_removes_its_own(kube):
    run(kube, cleaning(only_its_own), OTHER)
    kube.delete(API, "Database", "a")
    kube.advance(60)
    assert found(kube) == []


@pytest.mark.parametrize("finalizer", [OTHER, "foregroundDeletion", "db.example.com/operator"])
def test_an_update_that_is_made_from_scratch(kube, finalizer):
    """It drops what others have written; only a finalizer of the group's domain may be its own."""

    async def reconcile(request, client):
        seen = await read(client, request)
        if seen["metadata"].get("finalizers"):
            meta = {key: seen["metadata"][key] for key in ("name", "namespace", "resourceVersion")}
            await client.update({**database(), "metadata": meta})

    run(kube, reconcile, finalizer)
    assert found(kube) == ([] if "example.com" in finalizer else ["foreign-finalizer"])


@pytest.mark.parametrize("finalizer", ["tools.io/resources-finalizer", OWN])
def test_a_finalizer_that_the_user_has_set_for_the_operator(kube, finalizer):
    """As the finalizer of Argo CD's applications: a part of the manifest, which the operator removes."""

    async def reconcile(request, client):
        try:
            seen = await read(client, request)
        except ApiError:
            return
        if "deletionTimestamp" in seen["metadata"]:
            await client.update(remove_finalizer(seen, finalizer)[0])

    run(kube, reconcile, finalizer)
    kube.delete(API, "Database", "a")
    kube.advance(60)
    assert found(kube) == []


def test_a_finalizer_of_another_operator(kube):
    """It is removed alone, but another program in the cluster has added it."""

    async def protect(request, client):
        seen = await read(client, request)
        if "deletionTimestamp" not in seen["metadata"]:
            await client.patch(seen, {"metadata": {"finalizers": [OTHER]}})

    async def reconcile(request, client):
        try:
            seen = await read(client, request)
        except ApiError:
            return
        if "deletionTimestamp" in seen["metadata"]:
            await client.update(remove_finalizer(seen, OTHER)[0])

    kube.apply(CRD, database())
    kube.start(lambda manager: manager.controller("p").for_(API, "Database").complete(protect), name="protector")
    kube.start(operator(reconcile), name="cleaner")
    kube.advance(5)
    kube.delete(API, "Database", "a")
    kube.advance(60)
    (text,) = [one for one in texts(kube) if "foreign-finalizer" in one]
    assert "which belongs to another program (protector has added it)" in text


def test_two_programs_of_one_domain(kube):
    """One protects what the other one cleans up: the finalizers have the same domain."""

    def program(api):
        databases = official.CustomObjectsApi(api.api_client)
        place = (*API.split("/"), "default", "databases", "a")
        databases.patch_namespaced_custom_object(*place, {"metadata": {"finalizers": ["db.example.com/protect"]}})

    async def reconcile(request, client):
        seen = await read(client, request)
        if seen["metadata"].get("finalizers"):
            await client.update({**seen, "metadata": {**seen["metadata"], "finalizers": []}})

    start_program(kube, program)
    kube.start(operator(reconcile))
    kube.advance(60)
    assert found(kube) == []


@pytest.mark.parametrize(("wanted", "expected"), [([], ["foreign-finalizer"]), ([OTHER], [])])
def test_a_patch_of_the_official_client(kube, wanted, expected):
    def program(api):
        databases = official.CustomObjectsApi(api.api_client)
        place = (*API.split("/"), "default", "databases", "a")
        databases.patch_namespaced_custom_object(*place, {"metadata": {"finalizers": [*wanted, "tools.io/lock"]}})
        databases.patch_namespaced_custom_object(*place, {"metadata": {"finalizers": wanted}})

    kube.apply(CRD, database())
    kube.patch(API, "Database", "a", {"metadata": {"finalizers": [OTHER]}})
    start_program(kube, program)
    assert found(kube) == expected


@pytest.mark.parametrize("clears", [True, False])
def test_a_handler_of_kopf(kube, clears):
    """kopf adds and removes its own finalizer; the handler empties the list."""

    def register(registry):
        @kopf.on.update(*API.split("/"), "databases", field="spec", registry=registry)
        def updated(patch, meta, **_):
            if clears:
                patch.metadata["finalizers"] = []

        kopf.on.delete(*API.split("/"), "databases", registry=registry)(lambda **_: None)

    start_kopf(kube, register)
    seen = kube.get(API, "Database", "a")
    kube.patch(API, "Database", "a", {"metadata": {"finalizers": [*seen["metadata"]["finalizers"], OTHER]}})
    kube.patch(API, "Database", "a", {"spec": {"size": 5}})
    kube.advance(60)
    assert found(kube) == (["foreign-finalizer"] if clears else [])
    if not clears:
        kube.delete(API, "Database", "a")
        kube.advance(60)
        assert kube.get(API, "Database", "a")["metadata"]["finalizers"] == [OTHER]
        assert found(kube) == []
