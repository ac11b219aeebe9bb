"""The cache: reads without requests, and informers that are created on demand."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from controllerlib.cache.cache import Cache, CacheNotStarted
from controllerlib.cache.informermap import NotCached, UnknownNamespace
from controllerlib.cache.options import ByObject, CacheOptions, Selection
from controllerlib.client.client import Client
from controllerlib.client.errors import ApiError
from controllerlib.clock import SystemClock, wait_for
from controllerlib.random import FixedRandom
from tests.controllerlib.fakeapi import FakeApi, refuse
from tests.controllerlib.handlerlog import HandlerLog, advance

POD = ("v1", "Pod")
NODE = ("v1", "Node")


class Cached:
    """A small API server and a cache of it."""

    def __init__(self, options: CacheOptions | None = None, *, random: float = 0.5) -> None:
        self.api = FakeApi()
        self.cache = Cache(Client(self.api), options, random=FixedRandom(random))
        self.task: asyncio.Task[None] | None = None

    async def run(self, seconds: float = 0.0) -> "Cached":
        if self.task is None:
            self.task = asyncio.create_task(self.cache.run(), name="cache")
        await advance(seconds)
        return self

    def put(self, name: str, namespace: str = "default", **fields: Any) -> dict[str, Any]:
        return self.api.put(*POD, name, namespace, **fields)

    async def names(self, namespace: str | None = None, **options: Any) -> list[str]:
        return [_path(pod) for pod in await self.cache.list(*POD, namespace, **options)]

    def reads(self) -> int:
        """Return the list and watch requests of the server."""
        return len([asked for asked in self.api.asked if asked.path.endswith(("pods", "nodes"))])


def _path(obj: Mapping[str, Any]) -> str:
    return f"{obj['metadata']['namespace']}/{obj['metadata']['name']}"


async def test_ca_01_reading_before_and_after_the_start() -> None:
    cached = Cached()
    cached.put("a", spec={"nodeName": "n"})
    with pytest.raises(CacheNotStarted, match="the cache is not started, can not read objects"):
        await cached.cache.get(*POD, "a", "default")
    with pytest.raises(CacheNotStarted):
        await cached.cache.list(*POD)
    assert cached.api.asked == []
    await cached.run()
    assert (await cached.cache.get(*POD, "a", "default"))["spec"] == {"nodeName": "n"}
    with pytest.raises(ApiError, match='Pod "b" not found') as caught:
        await cached.cache.get(*POD, "b", "default")
    assert caught.value.reason == "NotFound"


SHARED = Selection(share=True)


@pytest.mark.parametrize(
    ("options", "call", "shared"),
    [
        pytest.param(CacheOptions(), {}, False, id="CA-02-copies"),
        pytest.param(CacheOptions(default=SHARED), {}, True, id="CA-02-cache-shares"),
        pytest.param(CacheOptions(by_object={POD: ByObject(SHARED)}), {}, True, id="CA-02-kind-shares"),
        pytest.param(CacheOptions(), {"share": True}, True, id="CA-02-call-shares"),
        pytest.param(CacheOptions(default=SHARED), {"share": False}, False, id="CA-02-call-copies"),
    ],
)
async def test_results_are_copies(options: CacheOptions, call: Mapping[str, bool], shared: bool) -> None:
    cached = Cached(options)
    cached.put("a", spec={"tolerations": [{"key": "x"}]})
    await cached.run()
    first = await cached.cache.get(*POD, "a", "default", **call)
    (listed,) = await cached.cache.list(*POD, **call)
    assert (listed is first) is shared
    first["spec"]["tolerations"][0]["key"] = "mine"
    again = await cached.cache.get(*POD, "a", "default", **call)
    assert (again is first) is shared
    assert again["spec"]["tolerations"] == [{"key": "mine" if shared else "x"}]


async def test_ca_03_the_first_read_of_a_kind_starts_a_watch() -> None:
    cached = await Cached().run()
    cached.put("a")
    await cached.cache.get(*POD, "a", "default")
    assert [asked.verb for asked in cached.api.requests(path="pods")] == ["watch"], "a streamed list"
    await cached.cache.get(*POD, "a", "default")
    await cached.cache.list(*POD)
    assert cached.reads() == 1
    assert len(cached.cache.informers.all()) == 1
    await cached.cache.get(*POD, "a", "default", form="unstructured")
    assert cached.reads() == 2
    assert [informer.form for informer in cached.cache.informers.all()] == ["structured", "unstructured"]
    await cached.cache.get(*POD, "a", "default", form="metadata")
    assert len({id(i.informers[""].indexer) for i in cached.cache.informers.all()}) == 3, "a store of its own for each"


async def test_ca_04_a_kind_without_an_informer() -> None:
    cached = await Cached(CacheOptions(fail_on_missing_informer=True)).run()
    cached.put("a")
    for read in (cached.cache.get(*POD, "a", "default"), cached.cache.list(*POD)):
        with pytest.raises(NotCached, match="v1, Kind=Pod is not cached"):
            await read
    assert cached.api.asked == []
    await cached.cache.get_informer(*POD)
    assert await cached.names() == ["default/a"]


async def test_ca_05_fields() -> None:
    cached = Cached()
    for namespace, name, node, phase in (
        ("a", "x", "n1", "Running"), ("a", "y", "n2", "Running"), ("b", "x", "n1", "Failed"), ("b", "z", "n1", "Running"),
    ):  # fmt: skip
        cached.put(name, namespace, spec={"nodeName": node}, status={"phase": phase})
    cached.cache.index_field(*POD, "spec.nodeName", lambda pod: [pod["spec"]["nodeName"]])
    await cached.run()
    assert await cached.names("a", field_selector="spec.nodeName=n1") == ["a/x"]
    assert await cached.names(field_selector="spec.nodeName=n1") == ["a/x", "b/x", "b/z"]
    with pytest.raises(LookupError, match=r"field:status\.phase"):
        await cached.names(field_selector="status.phase=Running")
    with pytest.raises(ValueError, match="non-exact field matches are not supported by the cache"):
        await cached.names(field_selector="spec.nodeName!=n1")
    cached.cache.index_field(*POD, "status.phase", lambda pod: [pod["status"]["phase"]])
    both = "spec.nodeName=n1,status.phase=Running"
    assert await cached.names(field_selector=both) == ["a/x", "b/z"]
    assert await cached.names("b", field_selector=both) == ["b/z"]
    cached.put("x", "a", spec={"nodeName": "n9"})
    await advance()
    assert await cached.names(field_selector=both) == ["b/z"], "indices follow the objects"


async def test_ca_05_index_names_are_unique() -> None:
    cached = await Cached().run()
    cached.cache.index_field(*POD, "spec.nodeName", lambda pod: [])
    with pytest.raises(ValueError, match=r"indexer conflict: field:spec\.nodeName"):
        cached.cache.index_field(*POD, "spec.nodeName", lambda pod: [])


async def test_ca_06_limits() -> None:
    cached = Cached()
    for name in "abcde":
        cached.put(name, metadata={"labels": {"odd": str("ace".find(name) >= 0)}})
    await cached.run()
    assert await cached.names(limit=2) == ["default/a", "default/b"]
    assert await cached.names(limit=2, label_selector="odd=True") == ["default/a", "default/c"]
    assert len(await cached.names(limit=9)) == 5
    with pytest.raises(ValueError, match="continue list option is not supported by the cache"):
        await cached.names(continue_token="x")


@pytest.mark.parametrize(
    ("options", "draw", "hours"),
    [
        pytest.param(CacheOptions(), 0.5, 10.0, id="CA-07-middle"),
        pytest.param(CacheOptions(), 0.0, 9.0, id="CA-07-lowest"),
        pytest.param(CacheOptions(by_object={POD: ByObject(sync_period=7200.0)}), 0.5, 2.0, id="CA-07-of-one-kind"),
    ],
)
async def test_the_resync_period(options: CacheOptions, draw: float, hours: float) -> None:
    cached, notified = Cached(options, random=draw), HandlerLog()
    cached.put("a")
    informer = await cached.cache.get_informer(*POD)
    informer.add_handler(notified)
    await cached.run(hours * 3600 - 0.001)
    assert notified.log == ["add a@1!"]
    reads = cached.reads()
    await advance(0.001)
    assert notified.log == ["add a@1!", "update a@1>1"]
    assert cached.reads() == reads, "it asks the server nothing"


async def test_ca_08_two_namespaces() -> None:
    cached = Cached(CacheOptions(namespaces={"a": Selection(), "b": Selection()}))
    for namespace in ("c", "b", "a"):
        cached.put("x", namespace)
    cached.api.put(*NODE, "n")
    await cached.run()
    with pytest.raises(UnknownNamespace, match="unable to get: c/x because of unknown namespace for the cache"):
        await cached.cache.get(*POD, "x", "c")
    with pytest.raises(UnknownNamespace, match="unable to list: c because of unknown namespace for the cache"):
        await cached.cache.list(*POD, "c")
    assert await cached.names() == ["a/x", "b/x"]
    assert await cached.names("b") == ["b/x"]
    assert (await cached.cache.get(*NODE, "n"))["kind"] == "Node", "cluster-scoped kinds are watched as a whole"
    assert (await cached.cache.get(*NODE, "n", "whatever"))["kind"] == "Node"


async def test_ca_09_an_informer_that_is_removed() -> None:
    cached, notified = await Cached().run(), HandlerLog()
    cached.put("a")
    informer = await cached.cache.get_informer(*POD)
    informer.add_handler(notified)
    await advance()
    assert notified.log == ["add a@1!"]
    cached.cache.remove_informer(*POD)
    cached.put("b")
    await advance(60)
    assert notified.log == ["add a@1!"]
    assert cached.api.watches == []
    reads = cached.reads()
    assert await cached.names() == ["default/a", "default/b"]
    assert cached.reads() == reads + 1


async def test_ca_10_a_read_after_a_write_may_be_behind() -> None:
    cached = await Cached().run()
    cached.put("a", spec={"nodeName": "old"})
    client = Client(cached.api).with_options(reader=cached.cache)
    await client.get(*POD, "a", "default")
    await client.patch({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "default"}},
                       {"spec": {"nodeName": "new"}})  # fmt: skip
    assert (await client.get(*POD, "a", "default"))["spec"]["nodeName"] == "old"
    await advance()
    assert (await client.get(*POD, "a", "default"))["spec"]["nodeName"] == "new"


async def test_ca_11_a_kind_that_is_forbidden_to_list() -> None:
    cached = await Cached().run()
    cached.api.faults.append(lambda asked: refuse(403, "Forbidden") if asked.path.endswith("pods") else None)
    clock = SystemClock()
    with pytest.raises(TimeoutError):
        await wait_for(clock, cached.cache.get(*POD, "a", "default"), clock.monotonic() + 10)
    assert clock.monotonic() == 10
    informer = await cached.cache.get_informer(*POD, block_until_synced=False)
    assert (clock.monotonic(), informer.has_synced()) == (10, False)


async def test_ca_12_an_object_that_loses_its_label(fakekube: Any) -> None:
    def web(app: str) -> dict[str, Any]:
        meta = {"name": "a", "namespace": "default", "labels": {"app": app}}
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}

    selected = CacheOptions(by_object={("v1", "ConfigMap"): ByObject(Selection(label_selector="app=web"))})
    cache, notified = Cache(Client(fakekube.access.transport()), selected, clock=fakekube.clock), HandlerLog()
    fakekube.create(web("web"))
    fakekube.task(cache.run())
    await fakekube.settle()
    informer = await cache.get_informer("v1", "ConfigMap")
    informer.add_handler(notified)
    last = fakekube.update(web("db"))
    await fakekube.settle()
    assert await cache.list("v1", "ConfigMap") == []
    assert [line.split("@")[0] for line in notified.log] == ["add a", "delete a"]
    assert notified.log[1] == f"delete a@{last['metadata']['resourceVersion']}", "the server said so: no tombstone"


async def test_ca_13_synced_when_every_namespace_is() -> None:
    cached, notified = Cached(CacheOptions(namespaces={"a": Selection(), "b": Selection()})), HandlerLog()
    refused = lambda asked: refuse(403, "Forbidden") if "/namespaces/b/" in asked.path else None  # noqa: E731
    cached.api.faults.append(refused)
    cached.put("x", "a")
    cached.put("y", "b")
    informer = await cached.cache.get_informer(*POD)
    handlers = informer.add_handler(notified)
    await cached.run(1)
    assert (informer.has_synced(), handlers.has_synced()) == (False, False)
    assert informer.informers["a"].has_synced()
    assert notified.log == ["add x@1!"]
    cached.api.faults.clear()
    await advance(60)
    assert (informer.has_synced(), handlers.has_synced()) == (True, True)
    assert notified.log == ["add x@1!", "add y@2!"]
    cached.put("x", "b")
    await advance()
    assert notified.log[-1] == "add x@3"


def _labels(name: str) -> Selection:
    return Selection(label_selector=name)


@pytest.mark.parametrize(
    ("options", "selections"),
    [
        pytest.param(CacheOptions(), {"": None}, id="CA-14-nothing"),
        pytest.param(CacheOptions(default=_labels("default")), {"": "default"}, id="CA-14-default"),
        pytest.param(
            CacheOptions(default=_labels("default"), namespaces={"a": _labels("namespace"), "b": Selection()}),
            {"a": "namespace", "b": "default"},
            id="CA-14-namespace-over-default",
        ),
        pytest.param(
            CacheOptions(
                default=_labels("default"),
                namespaces={"a": _labels("namespace"), "b": Selection()},
                by_object={POD: ByObject(_labels("kind"))},
            ),
            {"a": "kind", "b": "kind"},
            id="CA-14-kind-over-namespace",
        ),
        pytest.param(
            CacheOptions(
                default=_labels("default"),
                namespaces={"a": _labels("namespace")},
                by_object={POD: ByObject(_labels("kind"), {"a": _labels("kind in a"), "c": Selection()})},
            ),
            {"a": "kind in a", "c": "kind"},
            id="CA-14-kind-in-namespace-over-kind",
        ),
        pytest.param(
            CacheOptions(default=_labels("default"), by_object={NODE: ByObject(_labels("node"))}),
            {"": "default"},
            id="CA-14-of-another-kind",
        ),
    ],
)
def test_the_precedence_of_settings(options: CacheOptions, selections: Mapping[str, str | None]) -> None:
    found = options.selections(*POD, namespaced=True)
    assert {namespace: one.label_selector for namespace, one in found.items()} == selections


def _transform(name: str) -> Callable[[Any], Any]:
    def mark(obj: Any) -> Any:
        return {**obj, "marked": name}

    return mark


async def test_ca_14_settings_are_merged_one_by_one() -> None:
    """Unset values of narrower settings are taken from wider ones."""
    options = CacheOptions(
        default=Selection(transform=_transform("default"), label_selector="app=web"),
        namespaces={"a": Selection(transform=_transform("a")), "b": Selection(share=True)},
        by_object={POD: ByObject(Selection(label_selector="app=db"))},
    )
    cached = Cached(options)
    for namespace in ("a", "b"):
        for app in ("web", "db"):
            cached.put(app, namespace, metadata={"labels": {"app": app}})
    await cached.run()
    pods: Sequence[Any] = await cached.cache.list(*POD)
    assert [(_path(pod), pod["marked"]) for pod in pods] == [("a/db", "a"), ("b/db", "default")]
    shared = [await cached.cache.get(*POD, "db", n) is await cached.cache.get(*POD, "db", n) for n in ("a", "b")]
    assert shared == [False, True]


async def test_ca_14_all_other_namespaces() -> None:
    """The entry for all other namespaces excludes the listed ones."""
    options = CacheOptions(namespaces={"a": _labels("app=web"), "": Selection()})
    cached = Cached(options)
    for namespace in ("a", "b", "c"):
        cached.put("x", namespace, metadata={"labels": {"app": "db"}})
    found = options.selections(*POD, namespaced=True)
    assert {name: one.field_selector for name, one in found.items()} == {"a": None, "": "metadata.namespace!=a"}
    await cached.run()
    assert await cached.names() == ["b/x", "c/x"]
    assert await cached.names("c") == ["c/x"]


async def test_a_cache_runs_once() -> None:
    cached = await Cached().run()
    with pytest.raises(RuntimeError, match="already started"):
        await cached.cache.run()
    await cached.cache.get_informer(*POD)
    assert cached.task is not None
    cached.task.cancel()
    await asyncio.wait([cached.task])
    assert cached.api.watches == [], "it ended only after its informers"
