"""The shared informer factory, and waiting for its informers."""

import asyncio
import logging
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from controllerlib.cache.factory import NotSynced, SharedInformerFactory, named_checker, wait_for, wait_for_cache_sync
from controllerlib.cache.identity import InformerMetrics, InformerName
from controllerlib.cache.informercontroller import InformerOptions
from controllerlib.cache.reflector import ReflectorOptions
from controllerlib.cache.synctrack import AsyncTracker, SingleFileTracker
from controllerlib.client.client import Client
from controllerlib.client.resource import Resource
from controllerlib.clock import SystemClock, sleep
from controllerlib.metrics.registry import Registry
from controllerlib.tasks import OnceEvent, Tasks
from tests.controllerlib.fakeapi import FakeApi, refuse
from tests.controllerlib.handlerlog import HandlerLog, advance

POD, CONFIG = ("v1", "Pod"), ("v1", "ConfigMap")


def now() -> float:
    return asyncio.get_running_loop().time()


class Made:
    """A factory and a small API server."""

    def __init__(self, **options: Any) -> None:
        self.api = FakeApi()
        self.factory = SharedInformerFactory(Client(self.api), **options)
        self.task: asyncio.Task[None] | None = None
        self._tasks: Tasks | None = None

    async def start(self) -> None:
        """Start the factory."""
        if self.task is None:
            self.task = asyncio.create_task(self._run(), name="factory")
        elif self._tasks is not None:
            self.factory.start(self._tasks)
        await advance()

    async def _run(self) -> None:
        async with Tasks() as self._tasks:
            self.factory.start(self._tasks)
            await asyncio.get_running_loop().create_future()

    def refuse(self, *resources: str) -> None:
        self.api.faults.append(lambda asked: refuse(403, "Forbidden") if asked.path.endswith(resources) else None)


async def test_if_01_one_informer_for_one_type() -> None:
    made = Made()
    made.api.put(*POD, "a")
    first, second = made.factory.informer_for(*POD), made.factory.informer_for(*POD)
    assert first is second
    assert made.factory.informer_for(*CONFIG) is not first
    await made.start()
    assert len(made.api.requests(path="pods")) == 1
    assert first.indexer.by_index("namespace", "default") == [
        made.factory.lister(*POD, "pods").by_namespace("default").get("a")
    ]


async def test_if_02_a_type_added_after_the_start() -> None:
    made = Made()
    made.factory.informer_for(*POD)
    await made.start()
    made.factory.informer_for(*CONFIG)
    assert await made.factory.wait_for_cache_sync(timeout=10) == {POD: True}
    assert made.api.requests(path="configmaps") == []
    await made.start()
    assert await made.factory.wait_for_cache_sync(timeout=10) == {POD: True, CONFIG: True}
    assert len(made.api.requests(path="pods")) == 1


@pytest.mark.parametrize(
    ("kind", "period"),
    [pytest.param(POD, 30.0, id="IF-03-its-own"), pytest.param(CONFIG, 600.0, id="IF-03-the-default")],
)
async def test_resync_by_type(kind: tuple[str, str], period: float) -> None:
    made, notified = Made(default_resync=600.0, custom_resync={POD: 30.0}), HandlerLog()
    made.api.put(*kind, "a")
    made.factory.informer_for(*kind).add_handler(notified)
    await made.start()
    await advance(period - 0.001)
    assert notified.log == ["add a@1!"]
    await advance(0.001)
    assert notified.log == ["add a@1!", "update a@1>1"]


async def test_if_04_shutting_down() -> None:
    made, log = Made(), list[str]()

    async def shut_down() -> None:
        await made.factory.shut_down()
        log.append("shut down")

    made.factory.informer_for(*POD)
    await made.start()
    asyncio.create_task(shut_down(), name="shut down")  # noqa: RUF006  the test's end ends it
    await advance(60)
    assert log == []
    assert made.task is not None
    made.task.cancel()
    await advance()
    assert log == ["shut down"]
    made.factory.informer_for(*CONFIG)
    async with Tasks() as tasks:
        made.factory.start(tasks)
        assert len(tasks) == 0
    assert made.api.requests(path="configmaps") == []


async def done_after(seconds: float, event: OnceEvent) -> None:
    await sleep(SystemClock(), seconds)
    event.set()


def checkers(tasks: Tasks, *seconds: float | None) -> Sequence[Any]:
    """Return checkers that are done after some seconds, or never."""
    made = []
    for name, delay in zip(("first", "second", "third"), seconds, strict=True):
        event = OnceEvent()
        if delay is not None:
            tasks.start(done_after(delay, event), name)
        made.append(named_checker(name, event))
    return made


async def test_if_05_waiting_for_the_slowest() -> None:
    async with Tasks() as tasks:
        assert await wait_for(checkers(tasks, 10, 5, 0)) == []
        assert now() == 10


async def test_if_05_one_that_is_never_done(caplog: pytest.LogCaptureFixture) -> None:
    async with Tasks() as tasks:
        with caplog.at_level(logging.WARNING):
            assert await wait_for(checkers(tasks, 10, None, 0), timeout=60) == ["second"]
        assert now() == 60
    (record,) = caplog.records
    assert record.__dict__["unfinished"] == ["second"]


async def test_if_06_done_counts_although_the_wait_was_cancelled() -> None:
    event = OnceEvent()
    event.set()
    assert await wait_for([named_checker("first", event)], timeout=0) == []
    answers: list[Sequence[str]] = []

    async def wait() -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        answers.append(await wait_for([named_checker("first", event)]))

    await asyncio.wait([asyncio.create_task(wait())])
    assert answers == [[]]


async def test_if_07_waiting_for_nothing() -> None:
    assert await wait_for([]) == []
    assert await wait_for([], timeout=0) == []
    assert now() == 0


async def test_if_08_the_error_names_what_has_not_synced() -> None:
    made = Made()
    made.refuse("pods", "configmaps")
    for kind in (POD, CONFIG, ("v1", "Namespace")):
        made.factory.informer_for(*kind)
    await made.start()
    with pytest.raises(NotSynced) as caught:
        await made.factory.require_cache_sync(timeout=5)
    assert str(caught.value) == "failed to sync all caches: ConfigMap, Pod: context deadline exceeded"
    assert now() == 5
    assert await made.factory.wait_for_cache_sync(timeout=5) == {POD: False, CONFIG: False, ("v1", "Namespace"): True}
    made.api.faults.clear()
    await made.factory.require_cache_sync()


async def test_if_09_polling_every_100_ms() -> None:
    async with Tasks() as tasks:
        event = OnceEvent()
        tasks.start(done_after(0.25, event), "syncing")
        assert await wait_for_cache_sync(event.is_set)
        assert now() == pytest.approx(0.3)


async def test_if_09_waiting_for_events() -> None:
    async with Tasks() as tasks:
        assert await wait_for(checkers(tasks, 0.25, 0, 0)) == []
        assert now() == pytest.approx(0.25)


async def test_if_09_polling_until_the_timeout() -> None:
    assert not await wait_for_cache_sync(lambda: False, timeout=1)
    assert now() == pytest.approx(1.0)
    assert await wait_for_cache_sync(lambda: True, timeout=0), "it looks before it looks at the time"


@pytest.mark.parametrize(
    "streaming", [pytest.param(True, id="IF-10-streamed"), pytest.param(False, id="IF-10-listed")]
)  # fmt: skip
async def test_namespace_and_selectors_apply_to_every_request(streaming: bool) -> None:
    made = Made(
        namespace="a", label_selector="app=web", field_selector="metadata.name=x",
        options=InformerOptions(reflector=ReflectorOptions(streaming=streaming)),
        transform=lambda obj: {**obj, "seen": True},
    )  # fmt: skip
    for kind in (POD, CONFIG):
        for namespace, name, app in (("a", "x", "web"), ("b", "x", "web"), ("a", "y", "web"), ("a", "z", "db")):
            made.api.put(*kind, name, namespace, metadata={"labels": {"app": app}})
        made.factory.informer_for(*kind)
    await made.start()
    made.api.end_watches(None)
    await advance(60)
    asked = [one for one in made.api.asked if one.path.endswith(("pods", "configmaps"))]
    assert {one.verb for one in asked} == ({"watch"} if streaming else {"get", "watch"})
    assert len(asked) > 2
    assert {(one.query["labelSelector"], one.query["fieldSelector"]) for one in asked} == {
        ("app=web", "metadata.name=x")
    }
    assert all("/namespaces/a/" in one.path for one in asked)
    for kind in (POD, CONFIG):
        (only,) = made.factory.informer_for(*kind).indexer.list()
        assert (only["metadata"]["name"], only["metadata"]["namespace"], only["seen"]) == ("x", "a", True)


# --- trackers --------------------------------------------------------------------------------------------------------


def test_events_in_order() -> None:
    tracker = SingleFileTracker(name="handler")
    tracker.start()
    tracker.start(2)
    tracker.upstream_has_synced()
    for _ in range(2):
        tracker.finished()
        assert not tracker.has_synced()
    tracker.finished()
    assert tracker.has_synced()
    tracker.start()
    assert tracker.has_synced(), "what comes later does not count"


def test_finishing_without_a_start() -> None:
    upstream = OnceEvent()
    tracker = SingleFileTracker(upstream)
    with pytest.raises(RuntimeError, match="synctrack: negative counter"):
        tracker.finished()
    assert not tracker.has_synced()
    upstream.set()
    assert tracker.has_synced()


def test_keys_in_any_order() -> None:
    tracker: AsyncTracker[str] = AsyncTracker(name="workers")
    tracker.finished("never started")
    for key in ("a", "b", "a"):
        tracker.start(key)
    tracker.finished("b")
    tracker.finished("b")
    tracker.upstream_has_synced()
    assert not tracker.has_synced()
    tracker.finished("a")
    assert tracker.has_synced()


async def test_trackers_can_be_waited_for() -> None:
    upstream = OnceEvent()
    single, many = SingleFileTracker(upstream, expected=1, name="single"), AsyncTracker[str](upstream, name="many")
    many.start("a")
    async with Tasks() as tasks:
        tasks.start(done_after(1, upstream), "upstream")
        assert await wait_for([single, many], timeout=5) == ["many", "single"]
        single.finished()
        many.finished("a")
        assert await wait_for([single, many]) == []
        assert now() == 5


# --- names and metrics -----------------------------------------------------------------------------------------------


@pytest.fixture
def name() -> Iterator[InformerName]:
    made = InformerName("garden")
    yield made
    made.release()


def test_an_informer_name_is_unique(name: InformerName) -> None:
    with pytest.raises(ValueError, match='informer name "garden" is already registered'):
        InformerName("garden")
    with pytest.raises(ValueError, match="informer name cannot be empty"):
        InformerName("")
    identity = name.of(*POD)
    assert identity.is_reserved
    assert not name.of(*POD).is_reserved, "a second informer of a kind is not measured"
    assert name.of(*CONFIG).is_reserved
    name.release()
    assert not identity.is_reserved
    assert not name.of(*POD).is_reserved
    again = InformerName("garden")
    name.release()
    assert again.of(*POD).is_reserved, "the name is no longer that of the former"
    again.release()


async def test_the_metrics_of_an_informer(name: InformerName) -> None:
    made = Made(informer_name=name)
    job = ("batch/v1", "Job")
    labels = {POD: ("garden", "", "v1", "pods"), job: ("garden", "batch", "v1", "jobs")}
    for kind in labels:
        made.factory.informer_for(*kind).add_handler(HandlerLog())
        made.api.put(*kind, "a")
    await made.start()
    registry = made.factory.registry

    def read() -> list[tuple[float, int]]:
        version, latency = "informer_store_resource_version", "informer_processing_latency_seconds"
        return [(registry.value(version, *own), registry.histogram(latency, *own).count) for own in labels.values()]

    assert read() == [(2, 1), (2, 1)]
    made.api.put(*job, "b")
    await advance()
    assert read() == [(2, 1), (3, 2)]
    assert [registry.value("informer_queued_items", *own) for own in labels.values()] == [0, 0]
    name.release()
    made.api.put(*POD, "b")
    await advance()
    assert read() == [(2, 1), (3, 2)], "without a name there are no metrics"


async def test_only_the_last_digits_of_a_version(name: InformerName) -> None:
    registry = Registry()
    metrics = InformerMetrics(registry, name.of(*POD), lambda: Resource("v1", "Pod", "pods", True))
    metrics.stored("9123456789012345")
    assert registry.value("informer_store_resource_version", "garden", "", "v1", "pods") == 123456789012345
    metrics.stored("opaque")
    metrics.queued(7)
    assert registry.value("informer_queued_items", "garden", "", "v1", "pods") == 7


def test_what_has_not_synced_is_named_in_alphabetical_order() -> None:
    problem = NotSynced(["v1/Secret", "apps/v1/Deployment", "v1/Pod"], "time is up")
    assert str(problem) == "failed to sync all caches: apps/v1/Deployment, v1/Pod, v1/Secret: time is up"
    assert problem.types == ["apps/v1/Deployment", "v1/Pod", "v1/Secret"]
