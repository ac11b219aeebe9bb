"""Findings name the place in the operator, and why a write has changed nothing."""

import asyncio

import pytest

from controllerlib import ApiError
from controllerlib.controller import PredicateFuncs
from fakekube.harness.detectors.texts.unchanged import why
from tests.harness.detectors.scenes import read, resize, run, texts
from tests.harness.operators import definition
from tests.harness.planted import API, CRD, database


def line_of(text):
    """The line of this file that ends with a comment."""
    with open(__file__, encoding="utf-8") as file:
        (number,) = [number for number, line in enumerate(file, 1) if line.rstrip().endswith(f"# {text}")]
    return f"test_texts.py:{number}"


# --- places


def test_a_reconcile_error_has_the_innermost_line_of_the_operator(kube):
    def lookup(found):
        return found["spec"]["nme"]  # fails

    async def reconcile(request, client):
        lookup(await read(client, request))

    run(kube, reconcile)
    (text,) = texts(kube)
    assert f"failed with KeyError: 'nme' ({line_of('fails')})" in text


def test_a_refused_write_has_the_line_of_the_write(kube):
    async def reconcile(request, client):
        await client.create(database("a"))  # refused

    run(kube, reconcile)
    assert f"already exists ({line_of('refused')})" in texts(kube)[0]


@pytest.mark.parametrize("sync", [False, True])
def test_an_ignored_conflict_has_the_line_of_the_write(kube, sync):
    async def reconcile(request, client):
        found = await read(client, request)
        try:
            await client.update({**found, "spec": {"size": 7}})  # write
        except ApiError:
            pass

    def plain(request, client):  # plain
        found = read(client, request)
        try:
            client.update({**found, "spec": {"size": 7}})
        except ApiError:
            pass

    kube.fault(verb="update", resource="databases", error=409)
    run(kube, plain if sync else reconcile)
    (text,) = [one for one in texts(kube) if "ignored-conflict" in one]
    assert f"/databases/a ({line_of('plain' if sync else 'write')}) and neither repeated it" in text


def test_a_cache_mutation_has_the_line_of_the_reconciler(kube):
    class Minder:
        async def reconcile(self, request, client):  # reconciler
            await read(client, request)

    def strip(event):
        event.new["spec"]["size"] = 9
        return True

    def build(manager):
        predicate = PredicateFuncs(update=strip)
        manager.controller("c").for_(API, "Database", predicates=[predicate]).complete(Minder())

    kube.apply(CRD, database())
    kube.start(build)
    resize(kube)
    kube.settle()
    (text,) = [one for one in texts(kube) if "cache-mutation" in one]
    assert f"c reconciling default/a [updated] ({line_of('reconciler')}), or a handler" in text


def test_a_leaked_task_has_the_line_that_starts_it(kube):
    async def reconcile(request):
        asyncio.create_task(asyncio.sleep(3600))  # noqa: RUF006  # starts

    run(kube, reconcile)
    (text,) = texts(kube)
    assert f"started a task of sleep (tasks.py:{asyncio.sleep.__code__.co_firstlineno}) at {line_of('starts')}" in text


# --- why a write has changed nothing

STORED = {
    "apiVersion": "example.com/v1",
    "kind": "Database",
    "metadata": {"name": "a", "namespace": "default", "resourceVersion": "5", "labels": {"app": "x"}},
    "spec": {"size": 1, "cpu": "1", "mode": "auto", "port": "80", "items": [{"name": "a"}]},
    "status": {"phase": "Ready"},
}


def sent(**spec):
    return {**STORED, "spec": {**STORED["spec"], **spec}}


@pytest.mark.parametrize(
    ("verb", "body", "subresource", "reason"),
    [
        ("update", STORED, "", "it sends what is stored"),
        ("update", sent(cpu="1000m"), "",
         ".spec.cpu was sent as '1000m' and is stored as '1', the same quantity in its canonical form"),
        ("update", sent(port=80), "", ".spec.port was sent as 80 and is stored as '80', as text"),
        ("update", sent(size="1"), "", ".spec.size was sent as '1' and is stored as 1, as a number"),
        ("update", sent(colour="red"), "",
         ".spec.colour was sent as 'red' and is not stored: the schema does not have the field, and prunes it"),
        ("update", {**STORED, "spec": {key: one for key, one in STORED["spec"].items() if key != "mode"}}, "",
         ".spec.mode was left out and is stored as 'auto', its default"),
        ("patch", {"spec": {"mode": None}}, "", ".spec.mode was sent as null and is stored as 'auto', its default"),
        ("patch", {"spec": {"gone": None}}, "", ".spec.gone was sent as null, and does not exist"),
        ("patch", {"spec": {"cpu": "1000m"}}, "",
         ".spec.cpu was sent as '1000m' and is stored as '1', the same quantity in its canonical form"),
        ("patch", {"metadata": {"labels": {"app": "x"}}}, "", "it sends what is stored"),
        ("patch", {"metadata": {"labels": {}}}, "", "it sends what is stored"),
        ("patch", {"status": {"ready": True}}, "status",
         ".status.ready was sent as True and is not stored: the schema does not have the field, and prunes it"),
        ("patch", {"status": {"phase": "New"}}, "",
         ".status.phase is not written by this request: it belongs to the subresource status"),
        ("patch", {"spec": {"size": 2}}, "status",
         ".spec.size is not written by this request: the subresource status writes nothing else"),
        ("patch", [{"op": "replace", "path": "/spec/cpu", "value": "1000m"}], "",
         ".spec.cpu was sent as '1000m' and is stored as '1', the same quantity in its canonical form"),
        ("patch", [{"op": "add", "path": "/spec/items/0/colour", "value": "red"}], "",
         ".spec.items[0].colour was sent as 'red' and is not stored: the schema does not have the field, and prunes "
         "it"),
        ("patch", None, "", ""),
    ],
)  # fmt: skip
def test_why_a_write_has_changed_nothing(verb, body, subresource, reason):
    assert why(verb, body, STORED, subresource, has_status=True) == reason


DEEP = {
    "metadata": {"labels": {"a": "b"}},
    "spec": {"a": {"b": {"c": 1}}, "l": [{"x": 1, "y": 2}, 3]},
    "status": {"z": 1},
}


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ({"a": {"b": {}}, "l": DEEP["spec"]["l"]}, ".spec.a.b.c was left out and is stored as 1, its default"),
        # what is below a part that was left out is not named, nor are items of lists
        ({"a": {}, "l": DEEP["spec"]["l"]}, "it sends what is stored"),
        ({"l": DEEP["spec"]["l"]}, "it sends what is stored"),
        ({**DEEP["spec"], "l": [{"x": 1}, 3]}, ".spec.l[0].y was left out and is stored as 2, its default"),
        ({**DEEP["spec"], "l": [{"x": 1, "y": 2}]}, "it sends what is stored"),
    ],
)
def test_of_an_update_what_was_left_out_beside_what_was_sent_is_a_default(spec, reason):
    assert why("update", {"spec": spec}, DEEP, "", has_status=False) == reason


def test_at_most_three_fields_are_named():
    text = why("update", sent(**{f"f{number}": number for number in range(5)}), STORED, "", has_status=True)
    assert text.count("was sent as") == 3
    assert text.endswith("; and 2 more fields")


@pytest.mark.parametrize(
    ("verb", "body", "reason"),
    [
        # empty values and nulls
        ("update", sent(list=[], map={}), "it sends what is stored"),
        ("update", sent(gone=None), "it sends what is stored"),
        ("update", sent(mode=None), ".spec.mode was sent as null and is stored as 'auto', its default"),
        ("patch", {"spec": {"map": {}}}, ".spec.map was sent as {}, and an empty value is not stored"),
        # what the server sets, and directives, are no differences
        ("update", {**STORED, "kind": "Other", "apiVersion": "v9"}, "it sends what is stored"),
        ("update", {**STORED, "metadata": {**STORED["metadata"], "uid": "u", "generation": 4}}, "it sends what is stored"),
        ("patch", {"spec": {"$retainKeys": ["x"]}}, "it sends what is stored"),
        ("patch", {"spec": {"items": [{"name": "b"}]}}, "it sends what is stored"),  # a strategic one may merge them
        ("patch", {"spec": {"new": [1]}},
         ".spec.new was sent as [1] and is not stored: the schema does not have the field, and prunes it"),
        ("patch", {"spec": {"size": {"x": 1}}},
         ".spec.size was sent as {'x': 1} and is stored as 1"),
        # the steps of a JSON patch
        ("patch", [{"op": "remove", "path": "/spec/gone"}, {"op": "test", "path": "/spec/size", "value": 7}],
         "it sends what is stored"),
        ("patch", [{"op": "add", "path": "/spec/items/-", "value": {}}], "it sends what is stored"),
        ("patch", [{"op": "add", "path": "/spec/size"}, "no step", {"op": "replace", "path": "/spec/size", "value": 1}],
         "it sends what is stored"),
        ("patch", [{"op": "add", "path": "/spec/a~1b~0c", "value": 1}],
         ".spec.a/b~c was sent as 1 and is not stored: the schema does not have the field, and prunes it"),
        ("patch", [{"op": "add", "path": "/spec/items/7", "value": 1}],
         ".spec.items[7] was sent as 1 and is not stored: the schema does not have the field, and prunes it"),
        # a value is shown up to 60 characters
        ("update", sent(mode="x" * 58), f".spec.mode was sent as '{'x' * 58}' and is stored as 'auto'"),
        ("update", sent(mode="x" * 59), f".spec.mode was sent as '{'x' * 59}... and is stored as 'auto'"),
    ],
)  # fmt: skip
def test_what_counts_as_a_difference(verb, body, reason):
    assert why(verb, body, STORED, "", has_status=True) == reason


@pytest.mark.parametrize("stored", [None, "text", [STORED]])
def test_of_what_is_no_object_no_reason_is_known(stored):
    assert why("update", STORED, stored, "", has_status=True) == ""


def test_a_pruned_status_field_of_a_custom_resource(kube):
    async def reconcile(request, client):
        found = await client.get("example.com/v1", "Backup", request.name, request.namespace)
        await client.patch_status(found, {"status": {"unknown": "yes"}})

    crd = definition()
    version = crd["spec"]["versions"][0]
    version["subresources"] = {"status": {}}
    status = {"type": "object", "properties": {"phase": {"type": "string"}}}
    version["schema"] = {"openAPIV3Schema": {"type": "object", "properties": {"status": status}}}
    kube.apply(crd, {"apiVersion": "example.com/v1", "kind": "Backup", "metadata": {"name": "a"}})
    kube.start(lambda manager: manager.controller("c").for_("example.com/v1", "Backup").complete(reconcile))
    (text,) = [one for one in texts(kube) if "noop-write" in one]
    assert text.endswith(
        ": .status.unknown was sent as 'yes' and is not stored: the schema does not have the field, and prunes it"
    )


def test_a_quantity_of_a_built_in_kind(kube):
    def pod(cpu):
        container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
        template = {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [container]}}
        meta = {"name": "web", "namespace": "default"}
        spec = {"selector": {"matchLabels": {"app": "x"}}, "template": template}
        return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": spec}

    async def reconcile(request, client):
        found = await client.get("apps/v1", "Deployment", "web", "default")
        await client.update({**found, "spec": {**found["spec"], "template": pod("1000m")["spec"]["template"]}})

    kube.apply(pod("1"))
    run(kube, reconcile)
    (text,) = [one for one in texts(kube) if "noop-write" in one]
    assert (
        ".spec.template.spec.containers[0].resources.requests.cpu was sent as '1000m' and is stored as '1', the same "
        "quantity in its canonical form" in text
    )
