"""The asyncio editions of the official client: its own (`kubernetes.aio`), and the package `kubernetes_asyncio`."""

import importlib
from types import SimpleNamespace

import pytest

pytestmark = pytest.mark.slow

GADGETS = ("example.com", "v1")


def on(test):
    """A test as a coroutine that gets a client; it runs on the cluster's loop, or on an ordinary one."""

    @pytest.mark.parametrize("package", ["kubernetes.aio", "kubernetes_asyncio"])
    def run(server, namespace, package):
        client, watch, dynamic = (
            importlib.import_module(f"{package}.{name}") for name in ("client", "watch", "dynamic")
        )

        async def main():
            configuration = client.Configuration(host=server.url)
            async with client.ApiClient(configuration) as api_client:
                kit = SimpleNamespace(client=client, watch=watch, dynamic=dynamic, api=api_client, server=server)
                await test(kit, namespace)

        server.run(main())

    return run


def config_map(kit, name, labels=None, **data):
    return kit.client.V1ConfigMap(metadata=kit.client.V1ObjectMeta(name=name, labels=labels), data=data or None)


def gadget(name, **spec):
    return {"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"name": name}, "spec": spec}


@on
async def test_discovery(kit, namespace):
    assert (await kit.client.VersionApi(kit.api).get_code()).git_version.startswith("v1.36.2")
    groups = await kit.client.ApisApi(kit.api).get_api_versions()
    assert "example.com" in [group.name for group in groups.groups]
    resources = {found.name: found for found in (await kit.client.CoreV1Api(kit.api).get_api_resources()).resources}
    assert resources["configmaps"].kind == "ConfigMap"


@on
async def test_a_built_in_kind(kit, namespace):
    core = kit.client.CoreV1Api(kit.api)
    created = await core.create_namespaced_config_map(namespace, config_map(kit, "a", x="1"))
    assert created.data == {"x": "1"}
    found = await core.read_namespaced_config_map("a", namespace)
    assert found == created
    found.data["y"] = "2"
    assert (await core.replace_namespaced_config_map("a", namespace, found)).data == {"x": "1", "y": "2"}
    with pytest.raises(kit.client.ApiException) as stale:
        await core.replace_namespaced_config_map("a", namespace, found)
    assert stale.value.status == 409
    await core.delete_namespaced_config_map("a", namespace)
    with pytest.raises(kit.client.ApiException) as gone:
        await core.read_namespaced_config_map("a", namespace)
    assert gone.value.status == 404


@on
async def test_a_custom_kind(kit, namespace):
    custom, where = kit.client.CustomObjectsApi(kit.api), (*GADGETS, namespace, "gadgets")
    created = await custom.create_namespaced_custom_object(*where, gadget("g", size=1))
    await custom.replace_namespaced_custom_object(*where, "g", {**created, "spec": {"size": 2}})
    await custom.patch_namespaced_custom_object_status(
        *where, "g", {"status": {"seen": 1}}, _content_type="application/merge-patch+json"
    )
    (found,) = (await custom.list_namespaced_custom_object(*where))["items"]
    assert (found["spec"], found["status"]) == ({"size": 2}, {"seen": 1})
    await custom.delete_namespaced_custom_object(*where, "g")
    assert (await custom.list_namespaced_custom_object(*where))["items"] == []


@on
async def test_patches(kit, namespace):
    core = kit.client.CoreV1Api(kit.api)
    await core.create_namespaced_config_map(namespace, config_map(kit, "a", x="1"))
    for kind, patch, data in (
        ("application/merge-patch+json", {"data": {"x": None, "y": "2"}}, {"y": "2"}),
        ("application/json-patch+json", [{"op": "add", "path": "/data/z", "value": "3"}], {"y": "2", "z": "3"}),
        ("application/strategic-merge-patch+json", {"data": {"y": "4"}}, {"y": "4", "z": "3"}),
    ):
        patched = await core.patch_namespaced_config_map("a", namespace, patch, _content_type=kind)
        assert patched.data == data


@on
async def test_apply(kit, namespace):
    custom, where = kit.client.CustomObjectsApi(kit.api), (*GADGETS, namespace, "gadgets", "g")
    apply = {"_content_type": "application/apply-patch+yaml"}
    # the client knows no 201 here: it answers None where the apply has created the object
    assert await custom.patch_namespaced_custom_object(*where, gadget("g", size=1), field_manager="me", **apply) is None
    found = await custom.patch_namespaced_custom_object(*where, gadget("g", size=2), field_manager="me", **apply)
    assert found["spec"] == {"size": 2}
    with pytest.raises(kit.client.ApiException) as conflict:
        await custom.patch_namespaced_custom_object(*where, gadget("g", size=3), field_manager="you", **apply)
    assert conflict.value.status == 409


@on
async def test_selectors_and_pages(kit, namespace):
    core = kit.client.CoreV1Api(kit.api)
    for name, app in (("a", "web"), ("b", "db"), ("c", "web")):
        await core.create_namespaced_config_map(namespace, config_map(kit, name, {"app": app}))

    async def names(**options):
        found = await core.list_namespaced_config_map(namespace, **options)
        return [item.metadata.name for item in found.items], found.metadata._continue

    assert (await names(label_selector="app=web"))[0] == ["a", "c"]
    assert (await names(label_selector="app=web", field_selector="metadata.name=c"))[0] == ["c"]
    page, token = await names(limit=2)
    assert (page, (await names(limit=2, _continue=token))[0]) == (["a", "b"], ["c"])
    await core.delete_namespaced_config_map("a", namespace)
    kit.server.expire()
    with pytest.raises(kit.client.ApiException) as expired:
        await names(limit=2, _continue=token)
    assert expired.value.status == 410


@on
async def test_a_watch_goes_on_where_it_was(kit, namespace):
    core = kit.client.CoreV1Api(kit.api)
    version = (await core.list_namespaced_config_map(namespace)).metadata.resource_version
    await core.create_namespaced_config_map(namespace, config_map(kit, "a", x="1"))
    await core.delete_namespaced_config_map("a", namespace)
    seen = []
    for _ in range(2):
        async with kit.watch.Watch().stream(
            core.list_namespaced_config_map, namespace, resource_version=version, timeout_seconds=5
        ) as events:
            async for event in events:
                seen.append(event["type"])
                version = event["object"].metadata.resource_version
                break
    assert seen == ["ADDED", "DELETED"]


@on
async def test_a_watch_hears_what_happens(kit, namespace):
    custom, where = kit.client.CustomObjectsApi(kit.api), (*GADGETS, namespace, "gadgets")
    version = (await custom.list_namespaced_custom_object(*where))["metadata"]["resourceVersion"]
    seen = []
    async with kit.watch.Watch().stream(
        custom.list_namespaced_custom_object, *where, resource_version=version, timeout_seconds=30
    ) as events:
        await custom.create_namespaced_custom_object(*where, gadget("g", size=1))
        async for event in events:
            seen.append((event["type"], event["object"]["spec"]))
            if event["type"] == "DELETED":
                break
            await custom.delete_namespaced_custom_object(*where, "g")
    assert seen == [("ADDED", {"size": 1}), ("DELETED", {"size": 1})]


@on
async def test_a_watch_from_a_version_that_is_gone(kit, namespace):
    core = kit.client.CoreV1Api(kit.api)
    version = (await core.list_namespaced_config_map(namespace)).metadata.resource_version
    await core.create_namespaced_config_map(namespace, config_map(kit, "a"))
    kit.server.expire()
    async with kit.watch.Watch().stream(
        core.list_namespaced_config_map, namespace, resource_version=version, timeout_seconds=5
    ) as events:
        with pytest.raises(kit.client.ApiException) as expired:
            await anext(aiter(events))
    assert expired.value.status == 410


@on
async def test_the_dynamic_client(kit, namespace):
    dynamic = await kit.dynamic.DynamicClient(kit.api)
    for api_version, kind in (("v1", "ConfigMap"), ("example.com/v1", "Gadget")):
        resource = await dynamic.resources.get(api_version=api_version, kind=kind)
        body = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "a", "labels": {"app": "web"}}}
        created = await resource.create(body=body, namespace=namespace)
        labels = {"metadata": {"labels": {"app": "db"}}}
        await resource.patch(body=labels, name="a", namespace=namespace, content_type="application/merge-patch+json")
        found = await resource.get(namespace=namespace, label_selector="app=db")
        assert [item.metadata.uid for item in found.items] == [created.metadata.uid]
        await resource.delete(name="a", namespace=namespace)
        assert (await resource.get(namespace=namespace)).items == []
