"""Operators that are no managers of controllerlib: tasks and threads are killed, started again, and get faults."""

import asyncio
import concurrent.futures
import socket
import time

import kopf
import pytest
from kubernetes import client as official
from kubernetes.client.exceptions import ApiException

from controllerlib import ApiError, Client
from fakekube.harness.engine import engine_of
from fakekube.simulation.explorer import Explorer, NothingToExplore, Settings
from fakekube.simulation.plan import parse_plan
from fakekube.simulation.scenario import ScenarioRunner
from tests.harness.test_webhooks import configuration
from tests.simulation.samples.definitions import API, custom, definition

pytestmark = pytest.mark.filterwarnings("ignore:Kubernetes version v1.36:UserWarning")


def secret(name):
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": "default"}}


def config_map(name):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}}


async def made(client, obj):
    """Creates an object that may exist."""
    try:
        await client.create(obj)
    except ApiError as error:
        if error.reason != "AlreadyExists":
            raise


async def polling(kube, bug):
    """Makes a ConfigMap and a Secret for each store, every ten seconds."""
    client = Client(kube.access.transport())
    while True:
        try:
            for store in await client.list(API, "Store", namespace="default"):
                name = store["metadata"]["name"]
                known = [one["metadata"]["name"] for one in await client.list("v1", "ConfigMap", namespace="default")]
                if bug and name in known:
                    continue
                await made(client, config_map(name))
                await made(client, secret(name))
        except ApiError:
            pass
        await asyncio.sleep(10)  # noqa: TID251 - the operator's own


def as_task(bug):
    def scenario(kube):
        kube.apply(definition("Store", size="integer"))
        kube.task(polling(kube, bug))
        kube.create(custom("Store", size=1))
        kube.advance(60)

    return scenario


def blocking(kube, bug):
    """As `polling`, with the official client in a thread."""
    configuration = official.Configuration(host=kube.access.url)
    core = official.CoreV1Api(official.ApiClient(configuration))
    custom_objects = official.CustomObjectsApi(core.api_client)
    group, version = API.split("/")
    while True:
        try:
            for store in custom_objects.list_namespaced_custom_object(group, version, "default", "stores")["items"]:
                name = store["metadata"]["name"]
                known = [one.metadata.name for one in core.list_namespaced_config_map("default").items]
                if bug and name in known:
                    continue
                for create, obj in (
                    (core.create_namespaced_config_map, config_map(name)),
                    (core.create_namespaced_secret, secret(name)),
                ):
                    try:
                        create("default", obj)
                    except ApiException as error:
                        if error.status != 409:
                            raise
        except ApiException:
            pass
        time.sleep(10)  # noqa: TID251 - the operator's own


def as_thread(bug):
    def scenario(kube):
        kube.apply(definition("Store", size="integer"))
        kube.thread(blocking, kube, bug)
        kube.create(custom("Store", size=1))
        kube.advance(60)

    return scenario


def explored(scenario, runs=40):
    runner = ScenarioRunner(scenario)
    return Explorer(runner.run, Settings(runs=runs), lambda: runner.facts).explore()


@pytest.mark.slow
@pytest.mark.parametrize("scenario", [as_task, as_thread])
def test_a_guard_on_the_first_of_two_writes_is_found(scenario):
    failed = explored(scenario(bug=True)).failed
    assert (failed.violation.oracle, failed.violation.target) == ("O2", "secret/a")
    assert str(failed.reduced.plan) == "FK1 seed=0 crash@create cm/a#1"


@pytest.mark.slow
@pytest.mark.parametrize("scenario", [as_task, as_thread])
def test_the_correct_twin_has_no_alarm(scenario):
    found = explored(scenario(bug=False))
    assert found.failed is None
    assert found.coverage.exercised.keys() >= {"crash", "lost", "error"}


@pytest.mark.parametrize("scenario", [as_task, as_thread])
def test_another_incarnation_makes_what_is_missing(scenario):
    observed = ScenarioRunner(scenario(bug=False)).run(parse_plan("FK1 seed=0 crash@create cm/a#1"))
    assert [(one.incarnation, str(one.anchor)) for one in observed.by_operators()] == [
        (1, "create cm/a#1"),
        (2, "create secret/a#1"),
    ]


def test_a_task_beside_an_operator_of_controllerlib_is_a_client():
    def scenario(kube):
        kube.apply(definition("Store", size="integer"))
        kube.start(lambda manager: manager.controller("store").for_(API, "Store").complete(lambda request: None))
        kube.task(polling(kube, bug=True))
        kube.create(custom("Store", size=1))
        kube.advance(60)

    observed = ScenarioRunner(scenario).run(parse_plan("FK1 seed=0 crash@create cm/a#1"))
    assert observed.fired == ()
    assert {one.actor for one in observed.commits if one.kind == "cm"} == {"client polling"}


def test_a_coroutine_that_has_begun_is_not_started_again():
    def scenario(kube):
        coroutine = polling(kube, bug=False)
        engine_of(kube).bubble.loop.call_soon(lambda: None)
        kube.apply(definition("Store", size="integer"))
        kube.task(delegated(coroutine))
        kube.create(custom("Store", size=1))
        kube.advance(60)

    async def delegated(work):
        await work

    observed = ScenarioRunner(scenario).run(parse_plan("FK1 seed=0 crash@create cm/a#1"))
    assert "RuntimeError" in observed.failure or observed.lost or observed.unsettled


def test_without_an_operator_there_is_nothing_to_explore():
    with pytest.raises(NothingToExplore, match="no operator has written, read or watched anything"):
        explored(lambda kube: kube.create(config_map("a")))


REGISTRY = kopf.OperatorRegistry()


@kopf.on.login(registry=REGISTRY)
def login(memo, **_):
    return kopf.ConnectionInfo(server=memo.server)


@kopf.on.create(*API.split("/"), "stores", registry=REGISTRY)
async def create_both(name, memo, **_):
    await made(memo.client, config_map(name))
    await made(memo.client, secret(name))


@kopf.on.delete(*API.split("/"), "stores", registry=REGISTRY)
def delete(**_):
    """Its being there makes kopf set a finalizer."""


@pytest.mark.slow
def test_kopf_loses_a_creation_whose_finalizer_is_stored_but_not_confirmed():
    """kopf 1.45 tries its JSON patch again, which fails as the object has changed, and waits for an event that it has
    had. A kube-apiserver and a proxy that loses the first answer do the same to it.
    """

    def scenario(kube):
        kube.apply(definition("Store", size="integer"))
        memo = kopf.Memo(client=Client(kube.access.transport()), server=kube.access.url)
        kube.task(kopf.operator(registry=REGISTRY, standalone=True, clusterwide=True, memo=memo))
        kube.create(custom("Store", size=1))
        kube.advance(60)

    failed = explored(scenario, runs=60).failed
    assert failed is not None
    assert str(failed.reduced.plan) == "FK1 seed=0 lost(504)@update store/a{metadata.finalizers}#1"
    assert failed.violation.oracle == "O2"
    assert "cm/a" not in failed.observed.final


STORES = f"/apis/{API}/namespaces/default/stores"


async def listed_and_watched(kube):
    """Lists stores as informers do, and watches them; yields the objects of the list, then each that changes."""
    transport = kube.access.transport()
    _, _, listed = await transport.request("GET", STORES, query=[("resourceVersion", "0")])
    yield listed["items"]
    version = listed["metadata"]["resourceVersion"]
    _, _, events = await transport.open_watch(STORES, query=[("resourceVersion", version)])
    async for event in events:
        yield [event["object"]]


async def reacting(kube):
    """Copies each store to a ConfigMap, some seconds after it has seen it."""
    client = Client(kube.access.transport())
    async for stores in listed_and_watched(kube):
        for store in stores:
            await asyncio.sleep(5)  # noqa: TID251 - the operator's own
            await made(client, config_map(store["metadata"]["name"]))


def impatient(kube):
    """Waits by itself for as long as the longest hold, and then makes another change."""

    async def main():
        kube.task(reacting(kube))
        await asyncio.sleep(1)  # noqa: TID251 - the test's own
        for name in ("a", "b"):
            kube.create(custom("Store", name=name, size=1))
            async with asyncio.timeout(300):
                while not kube.exists("v1", "ConfigMap", name):  # noqa: ASYNC110 - the test's own
                    await asyncio.sleep(1)  # noqa: TID251 - the test's own

    kube.apply(definition("Store", size="integer"))
    kube.run(main())


def test_p4_a_test_that_gives_up_as_a_hold_ends_says_nothing():
    plan = parse_plan("FK1 seed=0 hold(store, create store/a#1..reconcile)")
    runner = ScenarioRunner(impatient)
    explorer = Explorer(runner.run, Settings(), lambda: runner.facts)
    _, judge = explorer.reference()
    observed = explorer.observe(plan)
    assert observed.fired == (0,)
    assert observed.inconclusive
    assert judge.violations(observed) == []


def slow_machine(kube):
    """Its operator waits in real time for longer than the patience, after a fault."""
    kube.apply(definition("Store", size="integer"))
    kube.task(busy_after_a_conflict(kube))
    kube.create(custom("Store", size=1))
    kube.advance(60)


async def busy_after_a_conflict(kube):
    client = Client(kube.access.transport())
    try:
        await client.create(config_map("a"))
    except ApiError:
        engine_of(kube).bubble.loop.run_in_executor(Elsewhere(), int)  # which never ends: time is held


class Elsewhere:
    """An executor of another process, which is slow."""

    def submit(self, function):
        return concurrent.futures.Future()


@pytest.mark.slow
def test_p4_a_run_that_the_patience_has_ended_is_not_judged():
    runner = ScenarioRunner(slow_machine, cluster={"patience": 0.05})
    explorer = Explorer(runner.run, Settings(runs=12, faults=["error"]), lambda: runner.facts)
    found = explorer.explore()
    assert found.failed is None
    assert found.coverage.unjudged
    assert all("busy for 0.05 s" in why for why in found.coverage.unjudged.values())
    assert any(line.startswith("not judged: FK1") for line in found.coverage.lines())


async def copying_sizes(kube, seen):
    """Makes a ConfigMap for each size of a store; `seen`: the sizes, in the order in which it sees them."""
    client = Client(kube.access.transport())
    async for stores in listed_and_watched(kube):
        seen.append([store["spec"]["size"] for store in stores])
        for store in stores:
            await made(client, config_map(f"{store['metadata']['name']}-{store['spec']['size']}"))


def test_p8_a_stale_restart_of_a_task_reads_an_old_list():
    seen = []

    def scenario(kube):
        kube.apply(definition("Store", size="integer"))
        kube.task(copying_sizes(kube, seen))
        kube.create(custom("Store", size=1))
        kube.advance(10)
        kube.patch(API, "Store", "a", {"spec": {"size": 2}})
        kube.advance(60)

    plan = "FK1 seed=0 stale(store, at=create store/a#1, when=update store/a{spec.size}#1)"
    observed = ScenarioRunner(scenario).run(parse_plan(plan))
    assert observed.fired == (0,)
    assert seen == [[1], [1], [2]]


@pytest.mark.slow
def test_p4_a_run_in_which_a_webhook_of_another_process_has_timed_out_is_not_judged():
    """The server accepts the connection and answers nothing; a second of real time decides."""
    with socket.create_server(("127.0.0.1", 0)) as silent:

        def scenario(kube):
            kube.webhooks.map_service("guard", f"https://127.0.0.1:{silent.getsockname()[1]}")
            kube.apply(configuration(failurePolicy="Ignore", timeoutSeconds=1))
            kube.create(config_map("a"))

        observed = ScenarioRunner(scenario).run(parse_plan("FK1 seed=0 crash@create cm/a#1"))
    assert observed.commits[-1].name == "a"
    assert observed.unjudged.startswith("a call to 127.0.0.1:")
    assert observed.unjudged.endswith("has not ended in real time")
