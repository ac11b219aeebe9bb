"""Operators that are killed and started again: nothing that dies writes, and the next incarnation knows nothing."""

import asyncio
import contextvars
import gc
import threading
import time
import weakref

import pytest
from kubernetes import client
from kubernetes import watch as official_watch

from controllerlib import Client
from fakekube import FakeKube
from fakekube.harness.engine import engine_of
from tests.harness.operators import build, config_map, every, nothing


def children(fakekube):
    return sorted(one["metadata"]["name"] for one in fakekube.list("v1", "Secret"))


def secret(name):
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": "default"}}


def two_writes(cleanup):
    """Creates two Secrets, and cleans up in `finally`."""

    async def reconcile(request, client):
        try:
            await client.create(secret("first"))
            await client.create(secret("second"))
        finally:
            await cleanup(client)

    return reconcile


async def delete_first(client):
    await client.delete("v1", "Secret", "first", "default")


async def no_cleanup(client):
    return None


@pytest.mark.parametrize("transport", ["direct", "memory", "tcp"])
def test_a_killed_operator_does_nothing_more(transport):
    with FakeKube(transport=transport) as kube:
        kube.apply(config_map("a"))
        operator = kube.start(build(every(60)))
        kube.advance(120)
        assert operator["minder"].reconciles() == 3
        kube.kill(operator)
        assert not operator.is_running
        assert "killed" in repr(operator)
        kube.advance(hours=1)
        kube.patch("v1", "ConfigMap", "a", {"data": {"x": "1"}})
        kube.settle()
        assert operator["minder"].reconciles() == 3
        assert engine_of(kube).bubble.loop.tasks.of(operator.process) == []


def test_an_operator_that_is_not_killed_goes_on(fakekube):
    fakekube.apply(config_map("a"))
    first, second = fakekube.start(build(every(60), "first")), fakekube.start(build(every(60), "second"))
    fakekube.kill(first)
    fakekube.advance(120)
    assert (first["first"].reconciles(), second["second"].reconciles()) == (1, 3)


@pytest.mark.parametrize("transport", ["direct", "memory", "tcp"])
@pytest.mark.parametrize(("after", "left"), [(1, ["first"]), (2, ["first", "second"])])
def test_after_its_nth_write_no_finally_writes(transport, after, left):
    with FakeKube(transport=transport) as kube:
        operator = kube.start(build(two_writes(delete_first)))
        plan = kube.kill(operator, after_write=after)
        kube.apply(config_map("a"))
        kube.settle()
        kube.advance(60)
        assert children(kube) == left
        assert (plan.seen, plan.hits) == (after, 1)
        assert plan.at.anchor == f"create secret/default/{left[-1]}#1"
        assert not operator.is_running


def test_without_a_kill_the_finally_writes(fakekube):
    fakekube.start(build(two_writes(delete_first)))
    fakekube.apply(config_map("a"))
    fakekube.settle()
    assert children(fakekube) == ["second"]


def test_a_request_of_a_killed_operator_is_recorded_and_has_no_effect(fakekube):
    operator = fakekube.start(build(two_writes(delete_first)))
    fakekube.kill(operator, after_write=1)
    fakekube.apply(config_map("a"))
    fakekube.settle()
    assert operator.process.fenced_requests[:2] == [
        "the answer of POST /api/v1/namespaces/default/secrets",
        "DELETE /api/v1/namespaces/default/secrets/first",
    ]
    assert fakekube.requests(verb="delete") == []


def test_a_plan_whose_write_never_comes_does_not_hit(fakekube):
    operator = fakekube.start(build(two_writes(no_cleanup)))
    plan = fakekube.kill(operator, after_write=3)
    fakekube.apply(config_map("a"))
    fakekube.settle()
    assert (plan.seen, plan.hits, operator.is_running) == (2, 0, True)
    assert "after write 3: active, 2 writes seen" in fakekube.why()
    plan.cancel()
    assert "after write 3" not in fakekube.why()


@pytest.mark.parametrize(
    ("anchor", "value"),
    [
        ("update configmap/a{data.n}#2", "2"),
        ("update cm/default/a{data.n=3}", "3"),
        ("update configmaps/*{data.n:3>4}", "4"),
        ("* ConfigMap/a#1", "1"),
        ("update cm/a{data.other}", "6"),
    ],
)
def test_a_kill_at_an_anchor(fakekube, anchor, value):
    async def reconcile(request, client):
        found = await client.get("v1", "ConfigMap", request.name, namespace=request.namespace)
        number = int(found["data"]["n"])
        if number < 6:
            await client.update({**found, "data": {"n": str(number + 1)}})

    operator = fakekube.start(build(reconcile))
    plan = fakekube.kill(operator, at=anchor)
    fakekube.apply({**config_map("a"), "data": {"n": "0"}})
    fakekube.settle()
    assert fakekube.get("v1", "ConfigMap", "a")["data"]["n"] == value
    assert plan.hits == (value != "6")
    plan.cancel()  # else a plan that never happens is reported


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"after_write": 0}, "after_write=0"),
        ({"after_write": 1, "at": "update cm/a"}, "not both"),
        ({"at": "updates everything"}, "is not 'verb kind/name'"),
        ({"at": "patch cm/a"}, "the verb of a state change is one of create, update, delete"),
    ],
)
def test_an_invalid_plan(fakekube, arguments, said):
    operator = fakekube.start(build(nothing))
    with pytest.raises(ValueError, match=said):
        fakekube.kill(operator, **arguments)


def test_what_cannot_be_killed_is_rejected(fakekube):
    with pytest.raises(TypeError, match="is no operator"):
        fakekube.kill("minder")


# --- starting again --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("transport", ["direct", "memory", "tcp"])
def test_the_next_incarnation_has_new_caches_and_new_state(transport):
    built = []

    def stateful(manager):
        seen = set()
        built.append(seen)

        async def reconcile(request):
            seen.add(str(request))

        manager.controller("minder").for_("v1", "ConfigMap").complete(reconcile)

    with FakeKube(transport=transport) as kube:
        kube.apply(config_map("a"))
        first = kube.start(stateful)
        kube.kill(first)
        kube.delete("v1", "ConfigMap", "a")
        kube.apply(config_map("b"))
        second = kube.restart(first)
        assert built == [{"default/a"}, {"default/b"}]
        assert second.is_running
        assert not first.is_running
        assert second.manager is not first.manager


@pytest.mark.slow
def test_a_crash_between_two_writes_and_the_recovery(fakekube):
    async def reconcile(request, client):
        for name in ("first", "second"):
            try:
                await client.get("v1", "Secret", name, namespace="default")
            except Exception:
                await client.create(secret(name))

    operator = fakekube.start(build(reconcile))
    fakekube.kill(operator, after_write=1)
    fakekube.apply(config_map("a"))
    fakekube.settle()
    assert children(fakekube) == ["first"]
    fakekube.advance(5)
    fakekube.restart(operator)
    assert children(fakekube) == ["first", "second"]
    assert [(r.at, r.name, r.code) for r in fakekube.requests(verb="create", resource="secrets")] == [
        (0.0, "first", 201),
        (5.0, "second", 201),
    ]


def test_restarting_an_operator_that_runs_kills_it_first(fakekube):
    fakekube.apply(config_map("a"))
    first = fakekube.start(build(every(60)))
    second = fakekube.restart(first)
    fakekube.advance(60)
    assert (first.is_running, second.is_running) == (False, True)
    assert (first.name, first.incarnation, second.name, second.incarnation) == ("minder", 1, "minder", 2)
    assert (first["minder"].causes(), second["minder"].causes()) == (["added"], ["added", "requeue_after"])


def test_a_killed_replica_is_not_the_other_one(fakekube):
    """Plans are of one process, although both have a controller of the same name."""
    fakekube.findings.allow("unused-fault", reason="the test is about what does not happen")
    first, second = fakekube.start(build(two_writes(no_cleanup))), fakekube.start(build(nothing))
    plan = fakekube.kill(second, after_write=1)
    fakekube.apply(config_map("a"))
    fakekube.settle()
    assert (plan.seen, first.is_running, second.is_running) == (0, True, True)
    assert (first.name, second.name, second.process.name) == ("minder", "minder-2", "minder-2")


async def test_kill_and_restart_in_an_async_test(fakekube):
    fakekube.apply(config_map("a"))
    operator = await fakekube.start(build(every(60)))
    await fakekube.kill(operator)
    await fakekube.advance(120)
    assert len(fakekube.ledger) == 1
    again = await fakekube.restart(operator)
    assert again.is_running
    assert len(fakekube.ledger) == 2


def test_the_log_of_a_crash_is_the_same_each_time():
    def log():
        with FakeKube(seed=3, wall_clock=False) as kube:
            operator = kube.start(build(two_writes(delete_first)))
            kube.kill(operator, after_write=1)
            kube.apply(config_map("a"))
            kube.advance(60)
            kube.restart(operator)
            kube.advance(60)
            return kube.log()

    assert log() == log()


# --- tasks and threads -----------------------------------------------------------------------------------------------


def test_a_killed_task_writes_nothing_in_finally(fakekube):
    cleaned = []

    async def work():
        api = Client(fakekube.access.transport(), user_agent="mine")
        try:
            while True:
                await asyncio.sleep(60)
                await api.create({**secret(""), "metadata": {"generateName": "x-", "namespace": "default"}})
        finally:
            cleaned.append("began")
            await api.create(secret("cleanup"))
            cleaned.append("wrote")

    task = fakekube.task(work())
    fakekube.advance(150)
    assert len(children(fakekube)) == 2
    fakekube.kill(task)
    fakekube.advance(hours=1)
    assert len(children(fakekube)) == 2
    assert cleaned == ["began"]
    assert task.done()


def test_a_task_that_ignores_its_cancellation_is_stopped(fakekube):
    turns = []

    async def stubborn():
        while True:
            try:
                await asyncio.sleep(1)
                turns.append(fakekube.clock.monotonic())
            except asyncio.CancelledError:
                if fakekube.clock.monotonic() > 5:
                    raise

    task = fakekube.task(stubborn())
    fakekube.advance(2)
    fakekube.kill(task)
    fakekube.advance(3)
    assert turns == [1, 2]
    assert not task.done()
    fakekube.advance(1)


@pytest.mark.parametrize("after_write", [None, 2])
def test_a_killed_thread_of_the_official_client(fakekube, after_write):
    core = client.CoreV1Api(fakekube.access.api_client())
    ended = []

    def operate():
        try:
            for number in range(10):
                core.create_namespaced_secret("default", secret(f"s{number}"))
                time.sleep(60)
        finally:
            ended.append("finally")
            core.create_namespaced_secret("default", secret("cleanup"))

    thread = fakekube.thread(operate)
    if after_write:
        fakekube.kill(thread, after_write=after_write)
        fakekube.advance(minutes=30)
    else:
        fakekube.advance(90)
        fakekube.kill(thread)
        fakekube.advance(minutes=30)
    assert children(fakekube) == ["s0", "s1"]
    assert ended == ["finally"]
    assert not thread.is_alive()


def test_a_killed_thread_with_an_open_watch(fakekube):
    core = client.CoreV1Api(fakekube.access.api_client())
    seen = []

    def follow():
        stream = official_watch.Watch().stream(core.list_namespaced_config_map, "default")
        seen.extend(event["object"].metadata.name for event in stream)

    thread = fakekube.thread(follow)
    fakekube.apply(config_map("a"))
    fakekube.settle()
    fakekube.kill(thread)
    fakekube.apply(config_map("b"))
    fakekube.advance(hours=1)
    assert seen == ["a"]
    assert not thread.is_alive()


def test_threads_that_it_has_started_end_with_it(fakekube):
    beats = []

    def beat():
        while True:
            time.sleep(10)
            beats.append(fakekube.clock.monotonic())

    def operate():
        threading.Thread(target=beat, daemon=True).start()
        time.sleep(1000)

    thread = fakekube.thread(operate)
    fakekube.advance(25)
    fakekube.kill(thread)
    fakekube.advance(100)
    assert beats == [10, 20]


def test_a_timer_of_a_killed_operator_does_not_fire(fakekube):
    fired = []

    async def work():
        asyncio.get_running_loop().call_later(60, fired.append, "late")
        await asyncio.sleep(3600)

    task = fakekube.task(work())
    fakekube.advance(1)
    fakekube.kill(task)
    fakekube.advance(hours=2)
    assert fired == []


@pytest.mark.slow
def test_a_closed_cluster_keeps_nothing_of_the_tasks_that_it_has_killed():
    """What an operator has left, such as a client, is freed with its test; that may be in a variable of its context."""
    left = contextvars.ContextVar("left")
    seen = []

    class Client:
        pass

    async def operator():
        client = Client()
        left.set(client)
        seen.append(weakref.ref(client))
        await asyncio.sleep(3600)

    with FakeKube() as kube:
        task = kube.task(operator())
        kube.settle()
        kube.kill(task)
        del task
    gc.collect()
    assert [ref() for ref in seen] == [None]
    assert kube.requests() == []
