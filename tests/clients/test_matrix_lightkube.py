"""lightkube, blocking and on asyncio."""

import pytest
from lightkube import ApiError, AsyncClient, Client, KubeConfig
from lightkube.generic_resource import create_namespaced_resource
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.apiextensions_v1 import CustomResourceDefinition
from lightkube.resources.core_v1 import ConfigMap
from lightkube.types import PatchType

pytestmark = pytest.mark.slow

Gadget = create_namespaced_resource("example.com", "v1", "Gadget", "gadgets")

KINDS = [
    pytest.param(ConfigMap, "data", {"x": "1"}, {"x": "2"}, id="ConfigMap"),
    pytest.param(Gadget, "spec", {"colour": "red"}, {"colour": "blue"}, id="Gadget"),
]


@pytest.fixture
def client(standalone, namespaced):
    with Client(config=KubeConfig.from_file(str(standalone.kubeconfig)), namespace=namespaced) as made:
        yield made


def resource(kind, name, labels=None, **fields):
    return kind(metadata=ObjectMeta(name=name, labels=labels), **fields)


def content(found, field):
    return found[field] if isinstance(found, dict) else getattr(found, field)


def test_definitions_instead_of_discovery(client):
    """lightkube discovers nothing: it brings the built-in kinds along, and makes others of their definitions."""
    found = client.get(CustomResourceDefinition, "gadgets.example.com")
    assert (found.spec.names.kind, found.spec.versions[0].name) == ("Gadget", "v1")
    assert {condition.type: condition.status for condition in found.status.conditions}["Established"] == "True"


@pytest.mark.parametrize(("kind", "field", "first", "second"), KINDS)
def test_an_objects_life(client, kind, field, first, second):
    made = client.create(resource(kind, "a", **{field: first}))
    assert content(client.get(kind, "a"), field) == first
    stale = resource(kind, "a", **{field: second})
    stale.metadata.resourceVersion = made.metadata.resourceVersion
    assert content(client.replace(stale), field) == second
    with pytest.raises(ApiError) as conflict:
        client.replace(stale)
    assert (conflict.value.status.code, conflict.value.status.reason) == (409, "Conflict")
    client.delete(kind, "a")
    with pytest.raises(ApiError) as gone:
        client.get(kind, "a")
    assert gone.value.status.code == 404


@pytest.mark.parametrize(("kind", "field", "first", "second"), KINDS)
def test_patches(client, kind, field, first, second):
    client.create(resource(kind, "a", **{field: first}))
    found = client.patch(kind, "a", {field: second}, patch_type=PatchType.MERGE)
    assert content(found, field) == second
    key = next(iter(first))
    operations = [{"op": "replace", "path": f"/{field}/{key}", "value": "3"}]
    found = client.patch(kind, "a", operations, patch_type=PatchType.JSON)
    assert content(found, field) == {key: "3"}
    if kind is ConfigMap:
        found = client.patch(kind, "a", {field: {"y": "4"}}, patch_type=PatchType.STRATEGIC)
        assert content(found, field) == {key: "3", "y": "4"}


@pytest.mark.parametrize(("kind", "field", "first", "second"), KINDS)
def test_apply(client, kind, field, first, second):
    made = resource(kind, "a", **{field: first})
    made.metadata.namespace = client.namespace
    found = client.apply(made, field_manager="one")
    assert content(found, field) == first
    theirs = resource(kind, "a", **{field: second})
    with pytest.raises(ApiError) as conflict:
        client.apply(theirs, field_manager="two")
    assert conflict.value.status.message.startswith('Apply failed with 1 conflict: conflict with "one"')
    assert content(client.apply(theirs, field_manager="two", force=True), field) == second


def test_status(client):
    client.create(resource(Gadget, "a", spec={"size": 1}))
    found = client.patch(Gadget.Status, "a", {"status": {"seen": 1}}, patch_type=PatchType.MERGE)
    assert (found.status, client.get(Gadget, "a").metadata.generation) == ({"seen": 1}, 1)


@pytest.mark.parametrize(("kind", "field", "first", "second"), KINDS)
def test_selectors_and_pages(client, kind, field, first, second):
    for name, app in (("a", "web"), ("b", "db"), ("c", "web")):
        client.create(resource(kind, name, {"app": app}))

    def names(**options):
        return [found.metadata.name for found in client.list(kind, **options)]

    assert names(labels={"app": "web"}) == ["a", "c"]
    assert names(fields={"metadata.name": "b"}) == ["b"]
    assert names(chunk_size=1) == ["a", "b", "c"]


@pytest.mark.parametrize(("kind", "field", "first", "second"), KINDS)
def test_a_watch_goes_on_where_it_was(client, kind, field, first, second):
    version = client.create(resource(kind, "a", **{field: first})).metadata.resourceVersion
    client.patch(kind, "a", {field: second}, patch_type=PatchType.MERGE)
    client.delete(kind, "a")
    seen = []
    for _ in range(2):
        watching = client.watch(kind, resource_version=version)
        event, found = next(watching)
        watching.close()
        seen.append((event, content(found, field)))
        version = found.metadata.resourceVersion
    assert seen == [("MODIFIED", second), ("DELETED", second)]


def test_a_version_that_is_gone(client, standalone):
    version = client.create(resource(ConfigMap, "a")).metadata.resourceVersion
    client.patch(ConfigMap, "a", {"data": {"x": "1"}}, patch_type=PatchType.MERGE)
    standalone.expire()
    with pytest.raises(ApiError) as gone:
        next(client.watch(ConfigMap, resource_version=version))
    assert (gone.value.status.code, gone.value.status.reason) == (410, "Expired")


def test_on_asyncio(standalone, namespaced):
    async def main():
        config = KubeConfig.from_file(str(standalone.kubeconfig))
        async with AsyncClient(config=config, namespace=namespaced) as client:
            made = await client.create(resource(Gadget, "a", spec={"size": 1}))
            await client.patch(Gadget, "a", {"spec": {"size": 2}}, patch_type=PatchType.MERGE)
            watching = client.watch(Gadget, resource_version=made.metadata.resourceVersion)
            event, found = await anext(watching)
            await watching.aclose()
            assert (event, found.spec) == ("MODIFIED", {"size": 2})
            assert [each.metadata.name async for each in client.list(Gadget)] == ["a"]
            await client.delete(Gadget, "a")
            with pytest.raises(ApiError, match="not found"):
                await client.get(Gadget, "a")

    standalone.run(main())
