"""The whole stack with a cluster and an operator under virtual time: number, times and causes of reconciles."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from controllerlib import ApiError, Client, Manager, Result
from controllerlib.cache.factory import SharedInformerFactory
from controllerlib.cache.informercontroller import InformerOptions
from controllerlib.cache.reflector import ReflectorOptions
from controllerlib.cache.resourceeventhandler import ResourceEventHandlerFuncs
from controllerlib.controller import current_run, predicate
from controllerlib.controller.event import CreateEvent, DeleteEvent, Event, UpdateEvent
from controllerlib.tasks import Tasks
from fakekube import FakeKube
from fakekube.harness.engine import engine_of
from tests.controllerlib.things import (
    API,
    HOUR,
    KIND,
    MINUTE,
    STEADY,
    THINGS,
    config_map,
    create_things,
    elapse,
    expire_watches,
    nothing,
    outage,
    resize,
    seconds,
    thing,
    things_operator,
)

KEY = "default/a"


def notified(kube: FakeKube) -> list[str]:
    """Return the events of the informers of Things."""
    return [event.kind for event in kube.ledger.informer_events if event.informer.startswith(THINGS)]


def asked_at(kube: FakeKube, verb: str) -> list[float]:
    """Return the times of lists and watches of Things, in seconds since the start of the cluster."""
    return [round(record.at, 6) for record in kube.requests(verb=verb, resource=THINGS)]


# --- the beginning ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("streaming", "requests"),
    [
        pytest.param(True, {"watch": 1, "list": 0}, id="E2E-01-streamed"),
        pytest.param(False, {"watch": 1, "list": 1}, id="E2E-01-listed"),
    ],
)
def test_one_object_is_reconciled_once(fakekube: FakeKube, streaming: bool, requests: dict[str, int]) -> None:
    create_things(fakekube, "a")
    informers = InformerOptions(reflector=ReflectorOptions(streaming=streaming))
    minder = fakekube.start(things_operator(), informers=informers)["minder"]
    assert minder.reconciles() == 1
    fakekube.advance(seconds=30)
    assert minder.causes(KEY) == ["added"]
    assert {verb: len(fakekube.requests(verb=verb, resource=THINGS)) for verb in requests} == requests


@pytest.mark.parametrize(
    "priority_queue", [pytest.param(True, id="E2E-02-priority-queue"), pytest.param(False, id="E2E-02-plain-queue")]
)
@pytest.mark.fakekube(stepped=False)
def test_nothing_is_reconciled_before_the_initial_list_is_queued(fakekube: FakeKube, priority_queue: bool) -> None:
    create_things(fakekube, "b", "c", "a")
    queued: list[list[str]] = []

    async def reconcile(request: Any) -> None:
        queued.append([*operator["minder"].ready])

    operator = engine_of(fakekube).operators.make(
        things_operator(reconcile, max_concurrent_reconciles=1, use_priority_queue=priority_queue)
    )
    operator.begin(engine_of(fakekube).bubble.loop)
    fakekube.settle()
    assert operator["minder"].keys() == ["default/a", "default/b", "default/c"]
    assert queued == [["default/b", "default/c"], ["default/c"], []]


def test_e2e_23_a_server_that_is_down_at_the_start(fakekube: FakeKube) -> None:
    create_things(fakekube, "a")
    with outage(fakekube):
        minder = fakekube.start(things_operator(), **STEADY)["minder"]
        fakekube.advance(seconds=60)
    assert asked_at(fakekube, "list") == [0, 0.8, 2.4, 5.6, 12, 24.8, 50.4]
    fakekube.advance(seconds=20.39)
    assert minder.reconciles() == 0
    fakekube.advance(seconds=0.01)
    assert minder.history()[0].started == fakekube.clock.epoch + timedelta(seconds=80.4)


def test_e2e_23_a_start_that_does_not_wait_that_long(fakekube: FakeKube) -> None:
    create_things(fakekube, "a")
    with outage(fakekube):
        fakekube.start(things_operator(cache_sync_timeout=60.0), **STEADY)
        fakekube.advance(seconds=59.999)
        with pytest.raises(TimeoutError, match="failed to wait for minder caches to sync"):
            fakekube.advance(seconds=0.001)


# --- asking for the next run ---------------------------------------------------------------------------------------


async def hourly(request: Any) -> Result:
    return Result(requeue_after=HOUR)


@pytest.mark.parametrize(
    ("priority_queue", "minutes"),
    [
        pytest.param(True, [0, 10, 70, 130], id="E2E-03-priority-queue"),
        pytest.param(False, [0, 10, 60, 120], id="E2E-03-plain-queue"),
    ],
)
def test_a_change_between_two_runs(fakekube: FakeKube, priority_queue: bool, minutes: list[int]) -> None:
    create_things(fakekube, "a")
    minder = fakekube.start(things_operator(hourly, use_priority_queue=priority_queue))["minder"]
    fakekube.advance(minutes=10)
    resize(fakekube, "a", 2)
    fakekube.advance(minutes=125)
    assert seconds(minder.times(KEY)) == [MINUTE * minute for minute in minutes]
    assert minder.causes(KEY) == ["added", "updated", "requeue_after", "requeue_after"]


@pytest.mark.parametrize(
    ("priority_queue", "last"),
    [pytest.param(True, 3610, id="E2E-04-priority-queue"), pytest.param(False, 3605, id="E2E-04-plain-queue")],
)
def test_a_change_during_a_run(fakekube: FakeKube, priority_queue: bool, last: int) -> None:
    async def reconcile(request: Any) -> Result:
        await elapse(5)
        return Result(requeue_after=HOUR)

    create_things(fakekube, "a")
    minder = fakekube.start(things_operator(reconcile, use_priority_queue=priority_queue))["minder"]
    fakekube.advance(seconds=2)
    resize(fakekube, "a", 2)
    fakekube.advance(seconds=3615)
    assert seconds(minder.times(KEY)) == [0, 5, last]


def test_e2e_26_every_thirty_seconds(fakekube: FakeKube) -> None:
    async def reconcile(request: Any) -> Result:
        return Result(requeue_after=30)

    create_things(fakekube, "a")
    minder = fakekube.start(things_operator(reconcile))["minder"]
    fakekube.advance(minutes=10)
    assert seconds(minder.times(KEY)) == [30 * n for n in range(21)]
    assert minder.causes(KEY) == ["added", *["requeue_after"] * 20]


@pytest.mark.slow
def test_e2e_27_the_time_counts_from_the_end_of_a_run(fakekube: FakeKube) -> None:
    async def reconcile(request: Any) -> Result:
        await elapse(5)
        return Result(requeue_after=30)

    create_things(fakekube, "a")
    minder = fakekube.start(things_operator(reconcile))["minder"]
    fakekube.advance(seconds=145)
    assert seconds(minder.times(KEY)) == [0, 35, 70, 105, 140]


@pytest.mark.fakekube(detect={"reconcile-error": "off", "retried-error": "off"})
def test_e2e_28_failing_twice_and_then_every_thirty_seconds(fakekube: FakeKube) -> None:
    failures = iter(range(2))

    async def reconcile(request: Any) -> Result:
        if next(failures, None) is not None:
            raise RuntimeError("not yet")
        return Result(requeue_after=30)

    create_things(fakekube, "a")
    minder = fakekube.start(things_operator(reconcile))["minder"]
    fakekube.advance(seconds=31)
    assert seconds(minder.times(KEY)) == [0, 0.005, 0.015, 30.015]
    assert minder.causes(KEY) == ["added", "retry", "retry", "requeue_after"]


# --- resync ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("handlers_after_sync", "hours"),
    [
        pytest.param(False, [10, 20, 30], id="E2E-05-handlers-first"),
        pytest.param(True, [20, 30, 40], id="E2E-05-handlers-after-sync"),
    ],
)
def test_resync(fakekube: FakeKube, handlers_after_sync: bool, hours: list[int]) -> None:
    create_things(fakekube, "a")
    minder = fakekube.start(things_operator(), handlers_after_sync=handlers_after_sync)["minder"]
    fakekube.advance(hours=hours[-1], seconds=1)
    assert minder.causes(KEY) == ["added", "resync", "resync", "resync"]
    began = fakekube.clock.epoch
    assert [round((run.started - began) / timedelta(hours=1)) for run in minder.history()] == [0, *hours]
    assert all((run.started - began) % timedelta(hours=1) < timedelta(seconds=1) for run in minder.history())


def test_e2e_06_resync_of_a_plain_informer(fakekube: FakeKube) -> None:
    create_things(fakekube, "a")
    known: list[tuple[str, float]] = []
    clock = fakekube.clock

    def hear(what: str) -> None:
        known.append((what, clock.monotonic() - began))

    async def run() -> None:
        client = Client(fakekube.access.transport())
        factory = SharedInformerFactory(client, default_resync=10 * HOUR, clock=clock)
        handler = ResourceEventHandlerFuncs(
            add=lambda obj, initial: hear("add"), update=lambda old, new: hear("update")
        )
        factory.informer_for(API, KIND).add_handler(handler)
        async with Tasks() as tasks:
            factory.start(tasks)

    began = clock.monotonic()
    fakekube.task(run())
    fakekube.advance(hours=30)
    assert known == [("add", 0), *(("update", hours * HOUR) for hours in (10, 20, 30))]


@pytest.mark.parametrize(
    ("predicates", "priorities"),
    [
        pytest.param((), [-100, -100], id="PR-08-all"),
        pytest.param((predicate.generation_changed,), [-100], id="PR-08-generation-changed"),
    ],
)
def test_a_resync_and_predicates(fakekube: FakeKube, predicates: Any, priorities: list[int]) -> None:
    seen: list[int] = []

    async def reconcile(request: Any) -> None:
        run = current_run()
        assert run is not None
        seen.append(run.priority)

    create_things(fakekube, "a")
    fakekube.start(things_operator(reconcile, predicates=predicates))
    fakekube.advance(hours=11)
    assert seen == priorities
    assert "resync" in notified(fakekube)


# --- watches that end --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("predicates", "more"),
    [
        pytest.param((), 1, id="E2E-07-all-again"),
        pytest.param((predicate.generation_changed,), 0, id="E2E-07-generation-changed"),
    ],
)
def test_an_expired_watch_before_the_first_resync(fakekube: FakeKube, predicates: Any, more: int) -> None:
    create_things(fakekube, "a", "b", "c")
    minder = fakekube.start(things_operator(predicates=predicates))["minder"]
    fakekube.advance(hours=1)
    expire_watches(fakekube)
    fakekube.advance(seconds=5)
    assert notified(fakekube).count("stream") == 2
    for key in ("default/a", "default/b", "default/c"):
        assert minder.causes(key) == ["added", *["relist"] * more]
        if more:
            assert 0.8 <= minder.times(key)[-1].total_seconds() - HOUR <= 1.6


def test_e2e_07_what_is_unchanged_has_low_priority(fakekube: FakeKube) -> None:
    create_things(fakekube, "a", "b", "c")
    order: list[str] = []

    async def reconcile(request: Any) -> None:
        order.append(request.name)

    fakekube.start(things_operator(reconcile))
    fakekube.advance(hours=1)
    with outage(fakekube):
        resize(fakekube, "c", 2)
        fakekube.advance(seconds=10)
    order.clear()
    fakekube.advance(seconds=30)
    assert order == ["c", "a", "b"], "what changed goes before what did not"


def test_e2e_08_an_expired_watch_after_a_resync_that_was_not_due(fakekube: FakeKube) -> None:
    create_things(fakekube, "a", "b", "c")
    minder = fakekube.start(things_operator(), handlers_after_sync=True)["minder"]
    fakekube.advance(hours=11)
    expire_watches(fakekube)
    fakekube.advance(minutes=1)
    assert notified(fakekube).count("stream") == 2
    assert minder.causes() == ["added"] * 3


def test_e2e_09_a_watch_that_the_server_ends(fakekube: FakeKube) -> None:
    create_things(fakekube, "a")
    minder = fakekube.start(things_operator(), **STEADY)["minder"]
    fakekube.advance(hours=1)
    assert asked_at(fakekube, "watch") == [MINUTE * minutes for minutes in range(0, 61, 5)]
    assert notified(fakekube) == ["stream", *["watch"] * 12]
    assert minder.reconciles() == 1
    fakekube.advance(hours=10)
    assert (minder.causes(KEY), seconds(minder.times(KEY))) == (["added", "resync"], [0, 10 * HOUR])


def seeing(events: list[Event]) -> predicate.Predicate:
    """A predicate that accepts and records every event."""

    def see(event: Event) -> bool:
        events.append(event)
        return True

    return see


def test_e2e_10_deleted_while_nobody_looked(fakekube: FakeKube) -> None:
    events: list[Event] = []
    reasons: list[str] = []

    async def reconcile(request: Any, client: Client) -> None:
        try:
            await client.get(API, KIND, request.name, namespace=request.namespace)
        except ApiError as error:
            reasons.append(error.reason)

    create_things(fakekube, "a")
    minder = fakekube.start(things_operator(reconcile, predicates=[seeing(events)]))["minder"]
    with outage(fakekube):
        fakekube.delete(API, KIND, "a")
        fakekube.advance(seconds=10)
        assert minder.reconciles() == 1
    fakekube.advance(minutes=1)
    assert minder.causes(KEY) == ["added", "deleted"]
    assert reasons == ["NotFound"]
    assert [type(event) for event in events] == [CreateEvent, DeleteEvent]
    assert isinstance(events[1], DeleteEvent)
    assert events[1].delete_state_unknown


def test_e2e_11_recreated_while_nobody_looked(fakekube: FakeKube) -> None:
    events: list[Event] = []
    (before,) = create_things(fakekube, "a")
    minder = fakekube.start(things_operator(predicates=[seeing(events)]))["minder"]
    with outage(fakekube):
        fakekube.delete(API, KIND, "a")
        fakekube.advance(seconds=5)
        after = fakekube.create(thing("a"))
        fakekube.advance(seconds=5)
    fakekube.advance(minutes=1)
    assert minder.causes(KEY) == ["added", "updated"]
    assert [type(event) for event in events] == [CreateEvent, UpdateEvent]
    assert isinstance(events[1], UpdateEvent)
    uids = [obj["metadata"]["uid"] for obj in (events[1].old, events[1].new) if obj]
    assert uids == [before["metadata"]["uid"], after["metadata"]["uid"]]
    assert uids[0] != uids[1]


def test_e2e_22_watches_that_are_refused_for_a_while(fakekube: FakeKube) -> None:
    create_things(fakekube, "a", "b")
    minder = fakekube.start(things_operator())["minder"]
    fakekube.advance(minutes=1)
    with fakekube.fault(verb="watch", resource=THINGS, error=429) as refusals:
        fakekube.faults.cut_watches()
        for size in (2, 3):
            resize(fakekube, "a", size)
            fakekube.advance(seconds=5)
        assert minder.reconciles() == 2
        assert refusals.hits > 1
    fakekube.advance(minutes=1)
    assert minder.causes() == ["added", "added", "updated"]
    causes = [cause.resource_version for cause in minder.last(KEY).causes]
    history = [obj["metadata"]["resourceVersion"] for _, obj in fakekube.state.versions(API, KIND, "a") if obj]
    assert causes == history[1:], "no version was lost"
    assert notified(fakekube) == ["stream", "watch"]


def test_e2e_24_bookmarks(fakekube: FakeKube) -> None:
    create_things(fakekube, "a")
    operator = fakekube.start(things_operator())
    (informer,) = operator.manager.cache.informers.all()
    before = informer.informers[""].resource_version
    last = fakekube.create(config_map("something-else"))
    fakekube.advance(minutes=10)
    assert informer.informers[""].resource_version == last["metadata"]["resourceVersion"] != before
    assert operator["minder"].reconciles() == 1


# --- changes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("predicates", "each"),
    [
        pytest.param((), ["updated", "updated"], id="E2E-12-all"),
        pytest.param((predicate.generation_changed,), ["updated"], id="E2E-12-generation-changed"),
    ],
)
def test_a_controller_that_watches_its_own_writes(fakekube: FakeKube, predicates: Any, each: list[str]) -> None:
    async def reconcile(request: Any, client: Client) -> None:
        found = await client.get(API, KIND, request.name, namespace=request.namespace)
        if found.get("status", {}).get("size") != found["spec"]["size"]:
            await client.patch_status(found, {"status": {"size": found["spec"]["size"]}})

    create_things(fakekube, "a")
    minder = fakekube.start(things_operator(reconcile, predicates=predicates))["minder"]
    before = minder.reconciles()
    for size in (2, 3, 4):
        resize(fakekube, "a", size)
        fakekube.advance(seconds=1)
    assert minder.causes(KEY)[before:] == each * 3
    assert len(fakekube.requests(verb="patch")) == 4


def test_e2e_13_a_hundred_changes_during_a_run(fakekube: FakeKube) -> None:
    async def reconcile(request: Any) -> None:
        await elapse(1)

    create_things(fakekube, "a")
    minder = fakekube.start(things_operator(reconcile))["minder"]
    for number in range(100):
        resize(fakekube, "a", 2 + number)
        fakekube.advance(seconds=0.005)
    fakekube.advance(seconds=10)
    assert seconds(minder.times(KEY)) == [0, 1]
    assert len(minder.last(KEY).causes) == 100


def test_e2e_14_two_workers_and_three_long_runs(fakekube: FakeKube) -> None:
    async def reconcile(request: Any) -> None:
        await elapse(10)

    create_things(fakekube, "a", "b", "c")
    minder = fakekube.start(things_operator(reconcile, max_concurrent_reconciles=2))["minder"]
    fakekube.advance(seconds=30)
    began = fakekube.clock.epoch
    assert seconds([run.started + run.duration - began for run in minder.history()]) == [10, 10, 20]


@pytest.mark.fakekube(detect={"reconcile-error": "off", "retried-error": "off"})
def test_e2e_15_one_that_fails_among_ten_that_do_not(fakekube: FakeKube) -> None:
    async def reconcile(request: Any) -> None:
        if request.name == "a":
            raise RuntimeError("never")

    healthy = [f"h{number}" for number in range(10)]
    create_things(fakekube, "a", *healthy)
    minder = fakekube.start(things_operator(reconcile, max_concurrent_reconciles=1))["minder"]
    fakekube.advance(seconds=0.07)
    assert seconds(minder.times(KEY)) == [0, 0.005, 0.015, 0.035]
    for name in healthy:
        (run,) = minder.history(f"default/{name}")
        assert (run.started, run.label) == (fakekube.clock.epoch, "success")


def test_e2e_16_a_conflict(fakekube: FakeKube) -> None:
    async def reconcile(request: Any, client: Client) -> None:
        found = await client.get(API, KIND, request.name, namespace=request.namespace)
        await client.update_status({**found, "status": {"seen": True}})

    create_things(fakekube, "a")
    with fakekube.fault(verb="update", resource=THINGS, error=409, times=1):
        operator = fakekube.start(things_operator(reconcile, predicates=[predicate.generation_changed]))
        fakekube.advance(seconds=1)
    assert seconds(operator["minder"].times(KEY)) == [0, 0.005]
    assert operator["minder"].results(KEY) == ["error", "success"]
    assert operator.manager.registry.value("controller_runtime_reconcile_errors_total", "minder") == 1


def owned(name: str, owner: dict[str, Any]) -> dict[str, Any]:
    """Return a ConfigMap that is controlled by a Thing."""
    reference = {"apiVersion": API, "kind": KIND, "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"]}
    return config_map(name, ownerReferences=[{**reference, "controller": True}])


@pytest.fixture
def owners(fakekube: FakeKube) -> Iterator[tuple[Any, Any, Any]]:
    """Create the Things a and b and an operator that owns ConfigMaps."""

    def build(manager: Manager) -> None:
        manager.controller("minder").for_(API, KIND).owns("v1", "ConfigMap").complete(nothing)

    a, b = create_things(fakekube, "a", "b")
    fakekube.create(owned("child", a))
    return a, b, fakekube.start(build)["minder"]


def test_e2e_17_a_child_that_changes(fakekube: FakeKube, owners: Any) -> None:
    a, _, minder = owners
    before = minder.reconciles()
    fakekube.update({**owned("child", a), "data": {"x": "y"}})
    fakekube.advance(seconds=1)
    assert [(run.key, run.cause) for run in minder.history()[before:]] == [("default/a", "updated")]
    assert minder.last().causes[0].object_kind == "ConfigMap"


def test_e2e_17_a_child_that_changes_hands(fakekube: FakeKube, owners: Any) -> None:
    _, b, minder = owners
    before = minder.reconciles()
    fakekube.update(owned("child", b))
    fakekube.advance(seconds=1)
    assert [run.key for run in minder.history()[before:]] == ["default/a", "default/b"]


def test_e2e_25_a_change_of_the_status(fakekube: FakeKube) -> None:
    priorities: list[int] = []

    async def reconcile(request: Any) -> None:
        run = current_run()
        assert run is not None
        priorities.append(run.priority)

    create_things(fakekube, "a")
    minder = fakekube.start(things_operator(reconcile))["minder"]
    fakekube.patch(API, KIND, "a", {"status": {"ready": True}}, subresource="status")
    fakekube.advance(seconds=1)
    assert minder.causes(KEY) == ["added", "updated"]
    assert priorities == [-100, 0]
