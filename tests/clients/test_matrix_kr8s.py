"""kr8s, on asyncio. Of Kubernetes 1.36 it warns that it knows no more than 1.35."""

import asyncio

import kr8s
import kr8s.asyncio
import pytest
from kr8s.asyncio.objects import ConfigMap, new_class

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:Kubernetes version v1.36:UserWarning")]

Gadget = new_class(kind="Gadget", version="example.com/v1", namespaced=True)

KINDS = [
    pytest.param(ConfigMap, "v1", "data", {"x": "1"}, {"x": "2"}, id="ConfigMap"),
    pytest.param(Gadget, "example.com/v1", "spec", {"colour": "red"}, {"colour": "blue"}, id="Gadget"),
]


@pytest.fixture
def on(standalone, namespaced):
    """Runs a coroutine function with kr8s' API object, of a namespace of its own."""

    def run(test):
        async def main():
            api = await kr8s.asyncio.api(kubeconfig=str(standalone.kubeconfig), namespace=namespaced)
            try:
                await test(api)
            finally:
                await api._session.aclose()  # kr8s closes it nowhere itself

        standalone.run(main())

    return run


def resource(kind, api, name, **more):
    meta = {"name": name, "namespace": api.namespace, **more.pop("metadata", {})}
    return kind({"metadata": meta, **more}, api=api)


def test_discovery(on):
    @on
    async def _(api):
        assert (await api.version())["gitVersion"].startswith("v1.36.2")
        found = {(each["version"], each["kind"]) for each in await api.api_resources()}
        assert {("v1", "ConfigMap"), ("apps/v1", "Deployment"), ("example.com/v1", "Gadget")} <= found
        assert (await api.lookup_kind("gd"))[:2] == ("gadget.example.com/v1", "gadgets")
        assert "v1" in [version async for version in api.api_versions()]


@pytest.mark.parametrize(("kind", "api_version", "field", "first", "second"), KINDS)
def test_an_objects_life(on, kind, api_version, field, first, second):
    @on
    async def _(api):
        made = resource(kind, api, "a", **{field: first})
        await made.create()
        found = await kind.get("a", namespace=api.namespace, api=api)
        assert (found.raw[field], found.raw["apiVersion"]) == (first, api_version)
        await found.patch({field: second})
        await made.refresh()
        assert made.raw[field] == second
        key = next(iter(second))
        await made.patch([{"op": "remove", "path": f"/{field}/{key}"}], type="json")
        assert key not in made.raw.get(field, {})
        with pytest.raises(kr8s.ServerError) as taken:
            await resource(kind, api, "a").create()
        assert (taken.value.status["code"], taken.value.status["reason"]) == (409, "AlreadyExists")
        await made.delete()
        assert not await made.exists()
        with pytest.raises(kr8s.NotFoundError):
            await made.refresh()


@pytest.mark.parametrize(("kind", "api_version", "field", "first", "second"), KINDS)
def test_selectors(on, kind, api_version, field, first, second):
    @on
    async def _(api):
        for name, app in (("a", "web"), ("b", "db"), ("c", "web")):
            await resource(kind, api, name, metadata={"labels": {"app": app}}, **{field: first}).create()

        async def names(**selectors):
            return [found.name async for found in kind.list(namespace=api.namespace, api=api, **selectors)]

        assert await names(label_selector={"app": "web"}) == ["a", "c"]
        assert await names(label_selector="app!=web") == ["b"]
        assert await names(field_selector="metadata.name=c") == ["c"]


def test_status(on):
    @on
    async def _(api):
        made = resource(Gadget, api, "a", spec={"size": 1})
        await made.create()
        await made.patch({"status": {"seen": 1}}, subresource="status")
        assert (made.status.seen, made.metadata.generation) == (1, 1)


def test_pages_of_a_hundred(on):
    """kr8s asks for no other size."""

    @on
    async def _(api):
        for i in range(101):
            await resource(ConfigMap, api, f"a{i:03}").create()
        found = [each.name async for each in ConfigMap.list(namespace=api.namespace, api=api)]
        assert found == [f"a{i:03}" for i in range(101)]


@pytest.mark.parametrize(("kind", "api_version", "field", "first", "second"), KINDS)
def test_a_watch_goes_on_where_it_was(on, kind, api_version, field, first, second):
    @on
    async def _(api):
        made = resource(kind, api, "a", **{field: first})
        await made.create()
        before = made.metadata.resourceVersion
        await made.patch({field: second})
        await made.delete()

        async def following(since, count):
            seen = []
            watching = api.async_watch(kind.plural + "." + kind.version, namespace=api.namespace, since=since)
            async with asyncio.timeout(30):
                async for event, found in watching:
                    seen.append((event, found.raw[field]))
                    if len(seen) == count:
                        break
            await watching.aclose()
            return seen, found.metadata.resourceVersion

        seen, version = await following(before, 1)
        rest, _ = await following(version, 1)
        assert (seen, rest) == ([("MODIFIED", second)], [("DELETED", second)])


def test_a_version_that_is_gone_is_asked_for_again_and_again(on, standalone):
    """kr8s takes 410 for a reason to watch from the very version that is gone: it neither says so nor gets on."""

    @on
    async def _(api):
        made = resource(ConfigMap, api, "a")
        await made.create()
        version = made.metadata.resourceVersion
        await made.patch({"data": {"x": "1"}})
        standalone.expire()
        watching = api.async_watch("configmaps", namespace=api.namespace, since=version)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.5):
                await anext(aiter(watching))
        await watching.aclose()
