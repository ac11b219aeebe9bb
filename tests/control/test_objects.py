"""What the page of a server reads: kinds, objects, one object with its versions and relatives, and changes as they happen."""

import asyncio

import orjson
import pytest
import yaml

from fakekube.control import objectdesk
from fakekube.control.objectdesk import DEPTH
from tests.control.rig import CONFIGMAPS, stepped

PODS = "/api/v1/namespaces/default/pods"


@stepped
async def test_kinds_are_listed_by_name_with_the_number_of_their_objects(it):
    await it.make("a")
    await it.make("b")
    code, found = await it.call("GET", "/kinds")
    rows = {one["collection"]: one for one in found["items"]}
    assert code == 200
    assert rows["configmaps"] == {"collection": "configmaps", "kind": "ConfigMap", "apiVersion": "v1", "objects": 2}
    assert rows["deployments.apps"]["objects"] == 0
    assert rows["events"]["apiVersion"] == "v1"
    assert "bindings" not in rows  # they are not listed
    order = [(one["kind"], one["apiVersion"]) for one in found["items"]]
    assert order == sorted(order)
    assert len(rows) == len(order)


@stepped
async def test_objects_are_rows_of_path_time_and_phase(it):
    client = it.client()
    await client.request("POST", CONFIGMAPS, body={"metadata": {"name": "a", "finalizers": ["example.com/f"]}})
    spec = {"containers": [{"name": "c", "image": "i"}]}
    await client.request("POST", PODS, body={"metadata": {"name": "p"}, "spec": spec})
    _, pods = await it.call("GET", "/objects", collection="pods")
    assert [(path, phase) for path, _, phase in pods["rows"]] == [("default/p", "Pending")]
    assert pods["rows"][0][1].endswith("Z")
    _, before = await it.call("GET", "/objects", collection="configmaps")
    await client.request("DELETE", f"{CONFIGMAPS}/a")
    _, after = await it.call("GET", "/objects", collection="configmaps")
    assert [[(path, phase) for path, _, phase in one["rows"]] for one in (before, after)] == [
        [("default/a", "")],
        [("default/a", "Terminating")],
    ]
    assert int(after["revision"]) == int(before["revision"]) + 1 == it.runner.apiserver.store.revision
    assert await it.refused("GET", "/objects", collection="sights") == (
        404,
        "there is no collection 'sights' (GET /kinds lists them)",
    )


@stepped
async def test_a_phase_that_is_no_text_is_not_shown(it):
    names = {"plural": "widgets", "kind": "Widget"}
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    spec = {"group": "example.com", "scope": "Cluster", "names": names, "versions": [version]}
    made = {"metadata": {"name": "widgets.example.com"}, "spec": spec}
    await it.client().request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", body=made)
    given = {
        "a": {"phase": "x"},
        "b": {"phase": {"a": 1}},
        "c": {"phase": 3},
        "d": {"phase": None},
        "e": "x",
        "f": None,
    }
    for name, status in given.items():
        body = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}, "status": status}
        assert (await it.client().request("POST", "/apis/example.com/v1/widgets", body=body))[0] == 201
    _, found = await it.call("GET", "/objects", collection="widgets.example.com")
    assert {path: phase for path, _, phase in found["rows"]} == {**dict.fromkeys(given, ""), "a": "x"}


@stepped
async def test_an_object_has_its_yaml_and_its_versions_until_it_is_compacted(it):
    await it.make("a", "1")
    await it.client().request("PUT", f"{CONFIGMAPS}/a", body={"metadata": {"name": "a"}, "data": {"x": "2"}})
    code, found = await it.call("GET", "/object", collection="configmaps", path="default/a")
    shown = yaml.safe_load(found["yaml"])
    assert (code, found["exists"], shown["data"], shown["kind"]) == (200, True, {"x": "2"}, "ConfigMap")
    assert "managedFields" not in shown["metadata"]
    assert [(one["verb"], (one["before"] or {}).get("data"), one["object"]["data"]) for one in found["versions"]] == [
        ("create", None, {"x": "1"}),
        ("update", {"x": "1"}, {"x": "2"}),
    ]
    await it.client().request("DELETE", f"{CONFIGMAPS}/a")
    _, gone = await it.call("GET", "/object", collection="configmaps", path="default/a")
    assert (gone["exists"], yaml.safe_load(gone["yaml"])["data"]) == (False, {"x": "2"})
    assert [(one["verb"], one["object"]) for one in gone["versions"][2:]] == [("delete", None)]
    assert int(gone["versions"][2]["revision"]) == it.runner.apiserver.store.revision
    await it.call("POST", "/compact", {})
    for collection, path in (("configmaps", "default/a"), ("configmaps", "default/none"), ("sights", "a")):
        assert await it.refused("GET", "/object", collection=collection, path=path) == (
            404,
            f"there is no object {path!r} in {collection!r}",
        )


async def owned(it, name, owner=None, uid=""):
    """Create a ConfigMap with an owner; returns its uid."""
    owners = [{"apiVersion": "v1", "kind": "ConfigMap", "name": owner, "uid": uid}] if owner else []
    body = {"metadata": {"name": name, "ownerReferences": owners}}
    _, _, made = await it.client().request("POST", CONFIGMAPS, body=body)
    return made["metadata"]["uid"]


@stepped
async def test_an_object_has_its_owners_and_dependents_over_some_generations(it):
    uid, name = await owned(it, "o0"), "o0"
    for number in range(1, DEPTH + 3):
        uid, name = await owned(it, f"o{number}", name, uid), f"o{number}"
    await owned(it, "lost", "never", "another")

    def line(found, below):
        return [found[0]["name"], *line(found[0][below], below)] if found else []

    _, first = await it.call("GET", "/object", collection="configmaps", path="default/o0")
    assert line(first["dependents"], "dependents") == [f"o{number}" for number in range(1, DEPTH + 1)]
    assert first["owners"] == []
    _, last = await it.call("GET", "/object", collection="configmaps", path=f"default/{name}")
    assert line(last["owners"], "owners") == [f"o{DEPTH + 1 - number}" for number in range(DEPTH)]
    assert last["dependents"] == []
    assert {key: value for key, value in last["owners"][0].items() if key != "owners"} == {
        "kind": "ConfigMap", "name": f"o{DEPTH + 1}", "collection": "configmaps", "path": f"default/o{DEPTH + 1}",
        "exists": True,
    }  # fmt: skip
    _, lost = await it.call("GET", "/object", collection="configmaps", path="default/lost")
    assert lost["owners"] == [{"kind": "ConfigMap", "name": "never", "exists": False}]


def events(chunk):
    """The events of a piece of a stream: names and data."""
    parts = [part.split("\n") for part in chunk.decode().split("\n\n") if part]
    return [(name.removeprefix("event: "), orjson.loads(data.removeprefix("data: "))) for name, data in parts]


@stepped
async def test_changes_and_requests_are_streamed_as_they_happen(it):
    listening = list(it.runner.restored)
    answer = await it.answered("GET", "/changes")
    assert (answer.status, answer.body, answer.content_type) == (200, b": changes\n\n", "text/event-stream")
    stream = answer.stream
    pending = asyncio.ensure_future(anext(stream))
    await asyncio.sleep(0)  # noqa: TID251 - the stream begins to listen
    await it.make("a")
    change, request = events(await pending)
    assert change[0] == "change"
    assert (change[1]["collection"], change[1]["path"], change[1]["row"][0]) == ("configmaps", "default/a", "default/a")
    assert (request[0], request[1]["verb"], request[1]["resource"]) == ("request", "create", "configmaps")
    pending = asyncio.ensure_future(anext(stream))
    await it.client().request("DELETE", f"{CONFIGMAPS}/a")
    assert events(await pending)[0] == ("change", {"collection": "configmaps", "path": "default/a", "row": None})
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(objectdesk, "WAITING", 4)
        for number in range(4):
            await it.make(f"b{number}")
    names = [name for name, _ in events(await anext(stream))]
    assert names == ["change", "request", "change", "request", "again"]
    await it.call("POST", "/reset", {})
    assert ("again", {}) in events(await anext(stream))
    await stream.aclose()
    assert it.runner.restored == listening
